// SPDX-License-Identifier: Apache-2.0
// Events of the public C API.
#include "base/mem.h"
#include "base/threads.h"
#include "capi/capi_impl.h"

hlocc_event_t* hlo_capi_event_reserve(hlocc_client_t* client) {
  hlocc_event_t* event = hlo_mem_alloc_zeroed(sizeof *event);
  if (event) event->client = hlo_capi_client_retain(client);
  return event;
}

hlo_status_t hlo_capi_may_wait(void) {
  if (!hlo_thread_is_in_callback()) return hlo_ok();
  return hlo_failed_precondition("a callback cannot wait: the work could depend on its end");
}

hlo_status_t hlo_capi_wait(hlo_event_t* event, uint64_t timeout_ns) {
  if (!hlo_event_is_ready(event)) HLO_TRY(hlo_capi_may_wait());
  return hlo_event_await(event, timeout_ns);
}

hlocc_error_t* hlocc_event_wait(hlocc_event_t* event, uint64_t timeout_ns) {
  return hlo_capi_error(hlo_capi_wait(event->event, timeout_ns));
}

bool hlocc_event_is_ready(hlocc_event_t* event) {
  return hlo_event_is_ready(event->event);
}

// A callback of the user.
typedef struct registration {
  hlo_event_waiter_t waiter;
  hlocc_client_t* client;  // retained: the work of a client ends early if nobody waits for it
  hlo_event_t* event;      // retained: its last owner would make it ready with an error
  void (*callback)(void* context, const hlocc_error_t* error);
  void* context;
} registration_t;

static void call_back(void* context, hlo_status_t status) {
  registration_t* registration = context;
  hlocc_error_t* error = hlo_capi_error(hlo_status_clone(status));
  registration->callback(registration->context, error);
  hlocc_error_free(error);
  hlo_event_release(registration->event);
  hlocc_client_t* client = registration->client;
  hlo_mem_free(registration);
  hlocc_client_free(client);
}

hlocc_error_t* hlocc_event_on_ready(hlocc_event_t* event,
                                    void (*callback)(void* context, const hlocc_error_t* error),
                                    void* context) {
  registration_t* registration = hlo_mem_alloc(sizeof *registration);
  if (!registration) return hlo_capi_error(hlo_status_out_of_memory(sizeof *registration));
  *registration = (registration_t){.client = hlo_capi_client_retain(event->client),
                                   .event = hlo_event_retain(event->event),
                                   .callback = callback,
                                   .context = context};
  hlo_event_on_ready(event->event, &registration->waiter, call_back, registration);
  return NULL;
}

void hlocc_event_free(hlocc_event_t* event) {
  if (!event) return;
  hlo_event_release(event->event);
  hlocc_client_free(event->client);
  hlo_mem_free(event);
}
