// SPDX-License-Identifier: Apache-2.0
// Threads: locks with levels, gates, parking, and the one pool of worker threads.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// ---- locks -------------------------------------------------------------------------------------

/// A thread takes locks in ascending order of level only; debug builds assert it. Leave gaps.
typedef enum hlo_lock_level {
  HLO_LOCK_LEVEL_CLIENT = 8,
  HLO_LOCK_LEVEL_FLIGHT = 24,
  HLO_LOCK_LEVEL_COLLECTIVE = 32,
  HLO_LOCK_LEVEL_BUFFER = 40,
  HLO_LOCK_LEVEL_MEMORY = 52,
  HLO_LOCK_LEVEL_POOL = 56,
  HLO_LOCK_LEVEL_FFI = 60,
  HLO_LOCK_LEVEL_LOG = 62,
  HLO_LOCK_LEVEL_LIMIT = 64,
} hlo_lock_level_t;

enum { HLO_MUTEX_FREE, HLO_MUTEX_HELD, HLO_MUTEX_CONTENDED };

/// A futex lock; one instruction each to lock and unlock without contention. Not recursive. Never
/// held while calling user code, launching, or logging. threads: safe
typedef struct hlo_mutex {
  atomic_uint state;  // free, held, or held with sleepers; acquire on locking, release on unlocking
  uint8_t level;
} hlo_mutex_t;

/// level: an hlo_lock_level_t, or one plus a small number.
void hlo_mutex_init(hlo_mutex_t* mutex, unsigned level);
void hlo_mutex_deinit(hlo_mutex_t* mutex);
/// Asserts in debug builds that the calling thread holds a lock of this level.
void hlo_mutex_assert_held(const hlo_mutex_t* mutex);

// The rare parts of the two functions below, and those for debug builds.
void hlo_mutex_lock_contended(hlo_mutex_t* mutex);
void hlo_mutex_wake(hlo_mutex_t* mutex);
void hlo_mutex_note_lock(const hlo_mutex_t* mutex);
void hlo_mutex_note_unlock(const hlo_mutex_t* mutex);

static inline void hlo_mutex_lock(hlo_mutex_t* mutex) {
#ifndef NDEBUG
  hlo_mutex_note_lock(mutex);
#endif
  unsigned expected = HLO_MUTEX_FREE;
  if (HLO_UNLIKELY(!atomic_compare_exchange_strong_explicit(
          &mutex->state, &expected, HLO_MUTEX_HELD, memory_order_acquire, memory_order_relaxed))) {
    hlo_mutex_lock_contended(mutex);
  }
}

static inline void hlo_mutex_unlock(hlo_mutex_t* mutex) {
#ifndef NDEBUG
  hlo_mutex_note_unlock(mutex);
#endif
  unsigned old = atomic_exchange_explicit(&mutex->state, HLO_MUTEX_FREE, memory_order_release);
  if (HLO_UNLIKELY(old == HLO_MUTEX_CONTENDED)) hlo_mutex_wake(mutex);
}

enum { HLO_GATE_CLOSED, HLO_GATE_SLEEPERS, HLO_GATE_OPEN };

/// A one-shot gate that threads wait for: zero-initialised is closed; it opens once and stays open.
/// threads: safe; the last thread to return from await may free it.
typedef struct hlo_gate {
  atomic_uint state;  // closed, closed with sleepers, or open
} hlo_gate_t;

void hlo_gate_open(hlo_gate_t* gate);
bool hlo_gate_is_open(hlo_gate_t* gate);
/// Waits until the gate is open, at most timeout_ns (UINT64_MAX: without limit); false on timeout.
bool hlo_gate_await(hlo_gate_t* gate, uint64_t timeout_ns);

// ---- threads that must not wait -----------------------------------------------------------------

/// Marks code that others wait for, such as callbacks, which must not wait itself: the awaited
/// event could depend on this thread. Calls nest.
void hlo_thread_no_wait_begin(void);
void hlo_thread_no_wait_end(void);
/// Returns true between them.
bool hlo_thread_is_in_callback(void);
/// Returns false between them, and on the workers of every pool.
bool hlo_thread_may_wait(void);

// ---- the pool ----------------------------------------------------------------------------------

/// One unit of work, embedded in the object that it works on. The pool owns it from submission
/// until `run` is called; `run` may free it or submit it again.
typedef struct hlo_job {
  struct hlo_job* next;  // the pool's
  void (*run)(struct hlo_job* job);
} hlo_job_t;

/// Worker threads with one queue. A job must not block but between hlo_pool_blocking_begin() and
/// _end(). Idle workers look for work for 50 us, then
/// sleep. Workers have all signals blocked and the default floating-point environment. threads:
/// safe.
typedef struct hlo_pool hlo_pool_t;

/// worker_count 0: hlo_os_usable_cpu_count(). errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT for more
/// than 1024. owner: caller, hlo_pool_release().
hlo_status_t hlo_pool_create(uint32_t worker_count, hlo_pool_t** out_pool) HLO_MUST_USE;
/// Runs everything already submitted, joins all threads and frees the pool. Must not be called on
/// its own workers. In a forked child, where the threads do not exist, only frees.
void hlo_pool_release(hlo_pool_t* pool);
/// Like hlo_pool_release() without waiting, on any thread: the last worker to end frees the pool,
/// then calls `after`. Not in a forked child.
void hlo_pool_retire(hlo_pool_t* pool, void (*after)(void* context), void* context);

uint32_t hlo_pool_worker_count(const hlo_pool_t* pool);
/// Returns true on a thread that runs jobs of this pool.
bool hlo_pool_is_current(const hlo_pool_t* pool);

/// Marks code of a job that may block, such as a foreign function, between begin and end on one
/// thread. If jobs are queued meanwhile, helper threads run them, at most one for each blocked
/// thread, so that a job may wait for other jobs. Helpers end soon after they have no work. Calls
/// do not nest. On other threads the calls do nothing.
void hlo_pool_blocking_begin(hlo_pool_t* pool);
void hlo_pool_blocking_end(hlo_pool_t* pool);
/// Returns the number of helper threads that exist now.
uint32_t hlo_pool_helper_count(hlo_pool_t* pool);
/// Returns true in a process forked after the pool was created; nothing may be submitted then.
bool hlo_pool_is_orphaned(const hlo_pool_t* pool);

/// Queues a job, first in, first out. Allocates nothing and cannot fail.
void hlo_pool_submit(hlo_pool_t* pool, hlo_job_t* job);

/// A chunk of a parallel loop. Returns zero to continue; any other value skips the remaining
/// chunks.
typedef int32_t (*hlo_chunk_fn_t)(void* context, size_t chunk_index);

/// Runs chunks 0..chunk_count-1 on the caller and on idle workers, on at most as many threads as
/// the pool has workers, and returns when all have ended. Each thread takes consecutive chunks, and
/// the same ones when the loop is repeated, unless a thread is late. The caller takes chunks of its
/// own loop only and waits only for chunks that already run elsewhere, so it may be a worker. Every
/// thread runs its chunks in the environment of the caller (base/env.h). Returns zero or the value
/// of a chunk that stopped the loop. pool NULL: all on the caller, in order.
int32_t hlo_pool_parallel_for(hlo_pool_t* pool, size_t chunk_count, hlo_chunk_fn_t fn,
                              void* context);

/// Returns the number of chunks of about `grain` items in `total`; independent of threads.
static inline size_t hlo_chunk_count(size_t total, size_t grain) {
  return grain ? total / grain + (total % grain != 0) : total;
}
/// Computes the half-open range of items of one chunk; sizes of chunks differ by at most one item.
static inline void hlo_chunk_range(size_t total, size_t chunk_count, size_t chunk_index,
                                   size_t* out_begin, size_t* out_end) {
  size_t size = total / chunk_count, extra = total % chunk_count;
  *out_begin = chunk_index * size + (chunk_index < extra ? chunk_index : extra);
  *out_end = *out_begin + size + (chunk_index < extra);
}
