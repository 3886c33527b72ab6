// SPDX-License-Identifier: Apache-2.0
// Tests of locks, gates and the pool: loops, nested loops, jobs that resubmit.
#define _GNU_SOURCE
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/env.h"
#include "base/mem.h"

enum { WORKER_COUNT = 3, TIMEOUT_NS = 2000000000 };

static hlo_pool_t* create_pool(uint32_t worker_count) {
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(worker_count, &pool)));
  assert_int_equal(hlo_pool_worker_count(pool), worker_count);
  return pool;
}

// ---- loops -------------------------------------------------------------------------------------

typedef struct squares {
  hlo_pool_t* pool;
  uint32_t* out;
  size_t inner_count;
  size_t stop_at;
} squares_t;

static int32_t square_chunk(void* context, size_t index) {
  squares_t* squares = context;
  if (index == squares->stop_at) return 7;
  squares->out[index] += (uint32_t)(index * index);
  return 0;
}

static void test_parallel_for(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  static uint32_t out[1000];
  for (size_t count = 0; count < 1000; count = count * 3 + 1) {
    memset(out, 0, sizeof out);
    squares_t squares = {.out = out, .stop_at = SIZE_MAX};
    assert_int_equal(hlo_pool_parallel_for(pool, count, square_chunk, &squares), 0);
    for (size_t i = 0; i < 1000; ++i) assert_int_equal(out[i], i < count ? i * i : 0);
  }
  squares_t stopping = {.out = out, .stop_at = 500};
  assert_int_equal(hlo_pool_parallel_for(pool, 1000, square_chunk, &stopping), 7);
  memset(out, 0, sizeof out);
  assert_int_equal(hlo_pool_parallel_for(NULL, 1000, square_chunk, &stopping), 7);
  assert_int_equal(out[501], 0);
  hlo_pool_release(pool);
}

static int32_t nested_chunk(void* context, size_t index) {
  squares_t* outer = context;
  squares_t inner = {.out = outer->out + index * outer->inner_count, .stop_at = SIZE_MAX};
  return hlo_pool_parallel_for(outer->pool, outer->inner_count, square_chunk, &inner);
}

static void test_nested_loops(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  static uint32_t out[40 * 25];
  memset(out, 0, sizeof out);
  squares_t outer = {.pool = pool, .out = out, .inner_count = 25};
  assert_int_equal(hlo_pool_parallel_for(pool, 40, nested_chunk, &outer), 0);
  for (size_t i = 0; i < 40 * 25; ++i) assert_int_equal(out[i], (i % 25) * (i % 25));
  hlo_pool_release(pool);
}

typedef struct crowd {
  atomic_int inside, most;
} crowd_t;

static int32_t crowd_chunk(void* context, size_t index) {
  (void)index;
  crowd_t* crowd = context;
  int inside = atomic_fetch_add(&crowd->inside, 1) + 1, most = atomic_load(&crowd->most);
  while (inside > most && !atomic_compare_exchange_weak(&crowd->most, &most, inside)) {
  }
  usleep(500);
  atomic_fetch_sub(&crowd->inside, 1);
  return 0;
}

static double processor_seconds(void) {
  struct timespec time;
  assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Workers look for work briefly, then sleep.
static void test_idle_workers_use_no_processor(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  static uint32_t out[1000];
  squares_t squares = {.out = out, .stop_at = SIZE_MAX};
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(hlo_pool_parallel_for(pool, 1000, square_chunk, &squares), 0);
  }
  double begin = processor_seconds();
  usleep(60000);
  assert_true(processor_seconds() - begin < 0.005);  // without sleep they would use 0.18
  hlo_pool_release(pool);
}

// A loop of a thread outside the pool uses no more threads than the pool has.
static void test_no_more_threads_than_workers(void** state) {
  (void)state;
  for (uint32_t workers = 1; workers <= WORKER_COUNT; ++workers) {
    hlo_pool_t* pool = create_pool(workers);
    crowd_t crowd = {0};
    assert_int_equal(hlo_pool_parallel_for(pool, 16, crowd_chunk, &crowd), 0);
    assert_in_range(crowd.most, 1, workers);
    hlo_pool_release(pool);
  }
}

typedef struct freedom {
  cpu_set_t cpus;
  atomic_int restricted;
} freedom_t;

static int32_t check_freedom(void* context, size_t index) {
  (void)index;
  freedom_t* freedom = context;
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (!CPU_EQUAL(&cpus, &freedom->cpus)) atomic_fetch_add(&freedom->restricted, 1);
  usleep(20);  // so that others join
  return 0;
}

// Workers may run on every core of the process, however they were woken.
static void test_workers_are_free(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  freedom_t freedom = {.restricted = 0};
  assert_int_equal(sched_getaffinity(0, sizeof freedom.cpus, &freedom.cpus), 0);
  for (int round = 0; round < 100; ++round) {
    hlo_pool_parallel_for(pool, 8, check_freedom, &freedom);
    if (round % 4 == 0) usleep(200);  // till they sleep
  }
  assert_int_equal(freedom.restricted, 0);
  hlo_pool_release(pool);
}

enum { SHARED_CHUNKS = 10 };

typedef struct order {
  atomic_size_t count;
  size_t chunks[SHARED_CHUNKS];
} order_t;

// The caller's first chunk takes until the worker has done all others.
static int32_t order_chunk(void* context, size_t index) {
  order_t* order = context;
  while (index == 0 && atomic_load(&order->count) < SHARED_CHUNKS - 1) usleep(100);
  order->chunks[atomic_fetch_add(&order->count, 1)] = index;
  return 0;
}

// A worker has the upper half, in order, and then takes the last chunks of the caller's share.
static void test_shares(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(2);
  order_t order = {0};
  assert_int_equal(hlo_pool_parallel_for(pool, SHARED_CHUNKS, order_chunk, &order), 0);
  static const size_t kExpected[SHARED_CHUNKS] = {5, 6, 7, 8, 9, 4, 3, 2, 1, 0};
  assert_memory_equal(order.chunks, kExpected, sizeof kExpected);
  hlo_pool_release(pool);
}

static void test_chunk_ranges(void** state) {
  (void)state;
  for (size_t total = 1; total < 50; ++total) {
    for (size_t grain = 1; grain < 12; ++grain) {
      size_t count = hlo_chunk_count(total, grain), expected = 0;
      for (size_t i = 0; i < count; ++i) {
        size_t begin, end;
        hlo_chunk_range(total, count, i, &begin, &end);
        assert_int_equal(begin, expected);
        assert_true(end > begin && end - begin <= grain);
        expected = end;
      }
      assert_int_equal(expected, total);
    }
  }
}

// ---- jobs --------------------------------------------------------------------------------------

typedef struct relay {
  hlo_job_t job;  // first: the job is the relay
  hlo_pool_t* pool;
  int rounds_left;
  atomic_int* done_count;
  atomic_int* wrong_thread_count;
  hlo_gate_t* gate;
  int expected;
} relay_t;

static void run_relay(hlo_job_t* job) {
  relay_t* relay = (relay_t*)job;
  if (!hlo_pool_is_current(relay->pool)) atomic_fetch_add(relay->wrong_thread_count, 1);
  if (relay->rounds_left-- > 0) {
    hlo_pool_submit(relay->pool, job);
  } else if (atomic_fetch_add(relay->done_count, 1) + 1 == relay->expected) {
    hlo_gate_open(relay->gate);
  }
}

static void test_jobs_resubmit(void** state) {
  (void)state;
  enum { RELAY_COUNT = 20, ROUNDS = 200 };
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  atomic_int done = 0, wrong = 0;
  hlo_gate_t gate = {0};
  relay_t relays[RELAY_COUNT];
  for (int i = 0; i < RELAY_COUNT; ++i) {
    relays[i] = (relay_t){{NULL, run_relay}, pool, ROUNDS, &done, &wrong, &gate, RELAY_COUNT};
    hlo_pool_submit(pool, &relays[i].job);
  }
  assert_true(hlo_gate_await(&gate, UINT64_MAX));
  assert_int_equal(wrong, 0);
  assert_false(hlo_pool_is_current(pool));
  hlo_pool_release(pool);
}

static void test_release_runs_what_is_queued(void** state) {
  (void)state;
  enum { RELAY_COUNT = 50 };
  hlo_pool_t* pool = create_pool(1);
  atomic_int done = 0, wrong = 0;
  hlo_gate_t gate = {0};
  relay_t relays[RELAY_COUNT];
  for (int i = 0; i < RELAY_COUNT; ++i) {
    relays[i] = (relay_t){{NULL, run_relay}, pool, 3, &done, &wrong, &gate, RELAY_COUNT};
    hlo_pool_submit(pool, &relays[i].job);
  }
  hlo_pool_release(pool);
  assert_int_equal(done, RELAY_COUNT);
}

// Several host threads use one pool at once, loops and jobs mixed.
typedef struct host {
  hlo_pool_t* pool;
  uint32_t out[64];
  bool failed;
} host_t;

static void* host_main(void* argument) {
  host_t* host = argument;
  for (int round = 0; round < 200; ++round) {
    memset(host->out, 0, sizeof host->out);
    squares_t squares = {.out = host->out, .stop_at = SIZE_MAX};
    hlo_pool_parallel_for(host->pool, 64, square_chunk, &squares);
    for (uint32_t i = 0; i < 64; ++i) host->failed |= host->out[i] != i * i;
    atomic_int done = 0, wrong = 0;
    hlo_gate_t gate = {0};
    relay_t relay = {{NULL, run_relay}, host->pool, round % 3, &done, &wrong, &gate, 1};
    hlo_pool_submit(host->pool, &relay.job);
    host->failed |= !hlo_gate_await(&gate, TIMEOUT_NS) || wrong;
  }
  return NULL;
}

static void test_many_hosts(void** state) {
  (void)state;
  enum { HOST_COUNT = 4 };
  hlo_pool_t* pool = create_pool(WORKER_COUNT);
  static host_t hosts[HOST_COUNT];
  pthread_t threads[HOST_COUNT];
  for (int i = 0; i < HOST_COUNT; ++i) {
    hosts[i] = (host_t){.pool = pool};
    assert_int_equal(pthread_create(&threads[i], NULL, host_main, &hosts[i]), 0);
  }
  for (int i = 0; i < HOST_COUNT; ++i) {
    pthread_join(threads[i], NULL);
    assert_false(hosts[i].failed);
  }
  hlo_pool_release(pool);
}

// The environment of a chunk's thread.
typedef struct found {
  atomic_int flushed, kept, of_level, of_pairs;
  hlo_cpu_level_t level;
} found_t;

static int32_t look_at_environment(void* context, size_t index) {
  (void)index;
  found_t* found = context;
  volatile float smallest = 0x1p-126f;
  atomic_fetch_add(smallest * 0.5f == 0.0f ? &found->flushed : &found->kept, 1);
  atomic_fetch_add(&found->of_level, hlo_env_level() == found->level);
  atomic_fetch_add(&found->of_pairs, hlo_env_has_pairs());
  usleep(20);  // so that workers join
  return 0;
}

// Chunks run in the environment of the thread that started the loop, whatever the environment was
// when the workers started; the host's environment is restored.
static void test_environment_of_loops(void** state) {
  (void)state;
  enum { CHUNKS = 100 };
  const hlo_fp_state_t host = hlo_fp_enter(HLO_SUBNORMALS_FLUSH);
  hlo_pool_t* pool = create_pool(3);
  const hlo_cpu_level_t machine = hlo_env_level();
  const bool pairs = hlo_env_has_pairs();
  for (int i = 0; i < 4; ++i) {
    const bool flushes = i % 2 == 0;
    const hlo_env_t env = {flushes ? HLO_SUBNORMALS_FLUSH : HLO_SUBNORMALS_KEEP,
                           i < 2 ? HLO_CPU_LEVEL_GENERIC : HLO_CPU_LEVEL_LAST, i == 3};
    found_t found = {.level = i < 2 ? HLO_CPU_LEVEL_GENERIC : machine};
    const hlo_env_state_t before = hlo_env_enter(&env);
    assert_int_equal(hlo_fp_flushes(), flushes);
    hlo_pool_parallel_for(pool, CHUNKS, look_at_environment, &found);
    hlo_env_leave(before);
    assert_int_equal(flushes ? found.flushed : found.kept, CHUNKS);
    assert_int_equal(found.of_level, CHUNKS);
    assert_int_equal(found.of_pairs, i == 2 && pairs ? CHUNKS : 0);
    assert_true(hlo_fp_flushes());
    assert_int_equal(hlo_env_level(), machine);
    assert_int_equal(hlo_env_has_pairs(), pairs);
  }
  hlo_pool_release(pool);
  hlo_fp_leave(host);
}

// ---- the rest ----------------------------------------------------------------------------------

typedef struct retirement {
  hlo_job_t job;
  hlo_pool_t* pool;
  atomic_int* done;
  int left;
  bool may_wait;
  hlo_gate_t gone;
} retirement_t;

static void note_gone(void* context) {
  retirement_t* retirement = context;
  retirement->may_wait = hlo_thread_may_wait();
  hlo_gate_open(&retirement->gone);
}

// Retires its pool, then adds work.
static void retire_and_go_on(hlo_job_t* job) {
  retirement_t* retirement = (retirement_t*)job;
  if (retirement->left == 3) hlo_pool_retire(retirement->pool, note_gone, retirement);
  assert_false(hlo_thread_may_wait());
  assert_false(hlo_thread_is_in_callback());
  atomic_fetch_add(retirement->done, 1);
  if (retirement->left-- > 0) hlo_pool_submit(retirement->pool, job);
}

static void test_workers_retire_their_pool(void** state) {
  (void)state;
  for (uint32_t workers = 1; workers <= WORKER_COUNT; ++workers) {
    atomic_int done = 0;
    retirement_t retirement = {
        .job.run = retire_and_go_on, .pool = create_pool(workers), .done = &done, .left = 5};
    hlo_pool_submit(retirement.pool, &retirement.job);
    assert_true(hlo_gate_await(&retirement.gone, UINT64_MAX));
    assert_int_equal(done, 6);
    assert_true(retirement.may_wait);
  }
  retirement_t idle = {.pool = create_pool(WORKER_COUNT)};
  hlo_pool_retire(idle.pool, note_gone, &idle);
  assert_true(hlo_gate_await(&idle.gone, UINT64_MAX));
  assert_true(hlo_thread_may_wait());
  hlo_thread_no_wait_begin();
  hlo_thread_no_wait_begin();
  hlo_thread_no_wait_end();
  assert_false(hlo_thread_may_wait());
  assert_true(hlo_thread_is_in_callback());
  hlo_thread_no_wait_end();
  assert_true(hlo_thread_may_wait());
  assert_false(hlo_thread_is_in_callback());
}

static void test_gate_times_out(void** state) {
  (void)state;
  hlo_gate_t gate = {0};
  assert_false(hlo_gate_await(&gate, 1000000));
  hlo_gate_open(&gate);
  assert_true(hlo_gate_await(&gate, 0));
  assert_true(hlo_gate_is_open(&gate));
}

static void test_create_fails_cleanly(void** state) {
  (void)state;
  hlo_pool_t* pool = NULL;
  hlo_mem_fail_nth(1);
  hlo_status_t status = hlo_pool_create(0, &pool);
  hlo_mem_fail_nth(0);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  status = hlo_pool_create(100000, &pool);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  assert_null(pool);
}

static void test_locks(void** state) {
  (void)state;
  hlo_mutex_t outer, inner;
  hlo_mutex_init(&outer, HLO_LOCK_LEVEL_CLIENT);
  hlo_mutex_init(&inner, HLO_LOCK_LEVEL_POOL);
  hlo_mutex_lock(&outer);
  hlo_mutex_lock(&inner);
  hlo_mutex_assert_held(&outer);
  hlo_mutex_unlock(&outer);
  hlo_mutex_unlock(&inner);
  hlo_mutex_deinit(&outer);
  hlo_mutex_deinit(&inner);
}

enum { LOCKERS = 4, TURNS = 3000 };

typedef struct turnstile {
  hlo_mutex_t mutex;
  long count;  // of iterations
} turnstile_t;

static void* take_turns(void* context) {
  turnstile_t* turnstile = context;
  for (int i = 0; i < TURNS; ++i) {
    hlo_mutex_lock(&turnstile->mutex);
    ++turnstile->count;
    hlo_mutex_unlock(&turnstile->mutex);
  }
  return NULL;
}

static void test_contention(void** state) {
  (void)state;
  turnstile_t turnstile = {.count = 0};
  hlo_mutex_init(&turnstile.mutex, HLO_LOCK_LEVEL_CLIENT);
  pthread_t threads[LOCKERS];
  for (int i = 0; i < LOCKERS; ++i) {
    pthread_create(&threads[i], NULL, take_turns, &turnstile);
  }
  for (int i = 0; i < LOCKERS; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(turnstile.count, LOCKERS * TURNS);
  hlo_mutex_deinit(&turnstile.mutex);
}

// ---- blocking jobs -----------------------------------------------------------------------------

enum { BLOCKED_DEPTH = 5, BLOCKED_ROUNDS = 200 };

// A job that submits the next one and waits for its end.
typedef struct blocking_job {
  hlo_job_t job;
  hlo_pool_t* pool;
  struct blocking_job* next;
  hlo_gate_t ended;
} blocking_job_t;

static void run_blocking(hlo_job_t* job) {
  blocking_job_t* self = (blocking_job_t*)job;
  hlo_pool_blocking_begin(self->pool);
  if (self->next) {
    hlo_pool_submit(self->pool, &self->next->job);
    (void)hlo_gate_await(&self->next->ended, UINT64_MAX);
  }
  hlo_pool_blocking_end(self->pool);
  hlo_gate_open(&self->ended);
}

// Every job needs a thread of its own until the last one has run.
static void test_blocked_jobs_get_helpers(void** state) {
  (void)state;
  hlo_pool_t* pool = create_pool(1);
  for (int round = 0; round < BLOCKED_ROUNDS; ++round) {
    blocking_job_t jobs[BLOCKED_DEPTH] = {0};
    for (int i = 0; i < BLOCKED_DEPTH; ++i) {
      jobs[i].job.run = run_blocking;
      jobs[i].pool = pool;
      jobs[i].next = i + 1 < BLOCKED_DEPTH ? &jobs[i + 1] : NULL;
    }
    hlo_pool_submit(pool, &jobs[0].job);
    assert_true(hlo_gate_await(&jobs[0].ended, UINT64_MAX));
    assert_in_range(hlo_pool_helper_count(pool), 0, BLOCKED_DEPTH);
  }
  while (hlo_pool_helper_count(pool)) sched_yield();  // they end by themselves
  hlo_pool_release(pool);
}

// Releases the pool while helpers rest.
static void test_release_with_helpers(void** state) {
  (void)state;
  for (int round = 0; round < 20; ++round) {
    hlo_pool_t* pool = create_pool(2);
    blocking_job_t jobs[2] = {{.job.run = run_blocking, .pool = pool},
                              {.job.run = run_blocking, .pool = pool}};
    jobs[0].next = &jobs[1];
    hlo_pool_submit(pool, &jobs[0].job);
    assert_true(hlo_gate_await(&jobs[0].ended, UINT64_MAX));
    hlo_pool_release(pool);
  }
}

enum { SUBMITTERS = 8, SUBMITTED = 12500 };

typedef struct submitter {
  hlo_pool_t* pool;
  atomic_int* done;
  struct counted_job {
    hlo_job_t job;
    atomic_int* done;
  } jobs[SUBMITTED];
} submitter_t;

static void run_counted(hlo_job_t* job) {
  atomic_fetch_add(((struct counted_job*)job)->done, 1);
}

static void* submit_many(void* argument) {
  submitter_t* submitter = argument;
  for (int i = 0; i < SUBMITTED; ++i) {
    submitter->jobs[i] = (struct counted_job){{NULL, run_counted}, submitter->done};
    hlo_pool_submit(submitter->pool, &submitter->jobs[i].job);
  }
  return NULL;
}

// The release runs what 8 threads have queued.
static void test_release_runs_the_jobs_of_many_threads(void** state) {
  (void)state;
  static submitter_t submitters[SUBMITTERS];
  atomic_int done = 0;
  pthread_t threads[SUBMITTERS];
  hlo_pool_t* pool = create_pool(2);
  for (int i = 0; i < SUBMITTERS; ++i) {
    submitters[i].pool = pool;
    submitters[i].done = &done;
    assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
  }
  for (int i = 0; i < SUBMITTERS; ++i) pthread_join(threads[i], NULL);
  hlo_pool_release(pool);
  assert_int_equal(done, SUBMITTERS * SUBMITTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contention),
      cmocka_unit_test(test_parallel_for),
      cmocka_unit_test(test_shares),
      cmocka_unit_test(test_nested_loops),
      cmocka_unit_test(test_idle_workers_use_no_processor),
      cmocka_unit_test(test_no_more_threads_than_workers),
      cmocka_unit_test(test_workers_are_free),
      cmocka_unit_test(test_chunk_ranges),
      cmocka_unit_test(test_jobs_resubmit),
      cmocka_unit_test(test_many_hosts),
      cmocka_unit_test(test_release_runs_the_jobs_of_many_threads),
      cmocka_unit_test(test_environment_of_loops),
      cmocka_unit_test(test_blocked_jobs_get_helpers),
      cmocka_unit_test(test_release_with_helpers),
      cmocka_unit_test(test_release_runs_what_is_queued),
      cmocka_unit_test(test_workers_retire_their_pool),
      cmocka_unit_test(test_gate_times_out),
      cmocka_unit_test(test_create_fails_cleanly),
      cmocka_unit_test(test_locks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
