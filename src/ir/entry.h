// SPDX-License-Identifier: Apache-2.0
// Arguments and results of an entry function: their layouts and memory kinds, and the arguments
// whose memory a result may reuse.
//
// A program requests a layout by `mhlo.layout_mode`, a string. Pass lower_layouts changes the type
// to the dimensions in memory order, and records their order in the program in HLO_LAYOUT_ATTR: an
// argument of type 3x2xf32 with {0, 1} is a column-major array of 2x3.
#pragma once

#include "ir/module.h"

#define HLO_LAYOUT_MODE_ATTR "mhlo.layout_mode"
#define HLO_LAYOUT_ATTR "hlocc.layout"
#define HLO_MEMORY_KIND_ATTR "mhlo.memory_kind"

/// Returns an attribute of an argument or of a result, or NULL.
const hlo_attr_t* hlo_func_argument_attr(const hlo_func_t* func, uint32_t number, const char* key);
const hlo_attr_t* hlo_func_result_attr(const hlo_func_t* func, uint32_t number, const char* key);
/// Sets an attribute; a NULL value removes it. Failure is sticky in the module.
void hlo_func_set_argument_attr(hlo_func_t* func, uint32_t number, const char* key,
                                const hlo_attr_t* value);
void hlo_func_set_result_attr(hlo_func_t* func, uint32_t number, const char* key,
                              const hlo_attr_t* value);

// ---- donation

/// Returns the attribute that ties an argument to a result (an INT unless malformed), or NULL.
const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument);
/// Returns true if any result of the same size, layout and memory kind may use the argument's
/// memory.
bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument);

#define HLO_DONATED_NOWHERE UINT32_MAX
/// Pairs each result with the argument whose memory it may use: the argument that names it, else a
/// donor of its size, layout and memory kind. `out_results` is indexed by argument, `out_arguments`
/// by result; HLO_DONATED_NOWHERE marks the unpaired.
void hlo_func_pair_donations(const hlo_func_t* func, uint32_t* out_results,
                             uint32_t* out_arguments);
/// Ties every donor to its result; donors without a result of their size are donors no longer.
/// Clients then see which arguments they keep.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_func_settle_donations(hlo_func_t* func) HLO_MUST_USE;
