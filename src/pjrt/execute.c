// SPDX-License-Identifier: Apache-2.0
// Launches: translates the framework's lists of buffers to the runtime's and back.
#include "pjrt/objects.h"

/// Translated lists. Small launches, the usual ones, need no heap memory.
typedef struct lists {
  hlo_buffer_t** arguments;  // [device][argument]
  hlo_buffer_t** results;    // [device][result]
  PJRT_Buffer** shells;      // [device][result], for the results
  hlo_buffer_t* const** argument_rows;
  hlo_buffer_t*** result_rows;
  void* heap;  // NULL if `small` is enough
  void* small[96];
} lists_t;

static hlo_status_t open_lists(size_t devices, size_t arguments, size_t results, lists_t* lists) {
  size_t argument_words, result_words, words, bytes;
  if (!hlo_size_mul(devices, arguments + 1, &argument_words) ||
      !hlo_size_mul(devices, 2 * results + 1, &result_words) ||
      !hlo_size_add(argument_words, result_words, &words) ||
      !hlo_size_mul(words, sizeof(void*), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  const bool is_small = bytes <= sizeof lists->small;
  lists->heap = is_small ? NULL : hlo_mem_alloc(bytes);
  void** at = is_small ? lists->small : lists->heap;
  if (at == NULL) return hlo_status_out_of_memory(bytes);
  memset(at, 0, bytes);
  lists->arguments = (hlo_buffer_t**)at;
  lists->results = lists->arguments + devices * arguments;
  lists->shells = (PJRT_Buffer**)(lists->results + devices * results);
  lists->argument_rows = (hlo_buffer_t* const**)(lists->shells + devices * results);
  lists->result_rows = (hlo_buffer_t***)(lists->argument_rows + devices);
  for (size_t d = 0; d < devices; ++d) {
    lists->argument_rows[d] = lists->arguments + d * arguments;
    lists->result_rows[d] = lists->results + d * results;
  }
  return hlo_ok();
}

static hlo_status_t translate_arguments(const PJRT_LoadedExecutable_Execute_Args* args,
                                        lists_t* lists) {
  for (size_t d = 0; d < args->num_devices; ++d) {
    for (size_t i = 0; i < args->num_args; ++i) {
      const PJRT_Buffer* buffer = args->argument_lists[d][i];
      if (buffer == NULL) return hlo_invalid_argument("argument %zu of device %zu is null", i, d);
      lists->arguments[d * args->num_args + i] = buffer->buffer;
    }
  }
  return hlo_ok();
}

/// Everything that could fail after the launch is done before.
static hlo_status_t reserve_shells(const PJRT_LoadedExecutable* loaded, size_t devices,
                                   lists_t* lists) {
  const hlo_executable_t* executable = hlo_loaded_executable(loaded->loaded);
  for (size_t d = 0; d < devices; ++d) {
    for (uint32_t i = 0; i < executable->result_count; ++i) {
      HLO_TRY(hlo_pjrt_buffer_reserve(loaded->client,
                                      &lists->shells[d * executable->result_count + i]));
    }
  }
  return hlo_ok();
}

/// True if the tasks are more than this process, which is task 0.
static bool has_other_tasks(const PJRT_ExecuteOptions* options) {
  return options->num_tasks > 1 ||
         (options->num_tasks == 1 && options->task_ids != NULL && options->task_ids[0] != 0);
}

/// Refuses options that ask for more than hlocc has. Those that are neither here nor in launch()
/// mean nothing: incarnation_ids of one task, use_major_to_minor_data_layout_for_callbacks without
/// them.
static hlo_status_t check_options(const PJRT_ExecuteOptions* options) {
  const struct {
    bool is_asked;
    const char* field;
    const char* why;
  } rows[] = {
      {options->num_send_ops != 0, "send_callbacks", "host callbacks arrive as FFI calls"},
      {options->num_recv_ops != 0, "recv_callbacks", "host callbacks arrive as FFI calls"},
      {has_other_tasks(options), "task_ids", "a program runs in one process"},
      {options->multi_slice_config != NULL, "multi_slice_config", "there are no slices"},
      {options->num_hlo_output_callbacks != 0, "hlo_output_callbacks",
       "values inside of programs cannot be observed"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!rows[i].is_asked) continue;
    return hlo_unimplemented("execute option %s is not supported: %s", rows[i].field, rows[i].why);
  }
  if (options->num_non_donatable_input_indices != 0 &&
      options->non_donatable_input_indices == NULL) {
    return hlo_invalid_argument("execute option non_donatable_input_indices is null, expected %zu",
                                options->num_non_donatable_input_indices);
  }
  return hlo_ok();
}

/// Copies the options that the caller knows; later fields are zero.
static hlo_status_t read_options(const PJRT_ExecuteOptions* given, PJRT_ExecuteOptions* out) {
  memset(out, 0, sizeof *out);
  if (given == NULL) return hlo_ok();
  memcpy(out, given, given->struct_size < sizeof *out ? given->struct_size : sizeof *out);
  return check_options(out);
}

static hlo_status_t launch(const PJRT_LoadedExecutable_Execute_Args* args,
                           const PJRT_ExecuteOptions* options, lists_t* lists) {
  HLO_TRY(translate_arguments(args, lists));
  HLO_TRY(reserve_shells(args->executable, args->num_devices, lists));
  const hlo_launch_t request = {
      .device_count = (uint32_t)args->num_devices,
      .arguments = lists->argument_rows,
      .argument_count = (uint32_t)args->num_args,
      .non_donatable_count = (uint32_t)options->num_non_donatable_input_indices,
      .non_donatable = options->non_donatable_input_indices,
      .launch_id = options->launch_id,
      .call_location = options->call_location,
      .device = args->execute_device != NULL ? args->execute_device->device : NULL,
      .user_data = options->context != NULL ? &options->context->user_data : NULL,
      .out_results = lists->result_rows,
      .out_events = (hlo_event_t**)args->device_complete_events,
  };
  return hlo_loaded_execute(args->executable->loaded, &request);
}

hlo_status_t hlo_pjrt_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  PJRT_ExecuteOptions options;
  HLO_TRY(read_options(args->options, &options));
  const size_t results = hlo_loaded_executable(args->executable->loaded)->result_count;
  lists_t lists;
  HLO_TRY(open_lists(args->num_devices, args->num_args, results, &lists));
  hlo_status_t status = launch(args, &options, &lists);
  for (size_t d = 0; d < args->num_devices; ++d) {
    for (size_t i = 0; i < results; ++i) {
      PJRT_Buffer* shell = lists.shells[d * results + i];
      if (hlo_status_is_ok(status)) {
        shell->buffer = lists.results[d * results + i];
        args->output_lists[d][i] = shell;
      } else {
        hlo_pjrt_buffer_release(shell);
      }
    }
  }
  hlo_mem_free(lists.heap);
  return status;
}

// --- Contexts ------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args* args) {
  args->context = hlo_mem_alloc_zeroed(sizeof *args->context);
  return args->context != NULL ? hlo_ok() : hlo_status_out_of_memory(sizeof *args->context);
}

hlo_status_t hlo_pjrt_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  if (args->context != NULL) hlo_ffi_user_data_deinit(&args->context->user_data);
  hlo_mem_free(args->context);
  return hlo_ok();
}
