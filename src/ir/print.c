// SPDX-License-Identifier: Apache-2.0
// The canonical text of modules (see print.h): names, functions, regions, generic ops, locations.

#include <inttypes.h>
#include <string.h>

#include "ir/print_impl.h"

enum { LOC_DEPTH_MAX = 256 };

// ---- Names: values are numbered before anything is printed, in the order of the text

static void name_value(hlo_printer_t* p, const hlo_value_t* value, uint32_t number, bool is_arg) {
  p->names[value->index] = (number << 1 | (is_arg ? 1 : 0)) + 1;
}

static void name_region(hlo_printer_t* p, const hlo_region_t* region);

static void name_node(hlo_printer_t* p, const hlo_node_t* node) {
  if (node->result_count) name_value(p, &node->results[0], p->next_result++, false);
  if (!p->options.generic && hlo_reduce_is_compact(node)) return;
  uint32_t first_arg = p->next_arg;
  bool shared = hlo_while_is_pretty(node);  // both regions of a while share one printed list of
                                            // arguments
  for (uint32_t r = 0; r < node->region_count; ++r) {
    uint32_t resume = p->next_arg;
    if (shared) p->next_arg = first_arg;
    name_region(p, node->regions[r]);
    if (p->next_arg < resume) p->next_arg = resume;
  }
}

static void name_region(hlo_printer_t* p, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    name_value(p, region->args[i], p->next_arg++, true);
  }
  for (const hlo_node_t* node = region->first; node; node = node->next) name_node(p, node);
}

static void name_function(hlo_printer_t* p, const hlo_region_t* body) {
  p->next_result = p->next_arg = 0;
  name_region(p, body);
}

void hlo_print_value_name(hlo_printer_t* p, const hlo_value_t* value) {
  const hlo_value_t* head = value->def ? &value->def->results[0] : value;
  uint32_t name = head->index < p->module->value_count ? p->names[head->index] : 0;
  if (name == 0) {
    hlo_strbuf_puts(p->out, "%unknown");
    return;
  }
  --name;
  hlo_strbuf_printf(p->out, name & 1 ? "%%arg%u" : "%%%u", name >> 1);
  if (value->def && value->def->result_count > 1) hlo_strbuf_printf(p->out, "#%u", value->number);
}

void hlo_print_operands(hlo_printer_t* p, const hlo_node_t* node, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_value_name(p, hlo_node_operand(node, first + i));
  }
}

void hlo_print_newline(hlo_printer_t* p) {
  hlo_strbuf_putc(p->out, '\n');
  for (uint32_t i = 0; i < p->indent; ++i) hlo_strbuf_puts(p->out, "  ");
}

// ---- Locations: files inline, compound ones as aliases after the module

static bool is_compound(const hlo_loc_info_t* info) {
  return info->kind != HLO_LOC_UNKNOWN && info->kind != HLO_LOC_FILE;
}

// Assigns aliases to a compound location and those inside it, children first.
static void alias_loc(hlo_printer_t* p, hlo_loc_t loc, int depth) {
  const hlo_loc_info_t* info = &p->module->locs[loc];
  if (!is_compound(info) || p->loc_aliases[loc] || depth > LOC_DEPTH_MAX) return;
  for (uint32_t i = 0; i < info->child_count; ++i) alias_loc(p, info->children[i], depth + 1);
  p->aliased[p->alias_count] = loc;
  p->loc_aliases[loc] = ++p->alias_count;
}

static void print_loc_ref(hlo_printer_t* p, hlo_loc_t loc) {
  const hlo_loc_info_t* info = &p->module->locs[loc];
  if (info->kind == HLO_LOC_FILE) {
    hlo_print_quoted(p->out, info->text, strlen(info->text));
    hlo_strbuf_printf(p->out, ":%u:%u", info->line, info->col);
  } else if (p->loc_aliases[loc]) {
    hlo_strbuf_printf(p->out, "#loc%u", p->loc_aliases[loc] - 1);
  } else {
    hlo_strbuf_puts(p->out, "unknown");
  }
}

static void print_loc(hlo_printer_t* p, hlo_loc_t loc) {
  if (!p->options.locations || loc >= p->module->loc_count || !p->loc_aliases) return;
  alias_loc(p, loc, 0);
  hlo_strbuf_puts(p->out, " loc(");
  print_loc_ref(p, loc);
  hlo_strbuf_putc(p->out, ')');
}

static void print_loc_body(hlo_printer_t* p, const hlo_loc_info_t* info) {
  switch (info->kind) {
    case HLO_LOC_NAME:
      hlo_print_quoted(p->out, info->text, strlen(info->text));
      if (info->child_count && info->children[0]) {
        hlo_strbuf_putc(p->out, '(');
        print_loc_ref(p, info->children[0]);
        hlo_strbuf_putc(p->out, ')');
      }
      return;
    case HLO_LOC_CALLSITE:
      hlo_strbuf_puts(p->out, "callsite(");
      print_loc_ref(p, info->child_count > 0 ? info->children[0] : 0);
      hlo_strbuf_puts(p->out, " at ");
      print_loc_ref(p, info->child_count > 1 ? info->children[1] : 0);
      hlo_strbuf_putc(p->out, ')');
      return;
    case HLO_LOC_FUSED:
      hlo_strbuf_puts(p->out, "fused[");
      for (uint32_t i = 0; i < info->child_count; ++i) {
        if (i) hlo_strbuf_puts(p->out, ", ");
        print_loc_ref(p, info->children[i]);
      }
      hlo_strbuf_putc(p->out, ']');
      return;
    default: hlo_strbuf_puts(p->out, "unknown"); return;
  }
}

static void print_loc_aliases(hlo_printer_t* p) {
  for (uint32_t i = 0; i < p->alias_count; ++i) {
    hlo_strbuf_printf(p->out, "#loc%u = loc(", i);
    print_loc_body(p, &p->module->locs[p->aliased[i]]);
    hlo_strbuf_puts(p->out, ")\n");
  }
}

// ---- Struct attributes

static bool field_is_default(const hlo_attr_t* attr) {
  if (attr->kind == HLO_ATTR_KIND_INTS) return attr->count == 0;
  return attr->kind == HLO_ATTR_KIND_INT && attr->i == 0;
}

static bool is_required(hlo_op_t op, hlo_attr_id_t id) {
  int slot = hlo_op_attr_slot(op, id);
  return slot >= 0 && hlo_op_info(op)->attrs[slot].required;
}

static void print_field(hlo_printer_t* p, const hlo_attr_t* attr) {
  if (attr->kind == HLO_ATTR_KIND_INTS) {
    hlo_strbuf_putc(p->out, '[');
    hlo_print_int_list(p->out, attr->values, attr->count);
    hlo_strbuf_putc(p->out, ']');
  } else if (attr->kind == HLO_ATTR_KIND_INT) {
    hlo_strbuf_printf(p->out, "%" PRId64, attr->i);
  } else if (attr->kind == HLO_ATTR_KIND_TYPE) {
    hlo_print_element_type(attr->type, p->out);
  } else {
    hlo_print_any_attr(&p->options, attr, p->out);
  }
}

void hlo_print_struct(hlo_printer_t* p, const hlo_node_t* node, const hlo_struct_attr_t* info,
                      bool prefix) {
  if (prefix) hlo_strbuf_printf(p->out, "#%s", info->mnemonic);
  hlo_strbuf_putc(p->out, '<');
  if (hlo_struct_is_conv(info) && hlo_conv_dims_are_plain(node)) {
    hlo_print_conv_dims(node, p->out);
  } else {
    if (hlo_struct_is_conv(info)) hlo_strbuf_puts(p->out, "raw ");
    const char* separator = "";
    for (unsigned f = 0; f < info->field_count; ++f) {
      const hlo_attr_t* attr = hlo_node_attr(node, info->fields[f].id);
      if (!attr && !info->all_fields) continue;
      bool needed = info->all_fields || !is_required(node->op, info->fields[f].id);
      if (!needed && field_is_default(attr)) continue;
      hlo_strbuf_printf(p->out, "%s%s = ", separator, info->fields[f].name);
      separator = ", ";
      if (attr) {
        print_field(p, attr);
      } else {
        hlo_strbuf_putc(p->out, '0');
      }
    }
  }
  hlo_strbuf_putc(p->out, '>');
}

// Computes the role of each dimension: its spatial number, or -1 and -2 for the letters. False if
// the dimension numbers are not a permutation.
static bool conv_part(const hlo_node_t* node, int part, int32_t roles[HLO_RANK_MAX],
                      uint32_t* out_rank) {
  uint32_t count;
  const int64_t* spatial = hlo_node_attr_ints(node, hlo_conv_parts[part].spatial_id, &count);
  if (!spatial || count > HLO_RANK_MAX - 2) return false;
  uint32_t rank = count + 2;
  for (uint32_t i = 0; i < rank; ++i) roles[i] = INT32_MIN;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t position = i < count ? spatial[i]
                       : i == count
                           ? hlo_node_attr_int(node, hlo_conv_parts[part].letter_ids[0], -1)
                           : hlo_node_attr_int(node, hlo_conv_parts[part].letter_ids[1], -1);
    if (position < 0 || position >= rank || roles[position] != INT32_MIN) return false;
    roles[position] = i < count ? (int32_t)i : i == count ? -1 : -2;
  }
  *out_rank = rank;
  return true;
}

bool hlo_conv_dims_are_plain(const hlo_node_t* node) {
  int32_t roles[HLO_RANK_MAX];
  uint32_t rank;
  for (int part = 0; part < 3; ++part) {
    if (!conv_part(node, part, roles, &rank)) return false;
  }
  return true;
}

void hlo_print_conv_dims(const hlo_node_t* node, hlo_strbuf_t* out) {
  for (int part = 0; part < 3; ++part) {
    int32_t roles[HLO_RANK_MAX];
    uint32_t rank = 0;
    if (!conv_part(node, part, roles, &rank)) return;
    hlo_strbuf_puts(out, part == 0 ? "[" : part == 1 ? "x[" : "->[");
    for (uint32_t i = 0; i < rank; ++i) {
      if (i) hlo_strbuf_puts(out, ", ");
      if (roles[i] >= 0) {
        hlo_strbuf_printf(out, "%d", roles[i]);
      } else {
        hlo_strbuf_putc(out, hlo_conv_parts[part].letters[-1 - roles[i]]);
      }
    }
    hlo_strbuf_putc(out, ']');
  }
}

// ---- Attributes of ops

static void print_separator(hlo_printer_t* p, uint32_t* count) {
  if ((*count)++) hlo_strbuf_puts(p->out, ", ");
}

// Prints "name = value, ..." of the op's own attributes (struct attributes regrouped) that are not
// in `shown`; returns their number.
static uint32_t print_op_attrs(hlo_printer_t* p, const hlo_node_t* node,
                               const hlo_attr_set_t* shown) {
  const hlo_op_info_t* info = hlo_op_info(node->op);
  hlo_attr_set_t done = {0};
  if (shown) done = *shown;
  uint32_t count = 0;
  for (int slot = 0; slot < info->attr_count; ++slot) {
    hlo_attr_id_t id = info->attrs[slot].id;
    const hlo_attr_t* attr = node->attrs[slot];
    if (!attr || hlo_attr_set_has(&done, id)) continue;
    print_separator(p, &count);
    const hlo_struct_attr_t* parent = hlo_op_struct_of(node->op, id);
    if (parent) {
      for (unsigned f = 0; f < parent->field_count; ++f) {
        hlo_attr_set_add(&done, parent->fields[f].id);
      }
      hlo_strbuf_printf(p->out, "%s = ", parent->name);
      hlo_print_struct(p, node, parent, true);
      continue;
    }
    hlo_strbuf_puts(p->out, hlo_attr_text_name(id));
    if (attr->kind == HLO_ATTR_KIND_UNIT) continue;
    hlo_strbuf_puts(p->out, " = ");
    hlo_print_op_attr(p, attr, node->op, id);
  }
  return count;
}

static uint32_t print_extra(hlo_printer_t* p, const hlo_attr_t* extra, uint32_t count) {
  for (uint32_t i = 0; extra && i < extra->count; ++i) {
    print_separator(p, &count);
    hlo_print_key(p->out, extra->keys[i]);
    if (extra->items[i]->kind == HLO_ATTR_KIND_UNIT) continue;
    hlo_strbuf_puts(p->out, " = ");
    hlo_print_any_attr(&p->options, extra->items[i], p->out);
  }
  return count;
}

void hlo_print_attr_dict(hlo_printer_t* p, const hlo_node_t* node, const hlo_attr_set_t* shown,
                         const char* keyword) {
  size_t start = p->out->length;
  hlo_strbuf_puts(p->out, keyword);
  hlo_strbuf_puts(p->out, " {");
  uint32_t count = print_op_attrs(p, node, shown);
  count = print_extra(p, node->extra, count);
  if (count) {
    hlo_strbuf_putc(p->out, '}');
  } else if (!p->out->failed) {  // nothing was printed: drop the bracket
    p->out->length = start;
    p->out->data[start] = 0;
  }
}

// ---- Nodes and regions

void hlo_print_signature(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(hlo_node_operand_type(node, i), p->out);
  }
  bool bare = node->result_count == 1 && node->results[0].type->kind != HLO_TYPE_FUNCTION;
  hlo_strbuf_puts(p->out, bare ? ") -> " : ") -> (");
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(node->results[i].type, p->out);
  }
  if (!bare) hlo_strbuf_putc(p->out, ')');
}

void hlo_print_region_args(hlo_printer_t* p, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_value_name(p, region->args[i]);
    hlo_strbuf_puts(p->out, ": ");
    hlo_print_type(region->args[i]->type, p->out);
  }
}

void hlo_print_region(hlo_printer_t* p, const hlo_region_t* region) {
  hlo_strbuf_putc(p->out, '{');
  if (region->arg_count) {
    hlo_print_newline(p);
    hlo_strbuf_puts(p->out, "^bb0(");
    hlo_print_region_args(p, region);
    hlo_strbuf_puts(p->out, "):");
  }
  hlo_print_region_body(p, region);
  hlo_print_newline(p);
  hlo_strbuf_putc(p->out, '}');
}

static void print_generic(hlo_printer_t* p, const hlo_node_t* node) {
  hlo_print_quoted(p->out, hlo_op_info(node->op)->name, strlen(hlo_op_info(node->op)->name));
  hlo_strbuf_putc(p->out, '(');
  hlo_print_operands(p, node, 0, node->operand_count);
  hlo_strbuf_putc(p->out, ')');
  size_t start = p->out->length;
  hlo_strbuf_puts(p->out, " <{");
  if (print_op_attrs(p, node, NULL)) {
    hlo_strbuf_puts(p->out, "}>");
  } else if (!p->out->failed) {
    p->out->length = start;
    p->out->data[start] = 0;
  }
  for (uint32_t r = 0; r < node->region_count; ++r) {
    hlo_strbuf_puts(p->out, r ? ", " : " (");
    hlo_print_region(p, node->regions[r]);
  }
  if (node->region_count) hlo_strbuf_putc(p->out, ')');
  if (node->extra && node->extra->count) {
    hlo_strbuf_puts(p->out, " {");
    print_extra(p, node->extra, 0);
    hlo_strbuf_putc(p->out, '}');
  }
  hlo_strbuf_puts(p->out, " : ");
  hlo_print_signature(p, node);
}

// In a function's body "return" and "call" need no dialect.
static void print_pretty_name(hlo_printer_t* p, const hlo_node_t* node) {
  const char* name = hlo_op_info(node->op)->name;
  bool in_function = node->parent && !node->parent->parent && node->parent->func;
  if (in_function && strncmp(name, "func.", 5) == 0) name += 5;
  hlo_strbuf_puts(p->out, name);
}

static void print_node(hlo_printer_t* p, const hlo_node_t* node) {
  if (node->result_count) {
    uint32_t name = p->names[node->results[0].index];
    hlo_strbuf_printf(p->out, "%%%u", (name - 1) >> 1);
    if (node->result_count > 1) hlo_strbuf_printf(p->out, ":%u", node->result_count);
    hlo_strbuf_puts(p->out, " = ");
  }
  if (hlo_node_is_poison(node)) {
    hlo_strbuf_puts(p->out, "\"hlo.poison\"() : () -> ()");
    return;
  }
  size_t start = p->out->length;
  bool pretty = false;
  if (!p->options.generic) {
    print_pretty_name(p, node);
    pretty = hlo_print_pretty(p, node);
  }
  if (!pretty) {
    if (!p->out->failed && p->out->data) p->out->data[p->out->length = start] = 0;
    print_generic(p, node);
  }
  print_loc(p, node->loc);
}

hlo_strbuf_t* hlo_print_comment(hlo_printer_t* p) {
  hlo_print_newline(p);
  hlo_strbuf_puts(p->out, "// ");
  return p->out;
}

static void print_note(hlo_printer_t* p, const hlo_value_t* value) {
  if (p->options.note) p->options.note(p->options.note_context, p, value);
}

void hlo_print_region_body(hlo_printer_t* p, const hlo_region_t* region) {
  ++p->indent;
  for (uint32_t i = 0; i < region->arg_count; ++i) print_note(p, region->args[i]);
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    hlo_print_newline(p);
    print_node(p, node);
    for (uint32_t i = 0; i < node->result_count; ++i) print_note(p, &node->results[i]);
  }
  --p->indent;
}

// ---- Functions and modules

static void print_func_attrs(hlo_printer_t* p, const hlo_attr_t* attrs) {
  if (!attrs || attrs->count == 0) return;
  hlo_strbuf_putc(p->out, ' ');
  hlo_print_any_attr(&p->options, attrs, p->out);
}

static void print_func_results(hlo_printer_t* p, const hlo_func_t* func) {
  const hlo_type_t* type = func->type;
  uint32_t count = type->element_count - type->input_count;
  if (count == 0) return;
  bool attrs = false;
  for (uint32_t i = 0; func->result_attrs && i < count; ++i) {
    attrs |= func->result_attrs[i] && func->result_attrs[i]->count;
  }
  bool bare = count == 1 && !attrs && type->elements[type->input_count]->kind != HLO_TYPE_FUNCTION;
  hlo_strbuf_puts(p->out, bare ? " -> " : " -> (");
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_print_type(type->elements[type->input_count + i], p->out);
    if (func->result_attrs) print_func_attrs(p, func->result_attrs[i]);
  }
  if (!bare) hlo_strbuf_putc(p->out, ')');
}

static void print_func(hlo_printer_t* p, const hlo_func_t* func) {
  static const char* const kVisibility[] = {
      [HLO_PUBLIC] = "", [HLO_PRIVATE] = "private ", [HLO_NESTED] = "nested "};
  if (func->body) name_function(p, func->body);
  hlo_print_newline(p);
  hlo_strbuf_printf(p->out, "func.func %s", kVisibility[func->visibility]);
  hlo_print_symbol(p->out, func->name);
  hlo_strbuf_putc(p->out, '(');
  for (uint32_t i = 0; i < func->type->input_count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    if (func->body) {
      hlo_print_value_name(p, func->body->args[i]);
      hlo_strbuf_puts(p->out, ": ");
    }
    hlo_print_type(func->type->elements[i], p->out);
    if (func->arg_attrs) print_func_attrs(p, func->arg_attrs[i]);
  }
  hlo_strbuf_putc(p->out, ')');
  print_func_results(p, func);
  if (func->extra && func->extra->count) {
    hlo_strbuf_puts(p->out, " attributes");
    print_func_attrs(p, func->extra);
  }
  if (func->body) {
    hlo_strbuf_puts(p->out, " {");
    hlo_print_region_body(p, func->body);
    hlo_print_newline(p);
    hlo_strbuf_putc(p->out, '}');
  }
  print_loc(p, func->loc);
}

static bool printer_init(hlo_printer_t* p, const hlo_module_t* module,
                         const hlo_print_options_t* options, hlo_strbuf_t* out) {
  *p = (hlo_printer_t){.out = out, .module = module};
  if (options) p->options = *options;
  p->names = hlo_mem_alloc_zeroed((size_t)(module->value_count + 1) * sizeof *p->names);
  if (p->options.locations) {
    p->loc_aliases = hlo_mem_alloc_zeroed(module->loc_count * sizeof *p->loc_aliases);
    p->aliased = hlo_mem_alloc_zeroed(module->loc_count * sizeof *p->aliased);
  }
  if (!p->names || (p->options.locations && (!p->loc_aliases || !p->aliased))) out->failed = true;
  return !out->failed;
}

static void printer_deinit(hlo_printer_t* p) {
  hlo_mem_free(p->names);
  hlo_mem_free(p->loc_aliases);
  hlo_mem_free(p->aliased);
}

void hlo_print_module(const hlo_module_t* module, const hlo_print_options_t* options,
                      hlo_strbuf_t* out) {
  hlo_printer_t p;
  void* locale = hlo_text_locale_begin();
  if (printer_init(&p, module, options, out)) {
    hlo_strbuf_puts(out, "module ");
    if (module->name) {
      hlo_print_symbol(out, module->name);
      hlo_strbuf_putc(out, ' ');
    }
    if (module->extra && module->extra->count) {
      hlo_strbuf_puts(out, "attributes ");
      hlo_print_any_attr(&p.options, module->extra, out);
      hlo_strbuf_putc(out, ' ');
    }
    hlo_strbuf_putc(out, '{');
    name_function(&p, module->top);
    hlo_print_region_body(&p, module->top);
    ++p.indent;
    for (const hlo_func_t* func = module->first_func; func; func = func->next) {
      print_func(&p, func);
    }
    hlo_strbuf_puts(out, "\n}\n");
    print_loc_aliases(&p);
  }
  printer_deinit(&p);
  hlo_text_locale_end(locale);
}

void hlo_print_node(const hlo_module_t* module, const hlo_node_t* node,
                    const hlo_print_options_t* options, hlo_strbuf_t* out) {
  hlo_printer_t p;
  void* locale = hlo_text_locale_begin();
  if (printer_init(&p, module, options, out)) {
    const hlo_region_t* outermost = node->parent;
    while (outermost && outermost->parent && outermost->parent->parent) {
      outermost = outermost->parent->parent;
    }
    if (outermost) {
      name_function(&p, outermost);
    } else {
      name_node(&p, node);
    }
    print_node(&p, node);
    if (p.alias_count) hlo_strbuf_putc(out, '\n');
    print_loc_aliases(&p);
  }
  printer_deinit(&p);
  hlo_text_locale_end(locale);
}
