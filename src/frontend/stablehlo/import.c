// SPDX-License-Identifier: Apache-2.0
// Attributes of serialized StableHLO to those of the op table (see import.h).
#include "frontend/stablehlo/import.h"

#include <string.h>

#include "frontend/stablehlo/attrs.h"

enum {
  DIMS_MAX = 4096,           // numbers in a list of dimensions, or from a splat
  LIST_ITEMS_MAX = 1 << 16,  // items of a list attribute that needs a conversion
};

// ---- Conversion to the forms of the attribute table

static hlo_status_t bad_form(hlo_attr_id_t id, const char* expected) {
  return hlo_invalid_argument("attribute '%s' is not %s", hlo_attr_name(id), expected);
}

static bool is_integer_literal(const hlo_attr_t* attr) {
  return attr->kind == HLO_ATTR_KIND_LITERAL &&
         (hlo_dtype_is_integer(attr->literal->dtype) || attr->literal->dtype == HLO_DTYPE_PRED);
}

// Returns the values of an integer literal in scratch memory.
static hlo_status_t literal_ints(hlo_importer_t* importer, hlo_attr_id_t id,
                                 const hlo_literal_t* literal, int64_t** out) {
  if (literal->is_splat && literal->element_count > DIMS_MAX) {
    return bad_form(id, "within the length limit");
  }
  *out = hlo_arena_array(importer->scratch, (size_t)literal->element_count + 1, sizeof **out);
  if (!*out) return hlo_arena_status(importer->scratch);
  for (int64_t i = 0; i < literal->element_count; ++i) {
    (*out)[i] = hlo_dtype_load_int64(literal->dtype, hlo_literal_element(literal, i));
  }
  return hlo_ok();
}

static hlo_status_t to_ints(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                            const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_INTS && in->rows == 0) {
    if (in->count > DIMS_MAX) return bad_form(id, "within the length limit");
    if (in->dtype != HLO_DTYPE_PRED) *out = hlo_attr_ints(importer->module, in->count, in->values);
    return hlo_module_status(importer->module);
  }
  if (!is_integer_literal(in) || in->literal->rank > 1) return bad_form(id, "a list of integers");
  if (in->literal->element_count > DIMS_MAX) return bad_form(id, "within the length limit");
  int64_t* values;
  HLO_TRY(literal_ints(importer, id, in->literal, &values));
  uint32_t count = (uint32_t)in->literal->element_count;
  *out = in->literal->dtype == HLO_DTYPE_PRED ? hlo_attr_bools(importer->module, count, values)
                                              : hlo_attr_ints(importer->module, count, values);
  return hlo_module_status(importer->module);
}

static hlo_status_t to_matrix(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                              const hlo_attr_t** out) {
  *out = in;
  bool is_matrix = in->kind == HLO_ATTR_KIND_INTS && (in->rows || in->cols || in->count == 0);
  // Replica groups given by mesh axes are carried as text.
  if (is_matrix || in->kind == HLO_ATTR_KIND_OPAQUE) return hlo_ok();
  if (!is_integer_literal(in) || (in->literal->rank != 2 && in->literal->element_count != 0)) {
    return bad_form(id, "a matrix of integers");
  }
  const hlo_literal_t* literal = in->literal;
  int64_t rows = literal->rank == 2 ? literal->dims[0] : 0;
  int64_t cols = literal->rank == 2 ? literal->dims[1] : 0;
  if (rows > UINT32_MAX || cols > UINT32_MAX || literal->element_count > UINT32_MAX) {
    return bad_form(id, "within the size limit");
  }
  int64_t* values;
  HLO_TRY(literal_ints(importer, id, literal, &values));
  *out = hlo_attr_matrix(importer->module, (uint32_t)rows, (uint32_t)cols, values);
  return hlo_module_status(importer->module);
}

// Converts index vectors of layouts, whose elements are `index`.
static hlo_status_t to_layout(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                              const hlo_attr_t** out) {
  const hlo_attr_t* ints;
  HLO_TRY(to_ints(importer, id, in, &ints));
  hlo_attr_t fields = *ints;
  fields.is_index = true;
  *out = hlo_attr_intern(importer->module, &fields);
  return hlo_module_status(importer->module);
}

static hlo_status_t to_symbol(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                              const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_SYMBOL) return hlo_ok();
  if (in->kind != HLO_ATTR_KIND_STRING) return bad_form(id, "a symbol");
  *out = hlo_attr_symbol(importer->module, in->text, in->text_length);
  return hlo_module_status(importer->module);
}

typedef hlo_status_t (*convert_t)(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                                  const hlo_attr_t** out);

static hlo_status_t to_list(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                            convert_t convert, const hlo_attr_t** out) {
  if (in->kind != HLO_ATTR_KIND_ARRAY || in->count > LIST_ITEMS_MAX) return bad_form(id, "a list");
  const hlo_attr_t** items =
      hlo_arena_array(importer->scratch, (size_t)in->count + 1, sizeof *items);
  if (!items) return hlo_arena_status(importer->scratch);
  for (uint32_t i = 0; i < in->count; ++i) HLO_TRY(convert(importer, id, in->items[i], &items[i]));
  *out = hlo_attr_array(importer->module, in->count, items);
  return hlo_module_status(importer->module);
}

static hlo_status_t to_int(hlo_importer_t* importer, hlo_attr_id_t id, hlo_dtype_t dtype,
                           const hlo_attr_t* in, const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_INT && in->dtype == dtype && !in->is_index) return hlo_ok();
  if (in->kind != HLO_ATTR_KIND_INT && in->kind != HLO_ATTR_KIND_ENUM) {
    return bad_form(id, "an integer");
  }
  *out = hlo_attr_int(importer->module, dtype, in->i);
  return hlo_module_status(importer->module);
}

static hlo_status_t to_bool(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                            const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_BOOL) return hlo_ok();
  if (in->kind != HLO_ATTR_KIND_UNIT) return bad_form(id, "a boolean");
  *out = hlo_attr_bool(importer->module, true);
  return hlo_module_status(importer->module);
}

static hlo_status_t to_unit(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                            const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_UNIT) return hlo_ok();
  if (in->kind != HLO_ATTR_KIND_BOOL) return bad_form(id, "a unit attribute");
  *out = in->i ? hlo_attr_unit(importer->module) : NULL;
  return hlo_module_status(importer->module);
}

static hlo_status_t of_kind(hlo_attr_id_t id, const hlo_attr_t* in, hlo_attr_kind_t kind,
                            const char* expected, const hlo_attr_t** out) {
  *out = in;
  return in->kind == kind ? hlo_ok() : bad_form(id, expected);
}

static hlo_status_t of_enum(hlo_attr_id_t id, const hlo_attr_t* in, hlo_enum_kind_t kind,
                            const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_ENUM && in->enum_kind == kind) return hlo_ok();
  return bad_form(id, hlo_enum_mnemonic(kind));
}

static hlo_status_t to_precision(HLO_UNUSED hlo_importer_t* importer, hlo_attr_id_t id,
                                 const hlo_attr_t* in, const hlo_attr_t** out) {
  return of_enum(id, in, HLO_ENUM_PRECISION, out);
}

// An element type is encoded as the type of a scalar; one that the IR lacks (tf32) stays text.
static hlo_status_t to_type(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                            const hlo_attr_t** out) {
  *out = in;
  if (in->kind == HLO_ATTR_KIND_TYPE) return hlo_ok();
  if (in->kind != HLO_ATTR_KIND_OPAQUE) return bad_form(id, "a type");
  hlo_dtype_t dtype = hlo_dtype_from_mlir_name(in->text, in->text_length);
  if (dtype != HLO_DTYPE_INVALID) {
    *out = hlo_attr_type(importer->module, hlo_type_tensor(importer->module, dtype, 0, NULL));
  }
  return hlo_module_status(importer->module);
}

static bool is_none(const hlo_attr_t* attr) {
  return attr->kind == HLO_ATTR_KIND_TYPE && attr->type->kind == HLO_TYPE_NONE;
}

static hlo_status_t convert_enum_form(hlo_attr_id_t id, const hlo_attr_t* in,
                                      const hlo_attr_t** out) {
  switch (hlo_attr_form(id)) {
    case HLO_ATTR_FORM_ENUM_COMPARISON_DIRECTION:
      return of_enum(id, in, HLO_ENUM_COMPARISON_DIRECTION, out);
    case HLO_ATTR_FORM_ENUM_COMPARISON_TYPE: return of_enum(id, in, HLO_ENUM_COMPARISON_TYPE, out);
    case HLO_ATTR_FORM_ENUM_FFT_TYPE: return of_enum(id, in, HLO_ENUM_FFT_TYPE, out);
    case HLO_ATTR_FORM_ENUM_RNG_ALGORITHM: return of_enum(id, in, HLO_ENUM_RNG_ALGORITHM, out);
    case HLO_ATTR_FORM_ENUM_RNG_DISTRIBUTION:
      return of_enum(id, in, HLO_ENUM_RNG_DISTRIBUTION, out);
    default: return of_enum(id, in, HLO_ENUM_TRANSPOSE, out);
  }
}

// Converts to the form of the attribute's row; *out is NULL if the value means absence.
static hlo_status_t convert_attr(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                                 const hlo_attr_t** out) {
  *out = NULL;
  if (is_none(in)) return hlo_ok();
  switch (hlo_attr_form(id)) {
    case HLO_ATTR_FORM_I64: return to_int(importer, id, HLO_DTYPE_S64, in, out);
    case HLO_ATTR_FORM_I32: return to_int(importer, id, HLO_DTYPE_S32, in, out);
    case HLO_ATTR_FORM_U64: return to_int(importer, id, HLO_DTYPE_U64, in, out);
    case HLO_ATTR_FORM_BOOL: return to_bool(importer, id, in, out);
    case HLO_ATTR_FORM_UNIT: return to_unit(importer, id, in, out);
    case HLO_ATTR_FORM_F32: return of_kind(id, in, HLO_ATTR_KIND_FLOAT, "a float", out);
    case HLO_ATTR_FORM_STRING: return of_kind(id, in, HLO_ATTR_KIND_STRING, "a string", out);
    case HLO_ATTR_FORM_DICT: return of_kind(id, in, HLO_ATTR_KIND_DICT, "a dictionary", out);
    case HLO_ATTR_FORM_LITERAL: return of_kind(id, in, HLO_ATTR_KIND_LITERAL, "a constant", out);
    case HLO_ATTR_FORM_SYMBOL: return to_symbol(importer, id, in, out);
    case HLO_ATTR_FORM_SYMBOLS: return to_list(importer, id, in, to_symbol, out);
    case HLO_ATTR_FORM_DIMS:
    case HLO_ATTR_FORM_BOOLS: return to_ints(importer, id, in, out);
    case HLO_ATTR_FORM_PAIRS:
    case HLO_ATTR_FORM_MATRIX: return to_matrix(importer, id, in, out);
    case HLO_ATTR_FORM_LAYOUTS: return to_list(importer, id, in, to_layout, out);
    case HLO_ATTR_FORM_PRECISIONS: return to_list(importer, id, in, to_precision, out);
    case HLO_ATTR_FORM_TYPE: return to_type(importer, id, in, out);
    case HLO_ATTR_FORM_ALIASES:
    case HLO_ATTR_FORM_ANY: *out = in; return hlo_ok();
    default: return convert_enum_form(id, in, out);
  }
}

static hlo_status_t convert_cached(hlo_importer_t* importer, hlo_attr_id_t id, const hlo_attr_t* in,
                                   const hlo_attr_t** out) {
  size_t slot = (((uintptr_t)in >> 4) ^ ((uintptr_t)in >> 11) ^ (size_t)id) %
                (sizeof importer->cache / sizeof importer->cache[0]);
  if (importer->cache[slot].in != in || importer->cache[slot].id != id) {
    const hlo_attr_t* converted;
    HLO_TRY(convert_attr(importer, id, in, &converted));
    importer->cache[slot].in = in;
    importer->cache[slot].id = id;
    importer->cache[slot].out = converted;
  }
  *out = importer->cache[slot].out;
  return hlo_ok();
}

// ---- Defaults

typedef enum default_test {
  DEFAULT_NONE,
  DEFAULT_ZERO,
  DEFAULT_ONE,
  DEFAULT_MINUS_ONE,
  DEFAULT_ZEROS,  // every item is zero
  DEFAULT_ONES,
  DEFAULT_EMPTY,
  DEFAULT_ACCURACY,
} default_test_t;

static const uint8_t defaults[HLO_ATTR_COUNT] = {
#define HLO_DEFAULT(attr, test) [HLO_ATTR_##attr] = DEFAULT_##test,
#include "frontend/stablehlo/defaults.def"
#undef HLO_DEFAULT
};

static bool all_items_are(const hlo_attr_t* attr, int64_t value) {
  if (attr->count > DIMS_MAX) return false;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (attr->kind == HLO_ATTR_KIND_INTS ? attr->values[i] != value : attr->items[i]->i != value) {
      return false;
    }
  }
  return attr->kind == HLO_ATTR_KIND_INTS || attr->kind == HLO_ATTR_KIND_ARRAY;
}

static bool is_empty(const hlo_attr_t* attr) {
  return attr->kind == HLO_ATTR_KIND_STRING ? attr->text_length == 0 : attr->count == 0;
}

static bool is_default(hlo_attr_id_t id, const hlo_attr_t* attr) {
  if (attr->kind == HLO_ATTR_KIND_OPAQUE || attr->kind == HLO_ATTR_KIND_UNIT) return false;
  switch ((default_test_t)defaults[id]) {
    case DEFAULT_ZERO: return attr->i == 0;
    case DEFAULT_ONE: return attr->i == 1;
    case DEFAULT_MINUS_ONE: return attr->i == -1;
    case DEFAULT_ZEROS: return all_items_are(attr, 0);
    case DEFAULT_ONES: return all_items_are(attr, 1);
    case DEFAULT_EMPTY: return is_empty(attr);
    case DEFAULT_ACCURACY: return attr->kind == HLO_ATTR_KIND_DICT && hlo_is_default_accuracy(attr);
    default: return false;
  }
}

// ---- All attributes of an op

static hlo_status_t add_known(hlo_importer_t* importer, hlo_op_t op, hlo_attr_id_t id, int slot,
                              const hlo_attr_t* value, hlo_imported_attrs_t* out) {
  const hlo_attr_t* converted;
  HLO_TRY(convert_cached(importer, id, value, &converted));
  if (!converted) return hlo_ok();
  if (!hlo_op_info(op)->attrs[slot].required && is_default(id, converted)) return hlo_ok();
  if (out->count == HLO_IMPORT_ATTRS_MAX) {
    return hlo_invalid_argument("more than %d attributes", HLO_IMPORT_ATTRS_MAX);
  }
  out->attrs[out->count++] = (hlo_named_attr_t){id, converted};
  return hlo_ok();
}

static hlo_named_attr_t* find_imported(hlo_imported_attrs_t* attrs, hlo_attr_id_t id) {
  for (uint32_t i = 0; i < attrs->count; ++i) {
    if (attrs->attrs[i].id == id) return &attrs->attrs[i];
  }
  return NULL;
}

// The layouts of a custom call are either all present or all absent.
static void drop_empty_layouts(hlo_imported_attrs_t* attrs) {
  hlo_named_attr_t* operands = find_imported(attrs, HLO_ATTR_operand_layouts);
  hlo_named_attr_t* results = find_imported(attrs, HLO_ATTR_result_layouts);
  if (operands && results && operands->value->count == 0 && results->value->count == 0) {
    operands->value = results->value = NULL;
  }
}

// A channel is an id and a type: collectives without an id have no type either; with an id, the
// type defaults to 0.
static hlo_status_t complete_channel(hlo_module_t* module, hlo_op_t op,
                                     hlo_imported_attrs_t* attrs) {
  if (hlo_op_attr_slot(op, HLO_ATTR_channel_type) < 0) return hlo_ok();
  hlo_named_attr_t* id = find_imported(attrs, HLO_ATTR_channel_id);
  hlo_named_attr_t* type = find_imported(attrs, HLO_ATTR_channel_type);
  if (!id && type && type->value->i == 0) type->value = NULL;
  if (!id || type || attrs->count == HLO_IMPORT_ATTRS_MAX) return hlo_ok();
  const hlo_attr_t* zero = hlo_attr_int(module, HLO_DTYPE_S64, 0);
  attrs->attrs[attrs->count++] = (hlo_named_attr_t){HLO_ATTR_channel_type, zero};
  return hlo_module_status(module);
}

// Sets the fields of a struct attribute; the op must have all of them.
static hlo_status_t set_struct_fields(hlo_importer_t* importer, hlo_op_t op, const hlo_attr_t* dict,
                                      hlo_imported_attrs_t* out) {
  if (dict->kind != HLO_ATTR_KIND_DICT) {
    return hlo_unimplemented("attribute '%.200s' is not supported", dict->text ? dict->text : "");
  }
  for (uint32_t i = 0; i < dict->count; ++i) {
    hlo_attr_id_t id = hlo_attr_from_name(dict->keys[i], strlen(dict->keys[i]));
    int slot = id == HLO_ATTR_COUNT ? -1 : hlo_op_attr_slot(op, id);
    if (slot < 0) return hlo_invalid_argument("the op has no attribute '%.64s'", dict->keys[i]);
    HLO_TRY(add_known(importer, op, id, slot, dict->items[i], out));
  }
  return hlo_ok();
}

static bool is_struct_name(const hlo_raw_attr_t* raw) {
  static const char* const names[] = {"algorithm",
                                      "channel_handle",
                                      "dimension_numbers",
                                      "dot_dimension_numbers",
                                      "ragged_dot_dimension_numbers",
                                      "scatter_dimension_numbers"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (strlen(names[i]) == raw->name_length &&
        memcmp(names[i], raw->name, raw->name_length) == 0) {
      return true;
    }
  }
  return false;
}

// Collects attributes that the op does not declare in one dictionary.
static hlo_status_t collect_extra(hlo_importer_t* importer, uint32_t count,
                                  const hlo_attr_t* const* items, const char* const* keys,
                                  const hlo_attr_t** out) {
  *out = count ? hlo_attr_dict(importer->module, count, keys, items) : NULL;
  return hlo_module_status(importer->module);
}

static hlo_status_t import_attrs(hlo_importer_t* importer, hlo_op_t op, uint32_t count,
                                 const hlo_raw_attr_t* raw, hlo_imported_attrs_t* out) {
  const char** keys = hlo_arena_array(importer->scratch, (size_t)count + 1, sizeof *keys);
  const hlo_attr_t** items = hlo_arena_array(importer->scratch, (size_t)count + 1, sizeof *items);
  if (!keys || !items) return hlo_arena_status(importer->scratch);
  uint32_t extra_count = 0;
  out->count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_attr_id_t id = hlo_attr_from_name(raw[i].name, raw[i].name_length);
    int slot = id == HLO_ATTR_COUNT ? -1 : hlo_op_attr_slot(op, id);
    if (slot >= 0) {
      HLO_TRY(add_known(importer, op, id, slot, raw[i].value, out));
    } else if (raw[i].is_inherent && is_struct_name(&raw[i])) {
      HLO_TRY(set_struct_fields(importer, op, raw[i].value, out));
    } else if (!raw[i].is_inherent) {
      keys[extra_count] = raw[i].name;
      items[extra_count++] = raw[i].value;
    }
  }
  if (op == HLO_OP_custom_call) drop_empty_layouts(out);
  HLO_TRY(complete_channel(importer->module, op, out));
  return collect_extra(importer, extra_count, items, keys, &out->extra);
}

hlo_status_t hlo_import_attrs(hlo_importer_t* importer, hlo_op_t op, uint32_t count,
                              const hlo_raw_attr_t* raw, hlo_imported_attrs_t* out) {
  hlo_arena_mark_t mark = hlo_arena_mark(importer->scratch);
  hlo_status_t status = import_attrs(importer, op, count, raw, out);
  hlo_arena_reset(importer->scratch, mark);
  return status;
}
