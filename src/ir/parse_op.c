// SPDX-License-Identifier: Apache-2.0
// Ops of MLIR text: operands, attributes, regions, the generic form, recovery from faults.
#include <string.h>

#include "base/suggest.h"
#include "ir/interner.h"
#include "ir/parse_impl.h"

static int shown_length(size_t length) {
  return (int)(length < 60 ? length : 60);
}

// ---- Names of ops

static hlo_op_t find_op(hlo_parser_t* p, const char* name, size_t length) {
  uint16_t* slot = &p->op_cache[hlo_hash_bytes(name, length, HLO_HASH_SEED) % HLO_OP_CACHE_SIZE];
  if (*slot && hlo_text_same(hlo_op_info((hlo_op_t)(*slot - 1))->name, name, length)) {
    return (hlo_op_t)(*slot - 1);
  }
  hlo_op_t op = hlo_op_from_name(name, length);
  if (op != HLO_OP_COUNT) *slot = (uint16_t)(op + 1);
  return op;
}

static bool unknown_op(hlo_parser_t* p, const char* name, size_t length) {
  enum { LONGEST = 64, MAX_SUGGESTIONS = 20 };  // suggestions for the first faults suffice
  char wanted[LONGEST];
  hlo_suggestion_t near = {0};
  if (length < sizeof wanted && p->diag->error_count < MAX_SUGGESTIONS) {
    memcpy(wanted, name, length);
    wanted[length] = 0;
    hlo_suggestion_init(&near, wanted);
    for (uint32_t op = 0; op < HLO_OP_COUNT; ++op) {
      hlo_suggestion_offer(&near, hlo_op_info((hlo_op_t)op)->name);
    }
  }
  return hlo_parse_fault(p, name, "op '%.*s' is not supported%s%s%s", shown_length(length), name,
                         near.best ? ", did you mean '" : "", near.best ? near.best : "",
                         near.best ? "'?" : "");
}

bool hlo_parse_op_name(hlo_parser_t* p, hlo_op_t* out_op) {
  hlo_token_t name = p->token;
  if (name.kind == HLO_TOKEN_STRING) {
    ++name.start;
    name.length -= 2;
  } else if (name.kind != HLO_TOKEN_WORD) {
    return hlo_parse_expected(p, "an op");
  }
  *out_op = find_op(p, name.start, name.length);
  if (*out_op == HLO_OP_COUNT && !memchr(name.start, '.', name.length)) {
    char full[32];  // functions write "return" and "call" without dialect
    if (name.length < sizeof full - 5) {
      memcpy(full, "func.", 5);
      memcpy(full + 5, name.start, name.length);
      *out_op = find_op(p, full, name.length + 5);
    }
  }
  if (*out_op == HLO_OP_COUNT) {
    if (p->diag->error_count == 0) p->unimplemented = true;
    return unknown_op(p, name.start, name.length);
  }
  hlo_lex_advance(p);
  return true;
}

// ---- Operands

// Parses "%name" or "%name#1". Returns NULL without a fault if the definition of the value failed.
static hlo_value_t* parse_value(hlo_parser_t* p) {
  hlo_token_t name = p->token;
  if (!hlo_expect(p, HLO_TOKEN_PERCENT)) return NULL;
  uint64_t number = 0;
  bool numbered = hlo_at(p, HLO_TOKEN_HASH) && p->token.start == name.start + name.length;
  if (numbered) {
    if (!hlo_text_to_u64(p->token.start + 1, p->token.start + p->token.length, &number)) {
      hlo_parse_fault(p, p->token.start, "expected the number of a result");
      return NULL;
    }
    hlo_lex_advance(p);
  }
  hlo_name_entry_t* entry = hlo_names_find(&p->values, name.start, name.length);
  if (!entry) {
    hlo_parse_fault(p, name.start, "undefined value '%.*s'", shown_length(name.length), name.start);
    return NULL;
  }
  if (!entry->payload) return NULL;
  if (number >= entry->count) {
    hlo_parse_fault(p, name.start, "'%.*s' has %u results", shown_length(name.length), name.start,
                    entry->count);
    return NULL;
  }
  return (hlo_value_t*)entry->payload + number;
}

bool hlo_parse_operand(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!HLO_GROW(p, op->operands, op->operand_count, op->operand_capacity) ||
      !HLO_GROW(p, op->operand_at, op->operand_count, op->operand_at_capacity)) {
    return false;
  }
  op->operand_at[op->operand_count] = p->token.start;
  hlo_value_t* value = parse_value(p);
  op->operands[op->operand_count] = value;
  if (value) ++op->operand_count;
  return value != NULL;
}

bool hlo_parse_operands(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_at(p, HLO_TOKEN_PERCENT)) return true;
  do {
    if (!hlo_parse_operand(p, op)) return false;
  } while (hlo_accept(p, ','));
  return true;
}

bool hlo_check_operand_types(hlo_parser_t* p, hlo_op_state_t* op, uint32_t count,
                             const hlo_type_t* const* types) {
  if (count != op->operand_count) {
    return hlo_parse_fault(p, op->at, "%u operands, but %u operand types", op->operand_count,
                           count);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (op->operands[i]->type == types[i]) continue;
    HLO_SCOPED_STRBUF text = {0};
    hlo_print_type(op->operands[i]->type, &text);
    hlo_strbuf_puts(&text, ", not ");
    hlo_print_type(types[i], &text);
    hlo_parse_fault(p, op->operand_at[i], "operand %u has type %s", i, hlo_strbuf_text(&text));
    return false;
  }
  return true;
}

bool hlo_op_set_results(hlo_parser_t* p, hlo_op_state_t* op, uint32_t count,
                        const hlo_type_t* const* types) {
  op->result_types = hlo_arena_array(&p->scratch, count, sizeof *op->result_types);
  if (!op->result_types) return false;
  if (count) memcpy(op->result_types, types, count * sizeof *types);
  op->result_count = count;
  return true;
}

bool hlo_parse_signature(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_type_t **inputs, **results;
  uint32_t input_count, result_count;
  return hlo_parse_type_parens(p, &inputs, &input_count) && hlo_expect(p, HLO_TOKEN_ARROW) &&
         hlo_parse_result_types(p, &results, &result_count) &&
         hlo_check_operand_types(p, op, input_count, inputs) &&
         hlo_op_set_results(p, op, result_count, results);
}

// ---- Attributes

bool hlo_op_set_attr(hlo_op_state_t* op, hlo_attr_id_t id, const hlo_attr_t* value) {
  int slot = hlo_op_attr_slot(op->op, id);
  if (slot >= 0) op->attrs[slot] = value;
  return value != NULL;
}

bool hlo_op_set_struct(hlo_parser_t* p, hlo_op_state_t* op, const char* at,
                       const hlo_struct_attr_t* info, const hlo_attr_t* value) {
  if (value->kind != HLO_ATTR_KIND_DICT) {
    return hlo_parse_fault(p, at, "attribute '%s' must be #%s<...>", info->name, info->mnemonic);
  }
  for (unsigned f = 0; f < info->field_count; ++f) {
    hlo_attr_id_t id = info->fields[f].id;
    const hlo_attr_t* field = hlo_attr_dict_get(value, info->fields[f].name);
    int slot = hlo_op_attr_slot(op->op, id);
    if (!field && slot >= 0 && op->info->attrs[slot].required) {
      field = hlo_attr_form(id) == HLO_ATTR_FORM_DIMS ? hlo_attr_ints(p->module, 0, NULL)
                                                      : hlo_attr_int(p->module, HLO_DTYPE_S64, 0);
    }
    if (slot >= 0) op->attrs[slot] = field;
  }
  return true;
}

static bool add_extra(hlo_parser_t* p, hlo_op_state_t* op, const char* key, size_t length,
                      const hlo_attr_t* value) {
  if (!HLO_GROW(p, op->extra_keys, op->extra_count, op->extra_key_capacity) ||
      !HLO_GROW(p, op->extras, op->extra_count, op->extra_capacity)) {
    return false;
  }
  op->extra_keys[op->extra_count] = hlo_module_string(p->module, key, length);
  op->extras[op->extra_count++] = value;
  return true;
}

typedef struct setter {
  hlo_op_state_t* op;
  bool properties;  // <{...}>: no discardable attributes
} setter_t;

// Returns true for keys that generic text contains although the types imply them.
static bool is_implied(const char* key, size_t length) {
  return hlo_text_same("resultSegmentSizes", key, length) ||
         hlo_text_same("operandSegmentSizes", key, length);
}

static bool set_attr(hlo_parser_t* p, void* context, const char* at, const char* key, size_t length,
                     const hlo_attr_t* value) {
  setter_t* setter = context;
  hlo_op_state_t* op = setter->op;
  const hlo_struct_attr_t* info = hlo_op_struct_named(op->op, key, length);
  if (info) return hlo_op_set_struct(p, op, at, info, value);
  hlo_attr_id_t id = hlo_attr_from_text_name(key, length);
  int slot = id == HLO_ATTR_COUNT ? -1 : hlo_op_attr_slot(op->op, id);
  if (slot >= 0 && !hlo_op_struct_of(op->op, id)) {
    op->attrs[slot] = hlo_attr_to_form(p, at, id, value);
    return op->attrs[slot] != NULL;
  }
  if (is_implied(key, length)) return true;
  if (setter->properties) {
    return hlo_parse_fault(p, at, "'%s' has no attribute '%.*s'", op->info->name,
                           shown_length(length), key);
  }
  return add_extra(p, op, key, length, value);
}

bool hlo_parse_op_dict(hlo_parser_t* p, hlo_op_state_t* op) {
  setter_t setter = {op, false};
  return !hlo_at(p, '{') || hlo_parse_attr_entries(p, set_attr, &setter);
}

// ---- Regions

hlo_region_t* hlo_op_add_region(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!HLO_GROW(p, op->regions, op->region_count, op->region_capacity)) return NULL;
  hlo_region_t* region = hlo_region_create(p->module, p->region->func, NULL);
  if (region) op->regions[op->region_count++] = region;
  return region;
}

static bool bind_name(hlo_parser_t* p, const hlo_token_t* name, hlo_value_t* first,
                      uint32_t count) {
  hlo_name_entry_t* entry = hlo_names_find(&p->values, name->start, name->length);
  if (entry && entry->payload) {
    return hlo_parse_fault(p, name->start, "value '%.*s' is defined twice",
                           shown_length(name->length), name->start);
  }
  entry = hlo_names_add(&p->values, name->start, name->length);
  if (!entry) {
    p->no_memory = true;
    return false;
  }
  entry->payload = first;
  entry->count = count;
  return true;
}

bool hlo_parse_region_arg(hlo_parser_t* p, hlo_region_t* region, hlo_token_t* out_name) {
  hlo_loc_t loc = 0;
  *out_name = p->token;
  if (!hlo_expect(p, HLO_TOKEN_PERCENT) || !hlo_expect(p, ':')) return false;
  const hlo_type_t* type = hlo_parse_any_type(p);
  return type && hlo_parse_optional_loc(p, &loc) && hlo_region_add_arg(region, type);
}

// Parses "^bb0(%a: T, %b: T):".
static bool parse_label(hlo_parser_t* p, hlo_region_t* region) {
  hlo_lex_advance(p);
  if (hlo_accept(p, '(')) {
    while (!hlo_at(p, ')')) {
      hlo_token_t name;
      if (region->arg_count && !hlo_expect(p, ',')) return false;
      if (!hlo_parse_region_arg(p, region, &name) ||
          !bind_name(p, &name, region->args[region->arg_count - 1], 1)) {
        return false;
      }
    }
    hlo_lex_advance(p);
  }
  return hlo_expect(p, ':');
}

static bool parse_nodes(hlo_parser_t* p);

static bool parse_region_inside(hlo_parser_t* p, hlo_region_t* region, uint32_t name_count,
                                const hlo_token_t* names) {
  if (!hlo_expect(p, '{')) return false;
  for (uint32_t i = 0; i < name_count; ++i) {
    if (!bind_name(p, &names[i], region->args[i], 1)) return false;
  }
  if (hlo_at(p, HLO_TOKEN_CARET)) {
    if (name_count) return hlo_parse_fault(p, p->token.start, "the arguments are given twice");
    if (!parse_label(p, region)) return false;
  }
  return parse_nodes(p) && hlo_expect(p, '}');
}

bool hlo_parse_region(hlo_parser_t* p, hlo_region_t* region, uint32_t name_count,
                      const hlo_token_t* names) {
  hlo_region_t* outer = p->region;
  uint32_t scope = p->values.count;
  p->region = region;
  bool ok = hlo_parse_enter(p) && parse_region_inside(p, region, name_count, names);
  --p->depth;
  hlo_names_drop(&p->values, scope);
  p->region = outer;
  return ok;
}

// ---- The generic form: "op"(%a) <{...}> ({...}) {...} : (T) -> T

static bool parse_generic(hlo_parser_t* p, hlo_op_state_t* op) {
  setter_t properties = {op, true};
  if (!hlo_expect(p, '(') || !hlo_parse_operands(p, op) || !hlo_expect(p, ')')) return false;
  if (hlo_at(p, '[')) return hlo_parse_fault(p, p->token.start, "ops have no successor blocks");
  if (hlo_accept(p, '<') &&
      (!hlo_parse_attr_entries(p, set_attr, &properties) || !hlo_expect(p, '>'))) {
    return false;
  }
  if (hlo_accept(p, '(')) {
    do {
      hlo_region_t* region = hlo_op_add_region(p, op);
      if (!region || !hlo_parse_region(p, region, 0, NULL)) return false;
    } while (hlo_accept(p, ','));
    if (!hlo_expect(p, ')')) return false;
  }
  return hlo_parse_op_dict(p, op) && hlo_expect(p, ':') && hlo_parse_signature(p, op);
}

// ---- Whole ops

typedef struct result_name {
  hlo_token_t name;
  uint32_t count;
} result_name_t;

// "%a, %b:2 ="
static bool parse_result_names(hlo_parser_t* p, result_name_t** out_names, uint32_t* out_count,
                               uint32_t* out_total) {
  result_name_t* names = NULL;
  uint32_t count = 0, capacity = 0;
  uint64_t total = 0;
  if (hlo_at(p, HLO_TOKEN_PERCENT)) {
    do {
      if (!HLO_GROW(p, names, count, capacity)) return false;
      names[count] = (result_name_t){.name = p->token, .count = 1};
      if (!hlo_expect(p, HLO_TOKEN_PERCENT)) return false;
      if (hlo_accept(p, ':')) {
        int64_t number;
        const char* at = p->token.start;
        if (!hlo_parse_int(p, &number)) return false;
        if (number < 1 || number > UINT16_MAX) {
          return hlo_parse_fault(p, at, "number of results out of range");
        }
        names[count].count = (uint32_t)number;
      }
      total += names[count++].count;
    } while (hlo_accept(p, ','));
    if (!hlo_expect(p, '=')) return false;
  }
  *out_names = names;
  *out_count = count;
  *out_total = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
  return true;
}

// Creates the node of a parsed op and links it into p->region; NULL when memory is exhausted.
static hlo_node_t* finish_op(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_node_spec_t spec = {.op = op->op,
                          .loc = op->loc,
                          .operand_count = op->operand_count,
                          .operands = op->operands,
                          .region_count = op->region_count,
                          .result_count = op->result_count,
                          .result_types = op->result_types};
  if (op->extra_count) {
    spec.extra = hlo_attr_dict(p->module, op->extra_count, op->extra_keys, op->extras);
  }
  hlo_node_t* node = hlo_node_create(p->module, &spec);
  if (hlo_node_is_poison(node)) return NULL;
  for (uint32_t i = 0; i < op->info->attr_count; ++i) node->attrs[i] = op->attrs[i];
  for (uint32_t i = 0; i < op->region_count; ++i) {
    node->regions[i] = op->regions[i];
    op->regions[i]->parent = node;
    for (hlo_node_t* n = op->regions[i]->first; op->applied && n; n = n->next) n->loc = op->loc;
  }
  hlo_region_append(p->region, node);
  return node;
}

static bool parse_node_inside(hlo_parser_t* p) {
  hlo_op_state_t op = {.at = p->token.start};
  result_name_t* names = NULL;
  uint32_t name_count = 0, total = 0;
  if (!parse_result_names(p, &names, &name_count, &total)) return false;
  const char* at = op.at = p->token.start;
  uint32_t line, col;
  hlo_parse_location(p, at, &line, &col);  // before the regions: lines are counted forward
  bool generic = hlo_at(p, HLO_TOKEN_STRING);
  if (!hlo_parse_op_name(p, &op.op)) return false;
  op.info = hlo_op_info(op.op);
  op.attrs = hlo_arena_array(&p->scratch, op.info->attr_count, sizeof *op.attrs);
  if (!op.attrs) return false;
  if (!(generic ? parse_generic(p, &op) : hlo_parse_pretty(p, &op))) return false;
  const char* before = p->token.start;
  hlo_loc_t loc = 0;
  if (!hlo_parse_optional_loc(p, &loc)) return false;
  op.loc = p->token.start != before
               ? loc
               : hlo_module_loc_file(p->module, p->file, strlen(p->file), line, col);
  if (name_count && total != op.result_count) {
    return hlo_parse_fault(p, at, "the op has %u results, but %u are named", op.result_count,
                           total);
  }
  hlo_node_t* node = finish_op(p, &op);
  if (!node) return false;
  uint32_t first = 0;
  for (uint32_t i = 0; i < name_count; ++i) {
    if (!bind_name(p, &names[i].name, &node->results[first], names[i].count)) return false;
    first += names[i].count;
  }
  return true;
}

bool hlo_parse_node(hlo_parser_t* p) {
  hlo_arena_mark_t mark = hlo_arena_mark(&p->scratch);
  bool ok = parse_node_inside(p);
  hlo_arena_reset(&p->scratch, mark);
  return ok;
}

static bool out_of_memory(const hlo_parser_t* p) {
  return p->no_memory || p->scratch.failed || p->module->arena.failed;
}

// The results of a failed op are bound, so that their uses give no further faults.
static bool bind_failed(hlo_parser_t* p, const char* start) {
  hlo_lex_seek(p, start);
  while (hlo_at(p, HLO_TOKEN_PERCENT)) {
    hlo_token_t name = p->token;
    if (!hlo_names_find(&p->values, name.start, name.length) && !bind_name(p, &name, NULL, 0)) {
      return false;
    }
    hlo_lex_advance(p);
    if (hlo_accept(p, ':')) hlo_accept(p, HLO_TOKEN_INT);
    if (!hlo_accept(p, ',')) break;
  }
  return true;
}

static bool starts_line(const hlo_parser_t* p) {
  const char* c = p->token.start;
  while (c > p->text && (c[-1] == ' ' || c[-1] == '\t')) --c;
  return c == p->text || c[-1] == '\n';
}

bool hlo_parse_recover(hlo_parser_t* p, const char* start) {
  uint32_t limit = p->diag->error_limit ? p->diag->error_limit : 20;
  if (out_of_memory(p) || p->diag->error_count >= limit) return false;
  hlo_arena_mark_t mark = hlo_arena_mark(&p->scratch);
  bool ok = bind_failed(p, start);
  hlo_arena_reset(&p->scratch, mark);
  int depth = 0;
  for (bool first = true; ok; first = false, hlo_lex_advance(p)) {
    int kind = p->token.kind;
    if (kind == HLO_TOKEN_EOF || kind == HLO_TOKEN_ERROR) return kind == HLO_TOKEN_EOF;
    if (kind == '}' && depth == 0) return true;
    if (!first && depth == 0 && starts_line(p) &&
        (kind == HLO_TOKEN_PERCENT || kind == HLO_TOKEN_WORD || kind == HLO_TOKEN_STRING)) {
      return true;
    }
    if (kind == '(' || kind == '[' || kind == '{') ++depth;
    if ((kind == ')' || kind == ']' || kind == '}') && depth > 0) --depth;
  }
  return false;
}

// Parses nodes into p->region, up to "}" or the end of the text.
static bool parse_nodes(hlo_parser_t* p) {
  while (!hlo_at(p, '}') && !hlo_at(p, HLO_TOKEN_EOF)) {
    if (hlo_at(p, HLO_TOKEN_CARET)) {
      return hlo_parse_fault(p, p->token.start, "regions of several blocks are not supported");
    }
    const char* start = p->token.start;
    uint32_t depth = p->depth;
    if (hlo_region_terminator(p->region)) {
      return hlo_parse_fault(p, start, "an op after the terminator of the region");
    }
    if (hlo_parse_node(p)) continue;
    p->depth = depth;
    if (!hlo_parse_recover(p, start)) return false;
  }
  return true;
}
