// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions, as a form of kernels. What other rooms know of them.
#ifndef HLO_CODEGEN_DOT_DOT_H_
#define HLO_CODEGEN_DOT_DOT_H_

#include "codegen/loops/kernel.h"

/// Kernels of products, for hlo_kernel_create().
extern const hlo_kernel_form_t hlo_product_form;

/// Whether a node is a product that these kernels are for: one that loops over elements would be
/// slow for.
bool hlo_matmul_supports(const hlo_node_t* node);

#endif  // HLO_CODEGEN_DOT_DOT_H_
