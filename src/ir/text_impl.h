// SPDX-License-Identifier: Apache-2.0
// What printer and parser of MLIR text share (private to ir): the pretty form of each op and the
// struct attributes that modules keep flattened.
#ifndef HLO_IR_TEXT_IMPL_H_
#define HLO_IR_TEXT_IMPL_H_

#include "ir/module.h"

/// Regions and attributes nest at most this deep in text.
#define HLO_TEXT_DEPTH_MAX 256

/// The pretty form of an op (see asm.def), or NULL: generic form only.
const char* hlo_asm_format(hlo_op_t op);

/// The next word of a pretty form: its first byte and length; false at the end. Words are separated
/// by single blanks.
bool hlo_asm_next_word(const char** cursor, const char** out_word, size_t* out_length);

typedef struct hlo_struct_field {
  const char* name;  // inside the struct
  hlo_attr_id_t id;  // of the op
} hlo_struct_field_t;

/// An attribute such as `dimension_numbers = #stablehlo.gather<...>`, kept as one attribute a
/// field.
typedef struct hlo_struct_attr {
  const char* name;      // of the op's attribute in text
  const char* mnemonic;  // "stablehlo.gather"
  bool all_fields;       // every field is written and needed, in this order
  uint8_t field_count;
  const hlo_struct_field_t* fields;  // the first one tells the ops that have the struct
} hlo_struct_attr_t;

/// The struct attribute of an op under its name in text, or NULL.
const hlo_struct_attr_t* hlo_op_struct_named(hlo_op_t op, const char* name, size_t length);
/// Any struct attribute by mnemonic, or NULL.
const hlo_struct_attr_t* hlo_struct_by_mnemonic(const char* mnemonic, size_t length);
/// The struct attribute that holds `id` of an op, or NULL.
const hlo_struct_attr_t* hlo_op_struct_of(hlo_op_t op, hlo_attr_id_t id);
/// True for the struct with the [b, 0, f]x[0, i, o]->[b, 0, f] notation.
bool hlo_struct_is_conv(const hlo_struct_attr_t* info);

/// The three brackets of dimension numbers, "[b, 0, f]x[0, i, o]->[b, 0, f]": the attributes that
/// hold the places of the two letters and of the spatial dimensions.
typedef struct hlo_conv_part {
  hlo_attr_id_t letter_ids[2];
  hlo_attr_id_t spatial_id;
  const char* letters;
} hlo_conv_part_t;
extern const hlo_conv_part_t hlo_conv_parts[3];

/// Words of "window = {...}" and their attributes.
typedef struct hlo_window_part {
  const char* name;
  hlo_attr_id_t id;
} hlo_window_part_t;
enum { HLO_WINDOW_PART_COUNT = 5 };
extern const hlo_window_part_t hlo_window_parts[HLO_WINDOW_PART_COUNT];

/// Name of an op's attribute in MLIR text (a few differ from the table's).
const char* hlo_attr_text_name(hlo_attr_id_t id);
/// The inverse; HLO_ATTR_COUNT when unknown.
hlo_attr_id_t hlo_attr_from_text_name(const char* name, size_t length);

static inline bool hlo_text_same(const char* name, const char* text, size_t length) {
  return __builtin_strncmp(name, text, length) == 0 && name[length] == 0;
}

/// True for names that need no quotes: [A-Za-z_][A-Za-z0-9_$.]*
bool hlo_text_is_bare(const char* text, size_t length);

#endif  // HLO_IR_TEXT_IMPL_H_
