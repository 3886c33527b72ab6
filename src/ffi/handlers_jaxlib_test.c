// SPDX-License-Identifier: Apache-2.0
// Tests of handlers that are compiled from C++ with the headers of jaxlib (jaxlib_handlers.cc),
// which are those of the handlers that JAX's users write.
#include <string.h>

#include "ffi/test_util.h"

XLA_FFI_Handler hlo_test_combine, hlo_test_fail, hlo_test_open, hlo_test_prepare, hlo_test_use;
XLA_FFI_Handler hlo_test_stream, hlo_test_square;
XLA_FFI_Error* hlo_test_register_types(const XLA_FFI_Api* api, int64_t* listener_type);
int64_t hlo_test_sessions_alive(void);
int hlo_test_take_status(XLA_FFI_Error* error, char* message, size_t message_size);

static const int64_t kDims[] = {2, 3};
static const hlo_ffi_buffer_t kMatrices[] = {
    {HLO_DTYPE_F32, 2, kDims}, {HLO_DTYPE_F32, 2, kDims}, {HLO_DTYPE_F32, 2, kDims}};
static const hlo_ffi_context_t kContext = {.run_id = 100, .device_ordinal = 3};

static hlo_ffi_call_desc_t typed(const char* target) {
  return (hlo_ffi_call_desc_t){.target = hlo_ffi_span(target),
                               .platform = hlo_ffi_span("cpu"),
                               .interface = HLO_FFI_INTERFACE_TYPED};
}

// A call with one attribute.
static hlo_ffi_call_desc_t typed_with(const char* target, const hlo_ffi_attribute_t* attribute) {
  hlo_ffi_call_desc_t desc = typed(target);
  desc.attributes = attribute;
  desc.attribute_count = 1;
  return desc;
}

static hlo_ffi_attribute_t scalar(const char* name, hlo_dtype_t dtype, const void* data) {
  return (hlo_ffi_attribute_t){hlo_ffi_span(name), XLA_FFI_AttrType_SCALAR, dtype, data, 1};
}

static void handlers_decode_their_operands(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "combine", hlo_test_combine);
  int32_t mode = 1;
  double factor = 2;
  bool flag = true;
  int64_t sizes[] = {5, 7}, low = -4, high = 4;
  uint8_t depth = 9;
  hlo_ffi_attribute_t range[] = {scalar("low", HLO_DTYPE_S64, &low),
                                 scalar("high", HLO_DTYPE_S64, &high)};
  hlo_ffi_attribute_t options[] = {
      {hlo_ffi_span("name"), XLA_FFI_AttrType_STRING, HLO_DTYPE_INVALID, "x", 1},
      scalar("depth", HLO_DTYPE_U8, &depth),
  };
  hlo_ffi_attribute_t attributes[] = {
      scalar("mode", HLO_DTYPE_S32, &mode),
      scalar("factor", HLO_DTYPE_F64, &factor),
      scalar("flag", HLO_DTYPE_PRED, &flag),
      {hlo_ffi_span("label"), XLA_FFI_AttrType_STRING, HLO_DTYPE_INVALID, "a label", 7},
      {hlo_ffi_span("sizes"), XLA_FFI_AttrType_ARRAY, HLO_DTYPE_S64, sizes, 2},
      {hlo_ffi_span("range"), XLA_FFI_AttrType_DICTIONARY, HLO_DTYPE_INVALID, range, 2},
      {hlo_ffi_span("options"), XLA_FFI_AttrType_DICTIONARY, HLO_DTYPE_INVALID, options, 2},
  };
  hlo_ffi_call_desc_t desc = typed("combine");
  desc.arguments = kMatrices;
  desc.argument_count = 3;
  desc.results = kMatrices;
  desc.result_count = 1;
  desc.attributes = attributes;
  desc.attribute_count = 7;
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 1, 1, 1, 1, 1}, c[6] = {0, 0, 0, 0, 0, 3}, out[6];
  void* addresses[] = {a, b, c, out};
  hlo_test_check(hlo_ffi_test_run(NULL, &desc, &kContext, addresses));
  for (int i = 0; i < 6; ++i) assert_true(out[i] == (a[i] - b[i] - c[i]) * 2);
  mode = 0;
  hlo_test_check(hlo_ffi_test_run(NULL, &desc, &kContext, addresses));
  for (int i = 0; i < 6; ++i) assert_true(out[i] == (a[i] + b[i] + c[i]) * 2);

  hlo_ffi_call_t* call = NULL;
  hlo_test_check(hlo_ffi_call_create(NULL, &desc, &call));
  assert_int_equal(hlo_ffi_call_traits(call), XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  hlo_ffi_call_release(call);

  depth = 8;
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "the dictionary is wrong");
  attributes[1].name = hlo_ffi_span("fraction");
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "factor");
  desc.attribute_count = 6;
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT,
                      "Wrong number of attributes: expected 7 but got 6");
  hlo_ffi_buffer_t half = {HLO_DTYPE_F16, 2, kDims};
  desc.arguments = &half;
  desc.argument_count = 1;
  desc.attribute_count = 7;
  attributes[1].name = hlo_ffi_span("factor");
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "expected F32 but got F16");
}

static void handlers_return_errors(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "fail", hlo_test_fail);
  int64_t code = 15;
  hlo_ffi_attribute_t attribute = scalar("code", HLO_DTYPE_S64, &code);
  hlo_ffi_buffer_t token = {.dtype = HLO_DTYPE_TOKEN};
  hlo_ffi_call_desc_t desc = typed_with("fail", &attribute);
  desc.arguments = &token;
  desc.argument_count = 1;
  void* addresses[] = {NULL};
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses), HLO_STATUS_DATA_LOSS,
                      "said the handler");
  code = 0;
  hlo_test_check(hlo_ffi_test_run(NULL, &desc, &kContext, addresses));
}

// As jaxlib's own handlers do, which know what XLA's errors are. A leak or a wrong block is a
// finding of the address sanitizer.
static void errors_are_objects_of_cpp(void** state) {
  (void)state;
  static const char* const messages[] = {"", "short", "longer than a C++ string has room for"};
  for (int i = 0; i < 3; ++i) {
    char message[64];
    XLA_FFI_Error* error = hlo_ffi_error_of(hlo_unimplemented("%s", messages[i]));
    assert_int_equal(hlo_test_take_status(error, message, sizeof message),
                     HLO_STATUS_UNIMPLEMENTED);
    assert_string_equal(message, messages[i]);
  }
}

static void handlers_use_their_context(void** state) {
  (void)state;
  int64_t listener_type = 0;
  // States need a type that is registered before the handler.
  XLA_FFI_Handler_Bundle bundle = {hlo_test_open, hlo_test_prepare, NULL, hlo_test_use, NULL};
  hlo_ffi_test_expect(
      hlo_ffi_registry_add_typed(NULL, hlo_ffi_span("use"), hlo_ffi_span("cpu"), &bundle, 0),
      HLO_STATUS_FAILED_PRECONDITION, "registered before the handler");
  hlo_test_check(hlo_ffi_error_take(hlo_test_register_types(hlo_ffi_api(), &listener_type)));
  hlo_test_check(
      hlo_ffi_registry_add_typed(NULL, hlo_ffi_span("use"), hlo_ffi_span("cpu"), &bundle, 0));
  int64_t start = 20000, out = 0, calls = 0;
  hlo_ffi_attribute_t attribute = scalar("start", HLO_DTYPE_S64, &start);
  hlo_ffi_buffer_t result = {.dtype = HLO_DTYPE_S64};
  hlo_ffi_call_desc_t desc = typed_with("use", &attribute);
  desc.results = &result;
  desc.result_count = 1;
  void* addresses[] = {&out};
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &kContext, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "the execution has no user data");
  hlo_ffi_user_data_t user_data = {0};
  hlo_test_check(hlo_ffi_user_data_add(&user_data, listener_type, &calls, NULL));
  hlo_ffi_context_t context = kContext;
  context.user_data = &user_data;
  hlo_test_check(hlo_ffi_test_run(NULL, &desc, &context, addresses));
  assert_int_equal(out, 20000 + 1000 + 100 + 3);
  assert_int_equal(calls, 1);
  start = -1;
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &context, addresses),
                      HLO_STATUS_INVALID_ARGUMENT, "cannot start below 0");
  assert_int_equal(hlo_test_sessions_alive(), 0);
  hlo_ffi_user_data_deinit(&user_data);

  hlo_ffi_test_add(NULL, "stream", hlo_test_stream);
  desc = typed("stream");
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &context, NULL), HLO_STATUS_INVALID_ARGUMENT,
                      "Failed to get platform stream: XLA FFI GPU context is not available");
}

static void handlers_return_futures(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "square", hlo_test_square);
  enum { COUNT = 200 };
  int64_t count = COUNT;
  hlo_ffi_buffer_t vector = {HLO_DTYPE_S32, 1, &count};
  bool fails = false;
  hlo_ffi_attribute_t attribute = scalar("fails", HLO_DTYPE_PRED, &fails);
  hlo_ffi_call_desc_t desc = typed_with("square", &attribute);
  desc.arguments = desc.results = &vector;
  desc.argument_count = desc.result_count = 1;
  int32_t in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i) in[i] = i;
  void* addresses[] = {in, out};
  hlo_ffi_context_t context = kContext;
  hlo_test_check(hlo_pool_create(2, &context.pool));
  for (int repeat = 0; repeat < 20; ++repeat) {
    memset(out, 0, sizeof out);
    hlo_test_check(hlo_ffi_test_run(NULL, &desc, repeat % 2 ? &kContext : &context, addresses));
    for (int i = 0; i < COUNT; ++i) assert_int_equal(out[i], i * i);
  }
  fails = true;
  hlo_ffi_test_expect(hlo_ffi_test_run(NULL, &desc, &context, addresses), HLO_STATUS_DATA_LOSS,
                      "a task failed");
  hlo_pool_release(context.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handlers_decode_their_operands),
      cmocka_unit_test(handlers_return_errors),
      cmocka_unit_test(errors_are_objects_of_cpp),
      cmocka_unit_test(handlers_use_their_context),
      cmocka_unit_test(handlers_return_futures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
