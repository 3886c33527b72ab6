// SPDX-License-Identifier: Apache-2.0
// Addresses, as the files that write a product's vector IR compute them.
#ifndef HLO_CODEGEN_DOT_MATMUL_IMPL_H_
#define HLO_CODEGEN_DOT_MATMUL_IMPL_H_

#include "codegen/dot/matmul.h"

static inline hlo_vir_value_t* number(hlo_vir_builder_t* b, int64_t value) {
  return hlo_vir_iconst(b, value);
}

static inline hlo_vir_value_t* plus(hlo_vir_builder_t* b, hlo_vir_value_t* x, hlo_vir_value_t* y) {
  return hlo_vir_index(b, HLO_VIR_iadd, x, y);
}

static inline hlo_vir_value_t* times(hlo_vir_builder_t* b, hlo_vir_value_t* x, int64_t factor) {
  return hlo_vir_index(b, HLO_VIR_imul, x, number(b, factor));
}

#endif  // HLO_CODEGEN_DOT_MATMUL_IMPL_H_
