// SPDX-License-Identifier: Apache-2.0
// Semaphores are words that signals add to without a lock; whoever finds too little in one looks
// again a while, then sleeps. A signal that sees sleepers wakes those of its word:
//
//   wait:   waiting += 1; look at the word; sleep        signal: change the word; look at `waiting`
//
// All four are sequentially consistent, so one of the two sees the other, and no wake-up is lost.
#include "codegen/tiles/runtime.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/os.h"

enum { LOOKS = 400, ARRIVALS_BITS = 32 };  // LOOKS: about the time that sleeping and waking take

typedef _Atomic(uint64_t) word_t;
static_assert(sizeof(word_t) <= HLO_TILE_SEMAPHORE_BYTES, "a semaphore holds a word");

static word_t* word_at(uint64_t address) {
  return (word_t*)(uintptr_t)address;
}

static hlo_tile_session_t* session_of(const hlo_frame_t* frame) {
  return frame->owner;
}

// ---- the session

void hlo_tile_session_init(hlo_tile_session_t* session, const hlo_tile_kernel_t* kernel,
                           hlo_pool_t* pool, hlo_tile_call_t call, void* context) {
  *session = (hlo_tile_session_t){
      .kernel = kernel, .pool = pool, .call = call, .context = context, .status = hlo_ok()};
  hlo_mutex_init(&session->mutex, HLO_LOCK_LEVEL_COLLECTIVE);
}

hlo_status_t hlo_tile_session_deinit(hlo_tile_session_t* session) {
  hlo_mutex_deinit(&session->mutex);
  return session->status;
}

hlo_frame_t hlo_tile_session_frame(hlo_tile_session_t* session) {
  return (hlo_frame_t){
      .abi_version = HLO_PROGRAM_ABI_VERSION, .runtime = &hlo_tile_runtime.base, .owner = session};
}

uint64_t hlo_tile_op_site(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  uint64_t site = 0;
  for (const hlo_tile_op_t* at = hlo_tile_first_op(kernel); at != op; at = hlo_tile_next_op(at)) {
    ++site;
  }
  return site;
}

static const hlo_tile_op_t* op_at(const hlo_tile_session_t* s, uint64_t site) {
  const hlo_tile_op_t* op = hlo_tile_first_op(s->kernel);
  while (site-- > 0) op = hlo_tile_next_op(op);
  return op;
}

// ---- waiting

// An iteration that sleeps until its word changes.
typedef struct hlo_tile_waiter {
  struct hlo_tile_waiter* next;
  const word_t* word;
  uint64_t op;
  hlo_gate_t gate;
} waiter_t;

// Wakes those that sleep on a word (NULL: all), which from now on run.
static void wake_locked(hlo_tile_session_t* s, const word_t* word) {
  waiter_t** link = (waiter_t**)&s->waiters;
  while (*link) {
    waiter_t* waiter = *link;
    if (word && waiter->word != word) {
      link = &waiter->next;
      continue;
    }
    *link = waiter->next;
    ++s->running;
    atomic_fetch_sub_explicit(&s->waiting, 1, memory_order_relaxed);
    hlo_gate_open(&waiter->gate);
  }
}

static void wake(hlo_tile_session_t* s, const word_t* word) {
  if (atomic_load_explicit(&s->waiting, memory_order_seq_cst) == 0) return;
  hlo_mutex_lock(&s->mutex);
  wake_locked(s, word);
  hlo_mutex_unlock(&s->mutex);
}

// The first error is kept.
static void fail_locked(hlo_tile_session_t* s, hlo_status_t status) {
  if (hlo_status_is_ok(s->status)) {
    s->status = status;
  } else {
    hlo_status_release(status);
  }
  // Pairs with the loads of is_failed, which only decide whether to return early.
  atomic_store_explicit(&s->is_failed, true, memory_order_relaxed);
  wake_locked(s, NULL);
}

static hlo_status_t deadlock(const hlo_tile_session_t* s) {
  enum { NAMES = 3 };
  HLO_SCOPED_STRBUF names = {0};
  uint32_t count = 0;
  for (const waiter_t* waiter = s->waiters; waiter; waiter = waiter->next) {
    if (count++ >= NAMES) continue;
    if (count > 1) hlo_strbuf_puts(&names, ", ");
    hlo_tile_op_format(op_at(s, waiter->op), &names);
  }
  return hlo_failed_precondition("deadlock: %u iterations wait for ever: %s", count,
                                 hlo_strbuf_text(&names));
}

// One iteration less runs.
static void stop_running_locked(hlo_tile_session_t* s) {
  if (--s->running == 0 && s->waiters) fail_locked(s, deadlock(s));
}

// Sleeps; a helper of the pool runs what is queued meanwhile. A session without a pool has one
// iteration, which sleeps only until its deadlock is reported.
static void await_gate(const hlo_tile_session_t* s, hlo_gate_t* gate) {
  if (s->pool) hlo_pool_blocking_begin(s->pool);
  hlo_gate_await(gate, UINT64_MAX);
  if (s->pool) hlo_pool_blocking_end(s->pool);
}

// Takes what is waited for, if it is there.
typedef bool (*take_t)(word_t* word, uint64_t argument);

static int32_t wait_for(hlo_frame_t* frame, uint64_t address, take_t take, uint64_t argument,
                        uint64_t op) {
  hlo_tile_session_t* s = session_of(frame);
  word_t* word = word_at(address);
  for (uint32_t i = 0; i < LOOKS; ++i) {
    if (take(word, argument)) return HLO_PROGRAM_DONE;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (!atomic_load_explicit(&s->is_failed, memory_order_relaxed)) {
    waiter_t waiter = {.word = word, .op = op};
    hlo_mutex_lock(&s->mutex);
    atomic_fetch_add_explicit(&s->waiting, 1, memory_order_seq_cst);
    const bool is_taken = take(word, argument);
    if (is_taken) {
      atomic_fetch_sub_explicit(&s->waiting, 1, memory_order_relaxed);
    } else {
      waiter.next = s->waiters;
      s->waiters = &waiter;
      stop_running_locked(s);
    }
    hlo_mutex_unlock(&s->mutex);
    if (is_taken) return HLO_PROGRAM_DONE;
    await_gate(s, &waiter.gate);
  }
  return HLO_PROGRAM_ERROR;
}

// ---- semaphores and barriers

static bool take_count(word_t* word, uint64_t count) {
  uint64_t found = atomic_load_explicit(word, memory_order_seq_cst);
  while (found >= count) {
    if (atomic_compare_exchange_weak_explicit(word, &found, found - count, memory_order_seq_cst,
                                              memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

static int32_t signal_semaphore(hlo_frame_t* frame, uint64_t semaphore, uint64_t count) {
  word_t* word = word_at(semaphore);
  atomic_fetch_add_explicit(word, count, memory_order_seq_cst);
  wake(session_of(frame), word);
  return HLO_PROGRAM_DONE;
}

static int32_t wait_semaphore(hlo_frame_t* frame, uint64_t semaphore, uint64_t count, uint64_t op) {
  return wait_for(frame, semaphore, take_count, count, op);
}

// The upper half of a barrier counts phases, the lower one arrivals of the current phase.
static int32_t arrive(hlo_frame_t* frame, uint64_t barrier, uint64_t arrivals) {
  word_t* word = word_at(barrier);
  uint64_t found = atomic_load_explicit(word, memory_order_relaxed), next;
  bool is_last;
  do {
    const uint64_t phase = found >> ARRIVALS_BITS;
    is_last = (uint32_t)found + UINT64_C(1) == arrivals;
    next = is_last ? (phase + 1) << ARRIVALS_BITS : found + 1;
  } while (!atomic_compare_exchange_weak_explicit(word, &found, next, memory_order_seq_cst,
                                                  memory_order_relaxed));
  if (is_last) wake(session_of(frame), word);
  return HLO_PROGRAM_DONE;
}

static bool has_completed(word_t* word, uint64_t phase) {
  const uint64_t found = atomic_load_explicit(word, memory_order_seq_cst);
  return ((found >> ARRIVALS_BITS ^ phase) & 1) != 0;
}

static int32_t wait_phase(hlo_frame_t* frame, uint64_t barrier, uint64_t phase, uint64_t op) {
  return wait_for(frame, barrier, has_completed, phase, op);
}

static int32_t end_semaphores(hlo_frame_t* frame, uint64_t semaphores, uint64_t count,
                              uint64_t op) {
  hlo_tile_session_t* s = session_of(frame);
  const hlo_tile_op_t* alloc = op_at(s, op);
  for (uint64_t i = 0; i < count; ++i) {
    word_t* word = word_at(semaphores + i * HLO_TILE_SEMAPHORE_BYTES);
    uint64_t left = atomic_load_explicit(word, memory_order_relaxed);
    if (alloc->ref.space == HLO_TILE_SPACE_barrier) left = (uint32_t)left;
    if (!left) continue;
    HLO_SCOPED_STRBUF name = {0};
    hlo_tile_op_format(alloc, &name);
    hlo_mutex_lock(&s->mutex);
    fail_locked(s, hlo_failed_precondition("%s ends with %" PRIu64 " that nothing has waited for",
                                           hlo_strbuf_text(&name), left));
    hlo_mutex_unlock(&s->mutex);
    return HLO_PROGRAM_ERROR;
  }
  return HLO_PROGRAM_DONE;
}

// ---- iterations

void hlo_tile_session_begin_chunk(hlo_tile_session_t* session) {
  hlo_mutex_lock(&session->mutex);
  ++session->running;
  hlo_mutex_unlock(&session->mutex);
}

void hlo_tile_session_end_chunk(hlo_tile_session_t* session) {
  hlo_mutex_lock(&session->mutex);
  stop_running_locked(session);
  hlo_mutex_unlock(&session->mutex);
}

// The iterations of one execution of a loop.
typedef struct iterations {
  hlo_tile_session_t* session;
  uint64_t func, context;
  uint64_t left;  // under the session's mutex
  hlo_gate_t end;
} iterations_t;

typedef struct iteration {
  hlo_job_t job;  // the first member
  iterations_t* all;
  uint64_t number;
} iteration_t;

static void run_iteration(hlo_job_t* job) {
  const iteration_t* iteration = (const iteration_t*)job;
  iterations_t* all = iteration->all;
  hlo_tile_session_t* s = all->session;
  hlo_frame_t frame = hlo_tile_session_frame(s);
  const hlo_env_state_t before = s->env ? hlo_env_enter(s->env) : hlo_env_get();
  s->call(s->context, all->func, &frame, all->context, iteration->number);
  hlo_env_leave(before);
  hlo_mutex_lock(&s->mutex);
  const bool is_last = --all->left == 0;
  if (!is_last) stop_running_locked(s);  // the thread that began the loop runs instead of the last
  hlo_mutex_unlock(&s->mutex);
  if (is_last) hlo_gate_open(&all->end);
}

static int32_t run_threads(hlo_frame_t* frame, uint64_t func, uint64_t context, uint64_t count) {
  hlo_tile_session_t* s = session_of(frame);
  iteration_t* iterations = hlo_mem_alloc_zeroed(count * sizeof *iterations);
  iterations_t all = {.session = s, .func = func, .context = context, .left = count};
  hlo_mutex_lock(&s->mutex);
  if (iterations) {
    s->running += (uint32_t)count - 1;
  } else {
    fail_locked(s, hlo_resource_exhausted("memory for %" PRIu64 " iterations of %s", count,
                                          s->kernel->name));
  }
  hlo_mutex_unlock(&s->mutex);
  if (!iterations) return HLO_PROGRAM_ERROR;
  for (uint64_t i = 0; i < count; ++i) {
    iterations[i] = (iteration_t){.job = {.run = run_iteration}, .all = &all, .number = i};
    hlo_pool_submit(s->pool, &iterations[i].job);
  }
  await_gate(s, &all.end);
  hlo_mem_free(iterations);
  const bool is_failed = atomic_load_explicit(&s->is_failed, memory_order_relaxed);
  return is_failed ? HLO_PROGRAM_ERROR : HLO_PROGRAM_DONE;
}

// A helper of the pool runs an iteration that has not begun yet.
static int32_t let_others_run(hlo_frame_t* frame) {
  hlo_tile_session_t* s = session_of(frame);
  hlo_pool_blocking_begin(s->pool);
  hlo_os_thread_yield();
  hlo_pool_blocking_end(s->pool);
  const bool is_failed = atomic_load_explicit(&s->is_failed, memory_order_relaxed);
  return is_failed ? HLO_PROGRAM_ERROR : HLO_PROGRAM_DONE;
}

// ---- prints

int64_t hlo_tile_point_room(const hlo_tile_op_t* op) {
  int64_t points = 1;
  for (op = op->block->parent; op; op = op->block->parent) {
    if (op->loop_count != 1 || op->loops[0].step == 1) continue;
    const int64_t extent = op->loops[0].end - op->loops[0].low;
    points *= extent < op->loops[0].step ? extent : op->loops[0].step;
  }
  return points;
}

static int32_t print(hlo_frame_t* frame, uint64_t site, uint64_t elements, uint64_t count) {
  hlo_tile_session_t* s = session_of(frame);
  if (!s->meaning || !s->meaning->print) return HLO_PROGRAM_DONE;
  const hlo_tile_op_t* op = op_at(s, site);
  const void* operands[HLO_TILE_MAX_OPERANDS];
  const uint8_t* at = (const uint8_t*)(uintptr_t)elements;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    operands[i] = at;
    at += (size_t)hlo_tile_point_room(op) * hlo_dtype_size_bytes(op->operands[i]->dtype);
  }
  HLO_SCOPED_STRBUF line = {0};
  hlo_tile_print_line(op, operands, (int64_t)count, NULL, &line);
  s->meaning->print(s->meaning->context, hlo_strbuf_text(&line));
  return HLO_PROGRAM_DONE;
}

const hlo_tile_runtime_t hlo_tile_runtime = {
    .base = {.abi_version = HLO_PROGRAM_ABI_VERSION, .size_bytes = sizeof(hlo_tile_runtime_t)},
    .run_threads = run_threads,
    .let_others_run = let_others_run,
    .signal = signal_semaphore,
    .wait = wait_semaphore,
    .arrive = arrive,
    .wait_phase = wait_phase,
    .end = end_semaphores,
    .print = print,
};
