// SPDX-License-Identifier: Apache-2.0
// Pass lift_windows: turns a reduce_window with a body that neither loops nor the library know, as
// for several values at once, into the ops of the body on whole values: a slice of the padded input
// per position of the window, combined in order.
#include "base/copy.h"
#include "base/tuning.h"
#include "ir/reducer.h"
#include "ir/window.h"
#include "passes/build.h"
#include "passes/passes.h"
#include "passes/splice.h"

/// The values that are reduced together.
typedef struct group {
  hlo_value_t* values[HLO_LIFT_MAX_VALUES];
} group_t;

typedef struct windows {
  hlo_node_t* node;
  uint32_t count, rank;  // of values, of their dimensions
  hlo_window_dim_t dims[HLO_RANK_MAX];
} windows_t;

// Returns true if loops or the library may compute the windows: a single op.
static bool is_known(const hlo_node_t* node) {
  const hlo_op_t op = node->result_count == 1 ? hlo_reduce_op(node, 0) : HLO_OP_COUNT;
  return op == HLO_OP_add ||
         (op != HLO_OP_COUNT && !hlo_dtype_is_complex(node->results[0].type->dtype));
}

// Returns true if neither sizes nor the number of ops get out of hand.
static bool is_small(const windows_t* w) {
  int64_t elements = 1, ops = hlo_splice_size(w->node->regions[0]) + 1;
  for (uint32_t d = 0; d < w->rank; ++d) {
    const hlo_window_dim_t* dim = &w->dims[d];
    const int64_t padded = (dim->in_size - 1) * dim->base_dilation + 1 + dim->low + dim->high;
    if (dim->out_size < 1 || dim->in_size < 1 ||
        __builtin_mul_overflow(elements, padded, &elements) || elements > INT64_MAX / 64 ||
        __builtin_mul_overflow(ops, dim->size, &ops) || ops > HLO_TUNING_LIFT_WINDOW_MAX_OPS) {
      return false;
    }
  }
  return true;
}

static bool read_windows(hlo_node_t* node, windows_t* w) {
  if (node->op != HLO_OP_reduce_window || !hlo_lift_can_reduce(node) || is_known(node))
    return false;
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  *w = (windows_t){.node = node, .count = node->result_count, .rank = type->rank};
  return hlo_status_take_ok(hlo_window_dims_of(node, w->rank, type->dims, w->dims)) && is_small(w);
}

// Returns the inputs with the initial values around them and between their elements.
static group_t pad_inputs(const windows_t* w) {
  group_t padded = {{NULL}};
  int64_t low[HLO_RANK_MAX], high[HLO_RANK_MAX], between[HLO_RANK_MAX];
  for (uint32_t d = 0; d < w->rank; ++d) {
    low[d] = w->dims[d].low;
    high[d] = w->dims[d].high;
    between[d] = w->dims[d].base_dilation - 1;
  }
  for (uint32_t i = 0; i < w->count; ++i) {
    padded.values[i] = hlo_build_pad(w->node, hlo_node_operand(w->node, i),
                                     hlo_node_operand(w->node, w->count + i), low, high, between);
  }
  return padded;
}

// Values are NULL when memory is exhausted, which the module records.
static group_t fold_positions(const windows_t* w) {
  const group_t inputs = pad_inputs(w);
  group_t sums = {{NULL}}, elements = {{NULL}};
  int64_t sizes[HLO_RANK_MAX], steps[HLO_RANK_MAX], at[HLO_RANK_MAX] = {0}, first[HLO_RANK_MAX];
  for (uint32_t i = 0; i < w->count; ++i) {
    sums.values[i] = hlo_build_broadcast(w->node, w->node->results[i].type,
                                         hlo_node_operand(w->node, w->count + i), NULL);
  }
  for (uint32_t d = 0; d < w->rank; ++d) {
    sizes[d] = w->dims[d].size;
    steps[d] = w->dims[d].stride;
  }
  do {
    for (uint32_t d = 0; d < w->rank; ++d) first[d] = at[d] * w->dims[d].window_dilation;
    for (uint32_t i = 0; i < w->count; ++i) {
      elements.values[i] =
          hlo_build_slice(w->node, w->node->results[i].type, inputs.values[i], first, steps);
    }
    hlo_lift_pair(w->node, w->node->regions[0], w->count, sums.values, elements.values,
                  sums.values);
  } while (hlo_index_next(w->rank, sizes, at));
  return sums;
}

static hlo_status_t lift_window(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  windows_t w;
  if (!read_windows(node, &w)) return hlo_ok();
  const group_t results = fold_positions(&w);
  HLO_TRY(hlo_module_status(node->parent->module));
  for (uint32_t i = 0; i < w.count; ++i) {
    hlo_value_replace_uses(&node->results[i], results.values[i]);
  }
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_lift_windows(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, lift_window, ctx);
}
