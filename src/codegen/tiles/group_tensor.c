// SPDX-License-Identifier: Apache-2.0
// Accumulators in tensor memory: a thread has the whole rows of its number in each 128 rows; one
// thread starts a product, all wait at a barrier for its end. Other operations have a few columns
// at a time in registers.
#include "base/integer.h"
#include "codegen/tiles/group_impl.h"

enum {
  ROWS = 128,         // of an atom, and threads
  LINE_BYTES = 128,   // of a row of an operand
  STEP_BYTES = 32,    // of the contraction
  PART_COLUMNS = 16,  // in registers at a time
  FIELD = 16,         // bits of a number in the operations
  BARRIER_BYTES = 8,
};

static const hlo_vir_type_t kVoid = {HLO_VIR_VOID, 0};

// ---- plan --------------------------------------------------------------------------------------

static bool is_operand(const hlo_tile_op_t* ref, uint32_t contracted) {
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(ref->dtype);
  return ref->kind == HLO_TILE_OP_alloc && contracted == 1 &&
         ref->ref.dims[1] * bytes == LINE_BYTES;
}

bool hlo_tile_fits_tensor(const hlo_tile_op_t* mma, const hlo_tile_atom_t* atom) {
  enum { MOST_COLUMNS = 256 };
  const hlo_tile_op_t *left = mma->operands[1], *right = mma->operands[2];
  return mma->kind == HLO_TILE_OP_mma && left->dtype == right->dtype &&
         is_operand(left, mma->dims.left_contract[0]) &&
         is_operand(right, mma->dims.right_contract[0]) && left->ref.dims[0] % ROWS == 0 &&
         right->ref.dims[0] % atom->columns == 0 && right->ref.dims[0] <= MOST_COLUMNS;
}

void hlo_tile_plan_tensor(const hlo_tile_op_t* alloc, hlo_tile_group_plan_t* plan) {
  hlo_tile_group_alloc_t* own = &plan->allocs[alloc->number];
  own->is_fragment = own->is_tensor = true;
  own->memory = alloc->number;
  own->first_column = plan->tensor_columns;
  own->first_register = plan->register_count;
  plan->tensor_columns += (uint32_t)(own->rows / ROWS * own->columns);
  plan->register_count += PART_COLUMNS;
  plan->thread_count = ROWS;
  plan->has_warp_groups = true;
}

hlo_status_t hlo_tile_plan_columns(const hlo_tile_kernel_t* kernel, hlo_tile_group_plan_t* plan) {
  enum { LEAST_COLUMNS = 32 };
  if (!plan->tensor_columns) return hlo_ok();
  uint32_t columns = LEAST_COLUMNS;
  while (columns < plan->tensor_columns) columns *= 2;
  if (columns > HLO_TILE_TENSOR_COLUMNS) {
    return hlo_resource_exhausted("%s needs %u columns of tensor memory, %d are available",
                                  kernel->name, columns, HLO_TILE_TENSOR_COLUMNS);
  }
  plan->tensor_columns = columns;
  plan->tensor_register = plan->register_count++;
  return hlo_ok();
}

// ---- allocation --------------------------------------------------------------------------------

static int64_t allocation(const hlo_tile_group_plan_t* plan) {
  return (int64_t)plan->tensor_register | (int64_t)plan->tensor_columns << FIELD;
}

static hlo_vir_value_t* place_of_barrier(hlo_vir_builder_t* b, const hlo_tile_group_t* group,
                                         int64_t further) {
  return hlo_vir_index(b, HLO_VIR_iadd, group->near,
                       hlo_vir_iconst(b, group->plan->tensor_offset + further));
}

void hlo_tile_begin_tensor(hlo_vir_builder_t* b, hlo_tile_group_t* group) {
  if (!group->plan->tensor_columns) return;
  hlo_vir_value_t* barrier = place_of_barrier(b, group, 0);
  hlo_vir_value_t* address = place_of_barrier(b, group, BARRIER_BYTES);
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, group->thread, hlo_vir_iconst(b, 0)));
  hlo_vir_emit(b, HLO_VIR_barrier_init, kVoid, 0, 1, 1, &barrier);
  hlo_vir_end(b);
  hlo_vir_emit(b, HLO_VIR_tensor_begin, kVoid, 0, allocation(group->plan), 1, &address);
  group->parity = hlo_vir_var(b, hlo_vir_iconst(b, 0));
}

void hlo_tile_end_tensor(hlo_vir_builder_t* b, const hlo_tile_group_t* group) {
  if (!group->plan->tensor_columns) return;
  hlo_vir_emit(b, HLO_VIR_tensor_end, kVoid, 0, allocation(group->plan), 0, NULL);
}

// ---- elements ----------------------------------------------------------------------------------

static bool is_accessed(const hlo_tile_op_t* nest, const hlo_tile_op_t* alloc,
                        hlo_tile_op_kind_t kind) {
  for (const hlo_tile_op_t* op = nest->body.first->body.first; op; op = op->next) {
    if (op->kind == kind && hlo_tile_ref_root(op->operands[0]) == alloc) return true;
  }
  return false;
}

// Loads, or stores, the columns of every accumulator that a nest loads, or stores.
static void move_columns(hlo_tile_emitter_t* e, const hlo_tile_op_t* like,
                         const hlo_tile_op_t* nest, int64_t distance, bool is_load) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(e->kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_alloc || !plan->allocs[op->number].is_tensor) continue;
    const hlo_tile_op_kind_t kind = is_load ? HLO_TILE_OP_ref_load : HLO_TILE_OP_ref_store;
    if (nest ? !is_accessed(nest, op, kind) : op != like || !is_load) continue;
    const hlo_tile_group_alloc_t* own = &plan->allocs[op->number];
    const int64_t column = own->first_column + distance, first = own->first_register;
    hlo_vir_emit(e->b, is_load ? HLO_VIR_tensor_load : HLO_VIR_tensor_store, kVoid, PART_COLUMNS,
                 (int64_t)plan->tensor_register | column << FIELD | first << 2 * FIELD, 0, NULL);
  }
}

void hlo_tile_each_tensor_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* alloc,
                                  const hlo_tile_op_t* nest, hlo_tile_each_element_t visit,
                                  void* context) {
  const hlo_tile_group_alloc_t* own = hlo_tile_group_alloc(e, alloc);
  for (int64_t row = 0; row < own->rows; row += ROWS) {
    for (int64_t part = 0; part < own->columns; part += PART_COLUMNS) {
      const int64_t distance = row / ROWS * own->columns + part;
      move_columns(e, alloc, nest, distance, true);
      for (int64_t i = 0; i < PART_COLUMNS; ++i) {
        visit(e, own->first_register + (uint32_t)i,
              hlo_tile_by_number(e, HLO_VIR_iadd, e->group->thread, row),
              hlo_tile_number(e, part + i), context);
      }
      move_columns(e, alloc, nest, distance, false);
    }
  }
}

// ---- products ----------------------------------------------------------------------------------

// All threads know that a product has ended before they go on.
static void wait_for_product(hlo_tile_emitter_t* e, hlo_vir_value_t* barrier) {
  hlo_vir_value_t* operands[] = {barrier, e->group->parity};
  hlo_vir_emit(e->b, HLO_VIR_barrier_wait, kVoid, 0, 1, 2, operands);
  hlo_vir_set(e->b, e->group->parity, hlo_tile_by_number(e, HLO_VIR_ixor, e->group->parity, 1));
}

void hlo_tile_emit_tensor_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* mma) {
  const hlo_tile_group_plan_t* plan = e->group->plan;
  const hlo_tile_op_t *left = mma->operands[1], *right = mma->operands[2];
  const hlo_tile_group_alloc_t* own = hlo_tile_fragment_of(e, mma->operands[0]);
  hlo_vir_value_t* barrier = place_of_barrier(e->b, e->group, 0);
  hlo_vir_begin_if(e->b, hlo_vir_icmp(e->b, HLO_VIR_EQ, e->group->thread, hlo_tile_number(e, 0)));
  for (int64_t row = 0; row < own->rows; row += ROWS) {
    const int64_t column = own->first_column + row / ROWS * own->columns;
    hlo_vir_value_t* operands[] = {
        hlo_tile_by_number(e, HLO_VIR_iadd, e->done[left->number], row * LINE_BYTES),
        e->done[right->number]};
    hlo_vir_emit(e->b, HLO_VIR_tensor_mma, kVoid, own->atom_number,
                 (int64_t)plan->tensor_register | column << FIELD | own->columns << 2 * FIELD |
                     (int64_t)(LINE_BYTES / STEP_BYTES) << 3 * FIELD,
                 2, operands);
  }
  hlo_vir_emit(e->b, HLO_VIR_tensor_commit, kVoid, 0, 0, 1, &barrier);
  hlo_vir_end(e->b);
  wait_for_product(e, barrier);
  e->pending_writes[own->memory] = false;
}
