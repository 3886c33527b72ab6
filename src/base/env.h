// SPDX-License-Identifier: Apache-2.0
// The environment of a program on the thread that runs it: the floating-point state, and the
// processor level that library functions may use. Both belong to the thread, so that generated code
// and library functions need not pass them on.
//
// A caller of a program (of an entry, or of a folded op) enters the program's environment before
// the call and leaves it afterwards; a program that calls foreign code restores the host's
// environment around the call. A parallel loop runs its chunks in the environment of the thread
// that started the loop (base/threads.h).
#pragma once

#include "base/cpu.h"
#include "base/fpenv.h"

/// The environment that a program requires; plain data.
typedef struct hlo_env {
  hlo_subnormals_t subnormals;
  hlo_cpu_level_t level;  // highest level that library functions may use
  bool lacks_pairs;       // library functions may not multiply pairs of bf16 (AVX512_BF16)
} hlo_env_t;

/// The environment of a thread; plain data, also for other threads.
typedef struct hlo_env_state {
  hlo_fp_state_t fp;
  int level;  // hlo_cpu_level_t; -1 outside of programs: the machine's level
  bool lacks_pairs;
} hlo_env_state_t;

/// Returns the environment of programs for a processor.
hlo_env_t hlo_env_of_cpu(hlo_subnormals_t subnormals, const hlo_cpu_t* cpu);
/// Returns the environment by the options' defaults on this machine.
const hlo_env_t* hlo_env_default(void);

hlo_env_state_t hlo_env_get(void);
/// Enters a program's environment; returns the thread's previous one. threads: safe
hlo_env_state_t hlo_env_enter(const hlo_env_t* env);
/// Enters the environment of another thread; returns the previous one.
hlo_env_state_t hlo_env_adopt(hlo_env_state_t state);
/// Restores the result of hlo_env_enter() or hlo_env_adopt() on the same thread.
void hlo_env_leave(hlo_env_state_t before);

/// Returns the level that library functions may use on this thread: the level of the program, else
/// of the machine. A program never exceeds the machine, since programs for other machines are
/// compiled but not run.
hlo_cpu_level_t hlo_env_level(void);

/// Returns true if library functions may multiply pairs of bf16 on this thread: the program and the
/// machine have AVX512_BF16.
bool hlo_env_has_pairs(void);
