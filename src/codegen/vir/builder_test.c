// SPDX-License-Identifier: Apache-2.0
// Tests of building vector IR: places of pure instructions, merging, folding, memory failures.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/vir/test_util.h"

static hlo_vir_value_t* iadd_const(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t c) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, hlo_vir_iconst(b, c));
}

static hlo_vir_value_t* load(hlo_vir_builder_t* b, hlo_vir_value_t* base, hlo_vir_value_t* index,
                             uint32_t flags) {
  return hlo_vir_emit(b, HLO_VIR_load, f32x8, flags, 0, 3, (hlo_vir_value_t*[]){base, index, NULL});
}

// Returns true if x comes before y in the same block.
static bool is_before(const hlo_vir_value_t* x, const hlo_vir_value_t* y) {
  if (x->parent != y->parent) return false;
  while (x && x != y) x = x->next;
  return x == y;
}

static void test_hoisting(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t* n = hlo_vir_param(b, 1);
  hlo_vir_value_t* i = hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), n, 1, 0);
  hlo_vir_value_t* j = hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), n, 1, 0);
  hlo_vir_value_t* outer = hlo_vir_index(b, HLO_VIR_imul, n, n);
  hlo_vir_value_t* middle = hlo_vir_index(b, HLO_VIR_imul, i, n);
  hlo_vir_value_t* inner = hlo_vir_index(b, HLO_VIR_imul, i, j);
  assert_ptr_equal(outer->parent, t->func->body);
  assert_true(is_before(outer, i));
  assert_ptr_equal(middle->parent, i->body);
  assert_true(is_before(middle, j));
  assert_ptr_equal(inner->parent, j->body);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_imul, i, n), middle);
  hlo_vir_end(b);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_imul, i, n), middle);
  hlo_vir_value_t* behind = hlo_vir_index(b, HLO_VIR_ixor, i, n);
  assert_ptr_equal(behind->parent, i->body);
  assert_true(is_before(j, behind));
  hlo_vir_end(b);
  assert_ptr_equal(b->block, t->func->body);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_imul, n, n), outer);
}

static void test_closed_blocks(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t *n = hlo_vir_param(b, 1), *base = hlo_vir_param(b, 2);
  hlo_vir_begin_if(b, n);
  hlo_vir_value_t* x = load(b, base, NULL, 0);
  hlo_vir_value_t* sum = hlo_vir_binary(b, HLO_VIR_fadd, x, x);
  hlo_vir_value_t* quotient = hlo_vir_index(b, HLO_VIR_idiv, base, n);
  assert_ptr_equal(sum->parent, b->block);
  assert_ptr_equal(quotient->parent, b->block);  // n may be 0 outside
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_idiv, base, n), quotient);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_idiv, base, hlo_vir_iconst(b, 3))->parent,
                   t->func->body);
  hlo_vir_begin_else(b);
  assert_ptr_equal(b->block, x->parent->owner->other_body);
  assert_ptr_not_equal(hlo_vir_index(b, HLO_VIR_idiv, base, n), quotient);
  hlo_vir_end(b);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_idiv, base, n)->parent, t->func->body);
  // Loads merge only when nothing can change the memory.
  assert_ptr_not_equal(load(b, base, NULL, 0), load(b, base, NULL, 0));
  hlo_vir_begin_loop(b);
  hlo_vir_value_t* invariant = load(b, base, NULL, HLO_VIR_INVARIANT);
  assert_ptr_equal(invariant->parent, t->func->body);
  assert_ptr_equal(load(b, base, NULL, HLO_VIR_INVARIANT), invariant);
  // Nor are they made where an `if` may say that there is no such element.
  hlo_vir_begin_if(b, n);
  hlo_vir_block_t* guarded = b->block;
  hlo_vir_begin_loop(b);
  assert_ptr_equal(load(b, n, NULL, HLO_VIR_INVARIANT)->parent, guarded);
  assert_ptr_equal(load(b, base, NULL, HLO_VIR_INVARIANT), invariant);
  hlo_vir_value_t* address = hlo_vir_iload(b, n, 0, HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  assert_ptr_equal(address->parent, t->func->body);
  hlo_vir_end(b);
  hlo_vir_end(b);
  hlo_vir_end(b);
}

static void test_vars(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t* var = hlo_vir_var(b, hlo_vir_iconst(b, 0));
  hlo_vir_begin_loop(b);
  hlo_vir_value_t* first = iadd_const(b, var, 1);
  hlo_vir_value_t* copy = iadd_const(b, var, 0);
  hlo_vir_set(b, var, first);
  assert_ptr_equal(first->parent, b->block);
  assert_ptr_not_equal(copy, var);
  assert_ptr_not_equal(iadd_const(b, var, 1), first);
  // first + 2 is not var + 3: var is another value here.
  hlo_vir_value_t* sum = iadd_const(b, first, 2);
  assert_ptr_equal(sum->operands[0], first);
  assert_ptr_equal(iadd_const(b, sum, 1)->operands[0], first);
  hlo_vir_value_t* loaded = load(b, first, NULL, 0);
  assert_ptr_equal(loaded->operands[0], first);
  hlo_vir_break_if(b, var);
  hlo_vir_end(b);
}

static void test_index_folding(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_value_t *x = hlo_vir_param(b, 1), *y = hlo_vir_param(b, 2);
  hlo_vir_value_t* seven = hlo_vir_iconst(b, 7);
  assert_int_equal(hlo_vir_index(b, HLO_VIR_imul, seven, seven)->imm, 49);
  assert_ptr_equal(hlo_vir_iconst(b, 7), seven);
  assert_ptr_equal(iadd_const(b, x, 0), x);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_imul, x, hlo_vir_iconst(b, 1)), x);
  assert_int_equal(hlo_vir_index(b, HLO_VIR_imul, hlo_vir_iconst(b, 0), x)->imm, 0);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_idiv, x, hlo_vir_iconst(b, 1)), x);
  assert_int_equal(hlo_vir_index(b, HLO_VIR_irem, x, hlo_vir_iconst(b, 1))->imm, 0);
  assert_ptr_equal(iadd_const(b, iadd_const(b, x, 3), 4), iadd_const(b, x, 7));
  assert_ptr_equal(iadd_const(b, iadd_const(b, x, 3), -3), x);
  // ((x + 3) + (y + 4)) * 8 is (x + y) * 8 + 56.
  hlo_vir_value_t* sum = hlo_vir_index(b, HLO_VIR_iadd, iadd_const(b, x, 3), iadd_const(b, y, 4));
  hlo_vir_value_t* scaled = hlo_vir_index(b, HLO_VIR_imul, sum, hlo_vir_iconst(b, 8));
  assert_int_equal(scaled->op, HLO_VIR_iadd);
  assert_int_equal(scaled->operands[1]->imm, 56);
  assert_ptr_equal(hlo_vir_index(b, HLO_VIR_isub, scaled, hlo_vir_iconst(b, 56)),
                   scaled->operands[0]);
  assert_int_equal(hlo_vir_index(b, HLO_VIR_isub, iadd_const(b, x, 9), iadd_const(b, x, 2))->imm,
                   7);
  assert_int_equal(hlo_vir_icmp(b, HLO_VIR_LE, x, x)->imm, 1);
  assert_int_equal(hlo_vir_icmp(b, HLO_VIR_GT, seven, hlo_vir_iconst(b, 8))->imm, 0);
  assert_int_equal(hlo_vir_index(b, HLO_VIR_idiv, seven, hlo_vir_iconst(b, 0))->op, HLO_VIR_idiv);
}

static void test_address_folding(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_value_t *x = hlo_vir_param(b, 1), *y = hlo_vir_param(b, 2);
  hlo_vir_value_t* loaded = load(b, iadd_const(b, x, 64), iadd_const(b, y, 3), 2);
  assert_ptr_equal(loaded->operands[0], x);
  assert_ptr_equal(loaded->operands[1], y);
  assert_int_equal(loaded->imm, 76);
  assert_int_equal(loaded->operand_count, 2);
  hlo_vir_value_t* far = load(b, iadd_const(b, x, INT64_C(1) << 40), NULL, 0);
  assert_int_equal(far->imm, 0);
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, 8, 4,
               (hlo_vir_value_t*[]){loaded, iadd_const(b, x, 8), NULL, NULL});
  assert_int_equal(b->block->last->imm, 16);
  assert_int_equal(b->block->last->operand_count, 2);
}

static void test_single_trip(void** state) {
  hlo_test_vir_t* t = *state;
  hlo_vir_builder_t* b = &t->b;
  hlo_vir_value_t *zero = hlo_vir_iconst(b, 0), *sixteen = hlo_vir_iconst(b, 16);
  hlo_vir_value_t* i = hlo_vir_begin_for(b, zero, sixteen, 16, 0);
  assert_ptr_equal(i, zero);
  hlo_vir_value_t* j = hlo_vir_begin_for(b, zero, sixteen, 8, 0);
  assert_int_equal(j->op, HLO_VIR_for);
  hlo_vir_begin_for(b, zero, sixteen, 99, 0);
  assert_ptr_equal(b->block, j->body);
  hlo_vir_end(b);
  assert_ptr_equal(b->block, j->body);
  hlo_vir_end(b);
  assert_ptr_equal(b->block, t->func->body);
  hlo_vir_end(b);
  assert_ptr_equal(b->block, t->func->body);
  assert_int_equal(hlo_vir_begin_for(b, sixteen, zero, 99, 0)->op, HLO_VIR_for);
  hlo_vir_end(b);
}

// In a format with more exponents the product is exact, and rounded once.
static void test_scale(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  b->module->subnormals = HLO_SUBNORMALS_KEEP;
  hlo_vir_type_t f32 = hlo_vir_type(HLO_VIR_F32, 1), f64 = hlo_vir_type(HLO_VIR_F64, 1);
  static const double factors[] = {1, 1.5, -0x1.000002p0, 0x1.fffffep0, 0x1.555556p-1, 0x1.8p-140};
  for (int k = 0; k < (int)(sizeof factors / sizeof *factors); ++k) {
    for (int n = -300; n <= 300; ++n) {
      hlo_vir_value_t* got =
          hlo_vir_binary(b, HLO_VIR_scale, hlo_vir_const_float(b, f32, factors[k]),
                         hlo_vir_const_float(b, f32, n));
      assert_ptr_equal(got, hlo_vir_const_float(b, f32, (float)ldexp(factors[k], n)));
      const int far = 4 * n;
      got = hlo_vir_binary(b, HLO_VIR_scale, hlo_vir_const_float(b, f64, factors[k]),
                           hlo_vir_const_float(b, f64, far + 0.75));
      assert_ptr_equal(got, hlo_vir_const_float(b, f64, (double)ldexpl(factors[k], far)));
    }
  }
}

// Constants are folded as the code would compute them.
static void test_folded_subnormals(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  const hlo_vir_type_t f32 = hlo_vir_type(HLO_VIR_F32, 1), f64 = hlo_vir_type(HLO_VIR_F64, 1);
  const double small[] = {0x1p-126, 0x1p-1022};
  for (int i = 0; i < 4; ++i) {
    const hlo_vir_type_t type = i % 2 ? f64 : f32;
    b->module->subnormals = i < 2 ? HLO_SUBNORMALS_KEEP : HLO_SUBNORMALS_FLUSH;
    hlo_vir_value_t* half =
        hlo_vir_binary(b, HLO_VIR_fmul, hlo_vir_const_float(b, type, small[i % 2]),
                       hlo_vir_const_float(b, type, 0.5));
    assert_ptr_equal(half, hlo_vir_const_float(b, type, i < 2 ? small[i % 2] / 2 : 0));
    hlo_vir_value_t* subnormal = hlo_vir_const_float(b, type, small[i % 2] / 4);
    hlo_vir_value_t* most =
        hlo_vir_binary(b, HLO_VIR_fmax, subnormal, hlo_vir_const_float(b, type, -1));
    assert_ptr_equal(most, i < 2 ? subnormal : hlo_vir_const_float(b, type, 0));
  }
}

static void test_vector_constants(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_type_t mask_type = {HLO_VIR_MASK, 8};
  hlo_vir_value_t* n = hlo_vir_iconst(b, 3);
  hlo_vir_value_t* some = hlo_vir_emit(b, HLO_VIR_mask_first, mask_type, 0, 0, 1, &n);
  assert_int_equal(some->op, HLO_VIR_mask_const);
  assert_int_equal(some->imm, 7);
  hlo_vir_value_t* rest = hlo_vir_unary(b, HLO_VIR_mask_not, some);
  assert_int_equal(rest->imm, 0xf8);
  n = hlo_vir_iconst(b, 1000);
  hlo_vir_value_t* all = hlo_vir_emit(b, HLO_VIR_mask_first, mask_type, 0, 0, 1, &n);
  assert_int_equal(all->imm, 0xff);
  assert_ptr_equal(hlo_vir_binary(b, HLO_VIR_mask_and, all, some), some);
  hlo_vir_value_t* x = hlo_vir_const_float(b, f32x8, 1.5);
  hlo_vir_value_t* y = load(b, hlo_vir_param(b, 1), NULL, 0);
  assert_int_equal(x->imm, 0x3fc00000);
  assert_ptr_equal(hlo_vir_ternary(b, HLO_VIR_select, all, x, y), x);
  assert_ptr_equal(
      hlo_vir_ternary(b, HLO_VIR_select, hlo_vir_unary(b, HLO_VIR_mask_not, all), x, y), y);
}

// Bits that are shifted out need not be cleared; bits that are what they were need no cast.
static void test_bits(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_type_t i32x8 = hlo_vir_type(HLO_VIR_I32, 8);
  hlo_vir_value_t* x = load(b, hlo_vir_param(b, 1), NULL, 0);
  hlo_vir_value_t* bits = hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_I32, x);
  assert_ptr_equal(hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_F32, bits), x);
  hlo_vir_value_t* upper = hlo_vir_const_bits(b, i32x8, 0xffff0000);
  hlo_vir_value_t* cleared = hlo_vir_binary(b, HLO_VIR_and, bits, upper);
  hlo_vir_value_t* shifted = hlo_vir_unary_imm(b, HLO_VIR_lshri, cleared, 16);
  assert_ptr_equal(shifted, hlo_vir_unary_imm(b, HLO_VIR_lshri, bits, 16));
  assert_ptr_equal(hlo_vir_unary_imm(b, HLO_VIR_lshri, cleared, 15)->operands[0], cleared);
}

static void test_blobs(void** state) {
  hlo_test_vir_t* t = *state;
  char text[100] = "constant";
  uint32_t first = hlo_vir_module_add_blob(t->module, text, sizeof text);
  assert_int_equal(hlo_vir_module_add_blob(t->module, text, sizeof text), first);
  for (char c = 0; c < 40; ++c) {
    text[50] = (char)(c + 1);
    uint32_t number = hlo_vir_module_add_blob(t->module, text, sizeof text);
    assert_int_equal(number, first + 1 + (uint32_t)c);
  }
  assert_int_equal(t->module->blob_count, 41);
  assert_int_equal((uintptr_t)t->module->blobs[40].bytes % 64, 0);
  assert_int_equal(t->module->blobs[40].bytes[50], 40);
}

// After a fence a load that never changes is made again, and stays inside the loop that was open.
static void test_fence(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_value_t* base = hlo_vir_param(b, 1);
  hlo_vir_value_t* before = load(b, base, NULL, HLO_VIR_INVARIANT);
  assert_ptr_equal(load(b, base, NULL, HLO_VIR_INVARIANT), before);
  hlo_vir_begin_loop(b);
  hlo_vir_fence(b);
  hlo_vir_block_t* loop = b->block;
  hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_param(b, 2), 1, 0);
  hlo_vir_value_t* after = load(b, base, NULL, HLO_VIR_INVARIANT);
  assert_ptr_not_equal(after, before);
  assert_ptr_equal(after->parent, loop);
  assert_ptr_equal(load(b, base, NULL, HLO_VIR_INVARIANT), after);
  hlo_vir_end(b);
  hlo_vir_end(b);
}

static hlo_vir_value_t* prefetch(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset) {
  return hlo_vir_emit(b, HLO_VIR_prefetch, hlo_vir_type(HLO_VIR_VOID, 0), 0, offset, 1, &base);
}

// Lines are fetched once where they are, in the block that says so, and there only.
static void test_prefetches(void** state) {
  hlo_vir_builder_t* b = &((hlo_test_vir_t*)*state)->b;
  hlo_vir_value_t* base = hlo_vir_param(b, 1);
  hlo_vir_value_t* first = prefetch(b, iadd_const(b, base, 64), 64);
  assert_ptr_equal(prefetch(b, base, 128), first);
  assert_ptr_not_equal(prefetch(b, base, 192), first);
  hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_param(b, 2), 1, 0);
  assert_ptr_equal(prefetch(b, base, 128)->parent, b->block);
  hlo_vir_end(b);
  hlo_vir_value_t* var = hlo_vir_var(b, base);
  assert_ptr_not_equal(prefetch(b, var, 128), prefetch(b, var, 128));
}

// A function with every kind of block; what is built is not looked at.
static void build_some(hlo_vir_module_t* module) {
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, hlo_vir_func_create(module, "some", 3, false));
  hlo_vir_value_t* n = hlo_vir_param(&b, 1);
  for (int round = 0; round < 60; ++round) {
    hlo_vir_value_t* i = hlo_vir_begin_for(&b, hlo_vir_iconst(&b, round), n, 1, 0);
    hlo_vir_begin_if(&b, i);
    load(&b, i, n, 0);
    hlo_vir_begin_else(&b);
    hlo_vir_value_t* var = hlo_vir_var(&b, i);
    hlo_vir_begin_loop(&b);
    hlo_vir_break_if(&b, iadd_const(&b, var, round + 100));
    hlo_vir_end(&b);
    hlo_vir_end(&b);
    hlo_vir_end(&b);
    hlo_vir_module_add_blob(module, &round, sizeof round);
  }
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
}

static void test_memory_failures(void** state) {
  (void)state;
  for (uint64_t n = 1; n < 10000; ++n) {
    hlo_vir_module_t* module = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_vir_module_create(&module);
    if (hlo_status_is_ok(status)) {
      build_some(module);
      status = hlo_vir_module_status(module);
    }
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    hlo_vir_module_release(module);
    assert_int_equal(hlo_status_is_ok(status), !failed);
    hlo_status_release(status);
    if (!failed) {
      assert_true(n > 3);
      return;
    }
  }
  fail();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_hoisting, setup, teardown),
      cmocka_unit_test_setup_teardown(test_fence, setup, teardown),
      cmocka_unit_test_setup_teardown(test_prefetches, setup, teardown),
      cmocka_unit_test_setup_teardown(test_closed_blocks, setup, teardown),
      cmocka_unit_test_setup_teardown(test_vars, setup, teardown),
      cmocka_unit_test_setup_teardown(test_index_folding, setup, teardown),
      cmocka_unit_test_setup_teardown(test_address_folding, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_single_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(test_vector_constants, setup, teardown),
      cmocka_unit_test_setup_teardown(test_scale, setup, teardown),
      cmocka_unit_test_setup_teardown(test_folded_subnormals, setup, teardown),
      cmocka_unit_test_setup_teardown(test_blobs, setup, teardown),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
