// SPDX-License-Identifier: Apache-2.0
// Loads code into this process: memory that is never writable and executable at the same address,
// unwind tables, names for perf and debuggers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "codegen/object/code.h"

/// threads: immutable after loading
typedef struct hlo_jit hlo_jit_t;

/// State shared by programs: slabs of executable memory, the unwinder, the map for perf. Loading
/// into a pool makes no system call while a slab has room.
/// threads: safe
typedef struct hlo_jit_pool hlo_jit_pool_t;

typedef struct hlo_jit_options {
  bool perf;  // names for perf in /tmp/perf-PID.map; each program gets its own pages, as perf
              // requires
  bool gdb;   // symbols and unwind tables for debuggers, through GDB's JIT interface
} hlo_jit_options_t;

/// options: NULL for none.
/// errors : RESOURCE_EXHAUSTED; I/O errors if the map for perf cannot be written
hlo_status_t hlo_jit_pool_create(const hlo_jit_options_t* options,
                                 hlo_jit_pool_t** out_pool) HLO_MUST_USE;
/// Loaded programs remain valid.
void hlo_jit_pool_release(hlo_jit_pool_t* pool);
/// Copies the code into executable memory and registers it. `name` is the program's, for perf and
/// GDB.
/// errors : RESOURCE_EXHAUSTED, PERMISSION_DENIED if the system refuses executable memory
hlo_status_t hlo_jit_pool_load(hlo_jit_pool_t* pool, const hlo_code_t* code, const char* name,
                               hlo_jit_t** out_jit) HLO_MUST_USE;

/// Does the same for a single program, in its own pages. options: NULL for none.
hlo_status_t hlo_jit_load(const hlo_code_t* code, const char* name,
                          const hlo_jit_options_t* options, hlo_jit_t** out_jit) HLO_MUST_USE;
void hlo_jit_release(hlo_jit_t* jit);
/// Returns the code with its tables, valid while it is loaded; its bytes are readable.
const hlo_code_t* hlo_jit_code(const hlo_jit_t* jit);
void* hlo_jit_address(const hlo_jit_t* jit, uint32_t func_index);
