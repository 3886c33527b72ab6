// SPDX-License-Identifier: Apache-2.0
// Look-ups in dot_algorithm.def by names, attributes and numbers (see dot_algorithm.h).
#include "ir/dot_algorithm.h"

#include <string.h>

static const hlo_dot_algorithm_t rows[] = {
#define HLO_DOT_ALGORITHM(hlo_name, xla_number, precision_type, component_count, product_count, \
                          allows_imprecise, factor_type, sum_type)                              \
  {.name = hlo_name,                                                                            \
   .precision = precision_type,                                                                 \
   .factor = HLO_DTYPE_##factor_type,                                                           \
   .sum = HLO_DTYPE_##sum_type,                                                                 \
   .number = xla_number,                                                                        \
   .components = component_count,                                                               \
   .products = product_count,                                                                   \
   .is_imprecise = allows_imprecise},
#include "ir/dot_algorithm.def"
#undef HLO_DOT_ALGORITHM
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const hlo_dot_algorithm_t* hlo_dot_algorithm_named(const char* name, size_t length) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) return &rows[i];
  }
  return NULL;
}

const hlo_dot_algorithm_t* hlo_dot_algorithm_numbered(int64_t number) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (rows[i].number == number) return &rows[i];
  }
  return NULL;
}

bool hlo_dot_has_algorithm(const hlo_node_t* node) {
  return node->op == HLO_OP_dot_general && hlo_node_attr(node, HLO_ATTR_lhs_precision_type);
}

// ---- attributes

// HLO does not say which 8-bit floats an algorithm multiplies: the operands' types tell.
static const char ANY_BYTE_FLOAT[] = "f8E5M2";

// Returns the name of the type in an attribute. TF32 is text, because no tensor has that type.
static const char* type_name(const hlo_node_t* node, hlo_attr_id_t id) {
  const hlo_attr_t* attr = hlo_node_attr(node, id);
  if (!attr) return "none";
  if (attr->kind == HLO_ATTR_KIND_OPAQUE) return attr->text;
  return attr->kind == HLO_ATTR_KIND_TYPE ? hlo_dtype_info(attr->type->dtype)->mlir_name : "none";
}

static bool is_type(const hlo_node_t* node, hlo_attr_id_t id, const char* name) {
  return strcmp(type_name(node, id), name) == 0;
}

static bool is_byte_float(hlo_dtype_t dtype) {
  return hlo_dtype_is_float(dtype) && hlo_dtype_info(dtype)->bits == 8;
}

static hlo_dtype_t named_dtype(const hlo_node_t* node, hlo_attr_id_t id) {
  const char* name = type_name(node, id);
  return hlo_dtype_from_mlir_name(name, strlen(name));
}

static bool has_precision(const hlo_node_t* node, hlo_attr_id_t id,
                          const hlo_dot_algorithm_t* row) {
  return row->precision ? is_type(node, id, row->precision) : is_byte_float(named_dtype(node, id));
}

static bool is_imprecise(const hlo_node_t* node) {
  return hlo_node_attr_bool(node, HLO_ATTR_allow_imprecise_accumulation, false);
}

static bool is_row(const hlo_node_t* node, const hlo_dot_algorithm_t* row) {
  const int64_t lhs = hlo_node_attr_int(node, HLO_ATTR_lhs_component_count, 1);
  const int64_t rhs = hlo_node_attr_int(node, HLO_ATTR_rhs_component_count, 1);
  return has_precision(node, HLO_ATTR_lhs_precision_type, row) &&
         has_precision(node, HLO_ATTR_rhs_precision_type, row) &&
         is_type(node, HLO_ATTR_accumulation_type, hlo_dtype_info(row->sum)->mlir_name) &&
         lhs == rhs && (lhs == 1 || lhs == row->components) &&
         hlo_node_attr_int(node, HLO_ATTR_num_primitive_operations, 1) == row->products &&
         is_imprecise(node) == row->is_imprecise;
}

hlo_status_t hlo_dot_algorithm_find(const hlo_node_t* node, const hlo_dot_algorithm_t** out_row) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (!is_row(node, &rows[i])) continue;
    *out_row = &rows[i];
    return hlo_ok();
  }
  return hlo_unimplemented(
      "the algorithm of %s times %s, accumulated in %s, with %lld and %lld components and %lld "
      "products%s is not supported",
      type_name(node, HLO_ATTR_lhs_precision_type), type_name(node, HLO_ATTR_rhs_precision_type),
      type_name(node, HLO_ATTR_accumulation_type),
      (long long)hlo_node_attr_int(node, HLO_ATTR_lhs_component_count, 1),
      (long long)hlo_node_attr_int(node, HLO_ATTR_rhs_component_count, 1),
      (long long)hlo_node_attr_int(node, HLO_ATTR_num_primitive_operations, 1),
      is_imprecise(node) ? " with imprecise accumulation" : "");
}

static const hlo_attr_t* type_attr(hlo_module_t* module, const char* name) {
  const hlo_dtype_t dtype = hlo_dtype_from_mlir_name(name, strlen(name));
  return dtype == HLO_DTYPE_INVALID
             ? hlo_attr_opaque(module, name, strlen(name))
             : hlo_attr_type(module, hlo_type_tensor(module, dtype, 0, NULL));
}

void hlo_dot_algorithm_attrs(hlo_module_t* module, const hlo_dot_algorithm_t* row,
                             hlo_named_attr_t* out_attrs) {
  const hlo_attr_t* factor = type_attr(module, row->precision ? row->precision : ANY_BYTE_FLOAT);
  out_attrs[0] = (hlo_named_attr_t){HLO_ATTR_lhs_precision_type, factor};
  out_attrs[1] = (hlo_named_attr_t){HLO_ATTR_rhs_precision_type, factor};
  out_attrs[2] = (hlo_named_attr_t){HLO_ATTR_accumulation_type,
                                    type_attr(module, hlo_dtype_info(row->sum)->mlir_name)};
  const hlo_attr_t* one = hlo_attr_int(module, HLO_DTYPE_S64, 1);
  out_attrs[3] = (hlo_named_attr_t){HLO_ATTR_lhs_component_count, one};
  out_attrs[4] = (hlo_named_attr_t){HLO_ATTR_rhs_component_count, one};
  out_attrs[5] = (hlo_named_attr_t){HLO_ATTR_num_primitive_operations,
                                    hlo_attr_int(module, HLO_DTYPE_S64, row->products)};
  out_attrs[6] = (hlo_named_attr_t){HLO_ATTR_allow_imprecise_accumulation,
                                    hlo_attr_bool(module, row->is_imprecise)};
}

// ---- element types

// Returns the type that an operand is multiplied in; INVALID if the algorithm does not accept the
// operand's type.
static hlo_dtype_t factor_dtype(const hlo_dot_algorithm_t* row, const hlo_type_t* operand) {
  if (operand->quant || !hlo_dtype_is_float(operand->dtype)) return HLO_DTYPE_INVALID;
  if (row->precision) return row->factor;
  return is_byte_float(operand->dtype) ? operand->dtype : HLO_DTYPE_INVALID;
}

static const char* quantized_prefix(const hlo_type_t* type) {
  return type->quant ? "quantized " : "";
}

static hlo_status_t refuse_types(const hlo_node_t* node, const hlo_dot_algorithm_t* row) {
  const hlo_type_t* types[3] = {hlo_node_operand_type(node, 0), hlo_node_operand_type(node, 1),
                                node->results[0].type};
  return hlo_unimplemented(
      "algorithm %s multiplies %s and gives floats, but the operands are %s%s and %s%s, the result "
      "is %s%s",
      row->name, row->precision ? "floats" : "8-bit floats", quantized_prefix(types[0]),
      hlo_dtype_info(types[0]->dtype)->mlir_name, quantized_prefix(types[1]),
      hlo_dtype_info(types[1]->dtype)->mlir_name, quantized_prefix(types[2]),
      hlo_dtype_info(types[2]->dtype)->mlir_name);
}

static bool is_integer(const hlo_type_t* type) {
  return !type->quant && hlo_dtype_is_integer(type->dtype);
}

// Products of integers are exact, so no algorithm for floats is more accurate.
static bool multiplies_integers(const hlo_node_t* node, const hlo_dot_algorithm_t* row) {
  return row->precision && is_integer(hlo_node_operand_type(node, 0)) &&
         is_integer(hlo_node_operand_type(node, 1)) && is_integer(node->results[0].type);
}

hlo_status_t hlo_dot_algorithm_types(const hlo_node_t* node, hlo_dot_types_t* out_types) {
  const hlo_dot_algorithm_t* row = NULL;
  HLO_TRY(hlo_dot_algorithm_find(node, &row));
  const hlo_type_t* result = node->results[0].type;
  if (multiplies_integers(node, row)) {
    *out_types = (hlo_dot_types_t){.result = result->dtype};
    for (uint32_t i = 0; i < 2; ++i) {
      out_types->operands[i] = hlo_node_operand_type(node, i)->dtype;
    }
    return hlo_ok();
  }
  hlo_dot_types_t types = {.result = row->sum};
  bool is_accepted = !result->quant && hlo_dtype_is_float(result->dtype);
  for (uint32_t i = 0; i < 2; ++i) {
    types.operands[i] = factor_dtype(row, hlo_node_operand_type(node, i));
    is_accepted &= types.operands[i] != HLO_DTYPE_INVALID;
  }
  if (!is_accepted) return refuse_types(node, row);
  // Products accumulate in f32 or f64 and round once, so they can produce a narrower type directly.
  const bool is_wide = row->sum == HLO_DTYPE_F32 || row->sum == HLO_DTYPE_F64;
  if (is_wide && hlo_dtype_info(result->dtype)->bits < hlo_dtype_info(row->sum)->bits) {
    types.result = result->dtype;
  }
  *out_types = types;
  return hlo_ok();
}

// ---- the element type of the computation

hlo_dtype_t hlo_dot_compute_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result) {
  const hlo_dtype_t all[3] = {lhs, rhs, result};
  bool is_float = false, is_wide = false;
  for (int i = 0; i < 3; i++) {
    const hlo_dtype_info_t* part = hlo_dtype_info(hlo_dtype_info(all[i])->part);
    if (part->klass == HLO_DTYPE_CLASS_FLOAT) is_float = true;
    if (part->bits > 32 && (i == 2 || part->klass == HLO_DTYPE_CLASS_FLOAT)) is_wide = true;
  }
  if (is_float) return is_wide ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  return is_wide ? HLO_DTYPE_U64 : HLO_DTYPE_U32;
}
