// SPDX-License-Identifier: Apache-2.0
// Library functions as call.c finds them: how each is prepared and run.
#pragma once

#include "base/mem.h"
#include "ir/module.h"
#include "lib/call.h"

/// An operand or result: dense row-major elements of a static type.
typedef struct hlo_lib_array {
  hlo_dtype_t dtype;
  uint32_t rank;
  const int64_t* dims;
  int64_t element_count;
  size_t size_bytes;
  char* data;  // NULL while a call is prepared
} hlo_lib_array_t;

/// One run of a call.
typedef struct hlo_lib_run {
  void* plan;
  hlo_frame_t* frame;  // of the program
  const hlo_parallel_t* parallel;
  const hlo_node_t* node;
  const hlo_lib_array_t *operands, *results;
} hlo_lib_run_t;

struct hlo_lib_call {
  const hlo_node_t* node;
  const hlo_lib_array_t *operands, *results;
  void* plan;                                     // the function's parameters, in the arena
  hlo_status_t (*run)(const hlo_lib_run_t* run);  // NULL: not supported
  void (*release)(void* plan);                    // NULL: the plan owns nothing
};

/// Sets call->run and call->plan unless the function does not support the node.
typedef hlo_status_t (*hlo_lib_prepare_fn_t)(hlo_lib_call_t* call, hlo_arena_t* arena);
hlo_status_t hlo_lib_prepare_attention(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_fft(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_pad(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_scatter(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_sort(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_cholesky(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_lapack(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_triangular_solve(hlo_lib_call_t* call,
                                              hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_reduce_window(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_select_and_scatter(hlo_lib_call_t* call,
                                                hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_rng_bit_generator(hlo_lib_call_t* call,
                                               hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_rng(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_rng_state(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_check(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_shape_assertion(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_process_id(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;
hlo_status_t hlo_lib_prepare_top_k(hlo_lib_call_t* call, hlo_arena_t* arena) HLO_MUST_USE;

static inline int64_t hlo_lib_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline size_t hlo_lib_element_bytes(const hlo_lib_array_t* array) {
  return hlo_dtype_size_bytes(array->dtype);
}
