// SPDX-License-Identifier: Apache-2.0
// Modules and functions of MLIR text (see parse.h).
#include "ir/parse.h"

#include <string.h>

#include "ir/parse_impl.h"
#include "ir/print_impl.h"

// Memory of a parse: the module's arena and scratch memory share 16 MiB + 64x the text.
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

// A dictionary; an empty one is the same as none.
static bool parse_dict(hlo_parser_t* p, const hlo_attr_t** out_dict) {
  const hlo_attr_t* dict = hlo_parse_dict(p);
  *out_dict = dict && dict->count ? dict : NULL;
  return dict != NULL;
}

/// Arguments or results of a function while they are read.
typedef struct ports {
  const hlo_type_t** types;
  const hlo_attr_t** attrs;
  hlo_token_t* names;
  uint32_t count, type_capacity, attr_capacity, name_capacity;
  bool any_attr, named;
} ports_t;

// "%arg0: type {attrs} loc(...)"; without a name in declarations and results.
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
    return hlo_parse_fault(p, ports->names[i].start, "some arguments have names, some not");
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
  return parse_port(p, results, false, false);  // "{" would be the body
}

static const hlo_attr_t** keep_attrs(hlo_parser_t* p, const ports_t* ports) {
  if (!ports->any_attr) return NULL;
  const hlo_attr_t** attrs = hlo_arena_array(&p->module->arena, ports->count, sizeof *attrs);
  if (attrs) memcpy(attrs, ports->attrs, ports->count * sizeof *attrs);
  return attrs;
}

static bool parse_body(hlo_parser_t* p, hlo_func_t* func, const ports_t* inputs) {
  if (inputs->count && !inputs->named) {
    return hlo_parse_fault(p, p->token.start, "a function with a body needs names for its arguments");
  }
  return hlo_parse_region(p, func->body, inputs->count, inputs->names);
}

static bool parse_func_inside(hlo_parser_t* p) {
  hlo_visibility_t visibility;
  ports_t inputs = {0}, results = {0};
  uint32_t line, col;
  hlo_parse_place(p, p->token.start, &line, &col);
  hlo_lex_advance(p);
  parse_visibility(p, &visibility);
  if (!hlo_at(p, HLO_TOKEN_AT)) return hlo_expect(p, HLO_TOKEN_AT);
  const char* at = p->token.start;
  size_t length;
  char* name = hlo_take_text(p, &length);
  if (!name) return false;
  if (strlen(name) != length) return hlo_parse_fault(p, at, "a name with a zero character");
  if (!parse_ports(p, &inputs, true) || !parse_results(p, &results)) return false;
  const hlo_attr_t* extra = NULL;
  if (hlo_accept_word(p, "attributes") && !parse_dict(p, &extra)) return false;
  const hlo_type_t* type =
      hlo_type_function(p->module, inputs.count, inputs.types, results.count, results.types);
  if (hlo_names_find(&p->funcs, name, length)) {
    return hlo_parse_fault(p, at, "function @%s is defined twice", name);
  }
  hlo_loc_t loc = hlo_module_loc_file(p->module, p->file, strlen(p->file), line, col);
  hlo_func_t* func = hlo_func_create(p->module, name, type, visibility, hlo_at(p, '{'), loc);
  if (!func) return false;
  if (!hlo_names_add(&p->funcs, func->name, length)) {
    p->no_memory = true;
    return false;
  }
  func->extra = extra;
  func->arg_attrs = keep_attrs(p, &inputs);
  func->result_attrs = keep_attrs(p, &results);
  if (func->body && !parse_body(p, func, &inputs)) return false;
  return hlo_parse_optional_loc(p, &func->loc);
}

static bool parse_func(hlo_parser_t* p) {
  hlo_arena_mark_t mark = hlo_arena_mark(&p->scratch);
  bool ok = parse_func_inside(p);
  hlo_arena_reset(&p->scratch, mark);
  hlo_names_drop(&p->values, 0);
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

// One function, module, alias or module-level op.
static bool parse_top_item(hlo_parser_t* p, bool nested) {
  if (hlo_at_word(p, "func.func") || hlo_at_word(p, "func")) return parse_func(p);
  if (hlo_at_word(p, "module") || hlo_at_word(p, "builtin.module")) {
    const char* at = p->token.start;
    if (nested || p->module->first_func || p->module->top->first || p->module_seen) {
      return hlo_parse_fault(p, at, "a text holds one module");
    }
    p->module_seen = true;
    return parse_module_op(p);
  }
  if (hlo_at(p, HLO_TOKEN_HASH) || hlo_at(p, HLO_TOKEN_BANG)) return hlo_parse_alias_definition(p);
  if (hlo_at(p, HLO_TOKEN_META_BEGIN)) return hlo_parse_metadata(p);
  return hlo_parse_top_node(p);
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
  *p = (hlo_parser_t){.module = module, .diag = diag, .file = file ? file : "-",
                      .region = module->top};
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
    hlo_status_t named =
        hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "%s", hlo_status_message(status));
    hlo_status_release(status);
    return named;
  }
  return status;
}

static hlo_status_t parse_module(hlo_module_t* module, const char* text, size_t length,
                                 const char* file, hlo_diag_t* diag) {
  hlo_parser_t p;
  if (!parser_init(&p, module, diag, file, text, length)) return hlo_status_out_of_memory(length);
  void* locale = hlo_text_locale_begin();
  bool ok = parse_top(&p, false);
  hlo_text_locale_end(locale);
  hlo_status_t status = parser_status(&p);
  parser_deinit(&p);
  if (!ok && hlo_status_is_ok(status)) {
    return hlo_status_create(HLO_STATUS_INTERNAL, "a fault of the text was not reported");
  }
  return status;
}

hlo_status_t hlo_parse_module(const char* text, size_t length, const char* file, hlo_diag_t* diag,
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
  hlo_status_t status = parse_module(module, text, length, file, diag ? diag : &own);
  hlo_diag_deinit(&own);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(module);
    return status;
  }
  *out_module = module;
  return hlo_ok();
}

// One attribute or type that takes the whole text.
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
