// SPDX-License-Identifier: Apache-2.0
// Loaded programs: programs bound to the devices of a client, and their launches.
#include <inttypes.h>
#include <stdio.h>

#include "base/cpu.h"
#include "pjrt/objects.h"

// --- Loading -------------------------------------------------------------------------------------

static void destroy_loaded(PJRT_LoadedExecutable* shell) {
  if (shell == NULL) return;
  if (shell->loaded != NULL) {
    hlo_loaded_delete(shell->loaded);
    hlo_loaded_release(shell->loaded);
  }
  hlo_arena_deinit(&shell->arena);
  hlo_client_hold_end(shell->client->client);
  hlo_mem_free(shell);
}

/// Returns the devices in the options, or the first ones if the options name none.
static hlo_status_t bind_devices(PJRT_LoadedExecutable* shell, hlo_executable_t* executable,
                                 const hlo_compile_options_t* options) {
  const uint32_t processors = (uint32_t)(options->replica_count * options->partition_count);
  const int32_t* ids = options->portable ? NULL : options->device_assignment;
  if (ids == NULL && processors == 1 && options->device_ordinal >= 0) {
    ids = &options->device_ordinal;
  }
  return hlo_loaded_create(shell->client->client, executable, ids != NULL ? processors : 0, ids,
                           &shell->loaded);
}

static hlo_status_t fill_loaded(PJRT_LoadedExecutable* shell, hlo_executable_t* executable,
                                const hlo_compile_options_t* options) {
  HLO_TRY(bind_devices(shell, executable, options));
  shell->device_count = hlo_loaded_device_count(shell->loaded);
  shell->devices = hlo_arena_array(&shell->arena, shell->device_count, sizeof *shell->devices);
  shell->logical_ids =
      hlo_arena_array(&shell->arena, shell->device_count, sizeof *shell->logical_ids);
  HLO_TRY(hlo_arena_status(&shell->arena));
  const int partitions = executable->config.partition_count;
  for (uint32_t i = 0; i < shell->device_count; ++i) {
    shell->devices[i] = hlo_pjrt_device(shell->client, hlo_loaded_device(shell->loaded, i));
    shell->logical_ids[i] =
        (PJRT_LogicalDeviceIds){.replica = (int)i / partitions, .partition = (int)i % partitions};
  }
  snprintf(shell->fingerprint, sizeof shell->fingerprint, "%016" PRIx64,
           hlo_executable_fingerprint(executable));
  return hlo_ok();
}

hlo_status_t hlo_pjrt_load(PJRT_Client* client, hlo_executable_t* executable,
                           const hlo_compile_options_t* options,
                           PJRT_LoadedExecutable** out_loaded) {
  PJRT_LoadedExecutable* shell = hlo_mem_alloc_zeroed(sizeof *shell);
  if (shell == NULL) return hlo_status_out_of_memory(sizeof *shell);
  hlo_arena_init(&shell->arena, 0);
  shell->client = client;
  hlo_client_hold_begin(client->client);
  hlo_status_t status = fill_loaded(shell, executable, options);
  if (!hlo_status_is_ok(status)) {
    destroy_loaded(shell);
    return status;
  }
  *out_loaded = shell;
  return hlo_ok();
}

/// Returns the options for loading: the given ones, else those of the compilation.
static hlo_status_t load_options(const void* given, size_t given_bytes, const void* compiled,
                                 size_t compiled_bytes, hlo_arena_t* arena,
                                 hlo_compile_options_t* out) {
  if (given != NULL && given_bytes != 0) {
    return hlo_compile_options_parse(given, given_bytes, arena, out);
  }
  return hlo_compile_options_parse(compiled, compiled_bytes, arena, out);
}

// --- Code for other machines ---------------------------------------------------------------------

/// Fails if the client's machine lacks features that code needs, unless the code is to be made
/// again.
static hlo_status_t check_machine(const PJRT_Client* client, const hlo_cpu_t* needed,
                                  bool* out_is_remade) {
  const hlo_pjrt_settings_t* settings = &client->settings;
  hlo_cpu_t cpu;
  HLO_TRY(hlo_cpu_detect(settings->config.cpu, &cpu));
  const uint64_t missing = needed->features & ~cpu.features;
  *out_is_remade = missing != 0;
  if (missing == 0) return hlo_ok();
  HLO_SCOPED_STRBUF names = {0};
  hlo_cpu_print_features(missing, &names);
  if (settings->config.recompile) {
    HLO_LOG(&settings->observer.log, INFO, "compiled again: the code needs %s",
            hlo_strbuf_text(&names));
    return hlo_strbuf_status(&names);
  }
  return hlo_failed_precondition(
      "the executable is compiled for level %s; this machine lacks %s (with the option recompile, "
      "HLOCC_RECOMPILE=1, it is compiled again)",
      hlo_cpu_level_name(needed->level), hlo_strbuf_text(&names));
}

/// Loads an executable, or what its source gives on the client's machine.
static hlo_status_t load_anywhere(PJRT_Client* client, hlo_executable_t* executable,
                                  const hlo_compile_options_t* options,
                                  PJRT_LoadedExecutable** out_loaded) {
  const hlo_cpu_t needed = hlo_program_cpu(executable->program);
  bool is_remade;
  HLO_TRY(check_machine(client, &needed, &is_remade));
  if (!is_remade) return hlo_pjrt_load(client, executable, options, out_loaded);
  const hlo_serialized_t source = {.is_executable = true,
                                   .subnormals = executable->program->env.subnormals,
                                   .source = executable->source,
                                   .source_bytes = executable->source_bytes};
  HLO_SCOPED_ARENA arena = {0};
  hlo_compile_options_t compiled;
  HLO_TRY(
      hlo_compile_options_parse(executable->options, executable->options_bytes, &arena, &compiled));
  hlo_executable_t* remade;
  HLO_TRY(hlo_pjrt_compile_bytes(&source, &client->settings, NULL, &compiled, &remade));
  hlo_status_t status = hlo_pjrt_load(client, remade, options, out_loaded);
  hlo_executable_release(remade);
  return status;
}

hlo_status_t hlo_pjrt_Client_Load(PJRT_Client_Load_Args* args) {
  if (args->executable == NULL) return hlo_invalid_argument("no executable to load");
  hlo_executable_t* executable = args->executable->executable;
  HLO_SCOPED_ARENA arena = {0};
  hlo_compile_options_t options;
  HLO_TRY(load_options(args->compile_options, args->compile_options_size, executable->options,
                       executable->options_bytes, &arena, &options));
  return load_anywhere(args->client, executable, &options, &args->loaded_executable);
}

hlo_status_t hlo_pjrt_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_serialized_t parts;
  HLO_TRY(
      hlo_executable_parse(args->serialized_executable, args->serialized_executable_size, &parts));
  hlo_compile_options_t options, compiled;
  HLO_TRY(load_options(args->overridden_serialized_compile_options,
                       args->overridden_serialized_compile_options_size, parts.options,
                       parts.options_bytes, &arena, &options));
  // Layouts are part of the program: options without layouts keep them.
  HLO_TRY(hlo_compile_options_parse(parts.options, parts.options_bytes, &arena, &compiled));
  HLO_TRY(hlo_compile_options_take_layouts(&compiled, &arena, &options));
  const char* machine = NULL;
  if (*parts.target) {
    hlo_cpu_t needed;
    bool is_remade;
    HLO_TRY_MSG(hlo_cpu_find(parts.target, &needed), "in a serialized executable");
    HLO_TRY(check_machine(args->client, &needed, &is_remade));
    if (!is_remade) machine = parts.target;
  }
  hlo_executable_t* executable;
  HLO_TRY(hlo_pjrt_compile_bytes(&parts, &args->client->settings, machine, &options, &executable));
  hlo_status_t status = hlo_pjrt_load(args->client, executable, &options, &args->loaded_executable);
  hlo_executable_release(executable);
  return status;
}

hlo_status_t hlo_pjrt_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  destroy_loaded(args->executable);
  return hlo_ok();
}

// --- Queries -------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_LoadedExecutable_GetExecutable(
    PJRT_LoadedExecutable_GetExecutable_Args* args) {
  hlo_executable_t* executable = hlo_loaded_executable(args->loaded_executable->loaded);
  return hlo_pjrt_executable_create(hlo_executable_retain(executable), &args->executable);
}

static void free_device_assignment(PJRT_DeviceAssignmentSerialized* serialized) {
  hlo_mem_free(serialized);
}

static hlo_status_t write_device_assignment(const PJRT_LoadedExecutable* loaded,
                                            hlo_strbuf_t* out) {
  const hlo_compile_config_t* config = &hlo_loaded_executable(loaded->loaded)->config;
  int32_t* ids = hlo_mem_alloc(loaded->device_count * sizeof *ids);
  if (ids == NULL) return hlo_status_out_of_memory(loaded->device_count * sizeof *ids);
  for (uint32_t i = 0; i < loaded->device_count; ++i) ids[i] = loaded->devices[i]->device->id;
  hlo_device_assignment_write(ids, config->replica_count, config->partition_count, out);
  hlo_mem_free(ids);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_pjrt_LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  hlo_strbuf_t bytes = {0};
  hlo_status_t status = write_device_assignment(args->executable, &bytes);
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_deinit(&bytes);
    return status;
  }
  args->serialized_bytes_size = bytes.length;
  char* text = hlo_strbuf_take(&bytes);
  if (text == NULL) return hlo_status_out_of_memory(args->serialized_bytes_size);
  args->serialized_bytes = text;
  args->serialized_device_assignment = (PJRT_DeviceAssignmentSerialized*)text;
  args->serialized_device_assignment_deleter = free_device_assignment;
  return hlo_ok();
}
