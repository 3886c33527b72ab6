// SPDX-License-Identifier: Apache-2.0
// Random kernels of Tile IR for tests. Their numbers are small integers, so that the order of sums
// does not matter.
#pragma once

#include "tile/ir_test_util.h"

enum { INPUT = 64, OUTPUT = 4096, MAX_KNOWN = 64, MAX_NESTING = 4, UPDATED = 8 };
enum { FLOATS, NUMBERS, RESULTS };  // buffers

// A kernel being made, and what is known at its place.
typedef struct hlo_tile_maker {
  uint64_t random;
  bool has_atomics;
  hlo_tile_op_t* results;  // the reference to the output; NULL: without atomics
  hlo_tile_kernel_t* kernel;
  uint32_t nesting, iv_count, float_count, number_count, seen[HLO_TILE_OP_KIND_COUNT];
  int64_t stored;                     // elements of the output that are given away
  hlo_tile_op_t* floats[MAX_KNOWN];   // f32
  hlo_tile_op_t* numbers[MAX_KNOWN];  // s32
} hlo_tile_maker_t;

static inline uint32_t hlo_test_below(hlo_tile_maker_t* m, uint32_t n) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(m->random >> 33) % n;
}

static inline hlo_tile_op_t* hlo_test_append(hlo_tile_maker_t* m, hlo_tile_block_t* block,
                                             const hlo_tile_op_t* fields) {
  hlo_tile_op_t* op = hlo_tile_append(m->kernel, block, fields);
  ++m->seen[fields->kind];
  if (fields->dtype == HLO_DTYPE_F32 && m->float_count < MAX_KNOWN)
    m->floats[m->float_count++] = op;
  if (fields->dtype == HLO_DTYPE_S32 && m->number_count < MAX_KNOWN) {
    m->numbers[m->number_count++] = op;
  }
  return op;
}

static inline hlo_tile_op_t* hlo_test_some_float(hlo_tile_maker_t* m) {
  return m->floats[hlo_test_below(m, m->float_count)];
}

// Some of the digits around, within a buffer.
static const hlo_expr_t* some_offset(hlo_tile_maker_t* m, const hlo_tile_block_t* block) {
  hlo_expr_space_t* exprs = &m->kernel->exprs;
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  const hlo_expr_t* sum = hlo_expr_const(exprs, hlo_test_below(m, INPUT));
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    const hlo_expr_t* iv = hlo_expr_loop(exprs, loops[i]->iv, loops[i]->low, loops[i]->end);
    if (hlo_test_below(m, 4) == 0) iv = hlo_expr_div(exprs, iv, 1 + hlo_test_below(m, 3));
    sum = hlo_expr_add(exprs, sum, hlo_expr_mul(exprs, iv, hlo_test_below(m, 9)));
  }
  if (m->number_count && hlo_test_below(m, 4) == 0) {
    const hlo_tile_op_t* number = m->numbers[hlo_test_below(m, m->number_count)];
    sum = hlo_expr_add(exprs, sum, hlo_tile_value_expr(m->kernel, number, 0, 7));
  }
  return hlo_expr_mod(exprs, sum, INPUT);
}

// A place of its own for each number of the digits around.
static inline void hlo_test_put_store(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  hlo_expr_space_t* exprs = &m->kernel->exprs;
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  const hlo_expr_t* offset = hlo_expr_const(exprs, m->stored);
  int64_t count = 1;
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    const hlo_expr_t* iv = hlo_expr_loop(exprs, loops[i]->iv, loops[i]->low, loops[i]->end);
    offset = hlo_expr_add(exprs, offset, hlo_expr_mul(exprs, iv, count));
    count *= loops[i]->end;
  }
  if (m->stored + count > OUTPUT) return;
  m->stored += count;
  hlo_test_append(m, block,
                  &(hlo_tile_op_t){.kind = HLO_TILE_OP_store,
                                   .operand_count = 1,
                                   .operands = {hlo_test_some_float(m)},
                                   .buffer = RESULTS,
                                   .offset = offset});
}

static inline bool hlo_test_is_reduced(const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->parent; op; op = op->block->parent) {
    if (op->kind == HLO_TILE_OP_reduce) return true;
  }
  return false;
}

// Updates elements of its own in any order: sums of small numbers are exact.
static inline void hlo_test_put_atomic(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  if (hlo_test_is_reduced(block) || m->stored + UPDATED > OUTPUT) return;
  hlo_expr_space_t* exprs = &m->kernel->exprs;
  const hlo_expr_t* offset = hlo_expr_mod(exprs, some_offset(m, block), UPDATED);
  hlo_tile_op_t fields = {
      .kind = HLO_TILE_OP_atomic,
      .dtype = HLO_DTYPE_F32,
      .operand_count = 2,
      .operands = {m->results, hlo_test_some_float(m)},
      .index_count = 1,
      .indices = {hlo_expr_add(exprs, offset, hlo_expr_const(exprs, m->stored))},
      .atomic = HLO_TILE_ATOMIC_add};
  m->stored += UPDATED;
  hlo_tile_append(m->kernel, block, &fields);  // its result depends on the order
  ++m->seen[fields.kind];
}

static inline void hlo_test_put_map(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  static const hlo_op_t ops[] = {HLO_OP_add, HLO_OP_subtract, HLO_OP_multiply, HLO_OP_maximum};
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_map,
                          .dtype = HLO_DTYPE_F32,
                          .operand_count = 2,
                          .operands = {hlo_test_some_float(m), hlo_test_some_float(m)},
                          .map = {.op = ops[hlo_test_below(m, 4)]}};
  hlo_test_append(m, block, &fields);
}

static inline void hlo_test_put_plain(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  hlo_tile_op_t fields = {.dtype = HLO_DTYPE_F32, .offset = NULL};
  switch (hlo_test_below(m, 6)) {
    case 0:
      fields.kind = HLO_TILE_OP_load;
      fields.alias = hlo_test_below(m, 4) == 0 ? 1 + m->iv_count : 0;
      fields.offset = some_offset(m, block);
      break;
    case 1:
      fields = (hlo_tile_op_t){.kind = HLO_TILE_OP_load,
                               .dtype = HLO_DTYPE_S32,
                               .buffer = NUMBERS,
                               .offset = some_offset(m, block)};
      break;
    case 2:
      fields.kind = HLO_TILE_OP_constant;
      memcpy(fields.element, &(float){(float)hlo_test_below(m, 5)}, sizeof(float));
      break;
    case 3:
      fields.kind = HLO_TILE_OP_index;
      fields.offset = some_offset(m, block);
      break;
    case 4:
      fields = (hlo_tile_op_t){.kind = HLO_TILE_OP_guard,
                               .dtype = HLO_DTYPE_F32,
                               .operand_count = 2,
                               .operands = {hlo_test_some_float(m), hlo_test_some_float(m)},
                               .offset = some_offset(m, block),
                               .low = 3,
                               .end = 40};
      break;
    default:
      fields = (hlo_tile_op_t){.kind = HLO_TILE_OP_product,
                               .dtype = HLO_DTYPE_F32,
                               .operand_count = 2,
                               .operands = {hlo_test_some_float(m), hlo_test_some_float(m)}};
  }
  hlo_test_append(m, block, &fields);
}

static inline void hlo_test_put_ops(hlo_tile_maker_t* m, hlo_tile_block_t* block, uint32_t count);

// Makes the ops of a region. Values made inside are visible only there; it ends with `yielded`
// values.
static inline void hlo_test_fill(hlo_tile_maker_t* m, hlo_tile_block_t* region,
                                 uint32_t argument_count, uint32_t yielded) {
  uint32_t floats = m->float_count, numbers = m->number_count;
  ++m->nesting;
  for (uint32_t i = 0; i < argument_count; ++i) {
    hlo_test_append(
        m, region,
        &(hlo_tile_op_t){.kind = HLO_TILE_OP_argument, .dtype = HLO_DTYPE_F32, .result = i});
  }
  hlo_test_put_ops(m, region, 1 + hlo_test_below(m, 4));
  hlo_tile_op_t yield = {.kind = HLO_TILE_OP_yield, .operand_count = yielded};
  for (uint32_t i = 0; i < yielded; ++i) yield.operands[i] = hlo_test_some_float(m);
  if (yielded) hlo_test_append(m, region, &yield);
  --m->nesting;
  m->float_count = floats, m->number_count = numbers;
}

// Appends the op after its regions, and its second result if it has one.
static inline void hlo_test_finish(hlo_tile_maker_t* m, hlo_tile_op_t* op, uint32_t results) {
  hlo_tile_end(m->kernel, op);
  ++m->seen[op->kind];
  if (results && m->float_count < MAX_KNOWN) m->floats[m->float_count++] = op;
  if (results < 2) return;
  hlo_test_append(m, op->block,
                  &(hlo_tile_op_t){.kind = HLO_TILE_OP_result,
                                   .dtype = HLO_DTYPE_F32,
                                   .operand_count = 1,
                                   .operands = {op},
                                   .result = 1});
}

static inline void hlo_test_put_loop(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  static const hlo_tile_op_kind_t kinds[] = {HLO_TILE_OP_for, HLO_TILE_OP_for, HLO_TILE_OP_parallel,
                                             HLO_TILE_OP_reduce};
  uint32_t which = hlo_test_below(m, 4),
           results = which == 0 ? 1 + hlo_test_below(m, 2) : which == 3;
  int64_t extent = 2 + hlo_test_below(m, 3);
  hlo_tile_op_t fields = {
      .kind = kinds[which],
      .loop_count = 1,
      .loops = {
          {.iv = m->iv_count++, .end = extent, .step = which ? 1 + hlo_test_below(m, 4) : 1}}};
  if (results) fields.dtype = HLO_DTYPE_F32;
  if (which == 3) fields.reducers[fields.reducer_count++] = HLO_OP_add;
  for (uint32_t i = 0; i < results; ++i)
    fields.operands[fields.operand_count++] = hlo_test_some_float(m);
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  hlo_test_fill(m, &op->body, which == 0 ? results : 0, results);
  hlo_test_finish(m, op, results);
}

// Goes on while a counter is below a number that elements have of their own.
static inline void hlo_test_put_while(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  hlo_tile_op_t number = {.kind = HLO_TILE_OP_constant, .dtype = HLO_DTYPE_F32};
  hlo_tile_op_t* zero = hlo_test_append(m, block, &number);
  memcpy(number.element, &(float){1}, sizeof(float));
  hlo_tile_op_t* one = hlo_test_append(m, block, &number);
  hlo_tile_op_t most = {.kind = HLO_TILE_OP_index, .dtype = HLO_DTYPE_F32};
  most.offset = hlo_expr_mod(&m->kernel->exprs, some_offset(m, block), 4);
  hlo_tile_op_t* limit = hlo_test_append(m, block, &most);
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_while,
                          .dtype = HLO_DTYPE_F32,
                          .operand_count = 2,
                          .operands = {hlo_test_some_float(m), zero}};
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  uint32_t floats = m->float_count, numbers = m->number_count;
  const hlo_tile_op_t counter = {.kind = HLO_TILE_OP_argument, .dtype = HLO_DTYPE_F32, .result = 1};
  hlo_tile_op_t compare = {.kind = HLO_TILE_OP_map,
                           .dtype = HLO_DTYPE_PRED,
                           .operand_count = 2,
                           .operands = {hlo_test_append(m, &op->body, &counter), limit},
                           .map = {.op = HLO_OP_compare, .direction = HLO_COMPARISON_DIRECTION_LT}};
  hlo_tile_op_t* holds = hlo_test_append(m, &op->body, &compare);
  hlo_test_append(
      m, &op->body,
      &(hlo_tile_op_t){.kind = HLO_TILE_OP_yield, .operand_count = 1, .operands = {holds}});
  m->float_count = floats;
  hlo_tile_block_t* body = hlo_tile_add_region(m->kernel, op);
  hlo_test_fill(m, body, 1, 0);
  hlo_tile_op_t* first = body->first;
  hlo_tile_op_t* at = hlo_test_append(m, body, &counter);
  hlo_tile_op_t* next = hlo_test_append(m, body,
                                        &(hlo_tile_op_t){.kind = HLO_TILE_OP_map,
                                                         .dtype = HLO_DTYPE_F32,
                                                         .operand_count = 2,
                                                         .operands = {at, one},
                                                         .map = {.op = HLO_OP_add}});
  hlo_tile_op_t* value =
      hlo_test_append(m, body,
                      &(hlo_tile_op_t){.kind = HLO_TILE_OP_map,
                                       .dtype = HLO_DTYPE_F32,
                                       .operand_count = 2,
                                       .operands = {first, hlo_test_some_float(m)},
                                       .map = {.op = HLO_OP_maximum}});
  hlo_test_append(
      m, body,
      &(hlo_tile_op_t){.kind = HLO_TILE_OP_yield, .operand_count = 2, .operands = {value, next}});
  m->float_count = floats, m->number_count = numbers;
  hlo_test_finish(m, op, 2);
}

static inline void hlo_test_put_switch(hlo_tile_maker_t* m, hlo_tile_block_t* block) {
  if (!m->number_count) return;
  uint32_t results = hlo_test_below(m, 3), regions = 1 + hlo_test_below(m, 3);
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_switch,
                          .operand_count = 1,
                          .operands = {m->numbers[hlo_test_below(m, m->number_count)]},
                          .dtype = results ? HLO_DTYPE_F32 : HLO_DTYPE_INVALID};
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  hlo_test_fill(m, &op->body, 0, results);
  while (--regions) hlo_test_fill(m, hlo_tile_add_region(m->kernel, op), 0, results);
  hlo_test_finish(m, op, results);
}

typedef void (*put_fn_t)(hlo_tile_maker_t* m, hlo_tile_block_t* block);

static inline void hlo_test_put_ops(hlo_tile_maker_t* m, hlo_tile_block_t* block, uint32_t count) {
  static const put_fn_t puts[] = {hlo_test_put_plain, hlo_test_put_plain, hlo_test_put_plain,
                                  hlo_test_put_map,   hlo_test_put_map,   hlo_test_put_store,
                                  hlo_test_put_loop,  hlo_test_put_loop,  hlo_test_put_while,
                                  hlo_test_put_switch};
  for (; count > 0; --count) {
    puts[hlo_test_below(m, m->nesting < MAX_NESTING ? 10 : 6)](m, block);
    if (m->results && hlo_test_below(m, 6) == 0) hlo_test_put_atomic(m, block);
  }
}

static inline hlo_tile_kernel_t* hlo_test_make_random(hlo_tile_maker_t* m, hlo_arena_t* arena,
                                                      uint32_t number) {
  static const hlo_tile_buffer_t buffers[] = {
      {.dtype = HLO_DTYPE_F32, .element_count = INPUT},
      {.dtype = HLO_DTYPE_S32, .element_count = INPUT},
      {.dtype = HLO_DTYPE_F32, .element_count = OUTPUT, .is_output = true}};
  m->random = number;
  m->kernel = hlo_tile_kernel_create(arena, "random", 3, buffers);
  m->nesting = m->iv_count = m->float_count = m->number_count = 0, m->stored = 0;
  hlo_test_append(m, &m->kernel->body,
                  &(hlo_tile_op_t){.kind = HLO_TILE_OP_constant, .dtype = HLO_DTYPE_F32});
  const hlo_tile_op_t reference = {.kind = HLO_TILE_OP_reference,
                                   .dtype = HLO_DTYPE_F32,
                                   .buffer = RESULTS,
                                   .ref = hlo_tile_buffer_ref(&buffers[RESULTS])};
  m->results = m->has_atomics ? hlo_tile_append(m->kernel, &m->kernel->body, &reference) : NULL;
  hlo_test_put_ops(m, &m->kernel->body, 8);
  hlo_test_put_store(m, &m->kernel->body);
  assert_true(hlo_status_is_ok(hlo_tile_kernel_renumber(m->kernel)));
  hlo_status_t status = hlo_tile_kernel_verify(m->kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%u: %s", number, hlo_status_message(status));
  return m->kernel;
}

// Fills the two inputs.
static inline void hlo_test_fill_inputs(float floats[INPUT], int32_t numbers[INPUT]) {
  for (int i = 0; i < INPUT; ++i) floats[i] = (float)(i % 11 - 5), numbers[i] = i * 7 % 5 - 1;
}
