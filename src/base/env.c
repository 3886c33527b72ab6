// SPDX-License-Identifier: Apache-2.0
// The environment of programs on a thread (see env.h).
#include "base/env.h"

#include <stdatomic.h>

#include "base/float_bits.h"

const float hlo_f32_one = 1;
const double hlo_f64_one = 1;

enum { OF_MACHINE = -1 };

static _Thread_local int t_level = OF_MACHINE;
static _Thread_local bool t_lacks_pairs = false;

hlo_env_t hlo_env_of_cpu(hlo_subnormals_t subnormals, const hlo_cpu_t* cpu) {
  return (hlo_env_t){subnormals, cpu->level, !hlo_cpu_has(cpu, HLO_CPU_AVX512BF16)};
}

const hlo_env_t* hlo_env_default(void) {
  static const hlo_env_t kDefault = {HLO_SUBNORMALS_FLUSH, HLO_CPU_LEVEL_LAST, false};
  return &kDefault;
}

hlo_env_state_t hlo_env_get(void) {
  return (hlo_env_state_t){hlo_fp_get(), t_level, t_lacks_pairs};
}

hlo_env_state_t hlo_env_enter(const hlo_env_t* env) {
  const int level = t_level;
  const bool lacks_pairs = t_lacks_pairs;
  t_level = (int)env->level;
  t_lacks_pairs = env->lacks_pairs;
  return (hlo_env_state_t){hlo_fp_enter(env->subnormals), level, lacks_pairs};
}

hlo_env_state_t hlo_env_adopt(hlo_env_state_t state) {
  const hlo_env_state_t before = hlo_env_get();
  hlo_env_leave(state);
  return before;
}

void hlo_env_leave(hlo_env_state_t before) {
  t_level = before.level;
  t_lacks_pairs = before.lacks_pairs;
  hlo_fp_set(before.fp);
}

static int machine_level(void) {
  // relaxed: every thread computes the same value, and nothing else is published with it
  static atomic_int known = OF_MACHINE;
  int level = atomic_load_explicit(&known, memory_order_relaxed);
  if (level == OF_MACHINE) {
    hlo_cpu_t cpu = {0};
    hlo_status_release(hlo_cpu_detect(NULL, &cpu));  // cannot fail
    level = (int)cpu.level;
    atomic_store_explicit(&known, level, memory_order_relaxed);
  }
  return level;
}

hlo_cpu_level_t hlo_env_level(void) {
  const int machine = machine_level();
  return (hlo_cpu_level_t)(t_level == OF_MACHINE || t_level > machine ? machine : t_level);
}

bool hlo_env_has_pairs(void) {
  enum { UNKNOWN, NO, YES };
  // relaxed: every thread computes the same value, and nothing else is published with it
  static atomic_int known = UNKNOWN;
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == UNKNOWN) {
    hlo_cpu_t cpu = {0};
    hlo_status_release(hlo_cpu_detect(NULL, &cpu));  // cannot fail
    state = hlo_cpu_has(&cpu, HLO_CPU_AVX512BF16) ? YES : NO;
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  return state == YES && !t_lacks_pairs && hlo_env_level() >= HLO_CPU_LEVEL_AVX512;
}
