// SPDX-License-Identifier: Apache-2.0
// Literals of HLO protos: the field of each element type. The reader unpacks elements and converts
// them to row-major order; the writer packs them.
#include "frontend/hlo/build.h"

typedef struct field_place {
  uint32_t offset;  // of the member of hlo_desc_literal_t
  bool is_array;    // else bytes
} field_place_t;

#define ARRAY(dtype, member) [HLO_DTYPE_##dtype] = {offsetof(hlo_desc_literal_t, member), true}
#define BYTES(dtype, member) [HLO_DTYPE_##dtype] = {offsetof(hlo_desc_literal_t, member), false}
static const field_place_t places[HLO_DTYPE_COUNT] = {
    ARRAY(PRED, preds),
    ARRAY(S32, s32s),
    ARRAY(S64, s64s),
    ARRAY(U32, u32s),
    ARRAY(U64, u64s),
    ARRAY(F32, f32s),
    ARRAY(F64, f64s),
    ARRAY(C64, c64s),
    ARRAY(C128, c128s),
    BYTES(U8, u8s),
    BYTES(S8, s8s),
    BYTES(U16, u16s),
    BYTES(S16, s16s),
    BYTES(F16, f16s),
    BYTES(BF16, bf16s),
    BYTES(S4, s4s),
    BYTES(U4, u4s),
    BYTES(S2, s2s),
    BYTES(U2, u2s),
    BYTES(F8E5M2, f8e5m2s),
    BYTES(F8E4M3FN, f8e4m3fns),
    BYTES(F8E4M3B11FNUZ, f8e4m3b11fnuzs),
    BYTES(F8E5M2FNUZ, f8e5m2fnuzs),
    BYTES(F8E4M3FNUZ, f8e4m3fnuzs),
    BYTES(F8E4M3, f8e4m3s),
    BYTES(F8E3M4, f8e3m4s),
    BYTES(F4E2M1FN, f4e2m1fns),
    BYTES(F8E8M0FNU, f8e8m0fnus),
    BYTES(F6E3M2FN, f6e3m2fns),
    BYTES(F6E2M3FN, f6e2m3fns),
};

// Finds the elements in the order of the literal's layout; *out_packed means several elements per
// byte.
static hlo_status_t find_elements(const hlo_desc_literal_t* desc, hlo_dtype_t dtype, size_t count,
                                  const void** out_elements, bool* out_packed) {
  field_place_t place = places[dtype];
  const void* member = (const uint8_t*)desc + place.offset;
  size_t size, unit = hlo_dtype_size_bytes(dtype);
  *out_packed = false;
  if (place.is_array) {
    const hlo_wire_array_t* array = member;
    *out_elements = array->items;
    size = array->count * (hlo_dtype_is_complex(dtype) ? unit / 2 : unit);
  } else {
    const hlo_wire_bytes_t* bytes = member;
    *out_elements = bytes->data;
    size = bytes->size;
    if (size != count * unit && size == hlo_dtype_packed_size_bytes(dtype, count)) {
      *out_packed = true;
      return hlo_ok();
    }
  }
  if (place.offset == 0 || size != count * unit) {
    return hlo_invalid_argument("the literal has %zu bytes of %s, expected %zu elements", size,
                                hlo_dtype_info(dtype)->hlo_name, count);
  }
  return hlo_ok();
}

// Returns true if `layout` is given, valid and not row-major.
static hlo_status_t read_order(const hlo_desc_shape_t* shape, const int64_t** out_order) {
  *out_order = NULL;
  uint32_t rank = (uint32_t)shape->dimensions.count;
  if (!shape->layout || shape->layout->minor_to_major.count == 0) return hlo_ok();
  const int64_t* order = shape->layout->minor_to_major.items;
  uint64_t seen = 0;
  bool row_major = true, valid = shape->layout->minor_to_major.count == rank;
  for (uint32_t i = 0; valid && i < rank; ++i) {
    valid = order[i] >= 0 && order[i] < (int64_t)rank && !(seen >> order[i] & 1);
    if (valid) seen |= 1ull << order[i];
    if (order[i] != (int64_t)(rank - 1 - i)) row_major = false;
  }
  if (!valid) {
    return hlo_invalid_argument("the layout of the literal is not a permutation of its dimensions");
  }
  if (!row_major) *out_order = order;
  return hlo_ok();
}

// Copies elements in minor-to-major `order` to row-major order.
static void reorder(const void* from, void* to, const hlo_literal_t* literal,
                    const int64_t* order) {
  size_t unit = hlo_dtype_size_bytes(literal->dtype);
  int64_t strides[HLO_RANK_MAX], index[HLO_RANK_MAX] = {0};
  int64_t stride = 1;
  for (uint32_t i = 0; i < literal->rank; ++i) {
    strides[order[i]] = stride;
    stride *= literal->dims[order[i]];
  }
  for (int64_t e = 0; e < literal->element_count; ++e) {
    int64_t place = 0;
    for (uint32_t d = 0; d < literal->rank; ++d) place += index[d] * strides[d];
    memcpy((uint8_t*)to + (size_t)e * unit, (const uint8_t*)from + (size_t)place * unit, unit);
    for (uint32_t d = literal->rank; d-- > 0 && ++index[d] == literal->dims[d];) index[d] = 0;
  }
}

static hlo_status_t fill(const hlo_desc_literal_t* desc, const hlo_desc_shape_t* shape,
                         const void* elements, bool packed, hlo_literal_t* literal) {
  size_t count = (size_t)literal->element_count;
  size_t size = count * hlo_dtype_size_bytes(literal->dtype);
  const int64_t* order = NULL;
  HLO_TRY(read_order(desc->shape ? desc->shape : shape, &order));
  void* data = hlo_literal_mutable_data(literal);
  if (count == 0) return hlo_ok();
  if (!order || desc->elements) {
    if (packed) {
      hlo_dtype_unpack(literal->dtype, elements, data, count);
    } else {
      memcpy(data, elements, size);
    }
    return hlo_ok();
  }
  void* flat = NULL;
  if (packed) {
    flat = hlo_mem_alloc(size);
    if (!flat) return hlo_status_out_of_memory(size);
    hlo_dtype_unpack(literal->dtype, elements, flat, count);
  }
  reorder(flat ? flat : elements, data, literal, order);
  hlo_mem_free(flat);
  return hlo_ok();
}

hlo_status_t hlo_desc_make_literal(const hlo_desc_literal_t* desc, const hlo_desc_shape_t* shape,
                                   hlo_literal_t** out_literal) {
  hlo_dtype_t dtype = hlo_dtype_from_primitive(shape->element_type);
  int64_t count = 0;
  bool known =
      dtype != HLO_DTYPE_INVALID && dtype != HLO_DTYPE_TOKEN &&
      hlo_dims_element_count((uint32_t)shape->dimensions.count, shape->dimensions.items, &count);
  size_t size;
  if (!known || !hlo_size_mul((size_t)count, hlo_dtype_size_bytes(dtype), &size) ||
      (desc->shape && desc->shape->dimensions.count != shape->dimensions.count)) {
    return hlo_invalid_argument("literals cannot have this shape");
  }
  if (desc->elided != HLO_ELIDED_REFUSED) {
    return hlo_literal_create_elided(desc->elided, desc->seed, dtype,
                                     (uint32_t)shape->dimensions.count, shape->dimensions.items,
                                     out_literal);
  }
  const void* elements = desc->elements;
  bool packed = false;
  if (!elements) HLO_TRY(find_elements(desc, dtype, (size_t)count, &elements, &packed));
  HLO_TRY(hlo_literal_create(dtype, (uint32_t)shape->dimensions.count, shape->dimensions.items,
                             false, out_literal));
  hlo_status_t status = fill(desc, shape, elements, packed, *out_literal);
  if (hlo_status_is_ok(status)) {
    hlo_dtype_normalise(dtype, hlo_literal_mutable_data(*out_literal), (size_t)count);
  }
  if (!hlo_status_is_ok(status)) hlo_literal_release(*out_literal);
  return status;
}

hlo_status_t hlo_desc_fill_literal(hlo_arena_t* arena, const hlo_desc_shape_t* shape,
                                   hlo_desc_literal_t* desc) {
  hlo_dtype_t dtype = hlo_dtype_from_primitive(shape->element_type);
  field_place_t place = places[dtype];
  int64_t count;
  if (place.offset == 0 ||
      !hlo_dims_element_count((uint32_t)shape->dimensions.count, shape->dimensions.items, &count)) {
    return hlo_unimplemented("constants of %s are not supported", hlo_dtype_info(dtype)->name);
  }
  void* member = (uint8_t*)desc + place.offset;
  size_t unit = hlo_dtype_size_bytes(dtype), size = (size_t)count * unit;
  void* elements = (void*)(uintptr_t)desc->elements;  // borrowed, not written to
  if (place.is_array) {
    size_t parts = hlo_dtype_is_complex(dtype) ? 2 : 1;
    *(hlo_wire_array_t*)member = (hlo_wire_array_t){elements, (size_t)count * parts};
    return hlo_ok();
  }
  size_t packed = hlo_dtype_packed_size_bytes(dtype, (size_t)count);
  if (packed != size) {
    elements = hlo_arena_alloc_zeroed(arena, packed);
    if (!elements) return hlo_arena_status(arena);
    hlo_dtype_pack(dtype, desc->elements, elements, (size_t)count);
  }
  *(hlo_wire_bytes_t*)member = (hlo_wire_bytes_t){elements, packed};
  return hlo_ok();
}
