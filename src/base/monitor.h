// SPDX-License-Identifier: Apache-2.0
// A thread that calls a function from time to time, and whenever the process gets a signal.
#pragma once

#include "base/status.h"

/// threads: safe
typedef struct hlo_monitor hlo_monitor_t;

typedef struct hlo_monitor_options {
  uint64_t period_ns;  // 0: only at the signal
  int signal;  // 0: none. The signal's handler is installed until the last monitor of it ends
  /// Called on the thread of the monitor; is_signal: because of the signal.
  void (*look)(void* context, bool is_signal);
  void* context;
} hlo_monitor_options_t;

/// Starts the thread.
/// errors: FAILED_PRECONDITION if the signal has a handler of somebody else, RESOURCE_EXHAUSTED
/// owner : caller, hlo_monitor_release()
hlo_status_t hlo_monitor_create(const hlo_monitor_options_t* options,
                                hlo_monitor_t** out_monitor) HLO_MUST_USE;
/// Ends the thread, after its call if it is in one. NULL is fine. has_thread: false in a forked
/// child, where the thread does not exist.
void hlo_monitor_release(hlo_monitor_t* monitor, bool has_thread);

/// Finds the number of "USR1", "SIGUSR1" or "10"; "" is 0.
/// errors: INVALID_ARGUMENT for signals that cannot or should not be handled
hlo_status_t hlo_monitor_signal(const char* name, int* out_signal) HLO_MUST_USE;
