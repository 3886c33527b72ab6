// SPDX-License-Identifier: Apache-2.0
// Complex numbers as pairs of reals, for pass split_complex: what elementwise functions of them are
// as ops of reals.
#ifndef HLO_PASSES_COMPLEX_PARTS_H_
#define HLO_PASSES_COMPLEX_PARTS_H_

#include "passes/build.h"

/// A tensor of complex numbers as two of reals; of a real one, `im` is NULL. Both are NULL where
/// there is none: an op that is not expanded, or memory is out, which the module says.
typedef struct hlo_parts {
  hlo_value_t *re, *im;
} hlo_parts_t;

/// x y by the plain formula, without recovery of infinities.
hlo_parts_t hlo_parts_multiply(hlo_node_t* place, hlo_parts_t x, hlo_parts_t y);

/// The result of `node`, an elementwise op with complex operands or result, by ops of reals that are
/// made before it; `operands` are the parts of its operands, one each. Only functions are known
/// here: sums, products and what treats parts alike are the pass's own.
hlo_parts_t hlo_complex_function(hlo_node_t* node, const hlo_parts_t* operands);

#endif  // HLO_PASSES_COMPLEX_PARTS_H_
