// SPDX-License-Identifier: Apache-2.0
// Copies of bodies (see splice.h).
#include "passes/splice.h"

#include <string.h>

static hlo_status_t map_arg(hlo_splicer_t* splicer, const hlo_value_t* arg, hlo_value_t* value) {
  hlo_value_map_t* map = &splicer->map;
  if (arg->index >= map->count) {
    uint32_t count = 2 * arg->index + 64;
    hlo_value_t** values = hlo_arena_array(splicer->arena, count, sizeof *values);
    if (!values) return hlo_arena_status(splicer->arena);
    if (map->count) memcpy(values, map->values, map->count * sizeof *values);
    *map = (hlo_value_map_t){values, count};
  }
  map->values[arg->index] = value;
  return hlo_ok();
}

hlo_status_t hlo_splice(hlo_splicer_t* splicer, const hlo_region_t* body,
                        hlo_value_t* const* values, hlo_node_t* insertion_point, hlo_visit_t visit,
                        void* context) {
  hlo_module_t* module = insertion_point->parent->module;
  hlo_region_t* staging = hlo_region_create(module, insertion_point->parent->func, NULL);
  if (!staging) return hlo_module_status(module);
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    HLO_TRY(map_arg(splicer, body->args[i], values[i]));
  }
  for (const hlo_node_t* n = body->first; n != body->last; n = n->next) {
    if (hlo_node_is_poison(hlo_node_clone(staging, n, &splicer->map))) {
      return hlo_status_out_of_memory(sizeof *n);
    }
  }
  if (visit) HLO_TRY(hlo_region_walk(staging, false, visit, context));
  for (hlo_node_t* n = staging->first; n; n = staging->first) {
    hlo_node_unlink(n);
    hlo_node_insert_before(insertion_point, n);
  }
  return hlo_ok();
}

hlo_value_t* hlo_splice_result(const hlo_splicer_t* splicer, const hlo_region_t* body, uint32_t i) {
  hlo_value_t* value = hlo_node_operand(body->last, i);
  bool is_mapped = value->index < splicer->map.count && splicer->map.values[value->index];
  return is_mapped ? splicer->map.values[value->index] : value;
}

static hlo_status_t count_op(void* context, hlo_node_t* node) {
  (void)node;
  ++*(uint32_t*)context;
  return hlo_ok();
}

uint32_t hlo_splice_size(const hlo_region_t* body) {
  uint32_t size = 0;
  hlo_status_release(hlo_region_walk((hlo_region_t*)body, false, count_op, &size));
  return size;
}

bool hlo_splice_own_body(hlo_node_t* node) {
  hlo_region_t* body = node->region_count == 1 ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || body->arg_count != node->operand_count) return false;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    hlo_value_replace_uses(body->args[i], hlo_node_operand(node, i));
  }
  for (hlo_node_t* inner = body->first; inner != end; inner = body->first) {
    hlo_node_unlink(inner);
    hlo_node_insert_before(node, inner);
  }
  return true;
}
