// SPDX-License-Identifier: Apache-2.0
// Estimates of memory, computed by hand. A value "x" has 64 floats: 256 bytes.
#include "spmd/memory_estimate.h"

#include <string.h>

#include "ir/test_util.h"

#define X "tensor<64xf32>"
#define M "tensor<8x8xf32>"
#define PRODUCT(out, a, b)                                                                         \
  out " = stablehlo.dot_general " a ", " b ", contracting_dims = [1] x [0] : (" M ", " M ") -> " M \
      "\n"

typedef struct row {
  const char* name;
  const char* text;
  double arguments, results, aliases, temporaries;
} row_t;

static const row_t kRows[] = {
    {"one fusion",
     "func.func @main(%x: " X ") -> " X " {\n  %0 = stablehlo.sine %x : " X
     "\n  %1 = stablehlo.add %0, %x : " X "\n  return %1 : " X "\n}\n",
     256, 256, 0, 0},
    {"a product of a product",
     "func.func @main(%x: " M ") -> " M " {\n" PRODUCT("%0", "%x", "%x")
         PRODUCT("%1", "%0", "%x") "  return %1 : " M "\n}\n",
     256, 256, 0, 256},
    // %0 and %1 are alive at the second product, which makes the result.
    {"two factors",
     "func.func @main(%x: " M ") -> " M " {\n" PRODUCT("%0", "%x", "%x") PRODUCT("%1", "%0", "%x")
         PRODUCT("%2", "%0", "%1") "  return %2 : " M "\n}\n",
     256, 256, 0, 512},
    // The sine of %0 is written over it, or where the result is wanted.
    {"in place",
     "func.func @main(%x: " M ") -> " M
     " {\n" PRODUCT("%0", "%x", "%x") "  %1 = stablehlo.sine %0 : " M "\n  return %1 : " M "\n}\n",
     256, 256, 0, 0},
    {"a view",
     "func.func @main(%x: " M ") -> " X
     " {\n" PRODUCT("%0", "%x", "%x") "  %1 = stablehlo.reshape %0 : (" M ") -> " X
                                      "\n  return %1 : " X "\n}\n",
     256, 256, 0, 0},
    {"a donated argument",
     "func.func @main(%x: " X " {tf.aliasing_output = 0 : i32}) -> " X
     " {\n  %0 = stablehlo.sine %x : " X "\n  return %0 : " X "\n}\n",
     256, 256, 256, 0},
    // The loop runs where its result is wanted; an iteration makes a product beside it.
    {"a loop",
     "func.func @main(%x: " M ", %n: tensor<i32>) -> " M " {\n"
     "  %r:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, " M "\n  cond {\n"
     "    %c = stablehlo.compare GT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
     "    stablehlo.return %c : tensor<i1>\n  } do {\n" PRODUCT(
         "%p", "%v", "%v") "    stablehlo.return %i, %p : tensor<i32>, " M
                           "\n  }\n  return %r#1 : " M "\n}\n",
     260, 256, 0, 256},
};

static void test_estimates(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const row_t* row = &kRows[i];
    hlo_module_t* module = hlo_test_parse(row->text);
    hlo_memory_estimate_t estimate;
    hlo_test_check(hlo_memory_estimate(module, &estimate));
    if (estimate.argument_bytes != row->arguments || estimate.result_bytes != row->results ||
        estimate.alias_bytes != row->aliases || estimate.temporary_bytes != row->temporaries) {
      fail_msg("%s: %.0f, %.0f, %.0f, %.0f", row->name, estimate.argument_bytes,
               estimate.result_bytes, estimate.alias_bytes, estimate.temporary_bytes);
    }
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_estimates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
