// SPDX-License-Identifier: Apache-2.0
// Ops that find elements by indices, along divided dimensions (see partition_impl.h).
//
// A device counts indices from the first element of its part. A gather returns -0 for elements of
// other parts, such that the sum over the devices has the right bits; a scatter ignores them, as it
// ignores all indices out of bounds.
#include <string.h>

#include "base/mem.h"
#include "spmd/partition_impl.h"

// The dimension numbers that a gather and a scatter have in common.
typedef struct index_op {
  uint32_t indices;     // operand
  hlo_ints_t map;       // component -> dimension of operand 0
  hlo_ints_t gone;      // dimensions of operand 0 without one in the slices
  hlo_ints_t batching;  // of operand 0
  int64_t vector_dim;
} index_op_t;

static index_op_t read_index_op(const hlo_node_t* node) {
  const bool is_gather = node->op == HLO_OP_gather;
  return (index_op_t){
      .indices = is_gather ? 1 : node->operand_count / 2,
      .map = hlo_node_ints(
          node, is_gather ? HLO_ATTR_start_index_map : HLO_ATTR_scatter_dims_to_operand_dims),
      .gone = hlo_node_ints(
          node, is_gather ? HLO_ATTR_collapsed_slice_dims : HLO_ATTR_inserted_window_dims),
      .batching = hlo_node_ints(
          node, is_gather ? HLO_ATTR_operand_batching_dims : HLO_ATTR_input_batching_dims),
      .vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
  };
}

// Returns true if a slice has all elements of a dimension of operand 0.
static bool is_sliced_whole(const hlo_node_t* node, const index_op_t* x, uint32_t dim) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  if (hlo_ints_has(x->gone, dim) || hlo_ints_has(x->batching, dim)) return type->dims[dim] == 1;
  if (node->op == HLO_OP_gather) {
    return hlo_node_attr_item(node, HLO_ATTR_slice_sizes, dim, 0) == type->dims[dim];
  }
  uint32_t window = 0;
  for (uint32_t d = 0; d < dim; ++d) {
    window += !hlo_ints_has(x->gone, d) && !hlo_ints_has(x->batching, d);
  }
  const int64_t at = hlo_node_attr_item(node, HLO_ATTR_update_window_dims, window, 0);
  return hlo_node_operand_type(node, x->indices + 1)->dims[at] == type->dims[dim];
}

void hlo_restrict_index_factors(hlo_op_plan_t* plan) {
  const index_op_t x = read_index_op(plan->node);
  const hlo_type_t* type = hlo_node_operand_type(plan->node, 0);
  for (uint32_t d = 0; plan->rule->dims[0] && d < type->rank; ++d) {
    // A dimension without an index is taken at element 0, which one device has.
    const bool is_found =
        hlo_ints_has(x.map, d) || hlo_ints_has(x.batching, d) || is_sliced_whole(plan->node, &x, d);
    const hlo_dim_factors_t* dim = &plan->rule->dims[0][d];
    for (uint32_t k = 0; !is_found && k < dim->count; ++k) {
      plan->is_divisible[dim->factors[k]] = false;
    }
  }
}

// ---- indices of gather and scatter

// The components of the indices. Those of divided dimensions are clamped, reduced by the first
// index of the device's part, and compared with its size.
typedef struct components {
  uint32_t count;
  bool is_any;
  bool is_divided[HLO_RANK_MAX];
  uint32_t dims[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX];  // of the whole dimension
  int64_t parts[HLO_RANK_MAX];
} components_t;

static void find_components(const hlo_op_plan_t* plan, const index_op_t* x, components_t* c) {
  const hlo_type_t* type = hlo_node_operand_type(plan->node, 0);
  *c = (components_t){.count = x->map.count};
  for (uint32_t i = 0; i < c->count; ++i) {
    const uint32_t dim = (uint32_t)x->map.values[i];
    c->dims[i] = dim;
    c->sizes[i] = type->dims[dim];
    c->parts[i] = hlo_spec_parts(plan->p->grid, plan->specs[0], dim);
    c->is_divided[i] = c->parts[i] > 1 && !is_sliced_whole(plan->node, x, dim);
    c->is_any |= c->is_divided[i];
  }
}

// Returns the indices in a type that has differences and the sizes of all dimensions.
static hlo_value_t* widen_indices(hlo_partitioner_t* p, hlo_value_t* indices,
                                  const components_t* c) {
  const hlo_dtype_t dtype = indices->type->dtype;
  bool is_wide = hlo_dtype_size_bytes(dtype) == 8 || dtype == HLO_DTYPE_U32;
  for (uint32_t i = 0; i < c->count; ++i) is_wide |= c->sizes[i] > INT32_MAX;
  if (dtype == HLO_DTYPE_U64) {  // does not overflow
    hlo_value_t* largest = hlo_build_splat(p->at, indices->type, (double)(INT64_MAX >> 11));
    indices = largest ? hlo_build_binary(p->at, HLO_OP_minimum, indices, largest) : NULL;
    if (!indices) return NULL;
  }
  return hlo_build_convert(p->at, is_wide ? HLO_DTYPE_S64 : HLO_DTYPE_S32, indices);
}

// Broadcasts one number per component to the shape of the indices.
static hlo_value_t* spread(hlo_partitioner_t* p, const hlo_type_t* type, int64_t vector_dim,
                           hlo_value_t* numbers) {
  if (!numbers) return NULL;
  const bool has_vector = vector_dim < type->rank;
  if (has_vector) return hlo_build_broadcast(p->at, type, numbers, &vector_dim);
  const hlo_type_t* scalar = hlo_type_with_dims(p->module, type, 0, NULL);
  hlo_value_t* number = scalar ? hlo_build_reshape(p->at, scalar, numbers) : NULL;
  return number ? hlo_build_broadcast(p->at, type, number, NULL) : NULL;
}

static hlo_value_t* spread_constants(hlo_partitioner_t* p, const hlo_type_t* type,
                                     int64_t vector_dim, uint32_t count, const int64_t* values) {
  const int64_t dims[] = {count};
  const hlo_type_t* row = hlo_type_with_dims(p->module, type, 1, dims);
  return row ? spread(p, type, vector_dim, hlo_build_integers(p->at, row, values)) : NULL;
}

// Returns the first index of the device's part, per component.
static hlo_value_t* build_offsets(hlo_op_plan_t* plan, const hlo_type_t* type, int64_t vector_dim,
                                  const components_t* c) {
  hlo_partitioner_t* p = plan->p;
  const int64_t one = 1, count = c->count;
  const hlo_type_t* item = hlo_type_with_dims(p->module, type, 1, &one);
  const hlo_type_t* row = hlo_type_with_dims(p->module, type, 1, &count);
  hlo_value_t* items[HLO_RANK_MAX];
  if (!item || !row) return NULL;
  for (uint32_t i = 0; i < c->count; ++i) {
    const uint8_t* axes = NULL;
    const uint32_t axis_count =
        c->is_divided[i] ? hlo_spec_dim(plan->specs[0], c->dims[i], &axes) : 0;
    hlo_value_t* first = hlo_axis_index(p, axes, axis_count);
    first = first ? hlo_build_convert(p->at, type->dtype, first) : NULL;
    hlo_value_t* scale =
        first ? hlo_build_splat(p->at, first->type, (double)hlo_divide_up(c->sizes[i], c->parts[i]))
              : NULL;
    first = scale ? hlo_build_binary(p->at, HLO_OP_multiply, first, scale) : NULL;
    items[i] = first ? hlo_build_reshape(p->at, item, first) : NULL;
    if (!items[i]) return NULL;
  }
  const hlo_named_attr_t attr = {HLO_ATTR_dimension, hlo_attr_int(p->module, HLO_DTYPE_S64, 0)};
  hlo_value_t* all =
      count == 1 ? items[0]
                 : hlo_build_node(p->at, HLO_OP_concatenate, row, c->count, items, 1, &attr);
  return spread(p, type, vector_dim, all);
}

// Clamps the components of divided dimensions as the whole gather does.
static hlo_value_t* clamp_indices(hlo_partitioner_t* p, hlo_value_t* indices, int64_t vector_dim,
                                  const components_t* c) {
  int64_t low[HLO_RANK_MAX], high[HLO_RANK_MAX];
  const bool is_wide = indices->type->dtype == HLO_DTYPE_S64;
  for (uint32_t i = 0; i < c->count; ++i) {
    low[i] = c->is_divided[i] ? 0 : is_wide ? INT64_MIN : INT32_MIN;
    high[i] = c->is_divided[i] ? c->sizes[i] - 1 : is_wide ? INT64_MAX : INT32_MAX;
  }
  hlo_value_t* lows = spread_constants(p, indices->type, vector_dim, c->count, low);
  hlo_value_t* highs = spread_constants(p, indices->type, vector_dim, c->count, high);
  hlo_value_t* operands[] = {lows, indices, highs};
  return lows && highs ? hlo_build_node(p->at, HLO_OP_clamp, indices->type, 3, operands, 0, NULL)
                       : NULL;
}

// Returns which index vectors are in the device's part: a predicate without the vector dimension.
static hlo_value_t* build_mask(hlo_partitioner_t* p, hlo_value_t* indices, int64_t vector_dim,
                               const components_t* c) {
  int64_t low[HLO_RANK_MAX], high[HLO_RANK_MAX];
  const bool is_wide = indices->type->dtype == HLO_DTYPE_S64;
  for (uint32_t i = 0; i < c->count; ++i) {
    low[i] = c->is_divided[i] ? 0 : is_wide ? INT64_MIN : INT32_MIN;
    high[i] = c->is_divided[i] ? hlo_divide_up(c->sizes[i], c->parts[i]) - 1
              : is_wide        ? INT64_MAX
                               : INT32_MAX;
  }
  hlo_value_t* lows = spread_constants(p, indices->type, vector_dim, c->count, low);
  hlo_value_t* highs = spread_constants(p, indices->type, vector_dim, c->count, high);
  if (!lows || !highs) return NULL;
  hlo_value_t* above = hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_GE, indices, lows);
  hlo_value_t* below = hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_LE, indices, highs);
  hlo_value_t* both = above && below ? hlo_build_binary(p->at, HLO_OP_and, above, below) : NULL;
  if (!both || vector_dim >= indices->type->rank) return both;
  return hlo_build_reduce(p->at, HLO_OP_and, both, 1, 1, &vector_dim);
}

hlo_status_t hlo_fit_indices(hlo_op_plan_t* plan, hlo_value_t** operands) {
  hlo_partitioner_t* p = plan->p;
  const index_op_t x = read_index_op(plan->node);
  components_t c;
  find_components(plan, &x, &c);
  if (!c.is_any) return hlo_ok();
  hlo_value_t* indices = widen_indices(p, operands[x.indices], &c);
  const bool is_gather = plan->node->op == HLO_OP_gather;
  if (indices && is_gather) indices = clamp_indices(p, indices, x.vector_dim, &c);
  if (!indices) return hlo_partitioner_status(p);
  hlo_value_t* offsets = build_offsets(plan, indices->type, x.vector_dim, &c);
  indices = offsets ? hlo_build_binary(p->at, HLO_OP_subtract, indices, offsets) : NULL;
  if (!indices) return hlo_partitioner_status(p);
  operands[x.indices] = indices;
  if (is_gather) {
    plan->mask = build_mask(p, indices, x.vector_dim, &c);
    if (!plan->mask) return hlo_partitioner_status(p);
  }
  return hlo_ok();
}

hlo_value_t* hlo_mask_gathered(hlo_op_plan_t* plan, hlo_value_t* result) {
  hlo_partitioner_t* p = plan->p;
  if (!plan->mask) return result;
  const hlo_ints_t offsets = hlo_node_ints(plan->node, HLO_ATTR_offset_dims);
  int64_t batch_dims[HLO_RANK_MAX];
  uint32_t count = 0;
  for (uint32_t d = 0; d < result->type->rank; ++d) {
    if (!hlo_ints_has(offsets, d)) batch_dims[count++] = d;
  }
  const hlo_type_t* type =
      hlo_type_tensor(p->module, HLO_DTYPE_PRED, result->type->rank, result->type->dims);
  hlo_value_t* mask = type ? hlo_build_broadcast(p->at, type, plan->mask, batch_dims) : NULL;
  hlo_value_t* nothing = hlo_build_identity(p, HLO_OP_add, result->type);
  return mask && nothing ? hlo_build_select(p->at, mask, result, nothing) : NULL;
}

// ---- dynamic slices

// One dimension that is divided and of which a slice has a part.
typedef struct cut_dim {
  bool is_cut;
  int64_t size, local, slice;  // of the dimension, of the device's part, of the slice
} cut_dim_t;

typedef struct dynamic_slices {
  hlo_op_plan_t* plan;
  uint32_t first_start;  // operand
  cut_dim_t dims[HLO_RANK_MAX];
  hlo_value_t* starts[HLO_RANK_MAX];  // s64: of the slice, from the first element of the part
} dynamic_slices_t;

static hlo_value_t* build_s64(hlo_partitioner_t* p, int64_t value) {
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_S64, 0, NULL);
  return type ? hlo_build_integers(p->at, type, &value) : NULL;
}

static hlo_value_t* clamp_s64(hlo_partitioner_t* p, hlo_value_t* value, int64_t low, int64_t high) {
  hlo_value_t* operands[] = {build_s64(p, low), value, build_s64(p, high)};
  return value ? hlo_build_node(p->at, HLO_OP_clamp, value->type, 3, operands, 0, NULL) : NULL;
}

static hlo_value_t* add_s64(hlo_partitioner_t* p, hlo_value_t* value, int64_t addend) {
  return value && addend ? hlo_build_binary(p->at, HLO_OP_add, value, build_s64(p, addend)) : value;
}

// Gets the positions of the slices; those of cut dimensions are clamped as the whole op does.
static hlo_status_t get_starts(dynamic_slices_t* s) {
  hlo_op_plan_t* plan = s->plan;
  hlo_partitioner_t* p = plan->p;
  const uint32_t rank = hlo_node_operand_type(plan->node, 0)->rank;
  for (uint32_t d = 0; d < rank; ++d) {
    hlo_value_t* start = hlo_local_get_whole(p, hlo_node_operand(plan->node, s->first_start + d));
    if (start && start->type->dtype == HLO_DTYPE_U64) {
      hlo_value_t* largest = hlo_build_splat(p->at, start->type, (double)(INT64_MAX >> 11));
      start = largest ? hlo_build_binary(p->at, HLO_OP_minimum, start, largest) : NULL;
    }
    start = start ? hlo_build_convert(p->at, HLO_DTYPE_S64, start) : NULL;
    const cut_dim_t* dim = &s->dims[d];
    if (dim->is_cut) {
      const uint8_t* axes;
      const uint32_t count = hlo_spec_dim(plan->specs[0], d, &axes);
      hlo_value_t* first = hlo_axis_index(p, axes, count);
      first = first ? hlo_build_convert(p->at, HLO_DTYPE_S64, first) : NULL;
      first =
          first ? hlo_build_binary(p->at, HLO_OP_multiply, first, build_s64(p, dim->local)) : NULL;
      start = clamp_s64(p, start, 0, dim->size - dim->slice);
      start = start && first ? hlo_build_binary(p->at, HLO_OP_subtract, start, first) : NULL;
    }
    if (!start) return hlo_partitioner_status(p);
    s->starts[d] = start;
  }
  return hlo_ok();
}

// Adds `slice` elements `filler` at both ends of each cut dimension, and moves the starts into the
// padded part: a slice outside of it is in the padding alone.
static hlo_value_t* pad_cuts(dynamic_slices_t* s, hlo_value_t* value, hlo_value_t* filler) {
  int64_t pads[HLO_RANK_MAX] = {0};
  if (!value || !filler) return NULL;
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    const cut_dim_t* dim = &s->dims[d];
    if (!dim->is_cut) continue;
    pads[d] = dim->slice;
    hlo_value_t* start = clamp_s64(s->plan->p, s->starts[d], -dim->slice, dim->local);
    s->starts[d] = add_s64(s->plan->p, start, dim->slice);
    if (!s->starts[d]) return NULL;
  }
  return hlo_build_pad(s->plan->p->at, value, filler, pads, pads, NULL);
}

// Builds a dynamic slice of `type`.
static hlo_value_t* build_slice(dynamic_slices_t* s, const hlo_type_t* type, hlo_value_t* value) {
  return hlo_build_dynamic_slice(s->plan->p->at, type, value, s->starts);
}

// Leaves the operand of a dynamic slice divided where its owners can send the slice with fewer
// bytes than the others would need to have the whole operand.
static hlo_status_t plan_owners(dynamic_slices_t* s) {
  hlo_op_plan_t* plan = s->plan;
  hlo_partitioner_t* p = plan->p;
  hlo_value_t* operand = hlo_node_operand(plan->node, 0);
  const hlo_type_t *in = operand->type, *out = plan->node->results[0].type;
  const hlo_spec_t* decided = hlo_spmd_value_spec(p->spmd, operand);
  if (!decided || !hlo_has_identity(HLO_OP_add, in)) return hlo_partitioner_status(p);
  if (hlo_local_bytes(p, operand, plan->specs[0]) == 0) return hlo_ok();
  for (uint32_t d = 0; d < in->rank; ++d) {
    const uint8_t* axes;
    const uint32_t count = hlo_spec_dim(decided, d, &axes);
    const hlo_axis_set_t set = hlo_axis_set(axes, count);
    if (!count || 2 * out->dims[d] >= in->dims[d] || (set & plan->used)) continue;
    plan->specs[0] = hlo_spec_with_dim(p, plan->specs[0], d, axes, count);
    if (!plan->specs[0]) return hlo_partitioner_status(p);
    plan->used |= set;
    plan->sums |= set;
    s->dims[d] =
        (cut_dim_t){true, in->dims[d],
                    hlo_divide_up(in->dims[d], hlo_grid_size(p->grid, axes, count)), out->dims[d]};
  }
  return hlo_ok();
}

hlo_status_t hlo_partition_dynamic_slice(hlo_op_plan_t* plan) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  dynamic_slices_t s = {.plan = plan, .first_start = 1};
  HLO_TRY(plan_owners(&s));
  hlo_value_t* value = hlo_local_get(p, hlo_node_operand(node, 0), plan->specs[0]);
  if (!value) return hlo_partitioner_status(p);
  HLO_TRY(get_starts(&s));
  if (plan->sums) {
    const hlo_type_t* scalar = hlo_type_with_dims(p->module, value->type, 0, NULL);
    value = pad_cuts(&s, value, scalar ? hlo_build_identity(p, HLO_OP_add, scalar) : NULL);
  }
  const hlo_spec_t* spec = plan->specs[node->operand_count];
  value = build_slice(&s, hlo_local_type(p, node->results[0].type, spec), value);
  if (!value) return hlo_partitioner_status(p);
  return plan->sums ? hlo_combine_results(plan, NULL, &value)
                    : hlo_local_set(p, &node->results[0], spec, value);
}

// Returns true if the slice is at most one element of each cut dimension.
static bool is_one_element(const dynamic_slices_t* s, uint32_t rank) {
  for (uint32_t d = 0; d < rank; ++d) {
    if (s->dims[d].is_cut && s->dims[d].slice > 1) return false;
  }
  return true;
}

// The device that has the element writes it, the others write the element that they have there.
static hlo_value_t* keep_other_elements(dynamic_slices_t* s, hlo_value_t* value,
                                        hlo_value_t* update) {
  hlo_partitioner_t* p = s->plan->p;
  hlo_value_t* is_own = NULL;
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    if (!s->dims[d].is_cut) continue;
    hlo_value_t* start = s->starts[d];
    s->starts[d] = clamp_s64(p, start, 0, s->dims[d].local - 1);
    hlo_value_t* is_here =
        s->starts[d] ? hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_EQ, start, s->starts[d])
                     : NULL;
    is_own = is_own && is_here ? hlo_build_binary(p->at, HLO_OP_and, is_own, is_here) : is_here;
    if (!is_own) return NULL;
  }
  hlo_value_t* old = build_slice(s, update->type, value);
  return old ? hlo_build_select(p->at, is_own, update, old) : NULL;
}

static hlo_value_t* build_update(dynamic_slices_t* s, hlo_value_t* value, hlo_value_t* update) {
  return hlo_build_dynamic_update_slice(s->plan->p->at, value, update, s->starts);
}

hlo_status_t hlo_partition_update_slice(hlo_op_plan_t* plan) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  const hlo_type_t *type = node->results[0].type, *slice = hlo_node_operand_type(node, 1);
  dynamic_slices_t s = {.plan = plan, .first_start = 2};
  bool is_cut = false;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (slice->dims[d] == type->dims[d]) continue;
    plan->specs[1] = hlo_spec_with_dim(p, plan->specs[1], d, NULL, 0);
    const int64_t parts = hlo_spec_parts(p->grid, plan->specs[0], d);
    if (!plan->specs[1]) return hlo_partitioner_status(p);
    s.dims[d] =
        (cut_dim_t){parts > 1, type->dims[d], hlo_divide_up(type->dims[d], parts), slice->dims[d]};
    is_cut |= parts > 1;
  }
  hlo_value_t* value = hlo_local_get(p, hlo_node_operand(node, 0), plan->specs[0]);
  hlo_value_t* update = hlo_local_get(p, hlo_node_operand(node, 1), plan->specs[1]);
  if (!value || !update) return hlo_partitioner_status(p);
  HLO_TRY(get_starts(&s));
  const hlo_type_t* local = value->type;
  if (is_cut && is_one_element(&s, type->rank)) {
    update = keep_other_elements(&s, value, update);
    value = build_update(&s, value, update);
  } else if (is_cut) {
    const hlo_type_t* scalar = hlo_type_with_dims(p->module, local, 0, NULL);
    value = pad_cuts(&s, value, scalar ? hlo_build_splat(p->at, scalar, 0) : NULL);
    value = build_update(&s, value, update);
    int64_t first[HLO_RANK_MAX] = {0};
    for (uint32_t d = 0; d < type->rank; ++d) {
      if (s.dims[d].is_cut) first[d] = s.dims[d].slice;
    }
    value = value ? hlo_build_slice(p->at, local, value, first, NULL) : NULL;
  } else {
    value = build_update(&s, value, update);
  }
  return hlo_local_set(p, &node->results[0], plan->specs[node->operand_count], value);
}
