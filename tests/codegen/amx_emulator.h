// SPDX-License-Identifier: Apache-2.0
// For tests whose framework handles signals itself (see amx_emulator.c).
#pragma once

#include <stdbool.h>

/// Installs the SIGILL handler, as at program start.
#if defined(__x86_64__)
void amx_emulator_install(void);
/// Returns true if the processor itself runs tile instructions.
bool amx_emulator_is_idle(void);
#else
static inline void amx_emulator_install(void) {
}
static inline bool amx_emulator_is_idle(void) {
  return true;
}
#endif
