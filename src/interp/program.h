// SPDX-License-Identifier: Apache-2.0
// Runs modules in the reference interpreter: a program is prepared once; any number of resumable
// evaluations run its functions.
#pragma once

#include "interp/eval.h"
#include "interp/grid.h"

/// A verified module prepared for evaluation: slots for values, last uses, constants as tensors.
/// threads: immutable after creation.
typedef struct hlo_interp_program hlo_interp_program_t;

/// Handles custom calls that the interpreter does not implement (FFI handlers, host callbacks);
/// called first. Sets *out_handled false to leave the call to the interpreter. A call that has to
/// wait sets *out_pending and is called again with the same arguments when the evaluation resumes;
/// *state belongs to the hook, NULL at first.
typedef hlo_status_t (*hlo_interp_custom_call_t)(void* context, hlo_eval_t* eval,
                                                 const hlo_node_t* node, hlo_tensor_t** operands,
                                                 hlo_tensor_t** results, void** state,
                                                 bool* out_handled, bool* out_pending);

/// Options of an evaluation; zero-initialised is one process without files, callbacks or output.
typedef struct hlo_interp_options {
  const hlo_process_grid_t* grid;  // NULL: one process
  uint32_t process;                // replica * partition_count + partition
  const atomic_uint* cancelled;    // polled at loop back-edges and calls; NULL: never
  uint64_t rng_seed;
  const char* probe_directory;  // directory for the files of interpreter.probe; NULL: no files
  // interpreter.print; NULL: silent
  void (*print)(void* context, const char* text, size_t length);
  void* print_context;
  hlo_interp_custom_call_t custom_call;  // NULL: none
  void* custom_call_context;
} hlo_interp_options_t;

/// Prepares a verified module, which must outlive the program unchanged.
/// errors: RESOURCE_EXHAUSTED, UNIMPLEMENTED, INVALID_ARGUMENT (a call to an unknown function)
hlo_status_t hlo_interp_program_create(const hlo_module_t* module,
                                       hlo_interp_program_t** out_program) HLO_MUST_USE;
void hlo_interp_program_release(hlo_interp_program_t* program);
const hlo_module_t* hlo_interp_program_module(const hlo_interp_program_t* program);

/// Evaluates `func` to the end. inputs are lent (never overwritten while the caller holds them);
/// outputs, one per result, are new references. options may be NULL.
/// errors: those of the program; FAILED_PRECONDITION if it would have to wait
hlo_status_t hlo_interp_call(const hlo_interp_program_t* program, const hlo_func_t* func,
                             uint32_t input_count, hlo_tensor_t* const* inputs,
                             uint32_t output_count, hlo_tensor_t** outputs,
                             const hlo_interp_options_t* options) HLO_MUST_USE;

/// A resumable evaluation. inputs are retained; options are copied (the objects they point at are
/// lent).
/// errors: INVALID_ARGUMENT (inputs do not fit the function), RESOURCE_EXHAUSTED
hlo_status_t hlo_interp_begin(const hlo_interp_program_t* program, const hlo_func_t* func,
                              uint32_t input_count, hlo_tensor_t* const* inputs,
                              const hlo_interp_options_t* options,
                              hlo_eval_t** out_eval) HLO_MUST_USE;
/// Like hlo_interp_begin(), but takes ownership of the references in `inputs` (also on failure);
/// inputs without another reference are overwritten in place.
hlo_status_t hlo_interp_begin_taking(const hlo_interp_program_t* program, const hlo_func_t* func,
                                     uint32_t input_count, hlo_tensor_t** inputs,
                                     const hlo_interp_options_t* options,
                                     hlo_eval_t** out_eval) HLO_MUST_USE;
/// Runs until the end, an error, or a wait (*out_suspended; call again when it can continue).
hlo_status_t hlo_interp_run(hlo_eval_t* eval, bool* out_suspended) HLO_MUST_USE;
/// Moves the results out after the end; may be called once.
void hlo_interp_take_outputs(hlo_eval_t* eval, hlo_tensor_t** outputs);
void hlo_interp_end(hlo_eval_t* eval);

/// Evaluates one node on tensors, without a program (constant folding). operands are lent.
/// errors: those of hlo_ref_<op>(); UNIMPLEMENTED for ops that control flow or processes
hlo_status_t hlo_interp_node(const hlo_node_t* node, hlo_tensor_t* const* operands,
                             hlo_tensor_t** results) HLO_MUST_USE;
