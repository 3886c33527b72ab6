// SPDX-License-Identifier: Apache-2.0
// Operands of matrix products that are computed where they are packed or read, instead of being
// read from memory. Views of values in memory are read in place (see matmul.h).
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"

enum { WIDE_BYTES = 8 };

// ---- loops of the operand

// Inserts the loop into those that move along the operand, the largest strides first.
static void list_loop(hlo_matmul_dim_t** dims, uint32_t* count, uint32_t side,
                      hlo_matmul_dim_t* dim) {
  if (!dim->from[side]) return;
  uint32_t at = (*count)++;
  for (; at > 0 && dims[at - 1]->from[side] < dim->from[side]; --at) dims[at] = dims[at - 1];
  dims[at] = dim;
}

// Lists the loops that move along an operand, as loops over the index of its elements.
static hlo_verdict_t list_loops(hlo_matmul_t* m, uint32_t side, hlo_matmul_prologue_t* prologue,
                                hlo_matmul_dim_t** dims) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->outer_count; ++i) list_loop(dims, &count, side, &m->outer[i]);
  list_loop(dims, &count, side, &m->rows);
  list_loop(dims, &count, side, &m->columns);
  for (uint32_t i = 0; i < m->depth_count; ++i) list_loop(dims, &count, side, &m->depth[i]);
  const hlo_node_t* node = prologue->value->def;
  if (count > HLO_MATMUL_MAX_LOOPS) {
    return hlo_verdict_beyond(HLO_REASON_PROLOGUE_LOOPS, node, count, HLO_MATMUL_MAX_LOOPS);
  }
  prologue->place_count = count;
  int64_t step = 1;
  for (uint32_t i = count; i-- > 0;) {
    const bool overlaps = dims[i]->from[side] != step || dims[i]->wrap_at;
    if (overlaps) return hlo_verdict_no(HLO_REASON_PROLOGUE_OVERLAP, node);
    step *= dims[i]->extent;
  }
  return step == hlo_type_element_count(prologue->value->type)
             ? hlo_verdict_yes()
             : hlo_verdict_no(HLO_REASON_PROLOGUE_PART, node);
}

// Makes the space of the listed loops, some of which are two loops.
static void make_space(hlo_matmul_prologue_t* prologue, hlo_matmul_dim_t* const* dims) {
  hlo_tiled_space_t* space = &prologue->space;
  *space = (hlo_tiled_space_t){.element_count = hlo_type_element_count(prologue->value->type)};
  for (uint32_t i = 0; i < prologue->place_count; ++i) {
    const int64_t block = prologue->blocks[i];
    if (block) space->extents[space->loop_count++] = dims[i]->extent / block;
    space->extents[space->loop_count++] = block ? block : dims[i]->extent;
  }
}

// Divides the loop of the product that the walk asks to split, once. Returns false if it cannot be
// divided.
static bool add_block(hlo_matmul_prologue_t* prologue, const hlo_tiling_t* tiling) {
  if (tiling->request != HLO_TILED_SPLIT || prologue->space.loop_count == HLO_MATMUL_MAX_LOOPS) {
    return false;
  }
  uint32_t place = 0;
  while (hlo_matmul_inner_loop(prologue, place) < tiling->request_loop) ++place;
  if (prologue->blocks[place]) return false;
  prologue->blocks[place] = tiling->request_at;
  return true;
}

static hlo_status_t walk_once(const hlo_kernel_t* kernel, const hlo_matmul_prologue_t* prologue,
                              hlo_arena_t* arena, hlo_tiling_t** out_tiling) {
  hlo_fusion_t* fusion = hlo_arena_alloc(arena, sizeof *fusion);
  hlo_value_t** output = hlo_arena_array(arena, 1, sizeof(*output));
  HLO_TRY(hlo_arena_status(arena));
  *output = prologue->value;
  *fusion = (hlo_fusion_t){.input_count = kernel->fusion->input_count,
                           .inputs = kernel->fusion->inputs,
                           .output_count = 1,
                           .outputs = output};
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(fusion, arena, &tiling));
  tiling->space_count = 1;
  tiling->spaces[0] = prologue->space;
  HLO_TRY(hlo_tiling_walk(tiling, NULL, false));
  *out_tiling = tiling;
  return hlo_ok();
}

hlo_status_t hlo_matmul_walk_prologue(const hlo_kernel_t* kernel,
                                      const hlo_matmul_prologue_t* prologue, hlo_arena_t* arena,
                                      hlo_tiling_t** out_tiling) {
  HLO_TRY(walk_once(kernel, prologue, arena, out_tiling));
  hlo_tiling_t* tiling = *out_tiling;
  if (!hlo_verdict_is_no(&tiling->verdict) && tiling->request) {
    tiling->verdict = hlo_verdict_no(HLO_REASON_PROLOGUE_SPLIT, prologue->value->def);
  }
  return hlo_ok();
}

// Walks the prologue, and divides loops into blocks until every element's position is a multiple
// of each loop, as that of the scale of a block is.
static hlo_status_t walk_in_blocks(const hlo_kernel_t* kernel, hlo_matmul_prologue_t* prologue,
                                   hlo_matmul_dim_t* const* dims, hlo_arena_t* arena,
                                   hlo_tiling_t** out_tiling) {
  for (;;) {
    make_space(prologue, dims);
    HLO_TRY(walk_once(kernel, prologue, arena, out_tiling));
    const hlo_tiling_t* tiling = *out_tiling;
    if (hlo_verdict_is_no(&tiling->verdict) || !tiling->request) return hlo_ok();
    if (!add_block(prologue, tiling)) break;
  }
  (*out_tiling)->verdict = hlo_verdict_no(HLO_REASON_PROLOGUE_SPLIT, prologue->value->def);
  return hlo_ok();
}

// ---- computation of the operand

static double elements_of(const hlo_tiling_t* tiling, uint64_t loops) {
  double count = 1;
  for (uint32_t i = 0; i < tiling->loop_count; ++i) {
    if (loops >> i & 1) count *= (double)tiling->loops[i].end;
  }
  return count;
}

static void note_load(hlo_matmul_prologue_t* prologue, const hlo_tiling_t* tiling,
                      const hlo_tiled_t* tiled, const hlo_target_t* target) {
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(tiled->value->type->dtype);
  prologue->inputs |= (uint64_t)1 << tiled->input;
  if (hlo_type_size_bytes(tiled->value->type) > INT32_MAX) prologue->widest_bytes = WIDE_BYTES;
  prologue->read_bytes += elements_of(tiling, tiled->loops) * (double)bytes;
  prologue->vector_ops += 1;
  double gathering = hlo_tile_gather_loads(&target->tile, bytes);
  for (uint32_t i = 0; i < tiling->loop_count; ++i) {
    hlo_lane_access_t access = hlo_tiled_lane_access(tiled->offset, i);
    bool is_found =
        access == HLO_LANE_SAME || access == HLO_LANE_PLAIN ||
        (access == HLO_LANE_GATHERED && gathering >= 0 && bytes >= HLO_TILE_GATHER_BYTES);
    if (!is_found) prologue->lane_loops &= ~((uint64_t)1 << i);
  }
}

// Returns the input of which most bytes are read. Returns NULL without inputs, or if an op does not
// compute element by element.
static const hlo_tiled_t* inspect(hlo_matmul_prologue_t* prologue, const hlo_tiling_t* tiling,
                                  const hlo_target_t* target) {
  const hlo_tiled_t* largest = NULL;
  double most = 0;
  prologue->lane_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  bool is_scalar[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_scalars(tiling, is_scalar);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    uint32_t bytes = hlo_elementwise_register_bytes(tiled->value->type->dtype);
    if (bytes > prologue->widest_bytes && !is_scalar[i]) prologue->widest_bytes = bytes;
    if (tiled->offset && hlo_expr_unresolved(tiled->offset)) return NULL;
    switch (tiled->kind) {
      case HLO_TILED_CONSTANT:
      case HLO_TILED_INDEX: break;
      case HLO_TILED_COMPUTE:
        prologue->vector_ops += hlo_elementwise_cost(tiled->value->def);
        break;
      case HLO_TILED_LOAD: {
        note_load(prologue, tiling, tiled, target);
        double elements = elements_of(tiling, tiled->loops);
        if (elements > most) largest = tiled;
        if (elements > most) most = elements;
        break;
      }
      default: return NULL;
    }
  }
  return largest;
}

// Returns the input that the operand is a view of, or whose elements it converts to the type of the
// multiplication. Returns NULL if more is computed.
static const hlo_tiled_t* find_viewed(const hlo_matmul_t* m, const hlo_tiling_t* tiling) {
  const hlo_tiled_t* tiled = tiling->outputs[0];
  if (tiled->kind == HLO_TILED_COMPUTE && tiled->value->def->op == HLO_OP_convert &&
      tiled->value->type->dtype == m->contraction.dtype) {
    tiled = tiled->operands[0];
  }
  bool is_number = tiled->value->type->dtype != HLO_DTYPE_PRED;
  return tiled->kind == HLO_TILED_LOAD && is_number ? tiled : NULL;
}

// Returns true if the offset depends on the loops only by multiples, none of them negative.
static bool is_forward(const hlo_expr_t* offset) {
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    const hlo_expr_term_t* term = &offset->terms[i];
    bool is_value = term->atom->kind == HLO_EXPR_VALUE;
    if (is_value ? term->atom->loops != 0 : term->coefficient < 0) return false;
  }
  return true;
}

static bool has_value(const hlo_expr_t* offset) {
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    if (offset->terms[i].atom->kind == HLO_EXPR_VALUE) return true;
  }
  return false;
}

hlo_status_t hlo_matmul_find_prologue(hlo_matmul_t* m, const hlo_kernel_t* kernel, uint32_t side) {
  hlo_matmul_operand_t* operand = &m->operands[side];
  hlo_matmul_prologue_t* prologue = &operand->prologue;
  hlo_matmul_dim_t* dims[2 * HLO_MATMUL_MAX_LOOPS + 2];
  if (m->is_convolution) {
    m->verdict = hlo_verdict_no(HLO_REASON_PROLOGUE_CONVOLUTION, m->contraction.node);
    return hlo_ok();
  }
  *prologue = (hlo_matmul_prologue_t){
      .origin = HLO_MATMUL_COMPUTED,
      .value = hlo_node_operand(m->contraction.node, operand->node_operand)};
  m->verdict = list_loops(m, side, prologue, dims);
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  HLO_SCOPED_ARENA scratch = {0};
  hlo_tiling_t* tiling = NULL;
  HLO_TRY(walk_in_blocks(kernel, prologue, dims, &scratch, &tiling));
  m->verdict = tiling->verdict;
  const hlo_tiled_t* largest =
      hlo_verdict_is_no(&m->verdict) ? NULL : inspect(prologue, tiling, kernel->target);
  const hlo_tiled_t* viewed = largest ? find_viewed(m, tiling) : NULL;
  if (!largest && !hlo_verdict_is_no(&m->verdict)) {
    m->verdict = hlo_verdict_no(HLO_REASON_PROLOGUE_OP, prologue->value->def);
  }
  bool is_linear = true;
  for (uint32_t i = 0; largest && i < prologue->place_count; ++i) {
    const uint32_t loop = hlo_matmul_inner_loop(prologue, i);
    dims[i]->from[side] = hlo_expr_coefficient(largest->offset, loop);
    is_linear &= !prologue->blocks[i] || hlo_expr_coefficient(largest->offset, loop - 1) ==
                                             dims[i]->from[side] * prologue->blocks[i];
  }
  if (viewed && is_linear && is_forward(viewed->offset)) {
    operand->input = viewed->input;
    operand->dtype = viewed->value->type->dtype;
    operand->first = has_value(viewed->offset) ? 0 : viewed->offset->constant;
    prologue->origin = has_value(viewed->offset) ? HLO_MATMUL_FROM_VIEW : HLO_MATMUL_FROM_INPUT;
  } else {
    for (uint32_t i = 0; i < prologue->place_count; ++i) dims[i]->place[side] = i + 1;
  }
  return hlo_ok();
}

static bool feeds(const hlo_fusion_t* fusion, const hlo_node_t* dot, const hlo_node_t* node,
                  uint32_t steps) {
  bool found = false;
  if (steps == 0) return false;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    bool is_member = false;
    for (uint32_t i = 0; i < fusion->node_count && !is_member; ++i) {
      is_member = fusion->nodes[i] == use->user;
    }
    if (!is_member) continue;
    if (use->user != dot && !feeds(fusion, dot, use->user, steps - 1)) return false;
    found = true;
  }
  return found;
}

bool hlo_matmul_is_for_operand(const hlo_matmul_t* m, const hlo_fusion_t* fusion,
                               const hlo_node_t* node) {
  if (node == m->contraction.node || node->result_count != 1) return false;
  bool is_any = false;
  for (uint32_t side = 0; side < 2; ++side) is_any |= m->operands[side].prologue.value != NULL;
  return is_any && feeds(fusion, m->contraction.node, node, HLO_TUNING_PROLOGUE_MAX_OPS);
}

// ---- costs

// Returns how often each element is computed.
static double times_computed(const hlo_matmul_t* m, uint32_t side) {
  if (hlo_matmul_is_packed(&m->operands[side])) return 1;
  const hlo_matmul_panel_t* panel = hlo_matmul_main_panel(m);
  return (double)(hlo_matmul_has_blocks(m) ? m->stripe_count * panel->part_count
                                           : panel->tile_count);
}

// Returns the loop along which lanes run where the operand is packed or read.
static const hlo_matmul_dim_t* lane_loop(const hlo_matmul_t* m, uint32_t side) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  if (hlo_matmul_is_along(m) || (side == HLO_MATMUL_B && hlo_matmul_transposes_columns(m)))
    return inner;
  if (side == HLO_MATMUL_B) return &m->columns;
  return m->operands[side].packing == HLO_MATMUL_LINES_OF_ROWS ? inner : &m->rows;
}

hlo_verdict_t hlo_matmul_weigh_prologues(const hlo_matmul_t* m) {
  for (uint32_t side = 0; side < 2; ++side) {
    const hlo_matmul_operand_t* operand = &m->operands[side];
    const hlo_matmul_prologue_t* prologue = &operand->prologue;
    if (!hlo_matmul_is_produced(operand)) continue;
    if (!hlo_matmul_lanes_find(operand, lane_loop(m, side), side, m->lanes)) {
      return hlo_verdict_no(HLO_REASON_PROLOGUE_LANES, prologue->value->def);
    }
    double elements = (double)prologue->space.element_count, times = times_computed(m, side);
    double bytes = elements * (double)hlo_dtype_size_bytes(operand->dtype);
    double ops =
        prologue->vector_ops * elements * prologue->widest_bytes / (double)m->target->vector_bytes;
    if (prologue->is_forced && prologue->read_bytes > HLO_TUNING_PROLOGUE_READ_SHARE * bytes) {
      return hlo_verdict_beyond(HLO_REASON_PROLOGUE_BYTES, prologue->value->def,
                                prologue->read_bytes, HLO_TUNING_PROLOGUE_READ_SHARE * bytes);
    }
    hlo_tile_work_t apart = {.vector_ops = ops,
                             .accessed_bytes = prologue->read_bytes + bytes,
                             .distinct_bytes = prologue->read_bytes + bytes};
    hlo_tile_work_t here = {.vector_ops = ops * times,
                            .accessed_bytes = prologue->read_bytes * times,
                            .distinct_bytes = prologue->read_bytes};
    double reading = bytes / hlo_tile_home(&m->target->tile, bytes)->bytes_per_ns;
    const double here_ns = hlo_tile_work_ns(&m->target->tile, &here);
    const double apart_ns = hlo_tile_work_ns(&m->target->tile, &apart) + reading;
    if (here_ns > apart_ns) {
      return hlo_verdict_beyond(HLO_REASON_PROLOGUE_REPEATED, prologue->value->def, here_ns,
                                apart_ns);
    }
  }
  return hlo_verdict_yes();
}

// ---- vector IR

void hlo_matmul_move(const hlo_matmul_t* m, uint32_t side, hlo_vir_builder_t* b,
                     const hlo_matmul_dim_t* dim, hlo_vir_value_t* count,
                     hlo_matmul_source_t* source) {
  if (dim->place[side]) {
    hlo_vir_value_t** place = &source->places[dim->place[side] - 1];
    hlo_vir_value_t* moved = dim->together ? hlo_times(b, count, dim->together) : count;
    *place = *place ? hlo_plus(b, *place, moved) : moved;
    return;
  }
  if (hlo_matmul_is_produced(&m->operands[side])) return;
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[side].dtype);
  source->base = hlo_plus(b, source->base, hlo_times(b, count, dim->from[side] * bytes));
  if (!dim->wrap_at) return;
  hlo_vir_value_t* is_wrapped = hlo_vir_icmp(b, HLO_VIR_GE, count, hlo_index(b, dim->wrap_at));
  source->base = hlo_plus(b, source->base, hlo_times(b, is_wrapped, dim->wrap[side] * bytes));
}

hlo_vir_value_t* hlo_matmul_produce(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                                    const hlo_point_emitter_t* points, uint32_t side,
                                    const hlo_matmul_dim_t* dim, const hlo_matmul_source_t* source,
                                    uint32_t lanes, hlo_vir_value_t* mask) {
  const hlo_matmul_prologue_t* prologue = &m->operands[side].prologue;
  const uint32_t place = dim ? dim->place[side] : 0;
  hlo_vir_value_t* loops[HLO_MATMUL_MAX_LOOPS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < prologue->place_count; ++i) {
    hlo_vir_value_t* at = source->places[i];
    const int64_t block = prologue->blocks[i];
    if (block) loops[count++] = at ? hlo_divide(b, at, block) : NULL;
    loops[count++] = at && block ? hlo_remainder(b, at, block) : at;
  }
  hlo_point_t point = {
      .loops = loops,
      .lane_loop = place ? hlo_matmul_inner_loop(prologue, place - 1) : HLO_TILED_MAX_LOOPS,
      .lanes = lanes,
      .mask = mask};
  return hlo_point_prologue(points, side, &point);
}
