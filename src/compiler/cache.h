// SPDX-License-Identifier: Apache-2.0
// What the compilations of one client share: machine code that was made before, in memory and in a
// folder, and the executable memory that it is loaded into.
#ifndef HLO_COMPILER_CACHE_H_
#define HLO_COMPILER_CACHE_H_

#include "base/config.h"
#include "base/lru.h"
#include "base/mem.h"
#include "base/observer.h"
#include "codegen/jit/jit.h"
#include "codegen/target/target.h"
#include "ir/module.h"

/// Names the code of one module (its structure: locations do not count), entry, back end, target
/// and build of this library. False where builds cannot be told apart, or memory is out: nothing
/// may be kept.
bool hlo_cache_key_make(const hlo_module_t* prepared, const char* entry, const char* backend,
                        const hlo_target_t* target, uint64_t temporary_limit,
                        hlo_digest_t* out_key);

/// Bytes of an image (codegen/image/image.h), counted. threads: immutable
typedef struct hlo_cache_image {
  hlo_lru_item_t item;  // with the size
  uint8_t bytes[];
} hlo_cache_image_t;

void hlo_cache_image_release(hlo_cache_image_t* image);

/// threads: safe; so are several processes with one folder
typedef struct hlo_compile_cache hlo_compile_cache_t;

/// As the options cache_dir, cache_size, cache_memory, perf and gdb say. A folder that cannot be
/// used, or that others may write to, is not used: a warning. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_compile_cache_create(const hlo_config_t* options, const hlo_log_t* log,
                                      hlo_compile_cache_t** out_cache) HLO_MUST_USE;
/// Programs that were loaded live on.
void hlo_compile_cache_release(hlo_compile_cache_t* cache);
hlo_jit_pool_t* hlo_compile_cache_pool(hlo_compile_cache_t* cache);
/// For what compiling allocates; NULL of NULL.
hlo_arena_store_t* hlo_compile_cache_store(hlo_compile_cache_t* cache);
/// Likewise for other threads that take part in a compilation.
hlo_arena_store_t* hlo_compile_cache_helper_store(hlo_compile_cache_t* cache);
/// Code of single kernels (codegen/image/machine_code.h); NULL: none is kept.
hlo_lru_t* hlo_compile_cache_kernels(hlo_compile_cache_t* cache);

/// Whether it keeps anything.
bool hlo_compile_cache_keeps(const hlo_compile_cache_t* cache);
/// NULL when it is not there, or its file is damaged. owner: caller, hlo_cache_image_release()
hlo_cache_image_t* hlo_compile_cache_find(hlo_compile_cache_t* cache, const hlo_digest_t* key);
/// Adds an image, in the place of one of this key. What does not fit, and failures of files, are no
/// fault: it is not kept then.
void hlo_compile_cache_add(hlo_compile_cache_t* cache, const hlo_digest_t* key, const void* bytes,
                           size_t size_bytes);

#endif  // HLO_COMPILER_CACHE_H_
