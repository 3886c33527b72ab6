// SPDX-License-Identifier: Apache-2.0
// Kernels against the reference: small programs cut into fusions, their vector IR interpreted with
// every access checked, for targets of several widths with and without masks.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/kernel_abi.h"
#include "codegen/fusion.h"
#include "codegen/vir/interp.h"
#include "interp/program.h"
#include "ir/infer.h"
#include "ir/parse.h"

enum { MAX_VALUES = 256 };

typedef struct memory {
  void* of[MAX_VALUES];  // by value->index
  size_t sizes[MAX_VALUES];
  size_t displaced_bytes;  // from where blocks are aligned
} memory_t;

static uint64_t g_random = 88172645463325252u;
static uint32_t below(uint32_t n) {
  g_random ^= g_random << 13, g_random ^= g_random >> 7, g_random ^= g_random << 17;
  return (uint32_t)(g_random >> 20) % n;
}

static void* allocate(memory_t* memory, const hlo_value_t* value) {
  size_t bytes = hlo_type_size_bytes(value->type);
  assert_true(value->index < MAX_VALUES);
  memory->sizes[value->index] = bytes;
  uint8_t* data =
      hlo_mem_alloc_aligned((bytes ? bytes : 1) + memory->displaced_bytes, HLO_BLOCK_ALIGNMENT);
  assert_non_null(data);
  data += memory->displaced_bytes;
  memset(data, 0, bytes);
  return memory->of[value->index] = data;
}

static void drop_memory(const memory_t* memory) {
  for (uint32_t i = 0; i < MAX_VALUES; ++i) {
    if (memory->of[i]) hlo_mem_free((uint8_t*)memory->of[i] - memory->displaced_bytes);
  }
}

static void fill(const hlo_type_t* type, void* data) {
  size_t bytes = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    uint8_t* element = (uint8_t*)data + (size_t)i * bytes;
    if (type->dtype == HLO_DTYPE_PRED) {
      *element = below(2);
    } else if (bytes == 1 && !hlo_dtype_is_float(type->dtype)) {
      *element = below(3) ? below(256) : below(2) ? 0x80 : 0x7f;  // the ends often
    } else if (hlo_dtype_is_float(type->dtype)) {
      hlo_dtype_store_double(type->dtype, element, ((double)below(4001) - 2000) / 500);
    } else {
      hlo_dtype_store_int64(type->dtype, element, (int64_t)below(9) - 3);
    }
  }
}

// The chunk function of a phase of a fusion: context is a table of addresses.
static hlo_vir_func_t* make_chunk(hlo_vir_module_t* module, const hlo_kernel_t* kernel,
                                  uint32_t phase, const hlo_fusion_t* fusion) {
  hlo_vir_func_t* func = hlo_vir_func_create(module, "chunk", 3, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* addresses[128];
  uint32_t count = fusion->input_count + fusion->output_count;
  if (hlo_kernel_scratch_bytes(kernel)) ++count;
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = hlo_vir_iload(&b, hlo_vir_param(&b, 1), 8 * i, HLO_VIR_INVARIANT);
  }
  bool is_cut = hlo_kernel_chunk_count(kernel, phase) > 1;
  hlo_kernel_emit(kernel, phase, &b, addresses, NULL, is_cut ? hlo_vir_param(&b, 2) : NULL);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  return func;
}

static void expect_ok(hlo_status_t status, const char* text, const hlo_vir_module_t* module) {
  if (hlo_status_is_ok(status)) return;
  print_error("%s\n%s\n", text, hlo_status_message(status));
  if (module) {
    hlo_strbuf_t out = {0};
    hlo_vir_print(module, &out);
    print_error("%.20000s\n", hlo_strbuf_text(&out));
    hlo_strbuf_deinit(&out);
  }
  hlo_status_release(status);
  fail();
}

// An input whose memory may be an output's where it is dead; -1: none.
static int32_t find_shareable(const hlo_fusion_t* fusion, uint32_t output, const memory_t* memory,
                              const bool* is_taken) {
  size_t bytes = memory->sizes[fusion->outputs[output]->index];
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (!is_taken[i] && memory->sizes[fusion->inputs[i]->index] == bytes &&
        hlo_kernel_may_share(fusion->kernel, output, i)) {
      return (int32_t)i;
    }
  }
  return -1;
}

static void run_fusion(hlo_fusion_t* fusion, const hlo_target_t* target, hlo_arena_t* arena,
                       memory_t* memory, const char* text) {
  hlo_kernel_t* kernel;
  expect_ok(hlo_kernel_create(fusion, target, NULL, arena, &kernel), text, NULL);
  hlo_vir_module_t* module;
  expect_ok(hlo_vir_module_create(&module), text, NULL);
  module->has_half = target->has_half;
  module->has_scale = target->has_scale;
  hlo_vir_func_t* funcs[4];
  uint32_t phases = hlo_kernel_phase_count(kernel);
  assert_true(phases <= 4);
  for (uint32_t i = 0; i < phases; ++i) funcs[i] = make_chunk(module, kernel, i, fusion);
  expect_ok(hlo_vir_module_status(module), text, NULL);
  expect_ok(hlo_vir_verify(module, target->vector_bytes), text, module);
  void* table[129];
  hlo_vir_range_t ranges[130] = {{table, sizeof table, false}};
  uint32_t count = fusion->input_count + fusion->output_count;
  size_t scratch_bytes = hlo_kernel_scratch_bytes(kernel);
  void* scratch = hlo_mem_alloc_zeroed(scratch_bytes);
  table[count] = scratch;
  const bool is_in_place = below(2);
  bool is_taken[128] = {false};
  for (uint32_t i = 0; i < count; ++i) {
    bool is_output = i >= fusion->input_count;
    const hlo_value_t* value =
        is_output ? fusion->outputs[i - fusion->input_count] : fusion->inputs[i];
    if (is_output) allocate(memory, value);
    table[i] = memory->of[value->index];
    assert_non_null(table[i]);
    const uint32_t output = i - fusion->input_count;
    const int32_t updated = is_output ? hlo_kernel_updates(kernel, output) : -1;
    const int32_t shared =
        is_output && is_in_place ? find_shareable(fusion, output, memory, is_taken) : -1;
    const int32_t old = shared >= 0 ? shared : updated;
    if (old >= 0) memcpy(table[i], table[old], memory->sizes[fusion->inputs[old]->index]);
    if (shared >= 0) {
      table[shared] = table[i];
      is_taken[shared] = true;
    }
    ranges[i + 1] = (hlo_vir_range_t){table[i], memory->sizes[value->index], is_output};
  }
  ranges[count + 1] = (hlo_vir_range_t){scratch, scratch_bytes, true};
  hlo_vir_interp_options_t options = {true, count + 2, ranges};
  hlo_frame_t frame = {.abi_version = HLO_KERNEL_ABI_VERSION};
  for (uint32_t phase = 0; phase < phases; ++phase) {
    for (uint64_t chunk = 0; chunk < hlo_kernel_chunk_count(kernel, phase); ++chunk) {
      uint64_t params[3] = {(uintptr_t)&frame, (uintptr_t)table, chunk};
      int32_t answer;
      expect_ok(hlo_vir_interp_run(funcs[phase], params, &options, &answer), text, module);
      assert_int_equal(answer, 0);
    }
  }
  hlo_mem_free(scratch);
  hlo_vir_module_release(module);
}

// Values of constants that fusions read from memory, and of views.
static void make_constants(const hlo_region_t* body, memory_t* memory) {
  for (const hlo_node_t* node = body->first; node; node = node->next) {
    if (node->op != HLO_OP_constant) continue;
    const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
    size_t width = hlo_dtype_size_bytes(literal->dtype);
    uint8_t* data = allocate(memory, &node->results[0]);
    for (int64_t i = 0; i < literal->element_count; ++i) {
      memcpy(data + (size_t)i * width, hlo_literal_element(literal, i), width);
    }
  }
}

static void compare(const hlo_type_t* type, const void* got, const void* want, double tolerance,
                    const char* text) {
  size_t width = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    const uint8_t *a = (const uint8_t*)got + (size_t)i * width,
                  *b = (const uint8_t*)want + (size_t)i * width;
    if (memcmp(a, b, width) == 0) continue;
    if (hlo_dtype_is_float(type->dtype)) {
      double x = hlo_dtype_load_double(type->dtype, a), y = hlo_dtype_load_double(type->dtype, b);
      if (fabs(x - y) <= tolerance * (1 + fabs(y)) || (isnan(x) && isnan(y))) continue;
      print_error("%s\nelement %lld: %.9g, expected %.9g\n", text, (long long)i, x, y);
    } else {
      print_error("%s\nelement %lld: %lld, expected %lld\n", text, (long long)i,
                  (long long)hlo_dtype_load_int64(type->dtype, a),
                  (long long)hlo_dtype_load_int64(type->dtype, b));
    }
    fail();
  }
}

static void run_steps(const hlo_schedule_t* schedule, const hlo_target_t* target, hlo_arena_t* arena,
                      memory_t* memory, const char* text) {
  const hlo_sequence_t* sequence = &schedule->sequences[0];
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    if (step->kind == HLO_STEP_FUSION) {
      run_fusion(step->fusion, target, arena, memory, text);
    } else {
      if (step->kind != HLO_STEP_VIEW) print_error("%s\n%s is no kernel\n", text, hlo_op_info(step->node->op)->name);
      assert_int_equal(step->kind, HLO_STEP_VIEW);
      const hlo_value_t* from = hlo_node_operand(step->node, 0);
      memcpy(allocate(memory, &step->node->results[0]), memory->of[from->index],
             memory->sizes[from->index]);
    }
  }
}

/// Runs @main on random inputs both ways. fusions: how many steps are expected; 0: any.
static void check_on(const char* text, const hlo_target_t* target, uint32_t fusions,
                     double tolerance) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, "test", text, strlen(text));
  hlo_module_t* module;
  expect_ok(hlo_parse_module(text, strlen(text), "test", &diag, &module), text, NULL);
  expect_ok(hlo_module_verify(module, &diag), text, NULL);
  const hlo_func_t* func = hlo_module_entry(module);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_schedule_t* schedule;
  expect_ok(hlo_schedule_create(func, target, &arena, &schedule), text, NULL);
  if (fusions && schedule->fusion_count != fusions) print_error("%s\n", text);
  if (fusions) assert_int_equal(schedule->fusion_count, fusions);
  memory_t memory = {0};
  hlo_tensor_t *inputs[16], *outputs[16];
  uint32_t input_count = func->type->input_count;
  uint32_t output_count = func->type->element_count - input_count;
  for (uint32_t i = 0; i < input_count; ++i) {
    const hlo_type_t* type = func->type->elements[i];
    void* data = allocate(&memory, func->body->args[i]);
    fill(type, data);
    expect_ok(hlo_tensor_create_lent(type->dtype, type->rank, type->dims, data, true, NULL, NULL,
                                     &inputs[i]),
              text, NULL);
  }
  make_constants(func->body, &memory);
  run_steps(schedule, target, &arena, &memory, text);
  hlo_interp_program_t* program;
  expect_ok(hlo_interp_program_create(module, &program), text, NULL);
  expect_ok(hlo_interp_call(program, func, input_count, inputs, output_count, outputs, NULL), text,
            NULL);
  const hlo_node_t* end = hlo_region_terminator(func->body);
  for (uint32_t i = 0; i < output_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(end, i);
    compare(value->type, memory.of[value->index], outputs[i]->data, tolerance, text);
    hlo_tensor_release(outputs[i]);
  }
  for (uint32_t i = 0; i < input_count; ++i) hlo_tensor_release(inputs[i]);
  drop_memory(&memory);
  hlo_interp_program_release(program);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
  hlo_diag_deinit(&diag);
}

static void check(const char* text, uint32_t fusions, double tolerance) {
  const uint64_t vnni = (uint64_t)1 << HLO_CPU_AVX512VNNI, bf16 = (uint64_t)1 << HLO_CPU_AVX512BF16;
  const uint64_t f16 = (uint64_t)1 << HLO_CPU_AVX512FP16;
  const uint64_t tiles = (uint64_t)1 << HLO_CPU_AMX_INT8 | (uint64_t)1 << HLO_CPU_AMX_BF16 |
                         (uint64_t)1 << HLO_CPU_AMX_FP16;
  const hlo_cpu_t cpus[] = {
      {.level = HLO_CPU_LEVEL_AVX512},
      {.level = HLO_CPU_LEVEL_AVX512, .features = vnni | bf16 | f16},
      {.level = HLO_CPU_LEVEL_AMX, .features = vnni | bf16 | tiles},
      {.level = HLO_CPU_LEVEL_AMX, .features = vnni | bf16 | tiles},
      {.level = HLO_CPU_LEVEL_AVX2},
      {.level = HLO_CPU_LEVEL_AVX2, .features = (uint64_t)1 << HLO_CPU_AVX_VNNI},
      {.level = HLO_CPU_LEVEL_SSE2, .features = (uint64_t)1 << HLO_CPU_SSE2},
      {.level = HLO_CPU_LEVEL_GENERIC},
      {.level = HLO_CPU_LEVEL_GENERIC},
  };
  const uint32_t count = sizeof cpus / sizeof cpus[0];
  for (uint32_t i = 0; i < count; ++i) {
    hlo_target_t target;
    hlo_target_init(&cpus[i], &target);
    if (i + 1 == count) target.has_masks = target.has_permute = true;  // no such machine, but a target like any other
    target.unroll = i < 4 ? 1u << i % 3 : 0;
    if (i % 2) target.tile.memories[target.tile.memory_count - 2].capacity_bytes = 1000;
    if (i % 2 == 0) target.tile.memories[2].capacity_bytes = 8000;  // products that do not fit
    check_on(text, &target, fusions, tolerance);
  }
}

static void test_elementwise(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<7x13xf16>, %b: tensor<7x13xf16>) -> tensor<7x13xf16> {\n"
        "%0 = stablehlo.add %a, %b : tensor<7x13xf16>\n"
        "%1 = stablehlo.multiply %0, %a : tensor<7x13xf16>\n"
        "%2 = stablehlo.subtract %1, %b : tensor<7x13xf16>\n"
        "%3 = stablehlo.maximum %2, %0 : tensor<7x13xf16>\n"
        "%4 = stablehlo.divide %3, %1 : tensor<7x13xf16>\n"
        "%5 = stablehlo.sqrt %4 : tensor<7x13xf16>\n"
        "return %5 : tensor<7x13xf16>\n}", 1, 0);
  check("func.func @main(%a: tensor<7x13xf32>, %b: tensor<7x13xf32>) -> tensor<7x13xf32> {\n"
        "%0 = stablehlo.add %a, %b : tensor<7x13xf32>\n"
        "%1 = stablehlo.multiply %0, %a : tensor<7x13xf32>\n"
        "return %1 : tensor<7x13xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<100xi32>, %b: tensor<100xi32>) -> (tensor<100xi1>, tensor<100xi32>) {\n"
        "%0 = stablehlo.compare LT, %a, %b : (tensor<100xi32>, tensor<100xi32>) -> tensor<100xi1>\n"
        "%1 = stablehlo.select %0, %a, %b : tensor<100xi1>, tensor<100xi32>\n"
        "return %0, %1 : tensor<100xi1>, tensor<100xi32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x11xbf16>, %b: tensor<11xf32>) -> tensor<5x11xf32> {\n"
        "%0 = stablehlo.convert %a : (tensor<5x11xbf16>) -> tensor<5x11xf32>\n"
        "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<11xf32>) -> tensor<5x11xf32>\n"
        "%2 = stablehlo.multiply %0, %1 : tensor<5x11xf32>\n"
        "return %2 : tensor<5x11xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<61xf32>, %b: tensor<61xi64>) -> (tensor<61xf32>, tensor<61xf64>, tensor<61xui8>) {\n"
        "%c = stablehlo.constant dense<-2147483648> : tensor<61xi32>\n"
        "%0 = stablehlo.bitcast_convert %a : (tensor<61xf32>) -> tensor<61xi32>\n"
        "%1 = stablehlo.xor %0, %c : tensor<61xi32>\n"
        "%2 = stablehlo.bitcast_convert %1 : (tensor<61xi32>) -> tensor<61xf32>\n"
        "%3 = stablehlo.bitcast_convert %b : (tensor<61xi64>) -> tensor<61xf64>\n"
        "%4 = stablehlo.convert %0 : (tensor<61xi32>) -> tensor<61xi8>\n"
        "%5 = stablehlo.bitcast_convert %4 : (tensor<61xi8>) -> tensor<61xui8>\n"
        "return %2, %3, %5 : tensor<61xf32>, tensor<61xf64>, tensor<61xui8>\n}", 0, 0);
  check("func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
        "%c = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "%0 = stablehlo.multiply %a, %c : tensor<f32>\n"
        "return %0 : tensor<f32>\n}", 1, 0);
}

static void test_movement(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<6x10x4xf32>) -> tensor<4x6x10xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<6x10x4xf32>) -> tensor<4x6x10xf32>\n"
        "%1 = stablehlo.add %0, %0 : tensor<4x6x10xf32>\n"
        "return %1 : tensor<4x6x10xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<6x20xf32>) -> tensor<4x5x6xf32> {\n"
        "%0 = stablehlo.reshape %a : (tensor<6x20xf32>) -> tensor<6x4x5xf32>\n"
        "%1 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<6x4x5xf32>) -> tensor<4x5x6xf32>\n"
        "return %1 : tensor<4x5x6xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<9x21xf32>) -> tensor<4x7xf32> {\n"
        "%0 = stablehlo.slice %a [1:9:2, 2:21:3] : (tensor<9x21xf32>) -> tensor<4x7xf32>\n"
        "%1 = stablehlo.negate %0 : tensor<4x7xf32>\n"
        "return %1 : tensor<4x7xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x18xf32>, %z: tensor<f32>) -> tensor<9x24xf32> {\n"
        "%0 = stablehlo.pad %a, %z, low = [1, 4], high = [3, 2], interior = [0, 0] : (tensor<5x18xf32>, tensor<f32>) -> tensor<9x24xf32>\n"
        "return %0 : tensor<9x24xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x18xf32>, %b: tensor<5x3xf32>) -> tensor<5x24xf32> {\n"
        "%0 = stablehlo.concatenate %b, %a, %b, dim = 1 : (tensor<5x3xf32>, tensor<5x18xf32>, tensor<5x3xf32>) -> tensor<5x24xf32>\n"
        "%1 = stablehlo.add %0, %0 : tensor<5x24xf32>\n"
        "return %1 : tensor<5x24xf32>\n}", 1, 0);
  // Five is no multiple of two: positions are divided when running.
  check("func.func @main(%a: tensor<2x2x7xf32>, %b: tensor<1x7xf32>) -> tensor<7x5xf32> {\n"
        "%0 = stablehlo.reshape %a : (tensor<2x2x7xf32>) -> tensor<4x7xf32>\n"
        "%1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<4x7xf32>, tensor<1x7xf32>) -> tensor<5x7xf32>\n"
        "%2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>\n"
        "%3 = stablehlo.negate %2 : tensor<7x5xf32>\n"
        "return %3 : tensor<7x5xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<2x2x7xf32>, %b: tensor<1x7xf32>) -> tensor<7x5xf32> {\n"
        "%t = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<2x2x7xf32>) -> tensor<2x2x7xf32>\n"
        "%0 = stablehlo.reshape %t : (tensor<2x2x7xf32>) -> tensor<4x7xf32>\n"
        "%1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<4x7xf32>, tensor<1x7xf32>) -> tensor<5x7xf32>\n"
        "%2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<5x7xf32>) -> tensor<7x5xf32>\n"
        "%3 = stablehlo.negate %2 : tensor<7x5xf32>\n"
        "return %3 : tensor<7x5xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x18xf32>) -> tensor<5x18xf32> {\n"
        "%0 = stablehlo.reverse %a, dims = [0, 1] : tensor<5x18xf32>\n"
        "return %0 : tensor<5x18xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<30x18xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<3x5xf32> {\n"
        "%0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [3, 5] : (tensor<30x18xf32>, tensor<i32>, tensor<i32>) -> tensor<3x5xf32>\n"
        "return %0 : tensor<3x5xf32>\n}", 1, 0);
  check("func.func @main() -> tensor<6x9xi32> {\n"
        "%0 = stablehlo.iota dim = 1 : tensor<6x9xi32>\n"
        "%1 = stablehlo.iota dim = 0 : tensor<6x9xi32>\n"
        "%2 = stablehlo.multiply %0, %1 : tensor<6x9xi32>\n"
        "return %2 : tensor<6x9xi32>\n}", 1, 0);
}

// Numbers of elements, as random number generators start from them: no 64-bit lane is computed.
static void test_positions(void** state) {
  (void)state;
  check("func.func @main(%k: tensor<ui32>) -> tensor<7x19xui32> {\n"
        "%0 = stablehlo.iota dim = 0 : tensor<7x19xui64>\n"
        "%c = stablehlo.constant dense<19> : tensor<7x19xui64>\n"
        "%1 = stablehlo.multiply %c, %0 : tensor<7x19xui64>\n"
        "%2 = stablehlo.iota dim = 1 : tensor<7x19xui64>\n"
        "%3 = stablehlo.add %1, %2 : tensor<7x19xui64>\n"
        "%4 = stablehlo.constant dense<32> : tensor<7x19xui64>\n"
        "%5 = stablehlo.shift_right_logical %3, %4 : tensor<7x19xui64>\n"
        "%6 = stablehlo.convert %3 : (tensor<7x19xui64>) -> tensor<7x19xui32>\n"
        "%7 = stablehlo.convert %5 : (tensor<7x19xui64>) -> tensor<7x19xui32>\n"
        "%8 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<ui32>) -> tensor<7x19xui32>\n"
        "%9 = stablehlo.add %7, %8 : tensor<7x19xui32>\n"
        "%10 = stablehlo.xor %9, %6 : tensor<7x19xui32>\n"
        "return %10 : tensor<7x19xui32>\n}", 1, 0);
  // These wrap around in their type, or divide: lanes compute them.
  check("func.func @main() -> (tensor<300xui8>, tensor<300xi8>, tensor<300xui32>) {\n"
        "%0 = stablehlo.iota dim = 0 : tensor<300xui32>\n"
        "%1 = stablehlo.convert %0 : (tensor<300xui32>) -> tensor<300xui8>\n"
        "%2 = stablehlo.convert %0 : (tensor<300xui32>) -> tensor<300xi8>\n"
        "%c = stablehlo.constant dense<100000000> : tensor<300xui32>\n"
        "%3 = stablehlo.multiply %0, %c : tensor<300xui32>\n"
        "%4 = stablehlo.constant dense<3> : tensor<300xui32>\n"
        "%5 = stablehlo.shift_right_logical %0, %4 : tensor<300xui32>\n"
        "%6 = stablehlo.add %3, %5 : tensor<300xui32>\n"
        "return %1, %2, %6 : tensor<300xui8>, tensor<300xi8>, tensor<300xui32>\n}", 3, 0);
}

static void check_bitcast(const char* from, const char* to) {
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<41x%s>) -> tensor<41x%s> {\n"
           "%%0 = stablehlo.bitcast_convert %%a : (tensor<41x%s>) -> tensor<41x%s>\n"
           "return %%0 : tensor<41x%s>\n}", from, to, from, to, to);
  check(text, 1, 0);
}

// Every shift of all lanes by a constant, those that make rotations and those that leave nothing.
static void test_shifts(void** state) {
  (void)state;
  static const char* const types[] = {"ui8", "i16", "ui32", "i64"};
  for (int t = 0; t < 4; ++t) {
    int bits = 8 << t;
    const int counts[] = {1, 5, bits - 1, bits, bits + 9};
    for (int i = 0; i < 5; ++i) {
      char text[1024];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<41x%s>) -> (tensor<41x%s>, tensor<41x%s>) {\n"
               "%%n = stablehlo.constant dense<%d> : tensor<41x%s>\n"
               "%%m = stablehlo.constant dense<%d> : tensor<41x%s>\n"
               "%%0 = stablehlo.shift_left %%a, %%n : tensor<41x%s>\n"
               "%%1 = stablehlo.shift_right_logical %%a, %%m : tensor<41x%s>\n"
               "%%2 = stablehlo.or %%0, %%1 : tensor<41x%s>\n"
               "%%3 = stablehlo.shift_right_arithmetic %%a, %%n : tensor<41x%s>\n"
               "return %%2, %%3 : tensor<41x%s>, tensor<41x%s>\n}",
               types[t], types[t], types[t], counts[i], types[t],
               counts[i] < bits ? bits - counts[i] : 3, types[t], types[t], types[t], types[t], types[t],
               types[t], types[t]);
      check(text, 2, 0);
    }
  }
  check_bitcast("f32", "ui32");
  check_bitcast("ui32", "f32");
  check_bitcast("i64", "f64");
  check_bitcast("ui16", "bf16");
  check_bitcast("bf16", "i16");
  check_bitcast("bf16", "f16");
}

// Neighbours around the edge, as jnp.roll is lowered: pieces without guards, and edges
// of one element.
static void test_rolls(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<19x37xf32>) -> tensor<19x37xf32> {\n"
        "%0 = stablehlo.slice %a [0:19, 36:37] : (tensor<19x37xf32>) -> tensor<19x1xf32>\n"
        "%1 = stablehlo.slice %a [0:19, 0:36] : (tensor<19x37xf32>) -> tensor<19x36xf32>\n"
        "%2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<19x1xf32>, tensor<19x36xf32>) -> tensor<19x37xf32>\n"
        "%3 = stablehlo.slice %a [2:19, 0:37] : (tensor<19x37xf32>) -> tensor<17x37xf32>\n"
        "%4 = stablehlo.slice %a [0:2, 0:37] : (tensor<19x37xf32>) -> tensor<2x37xf32>\n"
        "%5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<17x37xf32>, tensor<2x37xf32>) -> tensor<19x37xf32>\n"
        "%6 = stablehlo.subtract %2, %5 : tensor<19x37xf32>\n"
        "%7 = stablehlo.slice %6 [0:19, 20:37] : (tensor<19x37xf32>) -> tensor<19x17xf32>\n"
        "%8 = stablehlo.slice %6 [0:19, 0:20] : (tensor<19x37xf32>) -> tensor<19x20xf32>\n"
        "%9 = stablehlo.concatenate %7, %8, dim = 1 : (tensor<19x17xf32>, tensor<19x20xf32>) -> tensor<19x37xf32>\n"
        "%10 = stablehlo.add %9, %a : tensor<19x37xf32>\n"
        "return %10 : tensor<19x37xf32>\n}", 1, 0);
}

// Only some rows of what is gathered are sums: these are not computed in the loops of a sum of the
// same length, whose digit they would use.
static void test_guarded_sums(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<9x3xf32>, %b: tensor<9x3xf32>, %c: tensor<1x3xf32>, %d: tensor<4x3xf32>, %e: tensor<4xf32>, %i: tensor<18x1xi32>, %j: tensor<4x1xi32>) -> (tensor<4x3xf32>, tensor<4xf32>) {\n"
        "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<9x3xf32>, tensor<9x3xf32>) -> tensor<9xf32>\n"
        "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<9xf32>) -> tensor<9x3xf32>\n"
        "%2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<9x3xf32>, tensor<1x3xf32>) -> tensor<10x3xf32>\n"
        "%3 = \"stablehlo.gather\"(%2, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<10x3xf32>, tensor<18x1xi32>) -> tensor<18x3xf32>\n"
        "%4 = \"stablehlo.gather\"(%3, %j) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<18x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>\n"
        "%5 = stablehlo.dot_general %4, %d, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32>\n"
        "%6 = stablehlo.subtract %5, %e : tensor<4xf32>\n"
        "%7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>\n"
        "%8 = stablehlo.subtract %4, %7 : tensor<4x3xf32>\n"
        "return %8, %6 : tensor<4x3xf32>, tensor<4xf32>\n}", 2, 1e-5);
}

// Large enough for several chunks: the row of exponentials is kept between the two loops over it.
static void test_kept_rows(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "bf16"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<400x201x%s>) -> tensor<400x201x%s> {\n"
             "%%z = stablehlo.constant dense<0.0> : tensor<%s>\n"
             "%%n = stablehlo.negate %%a : tensor<400x201x%s>\n"
             "%%e = stablehlo.exponential %%n : tensor<400x201x%s>\n"
             "%%s = stablehlo.reduce(%%e init: %%z) applies stablehlo.add across dimensions = [1] : (tensor<400x201x%s>, tensor<%s>) -> tensor<400x%s>\n"
             "%%b = stablehlo.broadcast_in_dim %%s, dims = [0] : (tensor<400x%s>) -> tensor<400x201x%s>\n"
             "%%r = stablehlo.divide %%e, %%b : tensor<400x201x%s>\n"
             "return %%r : tensor<400x201x%s>\n}", t, t, t, t, t, t, t, t, t, t, t, t);
    check(text, 1, i ? 1e-2 : 1e-5);
  }
}

// Short rows in blocks and what is left of them: results alone, chains of reductions, rows that
// need the results, with and without a kept row; several reductions at once.
static void test_row_blocks(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "bf16", "i32", "i8"};
  static const int widths[] = {3, 16, 37, 70, 200};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    for (uint32_t k = 0; k < sizeof widths / sizeof widths[0]; ++k) {
      const char* t = types[i];
      int w = widths[k];
      char text[4096];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<3x35x%dx%s>, %%b: tensor<35x%s>) -> tensor<3x35x%s> {\n"
               "%%z = stablehlo.constant dense<%s> : tensor<%s>\n"
               "%%0 = stablehlo.reduce(%%a init: %%z) applies stablehlo.maximum across dimensions = [2] : (tensor<3x35x%dx%s>, tensor<%s>) -> tensor<3x35x%s>\n"
               "%%1 = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<35x%s>) -> tensor<3x35x%s>\n"
               "%%2 = stablehlo.multiply %%0, %%1 : tensor<3x35x%s>\n"
               "%%3 = stablehlo.broadcast_in_dim %%2, dims = [0, 1] : (tensor<3x35x%s>) -> tensor<3x35x%dx%s>\n"
               "%%4 = stablehlo.minimum %%a, %%3 : tensor<3x35x%dx%s>\n"
               "%%5 = stablehlo.reduce(%%4 init: %%z) applies stablehlo.add across dimensions = [2] : (tensor<3x35x%dx%s>, tensor<%s>) -> tensor<3x35x%s>\n"
               "return %%5 : tensor<3x35x%s>\n}",
               w, t, t, t, i < 3 ? "1.0" : "1", t, w, t, t, t, t, t, t, t, w, t, w, t, w, t, t, t, t);
      check(text, 0, i == 2 ? 3e-2 : 1e-5);
    }
  }
}

static void check_softmax(const char* dims, const char* rows, const char* type, double tolerance) {
  char text[4096];
  const char *d = dims, *r = rows, *t = type;
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%sx%s>) -> tensor<%sx%s> {\n"
           "%%z = stablehlo.constant dense<0.0> : tensor<%s>\n"
           "%%i = stablehlo.constant dense<-1.0> : tensor<%s>\n"
           "%%0 = stablehlo.reduce(%%a init: %%i) applies stablehlo.maximum across dimensions = [1] : (tensor<%sx%s>, tensor<%s>) -> tensor<%sx%s>\n"
           "%%1 = stablehlo.broadcast_in_dim %%0, dims = [0] : (tensor<%sx%s>) -> tensor<%sx%s>\n"
           "%%2 = stablehlo.subtract %%a, %%1 : tensor<%sx%s>\n"
           "%%3 = stablehlo.exponential %%2 : tensor<%sx%s>\n"
           "%%4 = stablehlo.reduce(%%3 init: %%z) applies stablehlo.add across dimensions = [1] : (tensor<%sx%s>, tensor<%s>) -> tensor<%sx%s>\n"
           "%%5 = stablehlo.broadcast_in_dim %%4, dims = [0] : (tensor<%sx%s>) -> tensor<%sx%s>\n"
           "%%6 = stablehlo.divide %%3, %%5 : tensor<%sx%s>\n"
           "return %%6 : tensor<%sx%s>\n}",
           d, t, d, t, t, t, d, t, t, r, t, r, t, d, t, d, t, d, t, d, t, t, r, t, r, t, d, t, d, t, d, t);
  check(text, 0, tolerance);
}

static void test_softmax_of_short_rows(void** state) {
  (void)state;
  check_softmax("53x20", "53", "f32", 1e-5);
  check_softmax("33x65", "33", "bf16", 2e-2);
  check_softmax("2000x71", "2000", "f32", 1e-5);  // rows are kept, in chunks
  check_softmax("900x150", "900", "bf16", 2e-2);
  check_softmax("700x256", "700", "f64", 1e-5);
}

// Tiles, what is left of them at both edges, several operands, and what cannot be in tiles.
static void test_transpositions(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "i32", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x37x50x%s>) -> tensor<3x50x37x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<3x37x50x%s>) -> tensor<3x50x37x%s>\n"
             "return %%0 : tensor<3x50x37x%s>\n}", types[i], types[i], types[i], types[i], types[i]);
    check(text, 1, 0);
  }
  check("func.func @main(%a: tensor<48x32xf32>, %b: tensor<48x32xf32>, %c: tensor<32x48xf32>, %d: tensor<48xi8>) -> tensor<32x48xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>\n"
        "%1 = stablehlo.transpose %b, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>\n"
        "%2 = stablehlo.multiply %0, %1 : tensor<32x48xf32>\n"
        "%3 = stablehlo.add %2, %c : tensor<32x48xf32>\n"
        "%4 = stablehlo.convert %d : (tensor<48xi8>) -> tensor<48xf32>\n"
        "%5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<48xf32>) -> tensor<32x48xf32>\n"
        "%6 = stablehlo.subtract %3, %5 : tensor<32x48xf32>\n"
        "return %6 : tensor<32x48xf32>\n}", 1, 0);
  // One load is plain along the first digit, two along the second: those are turned.
  check("func.func @main(%a: tensor<17x20x18xf32>, %b: tensor<17x18x20xf32>, %c: tensor<17x18x20xf32>) -> tensor<18x20x17xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<17x20x18xf32>) -> tensor<18x20x17xf32>\n"
        "%1 = stablehlo.transpose %b, dims = [1, 2, 0] : (tensor<17x18x20xf32>) -> tensor<18x20x17xf32>\n"
        "%2 = stablehlo.transpose %c, dims = [1, 2, 0] : (tensor<17x18x20xf32>) -> tensor<18x20x17xf32>\n"
        "%3 = stablehlo.multiply %1, %2 : tensor<18x20x17xf32>\n"
        "%4 = stablehlo.subtract %0, %3 : tensor<18x20x17xf32>\n"
        "return %4 : tensor<18x20x17xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x18x4x23xi16>) -> tensor<23x4x18x5xi16> {\n"
        "%0 = stablehlo.transpose %a, dims = [3, 2, 1, 0] : (tensor<5x18x4x23xi16>) -> tensor<23x4x18x5xi16>\n"
        "return %0 : tensor<23x4x18x5xi16>\n}", 1, 0);
  check("func.func @main(%a: tensor<20x30xf32>, %z: tensor<f32>) -> tensor<34x22xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<20x30xf32>) -> tensor<30x20xf32>\n"
        "%1 = stablehlo.pad %0, %z, low = [3, 1], high = [1, 1], interior = [0, 0] : (tensor<30x20xf32>, tensor<f32>) -> tensor<34x22xf32>\n"
        "return %1 : tensor<34x22xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<40x64xf32>, %u: tensor<32x40xf32>, %i: tensor<i32>) -> tensor<64x40xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<40x64xf32>) -> tensor<64x40xf32>\n"
        "%1 = stablehlo.dynamic_update_slice %0, %u, %i, %i : (tensor<64x40xf32>, tensor<32x40xf32>, tensor<i32>, tensor<i32>) -> tensor<64x40xf32>\n"
        "return %1 : tensor<64x40xf32>\n}", 0, 0);
}

// Lanes a few elements apart and backwards, up to the first and last element of an array.
static void test_strides(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    for (int step = 2; step <= 5; ++step) {
      int count = 77 * step - step + 1;
      char text[1024];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<%dx%s>) -> (tensor<77x%s>, tensor<77x%s>, tensor<%dx%s>) {\n"
               "%%0 = stablehlo.slice %%a [0:%d:%d] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%1 = stablehlo.reverse %%0, dims = [0] : tensor<77x%s>\n"
               "%%2 = stablehlo.reverse %%a, dims = [0] : tensor<%dx%s>\n"
               "return %%0, %%1, %%2 : tensor<77x%s>, tensor<77x%s>, tensor<%dx%s>\n}",
               count, t, t, t, count, t, count, step, count, t, t, t, count, t, t, t, count, t);
      check(text, 0, 0);
    }
    // Neighbours at one step share what is read for them, up to the ends of the array.
    for (int count = 231; count <= 237; count += 2) {
      char phases[1024];
      snprintf(phases, sizeof phases,
               "func.func @main(%%a: tensor<%dx%s>) -> tensor<77x%s> {\n"
               "%%0 = stablehlo.slice %%a [0:229:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%1 = stablehlo.slice %%a [1:230:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%2 = stablehlo.slice %%a [%d:%d:3] : (tensor<%dx%s>) -> tensor<77x%s>\n"
               "%%3 = stablehlo.maximum %%0, %%1 : tensor<77x%s>\n"
               "%%4 = stablehlo.minimum %%3, %%2 : tensor<77x%s>\n"
               "return %%4 : tensor<77x%s>\n}",
               count, t, t, count, t, t, count, t, t, count - 229, count, count, t, t, t, t, t);
      check(phases, 1, 0);
    }
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<2x35x3x%s>) -> tensor<2x3x35x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<2x35x3x%s>) -> tensor<2x3x35x%s>\n"
             "return %%0 : tensor<2x3x35x%s>\n}", t, t, t, t, t);
    check(text, 1, 0);
  }
}

// The last two dimensions change places where both are a few elements long: loops are written out,
// and of lanes a few elements apart only those that there are are read.
static void test_small_matrices_turn(void** state) {
  (void)state;
  static const int sizes[][2] = {{2, 3}, {4, 4}, {3, 3}, {2, 8}, {5, 2}};
  static const char* const types[] = {"f32", "bf16", "i8", "f64"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 4; ++i) {
    const int m = sizes[i / 4][0], n = sizes[i / 4][1];
    const char* t = types[i % 4];
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<7x%dx%dx%s>, %%b: tensor<%dx%s>) -> tensor<7x%dx%dx%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<7x%dx%dx%s>) -> tensor<7x%dx%dx%s>\n"
             "%%1 = stablehlo.broadcast_in_dim %%b, dims = [1] : (tensor<%dx%s>) -> tensor<7x%dx%dx%s>\n"
             "%%2 = stablehlo.add %%0, %%1 : tensor<7x%dx%dx%s>\n"
             "return %%2 : tensor<7x%dx%dx%s>\n}",
             m, n, t, n, t, n, m, t, m, n, t, n, m, t, n, t, n, m, t, n, m, t, n, m, t);
    check(text, 1, 0);
  }
}

// Long rows that begin anywhere in a line, in large outputs: stores past the caches from the first
// aligned vector on, beside narrower outputs and segments.
static void test_rows_begin_anywhere(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<5x150xf32>, %b: tensor<5x141xf32>) -> tensor<5x291xf32> {\n"
        "%0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<5x150xf32>, tensor<5x141xf32>) -> tensor<5x291xf32>\n"
        "return %0 : tensor<5x291xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x150xf64>, %z: tensor<f64>) -> tensor<9x155xf64> {\n"
        "%0 = stablehlo.pad %a, %z, low = [1, 2], high = [3, 3], interior = [0, 0] : (tensor<5x150xf64>, tensor<f64>) -> tensor<9x155xf64>\n"
        "return %0 : tensor<9x155xf64>\n}", 1, 0);
  check("func.func @main(%a: tensor<5x300xf32>) -> (tensor<4x297xf32>, tensor<4x297xf16>, tensor<4x297xf32>) {\n"
        "%0 = stablehlo.slice %a [1:5, 3:300] : (tensor<5x300xf32>) -> tensor<4x297xf32>\n"
        "%1 = stablehlo.negate %0 : tensor<4x297xf32>\n"
        "%2 = stablehlo.convert %1 : (tensor<4x297xf32>) -> tensor<4x297xf16>\n"
        "%3 = stablehlo.abs %0 : tensor<4x297xf32>\n"
        "return %1, %2, %3 : tensor<4x297xf32>, tensor<4x297xf16>, tensor<4x297xf32>\n}", 0, 0);
  static const char* const narrower[] = {"bf16", "i8", "i1"};
  for (size_t i = 0; i < sizeof narrower / sizeof *narrower; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<5x300xf32>) -> tensor<4x297x%s> {\n"
             "%%0 = stablehlo.slice %%a [1:5, 3:300] : (tensor<5x300xf32>) -> tensor<4x297xf32>\n"
             "%%1 = stablehlo.convert %%0 : (tensor<4x297xf32>) -> tensor<4x297x%s>\n"
             "return %%1 : tensor<4x297x%s>\n}", narrower[i], narrower[i], narrower[i]);
    check(text, 1, 0);
  }
}

// Rows that change places: stored past the caches in the order in which they are read, alone, with
// what is read in another order, repeated, and in several pieces.
static void test_rows_change_places(void** state) {
  (void)state;
  for (int row = 15; row <= 81; row += row < 16 ? 1 : 13) {
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x4x5x%dxf32>, %%b: tensor<5x4x3x%dxf32>) -> tensor<5x4x3x%dxf32> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [2, 1, 0, 3] : (tensor<3x4x5x%dxf32>) -> tensor<5x4x3x%dxf32>\n"
             "%%1 = stablehlo.add %%0, %%b : tensor<5x4x3x%dxf32>\n"
             "return %%1 : tensor<5x4x3x%dxf32>\n}", row, row, row, row, row, row, row);
    check(text, 1, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x5x%dxf32>) -> tensor<3x5x4x%dxf32> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [1, 0, 2] : (tensor<4x5x%dxf32>) -> tensor<5x4x%dxf32>\n"
             "%%1 = stablehlo.broadcast_in_dim %%0, dims = [1, 2, 3] : (tensor<5x4x%dxf32>) -> tensor<3x5x4x%dxf32>\n"
             "%%2 = stablehlo.negate %%1 : tensor<3x5x4x%dxf32>\n"
             "return %%2 : tensor<3x5x4x%dxf32>\n}", row, row, row, row, row, row, row, row);
    check(text, 1, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<6x2x7x%dxbf16>, %%i: tensor<i32>) -> tensor<7x6x2x%dxbf16> {\n"
             "%%0 = stablehlo.slice %%a [0:6, 0:2, 4:7, 0:%d] : (tensor<6x2x7x%dxbf16>) -> tensor<6x2x3x%dxbf16>\n"
             "%%1 = stablehlo.slice %%a [0:6, 0:2, 0:4, 0:%d] : (tensor<6x2x7x%dxbf16>) -> tensor<6x2x4x%dxbf16>\n"
             "%%2 = stablehlo.concatenate %%0, %%1, dim = 2 : (tensor<6x2x3x%dxbf16>, tensor<6x2x4x%dxbf16>) -> tensor<6x2x7x%dxbf16>\n"
             "%%3 = stablehlo.transpose %%2, dims = [2, 0, 1, 3] : (tensor<6x2x7x%dxbf16>) -> tensor<7x6x2x%dxbf16>\n"
             "return %%3 : tensor<7x6x2x%dxbf16>\n}", row, row, row, row, row, row, row, row, row, row, row, row, row, row);
    check(text, 1, 0);
  }
}

// Dimensions that are split, moved in and merged again, and shifted around their end: rows that stay
// together are one loop, and where a shift crosses a part is cut, not asked at run time.
static void test_parts_change_places(void** state) {
  (void)state;
  for (int row = 3; row <= 19; row += 16) {
    char text[3072];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<12x4x%dxf32>) -> tensor<2x8x12x%dxf32> {\n"
             "%%0 = stablehlo.reshape %%a : (tensor<12x4x%dxf32>) -> tensor<2x2x3x4x4x%dxf32>\n"
             "%%1 = stablehlo.transpose %%0, dims = [0, 1, 3, 2, 4, 5] : (tensor<2x2x3x4x4x%dxf32>) -> tensor<2x2x4x3x4x%dxf32>\n"
             "%%2 = stablehlo.reshape %%1 : (tensor<2x2x4x3x4x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "%%3 = stablehlo.slice %%2 [0:2, 6:8, 0:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> tensor<2x2x12x%dxf32>\n"
             "%%4 = stablehlo.slice %%2 [0:2, 0:6, 0:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> tensor<2x6x12x%dxf32>\n"
             "%%5 = stablehlo.concatenate %%3, %%4, dim = 1 : (tensor<2x2x12x%dxf32>, tensor<2x6x12x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "%%6 = stablehlo.slice %%5 [0:2, 0:8, 9:12, 0:%d] : (tensor<2x8x12x%dxf32>) -> tensor<2x8x3x%dxf32>\n"
             "%%7 = stablehlo.slice %%5 [0:2, 0:8, 0:9, 0:%d] : (tensor<2x8x12x%dxf32>) -> tensor<2x8x9x%dxf32>\n"
             "%%8 = stablehlo.concatenate %%6, %%7, dim = 2 : (tensor<2x8x3x%dxf32>, tensor<2x8x9x%dxf32>) -> tensor<2x8x12x%dxf32>\n"
             "return %%8 : tensor<2x8x12x%dxf32>\n}",
             4 * row, row, 4 * row, row, row, row, row, row, row, row, row, row, row, row, row, row,
             row, row, row, row, row, row, row, row, row, row, row);
    check(text, 1, 0);
  }
  check("func.func @main(%a: tensor<3x2x6x5xf32>) -> tensor<3x6x2x5xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<3x2x6x5xf32>) -> tensor<3x6x2x5xf32>\n"
        "%1 = stablehlo.negate %0 : tensor<3x6x2x5xf32>\n"
        "return %1 : tensor<3x6x2x5xf32>\n}", 1, 0);
}

enum { SUM_COUNT = 333 };

// Sums of a few rows in memory that is displaced from its alignment.
static void sum_displaced(const hlo_target_t* target, size_t displaced_bytes, float* out) {
  static const char text[] =
      "func.func @main(%a: tensor<9x333xf32>) -> tensor<333xf32> {\n"
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : "
      "(tensor<9x333xf32>, tensor<f32>) -> tensor<333xf32>\n"
      "return %0 : tensor<333xf32>\n}";
  hlo_module_t* module;
  expect_ok(hlo_parse_module(text, strlen(text), "test", NULL, &module), text, NULL);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_schedule_t* schedule;
  const hlo_func_t* func = hlo_module_entry(module);
  expect_ok(hlo_schedule_create(func, target, &arena, &schedule), text, NULL);
  memory_t memory = {.displaced_bytes = displaced_bytes};
  float* in = allocate(&memory, func->body->args[0]);
  for (uint32_t i = 0; i < 9 * SUM_COUNT; ++i) in[i] = 1.0f / (float)(i + 1);
  make_constants(func->body, &memory);
  run_steps(schedule, target, &arena, &memory, text);
  const hlo_value_t* result = hlo_node_operand(hlo_region_terminator(func->body), 0);
  memcpy(out, memory.of[result->index], SUM_COUNT * sizeof *out);
  drop_memory(&memory);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

// Where lanes are left over depends on sizes alone, never on where memory lies.
static void test_bits_do_not_depend_on_alignment(void** state) {
  (void)state;
  static const hlo_cpu_t cpus[] = {{.level = HLO_CPU_LEVEL_AVX512},
                                   {.level = HLO_CPU_LEVEL_AVX2},
                                   {.level = HLO_CPU_LEVEL_SSE2}};
  for (uint32_t i = 0; i < sizeof cpus / sizeof *cpus; ++i) {
    hlo_target_t target;
    hlo_target_init(&cpus[i], &target);
    target.tile.memories[target.tile.memory_count - 2].capacity_bytes = 1000;
    float expected[SUM_COUNT], found[SUM_COUNT];
    sum_displaced(&target, 0, expected);
    for (size_t bytes = 4; bytes < 64; bytes += 4) {
      sum_displaced(&target, bytes, found);
      assert_memory_equal(found, expected, sizeof found);
    }
  }
}

// Largest and smallest elements, also among NaNs.
static void test_extremes(void** state) {
  (void)state;
  const char *ops[] = {"maximum", "minimum"}, *inits[] = {"0xFF800000", "0x7F800000"};
  for (uint32_t i = 0; i < 2; ++i) {
    char text[1024];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<6x203xf32>) -> (tensor<6xf32>, tensor<6xf32>) {\n"
             "%%i = stablehlo.constant dense<%s> : tensor<f32>\n"
             "%%n = stablehlo.sqrt %%a : tensor<6x203xf32>\n"
             "%%0 = stablehlo.reduce(%%n init: %%i) applies stablehlo.%s across dimensions = [1] : (tensor<6x203xf32>, tensor<f32>) -> tensor<6xf32>\n"
             "%%1 = stablehlo.reduce(%%a init: %%i) applies stablehlo.%s across dimensions = [1] : (tensor<6x203xf32>, tensor<f32>) -> tensor<6xf32>\n"
             "return %%0, %%1 : tensor<6xf32>, tensor<6xf32>\n}", inits[i], ops[i], ops[i]);
    check(text, 0, 0);
  }
}

// Innermost dimensions of a few elements: transposed, concatenated, computed with.
static void test_woven(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char* t = types[i];
    for (int count = 2; count <= 9; ++count) {
      char text[2048];
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<2x%dx77x%s>, %%b: tensor<%dx%s>) -> tensor<2x77x%dx%s> {\n"
               "%%0 = stablehlo.transpose %%a, dims = [0, 2, 1] : (tensor<2x%dx77x%s>) -> tensor<2x77x%dx%s>\n"
               "%%1 = stablehlo.broadcast_in_dim %%b, dims = [2] : (tensor<%dx%s>) -> tensor<2x77x%dx%s>\n"
               "%%2 = stablehlo.maximum %%0, %%1 : tensor<2x77x%dx%s>\n"
               "return %%2 : tensor<2x77x%dx%s>\n}",
               count, t, count, t, count, t, count, t, count, t, count, t, count, t, count, t, count, t);
      check(text, 1, 0);
    }
    char text[2048];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<83x%s>, %%b: tensor<83x2x%s>) -> tensor<83x3x%s> {\n"
             "%%0 = stablehlo.reshape %%a : (tensor<83x%s>) -> tensor<83x1x%s>\n"
             "%%1 = stablehlo.concatenate %%b, %%0, dim = 1 : (tensor<83x2x%s>, tensor<83x1x%s>) -> tensor<83x3x%s>\n"
             "return %%1 : tensor<83x3x%s>\n}", t, t, t, t, t, t, t, t, t);
    check(text, 0, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<3x70x%s>, %%o: tensor<100x3x%s>, %%i: tensor<i32>) -> tensor<100x3x%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [1, 0] : (tensor<3x70x%s>) -> tensor<70x3x%s>\n"
             "%%1 = stablehlo.dynamic_update_slice %%o, %%0, %%i, %%i : (tensor<100x3x%s>, tensor<70x3x%s>, tensor<i32>, tensor<i32>) -> tensor<100x3x%s>\n"
             "return %%1 : tensor<100x3x%s>\n}", t, t, t, t, t, t, t, t, t);
    check(text, 0, 0);
    snprintf(text, sizeof text,  // every element along the last dimension a piece of its own
             "func.func @main(%%a: tensor<70x1x%s>, %%b: tensor<70x2x%s>, %%o: tensor<4x70x3x%s>, %%i: tensor<i32>) -> (tensor<70x3x%s>, tensor<4x70x3x%s>) {\n"
             "%%z = stablehlo.constant dense<0> : tensor<i32>\n"
             "%%0 = stablehlo.concatenate %%a, %%b, dim = 1 : (tensor<70x1x%s>, tensor<70x2x%s>) -> tensor<70x3x%s>\n"
             "%%1 = stablehlo.maximum %%0, %%0 : tensor<70x3x%s>\n"
             "%%2 = stablehlo.reshape %%1 : (tensor<70x3x%s>) -> tensor<1x70x3x%s>\n"
             "%%3 = stablehlo.dynamic_update_slice %%o, %%2, %%i, %%z, %%z : (tensor<4x70x3x%s>, tensor<1x70x3x%s>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x70x3x%s>\n"
             "return %%1, %%3 : tensor<70x3x%s>, tensor<4x70x3x%s>\n}", t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
    check(text, 0, 0);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<90x3x%s>, %%b: tensor<90x%s>) -> (tensor<90x3x%s>, tensor<90x3x%s>) {\n"
             "%%0 = stablehlo.broadcast_in_dim %%b, dims = [0] : (tensor<90x%s>) -> tensor<90x3x%s>\n"
             "%%1 = stablehlo.maximum %%a, %%0 : tensor<90x3x%s>\n"
             "%%2 = stablehlo.minimum %%a, %%1 : tensor<90x3x%s>\n"
             "return %%1, %%2 : tensor<90x3x%s>, tensor<90x3x%s>\n}", t, t, t, t, t, t, t, t, t, t);
    check(text, 1, 0);
  }
}

// Broadcasts along some of several short dimensions that lanes run over at once, exponentials being
// worth it; at the ends of arrays too.
static void test_lanes_over_short_dimensions(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "ui16", "bf16", "i8", "i1"};
  for (uint32_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    const char *t = types[i], *op = i == 0 || i == 1 || i == 3 ? "exponential" : "not";
    for (int count = 2; count <= 20; count += count < 7 ? 1 : 6) {
      char whole[64], groups[64], shorts[64], text[2048];
      snprintf(whole, sizeof whole, "tensor<3x7x5x%dx%s>", count, t);
      snprintf(groups, sizeof groups, "tensor<3x5x%s>", t);
      snprintf(shorts, sizeof shorts, "tensor<%dx%s>", count, t);
      snprintf(text, sizeof text,
               "func.func @main(%%a: %s, %%b: %s, %%c: %s) -> (%s, %s) {\n"
               "%%0 = stablehlo.broadcast_in_dim %%b, dims = [0, 2] : (%s) -> %s\n"
               "%%1 = stablehlo.broadcast_in_dim %%c, dims = [3] : (%s) -> %s\n"
               "%%2 = stablehlo.maximum %%a, %%0 : %s\n"
               "%%3 = stablehlo.minimum %%a, %%1 : %s\n"
               "%%4 = stablehlo.%s %%2 : %s\n"
               "%%5 = stablehlo.%s %%3 : %s\n"
               "return %%4, %%5 : %s, %s\n}",
               whole, groups, shorts, whole, whole, groups, whole, shorts, whole, whole, whole, op,
               whole, op, whole, whole, whole);
      check(text, 0, 1e-3);
    }
  }
}

// Products of pairs, as complex numbers are, of many lengths: their results may lie where they did.
static void test_woven_in_place(void** state) {
  (void)state;
  for (int rows = 1; rows <= 3; ++rows) {
    for (int count = 3; count <= 77; count += 19) {
      char a[48], b[48], text[2048];
      snprintf(a, sizeof a, "tensor<%dx%dx2xf32>", rows, count);
      snprintf(b, sizeof b, "tensor<%dx%dx1xf32>", rows, count);
      snprintf(text, sizeof text,
               "func.func @main(%%a: %s, %%b: %s) -> (%s, %s) {\n"
               "%%0 = stablehlo.slice %%a [0:%d, 0:%d, 0:1] : (%s) -> %s\n"
               "%%1 = stablehlo.slice %%a [0:%d, 0:%d, 1:2] : (%s) -> %s\n"
               "%%2 = stablehlo.slice %%b [0:%d, 0:%d, 0:1] : (%s) -> %s\n"
               "%%3 = stablehlo.multiply %%0, %%2 : %s\n"
               "%%4 = stablehlo.multiply %%1, %%2 : %s\n"
               "%%5 = stablehlo.concatenate %%3, %%4, dim = 2 : (%s, %s) -> %s\n"
               "%%6 = stablehlo.concatenate %%1, %%0, dim = 2 : (%s, %s) -> %s\n"
               "return %%5, %%6 : %s, %s\n}",
               a, a, a, a, rows, count, a, b, rows, count, a, b, rows, count, a, b, b, b, b, b, a, b,
               b, a, a, a);
      check(text, 0, 0);
    }
  }
}

// Both parts of pairs are made of the same: it is computed once, however much it is.
static void test_woven_parts_share(void** state) {
  (void)state;
  enum { OPS = 100 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "func.func @main(%0: tensor<4000xf64>) -> tensor<4000x2xf64> {\n");
  for (int i = 0; i < OPS; ++i) {
    hlo_strbuf_printf(&text, "%%%d = stablehlo.%s %%%d, %%0 : tensor<4000xf64>\n", i + 1,
                      i % 2 ? "maximum" : "subtract", i);
  }
  hlo_strbuf_printf(&text, "%%a = stablehlo.negate %%%d : tensor<4000xf64>\n", OPS);
  hlo_strbuf_printf(&text, "%%b = stablehlo.reshape %%%d : (tensor<4000xf64>) -> tensor<4000x1xf64>\n", OPS);
  hlo_strbuf_puts(&text,
                  "%c = stablehlo.reshape %a : (tensor<4000xf64>) -> tensor<4000x1xf64>\n"
                  "%d = stablehlo.concatenate %b, %c, dim = 1 : (tensor<4000x1xf64>, tensor<4000x1xf64>) -> tensor<4000x2xf64>\n"
                  "return %d : tensor<4000x2xf64>\n}");
  const hlo_cpu_t cpu = {.level = HLO_CPU_LEVEL_AVX512};
  hlo_target_t target;
  hlo_target_init(&cpu, &target);
  check_on(hlo_strbuf_text(&text), &target, 1, 0);
  hlo_strbuf_deinit(&text);
}

static void test_gather(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<12x20xf32>, %i: tensor<5x1xi32>) -> tensor<5x20xf32> {\n"
        "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 20>} : (tensor<12x20xf32>, tensor<5x1xi32>) -> tensor<5x20xf32>\n"
        "return %0 : tensor<5x20xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<7xf32>, %i: tensor<50x1xi32>) -> tensor<50xf32> {\n"
        "%0 = \"stablehlo.gather\"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<7xf32>, tensor<50x1xi32>) -> tensor<50xf32>\n"
        "return %0 : tensor<50xf32>\n}", 1, 0);
}

// Tables of one register to a few, and one that is none; places beyond them; elements of all widths.
static void test_tables(void** state) {
  (void)state;
  static const char* const types[] = {"f32", "f64", "bf16", "f8E5M2", "i8", "i64", "ui16", "f16"};
  static const char* const places[] = {"i32", "ui8", "i64", "i16"};
  static const int sizes[] = {2, 8, 13, 64, 65, 200};
  char text[2000];
  for (unsigned i = 0; i < sizeof types / sizeof *types * (sizeof sizes / sizeof *sizes); ++i) {
    const char *t = types[i % 8], *p = places[i % 4];
    const int size = sizes[i / 8];
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<%dx%s>, %%i: tensor<75x1x%s>) -> tensor<75x%s> {\n"
             "%%0 = \"stablehlo.gather\"(%%a, %%i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>} : (tensor<%dx%s>, tensor<75x1x%s>) -> tensor<75x%s>\n"
             "return %%0 : tensor<75x%s>\n}", size, t, p, t, size, t, p, t, t);
    check(text, 1, 0);
  }
  check("func.func @main(%a: tensor<4x5xf32>, %i: tensor<75x2xi32>) -> tensor<75xf32> {\n"
        "%0 = stablehlo.negate %i : tensor<75x2xi32>\n"
        "%1 = \"stablehlo.gather\"(%a, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<4x5xf32>, tensor<75x2xi32>) -> tensor<75xf32>\n"
        "return %1 : tensor<75xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<9x7xf32>, %b: tensor<7x9xf32>) -> tensor<7x9xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<9x7xf32>) -> tensor<7x9xf32>\n"
        "%1 = stablehlo.add %0, %b : tensor<7x9xf32>\n"
        "return %1 : tensor<7x9xf32>\n}", 1, 0);
}

static void test_reduce(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<6x37xf32>) -> tensor<6xf32> {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<6x37xf32>, tensor<f32>) -> tensor<6xf32>\n"
        "%1 = stablehlo.add %0, %0 : tensor<6xf32>\n"
        "return %1 : tensor<6xf32>\n}", 1, 1e-5);
  check("func.func @main(%a: tensor<37x22xf32>) -> tensor<22xf32> {\n"
        "%z = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<37x22xf32>, tensor<f32>) -> tensor<22xf32>\n"
        "return %0 : tensor<22xf32>\n}", 1, 1e-5);
  check("func.func @main(%a: tensor<4x9x70xf32>) -> tensor<9xf32> {\n"
        "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<4x9x70xf32>, tensor<f32>) -> tensor<9xf32>\n"
        "return %0 : tensor<9xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<40x21xi1>) -> (tensor<40xi1>, tensor<i1>) {\n"
        "%z = stablehlo.constant dense<true> : tensor<i1>\n"
        "%f = stablehlo.constant dense<false> : tensor<i1>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.and across dimensions = [1] : (tensor<40x21xi1>, tensor<i1>) -> tensor<40xi1>\n"
        "%1 = stablehlo.reduce(%a init: %f) applies stablehlo.or across dimensions = [0, 1] : (tensor<40x21xi1>, tensor<i1>) -> tensor<i1>\n"
        "return %0, %1 : tensor<40xi1>, tensor<i1>\n}", 2, 0);
  check("func.func @main(%a: tensor<300xbf16>) -> tensor<bf16> {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300xbf16>, tensor<bf16>) -> tensor<bf16>\n"
        "return %0 : tensor<bf16>\n}", 1, 1e-2);
}

static void test_arg_reduce(void** state) {
  (void)state;
  static const char body[] =
      "%%0:2 = stablehlo.reduce(%%a init: %%z), (%%i init: %%j) across dimensions = [%d] : (tensor<23x41xf32>, tensor<23x41xi32>, tensor<f32>, tensor<i32>) -> (tensor<%sxf32>, tensor<%sxi32>)\n"
      "reducer(%%x: tensor<f32>, %%y: tensor<f32>) (%%k: tensor<i32>, %%l: tensor<i32>) {\n"
      "%%1 = stablehlo.compare GT, %%x, %%y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%2 = stablehlo.compare NE, %%x, %%x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%3 = stablehlo.or %%1, %%2 : tensor<i1>\n"
      "%%4 = stablehlo.compare EQ, %%x, %%y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "%%5 = stablehlo.compare LT, %%k, %%l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "%%6 = stablehlo.and %%4, %%5 : tensor<i1>\n"
      "%%7 = stablehlo.or %%3, %%6 : tensor<i1>\n"
      "%%8 = stablehlo.select %%3, %%x, %%y : tensor<i1>, tensor<f32>\n"
      "%%9 = stablehlo.select %%7, %%k, %%l : tensor<i1>, tensor<i32>\n"
      "stablehlo.return %%8, %%9 : tensor<f32>, tensor<i32>\n}\n";
  for (int dim = 0; dim < 2; ++dim) {
    char reduce[2048], text[4096];
    const char* left = dim ? "23" : "41";
    snprintf(reduce, sizeof reduce, body, dim, left, left);
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<23x41xf32>) -> tensor<%sxi32> {\n"
             "%%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
             "%%j = stablehlo.constant dense<0> : tensor<i32>\n"
             "%%i = stablehlo.iota dim = %d : tensor<23x41xi32>\n%s"
             "return %%0#1 : tensor<%sxi32>\n}",
             left, dim, reduce, left);
    check(text, 1, 0);
  }
}

static void test_windows(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<2x9x9x20xf32>) -> tensor<2x5x5x20xf32> {\n"
        "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%0 = \"stablehlo.reduce_window\"(%a, %i) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [0, 1], [1, 0], [0, 0]]> : tensor<4x2xi64>}> ({\n"
        "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "%m = stablehlo.maximum %x, %y : tensor<f32>\n"
        "stablehlo.return %m : tensor<f32>\n}) : (tensor<2x9x9x20xf32>, tensor<f32>) -> tensor<2x5x5x20xf32>\n"
        "return %0 : tensor<2x5x5x20xf32>\n}", 1, 0);
}

static void test_updates(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<20x18xf32>, %u: tensor<3x11xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<20x18xf32> {\n"
        "%0 = stablehlo.negate %u : tensor<3x11xf32>\n"
        "%1 = stablehlo.dynamic_update_slice %a, %0, %i, %j : (tensor<20x18xf32>, tensor<3x11xf32>, tensor<i32>, tensor<i32>) -> tensor<20x18xf32>\n"
        "return %1 : tensor<20x18xf32>\n}", 1, 0);
  check("func.func @main(%u: tensor<3x11xf32>, %i: tensor<i32>) -> tensor<20x11xf32> {\n"
        "%c = stablehlo.constant dense<1.5> : tensor<f32>\n"
        "%z = stablehlo.constant dense<0> : tensor<i32>\n"
        "%a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<20x11xf32>\n"
        "%s = stablehlo.dynamic_slice %a, %i, %z, sizes = [3, 11] : (tensor<20x11xf32>, tensor<i32>, tensor<i32>) -> tensor<3x11xf32>\n"
        "%0 = stablehlo.add %s, %u : tensor<3x11xf32>\n"
        "%1 = stablehlo.dynamic_update_slice %a, %0, %i, %z : (tensor<20x11xf32>, tensor<3x11xf32>, tensor<i32>, tensor<i32>) -> tensor<20x11xf32>\n"
        "return %1 : tensor<20x11xf32>\n}", 2, 0);
}

static void test_softmax(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<6x45xf32>) -> tensor<6x45xf32> {\n"
        "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<6x45xf32>, tensor<f32>) -> tensor<6xf32>\n"
        "%1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<6xf32>) -> tensor<6x45xf32>\n"
        "%2 = stablehlo.subtract %a, %1 : tensor<6x45xf32>\n"
        "%3 = stablehlo.exponential %2 : tensor<6x45xf32>\n"
        "%4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<6x45xf32>, tensor<f32>) -> tensor<6xf32>\n"
        "%5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xf32>) -> tensor<6x45xf32>\n"
        "%6 = stablehlo.divide %3, %5 : tensor<6x45xf32>\n"
        "return %6 : tensor<6x45xf32>\n}", 1, 1e-5);
}

static void test_sweeps(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<700x1037xf32>, %b: tensor<700x1037xf32>) -> tensor<1037xf32> {\n"
        "%z = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "%m = stablehlo.multiply %a, %b : tensor<700x1037xf32>\n"
        "%0 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0] : (tensor<700x1037xf32>, tensor<f32>) -> tensor<1037xf32>\n"
        "return %0 : tensor<1037xf32>\n}", 1, 1e-4);
}

static void test_blocks(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<64x96xf32>) -> tensor<96x64xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>\n"
        "%1 = stablehlo.negate %0 : tensor<96x64xf32>\n"
        "return %1 : tensor<96x64xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<3x64x5x64xf32>) -> tensor<3x64x5x64xf32> {\n"
        "%0 = stablehlo.transpose %a, dims = [0, 3, 2, 1] : (tensor<3x64x5x64xf32>) -> tensor<3x64x5x64xf32>\n"
        "%1 = stablehlo.negate %0 : tensor<3x64x5x64xf32>\n"
        "return %1 : tensor<3x64x5x64xf32>\n}", 1, 0);
}

/// One dot_general of random operands; dims as text "2x3", numbers "[0], [1]".
static void check_dot(const char* lhs, const char* rhs, const char* result, const char* batch,
                      const char* depth, double tolerance) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<%s> {\n"
           "%%0 = stablehlo.dot_general %%a, %%b, batching_dims = %s, contracting_dims = %s : "
           "(tensor<%s>, tensor<%s>) -> tensor<%s>\n"
           "return %%0 : tensor<%s>\n}",
           lhs, rhs, result, batch, depth, lhs, rhs, result, result);
  check(text, 1, tolerance);
}

// Products of elements that are multiplied in groups: whole ones and parts, each operand along the
// contraction and across, a panel and its edge, in place and packed.
static void check_groups(const char* const types[3]) {
  static const char* const shapes[][5] = {
      {"9x16", "16x70", "9x70", "[] x []", "[1] x [0]"},
      {"9x17", "17x70", "9x70", "[] x []", "[1] x [0]"},
      {"17x21", "19x17", "21x19", "[] x []", "[0] x [1]"},
      {"20x21", "20x130", "21x130", "[] x []", "[0] x [0]"},
      {"10x18", "33x18", "10x33", "[] x []", "[1] x [1]"},
      {"3x12x11", "3x11x20", "3x12x20", "[0] x [0]", "[2] x [1]"},
      {"12x3x9", "9x3x20", "12x20", "[] x []", "[1, 2] x [1, 0]"},
      {"9x11", "11x300", "9x300", "[] x []", "[1] x [0]"},
      {"40x1", "1x20", "40x20", "[] x []", "[1] x [0]"},
  };
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    char text[3][32];
    for (uint32_t k = 0; k < 3; ++k) snprintf(text[k], 32, "%s%s", shapes[i][k], types[k]);
    check_dot(text[0], text[1], text[2], shapes[i][3], shapes[i][4], 2e-2);
  }
}

static void test_small_dots(void** state) {
  (void)state;
  check_dot("9x3xf32", "3x3xf32", "9x3xf32", "[] x []", "[1] x [0]", 1e-5);
  check_dot("5x8x8xf32", "5x8x8xf32", "5x8x8xf32", "[0] x [0]", "[2] x [1]", 1e-5);
  check_dot("4x5x2xf64", "7x4x2xf64", "5x7xf64", "[] x []", "[0, 2] x [1, 2]", 1e-12);
  check_dot("300xf32", "300xf32", "f32", "[] x []", "[0] x [0]", 1e-4);
  check_dot("8x6xbf16", "6x5xbf16", "8x5xbf16", "[] x []", "[1] x [0]", 1e-2);
  check_dot("8x6xi8", "6x5xi8", "8x5xi32", "[] x []", "[1] x [0]", 0);
  check_dot("6x8xi32", "6x5xi32", "8x5xi32", "[] x []", "[0] x [0]", 0);
  check_dot("8x6xi8", "6x40xi8", "8x40xi8", "[] x []", "[1] x [0]", 0);
  check_dot("8x6xi64", "5x6xi64", "8x5xi64", "[] x []", "[1] x [1]", 0);
  check("func.func @main(%a: tensor<9x4xf32>, %b: tensor<4x6xf32>, %c: tensor<6xf32>) -> tensor<9x6xf32> {\n"
        "%0 = stablehlo.add %a, %a : tensor<9x4xf32>\n"
        "%1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<9x4xf32>, tensor<4x6xf32>) -> tensor<9x6xf32>\n"
        "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<9x6xf32>\n"
        "%3 = stablehlo.add %1, %2 : tensor<9x6xf32>\n"
        "return %3 : tensor<9x6xf32>\n}", 1, 1e-5);
}

static void test_matrix_products(void** state) {
  (void)state;
  check_dot("9x17xf32", "17x70xf32", "9x70xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("70x9xf32", "9x1xf32", "70x1xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("1x33xf32", "33x101xf32", "1x101xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("33x1xf32", "33x101xf32", "1x101xf32", "[] x []", "[0] x [0]", 1e-4);
  check_dot("40x19xf32", "19x37xf32", "40x37xf32", "[] x []", "[1] x [0]", 1e-4);
  check_dot("19x40xf32", "37x19xf32", "40x37xf32", "[] x []", "[0] x [1]", 1e-4);
  check_dot("67x21xf64", "21x67xf64", "67x67xf64", "[] x []", "[1] x [0]", 1e-12);
  // A large operand, panels in slices, sums in the output, with an edge.
  check_dot("2x200x131xf32", "2x131x261xf32", "2x200x261xf32", "[0] x [0]", "[2] x [1]", 1e-3);
  check_dot("3x20x12xf32", "3x12x25xf32", "3x20x25xf32", "[0] x [0]", "[2] x [1]", 1e-4);
  check_dot("2x20x3x12xf32", "2x25x3x12xf32", "2x3x20x25xf32", "[0, 2] x [0, 2]", "[3] x [3]",
            1e-4);
  check_dot("5x12x20xf32", "20x12x9xf32", "5x9xf32", "[] x []", "[2, 1] x [0, 1]", 1e-3);
  check_dot("5x12x20xf32", "20x7x9xf32", "5x12x7x9xf32", "[] x []", "[2] x [0]", 1e-4);
  check_dot("20x12x5xf32", "7x20x9xf32", "12x5x7x9xf32", "[] x []", "[0] x [1]", 1e-4);
  check_dot("30x64xbf16", "64x40xbf16", "30x40xf32", "[] x []", "[1] x [0]", 1e-3);
  check_dot("30x64xbf16", "40x64xbf16", "30x40xbf16", "[] x []", "[1] x [1]", 2e-2);
  check_dot("2x64xbf16", "64x40xbf16", "2x40xbf16", "[] x []", "[1] x [0]", 2e-2);
  check_dot("30x20xi8", "20x40xi8", "30x40xi32", "[] x []", "[1] x [0]", 0);
  check_dot("12x1040xi8", "1040x20xi8", "12x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("12x40xui8", "40x20xi8", "12x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("30x20xi64", "20x40xi64", "30x40xi64", "[] x []", "[1] x [0]", 0);
  check_dot("8x1040xi8", "1040x20xi8", "8x20xi64", "[] x []", "[1] x [0]", 0);
  static const char* const bytes[][3] = {{"xi8", "xi8", "xi32"},   {"xui8", "xui8", "xi32"},
                                         {"xui8", "xi8", "xi32"},  {"xi8", "xui8", "xi32"},
                                         {"xi8", "xi8", "xi8"},    {"xui8", "xui8", "xui32"},
                                         {"xi8", "xi8", "xi64"},   {"xui8", "xui8", "xui8"},
                                         {"xbf16", "xbf16", "xf32"}, {"xbf16", "xbf16", "xbf16"}};
  for (uint32_t i = 0; i < sizeof bytes / sizeof *bytes; ++i) check_groups(bytes[i]);
  check_dot("13x1543xf32", "1543x70xf32", "13x70xf32", "[] x []", "[1] x [0]", 1e-2);
  check_dot("70x1600xf64", "1600x9xf64", "70x9xf64", "[] x []", "[1] x [0]", 1e-9);
  check_dot("13x6300xi8", "6300x20xi8", "13x20xi32", "[] x []", "[1] x [0]", 0);
  check_dot("2x1601x14xf32", "2x40x1601xf32", "2x14x40xf32", "[0] x [0]", "[1] x [2]", 1e-2);
  check_dot("7x512xf32", "512x19xf32", "7x19xf32", "[] x []", "[1] x [0]", 1e-3);
  check_dot("40x512xf32", "512x300xf32", "40x300xf32", "[] x []", "[1] x [0]", 1e-3);
}

// Lanes along the contraction: few rows, few columns, what vectors leave over, packed or in place.
static void test_long_products(void** state) {
  (void)state;
  check_dot("3x300xf32", "21x300xf32", "3x21xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("16x256xf32", "5x256xf32", "16x5xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("259x2xf32", "21x259xf32", "2x21xf32", "[] x []", "[0] x [1]", 1e-2);
  check_dot("30x300xf32", "300x5xf32", "30x5xf32", "[] x []", "[1] x [0]", 1e-2);
  check_dot("2x9x300xf64", "2x300x7xf64", "2x9x7xf64", "[0] x [0]", "[2] x [1]", 1e-9);
  check_dot("2x9x3x300xf32", "300x7xf32", "2x9x3x7xf32", "[] x []", "[3] x [0]", 1e-2);
  check_dot("8x1024xf32", "20x1024xf32", "8x20xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("20x1024xf32", "9x1024xf32", "20x9xf32", "[] x []", "[1] x [1]", 1e-2);
  check_dot("4x300xbf16", "21x300xbf16", "4x21xbf16", "[] x []", "[1] x [1]", 3e-2);
  check_dot("30x301xi8", "301x3xi8", "30x3xi32", "[] x []", "[1] x [0]", 0);
  check_dot("30x301xi64", "301x3xi64", "30x3xi64", "[] x []", "[1] x [0]", 0);
  check("func.func @main(%a: tensor<30x300xf32>, %b: tensor<300x5xf32>, %c: tensor<5xf32>, %d: tensor<30x5xf32>) -> tensor<30x5xf32> {\n"
        "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<30x300xf32>, tensor<300x5xf32>) -> tensor<30x5xf32>\n"
        "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<5xf32>) -> tensor<30x5xf32>\n"
        "%3 = stablehlo.add %1, %2 : tensor<30x5xf32>\n"
        "%4 = stablehlo.maximum %3, %d : tensor<30x5xf32>\n"
        "return %4 : tensor<30x5xf32>\n}", 1, 1e-2);
}

static void check_convolution(const char* lhs, const char* rhs, const char* result,
                              const char* numbers, const char* window, int groups, int batch_groups) {
  char text[1024];
  snprintf(text, sizeof text,
           "func.func @main(%%a: tensor<%s>, %%b: tensor<%s>) -> tensor<%s> {\n"
           "%%0 = stablehlo.convolution(%%a, %%b) dim_numbers = %s, window = {%s} "
           "{feature_group_count = %d : i64, batch_group_count = %d : i64} : "
           "(tensor<%s>, tensor<%s>) -> tensor<%s>\n"
           "return %%0 : tensor<%s>\n}",
           lhs, rhs, result, numbers, window, groups, batch_groups, lhs, rhs, result, result);
  check(text, 1, strstr(lhs, "f16") ? 2e-2 : 1e-3);
}

static void test_convolutions(void** state) {
  (void)state;
  check_convolution("2x7x9x5xf32", "3x3x5x18xf32", "2x7x9x18xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1, 1);
  check_convolution("2x5x7x9xf32", "6x5x3x2xf32", "2x6x3x5xf32",
                    "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                    "stride = [2, 2], pad = [[0, 1], [2, -1]]", 1, 1);
  check_convolution("2x9x4xf32", "3x4x20xf32", "2x21x20xf32", "[b, 0, f]x[0, i, o]->[b, 0, f]",
                    "pad = [[3, 3]], lhs_dilate = [2], rhs_dilate = [1], reverse = [true]", 1, 1);
  check_convolution("1x9x5x4xf32", "5x3x4x20xf32", "1x20x10x20xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                    "pad = [[2, 5], [1, 2]], lhs_dilate = [2, 2], reverse = [true, false]", 1, 1);
  check_convolution("1x20x16xbf16", "4x70x16xbf16", "1x40x70xbf16", "[b, 0, f]x[0, o, i]->[b, 0, f]",
                    "pad = [[2, 2]], lhs_dilate = [2]", 1, 1);
  check_convolution("3x6x6x4xf32", "3x3x2x16xf32", "3x2x2x16xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "rhs_dilate = [2, 2]", 2, 1);
  check_convolution("4x6x6x3xf32", "3x3x3x16xf32", "2x4x4x16xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 2);
  check_convolution("2x6x7x20xf32", "3x3x1x20xf32", "2x6x7x20xf32",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 20, 1);
  check_convolution("2x6x7x21xbf16", "2x2x1x21xbf16", "2x5x3x21xbf16",
                    "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 2]", 21, 1);
  check_convolution("1x9x6x9xbf16", "3x3x2x9xbf16", "1x3x15x6xbf16", "[b,f,0,1]x[o,i,0,1]->[b,f,0,1]",
                    "pad = [[0, 0], [2, 3]], lhs_dilate = [3, 1]", 3, 1);
  check_convolution("5x8x8x2xbf16", "5x6x6x24xbf16", "5x5x2x24xbf16",
                    "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", 1, 1);
}

// One dimension of a convolution's window, by chance.
typedef struct place {
  int64_t input, taps, output, stride, low, high, lhs_dilation, rhs_dilation;
  bool is_reversed;
} place_t;

static place_t random_place(void) {
  for (;;) {
    place_t p = {.input = 1 + below(12), .taps = 1 + below(4), .stride = 1 + below(3) / 2 * below(3)};
    p.low = (int64_t)below(5) - 1;
    p.high = (int64_t)below(5) - 1;
    p.lhs_dilation = below(4) ? 1 : 1 + below(3);
    p.rhs_dilation = below(3) ? 1 : 1 + below(3);
    p.is_reversed = below(5) == 0;
    if (below(8) == 0) p.taps = p.input;
    int64_t covered = (p.input - 1) * p.lhs_dilation + 1 + p.low + p.high;
    int64_t reach = (p.taps - 1) * p.rhs_dilation + 1;
    p.output = covered >= reach ? (covered - reach) / p.stride + 1 : 0;
    if (p.output > 0 && covered > 0) return p;
  }
}

static void append_shape(char* text, const char* order, const place_t* places, int which,
                         const int64_t* other, const char* dtype) {
  for (; *order; ++order) {
    bool is_place = *order == '0' || *order == '1';
    const place_t* p = &places[is_place ? *order - '0' : 0];
    int64_t dims[] = {p->input, p->taps, p->output};
    int64_t dim = is_place ? dims[which] : other[*order == 'o' || *order == 'f'];
    sprintf(text + strlen(text), "%dx", (int)dim);
  }
  strcat(text, dtype);
}

// Depthwise ones and those with groups, of the input's features or the batch, among all others.
static void test_random_convolutions(void** state) {
  (void)state;
  static const char* const orders[][3] = {{"b01f", "01io", "b01f"},
                                          {"b01f", "01io", "b01f"},
                                          {"bf01", "oi01", "bf01"},
                                          {"f01b", "i01o", "01bf"},
                                          {"01bf", "01oi", "01bf"}};
  static const int64_t groups_of[] = {1, 1, 3, 17, 20}, per_group[] = {1, 1, 2, 4, 9, 12, 18};
  static const char* const dtypes[][3] = {
      {"f32", "f32", "f32"},   {"f32", "f32", "f32"}, {"bf16", "bf16", "bf16"},
      {"bf16", "bf16", "f32"}, {"f64", "f64", "f64"}, {"f16", "f16", "f16"},
      {"i32", "i32", "i32"},   {"i8", "i8", "i32"},   {"ui8", "i8", "i32"}};
  for (int round = 0; round < 60; ++round) {
    place_t places[2] = {random_place(), random_place()};
    const char* const* order = orders[below(5)];
    int64_t groups = groups_of[below(5)], in = per_group[below(6)], out = per_group[below(7)];
    int64_t batch = 1 + below(2);
    bool is_batch = groups > 1 && below(3) == 0;
    int64_t lhs[] = {is_batch ? batch * groups : batch, is_batch ? in : in * groups};
    int64_t rhs[] = {in, out * groups}, result[] = {batch, out * groups};
    if (batch * out * groups * places[0].output * places[1].output == 1) continue;
    char texts[3][64] = {"", "", ""}, numbers[64], window[256];
    uint32_t kind = below(sizeof dtypes / sizeof *dtypes);
    append_shape(texts[0], order[0], places, 0, lhs, dtypes[kind][0]);
    append_shape(texts[1], order[1], places, 1, rhs, dtypes[kind][1]);
    append_shape(texts[2], order[2], places, 2, result, dtypes[kind][2]);
    snprintf(numbers, sizeof numbers, "[%c,%c,%c,%c]x[%c,%c,%c,%c]->[%c,%c,%c,%c]", order[0][0],
             order[0][1], order[0][2], order[0][3], order[1][0], order[1][1], order[1][2],
             order[1][3], order[2][0], order[2][1], order[2][2], order[2][3]);
    const place_t *p = &places[0], *q = &places[1];
    snprintf(window, sizeof window,
             "stride = [%d, %d], pad = [[%d, %d], [%d, %d]], lhs_dilate = [%d, %d], "
             "rhs_dilate = [%d, %d], reverse = [%s, %s]",
             (int)p->stride, (int)q->stride, (int)p->low, (int)p->high, (int)q->low, (int)q->high,
             (int)p->lhs_dilation, (int)q->lhs_dilation, (int)p->rhs_dilation,
             (int)q->rhs_dilation, p->is_reversed ? "true" : "false",
             q->is_reversed ? "true" : "false");
    check_convolution(texts[0], texts[1], texts[2], numbers, window, is_batch ? 1 : (int)groups,
                      is_batch ? (int)groups : 1);
  }
}

static void test_products_and_more(void** state) {
  (void)state;
  check("func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>, %c: tensor<46xf32>, %d: tensor<19x46xf32>) -> tensor<19x46xf32> {\n"
        "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, tensor<24x46xf32>) -> tensor<19x46xf32>\n"
        "%2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<46xf32>) -> tensor<19x46xf32>\n"
        "%3 = stablehlo.add %1, %2 : tensor<19x46xf32>\n"
        "%4 = stablehlo.exponential %d : tensor<19x46xf32>\n"
        "%5 = stablehlo.add %3, %4 : tensor<19x46xf32>\n"
        "return %5 : tensor<19x46xf32>\n}", 1, 1e-3);
  check("func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>) -> (tensor<19x46xf32>, tensor<19x46xbf16>) {\n"
        "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, tensor<24x46xf32>) -> tensor<19x46xf32>\n"
        "%2 = stablehlo.convert %1 : (tensor<19x46xf32>) -> tensor<19x46xbf16>\n"
        "return %1, %2 : tensor<19x46xf32>, tensor<19x46xbf16>\n}", 1, 2e-2);
  check("func.func @main(%a: tensor<40x24xf32>, %b: tensor<24xf32>) -> tensor<40xf32> {\n"
        "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x24xf32>, tensor<24xf32>) -> tensor<40xf32>\n"
        "%2 = stablehlo.tanh %1 : tensor<40xf32>\n"
        "return %2 : tensor<40xf32>\n}", 0, 1e-3);
  check("func.func @main(%a: tensor<19x24xf32>, %b: tensor<24x46xf32>) -> tensor<19xf32> {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<19x24xf32>, tensor<24x46xf32>) -> tensor<19x46xf32>\n"
        "%2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<19x46xf32>, tensor<f32>) -> tensor<19xf32>\n"
        "return %2 : tensor<19xf32>\n}", 2, 1e-3);
}

static void test_chunks(void** state) {
  (void)state;
  // Segments that share the loop that is cut, or the two outer ones.
  check("func.func @main(%a: tensor<2001x33xf32>, %b: tensor<2001x120xf32>) -> tensor<2001x153xf32> {\n"
        "%0 = stablehlo.negate %b : tensor<2001x120xf32>\n"
        "%1 = stablehlo.concatenate %a, %0, dim = 1 : (tensor<2001x33xf32>, tensor<2001x120xf32>) -> tensor<2001x153xf32>\n"
        "return %1 : tensor<2001x153xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<2x901x100xf32>, %z: tensor<f32>) -> tensor<2x901x107xf32> {\n"
        "%0 = stablehlo.pad %a, %z, low = [0, 0, 3], high = [0, 0, 4], interior = [0, 0, 0] : (tensor<2x901x100xf32>, tensor<f32>) -> tensor<2x901x107xf32>\n"
        "return %0 : tensor<2x901x107xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<3x17x5001xf32>, %b: tensor<3x2x5001xf32>) -> tensor<3x19x5001xf32> {\n"
        "%0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<3x17x5001xf32>, tensor<3x2x5001xf32>) -> tensor<3x19x5001xf32>\n"
        "return %0 : tensor<3x19x5001xf32>\n}", 1, 0);
  check("func.func @main(%a: tensor<3x40001xf32>) -> tensor<3x40001xf32> {\n"
        "%0 = stablehlo.exponential %a : tensor<3x40001xf32>\n"
        "%1 = stablehlo.log %0 : tensor<3x40001xf32>\n"
        "return %1 : tensor<3x40001xf32>\n}", 1, 1e-4);
  check("func.func @main(%a: tensor<600x2003xf32>) -> (tensor<f32>, tensor<f32>) {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "%n = stablehlo.constant dense<1201800.0> : tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<600x2003xf32>, tensor<f32>) -> tensor<f32>\n"
        "%1 = stablehlo.divide %0, %n : tensor<f32>\n"
        "%2 = stablehlo.abs %a : tensor<600x2003xf32>\n"
        "%3 = stablehlo.reduce(%2 init: %i) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<600x2003xf32>, tensor<f32>) -> tensor<f32>\n"
        "return %1, %3 : tensor<f32>, tensor<f32>\n}", 1, 1e-4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elementwise), cmocka_unit_test(test_movement),
      cmocka_unit_test(test_rolls), cmocka_unit_test(test_gather), cmocka_unit_test(test_guarded_sums),      cmocka_unit_test(test_tables), cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_softmax), cmocka_unit_test(test_arg_reduce), cmocka_unit_test(test_windows), cmocka_unit_test(test_updates), cmocka_unit_test(test_sweeps), cmocka_unit_test(test_blocks), cmocka_unit_test(test_chunks), cmocka_unit_test(test_small_dots), cmocka_unit_test(test_matrix_products), cmocka_unit_test(test_long_products), cmocka_unit_test(test_convolutions), cmocka_unit_test(test_random_convolutions), cmocka_unit_test(test_products_and_more),
      cmocka_unit_test(test_transpositions), cmocka_unit_test(test_strides), cmocka_unit_test(test_woven), cmocka_unit_test(test_lanes_over_short_dimensions),
      cmocka_unit_test(test_woven_in_place), cmocka_unit_test(test_woven_parts_share), cmocka_unit_test(test_kept_rows), cmocka_unit_test(test_row_blocks), cmocka_unit_test(test_softmax_of_short_rows), cmocka_unit_test(test_positions), cmocka_unit_test(test_shifts),
      cmocka_unit_test(test_small_matrices_turn),
      cmocka_unit_test(test_rows_begin_anywhere),
      cmocka_unit_test(test_rows_change_places),
      cmocka_unit_test(test_parts_change_places),
      cmocka_unit_test(test_bits_do_not_depend_on_alignment),
      cmocka_unit_test(test_extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
