// SPDX-License-Identifier: Apache-2.0
// Forked child processes that run a function whose crashes and endless loops their parent survives:
// the parent sends requests, and waits for answers with a time limit.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// owner: the parent, hlo_child_stop(). threads: confined
typedef struct hlo_child {
  int64_t process_id;
  int socket;  // to the other process
} hlo_child_t;

/// Runs in the child, which ends when it returns. Other threads of the parent do not exist there:
/// locks that they held stay locked. Signals have their default effect.
typedef void (*hlo_child_body_t)(void* context, int socket);

/// Forks a child, which dies with its parent. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_child_start(hlo_child_body_t body, void* context,
                             hlo_child_t* out_child) HLO_MUST_USE;

typedef enum hlo_child_answer {
  HLO_CHILD_ANSWERED,
  HLO_CHILD_TIMED_OUT,
  HLO_CHILD_ENDED,  // the other process closed its socket, or died
} hlo_child_answer_t;

/// Sends bytes to the other process; false if it has ended.
bool hlo_child_send(int socket, const void* data, size_t size_bytes);
/// Receives all bytes of `data`. timeout_ns UINT64_MAX: without limit
hlo_child_answer_t hlo_child_receive(int socket, void* data, size_t size_bytes,
                                     uint64_t timeout_ns);

/// Kills the child if it still runs, and frees what the parent has of it. Returns the signal that
/// ended the child before; 0: it ran, or returned. Accepts a child that was not started (zeros).
int hlo_child_stop(hlo_child_t* child);

/// Maps zeroed pages that this process and its children share. owner: hlo_os_pages_unmap().
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_child_pages_map(size_t size_bytes, void** out_pages) HLO_MUST_USE;
