// SPDX-License-Identifier: Apache-2.0
// On which machines pass windowed_einsum turns a gathered product, or a scattered one, into a loop.
#include "ir/clone.h"
#include "ir/test_util.h"
#include "spmd/passes.h"

enum { TEXT_BYTES = 2048 };

#define GROUPS                                                                              \
  "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, channel_handle = " \
  "#stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> "

// A product of n x n matrices, of which the first is gathered.
static void put_gathered(char* text, int n) {
  snprintf(text, TEXT_BYTES,
           "module attributes {mhlo.num_partitions = 8 : i32} {\nfunc.func @main(%%x: "
           "tensor<%dx%dxf32>, %%y: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n%%g = "
           "\"stablehlo.all_gather\"(%%x) <{all_gather_dim = 0 : i64, " GROUPS
           ": (tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n%%r = stablehlo.dot_general %%g, %%y, "
           "contracting_dims = [1] x [0] : (tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> "
           "tensor<%dx%dxf32>\nreturn %%r : tensor<%dx%dxf32>\n}\n}\n",
           n / 8, n, n, n, n, n, n / 8, n, n, n, n, n, n, n, n, n, n, n);
}

// A product of n x n matrices, whose terms are added, and the rows of their sum divided.
static void put_scattered(char* text, int n) {
  snprintf(text, TEXT_BYTES,
           "module attributes {mhlo.num_partitions = 8 : i32} {\nfunc.func @main(%%x: "
           "tensor<%dx%dxf32>, %%y: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n%%p = "
           "stablehlo.dot_general %%x, %%y, contracting_dims = [1] x [0] : (tensor<%dx%dxf32>, "
           "tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n%%r = \"stablehlo.reduce_scatter\"(%%p) "
           "<{scatter_dimension = 0 : i64, " GROUPS
           "({\n^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n%%c = stablehlo.add %%a, %%b : "
           "tensor<f32>\nstablehlo.return %%c : tensor<f32>\n}) : (tensor<%dx%dxf32>) -> "
           "tensor<%dx%dxf32>\nreturn %%r : tensor<%dx%dxf32>\n}\n}\n",
           n, n, n, n, n / 8, n, n, n, n, n, n, n, n, n, n / 8, n, n / 8, n);
}

static hlo_status_t note_loop(void* context, hlo_node_t* node) {
  *(bool*)context |= node->op == HLO_OP_while;
  return hlo_ok();
}

static bool becomes_loop(const char* text, const char* passes) {
  hlo_module_t* module = hlo_test_parse(text);
  const hlo_pass_options_t options = {.verify_each = true, .more = &hlo_spmd_pass_set};
  bool found = false;
  hlo_test_check(hlo_passes_run(module, passes, &options));
  hlo_test_check(hlo_module_walk(module, false, note_loop, &found));
  hlo_module_release(module);
  return found;
}

static void test_machines(void** state) {
  (void)state;
  for (int is_gathered = 0; is_gathered < 2; ++is_gathered) {
    char large[TEXT_BYTES], small[TEXT_BYTES];
    (is_gathered ? put_gathered : put_scattered)(large, 8192);
    (is_gathered ? put_gathered : put_scattered)(small, 64);
    assert_false(becomes_loop(large, "windowed_einsum"));
    assert_false(becomes_loop(large, "windowed_einsum=host"));
    assert_true(becomes_loop(large, "windowed_einsum=node"));
    assert_true(becomes_loop(large, "windowed_einsum=cluster"));
    assert_false(becomes_loop(small, "windowed_einsum=cluster"));
    assert_true(becomes_loop(small, "windowed_einsum=all"));
  }
}

static void test_argument(void** state) {
  (void)state;
  char text[TEXT_BYTES];
  put_gathered(text, 64);
  hlo_module_t* module = hlo_test_parse(text);
  const hlo_pass_options_t options = {.more = &hlo_spmd_pass_set};
  hlo_status_t status = hlo_passes_run(module, "windowed_einsum=desk", &options);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_machines),
      cmocka_unit_test(test_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
