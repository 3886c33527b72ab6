// SPDX-License-Identifier: Apache-2.0
// Arithmetic of complex numbers as ops of reals (see complex_parts.h).
#include "passes/complex_parts.h"

hlo_parts_t hlo_parts_multiply(hlo_node_t* place, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t* re =
      hlo_build_binary(place, HLO_OP_subtract, hlo_build_binary(place, HLO_OP_multiply, x.re, y.re),
                       hlo_build_binary(place, HLO_OP_multiply, x.im, y.im));
  hlo_value_t* im =
      hlo_build_binary(place, HLO_OP_add, hlo_build_binary(place, HLO_OP_multiply, x.re, y.im),
                       hlo_build_binary(place, HLO_OP_multiply, x.im, y.re));
  return re && im ? (hlo_parts_t){re, im} : (hlo_parts_t){NULL, NULL};
}
