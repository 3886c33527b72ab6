// SPDX-License-Identifier: Apache-2.0
// The copies that remain in a plan: values that a terminator hands over, and operands that a node
// or kernel changes, moved to the allocation of the result. Copies of a terminator or loop are
// parallel: they are ordered so that everything is read before it is overwritten. On cycles, or
// where a donated argument may be overwritten that is still needed, a value is saved first.
#include "codegen/memory/plan_impl.h"
#include "ir/call.h"

/// The effect of one list's copies on a buffer.
typedef struct traffic {
  uint32_t read_count;  // copies that have yet to read it
  uint64_t read_bytes;  // of the largest of these reads
  uint32_t writer;      // the copy that overwrites it, + 1; 0: none
  bool is_saved;        // its contents are in `saved` for copies that have yet to read them
  uint32_t saved;
} traffic_t;

typedef struct mover {
  hlo_planner_t* planner;
  hlo_plan_moves_t* lists;
  uint32_t* result_buffers;    // by result
  uint32_t* argument_buffers;  // by argument; HLO_PLAN_NONE: no memory
  traffic_t* traffic;          // by buffer; zeros between lists
} mover_t;

static hlo_status_t add_move(mover_t* m, hlo_plan_moves_t* list, uint32_t from, uint32_t to,
                             uint64_t size_bytes) {
  if (from == to || from == HLO_PLAN_NONE || to == HLO_PLAN_NONE || !size_bytes) return hlo_ok();
  hlo_plan_move_t* room =
      hlo_arena_room(m->planner->arena, list->moves, list->count, &list->capacity, sizeof *room);
  if (!room) return hlo_arena_status(m->planner->arena);
  list->moves = room;
  list->moves[list->count++] = (hlo_plan_move_t){from, to, size_bytes};
  return hlo_ok();
}

static uint64_t value_bytes(const mover_t* m, const hlo_value_t* value) {
  return m->planner->sizes[value->index];
}

// ---- ordering

typedef struct ordering {
  mover_t* mover;
  uint32_t position;  // of the node, for saved values
  const hlo_plan_moves_t* pending;
  hlo_plan_moves_t* ordered;
  uint32_t ready_count;
  uint32_t* ready;  // copies that overwrite nothing that has yet to be read
  bool* is_ready;   // by copy: it is in `ready`
} ordering_t;

static bool is_read_by_others(const ordering_t* o, uint32_t move, uint32_t buffer) {
  const traffic_t* traffic = &o->mover->traffic[buffer];
  bool reads = !traffic->is_saved && o->pending->moves[move].from == buffer;
  return traffic->read_count > (reads ? 1 : 0);
}

// Returns a buffer that other copies have yet to read and this one might overwrite: its target, or
// an argument whose memory that may be. HLO_PLAN_NONE: no obstacle.
static uint32_t find_obstacle(const ordering_t* o, uint32_t move) {
  const hlo_planner_t* planner = o->mover->planner;
  uint32_t to = o->pending->moves[move].to;
  if (is_read_by_others(o, move, to)) return to;
  if (planner->buffers[to].kind != HLO_ALLOCATION_RESULT) return HLO_PLAN_NONE;
  const uint32_t donor = planner->plan->donor_of[planner->buffers[to].index];
  if (donor == HLO_DONATED_NOWHERE) return HLO_PLAN_NONE;
  const uint32_t buffer = o->mover->argument_buffers[donor];
  return buffer != HLO_PLAN_NONE && is_read_by_others(o, move, buffer) ? buffer : HLO_PLAN_NONE;
}

static void try_move(ordering_t* o, uint32_t move) {
  if (o->is_ready[move] || find_obstacle(o, move) != HLO_PLAN_NONE) return;
  o->is_ready[move] = true;
  o->ready[o->ready_count++] = move;
}

static void try_writer(ordering_t* o, uint32_t buffer) {
  uint32_t writer = o->mover->traffic[buffer].writer;
  if (writer) try_move(o, writer - 1);
}

// Records that fewer copies have yet to read a buffer.
static void tell_writers(ordering_t* o, uint32_t buffer) {
  const hlo_planner_t* planner = o->mover->planner;
  try_writer(o, buffer);
  if (planner->buffers[buffer].kind != HLO_ALLOCATION_ARGUMENT) return;
  uint32_t result = planner->plan->donated_to[planner->buffers[buffer].index];
  if (result != HLO_DONATED_NOWHERE) try_writer(o, o->mover->result_buffers[result]);
}

static hlo_status_t emit_move(ordering_t* o, uint32_t move) {
  hlo_plan_move_t m = o->pending->moves[move];
  traffic_t* traffic = &o->mover->traffic[m.from];
  uint32_t from = traffic->is_saved ? traffic->saved : m.from;
  HLO_TRY(add_move(o->mover, o->ordered, from, m.to, m.size_bytes));
  if (traffic->is_saved) return hlo_ok();
  --traffic->read_count;
  tell_writers(o, m.from);
  return hlo_ok();
}

// Saves a buffer's contents for the copies that have yet to read it.
static hlo_status_t save_buffer(ordering_t* o, uint32_t buffer) {
  hlo_planner_t* planner = o->mover->planner;
  traffic_t* traffic = &o->mover->traffic[buffer];
  const hlo_plan_buffer_t from = planner->buffers[buffer];
  bool in_register = from.kind == HLO_ALLOCATION_REGISTER;
  uint32_t saved = hlo_planner_add_buffer(
      planner, in_register ? HLO_ALLOCATION_REGISTER : HLO_ALLOCATION_TEMPORARY, 0, traffic->read_bytes);
  hlo_plan_range_t range = {o->position - 1, o->position};  // not over values that have yet to be
                                                            // copied
  if (saved == HLO_PLAN_NONE || !hlo_planner_add_live_range(planner, saved, range, HLO_PLAN_NONE)) {
    return hlo_arena_status(planner->arena);
  }
  planner->buffers[saved].dtype = from.dtype;
  HLO_TRY(add_move(o->mover, o->ordered, buffer, saved, traffic->read_bytes));
  traffic->is_saved = true;
  traffic->saved = saved;
  traffic->read_count = 0;
  tell_writers(o, buffer);
  return hlo_ok();
}

static hlo_status_t clear_way(ordering_t* o, uint32_t move) {
  uint32_t buffer;
  while ((buffer = find_obstacle(o, move)) != HLO_PLAN_NONE) HLO_TRY(save_buffer(o, buffer));
  try_move(o, move);
  return hlo_ok();
}

static hlo_status_t emit_all(ordering_t* o) {
  uint32_t count = o->pending->count, first = 0;
  for (uint32_t i = 0; i < count; ++i) try_move(o, i);
  for (uint32_t done = 0; done < count;) {
    if (done < o->ready_count) {
      HLO_TRY(emit_move(o, o->ready[done++]));
    } else {
      while (o->is_ready[first]) ++first;
      HLO_TRY(clear_way(o, first));
    }
  }
  return hlo_ok();
}

// All sources are read before they are overwritten.
static hlo_status_t order_moves(mover_t* m, hlo_plan_moves_t* list, uint32_t position) {
  hlo_plan_moves_t pending = *list;
  *list = (hlo_plan_moves_t){.node = pending.node, .next = pending.next};
  ordering_t o = {.mover = m, .position = position, .pending = &pending, .ordered = list};
  o.ready = hlo_arena_array(m->planner->arena, pending.count, sizeof *o.ready);
  o.is_ready = hlo_arena_array(m->planner->arena, pending.count, sizeof *o.is_ready);
  HLO_TRY(hlo_arena_status(m->planner->arena));
  for (uint32_t i = 0; i < pending.count; ++i) {
    const hlo_plan_move_t* move = &pending.moves[i];
    traffic_t* from = &m->traffic[move->from];
    ++from->read_count;
    if (from->read_bytes < move->size_bytes) from->read_bytes = move->size_bytes;
    m->traffic[move->to].writer = i + 1;
  }
  HLO_TRY(emit_all(&o));
  for (uint32_t i = 0; i < pending.count; ++i) {
    m->traffic[pending.moves[i].from] = m->traffic[pending.moves[i].to] = (traffic_t){0};
  }
  return hlo_ok();
}

// ---- collecting copies

static hlo_status_t begin_list(mover_t* m, const hlo_node_t* node, hlo_plan_moves_t** out_list) {
  hlo_plan_moves_t* list = hlo_arena_alloc_zeroed(m->planner->arena, sizeof *list);
  if (!list) return hlo_arena_status(m->planner->arena);
  list->node = node;
  list->next = m->lists;
  m->lists = list;
  *out_list = list;
  return hlo_ok();
}

// Copies the values that a terminator hands over to `targets` (values, or the function's results).
static hlo_status_t move_ends(mover_t* m, const hlo_node_t* end,
                              const hlo_value_t* const* targets) {
  hlo_planner_t* planner = m->planner;
  hlo_plan_moves_t* list = NULL;
  HLO_TRY(begin_list(m, end, &list));
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(end, i);
    uint32_t to = targets ? hlo_planner_buffer(planner, targets[i]) : m->result_buffers[i];
    HLO_TRY(add_move(m, list, hlo_planner_buffer(planner, value), to, value_bytes(m, value)));
  }
  return order_moves(m, list, planner->ends[end->index]);
}

static hlo_status_t move_control(mover_t* m, const hlo_node_t* node) {
  hlo_planner_t* planner = m->planner;
  bool is_loop = node->op == HLO_OP_while;
  const hlo_value_t** targets =
      hlo_arena_array(planner->arena, node->result_count, sizeof *targets);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < node->result_count; ++i) targets[i] = &node->results[i];
  for (uint32_t k = is_loop ? 1 : 0; k < node->region_count; ++k) {
    HLO_TRY(move_ends(m, hlo_region_terminator(node->regions[k]), targets));
  }
  if (!is_loop) return hlo_ok();
  hlo_plan_moves_t* list = NULL;
  HLO_TRY(begin_list(m, node, &list));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    HLO_TRY(add_move(m, list, hlo_planner_buffer(planner, value),
                     hlo_planner_buffer(planner, node->regions[0]->args[i]),
                     value_bytes(m, value)));
  }
  return order_moves(m, list, planner->begins[node->index]);
}

// Copies an operand that a node changes to the allocation of the result.
static hlo_status_t move_site(mover_t* m, const hlo_node_t* node) {
  hlo_planner_t* planner = m->planner;
  hlo_plan_moves_t* list = NULL;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (!hlo_call_may_share(node, r, i)) continue;
      if (!list) HLO_TRY(begin_list(m, node, &list));
      const hlo_value_t* value = hlo_node_operand(node, i);
      HLO_TRY(add_move(m, list, hlo_planner_buffer(planner, value),
                       hlo_planner_buffer(planner, &node->results[r]), value_bytes(m, value)));
    }
  }
  return hlo_ok();
}

// Copies the operand of a slice update to the allocation of the output.
static hlo_status_t move_fusion(mover_t* m, const hlo_step_t* step) {
  hlo_planner_t* planner = m->planner;
  const hlo_fusion_t* fusion = step->fusion;
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  hlo_plan_moves_t* list = NULL;
  for (uint32_t o = 0; kernel && o < fusion->output_count; ++o) {
    int32_t updated = hlo_kernel_updates(kernel, o);
    if (updated < 0) continue;
    if (!list) HLO_TRY(begin_list(m, step->node, &list));
    const hlo_value_t* value = fusion->inputs[updated];
    HLO_TRY(add_move(m, list, hlo_planner_buffer(planner, value),
                     hlo_planner_buffer(planner, fusion->outputs[o]), value_bytes(m, value)));
  }
  return hlo_ok();
}

static hlo_status_t find_buffers(mover_t* m) {
  hlo_planner_t* planner = m->planner;
  const hlo_plan_t* plan = planner->plan;
  hlo_arena_t* arena = planner->arena;
  m->result_buffers = hlo_arena_array(arena, plan->result_count, sizeof *m->result_buffers);
  m->argument_buffers = hlo_arena_array(arena, plan->argument_count, sizeof *m->argument_buffers);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t a = 0; a < plan->argument_count; ++a) {
    m->argument_buffers[a] = hlo_planner_buffer(planner, plan->func->body->args[a]);
  }
  for (uint32_t r = 0; r < plan->result_count; ++r) m->result_buffers[r] = HLO_PLAN_NONE;
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->kind == HLO_ALLOCATION_RESULT && buffer->joined == b)
      m->result_buffers[buffer->index] = b;
  }
  for (uint32_t r = 0; r < plan->result_count; ++r) {
    if (m->result_buffers[r] != HLO_PLAN_NONE) continue;
    m->result_buffers[r] = hlo_planner_add_buffer(planner, HLO_ALLOCATION_RESULT, r, 0);
  }
  m->traffic = hlo_arena_array(arena, planner->buffer_count, sizeof *m->traffic);
  return hlo_arena_status(arena);
}

hlo_status_t hlo_planner_move(hlo_planner_t* planner, const hlo_plan_moves_t** out_lists) {
  const hlo_plan_t* plan = planner->plan;
  mover_t m = {.planner = planner};
  HLO_TRY(find_buffers(&m));
  for (uint32_t s = 0; s < plan->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &plan->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_step_t* step = &sequence->steps[i];
      if (step->kind == HLO_STEP_CONTROL) HLO_TRY(move_control(&m, step->node));
      if (step->kind == HLO_STEP_CALL) HLO_TRY(move_site(&m, step->node));
      if (step->kind == HLO_STEP_FUSION) HLO_TRY(move_fusion(&m, step));
    }
  }
  HLO_TRY(move_ends(&m, hlo_region_terminator(plan->func->body), NULL));
  *out_lists = m.lists;
  return hlo_ok();
}
