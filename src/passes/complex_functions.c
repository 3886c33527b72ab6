// SPDX-License-Identifier: Apache-2.0
// Functions of complex numbers as ops of reals (see complex_parts.h). What they promise is what
// interp/ref_complex.inl, which they are compared with, computes.
#include "passes/complex_parts.h"

hlo_parts_t hlo_complex_function(hlo_node_t* node, const hlo_parts_t* operands) {
  (void)operands;
  switch (node->op) {
    default: return (hlo_parts_t){NULL, NULL};
  }
}
