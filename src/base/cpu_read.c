// SPDX-License-Identifier: Apache-2.0
// CPUID and XGETBV (see cpu_impl.h).
#include "base/cpu_impl.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <string.h>

#include "base/os.h"

enum { EAX, EBX, ECX, EDX, REGISTER_COUNT };

typedef struct feature_row {
  hlo_cpu_level_t level;
  uint32_t leaf, subleaf;
  uint8_t reg, bit;
} feature_row_t;

static const feature_row_t kFeatures[HLO_CPU_FEATURE_COUNT] = {
#define HLO_CPU_FEATURE(id, name, level, core, leaf, subleaf, reg, bit) \
  {HLO_CPU_LEVEL_##level, leaf, subleaf, reg, bit},
#include "base/cpu.def"
#undef HLO_CPU_FEATURE
};

// The register state that the system saves: without it the instructions of a level fault.
static hlo_cpu_level_t saved_level(void) {
  enum { OSXSAVE_BIT = 27 };
  const uint32_t ymm = 0x6, zmm = 0xe0, tiles = 0x60000;  // bits of XCR0
  uint32_t regs[REGISTER_COUNT];
  if (!__get_cpuid(1, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) ||
      !(regs[ECX] >> OSXSAVE_BIT & 1)) {
    return HLO_CPU_LEVEL_SSE4;
  }
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & ymm) != ymm) return HLO_CPU_LEVEL_SSE4;
  if ((low & zmm) != zmm) return HLO_CPU_LEVEL_AVX2;
  bool has_tiles = (low & tiles) == tiles && hlo_os_permit_tiles();
  return has_tiles ? HLO_CPU_LEVEL_AMX : HLO_CPU_LEVEL_AVX512;
}

uint64_t hlo_cpu_read_features(void) {
  hlo_cpu_level_t saved = saved_level();
  uint64_t features = 0;
  for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
    const feature_row_t* row = &kFeatures[i];
    uint32_t regs[REGISTER_COUNT] = {0};
    if (row->level > saved) continue;
    if (!__get_cpuid_count(row->leaf, row->subleaf, &regs[EAX], &regs[EBX], &regs[ECX],
                           &regs[EDX])) {
      continue;
    }
    features |= (uint64_t)(regs[row->reg] >> row->bit & 1) << i;
  }
  return features;
}

void hlo_cpu_read_brand(char* brand) {
  enum { FIRST_LEAF = 0x80000002, LEAF_COUNT = 3, LEAF_BYTES = 16 };
  char text[LEAF_COUNT * LEAF_BYTES + 1] = {0};
  for (uint32_t i = 0; i < LEAF_COUNT; ++i) {
    uint32_t regs[REGISTER_COUNT];
    if (!__get_cpuid(FIRST_LEAF + i, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX])) return;
    memcpy(text + i * LEAF_BYTES, regs, LEAF_BYTES);
  }
  const char* start = text + strspn(text, " ");
  memcpy(brand, start, strlen(start) + 1);
}

#else

uint64_t hlo_cpu_read_features(void) {
  return 0;
}
void hlo_cpu_read_brand(char* brand) {
  brand[0] = 0;
}

#endif
