// SPDX-License-Identifier: Apache-2.0
// Building and traversing Tile IR (see ir.h).

#include <stddef.h>
#include <string.h>

#include "tile/ir_impl.h"

const hlo_tile_op_info_t hlo_tile_op_infos[HLO_TILE_OP_KIND_COUNT] = {
#define HLO_TILE_OP(id, operands, result, regions, since, layouts) \
  {#id, operands, HLO_TILE_RESULT_##result, regions, since},
#include "tile/ir.def"
#undef HLO_TILE_OP
};

const hlo_tile_schedule_field_t hlo_tile_schedule_fields[HLO_TILE_SCHEDULE_COUNT] = {
#define HLO_TILE_SCHEDULE(id) {#id, offsetof(hlo_tile_schedule_t, id)},
#include "tile/ir_schedule.def"
#undef HLO_TILE_SCHEDULE
};

static const char* const SPACES[HLO_TILE_SPACE_COUNT] = {
#define HLO_TILE_SPACE(id) #id,
#include "tile/ir_enums.def"
};

static const char* const ATOMICS[HLO_TILE_ATOMIC_COUNT] = {
#define HLO_TILE_ATOMIC(id) #id,
#include "tile/ir_enums.def"
};

const char* hlo_tile_space_name(hlo_tile_space_t space) {
  return SPACES[space];
}

const char* hlo_tile_atomic_name(hlo_tile_atomic_t atomic) {
  return ATOMICS[atomic];
}

const char* hlo_tile_op_name(hlo_tile_op_kind_t kind) {
  return hlo_tile_op_infos[kind].name;
}

bool hlo_tile_op_has_result(const hlo_tile_op_t* op) {
  hlo_tile_has_result_t has_result = hlo_tile_op_infos[op->kind].has_result;
  return has_result == HLO_TILE_RESULT_TYPED ? op->dtype != HLO_DTYPE_INVALID
                                             : has_result != HLO_TILE_RESULT_NEVER;
}

bool hlo_tile_op_is_ref(const hlo_tile_op_t* op) {
  return hlo_tile_op_infos[op->kind].has_result == HLO_TILE_RESULT_REF;
}

uint32_t hlo_tile_op_ref_operands(hlo_tile_op_kind_t kind) {
  static const uint8_t counts[HLO_TILE_OP_KIND_COUNT] = {
      [HLO_TILE_OP_slice] = 1,          [HLO_TILE_OP_transpose] = 1,
      [HLO_TILE_OP_reshape] = 1,        [HLO_TILE_OP_ref_load] = 1,
      [HLO_TILE_OP_ref_store] = 1,      [HLO_TILE_OP_atomic] = 1,
      [HLO_TILE_OP_copy] = 2,           [HLO_TILE_OP_copy_start] = 3,
      [HLO_TILE_OP_copy_wait] = 1,      [HLO_TILE_OP_semaphore_signal] = 1,
      [HLO_TILE_OP_semaphore_wait] = 1, [HLO_TILE_OP_barrier_arrive] = 1,
      [HLO_TILE_OP_barrier_wait] = 1,   [HLO_TILE_OP_mma] = 3,
      [HLO_TILE_OP_scaled_mma] = 5,
  };
  return counts[kind];
}

bool hlo_tile_op_is_uniform(hlo_tile_op_kind_t kind) {
  return kind >= HLO_TILE_OP_copy && kind <= HLO_TILE_OP_scaled_mma;
}

hlo_tile_op_t* hlo_tile_op_yield(const hlo_tile_op_t* op) {
  const hlo_tile_block_t* last = &op->body;
  while (last->next) last = last->next;
  return hlo_tile_block_yield(last);
}

uint32_t hlo_tile_result_count(const hlo_tile_op_t* op) {
  if (op->kind == HLO_TILE_OP_reduce) return op->is_arg ? 2 : op->reducer_count;
  if (hlo_tile_op_carries(op->kind)) return op->operand_count;
  const hlo_tile_op_t* yield = hlo_tile_op_yield(op);
  return yield ? yield->operand_count : 0;
}

hlo_tile_kernel_t* hlo_tile_kernel_create(hlo_arena_t* arena, const char* name,
                                          uint32_t buffer_count, const hlo_tile_buffer_t* buffers) {
  hlo_tile_kernel_t* kernel = hlo_arena_alloc_zeroed(arena, sizeof *kernel);
  hlo_tile_buffer_t* copy = hlo_arena_array(arena, buffer_count + 1, sizeof *copy);
  if (!kernel || !copy) return NULL;
  if (buffer_count) memcpy(copy, buffers, buffer_count * sizeof *copy);
  *kernel = (hlo_tile_kernel_t){
      .arena = arena, .name = name, .buffer_count = buffer_count, .buffers = copy};
  hlo_expr_space_init(&kernel->exprs, arena);
  hlo_tile_layout_space_init(&kernel->layouts, arena);
  return kernel;
}

hlo_tile_op_t* hlo_tile_begin(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                              const hlo_tile_op_t* fields) {
  hlo_tile_op_t* op = hlo_arena_alloc(kernel->arena, sizeof *op);
  if (!op) return NULL;
  *op = *fields;
  op->block = block;
  op->next = NULL;
  op->body = (hlo_tile_block_t){.parent = op};
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    if (op->loops[i].iv >= kernel->iv_count) kernel->iv_count = op->loops[i].iv + 1;
  }
  return op;
}

hlo_tile_block_t* hlo_tile_add_region(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op) {
  hlo_tile_block_t *region = hlo_arena_alloc(kernel->arena, sizeof *region), *last = &op->body;
  if (!region) return NULL;
  *region = (hlo_tile_block_t){.parent = op};
  while (last->next) last = last->next;
  return last->next = region;
}

void hlo_tile_end(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op) {
  hlo_tile_block_t* block = op->block;
  if (hlo_tile_op_has_result(op)) op->number = kernel->value_count++;
  if (block->last) {
    block->last->next = op;
  } else {
    block->first = op;
  }
  block->last = op;
}

hlo_tile_op_t* hlo_tile_append(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                               const hlo_tile_op_t* fields) {
  hlo_tile_op_t* op = hlo_tile_begin(kernel, block, fields);
  if (op) hlo_tile_end(kernel, op);
  return op;
}

// ---- traversal

// Returns the first operation without regions inside these regions; NULL if they are empty.
static hlo_tile_op_t* first_in(const hlo_tile_block_t* region) {
  hlo_tile_op_t* first = NULL;
  while (region) {
    if (region->first) {
      first = region->first;
      region = &first->body;
    } else {
      region = region->next;
    }
  }
  return first;
}

hlo_tile_op_t* hlo_tile_first_op(const hlo_tile_kernel_t* kernel) {
  return first_in(&kernel->body);
}

hlo_tile_op_t* hlo_tile_next_op(const hlo_tile_op_t* op) {
  if (op->next) {
    hlo_tile_op_t* inside = first_in(&op->next->body);
    return inside ? inside : op->next;
  }
  hlo_tile_op_t* inside = first_in(op->block->next);
  return inside ? inside : op->block->parent;
}

// ---- numbering

typedef struct renumbering {
  hlo_tile_kernel_t* kernel;
  uint32_t* numbers;  // new numbers by old ones
} renumbering_t;

static const hlo_expr_t* renumbered(void* context, const hlo_expr_atom_t* atom) {
  const renumbering_t* r = context;
  if (atom->kind == HLO_EXPR_LOOP) {
    return hlo_expr_loop(&r->kernel->exprs, atom->number, atom->low, atom->high + 1);
  }
  return hlo_expr_value(&r->kernel->exprs, r->numbers[atom->number], atom->low, atom->high,
                        atom->loops);
}

hlo_status_t hlo_tile_kernel_renumber(hlo_tile_kernel_t* kernel) {
  renumbering_t r = {.kernel = kernel};
  r.numbers = hlo_arena_array(kernel->arena, kernel->value_count + 1, sizeof *r.numbers);
  HLO_TRY(hlo_arena_status(kernel->arena));
  uint32_t count = 0;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_op_has_result(op)) continue;
    r.numbers[op->number] = count;
    op->number = count++;
  }
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->offset) op->offset = hlo_expr_rewrite(&kernel->exprs, op->offset, renumbered, &r);
    for (uint32_t i = 0; i < op->index_count; ++i) {
      op->indices[i] = hlo_expr_rewrite(&kernel->exprs, op->indices[i], renumbered, &r);
    }
  }
  if (kernel->exprs.is_exceeded) {
    return hlo_resource_exhausted("its index expressions are too long");
  }
  return hlo_arena_status(kernel->arena);
}

uint32_t hlo_tile_block_loops(const hlo_tile_block_t* block,
                              const hlo_tile_loop_t* out_loops[HLO_TILE_MAX_DEPTH]) {
  uint32_t count = 0;
  for (const hlo_tile_op_t* op = block->parent; op; op = op->block->parent) {
    for (uint32_t i = op->loop_count; i-- > 0 && count < HLO_TILE_MAX_DEPTH;) {
      out_loops[count++] = &op->loops[i];
    }
  }
  for (uint32_t i = 0; i < count / 2; ++i) {
    const hlo_tile_loop_t* kept = out_loops[i];
    out_loops[i] = out_loops[count - 1 - i];
    out_loops[count - 1 - i] = kept;
  }
  return count;
}

uint64_t hlo_tile_block_ivs(const hlo_tile_block_t* block) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  uint64_t ivs = 0;
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    ivs |= (uint64_t)1 << loops[i]->iv;
  }
  return ivs;
}

const hlo_expr_t* hlo_tile_value_expr(hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                                      int64_t low, int64_t high) {
  return hlo_expr_value(&kernel->exprs, op->number, low, high, hlo_tile_block_ivs(op->block));
}

uint32_t hlo_tile_block_tile(const hlo_tile_block_t* block, int64_t out_dims[HLO_TILE_MAX_DEPTH],
                             uint32_t out_ivs[HLO_TILE_MAX_DEPTH]) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(block, loops), rank = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t extent = loops[i]->end - loops[i]->low;
    int64_t step = loops[i]->step < extent ? loops[i]->step : extent;
    if (step == 1) continue;
    if (out_ivs) out_ivs[rank] = loops[i]->iv;
    out_dims[rank++] = step;
  }
  return rank;
}

uint64_t hlo_tile_block_tile_ivs(const hlo_tile_block_t* block) {
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t numbers[HLO_TILE_MAX_DEPTH];
  uint64_t ivs = 0;
  for (uint32_t i = hlo_tile_block_tile(block, dims, numbers); i-- > 0;) {
    ivs |= (uint64_t)1 << numbers[i];
  }
  return ivs;
}

const hlo_tile_loop_t* hlo_tile_block_grid(const hlo_tile_block_t* block, uint32_t dimension) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(block, loops);
  for (uint32_t i = 0; i < count; ++i) {
    if (loops[i]->is_grid && dimension-- == 0) return loops[i];
  }
  return NULL;
}

// ---- references

hlo_tile_ref_t hlo_tile_buffer_ref(const hlo_tile_buffer_t* buffer) {
  hlo_tile_ref_t ref = {.rank = buffer->rank ? buffer->rank : 1, .dims = {buffer->element_count}};
  if (buffer->rank) memcpy(ref.dims, buffer->dims, sizeof ref.dims);
  return ref;
}

const hlo_tile_op_t* hlo_tile_ref_root(const hlo_tile_op_t* op) {
  while (op->operand_count) op = op->operands[0];
  return op;
}

int64_t hlo_tile_ref_count(const hlo_tile_op_t* op) {
  int64_t count = 1;
  for (uint32_t i = 0; i < op->ref.rank; ++i) count *= op->ref.dims[i];
  return count;
}

static void put_row_major(const hlo_tile_ref_t* ref, int64_t* out_strides) {
  int64_t stride = 1;
  for (uint32_t i = ref->rank; i-- > 0; stride *= ref->dims[i]) out_strides[i] = stride;
}

void hlo_tile_ref_strides_in(const hlo_tile_op_t* op, const int64_t* root,
                             int64_t out_strides[HLO_TILE_MAX_RANK]) {
  int64_t strides[HLO_TILE_MAX_RANK];
  if (op->kind == HLO_TILE_OP_alloc && root) {
    memcpy(out_strides, root, op->ref.rank * sizeof *root);
    return;
  }
  if (op->kind != HLO_TILE_OP_slice && op->kind != HLO_TILE_OP_transpose) {
    put_row_major(&op->ref, out_strides);
    return;
  }
  const hlo_tile_op_t* of = op->operands[0];
  hlo_tile_ref_strides_in(of, root, strides);
  uint32_t rank = 0;
  for (uint32_t i = 0; i < of->ref.rank; ++i) {
    if (op->kind == HLO_TILE_OP_transpose) {
      out_strides[i] = strides[op->permutation[i]];
    } else if (!(op->squeezed >> i & 1)) {
      out_strides[rank++] = strides[i] * op->strides[i];
    }
  }
}

void hlo_tile_ref_strides(const hlo_tile_op_t* op, int64_t out_strides[HLO_TILE_MAX_RANK]) {
  hlo_tile_ref_strides_in(op, NULL, out_strides);
}

bool hlo_tile_layout_strides(const hlo_tile_layout_t* layout,
                             int64_t out_strides[HLO_TILE_MAX_RANK]) {
  uint32_t seen = 0;
  if (layout->swizzle.bits || layout->rank > HLO_TILE_MAX_RANK) return false;
  for (uint32_t i = 0; i < layout->rank; ++i) out_strides[i] = 1;
  for (uint32_t i = 0; i < layout->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &layout->modes[i];
    if (mode->dim < 0 || mode->axis != HLO_AXIS_ADDRESS || seen >> mode->dim & 1) return false;
    if (mode->position <= 0) return false;
    seen |= 1u << mode->dim;
    out_strides[mode->dim] = mode->position;
  }
  return true;
}

bool hlo_tile_ref_is_contiguous(const hlo_tile_op_t* op) {
  int64_t strides[HLO_TILE_MAX_RANK], dense[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(op, strides);
  put_row_major(&op->ref, dense);
  for (uint32_t i = 0; i < op->ref.rank; ++i) {
    if (op->ref.dims[i] > 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

static bool is_listed(const uint32_t* list, uint32_t count, uint32_t dim) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == dim) return true;
  }
  return false;
}

uint32_t hlo_tile_mma_shape(const hlo_tile_op_t* op, int64_t out_dims[3 * HLO_TILE_MAX_RANK]) {
  const hlo_tile_dims_t* d = &op->dims;
  const hlo_tile_ref_t *left = &op->operands[1]->ref, *right = &op->operands[2]->ref;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < d->batch_count; ++i) out_dims[rank++] = left->dims[d->left_batch[i]];
  for (uint32_t i = 0; i < left->rank; ++i) {
    bool is_named = is_listed(d->left_batch, d->batch_count, i) ||
                    is_listed(d->left_contract, d->contract_count, i);
    if (!is_named) out_dims[rank++] = left->dims[i];
  }
  for (uint32_t i = 0; i < right->rank; ++i) {
    bool is_named = is_listed(d->right_batch, d->batch_count, i) ||
                    is_listed(d->right_contract, d->contract_count, i);
    if (!is_named) out_dims[rank++] = right->dims[i];
  }
  return rank;
}
