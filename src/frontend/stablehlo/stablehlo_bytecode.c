// SPDX-License-Identifier: Apache-2.0
// Attributes and types of the StableHLO and CHLO dialects in plain (unversioned) bytecode. Structs
// become dictionaries of the flat attributes of the op table, which the import distributes to the
// op.
// source : StableHLO StablehloBytecode, ChloBytecode (codes and field orders are facts of the
// format)
#include <string.h>

#include "frontend/stablehlo/attr_bytecode.h"

enum stablehlo_attr_code {
  ATTR_CHANNEL_HANDLE = 1,
  ATTR_COMPARISON_DIRECTION = 2,
  ATTR_COMPARISON_TYPE = 3,
  ATTR_CONV_DIMENSION_NUMBERS = 4,
  ATTR_DOT_DIMENSION_NUMBERS = 5,
  ATTR_FFT_TYPE = 6,
  ATTR_GATHER_DIMENSION_NUMBERS = 7,
  ATTR_PRECISION = 8,
  ATTR_RNG_ALGORITHM = 9,
  ATTR_RNG_DISTRIBUTION = 10,
  ATTR_SCATTER_DIMENSION_NUMBERS = 11,
  ATTR_TRANSPOSE = 12,
  ATTR_TYPE_EXTENSIONS = 13,
  ATTR_OUTPUT_OPERAND_ALIAS = 14,
  ATTR_DOT_ALGORITHM = 15,
  ATTR_RESULT_ACCURACY_MODE = 16,
  ATTR_RESULT_ACCURACY = 17,
  ATTR_REPLICA_GROUP_MESH_AXES = 18,
  ATTR_SUB_AXIS_INFO = 19,
  ATTR_AXIS_REF = 20,
  ATTR_MESH_AXIS = 21,
  ATTR_MESH = 22,
};

// Structs, whose fields are encoded in the order of text.
static const struct {
  uint8_t code;
  const char* mnemonic;
} structs[] = {
    {ATTR_CHANNEL_HANDLE, "stablehlo.channel_handle"},
    {ATTR_CONV_DIMENSION_NUMBERS, "stablehlo.conv"},
    {ATTR_DOT_DIMENSION_NUMBERS, "stablehlo.dot"},
    {ATTR_GATHER_DIMENSION_NUMBERS, "stablehlo.gather"},
    {ATTR_SCATTER_DIMENSION_NUMBERS, "stablehlo.scatter"},
    {ATTR_DOT_ALGORITHM, "stablehlo.dot_algorithm"},
};

static const hlo_bc_enum_code_t enums[] = {
    {ATTR_COMPARISON_DIRECTION, HLO_ENUM_COMPARISON_DIRECTION},
    {ATTR_COMPARISON_TYPE, HLO_ENUM_COMPARISON_TYPE},
    {ATTR_FFT_TYPE, HLO_ENUM_FFT_TYPE},
    {ATTR_PRECISION, HLO_ENUM_PRECISION},
    {ATTR_RNG_ALGORITHM, HLO_ENUM_RNG_ALGORITHM},
    {ATTR_RNG_DISTRIBUTION, HLO_ENUM_RNG_DISTRIBUTION},
    {ATTR_TRANSPOSE, HLO_ENUM_TRANSPOSE},
    {ATTR_RESULT_ACCURACY_MODE, HLO_ENUM_RESULT_ACCURACY_MODE},
};

static const hlo_bc_enum_code_t chlo_enums[] = {
    {0, HLO_ENUM_COMPARISON_DIRECTION},
    {1, HLO_ENUM_COMPARISON_TYPE},
};

static hlo_status_t read_field(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_attr_form_t form,
                               const hlo_attr_t** out) {
  hlo_module_t* module = reader->module;
  int64_t value, *values;
  uint32_t count;
  uint8_t flag;
  const hlo_bc_type_t* type;
  switch (form) {
    case HLO_ATTR_FORM_I64:
      HLO_TRY(hlo_bc_svarint(c, &value));
      *out = hlo_attr_int(module, HLO_DTYPE_S64, value);
      break;
    case HLO_ATTR_FORM_DIMS:
      HLO_TRY(hlo_bc_read_svarints(reader, c, &count, &values));
      *out = hlo_attr_ints(module, count, values);
      break;
    case HLO_ATTR_FORM_TYPE:
      HLO_TRY(hlo_bc_read_type(reader, c, &type));
      return hlo_bc_make_type_attr(reader, type, out);
    default:  // BOOL
      HLO_TRY(hlo_bc_byte(c, &flag));
      *out = hlo_attr_bool(module, flag != 0);
      break;
  }
  return hlo_module_status(module);
}

static hlo_status_t read_struct(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const char* mnemonic,
                                const hlo_attr_t** out) {
  enum { FIELDS_MAX = 9 };
  const char* keys[FIELDS_MAX];
  const hlo_attr_t* items[FIELDS_MAX];
  const hlo_struct_attr_t* info = hlo_struct_by_mnemonic(mnemonic, strlen(mnemonic));
  for (uint32_t i = 0; i < info->field_count; ++i) {
    keys[i] = hlo_attr_name(info->fields[i].id);
    HLO_TRY(read_field(reader, c, hlo_attr_form(info->fields[i].id), &items[i]));
  }
  *out = hlo_attr_dict(reader->module, info->field_count, keys, items);
  return hlo_ok();
}

// Reads an attribute after a byte that says whether it is present; NULL if it is absent.
static hlo_status_t read_flagged(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                 const hlo_attr_t** out) {
  uint8_t present;
  HLO_TRY(hlo_bc_byte(c, &present));
  *out = NULL;
  return present ? hlo_bc_read_attr(reader, c, out) : hlo_ok();
}

static hlo_status_t read_other(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                               const hlo_attr_t** out) {
  for (size_t i = 0; i < sizeof structs / sizeof structs[0]; ++i) {
    if (structs[i].code == code) return read_struct(reader, c, structs[i].mnemonic, out);
  }
  return hlo_bc_error(c, "StableHLO attribute code %llu is unknown", (unsigned long long)code);
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
    .mesh_form = &(const hlo_bc_mesh_form_t){.name = hlo_bc_read_string_attr,
                                             .info = read_flagged,
                                             .device_ids = read_flagged,
                                             .axes = hlo_bc_read_array_attr},
    .read_other = read_other,
};

static hlo_status_t read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out) {
  return hlo_bc_read_coded_attr(reader, c, &codes, out);
}

static hlo_status_t read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_type_t* out) {
  uint64_t code;
  HLO_TRY(hlo_bc_varint(c, &code));
  switch (code) {
    case 0: hlo_bc_set_type(out, hlo_type_token(reader->module)); return hlo_ok();
    case 1: return hlo_bc_read_group_type(reader, c, true, out);
    default:
      return hlo_bc_error(c, "StableHLO type code %llu is unknown", (unsigned long long)code);
  }
}

static hlo_status_t read_other_chlo(HLO_UNUSED hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    uint64_t code, HLO_UNUSED const hlo_attr_t** out) {
  return hlo_bc_error(c, "CHLO attribute code %llu is unknown", (unsigned long long)code);
}

static const hlo_bc_attr_codes_t chlo_codes = {
    .enums = chlo_enums,
    .enum_count = sizeof chlo_enums / sizeof chlo_enums[0],
    .read_other = read_other_chlo,
};

static hlo_status_t read_chlo_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   hlo_bc_attr_t* out) {
  return hlo_bc_read_coded_attr(reader, c, &chlo_codes, out);
}

const hlo_bc_dialect_t hlo_bc_dialect_stablehlo = {"stablehlo", read_attr, read_type};
const hlo_bc_dialect_t hlo_bc_dialect_chlo = {"chlo", read_chlo_attr, NULL};
