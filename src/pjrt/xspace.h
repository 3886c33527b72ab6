// SPDX-License-Identifier: Apache-2.0
// Recordings as XSpace, the protobuf message of profilers.
#pragma once

#include "base/recording.h"
#include "base/strbuf.h"

/// Appends an XSpace with one plane, /host:CPU, and a line for each thread; nothing if the
/// recording is empty. Profilers merge planes of this name, and lines of the same thread. errors:
/// left in `out`
void hlo_xspace_write(const hlo_recording_t* recording, hlo_strbuf_t* out);
