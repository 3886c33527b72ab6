// SPDX-License-Identifier: Apache-2.0
// Events: one-shot, reference-counted, with an error or none, callbacks in order of registration.
#ifndef HLO_RUNTIME_EVENT_H_
#define HLO_RUNTIME_EVENT_H_

#include "base/status.h"

/// threads: safe
typedef struct hlo_event hlo_event_t;

/// Called once, when the event is ready, on the thread that sets it (or at once on the caller's).
/// The status is lent for the call. Callbacks of one event run in order of registration. A callback
/// that sets other events has their callbacks run before that returns, but only a few levels deep:
/// so that chains of any length need little stack, further ones run when the callback that caused
/// them has returned, or waits in hlo_event_await().
typedef void (*hlo_event_callback_t)(void* context, hlo_status_t status);

/// NULL when memory is exhausted.
hlo_event_t* hlo_event_create(void);
/// An event that the framework or the user will set, who may make other calls first.
hlo_event_t* hlo_event_create_promise(void);
/// An event that is ready from the start; takes `status`.
hlo_event_t* hlo_event_create_ready(hlo_status_t status);
hlo_event_t* hlo_event_retain(hlo_event_t* event);
/// The last owner of a pending event leaves its waiters an error ("abandoned"). NULL is fine.
void hlo_event_release(hlo_event_t* event);

/// Makes it ready; takes `status`. Only the first call counts: later ones drop theirs, give false.
bool hlo_event_set(hlo_event_t* event, hlo_status_t status);
bool hlo_event_is_ready(hlo_event_t* event);
/// Whether others than the caller hold it, who alone could make more holders of it.
bool hlo_event_is_shared(hlo_event_t* event);
/// The error of a ready event, lent; OK while pending.
hlo_status_t hlo_event_error(hlo_event_t* event);
/// Waits (at most timeout_ns, UINT64_MAX for ever); gives a clone of the event's status or
/// DEADLINE_EXCEEDED.
hlo_status_t hlo_event_await(hlo_event_t* event, uint64_t timeout_ns) HLO_MUST_USE;
/// A place in an event's list, part of whatever waits: waiting needs no memory, so it cannot fail.
typedef struct hlo_event_waiter {
  struct hlo_event_waiter* next;
  hlo_event_callback_t callback;
  void* context;
  hlo_event_t* event;  // retained, of a callback that is put off
} hlo_event_waiter_t;

/// Returns true if the event is pending and its end is unknown: it is a promise, or waits for one.
bool hlo_event_awaits_promise(hlo_event_t* event);
/// Marks an event whose creator knows what it waits for.
void hlo_event_note_promise(hlo_event_t* event, bool awaits_promise);

/// Registers a callback. `waiter`, which need not be initialised, is the event's until the callback
/// is called, and may go with that.
void hlo_event_on_ready(hlo_event_t* event, hlo_event_waiter_t* waiter,
                        hlo_event_callback_t callback, void* context);

/// Callbacks that wait for the event. For tests: nobody may set it meanwhile.
uint32_t hlo_event_waiter_count(hlo_event_t* event);

enum { HLO_EVENT_FILTER_SLOTS = 32 };

/// The pending events that a set of waiters registered with last, to register once with each: the
/// arguments of a launch are mostly results of few others. Begins with is_used = false.
typedef struct hlo_event_filter {
  bool is_used;                                      // else the slots are not cleared yet
  const hlo_event_t* slots[HLO_EVENT_FILTER_SLOTS];  // by address
} hlo_event_filter_t;

/// Whether the event passed before; may forget some. Notes it if it did not.
bool hlo_event_filter_has(hlo_event_filter_t* filter, const hlo_event_t* event);

/// Runs the callbacks that this thread has put off: for those who are about to block.
void hlo_event_run_postponed(void);

/// Sets `target` when all `count` events are ready, with the error of the lowest index that failed.
/// Events may be NULL (ready). Holds its own references. The target awaits a promise if one does.
void hlo_event_join(hlo_event_t* const* events, uint32_t count, hlo_event_t* target);

#endif  // HLO_RUNTIME_EVENT_H_
