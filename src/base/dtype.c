// SPDX-License-Identifier: Apache-2.0
// Element types: names, single elements, arrays. Every type has a codec: loops between its memory
// form and three carriers (int64, float, double). An array conversion loads blocks into the carrier
// that preserves the value (or rounds it once, correctly) and stores from it; if one of the types
// is the carrier, a single loop converts the array.
#include "base/dtype.h"

#include <string.h>

typedef void (*loop_t)(const void* in, void* out, size_t count);

typedef struct codec {
  loop_t load_i64;  // integers only
  loop_t load_f32;  // floats of at most 32 bits exactly, integers rounded once
  loop_t load_f64;
  loop_t load_f64_sticky;  // integers: a second rounding to fewer bits is exact
  loop_t store_i64;        // integers only: wraps
  loop_t store_f32;
  loop_t store_f64;
} codec_t;

// The columns of the table as constants BITS_F8E5M2, BIAS_F8E5M2 and so on, for the templates.
enum {
#define HLO_DTYPE(id, hlo, mlir, np, pjrt, xla, klass, bits, exponent_bits, mantissa_bits, bias,  \
                  specials, part)                                                                 \
  BITS_##id = (bits), EXPONENT_BITS_##id = (exponent_bits), MANTISSA_BITS_##id = (mantissa_bits), \
  BIAS_##id = (bias), SPECIALS_##id = HLO_FLOAT_##specials,
#include "base/dtype.def"
#undef HLO_DTYPE
};

const hlo_dtype_info_t hlo_dtype_table[HLO_DTYPE_COUNT] = {
#define HLO_DTYPE(id, hlo, mlir, np, pjrt, xla, klass, bits, exponent_bits, mantissa_bits, bias, \
                  specials, part)                                                                \
  {#id,                                                                                          \
   hlo,                                                                                          \
   mlir,                                                                                         \
   np,                                                                                           \
   pjrt,                                                                                         \
   xla,                                                                                          \
   HLO_DTYPE_CLASS_##klass,                                                                      \
   bits,                                                                                         \
   exponent_bits,                                                                                \
   mantissa_bits,                                                                                \
   bias,                                                                                         \
   HLO_FLOAT_##specials,                                                                         \
   HLO_DTYPE_##part},
#include "base/dtype.def"
#undef HLO_DTYPE
};

// ---- single floats -----------------------------------------------------------------------------

// Rounds a double to a float with a sticky last bit: a second rounding to fewer bits then gives the
// result of one rounding from the double.
// source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (rounding to odd)
static inline float round_to_odd(double value) {
  float near = (float)value;
  uint32_t bits = hlo_f32_to_bits(near);
  double back = (double)near;
  bool inexact = back != value && near == near;
  uint32_t toward = __builtin_fabs(back) < __builtin_fabs(value) ? 1u : UINT32_MAX;
  return hlo_f32_from_bits(inexact && !(bits & 1u) ? bits + toward : bits);
}

static inline uint32_t encode_e8m0(uint32_t bits) {
  // Ties round up. Below 2^-126, everything above 2^-127 rounds up, as in ml_dtypes.
  uint32_t code = bits < 0x00800000u ? bits > 0x00400000u : (bits + 0x00400000u) >> 23;
  bool positive = bits - 1u < 0x7f800000u - 1u;  // finite and above zero
  return positive ? code : 0xffu;
}

// Returns the code of `value` in a format given by constants, which the compiler folds.
static inline __attribute__((always_inline)) uint32_t encode_f32(float value, int bits,
                                                                 int exponent_bits,
                                                                 int mantissa_bits, int bias,
                                                                 hlo_float_specials_t specials) {
  const uint32_t all = hlo_f32_to_bits(value);
  if (specials == HLO_FLOAT_E8M0) return encode_e8m0(all);
  const uint32_t magnitude = all & 0x7fffffffu;
  const int shift = 23 - mantissa_bits;
  const uint32_t top = (1u << (bits - 1)) - 1u;  // all ones below the sign
  const uint32_t infinity = ((1u << exponent_bits) - 1u) << mantissa_bits;

  // Normal results: nearest even on the integer, the exponent moved to the new bias.
  uint32_t rounded = magnitude + ((1u << (shift - 1)) - 1u) + ((magnitude >> shift) & 1u);
  uint32_t normal = (rounded >> shift) - ((uint32_t)(127 - bias) << mantissa_bits);
  // Subnormal results: adding a power of two whose last bit is the smallest code does the rounding.
  const uint32_t magic = (uint32_t)(127 + 1 - bias - mantissa_bits + 23) << 23;
  uint32_t subnormal =
      hlo_f32_to_bits(hlo_f32_from_bits(magnitude) + hlo_f32_from_bits(magic)) - magic;
  uint32_t code = magnitude < (uint32_t)(127 + 1 - bias) << 23 ? subnormal : normal;

  bool is_nan = magnitude > 0x7f800000u;
  uint32_t sign = (all >> 31) << (bits - 1);
  switch (specials) {
    case HLO_FLOAT_IEEE: {
      // Types of 16 bits keep the high bits of a NaN's payload; smaller types do not.
      uint32_t payload = bits > 8 ? (magnitude >> shift) & (infinity ^ top) : 0u;
      code = code > infinity ? infinity : code;
      code = is_nan ? infinity | 1u << (mantissa_bits - 1) | payload : code;
      return code | sign;
    }
    case HLO_FLOAT_FN: return (code > top || is_nan ? top : code) | sign;
    case HLO_FLOAT_FNUZ:
      if (code > top || is_nan) return top + 1u;
      return code ? code | sign : 0u;
    default:  // HLO_FLOAT_FINITE saturates; a NaN becomes a zero of the other sign (ml_dtypes)
      if (is_nan) return sign ^ (top + 1u);
      return (code > top ? top : code) | sign;
  }
}

// The float bits of a code, as a constant expression.
#define TOP_BIT(m) ((m) >= 8u ? 3u : (m) >= 4u ? 2u : (m) >= 2u ? 1u : 0u)
#define MAGNITUDE(c, n) ((c) & ((1u << ((n)-1)) - 1u))
#define MANTISSA(c, m) ((c) & ((1u << (m)) - 1u))
#define SIGN_BIT(c, n) ((((c) >> ((n)-1)) & 1u) << 31)
#define SUBNORMAL_BITS(x, m, bias) \
  ((x) == 0u                       \
       ? 0u                        \
       : ((128u - (bias) - (m) + TOP_BIT(x)) << 23) | (((x) << (23u - TOP_BIT(x))) & 0x7fffffu))
#define FINITE_BITS(c, n, m, bias)               \
  ((MAGNITUDE(c, n) >> (m)) == 0u                \
       ? SUBNORMAL_BITS(MANTISSA(c, m), m, bias) \
       : (((MAGNITUDE(c, n) >> (m)) + 127u - (bias)) << 23) | (MANTISSA(c, m) << (23 - (m))))
#define IEEE_TOP_BITS(x) ((x) ? 0x7fc00000u : 0x7f800000u)
#define E8M0_BITS(c) ((c) == 255u ? 0x7fc00000u : (c) == 0u ? 0x00400000u : (c) << 23)
#define DECODE_BITS(c, n, e, m, bias, specials)                                 \
  ((specials) == HLO_FLOAT_E8M0                  ? E8M0_BITS(c)                 \
   : (specials) == HLO_FLOAT_FNUZ && (c) == 128u ? 0xffc00000u                  \
   : (specials) == HLO_FLOAT_FN && MAGNITUDE(c, n) == (1u << ((n)-1)) - 1u      \
       ? SIGN_BIT(c, n) | 0x7fc00000u                                           \
   : (specials) == HLO_FLOAT_IEEE && MAGNITUDE(c, n) >> (m) == (1u << (e)) - 1u \
       ? SIGN_BIT(c, n) | IEEE_TOP_BITS(MANTISSA(c, m))                         \
       : SIGN_BIT(c, n) | FINITE_BITS(c, n, m, bias))
#define TABLE_4(row, c) row((c)), row((c) + 1u), row((c) + 2u), row((c) + 3u)
#define TABLE_16(row, c) \
  TABLE_4(row, (c)), TABLE_4(row, (c) + 4u), TABLE_4(row, (c) + 8u), TABLE_4(row, (c) + 12u)
#define TABLE_64(row, c) \
  TABLE_16(row, (c)), TABLE_16(row, (c) + 16u), TABLE_16(row, (c) + 32u), TABLE_16(row, (c) + 48u)
#define TABLE_256(row) \
  TABLE_64(row, 0u), TABLE_64(row, 64u), TABLE_64(row, 128u), TABLE_64(row, 192u)

float hlo_f16_to_f32(uint16_t code) {
  uint32_t magnitude = (uint32_t)(code & 0x7fffu) << 13;
  // Rebiases the exponent. A subnormal number is added after the leading one of 2^-14, which is
  // then subtracted: no step is subnormal in f32, so the result is exact even if those are flushed.
  uint32_t normal = magnitude + 0x38000000u;
  float subnormal = hlo_f32_from_bits(magnitude + 0x38800000u) - 0x1p-14f;
  uint32_t finite = magnitude < 0x00800000u ? hlo_f32_to_bits(subnormal) : normal;
  uint32_t quiet = magnitude > 0x0f800000u ? 0x00400000u : 0u;
  uint32_t special = magnitude | 0x7f800000u | quiet;
  return hlo_f32_from_bits((magnitude >= 0x0f800000u ? special : finite) |
                           (uint32_t)(code & 0x8000u) << 16);
}

uint16_t hlo_f32_to_f16(float value) {
  return (uint16_t)encode_f32(value, BITS_F16, EXPONENT_BITS_F16, MANTISSA_BITS_F16, BIAS_F16,
                              HLO_FLOAT_IEEE);
}

// ---- codecs ------------------------------------------------------------------------------------

#define INT_ID S2
#define INT_T int8_t
#include "base/dtype_int.inl"
#define INT_ID S4
#define INT_T int8_t
#include "base/dtype_int.inl"
#define INT_ID S8
#define INT_T int8_t
#include "base/dtype_int.inl"
#define INT_ID S16
#define INT_T int16_t
#include "base/dtype_int.inl"
#define INT_ID S32
#define INT_T int32_t
#include "base/dtype_int.inl"
#define INT_ID S64
#define INT_T int64_t
#include "base/dtype_int.inl"
#define INT_ID U2
#define INT_T uint8_t
#include "base/dtype_int.inl"
#define INT_ID U4
#define INT_T uint8_t
#include "base/dtype_int.inl"
#define INT_ID U8
#define INT_T uint8_t
#include "base/dtype_int.inl"
#define INT_ID U16
#define INT_T uint16_t
#include "base/dtype_int.inl"
#define INT_ID U32
#define INT_T uint32_t
#include "base/dtype_int.inl"
#define INT_ID U64
#define INT_T uint64_t
#include "base/dtype_int.inl"

#define FLOAT_ID F4E2M1FN
#include "base/dtype_small.inl"
#define FLOAT_ID F6E2M3FN
#include "base/dtype_small.inl"
#define FLOAT_ID F6E3M2FN
#include "base/dtype_small.inl"
#define FLOAT_ID F8E3M4
#include "base/dtype_small.inl"
#define FLOAT_ID F8E4M3
#include "base/dtype_small.inl"
#define FLOAT_ID F8E4M3FN
#include "base/dtype_small.inl"
#define FLOAT_ID F8E4M3B11FNUZ
#include "base/dtype_small.inl"
#define FLOAT_ID F8E4M3FNUZ
#include "base/dtype_small.inl"
#define FLOAT_ID F8E5M2
#include "base/dtype_small.inl"
#define FLOAT_ID F8E5M2FNUZ
#include "base/dtype_small.inl"
#define FLOAT_ID F8E8M0FNU
#include "base/dtype_small.inl"

#define FLOAT_ID F16
#define FLOAT_T uint16_t
#define FLOAT_DECODE hlo_f16_to_f32
#define FLOAT_ENCODE hlo_f32_to_f16
#include "base/dtype_float.inl"
#define FLOAT_ID BF16
#define FLOAT_T uint16_t
#define FLOAT_DECODE hlo_bf16_to_f32
#define FLOAT_ENCODE hlo_f32_to_bf16
#include "base/dtype_float.inl"

static void copy_4(const void* in, void* out, size_t count) {
  memcpy(out, in, count * 4);
}
static void copy_8(const void* in, void* out, size_t count) {
  memcpy(out, in, count * 8);
}

static void widen(const void* in, void* out, size_t count) {
  const float* restrict from = in;
  double* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (double)from[i];
}

static void narrow(const void* in, void* out, size_t count) {
  const double* restrict from = in;
  float* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (float)from[i];
}

static void pred_to_i64(const void* in, void* out, size_t count) {
  const uint8_t* restrict from = in;
  int64_t* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

static void pred_to_f32(const void* in, void* out, size_t count) {
  const uint8_t* restrict from = in;
  float* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}

static void pred_to_f64(const void* in, void* out, size_t count) {
  const uint8_t* restrict from = in;
  double* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0 ? 1.0 : 0.0;
}

static void i64_to_pred(const void* in, void* out, size_t count) {
  const int64_t* restrict from = in;
  uint8_t* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

static void f32_to_pred(const void* in, void* out, size_t count) {
  const float* restrict from = in;
  uint8_t* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

static void f64_to_pred(const void* in, void* out, size_t count) {
  const double* restrict from = in;
  uint8_t* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

static const codec_t codec_PRED = {.load_i64 = pred_to_i64,
                                   .load_f32 = pred_to_f32,
                                   .load_f64 = pred_to_f64,
                                   .load_f64_sticky = pred_to_f64,
                                   .store_i64 = i64_to_pred,
                                   .store_f32 = f32_to_pred,
                                   .store_f64 = f64_to_pred};
static const codec_t codec_F32 = {
    .load_f32 = copy_4, .load_f64 = widen, .store_f32 = copy_4, .store_f64 = narrow};
static const codec_t codec_F64 = {
    .load_f32 = narrow, .load_f64 = copy_8, .store_f32 = widen, .store_f64 = copy_8};

// Types without values; complex types are handled as pairs of their parts.
#define codec_INVALID codec_none
#define codec_TOKEN codec_none
#define codec_C64 codec_none
#define codec_C128 codec_none
static const codec_t codec_none;

static const codec_t* const kCodecs[HLO_DTYPE_COUNT] = {
#define HLO_DTYPE(id, ...) &codec_##id,
#include "base/dtype.def"
#undef HLO_DTYPE
};

// ---- queries -----------------------------------------------------------------------------------

size_t hlo_dtype_size_bytes(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  return info->klass == HLO_DTYPE_CLASS_NONE ? 0 : (info->bits + 7u) / 8u;
}

static bool name_is(const char* want, const char* name, size_t length) {
  return strlen(want) == length && memcmp(want, name, length) == 0;
}

hlo_dtype_t hlo_dtype_from_hlo_name(const char* name, size_t length) {
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    if (name_is(hlo_dtype_table[i].hlo_name, name, length)) return (hlo_dtype_t)i;
  }
  return HLO_DTYPE_INVALID;
}

hlo_dtype_t hlo_dtype_from_mlir_name(const char* name, size_t length) {
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    if (hlo_dtype_table[i].klass == HLO_DTYPE_CLASS_COMPLEX) continue;
    if (name_is(hlo_dtype_table[i].mlir_name, name, length)) return (hlo_dtype_t)i;
  }
  return HLO_DTYPE_INVALID;
}

hlo_dtype_t hlo_dtype_from_pjrt(int32_t pjrt_type) {
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    if (hlo_dtype_table[i].pjrt_type == pjrt_type) return (hlo_dtype_t)i;
  }
  return HLO_DTYPE_INVALID;
}

hlo_dtype_t hlo_dtype_from_primitive(int32_t primitive_type) {
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    if (hlo_dtype_table[i].primitive_type == primitive_type) return (hlo_dtype_t)i;
  }
  return HLO_DTYPE_INVALID;
}

hlo_dtype_t hlo_dtype_complex_of(hlo_dtype_t part) {
  if (part == HLO_DTYPE_F32) return HLO_DTYPE_C64;
  if (part == HLO_DTYPE_F64) return HLO_DTYPE_C128;
  return HLO_DTYPE_INVALID;
}

// The largest and smallest powers of two that a float format represents, and its special values.
typedef struct float_range {
  int high_exponent, low_exponent;  // low: of the smallest subnormal
  bool infinity, nan, negative, zero;
} float_range_t;

static float_range_t range_of(const hlo_dtype_info_t* info) {
  int top = (1 << info->exponent_bits) - 1;
  hlo_float_specials_t s = info->specials;
  bool top_is_special = s == HLO_FLOAT_IEEE || s == HLO_FLOAT_E8M0;
  return (float_range_t){
      .high_exponent = top - top_is_special - info->bias,
      .low_exponent = (s == HLO_FLOAT_E8M0 ? 0 : 1) - info->bias - info->mantissa_bits,
      .infinity = s == HLO_FLOAT_IEEE,
      .nan = s != HLO_FLOAT_FINITE,
      .negative = s == HLO_FLOAT_IEEE || s == HLO_FLOAT_FN || s == HLO_FLOAT_FINITE,  // with -0
      .zero = s != HLO_FLOAT_E8M0,
  };
}

static bool float_holds_float(const hlo_dtype_info_t* from, const hlo_dtype_info_t* to) {
  float_range_t a = range_of(from), b = range_of(to);
  if ((a.infinity && !b.infinity) || (a.nan && !b.nan) || (a.negative && !b.negative) ||
      (a.zero && !b.zero) || a.low_exponent < b.low_exponent ||
      from->mantissa_bits > to->mantissa_bits) {
    return false;
  }
  if (a.high_exponent != b.high_exponent) return a.high_exponent < b.high_exponent;
  // Same top binade: FN and FNUZ formats use different parts of it.
  return from->specials == to->specials || to->mantissa_bits > from->mantissa_bits ||
         from->specials == HLO_FLOAT_FN || from->specials == HLO_FLOAT_IEEE;
}

bool hlo_dtype_convert_is_lossless(hlo_dtype_t from, hlo_dtype_t to) {
  const hlo_dtype_info_t *a = hlo_dtype_info(from), *b = hlo_dtype_info(to);
  if (a->klass == HLO_DTYPE_CLASS_NONE || b->klass == HLO_DTYPE_CLASS_NONE) return false;
  if (from == to) return true;
  if (from == HLO_DTYPE_PRED) return b->specials != HLO_FLOAT_E8M0;  // E8M0 lacks zero
  if (to == HLO_DTYPE_PRED) return false;
  if (b->klass == HLO_DTYPE_CLASS_COMPLEX) return hlo_dtype_convert_is_lossless(a->part, b->part);
  if (a->klass == HLO_DTYPE_CLASS_COMPLEX) return false;
  bool from_float = a->klass == HLO_DTYPE_CLASS_FLOAT, to_float = b->klass == HLO_DTYPE_CLASS_FLOAT;
  if (from_float) return to_float && float_holds_float(a, b);
  bool is_signed = a->klass == HLO_DTYPE_CLASS_SIGNED;
  int value_bits = a->bits - is_signed;
  if (to_float) {
    float_range_t range = range_of(b);
    return range.zero && value_bits <= b->mantissa_bits + 1 && a->bits - 1 <= range.high_exponent;
  }
  bool to_signed = b->klass == HLO_DTYPE_CLASS_SIGNED;
  return (to_signed || !is_signed) && value_bits <= b->bits - to_signed;
}

// ---- single elements ---------------------------------------------------------------------------

static const codec_t* part_codec(hlo_dtype_t dtype) {
  return kCodecs[hlo_dtype_info(dtype)->part];
}

double hlo_dtype_load_double(hlo_dtype_t dtype, const void* element) {
  double value = 0;
  // The interpreter's most frequent types come first.
  if (dtype == HLO_DTYPE_F32) {
    float narrow_value;
    memcpy(&narrow_value, element, sizeof narrow_value);
    return (double)narrow_value;
  }
  if (dtype == HLO_DTYPE_F64) {
    memcpy(&value, element, sizeof value);
    return value;
  }
  const codec_t* codec = part_codec(dtype);
  if (codec->load_f64) codec->load_f64(element, &value, 1);
  return value;
}

void hlo_dtype_store_double(hlo_dtype_t dtype, void* element, double value) {
  if (dtype == HLO_DTYPE_F32) {
    float narrow_value = (float)value;
    memcpy(element, &narrow_value, sizeof narrow_value);
    return;
  }
  const codec_t* codec = part_codec(dtype);
  if (codec->store_f64) codec->store_f64(&value, element, 1);
}

int64_t hlo_dtype_load_int64(hlo_dtype_t dtype, const void* element) {
  int64_t value = 0;
  const codec_t* codec = part_codec(dtype);
  if (codec->load_i64) codec->load_i64(element, &value, 1);
  return value;
}

void hlo_dtype_store_int64(hlo_dtype_t dtype, void* element, int64_t value) {
  const codec_t* codec = part_codec(dtype);
  if (codec->store_i64) codec->store_i64(&value, element, 1);
}

// ---- arrays ------------------------------------------------------------------------------------

enum { BLOCK_COUNT = 512 };  // carrier block: 4 KiB, fits the first-level cache

typedef struct route {
  loop_t load, store;
  hlo_dtype_t carrier;
} route_t;

// Returns the carrier that loses nothing between two real types.
static route_t route_between(hlo_dtype_t from, hlo_dtype_t to) {
  const codec_t *a = kCodecs[from], *b = kCodecs[to];
  bool from_float = hlo_dtype_is_float(from), to_float = hlo_dtype_is_float(to);
  if (!from_float && !to_float) return (route_t){a->load_i64, b->store_i64, HLO_DTYPE_S64};
  if (from == HLO_DTYPE_F64 || to == HLO_DTYPE_F64) {
    return (route_t){a->load_f64, b->store_f64, HLO_DTYPE_F64};
  }
  if (from_float || to == HLO_DTYPE_F32 || hlo_dtype_info(from)->bits <= 16) {
    return (route_t){a->load_f32, b->store_f32, HLO_DTYPE_F32};
  }
  return (route_t){a->load_f64_sticky, b->store_f64, HLO_DTYPE_F64};
}

static void convert_real(hlo_dtype_t from, const uint8_t* in, hlo_dtype_t to, uint8_t* out,
                         size_t count) {
  size_t in_bytes = hlo_dtype_size_bytes(from), out_bytes = hlo_dtype_size_bytes(to);
  if (from == to) {
    memcpy(out, in, count * in_bytes);
    return;
  }
  route_t route = route_between(from, to);
  if (from == route.carrier) {
    route.store(in, out, count);
    return;
  }
  if (to == route.carrier) {
    route.load(in, out, count);
    return;
  }
  _Alignas(64) uint8_t block[BLOCK_COUNT * 8];
  for (size_t done = 0; done < count; done += BLOCK_COUNT) {
    size_t n = count - done < BLOCK_COUNT ? count - done : BLOCK_COUNT;
    route.load(in + done * in_bytes, block, n);
    route.store(block, out + done * out_bytes, n);
  }
}

// Complex to another type: the real part.
static void convert_from_complex(hlo_dtype_t part, const uint8_t* in, hlo_dtype_t to, uint8_t* out,
                                 size_t count) {
  _Alignas(64) uint8_t block[BLOCK_COUNT * 8];
  size_t part_bytes = hlo_dtype_size_bytes(part), out_bytes = hlo_dtype_size_bytes(to);
  for (size_t done = 0; done < count; done += BLOCK_COUNT) {
    size_t n = count - done < BLOCK_COUNT ? count - done : BLOCK_COUNT;
    for (size_t i = 0; i < n; ++i) {
      memcpy(block + i * part_bytes, in + 2 * (done + i) * part_bytes, part_bytes);
    }
    convert_real(part, block, to, out + done * out_bytes, n);
  }
}

static void convert_to_complex(hlo_dtype_t from, const uint8_t* in, hlo_dtype_t part, uint8_t* out,
                               size_t count) {
  _Alignas(64) uint8_t block[BLOCK_COUNT * 8];
  size_t in_bytes = hlo_dtype_size_bytes(from), part_bytes = hlo_dtype_size_bytes(part);
  for (size_t done = 0; done < count; done += BLOCK_COUNT) {
    size_t n = count - done < BLOCK_COUNT ? count - done : BLOCK_COUNT;
    convert_real(from, in + done * in_bytes, part, block, n);
    for (size_t i = 0; i < n; ++i) {
      uint8_t* element = out + 2 * (done + i) * part_bytes;
      memcpy(element, block + i * part_bytes, part_bytes);
      memset(element + part_bytes, 0, part_bytes);
    }
  }
}

void hlo_dtype_convert(hlo_dtype_t from, const void* in, hlo_dtype_t to, void* out, size_t count) {
  const hlo_dtype_info_t *a = hlo_dtype_info(from), *b = hlo_dtype_info(to);
  if (count == 0 || a->klass == HLO_DTYPE_CLASS_NONE || b->klass == HLO_DTYPE_CLASS_NONE) return;
  bool from_complex = a->klass == HLO_DTYPE_CLASS_COMPLEX;
  bool to_complex = b->klass == HLO_DTYPE_CLASS_COMPLEX;
  if (from_complex && to_complex) {
    convert_real(a->part, in, b->part, out, 2 * count);
  } else if (from_complex) {
    convert_from_complex(a->part, in, to, out, count);
  } else if (to_complex) {
    convert_to_complex(from, in, b->part, out, count);
  } else {
    convert_real(from, in, to, out, count);
  }
}

// ---- packing -----------------------------------------------------------------------------------

static unsigned packed_bits(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  if (info->bits == 2 || info->bits == 4) return info->bits;
  return 8u * (unsigned)hlo_dtype_size_bytes(dtype);
}

size_t hlo_dtype_packed_size_bytes(hlo_dtype_t dtype, size_t count) {
  unsigned bits = packed_bits(dtype);
  if (bits >= 8) return count * (bits / 8u);
  unsigned per_byte = 8u / bits;
  return count / per_byte + (count % per_byte != 0);
}

// Both directions with a constant width, so that the inner loop unrolls.
static inline __attribute__((always_inline)) void pack_bits(const uint8_t* restrict in,
                                                            uint8_t* restrict out, size_t count,
                                                            unsigned bits) {
  const unsigned per_byte = 8u / bits, mask = (1u << bits) - 1u;
  for (; count >= per_byte; count -= per_byte, in += per_byte) {
    unsigned byte = 0;
    for (unsigned k = 0; k < per_byte; ++k) byte |= (in[k] & mask) << (k * bits);
    *out++ = (uint8_t)byte;
  }
  if (count == 0) return;
  unsigned byte = 0;
  for (unsigned k = 0; k < count; ++k) byte |= (in[k] & mask) << (k * bits);
  *out = (uint8_t)byte;
}

// Shifts the value to the top of a byte and back, with its sign or with zeros.
static inline uint8_t unpack_one(unsigned byte, unsigned k, unsigned bits, bool is_signed) {
  uint8_t high = (uint8_t)(byte >> (k * bits) << (8u - bits));
  return is_signed ? (uint8_t)((int8_t)high >> (8u - bits)) : (uint8_t)(high >> (8u - bits));
}

static inline __attribute__((always_inline)) void unpack_bits(const uint8_t* restrict in,
                                                              uint8_t* restrict out, size_t count,
                                                              unsigned bits, bool is_signed) {
  const unsigned per_byte = 8u / bits;
  for (; count >= per_byte; count -= per_byte, out += per_byte, ++in) {
    for (unsigned k = 0; k < per_byte; ++k) out[k] = unpack_one(*in, k, bits, is_signed);
  }
  for (unsigned k = 0; k < count; ++k) out[k] = unpack_one(*in, k, bits, is_signed);
}

void hlo_dtype_pack(hlo_dtype_t dtype, const void* in, void* out, size_t count) {
  switch (packed_bits(dtype)) {
    case 2: pack_bits(in, out, count, 2); return;
    case 4: pack_bits(in, out, count, 4); return;
    default: memcpy(out, in, count * hlo_dtype_size_bytes(dtype));
  }
}

void hlo_dtype_normalise(hlo_dtype_t dtype, void* elements, size_t count) {
  unsigned bits = hlo_dtype_info(dtype)->bits;
  bool is_signed = hlo_dtype_is_signed(dtype);
  uint8_t* bytes = elements;
  if (bits == 0 || bits >= 8) return;
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = dtype == HLO_DTYPE_PRED ? bytes[i] != 0 : unpack_one(bytes[i], 0, bits, is_signed);
  }
}

void hlo_dtype_unpack(hlo_dtype_t dtype, const void* in, void* out, size_t count) {
  bool is_signed = hlo_dtype_is_signed(dtype);
  switch (packed_bits(dtype)) {
    case 2: unpack_bits(in, out, count, 2, is_signed); return;
    case 4: unpack_bits(in, out, count, 4, is_signed); return;
    default: memcpy(out, in, count * hlo_dtype_size_bytes(dtype));
  }
}

// source: SplitMix64 (Steele, Lea, Flood 2014)
static uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void hlo_dtype_fill_random(hlo_dtype_t dtype, void* elements, size_t count, uint64_t* state) {
  const hlo_dtype_t part = hlo_dtype_info(dtype)->part;  // a complex element is two
  const unsigned bits = hlo_dtype_info(part)->bits;
  const size_t step = hlo_dtype_size_bytes(part), size = count * hlo_dtype_size_bytes(dtype);
  const uint64_t range = part == HLO_DTYPE_PRED || bits == 2 ? 2 : bits == 4 ? 8 : 10;
  uint8_t* bytes = elements;
  for (size_t at = 0; at < size; at += step) {
    uint64_t word = next_random(state);
    if (hlo_dtype_is_float(part)) {
      const double value = (double)(int64_t)word / 0x1p63;
      const bool is_unsigned = hlo_dtype_info(part)->specials == HLO_FLOAT_E8M0;
      hlo_dtype_store_double(part, bytes + at, is_unsigned && value < 0 ? -value : value);
    } else {
      hlo_dtype_store_int64(part, bytes + at, (int64_t)(word % range));
    }
  }
}
