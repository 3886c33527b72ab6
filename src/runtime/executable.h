// SPDX-License-Identifier: Apache-2.0
// Loaded executables: a compiled program bound to devices, and its asynchronous launches.
#pragma once

#include "compiler/compiler.h"
#include "ffi/types.h"
#include "runtime/buffer.h"
#include "runtime/client.h"

/// threads: safe
typedef struct hlo_loaded hlo_loaded_t;

/// Binds `executable` (retained) to devices of this client in the order [replica][partition];
/// device_ids NULL: the first devices.
/// errors: INVALID_ARGUMENT (too many or unknown devices, unknown memory kinds)
hlo_status_t hlo_loaded_create(hlo_client_t* client, hlo_executable_t* executable,
                               uint32_t device_id_count, const int32_t* device_ids,
                               hlo_loaded_t** out_loaded) HLO_MUST_USE;
hlo_loaded_t* hlo_loaded_retain(hlo_loaded_t* loaded);
/// Launches in flight continue.
void hlo_loaded_release(hlo_loaded_t* loaded);
/// Further launches return FAILED_PRECONDITION.
void hlo_loaded_delete(hlo_loaded_t* loaded);
bool hlo_loaded_is_deleted(hlo_loaded_t* loaded);
hlo_executable_t* hlo_loaded_executable(const hlo_loaded_t* loaded);
uint32_t hlo_loaded_device_count(const hlo_loaded_t* loaded);
hlo_device_t* hlo_loaded_device(const hlo_loaded_t* loaded, uint32_t index);
/// Returns the required memory space of an argument on the device of this index.
hlo_memory_t* hlo_loaded_argument_memory(const hlo_loaded_t* loaded, uint32_t index,
                                         uint32_t argument);

/// One launch on all devices of the executable, or a portable one on a single device.
typedef struct hlo_launch {
  uint32_t device_count;                  // rows of the lists
  hlo_buffer_t* const* const* arguments;  // [device][argument]
  uint32_t argument_count;
  uint32_t non_donatable_count;  // arguments that must not be donated in this call
  const int64_t* non_donatable;
  int32_t launch_id;                     // for hlo_launch_poison(); 0: none
  const char* call_location;             // in the application, for explanations; NULL: unknown
  hlo_device_t* device;                  // of a portable launch with one row; else NULL
  const hlo_ffi_user_data_t* user_data;  // for foreign functions: the list is copied, its
                                         // objects are lent until the runs have ended; NULL: none
  /// [device][result]: buffers whose memory the results take, of their size and memory space. They
  /// are donated. NULL entries, or NULL: the results have memory of their own, or of arguments.
  hlo_buffer_t* const* const* replaced;
  hlo_buffer_t** const* out_results;  // [device][result], filled with new buffers
  hlo_event_t** out_events;           // [device], may be NULL: ready when the run has ended
} hlo_launch_t;

/// Checks the launch on all devices, then starts it on all or none. Results exist at once; they
/// carry run-time errors.
/// errors: INVALID_ARGUMENT (counts, types, memories, deleted or twice donated buffers),
///         FAILED_PRECONDITION (deleted executable, forked process, memory of `replaced` that must
///         not be overwritten), RESOURCE_EXHAUSTED
hlo_status_t hlo_loaded_execute(hlo_loaded_t* loaded, const hlo_launch_t* launch) HLO_MUST_USE;

/// Poisons the earliest unfinished run with this launch_id on the device: its results become
/// errors, the run stops at its next loop or collective, and runs that wait for it in a collective
/// fail. Takes `error`. Returns false if no such run exists. threads: safe
bool hlo_launch_poison(hlo_device_t* device, int32_t launch_id, hlo_status_t error);
