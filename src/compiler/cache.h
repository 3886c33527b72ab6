// SPDX-License-Identifier: Apache-2.0
// Shared by the compilations of one client: machine code that was generated before, in memory and
// in a folder, and the executable memory it is loaded into.
#pragma once

#include "base/config.h"
#include "base/lru.h"
#include "base/mem.h"
#include "base/observer.h"
#include "codegen/jit/jit.h"
#include "codegen/target/target.h"
#include "ir/module.h"

/// The key of the code of one module (its structure, not its locations), entry, back end, target,
/// choices of kernels that are given (hlo_config_table_hash(); 0: none) and build of this library.
/// False if builds cannot be told apart or memory is exhausted: nothing may be cached then.
bool hlo_cache_key_make(const hlo_module_t* prepared, const char* entry, const char* backend,
                        const hlo_target_t* target, uint64_t temporary_limit, uint64_t choices,
                        hlo_digest_t* out_key);

/// Computes a hash of this build; false if builds cannot be told apart.
bool hlo_cache_build_hash(uint64_t* out_hash);

/// Bytes of an image (codegen/image/image.h), reference-counted. threads: immutable
typedef struct hlo_cache_image {
  hlo_lru_item_t item;  // with the size
  uint8_t bytes[];
} hlo_cache_image_t;

void hlo_cache_image_release(hlo_cache_image_t* image);

/// threads: safe; so are several processes with one folder
typedef struct hlo_compile_cache hlo_compile_cache_t;

/// Creates a cache by the options cache_dir, cache_size, cache_memory, tune, tune_dir, perf and
/// gdb. A folder that cannot be used, or that others may write to, is ignored with a warning.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_compile_cache_create(const hlo_config_t* options, const hlo_log_t* log,
                                      hlo_compile_cache_t** out_cache) HLO_MUST_USE;
/// Releases the cache; loaded programs stay valid.
void hlo_compile_cache_release(hlo_compile_cache_t* cache);
/// Drops the machine code in memory that no loaded program uses; files stay.
void hlo_compile_cache_clear(hlo_compile_cache_t* cache);
hlo_jit_pool_t* hlo_compile_cache_pool(hlo_compile_cache_t* cache);
/// Returns the allocator for compilations; NULL for NULL.
hlo_arena_store_t* hlo_compile_cache_store(hlo_compile_cache_t* cache);
/// The same for other threads of a compilation.
hlo_arena_store_t* hlo_compile_cache_helper_store(hlo_compile_cache_t* cache);
/// Code of single kernels (codegen/image/machine_code.h); NULL: not cached.
hlo_lru_t* hlo_compile_cache_kernels(hlo_compile_cache_t* cache);

/// Returns the tuner; NULL with tune=off.
struct hlo_tuner* hlo_compile_cache_tuner(hlo_compile_cache_t* cache);
/// Returns true if the cache keeps anything.
bool hlo_compile_cache_keeps(const hlo_compile_cache_t* cache);
/// Returns NULL if it is missing or its file is damaged. owner  : caller, hlo_cache_image_release()
hlo_cache_image_t* hlo_compile_cache_find(hlo_compile_cache_t* cache, const hlo_digest_t* key);
/// Adds an image, replacing one with the same key. Images that do not fit and failing files are not
/// errors: nothing is cached then.
void hlo_compile_cache_add(hlo_compile_cache_t* cache, const hlo_digest_t* key, const void* bytes,
                           size_t size_bytes);
