// SPDX-License-Identifier: Apache-2.0
// Evaluates one lane of a lane-wise op: the expression column of vir.def, compiled. The semantics
// of these ops for the interpreter, constant folding and the tests of every back end.
#pragma once

#include "base/float_bits.h"
#include "codegen/vir/vir.h"

/// Replaces subnormal numbers by zeros.
static inline float hlo_vir_flush(float x) {
  uint32_t bits = hlo_f32_to_bits(x);
  return bits & 0x7f800000 ? x : hlo_f32_from_bits(bits & 0x80000000);
}

/// Computes the bits of the result from the bits of the operands (zero-extended; a lane of a mask
/// is 0 or all ones), for a value that hlo_vir_verify() accepts. False where the op is undefined:
/// division by 0 or overflow of sdiv and srem. Call it in the state of hlo_fp_enter().
bool hlo_vir_lane(const hlo_vir_value_t* value, uint64_t a, uint64_t b, uint64_t c, uint64_t* out);

/// Computes an INDEX op of two operands; `flags` are the instruction's. False where it is
/// undefined: idiv and irem of a negative number, or by one that is not positive.
bool hlo_vir_index_pair(uint32_t op, uint32_t flags, int64_t x, int64_t y, int64_t* out);
