// SPDX-License-Identifier: Apache-2.0
// Real functions that libm lacks or computes less accurately.
#include "interp/ref_math.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

// ---- inverse error function -------------------------------------------------------------------

// Returns a starting value, accurate to about 3e-7 where 1 - x^2 is above 1e-7, less accurate
// beyond.
// source: Giles, "Approximating the erfinv function" (single precision)
static double erf_inv_start(double x, double w) {
  static const double central[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                   -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                   -0.00417768164,  0.246640727,    1.50140941};
  static const double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                -0.00367342844,  0.00573950773,  -0.0076224613,
                                0.00943887047,   1.00167406,     2.83297682};
  const bool is_central = w < 5;
  const double* c = is_central ? central : tail;
  const double t = is_central ? w - 2.5 : sqrt(w) - 3;
  double p = c[0];
  for (size_t i = 1; i < COUNT(central); ++i) p = p * t + c[i];
  return p * x;
}

double hlo_math_erf_inv(double x) {
  const double size = fabs(x);
  if (!(size < 1)) return size == 1 ? copysign(INFINITY, x) : NAN;
  const double two_over_sqrt_pi = 1.12837916709551257390;
  // 1 - x^2 without cancellation; 1 - |x| is exact from 1/2 on.
  const double w = -log1p(-size * size);
  double y = erf_inv_start(size, w);
  if (w < 5) {  // one Halley step on erf(y) = x triples the digits
    double error = size < 0.5 ? erf(y) - size : (1 - size) - erfc(y);
    double newton = error / (two_over_sqrt_pi * exp(-y * y));
    y -= newton / (1 + y * newton);
  } else {  // Newton steps on log erfc(y) = log(1 - x), nearly a line in the tail
    for (int step = w < 15 ? 2 : 4; step > 0; --step) {
      double q = erfc(y);
      y += log(q / (1 - size)) * q / (two_over_sqrt_pi * exp(-y * y));
    }
  }
  return copysign(y, x);
}

// ---- Bessel function --------------------------------------------------------------------------

// Chebyshev coefficients of sqrt(x) exp(-x) I1(x) in 1/x on [0, 1/8], computed with 60 digits.
static const double i1e_large[] = {
    3.8928811750914006e-1,    -9.76109749136146841e-3,  -1.10588938762623716e-4,
    -3.88256480887769039e-6,  -2.51223623787020893e-7,  -2.63146884688951951e-8,
    -3.83538038596423702e-9,  -5.58974346219658381e-10, -1.89749581235054123e-11,
    3.25260358301548824e-11,  1.41258074366137813e-11,  2.03562854414708951e-12,
    -7.19855177624590851e-13, -4.08355111109219732e-13, -2.10154184277266431e-14,
    4.27244001671195135e-14,  1.04202769841288028e-14,  -3.8144030724370078e-15,
    -1.88035477551078245e-15, 3.30820231092092828e-16,  2.96262899764595014e-16,
    -3.20952592199342396e-17, -4.65030536848935833e-17, 4.41434832307170795e-18,
    7.51729631084210481e-18,  -9.31417886732688338e-19, -1.24219327519489096e-18,
};

// source: Clenshaw's recurrence
static double chebyshev(const double* c, size_t count, double x) {
  double b0 = 0, b1 = 0;
  for (size_t i = count; i-- > 1;) {
    double b2 = b1;
    b1 = b0;
    b0 = 2 * x * b1 - b2 + c[i];
  }
  return x * b0 - b1 + c[0];
}

double hlo_math_bessel_i1e(double x) {
  const double size = fabs(x);
  if (size <= 8) {  // the power series; all terms are positive
    const double quarter = size * size / 4;
    double sum = 0.5, term = 0.5;
    for (int k = 1; term > 0x1p-55 * sum; ++k) {
      term *= quarter / (double)(k * (k + 1));
      sum += term;
    }
    return x * sum * exp(-size);
  }
  if (size == INFINITY) return copysign(0.0, x);
  double r = chebyshev(i1e_large, COUNT(i1e_large), 16 / size - 1) / sqrt(size);
  return copysign(r, x);
}

// ---- digamma, zeta, polygamma -----------------------------------------------------------------

// Taylor coefficients of digamma at its positive root, from the first power on (60 digits).
static const double digamma_root[] = {
    9.6767224544762117e-1,   -4.42763168983592106e-1, 2.58499760955651011e-1,
    -1.63942705442406528e-1, 1.07824050691262366e-1,  -7.21995612564547109e-2,
    4.88042881641431072e-2,  -3.31611264748473593e-2, 2.25976482322181047e-2,
    -1.54247659049489591e-2, 1.05387916166121754e-2,  -7.20453438635686824e-3,
    4.92678139572985345e-3,  -3.36980165543932808e-3,
};

// source: DLMF 5.11.2 (asymptotic series), 5.5.2 (recurrence)
static long double digamma_positive(long double x) {
  long double shift = 0;
  for (; x < 12; x += 1) shift += 1 / x;
  const long double r = 1 / (x * x);
  long double sum = 3617.0L / 8160;
  sum = 1.0L / 12 - r * sum;
  sum = 691.0L / 32760 - r * sum;
  sum = 1.0L / 132 - r * sum;
  sum = 1.0L / 240 - r * sum;
  sum = 1.0L / 252 - r * sum;
  sum = 1.0L / 120 - r * sum;
  sum = 1.0L / 12 - r * sum;
  return logl(x) - 1 / (2 * x) - r * sum - shift;
}

double hlo_math_digamma(double x) {
  const double root = 0x1.762d86356be3fp+0, root_low = 9.5499954299656977152e-17;
  if (x != x || x == INFINITY) return x;
  if (x <= 0) {
    if (x == floor(x)) return NAN;
    // Reflection; the cotangent has the period 1.
    const long double pi = 3.14159265358979323846264338328L;
    long double fraction = x - rint(x);
    return (double)(digamma_positive(1 - (long double)x) - pi / tanl(pi * fraction));
  }
  double h = x - root;
  if (fabs(h) < 0.0625) {
    h -= root_low;
    double sum = 0;
    for (size_t i = COUNT(digamma_root); i-- > 0;) sum = sum * h + digamma_root[i];
    return sum * h;
  }
  return (double)digamma_positive(x);
}

// Bernoulli numbers B(2j) / (2j)! for j = 1 ...
static const double bernoulli[] = {
    0.08333333333333333333333,    -0.001388888888888888888889, 0.00003306878306878306878307,
    -8.267195767195767195767e-7,  2.087675698786809897921e-8,  -5.284190138687493184848e-10,
    1.338253653068467883283e-11,  -3.38968029632258286683e-13, 8.586062056277844564136e-15,
    -2.174868698558061873042e-16, 5.509002828360229515203e-18, -1.395446468581252334071e-19,
    3.534707039629467471693e-21,
};

// source: Euler-Maclaurin summation, Johansson, "Rigorous high-precision computation of the Hurwitz
// zeta function and its derivatives", formula (5)
static double zeta_positive(double s, double q) {
  const double start = 10 + 0.75 * s;  // 13 terms of the expansion then leave an error of 2^-55
  double sum = 0, a = q;
  for (; a < start; a += 1) {
    double term = pow(a, -s);
    sum += term;
    if (term <= 0x1p-60 * sum || sum == INFINITY) return sum;  // or both are 0
  }
  const double power = pow(a, -s);
  double factor = s * power / a;  // s (s+1) ... (s+2j) a^(-s-2j-1)
  double tail = 0;
  for (size_t j = 0; j < COUNT(bernoulli); ++j) {
    double term = bernoulli[j] * factor;
    tail += term;
    if (fabs(term) <= 0x1p-60 * fabs(tail)) break;
    factor *= (s + 2 * (double)j + 1) * (s + 2 * (double)j + 2) / (a * a);
  }
  return sum + (power * (a / (s - 1)) + (power / 2 + tail));
}

double hlo_math_zeta(double s, double q) {
  if (s != s || q != q || s < 1) return NAN;
  if (s == 1) return INFINITY;
  if (q > 0) return q < INFINITY ? zeta_positive(s, q) : 0;
  if (s != floor(s)) return NAN;
  const bool is_even = fmod(s, 2) == 0;
  if (q == floor(q)) return is_even ? INFINITY : NAN;
  // The terms below zero equal, up to the sign, those of 1 - f up to -q, with f = q - floor(q).
  const double f = q - floor(q);
  const double below = zeta_positive(s, 1 - f) - zeta_positive(s, 1 - q);
  return zeta_positive(s, f) + (is_even ? below : -below);
}

double hlo_math_polygamma(double n, double x) {
  if (n != n || x != x || n < 0 || n != floor(n)) return NAN;
  if (n == 0) return hlo_math_digamma(x);
  long double factorial = 1;
  for (double k = 2; k <= n && k <= 171; ++k) factorial *= k;  // 171! overflows a double
  const double size = (double)(factorial * hlo_math_zeta(n + 1, x));
  return fmod(n, 2) == 0 ? -size : size;
}
