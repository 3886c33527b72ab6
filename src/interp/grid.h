// SPDX-License-Identifier: Apache-2.0
// The interface between an evaluation and the other processes of its program: a table of functions
// that collectives, send, recv, infeed and outfeed call. The functions never block: they complete
// or report pending.
#pragma once

#include "interp/eval.h"

/// The peer of a send or recv that names none (transfers with the host).
#define HLO_PROCESS_ANY UINT32_MAX

/// A rendezvous of processes at one collective. The n-th rendezvous of a process under (channel,
/// members) matches the n-th of the others.
typedef struct hlo_rendezvous {
  const hlo_node_t* node;  // the collective, for messages
  int64_t channel_id;      // 0: no channel
  uint32_t process;        // the caller
  uint32_t member_count;
  const uint32_t* members;  // in group order, including the caller
  uint32_t tensor_count;    // contributed by each member
  hlo_tensor_t* const* tensors;
} hlo_rendezvous_t;

/// Processes are numbered replica * partition_count + partition. If *out_pending is set, the
/// evaluation is suspended and, when resumed, calls again with the same arguments and *ticket (NULL
/// at first, owned by the grid). owner: input tensors are lent, output tensors are new references.
typedef struct hlo_process_grid {
  void* context;
  uint32_t replica_count;
  uint32_t partition_count;
  /// out_parts[member * tensor_count + i]: the contribution of each member, in member order.
  hlo_status_t (*meet)(void* context, const hlo_rendezvous_t* rendezvous, void** ticket,
                       hlo_tensor_t** out_parts, bool* out_pending);
  /// Never waits. source, target: processes or HLO_PROCESS_ANY; the channel is that of the node.
  hlo_status_t (*send)(void* context, const hlo_node_t* node, uint32_t source, uint32_t target,
                       uint32_t tensor_count, hlo_tensor_t* const* tensors);
  hlo_status_t (*recv)(void* context, const hlo_node_t* node, uint32_t source, uint32_t target,
                       uint32_t tensor_count, hlo_tensor_t** out_tensors, bool* out_pending);
  /// Host side; NULL: the op returns UNIMPLEMENTED.
  hlo_status_t (*infeed)(void* context, uint32_t process, const hlo_node_t* node,
                         uint32_t tensor_count, hlo_tensor_t** out_tensors, bool* out_pending);
  hlo_status_t (*outfeed)(void* context, uint32_t process, const hlo_node_t* node,
                          uint32_t tensor_count, hlo_tensor_t* const* tensors, bool* out_pending);
} hlo_process_grid_t;
