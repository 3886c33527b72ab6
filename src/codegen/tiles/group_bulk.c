// SPDX-License-Identifier: Apache-2.0
// Loops with stages whose copies are boxes of matrices: one thread of a warp of producers starts
// them, as far ahead as allocations are free; the other threads, the consumers, only compute.
//
//   producer, iteration i, stage s = i mod stages   consumers
//     wait until phase i / stages - 1 of s's          wait until phase i / stages of s's
//       `free` has ended                                `full` has ended
//     expect the copies' bytes at `full`              compute
//     start the copies, which end `full`              arrive at `free`, once a warp
#include "codegen/tiles/group_impl.h"

enum { BARRIER_BYTES = 8 };

static const hlo_vir_type_t kVoid = {HLO_VIR_VOID, 0};

// ---- plan --------------------------------------------------------------------------------------

// Returns true if an expression depends on loops only, no run-time value.
static bool has_only_loops(const hlo_expr_t* expr) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_VALUE) return false;
    if (atom->argument && !has_only_loops(atom->argument)) return false;
  }
  return true;
}

// Returns the bytes of a row under the swizzle if the unit has it; 0: no swizzle. false: it has
// none such.
static bool find_swizzle(hlo_swizzle_t swizzle, int64_t row_bytes, uint32_t* out_bytes) {
  enum { UNIT_BITS = 4, SHIFT = 3, MOST_BITS = 3 };
  *out_bytes = 0;
  if (!swizzle.bits) return true;
  *out_bytes = 1u << (UNIT_BITS + swizzle.bits);
  return swizzle.base == UNIT_BITS && swizzle.shift == SHIFT && swizzle.bits <= MOST_BITS &&
         row_bytes == *out_bytes;
}

// known: the loops, one bit each, that producers know
static bool find_box(const hlo_tile_op_t* copy, const hlo_tile_group_plan_t* plan, uint64_t known,
                     hlo_tile_bulk_copy_t* out) {
  enum { MOST_EXTENT = 256, UNIT_BYTES = 16 };
  const hlo_tile_op_t* part = copy->operands[0];
  const hlo_tile_op_t* of = part->kind == HLO_TILE_OP_slice ? part->operands[0] : NULL;
  if (!of || of->kind != HLO_TILE_OP_reference || of->ref.rank < 2) return false;
  if (hlo_dtype_info(part->dtype)->bits % 8 && hlo_tile_packing(part->dtype) == 1) return false;
  const uint32_t last = of->ref.rank - 1;
  const int64_t size = (int64_t)hlo_dtype_size_bytes(part->dtype);
  for (uint32_t i = 0; i <= last; ++i) {
    const hlo_expr_t* start = part->indices[i];
    if (part->strides[i] != 1 || part->sizes[i] > MOST_EXTENT) return false;
    if (i + 1 < last && part->sizes[i] != 1) return false;
    if (start->loops & ~known || !has_only_loops(start)) return false;
  }
  *out = (hlo_tile_bulk_copy_t){.copy = copy,
                                .buffer = of->buffer,
                                .rows = hlo_tile_ref_count(of) / of->ref.dims[last],
                                .columns = of->ref.dims[last],
                                .box_rows = part->sizes[last - 1],
                                .box_columns = part->sizes[last]};
  const hlo_swizzle_t swizzle = plan->allocs[copy->operands[1]->number].swizzle;
  return out->rows <= INT32_MAX && out->columns <= INT32_MAX &&
         out->box_columns * size % UNIT_BYTES == 0 && out->columns * size % UNIT_BYTES == 0 &&
         find_swizzle(swizzle, out->box_columns * size, &out->swizzle_bytes);
}

static bool find_boxes(const hlo_tile_op_t* loop, uint64_t blocks, hlo_tile_group_plan_t* plan) {
  const uint64_t known = blocks | UINT64_C(1) << loop->loops[0].iv;
  plan->bulk_count = 0;
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_copy) continue;
    if (plan->bulk_count == HLO_TILE_GROUP_MOST_BULK) return false;
    if (!find_box(op, plan, known, &plan->bulk[plan->bulk_count++])) return false;
  }
  return true;
}

void hlo_tile_plan_bulk(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                        uint64_t blocks, hlo_tile_group_plan_t* plan) {
  const hlo_tile_op_t* found = NULL;
  // Products of single warps need the registers that one warp more would take from them.
  if (!target->has_bulk_copies || (plan->register_count && !plan->has_warp_groups)) return;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    const hlo_tile_op_t* around = op->block->parent;
    if (!hlo_tile_is_part_of(op, plan->phase) || !hlo_tile_has_stages(kernel, op)) continue;
    if (!around || !around->loop_count || !(blocks >> around->loops[0].iv & 1)) continue;
    if (found) return;  // barriers are those of one loop
    found = op;
  }
  if (!found || !find_boxes(found, blocks, plan)) {
    plan->bulk_count = 0;
    return;
  }
  plan->bulk_loop = found;
  plan->producer_count = HLO_TILE_WARP;
}

int64_t hlo_tile_barrier_bytes(const hlo_tile_group_plan_t* plan) {
  return 2 * plan->bulk_loop->loops[0].schedule.stages * BARRIER_BYTES;
}

// ---- barriers ----------------------------------------------------------------------------------

typedef enum barrier_set { FULL, FREE } barrier_set_t;

static hlo_vir_value_t* barrier_of(hlo_tile_emitter_t* e, barrier_set_t set,
                                   hlo_vir_value_t* version) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  const int64_t stages = plan->bulk_loop->loops[0].schedule.stages;
  const int64_t offset = plan->barrier_offset + (set == FREE ? stages * BARRIER_BYTES : 0);
  hlo_vir_value_t* base = hlo_tile_plus(e, e->group->near, hlo_tile_number(e, offset));
  return hlo_tile_plus(e, base, hlo_tile_by_number(e, HLO_VIR_imul, version, BARRIER_BYTES));
}

static hlo_vir_value_t* version_of(hlo_tile_emitter_t* e, hlo_vir_value_t* iteration) {
  return hlo_tile_by_number(e, HLO_VIR_irem, iteration,
                            e->group->plan->bulk_loop->loops[0].schedule.stages);
}

static void on_barrier(hlo_tile_emitter_t* e, hlo_vir_opcode_t op, int64_t imm,
                       hlo_vir_value_t* barrier) {
  hlo_vir_emit(e->b, op, kVoid, 0, imm, 1, &barrier);
}

// Waits for the phase of an iteration, or the one before.
static void wait_for(hlo_tile_emitter_t* e, barrier_set_t set, hlo_vir_value_t* iteration,
                     bool is_before) {
  const int64_t stages = e->group->plan->bulk_loop->loops[0].schedule.stages;
  hlo_vir_value_t* phase = hlo_tile_by_number(e, HLO_VIR_idiv, iteration, stages);
  if (is_before) phase = hlo_tile_by_number(e, HLO_VIR_iadd, phase, 1);
  hlo_vir_value_t* operands[] = {barrier_of(e, set, version_of(e, iteration)),
                                 hlo_tile_by_number(e, HLO_VIR_iand, phase, 1)};
  hlo_vir_emit(e->b, HLO_VIR_barrier_wait, kVoid, 0, 0, 2, operands);
}

static void begin_if_thread(hlo_tile_emitter_t* e, hlo_vir_condition_t condition, int64_t thread) {
  hlo_vir_begin_if(e->b,
                   hlo_vir_icmp(e->b, condition, e->group->thread, hlo_tile_number(e, thread)));
}

static void init_barriers(hlo_tile_emitter_t* e) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  begin_if_thread(e, HLO_VIR_EQ, 0);
  for (int64_t i = 0; i < plan->bulk_loop->loops[0].schedule.stages; ++i) {
    hlo_vir_value_t* version = hlo_tile_number(e, i);
    on_barrier(e, HLO_VIR_barrier_init, 1, barrier_of(e, FULL, version));
    on_barrier(e, HLO_VIR_barrier_init, plan->thread_count / HLO_TILE_WARP,
               barrier_of(e, FREE, version));
  }
  hlo_vir_end(e->b);
  hlo_vir_emit(e->b, HLO_VIR_group_sync, kVoid, 0, 1, 0, NULL);
}

// ---- both sides --------------------------------------------------------------------------------

static int64_t bytes_of_iteration(const hlo_tile_group_plan_t* plan) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < plan->bulk_count; ++i) {
    const hlo_tile_op_t* to = plan->bulk[i].copy->operands[1];
    bytes += hlo_tile_ref_count(to) * (int64_t)hlo_dtype_size_bytes(to->dtype);
  }
  return bytes;
}

// The first row and column of a box in the buffer as a matrix.
static void emit_corner(hlo_tile_emitter_t* e, const hlo_tile_bulk_copy_t* bulk,
                        hlo_vir_value_t** out_row, hlo_vir_value_t** out_column) {
  const hlo_tile_op_t* part = bulk->copy->operands[0];
  const uint32_t last = part->operands[0]->ref.rank - 1;
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(part->operands[0], strides);
  *out_row = hlo_tile_number(e, 0);
  for (uint32_t i = 0; i < last; ++i) {
    *out_row = hlo_tile_plus(e, *out_row,
                             hlo_tile_by_number(e, HLO_VIR_imul, hlo_tile_emit_start(e, part, i),
                                                strides[i] / bulk->columns));
  }
  *out_column = hlo_tile_emit_start(e, part, last);
}

static hlo_vir_value_t* begin_iterations(hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop) {
  return hlo_vir_begin_for(e->b, hlo_tile_number(e, 0), hlo_tile_number(e, loop->end - loop->low),
                           1, 0);
}

static void emit_producer(hlo_tile_emitter_t* e) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  const hlo_tile_loop_t* loop = &plan->bulk_loop->loops[0];
  hlo_vir_value_t* at = begin_iterations(e, loop);
  hlo_tile_set_stage(e, plan->bulk_loop, at);
  hlo_vir_value_t* full = barrier_of(e, FULL, version_of(e, at));
  wait_for(e, FREE, at, true);
  on_barrier(e, HLO_VIR_barrier_expect, bytes_of_iteration(plan), full);
  for (uint32_t i = 0; i < plan->bulk_count; ++i) {
    hlo_vir_value_t *row, *column;
    emit_corner(e, &plan->bulk[i], &row, &column);
    hlo_vir_value_t* operands[] = {e->done[plan->bulk[i].copy->operands[1]->number], full, row,
                                   column};
    hlo_vir_emit(e->b, HLO_VIR_copy_bulk, kVoid, 0, i, 4, operands);
  }
  hlo_vir_end(e->b);
  e->ivs[loop->iv] = NULL;
}

void hlo_tile_emit_producers(hlo_tile_emitter_t* e, const hlo_tile_op_t* around) {
  const int64_t first = e->group->plan->thread_count;
  const uint32_t iv = around->loops[0].iv;
  e->ivs[iv] = hlo_tile_single_iteration(e, &around->loops[0]);
  init_barriers(e);
  begin_if_thread(e, HLO_VIR_GE, first);
  begin_if_thread(e, HLO_VIR_EQ, first);
  emit_producer(e);
  hlo_vir_end(e->b);
  hlo_vir_begin_else(e->b);
  hlo_tile_emit_block(e, &around->body);
  hlo_vir_end(e->b);
  e->ivs[iv] = NULL;
}

// An iteration may read or write memory, the copies' allocations apart, that the next one writes or
// reads.
static void note_loop(hlo_tile_emitter_t* e) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  hlo_tile_note_accesses(e, plan->bulk_loop);
  for (uint32_t i = 0; i < plan->bulk_count; ++i) {
    const uint32_t memory = plan->allocs[plan->bulk[i].copy->operands[1]->number].memory;
    e->pending_reads[memory] = e->pending_writes[memory] = false;
  }
}

// Returns true if later allocations have bytes of those that the copies fill.
static bool is_shared(const hlo_tile_emitter_t* e) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  uint32_t users = 0;
  for (uint32_t i = 0; i < plan->bulk_count; ++i) {
    const uint32_t own = plan->bulk[i].copy->operands[1]->number;
    for (uint32_t n = 0; n <= e->kernel->value_count; ++n) {
      const hlo_tile_group_alloc_t* alloc = &plan->allocs[n];
      users += n != own && alloc->bytes && alloc->memory == plan->allocs[own].memory;
    }
  }
  return users > 0;
}

void hlo_tile_emit_consumers(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  note_loop(e);
  hlo_vir_value_t* at = begin_iterations(e, &loop->loops[0]);
  wait_for(e, FULL, at, false);
  hlo_tile_set_stage(e, loop, at);
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind == HLO_TILE_OP_copy || op->kind == HLO_TILE_OP_alloc) continue;
    hlo_tile_emit_op(e, op);
  }
  hlo_vir_emit(e->b, HLO_VIR_warp_sync, kVoid, 0, 0, 0, NULL);
  hlo_vir_begin_if(
      e->b, hlo_vir_icmp(e->b, HLO_VIR_EQ,
                         hlo_tile_by_number(e, HLO_VIR_irem, e->group->thread, HLO_TILE_WARP),
                         hlo_tile_number(e, 0)));
  on_barrier(e, HLO_VIR_barrier_arrive, 0, barrier_of(e, FREE, version_of(e, at)));
  hlo_vir_end(e->b);
  hlo_vir_end(e->b);
  e->ivs[loop->loops[0].iv] = NULL;
  note_loop(e);
  if (is_shared(e)) hlo_tile_group_sync(e);
}
