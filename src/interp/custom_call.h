// SPDX-License-Identifier: Apache-2.0
// Custom calls that the interpreter implements itself.
#ifndef HLO_INTERP_CUSTOM_CALL_H_
#define HLO_INTERP_CUSTOM_CALL_H_

#include "interp/eval.h"
#include "ir/custom_call.h"

/// lapack_{s,d,c,z}<name>_ffi: factorisations with the operands, results and attributes that JAX
/// passes.
hlo_status_t hlo_custom_lapack_potrf(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_trsm(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_getrf(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_geqrf(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_orgqr(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_syevd(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_ormqr(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_geqp3(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_sytrd(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_gesdd(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_gehrd(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_geev(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_gees(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
hlo_status_t hlo_custom_lapack_gtsv(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;

/// Solves a tridiagonal system; pivots near zero are perturbed.
hlo_status_t hlo_custom_tridiagonal_solve_perturbed(hlo_eval_t* eval, const hlo_node_t* node,
                                                    hlo_tensor_t** operands,
                                                    hlo_tensor_t** results) HLO_MUST_USE;

#endif  // HLO_INTERP_CUSTOM_CALL_H_
