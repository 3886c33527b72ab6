// SPDX-License-Identifier: Apache-2.0
// Emits the blocks of a kernel, operation by operation (see GUIDE.md).
#include "codegen/tiles/group_impl.h"

// ---- values

hlo_vir_elem_t hlo_tile_mask_elem(const hlo_tile_emitter_t* e, uint32_t lanes) {
  const uint32_t bytes = e->target->vector_bytes / lanes;
  return bytes == 1   ? HLO_VIR_I8
         : bytes == 2 ? HLO_VIR_I16
         : bytes == 4 ? HLO_VIR_I32
                      : HLO_VIR_I64;
}

hlo_vir_value_t* hlo_tile_from_mask(hlo_tile_emitter_t* e, hlo_vir_value_t* mask) {
  const uint32_t lanes = mask->type.lanes;
  const hlo_vir_type_t type = hlo_vir_type(hlo_tile_mask_elem(e, lanes), lanes);
  return hlo_vir_ternary(e->b, HLO_VIR_select, mask, hlo_vir_const_bits(e->b, type, UINT64_MAX),
                         hlo_vir_const_bits(e->b, type, 0));
}

hlo_vir_value_t* hlo_tile_to_mask(hlo_tile_emitter_t* e, hlo_vir_value_t* value) {
  return hlo_vir_compare(e->b, HLO_VIR_scmp, HLO_VIR_NE, value,
                         hlo_vir_const_bits(e->b, value->type, 0));
}

hlo_vir_value_t* hlo_tile_wide(hlo_tile_emitter_t* e, hlo_vir_value_t* value, uint32_t lanes) {
  if (value->type.lanes == lanes) return value;
  if (value->type.elem == HLO_VIR_MASK) {
    hlo_vir_value_t* count = hlo_scalar_from_lane(e->b, HLO_DTYPE_PRED, value);
    count = hlo_vir_index(e->b, HLO_VIR_imul, count, hlo_vir_iconst(e->b, (int64_t)lanes));
    return hlo_vir_emit(e->b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0, 0, 1,
                        &count);
  }
  const hlo_vir_type_t type = hlo_vir_type((hlo_vir_elem_t)value->type.elem, lanes);
  return hlo_vir_emit(e->b, HLO_VIR_splat, type, 0, 0, 1, &value);
}

hlo_vir_value_t* hlo_tile_operand(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t lanes) {
  if (op->kind == HLO_TILE_OP_constant) {
    return hlo_elementwise_constant(e->b, op->dtype, lanes, op->element);
  }
  return hlo_tile_wide(e, e->done[op->number], lanes);
}

void hlo_tile_set_result(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t number,
                         hlo_vir_value_t* value) {
  e->results[op->number][number] = value;
  if (number == 0) e->done[op->number] = value;
}

// ---- operations without regions

static uint32_t operand_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  uint32_t lanes = 1;
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    const uint32_t wide = e->done[op->operands[i]->number]->type.lanes;
    if (wide > lanes) lanes = wide;
  }
  return lanes;
}

static hlo_vir_value_t* emit_number(hlo_tile_emitter_t* e, const hlo_expr_t* expr,
                                    hlo_dtype_t dtype) {
  const bool is_small =
      hlo_position_elem(expr) == HLO_VIR_I32 && hlo_elementwise_register_bytes(dtype) <= 4;
  const hlo_vir_elem_t elem = is_small ? HLO_VIR_I32 : HLO_VIR_I64;
  hlo_vir_value_t* value;
  if (hlo_tile_differs(e, expr)) {
    value = hlo_tile_emit_lane_index(e, elem, expr);
  } else {
    value = hlo_tile_emit_index(e, expr);
    value = hlo_vir_emit(e->b, HLO_VIR_splat_index, hlo_vir_type(elem, 1), 0, 0, 1, &value);
  }
  return hlo_elementwise_from_integer(e->b, dtype, value);
}

static hlo_vir_value_t* emit_map(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_value_t* operands[HLO_TILE_MAX_OPERANDS];
  const uint32_t lanes = operand_lanes(e, op);
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    operands[i] = hlo_tile_operand(e, op->operands[i], lanes);
  }
  const hlo_elementwise_op_t what = {.op = op->map.op,
                                     .operand_count = op->operand_count,
                                     .operand = op->operands[0]->dtype,
                                     .result = op->dtype,
                                     .direction = op->map.direction,
                                     .is_total_order = op->map.is_total_order};
  return hlo_elementwise_emit_op(e->b, &what, operands);
}

// Multiplies in the type of the sums.
static hlo_vir_value_t* emit_product(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_value_t* factors[2];
  const uint32_t lanes = operand_lanes(e, op);
  for (uint32_t i = 0; i < 2; ++i) {
    factors[i] = hlo_vmath_convert(e->b, op->operands[i]->dtype, op->dtype,
                                   hlo_tile_operand(e, op->operands[i], lanes));
  }
  return hlo_elementwise_combine(e->b, HLO_OP_multiply, op->dtype, factors[0], factors[1]);
}

static hlo_vir_value_t* emit_bitcast(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_elementwise_op_t what = {.op = HLO_OP_bitcast_convert,
                                     .operand_count = 1,
                                     .operand = op->operands[0]->dtype,
                                     .result = op->dtype};
  return hlo_elementwise_emit_op(e->b, &what, &e->done[op->operands[0]->number]);
}

// Returns the step of a loop of the grid, counted from 0, or the number of its steps. The lanes of
// a loop may be of several steps.
static hlo_vir_value_t* emit_program(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  const uint32_t count = hlo_tile_block_loops(op->block, loops);
  uint32_t at = 0;
  for (uint32_t dimension = 0; at + 1 < count; ++at) {
    if (loops[at]->is_grid && dimension++ == op->dimension) break;
  }
  const hlo_tile_loop_t* loop = loops[at];
  const hlo_expr_t* number =
      hlo_expr_const(e->exprs, (loop->end - loop->low + loop->step - 1) / loop->step);
  if (op->kind == HLO_TILE_OP_program_id) {
    number = hlo_expr_loop(e->exprs, loop->iv, loop->low, loop->end);
    number = hlo_expr_div(e->exprs, hlo_expr_offset(e->exprs, number, -loop->low), loop->step);
  }
  return emit_number(e, number, op->dtype);
}

static hlo_vir_value_t* emit_op_value(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_load:
    case HLO_TILE_OP_ref_load: return hlo_tile_emit_load(e, op);
    case HLO_TILE_OP_atomic: return hlo_tile_emit_atomic(e, op);
    case HLO_TILE_OP_reference:
    case HLO_TILE_OP_alloc:
    case HLO_TILE_OP_slice:
    case HLO_TILE_OP_transpose:
    case HLO_TILE_OP_reshape: return hlo_tile_emit_ref(e, op);
    case HLO_TILE_OP_program_id:
    case HLO_TILE_OP_num_programs: return emit_program(e, op);
    case HLO_TILE_OP_bitcast: return emit_bitcast(e, op);
    case HLO_TILE_OP_constant: return hlo_elementwise_constant(e->b, op->dtype, 1, op->element);
    case HLO_TILE_OP_index: return emit_number(e, op->offset, op->dtype);
    case HLO_TILE_OP_map: return emit_map(e, op);
    case HLO_TILE_OP_product: return emit_product(e, op);
    case HLO_TILE_OP_guard: return hlo_tile_emit_guard(e, op);
    case HLO_TILE_OP_relayout: return e->done[op->operands[0]->number];
    case HLO_TILE_OP_result: return e->results[op->operands[0]->number][op->result];
    case HLO_TILE_OP_argument: return e->results[op->block->parent->number][op->result];
    default: return NULL;  // hlo_tile_check_lowering() refuses it
  }
}

void hlo_tile_emit_repeated(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_while: hlo_tile_emit_while(e, op); return;
    case HLO_TILE_OP_if:
    case HLO_TILE_OP_switch: hlo_tile_emit_switch(e, op); return;
    default: hlo_tile_emit_loop(e, op); return;
  }
}

void hlo_tile_emit_op(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (hlo_tile_is_together(e) && hlo_tile_emit_together(e, op)) return;
  switch (op->kind) {
    case HLO_TILE_OP_store:
    case HLO_TILE_OP_ref_store: hlo_tile_emit_store(e, op); return;
    case HLO_TILE_OP_copy: hlo_tile_emit_copy(e, op); return;
    case HLO_TILE_OP_copy_start:
      hlo_tile_emit_copy(e, op);
      hlo_tile_emit_sync(e, op);
      return;
    case HLO_TILE_OP_copy_wait:
    case HLO_TILE_OP_semaphore_signal:
    case HLO_TILE_OP_semaphore_wait:
    case HLO_TILE_OP_barrier_arrive:
    case HLO_TILE_OP_barrier_wait: hlo_tile_emit_sync(e, op); return;
    case HLO_TILE_OP_print: hlo_tile_emit_print(e, op); return;
    case HLO_TILE_OP_mma: hlo_tile_emit_mma(e, op); return;
    case HLO_TILE_OP_yield: return;
    case HLO_TILE_OP_product:
      if (op->block->parent && hlo_tile_summed_product(op->block->parent) == op) return;
      break;
    case HLO_TILE_OP_reduce: hlo_tile_emit_reduce(e, op); return;
    case HLO_TILE_OP_for:
    case HLO_TILE_OP_parallel:
    case HLO_TILE_OP_while:
    case HLO_TILE_OP_if:
    case HLO_TILE_OP_switch: hlo_tile_emit_repeated(e, op); return;
    default: break;
  }
  e->done[op->number] = emit_op_value(e, op);
  if (op->kind == HLO_TILE_OP_alloc && !e->group) hlo_tile_begin_semaphores(e, op);
}

void hlo_tile_emit_block(hlo_tile_emitter_t* e, const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) hlo_tile_emit_op(e, op);
  if (!e->group) hlo_tile_end_semaphores(e, block);
}

// ---- kernels

static void note_written(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (op->kind == HLO_TILE_OP_store) {
    e->is_written[op->buffer] = true;
  } else if (hlo_tile_writes(op)) {
    const bool is_copy = op->kind == HLO_TILE_OP_copy || op->kind == HLO_TILE_OP_copy_start;
    const hlo_tile_op_t* root = hlo_tile_ref_root(op->operands[is_copy]);
    if (root->kind == HLO_TILE_OP_reference) e->is_written[root->buffer] = true;
  }
}

const hlo_tile_op_t* hlo_tile_function_of(const hlo_tile_op_t* op) {
  op = op->block->parent;
  while (op && !hlo_tile_runs_threads(op)) op = op->block->parent;
  return op;
}

void hlo_tile_place_allocations(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop) {
  int64_t bytes = 0;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(e->kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_alloc || hlo_tile_function_of(op) != loop) continue;
    e->stack_offsets[op->number] = bytes;
    bytes += hlo_tile_alloc_bytes(op);
  }
  if (!bytes) return;
  e->stack = hlo_vir_emit(e->b, HLO_VIR_stack, hlo_vir_type(HLO_VIR_INDEX, 1), 0, bytes, 0, NULL);
}

bool hlo_tile_make_values(hlo_tile_emitter_t* e) {
  const size_t values = (size_t)e->kernel->value_count + 1;
  e->done = hlo_arena_array(e->scratch, values, sizeof *e->done);
  e->results = hlo_arena_array(e->scratch, values, sizeof *e->results);
  e->shared = hlo_arena_array(e->scratch, values, sizeof *e->shared);
  if (e->scratch->failed) return false;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(e->kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_op_has_result(op) || !op->body.first) continue;
    e->results[op->number] =
        hlo_arena_array(e->scratch, HLO_TILE_MAX_OPERANDS, sizeof **e->results);
  }
  return !e->scratch->failed;
}

static bool make_tables(hlo_tile_emitter_t* e) {
  const hlo_tile_kernel_t* kernel = e->kernel;
  const size_t values = (size_t)kernel->value_count + 1;
  e->ops = hlo_arena_array(e->scratch, values, sizeof *e->ops);
  e->stack_offsets = hlo_arena_array(e->scratch, values, sizeof *e->stack_offsets);
  e->is_written =
      hlo_arena_array(e->scratch, (size_t)kernel->buffer_count + 1, sizeof *e->is_written);
  const size_t roots = values + kernel->buffer_count + 1;
  e->pending_reads = hlo_arena_array(e->scratch, roots, sizeof *e->pending_reads);
  e->pending_writes = hlo_arena_array(e->scratch, roots, sizeof *e->pending_writes);
  if (e->scratch->failed) return false;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    note_written(e, op);
    if (hlo_tile_op_has_result(op)) e->ops[op->number] = op;
  }
  return hlo_tile_make_values(e);
}

void hlo_tile_emit(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                   const hlo_tile_cut_t* cut, const hlo_tile_op_t* phase, hlo_vir_builder_t* b,
                   hlo_vir_value_t* const* addresses) {
  HLO_SCOPED_ARENA scratch = {0};
  hlo_expr_space_t exprs;
  hlo_expr_space_init(&exprs, &scratch);
  hlo_vir_fence(b);
  hlo_tile_emitter_t e = {.kernel = kernel,
                          .exprs = &exprs,
                          .target = target,
                          .cut = cut,
                          .group = cut ? cut->group : NULL,
                          .b = b,
                          .addresses = addresses,
                          .scratch = &scratch,
                          .lane_iv = HLO_TILE_NO_LANES,
                          .lanes = 1};
  if (!make_tables(&e)) {
    hlo_vir_module_fail(b->module, hlo_arena_status(&scratch));
    return;
  }
  if (!e.group) hlo_tile_place_allocations(&e, NULL);
  for (const hlo_tile_op_t* op = kernel->body.first; op; op = op->next) {
    if (!phase || op == phase || !hlo_tile_is_phase(op)) hlo_tile_emit_op(&e, op);
    if (op == phase) break;
  }
  if (!e.group) hlo_tile_end_semaphores(&e, &kernel->body);
  if (exprs.is_exceeded) {
    hlo_vir_module_fail(b->module, hlo_resource_exhausted(
                                       "the index expressions of %s are too long", kernel->name));
  }
}

static void emit_phase_func(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                            const hlo_tile_plan_t* plan, uint32_t number,
                            const hlo_tile_op_t* phase, hlo_vir_func_t* func) {
  enum { WORD_BYTES = 8 };
  HLO_SCOPED_ARENA arena = {0};
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t** addresses =
      hlo_arena_array(&arena, (size_t)kernel->buffer_count + 1, sizeof(*addresses));
  for (uint32_t i = 0; addresses && i < kernel->buffer_count; ++i) {
    addresses[i] = hlo_vir_iload(&b, hlo_vir_param(&b, 1), (int64_t)i * WORD_BYTES,
                                 HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  }
  hlo_tile_cut_t cut = {.count = plan->chunk_counts[number] > 1};
  cut.loops[0].iv = phase ? phase->loops[0].iv : 0;
  cut.loops[0].chunk = hlo_vir_param(&b, 2);
  cut.loops[0].size = plan->chunk_sizes[number];
  if (addresses) {
    hlo_tile_emit(kernel, target, &cut, phase, &b, addresses);
  } else {
    hlo_vir_module_fail(func->module, hlo_arena_status(&arena));
  }
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
}

void hlo_tile_emit_phases(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                          const hlo_tile_plan_t* plan, hlo_vir_module_t* module) {
  const hlo_tile_op_t* phase = plan->is_whole ? NULL : kernel->body.first;
  // The functions of phases are the first ones; those of iterations that wait follow.
  hlo_vir_func_t* first = NULL;
  for (uint32_t number = 0; number < plan->phase_count; ++number) {
    hlo_vir_func_t* func = hlo_vir_func_create(module, kernel->name, 3, false);
    if (!first) first = func;
  }
  for (uint32_t number = 0; number < plan->phase_count; ++number, first = first->next) {
    while (phase && !hlo_tile_is_phase(phase)) phase = phase->next;
    if (!hlo_status_is_ok(hlo_vir_module_status(module))) return;
    emit_phase_func(kernel, target, plan, number, phase, first);
    if (phase) phase = phase->next;
  }
}
