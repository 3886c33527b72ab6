// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of images: any bytes are refused, or give tables that stay within the module
// and the given sizes. The code itself is not run.
#include "base/fuzz.h"
#include "base/mem.h"
#include "codegen/image/image.h"
#include "codegen/lower/prepare.h"
#include "ir/infer.h"
#include "ir/parse.h"

#include <string.h>

// A program with constants, large copies, a loop, and library calls with and without regions.
static const char kProgram[] =
    "func.func @main(%a: tensor<600xf32>) -> (tensor<600xf32>, tensor<9000xi32>, tensor<600xf32>) "
    "{\n"
    "  %n = stablehlo.constant dense<5> : tensor<9000xi32>\n"
    "  %d = stablehlo.constant dense<[1, 0]> : tensor<2xi32>\n"
    "  %o = \"stablehlo.sort\"(%a) ({\n"
    "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
    "    %t = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %t : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<600xf32>) -> tensor<600xf32>\n"
    "  %e = stablehlo.slice %d [0:1] : (tensor<2xi32>) -> tensor<1xi32>\n"
    "  %s = stablehlo.reshape %e : (tensor<1xi32>) -> tensor<i32>\n"
    "  %u = stablehlo.dynamic_update_slice %o, %a, %s\n"
    "      : (tensor<600xf32>, tensor<600xf32>, tensor<i32>) -> tensor<600xf32>\n"
    "  return %o, %n, %u : tensor<600xf32>, tensor<9000xi32>, tensor<600xf32>\n"
    "}\n";

static const hlo_module_t* the_module(void) {
  static hlo_module_t* prepared;
  if (prepared) return prepared;
  hlo_module_t* module = NULL;
  hlo_strbuf_t refusal = {0};
  hlo_status_release(hlo_parse_module(kProgram, strlen(kProgram), "fuzz.mlir", NULL, &module));
  hlo_status_release(hlo_module_verify(module, NULL));
  hlo_status_release(hlo_prepare_module(module, "main", NULL, &refusal, &prepared));
  hlo_module_release(module);
  hlo_strbuf_deinit(&refusal);
  return prepared;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const hlo_func_t* entry = hlo_module_find_func(the_module(), "main");
  hlo_arena_t arena;
  hlo_arena_init(&arena, ((size_t)16 << 20) + 64 * size);
  hlo_image_t image;
  hlo_status_release(hlo_image_read(data, size, entry, &arena, &image));
  hlo_call_site_table_deinit(&image.table);
  hlo_arena_deinit(&arena);
  return 0;
}
