// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 arrays (see isa_variant.h). Every element is computed in double
// without a branch (selects only) and without contraction, so that the compiler vectorises the
// loops and every instruction set gives the same bits. The error before the one rounding to f32 is
// below 2^-40 of the result.
#include <stdint.h>
#include <string.h>

#include "base/float_bits.h"
#include "lib/isa_variant.h"
#include "lib/math_impl.h"

#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define INDEPENDENT_LOOP
#endif

static const double nan_value = __builtin_nan("");
static const double infinity = __builtin_inf();
// x + to_integer - to_integer is x rounded to an integer (|x| < 2^51), whose low bits are those of
// the sum.
static const double to_integer = 0x1.8p52;

// Horner's rule: a sum over powers of x of the terms, highest power first.
#define TERM(c) sum = sum * x + (c);
// 1/2 + x/3! + ... + x^9/11!
#define EXP_TERMS(term)                                                                          \
  term(1.0 / 39916800) term(1.0 / 3628800) term(1.0 / 362880) term(1.0 / 40320) term(1.0 / 5040) \
      term(1.0 / 720) term(1.0 / 120) term(1.0 / 24) term(1.0 / 6) term(0.5)
// 2/3 + 2x/5 + ... + 2x^7/17
#define LOG_TERMS(term)                                                                   \
  term(2.0 / 17) term(2.0 / 15) term(2.0 / 13) term(2.0 / 11) term(2.0 / 9) term(2.0 / 7) \
      term(2.0 / 5) term(2.0 / 3)
// -1/3! + x/5! - ... - x^6/15!
#define SINE_TERMS(term)                                                                     \
  term(-1.0 / 1307674368000) term(1.0 / 6227020800) term(-1.0 / 39916800) term(1.0 / 362880) \
      term(-1.0 / 5040) term(1.0 / 120) term(-1.0 / 6)
// -1/2! + x/4! - ... + x^7/16!
#define COSINE_TERMS(term)                                                                       \
  term(1.0 / 20922789888000) term(-1.0 / 87178291200) term(1.0 / 479001600) term(-1.0 / 3628800) \
      term(1.0 / 40320) term(-1.0 / 720) term(1.0 / 24) term(-0.5)
// erf(y) / y for y^2 = 8 + 8x: the Chebyshev series on [-1, 1], as powers of x.
// clang-format off
#define ERF_TERMS(term)                                                                            \
  term(0x1.42acb1eec27c8p-23) term(-0x1.05f49bdbb8563p-21) term(0x1.4f3009d2ff3d5p-21)             \
  term(-0x1.dec9e79008749p-20) term(0x1.e52e0d536fa7cp-18) term(-0x1.496a3f26c561ap-16)            \
  term(0x1.8def62c23d8a2p-15) term(-0x1.e8c569456b89bp-14) term(0x1.213e05a48b64dp-12)             \
  term(-0x1.41ca196b97130p-11) term(0x1.52cf981ff33a7p-10) term(-0x1.51e21988e9b19p-9)             \
  term(0x1.3e15f0be3f125p-8) term(-0x1.1a033433e4d7dp-7) term(0x1.d6350fbe7c7ddp-7)                \
  term(-0x1.7034e09819bcep-6) term(0x1.0ed52cf4b6337p-5) term(-0x1.76e866301ddf9p-5)               \
  term(0x1.ea97f13613cedp-5) term(-0x1.3215d8a90e0a3p-4) term(0x1.717efc78c13edp-4)                \
  term(-0x1.b92e95c20a09fp-4) term(0x1.0dabaf0612c6cp-3) term(-0x1.69a0ccda3d620p-3)               \
  term(0x1.6a040781a49a3p-2)
// clang-format on

// exp(x) = scale * (1 + rest) for |x| <= 700; rest is accurate relative to itself.
typedef struct {
  double scale, rest;
} exp_parts_t;

static inline exp_parts_t exp_parts(double x) {
  const double n_bits = x * 0x1.71547652b82fep+0 + to_integer;  // n = x / log 2
  const double n = n_bits - to_integer;
  x = (x - n * 0x1.62e42fefp-1) - n * 0x1.473de6af278edp-34;  // log 2 in two parts
  double sum = 0;
  EXP_TERMS(TERM)
  return (exp_parts_t){hlo_f64_from_bits((hlo_f64_to_bits(n_bits) + 1023) << 52), x + x * x * sum};
}

static inline double at_most(double x, double high) {
  return x > high ? high : x;
}
static inline double at_least(double x, double low) {
  return x < low ? low : x;
}

static inline double f_exponential(double x) {
  // The bounds are beyond the range of f32.
  exp_parts_t parts = exp_parts(at_least(at_most(x, 110), -110));
  return parts.scale + parts.scale * parts.rest;
}

static inline double f_exponential_minus_one(double x) {
  exp_parts_t parts = exp_parts(at_least(at_most(x, 90), -40));
  return __builtin_copysign(parts.scale * parts.rest + (parts.scale - 1), x);
}

static inline double f_logistic(double x) {
  return 1 / (1 + f_exponential(-x));
}

static inline double f_tanh(double x) {
  exp_parts_t parts = exp_parts(2 * at_most(__builtin_fabs(x), 10));
  const double e = parts.scale * parts.rest + (parts.scale - 1);
  return __builtin_copysign(e / (e + 2), x);
}

// log(y) of a positive normal number: y = 2^n * m with m in [sqrt(1/2), sqrt(2)).
static inline double log_of_normal(double y) {
  const uint64_t one = hlo_f64_to_bits(1), root_half = 0x3fe6a09e667f3bcd,
                 mantissa = (1ull << 52) - 1;
  const uint64_t shifted = hlo_f64_to_bits(y) + (one - root_half);
  const double n = hlo_f64_from_bits((shifted >> 52) | hlo_f64_to_bits(0x1p52)) - (0x1p52 + 1023);
  const double f = hlo_f64_from_bits((shifted & mantissa) + root_half) - 1;
  const double s = f / (2 + f);  // log(m) = 2 artanh(s)
  const double x = s * s;
  double sum = 0;
  LOG_TERMS(TERM)
  return n * 0x1.62e42fefa39efp-1 + (2 * s + s * x * sum);
}

// Returns `value` as the logarithm of `y` if y is positive and finite, else the special result.
static inline double log_edges(double y, double value) {
  value = y == infinity ? infinity : value;
  value = y == 0 ? -infinity : value;
  return y < 0 ? nan_value : value;
}

static inline double f_log(double x) {
  return log_edges(x, log_of_normal(x));
}

static inline double f_log_plus_one(double x) {
  const double y = 1 + x;
  const double lost = x - (y - 1);  // rounding error of y = 1 + x
  return log_edges(y, __builtin_copysign(log_of_normal(y) + lost / y, x));
}

// sin(x + quarters pi/2) for |x| <= 2^20
static inline double sine_of(double x, uint64_t quarters) {
  const double n_bits = x * 0x1.45f306dc9c883p-1 + to_integer;  // n = x / (pi/2)
  const double n = n_bits - to_integer;
  // pi/2 in three parts, of which two have exact products with n
  const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a4p-34) - n * 0x1.13198a2e03707p-65;
  quarters += hlo_f64_to_bits(n_bits);
  x = r * r;
  double sum = 0;
  SINE_TERMS(TERM)
  const double sine = r * (1 + x * sum);
  sum = 0;
  COSINE_TERMS(TERM)
  const double cosine = 1 + x * sum;
  // -1 where the quarter is odd
  const uint64_t odd = 0 - (quarters & 1);
  return hlo_f64_from_bits(((hlo_f64_to_bits(cosine) & odd) | (hlo_f64_to_bits(sine) & ~odd)) ^
                           ((quarters & 2) << 62));
}

static inline double f_sine(double x) {
  return sine_of(x, 0);
}

static inline double f_cosine(double x) {
  return sine_of(x, 1);
}

static inline double f_rsqrt(double x) {
  return 1 / __builtin_sqrt(x);
}

static inline double f_chlo_erf(double y) {
  const double size = at_most(__builtin_fabs(y), 4);  // erf of this rounds to 1
  const double x = size * size * 0.125 - 1;
  double sum = 0;
  ERF_TERMS(TERM)
  return __builtin_copysign(size * sum, y);
}

static inline int exceeds(const float* x, size_t count, float limit) {
  int any = 0;
  for (size_t i = 0; i < count; ++i) any |= __builtin_fabsf(x[i]) > limit;
  return any;
}

enum { BLOCK = 256 };

// One function: blocks whose elements are all within the limit run in vectors, other elements one
// by one.
#define HLO_MATH(id, plain, limit, ulps)                                    \
  static inline float one_##id(float value) {                               \
    const double x = value;                                                 \
    const double y = f_##id(x);                                             \
    return (float)(x != x ? x : y);                                         \
  }                                                                         \
  static void loop_##id(const float* x, float* out, size_t count) {         \
    for (size_t start = 0; start < count; start += BLOCK) {                 \
      const size_t end = count - start < BLOCK ? count : start + BLOCK;     \
      if (limit < INFINITY && exceeds(x + start, end - start, limit)) {     \
        for (size_t i = start; i < end; ++i) {                              \
          const int is_beyond = __builtin_fabsf(x[i]) > limit;              \
          out[i] = is_beyond ? (float)plain((double)x[i]) : one_##id(x[i]); \
        }                                                                   \
      } else {                                                              \
        INDEPENDENT_LOOP                                                    \
        for (size_t i = start; i < end; ++i) out[i] = one_##id(x[i]);       \
      }                                                                     \
    }                                                                       \
  }
#include "lib/math.def"

const hlo_math_f32_fn_t HLO_ISA_NAME(hlo_math_f32)[HLO_MATH_COUNT] = {
#define HLO_MATH(id, plain, limit, ulps) [HLO_MATH_##id] = loop_##id,
#include "lib/math.def"
};
