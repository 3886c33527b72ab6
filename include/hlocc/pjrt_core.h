// SPDX-License-Identifier: Apache-2.0
// PJRT C API, first part: versions, errors, events, clients, devices and memories. Include
// hlocc/pjrt.h, which explains the rules of the interface.

#ifndef HLOCC_PJRT_CORE_H_
#define HLOCC_PJRT_CORE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 114

/// Bytes of `type` up to and including `last`, without trailing padding.
#define PJRT_STRUCT_SIZE(type, last) (offsetof(type, last) + sizeof(((type*)0)->last))

/// Names `struct type` and its PJRT_STRUCT_SIZE.
#define PJRT_STRUCT(type, last) \
  typedef struct type type;     \
  enum { type##_STRUCT_SIZE = PJRT_STRUCT_SIZE(struct type, last) }

/// Names an argument block and the type of the function that takes it.
#define PJRT_FUNCTION(name, last) \
  PJRT_STRUCT(name##_Args, last); \
  typedef PJRT_Error* name(name##_Args* args)

/// Likewise for the few functions that cannot fail.
#define PJRT_VOID_FUNCTION(name, last) \
  PJRT_STRUCT(name##_Args, last);      \
  typedef void name(name##_Args* args)

/// The first fields of nearly every struct.
#define PJRT_HEAD     \
  size_t struct_size; \
  PJRT_Extension_Base* extension_start

// --- Extensions, version -------------------------------------------------------------------------

/// Kinds of extension.
typedef enum {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,
  PJRT_Extension_Type_AbiVersion = 20,
  PJRT_Extension_Type_Collectives = 21,
  PJRT_Extension_Type_MultiSlice = 22,
  PJRT_Extension_Type_HostMemoryAllocator = 23,
  PJRT_Extension_Type_XlaTransform = 24,
} PJRT_Extension_Type;

/// Head of every extension; argument blocks and PJRT_Api reference chains of extensions.
struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base* next;
};
PJRT_STRUCT(PJRT_Extension_Base, next);

/// Version of the interface that the plugin implements.
struct PJRT_Api_Version {
  PJRT_HEAD;
  int major_version;  // out
  int minor_version;  // out
};
PJRT_STRUCT(PJRT_Api_Version, minor_version);

// --- Errors --------------------------------------------------------------------------------------

typedef struct PJRT_Error PJRT_Error;

/// Frees `error`; null is allowed.
struct PJRT_Error_Destroy_Args {
  PJRT_HEAD;
  PJRT_Error* error;
};
PJRT_VOID_FUNCTION(PJRT_Error_Destroy, error);

/// Text of `error`, lent until it is destroyed.
struct PJRT_Error_Message_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  const char* message;  // out
  size_t message_size;  // out
};
PJRT_VOID_FUNCTION(PJRT_Error_Message, message_size);

/// Canonical status codes.
typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

/// Receives one payload of an error.
typedef void (*PJRT_Error_PayloadVisitor)(const char* key, size_t key_size, const char* value,
                                          size_t value_size, void* user_arg);

/// Functions of an error; the first field of PJRT_Error points to them.
struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error*);
  void (*message)(const PJRT_Error*, const char**, size_t*);
  PJRT_Error_Code (*get_code)(const PJRT_Error*);
  void (*for_each_payload)(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*);
};
PJRT_STRUCT(PJRT_Error_FunctionTable, for_each_payload);

/// An error object; implementations append their own fields.
struct PJRT_Error {
  const struct PJRT_Error_FunctionTable* vtable;
};
PJRT_STRUCT(PJRT_Error, vtable);

/// Canonical code of `error`.
struct PJRT_Error_GetCode_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_Code code;  // out
};
PJRT_FUNCTION(PJRT_Error_GetCode, code);

/// Calls `visitor` for each payload attached to `error`.
struct PJRT_Error_ForEachPayload_Args {
  PJRT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
};
PJRT_FUNCTION(PJRT_Error_ForEachPayload, user_arg);

/// Creates an error object of the implementation for a callback; `message` is copied.
typedef PJRT_Error* (*PJRT_CallbackError)(PJRT_Error_Code code, const char* message,
                                          size_t message_size);

// --- Named values --------------------------------------------------------------------------------

/// Selects the member of a PJRT_NamedValue.
typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

/// A name with a value; `value_size` counts characters or elements, 1 for scalars.
struct PJRT_NamedValue {
  PJRT_HEAD;
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};
PJRT_STRUCT(PJRT_NamedValue, value_size);

// --- Plugin --------------------------------------------------------------------------------------

/// One-time set-up; called before anything else.
struct PJRT_Plugin_Initialize_Args {
  PJRT_HEAD;
};
PJRT_FUNCTION(PJRT_Plugin_Initialize, extension_start);

/// Attributes of the plugin, alive until the process ends.
struct PJRT_Plugin_Attributes_Args {
  PJRT_HEAD;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
};
PJRT_FUNCTION(PJRT_Plugin_Attributes, num_attributes);

// --- Events --------------------------------------------------------------------------------------

/// Completion of asynchronous work, with its error. The caller destroys every event that it
/// receives.
typedef struct PJRT_Event PJRT_Event;

/// Frees `event`; null is allowed.
struct PJRT_Event_Destroy_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_FUNCTION(PJRT_Event_Destroy, event);

/// Tests whether the work has finished, successfully or not.
struct PJRT_Event_IsReady_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  bool is_ready;  // out
};
PJRT_FUNCTION(PJRT_Event_IsReady, is_ready);

/// Returns the error of a finished event as a new object, null on success.
struct PJRT_Event_Error_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_FUNCTION(PJRT_Event_Error, event);

/// Blocks until the event is ready, then returns the result of PJRT_Event_Error.
struct PJRT_Event_Await_Args {
  PJRT_HEAD;
  PJRT_Event* event;
};
PJRT_FUNCTION(PJRT_Event_Await, event);

/// Called when an event is ready; owns `error`, which may be null.
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error* error, void* user_arg);

/// Calls `callback` once with its own error object when the event is ready.
struct PJRT_Event_OnReady_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};
PJRT_FUNCTION(PJRT_Event_OnReady, user_arg);

/// A pending event that the caller completes with PJRT_Event_Set.
struct PJRT_Event_Create_Args {
  PJRT_HEAD;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Event_Create, event);

/// Completes an event created by PJRT_Event_Create.
struct PJRT_Event_Set_Args {
  PJRT_HEAD;
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_FUNCTION(PJRT_Event_Set, error_message_size);

// --- Client --------------------------------------------------------------------------------------

typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_PhaseCompiler PJRT_PhaseCompiler;

/// User data that a framework attaches to a memory.
struct PJRT_Memory_FunctionTable {
  PJRT_HEAD;
  size_t instance_struct_size;
  void* (*get_user_data)(struct PJRT_Memory*, const void*);
  void (*set_user_data)(struct PJRT_Memory*, const void*, void*, void (*)(void*));
};
PJRT_STRUCT(PJRT_Memory_FunctionTable, set_user_data);

/// A memory space; implementations append their own fields.
struct PJRT_Memory {
  const struct PJRT_Memory_FunctionTable* vtable;
};
PJRT_STRUCT(PJRT_Memory, vtable);

/// Frees a value that a key-value callback returned.
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char* value);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char* value);

/// Reads the distributed key-value store, waiting at most `timeout_in_ms`.
struct PJRT_KeyValueGetCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;                                                   // out
  size_t value_size;                                             // out
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_STRUCT(PJRT_KeyValueGetCallback_Args, value_deleter_callback);

/// Likewise without waiting.
struct PJRT_KeyValueTryGetCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;                                                      // out
  size_t value_size;                                                // out
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_STRUCT(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);

/// Writes to the distributed key-value store.
struct PJRT_KeyValuePutCallback_Args {
  PJRT_HEAD;
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
};
PJRT_STRUCT(PJRT_KeyValuePutCallback_Args, user_arg);

/// Key-value callbacks: safe to call from any thread; Get blocks, TryGet returns NOT_FOUND.
typedef PJRT_Error* (*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args* args);
typedef PJRT_Error* (*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args* args);
typedef PJRT_Error* (*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args* args);

/// Creates a client from named options; the key-value callbacks connect several processes.
struct PJRT_Client_Create_Args {
  PJRT_HEAD;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void* kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;  // out
  PJRT_KeyValueTryGetCallback kv_try_get_callback;
  void* kv_try_get_user_arg;
};
PJRT_FUNCTION(PJRT_Client_Create, kv_try_get_user_arg);

/// Shuts `client` down and frees it; null is allowed.
struct PJRT_Client_Destroy_Args {
  PJRT_HEAD;
  PJRT_Client* client;
};
PJRT_FUNCTION(PJRT_Client_Destroy, client);

/// Platform name, lent by the client.
struct PJRT_Client_PlatformName_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_FUNCTION(PJRT_Client_PlatformName, platform_name_size);

/// Index of this process among those of a distributed program.
struct PJRT_Client_ProcessIndex_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int process_index;  // out
};
PJRT_FUNCTION(PJRT_Client_ProcessIndex, process_index);

/// Free-form version text, lent by the client.
struct PJRT_Client_PlatformVersion_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_FUNCTION(PJRT_Client_PlatformVersion, platform_version_size);

/// Topology lent by the client; not to be destroyed.
struct PJRT_Client_TopologyDescription_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_FUNCTION(PJRT_Client_TopologyDescription, topology);

/// All devices, including those of other processes.
struct PJRT_Client_Devices_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* devices;  // out
  size_t num_devices;           // out
};
PJRT_FUNCTION(PJRT_Client_Devices, num_devices);

/// Devices that this client can use.
struct PJRT_Client_AddressableDevices_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;           // out
};
PJRT_FUNCTION(PJRT_Client_AddressableDevices, num_addressable_devices);

/// Device with the global `id`.
struct PJRT_Client_LookupDevice_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int id;
  PJRT_Device* device;  // out
};
PJRT_FUNCTION(PJRT_Client_LookupDevice, device);

/// Addressable device with the local hardware id.
struct PJRT_Client_LookupAddressableDevice_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int local_hardware_id;
  PJRT_Device* addressable_device;  // out
};
PJRT_FUNCTION(PJRT_Client_LookupAddressableDevice, addressable_device);

/// State of a process in a distributed program.
typedef enum {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

/// State of one process of a distributed program.
struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_STRUCT(PJRT_ProcessInfo, error_message_size);

/// Reports the states of the other processes to the client.
struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  size_t num_process_infos;
};
PJRT_FUNCTION(PJRT_Client_UpdateGlobalProcessInfo, num_process_infos);

/// Memories that this client can access.
struct PJRT_Client_AddressableMemories_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;  // out
  size_t num_addressable_memories;           // out
};
PJRT_FUNCTION(PJRT_Client_AddressableMemories, num_addressable_memories);

/// A program: `format` is "mlir" (bytecode or text), "hlo" or "hlo_with_config".
struct PJRT_Program {
  PJRT_HEAD;
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
PJRT_STRUCT(PJRT_Program, format_size);

/// Compiles and loads a program; options are a serialized CompileOptionsProto.
struct PJRT_Client_Compile_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  // out
};
PJRT_FUNCTION(PJRT_Client_Compile, executable);

/// Binds a compiled executable to the client's devices.
struct PJRT_Client_Load_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
};
PJRT_FUNCTION(PJRT_Client_Load, loaded_executable);

/// Writes replicas x partitions device ids into the caller's array.
struct PJRT_Client_DefaultDeviceAssignment_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int* default_assignment;
};
PJRT_FUNCTION(PJRT_Client_DefaultDeviceAssignment, default_assignment);

/// Announces host memory that transfers will use often.
struct PJRT_Client_DmaMap_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* data;
  size_t size;
};
PJRT_FUNCTION(PJRT_Client_DmaMap, size);

/// Reverts PJRT_Client_DmaMap.
struct PJRT_Client_DmaUnmap_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* data;
};
PJRT_FUNCTION(PJRT_Client_DmaUnmap, data);

/// Frees the manager; buffers that were not filled become errors.
struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager);

/// Fills a byte range of one buffer.
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  int64_t offset;
  int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event* done_with_h2d_transfer;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_TransferData, done_with_h2d_transfer);

/// Returns one buffer, which may be used before it is filled.
struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Buffer* buffer_out;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, buffer_out);

/// Device that the buffers live on.
struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  PJRT_Device* device_out;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_Device, device_out);

/// How many buffers the manager fills.
struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  size_t buffer_count;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_BufferCount, buffer_count);

/// Bytes of one buffer on the device.
struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  size_t buffer_size;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_BufferSize, buffer_size);

/// Makes one buffer an error.
struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error_message_size);

/// Attaches free-form notes to the transfer.
struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  const PJRT_NamedValue* transfer_metadata;
  size_t num_metadata;
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, num_metadata);

/// Element types.
typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31,
  PJRT_Buffer_Type_F6E2M3FN = 32,
  PJRT_Buffer_Type_F6E3M2FN = 33,
} PJRT_Buffer_Type;

/// How long host memory given to a buffer stays untouched: for the call; until the copy is done;
/// for the buffer's life, read only; for the buffer's life, writable by the runtime.
typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

/// Which member of a PJRT_Buffer_MemoryLayout holds.
typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

/// Layout by order of dimensions, fastest first, and nested tiles.
struct PJRT_Buffer_MemoryLayout_Tiled {
  PJRT_HEAD;
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};
PJRT_STRUCT(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

/// Layout by strides in bytes, which may be negative.
struct PJRT_Buffer_MemoryLayout_Strides {
  PJRT_HEAD;
  const int64_t* byte_strides;
  size_t num_byte_strides;
};
PJRT_STRUCT(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

/// Either kind of layout.
struct PJRT_Buffer_MemoryLayout {
  PJRT_HEAD;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
};
PJRT_STRUCT(PJRT_Buffer_MemoryLayout, type);

/// Fills one buffer from a whole host array.
struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
  PJRT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Event* done_with_h2d_transfer;  // out
};
PJRT_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, done_with_h2d_transfer);

/// Buffer with storage and no defined contents.
struct PJRT_Client_CreateUninitializedBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  // out
};
PJRT_FUNCTION(PJRT_Client_CreateUninitializedBuffer, buffer);

/// Buffer without storage that carries an error to its users.
struct PJRT_Client_CreateErrorBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  // out
  const PJRT_NamedValue* payload;
  size_t num_payload;
};
PJRT_FUNCTION(PJRT_Client_CreateErrorBuffer, num_payload);

/// Buffer whose contents are supplied later through the callback handle.
struct PJRT_Client_CreateAliasBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* memory;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;                                 // out
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;  // out
};
PJRT_FUNCTION(PJRT_Client_CreateAliasBuffer, fulfill_alias_buffer_cb);

/// Gives an alias buffer its contents, or its error.
struct PJRT_Client_FulfillAliasBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer* buffer;
  PJRT_Error_Code status_code;
  const char* error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
PJRT_FUNCTION(PJRT_Client_FulfillAliasBuffer, fulfill_alias_buffer_cb);

/// Copies or borrows host memory into a device buffer.
struct PJRT_Client_BufferFromHostBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;  // out
  PJRT_Buffer* buffer;                // out
};
PJRT_FUNCTION(PJRT_Client_BufferFromHostBuffer, buffer);

/// Buffer over foreign device memory, released through the callback.
struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  void (*on_delete_callback)(void*, void*);
  void* on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer* buffer;  // out
  PJRT_Memory* memory;
};
PJRT_FUNCTION(PJRT_Client_CreateViewOfDeviceBuffer, memory);

/// Element type and dimensions.
struct PJRT_ShapeSpec {
  PJRT_HEAD;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
};
PJRT_STRUCT(PJRT_ShapeSpec, element_type);

/// Several buffers to be filled in pieces.
struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_ShapeSpec* shape_specs;
  size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout** device_layouts;
  size_t num_device_layouts;
  PJRT_Memory* memory;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;  // out
};
PJRT_FUNCTION(PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer_manager);

// --- Devices -------------------------------------------------------------------------------------

/// Global id, unique among the devices of the platform.
struct PJRT_DeviceDescription_Id_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  int id;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_Id, id);

/// Process that can address the device.
struct PJRT_DeviceDescription_ProcessIndex_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  int process_index;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_ProcessIndex, process_index);

/// Named facts about the device.
struct PJRT_DeviceDescription_Attributes_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;              // out
  const PJRT_NamedValue* attributes;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_Attributes, attributes);

/// Model name of the device.
struct PJRT_DeviceDescription_Kind_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_Kind, device_kind_size);

/// Unambiguous text for logs.
struct PJRT_DeviceDescription_DebugString_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_DebugString, debug_string_size);

/// Short text for people.
struct PJRT_DeviceDescription_ToString_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_ToString, to_string_size);

/// Description of the device, lent by it.
struct PJRT_Device_GetDescription_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;  // out
};
PJRT_FUNCTION(PJRT_Device_GetDescription, device_description);

/// Can this client command the device?
struct PJRT_Device_IsAddressable_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  bool is_addressable;  // out
};
PJRT_FUNCTION(PJRT_Device_IsAddressable, is_addressable);

/// Number of the device within the machine, -1 if there is none.
struct PJRT_Device_LocalHardwareId_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int local_hardware_id;  // out
};
PJRT_FUNCTION(PJRT_Device_LocalHardwareId, local_hardware_id);

/// Memories that the device can reach.
struct PJRT_Device_AddressableMemories_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* const* memories;  // out
  size_t num_memories;           // out
};
PJRT_FUNCTION(PJRT_Device_AddressableMemories, num_memories);

/// Memory that holds the device's data unless told otherwise.
struct PJRT_Device_DefaultMemory_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* memory;  // out
};
PJRT_FUNCTION(PJRT_Device_DefaultMemory, memory);

/// Allocator figures; all but `bytes_in_use` are optional.
struct PJRT_Device_MemoryStats_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int64_t bytes_in_use;                  // out
  int64_t peak_bytes_in_use;             // out
  bool peak_bytes_in_use_is_set;         // out
  int64_t num_allocs;                    // out
  bool num_allocs_is_set;                // out
  int64_t largest_alloc_size;            // out
  bool largest_alloc_size_is_set;        // out
  int64_t bytes_limit;                   // out
  bool bytes_limit_is_set;               // out
  int64_t bytes_reserved;                // out
  bool bytes_reserved_is_set;            // out
  int64_t peak_bytes_reserved;           // out
  bool peak_bytes_reserved_is_set;       // out
  int64_t bytes_reservable_limit;        // out
  bool bytes_reservable_limit_is_set;    // out
  int64_t largest_free_block_bytes;      // out
  bool largest_free_block_bytes_is_set;  // out
  int64_t pool_bytes;                    // out
  bool pool_bytes_is_set;                // out
  int64_t peak_pool_bytes;               // out
  bool peak_pool_bytes_is_set;           // out
  int64_t peak_allocated_bytes;          // out
  bool peak_allocated_bytes_is_set;      // out
};
PJRT_FUNCTION(PJRT_Device_MemoryStats, peak_allocated_bytes_is_set);

/// Starts the peaks of PJRT_Device_MemoryStats anew.
struct PJRT_Device_ClearMemoryStats_Args {
  PJRT_HEAD;
  PJRT_Device* device;
};
PJRT_FUNCTION(PJRT_Device_ClearMemoryStats, device);

/// Makes the outputs of an unfinished launch errors.
struct PJRT_Device_PoisonExecution_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;  // out
  const PJRT_NamedValue* payload;
  size_t num_payload;
};
PJRT_FUNCTION(PJRT_Device_PoisonExecution, num_payload);

typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;

/// Named values of the device; `attributes_deleter` is never null.
struct PJRT_Device_GetAttributes_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;                    // out
  size_t num_attributes;                                // out
  PJRT_Device_Attributes* device_attributes;            // out
  void (*attributes_deleter)(PJRT_Device_Attributes*);  // out
};
PJRT_FUNCTION(PJRT_Device_GetAttributes, attributes_deleter);

typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;

/// Marks a span of asynchronous work for tools.
struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  PJRT_HEAD;
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;  // out
};
PJRT_FUNCTION(PJRT_Device_CreateAsyncTrackingEvent, event);

/// Ends the span.
struct PJRT_AsyncTrackingEvent_Destroy_Args {
  PJRT_HEAD;
  PJRT_AsyncTrackingEvent* event;
};
PJRT_FUNCTION(PJRT_AsyncTrackingEvent_Destroy, event);

// --- Memories ------------------------------------------------------------------------------------

/// Id of the memory, unique among the client's memories.
struct PJRT_Memory_Id_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  int id;  // out
};
PJRT_FUNCTION(PJRT_Memory_Id, id);

/// Name of the kind of memory.
struct PJRT_Memory_Kind_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* kind;  // out
  size_t kind_size;  // out
};
PJRT_FUNCTION(PJRT_Memory_Kind, kind_size);

/// Number of the kind of memory.
struct PJRT_Memory_Kind_Id_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  int kind_id;  // out
};
PJRT_FUNCTION(PJRT_Memory_Kind_Id, kind_id);

/// Unambiguous text for logs.
struct PJRT_Memory_DebugString_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_FUNCTION(PJRT_Memory_DebugString, debug_string_size);

/// Short text for people.
struct PJRT_Memory_ToString_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_FUNCTION(PJRT_Memory_ToString, to_string_size);

/// Devices that can reach the memory.
struct PJRT_Memory_AddressableByDevices_Args {
  PJRT_HEAD;
  PJRT_Memory* memory;
  PJRT_Device* const* devices;  // out
  size_t num_devices;           // out
};
PJRT_FUNCTION(PJRT_Memory_AddressableByDevices, num_devices);

#ifdef __cplusplus
}
#endif

#endif  // HLOCC_PJRT_CORE_H_
