// SPDX-License-Identifier: Apache-2.0
// Shared by tests of kernels: runs small programs fusion by fusion in the interpreter of vector IR,
// with every access checked, for targets of several widths with and without masks, and compares
// them with the reference; or builds the kernel of a program that is one fusion.
#pragma once

#include <math.h>

#include "base/heap.h"
#include "base/program_abi.h"
#include "codegen/dot/dot.h"
#include "codegen/fuse/fusion.h"
#include "codegen/loops/kernel.h"
#include "codegen/vir/interp.h"
#include "interp/program.h"
#include "ir/test_util.h"

/// Returns the kernel of a program's only fusion. owner: the arena, which is initialized; the
/// caller releases the module later
static inline hlo_kernel_t* hlo_test_make_only_kernel(const char* text, const hlo_target_t* target,
                                                      hlo_arena_t* arena,
                                                      hlo_module_t** out_module) {
  hlo_schedule_t* schedule;
  hlo_kernel_t* kernel;
  *out_module = hlo_test_parse(text);
  hlo_test_check(hlo_schedule_create(hlo_module_entry(*out_module), target, arena, &schedule));
  assert_int_equal(schedule->sequences[0].step_count, 1);
  hlo_test_check(hlo_kernel_create(schedule->sequences[0].steps[0].fusion, target,
                                   &hlo_product_form, NULL, arena, &kernel));
  return kernel;
}

// ---- comparison with the reference
// ---------------------------------------------------------------

enum { MAX_VALUES = 256 };

typedef struct hlo_test_memory {
  void* of[MAX_VALUES];  // by value->index
  size_t sizes[MAX_VALUES];
  size_t displaced_bytes;  // distance from an aligned address
} hlo_test_memory_t;

static uint64_t hlo_test_random_state = 88172645463325252u;
static inline uint32_t hlo_test_below(uint32_t n) {
  hlo_test_random_state ^= hlo_test_random_state << 13,
      hlo_test_random_state ^= hlo_test_random_state >> 7,
      hlo_test_random_state ^= hlo_test_random_state << 17;
  return (uint32_t)(hlo_test_random_state >> 20) % n;
}

static inline void* hlo_test_allocate(hlo_test_memory_t* memory, const hlo_value_t* value) {
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

static inline void hlo_test_drop_memory(const hlo_test_memory_t* memory) {
  for (uint32_t i = 0; i < MAX_VALUES; ++i) {
    if (memory->of[i]) hlo_mem_free((uint8_t*)memory->of[i] - memory->displaced_bytes);
  }
}

static inline void hlo_test_fill_tensor(const hlo_type_t* type, void* data) {
  size_t bytes = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    uint8_t* element = (uint8_t*)data + (size_t)i * bytes;
    if (type->dtype == HLO_DTYPE_PRED) {
      *element = hlo_test_below(2);
    } else if (bytes == 1 && !hlo_dtype_is_float(type->dtype)) {
      *element = hlo_test_below(3)   ? hlo_test_below(256)
                 : hlo_test_below(2) ? 0x80
                                     : 0x7f;  // often an extreme value
    } else if (hlo_dtype_is_float(type->dtype)) {
      hlo_dtype_store_double(type->dtype, element, ((double)hlo_test_below(4001) - 2000) / 500);
    } else {
      hlo_dtype_store_int64(type->dtype, element, (int64_t)hlo_test_below(9) - 3);
    }
  }
  hlo_dtype_normalise(type->dtype, data, (size_t)hlo_type_element_count(type));
}

// Builds the chunk function of a phase of a fusion; its context is a table of addresses.
static inline hlo_vir_func_t* hlo_test_make_chunk(hlo_vir_module_t* module,
                                                  const hlo_kernel_t* kernel, uint32_t phase,
                                                  const hlo_fusion_t* fusion) {
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

static inline void hlo_test_expect_ok(hlo_status_t status, const char* text,
                                      const hlo_vir_module_t* module) {
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

// Returns an input whose memory an output may share if it is not needed later; -1: none.
static inline int32_t hlo_test_find_shareable(const hlo_fusion_t* fusion, uint32_t output,
                                              const hlo_test_memory_t* memory,
                                              const bool* is_prologue) {
  size_t bytes = memory->sizes[fusion->outputs[output]->index];
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (!is_prologue[i] && memory->sizes[fusion->inputs[i]->index] == bytes &&
        hlo_kernel_may_share(fusion->kernel, output, i)) {
      return (int32_t)i;
    }
  }
  return -1;
}

static inline void hlo_test_run_fusion(hlo_fusion_t* fusion, const hlo_target_t* target,
                                       hlo_arena_t* arena, hlo_test_memory_t* memory,
                                       const char* text) {
  hlo_kernel_t* kernel;
  hlo_test_expect_ok(hlo_kernel_create(fusion, target, &hlo_product_form, NULL, arena, &kernel),
                     text, NULL);
  hlo_vir_module_t* module;
  hlo_test_expect_ok(hlo_vir_module_create(&module), text, NULL);
  module->has_half = target->has_half;
  module->has_permute = target->has_permute;
  module->has_scale = target->has_scale;
  module->subnormals = target->subnormals;
  hlo_vir_func_t* funcs[4];
  uint32_t phases = hlo_kernel_phase_count(kernel);
  assert_true(phases <= 4);
  for (uint32_t i = 0; i < phases; ++i) funcs[i] = hlo_test_make_chunk(module, kernel, i, fusion);
  hlo_test_expect_ok(hlo_vir_module_status(module), text, NULL);
  hlo_test_expect_ok(hlo_vir_verify(module, target->vector_bytes), text, module);
  void* table[129];
  hlo_vir_range_t ranges[130] = {{table, sizeof table, false}};
  uint32_t count = fusion->input_count + fusion->output_count;
  size_t scratch_bytes = hlo_kernel_scratch_bytes(kernel);
  void* scratch = hlo_mem_alloc_zeroed(scratch_bytes);
  table[count] = scratch;
  const bool is_in_place = hlo_test_below(2);
  bool is_prologue[128] = {false};
  for (uint32_t i = 0; i < count; ++i) {
    bool is_output = i >= fusion->input_count;
    const hlo_value_t* value =
        is_output ? fusion->outputs[i - fusion->input_count] : fusion->inputs[i];
    if (is_output) hlo_test_allocate(memory, value);
    table[i] = memory->of[value->index];
    assert_non_null(table[i]);
    const uint32_t output = i - fusion->input_count;
    const int32_t updated = is_output ? hlo_kernel_updates(kernel, output) : -1;
    const int32_t shared = is_output && is_in_place
                               ? hlo_test_find_shareable(fusion, output, memory, is_prologue)
                               : -1;
    const int32_t old = shared >= 0 ? shared : updated;
    if (old >= 0) memcpy(table[i], table[old], memory->sizes[fusion->inputs[old]->index]);
    if (shared >= 0) {
      table[shared] = table[i];
      is_prologue[shared] = true;
    }
    ranges[i + 1] = (hlo_vir_range_t){table[i], memory->sizes[value->index], is_output};
  }
  ranges[count + 1] = (hlo_vir_range_t){scratch, scratch_bytes, true};
  hlo_vir_interp_options_t options = {true, count + 2, ranges};
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION};
  for (uint32_t phase = 0; phase < phases; ++phase) {
    for (uint64_t chunk = 0; chunk < hlo_kernel_chunk_count(kernel, phase); ++chunk) {
      uint64_t params[3] = {(uintptr_t)&frame, (uintptr_t)table, chunk};
      int32_t answer;
      hlo_test_expect_ok(hlo_vir_interp_run(funcs[phase], params, &options, &answer), text, module);
      assert_int_equal(answer, 0);
    }
  }
  hlo_mem_free(scratch);
  hlo_vir_module_release(module);
}

// Allocates the values of constants that fusions read from memory.
static inline void hlo_test_make_constants(const hlo_region_t* body, hlo_test_memory_t* memory) {
  for (const hlo_node_t* node = body->first; node; node = node->next) {
    if (node->op != HLO_OP_constant) continue;
    const hlo_literal_t* literal = hlo_node_attr(node, HLO_ATTR_value)->literal;
    size_t width = hlo_dtype_size_bytes(literal->dtype);
    uint8_t* data = hlo_test_allocate(memory, &node->results[0]);
    for (int64_t i = 0; i < literal->element_count; ++i) {
      memcpy(data + (size_t)i * width, hlo_literal_element(literal, i), width);
    }
  }
}

static inline void hlo_test_compare(const hlo_type_t* type, const void* got, const void* want,
                                    double tolerance, const char* text) {
  size_t width = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < hlo_type_element_count(type); ++i) {
    const uint8_t *a = (const uint8_t*)got + (size_t)i * width,
                  *b = (const uint8_t*)want + (size_t)i * width;
    if (memcmp(a, b, width) == 0) continue;
    if (hlo_dtype_is_float(type->dtype)) {
      double x = hlo_dtype_load_double(type->dtype, a), y = hlo_dtype_load_double(type->dtype, b);
      bool is_close = fabs(x - y) <= tolerance * (1 + fabs(y)) || (isnan(x) && isnan(y));
      if (is_close && tolerance >= 0) continue;
      print_error("%s\nelement %lld: %.9g, expected %.9g\n", text, (long long)i, x, y);
    } else {
      print_error("%s\nelement %lld: %lld, expected %lld\n", text, (long long)i,
                  (long long)hlo_dtype_load_int64(type->dtype, a),
                  (long long)hlo_dtype_load_int64(type->dtype, b));
    }
    fail();
  }
}

static inline void hlo_test_run_steps(const hlo_schedule_t* schedule, const hlo_target_t* target,
                                      hlo_arena_t* arena, hlo_test_memory_t* memory,
                                      const char* text) {
  const hlo_sequence_t* sequence = &schedule->sequences[0];
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    if (step->kind == HLO_STEP_FUSION) {
      hlo_test_run_fusion(step->fusion, target, arena, memory, text);
    } else {
      if (step->kind != HLO_STEP_VIEW)
        print_error("%s\n%s is no kernel\n", text, hlo_op_info(step->node->op)->name);
      assert_int_equal(step->kind, HLO_STEP_VIEW);
      const hlo_value_t* from = hlo_node_operand(step->node, 0);
      memcpy(hlo_test_allocate(memory, &step->node->results[0]), memory->of[from->index],
             memory->sizes[from->index]);
    }
  }
}

/// A tolerance with which floats are random bits, of which none may change.
static const double HLO_TEST_SAME_BITS = -1;

/// Compares @main on random inputs with the reference. fusions: expected number of fusions; 0: any
static inline void hlo_test_agree_on(const char* text, const hlo_target_t* target, uint32_t fusions,
                                     double tolerance) {
  hlo_module_t* module = hlo_test_parse(text);
  const hlo_func_t* func = hlo_module_entry(module);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_schedule_t* schedule;
  hlo_test_expect_ok(hlo_schedule_create(func, target, &arena, &schedule), text, NULL);
  if (fusions && schedule->fusion_count != fusions) print_error("%s\n", text);
  if (fusions) assert_int_equal(schedule->fusion_count, fusions);
  hlo_test_memory_t memory = {0};
  hlo_tensor_t *inputs[16], *outputs[16];
  uint32_t input_count = func->type->input_count;
  uint32_t output_count = func->type->element_count - input_count;
  for (uint32_t i = 0; i < input_count; ++i) {
    const hlo_type_t* type = func->type->elements[i];
    void* data = hlo_test_allocate(&memory, func->body->args[i]);
    hlo_test_fill_tensor(type, data);
    const bool is_random = tolerance < 0 && hlo_dtype_is_float(type->dtype);
    for (size_t k = 0; is_random && k < hlo_type_size_bytes(type); ++k) {
      ((uint8_t*)data)[k] = (uint8_t)hlo_test_below(256);
    }
    hlo_test_expect_ok(hlo_tensor_create_lent(type->dtype, type->rank, type->dims, data, true, NULL,
                                              NULL, &inputs[i]),
                       text, NULL);
  }
  hlo_test_make_constants(func->body, &memory);
  hlo_test_run_steps(schedule, target, &arena, &memory, text);
  hlo_interp_program_t* program;
  hlo_test_expect_ok(hlo_interp_program_create(module, &program), text, NULL);
  hlo_test_expect_ok(
      hlo_interp_call(program, func, input_count, inputs, output_count, outputs, NULL), text, NULL);
  const hlo_node_t* end = hlo_region_terminator(func->body);
  for (uint32_t i = 0; i < output_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(end, i);
    hlo_test_compare(value->type, memory.of[value->index], outputs[i]->data, tolerance, text);
    hlo_tensor_release(outputs[i]);
  }
  for (uint32_t i = 0; i < input_count; ++i) hlo_tensor_release(inputs[i]);
  hlo_test_drop_memory(&memory);
  hlo_interp_program_release(program);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

/// Compares on all targets.
static inline void hlo_test_agree(const char* text, uint32_t fusions, double tolerance) {
  const uint64_t vnni = (uint64_t)1 << HLO_CPU_AVX512VNNI, bf16 = (uint64_t)1 << HLO_CPU_AVX512BF16;
  const uint64_t f16 = (uint64_t)1 << HLO_CPU_AVX512FP16;
  const uint64_t vbmi = (uint64_t)1 << HLO_CPU_AVX512VBMI;  // looks codes up
  const uint64_t tiles = (uint64_t)1 << HLO_CPU_AMX_INT8 | (uint64_t)1 << HLO_CPU_AMX_BF16 |
                         (uint64_t)1 << HLO_CPU_AMX_FP16;
  const hlo_cpu_t cpus[] = {
      {.level = HLO_CPU_LEVEL_AVX512},
      {.level = HLO_CPU_LEVEL_AVX512, .features = vnni | bf16 | f16 | vbmi},
      {.level = HLO_CPU_LEVEL_AMX, .features = vnni | bf16 | vbmi | tiles},
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
    if (i + 1 == count)
      target.has_masks = target.has_parts = target.has_permute = true;  // no machine: but legal
    target.unroll = i < 4 ? 1u << i % 3 : 0;
    if (i % 2) target.tile.memories[target.tile.memory_count - 2].capacity_bytes = 1000;
    if (i % 2 == 0) target.tile.memories[2].capacity_bytes = 8000;  // products exceed the cache
    hlo_test_agree_on(text, &target, fusions, tolerance);
  }
}
