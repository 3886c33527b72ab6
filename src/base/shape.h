// SPDX-License-Identifier: Apache-2.0
// Sizes of shapes, with overflow checks, and layouts of dense arrays.
// threads: safe (pure)
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "base/strbuf.h"

enum { HLO_SHAPE_RANK_LIMIT = 64 };

/// Computes the number of elements and of bytes (row-major, hlo_dtype_size_bytes() per element) of
/// an array; zero if a dimension is 0.
/// errors: INVALID_ARGUMENT for a rank above the limit, a negative dimension, or a size of 2^63
/// bytes or more.
hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) HLO_MUST_USE;

// ---- layouts: the order of the dimensions in memory, in the form of XLA's minor_to_major lists,
// which begin with the dimension of adjacent elements. A null order is row-major: rank - 1, ..., 1,
// 0

void hlo_dim_order_row_major(size_t rank, int64_t* out_minor_to_major);

/// Returns true if the order names each of `rank` (at most HLO_SHAPE_RANK_LIMIT) dimensions once.
bool hlo_dim_order_is_valid(size_t rank, const int64_t* minor_to_major);
bool hlo_dim_order_is_row_major(size_t rank, const int64_t* minor_to_major);

/// Returns true if arrays of these dimensions have the same bytes in both orders: dimensions of one
/// element may have any position, and arrays without elements have no bytes.
bool hlo_dim_order_is_same(size_t rank, const int64_t* dims, const int64_t* a, const int64_t* b);

/// Computes the byte strides of a dense array of a valid order whose size hlo_shape_measure()
/// accepts.
void hlo_dim_order_strides(size_t element_bytes, size_t rank, const int64_t* dims,
                           const int64_t* minor_to_major, int64_t* out_strides);

/// Appends XLA's text of the layout, "{1,0}".
void hlo_dim_order_print(size_t rank, const int64_t* minor_to_major, hlo_strbuf_t* out);

/// Appends the text of one tile of a layout, "(8,128)".
void hlo_dim_order_print_tile(size_t rank, const int64_t* dims, hlo_strbuf_t* out);

/// Returns UNIMPLEMENTED for a layout with tiles, quoting its text. tile_dims: those of all tiles,
/// concatenated.
hlo_status_t hlo_dim_order_refuse_tiles(size_t rank, const int64_t* minor_to_major,
                                        size_t tile_count, const size_t* tile_ranks,
                                        const int64_t* tile_dims) HLO_MUST_USE;

/// Reads XLA's text of a layout. Element sizes, ":E(4)", are accepted and have no effect, because
/// frameworks write them for every type below a byte.
/// errors : INVALID_ARGUMENT (no order of `rank` dimensions), UNIMPLEMENTED (tiles, memory spaces
///          and other properties); both quote the text
hlo_status_t hlo_dim_order_parse(const char* text, size_t rank,
                                 int64_t* out_minor_to_major) HLO_MUST_USE;
