// SPDX-License-Identifier: Apache-2.0
// Kernels of Tile IR as machine code give the results of the interpreter, on one thread and on
// several; iterations that wait for each other do so on any number of threads.
#include "codegen/image/tile_program.h"

#include <stdlib.h>

#include "base/threads.h"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 100, THREADS = 3 };

static void check(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void compare(const hlo_tile_kernel_t* kernel, const hlo_target_t* target, hlo_pool_t* pool) {
  static float expected[OUTPUT], results[OUTPUT];
  float floats[INPUT];
  int32_t numbers[INPUT];
  hlo_test_fill_inputs(floats, numbers);
  memset(expected, 0, sizeof expected);
  memset(results, 0, sizeof results);
  check(hlo_tile_kernel_run(kernel, &MEANING, (void*[]){floats, numbers, expected}));
  hlo_tile_program_t* program;
  check(hlo_tile_program_create(kernel, target, &program));
  check(hlo_tile_program_run(program, (void*[]){floats, numbers, results}, pool, NULL));
  hlo_tile_program_release(program);
  assert_memory_equal(results, expected, sizeof expected);
}

static void random_kernels(void** unused) {
  (void)unused;
  hlo_target_t target;
  hlo_pool_t* pool;
  hlo_tile_maker_t maker = {0};
  check(hlo_target_find(NULL, false, &target));
  check(hlo_pool_create(THREADS, &pool));
  for (uint32_t n = 0; n < KERNELS; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    maker.has_atomics = n % 2;
    const hlo_tile_kernel_t* kernel = hlo_test_make_random(&maker, &arena, n);
    compare(kernel, &target, n % 2 ? pool : NULL);
  }
  hlo_pool_release(pool);
}

// ---- iterations that wait for each other

enum { CELLS = 64 };

// The buffers of a kernel after a run, and the lines that it printed.
typedef struct outcome {
  float floats[CELLS];
  int32_t numbers[CELLS];
  hlo_strbuf_t lines;
  hlo_status_t status;
} outcome_t;

static void keep_line(void* context, const char* line) {
  hlo_strbuf_printf(context, "%s\n", line);
}

static hlo_tile_kernel_t* parse_body(hlo_arena_t* arena, const char* body) {
  return hlo_test_parsed(arena, hlo_arena_printf(arena,
                                                 "kernel threads version 3 {\nbuffer f32[64] out\n"
                                                 "buffer s32[64] out\n%s}\n",
                                                 body));
}

// Runs on a pool of `threads` workers, or interprets it: 0.
static void run_body(const char* body, uint32_t threads, outcome_t* outcome) {
  HLO_SCOPED_ARENA arena = {0};
  const hlo_tile_kernel_t* kernel = parse_body(&arena, body);
  hlo_tile_meaning_t meaning = {
      .map = hlo_test_map, .context = &outcome->lines, .print = keep_line};
  memset(outcome, 0, sizeof *outcome);
  for (int i = 0; i < CELLS; ++i) outcome->floats[i] = (float)i, outcome->numbers[i] = i % 7;
  void* const buffers[] = {outcome->floats, outcome->numbers};
  if (!threads) {
    outcome->status = hlo_tile_kernel_run(kernel, &meaning, buffers);
    return;
  }
  hlo_target_t target;
  hlo_pool_t* pool;
  hlo_tile_program_t* program;
  check(hlo_target_find(NULL, false, &target));
  check(hlo_pool_create(threads, &pool));
  check(hlo_tile_program_create(kernel, &target, &program));
  outcome->status = hlo_tile_program_run(program, buffers, pool, &meaning);
  hlo_tile_program_release(program);
  hlo_pool_release(pool);
}

static void compare_body(const char* body) {
  outcome_t expected, found;
  run_body(body, 0, &expected);
  check(expected.status);
  for (uint32_t threads = 1; threads <= 3; ++threads) {
    run_body(body, threads, &found);
    check(found.status);
    assert_memory_equal(found.floats, expected.floats, sizeof found.floats);
    assert_memory_equal(found.numbers, expected.numbers, sizeof found.numbers);
    assert_string_equal(hlo_strbuf_text(&found.lines), hlo_strbuf_text(&expected.lines));
    hlo_strbuf_deinit(&found.lines);
  }
  hlo_strbuf_deinit(&expected.lines);
}

// One iteration fills a cell that the other one empties, as often as `phases` says.
static const char* handoff(hlo_arena_t* arena, int64_t phases) {
  return hlo_arena_printf(
      arena,
      "%%0 = alloc near : s32[1]\n%%1 = alloc semaphore : s32[2]\n%%2 = reference 1 : s32[64]\n"
      "%%3 = slice [0] sizes [1] %%1 : s32[1]\n%%4 = slice [1] sizes [1] %%1 : s32[1]\n"
      "semaphore_signal 1 %%4\nparallel d0 = 0..2 by 1 {\n%%5 = index [d0] : s32\nswitch %%5 {\n"
      "for d1 = 0..%lld by 1 {\nsemaphore_wait 1 %%4\n%%6 = index [d1] : s32\n"
      "ref_store [0] %%0, %%6\nsemaphore_signal 1 %%3\n}\n} {\n"
      "for d2 = 0..%lld by 1 {\nsemaphore_wait 1 %%3\n%%7 = ref_load [0] %%0 : s32\n"
      "%%8 = ref_load [0] %%2 : s32\n%%9 = map add %%7, %%8 : s32\nref_store [0] %%2, %%9\n"
      "semaphore_signal 1 %%4\n}\nsemaphore_wait 1 %%4\n}\n}\n",
      (long long)phases, (long long)phases);
}

// No wake-up is lost: HLO_TILE_TEST_PHASES asks for more than a short test takes.
static void hands_over(void** unused) {
  (void)unused;
  enum { FEW = 2000 };
  HLO_SCOPED_ARENA arena = {0};
  outcome_t found;
  const char* text = getenv("HLO_TILE_TEST_PHASES");
  const int64_t phases = text ? atoll(text) : FEW;
  for (uint32_t threads = 1; threads <= 2; ++threads) {
    run_body(handoff(&arena, phases), threads, &found);
    check(found.status);
    assert_int_equal(found.numbers[0], (int32_t)(phases * (phases - 1) / 2));
  }
  compare_body(handoff(&arena, 50));
}

// Every iteration adds what its neighbours had in the phase before.
static const char* ring(hlo_arena_t* arena, int64_t count, int64_t phases) {
  return hlo_arena_printf(
      arena,
      "%%0 = alloc near : s32[2, 64]\n%%1 = alloc barrier arrivals %lld : s32[1]\n"
      "%%2 = reference 1 : s32[64]\nparallel d0 = 0..%lld by 1 {\n"
      "%%3 = ref_load [d0] %%2 : s32\nref_store [0, d0] %%0, %%3\nbarrier_arrive %%1\n"
      "barrier_wait [0] %%1\nfor d1 = 0..%lld by 1 {\n"
      "%%4 = ref_load [(d1 mod 2), (1 + d0 mod %lld)] %%0 : s32\n"
      "%%5 = ref_load [(d1 mod 2), (%lld + d0 mod %lld)] %%0 : s32\n"
      "%%6 = map add %%4, %%5 : s32\nref_store [(1 + d1 mod 2), d0] %%0, %%6\n"
      "barrier_arrive %%1\nbarrier_wait [1 + d1] %%1\nref_store [d0] %%2, %%6\n}\n}\n",
      (long long)count, (long long)count, (long long)phases, (long long)count, (long long)count - 1,
      (long long)count);
}

// Stages of a pipeline add their number; several signals are waited for at once.
static const char* pipeline(hlo_arena_t* arena, int64_t stages, int64_t items, int64_t width) {
  return hlo_arena_printf(
      arena,
      "%%0 = alloc near : f32[%lld, 16]\n%%1 = alloc semaphore : s32[%lld]\n"
      "%%2 = reference 0 : f32[64]\nparallel d0 = 0..%lld by 1 {\n"
      "%%3 = slice [d0] sizes [1] %%1 : s32[1]\n%%4 = slice [1 + d0] sizes [1] %%1 : s32[1]\n"
      "%%5 = index [d0] : s32\n%%6 = index [0] : s32\n%%7 = map compare EQ %%5, %%6 : pred\n"
      "%%8 = index [d0] : f32\nif %%7 {\n} {\nsemaphore_wait %lld %%3\n}\n"
      "for d1 = 0..%lld by 1 {\nif %%7 {\n%%9 = load 0 [d1] : f32\nref_store [0, d1] %%0, %%9\n"
      "} {\n%%10 = ref_load [-1 + d0, d1] %%0 : f32\n%%11 = map add %%10, %%8 : f32\n"
      "ref_store [d0, d1] %%0, %%11\nref_store [16 + d1] %%2, %%11\n}\n}\n"
      "for d2 = 0..%lld by 1 {\nsemaphore_signal 1 %%4\n}\n}\n"
      "%%12 = slice [%lld] sizes [1] %%1 : s32[1]\nsemaphore_wait %lld %%12\n",
      (long long)stages, (long long)stages + 1, (long long)stages, (long long)items,
      (long long)width, (long long)items, (long long)stages, (long long)items);
}

static void waits_like_the_interpreter(void** unused) {
  (void)unused;
  for (int64_t n = 0; n < 12; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    compare_body(ring(&arena, 2 + n % 7, 1 + n));
    compare_body(pipeline(&arena, 1 + n % 5, 1 + n % 3, 1 + n));
  }
}

// Blocks with threads of their own in chunks, values from around, a loop inside an iteration.
static void threads_inside(void** unused) {
  (void)unused;
  static const char* const bodies[] = {
      "%0 = reference 0 : f32[64]\n%1 = constant 0x40000000 : f32\n"
      "parallel d0 = 0..8 by 1 grid {\n%2 = alloc barrier arrivals 2 : s32[1]\n"
      "%3 = alloc near : f32[2]\n%4 = program_id 0 : s32\n%5 = index [d0] : f32\n"
      "%6 = map compare LT %5, %1 : pred\nparallel d1 = 0..2 by 1 {\n"
      "%7 = load 0 [2*d0 + d1] : f32\nif %6 {\n%8 = map add %7, %5 : f32\n"
      "ref_store [d1] %3, %8\n} {\nref_store [d1] %3, %7\n}\nbarrier_arrive %2\n"
      "barrier_wait [0] %2\n%9 = ref_load [1 + -1*d1] %3 : f32\n%10 = map multiply %9, %1 : f32\n"
      "ref_store [2*d0 + d1] %0, %10\n}\n}\n",
      // A result of a loop, and its second one; threads within threads.
      "%0 = reference 1 : s32[64]\n%1 = index [3] : s32\n%2 = alloc barrier arrivals 2 : s32[1]\n"
      "%3 = for %1, %1 over d0 = 0..3 by 1 : s32 {\n%4 = argument 0 : s32\n%5 = argument 1 : s32\n"
      "%6 = map add %4, %5 : s32\nyield %6, %4\n}\n%7 = result 1 of %3 : s32\n"
      "parallel d1 = 0..2 by 1 {\n%8 = alloc semaphore : s32[1]\nbarrier_arrive %2\n"
      "barrier_wait [0] %2\nparallel d2 = 0..2 by 1 {\n%9 = index [d2] : s32\nswitch %9 {\n"
      "semaphore_signal 2 %8\n} {\nsemaphore_wait 2 %8\n%10 = result 1 of %3 : s32\n"
      "%11 = map add %3, %10 : s32\n%12 = map add %11, %7 : s32\nref_store [d1] %0, %12\n}\n}\n"
      "}\n",
      // Asynchronous copies of one iteration, waited for by another.
      "%0 = reference 0 : f32[64]\n%1 = alloc near : f32[4, 8]\n%2 = alloc semaphore : s32[4]\n"
      "parallel d0 = 0..4 by 1 {\n%3 = slice [8*d0] sizes [8] %0 : f32[8]\n"
      "%4 = slice [d0, 0] sizes [1, 8] squeeze [0] %1 : f32[8]\n"
      "%5 = slice [d0] sizes [1] %2 : s32[1]\n%6 = slice [(1 + d0 mod 4)] sizes [1] %2 : s32[1]\n"
      "copy_start %3, %4, %5\ncopy_wait %6\n"
      "%7 = slice [(1 + d0 mod 4), 0] sizes [1, 8] squeeze [0] %1 : f32[8]\n"
      "%8 = slice [32 + 8*d0] sizes [8] %0 : f32[8]\ncopy %7, %8\n}\n",
      // A lock that is polled: the sum of all iterations.
      "%0 = reference 1 : s32[64]\n%1 = alloc near : s32[1]\n%2 = index [0] : s32\n"
      "%3 = index [1] : s32\nref_store [0] %1, %2\nparallel d0 = 0..6 by 1 {\n"
      "for d1 = 0..5 by 1 {\n%4 = while %3 : s32 {\n%5 = argument 0 : s32\n"
      "%6 = map compare EQ %5, %3 : pred\nyield %6\n} {\n"
      "%7 = atomic compare_exchange [0] %1, %2, %3 : s32\nyield %7\n}\n"
      "%8 = ref_load [7] %0 : s32\n%9 = index [d0 + d1] : s32\n%10 = map add %8, %9 : s32\n"
      "ref_store [7] %0, %10\n%11 = atomic exchange [0] %1, %2 : s32\n}\n}\n",
      // Iterations may arrive and not wait.
      "%0 = reference 1 : s32[64]\n%1 = alloc barrier arrivals 3 : s32[2]\n"
      "%2 = slice [1] sizes [1] %1 : s32[1]\nparallel d0 = 0..3 by 1 {\n%3 = index [d0] : s32\n"
      "ref_store [d0] %0, %3\nbarrier_arrive %2\nswitch %3 {\nbarrier_wait [0] %2\n"
      "%4 = ref_load [1] %0 : s32\n%5 = ref_load [2] %0 : s32\n%6 = map add %4, %5 : s32\n"
      "ref_store [9] %0, %6\n} {\n}\n}\n",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; ++i) compare_body(bodies[i]);
}

static void prints_like_the_interpreter(void** unused) {
  (void)unused;
  compare_body(
      "parallel d0 = 0..3 by 1 {\n%0 = index [d0] : s32\nprint \"row\" %0\n"
      "for d1 = 0..10 by 4 {\n%1 = load 0 [10*d0 + d1] : f32\n%2 = load 1 [d1] : s32\n"
      "print \"both\" %1, %2\n}\n}\n"
      "for d2 = 0..6 by 2 {\nfor d3 = 0..3 by 8 {\n%3 = load 0 [d2 + 6*d3] : f32\n"
      "%4 = map compare LT %3, %3 : pred\nprint \"columns\" %3, %4\n}\n}\nprint \"end\"\n");
}

// The same errors, and nothing that runs on.
static void ends_with_errors(void** unused) {
  (void)unused;
  static const char* const bodies[][2] = {
      {"%0 = alloc semaphore : s32[1]\nsemaphore_wait 1 %0\n",
       "deadlock: 1 iterations wait for ever: semaphore_wait (line 5)"},
      {"%0 = alloc semaphore : s32[2]\nparallel d0 = 0..2 by 1 {\n"
       "%1 = slice [d0] sizes [1] %0 : s32[1]\n%2 = slice [1 + -1*d0] sizes [1] %0 : s32[1]\n"
       "semaphore_wait 1 %1\nsemaphore_signal 1 %2\n}\n",
       "deadlock: 2 iterations wait for ever: semaphore_wait (line 8), semaphore_wait (line 8)"},
      {"%0 = alloc barrier arrivals 3 : s32[1]\nparallel d0 = 0..2 by 1 {\nbarrier_arrive %0\n"
       "barrier_wait [0] %0\n}\n",
       "deadlock: 2 iterations wait for ever: barrier_wait (line 7), barrier_wait (line 7)"},
      {"parallel d0 = 0..4 by 1 {\n%0 = alloc semaphore : s32[3]\n"
       "%1 = slice [2] sizes [1] %0 : s32[1]\nsemaphore_signal 5 %1\nsemaphore_wait 2 %1\n}\n",
       "%0 = alloc (line 5) ends with 3 that nothing has waited for"},
      {"parallel d0 = 0..3 by 1 {\n%0 = alloc barrier arrivals 2 : s32[1]\nbarrier_arrive %0\n}\n",
       "%0 = alloc (line 5) ends with 1 that nothing has waited for"},
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; ++i) {
    for (uint32_t threads = 0; threads <= 2; ++threads) {
      outcome_t found;
      run_body(bodies[i][0], threads, &found);
      assert_int_equal(hlo_status_code(found.status), HLO_STATUS_FAILED_PRECONDITION);
      assert_string_equal(hlo_status_message(found.status), bodies[i][1]);
      hlo_status_release(found.status);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_kernels),
      cmocka_unit_test(hands_over),
      cmocka_unit_test(waits_like_the_interpreter),
      cmocka_unit_test(threads_inside),
      cmocka_unit_test(prints_like_the_interpreter),
      cmocka_unit_test(ends_with_errors),
  };
  return cmocka_run_group_tests_name("codegen/image/tile_program", tests, NULL, NULL);
}
