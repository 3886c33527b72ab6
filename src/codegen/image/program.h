// SPDX-License-Identifier: Apache-2.0
// Compiles a function of a module into a program: schedule, plan, vector IR, and an executor that
// runs it.
#pragma once

#include "base/lru.h"
#include "base/parallel.h"
#include "codegen/fuse/configure.h"
#include "codegen/image/listing.h"
#include "codegen/jit/jit.h"
#include "codegen/lower/call_sites.h"
#include "codegen/target/target.h"
#include "ir/dump.h"

/// The executor of vector IR.
typedef enum hlo_executor {
  HLO_EXECUTOR_MACHINE,      // machine code
  HLO_EXECUTOR_INTERPRETER,  // the vector IR's own interpreter
  HLO_EXECUTOR_TILES,        // kernels by the interpreter of Tile IR, the rest as INTERPRETER
  HLO_EXECUTOR_C,            // C source, compiled by the system's compiler
} hlo_executor_t;

typedef struct hlo_code_options {
  hlo_target_t target;
  hlo_executor_t executor;
  const struct hlo_tile_meaning* tile_meaning;  // of executor TILES
  bool lowers_tiles;         // code of kernels is made from their Tile IR where that is possible
  bool check_plan;           // prove the plan correct (hlo_plan_check()), verify the vector IR
  bool is_checked;           // the code checks its own accesses while it runs
  bool is_profiled;          // each step is a span of traces and recordings
  uint32_t replica_count;    // replicas of the program, each of
  uint32_t partition_count;  // partition_count partitions
  uint64_t temporary_limit;  // bytes; values are recomputed until temporaries fit, as far as that
                             // helps; 0: none
  const hlo_config_table_t* configs;  // choices of kernels instead of the model's; NULL: none
  const char* name;                   // for profilers; lent for the call
  const hlo_parallel_t* parallel;     // compiles in parallel; NULL: on the caller
  hlo_arena_store_t* helper_store;    // memory of the other threads; NULL: none
  hlo_lru_t* kernels;                 // cache of machine code (machine_code.h); NULL: none
  hlo_jit_options_t jit;              // profilers and debuggers to register code with
  hlo_jit_pool_t* pool;               // receives the code instead of `jit`; may be NULL
  const char* compiler;               // C compiler: path or name; NULL or "": the first found
  hlo_dumper_t* dumper;               // receives plan and vector IR; may be NULL
  const hlo_listing_t* listing;       // printed during compilation; may be NULL
} hlo_code_options_t;

/// threads: immutable; frames of one program may run at once.
typedef struct hlo_code_program hlo_code_program_t;

/// Creates a program. Takes ownership of the module (from hlo_prepare_module()), also on failure;
/// `func` is the entry.
/// errors: INVALID_ARGUMENT (a configuration that is not possible, with the reason), UNIMPLEMENTED
/// (what the executor cannot do), RESOURCE_EXHAUSTED, PERMISSION_DENIED (no executable memory),
/// INTERNAL (a check failed), those of hlo_c_build()
hlo_status_t hlo_code_program_create(hlo_module_t* module, const hlo_func_t* func,
                                     const hlo_code_options_t* options,
                                     hlo_code_program_t** out_program) HLO_MUST_USE;
void hlo_code_program_release(hlo_code_program_t* program);

/// Appends the program's image (image.h); nothing if it is not machine code, or is checked or
/// profiled.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_code_program_save(const hlo_code_program_t* program,
                                   hlo_strbuf_t* out) HLO_MUST_USE;
/// Creates a program from the image of a program whose module is structurally equal and whose
/// target is the same; only the options for loading count. On failure the caller keeps the module.
/// errors: those of hlo_image_read(), PERMISSION_DENIED, FAILED_PRECONDITION (target without
/// encoder)
hlo_status_t hlo_code_program_load(hlo_module_t* module, const hlo_func_t* func, const void* image,
                                   size_t image_bytes, const hlo_code_options_t* options,
                                   hlo_code_program_t** out_program) HLO_MUST_USE;

/// frame->program must be hlo_code_program_data(), and the frame as large as the three sizes.
hlo_program_entry_t hlo_code_program_entry(const hlo_code_program_t* program);
const void* hlo_code_program_data(const hlo_code_program_t* program);
const hlo_module_t* hlo_code_program_module(const hlo_code_program_t* program);
size_t hlo_code_program_temporary_bytes(const hlo_code_program_t* program);
size_t hlo_code_program_saved_bytes(const hlo_code_program_t* program);
/// Returns the number of calls of foreign functions; lends their nodes.
uint32_t hlo_code_program_foreign_calls(const hlo_code_program_t* program,
                                        const hlo_node_t* const** out_nodes);
size_t hlo_code_program_code_bytes(const hlo_code_program_t* program);
/// Returns a hash of the machine code, equal for programs of equal bytes; 0 without machine code.
uint64_t hlo_code_program_code_hash(const hlo_code_program_t* program);
/// Counts the values that had no register in the functions of a program of machine code that was
/// compiled, not loaded.
void hlo_code_program_count_spills(const hlo_code_program_t* program, uint32_t* out_words,
                                   uint32_t* out_vectors);
