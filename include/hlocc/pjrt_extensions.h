// SPDX-License-Identifier: Apache-2.0
// Extensions of the PJRT C API: structs that hang on PJRT_Api.extension_start, each recognised by
// the type in its head. Names, layouts and numbers are those of the public interface;
// src/pjrt/abi_test.c checks every one of them.

#ifndef HLOCC_PJRT_EXTENSIONS_H_
#define HLOCC_PJRT_EXTENSIONS_H_

#include "hlocc/pjrt.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- Layouts -------------------------------------------------------------------------------------

typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

/// Frees `layout`.
struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
};
PJRT_FUNCTION(PJRT_Layouts_MemoryLayout_Destroy, layout);

/// Text of the layout; free with the deleter.
struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  PJRT_HEAD;
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_Layouts_SerializedLayout* serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout*);  // out
};
PJRT_FUNCTION(PJRT_Layouts_MemoryLayout_Serialize, serialized_layout_deleter);

/// Layout of a buffer; the caller destroys it.
struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_FUNCTION(PJRT_Layouts_PJRT_Buffer_MemoryLayout, layout);

/// Layout that the client gives to an array unless told otherwise.
struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_FUNCTION(PJRT_Layouts_PJRT_Client_GetDefaultLayout, layout);

/// The same, asked of a topology.
struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  PJRT_HEAD;
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;  // out
};
PJRT_FUNCTION(PJRT_Layouts_PJRT_Topology_GetDefaultLayout, layout);

/// Layouts of the results, lent by the executable.
struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;                   // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_FUNCTION(PJRT_Layouts_PJRT_Executable_GetOutputLayouts, layouts);

/// Layouts of the parameters, lent by the executable.
struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;                // out
  PJRT_Layouts_MemoryLayout** layouts;  // out
};
PJRT_FUNCTION(PJRT_Layouts_PJRT_Executable_GetParameterLayouts, layouts);

/// Layouts of arrays in memory.
struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Layouts_MemoryLayout_Destroy* PJRT_Layouts_MemoryLayout_Destroy;
  PJRT_Layouts_MemoryLayout_Serialize* PJRT_Layouts_MemoryLayout_Serialize;
  PJRT_Layouts_PJRT_Client_GetDefaultLayout* PJRT_Layouts_PJRT_Client_GetDefaultLayout;
  PJRT_Layouts_PJRT_Buffer_MemoryLayout* PJRT_Layouts_PJRT_Buffer_MemoryLayout;
  PJRT_Layouts_PJRT_Topology_GetDefaultLayout* PJRT_Layouts_PJRT_Topology_GetDefaultLayout;
  PJRT_Layouts_PJRT_Executable_GetOutputLayouts* PJRT_Layouts_PJRT_Executable_GetOutputLayouts;
  PJRT_Layouts_PJRT_Executable_GetParameterLayouts*
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts;
};
PJRT_STRUCT(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetParameterLayouts);

// --- Memory descriptions -------------------------------------------------------------------------

typedef struct PJRT_MemoryDescription PJRT_MemoryDescription;

/// Kinds of memory that a device can reach.
struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  PJRT_HEAD;
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;  // out
  size_t num_memory_descriptions;                            // out
  size_t default_memory_index;                               // out
};
PJRT_FUNCTION(PJRT_DeviceDescription_MemoryDescriptions, default_memory_index);

/// Name and number of a kind of memory.
struct PJRT_MemoryDescription_Kind_Args {
  PJRT_HEAD;
  const PJRT_MemoryDescription* memory_description;
  const char* kind;  // out
  size_t kind_size;  // out
  int kind_id;       // out
};
PJRT_FUNCTION(PJRT_MemoryDescription_Kind, kind_id);

/// Kinds of memory, known without a client.
struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_DeviceDescription_MemoryDescriptions* PJRT_DeviceDescription_MemoryDescriptions;
  PJRT_MemoryDescription_Kind* PJRT_MemoryDescription_Kind;
};
PJRT_STRUCT(PJRT_MemoryDescriptions_Extension, PJRT_MemoryDescription_Kind);

// --- FFI -----------------------------------------------------------------------------------------

/// How to destroy user data of a registered type; the rest is reserved.
struct PJRT_FFI_Type_Info {
  void (*deleter)(void*);
  void (*serialize)(void);
  void (*deserialize)(void);
};
typedef struct PJRT_FFI_Type_Info PJRT_FFI_Type_Info;

/// Registers a type of user data; a `type_id` of 0 asks for a new one.
struct PJRT_FFI_Type_Register_Args {
  PJRT_HEAD;
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;
  PJRT_FFI_Type_Info* type_info;
};
PJRT_FUNCTION(PJRT_FFI_Type_Register, type_info);

/// User data with its registered type.
struct PJRT_FFI_UserData {
  int64_t type_id;
  void* data;
};
typedef struct PJRT_FFI_UserData PJRT_FFI_UserData;

/// Hands user data to the executions that use `context`.
struct PJRT_FFI_UserData_Add_Args {
  PJRT_HEAD;
  PJRT_ExecuteContext* context;
  PJRT_FFI_UserData user_data;
};
PJRT_FUNCTION(PJRT_FFI_UserData_Add, user_data);

/// What a handler promises.
typedef enum PJRT_FFI_Handler_TraitsBits {
  PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
} PJRT_FFI_Handler_TraitsBits;

/// Registers a custom-call handler under a target name.
struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
};
PJRT_FUNCTION(PJRT_FFI_Register_Handler, traits);

/// Custom-call handlers and user data for them.
struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_FFI_Type_Register* type_register;
  PJRT_FFI_UserData_Add* user_data_add;
  PJRT_FFI_Register_Handler* register_handler;
};
PJRT_STRUCT(PJRT_FFI_Extension, register_handler);

// --- Custom partitioners -------------------------------------------------------------------------

/// Bytes or text, lent.
typedef struct JAX_CustomCallPartitioner_string {
  const char* data;
  size_t size;
} JAX_CustomCallPartitioner_string;

/// An operand or the result of a custom call: serialized ShapeProto and OpSharding.
typedef struct JAX_CustomCallPartitioner_aval {
  JAX_CustomCallPartitioner_string shape;
  bool has_sharding;
  JAX_CustomCallPartitioner_string sharding;
} JAX_CustomCallPartitioner_aval;

/// The head of the argument blocks below. `cleanup_fn` frees what a callback returns.
typedef struct JAX_CustomCallPartitioner_version_and_error {
  int64_t api_version;
  void* data;                                  // out
  void (*cleanup_fn)(void* data);              // out
  bool has_error;                              // out
  PJRT_Error_Code code;                        // out
  JAX_CustomCallPartitioner_string error_msg;  // out
} JAX_CustomCallPartitioner_version_and_error;

/// Makes the program of one device for a call, and says how it wants its values.
typedef struct JAX_CustomCallPartitioner_Partition_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval* op_args;
  JAX_CustomCallPartitioner_aval op_result;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string mlir_module;      // out
  JAX_CustomCallPartitioner_string* args_sharding;   // out
  JAX_CustomCallPartitioner_string result_sharding;  // out
} JAX_CustomCallPartitioner_Partition_Args;

/// Derives the sharding of the result from those of the operands.
typedef struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval* op_args;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string backend_config;
  bool has_result_sharding;                          // out
  JAX_CustomCallPartitioner_string result_sharding;  // out
} JAX_CustomCallPartitioner_InferShardingFromOperands_Args;

/// Adapts the sharding that a user of the result wants.
typedef struct JAX_CustomCallPartitioner_PropagateUserSharding_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string result_shape;
  JAX_CustomCallPartitioner_string result_sharding;  // in and out
} JAX_CustomCallPartitioner_PropagateUserSharding_Args;

/// A partitioner; `dtor` frees it.
typedef struct JAX_CustomCallPartitioner_Callbacks {
  int64_t version;
  void* private_data;
  void (*dtor)(struct JAX_CustomCallPartitioner_Callbacks* data);
  void (*partition)(struct JAX_CustomCallPartitioner_Callbacks* data,
                    JAX_CustomCallPartitioner_Partition_Args* args);
  void (*infer_sharding)(struct JAX_CustomCallPartitioner_Callbacks* data,
                         JAX_CustomCallPartitioner_InferShardingFromOperands_Args* args);
  void (*propagate_user_sharding)(struct JAX_CustomCallPartitioner_Callbacks* data,
                                  JAX_CustomCallPartitioner_PropagateUserSharding_Args* args);
  bool can_side_effecting_have_replicated_sharding;
} JAX_CustomCallPartitioner_Callbacks;

/// Registers the partitioner of custom calls with a target name.
struct PJRT_Register_Custom_Partitioner_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
  JAX_CustomCallPartitioner_Callbacks* callbacks;
};
PJRT_FUNCTION(PJRT_Register_Custom_Partitioner, callbacks);

/// Declares that custom calls with a target name are divided along their leading dimensions.
struct PJRT_Register_Batch_Partitionable_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
};
PJRT_FUNCTION(PJRT_Register_Batch_Partitionable, name_size);

/// How to partition custom calls.
struct PJRT_Custom_Partitioner_Extension {
  PJRT_Extension_Base base;
  PJRT_Register_Custom_Partitioner* register_custom_partitioner;
  PJRT_Register_Batch_Partitionable* register_batch_partitionable;
};
PJRT_STRUCT(PJRT_Custom_Partitioner_Extension, register_batch_partitionable);

/// Arguments of a function that is shown a sharding: a serialized OpSharding, and what went wrong.
typedef struct JAX_InspectSharding_Callback_Args {
  char* sharding_spec;
  size_t sharding_spec_size;
  const char* error_txt;                                               // out; null: nothing
  void* error_scratch;                                                 // out
  void (*free_error)(struct JAX_InspectSharding_Callback_Args* args);  // out
} JAX_InspectSharding_Callback_Args;

/// The backend_config of a custom call of InspectSharding holds the bytes of this struct, whose
/// pointers are valid while the program is compiled.
typedef struct JAX_InspectSharding_Callback {
  void (*call)(void* data, JAX_InspectSharding_Callback_Args* args);
  void* data;
} JAX_InspectSharding_Callback;

// --- Shardings -----------------------------------------------------------------------------------

/// Serialized OpSharding of each parameter, lent by the executable; null if it is not partitioned.
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_parameters;         // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_FUNCTION(PJRT_Shardings_PJRT_Executable_ParameterShardings, sharding_sizes);

/// Serialized OpSharding of each result, lent by the executable; null if it is not partitioned.
struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  PJRT_HEAD;
  PJRT_Executable* executable;
  size_t num_outputs;            // out
  const char* const* shardings;  // out
  const size_t* sharding_sizes;  // out
};
PJRT_FUNCTION(PJRT_Shardings_PJRT_Executable_OutputShardings, sharding_sizes);

/// Shardings of parameters and results.
struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Shardings_PJRT_Executable_ParameterShardings*
      PJRT_Shardings_PJRT_Executable_ParameterShardings;
  PJRT_Shardings_PJRT_Executable_OutputShardings* PJRT_Shardings_PJRT_Executable_OutputShardings;
};
PJRT_STRUCT(PJRT_Shardings_Extension, PJRT_Shardings_PJRT_Executable_OutputShardings);

// --- Compilation in phases -----------------------------------------------------------------------

/// A compiler that can be run phase by phase.
struct PJRT_PhaseCompile_Get_Compiler_Args {
  PJRT_HEAD;
  const PJRT_PhaseCompiler* phase_compiler;
};
PJRT_FUNCTION(PJRT_PhaseCompile_Get_Compiler, phase_compiler);

/// Frees it.
struct PJRT_PhaseCompile_Destroy_Compiler_Args {
  PJRT_HEAD;
  const PJRT_PhaseCompiler* phase_compiler;
};
PJRT_VOID_FUNCTION(PJRT_PhaseCompile_Destroy_Compiler, phase_compiler);

/// Runs the named phases on serialized partial programs.
struct PJRT_PhaseCompile_Run_Phase_Args {
  PJRT_HEAD;
  const PJRT_PhaseCompiler* phase_compiler;
  const char** input_programs;
  const size_t* input_programs_sizes;
  size_t num_input_programs;
  const char** phases_to_run;
  const size_t* phases_to_run_sizes;
  size_t num_phases_to_run;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_TopologyDescription* topology;
  const char** output_programs;
  const size_t* output_programs_sizes;
  size_t num_output_programs;
};
PJRT_FUNCTION(PJRT_PhaseCompile_Run_Phase, num_output_programs);

/// Names of the phases in order.
struct PJRT_PhaseCompile_Get_PhaseNames_Args {
  PJRT_HEAD;
  const PJRT_PhaseCompiler* phase_compiler;
  const char** phase_names;
  const size_t* phase_names_sizes;
  size_t num_phase_names;
};
PJRT_FUNCTION(PJRT_PhaseCompile_Get_PhaseNames, num_phase_names);

/// Frees strings that the two functions above returned.
struct PJRT_PhaseCompile_C_Buffers_Destroy_Args {
  PJRT_HEAD;
  const char** char_buffers;
  const size_t* char_buffer_sizes;
  size_t num_char_buffers;
};
PJRT_VOID_FUNCTION(PJRT_PhaseCompile_C_Buffers_Destroy, num_char_buffers);

/// Compilation in phases.
struct PJRT_PhaseCompile_Extension {
  PJRT_Extension_Base base;
  PJRT_PhaseCompile_Get_Compiler* phase_compile_get_compiler;
  PJRT_PhaseCompile_Destroy_Compiler* phase_compile_destroy_compiler;
  PJRT_PhaseCompile_Run_Phase* phase_compile_run_phases;
  PJRT_PhaseCompile_Get_PhaseNames* phase_compile_get_phase_names;
  PJRT_PhaseCompile_C_Buffers_Destroy* phase_compile_c_buffers_destroy;
};
PJRT_STRUCT(PJRT_PhaseCompile_Extension, phase_compile_c_buffers_destroy);

// --- Profiler ------------------------------------------------------------------------------------

typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;
typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_ConsumeResult PLUGIN_Profiler_ConsumeResult;

/// Frees `error`.
struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
};
PJRT_STRUCT(PLUGIN_Profiler_Error_Destroy_Args, error);
typedef void PLUGIN_Profiler_Error_Destroy(PLUGIN_Profiler_Error_Destroy_Args* args);

/// Text of `error`, lent until it is destroyed.
struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  const char* message;
  size_t message_size;
};
PJRT_STRUCT(PLUGIN_Profiler_Error_Message_Args, message_size);
typedef void PLUGIN_Profiler_Error_Message(PLUGIN_Profiler_Error_Message_Args* args);

/// Canonical code of `error`.
struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  int code;
};
PJRT_STRUCT(PLUGIN_Profiler_Error_GetCode_Args, code);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Error_GetCode(
    PLUGIN_Profiler_Error_GetCode_Args* args);

/// Makes a profiler from a serialized ProfileOptions.
struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char* options;
  size_t options_size;
  PLUGIN_Profiler* profiler;
};
PJRT_STRUCT(PLUGIN_Profiler_Create_Args, profiler);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Create(PLUGIN_Profiler_Create_Args* args);

/// Frees `profiler`.
struct PLUGIN_Profiler_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_STRUCT(PLUGIN_Profiler_Destroy_Args, profiler);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Destroy(PLUGIN_Profiler_Destroy_Args* args);

/// Starts to record.
struct PLUGIN_Profiler_Start_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_STRUCT(PLUGIN_Profiler_Start_Args, profiler);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Start(PLUGIN_Profiler_Start_Args* args);

/// Stops to record.
struct PLUGIN_Profiler_Stop_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
PJRT_STRUCT(PLUGIN_Profiler_Stop_Args, profiler);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Stop(PLUGIN_Profiler_Stop_Args* args);

/// Serialized XSpace: with null `buffer`, lends the data and tells their size; else copies them
/// there.
struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  uint8_t* buffer;
  size_t buffer_size_in_bytes;
};
PJRT_STRUCT(PLUGIN_Profiler_CollectData_Args, buffer_size_in_bytes);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_CollectData(PLUGIN_Profiler_CollectData_Args* args);

/// Takes the recording out of the profiler.
struct PLUGIN_Profiler_Consume_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* result;
};
PJRT_STRUCT(PLUGIN_Profiler_Consume_Args, result);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Consume(PLUGIN_Profiler_Consume_Args* args);

/// Frees such a recording.
struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler_ConsumeResult* consume_result;
};
PJRT_STRUCT(PLUGIN_Profiler_ConsumeResult_Destroy_Args, consume_result);
typedef void PLUGIN_Profiler_ConsumeResult_Destroy(
    PLUGIN_Profiler_ConsumeResult_Destroy_Args* args);

/// Serialized XSpace of such a recording.
struct PLUGIN_Profiler_Serialize_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* consume_result;
  const uint8_t* serialized_bytes;
  size_t serialized_size;
};
PJRT_STRUCT(PLUGIN_Profiler_Serialize_Args, serialized_size);
typedef PLUGIN_Profiler_Error* PLUGIN_Profiler_Serialize(PLUGIN_Profiler_Serialize_Args* args);

/// Functions of the profiler; it has error objects of its own.
struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error_Destroy* error_destroy;
  PLUGIN_Profiler_Error_Message* error_message;
  PLUGIN_Profiler_Error_GetCode* error_get_code;
  PLUGIN_Profiler_Create* create;
  PLUGIN_Profiler_Destroy* destroy;
  PLUGIN_Profiler_Start* start;
  PLUGIN_Profiler_Stop* stop;
  PLUGIN_Profiler_CollectData* collect_data;
  PLUGIN_Profiler_Consume* consume;
  PLUGIN_Profiler_ConsumeResult_Destroy* consume_result_destroy;
  PLUGIN_Profiler_Serialize* serialize;
};
PJRT_STRUCT(PLUGIN_Profiler_Api, serialize);

/// Profiler of the plugin.
struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;
  int64_t traceme_context_id;
};
PJRT_STRUCT(PJRT_Profiler_Extension, traceme_context_id);

// --- Raw buffers ---------------------------------------------------------------------------------

/// State of a device event.
typedef enum {
  PJRT_DeviceEvent_State_Unavailable = 0,
  PJRT_DeviceEvent_State_Ready = 1,
  PJRT_DeviceEvent_State_Error = 2,
} PJRT_DeviceEvent_State;

typedef void (*PJRT_DeviceEvent_AndThen)(void* user_arg);

/// What can be done with a device event.
struct PJRT_DeviceEvent_FunctionTable {
  PJRT_HEAD;
  void (*inc_ref)(void*);
  void (*dec_ref)(void*);
  void (*and_then)(void*, PJRT_DeviceEvent_AndThen, void*);
  int (*get_error_if_present)(void*, PJRT_Error_Code*, const char**, size_t*);
  const struct PJRT_DeviceEvent_FunctionTable* parent;
  PJRT_DeviceEvent_State (*get_state)(void*);
  intptr_t (*get_definition_stream)(void*, uint64_t*);
};
PJRT_STRUCT(PJRT_DeviceEvent_FunctionTable, get_definition_stream);

/// A reference-counted completion with its functions.
struct PJRT_DeviceEvent {
  const struct PJRT_DeviceEvent_FunctionTable* vtable;
  void* device_event;
};
typedef struct PJRT_DeviceEvent PJRT_DeviceEvent;

/// A growable list of device events.
struct PJRT_DeviceEventVector {
  PJRT_DeviceEvent* data;
  size_t size;
  size_t capacity;
  void (*destroy)(PJRT_DeviceEvent*);
};
typedef struct PJRT_DeviceEventVector PJRT_DeviceEventVector;

typedef struct PJRT_DeviceEventPromise PJRT_DeviceEventPromise;

/// What can be done with a promise.
struct PJRT_DeviceEventPromise_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_DeviceEventPromise*);
  void (*dec_ref)(PJRT_DeviceEventPromise*);
  PJRT_DeviceEvent (*event)(PJRT_DeviceEventPromise*);
  void (*set)(PJRT_DeviceEventPromise*, PJRT_DeviceEvent);
  void (*set_error)(PJRT_DeviceEventPromise*, PJRT_Error*);
  void (*set_ready)(PJRT_DeviceEventPromise*);
};
PJRT_STRUCT(PJRT_DeviceEventPromise_FunctionTable, set_ready);

/// A device event that somebody completes by hand.
struct PJRT_DeviceEventPromise {
  const struct PJRT_DeviceEventPromise_FunctionTable* vtable;
};
PJRT_STRUCT(PJRT_DeviceEventPromise, vtable);

typedef struct PJRT_RawBuffer PJRT_RawBuffer;

/// What can be done with raw storage.
struct PJRT_RawBuffer_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*inc_ref)(PJRT_RawBuffer*);
  void (*dec_ref)(PJRT_RawBuffer*);
  size_t (*get_on_device_size_in_bytes)(const PJRT_RawBuffer*);
  PJRT_Memory* (*get_memory_space)(const PJRT_RawBuffer*);
  void* (*get_host_pointer)(const PJRT_RawBuffer*);
  PJRT_Error* (*copy_raw_host_to_device_and_return_event)(PJRT_RawBuffer*, const void*, int64_t,
                                                          int64_t, PJRT_DeviceEventVector*,
                                                          PJRT_DeviceEvent*);
  PJRT_Error* (*copy_raw_device_to_host_and_return_event)(PJRT_RawBuffer*, void*, int64_t, int64_t,
                                                          PJRT_DeviceEventVector*,
                                                          PJRT_DeviceEvent*);
  void* (*opaque_device_memory_data_pointer)(const PJRT_RawBuffer*);
  PJRT_Error* (*make_allocation_ready_event)(PJRT_RawBuffer*, PJRT_DeviceEvent*);
  PJRT_Error* (*get_raw_buffer_async_value)(PJRT_RawBuffer*, PJRT_DeviceEvent*);
  bool (*is_mutable)(const PJRT_RawBuffer*);
  PJRT_Error* (*slice)(PJRT_RawBuffer*, int64_t, int64_t, PJRT_RawBuffer**);
  void (*schedule_copy_to)(PJRT_RawBuffer*, PJRT_DeviceEventVector*, PJRT_RawBuffer*,
                           PJRT_DeviceEventPromise*, PJRT_DeviceEventPromise*,
                           void (*)(PJRT_Error*, void*), void*);
};
PJRT_STRUCT(PJRT_RawBuffer_FunctionTable, schedule_copy_to);

/// Reference-counted storage; implementations append their own fields.
struct PJRT_RawBuffer {
  const PJRT_RawBuffer_FunctionTable* vtable;
};
PJRT_STRUCT(PJRT_RawBuffer, vtable);

/// Storage of a buffer as an object of its own.
struct PJRT_RawBuffer_CreateRawAliasOfBuffer_Args {
  PJRT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_RawBuffer* raw_buffer;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_CreateRawAliasOfBuffer, raw_buffer);

/// Drops a raw buffer.
struct PJRT_RawBuffer_Destroy_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
};
PJRT_FUNCTION(PJRT_RawBuffer_Destroy, buffer);

/// Address for the host, null if it has none.
struct PJRT_RawBuffer_GetHostPointer_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
  void* host_pointer;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_GetHostPointer, host_pointer);

/// Bytes of storage.
struct PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
  size_t on_device_size_in_bytes;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_GetOnDeviceSizeInBytes, on_device_size_in_bytes);

/// Memory that holds the storage.
struct PJRT_RawBuffer_GetMemorySpace_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
  PJRT_Memory* memory_space;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_GetMemorySpace, memory_space);

/// Copies a byte range to the host.
struct PJRT_RawBuffer_CopyRawDeviceToHost_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_CopyRawDeviceToHost, event);

/// Copies a byte range from the host.
struct PJRT_RawBuffer_CopyRawHostToDevice_Args {
  PJRT_HEAD;
  PJRT_RawBuffer* buffer;
  const void* src;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_RawBuffer_CopyRawHostToDevice, event);

/// Access to the storage behind buffers.
struct PJRT_RawBuffer_Extension {
  PJRT_Extension_Base base;
  PJRT_RawBuffer_CreateRawAliasOfBuffer* PJRT_RawBuffer_CreateRawAliasOfBuffer;
  PJRT_RawBuffer_Destroy* PJRT_RawBuffer_Destroy;
  PJRT_RawBuffer_GetOnDeviceSizeInBytes* PJRT_RawBuffer_GetOnDeviceSizeInBytes;
  PJRT_RawBuffer_GetMemorySpace* PJRT_RawBuffer_GetMemorySpace;
  PJRT_RawBuffer_CopyRawHostToDevice* PJRT_RawBuffer_CopyRawHostToDevice;
  PJRT_RawBuffer_CopyRawDeviceToHost* PJRT_RawBuffer_CopyRawDeviceToHost;
  PJRT_RawBuffer_GetHostPointer* PJRT_RawBuffer_GetHostPointer;
};
PJRT_STRUCT(PJRT_RawBuffer_Extension, PJRT_RawBuffer_GetHostPointer);

// --- Streams -------------------------------------------------------------------------------------

/// A device stream for foreign events.
struct PJRT_Get_Stream_For_External_Ready_Events_Args {
  size_t struct_size;
  PJRT_Device* device;
  intptr_t stream;  // out
};
PJRT_FUNCTION(PJRT_Get_Stream_For_External_Ready_Events, stream);

/// Makes a stream wait for a buffer.
struct PJRT_Wait_Until_Buffer_Ready_On_Stream_Args {
  size_t struct_size;
  intptr_t stream;
  PJRT_Buffer* buffer;
};
PJRT_FUNCTION(PJRT_Wait_Until_Buffer_Ready_On_Stream, buffer);

/// Interchange of ready events with foreign streams.
struct PJRT_Stream_Extension {
  PJRT_Extension_Base base;
  PJRT_Get_Stream_For_External_Ready_Events* get_stream;
  PJRT_Wait_Until_Buffer_Ready_On_Stream* wait_stream;
};
PJRT_STRUCT(PJRT_Stream_Extension, wait_stream);

// --- Callbacks -----------------------------------------------------------------------------------

/// When a callback is called.
typedef enum PJRT_Callback_Type {
  PJRT_Callback_Type_Unknown = 0,
  PJRT_Callback_Type_Tpu_SliceBuilder = 1,
  PJRT_Callback_Type_Prefatal = 2,
} PJRT_Callback_Type;

/// What a callback of type Prefatal is given.
struct PJRT_Callback_PrefatalArgs {
  size_t struct_size;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_STRUCT(PJRT_Callback_PrefatalArgs, error_message_size);

/// A callback; the type of `args` depends on when it is called.
typedef void PJRT_Callback_Function(void* args, void* user_arg);

/// Registers a callback of the given type.
struct PJRT_Callback_RegisterCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  PJRT_Callback_Function* callback;
  void* user_arg;
};
PJRT_FUNCTION(PJRT_Callback_RegisterCallback, user_arg);

/// Calls the callbacks of the given type.
struct PJRT_Callback_InvokeCallback_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_Callback_Type type;
  void* args;
};
PJRT_FUNCTION(PJRT_Callback_InvokeCallback, args);

/// Callbacks for events outside any call.
struct PJRT_Callback_Extension {
  PJRT_Extension_Base base;
  PJRT_Callback_RegisterCallback* register_callback;
  PJRT_Callback_InvokeCallback* invoke_callback;
};
PJRT_STRUCT(PJRT_Callback_Extension, invoke_callback);

// --- ABI versions --------------------------------------------------------------------------------

typedef struct PJRT_RuntimeAbiVersion PJRT_RuntimeAbiVersion;
typedef struct PJRT_ExecutableAbiVersion PJRT_ExecutableAbiVersion;
typedef struct PJRT_SerializedProto PJRT_SerializedProto;

/// ABI version of the client's runtime.
struct PJRT_Client_RuntimeAbiVersion_Args {
  size_t struct_size;
  PJRT_Client* client;
  PJRT_RuntimeAbiVersion* abi_version;  // out
};
PJRT_FUNCTION(PJRT_Client_RuntimeAbiVersion, abi_version);

/// ABI version that an executable needs.
struct PJRT_Executable_GetAbiVersion_Args {
  size_t struct_size;
  PJRT_Executable* executable;
  PJRT_ExecutableAbiVersion* abi_version;  // out
};
PJRT_FUNCTION(PJRT_Executable_GetAbiVersion, abi_version);

/// Frees `abi_version`.
struct PJRT_RuntimeAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_RuntimeAbiVersion* abi_version;
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_Destroy, abi_version);

/// No error when two runtimes agree.
struct PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const PJRT_RuntimeAbiVersion* other_abi_version;
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime, other_abi_version);

/// No error when the runtime can load the executable.
struct PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const PJRT_ExecutableAbiVersion* executable_abi_version;
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable, executable_abi_version);

/// Serialized form; free with the deleter.
struct PJRT_RuntimeAbiVersion_ToProto_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  const char* serialized_proto;                             // out
  size_t serialized_proto_size;                             // out
  PJRT_SerializedProto* serialized_proto_holder;            // out
  void (*serialized_proto_deleter)(PJRT_SerializedProto*);  // out
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_ToProto, serialized_proto_deleter);

/// Number of the platform.
struct PJRT_RuntimeAbiVersion_PlatformId_Args {
  size_t struct_size;
  const PJRT_RuntimeAbiVersion* abi_version;
  uint64_t platform_id;  // out
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_PlatformId, platform_id);

/// Frees `abi_version`.
struct PJRT_ExecutableAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_ExecutableAbiVersion* abi_version;
};
PJRT_FUNCTION(PJRT_ExecutableAbiVersion_Destroy, abi_version);

/// Serialized form; free with the deleter.
struct PJRT_ExecutableAbiVersion_ToProto_Args {
  size_t struct_size;
  const PJRT_ExecutableAbiVersion* abi_version;
  const char* serialized_proto;                             // out
  size_t serialized_proto_size;                             // out
  PJRT_SerializedProto* serialized_proto_holder;            // out
  void (*serialized_proto_deleter)(PJRT_SerializedProto*);  // out
};
PJRT_FUNCTION(PJRT_ExecutableAbiVersion_ToProto, serialized_proto_deleter);

/// Number of the platform.
struct PJRT_ExecutableAbiVersion_PlatformId_Args {
  size_t struct_size;
  const PJRT_ExecutableAbiVersion* abi_version;
  uint64_t platform_id;  // out
};
PJRT_FUNCTION(PJRT_ExecutableAbiVersion_PlatformId, platform_id);

/// Inverse of ToProto.
struct PJRT_RuntimeAbiVersion_FromProto_Args {
  size_t struct_size;
  const char* serialized_proto;
  size_t serialized_proto_size;
  PJRT_RuntimeAbiVersion* abi_version;  // out
};
PJRT_FUNCTION(PJRT_RuntimeAbiVersion_FromProto, abi_version);

/// Inverse of ToProto.
struct PJRT_ExecutableAbiVersion_FromProto_Args {
  size_t struct_size;
  const char* serialized_proto;
  size_t serialized_proto_size;
  PJRT_ExecutableAbiVersion* abi_version;  // out
};
PJRT_FUNCTION(PJRT_ExecutableAbiVersion_FromProto, abi_version);

/// Whether runtimes and executables fit together.
struct PJRT_AbiVersion_Extension {
  PJRT_Extension_Base base;
  PJRT_Client_RuntimeAbiVersion* client_runtime_abi_version;
  PJRT_Executable_GetAbiVersion* executable_get_abi_version;
  PJRT_RuntimeAbiVersion_Destroy* runtime_abi_version_destroy;
  PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime* runtime_abi_version_is_compatible_with_runtime;
  PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable*
      runtime_abi_version_is_compatible_with_executable;
  PJRT_RuntimeAbiVersion_ToProto* runtime_abi_version_to_proto;
  PJRT_RuntimeAbiVersion_PlatformId* runtime_abi_version_platform_id;
  PJRT_ExecutableAbiVersion_Destroy* executable_abi_version_destroy;
  PJRT_ExecutableAbiVersion_ToProto* executable_abi_version_to_proto;
  PJRT_ExecutableAbiVersion_PlatformId* executable_abi_version_platform_id;
  PJRT_RuntimeAbiVersion_FromProto* runtime_abi_version_from_proto;
  PJRT_ExecutableAbiVersion_FromProto* executable_abi_version_from_proto;
};
PJRT_STRUCT(PJRT_AbiVersion_Extension, executable_abi_version_from_proto);

// --- Collectives ---------------------------------------------------------------------------------

typedef struct PJRT_Collectives PJRT_Collectives;
typedef struct PJRT_Collectives_Communicator PJRT_Collectives_Communicator;
typedef struct PJRT_Collectives_Communicators PJRT_Collectives_Communicators;
typedef struct PJRT_Collectives_ToString_Holder PJRT_Collectives_ToString_Holder;

/// How an all-reduce combines values.
typedef enum PJRT_Collectives_ReductionKind {
  PJRT_COLLECTIVES_REDUCTION_SUM = 0,
  PJRT_COLLECTIVES_REDUCTION_PRODUCT = 1,
  PJRT_COLLECTIVES_REDUCTION_MIN = 2,
  PJRT_COLLECTIVES_REDUCTION_MAX = 3,
} PJRT_Collectives_ReductionKind;

/// What the participants of a collective are.
typedef enum PJRT_Collectives_CollectiveOpKind {
  PJRT_COLLECTIVES_COLLECTIVE_OP_KIND_CROSS_MODULE = 0,
  PJRT_COLLECTIVES_COLLECTIVE_OP_KIND_CROSS_REPLICA = 1,
} PJRT_Collectives_CollectiveOpKind;

/// Frees `collectives`.
struct PJRT_Collectives_Destroy_Args {
  size_t struct_size;
  PJRT_Collectives* collectives;
};
PJRT_FUNCTION(PJRT_Collectives_Destroy, collectives);

/// Joins a clique and makes one communicator for each local rank.
struct PJRT_Collectives_CreateCommunicators_Args {
  size_t struct_size;
  PJRT_Collectives* collectives;
  const int64_t* device_ids;
  size_t num_device_ids;
  const char** clique_ids;
  const size_t* clique_id_sizes;
  size_t num_clique_ids;
  int64_t* rank_ids;
  size_t num_device_ranks;
  PJRT_Collectives_Communicator** communicators;                          // out
  size_t num_communicators;                                               // out
  PJRT_Collectives_Communicators* communicators_holder;                   // out
  void (*communicators_holder_deleter)(PJRT_Collectives_Communicators*);  // out
};
PJRT_FUNCTION(PJRT_Collectives_CreateCommunicators, communicators_holder_deleter);

/// Leaves the clique.
struct PJRT_Collectives_Communicator_Destroy_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_Destroy, communicator);

/// Identity of one collective operation.
struct PJRT_Collectives_CpuExecutor {
  int64_t run_id;
  int64_t* global_device_ids;
  size_t num_global_device_ids;
  int32_t num_local_participants;
  PJRT_Collectives_CollectiveOpKind collective_op_kind;
  int64_t op_id;
  int64_t timeout_in_ns;
};
typedef struct PJRT_Collectives_CpuExecutor PJRT_Collectives_CpuExecutor;

/// Reduces over all ranks, result everywhere.
struct PJRT_Collectives_Communicator_AllReduce_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  void* send_buffer_ptr;
  size_t send_buffer_size;
  void* recv_buffer_ptr;
  size_t recv_buffer_size;
  PJRT_Buffer_Type primitive_type;
  size_t count;
  PJRT_Collectives_ReductionKind reduction_kind;
  PJRT_Collectives_CpuExecutor* cpu_executor;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_AllReduce, event);

/// Reduces over all ranks, result spread over them.
struct PJRT_Collectives_Communicator_ReduceScatter_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  void* send_buffer_ptr;
  size_t send_buffer_size;
  void* recv_buffer_ptr;
  size_t recv_buffer_size;
  PJRT_Buffer_Type primitive_type;
  size_t count;
  PJRT_Collectives_ReductionKind reduction_kind;
  PJRT_Collectives_CpuExecutor* cpu_executor;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_ReduceScatter, event);

/// Concatenates over all ranks.
struct PJRT_Collectives_Communicator_AllGather_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  void* send_buffer_ptr;
  size_t send_buffer_size;
  void* recv_buffer_ptr;
  size_t recv_buffer_size;
  PJRT_Buffer_Type primitive_type;
  size_t count;
  PJRT_Collectives_CpuExecutor* cpu_executor;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_AllGather, event);

/// Sends to some ranks, receives from at most one.
struct PJRT_Collectives_Communicator_CollectivePermute_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  void* send_buffer_ptr;
  size_t send_buffer_size;
  void* recv_buffer_ptr;
  size_t recv_buffer_size;
  PJRT_Buffer_Type primitive_type;
  size_t count;
  bool has_source_rank;
  int64_t source_rank;
  int64_t* target_ranks;
  size_t num_target_ranks;
  PJRT_Collectives_CpuExecutor* cpu_executor;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_CollectivePermute, event);

/// Exchanges one block with every rank.
struct PJRT_Collectives_Communicator_AllToAll_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  void** send_buffers_ptrs;
  const size_t* send_buffers_sizes;
  size_t num_send_buffers;
  void** recv_buffers_ptrs;
  const size_t* recv_buffers_sizes;
  size_t num_recv_buffers;
  PJRT_Buffer_Type primitive_type;
  size_t count;
  PJRT_Collectives_CpuExecutor* cpu_executor;
  PJRT_Event* event;  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_AllToAll, event);

/// Text for logs; free with the deleter.
struct PJRT_Collectives_Communicator_ToString_Args {
  size_t struct_size;
  PJRT_Collectives_Communicator* communicator;
  const char* str;                                                // out
  size_t str_size;                                                // out
  PJRT_Collectives_ToString_Holder* str_holder;                   // out
  void (*str_holder_deleter)(PJRT_Collectives_ToString_Holder*);  // out
};
PJRT_FUNCTION(PJRT_Collectives_Communicator_ToString, str_holder_deleter);

/// Collectives offered to other runtimes.
struct PJRT_Collectives_Extension {
  PJRT_Extension_Base base;
  PJRT_Collectives_Destroy* collectives_destroy;
  PJRT_Collectives_CreateCommunicators* collectives_create_communicators;
  PJRT_Collectives_Communicator_Destroy* communicator_destroy;
  PJRT_Collectives_Communicator_AllReduce* communicator_all_reduce;
  PJRT_Collectives_Communicator_ReduceScatter* communicator_reduce_scatter;
  PJRT_Collectives_Communicator_AllGather* communicator_all_gather;
  PJRT_Collectives_Communicator_CollectivePermute* communicator_collective_permute;
  PJRT_Collectives_Communicator_AllToAll* communicator_all_to_all;
  PJRT_Collectives_Communicator_ToString* communicator_to_string;
};
PJRT_STRUCT(PJRT_Collectives_Extension, communicator_to_string);

// --- Program transforms --------------------------------------------------------------------------

/// Where in the pipeline a transform runs.
typedef enum {
  PJRT_XlaTransform_PipelineStage_kPreScheduler = 0,
  PJRT_XlaTransform_PipelineStage_kPostScheduler = 1,
} PJRT_XlaTransform_PipelineStage;

/// A string by pointer and length.
struct PJRT_XlaTransform_string {
  const char* data;
  size_t size;
};
typedef struct PJRT_XlaTransform_string PJRT_XlaTransform_string;

/// Version, resources and error of a transform call.
struct PJRT_XlaTransform_version_and_error {
  int64_t api_version;
  void* data;                          // out
  void (*cleanup_fn)(void*);           // out
  bool has_error;                      // out
  PJRT_Error_Code code;                // out
  PJRT_XlaTransform_string error_msg;  // out
};
typedef struct PJRT_XlaTransform_version_and_error PJRT_XlaTransform_version_and_error;

/// Input and result of a transform of a serialized module.
struct PJRT_XlaTransform_Args {
  size_t struct_size;
  PJRT_XlaTransform_version_and_error header;
  PJRT_XlaTransform_string hlo_module;
  PJRT_XlaTransform_string transformed_hlo_module;
  bool changed;  // out
};
PJRT_STRUCT(PJRT_XlaTransform_Args, changed);

/// A transform: what to call and how to free it.
struct PJRT_XlaTransform_Callbacks {
  int64_t version;
  void (*dtor)(struct PJRT_XlaTransform_Callbacks*);
  void (*transform_hlo_module)(struct PJRT_XlaTransform_Callbacks*, PJRT_XlaTransform_Args*);
};
typedef struct PJRT_XlaTransform_Callbacks PJRT_XlaTransform_Callbacks;

/// Adds a transform to a stage of the pipeline.
struct PJRT_Register_Xla_Transform_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
  PJRT_XlaTransform_PipelineStage stage;
  PJRT_XlaTransform_Callbacks* callbacks;
};
PJRT_STRUCT(PJRT_Register_Xla_Transform_Args, callbacks);

/// Removes it.
struct PJRT_Clear_Xla_Transform_Args {
  size_t struct_size;
  PJRT_XlaTransform_PipelineStage stage;
  const char* name;
  size_t name_size;
  PJRT_XlaTransform_Callbacks* callbacks;
  bool cleared;  // out
};
PJRT_STRUCT(PJRT_Clear_Xla_Transform_Args, cleared);

/// Record of the passes that ran.
struct PJRT_HloPassPipelineTrace {
  const char* serialized_trace;
  size_t serialized_trace_size;
};
typedef struct PJRT_HloPassPipelineTrace PJRT_HloPassPipelineTrace;

/// Reads that record.
struct PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Args {
  size_t struct_size;
  PJRT_XlaTransform_string hlo_module;
  PJRT_HloPassPipelineTrace trace;
};
PJRT_STRUCT(PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Args, trace);

/// Frees it.
struct PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Args {
  size_t struct_size;
  PJRT_HloPassPipelineTrace* trace;
};
PJRT_STRUCT(PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Args, trace);

typedef PJRT_Error* (*PJRT_Register_Xla_Transform_Fn)(PJRT_Register_Xla_Transform_Args* args);
typedef PJRT_Error* (*PJRT_Clear_Xla_Transform_Fn)(PJRT_Clear_Xla_Transform_Args* args);
typedef PJRT_Error* (*PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Fn)(
    PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Args* args);
typedef void (*PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Fn)(
    PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Args* args);

/// Foreign passes in the compiler's pipeline.
struct PJRT_Xla_Transform_Extension {
  PJRT_Extension_Base base;
  PJRT_Register_Xla_Transform_Fn register_xla_transform;
  PJRT_Clear_Xla_Transform_Fn clear_xla_transform;
  PJRT_Xla_Transform_Get_Hlo_Pass_Pipeline_Trace_Fn get_hlo_pass_pipeline_trace;
  PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Fn destroy_hlo_pass_pipeline_trace;
};
PJRT_STRUCT(PJRT_Xla_Transform_Extension, destroy_hlo_pass_pipeline_trace);

// --- Executable metadata -------------------------------------------------------------------------

/// Serialized facts about an executable.
struct PJRT_ExecutableMetadata {
  const char* serialized_metadata;
  size_t serialized_metadata_size;
};
typedef struct PJRT_ExecutableMetadata PJRT_ExecutableMetadata;

/// Serialized facts about an executable.
struct PJRT_ExecutableMetadata_GetExecutableMetadata_Args {
  PJRT_Executable* executable;
  PJRT_ExecutableMetadata* metadata;
};
PJRT_FUNCTION(PJRT_ExecutableMetadata_GetExecutableMetadata, metadata);

/// Frees them.
struct PJRT_ExecutableMetadata_DestroySerializedMetadata_Args {
  PJRT_ExecutableMetadata* metadata;
};
PJRT_FUNCTION(PJRT_ExecutableMetadata_DestroySerializedMetadata, metadata);

/// Facts about executables.
struct PJRT_ExecutableMetadata_Extension {
  PJRT_Extension_Base base;
  PJRT_ExecutableMetadata_GetExecutableMetadata* get_executable_metadata;
  PJRT_ExecutableMetadata_DestroySerializedMetadata* destroy_serialized_metadata;
};
PJRT_STRUCT(PJRT_ExecutableMetadata_Extension, destroy_serialized_metadata);

// --- Host memory ---------------------------------------------------------------------------------

/// Host memory that transfers like; free with the deleter.
struct PJRT_HostMemoryAllocator_Allocate_Args {
  PJRT_HEAD;
  PJRT_Client* client;
  size_t size;
  int numa_node;
  uint8_t* ptr;
  void (*deleter)(void*, void*);
  void* deleter_arg;
};
PJRT_FUNCTION(PJRT_HostMemoryAllocator_Allocate, deleter_arg);

/// Host memory that transfers like.
struct PJRT_HostMemoryAllocator_Extension {
  PJRT_Extension_Base base;
  PJRT_HostMemoryAllocator_Allocate* allocate;
};
PJRT_STRUCT(PJRT_HostMemoryAllocator_Extension, allocate);

#ifdef __cplusplus
}
#endif

#endif  // HLOCC_PJRT_EXTENSIONS_H_
