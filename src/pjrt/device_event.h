// SPDX-License-Identifier: Apache-2.0
// Device events of the interface: the runtime's events with a table of functions, and events of
// others, for which a runtime event waits.
#pragma once

#include "hlocc/pjrt_extensions.h"
#include "runtime/event.h"

/// Returns the device event of `event`; takes the reference.
PJRT_DeviceEvent hlo_pjrt_device_event(hlo_event_t* event);

/// Returns a runtime event that is ready when `event` is, with its error.
/// owner  : takes `event`, also on error
hlo_status_t hlo_pjrt_device_event_take(PJRT_DeviceEvent event,
                                        hlo_event_t** out_event) HLO_MUST_USE;

/// Moves the events out of `vector` (NULL: none), which is empty then, also on error.
/// owner  : hlo_pjrt_device_events_release()
hlo_status_t hlo_pjrt_device_events_take(PJRT_DeviceEventVector* vector, hlo_event_t*** out_events,
                                         size_t* out_count) HLO_MUST_USE;
void hlo_pjrt_device_events_release(hlo_event_t** events, size_t count);
/// Releases the events of `vector` (NULL: none), which is empty then.
void hlo_pjrt_device_events_drop(PJRT_DeviceEventVector* vector);
