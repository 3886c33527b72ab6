// SPDX-License-Identifier: Apache-2.0
// Whether Tile IR is well formed (see ir.h): one function per group of rules.
#include <inttypes.h>

#include "tile/ir_impl.h"

typedef struct verifier {
  const hlo_tile_kernel_t* kernel;
  const hlo_tile_op_t** values;  // by number
} verifier_t;

static hlo_status_t wrong(const hlo_tile_op_t* op, const char* what) {
  if (hlo_tile_op_has_result(op)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%%%u = %s: %s", op->number,
                             hlo_tile_op_name(op->kind), what);
  }
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%s: %s", hlo_tile_op_name(op->kind), what);
}

#define CHECK(op, condition, what) \
  if (!(condition)) return wrong(op, what)

// Whether a value is computed where `block` can see it.
static bool is_visible(const hlo_tile_op_t* value, const hlo_tile_block_t* block) {
  for (; block; block = block->parent ? block->parent->block : NULL) {
    if (value->block == block) return true;
  }
  return false;
}

static hlo_status_t check_expr(const verifier_t* v, const hlo_tile_op_t* op, const hlo_expr_t* expr,
                               uint64_t digits) {
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_DIGIT) {
      CHECK(op, digits >> atom->number & 1, "a digit of no loop around it");
    } else if (atom->kind == HLO_EXPR_VALUE) {
      const hlo_tile_op_t* value =
          atom->number < v->kernel->value_count ? v->values[atom->number] : NULL;
      CHECK(op, value && is_visible(value, op->block), "an index that is not computed there");
      CHECK(op, hlo_dtype_is_integer(value->dtype), "an index that is no integer");
    } else {
      HLO_TRY(check_expr(v, op, atom->argument, digits));
    }
  }
  return hlo_ok();
}

static hlo_status_t check_memory(const verifier_t* v, const hlo_tile_op_t* op) {
  CHECK(op, op->buffer < v->kernel->buffer_count, "no such buffer");
  const hlo_tile_buffer_t* buffer = &v->kernel->buffers[op->buffer];
  hlo_dtype_t dtype = op->kind == HLO_TILE_OP_load ? op->dtype : op->operands[0]->dtype;
  CHECK(op, dtype == buffer->dtype, "another element type than the buffer's");
  CHECK(op, op->kind == HLO_TILE_OP_load || buffer->is_output, "to a buffer that is no output");
  return hlo_ok();
}

static hlo_status_t check_reduce(const hlo_tile_op_t* op) {
  CHECK(op, op->reducer_count > 0, "nothing is said about how");
  CHECK(op, op->is_arg ? op->reducer_count == 1 : true, "one comparison finds both results");
  uint32_t results = hlo_tile_reduce_results(op);
  CHECK(op, op->operand_count == 0 || op->operand_count == results,
        "as many initial values as results, or none");
  const hlo_tile_op_t* yield = op->body.last;
  CHECK(op, yield && yield->kind == HLO_TILE_OP_yield, "its body ends without a yield");
  CHECK(op, yield->operand_count == results, "its body yields another number of values");
  CHECK(op, yield->operands[0]->dtype == op->dtype, "its body yields another element type");
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    CHECK(op, op->operands[i]->dtype == yield->operands[i]->dtype,
          "an initial value of another element type");
  }
  return hlo_ok();
}

static hlo_status_t check_loops(const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* around[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(op->block, around);
  CHECK(op, op->kind == HLO_TILE_OP_reduce ? op->loop_count > 0 : op->loop_count == 1,
        "loops over one digit, reductions over one or more");
  CHECK(op, count + op->loop_count < HLO_TILE_MAX_DEPTH, "too many loops in each other");
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i];
    CHECK(op, loop->digit < HLO_EXPR_MAX_DIGITS && loop->step > 0 && loop->low < loop->end,
          "a loop without steps");
    for (uint32_t k = 0; k < count; ++k) {
      CHECK(op, around[k]->digit != loop->digit, "a digit of a loop around it");
    }
    for (uint32_t k = 0; k < i; ++k) {
      CHECK(op, op->loops[k].digit != loop->digit, "a digit twice");
    }
  }
  return hlo_ok();
}

static hlo_status_t check_layout(const hlo_tile_op_t* op) {
  int64_t dims[HLO_TILE_MAX_DEPTH];
  uint32_t rank = hlo_tile_block_tile(op->block, dims, NULL);
  CHECK(op, op->layout->rank == rank, "a layout of other dimensions than the tile's");
  for (uint32_t i = 0; i < rank; ++i) {
    CHECK(op, op->layout->dims[i] == dims[i], "a layout of another shape than the tile's");
  }
  return hlo_ok();
}

static hlo_status_t check_kind(const verifier_t* v, const hlo_tile_op_t* op) {
  switch (op->kind) {
    case HLO_TILE_OP_load:
    case HLO_TILE_OP_store: return check_memory(v, op);
    case HLO_TILE_OP_map: CHECK(op, op->operand_count > 0, "no operands"); return hlo_ok();
    case HLO_TILE_OP_guard:
      CHECK(op, op->operands[0]->dtype == op->dtype && op->operands[1]->dtype == op->dtype,
            "values of different element types");
      return hlo_ok();
    case HLO_TILE_OP_relayout:
      CHECK(op, op->operands[0]->dtype == op->dtype, "another element type");
      return hlo_ok();
    case HLO_TILE_OP_reduce: HLO_TRY(check_loops(op)); return check_reduce(op);
    case HLO_TILE_OP_for:
    case HLO_TILE_OP_parallel: return check_loops(op);
    case HLO_TILE_OP_result:
      CHECK(op, op->operands[0]->kind == HLO_TILE_OP_reduce, "of something else than a reduce");
      CHECK(op, op->result < hlo_tile_reduce_results(op->operands[0]), "no such result");
      CHECK(op, op->operands[0]->body.last->operands[op->result]->dtype == op->dtype,
            "another element type");
      return hlo_ok();
    case HLO_TILE_OP_yield:
      CHECK(op, op->block->parent && op->block->parent->kind == HLO_TILE_OP_reduce && !op->next,
            "anywhere but at the end of a reduce");
      return hlo_ok();
    default: return hlo_ok();
  }
}

static hlo_status_t check_op(verifier_t* v, const hlo_tile_op_t* op);

static hlo_status_t check_block(verifier_t* v, const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) HLO_TRY(check_op(v, op));
  return hlo_ok();
}

static hlo_status_t check_op(verifier_t* v, const hlo_tile_op_t* op) {
  const hlo_tile_op_info_t* info = &hlo_tile_op_infos[op->kind];
  CHECK(op, info->operand_count < 0 || op->operand_count == (uint32_t)info->operand_count,
        "another number of operands");
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    const hlo_tile_op_t* operand = op->operands[i];
    CHECK(op,
          hlo_tile_op_has_result(operand) && v->values[operand->number] == operand &&
              is_visible(operand, op->block),
          "an operand that is not computed there");
  }
  if (hlo_tile_op_has_offset(op->kind)) {
    const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
    uint64_t digits = 0;
    for (uint32_t i = hlo_tile_block_loops(op->block, loops); i-- > 0;) {
      digits |= (uint64_t)1 << loops[i]->digit;
    }
    HLO_TRY(check_expr(v, op, op->offset, digits));
  }
  if (info->has_body) {
    HLO_TRY(check_loops(op));
    HLO_TRY(check_block(v, &op->body));
  }
  HLO_TRY(check_kind(v, op));
  if (op->layout) HLO_TRY(check_layout(op));
  if (info->has_result) v->values[op->number] = op;
  return hlo_ok();
}

hlo_status_t hlo_tile_kernel_verify(const hlo_tile_kernel_t* kernel) {
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  verifier_t verifier = {.kernel = kernel};
  verifier.values = hlo_arena_array(&scratch, kernel->value_count + 1, sizeof *verifier.values);
  hlo_status_t status = hlo_arena_status(&scratch);
  if (hlo_status_is_ok(status)) status = check_block(&verifier, &kernel->body);
  hlo_arena_deinit(&scratch);
  return status;
}
