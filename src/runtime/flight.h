// SPDX-License-Identifier: Apache-2.0
// Launched runs that may take long, or have a number to be told by: where they are found to be
// stopped before their end. Short programs are not listed: they are over before anybody could ask.
#ifndef HLO_RUNTIME_FLIGHT_H_
#define HLO_RUNTIME_FLIGHT_H_

#include "runtime/run.h"

/// Lists a run that is about to start.
void hlo_flight_enter(hlo_run_t* run);
/// Takes the run off the list, if it is there, when its program is over. `status` is what the
/// program answered; the answer is that, or, in its place, what the run was poisoned with.
hlo_status_t hlo_flight_leave(hlo_run_t* run, hlo_status_t status) HLO_MUST_USE;

/// Stops the launches whose results nobody can see any more, so that the client can end.
void hlo_flight_stop_unseen(hlo_client_t* client);

#endif  // HLO_RUNTIME_FLIGHT_H_
