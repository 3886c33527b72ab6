// SPDX-License-Identifier: Apache-2.0
// Quantized element types, which VHLO and the quant dialect encode alike, and the quant dialect.
#include "frontend/bytecode/reader.h"

enum quant_type_code { TYPE_UNIFORM = 4, TYPE_UNIFORM_PER_AXIS = 5 };

static hlo_status_t read_element(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                 const hlo_bc_type_t** out) {
  HLO_TRY(hlo_bc_read_type(reader, c, out));
  if ((*out)->kind != HLO_BC_TYPE_ELEMENT) return hlo_bc_error(c, "expected an element type");
  return hlo_ok();
}

static hlo_dtype_t unsigned_of(hlo_dtype_t dtype) {
  switch (dtype) {
    case HLO_DTYPE_S2: return HLO_DTYPE_U2;
    case HLO_DTYPE_S4: return HLO_DTYPE_U4;
    case HLO_DTYPE_S8: return HLO_DTYPE_U8;
    case HLO_DTYPE_S16: return HLO_DTYPE_U16;
    case HLO_DTYPE_S32: return HLO_DTYPE_U32;
    default: return dtype;
  }
}

hlo_status_t hlo_bc_read_quantized_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool per_axis,
                                        hlo_bc_type_t* out) {
  const hlo_bc_type_t *storage, *expressed;
  uint64_t flags, axis = 0;
  uint32_t scale_count = 1, point_count = 1;
  hlo_quant_t* quant;
  double* scales;
  int64_t* points;
  HLO_TRY(hlo_bc_scratch(reader, 1, sizeof *quant, &quant));
  HLO_TRY(hlo_bc_varint(c, &flags));
  HLO_TRY(read_element(reader, c, &storage));
  HLO_TRY(read_element(reader, c, &expressed));
  if (per_axis) {  // axis, range, scales, zero points
    HLO_TRY(hlo_bc_varint(c, &axis));
    HLO_TRY(hlo_bc_svarint(c, &quant->storage_min));
    HLO_TRY(hlo_bc_svarint(c, &quant->storage_max));
    HLO_TRY(hlo_bc_count(c, 1, &scale_count));
  }
  HLO_TRY(hlo_bc_scratch(reader, scale_count, sizeof *scales, &scales));
  for (uint32_t i = 0; i < scale_count; ++i) {
    HLO_TRY(hlo_bc_read_float(reader, c, HLO_DTYPE_F64, &scales[i]));
  }
  if (per_axis) HLO_TRY(hlo_bc_count(c, 1, &point_count));
  HLO_TRY(hlo_bc_scratch(reader, point_count, sizeof *points, &points));
  for (uint32_t i = 0; i < point_count; ++i) HLO_TRY(hlo_bc_svarint(c, &points[i]));
  if (!per_axis) {  // scale, zero point, range
    HLO_TRY(hlo_bc_svarint(c, &quant->storage_min));
    HLO_TRY(hlo_bc_svarint(c, &quant->storage_max));
  }
  if (scale_count != point_count || axis >= HLO_RANK_MAX) {
    return hlo_bc_error(c, "a quantized type with %u scales, %u zero points and axis %llu",
                        scale_count, point_count, (unsigned long long)axis);
  }
  // Bit 0 of the flags marks signed storage. The storage type itself is signless.
  quant->storage = flags & 1 ? storage->dtype : unsigned_of(storage->dtype);
  quant->expressed = expressed->dtype;
  quant->axis = per_axis ? (int32_t)axis : -1;
  quant->count = scale_count;
  quant->scales = scales;
  quant->zero_points = points;
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_ELEMENT, .dtype = quant->storage, .quant = quant};
  return hlo_ok();
}

static hlo_status_t read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_type_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  if (code != TYPE_UNIFORM && code != TYPE_UNIFORM_PER_AXIS) {
    return hlo_unimplemented("byte %zu (%s): quantized types with code %llu are not supported",
                             (size_t)(c->pos - c->file), c->where, (unsigned long long)code);
  }
  return hlo_bc_read_quantized_type(reader, c, code == TYPE_UNIFORM_PER_AXIS, out);
}

const hlo_bc_dialect_t hlo_bc_dialect_quant = {"quant", NULL, read_type};
