// SPDX-License-Identifier: Apache-2.0
// Attributes and types of the VHLO dialect in bytecode, read directly into those of the IR.
// source : StableHLO VhloBytecode (codes and field orders are facts of the format)
#include "frontend/stablehlo/attr_bytecode.h"

enum vhlo_attr_code {
  ATTR_ARRAY = 1,
  ATTR_BOOLEAN,
  ATTR_COMPARISON_DIRECTION,
  ATTR_COMPARISON_TYPE,
  ATTR_CUSTOM_CALL_API_VERSION,
  ATTR_DICTIONARY,
  ATTR_FFT_TYPE,
  ATTR_FLOAT,
  ATTR_INTEGER,
  ATTR_OUTPUT_OPERAND_ALIAS,
  ATTR_PRECISION,
  ATTR_RNG_ALGORITHM,
  ATTR_RNG_DISTRIBUTION,
  ATTR_STRING,
  ATTR_TENSOR,
  ATTR_TRANSPOSE,
  ATTR_TYPE,
  ATTR_TYPE_EXTENSIONS,
  ATTR_RESULT_ACCURACY_MODE,
  ATTR_RESULT_ACCURACY,
  ATTR_SUB_AXIS_INFO,
  ATTR_AXIS_REF,
  ATTR_REPLICA_GROUP_MESH_AXES,
  ATTR_MESH_AXIS,
  ATTR_MESH,
};

// ---- Types

// Codes for a single element type; the others are decoded below.
static const struct {
  uint8_t code;
  uint8_t dtype;
} element_types[] = {
    {0, HLO_DTYPE_PRED},        {2, HLO_DTYPE_BF16},        {3, HLO_DTYPE_F16},
    {4, HLO_DTYPE_F32},         {5, HLO_DTYPE_F64},         {6, HLO_DTYPE_F8E4M3FN},
    {7, HLO_DTYPE_F8E5M2},      {9, HLO_DTYPE_S64},         {10, HLO_DTYPE_S4},
    {11, HLO_DTYPE_S8},         {12, HLO_DTYPE_S16},        {13, HLO_DTYPE_S32},
    {14, HLO_DTYPE_S64},        {15, HLO_DTYPE_U4},         {16, HLO_DTYPE_U8},
    {17, HLO_DTYPE_U16},        {18, HLO_DTYPE_U32},        {19, HLO_DTYPE_U64},
    {27, HLO_DTYPE_F8E4M3FNUZ}, {28, HLO_DTYPE_F8E5M2FNUZ}, {29, HLO_DTYPE_F8E4M3B11FNUZ},
    {31, HLO_DTYPE_S2},         {32, HLO_DTYPE_U2},         {35, HLO_DTYPE_F8E4M3},
    {36, HLO_DTYPE_F8E3M4},     {37, HLO_DTYPE_F4E2M1FN},   {38, HLO_DTYPE_F6E2M3FN},
    {39, HLO_DTYPE_F6E3M2FN},   {40, HLO_DTYPE_F8E8M0FNU},
};

enum vhlo_type_code {
  TYPE_COMPLEX = 1,
  TYPE_FUNCTION = 8,
  TYPE_INDEX = 9,
  TYPE_TENSOR = 20,
  TYPE_TENSOR_WITH_ENCODING = 21,
  TYPE_TOKEN = 22,
  TYPE_TUPLE = 23,
  TYPE_QUANTIZED = 24,
  TYPE_UNRANKED_TENSOR = 25,
  TYPE_WITNESS = 26,
  TYPE_QUANTIZED_PER_AXIS = 30,
  TYPE_NONE = 33,
  TYPE_TF32 = 34,
  TYPE_BUFFER = 41,
  TYPE_FUTURE = 42,
};

static hlo_status_t read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_type_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; ++i) {
    if (element_types[i].code != code) continue;
    *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_ELEMENT,
                           .dtype = (hlo_dtype_t)element_types[i].dtype,
                           .is_index = code == TYPE_INDEX};
    return hlo_ok();
  }
  switch (code) {
    case TYPE_COMPLEX: return hlo_bc_read_complex_type(reader, c, out);
    case TYPE_FUNCTION: return hlo_bc_read_function_type(reader, c, out);
    case TYPE_TENSOR: return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_TENSOR, false, false, out);
    case TYPE_TENSOR_WITH_ENCODING:
      return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_TENSOR, true, false, out);
    case TYPE_BUFFER: return hlo_bc_read_shaped_type(reader, c, HLO_TYPE_BUFFER, false, false, out);
    case TYPE_TOKEN: hlo_bc_set_type(out, hlo_type_token(reader->module)); return hlo_ok();
    case TYPE_NONE: hlo_bc_set_type(out, hlo_type_none(reader->module)); return hlo_ok();
    case TYPE_TUPLE: return hlo_bc_read_group_type(reader, c, false, out);
    case TYPE_FUTURE: return hlo_bc_read_group_type(reader, c, true, out);
    case TYPE_QUANTIZED: return hlo_bc_read_quantized_type(reader, c, false, out);
    case TYPE_QUANTIZED_PER_AXIS: return hlo_bc_read_quantized_type(reader, c, true, out);
    case TYPE_UNRANKED_TENSOR: return hlo_bc_read_unranked_type(reader, c, out);
    case TYPE_WITNESS: hlo_bc_set_foreign_type(out, "!shape.witness"); return hlo_ok();
    case TYPE_TF32: hlo_bc_set_foreign_type(out, "tf32"); return hlo_ok();
    default: return hlo_bc_error(c, "VHLO type code %llu is unknown", (unsigned long long)code);
  }
}

// ---- Attributes

static const hlo_bc_enum_code_t enums[] = {
    {ATTR_COMPARISON_DIRECTION, HLO_ENUM_COMPARISON_DIRECTION},
    {ATTR_COMPARISON_TYPE, HLO_ENUM_COMPARISON_TYPE},
    {ATTR_CUSTOM_CALL_API_VERSION, HLO_ENUM_CUSTOM_CALL_API_VERSION},
    {ATTR_FFT_TYPE, HLO_ENUM_FFT_TYPE},
    {ATTR_PRECISION, HLO_ENUM_PRECISION},
    {ATTR_RNG_ALGORITHM, HLO_ENUM_RNG_ALGORITHM},
    {ATTR_RNG_DISTRIBUTION, HLO_ENUM_RNG_DISTRIBUTION},
    {ATTR_TRANSPOSE, HLO_ENUM_TRANSPOSE},
    {ATTR_RESULT_ACCURACY_MODE, HLO_ENUM_RESULT_ACCURACY_MODE},
};

static hlo_status_t read_boolean(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                 const hlo_attr_t** out) {
  uint64_t value;
  HLO_TRY(hlo_bc_varint(c, &value));
  if (value > 1) return hlo_bc_error(c, "boolean %llu", (unsigned long long)value);
  *out = hlo_attr_bool(reader->module, value == 1);
  return hlo_ok();
}

static hlo_status_t read_name(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const hlo_attr_t** out) {
  return hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_STRING, "axis name", out);
}

static hlo_status_t read_info(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const hlo_attr_t** out) {
  uint64_t has_info;
  HLO_TRY(hlo_bc_varint(c, &has_info));
  *out = NULL;
  return has_info ? hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_OPAQUE, "sub-axis", out)
                  : hlo_ok();
}

static hlo_status_t read_axes(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const hlo_attr_t** out) {
  return hlo_bc_read_attr_of(reader, c, HLO_ATTR_KIND_ARRAY, "list of mesh axes", out);
}

static hlo_status_t read_other(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                               const hlo_attr_t** out) {
  const hlo_bc_type_t* type;
  switch (code) {
    case ATTR_ARRAY: return hlo_bc_read_array_attr(reader, c, out);
    case ATTR_BOOLEAN: return read_boolean(reader, c, out);
    case ATTR_DICTIONARY: return hlo_bc_read_dict_attr(reader, c, out);
    case ATTR_FLOAT: return hlo_bc_read_float_attr(reader, c, out);
    case ATTR_INTEGER:
      HLO_TRY(hlo_bc_read_type(reader, c, &type));
      return hlo_bc_make_int_attr(reader, type, c, out);
    case ATTR_STRING: return hlo_bc_read_string_attr(reader, c, out);
    case ATTR_TENSOR: return hlo_bc_read_dense_attr(reader, c, out);
    case ATTR_TYPE:
      HLO_TRY(hlo_bc_read_type(reader, c, &type));
      return hlo_bc_make_type_attr(reader, type, out);
    default:
      return hlo_bc_error(c, "VHLO attribute code %llu is unknown", (unsigned long long)code);
  }
}

static const hlo_bc_attr_codes_t codes = {
    .enums = enums,
    .enum_count = sizeof enums / sizeof enums[0],
    .bounds = ATTR_TYPE_EXTENSIONS,
    .output_operand_alias = ATTR_OUTPUT_OPERAND_ALIAS,
    .result_accuracy = ATTR_RESULT_ACCURACY,
    .sub_axis_info = ATTR_SUB_AXIS_INFO,
    .axis_ref = ATTR_AXIS_REF,
    .mesh_axis = ATTR_MESH_AXIS,
    .mesh = ATTR_MESH,
    .replica_group_mesh_axes = ATTR_REPLICA_GROUP_MESH_AXES,
    .mesh_form = &(const hlo_bc_mesh_form_t){.name = read_name,
                                             .info = read_info,
                                             .device_ids = hlo_bc_read_optional_attr,
                                             .axes = read_axes},
    .read_other = read_other,
};

static hlo_status_t read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  return hlo_bc_read_coded_attr(reader, c, &codes, out);
}

const hlo_bc_dialect_t hlo_bc_dialect_vhlo = {"vhlo", read_attr, read_type};
