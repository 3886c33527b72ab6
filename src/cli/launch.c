// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include "base/mem.h"

static hlo_status_t make_lists(hlo_cli_launch_t* launch) {
  const size_t devices = launch->device_count;
  const size_t arguments = launch->executable->argument_count;
  const size_t results = launch->executable->result_count;
  launch->arguments = hlo_mem_alloc_zeroed((devices * arguments + 1) * sizeof(void*));
  launch->results = hlo_mem_alloc_zeroed((devices * results + 1) * sizeof(void*));
  launch->events = hlo_mem_alloc_zeroed(devices * sizeof(void*));
  launch->argument_rows = hlo_mem_alloc_zeroed(devices * sizeof(void*));
  launch->result_rows = hlo_mem_alloc_zeroed(devices * sizeof(void*));
  launch->kept = hlo_mem_alloc_zeroed((arguments + 1) * sizeof *launch->kept);
  if (!launch->arguments || !launch->results || !launch->events || !launch->argument_rows ||
      !launch->result_rows || !launch->kept) {
    return hlo_status_out_of_memory(devices * (arguments + results) * sizeof(void*));
  }
  for (size_t i = 0; i < arguments; ++i) launch->kept[i] = (int64_t)i;
  for (size_t d = 0; d < devices; ++d) {
    launch->argument_rows[d] = launch->arguments + d * arguments;
    launch->result_rows[d] = launch->results + d * results;
  }
  return hlo_ok();
}

hlo_status_t hlo_cli_launch_init(hlo_cli_launch_t* launch, hlo_client_t* client,
                                 hlo_executable_t* executable) {
  *launch = (hlo_cli_launch_t){.client = client, .executable = executable};
  HLO_TRY(hlo_loaded_create(client, executable, 0, NULL, &launch->loaded));
  launch->device_count = hlo_loaded_device_count(launch->loaded);
  hlo_status_t status = make_lists(launch);
  if (!hlo_status_is_ok(status)) hlo_cli_launch_deinit(launch);
  return status;
}

void hlo_cli_launch_drop_results(hlo_cli_launch_t* launch) {
  if (!launch->results) return;
  const size_t count = (size_t)launch->device_count * launch->executable->result_count;
  for (size_t i = 0; i < count; ++i) {
    hlo_buffer_release(launch->results[i]);
    launch->results[i] = NULL;
  }
}

void hlo_cli_launch_deinit(hlo_cli_launch_t* launch) {
  hlo_cli_launch_drop_results(launch);
  if (launch->arguments) {
    const size_t count = (size_t)launch->device_count * launch->executable->argument_count;
    for (size_t i = 0; i < count; ++i) hlo_buffer_release(launch->arguments[i]);
  }
  hlo_mem_free(launch->arguments);
  hlo_mem_free(launch->results);
  hlo_mem_free(launch->events);
  hlo_mem_free(launch->argument_rows);
  hlo_mem_free(launch->result_rows);
  hlo_mem_free(launch->kept);
  hlo_loaded_release(launch->loaded);
  *launch = (hlo_cli_launch_t){0};
}

hlo_status_t hlo_cli_launch_set(hlo_cli_launch_t* launch, uint32_t device, uint32_t i,
                                const void* data) {
  const hlo_signature_entry_t* entry = &launch->executable->arguments[i];
  hlo_buffer_t** argument = &launch->arguments[device * launch->executable->argument_count + i];
  const hlo_buffer_shape_t shape = {.dtype = entry->dtype,
                                    .rank = entry->rank,
                                    .dims = entry->dims,
                                    .minor_to_major = entry->minor_to_major};
  const size_t size_bytes = (size_t)entry->element_count * hlo_dtype_size_bytes(entry->dtype);
  void* zeros = data ? NULL : hlo_mem_alloc_zeroed(size_bytes + 1);
  if (!data && !zeros) return hlo_status_out_of_memory(size_bytes);
  hlo_buffer_release(*argument);
  *argument = NULL;
  hlo_status_t status = hlo_buffer_from_host(hlo_loaded_argument_memory(launch->loaded, device, i),
                                             &shape, data ? data : zeros, NULL,
                                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, argument);
  hlo_mem_free(zeros);
  return status;
}

hlo_status_t hlo_cli_launch_run(hlo_cli_launch_t* launch) {
  hlo_cli_launch_drop_results(launch);
  const uint32_t argument_count = launch->executable->argument_count;
  HLO_TRY(hlo_loaded_execute(launch->loaded, &(hlo_launch_t){.device_count = launch->device_count,
                                                             .arguments = launch->argument_rows,
                                                             .argument_count = argument_count,
                                                             .non_donatable_count = argument_count,
                                                             .non_donatable = launch->kept,
                                                             .out_results = launch->result_rows,
                                                             .out_events = launch->events}));
  hlo_status_t status = hlo_ok();
  for (uint32_t d = 0; d < launch->device_count; ++d) {
    hlo_status_t own = hlo_event_await(launch->events[d], UINT64_MAX);
    hlo_event_release(launch->events[d]);
    if (hlo_status_is_ok(status)) {
      status = own;
    } else {
      hlo_status_release(own);
    }
  }
  return status;
}

hlo_status_t hlo_cli_launch_get(const hlo_cli_launch_t* launch, uint32_t device, uint32_t i,
                                void* data, size_t size_bytes) {
  hlo_event_t* done = NULL;
  HLO_TRY(hlo_buffer_to_host(launch->result_rows[device][i], data, size_bytes, NULL, &done));
  hlo_status_t status = hlo_event_await(done, UINT64_MAX);
  hlo_event_release(done);
  return status;
}
