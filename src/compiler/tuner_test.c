// SPDX-License-Identifier: Apache-2.0
// The store of tuned kernels, and tuners whose measurements are injected: a second client reads
// what the first one found, damaged files and other machines, missing records, several processes.
#include "compiler/tuner.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/threads.h"
#include "codegen/lower/prepare.h"
#include "ir/test_util.h"
#include "passes/passes.h"

enum { PATH_BYTES = 256, MAX_LINES = 8 };

// ---- helpers

static char folder[PATH_BYTES];
static uint32_t warning_count;
static char last_warning[512];

static void take_message(void* context, const hlo_log_record_t* record) {
  (void)context;
  if (record->level > HLO_LOG_LEVEL_WARN) return;
  ++warning_count;
  snprintf(last_warning, sizeof last_warning, "%s", record->message);
}

static const hlo_log_t kLog = {.level = HLO_LOG_LEVEL_WARN, .sink = take_message};

static int begin(void** unused) {
  (void)unused;
  warning_count = 0;
  return hlo_status_take_ok(hlo_os_directory_create_temporary(NULL, folder, sizeof folder)) ? 0 : 1;
}

static int end(void** unused) {
  (void)unused;
  hlo_test_remove_folder(folder);
  return 0;
}

// Returns the path of the only file.
static void find_file(char path[PATH_BYTES * 2]) {
  hlo_os_file_t* files;
  uint32_t count;
  hlo_test_check(hlo_os_directory_list(folder, &files, &count));
  assert_true(count > 0);
  snprintf(path, PATH_BYTES * 2, "%s/%s", folder, files[0].name);
  hlo_os_files_free(files, count);
}

static uint32_t count_files(void) {
  hlo_os_file_t* files;
  uint32_t count;
  hlo_test_check(hlo_os_directory_list(folder, &files, &count));
  hlo_os_files_free(files, count);
  return count;
}

// ---- the store

static const hlo_tune_record_t kRecord = {
    .config = {.values = {[HLO_CHOICE_rows] = 5, [HLO_CHOICE_vectors] = 4}},
    .model_ns = 1234.5,
    .ns = 1000,
    .candidate_count = 9};
static const hlo_digest_t kKey = {{1, UINT64_MAX}};

static void test_store(void** unused) {
  (void)unused;
  hlo_tune_store_t* store;
  hlo_tune_record_t record;
  hlo_test_check(hlo_tune_store_create(folder, false, &kLog, &store));
  assert_false(hlo_tune_store_find(store, &kKey, &record));
  hlo_tune_store_add(store, &kKey, &kRecord);
  assert_true(hlo_tune_store_find(store, &kKey, &record));
  hlo_tune_store_release(store);
  hlo_test_check(hlo_tune_store_create(folder, true, &kLog, &store));
  assert_true(hlo_tune_store_find(store, &kKey, &record));
  assert_true(hlo_kernel_config_equal(&record.config, &kRecord.config));
  assert_true(record.model_ns == 1234.5 && record.ns == 1000 && record.candidate_count == 9);
  hlo_tune_store_add(store, &(hlo_digest_t){{2, 2}}, &kRecord);  // read only: in memory
  assert_int_equal(count_files(), 1);
  hlo_tune_store_release(store);
  assert_int_equal(warning_count, 0);
}

// Every damage of a file is found; there is one warning for all of them.
static void test_damage(void** unused) {
  (void)unused;
  hlo_tune_store_t* store;
  hlo_tune_record_t record;
  uint8_t* data;
  size_t size;
  char path[PATH_BYTES * 2];
  hlo_test_check(hlo_tune_store_create(folder, false, &kLog, &store));
  hlo_tune_store_add(store, &kKey, &kRecord);
  hlo_tune_store_release(store);
  find_file(path);
  hlo_test_check(hlo_os_file_read(path, 0, &data, &size));
  hlo_test_check(hlo_tune_store_create(folder, false, &kLog, &store));
  for (size_t i = 0; i < size; ++i) {
    if (i % 3 == 0) {
      hlo_test_check(hlo_os_file_write(path, data, i));
      assert_false(hlo_tune_store_find(store, &kKey, &record));
    }
    data[i] ^= 4;
    if (i + 1 < size) {  // the last line end may be missing
      hlo_test_check(hlo_os_file_write(path, data, size));
      if (hlo_tune_store_find(store, &kKey, &record)) fail_msg("byte %d", (int)i);
    }
    data[i] ^= 4;
  }
  assert_int_equal(warning_count, 1);
  assert_non_null(strstr(last_warning, "is ignored"));
  hlo_test_check(hlo_os_file_write(path, data, size));
  assert_true(hlo_tune_store_find(store, &kKey, &record));
  hlo_mem_free(data);
  hlo_tune_store_release(store);
}

// A directory that cannot be written to costs one warning.
static void test_no_directory(void** unused) {
  (void)unused;
  hlo_tune_store_t* store;
  hlo_tune_record_t record;
  char path[PATH_BYTES * 2], inside[PATH_BYTES * 2 + 8];
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(inside, sizeof inside, "%s/store", path);
  hlo_test_check(hlo_os_file_write(path, "x", 1));
  hlo_test_check(hlo_tune_store_create(inside, false, &kLog, &store));
  hlo_tune_store_add(store, &kKey, &kRecord);
  hlo_tune_store_add(store, &(hlo_digest_t){{2, 2}}, &kRecord);
  assert_true(hlo_tune_store_find(store, &kKey, &record));
  hlo_tune_store_release(store);
  assert_int_equal(warning_count, 1);
}

static void test_keys(void** unused) {
  (void)unused;
  hlo_target_t one, other;
  hlo_digest_t a, b, c;
  hlo_test_check(hlo_target_find("generic", true, &one));
  other = one;
  other.tile.memories[1].capacity_bytes *= 2;
  assert_true(hlo_tune_key_make(&kKey, &one, &a) && hlo_tune_key_make(&kKey, &one, &b));
  assert_true(hlo_digest_equal(&a, &b));
  assert_true(hlo_tune_key_make(&kKey, &other, &c));
  assert_false(hlo_digest_equal(&a, &c));
}

// ---- tuners

// Three different products, and one too short to be tuned.
static const char kProgram[] =
    "func.func @main(%a: tensor<128x100xf32>, %b: tensor<100x96xf32>, %c: tensor<96x200xf32>, "
    "%d: tensor<200x64xf32>) -> tensor<128x64xf32> {\n"
    "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<128x100xf32>, "
    "tensor<100x96xf32>) -> tensor<128x96xf32>\n"
    "  %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0] : (tensor<128x96xf32>, "
    "tensor<96x200xf32>) -> tensor<128x200xf32>\n"
    "  %2 = stablehlo.dot_general %1, %d, contracting_dims = [1] x [0] : (tensor<128x200xf32>, "
    "tensor<200x64xf32>) -> tensor<128x64xf32>\n  return %2 : tensor<128x64xf32>\n}\n";
enum { KERNELS = 3 };

static hlo_mutex_t measure_mutex;
static uint32_t measured, candidate_count;

// The first candidate that is possible wins.
static hlo_status_t fake_measure(const hlo_tune_job_t* job, const hlo_tune_limits_t* limits,
                                 uint32_t count, hlo_tune_candidate_t* candidates,
                                 uint32_t* out_winner, uint32_t* out_timed_count) {
  (void)job, (void)limits;
  *out_winner = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (candidates[i].outcome == HLO_TUNE_REFUSED) continue;
    candidates[i].outcome = HLO_TUNE_MEASURED;
    candidates[i].ns = 100 - i;
    if (i && !*out_winner) *out_winner = i;
  }
  *out_timed_count = count;
  hlo_mutex_lock(&measure_mutex);
  ++measured;
  candidate_count += count;
  hlo_mutex_unlock(&measure_mutex);
  return hlo_ok();
}

static hlo_status_t resolve(hlo_tuner_t* tuner, uint64_t* out_choices) {
  hlo_code_options_t options = {.executor = HLO_EXECUTOR_MACHINE, .name = "main"};
  HLO_TRY(hlo_target_find("", true, &options.target));
  hlo_module_t *module = hlo_test_parse(kProgram), *prepared = NULL;
  const hlo_env_t env = hlo_target_env(&options.target);
  const hlo_pass_options_t passes = {.env = &env, .replica_count = 1, .partition_count = 1};
  HLO_SCOPED_STRBUF cause = {0};
  HLO_SCOPED_ARENA arena = {0};
  hlo_config_table_t table;
  HLO_TRY(hlo_prepare_module(module, "main", &passes, &cause, &prepared));
  const hlo_status_t status = hlo_tuner_resolve(tuner, prepared, "main", &options, &arena, &table);
  if (hlo_status_is_ok(status)) *out_choices = hlo_config_table_hash(&table, 0);
  hlo_module_release(prepared);
  hlo_module_release(module);
  return status;
}

static hlo_status_t try_create(const char* directory, hlo_tune_mode_t mode, const char* forced,
                               hlo_tuner_t** out_tuner) {
  hlo_config_t config;
  HLO_SCOPED_STRBUF warnings = {0};
  hlo_test_check(hlo_config_init(&config, (const char* const[]){NULL}, &warnings));
  config.tune = mode;
  config.tune_dir = directory;
  config.tune_force = forced;
  const hlo_status_t status = hlo_tuner_create(&config, &kLog, out_tuner);
  hlo_config_deinit(&config);
  if (*out_tuner) hlo_tuner_set_measure(*out_tuner, fake_measure);
  return status;
}

static hlo_tuner_t* create_in(const char* directory, hlo_tune_mode_t mode) {
  hlo_tuner_t* tuner = NULL;
  hlo_test_check(try_create(directory, mode, "", &tuner));
  return tuner;
}

static hlo_tuner_t* create(hlo_tune_mode_t mode) {
  return create_in(folder, mode);
}

static void test_modes(void** unused) {
  (void)unused;
  uint64_t choices = 7, again = 0;
  assert_null(create(HLO_TUNE_OFF));
  hlo_tuner_t* tuner = create(HLO_TUNE_EXPECT);
  hlo_status_t status = resolve(tuner, &choices);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_NOT_FOUND);
  assert_non_null(strstr(hlo_status_message(status), "for 3 of 3 kernels"));
  assert_non_null(strstr(hlo_status_message(status), "dot_general"));
  hlo_status_release(status);
  hlo_tuner_release(tuner);

  tuner = create(HLO_TUNE_CACHE);
  hlo_test_check(resolve(tuner, &choices));
  assert_true(choices == 0 && hlo_tuner_stats(tuner).misses == KERNELS);
  hlo_tuner_release(tuner);
  assert_int_equal(count_files(), 0);

  tuner = create(HLO_TUNE_ON);
  hlo_test_check(resolve(tuner, &choices));
  assert_int_equal(hlo_tuner_stats(tuner).tuned, KERNELS);
  hlo_test_check(resolve(tuner, &again));
  assert_int_equal(hlo_tuner_stats(tuner).tuned, KERNELS);
  assert_true(choices != 0 && again == choices);
  hlo_tuner_release(tuner);
  assert_int_equal(count_files(), KERNELS);

  for (hlo_tune_mode_t mode = HLO_TUNE_CACHE; mode <= HLO_TUNE_EXPECT; ++mode) {
    tuner = create(mode);
    hlo_test_check(resolve(tuner, &again));
    const hlo_tuner_stats_t stats = hlo_tuner_stats(tuner);
    assert_true(stats.hits == KERNELS && stats.timed == 0 && again == choices);
    hlo_tuner_release(tuner);
  }
}

// A stored configuration that the kernel cannot have is ignored.
static void test_impossible_record(void** unused) {
  (void)unused;
  uint64_t choices = 0;
  char path[PATH_BYTES * 2];
  uint8_t* data;
  size_t size;
  hlo_digest_t key;
  hlo_tune_record_t record = {
      .config = {.values = {[HLO_CHOICE_rows] = 60, [HLO_CHOICE_vectors] = 16}}};
  hlo_tuner_t* tuner = create(HLO_TUNE_ON);
  hlo_test_check(resolve(tuner, &choices));
  hlo_tuner_release(tuner);
  find_file(path);
  hlo_test_check(hlo_os_file_read(path, 0, &data, &size));
  assert_int_equal(
      sscanf(strstr((char*)data, "key "), "key %16lx%16lx", &key.words[0], &key.words[1]), 2);
  HLO_SCOPED_STRBUF text = {0};
  hlo_tune_record_print(&key, &record, &text);
  hlo_test_check(hlo_os_file_write(path, hlo_strbuf_text(&text), text.length));
  tuner = create(HLO_TUNE_CACHE);
  hlo_test_check(resolve(tuner, &choices));
  assert_int_equal(hlo_tuner_stats(tuner).hits, KERNELS - 1);
  if (!strstr(last_warning, "a register tile of 960 accumulators")) fail_msg("%s", last_warning);
  hlo_tuner_release(tuner);
  hlo_mem_free(data);
}

// With report.is_read_only, what is found is used but not kept.
static void test_read_only(void** unused) {
  (void)unused;
  uint64_t choices = 0;
  hlo_tuner_t* tuner = create(HLO_TUNE_ON);
  hlo_tuner_set_report(tuner, &(hlo_tuner_report_t){.is_read_only = true});
  hlo_test_check(resolve(tuner, &choices));
  assert_true(choices != 0 && hlo_tuner_stats(tuner).tuned == KERNELS);
  hlo_tuner_release(tuner);
  assert_int_equal(count_files(), 0);
}

// An exhaustive search has more candidates, and times kernels of the store again.
static void test_exhaustive(void** unused) {
  (void)unused;
  uint64_t choices = 0;
  candidate_count = 0;
  hlo_tuner_t* tuner = create(HLO_TUNE_ON);
  hlo_test_check(resolve(tuner, &choices));
  hlo_tuner_release(tuner);
  const uint32_t few = candidate_count;
  tuner = create(HLO_TUNE_ON);
  hlo_tuner_set_report(tuner, &(hlo_tuner_report_t){.is_exhaustive = true});
  hlo_test_check(resolve(tuner, &choices));
  assert_int_equal(hlo_tuner_stats(tuner).tuned, KERNELS);
  hlo_tuner_release(tuner);
  assert_true(candidate_count - few > 2 * few);
}

static uint64_t choices_with(hlo_tune_mode_t mode, const char* forced, uint32_t count) {
  uint64_t choices = 0;
  hlo_tuner_t* tuner = NULL;
  hlo_test_check(try_create(folder, mode, forced, &tuner));
  hlo_test_check(resolve(tuner, &choices));
  assert_int_equal(hlo_tuner_stats(tuner).forced, count);
  hlo_tuner_release(tuner);
  return choices;
}

// Forced configurations count in every mode, are not kept, and are refused aloud.
static void test_force(void** unused) {
  (void)unused;
  static const char kRows[] = "dot_general:rows=2 vectors=1";
  char path[PATH_BYTES * 2], option[PATH_BYTES * 2 + 1];
  const uint64_t all = choices_with(HLO_TUNE_OFF, kRows, KERNELS);
  assert_true(all != 0 && choices_with(HLO_TUNE_ON, kRows, KERNELS) == all);
  assert_true(choices_with(HLO_TUNE_EXPECT, "*:rows=2 vectors=1;*:rows=3", KERNELS) == all);
  assert_true(choices_with(HLO_TUNE_OFF, "add:unroll=2; 0123abcd:unroll=1", 0) == 0);
  assert_int_equal(count_files(), 0);
  snprintf(path, sizeof path, "%s/forced", folder);
  snprintf(option, sizeof option, "@%s", path);
  static const char kText[] = "# rows\nstablehlo.dot_general:rows=2 vectors=1\n\n";
  hlo_test_check(hlo_os_file_write(path, kText, sizeof kText - 1));
  assert_true(choices_with(HLO_TUNE_OFF, option, KERNELS) == all);

  static const char* const refused[][2] = {
      {"dot_general:rows=60 vectors=16", "a register tile of 960 accumulators"},
      {"dot_general:unroll=2", "choices of another kind of kernel"},
      {"rows=2", "not of the form KERNELS:CONFIGURATION"},
      {"dot_general:rows=x", "rows=x is not a choice"},
      {"@/nowhere/forced", "/nowhere/forced"}};
  for (uint32_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    uint64_t choices = 0;
    hlo_tuner_t* tuner = NULL;
    hlo_status_t status = try_create(folder, HLO_TUNE_OFF, refused[i][0], &tuner);
    if (hlo_status_is_ok(status)) status = resolve(tuner, &choices);
    if (!strstr(hlo_status_message(status), refused[i][1])) {
      fail_msg("%s: %s", refused[i][0], hlo_status_message(status));
    }
    hlo_status_release(status);
    hlo_tuner_release(tuner);
  }
}

// ---- several processes: threads with a store of key-value pairs in place of the launcher's

typedef struct values {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_dead;     // the store fails
  bool is_claimed;  // every claim is that of a process that never answers
  uint32_t count;
  char keys[MAX_LINES][80], texts[MAX_LINES][512];
} values_t;

static int find_value(const values_t* values, const char* key) {
  for (uint32_t i = 0; i < values->count; ++i) {
    if (strcmp(values->keys[i], key) == 0) return (int)i;
  }
  return -1;
}

static hlo_status_t set_value(void* context, const char* key, const char* value, size_t size) {
  values_t* values = context;
  if (values->is_dead) return hlo_status_create(HLO_STATUS_UNAVAILABLE, "no connection");
  if (values->is_claimed && strstr(key, "claim")) {
    return hlo_status_create(HLO_STATUS_ALREADY_EXISTS, "set before");
  }
  pthread_mutex_lock(&values->mutex);
  const bool is_there = find_value(values, key) >= 0;
  if (!is_there) {
    assert_true(values->count < MAX_LINES && size < sizeof values->texts[0]);
    strcpy(values->keys[values->count], key);
    memcpy(values->texts[values->count], value, size);
    values->texts[values->count++][size] = 0;
    pthread_cond_broadcast(&values->changed);
  }
  pthread_mutex_unlock(&values->mutex);
  return is_there ? hlo_status_create(HLO_STATUS_ALREADY_EXISTS, "set before") : hlo_ok();
}

static hlo_status_t get_value(void* context, const char* key, uint64_t timeout_ns,
                              hlo_strbuf_t* out) {
  values_t* values = context;
  pthread_mutex_lock(&values->mutex);
  int found = find_value(values, key);
  if (found < 0 && values->is_claimed) {
    pthread_mutex_unlock(&values->mutex);
    return hlo_status_create(HLO_STATUS_DEADLINE_EXCEEDED, "no answer within %d ms",
                             (int)(timeout_ns / 1000000));
  }
  while ((found = find_value(values, key)) < 0) pthread_cond_wait(&values->changed, &values->mutex);
  hlo_strbuf_puts(out, values->texts[found]);
  pthread_mutex_unlock(&values->mutex);
  return hlo_ok();
}

typedef struct process {
  hlo_tuner_t* tuner;
  uint64_t choices;
  hlo_status_t status;
} process_t;

static void* run_process(void* context) {
  process_t* process = context;
  process->status = resolve(process->tuner, &process->choices);
  return NULL;
}

static hlo_tuner_t* create_process(values_t* values, uint32_t index) {
  char directory[PATH_BYTES + 16];
  snprintf(directory, sizeof directory, "%s/%u", folder, index);
  hlo_tuner_t* tuner = create_in(directory, HLO_TUNE_ON);
  const hlo_tune_share_t share = {.context = values,
                                  .process_index = index,
                                  .process_count = 2,
                                  .timeout_ns = 5000000,
                                  .set = set_value,
                                  .get = get_value};
  hlo_tuner_set_share(tuner, &share);
  return tuner;
}

// Each kernel is timed by one process; both have the same choices in the end.
static void test_share(void** unused) {
  (void)unused;
  static values_t values = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
  process_t processes[2];
  pthread_t threads[2];
  measured = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    processes[i] = (process_t){.tuner = create_process(&values, i)};
  }
  for (uint32_t i = 0; i < 2; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    hlo_test_check(processes[i].status);
  }
  assert_int_equal(measured, KERNELS);
  assert_true(processes[0].choices == processes[1].choices && processes[0].choices != 0);
  for (uint32_t i = 0; i < 2; ++i) hlo_tuner_release(processes[i].tuner);
}

// Resolves as one process after the other. Returns the number of kernels that were timed.
static uint32_t run_after_each_other(values_t* values, uint64_t* out_choices) {
  measured = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    process_t process = {.tuner = create_process(values, i)};
    run_process(&process);
    hlo_test_check(process.status);
    assert_true(!i || process.choices == *out_choices);
    *out_choices = process.choices;
    hlo_tuner_release(process.tuner);
  }
  return measured;
}

// A process takes what another one has timed before it.
static void test_share_later(void** unused) {
  (void)unused;
  static values_t values = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
  uint64_t choices = 0;
  assert_int_equal(run_after_each_other(&values, &choices), KERNELS);
  assert_true(choices != 0);
  assert_int_equal(warning_count, 0);
  // Both directories have all kernels: nothing is timed, a new store gets the records again.
  values.count = 0;
  assert_int_equal(run_after_each_other(&values, &choices), 0);
  assert_int_equal(values.count, KERNELS);
}

// A process that claimed all kernels and died is named; the first that does not wait for it any
// more times them for all.
static void test_share_is_late(void** unused) {
  (void)unused;
  static values_t values = {
      .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .is_claimed = true};
  uint64_t choices = 0;
  assert_int_equal(run_after_each_other(&values, &choices), KERNELS);
  assert_int_equal(warning_count, KERNELS);
  assert_non_null(strstr(last_warning, "has not shared the tuned kernel"));
  assert_non_null(strstr(last_warning, "no answer within"));
}

// Without the store every process times all kernels, with one warning for each.
static void test_share_is_dead(void** unused) {
  (void)unused;
  static values_t values = {
      .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .is_dead = true};
  uint64_t choices = 0;
  assert_int_equal(run_after_each_other(&values, &choices), 2 * KERNELS);
  assert_int_equal(warning_count, 2);
  assert_non_null(strstr(last_warning, "are not shared with the other processes: no connection"));
}

int main(void) {
  hlo_mutex_init(&measure_mutex, HLO_LOCK_LEVEL_LOG);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_store, begin, end),
      cmocka_unit_test_setup_teardown(test_damage, begin, end),
      cmocka_unit_test_setup_teardown(test_no_directory, begin, end),
      cmocka_unit_test(test_keys),
      cmocka_unit_test_setup_teardown(test_modes, begin, end),
      cmocka_unit_test_setup_teardown(test_impossible_record, begin, end),
      cmocka_unit_test_setup_teardown(test_read_only, begin, end),
      cmocka_unit_test_setup_teardown(test_exhaustive, begin, end),
      cmocka_unit_test_setup_teardown(test_force, begin, end),
      cmocka_unit_test_setup_teardown(test_share, begin, end),
      cmocka_unit_test_setup_teardown(test_share_later, begin, end),
      cmocka_unit_test_setup_teardown(test_share_is_late, begin, end),
      cmocka_unit_test_setup_teardown(test_share_is_dead, begin, end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
