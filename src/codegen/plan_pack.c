// SPDX-License-Identifier: Apache-2.0
// Last part of planning: the copies that are left, in an order that loses nothing, and the arena.
#include <stdlib.h>
#include <string.h>

#include "codegen/plan_impl.h"
#include "interp/node_call.h"

enum {
  ALIGNMENT = 64,        // of blocks
  FITTED_BLOCKS = 1024,  // the largest ones, for which gaps are looked for
};

// ---- copies

typedef struct move {
  uint32_t from, to;  // buffers
  uint64_t size_bytes;
} move_t;

// The moves at one node, before places are known.
typedef struct move_list {
  const hlo_node_t* node;
  uint32_t count, capacity;
  move_t* moves;
  struct move_list* next;
} move_list_t;

typedef struct finish {
  hlo_planner_t* planner;
  move_list_t* lists;
  uint32_t* result_buffers;  // by result; HLO_PLAN_NONE
} finish_t;

static hlo_status_t add_move(finish_t* finish, move_list_t* list, uint32_t from, uint32_t to,
                             uint64_t size_bytes) {
  if (from == to || from == HLO_PLAN_NONE || to == HLO_PLAN_NONE || !size_bytes) return hlo_ok();
  move_t* room =
      hlo_arena_room(finish->planner->arena, list->moves, list->count, &list->capacity,
                     sizeof *room);
  if (!room) return hlo_arena_status(finish->planner->arena);
  list->moves = room;
  list->moves[list->count++] = (move_t){from, to, size_bytes};
  return hlo_ok();
}

static uint64_t value_bytes(const finish_t* finish, const hlo_value_t* value) {
  return finish->planner->sizes[value->index];
}

// Whether two buffers may be the same memory when running.
static bool may_be(const hlo_planner_t* planner, uint32_t x, uint32_t y) {
  if (x == y) return true;
  const hlo_plan_buffer_t *a = &planner->buffers[x], *b = &planner->buffers[y];
  return a->kind == HLO_PLACE_ARGUMENT && b->kind == HLO_PLACE_RESULT &&
         planner->may_donate[a->index * planner->plan->result_count + b->index];
}

static bool is_read_by_others(const hlo_planner_t* planner, const move_list_t* pending,
                              uint32_t i) {
  for (uint32_t k = 0; k < pending->count; ++k) {
    if (k != i && may_be(planner, pending->moves[k].from, pending->moves[i].to)) return true;
  }
  return false;
}

// Saves what the first move would overwrite, for those that read it later.
static hlo_status_t break_cycle(finish_t* finish, move_list_t* pending, move_list_t* ordered,
                                uint32_t position) {
  hlo_planner_t* planner = finish->planner;
  uint32_t victim = HLO_PLAN_NONE;
  for (uint32_t k = 1; k < pending->count && victim == HLO_PLAN_NONE; ++k) {
    if (may_be(planner, pending->moves[k].from, pending->moves[0].to)) {
      victim = pending->moves[k].from;
    }
  }
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < pending->count; ++k) {
    const move_t* move = &pending->moves[k];
    if (move->from == victim && move->size_bytes > bytes) bytes = move->size_bytes;
  }
  const hlo_plan_buffer_t from = planner->buffers[victim];
  bool in_register = from.kind == HLO_PLACE_REGISTER;
  uint32_t saved = hlo_planner_add_buffer(
      planner, in_register ? HLO_PLACE_REGISTER : HLO_PLACE_TEMPORARY, 0, bytes);
  hlo_plan_range_t range = {position - 1, position};  // not over what is still to be moved
  if (saved == HLO_PLAN_NONE || !hlo_planner_add_stay(planner, saved, range, HLO_PLAN_NONE)) {
    return hlo_arena_status(planner->arena);
  }
  planner->buffers[saved].dtype = from.dtype;
  HLO_TRY(add_move(finish, ordered, victim, saved, bytes));
  for (uint32_t k = 0; k < pending->count; ++k) {
    if (pending->moves[k].from == victim) pending->moves[k].from = saved;
  }
  return hlo_ok();
}

// All sources are read before they are overwritten.
static hlo_status_t order_moves(finish_t* finish, move_list_t* list, uint32_t position) {
  move_list_t pending = *list;
  *list = (move_list_t){.node = pending.node, .next = pending.next};
  while (pending.count) {
    bool found = false;
    for (uint32_t i = 0; i < pending.count; ++i) {
      if (is_read_by_others(finish->planner, &pending, i)) continue;
      move_t move = pending.moves[i];
      HLO_TRY(add_move(finish, list, move.from, move.to, move.size_bytes));
      pending.moves[i--] = pending.moves[--pending.count];
      found = true;
    }
    if (!found) HLO_TRY(break_cycle(finish, &pending, list, position));
  }
  return hlo_ok();
}

static hlo_status_t begin_list(finish_t* finish, const hlo_node_t* node, move_list_t** out_list) {
  move_list_t* list = hlo_arena_alloc_zeroed(finish->planner->arena, sizeof *list);
  if (!list) return hlo_arena_status(finish->planner->arena);
  list->node = node;
  list->next = finish->lists;
  finish->lists = list;
  *out_list = list;
  return hlo_ok();
}

// What a terminator hands over goes where `targets` (values, or the function's results) are.
static hlo_status_t move_ends(finish_t* finish, const hlo_node_t* end,
                              const hlo_value_t* const* targets) {
  hlo_planner_t* planner = finish->planner;
  move_list_t* list = NULL;
  HLO_TRY(begin_list(finish, end, &list));
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(end, i);
    uint32_t to = targets ? hlo_planner_buffer(planner, targets[i]) : finish->result_buffers[i];
    HLO_TRY(
        add_move(finish, list, hlo_planner_buffer(planner, value), to, value_bytes(finish, value)));
  }
  return order_moves(finish, list, planner->ends[end->index]);
}

static hlo_status_t move_control(finish_t* finish, const hlo_node_t* node) {
  hlo_planner_t* planner = finish->planner;
  bool is_loop = node->op == HLO_OP_while;
  const hlo_value_t** targets =
      hlo_arena_array(planner->arena, node->result_count, sizeof *targets);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < node->result_count; ++i) targets[i] = &node->results[i];
  for (uint32_t k = is_loop ? 1 : 0; k < node->region_count; ++k) {
    HLO_TRY(move_ends(finish, hlo_region_terminator(node->regions[k]), targets));
  }
  if (!is_loop) return hlo_ok();
  move_list_t* list = NULL;
  HLO_TRY(begin_list(finish, node, &list));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(node, i);
    HLO_TRY(add_move(finish, list, hlo_planner_buffer(planner, value),
                     hlo_planner_buffer(planner, node->regions[0]->args[i]),
                     value_bytes(finish, value)));
  }
  return order_moves(finish, list, planner->begins[node->index]);
}

// What a node changes is first brought to where the result is.
static hlo_status_t move_site(finish_t* finish, const hlo_node_t* node) {
  hlo_planner_t* planner = finish->planner;
  move_list_t* list = NULL;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (!hlo_node_call_may_share(node, r, i)) continue;
      if (!list) HLO_TRY(begin_list(finish, node, &list));
      const hlo_value_t* value = hlo_node_operand(node, i);
      HLO_TRY(add_move(finish, list, hlo_planner_buffer(planner, value),
                       hlo_planner_buffer(planner, &node->results[r]), value_bytes(finish, value)));
    }
  }
  return hlo_ok();
}

// What a kernel updates a slice of is first brought to where the output is.
static hlo_status_t move_fusion(finish_t* finish, const hlo_step_t* step) {
  hlo_planner_t* planner = finish->planner;
  const hlo_fusion_t* fusion = step->fusion;
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  move_list_t* list = NULL;
  for (uint32_t o = 0; kernel && o < fusion->output_count; ++o) {
    int32_t updated = hlo_kernel_updates(kernel, o);
    if (updated < 0) continue;
    if (!list) HLO_TRY(begin_list(finish, step->node, &list));
    const hlo_value_t* value = fusion->inputs[updated];
    HLO_TRY(add_move(finish, list, hlo_planner_buffer(planner, value),
                     hlo_planner_buffer(planner, fusion->outputs[o]), value_bytes(finish, value)));
  }
  return hlo_ok();
}

static hlo_status_t find_results(finish_t* finish) {
  hlo_planner_t* planner = finish->planner;
  uint32_t count = planner->plan->result_count;
  finish->result_buffers = hlo_arena_array(planner->arena, count, sizeof *finish->result_buffers);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t r = 0; r < count; ++r) finish->result_buffers[r] = HLO_PLAN_NONE;
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->kind == HLO_PLACE_RESULT && buffer->joined == b) {
      finish->result_buffers[buffer->index] = b;
    }
  }
  for (uint32_t r = 0; r < count; ++r) {
    if (finish->result_buffers[r] != HLO_PLAN_NONE) continue;
    finish->result_buffers[r] = hlo_planner_add_buffer(planner, HLO_PLACE_RESULT, r, 0);
  }
  return hlo_arena_status(planner->arena);
}

static hlo_status_t list_moves(finish_t* finish) {
  const hlo_plan_t* plan = finish->planner->plan;
  HLO_TRY(find_results(finish));
  for (uint32_t s = 0; s < plan->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &plan->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_step_t* step = &sequence->steps[i];
      if (step->kind == HLO_STEP_CONTROL) HLO_TRY(move_control(finish, step->node));
      if (step->kind == HLO_STEP_SITE) HLO_TRY(move_site(finish, step->node));
      if (step->kind == HLO_STEP_FUSION) HLO_TRY(move_fusion(finish, step));
    }
  }
  return move_ends(finish, hlo_region_terminator(plan->func->body), NULL);
}

// ---- the arena

typedef struct block {
  uint32_t buffer;
  hlo_plan_range_t range;
  uint64_t size_bytes, offset_bytes;
} block_t;

static int compare_blocks(const void* a, const void* b) {
  const block_t *x = a, *y = b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static hlo_status_t collect_blocks(const hlo_planner_t* planner, uint32_t* out_count,
                                   block_t** out_blocks) {
  block_t* blocks = hlo_arena_array(planner->arena, planner->buffer_count, sizeof *blocks);
  HLO_TRY(hlo_arena_status(planner->arena));
  uint32_t count = 0;
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->joined != b || buffer->kind != HLO_PLACE_TEMPORARY || !buffer->size_bytes) continue;
    block_t block = {.buffer = b, .range = {UINT32_MAX, 0}};
    size_t padded;
    if (!hlo_size_add(buffer->size_bytes, ALIGNMENT - 1, &padded)) {
      return hlo_status_out_of_memory(buffer->size_bytes);
    }
    block.size_bytes = padded & ~(size_t)(ALIGNMENT - 1);
    if (planner->plan->is_checked) block.size_bytes += HLO_WATCH_ZONE_BYTES;
    for (uint32_t i = 0; i < buffer->stay_count; ++i) {
      const hlo_plan_range_t* range = &buffer->stays[i].range;
      if (range->begin < block.range.begin) block.range.begin = range->begin;
      if (range->end > block.range.end) block.range.end = range->end;
    }
    blocks[count++] = block;
  }
  *out_count = count;
  *out_blocks = blocks;
  return hlo_ok();
}

// Largest first, each into the smallest gap between those that it meets. `placed` stays sorted by
// offset.
static hlo_status_t place_block(block_t* block, block_t** placed, uint32_t count,
                                uint64_t* total_bytes) {
  uint64_t top = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
  for (uint32_t i = 0; i < count; ++i) {
    const block_t* other = placed[i];
    if (other->range.end < block->range.begin || block->range.end < other->range.begin) continue;
    if (other->offset_bytes > top) {
      uint64_t gap = other->offset_bytes - top;
      if (gap >= block->size_bytes && gap < best_gap) {
        best_gap = gap;
        best = top;
      }
    }
    uint64_t end = other->offset_bytes + other->size_bytes;
    if (end > top) top = end;
  }
  block->offset_bytes = best != UINT64_MAX ? best : top;
  size_t end;
  if (!hlo_size_add(block->offset_bytes, block->size_bytes, &end)) {
    return hlo_status_out_of_memory(block->size_bytes);
  }
  if (end > *total_bytes) *total_bytes = end;
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (placed[middle]->offset_bytes <= block->offset_bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&placed[low + 1], &placed[low], (count - low) * sizeof *placed);
  placed[low] = block;
  return hlo_ok();
}

// What a checked program has to know of the arena.
static hlo_status_t make_watch(hlo_planner_t* planner, const block_t* blocks, uint32_t count) {
  hlo_plan_t* plan = planner->plan;
  hlo_watch_t* watch = hlo_arena_alloc_zeroed(planner->arena, sizeof *watch);
  hlo_watch_block_t* items = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof *items);
  size_t stay_count = 1;
  for (uint32_t i = 0; i < count; ++i) stay_count += planner->buffers[blocks[i].buffer].stay_count;
  hlo_watch_stay_t* stays = hlo_arena_array(planner->arena, stay_count, sizeof *stays);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_plan_buffer_t* buffer = &planner->buffers[blocks[i].buffer];
    items[i] = (hlo_watch_block_t){blocks[i].offset_bytes, buffer->size_bytes, blocks[i].size_bytes,
                                   blocks[i].range.begin, blocks[i].range.end};
    for (uint32_t s = 0; s < buffer->stay_count; ++s) {
      stays[watch->stay_count++] = (hlo_watch_stay_t){i, buffer->stays[s].range.begin};
    }
  }
  watch->block_count = count;
  watch->blocks = items;
  watch->stays = stays;
  watch->filled_bytes = plan->temporary_bytes;
  plan->temporary_bytes = hlo_watch_temporary_bytes(watch);
  plan->watch = watch;
  plan->begins = planner->begins;
  plan->ends = planner->ends;
  return hlo_ok();
}

// Blocks of a kind, one after the other: equal sizes next to each other, in the order of time.
static int compare_times(const void* a, const void* b) {
  const block_t *x = *(block_t* const*)a, *y = *(block_t* const*)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x->range.begin != y->range.begin) return x->range.begin < y->range.begin ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int compare_ends(const void* a, const void* b) {
  const block_t *x = *(block_t* const*)a, *y = *(block_t* const*)b;
  if (x->size_bytes != y->size_bytes) return x->size_bytes > y->size_bytes ? -1 : 1;
  if (x->range.end != y->range.end) return x->range.end < y->range.end ? -1 : 1;
  return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

// Many blocks in n log n: those of one size take turns in as many places as there are at once;
// other sizes lie elsewhere.
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

// Gaps are looked for among the largest blocks; what is beyond is placed by size: all of them, or
// only what the largest leave over, whichever takes less.
static hlo_status_t place_blocks(hlo_planner_t* planner, block_t* blocks, uint32_t count) {
  uint64_t* total = &planner->plan->temporary_bytes;
  uint32_t fitted = count < FITTED_BLOCKS ? count : FITTED_BLOCKS;
  block_t** placed = hlo_arena_array(planner->arena, (size_t)fitted + 1, sizeof(*placed));
  uint64_t* offsets = hlo_arena_array(planner->arena, (size_t)count + 1, sizeof *offsets);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t i = 0; i < fitted; ++i) HLO_TRY(place_block(&blocks[i], placed, i, total));
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

static hlo_status_t lay_out(hlo_planner_t* planner) {
  uint32_t count = 0;
  block_t* blocks = NULL;
  HLO_TRY(collect_blocks(planner, &count, &blocks));
  if (count > 1) qsort(blocks, count, sizeof *blocks, compare_blocks);
  HLO_TRY(place_blocks(planner, blocks, count));
  for (uint32_t i = 0; i < count; ++i) {
    planner->buffers[blocks[i].buffer].offset_bytes = blocks[i].offset_bytes;
  }
  return planner->plan->is_checked ? make_watch(planner, blocks, count) : hlo_ok();
}

// ---- places

static hlo_status_t number_registers(hlo_planner_t* planner) {
  hlo_plan_t* plan = planner->plan;
  plan->registers = hlo_arena_array(planner->arena, planner->buffer_count, sizeof *plan->registers);
  HLO_TRY(hlo_arena_status(planner->arena));
  for (uint32_t b = 0; b < planner->buffer_count; ++b) {
    hlo_plan_buffer_t* buffer = &planner->buffers[b];
    if (buffer->kind != HLO_PLACE_REGISTER || buffer->joined != b) continue;
    buffer->index = plan->register_count;
    plan->registers[plan->register_count++] = (hlo_plan_register_t){
        buffer->dtype, buffer->size_bytes > hlo_dtype_size_bytes(buffer->dtype)};
  }
  return hlo_ok();
}

static hlo_place_t buffer_place(const hlo_planner_t* planner, uint32_t buffer) {
  const hlo_plan_buffer_t* b = &planner->buffers[buffer];
  return (hlo_place_t){b->kind, b->index, b->offset_bytes};
}

static void give_places(const hlo_planner_t* planner) {
  for (uint32_t i = 0; i < planner->module->value_count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value) continue;
    uint32_t buffer = hlo_planner_buffer(planner, value);
    if (buffer != HLO_PLAN_NONE) planner->plan->places[i] = buffer_place(planner, buffer);
  }
  for (uint32_t i = 0; i < planner->plan->schedule->fusion_count; ++i) {
    uint32_t buffer = planner->scratch_buffers[i];
    if (buffer != HLO_PLAN_NONE) planner->plan->scratch[i] = buffer_place(planner, buffer);
  }
}

static hlo_status_t give_copies(const finish_t* finish) {
  const hlo_planner_t* planner = finish->planner;
  for (const move_list_t* list = finish->lists; list; list = list->next) {
    hlo_copy_list_t* copies = &planner->plan->copies[list->node->index];
    copies->items = hlo_arena_array(planner->arena, list->count, sizeof *copies->items);
    HLO_TRY(hlo_arena_status(planner->arena));
    for (uint32_t i = 0; i < list->count; ++i) {
      const move_t* move = &list->moves[i];
      copies->items[i] = (hlo_copy_t){buffer_place(planner, move->from),
                                      buffer_place(planner, move->to), move->size_bytes};
    }
    copies->count = list->count;
  }
  return hlo_ok();
}

static void mark_read(hlo_plan_t* plan, const hlo_value_t* value) {
  hlo_place_t place = hlo_plan_place(plan, value);
  if (place.kind == HLO_PLACE_CONSTANT) plan->constants[place.index].is_read = true;
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
    hlo_place_t place = hlo_plan_operand_place(plan, node, i);
    if (place.kind == HLO_PLACE_CONSTANT) plan->constants[place.index].is_read = true;
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
    if (buffer == HLO_PLAN_NONE || planner->buffers[buffer].kind != HLO_PLACE_CONSTANT) continue;
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

hlo_place_t hlo_plan_operand_place(const hlo_plan_t* plan, const hlo_node_t* node, uint32_t i) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (hlo_node_call_may_share(node, r, i)) return hlo_plan_place(plan, &node->results[r]);
  }
  return hlo_plan_place(plan, hlo_node_operand(node, i));
}

hlo_status_t hlo_planner_finish(hlo_planner_t* planner) {
  finish_t finish = {.planner = planner};
  HLO_TRY(list_moves(&finish));
  HLO_TRY(lay_out(planner));
  HLO_TRY(number_registers(planner));
  give_places(planner);
  HLO_TRY(give_copies(&finish));
  return list_constants(planner);
}
