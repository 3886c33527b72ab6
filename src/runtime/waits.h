// SPDX-License-Identifier: Apache-2.0
// Explains what the work in flight waits for: runs and their programs, the op and source line of a
// collective and the members that are missing, values that are not defined yet, blocked threads.
#pragma once

#include "base/strbuf.h"
#include "runtime/client.h"
#include "runtime/event.h"

/// A thread that is blocked, on its stack.
typedef struct hlo_wait {
  struct hlo_wait *before, *after;
  const char* what;          // for a reader: "a value"
  const hlo_event_t* event;  // the event that the thread awaits; may be NULL
  int64_t thread_id;
  uint64_t since_ns;
} hlo_wait_t;

/// Lists a thread of any client that is about to block. `what` is lent.
void hlo_wait_begin(hlo_wait_t* wait, const char* what, const hlo_event_t* event);
void hlo_wait_end(hlo_wait_t* wait);

/// Prints one line for each run in flight of this client and each blocked thread of the process,
/// older than `age_ns`; nothing if all is quiet. Short programs that wait for their inputs are
/// listed only if the client was created with one of the options explain_*.
/// Returns the age of the oldest, in nanoseconds. threads: safe
uint64_t hlo_client_explain_waits(hlo_client_t* client, uint64_t age_ns, hlo_strbuf_t* out);

struct hlo_run;
/// Returns the run in flight whose results become ready with the event; NULL if it is not listed.
/// The flight is locked.
struct hlo_run* hlo_waits_run_of(const hlo_flight_t* flight, const hlo_event_t* event);
/// Prints what a run in flight waits for, or that it is running. The flight is locked.
void hlo_waits_explain_run(hlo_flight_t* flight, struct hlo_run* run, hlo_strbuf_t* out);

/// Logs explanations of a client at a signal, and when something waits for long.
typedef struct hlo_explainer hlo_explainer_t;

/// seconds: log work that takes longer, again whenever its age has doubled; 0: never. signal: the
/// name of a signal (hlo_monitor_signal()) that asks for all. *out_explainer is NULL for neither.
/// errors: those of hlo_monitor_create() and hlo_monitor_signal()
hlo_status_t hlo_explainer_create(hlo_client_t* client, uint32_t seconds, const char* signal,
                                  hlo_explainer_t** out_explainer) HLO_MUST_USE;
void hlo_explainer_release(hlo_explainer_t* explainer, bool has_thread);
