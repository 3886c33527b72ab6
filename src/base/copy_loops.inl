// SPDX-License-Identifier: Apache-2.0
// Inner loops of copy.c for one element type. Requires COPY_T (of the element's size) and
// COPY_FN(name). Elements need no alignment.

// One dimension: a fill if the input stride is 0, else any strides.
static void COPY_FN(line)(const uint8_t* in, uint8_t* out, int64_t extent, int64_t in_stride,
                          int64_t out_stride) {
  COPY_T value;
  if (in_stride == 0) {
    memcpy(&value, in, sizeof value);
    if (out_stride == (int64_t)sizeof value) {
      for (int64_t i = 0; i < extent; ++i) {
        memcpy(out + i * (int64_t)sizeof value, &value, sizeof value);
      }
    } else {
      for (int64_t i = 0; i < extent; ++i) memcpy(out + i * out_stride, &value, sizeof value);
    }
    return;
  }
  for (int64_t i = 0; i < extent; ++i) {
    memcpy(&value, in + i * in_stride, sizeof value);
    memcpy(out + i * out_stride, &value, sizeof value);
  }
}

// out[p][q] = in[q][p] in blocks of a cache line: each input line is read once and each output line
// is written once, whatever the strides.
static void COPY_FN(transpose)(const uint8_t* in, uint8_t* out, int64_t p_extent, int64_t q_extent,
                               int64_t in_q_stride, int64_t out_p_stride) {
  enum {
    LINE = HLO_CACHELINE_BYTES / sizeof(COPY_T),
    BLOCK = LINE > BLOCK_LIMIT ? BLOCK_LIMIT : LINE
  };
  COPY_T block[BLOCK][BLOCK];
  for (int64_t q = 0; q < q_extent; q += BLOCK) {
    size_t q_count = (size_t)(q_extent - q < BLOCK ? q_extent - q : BLOCK);
    for (int64_t p = 0; p < p_extent; p += BLOCK) {
      size_t p_count = (size_t)(p_extent - p < BLOCK ? p_extent - p : BLOCK);
      const uint8_t* from = in + q * in_q_stride + p * (int64_t)sizeof(COPY_T);
      uint8_t* to = out + p * out_p_stride + q * (int64_t)sizeof(COPY_T);
      if (p_count == BLOCK && q_count == BLOCK) {
        for (size_t j = 0; j < BLOCK; ++j) {
          COPY_T line[BLOCK];
          memcpy(line, from + (int64_t)j * in_q_stride, sizeof line);
          for (size_t i = 0; i < BLOCK; ++i) block[i][j] = line[i];
        }
        for (size_t i = 0; i < BLOCK; ++i) {
          memcpy(to + (int64_t)i * out_p_stride, block[i], sizeof block[i]);
        }
        continue;
      }
      for (size_t i = 0; i < p_count; ++i) {
        for (size_t j = 0; j < q_count; ++j) {
          memcpy(to + (int64_t)i * out_p_stride + j * sizeof(COPY_T),
                 from + (int64_t)j * in_q_stride + i * sizeof(COPY_T), sizeof(COPY_T));
        }
      }
    }
  }
}
#undef COPY_T
#undef COPY_FN
