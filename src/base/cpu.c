// SPDX-License-Identifier: Apache-2.0
// What the processor can do (see cpu.h).
#include "base/cpu_impl.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

typedef struct feature_row {
  const char* name;
  hlo_cpu_level_t level;
  bool core;
} feature_row_t;

static const feature_row_t kFeatures[HLO_CPU_FEATURE_COUNT] = {
#define HLO_CPU_FEATURE(id, name, level, core, ...) {name, HLO_CPU_LEVEL_##level, core},
#include "base/cpu.def"
#undef HLO_CPU_FEATURE
};
static_assert(HLO_CPU_FEATURE_COUNT <= 64, "features are bits of a 64-bit word");

static const char* const kLevelNames[] = {"generic", "sse2", "sse4", "avx2", "avx512", "amx"};
enum { LEVEL_COUNT = sizeof kLevelNames / sizeof kLevelNames[0] };

#if defined(__x86_64__)
static const char kArchitecture[] = "x86_64";
#elif defined(__aarch64__)
static const char kArchitecture[] = "aarch64";
#else
static const char kArchitecture[] = "unknown";
#endif

static hlo_cpu_level_t level_of(uint64_t features) {
  hlo_cpu_level_t level = HLO_CPU_LEVEL_GENERIC;
  for (int next = level + 1; next < LEVEL_COUNT; ++next) {
    bool core = true, any = false;
    for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
      if ((int)kFeatures[i].level != next || !kFeatures[i].core) continue;
      core &= features >> i & 1;
      any = true;
    }
    if (!core || !any) break;
    level = (hlo_cpu_level_t)next;
  }
  return level;
}

static uint32_t cache_bytes(int name) {
  long size = sysconf(name);
  return size > 0 ? (uint32_t)size : 0;
}

// Read once: on virtual machines every CPUID is a trap of microseconds, and there are dozens.
static hlo_cpu_t machine;

static void read_machine(void) {
  machine.features = hlo_cpu_read_features();
  machine.level = level_of(machine.features);
  machine.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  machine.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  machine.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  hlo_cpu_read_brand(machine.brand);
}

hlo_status_t hlo_cpu_detect(const char* wanted_level, hlo_cpu_t* out_cpu) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_machine);
  hlo_cpu_t cpu = machine;
  if (wanted_level && wanted_level[0]) {
    int wanted = 0;
    while (wanted < LEVEL_COUNT && strcmp(kLevelNames[wanted], wanted_level) != 0) ++wanted;
    if (wanted == LEVEL_COUNT) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "unknown processor level \"%.40s\", expected generic, sse2, sse4, "
                               "avx2, avx512 or amx",
                               wanted_level);
    }
    if (wanted > (int)cpu.level) {
      return hlo_status_create(HLO_STATUS_FAILED_PRECONDITION,
                               "processor level %s asked for, this machine reaches %s",
                               wanted_level, kLevelNames[cpu.level]);
    }
    hlo_cpu_limit(&cpu, (hlo_cpu_level_t)wanted);
  }
  *out_cpu = cpu;
  return hlo_ok();
}

void hlo_cpu_limit(hlo_cpu_t* cpu, hlo_cpu_level_t level) {
  for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
    if (kFeatures[i].level > level) cpu->features &= ~(1ull << i);
  }
  cpu->level = level;
}

const char* hlo_cpu_level_name(hlo_cpu_level_t level) {
  return (unsigned)level < LEVEL_COUNT ? kLevelNames[level] : "unknown";
}

void hlo_cpu_describe(const hlo_cpu_t* cpu, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s %s", kArchitecture, hlo_cpu_level_name(cpu->level));
  const char* separator = ": ";
  for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
    if (!hlo_cpu_has(cpu, (hlo_cpu_feature_t)i)) continue;
    hlo_strbuf_printf(out, "%s%s", separator, kFeatures[i].name);
    separator = " ";
  }
}
