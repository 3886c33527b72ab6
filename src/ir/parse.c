// SPDX-License-Identifier: Apache-2.0
// Modules and functions of MLIR text (see parse.h).

#include <string.h>

#include "ir/parse_impl.h"

// The module's arena and scratch memory together use at most 16 MiB + 64x the text.
enum { LIMIT_BYTES = 16 << 20, LIMIT_FACTOR = 64, SCRATCH_SHARE = 4 };

// ---- Functions

static bool parse_visibility(hlo_parser_t* p, hlo_visibility_t* out_visibility) {
  *out_visibility = HLO_PUBLIC;
  if (hlo_accept_word(p, "private")) {
    *out_visibility = HLO_PRIVATE;
  } else if (hlo_accept_word(p, "nested")) {
    *out_visibility = HLO_NESTED;
  } else {
    hlo_accept_word(p, "public");
  }
  return true;
}

// An empty dictionary counts as absent.
static bool parse_dict(hlo_parser_t* p, const hlo_attr_t** out_dict) {
  const hlo_attr_t* dict = hlo_parse_dict(p);
  *out_dict = dict && dict->count ? dict : NULL;
  return dict != NULL;
}

/// Arguments or results of a function while they are parsed.
typedef struct ports {
  const hlo_type_t** types;
  const hlo_attr_t** attrs;
  hlo_token_t* names;
  uint32_t count, type_capacity, attr_capacity, name_capacity;
  bool any_attr, named;
} ports_t;

// "%arg0: type {attrs} loc(...)"; declarations and results have no names.
static bool parse_port(hlo_parser_t* p, ports_t* ports, bool may_be_named, bool may_have_attrs) {
  uint32_t i = ports->count;
  hlo_loc_t loc = 0;
  if (!HLO_GROW(p, ports->types, i, ports->type_capacity) ||
      !HLO_GROW(p, ports->attrs, i, ports->attr_capacity) ||
      !HLO_GROW(p, ports->names, i, ports->name_capacity)) {
    return false;
  }
  ports->names[i] = p->token;
  bool named = may_be_named && hlo_accept(p, HLO_TOKEN_PERCENT);
  if (i && named != ports->named) {
    return hlo_parse_fault(p, ports->names[i].start, "some arguments have names, others do not");
  }
  ports->named = named;
  if (named && !hlo_expect(p, ':')) return false;
  ports->types[i] = hlo_parse_any_type(p);
  ports->attrs[i] = NULL;
  if (!ports->types[i]) return false;
  if (may_have_attrs && hlo_at(p, '{')) {
    if (!parse_dict(p, &ports->attrs[i])) return false;
    ports->any_attr |= ports->attrs[i] != NULL;
  }
  ++ports->count;
  return !may_have_attrs || hlo_parse_optional_loc(p, &loc);
}

static bool parse_ports(hlo_parser_t* p, ports_t* ports, bool may_be_named) {
  if (!hlo_expect(p, '(')) return false;
  while (!hlo_at(p, ')')) {
    if (ports->count && !hlo_expect(p, ',')) return false;
    if (!parse_port(p, ports, may_be_named, true)) return false;
  }
  hlo_lex_advance(p);
  return true;
}

static bool parse_results(hlo_parser_t* p, ports_t* results) {
  if (!hlo_accept(p, HLO_TOKEN_ARROW)) return true;
  if (hlo_at(p, '(')) return parse_ports(p, results, false);
  return parse_port(p, results, false, false);  // "{" would start the body
}

static const hlo_attr_t** keep_attrs(hlo_parser_t* p, const ports_t* ports) {
  if (!ports->any_attr) return NULL;
  const hlo_attr_t** attrs = hlo_arena_array(&p->module->arena, ports->count, sizeof *attrs);
  if (attrs) memcpy(attrs, ports->attrs, ports->count * sizeof *attrs);
  return attrs;
}

static bool parse_body(hlo_parser_t* p, hlo_func_t* func, const ports_t* inputs) {
  if (inputs->count && !inputs->named) {
    return hlo_parse_fault(p, p->token.start,
                           "a function with a body needs names for its arguments");
  }
  return hlo_parse_region(p, func->body, inputs->count, inputs->names);
}

static hlo_func_t* add_func(hlo_parser_t* p, const char* at, const char* name, size_t length,
                            const hlo_type_t* type, hlo_visibility_t visibility, bool has_body,
                            hlo_loc_t loc) {
  if (strlen(name) != length || hlo_names_find(&p->funcs, name, length)) {
    hlo_parse_fault(
        p, at,
        strlen(name) != length ? "a name with a zero character" : "function @%s is defined twice",
        name);
    return NULL;
  }
  hlo_func_t* func = hlo_func_create(p->module, name, type, visibility, has_body, loc);
  if (func && !hlo_names_add(&p->funcs, func->name, length)) {
    p->no_memory = true;
    return NULL;
  }
  return func;
}

static bool parse_func_inside(hlo_parser_t* p) {
  hlo_visibility_t visibility;
  ports_t inputs = {0}, results = {0};
  uint32_t line, col;
  hlo_parse_location(p, p->token.start, &line, &col);
  hlo_lex_advance(p);
  parse_visibility(p, &visibility);
  if (!hlo_at(p, HLO_TOKEN_AT)) return hlo_expect(p, HLO_TOKEN_AT);
  const char* at = p->token.start;
  size_t length;
  char* name = hlo_take_text(p, &length);
  if (!name) return false;
  if (!parse_ports(p, &inputs, true) || !parse_results(p, &results)) return false;
  const hlo_attr_t* extra = NULL;
  if (hlo_accept_word(p, "attributes") && !parse_dict(p, &extra)) return false;
  const hlo_type_t* type =
      hlo_type_function(p->module, inputs.count, inputs.types, results.count, results.types);
  hlo_loc_t loc = hlo_module_loc_file(p->module, p->file, strlen(p->file), line, col);
  hlo_func_t* func = add_func(p, at, name, length, type, visibility, hlo_at(p, '{'), loc);
  if (!func) return false;
  func->extra = extra;
  func->arg_attrs = keep_attrs(p, &inputs);
  func->result_attrs = keep_attrs(p, &results);
  if (func->body && !parse_body(p, func, &inputs)) return false;
  return hlo_parse_optional_loc(p, &func->loc);
}

// ---- generic forms of functions and modules, as other tools print them on request

/// "() <{properties}> ({region}) {attributes} : () -> ()" around the region.
typedef struct shell {
  const hlo_attr_t *properties, *attributes;
} shell_t;

static bool parse_shell_begin(hlo_parser_t* p, shell_t* shell) {
  *shell = (shell_t){0};
  hlo_lex_advance(p);
  if (!hlo_expect(p, '(') || !hlo_expect(p, ')')) return false;
  if (hlo_accept(p, '<') && (!parse_dict(p, &shell->properties) || !hlo_expect(p, '>'))) {
    return false;
  }
  return hlo_expect(p, '(');
}

static bool parse_shell_end(hlo_parser_t* p, shell_t* shell) {
  const hlo_type_t** types;
  uint32_t count;
  if (!hlo_expect(p, ')')) return false;
  if (hlo_at(p, '{') && !parse_dict(p, &shell->attributes)) return false;
  return hlo_expect(p, ':') && hlo_parse_type_parens(p, &types, &count) &&
         hlo_expect(p, HLO_TOKEN_ARROW) && hlo_parse_result_types(p, &types, &count);
}

static const hlo_attr_t* shell_property(const shell_t* shell, const char* key,
                                        hlo_attr_kind_t kind) {
  const hlo_attr_t* attr = hlo_attr_dict_get(shell->properties, key);
  return attr && attr->kind == kind ? attr : NULL;
}

// Gets arg_attrs or res_attrs: an array of dictionaries.
static const hlo_attr_t** port_attrs(hlo_parser_t* p, const shell_t* shell, const char* key,
                                     uint32_t count) {
  const hlo_attr_t* array = shell_property(shell, key, HLO_ATTR_KIND_ARRAY);
  if (!array || array->count != count) return NULL;
  const hlo_attr_t** attrs = hlo_arena_array(&p->module->arena, count, sizeof *attrs);
  for (uint32_t i = 0; attrs && i < count; ++i) {
    const hlo_attr_t* item = array->items[i];
    if (item->kind == HLO_ATTR_KIND_DICT && item->count) attrs[i] = item;
  }
  return attrs;
}

static bool parse_generic_body(hlo_parser_t* p, hlo_func_t* func, const char* at) {
  if (!hlo_at(p, '{')) return hlo_expect(p, '{');
  const char* open = p->token.start;
  hlo_lex_advance(p);
  if (hlo_accept(p, '}')) return true;  // a declaration
  hlo_lex_seek(p, open);
  func->body = hlo_region_create(p->module, func, NULL);
  if (!func->body || !hlo_parse_region(p, func->body, 0, NULL)) return false;
  bool same = func->body->arg_count == func->type->input_count;
  for (uint32_t i = 0; same && i < func->body->arg_count; ++i) {
    same = func->body->args[i]->type == func->type->elements[i];
  }
  return same ||
         hlo_parse_fault(p, at, "the types of the body's arguments do not match function_type");
}

static hlo_visibility_t visibility_of(const shell_t* shell) {
  const hlo_attr_t* attr = shell_property(shell, "sym_visibility", HLO_ATTR_KIND_STRING);
  if (attr && strcmp(attr->text, "private") == 0) return HLO_PRIVATE;
  return attr && strcmp(attr->text, "nested") == 0 ? HLO_NESTED : HLO_PUBLIC;
}

static bool parse_generic_func(hlo_parser_t* p) {
  shell_t shell;
  const char* at = p->token.start;
  uint32_t line, col;
  hlo_parse_location(p, at, &line, &col);
  if (!parse_shell_begin(p, &shell)) return false;
  const hlo_attr_t* name = shell_property(&shell, "sym_name", HLO_ATTR_KIND_STRING);
  const hlo_attr_t* type = shell_property(&shell, "function_type", HLO_ATTR_KIND_TYPE);
  if (!name || !type || type->type->kind != HLO_TYPE_FUNCTION) {
    return hlo_parse_fault(p, at, "a function in generic form needs <{sym_name, function_type}>");
  }
  hlo_loc_t loc = hlo_module_loc_file(p->module, p->file, strlen(p->file), line, col);
  hlo_func_t* func =
      add_func(p, at, name->text, name->text_length, type->type, visibility_of(&shell), false, loc);
  if (!func) return false;
  func->arg_attrs = port_attrs(p, &shell, "arg_attrs", type->type->input_count);
  func->result_attrs =
      port_attrs(p, &shell, "res_attrs", type->type->element_count - type->type->input_count);
  if (!parse_generic_body(p, func, at) || !parse_shell_end(p, &shell)) return false;
  func->extra = shell.attributes;
  return hlo_parse_optional_loc(p, &func->loc);
}

static bool parse_func(hlo_parser_t* p, bool (*parse)(hlo_parser_t* p)) {
  hlo_arena_mark_t mark = hlo_arena_mark(&p->scratch);
  const hlo_name_table_t outer = p->values;  // of module-level ops, which functions cannot use
  if (outer.count) p->values = (hlo_name_table_t){0};
  bool ok = parse(p);
  hlo_arena_reset(&p->scratch, mark);
  if (outer.count) {
    hlo_names_deinit(&p->values);
    p->values = outer;
  } else {
    hlo_names_drop(&p->values, 0);
  }
  return ok;
}

// ---- Modules

static bool parse_top(hlo_parser_t* p, bool nested);

// module @name attributes {...} { ... } loc(...)
static bool parse_module_op(hlo_parser_t* p) {
  hlo_module_t* module = p->module;
  hlo_loc_t loc = 0;
  hlo_lex_advance(p);
  if (hlo_at(p, HLO_TOKEN_AT)) {
    size_t length;
    char* name = hlo_take_text(p, &length);
    if (!name) return false;
    module->name = hlo_module_string(module, name, length);
  }
  if (hlo_accept_word(p, "attributes") && !parse_dict(p, &module->extra)) return false;
  return hlo_expect(p, '{') && parse_top(p, true) && hlo_expect(p, '}') &&
         hlo_parse_optional_loc(p, &loc);
}

// "builtin.module"() ({ ... }) {attrs} : () -> ()
static bool parse_generic_module(hlo_parser_t* p) {
  shell_t shell;
  hlo_loc_t loc = 0;
  if (!parse_shell_begin(p, &shell) || !hlo_expect(p, '{')) return false;
  if (hlo_at(p, HLO_TOKEN_CARET)) {  // the label of its only block
    hlo_lex_advance(p);
    if (!hlo_expect(p, ':')) return false;
  }
  if (!parse_top(p, true) || !hlo_expect(p, '}') || !parse_shell_end(p, &shell)) return false;
  const hlo_attr_t* name = shell_property(&shell, "sym_name", HLO_ATTR_KIND_STRING);
  if (name) p->module->name = hlo_module_string(p->module, name->text, name->text_length);
  p->module->extra = shell.attributes;
  return hlo_parse_optional_loc(p, &loc);
}

static bool at_name(const hlo_parser_t* p, const char* name, const char* quoted) {
  return hlo_at_word(p, name) ||
         (hlo_at(p, HLO_TOKEN_STRING) && hlo_text_same(quoted, p->token.start, p->token.length));
}

// One function, module, alias or module-level op.
static bool parse_top_item(hlo_parser_t* p, bool nested) {
  bool generic = hlo_at(p, HLO_TOKEN_STRING);
  if (hlo_at_word(p, "func") || at_name(p, "func.func", "\"func.func\"")) {
    return parse_func(p, generic ? parse_generic_func : parse_func_inside);
  }
  if (hlo_at_word(p, "module") || at_name(p, "builtin.module", "\"builtin.module\"")) {
    const char* at = p->token.start;
    if (nested || p->module->first_func || p->module->top->first || p->module_seen) {
      return hlo_parse_fault(p, at, "a text holds one module");
    }
    p->module_seen = true;
    return generic ? parse_generic_module(p) : parse_module_op(p);
  }
  if (hlo_at(p, HLO_TOKEN_HASH) || hlo_at(p, HLO_TOKEN_BANG)) return hlo_parse_alias_definition(p);
  if (hlo_at(p, HLO_TOKEN_META_BEGIN)) return hlo_parse_metadata(p);
  return hlo_parse_node(p);
}

static bool parse_top(hlo_parser_t* p, bool nested) {
  while (!hlo_at(p, HLO_TOKEN_EOF) && !(nested && hlo_at(p, '}'))) {
    const char* start = p->token.start;
    uint32_t depth = p->depth;
    hlo_region_t* region = p->region;
    if (parse_top_item(p, nested)) continue;
    p->depth = depth;
    p->region = region;
    hlo_names_drop(&p->values, 0);
    if (nested ? !hlo_parse_recover(p, start) : true) return false;
  }
  return true;
}

// ---- Entry points

static bool parser_init(hlo_parser_t* p, hlo_module_t* module, hlo_diag_t* diag, const char* file,
                        const char* text, size_t length) {
  *p = (hlo_parser_t){
      .module = module, .diag = diag, .file = file ? file : "-", .region = module->top};
  size_t limit;
  if (!hlo_size_mul(length, LIMIT_FACTOR / SCRATCH_SHARE, &limit)) return false;
  hlo_arena_init(&p->scratch, limit + LIMIT_BYTES / SCRATCH_SHARE);
  hlo_lex_start(p, text, length);
  return true;
}

static void parser_deinit(hlo_parser_t* p) {
  hlo_names_deinit(&p->values);
  hlo_names_deinit(&p->attrs);
  hlo_names_deinit(&p->types);
  hlo_names_deinit(&p->locs);
  hlo_names_deinit(&p->resources);
  hlo_names_deinit(&p->funcs);
  hlo_arena_deinit(&p->scratch);
}

static hlo_status_t parser_status(const hlo_parser_t* p) {
  if (p->no_memory) return hlo_status_out_of_memory(0);
  HLO_TRY(hlo_arena_status(&p->scratch));
  HLO_TRY(hlo_module_status(p->module));
  hlo_status_t status = hlo_diag_status(p->diag);
  if (p->unimplemented && !hlo_status_is_ok(status)) {
    hlo_status_t named = hlo_unimplemented("%s", hlo_status_message(status));
    hlo_status_release(status);
    return named;
  }
  return status;
}

static hlo_status_t parse_module(hlo_module_t* module, const char* text, size_t length,
                                 const char* file, hlo_elided_t elided, hlo_diag_t* diag) {
  hlo_parser_t p;
  if (!parser_init(&p, module, diag, file, text, length)) return hlo_status_out_of_memory(length);
  p.elided = elided;
  void* locale = hlo_text_locale_begin();
  bool ok = parse_top(&p, false);
  hlo_text_locale_end(locale);
  hlo_status_t status = parser_status(&p);
  parser_deinit(&p);
  if (!ok && hlo_status_is_ok(status)) {
    return hlo_internal_error("the parser failed without reporting a fault");
  }
  return status;
}

hlo_status_t hlo_parse_module(const char* text, size_t length, const char* file, hlo_diag_t* diag,
                              hlo_module_t** out_module) {
  return hlo_parse_module_elided(text, length, file, HLO_ELIDED_REFUSED, diag, out_module);
}

hlo_status_t hlo_parse_module_elided(const char* text, size_t length, const char* file,
                                     hlo_elided_t elided, hlo_diag_t* diag,
                                     hlo_module_t** out_module) {
  size_t limit;
  if (!hlo_size_mul(length, LIMIT_FACTOR - LIMIT_FACTOR / SCRATCH_SHARE, &limit) ||
      !hlo_size_add(limit, LIMIT_BYTES - LIMIT_BYTES / SCRATCH_SHARE, &limit)) {
    return hlo_status_out_of_memory(length);
  }
  hlo_module_t* module;
  HLO_TRY(hlo_module_create(limit, &module));
  hlo_diag_t own;
  hlo_diag_init(&own, file, text, length);
  hlo_status_t status = parse_module(module, text, length, file, elided, diag ? diag : &own);
  hlo_diag_deinit(&own);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(module);
    return status;
  }
  *out_module = module;
  return hlo_ok();
}

// Parses one attribute or type that is the whole text.
static hlo_status_t parse_one(hlo_module_t* module, const char* text, size_t length,
                              const hlo_attr_t** out_attr, const hlo_type_t** out_type) {
  hlo_parser_t p;
  hlo_diag_t diag;
  hlo_diag_init(&diag, "<text>", text, length);
  if (!parser_init(&p, module, &diag, NULL, text, length)) return hlo_status_out_of_memory(length);
  void* locale = hlo_text_locale_begin();
  const hlo_attr_t* attr = out_attr ? hlo_parse_any_attr(&p) : NULL;
  const hlo_type_t* type = out_type ? hlo_parse_any_type(&p) : NULL;
  if ((attr || type) && !hlo_at(&p, HLO_TOKEN_EOF)) hlo_parse_expected(&p, "the end of the text");
  hlo_text_locale_end(locale);
  hlo_status_t status = parser_status(&p);
  parser_deinit(&p);
  hlo_diag_deinit(&diag);
  if (!hlo_status_is_ok(status)) return status;
  if (out_attr) *out_attr = attr;
  if (out_type) *out_type = type;
  return hlo_ok();
}

hlo_status_t hlo_parse_attr(hlo_module_t* module, const char* text, size_t length,
                            const hlo_attr_t** out_attr) {
  return parse_one(module, text, length, out_attr, NULL);
}

hlo_status_t hlo_parse_type(hlo_module_t* module, const char* text, size_t length,
                            const hlo_type_t** out_type) {
  return parse_one(module, text, length, NULL, out_type);
}
