// SPDX-License-Identifier: Apache-2.0
// The decisions of propagation, for users.
#pragma once

#include "ir/print.h"
#include "spmd/spmd.h"

/// Propagates the shardings of a module whose calls are inlined, and prints it with comments that
/// say which op gave a value its axes, and which axes it did not get.
/// errors : as hlo_spmd_propagate()
hlo_status_t hlo_spmd_explain(hlo_module_t* module, uint32_t device_count,
                              const hlo_print_options_t* options, hlo_strbuf_t* out) HLO_MUST_USE;
