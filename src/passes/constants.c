// SPDX-License-Identifier: Apache-2.0
// Queries and construction of constants (see constants.h).
#include "passes/constants.h"

#include <string.h>

bool hlo_type_is_plain(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) && hlo_type_is_static(type) && !type->quant && !type->encoding &&
         !type->bounds && !type->is_index;
}

hlo_literal_t* hlo_constant_literal(const hlo_value_t* value) {
  if (!value->def || value->def->op != HLO_OP_constant) return NULL;
  const hlo_attr_t* attr = hlo_node_attr(value->def, HLO_ATTR_value);
  return attr && attr->kind == HLO_ATTR_KIND_LITERAL ? attr->literal : NULL;
}

bool hlo_constant_integer(const hlo_value_t* value, int64_t* out) {
  const hlo_literal_t* literal = hlo_constant_literal(value);
  if (!literal || literal->rank || !hlo_dtype_is_integer(literal->dtype) ||
      hlo_dtype_info(literal->dtype)->bits < 8) {
    return false;
  }
  *out = hlo_dtype_load_int64(literal->dtype, literal->data);
  return true;
}

const void* hlo_constant_splat(const hlo_value_t* value) {
  if (value->def && value->def->op == HLO_OP_broadcast_in_dim) {
    value = hlo_node_operand(value->def, 0);
  }
  const hlo_literal_t* literal = hlo_constant_literal(value);
  if (!literal || literal->element_count == 0) return NULL;
  return literal->is_splat || literal->element_count == 1 ? literal->data : NULL;
}

// Returns a splat of the first element if all elements are bitwise equal, else NULL.
static hlo_literal_t* splat_of(const hlo_literal_t* literal) {
  size_t width = hlo_dtype_size_bytes(literal->dtype);
  const char* data = literal->data;
  if (literal->is_splat || literal->element_count < 2) return NULL;
  if (memcmp(data, data + width, ((size_t)literal->element_count - 1) * width) != 0) return NULL;
  hlo_literal_t* splat;
  if (!hlo_status_take_ok(
          hlo_literal_create(literal->dtype, literal->rank, literal->dims, true, &splat)))
    return NULL;  // keep the dense constant
  memcpy(hlo_literal_mutable_data(splat), data, width);
  return splat;
}

bool hlo_constant_is_zero(const hlo_value_t* value) {
  const void* element = hlo_constant_splat(value);
  return element && hlo_dtype_load_double(value->type->dtype, element) == 0;
}

hlo_node_t* hlo_constant_create(hlo_module_t* module, const hlo_type_t* type,
                                hlo_literal_t* literal, hlo_loc_t loc) {
  hlo_literal_t* splat = splat_of(literal);
  hlo_named_attr_t value = {HLO_ATTR_value,
                            hlo_attr_literal(module, type, splat ? splat : literal)};
  hlo_literal_release(splat);
  return hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_constant,
                                                    .loc = loc,
                                                    .attr_count = 1,
                                                    .attrs = &value,
                                                    .result_count = 1,
                                                    .result_types = &type});
}
