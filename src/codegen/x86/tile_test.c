// SPDX-License-Identifier: Apache-2.0
// Tiles: single instructions against results written out here, and random functions of vector IR in
// machine code, C and the interpreter, whose bytes must be equal. Processors without AMX have it
// emulated (tests/codegen/amx_emulator.c); those without AVX-512 compare C with the interpreter.
#include "codegen/vir/tile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "amx_emulator.h"
#include "base/fpenv.h"
#include "base/os.h"
#include "base/program_abi.h"
#include "base/test_util.h"
#include "codegen/c/build.h"
#include "codegen/jit/jit.h"
#include "codegen/vir/builder.h"
#include "codegen/vir/interp.h"
#include "codegen/x86/asm.h"
#include "codegen/x86/x86_test_util.h"

enum { MEMORY_BYTES = 1 << 16, FUNC_COUNT = 24, ROW_BYTES = HLO_VIR_TILE_ROW_BYTES };

typedef struct fixture {
  char cache[256];
  bool has_tiles;
  hlo_target_t target;
  hlo_vir_module_t* module;
  uint8_t expected[MEMORY_BYTES], found[MEMORY_BYTES];
} fixture_t;

static int setup(void** state) {
  fixture_t* t = calloc(1, sizeof *t);
  hlo_cpu_t cpu;
  assert_true(hlo_status_is_ok(hlo_os_directory_create_temporary(NULL, t->cache, sizeof t->cache)));
  assert_true(hlo_status_is_ok(hlo_cpu_detect(NULL, &cpu)));
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&t->module)));
  hlo_target_init(&cpu, &t->target);
  t->has_tiles = cpu.level >= HLO_CPU_LEVEL_AMX;
  *state = t;
  return 0;
}

static int teardown(void** state) {
  fixture_t* t = *state;
  hlo_test_remove_folder(t->cache);
  hlo_vir_module_release(t->module);
  free(t);
  return 0;
}

// ---- single instructions

typedef void (*routine_t)(uint8_t* memory, int64_t step);

// Code for memory in rdi and a step in rsi, run once.
static void run_code(hlo_x86_asm_t* as, uint8_t* memory, int64_t step) {
  hlo_x86_bare(as, HLO_X86_ret);
  assert_true(hlo_status_is_ok(hlo_x86_asm_finish(as)));
  void* page;
  assert_true(hlo_status_is_ok(hlo_os_pages_map(hlo_os_page_bytes(), false, &page)));
  memcpy(page, as->bytes, as->size_bytes);
  assert_true(hlo_status_is_ok(
      hlo_os_pages_protect(page, hlo_os_page_bytes(), HLO_OS_ACCESS_READ | HLO_OS_ACCESS_EXECUTE)));
  routine_t routine;
  memcpy(&routine, &page, sizeof page);
  routine(memory, step);
  hlo_os_pages_unmap(page, hlo_os_page_bytes());
  hlo_x86_asm_deinit(as);
}

static hlo_x86_rm_t rows_at(int32_t offset) {
  return hlo_x86_mem_index(HLO_X86_RDI, HLO_X86_RSI, 0, offset);
}

enum { CONFIG = 0, SUM = 128, A = 1152, B = 2176, RESULT = 3200, STEP = 64 };

// A configuration of three tiles: [rows, 16] = [rows, k groups] x [k groups, 16].
static void put_config(uint8_t* config, uint8_t rows, uint8_t groups) {
  const uint8_t tile_rows[] = {rows, rows, groups};
  const uint8_t row_bytes[] = {ROW_BYTES, (uint8_t)(4 * groups), ROW_BYTES};
  memset(config, 0, 64);
  config[0] = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    config[16 + 2 * i] = row_bytes[i];
    config[48 + i] = tile_rows[i];
  }
}

static void multiply(hlo_x86_insn_t insn, uint8_t* memory) {
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, UINT64_MAX);
  hlo_x86_vv(&as, HLO_X86_ldtilecfg, 16, 0, hlo_x86_mem(HLO_X86_RDI, CONFIG), 0);
  hlo_x86_vv(&as, HLO_X86_tileloadd, 16, 0, rows_at(SUM), 0);
  hlo_x86_vv(&as, HLO_X86_tileloadd, 16, 1, rows_at(A), 0);
  hlo_x86_vv(&as, HLO_X86_tileloadd, 16, 2, rows_at(B), 0);
  hlo_x86_vvv(&as, insn, 16, 0, 2, hlo_x86_reg(1), 0);
  hlo_x86_vv(&as, HLO_X86_tilestored, 16, 0, rows_at(RESULT), 0);
  hlo_x86_vv(&as, HLO_X86_tilezero, 16, 1, hlo_x86_reg(0), 0);
  hlo_x86_vv(&as, HLO_X86_tilestored, 16, 1, rows_at(A), 0);
  hlo_x86_bare(&as, HLO_X86_tilerelease);
  run_code(&as, memory, STEP);
}

static void bytes_have_the_signs_of_the_instruction(void** state) {
  fixture_t* t = *state;
  amx_emulator_install();
  static const struct {
    hlo_x86_insn_t insn;
    int32_t expected;  // 5 + 0xff * 0xfe + 1 * 2
  } kCases[] = {{HLO_X86_tdpbssd, 5 + 2 + 2},
                {HLO_X86_tdpbsud, 5 - 0xfe + 2},
                {HLO_X86_tdpbusd, 5 - 2 * 0xff + 2},
                {HLO_X86_tdpbuud, 5 + 0xff * 0xfe + 2}};
  if (!t->has_tiles) return;
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    uint8_t* m = t->found;
    memset(m, 0, MEMORY_BYTES);
    put_config(m + CONFIG, 2, 3);
    m[SUM + STEP + 4 * 7] = 5;  // row 1, column 7
    m[A + STEP + 4 * 2 + 1] = 0xff, m[A + STEP] = 1;
    m[B + 2 * STEP + 4 * 7 + 1] = 0xfe, m[B + 4 * 7] = 2;
    multiply(kCases[i].insn, m);
    int32_t found[2 * 16], expected[2 * 16] = {[16 + 7] = kCases[i].expected};
    memcpy(found, m + RESULT, sizeof found);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(m[A + STEP + 4 * 2 + 1], 0);  // was made zero,
    m[A + STEP + 12] = 1;                          // and rows are 12 bytes long
  }
}

static void put_half(uint8_t* at, float value, bool is_f16) {
  uint16_t bits = is_f16 ? hlo_f32_to_f16(value) : hlo_f32_to_bf16(value);
  memcpy(at, &bits, sizeof bits);
}

// One sum of a row of A and a column of B.
static float sum_of(fixture_t* t, bool is_f16, float first, const float* a, const float* b,
                    uint32_t count) {
  uint8_t* m = t->found;
  memset(m, 0, MEMORY_BYTES);
  put_config(m + CONFIG, 1, (uint8_t)((count + 1) / 2));
  memcpy(m + SUM, &first, sizeof first);
  for (uint32_t k = 0; k < count; ++k) {
    put_half(m + A + 2 * k, a[k], is_f16);
    put_half(m + B + STEP * (k / 2) + 2 * (k % 2), b[k], is_f16);
  }
  multiply(is_f16 ? HLO_X86_tdpfp16ps : HLO_X86_tdpbf16ps, m);
  memcpy(&first, m + RESULT, sizeof first);
  return first;
}

#define SUM_OF(is_f16, first, a, b) \
  sum_of(t, is_f16, first, (const float[])a, (const float[])b, sizeof((float[])a) / sizeof(float))
#define LIST(...) \
  { __VA_ARGS__ }

static void halves_are_summed_in_their_order(void** state) {
  fixture_t* t = *state;
  amx_emulator_install();
  bool has_f16 = hlo_cpu_has(&t->target.cpu, HLO_CPU_AMX_FP16);
  if (!t->has_tiles) return;
  for (uint32_t is_f16 = 0; is_f16 <= has_f16; ++is_f16) {
    assert_true(SUM_OF(is_f16, 3, LIST(1, 2, 3), LIST(4, 5, 6)) == 35);
    // Even and odd ones apart: 2^24 + 1 - 2^24 is 0 in each, where in one row it would be 1 at
    // most.
    assert_true(SUM_OF(is_f16, 0, LIST(0x1p12f, 1, 1, 1, 0x1p12f, 1),
                       LIST(0x1p12f, 1, 1, 1, -0x1p12f, 1)) == 3);
    // From zero on, then added: a large first value takes a sum as a whole.
    assert_true(SUM_OF(is_f16, 0x1p24f, LIST(1, 1), LIST(1, 1)) == 0x1p24f + 2);
  }
  // Subnormal bf16 are zeros, and so is a subnormal sum, or what is added to.
  assert_true(SUM_OF(false, 0, LIST(0x1p-130f), LIST(0x1p20f)) == 0);
  assert_true(SUM_OF(false, 0, LIST(0x1p-70f), LIST(0x1p-60f)) == 0);
  assert_true(SUM_OF(false, 0x1p-130f, LIST(0x1p-126f), LIST(1)) == 0x1p-126f);
  // Subnormal f16 are numbers.
  if (has_f16) assert_true(SUM_OF(true, 0, LIST(0x1p-24f), LIST(2)) == 0x1p-23f);
}

// ---- random functions

typedef struct random {
  uint64_t state;
} random_t;

static uint32_t below(random_t* r, uint32_t count) {
  r->state = r->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)((r->state >> 33) % count);
}

static void tile_memory(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t tile, uint32_t rows,
                        hlo_vir_value_t* base, int64_t offset, hlo_vir_value_t* step) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), hlo_vir_tile_flags(tile, rows), offset, 2,
               (hlo_vir_value_t*[]){base, step});
}

static void plain(hlo_vir_builder_t* b, hlo_vir_opcode_t op, uint32_t flags, int64_t imm) {
  hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, imm, 0, NULL);
}

// Rows so far apart, both ways, that all of them are in the memory: its first half is read, its
// second one written.
static void random_access(hlo_vir_builder_t* b, random_t* r, hlo_vir_opcode_t op, uint32_t tile,
                          uint32_t rows, hlo_vir_value_t* moving) {
  const int64_t middle = MEMORY_BYTES / 4 * (op == HLO_VIR_tile_store ? 3 : 1), widest = 600;
  hlo_vir_value_t* step = hlo_vir_iconst(b, 2 * (int64_t)below(r, widest) - widest);
  hlo_vir_value_t* base = hlo_vir_param(b, 1);
  moving = hlo_vir_index(b, HLO_VIR_imul, moving, hlo_vir_iconst(b, 2));
  if (below(r, 2)) step = hlo_vir_index(b, HLO_VIR_iadd, step, moving);
  if (below(r, 2)) base = hlo_vir_index(b, HLO_VIR_iadd, base, moving);
  tile_memory(b, op, tile, rows, base, middle + 2 * below(r, 200), step);
}

// Sums in tiles 0 and 1, factors in 2 to 6.
static void random_func(hlo_vir_module_t* module, uint64_t seed, hlo_vir_tile_kind_t kind) {
  char name[32];
  snprintf(name, sizeof name, "seed_%d", (int)seed);
  hlo_vir_func_t* func = hlo_vir_func_create(module, name, 3, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  random_t r = {seed};
  for (uint32_t turn = 0; turn < 2; ++turn) {
    uint8_t left = (uint8_t)(1 + below(&r, 16)), right = (uint8_t)(1 + below(&r, 16));
    const uint8_t rows[HLO_VIR_TILE_COUNT] = {left, right, left, left, right, 16, 16, 0};
    plain(&b, HLO_VIR_tile_config, 0, hlo_vir_tile_config(rows));
    hlo_vir_value_t* at = hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), hlo_vir_iconst(&b, 3), 1, 0);
    for (uint32_t n = 0; n < 12; ++n) {
      uint32_t tile = below(&r, 7), side = below(&r, 2);
      uint32_t a = side ? 4 : 2 + below(&r, 2), factor = 5 + below(&r, 2);
      switch (below(&r, 6)) {
        case 0: plain(&b, HLO_VIR_tile_zero, 0, tile); break;
        case 1: random_access(&b, &r, HLO_VIR_tile_store, tile, rows[tile], at); break;
        case 2:
        case 3: random_access(&b, &r, HLO_VIR_tile_load, tile, rows[tile], at); break;
        default: plain(&b, HLO_VIR_tile_dot, kind, hlo_vir_tile_operands(side, a, factor));
      }
    }
    hlo_vir_end(&b);
    for (uint32_t tile = 0; tile < 2; ++tile) {
      random_access(&b, &r, HLO_VIR_tile_store, tile, rows[tile], hlo_vir_param(&b, 2));
    }
  }
  plain(&b, HLO_VIR_tile_release, 0, 0);
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
}

// No NaN, and infinities only by overflow: of several NaNs it is open which one is the result.
static void fill(uint8_t* memory, const hlo_vir_func_t* func) {
  hlo_vir_tile_kind_t kind = (hlo_vir_tile_kind_t)(func->index % HLO_VIR_TILE_KIND_COUNT);
  uint64_t seed = func->index;
  const uint16_t exponent = kind == HLO_VIR_TILE_F16 ? 0x7c00 : 0x7f80;
  for (uint32_t i = 0; i < MEMORY_BYTES; i += 2) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint16_t bits = (uint16_t)(seed >> 40);
    bool is_float = kind >= HLO_VIR_TILE_BF16;
    if (is_float && (bits & exponent) == exponent) bits &= (uint16_t) ~(exponent >> 1);
    memcpy(memory + i, &bits, sizeof bits);
  }
}

static hlo_frame_t make_frame(void** buffers) {
  return (hlo_frame_t){.buffers = buffers, .buffer_count = 1};
}

static void interpret(const hlo_vir_func_t* func, uint8_t* memory) {
  void* buffers[] = {memory};
  hlo_frame_t frame = make_frame(buffers);
  hlo_vir_range_t range = {memory, MEMORY_BYTES, true};
  hlo_vir_interp_options_t options = {.check_memory = true, .ranges = &range, .range_count = 1};
  uint64_t params[HLO_VIR_MAX_PARAMS] = {(uintptr_t)&frame, (uintptr_t)memory, 3};
  int32_t answer = HLO_PROGRAM_ERROR;
  hlo_status_t status = hlo_vir_interp_run(func, params, &options, &answer);
  assert_string_equal(hlo_status_message(status), "");
  assert_int_equal(answer, HLO_PROGRAM_DONE);
}

static void compare(fixture_t* t, const hlo_vir_func_t* func, void* code, const char* what) {
  fill(t->found, func);
  void* buffers[] = {t->found};
  hlo_frame_t frame = make_frame(buffers);
  hlo_program_chunk_t chunk;
  memcpy(&chunk, &code, sizeof chunk);
  assert_int_equal(chunk(&frame, t->found, 3), HLO_PROGRAM_DONE);
  for (uint32_t i = 0; i < MEMORY_BYTES; ++i) {
    if (t->expected[i] != t->found[i]) fail_msg("%s (%s): byte %u", func->name, what, i);
  }
}

static hlo_jit_t* load(const fixture_t* t, const hlo_vir_module_t* module,
                       const hlo_x86_limits_t* limits) {
  hlo_code_t code = {0};
  hlo_jit_t* jit;
  hlo_status_t status = hlo_x86_compile_limited(module, &t->target, limits, &code);
  assert_string_equal(hlo_status_message(status), "");
  assert_true(hlo_status_is_ok(hlo_jit_load(&code, "test", NULL, &jit)));
  hlo_code_deinit(&code);
  return jit;
}

static hlo_vir_tile_kind_t kind_of(uint32_t func) {
  return (hlo_vir_tile_kind_t)(func % HLO_VIR_TILE_KIND_COUNT);
}

// A processor may have tiles, but not the products of f16.
static bool has_kind(const fixture_t* t, hlo_vir_tile_kind_t kind) {
  return t->has_tiles &&
         (kind != HLO_VIR_TILE_F16 || hlo_cpu_has(&t->target.cpu, HLO_CPU_AMX_FP16));
}

// Functions of the kinds that the processor has, under the numbers that they have in t->module.
static void make_runnable(const fixture_t* t, hlo_vir_module_t** out_module) {
  assert_true(hlo_status_is_ok(hlo_vir_module_create(out_module)));
  for (uint32_t i = 0; i < FUNC_COUNT; ++i) {
    random_func(*out_module, i, has_kind(t, kind_of(i)) ? kind_of(i) : HLO_VIR_TILE_BF16);
  }
}

static void compare_executors(fixture_t* t) {
  hlo_vir_module_t* runnable = NULL;
  uint32_t run_count = 0;
  amx_emulator_install();
  for (uint32_t i = 0; i < FUNC_COUNT; ++i) random_func(t->module, i, kind_of(i));
  if (t->has_tiles) make_runnable(t, &runnable);
  hlo_status_t status = hlo_vir_verify(t->module, 64);
  assert_string_equal(hlo_status_message(status), "");
  hlo_c_program_t* program;
  hlo_c_build_options_t options = {.cache_directory = t->cache, .target = &t->target};
  status = hlo_c_build(t->module, &options, &program);
  assert_string_equal(hlo_status_message(status), "");
  hlo_jit_t* plain = runnable ? load(t, runnable, &(hlo_x86_limits_t){0}) : NULL;
  hlo_jit_t* limited = runnable ? load(t, runnable, &(hlo_x86_limits_t){{4, 4, 2}}) : NULL;
  hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_KEEP);
  for (const hlo_vir_func_t* func = t->module->first_func; func; func = func->next) {
    fill(t->expected, func);
    interpret(func, t->expected);
    compare(t, func, hlo_c_program_address(program, func->index), "C");
    if (!has_kind(t, kind_of(func->index))) continue;
    compare(t, func, hlo_jit_address(plain, func->index), "machine code");
    compare(t, func, hlo_jit_address(limited, func->index), "few registers");
    ++run_count;
  }
  hlo_fp_leave(before);
  hlo_c_program_release(program);
  hlo_jit_release(plain);
  hlo_jit_release(limited);
  hlo_vir_module_release(runnable);
  print_message("%u of %u functions as machine code, tile instructions %s\n", run_count,
                (uint32_t)FUNC_COUNT, amx_emulator_is_idle() ? "of this processor" : "emulated");
  const uint32_t kind_count =
      has_kind(t, HLO_VIR_TILE_F16) ? HLO_VIR_TILE_KIND_COUNT : HLO_VIR_TILE_F16;
  assert_int_equal(run_count, t->has_tiles ? FUNC_COUNT / HLO_VIR_TILE_KIND_COUNT * kind_count : 0);
}

static void every_executor_leaves_the_same_bytes(void** state) {
  compare_executors(*state);
}

// As the first processors with tiles: all other kinds run.
static void so_they_do_without_products_of_f16(void** state) {
  fixture_t* t = *state;
  t->target.cpu.features &= ~(UINT64_C(1) << HLO_CPU_AMX_FP16);
  compare_executors(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(bytes_have_the_signs_of_the_instruction, setup, teardown),
      cmocka_unit_test_setup_teardown(halves_are_summed_in_their_order, setup, teardown),
      cmocka_unit_test_setup_teardown(every_executor_leaves_the_same_bytes, setup, teardown),
      cmocka_unit_test_setup_teardown(so_they_do_without_products_of_f16, setup, teardown),
  };
  return cmocka_run_group_tests_name("codegen/x86/tile", tests, NULL, NULL);
}
