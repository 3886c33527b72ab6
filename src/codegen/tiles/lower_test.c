// SPDX-License-Identifier: Apache-2.0
// Tile IR as vector IR gives the results of Tile IR's interpreter, on targets with and without
// masks, whole and in chunks; every access is checked, but those of iterations that wait for each
// other, whose memory several functions share.
#include "codegen/tiles/lower.h"
#include "base/program_abi.h"
#include "codegen/tiles/runtime.h"
#include "codegen/vir/interp.h"
#include "interp/scalar.h"
#include "tile/ir_random_test_util.h"

enum { KERNELS = 200, MAX_BUFFERS = 4, THREADS = 2 };

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

static void keep_line(void* context, const char* line) {
  hlo_strbuf_printf(context, "%s\n", line);
}

// Computes elements of any type by the reference.
static bool map_elements(HLO_UNUSED void* context, const hlo_tile_map_t* what, uint32_t count,
                         const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                         void* result, size_t elements) {
  hlo_scalar_op_t op = {
      .op = what->op, .arity = count, .result = dtype, .direction = what->direction};
  hlo_scalar_step_t step;
  for (uint32_t i = 0; i < count && i < 3; ++i) op.operands[i] = dtypes[i];
  if (count > 3 || !hlo_scalar_op_prepare(&op, &step)) return false;
  hlo_scalar_step_run_many(&step, operands, result, elements);
  return true;
}

static hlo_tile_meaning_t meaning_with(hlo_strbuf_t* lines) {
  return (hlo_tile_meaning_t){.map = map_elements, .context = lines, .print = keep_line};
}

static int32_t call_iteration(void* context, uint64_t func, hlo_frame_t* frame, uint64_t argument,
                              uint64_t number) {
  const hlo_vir_interp_options_t options = {0};
  const uint64_t params[3] = {(uintptr_t)frame, argument, number};
  int32_t answer;
  check(hlo_vir_interp_run((const hlo_vir_func_t*)(uintptr_t)func, params, &options, &answer),
        context);
  return answer;
}

// Runs the phases of a kernel in the interpreter of vector IR, their chunks backwards.
static void run_lowered(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                        void* const* buffers, hlo_strbuf_t* lines) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_plan_t plan;
  hlo_pool_t* pool;
  hlo_tile_session_t session;
  const hlo_tile_meaning_t meaning = meaning_with(lines);
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
  const bool has_threads = module->func_count > plan.phase_count;
  const hlo_vir_interp_options_t options = {!has_threads, kernel->buffer_count + 1, ranges};
  check(hlo_pool_create(THREADS, &pool), kernel);
  hlo_tile_session_init(&session, kernel, pool, call_iteration, (void*)(uintptr_t)kernel);
  session.meaning = &meaning;
  hlo_frame_t frame = hlo_tile_session_frame(&session);
  const hlo_vir_func_t* func = module->first_func;
  for (uint32_t phase = 0; phase < plan.phase_count; ++phase, func = func->next) {
    for (uint64_t chunk = plan.chunk_counts[phase]; chunk-- > 0;) {
      const uint64_t params[3] = {(uintptr_t)&frame, (uintptr_t)buffers, chunk};
      int32_t answer;
      hlo_tile_session_begin_chunk(&session);
      check(hlo_vir_interp_run(func, params, &options, &answer), kernel);
      hlo_tile_session_end_chunk(&session);
      assert_int_equal(answer, 0);
    }
  }
  check(hlo_tile_session_deinit(&session), kernel);
  hlo_pool_release(pool);
  hlo_vir_module_release(module);
}

// Fills inputs with small numbers, outputs with zeros.
static void fill_buffers(const hlo_tile_kernel_t* kernel, void* const* buffers) {
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    memset(buffers[i], 0, bytes_of(buffer));
    const size_t bytes = hlo_dtype_size_bytes(buffer->dtype);
    const bool is_float = hlo_dtype_is_float(buffer->dtype);
    for (int64_t k = 0; k < buffer->element_count && !buffer->is_output; ++k) {
      const int64_t number = is_float ? k % 11 - 5 : k * 7 % 5 - 1;
      uint8_t* element = (uint8_t*)buffers[i] + (size_t)k * bytes;
      if (buffer->dtype == HLO_DTYPE_F8E8M0FNU) {  // powers of two
        *element = (uint8_t)(127 + number);
      } else {
        hlo_dtype_store_int64(buffer->dtype, element, number);
      }
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
  HLO_SCOPED_STRBUF wanted = {0};
  const hlo_tile_meaning_t meaning = meaning_with(&wanted);
  fill_buffers(kernel, expected);
  check(hlo_tile_kernel_run(kernel, &meaning, expected), kernel);
  for (size_t i = 0; i < sizeof CPUS / sizeof *CPUS; ++i) {
    hlo_target_t target;
    check(hlo_target_find(CPUS[i], true, &target), kernel);
    fill_buffers(kernel, results);
    HLO_SCOPED_STRBUF lines = {0};
    run_lowered(kernel, &target, results, &lines);
    expect_equal(kernel, CPUS[i], results, expected);
    assert_string_equal(hlo_strbuf_text(&lines), hlo_strbuf_text(&wanted));
  }
}

// Expects that the second buffer ends as the first one, which the kernel copies on some way.
static void expect_copy(const hlo_tile_kernel_t* kernel) {
  HLO_SCOPED_ARENA arena = {0};
  void* buffers[2];
  for (uint32_t i = 0; i < 2; ++i) {
    buffers[i] = hlo_arena_alloc(&arena, bytes_of(&kernel->buffers[i]));
  }
  fill_buffers(kernel, buffers);
  check(hlo_tile_kernel_run(kernel, &MEANING, buffers), kernel);
  assert_memory_equal(buffers[0], buffers[1], bytes_of(&kernel->buffers[0]));
  compare(kernel);
}

static void random_kernels(void** unused) {
  (void)unused;
  hlo_tile_maker_t maker = {0};
  for (uint32_t n = 0; n < KERNELS; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    maker.has_atomics = n % 2;
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
      "kernel bytes version 3 {\n buffer s8[200] out\n for d0 = 0..200 by 25 grid {\n"
      "  %0 = program_id 0 : s8\n  store 0 [d0] %0\n }\n}\n",
      "kernel steps version 3 {\n buffer s32[40] out\n parallel d0 = 0..2 by 1 grid {\n"
      "  for d1 = 1..13 by 5 grid {\n   %0 = program_id 1 : s32\n   %1 = num_programs 1 : s32\n"
      "   %2 = map add %0, %1 : s32\n   store 0 [20*d0 + d1] %2\n  }\n }\n}\n",
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

// Operations on vectors, one after the other, where T is the element type and U an integer of its
// width: broadcast, iota, reductions of two dimensions, another shape, parts with strides taken and
// put, parts one after the other, select, conversion, bits of another type, print.
static const char* const VECTORS =
    "kernel vectors version 3 {\n buffer T[24]\n buffer T[256] out\n buffer f32[24] out\n"
    " %0 = reference 0 : T[24]\n %1 = reference 1 : T[256]\n"
    " parallel d0 = 0..2 by 1 {\n  for d1 = 0..24 by 16 {\n   %2 = load 0 [d1] : T\n"
    "   store 1 [24*d0 + d1] %2\n  }\n }\n"
    " for d2 = 0..24 by 16 {\n  %3 = index [(d2 mod 2)] : T\n  store 1 [48 + d2] %3\n }\n"
    " %4 = load 0 [3] : T\n for d3 = 0..2 by 2 {\n"
    "  %6 = reduce maximum %4 over d4 = 0..3 by 3, d5 = 0..4 by 4 : T {\n"
    "   %5 = load 0 [12*d3 + 4*d4 + d5] : T\n   yield %5\n  }\n"
    "  %8 = reduce minimum %4 over d6 = 0..3 by 3, d7 = 0..4 by 4 : T {\n"
    "   %7 = load 0 [4*d6 + d7 + 12*d3] : T\n   yield %7\n  }\n"
    "  store 1 [72 + d3] %6\n  store 1 [74 + d3] %8\n }\n"
    " %9 = reshape %0 : T[4, 6]\n %10 = slice [76] sizes [24] %1 : T[24]\n"
    " %11 = reshape %10 : T[6, 4]\n %12 = transpose [1, 0] %11 : T[4, 6]\n copy %9, %12\n"
    " %13 = slice [1] sizes [8] strides [3] %0 : T[8]\n"
    " %14 = slice [100] sizes [8] strides [2] %1 : T[8]\n copy %13, %14\n"
    " %15 = slice [120] sizes [8] %1 : T[8]\n %16 = slice [2] sizes [8] %0 : T[8]\n"
    " %17 = slice [128] sizes [16] %1 : T[16]\n %18 = slice [8] sizes [16] %0 : T[16]\n"
    " copy %16, %15\n copy %18, %17\n"
    " for d8 = 0..24 by 16 {\n  %19 = load 0 [d8] : T\n  %20 = load 0 [23 + -1*d8] : T\n"
    "  %21 = index [d8] : s32\n  %22 = constant 0x00000007 : s32\n"
    "  %23 = map compare LT %21, %22 : pred\n  %24 = map select %23, %19, %20 : T\n"
    "  store 1 [144 + d8] %24\n  %25 = map convert %19 : f32\n  store 2 [d8] %25\n\n }\n"
    " for d9 = 0..24 by 16 {\n  %28 = load 0 [d9] : T\n  print \"all\" %28\n }\n";
static const char* const BITS =
    " for d10 = 0..24 by 16 {\n  %29 = load 0 [d10] : T\n  %30 = bitcast %29 : U\n"
    "  %31 = bitcast %30 : T\n  store 1 [168 + d10] %31\n }\n";

static void put_typed(hlo_strbuf_t* text, const char* kernel, const hlo_dtype_info_t* info) {
  for (const char* at = kernel; *at; ++at) {
    const bool is_word = at > kernel && at[-1] == ' ' && strchr("[\n ", at[1]);
    if (is_word && *at == 'T') {
      hlo_strbuf_puts(text, info->hlo_name);
    } else if (is_word && *at == 'U') {
      hlo_strbuf_printf(text, "u%u", info->bits);
    } else {
      hlo_strbuf_putc(text, *at);
    }
  }
}

static void every_type(void** unused) {
  (void)unused;
  for (hlo_dtype_t dtype = HLO_DTYPE_S2; dtype < HLO_DTYPE_C64; ++dtype) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
    put_typed(&text, VECTORS, info);
    // Native code refuses the bits of narrower floats.
    const bool has_bits = dtype <= HLO_DTYPE_U64 ? info->bits >= 8 : dtype >= HLO_DTYPE_F32;
    if (has_bits) put_typed(&text, BITS, info);
    hlo_strbuf_puts(&text, "}\n");
    compare(hlo_test_parsed(&arena, hlo_strbuf_text(&text)));
  }
}

// Copies of parts that are apart: by their numbers, by their distance.
static void copies_inside(void** unused) {
  (void)unused;
  HLO_SCOPED_ARENA arena = {0};
  compare(hlo_test_parsed(
      &arena,
      "kernel inside version 3 {\n buffer f32[40]\n buffer f32[40] out\n"
      " %0 = reference 0 : f32[40]\n %1 = reference 1 : f32[40]\n copy %0, %1\n"
      " %2 = slice [0] sizes [20] %1 : f32[20]\n %3 = slice [20] sizes [20] %1 : f32[20]\n"
      " copy %2, %3\n for d0 = 0..3 by 1 {\n  %4 = slice [10*d0] sizes [10] %1 : f32[10]\n"
      "  %5 = slice [10 + 10*d0] sizes [10] %1 : f32[10]\n  copy %5, %4\n }\n copy %1, %1\n}\n"));
}

// Tiles at the edges of a matrix, copied to near memory: zeros, or a number, stand for elements
// that the matrix does not have, and nothing outside is read. The rows are those of a list; tiles
// are added to the result, which drops what is beyond its edges.
static void edge_tiles(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel edges version 3 {\n buffer f32[13, 10]\n buffer s32[16]\n"
      " buffer f32[13, 10] out\n buffer f32[4, 16, 16] out\n %0 = reference 0 : f32[13, 10]\n"
      " %1 = reference 2 : f32[13, 10]\n %2 = reference 3 : f32[4, 16, 16]\n"
      " %3 = constant 0xc0400000 : f32\n %4 = constant 0x00 : pred\n %5 = constant 0x01 : pred\n"
      " parallel d0 = 0..2 by 1 {\n  for d1 = 0..2 by 1 {\n"
      "   %6 = alloc near : f32[16, 16]\n   for d2 = 0..16 by 4 {\n    for d3 = 0..16 by 16 {\n"
      "     %7 = guard [-3 + 8*d0 + d2] in 0..13 %5, %4 : pred\n"
      "     %8 = guard [-2 + 8*d1 + d3] in 0..10 %7, %4 : pred\n"
      "     %9 = ref_load [-3 + 8*d0 + d2, -2 + 8*d1 + d3] mask %0, %8, %3 : f32\n"
      "     ref_store [d2, d3] %6, %9\n    }\n   }\n   for d4 = 0..16 by 4 {\n"
      "    %10 = load 1 [d4] : s32\n    for d5 = 0..16 by 16 {\n"
      "     %11 = ref_load [clamp(%10, 0, 15), d5] %6 : f32\n"
      "     ref_store [2*d0 + d1, d4, d5] %2, %11\n"
      "     %12 = guard [8*d0 + d4] in 0..13 %5, %4 : pred\n"
      "     %13 = guard [8*d1 + d5] in 0..10 %12, %4 : pred\n"
      "     %14 = atomic add [8*d0 + d4, 8*d1 + d5] mask %1, %11, %13 : f32\n"
      "    }\n   }\n  }\n }\n}\n",
      "kernel lines version 3 {\n buffer f32[50]\n buffer f32[3, 20] out\n"
      " %0 = reference 1 : f32[3, 20]\n parallel d0 = 0..3 by 1 {\n  for d1 = 0..20 by 16 {\n"
      "   %1 = load 0 [-4 + 20*d0 + d1] : f32\n   ref_store [d0, d1] %0, %1\n  }\n }\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_parsed(&arena, texts[i]));
  }
}

// Products of every kind of sums; sizes that no register divides.
static void products(void** unused) {
  (void)unused;
  static const char* const types[][2] = {
      {"f32", "f32"}, {"bf16", "f32"}, {"f16", "f32"}, {"s8", "s32"}, {"s32", "s32"}};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    const char *of = types[i][0], *to = types[i][1];
    compare(hlo_test_parsed(
        &arena, hlo_arena_printf(&arena,
                                 "kernel product version 3 {\n buffer %s[5, 11]\n"
                                 " buffer %s[11, 37]\n buffer %s[5, 37] out\n"
                                 " %%0 = reference 0 : %s[5, 11]\n %%1 = reference 1 : %s[11, 37]\n"
                                 " %%2 = reference 2 : %s[5, 37]\n mma [1] x [0] %%2, %%0, %%1\n"
                                 "}\n",
                                 of, of, to, of, of, to)));
  }
}

// Sums over every set of dimensions of a tile of three, none of which a register divides.
static void reductions(void** unused) {
  (void)unused;
  enum { DIMS = 3 };
  static const int64_t extents[DIMS] = {3, 5, 21}, strides[DIMS] = {105, 21, 1};
  for (uint32_t set = 1; set < 1u << DIMS; ++set) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    HLO_SCOPED_STRBUF offset = {0};
    int64_t stride = 1;
    hlo_strbuf_puts(&text, "kernel sums version 1 {\nbuffer f32[315]\nbuffer f32[315] out\n");
    hlo_strbuf_puts(&offset, "0");
    for (uint32_t i = 0; i < DIMS; ++i) {
      if (set >> i & 1) continue;
      hlo_strbuf_printf(&text, "for d%u = 0..%d by 8 {\n", i, (int)extents[i]);
      hlo_strbuf_printf(&offset, " + %d*d%u", (int)stride, i);
      stride *= extents[i];
    }
    hlo_strbuf_puts(&text, "%1 = reduce add over ");
    for (uint32_t i = 0, count = 0; i < DIMS; ++i) {
      if (!(set >> i & 1)) continue;
      hlo_strbuf_printf(&text, "%sd%u = 0..%d by 8", count++ ? ", " : "", i, (int)extents[i]);
    }
    hlo_strbuf_printf(&text, " : f32 {\n%%0 = load 0 [%d*d0 + %d*d1 + d2] : f32\nyield %%0\n}\n",
                      (int)strides[0], (int)strides[1]);
    hlo_strbuf_printf(&text, "store 1 [%s] %%1\n", hlo_strbuf_text(&offset));
    for (uint32_t i = 0; i < DIMS; ++i) hlo_strbuf_puts(&text, set >> i & 1 ? "" : "}\n");
    hlo_strbuf_puts(&text, "}\n");
    compare(hlo_test_parsed(&arena, hlo_strbuf_text(&text)));
  }
}

// A grid of five dimensions, of which the two inner ones run in order, visits every index once:
// ticket numbers count within a block.
static void grids(void** unused) {
  (void)unused;
  enum { ALL = 2 * 3 * 2 * 5 * 4, INNER = 5 * 4 };
  HLO_SCOPED_ARENA arena = {0};
  const hlo_tile_kernel_t* kernel = hlo_test_parsed(
      &arena,
      "kernel grid version 3 {\n buffer s32[240] out\n buffer s32[240] out\n"
      " %0 = reference 0 : s32[240]\n %1 = constant 0x00000001 : s32\n"
      " %2 = constant 0x00000000 : s32\n parallel d0 = 0..2 by 1 grid {\n"
      "  parallel d1 = 1..4 by 1 grid {\n   parallel d2 = 0..2 by 1 grid {\n"
      "    %3 = alloc near : s32[1]\n    ref_store [0] %3, %2\n    for d3 = 0..5 by 1 grid {\n"
      "     for d4 = 2..6 by 1 grid {\n      %4 = program_id 0 : s32\n"
      "      %5 = program_id 1 : s32\n      %6 = program_id 2 : s32\n"
      "      %7 = program_id 3 : s32\n      %8 = program_id 4 : s32\n"
      "      %9 = atomic add [120*clamp(%4, 0, 1) + 40*clamp(%5, 0, 2) + 20*clamp(%6, 0, 1) + "
      "4*clamp(%7, 0, 4) + clamp(%8, 0, 3)] %0, %1 : s32\n"
      "      %10 = atomic add [0] %3, %1 : s32\n"
      "      store 1 [-42 + 120*d0 + 40*d1 + 20*d2 + 4*d3 + d4] %10\n     }\n    }\n   }\n  }\n"
      " }\n}\n");
  static int32_t visits[ALL], tickets[ALL];
  void* const buffers[] = {visits, tickets};
  HLO_SCOPED_STRBUF lines = {0};
  hlo_target_t target;
  check(hlo_target_find("avx2", true, &target), kernel);
  run_lowered(kernel, &target, buffers, &lines);
  for (int i = 0; i < ALL; ++i) {
    assert_int_equal(visits[i], 1);
    assert_int_equal(tickets[i], i % INNER);
  }
  compare(kernel);
}

// ---- parts of parts of references

// A reference, and the numbers of the buffer's elements that it holds.
typedef struct part {
  uint32_t rank;
  int64_t dims[HLO_TILE_MAX_RANK];
  int64_t count, elements[120];
} part_t;

static void index_of(const part_t* part, int64_t at, int64_t index[HLO_TILE_MAX_RANK]) {
  for (uint32_t i = part->rank; i-- > 0; at /= part->dims[i]) index[i] = at % part->dims[i];
}

static int64_t element_at(const part_t* part, const int64_t index[HLO_TILE_MAX_RANK]) {
  int64_t at = 0;
  for (uint32_t i = 0; i < part->rank; ++i) at = at * part->dims[i] + index[i];
  return part->elements[at];
}

static void put_list(hlo_strbuf_t* text, const char* before, uint32_t count,
                     const int64_t* numbers) {
  hlo_strbuf_printf(text, "%s[", before);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(text, "%s%d", i ? ", " : "", (int)numbers[i]);
  }
  hlo_strbuf_puts(text, "]");
}

static part_t sliced(hlo_tile_maker_t* m, const part_t* from, hlo_strbuf_t* text) {
  part_t to = {.rank = from->rank};
  int64_t starts[HLO_TILE_MAX_RANK], strides[HLO_TILE_MAX_RANK];
  to.count = 1;
  for (uint32_t i = 0; i < from->rank; ++i) {
    strides[i] = 1 + hlo_test_below(m, 2);
    to.dims[i] = 1 + hlo_test_below(m, (uint32_t)((from->dims[i] - 1) / strides[i] + 1));
    const int64_t reach = (to.dims[i] - 1) * strides[i];
    starts[i] = hlo_test_below(m, (uint32_t)(from->dims[i] - reach));
    to.count *= to.dims[i];
  }
  for (int64_t n = 0; n < to.count; ++n) {
    int64_t index[HLO_TILE_MAX_RANK];
    index_of(&to, n, index);
    for (uint32_t i = 0; i < to.rank; ++i) index[i] = starts[i] + index[i] * strides[i];
    to.elements[n] = element_at(from, index);
  }
  put_list(text, "slice ", to.rank, starts);
  put_list(text, " sizes ", to.rank, to.dims);
  put_list(text, " strides ", to.rank, strides);
  if (to.rank > 1 && to.dims[0] == 1) {  // its first dimension is dropped
    hlo_strbuf_puts(text, " squeeze [0]");
    memmove(to.dims, to.dims + 1, --to.rank * sizeof *to.dims);
  }
  return to;
}

static part_t transposed(hlo_tile_maker_t* m, const part_t* from, hlo_strbuf_t* text) {
  part_t to = {.rank = from->rank, .count = from->count};
  int64_t permutation[HLO_TILE_MAX_RANK];
  for (uint32_t i = 0; i < from->rank; ++i) permutation[i] = i;
  for (uint32_t i = from->rank; i-- > 1;) {
    const uint32_t other = hlo_test_below(m, i + 1);
    const int64_t kept = permutation[i];
    permutation[i] = permutation[other];
    permutation[other] = kept;
  }
  for (uint32_t i = 0; i < to.rank; ++i) to.dims[i] = from->dims[permutation[i]];
  for (int64_t n = 0; n < to.count; ++n) {
    int64_t index[HLO_TILE_MAX_RANK], origin[HLO_TILE_MAX_RANK];
    index_of(&to, n, index);
    for (uint32_t i = 0; i < to.rank; ++i) origin[permutation[i]] = index[i];
    to.elements[n] = element_at(from, origin);
  }
  put_list(text, "transpose ", to.rank, permutation);
  return to;
}

static bool is_contiguous(const part_t* part) {
  for (int64_t n = 0; n < part->count; ++n) {
    if (part->elements[n] != part->elements[0] + n) return false;
  }
  return true;
}

static part_t reshaped(const part_t* from, hlo_strbuf_t* text) {
  part_t to = *from;
  to.rank = 1;
  to.dims[0] = from->count;
  if (from->count % 2 == 0) {
    to.rank = 2;
    to.dims[0] = 2;
    to.dims[1] = from->count / 2;
  }
  hlo_strbuf_puts(text, "reshape");
  return to;
}

// Any chain of parts, orders and shapes leads to the elements that each step alone says.
static void chains_of_references(void** unused) {
  (void)unused;
  enum { CHAINS = 60, STEPS = 4, ALL = 120 };
  hlo_tile_maker_t m = {.random = 5};
  for (int chain = 0; chain < CHAINS; ++chain) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF text = {0};
    part_t part = {.rank = 3, .dims = {4, 6, 5}, .count = ALL};
    for (int i = 0; i < ALL; ++i) part.elements[i] = i;
    hlo_strbuf_puts(&text,
                    "kernel chain version 3 {\nbuffer f32[4, 6, 5]\nbuffer f32[120] out\n"
                    "%0 = reference 0 : f32[4, 6, 5]\n");
    for (int step = 1; step <= STEPS; ++step) {
      const uint32_t kind = hlo_test_below(&m, 3);
      hlo_strbuf_printf(&text, "%%%d = ", step);
      part = kind == 0                           ? sliced(&m, &part, &text)
             : kind == 1 && is_contiguous(&part) ? reshaped(&part, &text)
                                                 : transposed(&m, &part, &text);
      hlo_strbuf_printf(&text, " %%%d : f32", step - 1);
      put_list(&text, "", part.rank, part.dims);
      hlo_strbuf_puts(&text, "\n");
    }
    hlo_strbuf_printf(&text, "for d0 = 0..%d by 16 {\n%%9 = ref_load [", (int)part.count);
    int64_t stride = part.count;
    for (uint32_t i = 0; i < part.rank; ++i) {
      stride /= part.dims[i];
      hlo_strbuf_printf(&text, "%s((d0 div %d) mod %d)", i ? ", " : "", (int)stride,
                        (int)part.dims[i]);
    }
    hlo_strbuf_printf(&text, "] %%%d : f32\nstore 1 [d0] %%9\n}\n}\n", STEPS);
    const hlo_tile_kernel_t* kernel = hlo_test_parsed(&arena, hlo_strbuf_text(&text));
    float in[ALL], out[ALL] = {0};
    void* const buffers[] = {in, out};
    for (int i = 0; i < ALL; ++i) in[i] = (float)i;
    check(hlo_tile_kernel_run(kernel, &MEANING, buffers), kernel);
    for (int64_t n = 0; n < part.count; ++n) {
      assert_float_equal(out[n], (float)part.elements[n], 0);
    }
    compare(kernel);
  }
}

// ---- transposes

// Nests whose loads are adjacent along the one loop, stores along the other one: along either; with
// loads of rows, columns and single elements, sums in place, a batch around; with extents that no
// square divides; with positions that no square has.
static void transposes(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel outer version 1 {\n buffer f32[903]\n buffer f32[903]\n buffer f32[903] out\n"
      " parallel d0 = 0..43 by 16 {\n  %0 = load 1 [d0] : f32\n  for d1 = 0..21 by 8 {\n"
      "   %1 = load 0 [21*d0 + d1] : f32\n   %2 = load 1 [21*d0 + d1] : f32\n"
      "   %3 = load 1 [43*d1 + d0] : f32\n   %4 = load 1 [d1] : f32\n"
      "   %5 = map add %0, %1 : f32\n   %6 = map subtract %5, %2 : f32\n"
      "   %7 = map multiply %6, %4 : f32\n   %8 = map maximum %7, %3 : f32\n"
      "   store 2 [43*d1 + d0] %8\n  }\n }\n}\n",
      "kernel inner version 1 {\n buffer f32[1300]\n buffer f32[8]\n buffer f32[1300] out\n"
      " %9 = load 1 [0] : f32\n"
      " parallel d0 = 3..36 by 1 {\n  for d1 = 2..37 by 4 {\n"
      "   %1 = load 0 [36*d1 + d0] : f32\n   %2 = load 2 [1 + 36*d0 + d1] : f32\n"
      "   %3 = map add %1, %2 : f32\n   %4 = map add %3, %9 : f32\n"
      "   store 2 [1 + 36*d0 + d1] %4\n  }\n }\n}\n",
      "kernel batch version 3 {\n buffer f32[3, 17, 20]\n buffer f32[3, 20, 17] out\n"
      " %0 = reference 0 : f32[3, 17, 20]\n %1 = reference 1 : f32[3, 20, 17]\n"
      " parallel d0 = 0..3 by 1 {\n"
      "  %2 = slice [d0, 0, 0] sizes [1, 17, 20] squeeze [0] %0 : f32[17, 20]\n"
      "  %3 = slice [d0, 0, 0] sizes [1, 20, 17] squeeze [0] %1 : f32[20, 17]\n"
      "  for d1 = 0..20 by 4 {\n   %4 = transpose [1, 0] %2 : f32[20, 17]\n"
      "   for d2 = 0..17 by 4 {\n    %5 = ref_load [d1, d2] %4 : f32\n"
      "    ref_store [d1, d2] %3, %5\n   }\n  }\n }\n}\n",
      "kernel apart version 1 {\n buffer f32[600]\n buffer s32[64]\n buffer f32[600] out\n"
      " parallel d0 = 0..20 by 8 {\n  for d1 = 0..24 by 8 {\n"
      "   %0 = load 1 [d1] : s32\n   %1 = load 0 [20*d1 + d0 + clamp(%0, 0, 3)] : f32\n"
      "   store 2 [24*d0 + d1] %1\n  }\n }\n}\n",
      "kernel split version 1 {\n buffer f32[600]\n buffer s32[64]\n buffer f32[600] out\n"
      " parallel d0 = 0..20 by 8 {\n  for d1 = 0..24 by 8 {\n"
      "   %1 = load 0 [40*(d1 div 2) + (d1 mod 2) + d0] : f32\n"
      "   store 2 [24*d0 + d1] %1\n  }\n }\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_parsed(&arena, texts[i]));
  }
}

// Tiles that are copied to memory where their dimensions are in another order, and loaded back
// step by step, are the same: for every width of elements, with dimensions of size 1, of one
// dimension.
static void copies_and_back(void** unused) {
  (void)unused;
  enum { MAX_RANK = 3 };
  static const char* const dtypes[] = {"s4",   "f4e2m1fn", "f8e4m3fn", "f8e5m2", "u8",
                                       "bf16", "f16",      "f32",      "s32",    "f64"};
  static const struct {
    uint32_t rank;
    int64_t dims[MAX_RANK], order[MAX_RANK], back[MAX_RANK];
  } shapes[] = {{1, {37}, {0}, {0}},
                {2, {1, 21}, {1, 0}, {1, 0}},
                {2, {18, 35}, {1, 0}, {1, 0}},
                {3, {5, 1, 17}, {2, 0, 1}, {1, 2, 0}},
                {3, {2, 17, 6}, {0, 2, 1}, {0, 2, 1}}};
  static const int64_t steps[] = {1, 4, 16};
  for (size_t n = 0; n < sizeof dtypes / sizeof *dtypes; ++n) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
      HLO_SCOPED_ARENA arena = {0};
      HLO_SCOPED_STRBUF text = {0};
      const uint32_t rank = shapes[s].rank;
      int64_t swapped[MAX_RANK];
      for (uint32_t i = 0; i < rank; ++i) swapped[i] = shapes[s].dims[shapes[s].order[i]];
      const char* lines[] = {
          "kernel same version 3 {\nbuffer ", "\nbuffer ",
          " out\n%0 = reference 0 : ", "\n%1 = alloc near : ", "\n%2 = transpose"};
      for (uint32_t i = 0; i < 4; ++i) {
        hlo_strbuf_printf(&text, "%s%s", lines[i], dtypes[n]);
        put_list(&text, "", rank, i == 3 ? swapped : shapes[s].dims);
      }
      put_list(&text, lines[4], rank, shapes[s].order);
      hlo_strbuf_printf(&text, " %%0 : %s", dtypes[n]);
      put_list(&text, "", rank, swapped);
      put_list(&text, "\ncopy %2, %1\n%3 = transpose", rank, shapes[s].back);
      hlo_strbuf_printf(&text, " %%1 : %s", dtypes[n]);
      put_list(&text, "", rank, shapes[s].dims);
      hlo_strbuf_printf(&text, "\n%%4 = reference 1 : %s", dtypes[n]);
      put_list(&text, "", rank, shapes[s].dims);
      for (uint32_t i = 0; i < rank; ++i) {
        hlo_strbuf_printf(&text, "\nfor d%u = 0..%d by %d {", i, (int)shapes[s].dims[i],
                          (int)steps[(n + s + i) % 3]);
      }
      const char* at = rank == 1 ? "[d0]" : rank == 2 ? "[d0, d1]" : "[d0, d1, d2]";
      hlo_strbuf_printf(&text, "\n%%5 = ref_load %s %%3 : %s\nref_store %s %%4, %%5", at, dtypes[n],
                        at);
      for (uint32_t i = 0; i < rank; ++i) hlo_strbuf_puts(&text, "\n}");
      hlo_strbuf_puts(&text, "\n}\n");
      expect_copy(hlo_test_parsed(&arena, hlo_strbuf_text(&text)));
    }
  }
}

// Updates of every kind and of several types, with masks, outside, in branches; whose results are
// used; of scratch memory that phases share.
static void atomics(void** unused) {
  (void)unused;
  static const char* const texts[] = {
      "kernel sums version 3 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[8] out\n"
      " buffer s32[8] out\n %0 = reference 2 : f32[8]\n %1 = reference 3 : s32[8]\n"
      " parallel d0 = 0..64 by 16 {\n  %2 = load 0 [d0] : f32\n  %3 = load 1 [d0] : s32\n"
      "  %4 = atomic add [(clamp(%3, 0, 9) mod 8)] %0, %2 : f32\n"
      "  %5 = atomic add [(d0 mod 8)] %1, %3 : s32\n }\n}\n",
      "kernel extremes version 3 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[8] out\n"
      " buffer s32[8] out\n %0 = reference 2 : f32[8]\n %1 = reference 3 : s32[8]\n"
      " parallel d0 = 0..64 by 16 {\n  %2 = load 0 [d0] : f32\n  %3 = load 1 [d0] : s32\n"
      "  %4 = constant 0x40000000 : f32\n  %5 = map compare LT %2, %4 : pred\n"
      "  %6 = atomic max [(d0 mod 8)] mask %0, %2, %5 : f32\n"
      "  if %5 {\n   %7 = atomic min [(d0 mod 8)] %1, %3 : s32\n  }\n }\n}\n",
      "kernel order version 3 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " buffer s32[4] out\n %0 = reference 2 : f32[64]\n %1 = reference 3 : s32[4]\n"
      " %2 = constant 0x00000001 : s32\n parallel d0 = 0..64 by 16 {\n"
      "  %3 = load 1 [d0] : s32\n  %4 = atomic exchange [0] %1, %3 : s32\n"
      "  %5 = atomic compare_exchange [1] %1, %4, %3 : s32\n"
      "  %6 = index [clamp(%5, -5, 9)] : f32\n  ref_store [d0] %0, %6\n }\n}\n",
      "kernel bytes version 3 {\n buffer s8[40]\n buffer bf16[40]\n buffer s8[4] out\n"
      " buffer bf16[4] out\n %0 = reference 2 : s8[4]\n %1 = reference 3 : bf16[4]\n"
      " for d0 = 0..40 by 16 {\n  %2 = load 0 [d0] : s8\n  %3 = load 1 [d0] : bf16\n"
      "  %4 = atomic exchange [(d0 mod 4)] %0, %2 : s8\n"
      "  %5 = atomic exchange [(3*d0 mod 4)] %1, %3 : bf16\n }\n}\n",
      "kernel truth version 3 {\n buffer pred[8] out\n buffer f64[8] out\n"
      " %0 = reference 0 : pred[8]\n %1 = constant 0x01 : pred\n %2 = reference 1 : f64[8]\n"
      " %7 = atomic max [5] %0, %1 : pred\n %3 = atomic exchange [3] %0, %1 : pred\n %4 = index "
      "[7] : f64\n"
      " %5 = atomic exchange [4] %2, %4 : f64\n %6 = atomic compare_exchange [2] %2, %5, %4 : f64\n"
      "}\n",
      "kernel scratch version 3 {\n buffer f32[64]\n buffer s32[64]\n buffer s32[8] out\n"
      " %0 = alloc near : s32[8]\n %1 = constant 0x00000000 : s32\n %2 = reference 2 : s32[8]\n"
      " for d0 = 0..8 by 8 {\n  ref_store [d0] %0, %1\n }\n parallel d1 = 0..64 by 8 {\n"
      "  %3 = load 1 [d1] : s32\n  %4 = atomic add [(d1 div 8)] %0, %3 : s32\n }\n"
      " copy %0, %2\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    compare(hlo_test_parsed(&arena, texts[i]));
  }
}

static void phases_share_allocations(void** unused) {
  (void)unused;
  HLO_SCOPED_ARENA arena = {0};
  compare(hlo_test_parsed(
      &arena,
      "kernel shared version 3 {\n buffer f32[64]\n buffer f32[64] out\n buffer f32[8] out\n"
      " %0 = alloc near : f32[64]\n for d0 = 0..64 by 16 {\n  %1 = load 0 [d0] : f32\n"
      "  ref_store [d0] %0, %1\n }\n for d1 = 0..8 by 8 {\n  %2 = index [d1] : f32\n"
      "  store 2 [d1] %2\n }\n parallel d2 = 0..64 by 16 {\n  %3 = ref_load [63 + -1*d2] %0 : f32\n"
      "  store 1 [d2] %3\n }\n}\n"));
}

static void prints(void** unused) {
  (void)unused;
  HLO_SCOPED_ARENA arena = {0};
  compare(hlo_test_parsed(
      &arena,
      "kernel shown version 3 {\n buffer f32[64]\n buffer s32[64]\n buffer f32[64] out\n"
      " parallel d0 = 0..3 by 1 {\n  %0 = index [d0] : s32\n  print \"row\" %0\n"
      "  for d1 = 0..10 by 4 {\n   %1 = load 0 [10*d0 + d1] : f32\n   store 2 [10*d0 + d1] %1\n"
      "   print \"both\" %1, %0\n  }\n }\n for d2 = 0..6 by 2 {\n  for d3 = 0..3 by 8 {\n"
      "   %2 = load 1 [d2 + 6*d3] : s32\n   print \"columns\" %2\n  }\n }\n print \"end\"\n}\n"));
}

// Iterations in the interpreter of vector IR, so that tools that find races see all accesses.
static void threads(void** unused) {
  (void)unused;
  HLO_SCOPED_ARENA arena = {0};
  compare(hlo_test_parsed(
      &arena,
      "kernel ring version 3 {\n buffer f32[64]\n buffer f32[64] out\n"
      " %0 = alloc near : f32[2, 4]\n %1 = alloc barrier arrivals 4 : s32[1]\n"
      " %2 = reference 1 : f32[64]\n parallel d0 = 0..4 by 1 {\n  %3 = load 0 [d0] : f32\n"
      "  ref_store [0, d0] %0, %3\n  barrier_arrive %1\n  barrier_wait [0] %1\n"
      "  for d1 = 0..6 by 1 {\n   %4 = ref_load [(d1 mod 2), (1 + d0 mod 4)] %0 : f32\n"
      "   %5 = ref_load [(d1 mod 2), (3 + d0 mod 4)] %0 : f32\n   %6 = map add %4, %5 : f32\n"
      "   ref_store [(1 + d1 mod 2), d0] %0, %6\n   barrier_arrive %1\n"
      "   barrier_wait [1 + d1] %1\n   ref_store [4*d1 + d0] %2, %6\n  }\n }\n}\n"));
  compare(hlo_test_parsed(
      &arena,
      "kernel handed version 3 {\n buffer s32[64]\n buffer s32[1] out\n %0 = alloc near : s32[1]\n"
      " %1 = alloc semaphore : s32[1]\n %2 = alloc semaphore : s32[1]\n"
      " %3 = reference 1 : s32[1]\n semaphore_signal 1 %2\n parallel d0 = 0..2 by 1 {\n"
      "  %4 = index [d0] : s32\n  switch %4 {\n   for d1 = 0..50 by 1 {\n"
      "    semaphore_wait 1 %2\n    %5 = load 0 [d1] : s32\n    ref_store [0] %0, %5\n"
      "    semaphore_signal 1 %1\n   }\n  } {\n   for d2 = 0..50 by 1 {\n"
      "    semaphore_wait 1 %1\n    %6 = ref_load [0] %0 : s32\n    %7 = ref_load [0] %3 : s32\n"
      "    %8 = map add %6, %7 : s32\n    ref_store [0] %3, %8\n    semaphore_signal 1 %2\n   }\n"
      "   semaphore_wait 1 %2\n  }\n }\n}\n"));
}

static void refused(void** unused) {
  (void)unused;
  static const char* const texts[][2] = {
      {"kernel shifted version 1 {\n buffer f32[64] out\n for d0 = 0..60 by 4 {\n"
       "  %0 = load 0 [d0] : f32\n  store 0 [d0 + 1] %0\n }\n}\n",
       "machine code for shifted: store: other elements of its memory are accessed in the same "
       "tile"},
      {"kernel large version 3 {\n buffer f32[1] out\n %0 = alloc near : f32[1000000]\n}\n",
       "machine code for large: alloc: the allocations of its function take more than 56 KiB"},
      {"kernel two version 3 {\n buffer f32[1] out\n %0 = alloc near : f32[8000]\n"
       " for d0 = 0..2 by 1 {\n  %1 = alloc near : f32[8000]\n }\n}\n",
       "machine code for two: alloc: the allocations of its function take more than 56 KiB"},
      {"kernel overlap version 3 {\n buffer f32[40] out\n %0 = reference 0 : f32[40]\n"
       " %1 = slice [0] sizes [39] %0 : f32[39]\n %2 = slice [1] sizes [39] %0 : f32[39]\n"
       " copy %1, %2\n}\n",
       "machine code for overlap: copy: its references may have elements in common"},
      {"kernel many version 3 {\n buffer f32[1] out\n %0 = alloc semaphore : s32[1]\n"
       " parallel d0 = 0..257 by 1 {\n  semaphore_wait 1 %0\n }\n}\n",
       "machine code for many: parallel: more than 256 of its iterations wait for each other"},
      {"kernel summed version 3 {\n buffer f32[8] out\n %0 = reference 0 : f32[8]\n"
       " %1 = reduce add over d0 = 0..8 by 8 : f32 {\n  %2 = index [d0] : f32\n"
       "  %3 = atomic add [0] %0, %2 : f32\n  yield %3\n }\n store 0 [0] %1\n}\n",
       "machine code for summed: atomic: it is inside of a reduction"},
      {"kernel read version 3 {\n buffer s32[8] out\n %0 = reference 0 : s32[8]\n"
       " for d0 = 0..8 by 8 {\n  %1 = index [d0] : s32\n  %2 = atomic add [0] %0, %1 : s32\n"
       "  %3 = ref_load [0] %0 : s32\n  ref_store [d0] %0, %3\n }\n}\n",
       "machine code for read: atomic: other elements of its memory are accessed in the same tile"},
      {"kernel tickets version 3 {\n buffer s32[8] out\n %0 = reference 0 : s32[8]\n"
       " for d0 = 0..8 by 4 {\n  for d1 = 0..8 by 4 {\n   %1 = index [d0 + d1] : s32\n"
       "   %2 = atomic exchange [0] %0, %1 : s32\n  }\n }\n}\n",
       "machine code for tickets: atomic: its tile is not visited in order"},
      {"kernel shown version 3 {\n buffer s32[8] out\n for d0 = 0..8 by 4 {\n"
       "  for d1 = 0..2 by 1 {\n   %0 = index [d0] : s32\n   print \"inside\" %0\n  }\n }\n}\n",
       "machine code for shown: print: its tile is not visited in order"},
      {"kernel pairs version 1 {\n buffer c64[64]\n buffer c64[64] out\n %0 = load 0 [3] : c64\n"
       " store 1 [3] %0\n}\n",
       "machine code for pairs: load: registers do not hold its element type"},
  };
  hlo_target_t target;
  hlo_status_release(hlo_target_find("avx2", true, &target));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    hlo_status_t status = hlo_tile_check_lowering(hlo_test_parsed(&arena, texts[i][0]), &target);
    if (hlo_status_is_ok(status)) fail_msg("not refused: %s", texts[i][1]);
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
      cmocka_unit_test(every_type),
      cmocka_unit_test(copies_inside),
      cmocka_unit_test(edge_tiles),
      cmocka_unit_test(products),
      cmocka_unit_test(reductions),
      cmocka_unit_test(grids),
      cmocka_unit_test(chains_of_references),
      cmocka_unit_test(transposes),
      cmocka_unit_test(copies_and_back),
      cmocka_unit_test(atomics),
      cmocka_unit_test(phases_share_allocations),
      cmocka_unit_test(prints),
      cmocka_unit_test(threads),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests_name("codegen/tiles/lower", tests, NULL, NULL);
}
