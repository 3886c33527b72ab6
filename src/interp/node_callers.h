// SPDX-License-Identifier: Apache-2.0
// Calls of nodes (node_call.h) from many threads: each takes a spare evaluation or makes another.
#ifndef HLO_INTERP_NODE_CALLERS_H_
#define HLO_INTERP_NODE_CALLERS_H_

#include <stdatomic.h>

#include "base/kernel_abi.h"
#include "base/parallel.h"
#include "interp/node_call.h"

enum { HLO_NODE_CALLER_SPARE_COUNT = 8 };

/// The state of calls under way; one call at a time.
typedef struct hlo_node_caller {
  hlo_eval_t* eval;
  hlo_parallel_t parallel;  // of the frame that calls
  void* addresses[];        // room for value_limit of them
} hlo_node_caller_t;

/// Zero-initialised is empty. The first three are the owner's, who may not change them once a call
/// was made. owner: hlo_node_callers_deinit(), which leaves `program` alone.
typedef struct hlo_node_callers {
  const hlo_interp_program_t* program;  // NULL: no node has regions
  const hlo_func_t* func;               // of the nodes
  uint32_t value_limit;                 // most operands, results and captures of a node
  _Atomic(hlo_node_caller_t*) spares[HLO_NODE_CALLER_SPARE_COUNT];
} hlo_node_callers_t;

/// threads: safe. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_node_callers_take(hlo_node_callers_t* callers,
                                   hlo_node_caller_t** out_caller) HLO_MUST_USE;
/// Runs a node over `addresses` (operands, results, captures; the caller's own or others) as part
/// of a frame, whose threads it uses and whose `saved` holds the state of hidden generators; then
/// gives the caller back. peers NULL: it waits for nobody. errors: as hlo_node_call_run()
hlo_status_t hlo_node_callers_run(hlo_node_callers_t* callers, hlo_node_caller_t* caller,
                                  hlo_frame_t* frame, const hlo_node_t* node,
                                  uint32_t capture_count, const hlo_value_t* const* captures,
                                  void* const* addresses, hlo_node_peers_t* peers) HLO_MUST_USE;
void hlo_node_callers_deinit(hlo_node_callers_t* callers);

#endif  // HLO_INTERP_NODE_CALLERS_H_
