// SPDX-License-Identifier: Apache-2.0
// The chunks of an attention (attention_impl.h), once for each instruction set.
#include <math.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "base/float_bits.h"
#include "base/integer.h"
#include "lib/attention_impl.h"
#include "lib/isa_variant.h"

typedef float vec_t __attribute__((vector_size(HLO_ISA_VECTOR_BYTES)));
typedef int32_t ints_t __attribute__((vector_size(HLO_ISA_VECTOR_BYTES)));

enum {
  LANES = HLO_ISA_VECTOR_BYTES / sizeof(float),
  VECTORS = HLO_ATTENTION_PANEL_VECTORS,
  WIDTH = VECTORS * LANES,                         // queries of a panel
  TILE_ROWS = HLO_ISA_VECTOR_BYTES == 64 ? 8 : 4,  // with VECTORS accumulators each
  PANELS = HLO_ATTENTION_PANELS,
  BLOCK_QUERIES = PANELS * WIDTH,
  BLOCK_KEYS = HLO_ATTENTION_BLOCK_KEYS,
  PANEL_FLOATS = BLOCK_KEYS * WIDTH,  // scores of a panel
#if defined(__AVX512F__)
  CAN_PAIR = 1,  // there may be an instruction for sums of two products of bf16
#else
  CAN_PAIR = 0,
#endif
};

#define INLINE static inline __attribute__((always_inline))

INLINE vec_t splat(float x) {
  return x - (vec_t){0};
}

INLINE ints_t splat_int(int32_t x) {
  return x - (ints_t){0};
}

INLINE vec_t blend(ints_t mask, vec_t yes, vec_t no) {
  return (vec_t)((mask & (ints_t)yes) | (~mask & (ints_t)no));
}

// ---- functions

// The larger number; `b` if one is NaN.
INLINE vec_t larger_or_second(vec_t a, vec_t b) {
#if defined(__AVX512F__)
  return (vec_t)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return blend(a > b, a, b);
#endif
}

#if defined(__AVX512F__)
// exp(x) = 2^n * 2^r with x / log(2) = n + r and 0 <= r < 1; polynomials for 2^r have a relative
// error of 2.0e-9 before rounding, or 8.6e-5 if the result is rounded to bf16 (least squares on
// Chebyshev nodes, reweighted). `scaled` is x / log(2), `rest` what it lacks.
INLINE vec_t exp_of_scaled(vec_t scaled, vec_t rest, bool is_narrow) {
  const vec_t r = (vec_t)_mm512_reduce_ps((__m512)scaled, _MM_FROUND_TO_NEG_INF) + rest;
  vec_t p = splat(7.706704554e-02f);
  if (is_narrow) {
    p = p * r + splat(2.276449851e-01f);
    p = p * r + splat(6.951167889e-01f);
  } else {
    p = splat(2.161291561e-04f);
    p = p * r + splat(1.246784623e-03f);
    p = p * r + splat(9.675451594e-03f);
    p = p * r + splat(5.548528060e-02f);
    p = p * r + splat(2.402293056e-01f);
    p = p * r + splat(6.931470444e-01f);
  }
  return (vec_t)_mm512_scalef_ps((__m512)(p * r + splat(1.0f)), (__m512)scaled);
}

// exp(x) for x <= 0, or NaN; the error is at most 1e-7 of exp(0).
INLINE vec_t exp_negative(vec_t x, bool is_narrow) {
  return exp_of_scaled(x * splat(1.442695041f), splat(0), is_narrow);
}

INLINE vec_t exp_any(vec_t x) {
  const vec_t limit = splat(150.0f);  // beyond it results are infinite, or zero
  x = larger_or_second(-limit, -larger_or_second(-limit, -x));
  const vec_t high = splat(1.442695022f), scaled = x * high;
  const vec_t rest = (vec_t)_mm512_fmsub_ps((__m512)x, (__m512)high, (__m512)scaled);
  return exp_of_scaled(scaled, x * splat(1.925963033e-08f) + rest, false);
}
#else
// exp(x) for |x| within the range of f32: 2^n * exp(r) with |r| <= log(2) / 2, and a polynomial for
// exp(r) with a relative error of 3.1e-9 before rounding (least squares on Chebyshev nodes,
// reweighted). Two scales let n leave the range of exponents.
INLINE vec_t exp_scaled(vec_t x, bool is_wide) {
  const vec_t shift = splat(12582912.0f);  // 1.5 * 2^23: rounds to an integer in the low bits
  const vec_t shifted = x * splat(1.442695041f) + shift;
  const vec_t n = shifted - shift;
  const vec_t r = x - n * splat(0.693359375f) - n * splat(-2.12194440e-4f);
  vec_t p = splat(1.381459638e-03f);
  p = p * r + splat(8.368717091e-03f);
  p = p * r + splat(4.166838809e-02f);
  p = p * r + splat(1.666652063e-01f);
  p = p * r + splat(4.999999345e-01f);
  p = (p * r) * r + r + splat(1.0f);
  const ints_t exponent = (ints_t)shifted - (ints_t)shift;
  if (!is_wide) return p * (vec_t)((exponent + splat_int(127)) << 23);
  const ints_t half = exponent >> 1;
  return p * (vec_t)((half + splat_int(127)) << 23) *
         (vec_t)((exponent - half + splat_int(127)) << 23);
}

// exp(x) for x <= 0, or NaN; zero where it is below the normal numbers.
INLINE vec_t exp_negative(vec_t x, bool is_narrow) {
  (void)is_narrow;
  const vec_t y = exp_scaled(x, false);
  return (vec_t)((ints_t)y & ~(x < splat(HLO_ATTENTION_EXP_ZERO)));
}

INLINE vec_t exp_any(vec_t x) {
  vec_t y = exp_scaled(x, true);
  y = blend(x > splat(88.7228394f), splat(INFINITY), y);
  return (vec_t)((ints_t)y & ~(x < splat(HLO_ATTENTION_EXP_ZERO)));
}
#endif

// tanh(x): a polynomial below 0.65 (relative error 6.8e-9 before rounding, as above), beyond it by
// exp.
INLINE vec_t tanh_any(vec_t x) {
  const vec_t size = (vec_t)((ints_t)x & splat_int(INT32_MAX)), z = x * x;
  vec_t p = splat(-5.515167180e-03f);
  p = p * z + splat(2.046942349e-02f);
  p = p * z + splat(-5.368802449e-02f);
  p = p * z + splat(1.333083037e-01f);
  p = p * z + splat(-3.333325985e-01f);
  const vec_t small = p * z * x + x;
  const vec_t e = exp_negative(size * splat(-2.0f), false);
  const vec_t large = (splat(1.0f) - e) / (splat(1.0f) + e);
  const vec_t signed_large = (vec_t)((ints_t)large | ((ints_t)x & splat_int(INT32_MIN)));
  return blend(size < splat(0.65f), small, signed_large);
}

// ---- the operands in scratch memory

static float load_number(hlo_dtype_t dtype, const char* data, int64_t i) {
  switch (dtype) {
    case HLO_DTYPE_BF16: return hlo_bf16_to_f32(((const uint16_t*)(const void*)data)[i]);
    case HLO_DTYPE_F16: return hlo_f16_to_f32(((const uint16_t*)(const void*)data)[i]);
    default: return ((const float*)(const void*)data)[i];
  }
}

// Copies elements `step` apart as f32.
static void copy_line(hlo_dtype_t dtype, const char* data, int64_t start, int64_t step,
                      int64_t count, float* out) {
  const float* numbers = (const float*)(const void*)data;
  const uint16_t* halves = (const uint16_t*)(const void*)data;
  if (dtype == HLO_DTYPE_F32 && step == 1) {
    memcpy(out, numbers + start, (size_t)count * sizeof *out);
  } else if (dtype == HLO_DTYPE_BF16 && step == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = hlo_bf16_to_f32(halves[start + i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = load_number(dtype, data, start + i * step);
  }
}

/// The rows, or keys, of an operand.
typedef struct lines {
  hlo_dtype_t dtype;
  const char* data;
  int64_t line, element;  // distances, in elements
} lines_t;

static lines_t rows_of(const hlo_attention_array_t* array, const char* data) {
  return (lines_t){array->value->type->dtype, data, array->row, array->depth};
}

static lines_t keys_of(const hlo_attention_array_t* array, const char* data) {
  return (lines_t){array->value->type->dtype, data, array->key, array->depth};
}

// Packs lines as [panel][depth][WIDTH], with zeros after the last one; `line` holds one.
static void pack_columns(lines_t from, int64_t first, int64_t count, int64_t depth, float* line,
                         float* out) {
  for (int64_t i = 0; i < hlo_divide_up(count, WIDTH) * WIDTH; ++i) {
    float* to = out + i / WIDTH * depth * WIDTH + i % WIDTH;
    if (i >= count) {
      for (int64_t d = 0; d < depth; ++d) to[d * WIDTH] = 0;
      continue;
    }
    copy_line(from.dtype, from.data, (first + i) * from.line, from.element, depth, line);
    for (int64_t d = 0; d < depth; ++d) to[d * WIDTH] = line[d];
  }
}

// Packs lines as [line][pitch], with zeros after the elements and after the last line.
static void pack_lines(lines_t from, int64_t first, int64_t count, int64_t depth, int64_t pitch,
                       float* out) {
  const int64_t padded = hlo_divide_up(count, TILE_ROWS) * TILE_ROWS;
  for (int64_t i = 0; i < padded; ++i, out += pitch) {
    const int64_t filled = i < count ? depth : 0;
    if (filled) {
      copy_line(from.dtype, from.data, (first + i) * from.line, from.element, depth, out);
    }
    memset(out + filled, 0, (size_t)(pitch - filled) * sizeof *out);
  }
}

static uint32_t load_half(const char* data, int64_t i) {
  return ((const uint16_t*)(const void*)data)[i];
}

// Packs lines of bf16 as [panel][depth / 2][WIDTH], two elements in 32 bits, with zeros as above.
static void pack_column_pairs(lines_t from, int64_t first, int64_t count, int64_t depth,
                              float* out) {
  const int64_t pairs = hlo_divide_up(depth, 2);
  uint32_t* bits = (uint32_t*)(void*)out;
  for (int64_t i = 0; i < hlo_divide_up(count, WIDTH) * WIDTH; ++i) {
    uint32_t* to = bits + i / WIDTH * pairs * WIDTH + i % WIDTH;
    const int64_t whole = i < count && from.element == 1 ? depth / 2 : 0;
    const char* line = i < count ? from.data + (first + i) * from.line * 2 : NULL;
    for (int64_t p = 0; p < whole; ++p) memcpy(&to[p * WIDTH], line + p * 4, 4);
    for (int64_t d = 2 * whole; d < depth; d += 2) {
      const int64_t at = (first + i) * from.line + d * from.element;
      uint32_t pair = i < count ? load_half(from.data, at) : 0;
      if (i < count && d + 1 < depth) pair |= load_half(from.data, at + from.element) << 16;
      to[d / 2 * WIDTH] = pair;
    }
  }
}

// Packs lines of bf16 as [line][depth / 2], two elements in 32 bits, with zeros as above.
static void pack_line_pairs(lines_t from, int64_t first, int64_t count, int64_t depth, float* out) {
  const int64_t pairs = hlo_divide_up(depth, 2);
  const int64_t padded = hlo_divide_up(count, TILE_ROWS) * TILE_ROWS;
  uint16_t* to = (uint16_t*)(void*)out;
  memset(out, 0, (size_t)(padded * pairs) * sizeof *out);
  for (int64_t i = 0; i < count; ++i, to += 2 * pairs) {
    const uint16_t* line = (const uint16_t*)(const void*)from.data + (first + i) * from.line;
    if (from.element == 1) {
      memcpy(to, line, (size_t)depth * sizeof *to);
    } else {
      for (int64_t d = 0; d < depth; ++d) to[d] = line[d * from.element];
    }
  }
}

// Packs lines of bf16 as [line / 2][pitch], two lines in 32 bits, with zeros as above.
static void pack_paired_lines(lines_t from, int64_t first, int64_t count, int64_t depth,
                              int64_t pitch, float* out) {
  uint32_t* to = (uint32_t*)(void*)out;
  const int64_t step = from.element;
  for (int64_t i = 0; i < count; i += 2, to += pitch) {
    const uint16_t* low = (const uint16_t*)(const void*)from.data + (first + i) * from.line;
    const uint16_t* high = low + from.line;
    if (i + 1 == count) {
      for (int64_t d = 0; d < depth; ++d) to[d] = low[d * step];
    } else if (step == 1) {
      for (int64_t d = 0; d < depth; ++d) to[d] = low[d] | (uint32_t)high[d] << 16;
    } else {
      for (int64_t d = 0; d < depth; ++d) to[d] = low[d * step] | (uint32_t)high[d * step] << 16;
    }
    memset(to + depth, 0, (size_t)(pitch - depth) * sizeof *to);
  }
}

// sum + left * right; for pairs the sum of two products of bf16.
INLINE vec_t multiply_add(bool is_pairs, vec_t sum, vec_t left, vec_t right) {
#if defined(__AVX512F__)
  if (is_pairs) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right));
    return sum;
  }
#endif
  (void)is_pairs;
  return sum + left * right;
}

// c[r][:] = scale * c[r][:] + sum over steps of a[r * a_row + step * a_step] * b[step][:], for the
// rows of a tile. scale NULL: c is overwritten.
INLINE void multiply_tile(bool is_pairs, int64_t steps, const float* a, int64_t a_row,
                          int64_t a_step, const float* b, const vec_t* scale, float* c) {
  vec_t acc[TILE_ROWS][VECTORS];
#pragma GCC unroll 8
  for (int r = 0; r < TILE_ROWS; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      acc[r][v] = scale ? ((const vec_t*)(c + r * WIDTH))[v] * scale[v] : (vec_t){0};
    }
  }
  for (int64_t p = 0; p < steps; ++p) {
    const vec_t* row = (const vec_t*)(b + p * WIDTH);
#pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; ++r) {
      const vec_t left = splat(a[r * a_row + p * a_step]);
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) acc[r][v] = multiply_add(is_pairs, acc[r][v], left, row[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < TILE_ROWS; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) ((vec_t*)(c + r * WIDTH))[v] = acc[r][v];
  }
}

// Multiplies all tiles of a panel: rows / TILE_ROWS of them, `a_tile` elements apart in a.
static void multiply_tiles(bool is_pairs, int64_t rows, int64_t steps, const float* a,
                           int64_t a_tile, int64_t a_row, int64_t a_step, const float* b,
                           const vec_t* scale, float* c) {
  for (int64_t r = 0; r < rows; r += TILE_ROWS, a += a_tile, c += TILE_ROWS * WIDTH) {
    if (CAN_PAIR && is_pairs) {
      multiply_tile(true, steps, a, a_row, a_step, b, scale, c);
    } else {
      multiply_tile(false, steps, a, a_row, a_step, b, scale, c);
    }
  }
}

// ---- the function of the scores

/// The values of a step in a panel: one row of WIDTH elements per key, or one for all keys.
typedef struct rows {
  float* data;
  int64_t step;  // 0 or WIDTH
} rows_t;

// Rounds rows to bf16, as [keys / 2][WIDTH] of two keys in 32 bits; `out` may be the rows' memory.
static void pair_weights(rows_t from, int64_t keys, float* out) {
#if defined(__AVX512F__)
  const ints_t lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const ints_t order = lanes + ((lanes + splat_int(LANES)) << 16);  // 16-bit lanes: 0 16 1 17 ...
  for (int64_t k = 0; k < keys; k += 2) {
    const vec_t* even = (const vec_t*)(from.data + k * from.step);
    const vec_t* odd = (const vec_t*)(from.data + (k + 1) * from.step);
    vec_t* to = (vec_t*)(out + k / 2 * WIDTH);
    for (int v = 0; v < VECTORS; ++v) {
      const vec_t high = k + 1 < keys ? odd[v] : splat(0);
      __m512i halves;  // 16 of `even`, then 16 of `high`
      __asm__("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves) : "v"(high), "v"(even[v]));
      to[v] = (vec_t)_mm512_permutexvar_epi16((__m512i)order, halves);
    }
  }
#else
  (void)from, (void)keys, (void)out;  // CAN_PAIR is 0
#endif
}

/// Steps in a block: which are computed, and under which number (a select with a known predicate is
/// one of its operands).
typedef struct program {
  uint8_t alias[HLO_ATTENTION_MAX_STEPS];
  uint8_t uses[HLO_ATTENTION_MAX_STEPS];  // 0: not computed
} program_t;

/// The programs of a block: the scores, and the weights if they have factors.
typedef struct programs {
  program_t score, weight;
} programs_t;

/// The evaluation of a panel.
typedef struct eval {
  const hlo_attention_t* plan;
  const hlo_attention_block_t* block;
  int64_t row, row_count;  // of the panel
  rows_t rows[HLO_ATTENTION_MAX_STEPS];
  uint32_t free_count;
  float* free[HLO_ATTENTION_MAX_STEPS + 3];  // and the products
} eval_t;

// Finds the steps that `outputs` need in a block, given what is known of them.
static void make_program(const hlo_attention_t* plan, const hlo_attention_range_t* ranges,
                         uint32_t output_count, const uint8_t* outputs, program_t* out) {
  for (uint32_t i = 0; i < plan->step_count; ++i) {
    const hlo_attention_step_t* step = &plan->steps[i];
    out->uses[i] = 0;
    out->alias[i] = (uint8_t)i;
    if (step->op != HLO_ATTENTION_SELECT) continue;
    const hlo_attention_range_t* which = &ranges[step->operands[0]];
    if (which->low > 0) out->alias[i] = out->alias[step->operands[1]];
    if (which->high == 0) out->alias[i] = out->alias[step->operands[2]];
  }
  for (uint32_t i = 0; i < output_count; ++i) ++out->uses[out->alias[outputs[i]]];
  for (uint32_t i = plan->step_count; i-- > 0;) {
    const hlo_attention_step_t* step = &plan->steps[i];
    for (uint32_t k = 0; out->uses[i] && k < hlo_attention_operand_count(step->op); ++k) {
      ++out->uses[out->alias[step->operands[k]]];
    }
  }
}

// Converts one element of an array to the bits of its step's type; true is -1.
static int32_t load_bits(const hlo_attention_step_t* step, hlo_dtype_t dtype, const char* data,
                         int64_t i) {
  switch (step->type) {
    case HLO_ATTENTION_BOOLEAN: return data[i] ? -1 : 0;
    case HLO_ATTENTION_INTEGER: return ((const int32_t*)(const void*)data)[i];
    default: return (int32_t)hlo_f32_to_bits(load_number(dtype, data, i));
  }
}

// Asks for the next block's elements of a row: rows are too far apart for the hardware to foresee
// them, and too many at the same distance for the first cache.
static void prefetch_row(const char* end, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(end + i, 0, 2);
}

// Loads truth values of keys side by side as masks, four of a row at once. out: [key][WIDTH], zero
// beyond the rows. Rows are copied first: those a power of two apart share few sets of the cache.
static void load_truths(const char* data, int64_t row, int64_t rows, int64_t keys, int32_t* out) {
  enum { GROUPS = BLOCK_KEYS / 4 };
  int32_t lines[WIDTH][GROUPS], columns[GROUPS][WIDTH] __attribute__((aligned(sizeof(vec_t))));
  if (rows < WIDTH || keys < BLOCK_KEYS) memset(lines, 0, sizeof lines);
  for (int64_t i = 0; i < rows; ++i) {
    if (keys == BLOCK_KEYS) {
      memcpy(lines[i], data + i * row, BLOCK_KEYS);
    } else {
      memcpy(lines[i], data + i * row, (size_t)keys);
    }
    prefetch_row(data + i * row + keys, keys);
  }
  for (int64_t i = 0; i < WIDTH; ++i) {
    for (int g = 0; g < GROUPS; ++g) columns[g][i] = lines[i][g];
  }
  for (int64_t k = 0; k < keys; ++k) {
    const ints_t* from = (const ints_t*)columns[k / 4];
    const ints_t bits = splat_int((int32_t)(0xffu << 8 * (k % 4)));
    for (int v = 0; v < VECTORS; ++v) {
      ((ints_t*)(out + k * WIDTH))[v] = (from[v] & bits) != splat_int(0);
    }
  }
}

// Does the same for integers, f32, or bf16 as f32; row: bytes from a row to the next.
static void load_words(const char* data, bool is_bf16, int64_t row, int64_t rows, int64_t keys,
                       int32_t* out) {
  for (int64_t i = 0; i < rows; ++i) {
    const void* from = data + i * row;
    if (is_bf16) {
      const uint16_t* halves = from;
      for (int64_t k = 0; k < keys; ++k) {
        out[k * WIDTH + i] = (int32_t)((uint32_t)halves[k] << 16);
      }
      prefetch_row((const char*)(halves + keys), keys * 2);
    } else {
      const int32_t* words = from;
      for (int64_t k = 0; k < keys; ++k) out[k * WIDTH + i] = words[k];
      prefetch_row((const char*)(words + keys), keys * 4);
    }
  }
}

static void load_array(const eval_t* e, const hlo_attention_step_t* step, rows_t* out) {
  const hlo_attention_array_t* array = &e->plan->arrays[step->array];
  const hlo_dtype_t dtype = array->value->type->dtype;
  const char* data = e->block->arrays[step->array];
  int32_t* bits = (int32_t*)(void*)out->data;
  out->step = array->key ? WIDTH : 0;
  const int64_t keys = array->key ? e->block->key_count : 1;
  if (!array->row) {
    for (int64_t k = 0; k < keys; ++k) {
      const int32_t x = load_bits(step, dtype, data, (e->block->key + k) * array->key);
      for (int i = 0; i < WIDTH; ++i) bits[k * WIDTH + i] = x;
    }
    return;
  }
  if (step->type == HLO_ATTENTION_BOOLEAN && array->key == 1) {
    const char* from = data + e->row * array->row + e->block->key;
    load_truths(from, array->row, e->row_count, keys, bits);
    return;
  }
  if (e->row_count < WIDTH) memset(bits, 0, (size_t)(keys * WIDTH) * sizeof *bits);
  const bool is_bf16 = dtype == HLO_DTYPE_BF16;
  if (array->key == 1 && (is_bf16 || dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_S32)) {
    const int64_t bytes = is_bf16 ? 2 : 4;
    const char* from = data + (e->row * array->row + e->block->key) * bytes;
    load_words(from, is_bf16, array->row * bytes, e->row_count, keys, bits);
    return;
  }
  for (int64_t i = 0; i < e->row_count; ++i) {
    const int64_t start = (e->row + i) * array->row + e->block->key * array->key;
    for (int64_t k = 0; k < keys; ++k) {
      bits[k * WIDTH + i] = load_bits(step, dtype, data, start + k * array->key);
    }
  }
}

static void make_leaf(const eval_t* e, const hlo_attention_step_t* step, rows_t* out) {
  int32_t* bits = (int32_t*)(void*)out->data;
  const int32_t integer = step->type == HLO_ATTENTION_BOOLEAN ? -step->integer : step->integer;
  const int32_t constant =
      step->type == HLO_ATTENTION_FLOAT ? (int32_t)hlo_f32_to_bits(step->number) : integer;
  if (step->op == HLO_ATTENTION_ARRAY) {
    load_array(e, step, out);
    return;
  }
  out->step = step->op == HLO_ATTENTION_KEY ? WIDTH : 0;
  const int64_t keys = out->step ? e->block->key_count : 1;
  for (int64_t k = 0; k < keys; ++k) {
    for (int i = 0; i < WIDTH; ++i) {
      int64_t x = constant;  // of an index: what is added
      if (step->op == HLO_ATTENTION_KEY) x += e->block->key + k;
      if (step->op == HLO_ATTENTION_ROW) x += e->row + i;
      bits[k * WIDTH + i] = (int32_t)x;
    }
  }
}

INLINE ints_t compare(int64_t direction, bool is_float, vec_t a, vec_t b) {
  const ints_t x = (ints_t)a, y = (ints_t)b;
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_EQ: return is_float ? a == b : x == y;
    case HLO_COMPARISON_DIRECTION_NE: return is_float ? a != b : x != y;
    case HLO_COMPARISON_DIRECTION_LT: return is_float ? a < b : x < y;
    case HLO_COMPARISON_DIRECTION_LE: return is_float ? a <= b : x <= y;
    case HLO_COMPARISON_DIRECTION_GT: return is_float ? a > b : x > y;
    default: return is_float ? a >= b : x >= y;
  }
}

// NaN wins.
INLINE vec_t larger(vec_t a, vec_t b) {
  return blend((a > b) | (a != a), a, b);
}

INLINE vec_t convert(const hlo_attention_step_t* step, vec_t a) {
  const bool to_float = step->type == HLO_ATTENTION_FLOAT;
  if (step->type == HLO_ATTENTION_BOOLEAN) return (vec_t)((ints_t)a != splat_int(0));
  const ints_t integer = step->from == HLO_ATTENTION_BOOLEAN ? -(ints_t)a : (ints_t)a;
  return to_float ? __builtin_convertvector(integer, vec_t) : (vec_t)integer;
}

// Applies an expression of vectors a, b and c to all rows.
#define APPLY(expression)                                        \
  for (int64_t k = 0; k < count; ++k) {                          \
    const vec_t* pa = (const vec_t*)(x[0].data + k * x[0].step); \
    const vec_t* pb = (const vec_t*)(x[1].data + k * x[1].step); \
    const vec_t* pc = (const vec_t*)(x[2].data + k * x[2].step); \
    vec_t* to = (vec_t*)(out->data + k * WIDTH);                 \
    for (int v = 0; v < VECTORS; ++v) {                          \
      const vec_t a = pa[v], b = pb[v], c = pc[v];               \
      (void)a, (void)b, (void)c;                                 \
      to[v] = (vec_t)(expression);                               \
    }                                                            \
  }                                                              \
  break

static void apply_float(const hlo_attention_step_t* step, int64_t count, const rows_t* x,
                        rows_t* out) {
  switch (step->op) {
    case HLO_ATTENTION_ADD: APPLY(a + b);
    case HLO_ATTENTION_SUBTRACT: APPLY(a - b);
    case HLO_ATTENTION_MULTIPLY: APPLY(a * b);
    case HLO_ATTENTION_DIVIDE: APPLY(a / b);
    case HLO_ATTENTION_MAXIMUM: APPLY(larger(a, b));
    case HLO_ATTENTION_MINIMUM: APPLY(-larger(-a, -b));
    case HLO_ATTENTION_NEGATE: APPLY(-a);
    case HLO_ATTENTION_ABS: APPLY((ints_t)a & splat_int(INT32_MAX));
    case HLO_ATTENTION_TANH: APPLY(tanh_any(a));
    case HLO_ATTENTION_EXP: APPLY(exp_any(a));
    case HLO_ATTENTION_SELECT: APPLY(blend((ints_t)a, b, c));
    default: APPLY(convert(step, a));
  }
}

// Multiplies by the reciprocals of a row if they are normal numbers. Returns false otherwise.
static bool divide_by_row(int64_t count, const rows_t* x, rows_t* out) {
  vec_t inverse[VECTORS];
  ints_t is_normal = splat_int(-1);
  for (int v = 0; v < VECTORS; ++v) {
    const vec_t b = ((const vec_t*)x[1].data)[v];
    const vec_t size = (vec_t)((ints_t)b & splat_int(INT32_MAX));
    is_normal &= (size > splat(0x1p-126f)) & (size < splat(0x1p126f));
    inverse[v] = splat(1.0f) / b;
  }
  for (int i = 0; i < LANES; ++i) {
    if (!is_normal[i]) return false;
  }
  for (int64_t k = 0; k < count; ++k) {
    const vec_t* from = (const vec_t*)(x[0].data + k * x[0].step);
    vec_t* to = (vec_t*)(out->data + k * WIDTH);
    for (int v = 0; v < VECTORS; ++v) to[v] = from[v] * inverse[v];
  }
  return true;
}

static void apply_integer(const hlo_attention_step_t* step, int64_t count, const rows_t* x,
                          rows_t* out) {
  const bool is_float = step->from == HLO_ATTENTION_FLOAT;
  switch (step->op) {
    case HLO_ATTENTION_ADD: APPLY((ints_t)a + (ints_t)b);
    case HLO_ATTENTION_SUBTRACT: APPLY((ints_t)a - (ints_t)b);
    case HLO_ATTENTION_MULTIPLY: APPLY((ints_t)a * (ints_t)b);
    case HLO_ATTENTION_MAXIMUM: APPLY(blend((ints_t)a > (ints_t)b, a, b));
    case HLO_ATTENTION_MINIMUM: APPLY(blend((ints_t)a < (ints_t)b, a, b));
    case HLO_ATTENTION_NEGATE: APPLY(-(ints_t)a);
    case HLO_ATTENTION_ABS: APPLY(blend((ints_t)a < splat_int(0), (vec_t)(-(ints_t)a), a));
    case HLO_ATTENTION_COMPARE: APPLY(compare(step->direction, is_float, a, b));
    case HLO_ATTENTION_SELECT: APPLY(blend((ints_t)a, b, c));
    case HLO_ATTENTION_AND: APPLY((ints_t)a & (ints_t)b);
    case HLO_ATTENTION_OR: APPLY((ints_t)a | (ints_t)b);
    case HLO_ATTENTION_NOT: APPLY(~(ints_t)a);
    default: APPLY(convert(step, a));
  }
}

static float* take_buffer(eval_t* e) {
  return e->free[--e->free_count];
}

static void release_operand(eval_t* e, program_t* program, uint32_t step) {
  if (--program->uses[step] == 0) e->free[e->free_count++] = e->rows[step].data;
}

static void eval_step(eval_t* e, program_t* program, uint32_t number) {
  const hlo_attention_step_t* step = &e->plan->steps[number];
  const uint32_t count = hlo_attention_operand_count(step->op);
  rows_t x[3], *out = &e->rows[number];
  bool is_in_place = false, is_row = count > 0;
  for (uint32_t i = 0; i < 3; ++i) {
    x[i] = count ? e->rows[program->alias[step->operands[i < count ? i : 0]]] : (rows_t){0};
    is_row &= x[i].step == 0;
  }
  // The buffer of an operand that is used up holds the result.
  for (uint32_t i = 0; i < count && !is_in_place; ++i) {
    const uint32_t operand = program->alias[step->operands[i]];
    if (program->uses[operand] != 1 || (e->rows[operand].step == 0) != is_row) continue;
    is_in_place = true;
    out->data = e->rows[operand].data;
    ++program->uses[operand];  // kept below
  }
  if (!is_in_place) out->data = take_buffer(e);
  if (count == 0) {
    make_leaf(e, step, out);
    return;
  }
  out->step = is_row ? 0 : WIDTH;
  const int64_t keys = is_row ? 1 : e->block->key_count;
  const bool is_row_divisor = step->op == HLO_ATTENTION_DIVIDE &&
                              step->type == HLO_ATTENTION_FLOAT && !is_row && !x[1].step;
  if (!is_row_divisor || !divide_by_row(keys, x, out)) {
    (step->type == HLO_ATTENTION_FLOAT ? apply_float : apply_integer)(step, keys, x, out);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t operand = program->alias[step->operands[i]];
    if (e->rows[operand].data == out->data) {
      --program->uses[operand];
    } else {
      release_operand(e, program, operand);
    }
  }
}

// Returns true if a mask is not the same for all of the block.
static bool is_mixed(const hlo_attention_t* plan, const program_t* program) {
  for (uint32_t i = 0; i < plan->step_count; ++i) {
    if (plan->steps[i].op == HLO_ATTENTION_SELECT && program->alias[i] == i) return true;
  }
  return false;
}

// Evaluates the steps of a panel whose products, or exponentials, are in `scores` and `second`.
static void eval_panel(eval_t* e, program_t program, float* scores, float* second, float* buffers) {
  e->free_count = 0;
  for (uint32_t i = e->plan->step_count + 1; i-- > 0;) {
    e->free[e->free_count++] = buffers + (size_t)i * PANEL_FLOATS;
  }
  for (uint32_t i = 0; i < e->plan->step_count; ++i) {
    if (!program.uses[i] || program.alias[i] != i) continue;
    switch (e->plan->steps[i].op) {
      case HLO_ATTENTION_SCORE:
      case HLO_ATTENTION_WEIGHT: e->rows[i] = (rows_t){scores, WIDTH}; break;
      case HLO_ATTENTION_SECOND: e->rows[i] = (rows_t){second, WIDTH}; break;
      default: eval_step(e, &program, i);
    }
  }
}

// ---- softmax

/// The state of a panel's queries.
typedef struct state {
  vec_t most[VECTORS], sum[VECTORS];
} state_t;

// Replaces scores with exp(score - maximum), in `out`, and gives the factor of what is accumulated.
INLINE void update_softmax_of(bool is_narrow, rows_t scores, int64_t keys, state_t* state,
                              float* out, vec_t* out_scale) {
  vec_t most[VECTORS], limit[VECTORS], sum[VECTORS];
  for (int v = 0; v < VECTORS; ++v) most[v] = state->most[v];
  for (int64_t k = 0; k < keys; ++k) {
    const vec_t* row = (const vec_t*)(scores.data + k * scores.step);
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) most[v] = larger_or_second(row[v], most[v]);
  }
  for (int v = 0; v < VECTORS; ++v) {
    // Without a score above -infinity, all differences are those to zero.
    limit[v] = blend(most[v] == splat(-INFINITY), splat(0), most[v]);
    out_scale[v] = exp_negative(state->most[v] - limit[v], false);
    sum[v] = state->sum[v] * out_scale[v];
    state->most[v] = most[v];
  }
  for (int64_t k = 0; k < keys; ++k) {
    const vec_t* row = (const vec_t*)(scores.data + k * scores.step);
    vec_t* to = (vec_t*)(out + k * WIDTH);
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      const vec_t p = exp_negative(row[v] - limit[v], is_narrow);
      sum[v] += p;
      to[v] = p;
    }
  }
  for (int v = 0; v < VECTORS; ++v) state->sum[v] = sum[v];
}

static void update_softmax(bool is_narrow, rows_t scores, int64_t keys, state_t* state, float* out,
                           vec_t* out_scale) {
  if (is_narrow) {
    update_softmax_of(true, scores, keys, state, out, out_scale);
  } else {
    update_softmax_of(false, scores, keys, state, out, out_scale);
  }
}

// ---- chunks

/// Scratch memory of a chunk.
typedef struct chunk {
  const hlo_attention_job_t* job;
  hlo_attention_block_t block;
  const char *query, *key, *value;
  char* result;
  bool is_paired;  // queries, keys, values and weights are pairs of bf16
  int64_t pitch;   // of values: features, padded to whole tiles
  float *queries, *keys, *values, *scores, *accumulators, *buffers, *line;
  state_t states[PANELS];
} chunk_t;

static int64_t padded_features(const hlo_attention_t* plan) {
  return (plan->features + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

// Rounds to whole cache lines.
static int64_t round_floats(int64_t count) {
  return (count + 15) / 16 * 16;
}

// Divides scratch memory and returns its size in floats.
static int64_t divide_scratch(const hlo_attention_t* plan, float* scratch, chunk_t* out) {
  int64_t at = 0;
  out->pitch = padded_features(plan);
  out->queries = scratch;
  at += round_floats(plan->depth * BLOCK_QUERIES);
  out->keys = scratch + at;
  at += round_floats(plan->depth * BLOCK_KEYS);
  out->values = scratch + at;
  at += round_floats(out->pitch * BLOCK_KEYS);
  out->accumulators = scratch + at;
  at += round_floats(out->pitch * BLOCK_QUERIES);
  out->scores = scratch + at;
  at += round_floats(PANEL_FLOATS);
  out->line = scratch + at;
  at += round_floats(plan->depth > out->pitch ? plan->depth : out->pitch);
  out->buffers = scratch + at;
  return at + round_floats((int64_t)(plan->step_count + 1) * PANEL_FLOATS);
}

static size_t scratch_bytes(const hlo_attention_t* plan) {
  chunk_t chunk;
  static float none;
  return (size_t)divide_scratch(plan, &none, &chunk) * sizeof(float);
}

// Prefetches a panel's share of the next block's keys and values, whose rows are apart in memory.
static void prefetch_rows(const hlo_attention_array_t* array, const char* data, int64_t first,
                          int64_t end, int64_t elements) {
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(array->value->type->dtype);
  if (array->depth != 1) return;
  for (int64_t k = first; k < end; ++k) {
    const char* row = data + k * array->key * bytes;
    for (int64_t i = 0; i < elements * bytes; i += 64) __builtin_prefetch(row + i);
  }
}

static void prefetch_next(const chunk_t* c, int64_t panel) {
  const hlo_attention_t* plan = c->job->plan;
  const int64_t next = c->block.key + BLOCK_KEYS, share = BLOCK_KEYS / PANELS;
  const int64_t first = next + panel * share, end = hlo_min(first + share, plan->keys);
  prefetch_rows(&plan->key, c->key, first, end, plan->depth);
  prefetch_rows(&plan->value, c->value, first, end, plan->features);
}

// Repeats one row for all keys: weights that a mask makes the same.
static rows_t repeat_row(rows_t from, int64_t keys, float* out) {
  for (int64_t k = 0; k < keys; ++k) memcpy(out + k * WIDTH, from.data, WIDTH * sizeof *out);
  return (rows_t){out, WIDTH};
}

static void multiply_panel(chunk_t* c, int64_t panel, const programs_t* programs) {
  const hlo_attention_t* plan = c->job->plan;
  const int64_t keys = c->block.key_count;
  const int64_t depth = c->is_paired ? hlo_divide_up(plan->depth, 2) : plan->depth;
  const float* queries = c->queries + panel * depth * WIDTH;
  float* accumulators = c->accumulators + panel * c->pitch * WIDTH;
  prefetch_next(c, panel);
  multiply_tiles(c->is_paired, keys, depth, c->keys, TILE_ROWS * depth, depth, 1, queries, NULL,
                 c->scores);
  eval_t e = {.plan = plan, .block = &c->block, .row = c->block.row + panel * WIDTH};
  e.row_count = hlo_min(WIDTH, c->block.row_count - panel * WIDTH);
  vec_t scale[VECTORS];
  eval_panel(&e, programs->score, c->scores, NULL, c->buffers);
  update_softmax(c->is_paired, e.rows[programs->score.alias[plan->score]], keys, &c->states[panel],
                 c->scores, scale);
  rows_t weights = {c->scores, WIDTH};
  if (plan->has_factor) {
    eval_panel(&e, programs->weight, c->scores, NULL, c->buffers);
    weights = e.rows[programs->weight.alias[plan->weight]];
    if (!weights.step) weights = repeat_row(weights, keys, c->scores);
  }
  if (c->is_paired) pair_weights(weights, keys, weights.data);
  const int64_t steps = c->is_paired ? hlo_divide_up(keys, 2) : keys;
  multiply_tiles(c->is_paired, c->pitch, steps, c->values, TILE_ROWS, 1, c->pitch, weights.data,
                 scale, accumulators);
}

// Adds up the values of a block of keys along the keys.
static void sum_values(const chunk_t* c, float* out) {
  const uint32_t* pairs = (const uint32_t*)(const void*)c->values;
  memset(out, 0, (size_t)c->pitch * sizeof *out);
  for (int64_t k = 0; k < c->block.key_count; ++k) {
    const float* line = c->values + k * c->pitch;
    const uint32_t* pair = pairs + k / 2 * c->pitch;
    if (!c->is_paired) {
      for (int64_t f = 0; f < c->pitch; ++f) out[f] += line[f];
    } else if (k % 2 == 0) {
      for (int64_t f = 0; f < c->pitch; ++f) out[f] += hlo_f32_from_bits(pair[f] << 16);
    } else {
      for (int64_t f = 0; f < c->pitch; ++f) out[f] += hlo_f32_from_bits(pair[f] & 0xffff0000u);
    }
  }
}

// Adds a block of keys whose scores for a panel are one constant, and so are the weights of each
// query: no products are needed. value_sums: those of the block.
static void add_constant(chunk_t* c, int64_t panel, float constant, const float* value_sums) {
  state_t* state = &c->states[panel];
  vec_t* accumulators = (vec_t*)(c->accumulators + panel * c->pitch * WIDTH);
  vec_t scale[VECTORS], weight[VECTORS];
  for (int v = 0; v < VECTORS; ++v) {
    const vec_t most = larger_or_second(splat(constant), state->most[v]);
    scale[v] = exp_negative(state->most[v] - most, false);
    weight[v] = exp_negative(splat(constant) - most, false);
    state->sum[v] = state->sum[v] * scale[v] + weight[v] * splat((float)c->block.key_count);
    state->most[v] = most;
  }
  for (int64_t f = 0; f < c->pitch; ++f) {
    for (int v = 0; v < VECTORS; ++v) {
      vec_t* to = &accumulators[f * VECTORS + v];
      *to = *to * scale[v] + weight[v] * splat(value_sums[f]);
    }
  }
}

// Makes the programs of rows and keys. Returns true if all their scores are one negative number,
// which *limit covers then.
static bool find_programs(const hlo_attention_t* plan, const hlo_attention_block_t* block,
                          programs_t* programs, bool* out_is_mixed, float* limit) {
  hlo_attention_range_t ranges[HLO_ATTENTION_MAX_STEPS];
  hlo_attention_find_ranges(plan, block, ranges);
  const hlo_attention_range_t* range = &ranges[plan->score];
  make_program(plan, ranges, 1, &plan->score, &programs->score);
  if (plan->has_factor) make_program(plan, ranges, 1, &plan->weight, &programs->weight);
  *out_is_mixed = is_mixed(plan, &programs->score);
  if (!range->is_known || range->low != range->high || range->high >= 0) return false;
  *limit = fmaxf(*limit, (float)range->high);
  return true;
}

// Multiplies a block of keys. A mask that is not the same for all queries of the block may be so
// for those of a panel.
static void multiply_block(chunk_t* c, int64_t panels, const programs_t* whole, bool is_split,
                           bool can_skip, float* limit) {
  const hlo_attention_t* plan = c->job->plan;
  const int64_t key = c->block.key, keys = c->block.key_count;
  if (c->is_paired) {
    pack_line_pairs(keys_of(&plan->key, c->key), key, keys, plan->depth, c->keys);
    pack_paired_lines(keys_of(&plan->value, c->value), key, keys, plan->features, c->pitch,
                      c->values);
  } else {
    pack_lines(keys_of(&plan->key, c->key), key, keys, plan->depth, plan->depth, c->keys);
    pack_lines(keys_of(&plan->value, c->value), key, keys, plan->features, c->pitch, c->values);
  }
  bool has_sums = false;
  for (int64_t p = 0; p < panels; ++p) {
    programs_t programs = *whole;
    hlo_attention_block_t panel = c->block;
    panel.row += p * WIDTH;
    panel.row_count = hlo_min(WIDTH, c->block.row_count - p * WIDTH);
    float constant = -INFINITY;
    bool is_one = is_split || !can_skip, is_panel_mixed;
    if (is_one) is_one = find_programs(plan, &panel, &programs, &is_panel_mixed, &constant);
    if (is_one && can_skip) {
      *limit = fmaxf(*limit, constant);
    } else if (is_one && !plan->has_factor && constant > -INFINITY) {
      if (!has_sums) sum_values(c, c->line);
      has_sums = true;
      add_constant(c, p, constant, c->line);
    } else {
      multiply_panel(c, p, &programs);
    }
  }
}

// Accumulates all blocks of keys; *limit becomes the largest constant of skipped scores.
static void multiply_blocks(chunk_t* c, bool can_skip, float* limit) {
  const hlo_attention_t* plan = c->job->plan;
  const int64_t panels = (c->block.row_count + WIDTH - 1) / WIDTH;
  for (int64_t p = 0; p < panels; ++p) {
    for (int v = 0; v < VECTORS; ++v) {
      c->states[p].most[v] = splat(-INFINITY);
      c->states[p].sum[v] = splat(0);
    }
  }
  memset(c->accumulators, 0, (size_t)(panels * c->pitch * WIDTH) * sizeof(float));
  for (int64_t key = 0; key < plan->keys; key += BLOCK_KEYS) {
    programs_t programs;
    bool is_split;
    float constant = -INFINITY;
    c->block.key = key;
    c->block.key_count = hlo_min(BLOCK_KEYS, plan->keys - key);
    if (find_programs(plan, &c->block, &programs, &is_split, &constant) && can_skip) {
      *limit = fmaxf(*limit, constant);
    } else {
      multiply_block(c, panels, &programs, is_split, can_skip, limit);
    }
  }
}

// Returns true if blocks with a constant score `limit` have no weight for any query.
static bool may_skip(const chunk_t* c, float limit) {
  if (limit == -INFINITY) return true;
  for (int64_t i = 0; i < c->block.row_count; ++i) {
    const float most = ((const float*)c->states[i / WIDTH].most)[i % WIDTH];
    if (!(limit - most < HLO_ATTENTION_EXP_ZERO)) return false;
  }
  return true;
}

static void store_line(hlo_dtype_t dtype, const float* line, int64_t start, int64_t step,
                       int64_t count, char* out) {
  float* numbers = (float*)(void*)out + start;
  uint16_t* halves = (uint16_t*)(void*)out + start;
  switch (dtype) {
    case HLO_DTYPE_BF16:
      for (int64_t i = 0; i < count; ++i) halves[i * step] = hlo_f32_to_bf16(line[i]);
      break;
    case HLO_DTYPE_F16:
      for (int64_t i = 0; i < count; ++i) halves[i * step] = hlo_f32_to_f16(line[i]);
      break;
    default:
      for (int64_t i = 0; i < count; ++i) numbers[i * step] = line[i];
  }
}

static int64_t batch_bytes(const hlo_attention_array_t* array, const int64_t* index,
                           uint32_t count) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < count; ++i) offset += index[i] * array->batch[i];
  return offset * (int64_t)hlo_dtype_size_bytes(array->value->type->dtype);
}

// Stores the maximum and the sum of each query.
static void store_statistics(const chunk_t* c, const int64_t* at) {
  const hlo_attention_job_t* job = c->job;
  const hlo_attention_array_t *most = &job->plan->most, *sum = &job->plan->sum;
  char* most_data = job->most + batch_bytes(most, at, job->plan->batch_count);
  char* sum_data = job->sum + batch_bytes(sum, at, job->plan->batch_count);
  for (int64_t i = 0; i < c->block.row_count; ++i) {
    const state_t* state = &c->states[i / WIDTH];
    const int64_t row = c->block.row + i;
    store_line(most->value->type->dtype, (const float*)state->most + i % WIDTH, row * most->row, 1,
               1, most_data);
    store_line(sum->value->type->dtype, (const float*)state->sum + i % WIDTH, row * sum->row, 1, 1,
               sum_data);
  }
}

static void store_result(const chunk_t* c) {
  const hlo_attention_t* plan = c->job->plan;
  const hlo_attention_array_t* result = &plan->result;
  for (int64_t i = 0; i < c->block.row_count; ++i) {
    const float* from = c->accumulators + i / WIDTH * c->pitch * WIDTH + i % WIDTH;
    const float sum = ((const float*)c->states[i / WIDTH].sum)[i % WIDTH];
    const float inverse = (plan->has_factor ? plan->scale : 1) / sum;
    for (int64_t f = 0; f < plan->features; ++f) {
      // 0 / 0 for queries without keys
      c->line[f] = sum == 0 ? from[f * WIDTH] / sum : from[f * WIDTH] * inverse;
    }
    store_line(result->value->type->dtype, c->line, (c->block.row + i) * result->row, result->depth,
               plan->features, c->result);
  }
}

static void run(const hlo_attention_job_t* job, uint64_t index, float* scratch) {
  const hlo_attention_t* plan = job->plan;
  chunk_t c = {.job = job, .is_paired = CAN_PAIR && job->has_pairs && plan->is_narrow};
  int64_t at[HLO_ATTENTION_MAX_AXES];
  divide_scratch(plan, scratch, &c);
  const int64_t blocks = (plan->rows + BLOCK_QUERIES - 1) / BLOCK_QUERIES;
  // The last queries, which masks of later keys leave most to do, come first.
  c.block.row = (blocks - 1 - (int64_t)index % blocks) * BLOCK_QUERIES;
  c.block.row_count = hlo_min(BLOCK_QUERIES, plan->rows - c.block.row);
  int64_t batch = (int64_t)index / blocks;
  for (uint32_t i = plan->batch_count; i-- > 0; batch /= plan->batch[i]) {
    at[i] = batch % plan->batch[i];
  }
  c.query = job->query + batch_bytes(&plan->query, at, plan->batch_count);
  c.key = job->key + batch_bytes(&plan->key, at, plan->batch_count);
  c.value = job->value + batch_bytes(&plan->value, at, plan->batch_count);
  c.result = job->result + batch_bytes(&plan->result, at, plan->batch_count);
  for (uint32_t i = 0; i < plan->array_count; ++i) {
    c.block.arrays[i] = job->arrays[i] + batch_bytes(&plan->arrays[i], at, plan->batch_count);
  }
  if (c.is_paired) {
    pack_column_pairs(rows_of(&plan->query, c.query), c.block.row, c.block.row_count, plan->depth,
                      c.queries);
  } else {
    pack_columns(rows_of(&plan->query, c.query), c.block.row, c.block.row_count, plan->depth,
                 c.line, c.queries);
  }
  float limit = -INFINITY;
  multiply_blocks(&c, true, &limit);
  if (!may_skip(&c, limit)) multiply_blocks(&c, false, &limit);
  store_result(&c);
  if (job->most) store_statistics(&c, at);
}

#include "lib/attention_gradient.inl"

const hlo_attention_kernel_t HLO_ISA_NAME(hlo_attention_kernel) = {
    .block_queries = BLOCK_QUERIES,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .gradient_size = gradient_size,
    .gradient_scratch_bytes = gradient_scratch_bytes,
    .run_gradient = run_gradient,
    .reduce_gradient = reduce_gradient};
