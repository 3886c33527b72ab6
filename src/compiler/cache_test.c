// SPDX-License-Identifier: Apache-2.0
// Machine code of earlier compilations: what is found again, what is not, what damage does.
#include "compiler/cache.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/fuzz.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/test_util.h"
#include "compiler/compiler.h"
#include "compiler/execute.h"

// Constants that are read, returned and filled with, a loop, a call of the library with a region.
static const char kProgram[] =
    "func.func @main(%a: tensor<600xf32>) -> (tensor<600xf32>, tensor<9000xi32>, tensor<i32>) {\n"
    "  %c = stablehlo.constant dense<\"0x0000803F0000004000004040\"> : tensor<3xf32>\n"
    "  %b = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<3xf32>) -> tensor<3x200xf32>\n"
    "  %r = stablehlo.reshape %b : (tensor<3x200xf32>) -> tensor<600xf32>\n"
    "  %s = stablehlo.multiply %a, %r : tensor<600xf32>\n"
    "  %n = stablehlo.constant dense<5> : tensor<9000xi32>\n"
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %end = stablehlo.constant dense<40> : tensor<i32>\n"
    "  %i = stablehlo.while(%k = %z) : tensor<i32>\n"
    "    cond { %p = stablehlo.compare LT, %k, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do { %q = stablehlo.add %k, %one : tensor<i32>\n"
    "      stablehlo.return %q : tensor<i32> }\n"
    "  %o = \"stablehlo.sort\"(%s) ({\n"
    "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
    "    %t = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %t : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<600xf32>) -> tensor<600xf32>\n"
    "  return %o, %n, %i : tensor<600xf32>, tensor<9000xi32>, tensor<i32>\n"
    "}\n";

typedef struct fixture {
  hlo_config_t options;
  char folder[256];
} fixture_t;

static int setup(void** state) {
  static fixture_t fixture;
  static const char* const empty[] = {NULL};
  fixture = (fixture_t){0};
  hlo_test_check(hlo_config_init(&fixture.options, empty, NULL));
  hlo_test_check(hlo_os_directory_create_temporary(NULL, fixture.folder, sizeof fixture.folder));
  *state = &fixture;
  return 0;
}

static int teardown(void** state) {
  fixture_t* fixture = *state;
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  hlo_test_check(hlo_os_directory_list(fixture->folder, &files, &count));
  for (uint32_t i = 0; i < count; ++i) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", fixture->folder, files[i].name);
    hlo_os_file_remove(path);
  }
  hlo_os_files_free(files, count);
  hlo_os_file_remove(fixture->folder);
  hlo_config_deinit(&fixture->options);
  return 0;
}

static hlo_compile_cache_t* open_cache(const fixture_t* fixture, bool has_folder) {
  hlo_config_t options = fixture->options;
  if (has_folder) options.cache_dir = fixture->folder;
  hlo_compile_cache_t* cache = NULL;
  hlo_test_check(hlo_compile_cache_create(&options, NULL, &cache));
  return cache;
}

static hlo_executable_t* compile_with(const char* text, const hlo_compile_config_t* config) {
  hlo_executable_t* executable = NULL;
  hlo_test_check(hlo_compile(text, strlen(text), "test.mlir", config, NULL, 0, NULL, &executable));
  return executable;
}

static hlo_executable_t* compile(const char* text, hlo_compile_cache_t* cache) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.cache = cache;
  return compile_with(text, &config);
}

// Returns true if the machine has machine code at all: otherwise the cache keeps nothing.
static bool has_code(void) {
  hlo_executable_t* executable = compile(kProgram, NULL);
  bool answer = executable->program->code_bytes != 0;
  hlo_executable_release(executable);
  return answer;
}

static void run(const hlo_executable_t* executable) {
  enum { COUNT = 600 };
  hlo_tensor_t *input = NULL, *outputs[3] = {0};
  hlo_test_check(hlo_tensor_create(HLO_DTYPE_F32, 1, (const int64_t[]){COUNT}, &input));
  for (int i = 0; i < COUNT; ++i) ((float*)input->data)[i] = (float)(i % 200);
  const hlo_func_t* entry = hlo_module_entry(executable->module);
  hlo_test_check(hlo_program_execute(executable->program, entry->type, NULL, &input, outputs));
  const float* sorted = outputs[0]->data;
  assert_float_equal(sorted[0], 3 * 199, 0);
  assert_float_equal(sorted[COUNT - 1], 0, 0);
  for (int i = 1; i < COUNT; ++i) assert_true(sorted[i - 1] >= sorted[i]);
  for (int i = 0; i < 9000; ++i) assert_int_equal(((int32_t*)outputs[1]->data)[i], 5);
  assert_int_equal(*(int32_t*)outputs[2]->data, 40);
  for (int i = 0; i < 3; ++i) hlo_tensor_release(outputs[i]);
  hlo_tensor_release(input);
}

// Compiles, says whether the code is that of an earlier compilation, and runs it.
static bool is_reused(const char* text, hlo_compile_cache_t* cache) {
  hlo_executable_t* executable = compile(text, cache);
  bool answer = executable->program->is_reused;
  if (strstr(text, "sort")) run(executable);
  hlo_executable_release(executable);
  return answer;
}

static void structure_counts(void** state) {
  hlo_compile_cache_t* cache = open_cache(*state, false);
  assert_false(is_reused(kProgram, cache));
  assert_int_equal(is_reused(kProgram, cache), has_code());
  // Names of values and places do not count; constants do.
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text, "\n\n%s", kProgram);
  for (char* at = text.data; (at = strstr(at, "%one")); ++at) memcpy(at, "%two", 4);
  assert_int_equal(is_reused(hlo_strbuf_text(&text), cache), has_code());
  memcpy(strstr(text.data, "dense<40>"), "dense<41>", 9);
  hlo_executable_t* other = compile(hlo_strbuf_text(&text), cache);
  assert_false(other->program->is_reused);
  hlo_executable_release(other);
  hlo_strbuf_deinit(&text);
  // Another processor, and whoever checks plans, gets other code.
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.cache = cache;
  config.verify_each = true;
  other = compile_with(kProgram, &config);
  assert_false(other->program->is_reused);
  hlo_executable_release(other);
  config.verify_each = false;
  config.cpu = "avx2";
  hlo_cpu_t all, avx2;
  hlo_test_check(hlo_cpu_detect(NULL, &all));
  if (all.level > HLO_CPU_LEVEL_AVX2) {
    hlo_test_check(hlo_cpu_detect("avx2", &avx2));
    other = compile_with(kProgram, &config);
    assert_false(other->program->is_reused);
    hlo_executable_release(other);
  }
  // So does another treatment of subnormal numbers.
  config.cpu = NULL;
  config.subnormals = HLO_SUBNORMALS_KEEP;
  other = compile_with(kProgram, &config);
  assert_false(other->program->is_reused);
  hlo_executable_release(other);
  config.subnormals = HLO_SUBNORMALS_FLUSH;
  // And one that is described to have a tile for some product.
  hlo_target_t target;
  hlo_target_init(&all, &target);
  config.target = &target;
  other = compile_with(kProgram, &config);
  assert_int_equal(other->program->is_reused, has_code());
  hlo_executable_release(other);
  hlo_tile_target_read("tile f32.nn 2x3x4: 1 rows of 1 vectors", &target.tile);
  other = compile_with(kProgram, &config);
  assert_false(other->program->is_reused);
  hlo_executable_release(other);
  hlo_compile_cache_release(cache);
}

static void programs_outlive_the_cache(void** state) {
  hlo_compile_cache_t* cache = open_cache(*state, false);
  hlo_executable_t* first = compile(kProgram, cache);
  hlo_executable_t* second = compile(kProgram, cache);
  hlo_compile_cache_release(cache);
  run(first);
  hlo_executable_release(first);
  run(second);
  hlo_executable_release(second);
}

static void cleared_programs_are_compiled_again(void** state) {
  hlo_compile_cache_t* cache = open_cache(*state, false);
  hlo_executable_t* loaded = compile(kProgram, cache);
  assert_int_equal(is_reused(kProgram, cache), has_code());
  hlo_compile_cache_clear(cache);
  assert_false(is_reused(kProgram, cache));
  assert_int_equal(is_reused(kProgram, cache), has_code());
  run(loaded);
  hlo_executable_release(loaded);
  hlo_compile_cache_release(cache);
}

// A kernel in chunks, in modules each of which adds another constant to one element.
static void print_one_of_many(hlo_strbuf_t* out, int number) {
  hlo_strbuf_printf(out,
                    "func.func @main(%%a: tensor<1000x100xf32>, %%s: tensor<f32>)"
                    " -> (tensor<1000x100xf32>, tensor<f32>) {\n"
                    "  %%b = stablehlo.tanh %%a : tensor<1000x100xf32>\n"
                    "  %%c = stablehlo.exponential %%b : tensor<1000x100xf32>\n"
                    "  %%k = stablehlo.constant dense<%d.0> : tensor<f32>\n"
                    "  %%t = stablehlo.add %%s, %%k : tensor<f32>\n"
                    "  return %%c, %%t : tensor<1000x100xf32>, tensor<f32>\n}\n",
                    number);
}

static void a_kernel_of_many_modules_is_made_once(void** state) {
  enum { MODULES = 50 };
  hlo_compile_cache_t* cache = open_cache(*state, false);
  for (int i = 0; i < MODULES; ++i) {
    hlo_strbuf_t text = {0};
    print_one_of_many(&text, i);
    assert_false(is_reused(hlo_strbuf_text(&text), cache));
    hlo_strbuf_deinit(&text);
  }
  assert_int_equal(hlo_compile_cache_kernels(cache)->added_count, has_code());
  hlo_compile_cache_release(cache);
}

static char* only_file(const fixture_t* fixture) {
  static char path[512];
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  hlo_test_check(hlo_os_directory_list(fixture->folder, &files, &count));
  assert_int_equal(count, 1);
  snprintf(path, sizeof path, "%s/%s", fixture->folder, files[0].name);
  hlo_os_files_free(files, count);
  return path;
}

static bool is_reused_by_new_process(const fixture_t* fixture) {
  hlo_compile_cache_t* cache = open_cache(fixture, true);
  bool answer = is_reused(kProgram, cache);
  hlo_compile_cache_release(cache);
  return answer;
}

static void damaged_files_are_replaced(void** state) {
  const fixture_t* fixture = *state;
  if (!has_code()) return;
  assert_false(is_reused_by_new_process(fixture));
  assert_true(is_reused_by_new_process(fixture));
  const char* path = only_file(fixture);
  uint8_t* good = NULL;
  size_t size = 0;
  hlo_test_check(hlo_os_file_read(path, 0, &good, &size));
  uint8_t* bad = hlo_mem_alloc(size);
  for (size_t at = 0; at < size; at += 1 + size / 40) {
    memcpy(bad, good, size);
    bad[at] ^= 0x10;
    bool is_unused = at >= 12 && at < 16;  // reserved
    hlo_test_check(hlo_os_file_write(path, bad, size));
    assert_int_equal(is_reused_by_new_process(fixture), is_unused);
    assert_true(is_reused_by_new_process(fixture));
    hlo_test_check(hlo_os_file_write(path, good, at));
    assert_false(is_reused_by_new_process(fixture));
  }
  hlo_mem_free(bad);
  hlo_mem_free(good);
}

static void folders_are_bounded(void** state) {
  fixture_t* fixture = *state;
  fixture->options.cache_size = 1;  // MiB
  hlo_compile_cache_t* cache = open_cache(fixture, true);
  enum { FILES = 40, FILE_BYTES = 100000 };
  static uint8_t bytes[FILE_BYTES];
  for (uint64_t i = 0; i < FILES; ++i) {
    const hlo_digest_t key = {{i, ~i}};
    hlo_compile_cache_add(cache, &key, bytes, sizeof bytes);
  }
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  uint64_t total = 0;
  hlo_test_check(hlo_os_directory_list(fixture->folder, &files, &count));
  for (uint32_t i = 0; i < count; ++i) total += files[i].size_bytes;
  hlo_os_files_free(files, count);
  assert_true(count >= 3 && total < (1 << 20) + (1 << 18));
  hlo_compile_cache_release(cache);
  // The image added last is still there, the first one is not.
  cache = open_cache(fixture, true);
  hlo_cache_image_t* last =
      hlo_compile_cache_find(cache, &(hlo_digest_t){{FILES - 1, ~(FILES - 1ull)}});
  assert_non_null(last);
  assert_int_equal(last->item.size_bytes, sizeof bytes);
  hlo_cache_image_release(last);
  assert_null(hlo_compile_cache_find(cache, &(hlo_digest_t){{0, ~0ull}}));
  hlo_compile_cache_release(cache);
}

static void memory_is_bounded(void** state) {
  fixture_t* fixture = *state;
  fixture->options.cache_memory = 1;  // MiB
  hlo_compile_cache_t* cache = open_cache(fixture, false);
  static uint8_t bytes[300000];
  for (uint64_t i = 0; i < 5; ++i) {
    hlo_compile_cache_add(cache, &(hlo_digest_t){{i, i}}, bytes, sizeof bytes);
    hlo_cache_image_t* zero = hlo_compile_cache_find(cache, &(hlo_digest_t){{0, 0}});
    assert_non_null(zero);  // used all the time
    hlo_cache_image_release(zero);
  }
  assert_null(hlo_compile_cache_find(cache, &(hlo_digest_t){{1, 1}}));
  hlo_compile_cache_add(cache, &(hlo_digest_t){{9, 9}}, bytes, sizeof bytes);
  hlo_compile_cache_release(cache);
}

static void folders_of_others_are_not_used(void** state) {
  const fixture_t* fixture = *state;
  assert_int_equal(chmod(fixture->folder, 0777), 0);
  hlo_compile_cache_t* cache = open_cache(fixture, true);
  hlo_compile_cache_add(cache, &(hlo_digest_t){{1, 2}}, "code", 4);
  hlo_compile_cache_release(cache);
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  hlo_test_check(hlo_os_directory_list(fixture->folder, &files, &count));
  hlo_os_files_free(files, count);
  assert_int_equal(count, 0);
}

static void* compile_often(void* cache) {
  for (int i = 0; i < 20; ++i) is_reused(kProgram, cache);
  return NULL;
}

static void threads_share_a_cache(void** state) {
  enum { THREADS = 4 };
  hlo_compile_cache_t* cache = open_cache(*state, true);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, compile_often, cache);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(is_reused(kProgram, cache), has_code());
  hlo_compile_cache_release(cache);
}

static void serialized_programs_hold_code(void** state) {
  (void)state;
  hlo_executable_t* executable = compile(kProgram, NULL);
  uint8_t *bytes = NULL, *again = NULL;
  size_t size = 0, again_size = 0;
  hlo_test_check(hlo_executable_serialize(executable, &bytes, &size));
  hlo_serialized_t parts;
  hlo_test_check(hlo_executable_parse(bytes, size, &parts));
  assert_int_equal(parts.code_bytes != 0, has_code());
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.code = parts.code;
  config.code_bytes = parts.code_bytes;
  hlo_executable_t* loaded = compile_with(kProgram, &config);
  assert_int_equal(loaded->program->is_reused, has_code());
  run(loaded);
  hlo_test_check(hlo_executable_serialize(loaded, &again, &again_size));
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again, size);
  hlo_mem_free(again);
  hlo_executable_release(loaded);
  hlo_executable_release(executable);
  // Of another program it is of no use.
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, kProgram);
  memcpy(strstr(text.data, "multiply"), "subtract", 8);
  loaded = compile_with(hlo_strbuf_text(&text), &config);
  assert_false(loaded->program->is_reused);
  hlo_executable_release(loaded);
  hlo_strbuf_deinit(&text);
  bytes[size - 1] ^= 1;
  hlo_status_t status = hlo_executable_parse(bytes, size, &parts);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_DATA_LOSS);
  hlo_status_release(status);
  hlo_mem_free(bytes);
}

// The header's sizes of the parts must fit the bytes, whatever they are.
static void sizes_of_parts_are_checked(void** state) {
  (void)state;
  enum { SIZES_AT = 16, SIZES = 4 };  // of program, options, description of the machine, code
  static const uint64_t changes[] = {1, UINT64_MAX, UINT64_MAX / 2, 1ull << 40};
  hlo_executable_t* executable = compile(kProgram, NULL);
  uint8_t* bytes = NULL;
  size_t size = 0;
  hlo_test_check(hlo_executable_serialize(executable, &bytes, &size));
  hlo_executable_release(executable);
  for (size_t i = 0; i < SIZES; ++i) {
    for (size_t c = 0; c < sizeof changes / sizeof *changes; ++c) {
      uint64_t right, wrong;
      memcpy(&right, bytes + SIZES_AT + 8 * i, sizeof right);
      wrong = right + changes[c];
      memcpy(bytes + SIZES_AT + 8 * i, &wrong, sizeof wrong);
      hlo_serialized_t parts;
      hlo_status_t status = hlo_executable_parse(bytes, size, &parts);
      assert_int_equal(hlo_status_code(status), HLO_STATUS_DATA_LOSS);
      hlo_status_release(status);
      memcpy(bytes + SIZES_AT + 8 * i, &right, sizeof right);
    }
  }
  hlo_serialized_t parts;
  hlo_test_check(hlo_executable_parse(bytes, size, &parts));
  hlo_cpu_t cpu;
  if (has_code()) hlo_test_check(hlo_cpu_find(parts.target, &cpu));
  hlo_mem_free(bytes);
}

static void serialized_programs_keep_to_their_subnormals(void** state) {
  (void)state;
  uint64_t fingerprints[2];
  for (int i = 0; i < 2; ++i) {
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    config.subnormals = i ? HLO_SUBNORMALS_KEEP : HLO_SUBNORMALS_FLUSH;
    hlo_executable_t* executable = compile_with(kProgram, &config);
    assert_int_equal(executable->program->env.subnormals, config.subnormals);
    uint8_t* bytes = NULL;
    size_t size = 0;
    hlo_test_check(hlo_executable_serialize(executable, &bytes, &size));
    hlo_serialized_t parts;
    hlo_test_check(hlo_executable_parse(bytes, size, &parts));
    assert_true(parts.is_executable);
    assert_int_equal(parts.subnormals, config.subnormals);
    // Code for one treatment is of no use for the other.
    config.code = parts.code;
    config.code_bytes = parts.code_bytes;
    config.subnormals = i ? HLO_SUBNORMALS_FLUSH : HLO_SUBNORMALS_KEEP;
    hlo_executable_t* other = compile_with(kProgram, &config);
    assert_false(other->program->is_reused);
    fingerprints[i] = executable->fingerprint;
    hlo_executable_release(other);
    hlo_executable_release(executable);
    hlo_mem_free(bytes);
  }
  assert_true(fingerprints[0] != fingerprints[1]);
}

static void tokens_have_no_place(void** state) {
  hlo_compile_cache_t* cache = open_cache(*state, false);
  static const char text[] =
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %t = stablehlo.create_token : !stablehlo.token\n"
      "  %u = stablehlo.after_all %t, %t : !stablehlo.token\n"
      "  %w = \"hlo.add_dependency\"(%x, %u) : (tensor<4xf32>, !stablehlo.token) -> tensor<4xf32>\n"
      "  return %w : tensor<4xf32>\n"
      "}\n";
  assert_false(is_reused(text, cache));
  assert_int_equal(is_reused(text, cache), has_code());
  hlo_compile_cache_release(cache);
}

// Also that one of many elements is another.
static void every_constant_counts(void** state) {
  hlo_compile_cache_t* cache = open_cache(*state, false);
  for (int i = 0; i < 200; i += 3) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_puts(&text,
                    "func.func @main() -> tensor<200xi32> {\n"
                    "  %c = stablehlo.constant dense<[");
    for (int k = 0; k < 200; ++k) hlo_strbuf_printf(&text, "%s%d", k ? "," : "", k == i);
    hlo_strbuf_puts(&text, "]> : tensor<200xi32>\n  return %c : tensor<200xi32>\n}\n");
    assert_false(is_reused(hlo_strbuf_text(&text), cache));
    hlo_strbuf_deinit(&text);
  }
  hlo_compile_cache_release(cache);
}

static void checked_code_is_not_saved(void** state) {
  (void)state;
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.verify_each = true;
  hlo_executable_t* executable = compile_with(kProgram, &config);
  hlo_strbuf_t code = {0};
  if (executable->program->save)
    hlo_test_check(executable->program->save(executable->program, &code));
  assert_int_equal(code.length, 0);
  hlo_strbuf_deinit(&code);
  hlo_executable_release(executable);
}

// Whatever the image says, loading it answers: code is loaded or made again.
static void hostile_code_is_checked(void** state) {
  (void)state;
  hlo_executable_t* executable = compile(kProgram, NULL);
  hlo_strbuf_t code = {0};
  if (executable->program->save)
    hlo_test_check(executable->program->save(executable->program, &code));
  hlo_executable_release(executable);
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  uint64_t random = 1;
  uint32_t loaded = 0;
  enum { ROUNDS = 300, TABLES = 2000 };
  for (int i = 0; i < ROUNDS && code.length; ++i) {
    char* bytes = hlo_mem_strndup(code.data, code.length);
    size_t limit = code.length < TABLES ? code.length : TABLES;
    size_t at = sizeof(hlo_digest_t) + hlo_fuzz_random(&random) % (limit - sizeof(hlo_digest_t));
    bytes[at] = (char)hlo_fuzz_random(&random);
    config.code = bytes;
    config.code_bytes = i % 8 ? code.length : at;
    executable = compile_with(kProgram, &config);
    loaded += executable->program->is_reused;
    hlo_executable_release(executable);
    hlo_mem_free(bytes);
  }
  assert_true(!code.length || loaded < ROUNDS);
  hlo_strbuf_deinit(&code);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(structure_counts),
      TEST(programs_outlive_the_cache),
      TEST(cleared_programs_are_compiled_again),
      TEST(damaged_files_are_replaced),
      TEST(folders_are_bounded),
      TEST(memory_is_bounded),
      TEST(folders_of_others_are_not_used),
      TEST(threads_share_a_cache),
      TEST(serialized_programs_hold_code),
      TEST(serialized_programs_keep_to_their_subnormals),
      TEST(sizes_of_parts_are_checked),
      TEST(tokens_have_no_place),
      TEST(every_constant_counts),
      TEST(checked_code_is_not_saved),
      TEST(hostile_code_is_checked),
      TEST(a_kernel_of_many_modules_is_made_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
