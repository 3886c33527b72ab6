// SPDX-License-Identifier: Apache-2.0
// The state of printing one module, shared by the print*.c files (private to ir).
#pragma once

#include "ir/print.h"
#include "ir/text_impl.h"

struct hlo_printer {
  hlo_strbuf_t* out;
  hlo_print_options_t options;
  const hlo_module_t* module;
  // Names of values, by value index: (number << 1 | is_argument) + 1; 0 if unnamed.
  uint32_t* names;
  uint32_t next_result, next_arg;
  uint32_t indent;
  // Aliases of compound locations, by location: alias number + 1; 0 if it has no alias.
  uint32_t* loc_aliases;
  hlo_loc_t* aliased;  // in order of alias number
  uint32_t alias_count;
};

/// Prints "%0, %1", the operands in [first, first + count).
void hlo_print_operands(hlo_printer_t* p, const hlo_node_t* node, uint32_t first, uint32_t count);
/// Prints "{", arguments if there are any, nodes, "}".
void hlo_print_region(hlo_printer_t* p, const hlo_region_t* region);
/// Prints only the nodes, one per line, one level deeper.
void hlo_print_region_body(hlo_printer_t* p, const hlo_region_t* region);
/// Prints "<a = 1, b = [2]>" of a struct attribute, with "#mnemonic" in front on request.
void hlo_print_struct(hlo_printer_t* p, const hlo_node_t* node, const hlo_struct_attr_t* info,
                      bool prefix);
void hlo_print_newline(hlo_printer_t* p);
/// Prints "%arg0: type" of every argument.
void hlo_print_region_args(hlo_printer_t* p, const hlo_region_t* region);
/// Prints "(types) -> types".
void hlo_print_signature(hlo_printer_t* p, const hlo_node_t* node);
/// Prints " {...}" of the attributes that are not in `shown`, and the discardable ones; "" if there
/// are no such attributes. `keyword` ("attributes") goes in front if given.
typedef struct hlo_attr_set {
  uint64_t words[(HLO_ATTR_COUNT + 63) / 64];
} hlo_attr_set_t;
static inline void hlo_attr_set_add(hlo_attr_set_t* set, hlo_attr_id_t id) {
  set->words[id / 64] |= (uint64_t)1 << (id % 64);
}
static inline bool hlo_attr_set_has(const hlo_attr_set_t* set, hlo_attr_id_t id) {
  return set->words[id / 64] >> (id % 64) & 1;
}
void hlo_print_attr_dict(hlo_printer_t* p, const hlo_node_t* node, const hlo_attr_set_t* shown,
                         const char* keyword);
/// Prints the value of an op's attribute in the form that attrs.def declares.
void hlo_print_op_attr(hlo_printer_t* p, const hlo_attr_t* attr, hlo_op_t op, hlo_attr_id_t id);

/// Prints the op after its name in pretty form; false (nothing printed) if it needs the generic
/// form.
bool hlo_print_pretty(hlo_printer_t* p, const hlo_node_t* node);
/// Returns true for a reduce whose body is one commutative op on its arguments ("applies" form).
bool hlo_reduce_is_compact(const hlo_node_t* node);
/// Returns true for a while whose regions' arguments have the operands' types.
bool hlo_while_is_pretty(const hlo_node_t* node);

/// Details shared by the print*.c files.
void hlo_print_quoted(hlo_strbuf_t* out, const char* text, size_t length);
void hlo_print_symbol(hlo_strbuf_t* out, const char* text);
void hlo_print_key(hlo_strbuf_t* out, const char* key);
void hlo_print_int_list(hlo_strbuf_t* out, const int64_t* values, uint32_t count);
void hlo_print_float(hlo_strbuf_t* out, hlo_dtype_t dtype, const void* element);
void hlo_print_element_type(const hlo_type_t* type, hlo_strbuf_t* out);
void hlo_print_conv_dims(const hlo_node_t* node, hlo_strbuf_t* out);
/// Returns true if the node's dimension numbers can be written as [b, 0, f]x[0, i, o]->[b, 0, f].
bool hlo_conv_dims_are_plain(const hlo_node_t* node);
/// Prints an attribute; literals above options->elide_literals_above are elided.
void hlo_print_any_attr(const hlo_print_options_t* options, const hlo_attr_t* attr,
                        hlo_strbuf_t* out);
