// SPDX-License-Identifier: Apache-2.0
// Recordings: the spans of all threads of the process between a start and a stop, for profilers.
// Spans come from trace.h. Threads append to tables of their own as far as possible, so recording
// takes no common lock.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/vec.h"

enum { HLO_SPAN_FACTS_LIMIT = 3 };

/// A number that belongs to a span. owner: the name is a literal.
typedef struct hlo_span_fact {
  const char* name;
  int64_t value;
} hlo_span_fact_t;

/// One finished span. Times are those of hlo_os_now_ns(). Texts of a recording live as long as it.
typedef struct hlo_span {
  uint64_t begin_ns, end_ns;
  int64_t thread_id;
  const char* category;  // a literal
  const char* name;
  const char* detail;  // NULL: none
  uint32_t fact_count;
  hlo_span_fact_t facts[HLO_SPAN_FACTS_LIMIT];
} hlo_span_t;

/// A finished recording. owner: who stopped it, hlo_recording_release(). threads: immutable
typedef struct hlo_recording {
  HLO_VEC(hlo_span_t) spans;  // by thread, then by begin; spans come before those inside them
  uint64_t start_ns, stop_ns;
  uint64_t start_wall_ns;  // start_ns in nanoseconds since 1970
  uint64_t dropped_count;  // spans for which there was no room
  char** texts;            // of the spans
  uint32_t text_count;
} hlo_recording_t;

/// Starts to record, in all clients of the process.
/// errors: FAILED_PRECONDITION if a recording has been started and not stopped
hlo_status_t hlo_recording_start(void) HLO_MUST_USE;
/// Ends the recording: spans that end later are not in it.
/// errors: RESOURCE_EXHAUSTED, after which nothing is recorded any more
hlo_status_t hlo_recording_stop(hlo_recording_t** out_recording) HLO_MUST_USE;
/// NULL is fine.
void hlo_recording_release(hlo_recording_t* recording);

/// Adds a span of the calling thread if a recording has been started before it began. Copies name
/// and detail; `span->thread_id` is ignored.
void hlo_recording_add(const hlo_span_t* span);

/// The number of trace files and recordings that want spans.
extern atomic_uint hlo_span_user_count;
