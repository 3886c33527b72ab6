// SPDX-License-Identifier: Apache-2.0
// Layouts of the values of a kernel (see ir.h): constraints state how the operands and the result
// of each operation are laid out relative to each other, memory states what lanes cost, and the
// solver decides. The rules of an operation work in both directions, so a requirement of a store
// reaches the load and vice versa.
#include <inttypes.h>
#include <string.h>

#include "tile/ir_impl.h"
#include "tile/system.h"

// The distance of addresses known at run time only: beyond any two elements.
static const int64_t FAR = (int64_t)1 << 40;

enum { MAX_CANDIDATES = 2 * HLO_TILE_LAYOUT_MAX_RANK };

// A use of a value whose layout may differ from the value's own.
typedef struct use {
  hlo_tile_op_t* op;
  uint32_t operand;
  hlo_tile_var_t var;
} use_t;

typedef struct alias {
  bool is_used;
  hlo_tile_var_t var;
} alias_t;

// The orders in which an allocation may keep its dimensions, by the value of a size variable.
typedef struct orders {
  hlo_tile_var_t var;
  uint32_t count;
  int64_t strides[HLO_TILE_MAX_RANK][HLO_TILE_MAX_RANK];  // by order and dimension
  const hlo_tile_layout_t* layouts[HLO_TILE_MAX_RANK];
} orders_t;

typedef struct inference {
  hlo_tile_kernel_t* kernel;
  const hlo_tile_target_t* target;
  hlo_tile_system_t* system;
  int64_t lanes;             // of the widest element
  hlo_tile_var_t* vars;      // by value
  hlo_tile_var_t** results;  // by value, of operations with regions
  alias_t* aliases;
  orders_t** orders;  // by allocation; NULL: row-major
  uint32_t given_count, use_count;
  const hlo_tile_layout_t** given;  // set by hand
  use_t* uses;                      // uses that may need a relayout
} inference_t;

// The name of a constraint's origin, as it appears in messages.
static const char* origin_of(const inference_t* in, const hlo_tile_op_t* op) {
  HLO_SCOPED_STRBUF name = {0};
  hlo_tile_op_format(op, &name);
  const char* text = hlo_strbuf_text(&name);
  const char* origin = hlo_arena_strndup(in->kernel->arena, text, strlen(text));
  return origin ? origin : hlo_tile_op_name(op->kind);
}

// ---- variables of operations with several results

static void set_result(inference_t* in, const hlo_tile_op_t* op, uint32_t number,
                       hlo_tile_var_t var) {
  hlo_tile_var_t** vars = &in->results[op->number];
  if (!*vars) *vars = hlo_arena_array(in->kernel->arena, HLO_TILE_MAX_OPERANDS, sizeof **vars);
  if (*vars) (*vars)[number] = var;
}

static hlo_tile_var_t result_var(const inference_t* in, const hlo_tile_op_t* op, uint32_t number) {
  const hlo_tile_var_t* vars = in->results[op->number];
  return vars ? vars[number] : 0;
}

// ---- candidates

static int64_t largest_divisor(int64_t number, int64_t most) {
  int64_t divisor = number < most ? number : most;
  while (number % divisor) --divisor;
  return divisor;
}

// At most `most` lanes along dimension `lane`, everything else in registers.
static const hlo_tile_layout_t* along(const inference_t* in, uint32_t rank, const int64_t* dims,
                                      uint32_t lane, int64_t most) {
  hlo_layout_mode_t ivs[2 * HLO_TILE_LAYOUT_MAX_RANK];
  uint32_t count = 0;
  int64_t slot = 1;
  for (uint32_t i = rank; i-- > 0;) {
    int64_t lanes = i == lane ? largest_divisor(dims[i], most) : 1, rest = dims[i] / lanes;
    if (lanes > 1) ivs[count++] = (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_LANE, lanes, 1, 1};
    if (rest > 1) ivs[count++] = (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_SLOT, rest, lanes, slot};
    slot *= rest;
  }
  return hlo_tile_layout_make(&in->kernel->layouts, rank, dims, count, ivs, (hlo_swizzle_t){0});
}

// The loop around a block whose iterations are lanes by its schedule; NULL: none says so.
static const hlo_tile_loop_t* scheduled_loop(const hlo_tile_block_t* block) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    if (loops[i]->schedule.lanes > 1) return loops[i];
  }
  return NULL;
}

// A variable for the tile at a block; the layouts of a sum follow from its operands.
static hlo_tile_var_t add_var(inference_t* in, const char* name, const hlo_tile_block_t* block,
                              bool is_sum) {
  const hlo_tile_layout_t* candidates[MAX_CANDIDATES];
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t ivs[HLO_TILE_MAX_DEPTH];
  uint32_t rank = hlo_tile_block_tile(block, dims, ivs), count = 0;
  const hlo_tile_loop_t* scheduled = scheduled_loop(block);
  // Candidates: the innermost loop first, layouts set by hand elsewhere last; where the loops say
  // what their lanes are, nothing else.
  for (uint32_t i = 0; scheduled && i < rank; ++i) {
    if (ivs[i] != scheduled->iv) continue;
    candidates[count++] = along(in, rank, dims, i, scheduled->schedule.lanes);
    return hlo_tile_system_layout(in->system, name, is_sum ? 0 : count, candidates);
  }
  for (uint32_t i = rank; i-- > 0;) candidates[count++] = along(in, rank, dims, i, in->lanes);
  if (rank == 0) candidates[count++] = along(in, rank, dims, 0, in->lanes);
  for (uint32_t i = 0; i < in->given_count && count < MAX_CANDIDATES; ++i) {
    const hlo_tile_layout_t* given = in->given[i];
    bool is_shape =
        given->rank == rank && (!rank || !memcmp(given->dims, dims, rank * sizeof *dims));
    if (is_shape) candidates[count++] = given;
  }
  return hlo_tile_system_layout(in->system, name, is_sum ? 0 : count, candidates);
}

// The layouts that were set by hand, each once.
static void find_given(inference_t* in) {
  uint32_t known = in->kernel->layouts.count;
  in->given = hlo_arena_array(in->kernel->arena, known + 1, sizeof *in->given);
  bool* is_found = hlo_arena_array(in->kernel->arena, known + 1, sizeof *is_found);
  if (!in->given || !is_found) return;
  for (hlo_tile_op_t* op = hlo_tile_first_op(in->kernel); op; op = hlo_tile_next_op(op)) {
    if (!op->layout || hlo_tile_op_is_ref(op) || is_found[op->layout->number]) continue;
    is_found[op->layout->number] = true;
    in->given[in->given_count++] = op->layout;
  }
}

// ---- memory

// Where an access goes, in elements from the start of its buffer or reference.
static const hlo_expr_t* address_of(const inference_t* in, const hlo_tile_op_t* op,
                                    const int64_t* root) {
  if (!hlo_tile_op_ref_operands(op->kind)) return op->offset;
  hlo_expr_space_t* exprs = &in->kernel->exprs;
  const hlo_expr_t* address = hlo_expr_const(exprs, 0);
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_tile_ref_strides_in(op->operands[0], root, strides);
  for (uint32_t i = 0; i < op->index_count; ++i) {
    address = hlo_expr_add(exprs, address, hlo_expr_mul(exprs, op->indices[i], strides[i]));
  }
  return address;
}

// The addresses of the tile's elements: the coefficient of a loop is its stride.
static const hlo_tile_layout_t* memory_of(const inference_t* in, const hlo_tile_op_t* op,
                                          const int64_t* root) {
  const hlo_expr_t* address = address_of(in, op, root);
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t numbers[HLO_TILE_MAX_DEPTH], rank = hlo_tile_block_tile(op->block, dims, numbers);
  hlo_layout_mode_t ivs[HLO_TILE_LAYOUT_MAX_RANK];
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t step = hlo_expr_coefficient(address, numbers[i]);
    for (uint32_t k = 0; k < address->term_count; ++k) {
      const hlo_expr_atom_t* atom = address->terms[k].atom;
      if (atom->kind != HLO_EXPR_LOOP && (atom->loops >> numbers[i] & 1)) step = FAR;
    }
    if (step < -FAR || step > FAR) step = FAR;
    ivs[i] = (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_ADDRESS, dims[i], 1, step};
  }
  return hlo_tile_layout_make(&in->kernel->layouts, rank, dims, rank, ivs, (hlo_swizzle_t){0});
}

// The number of registers that the enclosing loops move for `elements` elements of each point.
static double move_count(const inference_t* in, const hlo_tile_block_t* block, int64_t elements,
                         size_t bytes) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  double points = (double)elements;
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    points *= (double)(loops[i]->end - loops[i]->low);
  }
  double count = points * (double)bytes / (double)in->target->vector_bytes;
  return count < 1 ? 1 : count;
}

// The same for one element of each point, a tile.
static double register_count(const inference_t* in, const hlo_tile_block_t* block, size_t bytes) {
  return move_count(in, block, 1, bytes);
}

// The addresses of a whole reference's elements.
static const hlo_tile_layout_t* whole_of(const inference_t* in, const hlo_tile_op_t* ref,
                                         const int64_t* root) {
  int64_t strides[HLO_TILE_MAX_RANK];
  hlo_layout_mode_t modes[HLO_TILE_MAX_RANK];
  uint32_t count = 0;
  hlo_tile_ref_strides_in(ref, root, strides);
  for (uint32_t i = 0; i < ref->ref.rank; ++i) {
    if (ref->ref.dims[i] == 1) continue;
    modes[count++] =
        (hlo_layout_mode_t){(int32_t)i, HLO_AXIS_ADDRESS, ref->ref.dims[i], 1, strides[i]};
  }
  return hlo_tile_layout_make(&in->kernel->layouts, ref->ref.rank, ref->ref.dims, count, modes,
                              (hlo_swizzle_t){0});
}

static orders_t* orders_of(const inference_t* in, const hlo_tile_op_t* ref) {
  const hlo_tile_op_t* root = hlo_tile_ref_root(ref);
  return root->kind == HLO_TILE_OP_alloc ? in->orders[root->number] : NULL;
}

// The addresses of an access, or of a whole reference (ref given), in each order that its
// allocation may have. NULL when memory is exhausted.
static const hlo_tile_term_t* memory_term(const inference_t* in, const hlo_tile_op_t* op,
                                          const hlo_tile_op_t* ref) {
  const hlo_tile_layout_t* layouts[HLO_TILE_MAX_RANK];
  bool has_ref = ref || hlo_tile_op_ref_operands(op->kind);
  const orders_t* orders = has_ref ? orders_of(in, ref ? ref : op->operands[0]) : NULL;
  for (uint32_t i = 0; i < (orders ? orders->count : 1); ++i) {
    const int64_t* root = orders ? orders->strides[i] : NULL;
    layouts[i] = ref ? whole_of(in, ref, root) : memory_of(in, op, root);
    if (!layouts[i]) return NULL;
  }
  return orders ? hlo_tile_term_choice(in->system, orders->var, orders->count, layouts)
                : hlo_tile_term_layout(in->system, layouts[0]);
}

static void add_transfer(inference_t* in, const hlo_tile_op_t* op, hlo_dtype_t dtype,
                         hlo_tile_var_t var) {
  const hlo_tile_term_t* memory = memory_term(in, op, NULL);
  if (!memory) return;  // no memory
  size_t bytes = hlo_dtype_size_bytes(dtype);
  // Bytes have no gathers, but they can still be loaded one by one.
  hlo_tile_system_transfer(in->system, origin_of(in, op), memory,
                           hlo_tile_term_var(in->system, var), bytes < 4 ? 4 : (int64_t)bytes,
                           register_count(in, op->block, bytes), 1e9);
}

// ---- operands

// The dimensions of the tile at `inner` that the tile at `outer` lacks, one bit each.
static uint64_t inner_dims(const hlo_tile_block_t* outer, const hlo_tile_block_t* inner) {
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t from = hlo_tile_block_tile(outer, dims, NULL);
  uint32_t end = hlo_tile_block_tile(inner, dims, NULL);
  uint64_t mask = 0;
  for (uint32_t i = from; i < end; ++i) mask |= (uint64_t)1 << i;
  return mask;
}

// Returns true if a use may have another layout than the value. A sum over lanes is replicated to
// all of them, which other values need not be; an initial value of a loop is converted once, not in
// each step.
static bool may_change(const hlo_tile_op_t* value, const hlo_tile_op_t* op) {
  return hlo_tile_op_has_regions(value->kind) || value->kind == HLO_TILE_OP_result ||
         value->kind == HLO_TILE_OP_constant || hlo_tile_op_carries(op->kind) ||
         op->kind == HLO_TILE_OP_relayout;
}

// `value` is used in a tile with the layout `var`.
static void add_operand(inference_t* in, hlo_tile_op_t* op, uint32_t operand, hlo_tile_var_t var) {
  const hlo_tile_op_t* value = op->operands[operand];
  hlo_tile_system_t* s = in->system;
  const hlo_tile_term_t* from = hlo_tile_term_var(s, in->vars[value->number]);
  const hlo_tile_term_t* to = hlo_tile_term_var(s, var);
  uint64_t extra = inner_dims(value->block, op->block);
  if (extra) to = hlo_tile_term_reduce(s, to, extra);
  if (!extra && !may_change(value, op)) {
    hlo_tile_system_equal(s, origin_of(in, op), from, to);
    return;
  }
  double vectors = register_count(in, op->block, hlo_dtype_size_bytes(value->dtype));
  hlo_tile_system_relayout(s, origin_of(in, op), from, to, vectors, HLO_RELAYOUT_MEMORY);
  bool needs_relayout = !extra && op->kind != HLO_TILE_OP_relayout;
  if (needs_relayout) in->uses[in->use_count++] = (use_t){op, operand, var};
}

// ---- one rule per operation

static void add_block(inference_t* in, const hlo_tile_block_t* block);

static void add_regions(inference_t* in, const hlo_tile_op_t* op) {
  const hlo_tile_block_t* region = &op->body;
  for (; region; region = region->next) add_block(in, region);
}

// The variable of a value, bound to the layout that was set by hand.
static hlo_tile_var_t set_value(inference_t* in, const hlo_tile_op_t* op, hlo_tile_var_t var) {
  in->vars[op->number] = var;
  if (op->layout) {
    hlo_tile_system_equal(in->system, origin_of(in, op), hlo_tile_term_var(in->system, var),
                          hlo_tile_term_layout(in->system, op->layout));
  }
  return var;
}

static hlo_tile_var_t add_value(inference_t* in, const hlo_tile_op_t* op, bool is_sum) {
  const char* name = hlo_arena_printf(in->kernel->arena, "%%%u", op->number);
  return set_value(in, op, add_var(in, name ? name : "value", op->block, is_sum));
}

// Accesses with the same alias share a layout.
static void add_alias(inference_t* in, hlo_tile_op_t* op, hlo_tile_var_t var) {
  if (!op->alias) return;
  alias_t* alias = &in->aliases[op->alias];
  if (alias->is_used) {
    hlo_tile_system_equal(in->system, origin_of(in, op), hlo_tile_term_var(in->system, var),
                          hlo_tile_term_var(in->system, alias->var));
  }
  *alias = (alias_t){true, var};
}

static void load_rule(inference_t* in, hlo_tile_op_t* op) {
  hlo_tile_var_t var = add_value(in, op, false);
  add_transfer(in, op, op->dtype, var);
  add_alias(in, op, var);
}

static void store_rule(inference_t* in, hlo_tile_op_t* op) {
  hlo_tile_var_t var = add_var(in, "stored", op->block, false);
  add_operand(in, op, 0, var);
  add_transfer(in, op, op->operands[0]->dtype, var);
  add_alias(in, op, var);
}

// The other operands of an access to references: values, masks.
static void add_accessed(inference_t* in, hlo_tile_op_t* op, hlo_tile_var_t var) {
  for (uint32_t i = 1; i < op->operand_count; ++i) add_operand(in, op, i, var);
  add_transfer(in, op, op->operands[0]->dtype, var);
}

static void ref_load_rule(inference_t* in, hlo_tile_op_t* op) {
  add_accessed(in, op, add_value(in, op, false));
}

static void ref_store_rule(inference_t* in, hlo_tile_op_t* op) {
  add_accessed(in, op, add_var(in, "stored", op->block, false));
}

static void atomic_rule(inference_t* in, hlo_tile_op_t* op) {
  add_accessed(in, op, add_value(in, op, false));
}

// Values are shown as they are laid out.
static void print_rule(HLO_UNUSED inference_t* in, HLO_UNUSED hlo_tile_op_t* op) {}

static bool is_reshaped(const inference_t* in, const hlo_tile_op_t* alloc) {
  for (hlo_tile_op_t* op = hlo_tile_first_op(in->kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind == HLO_TILE_OP_reshape && hlo_tile_ref_root(op) == alloc) return true;
  }
  return false;
}

// Returns true if the reference is a tile that layouts can describe.
static bool has_elements(const hlo_tile_op_t* ref) {
  bool counts =
      ref->ref.space == HLO_TILE_SPACE_semaphore || ref->ref.space == HLO_TILE_SPACE_barrier;
  return !counts && hlo_tile_ref_count(ref) > 0;
}

// Each dimension may be the innermost one; the others keep their order.
static void alloc_rule(inference_t* in, hlo_tile_op_t* op) {
  static const int64_t NUMBERS[HLO_TILE_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  uint32_t rank = op->ref.rank;
  if (!has_elements(op) || rank < 2) return;
  orders_t* orders = hlo_arena_alloc_zeroed(in->kernel->arena, sizeof *orders);
  const char* name = hlo_arena_printf(in->kernel->arena, "order of %%%u", op->number);
  if (!orders || !name) return;
  orders->count = op->layout || is_reshaped(in, op) ? 1 : rank;
  for (uint32_t i = 0; i < orders->count; ++i) {
    int64_t* strides = orders->strides[i];
    uint32_t innermost = rank - 1 - i;
    int64_t stride = op->ref.dims[innermost];
    strides[innermost] = 1;
    for (uint32_t k = rank; k-- > 0;) {
      if (k == innermost) continue;
      strides[k] = stride;
      stride *= op->ref.dims[k];
    }
    if (op->layout) hlo_tile_layout_strides(op->layout, strides);
    orders->layouts[i] = op->layout ? op->layout : whole_of(in, op, strides);
  }
  orders->var = hlo_tile_system_size(in->system, name, orders->count, NUMBERS);
  in->orders[op->number] = orders;
}

// A whole reference moves through registers of a layout.
static void add_whole(inference_t* in, const hlo_tile_op_t* op, const hlo_tile_op_t* ref,
                      const hlo_tile_term_t* registers) {
  const hlo_tile_term_t* memory = memory_term(in, op, ref);
  if (!memory || !registers) return;
  size_t bytes = hlo_dtype_size_bytes(ref->dtype);
  double count = move_count(in, op->block, hlo_tile_ref_count(ref), bytes);
  hlo_tile_system_transfer(in->system, origin_of(in, op), memory, registers,
                           bytes < 4 ? 4 : (int64_t)bytes, count, 1e9);
}

// Both sides of a copy share registers, so dimensions in one order are copied by whole registers.
static void copy_rule(inference_t* in, hlo_tile_op_t* op) {
  const hlo_tile_op_t* from = op->operands[0];
  const hlo_tile_layout_t* candidates[HLO_TILE_MAX_RANK];
  uint32_t rank = from->ref.rank;
  if (!has_elements(from) || rank == 0) return;
  for (uint32_t i = 0; i < rank; ++i) {
    candidates[i] = along(in, rank, from->ref.dims, rank - 1 - i, in->lanes);
    if (!candidates[i]) return;
  }
  hlo_tile_var_t var = hlo_tile_system_layout(in->system, "copied", rank, candidates);
  add_whole(in, op, from, hlo_tile_term_var(in->system, var));
  add_whole(in, op, op->operands[1], hlo_tile_term_var(in->system, var));
}

// Sums and the right operand have lanes along the columns, the last dimension of the sums if that
// is one of the right operand.
static void mma_rule(inference_t* in, hlo_tile_op_t* op) {
  const hlo_tile_op_t *sum = op->operands[0], *right = op->operands[2];
  const hlo_tile_dims_t* d = &op->dims;
  uint32_t named = 0, columns = right->ref.rank;
  for (uint32_t i = 0; i < d->batch_count; ++i) named |= 1u << d->right_batch[i];
  for (uint32_t i = 0; i < d->contract_count; ++i) named |= 1u << d->right_contract[i];
  while (columns > 0 && named >> (columns - 1) & 1) --columns;
  if (!columns || !has_elements(sum) || !has_elements(right)) return;
  const hlo_tile_op_t* refs[2] = {sum, right};
  const uint32_t lanes[2] = {sum->ref.rank - 1, columns - 1};
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_tile_layout_t* registers =
        along(in, refs[i]->ref.rank, refs[i]->ref.dims, lanes[i], in->lanes);
    if (registers) add_whole(in, op, refs[i], hlo_tile_term_layout(in->system, registers));
  }
}

// Whole references have no elements in registers.
static void memory_rule(HLO_UNUSED inference_t* in, HLO_UNUSED hlo_tile_op_t* op) {}

static void elementwise_rule(inference_t* in, hlo_tile_op_t* op) {
  hlo_tile_var_t var = add_value(in, op, false);
  for (uint32_t i = 0; i < op->operand_count; ++i) add_operand(in, op, i, var);
}

// Yields share a layout; the results have it without the dimensions of the loops.
static void reduce_rule(inference_t* in, hlo_tile_op_t* op) {
  add_regions(in, op);
  hlo_tile_op_t* yield = hlo_tile_op_yield(op);
  const hlo_tile_op_t* value = yield->operands[0];
  hlo_tile_var_t var = add_value(in, op, true), yielded = in->vars[value->number];
  if (value->block != yield->block) {  // it is defined outside and equal for all iterations
    yielded = add_var(in, "yielded", yield->block, false);
    add_operand(in, yield, 0, yielded);
  }
  for (uint32_t i = 1; i < yield->operand_count; ++i) add_operand(in, yield, i, yielded);
  uint64_t extra = inner_dims(op->block, yield->block);
  const hlo_tile_term_t* from = hlo_tile_term_var(in->system, yielded);
  if (extra) from = hlo_tile_term_reduce(in->system, from, extra);
  hlo_tile_system_equal(in->system, origin_of(in, op), hlo_tile_term_var(in->system, var), from);
  for (uint32_t i = 0; i < hlo_tile_result_count(op); ++i) set_result(in, op, i, var);
}

// One variable for each result of an operation with regions.
static void add_results(inference_t* in, const hlo_tile_op_t* op) {
  for (uint32_t i = 0; i < hlo_tile_result_count(op); ++i) {
    set_result(in, op, i,
               i == 0 ? add_value(in, op, false) : add_var(in, "result", op->block, false));
  }
}

static void add_yields(inference_t* in, const hlo_tile_op_t* op, hlo_tile_op_t* yield) {
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    add_operand(in, yield, i, result_var(in, op, i));
  }
}

// Carried values have the same layout in all steps, before and after: the arguments of the regions
// share the variables of the results.
static void carry_rule(inference_t* in, hlo_tile_op_t* op) {
  if (!hlo_tile_op_has_result(op)) {
    add_regions(in, op);
    return;
  }
  add_results(in, op);
  for (uint32_t i = 0; i < op->operand_count; ++i) add_operand(in, op, i, result_var(in, op, i));
  add_regions(in, op);
  add_yields(in, op, hlo_tile_op_yield(op));
}

static void switch_rule(inference_t* in, hlo_tile_op_t* op) {
  if (hlo_tile_op_has_result(op)) add_results(in, op);
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    add_block(in, region);
    if (hlo_tile_op_has_result(op)) add_yields(in, op, hlo_tile_block_yield(region));
  }
}

static void result_rule(inference_t* in, hlo_tile_op_t* op) {
  set_value(in, op, result_var(in, op->operands[0], op->result));
}

static void argument_rule(inference_t* in, hlo_tile_op_t* op) {
  set_value(in, op, result_var(in, op->block->parent, op->result));
}

// The rule of a yield is part of its region's operation.
static void yield_rule(HLO_UNUSED inference_t* in, HLO_UNUSED hlo_tile_op_t* op) {}

typedef void (*rule_fn_t)(inference_t* in, hlo_tile_op_t* op);

static const rule_fn_t RULES[HLO_TILE_OP_KIND_COUNT] = {
#define HLO_TILE_OP(id, operands, result, regions, since, layouts) \
  [HLO_TILE_OP_##id] = layouts##_rule,
#include "tile/ir.def"
#undef HLO_TILE_OP
};

static void add_block(inference_t* in, const hlo_tile_block_t* block) {
  for (hlo_tile_op_t* op = block->first; op && !in->kernel->arena->failed; op = op->next) {
    RULES[op->kind](in, op);
  }
}

// ---- the result

static void put_layouts(const inference_t* in, const hlo_tile_value_t* values) {
  for (hlo_tile_op_t* op = hlo_tile_first_op(in->kernel); op; op = hlo_tile_next_op(op)) {
    if (hlo_tile_op_has_value(op)) op->layout = values[in->vars[op->number]].layout;
    const orders_t* orders = op->kind == HLO_TILE_OP_alloc ? in->orders[op->number] : NULL;
    if (orders) op->layout = orders->layouts[values[orders->var].size];
  }
}

// Inserts a relayout before a use whose operand has another layout.
static void put_relayout(const inference_t* in, const use_t* use, const hlo_tile_value_t* values) {
  hlo_tile_op_t *op = use->op, *value = op->operands[use->operand];
  hlo_tile_block_t* block = op->block;
  const hlo_tile_layout_t* wanted = values[use->var].layout;
  if (hlo_tile_layout_relayout(value->layout, wanted).kind <= HLO_RELAYOUT_RENAME) return;
  hlo_tile_op_t* before = NULL;
  for (hlo_tile_op_t* at = block->first; at != op; at = at->next) before = at;
  const hlo_tile_op_t fields = {.kind = HLO_TILE_OP_relayout,
                                .loc = op->loc,
                                .dtype = value->dtype,
                                .operand_count = 1,
                                .operands = {value},
                                .layout = wanted};
  hlo_tile_op_t* relayout = hlo_tile_begin(in->kernel, block, &fields);
  if (!relayout) return;
  relayout->number = in->kernel->value_count++;
  relayout->next = op;
  if (before) {
    before->next = relayout;
  } else {
    block->first = relayout;
  }
  op->operands[use->operand] = relayout;
}

static bool has_too_many(uint32_t rank, const int64_t* dims) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(elements, dims[i], &elements)) return true;
  }
  return elements > HLO_TILE_LAYOUT_MAX_POSITION;
}

// Returns an error if tiles have more dimensions or elements than layouts support.
static hlo_status_t check_tiles(const hlo_tile_kernel_t* kernel) {
  int64_t dims[HLO_TILE_MAX_DEPTH];
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    uint32_t rank = hlo_tile_block_tile(op->block, dims, NULL);
    if (rank > HLO_TILE_LAYOUT_MAX_RANK) {
      return hlo_resource_exhausted("%s in tiles of %u dimensions: layouts have at most %d",
                                    hlo_tile_op_name(op->kind), rank, HLO_TILE_LAYOUT_MAX_RANK);
    }
    if (has_too_many(rank, dims)) {
      return hlo_resource_exhausted(
          "%s in tiles of too many elements: layouts have at most %" PRId64,
          hlo_tile_op_name(op->kind), HLO_TILE_LAYOUT_MAX_POSITION);
    }
  }
  return hlo_ok();
}

static int64_t widest_bytes(const hlo_tile_kernel_t* kernel) {
  int64_t widest = 1;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (!hlo_tile_op_has_value(op)) continue;
    int64_t bytes = (int64_t)hlo_dtype_size_bytes(op->dtype);
    if (bytes > widest) widest = bytes;
  }
  return widest;
}

static uint32_t count_operands(const hlo_tile_kernel_t* kernel) {
  uint32_t count = 0;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    count += op->operand_count;
  }
  return count;
}

// The last allocation in near memory, whose line says where there is too much.
static const hlo_tile_op_t* last_near(const hlo_tile_kernel_t* kernel) {
  const hlo_tile_op_t* last = NULL;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    bool is_near = op->kind == HLO_TILE_OP_alloc && op->ref.space == HLO_TILE_SPACE_near;
    if (is_near && (!last || op->address >= last->address)) last = op;
  }
  return last;
}

// Places allocations; those in near memory share the largest memory of a core that is not the main
// one.
static hlo_status_t place(inference_t* in) {
  int64_t bytes[HLO_TILE_SPACE_COUNT];
  const hlo_tile_target_t* target = in->target;
  int64_t line = target->memory_count > 1 ? target->memories[1].line_bytes : 1;
  HLO_TRY(hlo_tile_kernel_place(in->kernel, line > 0 ? line : 1, bytes));
  uint32_t memory = target->memory_count;
  while (memory > 1 && target->memories[memory - 1].capacity_bytes == INT64_MAX) --memory;
  int64_t needed = bytes[HLO_TILE_SPACE_near];
  const hlo_tile_op_t* last = needed ? last_near(in->kernel) : NULL;
  if (!last || memory < 2) return hlo_ok();
  hlo_tile_system_fits(in->system, origin_of(in, last), memory - 1, needed, 0, NULL);
  return hlo_ok();
}

hlo_status_t hlo_tile_kernel_infer(hlo_tile_kernel_t* kernel, const hlo_tile_target_t* target,
                                   uint64_t fuel) {
  hlo_arena_t* arena = kernel->arena;
  HLO_TRY(check_tiles(kernel));
  inference_t in = {
      .kernel = kernel, .target = target, .lanes = target->vector_bytes / widest_bytes(kernel)};
  if (in.lanes < 1) in.lanes = 1;
  in.system = hlo_tile_system_create(arena, &kernel->layouts, target);
  in.vars = hlo_arena_array(arena, kernel->value_count + 1, sizeof *in.vars);
  in.results = hlo_arena_array(arena, kernel->value_count + 1, sizeof *in.results);
  in.orders = hlo_arena_alloc_zeroed(arena, (kernel->value_count + 1) * sizeof *in.orders);
  in.aliases = hlo_arena_array(arena, HLO_TILE_MAX_ALIASES, sizeof *in.aliases);
  find_given(&in);
  in.uses = hlo_arena_array(arena, count_operands(kernel) + 1, sizeof *in.uses);
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(place(&in));
  add_block(&in, &kernel->body);
  hlo_tile_solution_t solution;
  HLO_TRY(hlo_tile_system_solve(in.system, fuel, &solution));
  put_layouts(&in, solution.values);
  for (uint32_t i = 0; i < in.use_count; ++i) put_relayout(&in, &in.uses[i], solution.values);
  HLO_TRY(hlo_arena_status(arena));
  return hlo_tile_kernel_renumber(kernel);
}
