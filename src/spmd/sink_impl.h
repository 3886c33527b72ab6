// SPDX-License-Identifier: Apache-2.0
// The parts of pass sink_all_reduces.
#pragma once

#include "passes/passes.h"

/// Moves the all_reduces of a loop whose results fill a carried value, slice by slice, after the
/// loop, and counts them as steps. No result changes.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_sink_updates(hlo_pass_ctx_t* ctx, hlo_node_t* loop) HLO_MUST_USE;
