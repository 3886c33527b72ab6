// SPDX-License-Identifier: Apache-2.0
// Parses Tile IR (see ir.h): one operation per line, as ir_text.c prints it.
#include <inttypes.h>
#include <string.h>

#include "tile/ir_impl.h"
#include "tile/text.h"

enum { MAX_BUFFERS = 256, MAX_VALUES = 1 << 16, WORD = 64, MAX_EXPR_DEPTH = 64 };

typedef struct parser {
  hlo_arena_t* arena;
  hlo_tile_kernel_t* kernel;
  hlo_tile_text_t text;
  hlo_tile_op_t** values;  // by number in the text
  uint32_t depth;
} parser_t;

#define EXPECT(p, condition, what) \
  if (!(condition)) return hlo_tile_text_error(&(p)->text, what)

static hlo_status_t parse_dtype(parser_t* p, hlo_dtype_t* out_dtype) {
  char word[WORD];
  EXPECT(p, hlo_tile_text_word(&p->text, word, sizeof word), "an element type");
  *out_dtype = hlo_dtype_from_hlo_name(word, strlen(word));
  EXPECT(p, *out_dtype != HLO_DTYPE_INVALID, "an element type before this");
  return hlo_ok();
}

static hlo_status_t parse_value(parser_t* p, hlo_tile_op_t** out_op) {
  int64_t number;
  EXPECT(p, hlo_tile_text_take(&p->text, "%") && hlo_tile_text_number(&p->text, &number),
         "a value");
  EXPECT(p, number >= 0 && number < MAX_VALUES && p->values[number],
         "a value that exists before this");
  *out_op = p->values[number];
  return hlo_ok();
}

// ---- expressions

static hlo_status_t parse_expr(parser_t* p, const hlo_tile_block_t* block, uint32_t depth,
                               const hlo_expr_t** out_expr);

static hlo_status_t parse_iv(parser_t* p, const hlo_tile_block_t* block, const char* word,
                             const hlo_expr_t** out_expr) {
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  uint32_t count = hlo_tile_block_loops(block, loops);
  hlo_tile_text_t ivs = {.start = word + 1, .at = word + 1};
  int64_t number = -1;
  if (word[0] != 'd' || !hlo_tile_text_number(&ivs, &number)) number = -1;
  for (uint32_t i = count; i-- > 0;) {
    if (loops[i]->iv != number) continue;
    *out_expr = hlo_expr_loop(&p->kernel->exprs, loops[i]->iv, loops[i]->low, loops[i]->end);
    return hlo_ok();
  }
  return hlo_tile_text_error(&p->text, "an induction variable of an enclosing loop before this");
}

static hlo_status_t parse_clamp(parser_t* p, const hlo_expr_t** out_expr) {
  hlo_tile_op_t* op;
  int64_t low, high;
  EXPECT(p, hlo_tile_text_take(&p->text, "("), "'('");
  HLO_TRY(parse_value(p, &op));
  EXPECT(p,
         hlo_tile_text_take(&p->text, ",") && hlo_tile_text_number(&p->text, &low) &&
             hlo_tile_text_take(&p->text, ",") && hlo_tile_text_number(&p->text, &high) &&
             low <= high && hlo_tile_text_take(&p->text, ")"),
         "bounds of the value");
  *out_expr = hlo_tile_value_expr(p->kernel, op, low, high);
  return hlo_ok();
}

static hlo_status_t parse_atom(parser_t* p, const hlo_tile_block_t* block, uint32_t depth,
                               const hlo_expr_t** out_expr) {
  if (hlo_tile_text_take(&p->text, "(")) {
    EXPECT(p, depth < MAX_EXPR_DEPTH, "fewer parentheses");
    int64_t divisor;
    HLO_TRY(parse_expr(p, block, depth + 1, out_expr));
    bool is_div = hlo_tile_text_take(&p->text, "div");
    EXPECT(p, is_div || hlo_tile_text_take(&p->text, "mod"), "'div' or 'mod'");
    EXPECT(p, hlo_tile_text_number(&p->text, &divisor) && divisor > 0, "a positive number");
    EXPECT(p, hlo_tile_text_take(&p->text, ")"), "')'");
    *out_expr = is_div ? hlo_expr_div(&p->kernel->exprs, *out_expr, divisor)
                       : hlo_expr_mod(&p->kernel->exprs, *out_expr, divisor);
    return hlo_ok();
  }
  char word[WORD];
  EXPECT(p, hlo_tile_text_word(&p->text, word, sizeof word), "an induction variable");
  if (strcmp(word, "clamp") == 0) return parse_clamp(p, out_expr);
  return parse_iv(p, block, word, out_expr);
}

// Limits coefficients and bounds so that their products stay far below 62 bits.
static bool is_moderate(int64_t number) {
  return number > -((int64_t)1 << 46) && number < (int64_t)1 << 46;
}

static bool is_moderate_product(int64_t factor, const hlo_expr_t* expr) {
  double limit = (double)((int64_t)1 << 50), f = (double)factor;
  return f * (double)expr->low > -limit && f * (double)expr->low < limit &&
         f * (double)expr->high > -limit && f * (double)expr->high < limit;
}

static hlo_status_t parse_expr(parser_t* p, const hlo_tile_block_t* block, uint32_t depth,
                               const hlo_expr_t** out_expr) {
  hlo_expr_space_t* exprs = &p->kernel->exprs;
  const hlo_expr_t* sum = hlo_expr_const(exprs, 0);
  do {
    int64_t factor = 1;
    bool has_factor = hlo_tile_text_number(&p->text, &factor);
    EXPECT(p, is_moderate(factor), "a smaller number before this");
    const hlo_expr_t* term = hlo_expr_const(exprs, 1);
    if (!has_factor || hlo_tile_text_take(&p->text, "*")) {
      HLO_TRY(parse_atom(p, block, depth, &term));
    }
    EXPECT(p, is_moderate_product(factor, term), "a smaller factor before this");
    sum = hlo_expr_add(exprs, sum, hlo_expr_mul(exprs, term, factor));
    EXPECT(p, is_moderate(sum->low) && is_moderate(sum->high) && !exprs->is_exceeded,
           "a smaller sum before this");
    HLO_TRY(hlo_arena_status(p->arena));
  } while (hlo_tile_text_take(&p->text, "+"));
  *out_expr = sum;
  return hlo_ok();
}

// ---- parts of operations

static hlo_status_t parse_op_name(parser_t* p, hlo_op_t* out_op) {
  char word[WORD], name[WORD + 16];
  EXPECT(p, hlo_tile_text_word(&p->text, word, sizeof word), "an operation");
  size_t length = strlen(word);
  memcpy(name, "stablehlo.", 10);
  memcpy(name + 10, word, length + 1);
  *out_op = hlo_op_from_name(name, length + 10);
  if (*out_op == HLO_OP_COUNT) *out_op = hlo_op_from_name(word, length);
  EXPECT(p, *out_op != HLO_OP_COUNT, "an elementwise operation before this");
  return hlo_ok();
}

static hlo_status_t parse_range(parser_t* p, int64_t* low, int64_t* end) {
  EXPECT(p,
         hlo_tile_text_number(&p->text, low) && hlo_tile_text_take(&p->text, "..") &&
             hlo_tile_text_number(&p->text, end) && is_moderate(*low) && is_moderate(*end),
         "a range like 0..16");
  return hlo_ok();
}

static hlo_status_t parse_schedule(parser_t* p, hlo_tile_schedule_t* schedule) {
  for (uint32_t i = 0; i < HLO_TILE_SCHEDULE_COUNT; ++i) {
    const hlo_tile_schedule_field_t* field = &hlo_tile_schedule_fields[i];
    if (!hlo_tile_text_take(&p->text, field->name)) continue;
    int64_t number;
    EXPECT(p, hlo_tile_text_number(&p->text, &number) && number > 0 && is_moderate(number),
           "a positive number for the schedule");
    memcpy((char*)schedule + field->offset, &number, sizeof number);
  }
  return hlo_ok();
}

static hlo_status_t parse_loops(parser_t* p, hlo_tile_op_t* op) {
  do {
    EXPECT(p, op->loop_count < HLO_TILE_MAX_REDUCE_LOOPS, "fewer loops");
    hlo_tile_loop_t* loop = &op->loops[op->loop_count++];
    char word[WORD];
    int64_t iv;
    EXPECT(p, hlo_tile_text_word(&p->text, word, sizeof word) && word[0] == 'd',
           "an induction variable");
    hlo_tile_text_t number = {.start = word + 1, .at = word + 1};
    EXPECT(p, hlo_tile_text_number(&number, &iv) && iv >= 0 && iv < HLO_EXPR_MAX_LOOPS,
           "the number of an induction variable before this");
    loop->iv = (uint32_t)iv;
    EXPECT(p, hlo_tile_text_take(&p->text, "="), "'='");
    HLO_TRY(parse_range(p, &loop->low, &loop->end));
    EXPECT(p, hlo_tile_text_take(&p->text, "by") && hlo_tile_text_number(&p->text, &loop->step),
           "'by' and a step");
    EXPECT(p, loop->step > 0 && is_moderate(loop->step) && loop->low < loop->end,
           "a step and a range of some numbers");
    HLO_TRY(parse_schedule(p, &loop->schedule));
    loop->is_grid = hlo_tile_text_take(&p->text, "grid");
  } while (hlo_tile_text_take(&p->text, ","));
  return hlo_ok();
}

static hlo_status_t parse_number(parser_t* p, uint32_t* out_number, const char* what) {
  int64_t number;
  EXPECT(p, hlo_tile_text_number(&p->text, &number) && number >= 0 && number < MAX_VALUES, what);
  *out_number = (uint32_t)number;
  return hlo_ok();
}

// ---- between the name and the operands of an operation

static hlo_status_t parse_offset(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  EXPECT(p, hlo_tile_text_take(&p->text, "["), "'['");
  HLO_TRY(parse_expr(p, block, 0, &op->offset));
  EXPECT(p, hlo_tile_text_take(&p->text, "]"), "']'");
  return hlo_ok();
}

static hlo_status_t parse_access(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  HLO_TRY(parse_number(p, &op->buffer, "a buffer's number"));
  EXPECT(p, op->buffer < p->kernel->buffer_count, "a buffer that exists before this");
  HLO_TRY(parse_offset(p, block, op));
  bool has_alias = hlo_tile_text_take(&p->text, "alias");
  return has_alias ? parse_number(p, &op->alias, "a number of an alias") : hlo_ok();
}

static hlo_status_t parse_guard(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  HLO_TRY(parse_offset(p, block, op));
  EXPECT(p, hlo_tile_text_take(&p->text, "in"), "'in'");
  return parse_range(p, &op->low, &op->end);
}

static hlo_status_t parse_element(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  EXPECT(p, hlo_tile_text_take(&p->text, "0x"), "0x and the bytes of an element");
  uint32_t ivs = (uint32_t)strspn(p->text.at, "0123456789abcdef");
  EXPECT(p, ivs % 2 == 0 && ivs <= 2 * sizeof op->element, "the bytes of an element");
  for (uint32_t i = 0; i < ivs; ++i) {
    char c = p->text.at[ivs - 1 - i];
    op->element[i / 2] |= (uint8_t)((c <= '9' ? c - '0' : c - 'a' + 10) << (i % 2 ? 4 : 0));
  }
  p->text.at += ivs;
  return hlo_ok();
}

static hlo_status_t parse_map(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  hlo_tile_map_t* map = &op->map;
  HLO_TRY(parse_op_name(p, &map->op));
  if (map->op != HLO_OP_compare) return hlo_ok();
  map->direction = 0;
  while (map->direction < 6 &&
         !hlo_tile_text_take(&p->text, hlo_tile_direction_name(map->direction))) {
    ++map->direction;
  }
  EXPECT(p, map->direction < 6, "a direction of comparison");
  map->is_total_order = hlo_tile_text_take(&p->text, "total");
  return hlo_ok();
}

static hlo_status_t parse_reducers(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  while (!hlo_tile_text_is_next(&p->text, "over") && !hlo_tile_text_is_next(&p->text, "%")) {
    EXPECT(p, op->reducer_count < HLO_TILE_MAX_OPERANDS / 2, "fewer reducers");
    op->is_arg |= hlo_tile_text_take(&p->text, "arg");
    HLO_TRY(parse_op_name(p, &op->reducers[op->reducer_count++]));
  }
  return hlo_ok();
}

static hlo_status_t parse_result(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  HLO_TRY(parse_number(p, &op->result, "a result's number"));
  EXPECT(p, hlo_tile_text_take(&p->text, "of"), "'of'");
  return hlo_ok();
}

static hlo_status_t parse_argument(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  return parse_number(p, &op->result, "an argument's number");
}

// ---- the same for references

// Reads numbers between brackets, the first bracket included.
static hlo_status_t parse_numbers(parser_t* p, int64_t* numbers, uint32_t* out_count) {
  uint32_t count = 0;
  EXPECT(p, hlo_tile_text_take(&p->text, "["), "'['");
  while (!hlo_tile_text_take(&p->text, "]")) {
    EXPECT(p, count == 0 || hlo_tile_text_take(&p->text, ","), "',' or ']'");
    EXPECT(p, count < HLO_TILE_MAX_RANK, "fewer dimensions");
    EXPECT(p, hlo_tile_text_number(&p->text, &numbers[count]) && is_moderate(numbers[count]),
           "a number");
    ++count;
  }
  *out_count = count;
  return hlo_ok();
}

// Reads numbers of dimensions.
static hlo_status_t parse_dims(parser_t* p, uint32_t* dims, uint32_t* out_count) {
  int64_t numbers[HLO_TILE_MAX_RANK];
  HLO_TRY(parse_numbers(p, numbers, out_count));
  for (uint32_t i = 0; i < *out_count; ++i) {
    EXPECT(p, numbers[i] >= 0 && numbers[i] < HLO_TILE_MAX_RANK, "numbers of dimensions");
    dims[i] = (uint32_t)numbers[i];
  }
  return hlo_ok();
}

// Reads a shape of which all elements can be counted.
static hlo_status_t parse_shape(parser_t* p, uint32_t* out_rank, int64_t* dims,
                                int64_t* out_count) {
  HLO_TRY(parse_numbers(p, dims, out_rank));
  *out_count = 1;
  for (uint32_t i = 0; i < *out_rank; ++i) {
    EXPECT(p, dims[i] >= 0, "a shape");
    bool is_huge = __builtin_mul_overflow(*out_count, dims[i], out_count);
    EXPECT(p, !is_huge && is_moderate(*out_count), "a smaller shape");
  }
  return hlo_ok();
}

static hlo_status_t parse_indices(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  EXPECT(p, hlo_tile_text_take(&p->text, "["), "'['");
  while (!hlo_tile_text_take(&p->text, "]")) {
    EXPECT(p, op->index_count == 0 || hlo_tile_text_take(&p->text, ","), "',' or ']'");
    EXPECT(p, op->index_count < HLO_TILE_MAX_RANK, "fewer dimensions");
    HLO_TRY(parse_expr(p, block, 0, &op->indices[op->index_count++]));
  }
  bool may_mask = op->kind >= HLO_TILE_OP_ref_load && op->kind <= HLO_TILE_OP_atomic;
  op->is_masked = may_mask && hlo_tile_text_take(&p->text, "mask");
  return hlo_ok();
}

static hlo_status_t parse_atomic(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  uint32_t atomic = 0;
  while (atomic < HLO_TILE_ATOMIC_COUNT &&
         !hlo_tile_text_take(&p->text, hlo_tile_atomic_name((hlo_tile_atomic_t)atomic))) {
    ++atomic;
  }
  EXPECT(p, atomic < HLO_TILE_ATOMIC_COUNT, "an atomic operation");
  op->atomic = (hlo_tile_atomic_t)atomic;
  return parse_indices(p, block, op);
}

static hlo_status_t parse_reference(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  HLO_TRY(parse_number(p, &op->buffer, "a buffer's number"));
  EXPECT(p, op->buffer < p->kernel->buffer_count, "a buffer that exists before this");
  return hlo_ok();
}

static hlo_status_t parse_alloc(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  uint32_t space = 0;
  while (space < HLO_TILE_SPACE_COUNT &&
         !hlo_tile_text_take(&p->text, hlo_tile_space_name((hlo_tile_space_t)space))) {
    ++space;
  }
  EXPECT(p, space < HLO_TILE_SPACE_COUNT, "a memory space");
  op->ref.space = (hlo_tile_space_t)space;
  if (space == HLO_TILE_SPACE_barrier) {
    EXPECT(p,
           hlo_tile_text_take(&p->text, "arrivals") && hlo_tile_text_number(&p->text, &op->count),
           "'arrivals' and their number");
  }
  op->is_placed = hlo_tile_text_take(&p->text, "at");
  EXPECT(p, !op->is_placed || hlo_tile_text_number(&p->text, &op->address), "an address");
  return hlo_ok();
}

static hlo_status_t parse_slice(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  HLO_TRY(parse_indices(p, block, op));
  uint32_t count;
  EXPECT(p, hlo_tile_text_take(&p->text, "sizes"), "'sizes'");
  HLO_TRY(parse_numbers(p, op->sizes, &count));
  EXPECT(p, count == op->index_count, "as many sizes as starts before this");
  for (uint32_t i = 0; i < count; ++i) op->strides[i] = 1;
  if (hlo_tile_text_take(&p->text, "strides")) {
    HLO_TRY(parse_numbers(p, op->strides, &count));
    EXPECT(p, count == op->index_count, "as many strides as starts before this");
  }
  if (!hlo_tile_text_take(&p->text, "squeeze")) return hlo_ok();
  uint32_t dims[HLO_TILE_MAX_RANK];
  HLO_TRY(parse_dims(p, dims, &count));
  for (uint32_t i = 0; i < count; ++i) op->squeezed |= 1u << dims[i];
  return hlo_ok();
}

static hlo_status_t parse_transpose(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  uint32_t count;
  return parse_dims(p, op->permutation, &count);
}

static hlo_status_t parse_count(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  EXPECT(p, hlo_tile_text_number(&p->text, &op->count) && is_moderate(op->count), "a number");
  return hlo_ok();
}

static hlo_status_t parse_pairs(parser_t* p, uint32_t* left, uint32_t* right, uint32_t* out_count) {
  uint32_t count;
  HLO_TRY(parse_dims(p, left, out_count));
  EXPECT(p, hlo_tile_text_take(&p->text, "x"), "'x'");
  HLO_TRY(parse_dims(p, right, &count));
  EXPECT(p, count == *out_count, "as many dimensions on both sides before this");
  return hlo_ok();
}

static hlo_status_t parse_mma(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  hlo_tile_dims_t* d = &op->dims;
  HLO_TRY(parse_pairs(p, d->left_contract, d->right_contract, &d->contract_count));
  if (!hlo_tile_text_take(&p->text, "batch")) return hlo_ok();
  return parse_pairs(p, d->left_batch, d->right_batch, &d->batch_count);
}

static hlo_status_t parse_dimension(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  return parse_number(p, &op->dimension, "a dimension of the grid");
}

static hlo_status_t parse_label(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op) {
  (void)block;
  EXPECT(p, hlo_tile_text_quoted(&p->text, p->arena, &op->label), "a text in quotes");
  return hlo_ok();
}

typedef hlo_status_t (*details_fn_t)(parser_t* p, const hlo_tile_block_t* block, hlo_tile_op_t* op);

static const details_fn_t DETAILS[HLO_TILE_OP_KIND_COUNT] = {
    [HLO_TILE_OP_load] = parse_access,
    [HLO_TILE_OP_store] = parse_access,
    [HLO_TILE_OP_index] = parse_offset,
    [HLO_TILE_OP_guard] = parse_guard,
    [HLO_TILE_OP_constant] = parse_element,
    [HLO_TILE_OP_map] = parse_map,
    [HLO_TILE_OP_reduce] = parse_reducers,
    [HLO_TILE_OP_result] = parse_result,
    [HLO_TILE_OP_argument] = parse_argument,
    [HLO_TILE_OP_reference] = parse_reference,
    [HLO_TILE_OP_alloc] = parse_alloc,
    [HLO_TILE_OP_slice] = parse_slice,
    [HLO_TILE_OP_transpose] = parse_transpose,
    [HLO_TILE_OP_ref_load] = parse_indices,
    [HLO_TILE_OP_ref_store] = parse_indices,
    [HLO_TILE_OP_atomic] = parse_atomic,
    [HLO_TILE_OP_semaphore_signal] = parse_count,
    [HLO_TILE_OP_semaphore_wait] = parse_count,
    [HLO_TILE_OP_barrier_wait] = parse_indices,
    [HLO_TILE_OP_mma] = parse_mma,
    [HLO_TILE_OP_scaled_mma] = parse_mma,
    [HLO_TILE_OP_program_id] = parse_dimension,
    [HLO_TILE_OP_num_programs] = parse_dimension,
    [HLO_TILE_OP_print] = parse_label,
};

// ---- operations

static hlo_status_t parse_operands(parser_t* p, hlo_tile_op_t* op) {
  if (!hlo_tile_text_is_next(&p->text, "%")) return hlo_ok();
  // A result on the next line begins like an operand, but `=` follows it.
  const char* before = p->text.at;
  int64_t number;
  hlo_tile_text_take(&p->text, "%");
  bool is_next_line =
      hlo_tile_text_number(&p->text, &number) && hlo_tile_text_is_next(&p->text, "=");
  p->text.at = before;
  if (is_next_line) return hlo_ok();
  do {
    EXPECT(p, op->operand_count < HLO_TILE_MAX_OPERANDS, "fewer operands");
    HLO_TRY(parse_value(p, &op->operands[op->operand_count++]));
  } while (hlo_tile_text_take(&p->text, ","));
  return hlo_ok();
}

static hlo_status_t parse_block(parser_t* p, hlo_tile_block_t* block);

static hlo_status_t parse_region(parser_t* p, hlo_tile_block_t* region) {
  EXPECT(p, hlo_tile_text_take(&p->text, "{"), "'{'");
  EXPECT(p, ++p->depth < HLO_TILE_MAX_DEPTH / 2, "fewer loops in each other");
  HLO_TRY(parse_block(p, region));
  --p->depth;
  EXPECT(p, hlo_tile_text_take(&p->text, "}"), "an operation or '}'");
  return hlo_ok();
}

static hlo_status_t parse_regions(parser_t* p, hlo_tile_op_t* op) {
  HLO_TRY(parse_region(p, &op->body));
  while (hlo_tile_text_is_next(&p->text, "{")) {
    hlo_tile_block_t* region = hlo_tile_add_region(p->kernel, op);
    HLO_TRY(hlo_arena_status(p->arena));
    HLO_TRY(parse_region(p, region));
  }
  return hlo_ok();
}

static hlo_status_t parse_loc(parser_t* p, hlo_tile_loc_t* out_loc) {
  int64_t line, column;
  const char* file;
  EXPECT(p, hlo_tile_text_take(&p->text, "("), "'('");
  EXPECT(p, hlo_tile_text_quoted(&p->text, p->arena, &file), "a file's name in quotes");
  EXPECT(p,
         hlo_tile_text_take(&p->text, ":") && hlo_tile_text_number(&p->text, &line) &&
             hlo_tile_text_take(&p->text, ":") && hlo_tile_text_number(&p->text, &column) &&
             line >= 0 && line <= UINT32_MAX && column >= 0 && column <= UINT32_MAX &&
             hlo_tile_text_take(&p->text, ")"),
         "a line and a column");
  *out_loc = (hlo_tile_loc_t){file, (uint32_t)line, (uint32_t)column};
  return hlo_ok();
}

// The shape of a reference, in the memory of what it is a part of.
static hlo_status_t parse_ref(parser_t* p, hlo_tile_op_t* op) {
  int64_t count;
  HLO_TRY(parse_shape(p, &op->ref.rank, op->ref.dims, &count));
  if (op->operand_count) op->ref.space = op->operands[0]->ref.space;
  return hlo_ok();
}

static hlo_status_t parse_op(parser_t* p, hlo_tile_block_t* block) {
  uint32_t number = 0;
  hlo_tile_op_t fields = {.loc = {.line = hlo_tile_text_line(&p->text)}};
  bool is_named = hlo_tile_text_take(&p->text, "%");
  if (is_named) {
    HLO_TRY(parse_number(p, &number, "a value's number"));
    EXPECT(p, !p->values[number], "a new value before this");
    EXPECT(p, hlo_tile_text_take(&p->text, "="), "'='");
  }
  uint32_t kind = 0;
  while (kind < HLO_TILE_OP_KIND_COUNT &&
         !hlo_tile_text_take(&p->text, hlo_tile_op_infos[kind].name)) {
    ++kind;
  }
  EXPECT(p, kind < HLO_TILE_OP_KIND_COUNT, "an operation");
  const hlo_tile_op_info_t* info = &hlo_tile_op_infos[kind];
  EXPECT(p, is_named || info->has_result != HLO_TILE_RESULT_ALWAYS, "a name before it");
  EXPECT(p, !is_named || info->has_result != HLO_TILE_RESULT_NEVER, "no name before it");
  fields.kind = (hlo_tile_op_kind_t)kind;
  if (DETAILS[kind]) HLO_TRY(DETAILS[kind](p, block, &fields));
  HLO_TRY(parse_operands(p, &fields));
  if (hlo_tile_op_has_loops(fields.kind)) {
    if (is_named) EXPECT(p, hlo_tile_text_take(&p->text, "over"), "'over'");
    HLO_TRY(parse_loops(p, &fields));
  }
  if (is_named) {
    EXPECT(p, hlo_tile_text_take(&p->text, ":"), "':' and an element type");
    HLO_TRY(parse_dtype(p, &fields.dtype));
  }
  if (info->has_result == HLO_TILE_RESULT_REF) HLO_TRY(parse_ref(p, &fields));
  if (hlo_tile_text_is_next(&p->text, "<")) {
    HLO_TRY(hlo_tile_layout_parse(&p->kernel->layouts, &p->text.at, &fields.layout));
  }
  if (hlo_tile_text_take(&p->text, "loc")) HLO_TRY(parse_loc(p, &fields.loc));
  hlo_tile_op_t* op = hlo_tile_begin(p->kernel, block, &fields);
  HLO_TRY(hlo_arena_status(p->arena));
  if (info->region_count) HLO_TRY(parse_regions(p, op));
  hlo_tile_end(p->kernel, op);
  if (is_named) p->values[number] = op;
  return hlo_ok();
}

static hlo_status_t parse_block(parser_t* p, hlo_tile_block_t* block) {
  while (!hlo_tile_text_is_next(&p->text, "}")) HLO_TRY(parse_op(p, block));
  return hlo_ok();
}

// Text without a version predates versions.
static hlo_status_t parse_version(parser_t* p, uint32_t* out_version) {
  int64_t version = 1;
  if (hlo_tile_text_take(&p->text, "version")) {
    EXPECT(p, hlo_tile_text_number(&p->text, &version), "a version");
  }
  if (version < 1 || version > HLO_TILE_VERSION) {
    return hlo_invalid_argument("Tile IR of version %" PRId64 ": versions 1 to %d can be read",
                                version, HLO_TILE_VERSION);
  }
  *out_version = (uint32_t)version;
  return hlo_ok();
}

static hlo_status_t check_version(const hlo_tile_kernel_t* kernel, uint32_t version) {
  uint32_t needed = hlo_tile_kernel_version(kernel);
  if (needed <= version) return hlo_ok();
  return hlo_invalid_argument("Tile IR of version %u with what there is since version %u", version,
                              needed);
}

static hlo_status_t parse_kernel(parser_t* p) {
  char name[WORD];
  hlo_tile_buffer_t buffers[MAX_BUFFERS];
  uint32_t count = 0, version = 1;
  EXPECT(p, hlo_tile_text_take(&p->text, "kernel"), "'kernel'");
  EXPECT(p, hlo_tile_text_word(&p->text, name, sizeof name), "a name");
  HLO_TRY(parse_version(p, &version));
  EXPECT(p, hlo_tile_text_take(&p->text, "{"), "'{'");
  while (hlo_tile_text_take(&p->text, "buffer")) {
    EXPECT(p, count < MAX_BUFFERS, "fewer buffers");
    hlo_tile_buffer_t* buffer = &buffers[count++];
    *buffer = (hlo_tile_buffer_t){0};
    HLO_TRY(parse_dtype(p, &buffer->dtype));
    HLO_TRY(parse_shape(p, &buffer->rank, buffer->dims, &buffer->element_count));
    EXPECT(p, buffer->rank > 0, "a buffer of some dimensions before this");
    buffer->is_output = hlo_tile_text_take(&p->text, "out");
    buffer->is_prefetched = hlo_tile_text_take(&p->text, "prefetch");
  }
  const char* kept = hlo_arena_strndup(p->arena, name, strlen(name));
  p->kernel = hlo_tile_kernel_create(p->arena, kept, count, buffers);
  HLO_TRY(hlo_arena_status(p->arena));
  HLO_TRY(parse_block(p, &p->kernel->body));
  EXPECT(p, hlo_tile_text_take(&p->text, "}"), "'}'");
  hlo_tile_text_skip(&p->text);
  EXPECT(p, !*p->text.at, "the end");
  HLO_TRY(check_version(p->kernel, version));
  return hlo_tile_kernel_verify(p->kernel);
}

hlo_status_t hlo_tile_kernel_parse(hlo_arena_t* arena, const char* text,
                                   hlo_tile_kernel_t** out_kernel) {
  parser_t parser = {.arena = arena, .text = {.start = text, .at = text}};
  parser.values = hlo_arena_array(arena, MAX_VALUES, sizeof *parser.values);
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(parse_kernel(&parser));
  *out_kernel = parser.kernel;
  return hlo_ok();
}
