// SPDX-License-Identifier: Apache-2.0
// Counting loops (see loop.h).
#include "passes/loop.h"

#include "passes/build.h"

// Opens a region, whose arguments are the number and the values; NULL when memory is exhausted.
static hlo_node_t* open_region(const hlo_node_t* loop, hlo_region_t* region,
                               uint32_t result_count) {
  hlo_value_t* args[1 + HLO_LOOP_VALUES_MAX];
  for (uint32_t i = 0; i < loop->result_count; ++i) {
    args[i] = hlo_region_add_arg(region, loop->results[i].type);
    if (!args[i]) return NULL;
  }
  const hlo_node_spec_t spec = {
      .op = HLO_OP_return, .loc = loop->loc, .operand_count = result_count, .operands = args};
  hlo_node_t* end = hlo_node_create(region->module, &spec);
  if (hlo_node_is_poison(end)) return NULL;
  hlo_region_append(region, end);
  return end;
}

// Builds the test of the number and its increment.
static bool count_up(hlo_loop_t* loop, hlo_node_t* test, int64_t count) {
  hlo_value_t* at = loop->node->regions[0]->args[0];
  hlo_value_t* goes_on = hlo_build_compare(test, HLO_COMPARISON_DIRECTION_LT, at,
                                           hlo_build_integers(test, at->type, &count));
  hlo_value_t* one = hlo_build_integers(loop->end, at->type, (int64_t[]){1});
  hlo_value_t* next = hlo_build_binary(loop->end, HLO_OP_add, loop->number, one);
  if (!goes_on || !next) return false;
  hlo_node_set_operand(test, 0, goes_on);
  hlo_node_set_operand(loop->end, 0, next);
  return true;
}

bool hlo_loop_begin(hlo_node_t* insertion_point, const hlo_type_t* number, int64_t count,
                    uint32_t value_count, hlo_value_t* const* initial, hlo_loop_t* out_loop) {
  hlo_value_t* operands[1 + HLO_LOOP_VALUES_MAX] = {
      number ? hlo_build_integers(insertion_point, number, (int64_t[]){0}) : NULL};
  const hlo_type_t* types[1 + HLO_LOOP_VALUES_MAX] = {number};
  bool is_whole = operands[0] != NULL;
  for (uint32_t i = 0; i < value_count; ++i) {
    operands[1 + i] = initial[i];
    is_whole &= initial[i] != NULL;
    types[1 + i] = initial[i] ? initial[i]->type : NULL;
  }
  const hlo_node_spec_t spec = {.op = HLO_OP_while,
                                .loc = insertion_point->loc,
                                .operand_count = 1 + value_count,
                                .operands = operands,
                                .region_count = 2,
                                .result_count = 1 + value_count,
                                .result_types = types};
  hlo_node_t* node = is_whole ? hlo_node_create(insertion_point->parent->module, &spec) : NULL;
  if (!node || hlo_node_is_poison(node)) return false;
  hlo_node_insert_before(insertion_point, node);
  hlo_node_t* test = open_region(node, node->regions[0], 1);
  hlo_node_t* end = open_region(node, node->regions[1], 1 + value_count);
  if (!test || !end) return false;
  *out_loop = (hlo_loop_t){
      .end = end, .number = node->regions[1]->args[0], .value_count = value_count, .node = node};
  for (uint32_t i = 0; i < value_count; ++i) out_loop->values[i] = node->regions[1]->args[1 + i];
  return count_up(out_loop, test, count);
}

bool hlo_loop_set_limit(hlo_loop_t* loop, hlo_value_t* limit) {
  if (!limit) return false;
  hlo_node_set_operand(hlo_node_operand(loop->node->regions[0]->last, 0)->def, 1, limit);
  return true;
}

bool hlo_loop_finish(hlo_loop_t* loop, hlo_value_t* const* next, hlo_value_t** results) {
  for (uint32_t i = 0; i < loop->value_count; ++i) {
    if (!next[i]) return false;
    hlo_node_set_operand(loop->end, 1 + i, next[i]);
  }
  for (uint32_t i = 0; i < loop->value_count; ++i) results[i] = &loop->node->results[1 + i];
  return true;
}

const hlo_type_t* hlo_loop_number(hlo_module_t* module, int64_t count) {
  return hlo_type_tensor(module, count < INT32_MAX ? HLO_DTYPE_S32 : HLO_DTYPE_S64, 0, NULL);
}

// Fills in the start of row `at`, and returns its type with the dimension of rows.
static const hlo_type_t* start_of_row(hlo_node_t* insertion_point, const hlo_type_t* rows,
                                      hlo_value_t* at, hlo_value_t** starts) {
  int64_t sizes[HLO_RANK_MAX];
  starts[0] = at;
  for (uint32_t d = 0; d < rows->rank; ++d) {
    sizes[d] = d ? rows->dims[d] : 1;
    if (d) starts[d] = hlo_build_integers(insertion_point, at->type, (int64_t[]){0});
  }
  return hlo_type_with_dims(insertion_point->parent->module, rows, rows->rank, sizes);
}

hlo_value_t* hlo_loop_row(hlo_node_t* insertion_point, hlo_value_t* rows, hlo_value_t* at) {
  if (!rows || !at) return NULL;
  const hlo_type_t* type = rows->type;
  hlo_value_t* starts[HLO_RANK_MAX];
  const hlo_type_t* one = start_of_row(insertion_point, type, at, starts);
  return hlo_build_reshape(
      insertion_point,
      hlo_type_with_dims(insertion_point->parent->module, type, type->rank - 1, type->dims + 1),
      hlo_build_dynamic_slice(insertion_point, one, rows, starts));
}

hlo_value_t* hlo_loop_set_row(hlo_node_t* insertion_point, hlo_value_t* rows, hlo_value_t* row,
                              hlo_value_t* at) {
  if (!rows || !row || !at) return NULL;
  hlo_value_t* starts[HLO_RANK_MAX];
  const hlo_type_t* one = start_of_row(insertion_point, rows->type, at, starts);
  return hlo_build_dynamic_update_slice(insertion_point, rows,
                                        hlo_build_reshape(insertion_point, one, row), starts);
}
