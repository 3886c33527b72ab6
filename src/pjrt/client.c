// SPDX-License-Identifier: Apache-2.0
// Clients: creation and destruction, their devices and memories, and functions about the process.
#include "pjrt/objects.h"

// --- Lifetime ------------------------------------------------------------------------------------

/// Frees the data lent to the runtime's client, when no object holds the client any more.
static void free_client(void* context) {
  PJRT_Client* client = context;
  hlo_pjrt_devices_destroy(client);
  hlo_pjrt_topology_destroy(client->topology);
  hlo_mutex_deinit(&client->user_data_lock);
  hlo_arena_deinit(&client->arena);
  hlo_pjrt_settings_deinit(&client->settings);
  hlo_mem_free(client);
}

/// When called in a callback, the rest happens once the work in flight has ended.
static void destroy_client(PJRT_Client* client) {
  if (client == NULL) return;
  if (client->client != NULL) {
    hlo_client_release_then(client->client, free_client, client);
  } else {
    free_client(client);
  }
}

static hlo_status_t fill_client(PJRT_Client* client) {
  const hlo_config_t* config = &client->settings.config;
  hlo_observer_start(config, &client->settings.observer);
  hlo_client_options_t options;
  hlo_client_options_read(config, &client->settings.observer, &options);
  HLO_TRY(hlo_client_create(&options, &client->client));
  client->settings.client = client->client;
  HLO_TRY(
      hlo_compile_cache_create(config, &client->settings.observer.log, &client->settings.cache));
  hlo_pjrt_job_share(&client->settings.job, hlo_compile_cache_tuner(client->settings.cache));
  client->device_count = hlo_client_device_count(client->client);
  HLO_TRY(hlo_pjrt_topology_create(&client->settings, client->device_count, &client->topology));
  return hlo_pjrt_devices_create(client);
}

hlo_status_t hlo_pjrt_Client_Create(PJRT_Client_Create_Args* args) {
  PJRT_Client* client = hlo_mem_alloc_zeroed(sizeof *client);
  if (client == NULL) return hlo_status_out_of_memory(sizeof *client);
  hlo_status_t status =
      hlo_pjrt_settings_init(args->create_options, args->num_options, false, &client->settings);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(client);
    return status;
  }
  hlo_pjrt_job_t* job = &client->settings.job;
  job->get = args->kv_get_callback, job->get_arg = args->kv_get_user_arg;
  job->put = args->kv_put_callback, job->put_arg = args->kv_put_user_arg;
  hlo_arena_init(&client->arena, 0);
  hlo_mutex_init(&client->user_data_lock, HLO_LOCK_LEVEL_CLIENT);
  status = fill_client(client);
  if (!hlo_status_is_ok(status)) {
    destroy_client(client);
    return status;
  }
  args->client = client;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Client_Destroy(PJRT_Client_Destroy_Args* args) {
  destroy_client(args->client);
  return hlo_ok();
}

// --- Queries -------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Client_LookupDevice(PJRT_Client_LookupDevice_Args* args) {
  const hlo_device_t* device = hlo_client_find_device(args->client->client, args->id);
  if (device == NULL) return hlo_invalid_argument("no device has id %d", args->id);
  args->device = hlo_pjrt_device(args->client, device);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Client_LookupAddressableDevice(
    PJRT_Client_LookupAddressableDevice_Args* args) {
  for (uint32_t i = 0; i < args->client->device_count; ++i) {
    PJRT_Device* device = args->client->devices[i];
    if (device->device->local_id != args->local_hardware_id) continue;
    args->addressable_device = device;
    return hlo_ok();
  }
  return hlo_invalid_argument("no addressable device has local hardware id %d",
                              args->local_hardware_id);
}

/// Assigns devices in ascending order, replica by replica.
hlo_status_t hlo_pjrt_Client_DefaultDeviceAssignment(
    PJRT_Client_DefaultDeviceAssignment_Args* args) {
  const int64_t needed = (int64_t)args->num_replicas * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 || needed > args->client->device_count) {
    return hlo_invalid_argument("%d replicas of %d partitions do not fit on %u devices",
                                args->num_replicas, args->num_partitions,
                                args->client->device_count);
  }
  if ((uint64_t)needed > args->default_assignment_size) {
    return hlo_invalid_argument("found room for %zu device ids, expected %lld",
                                args->default_assignment_size, (long long)needed);
  }
  for (int64_t i = 0; i < needed; ++i) {
    args->default_assignment[i] = args->client->devices[i]->device->id;
  }
  return hlo_ok();
}

// --- The process ---------------------------------------------------------------------------------
