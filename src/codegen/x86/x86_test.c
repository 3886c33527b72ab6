// SPDX-License-Identifier: Apache-2.0
// Machine code against the interpreter of vector IR: random functions for every
// level of processors, with all registers and with few, so that everything is spilled in turn;
// bytes must be equal. HLO_X86_TEST_COUNT: functions of each kind. HLO_X86_TEST_SEED: this
// one only, with HLO_X86_TEST_DUMP: a file for its code, its text goes to stdout.
#include "codegen/x86/x86_test_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/jit/jit.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/random_vir_test.inl"

enum { SAVED_BYTES = 1 << 16, MAX_RESUMES = 10000 };

typedef struct fixture {
  uint8_t expected[RANDOM_VIR_MEMORY_BYTES], found[RANDOM_VIR_MEMORY_BYTES];
  uint8_t saved[SAVED_BYTES];
  hlo_target_t sse2, sse4, avx2, avx512;
  hlo_target_t plain_avx512;  // without what AVX-512 machines may lack
  bool has_avx512, has_avx2, has_sse4;
} fixture_t;

static int setup(void** state) {
  fixture_t* t = hlo_mem_alloc_zeroed(sizeof *t);
  assert_non_null(t);
  hlo_cpu_t cpu;
  hlo_status_t status = hlo_cpu_detect("sse2", &cpu);
  assert_true(hlo_status_is_ok(status));
  hlo_target_init(&cpu, &t->sse2);
  status = hlo_cpu_detect("sse4", &cpu);
  t->has_sse4 = hlo_status_is_ok(status);
  if (t->has_sse4) hlo_target_init(&cpu, &t->sse4);
  hlo_status_release(status);
  status = hlo_cpu_detect("avx2", &cpu);
  t->has_avx2 = hlo_status_is_ok(status);
  if (t->has_avx2) hlo_target_init(&cpu, &t->avx2);
  hlo_status_release(status);
  status = hlo_cpu_detect("avx512", &cpu);
  t->has_avx512 = hlo_status_is_ok(status);
  if (t->has_avx512) hlo_target_init(&cpu, &t->avx512);
  t->plain_avx512 = t->avx512;
  t->plain_avx512.cpu.features &= ~(1ull << HLO_CPU_AVX512VBMI | 1ull << HLO_CPU_AVX512VBMI2 |
                                    1ull << HLO_CPU_AVX512BITALG | 1ull << HLO_CPU_AVX512VPOPCNTDQ);
  t->plain_avx512.has_permute_pair = false;
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

// A function that generated code calls: mixes its arguments and overwrites every register that it
// may use.
static int32_t trashing(hlo_frame_t* frame, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  (void)frame;
  uint64_t mixed = ((a * 3 + b) * 5 + c) * 7 + d;
  __asm__ volatile(
      "pcmpeqd %%xmm0, %%xmm0\n\tmovaps %%xmm0, %%xmm1\n\t"
      "movaps %%xmm0, %%xmm2\n\tmovaps %%xmm0, %%xmm7\n\tmovaps %%xmm0, %%xmm15\n\t"
      "mov $-1, %%r8\n\tmov %%r8, %%r9\n\tmov %%r8, %%r10\n\t"
      "mov %%r8, %%r11\n\tmov %%r8, %%rsi\n\tmov %%r8, %%rdi\n\tmov %%r8, %%rcx\n\t"
      "mov %%r8, %%rdx"
      :
      :
      : "r8", "r9", "r10", "r11", "rsi", "rdi", "rcx", "rdx", "memory", "xmm0", "xmm1", "xmm2",
        "xmm7", "xmm15");
  return (int32_t)(mixed ^ mixed >> 32);
}

static hlo_runtime_table_t make_runtime(void) {
  hlo_runtime_table_t runtime = {0};
  __typeof__(&trashing) function = trashing;
  memcpy(&runtime.call_library, &function, sizeof function);
  return runtime;
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
  hlo_runtime_table_t runtime = make_runtime();
  hlo_frame_t frame = make_frame(t, buffers, &runtime);
  uint64_t params[] = {(uintptr_t)&frame, (uintptr_t)memory, 3};
  int32_t answer = HLO_PROGRAM_SUSPENDED;
  for (int i = 0; i < MAX_RESUMES && answer == HLO_PROGRAM_SUSPENDED; ++i) {
    hlo_status_t status = hlo_vir_interp_run(func, params, &(hlo_vir_interp_options_t){0}, &answer);
    assert_string_equal(hlo_status_message(status), "");
  }
  assert_int_equal(answer, HLO_PROGRAM_DONE);
}

static void execute(fixture_t* t, const hlo_vir_func_t* func, const hlo_code_t* code,
                    uint8_t* memory) {
  hlo_jit_t* jit = NULL;
  hlo_status_t status = hlo_jit_load(code, "test", NULL, &jit);
  assert_string_equal(hlo_status_message(status), "");
  void* buffers[] = {memory};
  hlo_runtime_table_t runtime = make_runtime();
  hlo_frame_t frame = make_frame(t, buffers, &runtime);
  int32_t answer = HLO_PROGRAM_SUSPENDED;
  assert_true(code->funcs[func->index].saved_bytes <= SAVED_BYTES);
  const hlo_fp_state_t before = hlo_fp_enter(func->module->subnormals);
  if (func->is_entry) {
    hlo_program_entry_t entry = (hlo_program_entry_t)(uintptr_t)hlo_jit_address(jit, func->index);
    for (int i = 0; i < MAX_RESUMES && answer == HLO_PROGRAM_SUSPENDED; ++i) answer = entry(&frame);
  } else {
    hlo_program_chunk_t chunk = (hlo_program_chunk_t)(uintptr_t)hlo_jit_address(jit, func->index);
    answer = chunk(&frame, memory, 3);
  }
  hlo_fp_leave(before);
  assert_int_equal(answer, HLO_PROGRAM_DONE);
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

typedef struct setting {
  const hlo_target_t* target;
  hlo_x86_limits_t limits;
  uint64_t seed;  // of the memory
} setting_t;

// Interprets and executes the only function of a module on the same memory; releases the module.
static void compare(fixture_t* t, const hlo_vir_func_t* func, const setting_t* setting) {
  hlo_vir_module_t* module = func->module;
  hlo_status_t status = hlo_vir_verify(module, setting->target->vector_bytes);
  assert_string_equal(hlo_status_message(status), "");
  hlo_code_t code = {0};
  status = hlo_x86_compile_limited(module, setting->target, &setting->limits, &code);
  if (!hlo_status_is_ok(status)) print_message("seed %llu\n", (unsigned long long)setting->seed);
  assert_string_equal(hlo_status_message(status), "");
  if (getenv("HLO_X86_TEST_SEED")) dump(module, &code);
  fill(t->expected, setting->seed);
  fill(t->found, setting->seed);
  interpret(t, func, t->expected);
  execute(t, func, &code, t->found);
  for (uint32_t i = 0; i < RANDOM_VIR_MEMORY_BYTES; ++i) {
    if (t->expected[i] == t->found[i]) continue;
    print_message("seed %llu, limits %u %u %u, entry %d, %u bytes: byte %u is %02x, not %02x\n",
                  (unsigned long long)setting->seed, setting->limits.registers[0],
                  setting->limits.registers[1], setting->limits.registers[2], func->is_entry,
                  setting->target->vector_bytes, i, t->found[i], t->expected[i]);
    fail();
  }
  hlo_code_deinit(&code);
  hlo_vir_module_release(module);
}

// Limits of general, vector and mask registers.
static const hlo_x86_limits_t all_limits[] = {{{0, 0, 0}},  {{4, 4, 2}}, {{13, 8, 7}},
                                              {{1, 32, 1}}, {{6, 2, 3}}, {{8, 16, 4}}};
enum { LIMIT_COUNT = sizeof all_limits / sizeof *all_limits };

static hlo_vir_module_t* new_module(void) {
  hlo_vir_module_t* module = NULL;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  return module;
}

static void compare_seeds(fixture_t* t, const hlo_target_t* target, uint64_t first,
                          uint64_t count) {
  const char* only = getenv("HLO_X86_TEST_SEED");
  const char* many = getenv("HLO_X86_TEST_COUNT");
  if (many) count = strtoull(many, NULL, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (only && strtoull(only, NULL, 10) != seed) continue;
    random_vir_options_t options = {
        .vector_bytes = seed % 7 == 6 ? 16 : target->vector_bytes,
        .statement_count = seed % 16 == 5 ? 700 : 10 + (uint32_t)(seed * 37 % 200),
        .is_entry = seed % 4 == 3,
        .has_calls = seed % 3 == 1,
        .has_halves = target->has_half,
        .has_scale = target->has_scale,
        .has_permute_pair = target->has_permute_pair,
        .has_dots = target->has_dot_u8s8 && target->has_dot_bf16,
    };
    hlo_target_t mode = *target;
    mode.subnormals = seed % 2 ? HLO_SUBNORMALS_KEEP : HLO_SUBNORMALS_FLUSH;
    hlo_vir_module_t* module = new_module();
    module->subnormals = mode.subnormals;
    setting_t setting = {&mode, all_limits[seed / 4 % LIMIT_COUNT], seed};
    compare(t, random_vir_func(module, "random", seed, &options), &setting);
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

static void test_random_sse(void** state) {
  fixture_t* t = *state;
  compare_seeds(t, &t->sse2, 300000, 600);
  if (t->has_sse4) compare_seeds(t, &t->sse4, 400000, 300);
}

// ---- single functions

static const hlo_vir_type_t f32x4 = {HLO_VIR_F32, 4}, void_type = {HLO_VIR_VOID, 0};
enum { OUT = RANDOM_VIR_HALF_BYTES };

// Builds into a chunk function whose block is `memory`, its last parameter 3.
typedef void (*build_t)(hlo_vir_builder_t* b, hlo_vir_value_t* memory);

static hlo_vir_func_t* built(build_t build) {
  hlo_vir_module_t* module = new_module();
  hlo_vir_func_t* func = hlo_vir_func_create(module, "built", 3, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  build(&b, hlo_vir_param(&b, 1));
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
  return func;
}

static void compare_built(fixture_t* t, build_t build) {
  const hlo_target_t* targets[] = {t->has_avx512 ? &t->avx512 : NULL,
                                   t->has_avx512 ? &t->plain_avx512 : NULL,
                                   t->has_avx2 ? &t->avx2 : NULL, &t->sse2};
  enum { TARGET_COUNT = sizeof targets / sizeof *targets };
  for (uint32_t i = 0; i < TARGET_COUNT * LIMIT_COUNT; ++i) {
    if (!targets[i % TARGET_COUNT]) continue;
    setting_t setting = {targets[i % TARGET_COUNT], all_limits[i / TARGET_COUNT], i};
    compare(t, built(build), &setting);
  }
}

static hlo_vir_value_t* plus(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t term) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, hlo_vir_iconst(b, term));
}

static hlo_vir_value_t* below(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t limit) {
  return hlo_vir_icmp(b, HLO_VIR_LT, x, hlo_vir_iconst(b, limit));
}

// The next value of a var must not be in its place yet when a break leaves before `set`.
static void build_break(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  hlo_vir_value_t* var = hlo_vir_var(b, hlo_vir_iconst(b, 0));
  hlo_vir_value_t* rest = hlo_vir_var(b, hlo_vir_param(b, 2));
  hlo_vir_begin_loop(b);
  hlo_vir_set(b, rest, plus(b, rest, -1));
  hlo_vir_value_t* next = plus(b, var, 3);
  hlo_vir_break_if(b, below(b, rest, 0));
  hlo_vir_set(b, var, next);
  hlo_vir_end(b);
  hlo_vir_istore(b, var, memory, OUT, 0);
}

// Arguments that are in each other's registers.
static void build_calls(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  for (int64_t order = 0; order < 256; ++order) {
    hlo_vir_value_t *words[4], *arguments[4];
    for (int64_t i = 0; i < 4; ++i) words[i] = hlo_vir_iload(b, memory, 8 * (order + i), 0);
    for (int64_t i = 0; i < 4; ++i) arguments[i] = words[order >> (2 * i) & 3];
    if (order == 57) arguments[1] = NULL;
    hlo_vir_istore(b, hlo_vir_call(b, offsetof(hlo_runtime_table_t, call_library), 4, arguments),
                   memory, OUT + 8 * order, 0);
  }
}

// Neither a comparison nor a load may move after a `set` of its operand, or after a store.
static void build_order(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  hlo_vir_value_t* var = hlo_vir_var(b, hlo_vir_iconst(b, 2));
  hlo_vir_value_t* is_small = below(b, var, 5);
  hlo_vir_value_t* loaded =
      hlo_vir_emit(b, HLO_VIR_load, f32x4, 3, 0, 2, (hlo_vir_value_t*[]){memory, var});
  hlo_vir_value_t* word =
      hlo_vir_emit(b, HLO_VIR_iload, hlo_vir_type(HLO_VIR_INDEX, 1), 3 << HLO_VIR_WIDTH_SHIFT | 3,
                   0, 2, (hlo_vir_value_t*[]){memory, var});
  hlo_vir_value_t* stored = hlo_vir_iload(b, memory, OUT, 0);
  hlo_vir_set(b, var, hlo_vir_iconst(b, 9));
  hlo_vir_istore(b, var, memory, OUT, 0);
  hlo_vir_begin_if(b, is_small);
  hlo_vir_istore(b, var, memory, OUT + 8, 0);
  hlo_vir_end(b);
  hlo_vir_istore(b, hlo_vir_index(b, HLO_VIR_ixor, var, stored), memory, OUT + 16, 0);
  hlo_vir_istore(b, hlo_vir_index(b, HLO_VIR_ixor, var, word), memory, OUT + 24, 0);
  hlo_vir_value_t* sum =
      hlo_vir_binary(b, HLO_VIR_smax, hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_I32, loaded),
                     hlo_vir_const_bits(b, hlo_vir_type(HLO_VIR_I32, 4), 77));
  hlo_vir_emit(b, HLO_VIR_store, void_type, 0, OUT + 32, 2, (hlo_vir_value_t*[]){sum, memory});
}

// A loop whose limit changes while it runs.
static void build_limit(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  hlo_vir_value_t* limit = hlo_vir_var(b, hlo_vir_param(b, 2));
  hlo_vir_value_t* count = hlo_vir_var(b, hlo_vir_iconst(b, 0));
  hlo_vir_value_t* i = hlo_vir_begin_for(b, hlo_vir_iconst(b, -2), limit, 1, 0);
  hlo_vir_set(b, count, plus(b, count, 1));
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, i, hlo_vir_iconst(b, 0)));
  hlo_vir_set(b, limit, hlo_vir_iconst(b, 40));
  hlo_vir_end(b);
  hlo_vir_end(b);
  hlo_vir_istore(b, count, memory, OUT, 0);
}

// Displacements, constants and steps of more than 32 bits.
static void build_far(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  const int64_t far = INT64_C(1) << 40;
  hlo_vir_value_t* three = hlo_vir_param(b, 2);
  hlo_vir_value_t* below_base = hlo_vir_index(
      b, HLO_VIR_isub, memory, hlo_vir_index(b, HLO_VIR_imul, three, hlo_vir_iconst(b, far)));
  hlo_vir_istore(b, three, below_base, OUT + 3 * far, 0);
  hlo_vir_value_t* word = hlo_vir_iload(b, below_base, 8 + 3 * far, 0);
  word = hlo_vir_index(b, HLO_VIR_iand, word, hlo_vir_iconst(b, far - 1));
  hlo_vir_value_t* sum = hlo_vir_var(b, word);
  hlo_vir_value_t* i = hlo_vir_begin_for(b, hlo_vir_iconst(b, -far), word, far / 4, 0);
  hlo_vir_set(b, sum,
              hlo_vir_index(b, HLO_VIR_ixor,
                            hlo_vir_index(b, HLO_VIR_imul, sum, hlo_vir_iconst(b, far + 5)), i));
  hlo_vir_end(b);
  hlo_vir_istore(b, sum, memory, OUT + 8, 0);
  hlo_vir_istore(b, hlo_vir_index(b, HLO_VIR_irem, word, hlo_vir_iconst(b, far - 3)), memory,
                 OUT + 16, 0);
  hlo_vir_istore(b, hlo_vir_index(b, HLO_VIR_irem, word, hlo_vir_iconst(b, far / 2)), memory,
                 OUT + 24, 0);
}

// Constant blobs, addresses of functions, a stack that a call goes on with, stores past the caches.
static void build_addresses(hlo_vir_builder_t* b, hlo_vir_value_t* memory) {
  const hlo_vir_type_t index = {HLO_VIR_INDEX, 1};
  float numbers[24];
  for (int i = 0; i < 24; ++i) numbers[i] = (float)i * 1.25f;
  uint32_t blob = hlo_vir_module_add_blob(b->module, numbers, sizeof numbers);
  hlo_vir_value_t* table = hlo_vir_emit(b, HLO_VIR_rodata, index, 0, blob, 0, NULL);
  hlo_vir_value_t* stack = hlo_vir_emit(b, HLO_VIR_stack, index, 0, 200, 0, NULL);
  hlo_vir_value_t* self = hlo_vir_emit(b, HLO_VIR_func_address, index, 0, 0, 0, NULL);
  hlo_vir_value_t* other = hlo_vir_emit(b, HLO_VIR_stack, index, 0, 64, 0, NULL);
  hlo_vir_value_t* i = hlo_vir_begin_for(b, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, 5), 1, 0);
  hlo_vir_value_t* at = hlo_vir_index(b, HLO_VIR_iand, i, hlo_vir_iconst(b, 7));
  hlo_vir_value_t* x =
      hlo_vir_emit(b, HLO_VIR_load, f32x4, 2, 4, 2, (hlo_vir_value_t*[]){table, at});
  hlo_vir_emit(b, HLO_VIR_store, void_type, 2, 0, 3, (hlo_vir_value_t*[]){x, stack, at});
  hlo_vir_value_t* arguments[] = {at, i, i, at};
  hlo_vir_value_t* answer =
      hlo_vir_call(b, offsetof(hlo_runtime_table_t, call_library), 4, arguments);
  hlo_vir_istore(b, answer, other, 8, 0);
  hlo_vir_value_t* is_same = hlo_vir_icmp(
      b, HLO_VIR_EQ, self, hlo_vir_emit(b, HLO_VIR_func_address, index, 0, 0, 0, NULL));
  hlo_vir_istore(b, hlo_vir_index(b, HLO_VIR_ixor, answer, is_same), memory, OUT, 0);
  hlo_vir_end(b);
  x = hlo_vir_emit(b, HLO_VIR_load, f32x4, 0, 16, 1, (hlo_vir_value_t*[]){stack});
  hlo_vir_value_t* aligned =
      hlo_vir_index(b, HLO_VIR_iand, plus(b, memory, OUT + 128), hlo_vir_iconst(b, -64));
  hlo_vir_emit(b, HLO_VIR_store, void_type, HLO_VIR_STREAM, 0, 2, (hlo_vir_value_t*[]){x, aligned});
}

// ---- entry functions

static hlo_vir_func_t* begin_entry(hlo_vir_builder_t* b) {
  hlo_vir_func_t* func = hlo_vir_func_create(new_module(), "entry", 1, true);
  hlo_vir_builder_init(b, func);
  return func;
}

static hlo_vir_value_t* buffer(hlo_vir_builder_t* b) {
  hlo_vir_value_t* table =
      hlo_vir_iload(b, hlo_vir_param(b, 0), offsetof(hlo_frame_t, buffers), HLO_VIR_INVARIANT);
  return hlo_vir_iload(b, table, 0, HLO_VIR_INVARIANT);
}

static void end_entry(hlo_vir_builder_t* b) {
  hlo_vir_return(b, hlo_vir_iconst(b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(b);
}

static hlo_status_t compile_entry(fixture_t* t, const hlo_vir_func_t* func, hlo_code_t* code) {
  const hlo_target_t* target = t->has_avx2 ? &t->avx2 : &t->sse2;
  hlo_status_t status = hlo_vir_verify(func->module, target->vector_bytes);
  assert_string_equal(hlo_status_message(status), "");
  return hlo_x86_compile(func->module, target, code);
}

static void expect_failure(hlo_status_t status, hlo_status_code_t code, const char* text) {
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), text));
  hlo_status_release(status);
}

// Ten suspensions: more than one step of the search for the point to go on at. The stack's address
// is another one each time.
static void test_suspensions(void** state) {
  fixture_t* t = *state;
  if (!t->has_avx2) return;
  const hlo_vir_type_t index = {HLO_VIR_INDEX, 1};
  hlo_vir_builder_t b;
  hlo_vir_func_t* func = begin_entry(&b);
  hlo_vir_value_t* stack = hlo_vir_emit(&b, HLO_VIR_stack, index, 0, 64, 0, NULL);
  hlo_vir_value_t* second = plus(&b, stack, 8);
  hlo_vir_value_t* sum = hlo_vir_var(&b, hlo_vir_iconst(&b, 1));
  for (int64_t point = 10; point > 0; --point) {
    hlo_vir_suspend(&b, point * 3);
    hlo_vir_istore(&b, sum, second, 0, 0);
    sum =
        hlo_vir_index(&b, HLO_VIR_imul, hlo_vir_iload(&b, stack, 8, 0), hlo_vir_iconst(&b, point));
  }
  hlo_vir_istore(&b, sum, buffer(&b), OUT, 0);
  end_entry(&b);
  compare(t, func, &(setting_t){&t->avx2, all_limits[0], 1});
}

static void test_stack_over_suspend(void** state) {
  const hlo_vir_type_t index = {HLO_VIR_INDEX, 1};
  hlo_vir_builder_t b;
  hlo_vir_func_t* func = begin_entry(&b);
  hlo_vir_value_t* stack = hlo_vir_emit(&b, HLO_VIR_stack, index, 0, 64, 0, NULL);
  hlo_vir_value_t* word = hlo_vir_iload(&b, buffer(&b), 0, 0);
  hlo_vir_value_t* at = hlo_vir_var(&b, word);
  hlo_vir_suspend(&b, 1);
  hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), hlo_vir_iconst(&b, 3), 1, 0);
  hlo_vir_value_t* copy = plus(&b, at, 8);
  hlo_vir_suspend(&b, 2);
  hlo_vir_set(&b, at, hlo_vir_index(&b, HLO_VIR_iadd, stack, word));
  hlo_vir_istore(&b, word, copy, 0, 0);
  hlo_vir_end(&b);
  end_entry(&b);
  hlo_code_t code;
  expect_failure(compile_entry(*state, func, &code), HLO_STATUS_UNIMPLEMENTED, "live across");
  hlo_vir_module_release(func->module);
}

static void test_large_stack(void** state) {
  const hlo_vir_type_t index = {HLO_VIR_INDEX, 1};
  hlo_vir_builder_t b;
  hlo_vir_func_t* func = begin_entry(&b);
  for (int64_t size_bytes = 32000; size_bytes <= 36000; size_bytes += 4000) {
    hlo_vir_value_t* stack = hlo_vir_emit(&b, HLO_VIR_stack, index, 0, size_bytes, 0, NULL);
    hlo_vir_istore(&b, stack, stack, 0, 0);
  }
  end_entry(&b);
  hlo_code_t code;
  expect_failure(compile_entry(*state, func, &code), HLO_STATUS_RESOURCE_EXHAUSTED, "stack");
  hlo_vir_module_release(func->module);
}

static void test_unimplemented(void** state) {
  fixture_t* t = *state;
  if (!t->has_avx2) return;
  hlo_vir_builder_t b;
  hlo_vir_func_t* func = begin_entry(&b);
  hlo_vir_value_t* count = hlo_vir_iload(&b, buffer(&b), 0, 0);
  hlo_vir_value_t* mask =
      hlo_vir_emit(&b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, 64), 0, 0, 1, &count);
  hlo_vir_value_t* bits =
      hlo_vir_emit(&b, HLO_VIR_mask_bits, hlo_vir_type(HLO_VIR_INDEX, 1), 0, 0, 1, &mask);
  hlo_vir_istore(&b, bits, buffer(&b), OUT, 0);
  end_entry(&b);
  hlo_code_t code;
  expect_failure(compile_entry(t, func, &code), HLO_STATUS_UNIMPLEMENTED, "mask_first");
  hlo_vir_module_release(func->module);
}

// Each allocation fails once; the same code comes out in the end.
static void test_out_of_memory(void** state) {
  fixture_t* t = *state;
  if (!t->has_avx2) return;
  random_vir_options_t options = {.vector_bytes = 32, .statement_count = 300, .is_entry = true};
  hlo_vir_func_t* func = random_vir_func(new_module(), "random", 5, &options);
  hlo_code_t expected, code;
  assert_true(hlo_status_is_ok(compile_entry(t, func, &expected)));
  bool done = false;
  for (uint64_t n = 1; !done; ++n) {
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_x86_compile(func->module, &t->avx2, &code);
    done = !hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!done) assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    hlo_status_release(status);
  }
  assert_int_equal(code.size_bytes, expected.size_bytes);
  assert_memory_equal(code.bytes, expected.bytes, code.size_bytes);
  hlo_code_deinit(&code);
  hlo_code_deinit(&expected);
  hlo_vir_module_release(func->module);
}

// Places in the code lead back to the instructions they came from.
static void test_debug_ids(void** state) {
  fixture_t* t = *state;
  if (!t->has_avx2) return;
  hlo_vir_builder_t b;
  hlo_vir_func_t* func = begin_entry(&b);
  for (uint32_t debug_id = 7; debug_id < 10; ++debug_id) {
    b.debug_id = debug_id;
    hlo_vir_istore(&b, hlo_vir_iconst(&b, debug_id), buffer(&b), OUT + 8 * debug_id, 0);
  }
  end_entry(&b);
  hlo_code_t code;
  assert_true(hlo_status_is_ok(compile_entry(t, func, &code)));
  assert_int_equal(code.debug_id_count, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_int_equal(code.debug_ids[i].debug_id, 7 + i);
    if (i) assert_true(code.debug_ids[i].offset_bytes > code.debug_ids[i - 1].offset_bytes);
  }
  hlo_code_deinit(&code);
  hlo_vir_module_release(func->module);
}

static void test_single_functions(void** state) {
  static const build_t builds[] = {build_break, build_calls,     build_order,
                                   build_limit, build_addresses, build_far};
  for (uint32_t i = 0; i < sizeof builds / sizeof *builds; ++i) compare_built(*state, builds[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_single_functions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_suspensions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_stack_over_suspend, setup, teardown),
      cmocka_unit_test_setup_teardown(test_large_stack, setup, teardown),
      cmocka_unit_test_setup_teardown(test_unimplemented, setup, teardown),
      cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(test_debug_ids, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_avx512, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_plain_avx512, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_avx2, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_sse, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
