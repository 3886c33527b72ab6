// SPDX-License-Identifier: Apache-2.0
// Pass lower_placement: removes custom calls that place values in the memory of the host or of the
// device. All memory of a device is the host's, so temporaries need no copy to move. A result that
// the program places, and whose memory kind nobody requests, gets the kind of its placement.
#include <string.h>

#include "base/memory_kind.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/entry.h"
#include "passes/passes.h"

typedef struct placement {
  const char* target;
  hlo_memory_kind_t kind;  // HLO_MEMORY_KIND_COUNT: named by the attribute
} placement_t;

static const placement_t kPlacements[] = {
    {"annotate_device_placement", HLO_MEMORY_KIND_COUNT},
    {"MoveToHost", HLO_MEMORY_PINNED_HOST},
    {"MoveToDevice", HLO_MEMORY_DEVICE},
    {"PinToHost", HLO_MEMORY_PINNED_HOST},
    {"PinToDevice", HLO_MEMORY_DEVICE},
};

// Returns NULL if the node is no placement of one value.
static const placement_t* placement_of(const hlo_node_t* node) {
  if (node->op != HLO_OP_custom_call || node->operand_count != 1 || node->result_count != 1 ||
      node->results[0].type != hlo_node_operand_type(node, 0)) {
    return NULL;
  }
  const char* target = hlo_custom_call_target(node);
  for (size_t i = 0; i < sizeof kPlacements / sizeof kPlacements[0]; ++i) {
    if (strcmp(target, kPlacements[i].target) == 0) return &kPlacements[i];
  }
  return NULL;
}

// Returns the memory kind that annotate_device_placement names; NULL if it names none.
static const char* placement_name(const hlo_node_t* node) {
  const hlo_attr_t* dict = hlo_attr_dict_get(node->extra, "mhlo.frontend_attributes");
  const hlo_attr_t* name = hlo_attr_dict_get(dict, "_xla_buffer_placement");
  return name && name->kind == HLO_ATTR_KIND_STRING ? name->text : NULL;
}

static hlo_memory_kind_t kind_of(const hlo_node_t* node, const placement_t* placement) {
  if (placement->kind != HLO_MEMORY_KIND_COUNT) return placement->kind;
  const char* name = placement_name(node);
  return name ? hlo_memory_kind_from_name(name, strlen(name)) : HLO_MEMORY_KIND_COUNT;
}

static hlo_status_t check_placement(HLO_UNUSED void* context, hlo_node_t* node) {
  const placement_t* placement = placement_of(node);
  if (!placement || kind_of(node, placement) != HLO_MEMORY_KIND_COUNT) return hlo_ok();
  return hlo_pass_error(node, HLO_STATUS_INVALID_ARGUMENT,
                        "_xla_buffer_placement is no memory kind, expected " HLO_MEMORY_KIND_NAMES);
}

// Gives results of the entry function the kind of the placement that returns them.
static hlo_status_t place_results(hlo_func_t* entry) {
  hlo_node_t* end = hlo_region_terminator(entry->body);
  for (uint32_t i = 0; end && i < end->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(end, i)->def;
    const placement_t* placement = def ? placement_of(def) : NULL;
    if (!placement || hlo_func_result_attr(entry, i, HLO_MEMORY_KIND_ATTR)) continue;
    const char* name = hlo_memory_kind_name(kind_of(def, placement));
    hlo_func_set_result_attr(entry, i, HLO_MEMORY_KIND_ATTR,
                             hlo_attr_string(entry->module, name, strlen(name)));
  }
  return hlo_module_status(entry->module);
}

static hlo_status_t drop_placement(void* context, hlo_node_t* node) {
  if (!placement_of(node)) return hlo_ok();
  hlo_pass_ctx_t* ctx = context;
  ++ctx->step_count;
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_placement(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  HLO_TRY(hlo_module_walk(module, false, check_placement, NULL));
  hlo_func_t* entry = hlo_module_entry(module);
  if (entry && entry->body) HLO_TRY(place_results(entry));
  return hlo_module_walk(module, false, drop_placement, ctx);
}
