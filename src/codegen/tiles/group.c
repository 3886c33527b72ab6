// SPDX-License-Identifier: Apache-2.0
// Emits what the threads of a group do together (see group.h): tiles and copies divided among them,
// reductions, loops with stages, and the waits between accesses of shared memory.
#include "codegen/tiles/group_impl.h"

#include <string.h>

#include "base/integer.h"

enum { WORD_BYTES = 8 };

static const hlo_vir_type_t kVoid = {HLO_VIR_VOID, 0};

static void emit_plain(hlo_tile_emitter_t* e, hlo_vir_opcode_t op, int64_t imm) {
  hlo_vir_emit(e->b, op, kVoid, 0, imm, 0, NULL);
}

hlo_vir_value_t* hlo_tile_begin_divided(hlo_tile_emitter_t* e, hlo_vir_value_t* low,
                                        hlo_vir_value_t* end) {
  e->is_divided = true;
  return hlo_vir_begin_for(e->b, hlo_tile_plus(e, low, e->group->thread), end,
                           e->group->plan->thread_count, 0);
}

void hlo_tile_end_divided(hlo_tile_emitter_t* e) {
  hlo_vir_end(e->b);
  e->is_divided = false;
}

// ---- the order of accesses ---------------------------------------------------------------------
//
// Memory that threads have read or written since they last waited for each other: roots are
// allocations by number, then buffers, then the memory of reductions.

static uint32_t root_count(const hlo_tile_emitter_t* e) {
  return e->kernel->value_count + 1 + e->kernel->buffer_count + 1;
}

static uint32_t root_of_reductions(const hlo_tile_emitter_t* e) {
  return root_count(e) - 1;
}

// Returns the number of a memory; UINT32_MAX: no other thread writes it.
static uint32_t root_number(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  if (root->kind == HLO_TILE_OP_alloc) {
    const hlo_tile_group_alloc_t* alloc = hlo_tile_group_alloc(e, root);
    return alloc->is_fragment && !alloc->is_tensor ? UINT32_MAX : alloc->memory;
  }
  return e->is_written[root->buffer] ? e->kernel->value_count + 1 + root->buffer : UINT32_MAX;
}

typedef void (*see_root_t)(hlo_tile_emitter_t* e, uint32_t root, bool is_write, void* context);

static void each_access(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, see_root_t see,
                        void* context) {
  if (op->kind == HLO_TILE_OP_load || op->kind == HLO_TILE_OP_store) {
    const uint32_t root = e->kernel->value_count + 1 + op->buffer;
    if (e->is_written[op->buffer]) see(e, root, op->kind == HLO_TILE_OP_store, context);
  }
  for (uint32_t i = 0; i < op->operand_count && !hlo_tile_op_is_ref(op); ++i) {
    if (!hlo_tile_op_is_ref(op->operands[i])) continue;
    const uint32_t root = root_number(e, op->operands[i]);
    const bool is_copy = op->kind == HLO_TILE_OP_copy || op->kind == HLO_TILE_OP_copy_start;
    const bool is_write = op->kind == HLO_TILE_OP_ref_store || (is_copy && i == 1) ||
                          (hlo_tile_op_is_mma(op) && i == 0);
    if (root == UINT32_MAX || op->kind == HLO_TILE_OP_copy_wait) continue;
    if (i == 2 && is_copy) continue;  // the semaphore
    see(e, root, is_write, context);
  }
  if (!op->body.first) return;
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    for (const hlo_tile_op_t* inner = region->first; inner; inner = inner->next) {
      each_access(e, inner, see, context);
    }
  }
}

static void find_conflict(hlo_tile_emitter_t* e, uint32_t root, bool is_write, void* context) {
  if (e->pending_writes[root] || (is_write && e->pending_reads[root])) *(bool*)context = true;
}

static void note_access(hlo_tile_emitter_t* e, uint32_t root, bool is_write, void* context) {
  (void)context;
  *(is_write ? &e->pending_writes[root] : &e->pending_reads[root]) = true;
}

void hlo_tile_group_sync(hlo_tile_emitter_t* e) {
  if (e->has_async) {
    emit_plain(e, HLO_VIR_copy_commit, 0);
    emit_plain(e, HLO_VIR_copy_wait, 0);
  }
  e->has_async = false;
  if (!e->group->is_unordered) {
    const hlo_tile_group_plan_t* plan = e->group->plan;
    const int64_t threads = plan->bulk_loop ? plan->thread_count : 0;
    emit_plain(e, HLO_VIR_group_sync,
               4 * threads + 2 * (plan->tensor_columns > 0) + plan->has_warp_groups);
  }
  memset(e->pending_reads, 0, root_count(e) * sizeof *e->pending_reads);
  memset(e->pending_writes, 0, root_count(e) * sizeof *e->pending_writes);
}

// Separates an operation from what came before.
static void order(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  bool conflicts = false;
  each_access(e, op, find_conflict, &conflicts);
  if (conflicts) hlo_tile_group_sync(e);
  each_access(e, op, note_access, NULL);
}

void hlo_tile_note_accesses(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  each_access(e, op, note_access, NULL);
  e->pending_reads[root_of_reductions(e)] = true;
}

static bool is_pending(const hlo_tile_emitter_t* e) {
  for (uint32_t i = 0; i < root_count(e); ++i) {
    if (e->pending_reads[i] || e->pending_writes[i]) return true;
  }
  return false;
}

// ---- tiles -------------------------------------------------------------------------------------

static const hlo_tile_op_t* only_inside(const hlo_tile_op_t* op) {
  const hlo_tile_op_t* inner = op->body.first == op->body.last ? op->body.first : NULL;
  const bool is_tile =
      inner && inner->kind == HLO_TILE_OP_for && !inner->operand_count && inner->loops[0].step > 1;
  return is_tile ? inner : NULL;
}

// Divides the points of a perfect nest of tiles; the innermost one's are adjacent threads'.
static void emit_nest(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  const hlo_tile_op_t* nest[HLO_TILE_MAX_DEPTH];
  uint32_t depth = 0;
  int64_t points = 1;
  for (const hlo_tile_op_t* at = loop; at; at = only_inside(at)) nest[depth++] = at;
  const hlo_vir_interval_t range = hlo_tile_range_of(e, &loop->loops[0]);
  for (uint32_t i = 1; i < depth; ++i) points *= nest[i]->loops[0].end - nest[i]->loops[0].low;
  hlo_vir_value_t* count = hlo_vir_index(e->b, HLO_VIR_isub, range.end, range.low);
  hlo_vir_value_t* at = hlo_tile_begin_divided(e, hlo_tile_number(e, 0),
                                               hlo_tile_by_number(e, HLO_VIR_imul, count, points));
  for (uint32_t i = depth; i-- > 0;) {
    const hlo_tile_loop_t* inner = &nest[i]->loops[0];
    hlo_vir_value_t* trips = hlo_tile_number(e, inner->end - inner->low);
    hlo_vir_value_t* low = i ? hlo_tile_number(e, inner->low) : range.low;
    hlo_vir_value_t* own = i ? hlo_vir_index(e->b, HLO_VIR_irem, at, trips) : at;
    if (i) at = hlo_vir_index(e->b, HLO_VIR_idiv, at, trips);
    e->ivs[inner->iv] = hlo_tile_plus(e, own, low);
  }
  hlo_tile_emit_block(e, &nest[depth - 1]->body);
  for (uint32_t i = 0; i < depth; ++i) e->ivs[nest[i]->loops[0].iv] = NULL;
  hlo_tile_end_divided(e);
}

// One thread stores what all have.
static void store_once(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_begin_if(e->b, hlo_vir_icmp(e->b, HLO_VIR_EQ, e->group->thread, hlo_tile_number(e, 0)));
  hlo_tile_emit_store(e, op);
  hlo_vir_end(e->b);
}

// ---- swizzles ----------------------------------------------------------------------------------

hlo_vir_value_t* hlo_tile_swizzled(hlo_tile_emitter_t* e, hlo_swizzle_t swizzle,
                                   hlo_vir_value_t* bytes) {
  if (!swizzle.bits) return bytes;
  const hlo_vir_type_t index = {HLO_VIR_INDEX, 1};
  const int64_t mask = ((INT64_C(1) << swizzle.bits) - 1) << swizzle.base;
  hlo_vir_value_t* bits = hlo_vir_emit(e->b, HLO_VIR_ishr, index, 0, swizzle.shift, 1, &bytes);
  bits = hlo_vir_index(e->b, HLO_VIR_iand, bits, hlo_tile_number(e, mask));
  return hlo_vir_index(e->b, HLO_VIR_ixor, bytes, bits);
}

hlo_swizzle_t hlo_tile_swizzle_of(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  if (!e->group || root->kind != HLO_TILE_OP_alloc) return (hlo_swizzle_t){0, 0, 0};
  return hlo_tile_group_alloc(e, root)->swizzle;
}

// ---- copies ------------------------------------------------------------------------------------

int64_t hlo_tile_alignment_of(const hlo_tile_op_t* ref, int64_t most) {
  for (; ref->kind != HLO_TILE_OP_alloc && ref->kind != HLO_TILE_OP_reference;
       ref = ref->operands[0]) {
    int64_t strides[HLO_TILE_MAX_RANK];
    if (ref->kind != HLO_TILE_OP_slice) continue;
    const hlo_tile_op_t* of = ref->operands[0];
    hlo_tile_ref_strides(of, strides);
    for (uint32_t i = 0; i < ref->index_count; ++i) {
      const int64_t bytes = strides[i] * (int64_t)hlo_dtype_size_bytes(ref->dtype);
      const hlo_expr_t* start = ref->indices[i];
      const int64_t last = of->ref.dims[i] - 1 - (ref->sizes[i] - 1) * ref->strides[i];
      int64_t all = start->constant * bytes;
      for (uint32_t t = 0; t < start->term_count; ++t) all |= start->terms[t].coefficient * bytes;
      if (start->high > last) all |= last * bytes;
      while (most > 1 && all % most) most /= 2;
    }
  }
  return most;
}

typedef struct group_copy {
  const hlo_tile_op_t *from, *to;
  hlo_tile_copy_loops_t loops;  // in units
  int64_t unit, total;          // bytes that a thread copies at a time, their number
} group_copy_t;

// Chooses what a thread copies at a time: as much as is adjacent and aligned on both sides.
static group_copy_t plan_copy(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  enum { MOST_BYTES = 16 };
  group_copy_t copy = {.from = op->operands[0], .to = op->operands[1]};
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(copy.from->dtype);
  hlo_tile_copy_loops_t* loops = &copy.loops;
  *loops = hlo_tile_merge_dims(copy.from, copy.to);
  copy.unit = bytes;
  const uint32_t last = loops->count - 1;
  if (loops->from[last] == 1 && loops->to[last] == 1) {
    int64_t most = hlo_tile_alignment_of(copy.to, hlo_tile_alignment_of(copy.from, MOST_BYTES));
    int64_t all = loops->dims[last] * bytes;
    for (uint32_t i = 0; i < last; ++i) all |= (loops->from[i] | loops->to[i]) * bytes;
    const hlo_swizzle_t swizzles[] = {hlo_tile_swizzle_of(e, copy.from),
                                      hlo_tile_swizzle_of(e, copy.to)};
    for (uint32_t i = 0; i < 2; ++i) {
      if (swizzles[i].bits) most = hlo_min(most, INT64_C(1) << swizzles[i].base);
    }
    while (most > 1 && all % most) most /= 2;
    copy.unit = hlo_max(most, bytes);
  }
  copy.total = 1;
  for (uint32_t i = 0; i <= last; ++i) {
    loops->from[i] *= bytes;
    loops->to[i] *= bytes;
    if (i == last && copy.unit > bytes) {
      loops->dims[i] = loops->dims[i] * bytes / copy.unit;
      loops->from[i] = loops->to[i] = copy.unit;
    }
    copy.total *= loops->dims[i];
  }
  return copy;
}

static bool is_async(const hlo_tile_emitter_t* e, const group_copy_t* copy) {
  const hlo_tile_op_t* from = hlo_tile_ref_root(copy->from);
  const hlo_tile_op_t* to = hlo_tile_ref_root(copy->to);
  return copy->unit >= 4 && from->kind == HLO_TILE_OP_reference && to->kind == HLO_TILE_OP_alloc &&
         e->target->has_async_copies;
}

static void copy_unit(hlo_tile_emitter_t* e, const group_copy_t* copy, hlo_vir_value_t* from,
                      hlo_vir_value_t* to) {
  enum { REGISTER_BYTES = 8 };
  if (is_async(e, copy)) {
    hlo_vir_emit(e->b, HLO_VIR_copy_async, kVoid, 0, copy->unit, 2, (hlo_vir_value_t*[]){to, from});
    return;
  }
  const int64_t part = hlo_min(copy->unit, (int64_t)REGISTER_BYTES);
  const hlo_vir_elem_t elem = part == 8   ? HLO_VIR_I64
                              : part == 4 ? HLO_VIR_I32
                              : part == 2 ? HLO_VIR_I16
                                          : HLO_VIR_I8;
  for (int64_t at = 0; at < copy->unit; at += part) {
    hlo_vir_value_t* value =
        hlo_vir_emit(e->b, HLO_VIR_load, hlo_vir_type(elem, 1), 0, at, 1, &from);
    hlo_vir_emit(e->b, HLO_VIR_store, kVoid, 0, at, 2, (hlo_vir_value_t*[]){value, to});
  }
}

static void emit_group_copy(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (hlo_tile_ref_count(op->operands[0]) == 0) return;
  const group_copy_t copy = plan_copy(e, op);
  const hlo_tile_copy_loops_t* loops = &copy.loops;
  hlo_vir_value_t* at =
      hlo_tile_begin_divided(e, hlo_tile_number(e, 0), hlo_tile_number(e, copy.total));
  hlo_vir_value_t *from = hlo_tile_number(e, 0), *to = hlo_tile_number(e, 0);
  for (uint32_t i = loops->count; i-- > 0;) {
    hlo_vir_value_t* extent = hlo_tile_number(e, loops->dims[i]);
    hlo_vir_value_t* index = i ? hlo_vir_index(e->b, HLO_VIR_irem, at, extent) : at;
    if (i) at = hlo_vir_index(e->b, HLO_VIR_idiv, at, extent);
    from = hlo_tile_plus(e, from, hlo_tile_by_number(e, HLO_VIR_imul, index, loops->from[i]));
    to = hlo_tile_plus(e, to, hlo_tile_by_number(e, HLO_VIR_imul, index, loops->to[i]));
  }
  from = hlo_tile_swizzled(e, hlo_tile_swizzle_of(e, copy.from), from);
  to = hlo_tile_swizzled(e, hlo_tile_swizzle_of(e, copy.to), to);
  copy_unit(e, &copy, hlo_tile_plus(e, e->done[copy.from->number], from),
            hlo_tile_plus(e, e->done[copy.to->number], to));
  hlo_tile_end_divided(e);
  e->has_async |= is_async(e, &copy);
}

// ---- reductions --------------------------------------------------------------------------------

static hlo_vir_value_t* place_of(hlo_tile_emitter_t* e, hlo_vir_value_t* warp) {
  hlo_vir_value_t* base =
      hlo_tile_plus(e, e->group->near, hlo_tile_number(e, e->group->plan->reduce_offset));
  return hlo_tile_plus(e, base, hlo_tile_by_number(e, HLO_VIR_imul, warp, WORD_BYTES));
}

// Each warp reduces by exchanges, then every thread reduces the warps' values, in their order.
void hlo_tile_group_reduce(hlo_tile_emitter_t* e, hlo_tile_combine_t combine, const void* context,
                           hlo_vir_value_t** values, uint32_t count) {
  hlo_vir_value_t* others[2 * HLO_TILE_MAX_OPERANDS];
  const uint32_t warps = e->group->plan->thread_count / HLO_TILE_WARP;
  for (int64_t step = HLO_TILE_WARP / 2; step; step /= 2) {
    for (uint32_t i = 0; i < count; ++i) {
      others[i] =
          hlo_vir_emit(e->b, HLO_VIR_group_shuffle, values[i]->type, 0, step, 1, &values[i]);
    }
    combine(e, context, values, others, values);
  }
  const uint32_t root = root_of_reductions(e);
  if (e->pending_reads[root]) hlo_tile_group_sync(e);
  hlo_vir_value_t* width = hlo_tile_number(e, HLO_TILE_WARP);
  hlo_vir_value_t* lane = hlo_vir_index(e->b, HLO_VIR_irem, e->group->thread, width);
  hlo_vir_value_t* warp = hlo_vir_index(e->b, HLO_VIR_idiv, e->group->thread, width);
  hlo_vir_begin_if(e->b, hlo_vir_icmp(e->b, HLO_VIR_EQ, lane, hlo_tile_number(e, 0)));
  for (uint32_t i = 0; i < count; ++i) {
    hlo_vir_emit(e->b, HLO_VIR_store, kVoid, 0, (int64_t)(i * warps) * WORD_BYTES, 2,
                 (hlo_vir_value_t*[]){values[i], place_of(e, warp)});
  }
  hlo_vir_end(e->b);
  hlo_tile_group_sync(e);
  for (uint32_t w = 0; w < warps; ++w) {
    for (uint32_t i = 0; i < count; ++i) {
      hlo_vir_value_t* place = place_of(e, hlo_tile_number(e, 0));
      others[i] = hlo_vir_emit(e->b, HLO_VIR_load, values[i]->type, 0,
                               (int64_t)(i * warps + w) * WORD_BYTES, 1, &place);
    }
    if (w) {
      combine(e, context, values, others, values);
    } else {
      memcpy(values, others, count * sizeof *values);
    }
  }
  e->pending_reads[root] = true;
}

// ---- loops with stages -------------------------------------------------------------------------

static void set_iteration(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                          hlo_vir_value_t* iteration) {
  const hlo_tile_loop_t* l = &loop->loops[0];
  e->ivs[l->iv] = hlo_tile_plus(e, iteration, hlo_tile_number(e, l->low));
}

// Points the allocations that the loop fills at the version of an iteration.
static void set_versions(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                         hlo_vir_value_t* iteration) {
  hlo_vir_value_t* version = hlo_vir_index(e->b, HLO_VIR_irem, iteration,
                                           hlo_tile_number(e, loop->loops[0].schedule.stages));
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_copy) continue;
    const hlo_tile_op_t* alloc = op->operands[1];
    const hlo_tile_group_alloc_t* place = hlo_tile_group_alloc(e, alloc);
    hlo_vir_value_t* base = hlo_tile_plus(e, e->group->near, hlo_tile_number(e, place->offset));
    e->done[alloc->number] =
        hlo_tile_plus(e, base, hlo_tile_by_number(e, HLO_VIR_imul, version, place->bytes));
  }
}

void hlo_tile_set_stage(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                        hlo_vir_value_t* iteration) {
  set_iteration(e, loop, iteration);
  set_versions(e, loop, iteration);
}

// Starts the copies of an iteration, the parts of their references first.
static void start_copies(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                         hlo_vir_value_t* iteration) {
  set_iteration(e, loop, iteration);
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    const bool is_view = op->kind == HLO_TILE_OP_slice || op->kind == HLO_TILE_OP_transpose;
    if (is_view && hlo_tile_ref_root(op)->kind == HLO_TILE_OP_reference) {
      e->done[op->number] = hlo_tile_emit_ref(e, op);
    }
  }
  set_versions(e, loop, iteration);
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind == HLO_TILE_OP_copy) emit_group_copy(e, op);
  }
  e->has_async = false;  // waited for by their number
}

static bool has_async_fills(const hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_copy) continue;
    const group_copy_t copy = plan_copy(e, op);
    if (!is_async(e, &copy)) return false;
  }
  return true;
}

// While an iteration computes, the copies of the next ones are under way, a batch for each.
static void emit_stages(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  const hlo_tile_loop_t* l = &loop->loops[0];
  const int64_t trips = l->end - l->low, ahead = l->schedule.stages - 1;
  if (is_pending(e) || e->has_async) hlo_tile_group_sync(e);
  for (int64_t i = 0; i < ahead; ++i) {
    if (i < trips) start_copies(e, loop, hlo_tile_number(e, i));
    emit_plain(e, HLO_VIR_copy_commit, 0);
  }
  hlo_vir_value_t* at =
      hlo_vir_begin_for(e->b, hlo_tile_number(e, 0), hlo_tile_number(e, trips), 1, 0);
  emit_plain(e, HLO_VIR_copy_wait, ahead - 1);
  hlo_tile_group_sync(e);
  hlo_vir_value_t* next = hlo_tile_plus(e, at, hlo_tile_number(e, ahead));
  hlo_vir_begin_if(e->b, hlo_vir_icmp(e->b, HLO_VIR_LT, next, hlo_tile_number(e, trips)));
  start_copies(e, loop, next);
  hlo_vir_end(e->b);
  emit_plain(e, HLO_VIR_copy_commit, 0);
  hlo_tile_set_stage(e, loop, at);
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_copy && op->kind != HLO_TILE_OP_alloc) hlo_tile_emit_op(e, op);
  }
  hlo_vir_end(e->b);
  e->ivs[l->iv] = NULL;
  hlo_tile_group_sync(e);
}

// ---- operations --------------------------------------------------------------------------------

static bool is_tile_loop(const hlo_tile_op_t* op) {
  return (op->kind == HLO_TILE_OP_for || op->kind == HLO_TILE_OP_parallel) && !op->operand_count &&
         op->loops[0].step > 1;
}

static bool emit_tile(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (!is_tile_loop(op)) return false;
  const hlo_tile_op_t* alloc = hlo_tile_fragment_nest(e->group->plan, op);
  order(e, op);
  if (alloc) {
    hlo_tile_emit_fragment_nest(e, op, alloc);
  } else {
    emit_nest(e, op);
  }
  return true;
}

// Emits loops, and branches that only some paths take: their accesses are pending when they begin.
static void emit_repeated(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (op->loop_count && hlo_tile_is_cut(e, &op->loops[0])) {  // one iteration
    const hlo_tile_op_t* bulk_loop = e->group->plan->bulk_loop;
    if (bulk_loop && bulk_loop->block->parent == op) {
      hlo_tile_emit_producers(e, op);
    } else {
      hlo_tile_emit_repeated(e, op);
    }
    return;
  }
  if (is_pending(e)) hlo_tile_group_sync(e);
  hlo_tile_note_accesses(e, op);
  hlo_tile_emit_repeated(e, op);
  hlo_tile_note_accesses(e, op);
}

static bool emit_with_regions(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_for:
    case HLO_TILE_OP_parallel:
      if (emit_tile(e, op)) return true;
      if (op == e->group->plan->bulk_loop) {
        if (is_pending(e) || e->has_async) hlo_tile_group_sync(e);
        hlo_tile_emit_consumers(e, op);
        return true;
      }
      if (hlo_tile_has_stages(e->kernel, op) && has_async_fills(e, op)) {
        emit_stages(e, op);
        return true;
      }
      break;
    case HLO_TILE_OP_while:
    case HLO_TILE_OP_switch:
    case HLO_TILE_OP_if: break;
    case HLO_TILE_OP_reduce: order(e, op); return false;
    default: return false;
  }
  emit_repeated(e, op);
  return true;
}

bool hlo_tile_emit_together(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (emit_with_regions(e, op)) return true;
  if (op->body.first || hlo_tile_op_is_ref(op)) return false;
  order(e, op);
  switch (op->kind) {
    case HLO_TILE_OP_store:
    case HLO_TILE_OP_ref_store: store_once(e, op); return true;
    case HLO_TILE_OP_copy:
    case HLO_TILE_OP_copy_start:
      if (hlo_tile_fragment_of(e, op->operands[0])) {
        hlo_tile_emit_fragment_copy(e, op);
      } else {
        emit_group_copy(e, op);
      }
      return true;
    case HLO_TILE_OP_mma:
    case HLO_TILE_OP_scaled_mma:
      if (!hlo_tile_fragment_of(e, op->operands[0])) return false;
      hlo_tile_emit_fragment_mma(e, op);
      return true;
    default: return false;
  }
}
