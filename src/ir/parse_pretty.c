// SPDX-License-Identifier: Apache-2.0
// Pretty forms of ops: interprets the rows of asm.def to parse text (print_pretty.c interprets them
// to print).
#include <string.h>

#include "ir/parse_impl.h"

// ---- types, by rule: operand and result types from the written ones

static bool fault_count(hlo_parser_t* p, const char* at, const char* what) {
  return hlo_parse_fault(p, at, "expected %s", what);
}

static bool set_operand_types(hlo_parser_t* p, hlo_op_state_t* op, const hlo_type_t* type) {
  const hlo_type_t** types = hlo_arena_array(&p->scratch, op->operand_count, sizeof *types);
  if (!types) return false;
  for (uint32_t i = 0; i < op->operand_count; ++i) types[i] = type;
  return hlo_check_operand_types(p, op, op->operand_count, types);
}

// Parses the type that all operands and the result have.
static bool parse_same(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_at(p, '(')) return hlo_parse_signature(p, op);
  const hlo_type_t* type = hlo_parse_any_type(p);
  return type && set_operand_types(p, op, type) && hlo_op_set_results(p, op, 1, &type);
}

static bool parse_results(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_type_t** types;
  uint32_t count;
  return hlo_parse_type_list(p, &types, &count) && hlo_op_set_results(p, op, count, types);
}

static bool parse_complex(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_at(p, '(')) return hlo_parse_signature(p, op);
  const char* at = p->token.start;
  const hlo_type_t* type = hlo_parse_any_type(p);
  if (!type) return false;
  if (type->kind != HLO_TYPE_TENSOR || !hlo_dtype_is_complex(type->dtype)) {
    return fault_count(p, at, "a tensor of complex numbers");
  }
  const hlo_type_t* part = hlo_type_with_dtype(p->module, type, hlo_dtype_info(type->dtype)->part);
  return part && set_operand_types(p, op, part) && hlo_op_set_results(p, op, 1, &type);
}

// "pred type, type of both branches and the result"
static bool parse_select(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_at(p, '(')) return hlo_parse_signature(p, op);
  const char* at = p->token.start;
  const hlo_type_t** types;
  uint32_t count;
  if (!hlo_parse_type_list(p, &types, &count)) return false;
  if (count != 2) return fault_count(p, at, "the type of the condition and that of the result");
  const hlo_type_t* operands[3] = {types[0], types[1], types[1]};
  return hlo_check_operand_types(p, op, 3, operands) && hlo_op_set_results(p, op, 1, &types[1]);
}

static bool parse_tuple(hlo_parser_t* p, hlo_op_state_t* op) {
  const char* at = p->token.start;
  const hlo_type_t* type = hlo_parse_any_type(p);
  if (!type) return false;
  if (type->kind != HLO_TYPE_TUPLE) return fault_count(p, at, "a tuple type");
  return hlo_check_operand_types(p, op, type->element_count, type->elements) &&
         hlo_op_set_results(p, op, 1, &type);
}

// Parses the type of the attribute `value`: the operand's, or the result's if the op has no
// operand.
static bool parse_value_type(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_attr_t* value = op->attrs[hlo_op_attr_slot(op->op, HLO_ATTR_value)];
  if (op->operand_count) return hlo_check_operand_types(p, op, 1, &value->type);
  return hlo_op_set_results(p, op, 1, &value->type);
}

static bool parse_operand_type(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_type_t* type = hlo_parse_any_type(p);
  return type && set_operand_types(p, op, type);
}

static bool parse_operand_types(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_type_t** types;
  uint32_t count;
  return hlo_parse_type_list(p, &types, &count) && hlo_check_operand_types(p, op, count, types);
}

static bool parse_return(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_accept(p, ':')) return parse_operand_types(p, op);
  return hlo_check_operand_types(p, op, 0, NULL);
}

// "T, U -> V" or "T, U -> (V, W)"
static bool parse_arrow(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_type_t** types;
  uint32_t count;
  return parse_operand_types(p, op) && hlo_expect(p, HLO_TOKEN_ARROW) &&
         hlo_parse_result_types(p, &types, &count) && hlo_op_set_results(p, op, count, types);
}

static const struct {
  const char* name;
  bool (*parse)(hlo_parser_t* p, hlo_op_state_t* op);
} kTypeRules[] = {
    {"same", parse_same},        {"fn", hlo_parse_signature},     {"results", parse_results},
    {"complex", parse_complex},  {"select", parse_select},        {"tuple", parse_tuple},
    {"value", parse_value_type}, {"operand", parse_operand_type}, {"operands", parse_operand_types},
    {"return", parse_return},    {"arrow", parse_arrow},
};

static bool parse_types(hlo_parser_t* p, hlo_op_state_t* op, const char* rule, size_t length) {
  for (size_t i = 0; i < sizeof kTypeRules / sizeof *kTypeRules; ++i) {
    if (hlo_text_same(kTypeRules[i].name, rule, length)) return kTypeRules[i].parse(p, op);
  }
  return false;
}

// ---- Words of a form

static const hlo_attr_t* parse_u64(hlo_parser_t* p) {
  uint64_t value;
  if (!hlo_at(p, HLO_TOKEN_INT)) {
    hlo_expect(p, HLO_TOKEN_INT);
    return NULL;
  }
  if (!hlo_text_to_u64(p->token.start, p->token.start + p->token.length, &value)) {
    hlo_parse_fault(p, p->token.start, "integer does not fit 64 bits");
    return NULL;
  }
  hlo_lex_advance(p);
  return hlo_attr_int(p->module, HLO_DTYPE_U64, (int64_t)value);
}

static const hlo_attr_t* parse_short(hlo_parser_t* p, hlo_attr_form_t form) {
  int64_t value;
  int64_t* values;
  uint32_t count;
  switch (form) {
    case HLO_ATTR_FORM_I64:
    case HLO_ATTR_FORM_I32:
      if (!hlo_parse_int(p, &value)) return NULL;
      if (form == HLO_ATTR_FORM_I32 && value != (int32_t)value) {
        hlo_parse_fault(p, p->token.start, "integer does not fit 32 bits");
        return NULL;
      }
      return hlo_attr_int(p->module, form == HLO_ATTR_FORM_I32 ? HLO_DTYPE_S32 : HLO_DTYPE_S64,
                          value);
    case HLO_ATTR_FORM_U64: return parse_u64(p);
    case HLO_ATTR_FORM_BOOL:
      if (!hlo_parse_int(p, &value)) return NULL;
      return hlo_attr_bool(p->module, value != 0);
    case HLO_ATTR_FORM_DIMS:
      if (!hlo_parse_int_list(p, &values, &count)) return NULL;
      return hlo_attr_ints(p->module, count, values);
    default: {
      hlo_enum_kind_t kind = hlo_form_enum(form);
      if (kind == HLO_ENUM_KIND_COUNT || hlo_at(p, HLO_TOKEN_HASH)) return hlo_parse_any_attr(p);
      return hlo_parse_enum_case(p, kind);
    }
  }
}

// $name or $$name
static bool parse_attr_word(hlo_parser_t* p, hlo_op_state_t* op, const char* word, size_t length) {
  bool full = length > 1 && word[1] == '$';
  size_t skip = full ? 2 : 1;
  hlo_attr_id_t id = hlo_attr_from_name(word + skip, length - skip);
  const char* at = p->token.start;
  const hlo_attr_t* attr = full ? hlo_parse_any_attr(p) : parse_short(p, hlo_attr_form(id));
  if (attr) attr = hlo_attr_to_form(p, at, id, attr);
  return hlo_op_set_attr(op, id, attr);
}

// %, %* or "%*,"
static bool parse_operand_word(hlo_parser_t* p, hlo_op_state_t* op, size_t length) {
  if (length == 1) return hlo_parse_operand(p, op);
  if (length == 2) return hlo_parse_operands(p, op);
  while (hlo_at(p, HLO_TOKEN_PERCENT)) {
    if (!hlo_parse_operand(p, op) || !hlo_expect(p, ',')) return false;
  }
  return true;
}

static bool parse_plain_word(hlo_parser_t* p, const char* word, size_t length) {
  if (length == 1 && strchr("(){}[],:=", word[0])) return hlo_expect(p, word[0]);
  char text[64];
  if (length >= sizeof text) return false;
  memcpy(text, word, length);
  text[length] = 0;
  return hlo_expect_word(p, text);
}

// Returns true if the (?group ... ?) at `form` is present. It starts with punctuation that nothing
// else in its position has; the word after the comma distinguishes two adjacent groups.
static bool group_present(const hlo_parser_t* p, const char* form) {
  return p->token.kind == form[0];
}

static const char* skip_group(const char* form) {
  const char* word;
  size_t length;
  while (hlo_asm_next_word(&form, &word, &length) && !hlo_text_same("?)", word, length)) {
  }
  return form;
}

// An op whose constant has another type than the result is written stablehlo.constant() <{...}> ...
static bool parse_constant_generic(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_lex_advance(p);
  if (!hlo_expect(p, ')')) return false;
  if (hlo_accept(p, '<') && (!hlo_parse_op_dict(p, op) || !hlo_expect(p, '>'))) return false;
  return hlo_parse_op_dict(p, op) && hlo_expect(p, ':') && hlo_parse_signature(p, op);
}

static bool parse_word(hlo_parser_t* p, hlo_op_state_t* op, const char* word, size_t length) {
  switch (word[0]) {
    case '%': return parse_operand_word(p, op, length);
    case '$': return parse_attr_word(p, op, word, length);
    case '@': return hlo_parse_op_dict(p, op);
    case '^': return parse_types(p, op, word + 1, length - 1);
    case '!': return hlo_parse_notation(p, op, word + 1, length - 1);
    default: return parse_plain_word(p, word, length);
  }
}

bool hlo_parse_pretty(hlo_parser_t* p, hlo_op_state_t* op) {
  const char* form = hlo_asm_format(op->op);
  if (!form) {
    return hlo_parse_fault(p, op->at, "'%s' has no pretty form: write \"%s\"(...)", op->info->name,
                           op->info->name);
  }
  if (op->op == HLO_OP_constant && hlo_at(p, '(')) return parse_constant_generic(p, op);
  const char* word;
  size_t length;
  while (hlo_asm_next_word(&form, &word, &length)) {
    if (length > 2 && word[0] == '(' && word[1] == '?') {
      if (!group_present(p, form)) form = skip_group(form);
      continue;
    }
    if (hlo_text_same("?)", word, length)) continue;
    if (!parse_word(p, op, word, length)) return false;
  }
  return true;
}
