// SPDX-License-Identifier: Apache-2.0
// Padding between elements: the result is filled, then the operand copied into it with strides. The
// loops of programs compute padding at the edges alone.
#include "base/copy.h"
#include "lib/call_impl.h"

static const int64_t DISTANCE_MAX = (int64_t)1 << 40;  // as no index overflows

typedef struct {
  int64_t dims[HLO_SHAPE_RANK_LIMIT];  // of the elements that are not cut off at the edges
  int64_t in_strides[HLO_SHAPE_RANK_LIMIT], out_strides[HLO_SHAPE_RANK_LIMIT];
  int64_t from, to;  // bytes to the first element in operand and result
} plan_t;

static hlo_status_t run_pad(const hlo_lib_run_t* run) {
  const plan_t* plan = run->plan;
  const hlo_lib_array_t *in = &run->operands[0], *out = &run->results[0];
  const size_t bytes = hlo_lib_element_bytes(out);
  hlo_strided_fill(bytes, (size_t)out->element_count, out->data, run->operands[1].data);
  hlo_strided_copy(bytes, in->rank, plan->dims, out->data + plan->to, plan->out_strides,
                   in->data + plan->from, plan->in_strides);
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_pad(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_lib_array_t *in = &call->operands[0], *out = &call->results[0];
  if (in->rank > HLO_SHAPE_RANK_LIMIT) return hlo_ok();
  plan_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  if (!plan) return hlo_arena_status(arena);
  hlo_strided_dense(hlo_lib_element_bytes(in), in->rank, in->dims, plan->in_strides);
  hlo_strided_dense(hlo_lib_element_bytes(out), out->rank, out->dims, plan->out_strides);
  bool is_empty = false;
  for (uint32_t d = 0; d < in->rank; ++d) {
    const int64_t low = hlo_node_attr_item(call->node, HLO_ATTR_edge_padding_low, d, 0);
    const int64_t between = hlo_node_attr_item(call->node, HLO_ATTR_interior_padding, d, 0);
    if (low < -DISTANCE_MAX || between > DISTANCE_MAX) return hlo_ok();
    const int64_t step = between + 1, first = low < 0 ? (-low + between) / step : 0;
    const int64_t at = low + first * step, left = in->dims[d] - first;
    const int64_t room = (out->dims[d] - at + between) / step;
    plan->dims[d] = room < left ? room : left;
    is_empty |= plan->dims[d] <= 0;
    plan->from += first * plan->in_strides[d];
    plan->to += at * plan->out_strides[d];
    plan->out_strides[d] *= step;
  }
  if (is_empty) *plan = (plan_t){0};
  call->plan = plan;
  call->run = run_pad;
  return hlo_ok();
}
