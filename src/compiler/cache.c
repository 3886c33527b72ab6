// SPDX-License-Identifier: Apache-2.0
// The cache of machine code (see cache.h). A file is a header with the key and a hash of the image,
// then the image, named by the key. Files appear by renaming, so nobody reads half of one; whoever
// adds much removes the oldest.
#include "compiler/cache.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/os.h"
#include "base/threads.h"
#include "base/tuning.h"
#include "compiler/tuner.h"
#include "ir/clone.h"

enum { FILE_VERSION = 1, PATH_BYTES = 1024, BUILD_ID_BYTES = 64 };
#define MIB (UINT64_C(1) << 20)
#define STALE_NS INT64_C(3600000000000)  // age of an unfinished file that is removed

static const char kSuffix[] = ".hloccode";

struct hlo_compile_cache {
  hlo_jit_pool_t* pool;
  hlo_tuner_t* tuner;  // NULL: none
  hlo_arena_store_t store, helper_store;
  hlo_lru_t images, kernels;
  uint64_t folder_limit;  // bytes
  hlo_mutex_t mutex;
  uint64_t added_bytes;     // mutex; to the folder since the last sweep
  uint32_t added_count;     // mutex
  char folder[PATH_BYTES];  // "": no folder
};

typedef struct file_header {
  char magic[8];
  uint32_t version, reserved;
  hlo_digest_t key;
  uint64_t size_bytes, checksum;
} file_header_t;

static const char kMagic[8] = {'h', 'l', 'o', 'c', 'c', 'o', 'd', 'e'};

// ---- keys --------------------------------------------------------------------------------------

static uint64_t hash_text(uint64_t h, const char* text) {
  return hlo_hash_bytes(text, strlen(text), h);
}

// Identifies this build of the library; computed once.
static uint8_t build[BUILD_ID_BYTES];
static size_t build_bytes;

static void find_build(void) {
  build_bytes = hlo_os_build_id(build, build, sizeof build);
}

static bool has_build(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_build);
  return build_bytes > 0;
}

bool hlo_cache_build_hash(uint64_t* out_hash) {
  if (!has_build()) return false;
  *out_hash = hlo_hash_bytes(build, build_bytes, 0);
  return true;
}

bool hlo_cache_key_make(const hlo_module_t* prepared, const char* entry, const char* backend,
                        const hlo_target_t* target, uint64_t temporary_limit, uint64_t choices,
                        hlo_digest_t* out_key) {
  if (!has_build()) return false;
  if (!hlo_status_take_ok(hlo_module_digest(prepared, out_key->words))) return false;
  for (int i = 0; i < 2; ++i) {
    uint64_t h = hash_text(hash_text(out_key->words[i], entry), backend);
    h = hlo_hash_word(h, temporary_limit);
    if (choices) h = hlo_hash_word(h, choices);
    out_key->words[i] = hlo_hash_bytes(build, build_bytes, hlo_target_hash(target, h));
  }
  return true;
}

// ---- images ------------------------------------------------------------------------------------

void hlo_cache_image_release(hlo_cache_image_t* image) {
  if (image) hlo_lru_item_release(&image->item);
}

static void destroy_image(hlo_lru_item_t* item) {
  hlo_mem_free(item);
}

static hlo_cache_image_t* create_image(const void* bytes, size_t size_bytes) {
  size_t total;
  if (!hlo_size_add(size_bytes, sizeof(hlo_cache_image_t), &total)) return NULL;
  hlo_cache_image_t* image = hlo_mem_alloc(total);
  if (!image) return NULL;
  hlo_lru_item_init(&image->item, size_bytes, destroy_image);
  memcpy(image->bytes, bytes, size_bytes);
  return image;
}

// ---- the folder --------------------------------------------------------------------------------

static bool file_path(const hlo_compile_cache_t* cache, const hlo_digest_t* key,
                      char out[PATH_BYTES]) {
  int length = snprintf(out, PATH_BYTES, "%s/%016" PRIx64 "%016" PRIx64 "%s", cache->folder,
                        key->words[0], key->words[1], kSuffix);
  return *cache->folder && length >= 0 && length < PATH_BYTES;
}

static bool is_whole(const uint8_t* data, size_t size_bytes, const hlo_digest_t* key) {
  file_header_t header;
  if (size_bytes <= sizeof header) return false;
  memcpy(&header, data, sizeof header);
  size_t image_bytes = size_bytes - sizeof header;
  return memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.version == FILE_VERSION &&
         hlo_digest_equal(&header.key, key) && header.size_bytes == image_bytes &&
         header.checksum == hlo_hash_bytes(data + sizeof header, image_bytes, FILE_VERSION);
}

static hlo_cache_image_t* find_in_folder(hlo_compile_cache_t* cache, const hlo_digest_t* key) {
  char path[PATH_BYTES];
  uint8_t* data = NULL;
  size_t size_bytes = 0;
  if (!file_path(cache, key, path)) return NULL;
  hlo_status_t status = hlo_os_file_read(path, cache->folder_limit, &data, &size_bytes);
  hlo_cache_image_t* image = NULL;
  if (hlo_status_is_ok(status) && is_whole(data, size_bytes, key)) {
    image = create_image(data + sizeof(file_header_t), size_bytes - sizeof(file_header_t));
    hlo_os_file_touch(path);
  }
  hlo_status_release(status);
  hlo_mem_free(data);
  return image;
}

static int compare_age(const void* a, const void* b) {
  const hlo_os_file_t *x = a, *y = b;
  if (x->changed_ns != y->changed_ns) return x->changed_ns < y->changed_ns ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool has_suffix(const char* name, const char* suffix) {
  size_t length = strlen(name), tail = strlen(suffix);
  return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static void remove_file(const hlo_compile_cache_t* cache, const char* name) {
  char path[PATH_BYTES];
  int length = snprintf(path, sizeof path, "%s/%s", cache->folder, name);
  if (length >= 0 && length < PATH_BYTES) hlo_os_file_remove(path);
}

// Removes the oldest files until three quarters of the limit are left, and leftovers of dead
// writers. Only files of the cache are touched.
static void sweep(hlo_compile_cache_t* cache) {
  hlo_os_file_t* files = NULL;
  uint32_t count = 0;
  if (!hlo_status_take_ok(hlo_os_directory_list(cache->folder, &files, &count))) return;
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; ++i) total += files[i].size_bytes;
  qsort(files, count, sizeof *files, compare_age);
  int64_t newest = count ? files[count - 1].changed_ns : 0;
  bool is_over = total > cache->folder_limit;
  for (uint32_t i = 0; i < count; ++i) {
    bool is_old = is_over && total > cache->folder_limit / 4 * HLO_TUNING_CACHE_KEPT_QUARTERS &&
                  has_suffix(files[i].name, kSuffix);
    bool is_left = strstr(files[i].name, kSuffix) && has_suffix(files[i].name, ".tmp") &&
                   newest - files[i].changed_ns > STALE_NS;
    if (!is_old && !is_left) continue;
    remove_file(cache, files[i].name);
    total -= files[i].size_bytes;
  }
  hlo_os_files_free(files, count);
}

// Returns true for the first file, and again after much was added.
static bool is_sweep_due(hlo_compile_cache_t* cache, size_t size_bytes) {
  hlo_mutex_lock(&cache->mutex);
  cache->added_bytes += size_bytes;
  bool is_due = cache->added_count % HLO_TUNING_CACHE_SWEEP_INTERVAL == 0 ||
                cache->added_bytes > cache->folder_limit / HLO_TUNING_CACHE_SWEEP_SHARE;
  ++cache->added_count;
  if (is_due) cache->added_bytes = 0;
  hlo_mutex_unlock(&cache->mutex);
  return is_due;
}

static void add_to_folder(hlo_compile_cache_t* cache, const hlo_digest_t* key,
                          const hlo_cache_image_t* image) {
  char path[PATH_BYTES];
  size_t total;
  if (!file_path(cache, key, path) ||
      !hlo_size_add(image->item.size_bytes, sizeof(file_header_t), &total) ||
      total > cache->folder_limit) {
    return;
  }
  uint8_t* data = hlo_mem_alloc(total);
  if (!data) return;
  file_header_t header = {
      .version = FILE_VERSION,
      .key = *key,
      .size_bytes = image->item.size_bytes,
      .checksum = hlo_hash_bytes(image->bytes, image->item.size_bytes, FILE_VERSION)};
  memcpy(header.magic, kMagic, sizeof kMagic);
  memcpy(data, &header, sizeof header);
  memcpy(data + sizeof header, image->bytes, image->item.size_bytes);
  hlo_status_release(hlo_os_file_write(path, data, total));
  hlo_mem_free(data);
  if (is_sweep_due(cache, total)) sweep(cache);
}

// ---- the cache ---------------------------------------------------------------------------------

static void choose_folder(hlo_compile_cache_t* cache, const char* folder, const hlo_log_t* log) {
  int length = snprintf(cache->folder, sizeof cache->folder, "%s", folder);
  hlo_status_t status = length < 0 || length >= PATH_BYTES
                            ? hlo_invalid_argument("the path is too long")
                            : hlo_os_directory_create(folder);
  if (hlo_status_is_ok(status) && !hlo_os_directory_is_private(folder)) {
    status = hlo_status_create(HLO_STATUS_PERMISSION_DENIED,
                               "it is another user's, or others may write to it");
  }
  if (hlo_status_is_ok(status)) return;
  if (log) HLO_LOG(log, WARN, "cache_dir %s is not used: %s", folder, hlo_status_message(status));
  hlo_status_release(status);
  cache->folder[0] = 0;
}

hlo_status_t hlo_compile_cache_create(const hlo_config_t* options, const hlo_log_t* log,
                                      hlo_compile_cache_t** out_cache) {
  hlo_compile_cache_t* cache = hlo_mem_alloc_zeroed(sizeof *cache);
  if (!cache) return hlo_status_out_of_memory(sizeof *cache);
  const hlo_jit_options_t jit = {.perf = options->perf, .gdb = options->gdb};
  hlo_status_t status = hlo_jit_pool_create(&jit, &cache->pool);
  if (hlo_status_is_ok(status)) status = hlo_tuner_create(options, log, &cache->tuner);
  if (!hlo_status_is_ok(status)) {
    hlo_jit_pool_release(cache->pool);
    hlo_mem_free(cache);
    return status;
  }
  hlo_mutex_init(&cache->mutex, HLO_LOCK_LEVEL_MEMORY + 2);
  const uint64_t memory_limit = (uint64_t)options->cache_memory * MIB;
  hlo_lru_init(&cache->kernels, memory_limit / HLO_TUNING_CACHE_KERNEL_SHARE);
  hlo_lru_init(&cache->images, memory_limit - memory_limit / HLO_TUNING_CACHE_KERNEL_SHARE);
  cache->folder_limit = (uint64_t)options->cache_size * MIB;
  if (*options->cache_dir) choose_folder(cache, options->cache_dir, log);
  *out_cache = cache;
  return hlo_ok();
}

void hlo_compile_cache_release(hlo_compile_cache_t* cache) {
  if (!cache) return;
  hlo_lru_deinit(&cache->images);
  hlo_lru_deinit(&cache->kernels);
  hlo_jit_pool_release(cache->pool);
  hlo_tuner_release(cache->tuner);
  hlo_arena_store_deinit(&cache->store);
  hlo_arena_store_deinit(&cache->helper_store);
  hlo_mutex_deinit(&cache->mutex);
  hlo_mem_free(cache);
}

void hlo_compile_cache_clear(hlo_compile_cache_t* cache) {
  hlo_lru_clear(&cache->images);
  hlo_lru_clear(&cache->kernels);
}

hlo_jit_pool_t* hlo_compile_cache_pool(hlo_compile_cache_t* cache) {
  return cache->pool;
}

hlo_tuner_t* hlo_compile_cache_tuner(hlo_compile_cache_t* cache) {
  return cache ? cache->tuner : NULL;
}

hlo_arena_store_t* hlo_compile_cache_store(hlo_compile_cache_t* cache) {
  return cache ? &cache->store : NULL;
}
hlo_arena_store_t* hlo_compile_cache_helper_store(hlo_compile_cache_t* cache) {
  return cache ? &cache->helper_store : NULL;
}

bool hlo_compile_cache_keeps(const hlo_compile_cache_t* cache) {
  return cache->images.limit_bytes || *cache->folder;
}

hlo_lru_t* hlo_compile_cache_kernels(hlo_compile_cache_t* cache) {
  return cache && cache->kernels.limit_bytes ? &cache->kernels : NULL;
}

hlo_cache_image_t* hlo_compile_cache_find(hlo_compile_cache_t* cache, const hlo_digest_t* key) {
  hlo_cache_image_t* image = (hlo_cache_image_t*)hlo_lru_find(&cache->images, key);
  if (image) return image;
  image = find_in_folder(cache, key);
  if (image) hlo_lru_add(&cache->images, key, &image->item);
  return image;
}

void hlo_compile_cache_add(hlo_compile_cache_t* cache, const hlo_digest_t* key, const void* bytes,
                           size_t size_bytes) {
  if (!*cache->folder && size_bytes > cache->images.limit_bytes) return;
  hlo_cache_image_t* image = create_image(bytes, size_bytes);
  if (!image) return;
  hlo_lru_add(&cache->images, key, &image->item);
  add_to_folder(cache, key, image);
  hlo_cache_image_release(image);
}
