// SPDX-License-Identifier: Apache-2.0
// The op table and the attribute table as static data, and their look-ups (see ops.h).
#include "ir/ops.h"

#include <string.h>

// Operands, results and attributes of each op, as arrays that an empty row terminates.
#define ONE(name) {#name, HLO_ARITY_ONE},
#define VAR(name) {#name, HLO_ARITY_VAR},
#define OPT(name) {#name, HLO_ARITY_OPT},
#define REQ(name) {HLO_ATTR_##name, true},
#define OPTA(name) {HLO_ATTR_##name, false},
#define HLO_OP(id, mlir, hlo, infer, traits, elements, cost, operands, results, attrs, regions, \
               doc)                                                                             \
  static const hlo_port_t k_operands_##id[] = {operands{NULL, HLO_ARITY_ONE}};                  \
  static const hlo_port_t k_results_##id[] = {results{NULL, HLO_ARITY_ONE}};                    \
  static const hlo_op_attr_t k_attrs_##id[] = {attrs{HLO_ATTR_COUNT, false}};
#include "ir/ops.def"
#undef HLO_OP
#undef ONE
#undef VAR
#undef OPT
#undef REQ
#undef OPTA

#define PURE HLO_TRAIT_PURE
#define ELEMENTWISE HLO_TRAIT_ELEMENTWISE
#define COMMUTATIVE HLO_TRAIT_COMMUTATIVE
#define ASSOCIATIVE HLO_TRAIT_ASSOCIATIVE
#define TRANSCENDENTAL HLO_TRAIT_TRANSCENDENTAL
#define MOVES HLO_TRAIT_MOVES
#define JOINS HLO_TRAIT_JOINS
#define UPDATES HLO_TRAIT_UPDATES
#define VIEW HLO_TRAIT_VIEW
#define REDUCES HLO_TRAIT_REDUCES
#define CONSTANT HLO_TRAIT_CONSTANT
#define STRUCTURED HLO_TRAIT_STRUCTURED
#define CONTROL HLO_TRAIT_CONTROL
#define TERMINATOR HLO_TRAIT_TERMINATOR
#define EFFECT HLO_TRAIT_EFFECT
#define ORDERS HLO_TRAIT_ORDERS
#define COLLECTIVE HLO_TRAIT_COLLECTIVE
#define HLO_ONLY HLO_TRAIT_HLO_ONLY
#define TENSORS HLO_TRAIT_TENSORS
#define PRED HLO_ELEMENT_PRED
#define INT HLO_ELEMENT_INT
#define FLOAT HLO_ELEMENT_FLOAT
#define COMPLEX HLO_ELEMENT_COMPLEX
#define QUANT HLO_ELEMENT_QUANT
#define ANY HLO_ELEMENT_ANY
#define ROWS(array) (uint8_t)(sizeof(array) / sizeof((array)[0]) - 1)
static const hlo_op_info_t kOps[] = {
#define HLO_OP(id, mlir, hlo, infer, traits, elements, cost, operands, results, attrs, regions, \
               doc)                                                                             \
  {mlir,                                                                                        \
   hlo,                                                                                         \
   #id,                                                                                         \
   HLO_INFER_##infer,                                                                           \
   traits,                                                                                      \
   elements,                                                                                    \
   HLO_COST_##cost,                                                                             \
   k_operands_##id,                                                                             \
   k_results_##id,                                                                              \
   k_attrs_##id,                                                                                \
   ROWS(k_operands_##id),                                                                       \
   ROWS(k_results_##id),                                                                        \
   ROWS(k_attrs_##id),                                                                          \
   regions,                                                                                     \
   doc},
#include "ir/ops.def"
#undef HLO_OP
};

static const hlo_op_info_t kPoison = {.name = "poison",
                                      .hlo_name = "",
                                      .id = "poison",
                                      .infer = HLO_INFER_NONE,
                                      .operands = k_operands_iota,
                                      .results = k_operands_iota,
                                      .attrs = k_attrs_abs,
                                      .doc = "Stands for a node that could not be made."};

static const uint8_t kOpNameLengths[] = {
#define HLO_OP(id, mlir, ...) sizeof mlir - 1,
#include "ir/ops.def"
#undef HLO_OP
};

static const hlo_op_term_t kTraits[] = {
#define HLO_TRAIT(name, doc) {#name, doc},
#include "ir/traits.def"
};

static const hlo_op_cost_info_t kCosts[] = {
#define HLO_COST(name, vector, interpreted, ns, doc) {#name, doc, vector, interpreted, ns},
#include "ir/traits.def"
};

static const struct {
  const char* name;
  hlo_attr_form_t form;
  uint8_t length;  // of the name
} kAttrs[] = {
#define HLO_ATTR(id, form) {#id, HLO_ATTR_FORM_##form, sizeof #id - 1},
#include "ir/attrs.def"
#undef HLO_ATTR
};

const hlo_op_info_t* hlo_op_info(hlo_op_t op) {
  return (unsigned)op < HLO_OP_COUNT ? &kOps[op] : &kPoison;
}

bool hlo_op_has(hlo_op_t op, uint32_t traits) {
  return hlo_op_info(op)->traits & traits;
}

const hlo_op_term_t* hlo_trait_term(uint32_t bit) {
  return &kTraits[bit];
}

const hlo_op_cost_info_t* hlo_op_cost_info(hlo_op_cost_t cost) {
  return &kCosts[cost];
}

static bool names_equal(const char* name, const char* text, size_t length) {
  return strlen(name) == length && memcmp(name, text, length) == 0;  // text may hold zeros
}

hlo_op_t hlo_op_from_name(const char* name, size_t length) {
  for (int i = 0; i < HLO_OP_COUNT; ++i) {
    if (kOpNameLengths[i] != length) continue;
    if (memcmp(kOps[i].name, name, length) == 0) return (hlo_op_t)i;  // names may hold zeros
  }
  return HLO_OP_COUNT;
}

hlo_op_t hlo_op_from_hlo_name(const char* name, size_t length) {
  if (length == 0) return HLO_OP_COUNT;
  for (int i = 0; i < HLO_OP_COUNT; ++i) {
    if (names_equal(kOps[i].hlo_name, name, length)) return (hlo_op_t)i;
  }
  return HLO_OP_COUNT;
}

const char* hlo_attr_name(hlo_attr_id_t id) {
  return kAttrs[id].name;
}

hlo_attr_form_t hlo_attr_form(hlo_attr_id_t id) {
  return kAttrs[id].form;
}

// Compares like memcmp(); of two names with a common prefix the shorter one comes first.
static int compare_names(const char* a, size_t a_length, const char* b, size_t b_length) {
  int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  return order ? order : (a_length > b_length) - (a_length < b_length);
}

hlo_attr_id_t hlo_attr_from_name(const char* name, size_t length) {
  int low = 0, high = HLO_ATTR_COUNT;
  while (low < high) {
    int middle = (low + high) / 2;
    int order = compare_names(name, length, kAttrs[middle].name, kAttrs[middle].length);
    if (order == 0) return (hlo_attr_id_t)middle;
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return HLO_ATTR_COUNT;
}

int hlo_op_attr_slot(hlo_op_t op, hlo_attr_id_t id) {
  const hlo_op_info_t* info = hlo_op_info(op);
  for (int i = 0; i < info->attr_count; ++i) {
    if (info->attrs[i].id == id) return i;
  }
  return -1;
}
