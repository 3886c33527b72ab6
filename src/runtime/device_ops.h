// SPDX-License-Identifier: Apache-2.0
// The raw operations of a device back end: everything that the runtime does to device memory, and
// every launch, goes through this table. For runtime only.
#pragma once

#include "base/copy.h"
#include "base/env.h"
#include "base/status.h"
#include "base/threads.h"
#include "compiler/compiler.h"

struct hlo_memory;

/// An address in device memory, as an integer: only the back end knows whether the host may access
/// it (hlo_device_ops_t.host_pointer). 0: none.
typedef uint64_t hlo_device_address_t;

static inline hlo_device_address_t hlo_device_address_of(const void* pointer) {
  return (uintptr_t)pointer;
}
/// Returns the address in the form that programs take it, and users who asked for it. The caller
/// must not access the bytes.
static inline void* hlo_device_program_pointer(hlo_device_address_t address) {
  return (void*)(uintptr_t)address;
}

/// An allocation; plain data. address 0: none.
typedef struct hlo_device_block {
  hlo_device_address_t
      address;  // aligned to HLO_BLOCK_ALIGNMENT (base/heap.h); the bytes are undefined
  size_t size_bytes;
  uint64_t handle;  // the back end's
} hlo_device_block_t;

/// The properties of one kind of memory.
typedef struct hlo_device_properties {
  bool is_host_accessible;   // host_pointer() returns addresses
  bool accepts_host_memory;  // copies and programs may use any host memory in place of this
  size_t inline_bytes;       // buffers of at most this size may follow their storage in ordinary
                             // host memory; 0: none
} hlo_device_properties_t;

/// Copies bytes, or the elements of a plan. Byte ranges may overlap.
typedef struct hlo_device_copy {
  const struct hlo_memory *from_memory, *to_memory;  // NULL: host memory, at most one of the two
  hlo_device_address_t from, to;  // of the first byte, or of the element at index 0
  size_t size_bytes;
  const hlo_copy_plan_t* plan;  // NULL: the bytes in order; lent until the end
  bool is_host_lent_for_call;   // host memory at `from` is read before the call returns; host
                                // memory at `to` is awaited by the caller (copy_now only)
} hlo_device_copy_t;

/// Enters a program, for the first time or after a suspension.
typedef struct hlo_device_launch {
  const hlo_executable_t* executable;
  hlo_frame_t* frame;         // with the addresses of its buffers
  hlo_env_state_t* host_env;  // set to the environment of the thread that enters the program
  bool is_resumption;         // the program goes on after a suspension
  int32_t answer;             // the program's; valid if the operation has succeeded
} hlo_device_launch_t;

/// A stream of operations of one device.
typedef struct hlo_device_queue hlo_device_queue_t;
typedef struct hlo_device_backend hlo_device_backend_t;

/// An operation, embedded in the object that waits for its end, so that starting one allocates
/// nothing.
typedef struct hlo_device_op {
  hlo_job_t job;     // the back end's until the end, not initialised
  uint64_t scratch;  // likewise
  hlo_device_queue_t* queue;
  /// Called once, on any thread and perhaps before the call returns that starts the operation. It
  /// may free the operation.
  void (*ended)(struct hlo_device_op* op);
  hlo_status_t status;  // of the ended operation; its owner takes it
  union {
    hlo_device_copy_t copy;
    hlo_device_launch_t launch;
  };
} hlo_device_op_t;

/// Operations of a queue may run in any order and at the same time: the runtime starts one only
/// when all that it depends on have ended. A copy that fails leaves undefined bytes.
/// threads: safe
typedef struct hlo_device_ops {
  const char* name;
  void (*destroy)(hlo_device_backend_t* backend);
  void (*get_properties)(const hlo_device_backend_t* backend, const struct hlo_memory* memory,
                         hlo_device_properties_t* out_properties);
  hlo_status_t (*create_queue)(hlo_device_backend_t* backend, int32_t device_id,
                               hlo_device_queue_t** out_queue);
  void (*destroy_queue)(hlo_device_backend_t* backend, hlo_device_queue_t* queue);

  /// errors: RESOURCE_EXHAUSTED
  hlo_status_t (*allocate)(hlo_device_backend_t* backend, const struct hlo_memory* memory,
                           size_t size_bytes, hlo_device_block_t* out_block);
  /// All operations on the block have ended. address 0 is allowed.
  void (*free)(hlo_device_backend_t* backend, const struct hlo_memory* memory,
               hlo_device_block_t block);
  /// Returns where the host may access the byte at the address; NULL: nowhere.
  void* (*host_pointer)(const hlo_device_backend_t* backend, const struct hlo_memory* memory,
                        hlo_device_address_t address);

  /// Copies and returns true, with the result in *out_status, if the back end can do so quickly on
  /// the calling thread; otherwise returns false and has no effect.
  bool (*copy_now)(hlo_device_backend_t* backend, const hlo_device_copy_t* copy,
                   hlo_status_t* out_status);
  /// Starts a copy.
  void (*copy)(hlo_device_backend_t* backend, hlo_device_op_t* op);
  /// Enters a program and returns true, with op->status set, if the entry has ended; returns false
  /// if op->ended is called, perhaps before the return.
  bool (*launch)(hlo_device_backend_t* backend, hlo_device_op_t* op);
} hlo_device_ops_t;

/// The common part of a client's back end.
struct hlo_device_backend {
  const hlo_device_ops_t* ops;
  bool launches_inline;  // launches end before the call returns
};
