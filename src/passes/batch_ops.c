// SPDX-License-Identifier: Apache-2.0
// Ops of a loop's body for all iterations at once, for pass batch_loops. Iterations become
// dimension 0 of every value that varies; values that do not are computed once.
//
// The bits are those of the loop for elementwise ops, movements of elements, and reductions in
// which the order does not matter; sums of floats and products may be added in another order.
// Scalar integers that are a linear function of the iteration's number are known as such:
// comparisons with bounds are decided, and slices that start there are parts of a reshaped array.
#include "ir/reducer.h"
#include "passes/batch_loops.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/progression.h"

// Operands of an op, and one more.
enum { OPERANDS_MAX = 2 + 2 * HLO_RANK_MAX };

// ---- facts

// Arrays of one element count as scalars.
static bool is_scalar_integer(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && hlo_type_element_count(type) == 1 &&
         (type->dtype == HLO_DTYPE_PRED || hlo_dtype_is_integer(type->dtype));
}

static hlo_batch_fact_t known(const hlo_batch_t* b, hlo_dtype_t dtype, int64_t first,
                              int64_t step) {
  const hlo_batch_fact_t fact = {
      .is_varying = step != 0, .is_known = true, .first = first, .step = step};
  return hlo_progression_fits((hlo_progression_t){first, step}, b->count, dtype)
             ? fact
             : (hlo_batch_fact_t){.is_varying = step != 0};
}

static bool read_constant(const hlo_value_t* value, int64_t* out) {
  const hlo_literal_t* literal = hlo_constant_literal(value);
  if (!literal || !is_scalar_integer(value->type)) return false;
  if (literal->dtype != HLO_DTYPE_PRED && hlo_dtype_info(literal->dtype)->bits < 8) return false;
  *out = hlo_dtype_load_int64(literal->dtype, literal->data);
  return true;
}

hlo_batch_fact_t hlo_batch_fact(const hlo_batch_t* b, const hlo_value_t* value) {
  int64_t constant;
  if (value->region == b->body) return b->facts[value->index];
  if (!read_constant(value, &constant)) return (hlo_batch_fact_t){0};
  return known(b, value->type->dtype, constant, 0);
}

static bool infer_binary(const hlo_batch_t* b, const hlo_node_t* node, hlo_batch_fact_t* out) {
  const hlo_batch_fact_t x = hlo_batch_fact(b, hlo_node_operand(node, 0));
  const hlo_batch_fact_t y = hlo_batch_fact(b, hlo_node_operand(node, 1));
  hlo_progression_t result;
  if (!x.is_known || !y.is_known ||
      !hlo_progression_apply(node, (hlo_progression_t){x.first, x.step},
                             (hlo_progression_t){y.first, y.step}, b->count, &result)) {
    return false;
  }
  *out = known(b, node->results[0].type->dtype, result.first, result.step);
  return out->is_known;
}

static bool infer_scalar(const hlo_batch_t* b, const hlo_node_t* node, hlo_batch_fact_t* out) {
  int64_t value;
  if (!is_scalar_integer(node->results[0].type)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!is_scalar_integer(hlo_node_operand_type(node, i))) return false;
  }
  switch (node->op) {
    case HLO_OP_constant:
      if (!read_constant(&node->results[0], &value)) return false;
      *out = known(b, node->results[0].type->dtype, value, 0);
      return out->is_known;
    case HLO_OP_broadcast_in_dim:
    case HLO_OP_reshape:
    case HLO_OP_convert: {
      const hlo_batch_fact_t x = hlo_batch_fact(b, hlo_node_operand(node, 0));
      if (!x.is_known) return false;
      if (node->op == HLO_OP_convert && node->results[0].type->dtype == HLO_DTYPE_PRED)
        return false;
      *out = known(b, node->results[0].type->dtype, x.first, x.step);
      return out->is_known;
    }
    case HLO_OP_select: {
      const hlo_batch_fact_t which = hlo_batch_fact(b, hlo_node_operand(node, 0));
      if (!which.is_known) return false;
      *out = hlo_batch_fact(b, hlo_node_operand(node, which.first ? 1 : 2));
      return out->is_known;
    }
    default: return node->operand_count == 2 && infer_binary(b, node, out);
  }
}

hlo_batch_fact_t hlo_batch_infer(const hlo_batch_t* b, const hlo_node_t* node) {
  hlo_batch_fact_t fact = {0};
  if (infer_scalar(b, node, &fact)) return fact;
  fact = (hlo_batch_fact_t){0};
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_batch_fact(b, hlo_node_operand(node, i)).is_varying) fact.is_varying = true;
  }
  return fact;
}

bool hlo_batch_window(const hlo_batch_t* b, const hlo_node_t* node, hlo_batch_window_t* out) {
  const hlo_type_t* array = hlo_node_operand_type(node, 0);
  const uint32_t first_start = node->op == HLO_OP_dynamic_slice ? 1 : 2;
  const hlo_type_t* slice =
      first_start == 1 ? node->results[0].type : hlo_node_operand_type(node, 1);
  bool has_dim = false;
  *out = (hlo_batch_window_t){0};
  for (uint32_t d = 0; d < array->rank; ++d) {
    const hlo_batch_fact_t start = hlo_batch_fact(b, hlo_node_operand(node, first_start + d));
    if (!start.is_known && start.is_varying) return false;
    if (!start.is_known) {
      out->at[d] = hlo_node_operand(node, first_start + d);
      continue;
    }
    const int64_t room = array->dims[d] - slice->dims[d];
    if (!start.step) {
      out->starts[d] = start.first < 0 ? 0 : start.first > room ? room : start.first;
      continue;
    }
    const int64_t last = start.first + start.step * (b->count - 1);
    out->is_reversed = start.step < 0;
    out->starts[d] = out->is_reversed ? last : start.first;
    if (has_dim || (out->is_reversed ? -start.step : start.step) != slice->dims[d] ||
        out->starts[d] < 0 || (out->is_reversed ? start.first : last) > room) {
      return false;
    }
    has_dim = true;
    out->dim = d;
  }
  return has_dim;
}

// ---- what has a form for all iterations

static bool is_varying(const hlo_batch_t* b, const hlo_node_t* node, uint32_t operand) {
  return hlo_batch_fact(b, hlo_node_operand(node, operand)).is_varying;
}

// Returns true if some operand from `first` on varies.
static bool any_varies(const hlo_batch_t* b, const hlo_node_t* node, uint32_t first) {
  for (uint32_t i = first; i < node->operand_count; ++i) {
    if (is_varying(b, node, i)) return true;
  }
  return false;
}

static bool can_reduce(const hlo_node_t* node) {
  if (node->op != HLO_OP_reduce || node->operand_count != 2) return false;
  switch (hlo_reduce_op(node, 0)) {
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_and:
    case HLO_OP_or: return true;
    case HLO_OP_add:
    case HLO_OP_multiply: return true;
    default: return false;
  }
}

static bool can_vary(const hlo_batch_t* b, const hlo_node_t* node) {
  if (hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE) return node->region_count == 0;
  switch (node->op) {
    case HLO_OP_broadcast_in_dim:
    case HLO_OP_reshape:
    case HLO_OP_transpose:
    case HLO_OP_slice:
    case HLO_OP_reverse:
    case HLO_OP_concatenate:
    case HLO_OP_dot_general: return true;
    case HLO_OP_pad:
    case HLO_OP_reduce: return !is_varying(b, node, 1);
    case HLO_OP_dynamic_slice: return !is_varying(b, node, 0) || !any_varies(b, node, 1);
    case HLO_OP_dynamic_update_slice: return !any_varies(b, node, 2);
    case HLO_OP_gather: return !is_varying(b, node, 0);
    default: return false;
  }
}

// A carried array that the loop updates is read through slices only.
static bool reads_update(const hlo_batch_t* b, const hlo_node_t* node) {
  hlo_batch_window_t window;
  const hlo_value_t* array = hlo_node_operand(node, 0);
  return array->region == b->body && !array->def && !hlo_batch_fact(b, array).is_known &&
         node->op == HLO_OP_dynamic_slice && hlo_batch_window(b, node, &window);
}

bool hlo_batch_can(const hlo_batch_t* b, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  if (!hlo_type_is_plain(type) || type->rank + 2 > HLO_RANK_MAX ||
      node->operand_count >= OPERANDS_MAX) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* operand = hlo_node_operand_type(node, i);
    if (!hlo_type_is_plain(operand) || operand->rank + 2 > HLO_RANK_MAX) return false;
  }
  if (node->region_count && !can_reduce(node)) return false;
  if (!any_varies(b, node, 0) || can_vary(b, node)) return true;
  return node->op == HLO_OP_dynamic_slice && reads_update(b, node);
}

// ---- values

static const hlo_type_t* with_iterations(const hlo_batch_t* b, const hlo_type_t* type) {
  int64_t dims[HLO_RANK_MAX] = {b->count};
  for (uint32_t d = 0; d < type->rank; ++d) dims[1 + d] = type->dims[d];
  return hlo_type_with_dims(b->body->module, type, type->rank + 1, dims);
}

static hlo_value_t* integer(const hlo_batch_t* b, const hlo_type_t* type, int64_t value) {
  return type->dtype == HLO_DTYPE_PRED ? hlo_build_splat(b->loop, type, (double)value)
                                       : hlo_build_integers(b->loop, type, &value);
}

hlo_value_t* hlo_batch_invariant(const hlo_batch_t* b, hlo_value_t* value) {
  if (value->region != b->body) return value;
  if (!value->def) return hlo_node_operand(b->loop, value->number);
  const hlo_batch_fact_t fact = hlo_batch_fact(b, value);
  return fact.is_known ? integer(b, value->type, fact.first) : b->built[value->index];
}

// Returns the numbers first, first + step, ...; each may be an array of one element.
static hlo_value_t* numbers(const hlo_batch_t* b, const hlo_type_t* one, hlo_batch_fact_t fact) {
  const hlo_type_t* type = with_iterations(b, one);
  const hlo_type_t* scalar = hlo_type_with_dims(b->body->module, one, 0, NULL);
  hlo_value_t* value = hlo_build_iota(b->loop, type, 0);
  if (!scalar || !type || !value) return NULL;
  if (fact.step != 1) {
    hlo_value_t* step = hlo_build_broadcast(b->loop, type, integer(b, scalar, fact.step), NULL);
    value = hlo_build_binary(b->loop, HLO_OP_multiply, value, step);
  }
  if (fact.first != 0) {
    hlo_value_t* first = hlo_build_broadcast(b->loop, type, integer(b, scalar, fact.first), NULL);
    value = hlo_build_binary(b->loop, HLO_OP_add, value, first);
  }
  return value;
}

// Returns the value of all iterations.
static hlo_value_t* batched(const hlo_batch_t* b, hlo_value_t* value) {
  const hlo_batch_fact_t fact = hlo_batch_fact(b, value);
  int64_t along[HLO_RANK_MAX];
  if (fact.is_varying && fact.is_known) return numbers(b, value->type, fact);
  if (fact.is_varying) return b->built[value->index];
  for (uint32_t d = 0; d < value->type->rank; ++d) along[d] = 1 + d;
  return hlo_build_broadcast(b->loop, with_iterations(b, value->type),
                             hlo_batch_invariant(b, value), along);
}

// ---- ops

static void set_ints(hlo_value_t* result, hlo_attr_id_t id, uint32_t count, const int64_t* values) {
  if (!result) return;
  hlo_module_t* module = result->def->parent->module;
  hlo_node_set_attr(result->def, id, hlo_attr_ints(module, count, values));
}

// Puts `first` before the integers of an attribute, and adds `shift` to them.
static void extend_ints(hlo_value_t* result, hlo_attr_id_t id, bool has_first, int64_t first,
                        int64_t shift) {
  if (!result) return;
  const hlo_ints_t old = hlo_node_ints(result->def, id);
  int64_t values[2 * HLO_RANK_MAX];
  uint32_t count = 0;
  if (has_first) values[count++] = first;
  for (uint32_t i = 0; i < old.count; ++i) values[count++] = old.values[i] + shift;
  set_ints(result, id, count, values);
}

static void extend_int(hlo_value_t* result, hlo_attr_id_t id) {
  if (!result) return;
  const int64_t value = hlo_node_attr_int(result->def, id, 0) + 1;
  hlo_node_set_attr(result->def, id,
                    hlo_attr_int(result->def->parent->module, HLO_DTYPE_S64, value));
}

// A scalar operand, as of select, gets the shape of the others.
static hlo_value_t* elementwise_operand(const hlo_batch_t* b, const hlo_node_t* node, uint32_t i,
                                        const hlo_type_t* result) {
  hlo_value_t* value = hlo_node_operand(node, i);
  if (value->type->rank == result->rank - 1) return batched(b, value);
  if (!is_varying(b, node, i)) return hlo_batch_invariant(b, value);
  const hlo_type_t* type =
      hlo_type_with_dims(b->body->module, value->type, result->rank, result->dims);
  return hlo_build_broadcast(b->loop, type, batched(b, value), (int64_t[]){0});
}

static hlo_value_t* build_reduce(const hlo_batch_t* b, const hlo_node_t* node,
                                 const hlo_type_t* type, hlo_value_t* const* operands) {
  hlo_value_t* result = hlo_build_copy(b->loop, node, type, operands);
  return result && hlo_build_reducer(result->def, hlo_reduce_op(node, 0)) ? result : NULL;
}

// Moves the iterations from dimension `from` to `to`.
static hlo_value_t* move_iterations(const hlo_batch_t* b, hlo_value_t* value, uint32_t from,
                                    uint32_t to) {
  int64_t order[HLO_RANK_MAX];
  if (!value || from == to) return value;
  for (uint32_t d = 0, next = 0; d < value->type->rank; ++d) {
    if (next == from) ++next;
    order[d] = d == to ? from : next++;
  }
  return hlo_build_transpose(b->loop, value, order);
}

static hlo_value_t* reverse_iterations(const hlo_batch_t* b, hlo_value_t* value) {
  if (!value) return NULL;
  const hlo_named_attr_t dims = {HLO_ATTR_dimensions,
                                 hlo_attr_ints(b->body->module, 1, (int64_t[]){0})};
  return hlo_build_node(b->loop, HLO_OP_reverse, value->type, 1, &value, 1, &dims);
}

// Fills in the starts of a window as operands, of the type of those that are not known; false if
// all are known.
static bool dynamic_starts(const hlo_batch_t* b, const hlo_batch_window_t* window, uint32_t rank,
                           hlo_value_t** operands) {
  const hlo_type_t* number = NULL;
  for (uint32_t d = 0; d < rank; ++d) {
    if (window->at[d]) number = window->at[d]->type;
  }
  for (uint32_t d = 0; d < rank && number; ++d) {
    operands[d] = window->at[d] ? hlo_batch_invariant(b, window->at[d])
                                : hlo_build_integers(b->loop, number, &window->starts[d]);
  }
  return number != NULL;
}

// Takes the part of an array that the slices of all iterations are together.
static hlo_value_t* read_part(const hlo_batch_t* b, const hlo_batch_window_t* window,
                              const hlo_type_t* type, hlo_value_t* array) {
  hlo_value_t* starts[HLO_RANK_MAX];
  if (!type || type == array->type) return array;
  if (!dynamic_starts(b, window, type->rank, starts)) {
    return hlo_build_slice(b->loop, type, array, window->starts, NULL);
  }
  return hlo_build_dynamic_slice(b->loop, type, array, starts);
}

// The slices of all iterations: one slice, of which one dimension is divided.
static hlo_value_t* read_window(const hlo_batch_t* b, const hlo_node_t* node,
                                const hlo_batch_window_t* window) {
  hlo_value_t* array = hlo_node_operand(node, 0);
  hlo_value_t* outside = array->region == b->body && !array->def
                             ? hlo_node_operand(b->loop, array->number)
                             : hlo_batch_invariant(b, array);
  const hlo_type_t* slice = node->results[0].type;
  int64_t whole[HLO_RANK_MAX], parts[HLO_RANK_MAX];
  for (uint32_t d = 0; d < slice->rank; ++d) {
    whole[d] = slice->dims[d] * (d == window->dim ? b->count : 1);
    parts[d < window->dim ? d : d + 1] = slice->dims[d];
  }
  parts[window->dim] = b->count;
  const hlo_type_t* type = hlo_type_with_dims(b->body->module, slice, slice->rank, whole);
  hlo_value_t* value = read_part(b, window, type, outside);
  type = hlo_type_with_dims(b->body->module, slice, slice->rank + 1, parts);
  value = move_iterations(b, hlo_build_reshape(b->loop, type, value), window->dim, 0);
  return window->is_reversed ? reverse_iterations(b, value) : value;
}

hlo_value_t* hlo_batch_assemble(const hlo_batch_t* b, const hlo_batch_window_t* window,
                                hlo_value_t* array, hlo_value_t* update) {
  const hlo_type_t* slice = update->type;
  int64_t whole[HLO_RANK_MAX];
  for (uint32_t d = 0; d < slice->rank; ++d) {
    whole[d] = slice->dims[d] * (d == window->dim ? b->count : 1);
  }
  hlo_value_t* value = batched(b, update);
  if (window->is_reversed) value = reverse_iterations(b, value);
  value = hlo_build_reshape(b->loop, hlo_type_with_dims(b->body->module, slice, slice->rank, whole),
                            move_iterations(b, value, 0, window->dim));
  if (!value || value->type == array->type) return value;
  const hlo_type_t* number = hlo_type_tensor(b->body->module, HLO_DTYPE_S64, 0, NULL);
  hlo_value_t* starts[HLO_RANK_MAX];
  if (!dynamic_starts(b, window, slice->rank, starts)) {
    for (uint32_t d = 0; d < slice->rank; ++d) {
      starts[d] = hlo_build_integers(b->loop, number, &window->starts[d]);
    }
  }
  return hlo_build_dynamic_update_slice(b->loop, array, value, starts);
}

// Slices that start anywhere: a gather moves them inside of the array like dynamic_slice.
static hlo_value_t* gather_slices(const hlo_batch_t* b, const hlo_node_t* node) {
  hlo_module_t* module = b->body->module;
  const hlo_type_t* slice = node->results[0].type;
  const hlo_type_t* start = hlo_node_operand_type(node, 1);
  const hlo_type_t* column = hlo_type_with_dims(module, start, 2, (int64_t[]){b->count, 1});
  hlo_value_t* columns[HLO_RANK_MAX];
  int64_t offsets[HLO_RANK_MAX], map[HLO_RANK_MAX];
  for (uint32_t d = 0; d < slice->rank; ++d) {
    columns[d] = hlo_build_reshape(b->loop, column, batched(b, hlo_node_operand(node, 1 + d)));
    offsets[d] = 1 + d;
    map[d] = d;
  }
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_attr_int(module, HLO_DTYPE_S64, 1)};
  hlo_value_t* operands[] = {
      hlo_batch_invariant(b, hlo_node_operand(node, 0)),
      slice->rank == 1
          ? columns[0]
          : hlo_build_node(
                b->loop, HLO_OP_concatenate,
                hlo_type_with_dims(module, start, 2, (int64_t[]){b->count, (int64_t)slice->rank}),
                slice->rank, columns, 1, &along)};
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_offset_dims, hlo_attr_ints(module, slice->rank, offsets)},
      {HLO_ATTR_collapsed_slice_dims, hlo_attr_ints(module, 0, NULL)},
      {HLO_ATTR_start_index_map, hlo_attr_ints(module, slice->rank, map)},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(module, HLO_DTYPE_S64, 1)},
      {HLO_ATTR_slice_sizes, hlo_attr_ints(module, slice->rank, slice->dims)},
  };
  return hlo_build_node(b->loop, HLO_OP_gather, with_iterations(b, slice), 2, operands, 5, attrs);
}

static hlo_value_t* build_slice(const hlo_batch_t* b, const hlo_node_t* node,
                                hlo_value_t* const* operands) {
  hlo_batch_window_t window;
  const hlo_type_t* type = with_iterations(b, node->results[0].type);
  if (hlo_batch_window(b, node, &window) && (!is_varying(b, node, 0) || reads_update(b, node))) {
    return read_window(b, node, &window);
  }
  if (!is_varying(b, node, 0)) return gather_slices(b, node);
  hlo_value_t* result =
      hlo_build_node(b->loop, node->op, type, node->operand_count + 1, operands, 1,
                     &(hlo_named_attr_t){HLO_ATTR_slice_sizes,
                                         hlo_attr_ints(b->body->module, type->rank, type->dims)});
  return result;
}

// Fills in the operands of a dynamic_slice or dynamic_update_slice whose starts do not vary, with a
// start for the iterations.
static void operands_with_start(const hlo_batch_t* b, const hlo_node_t* node, uint32_t first_start,
                                hlo_value_t** operands) {
  for (uint32_t i = 0; i < first_start; ++i) operands[i] = batched(b, hlo_node_operand(node, i));
  if (first_start == node->operand_count) return;
  operands[first_start] = integer(b, hlo_node_operand_type(node, first_start), 0);
  for (uint32_t i = first_start; i < node->operand_count; ++i) {
    operands[1 + i] = hlo_batch_invariant(b, hlo_node_operand(node, i));
  }
}

// Adapts the attributes of an op with one more dimension, the first.
static void extend_attrs(hlo_value_t* result) {
  switch (result ? result->def->op : HLO_OP_COUNT) {
    case HLO_OP_broadcast_in_dim:
      extend_ints(result, HLO_ATTR_broadcast_dimensions, true, 0, 1);
      break;
    case HLO_OP_transpose: extend_ints(result, HLO_ATTR_permutation, true, 0, 1); break;
    case HLO_OP_slice:
      extend_ints(result, HLO_ATTR_start_indices, true, 0, 0);
      extend_ints(result, HLO_ATTR_limit_indices, true, result->type->dims[0], 0);
      extend_ints(result, HLO_ATTR_strides, true, 1, 0);
      break;
    case HLO_OP_pad:
      extend_ints(result, HLO_ATTR_edge_padding_low, true, 0, 0);
      extend_ints(result, HLO_ATTR_edge_padding_high, true, 0, 0);
      extend_ints(result, HLO_ATTR_interior_padding, true, 0, 0);
      break;
    case HLO_OP_reverse:
    case HLO_OP_reduce: extend_ints(result, HLO_ATTR_dimensions, false, 0, 1); break;
    case HLO_OP_concatenate: extend_int(result, HLO_ATTR_dimension); break;
    case HLO_OP_gather:
      extend_ints(result, HLO_ATTR_offset_dims, false, 0, 1);
      if (hlo_node_attr(result->def, HLO_ATTR_start_indices_batching_dims)) {
        extend_ints(result, HLO_ATTR_start_indices_batching_dims, false, 0, 1);
      }
      extend_int(result, HLO_ATTR_index_vector_dim);
      hlo_node_set_attr(result->def, HLO_ATTR_indices_are_sorted, NULL);
      break;
    default: break;
  }
}

// Products of all iterations: their number is a batch dimension if both operands vary, else a
// dimension of the one that does, so that they are one product.
static hlo_value_t* build_product(const hlo_batch_t* b, const hlo_node_t* node,
                                  const hlo_type_t* type, hlo_value_t** operands) {
  static const hlo_attr_id_t kBatch[] = {HLO_ATTR_lhs_batching_dimensions,
                                         HLO_ATTR_rhs_batching_dimensions};
  static const hlo_attr_id_t kContracting[] = {HLO_ATTR_lhs_contracting_dimensions,
                                               HLO_ATTR_rhs_contracting_dimensions};
  const uint32_t batch_count = hlo_node_ints(node, kBatch[0]).count;
  const bool varies[] = {is_varying(b, node, 0), is_varying(b, node, 1)};
  const bool both = varies[0] && varies[1];
  uint32_t at = both ? 0 : batch_count;  // the iterations' dimension of the result
  if (!varies[0]) {
    at += hlo_node_operand_type(node, 0)->rank - batch_count -
          hlo_node_ints(node, kContracting[0]).count;
  }
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0, next = 1; d < type->rank; ++d) dims[d] = type->dims[d == at ? 0 : next++];
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    operands[i] = varies[i] ? batched(b, value) : hlo_batch_invariant(b, value);
  }
  hlo_value_t* result = hlo_build_copy(
      b->loop, node, hlo_type_with_dims(b->body->module, type, type->rank, dims), operands);
  for (uint32_t i = 0; i < 2; ++i) {
    if (!varies[i]) continue;
    extend_ints(result, kBatch[i], both, 0, 1);
    extend_ints(result, kContracting[i], false, 0, 1);
  }
  return move_iterations(b, result, at, 0);
}

hlo_value_t* hlo_batch_build_sum(const hlo_batch_t* b, const hlo_node_t* node) {
  static const hlo_attr_id_t kDims[][2] = {
      {HLO_ATTR_lhs_batching_dimensions, HLO_ATTR_lhs_contracting_dimensions},
      {HLO_ATTR_rhs_batching_dimensions, HLO_ATTR_rhs_contracting_dimensions}};
  if (node->op != HLO_OP_dot_general) {
    hlo_value_t* sum = b->built[hlo_node_operand(node, 0)->index];
    return hlo_build_copy(b->loop, node, node->results[0].type, &sum);
  }
  hlo_value_t* operands[] = {batched(b, hlo_node_operand(node, 0)),
                             batched(b, hlo_node_operand(node, 1))};
  hlo_value_t* result = hlo_build_copy(b->loop, node, node->results[0].type, operands);
  for (uint32_t i = 0; i < 2; ++i) {
    extend_ints(result, kDims[i][0], false, 0, 1);
    extend_ints(result, kDims[i][1], true, 0, 1);
  }
  return result;
}

// Returns the reduction by addition, from zero on, whose result only an accumulator gets.
static const hlo_node_t* partial_sum(const hlo_value_t* value) {
  const hlo_node_t* node = value->def;
  if (!node || node->op != HLO_OP_reduce || node->operand_count != 2 || value->uses->next ||
      hlo_reduce_op(node, 0) != HLO_OP_add || !hlo_constant_is_zero(hlo_node_operand(node, 1))) {
    return NULL;
  }
  return node;
}

hlo_value_t* hlo_batch_sum(const hlo_batch_t* b, hlo_value_t* value) {
  int64_t dims[HLO_RANK_MAX] = {0};
  uint32_t count = 1;
  const hlo_node_t* inner = partial_sum(value);
  if (inner && is_varying(b, inner, 0)) {
    const hlo_ints_t of_inner = hlo_node_ints(inner, HLO_ATTR_dimensions);
    for (uint32_t i = 0; i < of_inner.count; ++i) dims[count++] = of_inner.values[i] + 1;
    value = hlo_node_operand(inner, 0);
  }
  return hlo_build_reduce(b->loop, HLO_OP_add, batched(b, value), 0, count, dims);
}

static hlo_value_t* build_varying(const hlo_batch_t* b, const hlo_node_t* node,
                                  hlo_value_t** operands) {
  const hlo_type_t* type = with_iterations(b, node->results[0].type);
  if (!type) return NULL;
  const hlo_batch_fact_t which = hlo_batch_fact(b, hlo_node_operand(node, 0));
  if (node->op == HLO_OP_select && which.is_known && !which.is_varying) {
    return batched(b, hlo_node_operand(node, which.first ? 1 : 2));
  }
  if (hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      operands[i] = elementwise_operand(b, node, i, type);
    }
    return hlo_build_copy(b->loop, node, type, operands);
  }
  if (node->op == HLO_OP_dynamic_slice) {
    if (is_varying(b, node, 0) && !reads_update(b, node)) operands_with_start(b, node, 1, operands);
    return build_slice(b, node, operands);
  }
  if (node->op == HLO_OP_dynamic_update_slice) {
    operands_with_start(b, node, 2, operands);
    return hlo_build_node(b->loop, node->op, type, node->operand_count + 1, operands, 0, NULL);
  }
  if (node->op == HLO_OP_dot_general) return build_product(b, node, type, operands);
  const bool has_fixed_operand = node->op == HLO_OP_pad || node->op == HLO_OP_reduce;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    const bool is_fixed = (has_fixed_operand && i == 1) || (node->op == HLO_OP_gather && i == 0);
    operands[i] = is_fixed ? hlo_batch_invariant(b, value) : batched(b, value);
  }
  hlo_value_t* result = node->op == HLO_OP_reduce ? build_reduce(b, node, type, operands)
                                                  : hlo_build_copy(b->loop, node, type, operands);
  extend_attrs(result);
  return result;
}

hlo_value_t* hlo_batch_build(const hlo_batch_t* b, hlo_node_t* node) {
  hlo_value_t* few[OPERANDS_MAX];
  if (any_varies(b, node, 0)) return build_varying(b, node, few);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    few[i] = hlo_batch_invariant(b, hlo_node_operand(node, i));
  }
  return node->op == HLO_OP_reduce ? build_reduce(b, node, node->results[0].type, few)
                                   : hlo_build_copy(b->loop, node, node->results[0].type, few);
}
