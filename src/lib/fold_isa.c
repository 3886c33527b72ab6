// SPDX-License-Identifier: Apache-2.0
// Instances of the folding loops and the table that finds them (see isa_variant.h). Vectorisation
// never changes the order of a fold.
#include <stddef.h>

#include "base/float_bits.h"
#include "lib/fold_impl.h"
#include "lib/isa_variant.h"

// NaN wins, and +0 is above -0. MORE and LESS may return either of two zeros, which shortens the
// dependency chain. They only select and flush no subnormal number; GIVE flushes as arithmetic
// does.
#define MORE(a, b) ((((a) != (a)) | ((a) > (b))) ? (a) : (b))
#define LESS(a, b) ((((a) != (a)) | ((a) < (b))) ? (a) : (b))
#define MAX_FLOAT(a, b) ((((a) != (a)) | ((a) > (b)) | (((a) == (b)) & IS_NEGATIVE(b))) ? (a) : (b))
#define MIN_FLOAT(a, b) \
  ((((a) != (a)) | ((a) < (b)) | (((a) == (b)) & !IS_NEGATIVE(b))) ? (a) : (b))
#define MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define MIN_INT(a, b) ((a) < (b) ? (a) : (b))

// Sums and products of floats in double.
#define IN float
#define ACC double
#define OP(a, b) ((a) + (b))
#define NAME(x) add_f32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) * (b))
#define NAME(x) mul_f32_##x
#include "lib/fold_loop.inl"
#undef ACC
#define ACC float
#define IS_NEGATIVE(x) (hlo_f32_to_bits(x) >> 31)
#define OP(a, b) MAX_FLOAT(a, b)
#define BUT_ZEROS(a, b) MORE(a, b)
#define GIVE(x) hlo_f32_as_operand(x)
#define NAME(x) max_f32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_FLOAT(a, b)
#define BUT_ZEROS(a, b) LESS(a, b)
#define GIVE(x) hlo_f32_as_operand(x)
#define NAME(x) min_f32_##x
#include "lib/fold_loop.inl"
#undef IS_NEGATIVE
#undef IN
#undef ACC
#define IN double
#define ACC double
#define OP(a, b) ((a) + (b))
#define NAME(x) add_f64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) * (b))
#define NAME(x) mul_f64_##x
#include "lib/fold_loop.inl"
#define IS_NEGATIVE(x) (hlo_f64_to_bits(x) >> 63)
#define OP(a, b) MAX_FLOAT(a, b)
#define BUT_ZEROS(a, b) MORE(a, b)
#define GIVE(x) hlo_f64_as_operand(x)
#define NAME(x) max_f64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_FLOAT(a, b)
#define BUT_ZEROS(a, b) LESS(a, b)
#define GIVE(x) hlo_f64_as_operand(x)
#define NAME(x) min_f64_##x
#include "lib/fold_loop.inl"
#undef IS_NEGATIVE
#undef IN
#undef ACC

// Wrapping and bitwise operations do not depend on the sign.
#define IN uint32_t
#define ACC uint32_t
#define OP(a, b) ((a) + (b))
#define NAME(x) add_32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) * (b))
#define NAME(x) mul_32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) & (b))
#define NAME(x) and_32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) | (b))
#define NAME(x) or_32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) ^ (b))
#define NAME(x) xor_32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MAX_INT(a, b)
#define NAME(x) max_u32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_INT(a, b)
#define NAME(x) min_u32_##x
#include "lib/fold_loop.inl"
#undef IN
#undef ACC
#define IN int32_t
#define ACC int32_t
#define OP(a, b) MAX_INT(a, b)
#define NAME(x) max_s32_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_INT(a, b)
#define NAME(x) min_s32_##x
#include "lib/fold_loop.inl"
#undef IN
#undef ACC
#define IN uint64_t
#define ACC uint64_t
#define OP(a, b) ((a) + (b))
#define NAME(x) add_64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) * (b))
#define NAME(x) mul_64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) & (b))
#define NAME(x) and_64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) | (b))
#define NAME(x) or_64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((a) ^ (b))
#define NAME(x) xor_64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MAX_INT(a, b)
#define NAME(x) max_u64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_INT(a, b)
#define NAME(x) min_u64_##x
#include "lib/fold_loop.inl"
#undef IN
#undef ACC
#define IN int64_t
#define ACC int64_t
#define OP(a, b) MAX_INT(a, b)
#define NAME(x) max_s64_##x
#include "lib/fold_loop.inl"
#define OP(a, b) MIN_INT(a, b)
#define NAME(x) min_s64_##x
#include "lib/fold_loop.inl"
#undef IN
#undef ACC
#define IN uint8_t
#define ACC uint8_t
#define OP(a, b) ((uint8_t)((a) & (b)))
#define NAME(x) and_8_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((uint8_t)((a) | (b)))
#define NAME(x) or_8_##x
#include "lib/fold_loop.inl"
#define OP(a, b) ((uint8_t)((a) ^ (b)))
#define NAME(x) xor_8_##x
#include "lib/fold_loop.inl"
#undef IN
#undef ACC

#define FOLD(op, in, acc, name)                                                     \
  [HLO_FOLD_##op] = {HLO_DTYPE_##in, HLO_DTYPE_##acc, name##_row,      name##_rows, \
                     name##_into,    name##_scan,     name##_scan_rows}

static const hlo_fold_t pred_folds[HLO_FOLD_OP_COUNT] = {
    FOLD(ADD, PRED, PRED, or_8),     FOLD(MULTIPLY, PRED, PRED, and_8),
    FOLD(MAXIMUM, PRED, PRED, or_8), FOLD(MINIMUM, PRED, PRED, and_8),
    FOLD(AND, PRED, PRED, and_8),    FOLD(OR, PRED, PRED, or_8),
    FOLD(XOR, PRED, PRED, xor_8),
};
static const hlo_fold_t f32_folds[HLO_FOLD_OP_COUNT] = {
    FOLD(ADD, F32, F64, add_f32),
    FOLD(MULTIPLY, F32, F64, mul_f32),
    FOLD(MAXIMUM, F32, F32, max_f32),
    FOLD(MINIMUM, F32, F32, min_f32),
};
static const hlo_fold_t f64_folds[HLO_FOLD_OP_COUNT] = {
    FOLD(ADD, F64, F64, add_f64),
    FOLD(MULTIPLY, F64, F64, mul_f64),
    FOLD(MAXIMUM, F64, F64, max_f64),
    FOLD(MINIMUM, F64, F64, min_f64),
};
#define INTEGER_FOLDS(type, width, max, min)                                     \
  {                                                                              \
    FOLD(ADD, type, type, add_##width), FOLD(MULTIPLY, type, type, mul_##width), \
        FOLD(MAXIMUM, type, type, max), FOLD(MINIMUM, type, type, min),          \
        FOLD(AND, type, type, and_##width), FOLD(OR, type, type, or_##width),    \
        FOLD(XOR, type, type, xor_##width)                                       \
  }
static const hlo_fold_t s32_folds[HLO_FOLD_OP_COUNT] = INTEGER_FOLDS(S32, 32, max_s32, min_s32);
static const hlo_fold_t u32_folds[HLO_FOLD_OP_COUNT] = INTEGER_FOLDS(U32, 32, max_u32, min_u32);
static const hlo_fold_t s64_folds[HLO_FOLD_OP_COUNT] = INTEGER_FOLDS(S64, 64, max_s64, min_s64);
static const hlo_fold_t u64_folds[HLO_FOLD_OP_COUNT] = INTEGER_FOLDS(U64, 64, max_u64, min_u64);

const hlo_fold_t* HLO_ISA_NAME(hlo_fold_find)(hlo_fold_op_t op, hlo_dtype_t dtype) {
  if ((unsigned)op >= HLO_FOLD_OP_COUNT) return NULL;
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  const hlo_fold_t* folds = NULL;
  switch (info->klass) {
    case HLO_DTYPE_CLASS_BOOL: folds = pred_folds; break;
    case HLO_DTYPE_CLASS_SIGNED: folds = info->bits > 32 ? s64_folds : s32_folds; break;
    case HLO_DTYPE_CLASS_UNSIGNED: folds = info->bits > 32 ? u64_folds : u32_folds; break;
    case HLO_DTYPE_CLASS_FLOAT: folds = info->bits > 32 ? f64_folds : f32_folds; break;
    case HLO_DTYPE_CLASS_COMPLEX:
    case HLO_DTYPE_CLASS_NONE: return NULL;
  }
  return folds[op].row ? &folds[op] : NULL;
}
