// SPDX-License-Identifier: Apache-2.0
// Compiled programs entered by hand: donated memory, errors, cancelling, threads, memory running
// out.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "compiler/backends.h"

#include <dirent.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/test_util.h"
#include "compiler/execute.h"
#include "frontend/frontend.h"
#include "ir/infer.h"

static const hlo_backend_t* const kBackends[] = {&hlo_backend_native, &hlo_backend_vir};
enum { BACKEND_COUNT = sizeof kBackends / sizeof kBackends[0] };

typedef struct fixture {
  hlo_module_t* module;
  hlo_program_t* program;
} fixture_t;

static void read_module(const char* text, fixture_t* f) {
  *f = (fixture_t){0};
  hlo_test_check(hlo_frontend_load(text, strlen(text), "test.mlir", NULL, NULL, &f->module));
  hlo_test_check(hlo_module_verify(f->module, NULL));
}

static hlo_status_t make_program(const hlo_backend_t* backend, fixture_t* f) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.verify_each = true;
  return backend->compile(backend, f->module, &config, &f->program);
}

static void make(const char* text, const hlo_backend_t* backend, fixture_t* f) {
  read_module(text, f);
  hlo_test_check(make_program(backend, f));
}

static void drop(fixture_t* f) {
  if (f->program) f->program->destroy(f->program);
  hlo_module_release(f->module);
}

// One run over memory of the caller; NULL-ended message compared by its part.
static hlo_status_t run(const hlo_program_t* program, void** buffers, bool is_cancelled) {
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                       .buffers = buffers,
                       .temporaries = hlo_mem_alloc_aligned(program->temporary_bytes, 64),
                       .saved = hlo_mem_alloc_zeroed(program->saved_bytes),
                       .runtime = &hlo_execute_table,
                       .program = program->data};
  atomic_store(&frame.cancelled, is_cancelled);
  assert_non_null(frame.temporaries);
  assert_non_null(frame.saved);
  int32_t answer = program->entry(&frame);
  hlo_mem_free(frame.temporaries);
  hlo_mem_free(frame.saved);
  assert_int_equal(answer,
                   hlo_status_is_ok(frame.error.status) ? HLO_PROGRAM_DONE : HLO_PROGRAM_ERROR);
  return frame.error.status;
}

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  if (hlo_status_code(status) != code || !strstr(hlo_status_message(status), part)) {
    fail_msg("%s", hlo_status_message(status));
  }
  hlo_status_release(status);
}

// Both arguments may be given to results, and are read after the results could be written.
static const char kExchange[] =
    "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32},\n"
    "                %y: tensor<4xf32> {tf.aliasing_output = 1 : i32})\n"
    "    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {\n"
    "  %0 = stablehlo.add %x, %y : tensor<4xf32>\n"
    "  %1 = stablehlo.subtract %x, %y : tensor<4xf32>\n"
    "  return %y, %0, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n"
    "}\n";

static void donation_may_happen_or_not(void** state) {
  (void)state;
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(kExchange, kBackends[b], &f);
    for (int donated = 0; donated < 4; ++donated) {
      _Alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, r[3][4];
      void* results[] = {donated & 1 ? x : r[0], donated & 2 ? y : r[1], r[2]};
      void* buffers[] = {x, y, results[0], results[1], results[2]};
      hlo_test_check(run(f.program, buffers, false));
      for (int i = 0; i < 4; ++i) {
        float a = (float)(i + 1), c = (float)(10 * (i + 1));
        assert_float_equal(((float*)results[0])[i], c, 0);
        assert_float_equal(((float*)results[1])[i], a + c, 0);
        assert_float_equal(((float*)results[2])[i], a - c, 0);
      }
    }
    drop(&f);
  }
}

static void errors_name_op_and_place(void** state) {
  (void)state;
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(
        "func.func @main(%x: tensor<2xf32>) {\n"
        "  %c = stablehlo.constant dense<1.0> : tensor<2xf32>\n"
        "  check.expect_eq %x, %c : tensor<2xf32>\n"
        "  return\n"
        "}\n",
        kBackends[b], &f);
    _Alignas(64) float x[2] = {1, 2};
    void* buffers[] = {x};
    expect(run(f.program, buffers, false), HLO_STATUS_INVALID_ARGUMENT,
           "test.mlir:3:3: check.expect_eq");
    x[1] = 1;
    hlo_test_check(run(f.program, buffers, false));
    drop(&f);
  }
}

static const char kEndless[] =
    "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %true = stablehlo.constant dense<true> : tensor<i1>\n"
    "  %0:2 = stablehlo.while(%a = %x, %p = %true) : tensor<2xf32>, tensor<i1>\n"
    "    cond {\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      %n = stablehlo.negate %a : tensor<2xf32>\n"
    "      stablehlo.return %n, %p : tensor<2xf32>, tensor<i1>\n"
    "    }\n"
    "  return %0#0 : tensor<2xf32>\n"
    "}\n";

static void endless_loops_can_be_cancelled(void** state) {
  (void)state;
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(kEndless, kBackends[b], &f);
    _Alignas(64) float x[2] = {1, 2}, y[2];
    void* buffers[] = {x, y};
    expect(run(f.program, buffers, true), HLO_STATUS_CANCELLED, "cancelled");
    drop(&f);
  }
}

// A number that has no branch runs the last one.
static void a_case_may_have_many_branches(void** state) {
  (void)state;
  static const int32_t kCounts[] = {1, 2, 3, 4, 5, 1000};
  for (uint32_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
    int32_t count = kCounts[i];
    hlo_strbuf_t text = {0};
    hlo_strbuf_puts(&text,
                    "func.func @main(%x: tensor<i32>) -> tensor<i32> {\n"
                    "%0 = \"stablehlo.case\"(%x) (");
    for (int32_t k = 0; k < count; ++k) {
      hlo_strbuf_printf(&text,
                        "%s{\n%%s%d = stablehlo.constant dense<%d> : tensor<i32>\n"
                        "stablehlo.return %%s%d : tensor<i32>\n}",
                        k ? ", " : "", k, 10 * k, k);
    }
    hlo_strbuf_puts(&text, ") : (tensor<i32>) -> tensor<i32>\nreturn %0 : tensor<i32>\n}\n");
    for (int b = 0; b < BACKEND_COUNT; ++b) {
      fixture_t f;
      make(hlo_strbuf_text(&text), kBackends[b], &f);
      const int32_t numbers[] = {INT32_MIN, -1, 0, 1, 2, 3, count / 2, count - 1, count, INT32_MAX};
      for (uint32_t n = 0; n < sizeof numbers / sizeof *numbers; ++n) {
        _Alignas(64) int32_t x = numbers[n], y = -1;
        void* buffers[] = {&x, &y};
        hlo_test_check(run(f.program, buffers, false));
        assert_int_equal(y, 10 * (x < 0 || x >= count ? count - 1 : x));
      }
      drop(&f);
    }
    hlo_strbuf_deinit(&text);
  }
}

static void the_interpreter_runs_what_is_refused(void** state) {
  (void)state;
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(
        "func.func @main(%x: tensor<4xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {\n"
        "  %0 = stablehlo.dynamic_reshape %x, %n : (tensor<4xf32>, tensor<1xi32>) -> "
        "tensor<?xf32>\n"
        "  return %0 : tensor<?xf32>\n"
        "}\n",
        kBackends[b], &f);
    assert_ptr_equal(f.program->backend, &hlo_backend_interp);
    assert_non_null(strstr(f.program->cause, "stablehlo.dynamic_reshape: a shape"));
    drop(&f);
  }
}

// Without machine code the C compiler is the way, and without that the interpreter.
static void the_c_compiler_stands_in_for_machine_code(void** state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.exponential %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
  enum { NO_ENCODER, NO_MEMORY, NO_COMPILER, WAYS };
  for (int way = 0; way < WAYS; ++way) {
    fixture_t f;
    read_module(text, &f);
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    if (way != NO_MEMORY) config.cpu = "generic";
    if (way == NO_COMPILER) config.cc = "/nowhere/cc";
    if (way == NO_MEMORY) hlo_os_refuse_executable(HLO_OS_REFUSE_PROTECT | HLO_OS_REFUSE_MAP_TWICE);
    hlo_status_t status =
        hlo_backend_native.compile(&hlo_backend_native, f.module, &config, &f.program);
    hlo_os_refuse_executable(0);
    hlo_test_check(status);
    bool is_c = f.program->backend == &hlo_backend_c;
    assert_true(is_c ? way != NO_COMPILER : f.program->backend == &hlo_backend_interp);
    assert_non_null(
        strstr(f.program->cause, way == NO_MEMORY ? "no executable memory" : "processor"));
    // A machine without C compiler says so.
    if (!is_c)
      assert_non_null(strstr(f.program->cause, way == NO_COMPILER ? "/nowhere" : "C compiler"));
    if (is_c) {
      float x[4] = {0, 0, 0, 0}, y[4];
      hlo_test_check(run(f.program, (void*[]){x, y}, false));
      assert_float_equal(y[3], 1, 0);
    }
    drop(&f);
  }
}

// -1 and 7 of four bits, with the high bits as the reference wants them and as hosts leave them.
static void high_bits_of_narrow_arguments_do_not_matter(void** state) {
  (void)state;
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(
        "func.func @main(%x: tensor<4xi4>) -> (tensor<4xi4>, tensor<4xi32>) {\n"
        "  %0 = stablehlo.add %x, %x : tensor<4xi4>\n"
        "  %1 = stablehlo.convert %x : (tensor<4xi4>) -> tensor<4xi32>\n"
        "  return %0, %1 : tensor<4xi4>, tensor<4xi32>\n"
        "}\n",
        kBackends[b], &f);
    assert_ptr_equal(f.program->backend, kBackends[b]);
    _Alignas(64) int8_t x[4] = {0x0f, -1, 7, (int8_t)0xf7}, sums[4];
    _Alignas(64) int32_t wide[4];
    void* buffers[] = {x, sums, wide};
    hlo_test_check(run(f.program, buffers, false));
    for (int i = 0; i < 4; ++i) {
      assert_int_equal(wide[i], i < 2 ? -1 : 7);
      assert_int_equal(sums[i], -2);
    }
    drop(&f);
  }
}

// Sums, sorts with captured values: what keeps state between calls must not be shared.
static const char kSums[] =
    "func.func @main(%x: tensor<1x64xf32>, %k: tensor<f32>) -> tensor<1xf32> {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = \"stablehlo.reduce\"(%x, %zero) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %m = stablehlo.multiply %b, %k : tensor<f32>\n"
    "    %s = stablehlo.add %a, %m : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) {dimensions = array<i64: 1>} : (tensor<1x64xf32>, tensor<f32>) -> tensor<1xf32>\n"
    "  return %0 : tensor<1xf32>\n"
    "}\n";

typedef struct worker {
  pthread_t thread;
  const hlo_program_t* program;
  float factor;
  bool is_wrong;
} worker_t;

static void* work(void* argument) {
  enum { ROUNDS = 200 };
  worker_t* worker = argument;
  _Alignas(64) float x[64], sum[1];
  for (int i = 0; i < 64; ++i) x[i] = 1;
  void* buffers[] = {x, &worker->factor, sum};
  for (int i = 0; i < ROUNDS; ++i) {
    hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                         .buffers = buffers,
                         .temporaries = hlo_mem_alloc_aligned(worker->program->temporary_bytes, 64),
                         .saved = hlo_mem_alloc_zeroed(worker->program->saved_bytes),
                         .runtime = &hlo_execute_table,
                         .program = worker->program->data};
    worker->is_wrong |=
        worker->program->entry(&frame) != HLO_PROGRAM_DONE || sum[0] != 64 * worker->factor;
    hlo_mem_free(frame.temporaries);
    hlo_mem_free(frame.saved);
  }
  return NULL;
}

static void one_program_runs_on_many_threads(void** state) {
  (void)state;
  enum { THREADS = 4 };
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    fixture_t f;
    make(kSums, kBackends[b], &f);
    worker_t workers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
      workers[i] = (worker_t){.program = f.program, .factor = (float)(i + 1)};
      assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) {
      pthread_join(workers[i].thread, NULL);
      assert_false(workers[i].is_wrong);
    }
    drop(&f);
  }
}

// Two results of each channel: one operand's lanes are repeated in registers.
static const char kDepthwise[] =
    "func.func @main(%a: tensor<1x5x5x24xf32>, %b: tensor<3x3x1x48xf32>) -> tensor<1x3x3x48xf32> "
    "{\n"
    "  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],\n"
    "      window = {} {feature_group_count = 24 : i64, batch_group_count = 1 : i64}\n"
    "      : (tensor<1x5x5x24xf32>, tensor<3x3x1x48xf32>) -> tensor<1x3x3x48xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<1x3x3x48xf32>\n"
    "  return %1 : tensor<1x3x3x48xf32>\n"
    "}\n";

// A window that becomes many ops.
static const char kWindow[] =
    "func.func @main(%x: tensor<64xf32>, %k: tensor<f32>) -> tensor<1xf32> {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = \"stablehlo.reduce_window\"(%x, %zero) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %m = stablehlo.multiply %b, %k : tensor<f32>\n"
    "    %s = stablehlo.add %a, %m : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) {window_dimensions = array<i64: 64>} : (tensor<64xf32>, tensor<f32>) -> tensor<1xf32>\n"
    "  return %0 : tensor<1xf32>\n"
    "}\n";

static void compile_with_failures(const hlo_backend_t* backend, const char* text) {
  fixture_t f;
  read_module(text, &f);
  bool failed = true;
  for (uint64_t n = 1; failed && n < 5000; ++n) {
    hlo_mem_fail_nth(n);
    hlo_status_t status = make_program(backend, &f);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (hlo_status_is_ok(status)) {
      f.program->destroy(f.program);
      f.program = NULL;
      continue;
    }
    assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    hlo_status_release(status);
  }
  assert_false(failed);
  drop(&f);
}

static void compiling_survives_every_failed_allocation(void** state) {
  (void)state;
  static const char* const kTexts[] = {kExchange, kEndless, kSums, kDepthwise, kWindow};
  for (uint32_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i) {
    for (int b = 0; b < BACKEND_COUNT; ++b) compile_with_failures(kBackends[b], kTexts[i]);
  }
}

static void running_survives_every_failed_allocation(void** state) {
  (void)state;
  _Alignas(64) float x[64] = {1}, k[1] = {2}, sum[1];
  void* buffers[] = {x, k, sum};
  for (int b = 0; b < BACKEND_COUNT; ++b) {
    bool failed = true;
    for (uint64_t n = 1; failed && n < 500; ++n) {
      fixture_t f;
      make(kSums, kBackends[b], &f);
      hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                           .buffers = buffers,
                           .temporaries = hlo_mem_alloc_aligned(f.program->temporary_bytes, 64),
                           .saved = hlo_mem_alloc_zeroed(f.program->saved_bytes),
                           .runtime = &hlo_execute_table,
                           .program = f.program->data};
      hlo_mem_fail_nth(n);
      int32_t answer = f.program->entry(&frame);
      failed = hlo_mem_failed();
      hlo_mem_fail_nth(0);
      if (answer != HLO_PROGRAM_DONE) {
        assert_int_equal(atomic_load(&frame.error.code), HLO_STATUS_RESOURCE_EXHAUSTED);
      }
      hlo_status_release(frame.error.status);
      hlo_mem_free(frame.temporaries);
      hlo_mem_free(frame.saved);
      drop(&f);
    }
    assert_false(failed);
  }
}

// Two programs as they would be kept, one of them made by threads of a pool.
static void expect_equal_images(const char* path, hlo_pool_t* pool) {
  uint8_t* bytes;
  size_t size;
  hlo_test_check(hlo_os_file_read(path, SIZE_MAX, &bytes, &size));
  hlo_strbuf_t images[2] = {{0}};
  for (int i = 0; i < 2; ++i) {
    fixture_t f = {0};
    hlo_test_check(hlo_frontend_load(bytes, size, path, NULL, NULL, &f.module));
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    if (i == 1) config.parallel = hlo_parallel_on_pool(pool);
    hlo_test_check(hlo_backend_native.compile(&hlo_backend_native, f.module, &config, &f.program));
    if (f.program->save) hlo_test_check(f.program->save(f.program, &images[i]));
    drop(&f);
  }
  if (images[0].length != images[1].length ||
      memcmp(images[0].data, images[1].data, images[0].length) != 0) {
    fail_msg("%s: other code on %u threads than on one", path, hlo_pool_worker_count(pool));
  }
  for (int i = 0; i < 2; ++i) hlo_strbuf_deinit(&images[i]);
  hlo_mem_free(bytes);
}

static void programs_do_not_depend_on_threads(void** state) {
  (void)state;
  static const char kFolder[] = "tests/programs/one-device";
  for (uint32_t threads = 2; threads <= 5; threads += 3) {
    hlo_pool_t* pool;
    hlo_test_check(hlo_pool_create(threads, &pool));
    DIR* folder = opendir(kFolder);
    assert_non_null(folder);
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
      char path[512];
      snprintf(path, sizeof path, "%s/%s", kFolder, entry->d_name);
      if (strstr(path, ".mlirbc")) expect_equal_images(path, pool);
    }
    closedir(folder);
    hlo_pool_release(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(donation_may_happen_or_not),
      cmocka_unit_test(errors_name_op_and_place),
      cmocka_unit_test(endless_loops_can_be_cancelled),
      cmocka_unit_test(a_case_may_have_many_branches),
      cmocka_unit_test(the_interpreter_runs_what_is_refused),
      cmocka_unit_test(the_c_compiler_stands_in_for_machine_code),
      cmocka_unit_test(high_bits_of_narrow_arguments_do_not_matter),
      cmocka_unit_test(one_program_runs_on_many_threads),
      cmocka_unit_test(programs_do_not_depend_on_threads),
      cmocka_unit_test(compiling_survives_every_failed_allocation),
      cmocka_unit_test(running_survives_every_failed_allocation),
  };
  return cmocka_run_group_tests_name("compiler/backend_native", tests, NULL, NULL);
}
