// SPDX-License-Identifier: Apache-2.0
// All lane-wise ops on operands of one element type, and conversions from it. Define LANE_ID (a
// suffix), LANE_T (its C type), LANE_U (the unsigned integer of its width) and LANE_IS_FLOAT; for
// floats also LANE_OPERAND (AS_OPERAND of vir.def), and LANE_FMA, LANE_SQRT and LANE_FABS of C's
// library. Then include.
#define LANE_JOIN_(a, b) a##b
#define LANE_JOIN(a, b) LANE_JOIN_(a, b)
#define LANE_FN(name) LANE_JOIN(name, LANE_ID)

static inline LANE_T LANE_FN(from_bits_)(uint64_t bits) {
  LANE_T value;
  LANE_U narrow = (LANE_U)bits;
  memcpy(&value, &narrow, sizeof value);
  return value;
}

static inline uint64_t LANE_FN(to_bits_)(LANE_T value) {
  LANE_U bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

#define T(x) ((LANE_T)(x))
#define U(x) ((LANE_U)(x) + 0u)
#define AS_OPERAND(x) LANE_OPERAND(x)
#define BITSOF (8 * sizeof(LANE_T))
#define BITS_AND(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) & LANE_FN(to_bits_)(y))
#define BITS_OR(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) | LANE_FN(to_bits_)(y))
#define BITS_XOR(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) ^ LANE_FN(to_bits_)(y))
#define BITS_ANDNOT(x, y) LANE_FN(from_bits_)(~LANE_FN(to_bits_)(x) & LANE_FN(to_bits_)(y))

#define DOT_U8S8(x, y) (LANE_U)dot_u8s8((int32_t)(x), (int32_t)(y))
#define DOT_BF16(x, y, z) dot_bf16((float)(x), (float)(y), (float)(z))
#define LANE_ROW_DOT(id, expression) LANE_ROW(id, expression)
#define HALF_TO_FLOAT(x) hlo_f16_to_f32((uint16_t)(x))
#define FLOAT_TO_HALF(x) hlo_f32_to_f16(x)
#define SQRT_FLOAT(x) sqrtf(x)
#define LANE_ROW_HALF(id, expression) LANE_ROW(id, expression)
#if LANE_IS_FLOAT
#define FMA(x, y, z) LANE_FMA(x, y, z)
#define SQRT(x) LANE_SQRT(x)
#define FABS(x) LANE_FABS(x)
#define SCALE(x, y) ((LANE_T)scale((double)(x), (double)(y), sizeof(LANE_T)))
#define ROUND(x, imm) ((LANE_T)round_to(x, imm))
#define FCMP(x, y, imm) COMPARE(x, y, imm)
#define LANE_ROW_FLOAT(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_INT(id, expression)
#define ICMP(x, y, imm) 0
#else
#define POPCOUNT(x) __builtin_popcountll(x)
#define CLZ(x) ((x) ? __builtin_clzll(x) - (64 - (int)BITSOF) : (int)BITSOF)
#define FCMP(x, y, imm) 0
#define ICMP(x, y, imm) COMPARE(x, y, imm)
#define LANE_ROW_FLOAT(id, expression)
#define LANE_ROW_INT(id, expression) LANE_ROW(id, expression)
#endif
#define LANE_ROW(id, expression) \
  case HLO_VIR_##id:             \
    return LANE_FN(to_bits_)((LANE_T)(expression));
#define LANE_ROW_BITS(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_COMPARE(id, expression) \
  case HLO_VIR_##id:                     \
    return (uint64_t)(expression);
#define LANE_ROW_MASK(id, expression)
#define LANE_ROW_CONVERT(id, expression)

static uint64_t LANE_FN(lane_)(uint32_t op, int64_t imm, uint64_t a_bits, uint64_t b_bits,
                               uint64_t c_bits) {
  const LANE_T a = LANE_FN(from_bits_)(a_bits);
  const LANE_T b = LANE_FN(from_bits_)(b_bits);
  const LANE_T c = LANE_FN(from_bits_)(c_bits);
  (void)imm;
  switch (op) {
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) LANE_ROW_##klass(id, (__VA_ARGS__))
#include "codegen/vir/vir.def"
    default: return 0;
  }
}

#undef T
#undef U
#undef AS_OPERAND
#undef BITSOF
#undef BITS_AND
#undef BITS_OR
#undef BITS_XOR
#undef BITS_ANDNOT
#undef FMA
#undef SQRT
#undef FABS
#undef SCALE
#undef ROUND
#undef FCMP
#undef ICMP
#undef POPCOUNT
#undef CLZ
#undef LANE_ROW
#undef LANE_ROW_FLOAT
#undef LANE_ROW_INT
#undef DOT_U8S8
#undef DOT_BF16
#undef LANE_ROW_DOT
#undef HALF_TO_FLOAT
#undef FLOAT_TO_HALF
#undef SQRT_FLOAT
#undef LANE_ROW_HALF
#undef LANE_ROW_BITS
#undef LANE_ROW_COMPARE
#undef LANE_ROW_MASK
#undef LANE_ROW_CONVERT

#define TO_ID I8
#define TO_T int8_t
#define TO_U uint8_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I16
#define TO_T int16_t
#define TO_U uint16_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I32
#define TO_T int32_t
#define TO_U uint32_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I64
#define TO_T int64_t
#define TO_U uint64_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID F32
#define TO_T float
#define TO_U uint32_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID F64
#define TO_T double
#define TO_U uint64_t
#include "codegen/vir/lane_convert.inl"

static uint64_t LANE_FN(convert_)(uint32_t op, hlo_vir_elem_t to, uint64_t bits) {
  switch (to) {
    case HLO_VIR_I8: return LANE_JOIN(LANE_FN(convert_), _to_I8)(op, bits);
    case HLO_VIR_I16: return LANE_JOIN(LANE_FN(convert_), _to_I16)(op, bits);
    case HLO_VIR_I32: return LANE_JOIN(LANE_FN(convert_), _to_I32)(op, bits);
    case HLO_VIR_I64: return LANE_JOIN(LANE_FN(convert_), _to_I64)(op, bits);
    case HLO_VIR_F32: return LANE_JOIN(LANE_FN(convert_), _to_F32)(op, bits);
    case HLO_VIR_F64: return LANE_JOIN(LANE_FN(convert_), _to_F64)(op, bits);
    default: return 0;
  }
}

#undef LANE_JOIN_
#undef LANE_JOIN
#undef LANE_FN
#undef LANE_ID
#undef LANE_T
#undef LANE_U
#undef LANE_IS_FLOAT
#undef LANE_OPERAND
#undef LANE_FMA
#undef LANE_SQRT
#undef LANE_FABS
