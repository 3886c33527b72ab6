// SPDX-License-Identifier: Apache-2.0
// Types of MLIR text.
#include <string.h>

#include "ir/parse_impl.h"

bool hlo_parse_scalar_type(hlo_parser_t* p, hlo_dtype_t* out_dtype, bool* out_is_index) {
  if (!hlo_at(p, HLO_TOKEN_WORD)) return false;
  *out_is_index = false;
  if (hlo_accept_word(p, "complex")) {
    hlo_dtype_t part;
    const char* at = p->token.start;
    if (!hlo_expect(p, '<')) return false;
    at = p->token.start;
    if (!hlo_parse_scalar_type(p, &part, out_is_index)) {
      return hlo_parse_expected(p, "an element type");
    }
    *out_dtype = hlo_dtype_complex_of(part);
    if (*out_dtype == HLO_DTYPE_INVALID) {
      return hlo_parse_fault(p, at, "complex numbers have f32 or f64 parts");
    }
    return hlo_expect(p, '>');
  }
  if (hlo_at_word(p, "index")) {
    *out_is_index = true;
    *out_dtype = HLO_DTYPE_S64;
  } else {
    *out_dtype = hlo_dtype_from_mlir_name(p->token.start, p->token.length);
    if (*out_dtype == HLO_DTYPE_INVALID) return false;
  }
  hlo_lex_advance(p);
  return true;
}

// ---- Quantized elements: !quant.uniform<i8<-127:127>:f32:1, {0.5:2, 0.25}>

static bool parse_storage(hlo_parser_t* p, hlo_quant_t* quant) {
  const char* name = p->token.start;
  size_t length = p->token.length;
  if (!hlo_at(p, HLO_TOKEN_WORD)) return hlo_parse_expected(p, "a storage type");
  char unsigned_name[16] = "u";
  if (length > 1 && name[0] == 'u' && name[1] != 'i' && length < sizeof unsigned_name - 1) {
    unsigned_name[1] = 'i';  // u8 is MLIR's ui8
    memcpy(unsigned_name + 2, name + 1, length - 1);
    quant->storage = hlo_dtype_from_mlir_name(unsigned_name, length + 1);
  } else if (length > 1 && name[0] == 's' && name[1] == 'i') {
    quant->storage = hlo_dtype_from_mlir_name(name + 1, length - 1);
  } else {
    quant->storage = hlo_dtype_from_mlir_name(name, length);
  }
  if (!hlo_dtype_is_integer(quant->storage) || hlo_dtype_info(quant->storage)->bits > 32) {
    return hlo_parse_fault(p, name, "a storage type must be an integer of at most 32 bits");
  }
  hlo_lex_advance(p);
  unsigned bits = hlo_dtype_info(quant->storage)->bits;
  bool is_signed = hlo_dtype_is_signed(quant->storage);
  quant->storage_max = (int64_t)(((uint64_t)1 << (bits - is_signed)) - 1);
  quant->storage_min = is_signed ? -quant->storage_max - 1 : 0;
  if (!hlo_accept(p, '<')) return true;
  return hlo_parse_int(p, &quant->storage_min) && hlo_expect(p, ':') &&
         hlo_parse_int(p, &quant->storage_max) && hlo_expect(p, '>');
}

static bool parse_scale(hlo_parser_t* p, double* out_scale, int64_t* out_zero_point) {
  bool negative = hlo_accept(p, '-');
  if (!hlo_at(p, HLO_TOKEN_FLOAT) && !hlo_at(p, HLO_TOKEN_INT)) {
    return hlo_parse_expected(p, "a scale");
  }
  double scale = hlo_text_to_double(p->token.start, p->token.start + p->token.length);
  *out_scale = negative ? -scale : scale;
  *out_zero_point = 0;
  hlo_lex_advance(p);
  return !hlo_accept(p, ':') || hlo_parse_int(p, out_zero_point);
}

static bool parse_scales(hlo_parser_t* p, hlo_quant_t* quant) {
  double* scales = NULL;
  int64_t* zero_points = NULL;
  uint32_t count = 0, scale_capacity = 0, zero_capacity = 0;
  bool many = hlo_accept(p, '{');
  if (many && hlo_at(p, '{')) {
    return hlo_parse_fault(p, p->token.start, "sub-channel quantization is not supported");
  }
  do {
    if (!HLO_GROW(p, scales, count, scale_capacity) ||
        !HLO_GROW(p, zero_points, count, zero_capacity) ||
        !parse_scale(p, &scales[count], &zero_points[count])) {
      return false;
    }
    ++count;
  } while (many && hlo_accept(p, ','));
  quant->scales = scales;
  quant->zero_points = zero_points;
  quant->count = count;
  return !many || hlo_expect(p, '}');
}

static bool parse_quant(hlo_parser_t* p, hlo_quant_t* quant) {
  bool is_index;
  quant->axis = -1;
  hlo_lex_advance(p);
  if (!hlo_expect(p, '<') || !parse_storage(p, quant) || !hlo_expect(p, ':')) return false;
  const char* at = p->token.start;
  if (!hlo_parse_scalar_type(p, &quant->expressed, &is_index) ||
      !hlo_dtype_is_float(quant->expressed)) {
    return hlo_parse_fault(p, at, "expected the float type that a quantized type expresses");
  }
  if (hlo_accept(p, ':')) {
    int64_t axis;
    at = p->token.start;
    if (hlo_at(p, '{')) {
      return hlo_parse_fault(p, at, "sub-channel quantization is not supported");
    }
    if (!hlo_parse_int(p, &axis)) return false;
    if (axis < 0 || axis >= HLO_RANK_MAX) return hlo_parse_fault(p, at, "axis out of range");
    quant->axis = (int32_t)axis;
  }
  if (!hlo_expect(p, ',')) return false;
  if ((quant->axis >= 0) != hlo_at(p, '{')) {
    return hlo_parse_expected(p, quant->axis >= 0 ? "'{' and a scale for each slice" : "one scale");
  }
  return parse_scales(p, quant) && hlo_expect(p, '>');
}

// ---- Tensors

// Parses "2x?x" character by character, because the lexer would read x4xf32 as a name. Leaves the
// element type as the current token.
static bool parse_dims(hlo_parser_t* p, hlo_type_t* type, int64_t dims[HLO_RANK_MAX]) {
  const char* c = p->token.start;
  if (hlo_at(p, '*')) return hlo_parse_fault(p, c, "unranked tensors are not supported");
  while (c < p->end && ((*c >= '0' && *c <= '9') || *c == '?')) {
    if (type->rank == HLO_RANK_MAX) {
      return hlo_parse_fault(p, c, "rank above %d", HLO_RANK_MAX);
    }
    const char* start = c;
    uint64_t size = 0;
    if (*c == '?') {
      ++c;
      dims[type->rank++] = HLO_DIM_DYNAMIC;
    } else {
      while (c < p->end && *c >= '0' && *c <= '9') ++c;
      if (!hlo_text_to_u64(start, c, &size) || size > INT64_MAX) {
        return hlo_parse_fault(p, start, "dimension does not fit 63 bits");
      }
      dims[type->rank++] = (int64_t)size;
    }
    while (c < p->end && *c == ' ') ++c;
    if (c == p->end || *c != 'x') return hlo_parse_fault(p, c, "expected 'x' after a dimension");
    for (++c; c < p->end && *c == ' '; ++c) {
    }
  }
  hlo_lex_seek(p, c);
  type->dims = dims;
  return true;
}

static bool parse_element(hlo_parser_t* p, hlo_type_t* type, hlo_quant_t* quant) {
  const char* at = p->token.start;
  if (hlo_at(p, HLO_TOKEN_BANG)) {
    if (hlo_text_same("!quant.uniform", at, p->token.length)) {
      if (!parse_quant(p, quant)) return false;
      type->quant = quant;
      type->dtype = quant->storage;
      return true;
    }
    const hlo_type_t* element = hlo_parse_alias(p, &p->types);
    if (!element) return false;
    if (element->kind != HLO_TYPE_TENSOR || element->rank) {
      return hlo_parse_fault(p, at, "not an element type");
    }
    type->dtype = element->dtype;
    type->quant = element->quant;
    type->is_index = element->is_index;
    return true;
  }
  if (hlo_parse_scalar_type(p, &type->dtype, &type->is_index)) return true;
  if (p->token.start != at) return false;  // already reported
  return hlo_parse_fault(p, at, "unknown element type '%.*s'", (int)p->token.length, at);
}

// Returns the list in the text of a bounds encoding, "3, ?>", or NULL for another encoding.
static const char* bounds_list(const hlo_attr_t* attr) {
  static const char* const kForms[] = {"#stablehlo.bounds<", "#mhlo.bounds<",
                                       "#stablehlo.type_extensions<bounds = [",
                                       "#mhlo.type_extensions<bounds = ["};
  for (size_t i = 0; attr->kind == HLO_ATTR_KIND_OPAQUE && i < sizeof kForms / sizeof *kForms;
       ++i) {
    size_t length = strlen(kForms[i]);
    if (strncmp(attr->text, kForms[i], length) == 0) return attr->text + length;
  }
  return NULL;
}

static bool parse_bounds(hlo_parser_t* p, const char* at, const char* list, hlo_type_t* type,
                         int64_t bounds[HLO_RANK_MAX]) {
  uint32_t count = 0;
  for (const char* c = list; *c && *c != ']' && *c != '>'; ++c) {
    if (*c == ',' || *c == ' ') continue;
    const char* start = c;
    uint64_t value = 0;
    bool known = *c != '?';
    while (known && c[1] >= '0' && c[1] <= '9') ++c;
    if (count == type->rank ||
        (known && (!hlo_text_to_u64(start, c + 1, &value) || value > INT64_MAX))) {
      return hlo_parse_fault(p, at, "bounds do not match the tensor");
    }
    bounds[count++] = known ? (int64_t)value : HLO_DIM_DYNAMIC;
  }
  if (count != type->rank) {
    return hlo_parse_fault(p, at, "%u bounds for a tensor of rank %u", count, type->rank);
  }
  type->bounds = bounds;
  return true;
}

static const hlo_type_t* parse_shaped(hlo_parser_t* p, hlo_type_kind_t kind) {
  int64_t dims[HLO_RANK_MAX], bounds[HLO_RANK_MAX], count;
  hlo_quant_t quant;
  hlo_type_t type = {.kind = kind};
  const char* start = p->token.start;
  hlo_lex_advance(p);
  if (!hlo_at(p, '<')) {
    hlo_expect(p, '<');
    return NULL;
  }
  hlo_lex_advance(p);
  if (!parse_dims(p, &type, dims) || !parse_element(p, &type, &quant)) return NULL;
  if (hlo_accept(p, ',')) {
    const char* at = p->token.start;
    const hlo_attr_t* encoding = hlo_parse_any_attr(p);
    if (!encoding) return NULL;
    const char* list = bounds_list(encoding);
    if (!list) {
      type.encoding = encoding;
    } else if (!parse_bounds(p, at, list, &type, bounds)) {
      return NULL;
    }
  }
  if (!hlo_expect(p, '>')) return NULL;
  bool is_static = true;
  for (uint32_t i = 0; i < type.rank; ++i) is_static &= dims[i] >= 0;
  if (is_static && !hlo_dims_element_count(type.rank, dims, &count)) {
    hlo_parse_fault(p, start, "a tensor of more than 2^63 elements");
    return NULL;
  }
  return hlo_type_intern(p->module, &type);
}

// ---- All types

bool hlo_parse_type_list(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count) {
  const hlo_type_t** types = NULL;
  uint32_t count = 0, capacity = 0;
  do {
    if (!HLO_GROW(p, types, count, capacity)) return false;
    types[count] = hlo_parse_any_type(p);
    if (!types[count++]) return false;
  } while (hlo_accept(p, ','));
  *out_types = types;
  *out_count = count;
  return true;
}

bool hlo_parse_type_parens(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count) {
  *out_types = NULL;
  *out_count = 0;
  if (!hlo_expect(p, '(')) return false;
  if (hlo_accept(p, ')')) return true;
  return hlo_parse_type_list(p, out_types, out_count) && hlo_expect(p, ')');
}

bool hlo_parse_result_types(hlo_parser_t* p, const hlo_type_t*** out_types, uint32_t* out_count) {
  if (hlo_at(p, '(')) return hlo_parse_type_parens(p, out_types, out_count);
  uint32_t capacity = 0;
  const hlo_type_t** types = NULL;
  if (!HLO_GROW(p, types, 0, capacity)) return false;
  types[0] = hlo_parse_any_type(p);
  *out_types = types;
  *out_count = 1;
  return types[0] != NULL;
}

static const hlo_type_t* parse_function(hlo_parser_t* p) {
  const hlo_type_t **inputs, **results;
  uint32_t input_count, result_count;
  if (!hlo_parse_type_parens(p, &inputs, &input_count) || !hlo_expect(p, HLO_TOKEN_ARROW) ||
      !hlo_parse_result_types(p, &results, &result_count)) {
    return NULL;
  }
  return hlo_type_function(p->module, input_count, inputs, result_count, results);
}

static const hlo_type_t* parse_group(hlo_parser_t* p, bool is_future) {
  const hlo_type_t** types = NULL;
  uint32_t count = 0;
  hlo_lex_advance(p);
  if (!hlo_expect(p, '<')) return NULL;
  if (!hlo_at(p, '>') && !hlo_parse_type_list(p, &types, &count)) return NULL;
  if (!hlo_expect(p, '>')) return NULL;
  return is_future ? hlo_type_future(p->module, count, types)
                   : hlo_type_tuple(p->module, count, types);
}

static const hlo_type_t* parse_bang(hlo_parser_t* p) {
  const char* name = p->token.start;
  size_t length = p->token.length;
  if (hlo_text_same("!stablehlo.token", name, length) ||
      hlo_text_same("!mhlo.token", name, length)) {
    hlo_lex_advance(p);
    return hlo_type_token(p->module);
  }
  if (hlo_text_same("!stablehlo.future", name, length)) return parse_group(p, true);
  if (hlo_text_same("!quant.uniform", name, length)) {  // only an alias may name it
    hlo_quant_t quant;
    if (!parse_quant(p, &quant)) return NULL;
    return hlo_type_intern(
        p->module, &(hlo_type_t){.kind = HLO_TYPE_TENSOR, .dtype = quant.storage, .quant = &quant});
  }
  return hlo_parse_alias(p, &p->types);
}

static const hlo_type_t* parse_type(hlo_parser_t* p) {
  if (hlo_at(p, '(')) return parse_function(p);
  if (hlo_at(p, HLO_TOKEN_BANG)) return parse_bang(p);
  if (hlo_at_word(p, "tensor")) return parse_shaped(p, HLO_TYPE_TENSOR);
  if (hlo_at_word(p, "memref")) return parse_shaped(p, HLO_TYPE_BUFFER);
  if (hlo_at_word(p, "tuple")) return parse_group(p, false);
  if (hlo_accept_word(p, "none")) return hlo_type_none(p->module);
  hlo_dtype_t dtype;
  bool is_index;
  const char* at = p->token.start;
  if (hlo_parse_scalar_type(p, &dtype, &is_index)) {
    hlo_parse_fault(p, at, "values are tensors: write tensor<%s>",
                    is_index ? "index" : hlo_dtype_info(dtype)->mlir_name);
  } else if (p->token.start == at) {
    hlo_parse_expected(p, "a type");
  }
  return NULL;
}

const hlo_type_t* hlo_parse_any_type(hlo_parser_t* p) {
  const hlo_type_t* type = hlo_parse_enter(p) ? parse_type(p) : NULL;
  --p->depth;
  return type;
}
