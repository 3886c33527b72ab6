// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the functions of this folder may use.
#pragma once

#include <stdbool.h>

typedef enum hlo_isa {
  HLO_ISA_GENERIC,  // the compiler's baseline
  HLO_ISA_AVX2,     // with FMA and F16C
  HLO_ISA_AVX512,   // F, BW, DQ, VL
} hlo_isa_t;

/// Returns the best set that the program on this thread may use (hlo_env_level()).
/// threads: safe
hlo_isa_t hlo_isa(void);

/// Returns true if that set includes products of pairs of bf16 (AVX512_BF16).
/// threads: safe
bool hlo_isa_has_pairs(void);
