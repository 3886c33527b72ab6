// SPDX-License-Identifier: Apache-2.0
// Tests of call sites and launches with handlers in C: buffers, attributes, user data, states,
// memory, threads, futures, errors, untyped functions.
#include "ffi/call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ffi/test_util.h"

static const hlo_ffi_context_t kContext = {.run_id = 77, .device_ordinal = 5};

static int create_registry(void** state) {
  return hlo_ffi_registry_create((hlo_ffi_registry_t**)state) != NULL;
}

static int release_registry(void** state) {
  hlo_ffi_registry_release(*state);
  return 0;
}

static hlo_ffi_call_desc_t typed(const char* target) {
  return (hlo_ffi_call_desc_t){.target = hlo_ffi_span(target),
                               .platform = hlo_ffi_span("cpu"),
                               .interface = HLO_FFI_INTERFACE_TYPED};
}

// ---- buffers -----------------------------------------------------------------------------------

static const int64_t kDims[] = {2, 3};
static const hlo_ffi_buffer_t kMatrix = {HLO_DTYPE_F32, 2, kDims};
static const hlo_ffi_buffer_t kToken = {.dtype = HLO_DTYPE_TOKEN};

// Arguments: matrix, token, scalar. Results: token, matrix = matrix + scalar.
HANDLER(add_scalar) {
  assert_int_equal(frame->struct_size, 168);
  assert_null(frame->extension_start);
  assert_int_equal(frame->stage, XLA_FFI_ExecutionStage_EXECUTE);
  assert_int_equal(frame->args.size, 3);
  assert_int_equal(frame->rets.size, 2);
  assert_int_equal(frame->attrs.size, 0);
  for (int i = 0; i < 3; ++i) assert_int_equal(frame->args.types[i], XLA_FFI_ArgType_BUFFER);
  for (int i = 0; i < 2; ++i) assert_int_equal(frame->rets.types[i], XLA_FFI_RetType_BUFFER);
  XLA_FFI_Buffer* const* args = (XLA_FFI_Buffer**)frame->args.args;
  XLA_FFI_Buffer* const* rets = (XLA_FFI_Buffer**)frame->rets.rets;
  assert_int_equal(args[0]->struct_size, XLA_FFI_Buffer_STRUCT_SIZE);
  assert_int_equal(args[0]->dtype, XLA_FFI_DataType_F32);
  assert_int_equal(args[0]->rank, 2);
  assert_int_equal(args[0]->dims[1], 3);
  assert_int_equal(args[1]->dtype, XLA_FFI_DataType_TOKEN);
  assert_null(args[1]->data);
  assert_int_equal(args[2]->rank, 0);
  assert_int_equal(rets[0]->dtype, XLA_FFI_DataType_TOKEN);
  for (int i = 0; i < 6; ++i) {
    ((float*)rets[1]->data)[i] = ((float*)args[0]->data)[i] + *(float*)args[2]->data;
  }
  args[0]->data = NULL;  // handlers may write to their frame
  args[0]->rank = 0;
  return NULL;
}

static hlo_ffi_call_t* create_add_scalar(hlo_ffi_registry_t* registry) {
  hlo_ffi_test_add(registry, "add_scalar", add_scalar);
  hlo_ffi_call_desc_t desc = typed("add_scalar");
  hlo_ffi_buffer_t arguments[] = {kMatrix, kToken, {.dtype = HLO_DTYPE_F32}};
  hlo_ffi_buffer_t results[] = {kToken, kMatrix};
  desc.arguments = arguments;
  desc.argument_count = 3;
  desc.results = results;
  desc.result_count = 2;
  hlo_ffi_call_t* call = NULL;
  hlo_test_check(hlo_ffi_call_create(registry, &desc, &call));
  return call;
}

static void launch_add_scalar(const hlo_ffi_call_t* call, float scalar) {
  void* memory = malloc(hlo_ffi_call_launch_bytes(call));
  hlo_ffi_launch_t* launch = hlo_ffi_launch_init(memory, call);
  for (int repeat = 0; repeat < 3; ++repeat) {
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    int unused;
    void* addresses[] = {in, &unused, &scalar, NULL, out};
    XLA_FFI_Future* future;
    hlo_test_check(hlo_ffi_launch_execute(launch, &kContext, addresses, &future));
    assert_null(future);
    for (int i = 0; i < 6; ++i) assert_true(out[i] == in[i] + scalar);
  }
  hlo_ffi_launch_deinit(launch);
  free(memory);
}

static void buffers_arrive(void** state) {
  hlo_ffi_call_t* call = create_add_scalar(*state);
  assert_false(hlo_ffi_call_has_prepare(call));
  assert_int_equal(hlo_ffi_call_traits(call), 0);
  launch_add_scalar(call, 10);
  hlo_ffi_call_release(call);
}

static void* launch_often(void* call) {
  for (int i = 0; i < 2000; ++i) launch_add_scalar(call, (float)i);
  return NULL;
}

static void launches_of_a_call_site_are_independent(void** state) {
  hlo_ffi_call_t* call = create_add_scalar(*state);
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, launch_often, call);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  hlo_ffi_call_release(call);
}

// ---- attributes --------------------------------------------------------------------------------

static const void* attribute(const XLA_FFI_Attrs* attrs, const char* name, XLA_FFI_AttrType type) {
  for (int64_t i = 0; i < attrs->size; ++i) {
    if (attrs->names[i]->len == strlen(name) &&
        memcmp(attrs->names[i]->ptr, name, attrs->names[i]->len) == 0) {
      assert_int_equal(attrs->types[i], type);
      return attrs->attrs[i];
    }
  }
  fail();
  return NULL;
}

static hlo_ffi_attribute_t scalar(const char* name, hlo_dtype_t dtype, const void* data) {
  return (hlo_ffi_attribute_t){hlo_ffi_span(name), XLA_FFI_AttrType_SCALAR, dtype, data, 1};
}

HANDLER(read_attributes) {
  const XLA_FFI_Attrs* attrs = &frame->attrs;
  assert_int_equal(attrs->struct_size, XLA_FFI_Attrs_STRUCT_SIZE);
  assert_int_equal(attrs->size, 6);
  for (int64_t i = 1; i < attrs->size; ++i) {  // "flag" < "flags", and capitals come first
    assert_true(strcmp(attrs->names[i - 1]->ptr, attrs->names[i]->ptr) < 0);
  }
  const XLA_FFI_Scalar* flag = attribute(attrs, "flag", XLA_FFI_AttrType_SCALAR);
  assert_int_equal(flag->dtype, XLA_FFI_DataType_PRED);
  assert_true(*(bool*)flag->value);
  const XLA_FFI_Array* flags = attribute(attrs, "flags", XLA_FFI_AttrType_ARRAY);
  assert_int_equal(flags->dtype, XLA_FFI_DataType_S64);
  assert_int_equal(flags->size, 3);
  assert_int_equal(((int64_t*)flags->data)[2], -3);
  const XLA_FFI_Array* empty = attribute(attrs, "Empty", XLA_FFI_AttrType_ARRAY);
  assert_int_equal(empty->size, 0);
  const XLA_FFI_ByteSpan* text = attribute(attrs, "text", XLA_FFI_AttrType_STRING);
  assert_int_equal(text->len, 5);
  assert_memory_equal(text->ptr, "a\0b\nc", 6);
  const XLA_FFI_Scalar* factor = attribute(attrs, "factor", XLA_FFI_AttrType_SCALAR);
  assert_int_equal(factor->dtype, XLA_FFI_DataType_C128);
  assert_int_equal((uintptr_t)factor->value % 16, 0);
  assert_true(((double*)factor->value)[1] == -0.5);
  const XLA_FFI_Attrs* inner = attribute(attrs, "dict", XLA_FFI_AttrType_DICTIONARY);
  assert_int_equal(inner->size, 1);
  const XLA_FFI_Attrs* innermost = attribute(inner, "inner", XLA_FFI_AttrType_DICTIONARY);
  assert_int_equal(innermost->size, 0);
  return NULL;
}

static void attributes_arrive_sorted(void** state) {
  hlo_ffi_test_add(*state, "read_attributes", read_attributes);
  bool flag = true;
  int64_t flags[] = {1, 2, -3};
  double factor[] = {2, -0.5};
  hlo_ffi_attribute_t inner = {hlo_ffi_span("inner"), .type = XLA_FFI_AttrType_DICTIONARY};
  hlo_ffi_attribute_t attributes[] = {
      {hlo_ffi_span("text"), XLA_FFI_AttrType_STRING, .data = "a\0b\nc", .count = 5},
      {hlo_ffi_span("flags"), XLA_FFI_AttrType_ARRAY, HLO_DTYPE_S64, flags, 3},
      {hlo_ffi_span("dict"), XLA_FFI_AttrType_DICTIONARY, .data = &inner, .count = 1},
      scalar("flag", HLO_DTYPE_PRED, &flag),
      scalar("factor", HLO_DTYPE_C128, factor),
      {hlo_ffi_span("Empty"), XLA_FFI_AttrType_ARRAY, HLO_DTYPE_F32, NULL, 0},
  };
  hlo_ffi_call_desc_t desc = typed("read_attributes");
  desc.attributes = attributes;
  desc.attribute_count = 6;
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, NULL));
}

static void malformed_attributes_are_refused(void** state) {
  hlo_ffi_test_add(*state, "read_attributes", read_attributes);
  hlo_ffi_call_desc_t desc = typed("read_attributes");
  int32_t one = 1;
  hlo_ffi_attribute_t twice[] = {
      scalar("a", HLO_DTYPE_S32, &one),
      scalar("b", HLO_DTYPE_S32, &one),
      scalar("a", HLO_DTYPE_S32, &one),
  };
  desc.attributes = twice;
  desc.attribute_count = 3;
  hlo_ffi_test_expect(
      hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_INVALID_ARGUMENT,
      "cannot load custom call target \"read_attributes\": attribute \"a\" occurs twice");
  twice[2] = scalar("c", HLO_DTYPE_TOKEN, NULL);
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_INVALID_ARGUMENT,
                      "attribute \"c\" has element type TOKEN");
  twice[2].type = (XLA_FFI_AttrType)9;
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_INVALID_ARGUMENT,
                      "attribute \"c\" has type 9");
  hlo_ffi_attribute_t nested[HLO_FFI_MAX_ATTRIBUTE_DEPTH];
  for (int i = 0; i < HLO_FFI_MAX_ATTRIBUTE_DEPTH; ++i) {
    bool is_last = i + 1 == HLO_FFI_MAX_ATTRIBUTE_DEPTH;
    nested[i] = (hlo_ffi_attribute_t){hlo_ffi_span("n"), XLA_FFI_AttrType_DICTIONARY,
                                      .data = is_last ? NULL : &nested[i + 1], .count = !is_last};
  }
  desc.attributes = nested;
  desc.attribute_count = 1;
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_INVALID_ARGUMENT,
                      "nested deeper than 64 levels");
}

// ---- the execution -----------------------------------------------------------------------------

typedef struct counter {
  int value;
  int deleted;
} counter_t;

static void count_deletion(void* object) {
  ++((counter_t*)object)->deleted;
}

static int64_t counter_type(void) {
  int64_t id = 0;
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("counter"), count_deletion, &id));
  return id;
}

static hlo_status_t get_user_data(XLA_FFI_CallFrame* frame, int64_t type_id, void** out_data) {
  XLA_FFI_TypeId type = {type_id};
  XLA_FFI_InvokeContext_Get_Args args = {
      .struct_size = XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .type_id = &type,
  };
  HLO_TRY(hlo_ffi_error_take(frame->api->XLA_FFI_InvokeContext_Get(&args)));
  *out_data = args.data;
  return hlo_ok();
}

HANDLER(use_execution) {
  XLA_FFI_RunId_Get_Args run = {.struct_size = 40, .ctx = frame->ctx};  // 0.3 passes too much
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_RunId_Get(&run)));
  assert_int_equal(run.run_id, 77);
  XLA_FFI_DeviceOrdinal_Get_Args device = {
      .struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE, .ctx = frame->ctx};
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_DeviceOrdinal_Get(&device)));
  assert_int_equal(device.device_ordinal, 5);
  XLA_FFI_Stream_Get_Args stream = {.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE,
                                    .ctx = frame->ctx};
  hlo_ffi_test_expect(hlo_ffi_error_take(frame->api->XLA_FFI_Stream_Get(&stream)),
                      HLO_STATUS_UNIMPLEMENTED, "has no stream");
  XLA_FFI_InvokeContext_FindExtension_Args find = {
      .struct_size = XLA_FFI_InvokeContext_FindExtension_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .extension_type = 12,
  };
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_InvokeContext_FindExtension(&find)));
  assert_int_equal(find.extension->id.minor_version, 3);
  find.extension_type = 13;
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_InvokeContext_FindExtension(&find)));
  assert_null(find.extension);
  void* data = NULL;
  hlo_test_check(get_user_data(frame, counter_type(), &data));
  ++((counter_t*)data)->value;
  return hlo_ffi_error_of(get_user_data(frame, 4711, &data));
}

static void executions_offer_data(void** state) {
  hlo_ffi_test_add(*state, "use_execution", use_execution);
  counter_t counter = {0}, lent = {0};
  hlo_ffi_user_data_t user_data = {0};
  hlo_test_check(hlo_ffi_user_data_add(&user_data, 99, &lent, NULL));
  hlo_test_check(hlo_ffi_user_data_add(&user_data, counter_type(), &counter, count_deletion));
  hlo_ffi_test_expect(hlo_ffi_user_data_add(&user_data, counter_type(), &counter, count_deletion),
                      HLO_STATUS_ALREADY_EXISTS, "has user data with type id");
  hlo_ffi_test_expect(hlo_ffi_user_data_add(&user_data, 0, &counter, NULL),
                      HLO_STATUS_INVALID_ARGUMENT, "type id 0");
  XLA_FFI_Extension last = {.id = {12, 1, 3}}, first = {.id = {11, 0, 0}, .next = &last};
  hlo_ffi_context_t context = kContext;
  context.user_data = &user_data;
  context.extensions = &first;
  hlo_ffi_call_desc_t desc = typed("use_execution");
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &context, NULL), HLO_STATUS_NOT_FOUND,
                      "no user data with type id 4711");
  assert_int_equal(counter.value, 1);
  hlo_ffi_user_data_deinit(&user_data);
  assert_int_equal(counter.deleted, 1);
  assert_int_equal(lent.deleted, 0);
}

static void ids_of_types_are_unique(void** state) {
  (void)state;
  int64_t a = 0, a_again = 0, b = 0, given = 3, other = 4;
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("a"), count_deletion, &a));
  assert_true(a > INT32_MAX);  // ids of XLA's runtimes are small
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("a"), count_deletion, &a_again));
  assert_true(a == a_again);
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("b"), NULL, &b));
  assert_true(a != b);
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("given"), free, &given));
  hlo_test_check(hlo_ffi_type_register(hlo_ffi_span("given"), free, &given));
  hlo_ffi_test_expect(hlo_ffi_type_register(hlo_ffi_span("given"), free, &other),
                      HLO_STATUS_ALREADY_EXISTS, "\"given\" is registered with id 3");
  hlo_ffi_test_expect(hlo_ffi_type_register(hlo_ffi_span("another"), free, &given),
                      HLO_STATUS_ALREADY_EXISTS, "\"given\" is registered with id 3");
  hlo_ffi_test_expect(hlo_ffi_type_register(hlo_ffi_span("a"), free, &a), HLO_STATUS_ALREADY_EXISTS,
                      "and another deleter");
  other = -1;
  hlo_ffi_test_expect(hlo_ffi_type_register(hlo_ffi_span("c"), free, &other),
                      HLO_STATUS_INVALID_ARGUMENT, "an id of at least 0");
  hlo_ffi_deleter_t deleter;
  hlo_ffi_test_expect(hlo_ffi_type_find(12345, &deleter), HLO_STATUS_NOT_FOUND,
                      "no type with id 12345");
  XLA_FFI_TypeInfo info = {.struct_size = XLA_FFI_TypeInfo_STRUCT_SIZE, .deleter = count_deletion};
  XLA_FFI_TypeId id = {0};
  XLA_FFI_Type_Register_Args args = {
      .struct_size = XLA_FFI_Type_Register_Args_STRUCT_SIZE,
      .name = hlo_ffi_span("a"),
      .type_id = &id,
      .type_info = &info,
  };
  hlo_test_check(hlo_ffi_error_take(hlo_ffi_api()->XLA_FFI_Type_Register(&args)));
  assert_true(id.type_id == a);
}

// ---- states ------------------------------------------------------------------------------------

static counter_t states[XLA_FFI_ExecutionStage_EXECUTE];  // by stage
static int64_t state_type;
static bool fails_after_state;

static hlo_status_t set_state(XLA_FFI_CallFrame* frame, XLA_FFI_ExecutionStage stage, int64_t id) {
  XLA_FFI_TypeId type = {id};
  XLA_FFI_State_Set_Args args = {
      .struct_size = XLA_FFI_State_Set_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .stage = stage,
      .type_id = &type,
      .state = &states[stage % XLA_FFI_ExecutionStage_EXECUTE],
  };
  return hlo_ffi_error_take(frame->api->XLA_FFI_State_Set(&args));
}

static hlo_status_t get_state(XLA_FFI_CallFrame* frame, XLA_FFI_ExecutionStage stage, int64_t id,
                              void** out_state) {
  XLA_FFI_TypeId type = {id};
  XLA_FFI_State_Get_Args args = {
      .struct_size = XLA_FFI_State_Get_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .stage = stage,
      .type_id = &type,
  };
  HLO_TRY(hlo_ffi_error_take(frame->api->XLA_FFI_State_Get(&args)));
  *out_state = args.state;
  return hlo_ok();
}

// Every stage but execute.
HANDLER(set_own_state) {
  void* found;
  hlo_ffi_test_expect(get_state(frame, frame->stage, state_type, &found), HLO_STATUS_NOT_FOUND,
                      "no state of this stage");
  hlo_ffi_test_expect(set_state(frame, frame->stage, 4711), HLO_STATUS_NOT_FOUND,
                      "cannot set the state of a handler: no type with id 4711");
  hlo_test_check(set_state(frame, frame->stage, state_type));
  hlo_ffi_test_expect(set_state(frame, frame->stage, state_type), HLO_STATUS_FAILED_PRECONDITION,
                      "already set");
  bool is_instantiate = frame->stage == XLA_FFI_ExecutionStage_INSTANTIATE;
  assert_int_equal(frame->args.size, is_instantiate ? 0 : 1);
  if (is_instantiate) {
    hlo_ffi_test_expect(get_state(frame, XLA_FFI_ExecutionStage_PREPARE, state_type, &found),
                        HLO_STATUS_INVALID_ARGUMENT,
                        "the state of stage 1 is not available in stage 0");
  }
  return fails_after_state ? hlo_ffi_test_error(frame->api, XLA_FFI_Error_Code_ABORTED, "no more")
                           : NULL;
}

HANDLER(read_states) {
  void* found;
  for (int stage = 0; stage < XLA_FFI_ExecutionStage_EXECUTE; ++stage) {
    hlo_test_check(get_state(frame, (XLA_FFI_ExecutionStage)stage, state_type, &found));
    assert_ptr_equal(found, &states[stage]);
    hlo_ffi_test_expect(set_state(frame, (XLA_FFI_ExecutionStage)stage, state_type),
                        HLO_STATUS_FAILED_PRECONDITION, "not in stage 3");
    assert_int_equal(states[stage].deleted, 0);
  }
  hlo_ffi_test_expect(get_state(frame, XLA_FFI_ExecutionStage_INSTANTIATE, 4711, &found),
                      HLO_STATUS_INVALID_ARGUMENT, "not 4711");
  hlo_ffi_test_expect(get_state(frame, XLA_FFI_ExecutionStage_EXECUTE, state_type, &found),
                      HLO_STATUS_INVALID_ARGUMENT, "not available");
  // Argument blocks of 0.2 mean the state of instantiate.
  struct {
    XLA_FFI_HEAD;
    XLA_FFI_InvokeContext* ctx;
    XLA_FFI_TypeId* type_id;
    void* state;
  } old = {.struct_size = 40, .ctx = frame->ctx, .type_id = &(XLA_FFI_TypeId){state_type}};
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_State_Get((XLA_FFI_State_Get_Args*)&old)));
  assert_ptr_equal(old.state, &states[0]);
  hlo_ffi_test_expect(
      hlo_ffi_error_take(frame->api->XLA_FFI_State_Set((XLA_FFI_State_Set_Args*)&old)),
      HLO_STATUS_FAILED_PRECONDITION, "not in stage 3");
  return NULL;
}

static hlo_ffi_call_desc_t register_states(hlo_ffi_registry_t* registry) {
  memset(states, 0, sizeof states);
  state_type = counter_type();
  fails_after_state = false;
  XLA_FFI_Handler_Bundle bundle = {set_own_state, set_own_state, set_own_state, read_states, NULL};
  hlo_test_check(hlo_ffi_registry_add_typed(registry, hlo_ffi_span("states"), hlo_ffi_span("cpu"),
                                            &bundle, 0));
  hlo_ffi_call_desc_t desc = typed("states");
  desc.arguments = &kMatrix;
  desc.argument_count = 1;
  return desc;
}

static void every_stage_has_a_state(void** state) {
  hlo_ffi_call_desc_t desc = register_states(*state);
  hlo_ffi_call_t* call = NULL;
  hlo_test_check(hlo_ffi_call_create(*state, &desc, &call));
  assert_true(hlo_ffi_call_has_prepare(call));
  void* memory = malloc(hlo_ffi_call_launch_bytes(call));
  float matrix[6];
  void* addresses[] = {matrix};
  for (int i = 0; i < 2; ++i) {
    hlo_ffi_launch_t* launch = hlo_ffi_launch_init(memory, call);
    hlo_test_check(hlo_ffi_launch_prepare(launch, &kContext, addresses));
    XLA_FFI_Future* future;
    for (int repeat = 0; repeat < 2; ++repeat) {
      hlo_test_check(hlo_ffi_launch_execute(launch, &kContext, addresses, &future));
    }
    hlo_ffi_launch_deinit(launch);
    for (int stage = 1; stage < XLA_FFI_ExecutionStage_EXECUTE; ++stage) {
      assert_int_equal(states[stage].deleted, 1);
      states[stage].deleted = 0;
    }
  }
  free(memory);
  assert_int_equal(states[0].deleted, 0);
  hlo_ffi_call_release(call);
  assert_int_equal(states[0].deleted, 1);
}

static void failed_stages_leave_no_state(void** state) {
  hlo_ffi_call_desc_t desc = register_states(*state);
  fails_after_state = true;
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_ABORTED,
                      "cannot load custom call target \"states\": no more");
  assert_int_equal(states[0].deleted, 1);
}

// ---- memory and threads ------------------------------------------------------------------------

static hlo_status_t allocate(XLA_FFI_CallFrame* frame, size_t size, size_t alignment, void** out) {
  XLA_FFI_DeviceMemory_Allocate_Args args = {
      .struct_size = XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .size = size,
      .alignment = alignment,
  };
  HLO_TRY(hlo_ffi_error_take(frame->api->XLA_FFI_DeviceMemory_Allocate(&args)));
  *out = args.data;
  return hlo_ok();
}

HANDLER(use_scratch) {
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void* data = NULL;
    hlo_test_check(allocate(frame, 1000, alignment, &data));
    assert_int_equal((uintptr_t)data % (alignment < 64 ? 64 : alignment), 0);
    memset(data, 1, 1000);
    XLA_FFI_DeviceMemory_Free_Args args = {
        .struct_size = XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE,
        .ctx = frame->ctx,
        .size = 1000,
        .data = data,
    };
    hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_DeviceMemory_Free(&args)));
  }
  void* data;
  hlo_ffi_test_expect(allocate(frame, 8, 48, &data), HLO_STATUS_INVALID_ARGUMENT, "alignment 48");
  hlo_ffi_test_expect(allocate(frame, 8, 0, &data), HLO_STATUS_INVALID_ARGUMENT, "alignment 0");
  hlo_ffi_test_expect(allocate(frame, 8, 8192, &data), HLO_STATUS_INVALID_ARGUMENT, "at most 4096");
  hlo_mem_fail_nth(1);
  return hlo_ffi_error_of(allocate(frame, 8, 16, &data));
}

static void handlers_get_scratch_memory(void** state) {
  hlo_ffi_test_add(*state, "use_scratch", use_scratch);
  hlo_ffi_call_desc_t desc = typed("use_scratch");
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL),
                      HLO_STATUS_RESOURCE_EXHAUSTED, "");
}

enum { TASKS = 64 };

typedef struct tasks {
  atomic_int pending;
  int64_t thread_count;
  XLA_FFI_Future* future;
  const XLA_FFI_Api* api;
} tasks_t;

static tasks_t tasks;

static void run_task(void* data) {
  tasks_t* all = data;
  if (atomic_fetch_sub(&all->pending, 1) != 1) return;
  XLA_FFI_Future_SetAvailable_Args args = {
      .struct_size = XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE, .future = all->future};
  hlo_test_check(hlo_ffi_error_take(all->api->XLA_FFI_Future_SetAvailable(&args)));
}

static XLA_FFI_Future* create_future(const XLA_FFI_Api* api) {
  XLA_FFI_Future_Create_Args args = {.struct_size = XLA_FFI_Future_Create_Args_STRUCT_SIZE};
  hlo_test_check(hlo_ffi_error_take(api->XLA_FFI_Future_Create(&args)));
  return args.future;
}

HANDLER(use_threads) {
  tasks.api = frame->api;
  tasks.future = frame->future = create_future(frame->api);
  atomic_store(&tasks.pending, TASKS);
  XLA_FFI_ThreadPool_NumThreads_Args count = {
      .struct_size = XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .num_threads = &tasks.thread_count,
  };
  hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_ThreadPool_NumThreads(&count)));
  XLA_FFI_ThreadPool_Schedule_Args args = {
      .struct_size = XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE,
      .ctx = frame->ctx,
      .task = run_task,
      .data = &tasks,
  };
  for (int i = 0; i < TASKS; ++i) {
    hlo_test_check(hlo_ffi_error_take(frame->api->XLA_FFI_ThreadPool_Schedule(&args)));
  }
  return NULL;
}

static void tasks_run_on_the_pool_or_at_once(void** state) {
  hlo_ffi_test_add(*state, "use_threads", use_threads);
  hlo_ffi_call_desc_t desc = typed("use_threads");
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, NULL));
  assert_int_equal(tasks.thread_count, 1);
  hlo_ffi_context_t context = kContext;
  hlo_test_check(hlo_pool_create(3, &context.pool));
  for (int i = 0; i < 100; ++i) hlo_test_check(hlo_ffi_test_run(*state, &desc, &context, NULL));
  assert_int_equal(tasks.thread_count, 3);
  hlo_pool_release(context.pool);
}

// ---- results -----------------------------------------------------------------------------------

static XLA_FFI_Error_Code error_code;

HANDLER(fail_with_code) {
  return hlo_ffi_test_error(frame->api, error_code, "said the handler");
}

static void errors_keep_code_and_message(void** state) {
  hlo_ffi_test_add(*state, "fail", fail_with_code);
  hlo_ffi_call_desc_t desc = typed("fail");
  for (int code = 1; code <= XLA_FFI_Error_Code_UNAUTHENTICATED; ++code) {
    error_code = (XLA_FFI_Error_Code)code;
    hlo_status_t status = hlo_ffi_test_run(*state, &desc, &kContext, NULL);
    assert_string_equal(hlo_status_message(status), "said the handler");
    hlo_ffi_test_expect(status, (hlo_status_code_t)code, "");
  }
  error_code = (XLA_FFI_Error_Code)17;
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_UNKNOWN,
                      "said the handler");
  error_code = XLA_FFI_Error_Code_OK;
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, NULL));
}

static void errors_tell_handlers_of_all_versions(void** state) {
  (void)state;
  const XLA_FFI_Api* api = hlo_ffi_api();
  assert_int_equal(api->struct_size, 200);
  XLA_FFI_Error* error = hlo_ffi_test_error(api, XLA_FFI_Error_Code_DATA_LOSS, "lost");
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = 32, .error = error};  // 0.3
  api->XLA_FFI_Error_GetDetails(&details);
  assert_string_equal(details.message, "lost");
  assert_int_equal(details.errc, 0);
  details.struct_size = XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE;
  api->XLA_FFI_Error_GetDetails(&details);
  assert_int_equal(details.errc, XLA_FFI_Error_Code_DATA_LOSS);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE,
                                        .error = error};
  api->XLA_FFI_Error_Destroy(&destroy);
}

typedef struct ending {
  atomic_int count;
  hlo_status_code_t code;
} ending_t;

static void note_end(void* context, hlo_status_t status) {
  ending_t* ending = context;
  ending->code = hlo_status_code(status);
  hlo_status_release(status);
  atomic_fetch_add(&ending->count, 1);
}

static hlo_status_t fail_future(XLA_FFI_Future* future, XLA_FFI_Error* error) {
  XLA_FFI_Future_SetError_Args args = {
      .struct_size = XLA_FFI_Future_SetError_Args_STRUCT_SIZE, .future = future, .error = error};
  return hlo_ffi_error_take(hlo_ffi_api()->XLA_FFI_Future_SetError(&args));
}

static void futures_complete_once(void** state) {
  (void)state;
  const XLA_FFI_Api* api = hlo_ffi_api();
  ending_t ending = {0};
  XLA_FFI_Future* future = create_future(api);
  hlo_ffi_future_on_ready(future, note_end, &ending);
  assert_int_equal(ending.count, 0);
  hlo_ffi_test_expect(fail_future(future, NULL), HLO_STATUS_INVALID_ARGUMENT, "without an error");
  hlo_test_check(
      fail_future(future, hlo_ffi_test_error(api, XLA_FFI_Error_Code_UNAVAILABLE, "away")));
  assert_int_equal(ending.count, 1);
  assert_int_equal(ending.code, HLO_STATUS_UNAVAILABLE);
  future = create_future(api);
  hlo_test_check(fail_future(future, hlo_ffi_test_error(api, XLA_FFI_Error_Code_ABORTED, "first")));
  hlo_ffi_test_expect(
      fail_future(future, hlo_ffi_test_error(api, XLA_FFI_Error_Code_UNAVAILABLE, "second")),
      HLO_STATUS_FAILED_PRECONDITION, "complete already");
  hlo_ffi_future_on_ready(future, note_end, &ending);
  assert_int_equal(ending.count, 2);
  assert_int_equal(ending.code, HLO_STATUS_ABORTED);
}

static void* set_future(void* future) {
  hlo_ffi_future_set(future, hlo_ok());
  return NULL;
}

static void futures_may_complete_at_any_moment(void** state) {
  (void)state;
  ending_t ending = {0};
  for (int i = 0; i < 2000; ++i) {
    XLA_FFI_Future* future = create_future(hlo_ffi_api());
    pthread_t thread;
    pthread_create(&thread, NULL, set_future, future);
    if (i % 2) {
      hlo_test_check(hlo_ffi_future_await(future));
    } else {
      hlo_ffi_future_on_ready(future, note_end, &ending);
    }
    pthread_join(thread, NULL);
  }
  assert_int_equal(ending.count, 1000);
}

static XLA_FFI_Future* abandoned;

HANDLER(fail_with_future) {
  abandoned = frame->future = create_future(frame->api);
  return hlo_ffi_test_error(frame->api, XLA_FFI_Error_Code_INTERNAL, "failed at once");
}

static void an_error_wins_over_a_future(void** state) {
  hlo_ffi_test_add(*state, "fail_with_future", fail_with_future);
  hlo_ffi_call_desc_t desc = typed("fail_with_future");
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, NULL), HLO_STATUS_INTERNAL,
                      "failed at once");
  hlo_ffi_future_set(abandoned, hlo_ok());  // frees it
}

static void too_small_argument_blocks_are_refused(void** state) {
  (void)state;
  const XLA_FFI_Api* api = hlo_ffi_api();
  union {
    size_t struct_size;
    char room[200];
  } args = {.struct_size = 8};
#define REFUSED(name)                                                                           \
  hlo_ffi_test_expect(hlo_ffi_error_take(api->name((void*)&args)), HLO_STATUS_INVALID_ARGUMENT, \
                      #name)
  REFUSED(XLA_FFI_Error_Create);
  REFUSED(XLA_FFI_Handler_Register);
  REFUSED(XLA_FFI_Stream_Get);
  REFUSED(XLA_FFI_Type_Register);
  REFUSED(XLA_FFI_InvokeContext_Get);
  REFUSED(XLA_FFI_State_Set);
  REFUSED(XLA_FFI_State_Get);
  REFUSED(XLA_FFI_DeviceMemory_Allocate);
  REFUSED(XLA_FFI_DeviceMemory_Free);
  REFUSED(XLA_FFI_ThreadPool_Schedule);
  REFUSED(XLA_FFI_ThreadPool_NumThreads);
  REFUSED(XLA_FFI_Future_Create);
  REFUSED(XLA_FFI_Future_SetAvailable);
  REFUSED(XLA_FFI_Future_SetError);
  REFUSED(XLA_FFI_RunId_Get);
  REFUSED(XLA_FFI_DeviceOrdinal_Get);
  REFUSED(XLA_FFI_InvokeContext_FindExtension);
#undef REFUSED
  api->XLA_FFI_Error_GetDetails((void*)&args);  // without effect
  api->XLA_FFI_Error_Destroy((void*)&args);
}

// ---- untyped functions -------------------------------------------------------------------------

static void add_original(void* out, const void** in) {
  *(float*)out = *(const float*)in[0] + *(const float*)in[1];
}

static void add_to_tuple(void* out, const void** in) {
  *((float**)out)[0] = *(const float*)in[0] + *(const float*)in[1];
}

static void fail_with_status(void* out, const void** in, XlaCustomCallStatus* status) {
  (void)out;
  (void)in;
  XlaCustomCallStatusSetFailure(status, "not today at all", 9);
  XlaCustomCallStatusSetFailure(status, "not today at all", 9);
}

static void succeed_with_opaque(void* out, const void** in, const char* opaque, size_t length,
                                XlaCustomCallStatus* status) {
  XlaCustomCallStatusSetFailure(status, "overridden", 10);
  XlaCustomCallStatusSetSuccess(status);
  add_original(out, in);
  *(float*)out += (float)length;
  assert_string_equal(opaque, "{k = 1}");
}

// Writes what a std::optional<std::string> of another library has.
static void fail_with_foreign_status(void* out, const void** in, XlaCustomCallStatus* status) {
  (void)out;
  (void)in;
  ((char*)status)[32] = 1;
}

static hlo_ffi_call_desc_t untyped(hlo_ffi_registry_t* registry, const char* target,
                                   hlo_ffi_interface_t interface, hlo_ffi_function_t function) {
  hlo_test_check(
      hlo_ffi_registry_add_untyped(registry, hlo_ffi_span(target), hlo_ffi_span("host"), function));
  static const hlo_ffi_buffer_t scalars[] = {{.dtype = HLO_DTYPE_F32}, {.dtype = HLO_DTYPE_F32}};
  return (hlo_ffi_call_desc_t){
      .target = hlo_ffi_span(target),
      .platform = hlo_ffi_span("cpu"),
      .interface = interface,
      .arguments = scalars,
      .argument_count = 2,
      .results = scalars,
      .result_count = 1,
      .opaque = {"{k = 1}---", 7},
  };
}

static void untyped_functions_are_called(void** state) {
  float a = 1, b = 2, sum = 0;
  void* addresses[] = {&a, &b, &sum};
  hlo_ffi_call_desc_t desc =
      untyped(*state, "original", HLO_FFI_INTERFACE_ORIGINAL, (hlo_ffi_function_t)add_original);
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, addresses));
  assert_true(sum == 3);
  desc = untyped(*state, "tuple", HLO_FFI_INTERFACE_ORIGINAL, (hlo_ffi_function_t)add_to_tuple);
  desc.returns_tuple = true;
  a = 10;
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, addresses));
  assert_true(sum == 12);
  desc = untyped(*state, "unified", HLO_FFI_INTERFACE_UNIFIED,
                 (hlo_ffi_function_t)succeed_with_opaque);
  hlo_test_check(hlo_ffi_test_run(*state, &desc, &kContext, addresses));
  assert_true(sum == 19);
  desc = untyped(*state, "status", HLO_FFI_INTERFACE_STATUS, (hlo_ffi_function_t)fail_with_status);
  hlo_status_t status = hlo_ffi_test_run(*state, &desc, &kContext, addresses);
  assert_string_equal(hlo_status_message(status), "not today");
  hlo_ffi_test_expect(status, HLO_STATUS_INTERNAL, "");
  desc = untyped(*state, "foreign", HLO_FFI_INTERFACE_STATUS,
                 (hlo_ffi_function_t)fail_with_foreign_status);
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, addresses), HLO_STATUS_INTERNAL,
                      "its message is unknown");
  desc.interface = (hlo_ffi_interface_t)5;
  hlo_ffi_test_expect(hlo_ffi_test_run(*state, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "api_version 5, expected 1 to 4");
}

// ---- exhausted memory --------------------------------------------------------------------------

static void creation_survives_exhausted_memory(void** state) {
  hlo_ffi_call_release(create_add_scalar(*state));
  hlo_ffi_call_desc_t desc = typed("add_scalar");
  int32_t one = 1;
  hlo_ffi_attribute_t attribute = scalar("a", HLO_DTYPE_S32, &one);
  desc.attributes = &attribute;
  desc.attribute_count = 1;
  desc.arguments = &kMatrix;
  desc.argument_count = 1;
  for (uint64_t n = 1;; ++n) {
    hlo_ffi_call_t* call = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_ffi_call_create(*state, &desc, &call);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    hlo_ffi_call_release(call);
    if (!failed) {
      hlo_test_check(status);
      break;
    }
    hlo_ffi_test_expect(status, HLO_STATUS_RESOURCE_EXHAUSTED, "");
  }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, create_registry, release_registry)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(buffers_arrive),
      TEST(launches_of_a_call_site_are_independent),
      TEST(attributes_arrive_sorted),
      TEST(malformed_attributes_are_refused),
      TEST(executions_offer_data),
      TEST(ids_of_types_are_unique),
      TEST(every_stage_has_a_state),
      TEST(failed_stages_leave_no_state),
      TEST(handlers_get_scratch_memory),
      TEST(tasks_run_on_the_pool_or_at_once),
      TEST(errors_keep_code_and_message),
      TEST(errors_tell_handlers_of_all_versions),
      TEST(futures_complete_once),
      TEST(futures_may_complete_at_any_moment),
      TEST(an_error_wins_over_a_future),
      TEST(too_small_argument_blocks_are_refused),
      TEST(untyped_functions_are_called),
      TEST(creation_survives_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
