// SPDX-License-Identifier: Apache-2.0
// Products of a group by matrix atoms: accumulators are fragments in the registers of warps, which
// divide their rows and columns; operands come from near memory by rows of 16 bytes. Every atom
// multiplies 16 rows by 8 columns over 32 bytes; its layouts say which lane has which element.
#include <string.h>

#include "codegen/tiles/group_impl.h"

enum {
  ATOM_ROWS = 16,
  ATOM_COLUMNS = 8,
  ATOM_BYTES = 32,      // of the contraction
  GROUP_ROWS = 64,      // of atoms of four warps
  TENSOR_ROWS = 128,    // of atoms whose sums are in tensor memory
  SUM_REGISTERS = 4,    // of a fragment of sums
  LEFT_REGISTERS = 4,   // of the left operand
  RIGHT_REGISTERS = 2,  // of the right operand
  ROW_BYTES = 16,
  SQUARE_ROWS = 8,
  TRANSPOSED = 8,    // flag of frag_load
  NUMBER_BITS = 12,  // of a register in frag_scaled_mma,
  BYTE_SHIFT = 6,    // and of the scales' byte in its flags
  WORD_BYTES = 4,
  MOST_WARPS = HLO_TILE_GROUP_MOST_THREADS / HLO_TILE_WARP,
  WARP_ELEMENTS = 64 * 32,  // of sums that a warp has, where there are enough
};

static const hlo_vir_type_t kVoid = {HLO_VIR_VOID, 0};

// ---- what can be fragments ---------------------------------------------------------------------

static bool is_loop_index(const hlo_expr_t* expr, const hlo_tile_loop_t* loop) {
  return expr->constant == 0 && expr->term_count == 1 && expr->terms[0].coefficient == 1 &&
         expr->terms[0].atom->kind == HLO_EXPR_LOOP && expr->terms[0].atom->number == loop->iv;
}

static bool covers(const hlo_tile_op_t* loop, int64_t extent) {
  return loop && loop->kind == HLO_TILE_OP_for && !loop->operand_count && loop->loops[0].step > 1 &&
         loop->loops[0].low == 0 && loop->loops[0].end == extent;
}

// Returns true for an access of the element that the two loops around are at.
static bool is_by_element(const hlo_tile_op_t* op, const hlo_tile_op_t* alloc) {
  const hlo_tile_op_t* inner = op->block->parent;
  const hlo_tile_op_t* outer = inner ? inner->block->parent : NULL;
  return covers(inner, alloc->ref.dims[1]) && covers(outer, alloc->ref.dims[0]) &&
         inner->block->first == inner->block->last &&
         is_loop_index(op->indices[0], &outer->loops[0]) &&
         is_loop_index(op->indices[1], &inner->loops[0]);
}

static bool is_in_near(const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  return root->kind == HLO_TILE_OP_alloc && root->ref.space == HLO_TILE_SPACE_near;
}

// An operand's distances in bytes between rows (or columns of the right operand) and along the
// contraction.
typedef struct operand_form {
  int64_t outer, inner, extent, depth;
} operand_form_t;

static operand_form_t form_of(const hlo_tile_op_t* ref, uint32_t contracted) {
  int64_t strides[HLO_TILE_MAX_RANK];
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(ref->dtype);
  hlo_tile_ref_strides(ref, strides);
  return (operand_form_t){strides[!contracted] * bytes, strides[contracted] * bytes,
                          ref->ref.dims[!contracted], ref->ref.dims[contracted]};
}

// Returns true if rows of 16 bytes hold what an atom takes: elements along the contraction, or, of
// 16 bits, along the columns.
static bool has_rows(const operand_form_t* form, int64_t bytes, bool may_transpose) {
  if (form->inner == bytes) return form->outer % ROW_BYTES == 0;
  return may_transpose && bytes == 2 && form->outer == bytes && form->inner % ROW_BYTES == 0;
}

int64_t hlo_tile_scale_block(const hlo_tile_op_t* mma) {
  const hlo_tile_dims_t* d = &mma->dims;
  const uint32_t contracted[] = {d->left_contract[0], d->right_contract[0]};
  int64_t block = 0;
  if (d->contract_count != 1) return 0;
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_tile_ref_t *of = &mma->operands[i + 1]->ref, *scales = &mma->operands[i + 3]->ref;
    for (uint32_t k = 0; k < of->rank; ++k) {
      const int64_t own = scales->dims[k] ? of->dims[k] / scales->dims[k] : 0;
      if (k != contracted[i] && own != 1) return 0;
      if (k != contracted[i]) continue;
      if (block && own != block) return 0;
      block = own;
    }
  }
  return block;
}

bool hlo_tile_is_scaled_atom(const hlo_tile_atom_t* atom, const hlo_tile_op_t* mma,
                             int64_t packing) {
  const hlo_dtype_t dtypes[] = {atom->result, atom->operand, atom->right, atom->scale, atom->scale};
  for (uint32_t i = 0; i < mma->operand_count; ++i) {
    if (mma->operands[i]->dtype != dtypes[i]) return false;
  }
  return hlo_tile_scale_block(mma) * packing == atom->block;
}

// Returns how many of a row of scales in near memory, 1, 2 or 4 bytes, are loaded together; 0: they
// cannot be. Longer rows have a whole number of words.
static int64_t scale_row_bytes(const hlo_tile_op_t* scales, uint32_t contracted) {
  int64_t strides[HLO_TILE_MAX_RANK];
  if (scales->ref.rank != 2 || !is_in_near(scales)) return 0;
  hlo_tile_ref_strides(scales, strides);
  const int64_t row = scales->ref.dims[contracted], bytes = row % WORD_BYTES ? row : WORD_BYTES;
  const bool is_power = row > 0 && (bytes == 1 || bytes == 2 || bytes == WORD_BYTES);
  const bool fits = is_power && (bytes == 1 || strides[contracted] == 1) &&
                    strides[!contracted] % bytes == 0 &&
                    hlo_tile_alignment_of(scales, WORD_BYTES) >= bytes;
  return fits ? bytes : 0;
}

static bool fits_scales(const hlo_tile_op_t* mma, const hlo_tile_atom_t* atom) {
  if (mma->kind != HLO_TILE_OP_scaled_mma) {
    return atom->scale == HLO_DTYPE_INVALID && mma->operands[1]->dtype == mma->operands[2]->dtype;
  }
  return hlo_tile_is_scaled_atom(atom, mma, hlo_tile_packing(atom->operand)) &&
         scale_row_bytes(mma->operands[3], mma->dims.left_contract[0]) > 0 &&
         scale_row_bytes(mma->operands[4], mma->dims.right_contract[0]) > 0;
}

// Returns the depth of an atom as the dimensions of its operands count it.
static int64_t depth_of(const hlo_tile_atom_t* atom) {
  return atom->depth / hlo_tile_packing(atom->operand);
}

static bool fits_warp(const hlo_tile_op_t* mma, const hlo_tile_atom_t* atom) {
  const hlo_tile_op_t *left = mma->operands[1], *right = mma->operands[2];
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(left->dtype);
  const operand_form_t a = form_of(left, mma->dims.left_contract[0]);
  const operand_form_t b = form_of(right, mma->dims.right_contract[0]);
  return fits_scales(mma, atom) && depth_of(atom) * bytes == ATOM_BYTES &&
         a.depth % depth_of(atom) == 0 && a.extent % ATOM_ROWS == 0 &&
         b.extent % ATOM_COLUMNS == 0 && has_rows(&a, bytes, false) && has_rows(&b, bytes, true) &&
         hlo_tile_alignment_of(left, ROW_BYTES) == ROW_BYTES &&
         hlo_tile_alignment_of(right, ROW_BYTES) == ROW_BYTES;
}

// Returns true if both operands are whole allocations with rows of 128 bytes of the contraction,
// and each warp has 16 rows of the sums.
static bool fits_group(const hlo_tile_op_t* mma, const hlo_tile_atom_t* atom) {
  enum { LINE_BYTES = 128, MOST_COLUMNS = 256 };
  const hlo_tile_op_t *left = mma->operands[1], *right = mma->operands[2];
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(left->dtype);
  const operand_form_t a = form_of(left, mma->dims.left_contract[0]);
  const operand_form_t b = form_of(right, mma->dims.right_contract[0]);
  return fits_scales(mma, atom) && atom->depth * bytes == ATOM_BYTES &&
         left->kind == HLO_TILE_OP_alloc && right->kind == HLO_TILE_OP_alloc && a.inner == bytes &&
         b.inner == bytes && a.outer == LINE_BYTES && b.outer == LINE_BYTES &&
         a.extent % GROUP_ROWS == 0 && a.extent <= MOST_WARPS * ATOM_ROWS &&
         b.extent % ATOM_COLUMNS == 0 && b.extent <= MOST_COLUMNS;
}

static const hlo_tile_atom_t* atom_of(const hlo_target_t* target, const hlo_tile_op_t* mma,
                                      bool allows_tensor, uint32_t* out_number) {
  const hlo_tile_dims_t* d = &mma->dims;
  const hlo_tile_op_t *left = mma->operands[1], *right = mma->operands[2];
  if (d->batch_count || d->contract_count != 1 || left->ref.rank != 2 || right->ref.rank != 2 ||
      !is_in_near(left) || !is_in_near(right)) {
    return NULL;
  }
  for (uint32_t i = 0; i < target->tile.atom_count; ++i) {
    const hlo_tile_atom_t* atom = &target->tile.atoms[i];
    if (atom->operand != left->dtype || atom->result != mma->operands[0]->dtype) continue;
    if (atom->rows == TENSOR_ROWS && !allows_tensor) continue;
    if (!(atom->rows == TENSOR_ROWS  ? hlo_tile_fits_tensor(mma, atom)
          : atom->rows == GROUP_ROWS ? fits_group(mma, atom)
                                     : fits_warp(mma, atom))) {
      continue;
    }
    *out_number = i;
    return atom;
  }
  return NULL;
}

// Returns the atom of all products that add to an accumulator; NULL: it cannot be a fragment.
static const hlo_tile_atom_t* fragment_atom(const hlo_tile_kernel_t* kernel,
                                            const hlo_target_t* target, const hlo_tile_op_t* alloc,
                                            bool allows_tensor, uint32_t* out_number) {
  const hlo_tile_atom_t* found = NULL;
  if (alloc->ref.rank != 2) return NULL;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (!hlo_tile_op_is_ref(op->operands[i]) || hlo_tile_ref_root(op->operands[i]) != alloc) {
        continue;
      }
      const bool is_access = op->kind == HLO_TILE_OP_ref_load || op->kind == HLO_TILE_OP_ref_store;
      bool fits = op->operands[i] == alloc && i == 0;
      if (hlo_tile_op_is_mma(op) && fits) {
        const hlo_tile_atom_t* atom = atom_of(target, op, allows_tensor, out_number);
        fits = atom && (!found || found == atom);
        found = atom;
      } else if (op->kind == HLO_TILE_OP_copy) {
        fits = fits && hlo_tile_ref_root(op->operands[1])->kind == HLO_TILE_OP_reference;
      } else {
        fits = fits && is_access && !op->is_masked && is_by_element(op, alloc);
      }
      if (!fits) return NULL;
    }
  }
  return found;
}

// Divides rows and columns among warps such that a warp loads least; false: they cannot.
static bool divide(hlo_tile_group_alloc_t* alloc, int64_t warps) {
  int64_t best = INT64_MAX;
  for (int64_t rows = 1; rows <= warps; rows *= 2) {
    const int64_t columns = warps / rows;
    if (alloc->rows % (rows * ATOM_ROWS) || alloc->columns % (columns * ATOM_COLUMNS)) continue;
    const int64_t loads = alloc->rows / rows + alloc->columns / columns;
    if (loads >= best) continue;
    best = loads;
    alloc->row_warps = rows;
    alloc->column_warps = columns;
  }
  return best != INT64_MAX;
}

static int64_t sums_of_warp(const hlo_tile_group_alloc_t* alloc) {
  return alloc->rows / alloc->row_warps / ATOM_ROWS *
         (alloc->columns / alloc->column_warps / ATOM_COLUMNS);
}

// Returns true if all accumulators that atoms have are in tensor memory: one that is elsewhere is
// divided among threads in another way.
static bool allows_tensor_memory(const hlo_tile_kernel_t* kernel, const hlo_target_t* target) {
  uint32_t number, others = 0;
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_alloc || op->ref.space != HLO_TILE_SPACE_accumulator) continue;
    const hlo_tile_atom_t* atom = fragment_atom(kernel, target, op, true, &number);
    others += atom && atom->rows != TENSOR_ROWS;
  }
  return others == 0;
}

void hlo_tile_plan_fragments(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                             hlo_tile_group_plan_t* plan) {
  enum { MOST_REGISTERS = 160 };  // of sums
  const bool allows_tensor = allows_tensor_memory(kernel, target);
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_alloc || op->ref.space != HLO_TILE_SPACE_accumulator) continue;
    hlo_tile_group_alloc_t* alloc = &plan->allocs[op->number];
    alloc->atom = fragment_atom(kernel, target, op, allows_tensor, &alloc->atom_number);
    if (!alloc->atom) continue;
    alloc->rows = op->ref.dims[0];
    alloc->columns = op->ref.dims[1];
    if (alloc->atom->rows == TENSOR_ROWS) {
      hlo_tile_plan_tensor(op, plan);
      continue;
    }
    int64_t warps = plan->thread_count / HLO_TILE_WARP;
    const bool is_group = alloc->atom->rows == GROUP_ROWS;
    if (!warps && is_group) warps = alloc->rows / ATOM_ROWS;
    if (!warps) {
      warps = 1;
      while (warps < MOST_WARPS && alloc->rows * alloc->columns / warps > WARP_ELEMENTS) warps *= 2;
      while (warps > 1 && !divide(alloc, warps)) warps /= 2;
    }
    if (is_group) {
      if (warps * ATOM_ROWS != alloc->rows) continue;
      alloc->row_warps = warps;
      alloc->column_warps = 1;
    } else if (!divide(alloc, warps)) {
      continue;
    }
    const int64_t registers = sums_of_warp(alloc) * SUM_REGISTERS;
    if (plan->register_count + registers > MOST_REGISTERS) continue;
    alloc->is_fragment = true;
    plan->has_warp_groups |= is_group;
    alloc->first_register = plan->register_count;
    plan->register_count += (uint32_t)registers;
    plan->thread_count = (uint32_t)warps * HLO_TILE_WARP;
  }
}

const hlo_tile_group_alloc_t* hlo_tile_fragment_of(const hlo_tile_emitter_t* e,
                                                   const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  if (!e->group || root->kind != HLO_TILE_OP_alloc) return NULL;
  const hlo_tile_group_alloc_t* alloc = hlo_tile_group_alloc(e, root);
  return alloc->is_fragment ? alloc : NULL;
}

// ---- elements of a fragment --------------------------------------------------------------------

// Where warps and lanes are.
typedef struct fragment_place {
  const hlo_tile_group_alloc_t* alloc;
  int64_t row_parts, column_parts;          // fragments of a warp
  hlo_vir_value_t *row, *column;            // of a warp's first element
  hlo_vir_value_t *lane_row, *lane_column;  // of a lane's first element in a fragment
  const hlo_tile_layout_t* layout;          // of an atom's sums
} fragment_place_t;

// Returns a lane's index of a dimension: the sum of what each mode along lanes moves it.
static hlo_vir_value_t* lane_index(hlo_tile_emitter_t* e, const hlo_tile_layout_t* layout,
                                   int32_t dim, hlo_vir_value_t* lane) {
  hlo_vir_value_t* sum = hlo_tile_number(e, 0);
  for (uint32_t i = 0; i < layout->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &layout->modes[i];
    if (mode->dim != dim || mode->axis != HLO_AXIS_LANE) continue;
    hlo_vir_value_t* own = hlo_tile_by_number(e, HLO_VIR_idiv, lane, mode->position);
    own = hlo_tile_by_number(e, HLO_VIR_irem, own, mode->extent);
    sum = hlo_tile_plus(e, sum, hlo_tile_by_number(e, HLO_VIR_imul, own, mode->stride));
  }
  return sum;
}

// Returns a register's index of a dimension within a fragment.
static int64_t slot_index(const hlo_tile_layout_t* layout, int32_t dim, int64_t slot) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < layout->mode_count; ++i) {
    const hlo_layout_mode_t* mode = &layout->modes[i];
    if (mode->dim != dim || mode->axis != HLO_AXIS_SLOT) continue;
    sum += slot / mode->position % mode->extent * mode->stride;
  }
  return sum;
}

static hlo_vir_value_t* lane_of(hlo_tile_emitter_t* e) {
  return hlo_tile_by_number(e, HLO_VIR_irem, e->group->thread, HLO_TILE_WARP);
}

static bool find_place(hlo_tile_emitter_t* e, const hlo_tile_group_alloc_t* alloc,
                       fragment_place_t* p) {
  const char* text = alloc->atom->sum;
  hlo_tile_layout_space_t layouts;
  *p = (fragment_place_t){.alloc = alloc};
  hlo_tile_layout_space_init(&layouts, e->scratch);
  hlo_status_t status = hlo_tile_layout_parse(&layouts, &text, &p->layout);
  if (!hlo_status_is_ok(status)) {
    hlo_vir_module_fail(e->b->module, status);
    return false;
  }
  p->row_parts = alloc->rows / alloc->row_warps / ATOM_ROWS;
  p->column_parts = alloc->columns / alloc->column_warps / ATOM_COLUMNS;
  hlo_vir_value_t* warp = hlo_tile_by_number(e, HLO_VIR_idiv, e->group->thread, HLO_TILE_WARP);
  hlo_vir_value_t* row_warp = hlo_tile_by_number(e, HLO_VIR_idiv, warp, alloc->column_warps);
  hlo_vir_value_t* column_warp = hlo_tile_by_number(e, HLO_VIR_irem, warp, alloc->column_warps);
  p->row = hlo_tile_by_number(e, HLO_VIR_imul, row_warp, p->row_parts * ATOM_ROWS);
  p->column = hlo_tile_by_number(e, HLO_VIR_imul, column_warp, p->column_parts * ATOM_COLUMNS);
  p->lane_row = lane_index(e, p->layout, 0, lane_of(e));
  p->lane_column = lane_index(e, p->layout, 1, lane_of(e));
  return true;
}

// Does something with each element that the thread has.
static void each_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* accumulator,
                         const hlo_tile_op_t* nest, hlo_tile_each_element_t visit, void* context) {
  fragment_place_t p;
  const hlo_tile_group_alloc_t* alloc = hlo_tile_group_alloc(e, accumulator);
  if (alloc->is_tensor) {
    hlo_tile_each_tensor_element(e, accumulator, nest, visit, context);
    return;
  }
  uint32_t at = alloc->first_register;
  if (!find_place(e, alloc, &p)) return;
  for (int64_t i = 0; i < p.row_parts; ++i) {
    for (int64_t j = 0; j < p.column_parts; ++j) {
      for (int64_t slot = 0; slot < SUM_REGISTERS; ++slot) {
        const int64_t row = i * ATOM_ROWS + slot_index(p.layout, 0, slot);
        const int64_t column = j * ATOM_COLUMNS + slot_index(p.layout, 1, slot);
        visit(
            e, at++, hlo_tile_plus(e, hlo_tile_plus(e, p.row, p.lane_row), hlo_tile_number(e, row)),
            hlo_tile_plus(e, hlo_tile_plus(e, p.column, p.lane_column), hlo_tile_number(e, column)),
            context);
      }
    }
  }
}

// ---- nests over elements -----------------------------------------------------------------------

static const hlo_tile_op_t* inner_of(const hlo_tile_op_t* loop) {
  const hlo_tile_op_t* inner = loop->body.first == loop->body.last ? loop->body.first : NULL;
  return inner && inner->kind == HLO_TILE_OP_for ? inner : NULL;
}

const hlo_tile_op_t* hlo_tile_fragment_nest(const hlo_tile_group_plan_t* plan,
                                            const hlo_tile_op_t* loop) {
  const hlo_tile_op_t* inner = inner_of(loop);
  for (const hlo_tile_op_t* op = inner ? inner->body.first : NULL; op; op = op->next) {
    if (op->kind != HLO_TILE_OP_ref_load && op->kind != HLO_TILE_OP_ref_store) continue;
    const hlo_tile_op_t* root = hlo_tile_ref_root(op->operands[0]);
    if (root->kind == HLO_TILE_OP_alloc && plan->allocs[root->number].is_fragment) return root;
  }
  return NULL;
}

static void visit_nest(hlo_tile_emitter_t* e, uint32_t at, hlo_vir_value_t* row,
                       hlo_vir_value_t* column, void* context) {
  const hlo_tile_op_t *loop = context, *inner = inner_of(loop);
  e->fragment_register = at;
  e->ivs[loop->loops[0].iv] = row;
  e->ivs[inner->loops[0].iv] = column;
  hlo_tile_emit_block(e, &inner->body);
}

void hlo_tile_emit_fragment_nest(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                                 const hlo_tile_op_t* alloc) {
  e->is_divided = true;
  e->fragment = alloc;
  each_element(e, alloc, loop, visit_nest, (void*)(uintptr_t)loop);
  e->fragment = NULL;
  e->is_divided = false;
  e->ivs[loop->loops[0].iv] = e->ivs[inner_of(loop)->loops[0].iv] = NULL;
}

static hlo_vir_value_t* get_register(hlo_tile_emitter_t* e, hlo_dtype_t dtype, uint32_t at) {
  const hlo_vir_elem_t elem = dtype == HLO_DTYPE_F32 ? HLO_VIR_F32 : HLO_VIR_I32;
  return hlo_vir_emit(e->b, HLO_VIR_frag_get, hlo_vir_type(elem, 1), 0, at, 0, NULL);
}

static void set_register(hlo_tile_emitter_t* e, uint32_t at, hlo_vir_value_t* value) {
  hlo_vir_emit(e->b, HLO_VIR_frag_set, kVoid, 0, at, 1, &value);
}

// Accumulators of one shape are divided alike, so their registers have the same distance.
static uint32_t register_of(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref) {
  const hlo_tile_group_alloc_t* own = hlo_tile_group_alloc(e, hlo_tile_ref_root(ref));
  return e->fragment_register - hlo_tile_group_alloc(e, e->fragment)->first_register +
         own->first_register;
}

hlo_vir_value_t* hlo_tile_emit_fragment_load(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  return get_register(e, op->dtype, register_of(e, op->operands[0]));
}

void hlo_tile_emit_fragment_store(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  set_register(e, register_of(e, op->operands[0]), hlo_tile_operand(e, op->operands[1], 1));
}

static void visit_copy(hlo_tile_emitter_t* e, uint32_t at, hlo_vir_value_t* row,
                       hlo_vir_value_t* column, void* context) {
  const hlo_tile_op_t* copy = context;
  const hlo_tile_op_t* to = copy->operands[1];
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(to, strides);
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(to->dtype);
  hlo_vir_value_t* offset =
      hlo_tile_plus(e, hlo_tile_by_number(e, HLO_VIR_imul, row, strides[0] * bytes),
                    hlo_tile_by_number(e, HLO_VIR_imul, column, strides[1] * bytes));
  hlo_vir_value_t* operands[] = {get_register(e, to->dtype, at),
                                 hlo_tile_plus(e, e->done[to->number], offset)};
  hlo_vir_emit(e->b, HLO_VIR_store, kVoid, 0, 0, 2, operands);
}

void hlo_tile_emit_fragment_copy(hlo_tile_emitter_t* e, const hlo_tile_op_t* copy) {
  each_element(e, hlo_tile_ref_root(copy->operands[0]), NULL, visit_copy, (void*)(uintptr_t)copy);
}

// ---- products ----------------------------------------------------------------------------------

typedef struct group_mma {
  const hlo_tile_op_t *left, *right;
  operand_form_t a, b;
  fragment_place_t place;
  uint32_t left_register, right_register;
  uint32_t left_scales, right_scales;  // registers
  int64_t scale_bytes;                 // that are loaded together; 0: there are no scales
} group_mma_t;

// Loads squares; each lane has the address of one row of 16 bytes.
static void load_squares(hlo_tile_emitter_t* e, const hlo_tile_op_t* ref, hlo_vir_value_t* bytes,
                         uint32_t first, uint32_t squares, bool is_transposed) {
  hlo_vir_value_t* address = hlo_tile_plus(
      e, e->done[ref->number], hlo_tile_swizzled(e, hlo_tile_swizzle_of(e, ref), bytes));
  hlo_vir_emit(e->b, HLO_VIR_frag_load, kVoid, squares | (is_transposed ? TRANSPOSED : 0), first, 1,
               &address);
}

// The four squares of 16 rows and 32 bytes: rows first, then bytes.
static void load_left(hlo_tile_emitter_t* e, const group_mma_t* m, int64_t part, int64_t depth) {
  hlo_vir_value_t* lane = lane_of(e);
  hlo_vir_value_t* row =
      hlo_tile_plus(e, m->place.row, hlo_tile_by_number(e, HLO_VIR_irem, lane, ATOM_ROWS));
  row = hlo_tile_by_number(e, HLO_VIR_iadd, row, part * ATOM_ROWS);
  hlo_vir_value_t* half = hlo_tile_by_number(e, HLO_VIR_idiv, lane, ATOM_ROWS);
  hlo_vir_value_t* bytes = hlo_tile_plus(e, hlo_tile_by_number(e, HLO_VIR_imul, row, m->a.outer),
                                         hlo_tile_by_number(e, HLO_VIR_imul, half, ROW_BYTES));
  load_squares(e, m->left, hlo_tile_by_number(e, HLO_VIR_iadd, bytes, depth * ATOM_BYTES),
               m->left_register + (uint32_t)part * LEFT_REGISTERS, LEFT_REGISTERS, false);
}

// Two squares for each 8 columns: the first and the second 16 bytes of the contraction; `parts` is
// one or two.
static void load_right(hlo_tile_emitter_t* e, const group_mma_t* m, int64_t part, int64_t depth,
                       int64_t parts) {
  hlo_vir_value_t* lane = lane_of(e);
  hlo_vir_value_t* in_square = hlo_tile_by_number(e, HLO_VIR_irem, lane, SQUARE_ROWS);
  hlo_vir_value_t* square = hlo_tile_by_number(e, HLO_VIR_idiv, lane, SQUARE_ROWS);
  hlo_vir_value_t* half = hlo_tile_by_number(e, HLO_VIR_irem, square, 2);
  hlo_vir_value_t* block =
      hlo_tile_by_number(e, HLO_VIR_irem, hlo_tile_by_number(e, HLO_VIR_idiv, square, 2), parts);
  hlo_vir_value_t* column =
      hlo_tile_plus(e, m->place.column, hlo_tile_by_number(e, HLO_VIR_imul, block, ATOM_COLUMNS));
  column = hlo_tile_by_number(e, HLO_VIR_iadd, column, part * ATOM_COLUMNS);
  const bool is_transposed = m->b.inner != (int64_t)hlo_dtype_size_bytes(m->right->dtype);
  hlo_vir_value_t* bytes;
  if (is_transposed) {  // a row of 16 bytes has 8 columns of one step
    hlo_vir_value_t* step =
        hlo_tile_plus(e, in_square, hlo_tile_by_number(e, HLO_VIR_imul, half, SQUARE_ROWS));
    step = hlo_tile_by_number(e, HLO_VIR_iadd, step, depth * 2 * SQUARE_ROWS);
    bytes = hlo_tile_plus(e, hlo_tile_by_number(e, HLO_VIR_imul, step, m->b.inner),
                          hlo_tile_by_number(e, HLO_VIR_imul, column, m->b.outer));
  } else {
    bytes = hlo_tile_plus(
        e, hlo_tile_by_number(e, HLO_VIR_imul, hlo_tile_plus(e, column, in_square), m->b.outer),
        hlo_tile_by_number(e, HLO_VIR_imul, half, ROW_BYTES));
    bytes = hlo_tile_by_number(e, HLO_VIR_iadd, bytes, depth * ATOM_BYTES);
  }
  load_squares(e, m->right, bytes, m->right_register + (uint32_t)part * RIGHT_REGISTERS,
               (uint32_t)parts * RIGHT_REGISTERS, is_transposed);
}

// Loads the scales of 16 rows, or 8 columns, from the first one on: those of an index are one word.
// Of each four lanes the first ones have rows 0 to 7, the second ones rows 8 to 15.
static void load_scales(hlo_tile_emitter_t* e, const group_mma_t* m, const hlo_tile_op_t* scales,
                        uint32_t contracted, int64_t first, int64_t part, uint32_t to) {
  const bool is_left = to < m->right_scales;
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides(scales, strides);
  hlo_vir_value_t* lane = lane_of(e);
  hlo_vir_value_t* index = hlo_tile_by_number(e, HLO_VIR_idiv, lane, 4);
  if (is_left) {
    hlo_vir_value_t* half = hlo_tile_by_number(e, HLO_VIR_irem, lane, 2);
    index = hlo_tile_plus(e, index, hlo_tile_by_number(e, HLO_VIR_imul, half, SQUARE_ROWS));
  }
  index = hlo_tile_plus(e, index, is_left ? m->place.row : m->place.column);
  index = hlo_tile_by_number(e, HLO_VIR_iadd, index, part * (is_left ? ATOM_ROWS : ATOM_COLUMNS));
  index = hlo_tile_by_number(e, HLO_VIR_imul, index, strides[!contracted]);
  index = hlo_tile_by_number(e, HLO_VIR_iadd, index, first);
  hlo_vir_value_t* address = hlo_tile_plus(
      e, e->done[scales->number], hlo_tile_swizzled(e, hlo_tile_swizzle_of(e, scales), index));
  const hlo_vir_elem_t elem = m->scale_bytes == 1   ? HLO_VIR_I8
                              : m->scale_bytes == 2 ? HLO_VIR_I16
                                                    : HLO_VIR_I32;
  hlo_vir_value_t* word =
      hlo_vir_emit(e->b, HLO_VIR_load, hlo_vir_type(elem, 1), 0, 0, 1, &address);
  if (elem != HLO_VIR_I32) {
    word = hlo_vir_emit(e->b, HLO_VIR_zext, hlo_vir_type(HLO_VIR_I32, 1), 0, 0, 1, &word);
  }
  set_register(e, to, word);
}

static void load_all_scales(hlo_tile_emitter_t* e, const hlo_tile_op_t* mma, group_mma_t* m,
                            int64_t first) {
  const uint32_t left = mma->dims.left_contract[0], right = mma->dims.right_contract[0];
  m->scale_bytes = scale_row_bytes(mma->operands[3], left);
  m->left_scales = m->right_register + (uint32_t)m->place.column_parts * RIGHT_REGISTERS;
  m->right_scales = m->left_scales + (uint32_t)m->place.row_parts;
  for (int64_t i = 0; i < m->place.row_parts; ++i) {
    load_scales(e, m, mma->operands[3], left, first, i, m->left_scales + (uint32_t)i);
  }
  for (int64_t j = 0; j < m->place.column_parts; ++j) {
    load_scales(e, m, mma->operands[4], right, first, j, m->right_scales + (uint32_t)j);
  }
}

// byte: of the first scale in its word
static void multiply(hlo_tile_emitter_t* e, const group_mma_t* m, int64_t byte) {
  const hlo_tile_group_alloc_t* alloc = m->place.alloc;
  uint32_t sum = alloc->first_register;
  for (int64_t i = 0; i < m->place.row_parts; ++i) {
    for (int64_t j = 0; j < m->place.column_parts; ++j, sum += SUM_REGISTERS) {
      const int64_t left = m->left_register + i * LEFT_REGISTERS;
      const int64_t right = m->right_register + j * RIGHT_REGISTERS;
      if (!m->scale_bytes) {
        hlo_vir_emit(e->b, HLO_VIR_frag_mma, kVoid, alloc->atom_number,
                     (int64_t)sum | left << 16 | right << 32, 0, NULL);
        continue;
      }
      const int64_t scales = (m->left_scales + i) | (m->right_scales + j) << NUMBER_BITS;
      hlo_vir_emit(
          e->b, HLO_VIR_frag_scaled_mma, kVoid, alloc->atom_number | (uint32_t)byte << BYTE_SHIFT,
          (int64_t)sum | left << NUMBER_BITS | right << 2 * NUMBER_BITS | scales << 3 * NUMBER_BITS,
          0, NULL);
    }
  }
}

// Each group of four warps multiplies 64 rows.
static void multiply_by_groups(hlo_tile_emitter_t* e, const group_mma_t* m) {
  const hlo_tile_group_alloc_t* alloc = m->place.alloc;
  const int64_t steps = m->a.depth / alloc->atom->depth;
  hlo_vir_value_t* group = hlo_tile_by_number(e, HLO_VIR_idiv, e->group->thread, 4 * HLO_TILE_WARP);
  hlo_vir_value_t* rows = hlo_tile_by_number(e, HLO_VIR_imul, group, GROUP_ROWS * m->a.outer);
  hlo_vir_value_t* operands[] = {hlo_tile_plus(e, e->done[m->left->number], rows),
                                 e->done[m->right->number]};
  hlo_vir_emit(e->b, HLO_VIR_warp_group_mma, kVoid, alloc->atom_number,
               (int64_t)alloc->first_register | alloc->columns << 16 | steps << 32, 2, operands);
}

void hlo_tile_emit_fragment_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* mma) {
  const hlo_tile_dims_t* d = &mma->dims;
  group_mma_t m = {.left = mma->operands[1], .right = mma->operands[2]};
  m.a = form_of(m.left, d->left_contract[0]);
  m.b = form_of(m.right, d->right_contract[0]);
  const hlo_tile_group_alloc_t* alloc = hlo_tile_fragment_of(e, mma->operands[0]);
  if (alloc->is_tensor) {
    hlo_tile_emit_tensor_mma(e, mma);
    return;
  }
  if (!find_place(e, alloc, &m.place)) return;
  if (alloc->atom->rows == GROUP_ROWS) {
    multiply_by_groups(e, &m);
    return;
  }
  m.left_register = e->group->plan->register_count;
  m.right_register = m.left_register + (uint32_t)m.place.row_parts * LEFT_REGISTERS;
  const int64_t scales = alloc->atom->block ? alloc->atom->depth / alloc->atom->block : 0;
  for (int64_t depth = 0; depth < m.a.depth / depth_of(alloc->atom); ++depth) {
    const int64_t at = depth * scales;
    if (scales && at % WORD_BYTES == 0) load_all_scales(e, mma, &m, at);
    for (int64_t i = 0; i < m.place.row_parts; ++i) load_left(e, &m, i, depth);
    for (int64_t j = 0; j < m.place.column_parts;) {
      const int64_t parts = m.place.column_parts - j > 1 ? 2 : 1;
      load_right(e, &m, j, depth, parts);
      j += parts;
    }
    multiply(e, &m, at % WORD_BYTES);
  }
}
