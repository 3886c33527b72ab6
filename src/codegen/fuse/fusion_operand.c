// SPDX-License-Identifier: Apache-2.0
// Operands that products compute where they pack or read them: what makes an operand, and nothing
// else, is taken into the product's group where that costs less than memory.
#include "codegen/fuse/fusion_impl.h"
#include "codegen/math/elementwise.h"

// Ops whose elements are made of a few elements at places that loops can tell.
static bool is_chainable(const hlo_fuser_t* f, const hlo_node_t* node) {
  if (!hlo_fuser_place(f, node)->is_fusible || node->result_count != 1) return false;
  return hlo_op_has(node->op, HLO_TRAIT_MOVES) || hlo_elementwise_supports(node);
}

// The one group whose product all uses belong to, as operands or as part of what makes them; NONE.
static int32_t taking_group(const hlo_fuser_t* f, const hlo_node_t* node) {
  int32_t group = HLO_NO_GROUP;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const hlo_placing_t* place = hlo_fuser_place(f, use->user);
    bool is_here = use->user->parent == node->parent && place->group != HLO_NO_GROUP &&
                   (group == HLO_NO_GROUP || place->group == group) && place->is_product;
    if (!is_here) return HLO_NO_GROUP;
    group = place->group;
  }
  return group;
}

static bool is_made_for_chain(const hlo_fuser_chain_t* chain, const hlo_node_t* node) {
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (!hlo_fuser_chain_has(chain, use->user)) return false;
  }
  return true;
}

// Whether some step keeps a value in memory whatever becomes of the product.
static bool is_kept_anyway(const hlo_fuser_t* f, const hlo_node_t* node,
                           const hlo_fuser_chain_t* chain) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (const hlo_use_t* use = node->results[r].uses; use; use = use->next) {
      if (hlo_fuser_chain_has(chain, use->user)) continue;
      if (use->user->parent != node->parent) return true;
      const hlo_placing_t* place = hlo_fuser_place(f, use->user);
      if (place->group != HLO_NO_GROUP || !place->is_fusible) return true;
    }
  }
  return false;
}

// Whether a value that the chain begins with is in memory, or so small that it does not matter.
static bool may_begin(const hlo_fuser_t* f, const hlo_fuser_chain_t* chain,
                      const hlo_value_t* value, bool computes) {
  enum { FEWER = 8 };
  const hlo_node_t *def = value->def, *last = chain->nodes[0];
  int64_t count = hlo_type_element_count(value->type);
  if (!def || def->parent != last->parent || !hlo_fuser_place(f, def)->is_fusible) return true;
  if (count <= hlo_type_element_count(last->results[0].type) / FEWER) return true;
  // What follows a product is better computed behind it.
  if (hlo_fuser_place(f, def)->is_product) return !computes || is_kept_anyway(f, def, chain);
  return def->op == HLO_OP_constant || is_kept_anyway(f, def, chain);
}

// Everything that an operand is made of and that nothing else needs; false: it is not to be taken.
static bool find_chain(const hlo_fuser_t* f, hlo_node_t* node, hlo_fuser_chain_t* chain) {
  bool computes = false;
  *chain = (hlo_fuser_chain_t){.count = 1, .nodes = {node}};
  for (uint32_t i = 0; i < chain->count; ++i) {
    const hlo_node_t* member = chain->nodes[i];
    computes |= hlo_elementwise_supports(member);
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      hlo_node_t* def = hlo_node_operand(member, k)->def;
      if (!def || hlo_fuser_chain_has(chain, def) || def->parent != node->parent) continue;
      if (!is_chainable(f, def) || !is_made_for_chain(chain, def)) continue;
      if (chain->count == HLO_FUSER_MAX_CHAIN) return false;
      chain->nodes[chain->count++] = def;
    }
  }
  for (uint32_t i = 0; i < chain->count; ++i) {
    const hlo_node_t* member = chain->nodes[i];
    for (uint32_t k = 0; k < member->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(member, k);
      bool is_cheap = value->def && hlo_fuser_place(f, value->def)->is_cheap;
      if ((value->def && hlo_fuser_chain_has(chain, value->def)) || is_cheap) continue;
      if (!may_begin(f, chain, value, computes)) return false;
    }
  }
  return chain->count > 1 || !hlo_node_is_view(node);  // of what is in memory
}

hlo_status_t hlo_fuser_take_operand(hlo_fuser_t* f, hlo_node_t* node, bool* out_taken) {
  *out_taken = false;
  if (!is_chainable(f, node)) return hlo_ok();
  int32_t group = taking_group(f, node);
  hlo_fuser_chain_t chain;
  if (group == HLO_NO_GROUP || !find_chain(f, node, &chain)) return hlo_ok();
  f->chain = &chain;
  hlo_status_t status = hlo_fuser_try_member(f, &f->groups[group], NULL, out_taken);
  f->chain = NULL;
  if (hlo_status_is_ok(status) && !*out_taken) status = hlo_fuser_reject(f, node, group, false);
  for (uint32_t i = 0; *out_taken && i < chain.count && hlo_status_is_ok(status); ++i) {
    hlo_fuser_place(f, chain.nodes[i])->is_taken = true;
    status = hlo_fuser_join(f, group, chain.nodes[i]);
  }
  return status;
}

hlo_status_t hlo_fuser_take_everywhere(hlo_fuser_t* f, hlo_node_t* node, bool* out_taken) {
  hlo_placing_t* place = hlo_fuser_place(f, node);
  const hlo_placing_t before = *place;
  uint32_t count = 0;
  if (node->op != HLO_OP_transpose && node->op != HLO_OP_slice) return hlo_ok();
  const hlo_node_t* def = hlo_node_operand(node, 0)->def;
  if (def && def->parent == node->parent && hlo_fuser_place(f, def)->is_fusible) return hlo_ok();
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    const hlo_placing_t* user = hlo_fuser_place(f, use->user);
    bool is_product =
        use->user->parent == node->parent && user->is_product && user->group != HLO_NO_GROUP;
    if (!is_product || ++count > HLO_FUSER_MAX_AGAIN) return hlo_ok();
  }
  place->is_taken = place->is_cheap = place->is_everywhere = true;
  hlo_status_t status = hlo_ok();
  *out_taken = true;
  for (const hlo_use_t* use = node->results[0].uses; use && *out_taken; use = use->next) {
    status =
        hlo_fuser_try_member(f, &f->groups[hlo_fuser_place(f, use->user)->group], NULL, out_taken);
    if (!hlo_status_is_ok(status)) break;
  }
  if (!*out_taken) *place = before;
  return status;
}
