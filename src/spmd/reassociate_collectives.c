// SPDX-License-Identifier: Apache-2.0
// Pass reassociate_collectives: computes an op on results of equal collectives before a single
// collective,
//
//   op(move(reduce(a)), move(reduce(b)))     becomes     reduce(op(move(a), move(b)))
//
// where both reduce by the same op: it exchanges one value instead of two. `move` are conversions
// to wider floats, and of an all_reduce reshapes, transposes, slices and pads with elements that
// change no sum, as long as the exchange does not grow by them. Equal dynamic_slices of both
// all_reduces follow the single one, where another pass finds reduce_scatters. A chain or tree of
// sums becomes one collective, as operands come before the ops that use them. Sums are regrouped:
// floats are rounded differently.
#include "ir/clone.h"
#include "ir/work.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/partition_impl.h"
#include "spmd/passes.h"

enum { MOVES_MAX = 8 };

/// A collective of one operand and what moves its result to an op, which alone uses it.
typedef struct chain {
  hlo_node_t* collective;
  uint32_t count;
  hlo_node_t* moves[MOVES_MAX];  // the last one first
} chain_t;

static bool is_used_only_by(const hlo_value_t* value, const hlo_node_t* user) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (use->user != user) return false;
  }
  return true;
}

static bool is_collective(const hlo_node_t* node) {
  return (node->op == HLO_OP_all_reduce || node->op == HLO_OP_reduce_scatter) &&
         node->operand_count == 1 &&
         hlo_node_operand_type(node, 0)->dtype == node->results[0].type->dtype;
}

// Returns true if a reduction by `op` can follow a node as well as come before it.
static bool is_move(const hlo_node_t* node, hlo_op_t op) {
  switch (node->op) {
    case HLO_OP_convert: return hlo_convert_widens(node);
    case HLO_OP_pad: return hlo_is_identity(op, hlo_node_operand(node, 1));
    default:
      return node->op == HLO_OP_reshape || node->op == HLO_OP_transpose || node->op == HLO_OP_slice;
  }
}

static bool find_chain(const hlo_value_t* value, const hlo_node_t* user, chain_t* chain) {
  const hlo_op_t op = user->op;
  bool is_converted = false, is_moved = false;
  for (chain->count = 0;; value = hlo_node_operand(user, 0)) {
    hlo_node_t* node = value->def;
    if (!node || node->parent != user->parent || !is_used_only_by(value, user)) return false;
    if (is_collective(node)) {
      chain->collective = node;
      return (node->op == HLO_OP_all_reduce || !is_moved) &&
             (!is_converted || hlo_collective_has_plain_body(node));
    }
    if (!is_move(node, op) || node->extra || chain->count == MOVES_MAX) return false;
    *(node->op == HLO_OP_convert ? &is_converted : &is_moved) = true;
    chain->moves[chain->count++] = node;
    user = node;
  }
}

static double operand_bytes(const chain_t* chain) {
  return hlo_type_work_bytes(hlo_node_operand_type(chain->collective, 0));
}

// Returns the type of what the single collective reduces.
static const hlo_type_t* reduced_type(const hlo_node_t* node, const chain_t* a) {
  const hlo_type_t* type = node->results[0].type;
  if (a->collective->op == HLO_OP_all_reduce) return type;
  return hlo_type_with_dtype(node->parent->module, hlo_node_operand_type(a->collective, 0),
                             type->dtype);
}

static bool are_alike(const hlo_node_t* node, const hlo_node_t* a, const hlo_node_t* b) {
  return hlo_collective_exchanges_alike(a, b) && hlo_collective_reducer(a) == node->op &&
         hlo_collective_reducer(b) == node->op;
}

// Builds the moves of a collective's operand.
static hlo_value_t* build_moves(hlo_node_t* node, const chain_t* chain) {
  hlo_value_t* value = hlo_node_operand(chain->collective, 0);
  for (uint32_t i = chain->count; i > 0 && value; --i) {
    const hlo_node_t* move = chain->moves[i - 1];
    hlo_value_t* operands[2] = {value};
    if (move->operand_count == 2) operands[1] = hlo_node_operand(move, 1);
    value = move->op == HLO_OP_convert
                ? hlo_build_convert(node, move->results[0].type->dtype, value)
                : hlo_build_copy(node, move, move->results[0].type, operands);
  }
  return value;
}

static void erase_chain(const chain_t* chain) {
  for (uint32_t i = 0; i < chain->count; ++i) hlo_node_erase(chain->moves[i]);
  hlo_node_erase(chain->collective);
}

static hlo_status_t reassociate_moved(hlo_pass_ctx_t* ctx, hlo_node_t* node, const chain_t* a,
                                      const chain_t* b) {
  hlo_module_t* module = node->parent->module;
  const bool is_same = a->collective == b->collective;
  const hlo_type_t* type = reduced_type(node, a);
  if (!type) return hlo_module_status(module);
  if (a->count + b->count > 0) {
    const double bytes = operand_bytes(a) + (is_same ? 0 : operand_bytes(b));
    if (!hlo_type_is_static(type) || hlo_type_work_bytes(type) > bytes) return hlo_ok();
  }
  hlo_value_t *x = build_moves(node, a), *y = is_same ? x : build_moves(node, b);
  hlo_value_t* sum = hlo_build_binary(node, node->op, x, y);
  if (!sum || !hlo_collective_set_dtype(a->collective, type) ||
      !hlo_collective_replace(node, a->collective->op, a->collective, sum, HLO_ATTR_COUNT, 0)) {
    return hlo_module_status(module);
  }
  if (!is_same) erase_chain(b);
  erase_chain(a);
  ++ctx->step_count;
  return hlo_module_status(module);
}

// ---- slices whose position is a value

static hlo_node_t* find_sliced(const hlo_value_t* value, const hlo_node_t* user) {
  hlo_node_t* slice = value->def;
  if (!slice || slice->op != HLO_OP_dynamic_slice || slice->extra ||
      slice->parent != user->parent || !is_used_only_by(value, user)) {
    return NULL;
  }
  const hlo_node_t* node = hlo_node_operand(slice, 0)->def;
  return node && node->parent == user->parent && node->op == HLO_OP_all_reduce &&
                 is_collective(node) && is_used_only_by(hlo_node_operand(slice, 0), slice)
             ? slice
             : NULL;
}

static bool are_equal_slices(const hlo_node_t* a, const hlo_node_t* b) {
  if (hlo_node_operand_type(a, 0) != hlo_node_operand_type(b, 0) ||
      a->results[0].type != b->results[0].type) {
    return false;
  }
  for (uint32_t i = 1; i < a->operand_count; ++i) {
    if (hlo_node_operand(a, i) != hlo_node_operand(b, i)) return false;
  }
  return true;
}

static hlo_status_t reassociate_sliced(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_node_t* a,
                                       hlo_node_t* b) {
  hlo_module_t* module = node->parent->module;
  hlo_node_t *x = hlo_node_operand(a, 0)->def, *y = hlo_node_operand(b, 0)->def;
  if (!are_equal_slices(a, b) || !are_alike(node, x, y)) return hlo_ok();
  // The all_reduce of the sum takes the place of `x`, and `a` slices it.
  hlo_value_t* sum =
      hlo_build_binary(node, node->op, hlo_node_operand(x, 0), hlo_node_operand(y, 0));
  if (!sum) return hlo_module_status(module);
  hlo_node_unlink(x);
  hlo_node_insert_before(node, x);
  hlo_node_set_operand(x, 0, sum);
  hlo_node_unlink(a);
  hlo_node_insert_before(node, a);
  hlo_value_replace_uses(&node->results[0], &a->results[0]);
  hlo_node_erase(node);
  if (a != b) {
    hlo_node_erase(b);
    hlo_node_erase(y);
  }
  ++ctx->step_count;
  return hlo_module_status(module);
}

static hlo_status_t reassociate(void* context, hlo_node_t* node) {
  chain_t a, b;
  if (node->operand_count != 2 || !hlo_op_has(node->op, HLO_TRAIT_ASSOCIATIVE) || node->extra) {
    return hlo_ok();
  }
  hlo_node_t* slices[2];
  for (uint32_t i = 0; i < 2; ++i) slices[i] = find_sliced(hlo_node_operand(node, i), node);
  if (slices[0] && slices[1]) return reassociate_sliced(context, node, slices[0], slices[1]);
  if (!find_chain(hlo_node_operand(node, 0), node, &a) ||
      !find_chain(hlo_node_operand(node, 1), node, &b) ||
      !are_alike(node, a.collective, b.collective)) {
    return hlo_ok();
  }
  if (reduced_type(node, &a) != reduced_type(node, &b)) return hlo_ok();
  return reassociate_moved(context, node, &a, &b);
}

hlo_status_t hlo_pass_reassociate_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, reassociate, ctx);
}
