// SPDX-License-Identifier: Apache-2.0
// The rules of references and of what uses them: memory, copies, products, synchronisation.
#include <string.h>

#include "tile/ir_impl.h"

typedef hlo_tile_rule_t (*rule_fn_t)(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);

#define KEEP(condition, rule) \
  if (!(condition)) return HLO_TILE_RULE_##rule
static const hlo_tile_rule_t NONE = HLO_TILE_RULE_COUNT;

static bool is_same_shape(const hlo_tile_ref_t* a, uint32_t rank, const int64_t* dims) {
  return a->rank == rank && (!rank || memcmp(a->dims, dims, rank * sizeof *dims) == 0);
}

static bool has_elements(const hlo_tile_op_t* ref) {
  return ref->ref.space != HLO_TILE_SPACE_semaphore && ref->ref.space != HLO_TILE_SPACE_barrier;
}

static bool is_writable(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  return root->kind != HLO_TILE_OP_reference || kernel->buffers[root->buffer].is_output;
}

static bool is_uniform(const hlo_tile_op_t* op) {
  uint64_t loops = 0;
  for (uint32_t i = 0; i < op->index_count; ++i) loops |= op->indices[i]->loops;
  return !(loops & hlo_tile_block_tile_ivs(op->block));
}

// ---- references

static hlo_tile_rule_t reference_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  KEEP(op->buffer < kernel->buffer_count, BUFFER);
  const hlo_tile_buffer_t* buffer = &kernel->buffers[op->buffer];
  hlo_tile_ref_t shape = hlo_tile_buffer_ref(buffer);
  KEEP(op->dtype == buffer->dtype, REF_TYPE);
  KEEP(is_same_shape(&op->ref, shape.rank, shape.dims), REF_SHAPE);
  KEEP(op->ref.space == HLO_TILE_SPACE_global, REF_SPACE);
  return NONE;
}

// Returns true if the elements fill the addresses from 0 on, some dimension after the other.
static bool is_order(const hlo_tile_op_t* op) {
  int64_t strides[HLO_TILE_MAX_RANK], stride = 1;
  if (!is_same_shape(&op->ref, op->layout->rank, op->layout->dims)) return false;
  if (!hlo_tile_layout_strides(op->layout, strides)) return false;
  for (uint32_t left = (1u << op->ref.rank) - 1; left;) {
    uint32_t dim = 0;
    bool fits = false;
    for (; dim < op->ref.rank && !fits; dim += !fits) {
      fits = left >> dim & 1 && (op->ref.dims[dim] == 1 || strides[dim] == stride);
    }
    if (!fits) return false;
    left &= ~(1u << dim);
    stride *= op->ref.dims[dim];
  }
  return true;
}

static hlo_tile_rule_t alloc_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                  const hlo_tile_op_t* op) {
  KEEP(op->ref.space != HLO_TILE_SPACE_global, ALLOC_SPACE);
  KEEP(has_elements(op) || op->dtype == HLO_DTYPE_S32, ALLOC_TYPE);
  KEEP(op->ref.space != HLO_TILE_SPACE_barrier || op->count > 0, ALLOC_ARRIVALS);
  KEEP(op->address >= 0, ALLOC_ADDRESS);
  KEEP(!op->layout || is_order(op), ALLOC_LAYOUT);
  return NONE;
}

static hlo_tile_rule_t slice_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                  const hlo_tile_op_t* op) {
  const hlo_tile_ref_t* of = &op->operands[0]->ref;
  KEEP(op->index_count == of->rank, INDEX_COUNT);
  KEEP(is_uniform(op), INDEX_UNIFORM);
  int64_t dims[HLO_TILE_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < of->rank; ++i) {
    int64_t last = 0;
    bool fits = op->strides[i] > 0 && op->sizes[i] >= 0 &&
                !__builtin_mul_overflow(op->sizes[i] - 1, op->strides[i], &last);
    KEEP(fits && last < of->dims[i], SLICE_SIZES);
    bool is_dropped = op->squeezed >> i & 1;
    KEEP(!is_dropped || op->sizes[i] == 1, SLICE_SQUEEZE);
    if (!is_dropped) dims[rank++] = op->sizes[i];
  }
  KEEP(op->squeezed >> of->rank == 0, SLICE_SQUEEZE);
  KEEP(is_same_shape(&op->ref, rank, dims), REF_SHAPE);
  return NONE;
}

static hlo_tile_rule_t transpose_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                      const hlo_tile_op_t* op) {
  const hlo_tile_ref_t* of = &op->operands[0]->ref;
  int64_t dims[HLO_TILE_MAX_RANK];
  uint32_t seen = 0;
  KEEP(op->ref.rank == of->rank, REF_SHAPE);
  for (uint32_t i = 0; i < of->rank; ++i) {
    KEEP(op->permutation[i] < of->rank && !(seen >> op->permutation[i] & 1), PERMUTATION);
    seen |= 1u << op->permutation[i];
    dims[i] = of->dims[op->permutation[i]];
  }
  KEEP(is_same_shape(&op->ref, of->rank, dims), REF_SHAPE);
  return NONE;
}

static hlo_tile_rule_t reshape_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                    const hlo_tile_op_t* op) {
  KEEP(hlo_tile_ref_count(op) == hlo_tile_ref_count(op->operands[0]), RESHAPE_COUNT);
  KEEP(hlo_tile_ref_is_contiguous(op->operands[0]), RESHAPE_ADJACENT);
  const hlo_tile_op_t* root = hlo_tile_ref_root(op);
  int64_t strides[HLO_TILE_MAX_RANK], dense[HLO_TILE_MAX_RANK];
  if (!root->layout || !hlo_tile_layout_strides(root->layout, strides)) return NONE;
  hlo_tile_ref_strides(root, dense);
  for (uint32_t i = 0; i < root->ref.rank; ++i) {
    KEEP(root->ref.dims[i] == 1 || strides[i] == dense[i], RESHAPE_ADJACENT);
  }
  return NONE;
}

// ---- elements

static hlo_tile_rule_t access_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  bool is_load = op->kind == HLO_TILE_OP_ref_load, is_atomic = op->kind == HLO_TILE_OP_atomic;
  uint32_t values = is_load ? 0 : 1;
  if (is_atomic && op->atomic == HLO_TILE_ATOMIC_compare_exchange) values = 2;
  uint32_t count = 1 + values + op->is_masked + (is_load && op->is_masked);
  KEEP(op->operand_count == count, ACCESS_OPERANDS);
  const hlo_tile_op_t* ref = op->operands[0];
  KEEP(has_elements(ref), ACCESS_SPACE);
  KEEP(is_load || is_writable(kernel, ref), BUFFER_OUTPUT);
  KEEP(op->index_count == ref->ref.rank, INDEX_COUNT);
  KEEP(!hlo_tile_op_has_result(op) || op->dtype == ref->dtype, ACCESS_TYPE);
  for (uint32_t i = 1; i < count; ++i) {
    bool is_mask = op->is_masked && i == 1 + values;
    if (is_mask) {
      KEEP(op->operands[i]->dtype == HLO_DTYPE_PRED, ACCESS_MASK);
    } else {
      KEEP(op->operands[i]->dtype == ref->dtype, ACCESS_TYPE);
    }
  }
  return NONE;
}

static hlo_tile_rule_t copy_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  const hlo_tile_op_t *from = op->operands[0], *to = op->operands[1];
  KEEP(has_elements(from) && has_elements(to), ACCESS_SPACE);
  KEEP(from->dtype == to->dtype, COPY_TYPE);
  KEEP(is_same_shape(&from->ref, to->ref.rank, to->ref.dims), COPY_SHAPE);
  KEEP(is_writable(kernel, to), BUFFER_OUTPUT);
  return NONE;
}

// ---- synchronisation

static bool is_in_reduction(const hlo_tile_op_t* op) {
  for (op = op->block->parent; op; op = op->block->parent) {
    if (op->kind == HLO_TILE_OP_reduce) return true;
  }
  return false;
}

static hlo_tile_rule_t semaphore_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                      const hlo_tile_op_t* op) {
  const hlo_tile_op_t* semaphore = op->operands[op->operand_count - 1];
  KEEP(semaphore->ref.space == HLO_TILE_SPACE_semaphore && hlo_tile_ref_count(semaphore) == 1,
       SEMAPHORE);
  bool has_count =
      op->kind == HLO_TILE_OP_semaphore_signal || op->kind == HLO_TILE_OP_semaphore_wait;
  KEEP(!has_count || op->count > 0, SEMAPHORE_COUNT);
  KEEP(op->kind == HLO_TILE_OP_semaphore_signal || !is_in_reduction(op), WAIT_REDUCE);
  return NONE;
}

static hlo_tile_rule_t copy_start_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  hlo_tile_rule_t broken = copy_rule(kernel, op);
  return broken == NONE ? semaphore_rule(kernel, op) : broken;
}

static hlo_tile_rule_t barrier_rule(HLO_UNUSED const hlo_tile_kernel_t* kernel,
                                    const hlo_tile_op_t* op) {
  const hlo_tile_op_t* barrier = op->operands[0];
  KEEP(barrier->ref.space == HLO_TILE_SPACE_barrier && hlo_tile_ref_count(barrier) == 1, BARRIER);
  KEEP(op->index_count == (op->kind == HLO_TILE_OP_barrier_wait), INDEX_COUNT);
  KEEP(!op->index_count || !is_in_reduction(op), WAIT_REDUCE);
  return NONE;
}

// ---- products

// Marks dimensions of an operand; false if it lacks one or one is marked already.
static bool mark(const hlo_tile_ref_t* ref, uint32_t count, const uint32_t* dims, uint32_t* seen) {
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] >= ref->rank || *seen >> dims[i] & 1) return false;
    *seen |= 1u << dims[i];
  }
  return true;
}

static bool is_wide_enough(hlo_dtype_t operand, hlo_dtype_t sum) {
  bool is_float = hlo_dtype_is_float(operand),
       is_number = is_float || hlo_dtype_is_integer(operand);
  return is_number && is_float == hlo_dtype_is_float(sum) &&
         (is_float || hlo_dtype_is_integer(sum)) &&
         hlo_dtype_info(sum)->bits >= hlo_dtype_info(operand)->bits;
}

static hlo_tile_rule_t product_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  const hlo_tile_dims_t* d = &op->dims;
  const hlo_tile_op_t *sum = op->operands[0], *left = op->operands[1], *right = op->operands[2];
  KEEP(has_elements(sum) && has_elements(left) && has_elements(right), ACCESS_SPACE);
  KEEP(is_writable(kernel, sum), BUFFER_OUTPUT);
  uint32_t of_left = 0, of_right = 0;
  KEEP(mark(&left->ref, d->batch_count, d->left_batch, &of_left) &&
           mark(&left->ref, d->contract_count, d->left_contract, &of_left) &&
           mark(&right->ref, d->batch_count, d->right_batch, &of_right) &&
           mark(&right->ref, d->contract_count, d->right_contract, &of_right),
       MMA_DIMS);
  for (uint32_t i = 0; i < d->batch_count; ++i) {
    KEEP(left->ref.dims[d->left_batch[i]] == right->ref.dims[d->right_batch[i]], MMA_EXTENT);
  }
  for (uint32_t i = 0; i < d->contract_count; ++i) {
    KEEP(left->ref.dims[d->left_contract[i]] == right->ref.dims[d->right_contract[i]], MMA_EXTENT);
  }
  int64_t dims[3 * HLO_TILE_MAX_RANK];
  uint32_t rank = hlo_tile_mma_shape(op, dims);
  KEEP(is_same_shape(&sum->ref, rank, dims), MMA_SHAPE);
  return NONE;
}

static hlo_tile_rule_t mma_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  const hlo_tile_op_t *sum = op->operands[0], *left = op->operands[1], *right = op->operands[2];
  const hlo_tile_rule_t broken = product_rule(kernel, op);
  if (broken != NONE) return broken;
  KEEP(left->dtype == right->dtype && is_wide_enough(left->dtype, sum->dtype), MMA_TYPE);
  return NONE;
}

// Each dimension of the scales is that of the operand, or blocks of it.
static bool has_blocks(const hlo_tile_ref_t* of, const hlo_tile_ref_t* scales) {
  if (of->rank != scales->rank) return false;
  for (uint32_t i = 0; i < of->rank; ++i) {
    if (of->dims[i] && (!scales->dims[i] || of->dims[i] % scales->dims[i])) return false;
  }
  return true;
}

static hlo_tile_rule_t scaled_mma_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  const hlo_dtype_t sum = op->operands[0]->dtype;
  const hlo_tile_rule_t broken = product_rule(kernel, op);
  if (broken != NONE) return broken;
  for (uint32_t i = 1; i < op->operand_count; ++i) {
    KEEP(hlo_dtype_is_float(sum) && is_wide_enough(op->operands[i]->dtype, sum), SCALE_TYPE);
  }
  for (uint32_t i = 1; i < 3; ++i) {
    KEEP(has_elements(op->operands[i + 2]), ACCESS_SPACE);
    KEEP(has_blocks(&op->operands[i]->ref, &op->operands[i + 2]->ref), SCALE_BLOCKS);
  }
  return NONE;
}

static const rule_fn_t RULES[HLO_TILE_OP_KIND_COUNT] = {
    [HLO_TILE_OP_reference] = reference_rule,
    [HLO_TILE_OP_alloc] = alloc_rule,
    [HLO_TILE_OP_slice] = slice_rule,
    [HLO_TILE_OP_transpose] = transpose_rule,
    [HLO_TILE_OP_reshape] = reshape_rule,
    [HLO_TILE_OP_ref_load] = access_rule,
    [HLO_TILE_OP_ref_store] = access_rule,
    [HLO_TILE_OP_atomic] = access_rule,
    [HLO_TILE_OP_copy] = copy_rule,
    [HLO_TILE_OP_copy_start] = copy_start_rule,
    [HLO_TILE_OP_copy_wait] = semaphore_rule,
    [HLO_TILE_OP_semaphore_signal] = semaphore_rule,
    [HLO_TILE_OP_semaphore_wait] = semaphore_rule,
    [HLO_TILE_OP_barrier_arrive] = barrier_rule,
    [HLO_TILE_OP_barrier_wait] = barrier_rule,
    [HLO_TILE_OP_mma] = mma_rule,
    [HLO_TILE_OP_scaled_mma] = scaled_mma_rule,
};

hlo_tile_rule_t hlo_tile_memory_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  if (!RULES[op->kind]) return NONE;
  int64_t dims[HLO_TILE_MAX_DEPTH];
  bool is_inside = hlo_tile_op_is_uniform(op->kind) && hlo_tile_block_tile(op->block, dims, NULL);
  KEEP(!is_inside, UNIFORM);
  KEEP(!op->layout || !hlo_tile_op_is_ref(op) || op->kind == HLO_TILE_OP_alloc, ALLOC_LAYOUT);
  if (hlo_tile_op_is_ref(op) && op->operand_count) {
    KEEP(op->dtype == op->operands[0]->dtype, REF_TYPE);
    KEEP(op->ref.space == op->operands[0]->ref.space, REF_SPACE);
  }
  return RULES[op->kind](kernel, op);
}
