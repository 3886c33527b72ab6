// SPDX-License-Identifier: Apache-2.0
// Literals from dense element bytes of bytecode. MLIR stores elements in whole bytes,
// little-endian, but booleans as bits (some producers: as bytes); a splat is stored as one element.
#include <string.h>

#include "frontend/bytecode/reader.h"

enum {
  LITERAL_OVERHEAD_BYTES = 192,  // of a literal object, for the memory bound
  LEND_MIN_BYTES = 512,          // smaller data is copied rather than keeping the file alive
};

static hlo_status_t take_budget(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place,
                                size_t bytes) {
  if (bytes > SIZE_MAX - LITERAL_OVERHEAD_BYTES ||
      bytes + LITERAL_OVERHEAD_BYTES > reader->literal_budget) {
    return hlo_resource_exhausted(
        "byte %zu (%s): the constants need more memory than a file of this size is allowed to use",
        (size_t)(place->pos - place->file), place->where);
  }
  reader->literal_budget -= bytes + LITERAL_OVERHEAD_BYTES;
  return hlo_ok();
}

static void unpack_bits(const uint8_t* bits, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = (bits[i / 8] >> (i % 8)) & 1;
}

static hlo_status_t make_bools(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                               const hlo_type_t* type, int64_t count, hlo_literal_t** out) {
  size_t size = hlo_bc_left(data), packed = ((size_t)count + 7) / 8;
  bool is_packed = size == packed && size != (size_t)count;
  bool is_splat = count > 1 && size == 1 && (data->pos[0] == 0xff || !is_packed);
  if (!is_packed && !is_splat && size != (size_t)count) {
    return hlo_bc_error(data, "%zu bytes of data for %lld booleans", size, (long long)count);
  }
  HLO_TRY(take_budget(reader, data, is_splat ? 1 : (size_t)count));
  HLO_TRY(hlo_literal_create(HLO_DTYPE_PRED, type->rank, type->dims, is_splat, out));
  uint8_t* to = hlo_literal_mutable_data(*out);
  if (is_splat) {
    to[0] = data->pos[0] != 0;
  } else if (is_packed) {
    unpack_bits(data->pos, (size_t)count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = data->pos[i] != 0;
  }
  return hlo_ok();
}

static bool can_lend(const hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                     hlo_dtype_t dtype) {
  size_t alignment = hlo_dtype_size_bytes(hlo_dtype_info(dtype)->part);
  return reader->keeper && hlo_dtype_info(dtype)->bits >= 8 &&
         hlo_bc_left(data) >= LEND_MIN_BYTES && (uintptr_t)data->pos % alignment == 0;
}

static hlo_status_t make_numbers(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                                 const hlo_type_t* type, int64_t count, hlo_literal_t** out) {
  size_t size = hlo_bc_left(data), width = hlo_dtype_size_bytes(type->dtype);
  bool is_splat = count > 1 && size == width;
  if (width == 0) return hlo_bc_error(data, "constant data of a type without elements");
  if (!is_splat && (size % width != 0 || size / width != (size_t)count) &&
      !(count == 0 && size == width)) {
    return hlo_bc_error(data, "%zu bytes of data for %lld elements of %zu bytes", size,
                        (long long)count, width);
  }
  if (can_lend(reader, data, type->dtype)) {
    HLO_TRY(take_budget(reader, data, 0));
    return hlo_literal_create_lent(type->dtype, type->rank, type->dims, is_splat, data->pos,
                                   reader->keeper, out);
  }
  size_t stored = is_splat ? 1 : (size_t)count;
  HLO_TRY(take_budget(reader, data, stored * width));
  HLO_TRY(hlo_literal_create(type->dtype, type->rank, type->dims, is_splat, out));
  if (stored == 0) return hlo_ok();
  memcpy(hlo_literal_mutable_data(*out), data->pos, stored * width);
  hlo_dtype_normalise(type->dtype, hlo_literal_mutable_data(*out), stored);
  return hlo_ok();
}

hlo_status_t hlo_bc_make_literal(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                                 const hlo_type_t* type, const hlo_attr_t** out) {
  if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) {
    return hlo_bc_error(data, "constant data needs a tensor type of static shape");
  }
  int64_t count = hlo_type_element_count(type);
  hlo_literal_t* literal = NULL;
  HLO_TRY(type->dtype == HLO_DTYPE_PRED ? make_bools(reader, data, type, count, &literal)
                                        : make_numbers(reader, data, type, count, &literal));
  *out = hlo_attr_literal(reader->module, type, literal);
  hlo_literal_release(literal);
  return hlo_module_status(reader->module);
}
