// SPDX-License-Identifier: Apache-2.0
// Comparisons of tensors (see check.h).
#include "interp/check.h"

#include <math.h>
#include <string.h>

uint64_t hlo_check_ulp_distance(hlo_dtype_t dtype, const void* a, const void* b) {
  size_t width = hlo_dtype_size_bytes(dtype);
  uint64_t x = 0, y = 0;
  memcpy(&x, a, width);
  memcpy(&y, b, width);
  if (x == y) return 0;
  double fx = hlo_dtype_load_double(dtype, a), fy = hlo_dtype_load_double(dtype, b);
  if (isnan(fx) && isnan(fy)) return 0;
  if (!isfinite(fx) || !isfinite(fy)) return UINT64_MAX;
  // For finite values the bits below the sign are the distance from zero.
  uint64_t sign = (uint64_t)1 << (hlo_dtype_info(dtype)->bits - 1);
  if (hlo_dtype_info(dtype)->specials == HLO_FLOAT_E8M0) sign = 0;
  uint64_t mx = x & ~sign, my = y & ~sign;
  if (sign && ((x ^ y) & sign)) return mx + my;
  return mx > my ? mx - my : my - mx;
}

static bool is_almost(double a, double b, double tolerance) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance;
}

// One real element, or one part of a complex one.
static bool parts_agree(const hlo_check_t* check, hlo_dtype_t dtype, const void* a, const void* b) {
  if (!hlo_dtype_is_float(dtype)) {
    return hlo_dtype_load_int64(dtype, a) == hlo_dtype_load_int64(dtype, b);
  }
  if (check->kind == HLO_CHECK_CLOSE) {
    uint64_t distance = hlo_check_ulp_distance(dtype, a, b);
    return distance >= check->min_ulp && distance <= check->max_ulp;
  }
  double x = hlo_dtype_load_double(dtype, a), y = hlo_dtype_load_double(dtype, b);
  return check->kind == HLO_CHECK_EQUAL ? x == y : is_almost(x, y, check->tolerance);
}

static bool elements_agree(const hlo_check_t* check, hlo_dtype_t dtype, const uint8_t* a,
                           const uint8_t* b) {
  if (!hlo_dtype_is_complex(dtype)) return parts_agree(check, dtype, a, b);
  hlo_dtype_t part = hlo_dtype_info(dtype)->part;
  size_t width = hlo_dtype_size_bytes(part);
  bool real = parts_agree(check, part, a, b);
  bool imaginary = parts_agree(check, part, a + width, b + width);
  // The worse part decides for a maximum distance; for a minimum distance one part that is far
  // enough suffices.
  return check->kind == HLO_CHECK_CLOSE && check->min_ulp ? real || imaginary : real && imaginary;
}

static void append_number(hlo_strbuf_t* out, hlo_dtype_t dtype, const uint8_t* element) {
  if (hlo_dtype_is_complex(dtype)) {
    hlo_dtype_t part = hlo_dtype_info(dtype)->part;
    hlo_strbuf_printf(out, "(%.17g, %.17g)", hlo_dtype_load_double(part, element),
                      hlo_dtype_load_double(part, element + hlo_dtype_size_bytes(part)));
  } else if (hlo_dtype_is_float(dtype)) {
    hlo_strbuf_printf(out, "%.17g", hlo_dtype_load_double(dtype, element));
  } else if (dtype == HLO_DTYPE_U64) {
    hlo_strbuf_printf(out, "%llu", (unsigned long long)hlo_dtype_load_int64(dtype, element));
  } else {
    hlo_strbuf_printf(out, "%lld", (long long)hlo_dtype_load_int64(dtype, element));
  }
}

static void append_index(hlo_strbuf_t* out, const hlo_tensor_t* tensor, int64_t flat) {
  int64_t index[HLO_RANK_MAX];
  for (uint32_t d = tensor->rank; d-- > 0;) {
    index[d] = flat % tensor->dims[d];
    flat /= tensor->dims[d];
  }
  hlo_strbuf_putc(out, '[');
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    hlo_strbuf_printf(out, d ? ", %lld" : "%lld", (long long)index[d]);
  }
  hlo_strbuf_putc(out, ']');
}

static hlo_status_t difference(const hlo_node_t* node, const hlo_check_t* check,
                               const hlo_tensor_t* actual, const hlo_tensor_t* expected,
                               int64_t first, int64_t count) {
  size_t width = hlo_dtype_size_bytes(actual->dtype);
  const uint8_t* a = (const uint8_t*)actual->data + (size_t)first * width;
  const uint8_t* b = (const uint8_t*)expected->data + (size_t)first * width;
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "element ");
  append_index(&text, actual, first);
  hlo_strbuf_puts(&text, " is ");
  append_number(&text, actual->dtype, a);
  hlo_strbuf_puts(&text, ", expected ");
  append_number(&text, actual->dtype, b);
  if (check->kind == HLO_CHECK_CLOSE && hlo_dtype_is_float(actual->dtype)) {
    hlo_strbuf_printf(&text, ", %llu ulp apart",
                      (unsigned long long)hlo_check_ulp_distance(actual->dtype, a, b));
  }
  hlo_status_t status =
      hlo_node_invalid(node, "%s (%lld of %lld elements differ)", hlo_strbuf_text(&text),
                       (long long)count, (long long)actual->element_count);
  hlo_strbuf_deinit(&text);
  return status;
}

hlo_status_t hlo_check_tensors(const hlo_node_t* node, const hlo_check_t* check,
                               const hlo_tensor_t* actual, const hlo_tensor_t* expected) {
  if (actual->kind != HLO_TYPE_TENSOR || expected->kind != HLO_TYPE_TENSOR ||
      actual->dtype != expected->dtype || actual->rank != expected->rank ||
      memcmp(actual->dims, expected->dims, actual->rank * sizeof(*actual->dims)) != 0) {
    return hlo_node_invalid(node, "the compared values differ in type or shape");
  }
  size_t width = hlo_dtype_size_bytes(actual->dtype);
  const uint8_t *a = actual->data, *b = expected->data;
  int64_t count = 0, first = 0;
  for (int64_t i = 0; i < actual->element_count; ++i) {
    size_t at = (size_t)i * width;
    if (elements_agree(check, actual->dtype, a + at, b + at)) continue;
    if (count++ == 0) first = i;
  }
  return count ? difference(node, check, actual, expected, first, count) : hlo_ok();
}
