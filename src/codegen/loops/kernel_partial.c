// SPDX-License-Identifier: Apache-2.0
// One element reduced from many: chunks leave partial results in scratch memory, and a final call
// combines them.
#include "codegen/loops/kernel_emit_impl.h"

enum { PARTIAL_BYTES = 8 };

void hlo_kernel_plan_partials(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary) {
  if (kernel->cut != HLO_KERNEL_CUT_REDUCTION) return;
  out_summary->phase_count = 2;
  out_summary->scratch_bytes = kernel->chunk_count * kernel->split.partial_count * PARTIAL_BYTES;
}

static const hlo_tiled_t* first_reduction(const hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->tiling->instances[i]->kind == HLO_TILED_REDUCE) return e->tiling->instances[i];
  }
  return NULL;
}

static hlo_vir_value_t* scratch_address(const hlo_emitter_t* e) {
  return e->addresses[e->kernel->fusion->input_count + e->kernel->fusion->output_count];
}

// Returns the address of partial `i` of a chunk, in register form.
static hlo_element_address_t partial_address(hlo_emitter_t* e, hlo_vir_value_t* chunk, uint32_t i) {
  hlo_vir_value_t* bytes = hlo_vir_iconst(e->b, e->kernel->split.partial_count * PARTIAL_BYTES);
  hlo_vir_value_t* row = hlo_vir_index(e->b, HLO_VIR_imul, chunk, bytes);
  return (hlo_element_address_t){.base = hlo_vir_index(e->b, HLO_VIR_iadd, scratch_address(e), row),
                                 .offset_bytes = PARTIAL_BYTES * i};
}

static hlo_status_t emit_partials(hlo_emitter_t* e, hlo_arena_t* scratch, hlo_vir_value_t* chunk) {
  HLO_TRY(hlo_emitter_start_segment(e, scratch, &e->kernel->segments[0]));
  e->chunk = chunk;
  hlo_fused_reductions_t set;
  hlo_reduce_run(e, first_reduction(e), &set);
  e->chunk = NULL;
  for (uint32_t i = 0; i < set.accumulator_count; ++i) {
    hlo_element_address_t at = partial_address(e, chunk, i);
    hlo_vir_value_t* value = set.accumulators[i].vars[0];
    hlo_vir_value_t* operands[] = {value, at.base};
    hlo_vir_emit(e->b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, at.offset_bytes, 2,
                 operands);
  }
  return hlo_ok();
}

static void load_partials(hlo_emitter_t* e, hlo_vir_value_t* chunk, void* context,
                          hlo_vir_value_t** out_values) {
  const hlo_fused_reductions_t* set = context;
  hlo_vir_builder_t* b = e->b;
  for (uint32_t i = 0; i < set->accumulator_count; ++i) {
    hlo_element_address_t at = partial_address(e, chunk, i);
    hlo_vir_value_t* operands[] = {at.base};
    const hlo_vir_type_t wanted = set->accumulators[i].vars[0]->type;
    hlo_vir_type_t type = wanted;
    bool is_mask = set->accumulators[i].dtype == HLO_DTYPE_PRED;
    if (is_mask) type.elem = (uint8_t)hlo_emit_lane_integer(e, e->kernel->lanes);
    out_values[i] = hlo_vir_emit(b, HLO_VIR_load, type, 0, at.offset_bytes, 1, operands);
    if (type.elem == wanted.elem) continue;
    out_values[i] = hlo_vir_convert(b, HLO_VIR_sext, (hlo_vir_elem_t)wanted.elem, out_values[i]);
  }
}

static hlo_status_t finish_partials(hlo_emitter_t* e, hlo_arena_t* scratch) {
  HLO_TRY(hlo_emitter_start_segment(e, scratch, &e->kernel->segments[0]));
  hlo_fused_reductions_t set;
  hlo_reduce_collect(e, first_reduction(e), &set);
  hlo_reduce_start(e, &set, 1);
  hlo_reduce_join_chunks(e, &set, load_partials, &set);
  hlo_reduce_finish(e, &set);
  hlo_emit_point(e);
  return hlo_ok();
}

hlo_status_t hlo_emit_points(hlo_emitter_t* e, hlo_arena_t* scratch, uint32_t phase,
                             hlo_vir_value_t* chunk) {
  if (e->kernel->cut != HLO_KERNEL_CUT_REDUCTION) {
    return hlo_emit_segments(e, scratch, phase, chunk);
  }
  return phase == 0 ? emit_partials(e, scratch, chunk) : finish_partials(e, scratch);
}
