// SPDX-License-Identifier: Apache-2.0
// Tests of the vector IR's verifier and printer.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/vir/test_util.h"
#include "codegen/vir/tile.h"

static const hlo_vir_type_t i32x8 = {HLO_VIR_I32, 8};
static const hlo_vir_type_t index_type = {HLO_VIR_INDEX, 1};

static hlo_vir_value_t* load(hlo_vir_builder_t* b, hlo_vir_type_t type) {
  return hlo_vir_emit(b, HLO_VIR_load, type, 0, 0, 1, (hlo_vir_value_t*[]){hlo_vir_param(b, 1)});
}

// Ends the function and asks for one fault whose text has `what`; NULL: for none.
static void expect(hlo_test_vir_t* t, uint32_t vector_bytes, const char* what) {
  hlo_vir_return(&t->b, hlo_vir_iconst(&t->b, 0));
  hlo_status_t status = hlo_vir_verify(t->module, vector_bytes);
  if (!what) {
    if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
    return;
  }
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  if (!strstr(hlo_status_message(status), what)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void test_types(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_binary(&t->b, HLO_VIR_fadd, load(&t->b, f32x8), load(&t->b, i32x8));
  expect(t, 0, "fadd (debug id 0): type of an operand");
}

static void test_result_type(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_value_t* x = load(&t->b, f32x8);
  hlo_vir_emit(&t->b, HLO_VIR_fcmp, hlo_vir_type(HLO_VIR_MASK, 4), 0, 0, 2,
               (hlo_vir_value_t*[]){x, x});
  expect(t, 0, "fcmp (debug id 0): type of the result");
}

static void test_conversion(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_convert(&t->b, HLO_VIR_sext, HLO_VIR_I16, load(&t->b, i32x8));
  expect(t, 0, "conversion between these types");
}

static void test_width(void** state) {
  hlo_test_vir_t* t = *state;
  load(&t->b, f32x8);
  expect(t, 32, NULL);
  expect(t, 16, "load (debug id 0): wider than a vector register");
}

static void test_absent_operand(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_emit(&t->b, HLO_VIR_fadd, f32x8, 0, 0, 1, (hlo_vir_value_t*[]){load(&t->b, f32x8)});
  expect(t, 0, "an operand is absent");
}

static void test_immediates(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_param(&t->b, 3);
  expect(t, 0, "param (debug id 0): immediate");
  hlo_vir_unary_imm(&t->b, HLO_VIR_shli, load(&t->b, i32x8), 32);
  expect(t, 0, "shli (debug id 0): immediate");
  hlo_vir_emit(&t->b, HLO_VIR_rodata, index_type, 0, 0, 0, NULL);
  expect(t, 0, "rodata (debug id 0): immediate");
  hlo_vir_break_if(&t->b, hlo_vir_param(&t->b, 0));
  expect(t, 0, "break_if (debug id 0): immediate, flags or position");
  hlo_vir_suspend(&t->b, 1);
  expect(t, 0, "suspend (debug id 0): immediate");
  hlo_vir_value_t* no_var[] = {hlo_vir_param(&t->b, 0), hlo_vir_param(&t->b, 1)};
  hlo_vir_emit(&t->b, HLO_VIR_set, hlo_vir_type(HLO_VIR_VOID, 0), 0, 0, 2,
               no_var);  // hlo_vir_set() asserts
  expect(t, 0, "set (debug id 0): immediate");
}

static void tile(hlo_test_vir_t* t, hlo_vir_opcode_t op, uint32_t flags, int64_t imm) {
  hlo_vir_emit(&t->b, op, hlo_vir_type(HLO_VIR_VOID, 0), flags, imm, 0, NULL);
}

static void test_tiles(void** state) {
  hlo_test_vir_t* t = *state;
  const uint8_t rows[HLO_VIR_TILE_COUNT] = {3, 0, 16};
  tile(t, HLO_VIR_tile_config, 0, hlo_vir_tile_config(rows));
  tile(t, HLO_VIR_tile_zero, 0, 2);
  hlo_vir_value_t* base = hlo_vir_param(&t->b, 1);
  hlo_vir_emit(&t->b, HLO_VIR_tile_load, hlo_vir_type(HLO_VIR_VOID, 0), hlo_vir_tile_flags(2, 16),
               -64, 2, (hlo_vir_value_t*[]){base, base});
  tile(t, HLO_VIR_tile_dot, HLO_VIR_TILE_BF16, hlo_vir_tile_operands(0, 1, 2));
  tile(t, HLO_VIR_tile_release, 0, 0);
  hlo_strbuf_t text = {0};
  hlo_vir_print(t->module, &text);
  assert_string_equal(hlo_strbuf_text(&text),
                      "chunk f(3) {\n"
                      "  tile_config 3 0 16 0 0 0 0 0\n"
                      "  tile_zero 2\n"
                      "  %2:index = param 1\n"
                      "  tile_load %2, %2 #-64 tile 2 of 16 rows\n"
                      "  tile_dot bf16 0 1 2\n"
                      "  tile_release\n"
                      "}\n");
  hlo_strbuf_deinit(&text);
  expect(t, 0, NULL);
  tile(t, HLO_VIR_tile_config, 0, 17);
  expect(t, 0, "tile_config (debug id 0): immediate");
  tile(t, HLO_VIR_tile_zero, 0, HLO_VIR_TILE_COUNT);
  expect(t, 0, "tile_zero (debug id 0): immediate");
  tile(t, HLO_VIR_tile_dot, HLO_VIR_TILE_BF16, hlo_vir_tile_operands(0, 1, 1));
  expect(t, 0, "tile_dot (debug id 0): immediate");
  tile(t, HLO_VIR_tile_load, 0, 0);
  expect(t, 0, "tile_load (debug id 0): an operand is absent");
}

static void test_unknown_values(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_value_t* i =
      hlo_vir_begin_for(&t->b, hlo_vir_iconst(&t->b, 0), hlo_vir_param(&t->b, 2), 1, 0);
  hlo_vir_value_t* x = load(&t->b, f32x8);
  hlo_vir_binary(&t->b, HLO_VIR_fadd, x, x);
  hlo_vir_end(&t->b);
  expect(t, 0, NULL);
  hlo_vir_set(&t->b, hlo_vir_var(&t->b, x), x);
  expect(t, 0, "with 2 faults");
  hlo_vir_index(&t->b, HLO_VIR_imul, i, i);
  expect(t, 0, "imul (debug id 0): an operand is not known here");
}

static void test_var_bound(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_value_t* var = hlo_vir_var(&t->b, hlo_vir_param(&t->b, 2));
  hlo_vir_value_t* i = hlo_vir_begin_for(&t->b, hlo_vir_iconst(&t->b, 0), var, 1, 0);
  hlo_vir_end(&t->b);
  assert_ptr_not_equal(i->operands[1], var);
  expect(t, 0, NULL);
  i->operands[1] = var;
  expect(t, 0, "for (debug id 0): immediate, flags or position");
}

static void test_use_before(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_value_t* x = load(&t->b, f32x8);
  hlo_vir_value_t* sum = hlo_vir_binary(&t->b, HLO_VIR_fadd, x, x);
  x->operands[0] = sum;
  expect(t, 0, "load (debug id 0): an operand is not known here");
}

static void test_no_return(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_status_t status = hlo_vir_verify(t->module, 0);
  assert_non_null(strstr(hlo_status_message(status), "f: does not end with return"));
  hlo_status_release(status);
}

static void test_links(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_value_t* x = load(&t->b, f32x8);
  hlo_vir_begin_if(&t->b, hlo_vir_param(&t->b, 2));
  hlo_vir_end(&t->b);
  t->func->body->last->body->depth = 5;
  x->prev = NULL;
  expect(t, 0, "load (debug id 0): links");
  expect(t, 0, "if (debug id 0): a body's owner, parent or depth");
}

static void test_print(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t *base = hlo_vir_param(b, 1), *zero = hlo_vir_iconst(b, 0);
  b->debug_id = 3;
  hlo_vir_value_t* i = hlo_vir_begin_for(b, zero, hlo_vir_param(b, 2), 8, HLO_VIR_PARALLEL_SAFE);
  hlo_vir_value_t* x =
      hlo_vir_emit(b, HLO_VIR_load, f32x8, 2, -16, 2, (hlo_vir_value_t*[]){base, i});
  hlo_vir_value_t* half = hlo_vir_const_float(b, f32x8, 0.5);
  hlo_vir_value_t* mask = hlo_vir_compare(b, HLO_VIR_fcmp, HLO_VIR_LT, x, half);
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), HLO_VIR_STREAM, 64, 4,
               (hlo_vir_value_t*[]){hlo_vir_unary_imm(b, HLO_VIR_fround, x, HLO_VIR_FLOOR), base,
                                    NULL, mask});
  hlo_vir_end(b);
  b->debug_id = 0;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GE, base, zero));
  hlo_vir_istore(b, zero, base, 8, 0);
  hlo_vir_begin_else(b);
  hlo_vir_begin_loop(b);
  hlo_vir_break_if(b, base);
  hlo_vir_end(b);
  hlo_vir_end(b);
  hlo_vir_return(b, zero);
  hlo_strbuf_t text = {0};
  hlo_vir_print(t->module, &text);
  assert_string_equal(hlo_strbuf_text(&text),
                      "chunk f(3) {\n"
                      "  %0:index = param 1\n"
                      "  %1:index = iconst 0\n"
                      "  %2:index = param 2  ; debug 3\n"
                      "  %5:f32x8 = const 0.5  ; debug 3\n"
                      "  %3:index = for %1, %2 step 8 parallel_safe {  ; debug 3\n"
                      "    %4:f32x8 = load [%0 + %3 << 2 - 16]  ; debug 3\n"
                      "    %6:maskx8 = fcmp %4, %5 lt  ; debug 3\n"
                      "    %7:f32x8 = fround %4 floor  ; debug 3\n"
                      "    store %7 [%0 + 64] mask %6 stream  ; debug 3\n"
                      "  }\n"
                      "  %9:index = icmp %0, %1 ge\n"
                      "  if %9 {\n"
                      "    istore %1 [%0 + 8] bytes 8\n"
                      "  } else {\n"
                      "    loop {\n"
                      "      break_if %0\n"
                      "    }\n"
                      "  }\n"
                      "  return %1\n"
                      "}\n");
  hlo_strbuf_deinit(&text);
  assert_true(hlo_status_is_ok(hlo_vir_verify(t->module, 32)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_types),      TEST(test_result_type),    TEST(test_conversion),
      TEST(test_width),      TEST(test_absent_operand), TEST(test_immediates),
      TEST(test_use_before), TEST(test_unknown_values), TEST(test_no_return),
      TEST(test_links),      TEST(test_var_bound),      TEST(test_print),
      TEST(test_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
