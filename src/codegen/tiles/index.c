// SPDX-License-Identifier: Apache-2.0
// Positions in a kernel of Tile IR: how lanes find their elements, and where loops stand.
#include "codegen/tiles/lower_impl.h"

hlo_tile_access_t hlo_tile_lane_access(const hlo_expr_t* offset, uint32_t iv) {
  if (iv == HLO_TILE_NO_LANES || !(offset->loops >> iv & 1)) return HLO_TILE_SAME;
  bool is_adjacent = hlo_expr_coefficient(offset, iv) == 1;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = offset->terms[i].atom;
    is_adjacent &= atom->kind == HLO_EXPR_LOOP || !(atom->loops >> iv & 1);
  }
  return is_adjacent ? HLO_TILE_ADJACENT : HLO_TILE_APART;
}

static hlo_vir_value_t* emit_scalar(void* context, const hlo_expr_atom_t* atom) {
  const hlo_tile_emitter_t* e = context;
  hlo_dtype_t dtype = e->ops[atom->number]->dtype;
  hlo_vir_value_t* value = e->done[atom->number];
  if (dtype == HLO_DTYPE_U64) {  // larger ones would be negative indices
    value = hlo_vir_binary(e->b, HLO_VIR_umin, value,
                           hlo_vir_const_bits(e->b, value->type, (uint64_t)atom->high));
  }
  return hlo_scalar_from_lane(e->b, dtype, value);
}

static hlo_vir_value_t* emit_lanes(void* context, const hlo_expr_atom_t* atom,
                                   hlo_dtype_t* out_dtype) {
  hlo_tile_emitter_t* e = context;
  *out_dtype = e->ops[atom->number]->dtype;
  return hlo_tile_operand(e, e->ops[atom->number], e->lanes);
}

static hlo_positions_t positions_of(hlo_tile_emitter_t* e) {
  return (hlo_positions_t){e->b, e->ivs, e->lane_iv, e->lanes, e, emit_scalar, emit_lanes};
}

hlo_vir_value_t* hlo_tile_emit_index(hlo_tile_emitter_t* e, const hlo_expr_t* expr) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit(&positions, expr);
}

hlo_vir_value_t* hlo_tile_emit_lane_index(hlo_tile_emitter_t* e, hlo_vir_elem_t elem,
                                          const hlo_expr_t* expr) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit_lanes(&positions, elem, expr);
}

hlo_element_address_t hlo_tile_emit_address(hlo_tile_emitter_t* e, hlo_vir_value_t* base,
                                            hlo_dtype_t dtype, const hlo_expr_t* offset) {
  const hlo_positions_t positions = positions_of(e);
  return hlo_position_emit_address(&positions, base, dtype, offset);
}
