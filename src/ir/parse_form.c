// SPDX-License-Identifier: Apache-2.0
// Conversion of parsed attributes to the forms that attrs.def gives to attributes of ops.
#include <string.h>

#include "ir/parse_impl.h"

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
  hlo_status_t status = hlo_literal_create(attr->dtype, 0, NULL, false, &literal);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return NULL;
  }
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
