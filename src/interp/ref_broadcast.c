// SPDX-License-Identifier: Apache-2.0
// CHLO's elementwise ops with implicit broadcast: operands are expanded to the common shape, then
// the plain op runs on them.
#include <string.h>

#include "base/copy.h"
#include "interp/kernels_impl.h"

// ---- expansion --------------------------------------------------------------------------------

hlo_status_t hlo_tensor_expand(const hlo_tensor_t* tensor, uint32_t rank, const int64_t* dims,
                               const int64_t* map, hlo_tensor_t** out_tensor) {
  hlo_tensor_t* result;
  HLO_TRY(hlo_tensor_create(tensor->dtype, rank, dims, &result));
  result->quant = tensor->quant;
  const size_t width = hlo_dtype_size_bytes(tensor->dtype);
  int64_t dense[HLO_RANK_MAX], from[HLO_RANK_MAX] = {0}, to[HLO_RANK_MAX];
  hlo_strided_dense(width, tensor->rank, tensor->dims, dense);
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    if (tensor->dims[d] != 1) from[map[d]] = dense[d];  // otherwise the element repeats
  }
  hlo_strided_dense(width, rank, dims, to);
  hlo_strided_copy(width, rank, dims, result->data, to, tensor->data, from);
  *out_tensor = result;
  return hlo_ok();
}

// ---- ops --------------------------------------------------------------------------------------

enum { OPERANDS_MAX = 3 };

typedef struct broadcast {
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX];
  int64_t maps[OPERANDS_MAX][HLO_RANK_MAX];
} broadcast_t;

// Maps the dims of operand k to those of the result: aligned to the right, or by
// `broadcast_dimensions` for the operand of lower rank.
static hlo_status_t place_operand(const hlo_node_t* node, const hlo_tensor_t* operand, uint32_t k,
                                  broadcast_t* b) {
  uint32_t given_count;
  const int64_t* given =
      node->op == HLO_OP_chlo_broadcast_select
          ? NULL
          : hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &given_count);
  bool is_given = given != NULL && given_count == operand->rank && operand->rank < b->rank;
  for (uint32_t d = 0; d < operand->rank; ++d) {
    int64_t to = is_given ? given[d] : (int64_t)(b->rank - operand->rank + d);
    if (to < 0 || to >= (int64_t)b->rank || (d > 0 && to <= b->maps[k][d - 1])) {
      return hlo_node_invalid(node, "broadcast_dimensions must be increasing and below %u",
                              b->rank);
    }
    b->maps[k][d] = to;
    int64_t size = operand->dims[d];
    if (b->dims[to] == 1) {
      b->dims[to] = size;
    } else if (size != 1 && size != b->dims[to]) {
      return hlo_node_invalid(node, "dimensions of sizes %lld and %lld do not broadcast",
                              (long long)b->dims[to], (long long)size);
    }
  }
  return hlo_ok();
}

static bool has_shape(const hlo_tensor_t* tensor, const broadcast_t* b) {
  return tensor->rank == b->rank && memcmp(tensor->dims, b->dims, b->rank * sizeof(int64_t)) == 0;
}

static hlo_status_t run_plain(hlo_eval_t* eval, const hlo_node_t* node, hlo_op_t op,
                              hlo_tensor_t** operands, hlo_tensor_t** results) {
  if (op == HLO_OP_select) return hlo_select_run(eval, node, operands, results);
  hlo_kernel_id_t id =
      op == HLO_OP_compare ? hlo_kernel_of_compare(node, operands[0]->dtype) : hlo_kernel_of_op(op);
  return hlo_elementwise_run(eval, node, id, operands, results);
}

static hlo_status_t broadcast_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_op_t op,
                                  hlo_tensor_t** operands, hlo_tensor_t** results) {
  const uint32_t count = node->operand_count;
  if (count > OPERANDS_MAX) return hlo_node_invalid(node, "too many operands");
  broadcast_t b = {.rank = 0};
  for (uint32_t k = 0; k < count; ++k) {
    if (operands[k]->rank > b.rank) b.rank = operands[k]->rank;
  }
  for (uint32_t d = 0; d < b.rank; ++d) b.dims[d] = 1;
  for (uint32_t k = 0; k < count; ++k) HLO_TRY(place_operand(node, operands[k], k, &b));

  hlo_tensor_t* expanded[OPERANDS_MAX] = {NULL};
  hlo_tensor_t* plain[OPERANDS_MAX] = {NULL};
  hlo_status_t status = hlo_ok();
  for (uint32_t k = 0; k < count && hlo_status_is_ok(status); ++k) {
    bool is_scalar_pred = op == HLO_OP_select && k == 0 && operands[0]->element_count == 1;
    plain[k] = operands[k];
    if (has_shape(operands[k], &b) || is_scalar_pred) continue;
    status = hlo_tensor_expand(operands[k], b.rank, b.dims, b.maps[k], &expanded[k]);
    plain[k] = expanded[k];
  }
  if (hlo_status_is_ok(status)) status = run_plain(eval, node, op, plain, results);
  for (uint32_t k = 0; k < count; ++k) hlo_tensor_release(expanded[k]);
  return status;
}

#define BROADCAST(id)                                                 \
  hlo_status_t hlo_ref_chlo_broadcast_##id(HLO_REF_ARGUMENTS) {       \
    return broadcast_run(eval, node, HLO_OP_##id, operands, results); \
  }
BROADCAST(add)
BROADCAST(and)
BROADCAST(atan2)
BROADCAST(compare)
BROADCAST(complex)
BROADCAST(divide)
BROADCAST(maximum)
BROADCAST(minimum)
BROADCAST(multiply)
BROADCAST(or)
BROADCAST(power)
BROADCAST(remainder)
BROADCAST(select)
BROADCAST(shift_left)
BROADCAST(shift_right_arithmetic)
BROADCAST(shift_right_logical)
BROADCAST(subtract)
BROADCAST(xor)
#undef BROADCAST
#define BROADCAST_CHLO(id)                                                 \
  hlo_status_t hlo_ref_chlo_broadcast_##id(HLO_REF_ARGUMENTS) {            \
    return broadcast_run(eval, node, HLO_OP_chlo_##id, operands, results); \
  }
BROADCAST_CHLO(next_after)
BROADCAST_CHLO(polygamma)
BROADCAST_CHLO(zeta)
#undef BROADCAST_CHLO
