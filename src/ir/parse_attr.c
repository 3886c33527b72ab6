// SPDX-License-Identifier: Apache-2.0
// Attributes of MLIR text, and their conversion to the forms that ops store.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/parse_impl.h"

double hlo_text_to_double(const char* text, const char* end) {
  char small[64];
  size_t length = (size_t)(end - text);
  if (length < sizeof small) {
    memcpy(small, text, length);
    small[length] = 0;
    return strtod(small, NULL);
  }
  char* copy = hlo_mem_strndup(text, length);
  double value = copy ? strtod(copy, NULL) : NAN;
  hlo_mem_free(copy);
  return value;
}

// ---- Numbers

static bool is_hex(const hlo_token_t* token) {
  return token->length > 2 && token->start[0] == '0' && token->start[1] == 'x';
}

// Returns a number of type `dtype` from its token; hexadecimal floats are bit patterns.
static const hlo_attr_t* number_attr(hlo_parser_t* p, const hlo_token_t* number, bool negative,
                                     hlo_dtype_t dtype, bool is_index) {
  const char* end = number->start + number->length;
  uint64_t magnitude = 0;
  if (number->kind == HLO_TOKEN_INT && !hlo_text_to_u64(number->start, end, &magnitude)) {
    hlo_parse_fault(p, number->start, "integer does not fit 64 bits");
    return NULL;
  }
  if (hlo_dtype_is_float(dtype)) {
    unsigned char element[16] = {0};
    if (number->kind == HLO_TOKEN_INT && is_hex(number)) {
      memcpy(element, &magnitude, hlo_dtype_size_bytes(dtype));
    } else {
      double value = hlo_text_to_double(number->start, end);
      hlo_dtype_store_double(dtype, element, negative ? -value : value);
    }
    return hlo_attr_float(p->module, dtype, hlo_dtype_load_double(dtype, element));
  }
  int64_t value;
  if (number->kind != HLO_TOKEN_INT || !hlo_int_fits(dtype, negative, magnitude, &value)) {
    hlo_parse_fault(p, number->start, "not a value of type %s", hlo_dtype_info(dtype)->mlir_name);
    return NULL;
  }
  if (dtype == HLO_DTYPE_PRED) return hlo_attr_bool(p->module, value != 0);
  return hlo_attr_intern(
      p->module,
      &(hlo_attr_t){.kind = HLO_ATTR_KIND_INT, .dtype = dtype, .is_index = is_index, .i = value});
}

static const hlo_attr_t* parse_number(hlo_parser_t* p) {
  bool negative = hlo_accept(p, '-');
  hlo_token_t number = p->token;
  if (number.kind != HLO_TOKEN_INT && number.kind != HLO_TOKEN_FLOAT) {
    hlo_parse_expected(p, "a number");
    return NULL;
  }
  hlo_lex_advance(p);
  hlo_dtype_t dtype = number.kind == HLO_TOKEN_INT ? HLO_DTYPE_S64 : HLO_DTYPE_F64;
  bool is_index = false;
  const char* colon = p->token.start;
  hlo_dtype_t written;
  if (hlo_accept(p, ':')) {
    if (hlo_parse_scalar_type(p, &written, &is_index)) {
      dtype = written;
    } else {
      hlo_lex_seek(p, colon);  // in pretty forms the types of the op may follow a number
      is_index = false;
    }
  }
  return number_attr(p, &number, negative, dtype, is_index);
}

// ---- Strings, symbols, containers

static const hlo_attr_t* parse_string(hlo_parser_t* p) {
  size_t length;
  char* text = hlo_take_text(p, &length);
  return text ? hlo_attr_string(p->module, text, length) : NULL;
}

// "@a::@b".
static const hlo_attr_t* parse_symbol(hlo_parser_t* p) {
  char* all = NULL;
  size_t length = 0;
  do {
    if (!hlo_at(p, HLO_TOKEN_AT)) {
      hlo_expect(p, HLO_TOKEN_AT);
      return NULL;
    }
    size_t part_length;
    char* part = hlo_take_text(p, &part_length);
    if (!part) return NULL;
    if (all) {
      char* joined = hlo_arena_alloc(&p->scratch, length + 2 + part_length + 1);
      if (!joined) return NULL;
      memcpy(joined, all, length);
      memcpy(joined + length, "::", 2);
      memcpy(joined + length + 2, part, part_length + 1);
      part = joined;
      part_length += length + 2;
    }
    all = part;
    length = part_length;
  } while (hlo_accept(p, HLO_TOKEN_SCOPE));
  return hlo_attr_symbol(p->module, all, length);
}

static const hlo_attr_t* parse_array(hlo_parser_t* p) {
  const hlo_attr_t** items = NULL;
  uint32_t count = 0, capacity = 0;
  hlo_lex_advance(p);
  while (!hlo_at(p, ']')) {
    if (count && !hlo_expect(p, ',')) return NULL;
    if (!HLO_GROW(p, items, count, capacity)) return NULL;
    items[count] = hlo_parse_any_attr(p);
    if (!items[count++]) return NULL;
  }
  hlo_lex_advance(p);
  return hlo_attr_array(p->module, count, items);
}

bool hlo_parse_attr_entries(hlo_parser_t* p, hlo_attr_setter_t set, void* context) {
  if (!hlo_expect(p, '{')) return false;
  for (bool first = true; !hlo_at(p, '}'); first = false) {
    if (!first && !hlo_expect(p, ',')) return false;
    const char* at = p->token.start;
    const char* key = at;
    size_t length = p->token.length;
    if (hlo_at(p, HLO_TOKEN_STRING)) {
      key = hlo_take_text(p, &length);
      if (!key) return false;
    } else if (hlo_at(p, HLO_TOKEN_WORD)) {
      hlo_lex_advance(p);
    } else {
      return hlo_parse_expected(p, "the name of an attribute");
    }
    const hlo_attr_t* value = hlo_accept(p, '=') ? hlo_parse_any_attr(p) : hlo_attr_unit(p->module);
    if (!value || !set(p, context, at, key, length, value)) return false;
  }
  hlo_lex_advance(p);
  return true;
}

typedef struct dict {
  const char** keys;
  const hlo_attr_t** items;
  uint32_t count, key_capacity, item_capacity;
} dict_t;

static bool set_entry(hlo_parser_t* p, void* context, HLO_UNUSED const char* at, const char* key,
                      size_t length, const hlo_attr_t* value) {
  dict_t* dict = context;
  if (!HLO_GROW(p, dict->keys, dict->count, dict->key_capacity) ||
      !HLO_GROW(p, dict->items, dict->count, dict->item_capacity)) {
    return false;
  }
  dict->keys[dict->count] = hlo_module_string(p->module, key, length);
  dict->items[dict->count++] = value;
  return true;
}

const hlo_attr_t* hlo_parse_dict(hlo_parser_t* p) {
  dict_t dict = {0};
  if (!hlo_parse_attr_entries(p, set_entry, &dict)) return NULL;
  return hlo_attr_dict(p->module, dict.count, dict.keys, dict.items);
}

// array<i64: 1, 2>
static const hlo_attr_t* parse_dense_array(hlo_parser_t* p) {
  const char* start = p->token.start;
  hlo_dtype_t dtype;
  bool is_index;
  hlo_lex_advance(p);
  if (!hlo_expect(p, '<')) return NULL;
  if (!hlo_parse_scalar_type(p, &dtype, &is_index)) {
    hlo_parse_expected(p, "an element type");
    return NULL;
  }
  if (hlo_dtype_is_float(dtype)) {  // never interpreted
    hlo_lex_seek(p, start);
    hlo_lex_advance(p);
    size_t length;
    char* body = hlo_take_balanced(p, &length);
    char* text = body ? hlo_arena_printf(&p->scratch, "array%s", body) : NULL;
    return text ? hlo_attr_opaque(p->module, text, length + 5) : NULL;
  }
  int64_t* values = NULL;
  uint32_t count = 0, capacity = 0;
  bool more = hlo_accept(p, ':');
  while (more && !hlo_at(p, '>')) {
    if (count && !hlo_expect(p, ',')) return NULL;
    if (!HLO_GROW(p, values, count, capacity) || !hlo_parse_int(p, &values[count])) return NULL;
    ++count;
  }
  if (!hlo_expect(p, '>')) return NULL;
  return hlo_attr_intern(
      p->module,
      &(hlo_attr_t){.kind = HLO_ATTR_KIND_INTS, .dtype = dtype, .count = count, .values = values});
}

// ---- Attributes of dialects

const hlo_attr_t* hlo_parse_enum_case(hlo_parser_t* p, hlo_enum_kind_t kind) {
  if (!hlo_at(p, HLO_TOKEN_WORD)) {
    hlo_parse_expected(p, hlo_enum_mnemonic(kind));
    return NULL;
  }
  int64_t value = hlo_enum_case_value(kind, p->token.start, p->token.length);
  if (value < 0) {
    hlo_parse_fault(p, p->token.start, "'%.*s' is not a %s", (int)p->token.length, p->token.start,
                    hlo_enum_mnemonic(kind));
    return NULL;
  }
  hlo_lex_advance(p);
  return hlo_attr_enum(p->module, kind, value);
}

static hlo_enum_kind_t find_enum(const char* mnemonic, size_t length) {
  for (int k = 0; k < HLO_ENUM_KIND_COUNT; ++k) {
    if (hlo_text_same(hlo_enum_mnemonic((hlo_enum_kind_t)k), mnemonic, length)) {
      return (hlo_enum_kind_t)k;
    }
  }
  return HLO_ENUM_KIND_COUNT;
}

static bool parse_field(hlo_parser_t* p, hlo_attr_form_t form, const hlo_attr_t** out_value) {
  if (form == HLO_ATTR_FORM_DIMS) {
    int64_t* values;
    uint32_t count;
    if (!hlo_parse_int_list(p, &values, &count)) return false;
    *out_value = hlo_attr_ints(p->module, count, values);
  } else if (form == HLO_ATTR_FORM_TYPE) {
    hlo_dtype_t dtype;
    bool is_index;
    if (hlo_at_word(p, "tf32")) {  // not an element type of tensors
      hlo_lex_advance(p);
      *out_value = hlo_attr_opaque(p->module, "tf32", 4);
    } else if (hlo_parse_scalar_type(p, &dtype, &is_index)) {
      *out_value = hlo_attr_type(p->module, hlo_type_tensor(p->module, dtype, 0, NULL));
    } else {
      return hlo_parse_expected(p, "an element type");
    }
  } else {
    int64_t value;
    if (!hlo_parse_int(p, &value)) return false;
    *out_value = form == HLO_ATTR_FORM_BOOL ? hlo_attr_bool(p->module, value != 0)
                                            : hlo_attr_int(p->module, HLO_DTYPE_S64, value);
  }
  return *out_value != NULL;
}

static const hlo_attr_t* parse_fields(hlo_parser_t* p, const hlo_struct_attr_t* info) {
  dict_t dict = {0};
  uint32_t seen = 0;
  const char* start = p->token.start;
  while (!hlo_at(p, '>')) {
    if (dict.count && !hlo_accept(p, ',')) {
      hlo_expect(p, ',');
      return NULL;
    }
    if (hlo_at(p, '>')) break;
    hlo_token_t name = p->token;
    unsigned f = 0;
    while (f < info->field_count && !hlo_text_same(info->fields[f].name, name.start, name.length)) {
      ++f;
    }
    if (f == info->field_count || (seen >> f & 1)) {
      hlo_parse_fault(p, name.start, "#%s has no field '%.*s' here", info->mnemonic,
                      (int)(name.length < 60 ? name.length : 60), name.start);
      return NULL;
    }
    seen |= 1u << f;
    hlo_lex_advance(p);
    const hlo_attr_t* value = NULL;
    if (!hlo_expect(p, '=') || !parse_field(p, hlo_attr_form(info->fields[f].id), &value) ||
        !set_entry(p, &dict, name.start, info->fields[f].name, strlen(info->fields[f].name),
                   value)) {
      return NULL;
    }
  }
  if (info->all_fields && seen + 1 != 1u << info->field_count) {
    hlo_parse_fault(p, start, "#%s lacks a field", info->mnemonic);
    return NULL;
  }
  return hlo_attr_dict(p->module, dict.count, dict.keys, dict.items);
}

const hlo_attr_t* hlo_parse_struct(hlo_parser_t* p, const hlo_struct_attr_t* info) {
  const hlo_attr_t* fields;
  if (!hlo_expect(p, '<')) return NULL;
  if (hlo_struct_is_conv(info) && !hlo_accept_word(p, "raw")) {
    fields = hlo_parse_conv_dims(p);
  } else {
    fields = parse_fields(p, info);
  }
  return fields && hlo_expect(p, '>') ? fields : NULL;
}

// One bracket of dimension numbers: the positions of the two letters and of the spatial dimensions.
static bool parse_conv_part(hlo_parser_t* p, const char* letters, int64_t letters_at[2],
                            int64_t spatial[HLO_RANK_MAX], uint32_t* out_count) {
  const char* at = p->token.start;
  int64_t count = 0, found = 0;
  letters_at[0] = letters_at[1] = -1;
  for (int i = 0; i < HLO_RANK_MAX; ++i) spatial[i] = -1;
  if (!hlo_expect(p, '[')) return false;
  for (int64_t index = 0; !hlo_at(p, ']'); ++index) {
    if (index && !hlo_expect(p, ',')) return false;
    const char* letter = hlo_at(p, HLO_TOKEN_WORD) && p->token.length == 1
                             ? strchr(letters, p->token.start[0])
                             : NULL;
    int64_t* dim = letter ? &letters_at[letter - letters] : NULL;
    if (letter) {
      hlo_lex_advance(p);
    } else {
      int64_t number;
      at = p->token.start;
      if (!hlo_at(p, HLO_TOKEN_INT)) return hlo_parse_expected(p, "a spatial dimension or letter");
      if (!hlo_parse_int(p, &number)) return false;
      if (number >= HLO_RANK_MAX) return hlo_parse_fault(p, at, "spatial dimension out of range");
      if (number >= count) count = number + 1;
      dim = &spatial[number];
    }
    if (*dim >= 0) return hlo_parse_fault(p, at, "dimension given twice");
    *dim = index;
    ++found;
  }
  if (letters_at[0] < 0 || letters_at[1] < 0 || found != count + 2) {
    return hlo_parse_fault(p, at,
                           "dimension numbers must be '%c', '%c' and spatial dimensions "
                           "from 0 without a gap",
                           letters[0], letters[1]);
  }
  *out_count = (uint32_t)count;
  hlo_lex_advance(p);
  return true;
}

const hlo_attr_t* hlo_parse_conv_dims(hlo_parser_t* p) {
  const char* keys[9];
  const hlo_attr_t* items[9];
  for (int part = 0; part < 3; ++part) {
    int64_t letters_at[2], spatial[HLO_RANK_MAX];
    uint32_t count = 0;
    if (part == 1 && !hlo_expect_word(p, "x")) return NULL;
    if (part == 2 && !hlo_expect(p, HLO_TOKEN_ARROW)) return NULL;
    const hlo_conv_part_t* info = &hlo_conv_parts[part];
    if (!parse_conv_part(p, info->letters, letters_at, spatial, &count)) return NULL;
    keys[3 * part] = hlo_attr_name(info->letter_ids[0]);
    keys[3 * part + 1] = hlo_attr_name(info->letter_ids[1]);
    keys[3 * part + 2] = hlo_attr_name(info->spatial_id);
    items[3 * part] = hlo_attr_int(p->module, HLO_DTYPE_S64, letters_at[0]);
    items[3 * part + 1] = hlo_attr_int(p->module, HLO_DTYPE_S64, letters_at[1]);
    items[3 * part + 2] = hlo_attr_ints(p->module, count, spatial);
  }
  return hlo_attr_dict(p->module, 9, keys, items);
}

// Fields after "<" of the structs that no op flattens.
static const hlo_attr_t* parse_plain_struct(hlo_parser_t* p, const char* const names[],
                                            const char* kinds) {
  const char* keys[8];
  const hlo_attr_t* items[8];
  uint32_t count = 0;
  if (!hlo_expect(p, '<')) return NULL;
  for (int i = 0; kinds[i]; ++i) {
    bool optional = kinds[i] == 'f' || kinds[i] == 'u';
    keys[i] = names[i];
    if (optional && !hlo_at_word(p, names[i])) {
      items[i] = kinds[i] == 'f' ? hlo_attr_float(p->module, HLO_DTYPE_F64, 0)
                                 : hlo_attr_int(p->module, HLO_DTYPE_S64, 0);
    } else {
      if (!hlo_expect_word(p, names[i]) || !hlo_expect(p, '=')) return NULL;
      items[i] = NULL;
      if (kinds[i] == 'l') {
        parse_field(p, HLO_ATTR_FORM_DIMS, &items[i]);
      } else {
        items[i] = hlo_parse_any_attr(p);
      }
      if (kinds[i + 1] && !hlo_expect(p, ',')) return NULL;
    }
    if (!items[i]) return NULL;
    ++count;
  }
  return hlo_expect(p, '>') ? hlo_attr_dict(p->module, count, keys, items) : NULL;
}

static const hlo_attr_t* parse_opaque(hlo_parser_t* p, const hlo_token_t* name) {
  char* text = hlo_arena_strndup(&p->scratch, name->start, name->length);
  size_t length = name->length;
  if (text && hlo_at(p, '<') && p->token.start == name->start + name->length) {
    size_t body_length;
    char* body = hlo_take_balanced(p, &body_length);
    if (!body) return NULL;
    text = hlo_arena_printf(&p->scratch, "%s%s", text, body);
    length += body_length;
  }
  return text ? hlo_attr_opaque(p->module, text, length) : NULL;
}

// #stablehlo<comparison_direction LT> and #stablehlo.comparison_direction<LT>, also of chlo
static bool is_enum(const hlo_token_t* name) {
  const char* dot = memchr(name->start, '.', name->length);
  size_t length = dot ? (size_t)(dot - name->start) : name->length;
  if (!hlo_text_same("#stablehlo", name->start, length) &&
      !hlo_text_same("#chlo", name->start, length)) {
    return false;
  }
  return !dot || find_enum(dot + 1, name->length - length - 1) != HLO_ENUM_KIND_COUNT;
}

static const hlo_attr_t* parse_enum(hlo_parser_t* p, const hlo_token_t* name) {
  const char* dot = memchr(name->start, '.', name->length);
  if (!dot) hlo_lex_advance(p);
  const char* mnemonic = dot ? dot + 1 : p->token.start;
  size_t length = dot ? name->length - (size_t)(mnemonic - name->start) : p->token.length;
  hlo_enum_kind_t kind = find_enum(mnemonic, length);
  if (kind == HLO_ENUM_KIND_COUNT) {
    hlo_parse_fault(p, mnemonic, "unknown attribute '%.*s'", (int)(length < 60 ? length : 60),
                    mnemonic);
    return NULL;
  }
  hlo_lex_advance(p);
  const hlo_attr_t* attr = hlo_parse_enum_case(p, kind);
  return attr && hlo_expect(p, '>') ? attr : NULL;
}

static const hlo_attr_t* parse_hash(hlo_parser_t* p) {
  static const char* const kAlias[] = {"output_tuple_indices", "operand_index",
                                       "operand_tuple_indices"};
  static const char* const kAccuracy[] = {"atol", "rtol", "ulps", "mode"};
  hlo_token_t name = p->token;
  const char* end = name.start + name.length;
  bool is_dialect = memchr(name.start, '.', name.length) || (end < p->end && *end == '<');
  if (!is_dialect) return hlo_parse_alias(p, &p->attrs);
  hlo_lex_advance(p);
  const hlo_struct_attr_t* info = hlo_struct_by_mnemonic(name.start + 1, name.length - 1);
  if (info) return hlo_parse_struct(p, info);
  if (hlo_text_same("#stablehlo.output_operand_alias", name.start, name.length)) {
    return parse_plain_struct(p, kAlias, "lil");
  }
  if (hlo_text_same("#stablehlo.result_accuracy", name.start, name.length)) {
    return parse_plain_struct(p, kAccuracy, "ffum");
  }
  if (is_enum(&name)) return parse_enum(p, &name);
  return parse_opaque(p, &name);
}

// ---- All attributes

static const hlo_attr_t* parse_word(hlo_parser_t* p) {
  if (hlo_at_word(p, "true") || hlo_at_word(p, "false")) {
    bool value = p->token.start[0] == 't';
    hlo_lex_advance(p);
    return hlo_attr_bool(p->module, value);
  }
  if (hlo_accept_word(p, "unit")) return hlo_attr_unit(p->module);
  if (hlo_at_word(p, "dense")) return hlo_parse_dense(p);
  if (hlo_at_word(p, "dense_resource")) return hlo_parse_dense_resource(p);
  if (hlo_at_word(p, "array")) return parse_dense_array(p);
  hlo_token_t word = p->token;
  if (hlo_at_word(p, "affine_map") || hlo_at_word(p, "affine_set") || hlo_at_word(p, "sparse") ||
      hlo_at_word(p, "strided") || hlo_at_word(p, "distinct") || hlo_at_word(p, "vector")) {
    hlo_lex_advance(p);
    return parse_opaque(p, &word);
  }
  if (hlo_accept_word(p, "tf32")) return hlo_attr_opaque(p->module, "tf32", 4);
  hlo_dtype_t dtype;
  bool is_index;
  if (hlo_parse_scalar_type(p, &dtype, &is_index)) {  // a type that no value has is stored as text
    const char* name = is_index ? "index" : hlo_dtype_info(dtype)->mlir_name;
    return hlo_attr_opaque(p->module, name, strlen(name));
  }
  const hlo_type_t* type = p->token.start == word.start ? hlo_parse_any_type(p) : NULL;
  return type ? hlo_attr_type(p->module, type) : NULL;
}

static const hlo_attr_t* parse_attr(hlo_parser_t* p) {
  const hlo_type_t* type;
  switch (p->token.kind) {
    case '{': return hlo_parse_dict(p);
    case '[': return parse_array(p);
    case HLO_TOKEN_STRING: return parse_string(p);
    case HLO_TOKEN_AT: return parse_symbol(p);
    case '-':
    case HLO_TOKEN_INT:
    case HLO_TOKEN_FLOAT: return parse_number(p);
    case HLO_TOKEN_WORD: return parse_word(p);
    case HLO_TOKEN_HASH: return parse_hash(p);
    case '(':
    case HLO_TOKEN_BANG:
      type = hlo_parse_any_type(p);
      return type ? hlo_attr_type(p->module, type) : NULL;
    default: hlo_parse_expected(p, "an attribute"); return NULL;
  }
}

const hlo_attr_t* hlo_parse_any_attr(hlo_parser_t* p) {
  const hlo_attr_t* attr = hlo_parse_enter(p) ? parse_attr(p) : NULL;
  --p->depth;
  return attr;
}

// ---- conversion to the forms that attrs.def gives to attributes of ops

static const struct {
  hlo_attr_form_t form;
  hlo_enum_kind_t kind;
} kEnums[] = {
    {HLO_ATTR_FORM_ENUM_COMPARISON_DIRECTION, HLO_ENUM_COMPARISON_DIRECTION},
    {HLO_ATTR_FORM_ENUM_COMPARISON_TYPE, HLO_ENUM_COMPARISON_TYPE},
    {HLO_ATTR_FORM_ENUM_FFT_TYPE, HLO_ENUM_FFT_TYPE},
    {HLO_ATTR_FORM_ENUM_RNG_ALGORITHM, HLO_ENUM_RNG_ALGORITHM},
    {HLO_ATTR_FORM_ENUM_RNG_DISTRIBUTION, HLO_ENUM_RNG_DISTRIBUTION},
    {HLO_ATTR_FORM_ENUM_TRANSPOSE, HLO_ENUM_TRANSPOSE},
    {HLO_ATTR_FORM_PRECISIONS, HLO_ENUM_PRECISION},
};

hlo_enum_kind_t hlo_form_enum(hlo_attr_form_t form) {
  for (size_t i = 0; i < sizeof kEnums / sizeof *kEnums; ++i) {
    if (kEnums[i].form == form) return kEnums[i].kind;
  }
  return HLO_ENUM_KIND_COUNT;
}

static bool is_int(const hlo_attr_t* attr, hlo_dtype_t dtype) {
  return attr->kind == HLO_ATTR_KIND_INT && attr->dtype == dtype && !attr->is_index;
}

static bool all_items(const hlo_attr_t* attr, hlo_attr_kind_t kind) {
  if (attr->kind != HLO_ATTR_KIND_ARRAY) return false;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (attr->items[i]->kind != kind) return false;
  }
  return true;
}

// Returns the integers of a dense attribute; NULL without a fault if it is not a small tensor of
// integers.
static const hlo_attr_t* ints_of_literal(hlo_parser_t* p, const hlo_attr_t* attr, uint32_t rank,
                                         hlo_dtype_t dtype) {
  const hlo_literal_t* literal = attr->kind == HLO_ATTR_KIND_LITERAL ? attr->literal : NULL;
  if (!literal || literal->rank != rank || literal->dtype != dtype ||
      literal->element_count > UINT32_MAX) {
    return NULL;
  }
  for (uint32_t i = 0; i < rank; ++i) {
    if (literal->dims[i] > UINT32_MAX) return NULL;
  }
  uint32_t count = (uint32_t)literal->element_count;
  int64_t* values = hlo_arena_array(&p->scratch, count, sizeof *values);
  if (!values) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = hlo_dtype_load_int64(dtype, hlo_literal_element(literal, i));
  }
  return hlo_attr_intern(p->module,
                         &(hlo_attr_t){.kind = HLO_ATTR_KIND_INTS,
                                       .dtype = dtype,
                                       .is_index = attr->type->is_index,
                                       .count = count,
                                       .rows = rank == 2 ? (uint32_t)literal->dims[0] : 0,
                                       .cols = rank == 2 ? (uint32_t)literal->dims[1] : 0,
                                       .values = values});
}

static const hlo_attr_t* to_vector(hlo_parser_t* p, const hlo_attr_t* attr, hlo_dtype_t dtype) {
  if (attr->kind != HLO_ATTR_KIND_INTS) return ints_of_literal(p, attr, 1, dtype);
  if (attr->rows || attr->cols || attr->is_index) return NULL;
  return attr->dtype == dtype ? attr : NULL;
}

static const hlo_attr_t* to_matrix(hlo_parser_t* p, const hlo_attr_t* attr, bool pairs) {
  if (attr->kind == HLO_ATTR_KIND_OPAQUE && !pairs) return attr;  // mesh axes
  if (attr->kind == HLO_ATTR_KIND_INTS && attr->cols) return attr;
  const hlo_attr_t* matrix = ints_of_literal(p, attr, 2, HLO_DTYPE_S64);
  return matrix && pairs && matrix->count && matrix->cols != 2 ? NULL : matrix;
}

static const hlo_attr_t* to_layouts(hlo_parser_t* p, const hlo_attr_t* attr) {
  if (attr->kind != HLO_ATTR_KIND_ARRAY) return NULL;
  const hlo_attr_t** items = hlo_arena_array(&p->scratch, attr->count, sizeof *items);
  if (!items) return NULL;
  for (uint32_t i = 0; i < attr->count; ++i) {
    items[i] = attr->items[i]->kind == HLO_ATTR_KIND_INTS
                   ? attr->items[i]
                   : ints_of_literal(p, attr->items[i], 1, HLO_DTYPE_S64);
    if (!items[i]) return NULL;
  }
  return hlo_attr_array(p->module, attr->count, items);
}

static const hlo_attr_t* if_kind(const hlo_attr_t* attr, hlo_attr_kind_t kind) {
  return attr->kind == kind ? attr : NULL;
}

static const hlo_attr_t* to_enum(const hlo_attr_t* attr, hlo_enum_kind_t kind) {
  return attr->kind == HLO_ATTR_KIND_ENUM && attr->enum_kind == kind ? attr : NULL;
}

static const hlo_attr_t* to_precisions(const hlo_attr_t* attr) {
  if (!all_items(attr, HLO_ATTR_KIND_ENUM)) return NULL;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (attr->items[i]->enum_kind != HLO_ENUM_PRECISION) return NULL;
  }
  return attr;
}

// A number becomes a constant of rank 0 (chlo.constant_like).
static const hlo_attr_t* to_literal(hlo_parser_t* p, const hlo_attr_t* attr) {
  bool is_float = attr->kind == HLO_ATTR_KIND_FLOAT;
  if (!is_float && attr->kind != HLO_ATTR_KIND_INT) return if_kind(attr, HLO_ATTR_KIND_LITERAL);
  hlo_literal_t* literal = NULL;
  if (!hlo_status_take_ok(hlo_literal_create(attr->dtype, 0, NULL, false, &literal))) return NULL;
  if (is_float) {
    hlo_dtype_store_double(attr->dtype, hlo_literal_mutable_data(literal), attr->f);
  } else {
    hlo_dtype_store_int64(attr->dtype, hlo_literal_mutable_data(literal), attr->i);
  }
  const hlo_attr_t* value =
      hlo_attr_literal(p->module, hlo_type_tensor(p->module, attr->dtype, 0, NULL), literal);
  hlo_literal_release(literal);
  return value;
}

static const hlo_attr_t* convert_attr(hlo_parser_t* p, hlo_attr_id_t id, const hlo_attr_t* attr) {
  hlo_attr_form_t form = hlo_attr_form(id);
  switch (form) {
    case HLO_ATTR_FORM_I64: return is_int(attr, HLO_DTYPE_S64) ? attr : NULL;
    case HLO_ATTR_FORM_I32: return is_int(attr, HLO_DTYPE_S32) ? attr : NULL;
    case HLO_ATTR_FORM_U64: return is_int(attr, HLO_DTYPE_U64) ? attr : NULL;
    case HLO_ATTR_FORM_BOOL: return if_kind(attr, HLO_ATTR_KIND_BOOL);
    case HLO_ATTR_FORM_F32:
      return attr->kind == HLO_ATTR_KIND_FLOAT && attr->dtype == HLO_DTYPE_F32 ? attr : NULL;
    case HLO_ATTR_FORM_STRING: return if_kind(attr, HLO_ATTR_KIND_STRING);
    case HLO_ATTR_FORM_SYMBOL: return if_kind(attr, HLO_ATTR_KIND_SYMBOL);
    case HLO_ATTR_FORM_SYMBOLS: return all_items(attr, HLO_ATTR_KIND_SYMBOL) ? attr : NULL;
    case HLO_ATTR_FORM_TYPE: return if_kind(attr, HLO_ATTR_KIND_TYPE);
    case HLO_ATTR_FORM_UNIT: return if_kind(attr, HLO_ATTR_KIND_UNIT);
    case HLO_ATTR_FORM_DICT: return if_kind(attr, HLO_ATTR_KIND_DICT);
    case HLO_ATTR_FORM_LITERAL: return to_literal(p, attr);
    case HLO_ATTR_FORM_DIMS:
      if (id == HLO_ATTR_operand_segment_sizes && attr->kind == HLO_ATTR_KIND_INTS) {
        return hlo_attr_ints(p->module, attr->count, attr->values);
      }
      return to_vector(p, attr, HLO_DTYPE_S64);
    case HLO_ATTR_FORM_BOOLS: return to_vector(p, attr, HLO_DTYPE_PRED);
    case HLO_ATTR_FORM_PAIRS:
    case HLO_ATTR_FORM_MATRIX: return to_matrix(p, attr, form == HLO_ATTR_FORM_PAIRS);
    case HLO_ATTR_FORM_LAYOUTS: return to_layouts(p, attr);
    case HLO_ATTR_FORM_ALIASES: return all_items(attr, HLO_ATTR_KIND_DICT) ? attr : NULL;
    case HLO_ATTR_FORM_PRECISIONS: return to_precisions(attr);
    case HLO_ATTR_FORM_ANY: return attr;
    default: return to_enum(attr, hlo_form_enum(form));
  }
}

static const char* form_words(hlo_attr_form_t form) {
  switch (form) {
    case HLO_ATTR_FORM_I64: return "a 64-bit integer";
    case HLO_ATTR_FORM_I32: return "a 32-bit integer";
    case HLO_ATTR_FORM_U64: return "an unsigned 64-bit integer";
    case HLO_ATTR_FORM_BOOL: return "true or false";
    case HLO_ATTR_FORM_F32: return "a number of type f32";
    case HLO_ATTR_FORM_STRING: return "a string";
    case HLO_ATTR_FORM_SYMBOL: return "a symbol";
    case HLO_ATTR_FORM_SYMBOLS: return "an array of symbols";
    case HLO_ATTR_FORM_TYPE: return "a type";
    case HLO_ATTR_FORM_UNIT: return "no value";
    case HLO_ATTR_FORM_DICT: return "a dictionary";
    case HLO_ATTR_FORM_LITERAL: return "a dense constant";
    case HLO_ATTR_FORM_DIMS: return "array<i64: ...>";
    case HLO_ATTR_FORM_BOOLS: return "array<i1: ...>";
    case HLO_ATTR_FORM_PAIRS: return "a dense Nx2 tensor of i64";
    case HLO_ATTR_FORM_MATRIX: return "a dense tensor of i64 of rank 2";
    case HLO_ATTR_FORM_LAYOUTS: return "an array of dense index vectors";
    case HLO_ATTR_FORM_ALIASES: return "an array of #stablehlo.output_operand_alias";
    case HLO_ATTR_FORM_PRECISIONS: return "an array of #stablehlo<precision ...>";
    case HLO_ATTR_FORM_ANY: return "an attribute";
    default: return hlo_enum_mnemonic(hlo_form_enum(form));
  }
}

const hlo_attr_t* hlo_attr_to_form(hlo_parser_t* p, const char* at, hlo_attr_id_t id,
                                   const hlo_attr_t* attr) {
  const hlo_attr_t* value = convert_attr(p, id, attr);
  if (!value && !p->scratch.failed && !p->module->arena.failed) {
    hlo_parse_fault(p, at, "attribute '%s' must be %s", hlo_attr_text_name(id),
                    form_words(hlo_attr_form(id)));
  }
  return value;
}
