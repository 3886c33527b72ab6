// SPDX-License-Identifier: Apache-2.0
// Attributes, types and locations of MLIR's builtin dialect in bytecode.
// source : MLIR BuiltinDialectBytecode (codes and field orders are facts of the format)
#include <stdio.h>
#include <string.h>

#include "frontend/bytecode/reader.h"

enum builtin_attr_code {
  ATTR_ARRAY,
  ATTR_DICTIONARY,
  ATTR_STRING,
  ATTR_STRING_WITH_TYPE,
  ATTR_FLAT_SYMBOL,
  ATTR_SYMBOL,
  ATTR_TYPE,
  ATTR_UNIT,
  ATTR_INTEGER,
  ATTR_FLOAT,
  LOC_CALL_SITE,
  LOC_FILE,
  LOC_FUSED,
  LOC_FUSED_WITH_METADATA,
  LOC_NAME,
  LOC_UNKNOWN,
  ATTR_DENSE_RESOURCE,
  ATTR_DENSE_ARRAY,
  ATTR_DENSE,
  ATTR_DENSE_STRING,
  ATTR_SPARSE,
  ATTR_DISTINCT,
  LOC_FILE_RANGE,
};

enum builtin_type_code {
  TYPE_INTEGER,
  TYPE_INDEX,
  TYPE_FUNCTION,
  TYPE_BF16,
  TYPE_F16,
  TYPE_F32,
  TYPE_F64,
  TYPE_F80,
  TYPE_F128,
  TYPE_COMPLEX,
  TYPE_MEMREF,
  TYPE_MEMREF_WITH_SPACE,
  TYPE_NONE,
  TYPE_TENSOR,
  TYPE_TENSOR_WITH_ENCODING,
  TYPE_TUPLE,
  TYPE_UNRANKED_TENSOR = 18,
  TYPE_TF32 = 21,
};

// Type codes for a single element type.
static const struct {
  uint8_t code;
  uint8_t dtype;
} element_types[] = {
    {TYPE_BF16, HLO_DTYPE_BF16},   {TYPE_F16, HLO_DTYPE_F16},  {TYPE_F32, HLO_DTYPE_F32},
    {TYPE_F64, HLO_DTYPE_F64},     {22, HLO_DTYPE_F8E5M2},     {23, HLO_DTYPE_F8E4M3},
    {24, HLO_DTYPE_F8E4M3FN},      {25, HLO_DTYPE_F8E5M2FNUZ}, {26, HLO_DTYPE_F8E4M3FNUZ},
    {27, HLO_DTYPE_F8E4M3B11FNUZ}, {28, HLO_DTYPE_F8E3M4},     {29, HLO_DTYPE_F4E2M1FN},
    {30, HLO_DTYPE_F6E2M3FN},      {31, HLO_DTYPE_F6E3M2FN},   {32, HLO_DTYPE_F8E8M0FNU},
};

// ---- Types

static void set_element(hlo_bc_type_t* out, hlo_dtype_t dtype) {
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_ELEMENT, .dtype = dtype};
}

static hlo_status_t read_integer_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                      hlo_bc_type_t* out) {
  static const char* const prefixes[] = {"i", "si", "ui"};
  uint64_t word;
  HLO_TRY(hlo_bc_varint(c, &word));
  unsigned signedness = word & 3;
  uint64_t width = word >> 2;
  if (signedness == 3 || width == 0 || width >= 1 << 24) {
    return hlo_bc_error(c, "unsupported integer type of %llu bits, signedness %u",
                        (unsigned long long)width, signedness);
  }
  char name[16];
  int length = snprintf(name, sizeof name, "%s%u", prefixes[signedness], (unsigned)width);
  // The IR does not distinguish signless and signed integers.
  const char* known = signedness == 1 ? name + 1 : name;
  hlo_dtype_t dtype = hlo_dtype_from_mlir_name(known, (size_t)length - (signedness == 1));
  if (dtype != HLO_DTYPE_INVALID) {
    set_element(out, dtype);
  } else {
    *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_FOREIGN,
                           .text = hlo_module_string(reader->module, name, (size_t)length)};
  }
  return hlo_ok();
}

hlo_status_t hlo_bc_read_function_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       hlo_bc_type_t* out) {
  uint32_t input_count, result_count;
  const hlo_type_t **inputs, **results;
  HLO_TRY(hlo_bc_read_ir_types(reader, c, &input_count, &inputs));
  HLO_TRY(hlo_bc_read_ir_types(reader, c, &result_count, &results));
  hlo_bc_set_type(out,
                  hlo_type_function(reader->module, input_count, inputs, result_count, results));
  return hlo_ok();
}

hlo_status_t hlo_bc_read_complex_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                      hlo_bc_type_t* out) {
  const hlo_bc_type_t* part;
  HLO_TRY(hlo_bc_read_type(reader, c, &part));
  hlo_dtype_t dtype =
      part->kind == HLO_BC_TYPE_ELEMENT ? hlo_dtype_complex_of(part->dtype) : HLO_DTYPE_INVALID;
  if (dtype == HLO_DTYPE_INVALID)
    return hlo_bc_error(c, "complex numbers with parts of an unsupported type");
  set_element(out, dtype);
  return hlo_ok();
}

hlo_status_t hlo_bc_read_shaped_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     hlo_type_kind_t kind, bool has_encoding, bool has_layout,
                                     hlo_bc_type_t* out) {
  const hlo_bc_attr_t* encoding = NULL;
  const hlo_bc_type_t* element;
  uint32_t rank;
  int64_t* dims;
  uint64_t layout;
  if (has_encoding) HLO_TRY(hlo_bc_read_any(reader, c, &encoding));
  HLO_TRY(hlo_bc_read_svarints(reader, c, &rank, &dims));
  HLO_TRY(hlo_bc_read_type(reader, c, &element));
  if (has_layout) HLO_TRY(hlo_bc_varint(c, &layout));
  if (kind == HLO_TYPE_BUFFER) encoding = NULL;
  return hlo_bc_make_tensor(reader, c, kind, rank, dims, element, encoding, out);
}

hlo_status_t hlo_bc_read_group_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool is_future,
                                    hlo_bc_type_t* out) {
  uint32_t count;
  const hlo_type_t** types;
  HLO_TRY(hlo_bc_read_ir_types(reader, c, &count, &types));
  hlo_bc_set_type(out, is_future ? hlo_type_future(reader->module, count, types)
                                 : hlo_type_tuple(reader->module, count, types));
  return hlo_ok();
}

hlo_status_t hlo_bc_read_unranked_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       hlo_bc_type_t* out) {
  const hlo_bc_type_t* element;
  HLO_TRY(hlo_bc_read_type(reader, c, &element));
  char text[64];
  int length = snprintf(
      text, sizeof text, "tensor<*x%s>",
      element->kind == HLO_BC_TYPE_ELEMENT ? hlo_dtype_info(element->dtype)->mlir_name : "?");
  hlo_bc_set_foreign_type(out, hlo_module_string(reader->module, text, (size_t)length));
  return hlo_ok();
}

static hlo_status_t read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_type_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; ++i) {
    if (element_types[i].code == code) {
      set_element(out, (hlo_dtype_t)element_types[i].dtype);
      return hlo_ok();
    }
  }
  switch (code) {
    case TYPE_INTEGER: return read_integer_type(reader, c, out);
    case TYPE_INDEX:
      set_element(out, HLO_DTYPE_S64);
      out->is_index = true;
      return hlo_ok();
    case TYPE_FUNCTION: return hlo_bc_read_function_type(reader, c, out);
    case TYPE_F80: hlo_bc_set_foreign_type(out, "f80"); return hlo_ok();
    case TYPE_F128: hlo_bc_set_foreign_type(out, "f128"); return hlo_ok();
    case TYPE_TF32: hlo_bc_set_foreign_type(out, "tf32"); return hlo_ok();
    case TYPE_COMPLEX: return hlo_bc_read_complex_type(reader, c, out);
    case TYPE_MEMREF: return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_BUFFER, false, true, out);
    case TYPE_MEMREF_WITH_SPACE:
      return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_BUFFER, true, true, out);
    case TYPE_NONE: hlo_bc_set_type(out, hlo_type_none(reader->module)); return hlo_ok();
    case TYPE_TENSOR: return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_TENSOR, false, false, out);
    case TYPE_TENSOR_WITH_ENCODING:
      return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_TENSOR, true, false, out);
    case TYPE_TUPLE: return hlo_bc_read_group_type(reader, c, false, out);
    case TYPE_UNRANKED_TENSOR: return hlo_bc_read_unranked_type(reader, c, out);
    default:
      return hlo_bc_error(c, "builtin type code %llu is not supported", (unsigned long long)code);
  }
}

// ---- Locations

static void set_loc(hlo_bc_attr_t* out, hlo_loc_t loc) {
  *out = (hlo_bc_attr_t){.kind = HLO_BC_ATTR_LOCATION, .loc = loc};
}

static uint32_t saturate(uint64_t value) {
  return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

// Reads filename, then line and column: two numbers, or a list of up to four for a range.
static hlo_status_t read_file_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool is_range,
                                  hlo_bc_attr_t* out) {
  const hlo_attr_t* file;
  uint32_t count = 2;
  uint64_t numbers[4] = {0};
  HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "file name", &file));
  if (is_range) {
    HLO_TRY(hlo_bc_count(c, 1, &count));
    if (count > 4) return hlo_bc_error(c, "a file range of %u numbers", count);
  }
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(hlo_bc_varint(c, &numbers[i]));
  set_loc(out, hlo_module_loc_file(reader->module, file->text, file->text_length,
                                   saturate(numbers[0]), saturate(numbers[1])));
  return hlo_ok();
}

static hlo_status_t read_name_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  const hlo_attr_t* name;
  hlo_loc_t child;
  HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "location name", &name));
  HLO_TRY(hlo_bc_read_loc(reader, c, &child));
  hlo_loc_info_t info = {
      .kind = HLO_LOC_NAME, .text = name->text, .child_count = 1, .children = &child};
  set_loc(out, hlo_module_loc(reader->module, &info));
  return hlo_ok();
}

static hlo_status_t read_call_site_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       hlo_bc_attr_t* out) {
  hlo_loc_t children[2];
  HLO_TRY(hlo_bc_read_loc(reader, c, &children[0]));
  HLO_TRY(hlo_bc_read_loc(reader, c, &children[1]));
  hlo_loc_info_t info = {.kind = HLO_LOC_CALLSITE, .child_count = 2, .children = children};
  set_loc(out, hlo_module_loc(reader->module, &info));
  return hlo_ok();
}

static hlo_status_t read_fused_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool has_metadata,
                                   hlo_bc_attr_t* out) {
  uint32_t count;
  hlo_loc_t* children;
  HLO_TRY(hlo_bc_count(c, 1, &count));
  HLO_TRY(hlo_bc_scratch(reader, count, sizeof *children, &children));
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(hlo_bc_read_loc(reader, c, &children[i]));
  if (has_metadata) {  // dropped
    const hlo_bc_attr_t* metadata;
    HLO_TRY(hlo_bc_read_any(reader, c, &metadata));
  }
  hlo_loc_info_t info = {.kind = HLO_LOC_FUSED, .child_count = count, .children = children};
  set_loc(out, hlo_module_loc(reader->module, &info));
  return hlo_ok();
}

static hlo_status_t read_location(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                                  hlo_bc_attr_t* out) {
  switch (code) {
    case LOC_CALL_SITE: return read_call_site_loc(reader, c, out);
    case LOC_FILE: return read_file_loc(reader, c, false, out);
    case LOC_FILE_RANGE: return read_file_loc(reader, c, true, out);
    case LOC_FUSED: return read_fused_loc(reader, c, false, out);
    case LOC_FUSED_WITH_METADATA: return read_fused_loc(reader, c, true, out);
    case LOC_NAME: return read_name_loc(reader, c, out);
    default: set_loc(out, 0); return hlo_ok();
  }
}

// ---- Attributes

hlo_status_t hlo_bc_read_array_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) {
  uint32_t count;
  const hlo_attr_t** items;
  HLO_TRY(hlo_bc_read_attrs(reader, c, &count, &items));
  *out = hlo_attr_array(reader->module, count, items);
  return hlo_ok();
}

hlo_status_t hlo_bc_read_dict_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   const hlo_attr_t** out) {
  uint32_t count;
  const char** keys;
  const hlo_attr_t** items;
  HLO_TRY(hlo_bc_count(c, 2, &count));
  HLO_TRY(hlo_bc_scratch(reader, count, sizeof *keys, &keys));
  HLO_TRY(hlo_bc_scratch(reader, count, sizeof *items, &items));
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_attr_t* key;
    HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "name of an attribute", &key));
    HLO_TRY(hlo_bc_read_attr(reader, c, &items[i]));
    keys[i] = key->text;
  }
  *out = hlo_attr_dict(reader->module, count, keys, items);
  return hlo_ok();
}

static hlo_status_t read_symbol(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool has_nested,
                                const hlo_attr_t** out) {
  const hlo_attr_t* root;
  HLO_TRY(hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "symbol", &root));
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_append(&text, root->text, root->text_length);
  hlo_status_t status = hlo_ok();
  uint32_t count = 0;
  if (has_nested) status = hlo_bc_count(c, 1, &count);
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < count; ++i) {
    const hlo_attr_t* nested;
    status = hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_SYMBOL, "nested symbol", &nested);
    if (!hlo_status_is_ok(status)) break;
    hlo_strbuf_puts(&text, "::");
    hlo_strbuf_append(&text, nested->text, nested->text_length);
    if (text.length > HLO_BC_TEXT_MAX_BYTES) status = hlo_bc_error(c, "a symbol is too long");
  }
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) {
    *out = hlo_attr_symbol(reader->module, hlo_strbuf_text(&text), text.length);
  }
  return status;
}

hlo_status_t hlo_bc_read_float_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) {
  const hlo_bc_type_t* type;
  double value;
  HLO_TRY(hlo_bc_read_type(reader, c, &type));
  if (type->kind != HLO_BC_TYPE_ELEMENT || !hlo_dtype_is_float(type->dtype)) {
    return hlo_bc_error(c, "a float attribute whose type is not a supported float type");
  }
  HLO_TRY(hlo_bc_read_float(reader, c, type->dtype, &value));
  *out = hlo_attr_float(reader->module, type->dtype, value);
  return hlo_ok();
}

static hlo_status_t read_dense_resource(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                        const hlo_attr_t** out) {
  const hlo_type_t* type;
  uint32_t index;
  HLO_TRY(hlo_bc_read_ir_type(reader, c, &type));
  HLO_TRY(hlo_bc_index(c, reader->resource_count, "resource", &index));
  hlo_bc_resource_t* resource = &reader->resources[index];
  hlo_bc_cursor_t data = resource->data, blob;
  uint64_t alignment, size;
  if (resource->kind != 0 || hlo_bc_at_end(&data)) {
    return hlo_bc_error(c, "resource '%.64s' holds no data", resource->key.text);
  }
  HLO_TRY(hlo_bc_varint(&data, &alignment));
  HLO_TRY(hlo_bc_varint(&data, &size));
  HLO_TRY(hlo_bc_align(&data, alignment));
  HLO_TRY(hlo_bc_slice(&data, size, &blob));
  return hlo_bc_make_literal(reader, &blob, type, out);
}

static hlo_status_t make_dense_array(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                                     hlo_dtype_t dtype, bool is_index, uint32_t count,
                                     const hlo_attr_t** out) {
  size_t width = hlo_dtype_size_bytes(dtype);
  int64_t* values;
  HLO_TRY(hlo_bc_scratch(reader, count, sizeof *values, &values));
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t element = 0;
    memcpy(&element, data->pos + i * width, width);
    if (dtype == HLO_DTYPE_PRED) element = element != 0;
    values[i] = hlo_dtype_load_int64(dtype, &element);
  }
  hlo_attr_t fields = {.kind = HLO_ATTR_KIND_INTS,
                       .dtype = dtype,
                       .is_index = is_index,
                       .count = count,
                       .values = values};
  *out = hlo_attr_intern(reader->module, &fields);
  return hlo_ok();
}

static hlo_status_t read_dense_array(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     const hlo_attr_t** out) {
  const hlo_bc_type_t* type;
  hlo_bc_cursor_t data;
  uint64_t count;
  HLO_TRY(hlo_bc_read_type(reader, c, &type));
  HLO_TRY(hlo_bc_varint(c, &count));
  HLO_TRY(hlo_bc_read_blob(reader, c, &data));
  if (type->kind != HLO_BC_TYPE_ELEMENT) {
    return hlo_bc_error(c, "an array whose elements are not numbers");
  }
  size_t width = hlo_dtype_size_bytes(type->dtype);
  if (width == 0 || count > UINT32_MAX || hlo_bc_left(&data) != count * width) {
    return hlo_bc_error(c, "an array of %llu elements in %zu bytes", (unsigned long long)count,
                        hlo_bc_left(&data));
  }
  if (hlo_dtype_is_integer(type->dtype) || type->dtype == HLO_DTYPE_PRED) {
    return make_dense_array(reader, &data, type->dtype, type->is_index, (uint32_t)count, out);
  }
  hlo_type_t fields = {
      .kind = HLO_TYPE_TENSOR, .dtype = type->dtype, .rank = 1, .dims = &(int64_t){(int64_t)count}};
  const hlo_type_t* tensor = hlo_type_intern(reader->module, &fields);
  if (!tensor) return hlo_module_status(reader->module);
  return hlo_bc_make_literal(reader, &data, tensor, out);
}

hlo_status_t hlo_bc_read_dense_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) {
  const hlo_type_t* type;
  hlo_bc_cursor_t data;
  HLO_TRY(hlo_bc_read_ir_type(reader, c, &type));
  HLO_TRY(hlo_bc_read_blob(reader, c, &data));
  return hlo_bc_make_literal(reader, &data, type, out);
}

static hlo_status_t read_string_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool has_type,
                                     const hlo_attr_t** out) {
  hlo_bc_string_t string;
  uint64_t type;  // of the attribute, dropped
  HLO_TRY(hlo_bc_read_string(reader, c, &string));
  if (has_type) HLO_TRY(hlo_bc_varint(c, &type));
  *out = hlo_attr_string(reader->module, string.text, string.length);
  return hlo_ok();
}

static hlo_status_t read_plain(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                               const hlo_attr_t** out) {
  const hlo_bc_type_t* type;
  switch (code) {
    case ATTR_ARRAY: return hlo_bc_read_array_attr(reader, c, out);
    case ATTR_DICTIONARY: return hlo_bc_read_dict_attr(reader, c, out);
    case ATTR_STRING: return read_string_attr(reader, c, false, out);
    case ATTR_STRING_WITH_TYPE: return read_string_attr(reader, c, true, out);
    case ATTR_FLAT_SYMBOL: return read_symbol(reader, c, false, out);
    case ATTR_SYMBOL: return read_symbol(reader, c, true, out);
    case ATTR_TYPE:
      HLO_TRY(hlo_bc_read_type(reader, c, &type));
      return hlo_bc_make_type_attr(reader, type, out);
    case ATTR_UNIT: *out = hlo_attr_unit(reader->module); return hlo_ok();
    case ATTR_INTEGER:
      HLO_TRY(hlo_bc_read_type(reader, c, &type));
      return hlo_bc_make_int_attr(reader, type, c, out);
    case ATTR_FLOAT: return hlo_bc_read_float_attr(reader, c, out);
    case ATTR_DENSE_RESOURCE: return read_dense_resource(reader, c, out);
    case ATTR_DENSE_ARRAY: return read_dense_array(reader, c, out);
    case ATTR_DENSE: return hlo_bc_read_dense_attr(reader, c, out);
    case ATTR_DISTINCT: return hlo_bc_read_attr(reader, c, out);
    default:
      return hlo_bc_error(c, "builtin attribute code %llu is not supported",
                          (unsigned long long)code);
  }
}

static hlo_status_t read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  if ((code >= LOC_CALL_SITE && code <= LOC_UNKNOWN) || code == LOC_FILE_RANGE) {
    return read_location(reader, c, code, out);
  }
  const hlo_attr_t* attr;
  HLO_TRY(read_plain(reader, c, code, &attr));
  hlo_bc_set_attr(out, attr);
  return hlo_ok();
}

const hlo_bc_dialect_t hlo_bc_dialect_builtin = {"builtin", read_attr, read_type};
