// SPDX-License-Identifier: Apache-2.0
// The kernels of one complex type. Parameters: KERNEL_TYPE, T (complex), PART (its parts), WIDE and
// WIDE_PART (complex and real types with more bits and range, in which functions are computed) and
// WF(name), the math.h or complex.h function of that width.

// Flushes a part as arithmetic does for operands and results (float_bits.h): its subnormals are
// normal numbers of the wider type.
static inline PART CALC(part)(PART x) {
  return x * (sizeof(PART) == sizeof(float) ? (PART)hlo_f32_one : (PART)hlo_f64_one);
}
static inline T CALC(as_operand)(T z) {
  return __builtin_complex(CALC(part)(__real__ z), CALC(part)(__imag__ z));
}
#define READ(z) CALC(as_operand)(z)
static inline T CALC(narrow)(WIDE z) {
  return READ(__builtin_complex((PART)__real__ z, (PART)__imag__ z));
}
static inline WIDE CALC(make)(WIDE_PART re, WIDE_PART im) { return __builtin_complex(re, im); }
static inline bool CALC(is_zero)(T z) { return __real__ z == 0 && __imag__ z == 0; }

static inline PART CALC(abs)(T z) {
  z = READ(z);
  return CALC(part)((PART)WF(hypot)((WIDE_PART)__real__ z, (WIDE_PART)__imag__ z));
}
static inline PART CALC(real)(T z) { return __real__ z; }
static inline PART CALC(imag)(T z) { return __imag__ z; }
static inline T CALC(negate)(T z) { return -z; }
static inline T CALC(chlo_conj)(T z) { return __builtin_complex(__real__ z, -__imag__ z); }
static inline T CALC(sign)(T z) {
  if (CALC(is_zero)(z)) return 0;
  z = READ(z);
  WIDE_PART size = WF(hypot)((WIDE_PART)__real__ z, (WIDE_PART)__imag__ z);
  if (__real__ z != __real__ z || __imag__ z != __imag__ z) size = (WIDE_PART)NAN;
  return CALC(narrow)(CALC(make)(__real__ z / size, __imag__ z / size));
}

static inline T CALC(add)(T x, T y) { return x + y; }
static inline T CALC(subtract)(T x, T y) { return x - y; }
// The plain formula, as in XLA: infinities are not recovered from NaN.
static inline T CALC(multiply)(T x, T y) {
  PART re = __real__ x * __real__ y - __imag__ x * __imag__ y;
  PART im = __real__ x * __imag__ y + __imag__ x * __real__ y;
  return __builtin_complex(re, im);
}
static inline T CALC(divide)(T x, T y) { return CALC(narrow)((WIDE)READ(x) / (WIDE)READ(y)); }
static inline bool CALC(is_above)(T x, T y) {  // lexicographic
  return __real__ x == __real__ y ? __imag__ x > __imag__ y : __real__ x > __real__ y;
}
static inline T CALC(maximum)(T x, T y) { return READ(CALC(is_above)(x, y) ? x : y); }
static inline T CALC(minimum)(T x, T y) { return READ(CALC(is_above)(y, x) ? x : y); }
static inline uint8_t CALC(compare_eq)(T x, T y) { return x == y; }
static inline uint8_t CALC(compare_ne)(T x, T y) { return x != y; }

// As in XLA, an imaginary part without a direction makes both parts NaN (C99: 0 and Inf if the real
// part is infinite).
static inline T CALC(exponential)(T z) {
  const PART y = __imag__ z;
  return y - y == 0 ? CALC(narrow)(WF(cexp)((WIDE)READ(z))) : __builtin_complex((PART)NAN, (PART)NAN);
}
// exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2 cancels fewer bits.
static inline T CALC(exponential_minus_one)(T z) {
  z = READ(z);
  const WIDE_PART x = __real__ z, y = __imag__ z, half = WF(sin)(y / 2);
  if (y - y != 0) return __builtin_complex((PART)NAN, (PART)NAN);
  WIDE_PART re = y == 0 ? WF(expm1)(x) : WF(expm1)(x) * WF(cos)(y) - 2 * half * half;
  return CALC(narrow)(CALC(make)(re, y == 0 ? y : WF(exp)(x) * WF(sin)(y)));
}
static inline T CALC(log)(T z) { return CALC(narrow)(WF(clog)((WIDE)READ(z))); }

// |1 + z|^2 - 1 = 2x + x^2 + y^2: the squares are sums of exact products of halves, added with
// compensation.
// source: Neumaier, summation with correction of either operand
static WIDE_PART CALC(square_minus_one)(PART x, PART y) {
  const PART splitter = SPLITTER;
  const PART x_high = splitter * x - (splitter * x - x), x_low = x - x_high;
  const PART y_high = splitter * y - (splitter * y - y), y_low = y - y_high;
  const WIDE_PART xh = x_high, xl = x_low, yh = y_high, yl = y_low;
  const WIDE_PART terms[] = {2 * (WIDE_PART)x, xh * xh, yh * yh, 2 * xh * xl,
                             2 * yh * yl,      xl * xl, yl * yl};
  WIDE_PART sum = 0, lost = 0;
  for (size_t i = 0; i < sizeof terms / sizeof terms[0]; ++i) {
    const WIDE_PART next = sum + terms[i];
    const bool sum_is_larger = WF(fabs)(sum) >= WF(fabs)(terms[i]);
    lost += sum_is_larger ? (sum - next) + terms[i] : (terms[i] - next) + sum;
    sum = next;
  }
  return sum + lost;
}
static inline T CALC(log_plus_one)(T z) {
  z = READ(z);
  const PART x = __real__ z, y = __imag__ z;
  const WIDE_PART one_plus_x = 1 + (WIDE_PART)x;
  const WIDE_PART size = WF(hypot)(one_plus_x, (WIDE_PART)y);
  const bool is_near_one = size > (WIDE_PART)0.5 && size < 2;
  const WIDE_PART re =
      is_near_one ? WF(log1p)(CALC(square_minus_one)(x, y)) / 2 : WF(log)(size);
  return CALC(narrow)(CALC(make)(re, WF(atan2)((WIDE_PART)y, one_plus_x)));
}

// 1 / (1 + e^-z), accurate near its poles: with E = e^-|x| and M = 1 - E, |1 + e^(-|x| + i y)|^2 =
// M^2 + 4 E cos(y/2)^2.
static inline T CALC(logistic)(T z) {
  z = READ(z);
  const WIDE_PART x = __real__ z, half = x - x == 0 || x != x ? (WIDE_PART)__imag__ z / 2 : 0;
  const WIDE_PART e = WF(exp)(-WF(fabs)(x)), m = -WF(expm1)(-WF(fabs)(x));
  const WIDE_PART c = WF(cos)(half), s = WF(sin)(half), size = m * m + 4 * e * c * c;
  const WIDE_PART re = x < 0 ? e * (2 * c * c - m) : m + 2 * e * c * c;
  return CALC(narrow)(CALC(make)(re / size, 2 * e * c * s / size));
}
static inline T CALC(sqrt)(T z) { return CALC(narrow)(WF(csqrt)((WIDE)READ(z))); }
static inline T CALC(rsqrt)(T z) { return CALC(narrow)(1 / WF(csqrt)((WIDE)READ(z))); }
static inline T CALC(cbrt)(T z) {
  z = READ(z);
  const WIDE_PART x = __real__ z, y = __imag__ z;
  const WIDE_PART radius = WF(cbrt)(WF(hypot)(x, y)), angle = WF(atan2)(y, x) / 3;
  return CALC(narrow)(CALC(make)(radius * WF(cos)(angle), radius * WF(sin)(angle)));
}
static inline T CALC(cosine)(T z) { return CALC(narrow)(WF(ccos)((WIDE)READ(z))); }
static inline T CALC(sine)(T z) { return CALC(narrow)(WF(csin)((WIDE)READ(z))); }
static inline T CALC(tan)(T z) { return CALC(narrow)(WF(ctan)((WIDE)READ(z))); }
static inline T CALC(tanh)(T z) { return CALC(narrow)(WF(ctanh)((WIDE)READ(z))); }

// exp(w log z). 0 to the power 0 is 1, to a power with positive real part 0, otherwise NaN.
static inline T CALC(power)(T z, T w) {
  z = READ(z);
  w = READ(w);
  if (CALC(is_zero)(w)) return 1;
  if (CALC(is_zero)(z)) {
    const PART part = __real__ w > 0 ? (PART)0 : (PART)NAN;
    return __builtin_complex(part, part);
  }
  const WIDE log_z = WF(clog)((WIDE)READ(z));
  const WIDE_PART a = __real__ log_z, b = __imag__ log_z, c = __real__ w, d = __imag__ w;
  const WIDE_PART im = b * c + (d == 0 ? 0 : a * d);
  return CALC(narrow)(WF(cexp)(CALC(make)(a * c - (d == 0 ? 0 : b * d), im)));
}
// -i log((x + i y) / sqrt(x^2 + y^2))
static inline T CALC(atan2)(T y_, T x_) {
  const WIDE y = READ(y_), x = READ(x_);
  const WIDE point = CALC(make)(__real__ x - __imag__ y, __imag__ x + __real__ y);
  const WIDE turn = WF(clog)(point / WF(csqrt)(x * x + y * y));
  return CALC(narrow)(CALC(make)(__imag__ turn, -__real__ turn));
}

static inline T CALC(chlo_acos)(T z) { return CALC(narrow)(WF(cacos)((WIDE)READ(z))); }
static inline T CALC(chlo_acosh)(T z) { return CALC(narrow)(WF(cacosh)((WIDE)READ(z))); }
static inline T CALC(chlo_asin)(T z) { return CALC(narrow)(WF(casin)((WIDE)READ(z))); }
static inline T CALC(chlo_asinh)(T z) { return CALC(narrow)(WF(casinh)((WIDE)READ(z))); }
static inline T CALC(chlo_atan)(T z) { return CALC(narrow)(WF(catan)((WIDE)READ(z))); }
static inline T CALC(chlo_atanh)(T z) { return CALC(narrow)(WF(catanh)((WIDE)READ(z))); }
static inline T CALC(chlo_cosh)(T z) { return CALC(narrow)(WF(ccosh)((WIDE)READ(z))); }
static inline T CALC(chlo_sinh)(T z) { return CALC(narrow)(WF(csinh)((WIDE)READ(z))); }
// See CHLO: asin z = (atan2(re z, re w), sign(im z) im w), and the like for acos, asinh, acosh.
static inline T CALC(chlo_asin_acos_kernel)(T z_) {
  const WIDE z = READ(z_), a = WF(csqrt)(1 - z), b = WF(csqrt)(1 + z);
  const WIDE_PART re = __real__ a * __real__ b - __imag__ a * __imag__ b;
  return CALC(narrow)(CALC(make)(WF(fabs)(re), WF(fabs)(__imag__ WF(casin)(z))));
}
static inline T CALC(chlo_square)(T z) {
  z = READ(z);
  const WIDE_PART x = __real__ z, y = __imag__ z;
  return CALC(narrow)(CALC(make)((x - y) * (x + y), 2 * x * y));
}

#define KERNEL abs
#define OUT_T PART
#include "interp/ref_unary.inl"
#define KERNEL real
#define OUT_T PART
#include "interp/ref_unary.inl"
#define KERNEL imag
#define OUT_T PART
#include "interp/ref_unary.inl"
#define KERNEL negate
#include "interp/ref_unary.inl"
#define KERNEL chlo_conj
#include "interp/ref_unary.inl"
#define KERNEL sign
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
#define KERNEL sqrt
#include "interp/ref_unary.inl"
#define KERNEL rsqrt
#include "interp/ref_unary.inl"
#define KERNEL cbrt
#include "interp/ref_unary.inl"
#define KERNEL cosine
#include "interp/ref_unary.inl"
#define KERNEL sine
#include "interp/ref_unary.inl"
#define KERNEL tan
#include "interp/ref_unary.inl"
#define KERNEL tanh
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
#define KERNEL chlo_cosh
#include "interp/ref_unary.inl"
#define KERNEL chlo_sinh
#include "interp/ref_unary.inl"
#define KERNEL chlo_asin_acos_kernel
#include "interp/ref_unary.inl"
#define KERNEL chlo_square
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
#define KERNEL power
#include "interp/ref_binary.inl"
#define KERNEL atan2
#include "interp/ref_binary.inl"
#define KERNEL compare_eq
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_ne
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
static inline T CALC(clamp)(T low, T x, T high) {
  return CALC(minimum)(CALC(maximum)(x, low), high);
}
#include "interp/ref_clamp.inl"

const hlo_scalar_kernels_t KERNEL_TABLE_NAME(KERNEL_TYPE)[HLO_KERNEL_COUNT] = {
    KERNEL_ROW(abs),
    KERNEL_ROW(real),
    KERNEL_ROW(imag),
    KERNEL_ROW(negate),
    KERNEL_ROW(chlo_conj),
    KERNEL_ROW(sign),
    KERNEL_ROW(exponential),
    KERNEL_ROW(exponential_minus_one),
    KERNEL_ROW(log),
    KERNEL_ROW(log_plus_one),
    KERNEL_ROW(logistic),
    KERNEL_ROW(sqrt),
    KERNEL_ROW(rsqrt),
    KERNEL_ROW(cbrt),
    KERNEL_ROW(cosine),
    KERNEL_ROW(sine),
    KERNEL_ROW(tan),
    [HLO_KERNEL_chlo_tan] = {KERNEL_LOOP(tan), KERNEL_SCALAR(tan)},
    KERNEL_ROW(tanh),
    KERNEL_ROW(chlo_acos),
    KERNEL_ROW(chlo_acosh),
    KERNEL_ROW(chlo_asin),
    KERNEL_ROW(chlo_asinh),
    KERNEL_ROW(chlo_atan),
    KERNEL_ROW(chlo_atanh),
    KERNEL_ROW(chlo_cosh),
    KERNEL_ROW(chlo_sinh),
    KERNEL_ROW(chlo_asin_acos_kernel),
    KERNEL_ROW(chlo_square),
    KERNEL_ROW(add),
    KERNEL_ROW(subtract),
    KERNEL_ROW(multiply),
    KERNEL_ROW(divide),
    KERNEL_ROW(maximum),
    KERNEL_ROW(minimum),
    KERNEL_ROW(power),
    KERNEL_ROW(atan2),
    KERNEL_ROW(compare_eq),
    KERNEL_ROW(compare_ne),
    CLAMP_ROWS,
};
#undef READ
#undef CLAMP_ROWS
#undef KERNEL_TYPE
#undef T
#undef PART
#undef WIDE
#undef WIDE_PART
#undef WF
#undef SPLITTER
