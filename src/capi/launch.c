// SPDX-License-Identifier: Apache-2.0
// Launches of the public C API: on buffers, and on arrays of the caller.
#include "base/mem.h"
#include "capi/capi_impl.h"

// The lists of one launch, in one arena.
typedef struct launch {
  hlo_arena_t arena;
  uint32_t device_count, argument_count, result_count;
  hlo_buffer_t** arguments;  // [device * argument_count + argument]
  hlo_buffer_t** results;
  hlo_buffer_t*** argument_rows;
  hlo_buffer_t*** result_rows;
  hlo_buffer_t*** replaced_rows;  // as result_rows, of a launch that names outputs
  hlo_event_t** ends;             // [device]
  hlo_event_t** copied;           // as results, of a run on arrays
  hlocc_buffer_t** made;          // as results, of a launch on buffers
} launch_t;

static void init_launch(const hlocc_executable_t* executable, launch_t* launch) {
  *launch = (launch_t){.device_count = hlo_loaded_device_count(executable->loaded),
                       .argument_count = executable->compiled->argument_count,
                       .result_count = executable->compiled->result_count};
  hlo_arena_init(&launch->arena, 0);
}

static hlo_status_t make_lists(launch_t* launch) {
  hlo_arena_t* arena = &launch->arena;
  const size_t rows = launch->device_count;
  launch->arguments = hlo_arena_array(arena, rows * launch->argument_count, sizeof(void*));
  launch->results = hlo_arena_array(arena, rows * launch->result_count, sizeof(void*));
  launch->argument_rows = hlo_arena_array(arena, rows, sizeof(void*));
  launch->result_rows = hlo_arena_array(arena, rows, sizeof(void*));
  launch->ends = hlo_arena_array(arena, rows, sizeof(void*));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t row = 0; row < rows; ++row) {
    launch->argument_rows[row] = launch->arguments + (size_t)row * launch->argument_count;
    launch->result_rows[row] = launch->results + (size_t)row * launch->result_count;
  }
  return hlo_ok();
}

// The call of the runtime, without events.
static hlo_launch_t runtime_launch(const launch_t* launch) {
  return (hlo_launch_t){.device_count = launch->device_count,
                        .arguments = (hlo_buffer_t* const* const*)launch->argument_rows,
                        .argument_count = launch->argument_count,
                        .out_results = launch->result_rows};
}

// ---- on buffers

static hlo_status_t take_arguments(launch_t* launch, hlocc_buffer_t* const* arguments) {
  for (uint32_t i = 0; i < launch->device_count * launch->argument_count; ++i) {
    const uint32_t argument = i % launch->argument_count;
    if (!arguments[i]) return hlo_invalid_argument("argument %u is null", argument);
    HLO_TRY_MSG(hlo_capi_buffer_check(arguments[i]), "argument %u", argument);
    launch->arguments[i] = arguments[i]->buffer;
  }
  return hlo_ok();
}

// Creates all that the caller gets, so that nothing can fail once the program runs.
static hlo_status_t reserve_outputs(launch_t* launch, hlocc_client_t* client,
                                    hlocc_event_t** out_event) {
  const uint32_t count = launch->device_count * launch->result_count;
  launch->made = hlo_arena_array(&launch->arena, count, sizeof(void*));
  HLO_TRY(hlo_arena_status(&launch->arena));
  for (uint32_t i = 0; i < count; ++i) {
    launch->made[i] = hlo_capi_buffer_reserve(client);
    if (!launch->made[i]) return hlo_status_out_of_memory(sizeof(hlocc_buffer_t));
  }
  if (!out_event) return hlo_ok();
  hlocc_event_t* event = hlo_capi_event_reserve(client);
  if (!event) return hlo_status_out_of_memory(sizeof *event);
  *out_event = event;
  if (launch->device_count == 1) return hlo_ok();
  event->event = hlo_event_create();
  return event->event ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
}

static hlo_status_t take_outputs(launch_t* launch, hlocc_buffer_t* const* outputs,
                                 hlo_launch_t* out_call) {
  hlo_arena_t* arena = &launch->arena;
  const size_t rows = launch->device_count, columns = launch->result_count;
  hlo_buffer_t** buffers = hlo_arena_array(arena, rows * columns, sizeof(void*));
  launch->replaced_rows = hlo_arena_array(arena, rows, sizeof(void*));
  HLO_TRY(hlo_arena_status(arena));
  for (size_t row = 0; row < rows; ++row) launch->replaced_rows[row] = buffers + row * columns;
  for (size_t i = 0; i < rows * columns; ++i) {
    buffers[i] = outputs[i] ? outputs[i]->buffer : NULL;
    if (!outputs[i]) continue;
    HLO_TRY_MSG(hlo_capi_buffer_check(outputs[i]), "memory for result %zu", i % columns);
  }
  out_call->replaced = (hlo_buffer_t* const* const*)launch->replaced_rows;
  return hlo_ok();
}

static hlo_status_t read_options(launch_t* launch, const hlocc_executable_t* executable,
                                 const hlocc_launch_options_t* given, hlo_launch_t* out_call) {
  hlocc_launch_options_t options;
  HLO_TRY(hlo_capi_options(&options, sizeof options, given));
  if (launch->device_count == 1) {
    HLO_TRY(hlo_capi_device(executable->client, options.device, &out_call->device));
  } else if (options.device) {
    return hlo_invalid_argument("a program of %u devices cannot run on device %u alone",
                                launch->device_count, options.device);
  }
  int64_t* kept = hlo_arena_array(&launch->arena, options.kept_count, sizeof *kept);
  HLO_TRY(hlo_arena_status(&launch->arena));
  for (uint32_t i = 0; i < options.kept_count; ++i) kept[i] = options.kept[i];
  out_call->non_donatable_count = options.kept_count;
  out_call->non_donatable = kept;
  return options.outputs ? take_outputs(launch, options.outputs, out_call) : hlo_ok();
}

// Gives the caller the results, and their event.
static void hand_over(launch_t* launch, hlocc_buffer_t** results, hlocc_event_t* event) {
  for (uint32_t i = 0; i < launch->device_count * launch->result_count; ++i) {
    launch->made[i]->buffer = launch->results[i];
    results[i] = launch->made[i];
  }
  if (!event) return;
  if (launch->device_count == 1) {
    event->event = launch->ends[0];
    return;
  }
  hlo_event_join(launch->ends, launch->device_count, event->event);
  for (uint32_t d = 0; d < launch->device_count; ++d) hlo_event_release(launch->ends[d]);
}

static hlo_status_t launch_buffers(launch_t* launch, const hlocc_executable_t* executable,
                                   hlocc_buffer_t* const* arguments,
                                   const hlocc_launch_options_t* options, hlocc_event_t** event) {
  HLO_TRY(make_lists(launch));
  HLO_TRY(take_arguments(launch, arguments));
  HLO_TRY(reserve_outputs(launch, executable->client, event));
  hlo_launch_t call = runtime_launch(launch);
  HLO_TRY(read_options(launch, executable, options, &call));
  if (event) call.out_events = launch->ends;
  return hlo_loaded_execute(executable->loaded, &call);
}

hlocc_error_t* hlocc_executable_launch(hlocc_executable_t* executable,
                                       hlocc_buffer_t* const* arguments,
                                       const hlocc_launch_options_t* options,
                                       hlocc_buffer_t** results, hlocc_event_t** out_event) {
  launch_t launch;
  init_launch(executable, &launch);
  hlocc_event_t* event = NULL;
  hlo_status_t status =
      launch_buffers(&launch, executable, arguments, options, out_event ? &event : NULL);
  if (hlo_status_is_ok(status)) {
    hand_over(&launch, results, event);
    if (out_event) *out_event = event;
  } else {
    for (uint32_t i = 0; launch.made && i < launch.device_count * launch.result_count; ++i) {
      hlocc_buffer_free(launch.made[i]);
    }
    hlocc_event_free(event);
  }
  hlo_arena_deinit(&launch.arena);
  return hlo_capi_error(status);
}

// ---- on arrays of the caller

// Makes an argument of an array, which is lent for the run if its address allows it: nothing uses
// it any more when the launch has ended, and programs do not overwrite it.
static hlo_status_t make_argument(hlo_memory_t* memory, const hlo_signature_entry_t* entry,
                                  const void* data, hlo_buffer_t** out_buffer) {
  const hlo_buffer_shape_t shape = {
      .dtype = entry->dtype, .rank = entry->rank, .dims = entry->dims};
  if (!data || (uintptr_t)data % HLOCC_ALIGNMENT != 0 || !memory->properties.accepts_host_memory) {
    return hlo_buffer_from_host(memory, &shape, data, NULL, HLO_HOST_IMMUTABLE_ONLY_DURING_CALL,
                                NULL, out_buffer);
  }
  hlo_storage_t* storage = NULL;
  HLO_TRY(hlo_storage_create_foreign(memory, (void*)data, entry->size_bytes, false, NULL, NULL,
                                     &storage));
  hlo_status_t status = hlo_buffer_create_over(memory, &shape, storage, NULL, out_buffer);
  hlo_storage_release(storage);
  return status;
}

static hlo_status_t make_arguments(launch_t* launch, const hlocc_executable_t* executable,
                                   const void* const* inputs) {
  for (uint32_t i = 0; i < launch->device_count * launch->argument_count; ++i) {
    const uint32_t argument = i % launch->argument_count;
    HLO_TRY(make_argument(
        hlo_loaded_argument_memory(executable->loaded, i / launch->argument_count, argument),
        &executable->compiled->arguments[argument], inputs[i], &launch->arguments[i]));
  }
  return hlo_ok();
}

// Waits for everything that was started and keeps the first error.
static void await(hlo_event_t* event, hlo_status_t* first) {
  if (!event) return;
  hlo_status_t status = hlo_event_await(event, UINT64_MAX);
  hlo_event_release(event);
  hlo_status_keep_first(first, status);
}

static hlo_status_t fetch_results(launch_t* launch, const hlocc_executable_t* executable,
                                  void* const* outputs) {
  hlo_status_t status = hlo_ok();
  uint32_t count = launch->device_count * launch->result_count;
  for (uint32_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    hlocc_shape_t shape = hlocc_executable_result(executable, i % launch->result_count);
    status = hlo_buffer_to_host(launch->results[i], outputs[i], shape.size_bytes, NULL,
                                &launch->copied[i]);
  }
  // Runs end before their copies and give the more precise error.
  hlo_status_t end = hlo_ok();
  for (uint32_t d = 0; d < launch->device_count; ++d) await(launch->ends[d], &end);
  for (uint32_t i = 0; i < count; ++i) await(launch->copied[i], &end);
  if (hlo_status_is_ok(end)) return status;
  hlo_status_release(status);
  return end;
}

static void drop_lists(launch_t* launch) {
  for (uint32_t i = 0; launch->arguments && i < launch->device_count * launch->argument_count;
       ++i) {
    if (launch->arguments[i]) hlo_buffer_release(launch->arguments[i]);
  }
  for (uint32_t i = 0; launch->results && i < launch->device_count * launch->result_count; ++i) {
    if (launch->results[i]) hlo_buffer_release(launch->results[i]);
  }
  hlo_arena_deinit(&launch->arena);
}

static hlo_status_t run(launch_t* launch, hlocc_executable_t* executable, const void* const* inputs,
                        void* const* outputs) {
  HLO_TRY(make_lists(launch));
  launch->copied = hlo_arena_array(
      &launch->arena, (size_t)launch->device_count * launch->result_count, sizeof(void*));
  HLO_TRY(hlo_arena_status(&launch->arena));
  HLO_TRY(make_arguments(launch, executable, inputs));
  hlo_launch_t call = runtime_launch(launch);
  call.out_events = launch->ends;
  HLO_TRY(hlo_loaded_execute(executable->loaded, &call));
  return fetch_results(launch, executable, outputs);
}

hlocc_error_t* hlocc_executable_run(hlocc_executable_t* executable, const void* const* inputs,
                                    void* const* outputs) {
  launch_t launch;
  init_launch(executable, &launch);
  hlo_status_t status = run(&launch, executable, inputs, outputs);
  drop_lists(&launch);
  return hlo_capi_error(status);
}
