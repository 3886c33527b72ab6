// SPDX-License-Identifier: Apache-2.0
// The element types that contractions are computed in (see dot_dtype.h).
#include "ir/dot_dtype.h"

hlo_dtype_t hlo_dot_compute_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result) {
  const hlo_dtype_t all[3] = {lhs, rhs, result};
  bool is_float = false, is_wide = false;
  for (int i = 0; i < 3; i++) {
    const hlo_dtype_info_t* part = hlo_dtype_info(hlo_dtype_info(all[i])->part);
    if (part->klass == HLO_DTYPE_CLASS_FLOAT) is_float = true;
    if (part->bits > 32 && (i == 2 || part->klass == HLO_DTYPE_CLASS_FLOAT)) is_wide = true;
  }
  if (is_float) return is_wide ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  return is_wide ? HLO_DTYPE_U64 : HLO_DTYPE_U32;
}
