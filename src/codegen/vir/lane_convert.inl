// SPDX-License-Identifier: Apache-2.0
// All conversions between two element types: lane.inl gives the operand's (LANE_ID, LANE_T,
// LANE_U); define TO_ID, TO_T and TO_U, the result's, then include. Pairs that vir.def does not
// allow compile and are never called.
#define CONVERT_JOIN_(a, b, c, d) a##b##c##d
#define CONVERT_JOIN(a, b, c, d) CONVERT_JOIN_(a, b, c, d)

#define T(x) ((TO_T)(x))
#define U(x) ((LANE_U)(x) + 0u)
#define BITCAST(x)  \
  (((union {        \
     LANE_T from;   \
     TO_T to;       \
   }){.from = (x)}) \
       .to)
#define FTOS(x) ((TO_T)to_signed((double)(x), 8 * sizeof(TO_T)))
#define FTOU(x) ((TO_T)to_unsigned((double)(x), 8 * sizeof(TO_T)))
#define HALF_TO_FLOAT(x) ((TO_T)hlo_f16_to_f32((uint16_t)(x)))
#define FLOAT_TO_HALF(x) ((TO_T)hlo_f32_to_f16((float)(x)))
#define CONVERT_ROW_CONVERT(id, expression) \
  case HLO_VIR_##id:                        \
    return ((union {                        \
             TO_T value;                    \
             TO_U bits;                     \
           }){.value = expression})         \
        .bits;

static uint64_t CONVERT_JOIN(convert_, LANE_ID, _to_, TO_ID)(uint32_t op, uint64_t a_bits) {
  const LANE_T a = LANE_FN(from_bits_)(a_bits);
  switch (op) {
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) CONVERT_ROW_##klass(id, (__VA_ARGS__))
#include "codegen/vir/vir.def"
    default: return 0;
  }
}

#undef CONVERT_JOIN_
#undef CONVERT_JOIN
#undef T
#undef U
#undef BITCAST
#undef FTOS
#undef FTOU
#undef HALF_TO_FLOAT
#undef FLOAT_TO_HALF
#undef CONVERT_ROW_CONVERT
#undef TO_ID
#undef TO_T
#undef TO_U
