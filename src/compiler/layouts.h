// SPDX-License-Identifier: Apache-2.0
// Layouts that compile options request, as attributes of the program.
#ifndef HLO_COMPILER_LAYOUTS_H_
#define HLO_COMPILER_LAYOUTS_H_

#include "compiler/compile_options.h"
#include "ir/module.h"

/// Sets mhlo.layout_mode of arguments and results of `entry` where `options` ask for a layout.
/// errors: INVALID_ARGUMENT (other counts, element types or dimensions than those of the program)
hlo_status_t hlo_layouts_apply(hlo_func_t* entry,
                               const hlo_compile_options_t* options) HLO_MUST_USE;

#endif  // HLO_COMPILER_LAYOUTS_H_
