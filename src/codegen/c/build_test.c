// SPDX-License-Identifier: Apache-2.0
// Tests of the C back end: random functions compiled by the system's C compiler leave the same
// bytes as the interpreter; the cache of compiled files.
#include "codegen/c/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fpenv.h"
#include "base/os.h"
#include "base/test_util.h"
#include "codegen/c/emit.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/lane_cases_test.inl"
#include "codegen/vir/random_vir_test.inl"

enum { FUNC_COUNT = 24, STATEMENTS = 40, SAVED_BYTES = 1 << 16 };

typedef struct fixture {
  char cache[256];
  hlo_vir_module_t* module;
} fixture_t;

static int setup(void** state) {
  fixture_t* t = calloc(1, sizeof *t);
  assert_true(hlo_status_is_ok(hlo_os_directory_create_temporary(NULL, t->cache, sizeof t->cache)));
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&t->module)));
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

static hlo_c_program_t* build(const fixture_t* t, const hlo_target_t* target) {
  hlo_c_program_t* program = NULL;
  hlo_c_build_options_t options = {.cache_directory = t->cache, .target = target};
  hlo_status_t status = hlo_vir_verify(t->module, 64);
  if (hlo_status_is_ok(status)) status = hlo_c_build(t->module, &options, &program);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return program;
}

// ---- random functions --------------------------------------------------------------------------

typedef struct machine {
  hlo_frame_t frame;
  void* buffers[1];
  uint8_t memory[RANDOM_VIR_MEMORY_BYTES];
  uint8_t saved[SAVED_BYTES];
} machine_t;

static void reset(machine_t* m, uint64_t seed) {
  for (size_t i = 0; i < sizeof m->memory; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + 99;
    m->memory[i] = (uint8_t)(seed >> 50);
  }
  m->buffers[0] = m->memory;
  m->frame = (hlo_frame_t){
      .buffers = m->buffers, .buffer_count = 1, .saved = m->saved, .saved_bytes = sizeof m->saved};
}

// Runs to the end, in the interpreter or (code not NULL) in compiled code.
static void run(machine_t* m, const hlo_vir_func_t* func, void* code) {
  int32_t answer = HLO_PROGRAM_SUSPENDED;
  uint64_t params[] = {(uintptr_t)&m->frame, (uintptr_t)m->memory, 3};
  hlo_vir_interp_options_t options = {0};
  while (answer == HLO_PROGRAM_SUSPENDED) {
    if (!code) {
      assert_true(hlo_status_is_ok(hlo_vir_interp_run(func, params, &options, &answer)));
    } else if (func->is_entry) {
      answer = ((hlo_program_entry_t)code)(&m->frame);
    } else {
      answer = ((hlo_program_chunk_t)code)(&m->frame, m->memory, 3);
    }
  }
  assert_int_equal(answer, HLO_PROGRAM_DONE);
}

static void compare_random(fixture_t* t, const hlo_target_t* target, hlo_subnormals_t subnormals,
                           uint64_t first_seed) {
  t->module->subnormals = subnormals;
  char name[32];
  machine_t* by_interp = malloc(sizeof *by_interp);
  machine_t* by_code = malloc(sizeof *by_code);
  for (uint64_t i = 0; i < FUNC_COUNT; ++i) {
    random_vir_options_t options = {
        .vector_bytes = 16u << i % 3,
        .statement_count = STATEMENTS,
        .is_entry = i % 4 == 0,
        .has_halves = true,
    };
    snprintf(name, sizeof name, "seed_%d", (int)(first_seed + i));
    random_vir_func(t->module, name, first_seed + i, &options);
  }
  hlo_c_program_t* program = build(t, target);
  hlo_fp_state_t before = hlo_fp_enter(subnormals);
  for (const hlo_vir_func_t* func = t->module->first_func; func; func = func->next) {
    reset(by_interp, func->index);
    reset(by_code, func->index);
    run(by_interp, func, NULL);
    run(by_code, func, hlo_c_program_address(program, func->index));
    for (size_t i = 0; i < RANDOM_VIR_MEMORY_BYTES; ++i) {
      if (by_interp->memory[i] != by_code->memory[i]) fail_msg("%s: byte %zu", func->name, i);
    }
  }
  hlo_fp_leave(before);
  hlo_c_program_release(program);
  free(by_interp);
  free(by_code);
}

static void test_random_native(void** state) {
  hlo_cpu_t cpu;
  hlo_target_t target;
  assert_true(hlo_status_is_ok(hlo_cpu_detect(NULL, &cpu)));
  hlo_target_init(&cpu, &target);
  compare_random(*state, &target, HLO_SUBNORMALS_FLUSH, 1000);
}

static void test_random_generic(void** state) {
  compare_random(*state, NULL, HLO_SUBNORMALS_KEEP, 2000);
}

// ---- single ops --------------------------------------------------------------------------------

typedef struct op_cases {
  hlo_vir_module_t* module;
  const hlo_c_program_t* program;  // NULL while the functions are built
  const hlo_vir_func_t* next;
  uint8_t *by_interp, *by_code;
} op_cases_t;

static void visit_case(const lane_case_t* c, void* context) {
  op_cases_t* cases = context;
  if (!cases->program) {
    lane_cases_func(cases->module, c, 32);
    return;
  }
  const hlo_vir_func_t* func = cases->next;
  cases->next = func->next;
  lane_cases_fill(c, cases->by_interp);
  lane_cases_fill(c, cases->by_code);
  int32_t answer = -1;
  hlo_vir_interp_options_t options = {0};
  uint64_t params[] = {0, (uintptr_t)cases->by_interp, 0};
  assert_true(hlo_status_is_ok(hlo_vir_interp_run(func, params, &options, &answer)));
  hlo_program_chunk_t code =
      (hlo_program_chunk_t)hlo_c_program_address(cases->program, func->index);
  assert_int_equal(code(NULL, cases->by_code, 0), HLO_PROGRAM_DONE);
  for (size_t i = 0; i < LANE_CASES_MEMORY_BYTES; ++i) {
    if (cases->by_interp[i] == cases->by_code[i]) continue;
    fail_msg("%s of element %d to %d, imm %d: byte %zu", func->name, c->operand, c->result,
             (int)c->imm, i - 3 * LANE_CASES_ROOM_BYTES);
  }
}

static void compare_each_op(fixture_t* t, hlo_subnormals_t subnormals) {
  t->module->subnormals = subnormals;
  op_cases_t cases = {.module = t->module};
  lane_cases_each(visit_case, &cases);
  cases.program = build(t, NULL);
  cases.next = t->module->first_func;
  cases.by_interp = malloc(LANE_CASES_MEMORY_BYTES);
  cases.by_code = malloc(LANE_CASES_MEMORY_BYTES);
  hlo_fp_state_t before = hlo_fp_enter(subnormals);
  lane_cases_each(visit_case, &cases);
  hlo_fp_leave(before);
  assert_null(cases.next);
  hlo_c_program_release((hlo_c_program_t*)cases.program);
  free(cases.by_interp);
  free(cases.by_code);
}

static void test_each_op(void** state) {
  compare_each_op(*state, HLO_SUBNORMALS_KEEP);
}

static void test_each_op_with_subnormals_flushed(void** state) {
  compare_each_op(*state, HLO_SUBNORMALS_FLUSH);
}

// ---- single functions --------------------------------------------------------------------------

// memory[0] = the first word of a constant.
static void build_constant(fixture_t* t, uint64_t word) {
  hlo_vir_builder_t b;
  uint32_t blob = hlo_vir_module_add_blob(t->module, &word, sizeof word);
  hlo_vir_builder_init(&b, hlo_vir_func_create(t->module, "constant", 3, false));
  hlo_vir_value_t* address = hlo_vir_emit(&b, HLO_VIR_rodata, random_vir_index, 0, blob, 0, NULL);
  hlo_vir_istore(&b, hlo_vir_iload(&b, address, 0, 0), hlo_vir_param(&b, 1), 0, 0);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
}

static uint64_t run_constant(const hlo_c_program_t* program) {
  uint64_t word = 0;
  assert_int_equal(((hlo_program_chunk_t)hlo_c_program_address(program, 0))(NULL, &word, 0), 0);
  return word;
}

// Changes one byte in the middle of the only cache file.
static void damage_cache(const fixture_t* t) {
  char command[400];
  snprintf(
      command, sizeof command,
      "cd %s && f=$(ls *.so) && printf x | dd of=$f bs=1 seek=5000 conv=notrunc 2>&1 | grep -c "
      "copied >/dev/null",
      t->cache);
  assert_int_equal(system(command), 0);
}

static void test_cache(void** state) {
  fixture_t* t = *state;
  build_constant(t, 42);
  hlo_c_program_t* first = build(t, NULL);
  assert_false(hlo_c_program_was_cached(first));
  assert_int_equal(run_constant(first), 42);
  // The same source with another constant shares the file, but not the library.
  hlo_vir_module_t* module = t->module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&t->module)));
  build_constant(t, 43);
  hlo_c_program_t* second = build(t, NULL);
  assert_true(hlo_c_program_was_cached(second));
  assert_int_equal(run_constant(second), 43);
  assert_int_equal(run_constant(first), 42);
  hlo_c_program_release(first);
  hlo_vir_module_release(module);
  assert_int_equal(run_constant(second), 43);
  hlo_c_program_release(second);
  damage_cache(t);
  second = build(t, NULL);
  assert_false(hlo_c_program_was_cached(second));
  assert_int_equal(run_constant(second), 43);
  hlo_c_program_release(second);
}

static void test_no_compiler(void** state) {
  fixture_t* t = *state;
  build_constant(t, 1);
  hlo_c_program_t* program;
  hlo_c_build_options_t options = {.cache_directory = t->cache,
                                   .compiler = "hlocc-no-such-compiler"};
  hlo_status_t status = hlo_c_build(t->module, &options, &program);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  hlo_status_release(status);
  options.compiler = "false";
  status = hlo_c_build(t->module, &options, &program);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
  // Without a cache the code is compiled all the same.
  options = (hlo_c_build_options_t){.cache_directory = "/proc/no/such/folder"};
  assert_true(hlo_status_is_ok(hlo_c_build(t->module, &options, &program)));
  assert_int_equal(run_constant(program), 1);
  hlo_c_program_release(program);
}

static void test_source(void** state) {
  fixture_t* t = *state;
  build_constant(t, 0x1234);
  hlo_strbuf_t source = {0};
  assert_true(hlo_status_is_ok(hlo_c_emit(t->module, HLO_C_BLOBS_EMBEDDED, &source)));
  assert_non_null(strstr(hlo_strbuf_text(&source), "blob_0[] = {\n  0x1234,\n};"));
  assert_non_null(strstr(hlo_strbuf_text(&source), "static int32_t func_0(int64_t p0, int64_t p1"));
  hlo_strbuf_deinit(&source);
}

static void test_memory_failures(void** state) {
  fixture_t* t = *state;
  random_vir_options_t options = {.vector_bytes = 16, .statement_count = 20, .is_entry = true};
  random_vir_func(t->module, "random", 5, &options);
  for (uint64_t n = 1;; ++n) {
    hlo_strbuf_t source = {0};
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_c_emit(t->module, HLO_C_BLOBS_EMBEDDED, &source);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_int_equal(hlo_status_is_ok(status), !failed);
    hlo_status_release(status);
    hlo_strbuf_deinit(&source);
    if (!failed) break;
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_source),        TEST(test_memory_failures),
      TEST(test_cache),         TEST(test_no_compiler),
      TEST(test_each_op),       TEST(test_each_op_with_subnormals_flushed),
      TEST(test_random_native), TEST(test_random_generic)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
