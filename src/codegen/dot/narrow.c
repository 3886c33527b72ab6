// SPDX-License-Identifier: Apache-2.0
// Many rows times a matrix smaller than a vector: a vector holds several rows, as they are
// contiguous in memory (see matmul.h). Rows may not fill a vector. A partial store takes several
// times as long as a full one, so full vectors are stored, and the next store overwrites the lanes
// past the rows. Only the last stores of a chunk that would write past the chunk are masked to
// their rows, and so are their loads.
#include <string.h>

#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"

enum { WORD_BYTES = 8 };

// Returns true if a member reads, for an element of the product, the element of the same number or
// always the same one.
static bool goes_along(const hlo_matmul_t* m, const hlo_node_t* node) {
  if (node == m->contraction.node || node->op == HLO_OP_constant) return true;
  const hlo_type_t* type = m->contraction.node->results[0].type;
  int64_t count = hlo_type_element_count(type);
  if (node->op == HLO_OP_broadcast_in_dim) {
    return hlo_type_element_count(hlo_node_operand_type(node, 0)) == 1;
  }
  return hlo_elementwise_supports(node) && hlo_type_element_count(node->results[0].type) == count;
}

// Returns true if rows of A and of the result are contiguous, and all steps are inside the
// operands, which those of a padded convolution are not.
static bool is_narrow(const hlo_matmul_t* m, const hlo_fusion_t* fusion) {
  const hlo_matmul_dim_t *rows = &m->rows, *depth = &m->depth[0];
  bool is_plain = m->strategy == HLO_MATMUL_BY_COLUMN || m->strategy == HLO_MATMUL_BY_POSITION;
  if (!is_plain || m->depth_extent > HLO_MATMUL_MAX_NARROW || m->outer_count ||
      m->depth_count != 1 || rows->loop < 0 || m->columns.loop < 0 || m->group > 1 ||
      hlo_matmul_output_stride(m, rows->loop) != m->columns.extent ||
      depth->from[HLO_MATMUL_A] != 1 || rows->from[HLO_MATMUL_A] != depth->extent ||
      depth->limit.is_used || depth->wrap_at || rows->wrap_at) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (m->operands[side].dtype != m->dtype || m->operands[side].prologue.value) return false;
    if (m->padding[side].is_used) return false;  // it would need a copy with zeros around it
  }
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    if (!goes_along(m, fusion->nodes[i])) return false;
  }
  return m->dtype == HLO_DTYPE_F32 || m->dtype == HLO_DTYPE_F64;
}

bool hlo_matmul_choose_narrow(hlo_matmul_t* m, const hlo_fusion_t* fusion) {
  // One vector holds all elements of A of these rows, and another all results.
  m->rows_together = hlo_matmul_min(m->lanes / m->columns.extent, m->lanes / m->depth_extent);
  if (!m->target->has_masks || m->rows_together < 2 || !is_narrow(m, fusion)) return false;
  m->strategy = HLO_MATMUL_NARROW;
  for (uint32_t side = 0; side < 2; ++side) {
    m->depth[0].strides[side] = m->depth[0].from[side];
    m->rows.strides[side] = m->rows.from[side];
    m->columns.strides[side] = m->columns.from[side];
  }
  m->panel_width = m->columns.extent;
  m->unit_count = hlo_divide_up(m->rows.extent, m->rows_together);
  double bytes =
      (double)m->rows.extent * (double)(m->depth_extent + m->columns.extent) * m->element_bytes;
  hlo_tile_work_t work = {.vector_ops = (double)m->unit_count * (double)(2 * m->depth_extent),
                          .accessed_bytes = bytes,
                          .distinct_bytes = bytes};
  m->cost_ns = hlo_tile_work_ns(&m->target->tile, &work);
  int64_t wanted = hlo_tile_chunk_count(&m->target->tile, m->cost_ns, false);
  m->units_per_chunk = hlo_divide_up(m->unit_count, wanted);
  m->chunk_count = (uint64_t)hlo_divide_up(m->unit_count, m->units_per_chunk);
  return true;
}

// ---- vector IR

typedef struct narrow {
  const hlo_matmul_t* m;
  const hlo_point_emitter_t* points;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* a;
  hlo_vir_value_t* orders[HLO_MATMUL_MAX_NARROW];   // the element of A's vector for each lane
  hlo_vir_value_t* columns[HLO_MATMUL_MAX_NARROW];  // of B: a row, repeated to fill a vector
} narrow_t;

// Returns integers by lane: by_row times the lane's row plus by_column times its column, plus
// `first`.
static hlo_vir_value_t* numbers(hlo_vir_builder_t* b, const hlo_matmul_t* m, int64_t by_row,
                                int64_t by_column, int64_t first) {
  uint8_t bytes[HLO_VIR_MAX_LANES * WORD_BYTES] = {0};
  for (int64_t i = 0; i < m->rows_together * m->columns.extent; ++i) {
    int64_t value = first + i / m->columns.extent * by_row + i % m->columns.extent * by_column;
    memcpy(&bytes[i * m->element_bytes], &value, m->element_bytes);
  }
  uint32_t blob = hlo_vir_module_add_blob(b->module, bytes, m->lanes * m->element_bytes);
  hlo_vir_value_t* address =
      hlo_vir_emit(b, HLO_VIR_rodata, hlo_vir_type(HLO_VIR_INDEX, 1), 0, blob, 0, NULL);
  hlo_vir_type_t type =
      hlo_vir_type(m->element_bytes == WORD_BYTES ? HLO_VIR_I64 : HLO_VIR_I32, m->lanes);
  return hlo_vir_emit(b, HLO_VIR_load, type, HLO_VIR_INVARIANT, 0, 1, &address);
}

static void load_columns(narrow_t* n, hlo_vir_value_t* base) {
  const hlo_matmul_t* m = n->m;
  hlo_vir_value_t* index = numbers(n->b, m, 0, m->columns.strides[HLO_MATMUL_B], 0);
  for (int64_t k = 0; k < m->depth_extent; ++k) {
    hlo_element_address_t address = {
        .base = base,
        .offset_bytes = k * m->depth[0].strides[HLO_MATMUL_B] * m->element_bytes,
        .flags = HLO_VIR_INVARIANT};
    n->orders[k] = numbers(n->b, m, m->depth_extent, 0, k);
    n->columns[k] = hlo_elementwise_gather(n->b, m->dtype, m->lanes, &address, index);
  }
}

// Returns the number of vectors at the end of a chunk that would reach past it.
static int64_t masked_units(const hlo_matmul_t* m) {
  const int64_t shorter = m->columns.extent < m->depth_extent ? m->columns.extent : m->depth_extent;
  const int64_t step = m->rows_together * shorter;  // elements from one vector to the next
  return (m->lanes + step - 1) / step;
}

// Emits `count` rows from `row` on. Stores past them unless `is_last`.
static void emit_rows(const narrow_t* n, hlo_vir_value_t* row, int64_t count, bool is_last) {
  const hlo_matmul_t* m = n->m;
  hlo_vir_builder_t* b = n->b;
  hlo_vir_type_t type =
      hlo_vir_type(m->dtype == HLO_DTYPE_F32 ? HLO_VIR_F32 : HLO_VIR_F64, m->lanes);
  hlo_element_address_t address = {
      .base = hlo_plus(b, n->a, hlo_times(b, row, m->depth_extent * m->element_bytes)),
      .mask = is_last ? hlo_matmul_first_lanes(b, m->lanes, (uint32_t)(count * m->depth_extent))
                      : NULL};
  hlo_vir_value_t* elements = hlo_elementwise_load(b, m->dtype, m->lanes, &address);
  hlo_vir_value_t* sum = hlo_vir_const_bits(b, type, 0);
  for (int64_t k = 0; k < m->depth_extent; ++k) {
    hlo_vir_value_t* spread[] = {elements, n->orders[k]};
    hlo_vir_value_t* factor = hlo_vir_emit(b, HLO_VIR_permute, type, 0, 0, 2, spread);
    sum = hlo_vir_ternary(b, HLO_VIR_fma, factor, n->columns[k], sum);
  }
  // Rows are contiguous, so lanes past a row's columns belong to the next row.
  hlo_vir_value_t* loops[HLO_TILED_MAX_LOOPS];
  loops[m->rows.loop] = row;
  loops[m->columns.loop] = hlo_index(b, 0);
  hlo_point_t point = {
      .loops = loops,
      .lane_loop = (uint32_t)m->columns.loop,
      .lanes = m->lanes,
      .value = sum,
      .mask = is_last ? hlo_matmul_first_lanes(b, m->lanes, (uint32_t)(count * m->columns.extent))
                      : NULL};
  hlo_point_emit(n->points, &point);
}

void hlo_product_emit_narrow(const hlo_kernel_t* kernel, uint32_t phase,
                             const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                             hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk) {
  (void)phase;  // there is only one
  const hlo_matmul_t* m = hlo_matmul_of(kernel);
  narrow_t n = {.m = m,
                .points = points,
                .b = b,
                .a = hlo_matmul_source(kernel, HLO_MATMUL_A, points, b, addresses)};
  load_columns(&n, hlo_matmul_source(kernel, HLO_MATMUL_B, points, b, addresses));
  int64_t left = m->rows.extent % m->rows_together, whole = m->unit_count - (left > 0);
  hlo_vir_value_t *low = hlo_index(b, 0), *limit = hlo_index(b, m->unit_count);
  if (chunk) {
    low = hlo_times(b, chunk, m->units_per_chunk);
    limit = hlo_add(b, low, m->units_per_chunk);
  }
  hlo_vir_value_t* end = hlo_least(b, limit, hlo_index(b, whole));
  hlo_vir_value_t* last = hlo_minus(b, end, hlo_index(b, masked_units(m)));
  emit_rows(&n, hlo_times(b, hlo_vir_begin_for(b, low, last, 1, 0), m->rows_together),
            m->rows_together, false);
  hlo_vir_end(b);
  emit_rows(&n,
            hlo_times(b, hlo_vir_begin_for(b, hlo_most(b, low, last), end, 1, 0), m->rows_together),
            m->rows_together, true);
  hlo_vir_end(b);
  if (!left) return;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, limit, hlo_index(b, whole)));
  emit_rows(&n, hlo_index(b, whole * m->rows_together), left, true);
  hlo_vir_end(b);
}
