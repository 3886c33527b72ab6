// SPDX-License-Identifier: Apache-2.0
// MLIR text of types, strings, names and numbers.
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print_impl.h"

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
