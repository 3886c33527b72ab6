// SPDX-License-Identifier: Apache-2.0
// Loads with a stride of a few elements between lanes, or backwards: whole vectors are loaded,
// which include the elements between, and permuted.
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"

/// Lane i has element `first + i * step` of `pieces` consecutive vectors.
typedef struct stride {
  uint32_t lanes, pieces;
  int64_t step, first;
} stride_t;

int64_t hlo_kernel_lane_step(const hlo_target_t* target, const hlo_tiled_t* tiled, uint32_t loop) {
  const hlo_expr_t* offset = tiled->offset;
  if (!target->has_permute || hlo_tiled_lane_access(offset, loop) != HLO_LANE_GATHERED) return 0;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_atom_t* atom = offset->terms[i].atom;
    if (atom->kind != HLO_EXPR_LOOP && (atom->loops >> loop & 1)) return 0;
  }
  int64_t step = hlo_expr_coefficient(offset, loop);
  const bool may_gather = tiled->kind == HLO_TILED_INDEX ||
                          hlo_dtype_size_bytes(tiled->value->type->dtype) >= HLO_TILE_GATHER_BYTES;
  const int64_t most =
      may_gather ? HLO_TUNING_STRIDED_MAX_STEP : HLO_TUNING_STRIDED_MAX_NARROW_STEP;
  return step >= -most && step <= most ? step : 0;
}

hlo_vir_value_t* hlo_emit_active_lanes(hlo_emitter_t* e) {
  const hlo_vir_value_t* mask = e->mask;
  if (!mask) return hlo_vir_iconst(e->b, e->lanes);
  if (mask->op == HLO_VIR_mask_first) return mask->operands[0];
  uint64_t bits = mask->op == HLO_VIR_mask_const ? (uint64_t)mask->imm : 0;
  bool is_first = bits && !(bits & (bits + 1));
  return is_first ? hlo_vir_iconst(e->b, __builtin_popcountll(bits)) : NULL;
}

// Masks the elements of a piece between the first and the last that active lanes need.
static hlo_vir_value_t* piece_mask(hlo_emitter_t* e, const stride_t* stride, uint32_t piece,
                                   hlo_vir_value_t* active) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, stride->lanes);
  int64_t apart = stride->step < 0 ? -stride->step : stride->step;
  int64_t before = (int64_t)piece * stride->lanes;
  hlo_vir_value_t* end = hlo_vir_iconst(b, (stride->lanes - 1) * apart + 1 - before);
  if (stride->step > 0) {  // first + (active - 1) * apart + 1
    end = hlo_vir_index(b, HLO_VIR_imul, active, hlo_vir_iconst(b, apart));
    end =
        hlo_vir_index(b, HLO_VIR_iadd, end, hlo_vir_iconst(b, stride->first + 1 - apart - before));
  }
  hlo_vir_value_t* mask = hlo_vir_emit(b, HLO_VIR_mask_first, type, 0, 0, 1, &end);
  if (stride->step > 0) return mask;
  hlo_vir_value_t* low = hlo_vir_index(b, HLO_VIR_isub, hlo_vir_iconst(b, stride->lanes), active);
  low = hlo_vir_index(b, HLO_VIR_imul, low, hlo_vir_iconst(b, apart));
  low = hlo_vir_index(b, HLO_VIR_iadd, low, hlo_vir_iconst(b, -before));
  hlo_vir_value_t* below = hlo_vir_emit(b, HLO_VIR_mask_first, type, 0, 0, 1, &low);
  return hlo_vir_binary(b, HLO_VIR_mask_and, mask, hlo_vir_unary(b, HLO_VIR_mask_not, below));
}

// Returns the lanes whose element is in the piece.
static hlo_vir_value_t* lanes_of_piece(hlo_emitter_t* e, const stride_t* stride, uint32_t piece) {
  uint64_t bits = 0;
  for (uint32_t lane = 0; lane < stride->lanes; ++lane) {
    int64_t offset = stride->first + lane * stride->step;
    bits |= (uint64_t)(offset / stride->lanes == piece) << lane;
  }
  return hlo_vir_emit(e->b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, stride->lanes), 0,
                      (int64_t)bits, 0, NULL);
}

// Returns the offset of the first lane's element. Ascending lanes start at a multiple of their step
// unless that lies before the array, so that loads of adjacent elements share their pieces.
static int64_t first_offset(const hlo_expr_t* offset, int64_t step, uint32_t lanes) {
  if (step < 0) return (lanes - 1) * -step;
  int64_t first = ((offset->constant % step) + step) % step;
  return offset->low >= first ? first : 0;
}

// Returns true if all of the last piece is inside the array for every value of the loops.
static bool is_last_piece_inside(const hlo_tiled_t* tiled, const stride_t* stride) {
  int64_t past_end = stride->step - 1 - stride->first;
  return stride->step > 0 &&
         tiled->offset->high + past_end < hlo_type_element_count(tiled->value->type);
}

// Large arrays are prefetched: the hardware prefetcher does not follow several rows of lines.
static bool is_prefetched(const hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  int64_t cache_bytes = e->kernel->target->tile.memories[2].capacity_bytes;
  return !e->mask && (int64_t)hlo_type_size_bytes(tiled->value->type) > cache_bytes;
}

hlo_vir_value_t* hlo_emit_strided_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags) {
  hlo_vir_value_t* active = hlo_emit_active_lanes(e);
  hlo_dtype_t dtype = hlo_emitter_dtype(e, tiled->value);
  int64_t step = hlo_kernel_lane_step(e->kernel->target, tiled, e->lane_loop);
  int64_t apart = step < 0 ? -step : step, bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  stride_t stride = {.lanes = e->lanes, .pieces = (uint32_t)apart, .step = step};
  if (step == 0 || !active || apart > stride.lanes) return NULL;
  stride.first = first_offset(tiled->offset, step, stride.lanes);
  if (step > 0 && active->op == HLO_VIR_iconst && active->imm > 0) {
    stride.pieces = (uint32_t)((stride.first + (active->imm - 1) * step) / stride.lanes) + 1;
  }
  bool fetches = apart > 1 && is_prefetched(e, tiled);
  bool is_inside = apart == 1 || is_last_piece_inside(tiled, &stride);
  hlo_element_address_t address =
      hlo_emit_address(e, e->addresses[tiled->input], tiled->offset, dtype);
  address.flags = flags;
  address.offset_bytes -= stride.first * bytes;
  uint8_t offsets[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < stride.lanes; ++i) {
    offsets[i] = (uint8_t)((stride.first + i * step) % stride.lanes);
  }
  hlo_vir_value_t *sum = NULL, *permutation = NULL;
  for (uint32_t piece = 0; piece < stride.pieces; ++piece) {
    bool is_whole = !e->mask && (piece + 1 < stride.pieces || is_inside);
    address.mask = is_whole ? NULL : piece_mask(e, &stride, piece, active);
    if (fetches) hlo_emit_prefetch(e, dtype, &address, HLO_TUNING_STRIDED_PREFETCH);
    hlo_vir_value_t* value = hlo_elementwise_load_raw(e->b, dtype, stride.lanes, &address);
    if (!permutation) permutation = hlo_emit_lane_offsets(e, value->type, offsets);
    value = hlo_vir_binary(e->b, HLO_VIR_permute, value, permutation);
    sum = sum ? hlo_vir_ternary(e->b, HLO_VIR_select, lanes_of_piece(e, &stride, piece), value, sum)
              : value;
    address.offset_bytes += stride.lanes * bytes;
  }
  return hlo_vmath_from_memory(e->b, dtype, sum);
}
