// SPDX-License-Identifier: Apache-2.0
// Prints attributes of instructions in HLO text by the table of text_rows.c, and small notations:
// numbers, strings, lists, literals. The reverse of text_attrs.c and text_basic.c.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/hlo/print_impl.h"
#include "ir/dot_algorithm.h"

typedef hlo_hlo_printer_t printer_t;

// ---- small notations ----------------------------------------------------------------------------

void hlo_hlo_print_bytes(printer_t* p, hlo_wire_bytes_t bytes) {
  if (bytes.size) hlo_strbuf_append(p->out, (const char*)bytes.data, bytes.size);
}

// Prints a quoted string with escapes.
static void print_quoted(printer_t* p, hlo_wire_bytes_t bytes) {
  hlo_strbuf_putc(p->out, '"');
  for (size_t i = 0; i < bytes.size; ++i) {
    uint8_t c = bytes.data[i];
    if (c == '"' || c == '\\') {
      hlo_strbuf_printf(p->out, "\\%c", c);
    } else if (c == '\n') {
      hlo_strbuf_puts(p->out, "\\n");
    } else if (c < 0x20 || c >= 0x7f) {
      hlo_strbuf_printf(p->out, "\\%03o", c);
    } else {
      hlo_strbuf_putc(p->out, (char)c);
    }
  }
  hlo_strbuf_putc(p->out, '"');
}

void hlo_hlo_print_ints(printer_t* p, const hlo_wire_array_t* ints) {
  hlo_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < ints->count; ++i) {
    hlo_strbuf_printf(p->out, "%s%" PRId64, i ? "," : "", ((const int64_t*)ints->items)[i]);
  }
  hlo_strbuf_putc(p->out, '}');
}

void hlo_hlo_print_string_map(printer_t* p, const hlo_desc_string_map_t* map) {
  const hlo_desc_string_pair_t* pairs = map->map.items;
  hlo_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < map->map.count; ++i) {
    if (i) hlo_strbuf_putc(p->out, ',');
    hlo_hlo_print_bytes(p, pairs[i].key);
    hlo_strbuf_putc(p->out, '=');
    print_quoted(p, pairs[i].value);
  }
  hlo_strbuf_putc(p->out, '}');
}

void hlo_hlo_print_alias(printer_t* p, const hlo_wire_array_t* from, int64_t number,
                         const hlo_wire_array_t* to, const char* kind) {
  hlo_hlo_print_ints(p, from);
  hlo_strbuf_printf(p->out, ": (%" PRId64 ", ", number);
  hlo_hlo_print_ints(p, to);
  hlo_strbuf_printf(p->out, "%s)", kind);
}

// ---- elements -----------------------------------------------------------------------------------

static void print_nan(printer_t* p, const hlo_dtype_info_t* info, hlo_dtype_t dtype,
                      const void* element) {
  uint64_t bits = 0;
  memcpy(&bits, element, hlo_dtype_size_bytes(dtype));
  bool is_ieee = info->specials == HLO_FLOAT_IEEE;
  bool negative = (is_ieee || info->specials == HLO_FLOAT_FN) && bits >> (info->bits - 1) & 1;
  hlo_strbuf_puts(p->out, negative ? "-nan" : "nan");
  if (!is_ieee) return;
  uint64_t payload = bits & (((uint64_t)1 << info->mantissa_bits) - 1);
  if (payload == (uint64_t)1 << (info->mantissa_bits - 1)) return;
  hlo_strbuf_printf(p->out, "(0x%" PRIx64 ")", payload);
}

// Prints the shortest text that reads back to the same float.
static void print_float(printer_t* p, hlo_dtype_t dtype, const void* element) {
  enum { DIGITS_MAX = 17 };  // enough for every double
  double value = hlo_dtype_load_double(dtype, element);
  if (isnan(value)) {
    print_nan(p, hlo_dtype_info(dtype), dtype, element);
    return;
  }
  char text[48];
  size_t width = hlo_dtype_size_bytes(dtype);
  for (int digits = dtype == HLO_DTYPE_F64 ? 15 : 1; digits <= DIGITS_MAX; ++digits) {
    unsigned char back[16];
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (isinf(value)) break;
    if (dtype == HLO_DTYPE_F32) {
      float narrow = strtof(text, NULL);
      memcpy(back, &narrow, sizeof narrow);
    } else {
      hlo_dtype_store_double(dtype, back, strtod(text, NULL));
    }
    if (memcmp(back, element, width) == 0) break;
  }
  hlo_strbuf_puts(p->out, text);
}

static void print_element(printer_t* p, hlo_dtype_t dtype, bool in_array, const uint8_t* element) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  switch (info->klass) {
    case HLO_DTYPE_CLASS_BOOL:
      hlo_strbuf_puts(p->out, in_array ? (*element ? "1" : "0") : (*element ? "true" : "false"));
      return;
    case HLO_DTYPE_CLASS_SIGNED:
      hlo_strbuf_printf(p->out, "%" PRId64, hlo_dtype_load_int64(dtype, element));
      return;
    case HLO_DTYPE_CLASS_UNSIGNED:
      hlo_strbuf_printf(p->out, "%" PRIu64, (uint64_t)hlo_dtype_load_int64(dtype, element));
      return;
    case HLO_DTYPE_CLASS_COMPLEX:
      hlo_strbuf_putc(p->out, '(');
      print_float(p, info->part, element);
      hlo_strbuf_puts(p->out, ", ");
      print_float(p, info->part, element + hlo_dtype_size_bytes(info->part));
      hlo_strbuf_putc(p->out, ')');
      return;
    default: print_float(p, dtype, element); return;
  }
}

// { {1, 2}, {3, 4} }
static void print_nested(printer_t* p, const hlo_desc_shape_t* shape, hlo_dtype_t dtype, size_t dim,
                         const uint8_t** element) {
  size_t rank = shape->dimensions.count;
  if (dim == rank) {
    print_element(p, dtype, rank > 0, *element);
    *element += hlo_dtype_size_bytes(dtype);
    return;
  }
  bool is_last = dim + 1 == rank;
  hlo_strbuf_puts(p->out, is_last ? "{" : "{ ");
  for (int64_t i = 0; i < ((const int64_t*)shape->dimensions.items)[dim]; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    print_nested(p, shape, dtype, dim + 1, element);
  }
  hlo_strbuf_puts(p->out, is_last ? "}" : " }");
}

void hlo_hlo_print_literal(printer_t* p, const hlo_desc_shape_t* shape,
                           const hlo_desc_literal_t* literal) {
  int64_t count = 0, limit = p->options.elide_literals_above;
  const uint8_t* element = literal->elements;
  (void)hlo_dims_element_count((uint32_t)shape->dimensions.count, shape->dimensions.items, &count);
  if (limit > 0 && count > limit) {
    hlo_strbuf_puts(p->out, "{...}");
    return;
  }
  print_nested(p, shape, hlo_dtype_from_primitive(shape->element_type), 0, &element);
}

// ---- notations of attributes --------------------------------------------------------------------

static void print_case(printer_t* p, hlo_enum_kind_t kind, int32_t value, bool lower) {
  const char* name = hlo_enum_case_name(kind, value);
  for (const char* c = name ? name : "?"; *c; ++c) {
    hlo_strbuf_putc(p->out, lower && *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c);
  }
}

static void print_call(printer_t* p, const hlo_wire_array_t* calls, size_t place) {
  int64_t id = ((const int64_t*)calls->items)[place];
  hlo_strbuf_putc(p->out, '%');
  hlo_hlo_print_bytes(p,
                      ((const hlo_desc_computation_t*)p->module->computations.items)[id - 1].name);
}

static int64_t window_value(const hlo_text_window_part_t* part, const hlo_desc_window_dim_t* dim,
                            size_t index) {
  if (part->form == HLO_WINDOW_BOOL) return dim->window_reversal;
  int64_t value;
  memcpy(&value, (const uint8_t*)dim + part->offset + index * sizeof value, sizeof value);
  return value;
}

static void print_window(printer_t* p, const hlo_desc_window_t* window) {
  const hlo_desc_window_dim_t* dims = window->dimensions.items;
  size_t count = window->dimensions.count;
  hlo_strbuf_putc(p->out, '{');
  for (size_t k = 0; k < HLO_TEXT_WINDOW_PARTS; ++k) {
    const hlo_text_window_part_t* part = &hlo_text_window_parts[k];
    size_t width = part->form == HLO_WINDOW_PAIR ? 2 : 1;
    bool usual = true;
    for (size_t i = 0; i < count * width; ++i) {
      usual &= window_value(part, &dims[i / width], i % width) == part->usual;
    }
    if (usual) continue;
    hlo_strbuf_printf(p->out, "%s%s=", k ? " " : "", part->name);
    for (size_t i = 0; i < count; ++i) {
      hlo_strbuf_printf(p->out, "%s%" PRId64, i ? "x" : "", window_value(part, &dims[i], 0));
      if (width == 2) hlo_strbuf_printf(p->out, "_%" PRId64, window_value(part, &dims[i], 1));
    }
  }
  hlo_strbuf_putc(p->out, '}');
}

// Prints labels such as b01f: the letter or number of each dimension.
static void print_labels(printer_t* p, const char* letters, int64_t first, int64_t second,
                         const hlo_wire_array_t* spatial) {
  char labels[HLO_RANK_MAX + 3] = {0};
  const int64_t* dims = spatial->items;
  size_t rank = spatial->count + 2;
  labels[first] = letters[0];
  labels[second] = letters[1];
  for (size_t i = 0; i < spatial->count; ++i) labels[dims[i]] = (char)('0' + i);
  hlo_strbuf_append(p->out, labels, rank);
}

static void print_dim_labels(printer_t* p, const hlo_desc_conv_t* conv) {
  print_labels(p, "bf", conv->input_batch_dimension, conv->input_feature_dimension,
               &conv->input_spatial_dimensions);
  hlo_strbuf_putc(p->out, '_');
  print_labels(p, "io", conv->kernel_input_feature_dimension, conv->kernel_output_feature_dimension,
               &conv->kernel_spatial_dimensions);
  hlo_strbuf_puts(p->out, "->");
  print_labels(p, "bf", conv->output_batch_dimension, conv->output_feature_dimension,
               &conv->output_spatial_dimensions);
}

static void print_padding(printer_t* p, const hlo_desc_padding_t* padding) {
  const hlo_desc_pad_dim_t* dims = padding->dimensions.items;
  for (size_t i = 0; i < padding->dimensions.count; ++i) {
    hlo_strbuf_printf(p->out, "%s%" PRId64 "_%" PRId64, i ? "x" : "", dims[i].edge_padding_low,
                      dims[i].edge_padding_high);
    if (dims[i].interior_padding) {
      hlo_strbuf_printf(p->out, "_%" PRId64, dims[i].interior_padding);
    }
  }
}

static void print_metadata(printer_t* p, const hlo_desc_metadata_t* metadata) {
  const char* gap = "";
  hlo_strbuf_putc(p->out, '{');
  if (metadata->op_name.size) {
    hlo_strbuf_puts(p->out, "op_name=");
    print_quoted(p, metadata->op_name);
    gap = " ";
  }
  if (metadata->source_file.size) {
    hlo_strbuf_printf(p->out, "%ssource_file=", gap);
    print_quoted(p, metadata->source_file);
    gap = " ";
  }
  if (metadata->source_line) {
    hlo_strbuf_printf(p->out, "%ssource_line=%d", gap, (int)metadata->source_line);
    gap = " ";
  }
  if (metadata->source_column) {
    hlo_strbuf_printf(p->out, "%ssource_column=%d", gap, (int)metadata->source_column);
  }
  hlo_strbuf_putc(p->out, '}');
}

static void print_precision(printer_t* p, const hlo_desc_precision_t* precision) {
  const int32_t* values = precision->operand_precision.items;
  hlo_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < precision->operand_precision.count; ++i) {
    if (i) hlo_strbuf_putc(p->out, ',');
    print_case(p, HLO_ENUM_PRECISION, values[i], true);
  }
  hlo_strbuf_putc(p->out, '}');
}

// Prints one item of a list in braces, by its notation.
static void print_item(printer_t* p, hlo_notation_t notation, const hlo_wire_array_t* array,
                       size_t i) {
  if (notation == HLO_NOTE_CALLS) {
    print_call(p, array, i);
  } else if (notation == HLO_NOTE_SLICE) {
    const hlo_desc_slice_dim_t* dim = (const hlo_desc_slice_dim_t*)array->items + i;
    hlo_strbuf_printf(p->out, "[%" PRId64 ":%" PRId64, dim->start, dim->limit);
    if (dim->stride != 1) hlo_strbuf_printf(p->out, ":%" PRId64, dim->stride);
    hlo_strbuf_putc(p->out, ']');
  } else if (notation == HLO_NOTE_GROUPS) {
    hlo_hlo_print_ints(p, &((const hlo_desc_group_t*)array->items)[i].replica_ids);
  } else if (notation == HLO_NOTE_PAIRS) {
    const hlo_desc_pair_t* pair = (const hlo_desc_pair_t*)array->items + i;
    hlo_strbuf_printf(p->out, "{%" PRId64 ",%" PRId64 "}", pair->source, pair->target);
  } else if (notation == HLO_NOTE_SHAPES) {
    hlo_hlo_print_shape(p, (const hlo_desc_shape_t*)array->items + i, true);
  } else {
    const hlo_desc_output_alias_t* alias = (const hlo_desc_output_alias_t*)array->items + i;
    hlo_hlo_print_alias(p, &alias->output_shape_index, alias->operand_index,
                        &alias->operand_shape_index, "");
  }
}

static void print_list(printer_t* p, hlo_notation_t notation, const hlo_wire_array_t* array) {
  bool is_dense = notation == HLO_NOTE_GROUPS || notation == HLO_NOTE_PAIRS;
  hlo_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < array->count; ++i) {
    if (i) hlo_strbuf_puts(p->out, is_dense ? "," : ", ");
    print_item(p, notation, array, i);
  }
  hlo_strbuf_putc(p->out, '}');
}

// ---- rows ---------------------------------------------------------------------------------------

// Returns true if the field has its default value.
static bool is_zero(const hlo_text_row_t* row, const void* field) {
  switch (row->notation) {
    case HLO_NOTE_INT: return *(const int64_t*)field == 0;
    case HLO_NOTE_INT32:
    case HLO_NOTE_ENUM:
    case HLO_NOTE_ALGORITHM:
    case HLO_NOTE_RNG_ENUM: return *(const int32_t*)field == 0;
    case HLO_NOTE_BOOL: return !*(const bool*)field;
    case HLO_NOTE_FLOAT: return *(const float*)field == 0;
    case HLO_NOTE_STRING:
    case HLO_NOTE_WORD:
    case HLO_NOTE_ORDER: return ((const hlo_wire_bytes_t*)field)->size == 0;
    case HLO_NOTE_WINDOW:
    case HLO_NOTE_DIM_LABELS:
    case HLO_NOTE_PADDING:
    case HLO_NOTE_METADATA:
    case HLO_NOTE_STRING_MAP: return *(const void* const*)field == NULL;
    case HLO_NOTE_PRECISION: {
      const hlo_desc_precision_t* precision = *(const hlo_desc_precision_t* const*)field;
      return !precision || precision->operand_precision.count == 0;
    }
    case HLO_NOTE_SKIP: return true;
    default: return ((const hlo_wire_array_t*)field)->count == 0;
  }
}

static void print_bools(printer_t* p, const hlo_wire_array_t* bools) {
  hlo_strbuf_putc(p->out, '{');
  for (size_t i = 0; i < bools->count; ++i) {
    if (i) hlo_strbuf_putc(p->out, ',');
    hlo_strbuf_puts(p->out, ((const bool*)bools->items)[i] ? "true" : "false");
  }
  hlo_strbuf_putc(p->out, '}');
}

static void print_value(printer_t* p, const hlo_text_row_t* row, const void* field) {
  const void* const* pointer = field;  // of the notations that are structs
  switch (row->notation) {
    case HLO_NOTE_INT: hlo_strbuf_printf(p->out, "%" PRId64, *(const int64_t*)field); return;
    case HLO_NOTE_INT32: hlo_strbuf_printf(p->out, "%d", (int)*(const int32_t*)field); return;
    case HLO_NOTE_BOOL: hlo_strbuf_puts(p->out, *(const bool*)field ? "true" : "false"); return;
    case HLO_NOTE_FLOAT: print_float(p, HLO_DTYPE_F32, field); return;
    case HLO_NOTE_STRING: print_quoted(p, *(const hlo_wire_bytes_t*)field); return;
    case HLO_NOTE_WORD: hlo_hlo_print_bytes(p, *(const hlo_wire_bytes_t*)field); return;
    case HLO_NOTE_RNG_ENUM: hlo_strbuf_puts(p->out, "rng_"); __attribute__((fallthrough));
    case HLO_NOTE_ENUM:
      print_case(p, (hlo_enum_kind_t)row->index, *(const int32_t*)field,
                 row->notation == HLO_NOTE_RNG_ENUM);
      return;
    case HLO_NOTE_ALGORITHM:
      hlo_strbuf_puts(p->out, hlo_dot_algorithm_numbered(*(const int32_t*)field)->name);
      return;
    case HLO_NOTE_INTS: hlo_hlo_print_ints(p, field); return;
    case HLO_NOTE_BOOLS: print_bools(p, field); return;
    case HLO_NOTE_DIM:
      hlo_strbuf_printf(p->out, "%" PRId64,
                        *(const int64_t*)((const hlo_wire_array_t*)field)->items);
      return;
    case HLO_NOTE_CALL: print_call(p, field, row->index); return;
    case HLO_NOTE_WINDOW: print_window(p, *pointer); return;
    case HLO_NOTE_DIM_LABELS: print_dim_labels(p, *pointer); return;
    case HLO_NOTE_PADDING: print_padding(p, *pointer); return;
    case HLO_NOTE_PRECISION: print_precision(p, *pointer); return;
    case HLO_NOTE_METADATA: print_metadata(p, *pointer); return;
    case HLO_NOTE_STRING_MAP: hlo_hlo_print_string_map(p, *pointer); return;
    default: print_list(p, row->notation, field); return;
  }
}

// Returns true if an instruction prints a row: rows of its opcode always, rows of any opcode unless
// the field has its default value.
static bool is_printed(const printer_t* p, const hlo_text_row_t* row,
                       const hlo_desc_instruction_t* in, const void* field) {
  if (row->notation == HLO_NOTE_METADATA && !p->options.metadata) return false;
  if (row->notation == HLO_NOTE_INT_LISTS) return false;
  if (!row->opcodes) return !is_zero(row, field);
  if (!hlo_text_row_is_of(row, in->opcode)) return false;
  bool is_call = row->notation == HLO_NOTE_CALL;
  if (!is_call && row->notation != HLO_NOTE_CALLS) return true;
  if (hlo_bytes_equal(in->opcode, "conditional")) return is_call == in->is_predicated;
  return !is_zero(row, field);
}

void hlo_hlo_print_attributes(printer_t* p, const hlo_desc_instruction_t* in) {
  for (size_t i = 0; i < hlo_text_row_count; ++i) {
    const hlo_text_row_t* row = &hlo_text_rows[i];
    const uint8_t* base = (const uint8_t*)in;
    if (row->outer != HLO_TEXT_NO_OUTER) {
      base = *(const uint8_t* const*)(base + row->outer);
      if (!base) continue;
    }
    if (!is_printed(p, row, in, base + row->offset)) continue;
    hlo_strbuf_printf(p->out, ", %s=", row->name);
    print_value(p, row, base + row->offset);
  }
}
