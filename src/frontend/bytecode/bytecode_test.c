// SPDX-License-Identifier: Apache-2.0
// Tests of the bytecode reader on the programs of tests/programs: whole, truncated and damaged.
#define _GNU_SOURCE  // memmem
#include "frontend/bytecode/bytecode.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "ir/print.h"

typedef struct file {
  uint8_t* bytes;
  size_t size;
} file_t;

static file_t read_file(const char* path) {
  FILE* stream = fopen(path, "rb");
  assert_non_null(stream);
  fseek(stream, 0, SEEK_END);
  file_t file = {.size = (size_t)ftell(stream)};
  rewind(stream);
  file.bytes = hlo_mem_alloc(file.size);
  assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
  fclose(stream);
  return file;
}

static hlo_module_t* must_read(const file_t* file) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_bytecode_read(file->bytes, file->size, NULL, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return module;
}

// Reading may fail, but without crash or leak; returns true if it succeeded.
static bool try_read(const void* bytes, size_t size, char* message, size_t message_size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_bytecode_read(bytes, size, NULL, &module);
  bool ok = hlo_status_is_ok(status);
  if (message) snprintf(message, message_size, "%s", hlo_status_message(status));
  hlo_status_release(status);
  hlo_module_release(module);
  return ok;
}

static void must_verify(const hlo_module_t* module, const char* path) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, path, NULL, 0);
  hlo_status_t status = hlo_module_verify(module, &diag);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  hlo_diag_deinit(&diag);
}

static hlo_module_t* must_parse(const char* text, size_t length, const char* path) {
  hlo_module_t* module = NULL;
  hlo_diag_t diag;
  hlo_diag_init(&diag, path, text, length);
  hlo_status_t status = hlo_parse_module(text, length, path, &diag, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  hlo_diag_deinit(&diag);
  return module;
}

// A module equals the module parsed from its printed text, pretty and generic.
static void check_round_trip(const hlo_module_t* module, const char* path) {
  for (int generic = 0; generic < 2; ++generic) {
    hlo_strbuf_t text = {0};
    hlo_print_module(module, &(hlo_print_options_t){.generic = generic, .locations = true}, &text);
    hlo_module_t* again = must_parse(hlo_strbuf_text(&text), text.length, path);
    if (!hlo_module_equal(module, again))
      fail_msg("%s: the parsed text gives a different module", path);
    hlo_module_release(again);
    hlo_strbuf_deinit(&text);
  }
}

static unsigned read_folder(const char* folder) {
  unsigned count = 0;
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent* entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (length < 7 || strcmp(entry->d_name + length - 7, ".mlirbc") != 0) continue;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    file_t file = read_file(path);
    hlo_module_t* module = NULL;
    hlo_status_t status = hlo_bytecode_read(file.bytes, file.size, NULL, &module);
    if (!hlo_status_is_ok(status)) fail_msg("%s: %s", path, hlo_status_message(status));
    hlo_func_t* main_func = hlo_module_find_func(module, "main");
    assert_non_null(main_func);
    assert_int_equal(hlo_region_terminator(main_func->body)->op, HLO_OP_func_return);
    must_verify(module, path);
    check_round_trip(module, path);
    hlo_module_release(module);
    hlo_mem_free(file.bytes);
    ++count;
  }
  closedir(dir);
  return count;
}

static void test_reads_all_programs(void** state) {
  (void)state;
  assert_int_equal(read_folder("tests/programs/one-device"), 76);
  assert_int_equal(read_folder("tests/programs/eight-devices"), 12);
}

// tests/bytecode/NAME.*.mlirbc are the program of NAME.mlir in several versions of StableHLO and of
// the encoding.
static void check_versions(const char* name, unsigned expected_count) {
  char prefix[64], path[512];
  snprintf(prefix, sizeof prefix, "%s.", name);
  snprintf(path, sizeof path, "tests/bytecode/%s.mlir", name);
  file_t file = read_file(path);
  hlo_module_t* expected = must_parse((const char*)file.bytes, file.size, path);
  hlo_mem_free(file.bytes);
  must_verify(expected, path);
  check_round_trip(expected, path);
  unsigned count = 0;
  DIR* dir = opendir("tests/bytecode");
  assert_non_null(dir);
  for (struct dirent* entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || length < 7 ||
        strcmp(entry->d_name + length - 7, ".mlirbc") != 0) {
      continue;
    }
    snprintf(path, sizeof path, "tests/bytecode/%s", entry->d_name);
    file = read_file(path);
    hlo_module_t* module = must_read(&file);
    if (!hlo_module_equal(expected, module)) fail_msg("%s differs", path);
    hlo_module_release(module);
    hlo_mem_free(file.bytes);
    ++count;
  }
  closedir(dir);
  hlo_module_release(expected);
  assert_int_equal(count, expected_count);
}

static void test_versions(void** state) {
  (void)state;
  check_versions("basic", 13);
  check_versions("recent", 6);
  check_versions("resource", 5);
  check_versions("meshes", 6);
  check_versions("shardy", 5);
  check_versions("quantized", 2);
}

static const hlo_literal_t* nth_literal(const hlo_func_t* func, int n) {
  const hlo_node_t* node = func->body->first;
  while (n-- > 0) node = node->next;
  return hlo_node_attr(node, HLO_ATTR_value)->literal;
}

// Constants of @literals in tests/bytecode/basic.mlir: bits are unpacked, sub-byte values extended,
// splats stay splats.
static void test_literals(void** state) {
  (void)state;
  file_t file = read_file("tests/bytecode/basic.vhlo-1.20.mlirbc");
  hlo_module_t* module = must_read(&file);
  const hlo_func_t* func = hlo_module_find_func(module, "literals");
  const hlo_literal_t* bools = nth_literal(func, 0);
  static const uint8_t expected_bools[] = {1, 0, 1, 1, 0, 0, 1, 0, 1};
  assert_memory_equal(bools->data, expected_bools, sizeof expected_bools);
  assert_true(nth_literal(func, 1)->is_splat);
  assert_int_equal(*(const uint8_t*)nth_literal(func, 1)->data, 1);
  assert_int_equal(*(const uint8_t*)hlo_literal_element(nth_literal(func, 2), 4), 0);
  static const int8_t expected_s4[] = {-8, -1, 0, 7};
  assert_memory_equal(nth_literal(func, 3)->data, expected_s4, sizeof expected_s4);
  static const uint8_t expected_u4[] = {0, 9, 15};
  assert_memory_equal(nth_literal(func, 4)->data, expected_u4, sizeof expected_u4);
  static const float expected_c64[] = {1, 2, -3, 0};
  assert_memory_equal(nth_literal(func, 5)->data, expected_c64, sizeof expected_c64);
  assert_true(nth_literal(func, 6)->is_splat);
  assert_int_equal(nth_literal(func, 7)->element_count, 0);
  assert_int_equal(((const uint64_t*)nth_literal(func, 10)->data)[1] == UINT64_MAX, 1);
  assert_true(*(const double*)nth_literal(func, 11)->data == 3.141592653589793);
  hlo_module_release(module);
  hlo_mem_free(file.bytes);
}

static void count_destroyed(hlo_literal_keeper_t* keeper) {
  atomic_store(&keeper->count, -1);
}

// A large constant in the resource section is used in place, as long as a literal needs it.
static void test_lends_resources(void** state) {
  (void)state;
  file_t file = read_file("tests/bytecode/resource.plain-v6.mlirbc");
  hlo_literal_keeper_t keeper = {.destroy = count_destroyed};
  atomic_init(&keeper.count, 1);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_bytecode_read(file.bytes, file.size, &keeper, &module);
  assert_true(hlo_status_is_ok(status));
  hlo_literal_t* large = hlo_literal_retain(
      hlo_node_attr(hlo_module_entry(module)->body->first, HLO_ATTR_value)->literal);
  const hlo_literal_t* small = nth_literal(hlo_module_entry(module), 1);
  assert_ptr_equal(large->keeper, &keeper);
  assert_true((const uint8_t*)large->data > file.bytes &&
              (const uint8_t*)large->data < file.bytes + file.size);
  assert_true(((const float*)large->data)[255] == 127.5f);
  assert_null(small->keeper);
  assert_int_equal(((const int32_t*)small->data)[3], 4);
  hlo_module_release(module);
  hlo_literal_keeper_release(&keeper);
  assert_int_equal(atomic_load(&keeper.count), 1);  // the literal's
  hlo_literal_release(large);
  assert_int_equal(atomic_load(&keeper.count), -1);
  hlo_mem_free(file.bytes);
}

// module { func public @main(tensor<f32>) { 1.0 + x } }
static void test_add_scalar(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/one-device/add_scalar.mlirbc");
  hlo_module_t* module = must_read(&file);
  assert_string_equal(module->name, "jit__lambda");
  assert_int_equal(hlo_attr_dict_get(module->extra, "mhlo.num_partitions")->i, 1);
  hlo_func_t* func = hlo_module_entry(module);
  assert_int_equal(func->visibility, HLO_PUBLIC);
  assert_string_equal(hlo_attr_dict_get(func->result_attrs[0], "jax.result_info")->text, "result");
  assert_null(func->arg_attrs);
  hlo_node_t* constant = func->body->first;
  assert_int_equal(constant->op, HLO_OP_constant);
  const hlo_attr_t* value = hlo_node_attr(constant, HLO_ATTR_value);
  assert_true(value->type == constant->results[0].type);
  assert_true(*(const float*)value->literal->data == 1.0f);
  hlo_node_t* add = constant->next;
  assert_int_equal(add->op, HLO_OP_add);
  assert_ptr_equal(hlo_node_operand(add, 0), func->body->args[0]);
  assert_ptr_equal(hlo_node_operand(add, 1), &constant->results[0]);
  hlo_strbuf_t loc = {0};
  hlo_loc_format(module, add->loc, &loc);
  assert_non_null(strstr(hlo_strbuf_text(&loc), "peers.py:"));
  hlo_strbuf_deinit(&loc);
  hlo_module_release(module);
  hlo_mem_free(file.bytes);
}

// Defaults that VHLO writes out become absent; other attributes are flat, in the forms of the op
// table.
static void test_attributes(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/one-device/conv3x3_fwd.mlirbc");
  hlo_module_t* module = must_read(&file);
  hlo_node_t* conv = hlo_module_entry(module)->body->first;
  assert_int_equal(conv->op, HLO_OP_convolution);
  assert_null(hlo_node_attr(conv, HLO_ATTR_lhs_dilation));
  assert_null(hlo_node_attr(conv, HLO_ATTR_window_reversal));
  assert_null(hlo_node_attr(conv, HLO_ATTR_precision_config));
  const hlo_attr_t* padding = hlo_node_attr(conv, HLO_ATTR_padding);
  assert_int_equal(padding->kind, HLO_ATTR_KIND_INTS);
  assert_int_equal(padding->rows, 2);
  assert_int_equal(padding->cols, 2);
  assert_int_equal(hlo_node_attr_int(conv, HLO_ATTR_feature_group_count, -1), 1);
  hlo_module_release(module);
  hlo_mem_free(file.bytes);
}

static void test_sharded(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/eight-devices/psum_8.mlirbc");
  hlo_module_t* module = must_read(&file);
  hlo_node_t* mesh = module->top->first;
  assert_int_equal(mesh->op, HLO_OP_sdy_mesh);
  assert_string_equal(hlo_node_attr_text(mesh, HLO_ATTR_sym_name), "mesh");
  assert_string_equal(hlo_node_attr(mesh, HLO_ATTR_mesh)->text, "#sdy.mesh<[\"x\"=8]>");
  hlo_func_t* func = hlo_module_entry(module);
  assert_string_equal(hlo_attr_dict_get(func->arg_attrs[0], "sdy.sharding")->text,
                      "#sdy.sharding<@mesh, [{\"x\"}, {}]>");
  hlo_node_t* manual = func->body->first;
  assert_int_equal(manual->op, HLO_OP_sdy_manual_computation);
  assert_string_equal(hlo_node_attr(manual, HLO_ATTR_manual_axes)->text,
                      "#sdy<manual_axes{\"x\"}>");
  hlo_node_t* sum = manual->regions[0]->first;
  assert_int_equal(sum->op, HLO_OP_all_reduce);
  assert_int_equal(hlo_node_attr_int(sum, HLO_ATTR_channel_id, 0), 1);
  assert_true(hlo_node_attr_bool(sum, HLO_ATTR_use_global_device_ids, false));
  hlo_module_release(module);
  hlo_mem_free(file.bytes);
}

// Reading any prefix is an error with a byte offset; sanitizer builds check for leaks.
static void test_prefixes(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/one-device/add_scalar.mlirbc");
  for (size_t size = 0; size < file.size; ++size) {
    char message[512];
    uint8_t* copy = hlo_mem_alloc(size);
    memcpy(copy, file.bytes, size);
    assert_false(try_read(copy, size, message, sizeof message));
    assert_non_null(strstr(message, "byte "));
    hlo_mem_free(copy);
  }
  hlo_mem_free(file.bytes);
}

static void test_damaged(void** state) {
  (void)state;
  static const char* const paths[] = {"tests/programs/one-device/while_1e5_tiny.mlirbc",
                                      "tests/programs/eight-devices/psum_8.mlirbc"};
  for (size_t k = 0; k < sizeof paths / sizeof paths[0]; ++k) {
    file_t file = read_file(paths[k]);
    for (size_t i = 0; i < file.size; ++i) {
      uint8_t old = file.bytes[i];
      const uint8_t values[] = {0, 0xff, (uint8_t)(old + 2), (uint8_t)(old ^ 0x80)};
      for (size_t v = 0; v < sizeof values; ++v) {
        file.bytes[i] = values[v];
        try_read(file.bytes, file.size, NULL, 0);
      }
      file.bytes[i] = old;
    }
    hlo_mem_free(file.bytes);
  }
}

// The reader must not crash or leak on the fuzzer's corpus.
static void test_corpus(void** state) {
  (void)state;
  static const char folder[] = "tests/corpus/frontend_bytecode_bytecode";
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent* entry; (entry = readdir(dir));) {
    char path[512];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    file_t file = read_file(path);
    try_read(file.bytes, file.size, NULL, 0);
    hlo_mem_free(file.bytes);
  }
  closedir(dir);
}

// A version of StableHLO or of the encoding newer than the newest known one is refused by name.
static void test_future_versions(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/one-device/add_scalar.mlirbc");
  char message[512];
  file.bytes[16] = '9';  // "StableHLO_v1.17.0" starts at byte 5
  assert_false(try_read(file.bytes, file.size, message, sizeof message));
  assert_non_null(strstr(message, "StableHLO_v9.17.0, which is newer than"));
  file.bytes[16] = '1';
  file.bytes[4] = 2 * 7 + 1;  // version 7
  assert_false(try_read(file.bytes, file.size, message, sizeof message));
  assert_non_null(strstr(message, "MLIR bytecode version 7"));
  hlo_mem_free(file.bytes);
}

// An op whose name is in no table, and one that is newer than the file's own version.
static void test_unknown_ops(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/one-device/add_scalar.mlirbc");
  char message[512];
  uint8_t* name = memmem(file.bytes, file.size, "add_v1", 6);
  assert_non_null(name);
  memcpy(name, "adx_v1", 6);
  assert_false(try_read(file.bytes, file.size, message, sizeof message));
  assert_non_null(strstr(message, "op 'vhlo.adx_v1' at peers.py:"));
  memcpy(name, "tan_v1", 6);
  file.bytes[18] = '0';  // 1.17 -> 1.07
  file.bytes[19] = '3';
  assert_false(try_read(file.bytes, file.size, message, sizeof message));
  assert_non_null(strstr(message, "vhlo.tan_v1 exists since StableHLO v1.4.0"));
  hlo_mem_free(file.bytes);
}

// Each allocation fails once.
static void test_out_of_memory(void** state) {
  (void)state;
  file_t file = read_file("tests/programs/eight-devices/psum_8.mlirbc");
  for (uint64_t n = 1;; ++n) {
    hlo_mem_fail_nth(n);
    bool ok = try_read(file.bytes, file.size, NULL, 0);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!failed) {
      assert_true(ok);
      break;
    }
    assert_false(ok);
  }
  hlo_mem_free(file.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads_all_programs),
      cmocka_unit_test(test_add_scalar),
      cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_sharded),
      cmocka_unit_test(test_prefixes),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_corpus),
      cmocka_unit_test(test_future_versions),
      cmocka_unit_test(test_unknown_ops),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_literals),
      cmocka_unit_test(test_lends_resources),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
