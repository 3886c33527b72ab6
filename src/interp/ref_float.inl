// SPDX-License-Identifier: Apache-2.0
// The kernels of f32 and f64. Parameters: KERNEL_TYPE, T, BITS_T and SIGNED_BITS_T (integers of the
// same width). Functions beyond the basic operations are computed in double: this gives just over
// half a unit in the last place for f32, and libm's accuracy for f64. READ and GIVE flush operands
// and results as arithmetic does (float_bits.h): C's functions look at bits and do not know whether
// subnormal numbers are flushed.

static inline BITS_T CALC(bits)(T x) {
  BITS_T bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline T CALC(of_bits)(BITS_T bits) {
  T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#define READ(x) CALC(as_operand)(x)
#define GIVE(y) CALC(as_operand)((T)(y))
static inline T CALC(as_operand)(T x) {
  return x * (sizeof(T) == sizeof(float) ? (T)hlo_f32_one : (T)hlo_f64_one);
}
// Converts x to its distance from zero in units in the last place; the order is that of the numbers
// (NaN excluded).
static inline SIGNED_BITS_T CALC(place)(T x) {
  const BITS_T sign = CALC(bits)(-(T)0), magnitude = CALC(bits)(x) & ~sign;
  return CALC(bits)(x) & sign ? -(SIGNED_BITS_T)magnitude : (SIGNED_BITS_T)magnitude;
}

static inline T CALC(abs)(T x) { return CALC(of_bits)(CALC(bits)(x) & ~CALC(bits)(-(T)0)); }
static inline T CALC(negate)(T x) { return -x; }
static inline T CALC(real)(T x) { return x; }
static inline T CALC(imag)(T x) { return (void)x, (T)0; }
static inline T CALC(sign)(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : READ(x); }
static inline T CALC(ceil)(T x) { return GIVE(ceil((double)READ(x))); }
static inline T CALC(floor)(T x) { return GIVE(floor((double)READ(x))); }
static inline T CALC(round_nearest_afz)(T x) { return GIVE(round((double)READ(x))); }
static inline T CALC(round_nearest_even)(T x) { return GIVE(rint((double)READ(x))); }
static inline T CALC(sqrt)(T x) { return (T)sqrt((double)x); }
static inline T CALC(cbrt)(T x) { return GIVE(hlo_math_cbrt((double)READ(x))); }
static inline T CALC(tan)(T x) { return GIVE(tan((double)READ(x))); }
static inline T CALC(chlo_acos)(T x) { return GIVE(acos((double)READ(x))); }
static inline T CALC(chlo_acosh)(T x) { return GIVE(acosh((double)READ(x))); }
static inline T CALC(chlo_asin)(T x) { return GIVE(asin((double)READ(x))); }
static inline T CALC(chlo_asinh)(T x) { return GIVE(asinh((double)READ(x))); }
static inline T CALC(chlo_atan)(T x) { return GIVE(atan((double)READ(x))); }
static inline T CALC(chlo_atanh)(T x) { return GIVE(atanh((double)READ(x))); }
static inline T CALC(chlo_bessel_i1e)(T x) { return GIVE(hlo_math_bessel_i1e((double)READ(x))); }
// CHLO's decomposition, exp(x + log(1/2)) + exp(log(1/2) - x), rounds its sums: up to 24 ulp off in
// f32, and upstream's stored results are 4 (cosh) and 7 (sinh) ulp off, so it is not used.
static inline T CALC(chlo_cosh)(T x) { return GIVE(cosh((double)READ(x))); }
static inline T CALC(chlo_sinh)(T x) { return GIVE(sinh((double)READ(x))); }
static inline T CALC(chlo_digamma)(T x) { return GIVE(hlo_math_digamma((double)READ(x))); }
static inline T CALC(chlo_erfc)(T x) { return GIVE(erfc((double)READ(x))); }
static inline T CALC(chlo_erf_inv)(T x) { return GIVE(hlo_math_erf_inv((double)READ(x))); }
static inline T CALC(chlo_lgamma)(T x) { return GIVE(hlo_math_lgamma((double)READ(x))); }
static inline T CALC(chlo_square)(T x) { return x * x; }

static inline uint8_t CALC(is_finite)(T x) { return x - x == 0; }
static inline uint8_t CALC(chlo_is_inf)(T x) { return x == (T)INFINITY || x == -(T)INFINITY; }
static inline uint8_t CALC(chlo_is_pos_inf)(T x) { return x == (T)INFINITY; }
static inline uint8_t CALC(chlo_is_neg_inf)(T x) { return x == -(T)INFINITY; }

static inline T CALC(add)(T x, T y) { return x + y; }
static inline T CALC(subtract)(T x, T y) { return x - y; }
static inline T CALC(multiply)(T x, T y) { return x * y; }
static inline T CALC(divide)(T x, T y) { return x / y; }
// Sums decide where comparisons cannot: NaN wins, and +0 is above -0.
static inline T CALC(maximum)(T x, T y) {
  T sum = x + y;
  T same = x == y && x != 0 ? x : sum;
  return READ(x > y ? x : (y > x ? y : same));
}
static inline T CALC(minimum)(T x, T y) {
  T sum = -(-x - y);
  T same = x == y && x != 0 ? x : sum;
  return READ(x < y ? x : (y < x ? y : same));
}
// A NaN among the operands is the result.
static inline T CALC(clamp)(T low, T x, T high) {
  T above = ((x >= low) | (x != x)) ? x : low;
  return READ(((above <= high) | (above != above)) ? above : high);
}
static inline T CALC(remainder)(T x, T y) { return GIVE(fmod((double)READ(x), (double)READ(y))); }
static inline T CALC(power)(T x, T y) { return GIVE(pow((double)READ(x), (double)READ(y))); }
static inline T CALC(atan2)(T x, T y) { return GIVE(atan2((double)READ(x), (double)READ(y))); }
static inline T CALC(chlo_polygamma)(T n, T x) {
  return GIVE(hlo_math_polygamma((double)READ(n), (double)READ(x)));
}
static inline T CALC(chlo_zeta)(T x, T q) {
  return GIVE(hlo_math_zeta((double)READ(x), (double)READ(q)));
}

static inline T CALC(chlo_next_after)(T x, T y) {
  if (x != x || y != y) return x + y;
  const SIGNED_BITS_T from = CALC(place)(x), toward = CALC(place)(y);
  if (from == toward) return y;
  const BITS_T sign = CALC(bits)(-(T)0);
  if (from == 0) return CALC(of_bits)((CALC(bits)(y) & sign) | 1u);
  bool grows = (from < toward) == (from > 0);  // in magnitude
  return CALC(of_bits)(grows ? CALC(bits)(x) + 1 : CALC(bits)(x) - 1);
}

static inline T CALC(rsqrt)(T x) { return GIVE(1.0 / sqrt((double)x)); }
static inline T CALC(cosine)(T x) { return GIVE(cos((double)READ(x))); }
static inline T CALC(sine)(T x) { return GIVE(sin((double)READ(x))); }
static inline T CALC(tanh)(T x) { return GIVE(tanh((double)READ(x))); }
static inline T CALC(exponential)(T x) { return GIVE(exp((double)READ(x))); }
static inline T CALC(exponential_minus_one)(T x) { return GIVE(expm1((double)READ(x))); }
static inline T CALC(log)(T x) { return GIVE(log((double)READ(x))); }
static inline T CALC(log_plus_one)(T x) { return GIVE(log1p((double)READ(x))); }
static inline T CALC(logistic)(T x) { return GIVE(hlo_math_logistic((double)READ(x))); }
static inline T CALC(chlo_erf)(T x) { return GIVE(erf((double)READ(x))); }
#define KERNEL rsqrt
#include "interp/ref_unary.inl"
#define KERNEL cosine
#include "interp/ref_unary.inl"
#define KERNEL sine
#include "interp/ref_unary.inl"
#define KERNEL tanh
#include "interp/ref_unary.inl"
#define KERNEL exponential
#include "interp/ref_unary.inl"
#define KERNEL exponential_minus_one
#include "interp/ref_unary.inl"
#define KERNEL log
#include "interp/ref_unary.inl"
#define KERNEL log_plus_one
#include "interp/ref_unary.inl"
#define KERNEL logistic
#include "interp/ref_unary.inl"
#define KERNEL chlo_erf
#include "interp/ref_unary.inl"

#define KERNEL abs
#include "interp/ref_unary.inl"
#define KERNEL negate
#include "interp/ref_unary.inl"
#define KERNEL real
#include "interp/ref_unary.inl"
#define KERNEL imag
#include "interp/ref_unary.inl"
#define KERNEL sign
#include "interp/ref_unary.inl"
#define KERNEL ceil
#include "interp/ref_unary.inl"
#define KERNEL floor
#include "interp/ref_unary.inl"
#define KERNEL round_nearest_afz
#include "interp/ref_unary.inl"
#define KERNEL round_nearest_even
#include "interp/ref_unary.inl"
#define KERNEL sqrt
#include "interp/ref_unary.inl"
#define KERNEL cbrt
#include "interp/ref_unary.inl"
#define KERNEL tan
#include "interp/ref_unary.inl"
#define KERNEL chlo_acos
#include "interp/ref_unary.inl"
#define KERNEL chlo_acosh
#include "interp/ref_unary.inl"
#define KERNEL chlo_asin
#include "interp/ref_unary.inl"
#define KERNEL chlo_asinh
#include "interp/ref_unary.inl"
#define KERNEL chlo_atan
#include "interp/ref_unary.inl"
#define KERNEL chlo_atanh
#include "interp/ref_unary.inl"
#define KERNEL chlo_bessel_i1e
#include "interp/ref_unary.inl"
#define KERNEL chlo_cosh
#include "interp/ref_unary.inl"
#define KERNEL chlo_sinh
#include "interp/ref_unary.inl"
#define KERNEL chlo_digamma
#include "interp/ref_unary.inl"
#define KERNEL chlo_erfc
#include "interp/ref_unary.inl"
#define KERNEL chlo_erf_inv
#include "interp/ref_unary.inl"
#define KERNEL chlo_lgamma
#include "interp/ref_unary.inl"
#define KERNEL chlo_square
#include "interp/ref_unary.inl"
#define KERNEL is_finite
#define OUT_T uint8_t
#include "interp/ref_unary.inl"
#define KERNEL chlo_is_inf
#define OUT_T uint8_t
#include "interp/ref_unary.inl"
#define KERNEL chlo_is_pos_inf
#define OUT_T uint8_t
#include "interp/ref_unary.inl"
#define KERNEL chlo_is_neg_inf
#define OUT_T uint8_t
#include "interp/ref_unary.inl"
#define KERNEL add
#include "interp/ref_binary.inl"
#define KERNEL subtract
#include "interp/ref_binary.inl"
#define KERNEL multiply
#include "interp/ref_binary.inl"
#define KERNEL divide
#include "interp/ref_binary.inl"
#define KERNEL maximum
#include "interp/ref_binary.inl"
#define KERNEL minimum
#include "interp/ref_binary.inl"
#define KERNEL remainder
#include "interp/ref_binary.inl"
#define KERNEL power
#include "interp/ref_binary.inl"
#define KERNEL atan2
#include "interp/ref_binary.inl"
#define KERNEL chlo_polygamma
#include "interp/ref_binary.inl"
#define KERNEL chlo_zeta
#include "interp/ref_binary.inl"
#define KERNEL chlo_next_after
#include "interp/ref_binary.inl"
#include "interp/ref_clamp.inl"
#include "interp/ref_compare.inl"

static void KERNEL_LOOP(complex)(const void* const* in, void* out, size_t count) {
  const T* real = in[0];
  const T* imag = in[1];
  T* r = out;
  for (size_t i = 0; i < count; ++i) {
    r[2 * i] = real[i];
    r[2 * i + 1] = imag[i];
  }
}
static void KERNEL_SCALAR(complex)(const void* const* args, void* result) {
  T parts[2] = {*(const T*)args[0], *(const T*)args[1]};
  memcpy(result, parts, sizeof parts);
}

// IEEE 754 totalOrder: -NaN < -Inf < ... < -0 < +0 < ... < +Inf < +NaN, as signed integers.
static inline SIGNED_BITS_T CALC(key)(SIGNED_BITS_T bits) {
  const SIGNED_BITS_T below_sign = (SIGNED_BITS_T)(((BITS_T)1 << (8 * sizeof(T) - 1)) - 1);
  return bits < 0 ? bits ^ below_sign : bits;
}
#undef T
#define T SIGNED_BITS_T
static inline uint8_t CALC(total_eq)(T x, T y) { return x == y; }
static inline uint8_t CALC(total_ne)(T x, T y) { return x != y; }
static inline uint8_t CALC(total_ge)(T x, T y) { return CALC(key)(x) >= CALC(key)(y); }
static inline uint8_t CALC(total_gt)(T x, T y) { return CALC(key)(x) > CALC(key)(y); }
static inline uint8_t CALC(total_le)(T x, T y) { return CALC(key)(x) <= CALC(key)(y); }
static inline uint8_t CALC(total_lt)(T x, T y) { return CALC(key)(x) < CALC(key)(y); }
#define KERNEL total_eq
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL total_ne
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL total_ge
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL total_gt
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL total_le
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL total_lt
#define OUT_T uint8_t
#include "interp/ref_binary.inl"

const hlo_scalar_kernels_t KERNEL_TABLE_NAME(KERNEL_TYPE)[HLO_KERNEL_COUNT] = {
    KERNEL_ROW(abs),
    KERNEL_ROW(negate),
    KERNEL_ROW(real),
    KERNEL_ROW(imag),
    KERNEL_ROW(sign),
    KERNEL_ROW(ceil),
    KERNEL_ROW(floor),
    KERNEL_ROW(round_nearest_afz),
    KERNEL_ROW(round_nearest_even),
    KERNEL_ROW(sqrt),
    KERNEL_ROW(rsqrt),
    KERNEL_ROW(cbrt),
    KERNEL_ROW(cosine),
    KERNEL_ROW(sine),
    KERNEL_ROW(tan),
    [HLO_KERNEL_chlo_tan] = {KERNEL_LOOP(tan), KERNEL_SCALAR(tan)},
    KERNEL_ROW(tanh),
    KERNEL_ROW(exponential),
    KERNEL_ROW(exponential_minus_one),
    KERNEL_ROW(log),
    KERNEL_ROW(log_plus_one),
    KERNEL_ROW(logistic),
    KERNEL_ROW(chlo_acos),
    KERNEL_ROW(chlo_acosh),
    KERNEL_ROW(chlo_asin),
    KERNEL_ROW(chlo_asinh),
    KERNEL_ROW(chlo_atan),
    KERNEL_ROW(chlo_atanh),
    KERNEL_ROW(chlo_bessel_i1e),
    [HLO_KERNEL_chlo_conj] = {KERNEL_LOOP(real), KERNEL_SCALAR(real)},
    KERNEL_ROW(chlo_cosh),
    KERNEL_ROW(chlo_sinh),
    KERNEL_ROW(chlo_digamma),
    KERNEL_ROW(chlo_erf),
    KERNEL_ROW(chlo_erfc),
    KERNEL_ROW(chlo_erf_inv),
    KERNEL_ROW(chlo_lgamma),
    KERNEL_ROW(chlo_square),
    KERNEL_ROW(is_finite),
    KERNEL_ROW(chlo_is_inf),
    KERNEL_ROW(chlo_is_pos_inf),
    KERNEL_ROW(chlo_is_neg_inf),
    KERNEL_ROW(add),
    KERNEL_ROW(subtract),
    KERNEL_ROW(multiply),
    KERNEL_ROW(divide),
    KERNEL_ROW(maximum),
    KERNEL_ROW(minimum),
    KERNEL_ROW(remainder),
    KERNEL_ROW(power),
    KERNEL_ROW(atan2),
    KERNEL_ROW(complex),
    KERNEL_ROW(chlo_polygamma),
    KERNEL_ROW(chlo_zeta),
    KERNEL_ROW(chlo_next_after),
    CLAMP_ROWS,
    COMPARE_ROWS,
    KERNEL_ROW(total_eq),
    KERNEL_ROW(total_ne),
    KERNEL_ROW(total_ge),
    KERNEL_ROW(total_gt),
    KERNEL_ROW(total_le),
    KERNEL_ROW(total_lt),
};
#undef READ
#undef GIVE
#undef CLAMP_ROWS
#undef COMPARE_ROWS
#undef KERNEL_TYPE
#undef T
#undef BITS_T
#undef SIGNED_BITS_T
#undef HAS_MATH_KERNELS
