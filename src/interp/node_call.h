// SPDX-License-Identifier: Apache-2.0
// Runs single nodes over the caller's memory: compiled programs run the nodes that have no
// generated code this way. Operands are read and results written in place.
#ifndef HLO_INTERP_NODE_CALL_H_
#define HLO_INTERP_NODE_CALL_H_

#include "interp/program.h"

/// Addresses of elements in the format of hlo_tensor_t; those of tokens are ignored. A result may
/// share the memory of an operand if hlo_call_may_share() says so; otherwise results overlap
/// nothing.
typedef struct hlo_node_call {
  const hlo_node_t* node;
  void* const* operands;
  void* const* results;
  uint32_t capture_count;
  const hlo_value_t* const* captures;  // values that the node's regions use from outside
  void* const* captured;
} hlo_node_call_t;

/// The connection of a call to other processes.
typedef struct hlo_node_peers {
  const hlo_process_grid_t* grid;  // NULL: a single process
  uint32_t process;
  void* ticket;     // NULL at the first call, then as the call left it
  bool is_pending;  // output: nothing was written; call again when the process is resumed
                    // process is woken
} hlo_node_peers_t;

/// Creates an evaluation for calls of nodes with at most `value_limit` operands, results and
/// captures. `program` (of the nodes' module) and their function `func` are needed for nodes with
/// regions, else NULL. options may be NULL. owner: the caller, hlo_interp_end(). threads: one call
/// at a time. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_node_calls_begin(const hlo_interp_program_t* program, const hlo_func_t* func,
                                  uint32_t value_limit, const hlo_interp_options_t* options,
                                  hlo_eval_t** out_eval) HLO_MUST_USE;
/// errors: those of hlo_ref_<op>(), with the node's location; UNIMPLEMENTED for ops that have to
/// wait
hlo_status_t hlo_node_call_run(hlo_eval_t* eval, const hlo_node_call_t* call) HLO_MUST_USE;
/// Like hlo_node_call_run() for a node that may have to wait (hlo_call_may_wait()). The operands
/// may change as soon as the call has completed.
hlo_status_t hlo_node_call_rendezvous(hlo_eval_t* eval, const hlo_node_call_t* call,
                                      hlo_node_peers_t* peers) HLO_MUST_USE;

#endif  // HLO_INTERP_NODE_CALL_H_
