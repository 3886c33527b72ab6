// SPDX-License-Identifier: Apache-2.0
// Compiles the expression column of vir.def for every element type (see lane.h).
#include "codegen/vir/lane.h"

#include <math.h>

#include "base/dtype.h"

#define COMPARE(x, y, imm)                             \
  ((imm) == HLO_VIR_EQ          ? (x) == (y)           \
   : (imm) == HLO_VIR_NE        ? (x) != (y)           \
   : (imm) == HLO_VIR_LT        ? (x) < (y)            \
   : (imm) == HLO_VIR_LE        ? (x) <= (y)           \
   : (imm) == HLO_VIR_GT        ? (x) > (y)            \
   : (imm) == HLO_VIR_GE        ? (x) >= (y)           \
   : (imm) == HLO_VIR_UNORDERED ? isunordered_of(x, y) \
                                : !isunordered_of(x, y))

#define isunordered_of(x, y) ((x) != (x) || (y) != (y))

static double round_to(double x, int64_t rounding) {
  switch (rounding) {
    case HLO_VIR_FLOOR: return floor(x);
    case HLO_VIR_CEIL: return ceil(x);
    case HLO_VIR_TOWARD_ZERO: return trunc(x);
    default: return rint(x);
  }
}

// Larger exponents give the same zeros and infinities. The product of an f32 is exact in double and
// rounded when it becomes an f32 again.
static double scale(double x, double exponent, size_t bytes) {
  const double limit = bytes == sizeof(float) ? 512 : 4096;
  if (isnan(exponent)) return exponent;
  return ldexp(x, (int)fmax(-limit, fmin(floor(exponent), limit)));
}

static int64_t to_signed(double x, size_t bits) {
  double limit = ldexp(1.0, (int)bits - 1);
  return x >= -limit && x < limit ? (int64_t)x : INT64_MIN >> (64 - bits);
}

static uint64_t to_unsigned(double x, size_t bits) {
  return x > -1 && x < ldexp(1.0, (int)bits) ? (uint64_t)x : UINT64_MAX;
}

static int32_t dot_u8s8(int32_t a, int32_t b) {
  int32_t sum = 0;  // of four products below 2^15
  for (int i = 0; i < 4; ++i) sum += (uint8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
  return sum;
}

static float dot_bf16(float a, float b, float c) {
  uint32_t x = hlo_f32_to_bits(a), y = hlo_f32_to_bits(b);
  float sum = hlo_vir_flush(c);
  sum = hlo_vir_flush(fmaf(hlo_vir_flush(hlo_f32_from_bits(x & 0xffff0000)),
                           hlo_vir_flush(hlo_f32_from_bits(y & 0xffff0000)), sum));
  return hlo_vir_flush(fmaf(hlo_vir_flush(hlo_f32_from_bits(x << 16)),
                            hlo_vir_flush(hlo_f32_from_bits(y << 16)), sum));
}

// ---- the expressions of vir.def, compiled by lane.inl for every type LANE_T of the operands and
// by lane_convert.inl for every pair of types; RESULT_T is the type of the result

#define LANE_JOIN_(a, b, c, d) a##b##c##d
#define LANE_JOIN(a, b, c, d) LANE_JOIN_(a, b, c, d)
#define LANE_FN(name) LANE_JOIN(name, LANE_ID, , )

#define T(x) ((RESULT_T)(x))
#define U(x) ((LANE_U)(x) + 0u)
#define BITSOF (8 * sizeof(LANE_T))
#define AS_OPERAND(x) LANE_OPERAND(x)
#define BITS_AND(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) & LANE_FN(to_bits_)(y))
#define BITS_OR(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) | LANE_FN(to_bits_)(y))
#define BITS_XOR(x, y) LANE_FN(from_bits_)(LANE_FN(to_bits_)(x) ^ LANE_FN(to_bits_)(y))
#define BITS_ANDNOT(x, y) LANE_FN(from_bits_)(~LANE_FN(to_bits_)(x) & LANE_FN(to_bits_)(y))
#define DOT_U8S8(x, y) (LANE_U) dot_u8s8((int32_t)(x), (int32_t)(y))
#define DOT_BF16(x, y, z) dot_bf16((float)(x), (float)(y), (float)(z))
#define HALF_TO_FLOAT(x) hlo_f16_to_f32((uint16_t)(x))
#define FLOAT_TO_HALF(x) hlo_f32_to_f16((float)(x))
#define SQRT_FLOAT(x) sqrtf(x)
#define FMA(x, y, z) LANE_FMA(x, y, z)
#define SQRT(x) LANE_SQRT(x)
#define FABS(x) LANE_FABS(x)
#define SCALE(x, y) ((LANE_T)scale((double)(x), (double)(y), sizeof(LANE_T)))
#define ROUND(x, imm) ((LANE_T)round_to(x, imm))
#define POPCOUNT(x) __builtin_popcountll(x)
#define CLZ(x) ((x) ? __builtin_clzll(x) - (64 - (int)BITSOF) : (int)BITSOF)
#define BITCAST(x)  \
  (((union {        \
     LANE_T from;   \
     RESULT_T to;   \
   }){.from = (x)}) \
       .to)
#define FTOS(x) ((RESULT_T)to_signed((double)(x), 8 * sizeof(RESULT_T)))
#define FTOU(x) ((RESULT_T)to_unsigned((double)(x), 8 * sizeof(RESULT_T)))

#define LANE_ROW(id, expression) \
  case HLO_VIR_##id:             \
    return LANE_FN(to_bits_)((LANE_T)(expression));
#define LANE_ROW_DOT(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_HALF(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_BITS(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_COMPARE(id, expression) \
  case HLO_VIR_##id:                     \
    return (uint64_t)(expression);
#define LANE_ROW_MASK(id, expression)
#define LANE_ROW_CONVERT(id, expression)

#define CONVERT_ROW_FLOAT(id, expression)
#define CONVERT_ROW_INT(id, expression)
#define CONVERT_ROW_DOT(id, expression)
#define CONVERT_ROW_HALF(id, expression)
#define CONVERT_ROW_BITS(id, expression)
#define CONVERT_ROW_COMPARE(id, expression)
#define CONVERT_ROW_MASK(id, expression)
#define CONVERT_ROW_CONVERT(id, expression) \
  case HLO_VIR_##id:                        \
    return ((union {                        \
             RESULT_T value;                \
             TO_U bits;                     \
           }){.value = expression})         \
        .bits;

#define MASK_ROW_FLOAT(id, expression)
#define MASK_ROW_INT(id, expression)
#define MASK_ROW_DOT(id, expression)
#define MASK_ROW_HALF(id, expression)
#define MASK_ROW_BITS(id, expression)
#define MASK_ROW_COMPARE(id, expression)
#define MASK_ROW_CONVERT(id, expression)
#define MASK_ROW_MASK(id, expression) \
  case HLO_VIR_##id:                  \
    return (uint64_t)expression & 1;

#define LANE_ID I8
#define LANE_T int8_t
#define LANE_U uint8_t
#define LANE_IS_FLOAT 0
#include "codegen/vir/lane.inl"
#define LANE_ID I16
#define LANE_T int16_t
#define LANE_U uint16_t
#define LANE_IS_FLOAT 0
#include "codegen/vir/lane.inl"
#define LANE_ID I32
#define LANE_T int32_t
#define LANE_U uint32_t
#define LANE_IS_FLOAT 0
#include "codegen/vir/lane.inl"
#define LANE_ID I64
#define LANE_T int64_t
#define LANE_U uint64_t
#define LANE_IS_FLOAT 0
#include "codegen/vir/lane.inl"
#define LANE_ID F32
#define LANE_T float
#define LANE_U uint32_t
#define LANE_IS_FLOAT 1
#define LANE_OPERAND hlo_f32_as_operand
#define LANE_FMA fmaf
#define LANE_SQRT sqrtf
#define LANE_FABS fabsf
#include "codegen/vir/lane.inl"
#define LANE_ID F64
#define LANE_T double
#define LANE_U uint64_t
#define LANE_IS_FLOAT 1
#define LANE_OPERAND hlo_f64_as_operand
#define LANE_FMA fma
#define LANE_SQRT sqrt
#define LANE_FABS fabs
#include "codegen/vir/lane.inl"

static uint64_t lane_mask(uint32_t op, uint64_t a, uint64_t b) {
  switch (op) {
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) MASK_ROW_##klass(id, (__VA_ARGS__))
#include "codegen/vir/vir.def"
    default: return 0;
  }
}

// ---- dispatch on the type ----------------------------------------------------------------------

// Returns the element that selects the variant of an op: that of the operands (select: of its
// values).
static hlo_vir_elem_t lane_elem(const hlo_vir_value_t* value) {
  uint32_t at = value->op == HLO_VIR_select ? 1 : 0;
  return (hlo_vir_elem_t)value->operands[at]->type.elem;
}

static bool divides(const hlo_vir_value_t* value, uint64_t a, uint64_t b) {
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  bool is_signed = value->op == HLO_VIR_sdiv || value->op == HLO_VIR_srem;
  if (b == 0) return false;
  return !is_signed || b != UINT64_MAX >> (64 - bits) || a != UINT64_C(1) << (bits - 1);
}

static uint64_t convert(const hlo_vir_value_t* value, hlo_vir_elem_t from, uint64_t a) {
  hlo_vir_elem_t to = (hlo_vir_elem_t)value->type.elem;
  switch (from) {
    case HLO_VIR_I8: return convert_I8(value->op, to, a);
    case HLO_VIR_I16: return convert_I16(value->op, to, a);
    case HLO_VIR_I32: return convert_I32(value->op, to, a);
    case HLO_VIR_I64: return convert_I64(value->op, to, a);
    case HLO_VIR_F32: return convert_F32(value->op, to, a);
    default: return convert_F64(value->op, to, a);
  }
}

bool hlo_vir_lane(const hlo_vir_value_t* value, uint64_t a, uint64_t b, uint64_t c, uint64_t* out) {
  hlo_vir_elem_t elem = lane_elem(value);
  if (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_CONVERT) {
    *out = convert(value, elem, a);
    return true;
  }
  if ((value->op == HLO_VIR_sdiv || value->op == HLO_VIR_srem || value->op == HLO_VIR_udiv ||
       value->op == HLO_VIR_urem) &&
      !divides(value, a, b)) {
    return false;
  }
  switch (elem) {
    case HLO_VIR_MASK: *out = lane_mask(value->op, a, b); return true;
    case HLO_VIR_I8: *out = lane_I8(value->op, value->imm, a, b, c); return true;
    case HLO_VIR_I16: *out = lane_I16(value->op, value->imm, a, b, c); return true;
    case HLO_VIR_I32: *out = lane_I32(value->op, value->imm, a, b, c); return true;
    case HLO_VIR_I64: *out = lane_I64(value->op, value->imm, a, b, c); return true;
    case HLO_VIR_F32: *out = lane_F32(value->op, value->imm, a, b, c); return true;
    default: *out = lane_F64(value->op, value->imm, a, b, c); return true;
  }
}

static bool compare_index(uint32_t condition, int64_t x, int64_t y) {
  switch (condition) {
    case HLO_VIR_EQ: return x == y;
    case HLO_VIR_NE: return x != y;
    case HLO_VIR_LT: return x < y;
    case HLO_VIR_LE: return x <= y;
    case HLO_VIR_GT: return x > y;
    default: return x >= y;
  }
}

bool hlo_vir_index_pair(uint32_t op, uint32_t flags, int64_t x, int64_t y, int64_t* out) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y;  // which wrap around
  switch (op) {
    case HLO_VIR_iadd: *out = (int64_t)(a + b); return true;
    case HLO_VIR_isub: *out = (int64_t)(a - b); return true;
    case HLO_VIR_imul: *out = (int64_t)(a * b); return true;
    case HLO_VIR_idiv:
    case HLO_VIR_irem:
      if (x < 0 || y <= 0) return false;
      *out = op == HLO_VIR_idiv ? x / y : x % y;
      return true;
    case HLO_VIR_imin: *out = x < y ? x : y; return true;
    case HLO_VIR_imax: *out = x > y ? x : y; return true;
    case HLO_VIR_iand: *out = x & y; return true;
    case HLO_VIR_ior: *out = x | y; return true;
    case HLO_VIR_ixor: *out = x ^ y; return true;
    default: *out = compare_index(flags, x, y); return true;  // icmp
  }
}
