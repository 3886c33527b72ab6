// SPDX-License-Identifier: Apache-2.0
// Private to the elementwise ops: real functions that libm lacks or computes less accurately.
// Errors are relative to the exact value for double arguments; NaN in, NaN out.
#pragma once

double hlo_math_cbrt(double x);
double hlo_math_logistic(double x);
double hlo_math_lgamma(double x);
double hlo_math_digamma(double x);
double hlo_math_erf_inv(double x);
double hlo_math_bessel_i1e(double x);
/// Hurwitz zeta of real s > 1 (1: infinite, below: NaN) and q.
double hlo_math_zeta(double s, double q);
/// n-th derivative of digamma, n a whole number >= 0 (else NaN).
double hlo_math_polygamma(double n, double x);
