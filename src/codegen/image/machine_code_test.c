// SPDX-License-Identifier: Apache-2.0
// Tests that code made in units has the same bytes and errors in any order, on any number of
// threads, and as code of the module as a whole; also when memory runs out.
#include "codegen/image/machine_code.h"

#include "codegen/fuse/fusion.h"
#include "codegen/isa/isa.h"
#include "ir/test_util.h"

enum { RESULTS = 8, STEPS = 10, ELEMENTS = 1000000, KERNEL_BYTES = 1 << 20 };

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_target_t target;
  hlo_plan_t* plan;
  hlo_call_site_table_t table;
} fixture_t;

// ---- the program --------------------------------------------------------------------------------

static bool is_half(int i, bool has_halves) {
  return has_halves && i % 4 == 2;
}

static void print_type(hlo_strbuf_t* out, int i, bool has_halves) {
  hlo_strbuf_printf(out, "tensor<%dx%s>", ELEMENTS + i, is_half(i, has_halves) ? "f16" : "f32");
}

// Prints functions of one element applied to array i.
static void print_steps(hlo_strbuf_t* out, int i, bool has_halves) {
  static const char* const kOps[] = {"cosine", "tanh", "log_plus_one", "exponential"};
  for (int k = 0; k < STEPS; ++k) {
    hlo_strbuf_printf(out, "%%c%d_%d = stablehlo.constant dense<%d.25> : ", i, k, i + k);
    print_type(out, i, has_halves);
    hlo_strbuf_printf(out, "\n%%b%d_%d = stablehlo.%s %%a%d_%d, %%c%d_%d : ", i, k,
                      i < 4 ? "add" : "multiply", i, k, i, k);
    print_type(out, i, has_halves);
    hlo_strbuf_printf(out, "\n%%a%d_%d = stablehlo.%s %%b%d_%d : ", i, k + 1, kOps[i % 4], i, k);
    print_type(out, i, has_halves);
    hlo_strbuf_putc(out, '\n');
  }
}

// Prints a program of arrays of different sizes, so that no kernels are equal; the first is number
// `first`.
static void print_module(hlo_strbuf_t* out, int first, bool has_halves) {
  hlo_strbuf_puts(out, "func.func @main(");
  for (int i = first; i < RESULTS; ++i) {
    hlo_strbuf_printf(out, "%s%%a%d_0: ", i > first ? ", " : "", i);
    print_type(out, i, has_halves);
  }
  for (int i = first; i < RESULTS; ++i) {
    hlo_strbuf_puts(out, i > first ? ", " : ") -> (");
    print_type(out, i, has_halves);
  }
  hlo_strbuf_puts(out, ") {\n");
  for (int i = first; i < RESULTS; ++i) print_steps(out, i, has_halves);
  for (int i = first; i < RESULTS; ++i) {
    hlo_strbuf_printf(out, "%s%%a%d_%d", i > first ? ", " : "return ", i, STEPS);
  }
  for (int i = first; i < RESULTS; ++i) {
    hlo_strbuf_puts(out, i > first ? ", " : " : ");
    print_type(out, i, has_halves);
  }
  hlo_strbuf_puts(out, "\n}\n");
}

static void make_from(int first, bool has_halves, hlo_cpu_level_t level, fixture_t* f) {
  hlo_strbuf_t text = {0};
  print_module(&text, first, has_halves);
  *f = (fixture_t){.module = hlo_test_parse(hlo_strbuf_text(&text))};
  hlo_strbuf_deinit(&text);
  hlo_arena_init(&f->arena, 0);
  hlo_cpu_t cpu = {.features = UINT64_MAX};
  hlo_cpu_limit(&cpu, level);
  hlo_target_init(&cpu, &f->target);
  const hlo_func_t* func = hlo_module_entry(f->module);
  hlo_schedule_t* schedule;
  hlo_test_check(hlo_schedule_create(func, &f->target, &f->arena, &schedule));
  hlo_kernel_t** kernels = hlo_arena_array(&f->arena, schedule->fusion_count, sizeof *kernels);
  const hlo_sequence_t* sequence = &schedule->sequences[0];
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    hlo_fusion_t* fusion = sequence->steps[i].fusion;
    kernels[fusion->index] = fusion->kernel;
  }
  hlo_test_check(hlo_plan_create(func, schedule, kernels, false, &f->arena, &f->plan));
  hlo_test_check(hlo_call_site_table_init(f->plan, &f->arena, &f->table));
}

static void make(bool has_halves, hlo_cpu_level_t level, fixture_t* f) {
  make_from(0, has_halves, level, f);
}

static void drop(fixture_t* f) {
  hlo_call_site_table_deinit(&f->table);
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

// ---- compilation in different orders ------------------------------------------------------------

static hlo_status_t make_units(fixture_t* f, const hlo_target_t* target, hlo_lru_t* kernels,
                               const hlo_parallel_t* parallel, hlo_vir_module_t** out_first,
                               hlo_code_t* out_code) {
  HLO_TRY(hlo_vir_module_create(out_first));
  (*out_first)->has_half = f->target.has_half;
  hlo_entry_t* entry;
  HLO_TRY(hlo_entry_create(f->plan, &f->target, &f->table, &f->arena, *out_first, &entry));
  return hlo_machine_code_make(entry, *out_first, target, kernels, parallel, NULL, out_code);
}

static void run_backwards(void* context, uint64_t count, hlo_parallel_chunk_t chunk, void* arg) {
  *(uint64_t*)context = count;
  while (count-- > 0) chunk(arg, count);
}

static void expect_equal(const hlo_code_t* code, const hlo_code_t* other) {
  assert_int_equal(code->size_bytes, other->size_bytes);
  assert_memory_equal(code->bytes, other->bytes, code->size_bytes);
  assert_int_equal(code->debug_id_count, other->debug_id_count);
  assert_memory_equal(code->debug_ids, other->debug_ids,
                      code->debug_id_count * sizeof *code->debug_ids);
  assert_int_equal(code->func_count, other->func_count);
  for (uint32_t i = 0; i < code->func_count; ++i) {
    hlo_code_func_t a = code->funcs[i], b = other->funcs[i];
    assert_string_equal(a.name, b.name);
    assert_int_equal(a.offset_bytes, b.offset_bytes);
    assert_int_equal(a.size_bytes, b.size_bytes);
    assert_int_equal(a.frame_bytes, b.frame_bytes);
    assert_int_equal(a.saved_mask, b.saved_mask);
    assert_int_equal(a.saved_bytes, b.saved_bytes);
  }
}

static void expect_units_to_be(fixture_t* f, hlo_lru_t* kernels, const hlo_parallel_t* parallel,
                               const hlo_code_t* expected) {
  hlo_vir_module_t* first = NULL;
  hlo_code_t code = {0};
  hlo_test_check(make_units(f, &f->target, kernels, parallel, &first, &code));
  expect_equal(&code, expected);
  hlo_code_deinit(&code);
  hlo_vir_module_release(first);
}

static void expect_same_code(hlo_cpu_level_t level) {
  fixture_t f;
  make(false, level, &f);
  hlo_vir_module_t* module;
  hlo_code_t code = {0};
  hlo_test_check(hlo_vir_module_create(&module));
  module->has_half = f.target.has_half;
  hlo_test_check(hlo_entry_build(f.plan, &f.target, &f.table, &f.arena, module));
  hlo_test_check(hlo_code_compile(module, &f.target, &code));
  assert_int_equal(code.func_count, RESULTS + 1);
  assert_true(module->blob_count > 0);
  expect_units_to_be(&f, NULL, NULL, &code);
  uint64_t unit_count = 0;
  expect_units_to_be(&f, NULL, &(hlo_parallel_t){run_backwards, &unit_count}, &code);
  assert_int_equal(unit_count, RESULTS);  // the small entry and the first kernel share a unit
  static const uint32_t kThreads[] = {1, 2, 5};
  for (uint32_t i = 0; i < sizeof kThreads / sizeof *kThreads; ++i) {
    hlo_pool_t* pool;
    hlo_test_check(hlo_pool_create(kThreads[i], &pool));
    hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
    expect_units_to_be(&f, NULL, &parallel, &code);
    hlo_pool_release(pool);
  }
  hlo_code_deinit(&code);
  hlo_vir_module_release(module);
  drop(&f);
}

// Without FMA, functions after the code are called; several units use the constants and blobs.
static void code_does_not_depend_on_units(void** state) {
  (void)state;
  expect_same_code(HLO_CPU_LEVEL_SSE2);
  expect_same_code(HLO_CPU_LEVEL_AVX2);
  expect_same_code(HLO_CPU_LEVEL_AVX512);
}

// The kernels of one program, and most of them again in another one with other indices.
static void expect_kernels_to_be_found(hlo_cpu_level_t level, const hlo_parallel_t* parallel) {
  enum { FIRST = 3 };
  fixture_t programs[2];
  hlo_lru_t kernels;
  hlo_lru_init(&kernels, KERNEL_BYTES);
  make(false, level, &programs[0]);
  make_from(FIRST, false, level, &programs[1]);
  for (int i = 0; i < 2; ++i) {
    hlo_vir_module_t* first = NULL;
    hlo_code_t code = {0};
    hlo_test_check(make_units(&programs[i], &programs[i].target, NULL, NULL, &first, &code));
    for (int k = 0; k < 2; ++k) expect_units_to_be(&programs[i], &kernels, parallel, &code);
    assert_int_equal(kernels.added_count, RESULTS);
    hlo_code_deinit(&code);
    hlo_vir_module_release(first);
  }
  drop(&programs[0]);
  drop(&programs[1]);
  hlo_lru_deinit(&kernels);
}

static void kernels_of_other_programs_are_found(void** state) {
  (void)state;
  expect_kernels_to_be_found(HLO_CPU_LEVEL_SSE2, NULL);
  hlo_pool_t* pool;
  hlo_test_check(hlo_pool_create(3, &pool));
  hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  expect_kernels_to_be_found(HLO_CPU_LEVEL_AVX512, &parallel);
  hlo_pool_release(pool);
}

// Two kernels use instructions that the target lacks: the first adds, the other one multiplies.
static void the_first_error_is_reported(void** state) {
  (void)state;
  fixture_t f;
  make(true, HLO_CPU_LEVEL_AVX512, &f);
  assert_true(f.target.has_half);
  hlo_cpu_t cpu = {.features = ~(UINT64_C(1) << HLO_CPU_AVX512FP16)};
  hlo_cpu_limit(&cpu, HLO_CPU_LEVEL_AVX512);
  hlo_target_t target;
  hlo_target_init(&cpu, &target);
  uint64_t unit_count;
  const hlo_parallel_t backwards = {run_backwards, &unit_count};
  const hlo_parallel_t* const ways[] = {NULL, &backwards};
  for (int i = 0; i < 2; ++i) {
    hlo_vir_module_t* first = NULL;
    hlo_code_t code = {0};
    hlo_status_t status = make_units(&f, &target, NULL, ways[i], &first, &code);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(hlo_status_message(status), ": half_add"));
    hlo_status_release(status);
    assert_null(code.bytes);
    hlo_vir_module_release(first);
  }
  drop(&f);
}

static void allocations_may_fail(void** state) {
  (void)state;
  fixture_t f;
  make(false, HLO_CPU_LEVEL_SSE2, &f);
  hlo_lru_t kernels;
  hlo_lru_init(&kernels, KERNEL_BYTES);
  uint64_t unit_count;
  const hlo_parallel_t backwards = {run_backwards, &unit_count};
  bool failed = true;
  for (uint64_t n = 1; failed; n += 1 + n / 32) {
    hlo_vir_module_t* first = NULL;
    hlo_code_t code = {0};
    hlo_arena_mark_t mark = hlo_arena_mark(&f.arena);
    hlo_mem_fail_nth(n);
    hlo_status_t status =
        make_units(&f, &f.target, n % 2 ? &kernels : NULL, &backwards, &first, &code);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    hlo_status_code_t expected = failed ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_OK;
    assert_int_equal(hlo_status_code(status), expected);
    hlo_status_release(status);
    hlo_code_deinit(&code);
    hlo_vir_module_release(first);
    hlo_arena_reset(&f.arena, mark);
    f.arena.failed = false;
  }
  hlo_lru_deinit(&kernels);
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(code_does_not_depend_on_units),
      cmocka_unit_test(kernels_of_other_programs_are_found),
      cmocka_unit_test(the_first_error_is_reported),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests_name("codegen/machine_code", tests, NULL, NULL);
}
