// SPDX-License-Identifier: Apache-2.0
// A grid of processes simulated on one thread: each is an evaluation of its own and runs until it
// has to wait for the others.
#pragma once

#include "interp/program.h"

/// The programs of the processes. Process replica * partition_count + partition runs funcs[process]
/// on the next inputs and writes the next outputs: both arrays are the processes' lists
/// concatenated.
typedef struct hlo_simgrid_run {
  uint32_t replica_count, partition_count;
  const hlo_func_t* const* funcs;
  uint32_t input_count, output_count;  // of all processes together
  hlo_tensor_t* const* inputs;         // lent
  uint32_t infeed_count;
  hlo_tensor_t* const* infeed;          // lent; one per infeed op, in execution order
  const hlo_interp_options_t* options;  // for every process, except grid and process; may be NULL
} hlo_simgrid_run_t;

/// Runs all processes to the end. outputs: new references.
/// errors: those of a process; FAILED_PRECONDITION if all wait for each other
hlo_status_t hlo_simgrid_run(const hlo_interp_program_t* program, const hlo_simgrid_run_t* run,
                             hlo_tensor_t** outputs) HLO_MUST_USE;
