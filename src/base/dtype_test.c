// SPDX-License-Identifier: Apache-2.0
// Tests of element types: conversions against checksums made with ml_dtypes and against a slow
// nearest-value search; integers, complex, packing; the table itself.
#include "base/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLE_COUNT = 1 << 16, CODE_COUNT = 1 << 16, MIDPOINT_LIMIT = 6 << 16 };

static const struct {
  const char* name;
  uint32_t sums[5];
} kVectors[] = {
#include "base/dtype_vectors_test.inl"
};

static uint32_t crc32_of(const void* data, size_t size) {
  const uint8_t* bytes = data;
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1u) ? 0xedb88320u : 0u);
  }
  return ~crc;
}

static hlo_dtype_t by_numpy_name(const char* name) {
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    if (strcmp(hlo_dtype_table[i].ml_dtypes_name, name) == 0) return (hlo_dtype_t)i;
  }
  return HLO_DTYPE_INVALID;
}

// NaN payloads are not compared.
static void canonicalise(hlo_dtype_t dtype, void* data, size_t count) {
  uint16_t* halves = data;
  uint32_t* words = data;
  for (size_t i = 0; i < count; ++i) {
    if (dtype == HLO_DTYPE_F16 && (halves[i] & 0x7fffu) > 0x7c00u) {
      halves[i] = (uint16_t)((halves[i] & 0x8000u) | 0x7e00u);
    }
    if (dtype == HLO_DTYPE_F32 && (words[i] & 0x7fffffffu) > 0x7f800000u) {
      words[i] = (words[i] & 0x80000000u) | 0x7fc00000u;
    }
  }
}

static uint32_t converted_crc(hlo_dtype_t from, const void* in, hlo_dtype_t to, size_t count) {
  size_t size = count * hlo_dtype_size_bytes(to);
  void* out = malloc(size);
  assert_non_null(out);
  hlo_dtype_convert(from, in, to, out, count);
  canonicalise(to, out, count);
  uint32_t crc = crc32_of(out, size);
  free(out);
  return crc;
}

// All codes of a type in its memory form.
static void* all_codes(hlo_dtype_t dtype, size_t* out_count) {
  size_t count = (size_t)1 << hlo_dtype_info(dtype)->bits;
  uint8_t* codes = malloc(count * 2);
  assert_non_null(codes);
  for (size_t i = 0; i < count; ++i) {
    if (hlo_dtype_size_bytes(dtype) == 1) {
      codes[i] = (uint8_t)i;
    } else {
      ((uint16_t*)codes)[i] = (uint16_t)i;
    }
  }
  *out_count = count;
  return codes;
}

// The finite magnitudes of a type, ascending: its codes without the sign.
static size_t finite_magnitudes(hlo_dtype_t dtype, double* values) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  size_t sign_bits = info->specials == HLO_FLOAT_E8M0 ? 0 : 1;
  size_t count = (size_t)1 << (info->bits - sign_bits), kept = 0;
  for (size_t i = 0; i < count; ++i) {
    uint16_t code = (uint16_t)i;
    double value = hlo_dtype_load_double(dtype, &code);
    if (isfinite(value)) values[kept++] = value;
  }
  return kept;
}

static size_t midpoints(hlo_dtype_t dtype, double* mids) {
  double* values = malloc(sizeof(double) * CODE_COUNT);
  assert_non_null(values);
  size_t count = finite_magnitudes(dtype, values);
  for (size_t i = 0; i + 1 < count; ++i) mids[i] = (values[i] + values[i + 1]) / 2;
  mids[count - 1] = values[count - 1] + (values[count - 1] - values[count - 2]) / 2;
  free(values);
  return count;
}

// Each midpoint with its two neighbours, of both signs.
static uint32_t midpoint_crc(hlo_dtype_t dtype) {
  double* mids = malloc(sizeof(double) * CODE_COUNT);
  float* points = malloc(sizeof(float) * MIDPOINT_LIMIT);
  assert_true(mids && points);
  size_t count = midpoints(dtype, mids), half = 3 * count;
  for (size_t i = 0; i < count; ++i) {
    points[3 * i] = nextafterf((float)mids[i], -INFINITY);
    points[3 * i + 1] = (float)mids[i];
    points[3 * i + 2] = nextafterf((float)mids[i], INFINITY);
  }
  for (size_t i = 0; i < half; ++i) points[half + i] = -points[i];
  uint32_t crc = converted_crc(HLO_DTYPE_F32, points, dtype, 2 * half);
  free(mids);
  free(points);
  return crc;
}

static void test_floats_equal_ml_dtypes(void** state) {
  (void)state;
  float* samples = malloc(sizeof(float) * SAMPLE_COUNT);
  assert_non_null(samples);
  uint64_t x = 1;
  for (size_t i = 0; i < SAMPLE_COUNT; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t bits = (uint32_t)(x >> 32);
    memcpy(&samples[i], &bits, sizeof bits);
  }
  size_t count;
  void* halves = all_codes(HLO_DTYPE_F16, &count);
  for (size_t i = 0; i < sizeof kVectors / sizeof kVectors[0]; ++i) {
    hlo_dtype_t dtype = by_numpy_name(kVectors[i].name);
    assert_int_not_equal(dtype, HLO_DTYPE_INVALID);
    const uint32_t* sums = kVectors[i].sums;
    size_t code_count;
    void* codes = all_codes(dtype, &code_count);
    assert_int_equal(converted_crc(dtype, codes, HLO_DTYPE_F32, code_count), sums[0]);
    free(codes);
    assert_int_equal(converted_crc(HLO_DTYPE_F16, halves, dtype, CODE_COUNT), sums[1]);
    assert_int_equal(converted_crc(HLO_DTYPE_BF16, halves, dtype, CODE_COUNT), sums[2]);
    assert_int_equal(converted_crc(HLO_DTYPE_F32, samples, dtype, SAMPLE_COUNT), sums[3]);
    assert_int_equal(midpoint_crc(dtype), sums[4]);
  }
  free(halves);
  free(samples);
}

// The nearest code by search, ties to even, for finite values inside the range.
static uint32_t nearest_code(const double* values, size_t count, double value) {
  size_t low = 0, high = count - 1;
  while (high - low > 1) {
    size_t mid = (low + high) / 2;
    if (values[mid] <= value) {
      low = mid;
    } else {
      high = mid;
    }
  }
  double down = value - values[low], up = values[high] - value;
  return (uint32_t)(down < up || (down == up && low % 2 == 0) ? low : high);
}

static void test_double_rounds_once(void** state) {
  (void)state;
  static const hlo_dtype_t kTypes[] = {HLO_DTYPE_BF16,     HLO_DTYPE_F16,        HLO_DTYPE_F8E5M2,
                                       HLO_DTYPE_F8E4M3FN, HLO_DTYPE_F8E4M3FNUZ, HLO_DTYPE_F6E2M3FN,
                                       HLO_DTYPE_F4E2M1FN};
  double* values = malloc(sizeof(double) * CODE_COUNT);
  assert_non_null(values);
  for (size_t t = 0; t < sizeof kTypes / sizeof kTypes[0]; ++t) {
    size_t count = finite_magnitudes(kTypes[t], values);
    for (size_t i = 0; i + 1 < count; i += count > 300 ? 37 : 1) {
      double mid = (values[i] + values[i + 1]) / 2;
      double points[] = {mid, nextafter(mid, 0), nextafter(mid, INFINITY), mid * (1 + 0x1p-40),
                         mid * (1 - 0x1p-40)};
      for (size_t p = 0; p < 5; ++p) {
        uint16_t code = 0;
        hlo_dtype_store_double(kTypes[t], &code, points[p]);
        assert_int_equal(code, nearest_code(values, count, points[p]));
      }
    }
  }
  free(values);
  // A tie after rounding to float first: 1 + 2^-8 + 2^-40 is above the midpoint.
  uint16_t bf16 = 0;
  hlo_dtype_store_double(HLO_DTYPE_BF16, &bf16, 1 + 0x1p-8 + 0x1p-40);
  assert_int_equal(bf16, 0x3f81);
  uint8_t e8m0 = 1;
  hlo_dtype_store_double(HLO_DTYPE_F8E8M0FNU, &e8m0, 1e-300);
  assert_int_equal(e8m0, 0);
  int64_t large[] = {(1ll << 40) + (1ll << 32) + 1, (1ll << 62) + (1ll << 54) + 1, INT64_MIN};
  uint16_t out[3];
  hlo_dtype_convert(HLO_DTYPE_S64, large, HLO_DTYPE_BF16, out, 3);
  assert_int_equal(out[0], 0x5381);
  assert_int_equal(out[1], 0x5e81);
  assert_int_equal(out[2], 0xdf00);
  uint64_t top = UINT64_MAX;
  hlo_dtype_convert(HLO_DTYPE_U64, &top, HLO_DTYPE_BF16, out, 1);
  assert_int_equal(out[0], 0x5f80);
}

static void test_scalar_helpers(void** state) {
  (void)state;
  for (uint32_t code = 0; code < CODE_COUNT; ++code) {
    float bf16 = hlo_bf16_to_f32((uint16_t)code), f16 = hlo_f16_to_f32((uint16_t)code);
    if (bf16 == bf16) assert_int_equal(hlo_f32_to_bf16(bf16), code);
    if (f16 == f16) assert_int_equal(hlo_f32_to_f16(f16), code);
  }
  static const struct {
    hlo_dtype_t dtype;
    double value;
    uint8_t code;
  } kStored[] = {{HLO_DTYPE_F8E4M3FN, 464, 0x7e},
                 {HLO_DTYPE_F8E4M3FN, 465, 0x7f},
                 {HLO_DTYPE_F8E5M2, 61440, 0x7c},
                 {HLO_DTYPE_F4E2M1FN, -INFINITY, 0xf},
                 {HLO_DTYPE_F8E8M0FNU, 3, 129}};
  for (size_t i = 0; i < sizeof kStored / sizeof *kStored; ++i) {
    uint8_t code = 0;
    hlo_dtype_store_double(kStored[i].dtype, &code, kStored[i].value);
    assert_int_equal(code, kStored[i].code);
  }
  assert_true(hlo_dtype_load_double(HLO_DTYPE_F6E3M2FN, (uint8_t[]){0x1f}) == 28);
  assert_true(isnan(hlo_dtype_load_double(HLO_DTYPE_F8E4M3FNUZ, (uint8_t[]){0x80})));
}

static void test_integers(void** state) {
  (void)state;
  const double in[] = {NAN, INFINITY, -INFINITY, 3.99, -3.99, 1e30, -1e30, 300, -0.5, 9.3e18};
  const int32_t s32[] = {0, INT32_MAX, INT32_MIN, 3, -3, INT32_MAX, INT32_MIN, 300, 0, INT32_MAX};
  const int8_t s4[] = {0, 7, -8, 3, -3, 7, -8, 7, 0, 7};
  const uint64_t u64[] = {0, UINT64_MAX, 0, 3, 0, UINT64_MAX, 0, 300, 0, 9300000000000000000u};
  const int64_t s64[] = {0, INT64_MAX, INT64_MIN, 3, -3, INT64_MAX, INT64_MIN, 300, 0, INT64_MAX};
  union {
    int32_t s32[10];
    int8_t s4[10];
    uint64_t u64[10];
    int64_t s64[10];
    uint8_t pred[10];
  } out;
  hlo_dtype_convert(HLO_DTYPE_F64, in, HLO_DTYPE_S32, &out, 10);
  assert_memory_equal(out.s32, s32, sizeof s32);
  hlo_dtype_convert(HLO_DTYPE_F64, in, HLO_DTYPE_S4, &out, 10);
  assert_memory_equal(out.s4, s4, sizeof s4);
  hlo_dtype_convert(HLO_DTYPE_F64, in, HLO_DTYPE_U64, &out, 10);
  assert_memory_equal(out.u64, u64, sizeof u64);
  hlo_dtype_convert(HLO_DTYPE_F64, in, HLO_DTYPE_S64, &out, 10);
  assert_memory_equal(out.s64, s64, sizeof s64);
  hlo_dtype_convert(HLO_DTYPE_F64, in, HLO_DTYPE_PRED, &out, 10);
  for (int i = 0; i < 10; ++i) assert_int_equal(out.pred[i], 1);

  const int32_t wide[] = {-1, 7, 8, 255, 256, -9};
  const int8_t wrapped_s4[] = {-1, 7, -8, -1, 0, 7};
  const uint8_t wrapped_u2[] = {3, 3, 0, 3, 0, 3};
  hlo_dtype_convert(HLO_DTYPE_S32, wide, HLO_DTYPE_S4, &out, 6);
  assert_memory_equal(out.s4, wrapped_s4, 6);
  hlo_dtype_convert(HLO_DTYPE_S32, wide, HLO_DTYPE_U2, &out, 6);
  assert_memory_equal(out.s4, wrapped_u2, 6);
  hlo_dtype_convert(HLO_DTYPE_S32, wide, HLO_DTYPE_PRED, &out, 6);
  assert_int_equal(out.pred[4], 1);
  int8_t two_bits = -2;
  assert_int_equal(hlo_dtype_load_int64(HLO_DTYPE_S2, &two_bits), -2);
  hlo_dtype_store_int64(HLO_DTYPE_S2, &two_bits, 2);
  assert_int_equal(two_bits, -2);
}

// Every integer type to every float and back through the array path and the element path.
static void test_element_and_array_paths_agree(void** state) {
  (void)state;
  for (int from = 0; from < HLO_DTYPE_COUNT; ++from) {
    for (int to = 0; to < HLO_DTYPE_COUNT; ++to) {
      hlo_dtype_t a = (hlo_dtype_t)from, b = (hlo_dtype_t)to;
      const hlo_dtype_info_t *ia = hlo_dtype_info(a), *ib = hlo_dtype_info(b);
      if (ia->klass == HLO_DTYPE_CLASS_NONE || ib->klass == HLO_DTYPE_CLASS_NONE) continue;
      if (hlo_dtype_is_complex(a) || hlo_dtype_is_complex(b)) continue;
      enum { N = 1100 };  // more than two blocks
      _Alignas(8) uint8_t in[N * 8], out[N * 8], one[8];
      size_t in_size = hlo_dtype_size_bytes(a), out_size = hlo_dtype_size_bytes(b);
      memset(in, 0, sizeof in);
      for (size_t i = 0; i < N; ++i)
        hlo_dtype_store_double(a, in + i * in_size, (double)(i % 97) - 48);
      hlo_dtype_convert(a, in, b, out, N);
      for (size_t i = 0; i < N; ++i) {
        memset(one, 0, sizeof one);
        if (a == b || (!hlo_dtype_is_float(a) && !hlo_dtype_is_float(b))) {
          hlo_dtype_store_int64(b, one, hlo_dtype_load_int64(a, in + i * in_size));
          if (hlo_dtype_is_float(b)) memcpy(one, in + i * in_size, in_size);
        } else {
          hlo_dtype_store_double(b, one, hlo_dtype_load_double(a, in + i * in_size));
        }
        assert_memory_equal(one, out + i * out_size, out_size);
      }
    }
  }
}

static void test_complex(void** state) {
  (void)state;
  const float c64[] = {1.5f, -2.0f, 0.0f, 3.0f, 0.0f, 0.0f};
  double c128[6];
  uint8_t pred[3];
  float real[3];
  hlo_dtype_convert(HLO_DTYPE_C64, c64, HLO_DTYPE_C128, c128, 3);
  for (int i = 0; i < 6; ++i) assert_true(c128[i] == (double)c64[i]);
  hlo_dtype_convert(HLO_DTYPE_C64, c64, HLO_DTYPE_PRED, pred, 3);
  assert_true(pred[0] == 1 && pred[1] == 0 && pred[2] == 0);
  hlo_dtype_convert(HLO_DTYPE_C128, c128, HLO_DTYPE_F32, real, 3);
  assert_true(real[0] == 1.5f && real[1] == 0.0f && real[2] == 0.0f);
  const int8_t ints[] = {-3, 5};
  hlo_dtype_convert(HLO_DTYPE_S8, ints, HLO_DTYPE_C128, c128, 2);
  assert_true(c128[0] == -3 && c128[1] == 0 && c128[2] == 5 && c128[3] == 0);
  assert_int_equal(hlo_dtype_complex_of(HLO_DTYPE_F64), HLO_DTYPE_C128);
}

static void test_packing(void** state) {
  (void)state;
  static const hlo_dtype_t kTypes[] = {HLO_DTYPE_S2, HLO_DTYPE_U2, HLO_DTYPE_S4, HLO_DTYPE_U4,
                                       HLO_DTYPE_F4E2M1FN};
  for (size_t t = 0; t < sizeof kTypes / sizeof kTypes[0]; ++t) {
    for (size_t count = 0; count < 19; ++count) {
      uint8_t in[19] = {0}, packed[19], back[19];
      for (size_t i = 0; i < count; ++i) {
        hlo_dtype_store_double(kTypes[t], in + i, (double)(i % 4));
        hlo_dtype_store_int64(kTypes[t], in + i, (int64_t)i);
      }
      memset(packed, 0xee, sizeof packed);
      hlo_dtype_pack(kTypes[t], in, packed, count);
      assert_int_equal(packed[hlo_dtype_packed_size_bytes(kTypes[t], count)], 0xee);
      hlo_dtype_unpack(kTypes[t], packed, back, count);
      assert_memory_equal(in, back, count);
    }
  }
  const uint8_t odd[] = {1, 2, 15};
  uint8_t packed[2];
  hlo_dtype_pack(HLO_DTYPE_U4, odd, packed, 3);
  assert_int_equal(packed[0], 0x21);
  assert_int_equal(packed[1], 0x0f);  // the unused nibble is zero
  uint8_t loose[] = {0x0f, 0xf7, 0x08};
  hlo_dtype_normalise(HLO_DTYPE_S4, loose, 3);
  assert_memory_equal(loose, ((const uint8_t[]){0xff, 0x07, 0xf8}), 3);
  uint8_t bits[] = {0xff, 2, 0};
  hlo_dtype_normalise(HLO_DTYPE_F6E2M3FN, bits, 1);
  assert_int_equal(bits[0], 0x3f);
  hlo_dtype_normalise(HLO_DTYPE_PRED, bits, 3);
  assert_memory_equal(bits, ((const uint8_t[]){1, 1, 0}), 3);
  assert_int_equal(hlo_dtype_packed_size_bytes(HLO_DTYPE_F6E2M3FN, 3), 3);
  assert_int_equal(hlo_dtype_packed_size_bytes(HLO_DTYPE_S4, SIZE_MAX), SIZE_MAX / 2 + 1);
}

static void test_names(void** state) {
  (void)state;
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    hlo_dtype_t d = (hlo_dtype_t)i;
    const hlo_dtype_info_t* info = hlo_dtype_info(d);
    assert_int_equal(hlo_dtype_from_hlo_name(info->hlo_name, strlen(info->hlo_name)), d);
    assert_int_equal(hlo_dtype_from_pjrt(info->pjrt_type), d);
    if (!hlo_dtype_is_complex(d)) {
      assert_int_equal(hlo_dtype_from_mlir_name(info->mlir_name, strlen(info->mlir_name)), d);
    }
    if (hlo_dtype_is_float(d)) {
      int sign = info->specials == HLO_FLOAT_E8M0 ? 0 : 1;
      assert_int_equal(info->bits, info->exponent_bits + info->mantissa_bits + sign);
    }
  }
  assert_int_equal(hlo_dtype_from_hlo_name("f32x", 3), HLO_DTYPE_F32);
  assert_int_equal(hlo_dtype_from_hlo_name("f3", 2), HLO_DTYPE_INVALID);
  assert_int_equal(hlo_dtype_from_pjrt(-1), HLO_DTYPE_INVALID);
  assert_ptr_equal(hlo_dtype_info((hlo_dtype_t)999), hlo_dtype_info(HLO_DTYPE_INVALID));
}

// The result must equal "every code of `from` survives the conversion to `to` and back", tried on
// small types.
static void test_lossless(void** state) {
  (void)state;
  for (int from = 0; from < HLO_DTYPE_COUNT; ++from) {
    hlo_dtype_t a = (hlo_dtype_t)from;
    const hlo_dtype_info_t* info = hlo_dtype_info(a);
    if (info->klass == HLO_DTYPE_CLASS_NONE || info->bits > 16 || a == HLO_DTYPE_PRED) continue;
    size_t count;
    void* codes = all_codes(a, &count);
    if (hlo_dtype_is_signed(a) && info->bits < 8) {
      for (size_t i = 0; i < count; ++i) {
        hlo_dtype_store_int64(a, (uint8_t*)codes + i, (int64_t)i);
      }
    }
    double* before = malloc(count * 8);
    double* after = malloc(count * 8);
    uint8_t* there = malloc(count * 8);
    assert_true(before && after && there);
    hlo_dtype_convert(a, codes, HLO_DTYPE_F64, before, count);
    for (int to = 0; to < HLO_DTYPE_COUNT; ++to) {
      hlo_dtype_t b = (hlo_dtype_t)to;
      if (hlo_dtype_info(b)->klass == HLO_DTYPE_CLASS_NONE || hlo_dtype_is_complex(b)) continue;
      hlo_dtype_convert(a, codes, b, there, count);
      hlo_dtype_convert(b, there, HLO_DTYPE_F64, after, count);
      bool same = true;
      for (size_t i = 0; i < count; ++i) {
        bool nan = isnan(before[i]);
        same &= nan ? isnan(after[i]) != 0
                    : before[i] == after[i] && signbit(before[i]) == signbit(after[i]);
      }
      if (hlo_dtype_convert_is_lossless(a, b) != same) {
        fail_msg("%s -> %s: lossless is %d", info->name, hlo_dtype_info(b)->name, same);
      }
    }
    free(codes);
    free(before);
    free(after);
    free(there);
  }
  assert_true(hlo_dtype_convert_is_lossless(HLO_DTYPE_S32, HLO_DTYPE_F64));
  assert_false(hlo_dtype_convert_is_lossless(HLO_DTYPE_S32, HLO_DTYPE_F32));
  assert_true(hlo_dtype_convert_is_lossless(HLO_DTYPE_F32, HLO_DTYPE_C64));
  assert_false(hlo_dtype_convert_is_lossless(HLO_DTYPE_F64, HLO_DTYPE_C64));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_floats_equal_ml_dtypes),
      cmocka_unit_test(test_double_rounds_once),
      cmocka_unit_test(test_scalar_helpers),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_element_and_array_paths_agree),
      cmocka_unit_test(test_complex),
      cmocka_unit_test(test_packing),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_lossless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
