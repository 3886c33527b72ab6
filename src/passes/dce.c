// SPDX-License-Identifier: Apache-2.0
// Pass dce: removes ops without used results or observable effects, and private functions that are
// unreachable. It visits ops in reverse order, so one walk removes whole chains.
#include <string.h>

#include "base/hashmap.h"
#include "ir/clone.h"
#include "passes/effects.h"
#include "passes/passes.h"

enum { DEPTH_LIMIT = 256 };  // nesting of calls examined; deeper calls count as having effects

typedef enum verdict { UNKNOWN, ASKING, REMOVABLE, NEEDED } verdict_t;

typedef struct dce {
  hlo_pass_ctx_t* ctx;
  hlo_map_t by_name;    // function name -> hlo_func_t
  uint8_t* verdicts;    // verdict_t by position in `positions`
  hlo_map_t positions;  // hlo_func_t -> position + 1
  uint32_t depth;
  bool* reached;       // by position of the function
  hlo_func_t** queue;  // reached functions whose calls have yet to be visited
  uint32_t queue_count;
} dce_t;

static uint32_t position_of(const dce_t* dce, const hlo_func_t* func) {
  return (uint32_t)(uintptr_t)hlo_map_get_pointer(&dce->positions, func) - 1;
}

static hlo_status_t init(dce_t* dce, hlo_module_t* module) {
  hlo_arena_t* scratch = &dce->ctx->scratch;
  uint32_t count = 0;
  for (hlo_func_t* f = module->first_func; f; f = f->next) {
    ++count;
    if (!hlo_map_put(&dce->by_name, f->name, strlen(f->name), f) ||
        !hlo_map_put_pointer(&dce->positions, f, (void*)(uintptr_t)count)) {
      return hlo_status_out_of_memory(count * sizeof(hlo_map_entry_t));
    }
  }
  dce->verdicts = hlo_arena_array(scratch, count + 1, sizeof *dce->verdicts);
  dce->reached = hlo_arena_array(scratch, count + 1, sizeof *dce->reached);
  dce->queue = hlo_arena_array(scratch, count + 1, sizeof(hlo_func_t*));
  return hlo_arena_status(scratch);
}

// ---- dead ops

static bool callee_is_removable(void* context, const hlo_node_t* call) {
  dce_t* dce = context;
  const char* name = hlo_node_attr_text(
      call, call->op == HLO_OP_composite ? HLO_ATTR_decomposition : HLO_ATTR_callee);
  hlo_func_t* func = name ? hlo_map_get(&dce->by_name, name, strlen(name)) : NULL;
  if (!func || !func->body) return false;
  uint8_t* verdict = &dce->verdicts[position_of(dce, func)];
  if (*verdict != UNKNOWN) return *verdict == REMOVABLE;
  if (dce->depth == DEPTH_LIMIT) return false;
  *verdict = ASKING;  // a recursive function may not terminate: its calls are kept
  ++dce->depth;
  bool removable = true;
  for (hlo_node_t* n = func->body->first; n && removable; n = n->next) {
    removable = hlo_node_is_removable(n, callee_is_removable, dce);
  }
  --dce->depth;
  *verdict = removable ? REMOVABLE : NEEDED;
  return removable;
}

static bool is_dead(dce_t* dce, const hlo_node_t* node) {
  if (hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR) return false;
  return hlo_node_is_unused(node) && hlo_node_is_removable(node, callee_is_removable, dce);
}

static void sweep(dce_t* dce, hlo_region_t* region) {
  hlo_node_t* previous;
  for (hlo_node_t* node = region->last; node; node = previous) {
    previous = node->prev;
    if (is_dead(dce, node)) {
      hlo_node_erase(node);
      ++dce->ctx->step_count;
      continue;
    }
    for (uint32_t i = 0; i < node->region_count; ++i) sweep(dce, node->regions[i]);
  }
}

// ---- unreachable functions

static void reach(dce_t* dce, const char* name, size_t length) {
  hlo_func_t* func = hlo_map_get(&dce->by_name, name, length);
  if (!func || dce->reached[position_of(dce, func)]) return;
  dce->reached[position_of(dce, func)] = true;
  dce->queue[dce->queue_count++] = func;
}

static bool is_symbol_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

// Attributes name functions as symbols at any nesting depth, or inside opaque text.
static void reach_attr(dce_t* dce, const hlo_attr_t* attr) {
  if (!attr) return;
  switch (attr->kind) {
    case HLO_ATTR_KIND_SYMBOL: reach(dce, attr->text, strlen(attr->text)); break;
    case HLO_ATTR_KIND_OPAQUE:
      for (const char* p = strchr(attr->text, '@'); p; p = strchr(p, '@')) {
        const char* name = ++p;
        while (is_symbol_letter(*p)) ++p;
        reach(dce, name, (size_t)(p - name));
      }
      break;
    case HLO_ATTR_KIND_ARRAY:
    case HLO_ATTR_KIND_DICT:
      for (uint32_t i = 0; i < attr->count; ++i) reach_attr(dce, attr->items[i]);
      break;
    default: break;
  }
}

static hlo_status_t reach_node(void* context, hlo_node_t* node) {
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) {
    reach_attr(context, node->attrs[i]);
  }
  reach_attr(context, node->extra);
  return hlo_ok();
}

static hlo_status_t remove_unreached(dce_t* dce, hlo_module_t* module) {
  hlo_func_t* entry = hlo_module_entry(module);
  for (hlo_func_t* f = module->first_func; f; f = f->next) {
    if (f == entry || f->visibility != HLO_PRIVATE) reach(dce, f->name, strlen(f->name));
  }
  reach_attr(dce, module->extra);
  HLO_TRY(hlo_region_walk(module->top, false, reach_node, dce));
  for (uint32_t i = 0; i < dce->queue_count; ++i) {
    if (!dce->queue[i]->body) continue;
    HLO_TRY(hlo_region_walk(dce->queue[i]->body, false, reach_node, dce));
  }
  hlo_func_t* next;
  for (hlo_func_t* f = module->first_func; f; f = next) {
    next = f->next;
    if (dce->reached[position_of(dce, f)]) continue;
    hlo_func_remove(f);
    ++dce->ctx->step_count;
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_dce(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  dce_t dce = {.ctx = ctx};
  hlo_status_t status = init(&dce, module);
  for (hlo_func_t* f = module->first_func; f && hlo_status_is_ok(status); f = f->next) {
    if (f->body) sweep(&dce, f->body);
  }
  if (hlo_status_is_ok(status)) status = remove_unreached(&dce, module);
  hlo_map_deinit(&dce.by_name);
  hlo_map_deinit(&dce.positions);
  return status;
}
