// SPDX-License-Identifier: Apache-2.0
// One node at a time over memory of the caller: how compiled programs run what no code was
// generated for. Operands are lent where they are, results written where they are wanted.
#ifndef HLO_INTERP_NODE_CALL_H_
#define HLO_INTERP_NODE_CALL_H_

#include "interp/program.h"

/// Addresses of elements as hlo_tensor_t holds them; those of tokens are not looked at. A result
/// may be the very memory of an operand where hlo_call_may_share() says so; otherwise none
/// overlaps.
typedef struct hlo_node_call {
  const hlo_node_t* node;
  void* const* operands;
  void* const* results;
  uint32_t capture_count;
  const hlo_value_t* const* captures;  // values that the node's regions use from outside
  void* const* captured;
} hlo_node_call_t;

/// How a call meets those of other processes.
typedef struct hlo_node_peers {
  const hlo_process_grid_t* grid;  // NULL: there are none
  uint32_t process;
  void* ticket;     // NULL at the first call, then as the call left it
  bool is_pending;  // answered: nothing was written, and the call is to be made again when the
                    // process is woken
} hlo_node_peers_t;

/// An evaluation for calls of nodes with at most so many operands, results and captures. `program`
/// of the nodes' module and their function `func`: needed for nodes with regions, else NULL.
/// options may be NULL. owner: the caller, hlo_interp_end(). threads: one call at a time. errors:
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_node_calls_begin(const hlo_interp_program_t* program, const hlo_func_t* func,
                                  uint32_t value_limit, const hlo_interp_options_t* options,
                                  hlo_eval_t** out_eval) HLO_MUST_USE;
/// errors: as hlo_ref_<op>(), at the node's place; UNIMPLEMENTED for what would have to wait
hlo_status_t hlo_node_call_run(hlo_eval_t* eval, const hlo_node_call_t* call) HLO_MUST_USE;
/// Likewise of a node that may have to wait (hlo_call_may_wait()). The operands may change as
/// soon as the call has answered.
hlo_status_t hlo_node_call_rendezvous(hlo_eval_t* eval, const hlo_node_call_t* call,
                                hlo_node_peers_t* peers) HLO_MUST_USE;

#endif  // HLO_INTERP_NODE_CALL_H_
