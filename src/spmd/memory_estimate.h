// SPDX-License-Identifier: Apache-2.0
// An estimate of the memory that a program of one device needs, from its text alone: without
// generating code, and for machines other than this one.
#pragma once

#include "base/mem.h"
#include "ir/module.h"

/// units  : bytes
typedef struct hlo_memory_estimate {
  double argument_bytes, result_bytes;
  double alias_bytes;      // results that take over the memory of donated arguments
  double temporary_bytes;  // values that are alive at one time and are neither
} hlo_memory_estimate_t;

/// Returns what arguments, results and temporaries take together.
static inline double hlo_memory_estimate_all(const hlo_memory_estimate_t* estimate) {
  return estimate->argument_bytes + estimate->result_bytes - estimate->alias_bytes +
         estimate->temporary_bytes;
}

/// Estimates the entry function of a module, in the order of its ops. Values count that a fusion
/// does not keep in registers; ops that can write over an operand do. Linear in the ops and uses.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_memory_estimate(const hlo_module_t* module,
                                 hlo_memory_estimate_t* out_estimate) HLO_MUST_USE;

/// Makes an array by node->index that says which ops are computed inside of the op that uses them,
/// and so pass their results in registers. owner  : it is in the arena. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_memory_find_inside(const hlo_module_t* module, hlo_arena_t* arena,
                                    const bool** out_inside) HLO_MUST_USE;
