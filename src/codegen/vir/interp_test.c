// SPDX-License-Identifier: Apache-2.0
// Tests of the vector IR's interpreter, of what it saves over a suspend, and of the builder through
// it: random functions do the same whether or not instructions are moved, merged and folded.
#include "codegen/vir/interp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/vir/random_vir_test.inl"
#include "codegen/vir/saved.h"

static const hlo_vir_type_t f32x4 = {HLO_VIR_F32, 4};

typedef struct fixture {
  hlo_vir_module_t* module;
  hlo_vir_builder_t b;
  uint8_t memory[RANDOM_VIR_MEMORY_BYTES];
  uint8_t saved[1 << 16];
  void* buffers[1];
  hlo_frame_t frame;
  hlo_runtime_table_t runtime;
} fixture_t;

static int setup(void** state) {
  fixture_t* t = hlo_mem_alloc_zeroed(sizeof *t);
  assert_non_null(t);
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&t->module)));
  t->buffers[0] = t->memory;
  t->frame = (hlo_frame_t){.buffers = t->buffers,
                           .buffer_count = 1,
                           .saved = t->saved,
                           .saved_bytes = sizeof t->saved,
                           .runtime = &t->runtime};
  *state = t;
  return 0;
}

static int teardown(void** state) {
  fixture_t* t = *state;
  hlo_vir_builder_deinit(&t->b);
  hlo_vir_module_release(t->module);
  hlo_mem_free(t);
  return 0;
}

static hlo_vir_func_t* begin_func(fixture_t* t, const char* name, bool is_entry) {
  hlo_vir_func_t* func = hlo_vir_func_create(t->module, name, is_entry ? 1 : 3, is_entry);
  hlo_vir_builder_deinit(&t->b);
  hlo_vir_builder_init(&t->b, func);
  return func;
}

static hlo_status_t run_checked(fixture_t* t, const hlo_vir_func_t* func, size_t room_bytes,
                                int32_t* out_answer) {
  hlo_vir_range_t range = {t->memory, room_bytes, true};
  hlo_vir_interp_options_t options = {.check_memory = true, .range_count = 1, .ranges = &range};
  uint64_t params[] = {(uintptr_t)&t->frame, (uintptr_t)t->memory, 3};
  hlo_status_t status = hlo_vir_verify(t->module, 64);
  if (hlo_status_is_ok(status)) status = hlo_vir_interp_run(func, params, &options, out_answer);
  return status;
}

static void finish(hlo_vir_builder_t* b) {
  hlo_vir_return(b, hlo_vir_iconst(b, HLO_PROGRAM_DONE));
}

static hlo_vir_value_t* load_at(hlo_vir_builder_t* b, hlo_vir_value_t* base,
                                hlo_vir_value_t* index) {
  return hlo_vir_emit(b, HLO_VIR_load, f32x4, 2, 0, 2, (hlo_vir_value_t*[]){base, index});
}

static void store_at(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                     hlo_vir_value_t* index) {
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 2, 0, 3,
               (hlo_vir_value_t*[]){value, base, index});
}

// memory[i] = memory[i] * 2 + 1 over `count` floats.
static hlo_vir_func_t* build_scale(fixture_t* t, int64_t count) {
  hlo_vir_func_t* func = begin_func(t, "scale", false);
  hlo_vir_builder_t* b = &t->b;
  b->debug_id = 41;
  hlo_vir_value_t* base = hlo_vir_param(b, 1);
  hlo_vir_value_t* i = hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, count), 4, 0);
  store_at(b,
           hlo_vir_ternary(b, HLO_VIR_fma, load_at(b, base, i), hlo_vir_const_float(b, f32x4, 2),
                           hlo_vir_const_float(b, f32x4, 1)),
           base, i);
  hlo_vir_end(b);
  finish(b);
  return func;
}

static void test_loop(void** state) {
  fixture_t* t = *state;
  float* floats = (float*)t->memory;
  for (int i = 0; i < 16; ++i) floats[i] = (float)i;
  int32_t answer = -1;
  assert_true(hlo_status_is_ok(run_checked(t, build_scale(t, 16), 64, &answer)));
  assert_int_equal(answer, HLO_PROGRAM_DONE);
  for (int i = 0; i < 16; ++i) assert_true(floats[i] == (float)(2 * i + 1));
}

static void test_access_outside(void** state) {
  fixture_t* t = *state;
  int32_t answer = -1;
  hlo_status_t status = run_checked(t, build_scale(t, 16), 60, &answer);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  assert_non_null(strstr(hlo_status_message(status), "reads outside its memory"));
  assert_non_null(strstr(hlo_status_message(status), "debug id 41"));
  assert_int_equal(answer, -1);
  hlo_status_release(status);
}

static void test_division_by_zero(void** state) {
  fixture_t* t = *state;
  hlo_vir_func_t* func = begin_func(t, "divide", false);
  hlo_vir_value_t* x = hlo_vir_param(&t->b, 2);
  hlo_vir_index(&t->b, HLO_VIR_idiv, x,
                hlo_vir_index(&t->b, HLO_VIR_iand, x, hlo_vir_iconst(&t->b, 4)));
  finish(&t->b);
  int32_t answer;
  hlo_status_t status = run_checked(t, func, 64, &answer);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
}

static int32_t count_calls(hlo_frame_t* frame, uint32_t debug_id_index) {
  frame->run_id += debug_id_index;
  return frame->run_id < 30 ? HLO_PROGRAM_SUSPENDED : HLO_PROGRAM_DONE;
}

// sum = 0; for i in 0..3 { call; suspend; sum += i * run_id }; memory = sum.
static hlo_vir_func_t* build_suspending(fixture_t* t) {
  hlo_vir_func_t* func = begin_func(t, "entry", true);
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t* frame = hlo_vir_param(b, 0);
  hlo_vir_value_t* buffers =
      hlo_vir_iload(b, frame, offsetof(hlo_frame_t, buffers), HLO_VIR_INVARIANT);
  hlo_vir_value_t* base = hlo_vir_iload(b, buffers, 0, HLO_VIR_INVARIANT);
  hlo_vir_value_t* sum = hlo_vir_var(b, hlo_vir_iconst(b, 0));
  hlo_vir_value_t* factor = hlo_vir_iload(b, base, 8, 0);
  hlo_vir_value_t* unused = hlo_vir_iload(b, base, 16, 0);
  hlo_vir_istore(b, unused, base, 24, 0);
  hlo_vir_value_t* i =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iload(b, base, 32, 0), 1, 0);
  hlo_vir_value_t* early = hlo_vir_index(b, HLO_VIR_imul, i, factor);
  hlo_vir_call(b, offsetof(hlo_runtime_table_t, async_done), 1,
               (hlo_vir_value_t*[]){hlo_vir_iconst(b, 10)});
  hlo_vir_suspend(b, 7);
  hlo_vir_set(b, sum, hlo_vir_index(b, HLO_VIR_iadd, sum, early));
  hlo_vir_end(b);
  hlo_vir_istore(b, sum, base, 0, 0);
  finish(b);
  return func;
}

static void test_suspend(void** state) {
  fixture_t* t = *state;
  int64_t* words = (int64_t*)t->memory;
  words[1] = 100;
  words[4] = 4;
  t->runtime.async_done = count_calls;
  hlo_vir_func_t* func = build_suspending(t);
  for (int entry = 0; entry < 4; ++entry) {
    int32_t answer = -1;
    assert_true(hlo_status_is_ok(run_checked(t, func, 64, &answer)));
    assert_int_equal(answer, HLO_PROGRAM_SUSPENDED);
    assert_int_equal(t->frame.resume_point, 7);
  }
  int32_t answer = -1;
  assert_true(hlo_status_is_ok(run_checked(t, func, 64, &answer)));
  assert_int_equal(answer, HLO_PROGRAM_DONE);
  assert_int_equal(words[0], 600);
  t->frame.resume_point = 8;
  hlo_status_t status = run_checked(t, func, 64, &answer);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
}

static void test_saved_values(void** state) {
  fixture_t* t = *state;
  hlo_vir_func_t* func = build_suspending(t);
  hlo_arena_t arena;
  hlo_vir_saved_t saved;
  hlo_arena_init(&arena, 0);
  assert_true(hlo_status_is_ok(hlo_vir_saved_create(func, &arena, &saved)));
  assert_int_equal(saved.resume_count, 1);
  // base, sum, factor, the bound, the counter, early; neither buffers nor what is used up before.
  assert_int_equal(saved.resumes[0].value_count, 6);
  assert_int_equal(saved.size_bytes, HLO_PROGRAM_SAVED_START + 6 * 8);
  hlo_arena_deinit(&arena);
}

static void test_stack_over_suspend(void** state) {
  fixture_t* t = *state;
  for (int is_indexed = 0; is_indexed < 2; ++is_indexed) {
    hlo_vir_func_t* func = begin_func(t, "entry", true);
    hlo_vir_builder_t* b = &t->b;
    hlo_vir_value_t* address =
        hlo_vir_emit(b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, 64, 0, NULL);
    hlo_vir_value_t* loaded = hlo_vir_iload(b, hlo_vir_param(b, 0), 40, 0);
    address = hlo_vir_index(b, HLO_VIR_iadd, address, is_indexed ? loaded : hlo_vir_iconst(b, 8));
    hlo_vir_istore(b, loaded, address, 0, 0);
    hlo_vir_suspend(b, 1);
    hlo_vir_istore(b, loaded, address, 0, 0);
    finish(b);
    t->frame.resume_point = 0;
    int32_t answer;
    hlo_status_t status = run_checked(t, func, 64, &answer);
    assert_int_equal(hlo_status_is_ok(status), !is_indexed);
    hlo_status_release(status);
    if (is_indexed) continue;
    assert_true(hlo_status_is_ok(run_checked(t, func, 64, &answer)));
    assert_int_equal(answer, HLO_PROGRAM_DONE);
  }
}

// A chunk writes its number; the entry runs seven of them.
static void test_parallel_for(void** state) {
  fixture_t* t = *state;
  hlo_vir_func_t* chunk = begin_func(t, "chunk", false);
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t* operands[] = {hlo_vir_param(b, 2), hlo_vir_param(b, 1), hlo_vir_param(b, 2)};
  hlo_vir_emit(b, HLO_VIR_istore, hlo_vir_type(HLO_VIR_VOID, 0), 3 | 3 << HLO_VIR_WIDTH_SHIFT, 0, 3,
               operands);
  finish(b);
  hlo_vir_func_t* entry = begin_func(t, "entry", true);
  hlo_vir_value_t* buffers =
      hlo_vir_iload(b, hlo_vir_param(b, 0), offsetof(hlo_frame_t, buffers), 0);
  hlo_vir_value_t* arguments[] = {
      hlo_vir_iconst(b, 7),
      hlo_vir_emit(b, HLO_VIR_func_address, hlo_vir_type(HLO_VIR_INDEX, 1), 0, chunk->index, 0,
                   NULL),
      hlo_vir_iload(b, buffers, 0, 0)};
  hlo_vir_return(b, hlo_vir_call(b, offsetof(hlo_runtime_table_t, parallel_for), 3, arguments));
  int32_t answer = -1;
  assert_true(hlo_status_is_ok(run_checked(t, entry, 56, &answer)));
  assert_int_equal(answer, HLO_PROGRAM_DONE);
  for (int64_t i = 0; i < 7; ++i) assert_int_equal(((int64_t*)t->memory)[i], i);
  hlo_status_t status = run_checked(t, entry, 55, &answer);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
}

// Runs to the end; the block starts with the same bytes for the same seed.
static void run_random(fixture_t* t, const hlo_vir_func_t* func, uint64_t seed) {
  for (size_t i = 0; i < sizeof t->memory; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + 99;
    t->memory[i] = (uint8_t)(seed >> 50);
  }
  t->frame.resume_point = 0;
  int32_t answer = HLO_PROGRAM_SUSPENDED;
  for (int entry = 0; entry < 100000 && answer == HLO_PROGRAM_SUSPENDED; ++entry) {
    hlo_vir_range_t ranges[] = {{t->memory, RANDOM_VIR_HALF_BYTES, false},
                                {t->memory + RANDOM_VIR_HALF_BYTES, RANDOM_VIR_HALF_BYTES, true},
                                {t->memory, RANDOM_VIR_MEMORY_BYTES, false}};
    hlo_vir_interp_options_t options = {.check_memory = true, .range_count = 3, .ranges = ranges};
    uint64_t params[] = {(uintptr_t)&t->frame, (uintptr_t)t->memory, 3};
    hlo_status_t status = hlo_vir_interp_run(func, params, &options, &answer);
    if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  }
  assert_int_equal(answer, HLO_PROGRAM_DONE);
}

static void test_random(void** state) {
  fixture_t* t = *state;
  uint8_t* expected = hlo_mem_alloc(sizeof t->memory);
  for (uint64_t seed = 1; seed <= 240; ++seed) {
    hlo_vir_module_t* module;
    assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
    random_vir_options_t options = {.vector_bytes = 16u << seed % 3,
                                    .statement_count = (uint32_t)(10 + seed),
                                    .is_entry = seed % 4 == 0};
    hlo_vir_func_t* func = random_vir_func(module, "random", seed, &options);
    options.is_plain = true;
    hlo_vir_func_t* plain = random_vir_func(module, "plain", seed, &options);
    hlo_status_t status = hlo_vir_verify(module, options.vector_bytes);
    if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
    run_random(t, plain, seed);
    memcpy(expected, t->memory, sizeof t->memory);
    run_random(t, func, seed);
    if (memcmp(expected, t->memory, sizeof t->memory) != 0) fail_msg("seed %d", (int)seed);
    hlo_vir_module_release(module);
  }
  hlo_mem_free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_loop, setup, teardown),
      cmocka_unit_test_setup_teardown(test_access_outside, setup, teardown),
      cmocka_unit_test_setup_teardown(test_division_by_zero, setup, teardown),
      cmocka_unit_test_setup_teardown(test_suspend, setup, teardown),
      cmocka_unit_test_setup_teardown(test_saved_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_stack_over_suspend, setup, teardown),
      cmocka_unit_test_setup_teardown(test_parallel_for, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
