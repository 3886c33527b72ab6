// SPDX-License-Identifier: Apache-2.0
// PJRT C API, second part: executables, buffers and topologies. Include hlocc/pjrt.h.

#ifndef HLOCC_PJRT_PROGRAM_H_
#define HLOCC_PJRT_PROGRAM_H_

#include "hlocc/pjrt_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Executables ---------------------------------------------------------------------------------

typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;

/// A bag of extra arguments for executions.
struct PJRT_ExecuteContext_Create_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;  // out
};
PJRT_FUNCTION(PJRT_ExecuteContext_Create, context);

/// Frees `context`; null is allowed.
struct PJRT_ExecuteContext_Destroy_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;
};
PJRT_FUNCTION(PJRT_ExecuteContext_Destroy, context);

/// Frees `executable`; null is allowed.
struct PJRT_Executable_Destroy_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
};
PJRT_FUNCTION(PJRT_Executable_Destroy, executable);

/// Deletes and frees `executable`; null is allowed.
struct PJRT_LoadedExecutable_Destroy_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_FUNCTION(PJRT_LoadedExecutable_Destroy, executable);

/// The compiled program as an object of its own.
struct PJRT_LoadedExecutable_GetExecutable_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_GetExecutable, executable);

typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;

/// Serialized DeviceAssignmentProto; free with the deleter.
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized*);  // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter);

/// Name of the program's module.
struct PJRT_Executable_Name_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* executable_name;  // out
  size_t executable_name_size;  // out
};
PJRT_FUNCTION(PJRT_Executable_Name, executable_name_size);

/// Replicas that the program was compiled for.
struct PJRT_Executable_NumReplicas_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_replicas;  // out
};
PJRT_FUNCTION(PJRT_Executable_NumReplicas, num_replicas);

/// Partitions that the program was compiled for.
struct PJRT_Executable_NumPartitions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_partitions;  // out
};
PJRT_FUNCTION(PJRT_Executable_NumPartitions, num_partitions);

/// Place of a device in a device assignment.
struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
};
typedef struct PJRT_LogicalDeviceIds PJRT_LogicalDeviceIds;

/// Devices the program runs on, in launch order.
struct PJRT_LoadedExecutable_AddressableDevices_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;           // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_AddressableDevices, num_addressable_devices);

/// Replica and partition of each of those devices.
struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;  // out
  size_t num_addressable_device_logical_ids;              // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
              num_addressable_device_logical_ids);

/// The program after optimisation: ask with null `code` for the size, then again.
struct PJRT_Executable_OptimizedProgram_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  PJRT_Program* program;  // out
};
PJRT_FUNCTION(PJRT_Executable_OptimizedProgram, program);

/// Drops the program; only IsDeleted and Destroy may follow.
struct PJRT_LoadedExecutable_Delete_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_FUNCTION(PJRT_LoadedExecutable_Delete, executable);

/// Was PJRT_LoadedExecutable_Delete called?
struct PJRT_LoadedExecutable_IsDeleted_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  bool is_deleted;  // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_IsDeleted, is_deleted);

/// A piece of memory with its own deleter.
struct PJRT_Chunk {
  void* data;
  size_t size;
  void (*deleter)(void*, void*);
  void* deleter_arg;
};
typedef struct PJRT_Chunk PJRT_Chunk;

typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;

/// Takes one chunk of a send op; calls the chunk's deleter when done with it.
typedef PJRT_Error* (*PJRT_SendCallback)(PJRT_Chunk* chunk, PJRT_CallbackError* callback_error,
                                         size_t total_size_in_bytes, bool done, void* user_arg);

/// Feeds a recv op through `stream`, which it owns.
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream* stream, void* user_arg);

/// Callback for a send op on a channel.
struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_SendCallback send_callback;
};
PJRT_STRUCT(PJRT_SendCallbackInfo, send_callback);

/// Callback for a recv op on a channel.
struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_RecvCallback recv_callback;
};
PJRT_STRUCT(PJRT_RecvCallbackInfo, recv_callback);

/// Receives a value from inside a running program.
typedef void (*PJRT_HloOutputCallback)(int64_t replica_id, int64_t partition_id, const void* data,
                                       const int64_t* shape_dims, size_t shape_num_dims,
                                       PJRT_Buffer_Type shape_element_type, int64_t operand_index,
                                       void* user_arg);

/// Callback that receives values from inside a program.
struct PJRT_HloOutputCallbackInfo {
  void* user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
};
PJRT_STRUCT(PJRT_HloOutputCallbackInfo, num_operands);

typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;

/// Options of one launch; callback lists are [device][op].
struct PJRT_ExecuteOptions {
  PJRT_HEAD;
  PJRT_SendCallbackInfo** send_callbacks;
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
};
PJRT_STRUCT(PJRT_ExecuteOptions, num_hlo_output_callbacks);

/// Launches the program on one or all of its devices; lists are [device][index].
struct PJRT_LoadedExecutable_Execute_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer** const* output_lists;
  PJRT_Event** device_complete_events;
  PJRT_Device* execute_device;
};
PJRT_FUNCTION(PJRT_LoadedExecutable_Execute, execute_device);

/// Results on each device.
struct PJRT_Executable_NumOutputs_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;  // out
};
PJRT_FUNCTION(PJRT_Executable_NumOutputs, num_outputs);

/// Bytes of machine code.
struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  int64_t size_in_bytes;  // out
};
PJRT_FUNCTION(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes);

/// Text that is equal for equal programs and options.
struct PJRT_Executable_Fingerprint_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_FUNCTION(PJRT_Executable_Fingerprint, executable_fingerprint_size);

/// Named cost figures, lent by the executable.
struct PJRT_Executable_GetCostAnalysis_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_properties;              // out
  const PJRT_NamedValue* properties;  // out
};
PJRT_FUNCTION(PJRT_Executable_GetCostAnalysis, properties);

/// Memory that one execution needs.
struct PJRT_Executable_GetCompiledMemoryStats_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;       // out
  int64_t argument_size_in_bytes;             // out
  int64_t output_size_in_bytes;               // out
  int64_t alias_size_in_bytes;                // out
  int64_t temp_size_in_bytes;                 // out
  int64_t host_generated_code_size_in_bytes;  // out
  int64_t host_argument_size_in_bytes;        // out
  int64_t host_output_size_in_bytes;          // out
  int64_t host_alias_size_in_bytes;           // out
  int64_t host_temp_size_in_bytes;            // out
  int64_t peak_memory_in_bytes;               // out
  int64_t total_size_in_bytes;                // out
  int64_t total_allocation_bytes;             // out
  int64_t indefinite_allocations;             // out
  int64_t peak_unpadded_heap_bytes;           // out
};
PJRT_FUNCTION(PJRT_Executable_GetCompiledMemoryStats, peak_unpadded_heap_bytes);

/// Element type of each result.
struct PJRT_Executable_OutputElementTypes_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;  // out
  size_t num_output_types;         // out
};
PJRT_FUNCTION(PJRT_Executable_OutputElementTypes, num_output_types);

/// Dimensions of all results in one list, with each one's rank.
struct PJRT_Executable_OutputDimensions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const int64_t* dims;      // out
  const size_t* dim_sizes;  // out
};
PJRT_FUNCTION(PJRT_Executable_OutputDimensions, dim_sizes);

/// Memory kind of each parameter.
struct PJRT_Executable_ParameterMemoryKinds_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_FUNCTION(PJRT_Executable_ParameterMemoryKinds, memory_kind_sizes);

/// Memory kind of each result.
struct PJRT_Executable_OutputMemoryKinds_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;  // out
  const size_t* memory_kind_sizes;  // out
};
PJRT_FUNCTION(PJRT_Executable_OutputMemoryKinds, memory_kind_sizes);

typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;

/// Bytes for PJRT_Executable_DeserializeAndLoad; free with the deleter.
struct PJRT_Executable_Serialize_Args {
  PJRT_HEAD;
  const PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable*);  // out
};
PJRT_FUNCTION(PJRT_Executable_Serialize, serialized_executable_deleter);

/// Serialized CompileOptionsProto the program was compiled with.
struct PJRT_Executable_GetCompileOptions_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions*);  // out
};
PJRT_FUNCTION(PJRT_Executable_GetCompileOptions, serialized_compile_options_deleter);

/// Options of loading a serialized executable.
struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
};
PJRT_STRUCT(PJRT_LoadOptions, multi_slice_config);

/// Loads what PJRT_Executable_Serialize wrote.
struct PJRT_Executable_DeserializeAndLoad_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;
};
PJRT_FUNCTION(PJRT_Executable_DeserializeAndLoad, load_options);

/// Older form of PJRT_Executable_Fingerprint.
struct PJRT_LoadedExecutable_Fingerprint_Args {
  PJRT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_FUNCTION(PJRT_LoadedExecutable_Fingerprint, executable_fingerprint_size);

// --- Buffers -------------------------------------------------------------------------------------

/// Deletes and frees `buffer`; null is allowed.
struct PJRT_Buffer_Destroy_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_FUNCTION(PJRT_Buffer_Destroy, buffer);

/// Element type.
struct PJRT_Buffer_ElementType_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;  // out
};
PJRT_FUNCTION(PJRT_Buffer_ElementType, type);

/// Dimensions, lent by the buffer.
struct PJRT_Buffer_Dimensions_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* dims;  // out
  size_t num_dims;      // out
};
PJRT_FUNCTION(PJRT_Buffer_Dimensions, num_dims);

/// Dimensions with the present size of dynamic ones.
struct PJRT_Buffer_UnpaddedDimensions_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* unpadded_dims;  // out
  size_t num_dims;               // out
};
PJRT_FUNCTION(PJRT_Buffer_UnpaddedDimensions, num_dims);

/// Which dimensions are dynamic.
struct PJRT_Buffer_DynamicDimensionIndices_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  const size_t* dynamic_dim_indices;  // out
  size_t num_dynamic_dims;            // out
};
PJRT_FUNCTION(PJRT_Buffer_DynamicDimensionIndices, num_dynamic_dims);

/// Layout on the device, lent by the buffer.
struct PJRT_Buffer_GetMemoryLayout_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;  // out
};
PJRT_FUNCTION(PJRT_Buffer_GetMemoryLayout, layout);

/// Copies to host memory; with null `dst` answers the size needed.
struct PJRT_Buffer_ToHostBuffer_Args {
  PJRT_HEAD;
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Buffer_ToHostBuffer, event);

/// Bytes of storage on the device.
struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  size_t on_device_size_in_bytes;  // out
};
PJRT_FUNCTION(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes);

/// Gives the storage back once running work is done with it.
struct PJRT_Buffer_Delete_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_FUNCTION(PJRT_Buffer_Delete, buffer);

/// Was the storage deleted or donated?
struct PJRT_Buffer_IsDeleted_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  bool is_deleted;  // out
};
PJRT_FUNCTION(PJRT_Buffer_IsDeleted, is_deleted);

/// Copies a byte range of the storage to the host.
struct PJRT_Buffer_CopyRawToHost_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Buffer_CopyRawToHost, event);

/// Supplies the destination of PJRT_Buffer_CopyRawToHostFuture.
struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
};
PJRT_STRUCT(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

/// The same, to a destination that is supplied later.
struct PJRT_Buffer_CopyRawToHostFuture_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;                                                              // out
  void* callback_data;                                                            // out
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*);  // out
};
PJRT_FUNCTION(PJRT_Buffer_CopyRawToHostFuture, future_ready_callback);

/// Copies to another device of the client.
struct PJRT_Buffer_CopyToDevice_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_FUNCTION(PJRT_Buffer_CopyToDevice, dst_buffer);

/// Copies to another memory of the client.
struct PJRT_Buffer_CopyToMemory_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_FUNCTION(PJRT_Buffer_CopyToMemory, dst_buffer);

/// The same storage under another type and shape.
struct PJRT_Buffer_Bitcast_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type element_type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;  // out
};
PJRT_FUNCTION(PJRT_Buffer_Bitcast, out_buffer);

/// May the host read the storage directly?
struct PJRT_Buffer_IsOnCpu_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  bool is_on_cpu;  // out
};
PJRT_FUNCTION(PJRT_Buffer_IsOnCpu, is_on_cpu);

/// Device that holds the buffer.
struct PJRT_Buffer_Device_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* device;  // out
};
PJRT_FUNCTION(PJRT_Buffer_Device, device);

/// Memory that holds the buffer.
struct PJRT_Buffer_Memory_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;  // out
};
PJRT_FUNCTION(PJRT_Buffer_Memory, memory);

/// Event of the contents being ready; the caller destroys it.
struct PJRT_Buffer_ReadyEvent_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Buffer_ReadyEvent, event);

/// Address of the storage as a number.
struct PJRT_Buffer_UnsafePointer_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  uintptr_t buffer_pointer;  // out
};
PJRT_FUNCTION(PJRT_Buffer_UnsafePointer, buffer_pointer);

/// Holds the storage for a foreign user.
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_FUNCTION(PJRT_Buffer_IncreaseExternalReferenceCount, buffer);

/// Takes one such hold back.
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_FUNCTION(PJRT_Buffer_DecreaseExternalReferenceCount, buffer);

/// Address of the storage, valid while an external reference is held.
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* device_memory_ptr;  // out
};
PJRT_FUNCTION(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr);

/// Signals the dependency of PJRT_Buffer_DonateWithControlDependency.
struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_STRUCT(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

/// Moves the storage to a buffer that is ready only after a signal.
struct PJRT_Buffer_DonateWithControlDependency_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  void* callback_data;                                                                        // out
  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*);  // out
  PJRT_Buffer* out_buffer;                                                                    // out
};
PJRT_FUNCTION(PJRT_Buffer_DonateWithControlDependency, out_buffer);

// --- Streams of chunks ---------------------------------------------------------------------------

/// Frees `stream`; null is allowed.
struct PJRT_CopyToDeviceStream_Destroy_Args {
  PJRT_HEAD;
  PJRT_CopyToDeviceStream* stream;
};
PJRT_FUNCTION(PJRT_CopyToDeviceStream_Destroy, stream);

/// Appends a chunk, which the stream then owns.
struct PJRT_CopyToDeviceStream_AddChunk_Args {
  PJRT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  PJRT_Chunk* chunk;
  PJRT_Event* transfer_complete;  // out
};
PJRT_FUNCTION(PJRT_CopyToDeviceStream_AddChunk, transfer_complete);

/// Bytes that the stream expects.
struct PJRT_CopyToDeviceStream_TotalBytes_Args {
  PJRT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t total_bytes;  // out
};
PJRT_FUNCTION(PJRT_CopyToDeviceStream_TotalBytes, total_bytes);

/// Chunks must be multiples of this many bytes.
struct PJRT_CopyToDeviceStream_GranuleSize_Args {
  PJRT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t granule_size_in_bytes;  // out
};
PJRT_FUNCTION(PJRT_CopyToDeviceStream_GranuleSize, granule_size_in_bytes);

/// Bytes that have arrived so far.
struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
  PJRT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t current_bytes;  // out
};
PJRT_FUNCTION(PJRT_CopyToDeviceStream_CurrentBytes, current_bytes);

// --- Topology ------------------------------------------------------------------------------------

/// Describes devices without a client.
struct PJRT_TopologyDescription_Create_Args {
  PJRT_HEAD;
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_Create, topology);

/// Frees `topology`; null is allowed.
struct PJRT_TopologyDescription_Destroy_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
};
PJRT_FUNCTION(PJRT_TopologyDescription_Destroy, topology);

/// Free-form version text, lent by the topology.
struct PJRT_TopologyDescription_PlatformVersion_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_PlatformVersion, platform_version_size);

/// Platform name, lent by the topology.
struct PJRT_TopologyDescription_PlatformName_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_PlatformName, platform_name_size);

/// Descriptions of all devices, in a fixed order.
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;  // out
  size_t num_descriptions;                      // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_GetDeviceDescriptions, num_descriptions);

typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;

/// Bytes that identify the topology; free with the deleter.
struct PJRT_TopologyDescription_Serialize_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;                                   // out
  size_t serialized_bytes_size;                                   // out
  PJRT_SerializedTopology* serialized_topology;                   // out
  void (*serialized_topology_deleter)(PJRT_SerializedTopology*);  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_Serialize, serialized_topology_deleter);

/// Inverse of PJRT_TopologyDescription_Serialize.
struct PJRT_TopologyDescription_Deserialize_Args {
  PJRT_HEAD;
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_Deserialize, topology);

/// Named facts about the topology.
struct PJRT_TopologyDescription_Attributes_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;              // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_Attributes, num_attributes);

/// Hash of the topology.
struct PJRT_TopologyDescription_Fingerprint_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_Fingerprint, fingerprint);

/// Serialized ShapeProto of an array as it is kept in a memory.
struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;
  const char* serialized_shape;                   // out
  size_t serialized_shape_size;                   // out
  void (*serialized_shape_deleter)(const char*);  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, serialized_shape_deleter);

/// Numbers of the kinds of memory.
struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;  // out
  size_t num_memory_space_kind_ids;  // out
};
PJRT_FUNCTION(PJRT_TopologyDescription_GetMemorySpaceKindIds, num_memory_space_kind_ids);

/// Compiles for a topology, without loading.
struct PJRT_Compile_Args {
  PJRT_HEAD;
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;  // out
};
PJRT_FUNCTION(PJRT_Compile, executable);

#ifdef __cplusplus
}
#endif

#endif  // HLOCC_PJRT_PROGRAM_H_
