// SPDX-License-Identifier: Apache-2.0
// Products with few rows or columns, where packing costs more than it saves. Requires T, NAME(x).

static T NAME(dot)(int64_t k, const T* a, const T* b) {
  enum { LANES = 16 };
  T lane[LANES] = {0}, total = 0;
  int64_t p = 0;
  for (; p + LANES <= k; p += LANES) {
    for (int l = 0; l < LANES; l++) lane[l] += a[p + l] * b[p + l];
  }
  for (; p < k; p++) total += a[p] * b[p];
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; l++) lane[l] += lane[l + half];
  }
  return total + lane[0];
}

static void NAME(put)(const hlo_gemm_t* gemm, int64_t i, int64_t j, T dot) {
  T* entry = (T*)gemm->c + i * gemm->c_row + j;
  *entry = gemm->mode == HLO_GEMM_SET ? dot : gemm->mode == HLO_GEMM_ADD ? *entry + dot
                                                                         : *entry - dot;
}

// c = a * b for b with dense columns (b_row 1) and a with dense rows (a_col 1).
static void NAME(dots)(const hlo_gemm_t* gemm) {
  for (int64_t i = 0; i < gemm->m; i++) {
    for (int64_t j = 0; j < gemm->n; j++) {
      NAME(put)(gemm, i, j,
                NAME(dot)(gemm->k, (const T*)gemm->a + i * gemm->a_row,
                          (const T*)gemm->b + j * gemm->b_col));
    }
  }
}

// c = a * b for b with dense rows (b_col 1): each row of c accumulates scaled rows of b.
static void NAME(sums)(const hlo_gemm_t* gemm) {
  enum { STEP = 1024 };
  const T sign = gemm->mode == HLO_GEMM_SUBTRACT ? (T)-1 : 1;
  for (int64_t i = 0; i < gemm->m; i++) {
    const T* a = (const T*)gemm->a + i * gemm->a_row;
    for (int64_t j0 = 0; j0 < gemm->n; j0 += STEP) {
      const int64_t count = gemm->n - j0 < STEP ? gemm->n - j0 : STEP;
      T* restrict c = (T*)gemm->c + i * gemm->c_row + j0;
      for (int64_t j = 0; gemm->mode == HLO_GEMM_SET && j < count; j++) c[j] = 0;
      int64_t p = 0;
      for (; p + 4 <= gemm->k; p += 4) {
        const T a0 = sign * a[p * gemm->a_col], a1 = sign * a[(p + 1) * gemm->a_col],
                a2 = sign * a[(p + 2) * gemm->a_col], a3 = sign * a[(p + 3) * gemm->a_col];
        const T* restrict b0 = (const T*)gemm->b + p * gemm->b_row + j0;
        const T* restrict b1 = b0 + gemm->b_row;
        const T* restrict b2 = b1 + gemm->b_row;
        const T* restrict b3 = b2 + gemm->b_row;
        for (int64_t j = 0; j < count; j++) {
          c[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
        }
      }
      for (; p < gemm->k; p++) {
        const T left = sign * a[p * gemm->a_col];
        const T* restrict b = (const T*)gemm->b + p * gemm->b_row + j0;
        for (int64_t j = 0; j < count; j++) c[j] += left * b[j];
      }
    }
  }
}

// A few elements at arbitrary strides.
static void NAME(scattered)(const hlo_gemm_t* gemm) {
  for (int64_t i = 0; i < gemm->m; i++) {
    for (int64_t j = 0; j < gemm->n; j++) {
      const T* a = (const T*)gemm->a + i * gemm->a_row;
      const T* b = (const T*)gemm->b + j * gemm->b_col;
      T dot = 0;
      for (int64_t p = 0; p < gemm->k; p++) dot += a[p * gemm->a_col] * b[p * gemm->b_row];
      NAME(put)(gemm, i, j, dot);
    }
  }
}

#undef T
#undef NAME
