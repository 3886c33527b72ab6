// SPDX-License-Identifier: Apache-2.0
// Helpers that the writers of HLO text share.
#pragma once

#include "base/strbuf.h"
#include "frontend/hlo/hlo.h"
#include "frontend/hlo/text_impl.h"

typedef struct hlo_hlo_printer {
  hlo_strbuf_t* out;
  hlo_hlo_print_options_t options;
  const hlo_desc_module_t* module;
  const hlo_wire_bytes_t* names;  // of instructions, by id
} hlo_hlo_printer_t;

void hlo_hlo_print_bytes(hlo_hlo_printer_t* p, hlo_wire_bytes_t bytes);
/// {1,2,3}
void hlo_hlo_print_ints(hlo_hlo_printer_t* p, const hlo_wire_array_t* ints);
/// f32[2,3]{1,0}; the layout is optional.
void hlo_hlo_print_shape(hlo_hlo_printer_t* p, const hlo_desc_shape_t* shape, bool layout);
/// {key="value", ...}
void hlo_hlo_print_string_map(hlo_hlo_printer_t* p, const hlo_desc_string_map_t* map);
/// {{0}: (1, {}), ...}
void hlo_hlo_print_alias(hlo_hlo_printer_t* p, const hlo_wire_array_t* from, int64_t number,
                         const hlo_wire_array_t* to, const char* kind);
/// Prints the elements of a constant.
void hlo_hlo_print_literal(hlo_hlo_printer_t* p, const hlo_desc_shape_t* shape,
                           const hlo_desc_literal_t* literal);
/// Prints ", name=value, ..." of an instruction.
void hlo_hlo_print_attributes(hlo_hlo_printer_t* p, const hlo_desc_instruction_t* in);
