// SPDX-License-Identifier: Apache-2.0
// Squares of memory that are transposed in registers: rows are read along one dimension, columns
// are computed or stored along the other one.
#pragma once

#include "codegen/math/elementwise.h"
#include "codegen/vir/interval.h"

enum { HLO_SQUARE_MAX_EDGE = 16 };

/// Elements of `edge` rows, which become the lanes of `edge` columns. At the edges of a range there
/// are fewer: lanes beyond `row_count` are zeros, columns beyond `column_count` are not read.
typedef struct hlo_square {
  hlo_dtype_t dtype;
  uint32_t edge;  // a power of two, at most HLO_SQUARE_MAX_EDGE
  uint32_t row_count, column_count;
  hlo_element_address_t rows[HLO_SQUARE_MAX_EDGE];  // of the rows' first elements
} hlo_square_t;

/// Returns the elements of a row that are read at once.
uint32_t hlo_square_part(hlo_dtype_t dtype, uint32_t edge);
/// Reads columns in their memory form.
void hlo_square_read(hlo_vir_builder_t* b, const hlo_square_t* square,
                     hlo_vir_value_t* out_columns[HLO_SQUARE_MAX_EDGE]);

/// The order in which squares cover a rectangle: block by block, so that the lines of a block stay
/// in the caches.
typedef struct hlo_square_walk {
  hlo_vir_interval_t lanes, columns;
  uint32_t edge;
  int64_t lane_block, column_block;  // edges of a block; 0: not cut
  bool is_along_columns;             // the inner loop of a block is over its columns
} hlo_square_walk_t;

/// Calls `visit` where code for one square belongs, with its first lane and column.
typedef void (*hlo_square_visit_t)(void* context, hlo_vir_value_t* lane, hlo_vir_value_t* column);
void hlo_square_each(hlo_vir_builder_t* b, const hlo_square_walk_t* walk, hlo_square_visit_t visit,
                     void* context);
