// SPDX-License-Identifier: Apache-2.0
// For the files x_isa.c, which the build compiles once for each instruction set, with HLO_ISA
// (generic, avx2, avx512) and HLO_ISA_VECTOR_BYTES defined.
#pragma once

#define HLO_ISA_JOIN_2(name, isa) name##_##isa
#define HLO_ISA_JOIN(name, isa) HLO_ISA_JOIN_2(name, isa)
/// `name` followed by the instruction set: HLO_ISA_NAME(hlo_fold_find) is hlo_fold_find_avx2.
#define HLO_ISA_NAME(name) HLO_ISA_JOIN(name, HLO_ISA)
