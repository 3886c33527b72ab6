// SPDX-License-Identifier: Apache-2.0
// The interface between compiled programs and the runtime; generated code uses no other functions.
// Native code, the C back end and the interpreter implement the same resumable entry. Frozen and
// versioned: fields are only appended, and any change of meaning increments the version. Only
// library_for may be NULL in a runtime's table: a function that a runtime does not offer returns
// ERROR.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { HLO_PROGRAM_ABI_VERSION = 2 };

/// The library uses the first bytes of frame->saved for the state of random number generators.
enum { HLO_PROGRAM_SAVED_START = 8 };

/// The result of an entry, and of every runtime call that may suspend.
enum {
  HLO_PROGRAM_DONE = 0,
  HLO_PROGRAM_SUSPENDED = 1,  // the frame will be queued again; return at once
  HLO_PROGRAM_ERROR = 2,      // the error slot is set; return at once
};

typedef struct hlo_frame hlo_frame_t;

/// A whole device program. Called again after a suspension, with resume_point as the program set
/// it. threads: one caller at a time per frame, on any worker.
typedef int32_t (*hlo_program_entry_t)(hlo_frame_t* frame);

/// One chunk of a parallel loop: a leaf without suspension points. Returns DONE or ERROR.
typedef int32_t (*hlo_program_chunk_t)(hlo_frame_t* frame, void* context, uint64_t chunk_index);

/// The functions that the runtime offers to programs. They may be called only inside an entry or,
/// where stated, a chunk. call_site_index selects the call site in the executable's side tables
/// (operands, shapes, groups, attributes, location), so that generated code passes no descriptors.
typedef struct hlo_runtime_table {
  uint32_t abi_version;  // HLO_PROGRAM_ABI_VERSION
  uint32_t size_bytes;   // of this table

  /// Runs the chunks on the pool and the caller; returns when all have ended. DONE or ERROR.
  int32_t (*parallel_for)(hlo_frame_t* frame, uint64_t chunk_count, hlo_program_chunk_t chunk,
                          void* context);
  /// Begins an operation that may have to wait: a collective, send, recv, infeed or outfeed. Never
  /// waits. DONE or ERROR. The call site's entry lists the operands and results; their memory
  /// belongs to the operation until async_done() returns DONE.
  int32_t (*async_start)(hlo_frame_t* frame, uint32_t call_site_index);
  /// Returns DONE if the results are available, SUSPENDED if the frame will be queued when they
  /// are, or ERROR.
  int32_t (*async_done)(hlo_frame_t* frame, uint32_t call_site_index);
  /// Calls a library function for an op without generated code (sort, FFT, the reference
  /// interpreter of one op). Never suspends. Also allowed in chunks. DONE or ERROR.
  int32_t (*call_library)(hlo_frame_t* frame, uint32_t call_site_index, void* const* buffers);
  /// Reports that a check of the program failed (bounds, assertion): sets the error slot, returns
  /// ERROR.
  int32_t (*check_failed)(hlo_frame_t* frame, uint32_t call_site_index, int64_t found,
                          int64_t limit);
  /// Runs loops of library functions (base/parallel.h). Unlike parallel_for, every chunk runs even
  /// if the frame is cancelled. NULL: library functions run on the calling thread.
  void (*library_for)(hlo_frame_t* frame, uint64_t chunk_count,
                      void (*chunk)(void* argument, uint64_t chunk_index), void* argument);
} hlo_runtime_table_t;

/// The first error wins: `code` is set by compare-and-swap from 0, then the winner sets the rest.
typedef struct hlo_frame_error {
  atomic_int code;           // hlo_status_code_t; 0: no error
  uint32_t call_site_index;  // where, in the executable's table of call sites
  void* status;  // an hlo_status_t that the frame owns; NULL: created from code and call site
} hlo_frame_error_t;

/// One execution of a program on one device. owner: the runtime; generated code reads and writes
/// only the fields that say so. Offsets are part of the ABI.
struct hlo_frame {
  uint32_t abi_version;
  uint32_t resume_point;  // written by the program; 0 at the first entry
  void* const* buffers;   // arguments, then results, then constants; base addresses
  uint8_t* temporaries;   // base of the planned arena, 64-byte aligned
  uint8_t* saved;  // values kept across suspensions, the program's from HLO_PROGRAM_SAVED_START on
  const hlo_runtime_table_t* runtime;
  atomic_uint cancelled;  // set by the runtime; polled at loop back-edges and once per chunk
  int32_t device_id;      // global device number
  int32_t replica_id;
  int32_t partition_id;
  uint32_t buffer_count;
  uint32_t saved_bytes;
  uint64_t run_id;      // the same on all devices of one launch
  const void* program;  // the executable's private data (call sites, interpreter's module)
  void* owner;          // the runtime's private data
  hlo_frame_error_t error;
};

static_assert(offsetof(hlo_frame_t, resume_point) == 4, "frame ABI");
static_assert(offsetof(hlo_frame_t, buffers) == 8, "frame ABI");
static_assert(offsetof(hlo_frame_t, temporaries) == 16, "frame ABI");
static_assert(offsetof(hlo_frame_t, saved) == 24, "frame ABI");
static_assert(offsetof(hlo_frame_t, runtime) == 32, "frame ABI");
static_assert(offsetof(hlo_frame_t, cancelled) == 40, "frame ABI");
static_assert(offsetof(hlo_frame_t, device_id) == 44, "frame ABI");
static_assert(offsetof(hlo_frame_t, replica_id) == 48, "frame ABI");
static_assert(offsetof(hlo_frame_t, partition_id) == 52, "frame ABI");
static_assert(offsetof(hlo_frame_t, run_id) == 64, "frame ABI");
static_assert(offsetof(hlo_frame_t, error) == 88, "frame ABI");
