// SPDX-License-Identifier: Apache-2.0
// Products of several narrow elements at a time: their selection, and the layout that puts
// neighbours along the contraction into one lane (see matmul.h).
#include <string.h>

#include "codegen/dot/matmul_impl.h"
#include "codegen/math/math.h"

enum {
  GROUP_BYTES = 4,
  SIGN_BIT = 0x80,
};

// ---- selection of products

static bool is_usual_precision(const hlo_node_t* node) {
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_precision_config);
  for (uint32_t i = 0; config && i < config->count; ++i) {
    if (config->items[i]->i != HLO_PRECISION_DEFAULT) return false;
  }
  return true;
}

static bool is_byte(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_S8 || dtype == HLO_DTYPE_U8;
}

static bool is_byte_product(const hlo_node_t* node) {
  return is_byte(hlo_node_operand_type(node, 0)->dtype) &&
         is_byte(hlo_node_operand_type(node, 1)->dtype);
}

// Returns true if 32-bit accumulators give the result's type: they wrap around alike, or never
// overflow.
static bool is_exact_in_s32(const hlo_node_t* node, double depth) {
  hlo_dtype_t result = node->results[0].type->dtype;
  if (!hlo_dtype_is_integer(result)) return false;
  if (hlo_dtype_size_bytes(result) <= sizeof(int32_t)) return true;
  double largest = depth;
  for (uint32_t i = 0; i < 2; ++i) {
    largest *= hlo_node_operand_type(node, i)->dtype == HLO_DTYPE_S8 ? 128 : 255;
  }
  return largest <= INT32_MAX;
}

// Returns the operands' type if several elements may be multiplied at a time (S8 for all bytes),
// else INVALID.
static hlo_dtype_t narrow_operand(const hlo_node_t* node, hlo_dtype_t accumulators, double depth) {
  hlo_dtype_t a = hlo_node_operand_type(node, 0)->dtype, b = hlo_node_operand_type(node, 1)->dtype;
  if (is_byte_product(node) && is_exact_in_s32(node, depth)) return HLO_DTYPE_S8;
  bool is_half = a == HLO_DTYPE_BF16 || a == HLO_DTYPE_F16;
  bool is_sum = a == b && accumulators == HLO_DTYPE_F32 && is_usual_precision(node);
  return is_half && is_sum ? a : HLO_DTYPE_INVALID;
}

bool hlo_matmul_is_of_quads(const hlo_node_t* node, uint32_t side) {
  const hlo_type_t* type = hlo_node_operand_type(node, side);
  const int64_t count = hlo_type_element_count(type);
  return is_byte_product(node) && type->rank &&
         is_exact_in_s32(node, (double)type->dims[type->rank - 1]) &&
         type->dims[type->rank - 1] >= HLO_TUNING_CODES_MIN_DEPTH &&
         count >= HLO_TUNING_CODES_MIN_ELEMENTS;
}

uint32_t hlo_matmul_group_of(const hlo_target_t* target, const hlo_node_t* node,
                             hlo_dtype_t accumulators, double depth) {
  switch (narrow_operand(node, accumulators, depth)) {
    case HLO_DTYPE_S8: return target->has_dot_u8s8 ? GROUP_BYTES / sizeof(int8_t) : 1;
    case HLO_DTYPE_BF16: return target->has_dot_bf16 ? GROUP_BYTES / sizeof(int16_t) : 1;
    default: return 1;
  }
}

int64_t hlo_matmul_tile_depth(const hlo_target_t* target, const hlo_node_t* node,
                              hlo_dtype_t accumulators, double depth) {
  const hlo_tile_atom_t* atom =
      hlo_matmul_atom(&target->tile, narrow_operand(node, accumulators, depth), true);
  return atom ? atom->depth : 0;
}

static bool fits_stack(const hlo_matmul_t* m) {
  int64_t columns = m->columns.extent, depth = m->depth[0].extent;
  return m->depth_count == 1 && m->columns.from[HLO_MATMUL_B] == 1 &&
         m->rows.extent <= HLO_TUNING_BLOCKED_MAX_ROWS &&
         depth >= HLO_TUNING_BLOCKED_MIN_DEPTH * m->group &&
         columns <= HLO_TUNING_BLOCKED_MAX_COLUMNS &&
         (double)columns * (double)depth > HLO_TUNING_BLOCKED_MIN_ELEMENTS;
}

static double depth_of(const hlo_matmul_t* m) {
  return (double)hlo_matmul_extent(m->depth, m->depth_count);
}

bool hlo_matmul_has_quads(const hlo_matmul_t* m) {
  int64_t group = hlo_matmul_group_of(m->target, m->contraction.node, m->dtype, depth_of(m));
  return m->rows.extent >= HLO_TUNING_GROUPED_MIN_ROWS && group == GROUP_BYTES &&
         m->depth[m->depth_count - 1].extent >= HLO_TUNING_GROUPED_MIN_DEPTH * group;
}

static void choose_dot_group(hlo_matmul_t* m) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const hlo_node_t* node = m->contraction.node;
  double depth = depth_of(m);
  if (m->strategy == HLO_MATMUL_BY_CODES) {
    m->group = HLO_MATMUL_CODES_GROUP;
    return;
  }
  m->group = hlo_matmul_group_of(m->target, node, m->dtype, depth);
  if (m->strategy == HLO_MATMUL_BY_QUADS) return;
  bool is_on_stack = fits_stack(m);
  hlo_dtype_t narrow = narrow_operand(node, m->dtype, depth);
  if (!is_on_stack && hlo_matmul_choose_tiles(m, narrow)) return;
  // For so few rows, converting bf16 in place is as fast, since memory limits the speed.
  bool is_converted = is_on_stack && m->dtype == HLO_DTYPE_F32 && !is_byte_product(node);
  if (m->strategy != HLO_MATMUL_BY_DEPTH &&
      inner->extent >= HLO_TUNING_GROUPED_MIN_DEPTH * m->group &&
      m->rows.extent >= HLO_TUNING_GROUPED_MIN_ROWS && !is_converted) {
    if (is_on_stack && m->group > 1) m->operands[HLO_MATMUL_B].packing = HLO_MATMUL_ON_STACK;
    return;
  }
  m->group = 1;
}

void hlo_matmul_choose_group(hlo_matmul_t* m) {
  hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  if (!m->is_convolution) {
    choose_dot_group(m);
  } else if (m->group > 1) {
    hlo_matmul_choose_tiles(m, narrow_operand(m->contraction.node, m->dtype, depth_of(m)));
  }
  int64_t group = m->group;
  m->last_group = 1;
  if (group == 1) return;
  for (uint32_t side = 0; side < 2; ++side) {
    m->group_from[side] = inner->from[side];
    inner->from[side] *= group;
  }
  inner->together = group;
  m->last_group = (uint32_t)((inner->extent - 1) % group) + 1;
  inner->extent = (inner->extent + group - 1) / group;
  if (is_byte_product(m->contraction.node)) m->dtype = HLO_DTYPE_S32;
}

// ---- products

hlo_vir_value_t* hlo_matmul_add_groups(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                                       hlo_vir_value_t* sum, hlo_vir_value_t* x,
                                       hlo_vir_value_t* y) {
  if (m->dtype == HLO_DTYPE_F32) return hlo_vir_ternary(b, HLO_VIR_dot_bf16, x, y, sum);
  // x is the unsigned operand exactly if y, which is never flipped, is signed.
  bool is_x_first = m->operands[HLO_MATMUL_B].dtype == HLO_DTYPE_S8;
  return hlo_vir_ternary(b, HLO_VIR_dot_u8s8, is_x_first ? x : y, is_x_first ? y : x, sum);
}

hlo_vir_value_t* hlo_matmul_flip(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                                 hlo_vir_value_t* value) {
  if (!hlo_matmul_is_flipped(m)) return value;
  uint64_t signs = value->type.elem == HLO_VIR_I8 ? SIGN_BIT : SIGN_BIT * UINT64_C(0x01010101);
  return hlo_vir_binary(b, HLO_VIR_xor, value, hlo_vir_const_bits(b, value->type, signs));
}

// ---- packing

hlo_vir_value_t* hlo_matmul_permute(hlo_vir_builder_t* b, hlo_vir_value_t* value,
                                    const uint8_t* order) {
  static const hlo_vir_elem_t integers[] = {HLO_VIR_I8, HLO_VIR_I16, HLO_VIR_I32, HLO_VIR_I64};
  hlo_vir_type_t type = value->type;
  uint8_t indices[HLO_VIR_MAX_LANES * sizeof(int64_t)] = {0};
  uint32_t bytes = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8;
  for (uint32_t i = 0; i < type.lanes; ++i) indices[i * bytes] = order[i];
  uint32_t blob = hlo_vir_module_add_blob(b->module, indices, type.lanes * bytes);
  hlo_vir_value_t* operands[] = {
      value, hlo_vir_emit(b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL)};
  hlo_vir_type_t index = {integers[__builtin_ctz(bytes)], type.lanes};
  operands[1] = hlo_vir_emit(b, HLO_VIR_load, index, HLO_VIR_INVARIANT, 0, 1, &operands[1]);
  return hlo_vir_emit(b, HLO_VIR_permute, type, 0, 0, 2, operands);
}

hlo_vir_value_t* hlo_matmul_join(hlo_vir_builder_t* b, hlo_vir_value_t** parts, uint32_t count) {
  for (; count > 1; count /= 2) {
    for (uint32_t i = 0; i < count / 2; ++i) {
      hlo_vir_type_t type = {parts[2 * i]->type.elem, (uint8_t)(2 * parts[2 * i]->type.lanes)};
      parts[i] = hlo_vir_emit(b, HLO_VIR_join, type, 0, 0, 2, &parts[2 * i]);
    }
  }
  return parts[0];
}

hlo_vir_value_t* hlo_matmul_interleave(hlo_vir_builder_t* b, hlo_vir_value_t* const* rows,
                                       uint32_t count) {
  hlo_vir_value_t* parts[GROUP_BYTES];
  memcpy(parts, rows, count * sizeof *rows);
  hlo_vir_value_t* joined = hlo_matmul_join(b, parts, count);
  if (rows[0]->type.lanes == 1) return joined;
  uint8_t order[HLO_VIR_MAX_LANES];
  for (uint32_t i = 0; i < joined->type.lanes; ++i) {
    order[i] = (uint8_t)(i % count * rows[0]->type.lanes + i / count);
  }
  return hlo_matmul_permute(b, joined, order);
}

static hlo_vir_value_t* load_elements(hlo_vir_builder_t* b, hlo_vir_value_t* base,
                                      hlo_vir_type_t type, uint32_t active) {
  hlo_vir_value_t* operands[] = {base, NULL, hlo_matmul_first_lanes(b, type.lanes, active)};
  return hlo_vir_emit(b, HLO_VIR_load, type, 0, 0, 3, operands);
}

// Loads whole groups whose elements are contiguous in place.
static hlo_vir_value_t* load_whole(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                                   const hlo_matmul_lanes_t* at, hlo_vir_type_t element) {
  if (at->stride == m->group || at->lanes == 1) {
    hlo_vir_type_t type = {element.elem, (uint8_t)(at->lanes * m->group)};
    return load_elements(b, at->from, type, at->active * m->group);
  }
  int64_t bytes = GROUP_BYTES / m->group * at->stride;
  hlo_vir_type_t type = hlo_vir_type(HLO_VIR_I32, at->lanes);
  hlo_vir_value_t* index = hlo_matmul_lane_offsets(b, at->lanes, bytes);
  hlo_vir_value_t* operands[] = {at->from, index,
                                 hlo_matmul_first_lanes(b, type.lanes, at->active)};
  return hlo_vir_emit(b, HLO_VIR_gather, type, 0, 0, 3, operands);
}

hlo_vir_value_t* hlo_matmul_load_groups(const hlo_matmul_t* m, hlo_vir_builder_t* b, uint32_t side,
                                        const hlo_matmul_lanes_t* at) {
  hlo_dtype_t dtype = m->operands[side].dtype;
  hlo_vir_type_t element = hlo_vmath_memory_type(dtype, at->lanes);
  int64_t step = m->group_from[side] * (int64_t)hlo_dtype_size_bytes(dtype);
  hlo_vir_value_t* value;
  if (m->group_from[side] == 1 && at->parts == m->group) {
    value = load_whole(m, b, at, element);
  } else {
    hlo_vir_value_t* rows[GROUP_BYTES];
    for (uint32_t i = 0; i < m->group; ++i) {
      rows[i] = i < at->parts
                    ? load_elements(b, hlo_add(b, at->from, i * step), element, at->active)
                    : hlo_vir_const_bits(b, element, 0);
    }
    value = hlo_matmul_interleave(b, rows, m->group);
  }
  return side == HLO_MATMUL_A ? hlo_matmul_flip(m, b, value) : value;
}
