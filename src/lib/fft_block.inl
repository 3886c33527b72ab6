// SPDX-License-Identifier: Apache-2.0
// Blocks of lines of type T in vector lanes: rows of lines, their transforms, and how they are
// loaded and stored. Requires T, NAME(x), VECTOR_BYTES.

enum { NAME(lines) = VECTOR_BYTES / sizeof(T) };
typedef T NAME(vec) __attribute__((vector_size(VECTOR_BYTES), may_alias));

#include "lib/transpose_quads.inl"

// One element of every line.
typedef struct NAME(row) {
  NAME(vec) re, im;
} NAME(row_t);

static inline NAME(row_t) NAME(add)(NAME(row_t) a, NAME(row_t) b) {
  return (NAME(row_t)){a.re + b.re, a.im + b.im};
}
static inline NAME(row_t) NAME(subtract)(NAME(row_t) a, NAME(row_t) b) {
  return (NAME(row_t)){a.re - b.re, a.im - b.im};
}
// a - i b and a + i b
static inline NAME(row_t) NAME(below)(NAME(row_t) a, NAME(row_t) b) {
  return (NAME(row_t)){a.re + b.im, a.im - b.re};
}
static inline NAME(row_t) NAME(above)(NAME(row_t) a, NAME(row_t) b) {
  return (NAME(row_t)){a.re - b.im, a.im + b.re};
}
static inline NAME(row_t) NAME(times)(NAME(row_t) a, const T* w) {
  return (NAME(row_t)){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

// ---- short transforms, in place -----------------------------------------------------------------

static inline void NAME(dft_4)(NAME(row_t) * a) {
  const NAME(row_t) even = NAME(add)(a[0], a[2]), odd = NAME(subtract)(a[0], a[2]);
  const NAME(row_t) sum = NAME(add)(a[1], a[3]), rest = NAME(subtract)(a[1], a[3]);
  a[0] = NAME(add)(even, sum);
  a[1] = NAME(below)(odd, rest);
  a[2] = NAME(subtract)(even, sum);
  a[3] = NAME(above)(odd, rest);
}

static inline void NAME(dft_8)(NAME(row_t) * a) {
  const T half = (T)0.70710678118654752440;
  NAME(row_t) even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  NAME(dft_4)(even);
  NAME(dft_4)(odd);
  const NAME(row_t) first = odd[1], third = odd[3];
  odd[1] = (NAME(row_t)){(first.re + first.im) * half, (first.im - first.re) * half};
  odd[3] = (NAME(row_t)){(third.im - third.re) * half, -(third.re + third.im) * half};
  a[0] = NAME(add)(even[0], odd[0]);
  a[4] = NAME(subtract)(even[0], odd[0]);
  a[1] = NAME(add)(even[1], odd[1]);
  a[5] = NAME(subtract)(even[1], odd[1]);
  a[2] = NAME(below)(even[2], odd[2]);
  a[6] = NAME(above)(even[2], odd[2]);
  a[3] = NAME(add)(even[3], odd[3]);
  a[7] = NAME(subtract)(even[3], odd[3]);
}

// A transform of odd length p, from sums and differences of pairs of elements. w: exp(-2 pi i k /
// p), pairs.
static inline __attribute__((always_inline)) void NAME(dft_odd)(int p, const T* w,
                                                                NAME(row_t) * a) {
  NAME(row_t) sums[HLO_FFT_FACTOR_MAX / 2], rests[HLO_FFT_FACTOR_MAX / 2], first = a[0];
  const int half = p / 2;
  for (int k = 0; k < half; k++) {
    sums[k] = NAME(add)(a[k + 1], a[p - 1 - k]);
    rests[k] = NAME(subtract)(a[k + 1], a[p - 1 - k]);
  }
  for (int j = 1; j <= half; j++) {
    NAME(row_t) even = first, odd = {{0}, {0}};
    for (int k = 0, at = 0; k < half; k++) {
      at = at + j < p ? at + j : at + j - p;
      even.re += w[2 * at] * sums[k].re;
      even.im += w[2 * at] * sums[k].im;
      odd.re += w[2 * at + 1] * rests[k].re;
      odd.im += w[2 * at + 1] * rests[k].im;
    }
    a[j] = NAME(above)(even, odd);
    a[p - j] = NAME(below)(even, odd);
  }
  for (int k = 0; k < half; k++) first = NAME(add)(first, sums[k]);
  a[0] = first;
}

// ---- passes -------------------------------------------------------------------------------------

// The roots of unity of a length, and those of its odd factors, which are a subset.
typedef struct NAME(table) {
  hlo_fft_plan_t plan;
  T roots[];  // exp(-2 pi i k / length), pairs
} NAME(table_t);

// Splits transforms of length n, `stride` of them interleaved, into p times as many of n / p.
static inline __attribute__((always_inline)) void NAME(pass)(int p, int64_t n, int64_t stride,
                                                             const T* roots,
                                                             const NAME(row_t) * x,
                                                             NAME(row_t) * y) {
  const int64_t m = n / p;
  T w[2 * HLO_FFT_FACTOR_MAX];
  for (int k = 0; p % 2 && k < 2 * p; k++) w[k] = roots[2 * (k / 2 * m * stride) + k % 2];
  for (int64_t at = 0; at < m; at++) {
    for (int64_t q = 0; q < stride; q++) {
      const NAME(row_t)* from = x + q + stride * at;
      NAME(row_t) a[HLO_FFT_FACTOR_MAX];
      a[0] = from[0];
      for (int k = 1; k < p; k++) a[k] = from[k * m * stride];
      if (p == 2) {
        const NAME(row_t) second = a[1];
        a[1] = NAME(subtract)(a[0], second);
        a[0] = NAME(add)(a[0], second);
      } else if (p == 4) {
        NAME(dft_4)(a);
      } else if (p == 8) {
        NAME(dft_8)(a);
      } else {
        NAME(dft_odd)(p, w, a);
      }
      NAME(row_t)* to = y + q + stride * p * at;
      to[0] = a[0];
      if (at == 0) {
        for (int k = 1; k < p; k++) to[k * stride] = a[k];
      } else {
        for (int k = 1; k < p; k++) {
          to[k * stride] = NAME(times)(a[k], roots + 2 * k * at * stride);
        }
      }
    }
  }
}

// Transforms the rows in x; returns x or y, whichever holds the result.
static NAME(row_t) *
    NAME(transform)(const NAME(table_t) * table, NAME(row_t) * x, NAME(row_t) * y) {
  int64_t n = table->plan.length, stride = 1;
  for (int i = 0; i < table->plan.count; i++) {
    const int p = table->plan.factors[i];
    switch (p) {
      case 2: NAME(pass)(2, n, stride, table->roots, x, y); break;
      case 3: NAME(pass)(3, n, stride, table->roots, x, y); break;
      case 4: NAME(pass)(4, n, stride, table->roots, x, y); break;
      case 5: NAME(pass)(5, n, stride, table->roots, x, y); break;
      case 7: NAME(pass)(7, n, stride, table->roots, x, y); break;
      case 8: NAME(pass)(8, n, stride, table->roots, x, y); break;
      default: NAME(pass)(p, n, stride, table->roots, x, y); break;
    }
    n /= p;
    stride *= p;
    NAME(row_t)* swap = x;
    x = y;
    y = swap;
  }
  return x;
}

static inline void NAME(root)(const hlo_fft_roots_t* roots, int64_t k, T* out) {
  double w[2];
  hlo_fft_root(roots, k, w);
  out[0] = (T)w[0];
  out[1] = (T)w[1];
}

static hlo_status_t NAME(table_get)(hlo_fft_cache_t* cache, int64_t length,
                                    const NAME(table_t) * *out_table) {
  const hlo_dtype_t type = sizeof(T) == 4 ? HLO_DTYPE_F32 : HLO_DTYPE_F64;
  *out_table = hlo_fft_cache_find(cache, HLO_FFT_TABLE, type, length);
  if (*out_table) return hlo_ok();
  const hlo_fft_roots_t* roots = NULL;
  HLO_TRY(hlo_fft_roots_get(cache, length, &roots));
  hlo_fft_item_t* item = NULL;
  HLO_TRY(
      hlo_fft_item_create(HLO_FFT_TABLE, type, length, sizeof(NAME(table_t)), 2 * length, &item));
  NAME(table_t)* table = (NAME(table_t)*)item->data;
  hlo_fft_plan_init(&table->plan, length);
  for (int64_t k = 0; k < length; k++) NAME(root)(roots, k, table->roots + 2 * k);
  *out_table = hlo_fft_cache_keep(cache, item);
  return hlo_ok();
}

// ---- memory -------------------------------------------------------------------------------------

// Selects a part of a row in memory order. Swapping both parts before and after makes a transform
// inverse.
static inline NAME(vec) * NAME(part)(NAME(row_t) * row, bool is_second) {
  return is_second ? &row->im : &row->re;
}

// Loads `count` consecutive numbers, each of one line.
static inline void NAME(load_row)(bool swap, int64_t count, const T* in, NAME(row_t) * row) {
  T *re = (T*)NAME(part)(row, swap), *im = (T*)NAME(part)(row, !swap);
  int64_t j = 0;
  if (count < NAME(lines)) *row = (NAME(row_t)){{0}, {0}};
  for (; NAME(lines) >= 4 && j + 4 <= count; j += 4) {
    const NAME(quad) low = *(const NAME(quad)*)(in + 2 * j);
    const NAME(quad) high = *(const NAME(quad)*)(in + 2 * j + 4);
    *(NAME(quad)*)(re + j) = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    *(NAME(quad)*)(im + j) = __builtin_shufflevector(low, high, 1, 3, 5, 7);
  }
  for (; j < count; j++) {
    re[j] = in[2 * j];
    im[j] = in[2 * j + 1];
  }
}

static inline void NAME(store_row)(bool swap, T scale, int64_t count, const NAME(row_t) * row,
                                   T* out) {
  const T *re = (const T*)(swap ? &row->im : &row->re),
          *im = (const T*)(swap ? &row->re : &row->im);
  int64_t j = 0;
  for (; NAME(lines) >= 4 && j + 4 <= count; j += 4) {
    const NAME(quad) a = *(const NAME(quad)*)(re + j) * scale,
                     b = *(const NAME(quad)*)(im + j) * scale;
    *(NAME(quad)*)(out + 2 * j) = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    *(NAME(quad)*)(out + 2 * j + 4) = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  }
  for (; j < count; j++) {
    out[2 * j] = re[j] * scale;
    out[2 * j + 1] = im[j] * scale;
  }
}

// Locations of the numbers of a line in rows: both parts of a complex number are in a row, in this
// order; a real number is in one part of each row.
typedef struct NAME(layout) {
  T* first;
  bool is_complex;
  int64_t part[2];
} NAME(layout_t);

enum { NAME(row_numbers) = sizeof(NAME(row_t)) / sizeof(T) };

// Returns the location of number e of the first line.
static inline T* NAME(number_at)(const NAME(layout_t) * layout, int64_t e) {
  if (!layout->is_complex) return layout->first + e * NAME(row_numbers) + layout->part[0];
  return layout->first + e / 2 * NAME(row_numbers) + layout->part[e % 2];
}

// Computes the offsets of four numbers from the first one's row, and returns the distance to the
// next four.
static inline int64_t NAME(four_offsets)(const NAME(layout_t) * layout, int64_t* offsets) {
  for (int c = 0; c < 4; c++) offsets[c] = NAME(number_at)(layout, c) - layout->first;
  return (layout->is_complex ? 2 : 4) * NAME(row_numbers);
}

enum { NAME(numbers_at_once) = 128 };  // of a line: its rows stay in the L1 cache

// Loads `numbers` of each of `count` lines, `step` apart, into rows; lanes without a line repeat
// the first.
static void NAME(load_lines)(const NAME(layout_t) * layout, int64_t count, int64_t numbers,
                             int64_t step, const T* in) {
  if (NAME(lines) < 4) {
    for (int64_t e = 0; e < numbers; e++) {
      T* row = NAME(number_at)(layout, e);
      for (int64_t l = 0; l < NAME(lines); l++) row[l] = in[(l < count ? l : 0) * step + e];
    }
    return;
  }
  int64_t offsets[4];
  const int64_t next = NAME(four_offsets)(layout, offsets), whole = numbers / 4 * 4;
  for (int64_t begin = 0; begin < numbers; begin += NAME(numbers_at_once)) {
    const int64_t end = begin + NAME(numbers_at_once);
    for (int64_t l = 0; l < NAME(lines); l += 4) {
      const T* from[4];
      for (int r = 0; r < 4; r++) from[r] = in + (l + r < count ? l + r : 0) * step + begin;
      T* to = layout->first + begin / 4 * next + l;
      int64_t e = begin;
      for (; e < end && e < whole; e += 4, to += next) {
        T* const transposed[4] = {to + offsets[0], to + offsets[1], to + offsets[2],
                                  to + offsets[3]};
        NAME(transpose_quads)(from, transposed);
        for (int r = 0; r < 4; r++) from[r] += 4;
      }
      for (; e < end && e < numbers; e++) {
        for (int r = 0; r < 4; r++) NAME(number_at)(layout, e)[l + r] = *from[r]++;
      }
    }
  }
}

static void NAME(store_lines)(const NAME(layout_t) * layout, int64_t count, int64_t numbers,
                              int64_t step, T* out) {
  if (NAME(lines) < 4) {
    for (int64_t e = 0; e < numbers; e++) {
      const T* row = NAME(number_at)(layout, e);
      for (int64_t l = 0; l < count; l++) out[l * step + e] = row[l];
    }
    return;
  }
  int64_t offsets[4];
  const int64_t next = NAME(four_offsets)(layout, offsets), whole = numbers / 4 * 4;
  for (int64_t begin = 0; begin < numbers; begin += NAME(numbers_at_once)) {
    const int64_t end = begin + NAME(numbers_at_once);
    for (int64_t l = 0; l < count; l += 4) {
      T* const to[4] = {out + l * step, out + (l + 1) * step, out + (l + 2) * step,
                        out + (l + 3) * step};
      const T* from = layout->first + begin / 4 * next + l;
      int64_t e = begin;
      for (; l + 4 <= count && e < end && e < whole; e += 4, from += next) {
        const T* const rows[4] = {from + offsets[0], from + offsets[1], from + offsets[2],
                                  from + offsets[3]};
        T* const transposed[4] = {to[0] + e, to[1] + e, to[2] + e, to[3] + e};
        NAME(transpose_quads)(rows, transposed);
      }
      for (; e < end && e < numbers; e++) {
        for (int64_t r = l; r < l + 4 && r < count; r++)
          out[r * step + e] = NAME(number_at)(layout, e)[r];
      }
    }
  }
}
