// SPDX-License-Identifier: Apache-2.0
// One variant of the matrix product. Requires T (element), VECTOR_BYTES, TILE_ROWS, TILE_VECTORS (a
// tile has TILE_ROWS x TILE_VECTORS vectors of accumulators), MADD(acc, a, b) on vectors, NAME(x).

typedef T NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));

enum {
  NAME(lanes) = VECTOR_BYTES / sizeof(T),
  NAME(rows) = TILE_ROWS,
  NAME(cols) = TILE_VECTORS * NAME(lanes),
};

// Packs `count` rows (or columns) of depth k into panels of `panel`, the last one padded with
// zeros.
static void NAME(pack)(int64_t panel, int64_t count, int64_t k, const T* in, int64_t in_step,
                       int64_t in_depth, T* out) {
  for (int64_t i = 0; i < count; i += panel) {
    const int64_t live = count - i < panel ? count - i : panel;
    if (in_depth == 1) {
      for (int64_t r = 0; r < live; r++) {
        const T* row = in + (i + r) * in_step;
        for (int64_t p = 0; p < k; p++) out[p * panel + r] = row[p];
      }
      for (int64_t r = live; r < panel; r++) {
        for (int64_t p = 0; p < k; p++) out[p * panel + r] = 0;
      }
    } else {
      for (int64_t p = 0; p < k; p++) {
        const T* row = in + i * in_step + p * in_depth;
        T* o = out + p * panel;
        if (in_step == 1) {
          for (int64_t r = 0; r < live; r++) o[r] = row[r];
        } else {
          for (int64_t r = 0; r < live; r++) o[r] = row[r * in_step];
        }
        for (int64_t r = live; r < panel; r++) o[r] = 0;
      }
    }
    out += panel * k;
  }
}

// tile = panel of a times panel of b; the accumulators stay in registers.
static inline __attribute__((always_inline)) void NAME(multiply)(
    int64_t k, const T* a, const T* b, NAME(vec) acc[TILE_ROWS][TILE_VECTORS]) {
  for (int64_t p = 0; p < k; p++) {
    NAME(vec) row[TILE_VECTORS];
    for (int v = 0; v < TILE_VECTORS; v++) row[v] = ((const NAME(vec)*)b)[v];
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++) {
      const NAME(vec) left = a[r] - (NAME(vec)){0};
#pragma GCC unroll 4
      for (int v = 0; v < TILE_VECTORS; v++) acc[r][v] = MADD(acc[r][v], left, row[v]);
    }
    a += TILE_ROWS;
    b += NAME(cols);
  }
}

static void NAME(tile)(int64_t k, const T* a, const T* b, T* c, int64_t c_row, int64_t live_rows,
                       int64_t live_cols, hlo_gemm_mode_t mode) {
  NAME(vec) acc[TILE_ROWS][TILE_VECTORS] = {0};
  NAME(multiply)(k, a, b, acc);
  if (live_rows == TILE_ROWS && live_cols == NAME(cols)) {
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++) {
#pragma GCC unroll 4
      for (int v = 0; v < TILE_VECTORS; v++) {
        T* tile = c + r * c_row + v * NAME(lanes);
        NAME(vec) old = {0};
        if (mode != HLO_GEMM_SET) __builtin_memcpy(&old, tile, sizeof(old));
        old = mode == HLO_GEMM_SUBTRACT ? old - acc[r][v] : old + acc[r][v];
        __builtin_memcpy(tile, &old, sizeof(old));
      }
    }
    return;
  }
  for (int64_t r = 0; r < live_rows; r++) {
    T line[NAME(cols)];
    __builtin_memcpy(line, acc[r], sizeof(line));
    T* row = c + r * c_row;
    switch (mode) {
      case HLO_GEMM_SET:
        for (int64_t j = 0; j < live_cols; j++) row[j] = line[j];
        break;
      case HLO_GEMM_ADD:
        for (int64_t j = 0; j < live_cols; j++) row[j] += line[j];
        break;
      case HLO_GEMM_SUBTRACT:
        for (int64_t j = 0; j < live_cols; j++) row[j] -= line[j];
        break;
    }
  }
}

// Multiplies one packed block: rows x cols of c, depth k.
static void NAME(block)(int64_t rows, int64_t cols, int64_t k, const T* a, const T* b, T* c,
                        int64_t c_row, hlo_gemm_mode_t mode) {
  for (int64_t j = 0; j < cols; j += NAME(cols)) {
    const int64_t live_cols = cols - j < NAME(cols) ? cols - j : NAME(cols);
    for (int64_t i = 0; i < rows; i += TILE_ROWS) {
      const int64_t live_rows = rows - i < TILE_ROWS ? rows - i : TILE_ROWS;
      NAME(tile)(k, a + i * k, b + j * k, c + i * c_row + j, c_row, live_rows, live_cols, mode);
    }
  }
}

void NAME(gemm)(const hlo_gemm_t* gemm, void* scratch) {
  const T* a = gemm->a;
  const T* b = gemm->b;
  T* c = gemm->c;
  T* packed_a = scratch;
  const int64_t a_rows = (gemm->m < HLO_GEMM_MC ? gemm->m : HLO_GEMM_MC) + HLO_GEMM_PANEL_MAX;
  const int64_t a_depth = gemm->k < HLO_GEMM_KC ? gemm->k : HLO_GEMM_KC;
  T* packed_b = packed_a + (a_rows * a_depth & ~(int64_t)15);  // aligned; a has spare rows
  for (int64_t p = 0; p < gemm->k; p += HLO_GEMM_KC) {
    const int64_t depth = gemm->k - p < HLO_GEMM_KC ? gemm->k - p : HLO_GEMM_KC;
    for (int64_t j = 0; j < gemm->n; j += HLO_GEMM_NC) {
      const int64_t cols = gemm->n - j < HLO_GEMM_NC ? gemm->n - j : HLO_GEMM_NC;
      NAME(pack)(NAME(cols), cols, depth, b + p * gemm->b_row + j * gemm->b_col, gemm->b_col,
                 gemm->b_row, packed_b);
      for (int64_t i = 0; i < gemm->m; i += HLO_GEMM_MC) {
        const int64_t rows = gemm->m - i < HLO_GEMM_MC ? gemm->m - i : HLO_GEMM_MC;
        NAME(pack)(TILE_ROWS, rows, depth, a + i * gemm->a_row + p * gemm->a_col, gemm->a_row,
                   gemm->a_col, packed_a);
        NAME(block)(rows, cols, depth, packed_a, packed_b, c + i * gemm->c_row + j, gemm->c_row,
                    p == 0 || gemm->mode != HLO_GEMM_SET ? gemm->mode : HLO_GEMM_ADD);
      }
    }
  }
}

#undef T
#undef VECTOR_BYTES
#undef TILE_ROWS
#undef TILE_VECTORS
#undef MADD
#undef NAME
