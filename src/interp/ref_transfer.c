// SPDX-License-Identifier: Apache-2.0
// Reference functions of send, recv, infeed and outfeed: all through the process grid.
#include <string.h>

#include "interp/eval_impl.h"
#include "ir/process_groups.h"

static hlo_status_t grid_of(const hlo_eval_t* eval, const hlo_node_t* node, bool has_function,
                            const hlo_process_grid_t** out_grid) {
  *out_grid = eval->options.grid;
  if (has_function) return hlo_ok();
  return hlo_node_unimplemented(node, "the transfer has no peer: this is the only process");
}

// Finds the peer process by source_target_pairs, ANY without them; returns false if this process
// takes no part.
static bool find_peer(const hlo_eval_t* eval, const hlo_node_t* node, bool is_source,
                      uint32_t* out_peer) {
  *out_peer = HLO_PROCESS_ANY;
  return !hlo_transfer_has_pairs(node) ||
         hlo_transfer_peer(node, eval->options.grid->partition_count, eval->options.process,
                           is_source, out_peer);
}

static bool ends_in_token(uint32_t count, hlo_tensor_t* const* tensors) {
  return count && tensors[count - 1]->kind == HLO_TYPE_TOKEN;
}

hlo_status_t hlo_ref_send(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = NULL;
  HLO_TRY(grid_of(eval, node, eval->options.grid && eval->options.grid->send, &grid));
  uint32_t count = node->operand_count - ends_in_token(node->operand_count, operands);
  uint32_t peer;
  if (find_peer(eval, node, true, &peer)) {
    HLO_TRY(grid->send(grid->context, node, eval->options.process, peer, count, operands));
  }
  return hlo_tensor_create_token(&results[0]);
}

static hlo_status_t release_results(const hlo_node_t* node, hlo_tensor_t** results,
                                    hlo_status_t status) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}

// Checks received tensors against the result types; the last result is a token.
static hlo_status_t finish_input(const hlo_node_t* node, uint32_t count, hlo_tensor_t** results) {
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    const hlo_tensor_t* tensor = results[i];
    bool is_alike =
        type->kind == tensor->kind && type->dtype == tensor->dtype && type->rank == tensor->rank;
    for (uint32_t d = 0; is_alike && d < type->rank; ++d) {
      is_alike = type->dims[d] < 0 || type->dims[d] == tensor->dims[d];
    }
    if (!is_alike) {
      return release_results(
          node, results,
          hlo_node_invalid(node, "received value %u does not have the result's type", i));
    }
  }
  if (count == node->result_count) return hlo_ok();
  hlo_status_t status = hlo_tensor_create_token(&results[count]);
  return hlo_status_is_ok(status) ? status : release_results(node, results, status);
}

static uint32_t values_of(const hlo_node_t* node) {
  uint32_t count = node->result_count;
  return count && node->results[count - 1].type->kind == HLO_TYPE_TOKEN ? count - 1 : count;
}

static hlo_status_t zeros(hlo_eval_t* eval, const hlo_node_t* node, uint32_t count,
                          hlo_tensor_t** results) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_status_t status = hlo_eval_result(eval, node, i, &results[i]);
    if (!hlo_status_is_ok(status)) return release_results(node, results, status);
    memset(results[i]->data, 0, results[i]->size_bytes);
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_recv(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = NULL;
  HLO_TRY(grid_of(eval, node, eval->options.grid && eval->options.grid->recv, &grid));
  uint32_t count = values_of(node);
  uint32_t peer;
  bool is_pending = false;
  if (find_peer(eval, node, false, &peer)) {
    HLO_TRY(
        grid->recv(grid->context, node, peer, eval->options.process, count, results, &is_pending));
  } else {
    HLO_TRY(zeros(eval, node, count, results));
  }
  if (!is_pending) return finish_input(node, count, results);
  hlo_eval_suspend(eval);
  return hlo_ok();
}

hlo_status_t hlo_ref_infeed(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = NULL;
  HLO_TRY(grid_of(eval, node, eval->options.grid && eval->options.grid->infeed, &grid));
  uint32_t count = values_of(node);
  bool is_pending = false;
  HLO_TRY(grid->infeed(grid->context, eval->options.process, node, count, results, &is_pending));
  if (!is_pending) return finish_input(node, count, results);
  hlo_eval_suspend(eval);
  return hlo_ok();
}

hlo_status_t hlo_ref_outfeed(HLO_REF_ARGUMENTS) {
  const hlo_process_grid_t* grid = NULL;
  HLO_TRY(grid_of(eval, node, eval->options.grid && eval->options.grid->outfeed, &grid));
  uint32_t count = node->operand_count - ends_in_token(node->operand_count, operands);
  bool is_pending = false;
  HLO_TRY(grid->outfeed(grid->context, eval->options.process, node, count, operands, &is_pending));
  if (!is_pending) return hlo_tensor_create_token(&results[0]);
  hlo_eval_suspend(eval);
  return hlo_ok();
}

// HLO's send-done and recv-done: the interpreter's send and recv are complete when they return.
HLO_REF_AS(hlo_send_done, hlo_ref_hlo_copy)

hlo_status_t hlo_ref_hlo_recv_done(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* packed = operands[0];
  if (packed->item_count < node->result_count) {
    return hlo_node_invalid(node, "%u values for %u results", packed->item_count,
                            node->result_count);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    results[i] = hlo_tensor_retain(packed->items[i]);
  }
  return hlo_ok();
}
