// SPDX-License-Identifier: Apache-2.0
// Locks and the worker pool (see threads.h). Jobs, open loops and the list of idle workers share
// one mutex: a thread that adds work removes the needed workers from the list and wakes each by its
// own futex word. A parallel loop is on its caller's stack: workers join it under the mutex; the
// caller closes it under the mutex and then waits for the workers that joined.
#define _GNU_SOURCE
#include "base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>

#include "base/check.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/os.h"

enum {
  SPIN_NS = 50 * 1000,
  WORKER_LIMIT = 1024,
  GATE_SPIN_NS = 10 * 1000,
  SPIN_PAUSES = 32,  // between two reads of the clock
  LOCK_SPINS = 100,  // attempts to take a held lock before sleeping
  STACK_BYTES = 8 * 1024 * 1024,
  LOOP_WAITING = 1 << 30,             // flag in loop_t.active: the caller sleeps
  HELPER_REST_NS = 20 * 1000 * 1000,  // a helper without work ends after it
  MAX_SHARES = 64,                    // of a loop; with more threads, some have a share in common
  LINE_BYTES = 64,
};

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// ---- locks -------------------------------------------------------------------------------------

#ifndef NDEBUG
static _Thread_local uint64_t t_levels_held;  // one bit per level
void hlo_mutex_note_lock(const hlo_mutex_t* mutex) {
  HLO_ASSERT(t_levels_held >> mutex->level == 0, "locks are taken in ascending order of level");
  t_levels_held |= 1ull << mutex->level;
}
void hlo_mutex_note_unlock(const hlo_mutex_t* mutex) {
  HLO_ASSERT(t_levels_held >> mutex->level & 1, "a mutex is unlocked by the thread that holds it");
  t_levels_held &= ~(1ull << mutex->level);
}
#else
void hlo_mutex_note_lock(HLO_UNUSED const hlo_mutex_t* mutex) {}
void hlo_mutex_note_unlock(HLO_UNUSED const hlo_mutex_t* mutex) {}
#endif

void hlo_mutex_init(hlo_mutex_t* mutex, unsigned level) {
  HLO_ASSERT(level < HLO_LOCK_LEVEL_LIMIT, "a level is a bit of a word");
  atomic_init(&mutex->state, HLO_MUTEX_FREE);
  mutex->level = (uint8_t)level;
}

void hlo_mutex_deinit(HLO_UNUSED hlo_mutex_t* mutex) {}

void hlo_mutex_lock_contended(hlo_mutex_t* mutex) {
  for (int i = 0; i < LOCK_SPINS;
       ++i) {  // most critical sections are shorter than falling asleep takes
    unsigned expected = HLO_MUTEX_FREE;
    if (atomic_load_explicit(&mutex->state, memory_order_relaxed) == HLO_MUTEX_FREE &&
        atomic_compare_exchange_strong_explicit(&mutex->state, &expected, HLO_MUTEX_HELD,
                                                memory_order_acquire, memory_order_relaxed)) {
      return;
    }
    pause_cpu();
  }
  // From now on the lock counts as contended, since other threads may sleep as well.
  while (atomic_exchange_explicit(&mutex->state, HLO_MUTEX_CONTENDED, memory_order_acquire) !=
         HLO_MUTEX_FREE) {
    hlo_os_futex_wait(&mutex->state, HLO_MUTEX_CONTENDED, UINT64_MAX);
  }
}

void hlo_mutex_wake(hlo_mutex_t* mutex) {
  // The mutex may be freed with its owner by now: a wake reads no memory.
  hlo_os_futex_wake(&mutex->state, 1);
}

void hlo_mutex_assert_held(const hlo_mutex_t* mutex) {
#ifndef NDEBUG
  HLO_ASSERT(t_levels_held >> mutex->level & 1, "the caller holds the lock");
#else
  (void)mutex;
#endif
}

void hlo_gate_open(hlo_gate_t* gate) {
  // Release: threads that find the gate open see all earlier writes. The wake may use the address
  // of a freed gate, which is harmless: a futex wake reads no memory.
  unsigned old = atomic_exchange_explicit(&gate->state, HLO_GATE_OPEN, memory_order_release);
  if (old == HLO_GATE_SLEEPERS) hlo_os_futex_wake(&gate->state, UINT32_MAX);
}

bool hlo_gate_is_open(hlo_gate_t* gate) {
  return atomic_load_explicit(&gate->state, memory_order_acquire) == HLO_GATE_OPEN;
}

// Spins briefly before it sleeps: short programs end sooner than a thread falls asleep.
static bool spin_until_open(hlo_gate_t* gate, uint64_t start, uint64_t timeout_ns) {
  uint64_t limit = timeout_ns < GATE_SPIN_NS ? timeout_ns : GATE_SPIN_NS;
  do {
    for (int i = 0; i < SPIN_PAUSES; ++i) {
      if (hlo_gate_is_open(gate)) return true;
      pause_cpu();
    }
  } while (hlo_os_now_ns() - start < limit);
  return false;
}

bool hlo_gate_await(hlo_gate_t* gate, uint64_t timeout_ns) {
  if (hlo_gate_is_open(gate)) return true;
  uint64_t start = hlo_os_now_ns();
  if (spin_until_open(gate, start, timeout_ns)) return true;
  for (;;) {
    unsigned expected = HLO_GATE_CLOSED;
    atomic_compare_exchange_strong_explicit(&gate->state, &expected, HLO_GATE_SLEEPERS,
                                            memory_order_acquire, memory_order_acquire);
    if (expected == HLO_GATE_OPEN) return true;
    uint64_t left = UINT64_MAX;
    if (timeout_ns != UINT64_MAX) {
      uint64_t spent = hlo_os_now_ns() - start;
      if (spent >= timeout_ns) return hlo_gate_is_open(gate);
      left = timeout_ns - spent;
    }
    hlo_os_futex_wait(&gate->state, HLO_GATE_SLEEPERS, left);
    if (hlo_gate_is_open(gate)) return true;
  }
}

// ---- the pool ----------------------------------------------------------------------------------

/// The rest of a share of consecutive chunks: the first one and, shifted above it, the end.
/// Relaxed: it only distributes numbers.
typedef struct share {
  alignas(LINE_BYTES) _Atomic uint64_t left;
} share_t;

// Each thread has a share of the chunks, takes them in order, and then takes chunks from the ends
// of other shares. Chunks that run at the same time are thus far apart, so that no thread
// prefetches data that another is writing, and the next loop over the same data finds it in the
// same caches.
typedef struct loop {
  struct loop *previous, *next;  // in the pool's list while open (mutex)
  bool listed;                   // mutex
  hlo_chunk_fn_t fn;
  void* context;
  hlo_env_state_t env;  // of the thread that started the loop, for those that join
  share_t* shares;
  uint32_t share_count;
  uint32_t joined;     // mutex; workers that joined
  uint32_t seats;      // mutex; workers that may still join
  atomic_int result;   // first nonzero value
  atomic_uint active;  // joined workers that run, and LOOP_WAITING; release on leaving
} loop_t;

typedef struct queue {
  hlo_job_t* head;
  hlo_job_t* tail;
} queue_t;

enum { WORKER_CALLED, WORKER_LOOKING, WORKER_ASLEEP };

typedef struct worker {
  alignas(LINE_BYTES) atomic_uint state;  // idle workers wait for WORKER_CALLED
  struct worker* next;  // in the list of idle workers (mutex), or of workers to wake
  hlo_pool_t* pool;
  pthread_t thread;
  int64_t thread_id;
  uint32_t cpu;            // the core on which it became idle
  hlo_os_detour_t detour;  // written by the thread that wakes it
} worker_t;

struct hlo_pool {
  hlo_mutex_t mutex;
  queue_t jobs;               // mutex
  loop_t* first_loop;         // mutex; newest last
  loop_t* last_loop;          // mutex
  worker_t* idle;             // mutex; the most recently idle first
  uint32_t running_jobs;      // mutex; jobs taken but not finished
  uint32_t blocked;           // mutex; threads between blocking_begin and blocking_end
  uint32_t helpers;           // mutex; helper threads that exist
  uint32_t resting;           // mutex; those of them that wait for a call
  uint32_t called;            // mutex; calls that no helper has answered yet
  atomic_uint helper_events;  // incremented by calls and by helpers that end
  bool stopping;              // mutex
  bool is_retired;            // mutex; set with `stopping`, after the fields for it

  atomic_uint living;  // of a retired pool: workers that have not ended, and the retiring thread
  void (*after)(void* context);
  void* after_context;

  const uint32_t* fork_mark;  // NULL: compare process_id
  int64_t process_id;
  uint32_t worker_count;
  worker_t workers[];
};

static _Thread_local const hlo_pool_t* t_pool;  // the pool of this worker thread
static _Thread_local uint32_t t_no_wait;        // calls of hlo_thread_no_wait_begin()

void hlo_thread_no_wait_begin(void) {
  ++t_no_wait;
}
void hlo_thread_no_wait_end(void) {
  --t_no_wait;
}
bool hlo_thread_is_in_callback(void) {
  return t_no_wait > 0;
}
bool hlo_thread_may_wait(void) {
  return !t_pool && t_no_wait == 0;
}

static void push(queue_t* queue, hlo_job_t* job) {
  job->next = NULL;
  if (queue->tail) {
    queue->tail->next = job;
  } else {
    queue->head = job;
  }
  queue->tail = job;
}

static hlo_job_t* pop(queue_t* queue) {
  hlo_job_t* job = queue->head;
  if (!job) return NULL;
  queue->head = job->next;
  if (!queue->head) queue->tail = NULL;
  return job;
}

static void become_idle_locked(worker_t* worker) {
  atomic_store_explicit(&worker->state, WORKER_LOOKING, memory_order_relaxed);
  worker->cpu = hlo_os_current_cpu();
  worker->next = worker->pool->idle;
  worker->pool->idle = worker;
}

// Removes up to `count` idle workers from the list; the caller wakes them after unlocking.
static worker_t* take_idle_locked(hlo_pool_t* pool, size_t count) {
  worker_t *first = pool->idle, **end = &pool->idle;
  for (; *end && count; --count) end = &(*end)->next;
  pool->idle = *end;
  if (end == &pool->idle) return NULL;
  *end = NULL;
  return first;
}

static void call_worker(worker_t* worker) {
  // Release: the detour. If the worker has ended meanwhile, the wake is spurious and harmless.
  unsigned old = atomic_exchange_explicit(&worker->state, WORKER_CALLED, memory_order_acq_rel);
  if (old == WORKER_ASLEEP) hlo_os_futex_wake(&worker->state, 1);
}

static void call_workers(worker_t* first) {
  for (worker_t *worker = first, *next; worker; worker = next) {
    next = worker->next;  // a worker that is woken changes its links
    call_worker(worker);
  }
}

// Wakes workers to run beside the caller, which continues. Systems that pack threads onto few cores
// place a thread on the core of its waker although others are free; it would run there only once
// the caller sleeps. So sleeping workers wake elsewhere, and spinning workers of this core, which
// cannot be running now, are moved.
static void call_workers_elsewhere(worker_t* first) {
  uint32_t cpu = first ? hlo_os_current_cpu() : 0;
  for (worker_t *worker = first, *next; worker; worker = next) {
    next = worker->next;
    bool is_asleep = atomic_load_explicit(&worker->state, memory_order_relaxed) == WORKER_ASLEEP;
    if (is_asleep || worker->cpu == cpu) {
      hlo_os_thread_detour(worker->thread_id, cpu, &worker->detour);
    }
    call_worker(worker);
  }
}

// Waits until an idle worker is woken: first spins for some time since `*idle_since`, the time of
// its last work or wake-up (0: now), then sleeps. Work that others take does not prolong the
// spinning of a worker, whose core other threads may need; but a worker that was woken too late for
// its work spins again, so as to be in time for the next.
static void await_call(worker_t* worker, uint64_t* idle_since) {
  uint64_t now = hlo_os_now_ns();
  if (*idle_since == 0) *idle_since = now;
  for (uint64_t end = *idle_since + SPIN_NS; now < end; now = hlo_os_now_ns()) {
    for (int i = 0; i < SPIN_PAUSES; ++i) {
      if (atomic_load_explicit(&worker->state, memory_order_acquire) == WORKER_CALLED) return;
      pause_cpu();
    }
  }
  unsigned looking = WORKER_LOOKING;
  if (!atomic_compare_exchange_strong_explicit(&worker->state, &looking, WORKER_ASLEEP,
                                               memory_order_acquire, memory_order_acquire)) {
    return;
  }
  do {
    hlo_os_futex_wait(&worker->state, WORKER_ASLEEP, UINT64_MAX);
  } while (atomic_load_explicit(&worker->state, memory_order_acquire) == WORKER_ASLEEP);
  *idle_since = 0;
}

static void list_loop_locked(hlo_pool_t* pool, loop_t* loop) {
  loop->previous = pool->last_loop;
  loop->next = NULL;
  if (pool->last_loop) {
    pool->last_loop->next = loop;
  } else {
    pool->first_loop = loop;
  }
  pool->last_loop = loop;
  loop->listed = true;
}

static void unlist_loop_locked(hlo_pool_t* pool, loop_t* loop) {
  if (!loop->listed) return;
  if (loop->previous) {
    loop->previous->next = loop->next;
  } else {
    pool->first_loop = loop->next;
  }
  if (loop->next) {
    loop->next->previous = loop->previous;
  } else {
    pool->last_loop = loop->previous;
  }
  loop->listed = false;
}

static void make_shares(loop_t* loop, size_t chunk_count) {
  size_t first = 0;
  for (uint32_t i = 0; i < loop->share_count; ++i) {
    size_t end = chunk_count * (i + 1) / loop->share_count;
    atomic_init(&loop->shares[i].left, (uint64_t)end << 32 | first);
    first = end;
  }
}

// Takes the first chunk left of a share, or the last one; returns false if the share is empty.
static bool take_chunk(share_t* share, bool from_end, size_t* out_index) {
  uint64_t left = atomic_load_explicit(&share->left, memory_order_relaxed), rest;
  do {
    uint32_t first = (uint32_t)left, end = (uint32_t)(left >> 32);
    if (first == end) return false;
    *out_index = from_end ? end - 1 : first;
    rest = from_end ? left - ((uint64_t)1 << 32) : left + 1;
  } while (!atomic_compare_exchange_weak_explicit(&share->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

static bool is_stopped(loop_t* loop) {
  return atomic_load_explicit(&loop->result, memory_order_relaxed) != 0;
}

// Runs a thread's own chunks, then those of others; `number` counts the threads.
static void run_chunks(loop_t* loop, uint32_t number) {
  for (uint32_t i = 0; i < loop->share_count; ++i) {
    share_t* share = &loop->shares[(number + i) % loop->share_count];
    size_t index;
    while (!is_stopped(loop) && take_chunk(share, i > 0, &index)) {
      int32_t result = loop->fn(loop->context, index);
      int none = 0;
      if (HLO_UNLIKELY(result != 0)) {
        atomic_compare_exchange_strong_explicit(&loop->result, &none, result, memory_order_relaxed,
                                                memory_order_relaxed);
      }
    }
  }
}

// Returns true if nothing is left for a worker that joins.
static bool is_exhausted(loop_t* loop) {
  for (uint32_t i = 0; i < loop->share_count && !is_stopped(loop); ++i) {
    uint64_t left = atomic_load_explicit(&loop->shares[i].left, memory_order_relaxed);
    if ((uint32_t)left != left >> 32) return false;
  }
  return true;
}

// Joins an open loop and moves it to the end of the list if others may still join; returns NULL
// without an open loop.
static loop_t* join_loop_locked(hlo_pool_t* pool, uint32_t* out_number) {
  loop_t* loop;
  while ((loop = pool->first_loop) != NULL) {
    unlist_loop_locked(pool, loop);
    if (is_exhausted(loop)) continue;
    if (--loop->seats) list_loop_locked(pool, loop);
    *out_number = ++loop->joined;
    atomic_fetch_add_explicit(&loop->active, 1, memory_order_relaxed);
    return loop;
  }
  return NULL;
}

static void leave_loop(loop_t* loop) {
  // Release: the chunks' results, for the caller's acquire in await_loop(). The loop may be freed
  // right after; a wake at its address is harmless then.
  unsigned old = atomic_fetch_sub_explicit(&loop->active, 1, memory_order_release);
  if (old == (LOOP_WAITING | 1u)) hlo_os_futex_wake(&loop->active, 1);
}

static void await_loop(loop_t* loop) {
  uint64_t end = 0;
  for (;;) {
    for (int i = 0; i < SPIN_PAUSES; ++i) {
      if (atomic_load_explicit(&loop->active, memory_order_acquire) == 0) return;
      pause_cpu();
    }
    uint64_t now = hlo_os_now_ns();
    if (end == 0) end = now + SPIN_NS;
    if (now >= end) break;
  }
  unsigned active = atomic_fetch_or_explicit(&loop->active, LOOP_WAITING, memory_order_acquire);
  for (active |= LOOP_WAITING; active != LOOP_WAITING;) {
    hlo_os_futex_wait(&loop->active, active, UINT64_MAX);
    active = atomic_load_explicit(&loop->active, memory_order_acquire);
  }
}

static hlo_job_t* take_job_locked(hlo_pool_t* pool) {
  hlo_job_t* job = pop(&pool->jobs);
  if (job) ++pool->running_jobs;
  return job;
}

static void run_job(hlo_pool_t* pool, hlo_job_t* job) {
  job->run(job);
  hlo_mutex_lock(&pool->mutex);
  --pool->running_jobs;
  worker_t* called = pool->stopping ? take_idle_locked(pool, SIZE_MAX) : NULL;
  hlo_mutex_unlock(&pool->mutex);
  call_workers(called);
}

// Returns true if the pool is being released and nothing can add work any more.
static bool is_finished_locked(const hlo_pool_t* pool) {
  return pool->stopping && !pool->jobs.head && !pool->first_loop && pool->running_jobs == 0;
}

static void free_pool(hlo_pool_t* pool) {
  hlo_os_fork_mark_release(pool->fork_mark);
  hlo_mutex_deinit(&pool->mutex);
  hlo_mem_free(pool);
}

// The last one frees the pool. acq_rel: it sees all writes of the others.
static void leave_retired(hlo_pool_t* pool) {
  if (atomic_fetch_sub_explicit(&pool->living, 1, memory_order_acq_rel) != 1) return;
  void (*after)(void* context) = pool->after;
  void* context = pool->after_context;
  free_pool(pool);
  if (after) after(context);
}

static int start_thread(pthread_t* out_thread, void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all,
                  &before);  // inherited, so that signals go to the host's threads
  int error = pthread_create(out_thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

// ---- helpers: they run jobs in place of threads that are blocked

typedef enum helper_call { CALL_NONE, CALL_RESTING, CALL_NEW } helper_call_t;

// Decides whether a helper has to run the queued jobs; the caller then calls it, unlocked.
static helper_call_t reserve_helper_locked(hlo_pool_t* pool) {
  if (!pool->jobs.head || pool->idle || pool->helpers - pool->resting >= pool->blocked) {
    return CALL_NONE;
  }
  if (pool->resting) {
    --pool->resting;
    ++pool->called;
    return CALL_RESTING;
  }
  ++pool->helpers;
  if (pool->is_retired) atomic_fetch_add_explicit(&pool->living, 1, memory_order_relaxed);
  return CALL_NEW;
}

static void note_helper_event(hlo_pool_t* pool, uint32_t woken_count) {
  atomic_fetch_add_explicit(&pool->helper_events, 1, memory_order_relaxed);
  hlo_os_futex_wake(&pool->helper_events, woken_count);
}

// Waits for a call, for some time; false: the helper has to end.
static bool rest_locked(hlo_pool_t* pool) {
  const uint64_t end = hlo_os_now_ns() + HELPER_REST_NS;
  ++pool->resting;
  while (!pool->called) {
    const uint64_t now = hlo_os_now_ns();
    if (pool->stopping || now >= end) {
      --pool->resting;
      return false;
    }
    const unsigned events = atomic_load_explicit(&pool->helper_events, memory_order_relaxed);
    hlo_mutex_unlock(&pool->mutex);
    hlo_os_futex_wait(&pool->helper_events, events, end - now);
    hlo_mutex_lock(&pool->mutex);
  }
  --pool->called;
  return true;
}

static void leave_as_helper(hlo_pool_t* pool) {
  hlo_mutex_lock(&pool->mutex);
  --pool->helpers;
  const bool is_retired = pool->is_retired;
  atomic_fetch_add_explicit(&pool->helper_events, 1, memory_order_relaxed);
  hlo_mutex_unlock(&pool->mutex);
  // The pool may have been freed; the wake reads no memory.
  if (is_retired) {
    leave_retired(pool);
  } else {
    hlo_os_futex_wake(&pool->helper_events, UINT32_MAX);
  }
}

static void* helper_main(void* argument) {
  hlo_pool_t* pool = argument;
  t_pool = pool;
  (void)hlo_fp_enter(HLO_SUBNORMALS_KEEP);
  pthread_setname_np(pthread_self(), "hlocc-helper");
  hlo_mutex_lock(&pool->mutex);
  for (;;) {
    const bool is_needed = pool->helpers - pool->resting <= pool->blocked;
    hlo_job_t* job = is_needed ? take_job_locked(pool) : NULL;
    if (!job && !rest_locked(pool)) break;
    hlo_mutex_unlock(&pool->mutex);
    if (job) run_job(pool, job);
    hlo_mutex_lock(&pool->mutex);
  }
  hlo_mutex_unlock(&pool->mutex);
  t_pool = NULL;
  leave_as_helper(pool);
  return NULL;
}

static void call_helper(hlo_pool_t* pool, helper_call_t call) {
  if (HLO_LIKELY(call == CALL_NONE)) return;
  if (call == CALL_RESTING) {
    note_helper_event(pool, UINT32_MAX);
    return;
  }
  pthread_t thread;
  if (start_thread(&thread, helper_main, pool) == 0) {
    pthread_detach(thread);
  } else {  // the jobs stay queued for the workers
    leave_as_helper(pool);
  }
}

void hlo_pool_blocking_begin(hlo_pool_t* pool) {
  if (t_pool != pool) return;
  hlo_mutex_lock(&pool->mutex);
  ++pool->blocked;
  const helper_call_t call = reserve_helper_locked(pool);
  hlo_mutex_unlock(&pool->mutex);
  call_helper(pool, call);
}

void hlo_pool_blocking_end(hlo_pool_t* pool) {
  if (t_pool != pool) return;
  hlo_mutex_lock(&pool->mutex);
  --pool->blocked;
  hlo_mutex_unlock(&pool->mutex);
}

uint32_t hlo_pool_helper_count(hlo_pool_t* pool) {
  hlo_mutex_lock(&pool->mutex);
  const uint32_t count = pool->helpers;
  hlo_mutex_unlock(&pool->mutex);
  return count;
}

// Waits until all helpers have ended.
static void await_helpers(hlo_pool_t* pool) {
  for (;;) {
    const unsigned events = atomic_load_explicit(&pool->helper_events, memory_order_relaxed);
    if (hlo_pool_helper_count(pool) == 0) return;
    hlo_os_futex_wait(&pool->helper_events, events, UINT64_MAX);
  }
}

// ---- workers

static void* worker_main(void* argument) {
  worker_t* worker = argument;
  hlo_pool_t* pool = worker->pool;
  t_pool = pool;
  // A new thread inherits its creator's rounding and flush-to-zero bits.
  (void)hlo_fp_enter(HLO_SUBNORMALS_KEEP);
  pthread_setname_np(pthread_self(), "hlocc-worker");
  worker->thread_id = hlo_os_thread_id();
  uint64_t idle_since = 0;
  for (;;) {
    uint32_t number;
    hlo_mutex_lock(&pool->mutex);
    loop_t* loop = join_loop_locked(pool, &number);
    hlo_job_t* job = loop ? NULL : take_job_locked(pool);
    if (!loop && !job) {
      const bool is_finished = is_finished_locked(pool), is_retired = pool->is_retired;
      if (!is_finished) become_idle_locked(worker);
      hlo_mutex_unlock(&pool->mutex);
      if (is_finished) {
        t_pool = NULL;
        if (is_retired) leave_retired(pool);
        return NULL;
      }
      await_call(worker, &idle_since);
      hlo_os_thread_return(&worker->detour);
      continue;
    }
    hlo_mutex_unlock(&pool->mutex);
    idle_since = 0;
    if (loop) {
      const hlo_env_state_t own = hlo_env_adopt(loop->env);
      run_chunks(loop, number);
      hlo_env_leave(own);
      leave_loop(loop);
    } else {
      run_job(pool, job);
    }
  }
}

// ---- pool, public ------------------------------------------------------------------------------

hlo_status_t hlo_pool_create(uint32_t worker_count, hlo_pool_t** out_pool) {
  uint32_t count = worker_count ? worker_count : hlo_os_usable_cpu_count();
  if (count > WORKER_LIMIT) {
    return hlo_invalid_argument("%u worker threads requested, expected at most %d", count,
                                WORKER_LIMIT);
  }
  size_t size = sizeof(hlo_pool_t) + count * sizeof(worker_t);
  hlo_pool_t* pool = hlo_mem_alloc_aligned(size, alignof(hlo_pool_t));
  if (!pool) return hlo_status_out_of_memory(size);
  memset(pool, 0, size);
  hlo_mutex_init(&pool->mutex, HLO_LOCK_LEVEL_POOL);
  pool->process_id = hlo_os_process_id();
  pool->fork_mark = hlo_os_fork_mark_create();
  for (uint32_t i = 0; i < count; ++i) {
    pool->workers[i].pool = pool;
    worker_t* worker = &pool->workers[i];
    int error = start_thread(&worker->thread, worker_main, worker);
    if (error) {
      hlo_pool_release(pool);
      char reason[128];
      return hlo_resource_exhausted("cannot start worker thread %u of %u: %s", i + 1, count,
                                    strerror_r(error, reason, sizeof reason));
    }
    pool->worker_count = i + 1;
  }
  *out_pool = pool;
  return hlo_ok();
}

void hlo_pool_release(hlo_pool_t* pool) {
  if (!pool) return;
  if (hlo_pool_is_orphaned(pool)) {  // a thread of the parent may have held the lock
    hlo_os_fork_mark_release(pool->fork_mark);
    hlo_mem_free(pool);
    return;
  }
  HLO_ASSERT(t_pool != pool, "a pool is not released by a thread of its own");
  hlo_mutex_lock(&pool->mutex);
  pool->stopping = true;
  worker_t* called = take_idle_locked(pool, SIZE_MAX);
  hlo_mutex_unlock(&pool->mutex);
  call_workers(called);
  for (uint32_t i = 0; i < pool->worker_count; ++i) pthread_join(pool->workers[i].thread, NULL);
  note_helper_event(pool, UINT32_MAX);
  await_helpers(pool);
  free_pool(pool);
}

void hlo_pool_retire(hlo_pool_t* pool, void (*after)(void* context), void* context) {
  HLO_ASSERT(!hlo_pool_is_orphaned(pool), "a forked child has no workers that could end");
  for (uint32_t i = 0; i < pool->worker_count; ++i) pthread_detach(pool->workers[i].thread);
  pool->after = after;
  pool->after_context = context;
  hlo_mutex_lock(&pool->mutex);
  atomic_init(&pool->living, pool->worker_count + pool->helpers + 1);
  pool->stopping = pool->is_retired = true;
  worker_t* called = take_idle_locked(pool, SIZE_MAX);
  hlo_mutex_unlock(&pool->mutex);
  call_workers(called);
  note_helper_event(pool, UINT32_MAX);
  leave_retired(pool);
}

uint32_t hlo_pool_worker_count(const hlo_pool_t* pool) {
  return pool->worker_count;
}

bool hlo_pool_is_current(const hlo_pool_t* pool) {
  return t_pool == pool;
}

bool hlo_pool_is_orphaned(const hlo_pool_t* pool) {
  if (HLO_LIKELY(pool->fork_mark)) return *(volatile const uint32_t*)pool->fork_mark == 0;
  return pool->process_id != hlo_os_process_id();
}

void hlo_pool_submit(hlo_pool_t* pool, hlo_job_t* job) {
  hlo_mutex_lock(&pool->mutex);
  push(&pool->jobs, job);
  worker_t* called = take_idle_locked(pool, 1);
  const helper_call_t call = called ? CALL_NONE : reserve_helper_locked(pool);
  hlo_mutex_unlock(&pool->mutex);
  call_workers(called);
  call_helper(pool, call);
}

static int32_t run_alone(size_t chunk_count, hlo_chunk_fn_t fn, void* context) {
  for (size_t i = 0; i < chunk_count; ++i) {
    int32_t result = fn(context, i);
    if (result != 0) return result;
  }
  return 0;
}

int32_t hlo_pool_parallel_for(hlo_pool_t* pool, size_t chunk_count, hlo_chunk_fn_t fn,
                              void* context) {
  // As many threads as workers, one of them the caller, so that cores are not shared if the caller
  // is a thread of the host.
  uint32_t seats = pool ? pool->worker_count - 1 : 0;
  // Numbers of chunks have 32 bits; larger counts do not occur.
  if (seats == 0 || chunk_count < 2 || chunk_count > UINT32_MAX) {
    return run_alone(chunk_count, fn, context);
  }
  if (seats > chunk_count - 1) seats = (uint32_t)(chunk_count - 1);
  share_t shares[MAX_SHARES];
  loop_t loop = {.fn = fn,
                 .context = context,
                 .env = hlo_env_get(),
                 .shares = shares,
                 .share_count = seats < MAX_SHARES ? seats + 1 : MAX_SHARES,
                 .seats = seats};
  make_shares(&loop, chunk_count);
  hlo_mutex_lock(&pool->mutex);
  list_loop_locked(pool, &loop);
  worker_t* called = take_idle_locked(pool, seats);
  hlo_mutex_unlock(&pool->mutex);
  call_workers_elsewhere(called);
  run_chunks(&loop, 0);
  hlo_mutex_lock(&pool->mutex);
  unlist_loop_locked(pool, &loop);  // no more workers join
  hlo_mutex_unlock(&pool->mutex);
  await_loop(&loop);
  return atomic_load_explicit(&loop.result, memory_order_relaxed);
}
