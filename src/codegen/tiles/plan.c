// SPDX-License-Identifier: Apache-2.0
// Decides whether a kernel can be lowered, and how it is cut into phases and chunks.
#include "base/integer.h"
#include "codegen/tiles/lower_impl.h"

typedef struct lowering_check {
  const hlo_tile_kernel_t* kernel;
  const hlo_target_t* target;
  hlo_expr_space_t* exprs;
} lowering_check_t;

static hlo_status_t refuse_op(const lowering_check_t* c, const hlo_tile_op_t* op,
                              const char* reason) {
  return hlo_unimplemented("machine code for %s: %s: %s", c->kernel->name,
                           hlo_tile_op_name(op->kind), reason);
}

// ---- each operation

static hlo_status_t check_types(const lowering_check_t* c, const hlo_tile_op_t* op) {
  if (op->dtype != HLO_DTYPE_INVALID && !hlo_elementwise_supports_dtype(op->dtype)) {
    return refuse_op(c, op, "registers do not hold its element type");
  }
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (!hlo_elementwise_supports_dtype(op->operands[i]->dtype)) {
      return refuse_op(c, op, "registers do not hold the element type of an operand");
    }
  }
  return hlo_ok();
}

static bool have_dtype(const hlo_tile_op_t* op, uint32_t first, hlo_dtype_t dtype) {
  for (uint32_t i = first; i < op->operand_count; ++i) {
    if (op->operands[i]->dtype != dtype) return false;
  }
  return true;
}

// Returns true if number and types of operands and the result's type are those of the operation,
// which Tile IR does not know.
static bool has_types_of_map(const hlo_tile_op_t* op) {
  const hlo_dtype_t first = op->operands[0]->dtype;
  switch (op->map.op) {
    case HLO_OP_select:
      return op->operand_count == 3 && first == HLO_DTYPE_PRED && have_dtype(op, 1, op->dtype);
    case HLO_OP_clamp: return op->operand_count == 3 && have_dtype(op, 0, op->dtype);
    case HLO_OP_convert:
    case HLO_OP_bitcast_convert: return op->operand_count == 1;
    case HLO_OP_compare:
      return op->operand_count == 2 && have_dtype(op, 0, first) && op->dtype == HLO_DTYPE_PRED;
    default: break;
  }
  const hlo_op_info_t* info = hlo_op_info(op->map.op);
  const hlo_dtype_t result = op->map.op == HLO_OP_is_finite ? HLO_DTYPE_PRED : first;
  return op->operand_count == info->operand_count && have_dtype(op, 0, first) &&
         op->dtype == result;
}

static hlo_status_t check_map(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_elementwise_op_t what = {.op = op->map.op,
                                     .operand_count = op->operand_count,
                                     .operand = op->operands[0]->dtype,
                                     .result = op->dtype};
  if (!has_types_of_map(op)) return refuse_op(c, op, "its operation takes other operands");
  if (hlo_elementwise_supports_op(&what)) return hlo_ok();
  return hlo_unimplemented("machine code for %s: %s of %s elements", c->kernel->name,
                           hlo_op_info(op->map.op)->name,
                           hlo_dtype_info(op->operands[0]->dtype)->hlo_name);
}

static bool is_reducer(hlo_op_t op) {
  switch (op) {
    case HLO_OP_add:
    case HLO_OP_multiply:
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_and:
    case HLO_OP_or:
    case HLO_OP_xor: return true;
    default: return false;
  }
}

static hlo_status_t check_reduce(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* yield = hlo_tile_region_yield(&op->body);
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    const hlo_dtype_t dtype = yield->operands[i]->dtype;
    const hlo_op_t reducer = op->reducers[op->is_arg ? 0 : i];
    if (!is_reducer(reducer)) return refuse_op(c, op, "its reducer has no identity");
    const bool is_arg_type = dtype != HLO_DTYPE_PRED || !op->is_arg || i == 0;
    if (dtype != HLO_DTYPE_PRED && !hlo_vmath_has(reducer, dtype)) {
      return refuse_op(c, op, "its reducer does not exist for its element type");
    }
    if (!is_arg_type) return refuse_op(c, op, "its index is a truth value");
  }
  return hlo_ok();
}

static hlo_status_t check_bitcast(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_elementwise_op_t what = {.op = HLO_OP_bitcast_convert,
                                     .operand_count = 1,
                                     .operand = op->operands[0]->dtype,
                                     .result = op->dtype};
  if (hlo_elementwise_supports_op(&what)) return hlo_ok();
  return refuse_op(c, op, "registers do not hold the bits of its element types");
}

static hlo_status_t check_mma(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_dtype_t dtype = op->operands[0]->dtype;
  const bool is_short = hlo_dtype_info(dtype)->bits < 8;
  return is_short ? refuse_op(c, op, "sums have fewer than 8 bits") : hlo_ok();
}

static void print_scaled(hlo_strbuf_t* out, hlo_dtype_t left, hlo_dtype_t right, hlo_dtype_t scale,
                         int64_t block) {
  hlo_strbuf_printf(out, "%s by %s with %s of %lld", hlo_dtype_info(left)->hlo_name,
                    hlo_dtype_info(right)->hlo_name, hlo_dtype_info(scale)->hlo_name,
                    (long long)block);
}

// Only atoms multiply scaled operands; which ones there are depends on the target.
static hlo_status_t check_scaled_mma(const lowering_check_t* c, const hlo_tile_op_t* op) {
  HLO_SCOPED_STRBUF wanted = {0};
  HLO_SCOPED_STRBUF known = {0};
  const hlo_tile_op_t *left = op->operands[1], *right = op->operands[2];
  const int64_t block = hlo_tile_scale_block(op);
  const hlo_dtype_t scale = op->operands[3]->dtype;
  print_scaled(&wanted, left->dtype, right->dtype, scale, block);
  for (uint32_t i = 0; i < c->target->tile.atom_count; ++i) {
    const hlo_tile_atom_t* atom = &c->target->tile.atoms[i];
    if (atom->scale == HLO_DTYPE_INVALID) continue;
    if (hlo_tile_is_scaled_atom(atom, op, 1)) return hlo_ok();
    if (known.length) hlo_strbuf_puts(&known, "; ");
    print_scaled(&known, atom->operand, atom->right, atom->scale, atom->block);
  }
  HLO_TRY(hlo_strbuf_status(&wanted));
  HLO_TRY(hlo_strbuf_status(&known));
  return hlo_unimplemented("machine code for %s: scaled_mma of %s; the target multiplies %s",
                           c->kernel->name, hlo_strbuf_text(&wanted),
                           known.length ? hlo_strbuf_text(&known) : "no scaled operands");
}

// Allocations are on the stack of their function, beside what registers cannot hold; groups of
// threads have memory of their own.
static hlo_status_t check_alloc(const lowering_check_t* c, const hlo_tile_op_t* op) {
  enum { MOST_STACK_BYTES = 56 << 10, MOST_NEAR_BYTES = 1 << 20 };
  int64_t left = c->target->has_threads ? MOST_STACK_BYTES : MOST_NEAR_BYTES;
  const hlo_tile_op_t* other = hlo_tile_first_op(c->kernel);
  for (; other != op; other = hlo_tile_next_op(other)) {
    if (other->kind != HLO_TILE_OP_alloc) continue;
    if (hlo_tile_function_of(other) == hlo_tile_function_of(op))
      left -= hlo_tile_alloc_bytes(other);
  }
  if (hlo_tile_ref_count(op) <= left && hlo_tile_alloc_bytes(op) <= left) return hlo_ok();
  return refuse_op(c, op,
                   c->target->has_threads ? "the allocations of its function take more than 56 KiB"
                                          : "the allocations of the kernel take more than 1 MiB");
}

static hlo_status_t refuse_kind(const lowering_check_t* c, const hlo_tile_op_t* op) {
  return refuse_op(c, op, "no code is made for it");
}

// Every iteration that waits has a thread.
static hlo_status_t check_threads(const lowering_check_t* c, const hlo_tile_op_t* op) {
  enum { MOST_THREADS = 256 };
  const hlo_tile_loop_t* loop = &op->loops[0];
  if (!c->target->has_threads || !hlo_tile_runs_threads(op)) return hlo_ok();
  if ((loop->end - loop->low) / loop->step < MOST_THREADS) return hlo_ok();
  return refuse_op(c, op, "more than 256 of its iterations wait for each other");
}

static hlo_status_t check_sync(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(op->operands[op->operand_count - 1]);
  return !hlo_tile_is_counted(root) || c->target->has_threads ? hlo_ok() : refuse_kind(c, op);
}

// ---- copies inside of one memory

// Returns where a slice can start along a dimension: a part that would leave its reference is moved
// inside.
static int64_t start_of(const hlo_tile_op_t* slice, uint32_t dim, int64_t index) {
  const int64_t last =
      slice->operands[0]->ref.dims[dim] - 1 - (slice->sizes[dim] - 1) * slice->strides[dim];
  return hlo_max(hlo_min(index, last), (int64_t)0);
}

// Gives the elements of its root between which a reference lies, both included.
static void find_extent(const hlo_tile_op_t* ref, int64_t* out_low, int64_t* out_high) {
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(ref, strides);
  *out_low = *out_high = 0;
  for (uint32_t i = 0; i < ref->ref.rank; ++i) *out_high += (ref->ref.dims[i] - 1) * strides[i];
  for (const hlo_tile_op_t* op = ref; op->operand_count; op = op->operands[0]) {
    if (op->kind != HLO_TILE_OP_slice) continue;
    hlo_tile_ref_strides(op->operands[0], strides);
    for (uint32_t i = 0; i < op->index_count; ++i) {
      *out_low += start_of(op, i, op->indices[i]->low) * strides[i];
      *out_high += start_of(op, i, op->indices[i]->high) * strides[i];
    }
  }
}

static bool is_slice_inside(const hlo_tile_op_t* slice, uint32_t dim) {
  const hlo_expr_t* index = slice->indices[dim];
  return start_of(slice, dim, index->low) == index->low &&
         start_of(slice, dim, index->high) == index->high;
}

// Returns true if two slices of one reference have no index in common along some dimension.
static bool are_slices_apart(hlo_expr_space_t* exprs, const hlo_tile_op_t* a,
                             const hlo_tile_op_t* b) {
  const bool are_slices = a->kind == HLO_TILE_OP_slice && b->kind == HLO_TILE_OP_slice;
  if (!are_slices || a->operands[0] != b->operands[0]) return false;
  for (uint32_t i = 0; i < a->index_count; ++i) {
    if (!is_slice_inside(a, i) || !is_slice_inside(b, i)) continue;
    const hlo_expr_t* distance =
        hlo_expr_add(exprs, hlo_tile_expr_in(exprs, b->indices[i]),
                     hlo_expr_mul(exprs, hlo_tile_expr_in(exprs, a->indices[i]), -1));
    if (distance->low > (a->sizes[i] - 1) * a->strides[i]) return true;
    if (distance->high < -(b->sizes[i] - 1) * b->strides[i]) return true;
  }
  return false;
}

// A copy stores elements while it still loads others.
static hlo_status_t check_copy(const lowering_check_t* c, const hlo_tile_op_t* op) {
  const hlo_tile_op_t *from = op->operands[0], *to = op->operands[1];
  const hlo_tile_op_t *root = hlo_tile_ref_root(from), *other = hlo_tile_ref_root(to);
  const bool is_one_buffer = root->kind == HLO_TILE_OP_reference &&
                             other->kind == HLO_TILE_OP_reference && root->buffer == other->buffer;
  if (from == to || (root != other && !is_one_buffer)) return hlo_ok();
  int64_t low, high, other_low, other_high;
  find_extent(from, &low, &high);
  find_extent(to, &other_low, &other_high);
  if (high < other_low || other_high < low || are_slices_apart(c->exprs, from, to)) return hlo_ok();
  return refuse_op(c, op, "its references may have elements in common");
}

static bool is_in_reduction(const hlo_tile_op_t* op) {
  for (op = op->block->parent; op; op = op->block->parent) {
    if (op->kind == HLO_TILE_OP_reduce) return true;
  }
  return false;
}

static hlo_status_t check_atomic(const lowering_check_t* c, const hlo_tile_op_t* op) {
  if (!c->target->has_threads) return refuse_kind(c, op);
  if (is_in_reduction(op)) return refuse_op(c, op, "it is inside of a reduction");
  // Sums of floats differ in rounding only.
  const bool is_ordered =
      op->atomic != HLO_TILE_ATOMIC_add && hlo_tile_is_ordered_atomic(c->kernel, op);
  const bool is_seen = hlo_tile_is_used(c->kernel, op);
  if ((!is_ordered && !is_seen) || hlo_tile_visits_in_order(op)) return hlo_ok();
  return refuse_op(c, op, "its tile is not visited in order");
}

static hlo_status_t check_print(const lowering_check_t* c, const hlo_tile_op_t* op) {
  enum { MOST_POINTS = 4096 };
  if (!c->target->has_threads) return refuse_kind(c, op);
  if (!hlo_tile_visits_in_order(op)) return refuse_op(c, op, "its tile is not visited in order");
  if (hlo_tile_point_room(op) > MOST_POINTS) return refuse_op(c, op, "its tile is too large");
  return hlo_ok();
}

static hlo_status_t check_op(const lowering_check_t* c, const hlo_tile_op_t* op) {
  if (op->kind == HLO_TILE_OP_scaled_mma) return check_scaled_mma(c, op);
  HLO_TRY(check_types(c, op));
  switch (op->kind) {
    case HLO_TILE_OP_load:
    case HLO_TILE_OP_store:
    case HLO_TILE_OP_constant:
    case HLO_TILE_OP_index:
    case HLO_TILE_OP_product:
    case HLO_TILE_OP_guard:
    case HLO_TILE_OP_relayout:
    case HLO_TILE_OP_result:
    case HLO_TILE_OP_yield:
    case HLO_TILE_OP_for:
    case HLO_TILE_OP_while:
    case HLO_TILE_OP_switch:
    case HLO_TILE_OP_argument:
    case HLO_TILE_OP_if:
    case HLO_TILE_OP_reference:
    case HLO_TILE_OP_slice:
    case HLO_TILE_OP_transpose:
    case HLO_TILE_OP_reshape:
    case HLO_TILE_OP_ref_load:
    case HLO_TILE_OP_ref_store:
    case HLO_TILE_OP_program_id:
    case HLO_TILE_OP_num_programs: return hlo_ok();
    case HLO_TILE_OP_parallel: return check_threads(c, op);
    case HLO_TILE_OP_copy: return check_copy(c, op);
    case HLO_TILE_OP_copy_start: HLO_TRY(check_copy(c, op)); return check_sync(c, op);
    case HLO_TILE_OP_copy_wait:
    case HLO_TILE_OP_semaphore_signal:
    case HLO_TILE_OP_semaphore_wait:
    case HLO_TILE_OP_barrier_arrive:
    case HLO_TILE_OP_barrier_wait: return check_sync(c, op);
    case HLO_TILE_OP_atomic: return check_atomic(c, op);
    case HLO_TILE_OP_print: return check_print(c, op);
    case HLO_TILE_OP_alloc: return check_alloc(c, op);
    case HLO_TILE_OP_mma: return check_mma(c, op);
    case HLO_TILE_OP_bitcast: return check_bitcast(c, op);
    case HLO_TILE_OP_map: return check_map(c, op);
    case HLO_TILE_OP_reduce: return check_reduce(c, op);
    default: return refuse_kind(c, op);
  }
}

// ---- tiles whose points depend on each other

static const hlo_tile_op_t* next_inside(const hlo_tile_op_t* op, const hlo_tile_op_t* tile) {
  const hlo_tile_op_t* next = hlo_tile_next_op(op);
  return next == tile ? NULL : next;
}

// Returns the first operation inside, in the order of the text.
static const hlo_tile_op_t* first_inside(const hlo_tile_op_t* op) {
  const hlo_tile_op_t* first = op->body.first;
  while (first && first->body.first) first = first->body.first;
  return first;
}

static bool is_in_tile(const hlo_tile_op_t* op) {
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    if (op->loops[i].step > 1) return true;
  }
  return false;
}

// Returns true if the loops in tiles all occur in the offset.
static bool is_by_point(const hlo_tile_op_t* tile, const hlo_expr_t* offset) {
  for (uint32_t i = 0; i < tile->loop_count; ++i) {
    if (tile->loops[i].step > 1 && !(offset->loops >> tile->loops[i].iv & 1)) return false;
  }
  return true;
}

// Returns the reference in which an access has its offset; NULL: the whole buffer.
static const hlo_tile_op_t* part_of(const hlo_tile_op_t* op) {
  const bool is_ref = op->kind != HLO_TILE_OP_load && op->kind != HLO_TILE_OP_store;
  return is_ref && op->operands[0]->kind != HLO_TILE_OP_reference ? op->operands[0] : NULL;
}

// Returns true if two accesses may be of the same memory at different points.
static bool may_meet(const lowering_check_t* c, const hlo_tile_op_t* tile, const hlo_tile_op_t* a,
                     const hlo_tile_op_t* b) {
  const bool is_ref = a->kind != HLO_TILE_OP_load && a->kind != HLO_TILE_OP_store;
  const bool is_other_ref = b->kind != HLO_TILE_OP_load && b->kind != HLO_TILE_OP_store;
  const hlo_tile_op_t* root = is_ref ? hlo_tile_ref_root(a->operands[0]) : NULL;
  const hlo_tile_op_t* other = is_other_ref ? hlo_tile_ref_root(b->operands[0]) : NULL;
  const bool is_alloc = root && root->kind == HLO_TILE_OP_alloc;
  if (is_alloc || (other && other->kind == HLO_TILE_OP_alloc)) {
    if (root != other) return false;
  } else if ((root ? root->buffer : a->buffer) != (other ? other->buffer : b->buffer)) {
    return false;
  }
  // Starts of different references are unknown here, but for those of whole buffers.
  if (part_of(a) != part_of(b)) return true;
  const hlo_expr_t* x = hlo_tile_offset(c->exprs, a);
  const hlo_expr_t* y = hlo_tile_offset(c->exprs, b);
  if (x == y) return !is_by_point(tile, x);
  return x->high >= y->low && y->high >= x->low;
}

// Returns true for updates that may be done in any order.
static bool commutes(const lowering_check_t* c, const hlo_tile_op_t* a, const hlo_tile_op_t* b) {
  return a->kind == HLO_TILE_OP_atomic && b->kind == HLO_TILE_OP_atomic && a->atomic == b->atomic &&
         !hlo_tile_is_ordered_atomic(c->kernel, a) && !hlo_tile_is_ordered_atomic(c->kernel, b);
}

// All points of a tile finish an operation before the next one begins. One after the other, they
// give the same results unless one reads what another one stores.
static hlo_status_t check_tile(const lowering_check_t* c, const hlo_tile_op_t* tile) {
  for (const hlo_tile_op_t* op = first_inside(tile); op; op = next_inside(op, tile)) {
    if (!hlo_tile_is_access(op) || !hlo_tile_writes(op)) continue;
    const hlo_tile_op_t* other = first_inside(tile);
    for (; other; other = next_inside(other, tile)) {
      if (!hlo_tile_is_access(other) || other == op || !may_meet(c, tile, op, other)) continue;
      if (commutes(c, op, other)) continue;
      return refuse_op(c, op, "other elements of its memory are accessed in the same tile");
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_tile_check_lowering(const hlo_tile_kernel_t* kernel, const hlo_target_t* target) {
  HLO_SCOPED_ARENA scratch = {0};
  hlo_expr_space_t exprs;
  hlo_expr_space_init(&exprs, &scratch);
  const lowering_check_t check = {.kernel = kernel, .target = target, .exprs = &exprs};
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    HLO_TRY(check_op(&check, op));
    if (is_in_tile(op)) HLO_TRY(check_tile(&check, op));
  }
  return hlo_arena_status(&scratch);
}

// ---- phases and chunks

bool hlo_tile_writes(const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_store:
    case HLO_TILE_OP_ref_store:
    case HLO_TILE_OP_copy:
    case HLO_TILE_OP_copy_start:
    case HLO_TILE_OP_atomic:
    case HLO_TILE_OP_mma:
    case HLO_TILE_OP_scaled_mma: return true;
    default: return false;
  }
}

static bool has_effect(const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_copy_wait: return hlo_tile_is_counted(hlo_tile_ref_root(op->operands[0]));
    case HLO_TILE_OP_semaphore_signal:
    case HLO_TILE_OP_semaphore_wait:
    case HLO_TILE_OP_barrier_arrive:
    case HLO_TILE_OP_barrier_wait:
    case HLO_TILE_OP_print: return true;
    default: return hlo_tile_writes(op);
  }
}

bool hlo_tile_any_in_block(const hlo_tile_block_t* block, hlo_tile_visit_t visit, void* context) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (visit(op, context) || hlo_tile_any_inside(op, visit, context)) return true;
  }
  return false;
}

bool hlo_tile_any_inside(const hlo_tile_op_t* op, hlo_tile_visit_t visit, void* context) {
  const hlo_tile_block_t* region = op->body.first ? &op->body : NULL;
  for (; region; region = region->next) {
    if (hlo_tile_any_in_block(region, visit, context)) return true;
  }
  return false;
}

static bool any_op(const hlo_tile_op_t* op, hlo_tile_visit_t visit, const void* context) {
  void* lent = (void*)(uintptr_t)context;
  return visit(op, lent) || hlo_tile_any_inside(op, visit, lent);
}

static bool is_effect(const hlo_tile_op_t* op, HLO_UNUSED void* context) {
  return has_effect(op);
}

// Its order is that of the text: results, and lines, are the same on any number of threads.
static bool is_in_order(const hlo_tile_op_t* op, void* kernel) {
  return op->kind == HLO_TILE_OP_print || hlo_tile_is_ordered_atomic(kernel, op);
}

static bool reads_output(const hlo_tile_op_t* op, void* context) {
  const hlo_tile_kernel_t* kernel = context;
  if (op->kind == HLO_TILE_OP_load) return kernel->buffers[op->buffer].is_output;
  if (op->kind != HLO_TILE_OP_ref_load) return false;
  const hlo_tile_op_t* root = hlo_tile_ref_root(op->operands[0]);
  return root->kind == HLO_TILE_OP_alloc || kernel->buffers[root->buffer].is_output;
}

bool hlo_tile_is_phase(const hlo_tile_op_t* op) {
  return any_op(op, is_effect, NULL);
}

static bool uses_memory_of(const hlo_tile_op_t* op, void* alloc) {
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (hlo_tile_op_is_ref(op->operands[i]) && hlo_tile_ref_root(op->operands[i]) == alloc) {
      return true;
    }
  }
  return false;
}

// Returns true if several phases, or the iterations of one, share an allocation: every function has
// allocations of its own.
static bool is_shared(const hlo_tile_op_t* alloc) {
  uint32_t users = 0;
  for (const hlo_tile_op_t* op = alloc->next; op; op = op->next) {
    if (!hlo_tile_is_phase(op) || !any_op(op, uses_memory_of, alloc)) continue;
    users += op->kind == HLO_TILE_OP_parallel ? 2 : 1;
  }
  return users > 1;
}

// Returns true if phases can only run in one function.
static bool has_dependent_phases(const hlo_tile_kernel_t* kernel) {
  for (const hlo_tile_op_t* op = kernel->body.first; op; op = op->next) {
    const bool depends =
        hlo_tile_is_phase(op) ? hlo_tile_op_has_result(op) : any_op(op, reads_output, kernel);
    if (depends || (op->kind == HLO_TILE_OP_alloc && is_shared(op))) return true;
  }
  return false;
}

static int64_t transpose_edge(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                              const hlo_target_t* target) {
  HLO_SCOPED_ARENA scratch = {0};
  hlo_expr_space_t exprs;
  hlo_expr_space_init(&exprs, &scratch);
  const hlo_tile_emitter_t e = {
      .kernel = kernel, .target = target, .exprs = &exprs, .lane_iv = HLO_TILE_NO_LANES};
  return hlo_tile_transpose_edge(&e, op);
}

// Cuts a parallel loop into whole vectors, or whole steps.
static void plan_phase(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                       const hlo_target_t* target, hlo_tile_plan_t* plan) {
  enum { MOST_CHUNKS = 64 };
  const hlo_tile_loop_t* loop = &op->loops[0];
  const uint32_t number = plan->phase_count++;
  plan->chunk_counts[number] = 1;
  if (op->kind != HLO_TILE_OP_parallel || loop->low < 0) return;
  if (hlo_tile_runs_threads(op) || any_op(op, is_in_order, kernel)) return;
  const int64_t unit =
      hlo_max(loop->step > 1 ? hlo_max(loop->step, (int64_t)target->vector_bytes) : 1,
              transpose_edge(kernel, op, target));
  const int64_t size = hlo_divide_up(hlo_divide_up(loop->end, unit), MOST_CHUNKS) * unit;
  plan->chunk_sizes[number] = size;
  plan->chunk_counts[number] = (uint32_t)hlo_divide_up(loop->end, size);
}

hlo_status_t hlo_tile_plan_chunks(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                  hlo_arena_t* arena, hlo_tile_plan_t* out_plan) {
  hlo_tile_plan_t plan = {.is_whole = has_dependent_phases(kernel)};
  size_t most = 1;
  for (const hlo_tile_op_t* op = kernel->body.first; op; op = op->next) ++most;
  plan.chunk_counts = hlo_arena_array(arena, most, sizeof *plan.chunk_counts);
  plan.chunk_sizes = hlo_arena_array(arena, most, sizeof *plan.chunk_sizes);
  HLO_TRY(hlo_arena_status(arena));
  for (const hlo_tile_op_t* op = kernel->body.first; op && !plan.is_whole; op = op->next) {
    if (hlo_tile_is_phase(op)) plan_phase(kernel, op, target, &plan);
  }
  if (plan.is_whole) plan.chunk_counts[plan.phase_count++] = 1;
  *out_plan = plan;
  return hlo_ok();
}
