// SPDX-License-Identifier: Apache-2.0
// Types and attributes: immutable values interned in a module, so that equality within a module is
// pointer equality.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"
#include "ir/literal.h"

typedef struct hlo_module hlo_module_t;
typedef struct hlo_type hlo_type_t;
typedef struct hlo_attr hlo_attr_t;

/// A dimension whose size is known only at run time.
#define HLO_DIM_DYNAMIC INT64_MIN

typedef enum hlo_type_kind {
  HLO_TYPE_TENSOR,
  HLO_TYPE_TOKEN,
  HLO_TYPE_TUPLE,
  HLO_TYPE_FUNCTION,
  HLO_TYPE_FUTURE,  // result of async_start
  HLO_TYPE_BUFFER,  // memref-like, of a tensor's shape
  HLO_TYPE_NONE,
} hlo_type_kind_t;

/// Parameters of a quantized element type; the tensor's dtype is the storage type.
typedef struct hlo_quant {
  hlo_dtype_t storage;
  hlo_dtype_t expressed;
  int64_t storage_min, storage_max;
  int32_t axis;    // -1: per tensor
  uint32_t count;  // of scales and zero_points
  const double* scales;
  const int64_t* zero_points;
} hlo_quant_t;

struct hlo_type {
  hlo_type_kind_t kind;
  hlo_dtype_t dtype;  // tensor, buffer
  bool is_index;      // tensor of MLIR `index` (dtype S64)
  uint32_t rank;
  const int64_t* dims;         // HLO_DIM_DYNAMIC where unknown
  const int64_t* bounds;       // NULL, or per dimension: upper bound of a dynamic dim, else
                               // HLO_DIM_DYNAMIC
  const hlo_quant_t* quant;    // NULL: plain elements
  const hlo_attr_t* encoding;  // another tensor encoding, carried unchanged; or NULL
  uint32_t element_count;      // tuple, future: elements; function: inputs then results
  uint32_t input_count;        // function
  const hlo_type_t* const* elements;
  uint64_t hash;
};

/// Return interned types; NULL when memory is exhausted, which is sticky in the module (see
/// hlo_module_status()).
const hlo_type_t* hlo_type_tensor(hlo_module_t* module, hlo_dtype_t dtype, uint32_t rank,
                                  const int64_t* dims);
/// Returns a tensor type with every detail of `fields` (kind is TENSOR or BUFFER).
const hlo_type_t* hlo_type_intern(hlo_module_t* module, const hlo_type_t* fields);
const hlo_type_t* hlo_type_token(hlo_module_t* module);
const hlo_type_t* hlo_type_none(hlo_module_t* module);
const hlo_type_t* hlo_type_tuple(hlo_module_t* module, uint32_t count,
                                 const hlo_type_t* const* elements);
const hlo_type_t* hlo_type_future(hlo_module_t* module, uint32_t count,
                                  const hlo_type_t* const* elements);
const hlo_type_t* hlo_type_function(hlo_module_t* module, uint32_t input_count,
                                    const hlo_type_t* const* inputs, uint32_t result_count,
                                    const hlo_type_t* const* results);
/// Returns the same shape with another element type, without quantization.
const hlo_type_t* hlo_type_with_dtype(hlo_module_t* module, const hlo_type_t* type,
                                      hlo_dtype_t dtype);
/// Returns the same elements (dtype, quantization) with other dims, without bounds.
const hlo_type_t* hlo_type_with_dims(hlo_module_t* module, const hlo_type_t* type, uint32_t rank,
                                     const int64_t* dims);

/// Returns the same with another size of one dimension.
const hlo_type_t* hlo_type_with_dim(hlo_module_t* module, const hlo_type_t* type, uint32_t dim,
                                    int64_t size);

/// Returns true if a list of dimensions contains `item`; *out_at (may be NULL) is its position.
static inline bool hlo_dims_contain(const int64_t* list, uint32_t count, int64_t item,
                                    uint32_t* out_at) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] != item) continue;
    if (out_at) *out_at = i;
    return true;
  }
  return false;
}

/// Returns true if both have the same dims, whatever the elements.
static inline bool hlo_type_same_dims(const hlo_type_t* a, const hlo_type_t* b) {
  bool is_same = a->rank == b->rank;
  for (uint32_t i = 0; i < a->rank && is_same; ++i) is_same = a->dims[i] == b->dims[i];
  return is_same;
}
static inline bool hlo_type_is_tensor(const hlo_type_t* t) {
  return t->kind == HLO_TYPE_TENSOR;
}
/// Returns true for a tensor without unknown dims.
bool hlo_type_is_static(const hlo_type_t* type);
/// Returns the elements of a static tensor type (interning checks that they fit int64); -1 if
/// dynamic.
int64_t hlo_type_element_count(const hlo_type_t* type);
/// Returns the bytes of a static tensor type in host memory; SIZE_MAX if dynamic or overflowing.
size_t hlo_type_size_bytes(const hlo_type_t* type);
/// Returns true if types, of one or two modules, have equal structure.
bool hlo_type_equal(const hlo_type_t* a, const hlo_type_t* b);

typedef enum hlo_attr_kind {
  HLO_ATTR_KIND_UNIT,
  HLO_ATTR_KIND_BOOL,
  HLO_ATTR_KIND_INT,      // i, dtype
  HLO_ATTR_KIND_FLOAT,    // f, dtype
  HLO_ATTR_KIND_STRING,   // text
  HLO_ATTR_KIND_SYMBOL,   // text; nested references joined by "::"
  HLO_ATTR_KIND_TYPE,     // type
  HLO_ATTR_KIND_INTS,     // values; cols 0: a 1-D array, else a 2-D row-major matrix
  HLO_ATTR_KIND_LITERAL,  // literal with its tensor type
  HLO_ATTR_KIND_ENUM,     // enum_kind, i
  HLO_ATTR_KIND_ARRAY,    // items
  HLO_ATTR_KIND_DICT,     // keys and items, sorted by key
  HLO_ATTR_KIND_OPAQUE,   // text: an attribute of a dialect that is only carried, as MLIR prints it
} hlo_attr_kind_t;

typedef enum hlo_enum_kind {
#define HLO_ENUM(kind, dialect, mnemonic) HLO_ENUM_##kind,
#include "ir/enums.def"
  HLO_ENUM_KIND_COUNT
} hlo_enum_kind_t;

/// Cases as HLO_<KIND>_<CASE>, e.g. HLO_COMPARISON_DIRECTION_LT.
enum hlo_enum_cases {
#define HLO_ENUM_CASE(kind, name, value) HLO_##kind##_##name = value,
#include "ir/enums.def"
};

struct hlo_attr {
  hlo_attr_kind_t kind;
  hlo_dtype_t dtype;  // INT, FLOAT; INTS: element width as written (S64, S32, PRED ...)
  bool is_index;      // INT of MLIR type `index`; INTS of an `index` vector
  hlo_enum_kind_t enum_kind;
  int64_t i;
  double f;
  const char* text;  // zero-terminated, may contain zeros (STRING)
  uint32_t text_length;
  const hlo_type_t* type;  // TYPE, LITERAL
  hlo_literal_t* literal;
  uint32_t count;  // INTS: all values; ARRAY, DICT: items
  uint32_t cols;   // INTS as a matrix: columns; rows = count / cols (see rows)
  uint32_t rows;
  const int64_t* values;
  const hlo_attr_t* const* items;
  const char* const* keys;  // DICT; interned strings
  uint64_t hash;
};

const hlo_attr_t* hlo_attr_unit(hlo_module_t* module);
const hlo_attr_t* hlo_attr_bool(hlo_module_t* module, bool value);
const hlo_attr_t* hlo_attr_int(hlo_module_t* module, hlo_dtype_t dtype, int64_t value);
const hlo_attr_t* hlo_attr_float(hlo_module_t* module, hlo_dtype_t dtype, double value);
const hlo_attr_t* hlo_attr_string(hlo_module_t* module, const char* text, size_t length);
const hlo_attr_t* hlo_attr_symbol(hlo_module_t* module, const char* text, size_t length);
const hlo_attr_t* hlo_attr_opaque(hlo_module_t* module, const char* text, size_t length);
const hlo_attr_t* hlo_attr_type(hlo_module_t* module, const hlo_type_t* type);
const hlo_attr_t* hlo_attr_ints(hlo_module_t* module, uint32_t count, const int64_t* values);
/// Returns a matrix (PAIRS, MATRIX forms); cols may be 0 only when rows is 0 or rows are empty.
const hlo_attr_t* hlo_attr_matrix(hlo_module_t* module, uint32_t rows, uint32_t cols,
                                  const int64_t* values);
const hlo_attr_t* hlo_attr_bools(hlo_module_t* module, uint32_t count, const int64_t* values);
/// Returns a literal attribute; retains `literal` until the module is destroyed.
const hlo_attr_t* hlo_attr_literal(hlo_module_t* module, const hlo_type_t* type,
                                   hlo_literal_t* literal);
const hlo_attr_t* hlo_attr_enum(hlo_module_t* module, hlo_enum_kind_t kind, int64_t value);
const hlo_attr_t* hlo_attr_array(hlo_module_t* module, uint32_t count,
                                 const hlo_attr_t* const* items);
/// Returns a dictionary. Keys need not be sorted or interned; the last value of a repeated key
/// wins.
const hlo_attr_t* hlo_attr_dict(hlo_module_t* module, uint32_t count, const char* const* keys,
                                const hlo_attr_t* const* items);
/// Interns an attribute with the given fields.
const hlo_attr_t* hlo_attr_intern(hlo_module_t* module, const hlo_attr_t* fields);
/// Returns the item under `key` of a DICT (dict may be NULL), or NULL.
const hlo_attr_t* hlo_attr_dict_get(const hlo_attr_t* dict, const char* key);
/// Returns a copy of dict (may be NULL) with `key` set to `value`; a NULL value removes it.
const hlo_attr_t* hlo_attr_dict_with(hlo_module_t* module, const hlo_attr_t* dict, const char* key,
                                     const hlo_attr_t* value);
/// Returns true if attributes, of one or two modules, have equal structure.
bool hlo_attr_equal(const hlo_attr_t* a, const hlo_attr_t* b);
/// Interns a type or attribute of another module in `module`.
const hlo_type_t* hlo_type_import(hlo_module_t* module, const hlo_type_t* type);
const hlo_attr_t* hlo_attr_import(hlo_module_t* module, const hlo_attr_t* attr);

/// Returns the name of an enum case, "LT"; NULL when out of range. hlo_enum_from_name() returns -1
/// when the name is unknown.
const char* hlo_enum_case_name(hlo_enum_kind_t kind, int64_t value);
int64_t hlo_enum_case_value(hlo_enum_kind_t kind, const char* name, size_t length);
const char* hlo_enum_mnemonic(hlo_enum_kind_t kind);
