// SPDX-License-Identifier: Apache-2.0
// The capabilities of the processor: one table of features (cpu.def), levels by name, cache sizes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strbuf.h"

typedef enum hlo_cpu_feature {
#define HLO_CPU_FEATURE(id, ...) HLO_CPU_##id,
#include "base/cpu.def"
#undef HLO_CPU_FEATURE
  HLO_CPU_FEATURE_COUNT
} hlo_cpu_feature_t;

/// Generations of machines; each level includes the ones before.
typedef enum hlo_cpu_level {
  HLO_CPU_LEVEL_GENERIC,  // no machine code: any other architecture
  HLO_CPU_LEVEL_SSE2,     // the x86-64 baseline
  HLO_CPU_LEVEL_SSE4,     // up to SSE4.2; AVX without AVX2 counts as this
  HLO_CPU_LEVEL_AVX2,
  HLO_CPU_LEVEL_AVX512,
  HLO_CPU_LEVEL_AMX,
  HLO_CPU_LEVEL_LAST = HLO_CPU_LEVEL_AMX,
} hlo_cpu_level_t;

/// threads: immutable after detection.
typedef struct hlo_cpu {
  uint64_t features;      // one bit for each hlo_cpu_feature_t, if the system supports it too
  hlo_cpu_level_t level;  // the highest whose core features are all present
  uint32_t l1_bytes;      // data caches of one core, and the last-level cache; 0: unknown
  uint32_t l2_bytes;
  uint32_t l3_bytes;
  char brand[52];  // "" if the processor does not say
} hlo_cpu_t;

/// Describes a processor. wanted: "" or NULL for this one, as read once by CPUID; a level name for
/// this processor limited to that level or, if the level is higher, the features that every
/// processor of that level has, then features to add and remove ("avx2+avx_vnni", "amx-amx_int8");
/// "@FILE" for the output of `hlocc info` on another machine, or that output itself.
/// errors: INVALID_ARGUMENT for an unknown name, a feature of a higher level, or a description
/// without features; those of reading the file
hlo_status_t hlo_cpu_find(const char* wanted, hlo_cpu_t* out_cpu) HLO_MUST_USE;
/// Like hlo_cpu_find() for a processor that runs the code.
/// errors: also FAILED_PRECONDITION if this machine lacks a feature
hlo_status_t hlo_cpu_detect(const char* wanted, hlo_cpu_t* out_cpu) HLO_MUST_USE;
/// Reads a description as text ended by a zero; NULL if `wanted` is a level.
/// owner: caller, hlo_mem_free(). errors: those of reading the file
hlo_status_t hlo_cpu_read_description(const char* wanted, char** out_text) HLO_MUST_USE;

static inline bool hlo_cpu_has(const hlo_cpu_t* cpu, hlo_cpu_feature_t feature) {
  return cpu->features >> feature & 1;
}
/// Removes the features of higher levels than this one, which becomes the CPU's level.
void hlo_cpu_limit(hlo_cpu_t* cpu, hlo_cpu_level_t level);
const char* hlo_cpu_level_name(hlo_cpu_level_t level);
/// Prints names, separated by spaces, of the features with a bit in `features`.
void hlo_cpu_print_features(uint64_t features, hlo_strbuf_t* out);
/// Prints "x86_64 avx512: sse4.1 ... avx512bf16" for the platform version and cache keys.
void hlo_cpu_describe(const hlo_cpu_t* cpu, hlo_strbuf_t* out);
