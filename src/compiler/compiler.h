// SPDX-License-Identifier: Apache-2.0
// From the bytes of a program to an executable: read, verify, optimise, hand to a back end.
#pragma once

#include <stdatomic.h>

#include "base/config.h"
#include "base/diag.h"
#include "base/env.h"
#include "base/observer.h"
#include "base/parallel.h"
#include "base/program_abi.h"
#include "base/status.h"
#include "ir/dump.h"
#include "ir/module.h"
#include "ir/work.h"

/// How a program is to be compiled. Filled by hlo_compile_options_init() and the reader of the
/// serialized proto (compile_options.h).
/// Where a program is written as HLO after its optimisation, and how.
typedef struct hlo_hlo_dump {
  const char* directory;  // lent for the call; NULL: nowhere
  bool is_text, is_proto;
} hlo_hlo_dump_t;

typedef struct hlo_compile_config {
  int32_t replica_count;    // 0: what the program says
  int32_t partition_count;  // 0: the same
  const char* backend;      // as for hlo_backend_find(); NULL: the best one available
  const char* entry;        // name of the function to compile; NULL: hlo_module_entry()
  const char* cpu;          // as for hlo_cpu_find(); NULL: this machine
  bool may_be_absent;       // the code need not run on this machine
  hlo_subnormals_t subnormals;
  const struct hlo_target* target;  // the machine instead (codegen/target/target.h), lent; NULL: by
                                    // `cpu` and `subnormals`
  const struct hlo_config_table* configs;  // choices of kernels (codegen/fuse/configure.h), lent
                                           // for the call; NULL: none
  const char* cc;  // C compiler of back end c; NULL or "": the first one found
  /// Arguments and results have the layouts that these options, else the program, ask for; lent for
  /// the call. NULL: all are row-major.
  const struct hlo_compile_options* layouts;
  /// Arguments that may be donated besides those that the program names; lent for the call.
  uint32_t donated_count;
  const uint32_t* donated;
  const struct hlo_custom_partitioner* custom_partitioner;  // of custom calls, lent for the call;
                                                            // NULL: none
  const struct hlo_transforms* transforms;  // of optimised programs (compiler/transforms.h), lent
                                            // for the call; NULL: none
  bool verify_each;              // verify after every pass, and the plans of code generation
  bool keeps_attention;          // as in hlo_pass_options_t
  bool profile_steps;            // steps of programs are spans of traces and recordings
  const char* sync_collectives;  // as in hlo_pass_options_t; lent for the call
  const char* collective_memory;
  uint64_t temporary_limit;      // bytes of temporaries that a program should not exceed; 0: none
  uint64_t device_memory_bytes;  // nor with its arguments and results these; 0: no limit
  hlo_elided_t elided;           // the elements of constants that the program's text leaves out
  bool perf, gdb;                // names of generated code for perf and debuggers
  struct hlo_compile_cache*
      cache;                // what compilations share (compiler/cache.h), lent; NULL: nothing
  hlo_parallel_t parallel;  // runs code generation in parallel
  const void* code;         // of a serialized executable, for the back end; lent for the call
  size_t code_bytes;
  const hlo_observer_t* observer;  // informed about the stages; lent for the call; NULL: no
                                   // observer
  hlo_hlo_dump_t hlo_dump;
  hlo_dumper_t* dumper;  // for the back end, set by hlo_compile(); NULL: writes nothing
  const struct hlo_listing* listing;  // the form in which compiled code is printed
                                      // (codegen/image/listing.h) instead of being loaded; lent for
                                      // the call; NULL: not printed
} hlo_compile_config_t;

void hlo_compile_config_init(hlo_compile_config_t* config);
/// As above, then the library's options (lent, as the observer is).
void hlo_compile_config_read(const hlo_config_t* options, const hlo_observer_t* observer,
                             hlo_compile_config_t* config);
/// Sets an option that a program may have for itself; `number` of an INT, BOOL or CHOICE, `text`
/// (lent) of a STRING. Returns false without an effect for the options of clients.
bool hlo_compile_config_set(hlo_compile_config_t* config, hlo_config_index_t option, int64_t number,
                            const char* text);
/// The environment in which the program is to run. errors : those of hlo_cpu_detect()
hlo_status_t hlo_compile_config_env(const hlo_compile_config_t* config,
                                    hlo_env_t* out_env) HLO_MUST_USE;

/// One argument or result of an executable. The type is static.
typedef struct hlo_signature_entry {
  hlo_dtype_t dtype;
  bool is_token;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* minor_to_major;  // layout in device memory (base/dim_order.h); NULL: row-major
  int64_t element_count;
  size_t size_bytes;        // in device memory
  const char* memory_kind;  // "device", "pinned_host", "unpinned_host"
  int32_t alias;            // argument: the result that may reuse it when donated; result: the
                            // argument it may reuse; -1: none
  bool is_donor;            // argument: taken for a result of its size that cannot reuse it
  const char* sharding;     // GSPMD's text, of what the partitioner decided; NULL: nothing
} hlo_signature_entry_t;

typedef struct hlo_backend hlo_backend_t;

/// A back end turns a module into something with an entry (see base/program_abi.h).
typedef struct hlo_program {
  const hlo_backend_t* backend;  // the back end that runs it, possibly another than requested
  hlo_program_entry_t entry;
  hlo_env_t env;                    // entered by the caller before the entry
  const struct hlo_target* target;  // the machine of its code; NULL: any
  const void* data;                 // frame->program
  void (*destroy)(struct hlo_program* program);
  size_t temporary_bytes;  // arena for a frame
  size_t saved_bytes;      // room for live scalars
  size_t code_bytes;
  bool is_cheap;   // quicker to run inline than to hand to a worker
  bool is_reused;  // its code is from an earlier compilation
  /// Calls of foreign functions (custom_call), which the runtime performs; a program numbers them
  /// by their positions.
  uint32_t foreign_count;
  const hlo_node_t* const* foreign_nodes;
  char* cause;  // why another back end than the requested one made it; NULL: it did not
  /// Appends what the back end needs to have the program without compiling; NULL: not supported.
  hlo_status_t (*save)(const struct hlo_program* program, hlo_strbuf_t* out);
} hlo_program_t;

struct hlo_backend {
  const char* name;
  /// Compiles the entry function of a verified module that the program may keep using (the
  /// executable owns it and outlives the program).
  hlo_status_t (*compile)(const hlo_backend_t* backend, hlo_module_t* module,
                          const hlo_compile_config_t* config, hlo_program_t** out_program);
};

/// Returns NULL for an unknown name; name NULL: the default.
const hlo_backend_t* hlo_backend_find(const char* name);
/// The same. errors : NOT_FOUND with the known names
hlo_status_t hlo_backend_choose(const char* name, const hlo_backend_t** out_backend) HLO_MUST_USE;
/// Returns the function that a configuration selects; NULL if the module lacks it.
const hlo_func_t* hlo_backend_entry(const hlo_module_t* module, const hlo_compile_config_t* config);

static inline int32_t hlo_backend_process_count(const hlo_compile_config_t* config) {
  return config->replica_count * config->partition_count;
}

/// A compiled program, bound to no device. threads: immutable.
typedef struct hlo_executable {
  atomic_int count;
  const char* name;
  hlo_module_t* module;
  hlo_program_t* program;
  hlo_compile_config_t config;
  uint32_t argument_count, result_count;
  hlo_signature_entry_t* arguments;
  hlo_signature_entry_t* results;
  hlo_cost_t cost;
  size_t argument_bytes, result_bytes, alias_bytes;
  uint64_t fingerprint;  // of the program and its counts, on every machine
  /// The program's bytes, for serialization; NULL: not known; of a program that the application
  /// partitions in part or rewrites, the text of what one device computes.
  uint8_t* source;
  size_t source_bytes;
  uint8_t* options;  // serialized compile options as received, for serialization; may be NULL
  size_t options_bytes;
} hlo_executable_t;

/// Compiles. `options`/`options_bytes` are kept as they are for serialization (may be NULL).
/// Faults of the program go to `diag` (may be NULL) and into the status.
/// errors: INVALID_ARGUMENT, UNIMPLEMENTED naming op and place, RESOURCE_EXHAUSTED
hlo_status_t hlo_compile(const void* bytes, size_t size_bytes, const char* file_name,
                         const hlo_compile_config_t* config, const void* options,
                         size_t options_bytes, hlo_diag_t* diag,
                         hlo_executable_t** out_executable) HLO_MUST_USE;
/// The same of a verified module (taken), which may be divided already (HLO_PARTITIONED_ATTR in
/// passes/pipeline.h). The executable cannot be serialized.
hlo_status_t hlo_compile_module(hlo_module_t* module, const hlo_compile_config_t* config,
                                hlo_executable_t** out_executable) HLO_MUST_USE;
hlo_executable_t* hlo_executable_retain(hlo_executable_t* executable);
void hlo_executable_release(hlo_executable_t* executable);

/// Returns a hash of the program, its options, the machine of its code and the version of this
/// library.
uint64_t hlo_executable_fingerprint(const hlo_executable_t* executable);

/// Returns the processor that the code of a program needs, without features if any will do.
hlo_cpu_t hlo_program_cpu(const hlo_program_t* program);

/// Prints the description of the machine that `cpu` names (hlo_cpu_find()), which is itself a name.
/// errors : those of hlo_cpu_find()
hlo_status_t hlo_compile_describe_machine(const char* cpu, hlo_strbuf_t* out) HLO_MUST_USE;

/// The executable as bytes: a header with version and checksum, the program, its options, its
/// machine code and the machine of that.
/// owner: caller frees *out_bytes with hlo_mem_free().
hlo_status_t hlo_executable_serialize(const hlo_executable_t* executable, uint8_t** out_bytes,
                                      size_t* out_size_bytes) HLO_MUST_USE;
/// The pieces of serialized bytes, lent from them. errors: INVALID_ARGUMENT, FAILED_PRECONDITION
/// for bytes of another program or version, DATA_LOSS for damaged ones.
typedef struct hlo_serialized {
  bool is_executable;           // else a program alone
  hlo_subnormals_t subnormals;  // of an executable: what it was compiled for, and runs with
  const uint8_t* source;
  size_t source_bytes;
  const uint8_t* options;
  size_t options_bytes;
  const char* target;   // the description of the machine of the code, ended by a zero; "": any
  const uint8_t* code;  // for hlo_compile_config_t; of use to the same build only
  size_t code_bytes;
} hlo_serialized_t;
hlo_status_t hlo_executable_parse(const void* bytes, size_t size_bytes,
                                  hlo_serialized_t* out) HLO_MUST_USE;
