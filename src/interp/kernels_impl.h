// SPDX-License-Identifier: Apache-2.0
// Private to the elementwise ops: the table of kernels of one element type, and the names that the
// templates (ref_unary.inl, ref_binary.inl ...) define.
#pragma once

#include "interp/eval.h"
#include "interp/scalar.h"

typedef enum hlo_kernel_id {
#define HLO_KERNEL(id, arity, result) HLO_KERNEL_##id,
#define HLO_KERNEL_PART(id, arity, result) HLO_KERNEL_##id,
#include "interp/elementwise.def"
  HLO_KERNEL_COUNT
} hlo_kernel_id_t;

/// The kernels of an op on one element type: a loop and a single-element function. NULL: the type
/// lacks the op.
typedef struct hlo_scalar_kernels {
  hlo_loop_fn_t loop;
  hlo_scalar_fn_t scalar;
} hlo_scalar_kernels_t;

/// The kernels of every type except the float types below 32 bits, which run through F32.
extern const hlo_scalar_kernels_t hlo_kernels_PRED[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S2[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S4[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S8[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S16[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S32[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_S64[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U2[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U4[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U8[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U16[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U32[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_U64[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_F32[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_F64[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_C64[HLO_KERNEL_COUNT];
extern const hlo_scalar_kernels_t hlo_kernels_C128[HLO_KERNEL_COUNT];

/// select by width of the values in bytes (1, 2, 4, 8, 16): in[0] PRED, in[1] and in[2] values.
const hlo_scalar_kernels_t* hlo_kernel_select(size_t width_bytes);

/// Returns HLO_KERNEL_COUNT if `op` is not a single kernel.
hlo_kernel_id_t hlo_kernel_of_op(hlo_op_t op);
/// Returns the kernel of a compare node (by its attributes) for operands of element type `dtype`.
hlo_kernel_id_t hlo_kernel_of_compare(const hlo_node_t* node, hlo_dtype_t dtype);
/// Runs `id` for a node whose operands have one shape: checks them, reuses an operand or creates
/// the result. Accepts quantized operands.
hlo_status_t hlo_elementwise_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_kernel_id_t id,
                                 hlo_tensor_t** operands, hlo_tensor_t** results) HLO_MUST_USE;
/// select and clamp of operands that may include scalars.
hlo_status_t hlo_select_run(HLO_REF_ARGUMENTS) HLO_MUST_USE;
/// Returns a tensor of `dims` filled from `tensor`, whose dimension d has size 1 or that of the
/// result's dimension map[d].
hlo_status_t hlo_tensor_expand(const hlo_tensor_t* tensor, uint32_t rank, const int64_t* dims,
                               const int64_t* map, hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Iterations of the next loop are independent, although an output may alias an input.
#if defined(__GNUC__) && !defined(__clang__)
#define HLO_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define HLO_INDEPENDENT_LOOP
#endif

/// Names that the templates make for element type KERNEL_TYPE: CALC(add) is the inline function on
/// values; KERNEL_LOOP(add) and KERNEL_SCALAR(add) are the table's entries.
#define HLO_NAME_3(a, b, c) a##_##b##_##c
#define HLO_NAME_2(a, b, c) HLO_NAME_3(a, b, c)
#define CALC(id) HLO_NAME_2(calc, KERNEL_TYPE, id)
#define KERNEL_LOOP(id) HLO_NAME_2(loop, KERNEL_TYPE, id)
#define KERNEL_SCALAR(id) HLO_NAME_2(scalar, KERNEL_TYPE, id)
#define KERNEL_ROW(id) [HLO_KERNEL_##id] = {KERNEL_LOOP(id), KERNEL_SCALAR(id)}
#define KERNEL_TABLE_NAME_2(type) hlo_kernels_##type
#define KERNEL_TABLE_NAME(type) KERNEL_TABLE_NAME_2(type)
