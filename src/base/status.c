// SPDX-License-Identifier: Apache-2.0
// Status payloads: a reference-counted message, referenced by a tagged pointer (see status.h).
#include "base/status.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { CODE_MASK = 31, MAX_MESSAGE_BYTES = 16384 };

typedef struct payload {
  _Alignas(32) atomic_int count;  // owners; relaxed increments, acq_rel on the last decrement
  char message[];
} payload_t;

static payload_t* payload_of(hlo_status_t status) {
  return (payload_t*)((uintptr_t)status & ~(uintptr_t)CODE_MASK);
}

static hlo_status_t tag(payload_t* payload, hlo_status_code_t code) {
  return (hlo_status_t)((uintptr_t)payload | (uintptr_t)code);
}

static payload_t* payload_create(size_t message_bytes) {
  payload_t* payload = hlo_mem_alloc_aligned(sizeof(payload_t) + message_bytes + 1, 32);
  if (payload) atomic_init(&payload->count, 1);
  return payload;
}

hlo_status_t hlo_status_createv(hlo_status_code_t code, const char* format, va_list args) {
  va_list measured;
  va_copy(measured, args);
  int length = vsnprintf(NULL, 0, format, measured);
  va_end(measured);
  size_t size = length < 0 ? 0 : (size_t)length;
  if (size > MAX_MESSAGE_BYTES) size = MAX_MESSAGE_BYTES;
  payload_t* payload = payload_create(size);
  if (!payload) return tag(NULL, code);
  if (length < 0) {
    payload->message[0] = 0;
  } else {
    vsnprintf(payload->message, size + 1, format, args);
  }
  return tag(payload, code);
}

hlo_status_t hlo_status_create(hlo_status_code_t code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(code, format, args);
  va_end(args);
  return status;
}

hlo_status_t hlo_status_annotate(hlo_status_t status, const char* format, ...) {
  if (hlo_status_is_ok(status)) return status;
  char context[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(context, sizeof context, format, args);
  va_end(args);
  hlo_status_t out =
      hlo_status_create(hlo_status_code(status), "%s: %s", context, hlo_status_message(status));
  if (!payload_of(out)) return status;  // no memory for the context: keeps the original message
  hlo_status_release(status);
  return out;
}

const char* hlo_status_message(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return "";
  payload_t* payload = payload_of(status);
  return payload ? payload->message : hlo_status_code_name(hlo_status_code(status));
}

hlo_status_t hlo_status_clone(hlo_status_t status) {
  payload_t* payload = payload_of(status);
  if (payload) atomic_fetch_add_explicit(&payload->count, 1, memory_order_relaxed);
  return status;
}

void hlo_status_release(hlo_status_t status) {
  payload_t* payload = payload_of(status);
  if (payload && atomic_fetch_sub_explicit(&payload->count, 1, memory_order_acq_rel) == 1) {
    hlo_mem_free(payload);
  }
}

void hlo_status_keep_first(hlo_status_t* first, hlo_status_t next) {
  if (hlo_status_is_ok(*first)) {
    *first = next;
  } else {
    hlo_status_release(next);
  }
}

const char* hlo_status_code_name(hlo_status_code_t code) {
  static const char* const kNames[] = {"OK",
                                       "CANCELLED",
                                       "UNKNOWN",
                                       "INVALID_ARGUMENT",
                                       "DEADLINE_EXCEEDED",
                                       "NOT_FOUND",
                                       "ALREADY_EXISTS",
                                       "PERMISSION_DENIED",
                                       "RESOURCE_EXHAUSTED",
                                       "FAILED_PRECONDITION",
                                       "ABORTED",
                                       "OUT_OF_RANGE",
                                       "UNIMPLEMENTED",
                                       "INTERNAL",
                                       "UNAVAILABLE",
                                       "DATA_LOSS",
                                       "UNAUTHENTICATED"};
  return (unsigned)code < sizeof kNames / sizeof kNames[0] ? kNames[code] : "UNKNOWN";
}

hlo_status_t hlo_status_out_of_memory(size_t size_bytes) {
  return hlo_resource_exhausted("out of host memory: %zu bytes requested", size_bytes);
}
