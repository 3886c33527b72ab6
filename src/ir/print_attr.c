// SPDX-License-Identifier: Apache-2.0
// MLIR text of attributes, literals, types, strings, names and numbers.
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print_impl.h"

enum { HEX_ABOVE_ELEMENTS = 100 };  // MLIR also switches to hex strings there

// ---- Literals

static void print_element(const hlo_literal_t* literal, int64_t i, hlo_strbuf_t* out) {
  const uint8_t* element = hlo_literal_element(literal, i);
  const hlo_dtype_info_t* info = hlo_dtype_info(literal->dtype);
  switch (info->klass) {
    case HLO_DTYPE_CLASS_BOOL: hlo_strbuf_puts(out, *element ? "true" : "false"); return;
    case HLO_DTYPE_CLASS_SIGNED:
      hlo_strbuf_printf(out, "%" PRId64, hlo_dtype_load_int64(literal->dtype, element));
      return;
    case HLO_DTYPE_CLASS_UNSIGNED:
      hlo_strbuf_printf(out, "%" PRIu64, (uint64_t)hlo_dtype_load_int64(literal->dtype, element));
      return;
    case HLO_DTYPE_CLASS_FLOAT: hlo_print_float(out, literal->dtype, element); return;
    case HLO_DTYPE_CLASS_COMPLEX:
      hlo_strbuf_putc(out, '(');
      hlo_print_float(out, info->part, element);
      hlo_strbuf_putc(out, ',');
      hlo_print_float(out, info->part, element + hlo_dtype_size_bytes(info->part));
      hlo_strbuf_putc(out, ')');
      return;
    case HLO_DTYPE_CLASS_NONE: return;
  }
}

// Returns true if all elements have the same bytes. The text must not depend on whether they are
// stored as a splat.
static bool all_equal(const hlo_literal_t* literal) {
  if (literal->is_splat || literal->element_count <= 1) return true;
  size_t width = hlo_dtype_size_bytes(literal->dtype);
  const uint8_t* data = literal->data;
  return memcmp(data, data + width, ((size_t)literal->element_count - 1) * width) == 0;
}

static void print_nested(const hlo_literal_t* literal, uint32_t dim, int64_t* next,
                         hlo_strbuf_t* out) {
  if (dim == literal->rank) {
    print_element(literal, (*next)++, out);
    return;
  }
  hlo_strbuf_putc(out, '[');
  for (int64_t i = 0; i < literal->dims[dim]; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    print_nested(literal, dim + 1, next, out);
  }
  hlo_strbuf_putc(out, ']');
}

static void print_hex(const hlo_literal_t* literal, hlo_strbuf_t* out) {
  static const char kDigits[] = "0123456789ABCDEF";
  const uint8_t* bytes = literal->data;
  hlo_strbuf_puts(out, "\"0x");
  char chunk[256];
  for (size_t i = 0; i < literal->data_bytes;) {
    size_t n = 0;
    for (; n < sizeof chunk && i < literal->data_bytes; ++i) {
      chunk[n++] = kDigits[bytes[i] >> 4];
      chunk[n++] = kDigits[bytes[i] & 15];
    }
    hlo_strbuf_append(out, chunk, n);
  }
  hlo_strbuf_putc(out, '"');
}

void hlo_print_literal(const hlo_literal_t* literal, hlo_strbuf_t* out) {
  void* locale = hlo_text_locale_begin();
  if (literal->element_count == 0) {
    // nothing between the angle brackets
  } else if (all_equal(literal)) {
    print_element(literal, 0, out);
  } else if (literal->element_count > HEX_ABOVE_ELEMENTS &&
             hlo_dtype_info(literal->dtype)->bits >= 8) {
    print_hex(literal, out);
  } else {
    int64_t next = 0;
    print_nested(literal, 0, &next, out);
  }
  hlo_text_locale_end(locale);
}

static void print_literal_attr(const hlo_print_options_t* options, const hlo_attr_t* attr,
                               hlo_strbuf_t* out) {
  int64_t limit = options ? options->elide_literals_above : 0;
  if (limit > 0 && attr->literal->element_count > limit && !all_equal(attr->literal)) {
    hlo_strbuf_puts(out, "dense_resource<__elided__> : ");
  } else {
    hlo_strbuf_puts(out, "dense<");
    hlo_print_literal(attr->literal, out);
    hlo_strbuf_puts(out, "> : ");
  }
  hlo_print_type(attr->type, out);
}

// ---- Integers

static const char* int_type(hlo_dtype_t dtype, bool is_index) {
  return is_index ? "index" : hlo_dtype_info(dtype)->mlir_name;
}

static void print_int_array(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "array<%s", int_type(attr->dtype, false));
  for (uint32_t i = 0; i < attr->count; ++i) {
    hlo_strbuf_puts(out, i ? ", " : ": ");
    if (attr->dtype == HLO_DTYPE_PRED) {
      hlo_strbuf_puts(out, attr->values[i] ? "true" : "false");
    } else {
      hlo_strbuf_printf(out, "%" PRId64, attr->values[i]);
    }
  }
  hlo_strbuf_putc(out, '>');
}

// Prints dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>; a vector if `matrix` is false.
static void print_int_tensor(const hlo_attr_t* attr, bool matrix, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "dense<");
  if (attr->count) {
    hlo_strbuf_putc(out, '[');
    if (matrix) {
      for (uint32_t r = 0; r < attr->rows; ++r) {
        hlo_strbuf_puts(out, r ? ", [" : "[");
        hlo_print_int_list(out, attr->values + (size_t)r * attr->cols, attr->cols);
        hlo_strbuf_putc(out, ']');
      }
    } else {
      hlo_print_int_list(out, attr->values, attr->count);
    }
    hlo_strbuf_putc(out, ']');
  }
  hlo_strbuf_puts(out, "> : tensor<");
  if (matrix) {
    hlo_strbuf_printf(out, "%ux%ux", attr->rows, attr->cols);
  } else {
    hlo_strbuf_printf(out, "%ux", attr->count);
  }
  hlo_strbuf_printf(out, "%s>", int_type(attr->dtype, attr->is_index));
}

static void print_ints(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  if (attr->rows || attr->cols) {
    print_int_tensor(attr, true, out);
  } else if (attr->is_index) {
    print_int_tensor(attr, false, out);
  } else {
    print_int_array(attr, out);
  }
}

static void print_float_attr(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  unsigned char element[16];
  hlo_dtype_store_double(attr->dtype, element, attr->f);
  hlo_print_float(out, attr->dtype, element);
  hlo_strbuf_printf(out, " : %s", hlo_dtype_info(attr->dtype)->mlir_name);
}

// ---- Attributes

static void print_enum(const hlo_attr_t* attr, const char* dialect, hlo_strbuf_t* out) {
  const char* name = hlo_enum_case_name(attr->enum_kind, attr->i);
  bool dotted = attr->enum_kind == HLO_ENUM_RESULT_ACCURACY_MODE;
  hlo_strbuf_printf(out, dotted ? "#%s.%s<%s>" : "#%s<%s %s>", dialect,
                    hlo_enum_mnemonic(attr->enum_kind), name ? name : "?");
}

static void print_dict(const hlo_print_options_t* options, const hlo_attr_t* attr,
                       hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '{');
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    hlo_print_key(out, attr->keys[i]);
    if (attr->items[i]->kind == HLO_ATTR_KIND_UNIT) continue;
    hlo_strbuf_puts(out, " = ");
    hlo_print_any_attr(options, attr->items[i], out);
  }
  hlo_strbuf_putc(out, '}');
}

void hlo_print_any_attr(const hlo_print_options_t* options, const hlo_attr_t* attr,
                        hlo_strbuf_t* out) {
  switch (attr->kind) {
    case HLO_ATTR_KIND_UNIT: hlo_strbuf_puts(out, "unit"); return;
    case HLO_ATTR_KIND_BOOL: hlo_strbuf_puts(out, attr->i ? "true" : "false"); return;
    case HLO_ATTR_KIND_INT:
      hlo_strbuf_printf(out, hlo_dtype_is_unsigned(attr->dtype) ? "%" PRIu64 : "%" PRId64, attr->i);
      hlo_strbuf_printf(out, " : %s", int_type(attr->dtype, attr->is_index));
      return;
    case HLO_ATTR_KIND_FLOAT: print_float_attr(attr, out); return;
    case HLO_ATTR_KIND_STRING: hlo_print_quoted(out, attr->text, attr->text_length); return;
    case HLO_ATTR_KIND_SYMBOL: hlo_print_symbol(out, attr->text); return;
    case HLO_ATTR_KIND_TYPE: hlo_print_type(attr->type, out); return;
    case HLO_ATTR_KIND_INTS: print_ints(attr, out); return;
    case HLO_ATTR_KIND_LITERAL: print_literal_attr(options, attr, out); return;
    case HLO_ATTR_KIND_ENUM: print_enum(attr, "stablehlo", out); return;
    case HLO_ATTR_KIND_ARRAY:
      hlo_strbuf_putc(out, '[');
      for (uint32_t i = 0; i < attr->count; ++i) {
        if (i) hlo_strbuf_puts(out, ", ");
        hlo_print_any_attr(options, attr->items[i], out);
      }
      hlo_strbuf_putc(out, ']');
      return;
    case HLO_ATTR_KIND_DICT: print_dict(options, attr, out); return;
    case HLO_ATTR_KIND_OPAQUE: hlo_strbuf_append(out, attr->text, attr->text_length); return;
  }
}

void hlo_print_attr(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  void* locale = hlo_text_locale_begin();
  hlo_print_any_attr(NULL, attr, out);
  hlo_text_locale_end(locale);
}

// ---- Attributes of ops, by their form

static void print_alias(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  static const char* const kFields[] = {"output_tuple_indices", "operand_index",
                                        "operand_tuple_indices"};
  hlo_strbuf_puts(out, "#stablehlo.output_operand_alias<");
  for (int f = 0; f < 3; ++f) {
    const hlo_attr_t* field = hlo_attr_dict_get(attr, kFields[f]);
    hlo_strbuf_printf(out, "%s%s = ", f ? ", " : "", kFields[f]);
    if (field && field->kind == HLO_ATTR_KIND_INT) {
      hlo_strbuf_printf(out, "%" PRId64, field->i);
    } else {
      hlo_strbuf_putc(out, '[');
      if (field && field->kind == HLO_ATTR_KIND_INTS) {
        hlo_print_int_list(out, field->values, field->count);
      }
      hlo_strbuf_putc(out, ']');
    }
  }
  hlo_strbuf_putc(out, '>');
}

static void print_accuracy(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  static const char* const kFields[] = {"atol", "rtol", "ulps", "mode"};
  hlo_strbuf_puts(out, "#stablehlo.result_accuracy<");
  const char* separator = "";
  for (int f = 0; f < 4; ++f) {
    const hlo_attr_t* field = hlo_attr_dict_get(attr, kFields[f]);
    if (!field) continue;
    hlo_strbuf_printf(out, "%s%s = ", separator, kFields[f]);
    separator = ", ";
    if (field->kind == HLO_ATTR_KIND_FLOAT) {
      hlo_print_float(out, HLO_DTYPE_F64, &field->f);
    } else if (field->kind == HLO_ATTR_KIND_INT) {
      hlo_strbuf_printf(out, "%" PRId64, field->i);
    } else {
      hlo_print_any_attr(NULL, field, out);
    }
  }
  hlo_strbuf_putc(out, '>');
}

// Prints enums and arrays of enums in the dialect of the op: CHLO has its own copies.
static void print_enums(const hlo_attr_t* attr, hlo_op_t op, hlo_strbuf_t* out) {
  const char* dialect = strncmp(hlo_op_info(op)->name, "chlo.", 5) == 0 ? "chlo" : "stablehlo";
  if (attr->kind == HLO_ATTR_KIND_ENUM) {
    print_enum(attr, dialect, out);
    return;
  }
  hlo_strbuf_putc(out, '[');
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    print_enum(attr->items[i], dialect, out);
  }
  hlo_strbuf_putc(out, ']');
}

static bool is_enums(const hlo_attr_t* attr) {
  if (attr->kind == HLO_ATTR_KIND_ENUM) return true;
  if (attr->kind != HLO_ATTR_KIND_ARRAY || attr->count == 0) return false;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (attr->items[i]->kind != HLO_ATTR_KIND_ENUM) return false;
  }
  return true;
}

static void print_aliases(const hlo_attr_t* attr, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '[');
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    print_alias(attr->items[i], out);
  }
  hlo_strbuf_putc(out, ']');
}

void hlo_print_op_attr(hlo_printer_t* p, const hlo_attr_t* attr, hlo_op_t op, hlo_attr_id_t id) {
  hlo_attr_form_t form = hlo_attr_form(id);
  bool is_ints = attr->kind == HLO_ATTR_KIND_INTS;
  if (is_ints && (form == HLO_ATTR_FORM_PAIRS || form == HLO_ATTR_FORM_MATRIX)) {
    print_int_tensor(attr, true, p->out);
  } else if (form == HLO_ATTR_FORM_ALIASES && attr->kind == HLO_ATTR_KIND_ARRAY) {
    print_aliases(attr, p->out);
  } else if (id == HLO_ATTR_api_version && attr->kind == HLO_ATTR_KIND_ENUM) {
    hlo_strbuf_printf(p->out, "%" PRId64 " : i32", attr->i);
  } else if (is_enums(attr)) {
    print_enums(attr, op, p->out);
  } else if (id == HLO_ATTR_result_accuracy && attr->kind == HLO_ATTR_KIND_DICT) {
    print_accuracy(attr, p->out);
  } else if (id == HLO_ATTR_operand_segment_sizes && is_ints) {
    hlo_strbuf_puts(p->out, attr->count ? "array<i32: " : "array<i32");
    hlo_print_int_list(p->out, attr->values, attr->count);
    hlo_strbuf_putc(p->out, '>');
  } else if (op == HLO_OP_chlo_constant_like && attr->kind == HLO_ATTR_KIND_LITERAL &&
             attr->type->rank == 0 && !hlo_dtype_is_complex(attr->type->dtype)) {
    hlo_print_literal(attr->literal, p->out);  // a number, not a tensor
    hlo_strbuf_puts(p->out, " : ");
    hlo_print_element_type(attr->type, p->out);
  } else {
    hlo_print_any_attr(&p->options, attr, p->out);
  }
}

// ---- types, strings, names and numbers

void* hlo_text_locale_begin(void) {
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);  // static in glibc: cannot fail
  return c_locale ? (void*)uselocale(c_locale) : NULL;
}

void hlo_text_locale_end(void* previous) {
  if (!previous) return;
  locale_t c_locale = uselocale((locale_t)previous);
  if (c_locale != LC_GLOBAL_LOCALE) freelocale(c_locale);
}

void hlo_print_quoted(hlo_strbuf_t* out, const char* text, size_t length) {
  hlo_strbuf_putc(out, '"');
  size_t start = 0;
  for (size_t i = 0; i < length; ++i) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 32 && c < 127 && c != '"' && c != '\\') continue;
    hlo_strbuf_append(out, text + start, i - start);
    start = i + 1;
    if (c == '\\') {
      hlo_strbuf_puts(out, "\\\\");
    } else {
      hlo_strbuf_printf(out, "\\%02X", c);
    }
  }
  hlo_strbuf_append(out, text + start, length - start);
  hlo_strbuf_putc(out, '"');
}

void hlo_print_key(hlo_strbuf_t* out, const char* key) {
  size_t length = strlen(key);
  if (hlo_text_is_bare(key, length)) {
    hlo_strbuf_append(out, key, length);
  } else {
    hlo_print_quoted(out, key, length);
  }
}

void hlo_print_symbol(hlo_strbuf_t* out, const char* text) {
  for (;;) {
    const char* next = strstr(text, "::");
    size_t length = next ? (size_t)(next - text) : strlen(text);
    hlo_strbuf_putc(out, '@');
    if (hlo_text_is_bare(text, length)) {
      hlo_strbuf_append(out, text, length);
    } else {
      hlo_print_quoted(out, text, length);
    }
    if (!next) return;
    hlo_strbuf_puts(out, "::");
    text = next + 2;
  }
}

void hlo_print_int_list(hlo_strbuf_t* out, const int64_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, i ? ", %" PRId64 : "%" PRId64, values[i]);
  }
}

// Prints few digits if they determine the value, else as many as the format can need, else the
// bits.
void hlo_print_float(hlo_strbuf_t* out, hlo_dtype_t dtype, const void* element) {
  size_t width = hlo_dtype_size_bytes(dtype);
  double value = hlo_dtype_load_double(dtype, element);
  if (isfinite(value)) {
    char text[48];
    for (int digits = 6; digits <= 16; digits += 10) {
      snprintf(text, sizeof text, "%.*e", digits, value);
      unsigned char back[16];
      hlo_dtype_store_double(dtype, back, strtod(text, NULL));
      if (memcmp(back, element, width) == 0) {
        hlo_strbuf_puts(out, text);
        return;
      }
    }
  }
  uint64_t bits = 0;
  memcpy(&bits, element, width);
  hlo_strbuf_printf(out, "0x%0*" PRIX64, (int)width * 2, bits);
}

// ---- Types

static void print_dims(const hlo_type_t* type, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] < 0) {
      hlo_strbuf_puts(out, "?x");
    } else {
      hlo_strbuf_printf(out, "%" PRId64 "x", type->dims[i]);
    }
  }
}

static void print_scale(hlo_strbuf_t* out, double scale, int64_t zero_point) {
  hlo_print_float(out, HLO_DTYPE_F64, &scale);
  if (zero_point) hlo_strbuf_printf(out, ":%" PRId64, zero_point);
}

static void print_quant(const hlo_quant_t* quant, hlo_strbuf_t* out) {
  const hlo_dtype_info_t* storage = hlo_dtype_info(quant->storage);
  bool is_signed = storage->klass == HLO_DTYPE_CLASS_SIGNED;
  hlo_strbuf_printf(out, "!quant.uniform<%c%u", is_signed ? 'i' : 'u', storage->bits);
  int64_t max = (int64_t)(((uint64_t)1 << (storage->bits - is_signed)) - 1);
  int64_t min = is_signed ? -max - 1 : 0;
  if (quant->storage_min != min || quant->storage_max != max) {
    hlo_strbuf_printf(out, "<%" PRId64 ":%" PRId64 ">", quant->storage_min, quant->storage_max);
  }
  hlo_strbuf_printf(out, ":%s", hlo_dtype_info(quant->expressed)->mlir_name);
  if (quant->axis >= 0) hlo_strbuf_printf(out, ":%d", quant->axis);
  hlo_strbuf_puts(out, ", ");
  if (quant->axis >= 0) hlo_strbuf_putc(out, '{');
  for (uint32_t i = 0; i < quant->count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    print_scale(out, quant->scales[i], quant->zero_points[i]);
  }
  hlo_strbuf_puts(out, quant->axis >= 0 ? "}>" : ">");
}

void hlo_print_element_type(const hlo_type_t* type, hlo_strbuf_t* out) {
  if (type->quant) {
    print_quant(type->quant, out);
  } else {
    hlo_strbuf_puts(out, type->is_index ? "index" : hlo_dtype_info(type->dtype)->mlir_name);
  }
}

static void print_shaped(const hlo_type_t* type, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, type->kind == HLO_TYPE_BUFFER ? "memref<" : "tensor<");
  print_dims(type, out);
  hlo_print_element_type(type, out);
  if (type->bounds) {
    hlo_strbuf_puts(out, ", #stablehlo.bounds<");
    for (uint32_t i = 0; i < type->rank; ++i) {
      if (i) hlo_strbuf_puts(out, ", ");
      if (type->bounds[i] < 0) {
        hlo_strbuf_putc(out, '?');
      } else {
        hlo_strbuf_printf(out, "%" PRId64, type->bounds[i]);
      }
    }
    hlo_strbuf_putc(out, '>');
  }
  if (type->encoding) {
    hlo_strbuf_puts(out, ", ");
    hlo_print_attr(type->encoding, out);
  }
  hlo_strbuf_putc(out, '>');
}

static void print_list(const hlo_type_t* type, uint32_t first, uint32_t end, hlo_strbuf_t* out) {
  for (uint32_t i = first; i < end; ++i) {
    if (i > first) hlo_strbuf_puts(out, ", ");
    hlo_print_type(type->elements[i], out);
  }
}

void hlo_print_type(const hlo_type_t* type, hlo_strbuf_t* out) {
  switch (type->kind) {
    case HLO_TYPE_TENSOR:
    case HLO_TYPE_BUFFER: print_shaped(type, out); return;
    case HLO_TYPE_TOKEN: hlo_strbuf_puts(out, "!stablehlo.token"); return;
    case HLO_TYPE_NONE: hlo_strbuf_puts(out, "none"); return;
    case HLO_TYPE_TUPLE:
    case HLO_TYPE_FUTURE:
      hlo_strbuf_puts(out, type->kind == HLO_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
      print_list(type, 0, type->element_count, out);
      hlo_strbuf_putc(out, '>');
      return;
    case HLO_TYPE_FUNCTION: {
      uint32_t results = type->element_count - type->input_count;
      bool bare = results == 1 && type->elements[type->input_count]->kind != HLO_TYPE_FUNCTION;
      hlo_strbuf_putc(out, '(');
      print_list(type, 0, type->input_count, out);
      hlo_strbuf_puts(out, bare ? ") -> " : ") -> (");
      print_list(type, type->input_count, type->element_count, out);
      if (!bare) hlo_strbuf_putc(out, ')');
      return;
    }
  }
}
