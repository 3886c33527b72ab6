// SPDX-License-Identifier: Apache-2.0
// Trace events in Chrome's JSON form (chrome://tracing, Perfetto). A NULL trace is disabled and
// costs one branch.
#pragma once

#include <stdint.h>

#include "base/os.h"
#include "base/status.h"

/// threads: safe.
typedef struct hlo_trace hlo_trace_t;

/// Creates or replaces the file. If another trace, of this or another process, is writing the file,
/// the name becomes path.2, path.3 and so on.
/// errors: those of the file. owner: caller, hlo_trace_close().
hlo_status_t hlo_trace_create(const char* path, hlo_trace_t** out_trace) HLO_MUST_USE;
/// Flushes and ends the file and frees the trace; NULL is fine. In a forked child, whose parent
/// owns the file, only frees.
/// errors: the first write error, after which nothing more was written
hlo_status_t hlo_trace_close(hlo_trace_t* trace) HLO_MUST_USE;
/// Writes the buffered events, so that the file is usable if the process ends without closing it.
/// NULL is fine.
void hlo_trace_flush(hlo_trace_t* trace);

/// Adds one finished span of the calling thread (see hlo_trace_end()). detail may be NULL.
void hlo_trace_add(hlo_trace_t* trace, const char* category, const char* name, const char* detail,
                   uint64_t begin_ns, uint64_t end_ns);

/// Returns the start time of a span for hlo_trace_end().
static inline uint64_t hlo_trace_begin(const hlo_trace_t* trace) {
  return HLO_LIKELY(!trace) ? 0 : hlo_os_now_ns();
}
static inline void hlo_trace_end(hlo_trace_t* trace, uint64_t begin_ns, const char* category,
                                 const char* name, const char* detail) {
  if (HLO_LIKELY(!trace)) return;
  hlo_trace_add(trace, category, name, detail, begin_ns, hlo_os_now_ns());
}
