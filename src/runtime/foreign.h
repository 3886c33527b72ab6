// SPDX-License-Identifier: Apache-2.0
// Calls of foreign functions (custom_call) in the runs of a loaded executable: the FFI's call
// sites, prepared once, and their launches in the memory of each run. For runtime only.
//
// A function is called on the thread that runs the program, in the host's floating-point
// environment. It may block: the pool then runs other jobs on helper threads
// (hlo_pool_blocking_begin()). If it returns a future, the run is suspended until it completes.
#pragma once

#include "compiler/compiler.h"
#include "ffi/registry.h"
#include "ffi/types.h"
#include "runtime/run.h"

typedef struct hlo_foreign_calls hlo_foreign_calls_t;

/// Finds the targets of a program's calls and runs their stage instantiate. *out_calls is NULL if
/// the program has no such calls.
/// errors: NOT_FOUND for an unknown target, with its location and targets that are spelt alike;
/// those of the handlers
/// owner : caller, hlo_foreign_calls_release() after all runs have ended
hlo_status_t hlo_foreign_calls_create(const hlo_program_t* program, hlo_ffi_registry_t* registry,
                                      hlo_foreign_calls_t** out_calls) HLO_MUST_USE;
void hlo_foreign_calls_release(hlo_foreign_calls_t* calls);

/// The state of all calls in one run.
typedef struct hlo_foreign_run hlo_foreign_run_t;

/// Copies the list of user data, whose objects are lent until the run has ended; NULL: none.
hlo_status_t hlo_foreign_run_create(const hlo_foreign_calls_t* calls,
                                    const hlo_ffi_user_data_t* user_data, hlo_run_t* run,
                                    hlo_foreign_run_t** out_foreign) HLO_MUST_USE;
/// Returns true if the run is in a foreign function, or awaits one; *out_mark changes with each
/// call.
bool hlo_foreign_is_waiting(const hlo_foreign_run_t* foreign, uint64_t* out_mark);
/// Prints the foreign function that the run is in, or awaits; nothing if it calls none.
void hlo_foreign_explain(const hlo_foreign_run_t* foreign, hlo_strbuf_t* out);
void hlo_foreign_run_release(hlo_foreign_run_t* foreign);

/// async_start and async_done of runtime tables, for a call's position in hlo_program_t.
int32_t hlo_foreign_start(hlo_frame_t* frame, uint32_t call_site_number, uint32_t index);
int32_t hlo_foreign_done(hlo_frame_t* frame, uint32_t call_site_number, uint32_t index);
/// call_foreign of hlo_interp_runtime_t.
hlo_status_t hlo_foreign_call(hlo_frame_t* frame, uint32_t index, bool is_begun,
                              void* const* addresses, bool* out_pending) HLO_MUST_USE;
