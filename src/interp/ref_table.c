// SPDX-License-Identifier: Apache-2.0
// From ops to their reference functions.
#include "interp/eval.h"

// While reference functions are still being written a missing one is NULL here.
extern __typeof__(hlo_ref_batch_norm_grad) hlo_ref_batch_norm_grad __attribute__((weak));
extern __typeof__(hlo_ref_batch_norm_inference) hlo_ref_batch_norm_inference __attribute__((weak));
extern __typeof__(hlo_ref_batch_norm_training) hlo_ref_batch_norm_training __attribute__((weak));
extern __typeof__(hlo_ref_chlo_ragged_dot) hlo_ref_chlo_ragged_dot __attribute__((weak));
extern __typeof__(hlo_ref_cholesky) hlo_ref_cholesky __attribute__((weak));
extern __typeof__(hlo_ref_einsum) hlo_ref_einsum __attribute__((weak));
extern __typeof__(hlo_ref_triangular_solve) hlo_ref_triangular_solve __attribute__((weak));
extern __typeof__(hlo_ref_unary_einsum) hlo_ref_unary_einsum __attribute__((weak));

static const hlo_ref_fn_t functions[HLO_OP_COUNT] = {
#define HLO_OP(id, ...) [HLO_OP_##id] = hlo_ref_##id,
#include "ir/ops.def"
#undef HLO_OP
};

hlo_ref_fn_t hlo_ref_function(hlo_op_t op) {
  if ((unsigned)op >= HLO_OP_COUNT) return NULL;
  const uint32_t control = HLO_TRAIT_CONTROL | HLO_TRAIT_TERMINATOR;
  return hlo_op_info(op)->traits & control ? NULL : functions[op];
}
