// SPDX-License-Identifier: Apache-2.0
// The table of dot algorithms (see algorithm.h).
// source: PrecisionConfig.Algorithm in XLA's xla_data.proto; getKnownDotAlgorithm() of StableHLO
#include "frontend/hlo/algorithm.h"

typedef struct algorithm {
  const char* name;
  const char *operand, *accumulator;  // element types; tf32 is no element type of tensors
  int32_t primitive_operations;
  bool imprecise;
} algorithm_t;

// By number. XLA's "any_f8" stands for every 8-bit float: read as f8E5M2, written from any of them.
static const char any_f8[] = "f8E5M2";
static const algorithm_t algorithms[] = {
    {"unset", NULL, NULL, 0, false},
    {"dot_any_f8_any_f8_f32", any_f8, "f32", 1, false},
    {"dot_any_f8_any_f8_f32_fast_accum", any_f8, "f32", 1, true},
    {"dot_f16_f16_f16", "f16", "f16", 1, false},
    {"dot_f16_f16_f32", "f16", "f32", 1, false},
    {"dot_bf16_bf16_bf16", "bf16", "bf16", 1, false},
    {"dot_bf16_bf16_f32", "bf16", "f32", 1, false},
    {"dot_bf16_bf16_f32_x3", "bf16", "f32", 3, false},
    {"dot_bf16_bf16_f32_x6", "bf16", "f32", 6, false},
    {"dot_tf32_tf32_f32", "tf32", "f32", 1, false},
    {"dot_tf32_tf32_f32_x3", "tf32", "f32", 3, false},
    {"dot_f32_f32_f32", "f32", "f32", 1, false},
    {"dot_f64_f64_f64", "f64", "f64", 1, false},
    {"dot_bf16_bf16_f32_x9", "bf16", "f32", 9, false},
};
enum { ALGORITHM_COUNT = sizeof algorithms / sizeof *algorithms };

int32_t hlo_desc_algorithm_number(hlo_wire_bytes_t name) {
  for (int32_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (hlo_bytes_equal(name, algorithms[i].name)) return i;
  }
  return -1;
}

const char* hlo_desc_algorithm_name(int32_t number) {
  return number >= 0 && number < ALGORITHM_COUNT ? algorithms[number].name : NULL;
}

static bool is_type(const hlo_node_t* node, hlo_attr_id_t id, const char* name) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  if (!attr) return false;
  if (attr->kind == HLO_ATTR_KIND_OPAQUE) {
    return attr->text_length == strlen(name) && memcmp(attr->text, name, attr->text_length) == 0;
  }
  if (attr->kind != HLO_ATTR_KIND_TYPE) return false;
  const hlo_dtype_info_t* info = hlo_dtype_info(attr->type->dtype);
  return strcmp(info->mlir_name, name) == 0 ||
         (name == any_f8 && hlo_dtype_is_float(attr->type->dtype) && info->bits == 8 &&
          info->mantissa_bits > 0);
}

int32_t hlo_desc_algorithm_of(const hlo_node_t* node) {
  if (!hlo_node_attr(node, HLO_ATTR_lhs_precision_type)) return 0;
  if (hlo_node_attr_int(node, HLO_ATTR_lhs_component_count, 1) != 1 ||
      hlo_node_attr_int(node, HLO_ATTR_rhs_component_count, 1) != 1) {
    return -1;
  }
  int64_t operations = hlo_node_attr_int(node, HLO_ATTR_num_primitive_operations, 1);
  bool imprecise = hlo_node_attr_int(node, HLO_ATTR_allow_imprecise_accumulation, 0) != 0;
  for (int32_t i = 1; i < ALGORITHM_COUNT; ++i) {
    const algorithm_t* row = &algorithms[i];
    if (row->primitive_operations == operations && row->imprecise == imprecise &&
        is_type(node, HLO_ATTR_lhs_precision_type, row->operand) &&
        is_type(node, HLO_ATTR_rhs_precision_type, row->operand) &&
        is_type(node, HLO_ATTR_accumulation_type, row->accumulator)) {
      return i;
    }
  }
  return -1;
}

static const hlo_attr_t* type_attr(hlo_module_t* m, const char* name) {
  hlo_dtype_t dtype = hlo_dtype_from_mlir_name(name, strlen(name));
  return dtype == HLO_DTYPE_INVALID ? hlo_attr_opaque(m, name, strlen(name))
                                    : hlo_attr_type(m, hlo_type_tensor(m, dtype, 0, NULL));
}

hlo_status_t hlo_desc_algorithm_attrs(hlo_desc_node_t* node, int32_t number) {
  if (number == 0) return hlo_ok();
  if (!hlo_desc_algorithm_name(number)) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "algorithm number %d of a dot", (int)number);
  }
  hlo_module_t* m = node->builder->module;
  const algorithm_t* row = &algorithms[number];
  const hlo_attr_t *operand = type_attr(m, row->operand), *one = hlo_attr_int(m, HLO_DTYPE_S64, 1);
  hlo_desc_add_attr(node, HLO_ATTR_lhs_precision_type, operand);
  hlo_desc_add_attr(node, HLO_ATTR_rhs_precision_type, operand);
  hlo_desc_add_attr(node, HLO_ATTR_accumulation_type, type_attr(m, row->accumulator));
  hlo_desc_add_attr(node, HLO_ATTR_lhs_component_count, one);
  hlo_desc_add_attr(node, HLO_ATTR_rhs_component_count, one);
  hlo_desc_add_attr(node, HLO_ATTR_num_primitive_operations,
                    hlo_attr_int(m, HLO_DTYPE_S64, row->primitive_operations));
  hlo_desc_add_attr(node, HLO_ATTR_allow_imprecise_accumulation, hlo_attr_bool(m, row->imprecise));
  return hlo_module_status(m);
}
