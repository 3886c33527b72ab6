// SPDX-License-Identifier: Apache-2.0
// Attributes of custom calls (see foreign_attributes.h).
#include "runtime/foreign_attributes.h"

#include <string.h>

#include "ir/custom_call.h"
#include "ir/literal.h"

static hlo_status_t set_integers(const int64_t* values, size_t count, hlo_arena_t* arena,
                                 hlo_ffi_attribute_t* out) {
  const size_t bytes = hlo_dtype_size_bytes(out->dtype);
  uint8_t* data = hlo_arena_array(arena, count, bytes);
  if (!data) return hlo_arena_status(arena);
  for (size_t i = 0; i < count; ++i) {
    hlo_dtype_store_int64(out->dtype, data + i * bytes, values[i]);
  }
  out->data = data;
  out->count = count;
  return hlo_ok();
}

static hlo_status_t set_float(double value, hlo_arena_t* arena, hlo_ffi_attribute_t* out) {
  uint8_t* data = hlo_arena_array(arena, 1, hlo_dtype_size_bytes(out->dtype));
  if (!data) return hlo_arena_status(arena);
  hlo_dtype_store_double(out->dtype, data, value);
  out->data = data;
  return hlo_ok();
}

static hlo_status_t set_literal(const hlo_literal_t* literal, hlo_arena_t* arena,
                                hlo_ffi_attribute_t* out) {
  const size_t count = (size_t)literal->element_count, bytes = hlo_dtype_size_bytes(literal->dtype);
  uint8_t* data = hlo_arena_array(arena, count, bytes);
  if (!data) return hlo_arena_status(arena);
  for (size_t i = 0; i < count; ++i) {
    memcpy(data + i * bytes, hlo_literal_element(literal, (int64_t)i), bytes);
  }
  out->dtype = literal->dtype;
  out->data = data;
  out->count = count;
  return hlo_ok();
}

static hlo_status_t read_dictionary(const hlo_node_t* node, const hlo_attr_t* dictionary,
                                    unsigned depth, hlo_arena_t* arena,
                                    hlo_ffi_attribute_t** out_attributes);

static hlo_status_t read_value(const hlo_node_t* node, const hlo_attr_t* value, const char* key,
                               unsigned depth, hlo_arena_t* arena, hlo_ffi_attribute_t* out) {
  *out = (hlo_ffi_attribute_t){.name = {key, strlen(key)}, .dtype = value->dtype};
  hlo_ffi_attribute_t* items = NULL;
  switch (value->kind) {
    case HLO_ATTR_KIND_BOOL:
      out->dtype = HLO_DTYPE_PRED;
      out->type = XLA_FFI_AttrType_SCALAR;
      return set_integers(&value->i, 1, arena, out);
    case HLO_ATTR_KIND_INT:
    case HLO_ATTR_KIND_ENUM:
      if (value->kind == HLO_ATTR_KIND_ENUM) out->dtype = HLO_DTYPE_S32;
      out->type = XLA_FFI_AttrType_SCALAR;
      return set_integers(&value->i, 1, arena, out);
    case HLO_ATTR_KIND_FLOAT:
      out->type = XLA_FFI_AttrType_SCALAR;
      return set_float(value->f, arena, out);
    case HLO_ATTR_KIND_INTS:
      out->type = XLA_FFI_AttrType_ARRAY;
      return set_integers(value->values, value->count, arena, out);
    case HLO_ATTR_KIND_LITERAL:
      out->type = XLA_FFI_AttrType_ARRAY;
      return set_literal(value->literal, arena, out);
    case HLO_ATTR_KIND_STRING:
    case HLO_ATTR_KIND_SYMBOL:
      out->type = XLA_FFI_AttrType_STRING;
      out->data = value->text;
      out->count = value->kind == HLO_ATTR_KIND_STRING ? value->text_length : strlen(value->text);
      return hlo_ok();
    case HLO_ATTR_KIND_DICT:
      HLO_TRY(read_dictionary(node, value, depth + 1, arena, &items));
      out->type = XLA_FFI_AttrType_DICTIONARY;
      out->data = items;
      out->count = value->count;
      return hlo_ok();
    default: break;
  }
  return hlo_node_invalid(node, "attribute \"%s\" has no form for foreign functions", key);
}

static hlo_status_t read_dictionary(const hlo_node_t* node, const hlo_attr_t* dictionary,
                                    unsigned depth, hlo_arena_t* arena,
                                    hlo_ffi_attribute_t** out_attributes) {
  if (depth > HLO_FFI_MAX_ATTRIBUTE_DEPTH) {
    return hlo_node_invalid(node, "its attributes are nested deeper than %d levels",
                            HLO_FFI_MAX_ATTRIBUTE_DEPTH);
  }
  hlo_ffi_attribute_t* attributes = hlo_arena_array(arena, dictionary->count, sizeof *attributes);
  if (!attributes) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < dictionary->count; ++i) {
    HLO_TRY(
        read_value(node, dictionary->items[i], dictionary->keys[i], depth, arena, &attributes[i]));
  }
  *out_attributes = attributes;
  return hlo_ok();
}

hlo_status_t hlo_foreign_attributes_read(const hlo_node_t* node, hlo_arena_t* arena,
                                         hlo_ffi_attribute_t** out_attributes, size_t* out_count) {
  const hlo_attr_t* config = hlo_custom_call_config(node);
  *out_count = config ? config->count : 0;
  return config ? read_dictionary(node, config, 1, arena, out_attributes) : hlo_ok();
}
