// SPDX-License-Identifier: Apache-2.0
// Helpers that the files of the HLO text reader share: a cursor that reads characters and small
// notations.
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "frontend/hlo/build.h"

enum { HLO_TEXT_DEPTH = 64 };  // nested shapes and braces

typedef struct hlo_text_instruction {
  hlo_desc_instruction_t desc;
  struct hlo_text_instruction* next;
} hlo_text_instruction_t;

typedef struct hlo_text {
  const char* next;
  const char* end;
  hlo_arena_t* arena;
  hlo_elided_t elided;
  hlo_desc_module_t* module;
  hlo_map_t computations;  // name to hlo_desc_computation_t*, complete ones only
  HLO_VEC(hlo_desc_computation_t) list;
  // The current computation: its instructions, first to last, in a separate arena, and a map from
  // their names to ids.
  hlo_arena_t scratch;
  hlo_text_instruction_t* first;
  hlo_text_instruction_t** last;
  size_t instruction_count;
  hlo_map_t names;
  // The position up to which lines were counted, the start of its line, and its line number.
  const char* counted;
  const char* line_start;
  uint32_t line;
} hlo_text_t;

// ---- attributes, for the reader and the printer

typedef enum hlo_notation {
  HLO_NOTE_INT,
  HLO_NOTE_INT32,
  HLO_NOTE_BOOL,
  HLO_NOTE_FLOAT,
  HLO_NOTE_STRING,     // "quoted"
  HLO_NOTE_WORD,       // a bare word, or text in braces
  HLO_NOTE_ENUM,       // a case of an enumeration
  HLO_NOTE_RNG_ENUM,   // ... in lower case after "rng_"
  HLO_NOTE_ALGORITHM,  // of a dot (algorithm.h)
  HLO_NOTE_INTS,
  HLO_NOTE_BOOLS,      // {true,false}
  HLO_NOTE_INT_LISTS,  // {{1,2},{3}}, concatenated; never written
  HLO_NOTE_DIM,        // one number of a list
  HLO_NOTE_CALL,       // a computation, at position `index` of the called ones
  HLO_NOTE_CALLS,
  HLO_NOTE_WINDOW,
  HLO_NOTE_DIM_LABELS,
  HLO_NOTE_PADDING,
  HLO_NOTE_SLICE,
  HLO_NOTE_GROUPS,
  HLO_NOTE_PAIRS,
  HLO_NOTE_SHAPES,
  HLO_NOTE_ALIASES,
  HLO_NOTE_METADATA,
  HLO_NOTE_PRECISION,
  HLO_NOTE_ORDER,
  HLO_NOTE_STRING_MAP,
  HLO_NOTE_SKIP,  // ignored
} hlo_notation_t;

enum { HLO_TEXT_NO_OUTER = 0xffff };

typedef struct hlo_text_row {
  const char* name;
  const char* opcodes;  // those that print it, always, separated by blanks; NULL: any opcode,
                        // unless zero
  hlo_notation_t notation;
  uint16_t outer, outer_bytes;  // pointer to the struct that contains the field, created on demand
  uint16_t offset;
  uint16_t index;  // CALL: the position; ENUM, RNG_ENUM: the enumeration
} hlo_text_row_t;

/// The rows in the order of printing. A name may have several rows for different opcodes.
extern const hlo_text_row_t hlo_text_rows[];
extern const size_t hlo_text_row_count;
/// Returns true if the row names the opcode.
bool hlo_text_row_is_of(const hlo_text_row_t* row, hlo_wire_bytes_t opcode);

/// Parts of window={...} and their offsets in the struct of one dimension.
typedef enum hlo_window_form { HLO_WINDOW_INT, HLO_WINDOW_PAIR, HLO_WINDOW_BOOL } hlo_window_form_t;
typedef struct hlo_text_window_part {
  const char* name;
  hlo_window_form_t form;
  uint16_t offset;
  int64_t usual;  // not printed if all dimensions have it
} hlo_text_window_part_t;
enum { HLO_TEXT_WINDOW_PARTS = 6 };
extern const hlo_text_window_part_t hlo_text_window_parts[HLO_TEXT_WINDOW_PARTS];

// ---- reading

/// Returns INVALID_ARGUMENT at the cursor's location.
hlo_status_t hlo_text_error(const hlo_text_t* t, const char* format, ...)
    HLO_PRINTF(2, 3) HLO_MUST_USE HLO_COLD;
/// Skips white space and comments.
void hlo_text_skip(hlo_text_t* t);
/// Skips blanks, then consumes `word` if it is next (a word must end there).
bool hlo_text_take(hlo_text_t* t, const char* word);
hlo_status_t hlo_text_expect(hlo_text_t* t, const char* word) HLO_MUST_USE;
/// Returns the next character after blanks, 0 at the end.
char hlo_text_peek(hlo_text_t* t);
/// Reads a name: letters, digits, "_.-$" and a leading "%", which is dropped.
hlo_status_t hlo_text_name(hlo_text_t* t, hlo_wire_bytes_t* out_name) HLO_MUST_USE;
hlo_status_t hlo_text_int(hlo_text_t* t, int64_t* out_value) HLO_MUST_USE;
/// Reads a number with an optional fraction and exponent, or nan or inf.
hlo_status_t hlo_text_float(hlo_text_t* t, float* out_value) HLO_MUST_USE;
/// Reads a quoted string and resolves its escapes, or text in balanced braces unchanged, or a bare
/// word.
hlo_status_t hlo_text_string(hlo_text_t* t, hlo_wire_bytes_t* out_text) HLO_MUST_USE;
/// Reads {1,2,3} as int64_t.
hlo_status_t hlo_text_ints(hlo_text_t* t, hlo_wire_array_t* out_values) HLO_MUST_USE;
/// Reads "(1, {0}": the number of a parameter or operand and an index into its tuple.
hlo_status_t hlo_text_position(hlo_text_t* t, int64_t* out_number,
                               hlo_wire_array_t* out_index) HLO_MUST_USE;
/// Reads {key="value", ...}.
hlo_status_t hlo_text_string_map(hlo_text_t* t, hlo_desc_string_map_t** out_map) HLO_MUST_USE;
/// Skips a value: a word, a string, a shape, or anything in balanced braces or parentheses.
hlo_status_t hlo_text_skip_value(hlo_text_t* t) HLO_MUST_USE;
/// Appends a zeroed item to an array that grows in the arena.
void* hlo_text_push(hlo_text_t* t, hlo_wire_array_t* array, size_t item_bytes);
/// Appends a copy of an item.
hlo_status_t hlo_text_append(hlo_text_t* t, hlo_wire_array_t* array, const void* item,
                             size_t item_bytes) HLO_MUST_USE;
/// Reads an integer and appends it to an array of int64_t.
hlo_status_t hlo_text_append_int(hlo_text_t* t, hlo_wire_array_t* array) HLO_MUST_USE;
hlo_status_t hlo_text_shape(hlo_text_t* t, hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// Returns true if a shape, not a name, is next.
bool hlo_text_at_shape(hlo_text_t* t);
/// Reads the literal of a constant, up to its closing parenthesis.
hlo_status_t hlo_text_literal(hlo_text_t* t, const hlo_desc_shape_t* shape,
                              hlo_desc_literal_t* out_literal) HLO_MUST_USE;
/// Reads ", name=value, ..." after the operands.
hlo_status_t hlo_text_attributes(hlo_text_t* t, hlo_desc_instruction_t* in) HLO_MUST_USE;
