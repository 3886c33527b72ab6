// SPDX-License-Identifier: Apache-2.0
// Tests of registries: platforms, conflicts, versions of handlers, messages for unknown targets,
// many threads.
#include "ffi/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "ffi/test_util.h"

HANDLER(succeed) {
  (void)frame;
  return NULL;
}

HANDLER(succeed_too) {
  (void)frame;
  return NULL;
}

static XLA_FFI_Error* of_another_major(XLA_FFI_CallFrame* frame) {
  return hlo_ffi_test_is_query(frame, 1, 7) ? NULL : hlo_ffi_test_error(frame->api, 13, "called");
}

static XLA_FFI_Error* of_the_first_minor(XLA_FFI_CallFrame* frame) {
  return hlo_ffi_test_is_query(frame, 0, 0) ? NULL : hlo_ffi_test_error(frame->api, 13, "called");
}

static XLA_FFI_Error* of_a_later_minor(XLA_FFI_CallFrame* frame) {
  return hlo_ffi_test_is_query(frame, 0, 9) ? NULL : hlo_ffi_test_error(frame->api, 13, "called");
}

static XLA_FFI_Error* without_answer(XLA_FFI_CallFrame* frame) {
  (void)frame;
  return NULL;
}

static XLA_FFI_Error* refuse_metadata(XLA_FFI_CallFrame* frame) {
  return hlo_ffi_test_error(frame->api, XLA_FFI_Error_Code_FAILED_PRECONDITION, "types come first");
}

static void untyped(void) {}

static hlo_status_t add(hlo_ffi_registry_t* registry, const char* target, const char* platform,
                        XLA_FFI_Handler* execute) {
  XLA_FFI_Handler_Bundle bundle = {.execute = execute};
  return hlo_ffi_registry_add_typed(registry, hlo_ffi_span(target), hlo_ffi_span(platform), &bundle,
                                    0);
}

static hlo_status_t find(hlo_ffi_registry_t* registry, const char* target, const char* platform,
                         hlo_ffi_interface_t interface, hlo_ffi_handler_t* handler) {
  return hlo_ffi_registry_find(registry, hlo_ffi_span(target), hlo_ffi_span(platform), interface,
                               handler);
}

static hlo_status_t find_typed(hlo_ffi_registry_t* registry, const char* target,
                               hlo_ffi_handler_t* handler) {
  return find(registry, target, "cpu", HLO_FFI_INTERFACE_TYPED, handler);
}

static int create_registry(void** state) {
  return hlo_ffi_registry_create((hlo_ffi_registry_t**)state) != NULL;
}

static int release_registry(void** state) {
  hlo_ffi_registry_release(*state);
  return 0;
}

static void platforms_are_names_without_case(void** state) {
  hlo_test_check(add(*state, "a", "Host", succeed));
  hlo_ffi_handler_t handler = {0};
  hlo_test_check(find(*state, "a", "CPU", HLO_FFI_INTERFACE_TYPED, &handler));
  assert_ptr_equal(handler.bundle.execute, succeed);
  hlo_ffi_test_expect(
      find(*state, "a", "cuda", HLO_FFI_INTERFACE_TYPED, &handler), HLO_STATUS_NOT_FOUND,
      "\"a\" is not registered for platform cuda with the typed FFI interface; it is"
      " registered for platform cpu with the typed FFI interface");
  hlo_test_check(add(*state, "a", "CUDA", succeed_too));
  hlo_test_check(find(*state, "a", "cuda", HLO_FFI_INTERFACE_TYPED, &handler));
  assert_ptr_equal(handler.bundle.execute, succeed_too);
}

static void the_same_again_is_fine_and_another_is_not(void** state) {
  hlo_test_check(add(*state, "twice", "cpu", succeed));
  hlo_test_check(add(*state, "twice", "Host", succeed));
  hlo_ffi_test_expect(add(*state, "twice", "cpu", succeed_too), HLO_STATUS_ALREADY_EXISTS,
                      "\"twice\" is registered for platform cpu already, with other functions");
  XLA_FFI_Handler_Bundle bundle = {.execute = succeed};
  hlo_ffi_test_expect(
      hlo_ffi_registry_add_typed(*state, hlo_ffi_span("twice"), hlo_ffi_span("cpu"), &bundle,
                                 XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE),
      HLO_STATUS_ALREADY_EXISTS, "with other traits");
  bundle.prepare = succeed;
  hlo_ffi_test_expect(
      hlo_ffi_registry_add_typed(*state, hlo_ffi_span("twice"), hlo_ffi_span("cpu"), &bundle, 0),
      HLO_STATUS_ALREADY_EXISTS, "with other functions");
}

static void registrations_need_a_name_and_a_function(void** state) {
  hlo_ffi_test_expect(add(*state, "", "cpu", succeed), HLO_STATUS_INVALID_ARGUMENT, "has no name");
  hlo_ffi_test_expect(add(*state, "x", "", succeed), HLO_STATUS_INVALID_ARGUMENT,
                      "has no platform");
  hlo_ffi_test_expect(add(*state, "x", "cpu", NULL), HLO_STATUS_INVALID_ARGUMENT,
                      "\"x\" has no execute function");
}

static void handlers_of_other_versions_are_rejected(void** state) {
  hlo_ffi_test_expect(
      add(*state, "x", "cpu", of_another_major), HLO_STATUS_INVALID_ARGUMENT,
      "cannot register custom call target \"x\": the handler was compiled for XLA FFI API"
      " 1.7; this runtime has 0.4");
  hlo_ffi_test_expect(add(*state, "x", "cpu", of_the_first_minor), HLO_STATUS_INVALID_ARGUMENT,
                      "XLA FFI API 0.0; this runtime has 0.4 and supports handlers from 0.1 on");
  hlo_ffi_test_expect(add(*state, "x", "cpu", without_answer), HLO_STATUS_INVALID_ARGUMENT,
                      "does not say which version");
  hlo_ffi_test_expect(add(*state, "x", "cpu", refuse_metadata), HLO_STATUS_FAILED_PRECONDITION,
                      "types come first");
  hlo_test_check(add(*state, "x", "cpu", of_a_later_minor));
  XLA_FFI_Handler_Bundle bundle = {.execute = succeed, .initialize = of_another_major};
  hlo_ffi_test_expect(
      hlo_ffi_registry_add_typed(*state, hlo_ffi_span("y"), hlo_ffi_span("cpu"), &bundle, 0),
      HLO_STATUS_INVALID_ARGUMENT, "1.7");
}

static void unknown_targets_get_a_hint(void** state) {
  hlo_ffi_handler_t handler;
  hlo_ffi_test_expect(
      find_typed(*state, "my_kernel", &handler), HLO_STATUS_NOT_FOUND,
      "\"my_kernel\" is not registered for platform cpu with the typed FFI interface; no"
      " targets are registered");
  hlo_test_check(add(*state, "my_kernal", "cpu", succeed));
  hlo_ffi_test_expect(find_typed(*state, "my_kernel", &handler), HLO_STATUS_NOT_FOUND,
                      "did you mean \"my_kernal\"?");
  hlo_ffi_test_expect(find_typed(*state, "other", &handler), HLO_STATUS_NOT_FOUND,
                      "none of the 1 registered targets is spelt alike");
  // Spans have no terminating zero, and long names are cut.
  char name[300];
  memset(name, 'n', sizeof name);
  hlo_ffi_test_expect(hlo_ffi_registry_find(*state, (XLA_FFI_ByteSpan){name, sizeof name},
                                            hlo_ffi_span("cpu"), HLO_FFI_INTERFACE_TYPED, &handler),
                      HLO_STATUS_NOT_FOUND, "none of the 1");
}

static void a_target_may_have_both_interfaces(void** state) {
  hlo_ffi_handler_t handler = {0};
  hlo_test_check(
      hlo_ffi_registry_add_untyped(*state, hlo_ffi_span("f"), hlo_ffi_span("cpu"), untyped));
  hlo_ffi_test_expect(
      find_typed(*state, "f", &handler), HLO_STATUS_NOT_FOUND,
      "with the typed FFI interface; it is registered for platform cpu with the untyped"
      " interface");
  hlo_test_check(find(*state, "f", "cpu", HLO_FFI_INTERFACE_STATUS, &handler));
  assert_ptr_equal(handler.function, untyped);
  hlo_test_check(add(*state, "f", "cpu", succeed));
  hlo_test_check(find_typed(*state, "f", &handler));
  assert_ptr_equal(handler.bundle.execute, succeed);
}

static void clients_are_asked_before_the_process(void** state) {
  hlo_ffi_handler_t handler = {0};
  hlo_test_check(add(NULL, "shared", "cpu", succeed));
  hlo_test_check(find_typed(*state, "shared", &handler));
  assert_ptr_equal(handler.bundle.execute, succeed);
  hlo_test_check(add(*state, "shared", "cpu", succeed_too));
  hlo_test_check(find_typed(*state, "shared", &handler));
  assert_ptr_equal(handler.bundle.execute, succeed_too);
  hlo_test_check(find_typed(NULL, "shared", &handler));
  assert_ptr_equal(handler.bundle.execute, succeed);
  hlo_ffi_test_expect(find_typed(*state, "shard", &handler), HLO_STATUS_NOT_FOUND,
                      "did you mean \"shared\"?");
}

static XLA_FFI_Handler* chosen_for_trait;

static XLA_FFI_Error* with_trait(XLA_FFI_CallFrame* frame) {
  if (!hlo_ffi_test_is_query(frame, 0, 4)) return NULL;
  ((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata->traits =
      XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  chosen_for_trait = with_trait;
  return NULL;
}

static void traits_come_from_both_sides(void** state) {
  hlo_ffi_handler_t handler;
  hlo_test_check(add(*state, "t", "cpu", with_trait));
  assert_ptr_equal(chosen_for_trait, with_trait);
  hlo_test_check(find_typed(*state, "t", &handler));
  assert_int_equal(handler.traits, XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
}

// ---- registration through the table of functions -----------------------------------------------

static void libraries_register_themselves(void** state) {
  const XLA_FFI_Api* api = hlo_ffi_api();
  XLA_FFI_Handler_Register_Args args = {
      .struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE,
      .name = hlo_ffi_span("static_handler"),
      .platform = hlo_ffi_span("Host"),
      .bundle = {.execute = succeed, .record = succeed_too},
  };
  hlo_test_check(hlo_ffi_error_take(api->XLA_FFI_Handler_Register(&args)));
  hlo_ffi_handler_t handler;
  hlo_test_check(find_typed(*state, "static_handler", &handler));
  assert_ptr_equal(handler.bundle.record, succeed_too);
  args.struct_size = 91;
  hlo_ffi_test_expect(hlo_ffi_error_take(api->XLA_FFI_Handler_Register(&args)),
                      HLO_STATUS_INVALID_ARGUMENT,
                      "XLA_FFI_Handler_Register_Args has 91 bytes, expected at least 92");
}

// A library of 0.3 has no `record`: its traits stand where the bundle of 0.4 ends.
static void older_libraries_register_themselves(void** state) {
  struct {
    XLA_FFI_HEAD;
    XLA_FFI_ByteSpan name, platform;
    XLA_FFI_Handler* functions[4];
    XLA_FFI_Handler_Traits traits;
  } args = {
      .struct_size = 84,
      .name = hlo_ffi_span("old_handler"),
      .platform = hlo_ffi_span("Host"),
      .functions = {succeed, NULL, NULL, succeed_too},
      .traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE,
  };
  hlo_test_check(hlo_ffi_error_take(
      hlo_ffi_api()->XLA_FFI_Handler_Register((XLA_FFI_Handler_Register_Args*)&args)));
  hlo_ffi_handler_t handler;
  hlo_test_check(find_typed(*state, "old_handler", &handler));
  assert_ptr_equal(handler.bundle.instantiate, succeed);
  assert_ptr_equal(handler.bundle.execute, succeed_too);
  assert_null(handler.bundle.record);
  assert_int_equal(handler.traits, XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
}

// ---- threads -----------------------------------------------------------------------------------

enum { THREADS_AT_ONCE = 100, THREADS = 10000, NAMES = 64 };

typedef struct crowd {
  hlo_ffi_registry_t* registry;
  atomic_uint thread_count;
  atomic_uint faults;
} crowd_t;

static void* look_up(void* context) {
  crowd_t* crowd = context;
  const unsigned number = atomic_fetch_add(&crowd->thread_count, 1);
  char name[20];
  for (unsigned i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "target %u", (number + i) % NAMES);
    hlo_status_t status = i == 0 ? add(crowd->registry, name, "cpu", succeed) : hlo_ok();
    hlo_ffi_handler_t handler = {0};
    hlo_status_keep_first(&status, find_typed(crowd->registry, name, &handler));
    bool is_known = hlo_status_is_ok(status) && handler.bundle.execute == succeed;
    bool is_missing = i > 0 && hlo_status_code(status) == HLO_STATUS_NOT_FOUND;
    if (!is_known && !is_missing) atomic_fetch_add(&crowd->faults, 1);
    hlo_status_release(status);
  }
  return NULL;
}

static void many_threads_register_and_look_up(void** state) {
  crowd_t crowd = {.registry = *state};
  pthread_t threads[THREADS_AT_ONCE];
  for (int round = 0; round < THREADS / THREADS_AT_ONCE; ++round) {
    for (int i = 0; i < THREADS_AT_ONCE; ++i) {
      assert_int_equal(pthread_create(&threads[i], NULL, look_up, &crowd), 0);
    }
    for (int i = 0; i < THREADS_AT_ONCE; ++i) pthread_join(threads[i], NULL);
  }
  assert_int_equal(atomic_load(&crowd.faults), 0);
}

// Memory that runs out at any allocation leaves the registry as it was.
static void registration_survives_exhausted_memory(void** state) {
  hlo_ffi_handler_t handler;
  for (uint64_t n = 1;; ++n) {
    hlo_mem_fail_nth(n);
    hlo_status_t status = add(*state, "scarce", "cpu", succeed);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!failed) {
      hlo_test_check(status);
      break;
    }
    hlo_ffi_test_expect(status, HLO_STATUS_RESOURCE_EXHAUSTED, "");
    hlo_ffi_test_expect(find_typed(*state, "scarce", &handler), HLO_STATUS_NOT_FOUND, "");
  }
  hlo_test_check(find_typed(*state, "scarce", &handler));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, create_registry, release_registry)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(platforms_are_names_without_case),
      TEST(the_same_again_is_fine_and_another_is_not),
      TEST(registrations_need_a_name_and_a_function),
      TEST(handlers_of_other_versions_are_rejected),
      TEST(unknown_targets_get_a_hint),
      TEST(a_target_may_have_both_interfaces),
      TEST(clients_are_asked_before_the_process),
      TEST(traits_come_from_both_sides),
      TEST(libraries_register_themselves),
      TEST(older_libraries_register_themselves),
      TEST(many_threads_register_and_look_up),
      TEST(registration_survives_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
