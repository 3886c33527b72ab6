// SPDX-License-Identifier: Apache-2.0
// Addresses of allocations: what is in use at the same time shares no byte, what is not does.
#include "tile/ir_test_util.h"

enum { ALIGN = 16, KERNELS = 300, BYTES = 1 << 16 };

static hlo_tile_kernel_t* placed(hlo_arena_t* arena, const char* body, int64_t* out_bytes) {
  hlo_tile_kernel_t* kernel = hlo_test_parsed(
      arena, hlo_arena_printf(arena, "kernel place version 3 {\nbuffer f32[4] out\n%s}\n", body));
  hlo_status_t status = hlo_tile_kernel_place(kernel, ALIGN, out_bytes);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return kernel;
}

typedef struct scopes {
  const char* body;
  int64_t bytes;  // of near memory
} scopes_t;

static void test_scopes(void** unused) {
  (void)unused;
  static const scopes_t cases[] = {
      {"", 0},
      {"%0 = alloc near : f32[5]\n", 20},
      // Both until the end of the block: the second begins before the first one's last use.
      {"%9 = constant 0x00000000 : f32\n%0 = alloc near : f32[4]\n%1 = alloc near : f32[4]\n"
       "ref_store [0] %0, %9\nref_store [0] %1, %9\n",
       32},
      // The first one is not used any more.
      {"%9 = constant 0x00000000 : f32\n%0 = alloc near : f32[4]\nref_store [0] %0, %9\n"
       "%1 = alloc near : f32[4]\nref_store [0] %1, %9\n",
       16},
      // Blocks beside each other.
      {"%9 = constant 0x00000000 : f32\nfor d0 = 0..2 by 1 {\n%0 = alloc near : f32[8]\n"
       "ref_store [0] %0, %9\n}\nfor d1 = 0..2 by 1 {\n%1 = alloc near : f32[6]\n"
       "ref_store [0] %1, %9\n}\n",
       32},
      // A block inside: the outer one is used again in the next step.
      {"%9 = constant 0x00000000 : f32\n%0 = alloc near : f32[4]\nfor d0 = 0..2 by 1 {\n"
       "ref_store [0] %0, %9\n%1 = alloc near : f32[4]\nref_store [0] %1, %9\n}\n",
       32},
      // A copy may still run.
      {"%9 = constant 0x00000000 : f32\n%0 = alloc near : f32[4]\n%5 = reference 0 : f32[4]\n"
       "%6 = alloc semaphore : s32[1]\ncopy_start %0, %5, %6\n%1 = alloc near : f32[4]\n"
       "ref_store [0] %1, %9\ncopy_wait %6\n",
       32},
      // Other memory.
      {"%0 = alloc accumulator : f32[5]\n", 0},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    int64_t bytes[HLO_TILE_SPACE_COUNT];
    placed(&arena, cases[i].body, bytes);
    if (bytes[HLO_TILE_SPACE_near] != cases[i].bytes) {
      fail_msg("%s: %lld", cases[i].body, (long long)bytes[HLO_TILE_SPACE_near]);
    }
    hlo_arena_deinit(&arena);
  }
}

// ---- random kernels

typedef struct maker {
  uint64_t random;
  uint32_t values, loops, known_count, known[256];
  hlo_strbuf_t text;
} maker_t;

static uint32_t below(maker_t* m, uint32_t n) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(m->random >> 33) % n;
}

static void make_block(maker_t* m, uint32_t depth) {
  uint32_t outer = m->known_count;
  for (uint32_t n = 1 + below(m, 7); n > 0; --n) {
    uint32_t what = below(m, depth < 3 ? 4 : 3);
    if (what == 0 && m->known_count < 256) {
      m->known[m->known_count++] = m->values;
      hlo_strbuf_printf(&m->text, "%%%u = alloc near : f32[%u]\n", m->values++, 1 + below(m, 20));
    } else if (what == 3) {
      hlo_strbuf_printf(&m->text, "for d%u = 0..2 by 1 {\n", m->loops++);
      make_block(m, depth + 1);
      hlo_strbuf_puts(&m->text, "}\n");
    } else if (m->known_count) {
      hlo_strbuf_printf(&m->text, "ref_store [0] %%%u, %%0\n", m->known[below(m, m->known_count)]);
    }
  }
  m->known_count = outer;
}

// Every use finds the bytes that were written to the allocation, at its address.
static void walk(const hlo_tile_block_t* block, uint8_t* memory) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (op->kind == HLO_TILE_OP_for) {
      for (int i = 0; i < 2; ++i) walk(&op->body, memory);
    } else if (op->kind == HLO_TILE_OP_alloc) {
      assert_true(op->is_placed && op->address % ALIGN == 0);
      assert_true(op->address + 4 * op->ref.dims[0] <= BYTES);
      memset(memory + op->address, (int)op->number, 4 * (size_t)op->ref.dims[0]);
    } else if (op->kind == HLO_TILE_OP_ref_store) {
      const hlo_tile_op_t* root = hlo_tile_ref_root(op->operands[0]);
      for (int64_t i = 0; i < 4 * root->ref.dims[0]; ++i) {
        assert_int_equal(memory[root->address + i], (uint8_t)root->number);
      }
    }
  }
}

static void test_random(void** unused) {
  (void)unused;
  static uint8_t memory[BYTES];
  int64_t shared = 0, separate = 0;
  for (uint64_t n = 0; n < KERNELS; ++n) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    maker_t m = {.random = n, .values = 1};
    hlo_strbuf_puts(&m.text, "%0 = constant 0x00000000 : f32\n");
    for (int i = 0; i < 3; ++i) make_block(&m, 0);
    int64_t bytes[HLO_TILE_SPACE_COUNT];
    hlo_tile_kernel_t* kernel = placed(&arena, hlo_strbuf_text(&m.text), bytes);
    walk(&kernel->body, memory);
    shared += bytes[HLO_TILE_SPACE_near];
    for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
      if (op->kind == HLO_TILE_OP_alloc) separate += 4 * op->ref.dims[0];
    }
    hlo_strbuf_deinit(&m.text);
    hlo_arena_deinit(&arena);
  }
  assert_true(shared < separate * 2 / 3);
}

// Near memory that no cache of a core holds is refused, with both numbers and the line.
static void test_capacity(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_kernel_t* kernel =
      hlo_test_parsed(&arena,
                      "kernel large version 3 {\n%0 = alloc near : f32[4, 4096]\n"
                      "%1 = constant 0x00000000 : f32\nref_store [0, 0] %0, %1\n}\n");
  hlo_status_t status = hlo_tile_kernel_infer(kernel, &MACHINE, 1000);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  if (!strstr(hlo_status_message(status), "%0 = alloc (line 2)") ||
      !strstr(hlo_status_message(status), "65536")) {
    fail_msg("%s", hlo_status_message(status));
  }
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_capacity),
  };
  return cmocka_run_group_tests_name("tile/ir_place", tests, NULL, NULL);
}
