// SPDX-License-Identifier: Apache-2.0
// New values in the memory of buffers that are given up for it: copies into a donated storage,
// which wait until its value is defined and no reader is left.
#include <string.h>

#include "base/mem.h"
#include "base/shape.h"
#include "runtime/buffer_impl.h"
#include "runtime/raw_buffer.h"
#include "runtime/storage.h"

// A target between its donation and the start of the copy.
typedef struct claim {
  hlo_buffer_t* target;
  hlo_buffer_use_t use;    // of the target's storage
  hlo_storage_t* storage;  // of the new value
  hlo_event_t* gate;       // set when the copy may begin
  hlo_event_waiter_t waiter;
} claim_t;

static void claim_free(claim_t* claim) {
  hlo_storage_release(claim->storage);
  hlo_event_release(claim->gate);
  hlo_mem_free(claim);
}

// The target gets its value back.
static void claim_abort(claim_t* claim) {
  if (claim->use.storage) hlo_buffer_donate_abort(claim->target, &claim->use);
  claim_free(claim);
}

static hlo_status_t claim_storage(claim_t* claim) {
  hlo_buffer_t* target = claim->target;
  claim->gate = hlo_event_create();
  if (!claim->gate) return hlo_status_out_of_memory(sizeof(void*));
  HLO_TRY(hlo_buffer_donate(target, &claim->use));
  if (!claim->use.is_donated) {
    return hlo_storage_create(target->memory, target->size_bytes, &claim->storage);
  }
  claim->storage = hlo_storage_create_heir(claim->use.storage);
  if (!claim->storage) return hlo_status_out_of_memory(sizeof(void*));
  hlo_event_note_promise(claim->gate, hlo_event_awaits_promise(claim->use.ready) ||
                                          hlo_storage_awaits_promise(claim->use.storage));
  return hlo_ok();
}

static hlo_status_t claim_create(hlo_buffer_t* target, claim_t** out_claim) {
  claim_t* claim = hlo_mem_alloc_zeroed(sizeof *claim);
  if (!claim) return hlo_status_out_of_memory(sizeof *claim);
  claim->target = target;
  hlo_status_t status = claim_storage(claim);
  if (!hlo_status_is_ok(status)) {
    claim_abort(claim);
    return status;
  }
  *out_claim = claim;
  return hlo_ok();
}

// Frees the claim and lets the copy begin, whether the old value is an error or not.
static void old_value_ready(void* context, HLO_UNUSED hlo_status_t status) {
  claim_t* claim = context;
  hlo_event_t* gate = hlo_event_retain(claim->gate);
  hlo_status_t allocated = hlo_storage_allocate(claim->storage);
  hlo_buffer_use_end(&claim->use);
  claim_free(claim);
  hlo_event_set(gate, allocated);
  hlo_event_release(gate);
}

static void storage_idle(void* context, HLO_UNUSED hlo_status_t status) {
  claim_t* claim = context;
  hlo_event_on_ready(claim->use.ready, &claim->waiter, old_value_ready, claim);
}

// Starts the copy when the target's memory is free. The target is gone from now on.
static void claim_commit(claim_t* claim) {
  if (claim->use.is_donated) {
    hlo_storage_when_idle(claim->use.storage, storage_idle, claim);
  } else {
    old_value_ready(claim, hlo_ok());
  }
}

static const hlo_dependencies_t kNoDependencies;

// Begins the copy that waits for the gate, which is the readiness of `to`; the buffer of the new
// value is defined by its end.
typedef hlo_status_t (*start_copy_t)(const hlo_raw_buffer_t* to, const void* context,
                                     hlo_event_t** out_done);

static hlo_status_t start(claim_t* claim, start_copy_t start_copy, const void* context,
                          hlo_event_t** out_done, hlo_buffer_t** out_buffer) {
  hlo_buffer_t* target = claim->target;
  const hlo_raw_buffer_t to = {.storage = claim->storage,
                               .memory = target->memory,
                               .ready = claim->gate,
                               .size_bytes = target->size_bytes,
                               .is_undefined = true};
  hlo_event_t* done = NULL;
  HLO_TRY(start_copy(&to, context, &done));
  hlo_status_t status =
      hlo_buffer_create_over(target->memory, &target->shape, claim->storage, done, out_buffer);
  if (hlo_status_is_ok(status) && out_done) *out_done = hlo_event_retain(done);
  hlo_event_release(done);
  return status;
}

static hlo_status_t overwrite(hlo_buffer_t* target, start_copy_t start_copy, const void* context,
                              hlo_event_t** out_done, hlo_buffer_t** out_buffer) {
  HLO_TRY(hlo_client_check_usable(hlo_memory_client(target->memory)));
  claim_t* claim = NULL;
  HLO_TRY(claim_create(target, &claim));
  hlo_status_t status = start(claim, start_copy, context, out_done, out_buffer);
  if (!hlo_status_is_ok(status)) {
    hlo_event_set(claim->gate, hlo_status_clone(status));  // the copy must not begin
    claim_abort(claim);
    return status;
  }
  claim_commit(claim);
  return hlo_ok();
}

// ---- from the host

typedef struct host_source {
  const void* data;
  bool is_lent_for_call;
} host_source_t;

// A copy of host memory that is freed after the transfer.
typedef struct staged {
  hlo_event_waiter_t waiter;
  uint8_t data[];
} staged_t;

static void free_staged(void* context, HLO_UNUSED hlo_status_t status) {
  hlo_mem_free(context);
}

static hlo_status_t start_from_host(const hlo_raw_buffer_t* to, const void* context,
                                    hlo_event_t** out_done) {
  const host_source_t* source = context;
  const int64_t size_bytes = (int64_t)to->size_bytes;
  if (!source->is_lent_for_call) {
    return hlo_raw_buffer_from_host(to, source->data, 0, size_bytes, kNoDependencies, out_done);
  }
  staged_t* staged = hlo_mem_alloc(sizeof *staged + to->size_bytes);
  if (!staged) return hlo_status_out_of_memory(sizeof *staged + to->size_bytes);
  if (size_bytes) memcpy(staged->data, source->data, to->size_bytes);
  hlo_status_t status =
      hlo_raw_buffer_from_host(to, staged->data, 0, size_bytes, kNoDependencies, out_done);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(staged);
    return status;
  }
  hlo_event_on_ready(*out_done, &staged->waiter, free_staged, staged);
  return hlo_ok();
}

hlo_status_t hlo_buffer_overwrite_from_host(hlo_buffer_t* target, const void* data,
                                            size_t size_bytes, hlo_host_semantics_t semantics,
                                            hlo_event_t** out_done, hlo_buffer_t** out_buffer) {
  if (size_bytes != target->size_bytes || (!data && size_bytes)) {
    return hlo_invalid_argument("cannot overwrite a buffer of %zu bytes with %zu bytes at %p",
                                target->size_bytes, size_bytes, data);
  }
  const host_source_t source = {data, semantics == HLO_HOST_IMMUTABLE_ONLY_DURING_CALL};
  return overwrite(target, start_from_host, &source, out_done, out_buffer);
}

// ---- from another buffer

static hlo_status_t start_from_buffer(const hlo_raw_buffer_t* to, const void* context,
                                      hlo_event_t** out_done) {
  return hlo_raw_buffer_copy(context, to, kNoDependencies, out_done);
}

static bool is_same_array(const hlo_buffer_shape_t* a, const hlo_buffer_shape_t* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0) &&
         hlo_dim_order_is_same(a->rank, a->dims, a->minor_to_major, b->minor_to_major);
}

hlo_status_t hlo_buffer_overwrite(hlo_buffer_t* target, hlo_buffer_t* source,
                                  hlo_buffer_t** out_buffer) {
  if (target == source) return hlo_invalid_argument("a buffer cannot be overwritten with itself");
  if (!is_same_array(&target->shape, &source->shape)) {
    return hlo_invalid_argument(
        "cannot overwrite a buffer of %zu bytes with one of %zu bytes and another shape or layout",
        target->size_bytes, source->size_bytes);
  }
  hlo_buffer_use_t use;
  HLO_TRY(hlo_buffer_use_begin(source, &use));
  const hlo_raw_buffer_t from = {.storage = use.storage,
                                 .memory = source->memory,
                                 .ready = use.ready,
                                 .size_bytes = source->size_bytes};
  hlo_status_t status = overwrite(target, start_from_buffer, &from, NULL, out_buffer);
  hlo_buffer_use_end(&use);
  return status;
}
