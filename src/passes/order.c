// SPDX-License-Identifier: Apache-2.0
// Orders of nodes (see order.h). A node waits for the nodes that it depends on and that come later;
// the one that is placed last puts it into the order.
#include "passes/order.h"

#include "passes/effects.h"

void hlo_node_dependences(const hlo_node_t* node, const hlo_region_t* region,
                          hlo_dependence_fn_t visit, void* context) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    if (value->region == region && value->def) visit(context, value->def);
  }
  for (uint32_t r = 0; r < node->region_count; ++r) {
    for (const hlo_node_t* n = node->regions[r]->first; n; n = n->next) {
      hlo_node_dependences(n, region, visit, context);
    }
  }
}

bool hlo_node_has_fixed_place(const hlo_node_t* node) {
  if (hlo_op_has(node->op, HLO_TRAIT_TERMINATOR)) return true;
  if (hlo_op_has(node->op, HLO_TRAIT_COLLECTIVE)) return false;
  return !hlo_node_is_removable(node, NULL, NULL);
}

typedef struct waiter {
  struct place* who;
  struct waiter* next;
} waiter_t;

/// A node on its way into the order.
typedef struct place {
  hlo_node_t* node;
  uint32_t missing;  // dependences that are not placed, and its turn
  bool is_placed;
  waiter_t *waiters, **last_waiter;  // in the order in which they were seen
  struct place* next;                // in the order
} place_t;

typedef struct sorter {
  hlo_arena_t* scratch;
  place_t* places;     // in the old order
  place_t** by_index;  // by node->index less `lowest`
  uint32_t lowest;
  place_t* waiting;  // the node that waits
  place_t *first, **last;
  place_t* fixed;  // the last node with a fixed place
} sorter_t;

static void wait_for(sorter_t* s, place_t* dependence) {
  if (dependence->is_placed) return;
  waiter_t* waiter = hlo_arena_alloc(s->scratch, sizeof *waiter);
  if (!waiter) return;  // hlo_region_order() detects the exhausted arena
  *waiter = (waiter_t){s->waiting, NULL};
  *dependence->last_waiter = waiter;
  dependence->last_waiter = &waiter->next;
  ++s->waiting->missing;
}

static void wait_for_node(void* context, hlo_node_t* dependence) {
  sorter_t* s = context;
  wait_for(s, s->by_index[dependence->index - s->lowest]);
}

static void append(sorter_t* s, place_t* place) {
  place->is_placed = true;
  *s->last = place;
  s->last = &place->next;
}

// Places a node and whatever only waited for it, and for what that releases: the order itself is
// the list of work.
static void place(sorter_t* s, place_t* next) {
  append(s, next);
  for (; next; next = next->next) {
    for (const waiter_t* w = next->waiters; w; w = w->next) {
      if (--w->who->missing == 0) append(s, w->who);
    }
    next->waiters = NULL;
  }
}

static hlo_status_t prepare(sorter_t* s, const hlo_region_t* region, uint32_t* out_count) {
  uint32_t count = 0, highest = 0;
  s->lowest = UINT32_MAX;
  for (const hlo_node_t* n = region->first; n; n = n->next, ++count) {
    if (n->index < s->lowest) s->lowest = n->index;
    if (n->index > highest) highest = n->index;
  }
  *out_count = count;
  if (!count) return hlo_ok();
  s->places = hlo_arena_array(s->scratch, count, sizeof *s->places);
  s->by_index = hlo_arena_array(s->scratch, highest - s->lowest + 1, sizeof *s->by_index);
  HLO_TRY(hlo_arena_status(s->scratch));
  place_t* at = s->places;
  for (hlo_node_t* n = region->first; n; n = n->next, ++at) {
    *at = (place_t){.node = n, .missing = 1};
    at->last_waiter = &at->waiters;
    s->by_index[n->index - s->lowest] = at;
  }
  return hlo_ok();
}

static void sort(sorter_t* s, const hlo_region_t* region, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    s->waiting = &s->places[i];
    hlo_node_dependences(s->waiting->node, region, wait_for_node, s);
    if (hlo_node_has_fixed_place(s->waiting->node)) {
      if (s->fixed) wait_for(s, s->fixed);
      s->fixed = s->waiting;
    }
    if (--s->waiting->missing == 0) place(s, s->waiting);
  }
}

static hlo_status_t order_region(hlo_region_t* region, const hlo_order_edge_t* edges,
                                 uint32_t edge_count, hlo_arena_t* scratch, bool* out_is_possible) {
  sorter_t s = {.scratch = scratch};
  s.last = &s.first;
  uint32_t count = 0, placed = 0;
  HLO_TRY(prepare(&s, region, &count));
  for (uint32_t i = 0; i < edge_count; ++i) {
    s.waiting = s.by_index[edges[i].then->index - s.lowest];
    wait_for_node(&s, edges[i].first);
  }
  sort(&s, region, count);
  HLO_TRY(hlo_arena_status(scratch));
  for (const place_t* p = s.first; p; p = p->next) ++placed;
  *out_is_possible = placed == count;
  if (placed != count) return hlo_ok();
  for (const place_t* p = s.first; p; p = p->next) {
    hlo_node_unlink(p->node);
    hlo_region_append(region, p->node);
  }
  return hlo_ok();
}

hlo_status_t hlo_region_order_by(hlo_region_t* region, const hlo_order_edge_t* edges,
                                 uint32_t edge_count, hlo_arena_t* scratch, bool* out_is_possible) {
  const hlo_arena_mark_t mark = hlo_arena_mark(scratch);
  hlo_status_t status = order_region(region, edges, edge_count, scratch, out_is_possible);
  hlo_arena_reset(scratch, mark);
  return status;
}

hlo_status_t hlo_region_order(hlo_region_t* region, hlo_arena_t* scratch) {
  bool is_possible;
  HLO_TRY(hlo_region_order_by(region, NULL, 0, scratch, &is_possible));
  return is_possible ? hlo_ok() : hlo_internal_error("nodes of a region depend on each other");
}
