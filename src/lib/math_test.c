// SPDX-License-Identifier: Apache-2.0
// Elementary functions against the double functions of libm over bit patterns of every magnitude;
// edge cases; independence of instruction set, count and alignment.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// after the above, which it needs
#include <cmocka.h>

#include "base/float_bits.h"
#include "lib/isa.h"
#include "lib/math_impl.h"

typedef struct {
  const char* name;
  double (*plain)(double x);
  double ulps;
} function_t;

static const function_t functions[HLO_MATH_COUNT] = {
#define HLO_MATH(id, plain, limit, ulps) {#id, plain, ulps},
#include "lib/math.def"
};

#if defined(__x86_64__)
static const hlo_math_f32_fn_t* const variants[] = {hlo_math_f32_generic, hlo_math_f32_avx2,
                                                    hlo_math_f32_avx512};
#else
static const hlo_math_f32_fn_t* const variants[] = {hlo_math_f32_generic};
#endif
enum { VARIANTS = sizeof variants / sizeof variants[0], BLOCK = 1000 };

static bool runs_here(int variant) {
  return variant <= (int)hlo_isa();
}

// Returns the distance in units in the last place of `want` as f32.
static double ulp_distance(float got, double want) {
  const float rounded = (float)want;
  if (isnan(rounded)) return isnan(got) ? 0 : INFINITY;
  if (rounded == 0 || isinf(rounded))
    return hlo_f32_to_bits(got) == hlo_f32_to_bits(rounded) ? 0 : INFINITY;
  int exponent;
  (void)frexp(want, &exponent);
  return fabs(got - want) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

static void check_block(hlo_math_t f, const float* x, size_t count) {
  float got[BLOCK], other[BLOCK];
  hlo_math_f32(f, x, got, count);
  for (size_t i = 0; i < count; ++i) {
    const double want = functions[f].plain((double)x[i]);
    if (!(ulp_distance(got[i], want) <= functions[f].ulps)) {
      fail_msg("%s(%a) is %a, not %a", functions[f].name, (double)x[i], (double)got[i], want);
    }
  }
  for (int v = 0; v < VARIANTS; ++v) {
    if (!runs_here(v)) continue;
    variants[v][f](x, other, count);
    assert_memory_equal(got, other, count * sizeof(float));
  }
}

static void functions_are_accurate(void** state) {
  (void)state;
  enum { STRIDE = 997 };
  for (int f = 0; f < HLO_MATH_COUNT; ++f) {
    uint64_t pattern = 0;
    while (pattern <= UINT32_MAX) {
      float x[BLOCK];
      size_t count = 0;
      for (; count < BLOCK && pattern <= UINT32_MAX; pattern += STRIDE) {
        x[count++] = hlo_f32_from_bits((uint32_t)pattern);
      }
      check_block((hlo_math_t)f, x, count);
    }
  }
}

static void edges_are_exact(void** state) {
  (void)state;
  // zero, subnormals, powers of two, results that overflow and underflow, infinity, NaN
  static const float magnitudes[] = {
      0,       0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f, 0x1p-30f,       0x1p-24f, 0.5f,
      1,       2,         9.0109f,          9.0110f,   88.722f,        88.7229f, 103.97f,
      103.98f, 104,       150.5f,           0x1p20f,   0x1.000002p20f, 0x1p64f,  0x1p127f,
      3.9192f, 3.832506f, 17.32868f,        3.4e38f,   0x1.ff8p-2f,    INFINITY, NAN};
  enum { COUNT = sizeof magnitudes / sizeof magnitudes[0] };
  float x[2 * COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    x[2 * i] = magnitudes[i];
    x[2 * i + 1] = -magnitudes[i];
  }
  for (int f = 0; f < HLO_MATH_COUNT; ++f) check_block((hlo_math_t)f, x, 2 * COUNT);
}

// One element, any count and any alignment of the operand give the same bits.
static void counts_do_not_matter(void** state) {
  (void)state;
  enum { COUNT = 611 };
  float x[COUNT], whole[COUNT], part[COUNT + 1];
  for (int i = 0; i < COUNT; ++i) x[i] = (float)(i - 300) * 0.037f;
  x[400] = 0x1p30f;  // beyond the limit of sine
  for (int f = 0; f < HLO_MATH_COUNT; ++f) {
    hlo_math_f32((hlo_math_t)f, x, whole, COUNT);
    for (int i = 0; i < COUNT; ++i) {
      hlo_math_f32((hlo_math_t)f, &x[i], &part[i], 1);
    }
    assert_memory_equal(whole, part, sizeof x);
    for (size_t count = 0; count < COUNT; count += 13) {
      memcpy(part, x, sizeof x);
      part[count] = 0.625f;
      hlo_math_f32((hlo_math_t)f, part, part, count);
      assert_memory_equal(whole, part, count * sizeof(float));
      assert_true(part[count] == 0.625f);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_are_accurate),
      cmocka_unit_test(edges_are_exact),
      cmocka_unit_test(counts_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
