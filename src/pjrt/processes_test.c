// SPDX-License-Identifier: Apache-2.0
// Clients of a job of several processes, with a key-value store that the test has: what the tuner
// of one client timed, that of the other takes.
#include "base/cpu.h"
#include "pjrt/test_util.h"

enum { MAX_VALUES = 16, NAME_BYTES = 96, VALUE_BYTES = 512 };

/// The store of the job.
static struct {
  uint32_t count, put_count, get_count, freed_count;
  bool is_broken;
  char keys[MAX_VALUES][NAME_BYTES], values[MAX_VALUES][VALUE_BYTES];
} job;

static PJRT_Error* answer(PJRT_CallbackError* make, PJRT_Error_Code code, const char* message) {
  return (*make)(code, message, strlen(message));
}

static int find(const char* key, size_t size) {
  for (uint32_t i = 0; i < job.count; ++i) {
    if (strlen(job.keys[i]) == size && memcmp(job.keys[i], key, size) == 0) return (int)i;
  }
  return -1;
}

static PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args) {
  assert_ptr_equal(args->user_arg, &job.put_count);
  if (job.is_broken) {
    return answer(args->callback_error, PJRT_Error_Code_UNAVAILABLE, "no connection");
  }
  if (find(args->key, args->key_size) >= 0) {
    return answer(args->callback_error, PJRT_Error_Code_ALREADY_EXISTS, "set before");
  }
  assert_true(job.count < MAX_VALUES && args->key_size < NAME_BYTES &&
              args->value_size < VALUE_BYTES);
  memcpy(job.keys[job.count], args->key, args->key_size);
  memcpy(job.values[job.count++], args->value, args->value_size);
  ++job.put_count;
  return NULL;
}

static void free_value(char* value) {
  ++job.freed_count;
  free(value);
}

static PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args) {
  assert_ptr_equal(args->user_arg, &job.get_count);
  const int found = find(args->key, args->key_size);
  if (found < 0) return answer(args->callback_error, PJRT_Error_Code_DEADLINE_EXCEEDED, "too late");
  ++job.get_count;
  args->value = strdup(job.values[found]);
  args->value_size = strlen(args->value);
  args->value_deleter_callback = free_value;
  return NULL;
}

static const char kProduct[] =
    "func.func @main(%a: tensor<96x100xf32>, %b: tensor<100x64xf32>) -> tensor<96x64xf32> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<96x100xf32>, "
    "tensor<100x64xf32>) -> tensor<96x64xf32>\n  return %0 : tensor<96x64xf32>\n}\n";

#define TEXT_OPTION(key, text)                                                                    \
  {                                                                                               \
    .name = key, .name_size = strlen(key), .type = PJRT_NamedValue_kString, .string_value = text, \
    .value_size = strlen(text)                                                                    \
  }

// Compiles the product as a process of two.
static void compile_as(int64_t process) {
  const PJRT_NamedValue options[] = {TEXT_OPTION("tune", "on"),
                                     TEXT_OPTION("processes", "apart"),
                                     {.name = "num_nodes",
                                      .name_size = 9,
                                      .type = PJRT_NamedValue_kInt64,
                                      .int64_value = 2,
                                      .value_size = 1},
                                     {.name = "node_id",
                                      .name_size = 7,
                                      .type = PJRT_NamedValue_kInt64,
                                      .int64_value = process,
                                      .value_size = 1}};
  PJRT_Client_Create_Args args = ARGS(Client_Create, .create_options = options, .num_options = 4,
                                      .kv_get_callback = get, .kv_get_user_arg = &job.get_count,
                                      .kv_put_callback = put, .kv_put_user_arg = &job.put_count);
  OK(Client_Create, &args);
  hlo_test_destroy_loaded(hlo_test_compile(args.client, kProduct));
  hlo_test_destroy_client(args.client);
}

static bool is_tuned(void) {
  hlo_cpu_t cpu;
  return hlo_status_take_ok(hlo_cpu_detect("", &cpu));
}

static void test_share(void** unused) {
  (void)unused;
  if (!is_tuned()) skip();
  memset(&job, 0, sizeof job);
  compile_as(0);
  assert_int_equal(job.put_count, 2);  // the claim, the record
  assert_int_equal(job.get_count, 0);
  assert_non_null(strstr(job.values[1], "hlocc tuned kernel"));
  compile_as(1);
  assert_int_equal(job.put_count, 2);
  assert_int_equal(job.get_count, 1);
  assert_int_equal(job.freed_count, 1);
}

// A store that fails costs a warning, no program.
static void test_broken_store(void** unused) {
  (void)unused;
  if (!is_tuned()) skip();
  memset(&job, 0, sizeof job);
  job.is_broken = true;
  compile_as(1);
  assert_int_equal(job.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_share),
                                     cmocka_unit_test(test_broken_store)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
