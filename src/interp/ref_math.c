// SPDX-License-Identifier: Apache-2.0
// Real functions that libm lacks or computes less well.
#include "interp/ref_math.h"

#include <math.h>

double hlo_math_cbrt(double x) {
  double root = cbrt(x);
  if (!isfinite(root) || root == 0) return root;
  // One Newton step with more bits than the result.
  long double r = root;
  return (double)(r - (r * r * r - x) / (3 * r * r));
}

double hlo_math_logistic(double x) {
  // exp of the negative magnitude neither overflows nor loses the tail.
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

double hlo_math_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
