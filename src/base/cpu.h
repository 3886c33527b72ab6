// SPDX-License-Identifier: Apache-2.0
// What the processor can do: one table of features (cpu.def), levels by name, cache sizes.
#ifndef HLO_BASE_CPU_H_
#define HLO_BASE_CPU_H_

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

/// Steps of machines, each including the ones before.
typedef enum hlo_cpu_level {
  HLO_CPU_LEVEL_GENERIC,  // without machine code: every other architecture
  HLO_CPU_LEVEL_SSE2,     // x86-64 as it began
  HLO_CPU_LEVEL_SSE4,     // up to SSE4.2; AVX without AVX2 counts as this
  HLO_CPU_LEVEL_AVX2,
  HLO_CPU_LEVEL_AVX512,
  HLO_CPU_LEVEL_AMX,
  HLO_CPU_LEVEL_LAST = HLO_CPU_LEVEL_AMX,
} hlo_cpu_level_t;

/// threads: immutable after detection.
typedef struct hlo_cpu {
  uint64_t features;      // one bit for each hlo_cpu_feature_t, those the system supports too
  hlo_cpu_level_t level;  // the highest whose core features are all there
  uint32_t l1_bytes;      // data caches of one core, and the last level; 0: unknown
  uint32_t l2_bytes;
  uint32_t l3_bytes;
  char brand[52];  // "" if the processor does not say
} hlo_cpu_t;

/// A processor, this one or another: "" or NULL for what CPUID says, which is read once; a level
/// name, with all of it that is here or, of a later level, what every processor of that has; or
/// "@FILE" for what `hlocc info` printed elsewhere.
/// errors: INVALID_ARGUMENT for an unknown name or a file without features; the file's
hlo_status_t hlo_cpu_find(const char* wanted, hlo_cpu_t* out_cpu) HLO_MUST_USE;
/// The same to run code on.
/// errors: FAILED_PRECONDITION where this machine has not all of it
hlo_status_t hlo_cpu_detect(const char* wanted, hlo_cpu_t* out_cpu) HLO_MUST_USE;
/// A description's text, which ends with a zero; NULL where `wanted` is no "@FILE".
/// owner: caller, hlo_mem_free(). errors: the file's
hlo_status_t hlo_cpu_read_description(const char* wanted, char** out_text) HLO_MUST_USE;

static inline bool hlo_cpu_has(const hlo_cpu_t* cpu, hlo_cpu_feature_t feature) {
  return cpu->features >> feature & 1;
}
/// Forgets the features of later levels than this one, which becomes the CPU's.
void hlo_cpu_limit(hlo_cpu_t* cpu, hlo_cpu_level_t level);
const char* hlo_cpu_level_name(hlo_cpu_level_t level);
/// "x86_64 avx512: sse4.1 ... avx512bf16" for the platform version and cache keys.
void hlo_cpu_describe(const hlo_cpu_t* cpu, hlo_strbuf_t* out);

#endif  // HLO_BASE_CPU_H_
