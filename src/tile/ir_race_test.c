// SPDX-License-Identifier: Apache-2.0
// Races in kernels of Tile IR: each kernel with one is found, by both operations, and its repaired
// twin is clean.
#include "tile/ir_test_util.h"

#define IN "%0 = reference 0 : f32[4, 8]\n"
#define OUT "%1 = reference 1 : f32[4, 8]\n"
#define ONE "%2 = constant 0x3f800000 : f32\n"
#define NEAR "%3 = alloc near : f32[4, 8]\n"
#define SEMAPHORE "%4 = alloc semaphore : s32[1]\n"
#define SECOND "%5 = alloc semaphore : s32[1]\n"
#define FOUR "parallel d0 = 0..4 by 1 {\n"
// Two iterations that do different things.
#define BOTH(a, b) \
  "parallel d0 = 0..2 by 1 {\n%6 = index [d0] : s32\nswitch %6 {\n" a "} {\n" b "}\n}\n"

typedef struct twins {
  const char *racy, *clean;
  const char *first, *second;  // the operations of the race, in any order
} twins_t;

static const twins_t TWINS[] = {
    // All iterations write one element.
    {OUT ONE FOUR "ref_store [0, 0] %1, %2\n}\n", OUT ONE FOUR "ref_store [d0, 0] %1, %2\n}\n",
     "ref_store", "ref_store"},
    // The same through offsets in a buffer.
    {ONE FOUR "store 1 [3] %2\n}\n", ONE FOUR "store 1 [3 + d0] %2\n}\n", "store", "store"},
    // An element of the next iteration is read.
    {OUT ONE FOUR "ref_store [d0, 0] %1, %2\n%7 = ref_load [(1 + d0 mod 4), 0] %1 : f32\n}\n",
     OUT ONE FOUR "ref_store [d0, 0] %1, %2\n}\nparallel d1 = 0..4 by 1 {\n"
                  "%7 = ref_load [(1 + d1 mod 4), 0] %1 : f32\n}\n",
     "ref_store", "ref_load"},
    // The result of a copy is read before it was waited for.
    {IN NEAR SEMAPHORE "copy_start %0, %3, %4\n%7 = ref_load [0, 0] %3 : f32\ncopy_wait %4\n",
     IN NEAR SEMAPHORE "copy_start %0, %3, %4\ncopy_wait %4\n%7 = ref_load [0, 0] %3 : f32\n",
     "copy_start", "ref_load"},
    // The source of a copy is overwritten before it was waited for.
    {OUT ONE NEAR SEMAPHORE "copy_start %3, %1, %4\nref_store [2, 2] %3, %2\ncopy_wait %4\n",
     OUT ONE NEAR SEMAPHORE "copy_start %3, %1, %4\ncopy_wait %4\nref_store [2, 2] %3, %2\n",
     "copy_start", "ref_store"},
    // A second copy into the same place.
    {IN NEAR SEMAPHORE "copy_start %0, %3, %4\ncopy_start %0, %3, %4\nsemaphore_wait 2 %4\n",
     IN NEAR SEMAPHORE "copy_start %0, %3, %4\ncopy_wait %4\ncopy_start %0, %3, %4\ncopy_wait %4\n",
     "copy_start", "copy_start"},
    // Two copies signal one semaphore: the first signal may be of either.
    {IN NEAR SEMAPHORE "for d1 = 0..2 by 1 {\n%7 = slice [d1, 0] sizes [1, 8] %0 : f32[1, 8]\n"
                       "%8 = slice [d1, 0] sizes [1, 8] %3 : f32[1, 8]\ncopy_start %7, %8, %4\n}\n"
                       "copy_wait %4\n%9 = ref_load [0, 0] %3 : f32\ncopy_wait %4\n",
     IN NEAR SEMAPHORE "for d1 = 0..2 by 1 {\n%7 = slice [d1, 0] sizes [1, 8] %0 : f32[1, 8]\n"
                       "%8 = slice [d1, 0] sizes [1, 8] %3 : f32[1, 8]\ncopy_start %7, %8, %4\n}\n"
                       "copy_wait %4\ncopy_wait %4\n%9 = ref_load [0, 0] %3 : f32\n",
     "copy_start", "ref_load"},
    // A product of what is still being copied.
    {IN OUT NEAR SEMAPHORE "%7 = alloc accumulator : f32[4, 4]\ncopy_start %0, %3, %4\n"
                           "mma [1] x [1] %7, %3, %3\ncopy_wait %4\n",
     IN OUT NEAR SEMAPHORE "%7 = alloc accumulator : f32[4, 4]\ncopy_start %0, %3, %4\n"
                           "copy_wait %4\nmma [1] x [1] %7, %3, %3\n",
     "copy_start", "mma"},
    // Iterations over the summed dimension share the sums.
    {IN "%7 = alloc accumulator : f32[4, 4]\nparallel d1 = 0..2 by 1 {\n"
        "%8 = slice [0, 4*d1] sizes [4, 4] %0 : f32[4, 4]\nmma [1] x [1] %7, %8, %8\n}\n",
     IN "%7 = alloc accumulator : f32[4, 4]\nfor d1 = 0..2 by 1 {\n"
        "%8 = slice [0, 4*d1] sizes [4, 4] %0 : f32[4, 4]\nmma [1] x [1] %7, %8, %8\n}\n",
     "mma", "mma"},
    // The producer signals before it has written.
    {ONE NEAR SEMAPHORE BOTH("semaphore_signal 1 %4\nref_store [0, 0] %3, %2\n",
                             "semaphore_wait 1 %4\n%7 = ref_load [0, 0] %3 : f32\n"),
     ONE NEAR SEMAPHORE BOTH("ref_store [0, 0] %3, %2\nsemaphore_signal 1 %4\n",
                             "semaphore_wait 1 %4\n%7 = ref_load [0, 0] %3 : f32\n"),
     "ref_store", "ref_load"},
    // The consumer reads before it waits.
    {ONE NEAR SEMAPHORE BOTH("ref_store [0, 0] %3, %2\nsemaphore_signal 1 %4\n",
                             "%7 = ref_load [0, 0] %3 : f32\nsemaphore_wait 1 %4\n"),
     ONE NEAR SEMAPHORE BOTH("ref_store [0, 0] %3, %2\nsemaphore_signal 1 %4\n",
                             "semaphore_wait 1 %4\n%7 = ref_load [0, 0] %3 : f32\n"),
     "ref_store", "ref_load"},
    // The producer does not wait until its place is free again.
    {ONE NEAR SEMAPHORE SECOND BOTH(
         "for d1 = 0..3 by 1 {\nref_store [0, 0] %3, %2\nsemaphore_signal 1 %4\n}\n"
         "semaphore_wait 3 %5\n",
         "for d2 = 0..3 by 1 {\nsemaphore_wait 1 %4\n%7 = ref_load [0, 0] %3 : f32\n"
         "semaphore_signal 1 %5\n}\n"),
     ONE NEAR SEMAPHORE SECOND BOTH(
         "for d1 = 0..3 by 1 {\nref_store [0, 0] %3, %2\nsemaphore_signal 1 %4\n"
         "semaphore_wait 1 %5\n}\n",
         "for d2 = 0..3 by 1 {\nsemaphore_wait 1 %4\n%7 = ref_load [0, 0] %3 : f32\n"
         "semaphore_signal 1 %5\n}\n"),
     "ref_store", "ref_load"},
    // Two places, but the producer is three ahead.
    {ONE NEAR SEMAPHORE SECOND "semaphore_signal 3 %5\n" BOTH(
         "for d1 = 0..6 by 1 {\nsemaphore_wait 1 %5\nref_store [(d1 mod 2), 0] %3, %2\n"
         "semaphore_signal 1 %4\n}\nsemaphore_wait 3 %5\n",
         "for d2 = 0..6 by 1 {\nsemaphore_wait 1 %4\n%7 = ref_load [(d2 mod 2), 0] %3 : f32\n"
         "semaphore_signal 1 %5\n}\n"),
     ONE NEAR SEMAPHORE SECOND "semaphore_signal 2 %5\n" BOTH(
         "for d1 = 0..6 by 1 {\nsemaphore_wait 1 %5\nref_store [(d1 mod 2), 0] %3, %2\n"
         "semaphore_signal 1 %4\n}\nsemaphore_wait 2 %5\n",
         "for d2 = 0..6 by 1 {\nsemaphore_wait 1 %4\n%7 = ref_load [(d2 mod 2), 0] %3 : f32\n"
         "semaphore_signal 1 %5\n}\n"),
     "ref_store", "ref_load"},
    // One signal of two producers is not enough.
    {ONE NEAR SEMAPHORE "parallel d0 = 0..3 by 1 {\n%6 = index [d0] : s32\nswitch %6 {\n"
                        "semaphore_wait 1 %4\n%7 = ref_load [1, 0] %3 : f32\n"
                        "semaphore_wait 1 %4\n} {\nref_store [d0, 0] %3, %2\n"
                        "semaphore_signal 1 %4\n}\n}\n",
     ONE NEAR SEMAPHORE "parallel d0 = 0..3 by 1 {\n%6 = index [d0] : s32\nswitch %6 {\n"
                        "semaphore_wait 2 %4\n%7 = ref_load [1, 0] %3 : f32\n} {\n"
                        "ref_store [d0, 0] %3, %2\nsemaphore_signal 1 %4\n}\n}\n",
     "ref_store", "ref_load"},
    // Neighbours are read without a barrier.
    {ONE NEAR FOUR "ref_store [d0, 0] %3, %2\n%7 = ref_load [3 + -1*d0, 0] %3 : f32\n}\n",
     ONE NEAR "%8 = alloc barrier arrivals 4 : s32[1]\n" FOUR
              "ref_store [d0, 0] %3, %2\nbarrier_arrive %8\nbarrier_wait [0] %8\n"
              "%7 = ref_load [3 + -1*d0, 0] %3 : f32\n}\n",
     "ref_store", "ref_load"},
    // A barrier before the reads, but none before the next writes.
    {ONE NEAR "%8 = alloc barrier arrivals 4 : s32[1]\n" FOUR
              "for d1 = 0..2 by 1 {\nref_store [d0, 0] %3, %2\nbarrier_arrive %8\n"
              "barrier_wait [d1] %8\n%7 = ref_load [3 + -1*d0, 0] %3 : f32\n}\n}\n",
     ONE NEAR "%8 = alloc barrier arrivals 4 : s32[1]\n" FOUR
              "for d1 = 0..2 by 1 {\nref_store [d0, 0] %3, %2\nbarrier_arrive %8\n"
              "barrier_wait [0] %8\n%7 = ref_load [3 + -1*d0, 0] %3 : f32\nbarrier_arrive %8\n"
              "barrier_wait [1] %8\n}\n}\n",
     "ref_store", "ref_load"},
    // A write after the arrival.
    {ONE NEAR "%8 = alloc barrier arrivals 4 : s32[1]\n" FOUR
              "barrier_arrive %8\nref_store [d0, 0] %3, %2\nbarrier_wait [0] %8\n"
              "%7 = ref_load [3 + -1*d0, 0] %3 : f32\n}\n",
     ONE NEAR "%8 = alloc barrier arrivals 4 : s32[1]\n" FOUR
              "ref_store [d0, 0] %3, %2\nbarrier_arrive %8\nbarrier_wait [0] %8\n"
              "%7 = ref_load [3 + -1*d0, 0] %3 : f32\n}\n",
     "ref_store", "ref_load"},
    // A sum of all iterations that is no atomic.
    {OUT ONE FOUR "%7 = ref_load [0, 0] %1 : f32\n%8 = map add %7, %2 : f32\n"
                  "ref_store [0, 0] %1, %8\n}\n",
     OUT ONE FOUR "%7 = atomic add [0, 0] %1, %2 : f32\n}\n", "ref_store", "ref_load"},
    // An atomic sum that is read meanwhile.
    {OUT ONE FOUR "%7 = atomic add [0, 0] %1, %2 : f32\n%8 = ref_load [0, 0] %1 : f32\n}\n",
     OUT ONE FOUR "%7 = atomic add [0, 0] %1, %2 : f32\n}\n%8 = ref_load [0, 0] %1 : f32\n",
     "atomic", "ref_load"},
    // A write after the end of a critical section.
    {OUT ONE "%9 = alloc near : s32[1]\n%10 = constant 0x00000000 : s32\n"
             "%11 = constant 0x00000001 : s32\nref_store [0] %9, %10\n" FOUR
             "%12 = while %11 : s32 {\n%13 = argument 0 : s32\n"
             "%14 = map compare EQ %13, %11 : pred\nyield %14\n} {\n"
             "%15 = atomic compare_exchange [0] %9, %10, %11 : s32\nyield %15\n}\n"
             "%16 = atomic exchange [0] %9, %10 : s32\nref_store [0, 0] %1, %2\n}\n",
     OUT ONE "%9 = alloc near : s32[1]\n%10 = constant 0x00000000 : s32\n"
             "%11 = constant 0x00000001 : s32\nref_store [0] %9, %10\n" FOUR
             "%12 = while %11 : s32 {\n%13 = argument 0 : s32\n"
             "%14 = map compare EQ %13, %11 : pred\nyield %14\n} {\n"
             "%15 = atomic compare_exchange [0] %9, %10, %11 : s32\nyield %15\n}\n"
             "ref_store [0, 0] %1, %2\n%16 = atomic exchange [0] %9, %10 : s32\n}\n",
     "ref_store", "ref_store"},
    // Parts that overlap by a row.
    {IN OUT "%7 = slice [0, 0] sizes [2, 8] %0 : f32[2, 8]\nparallel d0 = 0..2 by 1 {\n"
            "%8 = slice [d0, 0] sizes [2, 8] %1 : f32[2, 8]\ncopy %7, %8\n}\n",
     IN OUT "%7 = slice [0, 0] sizes [2, 8] %0 : f32[2, 8]\nparallel d0 = 0..2 by 1 {\n"
            "%8 = slice [2*d0, 0] sizes [2, 8] %1 : f32[2, 8]\ncopy %7, %8\n}\n",
     "copy", "copy"},
    // Rows are written while columns are read.
    {ONE NEAR "%7 = transpose [1, 0] %3 : f32[8, 4]\n" FOUR
              "ref_store [d0, 2] %3, %2\n%8 = ref_load [2, (1 + d0 mod 4)] %7 : f32\n}\n",
     ONE NEAR "%7 = transpose [1, 0] %3 : f32[8, 4]\n" FOUR
              "ref_store [d0, 2] %3, %2\n}\nparallel d1 = 0..4 by 1 {\n"
              "%8 = ref_load [2, (1 + d1 mod 4)] %7 : f32\n}\n",
     "ref_store", "ref_load"},
    // The same elements by two shapes.
    {OUT ONE "%7 = reshape %1 : f32[32]\n" FOUR
             "ref_store [d0, 0] %1, %2\nref_store [4*d0] %7, %2\n}\n",
     OUT ONE "%7 = reshape %1 : f32[32]\n" FOUR
             "ref_store [d0, 0] %1, %2\nref_store [8*d0] %7, %2\n}\n",
     "ref_store", "ref_store"},
    // Starts known at run time only, which are all equal.
    {OUT ONE FOUR "%7 = load 2 [d0] : s32\n"
                  "%8 = slice [clamp(%7, 0, 3), 0] sizes [1, 8] %1 : f32[1, 8]\n"
                  "ref_store [0, 0] %8, %2\n}\n",
     OUT ONE "for d0 = 0..4 by 1 {\n%7 = load 2 [d0] : s32\n"
             "%8 = slice [clamp(%7, 0, 3), 0] sizes [1, 8] %1 : f32[1, 8]\n"
             "ref_store [0, 0] %8, %2\n}\n",
     "ref_store", "ref_store"},
    // Scratch memory that outer iterations share.
    {ONE NEAR FOUR "parallel d1 = 0..2 by 1 {\nref_store [0, d1] %3, %2\n}\n}\n",
     ONE FOUR NEAR "parallel d1 = 0..2 by 1 {\nref_store [0, d1] %3, %2\n}\n}\n", "ref_store",
     "ref_store"},
    // A mask that is true for all.
    {OUT ONE FOUR "%7 = index [0] : s32\n%8 = index [d0] : s32\n%9 = map compare EQ %7, %7 : pred\n"
                  "ref_store [0, 0] mask %1, %2, %9\n}\n",
     OUT ONE FOUR "%7 = index [0] : s32\n%8 = index [d0] : s32\n%9 = map compare EQ %7, %8 : pred\n"
                  "ref_store [0, 0] mask %1, %2, %9\n}\n",
     "ref_store", "ref_store"},
    // The copy of another iteration, which nothing here waited for.
    {IN NEAR SEMAPHORE BOTH("copy_start %0, %3, %4\n",
                            "%7 = ref_load [0, 0] %3 : f32\n"
                            "copy_wait %4\n"),
     IN NEAR SEMAPHORE BOTH("copy_start %0, %3, %4\n",
                            "copy_wait %4\n"
                            "%7 = ref_load [0, 0] %3 : f32\n"),
     "copy_start", "ref_load"},
};

static hlo_status_t find(const char* body) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  float in[32] = {0}, out[32] = {0};
  int32_t starts[4] = {0};
  const char* text = hlo_arena_printf(&arena,
                                      "kernel race version 3 {\nbuffer f32[4, 8]\n"
                                      "buffer f32[4, 8] out\nbuffer s32[4] prefetch\n%s}\n",
                                      body);
  hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, text);
  hlo_status_t status = hlo_tile_kernel_find_races(kernel, &MEANING, (void*[]){in, out, starts});
  hlo_arena_deinit(&arena);
  return status;
}

static bool names(const char* message, const char* op) {
  size_t length = strlen(op);
  for (const char* at = strstr(message, op); at; at = strstr(at + 1, op)) {
    if (strncmp(at + length, " (line ", 7) == 0) return true;
  }
  return false;
}

static void test_races(void** unused) {
  (void)unused;
  uint32_t found = 0;
  for (uint32_t i = 0; i < sizeof TWINS / sizeof *TWINS; ++i) {
    hlo_status_t status = find(TWINS[i].racy);
    const char* message = hlo_status_message(status);
    if (hlo_status_code(status) != HLO_STATUS_FAILED_PRECONDITION || !strstr(message, "race:") ||
        !names(message, TWINS[i].first) || !names(message, TWINS[i].second)) {
      fail_msg("%s: %s", TWINS[i].racy, hlo_status_is_ok(status) ? "no race" : message);
    }
    ++found;
    hlo_status_release(status);
  }
  assert_true(found >= 20);
}

static void test_clean(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof TWINS / sizeof *TWINS; ++i) {
    hlo_status_t status = find(TWINS[i].clean);
    if (!hlo_status_is_ok(status)) fail_msg("%s: %s", TWINS[i].clean, hlo_status_message(status));
  }
}

// The message names both operations, the element and its memory.
static void test_message(void** unused) {
  (void)unused;
  hlo_status_t status = find(ONE NEAR FOUR "ref_store [1, 2] %3, %2\n}\n");
  assert_string_equal(hlo_status_message(status),
                      "race: nothing orders ref_store (line 8) and ref_store (line 8) at element "
                      "10 of %1 = alloc (line 6)");
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_races),
      cmocka_unit_test(test_clean),
      cmocka_unit_test(test_message),
  };
  return cmocka_run_group_tests_name("tile/ir_race", tests, NULL, NULL);
}
