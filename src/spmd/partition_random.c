// SPDX-License-Identifier: Apache-2.0
// Random bits of a divided value (see partition_impl.h).
//
// The bits of an rng_bit_generator are functions of counters, one after the other in the order of
// the elements. Where the major dimension is divided, those of a device's part are a range: the
// device generates them from a state whose counter is that of its first element.
#include <string.h>

#include "base/mem.h"
#include "ir/random.h"
#include "spmd/partition_impl.h"

typedef struct random_bits {
  hlo_op_plan_t* plan;
  hlo_dim_axes_t axes;
  uint32_t dim;              // the major one of more than one element
  int64_t part;              // of it
  int64_t rows_per_counter;  // 2 if neighbours along the dimension share a counter
  int64_t counters;          // of rows_per_counter rows
  int64_t all_counters;
  int64_t rows;  // that the device generates: counters are whole
  bool is_threefry;
} random_bits_t;

static int64_t count_from(const hlo_type_t* type, uint32_t first) {
  int64_t count = 1;
  for (uint32_t d = first; d < type->rank; ++d) count *= type->dims[d];
  return count;
}

// Finds the counters of 4-byte and smaller elements, two of which share one.
static bool find_pairs(random_bits_t* r, const hlo_type_t* type) {
  const uint32_t split = hlo_threefry_dimension(type->rank, type->dims);
  const int64_t size = type->dims[split], inner = count_from(type, r->dim + 1);
  if (split == r->dim) {
    r->rows_per_counter = 2;
    r->counters = inner;
    r->all_counters = (size + 1) / 2 * inner;
    r->rows += r->rows % 2;
    return true;
  }
  // Parts of an even size would be split themselves.
  r->counters = inner / size * ((size + 1) / 2);
  r->all_counters = type->dims[r->dim] * r->counters;
  return r->part % 2 != 0;
}

// Finds the counters of four words, or two elements of 8 bytes, in the order of the elements.
static bool find_words(random_bits_t* r, const hlo_type_t* type) {
  const int64_t each = hlo_dtype_size_bytes(type->dtype) == 8 ? 2 : 4;
  const int64_t inner = count_from(type, r->dim + 1);
  r->all_counters = hlo_divide_up(count_from(type, 0), each);
  if (inner % each == 0) {
    r->counters = inner / each;
    return true;
  }
  // The fewest rows with whole counters.
  r->rows_per_counter = inner % 2 == 0 ? 2 : each;
  r->counters = inner * r->rows_per_counter / each;
  return r->part % r->rows_per_counter == 0;
}

static bool find_counters(random_bits_t* r) {
  hlo_partitioner_t* p = r->plan->p;
  const hlo_node_t* node = r->plan->node;
  const hlo_value_t* bits = &node->results[1];
  const hlo_type_t *type = bits->type, *state = hlo_node_operand_type(node, 0);
  const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, bits);
  const hlo_attr_t* algorithm = hlo_node_attr(node, HLO_ATTR_rng_algorithm);
  if (!spec || !hlo_type_is_tensor(type) || state->dtype != HLO_DTYPE_U64 || state->rank != 1) {
    return false;
  }
  while (r->dim < type->rank && type->dims[r->dim] == 1) ++r->dim;
  if (r->dim == type->rank || !hlo_type_element_count(type)) return false;
  const uint8_t* axes;
  r->axes.count = hlo_spec_dim(spec, r->dim, &axes);
  memcpy(r->axes.axes, axes, r->axes.count);
  const int64_t parts = hlo_grid_size(p->grid, axes, r->axes.count);
  if (parts == 1 || type->dims[r->dim] > INT32_MAX - parts) return false;
  r->part = r->rows = hlo_divide_up(type->dims[r->dim], parts);
  r->rows_per_counter = 1;
  r->is_threefry = algorithm && algorithm->i == HLO_RNG_ALGORITHM_THREE_FRY;
  const int64_t words = state->dims[0];
  if (words != 2 && (words != 3 || r->is_threefry)) return false;
  if (!r->is_threefry) return find_words(r, type);
  if (hlo_dtype_size_bytes(type->dtype) < 8) return find_pairs(r, type);
  r->counters = count_from(type, r->dim + 1);
  r->all_counters = count_from(type, 0);
  return true;
}

// ---- states

static hlo_value_t* build_u64(hlo_partitioner_t* p, int64_t value) {
  const int64_t one = 1;
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_U64, 1, &one);
  return type ? hlo_build_integers(p->at, type, &value) : NULL;
}

// Returns the counter of the device's first element, from that of the state.
static hlo_value_t* build_first_counter(random_bits_t* r) {
  hlo_partitioner_t* p = r->plan->p;
  hlo_value_t* row = hlo_scaled_index(p, hlo_axis_index(p, r->axes.axes, r->axes.count), r->part);
  if (row && r->rows_per_counter > 1) {
    row = hlo_build_binary(p->at, HLO_OP_divide, row, hlo_build_s32(p, r->rows_per_counter));
  }
  row = row ? hlo_build_convert(p->at, HLO_DTYPE_U64, row) : NULL;
  hlo_value_t* scale = build_u64(p, r->counters);
  row = row && scale ? hlo_build_reshape(p->at, scale->type, row) : NULL;
  return row ? hlo_build_binary(p->at, HLO_OP_multiply, row, scale) : NULL;
}

// Returns a state whose counter is `distance` later. The counter of Philox has 128 bits, the upper
// half of which is the key where a state of two words has none: is_wide states it.
static hlo_value_t* advance(random_bits_t* r, hlo_value_t* state, hlo_value_t* distance,
                            bool is_wide) {
  hlo_partitioner_t* p = r->plan->p;
  const int64_t words = state->type->dims[0];
  hlo_value_t* items[3] = {hlo_slice_dim(p, state, 0, 0, 1)};
  hlo_value_t* low = hlo_slice_dim(p, state, 0, 1, 1);
  if (!items[0] || !low || !distance) return NULL;
  items[1] = hlo_build_binary(p->at, HLO_OP_add, low, distance);
  const uint32_t count = is_wide && !r->is_threefry ? 3 : (uint32_t)words;
  if (count == 3 && items[1]) {
    hlo_value_t* above = words == 3 ? hlo_slice_dim(p, state, 0, 2, 1) : items[0];
    hlo_value_t* is_over = hlo_build_compare(p->at, HLO_COMPARISON_DIRECTION_LT, items[1], low);
    hlo_value_t* carry = is_over ? hlo_build_convert(p->at, HLO_DTYPE_U64, is_over) : NULL;
    items[2] = above && carry ? hlo_build_binary(p->at, HLO_OP_add, above, carry) : NULL;
    if (!items[2]) return NULL;
  }
  const int64_t size = count;
  const hlo_type_t* type = hlo_type_tensor(p->module, HLO_DTYPE_U64, 1, &size);
  const hlo_named_attr_t attr = {HLO_ATTR_dimension, hlo_attr_int(p->module, HLO_DTYPE_S64, 0)};
  return items[1] && type ? hlo_build_node(p->at, HLO_OP_concatenate, type, count, items, 1, &attr)
                          : NULL;
}

// Generates the device's rows, and takes its part of them.
static hlo_value_t* build_bits(random_bits_t* r, hlo_value_t* state) {
  hlo_partitioner_t* p = r->plan->p;
  const hlo_type_t* type = r->plan->node->results[1].type;
  const int64_t parts = hlo_grid_size(p->grid, r->axes.axes, r->axes.count);
  int64_t* starts = hlo_arena_array(&p->spmd->arena, (size_t)parts, sizeof *starts);
  if (!state || !starts) return NULL;
  const hlo_type_t* types[] = {state->type, hlo_type_with_dim(p->module, type, r->dim, r->rows)};
  hlo_node_t* local = types[1] ? hlo_local_create(p, r->plan->node, &state, types) : NULL;
  if (!local) return NULL;
  hlo_node_insert_before(p->at, local);
  if (r->rows == r->part) return &local->results[1];
  for (int64_t i = 0; i < parts; ++i) starts[i] = i * r->part % r->rows_per_counter;
  const hlo_dim_exchange_t own = {
      .dim = r->dim, .axes = r->axes, .size = r->rows, .starts = starts, .count = r->part};
  return hlo_build_exchange(p, &local->results[1], &own, NULL);
}

hlo_status_t hlo_partition_random_bits(hlo_op_plan_t* plan, bool* out_is_built) {
  hlo_partitioner_t* p = plan->p;
  hlo_node_t* node = plan->node;
  random_bits_t r = {.plan = plan};
  *out_is_built = false;
  if (!find_counters(&r)) return hlo_ok();
  *out_is_built = true;
  hlo_value_t* state = hlo_local_get_whole(p, hlo_node_operand(node, 0));
  if (!state) return hlo_partitioner_status(p);
  const hlo_spec_t* whole = hlo_spec_replicated(p->spmd, node->results[1].type->rank);
  const hlo_spec_t* spec = hlo_spec_with_dim(p, whole, r.dim, r.axes.axes, r.axes.count);
  HLO_TRY(hlo_local_set(p, &node->results[0], hlo_spec_replicated(p->spmd, 1),
                        advance(&r, state, build_u64(p, r.all_counters), false)));
  return hlo_local_set(p, &node->results[1], spec,
                       build_bits(&r, advance(&r, state, build_first_counter(&r), true)));
}
