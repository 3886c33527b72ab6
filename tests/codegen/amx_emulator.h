// SPDX-License-Identifier: Apache-2.0
// For tests whose framework takes signals for itself (see amx_emulator.c).
#ifndef AMX_EMULATOR_H_
#define AMX_EMULATOR_H_

#include <stdbool.h>

/// Takes SIGILL, as is done when the program starts.
#if defined(__x86_64__)
void amx_emulator_install(void);
/// Whether tile instructions run on the processor itself, which has them.
bool amx_emulator_is_idle(void);
#else
static inline void amx_emulator_install(void) {
}
static inline bool amx_emulator_is_idle(void) {
  return true;
}
#endif

#endif  // AMX_EMULATOR_H_
