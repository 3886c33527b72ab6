// SPDX-License-Identifier: Apache-2.0
// What a program's code finds on the thread that runs it: the floating-point state, and the
// processor that library functions may count on. Both belong to the thread, so that generated code
// and library functions pass nothing along.
//
// Whoever calls into a program (an entry, a folded op) enters the program's environment first and
// leaves it afterwards; a program that calls code of others restores the host's around the call. A
// parallel loop runs its chunks in the environment of the thread that began it (base/threads.h).
#ifndef HLO_BASE_ENV_H_
#define HLO_BASE_ENV_H_

#include "base/cpu.h"
#include "base/fpenv.h"

/// How a program wants to run; plain data.
typedef struct hlo_env {
  hlo_subnormals_t subnormals;
  hlo_cpu_level_t level;  // most that library functions use
} hlo_env_t;

/// What a thread has; plain data, also for other threads.
typedef struct hlo_env_state {
  hlo_fp_state_t fp;
  int level;  // hlo_cpu_level_t, or -1: no program's, so that of the machine
} hlo_env_state_t;

/// With the options' defaults, on this machine.
const hlo_env_t* hlo_env_default(void);

hlo_env_state_t hlo_env_get(void);
/// Enters a program's environment; returns what the thread had. threads: safe
hlo_env_state_t hlo_env_enter(const hlo_env_t* env);
/// Takes over the environment of another thread; returns what this one had.
hlo_env_state_t hlo_env_adopt(hlo_env_state_t state);
/// Puts back what one of the two found, on the same thread.
void hlo_env_leave(hlo_env_state_t before);

/// The level that library functions may use on this thread: that of the program, or else of the
/// machine, which it never exceeds (a program for another machine is compiled, not run).
hlo_cpu_level_t hlo_env_level(void);

#endif  // HLO_BASE_ENV_H_
