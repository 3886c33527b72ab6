// SPDX-License-Identifier: Apache-2.0
// Checks of tests (ir/check.h), assertions about shapes, and the numbers of processes.
#include <string.h>

#include "ir/check.h"
#include "lib/call_impl.h"

// ---- checks

static bool is_same_type(const hlo_lib_array_t* a, hlo_dtype_t dtype, uint32_t rank,
                         const int64_t* dims) {
  return a->dtype == dtype && a->rank == rank && memcmp(a->dims, dims, rank * sizeof *dims) == 0;
}

static hlo_status_t run_check(const hlo_lib_run_t* run) {
  const hlo_lib_array_t* actual = run->operands;
  const void* expected = run->node->operand_count > 1 ? run->operands[1].data : NULL;
  HLO_TRY(hlo_check_elements(run->plan, actual->dtype, actual->rank, actual->dims, actual->data,
                             expected));
  for (uint32_t i = 0; i < run->node->result_count; ++i) {
    memset(run->results[i].data, 1, run->results[i].size_bytes);
  }
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_check(hlo_lib_call_t* call, hlo_arena_t* arena) {
  hlo_check_t* check = hlo_arena_array(arena, 1, sizeof *check);
  if (!check) return hlo_arena_status(arena);
  const hlo_lib_array_t *actual = call->operands, *expected = call->operands + 1;
  const uint32_t count = call->node->operand_count;
  if (!hlo_check_of(call->node, check)) return hlo_ok();
  const hlo_literal_t* literal = check->expected;
  const bool fits = count == 2
                        ? is_same_type(actual, expected->dtype, expected->rank, expected->dims)
                        : count == 1 && literal &&
                              is_same_type(actual, literal->dtype, literal->rank, literal->dims);
  call->plan = check;
  if (fits) call->run = run_check;
  return hlo_ok();
}

static hlo_status_t run_shape_assertion(const hlo_lib_run_t* run) {
  enum { NAMED_MAX = 10 };  // {0} to {9}
  int64_t values[NAMED_MAX];
  uint32_t count = 0;
  const hlo_lib_array_t* in = run->operands;
  if (hlo_dtype_load_int64(in->dtype, in->data)) return hlo_ok();
  for (uint32_t i = 1; i < run->node->operand_count && count < NAMED_MAX; ++i) {
    values[count++] = hlo_dtype_load_int64(in[i].dtype, in[i].data);
  }
  return hlo_check_shape_error(run->node, count, values);
}

hlo_status_t hlo_lib_prepare_shape_assertion(hlo_lib_call_t* call, HLO_UNUSED hlo_arena_t* arena) {
  bool fits = call->node->operand_count > 0 && call->node->result_count == 0;
  for (uint32_t i = 0; i < call->node->operand_count; ++i) {
    const hlo_dtype_t dtype = call->operands[i].dtype;
    fits &= call->operands[i].element_count > 0 &&
            (dtype == HLO_DTYPE_PRED || hlo_dtype_is_integer(dtype));
  }
  if (fits) call->run = run_shape_assertion;
  return hlo_ok();
}

// ---- processes

static hlo_status_t run_process_id(const hlo_lib_run_t* run) {
  const hlo_frame_t* frame = run->frame;
  const int32_t id = run->node->op == HLO_OP_replica_id ? frame->replica_id : frame->partition_id;
  hlo_dtype_store_int64(run->results->dtype, run->results->data, id);
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_process_id(hlo_lib_call_t* call, HLO_UNUSED hlo_arena_t* arena) {
  call->run = run_process_id;
  return hlo_ok();
}
