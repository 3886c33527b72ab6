// SPDX-License-Identifier: Apache-2.0
// Instances of the scattering loops and the tables that find them (see isa_variant.h).
#include <stddef.h>

#include "base/float_bits.h"
#include "lib/isa_variant.h"
#include "lib/scatter_impl.h"

// Prefetches later rows while this one is processed. Always inlined: the compiler would drop a call
// without other effects.
static inline __attribute__((always_inline)) void prefetch_ahead(const hlo_scatter_t* s, uint32_t i,
                                                                 int64_t row_bytes) {
  enum { ROWS = 8, BYTES_MAX = 1024 };
  if (i + ROWS >= s->count) return;
  const uint32_t n = s->numbers ? s->numbers[i + ROWS] : i + ROWS, at = s->targets[n] - s->first;
  if (at >= s->size) return;
  const int64_t bytes = row_bytes < BYTES_MAX ? row_bytes : BYTES_MAX;
  for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch((char*)s->out + at * row_bytes + b);
  for (int64_t b = 0; s->numbers && b < bytes; b += 64) {  // otherwise the rows are contiguous
    __builtin_prefetch((const char*)s->in + n * row_bytes + b);
  }
}

#define ROW_OF(name) name##_row
#define ROW(name) ROW_OF(name)
#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
#define AND(a, b) ((T)((a) & (b)))
#define OR(a, b) ((T)((a) | (b)))
#define XOR(a, b) ((T)((a) ^ (b)))
#define LATER(a, b) (b)
#define MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define MIN_INT(a, b) ((a) < (b) ? (a) : (b))
// NaN wins, and +0 is above -0: for equal operands the result is the AND, or the OR, of their bits.
// This only selects; GIVE flushes a subnormal number where arithmetic would.
static inline float max_f32_of(float a, float b) {
  const float equal = hlo_f32_from_bits(hlo_f32_to_bits(a) & hlo_f32_to_bits(b));
  const float most = a == b ? equal : MAX_INT(a, b);
  return hlo_f32_as_operand(a != a ? a : most);
}
static inline float min_f32_of(float a, float b) {
  const float equal = hlo_f32_from_bits(hlo_f32_to_bits(a) | hlo_f32_to_bits(b));
  const float least = a == b ? equal : MIN_INT(a, b);
  return hlo_f32_as_operand(a != a ? a : least);
}
static inline double max_f64_of(double a, double b) {
  const double equal = hlo_f64_from_bits(hlo_f64_to_bits(a) & hlo_f64_to_bits(b));
  const double most = a == b ? equal : MAX_INT(a, b);
  return hlo_f64_as_operand(a != a ? a : most);
}
static inline double min_f64_of(double a, double b) {
  const double equal = hlo_f64_from_bits(hlo_f64_to_bits(a) | hlo_f64_to_bits(b));
  const double least = a == b ? equal : MIN_INT(a, b);
  return hlo_f64_as_operand(a != a ? a : least);
}
// The same for numbers that usually differ; the other cases are kept apart, so that the compiler
// does not move all of them through integer registers.
#define DIFFER(a, b) __builtin_expect(__builtin_islessgreater(a, b), 1)
static __attribute__((noinline, cold)) float min_f32_alike(float a, float b) {
  return min_f32_of(a, b);
}
static __attribute__((noinline, cold)) double min_f64_alike(double a, double b) {
  return min_f64_of(a, b);
}

#define T float
#define OP ADD
#define NAME add_f32
#include "lib/scatter_loop.inl"
#define OP MULTIPLY
#define NAME mul_f32
#include "lib/scatter_loop.inl"
#define OP max_f32_of
#define ONE(a, b) (DIFFER(a, b) ? hlo_f32_as_operand(MAX_INT(a, b)) : OP(a, b))
#define NAME max_f32
#include "lib/scatter_loop.inl"
#define OP min_f32_of
#define ONE(a, b) (DIFFER(a, b) ? hlo_f32_as_operand(MIN_INT(a, b)) : min_f32_alike(a, b))
#define NAME min_f32
#include "lib/scatter_loop.inl"

// 16-bit floats: f32 holds their sums and products with enough precision for a second rounding.
#undef T
#define T uint16_t
#define BF16(x) hlo_bf16_to_f32(x)
#define OP(a, b) hlo_f32_to_bf16(BF16(a) + BF16(b))
#define NAME add_bf16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_bf16(BF16(a) * BF16(b))
#define NAME mul_bf16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_bf16(max_f32_of(BF16(a), BF16(b)))
#define NAME max_bf16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_bf16(min_f32_of(BF16(a), BF16(b)))
#define NAME min_bf16
#include "lib/scatter_loop.inl"
#define F16(x) hlo_f16_to_f32(x)
#define OP(a, b) hlo_f32_to_f16(F16(a) + F16(b))
#define NAME add_f16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_f16(F16(a) * F16(b))
#define NAME mul_f16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_f16(max_f32_of(F16(a), F16(b)))
#define NAME max_f16
#include "lib/scatter_loop.inl"
#define OP(a, b) hlo_f32_to_f16(min_f32_of(F16(a), F16(b)))
#define NAME min_f16
#include "lib/scatter_loop.inl"
#undef T
#define T double
#define OP ADD
#define NAME add_f64
#include "lib/scatter_loop.inl"
#define OP MULTIPLY
#define NAME mul_f64
#include "lib/scatter_loop.inl"
#define OP max_f64_of
#define ONE(a, b) (DIFFER(a, b) ? hlo_f64_as_operand(MAX_INT(a, b)) : OP(a, b))
#define NAME max_f64
#include "lib/scatter_loop.inl"
#define OP min_f64_of
#define ONE(a, b) (DIFFER(a, b) ? hlo_f64_as_operand(MIN_INT(a, b)) : min_f64_alike(a, b))
#define NAME min_f64
#include "lib/scatter_loop.inl"
#undef T

// Wrapping and bitwise operations do not depend on the sign.
#define T uint8_t
#define OP AND
#define NAME and_8
#include "lib/scatter_loop.inl"
#define OP OR
#define NAME or_8
#include "lib/scatter_loop.inl"
#define OP XOR
#define NAME xor_8
#include "lib/scatter_loop.inl"
#define OP LATER
#define NAME copy_8
#include "lib/scatter_loop.inl"
#undef T
#define T uint16_t
#define OP LATER
#define NAME copy_16
#include "lib/scatter_loop.inl"
#undef T
#define T uint32_t
#define OP ADD
#define NAME add_32
#include "lib/scatter_loop.inl"
#define OP MULTIPLY
#define NAME mul_32
#include "lib/scatter_loop.inl"
#define OP AND
#define NAME and_32
#include "lib/scatter_loop.inl"
#define OP OR
#define NAME or_32
#include "lib/scatter_loop.inl"
#define OP XOR
#define NAME xor_32
#include "lib/scatter_loop.inl"
#define OP MAX_INT
#define NAME max_u32
#include "lib/scatter_loop.inl"
#define OP MIN_INT
#define NAME min_u32
#include "lib/scatter_loop.inl"
#define OP LATER
#define NAME copy_32
#include "lib/scatter_loop.inl"
#undef T
#define T int32_t
#define OP MAX_INT
#define NAME max_s32
#include "lib/scatter_loop.inl"
#define OP MIN_INT
#define NAME min_s32
#include "lib/scatter_loop.inl"
#undef T
#define T uint64_t
#define OP ADD
#define NAME add_64
#include "lib/scatter_loop.inl"
#define OP MULTIPLY
#define NAME mul_64
#include "lib/scatter_loop.inl"
#define OP AND
#define NAME and_64
#include "lib/scatter_loop.inl"
#define OP OR
#define NAME or_64
#include "lib/scatter_loop.inl"
#define OP XOR
#define NAME xor_64
#include "lib/scatter_loop.inl"
#define OP MAX_INT
#define NAME max_u64
#include "lib/scatter_loop.inl"
#define OP MIN_INT
#define NAME min_u64
#include "lib/scatter_loop.inl"
#define OP LATER
#define NAME copy_64
#include "lib/scatter_loop.inl"
#undef T
#define T int64_t
#define OP MAX_INT
#define NAME max_s64
#include "lib/scatter_loop.inl"
#define OP MIN_INT
#define NAME min_s64
#include "lib/scatter_loop.inl"
#undef T

// A type's loops in the order of hlo_fold_op_t.
#define FLOATS(name) \
  { add_##name, mul_##name, max_##name, min_##name }
#define INTEGERS(name, bits) \
  { add_##bits, mul_##bits, max_##name, min_##name, and_##bits, or_##bits, xor_##bits }

static hlo_scatter_loop_t find_fold(hlo_fold_op_t op, hlo_dtype_t dtype) {
  static const hlo_scatter_loop_t folds[HLO_DTYPE_COUNT][HLO_FOLD_OP_COUNT] = {
      [HLO_DTYPE_PRED] = {or_8, and_8, or_8, and_8, and_8, or_8, xor_8},
      [HLO_DTYPE_F16] = FLOATS(f16),
      [HLO_DTYPE_BF16] = FLOATS(bf16),
      [HLO_DTYPE_F32] = FLOATS(f32),
      [HLO_DTYPE_F64] = FLOATS(f64),
      [HLO_DTYPE_S32] = INTEGERS(s32, 32),
      [HLO_DTYPE_U32] = INTEGERS(u32, 32),
      [HLO_DTYPE_S64] = INTEGERS(s64, 64),
      [HLO_DTYPE_U64] = INTEGERS(u64, 64),
  };
  return (unsigned)op < HLO_FOLD_OP_COUNT ? folds[dtype][op] : NULL;
}

const hlo_scatter_loops_t HLO_ISA_NAME(hlo_scatter_loops) = {.fold = find_fold,
                                                             .copy_8 = copy_8,
                                                             .copy_16 = copy_16,
                                                             .copy_32 = copy_32,
                                                             .copy_64 = copy_64};
