// SPDX-License-Identifier: Apache-2.0
// One-sided operations: a window is memory that every process of a group exposes to the others, at
// the same offsets. A process writes into the memory of another (put) or reads it (get) without
// that process; signals say when data is there. Nothing blocks: a process that finds too few
// signals, or too few others at a barrier, is woken and asks again.
#pragma once

#include <stddef.h>

#include "base/status.h"

/// How the memory of members can be reached. A transport for devices whose links can write to
/// several devices at once adds another way.
typedef enum hlo_window_reach {
  HLO_WINDOW_PEER,       // one member's memory
  HLO_WINDOW_MULTICAST,  // the memory of all members, by one write
} hlo_window_reach_t;

/// Asks for a window; equal on all members except for `base`.
typedef struct hlo_window_request {
  size_t size_bytes, alignment;  // alignment: a power of two, at most HLO_WINDOW_ALIGNMENT_MAX
  uint32_t signal_count;
  hlo_window_reach_t reach;
  void* base;  // memory that the process has, lent until the window is released; NULL: the
               // window's own, zeroed
} hlo_window_request_t;

enum { HLO_WINDOW_ALIGNMENT_MAX = 4096 };

/// threads: safe; the owner orders accesses to one range by signals
typedef struct hlo_window hlo_window_t;

/// Called to have a member ask again; under the window's lock, so it must not call back.
typedef void (*hlo_window_wake_t)(void* context, uint32_t member);

/// Creates a window for `member_count` processes of this address space.
/// errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT (alignment, no members), UNIMPLEMENTED (a reach
/// that this transport does not have)
hlo_status_t hlo_window_create(uint32_t member_count, const hlo_window_request_t* request,
                               hlo_window_wake_t wake, void* context,
                               hlo_window_t** out_window) HLO_MUST_USE;
/// No member may be in an operation.
void hlo_window_release(hlo_window_t* window);

/// Registers the memory of a member, which is a collective: *out_pending until all have. Called
/// again after a wake with the same request.
/// errors: INVALID_ARGUMENT (other sizes than the window's), that of hlo_window_fail()
hlo_status_t hlo_window_register(hlo_window_t* window, uint32_t member,
                                 const hlo_window_request_t* request,
                                 bool* out_pending) HLO_MUST_USE;
/// Returns the address of a member's memory in this address space, once all are registered; NULL:
/// it can only be reached by put and get.
void* hlo_window_address(const hlo_window_t* window, uint32_t member);

/// Copies to or from the memory of `target`. A put is visible to the target after
/// hlo_window_fence() and a signal. errors: INVALID_ARGUMENT (a range outside of the window)
hlo_status_t hlo_window_put(hlo_window_t* window, uint32_t target, size_t offset, const void* from,
                            size_t size_bytes) HLO_MUST_USE;
hlo_status_t hlo_window_get(hlo_window_t* window, uint32_t target, size_t offset, void* to,
                            size_t size_bytes) HLO_MUST_USE;
/// Orders the puts of the caller before its later signals and puts.
void hlo_window_fence(hlo_window_t* window);

/// Adds to a signal of the target, after the puts of the caller.
void hlo_window_signal(hlo_window_t* window, uint32_t target, uint32_t signal, uint64_t count);
/// Takes `count` from a signal of the caller, or takes nothing and sets *out_pending: the caller is
/// woken when the signal has grown.
/// errors: that of hlo_window_fail()
hlo_status_t hlo_window_wait(hlo_window_t* window, uint32_t member, uint32_t signal, uint64_t count,
                             bool* out_pending) HLO_MUST_USE;
/// Passes when all members have arrived as often as the caller; the arrival counts once, however
/// often the caller asks. Puts before it are visible to all after it.
/// errors: that of hlo_window_fail()
hlo_status_t hlo_window_barrier(hlo_window_t* window, uint32_t member,
                                bool* out_pending) HLO_MUST_USE;
/// Fails all that wait, now or later, with `error`, which is lent.
void hlo_window_fail(hlo_window_t* window, hlo_status_t error);

// ---- registrations

/// Remembers windows by communicator (group), address and size, so that a buffer that is used again
/// is not registered again. Another size at an address is another buffer.
/// threads: external lock
typedef struct hlo_window_cache hlo_window_cache_t;

/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_window_cache_create(uint32_t limit, hlo_window_cache_t** out_cache) HLO_MUST_USE;
/// Releases the windows.
void hlo_window_cache_release(hlo_window_cache_t* cache);
/// Returns the window, lent until the next call that adds or drops; NULL: none is known.
hlo_window_t* hlo_window_cache_find(hlo_window_cache_t* cache, uint64_t group_id, const void* base,
                                    size_t size_bytes);
/// Takes the window, and releases the oldest one at the limit.
/// errors: RESOURCE_EXHAUSTED; the window is then released
hlo_status_t hlo_window_cache_add(hlo_window_cache_t* cache, uint64_t group_id, const void* base,
                                  size_t size_bytes, hlo_window_t* window) HLO_MUST_USE;
/// Releases all windows over memory that overlaps a range which is about to be freed.
void hlo_window_cache_drop(hlo_window_cache_t* cache, const void* base, size_t size_bytes);
