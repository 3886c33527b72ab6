// SPDX-License-Identifier: Apache-2.0
// Log lines of a client: a level and a replaceable sink. Nothing is logged without a log object.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum hlo_log_level {
  HLO_LOG_LEVEL_ERROR,
  HLO_LOG_LEVEL_WARN,
  HLO_LOG_LEVEL_INFO,
  HLO_LOG_LEVEL_DEBUG,
  HLO_LOG_LEVEL_TRACE,
} hlo_log_level_t;

/// One message; all pointers are lent for the call of the sink.
typedef struct hlo_log_record {
  hlo_log_level_t level;
  const char* component;  // the folder of the source below src, "runtime"
  const char* file;       // path of the source, "src/runtime/client.c"
  uint32_t line;
  const char* message;  // without an end of line, ended by a null character
  size_t length;        // of the message, in bytes
  uint64_t wall_ns;     // since 1970
  int64_t thread_id;    // the system's
} hlo_log_record_t;

/// Receives one message. Called from any thread, with no lock held.
typedef void (*hlo_log_sink_t)(void* context, const hlo_log_record_t* record);

/// threads: immutable after init. The zero value writes errors only, to standard error.
typedef struct hlo_log {
  hlo_log_level_t level;  // the most verbose level written
  hlo_log_sink_t sink;    // NULL: standard error, "hlocc warn: ..."
  void* context;
} hlo_log_t;

/// Finds a level by name. errors: INVALID_ARGUMENT for an unknown name.
hlo_status_t hlo_log_level_parse(const char* name, hlo_log_level_t* out_level) HLO_MUST_USE;
const char* hlo_log_level_name(hlo_log_level_t level);

static inline bool hlo_log_is_on(const hlo_log_t* log, hlo_log_level_t level) {
  return log && HLO_UNLIKELY(level <= log->level);
}
/// file, line: of the source that logs.
void hlo_log_write(const hlo_log_t* log, hlo_log_level_t level, const char* file, uint32_t line,
                   const char* format, ...) HLO_PRINTF(5, 6);

/// HLO_LOG(log, WARN, "format", ...): the arguments are evaluated only if the level is enabled.
/// Messages are lower case, without full stop, with values separated from punctuation.
#define HLO_LOG(log, LEVEL, ...)                                                    \
  do {                                                                              \
    if (hlo_log_is_on((log), HLO_LOG_LEVEL_##LEVEL)) {                              \
      hlo_log_write((log), HLO_LOG_LEVEL_##LEVEL, __FILE__, __LINE__, __VA_ARGS__); \
    }                                                                               \
  } while (0)
