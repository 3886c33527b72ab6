// SPDX-License-Identifier: Apache-2.0
// Tile IR as vector IR gives the results of Tile IR's interpreter, on targets with and without
// masks, whole and in chunks; every access is checked.
#include "codegen/tiles/lower.h"
#include "base/program_abi.h"
#include "codegen/vir/interp.h"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 200, MAX_BUFFERS = 4 };

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

// Fills inputs with small numbers, outputs with zeros.
static void fill_buffers(const hlo_tile_kernel_t* kernel, void* const* buffers) {
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    memset(buffers[i], 0, bytes_of(buffer));
    for (int64_t k = 0; k < buffer->element_count && !buffer->is_output; ++k) {
      if (buffer->dtype == HLO_DTYPE_F32) ((float*)buffers[i])[k] = (float)(k % 11 - 5);
      if (buffer->dtype == HLO_DTYPE_S32) ((int32_t*)buffers[i])[k] = (int32_t)(k * 7 % 5 - 1);
    }
  }
}

static void expect_equal(const hlo_tile_kernel_t* kernel, const char* cpu, void* const* results,
                         void* const* expected) {
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    const size_t bytes = hlo_dtype_size_bytes(buffer->dtype);
    for (size_t k = 0; k < (size_t)buffer->element_count; ++k) {
      const uint8_t *found = (const uint8_t*)results[i] + k * bytes,
                    *wanted = (const uint8_t*)expected[i] + k * bytes;
      if (memcmp(found, wanted, bytes) == 0) continue;
      hlo_strbuf_t text = {0};
      hlo_tile_kernel_print(kernel, &text);
      fail_msg("%s: element %zu of buffer %u: %g, expected %g\n%s", cpu, k, i,
               hlo_dtype_load_double(HLO_DTYPE_F32, found),
               hlo_dtype_load_double(HLO_DTYPE_F32, wanted), hlo_strbuf_text(&text));
    }
  }
}

static void compare(const hlo_tile_kernel_t* kernel) {
  HLO_SCOPED_ARENA arena = {0};
  void *expected[MAX_BUFFERS], *results[MAX_BUFFERS];
  assert_true(kernel->buffer_count <= MAX_BUFFERS);
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    expected[i] = hlo_arena_alloc(&arena, bytes_of(&kernel->buffers[i]));
    results[i] = hlo_arena_alloc(&arena, bytes_of(&kernel->buffers[i]));
  }
  fill_buffers(kernel, expected);
  check(hlo_tile_kernel_run(kernel, &MEANING, expected), kernel);
  for (size_t i = 0; i < sizeof CPUS / sizeof *CPUS; ++i) {
    hlo_target_t target;
    check(hlo_target_find(CPUS[i], true, &target), kernel);
    fill_buffers(kernel, results);
    run_lowered(kernel, &target, results);
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

// Scratch memory, copies meanwhile, products; parts of references; masks; a grid; branches.
static void kernels_with_references(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel product version 3 {\n buffer f32[4, 8]\n buffer f32[8, 6]\n buffer f32[4, 6] out\n"
      " %0 = reference 0 : f32[4, 8]\n %1 = reference 1 : f32[8, 6]\n"
      " %2 = reference 2 : f32[4, 6]\n parallel d1 = 0..2 by 1 chunk 1 grid {\n"
      "  %3 = alloc near : f32[2, 2, 4]\n  %4 = alloc semaphore : s32[2]\n"
      "  %5 = alloc accumulator : f32[2, 6]\n  %6 = constant 0x00000000 : f32\n"
      "  for d2 = 0..2 by 2 {\n   for d3 = 0..6 by 6 {\n    ref_store [d2, d3] %5, %6\n   }\n"
      "  }\n  for d4 = 0..2 by 1 stages 2 {\n"
      "   %7 = slice [2*d1, 4*d4] sizes [2, 4] %0 : f32[2, 4]\n"
      "   %8 = slice [d4, 0, 0] sizes [1, 2, 4] squeeze [0] %3 : f32[2, 4]\n"
      "   %9 = slice [d4] sizes [1] %4 : s32[1]\n   copy_start %7, %8, %9\n  }\n"
      "  for d5 = 0..2 by 1 {\n   %10 = slice [d5] sizes [1] %4 : s32[1]\n   copy_wait %10\n"
      "   %11 = slice [d5, 0, 0] sizes [1, 2, 4] squeeze [0] %3 : f32[2, 4]\n"
      "   %12 = slice [4*d5, 0] sizes [4, 6] %1 : f32[4, 6]\n   mma [1] x [0] %5, %11, %12\n"
      "  }\n  %13 = slice [2*d1, 0] sizes [2, 6] %2 : f32[2, 6]\n  copy %5, %13\n }\n}\n",
      "kernel views version 3 {\n buffer s32[1] prefetch\n buffer f32[4, 6]\n"
      " buffer f32[2, 2] out\n buffer f32[8] out\n %0 = load 0 [0] : s32\n"
      " %1 = reference 1 : f32[4, 6]\n"
      " %2 = slice [clamp(%0, 0, 1), 1] sizes [2, 2] strides [2, 3] %1 : f32[2, 2]\n"
      " %3 = transpose [1, 0] %2 : f32[2, 2]\n %4 = reference 2 : f32[2, 2]\n copy %3, %4\n"
      " %5 = slice [2, 0] sizes [1, 6] squeeze [0] %1 : f32[6]\n"
      " %6 = reshape %5 : f32[2, 3]\n %7 = reference 3 : f32[8]\n"
      " %8 = constant 0xbf800000 : f32\n for d0 = 0..8 by 8 {\n  %9 = index [d0] : f32\n"
      "  %10 = index [6] : f32\n  %11 = map compare LT %9, %10 : pred\n"
      "  %12 = ref_load [(d0 div 3), (d0 mod 3)] mask %6, %11, %8 : f32\n"
      "  ref_store [d0] %7, %12\n }\n}\n",
      "kernel batches version 3 {\n buffer f32[3, 13, 9]\n buffer f32[3, 9, 75]\n"
      " buffer f32[3, 13, 75] out\n %0 = reference 0 : f32[3, 13, 9]\n"
      " %1 = reference 1 : f32[3, 9, 75]\n %2 = reference 2 : f32[3, 13, 75]\n"
      " mma [2] x [1] batch [0] x [0] %2, %0, %1\n}\n",
      "kernel turned version 3 {\n buffer f32[7, 5]\n buffer f32[6, 5]\n buffer f32[7, 6] out\n"
      " %0 = reference 0 : f32[7, 5]\n %1 = reference 1 : f32[6, 5]\n"
      " %2 = reference 2 : f32[7, 6]\n mma [1] x [1] %2, %0, %1\n}\n",
      "kernel grid version 3 {\n buffer f32[40]\n buffer f32[40] out\n"
      " parallel d0 = 0..5 by 1 grid {\n  %0 = program_id 0 : s32\n  %1 = num_programs 0 : s32\n"
      "  %2 = index [clamp(%0, 0, 4)] : f32\n  %3 = index [clamp(%1, 0, 9)] : f32\n"
      "  %4 = constant 0x40000000 : f32\n  %5 = map compare LT %2, %4 : pred\n  if %5 {\n"
      "   for d1 = 0..8 by 8 {\n    %6 = load 0 [8*d0 + d1] : f32\n"
      "    %7 = map multiply %6, %2 : f32\n    store 1 [8*d0 + d1] %7\n   }\n  } {\n"
      "   for d2 = 0..8 by 8 {\n    %8 = load 0 [8*d0 + d2] : f32\n"
      "    %9 = map compare LT %8, %4 : pred\n    if %9 {\n     store 1 [8*d0 + d2] %3\n    }\n"
      "   }\n  }\n }\n}\n",
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
       "machine code for shifted: store: other elements of its memory are accessed in the same "
       "tile"},
      {"kernel large version 3 {\n buffer f32[1] out\n %0 = alloc near : f32[1000000]\n}\n",
       "machine code for large: alloc: the allocations of the kernel take more than 1 MiB"},
      {"kernel waits version 3 {\n buffer f32[1] out\n %0 = alloc semaphore : s32[1]\n"
       " semaphore_wait 1 %0\n}\n",
       "machine code for waits: semaphore_wait: no code is made for it"},
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
      cmocka_unit_test(kernels_with_references),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests_name("codegen/tiles/lower", tests, NULL, NULL);
}
