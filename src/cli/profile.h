// SPDX-License-Identifier: Apache-2.0
// The table of hlocc run --profile.
#pragma once

#include "base/recording.h"
#include "base/strbuf.h"

/// Appends a line for each name of a span: how many there are, their total time, and its share of
/// the time of the recording; longest first. Spans within others count for both. errors:
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_cli_print_profile(const hlo_recording_t* recording,
                                   hlo_strbuf_t* out) HLO_MUST_USE;
