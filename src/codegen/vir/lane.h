// SPDX-License-Identifier: Apache-2.0
// What one lane of a lane-wise op computes: the expression column of vir.def, compiled. The meaning
// of these ops for the interpreter, for constant folding and for every back end's tests.
#ifndef HLO_CODEGEN_VIR_LANE_H_
#define HLO_CODEGEN_VIR_LANE_H_

#include "base/float_bits.h"
#include "codegen/vir/vir.h"

/// Subnormal numbers become zeros.
static inline float hlo_vir_flush(float x) {
  uint32_t bits = hlo_f32_to_bits(x);
  return bits & 0x7f800000 ? x : hlo_f32_from_bits(bits & 0x80000000);
}

/// Bits of the result from bits of the operands (zero-extended; a mask's lane is 0 or all ones),
/// for a value that hlo_vir_verify() accepts. False where the op has no value: division by 0 or
/// overflow of sdiv and srem. To be called in the state of hlo_fp_enter().
bool hlo_vir_lane(const hlo_vir_value_t* value, uint64_t a, uint64_t b, uint64_t c, uint64_t* out);

/// What icmp with this hlo_vir_condition_t says of two INDEX values.
bool hlo_vir_compare_index(uint32_t condition, int64_t x, int64_t y);

#endif  // HLO_CODEGEN_VIR_LANE_H_
