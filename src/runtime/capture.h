// SPDX-License-Identifier: Apache-2.0
// Launches as files (stage `launches` of HLOCC_DUMP), which hlocc-dev replay runs again: a folder
// <module>.<fingerprint>.launch<N> with the program and its compile options as they came, and the
// bytes of each argument of each device.
#ifndef HLO_RUNTIME_CAPTURE_H_
#define HLO_RUNTIME_CAPTURE_H_

#include "runtime/run.h"

#define HLO_CAPTURE_PROGRAM "program"
#define HLO_CAPTURE_OPTIONS "options"
/// Of its row in the launch and its number.
#define HLO_CAPTURE_ARGUMENT "device%u.argument%u"

/// Writes a run whose arguments are known, before it begins, if the client's observer wants that.
/// What cannot be written is a warning.
void hlo_capture_run(const hlo_run_t* run);

#endif  // HLO_RUNTIME_CAPTURE_H_
