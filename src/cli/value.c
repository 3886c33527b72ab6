// SPDX-License-Identifier: Apache-2.0
// Values of --input and printed results (see value.h).
#include "cli/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print.h"

static void fill_random(hlo_tensor_t* tensor, uint64_t* state) {
  size_t count = tensor->size_bytes / hlo_dtype_size_bytes(tensor->dtype);
  hlo_dtype_fill_random(tensor->dtype, tensor->data, count, state);
}

static hlo_status_t no_value(const hlo_type_t* type, const char* why) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_type(type, &text);
  return hlo_invalid_argument("%s %s", hlo_strbuf_text(&text), why);
}

hlo_status_t hlo_cli_value_random(const hlo_type_t* type, uint64_t* random_state,
                                  hlo_tensor_t** out_tensor) {
  if (type->kind == HLO_TYPE_TOKEN) return hlo_tensor_create_token(out_tensor);
  if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) {
    return no_value(type, "has no static shape: give a value with its shape");
  }
  HLO_TRY(hlo_tensor_create(type->dtype, type->rank, type->dims, out_tensor));
  (*out_tensor)->quant = type->quant;
  fill_random(*out_tensor, random_state);
  return hlo_ok();
}

// ---- values as text

// Parses "2x3xf32": dims, then the name of an element type in MLIR's or HLO's spelling.
static hlo_status_t parse_shape(const char* text, size_t length, hlo_dtype_t* out_dtype,
                                uint32_t* out_rank, int64_t* dims) {
  const char* at = text;
  const char* end = text + length;
  uint32_t rank = 0;
  while (at < end && isdigit((unsigned char)*at)) {
    char* stop;
    errno = 0;
    long long dim = strtoll(at, &stop, 10);
    if (stop >= end || *stop != 'x' || errno || rank == HLO_RANK_MAX) break;
    dims[rank++] = dim;
    at = stop + 1;
  }
  size_t left = (size_t)(end - at);
  hlo_dtype_t dtype = hlo_dtype_from_mlir_name(at, left);
  if (dtype == HLO_DTYPE_INVALID) dtype = hlo_dtype_from_hlo_name(at, left);
  if (dtype == HLO_DTYPE_INVALID && left > 9 && memcmp(at, "complex<", 8) == 0) {
    dtype = hlo_dtype_complex_of(hlo_dtype_from_mlir_name(at + 8, left - 9));
  }
  if (dtype == HLO_DTYPE_INVALID) {
    return hlo_invalid_argument("invalid shape '%.*s', expected the form 2x3xf32", (int)length,
                                text);
  }
  *out_dtype = dtype;
  *out_rank = rank;
  return hlo_ok();
}

// Stores an integer read as `value` if the type can represent it; otherwise sets *out_end to
// `text`.
static void store_integer(hlo_dtype_t part, const char* text, int64_t value, void* element,
                          char** out_end) {
  bool is_negative = *text == '-';
  bool is_signed = !hlo_dtype_is_unsigned(part);
  hlo_dtype_store_int64(part, element, value);
  if (errno || (is_negative && !is_signed) || hlo_dtype_load_int64(part, element) != value) {
    *out_end = (char*)text;
  }
}

// Parses one real number that the type can represent; *out_end is after it, or at `text` on
// failure.
static void parse_number(hlo_dtype_t part, const char* text, void* element, char** out_end) {
  *out_end = (char*)text;
  for (int word = 0; word < 2; ++word) {
    const char* name = word ? "true" : "false";
    if (strncmp(text, name, strlen(name)) == 0) {
      hlo_dtype_store_double(part, element, word);
      if (part == HLO_DTYPE_PRED) *(uint8_t*)element = (uint8_t)word;
      *out_end = (char*)text + strlen(name);
      return;
    }
  }
  if (hlo_dtype_is_float(part)) {
    hlo_dtype_store_double(part, element, strtod(text, out_end));
    return;
  }
  errno = 0;
  int64_t value =
      hlo_dtype_is_unsigned(part) ? (int64_t)strtoull(text, out_end, 0) : strtoll(text, out_end, 0);
  store_integer(part, text, value, element, out_end);
}

// Parses one element: a number, or (real,imaginary) for complex types.
static void parse_element(hlo_dtype_t dtype, const char* text, uint8_t* element, char** out_end) {
  hlo_dtype_t part = hlo_dtype_info(dtype)->part;
  if (part == dtype) {
    parse_number(dtype, text, element, out_end);
    return;
  }
  size_t part_bytes = hlo_dtype_size_bytes(part);
  memset(element, 0, 2 * part_bytes);
  if (*text != '(') {
    parse_number(part, text, element, out_end);
    return;
  }
  char* at;
  parse_number(part, text + 1, element, &at);
  at += strspn(at, ", ");
  parse_number(part, at, element + part_bytes, out_end);
  *out_end = **out_end == ')' ? *out_end + 1 : (char*)text;
}

static hlo_status_t parse_elements(const char* text, hlo_tensor_t* tensor) {
  size_t width = hlo_dtype_size_bytes(tensor->dtype);
  uint8_t* bytes = tensor->data;
  int64_t found = 0;
  uint8_t extra[32];
  const char* at = text;
  for (;;) {
    at += strspn(at, " \t\n,[]");
    if (!*at) break;
    char* end;
    parse_element(tensor->dtype, at,
                  found < tensor->element_count ? bytes + found * (int64_t)width : extra, &end);
    if (end == at) {
      return hlo_invalid_argument("invalid element '%.20s' of type %s", at,
                                  hlo_dtype_info(tensor->dtype)->mlir_name);
    }
    at = end;
    ++found;
  }
  if (found == 1) {
    for (int64_t i = 1; i < tensor->element_count; ++i)
      memcpy(bytes + i * (int64_t)width, bytes, width);
  } else if (found != tensor->element_count) {
    return hlo_invalid_argument("the shape has %lld elements, but %lld are given",
                                (long long)tensor->element_count, (long long)found);
  }
  return hlo_ok();
}

static void print_shape(const hlo_tensor_t* tensor, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "tensor<");
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    hlo_strbuf_printf(out, "%lldx", (long long)tensor->dims[d]);
  }
  hlo_strbuf_printf(out, "%s>", hlo_dtype_info(tensor->dtype)->mlir_name);
}

static hlo_status_t read_tensor(const char* text, const hlo_type_t* type, uint64_t* random_state,
                                hlo_tensor_t** out_tensor) {
  if (strcmp(text, "random") == 0) return hlo_cli_value_random(type, random_state, out_tensor);
  if (text[0] == '@') return hlo_npy_read(text + 1, type->dtype, out_tensor);
  const char* equals = strchr(text, '=');
  hlo_dtype_t dtype = HLO_DTYPE_INVALID;
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(parse_shape(text, equals ? (size_t)(equals - text) : strlen(text), &dtype, &rank, dims));
  if (!equals) return hlo_invalid_argument("no elements in '%s': add =1,2,3 or =random", text);
  if (equals[1] == '@') return hlo_npy_read(equals + 2, dtype, out_tensor);
  hlo_tensor_t* tensor;
  HLO_TRY(hlo_tensor_create(dtype, rank, dims, &tensor));
  hlo_status_t status = hlo_ok();
  if (strcmp(equals + 1, "random") == 0) {
    fill_random(tensor, random_state);
  } else {
    status = parse_elements(equals + 1, tensor);
  }
  if (hlo_status_is_ok(status)) {
    *out_tensor = tensor;
  } else {
    hlo_tensor_release(tensor);
  }
  return status;
}

hlo_status_t hlo_cli_value_read(const char* text, const hlo_type_t* type, uint64_t* random_state,
                                hlo_tensor_t** out_tensor) {
  hlo_tensor_t* tensor = NULL;
  HLO_TRY(read_tensor(text, type, random_state, &tensor));
  if (hlo_tensor_fits(tensor, type)) {
    *out_tensor = tensor;
    return hlo_ok();
  }
  HLO_SCOPED_STRBUF wanted = {0}, found = {0};
  hlo_print_type(type, &wanted);
  print_shape(tensor, &found);
  hlo_status_t status = hlo_invalid_argument("found a %s, expected a %s", hlo_strbuf_text(&found),
                                             hlo_strbuf_text(&wanted));
  hlo_tensor_release(tensor);
  return status;
}

// ---- results as text

hlo_status_t hlo_cli_value_print(const hlo_tensor_t* tensor, hlo_strbuf_t* out) {
  if (tensor->kind == HLO_TYPE_TUPLE) {
    hlo_strbuf_puts(out, "(");
    for (uint32_t i = 0; i < tensor->item_count; ++i) {
      if (i) hlo_strbuf_puts(out, ", ");
      HLO_TRY(hlo_cli_value_print(tensor->items[i], out));
    }
    hlo_strbuf_puts(out, ")");
    return hlo_ok();
  }
  if (tensor->kind != HLO_TYPE_TENSOR) {
    hlo_strbuf_puts(out, "token");
    return hlo_ok();
  }
  hlo_literal_t* literal;
  HLO_TRY(hlo_literal_create(tensor->dtype, tensor->rank, tensor->dims, false, &literal));
  if (tensor->size_bytes) {
    memcpy(hlo_literal_mutable_data(literal), tensor->data, tensor->size_bytes);
  }
  hlo_strbuf_puts(out, "dense<");
  hlo_print_literal(literal, out);
  hlo_literal_release(literal);
  hlo_strbuf_puts(out, "> : ");
  print_shape(tensor, out);
  return hlo_ok();
}

hlo_status_t hlo_cli_result_print(const hlo_tensor_t* tensor, uint32_t process_count,
                                  uint32_t process, uint32_t number, hlo_strbuf_t* out) {
  if (process_count > 1) hlo_strbuf_printf(out, "process %u: ", process);
  hlo_strbuf_printf(out, "result %u = ", number);
  if (tensor) {
    HLO_TRY(hlo_cli_value_print(tensor, out));
  } else {
    hlo_strbuf_puts(out, "token");
  }
  hlo_strbuf_putc(out, '\n');
  return hlo_ok();
}
