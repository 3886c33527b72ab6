// SPDX-License-Identifier: Apache-2.0
// PJRT_Event is another name of the runtime's hlo_event_t.
#include "runtime/event.h"
#include "base/mem.h"
#include "pjrt/call.h"

static hlo_event_t* runtime_event(PJRT_Event* event) {
  return (hlo_event_t*)event;
}

hlo_status_t hlo_pjrt_Event_Destroy(PJRT_Event_Destroy_Args* args) {
  hlo_event_release(runtime_event(args->event));
  return hlo_ok();
}

/// A framework's callback that waits for an event.
typedef struct ready_callback {
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
  hlo_event_waiter_t waiter;
} ready_callback_t;

static void call_ready_callback(void* context, hlo_status_t status) {
  const ready_callback_t ready = *(ready_callback_t*)context;
  hlo_mem_free(context);
  ready.callback(hlo_pjrt_error_create(hlo_status_clone(status)), ready.user_arg);
}

hlo_status_t hlo_pjrt_Event_OnReady(PJRT_Event_OnReady_Args* args) {
  ready_callback_t* ready = hlo_mem_alloc(sizeof *ready);
  if (ready == NULL) return hlo_status_out_of_memory(sizeof *ready);
  *ready = (ready_callback_t){.callback = args->callback, .user_arg = args->user_arg};
  hlo_event_on_ready(runtime_event(args->event), &ready->waiter, call_ready_callback, ready);
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Event_Create(PJRT_Event_Create_Args* args) {
  args->event = (PJRT_Event*)hlo_event_create_promise();
  return args->event != NULL ? hlo_ok() : hlo_status_out_of_memory(sizeof(void*));
}

hlo_status_t hlo_pjrt_Event_Set(PJRT_Event_Set_Args* args) {
  hlo_status_t status =
      hlo_pjrt_foreign_status(args->error_code, args->error_message, args->error_message_size);
  if (hlo_event_set(runtime_event(args->event), status)) return hlo_ok();
  return hlo_failed_precondition("the event is already set");
}
