// SPDX-License-Identifier: Apache-2.0
// Last phase of planning: offsets of temporaries, inside results that are not written yet or in the
// arena, and the allocation of every value.
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/tuning.h"
#include "codegen/memory/plan_impl.h"
#include "ir/call.h"

// ---- the copies that remain: values that a terminator hands over, and operands that a node or
// kernel changes, moved to the allocation of the result. Copies of a terminator or loop are
// parallel: they are ordered so that everything is read before it is overwritten. On cycles, or
// where a donated argument may be overwritten that is still needed, a value is saved first

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
  if (!HLO_ARENA_GROW(m->planner->arena, list->moves, list->count, list->capacity))
    return hlo_arena_status(m->planner->arena);
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
      planner, in_register ? HLO_ALLOCATION_REGISTER : HLO_ALLOCATION_TEMPORARY, 0,
      traffic->read_bytes);
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

// Copies operands of a collective to its memory.
static hlo_status_t move_staged(mover_t* m, const hlo_node_t* node, hlo_plan_moves_t** list) {
  hlo_planner_t* planner = m->planner;
  const uint32_t* staged = planner->staged ? planner->staged[node->index] : NULL;
  for (uint32_t i = 0; staged && i < node->operand_count; ++i) {
    if (staged[i] == HLO_PLAN_NONE) continue;
    if (!*list) HLO_TRY(begin_list(m, node, list));
    const hlo_value_t* value = hlo_node_operand(node, i);
    HLO_TRY(
        add_move(m, *list, hlo_planner_buffer(planner, value), staged[i], value_bytes(m, value)));
  }
  return hlo_ok();
}

// Copies an operand that a node changes to the allocation of the result.
static hlo_status_t move_site(mover_t* m, const hlo_node_t* node) {
  hlo_planner_t* planner = m->planner;
  hlo_plan_moves_t* list = NULL;
  HLO_TRY(move_staged(m, node, &list));
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

// Lists the remaining copies in an order that loses nothing; results without a buffer get one.
static hlo_status_t list_moves(hlo_planner_t* planner, const hlo_plan_moves_t** out_lists) {
  const hlo_plan_t* plan = planner->plan;
  mover_t m = {.planner = planner};
  HLO_TRY(find_buffers(&m));
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    if (step->kind == HLO_STEP_CONTROL) HLO_TRY(move_control(&m, step->node));
    if (step->kind == HLO_STEP_CALL) HLO_TRY(move_site(&m, step->node));
    if (step->kind == HLO_STEP_FUSION) HLO_TRY(move_fusion(&m, step));
  }
  HLO_TRY(move_ends(&m, hlo_region_terminator(plan->func->body), NULL));
  *out_lists = m.lists;
  return hlo_ok();
}

enum {
  ALIGNMENT = 64,  // of blocks
  MAX_HOSTS = 16,  // the largest results, in whose memory gaps are searched
  // Staggered blocks begin some part of a step from the arena's beginning: the arena is a block of
  // the heap, whose blocks begin whole steps apart.
  STAGGERED_START = HLO_BLOCK_STEP_BYTES * 2 / 5,
};

// ---- the arena

typedef struct block {
  uint32_t buffer;
  hlo_plan_range_t range;
  uint64_t size_bytes, offset_bytes;
} block_t;

/// Memory that blocks share: the arena, or a result before its value is written.
typedef struct space {
  uint64_t capacity_bytes, total_bytes;
  bool is_staggered;  // large blocks begin at different offsets of a page
  uint32_t count;
  block_t** placed;  // by offset
} space_t;

static int compare_blocks(const void* a, const void* b) {
  const block_t *x = a, *y = b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

// From the beginning of a buffer's first live range to the end of its last one.
static hlo_plan_range_t range_of(const hlo_plan_buffer_t* buffer) {
  hlo_plan_range_t all = {UINT32_MAX, 0};
  for (uint32_t i = 0; i < buffer->live_range_count; ++i) {
    const hlo_plan_range_t* range = &buffer->live_ranges[i].range;
    if (range->begin < all.begin) all.begin = range->begin;
    if (range->end > all.end) all.end = range->end;
  }
  return all;
}

static hlo_status_t collect_blocks(const hlo_planner_t* planner, uint32_t* out_count,
                                   block_t** out_blocks) {
  block_t* blocks = hlo_arena_array(planner->arena, planner->buffer_count, sizeof *blocks);
  HLO_TRY(hlo_arena_status(planner->arena));
  uint32_t count = 0;
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->joined != b || buffer->kind != HLO_ALLOCATION_TEMPORARY || !buffer->size_bytes)
      continue;
    size_t padded;
    if (!hlo_size_add(buffer->size_bytes, ALIGNMENT - 1, &padded)) {
      return hlo_status_out_of_memory(buffer->size_bytes);
    }
    blocks[count++] = (block_t){
        .buffer = b, .range = range_of(buffer), .size_bytes = padded & ~(size_t)(ALIGNMENT - 1)};
  }
  *out_count = count;
  *out_blocks = blocks;
  return hlo_ok();
}

// Inserts a placed block.
static void insert_block(space_t* space, block_t* block) {
  uint32_t low = 0, high = space->count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (space->placed[middle]->offset_bytes <= block->offset_bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&space->placed[low + 1], &space->placed[low],
          (space->count - low) * sizeof *space->placed);
  space->placed[low] = block;
  ++space->count;
}

static bool is_staggered(const space_t* space, const block_t* block) {
  return space->is_staggered && block->size_bytes >= HLO_BLOCK_STAGGERED_BYTES;
}

// Returns the start of a staggered block after another one: one step further within a page.
static uint64_t staggered_end(const block_t* block) {
  const uint64_t gap = HLO_BLOCK_STEP_BYTES - block->size_bytes;  // modulo a page
  return block->offset_bytes + block->size_bytes + gap % HLO_BLOCK_ALIAS_BYTES;
}

// Places a block into the smallest gap between overlapping blocks, or after them; false: it is too
// large. A staggered block keeps its distance if the gap allows.
static bool place_block(space_t* space, block_t* block) {
  const bool is_apart = is_staggered(space, block);
  uint64_t top = 0, apart = is_apart ? STAGGERED_START : 0;
  uint64_t best = UINT64_MAX, best_gap = UINT64_MAX;
  for (uint32_t i = 0; i < space->count; ++i) {
    const block_t* other = space->placed[i];
    if (other->range.end < block->range.begin || block->range.end < other->range.begin) continue;
    if (other->offset_bytes > top) {
      uint64_t gap = other->offset_bytes - top;
      if (gap >= block->size_bytes && gap < best_gap) {
        best_gap = gap;
        const bool has_room =
            apart < other->offset_bytes && other->offset_bytes - apart >= block->size_bytes;
        best = has_room ? apart : top;
      }
    }
    uint64_t end = other->offset_bytes + other->size_bytes;
    if (end > top) top = end;
    if (is_apart && is_staggered(space, other)) end = staggered_end(other);
    if (end > apart) apart = end;
  }
  const uint64_t offset = best != UINT64_MAX ? best : apart;
  size_t end;
  if (!hlo_size_add(offset, block->size_bytes, &end) || end > space->capacity_bytes) return false;
  block->offset_bytes = offset;
  if (end > space->total_bytes) space->total_bytes = end;
  insert_block(space, block);
  return true;
}

// ---- results' memory

static bool is_host(const hlo_plan_buffer_t* buffer, uint32_t number) {
  return buffer->kind == HLO_ALLOCATION_RESULT && buffer->joined == number &&
         buffer->live_range_count && buffer->size_bytes >= HLO_TUNING_PLAN_HOSTED_MIN_BYTES;
}

// Returns the largest results that steps write, in order of size.
static uint32_t find_hosts(const hlo_planner_t* planner, uint32_t* hosts) {
  uint32_t count = 0;
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    const hlo_plan_buffer_t* buffers = planner->buffers;
    if (!is_host(&buffers[b], b)) continue;
    uint32_t at = count < MAX_HOSTS ? count++ : MAX_HOSTS;
    for (; at > 0 && buffers[hosts[at - 1]].size_bytes < buffers[b].size_bytes; --at) {
      if (at < MAX_HOSTS) hosts[at] = hosts[at - 1];
    }
    if (at < MAX_HOSTS) hosts[at] = b;
  }
  return count;
}

// Marks when a result's memory is occupied: by its value, or by a donated argument that it may
// belong to.
static hlo_status_t occupy(const hlo_planner_t* planner, uint32_t host, space_t* space) {
  enum { OWN = 2 };
  const hlo_plan_t* plan = planner->plan;
  const hlo_plan_buffer_t* buffer = &planner->buffers[host];
  const uint32_t donor = plan->donor_of[buffer->index];
  block_t* own = hlo_arena_array(planner->arena, OWN, sizeof *own);
  space->placed =
      hlo_arena_array(planner->arena, OWN + HLO_TUNING_PLAN_FITTED_BLOCKS, sizeof(*space->placed));
  HLO_TRY(hlo_arena_status(planner->arena));
  space->capacity_bytes = buffer->size_bytes & ~(uint64_t)(ALIGNMENT - 1);
  own[0] = (block_t){.range = range_of(buffer), .size_bytes = buffer->size_bytes};
  insert_block(space, &own[0]);
  if (donor != HLO_DONATED_NOWHERE) {
    uint32_t root = hlo_planner_root(planner, plan->func->body->args[donor]);
    own[1] = (block_t){.range = planner->ranges[root], .size_bytes = buffer->size_bytes};
    insert_block(space, &own[1]);
  }
  return hlo_ok();
}

// Orders equal blocks by length, longest first, then latest first: next to the result's value,
// leaving no unusable gap.
static int compare_lengths(const void* a, const void* b) {
  const block_t *x = *(block_t*const*)a, *y = *(block_t*const*)b;
  const uint32_t x_length = x->range.end - x->range.begin, y_length = y->range.end - y->range.begin;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x_length != y_length) return x_length > y_length ? -1 : 1;
  if (x->range.begin != y->range.begin) return x->range.begin > y->range.begin ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

// Moves blocks that fit into results before these are written out of the arena.
static hlo_status_t place_in_results(hlo_planner_t* planner, block_t* blocks, uint32_t* count) {
  uint32_t hosts[MAX_HOSTS];
  space_t spaces[MAX_HOSTS] = {0};
  const uint32_t host_count = find_hosts(planner, hosts);
  uint32_t tried = 0, left = 0;
  while (tried < *count && tried < HLO_TUNING_PLAN_FITTED_BLOCKS &&
         blocks[tried].size_bytes >= HLO_TUNING_PLAN_HOSTED_MIN_BYTES) {
    ++tried;
  }
  block_t** order = hlo_arena_array(planner->arena, (size_t)tried + 1, sizeof(*order));
  block_t* copies = hlo_arena_array(planner->arena, (size_t)tried + 1, sizeof *copies);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t h = 0; h < host_count; ++h) HLO_TRY(occupy(planner, hosts[h], &spaces[h]));
  memcpy(copies, blocks, tried * sizeof *copies);
  for (uint32_t i = 0; i < tried; ++i) order[i] = &copies[i];
  qsort(order, tried, sizeof(*order), compare_lengths);
  for (uint32_t i = 0; i < tried; ++i) {
    uint32_t h = 0;
    while (h < host_count && !place_block(&spaces[h], order[i])) ++h;
    if (h == host_count) continue;
    hlo_plan_buffer_t* buffer = &planner->buffers[order[i]->buffer];
    buffer->kind = HLO_ALLOCATION_RESULT;
    buffer->index = planner->buffers[hosts[h]].index;
    buffer->offset_bytes = order[i]->offset_bytes;
  }
  for (uint32_t i = 0; i < *count; ++i) {
    if (planner->buffers[blocks[i].buffer].kind == HLO_ALLOCATION_TEMPORARY)
      blocks[left++] = blocks[i];
  }
  *count = left;
  return hlo_ok();
}

// ---- checked programs and many blocks

// Records what a checked program has to know of the arena.
static hlo_status_t make_memory_check(hlo_planner_t* planner, const block_t* blocks,
                                      uint32_t count) {
  hlo_plan_t* plan = planner->plan;
  hlo_memory_check_t* memory_check = hlo_arena_alloc_zeroed(planner->arena, sizeof *memory_check);
  hlo_memory_check_block_t* items =
      hlo_arena_array(planner->arena, (size_t)count + 1, sizeof *items);
  size_t live_range_count = 1;
  for (uint32_t i = 0; i < count; ++i)
    live_range_count += planner->buffers[blocks[i].buffer].live_range_count;
  hlo_memory_check_range_t* live_ranges =
      hlo_arena_array(planner->arena, live_range_count, sizeof *live_ranges);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[blocks[i].buffer];
    items[i] =
        (hlo_memory_check_block_t){blocks[i].offset_bytes, buffer->size_bytes, blocks[i].size_bytes,
                                   blocks[i].range.begin, blocks[i].range.end};
    for (uint32_t s = 0; s < buffer->live_range_count; ++s) {
      live_ranges[memory_check->live_range_count++] =
          (hlo_memory_check_range_t){i, buffer->live_ranges[s].range.begin};
    }
  }
  memory_check->block_count = count;
  memory_check->blocks = items;
  memory_check->live_ranges = live_ranges;
  memory_check->filled_bytes = plan->temporary_bytes;
  plan->temporary_bytes = hlo_memory_check_temporary_bytes(memory_check);
  plan->memory_check = memory_check;
  plan->begins = planner->begins;
  plan->ends = planner->ends;
  return hlo_ok();
}

// Orders blocks of a kind by size, then by time.
static int compare_times(const void* a, const void* b) {
  const block_t *x = *(block_t*const*)a, *y = *(block_t*const*)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x->range.begin != y->range.begin) return x->range.begin < y->range.begin ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int compare_ends(const void* a, const void* b) {
  const block_t *x = *(block_t*const*)a, *y = *(block_t*const*)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x->range.end != y->range.end) return x->range.end < y->range.end ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

// Places many blocks in n log n: blocks of one size share as many offsets as are live at once;
// other sizes get other offsets.
static hlo_status_t place_by_size(hlo_planner_t* planner, block_t* blocks, uint32_t count,
                                  uint64_t* total_bytes) {
  block_t** begins = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof(*begins));
  block_t** ends = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof(*ends));
  uint64_t* spare = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof *spare);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < count; ++i) begins[i] = ends[i] = &blocks[i];
  qsort(begins, count, sizeof(*begins), compare_times);
  qsort(ends, count, sizeof(*ends), compare_ends);
  uint32_t spare_count = 0, ended = 0;
  for (uint32_t i = 0; i < count; ++i) {
    block_t* block = begins[i];
    if (i > 0 && begins[i - 1]->size_bytes != block->size_bytes) spare_count = 0, ended = i;
    for (; ends[ended]->range.end < block->range.begin; ++ended) {
      spare[spare_count++] = ends[ended]->offset_bytes;
    }
    if (spare_count) {
      block->offset_bytes = spare[--spare_count];
      continue;
    }
    size_t end;
    block->offset_bytes = *total_bytes;
    if (!hlo_size_add(*total_bytes, block->size_bytes, &end)) {
      return hlo_status_out_of_memory(block->size_bytes);
    }
    *total_bytes = end;
  }
  return hlo_ok();
}

static hlo_status_t allocation_fitted(hlo_planner_t* planner, block_t* blocks, uint32_t count,
                                      bool is_staggered, uint64_t* out_total_bytes) {
  space_t arena = {.capacity_bytes = SIZE_MAX - HLO_BLOCK_ALIAS_BYTES,
                   .is_staggered = is_staggered};
  arena.placed = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof(*arena.placed));
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < count; ++i) {
    if (!place_block(&arena, &blocks[i])) return hlo_status_out_of_memory(blocks[i].size_bytes);
  }
  *out_total_bytes = arena.total_bytes;
  return hlo_ok();
}

// Staggers large blocks unless that grows the arena noticeably.
static hlo_status_t place_largest(hlo_planner_t* planner, block_t* blocks, uint32_t count,
                                  uint64_t* out_total_bytes) {
  HLO_TRY(allocation_fitted(planner, blocks, count, false, out_total_bytes));
  if (count < 2 || blocks[1].size_bytes < HLO_BLOCK_STAGGERED_BYTES) return hlo_ok();
  block_t* copies = hlo_arena_array(planner->arena, count, sizeof *copies);
  HLO_TRY(hlo_arena_status(planner->arena));
  memcpy(copies, blocks, count * sizeof *copies);
  uint64_t total_bytes;
  HLO_TRY(allocation_fitted(planner, copies, count, true, &total_bytes));
  if (total_bytes > *out_total_bytes + *out_total_bytes / HLO_TUNING_PLAN_STAGGER_GROWTH)
    return hlo_ok();
  memcpy(blocks, copies, count * sizeof *copies);
  *out_total_bytes = total_bytes;
  return hlo_ok();
}

// Searches gaps for the largest blocks; the others are placed by size: all blocks, or only the
// remainder, whichever takes less memory.
static hlo_status_t place_blocks(hlo_planner_t* planner, block_t* blocks, uint32_t count) {
  uint64_t* total = &planner->plan->temporary_bytes;
  uint32_t fitted = count < HLO_TUNING_PLAN_FITTED_BLOCKS ? count : HLO_TUNING_PLAN_FITTED_BLOCKS;
  uint64_t* offsets = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof *offsets);
  HLO_TRY(hlo_arena_status(planner->arena));
  HLO_TRY(place_largest(planner, blocks, fitted, total));
  if (fitted == count) return hlo_ok();
  HLO_TRY(place_by_size(planner, blocks + fitted, count - fitted, total));
  for (uint32_t i = 0; i < count; ++i) offsets[i] = blocks[i].offset_bytes;
  uint64_t by_size = 0;
  HLO_TRY(place_by_size(planner, blocks, count, &by_size));
  if (by_size < *total) {
    *total = by_size;
  } else {
    for (uint32_t i = 0; i < count; ++i) blocks[i].offset_bytes = offsets[i];
  }
  return hlo_ok();
}

// Removes the blocks of collectives from a list; returns their number.
static uint32_t take_collective(const hlo_planner_t* planner, block_t* blocks, uint32_t* count,
                                block_t** out_collective) {
  if (!planner->staged) return 0;  // no collective wants any
  block_t* collective = hlo_arena_array(planner->arena, (size_t)*count + 1, sizeof *collective);
  uint32_t others = 0, taken = 0;
  for (uint32_t i = 0; collective && i < *count; ++i) {
    const bool is_taken = planner->buffers[blocks[i].buffer].is_collective;
    *(is_taken ? &collective[taken++] : &blocks[others++]) = blocks[i];
  }
  *count = others;
  *out_collective = collective;
  return taken;
}

// Places the blocks of collectives after all others.
static hlo_status_t place_collective(hlo_planner_t* planner, block_t* blocks, uint32_t count) {
  hlo_plan_t* plan = planner->plan;
  const uint64_t begin = plan->collective_begin = plan->temporary_bytes;
  size_t end;
  plan->temporary_bytes = 0;
  HLO_TRY(place_blocks(planner, blocks, count));
  plan->collective_bytes = plan->temporary_bytes;
  if (!hlo_size_add(begin, plan->collective_bytes, &end)) {
    return hlo_status_out_of_memory(plan->collective_bytes);
  }
  plan->temporary_bytes = end;
  for (uint32_t i = 0; i < count; ++i) blocks[i].offset_bytes += begin;
  return hlo_ok();
}

static hlo_status_t lay_out(hlo_planner_t* planner) {
  uint32_t count = 0;
  block_t* blocks = NULL;
  HLO_TRY(collect_blocks(planner, &count, &blocks));
  if (count > 1) qsort(blocks, count, sizeof *blocks, compare_blocks);
  block_t* collective = NULL;
  const uint32_t collective_count = take_collective(planner, blocks, &count, &collective);
  HLO_TRY(hlo_arena_status(planner->arena));
  HLO_TRY(place_in_results(planner, blocks, &count));
  if (collective_count) memcpy(blocks + count, collective, collective_count * sizeof *blocks);
  for (uint32_t i = 0; i < count + collective_count && planner->plan->is_checked; ++i) {
    blocks[i].size_bytes += HLO_MEMORY_CHECK_ZONE_BYTES;
  }
  HLO_TRY(place_blocks(planner, blocks, count));
  if (collective_count) HLO_TRY(place_collective(planner, blocks + count, collective_count));
  count += collective_count;
  for (uint32_t i = 0; i < count; ++i) {
    planner->buffers[blocks[i].buffer].offset_bytes = blocks[i].offset_bytes;
  }
  return planner->plan->is_checked ? make_memory_check(planner, blocks, count) : hlo_ok();
}

// ---- allocations

static hlo_status_t number_registers(hlo_planner_t* planner) {
  hlo_plan_t* plan = planner->plan;
  plan->registers = hlo_arena_array(planner->arena, planner->buffer_count, sizeof *plan->registers);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->kind != HLO_ALLOCATION_REGISTER || buffer->joined != b) continue;
    buffer->index = plan->register_count;
    plan->registers[plan->register_count++] = (hlo_plan_register_t){
        buffer->dtype, buffer->size_bytes > hlo_dtype_size_bytes(buffer->dtype)};
  }
  return hlo_ok();
}

static hlo_allocation_t buffer_allocation(const hlo_planner_t* planner, uint32_t buffer) {
  const hlo_plan_buffer_t* b = &planner->buffers[buffer];
  return (hlo_allocation_t){b->kind, b->index, b->offset_bytes};
}

static void give_places(const hlo_planner_t* planner) {
  for (uint32_t i = 0; i < planner->module->value_count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value) continue;
    uint32_t buffer = hlo_planner_buffer(planner, value);
    if (buffer != HLO_PLAN_NONE) planner->plan->allocations[i] = buffer_allocation(planner, buffer);
  }
  for (uint32_t i = 0; i < planner->plan->schedule->fusion_count; ++i) {
    uint32_t buffer = planner->scratch_buffers[i];
    if (buffer != HLO_PLAN_NONE) planner->plan->scratch[i] = buffer_allocation(planner, buffer);
  }
}

// Says where calls find staged operands.
static hlo_status_t give_staged(const hlo_planner_t* planner) {
  hlo_plan_t* plan = planner->plan;
  if (!planner->staged) return hlo_ok();
  plan->staged = hlo_arena_array(planner->arena, planner->module->node_count, sizeof *plan->staged);
  HLO_TRY(hlo_arena_status(planner->arena));
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    const uint32_t* staged = planner->staged[step->node->index];
    if (!staged) continue;
    const uint32_t count = step->node->operand_count;
    hlo_allocation_t* list = hlo_arena_array(planner->arena, count, sizeof *list);
    HLO_TRY(hlo_arena_status(planner->arena));
    for (uint32_t i = 0; i < count; ++i) {
      if (staged[i] != HLO_PLAN_NONE) list[i] = buffer_allocation(planner, staged[i]);
    }
    plan->staged[step->node->index] = list;
  }
  return hlo_ok();
}

static hlo_status_t give_copies(const hlo_planner_t* planner, const hlo_plan_moves_t* lists) {
  for (const hlo_plan_moves_t* list = lists; list; list = list->next) {
    hlo_copy_list_t* copies = &planner->plan->copies[list->node->index];
    copies->items = hlo_arena_array(planner->arena, list->count, sizeof *copies->items);
    HLO_TRY(hlo_arena_status(planner->arena));
    for (uint32_t i = 0; i < list->count; ++i) {
      const hlo_plan_move_t* move = &list->moves[i];
      copies->items[i] = (hlo_copy_t){buffer_allocation(planner, move->from),
                                      buffer_allocation(planner, move->to), move->size_bytes};
    }
    copies->count = list->count;
  }
  return hlo_ok();
}

static void mark_read(hlo_plan_t* plan, const hlo_value_t* value) {
  hlo_allocation_t allocation = hlo_plan_allocation(plan, value);
  if (allocation.kind == HLO_ALLOCATION_CONSTANT) plan->constants[allocation.index].is_read = true;
}

static hlo_status_t mark_step(const hlo_planner_t* planner, const hlo_step_t* step) {
  hlo_plan_t* plan = planner->plan;
  const hlo_node_t* node = step->node;
  if (step->kind == HLO_STEP_FUSION) {
    for (uint32_t i = 0; i < step->fusion->input_count; ++i) {
      mark_read(plan, step->fusion->inputs[i]);
    }
    return hlo_ok();
  }
  if (step->kind == HLO_STEP_VIEW || node->op == HLO_OP_while) return hlo_ok();
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_allocation_t allocation = hlo_plan_operand_allocation(plan, node, i);
    if (allocation.kind == HLO_ALLOCATION_CONSTANT)
      plan->constants[allocation.index].is_read = true;
  }
  if (step->kind == HLO_STEP_CONTROL) return hlo_ok();
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, planner->arena, &count, &captures));
  for (uint32_t i = 0; i < count; ++i) mark_read(plan, captures[i]);
  return hlo_ok();
}

static hlo_status_t list_constants(const hlo_planner_t* planner) {
  hlo_plan_t* plan = planner->plan;
  plan->constants = hlo_arena_array(planner->arena, plan->constant_count, sizeof *plan->constants);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < planner->module->value_count; ++i) {
    uint32_t buffer = planner->buffer_of[i];
    if (buffer == HLO_PLAN_NONE || planner->buffers[buffer].kind != HLO_ALLOCATION_CONSTANT)
      continue;
    plan->constants[planner->buffers[buffer].index].value = planner->values[i];
  }
  for (uint32_t s = 0; s < plan->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &plan->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      HLO_TRY(mark_step(planner, &sequence->steps[i]));
    }
    // The predicate of a loop is read from memory.
    const hlo_node_t* parent = sequence->region->parent;
    if (parent && parent->op == HLO_OP_while && sequence->region == parent->regions[0]) {
      mark_read(plan, hlo_node_operand(hlo_region_terminator(sequence->region), 0));
    }
  }
  return hlo_ok();
}

hlo_allocation_t hlo_plan_operand_allocation(const hlo_plan_t* plan, const hlo_node_t* node,
                                             uint32_t i) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (hlo_call_may_share(node, r, i)) return hlo_plan_allocation(plan, &node->results[r]);
  }
  const hlo_allocation_t* staged = plan->staged ? plan->staged[node->index] : NULL;
  if (staged && staged[i].kind != HLO_ALLOCATION_NONE) return staged[i];
  return hlo_plan_allocation(plan, hlo_node_operand(node, i));
}

hlo_status_t hlo_planner_finish(hlo_planner_t* planner) {
  const hlo_plan_moves_t* moves;
  HLO_TRY(list_moves(planner, &moves));
  HLO_TRY(lay_out(planner));
  HLO_TRY(number_registers(planner));
  give_places(planner);
  HLO_TRY(give_staged(planner));
  HLO_TRY(give_copies(planner, moves));
  return list_constants(planner);
}
