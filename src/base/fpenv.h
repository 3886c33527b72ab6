// SPDX-License-Identifier: Apache-2.0
// The floating-point state that compiled programs run in: round to nearest, subnormals kept, all
// exceptions masked. The host's state (flush-to-zero, say) is put back on the way out.
#ifndef HLO_BASE_FPENV_H_
#define HLO_BASE_FPENV_H_

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

/// What the host had; plain data, for hlo_fp_leave() on the same thread.
typedef struct hlo_fp_state {
#if defined(__x86_64__)
  uint32_t mxcsr;
#else
  fenv_t environment;
#endif
} hlo_fp_state_t;

/// Enters the programs' state: around every entry of a program on a thread that is not the pool's,
/// and again after every foreign call. A few cycles when nothing differs. threads: safe
static inline hlo_fp_state_t hlo_fp_enter(void) {
  hlo_fp_state_t before;
#if defined(__x86_64__)
  enum { MXCSR_DEFAULT = 0x1f80, MXCSR_FLAGS = 0x3f };  // all masked; sticky flags do not matter
  before.mxcsr = _mm_getcsr();
  if ((before.mxcsr & ~(uint32_t)MXCSR_FLAGS) != MXCSR_DEFAULT) _mm_setcsr(MXCSR_DEFAULT);
#else
  fegetenv(&before.environment);
  fesetenv(FE_DFL_ENV);
#endif
  return before;
}

/// Puts the host's state back.
static inline void hlo_fp_leave(hlo_fp_state_t before) {
#if defined(__x86_64__)
  if (_mm_getcsr() != before.mxcsr) _mm_setcsr(before.mxcsr);
#else
  fesetenv(&before.environment);
#endif
}

#endif  // HLO_BASE_FPENV_H_
