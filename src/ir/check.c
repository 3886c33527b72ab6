// SPDX-License-Identifier: Apache-2.0
// Checks (see check.h).
#include "ir/check.h"

#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "ir/custom_call.h"

// ---- what a node checks

enum { CHECK_CLOSE_ULP = 3 };
static const double check_tolerance = 1e-4, check_call_tolerance = 1e-3;

static uint64_t ulp_of(const hlo_node_t* node, hlo_attr_id_t id, const char* key,
                       uint64_t fallback) {
  if (node->op != HLO_OP_custom_call) {
    return (uint64_t)hlo_node_attr_int(node, id, (int64_t)fallback);
  }
  const hlo_attr_t* value = hlo_attr_dict_get(node->extra, key);
  if (!value) value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  return value && value->kind == HLO_ATTR_KIND_INT ? (uint64_t)value->i : fallback;
}

static void set_almost(const hlo_node_t* node, double tolerance, hlo_check_t* check) {
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_tolerance);
  check->kind = HLO_CHECK_ALMOST;
  check->tolerance = tolerance;
  if (attr) check->tolerance = attr->kind == HLO_ATTR_KIND_FLOAT ? attr->f : (double)attr->i;
}

static void set_close(const hlo_node_t* node, hlo_check_t* check) {
  check->kind = HLO_CHECK_CLOSE;
  check->min_ulp = ulp_of(node, HLO_ATTR_min_ulp_difference, "min_ulp_difference", 0);
  check->max_ulp = ulp_of(node, HLO_ATTR_max_ulp_difference, "max_ulp_difference", CHECK_CLOSE_ULP);
}

static bool check_call_of(const hlo_node_t* node, hlo_check_t* check) {
  switch (hlo_custom_function_of(node)) {
    case HLO_CUSTOM_check_expect_eq: return true;
    case HLO_CUSTOM_check_eq: set_almost(node, check_tolerance, check); return true;
    case HLO_CUSTOM_check_expect_almost_eq:
      set_almost(node, check_call_tolerance, check);
      return true;
    case HLO_CUSTOM_check_expect_close: set_close(node, check); return true;
    default: return false;
  }
}

bool hlo_check_of(const hlo_node_t* node, hlo_check_t* out_check) {
  *out_check = (hlo_check_t){.kind = HLO_CHECK_EQUAL};
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  if (value && value->kind == HLO_ATTR_KIND_LITERAL) out_check->expected = value->literal;
  switch (node->op) {
    case HLO_OP_check_expect_eq:
    case HLO_OP_check_expect_eq_const: return true;
    case HLO_OP_check_expect_almost_eq:
    case HLO_OP_check_expect_almost_eq_const:
      set_almost(node, check_tolerance, out_check);
      return true;
    case HLO_OP_check_expect_close: set_close(node, out_check); return true;
    case HLO_OP_custom_call: return check_call_of(node, out_check);
    default: return false;
  }
}

hlo_status_t hlo_check_shape_error(const hlo_node_t* node, uint32_t count, const int64_t* values) {
  const hlo_attr_t* message = hlo_attr_dict_get(node->extra, "error_message");
  const char* format = message && message->text ? message->text : "shape assertion failed";
  HLO_SCOPED_STRBUF text = {0};
  for (const char* c = format; *c; ++c) {
    const uint32_t index =
        c[0] == '{' && c[1] >= '0' && c[1] <= '9' && c[2] == '}' ? (uint32_t)(c[1] - '0') : count;
    if (index < count) {
      hlo_strbuf_printf(&text, "%lld", (long long)values[index]);
      c += 2;
    } else {
      hlo_strbuf_putc(&text, *c);
    }
  }
  return hlo_invalid_argument("%s", hlo_strbuf_text(&text));
}

// ---- comparisons

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

static void append_index(hlo_strbuf_t* out, uint32_t rank, const int64_t* dims, int64_t flat) {
  int64_t index[HLO_RANK_MAX];
  for (uint32_t d = rank; d-- > 0;) {
    index[d] = flat % dims[d];
    flat /= dims[d];
  }
  hlo_strbuf_putc(out, '[');
  for (uint32_t d = 0; d < rank; ++d) {
    hlo_strbuf_printf(out, d ? ", %lld" : "%lld", (long long)index[d]);
  }
  hlo_strbuf_putc(out, ']');
}

hlo_status_t hlo_check_elements(const hlo_check_t* check, hlo_dtype_t dtype, uint32_t rank,
                                const int64_t* dims, const void* actual, const void* expected) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  const size_t step = !expected && check->expected->is_splat ? 0 : width;
  const uint8_t *a = actual, *b = expected ? expected : check->expected->data;
  int64_t element_count = 1, count = 0, first = 0;
  for (uint32_t d = 0; d < rank; ++d) element_count *= dims[d];
  for (int64_t i = 0; i < element_count; ++i) {
    if (elements_agree(check, dtype, a + (size_t)i * width, b + (size_t)i * step)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return hlo_ok();
  a += (size_t)first * width;
  b += (size_t)first * step;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text, "element ");
  append_index(&text, rank, dims, first);
  hlo_strbuf_puts(&text, " is ");
  append_number(&text, dtype, a);
  hlo_strbuf_puts(&text, ", expected ");
  append_number(&text, dtype, b);
  if (check->kind == HLO_CHECK_CLOSE && hlo_dtype_is_float(dtype)) {
    hlo_strbuf_printf(&text, ", %llu ulp apart",
                      (unsigned long long)hlo_check_ulp_distance(dtype, a, b));
  }
  return hlo_invalid_argument("%s (%lld of %lld elements differ)", hlo_strbuf_text(&text),
                              (long long)count, (long long)element_count);
}
