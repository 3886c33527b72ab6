// SPDX-License-Identifier: Apache-2.0
// Tile IR as vector IR gives the results of Tile IR's interpreter, on targets with and without
// masks, whole and in chunks; every access is checked.
#include "codegen/tiles/lower.h"
#include "base/program_abi.h"
#include "codegen/vir/interp.h"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 200, MAX_BUFFERS = 3 };

static const char* const CPUS[] = {"sse2", "avx2", "avx512"};

static void check(hlo_status_t status, const hlo_tile_kernel_t* kernel) {
  if (hlo_status_is_ok(status)) return;
  hlo_strbuf_t text = {0};
  hlo_tile_kernel_print(kernel, &text);
  fail_msg("%s\n%s", hlo_status_message(status), hlo_strbuf_text(&text));
}

static size_t bytes_of(const hlo_tile_buffer_t* buffer) {
  return (size_t)buffer->element_count * hlo_dtype_size_bytes(buffer->dtype);
}

// Runs the phases of a kernel in the interpreter of vector IR, their chunks backwards.
static void run_lowered(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                        void* const* buffers) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_plan_t plan;
  hlo_vir_module_t* module;
  check(hlo_tile_check_lowering(kernel, target), kernel);
  check(hlo_tile_plan_chunks(kernel, target, &arena, &plan), kernel);
  check(hlo_vir_module_create(&module), kernel);
  hlo_tile_emit_phases(kernel, target, &plan, module);
  check(hlo_vir_module_status(module), kernel);
  check(hlo_vir_verify(module, target->vector_bytes), kernel);
  hlo_vir_range_t ranges[MAX_BUFFERS + 1] = {{buffers, kernel->buffer_count * sizeof *buffers, 0}};
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    ranges[i + 1] = (hlo_vir_range_t){buffers[i], bytes_of(buffer), buffer->is_output};
  }
  const hlo_vir_interp_options_t options = {true, kernel->buffer_count + 1, ranges};
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION};
  const hlo_vir_func_t* func = module->first_func;
  for (uint32_t phase = 0; phase < plan.phase_count; ++phase, func = func->next) {
    for (uint64_t chunk = plan.chunk_counts[phase]; chunk-- > 0;) {
      const uint64_t params[3] = {(uintptr_t)&frame, (uintptr_t)buffers, chunk};
      int32_t answer;
      check(hlo_vir_interp_run(func, params, &options, &answer), kernel);
      assert_int_equal(answer, 0);
    }
  }
  hlo_vir_module_release(module);
}

static void expect_equal(const hlo_tile_kernel_t* kernel, const char* cpu, const float* results,
                         const float* expected) {
  const int64_t count = kernel->buffers[kernel->buffer_count - 1].element_count;
  for (int64_t i = 0; i < count; ++i) {
    if (memcmp(&results[i], &expected[i], sizeof *results) == 0) continue;
    hlo_strbuf_t text = {0};
    hlo_tile_kernel_print(kernel, &text);
    fail_msg("%s: element %d: %g, expected %g\n%s", cpu, (int)i, (double)results[i],
             (double)expected[i], hlo_strbuf_text(&text));
  }
}

// Buffers 0 and 1 are inputs, f32 and s32; the last one is the result.
static void compare(const hlo_tile_kernel_t* kernel) {
  static float expected[OUTPUT], results[OUTPUT];
  float floats[INPUT];
  int32_t numbers[INPUT];
  hlo_test_fill_inputs(floats, numbers);
  void* buffers[MAX_BUFFERS] = {floats, numbers, expected};
  memset(expected, 0, sizeof expected);
  check(hlo_tile_kernel_run(kernel, &MEANING, buffers), kernel);
  buffers[2] = results;
  for (size_t i = 0; i < sizeof CPUS / sizeof *CPUS; ++i) {
    hlo_target_t target;
    check(hlo_target_find(CPUS[i], true, &target), kernel);
    memset(results, 0, sizeof results);
    run_lowered(kernel, &target, buffers);
    expect_equal(kernel, CPUS[i], results, expected);
  }
}

static void random_kernels(void** unused) {
  (void)unused;
  hlo_tile_maker_t maker = {0};
  for (uint32_t n = 0; n < KERNELS; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_make_random(&maker, &arena, n));
  }
}

// Lanes and what remains of them, scattered stores, tiles of two dimensions, chunks.
static void written_kernels(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel rest version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " for d0 = 3..62 by 16 {\n  %0 = load 0 [d0] : f32\n  %1 = map add %0, %0 : f32\n"
      "  store 2 [d0] %1\n }\n}\n",
      "kernel transposed version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " parallel d0 = 0..5 by 4 {\n  for d1 = 0..12 by 8 {\n   %0 = load 0 [12*d0 + d1] : f32\n"
      "   store 2 [d0 + 5*d1] %0\n  }\n }\n}\n",
      "kernel phases version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[4096] out\n"
      " parallel d0 = 0..2000 by 8 {\n  %0 = load 0 [(d0 mod 64)] : f32\n  store 2 [d0] %0\n }\n"
      " parallel d0 = 0..2000 by 8 {\n  %1 = load 2 [1999 + -1*d0] : f32\n"
      "  store 2 [2000 + d0] %1\n }\n}\n",
      "kernel gathered version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " for d0 = 0..61 by 8 {\n  %0 = load 1 [d0] : s32\n"
      "  %1 = load 0 [clamp(%0, 0, 3) + d0] : f32\n  store 2 [d0] %1\n }\n}\n",
      "kernel rows version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " %0 = constant 0x00000000 : f32\n parallel d0 = 0..3 by 1 {\n"
      "  %2 = reduce maximum %0 over d1 = 0..21 by 8 : f32 {\n"
      "   %1 = load 0 [21*d0 + d1] : f32\n   yield %1\n  }\n"
      "  %4 = reduce add %0 over d1 = 0..21 by 8 : f32 {\n"
      "   %3 = load 0 [21*d0 + d1] : f32\n   yield %3\n  }\n"
      "  for d2 = 0..21 by 8 {\n   %5 = load 0 [21*d0 + d2] : f32\n"
      "   %6 = map subtract %5, %2 : f32\n   %7 = map multiply %6, %4 : f32\n"
      "   store 2 [21*d0 + d2] %7\n  }\n }\n}\n",
      "kernel outside version 1 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[80] out\n"
      " for d0 = 0..80 by 16 {\n  %0 = load 0 [-8 + d0] : f32\n  store 2 [d0] %0\n }\n"
      " %1 = load 0 [70] : f32\n store 2 [0] %1\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_parsed(&arena, texts[i]));
  }
}

static void refused(void** unused) {
  (void)unused;
  static const char* const texts[][2] = {
      {"kernel shifted version 1 {\n buffer f32[64] out\n for d0 = 0..60 by 4 {\n"
       "  %0 = load 0 [d0] : f32\n  store 0 [d0 + 1] %0\n }\n}\n",
       "machine code for shifted: store: other elements of its buffer are accessed in the same "
       "tile"},
      {"kernel pairs version 1 {\n buffer c64[64]\n buffer c64[64] out\n %0 = load 0 [3] : c64\n"
       " store 1 [3] %0\n}\n",
       "machine code for pairs: load: registers do not hold its element type"},
  };
  hlo_target_t target;
  hlo_status_release(hlo_target_find("avx2", true, &target));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    hlo_status_t status = hlo_tile_check_lowering(hlo_test_parsed(&arena, texts[i][0]), &target);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
    assert_string_equal(hlo_status_message(status), texts[i][1]);
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_kernels),
      cmocka_unit_test(written_kernels),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests_name("codegen/tiles/lower", tests, NULL, NULL);
}
