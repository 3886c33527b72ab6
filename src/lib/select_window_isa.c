// SPDX-License-Identifier: Apache-2.0
// Instances of the loops that select in windows (see isa_variant.h).
#include <stdbool.h>
#include <string.h>

#include "ir/type.h"
#include "lib/isa_variant.h"
#include "lib/select_window_impl.h"

#define T float
#define NAME(x) f32_##x
#include "lib/select_window.inl"
#define T double
#define NAME(x) f64_##x
#include "lib/select_window.inl"

hlo_select_window_t HLO_ISA_NAME(hlo_select_window)(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F64 ? f64_select : f32_select;
}
