// SPDX-License-Identifier: Apache-2.0
// Processors: this one, levels by name, descriptions from files (see cpu.h).
#include "base/cpu_impl.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os.h"

enum { DESCRIPTION_LIMIT = 1 << 16 };  // bytes of a file

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

// Read once: on virtual machines every one of the dozens of CPUIDs is a trap of microseconds.
static hlo_cpu_t machine;

static void read_machine(void) {
  machine.features = hlo_cpu_read_features();
  machine.level = level_of(machine.features);
  machine.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  machine.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  machine.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  hlo_cpu_read_brand(machine.brand);
}

// ---- processors by name ------------------------------------------------------------------------

static uint64_t features_up_to(int level) {
  uint64_t features = 0;
  for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
    if (kFeatures[i].core && (int)kFeatures[i].level <= level) features |= 1ull << i;
  }
  return features;
}

static hlo_status_t find_level(const char* name, hlo_cpu_t* cpu) {
  int wanted = 0;
  while (wanted < LEVEL_COUNT && strcmp(kLevelNames[wanted], name) != 0) ++wanted;
  if (wanted == LEVEL_COUNT) {
    return hlo_invalid_argument(
        "unknown processor level \"%.40s\", expected generic, sse2, sse4, avx2, avx512, amx or "
        "@FILE",
        name);
  }
  if (wanted > (int)cpu->level) cpu->features = features_up_to(wanted);
  hlo_cpu_limit(cpu, (hlo_cpu_level_t)wanted);
  return hlo_ok();
}

// Returns the feature's number, HLO_CPU_FEATURE_COUNT for an unknown name.
static int feature_of(const char* name, size_t length) {
  int i = 0;
  while (i < HLO_CPU_FEATURE_COUNT &&
         (strlen(kFeatures[i].name) != length || memcmp(kFeatures[i].name, name, length) != 0)) {
    ++i;
  }
  return i;
}

// Reads a level, then features with signs. A level whose core feature is removed is not reached.
static hlo_status_t find_by_name(const char* wanted, hlo_cpu_t* cpu) {
  char level[41];
  size_t length = strcspn(wanted, "+-");
  if (length >= sizeof level) length = sizeof level - 1;
  memcpy(level, wanted, length);
  level[length] = 0;
  HLO_TRY(find_level(level, cpu));
  uint64_t removed = 0;
  for (const char* at = wanted + length; *at;) {
    const char* name = at + 1;
    const size_t size = strcspn(name, "+-");
    const int feature = feature_of(name, size);
    if (feature == HLO_CPU_FEATURE_COUNT) {
      return hlo_invalid_argument("unknown processor feature \"%.*s\" in \"%.100s\"",
                                  size < 40 ? (int)size : 40, name, wanted);
    }
    if (*at == '+' && kFeatures[feature].level > cpu->level) {
      return hlo_invalid_argument(
          "processor feature %s needs level %s, but \"%.100s\" is of level %s",
          kFeatures[feature].name, kLevelNames[kFeatures[feature].level], wanted, level);
    }
    if (*at == '+') cpu->features |= 1ull << feature;
    if (*at == '-') removed |= 1ull << feature;
    at = name + size;
  }
  if (removed) {
    cpu->features &= ~removed;
    hlo_cpu_limit(cpu, level_of(cpu->features));
  }
  return hlo_ok();
}

// Returns the rest of the line that begins so, or NULL.
static const char* find_line(const char* text, const char* beginning) {
  const size_t length = strlen(beginning);
  while (text && strncmp(text, beginning, length) != 0) {
    text = strchr(text, '\n');
    if (text) ++text;
  }
  return text ? text + length : NULL;
}

static uint64_t read_features(const char* line) {
  uint64_t features = 0;
  const char* end = line + strcspn(line, "\n");
  while (line < end) {
    size_t length = strcspn(line, " \n");
    const int feature = feature_of(line, length);
    if (feature < HLO_CPU_FEATURE_COUNT) features |= 1ull << feature;
    line += length + 1;
  }
  return features;
}

// Reads the output of `hlocc info`; features that this version does not know are skipped.
static hlo_status_t read_cpu(const char* path, const char* text, hlo_cpu_t* out_cpu) {
  hlo_cpu_t cpu = {0};
  unsigned l1 = 0, l2 = 0, l3 = 0;
  const char* features = find_line(text, "features: ");
  const char* caches = find_line(text, "caches: ");
  if (!features) {
    return hlo_invalid_argument("%.200s: no line with features, as hlocc info prints it", path);
  }
  cpu.features = read_features(features);
  cpu.level = level_of(cpu.features);
  if (caches && sscanf(caches, "L1 %u KiB, L2 %u KiB, L3 %u KiB", &l1, &l2, &l3) == 3) {
    const unsigned most = UINT32_MAX >> 10;
    cpu.l1_bytes = (l1 < most ? l1 : most) << 10;
    cpu.l2_bytes = (l2 < most ? l2 : most) << 10;
    cpu.l3_bytes = (l3 < most ? l3 : most) << 10;
  }
  *out_cpu = cpu;
  return hlo_ok();
}

hlo_status_t hlo_cpu_read_description(const char* wanted, char** out_text) {
  uint8_t* data = NULL;
  size_t size = 0;
  *out_text = NULL;
  if (wanted && strchr(wanted, '\n')) {
    *out_text = hlo_mem_strndup(wanted, strlen(wanted));
    return *out_text ? hlo_ok() : hlo_status_out_of_memory(strlen(wanted));
  }
  if (!wanted || wanted[0] != '@') return hlo_ok();
  HLO_TRY(hlo_os_file_read(wanted + 1, DESCRIPTION_LIMIT, &data, &size));
  char* text = hlo_mem_realloc(data, size + 1);
  if (!text) {
    hlo_mem_free(data);
    return hlo_status_out_of_memory(size + 1);
  }
  text[size] = 0;
  *out_text = text;
  return hlo_ok();
}

hlo_status_t hlo_cpu_find(const char* wanted, hlo_cpu_t* out_cpu) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_machine);
  hlo_cpu_t cpu = machine;
  char* text = NULL;
  HLO_TRY(hlo_cpu_read_description(wanted, &text));
  hlo_status_t status = hlo_ok();
  if (text) {
    status = read_cpu(wanted[0] == '@' ? wanted + 1 : "the description", text, &cpu);
  } else if (wanted && wanted[0]) {
    status = find_by_name(wanted, &cpu);
  }
  hlo_mem_free(text);
  if (hlo_status_is_ok(status)) *out_cpu = cpu;
  return status;
}

hlo_status_t hlo_cpu_detect(const char* wanted, hlo_cpu_t* out_cpu) {
  hlo_cpu_t cpu;
  HLO_TRY(hlo_cpu_find(wanted, &cpu));
  const uint64_t missing = cpu.features & ~machine.features;
  if (missing && cpu.level > machine.level && wanted[0] != '@' && !strchr(wanted, '\n')) {
    return hlo_failed_precondition("processor level %s was requested, but this machine has only %s",
                                   wanted, kLevelNames[machine.level]);
  }
  if (missing) {
    const bool is_file = wanted[0] == '@';
    return hlo_failed_precondition(
        "%.200s has %s, which this machine lacks",
        strchr(wanted, '\n') ? "the described processor" : wanted + is_file,
        kFeatures[__builtin_ctzll(missing)].name);
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

void hlo_cpu_print_features(uint64_t features, hlo_strbuf_t* out) {
  const char* separator = "";
  for (int i = 0; i < HLO_CPU_FEATURE_COUNT; ++i) {
    if (!(features >> i & 1)) continue;
    hlo_strbuf_printf(out, "%s%s", separator, kFeatures[i].name);
    separator = " ";
  }
}

void hlo_cpu_describe(const hlo_cpu_t* cpu, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s %s", kArchitecture, hlo_cpu_level_name(cpu->level));
  if (cpu->features) hlo_strbuf_puts(out, ": ");
  hlo_cpu_print_features(cpu->features, out);
}
