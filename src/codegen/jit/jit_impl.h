// SPDX-License-Identifier: Apache-2.0
// What the files of the loader share: the pool, placed code, unwind tables, the debugger's entry.
#ifndef HLO_CODEGEN_JIT_JIT_IMPL_H_
#define HLO_CODEGEN_JIT_JIT_IMPL_H_

#include <stdatomic.h>

#include "base/os.h"
#include "base/threads.h"
#include "codegen/jit/jit.h"
#include "codegen/object/unwind.h"

// ---- memory (memory.c)

typedef struct hlo_jit_slab hlo_jit_slab_t;

/// Code in executable memory: a range of a slab, or pages of its own.
typedef struct hlo_jit_memory {
  uint8_t* code;
  size_t size_bytes;
  hlo_jit_slab_t* slab;                // NULL: own pages
  struct hlo_jit_memory *prev, *next;  // of the slab, by address; pool's mutex
} hlo_jit_memory_t;

/// Executable memory seen twice, writable at another address. All under the pool's mutex.
struct hlo_jit_slab {
  uint8_t *writable, *executable;
  size_t used_bytes;
  hlo_jit_memory_t *first, *last;
  hlo_jit_memory_t* rover;  // the range placed last; the next one is sought behind it first
  hlo_jit_slab_t* next;
};

// ---- the unwinder (unwind.c)

/// libgcc's registry of unwind tables; functions are NULL where there is none.
typedef struct hlo_jit_unwinder {
  void (*register_frame)(void* eh_frame);
  void (*deregister_frame)(void* eh_frame);
} hlo_jit_unwinder_t;

/// The process's; looked for once. threads: safe
const hlo_jit_unwinder_t* hlo_jit_unwinder(void);

// ---- debuggers (gdb.c)

typedef struct hlo_jit_gdb_entry hlo_jit_gdb_entry_t;

/// Shows debuggers the functions as symbols of an object file in memory.
hlo_status_t hlo_jit_gdb_register(const hlo_code_t* code, const uint8_t* base, const char* name,
                                  const hlo_eh_frame_t* eh_frame,
                                  hlo_jit_gdb_entry_t** out_entry) HLO_MUST_USE;
void hlo_jit_gdb_unregister(hlo_jit_gdb_entry_t* entry);

// ---- pool (jit.c)

struct hlo_jit_pool {
  atomic_uint reference_count;
  bool has_slabs;      // false: every program gets pages of its own
  int64_t process_id;  // where it was made; a forked child leaves slabs, shared memory, alone
  bool gdb;
  hlo_os_stream_t* perf_map;  // NULL: none
  hlo_mutex_t mutex;
  hlo_jit_slab_t* slabs;  // mutex
  bool is_slab_refused;   // mutex; the system refuses memory mapped twice
};

/// Copies code to executable memory; only `memory` moves no more afterwards.
hlo_status_t hlo_jit_memory_place(hlo_jit_pool_t* pool, const uint8_t* bytes, size_t size_bytes,
                                  hlo_jit_memory_t* memory) HLO_MUST_USE;
void hlo_jit_memory_release(hlo_jit_pool_t* pool, hlo_jit_memory_t* memory);
/// Unmaps all slabs of a pool without programs.
void hlo_jit_memory_deinit(hlo_jit_pool_t* pool);

#endif  // HLO_CODEGEN_JIT_JIT_IMPL_H_
