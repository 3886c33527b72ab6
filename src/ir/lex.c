// SPDX-License-Identifier: Apache-2.0
// Tokens of MLIR text, faults with their location, and shared helpers of the parser.
#include <string.h>

#include "ir/parse_impl.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word_char(char c) {
  return is_letter(c) || is_digit(c) || c == '$' || c == '.';
}
static bool is_suffix_char(char c) {
  return is_word_char(c) || c == '-';
}
static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// ---- Faults

void hlo_parse_location(hlo_parser_t* p, const char* at, uint32_t* out_line, uint32_t* out_col) {
  if (at < p->line_at) {
    p->line_at = p->line_start = p->text;
    p->line = 1;
  }
  const char* newline;
  while ((newline = memchr(p->line_at, '\n', (size_t)(at - p->line_at)))) {
    ++p->line;
    p->line_at = p->line_start = newline + 1;
  }
  p->line_at = at;
  *out_line = p->line;
  *out_col = (uint32_t)(at - p->line_start) + 1;
}

bool hlo_parse_fault(hlo_parser_t* p, const char* at, const char* format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(HLO_STATUS_INVALID_ARGUMENT, format, args);
  va_end(args);
  strncpy(message, hlo_status_message(status), sizeof message - 1);
  message[sizeof message - 1] = 0;
  hlo_status_release(status);
  uint32_t line, col;
  hlo_parse_location(p, at, &line, &col);
  hlo_diag_error(p->diag, line, col, "%s", message);
  return false;
}

bool hlo_parse_expected(hlo_parser_t* p, const char* what) {
  if (hlo_at(p, HLO_TOKEN_ERROR)) return false;
  if (hlo_at(p, HLO_TOKEN_EOF)) {
    return hlo_parse_fault(p, p->token.start, "expected %s, found the end of the text", what);
  }
  size_t length = p->token.length < 40 ? p->token.length : 40;
  return hlo_parse_fault(p, p->token.start, "expected %s, found '%.*s'", what, (int)length,
                         p->token.start);
}

bool hlo_parse_enter(hlo_parser_t* p) {
  if (++p->depth > p->deepest) p->deepest = p->depth;
  if (p->depth <= HLO_TEXT_DEPTH_MAX) return true;
  return hlo_parse_fault(p, p->token.start, "nested more than %d deep", HLO_TEXT_DEPTH_MAX);
}

// ---- Tokens

static const char* skip_blanks(const char* c, const char* end) {
  for (;;) {
    while (c < end && (*c == ' ' || *c == '\n' || *c == '\t' || *c == '\r')) ++c;
    if (end - c < 2 || c[0] != '/' || c[1] != '/') return c;
    const char* newline = memchr(c, '\n', (size_t)(end - c));
    c = newline ? newline + 1 : end;
  }
}

// Returns the closing quote of the string that starts at `c`, or NULL.
static const char* string_end(const char* c, const char* end) {
  for (++c; c < end && *c != '\n'; ++c) {
    if (*c == '"') return c;
    if (*c == '\\' && c + 1 < end) ++c;
  }
  return NULL;
}

static int set_token(hlo_parser_t* p, int kind, const char* stop) {
  p->token.kind = kind;
  p->token.length = (size_t)(stop - p->token.start);
  p->cursor = stop;
  return kind;
}

static void lex_number(hlo_parser_t* p) {
  const char* c = p->token.start;
  if (c[0] == '0' && p->end - c > 2 && c[1] == 'x' && hex_digit(c[2]) >= 0) {
    for (c += 2; c < p->end && hex_digit(*c) >= 0; ++c) {
    }
    set_token(p, HLO_TOKEN_INT, c);
    return;
  }
  while (c < p->end && is_digit(*c)) ++c;
  if (c == p->end || *c != '.') {
    set_token(p, HLO_TOKEN_INT, c);
    return;
  }
  for (++c; c < p->end && is_digit(*c); ++c) {
  }
  if (c < p->end && (*c == 'e' || *c == 'E')) {
    const char* e = c + 1;
    if (e < p->end && (*e == '+' || *e == '-')) ++e;
    if (e < p->end && is_digit(*e)) {
      while (e < p->end && is_digit(*e)) ++e;
      c = e;
    }
  }
  set_token(p, HLO_TOKEN_FLOAT, c);
}

static void lex_string(hlo_parser_t* p, int kind, const char* quote) {
  const char* close = string_end(quote, p->end);
  if (close) {
    set_token(p, kind, close + 1);
    return;
  }
  set_token(p, HLO_TOKEN_ERROR, p->end);
  hlo_parse_fault(p, p->token.start, "unterminated string");
}

// %0, #name, !dialect.type, ^bb0: digits, or a name that may hold dots and dashes.
static void lex_prefixed(hlo_parser_t* p, int kind) {
  const char* c = p->token.start + 1;
  if (c < p->end && is_digit(*c)) {
    while (c < p->end && is_digit(*c)) ++c;
  } else {
    while (c < p->end && is_suffix_char(*c) && !(*c == '-' && c + 1 < p->end && c[1] == '>')) ++c;
  }
  if (c == p->token.start + 1) {
    set_token(p, HLO_TOKEN_ERROR, p->end);
    hlo_parse_fault(p, p->token.start, "expected a name after '%c'", *p->token.start);
    return;
  }
  set_token(p, kind, c);
}

static bool starts_with(const hlo_parser_t* p, const char* c, const char* text) {
  size_t length = strlen(text);
  return (size_t)(p->end - c) >= length && memcmp(c, text, length) == 0;
}

static void lex_punctuation(hlo_parser_t* p) {
  const char* c = p->token.start;
  if (starts_with(p, c, "->")) {
    set_token(p, HLO_TOKEN_ARROW, c + 2);
  } else if (starts_with(p, c, "::")) {
    set_token(p, HLO_TOKEN_SCOPE, c + 2);
  } else if (starts_with(p, c, "{-#")) {
    set_token(p, HLO_TOKEN_META_BEGIN, c + 3);
  } else if (strchr("(){}[]<>,:=-+*?|/;", *c) && *c) {
    set_token(p, (unsigned char)*c, c + 1);
  } else {
    set_token(p, HLO_TOKEN_ERROR, p->end);
    hlo_parse_fault(p, c, "unexpected character 0x%02x", (unsigned char)*c);
  }
}

void hlo_lex_advance(hlo_parser_t* p) {
  const char* c = skip_blanks(p->cursor, p->end);
  p->token.start = c;
  if (c == p->end) {
    set_token(p, HLO_TOKEN_EOF, c);
  } else if (is_letter(*c)) {
    while (c < p->end && is_word_char(*c)) ++c;
    set_token(p, HLO_TOKEN_WORD, c);
  } else if (is_digit(*c)) {
    lex_number(p);
  } else if (*c == '"') {
    lex_string(p, HLO_TOKEN_STRING, c);
  } else if (*c == '@') {
    if (c + 1 < p->end && c[1] == '"') {
      lex_string(p, HLO_TOKEN_AT, c + 1);
    } else {
      lex_prefixed(p, HLO_TOKEN_AT);
    }
  } else if (*c == '%') {
    lex_prefixed(p, HLO_TOKEN_PERCENT);
  } else if (*c == '#' && starts_with(p, c, "#-}")) {
    set_token(p, HLO_TOKEN_META_END, c + 3);
  } else if (*c == '#') {
    lex_prefixed(p, HLO_TOKEN_HASH);
  } else if (*c == '!') {
    lex_prefixed(p, HLO_TOKEN_BANG);
  } else if (*c == '^') {
    lex_prefixed(p, HLO_TOKEN_CARET);
  } else {
    lex_punctuation(p);
  }
}

void hlo_lex_seek(hlo_parser_t* p, const char* at) {
  p->cursor = at;
  hlo_lex_advance(p);
}

void hlo_lex_start(hlo_parser_t* p, const char* text, size_t length) {
  p->text = p->line_at = p->line_start = text;
  p->end = text + length;
  p->line = 1;
  const char* zero = length ? memchr(text, 0, length) : NULL;
  if (zero) {  // attributes stored as text rely on its absence
    p->token = (hlo_token_t){HLO_TOKEN_ERROR, zero, 1};
    p->cursor = p->end;
    hlo_parse_fault(p, zero, "a NUL character");
  } else {
    hlo_lex_seek(p, text);
  }
}

bool hlo_accept(hlo_parser_t* p, int kind) {
  if (p->token.kind != kind) return false;
  hlo_lex_advance(p);
  return true;
}

bool hlo_expect(hlo_parser_t* p, int kind) {
  if (hlo_accept(p, kind)) return true;
  char what[4] = {'\'', (char)kind, '\'', 0};
  static const char* const kNames[] = {
      [HLO_TOKEN_EOF - 256] = "the end of the text",
      [HLO_TOKEN_WORD - 256] = "a name",
      [HLO_TOKEN_AT - 256] = "a symbol (@name)",
      [HLO_TOKEN_PERCENT - 256] = "a value (%name)",
      [HLO_TOKEN_INT - 256] = "an integer",
      [HLO_TOKEN_STRING - 256] = "a string",
      [HLO_TOKEN_ARROW - 256] = "'->'",
      [HLO_TOKEN_META_END - 256] = "'#-}'",
  };
  return hlo_parse_expected(p, kind < 256 ? what : kNames[kind - 256]);
}

bool hlo_at_word(const hlo_parser_t* p, const char* word) {
  return hlo_at(p, HLO_TOKEN_WORD) && hlo_text_same(word, p->token.start, p->token.length);
}

bool hlo_accept_word(hlo_parser_t* p, const char* word) {
  if (!hlo_at_word(p, word)) return false;
  hlo_lex_advance(p);
  return true;
}

bool hlo_expect_word(hlo_parser_t* p, const char* word) {
  if (hlo_accept_word(p, word)) return true;
  char what[64];
  size_t length = strlen(word) < 60 ? strlen(word) : 60;
  what[0] = '\'';
  memcpy(what + 1, word, length);
  memcpy(what + 1 + length, "'", 2);
  return hlo_parse_expected(p, what);
}

// ---- Balanced text

static char closing_bracket(char open) {
  return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

bool hlo_skip_balanced(hlo_parser_t* p, const char* at, const char** out_end) {
  char stack[HLO_TEXT_DEPTH_MAX];
  int depth = 0;
  for (const char* c = at; (c = skip_blanks(c, p->end)) < p->end; ++c) {
    switch (*c) {
      case '"': {
        const char* close = string_end(c, p->end);
        if (!close) return hlo_parse_fault(p, c, "unterminated string");
        c = close;
        break;
      }
      case '(':
      case '[':
      case '{':
      case '<':
        if (depth == HLO_TEXT_DEPTH_MAX) {
          return hlo_parse_fault(p, c, "nested more than %d deep", HLO_TEXT_DEPTH_MAX);
        }
        stack[depth++] = closing_bracket(*c);
        break;
      case '>':
        if (c[-1] == '-') break;  // an arrow
        __attribute__((fallthrough));
      case ')':
      case ']':
      case '}':
        if (stack[--depth] != *c) {
          return hlo_parse_fault(p, c, "'%c' where '%c' was expected", *c, stack[depth]);
        }
        if (depth == 0) {
          *out_end = c + 1;
          return true;
        }
        break;
      default: break;
    }
  }
  return hlo_parse_fault(p, at, "'%c' without '%c'", *at, closing_bracket(*at));
}

char* hlo_take_balanced(hlo_parser_t* p, size_t* out_length) {
  const char* start = p->token.start;
  const char* stop;
  if (!hlo_skip_balanced(p, start, &stop)) return NULL;
  char* copy = hlo_arena_alloc(&p->scratch, (size_t)(stop - start) + 1);
  if (!copy) return NULL;
  size_t n = 0;
  for (const char* c = start; c < stop;) {
    const char* next = skip_blanks(c, stop);
    if (next != c) {
      copy[n++] = ' ';
      c = next;
      continue;
    }
    const char* close = *c == '"' ? string_end(c, stop) : c;
    if (!close) break;
    memcpy(copy + n, c, (size_t)(close + 1 - c));
    n += (size_t)(close + 1 - c);
    c = close + 1;
  }
  copy[n] = 0;
  *out_length = n;
  hlo_lex_seek(p, stop);
  return copy;
}

// ---- Strings

char* hlo_take_text(hlo_parser_t* p, size_t* out_length) {
  const char* c = p->token.start;
  const char* stop = c + p->token.length;
  char* text = hlo_arena_alloc(&p->scratch, p->token.length + 1);
  if (!text) return NULL;
  if (*c == '@') ++c;
  size_t n = 0;
  if (*c == '"') {
    for (++c, --stop; c < stop; ++c) {
      if (*c != '\\') {
        text[n++] = *c;
        continue;
      }
      ++c;
      int high = hex_digit(*c), low = c + 1 < stop ? hex_digit(c[1]) : -1;
      if (*c == 'n' || *c == 't') {
        text[n++] = *c == 'n' ? '\n' : '\t';
      } else if (*c == '"' || *c == '\\') {
        text[n++] = *c;
      } else if (high >= 0 && low >= 0) {
        text[n++] = (char)(high << 4 | low);
        ++c;
      } else {
        hlo_parse_fault(p, c, "unknown escape in a string");
        return NULL;
      }
    }
  } else {
    n = (size_t)(stop - c);
    memcpy(text, c, n);
  }
  text[n] = 0;
  *out_length = n;
  hlo_lex_advance(p);
  return text;
}

// ---- Numbers

bool hlo_text_to_u64(const char* text, const char* end, uint64_t* out_value) {
  uint64_t value = 0;
  uint64_t base = 10;
  if (end - text > 2 && text[0] == '0' && text[1] == 'x') {
    base = 16;
    text += 2;
  }
  if (text == end) return false;
  for (; text < end; ++text) {
    int digit = hex_digit(*text);
    if (digit < 0 || (uint64_t)digit >= base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, (uint64_t)digit, &value)) {
      return false;
    }
  }
  *out_value = value;
  return true;
}

bool hlo_int_fits(hlo_dtype_t dtype, bool negative, uint64_t magnitude, int64_t* out_value) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  unsigned bits = info->bits;
  if (bits == 0 || bits > 64) return false;
  if (negative) {
    if (info->klass == HLO_DTYPE_CLASS_UNSIGNED && magnitude) return false;
    if (magnitude > (uint64_t)1 << (bits - 1)) return false;
    *out_value = (int64_t)(0 - magnitude);
  } else {
    if (bits < 64 && magnitude >> bits) return false;
    *out_value = (int64_t)magnitude;
  }
  if (info->klass == HLO_DTYPE_CLASS_SIGNED && bits < 64) {  // 255 is -1 as i8
    *out_value = (int64_t)((uint64_t)*out_value << (64 - bits)) >> (64 - bits);
  }
  if (info->klass == HLO_DTYPE_CLASS_BOOL) *out_value = *out_value != 0;
  return true;
}

bool hlo_parse_int(hlo_parser_t* p, int64_t* out_value) {
  if (hlo_at_word(p, "true") || hlo_at_word(p, "false")) {
    *out_value = p->token.start[0] == 't';
    hlo_lex_advance(p);
    return true;
  }
  const char* at = p->token.start;
  bool negative = hlo_accept(p, '-');
  if (!hlo_at(p, HLO_TOKEN_INT)) return hlo_expect(p, HLO_TOKEN_INT);
  uint64_t magnitude;
  if (!hlo_text_to_u64(p->token.start, p->token.start + p->token.length, &magnitude) ||
      magnitude > (uint64_t)INT64_MAX + negative) {
    return hlo_parse_fault(p, at, "integer does not fit 64 bits");
  }
  *out_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  hlo_lex_advance(p);
  return true;
}

bool hlo_parse_int_list(hlo_parser_t* p, int64_t** out_values, uint32_t* out_count) {
  int64_t* values = NULL;
  uint32_t count = 0, capacity = 0;
  if (!hlo_expect(p, '[')) return false;
  while (!hlo_at(p, ']')) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!HLO_GROW(p, values, count, capacity) || !hlo_parse_int(p, &values[count])) return false;
    ++count;
  }
  hlo_lex_advance(p);
  *out_values = values;
  *out_count = count;
  return true;
}
