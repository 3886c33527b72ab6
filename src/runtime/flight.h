// SPDX-License-Identifier: Apache-2.0
// The list of runs in flight that may take long or have a launch_id, so that they can be stopped
// before their end, and explained (waits.h). Short programs are not listed, because they end before
// anybody could stop them, unless their inputs are not ready and the client explains waits.
#pragma once

#include "runtime/run.h"

/// Adds a run that is about to start.
void hlo_flight_enter(hlo_run_t* run);
/// Removes the run from the list, if listed, when its program has ended. Returns the poison of the
/// run, if any, else `status`, the program's result.
hlo_status_t hlo_flight_leave(hlo_run_t* run, hlo_status_t status) HLO_MUST_USE;

/// Stops launches whose results are unobservable, so that the client can end.
void hlo_flight_stop_unseen(hlo_client_t* client);
