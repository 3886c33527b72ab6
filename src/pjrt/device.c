// SPDX-License-Identifier: Apache-2.0
// Devices, their descriptions and their memories.
#include <stdio.h>

#include "pjrt/objects.h"

// --- Wrappers ------------------------------------------------------------------------------------

static hlo_pjrt_memory_t* memory_shell(PJRT_Memory* memory) {
  return (hlo_pjrt_memory_t*)memory;
}

hlo_memory_t* hlo_pjrt_memory_target(PJRT_Memory* memory) {
  return memory_shell(memory)->memory;
}

PJRT_Client* hlo_pjrt_memory_client(PJRT_Memory* memory) {
  return memory_shell(memory)->device->client;
}

const char* hlo_pjrt_memory_text(PJRT_Memory* memory) {
  return memory_shell(memory)->text;
}

PJRT_Device* hlo_pjrt_device(PJRT_Client* client, const hlo_device_t* device) {
  const uint32_t guess = (uint32_t)device->local_id;
  if (guess < client->device_count && client->devices[guess]->device == device) {
    return client->devices[guess];
  }
  for (uint32_t i = 0; i < client->device_count; ++i) {
    if (client->devices[i]->device == device) return client->devices[i];
  }
  return NULL;
}

PJRT_Memory* hlo_pjrt_memory(PJRT_Client* client, const hlo_memory_t* memory) {
  return hlo_pjrt_device(client, memory->device)->memories[memory->kind];
}

hlo_status_t hlo_pjrt_placement(PJRT_Device* device, PJRT_Memory* memory,
                                PJRT_Memory** out_memory) {
  if (memory == NULL && device == NULL) {
    return hlo_invalid_argument("neither a device nor a memory is given for the buffer");
  }
  *out_memory = memory != NULL ? memory : device->memories[HLO_MEMORY_DEVICE];
  return hlo_ok();
}

// --- User data of memories -----------------------------------------------------------------------

static void* get_user_data(PJRT_Memory* base, const void* key) {
  hlo_pjrt_memory_t* memory = memory_shell(base);
  hlo_mutex_t* lock = &memory->device->client->user_data_lock;
  hlo_mutex_lock(lock);
  const hlo_pjrt_user_data_t* item = memory->user_data;
  while (item != NULL && item->key != key) item = item->next;
  void* data = item != NULL ? item->data : NULL;
  hlo_mutex_unlock(lock);
  return data;
}

/// A second value for the same key replaces the first. If memory is exhausted, the value is
/// dropped, since the function cannot report errors.
static void set_user_data(PJRT_Memory* base, const void* key, void* data, void (*destroy)(void*)) {
  hlo_pjrt_memory_t* memory = memory_shell(base);
  hlo_mutex_t* lock = &memory->device->client->user_data_lock;
  hlo_pjrt_user_data_t* fresh = hlo_mem_alloc(sizeof *fresh);
  hlo_pjrt_user_data_t replaced = {.data = data, .destroy = destroy};
  if (fresh != NULL) {
    hlo_mutex_lock(lock);
    hlo_pjrt_user_data_t** link = &memory->user_data;
    while (*link != NULL && (*link)->key != key) link = &(*link)->next;
    hlo_pjrt_user_data_t* old = *link;
    *fresh = (hlo_pjrt_user_data_t){old != NULL ? old->next : NULL, key, data, destroy};
    *link = fresh;
    hlo_mutex_unlock(lock);
    replaced = old != NULL ? *old : (hlo_pjrt_user_data_t){0};
    hlo_mem_free(old);
  }
  if (replaced.destroy != NULL) replaced.destroy(replaced.data);
}

static const PJRT_Memory_FunctionTable memory_functions = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = get_user_data,
    .set_user_data = set_user_data,
};

// --- Creation and destruction with the client ----------------------------------------------------

static void make_device(PJRT_Client* client, uint32_t index, PJRT_Device* device,
                        hlo_pjrt_memory_t* memories) {
  *device = (PJRT_Device){.client = client,
                          .device = hlo_client_device(client->client, index),
                          .description = client->topology->descriptions[index],
                          .memories = client->memories + (size_t)index * HLO_MEMORY_KIND_COUNT};
  client->devices[index] = device;
  for (int kind = 0; kind < HLO_MEMORY_KIND_COUNT; ++kind) {
    hlo_pjrt_memory_t* memory = &memories[kind];
    memory->base.vtable = &memory_functions;
    memory->memory = &device->device->memories[kind];
    memory->device = device;
    snprintf(memory->text, sizeof memory->text, "CpuMemory(id=%d, device=%d, kind=%s)",
             memory->memory->id, device->device->id, hlo_memory_kind_name(memory->memory->kind));
    device->memories[kind] = &memory->base;
  }
}

hlo_status_t hlo_pjrt_devices_create(PJRT_Client* client) {
  const size_t count = client->device_count;
  const size_t memory_count = count * HLO_MEMORY_KIND_COUNT;
  hlo_arena_t* arena = &client->arena;
  client->devices = hlo_arena_array(arena, count, sizeof *client->devices);
  client->memories = hlo_arena_array(arena, memory_count, sizeof *client->memories);
  PJRT_Device* devices = hlo_arena_array(arena, count, sizeof *devices);
  hlo_pjrt_memory_t* memories = hlo_arena_array(arena, memory_count, sizeof *memories);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < count; ++i) {
    make_device(client, i, &devices[i], &memories[(size_t)i * HLO_MEMORY_KIND_COUNT]);
  }
  return hlo_ok();
}

void hlo_pjrt_devices_destroy(PJRT_Client* client) {
  if (client->memories == NULL) return;
  for (size_t i = 0; i < (size_t)client->device_count * HLO_MEMORY_KIND_COUNT; ++i) {
    if (client->memories[i] == NULL) continue;
    hlo_pjrt_user_data_t* item = memory_shell(client->memories[i])->user_data;
    while (item != NULL) {
      hlo_pjrt_user_data_t* next = item->next;
      if (item->destroy != NULL) item->destroy(item->data);
      hlo_mem_free(item);
      item = next;
    }
  }
}

// --- Descriptions --------------------------------------------------------------------------------

static const PJRT_NamedValue no_attributes;

hlo_status_t hlo_pjrt_DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  args->attributes = &no_attributes;
  args->num_attributes = 0;
  return hlo_ok();
}

// --- Devices -------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Device_MemoryStats(PJRT_Device_MemoryStats_Args* args) {
  hlo_memory_stats_t stats;
  const hlo_memory_t* memory = &args->device->device->memories[HLO_MEMORY_DEVICE];
  hlo_memory_get_stats(memory, &stats);
  args->bytes_in_use = stats.bytes_in_use;
  args->peak_bytes_in_use = stats.peak_bytes_in_use;
  args->peak_bytes_in_use_is_set = true;
  args->num_allocs = stats.allocation_count;
  args->num_allocs_is_set = true;
  args->largest_alloc_size = stats.largest_allocation_bytes;
  args->largest_alloc_size_is_set = true;
  args->bytes_limit = (int64_t)stats.limit_bytes;
  args->bytes_limit_is_set = stats.limit_bytes != 0;
  args->pool_bytes = (int64_t)stats.reserved_bytes;
  args->pool_bytes_is_set = true;
  args->peak_pool_bytes = (int64_t)stats.peak_reserved_bytes;
  args->peak_pool_bytes_is_set = true;
  // All devices share the limit; this is what each of them gets if they all take as much.
  const uint32_t devices = hlo_client_device_count(hlo_memory_client(memory));
  args->bytes_reservable_limit = (int64_t)(stats.limit_bytes / devices);
  args->bytes_reservable_limit_is_set = stats.limit_bytes != 0;
  // Callers do not initialise these, which hlocc does not count.
  args->bytes_reserved_is_set = args->peak_bytes_reserved_is_set = false;
  args->largest_free_block_bytes_is_set = false;
  args->peak_allocated_bytes_is_set = false;
  return hlo_ok();
}

/// A statistic of a memory space, at an offset in hlo_memory_stats_t.
typedef struct statistic {
  const char* name;
  size_t offset;
} statistic_t;

static const statistic_t statistics[] = {
    {"bytes_in_use", offsetof(hlo_memory_stats_t, bytes_in_use)},
    {"peak_bytes_in_use", offsetof(hlo_memory_stats_t, peak_bytes_in_use)},
    {"num_allocs", offsetof(hlo_memory_stats_t, allocation_count)},
    {"largest_alloc_size", offsetof(hlo_memory_stats_t, largest_allocation_bytes)},
    {"pool_bytes", offsetof(hlo_memory_stats_t, reserved_bytes)},
    {"peak_pool_bytes", offsetof(hlo_memory_stats_t, peak_reserved_bytes)},
    {"bytes_limit", offsetof(hlo_memory_stats_t, limit_bytes)},
};
enum {
  STATISTIC_COUNT = sizeof statistics / sizeof statistics[0],
  ATTRIBUTE_COUNT = HLO_MEMORY_KIND_COUNT * STATISTIC_COUNT,
  ATTRIBUTE_NAME_SIZE = 48,
};

struct PJRT_Device_Attributes {
  PJRT_NamedValue values[ATTRIBUTE_COUNT];
  char names[ATTRIBUTE_COUNT][ATTRIBUTE_NAME_SIZE];
};

static void free_attributes(PJRT_Device_Attributes* attributes) {
  hlo_mem_free(attributes);
}

/// The statistics of all memory spaces of the device, named "pinned_host.bytes_in_use":
/// PJRT_Device_MemoryStats() has those of the default one only.
hlo_status_t hlo_pjrt_Device_GetAttributes(PJRT_Device_GetAttributes_Args* args) {
  PJRT_Device_Attributes* attributes = hlo_mem_alloc_zeroed(sizeof *attributes);
  if (attributes == NULL) return hlo_status_out_of_memory(sizeof *attributes);
  size_t count = 0;
  for (int kind = 0; kind < HLO_MEMORY_KIND_COUNT; ++kind) {
    hlo_memory_stats_t stats;
    hlo_memory_get_stats(&args->device->device->memories[kind], &stats);
    for (size_t i = 0; i < STATISTIC_COUNT; ++i, ++count) {
      char* name = attributes->names[count];
      const int length =
          snprintf(name, ATTRIBUTE_NAME_SIZE, "%s.%s",
                   hlo_memory_kind_name((hlo_memory_kind_t)kind), statistics[i].name);
      PJRT_NamedValue* value = &attributes->values[count];
      *value = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                 .name = name,
                                 .name_size = (size_t)length,
                                 .type = PJRT_NamedValue_kInt64,
                                 .value_size = 1};
      memcpy(&value->int64_value, (const char*)&stats + statistics[i].offset, sizeof(int64_t));
    }
  }
  args->attributes = attributes->values;
  args->num_attributes = count;
  args->device_attributes = attributes;
  args->attributes_deleter = free_attributes;
  return hlo_ok();
}

/// No tool uses marks yet: only the text is kept, for debuggers.
struct PJRT_AsyncTrackingEvent {
  char description[64];
};

hlo_status_t hlo_pjrt_Device_CreateAsyncTrackingEvent(
    PJRT_Device_CreateAsyncTrackingEvent_Args* args) {
  PJRT_AsyncTrackingEvent* event = hlo_mem_alloc(sizeof *event);
  if (event == NULL) return hlo_status_out_of_memory(sizeof *event);
  snprintf(event->description, sizeof event->description, "%.*s", (int)args->description_size,
           args->description_size != 0 ? args->description : "");
  args->event = event;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args* args) {
  hlo_mem_free(args->event);
  return hlo_ok();
}

// --- Memories ------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_Device_PoisonExecution(PJRT_Device_PoisonExecution_Args* args) {
  hlo_status_t error =
      hlo_pjrt_foreign_status(args->error_code, args->error_message, args->error_message_size);
  if (hlo_status_is_ok(error)) return hlo_invalid_argument("poisoning a launch needs an error");
  args->poisoned = hlo_launch_poison(args->device->device, args->launch_id, error);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  PJRT_Device* device = memory_shell(args->memory)->device;
  args->devices = &device->client->devices[device->description->id];
  args->num_devices = 1;
  return hlo_ok();
}
