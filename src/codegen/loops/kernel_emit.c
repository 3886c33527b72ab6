// SPDX-License-Identifier: Apache-2.0
// Emits the vector IR of a kernel: loops over the output, reductions as loops at the outermost
// position where their operands are known, and one pass over the instances for the rest (see
// kernel_impl.h, tiled.h).
#include <string.h>

#include "base/mem.h"
#include "codegen/body/call_site.h"
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/loops/tile_kernel.h"
#include "codegen/math/math.h"

// ---- leaves

static uint32_t load_flags(const hlo_emitter_t* e) {
  return e->mask_depth ? 0 : HLO_VIR_INVARIANT;
}

// Returns the value that the surrounding program passes instead of memory, or NULL.
static hlo_vir_value_t* given_value(const hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  return e->values ? e->values[tiled->input] : NULL;
}

// Returns true if the lanes run along a row that is read for the last time, in a pass that computes
// more than it reads: a cached row (kernel_row_cache.c), or a row of an input larger than all
// caches in a kernel that stores little. Plain sums are as fast as memory without prefetches.
static bool is_last_pass(const hlo_emitter_t* e, const hlo_tiled_t* load) {
  const hlo_tiling_t* tiling = e->tiling;
  const hlo_tiled_t* last = e->cached.reduction;
  if (!e->is_streaming) {
    size_t bytes = hlo_type_size_bytes(load->value->type);
    if (!hlo_target_is_large(e->kernel->target, bytes)) return false;
    last = NULL;
    for (uint32_t i = 0; i < tiling->instance_count; ++i) {
      if (tiling->instances[i]->kind == HLO_TILED_REDUCE) last = tiling->instances[i];
    }
    bool is_sum = last && hlo_tiled_reducer(last->value->def, 0) == HLO_OP_add;
    if (is_sum && !hlo_tiling_needs_reduction(tiling, last)) return false;
  }
  return last && hlo_tiled_space_mask(&tiling->spaces[last->reduction]) >> e->lane_loop & 1;
}

// Returns true if a reduction has read the same array before.
static bool is_read_twice(const hlo_emitter_t* e, const hlo_tiled_t* load) {
  const hlo_tiling_t* tiling = e->tiling;
  uint64_t output_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* other = tiling->instances[i];
    bool is_same = other->kind == HLO_TILED_LOAD && other->input == load->input;
    if (is_same && (other->loops & ~output_loops)) return true;
  }
  return false;
}

// Returns the distance in bytes to memory that will be read soon and that the hardware does not
// prefetch: operands of kernels that store past the caches, and the next row if this row is in the
// caches. 0: nothing.
static int64_t prefetch_distance(const hlo_emitter_t* e, const hlo_tiled_t* load, int64_t bytes) {
  const hlo_kernel_t* kernel = e->kernel;
  int64_t line_bytes = hlo_target_line_bytes(kernel->target);
  if (e->mask || hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES) || bytes * e->lanes < line_bytes) {
    return 0;
  }
  bool is_output = hlo_tiled_space_mask(&e->tiling->spaces[0]) >> e->lane_loop & 1;
  if (is_output ? !e->is_streaming : !is_last_pass(e, load)) return 0;
  int64_t otherwise = is_output ? HLO_TUNING_PREFETCH_BYTES : 0;
  uint32_t rows = kernel->loop_count - hlo_kernel_has_lanes(kernel);  // loops around
  if (rows == 0 || (is_output && !is_read_twice(e, load))) return otherwise;
  int64_t next = hlo_expr_coefficient(load->offset, kernel->loops[rows - 1]) * bytes;
  if (next <= 0 || next > HLO_TUNING_LONG_ROW_BYTES) return otherwise;
  return next < HLO_TUNING_SHORT_ROW_BYTES ? HLO_TUNING_PREFETCH_BYTES : next;
}

void hlo_emit_prefetch(hlo_emitter_t* e, hlo_dtype_t dtype, const hlo_element_address_t* address,
                       int64_t distance) {
  hlo_vir_value_t* operands[] = {address->base, address->index};
  hlo_vir_emit(e->b, HLO_VIR_prefetch, hlo_vir_type(HLO_VIR_VOID, 0),
               (uint32_t)__builtin_ctzll(hlo_dtype_size_bytes(dtype)),
               address->offset_bytes + distance, 2, operands);
}

static hlo_vir_value_t* emit_load(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = hlo_emitter_dtype(e, tiled->value);
  hlo_vir_value_t* given = given_value(e, tiled);
  if (given && given->type.lanes > 1) return hlo_emit_from_vector(e, tiled, given);
  if (given && dtype != tiled->value->type->dtype) {
    return hlo_vmath_to_memory(e->b, tiled->value->type->dtype, given);
  }
  if (given) return hlo_scalar_is_index(dtype) ? hlo_scalar_to_lane(e->b, dtype, given) : given;
  hlo_vir_value_t* base = e->addresses[tiled->input];
  if (!hlo_emitter_has_lanes(e, tiled->loops)) {
    hlo_element_address_t address = hlo_emit_address(e, base, tiled->offset, dtype);
    address.flags = load_flags(e);
    return hlo_elementwise_load(e->b, dtype, 1, &address);
  }
  if (hlo_tiled_lane_access(tiled->offset, e->lane_loop) == HLO_LANE_PLAIN) {
    hlo_element_address_t address = hlo_emit_address(e, base, tiled->offset, dtype);
    address.mask = e->mask;
    address.flags = load_flags(e);
    int64_t distance = prefetch_distance(e, tiled, (int64_t)hlo_dtype_size_bytes(dtype));
    if (distance) hlo_emit_prefetch(e, dtype, &address, distance);
    return hlo_elementwise_load(e->b, dtype, e->lanes, &address);
  }
  hlo_vir_value_t* small = hlo_emit_small_load(e, tiled, load_flags(e));
  if (small) return small;
  hlo_vir_value_t* strided = hlo_emit_strided_load(e, tiled, load_flags(e));
  if (strided) return strided;
  hlo_vir_value_t* window = hlo_emit_window_load(e, tiled, load_flags(e));
  if (window) return window;
  hlo_vir_value_t* looked_up = hlo_emit_table_load(e, tiled, load_flags(e));
  if (looked_up) return looked_up;
  const hlo_type_t* type = tiled->value->type;
  bool is_small = hlo_type_size_bytes(type) < (size_t)1 << 31;
  hlo_vir_value_t* index =
      hlo_emit_vector_index(e, is_small ? HLO_VIR_I32 : HLO_VIR_I64, tiled->offset);
  hlo_element_address_t address = {.base = base, .mask = e->mask, .flags = load_flags(e)};
  return hlo_elementwise_gather(e->b, dtype, e->lanes, &address, index);
}

static hlo_vir_value_t* emit_iota(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->value->type->dtype;
  bool is_small = tiled->offset->low >= INT32_MIN && tiled->offset->high <= INT32_MAX &&
                  hlo_elementwise_register_bytes(dtype) <= 4;
  hlo_vir_elem_t elem = is_small ? HLO_VIR_I32 : HLO_VIR_I64;
  hlo_vir_value_t* value;
  if (hlo_emitter_has_lanes(e, tiled->loops)) {
    value = hlo_emit_vector_index(e, elem, tiled->offset);
  } else {
    value = hlo_emit_index(e, tiled->offset);
    value = hlo_vir_emit(e->b, HLO_VIR_splat_index, hlo_vir_type(elem, 1), 0, 0, 1, &value);
  }
  return hlo_elementwise_from_integer(e->b, dtype, value);
}

static hlo_vir_value_t* emit_constant(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes) {
  const hlo_literal_t* literal = hlo_node_attr(tiled->value->def, HLO_ATTR_value)->literal;
  return hlo_elementwise_constant(e->b, hlo_emitter_dtype(e, tiled->value), lanes,
                                  hlo_literal_element(literal, 0));
}

hlo_vir_elem_t hlo_emit_lane_integer(const hlo_emitter_t* e, uint32_t lanes) {
  uint32_t bytes = e->kernel->target->vector_bytes / lanes;
  return bytes == 1   ? HLO_VIR_I8
         : bytes == 2 ? HLO_VIR_I16
         : bytes == 4 ? HLO_VIR_I32
                      : HLO_VIR_I64;
}

hlo_vir_value_t* hlo_emit_mask_to_integer(hlo_emitter_t* e, hlo_vir_value_t* mask) {
  hlo_vir_type_t type = hlo_vir_type(hlo_emit_lane_integer(e, mask->type.lanes), mask->type.lanes);
  return hlo_vir_ternary(e->b, HLO_VIR_select, mask, hlo_vir_const_bits(e->b, type, UINT64_MAX),
                         hlo_vir_const_bits(e->b, type, 0));
}

hlo_vir_value_t* hlo_emit_integer_to_mask(hlo_emitter_t* e, hlo_vir_value_t* value) {
  return hlo_vir_compare(e->b, HLO_VIR_scmp, HLO_VIR_NE, value,
                         hlo_vir_const_bits(e->b, value->type, 0));
}

hlo_vir_value_t* hlo_emit_wide(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes) {
  if (tiled->kind == HLO_TILED_CONSTANT) return emit_constant(e, tiled, lanes);
  hlo_vir_value_t* value = hlo_emit_value(e, tiled);
  if (value->type.lanes == lanes) return value;
  if (value->type.elem == HLO_VIR_MASK) {
    value = hlo_emit_mask_to_integer(e, value);
    hlo_vir_type_t wide = hlo_vir_type(hlo_emit_lane_integer(e, lanes), lanes);
    if (value->type.elem != wide.elem) {
      value = hlo_vir_convert(e->b, HLO_VIR_trunc, (hlo_vir_elem_t)wide.elem, value);
    }
    return hlo_emit_integer_to_mask(e, hlo_vir_emit(e->b, HLO_VIR_splat, wide, 0, 0, 1, &value));
  }
  hlo_vir_type_t type = hlo_vir_type((hlo_vir_elem_t)value->type.elem, lanes);
  return hlo_vir_emit(e->b, HLO_VIR_splat, type, 0, 0, 1, &value);
}

// ---- values

// Sets `result` if the condition holds; the operand is read nowhere else.
static void set_if(hlo_emitter_t* e, hlo_vir_value_t* condition, hlo_vir_value_t* result,
                   const hlo_tiled_t* operand) {
  hlo_vir_begin_if(e->b, condition);
  ++e->mask_depth;
  hlo_vir_set(e->b, result, hlo_emit_wide(e, operand, result->type.lanes));
  --e->mask_depth;
  hlo_vir_end(e->b);
  hlo_emitter_close_block(e);
}

// Returns true if a value may be read where its mask is false: padding may, an operand of a
// concatenation may not, even if its position depends on run-time values only.
static bool may_read_outside_mask(const hlo_tiled_t* tiled) {
  if (tiled->kind == HLO_TILED_CONSTANT) return true;
  return tiled->kind == HLO_TILED_LOAD && tiled->loops == 0 && tiled->offset->low >= 0 &&
         tiled->offset->high < hlo_type_element_count(tiled->value->type);
}

static hlo_vir_value_t* emit_guard(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  static const uint8_t zero[16];
  hlo_vir_builder_t* b = e->b;
  uint32_t lanes = hlo_emitter_has_lanes(e, tiled->loops) ? e->lanes : 1;
  const hlo_tiled_t* outside = tiled->operands[1];
  hlo_vir_value_t* offset = hlo_emit_index(e, tiled->offset);
  hlo_vir_value_t* is_inside = hlo_vir_index(
      b, HLO_VIR_iand, hlo_vir_icmp(b, HLO_VIR_GE, offset, hlo_vir_iconst(b, tiled->low)),
      hlo_vir_icmp(b, HLO_VIR_LT, offset, hlo_vir_iconst(b, tiled->end)));
  bool is_duplicated = may_read_outside_mask(outside);
  hlo_dtype_t dtype = hlo_emitter_dtype(e, tiled->value);
  hlo_vir_value_t* result =
      hlo_vir_var(b, is_duplicated ? hlo_emit_wide(e, outside, lanes)
                                   : hlo_elementwise_constant(b, dtype, lanes, zero));
  set_if(e, is_inside, result, tiled->operands[0]);
  if (!is_duplicated) {
    set_if(e, hlo_vir_icmp(b, HLO_VIR_EQ, is_inside, hlo_vir_iconst(b, 0)), result, outside);
  }
  return result;
}

static bool is_scalar_compute(const hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  return tiled->kind == HLO_TILED_COMPUTE && !hlo_emitter_has_lanes(e, tiled->loops) &&
         hlo_scalar_supports(tiled->value->def);
}

static hlo_vir_value_t* emit_scalar(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->value->type->dtype;
  hlo_vir_value_t* operands[4];
  if (is_scalar_compute(e, tiled)) {
    for (uint32_t i = 0; i < tiled->operand_count; ++i) {
      operands[i] = hlo_emit_scalar(e, tiled->operands[i]);
    }
    return hlo_scalar_emit(e->b, tiled->value->def, operands);
  }
  if (tiled->kind == HLO_TILED_CONSTANT) {
    const hlo_literal_t* literal = hlo_node_attr(tiled->value->def, HLO_ATTR_value)->literal;
    return hlo_scalar_constant(e->b, dtype, hlo_literal_element(literal, 0));
  }
  if (tiled->kind == HLO_TILED_LOAD && !e->done[tiled->number]) {
    hlo_vir_value_t* given = given_value(e, tiled);
    if (given) return given;
    hlo_element_address_t address =
        hlo_emit_address(e, e->addresses[tiled->input], tiled->offset, dtype);
    address.flags = load_flags(e);
    return hlo_scalar_load(e->b, dtype, &address);
  }
  return hlo_scalar_from_lane(e->b, dtype, hlo_emit_value(e, tiled));
}

hlo_vir_value_t* hlo_emit_scalar(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  if (e->scalars[tiled->number]) return e->scalars[tiled->number];
  uint32_t debug_id = e->b->debug_id;
  if (tiled->value->def) e->b->debug_id = hlo_call_site_number(tiled->value->def);
  hlo_vir_value_t* value = emit_scalar(e, tiled);
  e->b->debug_id = debug_id;
  return e->scalars[tiled->number] = value;
}

static hlo_vir_value_t* emit_compute(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  if (is_scalar_compute(e, tiled)) {
    return hlo_scalar_to_lane(e->b, tiled->value->type->dtype, hlo_emit_scalar(e, tiled));
  }
  hlo_vir_value_t* operands[4];
  uint32_t lanes = hlo_emitter_has_lanes(e, tiled->loops) ? e->lanes : 1;
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    operands[i] = hlo_emit_wide(e, tiled->operands[i], lanes);
  }
  const hlo_node_t* node = tiled->value->def;
  if (node->op == HLO_OP_convert && e->kernel->moves_bits) {
    const hlo_dtype_t from = hlo_node_operand_type(node, 0)->dtype, to = tiled->value->type->dtype;
    if (hlo_vmath_converts_raw(from, to)) return hlo_vmath_convert_raw(e->b, from, to, operands[0]);
  }
  return hlo_elementwise_emit(e->b, node, operands);
}

hlo_vir_value_t* hlo_emit_value(hlo_emitter_t* e, const hlo_tiled_t* tiled) {
  if (e->done[tiled->number]) return e->done[tiled->number];
  uint32_t debug_id = e->b->debug_id;
  if (tiled->value->def) e->b->debug_id = hlo_call_site_number(tiled->value->def);
  hlo_vir_value_t* value = NULL;
  switch (tiled->kind) {
    case HLO_TILED_LOAD: value = emit_load(e, tiled); break;
    case HLO_TILED_CONSTANT: value = emit_constant(e, tiled, 1); break;
    case HLO_TILED_INDEX: value = emit_iota(e, tiled); break;
    case HLO_TILED_COMPUTE:
      value = hlo_emit_cached_row(e, tiled);
      if (value) break;
      value = emit_compute(e, tiled);
      hlo_emit_fill_row_cache(e, tiled, value);
      break;
    case HLO_TILED_MASK: value = emit_guard(e, tiled); break;
    case HLO_TILED_PRODUCT:
    case HLO_TILED_DOT: break;  // never requested
    case HLO_TILED_REDUCE:
      hlo_emit_reduce(e, tiled);
      value = e->done[tiled->number];
      break;
    case HLO_TILED_RESULT:
      e->done[tiled->operands[0]->number] = NULL;
      hlo_emit_reduce(e, tiled->operands[0]);
      value = e->done[tiled->number];
      break;
  }
  e->b->debug_id = debug_id;
  return e->done[tiled->number] = value;
}

// Emits reductions whose operands are known before the next loop opens. Operands under a mask may
// not exist there.
static void emit_ready_reductions(hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (hlo_emit_is_pending(e, i)) hlo_emit_value(e, e->tiling->instances[i]);
  }
}

// Returns output `i`: as INDEX if it is a single element in that form.
static hlo_vir_value_t* emit_output(hlo_emitter_t* e, uint32_t i) {
  const hlo_tiled_t* tiled = e->tiling->outputs[i];
  uint32_t lanes = hlo_emitter_point_lanes(e);
  bool is_value = !e->addresses[e->kernel->fusion->input_count + i];
  bool is_index = lanes == 1 && hlo_scalar_is_index(tiled->value->type->dtype);
  if (is_index && (is_value || e->scalars[tiled->number] || is_scalar_compute(e, tiled))) {
    return hlo_emit_scalar(e, tiled);
  }
  return hlo_emit_wide(e, tiled, lanes);
}

void hlo_emit_store(hlo_emitter_t* e, uint32_t i, hlo_vir_value_t* value) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  uint32_t number = fusion->input_count + i;
  hlo_dtype_t dtype = hlo_emitter_dtype(e, fusion->outputs[i]);
  hlo_dtype_t given = fusion->outputs[i]->type->dtype;
  if (!e->addresses[number]) {
    e->values[number] = dtype == given ? value : hlo_vmath_from_memory(e->b, given, value);
    return;
  }
  hlo_element_address_t address =
      hlo_emit_address(e, e->addresses[number], e->tiling->output_offsets[i], dtype);
  address.mask = e->lane_loop == HLO_NO_LOOP ? NULL : e->mask;
  if (e->is_streaming && hlo_emit_is_aligned(e, e->tiling->output_offsets[i], dtype)) {
    address.flags = HLO_VIR_STREAM;
  }
  if (value->type.elem == HLO_VIR_INDEX) {
    hlo_scalar_store(e->b, dtype, value, &address);
  } else {
    hlo_elementwise_store(e->b, dtype, value, &address);
  }
}

void hlo_emit_point(hlo_emitter_t* e) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  hlo_vir_value_t* values[64];
  uint32_t count = fusion->output_count - fusion->extra_output_count;
  for (uint32_t i = 0; i < count; ++i) values[i] = emit_output(e, i);
  for (uint32_t i = 0; i < count; ++i) hlo_emit_store(e, i, values[i]);
}

void hlo_emit_lanes(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, HLO_UNUSED void* context) {
  hlo_emit_point(e);
}

// ---- loops

// Returns true if the loops from `level` on are so few and so small that they are unrolled
// completely: adjacent iterations then share loads. Never the outermost loop, which runs once.
static bool is_written_out(const hlo_emitter_t* e, uint32_t level,
                           const hlo_vir_interval_t* ranges) {
  const hlo_kernel_t* kernel = e->kernel;
  int64_t points = 1;
  if (level == 0 || kernel->fusion->extra_output_count || e->rows.level < kernel->loop_count)
    return false;
  for (uint32_t i = level; i < kernel->loop_count && points <= HLO_TUNING_UNROLLED_POINTS; ++i) {
    const hlo_vir_value_t *low = ranges[i].low, *end = ranges[i].end;
    if (low->op != HLO_VIR_iconst || end->op != HLO_VIR_iconst) return false;
    int64_t step = hlo_kernel_has_lanes(kernel) && i + 1 == kernel->loop_count ? kernel->lanes : 1;
    points *= (end->imm - low->imm + step - 1) / step;
  }
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    hlo_tiled_kind_t kind = e->tiling->instances[i]->kind;
    if (kind == HLO_TILED_REDUCE || kind == HLO_TILED_MASK) return false;
  }
  return points <= HLO_TUNING_UNROLLED_POINTS &&
         points * e->tiling->instance_count <= HLO_TUNING_UNROLLED_VALUES;
}

static void write_out(hlo_emitter_t* e, uint32_t level, const hlo_vir_interval_t* ranges) {
  uint32_t loop = e->kernel->loops[level];
  for (int64_t at = ranges[level].low->imm; at < ranges[level].end->imm; ++at) {
    e->loops[loop] = hlo_vir_iconst(e->b, at);
    e->bound |= (uint64_t)1 << loop;
    hlo_emit_loops(e, level + 1, ranges);
    hlo_emitter_forget_loop(e, loop);
  }
}

void hlo_emit_vectors(hlo_emitter_t* e, const hlo_vir_interval_t* ranges) {
  const uint32_t lane = e->kernel->loops[e->kernel->loop_count - 1];
  hlo_vir_interval_t rest = {hlo_emit_columns(e, lane, ranges[0]), ranges[0].end};
  const bool is_streaming = e->is_streaming;
  e->is_streaming &= !e->is_minor;
  if (e->is_streaming) rest.low = hlo_emit_until_aligned(e, lane, rest);
  hlo_emit_lane_loop(e, lane, rest, HLO_UNROLL_FREELY, hlo_emit_lanes, NULL);
  e->is_streaming = is_streaming;
  e->aligned_offset = NULL;
}

// Returns the inner loops of this segment: none if there would be a single lane.
static uint32_t inner_loops(const hlo_emitter_t* e) {
  const hlo_kernel_t* kernel = e->kernel;
  const hlo_tiled_loop_t* last = &e->tiling->loops[kernel->loops[kernel->loop_count - 1]];
  return last->end - last->low == 1 ? 0 : hlo_kernel_kinds[kernel->kind].inner_loops;
}

void hlo_emit_loops(hlo_emitter_t* e, uint32_t level, const hlo_vir_interval_t* ranges) {
  const hlo_kernel_t* kernel = e->kernel;
  emit_ready_reductions(e);
  hlo_emit_row_extra_outputs(e, level);
  if (level == kernel->loop_count) {
    hlo_emit_point(e);
    return;
  }
  if (level + inner_loops(e) == kernel->loop_count) {
    hlo_kernel_kinds[kernel->kind].emit_inner(e, ranges + level);
    return;
  }
  if (is_written_out(e, level, ranges)) {
    write_out(e, level, ranges);
    return;
  }
  uint32_t loop = kernel->loops[level];
  hlo_vir_value_t* low = ranges[level].low;
  if (level == e->rows.level) low = hlo_emit_row_blocks(e, level, ranges);
  hlo_emitter_open_loop(e, loop, low, ranges[level].end, 1);
  hlo_emit_loops(e, level + 1, ranges);
  hlo_emitter_close_loop(e, loop);
}

void hlo_emitter_ranges(const hlo_emitter_t* e, const hlo_kernel_segment_t* segment,
                        hlo_vir_value_t* chunk, hlo_vir_interval_t* ranges) {
  const hlo_kernel_t* kernel = e->kernel;
  hlo_vir_builder_t* b = e->b;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    uint32_t loop = kernel->loops[i];
    ranges[i] = (hlo_vir_interval_t){hlo_vir_iconst(b, (*segment)[loop][0]),
                                     hlo_vir_iconst(b, (*segment)[loop][1])};
  }
  if (!chunk) return;
  if (kernel->cut != HLO_KERNEL_CUT_TWO_LOOPS) {
    ranges[0] = hlo_vir_interval_of_chunk(b, chunk, kernel->chunk_size, ranges[0]);
    return;
  }
  hlo_vir_value_t* parts = hlo_vir_iconst(b, (int64_t)kernel->parts_per_outer);
  hlo_vir_value_t* outer = hlo_vir_index(b, HLO_VIR_idiv, chunk, parts);
  hlo_vir_value_t* part = hlo_vir_index(b, HLO_VIR_irem, chunk, parts);
  ranges[0] = hlo_vir_interval_of_chunk(b, outer, 1, ranges[0]);
  ranges[1] = hlo_vir_interval_of_chunk(b, part, kernel->chunk_size, ranges[1]);
}

// Starts a tiling: no instance is computed yet.
static hlo_status_t use_tiling(hlo_emitter_t* e, hlo_arena_t* scratch, const hlo_tiling_t* tiling) {
  if (hlo_verdict_is_no(&tiling->verdict)) {
    return hlo_verdict_error(&tiling->verdict, HLO_STATUS_INTERNAL, e->kernel->fusion->index);
  }
  e->tiling = tiling;
  e->scratch = scratch;
  e->done = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *e->done);
  e->scalars = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *e->scalars);
  e->is_certain = hlo_arena_array(scratch, tiling->instance_count + 1, sizeof *e->is_certain);
  if (!e->done || !e->scalars || !e->is_certain) return hlo_arena_status(scratch);
  hlo_tiling_mark_certain(tiling, e->is_certain);
  e->bound = 0;
  e->lane_loop = HLO_NO_LOOP;
  e->mask = NULL;
  return hlo_ok();
}

// Returns true if a segment is far smaller than the largest one, and all such segments together are
// small: they are edges.
static bool is_minor(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment) {
  double most = 0, minor = 0, all = 0;
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    double points = hlo_segment_points(kernel, &kernel->segments[i]);
    if (points > most) most = points;
  }
  if (hlo_segment_points(kernel, segment) * HLO_TUNING_MINOR_SEGMENT_SHARE > most) return false;
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    double points = hlo_segment_points(kernel, &kernel->segments[i]);
    all += points;
    if (points * HLO_TUNING_MINOR_SEGMENT_SHARE <= most) minor += points;
  }
  return minor * HLO_TUNING_MINOR_SEGMENTS_SHARE <= all;
}

hlo_status_t hlo_emitter_start_segment(hlo_emitter_t* e, hlo_arena_t* scratch,
                                       const hlo_kernel_segment_t* segment) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_kernel_walk(e->kernel, scratch, segment, &tiling));
  HLO_TRY(use_tiling(e, scratch, tiling));
  e->is_minor = e->kernel->segment_count > 1 && is_minor(e->kernel, segment);
  uint32_t level = hlo_kernel_row_level(e->kernel, tiling);
  e->rows = (hlo_row_block_t){.level = level};
  if (level < e->kernel->loop_count) e->rows.loop = e->kernel->loops[level];
  return hlo_emit_find_cached_row(e);
}

static hlo_status_t emit_segment(hlo_emitter_t* e, hlo_arena_t* scratch, uint32_t number,
                                 hlo_vir_value_t* chunk) {
  const hlo_kernel_segment_t* segment = &e->kernel->segments[number];
  HLO_TRY(hlo_emitter_start_segment(e, scratch, segment));
  hlo_vir_interval_t ranges[HLO_TILED_MAX_LOOPS];
  hlo_emitter_ranges(e, segment, chunk, ranges);
  hlo_emit_loops(e, 0, ranges);
  return hlo_ok();
}

// ---- points of a kernel with a form

static hlo_vir_value_t* loop_or_zero(const hlo_emitter_t* e, hlo_vir_value_t* loop) {
  return loop ? loop : hlo_vir_iconst(e->b, 0);
}

// Restarts at the values of the loops; no instance is computed yet.
static void start_point(hlo_emitter_t* e, const hlo_point_t* point) {
  const hlo_tiling_t* tiling = e->tiling;
  memset(e->done, 0, tiling->instance_count * sizeof *e->done);
  memset(e->scalars, 0, tiling->instance_count * sizeof *e->scalars);
  e->bound = 0;
  for (uint32_t i = 0; i < tiling->spaces[0].loop_count; ++i) {
    e->loops[i] = loop_or_zero(e, point->loops[i]);
    e->bound |= (uint64_t)1 << i;
  }
  e->lanes = point->lanes;
  e->lane_loop = point->lanes > 1 ? point->lane_loop : HLO_NO_LOOP;
  e->mask = point->mask;
}

void hlo_point_emit(const hlo_point_emitter_t* points, const hlo_point_t* point) {
  hlo_emitter_t* e = points->emitter;
  const hlo_tiling_t* tiling = e->tiling;
  start_point(e, point);
  e->mask_depth = 1;  // loads must not move out of it
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (tiling->instances[i]->kind == HLO_TILED_DOT) e->done[i] = point->value;
  }
  hlo_emit_point(e);
}

hlo_vir_value_t* hlo_point_prologue(const hlo_point_emitter_t* points, uint32_t side,
                                    const hlo_point_t* point) {
  hlo_emitter_t* e = points->prologues[side];
  start_point(e, point);
  return hlo_emit_wide(e, e->tiling->outputs[0], point->lanes);
}

hlo_vir_value_t* hlo_point_view_start(const hlo_point_emitter_t* points, uint32_t side) {
  hlo_emitter_t* e = points->prologues[side];
  hlo_vir_value_t* zeros[HLO_TILED_MAX_LOOPS] = {NULL};
  start_point(e, &(hlo_point_t){.loops = zeros, .lanes = 1});
  const hlo_tiled_t* tiled = e->tiling->outputs[0];
  if (tiled->kind == HLO_TILED_COMPUTE) tiled = tiled->operands[0];
  return hlo_emit_index(e, tiled->offset);
}

static hlo_emitter_t make_emitter(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                                  hlo_vir_value_t* const* addresses, hlo_vir_value_t** values) {
  hlo_vir_fence(b);
  return (hlo_emitter_t){.kernel = kernel,
                         .b = b,
                         .addresses = addresses,
                         .values = values,
                         .lane_loop = HLO_NO_LOOP,
                         .lanes = 1};
}

// Emits the segments one after the other inside the loops they share, so that memory is written in
// order.
static hlo_status_t emit_side_by_side(hlo_emitter_t* e, hlo_arena_t* scratch,
                                      hlo_vir_value_t* chunk) {
  const hlo_kernel_t* kernel = e->kernel;
  hlo_vir_interval_t ranges[HLO_TILED_MAX_LOOPS];
  HLO_TRY(hlo_emitter_start_segment(e, scratch, &kernel->segments[0]));
  hlo_emitter_ranges(e, &kernel->segments[0], chunk, ranges);
  for (uint32_t i = 0; i < kernel->common_levels; ++i) {
    hlo_emitter_open_loop(e, kernel->loops[i], ranges[i].low, ranges[i].end, 1);
  }
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    hlo_emitter_t inner = *e;
    HLO_TRY(hlo_emitter_start_segment(&inner, scratch, &kernel->segments[i]));
    inner.bound = e->bound;
    hlo_emitter_ranges(&inner, &kernel->segments[i], chunk, ranges);
    hlo_emit_loops(&inner, kernel->common_levels, ranges);
  }
  for (uint32_t i = kernel->common_levels; i-- > 0;) hlo_emitter_close_loop(e, kernel->loops[i]);
  return hlo_ok();
}

static hlo_status_t emit_all_segments(hlo_emitter_t* e, hlo_arena_t* scratch,
                                      hlo_vir_value_t* chunk) {
  const hlo_kernel_t* kernel = e->kernel;
  if (kernel->common_levels > 0) return emit_side_by_side(e, scratch, chunk);
  const bool is_joined = hlo_kernel_has(kernel, HLO_KERNEL_JOINS_SEGMENTS);
  for (uint32_t i = 0; i < (is_joined ? 1 : kernel->segment_count); ++i) {
    HLO_TRY(emit_segment(e, scratch, i, chunk));
  }
  return hlo_ok();
}

// Donated memory may be less aligned. Long rows begin with unaligned elements; other kernels have
// two versions.
static hlo_status_t emit_streamed(hlo_emitter_t* e, hlo_arena_t* scratch, hlo_vir_value_t* chunk) {
  hlo_vir_builder_t* b = e->b;
  const hlo_fusion_t* fusion = e->kernel->fusion;
  if (hlo_kernel_aligns_rows(e->kernel)) {
    e->is_streaming = true;
    return emit_all_segments(e, scratch, chunk);
  }
  hlo_vir_value_t* bits = hlo_vir_iconst(b, 0);
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    bits = hlo_vir_index(b, HLO_VIR_ior, bits, e->addresses[fusion->input_count + i]);
  }
  hlo_vir_value_t* mask = hlo_vir_iconst(b, (int64_t)e->kernel->target->vector_bytes - 1);
  bits = hlo_vir_index(b, HLO_VIR_iand, bits, mask);
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, bits, hlo_vir_iconst(b, 0)));
  e->is_streaming = e->has_aligned_outputs = true;
  HLO_TRY(emit_all_segments(e, scratch, chunk));
  e->is_streaming = e->has_aligned_outputs = false;
  hlo_vir_begin_else(b);
  HLO_TRY(emit_all_segments(e, scratch, chunk));
  hlo_vir_end(b);
  return hlo_ok();
}

hlo_status_t hlo_emit_segments(hlo_emitter_t* e, hlo_arena_t* scratch, HLO_UNUSED uint32_t phase,
                               hlo_vir_value_t* chunk) {
  return e->kernel->is_streamed ? emit_streamed(e, scratch, chunk)
                                : emit_all_segments(e, scratch, chunk);
}

hlo_status_t hlo_emit_form(hlo_emitter_t* e, hlo_arena_t* scratch, uint32_t phase,
                           hlo_vir_value_t* chunk) {
  const hlo_kernel_t* kernel = e->kernel;
  const hlo_kernel_form_t* form = kernel->form.functions;
  hlo_emitter_t prologues[2];
  hlo_point_emitter_t points = {.emitter = e};
  HLO_TRY(hlo_emitter_start_segment(e, scratch, &kernel->segments[0]));
  for (uint32_t side = 0; side < 2; ++side) {
    hlo_tiling_t* tiling = NULL;
    HLO_TRY(form->walk_operand(kernel, side, scratch, &tiling));
    if (!tiling) continue;
    points.prologues[side] = &prologues[side];
    prologues[side] = *e;
    HLO_TRY(use_tiling(&prologues[side], scratch, tiling));
  }
  uint32_t debug_id = e->b->debug_id;
  e->b->debug_id = hlo_call_site_number(kernel->form.node);
  form->emit(kernel, phase, &points, e->b, e->addresses, chunk);
  e->b->debug_id = debug_id;
  return hlo_ok();
}

void hlo_kernel_emit(const hlo_kernel_t* kernel, uint32_t phase, hlo_vir_builder_t* b,
                     hlo_vir_value_t* const* addresses, hlo_vir_value_t** values,
                     hlo_vir_value_t* chunk) {
  if (kernel->lowered) {
    hlo_kernel_emit_tile(kernel, b, addresses, chunk);
    return;
  }
  hlo_emitter_t e = make_emitter(kernel, b, addresses, values);
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = hlo_kernel_kinds[kernel->kind].emit(&e, &scratch, phase, chunk);
  if (!hlo_status_is_ok(status)) hlo_vir_module_fail(b->module, status);
  hlo_arena_deinit(&scratch);
}
