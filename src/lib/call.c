// SPDX-License-Identifier: Apache-2.0
// The table of library functions (see call.h).

#include "ir/custom_call.h"
#include "lib/call_impl.h"

static const hlo_lib_prepare_fn_t custom_functions[HLO_CUSTOM_FUNCTION_COUNT + 1] = {
    [HLO_CUSTOM_check_eq... HLO_CUSTOM_check_expect_almost_eq] = hlo_lib_prepare_check,
    [HLO_CUSTOM_shape_assertion] = hlo_lib_prepare_shape_assertion,
    [HLO_CUSTOM_top_k] = hlo_lib_prepare_top_k,
    [HLO_CUSTOM_approx_top_k] = hlo_lib_prepare_top_k,
    [HLO_CUSTOM_potrf... HLO_CUSTOM_gtsv_perturbed] = hlo_lib_prepare_lapack,
};

static hlo_lib_prepare_fn_t function_of(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_hlo_fusion: return hlo_lib_prepare_attention;
    case HLO_OP_fft: return hlo_lib_prepare_fft;
    case HLO_OP_cholesky: return hlo_lib_prepare_cholesky;
    case HLO_OP_triangular_solve: return hlo_lib_prepare_triangular_solve;
    case HLO_OP_pad: return hlo_lib_prepare_pad;
    case HLO_OP_reduce_window: return hlo_lib_prepare_reduce_window;
    case HLO_OP_replica_id:
    case HLO_OP_partition_id: return hlo_lib_prepare_process_id;
    case HLO_OP_rng: return hlo_lib_prepare_rng;
    case HLO_OP_hlo_rng_get_and_update_state: return hlo_lib_prepare_rng_state;
    case HLO_OP_check_expect_eq:
    case HLO_OP_check_expect_eq_const:
    case HLO_OP_check_expect_almost_eq:
    case HLO_OP_check_expect_almost_eq_const:
    case HLO_OP_check_expect_close: return hlo_lib_prepare_check;
    case HLO_OP_rng_bit_generator: return hlo_lib_prepare_rng_bit_generator;
    case HLO_OP_scatter: return hlo_lib_prepare_scatter;
    case HLO_OP_select_and_scatter: return hlo_lib_prepare_select_and_scatter;
    case HLO_OP_sort: return hlo_lib_prepare_sort;
    case HLO_OP_chlo_top_k: return hlo_lib_prepare_top_k;
    case HLO_OP_custom_call: return custom_functions[hlo_custom_function_of(node)];
    default: return NULL;
  }
}

static hlo_status_t run_nothing(HLO_UNUSED const hlo_lib_run_t* run) {
  return hlo_ok();
}

static hlo_status_t prepare_nothing(hlo_lib_call_t* call, HLO_UNUSED hlo_arena_t* arena) {
  call->run = run_nothing;
  return hlo_ok();
}

// Returns true if the node has results, none of them with elements, and no effect.
static bool makes_nothing(const hlo_node_t* node) {
  if (node->op == HLO_OP_create_token || node->op == HLO_OP_after_all) return true;
  bool is_empty = hlo_op_has(node->op, HLO_TRAIT_PURE) && node->result_count > 0;
  for (uint32_t i = 0; i < node->result_count && is_empty; ++i) {
    const hlo_type_t* type = node->results[i].type;
    is_empty =
        hlo_type_is_tensor(type) && hlo_type_is_static(type) && !hlo_type_element_count(type);
  }
  return is_empty;
}

static bool is_plain(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) && hlo_type_is_static(type) && !type->quant;
}

hlo_status_t hlo_lib_call_prepare(const hlo_node_t* node, hlo_arena_t* arena,
                                  hlo_lib_call_t** out_call) {
  *out_call = NULL;
  const bool is_nothing = makes_nothing(node);
  const hlo_lib_prepare_fn_t prepare = is_nothing ? prepare_nothing : function_of(node);
  const uint32_t operand_count = node->operand_count, count = operand_count + node->result_count;
  if (!prepare || count > HLO_LIB_CALL_VALUES_MAX) return hlo_ok();
  hlo_lib_call_t* call = hlo_arena_array(arena, 1, sizeof *call);
  hlo_lib_array_t* arrays = hlo_arena_array(arena, count, sizeof *arrays);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_type(node, i);
    if (is_nothing) continue;  // nothing reads the arrays
    if (!is_plain(type)) return hlo_ok();
    arrays[i] = (hlo_lib_array_t){.dtype = type->dtype,
                                  .rank = type->rank,
                                  .dims = type->dims,
                                  .element_count = hlo_type_element_count(type),
                                  .size_bytes = hlo_type_size_bytes(type)};
  }
  *call = (hlo_lib_call_t){.node = node, .operands = arrays, .results = arrays + operand_count};
  HLO_TRY(prepare(call, arena));
  if (call->run) *out_call = call;
  return hlo_ok();
}

void hlo_lib_call_deinit(hlo_lib_call_t* call) {
  if (call && call->release) call->release(call->plan);
}

hlo_status_t hlo_lib_call_run(const hlo_lib_call_t* call, hlo_frame_t* frame,
                              void* const* addresses) {
  hlo_lib_array_t arrays[HLO_LIB_CALL_VALUES_MAX];
  const uint32_t count = call->node->operand_count + call->node->result_count;
  for (uint32_t i = 0; i < count; ++i) {
    arrays[i] = call->operands[i];
    arrays[i].data = addresses[i];
  }
  const hlo_parallel_t parallel = hlo_frame_parallel(frame);
  const hlo_lib_run_t run = {.plan = call->plan,
                             .frame = frame,
                             .parallel = &parallel,
                             .node = call->node,
                             .operands = arrays,
                             .results = arrays + call->node->operand_count};
  return hlo_node_annotate(call->node, call->run(&run));
}
