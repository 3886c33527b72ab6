// SPDX-License-Identifier: Apache-2.0
// Attributes of calls (see attributes.h).
#include "ffi/attributes.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void* a, const void* b) {
  XLA_FFI_ByteSpan x = (*(const hlo_ffi_attribute_t* const*)a)->name;
  XLA_FFI_ByteSpan y = (*(const hlo_ffi_attribute_t* const*)b)->name;
  size_t common = x.len < y.len ? x.len : y.len;
  int order = common ? memcmp(x.ptr, y.ptr, common) : 0;
  return order ? order : (x.len > y.len) - (x.len < y.len);
}

static hlo_status_t sort_names(hlo_arena_t* arena, const hlo_ffi_attribute_t* attributes,
                               size_t count, const hlo_ffi_attribute_t*** out_sorted) {
  const hlo_ffi_attribute_t** sorted = hlo_arena_array(arena, count, sizeof *sorted);
  if (!sorted) return hlo_arena_status(arena);
  for (size_t i = 0; i < count; ++i) sorted[i] = &attributes[i];
  if (count > 1) qsort(sorted, count, sizeof *sorted, compare_names);
  for (size_t i = 1; i < count; ++i) {
    if (compare_names(&sorted[i - 1], &sorted[i]) != 0) continue;
    return hlo_invalid_argument("attribute \"%.*s\" occurs twice", (int)sorted[i]->name.len,
                                sorted[i]->name.ptr);
  }
  *out_sorted = sorted;
  return hlo_ok();
}

// Copies `count` items of a size with a terminating zero.
static hlo_status_t copy(hlo_arena_t* arena, const void* data, size_t count, size_t item_bytes,
                         void** out_copy) {
  size_t bytes;
  if (!hlo_size_mul(count, item_bytes, &bytes)) return hlo_status_out_of_memory(SIZE_MAX);
  char* block = hlo_arena_alloc(arena, bytes + 1);
  if (!block) return hlo_arena_status(arena);
  if (bytes) memcpy(block, data, bytes);
  block[bytes] = 0;
  *out_copy = block;
  return hlo_ok();
}

static hlo_status_t build_dictionary(hlo_arena_t* arena, const hlo_ffi_attribute_t* attributes,
                                     size_t count, unsigned depth, XLA_FFI_Attrs* out_attrs);

// Builds what the pointer of an attribute points at.
static hlo_status_t build_value(hlo_arena_t* arena, const hlo_ffi_attribute_t* attribute,
                                unsigned depth, void** out_value) {
  const size_t count = attribute->count, element_bytes = hlo_dtype_size_bytes(attribute->dtype);
  const XLA_FFI_DataType dtype = (XLA_FFI_DataType)hlo_dtype_info(attribute->dtype)->primitive_type;
  const bool has_elements =
      attribute->type == XLA_FFI_AttrType_SCALAR || attribute->type == XLA_FFI_AttrType_ARRAY;
  if (has_elements && element_bytes == 0) {
    return hlo_invalid_argument("attribute \"%.*s\" has element type %s", (int)attribute->name.len,
                                attribute->name.ptr, hlo_dtype_info(attribute->dtype)->name);
  }
  union {
    XLA_FFI_Scalar scalar;
    XLA_FFI_Array array;
    XLA_FFI_ByteSpan string;
    XLA_FFI_Attrs dictionary;
  }* value = hlo_arena_alloc_zeroed(arena, sizeof *value);
  if (!value) return hlo_arena_status(arena);
  *out_value = value;
  void* data = NULL;
  switch (attribute->type) {
    case XLA_FFI_AttrType_SCALAR:
      HLO_TRY(copy(arena, attribute->data, 1, element_bytes, &data));
      value->scalar = (XLA_FFI_Scalar){dtype, data};
      return hlo_ok();
    case XLA_FFI_AttrType_ARRAY:
      HLO_TRY(copy(arena, attribute->data, count, element_bytes, &data));
      value->array = (XLA_FFI_Array){dtype, count, data};
      return hlo_ok();
    case XLA_FFI_AttrType_STRING:
      HLO_TRY(copy(arena, attribute->data, count, 1, &data));
      value->string = (XLA_FFI_ByteSpan){data, count};
      return hlo_ok();
    case XLA_FFI_AttrType_DICTIONARY:
      return build_dictionary(arena, attribute->data, count, depth + 1, &value->dictionary);
  }
  return hlo_invalid_argument("attribute \"%.*s\" has type %d", (int)attribute->name.len,
                              attribute->name.ptr, (int)attribute->type);
}

static hlo_status_t build_dictionary(hlo_arena_t* arena, const hlo_ffi_attribute_t* attributes,
                                     size_t count, unsigned depth, XLA_FFI_Attrs* out_attrs) {
  if (depth > HLO_FFI_MAX_ATTRIBUTE_DEPTH) {
    return hlo_invalid_argument("dictionaries of attributes are nested deeper than %d levels",
                                HLO_FFI_MAX_ATTRIBUTE_DEPTH);
  }
  const hlo_ffi_attribute_t** sorted = NULL;
  HLO_TRY(sort_names(arena, attributes, count, &sorted));
  XLA_FFI_AttrType* types = hlo_arena_array(arena, count, sizeof *types);
  XLA_FFI_ByteSpan** names = hlo_arena_array(arena, count, sizeof *names);
  XLA_FFI_ByteSpan* spans = hlo_arena_array(arena, count, sizeof *spans);
  void** values = hlo_arena_array(arena, count, sizeof *values);
  if (!types || !names || !spans || !values) return hlo_arena_status(arena);
  for (size_t i = 0; i < count; ++i) {
    void* name;
    HLO_TRY(copy(arena, sorted[i]->name.ptr, sorted[i]->name.len, 1, &name));
    spans[i] = (XLA_FFI_ByteSpan){name, sorted[i]->name.len};
    names[i] = &spans[i];
    types[i] = sorted[i]->type;
    HLO_TRY(build_value(arena, sorted[i], depth, &values[i]));
  }
  *out_attrs = (XLA_FFI_Attrs){
      .struct_size = XLA_FFI_Attrs_STRUCT_SIZE,
      .size = (int64_t)count,
      .types = types,
      .names = names,
      .attrs = values,
  };
  return hlo_ok();
}

hlo_status_t hlo_ffi_attributes_build(hlo_arena_t* arena, const hlo_ffi_attribute_t* attributes,
                                      size_t count, XLA_FFI_Attrs* out_attrs) {
  return build_dictionary(arena, attributes, count, 1, out_attrs);
}
