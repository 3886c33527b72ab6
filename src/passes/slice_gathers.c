// SPDX-License-Identifier: Apache-2.0
// Pass slice_gathers: turns gathers at positions with equal distances, as x[start + arange(n)] and
// masked loads of Pallas kernels are, into slices, scatters at adjacent positions into updates of
// slices, and comparisons of such positions that have one result for all of them into constants.
//
// Positions are followed through the ops that make them from iotas and constants. All must be
// inside of the operand, where gathers do not clamp and scatters do not skip.
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/progression.h"
#include "passes/splice.h"

// Integers that are a progression along one dimension of an array, and equal along the others.
typedef struct positions {
  hlo_progression_t values;
  uint32_t dim;  // only meaningful where the step is not zero
} positions_t;

// Ops that may be followed for one array of positions.
enum { OPS_MAX = 48 };

// ---- reading positions

static bool is_integer_type(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && type->rank <= HLO_RANK_MAX &&
         (type->dtype == HLO_DTYPE_PRED ||
          (hlo_dtype_is_integer(type->dtype) && hlo_dtype_info(type->dtype)->bits >= 8));
}

static int64_t count_of(const hlo_type_t* type, const positions_t* p) {
  return p->values.step ? type->dims[p->dim] : 1;
}

static bool read_literal(const hlo_value_t* value, positions_t* out) {
  const hlo_literal_t* literal = hlo_constant_literal(value);
  const size_t width = hlo_dtype_size_bytes(value->type->dtype);
  if (!literal || !literal->element_count) return false;
  const hlo_dtype_t dtype = literal->dtype;
  const char* data = literal->data;
  *out = (positions_t){.values.first = hlo_dtype_load_int64(dtype, data)};
  if (literal->is_splat || literal->element_count == 1) return true;
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    if (value->type->dims[d] == literal->element_count) out->dim = d;
  }
  if (value->type->dims[out->dim] != literal->element_count) return false;
  const int64_t second = hlo_dtype_load_int64(dtype, data + width);
  if (__builtin_sub_overflow(second, out->values.first, &out->values.step)) return false;
  int64_t expected = out->values.first;
  for (int64_t i = 0; i < literal->element_count; ++i) {
    if (hlo_dtype_load_int64(dtype, data + (size_t)i * width) != expected) return false;
    if (__builtin_add_overflow(expected, out->values.step, &expected)) return false;
  }
  return true;
}

// Finds the dimension of `to` that dimension `dim` of `from` becomes when dimensions of one element
// come or go.
static bool reshaped_dim(const hlo_type_t* from, const hlo_type_t* to, uint32_t* dim) {
  uint32_t next = 0;
  for (uint32_t d = 0; d < from->rank; ++d) {
    if (from->dims[d] == 1) continue;
    while (next < to->rank && to->dims[next] == 1) ++next;
    if (next == to->rank || to->dims[next] != from->dims[d]) return false;
    if (d == *dim) {
      *dim = next;
      return true;
    }
    ++next;
  }
  return false;
}

// Moves the positions of an operand to the dimensions of the result.
static bool move(const hlo_node_t* node, positions_t* p) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  const hlo_type_t* to = node->results[0].type;
  if (!p->values.step) return true;
  if (node->op == HLO_OP_reshape) return reshaped_dim(from, to, &p->dim);
  if (node->op == HLO_OP_broadcast_in_dim) {
    p->dim = (uint32_t)hlo_node_ints(node, HLO_ATTR_broadcast_dimensions).values[p->dim];
    return true;
  }
  const hlo_ints_t order = hlo_node_ints(node, HLO_ATTR_permutation);
  for (uint32_t d = 0; d < order.count; ++d) {
    if (order.values[d] != p->dim) continue;
    p->dim = d;
    return true;
  }
  return false;
}

static bool read_positions(const hlo_value_t* value, uint32_t* ops, positions_t* out);

static bool read_binary(const hlo_node_t* node, uint32_t* ops, positions_t* out) {
  positions_t x, y;
  if (!read_positions(hlo_node_operand(node, 0), ops, &x) ||
      !read_positions(hlo_node_operand(node, 1), ops, &y) ||
      (x.values.step && y.values.step && x.dim != y.dim)) {
    return false;
  }
  const positions_t* along = x.values.step ? &x : &y;
  out->dim = along->dim;
  return hlo_progression_apply(node, x.values, y.values, count_of(node->results[0].type, along),
                               &out->values);
}

static bool read_op(const hlo_node_t* node, uint32_t* ops, positions_t* out) {
  switch (node->op) {
    case HLO_OP_iota:
      *out =
          (positions_t){{.step = 1}, (uint32_t)hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0)};
      return true;
    case HLO_OP_convert:
      return node->results[0].type->dtype != HLO_DTYPE_PRED &&
             read_positions(hlo_node_operand(node, 0), ops, out);
    case HLO_OP_reshape:
    case HLO_OP_transpose:
    case HLO_OP_broadcast_in_dim:
      return read_positions(hlo_node_operand(node, 0), ops, out) && move(node, out);
    case HLO_OP_select: {
      positions_t which;
      return read_positions(hlo_node_operand(node, 0), ops, &which) && !which.values.step &&
             read_positions(hlo_node_operand(node, which.values.first ? 1 : 2), ops, out);
    }
    default: return node->operand_count == 2 && read_binary(node, ops, out);
  }
}

// Returns the positions that an array of integers or booleans holds. False if they have no equal
// distances, or after OPS_MAX ops.
static bool read_positions(const hlo_value_t* value, uint32_t* ops, positions_t* out) {
  if (!value->def || !is_integer_type(value->type) || ++*ops > OPS_MAX) return false;
  if (value->def->op == HLO_OP_constant) return read_literal(value, out);
  if (!read_op(value->def, ops, out)) return false;
  if (out->values.step && value->type->dims[out->dim] == 1) out->values.step = 0;
  return hlo_progression_fits(out->values, count_of(value->type, out), value->type->dtype);
}

// ---- gathers and scatters

// Positions in one dimension of an operand, whose other dimensions are whole.
typedef struct line {
  uint32_t operand_dim;
  uint32_t index_dim;  // of the indices without the index vector, if `count` is not 1
  int64_t first, step, count;
} line_t;

// Reads the indices of a gather or scatter: one for each element, along one of their dimensions,
// all inside of the operand.
static bool read_line(const hlo_type_t* operand, const hlo_value_t* indices, int64_t vector_dim,
                      hlo_ints_t map, hlo_ints_t inserted, line_t* out) {
  positions_t p;
  uint32_t ops = 0;
  if (map.count != 1 || inserted.count != 1 || map.values[0] != inserted.values[0] ||
      indices->type->dtype == HLO_DTYPE_PRED || !read_positions(indices, &ops, &p)) {
    return false;
  }
  *out = (line_t){.operand_dim = (uint32_t)map.values[0], .first = p.values.first, .count = 1};
  if (p.values.step) {
    if ((int64_t)p.dim == vector_dim) return false;
    out->step = p.values.step;
    out->count = indices->type->dims[p.dim];
    out->index_dim = p.dim - ((int64_t)p.dim > vector_dim);
  }
  if (hlo_type_element_count(indices->type) != out->count) return false;
  const int64_t last = out->first + out->step * (out->count - 1);
  return out->first >= 0 && last < operand->dims[out->operand_dim] && out->step >= 0;
}

// Fills in, for each dimension of the slices in the order of `type`, which dimension of the operand
// it is. Windows have the dimensions `windows`; the others are those of the indices.
static uint32_t order_of(const line_t* line, const hlo_type_t* type, hlo_ints_t windows,
                         int64_t* order) {
  uint32_t count = 0, window = 0, index = 0;
  bool has_line = false;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (hlo_ints_has(windows, d)) {
      if (window == line->operand_dim) ++window;
      order[count++] = window++;
    } else if (index++ == line->index_dim) {
      order[count++] = line->operand_dim;
      has_line = true;
    }
  }
  if (!has_line) order[count++] = line->operand_dim;  // of one element: anywhere
  return count;
}

static const hlo_type_t* slice_type(const hlo_node_t* node, const line_t* line) {
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < operand->rank; ++d) dims[d] = operand->dims[d];
  dims[line->operand_dim] = line->count;
  return hlo_type_with_dims(node->parent->module, operand, operand->rank, dims);
}

static hlo_value_t* read_slice(hlo_node_t* node, const line_t* line, const hlo_type_t* type) {
  int64_t first[HLO_RANK_MAX] = {0}, steps[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) steps[d] = 1;
  first[line->operand_dim] = line->first;
  if (line->step) steps[line->operand_dim] = line->step;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  return type == operand->type ? operand : hlo_build_slice(node, type, operand, first, steps);
}

static bool are_plain(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!hlo_type_is_plain(type) || type->rank > HLO_RANK_MAX) return false;
  }
  return hlo_type_is_plain(node->results[0].type) && node->results[0].type->rank <= HLO_RANK_MAX &&
         !node->extra;
}

static hlo_value_t* slice_gather(hlo_node_t* node) {
  line_t line;
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_slice_sizes);
  if (!are_plain(node) || hlo_node_ints(node, HLO_ATTR_operand_batching_dims).count ||
      !read_line(operand, hlo_node_operand(node, 1),
                 hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
                 hlo_node_ints(node, HLO_ATTR_start_index_map),
                 hlo_node_ints(node, HLO_ATTR_collapsed_slice_dims), &line)) {
    return NULL;
  }
  for (uint32_t d = 0; d < operand->rank; ++d) {
    if (sizes.values[d] != (d == line.operand_dim ? 1 : operand->dims[d])) return NULL;
  }
  int64_t order[HLO_RANK_MAX];
  const hlo_type_t* result = node->results[0].type;
  order_of(&line, result, hlo_node_ints(node, HLO_ATTR_offset_dims), order);
  hlo_value_t* slice = read_slice(node, &line, slice_type(node, &line));
  return hlo_build_reshape(node, result, slice ? hlo_build_transpose(node, slice, order) : NULL);
}

// Returns the update as a slice of the operand.
static hlo_value_t* update_as_slice(hlo_node_t* node, const line_t* line, const hlo_type_t* type) {
  hlo_value_t* update = hlo_node_operand(node, 2);
  int64_t order[HLO_RANK_MAX], dims[HLO_RANK_MAX], back[HLO_RANK_MAX];
  const uint32_t rank =
      order_of(line, update->type, hlo_node_ints(node, HLO_ATTR_update_window_dims), order);
  for (uint32_t d = 0; d < rank; ++d) {
    dims[d] = type->dims[order[d]];
    back[order[d]] = d;
  }
  hlo_value_t* value =
      hlo_build_reshape(node, hlo_type_with_dims(node->parent->module, type, rank, dims), update);
  return value ? hlo_build_transpose(node, value, back) : NULL;
}

static hlo_value_t* slice_scatter(hlo_node_t* node) {
  line_t line;
  if (node->operand_count != 3 || node->region_count != 1 || !are_plain(node) ||
      hlo_node_ints(node, HLO_ATTR_input_batching_dims).count || !hlo_lift_can(node->regions[0]) ||
      !read_line(hlo_node_operand_type(node, 0), hlo_node_operand(node, 1),
                 hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
                 hlo_node_ints(node, HLO_ATTR_scatter_dims_to_operand_dims),
                 hlo_node_ints(node, HLO_ATTR_inserted_window_dims), &line) ||
      line.step != 1) {  // single_scatter knows when one position is better selected than updated
    return NULL;
  }
  hlo_value_t* operand = hlo_node_operand(node, 0);
  const hlo_type_t* type = slice_type(node, &line);
  if (!type ||
      hlo_type_element_count(type) != hlo_type_element_count(hlo_node_operand_type(node, 2)) ||
      hlo_node_operand_type(node, 2)->dtype != type->dtype) {
    return NULL;
  }
  hlo_value_t* args[] = {read_slice(node, &line, type), update_as_slice(node, &line, type)};
  hlo_value_t* value;
  if (!args[0] || !args[1] || !hlo_lift(node, node->regions[0], args, &value)) return NULL;
  if (type == operand->type) return value;
  const hlo_type_t* number = hlo_type_tensor(node->parent->module, HLO_DTYPE_S64, 0, NULL);
  hlo_value_t* starts[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) {
    const int64_t start = d == line.operand_dim ? line.first : 0;
    starts[d] = hlo_build_integers(node, number, &start);
  }
  return hlo_build_dynamic_update_slice(node, operand, value, starts);
}

static hlo_value_t* decide_comparison(hlo_node_t* node) {
  positions_t p;
  uint32_t ops = 0;
  const hlo_type_t* type = node->results[0].type;
  if (!are_plain(node) || hlo_type_element_count(type) < 2 || !read_binary(node, &ops, &p)) {
    return NULL;
  }
  return hlo_build_splat(node, type, (double)p.values.first);
}

static hlo_value_t* replace(hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_gather: return slice_gather(node);
    case HLO_OP_scatter: return slice_scatter(node);
    case HLO_OP_compare: return decide_comparison(node);
    default: return NULL;
  }
}

hlo_status_t hlo_pass_slice_gathers(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace);
}
