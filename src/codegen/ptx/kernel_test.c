// SPDX-License-Identifier: Apache-2.0
// Tile IR as PTX, run thread by thread as text, gives the results of Tile IR's interpreter.
#include "codegen/ptx/kernel.h"

#include "base/test_util.h"
#include "codegen/ptx/assembler_test.inl"
#include "codegen/ptx/run_test.inl"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 100, BUFFERS = 3 };

static void print_text(const hlo_tile_kernel_t* kernel, const char* target_name,
                       hlo_strbuf_t* out) {
  hlo_ptx_target_t target;
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_test_check(hlo_ptx_emit_tile(kernel, &target, NULL, out));
}

// Runs the kernels of a text in order, each with the threads that its comment states.
static uint64_t run_text(const char* text, void* const* buffers) {
  uint64_t most = 0;
  for (const char* line = text; *line == '/'; line = strchr(line, '\n') + 1) {
    char name[128];
    unsigned long long threads;
    assert_int_equal(sscanf(line, "// %127[^:]: %llu threads", name, &threads), 2);
    uint64_t params[BUFFERS];
    for (uint32_t i = 0; i < BUFFERS; ++i) params[i] = (uintptr_t)buffers[i];
    // Threads beyond the last one do nothing.
    ptx_run(text, name, threads + 3, params, BUFFERS, NULL);
    if (threads > most) most = threads;
  }
  return most;
}

// Buffers 0 and 1 are inputs, f32 and s32; the last one is the result.
static uint64_t compare(const hlo_tile_kernel_t* kernel) {
  static float expected[OUTPUT], results[OUTPUT];
  float floats[INPUT];
  int32_t numbers[INPUT];
  hlo_test_fill_inputs(floats, numbers);
  void* buffers[BUFFERS] = {floats, numbers, expected};
  memset(expected, 0, sizeof expected);
  memset(results, 0, sizeof results);
  hlo_test_check(hlo_tile_kernel_run(kernel, &MEANING, buffers));
  buffers[BUFFERS - 1] = results;
  HLO_SCOPED_STRBUF text = {0};
  print_text(kernel, "sm_80", &text);
  const uint64_t threads = run_text(hlo_strbuf_text(&text), buffers);
  for (int64_t i = 0; i < kernel->buffers[BUFFERS - 1].element_count; ++i) {
    if (results[i] == expected[i]) continue;
    fail_msg("element %d: %g, expected %g\n%s", (int)i, (double)results[i], (double)expected[i],
             hlo_strbuf_text(&text));
  }
  return threads;
}

static void random_kernels(void** unused) {
  (void)unused;
  hlo_tile_maker_t maker = {0};
  for (uint32_t n = 0; n < KERNELS; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_make_random(&maker, &arena, n));
  }
}

static const struct {
  const char* text;
  uint64_t threads;
} kWritten[] = {
    {"kernel tiled version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " for d0 = 3..62 by 16 {\n  %0 = load 0 [d0] : f32\n  %1 = map add %0, %0 : f32\n"
     "  store 2 [d0] %1\n }\n}\n",
     62},
    {"kernel transposed version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " parallel d0 = 0..5 by 4 {\n  for d1 = 0..12 by 8 {\n   %0 = load 0 [12*d0 + d1] : f32\n"
     "   store 2 [d0 + 5*d1] %0\n  }\n }\n}\n",
     60},
    // Vectors of adjacent elements of each row, and one element that all of a row share.
    {"kernel vectors version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " parallel d0 = 0..4 by 4 {\n  for d1 = 0..12 by 8 {\n   %0 = load 0 [16*d0 + d1] : f32\n"
     "   %1 = load 0 [d0] : f32\n   %2 = map add %0, %1 : f32\n   store 2 [12*d0 + d1] %2\n"
     "  }\n }\n}\n",
     12},
    // The second phase reads what all threads of the first one wrote.
    {"kernel phases version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[4096] out\n"
     " parallel d0 = 0..2000 by 8 {\n  %0 = load 0 [(d0 mod 64)] : f32\n  store 2 [d0] %0\n }\n"
     " parallel d0 = 0..2000 by 8 {\n  %1 = load 2 [1999 + -1*d0] : f32\n"
     "  store 2 [2000 + d0] %1\n }\n}\n",
     2000},
    // One row a thread: what is computed for a row is not computed for each of its elements.
    {"kernel rows version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " %0 = constant 0x00000000 : f32\n parallel d0 = 0..3 by 1 {\n"
     "  %2 = reduce maximum %0 over d1 = 0..21 by 8 : f32 {\n"
     "   %1 = load 0 [21*d0 + d1] : f32\n   yield %1\n  }\n"
     "  for d2 = 0..21 by 8 {\n   %3 = load 0 [21*d0 + d2] : f32\n"
     "   %4 = map subtract %3, %2 : f32\n   store 2 [21*d0 + d2] %4\n  }\n }\n}\n",
     3},
    // Iterations that depend on each other, or store to the same elements, are one thread.
    {"kernel running version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " for d0 = 0..63 by 1 {\n  %0 = load 2 [d0] : f32\n  %1 = load 0 [d0] : f32\n"
     "  %2 = map add %0, %1 : f32\n  store 2 [1 + d0] %2\n }\n}\n",
     1},
    {"kernel same version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
     " for d0 = 0..8 by 1 {\n  for d1 = 0..9 by 1 {\n   %0 = load 0 [8*d0 + d1] : f32\n"
     "   store 2 [4*d0 + d1] %0\n  }\n }\n}\n",
     1},
};
enum { WRITTEN = sizeof kWritten / sizeof *kWritten };

static void written_kernels(void** unused) {
  (void)unused;
  for (size_t i = 0; i < WRITTEN; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    assert_int_equal(compare(hlo_test_parsed(&arena, kWritten[i].text)), kWritten[i].threads);
  }
}

static void assembled(void** unused) {
  (void)unused;
  ptx_skip_without_assembler();
  hlo_tile_maker_t maker = {0};
  for (uint32_t n = 0; n < WRITTEN + 10; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    print_text(n < WRITTEN ? hlo_test_parsed(&arena, kWritten[n].text)
                           : hlo_test_make_random(&maker, &arena, n),
               "sm_90a", &text);
    ptx_assemble(&text, "sm_90a");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_kernels),
      cmocka_unit_test(written_kernels),
      cmocka_unit_test(assembled),
  };
  return cmocka_run_group_tests_name("codegen/ptx/kernel", tests, NULL, NULL);
}
