// SPDX-License-Identifier: Apache-2.0
// The output of a client about its work: log lines, a trace file (HLOCC_TRACE), dumps of the stages
// of a compilation (HLOCC_DUMP). Observing never fails the work: a write error is only a warning.
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/log.h"
#include "base/status.h"
#include "base/trace.h"

typedef enum hlo_dump_stage {
#define HLO_DUMP_STAGE(name, ...) HLO_DUMP_STAGE_##name,
#include "base/dump.def"
#undef HLO_DUMP_STAGE
  HLO_DUMP_STAGE_COUNT
} hlo_dump_stage_t;

/// Returns "input" and so on.
const char* hlo_dump_stage_name(hlo_dump_stage_t stage);

/// Zero-initialised: logs errors, nothing else.
/// owner: whoever declared it, hlo_observer_deinit(). threads: immutable once started.
typedef struct hlo_observer {
  hlo_log_t log;
  hlo_trace_t* trace;          // NULL: off
  uint32_t dump_stages;        // one bit per hlo_dump_stage_t
  const char* dump_directory;  // lent by the configuration
} hlo_observer_t;

/// Reads the options log and dump; opens no file. `config` must outlive the observer.
/// errors: INVALID_ARGUMENT for an unknown level or stage, listing the known ones
hlo_status_t hlo_observer_init(const hlo_config_t* config,
                               hlo_observer_t* out_observer) HLO_MUST_USE;
/// Opens the trace file, if the option is set.
void hlo_observer_start(const hlo_config_t* config, hlo_observer_t* observer);
/// Completes the trace file.
void hlo_observer_deinit(hlo_observer_t* observer);

/// These accept NULL.
static inline hlo_trace_t* hlo_observer_trace(const hlo_observer_t* observer) {
  return observer ? observer->trace : NULL;
}
static inline bool hlo_observer_dumps(const hlo_observer_t* observer, hlo_dump_stage_t stage) {
  return observer && HLO_UNLIKELY(observer->dump_stages >> stage & 1);
}

/// Writes one file into the dump directory, which it creates if missing. Returns false, with a
/// warning, on failure. A file of the same name is replaced atomically. threads: safe.
bool hlo_observer_write_dump(const hlo_observer_t* observer, const char* file_name,
                             const char* text, size_t length);
