// SPDX-License-Identifier: Apache-2.0
// Tests of the errors that the verifier and the parser of Tile IR report: a kernel for each rule.
#include "tile/ir_test_util.h"

// ---- what is refused

typedef struct refusal {
  const char *body, *message;
} refusal_t;

// Of the parser.
static const refusal_t TEXTS[] = {
    {"store 0 [0] %0\n", "a value that exists"},
    {"%0 = load 7 [0] : f32\n", "a buffer that exists"},
    {"%0 = load 0 [d0] : f32\n", "an induction variable of"},
    {"%0 = load 0 [99999999999999999*1] : f32\n", "smaller number"},
    {"for d0 = 0..4 by 0 {\n}\n", "a step"},
    {"for d0 = 4..4 by 1 {\n}\n", "a step"},
    {"%0 = load 0 [0] : f32\n%0 = load 0 [0] : f32\n", "a new value"},
    {"%0 = load 0 [0] : f32\n%1 = map moon %0 : f32\n", "an elementwise operation"},
    {"for d0 = 0..8 by 4 {\n", "an operation"},
    {"load 0 [0] : f32\n", "a name before"},
    {"%0 = store 0 [0]\n", "no name before"},
    {"%0 = for d0 = 0..4 by 1 {\n}\n", "'over'"},
    {"%0 = argument x : f32\n", "an argument's number"},
    {"%0 = load 0 [0] alias x : f32\n", "number of an alias"},
    {"%0 = index [0] alias 1 : f32\n", "':' and an element type"},
    {"for d0 = 0..4 by 1 unroll 0 {\n}\n", "a positive number for the schedule"},
    {"%0 = load 0 [0] : f32 loc(a.py:1:2)\n", "a file's name in quotes"},
    {"%0 = load 0 [0] : f32 loc(\"a\\0\":1:2)\n", "a file's name in quotes"},
    {"%0 = load 0 [0] : f32 loc(\"a.py\":1)\n", "a line and a column"},
    {"%0 = load 0 [0] : f32 loc(\"a.py\":1:-2)\n", "a line and a column"},
    {"%0 = alloc far : f32[4]\n", "a memory space"},
    {"%0 = alloc near at : s32[4]\n", "an address"},
    {"%0 = alloc barrier : s32[4]\n", "'arrivals' and their number"},
    {"%0 = alloc near : f32[1, 2, 3, 4, 5, 6, 7, 8, 9]\n", "fewer dimensions"},
    {"%0 = alloc near : f32[4000000, 4000000, 4000000]\n", "a smaller shape"},
    {"%0 = alloc near : f32[-1]\n", "a shape"},
    {"%0 = alloc near : f32[4\n", "',' or ']'"},
    {"%0 = reference 7 : f32[4]\n", "a buffer that exists"},
    {"%0 = alloc near : f32[4]\n%1 = slice [0] sizes [1, 1] %0 : f32[1]\n", "as many sizes"},
    {"%0 = alloc near : f32[4]\n%1 = slice [0] sizes [1] strides [] %0 : f32[1]\n", "as many str"},
    {"%0 = alloc near : f32[4]\n%1 = atomic swap [0] %0, %0 : f32\n", "an atomic operation"},
    {"%0 = alloc near : f32[4]\nmma [0] x [] %0, %0, %0\n", "as many dimensions on both sides"},
    {"%0 = alloc near : f32[4]\n%1 = transpose [9] %0 : f32[4]\n", "numbers of dimensions"},
    {"print label\n", "a text in quotes"},
    {"nothing\n", "an operation"},
};

#define ONE "%0 = load 0 [0] : f32\n"
#define WHOLE "%1 = constant 0x00000000 : s32\n"
#define TRUE "%2 = constant 0x01 : pred\n"
#define FOLD "over d0 = 0..4 by 1 : f32 {\n%5 = load 0 [d0] : f32\nyield %5\n}\n"
#define TEN(a)                                                                                   \
  "%" a "0 = reduce add over d" a "0 = 0..2 by 1, d" a "1 = 0..2 by 1, d" a "2 = 0..2 by 1, d" a \
  "3 = 0..2 by 1, d" a "4 = 0..2 by 1, d" a "5 = 0..2 by 1, d" a "6 = 0..2 by 1, d" a            \
  "7 = 0..2 by 1, d" a "8 = 0..2 by 1, d" a "9 = 0..2 by 1 : f32 {\n"

// Of the verifier, one for each of its rules at least.
static const refusal_t RULES[] = {
    {ONE "%3 = product %0 : f32\n", "another number of operands"},
    {"for d0 = 0..4 by 2 {\n" ONE "}\nstore 1 [0] %0\n", "an operand that is not computed there"},
    {ONE "%3 = while %0 : f32 {\n" TRUE "yield %2\n}\n", "another number of regions"},
    {"for d0 = 0..4 by 1, d1 = 0..4 by 1 {\n}\n", "loops over one induction variable"},
    {TEN("") TEN("1") TEN("2") TEN("3") TEN("4")
         TEN("5") "for d60 = 0..2 by 1 {\nfor d61 = 0..2 by 1 {\nfor d62 = 0..2 by 1 {\n"
                  "for d63 = 0..2 by 1 {\n}\n}\n}\n}\n}\n}\n}\n}\n}\n}\n",
     "too many loops in each other"},
    {"for d0 = 0..4 by 1 {\nfor d0 = 0..4 by 1 {\n}\n}\n",
     "an induction variable of an enclosing loop"},
    {"%0 = reduce add over d0 = 0..4 by 1, d0 = 0..4 by 1 : f32 {\n}\n",
     "an induction variable twice"},
    {"for d0 = 0..4 by 1 {\n" WHOLE "}\n%3 = load 0 [clamp(%1, 0, 1)] : f32\n",
     "an index that is not computed there"},
    {ONE "%3 = load 0 [clamp(%0, 0, 1)] : f32\n", "an index that is no integer"},
    {"%0 = load 0 [0] : s32\n", "another element type than the buffer's"},
    {ONE "store 0 [0] %0\n", "to a buffer that is no output"},
    {"%0 = load 0 [0] alias 256 : f32\n", "an alias with too large a number"},
    {"%0 = map add : f32\n", "no operands"},
    {ONE WHOLE "%3 = guard [0] in 0..4 %0, %1 : f32\n", "values of different element types"},
    {ONE "%3 = relayout %0 : s32\n", "of another element type"},
    {"%0 = reduce add over d0 = 0..4 by 1 : f32 {\n}\n", "a region that ends without a yield"},
    {ONE "%3 = for %0 over d0 = 0..4 by 1 : f32 {\n}\n", "a region that ends without a yield"},
    {ONE "%3 = while %0 : f32 {\n} {\n}\n", "a region that ends without a yield"},
    {WHOLE "%3 = switch %1 : f32 {\n}\n", "a region that ends without a yield"},
    {ONE WHOLE "%3 = switch %1 : f32 {\nyield %0, %0\n} {\nyield %0\n}\n",
     "yields another number of values"},
    {ONE WHOLE "%3 = for %0 over d0 = 0..4 by 1 : f32 {\nyield %1\n}\n",
     "yields another element type"},
    {ONE WHOLE "%3 = switch %1 : f32 {\nyield %0, %0\n} {\nyield %0, %1\n}\n",
     "yields another element type"},
    {ONE "yield %0\n", "anywhere but at the end of a region"},
    {WHOLE "switch %1 {\nyield %1\n}\n", "anywhere but at the end of a region"},
    {ONE "%3 = reduce add %0, %0 " FOLD, "as many initial values as results"},
    {WHOLE "%3 = reduce add %1 " FOLD, "an initial value of another element type"},
    {"%3 = reduce " FOLD, "nothing is said about how"},
    {"%3 = reduce arg maximum arg add " FOLD, "one comparison finds both results"},
    {ONE "%3 = for %0 over d0 = 0..4 by 2 : f32 {\nyield %0\n}\n", "only in steps of one"},
    {ONE "for %0 d0 = 0..4 by 1 {\n}\n", "initial values and a result, or neither"},
    {ONE TRUE "%3 = while : f32 {\nyield %2\n} {\nyield %0\n}\n",
     "initial values and a result, or neither"},
    {ONE "%3 = while %0 : f32 {\nyield %0\n} {\nyield %0\n}\n", "a condition that is not one pred"},
    {ONE "switch %0 {\n}\n", "a region's number that is no integer"},
    {ONE "%3 = result 0 of %0 : f32\n", "of something without results"},
    {"%3 = reduce add " FOLD "%4 = result 1 of %3 : f32\n", "no such result"},
    {"%3 = reduce add " FOLD "%4 = result 0 of %3 : s32\n", "than the result's"},
    {"%3 = argument 0 : f32\n", "in no region of a loop with values"},
    {WHOLE "switch %1 {\n%3 = argument 0 : f32\n}\n", "in no region of a loop with values"},
    {ONE "%3 = for %0 over d0 = 0..4 by 1 : f32 {\n%4 = argument 1 : f32\nyield %4\n}\n",
     "no such argument"},
    {ONE "%3 = for %0 over d0 = 0..4 by 1 : f32 {\n%4 = argument 0 : s32\nyield %0\n}\n",
     "than the argument's"},
    {"for d0 = 0..4 by 1 chunk 2 {\n}\n", "chunks of a loop that is not parallel"},
    {"parallel d0 = 0..4 by 1 stages 2 {\n}\n", "stages of a loop that is not sequential"},
    {"for d0 = 0..4 by 1 lanes 2 {\n}\n", "lanes that do not divide the tile"},
    {"for d0 = 0..4 by 4 lanes 2 {\nfor d1 = 0..8 by 4 lanes 4 {\n}\n}\n", "lanes along two loops"},
    {"%0 = reduce add over d0 = 0..4 by 4 lanes 2, d1 = 0..8 by 4 lanes 4 : f32 {\n}\n",
     "lanes along two loops"},
    {"%0 = load 0 [0] : f32 <8 | 0:8/1 lane 1>\n", "a layout of other dimensions"},
    {"for d0 = 0..8 by 4 {\n%0 = load 0 [d0] : f32 <8 | 0:8/1 lane 1>\n}\n",
     "a layout of another shape than the tile's: dimension 0 has 8 elements, the tile 4"},
};

#define NEAR "%10 = alloc near : f32[4, 6]\n"
#define INTO "%11 = reference 1 : f32[9]\n"
#define FROM "%12 = reference 0 : f32[9]\n"
#define SEMAPHORES "%13 = alloc semaphore : s32[2]\n%14 = slice [0] sizes [1] %13 : s32[1]\n"
#define ACCUMULATOR "%15 = alloc accumulator : f32[4, 4]\n"

// The same, of references and what uses them.
static const refusal_t MEMORY[] = {
    {TRUE "if %2 {\n} {\n} {\n}\n", "one region, or two"},
    {ONE TRUE "%3 = if %2 : f32 {\nyield %0\n}\n", "one region, or two"},
    {ONE TRUE "%3 = if %2 : f32 {\nyield %0\n} {\n}\n", "a region that ends without a yield"},
    {ONE "if %0 {\n}\n", "a condition that is not one pred"},
    {"parallel d0 = 0..4 by 1 grid {\n%0 = program_id 1 : s32\n}\n", "that the grid does not have"},
    {"parallel d0 = 0..4 by 1 grid {\n%0 = num_programs 0 : f32\n}\n",
     "a number of the grid that is no integer"},
    {ONE "%3 = bitcast %0 : f64\n", "element types of different sizes"},
    {NEAR "%3 = map negate %10 : f32\n", "a reference where a value is needed"},
    {ONE "%3 = ref_load [] %0 : f32\n", "a value where a reference is needed"},
    {"%3 = reference 0 : f32[3, 3]\n", "another shape than that of what it refers to"},
    {NEAR "%3 = slice [0, 0] sizes [2, 2] %10 : f32[2, 3]\n", "another shape than"},
    {NEAR "%3 = transpose [1, 0] %10 : f32[4, 6]\n", "another shape than"},
    {"%3 = reference 0 : s32[9]\n", "another element type than that of what it refers to"},
    {NEAR "%3 = reshape %10 : s32[24]\n", "another element type than that of what it refers to"},
    {"%3 = alloc global : f32[2]\n", "an allocation in the caller's memory"},
    {"%3 = alloc semaphore : f32[2]\n", "semaphores or barriers that are not s32"},
    {"%3 = alloc barrier arrivals 0 : s32[1]\n", "a barrier without arrivals"},
    {"%3 = alloc near at -8 : f32[1]\n", "an address below zero"},
    {"%3 = alloc near : f32[2, 4] <2x4 | 0:2/1 address 8, 1:4/1 address 1>\n", "not one order"},
    {"%3 = alloc near : f32[2, 4] <8 | 0:8/1 address 1>\n", "not one order"},
    {"%3 = alloc near : f32[8] <8 | 0:8/1 lane 1>\n", "not one order"},
    {"%3 = alloc near : f32[8] <8 | 0:2/4 address 1, 0:4/1 address 2>\n", "not one order"},
    {"%3 = reference 0 : f32[9] <9 | 0:9/1 address 1>\n",
     "a layout that is not one order of an allocation's dimensions"},
    {"%3 = alloc near : f32[2, 4] <2x4 | 0:2/1 address 1, 1:4/1 address 2>\n"
     "%4 = reshape %3 : f32[8]\n",
     "elements that are not adjacent"},
    {NEAR "%3 = slice [0] sizes [2] %10 : f32[2]\n", "another number of indices than dimensions"},
    {NEAR "%3 = ref_load [0] %10 : f32\n", "another number of indices than dimensions"},
    {NEAR "for d0 = 0..4 by 4 {\n%3 = slice [d0, 0] sizes [1, 2] %10 : f32[1, 2]\n}\n",
     "an index that differs between elements of a tile"},
    {NEAR "%3 = slice [0, 0] sizes [2, 7] %10 : f32[2, 7]\n", "a part that does not fit"},
    {NEAR "%3 = slice [0, 0] sizes [3, 2] strides [2, 1] %10 : f32[3, 2]\n",
     "a part that does not"},
    {NEAR "%3 = slice [0, 0] sizes [3, 2] strides [0, 1] %10 : f32[3, 2]\n", "a stride below one"},
    {NEAR "%3 = slice [0, 0] sizes [2, 2] squeeze [1] %10 : f32[2]\n", "a dropped dimension"},
    {NEAR "%3 = slice [0, 0] sizes [2, 2] squeeze [7] %10 : f32[2, 2]\n", "a dropped dimension"},
    {NEAR "%3 = transpose [1, 1] %10 : f32[6, 6]\n", "dimensions that are no permutation"},
    {NEAR "%3 = reshape %10 : f32[23]\n", "another number of elements than what it refers to"},
    {NEAR "%3 = transpose [1, 0] %10 : f32[6, 4]\n%4 = reshape %3 : f32[24]\n",
     "elements that are not adjacent"},
    {INTO FROM "for d0 = 0..4 by 4 {\ncopy %12, %11\n}\n", "whose elements may take different"},
    {SEMAPHORES "%3 = ref_load [0] %14 : s32\n", "elements of semaphores or barriers"},
    {SEMAPHORES INTO "copy %14, %11\n", "elements of semaphores or barriers"},
    {NEAR ONE "%3 = atomic compare_exchange [0, 0] %10, %0 : f32\n",
     "a reference, then the values"},
    {NEAR TRUE "%3 = ref_load [0, 0] mask %10, %2 : f32\n", "a reference, then the values"},
    {NEAR WHOLE "ref_store [0, 0] %10, %1\n", "another element type than the reference's"},
    {NEAR "%3 = ref_load [0, 0] %10 : s32\n", "another element type than the reference's"},
    {NEAR ONE "ref_store [0, 0] mask %10, %0, %0\n", "a mask that is not pred"},
    {FROM ONE "ref_store [0] %12, %0\n", "to a buffer that is no output"},
    {INTO FROM "copy %11, %12\n", "to a buffer that is no output"},
    {NEAR INTO "copy %10, %11\n", "between different shapes"},
    {INTO "%3 = alloc near : s32[9]\ncopy %3, %11\n", "between different element types"},
    {SEMAPHORES "semaphore_signal 1 %13\n", "of something that is not one semaphore"},
    {INTO FROM "copy_start %12, %11, %11\n", "of something that is not one semaphore"},
    {SEMAPHORES "semaphore_wait 0 %14\n", "a count below one"},
    {SEMAPHORES ONE "%3 = reduce add over d0 = 0..4 by 1 : f32 {\ncopy_wait %14\nyield %0\n}\n",
     "a wait inside a reduction"},
    {SEMAPHORES "barrier_arrive %14\n", "of something that is not one barrier"},
    {NEAR ACCUMULATOR "mma [2] x [1] %15, %10, %10\n", "dimensions that an operand does not have"},
    {NEAR ACCUMULATOR "mma [1, 1] x [1, 0] %15, %10, %10\n", "or has named before"},
    {NEAR ACCUMULATOR "mma [1] x [0] %15, %10, %10\n", "dimensions of different extents"},
    {NEAR ACCUMULATOR "mma [1] x [0] batch [0] x [1] %15, %10, %10\n", "of different extents"},
    {NEAR ACCUMULATOR "mma [0] x [0] %15, %10, %10\n", "an accumulator of another shape"},
    {NEAR "%3 = alloc accumulator : s32[4, 4]\nmma [1] x [1] %3, %10, %10\n",
     "another kind of number"},
    {NEAR ACCUMULATOR "scaled_mma [1] x [1] %15, %10, %10, %10, %15\n", "one for each block"},
    {NEAR ACCUMULATOR "%3 = alloc near : s32[4, 1]\n"
                      "scaled_mma [1] x [1] %15, %10, %10, %10, %3\n",
     "that are no floats"},
    {"%3 = index [0] : s32\n%4 = alloc near : s32[4]\n%5 = index [clamp(%4, 0, 1)] : s32\n",
     "an index that is no integer"},
};

static void check_refusal(const refusal_t* refusal) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const char* text = hlo_arena_printf(
      &arena, "kernel wrong version 4 {\nbuffer f32[9]\nbuffer f32[9] out\n%s}\n", refusal->body);
  hlo_tile_kernel_t* kernel = NULL;
  hlo_status_t status = hlo_tile_kernel_parse(&arena, text, &kernel);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  if (!strstr(hlo_status_message(status), refusal->message)) {
    fail_msg("%s: %s", refusal->body, hlo_status_message(status));
  }
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
}

static void test_texts(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; ++i) check_refusal(&TEXTS[i]);
}

static void test_rules(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof RULES / sizeof *RULES; ++i) check_refusal(&RULES[i]);
  for (uint32_t i = 0; i < sizeof MEMORY / sizeof *MEMORY; ++i) check_refusal(&MEMORY[i]);
}

// A fault that only a builder can make: the parser reports it earlier.
typedef struct built {
  const char* message;
  hlo_tile_op_t op;
} built_t;

static const built_t BUILT[] = {
    {"a loop without steps",
     {.kind = HLO_TILE_OP_for, .loop_count = 1, .loops = {{.low = 4, .end = 4, .step = 1}}}},
    {"a schedule with a negative number",
     {.kind = HLO_TILE_OP_for,
      .loop_count = 1,
      .loops = {{.end = 4, .step = 1, .schedule = {.unroll = -1}}}}},
    {"another memory space than that of what it refers to",
     {.kind = HLO_TILE_OP_reference,
      .dtype = HLO_DTYPE_F32,
      .ref = {.space = HLO_TILE_SPACE_near, .rank = 1, .dims = {9}}}},
    {"no such buffer", {.kind = HLO_TILE_OP_load, .dtype = HLO_DTYPE_F32, .buffer = 7}},
    {"an induction variable of no enclosing loop",
     {.kind = HLO_TILE_OP_index, .dtype = HLO_DTYPE_F32}},
};

static void test_built(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof BUILT / sizeof *BUILT; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    const hlo_tile_buffer_t buffer = {.dtype = HLO_DTYPE_F32, .element_count = 9};
    hlo_tile_kernel_t* kernel = hlo_tile_kernel_create(&arena, "built", 1, &buffer);
    hlo_tile_op_t fields = BUILT[i].op;
    bool is_index = fields.kind == HLO_TILE_OP_index;
    fields.offset =
        is_index ? hlo_expr_loop(&kernel->exprs, 3, 0, 4) : hlo_expr_const(&kernel->exprs, 0);
    hlo_tile_append(kernel, &kernel->body, &fields);
    hlo_status_t status = hlo_tile_kernel_verify(kernel);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(hlo_status_message(status), BUILT[i].message));
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

// Of buffers.
static const built_t OF_BUFFERS[] = {
    {"a shape with another number of elements", {.count = 7}},
    {"prefetched elements that are outputs or no integers", {.dtype = HLO_DTYPE_F32, .count = 6}},
};

static void test_buffers(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < sizeof OF_BUFFERS / sizeof *OF_BUFFERS; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    bool is_prefetched = OF_BUFFERS[i].op.dtype == HLO_DTYPE_F32;
    const hlo_tile_buffer_t buffer = {.dtype = HLO_DTYPE_F32,
                                      .element_count = OF_BUFFERS[i].op.count,
                                      .is_prefetched = is_prefetched,
                                      .rank = 2,
                                      .dims = {2, 3}};
    hlo_tile_kernel_t* kernel = hlo_tile_kernel_create(&arena, "built", 1, &buffer);
    hlo_status_t status = hlo_tile_kernel_verify(kernel);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    if (!strstr(hlo_status_message(status), OF_BUFFERS[i].message)) {
      fail_msg("%s", hlo_status_message(status));
    }
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

static bool is_said(const char* rule, const char* message) {
  const char* end = strchr(message, ':');  // details follow
  size_t length = end ? (size_t)(end - message) : strlen(message);
  for (const char* at = rule; *at; ++at) {
    if (strncmp(at, message, length) == 0) return true;
  }
  return false;
}

static void test_every_rule_is_broken(void** unused) {
  (void)unused;
  static const char* const rules[] = {
#define HLO_TILE_RULE(id, text) text,
#include "tile/ir_rules.def"
#undef HLO_TILE_RULE
  };
  for (uint32_t r = 0; r < sizeof rules / sizeof *rules; ++r) {
    bool is_broken = false;
    for (uint32_t i = 0; i < sizeof RULES / sizeof *RULES; ++i) {
      is_broken |= is_said(rules[r], RULES[i].message);
    }
    for (uint32_t i = 0; i < sizeof MEMORY / sizeof *MEMORY; ++i) {
      is_broken |= is_said(rules[r], MEMORY[i].message);
    }
    for (uint32_t i = 0; i < sizeof OF_BUFFERS / sizeof *OF_BUFFERS; ++i) {
      is_broken |= is_said(rules[r], OF_BUFFERS[i].message);
    }
    for (uint32_t i = 0; i < sizeof BUILT / sizeof *BUILT; ++i) {
      is_broken |= is_said(rules[r], BUILT[i].message);
    }
    if (!is_broken) fail_msg("no kernel breaks: %s", rules[r]);
  }
}

// ---- places

// Messages name the operation's source, or its line in the text.
static void test_places(void** unused) {
  (void)unused;
  check_refusal(&(refusal_t){"\n%0 = load 0 [0] : s32\n", "%0 = load (line 5): another"});
  check_refusal(&(refusal_t){"%0 = load 0 [0] : s32 loc(\"model.py\":12:3)\n",
                             "%0 = load (model.py:12:3): another"});
}

// ---- versions

typedef struct versioned {
  const char *text, *message;  // NULL: it is read
} versioned_t;

static void test_versions(void** unused) {
  (void)unused;
  static const versioned_t cases[] = {
      {"kernel old { buffer f32[9] out\n%0 = constant 0x00000000 : f32\nstore 0 [0] %0 }", NULL},
      {"kernel old version 1 { for d0 = 0..4 by 1 { } }", NULL},
      {"kernel now version 2 { for d0 = 0..4 by 1 { } }", NULL},
      {"kernel now version 3 { for d0 = 0..4 by 1 unroll 4 { } }", NULL},
      {"kernel new version 5 { }", "version 5: versions 1 to 4 can be read"},
      {"kernel none version 0 { }", "version 0: versions 1 to 4 can be read"},
      {"kernel old version 2 { for d0 = 0..4 by 1 unroll 4 { } }",
       "of version 2 with what there is since version 3"},
      {"kernel old version 2 { for d0 = 0..4 by 1 loc(\"a.py\":1:2) { } }",
       "of version 2 with what there is since version 3"},
      {"kernel far version 99999999999999999999 { }", "a version"},
      {"kernel old version 1 { %0 = constant 0x00000000 : s32\nswitch %0 { } }",
       "of version 1 with what there is since version 2"},
      {"kernel old { buffer f32[9]\n%0 = load 0 [0] alias 1 : f32 }",
       "of version 1 with what there is since version 2"},
      {"kernel old { %0 = constant 0x00000000 : f32\n%1 = for %0 over d0 = 0..4 by 1 : f32 { "
       "yield %0 } }",
       "of version 1 with what there is since version 2"},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_tile_kernel_t* kernel = NULL;
    hlo_status_t status = hlo_tile_kernel_parse(&arena, cases[i].text, &kernel);
    assert_int_equal(hlo_status_is_ok(status), cases[i].message == NULL);
    if (cases[i].message) assert_non_null(strstr(hlo_status_message(status), cases[i].message));
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),    cmocka_unit_test(test_rules),
      cmocka_unit_test(test_built),    cmocka_unit_test(test_every_rule_is_broken),
      cmocka_unit_test(test_versions), cmocka_unit_test(test_places),
      cmocka_unit_test(test_buffers),
  };
  return cmocka_run_group_tests_name("tile/ir_verify", tests, NULL, NULL);
}
