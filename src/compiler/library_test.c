// SPDX-License-Identifier: Apache-2.0
// Every library function gives the interpreter's results: the same bits, or floats within a bound
// relative to the largest element.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "interp/program.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "lib/call.h"

/// A function with one call whose operands are the arguments, in order, then constants; $ stands
/// for each of `dtypes`. `is_dominant`: the first operand has large diagonals.
typedef struct library_case {
  const char *dtypes, *text;
  double bound;  // 0: the same bits
  bool is_dominant;
} library_case_t;

#define BODY(op)                                                   \
  " ({\n^bb0(%x: tensor<$>, %y: tensor<$>):\n  %r = stablehlo." op \
  " %x, %y : tensor<$>\n  stablehlo.return %r : tensor<$>\n})"
#define LESS                                                                         \
  " ({\n^bb0(%x: tensor<$>, %y: tensor<$>):\n  %r = stablehlo.compare LT, %x, %y : " \
  "(tensor<$>, tensor<$>) -> tensor<i1>\n  stablehlo.return %r : tensor<i1>\n})"
#define SELECT                                                                       \
  " ({\n^bb0(%x: tensor<$>, %y: tensor<$>):\n  %r = stablehlo.compare GE, %x, %y : " \
  "(tensor<$>, tensor<$>) -> tensor<i1>\n  stablehlo.return %r : tensor<i1>\n}, {\n" \
  "^bb0(%x: tensor<$>, %y: tensor<$>):\n  %r = stablehlo.add %x, %y : tensor<$>\n"   \
  "  stablehlo.return %r : tensor<$>\n})"
#define SCATTER(op) \
  "func.func @main(%a: tensor<30x7x$>, %i: tensor<50x1xi32>, %u: tensor<50x7x$>) -> "          \
  "tensor<30x7x$> {\n%0 = \"stablehlo.scatter\"(%a, %i, %u)" BODY(op)                           \
  " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "                \
  "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "  \
  "(tensor<30x7x$>, tensor<50x1xi32>, tensor<50x7x$>) -> tensor<30x7x$>\n"                     \
  "return %0 : tensor<30x7x$>\n}"
#define WINDOWS(op, init) \
  "func.func @main(%a: tensor<3x100x5x$>) -> tensor<3x46x5x$> {\n"                           \
  "%z = stablehlo.constant dense<" init                                                       \
  "> : tensor<$>\n%0 = \"stablehlo.reduce_window\"(%a, %z)" BODY(                            \
      op) " {window_dimensions = array<i64: 1, 11, 1>, window_strides = array<i64: 1, 2, 1>, " \
          "padding = dense<[[0, 0], [1, 0], [0, 0]]> : tensor<3x2xi64>} : "                    \
          "(tensor<3x100x5x$>, tensor<$>) -> tensor<3x46x5x$>\nreturn %0 : tensor<3x46x5x$>\n}"

static const library_case_t cases[] = {
    {"f32 f64 bf16 f16 i32 ui8 i64",
     "func.func @main(%a: tensor<9x40x$>) -> tensor<9x40x$> {\n%0 = \"stablehlo.sort\"(%a)" LESS
     " {dimension = 1 : i64, is_stable = true} : (tensor<9x40x$>) -> tensor<9x40x$>\n"
     "return %0 : tensor<9x40x$>\n}",
     0, false},
    {"f32 f64 i8 bf16 i32", SCATTER("maximum"), 0, false},
    {"i32 ui16", SCATTER("add"), 0, false},
    {"f32 f64", SCATTER("add"), 1e-6, false},
    {"f32", WINDOWS("maximum", "0xFF800000"), 0, false},
    {"bf16 f16", WINDOWS("add", "0.0"), 1e-2, false},
    {"f32 f64", WINDOWS("add", "0.0"), 1e-6, false},
    {"f32 f64 bf16",
     "func.func @main(%a: tensor<2x20x4x$>, %u: tensor<2x9x4x$>, %z: tensor<$>) -> "
     "tensor<2x20x4x$> {\n%0 = \"stablehlo.select_and_scatter\"(%a, %u, %z)" SELECT
     " {window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>} : "
     "(tensor<2x20x4x$>, tensor<2x9x4x$>, tensor<$>) -> tensor<2x20x4x$>\n"
     "return %0 : tensor<2x20x4x$>\n}",
     0, false},
    {"f32 i8 f64 complex<f32> i4",
     "func.func @main(%a: tensor<5x6x$>, %z: tensor<$>) -> tensor<11x14x$> {\n"
     "%0 = stablehlo.pad %a, %z, low = [1, -2], high = [-3, 5], interior = [2, 1] : "
     "(tensor<5x6x$>, tensor<$>) -> tensor<11x14x$>\nreturn %0 : tensor<11x14x$>\n}",
     0, false},
    {"f32 f64 complex<f32> complex<f64>",
     "func.func @main(%a: tensor<3x9x9x$>) -> tensor<3x9x9x$> {\n"
     "%0 = stablehlo.cholesky %a, lower = true : tensor<3x9x9x$>\nreturn %0 : tensor<3x9x9x$>\n}",
     1e-5, true},
    {"f32 f64",
     "func.func @main(%a: tensor<3x9x9x$>, %b: tensor<3x9x4x$>) -> tensor<3x9x4x$> {\n"
     "%0 = \"stablehlo.triangular_solve\"(%a, %b) {left_side = true, lower = true, "
     "unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : "
     "(tensor<3x9x9x$>, tensor<3x9x4x$>) -> tensor<3x9x4x$>\nreturn %0 : tensor<3x9x4x$>\n}",
     1e-5, true},
    {"complex<f32> complex<f64>",
     "func.func @main(%a: tensor<3x60x$>) -> tensor<3x60x$> {\n"
     "%0 = stablehlo.fft %a, type = FFT, length = [60] : (tensor<3x60x$>) -> tensor<3x60x$>\n"
     "return %0 : tensor<3x60x$>\n}",
     1e-5, false},
    {"ui32 ui64",
     "func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<7x5x$>) {\n"
     "%0:2 = \"stablehlo.rng_bit_generator\"(%s) {rng_algorithm = #stablehlo<rng_algorithm "
     "THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7x5x$>)\n"
     "return %0#0, %0#1 : tensor<2xui64>, tensor<7x5x$>\n}",
     0, false},
    {"f32 f64 bf16 i32 ui8",
     "func.func @main(%a: tensor<$>, %b: tensor<$>) -> tensor<7x11x$> {\n"
     "%s = stablehlo.constant dense<[7, 11]> : tensor<2xi64>\n%0 = stablehlo.rng %a, %b, %s, "
     "distribution = UNIFORM : (tensor<$>, tensor<$>, tensor<2xi64>) -> tensor<7x11x$>\n"
     "return %0 : tensor<7x11x$>\n}",
     0, false},
    {"f32 f64 f16",
     "func.func @main(%a: tensor<$>, %b: tensor<$>) -> tensor<7x11x$> {\n"
     "%s = stablehlo.constant dense<[7, 11]> : tensor<2xi64>\n%0 = stablehlo.rng %a, %b, %s, "
     "distribution = NORMAL : (tensor<$>, tensor<$>, tensor<2xi64>) -> tensor<7x11x$>\n"
     "return %0 : tensor<7x11x$>\n}",
     0, false},
    {"ui32",
     "func.func @main() -> tensor<$> {\n%0 = stablehlo.replica_id : tensor<$>\n"
     "return %0 : tensor<$>\n}",
     0, false},
    {"f32 bf16 i32",
     "func.func @main(%a: tensor<4x30x$>) -> (tensor<4x6x$>, tensor<4x6xi32>) {\n"
     "%0:2 = chlo.top_k(%a, k = 6) : tensor<4x30x$> -> (tensor<4x6x$>, tensor<4x6xi32>)\n"
     "return %0#0, %0#1 : tensor<4x6x$>, tensor<4x6xi32>\n}",
     0, false},
};

// ---- one case -----------------------------------------------------------------------------------

enum { TEXT_BYTES = 8192, VALUES_MAX = 8 };

static hlo_module_t* parse_case(const char* text, const char* dtype, size_t length) {
  char whole[TEXT_BYTES];
  size_t at = 0;
  for (; *text; ++text) {
    assert_true(at + length + 1 < sizeof whole);
    if (*text == '$') {
      memcpy(whole + at, dtype, length);
      at += length;
    } else {
      whole[at++] = *text;
    }
  }
  hlo_diag_t diag;
  hlo_diag_init(&diag, "case", whole, at);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(whole, at, "case", &diag, &module);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &diag);
  if (!hlo_status_is_ok(status)) fail_msg("%.*s\n%s", (int)at, whole, hlo_status_message(status));
  hlo_diag_deinit(&diag);
  return module;
}

// Small numbers, so that indices are valid and sums do not overflow.
static hlo_tensor_t* random_tensor(const hlo_type_t* type, bool is_dominant) {
  static uint64_t state = 1;
  hlo_tensor_t* tensor = NULL;
  assert_true(hlo_status_is_ok(hlo_tensor_create(type->dtype, type->rank, type->dims, &tensor)));
  const hlo_dtype_info_t* info = hlo_dtype_info(type->dtype);
  const bool is_complex = hlo_dtype_is_complex(type->dtype);
  const hlo_dtype_t part = is_complex ? info->part : type->dtype;
  const int64_t parts = is_complex ? 2 : 1, columns = type->rank ? type->dims[type->rank - 1] : 1;
  for (int64_t i = 0; i < tensor->element_count * parts; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double number = (double)(state >> 40) / (1 << 24);
    const int64_t element = i / parts;
    double value = hlo_dtype_is_integer(part) ? floor(number * 7) : 2 * number - 1;
    if (is_dominant && element % columns == element / columns % columns) value = i % parts ? 0 : 9;
    hlo_dtype_store_double(part, (char*)tensor->data + (size_t)i * hlo_dtype_size_bytes(part),
                           value);
  }
  return tensor;
}

static void expect_close(const hlo_tensor_t* want, const hlo_tensor_t* have, double bound,
                         const char* text) {
  if (bound == 0 || hlo_dtype_is_integer(want->dtype)) {
    if (memcmp(want->data, have->data, want->size_bytes) != 0) fail_msg("other bits: %s", text);
    return;
  }
  const bool is_complex = hlo_dtype_is_complex(want->dtype);
  const hlo_dtype_t part = is_complex ? hlo_dtype_info(want->dtype)->part : want->dtype;
  const size_t bytes = hlo_dtype_size_bytes(part), count = want->size_bytes / bytes;
  double largest = 0, error = 0;
  for (size_t i = 0; i < count; ++i) {
    const double w = hlo_dtype_load_double(part, (const char*)want->data + i * bytes);
    const double h = hlo_dtype_load_double(part, (const char*)have->data + i * bytes);
    largest = fmax(largest, fabs(w));
    error = fmax(error, fabs(w - h));
  }
  if (!(error <= bound * largest)) fail_msg("error %g of %g: %s", error, largest, text);
}

static void run_case(const library_case_t* c, const char* dtype, size_t length) {
  hlo_module_t* module = parse_case(c->text, dtype, length);
  const hlo_func_t* func = hlo_module_entry(module);
  const hlo_node_t* node = func->body->first;
  while (node->op == HLO_OP_constant) node = node->next;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_lib_call_t* call = NULL;
  assert_true(hlo_status_is_ok(hlo_lib_call_prepare(node, &arena, &call)));
  if (!call) fail_msg("no library function for %.*s: %s", (int)length, dtype, c->text);
  hlo_tensor_t *inputs[VALUES_MAX], *want[VALUES_MAX] = {0}, *have[VALUES_MAX] = {0};
  void* addresses[2 * VALUES_MAX];
  const uint32_t in = func->body->arg_count, count = node->operand_count, out = node->result_count;
  for (uint32_t i = in; i < count; ++i) {
    const hlo_node_t* constant = hlo_node_operand(node, i)->def;
    addresses[i] = (void*)(uintptr_t)hlo_node_attr(constant, HLO_ATTR_value)->literal->data;
  }
  for (uint32_t i = 0; i < in; ++i) {
    inputs[i] = random_tensor(func->body->args[i]->type, c->is_dominant && i == 0);
    addresses[i] = inputs[i]->data;
  }
  for (uint32_t i = 0; i < out; ++i) {
    have[i] = random_tensor(node->results[i].type, false);
    addresses[count + i] = have[i]->data;
  }
  hlo_interp_program_t* program = NULL;
  assert_true(hlo_status_is_ok(hlo_interp_program_create(module, &program)));
  assert_true(hlo_status_is_ok(hlo_interp_call(program, func, in, inputs, out, want, NULL)));
  uint8_t saved[HLO_PROGRAM_SAVED_START] = {0};
  hlo_frame_t frame = {.saved = saved};
  assert_true(hlo_status_is_ok(hlo_lib_call_run(call, &frame, addresses)));
  for (uint32_t i = 0; i < out; ++i) expect_close(want[i], have[i], c->bound, c->text);
  for (uint32_t i = 0; i < in; ++i) hlo_tensor_release(inputs[i]);
  for (uint32_t i = 0; i < out; ++i) {
    hlo_tensor_release(want[i]);
    hlo_tensor_release(have[i]);
  }
  hlo_interp_program_release(program);
  hlo_lib_call_deinit(call);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

static void library_functions_give_the_interpreters_results(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (const char* dtype = cases[i].dtypes; *dtype;) {
      const size_t length = strcspn(dtype, " ");
      run_case(&cases[i], dtype, length);
      dtype += length;
      dtype += *dtype == ' ';
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(library_functions_give_the_interpreters_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
