// SPDX-License-Identifier: Apache-2.0
// Runs one program on the calling thread, without client or device, for the tool and tests; and
// implements the functions of runtime tables that do not depend on the runtime.
#pragma once

#include "base/parallel.h"
#include "compiler/compiler.h"
#include "interp/grid.h"
#include "lib/exchange.h"

/// Returns the meaning of elements in Tile IR (hlo_tile_meaning_t) by the reference's computations.
const struct hlo_tile_meaning* hlo_tile_meaning_of_reference(void);

/// Runs a program of a function with this type. inputs are lent; outputs, one a result, are new
/// references. pool NULL: everything on the calling thread.
/// errors: what the program answers; UNIMPLEMENTED for a program that has to wait
hlo_status_t hlo_program_execute(const hlo_program_t* program, const hlo_type_t* type,
                                 hlo_pool_t* pool, hlo_tensor_t* const* inputs,
                                 hlo_tensor_t** outputs) HLO_MUST_USE;

/// The functions of the runtime table that are independent of the runtime.
extern const hlo_runtime_table_t hlo_execute_table;
/// parallel_for on a pool (NULL: on the caller), for tables of the runtime.
int32_t hlo_execute_parallel_for(hlo_pool_t* pool, hlo_frame_t* frame, uint64_t chunk_count,
                                 hlo_program_chunk_t chunk, void* context);
/// async_start and async_done of a single process.
int32_t hlo_execute_async_start(hlo_frame_t* frame, uint32_t call_site_number);
int32_t hlo_execute_async_done(hlo_frame_t* frame, uint32_t call_site_number);
/// library_for of a single process.
void hlo_execute_library_for(hlo_pool_t* pool, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                             void* argument);
/// call_library and check_failed of a single process.
int32_t hlo_execute_call_library(hlo_frame_t* frame, uint32_t call_site_number,
                                 void* const* buffers);
int32_t hlo_execute_check_failed(hlo_frame_t* frame, uint32_t call_site_number, int64_t found,
                                 int64_t limit);
/// Sets the frame's error slot if it is free; takes over `status`. Returns HLO_PROGRAM_ERROR.
int32_t hlo_execute_fail(hlo_frame_t* frame, uint32_t call_site_number, hlo_status_t status);
/// The same for a cancelled run.
int32_t hlo_execute_fail_cancelled(hlo_frame_t* frame);

/// A collective of the frame's program, which one process computes for all members; or a send or
/// recv with pairs.
typedef struct hlo_execute_collective {
  const hlo_node_t* node;
  const hlo_exchange_t* exchange;  // NULL: a send or recv
} hlo_execute_collective_t;
hlo_execute_collective_t hlo_execute_find_collective(const hlo_frame_t* frame,
                                                     uint32_t call_site_number);
/// The addresses of the operands, then of the results, of this run; also of a foreign function.
void hlo_execute_addresses(const hlo_frame_t* frame, uint32_t call_site_number,
                           void** out_addresses);

/// Returns the position of a call site's foreign function in hlo_program_t, + 1; 0: the call site
/// is no such call.
uint32_t hlo_execute_find_foreign(const hlo_frame_t* frame, uint32_t call_site_number);

/// The runtime of interpreted programs: the ABI's table, then the grid of processes.
typedef struct hlo_interp_runtime {
  hlo_runtime_table_t table;       // size_bytes covers the whole
  const hlo_process_grid_t* grid;  // NULL: alone
  /// Calls the foreign function of a position in hlo_program_t; after *out_pending, the frame is
  /// queued, and the call is made again with is_begun. NULL: there are no foreign functions.
  hlo_status_t (*call_foreign)(hlo_frame_t* frame, uint32_t index, bool is_begun,
                               void* const* addresses, bool* out_pending);
} hlo_interp_runtime_t;
