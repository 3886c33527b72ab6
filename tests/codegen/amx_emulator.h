// SPDX-License-Identifier: Apache-2.0
// For tests whose framework takes signals for itself (see amx_emulator.c).
#ifndef AMX_EMULATOR_H_
#define AMX_EMULATOR_H_

/// Takes SIGILL, as is done when the program starts.
#if defined(__x86_64__)
void amx_emulator_install(void);
#else
static inline void amx_emulator_install(void) {
}
#endif

#endif  // AMX_EMULATOR_H_
