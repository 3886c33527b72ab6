// SPDX-License-Identifier: Apache-2.0
// One program run at once on the calling thread, without client or device: for the tool and tests.
#ifndef HLO_COMPILER_EXECUTE_H_
#define HLO_COMPILER_EXECUTE_H_

#include "base/parallel.h"
#include "compiler/compiler.h"
#include "interp/eval.h"

/// Runs a program of a function with this type. inputs are lent; outputs, one a result, are new
/// references. pool NULL: everything on the calling thread.
/// errors: what the program answers; UNIMPLEMENTED for a program that has to wait
hlo_status_t hlo_program_execute(const hlo_program_t* program, const hlo_type_t* type,
                                 hlo_pool_t* pool, hlo_tensor_t* const* inputs,
                                 hlo_tensor_t** outputs) HLO_MUST_USE;

/// The functions of the runtime table that do not depend on who runs the program.
extern const hlo_runtime_table_t hlo_execute_table;
/// parallel_for on a pool (NULL: on the caller), for tables of the runtime.
int32_t hlo_execute_parallel_for(hlo_pool_t* pool, hlo_frame_t* frame, uint64_t chunk_count,
                                 hlo_kernel_chunk_t chunk, void* context);
/// Collectives of a process that is alone.
int32_t hlo_execute_collective_start(hlo_frame_t* frame, uint32_t site_number,
                                     void* const* buffers);
int32_t hlo_execute_collective_done(hlo_frame_t* frame, uint32_t site_number);
/// kernel_for likewise.
void hlo_execute_kernel_for(hlo_pool_t* pool, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                            void* argument);

#endif  // HLO_COMPILER_EXECUTE_H_
