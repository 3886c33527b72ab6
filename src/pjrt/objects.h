// SPDX-License-Identifier: Apache-2.0
// The definitions of PJRT's opaque types: thin wrappers of the runtime's objects, which own the
// strings and arrays that the interface lends to its callers. All but PJRT_Buffer and
// PJRT_LoadedExecutable are immutable.
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/observer.h"
#include "base/shape.h"
#include "base/strbuf.h"
#include "base/threads.h"
#include "compiler/cache.h"
#include "compiler/compile_options.h"
#include "ffi/types.h"
#include "pjrt/call.h"
#include "runtime/buffer.h"
#include "runtime/client.h"
#include "runtime/event.h"
#include "runtime/executable.h"

// --- Settings ------------------------------------------------------------------------------------

/// The job of several processes that a client is part of, and its key-value store.
typedef struct hlo_pjrt_job {
  uint32_t process_index, process_count;
  PJRT_KeyValueGetCallback get;
  PJRT_KeyValuePutCallback put;
  void *get_arg, *put_arg;
} hlo_pjrt_job_t;

/// Lets the tuner (NULL: none) share its work through the store, if there is one. The job lives as
/// long as the tuner.
void hlo_pjrt_job_share(hlo_pjrt_job_t* job, struct hlo_tuner* tuner);

/// Configuration, observer and platform text of a client, or of a topology without a client.
typedef struct hlo_pjrt_settings {
  hlo_config_t config;
  hlo_pjrt_job_t job;
  hlo_observer_t observer;       // started only by clients
  hlo_compile_cache_t* cache;    // only of clients
  const hlo_client_t* client;    // NULL: of a topology
  const char* platform_version;  // in the configuration's arena
} hlo_pjrt_settings_t;

/// Reads create options; unknown ones are ignored. may_be_absent: the option cpu may name a
/// processor that this machine cannot run.
/// errors : INVALID_ARGUMENT for a bad value, UNIMPLEMENTED for several processes unless the option
/// processes lets them be apart
/// owner  : hlo_pjrt_settings_deinit(); nothing on failure
hlo_status_t hlo_pjrt_settings_init(const PJRT_NamedValue* options, size_t count,
                                    bool may_be_absent,
                                    hlo_pjrt_settings_t* out_settings) HLO_MUST_USE;
void hlo_pjrt_settings_deinit(hlo_pjrt_settings_t* settings);

// --- Devices and memories ------------------------------------------------------------------------

struct PJRT_MemoryDescription {
  hlo_memory_kind_t kind;
};

struct PJRT_DeviceDescription {
  int32_t id;
  char to_string[32];
  char debug_string[32];
};

/// owner  : itself, or the client that lends it
struct PJRT_TopologyDescription {
  hlo_arena_t arena;
  const char* platform_name;
  const char* platform_version;
  const char* machine;  // description for which programs are compiled (hlo_cpu_find())
  uint32_t device_count;
  PJRT_NamedValue* attributes;
  size_t attribute_count;
  const hlo_pjrt_settings_t* settings;  // of the client, or its own
  hlo_pjrt_settings_t own_settings;     // unless it belongs to a client
  PJRT_DeviceDescription** descriptions;
  hlo_strbuf_t serialized;
  uint64_t fingerprint;
};

struct PJRT_Device {
  PJRT_Client* client;
  hlo_device_t* device;
  PJRT_DeviceDescription* description;
  PJRT_Memory** memories;  // HLO_MEMORY_KIND_COUNT of them, by kind
};

/// A value that a framework attached to a memory.
typedef struct hlo_pjrt_user_data {
  struct hlo_pjrt_user_data* next;
  const void* key;
  void* data;
  void (*destroy)(void* data);
} hlo_pjrt_user_data_t;

/// The interface defines the beginning of struct PJRT_Memory; this is the whole struct.
typedef struct hlo_pjrt_memory {
  PJRT_Memory base;
  hlo_memory_t* memory;
  PJRT_Device* device;
  hlo_pjrt_user_data_t* user_data;  // under the client's user_data_lock
  char text[64];
} hlo_pjrt_memory_t;

struct PJRT_Client {
  hlo_client_t* client;
  hlo_pjrt_settings_t settings;
  hlo_arena_t arena;
  PJRT_TopologyDescription* topology;
  PJRT_Device** devices;
  PJRT_Memory** memories;  // by device
  uint32_t device_count;
  hlo_mutex_t user_data_lock;
};

/// Returns the wrappers of runtime objects of this client.
PJRT_Device* hlo_pjrt_device(PJRT_Client* client, const hlo_device_t* device);
PJRT_Memory* hlo_pjrt_memory(PJRT_Client* client, const hlo_memory_t* memory);

/// Returns the runtime object, or the client, of a wrapper.
hlo_memory_t* hlo_pjrt_memory_target(PJRT_Memory* memory);
PJRT_Client* hlo_pjrt_memory_client(PJRT_Memory* memory);
const char* hlo_pjrt_memory_text(PJRT_Memory* memory);

/// Returns `memory`, or the default memory of `device` if `memory` is null.
/// errors : INVALID_ARGUMENT if both are null
hlo_status_t hlo_pjrt_placement(PJRT_Device* device, PJRT_Memory* memory,
                                PJRT_Memory** out_memory) HLO_MUST_USE;

/// Creates the wrappers of `client`'s devices and memories in its arena; destroyed with the client.
hlo_status_t hlo_pjrt_devices_create(PJRT_Client* client) HLO_MUST_USE;
void hlo_pjrt_devices_destroy(PJRT_Client* client);

/// Describes the devices of a client, whose settings are lent.
hlo_status_t hlo_pjrt_topology_create(const hlo_pjrt_settings_t* settings, uint32_t device_count,
                                      PJRT_TopologyDescription** out_topology) HLO_MUST_USE;
void hlo_pjrt_topology_destroy(PJRT_TopologyDescription* topology);

// --- Executions ---------------------------------------------------------------------------------

struct PJRT_ExecuteContext {
  hlo_ffi_user_data_t user_data;  // the objects are the framework's
};

// --- Buffers -------------------------------------------------------------------------------------

/// Counted, because a transfer manager or an alias handle may outlive the framework's handle.
/// threads: safe
struct PJRT_Buffer {
  atomic_int count;
  hlo_buffer_t* buffer;
  PJRT_Client* client;
};

/// Creates a wrapper without a buffer, to be set later.
hlo_status_t hlo_pjrt_buffer_reserve(PJRT_Client* client, PJRT_Buffer** out_buffer) HLO_MUST_USE;
/// owner  : takes `buffer`, also on error
hlo_status_t hlo_pjrt_buffer_create(PJRT_Client* client, hlo_buffer_t* buffer,
                                    PJRT_Buffer** out_buffer) HLO_MUST_USE;
PJRT_Buffer* hlo_pjrt_buffer_retain(PJRT_Buffer* buffer);
void hlo_pjrt_buffer_release(PJRT_Buffer* buffer);

/// Converts the shape of an argument block; `dims` are lent.
/// errors : INVALID_ARGUMENT for unknown types, negative dimensions, sizes that overflow
hlo_status_t hlo_pjrt_shape(PJRT_Buffer_Type type, const int64_t* dims, size_t rank,
                            hlo_buffer_shape_t* out_shape) HLO_MUST_USE;

// --- Layouts -------------------------------------------------------------------------------------

/// Returns the order of dimensions in `layout`; the order of `shape` if `layout` is null.
/// errors : INVALID_ARGUMENT, UNIMPLEMENTED for tiles and gaps
hlo_status_t hlo_pjrt_layout_order(const PJRT_Buffer_MemoryLayout* layout,
                                   const hlo_buffer_shape_t* shape,
                                   int64_t* out_minor_to_major) HLO_MUST_USE;

/// Likewise for an array on the device, and stores the order in `shape`: `order` has room for
/// HLO_SHAPE_RANK_LIMIT dimensions and lives as long as `shape`.
hlo_status_t hlo_pjrt_shape_take_layout(const PJRT_Buffer_MemoryLayout* layout,
                                        hlo_buffer_shape_t* shape, int64_t* order) HLO_MUST_USE;

// --- Executables ---------------------------------------------------------------------------------

/// A compiled program with the answers to all queries of the interface.
struct PJRT_Executable {
  hlo_executable_t* executable;
  hlo_arena_t arena;
  PJRT_Buffer_Type* result_types;
  int64_t* result_dims;  // of all results, concatenated
  size_t* result_ranks;
  const char** result_memory_kinds;
  size_t* result_memory_kind_sizes;
  const char** argument_memory_kinds;
  size_t* argument_memory_kind_sizes;
  PJRT_Layouts_MemoryLayout** result_layouts;
  PJRT_Layouts_MemoryLayout** argument_layouts;
  // Serialized OpShardings, with their sizes; null: the program is not partitioned. Those of the
  // results are one each, or one of the empty tuple that a program without results returns.
  size_t result_sharding_count;
  const char** result_shardings;
  size_t* result_sharding_sizes;
  const char** argument_shardings;
  size_t* argument_sharding_sizes;
  PJRT_NamedValue* costs;
  size_t cost_count;
  char fingerprint[24];
};

struct PJRT_LoadedExecutable {
  PJRT_Client* client;
  hlo_loaded_t* loaded;
  hlo_arena_t arena;
  PJRT_Device** devices;
  PJRT_LogicalDeviceIds* logical_ids;
  uint32_t device_count;
  char fingerprint[24];
};

/// owner  : takes `executable`, also on error
hlo_status_t hlo_pjrt_executable_create(hlo_executable_t* executable,
                                        PJRT_Executable** out_executable) HLO_MUST_USE;

/// Fails if the topology lacks devices that the options ask for.
hlo_status_t hlo_pjrt_check_devices(const PJRT_TopologyDescription* topology,
                                    const hlo_compile_options_t* options) HLO_MUST_USE;

/// Fills `config` for compilations with `options` for a machine (null: that of `settings`).
void hlo_pjrt_compile_config(const hlo_pjrt_settings_t* settings, const char* machine,
                             const hlo_compile_options_t* options, hlo_compile_config_t* config);

/// Compiles the source, or takes its code from the cache, with the counts of `options`. machine:
/// the description of the one to compile for; null: that of `settings`.
hlo_status_t hlo_pjrt_compile_bytes(const hlo_serialized_t* program,
                                    const hlo_pjrt_settings_t* settings, const char* machine,
                                    const hlo_compile_options_t* options,
                                    hlo_executable_t** out_executable) HLO_MUST_USE;

/// Binds `executable` (retained) to the devices in `options`.
hlo_status_t hlo_pjrt_load(PJRT_Client* client, hlo_executable_t* executable,
                           const hlo_compile_options_t* options,
                           PJRT_LoadedExecutable** out_loaded) HLO_MUST_USE;

struct PJRT_Layouts_MemoryLayout {
  bool is_lent;  // belongs to an executable
  char text[];   // "{1,0}"
};

/// Creates a layout object of dense arrays (null order: row-major) in `arena` (lent, then) or, if
/// that is null, on the heap.
hlo_status_t hlo_pjrt_layout_create(size_t rank, const int64_t* minor_to_major, hlo_arena_t* arena,
                                    PJRT_Layouts_MemoryLayout** out_layout) HLO_MUST_USE;

// --- Strings -------------------------------------------------------------------------------------

/// Lends a zero-terminated string in the interface's form.
static inline void hlo_pjrt_lend(const char* text, const char** out_text, size_t* out_size) {
  *out_text = text;
  *out_size = strlen(text);
}
