// SPDX-License-Identifier: Apache-2.0
// Factorisations of many small matrices at once, one in each lane: entry e of matrix l is x[e][l]. For
// real types. Needs what lapack_base.inl needs.

enum { NAME(small_lanes) = HLO_LAPACK_SMALL_COUNT };
typedef T NAME(lanes_t)[HLO_LAPACK_SMALL_COUNT];

// Unused lanes repeat the first matrix.
static void NAME(gather_lanes)(int64_t count, int64_t each, const T* a, NAME(lanes_t)* x) {
  if (count == NAME(small_lanes)) {
    NAME(turn)(false, count, each, a, each, x[0], NAME(small_lanes));
    return;
  }
  for (int64_t e = 0; e < each; e++) {
    for (int64_t l = 0; l < NAME(small_lanes); l++) x[e][l] = a[(l < count ? l : 0) * each + e];
  }
}

static void NAME(scatter_lanes)(int64_t count, int64_t each, const NAME(lanes_t)* x, T* a) {
  NAME(turn)(false, each, count, x[0], NAME(small_lanes), a, each);
}

// Chooses the pivot of column j in every lane and swaps its row to the top.
static void NAME(small_pivot)(int64_t m, int64_t n, int64_t j, NAME(lanes_t)* x, int32_t* place) {
  NAME(lanes_t) best;
  for (int l = 0; l < NAME(small_lanes); l++) {
    best[l] = FABS(x[j * n + j][l]);
    place[l] = (int32_t)j;
  }
  for (int64_t i = j + 1; i < m; i++) {
    const T* entry = x[i * n + j];
    for (int l = 0; l < NAME(small_lanes); l++) {
      const T size = FABS(entry[l]);
      const bool is_larger = size > best[l];
      best[l] = is_larger ? size : best[l];
      place[l] = is_larger ? (int32_t)i : place[l];
    }
  }
  for (int64_t i = j + 1; i < m; i++) {
    for (int64_t c = 0; c < n; c++) {
      T *restrict top = x[j * n + c], *restrict other = x[i * n + c];
      for (int l = 0; l < NAME(small_lanes); l++) {
        const T upper = top[l], lower = other[l];
        top[l] = place[l] == i ? lower : upper;
        other[l] = place[l] == i ? upper : lower;
      }
    }
  }
}

static void NAME(getrf_small)(int64_t count, int64_t m, int64_t n, void* data, int32_t* pivots,
                              int32_t* info) {
  NAME(lanes_t) x[HLO_LAPACK_SMALL_ELEMENTS];
  const int64_t steps = NAME(least)(m, n);
  NAME(gather_lanes)(count, m * n, data, x);
  for (int64_t l = 0; l < count; l++) info[l] = 0;
  for (int64_t j = 0; j < steps; j++) {
    int32_t place[HLO_LAPACK_SMALL_COUNT];
    NAME(small_pivot)(m, n, j, x, place);
    const T* restrict head = x[j * n + j];
    for (int64_t l = 0; l < count; l++) {
      pivots[l * steps + j] = place[l] + 1;
      if (head[l] == 0 && info[l] == 0) info[l] = (int32_t)j + 1;
    }
    for (int64_t i = j + 1; i < m; i++) {
      T* restrict factor = x[i * n + j];
      for (int l = 0; l < NAME(small_lanes); l++) {
        factor[l] = factor[l] / (head[l] == 0 ? 1 : head[l]);
      }
      for (int64_t c = j + 1; c < n; c++) {
        const T* restrict top = x[j * n + c];
        T* restrict entry = x[i * n + c];
        for (int l = 0; l < NAME(small_lanes); l++) entry[l] -= factor[l] * top[l];
      }
    }
  }
  NAME(scatter_lanes)(count, m * n, x, data);
}

static void NAME(trsm_small)(const hlo_triangle_t* triangle, int64_t count, int64_t m, int64_t n,
                             void* data) {
  NAME(lanes_t) a[HLO_LAPACK_SMALL_ELEMENTS], x[HLO_LAPACK_SMALL_ELEMENTS];
  const bool is_left = triangle->is_left, is_turned = (triangle->form != HLO_LAPACK_PLAIN) == is_left;
  const bool is_lower = triangle->is_lower != is_turned;
  const int64_t order = is_left ? m : n, columns = is_left ? n : m;
  const int64_t a_row = is_turned ? 1 : order, a_col = is_turned ? order : 1;
  const int64_t x_row = is_left ? n : 1, x_col = is_left ? 1 : n;
  NAME(gather_lanes)(count, order * order, triangle->a, a);
  NAME(gather_lanes)(count, m * n, data, x);
  for (int64_t step = 0; step < order; step++) {
    const int64_t i = is_lower ? step : order - 1 - step, first = is_lower ? 0 : i + 1;
    for (int64_t j = 0; j < columns; j++) {
      T* restrict entry = x[i * x_row + j * x_col];
      for (int64_t k = first; k < first + step; k++) {
        const T *restrict left = a[i * a_row + k * a_col], *restrict known = x[k * x_row + j * x_col];
        for (int l = 0; l < NAME(small_lanes); l++) entry[l] -= left[l] * known[l];
      }
      const T* restrict pivot = a[i * (a_row + a_col)];
      for (int l = 0; !triangle->is_unit && l < NAME(small_lanes); l++) entry[l] /= pivot[l];
    }
  }
  NAME(scatter_lanes)(count, m * n, x, data);
}
