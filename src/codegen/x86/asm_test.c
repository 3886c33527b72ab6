// SPDX-License-Identifier: Apache-2.0
// Labels, data, errors and exhausted memory of the assembler; encodings are asm_zydis_test.c's
// matter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/x86/asm.h"

static const uint64_t kAvx2 = 1ull << HLO_CPU_AVX | 1ull << HLO_CPU_AVX2 | 1ull << HLO_CPU_FMA;

static int32_t field(const hlo_x86_asm_t* as, size_t offset) {
  int32_t value;
  memcpy(&value, as->bytes + offset, sizeof value);
  return value;
}

static void assert_ok(hlo_status_t status) {
  assert_string_equal(hlo_status_message(status), "");
  assert_true(hlo_status_is_ok(status));
}

static void assert_fails(hlo_x86_asm_t* as, hlo_status_code_t code, const char* part) {
  hlo_status_t status = hlo_x86_asm_finish(as);
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), part));
  hlo_status_release(status);
  hlo_x86_asm_deinit(as);
}

static void jumps_reach_labels_before_and_behind(void** state) {
  (void)state;
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, kAvx2);
  hlo_x86_label_t back = hlo_x86_label_create(&as), ahead = hlo_x86_label_create(&as);
  hlo_x86_label_bind(&as, back);
  hlo_x86_jmp(&as, ahead);             // 0: e9, 5 bytes
  hlo_x86_jcc(&as, HLO_X86_NE, back);  // 5: 75 f9
  hlo_x86_call(&as, back);             // 7: e8
  hlo_x86_jcc(&as, HLO_X86_E, ahead);  // 12: 0f 84
  hlo_x86_label_bind(&as, ahead);      // 18
  hlo_x86_align(&as, 128, true);
  hlo_x86_align(&as, 2, true);  // nothing
  hlo_x86_bare(&as, HLO_X86_ret);
  hlo_x86_jmp(&as, back);             // 129: too far for 8 bits
  hlo_x86_jcc(&as, HLO_X86_G, back);  // 134
  assert_ok(hlo_x86_asm_finish(&as));
  assert_int_equal(as.bytes[0], 0xe9);
  assert_int_equal(field(&as, 1), 18 - 5);
  assert_int_equal(as.bytes[5], 0x75);
  assert_int_equal((int8_t)as.bytes[6], -7);
  assert_int_equal(field(&as, 8), -12);
  assert_int_equal(field(&as, 14), 0);
  assert_int_equal(as.bytes[129], 0xe9);
  assert_int_equal(field(&as, 130), -134);
  assert_int_equal(field(&as, 136), -140);
  hlo_x86_asm_deinit(&as);
}

static void constants_are_reached_by_distance(void** state) {
  (void)state;
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, kAvx2);
  hlo_x86_label_t constant = hlo_x86_label_create(&as);
  hlo_x86_vvvi(&as, HLO_X86_vcmpps, 32, 1, 2, hlo_x86_rip(constant, 4), 1,
               0);                                                  // c5 ec c2 0d disp imm
  hlo_x86_mi(&as, HLO_X86_add, 8, hlo_x86_rip(constant, 0), 1000);  // 48 81 05 disp imm32
  hlo_x86_align(&as, 64, false);
  hlo_x86_label_bind(&as, constant);
  hlo_x86_data(&as, "\1\2\3\4", 4);
  assert_ok(hlo_x86_asm_finish(&as));
  assert_int_equal(field(&as, 4), 64 + 4 - 9);
  assert_int_equal(field(&as, 12), 64 - 20);
  assert_int_equal(as.bytes[20], 0);
  assert_memory_equal(as.bytes + 64, "\1\2\3\4", 4);
  hlo_x86_asm_deinit(&as);
}

static void forms_that_do_not_exist_are_errors(void** state) {
  (void)state;
  hlo_x86_rm_t reg = hlo_x86_reg(1), mem = hlo_x86_mem(HLO_X86_RAX, 0);
  hlo_x86_asm_t as;
#define ASSERT_NO_FORM(call, part)                \
  do {                                            \
    hlo_x86_asm_init(&as, kAvx2);                 \
    (call);                                       \
    assert_int_equal(as.size_bytes, 0);           \
    hlo_x86_bare(&as, HLO_X86_ret);               \
    assert_int_equal(as.size_bytes, 0);           \
    assert_fails(&as, HLO_STATUS_INTERNAL, part); \
  } while (0)
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vaddps, 64, 1, 2, reg, 0), "vaddps with width 64");
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vaddps, 24, 1, 2, reg, 0), "vaddps");
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vaddps, 32, 16, 2, reg, 0), "vaddps");
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vaddps, 32, 1, 2, hlo_x86_splat(mem), 0), "vaddps");
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vpandd, 32, 1, 2, reg, 0), "vpandd");
  ASSERT_NO_FORM(hlo_x86_vvv(&as, HLO_X86_vmaskmovps, 32, 1, 2, reg, 0), "vmaskmovps");
  ASSERT_NO_FORM(hlo_x86_vv(&as, HLO_X86_vmovmskps, 32, 1, mem, 0), "vmovmskps");
  ASSERT_NO_FORM(hlo_x86_rm(&as, HLO_X86_lea, 2, 1, mem), "lea with size 2");
  ASSERT_NO_FORM(hlo_x86_mr(&as, HLO_X86_imul, 8, mem, 1), "imul");
  ASSERT_NO_FORM(hlo_x86_rm(&as, HLO_X86_mov, 8, 16, mem), "mov");
  ASSERT_NO_FORM(hlo_x86_rm(&as, HLO_X86_mov, 8, 1, hlo_x86_mem_index(0, HLO_X86_RSP, 0, 0)),
                 "mov");
#undef ASSERT_NO_FORM
}

static void masks_are_checked(void** state) {
  (void)state;
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, UINT64_MAX);  // a gather without mask would fault
  hlo_x86_vv(&as, HLO_X86_vpgatherdd_k, 64, 1, hlo_x86_mem_index(0, 2, 2, 0), 0);
  assert_fails(&as, HLO_STATUS_INTERNAL, "vpgatherdd_k");
  hlo_x86_asm_init(&as, UINT64_MAX);
  hlo_x86_vv(&as, HLO_X86_vmovd, 16, 1, hlo_x86_reg(0), hlo_x86_k(1));
  assert_fails(&as, HLO_STATUS_INTERNAL, "vmovd");
  hlo_x86_asm_init(&as, UINT64_MAX);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 64, 1, 2, hlo_x86_reg(0), HLO_X86_ZERO);
  assert_fails(&as, HLO_STATUS_INTERNAL, "vaddps");
  hlo_x86_asm_init(&as, UINT64_MAX);
  hlo_x86_jmp(&as, hlo_x86_label_create(&as));
  assert_fails(&as, HLO_STATUS_INTERNAL, "label 0");
}

static void features_decide_the_prefix(void** state) {
  (void)state;
  assert_true(hlo_x86_insn_is_available(HLO_X86_vaddps, kAvx2));
  assert_false(hlo_x86_insn_is_available(HLO_X86_vpdpbusd, kAvx2));
  assert_true(hlo_x86_insn_is_available(HLO_X86_vpdpbusd, kAvx2 | 1ull << HLO_CPU_AVX_VNNI));
  assert_true(hlo_x86_insn_is_available(HLO_X86_vpdpbusd, kAvx2 | 1ull << HLO_CPU_AVX512VNNI));
  const uint64_t sse2 = 1ull << HLO_CPU_SSE2;
  assert_false(hlo_x86_insn_is_available(HLO_X86_vpmulld, sse2));
  assert_true(hlo_x86_insn_is_available(HLO_X86_vpmulld, sse2 | 1ull << HLO_CPU_SSE41));
  assert_true(hlo_x86_insn_is_available(HLO_X86_vpcmpeqq, sse2));  // a sequence
  assert_string_equal(hlo_x86_insn_name(HLO_X86_vpslld_imm), "vpslld_imm");
}

// Three operands where there are two: copies, exchanges, and a register in between.
static void two_operands_do_for_three(void** state) {
  (void)state;
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 1ull << HLO_CPU_SSE2);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 16, 1, 1, hlo_x86_reg(2), 0);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 16, 1, 2, hlo_x86_reg(3), 0);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 16, 1, 2, hlo_x86_reg(1), 0);
  hlo_x86_vvv(&as, HLO_X86_vsubps, 16, 1, 2, hlo_x86_reg(1), 0);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 16, 1, 1, hlo_x86_mem(HLO_X86_RAX, 0), 0);
  hlo_x86_vvv(&as, HLO_X86_vaddss, 16, 1, 1, hlo_x86_mem(HLO_X86_RAX, 0), 0);
  static const uint8_t expected[] = {
      0x0f, 0x58, 0xca,                                                  // addps xmm1, xmm2
      0x0f, 0x28, 0xca, 0x0f, 0x58, 0xcb,                                // movaps, addps
      0x0f, 0x58, 0xca,                                                  // addps xmm1, xmm2
      0x44, 0x0f, 0x28, 0xf1, 0x0f, 0x28, 0xca, 0x41, 0x0f, 0x5c, 0xce,  // by way of xmm14
      0x44, 0x0f, 0x10, 0x30, 0x41, 0x0f, 0x58, 0xce,                    // memory, aligned or not
      0xf3, 0x0f, 0x58, 0x08,                                            // addss xmm1, [rax]
  };
  assert_ok(hlo_x86_asm_finish(&as));
  assert_int_equal(as.size_bytes, sizeof expected);
  assert_memory_equal(as.bytes, expected, sizeof expected);
  hlo_x86_vvv(&as, HLO_X86_vaddps, 32, 1, 1, hlo_x86_reg(2), 0);
  assert_fails(&as, HLO_STATUS_INTERNAL, "vaddps without AVX");
}

// A program that grows all arrays; whichever allocation fails, finish says so.
static void emit_much(hlo_x86_asm_t* as) {
  hlo_x86_label_t end = hlo_x86_label_create(as);
  for (int i = 0; i < 300; i++) {
    hlo_x86_label_t label = hlo_x86_label_create(as);
    hlo_x86_label_bind(as, label);
    hlo_x86_vvv(as, HLO_X86_vaddps, 32, 1, 2, hlo_x86_rip(end, 0), 0);
    hlo_x86_jcc(as, HLO_X86_NE, label);
    hlo_x86_jmp(as, end);
  }
  hlo_x86_label_bind(as, end);
}

static void exhausted_memory_is_a_status(void** state) {
  (void)state;
  for (uint64_t nth = 1;; nth++) {
    hlo_x86_asm_t as;
    hlo_x86_asm_init(&as, kAvx2);
    hlo_mem_fail_nth(nth);
    emit_much(&as);
    bool has_failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    hlo_status_t status = hlo_x86_asm_finish(&as);
    assert_int_equal(hlo_status_code(status),
                     has_failed ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_OK);
    hlo_status_release(status);
    hlo_x86_asm_deinit(&as);
    if (!has_failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jumps_reach_labels_before_and_behind),
      cmocka_unit_test(constants_are_reached_by_distance),
      cmocka_unit_test(forms_that_do_not_exist_are_errors),
      cmocka_unit_test(masks_are_checked),
      cmocka_unit_test(features_decide_the_prefix),
      cmocka_unit_test(two_operands_do_for_three),
      cmocka_unit_test(exhausted_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
