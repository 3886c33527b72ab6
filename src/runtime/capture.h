// SPDX-License-Identifier: Apache-2.0
// Launches as files (stage `launches` of HLOCC_DUMP), which hlocc-dev replay repeats: a folder
// <module>.<fingerprint>.launch<N> with the original program and compile options, and the bytes of
// each argument of each device.
#pragma once

#include "runtime/run.h"

#define HLO_CAPTURE_PROGRAM "program"
#define HLO_CAPTURE_OPTIONS "options"
/// The index of the run in the launch, and the number of the launch.
#define HLO_CAPTURE_ARGUMENT "device%u.argument%u"

/// Writes a run with defined arguments before it begins, if the client's observer requests dumps. A
/// write error is a warning.
void hlo_capture_run(const hlo_run_t* run);
