// SPDX-License-Identifier: Apache-2.0
// Decides how a matrix product is computed: loops, register tiles, packing, chunks (see matmul.h).
#include "codegen/dot/matmul_impl.h"

#include <string.h>

#include "codegen/math/elementwise.h"
#include "tile/system.h"

// Costs decide cuts and packing. They never change results.
enum { MAX_BLOCKS = 64 };  // along the contraction

// ---- loops

void hlo_matmul_add_loop(hlo_matmul_loops_t* list, uint32_t first, hlo_matmul_dim_t dim) {
  if (dim.extent == 1 && !dim.limit.is_used) return;
  hlo_matmul_dim_t* last = list->count > first ? &list->dims[list->count - 1] : NULL;
  bool is_apart = dim.wrap_at || dim.window || (last && (last->wrap_at || last->window));
  if (last && !is_apart && last->from[0] == dim.from[0] * dim.extent &&
      last->from[1] == dim.from[1] * dim.extent) {
    last->extent *= dim.extent;
    last->from[0] = dim.from[0];
    last->from[1] = dim.from[1];
    return;
  }
  list->dims[list->count++] = dim;
}

// Adds the loops of a group of dimensions. `lhs`, `rhs`: the operand whose dimensions they are.
static void add_group(hlo_matmul_loops_t* list, const hlo_contraction_t* c,
                      const hlo_contraction_group_t* lhs, const hlo_contraction_group_t* rhs) {
  const hlo_type_t *a = hlo_node_operand_type(c->node, 0), *b = hlo_node_operand_type(c->node, 1);
  uint32_t first = list->count;
  for (uint32_t i = 0; i < (lhs ? lhs : rhs)->count; ++i) {
    hlo_matmul_dim_t dim = {.extent = lhs ? a->dims[lhs->dims[i]] : b->dims[rhs->dims[i]]};
    if (lhs) dim.from[0] = hlo_contraction_stride(a->rank, a->dims, lhs->dims[i]);
    if (rhs) dim.from[1] = hlo_contraction_stride(b->rank, b->dims, rhs->dims[i]);
    hlo_matmul_add_loop(list, first, dim);
  }
}

void hlo_matmul_swap_operands(hlo_matmul_dim_t* dim) {
  int64_t from = dim->from[0], wrap = dim->wrap[0];
  uint32_t place = dim->place[0];
  dim->place[0] = dim->place[1];
  dim->place[1] = place;
  dim->from[0] = dim->from[1];
  dim->from[1] = from;
  dim->wrap[0] = dim->wrap[1];
  dim->wrap[1] = wrap;
}

// Takes a loop of a group for the tile, if the group has loops: the last one or, for rows, the
// longest one if the last one has too few rows to share a packed panel. The others become outer
// loops.
static hlo_matmul_dim_t take_loop(hlo_matmul_t* m, const hlo_matmul_loops_t* list, uint32_t first,
                                  uint32_t end, bool is_rows) {
  if (end == first) return (hlo_matmul_dim_t){.extent = 1, .loop = -1};
  uint32_t taken = end - 1;
  const bool is_free = is_rows && list->dims[taken].extent < HLO_TUNING_SLICE_MIN_ROWS;
  for (uint32_t i = end - 1; is_free && i-- > first;) {
    if (list->dims[i].extent > list->dims[taken].extent) taken = i;
  }
  for (uint32_t i = first; i < end; ++i) {
    if (i != taken) m->outer[m->outer_count++] = list->dims[i];
  }
  return list->dims[taken];
}

// Cuts a loop into two. `ends`: the ends of the groups, as loop numbers.
static void cut_loop(hlo_matmul_loops_t* list, const hlo_matmul_cut_t* cut, uint32_t* ends) {
  hlo_matmul_dim_t* dim = &list->dims[cut->loop];
  memmove(dim + 1, dim, (list->count - cut->loop) * sizeof *dim);
  ++list->count;
  dim[0].extent /= cut->inner;
  dim[1].extent = cut->inner;
  for (uint32_t side = 0; side < 2; ++side) dim[0].from[side] *= cut->inner;
  for (uint32_t i = 0; i < 2; ++i) ends[i] += cut->loop < ends[i];
}

bool hlo_matmul_cut(const hlo_matmul_t* m, hlo_matmul_cut_t cut, hlo_matmul_form_t* form) {
  const bool has_window = m->contraction.node->op == HLO_OP_convolution;  // even of a product
  if (has_window || form->cut_count == HLO_MATMUL_MAX_CUTS) return false;
  if ((int32_t)cut.loop == m->rows.loop && cut.inner < HLO_TUNING_SLICE_MIN_ROWS) return false;
  bool is_column = (int32_t)cut.loop == m->columns.loop;
  if (is_column && cut.inner * m->element_bytes % m->target->vector_bytes) return false;
  form->cuts[form->cut_count++] = cut;
  return true;
}

// Returns true if the elements of an operand are fewer than those of the result: rearranging them
// costs less than transposing the result.
static bool is_smaller_than_result(const hlo_matmul_t* m, uint32_t side) {
  const hlo_node_t* node = m->contraction.node;
  const hlo_type_t* type = hlo_node_operand_type(node, m->operands[side].node_operand);
  return hlo_type_element_count(type) < hlo_type_element_count(node->results[0].type);
}

bool hlo_matmul_transpose_form(const hlo_matmul_t* m, hlo_matmul_form_t* form) {
  bool is_plain = m->columns.from[HLO_MATMUL_B] == 1, stays_plain = m->rows.from[HLO_MATMUL_A] == 1;
  if (m->contraction.node->op == HLO_OP_convolution || form->is_transposed ||
      hlo_matmul_is_along(m) ||
      (is_plain && !stays_plain && !is_smaller_than_result(m, HLO_MATMUL_A))) {
    return false;
  }
  return form->is_transposed = true;
}

static hlo_verdict_t make_loops(hlo_matmul_t* m, const hlo_matmul_form_t* form,
                                hlo_tiled_space_t* space) {
  const hlo_contraction_t* c = &m->contraction;
  hlo_matmul_loops_t output = {0}, depth = {0};
  uint32_t ends[2];  // of the batch, and of the rows
  add_group(&output, c, &c->batch[0], &c->batch[1]);
  ends[0] = output.count;
  add_group(&output, c, &c->free[0], NULL);
  ends[1] = output.count;
  add_group(&output, c, NULL, &c->free[1]);
  add_group(&depth, c, &c->depth[0], &c->depth[1]);
  if (output.count + form->cut_count > HLO_MATMUL_MAX_LOOPS || depth.count > HLO_MATMUL_MAX_LOOPS) {
    return hlo_verdict_beyond(HLO_REASON_MATMUL_LOOPS, c->node, 0, HLO_MATMUL_MAX_LOOPS);
  }
  for (uint32_t i = 0; i < form->cut_count; ++i) cut_loop(&output, &form->cuts[i], ends);
  uint32_t batch_end = ends[0], rows_end = ends[1];
  bool is_swapped = rows_end == output.count;  // one column
  if (is_swapped) rows_end = batch_end;
  space->loop_count = output.count;
  space->element_count = hlo_type_element_count(c->node->results[0].type);
  for (uint32_t i = 0; i < output.count; ++i) {
    output.dims[i].loop = (int32_t)i;
    space->extents[i] = output.dims[i].extent;
    if (is_swapped) hlo_matmul_swap_operands(&output.dims[i]);
  }
  for (uint32_t i = 0; i < batch_end; ++i) m->outer[m->outer_count++] = output.dims[i];
  m->rows = take_loop(m, &output, batch_end, rows_end, !form->is_transposed);
  m->columns = take_loop(m, &output, rows_end, output.count, form->is_transposed);
  m->depth_count = depth.count;
  for (uint32_t i = 0; i < depth.count; ++i) {
    m->depth[i] = depth.dims[i];
    if (is_swapped) hlo_matmul_swap_operands(&m->depth[i]);
  }
  for (uint32_t side = 0; side < 2; ++side) {
    m->operands[side].node_operand = side ^ is_swapped;
    m->operands[side].dtype = hlo_node_operand_type(c->node, side ^ is_swapped)->dtype;
  }
  return hlo_verdict_yes();
}

static hlo_status_t find_inputs(hlo_matmul_t* m, const hlo_kernel_t* kernel) {
  const hlo_fusion_t* fusion = kernel->fusion;
  for (uint32_t side = 0; side < 2; ++side) {
    const hlo_value_t* value =
        hlo_node_operand(m->contraction.node, m->operands[side].node_operand);
    uint32_t i = 0;
    while (i < fusion->input_count && fusion->inputs[i] != value) ++i;
    m->operands[side].input = i;
    if (i == fusion->input_count) HLO_TRY(hlo_matmul_find_prologue(m, kernel, side));
    if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  }
  return hlo_ok();
}

void hlo_matmul_swap_roles(hlo_matmul_t* m) {
  hlo_matmul_dim_t rows = m->rows;
  m->rows = m->columns;
  m->columns = rows;
  hlo_matmul_operand_t a = m->operands[HLO_MATMUL_A];
  m->operands[HLO_MATMUL_A] = m->operands[HLO_MATMUL_B];
  m->operands[HLO_MATMUL_B] = a;
  hlo_matmul_swap_operands(&m->rows);
  hlo_matmul_swap_operands(&m->columns);
  for (uint32_t i = 0; i < m->outer_count; ++i) hlo_matmul_swap_operands(&m->outer[i]);
  for (uint32_t i = 0; i < m->depth_count; ++i) hlo_matmul_swap_operands(&m->depth[i]);
}

// Returns true if the contraction is long enough for these rows. Transposing B while packing costs
// the same for one row as for many, but folding accumulators over lanes costs time for each row,
// however short the contraction is.
static bool is_long_for(const hlo_matmul_t* m, const hlo_matmul_dim_t* rows) {
  int64_t bytes = m->depth[0].extent *
                  hlo_matmul_max((int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype), 2);
  return bytes >= HLO_TUNING_DEPTH_MIN_BYTES ||
         bytes >= HLO_TUNING_DEPTH_MIN_ROW_BYTES * rows->extent;
}

// Lets lanes run along the contraction because the configuration says so, if an operand is
// contiguous along it.
static void take_contraction(hlo_matmul_t* m) {
  const hlo_matmul_dim_t* inner = &m->depth[0];
  if (inner->from[HLO_MATMUL_B] != 1) hlo_matmul_swap_roles(m);
  if (inner->from[HLO_MATMUL_B] == 1 && !hlo_matmul_has_quads(m)) {
    m->strategy = HLO_MATMUL_BY_DEPTH;
  }
}

// Lets lanes run along the contraction if there are few rows or columns and the other operand is
// contiguous along it.
static void choose_lanes(hlo_matmul_t* m) {
  const hlo_matmul_dim_t* inner = &m->depth[0];
  if (m->is_convolution || m->depth_count > 1) return;
  bool is_few_columns = m->columns.extent <= HLO_TUNING_DEPTH_MAX_ROWS &&
                        m->rows.extent > m->columns.extent && inner->from[HLO_MATMUL_A] == 1 &&
                        is_long_for(m, &m->columns);
  bool is_panel = m->columns.extent >= HLO_TUNING_QUADS_MIN_COLUMNS && hlo_matmul_has_quads(m);
  const bool is_swapped = is_few_columns && !is_panel;
  if (is_swapped) hlo_matmul_swap_roles(m);
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_strategy);
  if (given) {
    if (is_swapped && given == HLO_CHOICE_COLUMNS) hlo_matmul_swap_roles(m);
    if (given == HLO_CHOICE_CONTRACTION) take_contraction(m);
    return;
  }
  // A larger B makes it pay for more rows to transpose B while packing.
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[HLO_MATMUL_B].dtype);
  bool has_more = inner->extent >= HLO_TUNING_DEPTH_LONG && bytes >= (int64_t)sizeof(float);
  int64_t few = has_more ? HLO_TUNING_DEPTH_MAX_ROW_BYTES / bytes : HLO_TUNING_DEPTH_MAX_ROWS;
  bool is_by_depth = m->rows.extent <= few && inner->from[HLO_MATMUL_B] == 1 &&
                     m->columns.extent >= HLO_TUNING_DEPTH_MIN_COLUMNS &&
                     is_long_for(m, &m->rows) && !hlo_matmul_has_quads(m);
  if (is_by_depth) {
    m->strategy = hlo_matmul_takes_quads(m) ? HLO_MATMUL_BY_QUADS : HLO_MATMUL_BY_DEPTH;
  } else if (is_swapped) {
    hlo_matmul_swap_roles(m);  // other lanes store along the columns
  }
}

int64_t hlo_matmul_output_stride(const hlo_matmul_t* m, int32_t loop) {
  if (loop < 0) return 0;
  int64_t stride = 1;
  if (m->rows.loop > loop) stride *= m->rows.extent;
  if (m->columns.loop > loop) stride *= m->columns.extent;
  for (uint32_t i = 0; i < m->outer_count; ++i) {
    if (m->outer[i].loop > loop) stride *= m->outer[i].extent;
  }
  return stride;
}

// Returns true if a member's elements correspond one to one to the product's, or come from fewer
// elements.
static bool goes_along(const hlo_matmul_t* m, const hlo_node_t* node) {
  const hlo_type_t* type = m->contraction.node->results[0].type;
  if (node == m->contraction.node || node->op == HLO_OP_constant) return true;
  if (node->op == HLO_OP_broadcast_in_dim) {
    int64_t count = hlo_type_element_count(hlo_node_operand_type(node, 0));
    return count < hlo_type_element_count(type);
  }
  return hlo_elementwise_supports(node);
}

// Returns the output that can hold accumulators between blocks, or -1. It has their type,
// contiguous rows, and each element at the position of the product's element.
static int32_t find_accumulators_output(const hlo_matmul_t* m, const hlo_fusion_t* fusion) {
  const hlo_type_t* type = m->contraction.node->results[0].type;
  if (hlo_matmul_output_stride(m, m->columns.loop) != 1) return -1;
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    if (!goes_along(m, node) && !hlo_matmul_is_for_operand(m, fusion, node)) return -1;
  }
  for (uint32_t o = 0; o < fusion->output_count; ++o) {
    const hlo_type_t* output = fusion->outputs[o]->type;
    if (output->dtype == m->dtype && hlo_type_same_dims(output, type)) return (int32_t)o;
  }
  return -1;
}

// Returns the operations that round a vector to a narrow float and join partial registers.
static double rounding_ops(hlo_dtype_t dtype) {
  if (dtype == HLO_DTYPE_BF16) return HLO_TUNING_BF16_ROUNDING_OPS;
  return hlo_dtype_is_float(dtype) && hlo_dtype_info(dtype)->bits <= 8
             ? 2 * HLO_TUNING_BF16_ROUNDING_OPS
             : 0;
}

// Returns the epilogue's operations on a vector.
static double epilogue_ops(const hlo_matmul_t* m, const hlo_fusion_t* fusion) {
  double ops = rounding_ops(m->contraction.node->results[0].type->dtype);
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    if (!hlo_elementwise_supports(node) || hlo_matmul_is_for_operand(m, fusion, node)) continue;
    ops += hlo_elementwise_cost(node);
  }
  return ops;
}

// Returns the operations that leave enough registers to a tile.
static double light_ops(const hlo_matmul_t* m) {
  return (double)(m->target->tile.vector_count / HLO_TUNING_LIGHT_SHARE);
}

// Returns the operations that read a vector of B.
static double source_ops(const hlo_matmul_t* m) {
  const hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  bool is_bytes = hlo_dtype_info(operand->dtype)->bits <= 8;
  if (hlo_matmul_is_produced(operand)) {
    return operand->prologue.vector_ops + rounding_ops(operand->dtype);
  }
  return is_bytes ? rounding_ops(operand->dtype) : 0;
}

static hlo_verdict_t check_strategy(const hlo_matmul_t* m) {
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_strategy);
  const bool is_by_depth = m->strategy == HLO_MATMUL_BY_DEPTH;
  if (!given || is_by_depth == (given == HLO_CHOICE_CONTRACTION)) return hlo_verdict_yes();
  return hlo_verdict_no(HLO_REASON_CONFIG_STRATEGY, m->contraction.node);
}

hlo_status_t hlo_matmul_create(const hlo_kernel_t* kernel, const hlo_node_t* node,
                               const hlo_matmul_form_t* form, hlo_arena_t* arena,
                               hlo_tiled_space_t* out_space, hlo_matmul_t** out_matmul) {
  hlo_matmul_t* m = hlo_arena_alloc_zeroed(arena, sizeof *m);
  if (!m) return hlo_arena_status(arena);
  m->target = kernel->target;
  m->config = kernel->config;
  m->contraction.node = node;
  m->repeat = 1;
  m->is_convolution = node->op == HLO_OP_convolution;
  *out_matmul = m;
  if (m->is_convolution) {
    m->verdict = hlo_convolution_make_loops(m, out_space);
  } else if (hlo_contraction_init(node, &m->contraction)) {
    m->verdict = make_loops(m, form, out_space);
  } else {
    m->verdict = hlo_verdict_no(HLO_REASON_MATMUL_TYPES, node);
  }
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  m->dtype = m->contraction.dtype;
  if (!m->depth_count) m->depth[m->depth_count++] = (hlo_matmul_dim_t){.extent = 1};
  HLO_TRY(find_inputs(m, kernel));
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  if (form->is_transposed) hlo_matmul_swap_roles(m);
  if (!hlo_matmul_choose_codes(m, kernel)) choose_lanes(m);
  hlo_matmul_choose_group(m);
  m->verdict = check_strategy(m);
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  m->element_bytes = hlo_elementwise_register_bytes(m->dtype);
  m->outer_extent = hlo_matmul_extent(m->outer, m->outer_count);
  m->depth_extent = hlo_matmul_extent(m->depth, m->depth_count);
  return hlo_ok();
}

// ---- tiles

static void cut_columns(const hlo_matmul_t* m, int64_t columns, hlo_matmul_panel_t* panel) {
  uint32_t lanes = hlo_matmul_is_along(m) ? 1 : m->lanes;
  for (int64_t at = 0; at < columns;) {
    if (!m->target->has_masks) {
      while ((int64_t)lanes > columns - at) lanes /= 2;
    }
    hlo_matmul_piece_t* piece = &panel->pieces[panel->piece_count++];
    *piece =
        (hlo_matmul_piece_t){(uint32_t)at, lanes, (uint32_t)hlo_matmul_min(lanes, columns - at)};
    at += lanes;
  }
}

// Cuts rows into tiles for panels as wide as `tile`. A narrower panel has its own tile height.
static hlo_status_t cut_rows(const hlo_matmul_t* m, hlo_tile_memo_t* memo,
                             const hlo_matmul_accumulators_t* tile, hlo_matmul_panel_t* panel) {
  if (!panel->piece_count) return hlo_ok();
  int64_t rows = m->rows.extent, height = tile->height;
  if (panel->piece_count != tile->width) {
    hlo_matmul_accumulators_t edge;
    HLO_TRY(hlo_matmul_choose_accumulators(m, memo, panel->piece_count, &edge));
    height = edge.height;
  }
  panel->tile_count = hlo_divide_up(rows, height);
  panel->height = hlo_divide_up(rows, panel->tile_count);
  panel->tall_count = rows - panel->tile_count * (panel->height - 1);
  return hlo_ok();
}

// Takes the tile of the configuration, if it names one.
static hlo_status_t take_tile(hlo_matmul_t* m, hlo_matmul_accumulators_t* tile) {
  const hlo_matmul_accumulators_t given = {hlo_kernel_config_value(m->config, HLO_CHOICE_vectors),
                                           hlo_kernel_config_value(m->config, HLO_CHOICE_rows)};
  if (!given.width && !given.height) return hlo_ok();
  if (!given.width || !given.height) {
    m->verdict = hlo_verdict_no(HLO_REASON_CONFIG_TILE_PAIR, m->contraction.node);
    return hlo_ok();
  }
  bool is_possible = false;
  HLO_TRY(hlo_matmul_is_possible_tile(m, &given, &is_possible));
  if (is_possible) {
    *tile = given;
  } else {
    m->verdict = hlo_verdict_beyond(HLO_REASON_CONFIG_TILE, m->contraction.node,
                                    (double)(given.width * given.height),
                                    (double)m->target->tile.vector_count);
  }
  return hlo_ok();
}

static hlo_status_t make_tiles(hlo_matmul_t* m, hlo_tile_memo_t* memo) {
  int64_t steps = m->depth[m->depth_count - 1].extent;
  m->slide = steps < HLO_MATMUL_MAX_SLIDE ? steps : HLO_MATMUL_MAX_SLIDE / 2;
  hlo_matmul_accumulators_t tile;
  HLO_TRY(hlo_matmul_choose_accumulators(m, memo, 0, &tile));
  HLO_TRY(take_tile(m, &tile));
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  int64_t vectors = hlo_matmul_min(tile.width, hlo_divide_up(m->columns.extent, m->lanes));
  if (m->strategy == HLO_MATMUL_IN_TILES) vectors = tile.width;
  m->panel_width = hlo_matmul_is_along(m) ? tile.width : vectors * m->lanes;
  m->full_panels = m->columns.extent / m->panel_width;
  m->panel_count = hlo_divide_up(m->columns.extent, m->panel_width);
  if (m->full_panels) cut_columns(m, m->panel_width, &m->full);
  cut_columns(m, m->columns.extent - m->full_panels * m->panel_width, &m->edge);
  HLO_TRY(cut_rows(m, memo, &tile, &m->full));
  return cut_rows(m, memo, &tile, &m->edge);
}

// ---- packing

static bool is_converted(const hlo_matmul_t* m, uint32_t side) {
  if (m->group > 1) return m->group_from[side] != 1 || m->last_group != m->group;
  hlo_dtype_t from = m->operands[side].dtype;
  return hlo_dtype_size_bytes(from) != m->element_bytes ||
         hlo_dtype_is_float(from) != hlo_dtype_is_float(m->dtype);
}

// Returns true if elements are so far apart that the caches hold few of them: at multiples of a
// quarter of a way, the lines share four sets.
static bool conflicts(const hlo_matmul_t* m, uint32_t side, const hlo_matmul_dim_t* dim) {
  const int64_t bytes = dim->from[side] * (int64_t)hlo_dtype_size_bytes(m->operands[side].dtype);
  const int64_t half_way_bytes = m->target->tile.memories[1].way_bytes / 2;
  return bytes && half_way_bytes && bytes % (half_way_bytes / 2) == 0 &&
         dim->extent * hlo_matmul_line_bytes(m) >= half_way_bytes * HLO_TUNING_CONFLICT_WAYS;
}

bool hlo_matmul_packs_b(const hlo_matmul_t* m, int64_t tiles) {
  int64_t cache = hlo_matmul_cache_bytes(m);
  if (hlo_matmul_is_along(m) || hlo_matmul_has_blocks(m)) return false;
  // Tile registers read only packed panels.
  if (m->strategy == HLO_MATMUL_IN_TILES || m->columns.from[HLO_MATMUL_B] != 1) return true;
  if (m->strategy == HLO_MATMUL_BY_POSITION) return false;
  if (m->group > 1) return true;
  int64_t bytes = m->depth_extent * m->columns.extent * m->element_bytes;
  if (hlo_matmul_is_produced(&m->operands[HLO_MATMUL_B]) && tiles == 1) return false;
  if (tiles <
      (bytes > HLO_TUNING_FAR_CACHES * cache ? HLO_TUNING_PACK_FAR_TILES : HLO_TUNING_PACK_TILES))
    return false;
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  bool is_large = bytes > cache / 8 * HLO_TUNING_HELD_EIGHTHS;
  return is_converted(m, HLO_MATMUL_B) || is_large || conflicts(m, HLO_MATMUL_B, inner);
}

// Returns true if A's rows are adjacent in place, so that each step of a tile is in another cache
// line.
static bool is_across(const hlo_matmul_t* m) {
  return m->depth_count == 1 && m->rows.from[HLO_MATMUL_A] == 1 &&
         m->depth[0].from[HLO_MATMUL_A] > m->group;
}

static double bytes_of_a(const hlo_matmul_t* m) {
  return (double)m->rows.extent * (double)m->depth_extent * m->element_bytes;
}

// Returns the steps whose elements of A, over all rows, fill half of the second cache.
static int64_t steps_held(const hlo_matmul_t* m) {
  return hlo_matmul_cache_bytes(m) / HLO_TUNING_HELD_SHARE / (m->rows.extent * m->element_bytes);
}

// Returns the steps of a panel that fit a quarter of the second cache. The rest holds the
// prefetched part of the next panel and perhaps A's lines for these steps.
static int64_t slice_steps(const hlo_matmul_t* m) {
  int64_t row_bytes = m->panel_width * m->element_bytes;
  int64_t steps = hlo_matmul_cache_bytes(m) / HLO_TUNING_SLICE_SHARE / row_bytes;
  if (is_across(m) && steps_held(m) >= HLO_TUNING_HELD_MIN_STEPS)
    steps = hlo_matmul_min(steps, steps_held(m));
  return hlo_matmul_max(steps / HLO_TUNING_STEP_MULTIPLE * HLO_TUNING_STEP_MULTIPLE,
                        HLO_TUNING_CONFLICT_STEPS);
}

static int64_t all_panels(const hlo_matmul_t* m) {
  return m->outer_extent * m->panel_count;
}

// Returns true if chunks may share panels: each chunk has enough tiles to pack a panel for itself.
static bool shares_panels(const hlo_matmul_t* m) {
  int64_t tiles = hlo_matmul_main_panel(m)->tile_count;
  return all_panels(m) * hlo_matmul_max(tiles / HLO_TUNING_SLICE_MIN_TILES, 1) >=
         HLO_TUNING_FEW_CHUNKS;
}

bool hlo_matmul_may_slice(const hlo_matmul_t* m, int64_t bytes) {
  double elements = (double)m->outer_extent * (double)m->depth_extent * (double)m->columns.extent;
  int64_t least = m->group > 1 ? 1 : HLO_TUNING_SLICE_MIN_ROWS;  // groups are packed anyway
  return !m->is_convolution && m->strategy != HLO_MATMUL_IN_TILES && m->depth_count == 1 &&
         m->rows.extent >= least && elements * m->element_bytes >= (double)bytes;
}

// Returns true if only one block of each panel is packed at a time. This requires that a chunk has
// enough tiles of a panel or of a part of its contraction, and that only such parts need memory for
// accumulators.
static bool packs_slices(const hlo_matmul_t* m) {
  int64_t cache = hlo_matmul_cache_bytes(m);
  int64_t panels = all_panels(m);
  bool is_whole = m->depth_extent <= slice_steps(m);
  bool is_split = panels * (m->depth_extent / HLO_TUNING_SPLIT_MIN_STEPS) >= HLO_TUNING_FEW_CHUNKS;
  return hlo_matmul_may_slice(m, panels < HLO_TUNING_FEW_CHUNKS ? 2 * cache : cache) &&
         (shares_panels(m) ? is_whole || m->accumulators_output >= 0 : is_split);
}

// Returns true if A is packed as rows: its lines would be evicted from the second cache between
// tiles or, if A is packed anyway, between panels.
static bool transposes_rows(const hlo_matmul_t* m) {
  int64_t cache = hlo_matmul_cache_bytes(m);
  if (m->is_convolution || !is_across(m)) return false;
  if (m->strategy == HLO_MATMUL_IN_TILES) return true;
  bool is_held = hlo_matmul_has_slices(m) && steps_held(m) >= HLO_TUNING_HELD_MIN_STEPS;
  bool is_large =
      m->group > 1 ? bytes_of_a(m) > (double)(cache / HLO_TUNING_HELD_SHARE)
                   : m->depth[0].extent * hlo_matmul_line_bytes(m) > cache / HLO_TUNING_LINES_SHARE;
  return is_large && !is_held && !hlo_matmul_is_along(m) &&
         m->panel_count >= HLO_TUNING_PACK_TILES && m->lanes > HLO_MATMUL_TRANSPOSED &&
         m->rows.extent >= m->lanes;
}

bool hlo_matmul_packs_a(const hlo_matmul_t* m, int64_t panels, int64_t height) {
  if (m->is_convolution) return false;             // windows overlap
  for (uint32_t i = 0; i < m->outer_count; ++i) {  // which read the same rows again
    if (!hlo_matmul_moves(&m->outer[i], HLO_MATMUL_A)) panels *= m->outer[i].extent;
  }
  if (m->strategy == HLO_MATMUL_BY_CODES) return true;  // in the order of looked-up pairs
  if (m->strategy == HLO_MATMUL_BY_QUADS) return m->group_from[HLO_MATMUL_A] != 1;
  if (m->strategy == HLO_MATMUL_BY_DEPTH)
    return m->depth[0].from[HLO_MATMUL_A] != 1 || conflicts(m, 0, &m->rows);
  if (m->group > 1 && is_converted(m, HLO_MATMUL_A)) return true;
  if (hlo_matmul_filled_steps(m) > m->depth[m->depth_count - 1].extent) return true;
  if (panels < HLO_TUNING_PACK_TILES) {
    return is_converted(m, HLO_MATMUL_A) && m->columns.extent >= 2 * m->lanes && m->rows.extent > 1;
  }
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  // The ways of a cache hold the rows of a tile unless the tile is tall.
  bool is_tall = height > HLO_TUNING_PLACE_MAX_ROWS;
  return is_converted(m, HLO_MATMUL_A) || (is_tall && conflicts(m, HLO_MATMUL_A, &m->rows)) ||
         conflicts(m, HLO_MATMUL_A, inner);
}

bool hlo_matmul_transposes_columns(const hlo_matmul_t* m) {
  const hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  int64_t step = m->group > 1 ? m->group_from[HLO_MATMUL_B] : inner->from[HLO_MATMUL_B];
  return step == 1 && m->columns.from[HLO_MATMUL_B] != 1 && m->lanes > HLO_MATMUL_TRANSPOSED;
}

static int64_t round_up(int64_t value, int64_t step) {
  return hlo_divide_up(value, step) * step;
}

// Rounds a size in bytes up to whole cache lines.
static size_t scratch_size(const hlo_matmul_t* m, int64_t bytes) {
  return (size_t)round_up(bytes, hlo_matmul_line_bytes(m));
}

// Gives the next loop its stride in packed memory.
static void nest_loop(hlo_matmul_dim_t* dim, uint32_t side, int64_t* stride) {
  dim->strides[side] = *stride;
  *stride *= dim->extent;
}

// Lays out lines or panels of all outer loops that move along the operand.
static void nest_outer(hlo_matmul_t* m, uint32_t side, int64_t* stride) {
  for (uint32_t i = m->outer_count; i-- > 0;) {
    if (!hlo_matmul_moves(&m->outer[i], side)) continue;
    nest_loop(&m->outer[i], side, stride);
    m->copies[HLO_MATMUL_PACK][side].count *= m->outer[i].extent;
  }
}

// Lays out packed A: lines along the dimension that is contiguous in place. Their distance is a
// power of two plus a cache line.
static int64_t lay_out_a(hlo_matmul_t* m) {
  hlo_matmul_dim_t* inner = &m->depth[m->depth_count - 1];
  const hlo_matmul_packing_t packing = m->operands[HLO_MATMUL_A].packing;
  hlo_matmul_dim_t *along = inner, *across = &m->rows;
  if (packing == HLO_MATMUL_LINES_OF_STEPS) along = &m->rows, across = inner;
  int64_t line = hlo_matmul_line_bytes(m) / m->element_bytes, stride = 1;
  nest_loop(along, HLO_MATMUL_A, &stride);
  stride = round_up(stride, line) + line;
  int64_t* count = &m->copies[HLO_MATMUL_PACK][HLO_MATMUL_A].count;
  *count = 1;
  for (uint32_t i = m->depth_count - 1; i-- > 0;) {
    nest_loop(&m->depth[i], HLO_MATMUL_A, &stride);
    *count *= m->depth[i].extent;
  }
  nest_loop(across, HLO_MATMUL_A, &stride);
  *count *= packing == HLO_MATMUL_TRANSPOSED_LINES ? hlo_divide_up(across->extent, m->lanes)
                                                   : across->extent;
  nest_outer(m, HLO_MATMUL_A, &stride);
  return stride;
}

// Lays out packed B: panels of contiguous rows. The corrections of accumulators, if any, precede
// the rows.
static int64_t lay_out_b(hlo_matmul_t* m) {
  int64_t stride = m->panel_width;
  m->columns.strides[HLO_MATMUL_B] = 1;
  for (uint32_t i = m->depth_count; i-- > 0;) {
    nest_loop(&m->depth[i], HLO_MATMUL_B, &stride);
    const bool is_filled = m->strategy == HLO_MATMUL_IN_TILES && i + 1 == m->depth_count;
    if (is_filled) stride = hlo_matmul_filled_steps(m) * m->panel_width;
  }
  stride += hlo_matmul_first_row(m);
  m->panel_stride = stride;
  stride *= m->panel_count;
  m->copies[HLO_MATMUL_PACK][HLO_MATMUL_B].count = m->panel_count;
  nest_outer(m, HLO_MATMUL_B, &stride);
  return stride;
}

static void read_in_place(hlo_matmul_t* m, uint32_t side) {
  for (uint32_t i = 0; i < m->outer_count; ++i) m->outer[i].strides[side] = m->outer[i].from[side];
  for (uint32_t i = 0; i < m->depth_count; ++i) m->depth[i].strides[side] = m->depth[i].from[side];
  m->rows.strides[side] = m->rows.from[side];
  m->columns.strides[side] = m->columns.from[side];
  if (side == HLO_MATMUL_A) return;
  m->panel_stride = m->panel_width * m->columns.from[side];
  if (hlo_matmul_has_blocks(m)) m->depth[0].strides[side] = m->panel_width;
}

// Allocates memory for a padded copy.
static hlo_verdict_t make_padding(hlo_matmul_t* m, uint32_t side) {
  const hlo_matmul_padding_t* padding = &m->padding[side];
  hlo_matmul_copy_t* copy = &m->copies[HLO_MATMUL_PAD][side];
  if (!padding->is_used) return hlo_verdict_yes();
  double elements = 1;
  copy->count = 1;
  for (uint32_t i = 0; i < padding->rank; ++i) {
    elements *= (double)padding->to[i];
    if (i + 1 < padding->rank) copy->count *= padding->to[i];
  }
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(m->operands[side].dtype);
  if (elements * (double)bytes > HLO_TUNING_MAX_SCRATCH_BYTES) {
    return hlo_verdict_beyond(HLO_REASON_MATMUL_PADDING, m->contraction.node,
                              elements * (double)bytes, HLO_TUNING_MAX_SCRATCH_BYTES);
  }
  copy->offset_bytes = m->scratch_bytes;
  m->scratch_bytes += scratch_size(m, (int64_t)elements * bytes);
  return hlo_verdict_yes();
}

// Returns true if a computed operand must be packed, because reading it in place would compute its
// elements more than once.
static bool must_be_packed(hlo_matmul_t* m, uint32_t side) {
  int64_t tiles = hlo_matmul_main_panel(m)->tile_count;
  bool is_read_once =
      side == HLO_MATMUL_B && (tiles == 1 || hlo_matmul_is_along(m) || hlo_matmul_has_blocks(m));
  hlo_matmul_operand_t* operand = &m->operands[side];
  operand->prologue.is_forced = hlo_matmul_is_produced(operand) && !is_read_once;
  return operand->prologue.is_forced;
}

static hlo_matmul_packing_t slices_of_b(const hlo_matmul_t* m) {
  bool is_copied = m->columns.from[HLO_MATMUL_B] == 1 && m->group == 1;
  return is_copied && source_ops(m) <= light_ops(m) ? HLO_MATMUL_BY_FIRST_TILE
                                                    : HLO_MATMUL_IN_SLICES;
}

// Returns true if B could be packed block by block, whatever its size.
static bool can_slice(const hlo_matmul_t* m) {
  const bool is_whole = m->depth_extent <= slice_steps(m);
  return m->strategy == HLO_MATMUL_BY_COLUMN && hlo_matmul_may_slice(m, 0) && shares_panels(m) &&
         (is_whole || m->accumulators_output >= 0);
}

// Returns the packing of B that the configuration names, or says no in the verdict.
static hlo_matmul_packing_t given_packing_of_b(hlo_matmul_t* m, int64_t given) {
  const hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  const bool is_in_place = operand->packing == HLO_MATMUL_IN_PLACE;
  const bool is_forced = must_be_packed(m, HLO_MATMUL_B);
  const bool is_by_depth = m->strategy == HLO_MATMUL_BY_DEPTH;
  const bool is_readable = is_by_depth || (m->columns.from[HLO_MATMUL_B] == 1 && m->group == 1 &&
                                           m->strategy != HLO_MATMUL_IN_TILES);
  const uint32_t packings = hlo_matmul_strategies[m->strategy].packings;
  if (given == HLO_CHOICE_PLACE && is_in_place && is_readable && !is_forced)
    return operand->packing;
  if (given == HLO_CHOICE_PANELS && is_in_place && !is_by_depth &&
      (packings >> HLO_MATMUL_PANELS & 1)) {
    return HLO_MATMUL_PANELS;
  }
  if (given == HLO_CHOICE_SLICES && is_in_place && can_slice(m)) return slices_of_b(m);
  m->verdict = hlo_verdict_no(HLO_REASON_CONFIG_PACK_B, m->contraction.node);
  return operand->packing;
}

static hlo_matmul_packing_t packing_of_b(hlo_matmul_t* m) {
  hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_pack_b);
  if (given) return given_packing_of_b(m, given);
  if (!hlo_matmul_packs_b(m, hlo_matmul_main_panel(m)->tile_count) &&
      !must_be_packed(m, HLO_MATMUL_B)) {
    return operand->packing;
  }
  return packs_slices(m) ? slices_of_b(m) : HLO_MATMUL_PANELS;
}

// Returns true if the product cannot read A in place.
static bool requires_packed_a(hlo_matmul_t* m) {
  const bool is_by_depth = m->strategy == HLO_MATMUL_BY_DEPTH;
  return must_be_packed(m, HLO_MATMUL_A) || m->strategy == HLO_MATMUL_IN_TILES ||
         (is_by_depth && m->depth[0].from[HLO_MATMUL_A] != 1) ||
         (m->group > 1 && is_converted(m, HLO_MATMUL_A)) ||
         hlo_matmul_filled_steps(m) > m->depth[m->depth_count - 1].extent;
}

// Returns true if A is packed, as the configuration or the model says.
static bool is_packed_a(hlo_matmul_t* m) {
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_pack_a);
  const bool is_refused =
      given == HLO_CHOICE_PLACE ? requires_packed_a(m) : given && m->is_convolution;
  if (is_refused) m->verdict = hlo_verdict_no(HLO_REASON_CONFIG_PACK_A, m->contraction.node);
  if (given) return given == HLO_CHOICE_LINES;
  return hlo_matmul_packs_a(m, m->panel_count, hlo_matmul_main_panel(m)->height) ||
         must_be_packed(m, HLO_MATMUL_A);
}

static hlo_matmul_packing_t packing_of_a(hlo_matmul_t* m) {
  const hlo_matmul_dim_t *inner = &m->depth[m->depth_count - 1], *rows = &m->rows;
  const bool is_given = hlo_kernel_config_value(m->config, HLO_CHOICE_pack_a);
  if (!is_given && transposes_rows(m)) return HLO_MATMUL_TRANSPOSED_LINES;
  if (!is_packed_a(m)) return HLO_MATMUL_IN_PLACE;
  if (transposes_rows(m)) return HLO_MATMUL_TRANSPOSED_LINES;
  bool is_by_rows = hlo_matmul_is_along(m) || m->strategy == HLO_MATMUL_IN_TILES ||
                    inner->from[HLO_MATMUL_A] <= rows->from[HLO_MATMUL_A] ||
                    !rows->from[HLO_MATMUL_A];
  return is_by_rows ? HLO_MATMUL_LINES_OF_ROWS : HLO_MATMUL_LINES_OF_STEPS;
}

static hlo_verdict_t make_packing(hlo_matmul_t* m) {
  m->operands[HLO_MATMUL_B].packing = packing_of_b(m);
  m->operands[HLO_MATMUL_A].packing = packing_of_a(m);
  if (hlo_verdict_is_no(&m->verdict)) return m->verdict;
  for (uint32_t side = 0; side < 2; ++side) {
    if (!hlo_matmul_is_packed(&m->operands[side])) {
      read_in_place(m, side);
      continue;
    }
    double elements = (double)m->outer_extent * (double)m->depth_extent *
                      (double)(side == HLO_MATMUL_A ? m->rows.extent : m->columns.extent);
    elements *= (double)hlo_matmul_filled_steps(m) / (double)m->depth[m->depth_count - 1].extent;
    if (elements * 2 * m->element_bytes > HLO_TUNING_MAX_SCRATCH_BYTES) {
      return hlo_verdict_beyond(HLO_REASON_MATMUL_PACKING, m->contraction.node,
                                elements * 2 * m->element_bytes, HLO_TUNING_MAX_SCRATCH_BYTES);
    }
    int64_t size = side == HLO_MATMUL_A ? lay_out_a(m) : lay_out_b(m);
    m->copies[HLO_MATMUL_PACK][side].offset_bytes = m->scratch_bytes;
    m->scratch_bytes += scratch_size(m, size * m->element_bytes);
  }
  return hlo_verdict_yes();
}

// ---- blocks along the contraction

static bool may_split(const hlo_matmul_t* m, hlo_matmul_split_t split) {
  return hlo_matmul_strategies[m->strategy].splits >> split & 1;
}

static double block_cost(const void* context, const int64_t* steps) {
  const hlo_matmul_t* m = context;
  return (double)hlo_divide_up(m->depth_extent, steps[0]);  // each block reads and writes all
                                                            // accumulators
}

// Finds the steps per block, so that a tile's rows stay in the first cache next to a quarter of
// streamed data, and a panel in the second. The contraction is not cut if no number of steps fits.
static hlo_status_t block_steps(const hlo_matmul_t* m, int64_t* out_steps) {
  HLO_SCOPED_ARENA scratch = {0};
  int64_t candidates[MAX_BLOCKS], steps = m->depth_extent;
  int64_t count = hlo_matmul_min(MAX_BLOCKS, hlo_divide_up(steps, HLO_TUNING_CONFLICT_STEPS));
  for (int64_t n = 1; n <= count; ++n) {
    candidates[n - 1] = round_up(hlo_divide_up(steps, n), HLO_TUNING_STEP_MULTIPLE);
  }
  const hlo_matmul_panel_t* panel = hlo_matmul_main_panel(m);
  hlo_tile_system_t* system = hlo_tile_system_create(&scratch, NULL, &m->target->tile);
  if (!system) return hlo_arena_status(&scratch);
  hlo_tile_var_t var = hlo_tile_system_size(system, "steps", (uint32_t)count, candidates);
  const hlo_tile_monomial_t rows = {panel->height * m->element_bytes, 1, {var}};
  const hlo_tile_monomial_t columns = {m->panel_width * m->element_bytes, 1, {var}};
  int64_t streams = m->target->tile.memories[1].capacity_bytes / HLO_TUNING_STREAM_SHARE;
  hlo_tile_system_fits(system, "rows of a tile", 1, streams, 1, &rows);
  hlo_tile_system_fits(system, "a panel", 2, 0, 1, &columns);
  hlo_tile_system_cost(system, "sums", 1, &var, block_cost, m);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(system, MAX_BLOCKS, &solution);
  if (hlo_status_code(status) == HLO_STATUS_FAILED_PRECONDITION) {
    hlo_status_release(status);
    *out_steps = steps;
    return hlo_ok();
  }
  if (hlo_status_is_ok(status)) *out_steps = solution.values[var].size;
  return status;
}

static double product_ns(const hlo_matmul_t* m) {
  if (m->strategy == HLO_MATMUL_IN_TILES) return hlo_matmul_tile_ns(m);
  const double ns = (double)m->outer_extent * (double)m->rows.extent * (double)m->depth_extent *
                    ((double)m->columns.extent / m->lanes) /
                    hlo_tile_product_rate(&m->target->tile, m->dtype);
  if (m->strategy != HLO_MATMUL_BY_QUADS) return ns;
  // B is read once, from memory.
  const double bytes =
      (double)m->outer_extent * (double)m->depth_extent * (double)m->columns.extent * m->group;
  const double read_ns = bytes / hlo_tile_home(&m->target->tile, bytes)->bytes_per_ns;
  return read_ns > ns ? read_ns : ns;
}

static int64_t wanted_chunks(const hlo_matmul_t* m) {
  return hlo_tile_chunk_count(&m->target->tile, product_ns(m), true);
}

// Returns the number of parts of several contracting loops, so that the second cache holds a part's
// operands while all units use them, as for the window positions in the gradient of weights.
// Returns 1 if the accumulators would cost more.
static int64_t held_parts(const hlo_matmul_t* m) {
  int64_t cache = hlo_matmul_cache_bytes(m);
  double bytes = 0, accumulators = m->element_bytes;
  accumulators *= (double)hlo_type_element_count(m->contraction.node->results[0].type);
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(m->contraction.node, i);
    bytes += (double)hlo_type_element_count(type) * (double)hlo_dtype_size_bytes(type->dtype);
  }
  if (m->depth_count == 1 || bytes < (double)cache) return 1;
  double count = bytes / (double)(cache / HLO_TUNING_HELD_SHARE) + 1;
  return 2 * count * accumulators <= bytes ? (int64_t)count : 1;
}

// Returns the number of parts of the contraction that have separate accumulators. Parts help if
// there are too few tiles to distribute, or too few panels that are packed per block. There are as
// many parts as requested, or as many as let the second cache hold the data that several tiles
// reuse.
static int64_t part_count(const hlo_matmul_t* m) {
  int64_t tiles = hlo_matmul_main_panel(m)->tile_count, units = all_panels(m) * tiles;
  int64_t steps = m->depth_extent, count = 1;
  int64_t wanted = hlo_matmul_min(wanted_chunks(m), HLO_TUNING_FEW_CHUNKS);
  bool is_edge = m->depth[0].limit.is_used && m->depth[0].limit.loop == m->rows.loop;
  if (!may_split(m, HLO_MATMUL_PARTS) || is_edge) return 1;
  if (m->strategy == HLO_MATMUL_IN_TILES && m->depth_count > 1) return 1;
  if (hlo_matmul_has_slices(m) && !shares_panels(m)) return hlo_divide_up(wanted, all_panels(m));
  if (hlo_matmul_has_blocks(m)) return 1;
  if (2 * units <= wanted) {
    count = hlo_divide_up(wanted, units);
    if (tiles > 1 && m->depth_count == 1) {
      count = hlo_matmul_max(count, hlo_divide_up(steps, slice_steps(m)));
    }
  }
  if (units > 1) count = hlo_matmul_max(count, held_parts(m));
  return hlo_matmul_max(
      hlo_matmul_min(hlo_matmul_min(count, steps / HLO_TUNING_SPLIT_MIN_STEPS), m->depth[0].extent),
      1);
}

// Returns the number of parts that the configuration or the model says; the verdict is in *verdict.
static int64_t chosen_parts(const hlo_matmul_t* m, hlo_verdict_t* verdict) {
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_parts);
  const int64_t wanted = part_count(m);
  if (!given || given == wanted) return wanted;
  const bool is_edge = m->depth[0].limit.is_used && m->depth[0].limit.loop == m->rows.loop;
  const bool may = may_split(m, HLO_MATMUL_PARTS) && !is_edge && !hlo_matmul_has_blocks(m) &&
                   (m->strategy != HLO_MATMUL_IN_TILES || m->depth_count == 1);
  const int64_t most =
      may ? hlo_matmul_min(m->depth_extent / HLO_TUNING_SPLIT_MIN_STEPS, m->depth[0].extent) : 1;
  if (given > most || hlo_matmul_has_slices(m)) {
    *verdict = hlo_verdict_beyond(HLO_REASON_CONFIG_PARTS, m->contraction.node, (double)given,
                                  (double)most);
  }
  return given;
}

static void lay_out_accumulators(hlo_matmul_t* m) {
  m->accumulators_stride =
      m->panel_count * m->panel_width + hlo_matmul_line_bytes(m) / m->element_bytes;
  m->accumulators_bytes =
      m->outer_extent * m->rows.extent * m->accumulators_stride * m->element_bytes;
  m->accumulators_offset = m->scratch_bytes;
}

static void make_parts(hlo_matmul_t* m, int64_t count) {
  int64_t steps = hlo_divide_up(m->depth[0].extent, count);
  m->split = HLO_MATMUL_PARTS;
  m->part_blocks = hlo_matmul_has_slices(m) ? hlo_divide_up(steps, slice_steps(m)) : 1;
  m->block_steps = hlo_divide_up(steps, m->part_blocks);
  if (m->depth_count == 1) m->block_steps = round_up(m->block_steps, HLO_TUNING_STEP_MULTIPLE);
  m->block_count = hlo_divide_up(m->depth[0].extent, m->block_steps);
  m->part_count = hlo_divide_up(m->block_count, m->part_blocks);
  lay_out_accumulators(m);
  m->scratch_bytes += scratch_size(m, m->part_count * m->accumulators_bytes);
}

static hlo_status_t make_blocks(hlo_matmul_t* m) {
  int64_t steps = m->depth_extent, tiles = hlo_matmul_main_panel(m)->tile_count;
  bool is_spread =
      !hlo_matmul_is_packed(&m->operands[HLO_MATMUL_B]) && conflicts(m, HLO_MATMUL_B, &m->depth[0]);
  bool is_single = tiles == 1 && !hlo_matmul_has_blocks(m);
  bool is_whole = m->depth_count > 1 || m->depth[0].limit.is_used;
  const int64_t given = hlo_kernel_config_value(m->config, HLO_CHOICE_block);
  const bool may_cut = may_split(m, HLO_MATMUL_BLOCKS_IN_OUTPUT) && !is_whole;
  const bool is_on_stack = hlo_matmul_has_blocks(m) && !hlo_matmul_has_slices(m);
  if (given && (!may_cut || is_on_stack)) {
    m->verdict = hlo_verdict_beyond(HLO_REASON_CONFIG_BLOCK, m->contraction.node, (double)given, 0);
    return hlo_ok();
  }
  if (!may_cut || (is_single && !given)) return hlo_ok();
  int64_t wanted = hlo_matmul_has_slices(m) ? slice_steps(m) : HLO_TUNING_CONFLICT_STEPS;
  if (given) {
    wanted = given;
  } else if (!is_spread && !hlo_matmul_has_blocks(m))
    HLO_TRY(block_steps(m, &wanted));
  m->block_steps = steps;
  if (steps <= wanted) return hlo_ok();
  int64_t even_steps =
      round_up(hlo_divide_up(steps, hlo_divide_up(steps, wanted)), HLO_TUNING_STEP_MULTIPLE);
  if (m->accumulators_output >= 0) {
    m->split = HLO_MATMUL_BLOCKS_IN_OUTPUT;
    m->accumulators_stride = hlo_matmul_output_stride(m, m->rows.loop);
  } else {
    lay_out_accumulators(m);
    if ((double)m->accumulators_bytes > HLO_TUNING_MAX_SCRATCH_BYTES) return hlo_ok();
    m->split = HLO_MATMUL_BLOCKS_IN_SCRATCH;
    m->scratch_bytes += scratch_size(m, m->accumulators_bytes);
  }
  m->block_steps = even_steps;
  m->block_count = m->part_blocks = hlo_divide_up(steps, even_steps);
  return hlo_ok();
}

// ---- chunks

// Returns the number of stripes of rows that stay in a cache while all panels use them: the second
// cache for tile registers, else the last.
static int64_t count_stripes(const hlo_matmul_t* m) {
  if (m->strategy == HLO_MATMUL_IN_TILES) return hlo_matmul_tile_blocks(m);
  if (m->panel_count == 1 || m->is_convolution) return 1;
  int64_t bytes = m->rows.extent * m->depth_extent * m->element_bytes / m->part_count;
  return hlo_matmul_max(
      hlo_divide_up(bytes, m->target->tile.memories[3].capacity_bytes / HLO_TUNING_HELD_SHARE), 1);
}

// Cuts panels of a stripe into parts, enough that chunks of whole parts are about equal. Narrow
// panels have fewer parts because their tiles are faster.
static void cut_panels(hlo_matmul_t* m, int64_t wanted) {
  int64_t units = m->outer_extent * m->stripe_count * m->panel_count * m->part_count;
  // A panel that each part packs for itself is best used for all rows.
  int64_t least = hlo_matmul_has_slices(m) ? hlo_matmul_min(wanted, HLO_TUNING_FEW_CHUNKS)
                                           : HLO_TUNING_CHUNK_PARTS * wanted;
  int64_t parts = wanted > 1 ? hlo_divide_up(least, units) : 1;
  hlo_matmul_panel_t *full = &m->full, *edge = &m->edge;
  full->part_count = hlo_matmul_max(hlo_matmul_min(parts, full->tile_count / m->stripe_count), 1);
  if (full->piece_count) parts = hlo_divide_up(parts * edge->piece_count, full->piece_count);
  edge->part_count = hlo_matmul_max(hlo_matmul_min(parts, edge->tile_count / m->stripe_count), 1);
}

static void make_chunks(hlo_matmul_t* m) {
  m->cost_ns = product_ns(m);
  int64_t wanted = wanted_chunks(m);
  m->stripe_count = hlo_matmul_min(hlo_matmul_main_panel(m)->tile_count, count_stripes(m));
  cut_panels(m, wanted);
  m->unit_count = m->outer_extent * m->stripe_count * hlo_matmul_stripe_units(m) * m->part_count;
  int64_t chunks = hlo_matmul_min(wanted, m->unit_count);
  if (chunks < m->unit_count && chunks > HLO_TUNING_EVEN_CHUNKS)
    chunks -= chunks % HLO_TUNING_EVEN_CHUNKS;
  m->chunk_count = (uint64_t)chunks;
  chunks = hlo_matmul_min(wanted, m->target->tile.max_chunks / HLO_TUNING_PAD_CHUNK_SHARE);
  for (uint32_t i = 0; i < 2 * (HLO_MATMUL_PACK + 1); ++i) {
    hlo_matmul_copy_t* copy = &m->copies[i / 2][i % 2];
    if (!copy->count) continue;
    copy->per_chunk = hlo_divide_up(copy->count, chunks);
    copy->chunk_count = hlo_divide_up(copy->count, copy->per_chunk);
  }
}

// Chooses prefetches of A: of its rows, if they come from memory beyond the second cache for every
// panel, or of its steps, if rows are adjacent where they are read and do not stay in that cache.
static hlo_matmul_fetch_t choose_fetch(const hlo_matmul_t* m) {
  int64_t cache = hlo_matmul_cache_bytes(m);
  int64_t step = m->depth[m->depth_count - 1].strides[HLO_MATMUL_A];
  if (hlo_matmul_is_along(m)) return HLO_MATMUL_FETCH_NOTHING;
  bool are_rows = !m->is_convolution && m->depth_count == 1 && m->panel_count > 1 &&
                  step <= m->group && bytes_of_a(m) > HLO_TUNING_FAR_CACHES * (double)cache;
  bool are_steps = m->strategy != HLO_MATMUL_BY_CHANNEL && m->rows.strides[HLO_MATMUL_A] == 1 &&
                   step > m->group && bytes_of_a(m) > (double)(cache / HLO_TUNING_HELD_SHARE);
  return are_rows    ? HLO_MATMUL_FETCH_ROWS
         : are_steps ? HLO_MATMUL_FETCH_STEPS
                     : HLO_MATMUL_FETCH_NOTHING;
}

hlo_status_t hlo_matmul_finish(hlo_matmul_t* m, const hlo_kernel_t* kernel, hlo_tile_memo_t* memo) {
  m->lanes = kernel->lanes;
  // Every choice of a configuration is for tiles of registers.
  if (hlo_kernel_config_is_empty(m->config) && hlo_matmul_choose_narrow(m, kernel->fusion)) {
    return hlo_ok();
  }
  m->accumulators_output = find_accumulators_output(m, kernel->fusion);
  m->stores_rows = epilogue_ops(m, kernel->fusion) > light_ops(m);
  HLO_TRY(make_tiles(m, memo));
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  for (uint32_t side = 0; side < 2 && !hlo_verdict_is_no(&m->verdict); ++side) {
    m->verdict = make_padding(m, side);
  }
  hlo_matmul_find_codes(m, kernel);
  if (!hlo_verdict_is_no(&m->verdict)) m->verdict = make_packing(m);
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  const int64_t parts = chosen_parts(m, &m->verdict);
  if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  m->block_count = m->part_count = m->part_blocks = 1;
  if (parts > 1) {
    const int64_t block = hlo_kernel_config_value(m->config, HLO_CHOICE_block);
    if (block) {
      m->verdict =
          hlo_verdict_beyond(HLO_REASON_CONFIG_BLOCK, m->contraction.node, (double)block, 0);
      return hlo_ok();
    }
    make_parts(m, parts);
  } else {
    HLO_TRY(make_blocks(m));
    if (hlo_verdict_is_no(&m->verdict)) return hlo_ok();
  }
  make_chunks(m);
  m->fetch = choose_fetch(m);
  if (hlo_matmul_has_slices(m)) {
    m->slices_offset = m->scratch_bytes;
    int64_t elements = m->block_steps * m->panel_width + hlo_matmul_first_row(m);
    m->slice_bytes = scratch_size(m, elements * m->element_bytes);
    m->scratch_bytes += (size_t)m->chunk_count * m->slice_bytes;
  }
  m->verdict = hlo_matmul_weigh_prologues(m);
  return hlo_ok();
}

static bool is_copying(const hlo_matmul_t* m, hlo_matmul_phase_t phase) {
  return m->copies[phase][0].count || m->copies[phase][1].count;
}

uint32_t hlo_matmul_phase_count(const hlo_matmul_t* m) {
  return 1 + is_copying(m, HLO_MATMUL_PAD) + is_copying(m, HLO_MATMUL_PACK) +
         (m->split == HLO_MATMUL_PARTS);
}

hlo_matmul_phase_t hlo_matmul_phase(const hlo_matmul_t* m, uint32_t number) {
  uint32_t left = hlo_matmul_phase_count(m) - number - (m->split == HLO_MATMUL_PARTS);
  if (left < 2) return left ? HLO_MATMUL_MULTIPLY : HLO_MATMUL_JOIN;
  return number == 0 && is_copying(m, HLO_MATMUL_PAD) ? HLO_MATMUL_PAD : HLO_MATMUL_PACK;
}

bool hlo_matmul_prepares(const hlo_matmul_t* m, uint32_t input) {
  hlo_matmul_phase_t first = hlo_matmul_phase(m, 0);
  for (uint32_t side = 0; side < 2 && first <= HLO_MATMUL_PACK; ++side) {
    if (m->copies[first][side].count && hlo_matmul_reads(&m->operands[side], input)) return true;
  }
  return false;
}

uint64_t hlo_matmul_chunk_count(const hlo_matmul_t* m, uint32_t phase) {
  switch (hlo_matmul_phase(m, phase)) {
    case HLO_MATMUL_PAD:
    case HLO_MATMUL_PACK: {
      const hlo_matmul_copy_t* copies = m->copies[hlo_matmul_phase(m, phase)];
      const int64_t count = copies[0].chunk_count + copies[1].chunk_count;
      return m->chunk_count == 1 ? 1 : (uint64_t)count;
    }
    case HLO_MATMUL_JOIN: return (uint64_t)(m->unit_count / m->part_count);
    default: return m->chunk_count;
  }
}
