// SPDX-License-Identifier: Apache-2.0
// Queries on the op table (ops.def) and the attribute table (attrs.def).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hlo_op {
#define HLO_OP(id, ...) HLO_OP_##id,
#include "ir/ops.def"
#undef HLO_OP
  HLO_OP_COUNT
} hlo_op_t;

typedef enum hlo_attr_id {
#define HLO_ATTR(id, form) HLO_ATTR_##id,
#include "ir/attrs.def"
#undef HLO_ATTR
  HLO_ATTR_COUNT
} hlo_attr_id_t;

typedef enum hlo_attr_form {
  HLO_ATTR_FORM_I64,
  HLO_ATTR_FORM_I32,
  HLO_ATTR_FORM_U64,
  HLO_ATTR_FORM_BOOL,
  HLO_ATTR_FORM_F32,
  HLO_ATTR_FORM_STRING,
  HLO_ATTR_FORM_SYMBOL,
  HLO_ATTR_FORM_SYMBOLS,
  HLO_ATTR_FORM_TYPE,
  HLO_ATTR_FORM_UNIT,
  HLO_ATTR_FORM_DICT,
  HLO_ATTR_FORM_ANY,
  HLO_ATTR_FORM_LITERAL,
  HLO_ATTR_FORM_DIMS,
  HLO_ATTR_FORM_BOOLS,
  HLO_ATTR_FORM_PAIRS,
  HLO_ATTR_FORM_MATRIX,
  HLO_ATTR_FORM_LAYOUTS,
  HLO_ATTR_FORM_ALIASES,
  HLO_ATTR_FORM_PRECISIONS,
  HLO_ATTR_FORM_ENUM_COMPARISON_DIRECTION,
  HLO_ATTR_FORM_ENUM_COMPARISON_TYPE,
  HLO_ATTR_FORM_ENUM_FFT_TYPE,
  HLO_ATTR_FORM_ENUM_RNG_ALGORITHM,
  HLO_ATTR_FORM_ENUM_RNG_DISTRIBUTION,
  HLO_ATTR_FORM_ENUM_TRANSPOSE,
} hlo_attr_form_t;

enum hlo_trait_bit {
#define HLO_TRAIT(name, doc) HLO_TRAIT_BIT_##name,
#include "ir/traits.def"
  HLO_TRAIT_COUNT
};

/// Facts about ops (traits.def), combined with |.
typedef enum hlo_trait {
#define HLO_TRAIT(name, doc) HLO_TRAIT_##name = 1 << HLO_TRAIT_BIT_##name,
#include "ir/traits.def"
} hlo_trait_t;

/// Kinds of elements that an op accepts.
typedef enum hlo_element_kind {
  HLO_ELEMENT_PRED = 1 << 0,
  HLO_ELEMENT_INT = 1 << 1,
  HLO_ELEMENT_FLOAT = 1 << 2,
  HLO_ELEMENT_COMPLEX = 1 << 3,
  HLO_ELEMENT_QUANT = 1 << 4,
  HLO_ELEMENT_ANY = (1 << 5) - 1,
} hlo_element_kind_t;

/// Classes by which the time of an op is estimated (traits.def).
typedef enum hlo_op_cost {
#define HLO_COST(name, vector, interpreted, ns, doc) HLO_COST_##name,
#include "ir/traits.def"
  HLO_COST_COUNT
} hlo_op_cost_t;

/// Name and meaning of a trait.
typedef struct hlo_op_term {
  const char *name, *doc;
} hlo_op_term_t;

/// A cost class, and what one evaluation (work.h) costs: vector instructions of generated loops,
/// operations of the interpreter, nanoseconds of one core.
typedef struct hlo_op_cost_info {
  const char *name, *doc;
  double vector, interpreted, ns;
} hlo_op_cost_info_t;

typedef enum hlo_infer_kind {
  HLO_INFER_SAME,
  HLO_INFER_BROADCAST,
  HLO_INFER_CUSTOM,
  HLO_INFER_EXPLICIT,
  HLO_INFER_NONE,
} hlo_infer_kind_t;

typedef enum hlo_arity { HLO_ARITY_ONE, HLO_ARITY_VAR, HLO_ARITY_OPT } hlo_arity_t;

/// An operand or result of an op.
typedef struct hlo_port {
  const char* name;
  hlo_arity_t arity;
} hlo_port_t;

/// An attribute of an op.
typedef struct hlo_op_attr {
  hlo_attr_id_t id;
  bool required;
} hlo_op_attr_t;

typedef struct hlo_op_info {
  const char* name;      // MLIR spelling, "stablehlo.add"
  const char* hlo_name;  // HLO spelling or ""
  const char* id;        // spelling in ops.def
  hlo_infer_kind_t infer;
  uint32_t traits;   // of hlo_trait_t
  uint8_t elements;  // of hlo_element_kind_t
  hlo_op_cost_t cost;
  const hlo_port_t* operands;  // ended by a NULL name
  const hlo_port_t* results;
  const hlo_op_attr_t* attrs;
  uint8_t operand_count, result_count, attr_count;
  int8_t region_count;  // -1: any number
  const char* doc;
} hlo_op_info_t;

const hlo_op_info_t* hlo_op_info(hlo_op_t op);
/// Returns true if the op has at least one of the traits (hlo_trait_t, combined with |).
bool hlo_op_has(hlo_op_t op, uint32_t traits);
/// Returns the name and meaning of trait `bit`, below HLO_TRAIT_COUNT.
const hlo_op_term_t* hlo_trait_term(uint32_t bit);
const hlo_op_cost_info_t* hlo_op_cost_info(hlo_op_cost_t cost);
/// Returns HLO_OP_COUNT if the name is unknown.
hlo_op_t hlo_op_from_name(const char* name, size_t length);
hlo_op_t hlo_op_from_hlo_name(const char* name, size_t length);

const char* hlo_attr_name(hlo_attr_id_t id);
hlo_attr_form_t hlo_attr_form(hlo_attr_id_t id);
/// Returns HLO_ATTR_COUNT if the name is unknown.
hlo_attr_id_t hlo_attr_from_name(const char* name, size_t length);
/// Returns the slot of the attribute in the op's row, or -1.
int hlo_op_attr_slot(hlo_op_t op, hlo_attr_id_t id);

typedef struct hlo_struct_field {
  const char* name;  // inside the struct
  hlo_attr_id_t id;  // of the op
} hlo_struct_field_t;

/// An attribute such as `dimension_numbers = #stablehlo.gather<...>`, stored as one attribute per
/// field.
typedef struct hlo_struct_attr {
  const char* name;      // of the op's attribute in text
  const char* mnemonic;  // "stablehlo.gather"
  bool all_fields;       // every field is printed and required, in this order
  uint8_t field_count;
  const hlo_struct_field_t* fields;  // an op that has the first field has the struct
} hlo_struct_attr_t;
/// Returns the struct attribute that contains `id` of an op, or NULL.
const hlo_struct_attr_t* hlo_op_struct_of(hlo_op_t op, hlo_attr_id_t id);
/// Returns a struct attribute by its mnemonic, or NULL.
const hlo_struct_attr_t* hlo_struct_by_mnemonic(const char* mnemonic, size_t length);
