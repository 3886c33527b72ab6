// SPDX-License-Identifier: Apache-2.0
// The signature of the entry function, the layouts that compile options request for it, and the
// cost of running it.
#pragma once

#include "compiler/compile_options.h"
#include "compiler/compiler.h"

/// Fills arguments, results and byte counts of an executable from the types and attributes of its
/// entry: tf.aliasing_output, jax.buffer_donor, mhlo.memory_kind, hlocc.layout. errors :
/// UNIMPLEMENTED (dynamic shapes, tuples, buffers), INVALID_ARGUMENT (bad aliases)
hlo_status_t hlo_signature_read(hlo_executable_t* executable, const hlo_func_t* entry) HLO_MUST_USE;

/// Finds what a partition has of an argument or result: the first element out_offsets[rank] in the
/// array that all partitions have together, whose dimensions are out_dims[rank]. errors :
/// UNIMPLEMENTED (partial sums), INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_signature_part(const hlo_signature_entry_t* entry, uint32_t partition,
                                int64_t* out_offsets, int64_t* out_dims) HLO_MUST_USE;

/// Counts operations and bytes of a module from its shapes; bodies of loops count once.
void hlo_cost_count(hlo_module_t* module, hlo_cost_t* out_cost);

/// Returns true for little work that certainly ends and waits only for the other processes of its
/// launch: the launching thread runs it for all of them, because handing it to a worker would take
/// a good part of its time.
bool hlo_func_is_cheap(const hlo_func_t* func, bool is_machine_code, int32_t process_count);

/// Sets mhlo.layout_mode of arguments and results of `entry` where `options` ask for a layout.
/// errors: INVALID_ARGUMENT (other counts, element types or dimensions than those of the program)
hlo_status_t hlo_layouts_apply(hlo_func_t* entry,
                               const hlo_compile_options_t* options) HLO_MUST_USE;
