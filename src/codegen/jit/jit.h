// SPDX-License-Identifier: Apache-2.0
// Code made executable in this process: memory that is never writable and executable at once, unwind
// tables, names for perf and debuggers.
#ifndef HLO_CODEGEN_JIT_JIT_H_
#define HLO_CODEGEN_JIT_JIT_H_

#include "base/status.h"
#include "codegen/code.h"

/// threads: immutable after loading
typedef struct hlo_jit hlo_jit_t;

/// Copies the code into executable memory and registers it. `name`: of the program, for perf and GDB.
/// errors: RESOURCE_EXHAUSTED, PERMISSION_DENIED when the system refuses executable memory
hlo_status_t hlo_jit_load(const hlo_code_t* code, const char* name, hlo_jit_t** out_jit) HLO_MUST_USE;
void hlo_jit_release(hlo_jit_t* jit);
void* hlo_jit_address(const hlo_jit_t* jit, uint32_t func_index);
/// The site of a program counter inside the code; 0: none.
uint32_t hlo_jit_site(const hlo_jit_t* jit, const void* pc);

#endif  // HLO_CODEGEN_JIT_JIT_H_
