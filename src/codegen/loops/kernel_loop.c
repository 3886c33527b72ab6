// SPDX-License-Identifier: Apache-2.0
// Emits loops over lanes and their remainders; tracks the values that loops invalidate.
#include "codegen/loops/kernel_emit_impl.h"

static bool is_deeper(const hlo_vir_value_t* value, const hlo_vir_block_t* block) {
  return value && value->parent && value->parent->depth > block->depth;
}

void hlo_emitter_close_block(hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (is_deeper(e->done[i], e->b->block)) e->done[i] = NULL;
    if (is_deeper(e->scalars[i], e->b->block)) e->scalars[i] = NULL;
  }
}

hlo_vir_value_t* hlo_emitter_open_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_value_t* low,
                                       hlo_vir_value_t* end, int64_t step) {
  hlo_vir_value_t* counter = hlo_vir_begin_for(e->b, low, end, step, 0);
  e->loops[loop] = counter;
  e->bound |= (uint64_t)1 << loop;
  return counter;
}

void hlo_emitter_forget_loop(hlo_emitter_t* e, uint32_t loop) {
  e->loops[loop] = NULL;
  e->bound &= ~((uint64_t)1 << loop);
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->tiling->instances[i]->loops >> loop & 1) e->done[i] = e->scalars[i] = NULL;
  }
}

void hlo_emitter_close_loop(hlo_emitter_t* e, uint32_t loop) {
  hlo_vir_end(e->b);
  hlo_emitter_forget_loop(e, loop);
  hlo_emitter_close_block(e);
}

static void close_if(hlo_emitter_t* e) {
  hlo_vir_end(e->b);
  hlo_emitter_close_block(e);
}

// Emits vectors, `unroll` per iteration; returns the loop, or NULL for an empty range.
static hlo_vir_value_t* emit_vectors(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range,
                                     uint32_t unroll, hlo_lane_body_t body, void* context) {
  if (hlo_vir_interval_is_empty(range)) return NULL;
  hlo_vir_value_t* counter =
      hlo_emitter_open_loop(e, loop, range.low, range.end, (int64_t)e->lanes * unroll);
  for (uint32_t copy = 0; copy < unroll; ++copy) {
    hlo_emitter_forget_loop(e, loop);
    e->loops[loop] =
        hlo_vir_index(e->b, HLO_VIR_iadd, counter, hlo_vir_iconst(e->b, copy * e->lanes));
    e->bound |= (uint64_t)1 << loop;
    body(e, copy, context);
  }
  hlo_emitter_close_loop(e, loop);
  return counter->op == HLO_VIR_for && counter != range.low ? counter : NULL;
}

// Emits single vectors first to measure their needs; they then serve only the remainder of the
// unrolled loop.
static void emit_free_vectors(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range,
                              hlo_lane_body_t body, void* context) {
  const hlo_target_t* target = e->kernel->target;
  hlo_vir_value_t* ends[HLO_VIR_UNROLL_CHOICES];
  hlo_vir_interval_unroll_ends(e->b, range, e->lanes, ends);
  hlo_vir_value_t* vir_loop = emit_vectors(e, loop, range, 1, body, context);
  const uint32_t choice = (uint32_t)hlo_kernel_config_value(e->kernel->config, HLO_CHOICE_unroll);
  const uint32_t given = choice ? 1u << (choice - 1) : target->unroll;
  const bool is_short = e->is_minor || e->kernel->cost_ns < HLO_TUNING_UNROLL_MIN_NS;
  if (!vir_loop || (is_short && !given)) return;
  const hlo_vir_registers_t registers = {target->vector_registers, target->mask_registers, given};
  hlo_vir_interval_unroll(e->b, vir_loop, range, ends, &registers);
}

// Emits the lanes after the last whole vector: masked, or one by one. Without masks of any kind, a
// known number of lanes may have one, unless a single element needs no vector.
static void emit_rest(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t rest,
                      hlo_lane_body_t body, void* context) {
  if (hlo_vir_interval_is_empty(rest)) return;
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
  bool is_known = count->op == HLO_VIR_iconst, has_masks = e->kernel->target->has_masks;
  if (is_known && e->kernel->target->has_parts) {
    has_masks |= count->imm > 1 || body != hlo_emit_lanes;
  }
  if (!is_known) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
  if (has_masks) {
    hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, e->lanes);
    e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, type, 0, 0, 1, &count);
  } else {
    e->lane_loop = HLO_NO_LOOP;
  }
  hlo_emitter_open_loop(e, loop, rest.low, rest.end, has_masks ? e->lanes : 1);
  body(e, 0, context);
  hlo_emitter_close_loop(e, loop);
  if (!is_known) close_if(e);
}

void hlo_emit_lane_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range, uint32_t unroll,
                        hlo_lane_body_t body, void* context) {
  uint32_t saved_loop = e->lane_loop, saved_lanes = e->lanes;
  hlo_vir_value_t* saved_mask = e->mask;
  e->lane_loop = loop;
  e->lanes = e->kernel->lanes;
  e->mask = NULL;
  if (unroll > 1) {
    hlo_vir_interval_t wide = {range.low,
                               hlo_vir_interval_whole_end(e->b, range, (int64_t)e->lanes * unroll)};
    emit_vectors(e, loop, wide, unroll, body, context);
    range.low = wide.end;
  }
  hlo_vir_interval_t whole = {range.low, hlo_vir_interval_whole_end(e->b, range, e->lanes)};
  if (unroll == HLO_UNROLL_FREELY) {
    emit_free_vectors(e, loop, whole, body, context);
  } else {
    emit_vectors(e, loop, whole, 1, body, context);
  }
  emit_rest(e, loop, (hlo_vir_interval_t){whole.end, range.end}, body, context);
  e->lane_loop = saved_loop;
  e->lanes = saved_lanes;
  e->mask = saved_mask;
}

void hlo_emit_lane_pairs(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range,
                         hlo_vir_value_t* distance, uint32_t unroll, hlo_lane_body_t body,
                         void* context) {
  hlo_vir_builder_t* b = e->b;
  uint32_t saved_loop = e->lane_loop, saved_lanes = e->lanes, each = unroll / 2;
  e->lane_loop = loop;
  e->lanes = e->kernel->lanes;
  hlo_vir_value_t* counter =
      hlo_emitter_open_loop(e, loop, range.low, range.end, (int64_t)e->lanes * each);
  for (uint32_t copy = 0; copy < unroll; ++copy) {
    hlo_vir_value_t* first =
        copy < each ? counter : hlo_vir_index(b, HLO_VIR_iadd, counter, distance);
    hlo_emitter_forget_loop(e, loop);
    e->loops[loop] =
        hlo_vir_index(b, HLO_VIR_iadd, first, hlo_vir_iconst(b, copy % each * e->lanes));
    e->bound |= (uint64_t)1 << loop;
    body(e, copy, context);
  }
  hlo_emitter_close_loop(e, loop);
  e->lane_loop = saved_loop;
  e->lanes = saved_lanes;
}

// Returns the address of an output's element at the loop value `at`.
static hlo_vir_value_t* address_at(hlo_emitter_t* e, uint32_t output, uint32_t loop,
                                   hlo_vir_value_t* at) {
  hlo_vir_builder_t* b = e->b;
  const hlo_fusion_t* fusion = e->kernel->fusion;
  hlo_dtype_t dtype = fusion->outputs[output]->type->dtype;
  e->loops[loop] = at;
  hlo_element_address_t address = hlo_emit_address(e, e->addresses[fusion->input_count + output],
                                                   e->tiling->output_offsets[output], dtype);
  hlo_emitter_forget_loop(e, loop);
  hlo_vir_value_t* sum =
      hlo_vir_index(b, HLO_VIR_iadd, address.base, hlo_vir_iconst(b, address.offset_bytes));
  if (!address.index) return sum;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  return hlo_vir_index(b, HLO_VIR_iadd, sum,
                       hlo_vir_index(b, HLO_VIR_imul, address.index, hlo_vir_iconst(b, bytes)));
}

static bool is_long_row(const hlo_kernel_t* kernel, int64_t elements) {
  return elements >= (int64_t)HLO_TUNING_LONG_ROW_VECTORS * kernel->lanes;
}

// Without masks the remainder of vectors is reduced in another order, and its length must not
// depend on the address of memory.
static bool may_leave_over(const hlo_kernel_t* kernel) {
  return kernel->target->has_masks || kernel->space_count == 1;
}

bool hlo_kernel_aligns_rows(const hlo_kernel_t* kernel) {
  const hlo_fusion_t* fusion = kernel->fusion;
  if (fusion->output_count != 1 || hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES) ||
      !may_leave_over(kernel) || !hlo_kernel_may_stream(kernel, fusion->outputs[0]->type->dtype)) {
    return false;
  }
  uint32_t lane = kernel->loops[kernel->loop_count - 1];
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    const int64_t* row = kernel->segments[i][lane];
    if (is_long_row(kernel, row[1] - row[0])) return true;
  }
  return false;
}

hlo_vir_value_t* hlo_emit_until_aligned(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range) {
  hlo_vir_builder_t* b = e->b;
  const hlo_kernel_t* kernel = e->kernel;
  const hlo_expr_t* offset = e->tiling->output_offsets[0];
  hlo_dtype_t dtype = kernel->fusion->outputs[0]->type->dtype;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  const hlo_tiled_loop_t* row = &e->tiling->loops[loop];
  hlo_emitter_t here = *e;
  here.lane_loop = loop;
  here.lanes = kernel->lanes;
  here.mask = NULL;
  if (!may_leave_over(kernel) || !hlo_kernel_may_stream(kernel, dtype) ||
      !is_long_row(kernel, row->end - row->low) ||
      hlo_tiled_lane_access(offset, loop) != HLO_LANE_PLAIN ||
      hlo_emit_is_aligned(&here, offset, dtype)) {
    return range.low;
  }
  hlo_vir_value_t* missing =
      hlo_vir_index(b, HLO_VIR_isub, hlo_vir_iconst(b, 0), address_at(e, 0, loop, range.low));
  missing = hlo_vir_index(b, HLO_VIR_iand, missing,
                          hlo_vir_iconst(b, bytes * (int64_t)kernel->lanes - 1));
  missing = hlo_vir_index(b, HLO_VIR_idiv, missing, hlo_vir_iconst(b, bytes));
  hlo_vir_value_t* start = hlo_vir_index(b, HLO_VIR_iadd, range.low, missing);
  start = hlo_vir_index(b, HLO_VIR_imin, start, range.end);
  emit_rest(&here, loop, (hlo_vir_interval_t){range.low, start}, hlo_emit_lanes, NULL);
  e->bound = here.bound;
  e->aligned_offset = offset;
  return start;
}
