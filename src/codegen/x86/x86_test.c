// SPDX-License-Identifier: Apache-2.0
// Machine code against the interpreter of vector IR: random functions, with and without AVX-512,
// with all registers and with few, so that everything is spilled in turn; bytes must be equal.
// HLO_X86_TEST_COUNT: so many functions of each kind. HLO_X86_TEST_SEED: this one only, with
// HLO_X86_TEST_DUMP: a file for its code, its text goes to stdout.
#include "codegen/x86/x86.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/jit/jit.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/random_vir.inl"
#include "codegen/x86/x86_impl.h"

enum { SAVED_BYTES = 1 << 16, MAX_RESUMES = 10000 };

typedef struct fixture {
  uint8_t expected[RANDOM_VIR_MEMORY_BYTES], found[RANDOM_VIR_MEMORY_BYTES];
  uint8_t saved[SAVED_BYTES];
  hlo_target_t avx2, avx512, plain_avx512;  // the last without what AVX-512 machines may lack
  bool has_avx512, has_avx2;
} fixture_t;

static int setup(void** state) {
  fixture_t* t = hlo_mem_alloc_zeroed(sizeof *t);
  assert_non_null(t);
  hlo_cpu_t cpu;
  hlo_status_t status = hlo_cpu_detect("avx2", &cpu);
  t->has_avx2 = hlo_status_is_ok(status);
  if (t->has_avx2) hlo_target_init(&cpu, &t->avx2);
  hlo_status_release(status);
  status = hlo_cpu_detect("avx512", &cpu);
  t->has_avx512 = hlo_status_is_ok(status);
  if (t->has_avx512) hlo_target_init(&cpu, &t->avx512);
  t->plain_avx512 = t->avx512;
  t->plain_avx512.cpu.features &= ~(1ull << HLO_CPU_AVX512VBMI | 1ull << HLO_CPU_AVX512VBMI2 |
                                    1ull << HLO_CPU_AVX512BITALG | 1ull << HLO_CPU_AVX512VPOPCNTDQ);
  hlo_status_release(status);
  *state = t;
  return 0;
}

static int teardown(void** state) {
  hlo_mem_free(*state);
  return 0;
}

static void fill(uint8_t* memory, uint64_t seed) {
  for (uint32_t i = 0; i < RANDOM_VIR_MEMORY_BYTES; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    memory[i] = (uint8_t)(seed >> 56);
  }
}

static hlo_frame_t make_frame(fixture_t* t, void** buffers, const hlo_runtime_table_t* runtime) {
  return (hlo_frame_t){.buffers = buffers,
                       .buffer_count = 1,
                       .saved = t->saved,
                       .saved_bytes = sizeof t->saved,
                       .runtime = runtime};
}

static void interpret(fixture_t* t, const hlo_vir_func_t* func, uint8_t* memory) {
  void* buffers[] = {memory};
  hlo_runtime_table_t runtime = {0};
  hlo_frame_t frame = make_frame(t, buffers, &runtime);
  uint64_t params[] = {(uintptr_t)&frame, (uintptr_t)memory, 3};
  int32_t answer = HLO_KERNEL_SUSPENDED;
  for (int i = 0; i < MAX_RESUMES && answer == HLO_KERNEL_SUSPENDED; ++i) {
    hlo_status_t status = hlo_vir_interp_run(func, params, &(hlo_vir_interp_options_t){0}, &answer);
    assert_string_equal(hlo_status_message(status), "");
  }
  assert_int_equal(answer, HLO_KERNEL_DONE);
}

static void execute(fixture_t* t, const hlo_vir_func_t* func, const hlo_code_t* code,
                    uint8_t* memory) {
  hlo_jit_t* jit = NULL;
  hlo_status_t status = hlo_jit_load(code, "test", &jit);
  assert_string_equal(hlo_status_message(status), "");
  void* buffers[] = {memory};
  hlo_runtime_table_t runtime = {0};
  hlo_frame_t frame = make_frame(t, buffers, &runtime);
  int32_t answer = HLO_KERNEL_SUSPENDED;
  assert_true(code->funcs[func->index].saved_bytes <= SAVED_BYTES);
  if (func->is_entry) {
    hlo_kernel_entry_t entry = (hlo_kernel_entry_t)(uintptr_t)hlo_jit_address(jit, func->index);
    for (int i = 0; i < MAX_RESUMES && answer == HLO_KERNEL_SUSPENDED; ++i) answer = entry(&frame);
  } else {
    hlo_kernel_chunk_t chunk = (hlo_kernel_chunk_t)(uintptr_t)hlo_jit_address(jit, func->index);
    answer = chunk(&frame, memory, 3);
  }
  assert_int_equal(answer, HLO_KERNEL_DONE);
  hlo_jit_release(jit);
}

static void dump(const hlo_vir_module_t* module, const hlo_code_t* code) {
  const char* path = getenv("HLO_X86_TEST_DUMP");
  if (!path) return;
  FILE* file = fopen(path, "wb");
  fwrite(code->bytes, 1, code->size_bytes, file);
  fclose(file);
  hlo_strbuf_t text = {0};
  hlo_vir_print(module, &text);
  fwrite(hlo_strbuf_text(&text), 1, strlen(hlo_strbuf_text(&text)), stdout);
  hlo_strbuf_deinit(&text);
}

static void compare(fixture_t* t, uint64_t seed, const hlo_target_t* target,
                    const hlo_x86_limits_t* limits, const random_vir_options_t* options) {
  hlo_vir_module_t* module = NULL;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  hlo_vir_func_t* func = random_vir_func(module, "random", seed, options);
  hlo_status_t status = hlo_vir_verify(module, target->vector_bytes);
  assert_string_equal(hlo_status_message(status), "");
  hlo_code_t code = {0};
  status = hlo_x86_compile_limited(module, target, limits, &code);
  if (!hlo_status_is_ok(status)) print_message("seed %llu\n", (unsigned long long)seed);
  assert_string_equal(hlo_status_message(status), "");
  if (getenv("HLO_X86_TEST_SEED")) dump(module, &code);
  fill(t->expected, seed);
  fill(t->found, seed);
  interpret(t, func, t->expected);
  execute(t, func, &code, t->found);
  for (uint32_t i = 0; i < RANDOM_VIR_MEMORY_BYTES; ++i) {
    if (t->expected[i] == t->found[i]) continue;
    print_message("seed %llu, limits %u %u %u, entry %d, %u bytes: byte %u is %02x, not %02x\n",
                  (unsigned long long)seed, limits->registers[0], limits->registers[1],
                  limits->registers[2], options->is_entry, target->vector_bytes, i, t->found[i],
                  t->expected[i]);
    fail();
  }
  hlo_code_deinit(&code);
  hlo_vir_module_release(module);
}

static void compare_seeds(fixture_t* t, const hlo_target_t* target, uint64_t first,
                          uint64_t count) {
  static const hlo_x86_limits_t all_limits[] = {{{0, 0, 0}},  {{4, 4, 2}}, {{13, 8, 7}},
                                                {{1, 32, 1}}, {{6, 2, 3}}, {{8, 16, 4}}};
  const char* only = getenv("HLO_X86_TEST_SEED");
  const char* many = getenv("HLO_X86_TEST_COUNT");
  if (many) count = strtoull(many, NULL, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (only && strtoull(only, NULL, 10) != seed) continue;
    random_vir_options_t options = {
        .vector_bytes = seed % 7 == 6 ? 16 : target->vector_bytes,
        .statement_count = seed % 16 == 5 ? 700 : 10 + (uint32_t)(seed * 37 % 200),
        .is_entry = seed % 4 == 3,
    };
    compare(t, seed, target, &all_limits[seed / 4 % 6], &options);
  }
}

static void test_random_avx512(void** state) {
  fixture_t* t = *state;
  if (t->has_avx512) compare_seeds(t, &t->avx512, 0, 600);
}

static void test_random_plain_avx512(void** state) {
  fixture_t* t = *state;
  if (t->has_avx512) compare_seeds(t, &t->plain_avx512, 200000, 300);
}

static void test_random_avx2(void** state) {
  fixture_t* t = *state;
  if (t->has_avx2) compare_seeds(t, &t->avx2, 100000, 600);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_random_avx512, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_plain_avx512, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_avx2, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
