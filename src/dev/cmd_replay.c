// SPDX-License-Identifier: Apache-2.0
// hlocc-dev replay: repeats a launch dumped by HLOCC_DUMP=launches, on a client like that of PJRT.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/shape.h"
#include "cli/value.h"
#include "compiler/compile_options.h"
#include "dev/dev.h"
#include "runtime/capture.h"

typedef struct replay {
  const hlo_cli_t* cli;
  hlo_arena_t arena;
  uint8_t* options;  // as dumped; may be NULL
  size_t options_bytes;
  hlo_compile_options_t compile_options;  // parsed from `options`
  hlo_client_t* client;
  hlo_loaded_t* loaded;
  const hlo_executable_t* executable;  // of `loaded`
  uint32_t device_count;
  hlo_buffer_t*** arguments;  // [device][argument]
  hlo_buffer_t*** results;    // [device][result]
  hlo_event_t** ends;         // [device]
} replay_t;

// Reads a file of the folder. owner: caller, hlo_mem_free()
static hlo_status_t read_file(const replay_t* r, const char* name, uint8_t** out_bytes,
                              size_t* out_size_bytes) {
  HLO_SCOPED_STRBUF path = {0};
  hlo_strbuf_printf(&path, "%s/%s", r->cli->file, name);
  HLO_TRY(hlo_strbuf_status(&path));
  return hlo_os_file_read(hlo_strbuf_text(&path), 0, out_bytes, out_size_bytes);
}

// Programs of the C interface have no options and row-major arguments.
static hlo_status_t read_options(replay_t* r, hlo_compile_config_t* config) {
  hlo_status_t status = read_file(r, HLO_CAPTURE_OPTIONS, &r->options, &r->options_bytes);
  if (hlo_status_code(status) == HLO_STATUS_NOT_FOUND) {
    hlo_status_release(status);
    return hlo_ok();
  }
  HLO_TRY(status);
  HLO_TRY(hlo_compile_options_parse(r->options, r->options_bytes, &r->arena, &r->compile_options));
  hlo_compile_options_apply(&r->compile_options, config);
  return hlo_ok();
}

static hlo_status_t load(replay_t* r, hlo_compile_config_t* config) {
  const hlo_cli_t* cli = r->cli;
  const uint32_t count = (uint32_t)(config->replica_count * config->partition_count);
  hlo_client_options_t options;
  hlo_client_options_read(&cli->config, &cli->observer, &options);
  options.device_count = count;
  HLO_TRY(hlo_client_create(&options, &r->client));
  config->cache = cli->cache;
  config->parallel = hlo_client_parallel(r->client);
  hlo_executable_t* executable = NULL;
  uint8_t* bytes = NULL;
  size_t size_bytes = 0;
  HLO_TRY(read_file(r, HLO_CAPTURE_PROGRAM, &bytes, &size_bytes));
  hlo_status_t status = hlo_compile(bytes, size_bytes, cli->file, config, r->options,
                                    r->options_bytes, NULL, &executable);
  hlo_mem_free(bytes);
  if (hlo_status_is_ok(status)) {
    status = hlo_loaded_create(r->client, executable, 0, NULL, &r->loaded);
  }
  r->executable = executable;
  r->device_count = count;
  hlo_executable_release(executable);
  return status;
}

static hlo_status_t make_lists(replay_t* r) {
  r->arguments = hlo_arena_array(&r->arena, r->device_count, sizeof *r->arguments);
  r->results = hlo_arena_array(&r->arena, r->device_count, sizeof *r->results);
  r->ends = hlo_arena_array(&r->arena, r->device_count, sizeof *r->ends);
  HLO_TRY(hlo_arena_status(&r->arena));
  for (uint32_t d = 0; d < r->device_count; ++d) {
    r->arguments[d] =
        hlo_arena_array(&r->arena, r->executable->argument_count + 1, sizeof **r->arguments);
    r->results[d] =
        hlo_arena_array(&r->arena, r->executable->result_count + 1, sizeof **r->results);
  }
  return hlo_arena_status(&r->arena);
}

// Creates a buffer whose bytes in device memory are these.
static hlo_status_t from_device_bytes(hlo_memory_t* memory, const hlo_buffer_shape_t* shape,
                                      const void* bytes, hlo_buffer_t** out_buffer) {
  int64_t strides[HLO_SHAPE_RANK_LIMIT];
  hlo_dim_order_strides(hlo_dtype_size_bytes(shape->dtype), shape->rank, shape->dims,
                        shape->minor_to_major, strides);
  return hlo_buffer_from_host(memory, shape, bytes, strides, HLO_HOST_IMMUTABLE_ONLY_DURING_CALL,
                              NULL, out_buffer);
}

static hlo_status_t make_argument(replay_t* r, uint32_t row, uint32_t i) {
  const hlo_signature_entry_t* entry = &r->executable->arguments[i];
  hlo_memory_t* memory = hlo_loaded_argument_memory(r->loaded, row, i);
  hlo_buffer_shape_t shape = {.dtype = entry->dtype,
                              .rank = entry->rank,
                              .dims = entry->dims,
                              .minor_to_major = entry->minor_to_major};
  char name[sizeof HLO_CAPTURE_ARGUMENT + 20];
  snprintf(name, sizeof name, HLO_CAPTURE_ARGUMENT, row, i);
  uint8_t* bytes = NULL;
  size_t size_bytes = 0;
  HLO_TRY(read_file(r, name, &bytes, &size_bytes));
  hlo_status_t status = hlo_ok();
  if (size_bytes != entry->size_bytes) {
    status = hlo_invalid_argument("%s/%s: error: found %zu bytes, expected %zu", r->cli->file, name,
                                  size_bytes, entry->size_bytes);
  }
  if (hlo_status_is_ok(status)) {
    status = from_device_bytes(memory, &shape, bytes, &r->arguments[row][i]);
  }
  hlo_mem_free(bytes);
  return status;
}

static hlo_status_t make_arguments(replay_t* r) {
  for (uint32_t d = 0; d < r->device_count; ++d) {
    for (uint32_t i = 0; i < r->executable->argument_count; ++i) HLO_TRY(make_argument(r, d, i));
  }
  return hlo_ok();
}

// Runs to the end on all devices; returns the first error.
static hlo_status_t launch(replay_t* r) {
  hlo_launch_t call = {.device_count = r->device_count,
                       .arguments = (hlo_buffer_t* const* const*)r->arguments,
                       .argument_count = r->executable->argument_count,
                       .out_results = r->results,
                       .out_events = r->ends};
  HLO_TRY(hlo_loaded_execute(r->loaded, &call));
  hlo_status_t first = hlo_ok();
  for (uint32_t d = 0; d < r->device_count; ++d) {
    hlo_status_t status = hlo_event_await(r->ends[d], UINT64_MAX);
    hlo_event_release(r->ends[d]);
    hlo_status_keep_first(&first, status);
  }
  return first;
}

static hlo_status_t print_result(const replay_t* r, uint32_t row, uint32_t i, hlo_strbuf_t* out) {
  const hlo_signature_entry_t* entry = &r->executable->results[i];
  hlo_tensor_t* tensor = NULL;
  hlo_event_t* done = NULL;
  hlo_status_t status = hlo_ok();
  if (!entry->is_token) {
    HLO_TRY(hlo_tensor_create(entry->dtype, entry->rank, entry->dims, &tensor));
    status = hlo_buffer_to_host(r->results[row][i], tensor->data, tensor->size_bytes, NULL, &done);
    if (hlo_status_is_ok(status)) status = hlo_event_await(done, UINT64_MAX);
    hlo_event_release(done);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_cli_result_print(tensor, r->device_count, row, i, out);
  }
  hlo_tensor_release(tensor);
  return status;
}

static hlo_status_t replay(replay_t* r, hlo_strbuf_t* out) {
  hlo_compile_config_t config;
  hlo_compile_config_read(&r->cli->config, &r->cli->observer, &config);
  HLO_TRY(read_options(r, &config));
  HLO_TRY(load(r, &config));
  HLO_TRY(make_lists(r));
  HLO_TRY(make_arguments(r));
  HLO_TRY(launch(r));
  for (uint32_t d = 0; r->cli->print && d < r->device_count; ++d) {
    for (uint32_t i = 0; i < r->executable->result_count; ++i) {
      HLO_TRY(print_result(r, d, i, out));
    }
  }
  return hlo_ok();
}

static void release_row(hlo_buffer_t** row, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (row[i]) hlo_buffer_release(row[i]);
  }
}

hlo_status_t hlo_dev_cmd_replay(hlo_cli_t* cli, hlo_strbuf_t* out) {
  replay_t r = {.cli = cli};
  hlo_arena_init(&r.arena, 0);
  hlo_status_t status = replay(&r, out);
  for (uint32_t d = 0; d < r.device_count && r.arguments && r.results; ++d) {
    if (r.arguments[d]) release_row(r.arguments[d], r.executable->argument_count);
    if (r.results[d]) release_row(r.results[d], r.executable->result_count);
  }
  hlo_loaded_release(r.loaded);
  hlo_client_release(r.client);
  hlo_mem_free(r.options);
  hlo_arena_deinit(&r.arena);
  return status;
}
