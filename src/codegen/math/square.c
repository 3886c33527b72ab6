// SPDX-License-Identifier: Apache-2.0
// Squares of memory that are transposed in registers, and loops over them.
#include "codegen/math/square.h"

#include "codegen/math/math.h"

// Bytes of a row that are loaded at a time and transposed in one part of a register.
enum { PART_BYTES = 16 };

uint32_t hlo_square_part(hlo_dtype_t dtype, uint32_t edge) {
  const uint32_t part = PART_BYTES / (uint32_t)hlo_dtype_size_bytes(dtype);
  return part < edge ? part : edge;
}

// Loads `lanes` elements of row `row` from `column` on; zeros for a row outside the range.
static hlo_vir_value_t* read_row_part(hlo_vir_builder_t* b, const hlo_square_t* square,
                                      uint32_t row, uint32_t column, uint32_t lanes) {
  if (row >= square->row_count) {
    return hlo_vir_const_bits(b, hlo_vmath_memory_type(square->dtype, lanes), 0);
  }
  hlo_element_address_t address = square->rows[row];
  address.offset_bytes += column * (int64_t)hlo_dtype_size_bytes(square->dtype);
  if (column + lanes > square->column_count) {
    address.mask = hlo_vir_const_mask(b, lanes, square->column_count - column);
  }
  return hlo_elementwise_load_raw(b, square->dtype, lanes, &address);
}

// Joins parts of `count` rows `row`, `row` + step ... in one register.
static hlo_vir_value_t* join_row_parts(hlo_vir_builder_t* b, const hlo_square_t* square,
                                       uint32_t row, uint32_t step, uint32_t count,
                                       uint32_t column) {
  if (count == 1) return read_row_part(b, square, row, column, step);
  hlo_vir_value_t* halves[] = {
      join_row_parts(b, square, row, step, count / 2, column),
      join_row_parts(b, square, row + count / 2 * step, step, count / 2, column)};
  hlo_vir_type_t half = halves[0]->type;
  return hlo_vir_emit(b, HLO_VIR_join, hlo_vir_type((hlo_vir_elem_t)half.elem, 2 * half.lanes), 0,
                      0, 2, halves);
}

void hlo_square_read(hlo_vir_builder_t* b, const hlo_square_t* square,
                     hlo_vir_value_t* out_columns[HLO_SQUARE_MAX_EDGE]) {
  const uint32_t count = hlo_square_part(square->dtype, square->edge);
  const uint32_t parts = square->edge / count;
  // All parts of a few rows are loaded before the next rows: rows at a distance of a power of two
  // share a set of the first cache, which cannot hold all of them.
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t column = 0; column < square->column_count; column += count) {
      out_columns[column + i] = join_row_parts(b, square, i, count, parts, column);
    }
  }
  for (uint32_t column = 0; column < square->column_count; column += count) {
    hlo_elementwise_transpose(b, out_columns + column, count, count, parts == 1 ? 0 : count);
  }
}

// ---- loops

// Begins a loop over the blocks of a range, which becomes that of one block.
static void begin_blocks(hlo_vir_builder_t* b, hlo_vir_interval_t* range, int64_t block) {
  hlo_vir_value_t* low = hlo_vir_begin_for(b, range->low, range->end, block, 0);
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, low, hlo_vir_iconst(b, block));
  *range = (hlo_vir_interval_t){low, hlo_vir_index(b, HLO_VIR_imin, end, range->end)};
}

void hlo_square_each(hlo_vir_builder_t* b, const hlo_square_walk_t* walk, hlo_square_visit_t visit,
                     void* context) {
  hlo_vir_interval_t lanes = walk->lanes, columns = walk->columns;
  if (hlo_vir_interval_is_empty(lanes) || hlo_vir_interval_is_empty(columns)) return;
  if (walk->column_block) begin_blocks(b, &columns, walk->column_block);
  if (walk->lane_block) begin_blocks(b, &lanes, walk->lane_block);
  const hlo_vir_interval_t out = walk->is_along_columns ? lanes : columns;
  const hlo_vir_interval_t in = walk->is_along_columns ? columns : lanes;
  hlo_vir_value_t* outer = hlo_vir_begin_for(b, out.low, out.end, walk->edge, 0);
  hlo_vir_value_t* inner = hlo_vir_begin_for(b, in.low, in.end, walk->edge, 0);
  visit(context, walk->is_along_columns ? outer : inner, walk->is_along_columns ? inner : outer);
  hlo_vir_end(b);
  hlo_vir_end(b);
  if (walk->lane_block) hlo_vir_end(b);
  if (walk->column_block) hlo_vir_end(b);
}
