// SPDX-License-Identifier: Apache-2.0
// Shapes and layouts (see shape.h). The copies are in copy.c.
#include "base/shape.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

static hlo_status_t too_large(const char* what) {
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%s: the size does not fit 2^63 bytes",
                           what);
}

hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) {
  if (rank > HLO_SHAPE_RANK_LIMIT) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a shape of %zu dimensions, at most %d",
                             rank, HLO_SHAPE_RANK_LIMIT);
  }
  size_t count = 1, size;
  bool empty = false, fits = true;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "dimension %zu is %" PRId64, i,
                               dims[i]);
    }
    empty |= dims[i] == 0;
    fits = fits && hlo_size_mul(count, (size_t)dims[i], &count);
  }
  if (empty) count = 0;  // also where the other dimensions would overflow
  fits = (empty || fits) && hlo_size_mul(count, hlo_dtype_size_bytes(dtype), &size) &&
         size <= INT64_MAX;
  if (!fits) return too_large("a shape");
  *out_element_count = count;
  *out_size_bytes = size;
  return hlo_ok();
}

hlo_status_t hlo_shape_init(hlo_shape_t* shape, hlo_dtype_t dtype, const int64_t* dims,
                            size_t rank) {
  HLO_TRY(hlo_shape_measure(dtype, dims, rank, &shape->element_count, &shape->size_bytes));
  shape->dtype = dtype;
  shape->rank = (uint32_t)rank;
  if (rank) memcpy(shape->dims, dims, rank * sizeof *dims);
  return hlo_ok();
}

// ---- layouts -----------------------------------------------------------------------------------

void hlo_layout_init_row_major(hlo_layout_t* layout, size_t rank) {
  memset(layout, 0, sizeof *layout);
  layout->rank = (uint32_t)rank;
  for (size_t i = 0; i < rank; ++i) layout->minor_to_major[i] = (uint8_t)(rank - 1 - i);
}

bool hlo_layout_equal(const hlo_layout_t* a, const hlo_layout_t* b) {
  if (a->rank != b->rank || a->tile_count != b->tile_count || a->element_bits != b->element_bits ||
      memcmp(a->minor_to_major, b->minor_to_major, a->rank) != 0) {
    return false;
  }
  for (uint32_t t = 0; t < a->tile_count; ++t) {
    const hlo_tile_t *x = &a->tiles[t], *y = &b->tiles[t];
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof x->dims[0]) != 0) {
      return false;
    }
  }
  return true;
}

bool hlo_layout_is_row_major(const hlo_layout_t* layout) {
  if (layout->tile_count || layout->element_bits) return false;
  for (uint32_t i = 0; i < layout->rank; ++i) {
    if (layout->minor_to_major[i] != layout->rank - 1 - i) return false;
  }
  return true;
}

static unsigned element_bits(const hlo_layout_t* layout, hlo_dtype_t dtype) {
  return layout->element_bits ? layout->element_bits : 8u * (unsigned)hlo_dtype_size_bytes(dtype);
}

hlo_status_t hlo_layout_verify(const hlo_layout_t* layout, const hlo_shape_t* shape) {
  if (layout->rank != shape->rank) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "a layout of %u dimensions for a shape of %u", layout->rank,
                             shape->rank);
  }
  uint64_t seen = 0;
  for (uint32_t i = 0; i < layout->rank; ++i) {
    unsigned dim = layout->minor_to_major[i];
    if (dim >= layout->rank || (seen >> dim & 1)) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "minor_to_major is no permutation: %u at position %u", dim, i);
    }
    seen |= 1ull << dim;
  }
  unsigned bits = layout->element_bits, natural = 8u * (unsigned)hlo_dtype_size_bytes(shape->dtype);
  if (bits && bits != natural && bits != hlo_dtype_packed_bits(shape->dtype)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%u bits an element for type %s", bits,
                             hlo_dtype_info(shape->dtype)->hlo_name);
  }
  if (layout->tile_count > HLO_LAYOUT_TILE_LIMIT) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a layout of %u tiles, at most %d",
                             layout->tile_count, HLO_LAYOUT_TILE_LIMIT);
  }
  size_t rank = shape->rank;  // of the tiled array so far
  for (uint32_t t = 0; t < layout->tile_count; ++t) {
    const hlo_tile_t* tile = &layout->tiles[t];
    bool bad = tile->rank > HLO_LAYOUT_TILE_RANK_LIMIT || tile->rank > rank;
    for (uint32_t i = 0; !bad && i < tile->rank; ++i) bad = tile->dims[i] <= 0;
    if (bad) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "tile %u does not fit the shape", t);
    }
    rank += tile->rank;
  }
  return hlo_ok();
}

enum {
  TILED_RANK_LIMIT = HLO_SHAPE_RANK_LIMIT + HLO_LAYOUT_TILE_LIMIT * HLO_LAYOUT_TILE_RANK_LIMIT
};

// The dimensions, major to minor, of the array that tiling makes of a shape: each tile replaces the
// `rank` most minor dimensions by as many counts of tiles and as many sizes of one tile. With
// `index`, the position of an element goes along.
// source: XLA, "Tiled layout"
static size_t tile_dims(const hlo_layout_t* layout, const hlo_shape_t* shape, const int64_t* index,
                        int64_t* dims, int64_t* position) {
  size_t rank = shape->rank;
  for (size_t i = 0; i < rank; ++i) {
    uint8_t dim = layout->minor_to_major[rank - 1 - i];
    dims[i] = shape->dims[dim];
    position[i] = index ? index[dim] : 0;
  }
  for (uint32_t t = 0; t < layout->tile_count; ++t) {
    const hlo_tile_t* tile = &layout->tiles[t];
    size_t first = rank - tile->rank;
    for (size_t i = 0; i < tile->rank; ++i) {
      int64_t block = tile->dims[i], extent = dims[first + i], at = position[first + i];
      dims[rank + i] = block;
      position[rank + i] = at % block;
      dims[first + i] = extent / block + (extent % block != 0);
      position[first + i] = at / block;
    }
    rank += tile->rank;
  }
  return rank;
}

hlo_status_t hlo_layout_size_bytes(const hlo_layout_t* layout, const hlo_shape_t* shape,
                                   size_t* out_size_bytes) {
  int64_t dims[TILED_RANK_LIMIT], position[TILED_RANK_LIMIT];
  size_t rank = tile_dims(layout, shape, NULL, dims, position);
  size_t count = 1;
  bool fits = true;
  for (size_t i = 0; i < rank; ++i) fits = fits && hlo_size_mul(count, (size_t)dims[i], &count);
  if (shape->element_count == 0) {
    *out_size_bytes = 0;
    return hlo_ok();
  }
  unsigned bits = element_bits(layout, shape->dtype);
  size_t size = 0;
  if (bits < 8) {
    size = count / (8 / bits) + (count % (8 / bits) != 0);
  } else {
    fits = fits && hlo_size_mul(count, bits / 8, &size);
  }
  if (!fits || size > INT64_MAX) return too_large("a tiled layout");
  *out_size_bytes = size;
  return hlo_ok();
}

bool hlo_layout_byte_strides(const hlo_layout_t* layout, const hlo_shape_t* shape,
                             int64_t* out_strides) {
  unsigned bits = element_bits(layout, shape->dtype);
  if (layout->tile_count || bits < 8) return false;
  int64_t stride = bits / 8;
  for (uint32_t i = 0; i < layout->rank; ++i) {
    uint8_t dim = layout->minor_to_major[i];
    out_strides[dim] = stride;
    if (shape->element_count) stride *= shape->dims[dim];  // bounded by size_bytes
  }
  return true;
}

bool hlo_layout_from_byte_strides(const hlo_shape_t* shape, const int64_t* strides,
                                  hlo_layout_t* out_layout) {
  hlo_layout_t layout;
  hlo_layout_init_row_major(&layout, shape->rank);
  // Order by stride, rows first where they are equal (dimensions of size 1): insertion sort,
  // stable.
  for (uint32_t i = 1; i < shape->rank; ++i) {
    uint8_t dim = layout.minor_to_major[i];
    uint32_t k = i;
    for (; k > 0 && strides[layout.minor_to_major[k - 1]] > strides[dim]; --k) {
      layout.minor_to_major[k] = layout.minor_to_major[k - 1];
    }
    layout.minor_to_major[k] = dim;
  }
  int64_t expected = (int64_t)hlo_dtype_size_bytes(shape->dtype);
  for (uint32_t i = 0; i < shape->rank && shape->element_count; ++i) {
    uint8_t dim = layout.minor_to_major[i];
    if (shape->dims[dim] == 1) continue;
    if (strides[dim] != expected) return false;
    expected *= shape->dims[dim];
  }
  *out_layout = layout;
  return true;
}

uint64_t hlo_layout_element_offset(const hlo_layout_t* layout, const hlo_shape_t* shape,
                                   const int64_t* index) {
  int64_t dims[TILED_RANK_LIMIT], position[TILED_RANK_LIMIT];
  size_t rank = tile_dims(layout, shape, index, dims, position);
  uint64_t offset = 0;
  for (size_t i = 0; i < rank; ++i) offset = offset * (uint64_t)dims[i] + (uint64_t)position[i];
  return offset;
}

// ---- text --------------------------------------------------------------------------------------

void hlo_layout_print(const hlo_layout_t* layout, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '{');
  for (uint32_t i = 0; i < layout->rank; ++i) {
    hlo_strbuf_printf(out, "%s%u", i ? "," : "", layout->minor_to_major[i]);
  }
  if (layout->tile_count || layout->element_bits) hlo_strbuf_putc(out, ':');
  if (layout->tile_count) hlo_strbuf_putc(out, 'T');
  for (uint32_t t = 0; t < layout->tile_count; ++t) {
    const hlo_tile_t* tile = &layout->tiles[t];
    hlo_strbuf_putc(out, '(');
    for (uint32_t i = 0; i < tile->rank; ++i) {
      hlo_strbuf_printf(out, "%s%" PRId64, i ? "," : "", tile->dims[i]);
    }
    hlo_strbuf_putc(out, ')');
  }
  if (layout->element_bits) hlo_strbuf_printf(out, "E(%u)", layout->element_bits);
  hlo_strbuf_putc(out, '}');
}

typedef struct scanner {
  const char* text;
  size_t length;
  size_t at;
} scanner_t;

static bool accept(scanner_t* s, char c) {
  if (s->at >= s->length || s->text[s->at] != c) return false;
  ++s->at;
  return true;
}

static bool number(scanner_t* s, int64_t limit, int64_t* out_value) {
  size_t start = s->at;
  int64_t value = 0;
  for (; s->at < s->length && s->text[s->at] >= '0' && s->text[s->at] <= '9'; ++s->at) {
    value = value * 10 + (s->text[s->at] - '0');
    if (value > limit) return false;
  }
  *out_value = value;
  return s->at > start;
}

static bool parse_tiles(scanner_t* s, hlo_layout_t* layout) {
  while (accept(s, '(')) {
    if (layout->tile_count == HLO_LAYOUT_TILE_LIMIT) return false;
    hlo_tile_t* tile = &layout->tiles[layout->tile_count++];
    do {
      if (tile->rank == HLO_LAYOUT_TILE_RANK_LIMIT) return false;
      if (!number(s, INT32_MAX, &tile->dims[tile->rank++])) return false;
    } while (accept(s, ','));
    if (!accept(s, ')')) return false;
  }
  return layout->tile_count > 0;
}

static bool parse_layout(scanner_t* s, hlo_layout_t* layout) {
  int64_t value;
  if (!accept(s, '{')) return false;
  if (s->at < s->length && s->text[s->at] != '}' && s->text[s->at] != ':') {
    do {
      if (layout->rank == HLO_SHAPE_RANK_LIMIT) return false;
      if (!number(s, HLO_SHAPE_RANK_LIMIT - 1, &value)) return false;
      layout->minor_to_major[layout->rank++] = (uint8_t)value;
    } while (accept(s, ','));
  }
  if (accept(s, ':')) {
    bool tiles = accept(s, 'T');
    if (tiles && !parse_tiles(s, layout)) return false;
    if (accept(s, 'E')) {
      if (!accept(s, '(') || !number(s, 128, &value) || !accept(s, ')')) return false;
      layout->element_bits = (uint32_t)value;
    } else if (!tiles) {
      return false;
    }
  }
  return accept(s, '}') && s->at == s->length;
}

hlo_status_t hlo_layout_parse(const char* text, size_t length, hlo_layout_t* out_layout) {
  scanner_t scanner = {.text = text, .length = length};
  hlo_layout_t layout = {0};
  if (!parse_layout(&scanner, &layout)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "layout \"%.*s\": cannot be read at column %zu (form: "
                             "{1,0:T(8,128)E(4)})",
                             (int)(length > 100 ? 100 : length), text, scanner.at + 1);
  }
  *out_layout = layout;
  return hlo_ok();
}
