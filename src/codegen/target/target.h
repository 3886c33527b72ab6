// SPDX-License-Identifier: Apache-2.0
// The machine that code is generated for: vector width, registers, instruction sets, caches. It is
// derived from the CPU or described by hand, so that code for an absent machine can be generated
// and tested.
#pragma once

#include "base/env.h"
#include "tile/target.h"

/// threads: immutable
typedef struct hlo_target {
  hlo_cpu_t cpu;                    // usable features, caches
  hlo_subnormals_t subnormals;      // handling of subnormals in the state that code runs in
  uint32_t vector_bytes;            // 16, 32, 64
  uint32_t vector_registers;        // registers available for values: 14, 16, 32
  uint32_t mask_registers;          // the same for masks: vectors without AVX-512
  bool has_masks;                   // masked loads and stores of every element, faults suppressed
  bool has_parts;                   // the same for masks that are constants: the first few elements
  bool has_permute;                 // lanes move freely in a few instructions
  bool has_dot_u8s8, has_dot_bf16;  // of the vector IR
  bool has_permute_pair;            // of the vector IR
  bool has_half;                    // arithmetic on f16; not yet run on real hardware
  bool has_scale;                   // of the vector IR
  bool has_fma;                     // as one instruction; otherwise sums of products round twice
  bool has_threads;                 // code may wait for other threads, and compare and swap: CPUs
  bool has_async_copies;            // of the vector IR: GPUs
  bool has_bulk_copies;             // of the vector IR: GPUs
  bool has_encoder;                 // machine code can be generated
  uint32_t process_count;           // processes of a program that share the caches; 0: one
  uint32_t unroll;                  // vectors per iteration of elementwise loops, for tests; 0: as
                                    // many as fit
  hlo_tile_target_t tile;           // the same as data for the solver: memories, atoms, rates
} hlo_target_t;

/// Initialises the target of a CPU (hlo_cpu_detect()): AVX-512, AVX2 or SSE; otherwise one without
/// encoder.
void hlo_target_init(const hlo_cpu_t* cpu, hlo_target_t* out_target);

/// Finds the target that HLOCC_CPU names (hlo_cpu_find()), with the rates of its description if it
/// has one. may_be_absent: the code will not run here.
/// errors : those of hlo_cpu_detect()
hlo_status_t hlo_target_find(const char* wanted, bool may_be_absent,
                             hlo_target_t* out_target) HLO_MUST_USE;

/// Prints a description of which hlo_target_find() makes the same target but for the subnormals:
/// the processor and, where they differ from its own, sizes and rates.
void hlo_target_print(const hlo_target_t* target, hlo_strbuf_t* out);

/// Returns the floating-point environment of code for the target.
static inline hlo_env_t hlo_target_env(const hlo_target_t* target) {
  return hlo_env_of_cpu(target->subnormals, &target->cpu);
}

/// Adds everything that generated code depends on to a hash.
uint64_t hlo_target_hash(const hlo_target_t* target, uint64_t hash);

static inline uint32_t hlo_target_process_count(const hlo_target_t* target) {
  return target->process_count ? target->process_count : 1;
}

/// Returns the size of a cache line.
static inline uint32_t hlo_target_line_bytes(const hlo_target_t* target) {
  return (uint32_t)target->tile.memories[target->tile.memory_count - 1].line_bytes;
}

/// Returns true if data of this size is evicted from the caches before it can be reused.
bool hlo_target_is_large(const hlo_target_t* target, size_t size_bytes);

/// Returns true if loops that read and write `moved_bytes` should store an array past the caches:
/// the array is large itself, or most of it is evicted by the rest before the loops end.
bool hlo_target_passes_caches(const hlo_target_t* target, size_t stored_bytes, double moved_bytes);
