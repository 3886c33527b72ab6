// SPDX-License-Identifier: Apache-2.0
// Selection of the largest or smallest elements of windows, by instruction set; all give the same
// bits.
#pragma once

#include <stdint.h>

#include "base/dtype.h"

enum { HLO_SELECT_COLUMNS = 32 };  // independent windows side by side

/// Continues windows by rows place..place+count-1 of HLO_SELECT_COLUMNS elements: the element
/// `kept` at `selected` stays if it compares with the next one as `direction` says. The first
/// element of a window is selected without comparison if selected is -1.
/// direction: HLO_COMPARISON_DIRECTION_GE, GT, LE or LT
typedef void (*hlo_select_window_t)(int64_t direction, int64_t count, const void* rows,
                                    int32_t place, void* kept, int32_t* selected);

/// Returns the function for F32 or F64.
hlo_select_window_t hlo_select_window_generic(hlo_dtype_t dtype);
hlo_select_window_t hlo_select_window_avx2(hlo_dtype_t dtype);
hlo_select_window_t hlo_select_window_avx512(hlo_dtype_t dtype);
