// SPDX-License-Identifier: Apache-2.0
// Tests inlining at sizes too large for goldens: its cost and its size limit.
#include "ir/clone.h"
#include "ir/test_util.h"
#include "passes/runner.h"

#define TYPE "tensor<f32>"

// @main calls @f1, which calls @f2, ... each of them `calls` times, after one sine each; the last
// function is a single sine.
static hlo_module_t* make_chain(uint32_t length, uint32_t calls) {
  hlo_strbuf_t text = {0};
  for (uint32_t i = 0; i <= length; ++i) {
    hlo_strbuf_puts(&text, "func.func ");
    i ? hlo_strbuf_printf(&text, "private @f%u", i) : hlo_strbuf_puts(&text, "@main");
    hlo_strbuf_puts(&text, "(%x: " TYPE ") -> " TYPE " {\n  %v0 = stablehlo.sine %x : " TYPE "\n");
    uint32_t count = i < length ? calls : 0;
    for (uint32_t k = 0; k < count; ++k) {
      hlo_strbuf_printf(&text, "  %%v%u = call @f%u(%%v%u) : (" TYPE ") -> " TYPE "\n", k + 1,
                        i + 1, k);
    }
    hlo_strbuf_printf(&text, "  return %%v%u : " TYPE "\n}\n", count);
  }
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&text);
  return module;
}

static hlo_status_t count_node(void* context, hlo_node_t* node) {
  (void)node;
  ++*(uint32_t*)context;
  return hlo_ok();
}

static uint32_t count_ops(const hlo_module_t* module, const char* name) {
  uint32_t count = 0;
  hlo_test_check(
      hlo_region_walk(hlo_module_find_func(module, name)->body, false, count_node, &count));
  return count;
}

// A body reached through many functions is copied once into @main, not into every caller in
// between.
static void test_long_chain(void** state) {
  (void)state;
  enum { LENGTH = 400 };
  hlo_module_t* module = make_chain(LENGTH, 1);
  uint32_t before = module->node_count;
  hlo_test_check(hlo_passes_run(module, "inline", NULL));
  assert_int_equal(count_ops(module, "main"), LENGTH + 1 + 1);
  assert_in_range(module->node_count - before, LENGTH, 4 * LENGTH);
  hlo_module_release(module);
}

// Sixteen levels of two calls each would be 131,071 sines.
static void test_doubling(void** state) {
  (void)state;
  hlo_module_t* module = make_chain(16, 2);
  hlo_pass_options_t options = {.verify_each = true, .run_twice = true, .check_changed = true};
  hlo_test_check(hlo_passes_run(module, "inline=1000", &options));
  assert_in_range(count_ops(module, "main"), 990, 1000);
  hlo_module_release(module);
  module = make_chain(8, 2);
  hlo_test_check(hlo_passes_run(module, "inline=1000", &options));
  assert_int_equal(count_ops(module, "main"), 511 + 1);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_long_chain),
      cmocka_unit_test(test_doubling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
