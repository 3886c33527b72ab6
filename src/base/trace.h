// SPDX-License-Identifier: Apache-2.0
// Spans of work: for trace files in Chrome's JSON form (chrome://tracing, Perfetto) and for
// recordings (recording.h). A span that nothing wants costs one load and branch.
#pragma once

#include <stdint.h>

#include "base/os.h"
#include "base/recording.h"
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

/// Adds one finished span of the calling thread, whose `thread_id` is ignored, to the trace (NULL:
/// none) and to the recording, if there is one.
void hlo_trace_add(hlo_trace_t* trace, const hlo_span_t* span);

/// Makes `trace` (NULL: none) that of the steps which programs run on this thread, and returns the
/// one before, for the caller to restore.
hlo_trace_t* hlo_trace_enter(hlo_trace_t* trace);
/// Returns the trace that was entered on this thread; NULL: none.
hlo_trace_t* hlo_trace_current(void);

/// Returns the start time of a span for hlo_trace_end(); 0 if nothing wants spans.
static inline uint64_t hlo_trace_begin(void) {
  // acquire: pairs with the start of a recording
  const unsigned users = atomic_load_explicit(&hlo_span_user_count, memory_order_acquire);
  return HLO_LIKELY(!users) ? 0 : hlo_os_now_ns();
}
/// Adds a span that began when `begin_ns` was returned, with up to HLO_SPAN_FACTS_LIMIT facts.
/// detail may be NULL.
static inline void hlo_trace_end_with(hlo_trace_t* trace, uint64_t begin_ns, const char* category,
                                      const char* name, const char* detail,
                                      const hlo_span_fact_t* facts, uint32_t fact_count) {
  if (HLO_LIKELY(!begin_ns)) return;
  hlo_span_t span = {.begin_ns = begin_ns,
                     .end_ns = hlo_os_now_ns(),
                     .category = category,
                     .name = name ? name : "",
                     .detail = detail,
                     .fact_count = fact_count};
  for (uint32_t i = 0; i < fact_count; ++i) span.facts[i] = facts[i];
  hlo_trace_add(trace, &span);
}
static inline void hlo_trace_end(hlo_trace_t* trace, uint64_t begin_ns, const char* category,
                                 const char* name, const char* detail) {
  hlo_trace_end_with(trace, begin_ns, category, name, detail, NULL, 0);
}
