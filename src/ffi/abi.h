// SPDX-License-Identifier: Apache-2.0
// The C ABI between a runtime and foreign functions (handlers) as XLA's FFI 0.4 defines it: names,
// layouts and numbers are facts, the words are ours. Handlers compiled for 0.1 to 0.3 use the same
// layouts but for those that are stated here.
//
// Every struct begins with its size as its author knows it, so that either side detects an older
// partner. A function returns NULL or an error, which the caller owns. Strings are byte spans
// without a terminating zero.
//
// source: openxla/xla, xla/ffi/api/c_api.h; abi_test.c compares all facts with tests/data
#pragma once

#include <stddef.h>
#include <stdint.h>

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 4

/// Names `struct type` and its size up to and including `last`.
#define XLA_FFI_STRUCT(type, last) \
  typedef struct type type;        \
  enum { type##_STRUCT_SIZE = offsetof(struct type, last) + sizeof(((struct type*)0)->last) }

/// Names an argument block and the type of the function that takes it.
#define XLA_FFI_FUNCTION(name, last) \
  XLA_FFI_STRUCT(name##_Args, last); \
  typedef XLA_FFI_Error* name(name##_Args* args)

/// Likewise for functions that cannot fail.
#define XLA_FFI_VOID_FUNCTION(name, last) \
  XLA_FFI_STRUCT(name##_Args, last);      \
  typedef void name(name##_Args* args)

/// The first fields of nearly every struct.
#define XLA_FFI_HEAD  \
  size_t struct_size; \
  XLA_FFI_InternalExtension* extension_start

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi;  // of handlers inside XLA
typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_Future XLA_FFI_Future;
typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext;

// --- Extensions, version -------------------------------------------------------------------------

typedef enum {
  XLA_FFI_Extension_Metadata = 1,
} XLA_FFI_InternalExtension_Type;

/// The head of an extension of one of these structs. 0.3 calls it XLA_FFI_Extension_Base.
struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  struct XLA_FFI_InternalExtension* next;
};
XLA_FFI_STRUCT(XLA_FFI_InternalExtension, next);

struct XLA_FFI_ExtensionId {
  int64_t extension_type;
  int32_t major_version;
  int32_t minor_version;
};
XLA_FFI_STRUCT(XLA_FFI_ExtensionId, minor_version);

/// The head of an extension that a runtime offers to handlers (since 0.4).
typedef struct XLA_FFI_Extension XLA_FFI_Extension;
struct XLA_FFI_Extension {
  size_t struct_size;
  XLA_FFI_ExtensionId id;
  const XLA_FFI_Extension* next;
};
XLA_FFI_STRUCT(XLA_FFI_Extension, next);

struct XLA_FFI_Api_Version {
  XLA_FFI_HEAD;
  int major_version;  // out
  int minor_version;  // out
};
XLA_FFI_STRUCT(XLA_FFI_Api_Version, minor_version);

// --- Errors --------------------------------------------------------------------------------------

/// Codes equal hlo_status_code_t.
typedef enum {
  XLA_FFI_Error_Code_OK = 0,
  XLA_FFI_Error_Code_CANCELLED = 1,
  XLA_FFI_Error_Code_UNKNOWN = 2,
  XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
  XLA_FFI_Error_Code_DEADLINE_EXCEEDED = 4,
  XLA_FFI_Error_Code_NOT_FOUND = 5,
  XLA_FFI_Error_Code_ALREADY_EXISTS = 6,
  XLA_FFI_Error_Code_PERMISSION_DENIED = 7,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
  XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
  XLA_FFI_Error_Code_ABORTED = 10,
  XLA_FFI_Error_Code_OUT_OF_RANGE = 11,
  XLA_FFI_Error_Code_UNIMPLEMENTED = 12,
  XLA_FFI_Error_Code_INTERNAL = 13,
  XLA_FFI_Error_Code_UNAVAILABLE = 14,
  XLA_FFI_Error_Code_DATA_LOSS = 15,
  XLA_FFI_Error_Code_UNAUTHENTICATED = 16,
} XLA_FFI_Error_Code;

struct XLA_FFI_Error_Create_Args {
  XLA_FFI_HEAD;
  const char* message;  // zero-terminated
  XLA_FFI_Error_Code errc;
};
XLA_FFI_FUNCTION(XLA_FFI_Error_Create, errc);

/// Up to 0.3 it is called XLA_FFI_Error_GetMessage and lacks `errc`.
struct XLA_FFI_Error_GetDetails_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error* error;
  const char* message;      // out; lent by the error
  XLA_FFI_Error_Code errc;  // out
};
XLA_FFI_VOID_FUNCTION(XLA_FFI_Error_GetDetails, errc);

struct XLA_FFI_Error_Destroy_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error* error;
};
XLA_FFI_VOID_FUNCTION(XLA_FFI_Error_Destroy, error);

// --- Values --------------------------------------------------------------------------------------

/// Numbers of XLA's PrimitiveType; the column primitive_type of base/dtype.def has them, too.
typedef enum {
  XLA_FFI_DataType_INVALID = 0,
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S8 = 2,
  XLA_FFI_DataType_S16 = 3,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_U16 = 7,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_C64 = 15,
  XLA_FFI_DataType_BF16 = 16,
  XLA_FFI_DataType_TOKEN = 17,
  XLA_FFI_DataType_C128 = 18,
  XLA_FFI_DataType_F8E5M2 = 19,
  XLA_FFI_DataType_F8E4M3FN = 20,
  XLA_FFI_DataType_S4 = 21,
  XLA_FFI_DataType_U4 = 22,
  XLA_FFI_DataType_F8E4M3B11FNUZ = 23,
  XLA_FFI_DataType_F8E5M2FNUZ = 24,
  XLA_FFI_DataType_F8E4M3FNUZ = 25,
  XLA_FFI_DataType_S2 = 26,
  XLA_FFI_DataType_U2 = 27,
  XLA_FFI_DataType_F8E4M3 = 28,
  XLA_FFI_DataType_F8E3M4 = 29,
  XLA_FFI_DataType_S1 = 30,
  XLA_FFI_DataType_U1 = 31,
  XLA_FFI_DataType_F4E2M1FN = 32,
  XLA_FFI_DataType_F8E8M0FNU = 33,
} XLA_FFI_DataType;

/// An array in device memory, dense, the last dimension fastest. Tokens have rank 0 and no data.
struct XLA_FFI_Buffer {
  XLA_FFI_HEAD;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};
XLA_FFI_STRUCT(XLA_FFI_Buffer, dims);

typedef enum {
  XLA_FFI_ArgType_BUFFER = 1,
} XLA_FFI_ArgType;

typedef enum {
  XLA_FFI_RetType_BUFFER = 1,
} XLA_FFI_RetType;

/// The pointer of an attribute points at an XLA_FFI_Array, _Attrs, _Scalar or _ByteSpan.
typedef enum {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4,
} XLA_FFI_AttrType;

typedef struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;  // elements
  void* data;
} XLA_FFI_Array;

typedef struct XLA_FFI_TypeId {
  int64_t type_id;  // 0: unknown
} XLA_FFI_TypeId;

/// How to handle objects of a type that handlers define.
struct XLA_FFI_TypeInfo {
  XLA_FFI_HEAD;
  void (*deleter)(void* object);
};
XLA_FFI_STRUCT(XLA_FFI_TypeInfo, deleter);

// --- Futures -------------------------------------------------------------------------------------

struct XLA_FFI_Future_Create_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Future* future;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_Future_Create, extension_start);  // so says the ABI

struct XLA_FFI_Future_SetAvailable_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Future* future;
};
XLA_FFI_FUNCTION(XLA_FFI_Future_SetAvailable, future);

struct XLA_FFI_Future_SetError_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Future* future;
  XLA_FFI_Error* error;  // taken
};
XLA_FFI_FUNCTION(XLA_FFI_Future_SetError, error);

// --- Calls ---------------------------------------------------------------------------------------

/// The stages of a handler's life, each with a function of its own: instantiate at load, without
/// arguments; prepare and initialize before an execution; execute; record for command buffers of
/// graphics processors.
typedef enum {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3,
  XLA_FFI_ExecutionStage_RECORD = 4,
} XLA_FFI_ExecutionStage;

struct XLA_FFI_Args {
  XLA_FFI_HEAD;
  int64_t size;
  XLA_FFI_ArgType* types;
  void** args;
};
XLA_FFI_STRUCT(XLA_FFI_Args, args);

struct XLA_FFI_Rets {
  XLA_FFI_HEAD;
  int64_t size;
  XLA_FFI_RetType* types;
  void** rets;
};
XLA_FFI_STRUCT(XLA_FFI_Rets, rets);

/// A dictionary, sorted by the bytes of the names.
struct XLA_FFI_Attrs {
  XLA_FFI_HEAD;
  int64_t size;
  XLA_FFI_AttrType* types;
  XLA_FFI_ByteSpan** names;
  void** attrs;
};
XLA_FFI_STRUCT(XLA_FFI_Attrs, attrs);

struct XLA_FFI_CallFrame {
  XLA_FFI_HEAD;  // handlers require exactly XLA_FFI_CallFrame_STRUCT_SIZE
  const XLA_FFI_Api* api;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future* future;  // out; arguments, results and attributes live until it is completed
};
XLA_FFI_STRUCT(XLA_FFI_CallFrame, attrs);

typedef XLA_FFI_Error* XLA_FFI_Handler(XLA_FFI_CallFrame* call_frame);

/// Only `execute` is required. Up to 0.3 there is no `record`.
typedef struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate;
  XLA_FFI_Handler* prepare;
  XLA_FFI_Handler* initialize;
  XLA_FFI_Handler* execute;
  XLA_FFI_Handler* record;
} XLA_FFI_Handler_Bundle;

enum XLA_FFI_Handler_TraitsBits {
  XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
};
typedef uint32_t XLA_FFI_Handler_Traits;

/// Up to 0.3 the bundle has four entries, and `traits` follows them directly.
struct XLA_FFI_Handler_Register_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
};
XLA_FFI_FUNCTION(XLA_FFI_Handler_Register, traits);

/// Facts that a handler fills in when it is called with this extension of the call frame.
struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  XLA_FFI_Handler_Traits traits;
  XLA_FFI_TypeId state_type_id;  // of the state that it creates
};
XLA_FFI_STRUCT(XLA_FFI_Metadata, traits);

struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata* metadata;
};
XLA_FFI_STRUCT(XLA_FFI_Metadata_Extension, metadata);

// --- Services ------------------------------------------------------------------------------------

struct XLA_FFI_Type_Register_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId* type_id;  // in and out; 0 asks for a new one
  const XLA_FFI_TypeInfo* type_info;
};
XLA_FFI_FUNCTION(XLA_FFI_Type_Register, type_id);

/// Finds an extension of the runtime; NULL if it has no such extension. Since 0.4.
struct XLA_FFI_InvokeContext_FindExtension_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  int64_t extension_type;
  const XLA_FFI_Extension* extension;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_InvokeContext_FindExtension, extension);

/// User data of the execution. 0.3 calls it XLA_FFI_ExecutionContext_Get.
struct XLA_FFI_InvokeContext_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* data;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_InvokeContext_Get, data);

/// Sets the state of a stage, once. Up to 0.2 there is no `stage`: it is instantiate.
struct XLA_FFI_State_Set_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;  // taken
};
XLA_FFI_FUNCTION(XLA_FFI_State_Set, state);

/// Likewise without `stage` up to 0.2.
struct XLA_FFI_State_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_State_Get, state);

struct XLA_FFI_Stream_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  void* stream;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_Stream_Get, stream);

struct XLA_FFI_DeviceMemory_Allocate_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  size_t size;
  size_t alignment;
  void* data;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_DeviceMemory_Allocate, data);

struct XLA_FFI_DeviceMemory_Free_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  size_t size;
  void* data;
};
XLA_FFI_FUNCTION(XLA_FFI_DeviceMemory_Free, data);

typedef void XLA_FFI_Task(void* data);

struct XLA_FFI_ThreadPool_Schedule_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_Task* task;
  void* data;
};
XLA_FFI_FUNCTION(XLA_FFI_ThreadPool_Schedule, data);

struct XLA_FFI_ThreadPool_NumThreads_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  int64_t* num_threads;  // written
};
XLA_FFI_FUNCTION(XLA_FFI_ThreadPool_NumThreads, num_threads);

struct XLA_FFI_RunId_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  int64_t run_id;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_RunId_Get, run_id);

struct XLA_FFI_DeviceOrdinal_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  int32_t device_ordinal;  // out
};
XLA_FFI_FUNCTION(XLA_FFI_DeviceOrdinal_Get, device_ordinal);

/// The functions that every call frame offers to its handler.
struct XLA_FFI_Api {
  XLA_FFI_HEAD;
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi* internal_api;
  XLA_FFI_Error_Create* XLA_FFI_Error_Create;
  XLA_FFI_Error_GetDetails* XLA_FFI_Error_GetDetails;
  XLA_FFI_Error_Destroy* XLA_FFI_Error_Destroy;
  XLA_FFI_Handler_Register* XLA_FFI_Handler_Register;
  XLA_FFI_Stream_Get* XLA_FFI_Stream_Get;
  XLA_FFI_Type_Register* XLA_FFI_Type_Register;
  XLA_FFI_InvokeContext_Get* XLA_FFI_InvokeContext_Get;
  XLA_FFI_State_Set* XLA_FFI_State_Set;
  XLA_FFI_State_Get* XLA_FFI_State_Get;
  XLA_FFI_DeviceMemory_Allocate* XLA_FFI_DeviceMemory_Allocate;
  XLA_FFI_DeviceMemory_Free* XLA_FFI_DeviceMemory_Free;
  XLA_FFI_ThreadPool_Schedule* XLA_FFI_ThreadPool_Schedule;
  XLA_FFI_ThreadPool_NumThreads* XLA_FFI_ThreadPool_NumThreads;
  XLA_FFI_Future_Create* XLA_FFI_Future_Create;
  XLA_FFI_Future_SetAvailable* XLA_FFI_Future_SetAvailable;
  XLA_FFI_Future_SetError* XLA_FFI_Future_SetError;
  XLA_FFI_RunId_Get* XLA_FFI_RunId_Get;
  XLA_FFI_DeviceOrdinal_Get* XLA_FFI_DeviceOrdinal_Get;
  XLA_FFI_InvokeContext_FindExtension* XLA_FFI_InvokeContext_FindExtension;
};
XLA_FFI_STRUCT(XLA_FFI_Api, XLA_FFI_InvokeContext_FindExtension);

// --- Untyped custom calls ------------------------------------------------------------------------

/// The outcome of a call, success unless set otherwise.
typedef struct XlaCustomCallStatus_ XlaCustomCallStatus;
void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus* status);
void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                   size_t message_length);
