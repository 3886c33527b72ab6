// SPDX-License-Identifier: Apache-2.0
// Loops of strided.c for one element type. Needs ELEMENT (a type) and NAME(x).

static void NAME(line)(int64_t count, char* out, int64_t out_stride, const char* in,
                       int64_t in_stride) {
  if (out_stride == (int64_t)sizeof(ELEMENT) && in_stride == 0) {
    const ELEMENT value = *(const ELEMENT*)in;
    ELEMENT* o = (ELEMENT*)out;
    for (int64_t i = 0; i < count; i++) o[i] = value;
    return;
  }
  if (out_stride == (int64_t)sizeof(ELEMENT)) {
    ELEMENT* o = (ELEMENT*)out;
    for (int64_t i = 0; i < count; i++) o[i] = *(const ELEMENT*)(in + i * in_stride);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    *(ELEMENT*)(out + i * out_stride) = *(const ELEMENT*)(in + i * in_stride);
  }
}

// rows x cols where `in` is dense along rows and `out` dense along cols: tiles keep both in cache.
static void NAME(transpose)(int64_t rows, int64_t cols, char* out, int64_t out_row_stride,
                            const char* in, int64_t in_col_stride) {
  enum { TILE = 16 };
  for (int64_t r0 = 0; r0 < rows; r0 += TILE) {
    const int64_t r1 = r0 + TILE < rows ? r0 + TILE : rows;
    for (int64_t c0 = 0; c0 < cols; c0 += TILE) {
      const int64_t c1 = c0 + TILE < cols ? c0 + TILE : cols;
      for (int64_t r = r0; r < r1; r++) {
        ELEMENT* o = (ELEMENT*)(out + r * out_row_stride);
        for (int64_t c = c0; c < c1; c++) {
          o[c] = ((const ELEMENT*)(in + c * in_col_stride))[r];
        }
      }
    }
  }
}

#undef ELEMENT
#undef NAME
