// SPDX-License-Identifier: Apache-2.0
// A function of a module made into a program: schedule, plan, vector IR, and an executor that runs
// it.
#ifndef HLO_CODEGEN_PROGRAM_H_
#define HLO_CODEGEN_PROGRAM_H_

#include "base/lru.h"
#include "base/parallel.h"
#include "codegen/image/listing.h"
#include "codegen/jit/jit.h"
#include "codegen/lower/call_sites.h"
#include "codegen/target/target.h"
#include "ir/dump.h"

/// How vector IR comes to run.
typedef enum hlo_executor {
  HLO_EXECUTOR_MACHINE,      // machine code
  HLO_EXECUTOR_INTERPRETER,  // the vector IR's own interpreter
  HLO_EXECUTOR_TILES,        // kernels by the Tile IR's interpreter, the rest as by INTERPRETER
  HLO_EXECUTOR_C,            // C source, made into code by the system's compiler
} hlo_executor_t;

typedef struct hlo_code_options {
  hlo_target_t target;
  hlo_executor_t executor;
  bool is_plain;                 // no fusions: every node by its reference function
  bool check_plan;               // prove the plan right (hlo_plan_check()), verify the vector IR
  bool is_checked;               // the code checks its own accesses while it runs
  uint32_t replica_count;        // processes that run it at once, in so many
  uint32_t partition_count;      // partitions each
  uint64_t temporary_limit;      // bytes that temporaries should not exceed: values are computed
                                 // again instead of being kept, as far as that helps; 0: none
  const char* name;              // for profilers; lent for the call
  const hlo_parallel_t* parallel;  // how code is made side by side; NULL: on the caller
  hlo_arena_store_t* helper_store;  // memory of the other threads; NULL: none
  hlo_lru_t* kernels;            // machine code of kernels (machine_code.h); NULL: none is kept
  hlo_jit_options_t jit;         // who is told of machine code
  hlo_jit_pool_t* pool;          // where it goes, then `jit` does not count; may be NULL
  const char* compiler;          // of C: path or name; NULL or "": the first that is found
  hlo_dumper_t* dumper;          // gets plan and vector IR; may be NULL
  const hlo_listing_t* listing;  // printed on the way; may be NULL
} hlo_code_options_t;

/// threads: immutable; frames of one program may run at once.
typedef struct hlo_code_program hlo_code_program_t;

/// Takes over the module (as hlo_prepare_module() made it), also on failure; `func` is the entry.
/// errors: UNIMPLEMENTED (what the executor cannot do), RESOURCE_EXHAUSTED, PERMISSION_DENIED (no
/// executable memory), INTERNAL (a check failed), those of hlo_c_build()
hlo_status_t hlo_code_program_create(hlo_module_t* module, const hlo_func_t* func,
                                     const hlo_code_options_t* options,
                                     hlo_code_program_t** out_program) HLO_MUST_USE;
void hlo_code_program_release(hlo_code_program_t* program);

/// Appends the program's image (image.h); nothing where it is no machine code, or code that checks
/// itself. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_code_program_save(const hlo_code_program_t* program,
                                   hlo_strbuf_t* out) HLO_MUST_USE;
/// As hlo_code_program_create(), from the image of a program whose module was structurally equal
/// and whose target this one has; of the options, those of loading count. A failure leaves the
/// module to the caller. errors: of hlo_image_read(), PERMISSION_DENIED, FAILED_PRECONDITION where
/// the target has no encoder
hlo_status_t hlo_code_program_load(hlo_module_t* module, const hlo_func_t* func, const void* image,
                                   size_t image_bytes, const hlo_code_options_t* options,
                                   hlo_code_program_t** out_program) HLO_MUST_USE;

/// frame->program must be hlo_code_program_data() and the frame as large as the three sizes ask.
hlo_program_entry_t hlo_code_program_entry(const hlo_code_program_t* program);
const void* hlo_code_program_data(const hlo_code_program_t* program);
const hlo_module_t* hlo_code_program_module(const hlo_code_program_t* program);
size_t hlo_code_program_temporary_bytes(const hlo_code_program_t* program);
size_t hlo_code_program_saved_bytes(const hlo_code_program_t* program);
size_t hlo_code_program_code_bytes(const hlo_code_program_t* program);

#endif  // HLO_CODEGEN_PROGRAM_H_
