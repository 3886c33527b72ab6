// SPDX-License-Identifier: Apache-2.0
// The functions that handlers may call (see api.h, abi.h). Their argument blocks state their size,
// by which blocks of older handlers are recognised.
#include "ffi/api.h"

#include <string.h>

#include "base/mem.h"
#include "ffi/future.h"
#include "ffi/registry.h"

enum { MEMORY_ALIGNMENT = 64, MAX_MEMORY_ALIGNMENT = 4096 };

static hlo_status_t check_size(const char* name, size_t expected, size_t found) {
  if (HLO_LIKELY(found >= expected)) return hlo_ok();
  return hlo_invalid_argument(
      "%s_Args has %zu bytes, expected at least %zu; this runtime has XLA FFI API %d.%d", name,
      found, expected, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
}

// Returns from a function of the table if its argument block is too small.
#define CHECK_SIZE(name)                                                                \
  do {                                                                                  \
    hlo_status_t fault = check_size(#name, name##_Args_STRUCT_SIZE, args->struct_size); \
    if (!hlo_status_is_ok(fault)) return hlo_ffi_error_of(fault);                       \
  } while (0)

// ---- errors, registration ----------------------------------------------------------------------

static XLA_FFI_Error* error_create(XLA_FFI_Error_Create_Args* args) {
  CHECK_SIZE(XLA_FFI_Error_Create);
  if (args->errc == XLA_FFI_Error_Code_OK) return NULL;
  bool is_known = args->errc > 0 && args->errc <= XLA_FFI_Error_Code_UNAUTHENTICATED;
  return hlo_ffi_error_of(
      hlo_status_create(is_known ? (hlo_status_code_t)args->errc : HLO_STATUS_UNKNOWN, "%s",
                        args->message ? args->message : ""));
}

static void error_get_details(XLA_FFI_Error_GetDetails_Args* args) {
  const size_t message_end = offsetof(XLA_FFI_Error_GetDetails_Args, errc);  // 0.3
  if (args->struct_size >= message_end) args->message = hlo_ffi_error_message(args->error);
  if (args->struct_size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE) {
    args->errc = (XLA_FFI_Error_Code)hlo_ffi_error_code(args->error);
  }
}

static void error_destroy(XLA_FFI_Error_Destroy_Args* args) {
  if (args->struct_size < XLA_FFI_Error_Destroy_Args_STRUCT_SIZE) return;
  hlo_status_release(hlo_ffi_error_take(args->error));
}

// The argument block of 0.1 to 0.3.
typedef struct register_args_v03 {
  XLA_FFI_HEAD;
  XLA_FFI_ByteSpan name, platform;
  XLA_FFI_Handler* functions[4];
  XLA_FFI_Handler_Traits traits;
} register_args_v03_t;

static XLA_FFI_Error* handler_register(XLA_FFI_Handler_Register_Args* args) {
  const size_t old_size = offsetof(register_args_v03_t, traits) + sizeof args->traits;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
  if (args->struct_size == old_size) {
    register_args_v03_t old;
    memcpy(&old, args, old_size);
    bundle = (XLA_FFI_Handler_Bundle){old.functions[0], old.functions[1], old.functions[2],
                                      old.functions[3], NULL};
    traits = old.traits;
  } else {
    CHECK_SIZE(XLA_FFI_Handler_Register);
    bundle = args->bundle;
    traits = args->traits;
  }
  return hlo_ffi_error_of(
      hlo_ffi_registry_add_typed(NULL, args->name, args->platform, &bundle, traits));
}

static XLA_FFI_Error* type_register(XLA_FFI_Type_Register_Args* args) {
  CHECK_SIZE(XLA_FFI_Type_Register);  // the size counts no type_info, but all versions pass it
  return hlo_ffi_error_of(hlo_ffi_type_register(
      args->name, args->type_info ? args->type_info->deleter : NULL, &args->type_id->type_id));
}

// ---- the execution -----------------------------------------------------------------------------

static XLA_FFI_Error* invoke_context_get(XLA_FFI_InvokeContext_Get_Args* args) {
  CHECK_SIZE(XLA_FFI_InvokeContext_Get);
  return hlo_ffi_error_of(
      hlo_ffi_user_data_get(args->ctx->execution->user_data, args->type_id->type_id, &args->data));
}

static XLA_FFI_Error* find_extension(XLA_FFI_InvokeContext_FindExtension_Args* args) {
  CHECK_SIZE(XLA_FFI_InvokeContext_FindExtension);
  const XLA_FFI_Extension* extension = args->ctx->execution->extensions;
  while (extension && extension->id.extension_type != args->extension_type) {
    extension = extension->next;
  }
  args->extension = extension;
  return NULL;
}

static XLA_FFI_Error* run_id_get(XLA_FFI_RunId_Get_Args* args) {
  CHECK_SIZE(XLA_FFI_RunId_Get);
  args->run_id = args->ctx->execution->run_id;
  return NULL;
}

static XLA_FFI_Error* device_ordinal_get(XLA_FFI_DeviceOrdinal_Get_Args* args) {
  CHECK_SIZE(XLA_FFI_DeviceOrdinal_Get);
  args->device_ordinal = args->ctx->execution->device_ordinal;
  return NULL;
}

static XLA_FFI_Error* stream_get(XLA_FFI_Stream_Get_Args* args) {
  CHECK_SIZE(XLA_FFI_Stream_Get);
  return hlo_ffi_error_of(hlo_unimplemented(  // begins as XLA's, which programs look for
      "XLA FFI GPU context is not available: the device of this call has no stream"));
}

// ---- states ------------------------------------------------------------------------------------

// The argument blocks up to 0.2, of both functions.
typedef struct state_args_v02 {
  XLA_FFI_HEAD;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
} state_args_v02_t;

static hlo_status_t state_of(XLA_FFI_InvokeContext* ctx, XLA_FFI_ExecutionStage stage,
                             hlo_ffi_state_t** out_state) {
  if ((unsigned)stage >= HLO_FFI_STATE_COUNT || !ctx->states[stage]) {
    return hlo_invalid_argument("the state of stage %d is not available in stage %d", (int)stage,
                                (int)ctx->stage);
  }
  *out_state = ctx->states[stage];
  return hlo_ok();
}

static hlo_status_t set_state(XLA_FFI_InvokeContext* ctx, XLA_FFI_ExecutionStage stage,
                              const XLA_FFI_TypeId* type_id, void* object) {
  hlo_ffi_state_t* state = NULL;
  HLO_TRY(state_of(ctx, stage, &state));
  if (stage != ctx->stage) {  // others may be reading it
    return hlo_failed_precondition(
        "the state of stage %d can be set in that stage only, not in stage %d", (int)stage,
        (int)ctx->stage);
  }
  return hlo_ffi_state_set(state, type_id->type_id, object);
}

static XLA_FFI_Error* state_set(XLA_FFI_State_Set_Args* args) {
  if (args->struct_size == sizeof(state_args_v02_t)) {
    state_args_v02_t old;
    memcpy(&old, args, sizeof old);
    return hlo_ffi_error_of(
        set_state(old.ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old.type_id, old.state));
  }
  CHECK_SIZE(XLA_FFI_State_Set);
  return hlo_ffi_error_of(set_state(args->ctx, args->stage, args->type_id, args->state));
}

static hlo_status_t get_state(XLA_FFI_InvokeContext* ctx, XLA_FFI_ExecutionStage stage,
                              const XLA_FFI_TypeId* type_id, void** out_object) {
  hlo_ffi_state_t* state = NULL;
  HLO_TRY(state_of(ctx, stage, &state));
  return hlo_ffi_state_get(state, type_id->type_id, out_object);
}

static XLA_FFI_Error* state_get(XLA_FFI_State_Get_Args* args) {
  if (args->struct_size == sizeof(state_args_v02_t)) {
    state_args_v02_t old;
    memcpy(&old, args, sizeof old);
    hlo_status_t status =
        get_state(old.ctx, XLA_FFI_ExecutionStage_INSTANTIATE, old.type_id, &old.state);
    memcpy(args, &old, sizeof old);
    return hlo_ffi_error_of(status);
  }
  CHECK_SIZE(XLA_FFI_State_Get);
  return hlo_ffi_error_of(get_state(args->ctx, args->stage, args->type_id, &args->state));
}

// ---- memory, threads ---------------------------------------------------------------------------

static XLA_FFI_Error* device_memory_allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  CHECK_SIZE(XLA_FFI_DeviceMemory_Allocate);
  size_t alignment = args->alignment;
  if (alignment == 0 || (alignment & (alignment - 1)) || alignment > MAX_MEMORY_ALIGNMENT) {
    return hlo_ffi_error_of(hlo_invalid_argument(
        "memory was requested with alignment %zu, expected a power of two of at most %d", alignment,
        MAX_MEMORY_ALIGNMENT));
  }
  if (alignment < MEMORY_ALIGNMENT) alignment = MEMORY_ALIGNMENT;
  void* data = hlo_mem_alloc_aligned(args->size, alignment);
  if (!data) return hlo_ffi_error_of(hlo_status_out_of_memory(args->size));
  args->data = data;
  return NULL;
}

static XLA_FFI_Error* device_memory_free(XLA_FFI_DeviceMemory_Free_Args* args) {
  CHECK_SIZE(XLA_FFI_DeviceMemory_Free);
  hlo_mem_free(args->data);
  return NULL;
}

typedef struct task {
  hlo_job_t job;  // first, for the pool
  XLA_FFI_Task* run;
  void* data;
} task_t;

static void run_task(hlo_job_t* job) {
  task_t task = *(task_t*)job;
  hlo_mem_free(job);
  task.run(task.data);
}

static XLA_FFI_Error* thread_pool_schedule(XLA_FFI_ThreadPool_Schedule_Args* args) {
  CHECK_SIZE(XLA_FFI_ThreadPool_Schedule);
  hlo_pool_t* pool = args->ctx->execution->pool;
  task_t* task = pool ? hlo_mem_alloc(sizeof *task) : NULL;
  if (!task) {  // the ABI permits any thread
    args->task(args->data);
    return NULL;
  }
  *task = (task_t){.job.run = run_task, .run = args->task, .data = args->data};
  hlo_pool_submit(pool, &task->job);
  return NULL;
}

static XLA_FFI_Error* thread_pool_num_threads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  CHECK_SIZE(XLA_FFI_ThreadPool_NumThreads);
  const hlo_pool_t* pool = args->ctx->execution->pool;
  *args->num_threads = pool ? hlo_pool_worker_count(pool) : 1;
  return NULL;
}

// ---- futures -----------------------------------------------------------------------------------

static XLA_FFI_Error* future_create(XLA_FFI_Future_Create_Args* args) {
  CHECK_SIZE(XLA_FFI_Future_Create);
  args->future = hlo_ffi_future_create();
  return args->future ? NULL : hlo_ffi_error_of(hlo_status_out_of_memory(sizeof(void*)));
}

static XLA_FFI_Error* complete(XLA_FFI_Future* future, hlo_status_t status) {
  if (hlo_ffi_future_set(future, status)) return NULL;
  return hlo_ffi_error_of(hlo_failed_precondition("the future is complete already"));
}

static XLA_FFI_Error* future_set_available(XLA_FFI_Future_SetAvailable_Args* args) {
  CHECK_SIZE(XLA_FFI_Future_SetAvailable);
  return complete(args->future, hlo_ok());
}

static XLA_FFI_Error* future_set_error(XLA_FFI_Future_SetError_Args* args) {
  CHECK_SIZE(XLA_FFI_Future_SetError);
  if (!args->error) {
    return hlo_ffi_error_of(hlo_invalid_argument("a future was failed without an error"));
  }
  return complete(args->future, hlo_ffi_error_take(args->error));
}

const XLA_FFI_Api* hlo_ffi_api(void) {
  static const XLA_FFI_Api api = {
      .struct_size = XLA_FFI_Api_STRUCT_SIZE,
      .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                      .major_version = XLA_FFI_API_MAJOR,
                      .minor_version = XLA_FFI_API_MINOR},
      .XLA_FFI_Error_Create = error_create,
      .XLA_FFI_Error_GetDetails = error_get_details,
      .XLA_FFI_Error_Destroy = error_destroy,
      .XLA_FFI_Handler_Register = handler_register,
      .XLA_FFI_Stream_Get = stream_get,
      .XLA_FFI_Type_Register = type_register,
      .XLA_FFI_InvokeContext_Get = invoke_context_get,
      .XLA_FFI_State_Set = state_set,
      .XLA_FFI_State_Get = state_get,
      .XLA_FFI_DeviceMemory_Allocate = device_memory_allocate,
      .XLA_FFI_DeviceMemory_Free = device_memory_free,
      .XLA_FFI_ThreadPool_Schedule = thread_pool_schedule,
      .XLA_FFI_ThreadPool_NumThreads = thread_pool_num_threads,
      .XLA_FFI_Future_Create = future_create,
      .XLA_FFI_Future_SetAvailable = future_set_available,
      .XLA_FFI_Future_SetError = future_set_error,
      .XLA_FFI_RunId_Get = run_id_get,
      .XLA_FFI_DeviceOrdinal_Get = device_ordinal_get,
      .XLA_FFI_InvokeContext_FindExtension = find_extension,
  };
  return &api;
}
