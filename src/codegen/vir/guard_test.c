// SPDX-License-Identifier: Apache-2.0
// Tests of checked memory: for every kind of access, one wrong index is found by the interpreter of
// vector IR and by machine code, with its site, byte and size, and nothing outside is touched.
#include "codegen/vir/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "amx_emulator.h"
#include "base/program_abi.h"
#include "codegen/isa/isa.h"
#include "codegen/jit/jit.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/tile.h"

enum {
  DEBUG_ID = 7,
  SIZE_BYTES = 100,
  MARGIN_BYTES = 128,
  MEMORY_BYTES = SIZE_BYTES + 2 * MARGIN_BYTES
};
enum { FILLING = 0xA5, NONE = -1 };

static const hlo_vir_type_t kVoid = {HLO_VIR_VOID, 0}, kLanes = {HLO_VIR_F32, 8};
static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1}, kIndices = {HLO_VIR_I32, 8};

static struct { int64_t debug_id, byte, size; } g_found;

static int32_t check_failed(hlo_frame_t* frame, uint32_t debug_id, int64_t found, int64_t limit) {
  (void)frame;
  g_found.debug_id = debug_id;
  g_found.byte = found;
  g_found.size = limit;
  return HLO_PROGRAM_ERROR;
}

static const hlo_runtime_table_t kRuntime = {.check_failed = check_failed};

/// One access at element `first` of a buffer of SIZE_BYTES.
typedef void (*access_t)(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first);

static void vector_load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_load, kLanes, 2, 0, 2, (hlo_vir_value_t*[]){base, first});
}

static hlo_vir_value_t* ones(hlo_vir_builder_t* b) {
  return hlo_vir_const_float(b, kLanes, 1);
}

static void vector_store(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_store, kVoid, 2, 0, 3, (hlo_vir_value_t*[]){ones(b), base, first});
}

static void displaced_store(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_value_t* bytes = hlo_vir_index(b, HLO_VIR_imul, first, hlo_vir_iconst(b, 4));
  base = hlo_vir_index(b, HLO_VIR_iadd, hlo_vir_index(b, HLO_VIR_iadd, base, hlo_vir_iconst(b, 8)),
                       bytes);
  hlo_vir_emit(b, HLO_VIR_store, kVoid, 0, -8, 2, (hlo_vir_value_t*[]){ones(b), base});
}

static hlo_vir_value_t* first_lanes(hlo_vir_builder_t* b, int64_t count) {
  return hlo_vir_emit(b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, 8), 0, 0, 1,
                      &(hlo_vir_value_t*){hlo_vir_iconst(b, count)});
}

static void masked_load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_load, kLanes, 2, 0, 3,
               (hlo_vir_value_t*[]){base, first, first_lanes(b, 3)});
}

static void masked_store(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_store, kVoid, 2, 0, 4,
               (hlo_vir_value_t*[]){ones(b), base, first, first_lanes(b, 3)});
}

static hlo_vir_value_t* row(hlo_vir_builder_t* b, hlo_vir_value_t* first) {
  hlo_vir_value_t* start = hlo_vir_emit(b, HLO_VIR_splat_index, kIndices, 0, 0, 1, &first);
  return hlo_vir_binary(b, HLO_VIR_add, start,
                        hlo_vir_emit(b, HLO_VIR_lane_iota, kIndices, 0, 0, 0, NULL));
}

static void gather(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_gather, kLanes, 2, 0, 2, (hlo_vir_value_t*[]){base, row(b, first)});
}

static void scatter(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_scatter, kVoid, 2, 0, 3,
               (hlo_vir_value_t*[]){ones(b), base, row(b, first)});
}

static void masked_scatter(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_scatter, kVoid, 2, 0, 4,
               (hlo_vir_value_t*[]){ones(b), base, row(b, first), first_lanes(b, 3)});
}

static void splat_load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_load_splat, kLanes, 2, 0, 2, (hlo_vir_value_t*[]){base, first});
}

static void scalar_load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_iload, kIndex, 2 | 2 << HLO_VIR_WIDTH_SHIFT, 0, 2,
               (hlo_vir_value_t*[]){base, first});
}

static void scalar_store(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  hlo_vir_emit(b, HLO_VIR_istore, kVoid, 2 | 2 << HLO_VIR_WIDTH_SHIFT, 0, 3,
               (hlo_vir_value_t*[]){hlo_vir_iconst(b, 1), base, first});
}

static void tile_access(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* base,
                        hlo_vir_value_t* first, int64_t step) {
  const uint8_t rows[HLO_VIR_TILE_COUNT] = {2};
  base = hlo_vir_index(b, HLO_VIR_iadd, base,
                       hlo_vir_index(b, HLO_VIR_imul, first, hlo_vir_iconst(b, 4)));
  hlo_vir_emit(b, HLO_VIR_tile_config, kVoid, 0, hlo_vir_tile_config(rows), 0, NULL);
  hlo_vir_emit(b, op, kVoid, hlo_vir_tile_flags(0, 2), step < 0 ? -step : 0, 2,
               (hlo_vir_value_t*[]){base, hlo_vir_iconst(b, step)});
  hlo_vir_emit(b, HLO_VIR_tile_release, kVoid, 0, 0, 0, NULL);
}

static void tile_load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  tile_access(b, HLO_VIR_tile_load, base, first, 32);
}

static void tile_store(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  tile_access(b, HLO_VIR_tile_store, base, first, 32);
}

static void tile_upwards(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* first) {
  tile_access(b, HLO_VIR_tile_store, base, first, -32);
}

// An access in a loop, so that what may leave the loop would.
static hlo_vir_func_t* make_func(hlo_vir_module_t* module, access_t access, bool is_entry,
                                 int64_t first) {
  hlo_vir_func_t* func = hlo_vir_func_create(module, "f", is_entry ? 1 : 3, is_entry);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  b.debug_id = DEBUG_ID;
  hlo_vir_value_t* table =
      hlo_vir_iload(&b, hlo_vir_param(&b, 0), offsetof(hlo_frame_t, buffers), HLO_VIR_INVARIANT);
  hlo_vir_value_t* memory = hlo_vir_iload(&b, table, 0, HLO_VIR_INVARIANT);
  hlo_vir_guards_t guards;
  hlo_vir_guards_begin(&b, &guards);
  memory = hlo_vir_guard(&b, memory, SIZE_BYTES);
  hlo_vir_value_t* i =
      hlo_vir_begin_for(&b, hlo_vir_iconst(&b, first), hlo_vir_iconst(&b, first + 2), 1, 0);
  access(&b, memory, i);
  hlo_vir_end(&b);
  hlo_vir_guards_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
  hlo_status_t status = hlo_vir_verify(module, 32);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return func;
}

static int32_t run_code(const hlo_vir_module_t* module, const hlo_vir_func_t* func,
                        hlo_frame_t* frame) {
  hlo_cpu_t cpu;
  hlo_target_t target;
  assert_true(hlo_status_is_ok(hlo_cpu_detect("", &cpu)));
  hlo_target_init(&cpu, &target);
  hlo_code_t code = {0};
  hlo_jit_t* jit = NULL;
  hlo_status_t status = hlo_code_compile(module, &target, &code);
  if (hlo_status_is_ok(status)) status = hlo_jit_load(&code, "f", &(hlo_jit_options_t){0}, &jit);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  void* address = hlo_jit_address(jit, 0);
  int32_t answer = func->is_entry ? ((hlo_program_entry_t)(uintptr_t)address)(frame)
                                  : ((hlo_program_chunk_t)(uintptr_t)address)(frame, NULL, 0);
  hlo_jit_release(jit);
  hlo_code_deinit(&code);
  return answer;
}

static bool has_encoder(access_t access) {
  hlo_cpu_t cpu;
  hlo_target_t target;
  assert_true(hlo_status_is_ok(hlo_cpu_detect("", &cpu)));
  hlo_target_init(&cpu, &target);
  bool is_tile = access == tile_load || access == tile_store || access == tile_upwards;
  return is_tile ? cpu.level >= HLO_CPU_LEVEL_AMX : target.has_encoder;
}

// Runs the access at elements first and first + 1 both ways; wrong_byte NONE: both are right.
static void expect(access_t access, bool is_entry, int64_t first, int64_t wrong_byte) {
  for (int is_code = 0; is_code <= has_encoder(access); ++is_code) {
    hlo_vir_module_t* module = NULL;
    assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
    hlo_vir_func_t* func = make_func(module, access, is_entry, first);
    uint8_t memory[MEMORY_BYTES];
    memset(memory, FILLING, sizeof memory);
    void* buffers[] = {memory + MARGIN_BYTES};
    hlo_frame_t frame = {.buffers = buffers, .buffer_count = 1, .runtime = &kRuntime};
    g_found.byte = NONE;
    int32_t answer = 0;
    if (is_code) {
      answer = run_code(module, func, &frame);
    } else {
      uint64_t params[] = {(uintptr_t)&frame, 0, 0};
      hlo_vir_interp_options_t options = {0};
      assert_true(hlo_status_is_ok(hlo_vir_interp_run(func, params, &options, &answer)));
    }
    assert_int_equal(g_found.byte, wrong_byte);
    assert_int_equal(answer, wrong_byte == NONE ? HLO_PROGRAM_DONE : HLO_PROGRAM_ERROR);
    if (wrong_byte != NONE) {
      assert_int_equal(g_found.debug_id, DEBUG_ID);
      assert_int_equal(g_found.size, SIZE_BYTES);
    }
    for (size_t i = 0; i < MARGIN_BYTES; ++i) {
      assert_int_equal(memory[i], FILLING);
      assert_int_equal(memory[MEMORY_BYTES - 1 - i], FILLING);
    }
    hlo_vir_module_release(module);
  }
}

static void test_every_access(void** state) {
  (void)state;
  amx_emulator_install();
  // The last valid element, and the byte that is reported for the next one.
  static const struct {
    access_t access;
    int64_t last, wrong_byte;
  } cases[] = {
      {vector_load, 17, 72},  {vector_store, 17, 72},    {displaced_store, 17, 72},
      {masked_load, 22, 100}, {masked_store, 22, 100},   {gather, 17, 100},
      {scatter, 17, 100},     {masked_scatter, 22, 100}, {splat_load, 24, 100},
      {scalar_load, 24, 100}, {scalar_store, 24, 100},   {tile_load, 1, 40},
      {tile_store, 1, 40},    {tile_upwards, 1, 40},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int is_entry = 0; is_entry < 2; ++is_entry) {
      expect(cases[i].access, is_entry, 0, NONE);
      expect(cases[i].access, is_entry, cases[i].last - 1, NONE);
      expect(cases[i].access, is_entry, cases[i].last, cases[i].wrong_byte);
      expect(cases[i].access, is_entry, -1, -4);
    }
  }
}

static void test_unknown_address(void** state) {
  (void)state;
  hlo_vir_module_t* module = NULL;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  hlo_vir_func_t* func = hlo_vir_func_create(module, "f", 1, true);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* memory = hlo_vir_iload(&b, hlo_vir_param(&b, 0), 8, 0);
  hlo_vir_guards_t guards;
  hlo_vir_guards_begin(&b, &guards);
  vector_load(&b, memory, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  hlo_status_t status = hlo_vir_module_status(module);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  assert_non_null(strstr(hlo_status_message(status), "no buffer is known"));
  hlo_status_release(status);
  hlo_vir_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_access),
      cmocka_unit_test(test_unknown_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
