// SPDX-License-Identifier: Apache-2.0
// Targets from CPUs (see target.h).
#include "codegen/target.h"

void hlo_target_init(const hlo_cpu_t* cpu, hlo_target_t* out_target) {
  *out_target = (hlo_target_t){.cpu = *cpu, .vector_bytes = 16, .vector_registers = 16};
  out_target->has_dot_u8s8 = hlo_cpu_has(cpu, HLO_CPU_AVX_VNNI);
  if (cpu->level >= HLO_CPU_LEVEL_AVX512) {
    out_target->has_dot_u8s8 = hlo_cpu_has(cpu, HLO_CPU_AVX512VNNI);
    out_target->has_dot_bf16 = hlo_cpu_has(cpu, HLO_CPU_AVX512BF16);
    out_target->vector_bytes = 64;
    out_target->vector_registers = 32;
    out_target->has_masks = out_target->has_encoder = true;
  } else if (cpu->level >= HLO_CPU_LEVEL_AVX2) {
    out_target->vector_bytes = 32;
    out_target->has_encoder = true;
  }
}
