// SPDX-License-Identifier: Apache-2.0
// Reduces a module that fails a test to a smaller one that still fails (hlocc-dev reduce).
#pragma once

#include "ir/module.h"

/// Tests whether a verified module still fails. An error of the test itself ends the search.
typedef hlo_status_t (*hlo_shrink_test_t)(void* context, const hlo_module_t* module,
                                          bool* out_fails);

/// Replaces *module, which fails, by smaller modules that fail, until no edit makes it smaller.
/// Deterministic if the test is. After an error *module is the smallest one found so far.
/// errors: those of the test, RESOURCE_EXHAUSTED
hlo_status_t hlo_shrink(hlo_module_t** module, hlo_shrink_test_t test, void* context) HLO_MUST_USE;

/// Returns the size that shrinking minimises: operations, arguments and results of the entry,
/// elements of constants, decimal digits of extents.
uint64_t hlo_shrink_weight(const hlo_module_t* module);
