// SPDX-License-Identifier: Apache-2.0
// What the files of the HLO text reader share: a cursor that reads characters and small notations.
#ifndef HLO_FRONTEND_HLO_TEXT_IMPL_H_
#define HLO_FRONTEND_HLO_TEXT_IMPL_H_

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
  hlo_desc_module_t* module;
  hlo_map_t computations;  // name to hlo_desc_computation_t*, those that are complete
  HLO_VEC(hlo_desc_computation_t) list;
  // The computation being read: its instructions, first to last, in an arena of their own, and
  // their names, to the id.
  hlo_arena_t scratch;
  hlo_text_instruction_t* first;
  hlo_text_instruction_t** last;
  size_t instruction_count;
  hlo_map_t names;
  // The place up to which lines were counted, its line, and where that begins.
  const char* counted;
  const char* line_start;
  uint32_t line;
} hlo_text_t;

/// INVALID_ARGUMENT; the place is the cursor's.
hlo_status_t hlo_text_error(const hlo_text_t* t, const char* format, ...)
    HLO_PRINTF(2, 3) HLO_MUST_USE;
/// Skips white space and comments.
void hlo_text_skip(hlo_text_t* t);
/// Skips blanks, then takes `word` if it is next (a word must end there).
bool hlo_text_take(hlo_text_t* t, const char* word);
hlo_status_t hlo_text_expect(hlo_text_t* t, const char* word) HLO_MUST_USE;
/// The next character after blanks, 0 at the end.
char hlo_text_peek(hlo_text_t* t);
/// A name: letters, digits, "_.-$" and a leading "%", which is dropped.
hlo_status_t hlo_text_name(hlo_text_t* t, hlo_wire_bytes_t* out_name) HLO_MUST_USE;
hlo_status_t hlo_text_int(hlo_text_t* t, int64_t* out_value) HLO_MUST_USE;
/// "quoted" with escapes resolved, or text in balanced braces as it stands, or a bare word.
hlo_status_t hlo_text_string(hlo_text_t* t, hlo_wire_bytes_t* out_text) HLO_MUST_USE;
/// {1,2,3}, int64_t.
hlo_status_t hlo_text_ints(hlo_text_t* t, hlo_wire_array_t* out_values) HLO_MUST_USE;
/// Skips a value: a word, a string, a shape, or anything in balanced braces or parentheses.
hlo_status_t hlo_text_skip_value(hlo_text_t* t) HLO_MUST_USE;
/// Appends a zeroed item to an array that grows in the arena.
void* hlo_text_push(hlo_text_t* t, hlo_wire_array_t* array, size_t item_bytes);
hlo_status_t hlo_text_shape(hlo_text_t* t, hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// True if a shape and not a name is next.
bool hlo_text_at_shape(hlo_text_t* t);
/// The literal of a constant, up to its closing parenthesis.
hlo_status_t hlo_text_literal(hlo_text_t* t, const hlo_desc_shape_t* shape,
                              hlo_desc_literal_t* out_literal) HLO_MUST_USE;
/// ", name=value, ..." behind the operands.
hlo_status_t hlo_text_attributes(hlo_text_t* t, hlo_desc_instruction_t* in) HLO_MUST_USE;

#endif  // HLO_FRONTEND_HLO_TEXT_IMPL_H_
