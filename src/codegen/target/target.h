// SPDX-License-Identifier: Apache-2.0
// What code is generated for: vector width, registers, instruction sets, caches. Made from the CPU
// or described by hand, so that code for an absent machine can be made and tested.
#ifndef HLO_CODEGEN_TARGET_H_
#define HLO_CODEGEN_TARGET_H_

#include "base/env.h"
#include "tile/target.h"

/// threads: immutable
typedef struct hlo_target {
  hlo_cpu_t cpu;                    // features that may be used, caches
  hlo_subnormals_t subnormals;      // what becomes of them in the state that code runs in
  uint32_t vector_bytes;            // 16, 32, 64
  uint32_t vector_registers;        // that values may be in: 14, 16, 32
  bool has_masks;                   // masked loads and stores of every element, faults suppressed
  bool has_permute;                 // any lane takes any other's element, in a few instructions
  bool has_dot_u8s8, has_dot_bf16;  // of the vector IR
  bool has_half;                    // arithmetic on f16; it has not run on a machine so far
  bool has_scale;                   // of the vector IR
  bool has_fma;                     // in one instruction; else sums of products round twice
  bool has_encoder;                 // machine code can be made
  uint32_t unroll;                  // vectors at a time in elementwise loops, for tests; 0: as fit
  hlo_tile_target_t tile;           // the same as data: memories, atoms, rates
} hlo_target_t;

/// The target of a CPU (hlo_cpu_detect()): AVX-512, AVX2 or SSE; else one without encoder.
void hlo_target_init(const hlo_cpu_t* cpu, hlo_target_t* out_target);

/// The target that HLOCC_CPU names (hlo_cpu_find()), with the rates of its description if it has
/// one. may_be_absent: nothing of it is to run here. errors: those of hlo_cpu_detect()
hlo_status_t hlo_target_find(const char* wanted, bool may_be_absent,
                             hlo_target_t* out_target) HLO_MUST_USE;

/// The environment that code for the target runs in.
static inline hlo_env_t hlo_target_env(const hlo_target_t* target) {
  return (hlo_env_t){target->subnormals, target->cpu.level};
}

/// Adds to a hash all that code depends on.
uint64_t hlo_target_hash(const hlo_target_t* target, uint64_t hash);

/// What comes from memory at once.
static inline uint32_t hlo_target_line_bytes(const hlo_target_t* target) {
  return (uint32_t)target->tile.memories[target->tile.memory_count - 1].line_bytes;
}

/// Whether so much data leaves the caches before anyone can read it there again.
bool hlo_target_is_large(const hlo_target_t* target, size_t size_bytes);

/// Whether an array is better stored past the caches by loops that read and write `moved_bytes`: it
/// is large itself, or most of it will have made place for the rest when they end.
bool hlo_target_passes_caches(const hlo_target_t* target, size_t stored_bytes, double moved_bytes);

#endif  // HLO_CODEGEN_TARGET_H_
