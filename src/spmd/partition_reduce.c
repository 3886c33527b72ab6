// SPDX-License-Identifier: Apache-2.0
// Results that are partial because a device has some of the terms only (see partition_impl.h): what
// initial values they start from, and how they are combined.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "spmd/partition_impl.h"

// ---- identities

bool hlo_has_identity(hlo_op_t op, const hlo_type_t* type) {
  if (type->quant || !hlo_type_is_tensor(type)) return false;
  const hlo_dtype_t dtype = type->dtype;
  const bool is_ordered = hlo_dtype_is_float(dtype) || hlo_dtype_is_integer(dtype);
  switch (op) {
    case HLO_OP_add:
    case HLO_OP_multiply:
      return is_ordered || hlo_dtype_is_complex(dtype) || dtype == HLO_DTYPE_PRED;
    case HLO_OP_maximum:
    case HLO_OP_minimum: return is_ordered || dtype == HLO_DTYPE_PRED;
    case HLO_OP_and:
    case HLO_OP_or:
    case HLO_OP_xor: return hlo_dtype_is_integer(dtype) || dtype == HLO_DTYPE_PRED;
    default: return false;
  }
}

// Writes the largest or smallest value of a type.
static void store_extreme(hlo_dtype_t dtype, bool is_largest, void* element) {
  if (hlo_dtype_is_float(dtype)) {
    hlo_dtype_store_double(dtype, element, is_largest ? INFINITY : -INFINITY);
  } else if (dtype == HLO_DTYPE_PRED) {
    *(uint8_t*)element = is_largest;
  } else {
    const uint32_t bits = hlo_dtype_info(dtype)->bits;
    const bool is_signed = hlo_dtype_is_signed(dtype);
    uint64_t value = is_largest ? UINT64_MAX >> (64 - bits + is_signed) : 0;
    if (!is_largest && is_signed) value = UINT64_MAX << (bits - 1);
    hlo_dtype_store_int64(dtype, element, (int64_t)value);
  }
}

static void store_identity(hlo_op_t op, hlo_dtype_t dtype, void* element) {
  const bool is_float = hlo_dtype_is_float(dtype) || hlo_dtype_is_complex(dtype);
  memset(element, 0, hlo_dtype_size_bytes(dtype));
  switch (op) {
    case HLO_OP_add:
      if (dtype == HLO_DTYPE_C64) {
        ((float*)element)[0] = ((float*)element)[1] = -0.0f;
      } else if (dtype == HLO_DTYPE_C128) {
        ((double*)element)[0] = ((double*)element)[1] = -0.0;
      } else if (is_float) {
        hlo_dtype_store_double(dtype, element, -0.0);
      }
      break;
    case HLO_OP_multiply:
      if (is_float) {
        hlo_dtype_store_double(dtype, element, 1);
      } else {
        hlo_dtype_store_int64(dtype, element, 1);
      }
      break;
    case HLO_OP_and:
      if (dtype == HLO_DTYPE_PRED) {
        *(uint8_t*)element = 1;
      } else {
        hlo_dtype_store_int64(dtype, element, -1);
      }
      break;
    case HLO_OP_maximum:
    case HLO_OP_minimum: store_extreme(dtype, op == HLO_OP_minimum, element); break;
    default: break;
  }
}

hlo_value_t* hlo_build_identity(hlo_partitioner_t* p, hlo_op_t op, const hlo_type_t* type) {
  if (!type || !hlo_has_identity(op, type)) return NULL;
  hlo_literal_t* literal = hlo_build_literal(p->module, type, true);
  if (!literal) return NULL;
  store_identity(op, type->dtype, hlo_literal_mutable_data(literal));
  return hlo_build_constant(p->at, type, literal);
}

bool hlo_is_identity(hlo_op_t op, const hlo_value_t* value) {
  while (!value->type->rank && value->def && value->def->op == HLO_OP_broadcast_in_dim) {
    value = hlo_node_operand(value->def, 0);
  }
  const hlo_attr_t* attr = value->def && value->def->op == HLO_OP_constant
                               ? hlo_node_attr(value->def, HLO_ATTR_value)
                               : NULL;
  if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL || !hlo_has_identity(op, value->type))
    return false;
  if (value->type->rank && !attr->literal->is_splat) return false;
  uint8_t wanted[16] = {0}, zero[16] = {0};
  const size_t width = hlo_dtype_size_bytes(value->type->dtype);
  if (width > sizeof wanted) return false;
  store_identity(op, value->type->dtype, wanted);
  return memcmp(attr->literal->data, wanted, width) == 0 ||
         (op == HLO_OP_add && memcmp(attr->literal->data, zero, width) == 0);
}

hlo_value_t* hlo_build_is_first(hlo_partitioner_t* p, hlo_axis_set_t axes) {
  uint8_t list[HLO_GRID_AXES_MAX];
  const uint32_t count = hlo_list_axes(p->grid, axes, list);
  hlo_value_t *index = hlo_axis_index(p, list, count), *zero = hlo_build_s32(p, 0);
  return index && zero ? hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_EQ, index, zero) : NULL;
}

// ---- plans

// Returns the op that combines partial results, HLO_OP_COUNT for any other body.
static hlo_op_t reducer_of(const hlo_op_plan_t* plan, const hlo_region_t* body) {
  if (plan->rule && plan->rule->reducer != HLO_OP_COUNT) return plan->rule->reducer;
  return body ? hlo_region_reducer(body) : HLO_OP_add;
}

bool hlo_can_combine(const hlo_op_plan_t* plan) {
  const hlo_node_t* node = plan->node;
  if (plan->rule->reducer != HLO_OP_COUNT) return true;
  if (node->region_count != 1) return false;
  if (node->op == HLO_OP_reduce) return true;
  if (node->regions[0]->arg_count != 2) return false;
  return node->op != HLO_OP_scatter ||
         hlo_has_identity(reducer_of(plan, node->regions[0]), node->results[0].type);
}

// Replaces a value by the identity on devices that are not at index 0.
static hlo_value_t* keep_on_first(hlo_op_plan_t* plan, hlo_op_t op, hlo_value_t* value) {
  hlo_partitioner_t* p = plan->p;
  hlo_value_t* is_first = hlo_build_is_first(p, plan->sums);
  hlo_value_t* nothing = hlo_build_identity(p, op, value->type);
  return is_first && nothing ? hlo_build_select(p->at, is_first, value, nothing) : NULL;
}

hlo_status_t hlo_fit_initial_values(hlo_op_plan_t* plan, hlo_value_t** operands) {
  const hlo_node_t* node = plan->node;
  if (!plan->sums || node->region_count != 1) return hlo_ok();
  const hlo_op_t op = reducer_of(plan, node->regions[0]);
  uint32_t which = UINT32_MAX;
  if (node->op == HLO_OP_reduce && node->operand_count == 2) which = 1;
  if (node->op == HLO_OP_scatter && (op == HLO_OP_add || op == HLO_OP_multiply)) which = 0;
  if (which == UINT32_MAX || !hlo_has_identity(op, operands[which]->type)) return hlo_ok();
  const bool is_idempotent =
      op == HLO_OP_maximum || op == HLO_OP_minimum || op == HLO_OP_and || op == HLO_OP_or;
  if (is_idempotent || hlo_is_identity(op, operands[which])) return hlo_ok();
  operands[which] = keep_on_first(plan, op, operands[which]);
  return operands[which] ? hlo_ok() : hlo_partitioner_status(plan->p);
}

// ---- results

// Sums and brings the results into the form that propagation decided.
static hlo_status_t sum_results(hlo_op_plan_t* plan, hlo_value_t* const* values) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* result = &node->results[i];
    hlo_spec_t partial = *plan->specs[node->operand_count + i];
    partial.unreduced |= plan->sums;
    const hlo_spec_t* to = hlo_spmd_value_spec(p->spmd, result);
    HLO_TRY(hlo_local_set(
        p, result, to,
        hlo_reshard(p, values[i], result->type, hlo_spec_intern(p->spmd, &partial), to)));
  }
  return hlo_ok();
}

// Gathers partial results of a body over several values, and reduces them with the same body.
static hlo_status_t reduce_again(hlo_op_plan_t* plan, const hlo_region_t* body,
                                 hlo_value_t* const* values) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const uint32_t count = node->result_count;
  uint8_t axes[HLO_GRID_AXES_MAX];
  const uint32_t axis_count = hlo_list_axes(p->grid, plan->sums, axes);
  hlo_value_t** operands = hlo_arena_array(&p->spmd->arena, 2 * count, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, count, sizeof *types);
  if (!operands || !types) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = values[i]->type;
    int64_t dims[HLO_RANK_MAX] = {1};
    if (type->rank == HLO_RANK_MAX) {
      return hlo_node_unimplemented(node, "a partitioned reduction with results of rank %d",
                                    HLO_RANK_MAX);
    }
    memcpy(&dims[1], type->dims, type->rank * sizeof *dims);
    types[i] = type;
    const hlo_type_t* row = hlo_type_with_dims(p->module, type, type->rank + 1, dims);
    hlo_value_t* one = row ? hlo_build_reshape(p->at, row, values[i]) : NULL;
    operands[i] = hlo_build_all_gather(p, one, 0, axes, axis_count);
    operands[count + i] = hlo_local_get_whole(p, hlo_node_operand(node, count + i));
    if (!operands[i] || !operands[count + i]) return hlo_partitioner_status(p);
  }
  const int64_t first = 0;
  const hlo_named_attr_t attr = {HLO_ATTR_dimensions, hlo_attr_ints(p->module, 1, &first)};
  hlo_node_t* again = hlo_node_create(p->module, &(hlo_node_spec_t){.op = HLO_OP_reduce,
                                                                    .loc = node->loc,
                                                                    .operand_count = 2 * count,
                                                                    .operands = operands,
                                                                    .attr_count = 1,
                                                                    .attrs = &attr,
                                                                    .region_count = 1,
                                                                    .result_count = count,
                                                                    .result_types = types});
  if (hlo_node_is_poison(again)) return hlo_partitioner_status(p);
  hlo_node_insert_before(p->at, again);
  HLO_TRY(hlo_copy_body(p, again, body));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_local_set(p, &node->results[i], plan->specs[2 * count + i], &again->results[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_combine_results(hlo_op_plan_t* plan, const hlo_region_t* body,
                                 hlo_value_t* const* values) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const uint32_t count = node->result_count;
  const hlo_op_t reducer = reducer_of(plan, body);
  for (uint32_t i = 0; i < count; ++i) {
    if (!values[i]) return hlo_partitioner_status(p);
  }
  if (reducer == HLO_OP_add) return sum_results(plan, values);
  if (body && body->arg_count > 2) return reduce_again(plan, body, values);
  hlo_value_t** results = hlo_arena_array(&p->spmd->arena, count, sizeof *results);
  if (!results) return hlo_partitioner_status(p);
  HLO_TRY(hlo_build_all_reduce(p, count, values, plan->sums, reducer, body, results));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_local_set(p, &node->results[i], plan->specs[node->operand_count + i], results[i]));
  }
  return hlo_ok();
}
