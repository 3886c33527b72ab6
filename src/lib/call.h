// SPDX-License-Identifier: Apache-2.0
// Library functions that compiled programs call, prepared from nodes when a program is loaded.
#pragma once

#include "base/parallel.h"
#include "ir/call.h"

enum { HLO_LIB_CALL_VALUES_MAX = 64 };  // operands and results of a library call

/// A library function with the parameters and types of one node. Everything is lent by the node and
/// the arena.
/// threads: any number of runs at once
typedef struct hlo_lib_call hlo_lib_call_t;

/// Prepares the library function of a node; *out_call is NULL if the library has none for the op or
/// for these types and attributes.
/// owner  : hlo_lib_call_deinit(), before the arena goes
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_lib_call_prepare(const hlo_node_t* node, hlo_arena_t* arena,
                                  hlo_lib_call_t** out_call) HLO_MUST_USE;
void hlo_lib_call_deinit(hlo_lib_call_t* call);  // NULL is allowed

/// Runs a call in a program over dense elements at `addresses`: operands, then results, which
/// overlap only as hlo_call_may_share() and hlo_call_may_cover() say.
/// errors: RESOURCE_EXHAUSTED, INVALID_ARGUMENT (a failed check)
hlo_status_t hlo_lib_call_run(const hlo_lib_call_t* call, hlo_frame_t* frame,
                              void* const* addresses) HLO_MUST_USE;
