// SPDX-License-Identifier: Apache-2.0
// The reference interpreter: one plain function hlo_ref_<op>() per op defines the meaning of that
// op.
//
// Tensors are reference counted. Before a node runs, a value used for the last time is moved out of
// its slot. An operand with count 1 therefore belongs to the op alone, which may overwrite and
// return it (hlo_tensor_is_unique()): loops over dynamic_update_slice copy nothing.
#pragma once

#include <stdatomic.h>

#include "base/copy.h"
#include "ir/module.h"

/// A run-time value: dense row-major elements of hlo_dtype_size_bytes() each, a tuple, or a token
/// (no elements). The dims are the actual ones, never dynamic.
/// threads: count is atomic; contents belong to one evaluation at a time.
typedef struct hlo_tensor {
  atomic_int count;
  hlo_type_kind_t kind;  // TENSOR, TOKEN, TUPLE, FUTURE
  hlo_dtype_t dtype;
  uint32_t rank;
  uint8_t block_class;  // pool class of the tensor's memory (tensor.c only)
  bool owns_data;       // `data` is a separate block (tensor.c only)
  int64_t element_count;
  size_t size_bytes;
  void* data;                      // 64-byte aligned when allocated here
  bool is_read_only;               // storage lent by a literal or an input, never overwritten
  const hlo_quant_t* quant;        // lent by the module's types; NULL: plain elements
  void (*release)(void* context);  // lent storage: called when the tensor is destroyed; may be NULL
  void* release_context;
  uint32_t item_count;  // TUPLE, FUTURE
  struct hlo_tensor** items;
  int64_t dims[];  // `rank` entries
} hlo_tensor_t;

typedef struct hlo_eval hlo_eval_t;

/// errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT (overflowing size). Elements are not initialised.
hlo_status_t hlo_tensor_create(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                               hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Creates a tensor over storage owned elsewhere; release(context) is called with the last
/// reference.
hlo_status_t hlo_tensor_create_lent(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                    void* data, bool is_read_only, void (*release)(void* context),
                                    void* context, hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// The elements of a literal (shared when dense, expanded when a splat).
hlo_status_t hlo_tensor_from_literal(hlo_literal_t* literal,
                                     hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_status_t hlo_tensor_create_token(hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Takes ownership of the references in `items`, also on failure.
hlo_status_t hlo_tensor_create_tuple(uint32_t count, hlo_tensor_t* const* items,
                                     hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_tensor_t* hlo_tensor_retain(hlo_tensor_t* tensor);
void hlo_tensor_release(hlo_tensor_t* tensor);  // NULL is allowed
static inline bool hlo_tensor_is_unique(const hlo_tensor_t* tensor) {
  return !tensor->is_read_only && atomic_load_explicit(&tensor->count, memory_order_acquire) == 1;
}
/// Returns true if the tensor has the type's kind, element type and shape; dynamic dimensions match
/// any size.
bool hlo_tensor_fits(const hlo_tensor_t* tensor, const hlo_type_t* type);
/// Returns element `i` of an integer tensor of any rank as int64 (indices, predicates, sizes).
int64_t hlo_tensor_int(const hlo_tensor_t* tensor, int64_t i);

/// Creates a tensor of the type of result `i`. A dynamic type is an INTERNAL error: ops with
/// dynamic results compute their own dims.
hlo_status_t hlo_eval_result(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                             hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Like hlo_eval_result() with given dims; element type and quantization come from the result type.
hlo_status_t hlo_eval_result_dims(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                  uint32_t rank, const int64_t* dims,
                                  hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// If operand `k` is unique and has the size and element width of result `i`, its storage becomes
/// the result (retained, retyped); otherwise creates a tensor. For in-place elementwise evaluation.
hlo_status_t hlo_eval_result_reuse(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                   hlo_tensor_t* const* operands, uint32_t k,
                                   hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Runs a region of `node` on tensors (bodies that are not scalar functions: scan, the fallback of
/// hlo_region_fn_call()). Nothing inside may suspend. args are lent; results are new references.
/// errors: those of the body; UNIMPLEMENTED without a program or on suspension
hlo_status_t hlo_eval_run_region(hlo_eval_t* eval, const hlo_region_t* region,
                                 hlo_tensor_t* const* args, hlo_tensor_t** results) HLO_MUST_USE;
/// State of the stateful generators (rng), seeded by the options; never NULL.
uint64_t* hlo_eval_rng_state(hlo_eval_t* eval);

/// hlo_ref_<op>(): computes the results of one node. `operands` are lent (a unique one may be
/// overwritten); each result is a new reference. On failure no result is set.
/// threads: any number of evaluations at once; one evaluation runs one op at a time.
#define HLO_REF_ARGUMENTS                                         \
  HLO_UNUSED hlo_eval_t *eval, HLO_UNUSED const hlo_node_t *node, \
      HLO_UNUSED hlo_tensor_t **operands, HLO_UNUSED hlo_tensor_t **results
/// Defines hlo_ref_<op>() as another function of the same form.
#define HLO_REF_AS(op, function)                    \
  hlo_status_t hlo_ref_##op(HLO_REF_ARGUMENTS) {    \
    return function(eval, node, operands, results); \
  }
#define HLO_OP(id, ...) hlo_status_t hlo_ref_##id(HLO_REF_ARGUMENTS) HLO_MUST_USE;
#include "ir/ops.def"
#undef HLO_OP
typedef hlo_status_t (*hlo_ref_fn_t)(HLO_REF_ARGUMENTS);
/// Returns NULL for ops of trait CONTROL and TERMINATOR, which the evaluator itself runs (their
/// hlo_ref_<op>() returns INTERNAL).
hlo_ref_fn_t hlo_ref_function(hlo_op_t op);

/// A region of scalar arguments prepared for many calls (reducers, comparators, scatter and map
/// bodies). A body that is one elementwise op is recognised as such; any other body runs node by
/// node on scalars without allocating.
typedef struct hlo_region_fn hlo_region_fn_t;
hlo_status_t hlo_region_fn_create(hlo_eval_t* eval, const hlo_region_t* region,
                                  hlo_region_fn_t** out_fn) HLO_MUST_USE;
void hlo_region_fn_release(hlo_region_fn_t* fn);
/// Returns the op if the whole body is `op(arg0, arg1)` (either order for commutative ops) of one
/// dtype, else HLO_OP_COUNT: callers have fast loops for add, multiply, maximum, minimum, and, or.
hlo_op_t hlo_region_fn_binary(const hlo_region_fn_t* fn);
/// Calls the body on scalars: args[i] points at an element of the i-th argument's dtype, results[i]
/// at room for an element of the i-th result's. results may alias args.
hlo_status_t hlo_region_fn_call(hlo_region_fn_t* fn, const void* const* args,
                                void* const* results) HLO_MUST_USE;

/// Calls the body on `count` consecutive elements each: element k of the results is the body on
/// element k of the args. results may alias args exactly, never in part. Much faster than single
/// calls.
hlo_status_t hlo_region_fn_call_many(hlo_region_fn_t* fn, size_t count, const void* const* args,
                                     void* const* results) HLO_MUST_USE;
