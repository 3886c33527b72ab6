// SPDX-License-Identifier: Apache-2.0
// An executable on all of its devices: a client of virtual devices, arguments, launches that are
// awaited, results.
#pragma once

#include "runtime/executable.h"

/// owner: caller, hlo_cli_launch_deinit(). threads: confined
typedef struct hlo_cli_launch {
  hlo_client_t* client;  // lent
  hlo_loaded_t* loaded;
  const hlo_executable_t* executable;
  uint32_t device_count;
  hlo_buffer_t** arguments;  // [device][argument]
  hlo_buffer_t** results;    // [device][result], of the last run
  hlo_event_t** events;      // [device]
  hlo_buffer_t* const** argument_rows;
  hlo_buffer_t*** result_rows;
  int64_t* kept;  // the numbers of all arguments, which no run takes
} hlo_cli_launch_t;

/// Loads `executable` (retained) on the first devices of the client.
/// errors : those of hlo_loaded_create()
hlo_status_t hlo_cli_launch_init(hlo_cli_launch_t* launch, hlo_client_t* client,
                                 hlo_executable_t* executable) HLO_MUST_USE;
/// Releases everything but the client. A zeroed launch is allowed.
void hlo_cli_launch_deinit(hlo_cli_launch_t* launch);
/// Copies argument `i` of a device: row-major elements; data NULL: zeros.
hlo_status_t hlo_cli_launch_set(hlo_cli_launch_t* launch, uint32_t device, uint32_t i,
                                const void* data) HLO_MUST_USE;
/// Runs on all devices and waits for them. Arguments stay. errors: the first device's that failed
hlo_status_t hlo_cli_launch_run(hlo_cli_launch_t* launch) HLO_MUST_USE;
/// Copies the row-major elements of result `i` of a device to `data`.
hlo_status_t hlo_cli_launch_get(const hlo_cli_launch_t* launch, uint32_t device, uint32_t i,
                                void* data, size_t size_bytes) HLO_MUST_USE;
/// Frees the results of the last run.
void hlo_cli_launch_drop_results(hlo_cli_launch_t* launch);
