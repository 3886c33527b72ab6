// SPDX-License-Identifier: Apache-2.0
// Pass sink_all_reduces: moves the all_reduce of an accumulation out of a loop,
//
//   while: sum = sum + move(all_reduce(x))     becomes     while: part = part + x, from 0
//                                                          sum = sum + move(all_reduce(part))
//
// where `move` are conversions to wider elements, transposes and reshapes, and nothing else uses
// the values in between: one exchange instead of one per iteration. Elements are converted before
// they are added. Sums are regrouped: floats are rounded differently. A reduce_scatter is moved if
// the argument says so: its accumulator then has the size of the whole operand.
#include <string.h>

#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

enum { MOVES_MAX = 8 };

/// An accumulation in a loop.
typedef struct accumulation {
  hlo_node_t* loop;
  uint32_t index;  // of the carried value
  hlo_node_t* add;
  hlo_node_t* collective;
  uint32_t move_count;
  hlo_node_t* moves[MOVES_MAX];  // from the collective to the sum
} accumulation_t;

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

static bool is_widening(const hlo_node_t* node) {
  const hlo_dtype_t from = hlo_node_operand_type(node, 0)->dtype, to = node->results[0].type->dtype;
  const bool is_float = hlo_dtype_is_float(from) && hlo_dtype_is_float(to);
  return is_float && hlo_dtype_info(to)->bits >= hlo_dtype_info(from)->bits;
}

static bool is_move(const hlo_node_t* node) {
  return node->op == HLO_OP_transpose || node->op == HLO_OP_reshape ||
         (node->op == HLO_OP_convert && is_widening(node));
}

// Follows the moves from a summand back to a collective.
static bool find_collective(const hlo_value_t* summand, const hlo_region_t* body,
                            bool takes_scatters, accumulation_t* a) {
  hlo_node_t* back[MOVES_MAX];
  for (a->move_count = 0;; ++a->move_count) {
    hlo_node_t* node = summand->def;
    if (!node || node->parent != body || !has_one_use(summand)) return false;
    a->collective = node;
    if (!is_move(node)) break;
    if (node->extra || a->move_count == MOVES_MAX) return false;
    back[a->move_count] = node;
    summand = hlo_node_operand(node, 0);
  }
  for (uint32_t i = 0; i < a->move_count; ++i) a->moves[i] = back[a->move_count - 1 - i];
  const hlo_node_t* c = a->collective;
  const bool is_kind =
      c->op == HLO_OP_all_reduce || (takes_scatters && c->op == HLO_OP_reduce_scatter);
  // The body's op is its only one, so that its element type can be changed.
  return is_kind && c->operand_count == 1 && hlo_collective_reducer(c) == HLO_OP_add &&
         c->regions[0]->first->next == c->regions[0]->last &&
         hlo_type_is_static(hlo_node_operand_type(c, 0)) &&
         hlo_node_operand_type(c, 0)->dtype == c->results[0].type->dtype;
}

static bool find_accumulation(hlo_node_t* loop, uint32_t index, bool takes_scatters,
                              accumulation_t* a) {
  hlo_region_t *cond = loop->regions[0], *body = loop->regions[1];
  hlo_value_t *sum = hlo_node_operand(hlo_region_terminator(body), index), *old = body->args[index];
  *a = (accumulation_t){.loop = loop, .index = index, .add = sum->def};
  if (!a->add || a->add->op != HLO_OP_add || a->add->parent != body || a->add->extra ||
      !has_one_use(sum) || !has_one_use(old) || cond->args[index]->uses ||
      old->type != sum->type || loop->results[index].type != sum->type) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (hlo_node_operand(a->add, side) != old) continue;
    return find_collective(hlo_node_operand(a->add, 1 - side), body, takes_scatters, a);
  }
  return false;
}

// ---- the two halves

// Puts the collective and the moves after the loop; returns the sum with `initial`.
static hlo_value_t* build_after(const accumulation_t* a, const hlo_type_t* type,
                                hlo_node_t** out_collective) {
  hlo_node_t* insertion_point = a->loop->next;
  hlo_module_t* module = insertion_point->parent->module;
  hlo_value_t* initial = hlo_node_operand(a->loop, a->index);
  const hlo_type_t* result =
      hlo_type_with_dtype(module, a->collective->results[0].type, type->dtype);
  const hlo_type_t* scalar = hlo_type_with_dims(module, type, 0, NULL);
  if (!result || !scalar) return NULL;
  hlo_node_t* new = hlo_collective_create_like(a->collective->op, a->collective, 1,
                                               &a->loop->operands[a->index].value, 1, &result);
  if (hlo_node_is_poison(new)) return NULL;
  hlo_region_t* reducer = new->regions[0];
  reducer->args[0]->type = reducer->args[1]->type = reducer->first->results[0].type = scalar;
  hlo_node_insert_before(insertion_point, new);
  hlo_value_t* value = &new->results[0];
  for (uint32_t i = 0; i < a->move_count && value; ++i) {
    const hlo_node_t* move = a->moves[i];
    const hlo_type_t* moved = hlo_type_with_dtype(module, move->results[0].type, type->dtype);
    if (move->op != HLO_OP_convert) value = hlo_build_copy(insertion_point, move, moved, &value);
  }
  *out_collective = new;
  return value ? hlo_build_binary(insertion_point, HLO_OP_add, initial, value) : NULL;
}

static bool carry(const accumulation_t* a, const hlo_type_t* type) {
  hlo_region_t *cond = a->loop->regions[0], *body = a->loop->regions[1];
  hlo_node_t* end = hlo_region_terminator(body);
  hlo_value_t* zero = hlo_build_splat(a->loop, type, 0);
  hlo_value_t* x = hlo_build_convert(end, type->dtype, hlo_node_operand(a->collective, 0));
  if (!zero || !x) return false;
  cond->args[a->index]->type = body->args[a->index]->type = type;
  a->loop->results[a->index].type = type;
  hlo_node_set_operand(a->loop, a->index, zero);
  hlo_value_t* sum = hlo_build_binary(end, HLO_OP_add, body->args[a->index], x);
  if (!sum) return false;
  hlo_node_set_operand(end, a->index, sum);
  hlo_node_erase(a->add);
  for (uint32_t i = a->move_count; i > 0; --i) hlo_node_erase(a->moves[i - 1]);
  hlo_node_erase(a->collective);
  return true;
}

static hlo_status_t sink(hlo_pass_ctx_t* ctx, const accumulation_t* a) {
  hlo_module_t* module = a->loop->parent->module;
  const hlo_type_t* type =
      hlo_type_with_dtype(module, hlo_node_operand_type(a->collective, 0),
                          a->loop->results[a->index].type->dtype);
  hlo_node_t* collective = NULL;
  hlo_value_t* sum = type ? build_after(a, type, &collective) : NULL;
  if (!sum) return hlo_module_status(module);
  hlo_value_replace_uses(&a->loop->results[a->index], sum);
  hlo_node_set_operand(collective, 0, &a->loop->results[a->index]);
  if (carry(a, type)) ++ctx->step_count;
  return hlo_module_status(module);
}

static hlo_status_t sink_from_loop(void* context, hlo_node_t* loop) {
  hlo_pass_ctx_t* ctx = context;
  accumulation_t a;
  if (loop->op != HLO_OP_while) return hlo_ok();
  const hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  for (uint32_t i = 0; i < loop->result_count && end; ++i) {
    if (find_accumulation(loop, i, ctx->argument != NULL, &a)) HLO_TRY(sink(ctx, &a));
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_sink_all_reduces(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  if (ctx->argument && strcmp(ctx->argument, "reduce_scatter") != 0) {
    return hlo_invalid_argument("sink_all_reduces takes 'reduce_scatter', not '%s'", ctx->argument);
  }
  return hlo_module_walk(module, true, sink_from_loop, ctx);
}
