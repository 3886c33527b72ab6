// SPDX-License-Identifier: Apache-2.0
// Device events: see device_event.h.
#include "pjrt/device_event.h"

#include <string.h>

#include "base/mem.h"
#include "pjrt/call.h"

// --- The runtime's events as device events -------------------------------------------------------

static void retain_event(void* event) {
  hlo_event_retain(event);
}

static void release_event(void* event) {
  hlo_event_release(event);
}

/// A framework's callback that waits for an event.
typedef struct and_then {
  PJRT_DeviceEvent_AndThen callback;
  void* user_arg;
  hlo_event_waiter_t waiter;
} and_then_t;

static void call_and_then(void* context, hlo_status_t status) {
  (void)status;
  const and_then_t then = *(and_then_t*)context;
  hlo_mem_free(context);
  then.callback(then.user_arg);
}

/// The function cannot fail: without memory for the waiter it waits itself.
static void run_and_then(void* event, PJRT_DeviceEvent_AndThen callback, void* user_arg) {
  and_then_t* then = hlo_event_is_ready(event) ? NULL : hlo_mem_alloc(sizeof *then);
  if (then == NULL) {
    hlo_status_release(hlo_event_await(event, UINT64_MAX));
    callback(user_arg);
    return;
  }
  *then = (and_then_t){.callback = callback, .user_arg = user_arg};
  hlo_event_on_ready(event, &then->waiter, call_and_then, then);
}

static int event_error(void* event, PJRT_Error_Code* code, const char** message,
                       size_t* message_size) {
  const hlo_status_t status = hlo_event_error(event);
  if (hlo_status_is_ok(status)) return 0;
  *code = (PJRT_Error_Code)hlo_status_code(status);
  *message = hlo_status_message(status);
  *message_size = strlen(*message);
  return 1;
}

static PJRT_DeviceEvent_State event_state(void* event) {
  if (!hlo_event_is_ready(event)) return PJRT_DeviceEvent_State_Unavailable;
  return hlo_status_is_ok(hlo_event_error(event)) ? PJRT_DeviceEvent_State_Ready
                                                  : PJRT_DeviceEvent_State_Error;
}

/// Devices have no streams.
static intptr_t event_stream(void* event, uint64_t* sequence_number) {
  (void)event;
  if (sequence_number != NULL) *sequence_number = 0;
  return 0;
}

static const PJRT_DeviceEvent_FunctionTable event_functions = {
    .struct_size = sizeof(PJRT_DeviceEvent_FunctionTable),
    .inc_ref = retain_event,
    .dec_ref = release_event,
    .and_then = run_and_then,
    .get_error_if_present = event_error,
    .get_state = event_state,
    .get_definition_stream = event_stream,
};

PJRT_DeviceEvent hlo_pjrt_device_event(hlo_event_t* event) {
  return (PJRT_DeviceEvent){.vtable = &event_functions, .device_event = event};
}

// --- Device events of others ---------------------------------------------------------------------

/// A runtime event that waits for a device event of somebody else.
typedef struct follower {
  PJRT_DeviceEvent followed;
  hlo_event_t* event;
} follower_t;

static void follow(void* user_arg) {
  const follower_t follower = *(follower_t*)user_arg;
  hlo_mem_free(user_arg);
  const PJRT_DeviceEvent followed = follower.followed;
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  const char* message = NULL;
  size_t message_size = 0;
  hlo_status_t status = hlo_ok();
  if (followed.vtable->get_error_if_present(followed.device_event, &code, &message,
                                            &message_size)) {
    status = hlo_pjrt_foreign_status(code, message, message_size);
  }
  hlo_event_set(follower.event, status);
  hlo_event_release(follower.event);
  followed.vtable->dec_ref(followed.device_event);
}

hlo_status_t hlo_pjrt_device_event_take(PJRT_DeviceEvent event, hlo_event_t** out_event) {
  if (event.vtable == &event_functions) {
    *out_event = event.device_event;
    return hlo_ok();
  }
  follower_t* follower = hlo_mem_alloc(sizeof *follower);
  hlo_event_t* own = hlo_event_create_promise();
  if (follower == NULL || own == NULL) {
    hlo_mem_free(follower);
    hlo_event_release(own);
    event.vtable->dec_ref(event.device_event);
    return hlo_status_out_of_memory(sizeof *follower);
  }
  *follower = (follower_t){.followed = event, .event = hlo_event_retain(own)};
  *out_event = own;
  event.vtable->and_then(event.device_event, follow, follower);
  return hlo_ok();
}

void hlo_pjrt_device_events_drop(PJRT_DeviceEventVector* vector) {
  if (vector == NULL) return;
  const PJRT_DeviceEventVector taken = *vector;
  *vector = (PJRT_DeviceEventVector){.data = NULL};
  for (size_t i = 0; i < taken.size; ++i) {
    if (taken.data[i].vtable != NULL) taken.data[i].vtable->dec_ref(taken.data[i].device_event);
  }
  if (taken.destroy != NULL) taken.destroy(taken.data);
}

hlo_status_t hlo_pjrt_device_events_take(PJRT_DeviceEventVector* vector, hlo_event_t*** out_events,
                                         size_t* out_count) {
  const size_t count = vector != NULL ? vector->size : 0;
  hlo_event_t** events = hlo_mem_alloc_zeroed(count * sizeof *events);
  hlo_status_t status =
      events != NULL ? hlo_ok() : hlo_status_out_of_memory(count * sizeof *events);
  for (size_t i = 0; hlo_status_is_ok(status) && i < count; ++i) {
    const PJRT_DeviceEvent event = vector->data[i];
    vector->data[i] = (PJRT_DeviceEvent){.vtable = NULL};  // taken
    if (event.vtable != NULL) status = hlo_pjrt_device_event_take(event, &events[i]);
  }
  hlo_pjrt_device_events_drop(vector);
  if (!hlo_status_is_ok(status)) {
    if (events != NULL) hlo_pjrt_device_events_release(events, count);
    return status;
  }
  *out_events = events;
  *out_count = count;
  return hlo_ok();
}

void hlo_pjrt_device_events_release(hlo_event_t** events, size_t count) {
  for (size_t i = 0; i < count; ++i) hlo_event_release(events[i]);
  hlo_mem_free(events);
}
