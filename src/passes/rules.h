// SPDX-License-Identifier: Apache-2.0
// Rewrite rules as data (rules.def), and the matcher that applies them.
#pragma once

#include "ir/module.h"

/// From strict to loose; a class includes the rules of the stricter ones.
typedef enum hlo_rule_class { HLO_RULE_BITS, HLO_RULE_VALUE, HLO_RULE_FAST } hlo_rule_class_t;

enum hlo_rule_types {
  HLO_RULE_TYPES_B = 1,
  HLO_RULE_TYPES_S = 2,
  HLO_RULE_TYPES_U = 4,
  HLO_RULE_TYPES_I = HLO_RULE_TYPES_S | HLO_RULE_TYPES_U,
  HLO_RULE_TYPES_F = 8,
  HLO_RULE_TYPES_C = 16,
  HLO_RULE_TYPES_ALL = 32,  // overrides the others
};

enum { HLO_RULE_VARIABLES = 26, HLO_RULE_NODES = 4, HLO_RULE_ATTRS = 5 };

/// A match of a pattern.
typedef struct hlo_rule_match {
  hlo_module_t* module;
  const hlo_node_t* nodes[HLO_RULE_NODES];  // the pattern's ops, outer before inner
  uint32_t node_count;
  hlo_value_t* values[HLO_RULE_VARIABLES];  // by letter
  hlo_named_attr_t attrs[HLO_RULE_ATTRS];   // of the result's op, set by the guard
  uint32_t attr_count;
} hlo_rule_match_t;

/// A row of rules.def.
typedef struct hlo_rule {
  const char* name;
  hlo_rule_class_t exactness;
  uint32_t types;
  const char* pattern;
  const char* result;
  bool (*guard)(hlo_rule_match_t* match);
} hlo_rule_t;

uint32_t hlo_rule_count(void);
const hlo_rule_t* hlo_rule(uint32_t i);
/// Returns true if the rule admits results of this element type.
bool hlo_rule_admits(const hlo_rule_t* rule, hlo_dtype_t dtype);

/// The parts of a pattern or result.
typedef enum hlo_term_kind {
  HLO_TERM_VARIABLE,
  HLO_TERM_NUMBER,
  HLO_TERM_ONES,
  HLO_TERM_OP,
} hlo_term_kind_t;

typedef struct hlo_term {
  hlo_term_kind_t kind;
  hlo_op_t op;
  uint32_t variable;  // 0 for 'a'
  double number;
  uint32_t operand_count;
  const struct hlo_term* operands[3];
} hlo_term_t;

/// Rules ready to match, by the op of their pattern.
typedef struct hlo_compiled_rule {
  const hlo_rule_t* rule;
  const hlo_term_t* pattern;
  const hlo_term_t* result;
  const struct hlo_compiled_rule* next;  // for the same op, in table order
} hlo_compiled_rule_t;

typedef struct hlo_rule_set {
  const hlo_compiled_rule_t* by_op[HLO_OP_COUNT];
} hlo_rule_set_t;

/// Compiles one rule, or (rule NULL) all up to `exactness`, into arena memory.
/// errors : INTERNAL (a malformed rule, or one with a result no smaller than its pattern),
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_rules_compile(const hlo_rule_t* rule, hlo_rule_class_t exactness,
                               hlo_arena_t* arena, hlo_rule_set_t* out_set) HLO_MUST_USE;

/// Returns all rules up to `exactness`, compiled once per process.
/// errors : as above
/// owner  : lent until hlo_rules_release(), which is called once after each success
/// threads: safe
hlo_status_t hlo_rules_acquire(hlo_rule_class_t exactness,
                               const hlo_rule_set_t** out_set) HLO_MUST_USE;
void hlo_rules_release(void);

/// Applies the first matching rule to the only result of `node`. True: a value of the same type has
/// replaced it and the node is erased; *out_node is the new op, or NULL if the rule made none.
bool hlo_rules_apply(const hlo_rule_set_t* set, hlo_node_t* node, hlo_node_t** out_node);

/// Writes the element for a number term; false if the type cannot represent it. `element` has room
/// for 16 bytes.
bool hlo_term_element(const hlo_term_t* term, hlo_dtype_t dtype, void* element);
