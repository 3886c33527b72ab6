// SPDX-License-Identifier: Apache-2.0
// One kernel of a program as a program of its own, to be compiled with configurations and timed.
#pragma once

#include "codegen/fuse/configure.h"
#include "codegen/image/program.h"
#include "compiler/tune_measure.h"

/// threads: confined
typedef struct hlo_tune_kernel hlo_tune_kernel_t;

/// Copies the ops of a fusion into a module of its own. module: with the fusion, to which a
/// function is added. options: of the whole program, for the machine.
/// errors : FAILED_PRECONDITION if the kernel alone is another one, or has too much memory;
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_tune_kernel_create(hlo_module_t* module, const hlo_tunable_t* tunable,
                                    const hlo_code_options_t* options,
                                    hlo_tune_kernel_t** out_kernel) HLO_MUST_USE;
void hlo_tune_kernel_release(hlo_tune_kernel_t* kernel);
/// Returns the job that compiles and runs the kernel; lent.
const hlo_tune_job_t* hlo_tune_kernel_job(const hlo_tune_kernel_t* kernel);
/// Appends the program of the kernel as text.
void hlo_tune_kernel_print(const hlo_tune_kernel_t* kernel, hlo_strbuf_t* out);
