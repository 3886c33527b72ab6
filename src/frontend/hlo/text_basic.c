// SPDX-License-Identifier: Apache-2.0
// Small notations of HLO text: names, numbers, strings, lists, shapes, literals.
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "frontend/hlo/text_impl.h"

hlo_status_t hlo_text_error(HLO_UNUSED const hlo_text_t* t, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(HLO_STATUS_INVALID_ARGUMENT, format, args);
  va_end(args);
  return status;
}

void hlo_text_skip(hlo_text_t* t) {
  while (t->next < t->end) {
    size_t left = (size_t)(t->end - t->next);
    if (isspace((unsigned char)*t->next)) {
      ++t->next;
    } else if (left >= 2 && t->next[0] == '/' && t->next[1] == '*') {
      const char* close = t->next + 2;
      while (close + 1 < t->end && !(close[0] == '*' && close[1] == '/')) ++close;
      t->next = close + 1 < t->end ? close + 2 : t->end;
    } else if (left >= 2 && t->next[0] == '/' && t->next[1] == '/') {
      const char* newline = memchr(t->next, '\n', left);
      t->next = newline ? newline : t->end;
    } else {
      return;
    }
  }
}

static bool is_name_char(char c) {
  return isalnum((unsigned char)c) || (c && strchr("_.-$:", c) != NULL);
}

char hlo_text_peek(hlo_text_t* t) {
  hlo_text_skip(t);
  return t->next < t->end ? *t->next : 0;
}

bool hlo_text_take(hlo_text_t* t, const char* word) {
  hlo_text_skip(t);
  size_t length = strlen(word);
  if ((size_t)(t->end - t->next) < length || memcmp(t->next, word, length) != 0) return false;
  bool is_word = isalnum((unsigned char)word[length - 1]);
  if (is_word && t->next + length < t->end && is_name_char(t->next[length])) return false;
  t->next += length;
  return true;
}

hlo_status_t hlo_text_expect(hlo_text_t* t, const char* word) {
  if (hlo_text_take(t, word)) return hlo_ok();
  return hlo_text_error(t, "expected '%s'", word);
}

hlo_status_t hlo_text_name(hlo_text_t* t, hlo_wire_bytes_t* out_name) {
  if (hlo_text_peek(t) == '%') ++t->next;
  const char* start = t->next;
  while (t->next < t->end && is_name_char(*t->next)) {
    if (t->next[0] == '-' && t->next + 1 < t->end && t->next[1] == '>') break;
    ++t->next;
  }
  if (t->next == start) return hlo_text_error(t, "expected a name");
  *out_name = (hlo_wire_bytes_t){(const uint8_t*)start, (size_t)(t->next - start)};
  return hlo_ok();
}

hlo_status_t hlo_text_int(hlo_text_t* t, int64_t* out_value) {
  bool negative = false;
  if (hlo_text_peek(t) == '-') {
    negative = true;
    ++t->next;
  }
  const char* start = t->next;
  int64_t value = 0;
  for (; t->next < t->end && isdigit((unsigned char)*t->next); ++t->next) {
    int digit = negative ? '0' - *t->next : *t->next - '0';
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
      return hlo_text_error(t, "the number is too large");
    }
  }
  if (t->next == start) return hlo_text_error(t, "expected a number");
  *out_value = value;
  return hlo_ok();
}

static hlo_status_t quoted(hlo_text_t* t, hlo_wire_bytes_t* out_text) {
  const char* close = ++t->next;
  while (close < t->end && *close != '"') close += *close == '\\' ? 2 : 1;
  if (close >= t->end) return hlo_text_error(t, "unterminated string");
  char* text = hlo_arena_alloc(t->arena, (size_t)(close - t->next) + 1);
  if (!text) return hlo_arena_status(t->arena);
  size_t length = 0;
  for (const char* p = t->next; p < close; ++p) {
    char c = *p;
    if (c == '\\') {
      c = *++p;
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
      if (c == 'r') c = '\r';
      if (c >= '0' && c <= '7') {
        int code = 0;
        for (int i = 0; i < 3 && p < close && *p >= '0' && *p <= '7'; ++i) {
          code = code * 8 + (*p++ - '0');
        }
        --p;
        c = (char)code;
      }
    }
    text[length++] = c;
  }
  text[length] = 0;
  t->next = close + 1;
  *out_text = (hlo_wire_bytes_t){(const uint8_t*)text, length};
  return hlo_ok();
}

static void skip_quoted(hlo_text_t* t) {
  for (++t->next; t->next < t->end && *t->next != '"'; ++t->next) {
    if (*t->next == '\\' && t->next + 1 < t->end) ++t->next;
  }
  if (t->next < t->end) ++t->next;
}

hlo_status_t hlo_text_skip_value(hlo_text_t* t) {
  char first = hlo_text_peek(t);
  if (first == '"') {
    skip_quoted(t);
    return hlo_ok();
  }
  if (first != '{' && first != '(') {
    hlo_wire_bytes_t name;
    hlo_desc_shape_t shape;
    return hlo_text_at_shape(t) ? hlo_text_shape(t, &shape) : hlo_text_name(t, &name);
  }
  size_t depth = 0;
  do {
    char c = hlo_text_peek(t);
    if (c == 0) return hlo_text_error(t, "unterminated brace");
    if (c == '"') {
      skip_quoted(t);
      continue;
    }
    depth += c == '{' || c == '(';
    depth -= c == '}' || c == ')';
    ++t->next;
  } while (depth > 0);
  return hlo_ok();
}

hlo_status_t hlo_text_string(hlo_text_t* t, hlo_wire_bytes_t* out_text) {
  char first = hlo_text_peek(t);
  if (first == '"') return quoted(t, out_text);
  const char* start = t->next;
  HLO_TRY(hlo_text_skip_value(t));
  *out_text = (hlo_wire_bytes_t){(const uint8_t*)start, (size_t)(t->next - start)};
  return hlo_ok();
}

void* hlo_text_push(hlo_text_t* t, hlo_wire_array_t* array, size_t item_bytes) {
  size_t count = array->count;
  if ((count & (count - 1)) == 0) {  // full: capacities are powers of two
    void* items = hlo_arena_array(t->arena, count ? count * 2 : 1, item_bytes);
    if (!items) return NULL;
    if (count) memcpy(items, array->items, count * item_bytes);
    array->items = items;
  }
  return (uint8_t*)array->items + array->count++ * item_bytes;
}

hlo_status_t hlo_text_append(hlo_text_t* t, hlo_wire_array_t* array, const void* item,
                             size_t item_bytes) {
  void* place = hlo_text_push(t, array, item_bytes);
  if (!place) return hlo_arena_status(t->arena);
  memcpy(place, item, item_bytes);
  return hlo_ok();
}

hlo_status_t hlo_text_append_int(hlo_text_t* t, hlo_wire_array_t* array) {
  int64_t value;
  HLO_TRY(hlo_text_int(t, &value));
  return hlo_text_append(t, array, &value, sizeof value);
}

hlo_status_t hlo_text_ints(hlo_text_t* t, hlo_wire_array_t* out_values) {
  HLO_TRY(hlo_text_expect(t, "{"));
  *out_values = (hlo_wire_array_t){0};
  while (!hlo_text_take(t, "}")) {
    if (out_values->count) HLO_TRY(hlo_text_expect(t, ","));
    HLO_TRY(hlo_text_append_int(t, out_values));
  }
  return hlo_ok();
}

hlo_status_t hlo_text_position(hlo_text_t* t, int64_t* out_number, hlo_wire_array_t* out_index) {
  HLO_TRY(hlo_text_expect(t, "("));
  HLO_TRY(hlo_text_int(t, out_number));
  HLO_TRY(hlo_text_expect(t, ","));
  return hlo_text_ints(t, out_index);
}

// ---- shapes

bool hlo_text_at_shape(hlo_text_t* t) {
  char c = hlo_text_peek(t);
  if (c == '(') return true;
  if (c == '%') return false;
  const char* p = t->next;
  while (p < t->end && isalnum((unsigned char)*p)) ++p;
  if (p == t->end || p == t->next) return false;
  return *p == '[' || (*p == '(' && *t->next == 'b' && p == t->next + 1);  // b(f32[4]): a buffer
}

static hlo_status_t dimensions(hlo_text_t* t, hlo_desc_shape_t* shape) {
  HLO_TRY(hlo_text_expect(t, "["));
  bool any_dynamic = false;
  while (!hlo_text_take(t, "]")) {
    if (shape->dimensions.count) HLO_TRY(hlo_text_expect(t, ","));
    bool unbounded = hlo_text_take(t, "?");
    bool bounded = !unbounded && hlo_text_take(t, "<=");
    int64_t value = HLO_DESC_UNBOUNDED;
    if (!unbounded) HLO_TRY(hlo_text_int(t, &value));
    if (value < 0 && !unbounded) return hlo_text_error(t, "a dimension is negative");
    int64_t* dim = hlo_text_push(t, &shape->dimensions, sizeof *dim);
    bool* dynamic = hlo_text_push(t, &shape->is_dynamic_dimension, sizeof *dynamic);
    if (!dim || !dynamic) return hlo_arena_status(t->arena);
    *dim = value;
    *dynamic = unbounded || bounded;
    any_dynamic |= *dynamic;
  }
  if (!any_dynamic) shape->is_dynamic_dimension.count = 0;
  return hlo_ok();
}

// {1,0:T(8,128)...}: only the order matters, except at the entry of a program.
static hlo_status_t layout(hlo_text_t* t, hlo_desc_shape_t* shape) {
  if (t->next >= t->end || *t->next != '{') return hlo_ok();
  const char* p = t->next + 1;
  while (p < t->end && isspace((unsigned char)*p)) ++p;
  if (p < t->end && !isdigit((unsigned char)*p) && *p != '}' && *p != ':') return hlo_ok();
  ++t->next;
  shape->layout = hlo_arena_alloc_zeroed(t->arena, sizeof *shape->layout);
  if (!shape->layout) return hlo_arena_status(t->arena);
  while (isdigit((unsigned char)hlo_text_peek(t))) {
    HLO_TRY(hlo_text_append_int(t, &shape->layout->minor_to_major));
    if (!hlo_text_take(t, ",")) break;
  }
  if (hlo_text_take(t, ":")) {
    const char* properties = t->next;
    while (t->next < t->end && *t->next != '}') ++t->next;
    shape->layout->properties =
        (hlo_wire_bytes_t){(const uint8_t*)properties, (size_t)(t->next - properties)};
  }
  HLO_TRY(hlo_text_expect(t, "}"));
  size_t count = shape->layout->minor_to_major.count;
  if (count && count != shape->dimensions.count) {
    return hlo_text_error(t, "the layout does not match the rank");
  }
  return hlo_ok();
}

static hlo_status_t read_shape(hlo_text_t* t, int depth, hlo_desc_shape_t* shape);

// Reads items up to the closing parenthesis.
static hlo_status_t read_shapes(hlo_text_t* t, int depth, hlo_desc_shape_t* shape) {
  while (!hlo_text_take(t, ")")) {
    if (shape->tuple_shapes.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_shape_t item;
    HLO_TRY(read_shape(t, depth + 1, &item));
    HLO_TRY(hlo_text_append(t, &shape->tuple_shapes, &item, sizeof item));
  }
  return hlo_ok();
}

static hlo_status_t read_shape(hlo_text_t* t, int depth, hlo_desc_shape_t* shape) {
  *shape = (hlo_desc_shape_t){0};
  if (depth > HLO_TEXT_DEPTH) return hlo_text_error(t, "the shape is nested too deep");
  if (hlo_text_take(t, "(")) {
    shape->element_type = HLO_DESC_TUPLE;
    return read_shapes(t, depth, shape);
  }
  hlo_wire_bytes_t name;
  HLO_TRY(hlo_text_name(t, &name));
  if (hlo_bytes_equal(name, "b") && hlo_text_take(t, "(")) {
    shape->element_type = HLO_DESC_BUFFER;
    return read_shapes(t, depth, shape);
  }
  hlo_dtype_t dtype = hlo_dtype_from_hlo_name((const char*)name.data, name.size);
  if (dtype == HLO_DTYPE_INVALID) {
    return hlo_unimplemented("the element type %.*s is not supported",
                             name.size < 40 ? (int)name.size : 40, (const char*)name.data);
  }
  shape->element_type = hlo_dtype_info(dtype)->primitive_type;
  HLO_TRY(dimensions(t, shape));
  return layout(t, shape);
}

hlo_status_t hlo_text_shape(hlo_text_t* t, hlo_desc_shape_t* out_shape) {
  return read_shape(t, 0, out_shape);
}

// ---- literals

static bool is_number_char(char c) {
  return isalnum((unsigned char)c) || (c && strchr("+-.", c));
}

// nan(0x1): sign and payload; without a payload the default quiet NaN.
static hlo_status_t not_a_number(hlo_text_t* t, hlo_dtype_t dtype, bool negative, void* to) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  uint64_t payload = 0;
  if (t->next + 2 < t->end && memcmp(t->next, "(0x", 3) == 0) {
    for (t->next += 3; t->next < t->end && isxdigit((unsigned char)*t->next); ++t->next) {
      char c = *t->next;
      if (payload >> 60) return hlo_text_error(t, "the payload of the NaN is too large");
      payload = payload << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    HLO_TRY(hlo_text_expect(t, ")"));
  }
  if (info->specials != HLO_FLOAT_IEEE) {
    hlo_dtype_store_double(dtype, to, negative ? -NAN : NAN);
    return hlo_ok();
  }
  if (payload >> info->mantissa_bits) {
    return hlo_text_error(t, "the payload of the NaN is too large");
  }
  if (payload == 0) payload = (uint64_t)1 << (info->mantissa_bits - 1);
  uint64_t exponent = ((uint64_t)1 << info->exponent_bits) - 1;
  uint64_t bits =
      (uint64_t)negative << (info->bits - 1) | exponent << info->mantissa_bits | payload;
  memcpy(to, &bits, hlo_dtype_size_bytes(dtype));
  return hlo_ok();
}

// Reads a real number into `to` as `dtype`.
static hlo_status_t real_number(hlo_text_t* t, hlo_dtype_t dtype, void* to) {
  char buffer[64];
  size_t length = 0;
  hlo_text_skip(t);
  const char* p = t->next;
  while (p < t->end && is_number_char(*p) && length < sizeof buffer - 1) buffer[length++] = *p++;
  buffer[length] = 0;
  if (length == 0) return hlo_text_error(t, "expected a number");
  char* end = buffer;
  errno = 0;
  if (strcmp(buffer, "true") == 0 || strcmp(buffer, "false") == 0) {
    end = buffer + length;
    hlo_dtype_store_int64(dtype, to, buffer[0] == 't');
  } else if (hlo_dtype_is_unsigned(dtype)) {
    hlo_dtype_store_int64(dtype, to, (int64_t)strtoull(buffer, &end, 10));
  } else if (!hlo_dtype_is_float(dtype)) {
    hlo_dtype_store_int64(dtype, to, strtoll(buffer, &end, 10));
  } else if (dtype == HLO_DTYPE_F32) {
    float value = strtof(buffer, &end);
    memcpy(to, &value, sizeof value);
  } else {
    hlo_dtype_store_double(dtype, to, strtod(buffer, &end));
  }
  if (end != buffer + length) return hlo_text_error(t, "'%s' is not a number", buffer);
  if (errno == ERANGE && !hlo_dtype_is_float(dtype)) {
    return hlo_text_error(t, "'%s' is too large", buffer);
  }
  t->next = p;
  if (hlo_dtype_is_float(dtype) && strcmp(buffer + (buffer[0] == '-'), "nan") == 0) {
    return not_a_number(t, dtype, buffer[0] == '-', to);
  }
  return hlo_ok();
}

hlo_status_t hlo_text_float(hlo_text_t* t, float* out_value) {
  return real_number(t, HLO_DTYPE_F32, out_value);
}

static hlo_status_t read_element(hlo_text_t* t, hlo_dtype_t dtype, void* to) {
  if (!hlo_dtype_is_complex(dtype)) return real_number(t, dtype, to);
  hlo_dtype_t part = hlo_dtype_info(dtype)->part;
  HLO_TRY(hlo_text_expect(t, "("));
  HLO_TRY(real_number(t, part, to));
  HLO_TRY(hlo_text_expect(t, ","));
  HLO_TRY(real_number(t, part, (uint8_t*)to + hlo_dtype_size_bytes(part)));
  return hlo_text_expect(t, ")");
}

// {...}: a constant with too many elements to print.
static bool take_elided(hlo_text_t* t, const char** out_start) {
  hlo_text_skip(t);
  const char* start = *out_start = t->next;
  if (hlo_text_take(t, "{") && hlo_text_take(t, "...") && hlo_text_take(t, "}")) return true;
  t->next = start;
  return false;
}

// A tuple is elided as a whole.
static hlo_status_t elided_literal(hlo_text_t* t, const char* start, const hlo_desc_shape_t* shape,
                                   hlo_desc_literal_t* literal) {
  if (t->elided == HLO_ELIDED_REFUSED) {
    t->next = start;  // the location of the error
    return hlo_literal_create_elided(t->elided, 0, HLO_DTYPE_INVALID, 0, NULL, NULL);
  }
  literal->elided = t->elided;
  literal->seed = (uint64_t)(t->end - t->next);
  bool is_tuple = shape->element_type == HLO_DESC_TUPLE;
  for (size_t i = 0; is_tuple && i < shape->tuple_shapes.count; ++i) {
    hlo_desc_literal_t item = {0};
    HLO_TRY(
        elided_literal(t, start, (const hlo_desc_shape_t*)shape->tuple_shapes.items + i, &item));
    HLO_TRY(hlo_text_append(t, &literal->tuple_literals, &item, sizeof item));
  }
  return hlo_ok();
}

static hlo_status_t array_literal(hlo_text_t* t, const hlo_desc_shape_t* shape,
                                  hlo_desc_literal_t* literal) {
  hlo_dtype_t dtype = hlo_dtype_from_primitive(shape->element_type);
  size_t found = 0, depth = 0;
  int64_t count;
  const char* start;
  if (take_elided(t, &start)) return elided_literal(t, start, shape, literal);
  if (dtype == HLO_DTYPE_TOKEN || dtype == HLO_DTYPE_INVALID ||
      !hlo_dims_element_count((uint32_t)shape->dimensions.count, shape->dimensions.items, &count) ||
      count > t->end - t->next) {
    return hlo_text_error(t, "the literal does not match its shape");
  }
  size_t unit = hlo_dtype_size_bytes(dtype);
  uint8_t* elements = hlo_arena_array(t->arena, (size_t)count + 1, unit);
  if (!elements) return hlo_arena_status(t->arena);
  do {
    if (hlo_text_take(t, "{")) {
      if (++depth > shape->dimensions.count) return hlo_text_error(t, "too many braces");
    } else if (depth > 0 && hlo_text_take(t, "}")) {
      --depth;
    } else if (depth > 0 && hlo_text_take(t, ",")) {
      continue;
    } else {
      if (found == (size_t)count) return hlo_text_error(t, "the literal has too many elements");
      HLO_TRY(read_element(t, dtype, elements + found++ * unit));
    }
  } while (depth > 0);
  if (found != (size_t)count) {
    return hlo_text_error(t, "the literal has %zu elements, its shape has %lld", found,
                          (long long)count);
  }
  literal->elements = elements;
  return hlo_ok();
}

static hlo_status_t read_literal(hlo_text_t* t, const hlo_desc_shape_t* shape,
                                 hlo_desc_literal_t* literal) {
  if (shape->element_type != HLO_DESC_TUPLE) return array_literal(t, shape, literal);
  const char* start;
  if (take_elided(t, &start)) return elided_literal(t, start, shape, literal);
  HLO_TRY(hlo_text_expect(t, "("));
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) {
    if (i) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_literal_t item = {0};
    if (hlo_text_at_shape(t) && hlo_text_peek(t) != '(') {
      hlo_desc_shape_t ignored;
      HLO_TRY(hlo_text_shape(t, &ignored));
    }
    HLO_TRY(read_literal(t, (const hlo_desc_shape_t*)shape->tuple_shapes.items + i, &item));
    HLO_TRY(hlo_text_append(t, &literal->tuple_literals, &item, sizeof item));
  }
  return hlo_text_expect(t, ")");
}

hlo_status_t hlo_text_literal(hlo_text_t* t, const hlo_desc_shape_t* shape,
                              hlo_desc_literal_t* out_literal) {
  *out_literal = (hlo_desc_literal_t){0};
  return read_literal(t, shape, out_literal);
}
