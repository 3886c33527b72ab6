// SPDX-License-Identifier: Apache-2.0
// Kernels whose output fits one vector, whatever its dimensions: a load in another order reads a
// contiguous part of memory and permutes it. The same code reads arrays that the caller of a kernel
// holds in registers, and tables of a few vectors.
#include "codegen/loops/kernel_emit_impl.h"

enum { LANE_LOOP = 0 };

// ---- the element of each lane -------------------------------------------------------------------

static bool depends_on_lane(const hlo_expr_atom_t* atom) {
  return atom->loops >> LANE_LOOP & 1;
}

// Returns true if the lane-dependent part of an expression depends on the lane alone.
static bool is_separable(const hlo_expr_t* expr) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (!depends_on_lane(atom) || atom->kind == HLO_EXPR_LOOP) continue;
    if (atom->kind == HLO_EXPR_VALUE || atom->loops != (uint64_t)1 << LANE_LOOP) return false;
    for (uint32_t k = 0; k < atom->argument->term_count; ++k) {
      if (atom->argument->terms[k].atom->kind != HLO_EXPR_LOOP) return false;
    }
  }
  return true;
}

// Returns the lane-dependent part of a separable expression.
static int64_t share_of_lane(const hlo_expr_t* expr, int64_t lane) {
  const int64_t loops[HLO_TILED_MAX_LOOPS] = {[LANE_LOOP] = lane};
  int64_t sum = 0;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (!depends_on_lane(atom)) continue;
    int64_t value = lane;
    if (atom->kind != HLO_EXPR_LOOP) {
      int64_t argument = hlo_expr_evaluate(atom->argument, loops, NULL);
      int64_t rest = argument % atom->divisor;
      if (rest < 0) rest += atom->divisor;
      value = atom->kind == HLO_EXPR_REMAINDER ? rest : (argument - rest) / atom->divisor;
    }
    sum += expr->terms[i].coefficient * value;
  }
  return sum;
}

typedef struct span {
  int64_t low, high;  // of the lane-dependent parts
} span_t;

static span_t span_of(const hlo_expr_t* expr, int64_t count) {
  span_t span = {INT64_MAX, INT64_MIN};
  for (int64_t lane = 0; lane < count; ++lane) {
    int64_t share = share_of_lane(expr, lane);
    if (share < span.low) span.low = share;
    if (share > span.high) span.high = share;
  }
  return span;
}

// ---- eligible kernels ---------------------------------------------------------------------------

static bool fits_instance(const hlo_tiled_t* tiled, int64_t count, uint32_t lanes) {
  if (!tiled->offset || !(tiled->offset->loops >> LANE_LOOP & 1)) return true;
  if (tiled->kind != HLO_TILED_LOAD) {
    return tiled->kind == HLO_TILED_INDEX &&
           hlo_tiled_lane_access(tiled->offset, LANE_LOOP) != HLO_LANE_UNKNOWN;
  }
  if (hlo_tiled_lane_access(tiled->offset, LANE_LOOP) == HLO_LANE_PLAIN) return true;
  if (tiled->value->type->dtype == HLO_DTYPE_PRED || !is_separable(tiled->offset)) return false;
  span_t span = span_of(tiled->offset, count);
  return span.high - span.low < (int64_t)lanes;
}

bool hlo_kernel_fits_vector(const hlo_tiling_t* tiling, uint32_t lanes) {
  int64_t count = tiling->spaces[0].element_count;
  if (tiling->spaces[0].loop_count != 1 || count < 2 || count > (int64_t)lanes) return false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (!fits_instance(tiling->instances[i], count, lanes)) return false;
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    if (hlo_tiled_lane_access(tiling->output_offsets[i], LANE_LOOP) != HLO_LANE_PLAIN) {
      return false;
    }
  }
  return true;
}

// ---- loads --------------------------------------------------------------------------------------

static hlo_vir_elem_t integer_lanes(hlo_vir_type_t type) {
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  return bits == 8 ? HLO_VIR_I8 : bits == 16 ? HLO_VIR_I16 : bits == 32 ? HLO_VIR_I32 : HLO_VIR_I64;
}

hlo_vir_value_t* hlo_emit_lane_offsets_from(hlo_emitter_t* e, hlo_vir_type_t type, uint32_t count,
                                            const uint8_t* list, hlo_vir_value_t* first) {
  uint8_t bytes[HLO_EMIT_MAX_OFFSETS * sizeof(int64_t)] = {0};
  hlo_vir_type_t offsets = hlo_vir_type(integer_lanes(type), type.lanes);
  uint32_t width = hlo_vir_elem_bits((hlo_vir_elem_t)offsets.elem) / 8;
  for (uint32_t i = 0; i < count; ++i) bytes[i * width] = list[i];
  uint32_t blob = hlo_vir_module_add_blob(e->b->module, bytes, (size_t)width * count);
  hlo_vir_value_t* base =
      hlo_vir_emit(e->b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL);
  uint32_t flags = HLO_VIR_INVARIANT | HLO_VIR_FIXED | (uint32_t)__builtin_ctz(width);
  return hlo_vir_emit(e->b, HLO_VIR_load, offsets, flags, 0, first ? 2 : 1,
                      (hlo_vir_value_t*[]){base, first});
}

hlo_vir_value_t* hlo_emit_lane_offsets(hlo_emitter_t* e, hlo_vir_type_t type,
                                       const uint8_t* lanes) {
  return hlo_emit_lane_offsets_from(e, type, type.lanes, lanes, NULL);
}

// Returns the offset of each lane's element in the loaded part as a constant vector; NULL if the
// order is that of the lanes.
static hlo_vir_value_t* lane_offsets(hlo_emitter_t* e, const hlo_expr_t* offset, int64_t count,
                                     int64_t low, hlo_vir_type_t type) {
  uint8_t offsets[HLO_VIR_MAX_LANES] = {0};
  bool is_identity = true;
  for (int64_t lane = 0; lane < count; ++lane) {
    int64_t offset_of_lane = share_of_lane(offset, lane) - low;
    is_identity &= offset_of_lane == lane;
    offsets[lane] = (uint8_t)offset_of_lane;  // below 64
  }
  return is_identity ? NULL : hlo_emit_lane_offsets(e, type, offsets);
}

// Returns true if the lanes are the whole output.
static bool has_whole_output(const hlo_emitter_t* e) {
  return hlo_kernel_has(e->kernel, HLO_KERNEL_WHOLE) && e->lane_loop == LANE_LOOP;
}

hlo_vir_value_t* hlo_emit_small_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags) {
  if (!has_whole_output(e)) return NULL;
  hlo_vir_builder_t* b = e->b;
  hlo_dtype_t dtype = hlo_emitter_dtype(e, tiled->value);
  int64_t count = e->kernel->spaces[0].element_count;
  span_t span = span_of(tiled->offset, count);
  uint64_t width = (uint64_t)(span.high - span.low + 1);
  hlo_vir_value_t* first = hlo_emit_common_index(e, tiled->offset);
  first = hlo_vir_index(b, HLO_VIR_iadd, first, hlo_vir_iconst(b, span.low));
  first = hlo_vir_index(b, HLO_VIR_imul, first,
                        hlo_vir_iconst(b, (int64_t)hlo_dtype_size_bytes(dtype)));
  hlo_element_address_t address = {
      .base = hlo_vir_index(b, HLO_VIR_iadd, e->addresses[tiled->input], first),
      .mask = hlo_vir_const_mask(b, e->lanes, (uint32_t)width),
      .flags = flags};
  hlo_vir_value_t* value = hlo_elementwise_load(b, dtype, e->lanes, &address);
  hlo_vir_value_t* offsets = lane_offsets(e, tiled->offset, count, span.low, value->type);
  if (!offsets) return value;
  return hlo_vir_binary(b, HLO_VIR_permute, value, offsets);
}

// ---- arrays in registers ------------------------------------------------------------------------

static hlo_vir_value_t* permute_array(hlo_emitter_t* e, hlo_vir_value_t* array,
                                      hlo_vir_value_t* offsets) {
  // Inactive lanes may have any offset.
  hlo_vir_value_t* last = hlo_vir_const_bits(e->b, offsets->type, array->type.lanes - 1);
  offsets = hlo_vir_binary(e->b, HLO_VIR_and, offsets, last);
  return hlo_vir_binary(e->b, HLO_VIR_permute, array, offsets);
}

static hlo_vir_value_t* extract_lane(hlo_emitter_t* e, const hlo_tiled_t* tiled,
                                     hlo_vir_value_t* array) {
  hlo_vir_type_t offsets = hlo_vir_type(integer_lanes(array->type), array->type.lanes);
  hlo_vir_value_t* index = hlo_emit_index(e, tiled->offset);
  if (index->op != HLO_VIR_iconst || index->imm) {
    array =
        permute_array(e, array, hlo_vir_emit(e->b, HLO_VIR_splat_index, offsets, 0, 0, 1, &index));
  }
  while (array->type.lanes > 1) {
    hlo_vir_type_t half = hlo_vir_type((hlo_vir_elem_t)array->type.elem, array->type.lanes / 2);
    array = hlo_vir_emit(e->b, HLO_VIR_lower_half, half, 0, 0, 1, &array);
  }
  return array;
}

hlo_vir_value_t* hlo_emit_from_vector(hlo_emitter_t* e, const hlo_tiled_t* tiled,
                                      hlo_vir_value_t* array) {
  const hlo_expr_t* offset = tiled->offset;
  if (!hlo_emitter_has_lanes(e, tiled->loops)) return extract_lane(e, tiled, array);
  hlo_vir_elem_t elem = integer_lanes(array->type);
  if (!has_whole_output(e)) {
    hlo_vir_value_t* window = hlo_emit_window_offsets(e, offset, array->type);
    if (window) return permute_array(e, array, window);
    // Only for a plain access do all lanes share the index of the first element.
    hlo_vir_value_t* first = hlo_tiled_lane_access(offset, e->lane_loop) == HLO_LANE_PLAIN
                                 ? hlo_emit_index(e, offset)
                                 : NULL;
    bool is_whole = first && first->op == HLO_VIR_iconst && first->imm == 0;
    return is_whole ? array : permute_array(e, array, hlo_emit_vector_index(e, elem, offset));
  }
  hlo_vir_value_t* common = hlo_emit_common_index(e, offset);
  bool is_known = common->op == HLO_VIR_iconst;
  hlo_vir_value_t* offsets = lane_offsets(e, offset, e->kernel->spaces[0].element_count,
                                          is_known ? -common->imm : 0, array->type);
  if (is_known) {
    return offsets ? hlo_vir_binary(e->b, HLO_VIR_permute, array, offsets) : array;
  }
  hlo_vir_type_t type = hlo_vir_type(elem, array->type.lanes);
  if (!offsets) offsets = hlo_vir_emit(e->b, HLO_VIR_lane_iota, type, 0, 0, 0, NULL);
  common = hlo_vir_emit(e->b, HLO_VIR_splat_index, type, 0, 0, 1, &common);
  return permute_array(e, array, hlo_vir_binary(e->b, HLO_VIR_add, offsets, common));
}

// ---- tables -------------------------------------------------------------------------------------

uint32_t hlo_kernel_table_pieces(const hlo_target_t* target, const hlo_tiled_t* tiled,
                                 uint32_t lanes) {
  enum { SSE_BYTES = 16 };
  if (tiled->kind != HLO_TILED_LOAD || tiled->value->type->dtype == HLO_DTYPE_PRED ||
      target->vector_bytes == SSE_BYTES) {
    return 0;
  }
  int64_t count = hlo_type_element_count(tiled->value->type);
  return count <= (int64_t)HLO_TUNING_TABLE_MAX_VECTORS * lanes
             ? (uint32_t)((count + lanes - 1) / lanes)
             : 0;
}

static hlo_vir_value_t* table_piece(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t piece,
                                    uint32_t flags) {
  const hlo_type_t* type = tiled->value->type;
  int64_t first = (int64_t)piece * e->lanes, rest = hlo_type_element_count(type) - first;
  hlo_element_address_t address = {
      .base = e->addresses[tiled->input],
      .offset_bytes = first * (int64_t)hlo_dtype_size_bytes(type->dtype),
      .flags = flags};
  if (rest < (int64_t)e->lanes) {
    address.mask = hlo_vir_const_mask(e->b, e->lanes, (uint32_t)rest);
  }
  return hlo_elementwise_load(e->b, hlo_emitter_dtype(e, tiled->value), e->lanes, &address);
}

hlo_vir_value_t* hlo_emit_table_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags) {
  uint32_t pieces = hlo_kernel_table_pieces(e->kernel->target, tiled, e->lanes);
  hlo_vir_value_t *found = NULL, *offsets = NULL;
  for (uint32_t i = 0; i < pieces; ++i) {
    hlo_vir_value_t* piece = table_piece(e, tiled, i, flags);
    if (!offsets) offsets = hlo_emit_vector_index(e, integer_lanes(piece->type), tiled->offset);
    hlo_vir_value_t* permuted = permute_array(e, piece, offsets);
    if (i == 0) {
      found = permuted;
      continue;
    }
    hlo_vir_value_t* first = hlo_vir_const_bits(e->b, offsets->type, (uint64_t)i * e->lanes);
    hlo_vir_value_t* is_before = hlo_vir_compare(e->b, HLO_VIR_ucmp, HLO_VIR_LT, offsets, first);
    found = hlo_vir_ternary(e->b, HLO_VIR_select, is_before, found, permuted);
  }
  return found;
}
