// SPDX-License-Identifier: Apache-2.0
// Tests of memory, status values, text buffers and diagnostics.
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/strbuf.h"

// ---- memory ------------------------------------------------------------------------------------

static void test_fault_injection(void** state) {
  (void)state;
  hlo_mem_fail_nth(3);
  void* a = hlo_mem_alloc(0);
  void* b = hlo_mem_alloc_zeroed(10);
  assert_true(a && b);
  assert_false(hlo_mem_failed());
  assert_null(hlo_mem_alloc_aligned(10, 64));
  assert_true(hlo_mem_failed());
  void* c = hlo_mem_alloc_aligned(10, 64);  // only the third fails
  assert_non_null(c);
  assert_int_equal((uintptr_t)c % 64, 0);
  hlo_mem_fail_nth(0);
  hlo_mem_free(a);
  hlo_mem_free(b);
  hlo_mem_free(c);
  char* copy = hlo_mem_strndup("text and more", 4);
  assert_string_equal(copy, "text");
  hlo_mem_free(copy);
}

static void test_checked_sizes(void** state) {
  (void)state;
  size_t out = 7;
  assert_false(hlo_size_add(SIZE_MAX, 1, &out));
  assert_false(hlo_size_mul(SIZE_MAX / 2, 3, &out));
  assert_int_equal(out, 7);
  assert_true(hlo_size_mul(6, 7, &out));
  assert_int_equal(out, 42);
}

static void test_arena(void** state) {
  (void)state;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_arena_mark_t empty = hlo_arena_mark(&arena);
  size_t asked = 0;
  for (size_t i = 1; i < 400; ++i) {
    size_t size = i % 7 == 0 ? 20000 : i;  // large and small mixed
    uint8_t* block = hlo_arena_alloc(&arena, size);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 16, 0);
    memset(block, 1, size);
    asked += size;
  }
  assert_true(arena.used_bytes < 2 * asked + 128 * 1024);
  hlo_arena_mark_t mark = hlo_arena_mark(&arena);
  uint32_t* words = hlo_arena_array(&arena, 100000, sizeof *words);
  assert_int_equal(words[99999], 0);
  hlo_arena_reset(&arena, mark);
  assert_int_equal(arena.used_bytes, mark.used_bytes);
  assert_string_equal(hlo_arena_printf(&arena, "%d-%s", 3, "x"), "3-x");
  assert_string_equal(hlo_arena_strndup(&arena, "abc", 2), "ab");
  assert_null(hlo_arena_array(&arena, SIZE_MAX / 2, 4));
  assert_true(arena.failed);  // sticky
  hlo_status_t status = hlo_arena_status(&arena);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  hlo_arena_reset(&arena, empty);
  assert_int_equal(arena.used_bytes, 0);
  hlo_arena_deinit(&arena);
}

// Fills an arena with this number of usual blocks and deinitialises it; returns the newest block's
// memory.
static const void* use_blocks(uint32_t count) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const void* last = NULL;
  for (uint32_t i = 0; i < count; ++i) assert_non_null(last = hlo_arena_alloc(&arena, 30000));
  hlo_arena_deinit(&arena);
  return last;
}

static const void* use_large_block(size_t size_bytes) {
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  const void* block = hlo_arena_alloc(&arena, size_bytes);
  hlo_arena_deinit(&arena);
  return block;
}

static void test_arena_store(void** state) {
  (void)state;
  enum { MANY = HLO_ARENA_STORE_BYTES / 30000 };
  hlo_arena_store_t store = {NULL}, other = {NULL};
  assert_false(hlo_arena_store_enter(NULL));
  assert_true(hlo_arena_store_enter(&store));
  assert_false(hlo_arena_store_enter(&other));  // one at a time
  const void* first = use_blocks(1);
  assert_ptr_equal(use_blocks(1), first);
  const void* large = use_large_block(100000);
  use_blocks(1);
  assert_ptr_equal(use_large_block(110000), large);
  use_blocks(2 * MANY);
  hlo_arena_store_leave(&store);
  assert_non_null(store.blocks);
  // An arena may outlive the thread's use of the store: its blocks are freed as if without a store.
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  assert_true(hlo_arena_store_enter(&store));
  hlo_mem_fail_nth(1);  // kept blocks count as any allocation
  assert_null(hlo_arena_alloc(&arena, 1));
  assert_true(hlo_mem_failed());
  for (uint32_t i = 0; i < MANY; ++i) {
    assert_non_null(hlo_arena_alloc(&arena, 30000));
  }
  hlo_arena_store_leave(&store);
  hlo_arena_deinit(&arena);
  hlo_arena_store_deinit(&store);
  assert_null(store.blocks);
}

static void test_arena_limit(void** state) {
  (void)state;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 1000);  // less than a block
  assert_non_null(hlo_arena_alloc(&arena, 600));
  assert_non_null(hlo_arena_alloc(&arena, 300));
  assert_null(hlo_arena_alloc(&arena, 200));
  assert_true(arena.used_bytes <= 1000);
  hlo_status_t status = hlo_arena_status(&arena);
  assert_non_null(strstr(hlo_status_message(status), "limit of 1000 bytes"));
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
}

// ---- status ------------------------------------------------------------------------------------

static hlo_status_t fail_with(int number) {
  return hlo_not_found("no number %d", number);
}

static hlo_status_t fail_in_context(int number) {
  HLO_TRY(hlo_ok());
  HLO_TRY_MSG(fail_with(number), "looking in %s", "the list");
  return hlo_ok();
}

static void test_status(void** state) {
  (void)state;
  assert_true(hlo_status_is_ok(hlo_ok()));
  assert_string_equal(hlo_status_message(hlo_ok()), "");
  hlo_status_release(hlo_ok());
  hlo_status_t status = fail_in_context(5);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  assert_string_equal(hlo_status_message(status), "looking in the list: no number 5");
  hlo_status_t other = hlo_status_clone(status);
  hlo_status_release(status);
  assert_string_equal(hlo_status_message(other), "looking in the list: no number 5");
  other = hlo_status_annotate(other, "again");
  assert_string_equal(hlo_status_message(other), "again: looking in the list: no number 5");
  hlo_status_release(other);
  assert_string_equal(hlo_status_code_name(HLO_STATUS_UNAUTHENTICATED), "UNAUTHENTICATED");
}

static void test_first_status(void** state) {
  (void)state;
  hlo_status_t first = hlo_ok();
  hlo_status_keep_first(&first, hlo_ok());
  assert_true(hlo_status_is_ok(first));
  hlo_status_keep_first(&first, fail_with(1));
  hlo_status_keep_first(&first, fail_with(2));
  hlo_status_keep_first(&first, hlo_ok());
  assert_string_equal(hlo_status_message(first), "no number 1");
  hlo_status_release(first);
}

static void test_status_without_memory(void** state) {
  (void)state;
  hlo_mem_fail_nth(1);
  hlo_status_t status = fail_with(1);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  assert_string_equal(hlo_status_message(status), "NOT_FOUND");
  hlo_status_t clone = hlo_status_clone(status);
  hlo_status_release(clone);
  hlo_status_release(status);
  status = fail_with(2);
  hlo_mem_fail_nth(1);
  status = hlo_status_annotate(status, "context");  // dropped; the message is unchanged
  hlo_mem_fail_nth(0);
  assert_string_equal(hlo_status_message(status), "no number 2");
  hlo_status_release(status);
}

// ---- text and diagnostics ----------------------------------------------------------------------

static void test_strbuf(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  assert_string_equal(hlo_strbuf_text(&text), "");
  for (int i = 0; i < 200; ++i) hlo_strbuf_printf(&text, "%d,", i);
  hlo_strbuf_putc(&text, 'x');
  assert_true(strlen(hlo_strbuf_text(&text)) == text.length);
  char* taken = hlo_strbuf_take(&text);
  assert_int_equal(strncmp(taken, "0,1,2,", 6), 0);
  hlo_mem_free(taken);
  assert_int_equal(text.length, 0);
  hlo_mem_fail_nth(1);
  hlo_strbuf_puts(&text, "lost");
  hlo_mem_fail_nth(0);
  hlo_strbuf_puts(&text, "also lost");  // sticky: no text with holes
  hlo_status_t status = hlo_strbuf_status(&text);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  assert_null(hlo_strbuf_take(&text));
}

static void test_diagnostics(void** state) {
  (void)state;
  static const char kSource[] = "first line\n  second\tline\nlast";
  hlo_diag_t diag;
  hlo_diag_init(&diag, "model.mlir", kSource, sizeof kSource - 1);
  assert_true(hlo_status_is_ok(hlo_diag_status(&diag)));
  hlo_diag_error(&diag, 2, 10, "unknown op \"%s\"", "line");
  hlo_diag_error(&diag, 3, 5, "more expected");
  hlo_diag_error(&diag, 99, 1, "outside");
  hlo_diag_error(&diag, 0, 0, "nowhere");
  hlo_diag_error_at(&diag, "model.py:3:1", "from Python");
  hlo_diag_error_at(&diag, NULL, "no place");
  assert_int_equal(diag.error_count, 6);
  assert_string_equal(diag.first, "model.mlir:2:10: unknown op \"line\"");
  hlo_status_t status = hlo_diag_status(&diag);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  assert_string_equal(hlo_status_message(status),
                      "model.mlir:2:10: error: unknown op \"line\"\n"
                      "    second line\n"
                      "           ^\n"
                      "model.mlir:3:5: error: more expected\n"
                      "  last\n"
                      "      ^\n"
                      "model.mlir:99:1: error: outside\n"
                      "model.mlir: error: nowhere\n"
                      "model.py:3:1: error: from Python\n"
                      "error: no place");
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
}

static void test_diagnostics_are_bounded(void** state) {
  (void)state;
  hlo_diag_t diag;
  hlo_diag_init(&diag, NULL, NULL, 0);
  diag.error_limit = 2;
  for (uint32_t i = 1; i <= 1000; ++i) hlo_diag_error(&diag, i, 1, "fault");
  hlo_status_t status = hlo_diag_status(&diag);
  assert_string_equal(hlo_status_message(status),
                      "<input>:1:1: error: fault\n<input>:2:1: error: fault\n998 more errors");
  hlo_status_release(status);
  hlo_diag_deinit(&diag);
  static char line[100000];
  memset(line, 'a', sizeof line);
  hlo_diag_init(&diag, NULL, line, sizeof line);
  hlo_diag_error(&diag, 1, 90000, "far right");
  hlo_diag_error(&diag, 1, 200000, "beyond the end");
  assert_true(diag.text.length < 2000);
  hlo_diag_deinit(&diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fault_injection),
      cmocka_unit_test(test_checked_sizes),
      cmocka_unit_test(test_arena),
      cmocka_unit_test(test_arena_store),
      cmocka_unit_test(test_arena_limit),
      cmocka_unit_test(test_status),
      cmocka_unit_test(test_first_status),
      cmocka_unit_test(test_status_without_memory),
      cmocka_unit_test(test_strbuf),
      cmocka_unit_test(test_diagnostics),
      cmocka_unit_test(test_diagnostics_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
