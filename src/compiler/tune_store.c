// SPDX-License-Identifier: Apache-2.0
// The store of tuned choices (see tune_store.h). A file of the directory is one record as a few
// lines of text, named by its key. Files appear by renaming, so that nobody reads half of one; the
// last line is a checksum of the others.
#include "compiler/tune_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/threads.h"
#include "compiler/cache.h"

enum { PATH_BYTES = 1024, MAX_FILE_BYTES = 4096, BUCKETS = 64 };

static const char kHeader[] = "hlocc tuned kernel 1\n";

typedef struct tune_entry {
  hlo_digest_t key;
  hlo_tune_record_t record;
  struct tune_entry* next;
} tune_entry_t;

struct hlo_tune_store {
  hlo_log_t log;
  bool is_read_only;
  char directory[PATH_BYTES];  // "": none
  hlo_mutex_t mutex;
  tune_entry_t* buckets[BUCKETS];          // mutex
  bool has_warned_read, has_warned_write;  // mutex
};

bool hlo_tune_key_make(const hlo_digest_t* kernel, const hlo_target_t* target,
                       hlo_digest_t* out_key) {
  uint64_t build;
  if (!hlo_cache_build_hash(&build)) return false;
  HLO_SCOPED_STRBUF cpu = {0};
  hlo_cpu_describe(&target->cpu, &cpu);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t h = hlo_target_hash(target, hlo_hash_word(kernel->words[i], build));
    out_key->words[i] = hlo_hash_bytes(hlo_strbuf_text(&cpu), cpu.length, h);
  }
  return hlo_status_take_ok(hlo_strbuf_status(&cpu));
}

// ---- records as text

void hlo_tune_record_print(const hlo_digest_t* key, const hlo_tune_record_t* record,
                           hlo_strbuf_t* out) {
  const size_t start = out->length;
  hlo_strbuf_puts(out, kHeader);
  hlo_strbuf_printf(out, "key %016" PRIx64 "%016" PRIx64 "\nconfig ", key->words[0], key->words[1]);
  hlo_kernel_config_print(&record->config, out);
  hlo_strbuf_printf(out, "\nmodel_ns %.1f\nns %.1f\ncandidates %u\n", record->model_ns, record->ns,
                    record->candidate_count);
  const uint64_t sum = hlo_hash_bytes(hlo_strbuf_text(out) + start, out->length - start, 0);
  hlo_strbuf_printf(out, "checksum %016" PRIx64 "\n", sum);
}

bool hlo_tune_record_parse(const char* text, size_t length, const hlo_digest_t* key,
                           hlo_tune_record_t* out_record) {
  hlo_tune_record_t record = {0};
  hlo_digest_t found;
  uint64_t sum = 0;
  int config = 0, end = 0;
  const char* last = NULL;
  if (length >= MAX_FILE_BYTES || strlen(text) != length) return false;
  if (strncmp(text, kHeader, sizeof kHeader - 1) != 0) return false;
  const char* body = text + sizeof kHeader - 1;
  sscanf(body, "key %16" SCNx64 "%16" SCNx64 "\nconfig %n", &found.words[0], &found.words[1],
         &config);
  if (!config || !hlo_digest_equal(&found, key)) return false;
  if (!hlo_status_take_ok(hlo_kernel_config_parse(body + config, &record.config))) return false;
  const char* rest = strchr(body + config, '\n');
  if (!rest) return false;
  sscanf(rest, " model_ns %lf ns %lf candidates %u\n%n", &record.model_ns, &record.ns,
         &record.candidate_count, &end);
  last = rest + end;
  if (!end || sscanf(last, "checksum %16" SCNx64, &sum) != 1) return false;
  if (sum != hlo_hash_bytes(text, (size_t)(last - text), 0)) return false;
  *out_record = record;
  return true;
}

// ---- the directory

static bool file_path(const hlo_tune_store_t* store, const hlo_digest_t* key,
                      char out[PATH_BYTES]) {
  const int length = snprintf(out, PATH_BYTES, "%s/%016" PRIx64 "%016" PRIx64 ".hlotune",
                              store->directory, key->words[0], key->words[1]);
  return *store->directory && length >= 0 && length < PATH_BYTES;
}

// Returns true the first time.
static bool may_warn(hlo_tune_store_t* store, bool* has_warned) {
  hlo_mutex_lock(&store->mutex);
  const bool is_first = !*has_warned;
  *has_warned = true;
  hlo_mutex_unlock(&store->mutex);
  return is_first;
}

static bool find_in_directory(hlo_tune_store_t* store, const hlo_digest_t* key,
                              hlo_tune_record_t* out_record) {
  char path[PATH_BYTES];
  uint8_t* data = NULL;
  size_t size_bytes = 0;
  if (!file_path(store, key, path)) return false;
  hlo_status_t status = hlo_os_file_read(path, MAX_FILE_BYTES, &data, &size_bytes);
  const bool is_missing = hlo_status_code(status) == HLO_STATUS_NOT_FOUND;
  const bool is_whole = hlo_status_is_ok(status) &&
                        hlo_tune_record_parse((const char*)data, size_bytes, key, out_record);
  if (!is_missing && !is_whole && may_warn(store, &store->has_warned_read)) {
    HLO_LOG(
        &store->log, WARN, "tuned kernel %s is ignored: %s", path,
        hlo_status_is_ok(status) ? "damaged, or of another kernel" : hlo_status_message(status));
  }
  hlo_status_release(status);
  hlo_mem_free(data);
  return is_whole;
}

static void add_to_directory(hlo_tune_store_t* store, const hlo_digest_t* key,
                             const hlo_tune_record_t* record) {
  char path[PATH_BYTES];
  if (store->is_read_only || !file_path(store, key, path)) return;
  HLO_SCOPED_STRBUF text = {0};
  hlo_tune_record_print(key, record, &text);
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = hlo_os_directory_create(store->directory);
  if (hlo_status_is_ok(status)) {
    status = hlo_os_file_write(path, hlo_strbuf_text(&text), text.length);
  }
  if (!hlo_status_is_ok(status) && may_warn(store, &store->has_warned_write)) {
    HLO_LOG(&store->log, WARN, "tuned kernels are not kept in %s: %s", store->directory,
            hlo_status_message(status));
  }
  hlo_status_release(status);
}

// ---- the store

static tune_entry_t** bucket_of(hlo_tune_store_t* store, const hlo_digest_t* key) {
  return &store->buckets[key->words[0] % BUCKETS];
}

static tune_entry_t* find_entry_locked(hlo_tune_store_t* store, const hlo_digest_t* key) {
  tune_entry_t* entry = *bucket_of(store, key);
  while (entry && !hlo_digest_equal(&entry->key, key)) entry = entry->next;
  return entry;
}

// Without memory the record is only in the directory.
static void keep(hlo_tune_store_t* store, const hlo_digest_t* key,
                 const hlo_tune_record_t* record) {
  hlo_mutex_lock(&store->mutex);
  tune_entry_t* entry = find_entry_locked(store, key);
  if (!entry && (entry = hlo_mem_alloc_zeroed(sizeof *entry))) {
    tune_entry_t** bucket = bucket_of(store, key);
    *entry = (tune_entry_t){.key = *key, .next = *bucket};
    *bucket = entry;
  }
  if (entry) entry->record = *record;
  hlo_mutex_unlock(&store->mutex);
}

hlo_status_t hlo_tune_store_create(const char* directory, bool is_read_only, const hlo_log_t* log,
                                   hlo_tune_store_t** out_store) {
  hlo_tune_store_t* store = hlo_mem_alloc_zeroed(sizeof *store);
  if (!store) return hlo_status_out_of_memory(sizeof *store);
  if (log) store->log = *log;
  store->is_read_only = is_read_only;
  hlo_mutex_init(&store->mutex, HLO_LOCK_LEVEL_MEMORY + 2);
  const int length = snprintf(store->directory, PATH_BYTES, "%s", directory);
  hlo_status_t status = hlo_ok();
  if (length < 0 || length >= PATH_BYTES) {
    status = hlo_invalid_argument("the path is too long");
    store->directory[0] = 0;
  }
  if (!hlo_status_is_ok(status)) {
    HLO_LOG(&store->log, WARN, "tune_dir %.200s: %s", directory, hlo_status_message(status));
    store->has_warned_write = true;
    hlo_status_release(status);
  }
  *out_store = store;
  return hlo_ok();
}

void hlo_tune_store_forbid_writing(hlo_tune_store_t* store) {
  store->is_read_only = true;
}

void hlo_tune_store_release(hlo_tune_store_t* store) {
  if (!store) return;
  for (uint32_t i = 0; i < BUCKETS; ++i) {
    for (tune_entry_t *entry = store->buckets[i], *next; entry; entry = next) {
      next = entry->next;
      hlo_mem_free(entry);
    }
  }
  hlo_mutex_deinit(&store->mutex);
  hlo_mem_free(store);
}

bool hlo_tune_store_find(hlo_tune_store_t* store, const hlo_digest_t* key,
                         hlo_tune_record_t* out_record) {
  hlo_mutex_lock(&store->mutex);
  const tune_entry_t* entry = find_entry_locked(store, key);
  if (entry) *out_record = entry->record;
  hlo_mutex_unlock(&store->mutex);
  if (entry) return true;
  if (!find_in_directory(store, key, out_record)) return false;
  keep(store, key, out_record);
  return true;
}

void hlo_tune_store_add(hlo_tune_store_t* store, const hlo_digest_t* key,
                        const hlo_tune_record_t* record) {
  keep(store, key, record);
  add_to_directory(store, key, record);
}

const char* hlo_tune_store_directory(const hlo_tune_store_t* store) {
  return store->directory;
}
