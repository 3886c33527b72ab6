// SPDX-License-Identifier: Apache-2.0
// The passes: each changes a verified module into a verified module and says whether it did.
#ifndef HLO_PASSES_PASSES_H_
#define HLO_PASSES_PASSES_H_

#include "ir/module.h"

/// Removes sdy ops from a program for one partition: constraints become their operand, manual
/// computations their body, meshes go.
/// errors: UNIMPLEMENTED for a manual computation whose body has other shapes than its operands
hlo_status_t hlo_pass_drop_shardy(hlo_module_t* module, bool* out_changed) HLO_MUST_USE;

#endif  // HLO_PASSES_PASSES_H_
