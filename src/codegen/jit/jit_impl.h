// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the loader: the pool, placed code, unwind tables, the debugger's entry.
#pragma once

#include <stdatomic.h>

#include "base/os.h"
#include "base/threads.h"
#include "codegen/jit/jit.h"
#include "codegen/object/unwind.h"

// ---- memory (memory.c)

typedef struct hlo_jit_slab hlo_jit_slab_t;

/// Code in executable memory: a range of a slab, or separate pages.
typedef struct hlo_jit_memory {
  uint8_t* code;
  size_t size_bytes;
  hlo_jit_slab_t* slab;                // NULL: separate pages
  struct hlo_jit_memory *prev, *next;  // of the slab, by address; pool's mutex
} hlo_jit_memory_t;

/// Executable memory with a second mapping that is writable. The pool's mutex protects all fields.
struct hlo_jit_slab {
  uint8_t *writable, *executable;
  size_t used_bytes;
  hlo_jit_memory_t *first, *last;
  hlo_jit_memory_t* rover;  // range placed last; the search for a gap starts after it
  hlo_jit_slab_t* next;
};

// ---- debuggers (gdb.c)

typedef struct hlo_jit_gdb_entry hlo_jit_gdb_entry_t;

/// Registers the functions with debuggers as symbols of an in-memory object file.
hlo_status_t hlo_jit_gdb_register(const hlo_code_t* code, const uint8_t* base, const char* name,
                                  const hlo_eh_frame_t* eh_frame,
                                  hlo_jit_gdb_entry_t** out_entry) HLO_MUST_USE;
void hlo_jit_gdb_unregister(hlo_jit_gdb_entry_t* entry);

// ---- pool (jit.c)

struct hlo_jit_pool {
  atomic_uint reference_count;
  bool has_slabs;      // false: every program gets separate pages
  int64_t process_id;  // creating process; a forked child leaves the slabs, which are shared
                       // memory, alone
  bool gdb;
  hlo_os_stream_t* perf_map;  // NULL: none
  hlo_mutex_t mutex;
  hlo_jit_slab_t* slabs;  // mutex
  bool is_slab_refused;   // mutex; the system refuses doubly mapped memory
};

/// Copies code to executable memory; `memory` itself must not move afterwards.
hlo_status_t hlo_jit_memory_place(hlo_jit_pool_t* pool, const uint8_t* bytes, size_t size_bytes,
                                  hlo_jit_memory_t* memory) HLO_MUST_USE;
void hlo_jit_memory_release(hlo_jit_pool_t* pool, hlo_jit_memory_t* memory);
/// Unmaps all slabs of a pool without programs.
void hlo_jit_memory_deinit(hlo_jit_pool_t* pool);
