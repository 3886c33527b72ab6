// SPDX-License-Identifier: Apache-2.0
// Test helper: runs a program over all devices of a simulated grid, and as a whole on one, and
// compares the parts of every device. Arguments are small integers, whose sums are exact in any
// order.
#pragma once

#include "base/mem.h"
#include "interp/simgrid.h"
#include "ir/clone.h"
#include "ir/op_sharding.h"
#include "ir/print.h"
#include "ir/test_util.h"
#include "passes/expand.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/spmd.h"

enum { TEST_DEVICES_MAX = 8, TEST_VALUES_MAX = 32 };

/// A source of random numbers.
typedef struct hlo_test_random {
  uint64_t state;
} hlo_test_random_t;

static inline uint32_t hlo_test_below(hlo_test_random_t* r, uint32_t bound) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(((r->state >> 33) * (uint64_t)bound) >> 31);
}

static inline hlo_tensor_t* hlo_test_argument(const hlo_type_t* type, hlo_test_random_t* r) {
  hlo_tensor_t* tensor = NULL;
  hlo_test_check(hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor));
  const size_t width = hlo_dtype_size_bytes(type->dtype);
  for (int64_t i = 0; i < tensor->element_count; ++i) {
    const int64_t value = (int64_t)hlo_test_below(r, 7) - 3;
    char* element = (char*)tensor->data + (size_t)i * width;
    if (hlo_dtype_is_integer(type->dtype)) {
      hlo_dtype_store_int64(type->dtype, element, value);
    } else if (hlo_dtype_is_complex(type->dtype)) {
      const hlo_dtype_t half = type->dtype == HLO_DTYPE_C64 ? HLO_DTYPE_F32 : HLO_DTYPE_F64;
      hlo_dtype_store_double(half, element, (double)value);
      hlo_dtype_store_double(half, element + width / 2, (double)hlo_test_below(r, 7) - 3);
    } else {
      hlo_dtype_store_double(type->dtype, element, (double)value);
    }
  }
  return tensor;
}

/// Finds the part of a dimension that a device holds: part *out_part of *out_parts.
static inline void hlo_test_find_part(const char* text, uint32_t device, uint32_t rank,
                                      int64_t* parts, int64_t* indices) {
  HLO_SCOPED_ARENA arena;
  hlo_arena_init(&arena, 0);
  hlo_op_sharding_t sharding;
  for (uint32_t d = 0; d < rank; ++d) {
    parts[d] = 1;
    indices[d] = 0;
  }
  hlo_test_check(hlo_op_sharding_parse(text, strlen(text), &arena, &sharding));
  if (sharding.kind == HLO_OP_SHARDING_TILED) {
    const int64_t* devices;
    const int64_t* dims = sharding.tile_dims.items;
    hlo_test_check(hlo_op_sharding_devices(&sharding, &arena, &devices));
    int64_t at = 0;
    while (devices[at] != device) ++at;
    for (size_t d = sharding.tile_dims.count; d-- > 0; at /= dims[d]) {
      if (d >= rank) continue;
      parts[d] = dims[d];
      indices[d] = at % dims[d];
    }
  }
  hlo_arena_deinit(&arena);
  hlo_arena_init(&arena, 0);
}

/// Copies the part of a whole tensor that a device holds.
static inline hlo_tensor_t* hlo_test_part(const hlo_tensor_t* whole, const char* text,
                                          uint32_t device) {
  int64_t parts[HLO_RANK_MAX], at[HLO_RANK_MAX], dims[HLO_RANK_MAX], index[HLO_RANK_MAX] = {0};
  hlo_test_find_part(text, device, whole->rank, parts, at);
  for (uint32_t d = 0; d < whole->rank; ++d) dims[d] = whole->dims[d] / parts[d];
  hlo_tensor_t* part = NULL;
  hlo_test_check(hlo_tensor_create(whole->dtype, whole->rank, dims, &part));
  const size_t width = hlo_dtype_size_bytes(whole->dtype);
  for (int64_t i = 0; i < part->element_count; ++i) {
    int64_t source = 0;
    for (uint32_t d = 0; d < whole->rank; ++d) {
      source = source * whole->dims[d] + at[d] * dims[d] + index[d];
    }
    memcpy((char*)part->data + (size_t)i * width, (char*)whole->data + (size_t)source * width,
           width);
    for (uint32_t d = whole->rank; d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return part;
}

static inline const char* hlo_test_sharding_text(const hlo_attr_t* const* attrs, uint32_t i) {
  const hlo_attr_t* attr = attrs ? hlo_attr_dict_get(attrs[i], HLO_OP_SHARDING_ATTR) : NULL;
  assert_non_null(attr);
  return attr->text;
}

static inline void hlo_test_fail(const char* text, const hlo_module_t* module, const char* what) {
  HLO_SCOPED_STRBUF printed = {0};
  if (module) hlo_print_module(module, &(hlo_print_options_t){0}, &printed);
  print_error("%s\n---- partitioned\n%s\n", text, hlo_strbuf_text(&printed));
  fail_msg("%s", what);
}

/// A program without collectives: inputs and outputs of one device.
static inline void hlo_test_run_whole(const hlo_module_t* module, uint32_t input_count,
                                      hlo_tensor_t* const* inputs, hlo_tensor_t** outputs) {
  hlo_interp_program_t* program = NULL;
  const hlo_func_t* entry = hlo_module_entry(module);
  const uint32_t output_count = entry->type->element_count - input_count;
  hlo_test_check(hlo_interp_program_create(module, &program));
  hlo_test_check(hlo_interp_call(program, entry, input_count, inputs, output_count, outputs, NULL));
  hlo_interp_program_release(program);
}

/// Runs what each device computes; wants[i]: result i of the whole program.
static inline void hlo_test_run_parts(const char* text, const hlo_module_t* module,
                                      hlo_tensor_t* const* inputs, hlo_tensor_t* const* wants) {
  const hlo_func_t* entry = hlo_module_entry(module);
  const uint32_t devices = hlo_module_process_counts(module).partitions;
  const uint32_t in = entry->type->input_count, out = entry->type->element_count - in;
  const hlo_func_t* funcs[TEST_DEVICES_MAX];
  hlo_tensor_t* parts[TEST_DEVICES_MAX * TEST_VALUES_MAX];
  hlo_tensor_t* results[TEST_DEVICES_MAX * TEST_VALUES_MAX];
  assert_true(devices <= TEST_DEVICES_MAX && in <= TEST_VALUES_MAX && out <= TEST_VALUES_MAX);
  for (uint32_t p = 0; p < devices; ++p) {
    funcs[p] = entry;
    for (uint32_t i = 0; i < in; ++i) {
      parts[p * in + i] = hlo_test_part(inputs[i], hlo_test_sharding_text(entry->arg_attrs, i), p);
    }
  }
  hlo_interp_program_t* program = NULL;
  hlo_test_check(hlo_interp_program_create(module, &program));
  const hlo_simgrid_run_t run = {.replica_count = 1,
                                 .partition_count = devices,
                                 .funcs = funcs,
                                 .input_count = devices * in,
                                 .output_count = devices * out,
                                 .inputs = parts};
  hlo_status_t status = hlo_simgrid_run(program, &run, results);
  if (!hlo_status_is_ok(status)) hlo_test_fail(text, module, hlo_status_message(status));
  for (uint32_t p = 0; p < devices; ++p) {
    for (uint32_t i = 0; i < out; ++i) {
      hlo_tensor_t *have = results[p * out + i],
                   *want =
                       hlo_test_part(wants[i], hlo_test_sharding_text(entry->result_attrs, i), p);
      if (have->size_bytes != want->size_bytes ||
          memcmp(have->data, want->data, have->size_bytes) != 0) {
        char what[64];
        snprintf(what, sizeof what, "result %u differs on device %u", i, p);
        hlo_test_fail(text, module, what);
      }
      hlo_tensor_release(want);
      hlo_tensor_release(have);
    }
  }
  for (uint32_t i = 0; i < devices * in; ++i) hlo_tensor_release(parts[i]);
  hlo_interp_program_release(program);
}

static inline hlo_status_t hlo_test_count_uneven(void* context, hlo_node_t* node) {
  hlo_spmd_t* spmd = ((void**)context)[0];
  uint32_t* count = ((void**)context)[1];
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_value_t* value = &node->results[i];
    if (!hlo_type_is_tensor(value->type)) continue;
    const hlo_spec_t* spec = hlo_spmd_value_spec(spmd, value);
    assert_non_null(spec);
    *count += hlo_spec_even(spmd, spec, value->type) != spec;
  }
  return hlo_ok();
}

/// Returns how many values propagation divides in parts of unequal size.
static inline uint32_t hlo_test_uneven_values(const char* text) {
  uint32_t count = 0;
  hlo_spmd_t spmd;
  hlo_module_t* module = hlo_test_parse(text);
  hlo_test_check(hlo_passes_run(module, "lower_mesh_groups,lower_shardy,inline,dce", NULL));
  hlo_test_check(hlo_spmd_init(&spmd, module, hlo_module_process_counts(module).partitions));
  hlo_test_check(hlo_spmd_propagate(&spmd));
  hlo_test_check(hlo_module_walk(module, true, hlo_test_count_uneven, (void*[]){&spmd, &count}));
  hlo_spmd_deinit(&spmd);
  hlo_module_release(module);
  return count;
}

/// `is_windowed`: products with collectives become loops over the parts.
static inline hlo_module_t* hlo_test_partition(const char* text, bool is_windowed) {
  hlo_module_t* module = hlo_test_parse(text);
  const hlo_pass_options_t options = {.verify_each = true, .more = &hlo_spmd_pass_set};
  const char* passes = is_windowed ? "lower_mesh_groups,lower_shardy,inline,dce,partition,"
                                     "create_reduce_scatter,windowed_einsum=all,cse,dce"
                                   : "lower_mesh_groups,lower_shardy,inline,dce,partition,cse,dce";
  hlo_status_t status = hlo_passes_run(module, passes, &options);
  if (!hlo_status_is_ok(status)) hlo_test_fail(text, module, hlo_status_message(status));
  return module;
}

static inline bool hlo_test_is_computed(const hlo_node_t* node) {
  return node->op != HLO_OP_batch_norm_grad && node->op != HLO_OP_batch_norm_inference &&
         node->op != HLO_OP_batch_norm_training;
}

/// Compares a program with what it is on one device, which is the same text if it has no manual
/// computations.
static inline void hlo_test_expect_partitioned(const char* text, const char* whole_text,
                                               uint64_t seed) {
  hlo_test_random_t random = {seed};
  hlo_tensor_t *inputs[TEST_VALUES_MAX], *wants[TEST_VALUES_MAX];
  hlo_module_t* whole = hlo_test_parse(whole_text);
  const hlo_type_t* type = hlo_module_entry(whole)->type;
  const uint32_t in = type->input_count, out = type->element_count - in;
  for (uint32_t i = 0; i < in; ++i) inputs[i] = hlo_test_argument(type->elements[i], &random);
  hlo_test_check(hlo_passes_run(whole, "lower_shardy,drop_shardy", NULL));
  bool is_expanded;  // both are to use the same formulas
  hlo_test_check(hlo_expand(whole, NULL, hlo_test_is_computed, &is_expanded));
  hlo_test_run_whole(whole, in, inputs, wants);
  hlo_module_t* parts = hlo_test_partition(text, seed % 4 == 0);
  hlo_test_run_parts(text, parts, inputs, wants);
  for (uint32_t i = 0; i < in; ++i) hlo_tensor_release(inputs[i]);
  for (uint32_t i = 0; i < out; ++i) hlo_tensor_release(wants[i]);
  hlo_module_release(whole);
  hlo_module_release(parts);
}
