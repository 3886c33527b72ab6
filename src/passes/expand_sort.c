// SPDX-License-Identifier: Apache-2.0
// sort by any comparator as a stable merge sort of the positions in a line: loops over lines, over
// the lengths of the runs that are merged, and over the merged positions (see expand.h).
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"

typedef struct sort {
  hlo_pass_ctx_t* ctx;
  hlo_node_t* node;
  hlo_module_t* module;
  const hlo_region_t* body;
  uint32_t count;  // of operands
  int64_t axis, length, line_count;
  const hlo_type_t* number;  // of positions and lines
} sort_t;

static bool read_sort(hlo_pass_ctx_t* ctx, hlo_node_t* node, sort_t* s) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  *s = (sort_t){ctx, node, node->parent->module, node->regions[0], .count = node->operand_count};
  s->axis = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (s->axis < 0) s->axis += type->rank;
  if (s->count > HLO_EXPAND_VALUES_MAX || s->axis < 0 || s->axis >= (int64_t)type->rank ||
      !hlo_expand_can_apply(s->body, 2 * s->count, 1)) {
    return false;
  }
  for (uint32_t i = 0; i < s->count; ++i) {
    const hlo_type_t* operand = hlo_node_operand_type(node, i);
    if (!hlo_type_is_plain(operand) || hlo_type_element_count(operand) == 0 ||
        operand->rank != type->rank || operand->dtype != s->body->args[2 * i]->type->dtype) {
      return false;
    }
  }
  s->length = type->dims[s->axis];
  s->line_count = hlo_type_element_count(type) / s->length;
  s->number = hlo_loop_number(s->module, 4 * (s->length + s->line_count));
  return s->number != NULL;
}

static hlo_value_t* integer(const sort_t* s, hlo_node_t* at, int64_t value) {
  return hlo_build_integers(at, s->number, &value);
}

static hlo_value_t* add(hlo_node_t* at, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(at, HLO_OP_add, x, y);
}

static hlo_value_t* less(hlo_node_t* at, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, x, y);
}

/// The next positions of two runs that are merged, in the list of positions.
typedef struct runs {
  hlo_value_t *first, *second;
} runs_t;

// Sets *takes_second if the second run's element comes next: if it is less, or the first run ends.
static bool compare_runs(const sort_t* s, hlo_node_t* at, hlo_value_t* const* lines,
                         hlo_value_t* first, hlo_value_t* second, hlo_value_t** takes_second) {
  hlo_value_t* args[2 * HLO_EXPAND_VALUES_MAX];
  for (uint32_t i = 0; i < s->count; ++i) {
    args[2 * i] = hlo_loop_row(at, lines[i], second);
    args[2 * i + 1] = hlo_loop_row(at, lines[i], first);
  }
  return hlo_expand_apply(s->ctx, at, s->body, args, takes_second);
}

// Merges pairs of runs of `width` positions each.
static hlo_value_t* merge_runs(const sort_t* s, hlo_node_t* at, hlo_value_t* const* lines,
                               hlo_value_t* positions, hlo_value_t* width) {
  hlo_value_t* initial[] = {integer(s, at, 0), integer(s, at, 0), positions};
  hlo_value_t *results[3], *is_less = NULL;
  hlo_loop_t loop;
  if (!hlo_loop_begin(at, s->number, s->length, 3, initial, &loop)) return NULL;
  at = loop.end;
  // Where a pair begins: the next multiple of 2 width.
  hlo_value_t *twice = add(at, width, width), *end = integer(s, at, s->length);
  hlo_value_t* begin =
      hlo_build_binary(at, HLO_OP_and, loop.number, hlo_build_unary(at, HLO_OP_negate, twice));
  hlo_value_t* is_begin = hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ, begin, loop.number);
  hlo_value_t* middle = hlo_build_binary(at, HLO_OP_minimum, add(at, begin, width), end);
  end = hlo_build_binary(at, HLO_OP_minimum, add(at, begin, twice), end);
  const runs_t runs = {hlo_build_select(at, is_begin, begin, loop.values[0]),
                       hlo_build_select(at, is_begin, middle, loop.values[1])};
  // Past the end, a run's position is that of another element, which is not used.
  hlo_value_t* first = hlo_loop_row(at, positions, runs.first);
  hlo_value_t* second = hlo_loop_row(at, positions, runs.second);
  if (!compare_runs(s, at, lines, first, second, &is_less)) return NULL;
  hlo_value_t* has_first = less(at, runs.first, middle);
  hlo_value_t* takes_second = hlo_build_binary(
      at, HLO_OP_and, less(at, runs.second, end),
      hlo_build_binary(at, HLO_OP_or, is_less, hlo_build_unary(at, HLO_OP_not, has_first)));
  hlo_value_t* step = hlo_build_convert(at, s->number->dtype, takes_second);
  hlo_value_t* rest = hlo_build_binary(at, HLO_OP_subtract, integer(s, at, 1), step);
  hlo_value_t* next[] = {
      add(at, runs.first, rest), add(at, runs.second, step),
      hlo_loop_set_row(at, loop.values[2], hlo_build_select(at, takes_second, second, first),
                       loop.number)};
  return hlo_loop_finish(&loop, next, results) ? results[2] : NULL;
}

// Returns the positions of a line's elements in order.
static hlo_value_t* sort_line(const sort_t* s, hlo_node_t* at, hlo_value_t* const* lines) {
  int64_t levels = 0;
  while (s->length > (int64_t)1 << levels) ++levels;
  const hlo_type_t* list = hlo_type_tensor(s->module, s->number->dtype, 1, &s->length);
  hlo_value_t* values[] = {integer(s, at, 1), hlo_build_iota(at, list, 0)};
  hlo_loop_t loop;
  if (!hlo_loop_begin(at, s->number, levels, 2, values, &loop)) return NULL;
  hlo_value_t* width = loop.values[0];
  hlo_value_t* next[] = {add(loop.end, width, width),
                         merge_runs(s, loop.end, lines, loop.values[1], width)};
  return hlo_loop_finish(&loop, next, values) ? values[1] : NULL;
}

// Returns the elements of a line at `positions`.
static hlo_value_t* take(const sort_t* s, hlo_node_t* at, hlo_value_t* line,
                         hlo_value_t* positions) {
  const int64_t zero[] = {0}, one[] = {1};
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_offset_dims, hlo_attr_ints(s->module, 0, NULL)},
      {HLO_ATTR_collapsed_slice_dims, hlo_attr_ints(s->module, 1, zero)},
      {HLO_ATTR_start_index_map, hlo_attr_ints(s->module, 1, zero)},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(s->module, HLO_DTYPE_S64, 1)},
      {HLO_ATTR_slice_sizes, hlo_attr_ints(s->module, 1, one)},
  };
  return hlo_build_node(at, HLO_OP_gather, line ? line->type : NULL, 2,
                        (hlo_value_t*[]){line, positions}, sizeof attrs / sizeof *attrs, attrs);
}

// Exchanges the sorted dimension with the last one.
static hlo_value_t* exchange_axis(const sort_t* s, hlo_value_t* value) {
  int64_t order[HLO_RANK_MAX];
  const int64_t last = value ? (int64_t)value->type->rank - 1 : 0;
  if (!value || s->axis == last) return value;
  for (int64_t d = 0; d <= last; ++d) order[d] = d == s->axis ? last : d == last ? s->axis : d;
  return hlo_build_transpose(s->node, value, order);
}

bool hlo_expand_sort(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  sort_t s;
  hlo_value_t *rows[HLO_EXPAND_VALUES_MAX], *lines[HLO_EXPAND_VALUES_MAX];
  const hlo_type_t* shape[HLO_EXPAND_VALUES_MAX];
  if (!read_sort(ctx, node, &s)) return false;
  const int64_t dims[] = {s.line_count, s.length};
  for (uint32_t i = 0; i < s.count; ++i) {
    hlo_value_t* value = exchange_axis(&s, hlo_node_operand(node, i));
    if (!value) return false;
    shape[i] = value->type;
    rows[i] = hlo_build_reshape(node, hlo_type_with_dims(s.module, value->type, 2, dims), value);
  }
  hlo_loop_t loop;
  if (!hlo_loop_begin(node, s.number, s.line_count, s.count, rows, &loop)) return false;
  for (uint32_t i = 0; i < s.count; ++i) lines[i] = hlo_loop_row(loop.end, rows[i], loop.number);
  hlo_value_t* positions = sort_line(&s, loop.end, lines);
  for (uint32_t i = 0; i < s.count; ++i) {
    rows[i] = hlo_loop_set_row(loop.end, loop.values[i], take(&s, loop.end, lines[i], positions),
                               loop.number);
  }
  if (!hlo_loop_finish(&loop, rows, results)) return false;
  for (uint32_t i = 0; i < s.count; ++i) {
    results[i] = exchange_axis(&s, hlo_build_reshape(node, shape[i], results[i]));
    if (!results[i]) return false;
  }
  return true;
}
