// SPDX-License-Identifier: Apache-2.0
// Runs the program of every golden file of this folder's passes on a simulated grid, before and
// after its passes: the results of every process are equal in every bit. Arguments are small
// integers, whose sums are exact in any order.
#include <dirent.h>

#include "base/mem.h"
#include "spmd/grid_test_util.h"
#include "spmd/partition_test_util.h"

enum { PATH_BYTES = 512 };

typedef struct golden {
  char* text;
  char passes[256];
  char* input;
  bool has_input;  // false: the file is about an error, or not about passes
} golden_t;

static char* read_file(const char* path) {
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* text = malloc((size_t)size + 1);
  assert_int_equal(fread(text, 1, (size_t)size, file), size);
  text[size] = 0;
  fclose(file);
  return text;
}

static void read_golden(const char* path, golden_t* golden) {
  *golden = (golden_t){.text = read_file(path)};
  const char* passes = strstr(golden->text, "--passes=");
  if (!passes) return;
  passes += strlen("--passes=");
  const size_t length = strcspn(passes, " \n");
  assert_true(length < sizeof golden->passes);
  memcpy(golden->passes, passes, length);
  char* end = strstr(golden->text, "\n# ---");
  golden->has_input = end && !strstr(golden->text, "# exit:");
  if (!golden->has_input) return;
  end[1] = 0;
  golden->input = golden->text;
  while (*golden->input == '#') golden->input = strchr(golden->input, '\n') + 1;
}

// ---- files

static const hlo_pass_options_t checks = {
    .verify_each = true, .run_twice = true, .check_changed = true, .more = &hlo_spmd_pass_set};

static void check_file(const char* path) {
  golden_t golden;
  hlo_test_outcome_t before, after;
  read_golden(path, &golden);
  if (golden.has_input) {
    hlo_module_t* module = hlo_test_parse(golden.input);
    hlo_test_run_on_grid(module, path, &before);
    hlo_status_t status = hlo_passes_run(module, golden.passes, &checks);
    if (!hlo_status_is_ok(status)) fail_msg("%s: %s", path, hlo_status_message(status));
    hlo_test_run_on_grid(module, path, &after);
    hlo_test_expect_equal(path, &before, &after);
    hlo_test_release(&before);
    hlo_test_release(&after);
    hlo_module_release(module);
  }
  free(golden.text);
}

// ---- discardable attributes

static bool is_collective(const hlo_node_t* node) {
  return hlo_op_info(node->op)->cost == HLO_COST_EXCHANGE;
}

static hlo_status_t add_note(void* context, hlo_node_t* node) {
  hlo_module_t* module = context;
  if (!is_collective(node)) return hlo_ok();
  node->extra = hlo_attr_dict_with(module, node->extra, "test.note", hlo_attr_unit(module));
  return hlo_ok();
}

static hlo_status_t find_note(void* context, hlo_node_t* node) {
  if (is_collective(node) && !hlo_attr_dict_get(node->extra, "test.note")) {
    fail_msg("%s: %s lost an attribute", (const char*)context, hlo_op_info(node->op)->name);
  }
  return hlo_ok();
}

// If all collectives of a program have an attribute, so have those that passes make of them.
static void check_attributes(const char* path) {
  golden_t golden;
  read_golden(path, &golden);
  if (golden.has_input) {
    hlo_module_t* module = hlo_test_parse(golden.input);
    hlo_test_check(hlo_module_walk(module, false, add_note, module));
    hlo_test_check(hlo_passes_run(module, golden.passes, &checks));
    hlo_test_check(hlo_module_walk(module, false, find_note, (void*)path));
    hlo_module_release(module);
  }
  free(golden.text);
}

// Memory exhausted at every allocation is reported.
static void check_memory(const char* path) {
  golden_t golden;
  read_golden(path, &golden);
  bool failed = golden.has_input;
  for (uint64_t n = 1; failed; ++n) {
    hlo_module_t* module = hlo_test_parse(golden.input);
    // Without room in its block, the module allocates as often as the pass does.
    hlo_arena_alloc(&module->arena, (size_t)(module->arena.end - module->arena.next));
    hlo_mem_fail_nth(n);
    hlo_status_t status =
        hlo_passes_run(module, golden.passes, &(hlo_pass_options_t){.more = &hlo_spmd_pass_set});
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    const hlo_status_code_t code = hlo_status_code(status);
    if (code != (failed ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_OK)) {
      fail_msg("%s: allocation %d: %s", path, (int)n, hlo_status_message(status));
    }
    hlo_status_release(status);
    hlo_module_release(module);
  }
  free(golden.text);
}

// Compares the parts that devices compute with what one device computes.
static void check_parts(const char* path) {
  golden_t golden;
  read_golden(path, &golden);
  if (golden.has_input) hlo_test_expect_partitioned(golden.input, golden.input, 1);
  free(golden.text);
}

static void for_each_file_of(const char* pass, void (*check)(const char* path)) {
  char folder[PATH_BYTES], path[PATH_BYTES];
  uint32_t count = 0;
  snprintf(folder, sizeof folder, "tests/golden/%s", pass);
  DIR* list = opendir(folder);
  if (!list) fail_msg("%s is missing", folder);
  for (const struct dirent* entry = readdir(list); entry; entry = readdir(list)) {
    if (!strstr(entry->d_name, ".txt")) continue;
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_BYTES);
    check(path);
    ++count;
  }
  closedir(list);
  assert_true(count > 0);
}

static void for_each_file(void (*check)(const char* path)) {
  for (uint32_t i = 0; i < hlo_spmd_pass_set.count; ++i) {
    if (hlo_spmd_pass_set.passes[i].kind == HLO_PASS_KIND_LOWER) continue;  // changes arguments
    for_each_file_of(hlo_spmd_pass_set.passes[i].name, check);
  }
}

static void test_results_are_equal(void** state) {
  (void)state;
  for_each_file(check_file);
}

static void test_attributes_survive(void** state) {
  (void)state;
  for_each_file(check_attributes);
}

static void test_memory_failures(void** state) {
  (void)state;
  for_each_file(check_memory);
  for_each_file_of("partition", check_memory);
}

static void test_parts_are_equal(void** state) {
  (void)state;
  for_each_file_of("partition", check_parts);
}

static void test_table(void** state) {
  (void)state;
  for (uint32_t i = 1; i < hlo_spmd_pass_set.count; ++i) {
    const hlo_pass_info_t* pass = &hlo_spmd_pass_set.passes[i];
    assert_true(strcmp(pass[-1].name, pass->name) < 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),           cmocka_unit_test(test_results_are_equal),
      cmocka_unit_test(test_parts_are_equal), cmocka_unit_test(test_attributes_survive),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
