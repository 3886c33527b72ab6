// SPDX-License-Identifier: Apache-2.0
// Random kernels of Tile IR: what is printed is read again and prints the same, and what is
// computed depends neither on text, nor on the size of tiles, nor on layouts.
#include "tile/ir_test_util.h"

enum { INPUT = 64, OUTPUT = 4096, MAX_KNOWN = 64, MAX_NESTING = 4, KERNELS = 300 };
enum { FLOATS, NUMBERS, RESULTS };  // buffers

// A kernel being made, and what is known at its place.
typedef struct maker {
  uint64_t random;
  hlo_tile_kernel_t* kernel;
  uint32_t nesting, iv_count, float_count, number_count, seen[HLO_TILE_OP_KIND_COUNT];
  int64_t stored;                     // elements of the output that are given away
  hlo_tile_op_t* floats[MAX_KNOWN];   // f32
  hlo_tile_op_t* numbers[MAX_KNOWN];  // s32
} maker_t;

static uint32_t below(maker_t* m, uint32_t n) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(m->random >> 33) % n;
}

static hlo_tile_op_t* append(maker_t* m, hlo_tile_block_t* block, const hlo_tile_op_t* fields) {
  hlo_tile_op_t* op = hlo_tile_append(m->kernel, block, fields);
  ++m->seen[fields->kind];
  if (fields->dtype == HLO_DTYPE_F32 && m->float_count < MAX_KNOWN)
    m->floats[m->float_count++] = op;
  if (fields->dtype == HLO_DTYPE_S32 && m->number_count < MAX_KNOWN) {
    m->numbers[m->number_count++] = op;
  }
  return op;
}

static hlo_tile_op_t* some_float(maker_t* m) {
  return m->floats[below(m, m->float_count)];
}

// Some of the digits around, within a buffer.
static const hlo_expr_t* some_offset(maker_t* m, const hlo_tile_block_t* block) {
  hlo_expr_space_t* exprs = &m->kernel->exprs;
  const hlo_tile_loop_t* loops[HLO_TILE_MAX_DEPTH];
  const hlo_expr_t* sum = hlo_expr_const(exprs, below(m, INPUT));
  for (uint32_t i = hlo_tile_block_loops(block, loops); i-- > 0;) {
    const hlo_expr_t* iv = hlo_expr_loop(exprs, loops[i]->iv, loops[i]->low, loops[i]->end);
    if (below(m, 4) == 0) iv = hlo_expr_div(exprs, iv, 1 + below(m, 3));
    sum = hlo_expr_add(exprs, sum, hlo_expr_mul(exprs, iv, below(m, 9)));
  }
  if (m->number_count && below(m, 4) == 0) {
    const hlo_tile_op_t* number = m->numbers[below(m, m->number_count)];
    sum = hlo_expr_add(exprs, sum, hlo_tile_value_expr(m->kernel, number, 0, 7));
  }
  return hlo_expr_mod(exprs, sum, INPUT);
}

// A place of its own for each number of the digits around.
static void put_store(maker_t* m, hlo_tile_block_t* block) {
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
  append(m, block,
         &(hlo_tile_op_t){.kind = HLO_TILE_OP_store,
                          .operand_count = 1,
                          .operands = {some_float(m)},
                          .buffer = RESULTS,
                          .offset = offset});
}

static void put_map(maker_t* m, hlo_tile_block_t* block) {
  static const hlo_op_t ops[] = {HLO_OP_add, HLO_OP_subtract, HLO_OP_multiply, HLO_OP_maximum};
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_map,
                          .dtype = HLO_DTYPE_F32,
                          .operand_count = 2,
                          .operands = {some_float(m), some_float(m)},
                          .map = {.op = ops[below(m, 4)]}};
  append(m, block, &fields);
}

static void put_plain(maker_t* m, hlo_tile_block_t* block) {
  hlo_tile_op_t fields = {.dtype = HLO_DTYPE_F32, .offset = NULL};
  switch (below(m, 6)) {
    case 0:
      fields.kind = HLO_TILE_OP_load;
      fields.alias = below(m, 4) == 0 ? 1 + m->iv_count : 0;
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
      memcpy(fields.element, &(float){(float)below(m, 5)}, sizeof(float));
      break;
    case 3:
      fields.kind = HLO_TILE_OP_index;
      fields.offset = some_offset(m, block);
      break;
    case 4:
      fields = (hlo_tile_op_t){.kind = HLO_TILE_OP_guard,
                               .dtype = HLO_DTYPE_F32,
                               .operand_count = 2,
                               .operands = {some_float(m), some_float(m)},
                               .offset = some_offset(m, block),
                               .low = 3,
                               .end = 40};
      break;
    default:
      fields = (hlo_tile_op_t){.kind = HLO_TILE_OP_product,
                               .dtype = HLO_DTYPE_F32,
                               .operand_count = 2,
                               .operands = {some_float(m), some_float(m)}};
  }
  append(m, block, &fields);
}

static void put_ops(maker_t* m, hlo_tile_block_t* block, uint32_t count);

// Makes the ops of a region. Values made inside are visible only there; it ends with `yielded`
// values.
static void fill(maker_t* m, hlo_tile_block_t* region, uint32_t argument_count, uint32_t yielded) {
  uint32_t floats = m->float_count, numbers = m->number_count;
  ++m->nesting;
  for (uint32_t i = 0; i < argument_count; ++i) {
    append(m, region,
           &(hlo_tile_op_t){.kind = HLO_TILE_OP_argument, .dtype = HLO_DTYPE_F32, .result = i});
  }
  put_ops(m, region, 1 + below(m, 4));
  hlo_tile_op_t yield = {.kind = HLO_TILE_OP_yield, .operand_count = yielded};
  for (uint32_t i = 0; i < yielded; ++i) yield.operands[i] = some_float(m);
  if (yielded) append(m, region, &yield);
  --m->nesting;
  m->float_count = floats, m->number_count = numbers;
}

// Appends the op after its regions, and its second result if it has one.
static void finish(maker_t* m, hlo_tile_op_t* op, uint32_t results) {
  hlo_tile_end(m->kernel, op);
  ++m->seen[op->kind];
  if (results && m->float_count < MAX_KNOWN) m->floats[m->float_count++] = op;
  if (results < 2) return;
  append(m, op->block,
         &(hlo_tile_op_t){.kind = HLO_TILE_OP_result,
                          .dtype = HLO_DTYPE_F32,
                          .operand_count = 1,
                          .operands = {op},
                          .result = 1});
}

static void put_loop(maker_t* m, hlo_tile_block_t* block) {
  static const hlo_tile_op_kind_t kinds[] = {HLO_TILE_OP_for, HLO_TILE_OP_for, HLO_TILE_OP_parallel,
                                             HLO_TILE_OP_reduce};
  uint32_t which = below(m, 4), results = which == 0 ? 1 + below(m, 2) : which == 3;
  int64_t extent = 2 + below(m, 3);
  hlo_tile_op_t fields = {
      .kind = kinds[which],
      .loop_count = 1,
      .loops = {{.iv = m->iv_count++, .end = extent, .step = which ? 1 + below(m, 4) : 1}}};
  if (results) fields.dtype = HLO_DTYPE_F32;
  if (which == 3) fields.reducers[fields.reducer_count++] = HLO_OP_add;
  for (uint32_t i = 0; i < results; ++i) fields.operands[fields.operand_count++] = some_float(m);
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  fill(m, &op->body, which == 0 ? results : 0, results);
  finish(m, op, results);
}

// Goes on while a counter is below a number that elements have of their own.
static void put_while(maker_t* m, hlo_tile_block_t* block) {
  hlo_tile_op_t number = {.kind = HLO_TILE_OP_constant, .dtype = HLO_DTYPE_F32};
  hlo_tile_op_t* zero = append(m, block, &number);
  memcpy(number.element, &(float){1}, sizeof(float));
  hlo_tile_op_t* one = append(m, block, &number);
  hlo_tile_op_t most = {.kind = HLO_TILE_OP_index, .dtype = HLO_DTYPE_F32};
  most.offset = hlo_expr_mod(&m->kernel->exprs, some_offset(m, block), 4);
  hlo_tile_op_t* limit = append(m, block, &most);
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_while,
                          .dtype = HLO_DTYPE_F32,
                          .operand_count = 2,
                          .operands = {some_float(m), zero}};
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  uint32_t floats = m->float_count, numbers = m->number_count;
  const hlo_tile_op_t counter = {.kind = HLO_TILE_OP_argument, .dtype = HLO_DTYPE_F32, .result = 1};
  hlo_tile_op_t compare = {.kind = HLO_TILE_OP_map,
                           .dtype = HLO_DTYPE_PRED,
                           .operand_count = 2,
                           .operands = {append(m, &op->body, &counter), limit},
                           .map = {.op = HLO_OP_compare, .direction = HLO_COMPARISON_DIRECTION_LT}};
  hlo_tile_op_t* holds = append(m, &op->body, &compare);
  append(m, &op->body,
         &(hlo_tile_op_t){.kind = HLO_TILE_OP_yield, .operand_count = 1, .operands = {holds}});
  m->float_count = floats;
  hlo_tile_block_t* body = hlo_tile_add_region(m->kernel, op);
  fill(m, body, 1, 0);
  hlo_tile_op_t* first = body->first;
  hlo_tile_op_t* at = append(m, body, &counter);
  hlo_tile_op_t* next = append(m, body,
                               &(hlo_tile_op_t){.kind = HLO_TILE_OP_map,
                                                .dtype = HLO_DTYPE_F32,
                                                .operand_count = 2,
                                                .operands = {at, one},
                                                .map = {.op = HLO_OP_add}});
  hlo_tile_op_t* value = append(m, body,
                                &(hlo_tile_op_t){.kind = HLO_TILE_OP_map,
                                                 .dtype = HLO_DTYPE_F32,
                                                 .operand_count = 2,
                                                 .operands = {first, some_float(m)},
                                                 .map = {.op = HLO_OP_maximum}});
  append(
      m, body,
      &(hlo_tile_op_t){.kind = HLO_TILE_OP_yield, .operand_count = 2, .operands = {value, next}});
  m->float_count = floats, m->number_count = numbers;
  finish(m, op, 2);
}

static void put_switch(maker_t* m, hlo_tile_block_t* block) {
  if (!m->number_count) return;
  uint32_t results = below(m, 3), regions = 1 + below(m, 3);
  hlo_tile_op_t fields = {.kind = HLO_TILE_OP_switch,
                          .operand_count = 1,
                          .operands = {m->numbers[below(m, m->number_count)]},
                          .dtype = results ? HLO_DTYPE_F32 : HLO_DTYPE_INVALID};
  hlo_tile_op_t* op = hlo_tile_begin(m->kernel, block, &fields);
  fill(m, &op->body, 0, results);
  while (--regions) fill(m, hlo_tile_add_region(m->kernel, op), 0, results);
  finish(m, op, results);
}

typedef void (*put_fn_t)(maker_t* m, hlo_tile_block_t* block);

static void put_ops(maker_t* m, hlo_tile_block_t* block, uint32_t count) {
  static const put_fn_t puts[] = {put_plain, put_plain, put_plain, put_map,   put_map,
                                  put_store, put_loop,  put_loop,  put_while, put_switch};
  for (; count > 0; --count) puts[below(m, m->nesting < MAX_NESTING ? 10 : 6)](m, block);
}

static hlo_tile_kernel_t* make(maker_t* m, hlo_arena_t* arena, uint32_t number) {
  static const hlo_tile_buffer_t buffers[] = {
      {HLO_DTYPE_F32, INPUT, false}, {HLO_DTYPE_S32, INPUT, false}, {HLO_DTYPE_F32, OUTPUT, true}};
  m->random = number;
  m->kernel = hlo_tile_kernel_create(arena, "random", 3, buffers);
  m->nesting = m->iv_count = m->float_count = m->number_count = 0, m->stored = 0;
  append(m, &m->kernel->body,
         &(hlo_tile_op_t){.kind = HLO_TILE_OP_constant, .dtype = HLO_DTYPE_F32});
  put_ops(m, &m->kernel->body, 8);
  put_store(m, &m->kernel->body);
  assert_true(hlo_status_is_ok(hlo_tile_kernel_renumber(m->kernel)));
  hlo_status_t status = hlo_tile_kernel_verify(m->kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%u: %s", number, hlo_status_message(status));
  return m->kernel;
}

static void compute(const hlo_tile_kernel_t* kernel, float results[OUTPUT]) {
  float floats[INPUT];
  int32_t numbers[INPUT];
  for (int i = 0; i < INPUT; ++i) floats[i] = (float)(i % 11 - 5), numbers[i] = i * 7 % 5 - 1;
  memset(results, 0, OUTPUT * sizeof *results);
  hlo_status_t status = hlo_tile_kernel_run(kernel, &MEANING, (void*[]){floats, numbers, results});
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void check_computes(const hlo_tile_kernel_t* kernel, const float expected[OUTPUT]) {
  static float results[OUTPUT];
  compute(kernel, results);
  for (uint32_t i = 0; i < OUTPUT; ++i) {
    if (memcmp(&results[i], &expected[i], sizeof *results) == 0) continue;
    hlo_strbuf_t text = {0};
    hlo_tile_kernel_print(kernel, &text);
    fail_msg("element %u: %g, expected %g\n%s", i, results[i], expected[i], hlo_strbuf_text(&text));
  }
}

// Reads the kernel's text, which prints the same again.
static hlo_tile_kernel_t* read_back(hlo_arena_t* arena, const hlo_tile_kernel_t* kernel) {
  hlo_strbuf_t text = {0}, again = {0};
  hlo_tile_kernel_print(kernel, &text);
  hlo_tile_kernel_t* copy = hlo_test_parsed(arena, hlo_strbuf_text(&text));
  hlo_tile_kernel_print(copy, &again);
  assert_string_equal(hlo_strbuf_text(&text), hlo_strbuf_text(&again));
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&again);
  return copy;
}

// Layouts for all values, or a contradiction, which the aliases may be.
static bool infer(hlo_tile_kernel_t* kernel) {
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 2000);
  hlo_status_code_t code = hlo_status_code(status);
  assert_true(hlo_status_is_ok(status) || code == HLO_STATUS_FAILED_PRECONDITION ||
              code == HLO_STATUS_RESOURCE_EXHAUSTED);
  bool is_ok = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_ok;
}

static void test_random(void** unused) {
  (void)unused;
  static float expected[OUTPUT];
  maker_t maker = {0};
  uint32_t inferred = 0;
  for (uint32_t n = 0; n < KERNELS; ++n) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_tile_kernel_t* kernel = make(&maker, &arena, n);
    compute(kernel, expected);
    check_computes(read_back(&arena, kernel), expected);
    hlo_tile_kernel_t* single = read_back(&arena, kernel);
    for (hlo_tile_op_t* op = hlo_tile_first_op(single); op; op = hlo_tile_next_op(op)) {
      for (uint32_t i = 0; i < op->loop_count; ++i) op->loops[i].step = 1;
    }
    check_computes(single, expected);
    if (infer(kernel)) {
      ++inferred;
      for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
        assert_true(op->layout || !hlo_tile_op_has_result(op));
      }
      hlo_status_t status = hlo_tile_kernel_verify(kernel);
      if (!hlo_status_is_ok(status)) fail_msg("%u: %s", n, hlo_status_message(status));
      check_computes(read_back(&arena, kernel), expected);
    }
    hlo_arena_deinit(&arena);
  }
  assert_true(inferred > KERNELS / 2);
  for (uint32_t k = 0; k < HLO_TILE_OP_KIND_COUNT; ++k) {
    if (k != HLO_TILE_OP_relayout) assert_true(maker.seen[k] > 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests_name("tile/ir_random", tests, NULL, NULL);
}
