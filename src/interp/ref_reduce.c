// SPDX-License-Identifier: Apache-2.0
// reduce: a left fold from the initial value in the order of the elements. Many outputs advance
// together.
#include <string.h>

#include "base/mem.h"
#include "interp/ref_fold.h"
#include "interp/ref_util.h"

enum {
  OUTPUTS = 256,       // outputs that advance together
  FEW_OUTPUTS = 16,    // fewer are reduced one after the other
  ELEMENT_BYTES = 16,  // the widest element
};

/// Dimensions of one kind (kept or reduced), walked in row-major order.
typedef struct walk {
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX], strides[HLO_RANK_MAX], index[HLO_RANK_MAX];
  int64_t offset;  // of the index, in elements of the input
} walk_t;

typedef struct reduction {
  const hlo_fold_operands_t* fold;
  uint32_t count;  // of inputs, and of results
  hlo_tensor_t* const* inputs;
  hlo_tensor_t* const* results;
  walk_t kept, reduced;
  uint8_t* elements;  // gathered elements: OUTPUTS per input
  const void** args;  // of the body: accumulators, elements
  void** outs;
} reduction_t;

static bool walk_next(walk_t* walk) {
  for (uint32_t d = walk->rank; d-- > 0;) {
    walk->offset += walk->strides[d];
    if (++walk->index[d] < walk->dims[d]) return true;
    walk->offset -= walk->dims[d] * walk->strides[d];
    walk->index[d] = 0;
  }
  return false;
}

static void split_dims(reduction_t* r, hlo_ints_t reduced_dims) {
  const hlo_tensor_t* input = r->inputs[0];
  int64_t stride = 1, strides[HLO_RANK_MAX];
  for (uint32_t d = input->rank; d-- > 0;) {
    strides[d] = stride;
    stride *= input->dims[d];
  }
  for (uint32_t d = 0; d < input->rank; ++d) {
    walk_t* walk = hlo_ints_has(reduced_dims, d) ? &r->reduced : &r->kept;
    walk->dims[walk->rank] = input->dims[d];
    walk->strides[walk->rank++] = strides[d];
  }
}

static size_t width_of(const reduction_t* r, uint32_t k) {
  return hlo_dtype_size_bytes(r->inputs[k]->dtype);
}

static uint8_t* elements_of(const reduction_t* r, uint32_t k) {
  return r->elements + (size_t)k * OUTPUTS * ELEMENT_BYTES;
}

// out[i] = in[offsets[i]]
static void gather_elements(size_t width, uint32_t count, const int64_t* offsets, const uint8_t* in,
                            uint8_t* out) {
  switch (width) {
    case 1:
      for (uint32_t i = 0; i < count; ++i) out[i] = in[offsets[i]];
      return;
    case 4:
      for (uint32_t i = 0; i < count; ++i) memcpy(out + 4 * i, in + 4 * offsets[i], 4);
      return;
    case 8:
      for (uint32_t i = 0; i < count; ++i) memcpy(out + 8 * i, in + 8 * offsets[i], 8);
      return;
    default:
      for (uint32_t i = 0; i < count; ++i) {
        memcpy(out + width * i, in + width * (size_t)offsets[i], width);
      }
  }
}

// ---- many outputs -------------------------------------------------------------------------------

// Computes results[first..first + count) from the input elements at offsets[i] + every reduced
// offset.
static hlo_status_t advance_outputs(reduction_t* r, int64_t first, uint32_t count,
                                    const int64_t* offsets) {
  bool is_dense = offsets[count - 1] - offsets[0] == (int64_t)count - 1;
  for (uint32_t k = 0; k < r->count; ++k) {
    r->outs[k] = (uint8_t*)r->results[k]->data + (size_t)first * width_of(r, k);
    r->args[k] = r->outs[k];
    r->args[r->count + k] = elements_of(r, k);
  }
  do {
    for (uint32_t k = 0; k < r->count; ++k) {
      size_t width = width_of(r, k);
      const uint8_t* in = (const uint8_t*)r->inputs[k]->data + (size_t)r->reduced.offset * width;
      if (is_dense) {
        r->args[r->count + k] = in + (size_t)offsets[0] * width;
      } else {
        gather_elements(width, count, offsets, in, elements_of(r, k));
      }
    }
    HLO_TRY(hlo_fold_step(r->fold, count, r->args, r->outs));
  } while (walk_next(&r->reduced));
  return hlo_ok();
}

static hlo_status_t reduce_many_outputs(reduction_t* r) {
  int64_t offsets[OUTPUTS], first = 0;
  uint32_t count = 0;
  bool has_more = true;
  while (has_more) {
    offsets[count++] = r->kept.offset;
    has_more = walk_next(&r->kept);
    if (count < OUTPUTS && has_more) continue;
    HLO_TRY(advance_outputs(r, first, count, offsets));
    first += count;
    count = 0;
  }
  return hlo_ok();
}

// ---- few outputs --------------------------------------------------------------------------------

static hlo_status_t reduce_one_output(reduction_t* r, int64_t output) {
  for (uint32_t k = 0; k < r->count; ++k) {
    r->outs[k] = (uint8_t*)r->results[k]->data + (size_t)output * width_of(r, k);
    r->args[k] = r->outs[k];
  }
  do {
    size_t place = (size_t)(r->kept.offset + r->reduced.offset);
    for (uint32_t k = 0; k < r->count; ++k) {
      r->args[r->count + k] = (const uint8_t*)r->inputs[k]->data + place * width_of(r, k);
    }
    HLO_TRY(hlo_fold_step(r->fold, 1, r->args, r->outs));
  } while (walk_next(&r->reduced));
  return hlo_ok();
}

static hlo_status_t reduce_few_outputs(reduction_t* r) {
  int64_t output = 0;
  do {
    HLO_TRY(reduce_one_output(r, output++));
  } while (walk_next(&r->kept));
  return hlo_ok();
}

static hlo_status_t reduce(const hlo_fold_operands_t* fold, hlo_ints_t reduced_dims,
                           hlo_tensor_t* const* results) {
  reduction_t r = {.fold = fold, .count = fold->count, .inputs = fold->inputs, .results = results};
  for (uint32_t k = 0; k < fold->count; ++k) {
    if (results[k]->dtype != fold->inputs[k]->dtype) {
      return hlo_invalid_argument("reduce: input %u and its result differ in element type", k);
    }
  }
  split_dims(&r, reduced_dims);
  size_t each = (size_t)OUTPUTS * ELEMENT_BYTES + 3 * sizeof(void*);
  r.elements = hlo_mem_alloc_aligned(fold->count * each, 64);
  if (!r.elements) return hlo_status_out_of_memory(fold->count * each);
  r.args = (const void**)(r.elements + (size_t)fold->count * OUTPUTS * ELEMENT_BYTES);
  r.outs = (void**)(r.args + 2 * (size_t)fold->count);
  hlo_status_t status =
      results[0]->element_count < FEW_OUTPUTS ? reduce_few_outputs(&r) : reduce_many_outputs(&r);
  hlo_mem_free(r.elements);
  return status;
}

static hlo_status_t reduce_prepared(hlo_eval_t* eval, const hlo_node_t* node,
                                    const hlo_fold_operands_t* fold, hlo_tensor_t** results) {
  const hlo_ints_t reduced_dims = hlo_node_ints(node, HLO_ATTR_dimensions);
  const hlo_tensor_t* input = fold->inputs[0];
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank = 0;
  for (uint32_t d = 0; d < input->rank; d++) {
    if (!hlo_ints_has(reduced_dims, d)) dims[rank++] = input->dims[d];
  }
  HLO_TRY(hlo_fold_results(eval, node, fold, rank, dims, results));
  if (input->element_count == 0) return hlo_ok();
  return reduce(fold, reduced_dims, results);
}

hlo_status_t hlo_ref_reduce(HLO_REF_ARGUMENTS) {
  return hlo_fold_run(eval, node, operands, results, reduce_prepared);
}
