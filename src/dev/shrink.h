// SPDX-License-Identifier: Apache-2.0
// Making a module smaller that fails a test, as long as it goes on failing (hlocc-dev reduce).
#ifndef HLO_DEV_SHRINK_H_
#define HLO_DEV_SHRINK_H_

#include "ir/module.h"

/// Whether a verified module still fails. A failure of the test itself ends the search.
typedef hlo_status_t (*hlo_shrink_test_t)(void* context, const hlo_module_t* module,
                                          bool* out_fails);

/// Replaces *module, which fails, by smaller ones that do, till nothing that is tried makes it
/// smaller. Deterministic if the test is. At an error *module is the smallest found so far.
/// errors: what the test answers, RESOURCE_EXHAUSTED
hlo_status_t hlo_shrink(hlo_module_t** module, hlo_shrink_test_t test, void* context) HLO_MUST_USE;

/// What shrinking makes less of: operations, the entry's arguments and results, elements of
/// constants, digits of extents.
uint64_t hlo_shrink_weight(const hlo_module_t* module);

#endif  // HLO_DEV_SHRINK_H_
