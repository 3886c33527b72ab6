// SPDX-License-Identifier: Apache-2.0
// Types and blocks of scaled products (see scaled_dot.h).
#include "ir/scaled_dot.h"

#include "ir/infer_impl.h"

hlo_dtype_t hlo_scaled_dot_dtype(hlo_dtype_t a, hlo_dtype_t b) {
  const unsigned a_bits = hlo_dtype_info(a)->bits, b_bits = hlo_dtype_info(b)->bits;
  if (a_bits < 16 && b_bits < 16) return HLO_DTYPE_BF16;
  if (a == b) return a;
  if (a_bits == b_bits) return HLO_DTYPE_F32;
  return a_bits > b_bits ? a : b;
}

hlo_dtype_t hlo_scaled_dot_operand_dtype(const hlo_node_t* node, uint32_t i) {
  const hlo_dtype_t dtype = hlo_node_operand_type(node, i)->dtype;
  if (!hlo_scaled_dot_has_scale(node, i)) return dtype;
  return hlo_scaled_dot_dtype(dtype, hlo_node_operand_type(node, 2 + i)->dtype);
}

bool hlo_scaled_dot_is_exact(hlo_dtype_t element, hlo_dtype_t scale) {
  const hlo_dtype_info_t *a = hlo_dtype_info(element), *b = hlo_dtype_info(scale);
  // A product has as many significant bits as its factors together, a power of two none.
  const unsigned a_bits = a->mantissa_bits + 1u,
                 b_bits = b->mantissa_bits ? b->mantissa_bits + 1u : 0;
  return a->bits < 16 && b->bits < 16 &&
         a_bits + b_bits <= hlo_dtype_info(HLO_DTYPE_BF16)->mantissa_bits + 1u;
}

hlo_status_t hlo_scaled_dot_check_scale(const char* side, const hlo_type_t* operand,
                                        const hlo_type_t* scale) {
  if (operand->rank != scale->rank) {
    return hlo_infer_error("the %s operand has rank %u, but its scales have rank %u", side,
                           operand->rank, scale->rank);
  }
  for (uint32_t i = 0; i < operand->rank; ++i) {
    const int64_t size = operand->dims[i], count = scale->dims[i];
    if (!hlo_dim_is_known(size) || !hlo_dim_is_known(count) || size == count) continue;
    if (count > 0 && size % count == 0) continue;
    return hlo_infer_error("dimension %u of the %s operand is %lld, no multiple of the %lld scales",
                           i, side, (long long)size, (long long)count);
  }
  return hlo_ok();
}
