// SPDX-License-Identifier: Apache-2.0
// Events: one-shot and reference-counted, with an optional error and callbacks in registration
// order.
#pragma once

#include "base/status.h"

/// threads: safe
typedef struct hlo_event hlo_event_t;

/// Called once, when the event is ready, on the thread that sets the event (or at once on the
/// caller's). The status is lent for the call. Callbacks of one event run in registration order. If
/// a callback sets other events, their callbacks run before the call returns, but only a few levels
/// deep: further ones run after the outer callback has returned, or while it waits in
/// hlo_event_await(), so that chains of any length need little stack.
typedef void (*hlo_event_callback_t)(void* context, hlo_status_t status);

/// Returns NULL if memory is exhausted.
hlo_event_t* hlo_event_create(void);
/// Creates an event that the framework or the user will set, perhaps after other calls.
hlo_event_t* hlo_event_create_promise(void);
/// Returns true if the event was created as a promise; also after it was set.
bool hlo_event_is_promise(const hlo_event_t* event);
/// Creates a ready event; takes `status`.
hlo_event_t* hlo_event_create_ready(hlo_status_t status);
hlo_event_t* hlo_event_retain(hlo_event_t* event);
/// Drops a reference; NULL is fine. The last owner of a pending event fails it as abandoned.
void hlo_event_release(hlo_event_t* event);

/// Makes the event ready; takes `status`. Only the first call counts; later ones return false.
bool hlo_event_set(hlo_event_t* event, hlo_status_t status);
bool hlo_event_is_ready(hlo_event_t* event);
/// Returns true if others hold references besides the caller's own; only they could create more.
bool hlo_event_is_shared(hlo_event_t* event, int own_count);
/// Returns the error of a ready event, lent; OK while pending.
hlo_status_t hlo_event_error(hlo_event_t* event);
/// Waits at most timeout_ns (UINT64_MAX: without limit); returns a clone of the event's status or
/// DEADLINE_EXCEEDED.
hlo_status_t hlo_event_await(hlo_event_t* event, uint64_t timeout_ns) HLO_MUST_USE;
/// An entry of an event's list, embedded in the waiting object, so that registering cannot fail.
typedef struct hlo_event_waiter {
  struct hlo_event_waiter* next;
  hlo_event_callback_t callback;
  void* context;
  hlo_event_t* event;  // retained, of a postponed callback
} hlo_event_waiter_t;

/// Returns true if the event is pending and its end is unknown: it is a promise, or waits for one.
bool hlo_event_awaits_promise(hlo_event_t* event);
/// Sets whether an event's end depends on a promise; called by its creator.
void hlo_event_note_promise(hlo_event_t* event, bool awaits_promise);

/// Registers a callback. `waiter`, which need not be initialised, belongs to the event until the
/// callback is called, which may free it.
void hlo_event_on_ready(hlo_event_t* event, hlo_event_waiter_t* waiter,
                        hlo_event_callback_t callback, void* context);

/// Returns the number of waiting callbacks. For tests, while no thread sets the event.
uint32_t hlo_event_waiter_count(hlo_event_t* event);

enum { HLO_EVENT_FILTER_SLOTS = 32 };

/// A cache of the pending events with which a set of waiters has registered, to register once with
/// each: the arguments of a launch are mostly results of few others. Initially is_used = false.
typedef struct hlo_event_filter {
  bool is_used;                                      // false: the slots are not initialised
  const hlo_event_t* slots[HLO_EVENT_FILTER_SLOTS];  // by address
} hlo_event_filter_t;

/// Returns true if the cache has the event, else adds it; may forget events.
bool hlo_event_filter_has(hlo_event_filter_t* filter, const hlo_event_t* event);

/// Runs the callbacks that this thread has postponed; called before blocking.
void hlo_event_run_postponed(void);

/// Sets `target` when all `count` events are ready, with the error of the lowest failed index.
/// Events may be NULL (ready). Holds its own references. The target awaits a promise if one of them
/// does.
void hlo_event_join(hlo_event_t* const* events, uint32_t count, hlo_event_t* target);
