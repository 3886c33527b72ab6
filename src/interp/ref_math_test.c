// SPDX-License-Identifier: Apache-2.0
// Elementary and special functions, with their edge cases, against values computed with 50 digits
// (mpmath): f64, c128 and, for the real functions, f32.
#include "interp/ref_test_util.h"

// Returns the distance in units in the last place of `want`.
static double ulp_distance(double got, double want) {
  if (got == want || (isnan(got) && isnan(want))) return 0;
  double unit = fabs(nextafter(want, INFINITY) - want);
  return fabs(got - want) / unit;
}

static const struct {
  hlo_op_t op;
  double x, y, want;
} real_cases[] = {
    {HLO_OP_cbrt, 27.0, 0.0, 0x1.8000000000000p+1},
    {HLO_OP_cbrt, -2.0, 0.0, -0x1.428a2f98d728bp+0},
    {HLO_OP_cbrt, 1e-310, 0.0, 0x1.a9d1b0b5d7427p-344},
    {HLO_OP_cbrt, 5e+299, 0.0, 0x1.d07b2ae306196p+331},
    {HLO_OP_logistic, 0.5, 0.0, 0x1.3eb2fd4d34391p-1},
    {HLO_OP_logistic, -745.0, 0.0, 0x1p-1074},
    {HLO_OP_logistic, -36.0, 0.0, 0x1.0b6c3afdde062p-52},
    {HLO_OP_logistic, 12.0, 0.0, 0x1.ffff31d5f129ep-1},
    {HLO_OP_chlo_lgamma, 0.1, 0.0, 0x1.2058e35f3deeep+1},
    {HLO_OP_chlo_lgamma, -2.5, 0.0, -0x1.ccbf9f5ed0f16p-5},
    {HLO_OP_chlo_lgamma, 30.5, 0.0, 0x1.23d05ac006be7p+6},
    {HLO_OP_chlo_lgamma, 100000.0, 0.0, 0x1.00a97b57f4c2ep+20},
    {HLO_OP_chlo_digamma, 0.001, 0.0, -0x1.f449ac574fcf7p+9},
    {HLO_OP_chlo_digamma, 1.4616321, 0.0, -0x1.75c9b2d95d9e3p-25},
    {HLO_OP_chlo_digamma, 1.5, 0.0, 0x1.2aed059bd608ap-5},
    {HLO_OP_chlo_digamma, -3.25, 0.0, 0x1.1dd776c1aa21fp+2},
    {HLO_OP_chlo_digamma, 40.0, 0.0, 0x1.d691e5386f425p+1},
    {HLO_OP_chlo_erf_inv, 1e-200, 0.0, 0x1.5b5260685db94p-665},
    {HLO_OP_chlo_erf_inv, 0.25, 0.0, 0x1.cd70681d5ff70p-3},
    {HLO_OP_chlo_erf_inv, -0.5, 0.0, -0x1.e861fbb24c00ap-2},
    {HLO_OP_chlo_erf_inv, 0.999, 0.0, 0x1.29d311405cdb4p+1},
    {HLO_OP_chlo_erf_inv, 1 - 0x1p-52, 0.0, 0x1.73856d153f081p+2},
    {HLO_OP_chlo_bessel_i1e, 1e-08, 0.0, 0x1.5798ede9635e7p-28},
    {HLO_OP_chlo_bessel_i1e, 0.5, 0.0, 0x1.40598cd0be9efp-3},
    {HLO_OP_chlo_bessel_i1e, -3.0, 0.0, -0x1.9319e244ba85dp-3},
    {HLO_OP_chlo_bessel_i1e, 7.99, 0.0, 0x1.12e08a605bd6dp-3},
    {HLO_OP_chlo_bessel_i1e, 8.01, 0.0, 0x1.12921f5ac27d7p-3},
    {HLO_OP_chlo_bessel_i1e, 700.0, 0.0, 0x1.edd4ae130b94ep-7},
    {HLO_OP_chlo_zeta, 1.0009765625, 0.5, 0x1.007dbfcfaa4a7p+10},
    {HLO_OP_chlo_zeta, 2.0, 1.0, 0x1.a51a6625307d3p+0},
    {HLO_OP_chlo_zeta, 18.0, 10.75, 0x1.9641ccc3092edp-62},
    {HLO_OP_chlo_zeta, 4.0, -2.5, 0x1.03a9f1167e7d4p+5},
    {HLO_OP_chlo_zeta, 80.0, 900.0, 0x1.62ade9aa6d984p-782},
    {HLO_OP_chlo_polygamma, 1.0, 0.25, 0x1.1328429d927c6p+4},
    {HLO_OP_chlo_polygamma, 3.0, -1.5, 0x1.853044f8fc672p+7},
    {HLO_OP_chlo_polygamma, 16.0, 7.5, -0x1.043c1fb220a01p-5},
    {HLO_OP_chlo_polygamma, 0.0, 2.0, 0x1.b0ee6072093cep-2},
};

static bool is_binary(hlo_op_t op) {
  return op == HLO_OP_chlo_zeta || op == HLO_OP_chlo_polygamma;
}

static void real_functions_are_accurate(void** state) {
  hlo_test_fixture_t* f = *state;
  for (size_t i = 0; i < sizeof real_cases / sizeof real_cases[0]; ++i) {
    const hlo_op_t op = real_cases[i].op;
    double got;
    hlo_test_run_arrays(f, op, HLO_DTYPE_F64, 1, &real_cases[i].x,
                        is_binary(op) ? &real_cases[i].y : NULL, HLO_DTYPE_F64, &got);
    if (!(ulp_distance(got, real_cases[i].want) <= 4)) {
      fail_msg("%s(%a, %a) = %a, expected %a", hlo_op_info(op)->name, real_cases[i].x,
               real_cases[i].y, got, real_cases[i].want);
    }
  }
}

static void functions_of_f32_round_once(void** state) {
  hlo_test_fixture_t* f = *state;
  for (size_t i = 0; i < sizeof real_cases / sizeof real_cases[0]; ++i) {
    const hlo_op_t op = real_cases[i].op;
    float x = (float)real_cases[i].x, y = (float)real_cases[i].y, got;
    double wide_x = (double)x, wide_y = (double)y, wide;
    hlo_test_run_arrays(f, op, HLO_DTYPE_F32, 1, &x, is_binary(op) ? &y : NULL, HLO_DTYPE_F32,
                        &got);
    hlo_test_run_arrays(f, op, HLO_DTYPE_F64, 1, &wide_x, is_binary(op) ? &wide_y : NULL,
                        HLO_DTYPE_F64, &wide);
    assert_true(got == (float)wide || (isnan(got) && isnan(wide)));
  }
}

static void edges_of_special_functions(void** state) {
  hlo_test_fixture_t* f = *state;
  static const struct {
    hlo_op_t op;
    double x, y, want;
  } cases[] = {
      {HLO_OP_chlo_erf_inv, 1, 0, INFINITY},
      {HLO_OP_chlo_erf_inv, -1, 0, -INFINITY},
      {HLO_OP_chlo_erf_inv, 1.5, 0, NAN},
      {HLO_OP_chlo_digamma, 0, 0, NAN},
      {HLO_OP_chlo_digamma, -2, 0, NAN},
      {HLO_OP_chlo_digamma, INFINITY, 0, INFINITY},
      {HLO_OP_chlo_lgamma, -1, 0, INFINITY},
      {HLO_OP_chlo_lgamma, -INFINITY, 0, INFINITY},
      {HLO_OP_chlo_bessel_i1e, INFINITY, 0, 0},
      {HLO_OP_chlo_zeta, INFINITY, 240, 0},
      {HLO_OP_chlo_zeta, 1e30, 240, 0},
      {HLO_OP_chlo_zeta, INFINITY, INFINITY, 0},
      {HLO_OP_chlo_zeta, 1e30, 1, 1},
      {HLO_OP_chlo_zeta, 1, 2, INFINITY},
      {HLO_OP_chlo_zeta, 0.5, 2, NAN},
      {HLO_OP_chlo_zeta, 2, -1, INFINITY},
      {HLO_OP_chlo_zeta, 3, -1, NAN},
      {HLO_OP_chlo_zeta, 2.5, -1.5, NAN},
      {HLO_OP_chlo_polygamma, -1, 2, NAN},
      {HLO_OP_chlo_polygamma, 1.5, 2, NAN},
      {HLO_OP_logistic, -INFINITY, 0, 0},
      {HLO_OP_logistic, INFINITY, 0, 1},
      {HLO_OP_cbrt, -INFINITY, 0, -INFINITY},
      {HLO_OP_cbrt, NAN, 0, NAN},
      {HLO_OP_sign, -0.0, 0, 0},
      {HLO_OP_log, -1, 0, NAN},
      {HLO_OP_rsqrt, 0, 0, INFINITY},
      {HLO_OP_round_nearest_even, 2.5, 0, 2},
      {HLO_OP_round_nearest_afz, -2.5, 0, -3},
      {HLO_OP_chlo_acosh, 0.5, 0, NAN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    double got;
    hlo_test_run_arrays(f, cases[i].op, HLO_DTYPE_F64, 1, &cases[i].x,
                        is_binary(cases[i].op) ? &cases[i].y : NULL, HLO_DTYPE_F64, &got);
    if (!(ulp_distance(got, cases[i].want) == 0)) {
      fail_msg("%s(%a, %a) = %a", hlo_op_info(cases[i].op)->name, cases[i].x, cases[i].y, got);
    }
  }
}

static const struct {
  hlo_op_t op;
  double z[2], want[2];
} complex_cases[] = {
    {HLO_OP_log_plus_one, {-1e-09, 4.4e-05}, {-0x1.197997c93bda6p-35, 0x1.711947d1d4a7fp-15}},
    {HLO_OP_log_plus_one, {0.5, 0.001}, {0x1.9f324db5b8f87p-2, 0x1.5d8678da0e3e4p-11}},
    {HLO_OP_log_plus_one, {10000000000.0, -3.0}, {0x1.7069e2aa3184ep+4, -0x1.49da7e358f390p-32}},
    {HLO_OP_log_plus_one, {-0.75, -2.0}, {0x1.66dc4505c31f7p-1, -0x1.7249faa996a21p+0}},
    {HLO_OP_exponential, {-1e-09, 4.4e-05}, {0x1.ffffffef18528p-1, 0x1.711947c771a27p-15}},
    {HLO_OP_exponential, {0.5, 0.001}, {0x1.a6128b0d46627p+0, 0x1.b033cb07dc38cp-10}},
    {HLO_OP_exponential, {-0.75, -2.0}, {-0x1.92954f13a4b0dp-3, -0x1.b7d488bdcc3e5p-2}},
    {HLO_OP_sqrt, {-1e-09, 4.4e-05}, {0x1.3363395f322b6p-8, 0x1.336503378780cp-8}},
    {HLO_OP_sqrt, {0.5, 0.001}, {0x1.6a09f244f2e4cp-1, 0x1.72ba37da1160ap-11}},
    {HLO_OP_sqrt, {10000000000.0, -3.0}, {0x1.86a0000000000p+16, -0x1.f75104d551d69p-17}},
    {HLO_OP_sqrt, {-0.75, -2.0}, {0x1.aa390c74dfb3bp-1, -0x1.33851713f7da8p+0}},
    {HLO_OP_chlo_asin, {-1e-09, 4.4e-05}, {-0x1.12e0be7df6994p-30, 0x1.711947cda2e6dp-15}},
    {HLO_OP_chlo_asin, {0.5, 0.001}, {0x1.0c15169894155p-1, 0x1.2eb29b611d339p-10}},
    {HLO_OP_chlo_asin, {10000000000.0, -3.0}, {0x1.921fb542f8f70p+0, -0x1.7b810429a7c2ap+4}},
    {HLO_OP_chlo_asin, {-0.75, -2.0}, {-0x1.4e9ce68500dd2p-2, -0x1.7e15dbbcfb10bp+0}},
    {HLO_OP_chlo_acos, {-1e-09, 4.4e-05}, {0x1.921fb5488e548p+0, -0x1.711947cda2e6dp-15}},
    {HLO_OP_chlo_acos, {0.5, 0.001}, {0x1.0c1529f7f8c6ep+0, -0x1.2eb29b611d339p-10}},
    {HLO_OP_chlo_acos, {10000000000.0, -3.0}, {0x1.49da7e361ce4cp-32, 0x1.7b810429a7c2ap+4}},
    {HLO_OP_chlo_acos, {-0.75, -2.0}, {0x1.e5c6eee58308dp+0, 0x1.7e15dbbcfb10bp+0}},
    {HLO_OP_chlo_atanh, {-1e-09, 4.4e-05}, {-0x1.12e0be797fc93p-30, 0x1.711947cba3639p-15}},
    {HLO_OP_chlo_atanh, {0.5, 0.001}, {0x1.193e89d755321p-1, 0x1.5d86647d91e97p-10}},
    {HLO_OP_chlo_atanh, {10000000000.0, -3.0}, {0x1.b7cdfd9d7bdbbp-34, -0x1.921fb54442d18p+0}},
    {HLO_OP_chlo_atanh, {-0.75, -2.0}, {-0x1.1b22e34facf33p-3, -0x1.263238e10ba10p+0}},
    {HLO_OP_tanh, {-1e-09, 4.4e-05}, {-0x1.12e0be8b5b097p-30, 0x1.711947d3a170bp-15}},
    {HLO_OP_tanh, {0.5, 0.001}, {0x1.d93555d91bcf3p-2, 0x1.9c533d94e0d40p-11}},
    {HLO_OP_tanh, {-0.75, -2.0}, {-0x1.40e09a64ccdd8p+0, 0x1.c8317f9795158p-2}},
    {HLO_OP_chlo_square, {-1e-09, 4.4e-05}, {-0x1.0a14f1bf88288p-29, -0x1.8c5117a7e165ep-44}},
    {HLO_OP_chlo_square, {0.5, 0.001}, {0x1.ffff79c842fa5p-3, 0x1.0624dd2f1a9fcp-10}},
    {HLO_OP_chlo_square, {10000000000.0, -3.0}, {0x1.5af1d78b58c40p+66, -0x1.bf08eb0000000p+35}},
    {HLO_OP_chlo_square, {-0.75, -2.0}, {-0x1.b800000000000p+1, 0x1.8000000000000p+1}},
};

static void complex_functions_are_accurate_in_each_part(void** state) {
  hlo_test_fixture_t* f = *state;
  for (size_t i = 0; i < sizeof complex_cases / sizeof complex_cases[0]; ++i) {
    double got[2];
    hlo_test_run_arrays(f, complex_cases[i].op, HLO_DTYPE_C128, 1, complex_cases[i].z, NULL,
                        HLO_DTYPE_C128, got);
    for (int part = 0; part < 2; ++part) {
      if (!(ulp_distance(got[part], complex_cases[i].want[part]) <= 2)) {
        fail_msg("part %d of %s(%g, %g) = %a", part, hlo_op_info(complex_cases[i].op)->name,
                 complex_cases[i].z[0], complex_cases[i].z[1], got[part]);
      }
    }
  }
}

static void complex_arithmetic(void** state) {
  hlo_test_fixture_t* f = *state;
  const float x[] = {1, 2, 0, 0, NAN, 0}, y[] = {3, -4, 2, 0, 1, 1};
  float r[6], size[3];
  hlo_test_run_arrays(f, HLO_OP_multiply, HLO_DTYPE_C64, 3, x, y, HLO_DTYPE_C64, r);
  assert_true(r[0] == 11 && r[1] == 2 && r[2] == 0 && r[3] == 0 && isnan(r[4]));
  hlo_test_run_arrays(f, HLO_OP_divide, HLO_DTYPE_C64, 2, x, y, HLO_DTYPE_C64, r);
  assert_true(r[0] == -0.2f && r[1] == 0.4f && r[2] == 0 && r[3] == 0);
  hlo_test_run_arrays(f, HLO_OP_power, HLO_DTYPE_C64, 2, x, y, HLO_DTYPE_C64, r);
  assert_true(r[2] == 0 && r[3] == 0);
  hlo_test_run_arrays(f, HLO_OP_sign, HLO_DTYPE_C64, 3, x, NULL, HLO_DTYPE_C64, r);
  assert_true(fabsf(r[0] - 0.4472136f) < 1e-6f && r[2] == 0 && isnan(r[4]) && isnan(r[5]));
  hlo_test_run_arrays(f, HLO_OP_abs, HLO_DTYPE_C64, 3, y, NULL, HLO_DTYPE_F32, size);
  assert_true(size[0] == 5 && size[1] == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(real_functions_are_accurate, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(functions_of_f32_round_once, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(edges_of_special_functions, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(complex_functions_are_accurate_in_each_part,
                                      hlo_test_fixture_setup, hlo_test_fixture_teardown),
      cmocka_unit_test_setup_teardown(complex_arithmetic, hlo_test_fixture_setup,
                                      hlo_test_fixture_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
