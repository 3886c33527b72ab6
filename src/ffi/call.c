// SPDX-License-Identifier: Apache-2.0
// Call sites and their launches (see call.h). A call site has all that no launch changes: types,
// dimensions, attributes, and frames and buffers without addresses. Handlers get pointers that they
// could write through, so each execution copies the frame and the buffers.
#include "ffi/call.h"

#include <string.h>

#include "base/mem.h"
#include "ffi/future.h"

struct hlo_ffi_call {
  hlo_arena_t arena;  // has the call itself
  hlo_ffi_handler_t handler;
  hlo_ffi_interface_t interface;
  bool returns_tuple;
  uint32_t argument_count;
  uint32_t buffer_count;    // arguments and results
  XLA_FFI_CallFrame frame;  // without addresses
  XLA_FFI_Buffer* buffers;
  XLA_FFI_ByteSpan opaque;
  hlo_ffi_state_t state;  // of instantiate
};

struct hlo_ffi_launch {
  const hlo_ffi_call_t* call;
  XLA_FFI_InvokeContext context;
  hlo_ffi_state_t states[HLO_FFI_STATE_COUNT];  // of prepare and initialize
  XLA_FFI_CallFrame frame;
  XLA_FFI_Buffer buffers[];  // then as many pointers
};

/// Bytes that functions of another library would use as their status object.
enum { FOREIGN_STATUS_BYTES = 64 };

// A library may be linked with XLA's own XlaCustomCallStatusSetFailure, which writes a
// std::optional<std::string>: the zeros at the beginning are an empty one.
struct XlaCustomCallStatus_ {
  unsigned char foreign[FOREIGN_STATUS_BYTES];
  hlo_status_t status;
};

void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus* status) {
  hlo_status_release(status->status);
  status->status = hlo_ok();
}

void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                   size_t message_length) {
  XlaCustomCallStatusSetSuccess(status);
  status->status = hlo_internal_error("%.*s", (int)strnlen(message, message_length), message);
}

// ---- call sites --------------------------------------------------------------------------------

static hlo_status_t build_buffers(hlo_arena_t* arena, const hlo_ffi_buffer_t* types, uint32_t count,
                                  XLA_FFI_Buffer* out_buffers) {
  for (uint32_t i = 0; i < count; ++i) {
    int64_t* dims = hlo_arena_array(arena, types[i].rank, sizeof *dims);
    if (!dims) return hlo_arena_status(arena);
    if (types[i].rank) memcpy(dims, types[i].dims, types[i].rank * sizeof *dims);
    out_buffers[i] = (XLA_FFI_Buffer){
        .struct_size = XLA_FFI_Buffer_STRUCT_SIZE,
        .dtype = (XLA_FFI_DataType)hlo_dtype_info(types[i].dtype)->primitive_type,
        .rank = types[i].rank,
        .dims = dims,
    };
  }
  return hlo_ok();
}

static hlo_status_t build_frame(hlo_ffi_call_t* call, const hlo_ffi_call_desc_t* desc) {
  call->frame = (XLA_FFI_CallFrame){
      .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = hlo_ffi_api(),
      .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE, .size = desc->argument_count},
      .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE, .size = desc->result_count},
  };
  XLA_FFI_ArgType* argument_types =
      hlo_arena_array(&call->arena, desc->argument_count, sizeof *argument_types);
  XLA_FFI_RetType* result_types =
      hlo_arena_array(&call->arena, desc->result_count, sizeof *result_types);
  if (!argument_types || !result_types) return hlo_arena_status(&call->arena);
  for (uint32_t i = 0; i < desc->argument_count; ++i) argument_types[i] = XLA_FFI_ArgType_BUFFER;
  for (uint32_t i = 0; i < desc->result_count; ++i) result_types[i] = XLA_FFI_RetType_BUFFER;
  call->frame.args.types = argument_types;
  call->frame.rets.types = result_types;
  return hlo_ffi_attributes_build(&call->arena, desc->attributes, desc->attribute_count,
                                  &call->frame.attrs);
}

// Copies what launches need from the description.
static hlo_status_t build(hlo_ffi_call_t* call, const hlo_ffi_call_desc_t* desc) {
  hlo_arena_t* arena = &call->arena;
  call->interface = desc->interface;
  call->returns_tuple = desc->returns_tuple;
  call->argument_count = desc->argument_count;
  call->buffer_count = desc->argument_count + desc->result_count;
  call->buffers = hlo_arena_array(arena, call->buffer_count, sizeof *call->buffers);
  char* opaque =
      hlo_arena_strndup(arena, desc->opaque.ptr ? desc->opaque.ptr : "", desc->opaque.len);
  if (!call->buffers || !opaque) return hlo_arena_status(arena);
  call->opaque = (XLA_FFI_ByteSpan){opaque, desc->opaque.len};
  HLO_TRY(build_buffers(arena, desc->arguments, desc->argument_count, call->buffers));
  HLO_TRY(build_buffers(arena, desc->results, desc->result_count,
                        call->buffers + desc->argument_count));
  return build_frame(call, desc);
}

static void ignore(HLO_UNUSED void* context, hlo_status_t status) {
  hlo_status_release(status);
}

// Calls a function of the handler; *out_future is NULL unless its work goes on.
static hlo_status_t invoke(XLA_FFI_Handler* function, XLA_FFI_CallFrame* frame,
                           XLA_FFI_Future** out_future) {
  hlo_status_t status = hlo_ffi_error_take(function(frame));
  *out_future = frame->future;
  if (HLO_LIKELY(hlo_status_is_ok(status)) || !frame->future) return status;
  hlo_ffi_future_on_ready(frame->future, ignore, NULL);
  *out_future = NULL;
  return status;
}

static hlo_status_t invoke_and_wait(XLA_FFI_Handler* function, XLA_FFI_CallFrame* frame) {
  XLA_FFI_Future* future;
  HLO_TRY(invoke(function, frame, &future));
  return future ? hlo_ffi_future_await(future) : hlo_ok();
}

static hlo_status_t instantiate(hlo_ffi_call_t* call) {
  if (!call->handler.bundle.instantiate) return hlo_ok();
  static const hlo_ffi_context_t no_execution = {.run_id = -1, .device_ordinal = -1};
  XLA_FFI_InvokeContext context = {
      .execution = &no_execution,
      .states = {&call->state},
      .stage = XLA_FFI_ExecutionStage_INSTANTIATE,
  };
  XLA_FFI_CallFrame frame = call->frame;
  frame.ctx = &context;
  frame.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  frame.args.size = frame.rets.size = 0;
  return invoke_and_wait(call->handler.bundle.instantiate, &frame);
}

hlo_status_t hlo_ffi_call_create(hlo_ffi_registry_t* registry, const hlo_ffi_call_desc_t* desc,
                                 hlo_ffi_call_t** out_call) {
  if (desc->interface < HLO_FFI_INTERFACE_ORIGINAL || desc->interface > HLO_FFI_INTERFACE_TYPED) {
    return hlo_invalid_argument("custom call target \"%.*s\" has api_version %d, expected 1 to 4",
                                (int)desc->target.len, desc->target.ptr, (int)desc->interface);
  }
  hlo_ffi_handler_t handler;
  HLO_TRY(hlo_ffi_registry_find(registry, desc->target, desc->platform, desc->interface, &handler));
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_ffi_call_t* call = hlo_arena_alloc_zeroed(&arena, sizeof *call);
  if (!call) {
    hlo_arena_deinit(&arena);
    return hlo_status_out_of_memory(sizeof *call);
  }
  call->arena = arena;
  call->handler = handler;
  hlo_status_t status = build(call, desc);
  if (hlo_status_is_ok(status)) status = instantiate(call);
  if (!hlo_status_is_ok(status)) {
    hlo_ffi_call_release(call);
    return hlo_status_annotate(status, "cannot load custom call target \"%.*s\"",
                               (int)desc->target.len, desc->target.ptr);
  }
  *out_call = call;
  return hlo_ok();
}

void hlo_ffi_call_release(hlo_ffi_call_t* call) {
  if (!call) return;
  hlo_ffi_state_deinit(&call->state);
  hlo_arena_t arena = call->arena;
  hlo_arena_deinit(&arena);
}

uint32_t hlo_ffi_call_traits(const hlo_ffi_call_t* call) {
  return call->handler.traits;
}

bool hlo_ffi_call_has_prepare(const hlo_ffi_call_t* call) {
  return call->handler.bundle.prepare || call->handler.bundle.initialize;
}

size_t hlo_ffi_call_launch_bytes(const hlo_ffi_call_t* call) {
  return sizeof(hlo_ffi_launch_t) + call->buffer_count * (sizeof(XLA_FFI_Buffer) + sizeof(void*));
}

// ---- launches ----------------------------------------------------------------------------------

hlo_ffi_launch_t* hlo_ffi_launch_init(void* memory, const hlo_ffi_call_t* call) {
  hlo_ffi_launch_t* launch = memory;
  launch->call = call;
  memset(launch->states, 0, sizeof launch->states);
  for (int i = 0; i < HLO_FFI_STATE_COUNT; ++i) launch->context.states[i] = &launch->states[i];
  // It has been set, if at all, and context.stage forbids to set it again.
  launch->context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = (hlo_ffi_state_t*)&call->state;
  return launch;
}

void hlo_ffi_launch_deinit(hlo_ffi_launch_t* launch) {
  for (int i = 0; i < HLO_FFI_STATE_COUNT; ++i) hlo_ffi_state_deinit(&launch->states[i]);
}

// Returns the room for one pointer to each buffer.
static void** pointers_of(hlo_ffi_launch_t* launch) {
  return (void**)(launch->buffers + launch->call->buffer_count);
}

// Makes the frame of a stage.
static XLA_FFI_CallFrame* make_frame(hlo_ffi_launch_t* launch, XLA_FFI_ExecutionStage stage,
                                     const hlo_ffi_context_t* context, void* const* addresses) {
  const hlo_ffi_call_t* call = launch->call;
  XLA_FFI_CallFrame* frame = &launch->frame;
  void** pointers = pointers_of(launch);
  *frame = call->frame;
  frame->ctx = &launch->context;
  frame->stage = stage;
  frame->args.args = pointers;
  frame->rets.rets = pointers + call->argument_count;
  for (uint32_t i = 0; i < call->buffer_count; ++i) {
    launch->buffers[i] = call->buffers[i];
    bool is_token = call->buffers[i].dtype == XLA_FFI_DataType_TOKEN;
    launch->buffers[i].data = is_token ? NULL : addresses[i];
    pointers[i] = &launch->buffers[i];
  }
  launch->context.execution = context;
  launch->context.stage = stage;
  return frame;
}

hlo_status_t hlo_ffi_launch_prepare(hlo_ffi_launch_t* launch, const hlo_ffi_context_t* context,
                                    void* const* addresses) {
  const XLA_FFI_Handler_Bundle* bundle = &launch->call->handler.bundle;
  XLA_FFI_Handler* const functions[] = {bundle->prepare, bundle->initialize};
  for (int i = 0; i < 2; ++i) {
    if (!functions[i]) continue;
    XLA_FFI_ExecutionStage stage = (XLA_FFI_ExecutionStage)(XLA_FFI_ExecutionStage_PREPARE + i);
    HLO_TRY(invoke_and_wait(functions[i], make_frame(launch, stage, context, addresses)));
  }
  return hlo_ok();
}

static hlo_status_t call_untyped(hlo_ffi_launch_t* launch, void* const* addresses) {
  const hlo_ffi_call_t* call = launch->call;
  void** pointers = pointers_of(launch);
  if (call->buffer_count) memcpy(pointers, addresses, call->buffer_count * sizeof *pointers);
  const void** in = (const void**)pointers;
  void** results = pointers + call->argument_count;
  void* out = call->returns_tuple                         ? (void*)results
              : call->buffer_count > call->argument_count ? results[0]
                                                          : NULL;
  hlo_ffi_function_t function = call->handler.function;
  XlaCustomCallStatus outcome = {0};
  if (call->interface == HLO_FFI_INTERFACE_ORIGINAL) {
    ((void (*)(void*, const void**))function)(out, in);
  } else if (call->interface == HLO_FFI_INTERFACE_STATUS) {
    ((void (*)(void*, const void**, XlaCustomCallStatus*))function)(out, in, &outcome);
  } else {
    ((void (*)(void*, const void**, const char*, size_t, XlaCustomCallStatus*))function)(
        out, in, call->opaque.ptr, call->opaque.len, &outcome);
  }
  static const unsigned char untouched[FOREIGN_STATUS_BYTES];
  if (hlo_status_is_ok(outcome.status) &&
      memcmp(outcome.foreign, untouched, sizeof untouched) != 0) {
    return hlo_internal_error(
        "the custom call failed; its message is unknown because the library is linked with an "
        "XlaCustomCallStatusSetFailure of its own");
  }
  return outcome.status;
}

hlo_status_t hlo_ffi_launch_execute(hlo_ffi_launch_t* launch, const hlo_ffi_context_t* context,
                                    void* const* addresses, XLA_FFI_Future** out_future) {
  *out_future = NULL;
  if (launch->call->interface != HLO_FFI_INTERFACE_TYPED) return call_untyped(launch, addresses);
  return invoke(launch->call->handler.bundle.execute,
                make_frame(launch, XLA_FFI_ExecutionStage_EXECUTE, context, addresses), out_future);
}
