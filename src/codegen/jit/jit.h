// SPDX-License-Identifier: Apache-2.0
// Code made executable in this process: memory that is never writable and executable at once,
// unwind tables, names for perf and debuggers.
#ifndef HLO_CODEGEN_JIT_JIT_H_
#define HLO_CODEGEN_JIT_JIT_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "codegen/object/code.h"

/// threads: immutable after loading
typedef struct hlo_jit hlo_jit_t;

/// What programs share: slabs of executable memory, the unwinder, the map for perf. Loading into a
/// pool makes no system call as long as a slab has room. threads: safe
typedef struct hlo_jit_pool hlo_jit_pool_t;

typedef struct hlo_jit_options {
  bool perf;  // names for perf in /tmp/perf-PID.map; programs get pages of their own, as perf needs
  bool gdb;   // symbols and unwind tables for debuggers, by GDB's JIT interface
} hlo_jit_options_t;

/// options: NULL for none. errors: RESOURCE_EXHAUSTED; files' when the map for perf cannot be
/// written
hlo_status_t hlo_jit_pool_create(const hlo_jit_options_t* options,
                                 hlo_jit_pool_t** out_pool) HLO_MUST_USE;
/// Programs loaded into the pool live on.
void hlo_jit_pool_release(hlo_jit_pool_t* pool);
/// Copies the code into executable memory and registers it. `name`: of the program, for perf and
/// GDB. errors: RESOURCE_EXHAUSTED, PERMISSION_DENIED when the system refuses executable memory
hlo_status_t hlo_jit_pool_load(hlo_jit_pool_t* pool, const hlo_code_t* code, const char* name,
                               hlo_jit_t** out_jit) HLO_MUST_USE;

/// As above, for a program alone, in pages of its own. options: NULL for none.
hlo_status_t hlo_jit_load(const hlo_code_t* code, const char* name,
                          const hlo_jit_options_t* options, hlo_jit_t** out_jit) HLO_MUST_USE;
void hlo_jit_release(hlo_jit_t* jit);
/// The code with its tables, as long as it is loaded; its bytes are readable.
const hlo_code_t* hlo_jit_code(const hlo_jit_t* jit);
void* hlo_jit_address(const hlo_jit_t* jit, uint32_t func_index);
/// The site of a program counter inside the code; 0: none.
uint32_t hlo_jit_debug_id(const hlo_jit_t* jit, const void* pc);

#endif  // HLO_CODEGEN_JIT_JIT_H_
