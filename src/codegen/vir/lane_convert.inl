// SPDX-License-Identifier: Apache-2.0
// All conversions between two element types: lane.inl gives the operand's (LANE_ID, LANE_T,
// LANE_U); define TO_ID, RESULT_T and TO_U, the result's, then include. Pairs that vir.def does not
// allow compile and are never called.
static uint64_t LANE_JOIN(convert_, LANE_ID, _to_, TO_ID)(uint32_t op, uint64_t a_bits) {
  const LANE_T a = LANE_FN(from_bits_)(a_bits);
  switch (op) {
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) CONVERT_ROW_##klass(id, (__VA_ARGS__))
#include "codegen/vir/vir.def"
    default: return 0;
  }
}

#undef TO_ID
#undef RESULT_T
#undef TO_U
