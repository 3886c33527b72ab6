// SPDX-License-Identifier: Apache-2.0
// The contract between compiled programs and the runtime: the only way generated code reaches back.
// Native code, the C back end and the interpreter implement the same resumable entry. Frozen and
// versioned: fields are only appended, and any change of meaning raises the version. No function of a
// runtime's table but kernel_for is NULL: one that a runtime does not offer answers ERROR.
#ifndef HLO_BASE_KERNEL_ABI_H_
#define HLO_BASE_KERNEL_ABI_H_

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { HLO_KERNEL_ABI_VERSION = 2 };

/// The first bytes of frame->saved are the library's: the state of generators of random numbers.
enum { HLO_KERNEL_SAVED_START = 8 };

/// What an entry, and every runtime call that may wait, answers.
enum {
  HLO_KERNEL_DONE = 0,
  HLO_KERNEL_SUSPENDED = 1,  // the frame will be queued again; return at once
  HLO_KERNEL_ERROR = 2,      // the error slot is set; return at once
};

typedef struct hlo_frame hlo_frame_t;

/// A whole device program. Called again after a suspension, with resume_point as the program left
/// it. threads: one caller at a time per frame; any worker.
typedef int32_t (*hlo_program_entry_t)(hlo_frame_t* frame);

/// One chunk of a parallel loop: a leaf without suspension points. Returns DONE or ERROR.
typedef int32_t (*hlo_kernel_chunk_t)(hlo_frame_t* frame, void* context, uint64_t chunk_index);

/// What the runtime offers to programs. Every function may be called only from inside an entry or,
/// where it says so, from a chunk. site_index names the call site in the executable's side tables
/// (operands, shapes, groups, attributes, location), so that generated code passes no descriptors.
typedef struct hlo_runtime_table {
  uint32_t abi_version;  // HLO_KERNEL_ABI_VERSION
  uint32_t size_bytes;   // of this table

  /// Runs the chunks on the pool and the caller; returns when all are done. DONE or ERROR.
  int32_t (*parallel_for)(hlo_frame_t* frame, uint64_t chunk_count, hlo_kernel_chunk_t chunk,
                          void* context);
  /// Begins the operation of a call site that may have to wait: a collective, send, recv, infeed or
  /// outfeed. Never waits. DONE or ERROR. The site table knows the operands and results; their
  /// memory is the operation's until async_done() answers DONE.
  int32_t (*async_start)(hlo_frame_t* frame, uint32_t call_site_index);
  /// DONE when the results are there, else SUSPENDED (queued again when they are), or ERROR.
  int32_t (*async_done)(hlo_frame_t* frame, uint32_t call_site_index);
  /// An inline kernel of the library that the program did not generate code for (sort, FFT, the
  /// reference interpreter of one op). Never suspends. From chunks too. DONE or ERROR.
  int32_t (*call_kernel)(hlo_frame_t* frame, uint32_t call_site_index, void* const* buffers);
  /// A check of the program failed (bounds, assertion): sets the error slot, returns ERROR.
  int32_t (*check_failed)(hlo_frame_t* frame, uint32_t call_site_index, int64_t found, int64_t limit);
  /// Loops inside kernels of the library (base/parallel.h): as parallel_for, but every chunk runs,
  /// also of a cancelled frame. NULL: kernels run on the calling thread.
  void (*kernel_for)(hlo_frame_t* frame, uint64_t chunk_count,
                     void (*chunk)(void* argument, uint64_t chunk_index), void* argument);
} hlo_runtime_table_t;

/// The first error wins: code is set by compare-and-swap from 0, then op by the winner.
typedef struct hlo_frame_error {
  atomic_int code;      // hlo_status_code_t; 0 none
  uint32_t call_site_index;  // where, in the executable's site table
  void* status;         // an hlo_status_t that the frame owns, or NULL: made from code and site
} hlo_frame_error_t;

/// One execution of a program on one device. owner: the runtime; generated code reads and writes
/// only what is marked. Offsets are part of the ABI.
struct hlo_frame {
  uint32_t abi_version;
  uint32_t resume_point;  // program: 0 at the first entry, then its own numbers
  void* const* buffers;   // arguments, then results, then constants; base addresses
  uint8_t* temporaries;   // base of the planned arena, 64-byte aligned
  uint8_t* saved;         // what lives across suspensions; HLO_KERNEL_SAVED_START: the program's
  const hlo_runtime_table_t* runtime;
  atomic_uint cancelled;  // by the runtime; polled at loop back-edges and once per parallel chunk
  int32_t device_id;      // global device number
  int32_t replica_id;
  int32_t partition_id;
  uint32_t buffer_count;
  uint32_t saved_bytes;
  uint64_t run_id;      // the same on all devices of one launch
  const void* program;  // the executable's private data (sites, interpreter's module)
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

#endif  // HLO_BASE_KERNEL_ABI_H_
