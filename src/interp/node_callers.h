// SPDX-License-Identifier: Apache-2.0
// Calls of nodes (node_call.h) from many threads: each call takes a spare evaluation or creates
// one.
#ifndef HLO_INTERP_NODE_CALLERS_H_
#define HLO_INTERP_NODE_CALLERS_H_

#include <stdatomic.h>

#include "base/program_abi.h"
#include "interp/node_call.h"

enum { HLO_NODE_CALLER_SPARE_COUNT = 8 };

/// The state of one call in progress.
typedef struct hlo_node_caller {
  hlo_eval_t* eval;
  void* addresses[];        // value_limit entries
} hlo_node_caller_t;

/// Zero-initialised is empty. The owner sets the first three fields and must not change them after
/// the first call. owner: hlo_node_callers_deinit(), which does not free `program`.
typedef struct hlo_node_callers {
  const hlo_interp_program_t* program;  // NULL: no node has regions
  const hlo_func_t* func;               // of the nodes
  uint32_t value_limit;                 // maximum number of operands, results and captures of a
                                        // node
  _Atomic(hlo_node_caller_t*) spares[HLO_NODE_CALLER_SPARE_COUNT];
} hlo_node_callers_t;

/// threads: safe. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_node_callers_take(hlo_node_callers_t* callers,
                                   hlo_node_caller_t** out_caller) HLO_MUST_USE;
/// Runs a node over `addresses` (operands, results, captures; `caller`'s own array or another) as
/// part of a frame, whose `saved` holds the state of stateful generators; then returns `caller` to the pool. peers NULL: the node never waits. errors: those
/// of hlo_node_call_run()
hlo_status_t hlo_node_callers_run(hlo_node_callers_t* callers, hlo_node_caller_t* caller,
                                  hlo_frame_t* frame, const hlo_node_t* node,
                                  uint32_t capture_count, const hlo_value_t* const* captures,
                                  void* const* addresses, hlo_node_peers_t* peers) HLO_MUST_USE;
void hlo_node_callers_deinit(hlo_node_callers_t* callers);

#endif  // HLO_INTERP_NODE_CALLERS_H_
