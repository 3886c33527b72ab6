// SPDX-License-Identifier: Apache-2.0
// The six comparisons of KERNEL_TYPE in its natural order, with OUT_T PRED.
static inline uint8_t CALC(compare_eq)(T x, T y) { return x == y; }
static inline uint8_t CALC(compare_ne)(T x, T y) { return x != y; }
static inline uint8_t CALC(compare_ge)(T x, T y) { return x >= y; }
static inline uint8_t CALC(compare_gt)(T x, T y) { return x > y; }
static inline uint8_t CALC(compare_le)(T x, T y) { return x <= y; }
static inline uint8_t CALC(compare_lt)(T x, T y) { return x < y; }
#define KERNEL compare_eq
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_ne
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_ge
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_gt
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_le
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define KERNEL compare_lt
#define OUT_T uint8_t
#include "interp/ref_binary.inl"
#define COMPARE_ROWS                                                        \
  KERNEL_ROW(compare_eq), KERNEL_ROW(compare_ne), KERNEL_ROW(compare_ge),   \
      KERNEL_ROW(compare_gt), KERNEL_ROW(compare_le), KERNEL_ROW(compare_lt)
