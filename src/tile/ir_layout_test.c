// SPDX-License-Identifier: Apache-2.0
// Layouts of kernels: what memory, sums, loops, branches and people say about them reaches every
// value, and what contradicts itself is named.
#include "tile/ir_test_util.h"

static hlo_tile_kernel_t* inferred(hlo_arena_t* arena, const char* text) {
  hlo_tile_kernel_t* kernel = hlo_test_parsed(arena, text);
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", text, hlo_status_message(status));
  status = hlo_tile_kernel_verify(kernel);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return kernel;
}

static void check_layout_of(const hlo_tile_op_t* op, const char* expected) {
  hlo_strbuf_t out = {0};
  hlo_tile_layout_print(op->layout, &out);
  if (strcmp(hlo_strbuf_text(&out), expected) != 0) {
    fail_msg("%%%u = %s: %s", op->number, hlo_tile_op_name(op->kind), hlo_strbuf_text(&out));
  }
  hlo_strbuf_deinit(&out);
}

static void check_layouts(const char* text, const char* expected) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = inferred(&arena, text);
  hlo_strbuf_t out = {0};
  hlo_tile_kernel_print(kernel, &out);
  assert_string_equal(hlo_strbuf_text(&out), expected);
  hlo_strbuf_deinit(&out);
  hlo_arena_deinit(&arena);
}

// Loads and the store want lanes along d1, whatever is outermost.
static void test_lanes_follow_memory(void** unused) {
  (void)unused;
  check_layouts(
      "kernel rows { buffer f32[64] buffer f32[8] buffer f32[64] out\n"
      "for d1 = 0..8 by 8 { for d0 = 0..8 by 2 {\n"
      "%0 = load 0 [8*d0 + d1] : f32\n"
      "%1 = load 1 [d1] : f32\n"
      "%2 = map add %0, %1 : f32\n"
      "store 2 [8*d0 + d1] %2 } } }",
      "kernel rows version 1 {\n"
      "  buffer f32[64]\n"
      "  buffer f32[8]\n"
      "  buffer f32[64] out\n"
      "  for d1 = 0..8 by 8 {\n"
      "    for d0 = 0..8 by 2 {\n"
      "      %0 = load 0 [8*d0 + d1] : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      %1 = load 1 [d1] : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      %2 = map add %0, %1 : f32 <8x2 | 0:2/4 slot 2, 0:4/1 lane 1, 1:2/1 slot 1>\n"
      "      store 2 [8*d0 + d1] %2\n"
      "    }\n"
      "  }\n"
      "}\n");
}

// The lanes of a loop's schedule hold, whatever memory would like.
static void test_lanes_follow_schedule(void** unused) {
  (void)unused;
  check_layouts(
      "kernel rows version 3 { buffer f32[64] buffer f32[64] out\n"
      "for d1 = 0..8 by 8 { for d0 = 0..8 by 8 lanes 2 {\n"
      "%0 = load 0 [8*d0 + d1] : f32\n"
      "store 1 [8*d0 + d1] %0 } } }",
      "kernel rows version 3 {\n"
      "  buffer f32[64]\n"
      "  buffer f32[64] out\n"
      "  for d1 = 0..8 by 8 {\n"
      "    for d0 = 0..8 by 8 lanes 2 {\n"
      "      %0 = load 0 [8*d0 + d1] : f32 <8x8 | 0:8/1 slot 4, 1:4/2 slot 1, 1:2/1 lane 1>\n"
      "      store 1 [8*d0 + d1] %0\n"
      "    }\n"
      "  }\n"
      "}\n");
}

// The order of an allocation's dimensions follows its accesses, one that is given holds.
static void check_order(const char* body, const char* expected) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const char* text = hlo_arena_printf(
      &arena, "kernel order version 3 {\nbuffer f32[8, 8]\nbuffer f32[8, 8] out\n%s}\n", body);
  hlo_tile_kernel_t* kernel = inferred(&arena, text);
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind == HLO_TILE_OP_alloc && op->ref.space == HLO_TILE_SPACE_near) {
      check_layout_of(op, expected);
    }
  }
  hlo_arena_deinit(&arena);
}

#define ROWS_FIRST "<8x8 | 0:8/1 address 8, 1:8/1 address 1>"
#define COLUMNS_FIRST "<8x8 | 0:8/1 address 1, 1:8/1 address 8>"
#define FILL "for d0 = 0..8 by 1 {\nfor d1 = 0..8 by 8 {\n%1 = load 0 [8*d0 + d1] : f32\n"
#define TWICE                                                                       \
  "%2 = reference 0 : f32[8, 8]\ncopy %2, %0\n%3 = alloc accumulator : f32[8, 8]\n" \
  "for d0 = 0..4 by 1 {\n"

static void test_orders(void** unused) {
  (void)unused;
  check_order("%0 = alloc near : f32[8, 8]\n" FILL "ref_store [d0, d1] %0, %1\n}\n}\n", ROWS_FIRST);
  check_order("%0 = alloc near : f32[8, 8]\n" FILL "ref_store [d1, d0] %0, %1\n}\n}\n",
              COLUMNS_FIRST);
  check_order("%0 = alloc near : f32[8, 8]\n%5 = transpose [1, 0] %0 : f32[8, 8]\n" FILL
              "ref_store [d0, d1] %5, %1\n}\n}\n",
              COLUMNS_FIRST);
  check_order("%0 = alloc near : f32[8, 8] " ROWS_FIRST "\n" FILL
              "ref_store [d1, d0] %0, %1\n}\n}\n",
              ROWS_FIRST);
  // Elements that are adjacent in another shape stay so.
  check_order("%0 = alloc near : f32[8, 8]\n%5 = reshape %0 : f32[64]\n" FILL
              "ref_store [d1, d0] %0, %1\n}\n}\n",
              ROWS_FIRST);
  // The right operand of products, by columns; worth a slower copy if it is used more than once.
  check_order("%0 = alloc near : f32[8, 8]\n" TWICE "mma [1] x [0] %3, %2, %0\n}\n", ROWS_FIRST);
  check_order("%0 = alloc near : f32[8, 8]\n" TWICE "mma [1] x [1] %3, %2, %0\n}\n", COLUMNS_FIRST);
}

// A maximum over lanes is there for all of them; the initial value has to be brought there.
static void test_reduction_over_lanes(void** unused) {
  (void)unused;
  check_layouts(
      "kernel best { buffer f32[40] buffer f32[10] out\n"
      "%0 = constant 0xff800000 : f32\n"
      "for d0 = 0..10 by 1 {\n"
      "%2 = reduce maximum %0 over d1 = 0..4 by 4 : f32 { %1 = load 0 [4*d0 + d1] : f32\n"
      "yield %1 }\n"
      "%3 = map add %2, %0 : f32\n"
      "store 1 [d0] %3 } }",
      "kernel best version 1 {\n"
      "  buffer f32[40]\n"
      "  buffer f32[10] out\n"
      "  %0 = constant 0xff800000 : f32 <>\n"
      "  for d0 = 0..10 by 1 {\n"
      "    %2 = reduce maximum %0 over d1 = 0..4 by 4 : f32 < | *:4 lane 1> {\n"
      "      %1 = load 0 [4*d0 + d1] : f32 <4 | 0:4/1 lane 1>\n"
      "      yield %1\n"
      "    }\n"
      "    %3 = map add %2, %0 : f32 <>\n"
      "    store 1 [d0] %3\n"
      "  }\n"
      "}\n");
}

// The value that a reduction yields may come from outside of its loops, and be a splat.
static void test_reduction_of_splat(void** unused) {
  (void)unused;
  check_layouts(
      "kernel pairs { buffer f32[1] buffer f32[64] buffer f32[16] out buffer f32[16] out\n"
      "%0 = load 0 [0] : f32\n"
      "for d0 = 0..16 by 16 {\n"
      "%2 = reduce multiply add %0, %0 over d1 = 0..4 by 1 : f32 {\n"
      "%1 = load 1 [d0 + 16*d1] : f32\n"
      "yield %0, %1 }\n"
      "%3 = result 1 of %2 : f32\n"
      "store 2 [d0] %2\n"
      "store 3 [d0] %3 } }",
      "kernel pairs version 1 {\n"
      "  buffer f32[1]\n"
      "  buffer f32[64]\n"
      "  buffer f32[16] out\n"
      "  buffer f32[16] out\n"
      "  %0 = load 0 [0] : f32 <>\n"
      "  for d0 = 0..16 by 16 {\n"
      "    %2 = reduce multiply add %0, %0 over d1 = 0..4 by 1 : f32 "
      "<16 | 0:4/4 slot 1, 0:4/1 lane 1> {\n"
      "      %1 = load 1 [d0 + 16*d1] : f32 <16 | 0:4/4 slot 1, 0:4/1 lane 1>\n"
      "      yield %0, %1\n"
      "    }\n"
      "    %3 = result 1 of %2 : f32 <16 | 0:4/4 slot 1, 0:4/1 lane 1>\n"
      "    store 2 [d0] %2\n"
      "    store 3 [d0] %3\n"
      "  }\n"
      "}\n");
}

// A sum along rows whose lanes it was loaded with is needed along columns: by another layout.
static void test_relayout_is_put_in(void** unused) {
  (void)unused;
  check_layouts(
      "kernel turn { buffer f32[256] buffer f32[16] out\n"
      "for d0 = 0..16 by 4 {\n"
      "%1 = reduce add over d1 = 0..16 by 4 : f32 { %0 = load 0 [16*d0 + d1] : f32\n"
      "yield %0 }\n"
      "%2 = map negate %1 : f32\n"
      "store 1 [d0] %2 } }",
      "kernel turn version 1 {\n"
      "  buffer f32[256]\n"
      "  buffer f32[16] out\n"
      "  for d0 = 0..16 by 4 {\n"
      "    %1 = reduce add over d1 = 0..16 by 4 : f32 <4 | 0:4/1 slot 1, *:4 lane 1> {\n"
      "      %0 = load 0 [16*d0 + d1] : f32 <4x4 | 0:4/1 slot 1, 1:4/1 lane 1>\n"
      "      yield %0\n"
      "    }\n"
      "    %2 = relayout %1 : f32 <4 | 0:4/1 lane 1>\n"
      "    %3 = map negate %2 : f32 <4 | 0:4/1 lane 1>\n"
      "    store 1 [d0] %3\n"
      "  }\n"
      "}\n");
}

// Also where it is the first of its loop.
static void test_relayout_is_put_first(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = inferred(
      &arena,
      "kernel turn { buffer f32[256] buffer f32[16] out\n"
      "for d0 = 0..16 by 4 {\n"
      "%1 = reduce add over d1 = 0..16 by 4 : f32 { %0 = load 0 [16*d0 + d1] : f32\nyield %0 }\n"
      "for d2 = 0..1 by 1 { %2 = map negate %1 : f32\nstore 1 [d0] %2 } } }");
  const hlo_tile_op_t* inner = kernel->body.first->body.last;
  assert_int_equal(inner->kind, HLO_TILE_OP_for);
  assert_int_equal(inner->body.first->kind, HLO_TILE_OP_relayout);
  hlo_arena_deinit(&arena);
}

// ---- loops and branches

// In both directions through each: what one value has to be, all others are, without a relayout.
static const char* const THROUGH[] = {
    // for
    "%0 = index [d0 + 4*d1] : f32\n"
    "%4 = for %0 over d2 = 0..3 by 1 : f32 {\n"
    "  %1 = argument 0 : f32\n"
    "  %2 = index [d0 + d1 + d2] : f32\n"
    "  %3 = map add %1, %2 : f32\n"
    "  yield %3\n"
    "}\n"
    "%5 = map negate %4 : f32\n",
    // while
    "%0 = index [d0 + 4*d1] : f32\n"
    "%1 = index [d0] : f32\n"
    "%6 = while %0 : f32 {\n"
    "  %2 = argument 0 : f32\n"
    "  %3 = map compare LT %2, %1 : pred\n"
    "  yield %3\n"
    "} {\n"
    "  %4 = argument 0 : f32\n"
    "  %5 = map add %4, %4 : f32\n"
    "  yield %5\n"
    "}\n"
    "%7 = map negate %6 : f32\n",
    // switch
    "%0 = index [d0 + 4*d1] : f32\n"
    "%1 = index [d0] : s32 <4x4 | 0:4/1 lane 1, 1:4/1 slot 1>\n"
    "%5 = switch %1 : f32 {\n"
    "  %2 = map negate %0 : f32\n"
    "  yield %2\n"
    "} {\n"
    "  %3 = map add %0, %0 : f32\n"
    "  %4 = map negate %3 : f32\n"
    "  yield %4\n"
    "}\n"
    "%6 = map negate %5 : f32\n",
    // yields to a loop around, of values from outside, in another order
    "%0 = index [d0 + 4*d1] : f32\n"
    "%1 = index [d0] : f32\n"
    "%9 = for %0, %1 over d2 = 0..3 by 1 : f32 {\n"
    "  %2 = argument 0 : f32\n"
    "  %3 = argument 1 : f32\n"
    "  %7 = for %2, %0 over d3 = 0..2 by 1 : f32 {\n"
    "    %4 = argument 0 : f32\n"
    "    %5 = argument 1 : f32\n"
    "    %6 = map add %4, %5 : f32\n"
    "    yield %6, %4\n"
    "  }\n"
    "  %8 = result 1 of %7 : f32\n"
    "  %10 = map add %3, %8 : f32\n"
    "  yield %10, %7\n"
    "}\n"
    "%11 = result 1 of %9 : f32\n"
    "%12 = map add %9, %11 : f32\n",
};
static const char COLUMNS[] = "<4x4 | 0:4/1 lane 1, 1:4/1 slot 1>";

// Returns the body of a tile of 4x4 with `hint` after the type of its n-th f32; NULL if it has
// fewer.
static const char* hinted(hlo_arena_t* arena, const char* body, uint32_t n, const char* hint) {
  const char* at = strstr(body, ": f32");
  for (; at && n > 0; --n) at = strstr(at + 1, ": f32");
  if (!at) return NULL;
  at += strlen(": f32");
  return hlo_arena_printf(arena,
                          "kernel hinted version 3 { buffer f32[16] buffer f32[16] out\n"
                          "for d0 = 0..4 by 4 { for d1 = 0..4 by 4 {\n%.*s %s%s } } }",
                          (int)(at - body), body, hint, at);
}

// Hints at one value after the other; returns how many that were.
static uint32_t check_every_site(const char* body) {
  uint32_t site = 0;
  for (;; ++site) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    const char* text = hinted(&arena, body, site, COLUMNS);
    if (text) {
      hlo_tile_kernel_t* kernel = inferred(&arena, text);
      for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
        assert_int_not_equal(op->kind, HLO_TILE_OP_relayout);
        if (hlo_tile_op_has_result(op)) check_layout_of(op, COLUMNS);
      }
    }
    hlo_arena_deinit(&arena);
    if (!text) return site;
  }
}

static void test_through_regions(void** unused) {
  (void)unused;
  for (uint32_t i = 0; i < 4; ++i) assert_true(check_every_site(THROUGH[i]) > 5);
}

// A value that is not carried from step to step may have any layout: only the initial value is
// transposed, once.
static void test_relayout_before_loop(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const char* text = hlo_arena_printf(&arena,
                                      "kernel once version 2 { buffer f32[16] buffer f32[16] out\n"
                                      "for d0 = 0..4 by 4 { for d1 = 0..4 by 4 {\n"
                                      "%%0 = load 0 [4*d0 + d1] : f32\n"
                                      "%%3 = for %%0 over d2 = 0..99 by 1 : f32 {\n"
                                      "%%1 = argument 0 : f32\n%%2 = map negate %%1 : f32 %s\n"
                                      "yield %%2 }\n"
                                      "store 1 [d0 + 4*d1] %%3 } } }",
                                      COLUMNS);
  hlo_tile_kernel_t* kernel = inferred(&arena, text);
  uint32_t relayouts = 0;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind != HLO_TILE_OP_relayout) continue;
    ++relayouts;
    assert_int_equal(op->operands[0]->kind, HLO_TILE_OP_load);
    assert_int_equal(op->next->kind, HLO_TILE_OP_for);
  }
  assert_int_equal(relayouts, 1);
  hlo_arena_deinit(&arena);
}

// ---- what people ask for

typedef struct conflict {
  const char* body;
  const char* origins[3];  // NULL: no more
} conflict_t;

static void test_conflicts(void** unused) {
  (void)unused;
#define ROWS "<4x4 | 0:4/1 slot 1, 1:4/1 lane 1>"
#define TRANSPOSED "<4x4 | 0:4/1 lane 1, 1:4/1 slot 1>"
#define SPLAT "<4x4 | 0:4/1 slot 0, 1:4/1 slot 0>"
  static const conflict_t cases[] = {
      {"%0 = index [d0] : f32 " ROWS "\n%1 = map negate %0 : f32 " TRANSPOSED
       " loc(\"model.py\":7:1)\n",
       {"%0 = index (line 3): equal(%0, <", "%1 = map (model.py:7:1): equal(%0, %1)"}},
      {"%0 = index [d0] : f32 " ROWS "\n%1 = relayout %0 : f32 " SPLAT "\n",
       {"%0 = index (line 3): equal", "%1 = relayout (line 4): equal",
        "%1 = relayout (line 4): relayout"}},
      {"%0 = index [d0] : f32\n%2 = for %0 over d2 = 0..3 by 1 : f32 {\n"
       "%1 = argument 0 : f32 " ROWS "\nyield %1 }\n%3 = result 0 of %2 : f32 " TRANSPOSED "\n",
       {"%1 = argument (line 5): equal", "%3 = result (line 7): equal"}},
      {"%0 = load 0 [d0] alias 7 : f32 " ROWS "\n%1 = load 0 [d1] alias 7 : f32 " TRANSPOSED "\n",
       {"%0 = load (line 3): equal", "%1 = load (line 4): equal"}},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    const char* text = hinted(&arena, cases[i].body, 0, "");
    hlo_status_t status = hlo_tile_kernel_infer(hlo_test_parsed(&arena, text), &MACHINE, 1000);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
    for (uint32_t k = 0; k < 3 && cases[i].origins[k]; ++k) {
      if (!strstr(hlo_status_message(status), cases[i].origins[k])) {
        fail_msg("%s: %s", cases[i].body, hlo_status_message(status));
      }
    }
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
  }
}

#define ELEVEN(d)                                                                           \
  "d" d "0 = 0..4 by 2, d" d "1 = 0..4 by 2, d" d "2 = 0..4 by 2, d" d "3 = 0..4 by 2, d" d \
  "4 = 0..4 by 2, d" d "5 = 0..4 by 2, d" d "6 = 0..4 by 2, d" d "7 = 0..4 by 2, d" d       \
  "8 = 0..4 by 2, d" d "9 = 0..4 by 2, d4" d " = 0..4 by 2 : f32 {\n"

static void test_too_many_dimensions(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = hlo_test_parsed(
      &arena,
      "kernel wide {\n%1 = reduce add over " ELEVEN("1") "%2 = reduce add over " ELEVEN(
          "2") "%3 = reduce add over " ELEVEN("3") "%0 = index [0] : f32\nyield %0 }\nyield %3 "
                                                   "}\nyield %2 } }");
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "index in tiles of 33 dimensions"));
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
}

#define MANY "1073741824"

static void test_too_many_elements(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel = hlo_test_parsed(
      &arena, "kernel huge {\nfor d0 = 0.." MANY " by " MANY " { for d1 = 0.." MANY " by " MANY
              " { for d2 = 0.." MANY " by " MANY " {\n%0 = constant 0x00000000 : f32 <" MANY
              "x" MANY "x" MANY " | 0:" MANY "/1 slot 1, 1:" MANY "/1 slot 0, 2:" MANY
              "/1 slot 0>\n%1 = relayout %0 : f32\n} } } }");
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "constant in tiles of too many elements"));
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
}

// Two loads that were given nothing follow one of the same alias, those of others do not.
static void test_alias(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const char* text = hinted(&arena,
                            "%0 = load 0 [4*d0 + d1] alias 1 : f32\n"
                            "%1 = load 0 [4*d0 + d1] : f32\n"
                            "%2 = load 0 [4*d0 + d1] alias 2 : f32\n"
                            "%3 = load 0 [4*d0 + d1] alias 1 : f32 " TRANSPOSED "\n",
                            0, "");
  hlo_tile_kernel_t* kernel = inferred(&arena, text);
  static const char* const expected[] = {TRANSPOSED, ROWS, ROWS, TRANSPOSED};
  uint32_t loads = 0;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    if (op->kind == HLO_TILE_OP_load) check_layout_of(op, expected[loads++]);
  }
  assert_int_equal(loads, 4);
  hlo_arena_deinit(&arena);
}

static hlo_tile_kernel_t* long_kernel(hlo_arena_t* arena) {
  enum { OPS = 1000 };
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text,
                  "kernel long version 1 {\nbuffer f32[256]\nbuffer f32[256] out\n"
                  "for d0 = 0..16 by 16 {\nfor d1 = 0..16 by 16 {\n"
                  "%0 = load 0 [16*d0 + d1] : f32\n");
  for (int i = 1; i <= OPS; ++i) {
    hlo_strbuf_printf(&text, "%%%d = map add %%%d, %%%d : f32\n", i, i - 1, i / 2);
  }
  hlo_strbuf_printf(&text, "store 1 [d0 + 16*d1] %%%d\n}\n}\n}\n", OPS);
  return hlo_test_parsed(arena, hlo_strbuf_text(&text));
}

// A thousand operations take a few tries, not exponentially many, and always have the same layouts;
// without any try the answer says what to do.
static void test_long_kernel(void** unused) {
  (void)unused;
  enum { FEW = 16, RUNS = 10 };
  HLO_SCOPED_STRBUF expected = {0};
  for (int run = 0; run < RUNS; ++run) {
    HLO_SCOPED_ARENA arena = {0};
    HLO_SCOPED_STRBUF found = {0};
    hlo_tile_kernel_t* kernel = long_kernel(&arena);
    hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, FEW);
    if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
    hlo_tile_kernel_print(kernel, run ? &found : &expected);
    if (run) assert_string_equal(hlo_strbuf_text(&found), hlo_strbuf_text(&expected));
  }
  HLO_SCOPED_ARENA arena = {0};
  hlo_status_t status = hlo_tile_kernel_infer(long_kernel(&arena), &MACHINE, 0);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "fix some of them"));
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lanes_follow_memory),
      cmocka_unit_test(test_lanes_follow_schedule),
      cmocka_unit_test(test_orders),
      cmocka_unit_test(test_reduction_over_lanes),
      cmocka_unit_test(test_reduction_of_splat),
      cmocka_unit_test(test_relayout_is_put_in),
      cmocka_unit_test(test_relayout_is_put_first),
      cmocka_unit_test(test_through_regions),
      cmocka_unit_test(test_relayout_before_loop),
      cmocka_unit_test(test_conflicts),
      cmocka_unit_test(test_alias),
      cmocka_unit_test(test_too_many_dimensions),
      cmocka_unit_test(test_too_many_elements),
      cmocka_unit_test(test_long_kernel),
  };
  return cmocka_run_group_tests_name("tile/ir_layout", tests, NULL, NULL);
}
