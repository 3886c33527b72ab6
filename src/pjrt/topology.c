// SPDX-License-Identifier: Apache-2.0
// Topologies: descriptions of devices, with or without a client, and their serialization.
#include <stdio.h>

#include "base/hash.h"
#include "base/wire.h"
#include "pjrt/objects.h"

// --- Serialization: PjRtTopologyDescriptionProto that contains a message of hlocc ----------------

typedef struct our_part {
  uint32_t device_count;
} our_part_t;

typedef struct any_proto {
  hlo_wire_bytes_t type_url;
  hlo_wire_bytes_t value;
} any_proto_t;

typedef struct topology_proto {
  hlo_wire_bytes_t platform_name;
  hlo_wire_bytes_t platform_version;
  any_proto_t* platform_specific_topology;
} topology_proto_t;

static const hlo_wire_field_info_t our_fields[] = {
    HLO_WIRE_FIELD(our_part_t, 1, UINT32, device_count),
};
static const hlo_wire_message_t our_message = HLO_WIRE_MESSAGE(our_part_t, our_fields);

static const hlo_wire_field_info_t any_fields[] = {
    HLO_WIRE_FIELD(any_proto_t, 1, BYTES, type_url),
    HLO_WIRE_FIELD(any_proto_t, 2, BYTES, value),
};
static const hlo_wire_message_t any_message = HLO_WIRE_MESSAGE(any_proto_t, any_fields);

static const hlo_wire_field_info_t topology_fields[] = {
    HLO_WIRE_FIELD(topology_proto_t, 2, BYTES, platform_name),
    HLO_WIRE_FIELD(topology_proto_t, 3, BYTES, platform_version),
    HLO_WIRE_NESTED(topology_proto_t, 9, platform_specific_topology, &any_message),
};
static const hlo_wire_message_t topology_message =
    HLO_WIRE_MESSAGE(topology_proto_t, topology_fields);

static const char our_type_url[] = "hlocc/Topology";

static hlo_wire_bytes_t text_bytes(const char* text) {
  return (hlo_wire_bytes_t){(const uint8_t*)text, strlen(text)};
}

static hlo_status_t serialize(PJRT_TopologyDescription* topology) {
  HLO_SCOPED_STRBUF inner = {0};
  const our_part_t ours = {.device_count = topology->device_count};
  hlo_wire_encode(&our_message, &ours, &inner);
  any_proto_t any = {.type_url = text_bytes(our_type_url),
                     .value = {(const uint8_t*)inner.data, inner.length}};
  const topology_proto_t proto = {.platform_name = text_bytes(topology->platform_name),
                                  .platform_version = text_bytes(topology->platform_version),
                                  .platform_specific_topology = &any};
  hlo_wire_encode(&topology_message, &proto, &topology->serialized);
  hlo_status_t status = hlo_strbuf_status(&inner);
  return hlo_status_is_ok(status) ? hlo_strbuf_status(&topology->serialized) : status;
}

// --- Objects -------------------------------------------------------------------------------------

enum { DEVICE_LIMIT = 1 << 16 };  // of a described topology

static hlo_status_t fill_topology(PJRT_TopologyDescription* topology, const char* platform_name,
                                  const char* platform_version, uint32_t device_count) {
  hlo_arena_t* arena = &topology->arena;
  topology->platform_name = hlo_arena_strndup(arena, platform_name, strlen(platform_name));
  topology->platform_version = hlo_arena_strndup(arena, platform_version, strlen(platform_version));
  topology->device_count = device_count;
  topology->descriptions = hlo_arena_array(arena, device_count, sizeof *topology->descriptions);
  PJRT_DeviceDescription* descriptions = hlo_arena_array(arena, device_count, sizeof *descriptions);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < device_count; ++i) {
    descriptions[i].id = (int32_t)i;
    snprintf(descriptions[i].to_string, sizeof descriptions[i].to_string, "CpuDevice(id=%u)", i);
    snprintf(descriptions[i].debug_string, sizeof descriptions[i].debug_string, "HLOCC_CPU_%u", i);
    topology->descriptions[i] = &descriptions[i];
  }
  HLO_TRY(serialize(topology));
  topology->fingerprint = hlo_hash_bytes(topology->serialized.data, topology->serialized.length, 0);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_topology_create(const char* platform_name, const char* platform_version,
                                      uint32_t device_count,
                                      PJRT_TopologyDescription** out_topology) {
  if (device_count == 0 || device_count > DEVICE_LIMIT) {
    return hlo_invalid_argument("a topology has %u devices, expected 1 to %d", device_count,
                                DEVICE_LIMIT);
  }
  PJRT_TopologyDescription* topology = hlo_mem_alloc_zeroed(sizeof *topology);
  if (topology == NULL) return hlo_status_out_of_memory(sizeof *topology);
  hlo_arena_init(&topology->arena, 0);
  hlo_status_t status = fill_topology(topology, platform_name, platform_version, device_count);
  if (!hlo_status_is_ok(status)) {
    hlo_pjrt_topology_destroy(topology);
    return status;
  }
  *out_topology = topology;
  return hlo_ok();
}

void hlo_pjrt_topology_destroy(PJRT_TopologyDescription* topology) {
  if (topology == NULL) return;
  hlo_strbuf_deinit(&topology->serialized);
  hlo_arena_deinit(&topology->arena);
  hlo_mem_free(topology);
}

/// Returns the number of devices in a name such as "2x4" or "anything:2x4", 0 if it has none.
static uint32_t devices_in_name(const char* name, size_t size) {
  if (size == 0) return 0;
  const char* colon = memchr(name, ':', size);
  const char* at = colon != NULL ? colon + 1 : name;
  uint64_t product = 1, factor = 0;
  for (; at < name + size; ++at) {
    if (*at >= '0' && *at <= '9') {
      factor = factor * 10 + (uint64_t)(*at - '0');
    } else if (*at == 'x' && factor != 0) {
      product *= factor;
      factor = 0;
    } else {
      return 0;
    }
    if (factor > DEVICE_LIMIT || product > DEVICE_LIMIT) return DEVICE_LIMIT + 1;
  }
  return (uint32_t)(product * factor > DEVICE_LIMIT ? DEVICE_LIMIT + 1 : product * factor);
}

/// Describes the machine as clients see it, unless the name or an option gives a number of devices.
hlo_status_t hlo_pjrt_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args* args) {
  hlo_pjrt_settings_t settings;
  HLO_TRY(hlo_pjrt_settings_init(args->create_options, args->num_options, &settings));
  const hlo_config_t* config = &settings.config;
  uint32_t device_count = devices_in_name(args->topology_name, args->topology_name_size);
  if (device_count == 0 || config->sources[HLO_CONFIG_NUM_DEVICES] == HLO_CONFIG_SOURCE_OPTION) {
    device_count = (uint32_t)config->num_devices;
  }
  hlo_status_t status = hlo_pjrt_topology_create(config->platform_name, settings.platform_version,
                                                 device_count, &args->topology);
  hlo_pjrt_settings_deinit(&settings);
  return status;
}

hlo_status_t hlo_pjrt_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  hlo_pjrt_topology_destroy(args->topology);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_TopologyDescription_Deserialize(
    PJRT_TopologyDescription_Deserialize_Args* args) {
  HLO_SCOPED_ARENA arena = {0};
  topology_proto_t proto;
  HLO_TRY_MSG(hlo_wire_decode(&topology_message, args->serialized_topology,
                              args->serialized_topology_size, &arena, &proto),
              "in a topology");
  const any_proto_t* any = proto.platform_specific_topology;
  if (any == NULL || any->type_url.size != strlen(our_type_url) ||
      memcmp(any->type_url.data, our_type_url, any->type_url.size) != 0) {
    return hlo_invalid_argument("the topology was not serialized by hlocc");
  }
  our_part_t ours;
  HLO_TRY_MSG(hlo_wire_decode(&our_message, any->value.data, any->value.size, &arena, &ours),
              "in a topology");
  const char* name =
      hlo_arena_strndup(&arena, (const char*)proto.platform_name.data, proto.platform_name.size);
  const char* version = hlo_arena_strndup(&arena, (const char*)proto.platform_version.data,
                                          proto.platform_version.size);
  HLO_TRY(hlo_arena_status(&arena));
  return hlo_pjrt_topology_create(name, version, ours.device_count, &args->topology);
}

/// The bytes belong to the topology.
static void keep_serialized_topology(HLO_UNUSED PJRT_SerializedTopology* serialized) {}

hlo_status_t hlo_pjrt_TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  args->serialized_bytes = args->topology->serialized.data;
  args->serialized_bytes_size = args->topology->serialized.length;
  args->serialized_topology = (PJRT_SerializedTopology*)args->topology;
  args->serialized_topology_deleter = keep_serialized_topology;
  return hlo_ok();
}

// --- Queries -------------------------------------------------------------------------------------

hlo_status_t hlo_pjrt_TopologyDescription_Attributes(
    PJRT_TopologyDescription_Attributes_Args* args) {
  static const PJRT_NamedValue none;
  args->attributes = &none;
  args->num_attributes = 0;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args) {
  static const int ids[HLO_MEMORY_KIND_COUNT] = {HLO_MEMORY_DEVICE, HLO_MEMORY_PINNED_HOST,
                                                 HLO_MEMORY_UNPINNED_HOST};
  args->memory_space_kind_ids = ids;
  args->num_memory_space_kind_ids = HLO_MEMORY_KIND_COUNT;
  return hlo_ok();
}

static void free_serialized_shape(const char* bytes) {
  hlo_mem_free((void*)bytes);
}

/// Writes a ShapeProto of a dense array.
hlo_status_t hlo_pjrt_TopologyDescription_MakeCanonicalShapeForMemorySpace(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args* args) {
  hlo_buffer_shape_t shape;
  HLO_TRY(hlo_pjrt_shape(args->element_type, args->dims, args->num_dims, &shape));
  int64_t minor_to_major[HLO_SHAPE_RANK_LIMIT];
  HLO_TRY(hlo_pjrt_layout_order(args->layout, &shape, minor_to_major));
  hlo_strbuf_t proto = {0};
  hlo_wire_put_int(&proto, 2, hlo_dtype_info(shape.dtype)->primitive_type);
  hlo_wire_put_packed_int64(&proto, 3, shape.dims, shape.rank);
  const size_t layout = hlo_wire_begin(&proto, 5);
  const size_t order = hlo_wire_begin(&proto, 1);
  for (uint32_t i = 0; i < shape.rank; ++i) {
    hlo_wire_put_varint(&proto, (uint64_t)minor_to_major[i]);
  }
  hlo_wire_end(&proto, order);
  hlo_wire_end(&proto, layout);
  args->serialized_shape_size = proto.length;
  args->serialized_shape = hlo_strbuf_take(&proto);
  args->serialized_shape_deleter = free_serialized_shape;
  return args->serialized_shape != NULL ? hlo_ok() : hlo_status_out_of_memory(1);
}

// --- The extension: kinds of memory of described devices -----------------------------------------

static const PJRT_MemoryDescription memory_kinds[HLO_MEMORY_KIND_COUNT] = {
    {HLO_MEMORY_DEVICE}, {HLO_MEMORY_PINNED_HOST}, {HLO_MEMORY_UNPINNED_HOST}};

hlo_status_t hlo_pjrt_DeviceDescription_MemoryDescriptions(
    PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  static const PJRT_MemoryDescription* const list[HLO_MEMORY_KIND_COUNT] = {
      &memory_kinds[HLO_MEMORY_DEVICE], &memory_kinds[HLO_MEMORY_PINNED_HOST],
      &memory_kinds[HLO_MEMORY_UNPINNED_HOST]};
  args->memory_descriptions = list;
  args->num_memory_descriptions = HLO_MEMORY_KIND_COUNT;
  args->default_memory_index = HLO_MEMORY_DEVICE;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_MemoryDescription_Kind(PJRT_MemoryDescription_Kind_Args* args) {
  const hlo_memory_kind_t kind = args->memory_description->kind;
  hlo_pjrt_lend(hlo_memory_kind_name(kind), &args->kind, &args->kind_size);
  args->kind_id = kind;
  return hlo_ok();
}
