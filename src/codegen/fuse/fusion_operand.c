// SPDX-License-Identifier: Apache-2.0
// Prologues: a product computes the ops of an operand while it packs or reads it, if no other op
// uses them and it costs less than a pass through memory.
#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

// Returns true if each element depends on few elements, at positions that loops can compute.
static bool can_be_in_prologue(const hlo_fuser_t* f, const hlo_node_t* node) {
  if (!hlo_fuser_state(f, node)->is_fusible || node->result_count != 1) return false;
  return hlo_op_has(node->op, HLO_TRAIT_MOVES) || hlo_elementwise_supports(node);
}

// Returns the group of the product that all uses belong to, as operands or prologue; HLO_NO_GROUP
// otherwise.
static int32_t product_group(const hlo_fuser_t* f, const hlo_node_t* node) {
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

// Returns true if some step stores the value anyway.
static bool is_stored_anyway(const hlo_fuser_t* f, const hlo_node_t* node,
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

// Returns true if an input of the prologue is in memory, or so small that storing it is negligible.
static bool can_read_input(const hlo_fuser_t* f, const hlo_fuser_prologue_t* prologue,
                           const hlo_value_t* value, bool computes) {
  const hlo_node_t *def = value->def, *last = prologue->nodes[0];
  int64_t count = hlo_type_element_count(value->type);
  if (!def || def->parent != last->parent || !hlo_fuser_state(f, def)->is_fusible) return true;
  if (count <= hlo_type_element_count(last->results[0].type) / HLO_TUNING_FUSE_OPERAND_SHARE)
    return true;
  // Ops on a product's result are better fused as its epilogue.
  if (hlo_fuser_state(f, def)->is_product) return !computes || is_stored_anyway(f, def, prologue);
  return def->op == HLO_OP_constant || is_stored_anyway(f, def, prologue);
}

// Collects the ops that only this operand needs; returns false if they should not be a prologue.
static bool find_prologue(const hlo_fuser_t* f, hlo_node_t* node, hlo_fuser_prologue_t* prologue) {
  bool computes = false;
  *prologue = (hlo_fuser_prologue_t){.count = 1, .nodes = {node}};
  for (uint32_t i = 0; i < prologue->count; ++i) {
    const hlo_node_t* member = prologue->nodes[i];
    computes |= hlo_elementwise_supports(member);
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(member, k)->def;
      if (!def || hlo_fuser_prologue_has(prologue, def) || def->parent != node->parent) continue;
      if (!can_be_in_prologue(f, def) || !is_made_for_prologue(prologue, def)) continue;
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
      if (!can_read_input(f, prologue, value, computes)) return false;
    }
  }
  return prologue->count > 1 ||
         !hlo_node_is_view(node);  // a view of an array in memory needs no prologue
}

hlo_status_t hlo_fuser_fuse_prologue(hlo_fuser_t* f, hlo_node_t* node, bool* out_fused) {
  *out_fused = false;
  if (!can_be_in_prologue(f, node)) return hlo_ok();
  int32_t group = product_group(f, node);
  hlo_fuser_prologue_t prologue;
  if (group == HLO_NO_GROUP || !find_prologue(f, node, &prologue)) return hlo_ok();
  f->prologue = &prologue;
  hlo_status_t status = hlo_fuser_try_member(f, &f->groups[group], NULL, out_fused);
  f->prologue = NULL;
  if (hlo_status_is_ok(status) && !*out_fused)
    status = hlo_fuser_record_rejection(f, node, group, false);
  for (uint32_t i = 0; *out_fused && i < prologue.count && hlo_status_is_ok(status); ++i) {
    hlo_fuser_state(f, prologue.nodes[i])->is_prologue = true;
    status = hlo_fuser_join(f, group, prologue.nodes[i]);
  }
  return status;
}

hlo_status_t hlo_fuser_duplicate_operand(hlo_fuser_t* f, hlo_node_t* node, bool* out_fused) {
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
  *out_fused = true;
  for (const hlo_use_t* use = node->results[0].uses; use && *out_fused; use = use->next) {
    status =
        hlo_fuser_try_member(f, &f->groups[hlo_fuser_state(f, use->user)->group], NULL, out_fused);
    if (!hlo_status_is_ok(status)) break;
  }
  if (!*out_fused) *state = before;
  return status;
}
