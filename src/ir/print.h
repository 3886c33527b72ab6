// SPDX-License-Identifier: Apache-2.0
// The canonical text of modules: StableHLO in MLIR syntax, which parse.h reads back to
// an equal module.
#pragma once

#include "ir/module.h"

typedef struct hlo_printer hlo_printer_t;

typedef struct hlo_print_options {
  bool locations;                // trailing loc(...)
  bool generic;                  // every op in generic form
  int64_t elide_literals_above;  // elements; 0: never elide (elided text cannot be parsed back)
  /// Called after the text of each op with results, and where a body begins for its arguments, to
  /// print comments on a value (hlo_print_comment()); NULL: none.
  void (*note)(void* context, hlo_printer_t* printer, const hlo_value_t* value);
  void* note_context;
} hlo_print_options_t;

/// Begins a line of comment and returns the text, to which the caller appends.
hlo_strbuf_t* hlo_print_comment(hlo_printer_t* printer);
/// Appends the name of a value in this text, %0#1.
void hlo_print_value_name(hlo_printer_t* printer, const hlo_value_t* value);

void hlo_print_module(const hlo_module_t* module, const hlo_print_options_t* options,
                      hlo_strbuf_t* out);
void hlo_print_node(const hlo_module_t* module, const hlo_node_t* node,
                    const hlo_print_options_t* options, hlo_strbuf_t* out);
void hlo_print_type(const hlo_type_t* type, hlo_strbuf_t* out);
void hlo_print_attr(const hlo_attr_t* attr, hlo_strbuf_t* out);
/// Prints the elements of a literal as `dense<...>` content.
void hlo_print_literal(const hlo_literal_t* literal, hlo_strbuf_t* out);

/// Switches to the C locale, in which numbers are printed and parsed, whatever the caller's locale;
/// undo with hlo_text_locale_end().
void* hlo_text_locale_begin(void);
void hlo_text_locale_end(void* previous);
