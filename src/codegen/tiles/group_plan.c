// SPDX-License-Identifier: Apache-2.0
// Plans how a group of threads runs a phase: threads, addresses of allocations, versions of those
// that a loop with stages fills, and swizzles without bank conflicts (see group.h).
#include "base/integer.h"
#include "codegen/tiles/group_impl.h"
#include "tile/bank.h"

enum {
  ALIGN_BYTES = 1024,  // of allocations: the period of swizzles
  MOST_REDUCED = 16,   // values that a group reduces at the same time
  WORD_BYTES = 8,
};

bool hlo_tile_is_part_of(const hlo_tile_op_t* op, const hlo_tile_op_t* phase) {
  while (op->block->parent) op = op->block->parent;
  return !phase || op == phase || !hlo_tile_is_phase(op);
}

// Returns true if the operation is in a tile: threads have divided what is around it.
static bool is_in_divided(const hlo_tile_op_t* op) {
  for (const hlo_tile_op_t* at = op->block->parent; at; at = at->block->parent) {
    if (at->kind == HLO_TILE_OP_reduce) return true;
    if (at->loop_count && at->loops[0].step > 1) return true;
  }
  return false;
}

static int64_t trips_of(const hlo_tile_op_t* op) {
  int64_t trips = 0;
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i];
    if (loop->step > 1) trips = hlo_max(trips, loop->end - loop->low);
  }
  return trips;
}

bool hlo_tile_suits_group(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase) {
  bool has_rows = false;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_is_part_of(op, phase)) continue;
    if (op->kind == HLO_TILE_OP_alloc || hlo_tile_op_is_mma(op) || op->kind == HLO_TILE_OP_copy) {
      return true;
    }
    has_rows |=
        op->kind == HLO_TILE_OP_reduce && !is_in_divided(op) && trips_of(op) >= HLO_TILE_WARP;
  }
  return has_rows;
}

// ---- threads

// Returns the points of the perfect nest of tiles that an operation begins.
static int64_t points_of(const hlo_tile_op_t* op) {
  int64_t points = 1;
  for (; op && op->loop_count == 1 && op->loops[0].step > 1; op = op->body.first) {
    const hlo_tile_loop_t* loop = &op->loops[0];
    const int64_t trips = op->kind == HLO_TILE_OP_parallel ? loop->step : loop->end - loop->low;
    if (points < HLO_TILE_GROUP_MOST_THREADS) points *= trips;
    if (op->body.first != op->body.last) break;
  }
  return points;
}

static uint32_t count_threads(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase) {
  int64_t most = HLO_TILE_WARP;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_is_part_of(op, phase) || is_in_divided(op)) continue;
    if (op->kind == HLO_TILE_OP_reduce) most = hlo_max(most, trips_of(op));
    if (op->kind == HLO_TILE_OP_for || op->kind == HLO_TILE_OP_parallel) {
      most = hlo_max(most, points_of(op));
    }
    if (hlo_tile_op_is_mma(op)) most = hlo_max(most, hlo_tile_ref_count(op->operands[0]));
  }
  most = hlo_min(most, (int64_t)HLO_TILE_GROUP_MOST_THREADS);
  return (uint32_t)(hlo_divide_up(most, HLO_TILE_WARP) * HLO_TILE_WARP);
}

// ---- stages

// Returns true if the copy fills a whole allocation from memory that the kernel does not write.
static bool is_fill(const hlo_tile_op_t* op, const hlo_tile_kernel_t* kernel) {
  if (op->kind != HLO_TILE_OP_copy) return false;
  const hlo_tile_op_t* from = hlo_tile_ref_root(op->operands[0]);
  return op->operands[1]->kind == HLO_TILE_OP_alloc &&
         op->operands[1]->ref.space == HLO_TILE_SPACE_near && from->kind == HLO_TILE_OP_reference &&
         !kernel->buffers[from->buffer].is_output;
}

static bool is_inside(const hlo_tile_op_t* op, const hlo_tile_op_t* loop) {
  while (op && op != loop) op = op->block->parent;
  return op != NULL;
}

// Returns true if only this copy writes the allocation, and nothing outside of the loop reads it.
static bool is_only_filled_by(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* copy,
                              const hlo_tile_op_t* loop) {
  const hlo_tile_op_t* alloc = copy->operands[1];
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (!hlo_tile_op_is_ref(op->operands[i]) || hlo_tile_ref_root(op->operands[i]) != alloc) {
        continue;
      }
      const bool writes = (op->kind == HLO_TILE_OP_copy && i == 1) ||
                          op->kind == HLO_TILE_OP_copy_start ||
                          (hlo_tile_op_is_mma(op) && i == 0) || op->kind == HLO_TILE_OP_ref_store;
      if (!is_inside(op, loop) || (writes && op != copy)) return false;
    }
  }
  return true;
}

bool hlo_tile_has_stages(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* loop) {
  bool has_fill = false, has_other = false;
  if (loop->kind != HLO_TILE_OP_for || loop->loops[0].schedule.stages < 2 ||
      loop->loops[0].step != 1 || loop->operand_count) {
    return false;
  }
  for (const hlo_tile_op_t* op = loop->body.first; op; op = op->next) {
    if (op->kind == HLO_TILE_OP_slice || op->kind == HLO_TILE_OP_alloc ||
        op->kind == HLO_TILE_OP_transpose) {
      continue;
    }
    if (op->kind == HLO_TILE_OP_copy) {
      if (has_other || !is_fill(op, kernel) || !is_only_filled_by(kernel, op, loop)) return false;
      has_fill = true;
    } else {
      has_other = true;
    }
  }
  return has_fill;
}

static void plan_versions(const hlo_tile_kernel_t* kernel, hlo_tile_group_plan_t* plan) {
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_has_stages(kernel, op) || is_in_divided(op)) continue;
    for (const hlo_tile_op_t* copy = op->body.first; copy; copy = copy->next) {
      if (copy->kind != HLO_TILE_OP_copy) continue;
      plan->allocs[copy->operands[1]->number].versions = (uint32_t)op->loops[0].schedule.stages;
    }
  }
}

// ---- swizzles

// Returns the swizzle under which 8 rows, 16 bytes of each, lie in different banks; none: they do
// anyway, or no swizzle does.
static hlo_swizzle_t swizzle_of_rows(int64_t row_bytes) {
  const hlo_swizzle_t none = {0, 0, 0};
  if (row_bytes < 32 || (row_bytes & (row_bytes - 1))) return none;
  const uint32_t log = (uint32_t)__builtin_ctzll((uint64_t)row_bytes);
  return log >= 7 ? (hlo_swizzle_t){3, 4, (uint8_t)(log - 4)}
                  : (hlo_swizzle_t){(uint8_t)(log - 4), 4, 3};
}

// Returns true if a reference is the allocation itself, or starts at multiples of a swizzle's
// period.
static bool starts_at_periods(const hlo_tile_op_t* ref) {
  for (; ref->kind != HLO_TILE_OP_alloc; ref = ref->operands[0]) {
    if (ref->kind != HLO_TILE_OP_slice) return false;
    int64_t strides[HLO_TILE_MAX_RANK];
    hlo_tile_ref_strides(ref->operands[0], strides);
    for (uint32_t i = 0; i < ref->index_count; ++i) {
      const bool is_start = hlo_expr_is_const(ref->indices[i]) && ref->indices[i]->constant == 0;
      const int64_t bytes = strides[i] * (int64_t)hlo_dtype_size_bytes(ref->dtype);
      if (!is_start && bytes % ALIGN_BYTES) return false;
    }
  }
  return true;
}

typedef struct alloc_use {
  bool is_product, is_other_product, is_whole;
  uint32_t conflicts, conflicts_swizzled;  // of accesses by threads
} alloc_use_t;

// The lanes of a warp along the loops of a perfect nest: lane bits by dimension of the allocation.
static bool lanes_of_nest(const hlo_tile_op_t* access, const hlo_tile_op_t* alloc,
                          hlo_tile_lane_bits_t* out_bits) {
  const hlo_tile_op_t* loop = access->block->parent;
  uint32_t bits = 0;
  out_bits->count = 0;
  for (; loop && loop->loop_count == 1 && loop->loops[0].step > 1 && bits < 5;
       loop = loop->block->parent) {
    const int64_t trips = loop->loops[0].end - loop->loops[0].low;
    if (trips & (trips - 1)) return false;
    int64_t stride = 0, strides[HLO_TILE_MAX_RANK];
    hlo_tile_ref_strides(alloc, strides);
    for (uint32_t i = 0; i < access->index_count; ++i) {
      stride += strides[i] * hlo_expr_coefficient(access->indices[i], loop->loops[0].iv);
    }
    for (int64_t step = 1; step < trips && bits < 5; step *= 2, ++bits) {
      out_bits->strides[out_bits->count++] = stride * step;
    }
    if (loop->block->first != loop->block->last) break;
  }
  return bits == 5;
}

static void see_access(const hlo_tile_op_t* op, const hlo_tile_op_t* alloc, hlo_swizzle_t swizzle,
                       alloc_use_t* use) {
  hlo_tile_lane_bits_t lanes;
  const uint32_t bytes = (uint32_t)hlo_dtype_size_bytes(alloc->dtype);
  if (op->operands[0] != alloc || !lanes_of_nest(op, alloc, &lanes)) return;
  use->conflicts += hlo_tile_bank_conflicts(&lanes, bytes, (hlo_swizzle_t){0, 0, 0});
  use->conflicts_swizzled += hlo_tile_bank_conflicts(&lanes, bytes, swizzle);
}

static alloc_use_t uses_of(const hlo_tile_kernel_t* kernel, const hlo_tile_group_plan_t* plan,
                           const hlo_tile_op_t* alloc, hlo_swizzle_t swizzle) {
  alloc_use_t use = {.is_whole = true};
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      const hlo_tile_op_t* ref = op->operands[i];
      if (!hlo_tile_op_is_ref(ref) || hlo_tile_ref_root(ref) != alloc) continue;
      if (hlo_tile_op_is_ref(op)) continue;
      use.is_whole &= starts_at_periods(ref);
      if (hlo_tile_op_is_mma(op) && i < 3) {
        const bool is_fragment =
            i > 0 && plan->allocs[hlo_tile_ref_root(op->operands[0])->number].is_fragment;
        use.is_product |= is_fragment;
        use.is_other_product |= !is_fragment;
      } else if (op->kind == HLO_TILE_OP_ref_load || op->kind == HLO_TILE_OP_ref_store) {
        see_access(op, alloc, swizzle, &use);
      }
    }
  }
  return use;
}

static void plan_swizzle(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* alloc,
                         hlo_tile_group_plan_t* plan) {
  enum { BANK_BITS = 5, BANK_BYTES_LOG2 = 2 };
  if (alloc->ref.rank < 2 || hlo_tile_ref_count(alloc) == 0) return;
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(alloc, strides);
  const int64_t row_bytes =
      strides[alloc->ref.rank - 2] * (int64_t)hlo_dtype_size_bytes(alloc->dtype);
  const bool is_power = (row_bytes & (row_bytes - 1)) == 0;
  const hlo_swizzle_t of_products = swizzle_of_rows(row_bytes);
  hlo_swizzle_t of_words = {0, 0, 0};
  if (is_power && row_bytes >= 128) {
    const uint32_t log = (uint32_t)__builtin_ctzll((uint64_t)row_bytes);
    of_words = (hlo_swizzle_t){BANK_BITS, BANK_BYTES_LOG2, (uint8_t)(log - BANK_BYTES_LOG2)};
  }
  const alloc_use_t use = uses_of(kernel, plan, alloc, of_words);
  if (!use.is_whole || use.is_other_product) return;
  if (use.is_product) {
    plan->allocs[alloc->number].swizzle = of_products;
  } else if (of_words.bits && use.conflicts_swizzled < use.conflicts) {
    plan->allocs[alloc->number].swizzle = of_words;
  }
}

// Nothing but atoms multiplies scaled operands.
static hlo_status_t check_scaled(const hlo_tile_kernel_t* kernel,
                                 const hlo_tile_group_plan_t* plan) {
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_scaled_mma) continue;
    if (plan->allocs[hlo_tile_ref_root(op->operands[0])->number].is_fragment) continue;
    return hlo_unimplemented(
        "%s: scaled_mma: its sums are no accumulator whose rows are multiples of 16 and columns "
        "of 8, or operands have no rows of 16 bytes, or scales of 1, 2 or whole words, in near "
        "memory",
        kernel->name);
  }
  return hlo_ok();
}

// Atoms of four warps read their operands under one swizzle.
static hlo_status_t check_swizzles(const hlo_tile_kernel_t* kernel,
                                   const hlo_tile_group_plan_t* plan) {
  enum { ATOM_ROWS_OF_WARP = 16 };
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_mma) continue;
    const hlo_tile_group_alloc_t* sum = &plan->allocs[hlo_tile_ref_root(op->operands[0])->number];
    if (!sum->is_fragment || sum->atom->rows == ATOM_ROWS_OF_WARP) continue;
    for (uint32_t i = 1; i < 3; ++i) {
      const hlo_swizzle_t s = plan->allocs[op->operands[i]->number].swizzle;
      if (s.bits == 3 && s.base == 4 && s.shift == 3) continue;
      return hlo_unimplemented("%s: mma: an operand is accessed in ways that rule out its swizzle",
                               kernel->name);
    }
  }
  return hlo_ok();
}

// ---- addresses

// An allocation in near memory, placed, and when it is in use.
typedef struct placed {
  uint32_t number;
  hlo_tile_lifetime_t use;
} placed_t;

// Copies fill allocations before their iteration begins: those that producers fill from the
// beginning on, those inside of the loop with stages all the time.
static hlo_tile_lifetime_t lifetime_of(const hlo_tile_op_t* op, const hlo_tile_group_plan_t* plan,
                                       const hlo_tile_lifetime_t* lifetimes) {
  hlo_tile_lifetime_t use = lifetimes[op->number];
  const hlo_tile_op_t* around = op->block->parent;
  bool is_bulk = false;
  for (uint32_t i = 0; i < plan->bulk_count; ++i) {
    is_bulk |= plan->bulk[i].copy->operands[1] == op;
  }
  if (is_bulk) use.start = 0;
  const bool is_inside = around && around->loop_count && around->loops[0].schedule.stages > 1;
  return is_inside ? (hlo_tile_lifetime_t){0, UINT32_MAX} : use;
}

// Makes allocations that share bytes one memory.
static void join_memories(hlo_tile_group_plan_t* plan, const placed_t* placed, uint32_t count,
                          uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tile_group_alloc_t* alloc = &plan->allocs[placed[i].number];
    if (alloc->memory == from) alloc->memory = to;
  }
}

static bool shares_bytes(const hlo_tile_group_alloc_t* a, const hlo_tile_group_alloc_t* b) {
  return a->offset < b->offset + b->bytes * b->versions &&
         b->offset < a->offset + a->bytes * a->versions;
}

// Finds the lowest address where no allocation lies that is in use meanwhile.
static void place_alloc(hlo_tile_group_plan_t* plan, placed_t* placed, uint32_t number,
                        int64_t align) {
  hlo_tile_group_alloc_t* own = &plan->allocs[placed[number].number];
  const hlo_tile_lifetime_t use = placed[number].use;
  own->offset = 0;
  for (uint32_t i = 0; i < number; ++i) {
    const hlo_tile_group_alloc_t* other = &plan->allocs[placed[i].number];
    const bool meets = placed[i].use.end >= use.start && placed[i].use.start <= use.end;
    if (!meets || !shares_bytes(own, other)) continue;
    own->offset = hlo_divide_up(other->offset + other->bytes * other->versions, align) * align;
    i = UINT32_MAX;  // from the first one again
  }
  own->memory = placed[number].number;
  for (uint32_t i = 0; i < number; ++i) {
    const hlo_tile_group_alloc_t* other = &plan->allocs[placed[i].number];
    if (shares_bytes(own, other)) join_memories(plan, placed, number, other->memory, own->memory);
  }
}

static hlo_status_t place(const hlo_tile_kernel_t* kernel, int64_t available, hlo_arena_t* arena,
                          hlo_tile_group_plan_t* plan) {
  bool has_reduce = false;
  int64_t bytes = 0;
  uint32_t count = 0;
  hlo_tile_lifetime_t* lifetimes;
  HLO_TRY(hlo_tile_kernel_lifetimes(kernel, arena, &lifetimes));
  placed_t* placed = hlo_arena_array(arena, (size_t)kernel->value_count + 1, sizeof *placed);
  HLO_TRY(hlo_arena_status(arena));
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_is_part_of(op, plan->phase)) continue;
    has_reduce |= op->kind == HLO_TILE_OP_reduce && !is_in_divided(op) && trips_of(op) > 0;
    if (op->kind != HLO_TILE_OP_alloc || plan->allocs[op->number].is_fragment) continue;
    hlo_tile_group_alloc_t* alloc = &plan->allocs[op->number];
    const int64_t size = hlo_tile_ref_count(op) * (int64_t)hlo_dtype_size_bytes(op->dtype);
    const int64_t align = alloc->swizzle.bits || alloc->versions > 1 ? ALIGN_BYTES : 128;
    alloc->bytes = hlo_divide_up(size, align) * align;
    placed[count] = (placed_t){op->number, lifetime_of(op, plan, lifetimes)};
    place_alloc(plan, placed, count++, align);
    bytes = hlo_max(bytes, alloc->offset + alloc->bytes * alloc->versions);
  }
  plan->reduce_offset = hlo_divide_up(bytes, WORD_BYTES) * WORD_BYTES;
  if (has_reduce) {
    bytes = plan->reduce_offset +
            (int64_t)(plan->thread_count / HLO_TILE_WARP) * MOST_REDUCED * WORD_BYTES;
  }
  if (plan->bulk_loop) {
    plan->barrier_offset = hlo_divide_up(bytes, WORD_BYTES) * WORD_BYTES;
    bytes = plan->barrier_offset + hlo_tile_barrier_bytes(plan);
  }
  if (plan->tensor_columns) {
    plan->tensor_offset = hlo_divide_up(bytes, WORD_BYTES) * WORD_BYTES;
    bytes = plan->tensor_offset + 2 * WORD_BYTES;
  }
  plan->near_bytes = bytes;
  if (bytes <= available) return hlo_ok();
  return hlo_resource_exhausted("%s needs %lld bytes of near memory, %lld are available",
                                kernel->name, (long long)bytes, (long long)available);
}

hlo_status_t hlo_tile_plan_group(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase,
                                 const hlo_target_t* target, int64_t near_bytes, uint64_t blocks,
                                 hlo_arena_t* arena, hlo_tile_group_plan_t* out_plan) {
  hlo_tile_group_plan_t plan = {.phase = phase};
  plan.allocs = hlo_arena_array(arena, (size_t)kernel->value_count + 1, sizeof *plan.allocs);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i <= kernel->value_count; ++i) plan.allocs[i].versions = 1;
  hlo_tile_plan_fragments(kernel, target, &plan);
  HLO_TRY(hlo_tile_plan_columns(kernel, &plan));
  if (!plan.thread_count) plan.thread_count = count_threads(kernel, phase);
  plan_versions(kernel, &plan);
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind == HLO_TILE_OP_alloc && !plan.allocs[op->number].is_fragment) {
      plan_swizzle(kernel, op, &plan);
    }
  }
  HLO_TRY(check_scaled(kernel, &plan));
  HLO_TRY(check_swizzles(kernel, &plan));
  hlo_tile_plan_bulk(kernel, target, blocks, &plan);
  HLO_TRY(place(kernel, near_bytes, arena, &plan));
  *out_plan = plan;
  return hlo_ok();
}
