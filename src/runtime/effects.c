// SPDX-License-Identifier: Apache-2.0
// The ends of launches with side effects (see effects.h).
#include "runtime/effects.h"

#include <stdatomic.h>

#include "base/mem.h"

// Refers to no event of a run, so that the run's observers can be counted.
struct hlo_effects_end {
  hlo_event_waiter_t before_waiter, own_waiter;
  atomic_uint pending;  // acq_rel: the last one sees the status
  hlo_status_t status;  // of the own run
  hlo_event_t* end;
};

void hlo_effects_init(hlo_effects_t* effects) {
  hlo_mutex_init(&effects->lock, HLO_LOCK_LEVEL_FLIGHT);
}

void hlo_effects_forget(hlo_effects_t* effects) {
  hlo_mutex_lock(&effects->lock);
  hlo_event_t* last = effects->last;
  effects->last = NULL;
  hlo_mutex_unlock(&effects->lock);
  hlo_event_release(last);
}

void hlo_effects_deinit(hlo_effects_t* effects) {
  hlo_effects_forget(effects);
  hlo_mutex_deinit(&effects->lock);
}

static hlo_effects_end_t* create_end(void) {
  hlo_effects_end_t* end = hlo_mem_alloc_zeroed(sizeof *end);
  if (!end) return NULL;
  atomic_init(&end->pending, 2);
  end->end = hlo_event_create();
  if (end->end) return end;
  hlo_mem_free(end);
  return NULL;
}

static bool is_pending(hlo_event_t* event) {
  return event && !hlo_event_is_ready(event);
}

hlo_status_t hlo_effects_prepare(hlo_effects_t* effects, hlo_effects_end_t** out_end) {
  hlo_mutex_lock(&effects->lock);
  const bool waits = is_pending(effects->last);
  hlo_mutex_unlock(&effects->lock);
  *out_end = NULL;
  if (!waits) return hlo_ok();
  *out_end = create_end();
  return *out_end ? hlo_ok() : hlo_status_out_of_memory(sizeof **out_end);
}

void hlo_effects_end_free(hlo_effects_end_t* end) {
  if (!end) return;
  hlo_event_release(end->end);
  hlo_mem_free(end);
}

static void one_ended(hlo_effects_end_t* end) {
  if (atomic_fetch_sub_explicit(&end->pending, 1, memory_order_acq_rel) != 1) return;
  hlo_event_set(end->end, end->status);
  hlo_effects_end_free(end);
}

static void before_ended(void* context, HLO_UNUSED hlo_status_t status) {
  one_ended(context);
}

static void own_ended(void* context, hlo_status_t status) {
  hlo_effects_end_t* end = context;
  end->status = hlo_status_clone(status);
  one_ended(end);
}

hlo_event_t* hlo_effects_append(hlo_effects_t* effects, hlo_effects_end_t* end, hlo_event_t* done) {
  hlo_mutex_lock(&effects->lock);
  if (!end && is_pending(effects->last)) {  // another thread's launch, since hlo_effects_prepare()
    hlo_mutex_unlock(&effects->lock);
    end = create_end();
    hlo_mutex_lock(&effects->lock);
  }
  hlo_event_t* own = hlo_event_retain(end ? end->end : done);
  hlo_event_t* before = effects->last;
  effects->last = hlo_event_retain(own);
  hlo_mutex_unlock(&effects->lock);
  if (end) {
    if (hlo_event_awaits_promise(done) || (before && hlo_event_awaits_promise(before))) {
      hlo_event_note_promise(own, true);
    }
    hlo_event_on_ready(done, &end->own_waiter, own_ended, end);
    if (before) {
      hlo_event_on_ready(before, &end->before_waiter, before_ended, end);
    } else {
      one_ended(end);
    }
  }
  hlo_event_release(before);
  return own;
}
