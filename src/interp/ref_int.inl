// SPDX-License-Identifier: Apache-2.0
// The kernels of one integer type. Parameters: KERNEL_TYPE, T (storage type of an element), WIDE
// (unsigned, at least 32 bits, in which arithmetic wraps), SIGNED_WIDE, BITS (width of a value) and
// IS_SIGNED.

// Returns the low BITS of a wide value as an element (sub-byte types: sign- or zero-extended).
static inline T CALC(wrap)(WIDE x) {
  if (BITS == 8 * sizeof(T)) return (T)x;
  const unsigned unused = 8 * sizeof(WIDE) - BITS;
  return (T)(IS_SIGNED ? (WIDE)((SIGNED_WIDE)(x << unused) >> unused) : (x << unused) >> unused);
}

// Returns the bits of an element without sign extension.
static inline WIDE CALC(bits)(T x) { return (WIDE)x & ((WIDE)-1 >> (8 * sizeof(WIDE) - BITS)); }

static inline bool CALC(is_negative)(T x) {
  return IS_SIGNED && CALC(bits)(x) >> (BITS - 1) != 0;
}

static inline T CALC(abs)(T x) { return CALC(is_negative)(x) ? CALC(wrap)(-(WIDE)x) : x; }
static inline T CALC(negate)(T x) { return CALC(wrap)(-(WIDE)x); }
static inline T CALC(not)(T x) { return CALC(wrap)(~(WIDE)x); }
static inline T CALC(sign)(T x) { return CALC(is_negative)(x) ? (T)-1 : (T)(x != 0); }
static inline T CALC(popcnt)(T x) {
  return CALC(wrap)((WIDE)__builtin_popcountll((unsigned long long)CALC(bits)(x)));
}
static inline T CALC(count_leading_zeros)(T x) {
  uint64_t bits = CALC(bits)(x);
  return CALC(wrap)((WIDE)(bits == 0 ? BITS : __builtin_clzll(bits) - (64 - BITS)));
}
static inline T CALC(chlo_square)(T x) { return CALC(wrap)((WIDE)x * (WIDE)x); }

static inline T CALC(add)(T x, T y) { return CALC(wrap)((WIDE)x + (WIDE)y); }
static inline T CALC(subtract)(T x, T y) { return CALC(wrap)((WIDE)x - (WIDE)y); }
static inline T CALC(multiply)(T x, T y) { return CALC(wrap)((WIDE)x * (WIDE)y); }
static inline T CALC(and)(T x, T y) { return (T)(x & y); }
static inline T CALC(or)(T x, T y) { return (T)(x | y); }
static inline T CALC(xor)(T x, T y) { return (T)(x ^ y); }
static inline T CALC(maximum)(T x, T y) { return x > y ? x : y; }
static inline T CALC(minimum)(T x, T y) { return x < y ? x : y; }

// As in XLA: x / 0 has all bits set, the one overflow wraps, and x rem 0 is x.
static inline T CALC(divide)(T x, T y) {
  if (y == 0) return CALC(wrap)((WIDE)-1);
  if (IS_SIGNED && y == (T)-1) return CALC(negate)(x);
  return (T)(x / y);
}
static inline T CALC(remainder)(T x, T y) {
  if (y == 0) return x;
  if (IS_SIGNED && y == (T)-1) return 0;
  return (T)(x % y);
}

// A negative power is 0 except for bases whose inverse is an integer.
static inline T CALC(power)(T x, T y) {
  WIDE base = (WIDE)x, result = 1;
  WIDE exponent = CALC(bits)(y);
  if (CALC(is_negative)(y)) {
    if (x == 1) return 1;
    if (x != (T)-1) return 0;
  }
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1u) result *= base;
    base *= base;
  }
  return CALC(wrap)(result);
}

// The shift amount is unsigned; shifting by the width or more gives zeros or copies of the sign.
static inline T CALC(shift_left)(T x, T y) {
  WIDE by = CALC(bits)(y);
  return by >= BITS ? 0 : CALC(wrap)((WIDE)x << by);
}
static inline T CALC(shift_right_logical)(T x, T y) {
  WIDE by = CALC(bits)(y);
  return by >= BITS ? 0 : CALC(wrap)(CALC(bits)(x) >> by);
}
static inline T CALC(shift_right_arithmetic)(T x, T y) {
  WIDE by = CALC(bits)(y);
  SIGNED_WIDE extended = (SIGNED_WIDE)((WIDE)x << (8 * sizeof(WIDE) - BITS));
  extended >>= 8 * sizeof(WIDE) - BITS;
  return CALC(wrap)((WIDE)(extended >> (by >= BITS ? BITS - 1 : by)));
}
static inline T CALC(chlo_mulhi)(T x, T y) {
  __extension__ typedef unsigned __int128 product_t;  // sign-extended operands give the low 128 bits
  return CALC(wrap)((WIDE)(((product_t)x * (product_t)y) >> BITS));
}

#define KERNEL abs
#include "interp/ref_unary.inl"
#define KERNEL negate
#include "interp/ref_unary.inl"
#define KERNEL not
#include "interp/ref_unary.inl"
#define KERNEL sign
#include "interp/ref_unary.inl"
#define KERNEL popcnt
#include "interp/ref_unary.inl"
#define KERNEL count_leading_zeros
#include "interp/ref_unary.inl"
#define KERNEL chlo_square
#include "interp/ref_unary.inl"
#define KERNEL add
#include "interp/ref_binary.inl"
#define KERNEL subtract
#include "interp/ref_binary.inl"
#define KERNEL multiply
#include "interp/ref_binary.inl"
#define KERNEL and
#include "interp/ref_binary.inl"
#define KERNEL or
#include "interp/ref_binary.inl"
#define KERNEL xor
#include "interp/ref_binary.inl"
#define KERNEL maximum
#include "interp/ref_binary.inl"
#define KERNEL minimum
#include "interp/ref_binary.inl"
#define KERNEL divide
#include "interp/ref_binary.inl"
#define KERNEL remainder
#include "interp/ref_binary.inl"
#define KERNEL power
#include "interp/ref_binary.inl"
#define KERNEL shift_left
#include "interp/ref_binary.inl"
#define KERNEL shift_right_logical
#include "interp/ref_binary.inl"
#define KERNEL shift_right_arithmetic
#include "interp/ref_binary.inl"
#define KERNEL chlo_mulhi
#include "interp/ref_binary.inl"
static inline T CALC(clamp)(T low, T x, T high) {
  return CALC(minimum)(CALC(maximum)(x, low), high);
}
#include "interp/ref_clamp.inl"
#include "interp/ref_compare.inl"

const hlo_scalar_kernels_t KERNEL_TABLE_NAME(KERNEL_TYPE)[HLO_KERNEL_COUNT] = {
    KERNEL_ROW(abs),         KERNEL_ROW(negate),
    KERNEL_ROW(not),         KERNEL_ROW(sign),
    KERNEL_ROW(popcnt),      KERNEL_ROW(count_leading_zeros),
    KERNEL_ROW(chlo_square), KERNEL_ROW(add),
    KERNEL_ROW(subtract),    KERNEL_ROW(multiply),
    KERNEL_ROW(and),         KERNEL_ROW(or),
    KERNEL_ROW(xor),         KERNEL_ROW(maximum),
    KERNEL_ROW(minimum),     KERNEL_ROW(divide),
    KERNEL_ROW(remainder),   KERNEL_ROW(power),
    KERNEL_ROW(shift_left),  KERNEL_ROW(shift_right_logical),
    KERNEL_ROW(chlo_mulhi),  KERNEL_ROW(shift_right_arithmetic),
    CLAMP_ROWS,              COMPARE_ROWS,
};
#undef CLAMP_ROWS
#undef COMPARE_ROWS
#undef KERNEL_TYPE
#undef T
#undef WIDE
#undef SIGNED_WIDE
#undef BITS
#undef IS_SIGNED
