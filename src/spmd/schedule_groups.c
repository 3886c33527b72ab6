// SPDX-License-Identifier: Apache-2.0
// Scheduling groups (see schedule_groups.h), and pass legalize_scheduling_groups: checks the groups
// of every region, and drops ids that say nothing: those of views and constants, and of groups of
// one node. Nodes outside that depend on some of a group and are needed by others join it, so that
// all can run one after the other. A group of a region is checked in time linear in the region. It
// is in error if such a node is in another group, or if it has only one end of a collective.
#include "spmd/schedule_groups.h"

#include <stdlib.h>
#include <string.h>

#include "ir/clone.h"
#include "passes/order.h"
#include "spmd/passes.h"

static const char kDict[] = "mhlo.frontend_attributes";
static const char kKey[] = "_scheduling_group_id";

enum { ITERATIONS_MAX = 1 << 20 };  // ids are kept as group * ITERATIONS_MAX + iteration + 1

static hlo_status_t read_part(const hlo_node_t* node, const char* text, const char* end,
                              int64_t* out) {
  char* stop = NULL;
  const long long value = strtoll(text, &stop, 10);
  if (stop != end || stop == text) {
    return hlo_node_invalid(node, "the scheduling group '%s' is not an integer", text);
  }
  if (value < 0 || value >= ITERATIONS_MAX) {
    return hlo_node_invalid(node, "the scheduling group %lld is not between 0 and %d", value,
                            ITERATIONS_MAX - 1);
  }
  *out = value;
  return hlo_ok();
}

static const hlo_attr_t* group_text(const hlo_node_t* node) {
  return hlo_attr_dict_get(hlo_attr_dict_get(node->extra, kDict), kKey);
}

hlo_status_t hlo_schedule_group(const hlo_node_t* node, int64_t* out_group) {
  const hlo_attr_t* attr = group_text(node);
  *out_group = -1;
  if (!attr || attr->kind != HLO_ATTR_KIND_STRING || strcmp(attr->text, "noop") == 0) {
    return hlo_ok();
  }
  const char *colon = strchr(attr->text, ':'), *end = attr->text + strlen(attr->text);
  int64_t group, iteration = -1;
  HLO_TRY(read_part(node, attr->text, colon ? colon : end, &group));
  if (colon) HLO_TRY(read_part(node, colon + 1, end, &iteration));
  *out_group = group * ITERATIONS_MAX + iteration + 1;
  return hlo_ok();
}

void hlo_schedule_group_drop(hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  const hlo_attr_t* dict = hlo_attr_dict_get(node->extra, kDict);
  dict = hlo_attr_dict_with(module, dict, kKey, NULL);
  node->extra = hlo_attr_dict_with(module, node->extra, kDict, dict && dict->count ? dict : NULL);
  if (node->extra && !node->extra->count) node->extra = NULL;
}

static void join_group(hlo_node_t* node, const hlo_attr_t* text) {
  hlo_module_t* module = node->parent->module;
  const hlo_attr_t* dict = hlo_attr_dict_get(node->extra, kDict);
  node->extra =
      hlo_attr_dict_with(module, node->extra, kDict, hlo_attr_dict_with(module, dict, kKey, text));
}

// ---- the pass

/// A group of a region.
typedef struct group {
  int64_t id;
  const hlo_attr_t* text;  // of the id
  uint32_t count;
  hlo_node_t* first;
  struct group* next;
} group_t;

typedef struct legalizer {
  hlo_pass_ctx_t* ctx;
  uint32_t* reached;  // by node->index: 1 + a node of the group being checked leads to it
  group_t* groups;
  const hlo_region_t* region;
  bool is_reached;
} legalizer_t;

static hlo_status_t add_to_group(legalizer_t* l, hlo_node_t* node, int64_t id) {
  for (group_t* g = l->groups; g; g = g->next) {
    if (g->id != id) continue;
    ++g->count;
    return hlo_ok();
  }
  group_t* group = hlo_arena_alloc(&l->ctx->scratch, sizeof *group);
  if (!group) return hlo_arena_status(&l->ctx->scratch);
  *group = (group_t){id, group_text(node), 1, node, l->groups};
  l->groups = group;
  return hlo_ok();
}

static hlo_status_t check_ends(const hlo_node_t* done, int64_t id) {
  int64_t other = id;
  const hlo_node_t* start = hlo_node_operand(done, 0)->def;
  if (start) HLO_TRY(hlo_schedule_group(start, &other));
  if (id == other) return hlo_ok();
  return hlo_node_invalid(
      done, "the start and the end of a collective are in different scheduling groups");
}

static hlo_status_t collect(legalizer_t* l, hlo_region_t* region) {
  l->groups = NULL;
  for (hlo_node_t* node = region->first; node; node = node->next) {
    int64_t id;
    HLO_TRY(hlo_schedule_group(node, &id));
    if (node->op == HLO_OP_async_done) HLO_TRY(check_ends(node, id));
    if (id < 0) continue;
    if (hlo_op_info(node->op)->cost == HLO_COST_INDEX) {
      hlo_schedule_group_drop(node);
      ++l->ctx->step_count;
    } else {
      HLO_TRY(add_to_group(l, node, id));
    }
  }
  return hlo_ok();
}

static void note_reached(void* context, hlo_node_t* dependence) {
  legalizer_t* l = context;
  l->is_reached |= l->reached[dependence->index] != 0;
}

// Follows what depends on the group, in the order of the region: 1 for members, 2 for others.
static hlo_status_t check_group(legalizer_t* l, const group_t* group) {
  for (hlo_node_t* node = (hlo_node_t*)l->region->first; node; node = node->next) {
    int64_t id;
    HLO_TRY(hlo_schedule_group(node, &id));
    l->is_reached = false;
    hlo_node_dependences(node, l->region, note_reached, l);
    l->reached[node->index] = id == group->id || l->is_reached;
  }
  // Backwards: a node outside that is reached and leads to a member is between members.
  for (hlo_node_t* node = (hlo_node_t*)l->region->last; node; node = node->prev) {
    int64_t id;
    HLO_TRY(hlo_schedule_group(node, &id));
    bool leads = false;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      for (const hlo_use_t* use = node->results[i].uses; use; use = use->next) {
        const hlo_node_t* user = hlo_region_ancestor(l->region, use->user);
        leads |= user && l->reached[user->index] == 2;
      }
    }
    const bool is_view = hlo_op_info(node->op)->cost == HLO_COST_INDEX;
    if (leads && id != group->id && l->reached[node->index] && !is_view) {
      if (id >= 0) {
        return hlo_node_invalid(node, "this op between ops of scheduling group %lld is in another",
                                (long long)(group->id / ITERATIONS_MAX));
      }
      join_group(node, group->text);
      ++l->ctx->step_count;
    }
    if (leads || id == group->id) l->reached[node->index] = 2;
  }
  return hlo_ok();
}

static hlo_status_t legalize_region(legalizer_t* l, hlo_region_t* region) {
  HLO_TRY(collect(l, region));
  l->region = region;
  for (const group_t* group = l->groups; group; group = group->next) {
    if (group->count == 1) {
      hlo_schedule_group_drop(group->first);
      ++l->ctx->step_count;
    } else {
      HLO_TRY(check_group(l, group));
    }
  }
  for (hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(legalize_region(l, node->regions[i]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_legalize_scheduling_groups(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  legalizer_t legalizer = {.ctx = ctx};
  legalizer.reached =
      hlo_arena_array(&ctx->scratch, module->node_count + 1, sizeof *legalizer.reached);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(legalize_region(&legalizer, func->body));
  }
  return hlo_ok();
}
