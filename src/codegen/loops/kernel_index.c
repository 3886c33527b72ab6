// SPDX-License-Identifier: Apache-2.0
// Positions in the loops of a fusion, addresses of elements, and which of them are aligned.
#include "codegen/loops/kernel_emit_impl.h"

static hlo_vir_value_t* emit_scalar(void* context, const hlo_expr_atom_t* atom) {
  hlo_emitter_t* e = context;
  hlo_vir_builder_t* b = e->b;
  const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
  const hlo_dtype_t dtype = tiled->value->type->dtype;
  hlo_vir_value_t* value = hlo_emit_scalar(e, tiled);
  if (dtype != HLO_DTYPE_U64) return value;
  // Larger ones would be negative indices.
  value = hlo_scalar_to_lane(b, dtype, value);
  value = hlo_vir_binary(b, HLO_VIR_umin, value,
                         hlo_vir_const_bits(b, value->type, (uint64_t)atom->high));
  return hlo_scalar_from_lane(b, dtype, value);
}

static hlo_vir_value_t* emit_lanes(void* context, const hlo_expr_atom_t* atom,
                                   hlo_dtype_t* out_dtype) {
  hlo_emitter_t* e = context;
  const hlo_tiled_t* tiled = e->tiling->instances[atom->number];
  *out_dtype = tiled->value->type->dtype;
  return hlo_emit_value(e, tiled);
}

static hlo_positions_t positions_of(hlo_emitter_t* e) {
  return (hlo_positions_t){e->b, e->loops, e->lane_loop, e->lanes, e, emit_scalar, emit_lanes};
}

hlo_vir_value_t* hlo_emit_index(hlo_emitter_t* e, const hlo_expr_t* expr) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit(&positions, expr);
}

hlo_vir_value_t* hlo_emit_common_index(hlo_emitter_t* e, const hlo_expr_t* expr) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit_common(&positions, expr);
}

hlo_vir_value_t* hlo_emit_vector_index(hlo_emitter_t* e, hlo_vir_elem_t elem,
                                       const hlo_expr_t* expr) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit_lanes(&positions, elem, expr);
}

hlo_element_address_t hlo_emit_address(hlo_emitter_t* e, hlo_vir_value_t* base,
                                       const hlo_expr_t* offset, hlo_dtype_t dtype) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit_address(&positions, base, dtype, offset);
}

bool hlo_kernel_may_stream(const hlo_kernel_t* kernel, hlo_dtype_t dtype) {
  // Stores of parts of a line are combined if they are adjacent in time; rows of tiles are not.
  size_t vector_bytes = hlo_dtype_size_bytes(dtype) * kernel->lanes;
  const bool is_row = !hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES);
  return vector_bytes >= (is_row ? HLO_TUNING_STREAM_MIN_BYTES : kernel->target->vector_bytes);
}

bool hlo_emit_is_aligned(const hlo_emitter_t* e, const hlo_expr_t* offset, hlo_dtype_t dtype) {
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype), vector_bytes = bytes * e->lanes;
  if (e->lane_loop == HLO_NO_LOOP || e->mask || !hlo_kernel_may_stream(e->kernel, dtype)) {
    return false;
  }
  if (offset == e->aligned_offset) return true;
  if (!e->has_aligned_outputs || offset->constant * bytes % vector_bytes != 0 ||
      e->tiling->loops[e->lane_loop].low % e->lanes != 0) {
    return false;
  }
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    bool is_lane = term->atom->kind == HLO_EXPR_LOOP && term->atom->number == e->lane_loop;
    if (is_lane ? term->coefficient != 1 : term->coefficient * bytes % vector_bytes != 0) {
      return false;
    }
  }
  return true;
}
