// SPDX-License-Identifier: Apache-2.0
// Constants of MLIR text: dense<...> as nested lists, splats and hex strings, and
// dense_resource<...>.
//
// The type follows the elements, so it is parsed first; then elements are stored directly in their
// final position.
#include <string.h>

#include "ir/parse_impl.h"

// The address space of current processors: 2^47 bytes.
#define CONSTANT_BYTES_MAX ((size_t)1 << 47)

typedef struct elements {
  hlo_parser_t* p;
  const hlo_type_t* type;
  const hlo_dtype_info_t* info;
  size_t width;
  uint8_t* next;  // the position of the next element
  uint8_t* end;
} elements_t;

// ---- One element

static bool store_number(elements_t* e, hlo_dtype_t dtype, uint8_t* out) {
  hlo_parser_t* p = e->p;
  const char* at = p->token.start;
  if (hlo_at_word(p, "true") || hlo_at_word(p, "false")) {
    if (dtype != HLO_DTYPE_PRED) {
      return hlo_parse_fault(p, at, "true and false are elements of i1 only");
    }
    *out = at[0] == 't';
    hlo_lex_advance(p);
    return true;
  }
  bool negative = hlo_accept(p, '-');
  bool is_int = hlo_at(p, HLO_TOKEN_INT);
  if (!is_int && !hlo_at(p, HLO_TOKEN_FLOAT)) return hlo_parse_expected(p, "an element");
  const char* text = p->token.start;
  const char* end = text + p->token.length;
  bool is_hex = is_int && end - text > 2 && text[1] == 'x';
  uint64_t magnitude = 0;
  if (is_int && !hlo_text_to_u64(text, end, &magnitude)) {
    if (is_hex || !hlo_dtype_is_float(dtype)) {
      return hlo_parse_fault(p, at, "integer does not fit 64 bits");
    }
  }
  unsigned bits = hlo_dtype_info(dtype)->bits;
  if (hlo_dtype_is_float(dtype) && is_hex) {
    if (bits < 64 && magnitude >> bits) {
      return hlo_parse_fault(p, at, "more than %u bits for an element of %s", bits,
                             hlo_dtype_info(dtype)->mlir_name);
    }
    memcpy(out, &magnitude, hlo_dtype_size_bytes(dtype));
  } else if (hlo_dtype_is_float(dtype)) {
    double value = hlo_text_to_double(text, end);
    hlo_dtype_store_double(dtype, out, negative ? -value : value);
  } else {
    int64_t value;
    if (!is_int || !hlo_int_fits(dtype, negative, magnitude, &value)) {
      return hlo_parse_fault(p, at, "not a value of type %s", hlo_dtype_info(dtype)->mlir_name);
    }
    hlo_dtype_store_int64(dtype, out, value);
  }
  hlo_lex_advance(p);
  return true;
}

static bool store_element(elements_t* e) {
  hlo_parser_t* p = e->p;
  if (e->next == e->end) {
    return hlo_parse_fault(p, p->token.start, "more elements than the type has");
  }
  uint8_t* out = e->next;
  e->next += e->width;
  if (e->info->klass != HLO_DTYPE_CLASS_COMPLEX) {
    return store_number(e, e->type->dtype, out);
  }
  if (!hlo_accept(p, '(')) {  // "(re, im)" may be used for a splat, a real number may not
    return hlo_expect(p, '(');
  }
  hlo_dtype_t part = e->info->part;
  return store_number(e, part, out) && hlo_expect(p, ',') &&
         store_number(e, part, out + hlo_dtype_size_bytes(part)) && hlo_expect(p, ')');
}

// Parses nested lists: one level of brackets per dimension.
static bool store_nested(elements_t* e, uint32_t dim) {
  hlo_parser_t* p = e->p;
  if (dim == e->type->rank) return store_element(e);
  const char* at = p->token.start;
  if (!hlo_expect(p, '[')) return false;
  int64_t count = 0;
  for (; !hlo_at(p, ']'); ++count) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!store_nested(e, dim + 1)) return false;
  }
  if (count != e->type->dims[dim]) {
    return hlo_parse_fault(p, at, "%lld elements here, but dimension %u of the type has %lld",
                           (long long)count, dim, (long long)e->type->dims[dim]);
  }
  hlo_lex_advance(p);
  return true;
}

// ---- Raw bytes

static int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Values of sub-byte types are stored sign- or zero-extended; the spare bits of the text are
// ignored.
static void tidy_bytes(hlo_dtype_t dtype, uint8_t* bytes, size_t count) {
  unsigned bits = hlo_dtype_info(dtype)->bits;
  if (bits >= 8) return;
  bool is_signed = hlo_dtype_is_signed(dtype);
  for (size_t i = 0; i < count; ++i) {
    uint8_t value = (uint8_t)(bytes[i] << (8 - bits));
    bytes[i] = is_signed ? (uint8_t)((int8_t)value >> (8 - bits)) : (uint8_t)(value >> (8 - bits));
  }
}

static bool hex_to_bytes(hlo_parser_t* p, const char* at, const char* hex, size_t count,
                         uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return hlo_parse_fault(p, at, "not a hexadecimal string");
    out[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

// Returns NULL after a fault. Exhausted memory is not a fault of the text.
static hlo_literal_t* new_literal(hlo_parser_t* p, const char* at, const hlo_type_t* type,
                                  bool splat) {
  hlo_literal_t* literal = NULL;
  hlo_status_t status = hlo_literal_create(type->dtype, type->rank, type->dims, splat, &literal);
  if (hlo_status_is_ok(status)) return literal;
  if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) p->no_memory = true;
  hlo_parse_fault(p, at, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return NULL;
}

// i1 elements are packed eight to a byte, or stored one to a byte.
static hlo_literal_t* bools_of_hex(hlo_parser_t* p, const char* at, const hlo_type_t* type,
                                   int64_t count, const char* hex, size_t byte_count) {
  bool packed = byte_count == (size_t)count / 8 + (count % 8 != 0);
  bool splat = !packed && byte_count == 1 && count != 1;
  if (!packed && !splat && byte_count != (size_t)count) {
    hlo_parse_fault(p, at, "%zu bytes are not %lld elements of i1", byte_count, (long long)count);
    return NULL;
  }
  uint8_t* bytes = hlo_arena_alloc(&p->scratch, byte_count);
  if (!bytes || !hex_to_bytes(p, at, hex, byte_count, bytes)) return NULL;
  hlo_literal_t* literal = new_literal(p, at, type, splat);
  if (!literal) return NULL;
  uint8_t* out = hlo_literal_mutable_data(literal);
  for (size_t i = 0; i < literal->data_bytes; ++i) {
    out[i] = packed && !splat ? bytes[i / 8] >> (i % 8) & 1 : bytes[i] != 0;
  }
  return literal;
}

static hlo_literal_t* literal_of_hex(hlo_parser_t* p, const char* at, const hlo_type_t* type,
                                     int64_t count, const char* hex, size_t length) {
  if (length < 2 || hex[0] != '0' || hex[1] != 'x' || length % 2) {
    hlo_parse_fault(p, at, "not a hexadecimal string");
    return NULL;
  }
  hex += 2;
  size_t byte_count = (length - 2) / 2, want;
  if (type->dtype == HLO_DTYPE_PRED) {
    return bools_of_hex(p, at, type, count, hex, byte_count);
  }
  size_t width = hlo_dtype_size_bytes(type->dtype);
  bool fits = hlo_size_mul((size_t)count, width, &want) && want == byte_count;
  bool splat = !fits && byte_count == width && count > 0;
  if (!fits && !splat) {
    hlo_parse_fault(p, at, "%zu bytes are not %lld elements of %s", byte_count, (long long)count,
                    hlo_dtype_info(type->dtype)->mlir_name);
    return NULL;
  }
  hlo_literal_t* literal = new_literal(p, at, type, splat);
  if (!literal) return NULL;
  if (!hex_to_bytes(p, at, hex, byte_count, hlo_literal_mutable_data(literal))) {
    hlo_literal_release(literal);
    return NULL;
  }
  tidy_bytes(type->dtype, hlo_literal_mutable_data(literal), byte_count);
  return literal;
}

// ---- dense<...> : type

// Parses the elements between "<" and ">"; ">" is the current token afterwards.
static hlo_literal_t* parse_elements(hlo_parser_t* p, const hlo_type_t* type, int64_t count,
                                     size_t text_bytes) {
  const char* at = p->token.start;
  if (hlo_at(p, HLO_TOKEN_STRING)) {
    hlo_token_t string = p->token;
    hlo_lex_advance(p);
    return literal_of_hex(p, at, type, count, string.start + 1, string.length - 2);
  }
  bool splat = !hlo_at(p, '[') && type->rank > 0 && !hlo_at(p, '>');
  if (!splat && (uint64_t)count > text_bytes) {  // each element has at least one character
    hlo_parse_fault(p, at, "fewer elements than the %lld of the type", (long long)count);
    return NULL;
  }
  hlo_literal_t* literal = new_literal(p, at, type, splat);
  if (!literal) return NULL;
  elements_t e = {.p = p,
                  .type = type,
                  .info = hlo_dtype_info(type->dtype),
                  .width = hlo_dtype_size_bytes(type->dtype),
                  .next = hlo_literal_mutable_data(literal)};
  e.end = e.next + literal->data_bytes;
  bool ok;
  if (hlo_at(p, '>')) {
    ok = count == 0 ||
         hlo_parse_fault(p, at, "no elements, but the type has %lld", (long long)count);
  } else {
    ok = splat ? store_element(&e) : store_nested(&e, 0);
  }
  if (ok && hlo_at(p, '>')) return literal;
  if (ok) hlo_expect(p, '>');
  hlo_literal_release(literal);
  return NULL;
}

static bool check_constant_type(hlo_parser_t* p, const char* at, const hlo_type_t* type,
                                int64_t* out_count) {
  if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) {
    return hlo_parse_fault(p, at, "a constant needs a tensor type without unknown dimensions");
  }
  *out_count = hlo_type_element_count(type);
  if (hlo_type_size_bytes(type) > CONSTANT_BYTES_MAX) {
    return hlo_parse_fault(p, at, "a constant of %lld elements does not fit any memory",
                           (long long)*out_count);
  }
  return true;
}

static const hlo_attr_t* literal_attr(hlo_parser_t* p, const hlo_type_t* type,
                                      hlo_literal_t* literal) {
  const hlo_attr_t* attr = literal ? hlo_attr_literal(p->module, type, literal) : NULL;
  hlo_literal_release(literal);
  return attr;
}

// Parses the type after the balanced text at the current token and returns to that token;
// `out_after` is the end of the type.
static const hlo_type_t* type_ahead(hlo_parser_t* p, const char** out_close, const char** out_after,
                                    int64_t* out_count) {
  const char* open = p->token.start;
  if (!hlo_at(p, '<')) {
    hlo_expect(p, '<');
    return NULL;
  }
  if (!hlo_skip_balanced(p, open, out_close)) return NULL;
  hlo_lex_seek(p, *out_close);
  if (!hlo_expect(p, ':')) return NULL;
  const char* at = p->token.start;
  const hlo_type_t* type = hlo_parse_any_type(p);
  if (!type || !check_constant_type(p, at, type, out_count)) return NULL;
  *out_after = p->token.start;
  hlo_lex_seek(p, open);
  hlo_lex_advance(p);
  return type;
}

const hlo_attr_t* hlo_parse_dense(hlo_parser_t* p) {
  const char *close, *after;
  int64_t count;
  hlo_lex_advance(p);
  const char* open = p->token.start;
  const hlo_type_t* type = type_ahead(p, &close, &after, &count);
  if (!type) return NULL;
  hlo_literal_t* literal = parse_elements(p, type, count, (size_t)(close - open));
  if (literal) hlo_lex_seek(p, after);
  return literal_attr(p, type, literal);
}

// MLIR prints an elided constant where it is too long to print.
static hlo_literal_t* elided_literal(hlo_parser_t* p, const char* at, const hlo_type_t* type) {
  hlo_literal_t* literal = NULL;
  hlo_status_t status = hlo_literal_create_elided(p->elided, (uint64_t)(at - p->text), type->dtype,
                                                  type->rank, type->dims, &literal);
  if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) p->no_memory = true;
  if (!hlo_status_is_ok(status)) hlo_parse_fault(p, at, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return literal;
}

// A resource is a blob of a 4-byte alignment and the elements.
const hlo_attr_t* hlo_parse_dense_resource(hlo_parser_t* p) {
  enum { HEADER_HEX_DIGITS = 8 };
  const char *close, *after;
  int64_t count;
  hlo_lex_advance(p);
  const hlo_type_t* type = type_ahead(p, &close, &after, &count);
  if (!type) return NULL;
  hlo_token_t name = p->token;
  if (name.kind == HLO_TOKEN_STRING) {
    ++name.start;
    name.length -= 2;
  } else if (name.kind != HLO_TOKEN_WORD) {
    hlo_expect(p, HLO_TOKEN_WORD);
    return NULL;
  }
  hlo_read_metadata_ahead(p);
  if (hlo_text_same("__elided__", name.start, name.length)) {
    hlo_literal_t* elided = elided_literal(p, name.start, type);
    if (elided) hlo_lex_seek(p, after);
    return literal_attr(p, type, elided);
  }
  hlo_name_entry_t* entry = hlo_names_find(&p->resources, name.start, name.length);
  if (!entry) {
    hlo_parse_fault(p, name.start, "resource '%.*s' is not in the text",
                    (int)(name.length < 60 ? name.length : 60), name.start);
    return NULL;
  }
  const char* blob = entry->payload;
  size_t length = entry->number;
  if (length < 2 + HEADER_HEX_DIGITS) {
    hlo_parse_fault(p, name.start, "resource '%.*s' is too short", (int)name.length, name.start);
    return NULL;
  }
  char* hex = hlo_arena_alloc(&p->scratch, length - HEADER_HEX_DIGITS);
  if (!hex) return NULL;
  memcpy(hex, "0x", 2);
  memcpy(hex + 2, blob + 2 + HEADER_HEX_DIGITS, length - 2 - HEADER_HEX_DIGITS);
  hlo_literal_t* literal =
      literal_of_hex(p, name.start, type, count, hex, length - HEADER_HEX_DIGITS);
  if (literal) hlo_lex_seek(p, after);
  return literal_attr(p, type, literal);
}
