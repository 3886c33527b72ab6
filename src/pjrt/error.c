// SPDX-License-Identifier: Apache-2.0
// Error objects: a status with the function table that PJRT requires.
#include <string.h>

#include "base/mem.h"
#include "pjrt/call.h"

typedef struct error {
  PJRT_Error base;
  hlo_status_t status;  // OK only in `no_memory_for_error`
} error_t;

static void error_destroy(PJRT_Error* base) {
  error_t* error = (error_t*)base;
  if (hlo_status_is_ok(error->status)) return;
  hlo_status_release(error->status);
  hlo_mem_free(error);
}

static void error_message(const PJRT_Error* base, const char** message, size_t* message_size) {
  const error_t* error = (const error_t*)base;
  *message = hlo_status_is_ok(error->status) ? "out of memory while reporting an error"
                                             : hlo_status_message(error->status);
  *message_size = strlen(*message);
}

static PJRT_Error_Code error_code(const PJRT_Error* base) {
  const error_t* error = (const error_t*)base;
  return hlo_status_is_ok(error->status) ? PJRT_Error_Code_RESOURCE_EXHAUSTED
                                         : (PJRT_Error_Code)hlo_status_code(error->status);
}

/// A status has no payloads to visit.
static void error_for_each_payload(HLO_UNUSED const PJRT_Error* base,
                                   HLO_UNUSED PJRT_Error_PayloadVisitor visitor,
                                   HLO_UNUSED void* user_arg) {}

static const PJRT_Error_FunctionTable error_functions = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = sizeof(error_t),
    .destroy = error_destroy,
    .message = error_message,
    .get_code = error_code,
    .for_each_payload = error_for_each_payload,
};

/// The fallback of hlo_pjrt_error_create(); constant and never freed.
static const error_t no_memory_for_error = {.base = {.vtable = &error_functions}};

PJRT_Error* hlo_pjrt_error_create(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return NULL;
  error_t* error = hlo_mem_alloc(sizeof *error);
  if (error == NULL) {
    hlo_status_release(status);
    return (PJRT_Error*)&no_memory_for_error.base;
  }
  *error = (error_t){.base = {.vtable = &error_functions}, .status = status};
  return &error->base;
}

hlo_status_t hlo_pjrt_foreign_status(PJRT_Error_Code code, const char* message,
                                     size_t message_size) {
  if (code == PJRT_Error_Code_OK) return hlo_ok();
  const bool known = code > PJRT_Error_Code_OK && code <= PJRT_Error_Code_UNAUTHENTICATED;
  return hlo_status_create(known ? (hlo_status_code_t)code : HLO_STATUS_UNKNOWN, "%.*s",
                           message == NULL ? 0 : (int)message_size, message);
}

void hlo_pjrt_Error_Destroy(PJRT_Error_Destroy_Args* args) {
  if (args->error != NULL) args->error->vtable->destroy(args->error);
}

void hlo_pjrt_Error_Message(PJRT_Error_Message_Args* args) {
  args->error->vtable->message(args->error, &args->message, &args->message_size);
}

hlo_status_t hlo_pjrt_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args* args) {
  args->error->vtable->for_each_payload(args->error, args->visitor, args->user_arg);
  return hlo_ok();
}
