// SPDX-License-Identifier: Apache-2.0
// All lane-wise ops on operands of one element type, and conversions from it. Define LANE_ID (a
// suffix), LANE_T (its C type), LANE_U (the unsigned integer of its width) and LANE_IS_FLOAT; for
// floats also LANE_OPERAND (AS_OPERAND of vir.def), and LANE_FMA, LANE_SQRT and LANE_FABS of C's
// library. Then include.
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

#define RESULT_T LANE_T
#if LANE_IS_FLOAT
#define LANE_ROW_FLOAT(id, expression) LANE_ROW(id, expression)
#define LANE_ROW_INT(id, expression)
#define FCMP(x, y, imm) COMPARE(x, y, imm)
#define ICMP(x, y, imm) 0
#else
#define LANE_ROW_FLOAT(id, expression)
#define LANE_ROW_INT(id, expression) LANE_ROW(id, expression)
#define FCMP(x, y, imm) 0
#define ICMP(x, y, imm) COMPARE(x, y, imm)
#endif

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

#undef RESULT_T
#undef LANE_ROW_FLOAT
#undef LANE_ROW_INT
#undef FCMP
#undef ICMP

#define TO_ID I8
#define RESULT_T int8_t
#define TO_U uint8_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I16
#define RESULT_T int16_t
#define TO_U uint16_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I32
#define RESULT_T int32_t
#define TO_U uint32_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID I64
#define RESULT_T int64_t
#define TO_U uint64_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID F32
#define RESULT_T float
#define TO_U uint32_t
#include "codegen/vir/lane_convert.inl"
#define TO_ID F64
#define RESULT_T double
#define TO_U uint64_t
#include "codegen/vir/lane_convert.inl"

static uint64_t LANE_FN(convert_)(uint32_t op, hlo_vir_elem_t to, uint64_t bits) {
  switch (to) {
    case HLO_VIR_I8: return LANE_JOIN(convert_, LANE_ID, _to_, I8)(op, bits);
    case HLO_VIR_I16: return LANE_JOIN(convert_, LANE_ID, _to_, I16)(op, bits);
    case HLO_VIR_I32: return LANE_JOIN(convert_, LANE_ID, _to_, I32)(op, bits);
    case HLO_VIR_I64: return LANE_JOIN(convert_, LANE_ID, _to_, I64)(op, bits);
    case HLO_VIR_F32: return LANE_JOIN(convert_, LANE_ID, _to_, F32)(op, bits);
    case HLO_VIR_F64: return LANE_JOIN(convert_, LANE_ID, _to_, F64)(op, bits);
    default: return 0;
  }
}

#undef LANE_ID
#undef LANE_T
#undef LANE_U
#undef LANE_IS_FLOAT
#undef LANE_OPERAND
#undef LANE_FMA
#undef LANE_SQRT
#undef LANE_FABS
