// SPDX-License-Identifier: Apache-2.0
// Strided copies: dims of size 1 are dropped, dims that are contiguous in both views are merged,
// then the innermost loop is a memcpy, a fill, a gather of one stride, or a tiled transpose.
#include "kernels/strided.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
  uint64_t low, high;
} pair_t;

#define ELEMENT uint8_t
#define NAME(x) x##_1
#include "kernels/strided_loop.inl"
#define ELEMENT uint16_t
#define NAME(x) x##_2
#include "kernels/strided_loop.inl"
#define ELEMENT uint32_t
#define NAME(x) x##_4
#include "kernels/strided_loop.inl"
#define ELEMENT uint64_t
#define NAME(x) x##_8
#include "kernels/strided_loop.inl"
#define ELEMENT pair_t
#define NAME(x) x##_16
#include "kernels/strided_loop.inl"

// The box after merging dims, innermost last.
typedef struct {
  size_t element_bytes;
  uint32_t rank;
  int64_t dims[HLO_STRIDED_RANK_MAX];
  int64_t out[HLO_STRIDED_RANK_MAX];
  int64_t in[HLO_STRIDED_RANK_MAX];
} box_t;

static void copy_line(size_t element_bytes, int64_t count, char* out, int64_t out_stride,
                      const char* in, int64_t in_stride) {
  if (out_stride == (int64_t)element_bytes && in_stride == (int64_t)element_bytes) {
    memcpy(out, in, (size_t)count * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1: line_1(count, out, out_stride, in, in_stride); return;
    case 2: line_2(count, out, out_stride, in, in_stride); return;
    case 4: line_4(count, out, out_stride, in, in_stride); return;
    case 8: line_8(count, out, out_stride, in, in_stride); return;
    case 16: line_16(count, out, out_stride, in, in_stride); return;
    default:
      for (int64_t i = 0; i < count; i++) {
        memcpy(out + i * out_stride, in + i * in_stride, element_bytes);
      }
  }
}

static void copy_transposed(size_t element_bytes, int64_t rows, int64_t cols, char* out,
                            int64_t out_row_stride, const char* in, int64_t in_col_stride) {
  switch (element_bytes) {
    case 1: transpose_1(rows, cols, out, out_row_stride, in, in_col_stride); return;
    case 2: transpose_2(rows, cols, out, out_row_stride, in, in_col_stride); return;
    case 4: transpose_4(rows, cols, out, out_row_stride, in, in_col_stride); return;
    case 8: transpose_8(rows, cols, out, out_row_stride, in, in_col_stride); return;
    default: transpose_16(rows, cols, out, out_row_stride, in, in_col_stride); return;
  }
}

// Fills `box`; false if there is nothing to copy.
static bool merge_dims(box_t* box, uint32_t rank, const int64_t* dims, const int64_t* out_strides,
                       const int64_t* in_strides) {
  box->rank = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] <= 0) return false;
    if (dims[i] == 1) continue;
    if (box->rank > 0) {
      const uint32_t last = box->rank - 1;
      if (box->out[last] == out_strides[i] * dims[i] && box->in[last] == in_strides[i] * dims[i]) {
        box->dims[last] *= dims[i];
        box->out[last] = out_strides[i];
        box->in[last] = in_strides[i];
        continue;
      }
    }
    box->dims[box->rank] = dims[i];
    box->out[box->rank] = out_strides[i];
    box->in[box->rank] = in_strides[i];
    box->rank++;
  }
  return true;
}

// A dim other than the last along which the input is dense while the last is not: its number, or
// -1.
static int find_transposed(const box_t* box) {
  const int64_t bytes = (int64_t)box->element_bytes;
  const uint32_t last = box->rank - 1;
  if (box->rank < 2 || box->element_bytes > 16 || (bytes & (bytes - 1)) != 0) return -1;
  if (box->out[last] != bytes || box->in[last] == bytes || box->in[last] == 0) return -1;
  if (box->dims[last] < 4) return -1;
  for (uint32_t i = 0; i < last; i++) {
    if (box->in[i] == bytes && box->dims[i] >= 4) return (int)i;
  }
  return -1;
}

void hlo_strided_copy(size_t element_bytes, uint32_t rank, const int64_t* dims, void* out,
                      const int64_t* out_strides, const void* in, const int64_t* in_strides) {
  box_t box = {.element_bytes = element_bytes};
  if (!merge_dims(&box, rank, dims, out_strides, in_strides)) return;
  if (box.rank == 0) {
    memcpy(out, in, element_bytes);
    return;
  }
  const int transposed = find_transposed(&box);
  const int64_t cols = box.dims[box.rank - 1], out_inner = box.out[box.rank - 1],
                in_inner = box.in[box.rank - 1];
  int64_t rows = 0, out_row = 0;
  uint32_t outer = box.rank - 1;
  if (transposed >= 0) {  // take that dim out of the outer loops
    rows = box.dims[transposed];
    out_row = box.out[transposed];
    for (uint32_t i = (uint32_t)transposed; i + 1 < outer; i++) {
      box.dims[i] = box.dims[i + 1];
      box.out[i] = box.out[i + 1];
      box.in[i] = box.in[i + 1];
    }
    outer--;
  }
  int64_t index[HLO_STRIDED_RANK_MAX] = {0};
  char* o = out;
  const char* p = in;
  for (;;) {
    if (transposed >= 0) {
      copy_transposed(element_bytes, rows, cols, o, out_row, p, in_inner);
    } else {
      copy_line(element_bytes, cols, o, out_inner, p, in_inner);
    }
    uint32_t i = outer;
    for (; i > 0; i--) {
      o += box.out[i - 1];
      p += box.in[i - 1];
      if (++index[i - 1] < box.dims[i - 1]) break;
      o -= box.out[i - 1] * box.dims[i - 1];
      p -= box.in[i - 1] * box.dims[i - 1];
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

void hlo_strided_fill(size_t element_bytes, size_t count, void* out, const void* value) {
  if (count == 0) return;
  unsigned char probe = 0;
  for (size_t i = 0; i < element_bytes; i++) probe |= ((const unsigned char*)value)[i];
  if (probe == 0) {
    memset(out, 0, count * element_bytes);
    return;
  }
  memmove(out, value, element_bytes);
  const size_t total = count * element_bytes;
  for (size_t done = element_bytes; done < total;) {  // double the filled part, within the cache
    size_t step = done < 16384 ? done : 16384 - 16384 % element_bytes;
    if (step > total - done) step = total - done;
    memcpy((char*)out + done, out, step);
    done += step;
  }
}

void hlo_strided_dense(size_t element_bytes, uint32_t rank, const int64_t* dims,
                       int64_t* out_strides) {
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) empty |= dims[i] == 0;
  int64_t stride = empty ? 0 : (int64_t)element_bytes;
  for (uint32_t i = rank; i > 0; i--) {
    out_strides[i - 1] = stride;
    stride *= dims[i - 1];
  }
}
