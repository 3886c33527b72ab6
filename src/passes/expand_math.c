// SPDX-License-Identifier: Apache-2.0
// Functions of reals that the loops do not have, as ops of f64 (see expand.h): gamma functions,
// zeta functions and a Bessel function. Narrower types are computed in f64 and rounded once.
#include "passes/build.h"
#include "passes/complex_math.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HORNER(m, x, coefficients) polynomial(m, x, coefficients, COUNT(coefficients))

typedef hlo_complex_math_t math_t;
typedef hlo_value_t value_t;

static const double PI = 0x1.921fb54442d18p+1;

static value_t* less(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_LT, x, y);
}
static value_t* equal(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_EQ, x, y);
}
static value_t * not(const math_t* m, value_t* x) {
  return hlo_rcall(m, HLO_OP_not, x);
}
static value_t* binary(const math_t* m, hlo_op_t op, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, op, x, y);
}
static value_t* inverse_of(const math_t* m, value_t* x) {
  return hlo_rdiv(m, hlo_rconst(m, 1), x);
}
static value_t* is_whole(const math_t* m, value_t* x) {
  return equal(m, x, hlo_rcall(m, HLO_OP_floor, x));
}

// c[0] + c[1] x + ...
static value_t* polynomial(const math_t* m, value_t* x, const double* c, size_t count) {
  value_t* sum = hlo_rconst(m, c[count - 1]);
  for (size_t i = count - 1; i-- > 0;) sum = hlo_radd_k(m, hlo_rmul(m, sum, x), c[i]);
  return sum;
}

// ---- gamma functions ----------------------------------------------------------------------------

// lgamma(x) / ((x - 1) (x - 2)) and digamma(x) / (x - root) by powers of x - 2 on [1, 3]:
// interpolations at Chebyshev nodes of values with 90 digits, errors below 4e-19.
static const double lgamma_middle[] = {
    0x1.b0ee6072093cep-2,  -0x1.9ae6509ea109fp-4,  0x1.0e0c9df293525p-5,   -0x1.95ce223a9cba8p-7,
    0x1.47974853abda1p-8,  -0x1.145121f99f241p-9,  0x1.dfebcf8ce84efp-11,  -0x1.a96a400f04428p-12,
    0x1.7ed7340cdbd34p-13, -0x1.5c86b6c31d38bp-14, 0x1.402f02c6e2337p-15,  -0x1.2850452e8f9f0p-16,
    0x1.13e5624472395p-17, -0x1.0231c567dfc46p-18, 0x1.e530e90d03975p-20,  -0x1.c9c48925b7cd9p-21,
    0x1.b36c465762259p-22, -0x1.9d70903c5f5cep-23, 0x1.77f6e532bc6adp-24,  -0x1.666b3835d636fp-25,
    0x1.c155065d0c524p-26, -0x1.afe668ca49dd1p-27, -0x1.7781521a68fe3p-31, 0x1.8d4b5e576edfap-32,
    0x1.4fbf3b930d20cp-28, -0x1.4615c270018fap-29, -0x1.7a59c84291a84p-30, 0x1.70a6dbd17088fp-31,
    0x1.d0a7cb6631101p-32, -0x1.c3bb8ca5b5f4dp-33};
static const double digamma_middle[] = {
    0x1.9213d46736ba4p-1,  -0x1.0aff270ca07a7p-2,  0x1.be76b26db8064p-4,   -0x1.95ec0c3ba96c5p-5,
    0x1.802924f9a596ep-6,  -0x1.7389aa808323dp-7,  0x1.6bdf5e1ae1274p-8,   -0x1.6714cfe720210p-9,
    0x1.64075ff18e26ep-10, -0x1.620f051c746e6p-11, 0x1.60c68d92e8519p-12,  -0x1.5fef520c301c0p-13,
    0x1.5f61927bb39fep-14, -0x1.5f029d78446f6p-15, 0x1.5ec49c57fa6b5p-16,  -0x1.5eb29aaa06a69p-17,
    0x1.5e97493ad8a3cp-18, -0x1.5d5f52c321377p-19, 0x1.5d533d8a03060p-20,  -0x1.68083671f2021p-21,
    0x1.6802db5409d62p-22, -0x1.1d8b735a21855p-23, 0x1.1d8913249d02ap-24,  -0x1.4d750a3ac1ab0p-24,
    0x1.4d74828311d89p-25, 0x1.7a77132f26cdep-26,  -0x1.7a774cf5e9446p-27, -0x1.77f07d57deeddp-26,
    0x1.77f075437a096p-27, 0x1.ca8b61490c825p-28,  -0x1.ca8b61edc4c73p-29, -0x1.af92498ca5701p-30,
    0x1.af92461eb684ap-31};

/// A positive number reduced to [1, 3), where it is below 12.
typedef struct reduced {
  value_t *x, *is_below_one, *is_large;  // is_large: 12 or more, where nothing is reduced
  value_t *less_one, *less_two;          // of the reduced number y: y - 1 and y - 2
  value_t *top, *bottom;  // 1 / y + 1 / (y + 1) + ... + 1 / (x - 1), where x is above 3; bottom is
                          // the product of the terms
} reduced_t;

static reduced_t reduce(const math_t* m, value_t* x) {
  enum { STEPS = 9 };
  reduced_t r = {.x = x, .top = hlo_rconst(m, 0), .bottom = hlo_rconst(m, 1)};
  r.is_below_one = hlo_rless_k(m, x, 1);
  r.is_large = hlo_ror(m, hlo_rabove_k(m, x, 12), hlo_requal_k(m, x, 12));
  value_t* y = x;
  for (int i = 0; i < STEPS; ++i) {
    value_t* next = hlo_radd_k(m, y, -1);
    value_t* is_done = hlo_rless_k(m, y, 3);
    y = hlo_rselect(m, is_done, y, next);
    r.top = hlo_rselect(m, is_done, r.top, hlo_radd(m, hlo_rmul(m, r.top, y), r.bottom));
    r.bottom = hlo_rselect(m, is_done, r.bottom, hlo_rmul(m, r.bottom, y));
  }
  r.less_one = hlo_rselect(m, r.is_below_one, x, hlo_radd_k(m, y, -1));
  r.less_two = hlo_rselect(m, r.is_below_one, hlo_radd_k(m, x, -1), hlo_radd_k(m, y, -2));
  return r;
}

// source: DLMF 5.11.1 (asymptotic series), 5.5.1 (recurrence)
static value_t* lgamma_positive(const math_t* m, value_t* x) {
  static const double series[] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                  -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
  const double half_log_2_pi = 0x1.d67f1c864beb5p-1;
  const reduced_t r = reduce(m, x);
  value_t* middle =
      hlo_rmul(m, hlo_rmul(m, r.less_one, r.less_two), HORNER(m, r.less_two, lgamma_middle));
  value_t* log = hlo_rcall(m, HLO_OP_log, x);
  value_t* small = hlo_rsub(m, middle, log);
  middle = hlo_radd(m, middle, hlo_rcall(m, HLO_OP_log, r.bottom));
  value_t* inverse = inverse_of(m, x);
  value_t* rest = hlo_rmul(m, inverse, HORNER(m, hlo_rmul(m, inverse, inverse), series));
  value_t* large = hlo_rmul(m, hlo_radd_k(m, x, -0.5), hlo_radd_k(m, log, -1));
  large = hlo_radd(m, large, hlo_radd_k(m, rest, half_log_2_pi - 0.5));
  value_t* result = hlo_rselect(m, r.is_below_one, small, middle);
  return hlo_rselect(m, r.is_large, large, result);
}

// Returns x - rint(x), which is exact.
static value_t* fraction_of(const math_t* m, value_t* x) {
  return hlo_rsub(m, x, hlo_rcall(m, HLO_OP_round_nearest_even, x));
}

// Returns 1 - x for negative x, and x elsewhere.
static value_t* reflect(const math_t* m, value_t* is_negative, value_t* x) {
  return hlo_rselect(m, is_negative, hlo_radd_k(m, hlo_rneg(m, x), 1), x);
}

// source: DLMF 5.5.3 (reflection)
static value_t* lgamma_of(const math_t* m, value_t* x) {
  value_t* is_negative = hlo_rless_k(m, x, 0);
  value_t* positive = lgamma_positive(m, reflect(m, is_negative, x));
  value_t* fraction = fraction_of(m, x);
  value_t* sine = hlo_rabs(m, hlo_rcall(m, HLO_OP_sine, hlo_rmul_k(m, fraction, PI)));
  // sin(pi x) / pi is x where it is tiny; pi times a subnormal number is not precise.
  value_t* size = hlo_rabs(m, fraction);
  value_t* ratio =
      hlo_rselect(m, hlo_rless_k(m, size, 0x1p-500), size, hlo_rmul_k(m, sine, 1 / PI));
  value_t* log = hlo_rneg(m, hlo_rcall(m, HLO_OP_log, ratio));
  value_t* result = hlo_rselect(m, is_negative, hlo_rsub(m, log, positive), positive);
  value_t* is_pole = hlo_rand(m, hlo_requal_k(m, fraction, 0), not(m, hlo_rabove_k(m, x, 0)));
  return hlo_rselect_k(m, hlo_ror(m, is_pole, hlo_ris_infinite(m, x)), INFINITY, result);
}

// source: DLMF 5.11.2 (asymptotic series), 5.5.2 (recurrence), 5.5.4 (reflection)
static value_t* digamma_of(const math_t* m, value_t* x) {
  static const double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const double root_less_one = 0x1.762d86356be3fp+0 - 1, root_low = 9.5499954299656977152e-17;
  value_t* is_negative = hlo_rless_k(m, x, 0);
  const reduced_t r = reduce(m, reflect(m, is_negative, x));
  value_t* above = hlo_radd_k(m, hlo_radd_k(m, r.less_one, -root_less_one), -root_low);
  value_t* middle = hlo_rmul(m, above, HORNER(m, r.less_two, digamma_middle));
  value_t *inverse = inverse_of(m, r.x), *square = hlo_rmul(m, inverse, inverse);
  value_t* small = hlo_rsub(m, middle, inverse);
  middle = hlo_radd(m, middle, hlo_rdiv(m, r.top, r.bottom));
  value_t* rest =
      hlo_radd(m, hlo_rmul_k(m, inverse, 0.5), hlo_rmul(m, square, HORNER(m, square, series)));
  value_t* large = hlo_rsub(m, hlo_rcall(m, HLO_OP_log, r.x), rest);
  value_t* result = hlo_rselect(m, r.is_below_one, small, middle);
  result = hlo_rselect(m, r.is_large, large, result);
  value_t* tangent = hlo_rcall(m, HLO_OP_tan, hlo_rmul_k(m, fraction_of(m, x), PI));
  value_t* reflected = hlo_rsub(m, result, hlo_rdiv(m, hlo_rconst(m, PI), tangent));
  result = hlo_rselect(m, is_negative, reflected, result);
  value_t* is_pole = hlo_rand(m, is_whole(m, x), not(m, hlo_rabove_k(m, x, 0)));
  result = hlo_rselect_k(m, is_pole, NAN, result);
  return hlo_rselect(m, hlo_requal_k(m, x, INFINITY), x, result);
}

// ---- Bessel function ----------------------------------------------------------------------------

// Chebyshev coefficients of sqrt(x) exp(-x) I1(x) in 16 / x - 1 for x above 8, computed with 60
// digits.
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
static value_t* chebyshev(const math_t* m, const double* c, size_t count, value_t* x) {
  value_t *b0 = hlo_rconst(m, 0), *b1 = b0, *twice = hlo_radd(m, x, x);
  for (size_t i = count; i-- > 1;) {
    value_t* b2 = b1;
    b1 = b0;
    b0 = hlo_radd_k(m, hlo_rsub(m, hlo_rmul(m, twice, b1), b2), c[i]);
  }
  return hlo_radd_k(m, hlo_rsub(m, hlo_rmul(m, x, b0), b1), c[0]);
}

static value_t* bessel_i1e_of(const math_t* m, value_t* x) {
  enum { TERMS = 26 };  // of the power series, up to 8: the next one is below 1e-21 of the sum
  double terms[TERMS] = {0.5};
  for (int k = 1; k < TERMS; ++k) terms[k] = terms[k - 1] / (4.0 * k * (k + 1));
  value_t* size = hlo_rabs(m, x);
  value_t* sum = HORNER(m, hlo_rmul(m, size, size), terms);
  value_t* small =
      hlo_rmul(m, hlo_rmul(m, x, sum), hlo_rcall(m, HLO_OP_exponential, hlo_rneg(m, size)));
  value_t* t = hlo_radd_k(m, hlo_rdiv(m, hlo_rconst(m, 16), size), -1);
  value_t* large =
      hlo_rdiv(m, chebyshev(m, i1e_large, COUNT(i1e_large), t), hlo_rcall(m, HLO_OP_sqrt, size));
  return hlo_rselect(m, hlo_rabove_k(m, size, 8), hlo_rcopy_sign(m, large, x), small);
}

// ---- zeta and polygamma -------------------------------------------------------------------------

// Returns the largest element, which is not negative.
static value_t* largest(const math_t* m, value_t* x) {
  int64_t dims[HLO_RANK_MAX];
  if (!x || x->type->rank == 0) return x;
  for (uint32_t d = 0; d < x->type->rank; ++d) dims[d] = d;
  return hlo_build_reduce(m->insertion_point, HLO_OP_maximum, x, 0, x->type->rank, dims);
}

/// The sum of q^-s, (q + 1)^-s, ... up to a^-s, which is left out.
typedef struct terms {
  value_t *sum, *a, *is_whole;  // is_whole: the terms left out do not change it
} terms_t;

// Adds terms up to 10 + 3/4 s. As they fall, fewer than 32 of them either reach that, or the last
// is negligible.
static bool add_terms(const math_t* m, value_t* s, value_t* q, terms_t* out) {
  enum { TERMS_MAX = 40 };
  const hlo_type_t* number =
      hlo_type_tensor(m->insertion_point->parent->module, HLO_DTYPE_S32, 0, NULL);
  value_t* start = hlo_radd_k(m, hlo_rmul_k(m, s, 0.75), 10);
  value_t* count = hlo_rcall(m, HLO_OP_ceil, hlo_rsub(m, start, q));
  count = binary(m, HLO_OP_minimum, count, hlo_rconst(m, TERMS_MAX));
  count = hlo_rselect(m, less(m, q, start), count, hlo_rconst(m, 0));
  value_t* limit = hlo_build_convert(m->insertion_point, HLO_DTYPE_S32, largest(m, count));
  value_t* initial[] = {hlo_rconst(m, 0), q, less(m, q, q)};
  hlo_loop_t loop;
  if (!hlo_loop_begin(m->insertion_point, number, TERMS_MAX, 3, initial, &loop) ||
      !hlo_loop_set_limit(&loop, limit)) {
    return false;
  }
  const math_t in = {.insertion_point = loop.end, .type = m->type};
  value_t *sum = loop.values[0], *a = loop.values[1], *is_done = loop.values[2];
  value_t* is_on = hlo_rand(&in, less(&in, a, start), not(&in, is_done));
  value_t* term = binary(&in, HLO_OP_power, a, hlo_rneg(&in, s));
  value_t* more = hlo_radd(&in, sum, term);
  value_t* is_small = not(&in, less(&in, hlo_rmul_k(&in, more, 0x1p-60), term));
  value_t* next[] = {hlo_rselect(&in, is_on, more, sum),
                     hlo_rselect(&in, is_on, hlo_radd_k(&in, a, 1), a),
                     hlo_ror(&in, is_done, hlo_rand(&in, is_on, is_small))};
  value_t* results[3];
  if (!hlo_loop_finish(&loop, next, results)) return false;
  *out = (terms_t){results[0], results[1], results[2]};
  return true;
}

// source: Euler-Maclaurin summation, Johansson, "Rigorous high-precision computation of the Hurwitz
// zeta function and its derivatives", formula (5)
static value_t* zeta_positive(const math_t* m, value_t* s, value_t* q) {
  // Bernoulli numbers B(2j) / (2j)! for j = 1 ...
  static const double bernoulli[] = {
      0.08333333333333333333333,    -0.001388888888888888888889, 0.00003306878306878306878307,
      -8.267195767195767195767e-7,  2.087675698786809897921e-8,  -5.284190138687493184848e-10,
      1.338253653068467883283e-11,  -3.38968029632258286683e-13, 8.586062056277844564136e-15,
      -2.174868698558061873042e-16, 5.509002828360229515203e-18, -1.395446468581254332071e-19,
      3.534707039629467471693e-21,
  };
  terms_t terms;
  if (!s || !q || !add_terms(m, s, q, &terms)) return NULL;
  value_t *power = binary(m, HLO_OP_power, terms.a, hlo_rneg(m, s)), *tail = NULL;
  value_t* inverse = inverse_of(m, terms.a);
  value_t* factor = hlo_rmul(m, hlo_rmul(m, s, power), inverse);
  for (size_t j = 0; j < COUNT(bernoulli); ++j) {
    value_t* term = hlo_rmul_k(m, factor, bernoulli[j]);
    tail = tail ? hlo_radd(m, tail, term) : term;
    value_t* first = hlo_rmul(m, hlo_radd_k(m, s, 2 * (double)j + 1), inverse);
    value_t* second = hlo_rmul(m, hlo_radd_k(m, s, 2 * (double)j + 2), inverse);
    factor = hlo_rmul(m, factor, hlo_rmul(m, first, second));
  }
  value_t* integral = hlo_rmul(m, power, hlo_rdiv(m, terms.a, hlo_radd_k(m, s, -1)));
  value_t* rest = hlo_radd(m, integral, hlo_radd(m, hlo_rmul_k(m, power, 0.5), tail));
  return hlo_rselect(m, terms.is_whole, terms.sum, hlo_radd(m, terms.sum, rest));
}

static value_t* is_even(const math_t* m, value_t* x) {
  return hlo_requal_k(m, binary(m, HLO_OP_remainder, x, hlo_rconst(m, 2)), 0);
}

// Below zero, the terms up to -q equal, up to the sign, those of 1 - f, where f = q - floor(q).
static value_t* zeta_of(const math_t* m, value_t* s, value_t* q) {
  value_t *is_positive = hlo_rabove_k(m, q, 0), *even = is_even(m, s),
          *none = hlo_rconst(m, INFINITY);
  value_t* f = hlo_rsub(m, q, hlo_rcall(m, HLO_OP_floor, q));
  value_t* above = zeta_positive(m, s, hlo_rselect(m, is_positive, q, f));
  value_t* first = hlo_radd_k(m, hlo_rneg(m, f), 1);
  value_t* last = hlo_radd_k(m, hlo_rneg(m, q), 1);
  first = zeta_positive(m, s, hlo_rselect(m, is_positive, none, first));
  last = zeta_positive(m, s, hlo_rselect(m, is_positive, none, last));
  value_t* below = hlo_rsub(m, first, last);
  below = hlo_radd(m, above, hlo_rselect(m, even, below, hlo_rneg(m, below)));
  below =
      hlo_rselect(m, is_whole(m, q), hlo_rselect_k(m, even, INFINITY, hlo_rconst(m, NAN)), below);
  below = hlo_rselect(m, is_whole(m, s), below, hlo_rconst(m, NAN));
  above = hlo_rselect_k(m, hlo_requal_k(m, q, INFINITY), 0, above);
  value_t* result = hlo_rselect(m, is_positive, above, below);
  result = hlo_rselect_k(m, hlo_requal_k(m, s, 1), INFINITY, result);
  value_t* is_valid = hlo_rand(m, equal(m, q, q), not(m, hlo_rless_k(m, s, 1)));
  return hlo_rselect(m, hlo_rand(m, is_valid, equal(m, s, s)), result, hlo_rconst(m, NAN));
}

enum { FACTORIALS = 172 };

// Returns n! for n up to 170, elsewhere 171! / 16, and with `out_scale` what is left to multiply.
static value_t* factorial(const math_t* m, value_t* n, value_t** out_scale) {
  hlo_module_t* module = m->insertion_point->parent->module;
  const int64_t dims[] = {FACTORIALS}, one[] = {1}, zero[] = {0};
  const hlo_type_t* type = hlo_type_tensor(module, HLO_DTYPE_F64, 1, dims);
  hlo_literal_t* literal = hlo_build_literal(module, type, false);
  if (!literal || !n) return NULL;
  long double product = 1;
  for (int k = 0; k < FACTORIALS; ++k) {
    if (k > 1) product *= k == FACTORIALS - 1 ? k / 16.0L : k;
    ((double*)hlo_literal_mutable_data(literal))[k] = (double)product;
  }
  value_t* table = hlo_build_constant(m->insertion_point, type, literal);
  value_t* index = binary(m, HLO_OP_minimum, n, hlo_rconst(m, FACTORIALS - 1));
  value_t* is_last = hlo_requal_k(m, index, FACTORIALS - 1);
  *out_scale = hlo_rselect_k(m, is_last, 16, hlo_rconst(m, 1));
  index = hlo_build_convert(m->insertion_point, HLO_DTYPE_S32, index);
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_offset_dims, hlo_attr_ints(module, 0, NULL)},
      {HLO_ATTR_collapsed_slice_dims, hlo_attr_ints(module, 1, zero)},
      {HLO_ATTR_start_index_map, hlo_attr_ints(module, 1, zero)},
      {HLO_ATTR_index_vector_dim, hlo_attr_int(module, HLO_DTYPE_S64, n->type->rank)},
      {HLO_ATTR_slice_sizes, hlo_attr_ints(module, 1, one)},
  };
  return hlo_build_node(m->insertion_point, HLO_OP_gather, m->type, 2, (value_t*[]){table, index},
                        COUNT(attrs), attrs);
}

static value_t* polygamma_of(const math_t* m, value_t* n, value_t* x) {
  value_t* is_valid = hlo_rand(m, is_whole(m, n), not(m, hlo_rless_k(m, n, 0)));
  value_t *order = hlo_rselect(m, is_valid, n, hlo_rconst(m, 1)), *scale = NULL;
  value_t* product = factorial(m, order, &scale);
  value_t* size = hlo_rmul(m, product, zeta_of(m, hlo_radd_k(m, order, 1), x));
  size = hlo_rmul(m, size, scale);
  value_t* result = hlo_rselect(m, is_even(m, order), hlo_rneg(m, size), size);
  result = hlo_rselect(m, hlo_requal_k(m, order, 0), digamma_of(m, x), result);
  return hlo_rselect(m, is_valid, result, hlo_rconst(m, NAN));
}

bool hlo_expand_math(HLO_UNUSED hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  value_t *x[2] = {NULL}, *result = NULL;
  const hlo_type_t* type = node->results[0].type;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != type) return false;
    x[i] = hlo_build_convert(node, HLO_DTYPE_F64, hlo_node_operand(node, i));
  }
  // F8E8M0FNU has neither zero nor sign, which conversions from f64 would have to answer for.
  if (!hlo_type_is_plain(type) || !hlo_dtype_is_float(type->dtype) ||
      type->dtype == HLO_DTYPE_F8E8M0FNU || !x[0]) {
    return false;
  }
  const math_t m = {.insertion_point = node, .type = x[0]->type};
  switch (node->op) {
    case HLO_OP_chlo_bessel_i1e: result = bessel_i1e_of(&m, x[0]); break;
    case HLO_OP_chlo_digamma: result = digamma_of(&m, x[0]); break;
    case HLO_OP_chlo_lgamma: result = lgamma_of(&m, x[0]); break;
    case HLO_OP_chlo_polygamma: result = polygamma_of(&m, x[0], x[1]); break;
    case HLO_OP_chlo_zeta: result = zeta_of(&m, x[0], x[1]); break;
    default: return false;
  }
  results[0] = hlo_build_convert(node, type->dtype, result);
  return results[0] != NULL;
}
