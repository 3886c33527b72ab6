// SPDX-License-Identifier: Apache-2.0
// Functions that the code of a kernel calls while it runs: iterations of a parallel loop that wait
// for each other, semaphores, barriers, prints.
//
// Iterations are jobs of a pool. One that waits lends its thread's place to a helper of the pool,
// so that every iteration of a loop starts, however few workers there are. An iteration can be
// released only by others of the same loop, or of loops inside: those around have semaphores of
// their own (hlo_tile_runs_threads()). So when no iteration runs and one waits, all of them wait
// for ever, which is reported as a deadlock.
#pragma once

#include "base/env.h"
#include "base/program_abi.h"
#include "base/threads.h"
#include "tile/ir.h"

/// A semaphore or barrier: a word of a cache line of its own, zero at first.
enum { HLO_TILE_SEMAPHORE_BYTES = 64 };

/// frame->runtime of kernels that hlo_tile_emit_phases() emitted. Functions return DONE, or ERROR:
/// the session has failed and its code returns at once. `op`: the number of an operation in the
/// order of the text, for messages. threads: safe
typedef struct hlo_tile_runtime {
  hlo_runtime_table_t base;
  /// Runs a chunk function for the numbers 0..count-1, which may wait for each other.
  int32_t (*run_threads)(hlo_frame_t* frame, uint64_t func, uint64_t context, uint64_t count);
  /// Lets other iterations run: for loops that poll memory.
  int32_t (*let_others_run)(hlo_frame_t* frame);
  int32_t (*signal)(hlo_frame_t* frame, uint64_t semaphore, uint64_t count);
  int32_t (*wait)(hlo_frame_t* frame, uint64_t semaphore, uint64_t count, uint64_t op);
  int32_t (*arrive)(hlo_frame_t* frame, uint64_t barrier, uint64_t arrivals);
  int32_t (*wait_phase)(hlo_frame_t* frame, uint64_t barrier, uint64_t phase, uint64_t op);
  /// Checks that nothing is left of `count` semaphores or barriers whose block ends.
  int32_t (*end)(hlo_frame_t* frame, uint64_t semaphores, uint64_t count, uint64_t op);
  /// elements: those of the first operand, then those of the others.
  int32_t (*print)(hlo_frame_t* frame, uint64_t op, uint64_t elements, uint64_t count);
} hlo_tile_runtime_t;
extern const hlo_tile_runtime_t hlo_tile_runtime;

/// Calls a function that run_threads was given. DONE or ERROR.
typedef int32_t (*hlo_tile_call_t)(void* context, uint64_t func, hlo_frame_t* frame,
                                   uint64_t argument, uint64_t number);

/// One run of a kernel. owner: the caller, hlo_tile_session_deinit(). threads: safe
typedef struct hlo_tile_session {
  const hlo_tile_kernel_t* kernel;
  const hlo_tile_meaning_t* meaning;  // for prints; NULL: printing does nothing
  hlo_pool_t* pool;
  const hlo_env_t* env;  // of iterations; NULL: that of the pool's workers
  hlo_tile_call_t call;
  void* context;      // of `call`
  hlo_mutex_t mutex;  // of what follows
  uint32_t running;   // chunks and iterations that do not wait
  struct hlo_tile_waiter* waiters;
  atomic_uint waiting;    // their number, which signals read without the mutex
  atomic_bool is_failed;  // `status` is set
  hlo_status_t status;
} hlo_tile_session_t;

void hlo_tile_session_init(hlo_tile_session_t* session, const hlo_tile_kernel_t* kernel,
                           hlo_pool_t* pool, hlo_tile_call_t call, void* context);
/// Returns the first error. errors: FAILED_PRECONDITION (a deadlock, signals that nothing waited
/// for), RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_session_deinit(hlo_tile_session_t* session) HLO_MUST_USE;
/// A frame for code of the session.
hlo_frame_t hlo_tile_session_frame(hlo_tile_session_t* session);
/// Around a chunk of a phase.
void hlo_tile_session_begin_chunk(hlo_tile_session_t* session);
void hlo_tile_session_end_chunk(hlo_tile_session_t* session);

/// Returns the most points of a tile that an operation is in: how many elements of each operand a
/// print has room for.
int64_t hlo_tile_point_room(const hlo_tile_op_t* op);
/// Returns the number of an operation in the order of the text.
uint64_t hlo_tile_op_site(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);
