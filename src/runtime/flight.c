// SPDX-License-Identifier: Apache-2.0
// Stopping runs before their end (see flight.h).
#include "runtime/flight.h"

#include "base/os.h"
#include "runtime/group.h"

static hlo_flight_t* flight_of(const hlo_run_t* run) {
  return hlo_client_flight(run->loaded->client);
}

void hlo_flight_enter(hlo_run_t* run) {
  hlo_flight_t* flight = flight_of(run);
  run->listed_ns = hlo_os_now_ns();
  hlo_mutex_lock(&flight->lock);
  run->is_listed = true;
  run->listed_before = flight->last;
  run->listed_after = NULL;
  *(flight->last ? &flight->last->listed_after : &flight->first) = run;
  flight->last = run;
  hlo_mutex_unlock(&flight->lock);
}

hlo_status_t hlo_flight_leave(hlo_run_t* run, hlo_status_t status) {
  if (!run->is_listed) return status;
  hlo_flight_t* flight = flight_of(run);
  hlo_mutex_lock(&flight->lock);
  *(run->listed_before ? &run->listed_before->listed_after : &flight->first) = run->listed_after;
  *(run->listed_after ? &run->listed_after->listed_before : &flight->last) = run->listed_before;
  run->is_listed = false;
  hlo_status_t poison = run->poison;
  hlo_mutex_unlock(&flight->lock);
  if (hlo_status_is_ok(poison)) return status;
  hlo_status_release(status);
  return poison;
}

// The list is locked, so the run exists.
static void stop(hlo_run_t* run, hlo_status_t error) {
  // relaxed: the program only polls it
  atomic_store_explicit(&run->frame.cancelled, 1, memory_order_relaxed);
  if (run->group) hlo_group_stop(run->group, error);
}

bool hlo_launch_poison(hlo_device_t* device, int32_t launch_id, hlo_status_t error) {
  hlo_flight_t* flight = hlo_client_flight(device->client);
  hlo_mutex_lock(&flight->lock);
  hlo_run_t* run = flight->first;
  while (run && (run->device != device || run->launch_id != launch_id)) run = run->listed_after;
  const bool is_first = run && hlo_status_is_ok(run->poison);
  if (is_first) run->poison = error;
  if (is_first) stop(run, error);
  hlo_mutex_unlock(&flight->lock);
  if (!is_first) hlo_status_release(error);
  return run != NULL;
}

// Returns true if a result of the run, or of a run without results its end, can be observed.
static bool has_seen_result(const hlo_run_t* run) {
  if (run->output_count == 0) {
    // The run and what sets the end have one reference each.
    return hlo_event_is_shared(run->done, 1) || (run->end && hlo_event_is_shared(run->end, 2));
  }
  for (uint32_t r = 0; r < run->output_count; ++r) {
    if (hlo_storage_holder_count(run->outputs[r]) > 1) return true;
  }
  return false;
}

// The runs of a launch are stopped together.
static bool is_seen(const hlo_flight_t* flight, const hlo_run_t* run) {
  if (!run->group) return has_seen_result(run);
  bool is_seen = false;
  for (const hlo_run_t* other = flight->first; other && !is_seen; other = other->listed_after) {
    is_seen = other->group == run->group && has_seen_result(other);
  }
  return is_seen;
}

void hlo_flight_stop_unseen(hlo_client_t* client) {
  hlo_flight_t* flight = hlo_client_flight(client);
  hlo_status_t error = hlo_status_create(HLO_STATUS_CANCELLED, "the client was released");
  hlo_mutex_lock(&flight->lock);
  for (hlo_run_t* run = flight->first; run; run = run->listed_after) {
    if (!is_seen(flight, run)) stop(run, error);
  }
  hlo_mutex_unlock(&flight->lock);
  hlo_status_release(error);
}
