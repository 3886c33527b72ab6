// SPDX-License-Identifier: Apache-2.0
// Topologies: descriptions of devices, with or without a client, and their serialization.
#include <stdio.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/wire.h"
#include "pjrt/objects.h"

// --- Serialization: PjRtTopologyDescriptionProto that contains a message of hlocc ----------------

typedef struct our_part {
  uint32_t device_count;
  hlo_wire_bytes_t machine;
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
    HLO_WIRE_FIELD(our_part_t, 2, BYTES, machine),
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
  const our_part_t ours = {.device_count = topology->device_count,
                           .machine = text_bytes(topology->machine)};
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

static PJRT_NamedValue attribute_named(const char* name) {
  return (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = name,
                           .name_size = strlen(name),
                           .type = PJRT_NamedValue_kInt64,
                           .value_size = 1};
}

static PJRT_NamedValue text_attribute(const char* name, const char* text) {
  PJRT_NamedValue attribute = attribute_named(name);
  attribute.type = PJRT_NamedValue_kString;
  hlo_pjrt_lend(text, &attribute.string_value, &attribute.value_size);
  return attribute;
}

static PJRT_NamedValue number_attribute(const char* name, int64_t number) {
  PJRT_NamedValue attribute = attribute_named(name);
  attribute.int64_value = number;
  return attribute;
}

static hlo_status_t fill_attributes(PJRT_TopologyDescription* topology) {
  hlo_cpu_t cpu;
  HLO_TRY(hlo_cpu_find(topology->machine, &cpu));
  HLO_SCOPED_STRBUF features = {0};
  hlo_cpu_print_features(cpu.features, &features);
  HLO_TRY(hlo_strbuf_status(&features));
  const char* names =
      hlo_arena_strndup(&topology->arena, hlo_strbuf_text(&features), features.length);
  HLO_TRY(hlo_arena_status(&topology->arena));
  const PJRT_NamedValue attributes[] = {
      number_attribute("num_devices", topology->device_count),
      text_attribute("cpu_level", hlo_cpu_level_name(cpu.level)),
      text_attribute("cpu_features", names),
      number_attribute("l1_cache_bytes", cpu.l1_bytes),
      number_attribute("l2_cache_bytes", cpu.l2_bytes),
      number_attribute("l3_cache_bytes", cpu.l3_bytes),
  };
  topology->attribute_count = sizeof attributes / sizeof *attributes;
  topology->attributes =
      hlo_arena_array(&topology->arena, topology->attribute_count, sizeof *attributes);
  HLO_TRY(hlo_arena_status(&topology->arena));
  memcpy(topology->attributes, attributes, sizeof attributes);
  return hlo_ok();
}

typedef struct description {
  const char* platform_name;
  const char* platform_version;
  const char* machine;
  uint32_t device_count;
} description_t;

static hlo_status_t fill_topology(const description_t* from, PJRT_TopologyDescription* topology) {
  hlo_arena_t* arena = &topology->arena;
  const uint32_t device_count = from->device_count;
  if (device_count == 0 || device_count > DEVICE_LIMIT) {
    return hlo_invalid_argument("a topology has %u devices, expected 1 to %d", device_count,
                                DEVICE_LIMIT);
  }
  topology->platform_name =
      hlo_arena_strndup(arena, from->platform_name, strlen(from->platform_name));
  topology->platform_version =
      hlo_arena_strndup(arena, from->platform_version, strlen(from->platform_version));
  topology->machine = hlo_arena_strndup(arena, from->machine, strlen(from->machine));
  topology->device_count = device_count;
  topology->descriptions = hlo_arena_array(arena, device_count, sizeof *topology->descriptions);
  PJRT_DeviceDescription* descriptions = hlo_arena_array(arena, device_count, sizeof *descriptions);
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < device_count; ++i) {
    descriptions[i].id = (int32_t)i;
    snprintf(descriptions[i].to_string, sizeof descriptions[i].to_string, "CpuDevice(id=%u)", i);
    snprintf(descriptions[i].debug_string, sizeof descriptions[i].debug_string, "cpu:%u", i);
    topology->descriptions[i] = &descriptions[i];
  }
  HLO_TRY(fill_attributes(topology));
  HLO_TRY(serialize(topology));
  topology->fingerprint = hlo_hash_bytes(topology->serialized.data, topology->serialized.length, 0);
  return hlo_ok();
}

/// owner  : takes the own settings, null if the topology has none, also on error
static hlo_status_t create(const description_t* from, const hlo_pjrt_settings_t* settings,
                           hlo_pjrt_settings_t* own_settings,
                           PJRT_TopologyDescription** out_topology) {
  PJRT_TopologyDescription* topology = hlo_mem_alloc_zeroed(sizeof *topology);
  if (topology == NULL) {
    if (own_settings != NULL) hlo_pjrt_settings_deinit(own_settings);
    return hlo_status_out_of_memory(sizeof *topology);
  }
  hlo_arena_init(&topology->arena, 0);
  topology->settings = settings;
  hlo_status_t status = hlo_ok();
  if (own_settings != NULL) {
    topology->own_settings = *own_settings;
    topology->settings = &topology->own_settings;
  }
  status = fill_topology(from, topology);
  if (!hlo_status_is_ok(status)) {
    hlo_pjrt_topology_destroy(topology);
    return status;
  }
  *out_topology = topology;
  return hlo_ok();
}

/// Describes the platform and the machine of `settings`.
static hlo_status_t describe(const hlo_pjrt_settings_t* settings, uint32_t device_count,
                             hlo_strbuf_t* machine, description_t* out) {
  HLO_TRY(hlo_compile_describe_machine(settings->config.cpu, machine));
  *out = (description_t){settings->config.platform_name, settings->platform_version,
                         hlo_strbuf_text(machine), device_count};
  return hlo_ok();
}

hlo_status_t hlo_pjrt_topology_create(const hlo_pjrt_settings_t* settings, uint32_t device_count,
                                      PJRT_TopologyDescription** out_topology) {
  HLO_SCOPED_STRBUF machine = {0};
  description_t from;
  HLO_TRY(describe(settings, device_count, &machine, &from));
  return create(&from, settings, NULL, out_topology);
}

void hlo_pjrt_topology_destroy(PJRT_TopologyDescription* topology) {
  if (topology == NULL) return;
  if (topology->settings == &topology->own_settings) {
    hlo_pjrt_settings_deinit(&topology->own_settings);
  }
  hlo_strbuf_deinit(&topology->serialized);
  hlo_arena_deinit(&topology->arena);
  hlo_mem_free(topology);
}

/// Settings of a topology without a client: what compiles for it observes and caches by them.
static hlo_status_t init_own_settings(const PJRT_NamedValue* options, size_t count,
                                      hlo_pjrt_settings_t* out_settings) {
  HLO_TRY(hlo_pjrt_settings_init(options, count, true, out_settings));
  hlo_observer_start(&out_settings->config, &out_settings->observer);
  hlo_status_t status = hlo_compile_cache_create(&out_settings->config, &out_settings->observer.log,
                                                 &out_settings->cache);
  if (!hlo_status_is_ok(status)) hlo_pjrt_settings_deinit(out_settings);
  return status;
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

/// Describes the machine as clients see it, unless the name or an option gives a number of devices,
/// or the option cpu another processor.
hlo_status_t hlo_pjrt_TopologyDescription_Create(PJRT_TopologyDescription_Create_Args* args) {
  hlo_pjrt_settings_t settings;
  HLO_TRY(init_own_settings(args->create_options, args->num_options, &settings));
  const hlo_config_t* config = &settings.config;
  uint32_t device_count = devices_in_name(args->topology_name, args->topology_name_size);
  if (device_count == 0 || config->sources[HLO_CONFIG_NUM_DEVICES] == HLO_CONFIG_SOURCE_OPTION) {
    device_count = (uint32_t)config->num_devices;
  }
  HLO_SCOPED_STRBUF machine = {0};
  description_t from;
  hlo_status_t status = describe(&settings, device_count, &machine, &from);
  if (!hlo_status_is_ok(status)) {
    hlo_pjrt_settings_deinit(&settings);
    return status;
  }
  return create(&from, NULL, &settings, &args->topology);
}

hlo_status_t hlo_pjrt_TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  hlo_pjrt_topology_destroy(args->topology);
  return hlo_ok();
}

static const char* text_of(hlo_wire_bytes_t bytes, hlo_arena_t* arena) {
  return hlo_arena_strndup(arena, (const char*)bytes.data, bytes.size);
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
  const description_t from = {.platform_name = text_of(proto.platform_name, &arena),
                              .platform_version = text_of(proto.platform_version, &arena),
                              .machine = text_of(ours.machine, &arena),
                              .device_count = ours.device_count};
  HLO_TRY(hlo_arena_status(&arena));
  if (strchr(from.machine, '\n') == NULL) {
    return hlo_invalid_argument("the topology describes no processor; another hlocc serialized it");
  }
  hlo_pjrt_settings_t settings;
  HLO_TRY(init_own_settings(NULL, 0, &settings));
  return create(&from, NULL, &settings, &args->topology);
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
