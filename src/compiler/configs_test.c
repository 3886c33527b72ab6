// SPDX-License-Identifier: Apache-2.0
// Configurations of kernels: every candidate of every kernel of small programs is refused with a
// reason or gives the results of the model's choices, in every bit unless it changes the order of
// sums.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/fuse/configure.h"
#include "codegen/fuse/fusion.h"
#include "codegen/image/program.h"
#include "codegen/lower/prepare.h"
#include "compiler/cache.h"
#include "compiler/execute.h"
#include "ir/clone.h"
#include "ir/test_util.h"
#include "passes/passes.h"

enum { MAX_BUFFERS = 8, MAX_BYTES = 1 << 18 };

/// A prepared program, its different kernels, and memory for its values.
typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_code_options_t options;
  hlo_schedule_t* schedule;
  uint32_t count;
  hlo_tunable_t* tunables;
  void* inputs[MAX_BUFFERS];
  uint32_t refused, accepted;
} fixture_t;

static float value_of(uint32_t i) {
  return (float)(int32_t)(i * 2654435761u) / 2147483648.0f;
}

static void fill_input(const hlo_type_t* type, void* data) {
  const int64_t count = hlo_type_element_count(type);
  memset(data, 0, MAX_BYTES);
  for (int64_t i = 0; i < count; ++i) {
    const float value = value_of((uint32_t)i + 1);
    if (type->dtype == HLO_DTYPE_F32) {
      ((float*)data)[i] = value;
    } else if (type->dtype == HLO_DTYPE_BF16) {
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      ((uint16_t*)data)[i] = (uint16_t)(bits >> 16);
    } else {
      ((uint8_t*)data)[i] = (uint8_t)(i * 37);
    }
  }
}

// Returns true if this machine runs machine code for that processor.
static bool has_code(const char* cpu) {
  hlo_target_t target;
  return hlo_status_take_ok(hlo_target_find(cpu, false, &target)) && target.has_encoder;
}

static void begin(const char* text, const char* cpu, fixture_t* f) {
  *f = (fixture_t){.options = {.replica_count = 1, .partition_count = 1, .name = "main"}};
  hlo_arena_init(&f->arena, 0);
  hlo_test_check(hlo_target_find(cpu, false, &f->options.target));
  hlo_module_t* module = hlo_test_parse(text);
  const hlo_env_t env = hlo_target_env(&f->options.target);
  const hlo_pass_options_t passes = {.env = &env, .replica_count = 1, .partition_count = 1};
  HLO_SCOPED_STRBUF cause = {0};
  hlo_test_check(hlo_prepare_module(module, "main", &passes, &cause, &f->module));
  assert_non_null(f->module);
  hlo_module_release(module);
  hlo_func_t* func = hlo_module_find_func(f->module, "main");
  hlo_test_check(hlo_schedule_create(func, &f->options.target, &f->arena, &f->schedule));
  hlo_test_check(
      hlo_schedule_list_tunable(f->schedule, f->module, &f->arena, &f->count, &f->tunables));
  for (uint32_t i = 0; i < func->type->input_count; ++i) {
    f->inputs[i] = hlo_mem_alloc_aligned(MAX_BYTES, 64);
    fill_input(func->type->elements[i], f->inputs[i]);
  }
}

static void end(fixture_t* f) {
  for (uint32_t i = 0; i < MAX_BUFFERS; ++i) hlo_mem_free(f->inputs[i]);
  hlo_module_release(f->module);
  hlo_arena_deinit(&f->arena);
}

// Compiles the program with the table (NULL: none) and runs it on one thread.
static hlo_status_t run(fixture_t* f, const hlo_config_table_t* table, void* output) {
  hlo_module_t* copy;
  hlo_code_program_t* program = NULL;
  hlo_test_check(hlo_module_clone(f->module, &copy));
  f->options.configs = table;
  HLO_TRY(hlo_code_program_create(copy, hlo_module_find_func(copy, "main"), &f->options, &program));
  void* buffers[MAX_BUFFERS + 1];
  const uint32_t inputs = hlo_module_find_func(copy, "main")->type->input_count;
  memcpy(buffers, f->inputs, sizeof f->inputs);
  buffers[inputs] = output;
  hlo_frame_t frame = {
      .abi_version = HLO_PROGRAM_ABI_VERSION,
      .buffers = buffers,
      .temporaries = hlo_mem_alloc_aligned(hlo_code_program_temporary_bytes(program), 64),
      .saved = hlo_mem_alloc_zeroed(hlo_code_program_saved_bytes(program)),
      .runtime = &hlo_execute_table,
      .program = hlo_code_program_data(program)};
  assert_int_equal(hlo_code_program_entry(program)(&frame), HLO_PROGRAM_DONE);
  hlo_mem_free(frame.temporaries);
  hlo_mem_free(frame.saved);
  hlo_code_program_release(program);
  return hlo_ok();
}

static float element_of(const hlo_type_t* type, const void* data, int64_t i) {
  if (type->dtype == HLO_DTYPE_F32) return ((const float*)data)[i];
  const uint32_t bits = (uint32_t)((const uint16_t*)data)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void compare(const fixture_t* f, const hlo_kernel_config_t* config, bool is_same_order,
                    const void* expected, const void* found) {
  const hlo_func_t* func = hlo_module_find_func(f->module, "main");
  const hlo_type_t* type = func->type->elements[func->type->input_count];
  HLO_SCOPED_STRBUF text = {0};
  hlo_kernel_config_print(config, &text);
  const size_t bytes = hlo_type_size_bytes(type);
  if (is_same_order && memcmp(expected, found, bytes) != 0) {
    fail_msg("%s changes bits", hlo_strbuf_text(&text));
  }
  const float bound = type->dtype == HLO_DTYPE_F32 ? 1e-4f : 2e-2f;
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    const float x = element_of(type, expected, i), y = element_of(type, found, i);
    if (!(fabsf(x - y) <= bound * (1 + fabsf(x)))) {
      fail_msg("%s: element %d is %g, not %g", hlo_strbuf_text(&text), (int)i, y, x);
    }
  }
}

static void try_config(fixture_t* f, const hlo_tunable_t* tunable,
                       const hlo_kernel_config_t* config, const void* expected, void* output) {
  const hlo_config_entry_t entry = {tunable->key, *config};
  const hlo_config_table_t table = {1, &entry};
  hlo_verdict_t verdict;
  hlo_kernel_t* kernel;
  hlo_test_check(hlo_fusion_try_config(tunable->fusion, &f->options.target, config, &f->arena,
                                       &verdict, &kernel));
  memset(output, 0x55, MAX_BYTES);
  const hlo_status_t status = run(f, &table, output);
  if (hlo_verdict_is_no(&verdict)) {
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    ++f->refused;
  } else {
    hlo_test_check(status);
    const bool is_same_order =
        hlo_kernel_sum_order(kernel) == hlo_kernel_sum_order(tunable->fusion->kernel);
    compare(f, config, is_same_order, expected, output);
    ++f->accepted;
  }
  hlo_status_release(status);
}

// Tries all candidates of all kernels of a program.
static void check_program(const char* text, const char* cpu, uint32_t least) {
  fixture_t f;
  begin(text, cpu, &f);
  void *expected = hlo_mem_alloc_aligned(MAX_BYTES, 64),
       *output = hlo_mem_alloc_aligned(MAX_BYTES, 64);
  hlo_test_check(run(&f, NULL, expected));
  for (uint32_t i = 0; i < f.count; ++i) {
    hlo_kernel_configs_t list = {.count = 0};
    hlo_test_check(hlo_kernel_list_configs(f.tunables[i].fusion->kernel, false, &list));
    for (uint32_t k = 0; k < list.count; ++k) {
      try_config(&f, &f.tunables[i], &list.items[k].config, expected, output);
    }
  }
  if (f.accepted < least) fail_msg("%u accepted, %u refused", f.accepted, f.refused);
  hlo_mem_free(expected);
  hlo_mem_free(output);
  end(&f);
}

static const char kProduct[] =
    "func.func @main(%a: tensor<37x300xf32>, %b: tensor<300x75xf32>, %c: tensor<75xf32>) -> "
    "tensor<37x75xf32> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<37x300xf32>, "
    "tensor<300x75xf32>) -> tensor<37x75xf32>\n"
    "  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<75xf32>) -> tensor<37x75xf32>\n"
    "  %2 = stablehlo.add %0, %1 : tensor<37x75xf32>\n"
    "  %3 = stablehlo.tanh %2 : tensor<37x75xf32>\n  return %3 : tensor<37x75xf32>\n}\n";
static const char kPrologue[] =
    "func.func @main(%a: tensor<50x96xf32>, %b: tensor<64x96xf32>) -> tensor<50x64xf32> {\n"
    "  %0 = stablehlo.multiply %b, %b : tensor<64x96xf32>\n"
    "  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [1] : (tensor<50x96xf32>, "
    "tensor<64x96xf32>) -> tensor<50x64xf32>\n  return %1 : tensor<50x64xf32>\n}\n";
static const char kBatch[] =
    "func.func @main(%a: tensor<3x40x70xbf16>, %b: tensor<3x70x48xbf16>) -> tensor<3x40x48xbf16> "
    "{\n"
    "  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] "
    ": "
    "(tensor<3x40x70xbf16>, tensor<3x70x48xbf16>) -> tensor<3x40x48xbf16>\n"
    "  return %0 : tensor<3x40x48xbf16>\n}\n";
static const char kConvolution[] =
    "func.func @main(%a: tensor<1x14x14x16xf32>, %b: tensor<3x3x16x24xf32>) -> "
    "tensor<1x12x12x24xf32> {\n"
    "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
    "window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<1x14x14x16xf32>, tensor<3x3x16x24xf32>) -> tensor<1x12x12x24xf32>\n"
    "  return %0 : tensor<1x12x12x24xf32>\n}\n";
static const char kRows[] =
    "func.func @main(%a: tensor<30x200xf32>) -> tensor<30xf32> {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.exponential %a : tensor<30x200xf32>\n"
    "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : "
    "(tensor<30x200xf32>, tensor<f32>) -> tensor<30xf32>\n  return %1 : tensor<30xf32>\n}\n";
static const char kTranspose[] =
    "func.func @main(%a: tensor<40x90xf32>, %b: tensor<90x40xf32>) -> tensor<40x90xf32> {\n"
    "  %0 = stablehlo.transpose %b, dims = [1, 0] : (tensor<90x40xf32>) -> tensor<40x90xf32>\n"
    "  %1 = stablehlo.add %a, %0 : tensor<40x90xf32>\n"
    "  %2 = stablehlo.logistic %1 : tensor<40x90xf32>\n  return %2 : tensor<40x90xf32>\n}\n";

static const char kSoftmax[] =
    "func.func @main(%a: tensor<50x1200xf32>) -> tensor<50x1200xf32> {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.exponential %a : tensor<50x1200xf32>\n"
    "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : "
    "(tensor<50x1200xf32>, tensor<f32>) -> tensor<50xf32>\n"
    "  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<50xf32>) -> tensor<50x1200xf32>\n"
    "  %3 = stablehlo.divide %0, %2 : tensor<50x1200xf32>\n"
    "  return %3 : tensor<50x1200xf32>\n}\n";
static const char kColumns[] =
    "func.func @main(%a: tensor<300x200xf32>) -> tensor<200xf32> {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.tanh %a : tensor<300x200xf32>\n"
    "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<300x200xf32>, tensor<f32>) -> tensor<200xf32>\n  return %1 : tensor<200xf32>\n}\n";

static void test_candidates(void** unused) {
  (void)unused;
  static const char* const kLevels[] = {"avx2", ""};
  for (uint32_t i = 0; i < sizeof kLevels / sizeof *kLevels; ++i) {
    if (!has_code(kLevels[i])) continue;
    check_program(kProduct, kLevels[i], 8);
    check_program(kPrologue, kLevels[i], 6);
    check_program(kBatch, kLevels[i], 4);
    check_program(kConvolution, kLevels[i], 4);
    check_program(kRows, kLevels[i], 2);
    check_program(kSoftmax, kLevels[i], 2);
    check_program(kColumns, kLevels[i], 1);
    check_program(kTranspose, kLevels[i], 3);
  }
}

// Returns true if the only kernel can have the configuration.
static bool is_possible(fixture_t* f, const char* text) {
  hlo_kernel_config_t config;
  hlo_verdict_t verdict;
  hlo_kernel_t* kernel;
  assert_int_equal(f->count, 1);
  hlo_test_check(hlo_kernel_config_parse(text, &config));
  hlo_test_check(hlo_fusion_try_config(f->tunables[0].fusion, &f->options.target, &config,
                                       &f->arena, &verdict, &kernel));
  return !hlo_verdict_is_no(&verdict);
}

static void print_softmax(const char* type, const char* sums, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out,
                    "func.func @main(%%a: %s) -> %s {\n"
                    "  %%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                    "  %%0 = stablehlo.exponential %%a : %s\n"
                    "  %%1 = stablehlo.reduce(%%0 init: %%z) applies stablehlo.add across "
                    "dimensions = [1] : (%s, tensor<f32>) -> %s\n"
                    "  %%2 = stablehlo.broadcast_in_dim %%1, dims = [0] : (%s) -> %s\n"
                    "  %%3 = stablehlo.divide %%0, %%2 : %s\n  return %%3 : %s\n}\n",
                    type, type, type, type, sums, sums, type, type, type);
}

// Short rows of a softmax are reduced together, long ones one after the other: each have choices
// of their own.
static void test_rows(void** unused) {
  (void)unused;
  static const struct {
    const char *type, *sums;
    bool is_short;
  } cases[] = {{"tensor<64x128xf32>", "tensor<64xf32>", true},
               {"tensor<4x16384xf32>", "tensor<4xf32>", false}};
  if (!has_code("avx2")) skip();  // machine code of AVX2 needs an x86-64 processor that has it
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    HLO_SCOPED_STRBUF text = {0};
    fixture_t f;
    print_softmax(cases[i].type, cases[i].sums, &text);
    begin(hlo_strbuf_text(&text), "avx2", &f);
    assert_int_equal(is_possible(&f, "row_block=yes"), cases[i].is_short);
    assert_int_equal(is_possible(&f, "row_cache=yes"), !cases[i].is_short);
    assert_true(is_possible(&f, "row_block=no"));
    end(&f);
  }
}

// An impossible configuration is refused with a reason.
static void test_refusals(void** unused) {
  (void)unused;
  static const struct {
    const char *text, *config, *reason;
  } cases[] = {
      {kProduct, "rows=20 vectors=4", "a register tile of 80 accumulators is not possible"},
      {kProduct, "rows=4", "names both"},
      {kProduct, "parts=100", "cannot be cut into 100 parts"},
      {kProduct, "lanes=2", "choices of another kind of kernel"},
      {kProduct, "strategy=contraction block=64", "blocks of 64 steps"},
      {kPrologue, "pack_b=place", "operand with the columns cannot be packed"},
      {kConvolution, "pack_a=lines", "operand with the rows cannot be packed"},
      {kConvolution, "strategy=contraction", "lanes cannot run along the loop"},
      {kTranspose, "lanes=9", "lanes cannot run along the loops"},
      {kTranspose, "row_block=yes", "no short rows"},
      {kRows, "row_cache=yes", "no row again"},
      {kRows, "sweep=yes", "not of columns"},
      {kTranspose, "rows=4 vectors=4", "choices of another kind of kernel"},
  };
  uint8_t* output = hlo_mem_alloc_aligned(MAX_BYTES, 64);
  for (uint32_t i = 0; has_code("") && i < sizeof cases / sizeof *cases; ++i) {
    fixture_t f;
    hlo_kernel_config_t config;
    begin(cases[i].text, "", &f);
    hlo_test_check(hlo_kernel_config_parse(cases[i].config, &config));
    const hlo_config_entry_t entry = {f.tunables[f.count - 1].key, config};
    const hlo_config_table_t table = {1, &entry};
    const hlo_status_t status = run(&f, &table, output);
    if (hlo_status_code(status) != HLO_STATUS_INVALID_ARGUMENT ||
        !strstr(hlo_status_message(status), cases[i].reason)) {
      fail_msg("%s: %s", cases[i].config, hlo_status_message(status));
    }
    hlo_status_release(status);
    end(&f);
  }
  hlo_mem_free(output);
}

// Returns true if the code of a compilation with these choices is from the cache.
static bool is_from_cache(hlo_compile_cache_t* cache, const hlo_config_table_t* table) {
  hlo_compile_config_t config;
  hlo_executable_t* executable;
  hlo_compile_config_init(&config);
  config.cache = cache;
  config.configs = table;
  hlo_test_check(
      hlo_compile(kProduct, strlen(kProduct), "test", &config, NULL, 0, NULL, &executable));
  const bool is_reused = executable->program->is_reused;
  hlo_executable_release(executable);
  return is_reused;
}

// The caches of machine code tell choices apart.
static void test_cache(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_config_t options;
  hlo_compile_cache_t* cache;
  HLO_SCOPED_STRBUF warnings = {0};
  if (!has_code("")) return;
  begin(kProduct, "", &f);
  hlo_test_check(hlo_config_init(&options, (const char* const[]){NULL}, &warnings));
  hlo_test_check(hlo_compile_cache_create(&options, NULL, &cache));
  hlo_config_entry_t entry = {.key = f.tunables[0].key};
  const hlo_config_table_t table = {1, &entry};
  assert_false(is_from_cache(cache, NULL));
  assert_true(is_from_cache(cache, &table));  // nothing is chosen
  hlo_test_check(hlo_kernel_config_parse("rows=3 vectors=2", &entry.config));
  assert_false(is_from_cache(cache, &table));
  assert_true(is_from_cache(cache, &table));
  assert_true(is_from_cache(cache, NULL));
  hlo_compile_cache_release(cache);
  hlo_config_deinit(&options);
  end(&f);
}

static void test_text(void** unused) {
  (void)unused;
  static const char* const kTexts[] = {"default", "rows=6 vectors=4 pack_b=panels",
                                       "strategy=contraction parts=2", "lanes=3 unroll=4"};
  for (uint32_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i) {
    hlo_kernel_config_t config;
    HLO_SCOPED_STRBUF text = {0};
    hlo_test_check(hlo_kernel_config_parse(kTexts[i], &config));
    hlo_kernel_config_print(&config, &text);
    assert_string_equal(hlo_strbuf_text(&text), kTexts[i]);
    assert_int_equal(hlo_kernel_config_is_empty(&config), i == 0);
  }
  static const char* const kWrong[] = {"rows",    "rows=0",       "rows=65",
                                       "rows=4x", "pack_b=tiles", "tile=4"};
  for (uint32_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i) {
    hlo_kernel_config_t config;
    const hlo_status_t status = hlo_kernel_config_parse(kWrong[i], &config);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    hlo_status_release(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_candidates), cmocka_unit_test(test_rows),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_cache),
                                     cmocka_unit_test(test_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
