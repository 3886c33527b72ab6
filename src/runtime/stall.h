// SPDX-License-Identifier: Apache-2.0
// Ends collectives whose members do not come. A launch whose devices all wait, or of which one has
// ended while others wait for it, fails at once (group.c). A member that waits for something else,
// such as a value of the application or a foreign function, is waited for only so long.
#pragma once

#include "runtime/client.h"

typedef struct hlo_stall_options {
  uint64_t warn_ns;  // log a wait that takes longer, again whenever its time has doubled; 0: never
  /// Fail a wait with DEADLINE_EXCEEDED when a member has waited for something else for this time;
  /// one that computes has ten times as long. 0: never
  uint64_t fail_ns;
} hlo_stall_options_t;

/// Looks at the launches of a client from time to time, on a thread of its own.
typedef struct hlo_stall_monitor hlo_stall_monitor_t;

/// *out_monitor is NULL if the options ask for nothing. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_stall_monitor_create(hlo_client_t* client, const hlo_stall_options_t* options,
                                      hlo_stall_monitor_t** out_monitor) HLO_MUST_USE;
/// NULL is fine. has_thread: false in a forked child, where the thread does not exist.
void hlo_stall_monitor_release(hlo_stall_monitor_t* monitor, bool has_thread);
