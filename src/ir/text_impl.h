// SPDX-License-Identifier: Apache-2.0
// Tables shared by printer and parser of MLIR text (private to ir): the pretty form of each op and
// the struct attributes that modules store flattened.
#pragma once

#include "ir/module.h"

/// The deepest nesting of regions and attributes in text.
#define HLO_TEXT_DEPTH_MAX 256

/// Returns the pretty form of an op (see asm.def), or NULL for the generic form only.
const char* hlo_asm_format(hlo_op_t op);

/// Finds the next word of a pretty form; false at the end. Single blanks separate words.
bool hlo_asm_next_word(const char** cursor, const char** out_word, size_t* out_length);

/// Returns the struct attribute of an op by its name in text, or NULL.
const hlo_struct_attr_t* hlo_op_struct_named(hlo_op_t op, const char* name, size_t length);
/// Returns true for the struct with the [b, 0, f]x[0, i, o]->[b, 0, f] notation.
bool hlo_struct_is_conv(const hlo_struct_attr_t* info);

/// One of the three brackets of "[b, 0, f]x[0, i, o]->[b, 0, f]": the attributes with the positions
/// of the two letters and of the spatial dimensions.
typedef struct hlo_conv_part {
  hlo_attr_id_t letter_ids[2];
  hlo_attr_id_t spatial_id;
  const char* letters;
} hlo_conv_part_t;
extern const hlo_conv_part_t hlo_conv_parts[3];

/// A word of "window = {...}" and its attribute.
typedef struct hlo_window_part {
  const char* name;
  hlo_attr_id_t id;
} hlo_window_part_t;
enum { HLO_WINDOW_PART_COUNT = 5 };
extern const hlo_window_part_t hlo_window_parts[HLO_WINDOW_PART_COUNT];

/// The axes of one of Shardy's collectives, as written after the op's name.
typedef struct hlo_axes_notation {
  hlo_op_t op;
  hlo_attr_id_t id;
  const char* prefix;  // of the OPAQUE attribute, before the bracket
  char open;
} hlo_axes_notation_t;
/// Returns NULL for ops that are not written so.
const hlo_axes_notation_t* hlo_axes_notation(hlo_op_t op);

/// Names of the values of Shardy's enumerations, which are integers in modules.
enum { HLO_DIRECTION_COUNT = 4, HLO_REDUCTION_COUNT = 3 };
extern const char* const hlo_direction_names[HLO_DIRECTION_COUNT];
extern const char* const hlo_reduction_names[HLO_REDUCTION_COUNT];

/// Returns the name of an op's attribute in MLIR text (a few differ from the table's).
const char* hlo_attr_text_name(hlo_attr_id_t id);
/// Returns the attribute of a name in MLIR text; HLO_ATTR_COUNT if it is unknown.
hlo_attr_id_t hlo_attr_from_text_name(const char* name, size_t length);

static inline bool hlo_text_same(const char* name, const char* text, size_t length) {
  return __builtin_strncmp(name, text, length) == 0 && name[length] == 0;
}

/// Returns true for names that need no quotes: [A-Za-z_][A-Za-z0-9_$.]*
bool hlo_text_is_bare(const char* text, size_t length);
