// SPDX-License-Identifier: Apache-2.0
// The reference interpreter: one plain function hlo_ref_<op>() per op is the meaning of that op.
//
// Tensors are reference counted. Before a node runs, a value used for the last time is moved out of
// its slot, so an operand with count 1 belongs to the op alone and may be overwritten and returned
// (hlo_tensor_is_unique()): loops over dynamic_update_slice then copy nothing.
#ifndef HLO_INTERP_EVAL_H_
#define HLO_INTERP_EVAL_H_

#include <stdatomic.h>

#include "base/parallel.h"
#include "ir/module.h"
#include "ir/node_error.h"

/// A value while running: dense row-major elements of hlo_dtype_size_bytes() each, a tuple, or a
/// token (no elements). Dims are the actual ones (never dynamic).
/// threads: count is atomic; contents belong to one evaluation at a time.
typedef struct hlo_tensor {
  atomic_int count;
  hlo_type_kind_t kind;      // TENSOR, TOKEN, TUPLE, FUTURE
  hlo_dtype_t dtype;
  uint32_t rank;
  uint8_t block_class;       // of the pool that the tensor's memory comes from (tensor.c only)
  bool owns_data;            // `data` is a block of its own (tensor.c only)
  int64_t element_count;
  size_t size_bytes;
  void* data;                // 64-byte aligned when allocated here
  bool is_read_only;         // storage lent by a literal or an input: never overwrite
  const hlo_quant_t* quant;  // lent by the module's types; NULL: plain elements
  void (*release)(void* context);  // lent storage: called when the tensor dies; may be NULL
  void* release_context;
  uint32_t item_count;       // TUPLE, FUTURE
  struct hlo_tensor** items;
  int64_t dims[];            // rank of them
} hlo_tensor_t;

typedef struct hlo_eval hlo_eval_t;

/// errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT (overflowing size). Elements are not initialised.
hlo_status_t hlo_tensor_create(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                               hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// A tensor over storage owned elsewhere, dropped through release(context).
hlo_status_t hlo_tensor_create_lent(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                    void* data, bool is_read_only, void (*release)(void* context),
                                    void* context, hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// The elements of a literal (shared when dense, expanded when a splat).
hlo_status_t hlo_tensor_from_literal(hlo_literal_t* literal, hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_status_t hlo_tensor_create_token(hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// Takes over the references in `items`, also on failure.
hlo_status_t hlo_tensor_create_tuple(uint32_t count, hlo_tensor_t* const* items,
                                     hlo_tensor_t** out_tensor) HLO_MUST_USE;
hlo_tensor_t* hlo_tensor_retain(hlo_tensor_t* tensor);
void hlo_tensor_release(hlo_tensor_t* tensor);  // NULL is fine
static inline bool hlo_tensor_is_unique(const hlo_tensor_t* tensor) {
  return !tensor->is_read_only &&
         atomic_load_explicit(&tensor->count, memory_order_acquire) == 1;
}
/// Whether it is a value of the type: of that kind, element type and shape, in dynamic dimensions of
/// any size.
bool hlo_tensor_fits(const hlo_tensor_t* tensor, const hlo_type_t* type);
/// Zero-rank or any-shape integer element `i` as int64 (indices, predicates, sizes).
int64_t hlo_tensor_int(const hlo_tensor_t* tensor, int64_t i);

/// The result type number `i` of a node as a new tensor: static types give the shape, dynamic ones
/// are an INTERNAL error here (such ops compute their own dims).
hlo_status_t hlo_eval_result(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                             hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// As above with given dims, element type and quantization from the result type.
hlo_status_t hlo_eval_result_dims(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                  uint32_t rank, const int64_t* dims,
                                  hlo_tensor_t** out_tensor) HLO_MUST_USE;
/// If operand `k` is unique and of the size and element width of result `i`, its storage becomes
/// the result (retained, retyped); else a fresh tensor. For elementwise in-place evaluation.
hlo_status_t hlo_eval_result_reuse(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                   hlo_tensor_t* const* operands, uint32_t k,
                                   hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Runs a region of `node`'s own on tensors (bodies that are no scalar functions: scan, fallback of
/// hlo_region_fn_call). Nothing inside may suspend. args are lent; results are new references.
/// errors: what the body answers; UNIMPLEMENTED without a program or on suspension
hlo_status_t hlo_eval_run_region(hlo_eval_t* eval, const hlo_region_t* region,
                                 hlo_tensor_t* const* args, hlo_tensor_t** results) HLO_MUST_USE;
/// How the kernels of an op run their loops; NULL: on the calling thread.
const hlo_parallel_t* hlo_eval_parallel(const hlo_eval_t* eval);
/// Tables of Fourier transforms, kept for the evaluation's next ones.
struct hlo_fft_cache* hlo_eval_fft_cache(hlo_eval_t* eval);
/// State of the stateful generators (rng), seeded by the options; never NULL.
uint64_t* hlo_eval_rng_state(hlo_eval_t* eval);

/// hlo_ref_<op>(): computes the results of one node. `operands` are lent (a unique one may be
/// overwritten); each result is a new reference. On failure no result is set.
/// threads: any number of evaluations at once; one evaluation runs one op at a time.
#define HLO_OP(id, ...)                                                                   \
  hlo_status_t hlo_ref_##id(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands, \
                            hlo_tensor_t** results) HLO_MUST_USE;
#include "ir/ops.def"
#undef HLO_OP
typedef hlo_status_t (*hlo_ref_fn_t)(hlo_eval_t* eval, const hlo_node_t* node,
                                     hlo_tensor_t** operands, hlo_tensor_t** results);
/// NULL for ops of trait CONTROL and TERMINATOR, which the evaluator itself runs (their
/// hlo_ref_<op>() answers INTERNAL).
hlo_ref_fn_t hlo_ref_function(hlo_op_t op);

/// A region of scalar arguments prepared for many calls (reducers, comparators, scatter and map
/// bodies): recognised as one elementwise op where it is one, else run node by node on scalars
/// without allocating.
typedef struct hlo_region_fn hlo_region_fn_t;
hlo_status_t hlo_region_fn_create(hlo_eval_t* eval, const hlo_region_t* region,
                                  hlo_region_fn_t** out_fn) HLO_MUST_USE;
void hlo_region_fn_release(hlo_region_fn_t* fn);
/// If the whole body is `op(arg0, arg1)` (either order for commutative ops) of one dtype, that op,
/// else HLO_OP_COUNT: callers have fast loops for add, multiply, maximum, minimum, and, or.
hlo_op_t hlo_region_fn_binary(const hlo_region_fn_t* fn);
/// For a comparator of 2n arguments whose body only compares arguments 0 and 1, strictly: true, and
/// whether it is less-than (ascending). out_total_order: floats by IEEE 754 totalOrder, else by
/// plain comparison, where NaN is less than nothing.
bool hlo_region_fn_comparator(const hlo_region_fn_t* fn, bool* out_ascending,
                              bool* out_total_order);
/// For a total-order comparator: both keys are first made canonical, all NaN one positive NaN and
/// -0 equal to 0 (the form that jax.lax.sort sends).
bool hlo_region_fn_comparator_is_canonical(const hlo_region_fn_t* fn);
/// Calls the body on scalars: args[i] points at an element of the i-th argument's dtype, results[i]
/// at room for one of the i-th result's. results may alias args.
hlo_status_t hlo_region_fn_call(hlo_region_fn_t* fn, const void* const* args,
                                void* const* results) HLO_MUST_USE;

/// As above on `count` consecutive elements each: element k of the results is the body on element k
/// of the args. results may alias args exactly, never in part. Much quicker than single calls.
hlo_status_t hlo_region_fn_call_many(hlo_region_fn_t* fn, size_t count, const void* const* args,
                                     void* const* results) HLO_MUST_USE;

/// Odometer over dims: advances `index` (row-major); false after the last.
bool hlo_index_next(uint32_t rank, const int64_t* dims, int64_t* index);

#endif  // HLO_INTERP_EVAL_H_
