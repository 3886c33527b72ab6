// SPDX-License-Identifier: Apache-2.0
// The kernels of booleans, bytes of 0 or 1: addition is OR, multiplication AND. Parameters:
// KERNEL_TYPE, T.
static inline T CALC(and)(T x, T y) { return x & y; }
static inline T CALC(or)(T x, T y) { return x | y; }
static inline T CALC(xor)(T x, T y) { return x ^ y; }
static inline T CALC(not)(T x) { return x ^ 1; }
static inline T CALC(maximum)(T x, T y) { return x | y; }
static inline T CALC(minimum)(T x, T y) { return x & y; }
#define KERNEL and
#include "interp/ref_binary.inl"
#define KERNEL or
#include "interp/ref_binary.inl"
#define KERNEL xor
#include "interp/ref_binary.inl"
#define KERNEL not
#include "interp/ref_unary.inl"
static inline T CALC(clamp)(T low, T x, T high) {
  return CALC(minimum)(CALC(maximum)(x, low), high);
}
#include "interp/ref_clamp.inl"
#include "interp/ref_compare.inl"

const hlo_scalar_kernels_t hlo_kernels_PRED[HLO_KERNEL_COUNT] = {
    KERNEL_ROW(and),
    KERNEL_ROW(or),
    KERNEL_ROW(xor),
    KERNEL_ROW(not),
    [HLO_KERNEL_add] = {KERNEL_LOOP(or), KERNEL_SCALAR(or)},
    [HLO_KERNEL_maximum] = {KERNEL_LOOP(or), KERNEL_SCALAR(or)},
    [HLO_KERNEL_multiply] = {KERNEL_LOOP(and), KERNEL_SCALAR(and)},
    [HLO_KERNEL_minimum] = {KERNEL_LOOP(and), KERNEL_SCALAR(and)},
    CLAMP_ROWS,
    COMPARE_ROWS,
};
#undef CLAMP_ROWS
#undef COMPARE_ROWS
#undef KERNEL_TYPE
#undef T
