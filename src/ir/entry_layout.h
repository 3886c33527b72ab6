// SPDX-License-Identifier: Apache-2.0
// Layouts of the arguments and results of an entry function.
//
// A program asks for one by `mhlo.layout_mode`, a string. Pass lower_layouts makes the type say the
// dimensions as they lie in memory, and notes the order that they had in the program by
// HLO_LAYOUT_ATTR: an argument of type 3x2xf32 with {0, 1} is a column-major array of 2x3.
#ifndef HLO_IR_ENTRY_LAYOUT_H_
#define HLO_IR_ENTRY_LAYOUT_H_

#include "ir/module.h"

#define HLO_LAYOUT_MODE_ATTR "mhlo.layout_mode"
#define HLO_LAYOUT_ATTR "hlocc.layout"

/// An attribute of an argument or of a result; NULL: none.
const hlo_attr_t* hlo_func_argument_attr(const hlo_func_t* func, uint32_t number, const char* key);
const hlo_attr_t* hlo_func_result_attr(const hlo_func_t* func, uint32_t number, const char* key);
/// Sets one; a NULL value removes it. Failure is the module's.
void hlo_func_set_argument_attr(hlo_func_t* func, uint32_t number, const char* key,
                                const hlo_attr_t* value);
void hlo_func_set_result_attr(hlo_func_t* func, uint32_t number, const char* key,
                              const hlo_attr_t* value);

#endif  // HLO_IR_ENTRY_LAYOUT_H_
