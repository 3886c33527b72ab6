// SPDX-License-Identifier: Apache-2.0
// Copies between strided views of dense storage. Transposes, slices, broadcasts, pads, reversals
// and concatenations are all one such copy with the right strides.
#ifndef HLO_BASE_STRIDED_H_
#define HLO_BASE_STRIDED_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Highest rank of a strided view.
#define HLO_STRIDED_RANK_MAX 64

/// Copies the box `dims` from `in` to `out`; element (i0, i1, ...) is at sum(i_k * stride_k) bytes.
/// shapes : rank <= HLO_STRIDED_RANK_MAX; any dim may be 0 (nothing is accessed then)
/// units  : strides in bytes, may be negative; an input stride of 0 repeats (broadcast)
/// errors : none. `element_bytes` may be any size; 1, 2, 4, 8 and 16 have their own loops.
/// owner  : both lent for the call; the views must not overlap
/// threads: safe (pure)
void hlo_strided_copy(size_t element_bytes, uint32_t rank, const int64_t* dims, void* out,
                      const int64_t* out_strides, const void* in, const int64_t* in_strides);

/// Fills `count` consecutive elements of `out` with the one at `value` (which may be its first).
void hlo_strided_fill(size_t element_bytes, size_t count, void* out, const void* value);

/// Computes the row-major strides in bytes of a dense tensor. An empty tensor has zero strides.
void hlo_strided_dense(size_t element_bytes, uint32_t rank, const int64_t* dims,
                       int64_t* out_strides);

/// Odometer over dims: advances `index` in row-major order; returns false after the last index.
static inline bool hlo_index_next(uint32_t rank, const int64_t* dims, int64_t* index) {
  for (uint32_t d = rank; d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

#endif  // HLO_BASE_STRIDED_H_
