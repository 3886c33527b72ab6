// SPDX-License-Identifier: Apache-2.0
// Sizes of shapes, and layouts (see shape.h).
#include "base/shape.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) {
  if (rank > HLO_SHAPE_RANK_LIMIT) {
    return hlo_invalid_argument("a shape has %zu dimensions, expected at most %d", rank,
                                HLO_SHAPE_RANK_LIMIT);
  }
  size_t count = 1, size;
  bool empty = false, fits = true;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return hlo_invalid_argument("dimension %zu is %" PRId64 ", expected 0 or more", i, dims[i]);
    }
    empty |= dims[i] == 0;
    fits = fits && hlo_size_mul(count, (size_t)dims[i], &count);
  }
  if (empty) count = 0;  // even if the other dimensions would overflow
  fits = (empty || fits) && hlo_size_mul(count, hlo_dtype_size_bytes(dtype), &size) &&
         size <= INT64_MAX;
  if (!fits) return hlo_invalid_argument("a shape has 2^63 bytes or more");
  *out_element_count = count;
  *out_size_bytes = size;
  return hlo_ok();
}

// ---- layouts

// Returns the dimension at a position of the order, counted from the minor end.
static size_t dim_at(size_t rank, const int64_t* order, size_t position) {
  return order ? (size_t)order[position] : rank - 1 - position;
}

void hlo_dim_order_row_major(size_t rank, int64_t* out_minor_to_major) {
  for (size_t i = 0; i < rank; ++i) out_minor_to_major[i] = (int64_t)(rank - 1 - i);
}

bool hlo_dim_order_is_valid(size_t rank, const int64_t* minor_to_major) {
  if (rank > HLO_SHAPE_RANK_LIMIT) return false;
  if (!minor_to_major) return true;
  uint64_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = minor_to_major[i];
    if (dim < 0 || (uint64_t)dim >= rank || (seen >> dim & 1)) return false;
    seen |= UINT64_C(1) << dim;
  }
  return true;
}

bool hlo_dim_order_is_row_major(size_t rank, const int64_t* minor_to_major) {
  for (size_t i = 0; minor_to_major && i < rank; ++i) {
    if (minor_to_major[i] != (int64_t)(rank - 1 - i)) return false;
  }
  return true;
}

bool hlo_dim_order_is_same(size_t rank, const int64_t* dims, const int64_t* a, const int64_t* b) {
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) return true;
  }
  for (size_t i = 0, k = 0;; ++i, ++k) {
    while (i < rank && dims[dim_at(rank, a, i)] == 1) ++i;
    while (k < rank && dims[dim_at(rank, b, k)] == 1) ++k;
    if (i == rank || k == rank) return i == k;
    if (dim_at(rank, a, i) != dim_at(rank, b, k)) return false;
  }
}

void hlo_dim_order_strides(size_t element_bytes, size_t rank, const int64_t* dims,
                           const int64_t* minor_to_major, int64_t* out_strides) {
  bool is_empty = false;
  for (size_t i = 0; i < rank; ++i) is_empty |= dims[i] == 0;
  int64_t stride = (int64_t)element_bytes;
  for (size_t i = 0; i < rank; ++i) {
    const size_t dim = dim_at(rank, minor_to_major, i);
    out_strides[dim] = stride;
    if (!is_empty) stride *= dims[dim];  // the other dimensions may overflow
  }
}

void hlo_dim_order_print(size_t rank, const int64_t* minor_to_major, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '{');
  for (size_t i = 0; i < rank; ++i) {
    hlo_strbuf_printf(out, i ? ",%lld" : "%lld", (long long)dim_at(rank, minor_to_major, i));
  }
  hlo_strbuf_putc(out, '}');
}

void hlo_dim_order_print_tile(size_t rank, const int64_t* dims, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '(');
  for (size_t d = 0; d < rank; ++d) {
    hlo_strbuf_printf(out, d ? ",%lld" : "%lld", (long long)dims[d]);
  }
  hlo_strbuf_putc(out, ')');
}

// ---- refusals

static hlo_status_t refuse_properties(const char* text) {
  return hlo_unimplemented(
      "layout %s is not supported: layouts are orders of dimensions without tiles", text);
}

hlo_status_t hlo_dim_order_refuse_tiles(size_t rank, const int64_t* minor_to_major,
                                        size_t tile_count, const size_t* tile_ranks,
                                        const int64_t* tile_dims) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_dim_order_print(rank, minor_to_major, &text);
  if (text.length) --text.length;  // continues before the brace
  hlo_strbuf_puts(&text, ":T");
  for (size_t i = 0; i < tile_count; tile_dims += tile_ranks[i++]) {
    hlo_dim_order_print_tile(tile_ranks[i], tile_dims, &text);
  }
  hlo_strbuf_putc(&text, '}');
  return refuse_properties(hlo_strbuf_text(&text));
}

// ---- reading

static bool read_number(const char** at, int64_t* out_number) {
  if (**at < '0' || **at > '9') return false;
  int64_t number = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    if (number < INT32_MAX) number = number * 10 + (**at - '0');
  }
  *out_number = number;
  return true;
}

// Reads "{1,0" and stops after it.
static bool read_dims(const char** at, size_t rank, int64_t* out_minor_to_major) {
  if (*(*at)++ != '{') return false;
  for (size_t i = 0; i < rank; ++i) {
    if (i && *(*at)++ != ',') return false;
    if (!read_number(at, &out_minor_to_major[i])) return false;
  }
  return true;
}

static bool skip_element_size(const char** at) {
  int64_t bits;
  if ((*at)[0] != 'E' || (*at)[1] != '(') return false;
  *at += 2;
  return read_number(at, &bits) && *(*at)++ == ')';
}

// Reads the properties between the dimensions and the end of the text: "}" or ":E(4)}".
static hlo_status_t check_properties(const char* at, const char* text) {
  if (strcmp(at, "}") == 0) return hlo_ok();
  const char* rest = at + 1;
  if (*at == ':' && skip_element_size(&rest) && strcmp(rest, "}") == 0) return hlo_ok();
  if (*at == ':' && at[strlen(at) - 1] == '}') {
    return refuse_properties(text);
  }
  return hlo_invalid_argument("layout %s is malformed", text);
}

hlo_status_t hlo_dim_order_parse(const char* text, size_t rank, int64_t* out_minor_to_major) {
  int64_t order[HLO_SHAPE_RANK_LIMIT];
  const char* at = text;
  if (rank > HLO_SHAPE_RANK_LIMIT || !read_dims(&at, rank, order) || (*at != ':' && *at != '}') ||
      !hlo_dim_order_is_valid(rank, order)) {
    return hlo_invalid_argument("layout %s is no order of %zu dimensions", text, rank);
  }
  HLO_TRY(check_properties(at, text));
  if (rank) memcpy(out_minor_to_major, order, rank * sizeof *order);
  return hlo_ok();
}
