// SPDX-License-Identifier: Apache-2.0
// Futures (see future.h): of the handler that sets one and the runtime that takes it, the second
// calls the callback and frees the future.
#include "ffi/future.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/threads.h"

enum { CLAIMED = 1, SET = 2, TAKEN = 4 };

struct XLA_FFI_Future {
  // Release when a party has stored its fields, acquire before it reads those of the other.
  atomic_uint state;
  hlo_status_t status;                 // written before SET
  hlo_ffi_future_callback_t callback;  // written before TAKEN
  void* context;
};

XLA_FFI_Future* hlo_ffi_future_create(void) {
  XLA_FFI_Future* future = hlo_mem_alloc_zeroed(sizeof *future);
  if (future) atomic_init(&future->state, 0);
  return future;
}

static void complete(XLA_FFI_Future* future) {
  hlo_ffi_future_callback_t callback = future->callback;
  void* context = future->context;
  hlo_status_t status = future->status;
  hlo_mem_free(future);
  callback(context, status);
}

bool hlo_ffi_future_set(XLA_FFI_Future* future, hlo_status_t status) {
  // relaxed: it only decides between two calls of this function
  if (atomic_fetch_or_explicit(&future->state, CLAIMED, memory_order_relaxed) & CLAIMED) {
    hlo_status_release(status);
    return false;
  }
  future->status = status;
  if (atomic_fetch_or_explicit(&future->state, SET, memory_order_acq_rel) & TAKEN) {
    complete(future);
  }
  return true;
}

void hlo_ffi_future_on_ready(XLA_FFI_Future* future, hlo_ffi_future_callback_t callback,
                             void* context) {
  future->callback = callback;
  future->context = context;
  if (atomic_fetch_or_explicit(&future->state, TAKEN, memory_order_acq_rel) & SET) {
    complete(future);
  }
}

typedef struct waiter {
  hlo_gate_t gate;
  hlo_status_t status;
} waiter_t;

static void open_gate(void* context, hlo_status_t status) {
  waiter_t* waiter = context;
  waiter->status = status;
  hlo_gate_open(&waiter->gate);
}

hlo_status_t hlo_ffi_future_await(XLA_FFI_Future* future) {
  waiter_t waiter = {.status = hlo_ok()};
  hlo_ffi_future_on_ready(future, open_gate, &waiter);
  hlo_gate_await(&waiter.gate, UINT64_MAX);
  return waiter.status;
}
