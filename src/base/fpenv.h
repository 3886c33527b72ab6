// SPDX-License-Identifier: Apache-2.0
// The floating-point state of a thread: rounding, exceptions, treatment of subnormal numbers. One
// implementation per architecture. base/env.h sets it together with the rest of a program's
// environment; only tests call this header directly.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <fenv.h>
#endif

/// The treatment of numbers below the smallest normal one by arithmetic (docs/numerics.md).
typedef enum hlo_subnormals {
  HLO_SUBNORMALS_FLUSH,  // reads them as zeros and returns zeros instead
  HLO_SUBNORMALS_KEEP,   // as in IEEE 754
} hlo_subnormals_t;

/// The control register; plain data.
typedef struct hlo_fp_state {
#if defined(__x86_64__)
  uint32_t mxcsr;
#elif defined(__aarch64__)
  uint64_t fpcr;
#else
  fenv_t environment;
#endif
} hlo_fp_state_t;

#if defined(__x86_64__)

enum {
  HLO_MXCSR_STICKY = 0x3f,    // flags of exceptions that happened
  HLO_MXCSR_MASKED = 0x1f80,  // no exception traps; rounds to nearest even
  HLO_MXCSR_FLUSH = 0x8000,   // results
  HLO_MXCSR_FLUSH_INPUT = 0x40,
};

static inline hlo_fp_state_t hlo_fp_get(void) {
  return (hlo_fp_state_t){__builtin_ia32_stmxcsr()};
}

/// Sets the state; takes a few cycles if nothing differs.
static inline void hlo_fp_set(hlo_fp_state_t state) {
  if (__builtin_ia32_stmxcsr() != state.mxcsr) __builtin_ia32_ldmxcsr(state.mxcsr);
}

/// Enters the state of programs: round to nearest even, no traps. Returns the previous state.
static inline hlo_fp_state_t hlo_fp_enter(hlo_subnormals_t subnormals) {
  const uint32_t flush = HLO_MXCSR_FLUSH | HLO_MXCSR_FLUSH_INPUT;
  const uint32_t wanted = HLO_MXCSR_MASKED | (subnormals == HLO_SUBNORMALS_FLUSH ? flush : 0);
  const hlo_fp_state_t before = hlo_fp_get();
  if ((before.mxcsr & ~(uint32_t)HLO_MXCSR_STICKY) != wanted) __builtin_ia32_ldmxcsr(wanted);
  return before;
}

/// Returns true if arithmetic on this thread flushes subnormal numbers.
static inline bool hlo_fp_flushes(void) {
  return (__builtin_ia32_stmxcsr() & HLO_MXCSR_FLUSH) != 0;
}

#elif defined(__aarch64__)

#define HLO_FPCR_FLUSH (UINT64_C(1) << 24)  // operands and results of f32 and f64, not of f16

static inline hlo_fp_state_t hlo_fp_get(void) {
  hlo_fp_state_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state.fpcr));
  return state;
}

/// Sets the state; takes a few cycles if nothing differs.
static inline void hlo_fp_set(hlo_fp_state_t state) {
  if (hlo_fp_get().fpcr != state.fpcr) __asm__ volatile("msr fpcr, %0" : : "r"(state.fpcr));
}

/// Enters the state of programs: round to nearest even, no traps. Returns the previous state.
static inline hlo_fp_state_t hlo_fp_enter(hlo_subnormals_t subnormals) {
  const hlo_fp_state_t before = hlo_fp_get();
  hlo_fp_set((hlo_fp_state_t){subnormals == HLO_SUBNORMALS_FLUSH ? HLO_FPCR_FLUSH : 0});
  return before;
}

/// Returns true if arithmetic on this thread flushes subnormal numbers.
static inline bool hlo_fp_flushes(void) {
  return (hlo_fp_get().fpcr & HLO_FPCR_FLUSH) != 0;
}

#else  // portable C cannot flush subnormal numbers

static inline hlo_fp_state_t hlo_fp_get(void) {
  hlo_fp_state_t state;
  fegetenv(&state.environment);
  return state;
}

static inline void hlo_fp_set(hlo_fp_state_t state) {
  fesetenv(&state.environment);
}

/// Enters the state of programs: round to nearest even, no traps. Returns the previous state.
static inline hlo_fp_state_t hlo_fp_enter(hlo_subnormals_t subnormals) {
  (void)subnormals;
  const hlo_fp_state_t before = hlo_fp_get();
  fesetenv(FE_DFL_ENV);
  return before;
}

/// Returns true if arithmetic on this thread flushes subnormal numbers.
static inline bool hlo_fp_flushes(void) {
  return false;
}

#endif

/// Puts back what hlo_fp_enter() found, on the same thread.
static inline void hlo_fp_leave(hlo_fp_state_t before) {
  hlo_fp_set(before);
}
