// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions as a form of kernels: the declarations for other rooms.
#pragma once

#include "codegen/loops/kernel.h"

/// Kernels of products, for hlo_kernel_create().
extern const hlo_kernel_form_t hlo_product_form;

/// Returns true if a node is a product that these kernels compute, because loops over its elements
/// would be slow.
bool hlo_matmul_supports(const hlo_node_t* node);
