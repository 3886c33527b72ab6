// SPDX-License-Identifier: Apache-2.0
// Programs of the public C API: loading and signatures.
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "capi/capi_impl.h"
#include "compiler/signature.h"
#include "frontend/frontend.h"

const char* hlocc_type_name(hlocc_type_t type) {
  return hlo_dtype_info(hlo_dtype_from_pjrt((int32_t)type))->hlo_name;
}

static hlo_status_t check_signature(const hlo_executable_t* compiled) {
  for (uint32_t i = 0; i < compiled->argument_count; ++i) {
    if (compiled->arguments[i].is_token) return hlo_unimplemented("argument %u is a token", i);
  }
  for (uint32_t i = 0; i < compiled->result_count; ++i) {
    if (compiled->results[i].is_token) return hlo_unimplemented("result %u is a token", i);
  }
  return hlo_ok();
}

// Returns all faults found, with the code of `status` (taken).
static hlo_status_t with_faults(hlo_status_t status, const hlo_diag_t* diag) {
  hlo_status_t all = hlo_diag_status(diag);
  if (hlo_status_is_ok(status) || hlo_status_is_ok(all)) {
    hlo_status_release(all);
    return status;
  }
  hlo_status_t result = hlo_status_create(hlo_status_code(status), "%s", hlo_status_message(all));
  hlo_status_release(all);
  hlo_status_release(status);
  return result;
}

static hlo_status_t compile(const void* bytes, size_t size_bytes, const char* name,
                            const hlo_compile_config_t* config, hlo_executable_t** out) {
  hlo_format_t format = hlo_frontend_sniff(bytes, size_bytes);
  bool is_text = format == HLO_FORMAT_MLIR_TEXT || format == HLO_FORMAT_HLO_TEXT;
  hlo_diag_t diag;
  hlo_diag_init(&diag, name, is_text ? bytes : NULL, is_text ? size_bytes : 0);
  hlo_status_t status = hlo_compile(bytes, size_bytes, name, config, NULL, 0, &diag, out);
  status = with_faults(status, &diag);
  hlo_diag_deinit(&diag);
  return status;
}

static hlo_status_t load(hlocc_client_t* client, const void* bytes, size_t size_bytes,
                         const char* path, const hlocc_compile_options_t* given,
                         hlocc_executable_t* executable) {
  hlocc_compile_options_t options;
  HLO_TRY(hlo_capi_options(&options, sizeof options, given));
  hlo_compile_config_t config;
  hlo_compile_config_read(&client->config, &client->observer, &config);
  config.cache = client->cache;
  config.parallel = hlo_client_parallel(client->client);
  if (options.replica_count > INT32_MAX) options.replica_count = INT32_MAX;
  if (options.replica_count) config.replica_count = (int32_t)options.replica_count;
  if (options.partition_count > INT32_MAX) options.partition_count = INT32_MAX;
  if (options.partition_count) config.partition_count = (int32_t)options.partition_count;
  config.donated = options.donated;
  config.donated_count = options.donated_count;
  const char* name = options.file_name ? options.file_name : path;
  hlo_executable_t* compiled = NULL;
  HLO_TRY(compile(bytes, size_bytes, name, &config, &compiled));
  hlo_status_t status = check_signature(compiled);
  if (hlo_status_is_ok(status)) {
    status = hlo_loaded_create(client->client, compiled, 0, NULL, &executable->loaded);
  }
  hlo_executable_release(compiled);
  HLO_TRY(status);
  executable->compiled = hlo_loaded_executable(executable->loaded);
  executable->client = hlo_capi_client_retain(client);
  return hlo_ok();
}

static hlocc_error_t* load_named(hlocc_client_t* client, const void* bytes, size_t size_bytes,
                                 const char* path, const hlocc_compile_options_t* options,
                                 hlocc_executable_t** out_executable) {
  hlocc_executable_t* executable = hlo_mem_alloc_zeroed(sizeof *executable);
  if (!executable) return hlo_capi_error(hlo_status_out_of_memory(sizeof *executable));
  hlo_status_t status = load(client, bytes, size_bytes, path, options, executable);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(executable);
    return hlo_capi_error(status);
  }
  *out_executable = executable;
  return NULL;
}

hlocc_error_t* hlocc_executable_load(hlocc_client_t* client, const void* bytes, size_t size_bytes,
                                     const hlocc_compile_options_t* options,
                                     hlocc_executable_t** out_executable) {
  return load_named(client, bytes, size_bytes, "<input>", options, out_executable);
}

hlocc_error_t* hlocc_executable_load_file(hlocc_client_t* client, const char* path,
                                          const hlocc_compile_options_t* options,
                                          hlocc_executable_t** out_executable) {
  uint8_t* bytes;
  size_t size_bytes;
  hlo_status_t status = hlo_os_file_read(path, 0, &bytes, &size_bytes);
  if (!hlo_status_is_ok(status)) return hlo_capi_error(status);
  hlocc_error_t* error = load_named(client, bytes, size_bytes, path, options, out_executable);
  hlo_mem_free(bytes);
  return error;
}

void hlocc_executable_free(hlocc_executable_t* executable) {
  if (!executable) return;
  hlo_loaded_release(executable->loaded);
  hlocc_client_free(executable->client);
  hlo_mem_free(executable);
}

static hlocc_shape_t shape_of(uint32_t count, const hlo_signature_entry_t* entries,
                              uint32_t index) {
  if (index >= count) return (hlocc_shape_t){0};
  const hlo_signature_entry_t* entry = &entries[index];
  size_t element_bytes = hlo_dtype_size_bytes(entry->dtype);
  const hlo_memory_kind_t kind =
      hlo_memory_kind_from_name(entry->memory_kind, strlen(entry->memory_kind));
  return (hlocc_shape_t){.type = (hlocc_type_t)hlo_dtype_info(entry->dtype)->pjrt_type,
                         .rank = entry->rank,
                         .dims = entry->dims,
                         .element_count = entry->element_count,
                         .size_bytes = (size_t)entry->element_count * element_bytes,
                         .memory = (hlocc_memory_kind_t)kind};
}

uint32_t hlocc_executable_device_count(const hlocc_executable_t* executable) {
  return hlo_loaded_device_count(executable->loaded);
}

uint32_t hlocc_executable_argument_count(const hlocc_executable_t* executable) {
  return executable->compiled->argument_count;
}

uint32_t hlocc_executable_result_count(const hlocc_executable_t* executable) {
  return executable->compiled->result_count;
}

hlocc_shape_t hlocc_executable_argument(const hlocc_executable_t* executable, uint32_t index) {
  const hlo_executable_t* compiled = executable->compiled;
  return shape_of(compiled->argument_count, compiled->arguments, index);
}

hlocc_shape_t hlocc_executable_result(const hlocc_executable_t* executable, uint32_t index) {
  const hlo_executable_t* compiled = executable->compiled;
  return shape_of(compiled->result_count, compiled->results, index);
}

static hlo_status_t find_part(const hlocc_executable_t* executable, const char* role,
                              uint32_t count, const hlo_signature_entry_t* entries, uint32_t index,
                              uint32_t device, int64_t* out_offsets, int64_t* out_dims) {
  const uint32_t device_count = hlocc_executable_device_count(executable);
  if (index >= count) return hlo_invalid_argument("%s %u of %u", role, index, count);
  if (device >= device_count) {
    return hlo_invalid_argument("device %u of a program on %u devices", device, device_count);
  }
  const uint32_t partition = device % (uint32_t)executable->compiled->config.partition_count;
  return hlo_signature_part(&entries[index], partition, out_offsets, out_dims);
}

hlocc_error_t* hlocc_executable_argument_part(const hlocc_executable_t* executable, uint32_t index,
                                              uint32_t device, int64_t* out_offsets,
                                              int64_t* out_dims) {
  const hlo_executable_t* compiled = executable->compiled;
  return hlo_capi_error(find_part(executable, "argument", compiled->argument_count,
                                  compiled->arguments, index, device, out_offsets, out_dims));
}

hlocc_error_t* hlocc_executable_result_part(const hlocc_executable_t* executable, uint32_t index,
                                            uint32_t device, int64_t* out_offsets,
                                            int64_t* out_dims) {
  const hlo_executable_t* compiled = executable->compiled;
  return hlo_capi_error(find_part(executable, "result", compiled->result_count, compiled->results,
                                  index, device, out_offsets, out_dims));
}

bool hlocc_executable_is_donated(const hlocc_executable_t* executable, uint32_t argument) {
  const hlo_executable_t* compiled = executable->compiled;
  if (argument >= compiled->argument_count) return false;
  return compiled->arguments[argument].alias >= 0 || compiled->arguments[argument].is_donor;
}
