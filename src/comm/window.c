// SPDX-License-Identifier: Apache-2.0
// Windows between threads of one process (see window.h): puts and gets are copies, and the lock
// under which signals and arrivals are counted orders them.
#include "comm/window.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"

typedef struct window_member {
  bool is_registered, is_waiting, is_at_barrier;
  uint64_t barrier;  // the number of the one at which it is
  uint8_t* base;
} window_member_t;

struct hlo_window {
  hlo_mutex_t lock;  // guards all below but `request`, and the bases once all are registered
  hlo_window_request_t request;
  uint32_t member_count, registered_count, arrived_count;
  uint64_t barrier_count;  // that have ended
  hlo_window_wake_t wake;
  void* context;
  hlo_status_t error;
  uint8_t* memory;    // of members that bring none; NULL: all bring theirs
  uint64_t* signals;  // [member][signal]
  window_member_t members[];
};

static size_t stride_of(const hlo_window_request_t* request) {
  const size_t mask = request->alignment - 1;
  return (request->size_bytes + mask) & ~mask;
}

static hlo_status_t check_request(uint32_t member_count, const hlo_window_request_t* request) {
  const size_t alignment = request->alignment;
  if (request->reach != HLO_WINDOW_PEER) {
    return hlo_unimplemented("memory of this process has no multicast addresses");
  }
  if (member_count == 0) return hlo_invalid_argument("a window without members");
  if (alignment == 0 || (alignment & (alignment - 1)) || alignment > HLO_WINDOW_ALIGNMENT_MAX) {
    return hlo_invalid_argument("an alignment of %zu bytes, expected a power of two up to %d",
                                alignment, HLO_WINDOW_ALIGNMENT_MAX);
  }
  if (request->size_bytes > SIZE_MAX / 2 / member_count) {
    return hlo_invalid_argument("a window of %zu bytes", request->size_bytes);
  }
  return hlo_ok();
}

hlo_status_t hlo_window_create(uint32_t member_count, const hlo_window_request_t* request,
                               hlo_window_wake_t wake, void* context, hlo_window_t** out_window) {
  HLO_TRY(check_request(member_count, request));
  const size_t bytes = sizeof(hlo_window_t) + member_count * sizeof(window_member_t);
  const size_t signal_bytes = (size_t)member_count * request->signal_count * sizeof(uint64_t);
  hlo_window_t* window = hlo_mem_alloc_zeroed(bytes);
  if (!window) return hlo_status_out_of_memory(bytes);
  window->signals = hlo_mem_alloc_zeroed(signal_bytes);
  if (!window->signals) {
    hlo_mem_free(window);
    return hlo_status_out_of_memory(signal_bytes);
  }
  hlo_mutex_init(&window->lock, HLO_LOCK_LEVEL_COLLECTIVE);
  window->request = *request;
  window->member_count = member_count;
  window->wake = wake;
  window->context = context;
  *out_window = window;
  return hlo_ok();
}

void hlo_window_release(hlo_window_t* window) {
  if (!window) return;
  hlo_status_release(window->error);
  hlo_mutex_deinit(&window->lock);
  hlo_mem_free(window->memory);
  hlo_mem_free(window->signals);
  hlo_mem_free(window);
}

// ---- waiting

static void wake_member(hlo_window_t* window, uint32_t member) {
  if (!window->members[member].is_waiting) return;
  window->members[member].is_waiting = false;
  if (window->wake) window->wake(window->context, member);
}

static void wake_all(hlo_window_t* window) {
  for (uint32_t i = 0; i < window->member_count; ++i) wake_member(window, i);
}

// Answers a member whose condition is met or not.
static hlo_status_t answer(hlo_window_t* window, uint32_t member, bool is_met, bool* out_pending) {
  *out_pending = !is_met;
  if (!is_met && !hlo_status_is_ok(window->error)) return hlo_status_clone(window->error);
  window->members[member].is_waiting = !is_met;
  return hlo_ok();
}

void hlo_window_fail(hlo_window_t* window, hlo_status_t error) {
  hlo_mutex_lock(&window->lock);
  if (hlo_status_is_ok(window->error)) window->error = hlo_status_clone(error);
  wake_all(window);
  hlo_mutex_unlock(&window->lock);
}

// ---- registration

// Members that bring no memory have parts of one block.
static hlo_status_t own_memory(hlo_window_t* window) {
  const size_t stride = stride_of(&window->request), bytes = stride * window->member_count;
  if (window->memory) return hlo_ok();
  window->memory = hlo_mem_alloc_aligned(bytes, window->request.alignment);
  if (!window->memory) return hlo_status_out_of_memory(bytes);
  memset(window->memory, 0, bytes);
  return hlo_ok();
}

static hlo_status_t register_locked(hlo_window_t* window, uint32_t member,
                                    const hlo_window_request_t* request, bool* out_pending) {
  window_member_t* own = &window->members[member];
  if (!own->is_registered) {
    if (request->size_bytes != window->request.size_bytes ||
        request->signal_count != window->request.signal_count) {
      return hlo_invalid_argument("member %u registers %zu bytes, the window has %zu", member,
                                  request->size_bytes, window->request.size_bytes);
    }
    if ((uintptr_t)request->base % window->request.alignment) {
      return hlo_invalid_argument("member %u registers memory that is not aligned", member);
    }
    if (!request->base) HLO_TRY(own_memory(window));
    own->base =
        request->base ? request->base : window->memory + member * stride_of(&window->request);
    own->is_registered = true;
    if (++window->registered_count == window->member_count) wake_all(window);
  }
  return answer(window, member, window->registered_count == window->member_count, out_pending);
}

hlo_status_t hlo_window_register(hlo_window_t* window, uint32_t member,
                                 const hlo_window_request_t* request, bool* out_pending) {
  *out_pending = false;
  hlo_mutex_lock(&window->lock);
  hlo_status_t status = register_locked(window, member, request, out_pending);
  hlo_mutex_unlock(&window->lock);
  return status;
}

void* hlo_window_address(const hlo_window_t* window, uint32_t member) {
  return window->members[member].base;
}

// ---- data

static hlo_status_t check_range(const hlo_window_t* window, size_t offset, size_t size_bytes) {
  const size_t whole = window->request.size_bytes;
  if (size_bytes <= whole && offset <= whole - size_bytes) return hlo_ok();
  return hlo_invalid_argument("%zu bytes at %zu of a window of %zu", size_bytes, offset, whole);
}

hlo_status_t hlo_window_put(hlo_window_t* window, uint32_t target, size_t offset, const void* from,
                            size_t size_bytes) {
  HLO_TRY(check_range(window, offset, size_bytes));
  if (size_bytes) memcpy(window->members[target].base + offset, from, size_bytes);
  return hlo_ok();
}

hlo_status_t hlo_window_get(hlo_window_t* window, uint32_t target, size_t offset, void* to,
                            size_t size_bytes) {
  HLO_TRY(check_range(window, offset, size_bytes));
  if (size_bytes) memcpy(to, window->members[target].base + offset, size_bytes);
  return hlo_ok();
}

void hlo_window_fence(hlo_window_t* window) {
  (void)window;  // the lock of a signal orders all that its thread has written before
}

// ---- signals and barriers

void hlo_window_signal(hlo_window_t* window, uint32_t target, uint32_t signal, uint64_t count) {
  hlo_mutex_lock(&window->lock);
  window->signals[(size_t)target * window->request.signal_count + signal] += count;
  wake_member(window, target);
  hlo_mutex_unlock(&window->lock);
}

hlo_status_t hlo_window_wait(hlo_window_t* window, uint32_t member, uint32_t signal, uint64_t count,
                             bool* out_pending) {
  hlo_mutex_lock(&window->lock);
  uint64_t* value = &window->signals[(size_t)member * window->request.signal_count + signal];
  const bool is_met = *value >= count;
  if (is_met) *value -= count;
  hlo_status_t status = answer(window, member, is_met, out_pending);
  hlo_mutex_unlock(&window->lock);
  return status;
}

hlo_status_t hlo_window_barrier(hlo_window_t* window, uint32_t member, bool* out_pending) {
  hlo_mutex_lock(&window->lock);
  window_member_t* own = &window->members[member];
  if (!own->is_at_barrier) {
    own->is_at_barrier = true;
    own->barrier = window->barrier_count;
    if (++window->arrived_count == window->member_count) {
      window->arrived_count = 0;
      ++window->barrier_count;
      wake_all(window);
    }
  }
  const bool is_met = window->barrier_count > own->barrier;
  if (is_met) own->is_at_barrier = false;
  hlo_status_t status = answer(window, member, is_met, out_pending);
  hlo_mutex_unlock(&window->lock);
  return status;
}

// ---- registrations

typedef struct window_entry {
  uint64_t group_id;
  uintptr_t base;
  size_t size_bytes;
  hlo_window_t* window;
} window_entry_t;

struct hlo_window_cache {
  uint32_t count, limit;
  window_entry_t entries[];  // the oldest first
};

hlo_status_t hlo_window_cache_create(uint32_t limit, hlo_window_cache_t** out_cache) {
  const size_t bytes = sizeof(hlo_window_cache_t) + limit * sizeof(window_entry_t);
  hlo_window_cache_t* cache = hlo_mem_alloc_zeroed(bytes);
  if (!cache) return hlo_status_out_of_memory(bytes);
  cache->limit = limit;
  *out_cache = cache;
  return hlo_ok();
}

static void remove_entry(hlo_window_cache_t* cache, uint32_t i) {
  hlo_window_release(cache->entries[i].window);
  --cache->count;
  memmove(&cache->entries[i], &cache->entries[i + 1], (cache->count - i) * sizeof *cache->entries);
}

void hlo_window_cache_release(hlo_window_cache_t* cache) {
  while (cache->count) remove_entry(cache, cache->count - 1);
  hlo_mem_free(cache);
}

hlo_window_t* hlo_window_cache_find(hlo_window_cache_t* cache, uint64_t group_id, const void* base,
                                    size_t size_bytes) {
  for (uint32_t i = 0; i < cache->count; ++i) {
    const window_entry_t* entry = &cache->entries[i];
    if (entry->group_id == group_id && entry->base == (uintptr_t)base &&
        entry->size_bytes == size_bytes) {
      return entry->window;
    }
  }
  return NULL;
}

hlo_status_t hlo_window_cache_add(hlo_window_cache_t* cache, uint64_t group_id, const void* base,
                                  size_t size_bytes, hlo_window_t* window) {
  if (cache->limit == 0) {
    hlo_window_release(window);
    return hlo_status_out_of_memory(sizeof(window_entry_t));
  }
  if (cache->count == cache->limit) remove_entry(cache, 0);
  cache->entries[cache->count++] = (window_entry_t){group_id, (uintptr_t)base, size_bytes, window};
  return hlo_ok();
}

void hlo_window_cache_drop(hlo_window_cache_t* cache, const void* base, size_t size_bytes) {
  const uintptr_t begin = (uintptr_t)base;
  for (uint32_t i = cache->count; i-- > 0;) {
    const window_entry_t* entry = &cache->entries[i];
    if (entry->base < begin + size_bytes && begin < entry->base + entry->size_bytes) {
      remove_entry(cache, i);
    }
  }
}
