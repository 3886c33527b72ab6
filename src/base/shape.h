// SPDX-License-Identifier: Apache-2.0
// Shapes and memory layouts of buffers: sizes with overflow checks, dimension orders, tiles, packed
// sub-byte elements, byte strides, and their text form ("{1,0:T(8,128)E(4)}").
#ifndef HLO_BASE_SHAPE_H_
#define HLO_BASE_SHAPE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "base/strbuf.h"

enum {
  HLO_SHAPE_RANK_LIMIT = 64,
  HLO_LAYOUT_TILE_LIMIT = 4,
  HLO_LAYOUT_TILE_RANK_LIMIT = 8,
};

/// A static array shape; plain data, valid once made by hlo_shape_init().
typedef struct hlo_shape {
  hlo_dtype_t dtype;
  uint32_t rank;
  int64_t dims[HLO_SHAPE_RANK_LIMIT];
  size_t element_count;
  size_t size_bytes;  // in host memory: row-major, hlo_dtype_size_bytes() an element
} hlo_shape_t;

/// Elements and bytes (as in host memory) of an array; none where a dimension is 0.
/// errors: INVALID_ARGUMENT for a rank above the limit, a negative dimension, or a size that does
/// not fit 2^63 bytes.
hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) HLO_MUST_USE;
/// errors: as above
hlo_status_t hlo_shape_init(hlo_shape_t* shape, hlo_dtype_t dtype, const int64_t* dims,
                            size_t rank) HLO_MUST_USE;

/// One level of tiling: the most minor `rank` dimensions are cut into blocks of these sizes.
typedef struct hlo_tile {
  uint32_t rank;
  int64_t dims[HLO_LAYOUT_TILE_RANK_LIMIT];
} hlo_tile_t;

/// How the elements of a shape lie in memory; plain data.
typedef struct hlo_layout {
  uint32_t rank;
  uint32_t tile_count;
  uint32_t element_bits;  // bits from one element to the next; 0: those of hlo_dtype_size_bytes()
  uint8_t minor_to_major[HLO_SHAPE_RANK_LIMIT];
  hlo_tile_t tiles[HLO_LAYOUT_TILE_LIMIT];  // outermost first, each applied to the one before
} hlo_layout_t;

/// Row-major, untiled, whole bytes.
void hlo_layout_init_row_major(hlo_layout_t* layout, size_t rank);
bool hlo_layout_equal(const hlo_layout_t* a, const hlo_layout_t* b);
bool hlo_layout_is_row_major(const hlo_layout_t* layout);
/// errors: INVALID_ARGUMENT: no permutation, tiles out of range, or element bits that cannot hold
/// the type.
hlo_status_t hlo_layout_verify(const hlo_layout_t* layout, const hlo_shape_t* shape) HLO_MUST_USE;
/// Bytes of a buffer of this (verified) layout, padding of tiles included.
/// errors: INVALID_ARGUMENT if that does not fit 2^63 bytes.
hlo_status_t hlo_layout_size_bytes(const hlo_layout_t* layout, const hlo_shape_t* shape,
                                   size_t* out_size_bytes) HLO_MUST_USE;
/// Byte strides of an untiled layout of whole bytes; false for others.
bool hlo_layout_byte_strides(const hlo_layout_t* layout, const hlo_shape_t* shape,
                             int64_t* out_strides);
/// The untiled layout that these byte strides are (dense, no gaps); false if they are none.
bool hlo_layout_from_byte_strides(const hlo_shape_t* shape, const int64_t* strides,
                                  hlo_layout_t* out_layout);
/// Where an element lies, counted in elements from the start; the reference for everything else.
uint64_t hlo_layout_element_offset(const hlo_layout_t* layout, const hlo_shape_t* shape,
                                   const int64_t* index);
/// "{1,0:T(8,128)(2,1)E(4)}"; "{}" for a scalar.
void hlo_layout_print(const hlo_layout_t* layout, hlo_strbuf_t* out);
/// errors: INVALID_ARGUMENT naming the column.
hlo_status_t hlo_layout_parse(const char* text, size_t length,
                              hlo_layout_t* out_layout) HLO_MUST_USE;

// ---- copies between layouts --------------------------------------------------------------------

/// One side of a copy. Exactly one member is set; both NULL: row-major, whole bytes.
typedef struct hlo_copy_side {
  const int64_t* byte_strides;  // one a dimension; may be negative or zero on the reading side
  const hlo_layout_t* layout;
} hlo_copy_side_t;

typedef enum hlo_copy_kind {
  HLO_COPY_KIND_EMPTY,
  HLO_COPY_KIND_BYTES,      // one run
  HLO_COPY_KIND_RUNS,       // equal runs at strides
  HLO_COPY_KIND_TRANSPOSE,  // two inner dimensions change places
  HLO_COPY_KIND_PACK,       // host elements, one to a byte, to packed ones in the same order
  HLO_COPY_KIND_UNPACK,
  HLO_COPY_KIND_ELEMENTS,  // tiles, or packed elements in another order: slow and plain
} hlo_copy_kind_t;

typedef struct hlo_copy_dim {
  int64_t extent;
  int64_t in_stride, out_stride;  // bytes
} hlo_copy_dim_t;

/// A prepared copy; plain data without pointers into the arguments. Make once, run many times.
typedef struct hlo_copy_plan {
  hlo_copy_kind_t kind;
  uint32_t dim_count;
  size_t item_bytes;  // what one step of the innermost dimension moves
  size_t total_bytes;
  hlo_copy_dim_t dims[HLO_SHAPE_RANK_LIMIT];  // outermost first
  hlo_shape_t shape;                          // ELEMENTS, PACK, UNPACK
  hlo_layout_t in_layout, out_layout;         // ELEMENTS
} hlo_copy_plan_t;

/// Elements lie at the addresses that strides or layout give, relative to the base that
/// hlo_copy_run() gets (with a negative stride the base is not the lowest address).
/// errors: INVALID_ARGUMENT for bad layouts or when written elements could overlap; UNIMPLEMENTED
/// for strides on one side and tiles or packing in another order on the other.
hlo_status_t hlo_copy_plan_init(hlo_copy_plan_t* plan, const hlo_shape_t* shape, hlo_copy_side_t in,
                                hlo_copy_side_t out) HLO_MUST_USE;
/// The same for any box of elements of any size, without layouts: element (i0, i1, ...) lies at
/// sum(i_k * stride_k) bytes. A dimension of 0 copies nothing; an input stride of 0 repeats. The
/// caller answers for sizes, and for written elements not overlapping each other or the input.
void hlo_copy_plan_init_strided(hlo_copy_plan_t* plan, size_t element_bytes, size_t rank,
                                const int64_t* dims, const int64_t* in_strides,
                                const int64_t* out_strides);
void hlo_copy_run(const hlo_copy_plan_t* plan, const void* in, void* out);

#endif  // HLO_BASE_SHAPE_H_
