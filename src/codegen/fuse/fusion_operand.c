// SPDX-License-Identifier: Apache-2.0
// Operands that products compute where they pack or read them: what makes an operand, and nothing
// else, is taken into the product's group where that costs less than memory.
#include "base/tuning.h"
#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

// Ops whose elements are made of a few elements at places that loops can tell.
static bool is_chainable(const hlo_fuser_t* f, const hlo_node_t* node) {
  if (!hlo_fuser_state(f, node)->is_fusible || node->result_count != 1) return false;
  return hlo_op_has(node->op, HLO_TRAIT_MOVES) || hlo_elementwise_supports(node);
}

// The one group whose product all uses belong to, as operands or as part of what makes them; NONE.
static int32_t taking_group(const hlo_fuser_t* f, const hlo_node_t* node) {
  int32_t group = HLO_NO_GROUP;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const hlo_fuser_node_t* state = hlo_fuser_state(f, use->user);
    bool is_here = use->user->parent == node->parent && state->group != HLO_NO_GROUP &&
                   (group == HLO_NO_GROUP || state->group == group) && state->is_product;
    if (!is_here) return HLO_NO_GROUP;
    group = state->group;
  }
  return group;
}

static bool is_made_for_prologue(const hlo_fuser_prologue_t* prologue, const hlo_node_t* node) {
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (!hlo_fuser_prologue_has(prologue, use->user)) return false;
  }
  return true;
}

// Whether some step keeps a value in memory whatever becomes of the product.
static bool is_kept_anyway(const hlo_fuser_t* f, const hlo_node_t* node,
                           const hlo_fuser_prologue_t* prologue) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      if (hlo_fuser_prologue_has(prologue, use->user)) continue;
      if (use->user->parent != node->parent) return true;
      const hlo_fuser_node_t* state = hlo_fuser_state(f, use->user);
      if (state->group != HLO_NO_GROUP || !state->is_fusible) return true;
    }
  }
  return false;
}

// Whether a value that the chain begins with is in memory, or so small that it does not matter.
static bool may_begin(const hlo_fuser_t* f, const hlo_fuser_prologue_t* prologue,
                      const hlo_value_t* value, bool computes) {
  const hlo_node_t *def = value->def, *last = prologue->nodes[0];
  int64_t count = hlo_type_element_count(value->type);
  if (!def || def->parent != last->parent || !hlo_fuser_state(f, def)->is_fusible) return true;
  if (count <= hlo_type_element_count(last->results[0].type) / HLO_TUNING_FUSE_OPERAND_SHARE)
    return true;
  // What follows a product is better computed behind it.
  if (hlo_fuser_state(f, def)->is_product) return !computes || is_kept_anyway(f, def, prologue);
  return def->op == HLO_OP_constant || is_kept_anyway(f, def, prologue);
}

// Everything that an operand is made of and that nothing else needs; false: it is not to be taken.
static bool find_prologue(const hlo_fuser_t* f, hlo_node_t* node, hlo_fuser_prologue_t* prologue) {
  bool computes = false;
  *prologue = (hlo_fuser_prologue_t){.count = 1, .nodes = {node}};
  for (uint32_t i = 0; i < prologue->count; ++i) {
    const hlo_node_t* member = prologue->nodes[i];
    computes |= hlo_elementwise_supports(member);
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(member, k)->def;
      if (!def || hlo_fuser_prologue_has(prologue, def) || def->parent != node->parent) continue;
      if (!is_chainable(f, def) || !is_made_for_prologue(prologue, def)) continue;
      if (prologue->count == HLO_FUSER_MAX_PROLOGUE) return false;
      prologue->nodes[prologue->count++] = def;
    }
  }
  for (uint32_t i = 0; i < prologue->count; ++i) {
    const hlo_node_t* member = prologue->nodes[i];
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(member, k);
      bool is_cheap = value->def && hlo_fuser_state(f, value->def)->is_cheap;
      if ((value->def && hlo_fuser_prologue_has(prologue, value->def)) || is_cheap) continue;
      if (!may_begin(f, prologue, value, computes)) return false;
    }
  }
  return prologue->count > 1 || !hlo_node_is_view(node);  // of what is in memory
}

hlo_status_t hlo_fuser_take_prologue(hlo_fuser_t* f, hlo_node_t* node, bool* out_taken) {
  *out_taken = false;
  if (!is_chainable(f, node)) return hlo_ok();
  int32_t group = taking_group(f, node);
  hlo_fuser_prologue_t prologue;
  if (group == HLO_NO_GROUP || !find_prologue(f, node, &prologue)) return hlo_ok();
  f->prologue = &prologue;
  hlo_status_t status = hlo_fuser_try_member(f, &f->groups[group], NULL, out_taken);
  f->prologue = NULL;
  if (hlo_status_is_ok(status) && !*out_taken) status = hlo_fuser_reject(f, node, group, false);
  for (uint32_t i = 0; *out_taken && i < prologue.count && hlo_status_is_ok(status); ++i) {
    hlo_fuser_state(f, prologue.nodes[i])->is_prologue = true;
    status = hlo_fuser_join(f, group, prologue.nodes[i]);
  }
  return status;
}

hlo_status_t hlo_fuser_duplicate_operand(hlo_fuser_t* f, hlo_node_t* node, bool* out_taken) {
  hlo_fuser_node_t* state = hlo_fuser_state(f, node);
  const hlo_fuser_node_t before = *state;
  uint32_t count = 0;
  if (node->op != HLO_OP_transpose && node->op != HLO_OP_slice) return hlo_ok();
  const hlo_node_t* def = hlo_node_operand(node, 0)->def;
  if (def && def->parent == node->parent && hlo_fuser_state(f, def)->is_fusible) return hlo_ok();
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const hlo_fuser_node_t* user = hlo_fuser_state(f, use->user);
    bool is_product =
        use->user->parent == node->parent && user->is_product && user->group != HLO_NO_GROUP;
    if (!is_product || ++count > HLO_FUSER_MAX_RECOMPUTING) return hlo_ok();
  }
  state->is_prologue = state->is_cheap = state->is_duplicated = true;
  hlo_status_t status = hlo_ok();
  *out_taken = true;
  for (const hlo_use_t* use = node->results[0].uses; use && *out_taken; use = use->next) {
    status =
        hlo_fuser_try_member(f, &f->groups[hlo_fuser_state(f, use->user)->group], NULL, out_taken);
    if (!hlo_status_is_ok(status)) break;
  }
  if (!*out_taken) *state = before;
  return status;
}
