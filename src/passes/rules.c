// SPDX-License-Identifier: Apache-2.0
// Compiles and applies the rules of rules.def (see rules.h).
#include "passes/rules.h"

#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "passes/build.h"
#include "passes/constants.h"

// ---- guards

static bool guard_none(HLO_UNUSED hlo_rule_match_t* m) {
  return true;
}

static void set_ints(hlo_rule_match_t* m, hlo_attr_id_t id, uint32_t count, const int64_t* values) {
  m->attrs[m->attr_count++] = (hlo_named_attr_t){id, hlo_attr_ints(m->module, count, values)};
}

static const int64_t* ints_of(const hlo_rule_match_t* m, uint32_t node, hlo_attr_id_t id,
                              uint32_t* out_count) {
  return hlo_node_attr_ints(m->nodes[node], id, out_count);
}

// The middle type represents every value of the first, and does not turn wrap-around into
// saturation.
static bool guard_lossless_middle(hlo_rule_match_t* m) {
  hlo_dtype_t from = hlo_node_operand_type(m->nodes[1], 0)->dtype;
  hlo_dtype_t middle = m->nodes[1]->results[0].type->dtype;
  hlo_dtype_t to = m->nodes[0]->results[0].type->dtype;
  if (!hlo_dtype_convert_is_lossless(from, middle)) return false;
  return hlo_dtype_is_integer(middle) || !hlo_dtype_is_integer(from) || !hlo_dtype_is_integer(to);
}

static bool is_identity(const int64_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] != i) return false;
  }
  return true;
}

static bool guard_identity_permutation(hlo_rule_match_t* m) {
  uint32_t count;
  const int64_t* permutation = ints_of(m, 0, HLO_ATTR_permutation, &count);
  return is_identity(permutation, count);
}

static bool guard_identity_broadcast(hlo_rule_match_t* m) {
  uint32_t count;
  const int64_t* dims = ints_of(m, 0, HLO_ATTR_broadcast_dimensions, &count);
  return is_identity(dims, count);
}

// Sets result[i] = through[first[i]]; verified ops have matching ranks.
static bool compose(hlo_rule_match_t* m, hlo_attr_id_t id, const int64_t* first,
                    uint32_t first_count, const int64_t* through, uint32_t through_count) {
  int64_t composed[HLO_RANK_MAX];
  if (first_count > HLO_RANK_MAX) return false;
  for (uint32_t i = 0; i < first_count; ++i) {
    if (first[i] < 0 || first[i] >= through_count) return false;
    composed[i] = through[first[i]];
  }
  set_ints(m, id, first_count, composed);
  return true;
}

static bool guard_compose_permutations(hlo_rule_match_t* m) {
  uint32_t outer_count, inner_count;
  const int64_t* outer = ints_of(m, 0, HLO_ATTR_permutation, &outer_count);
  const int64_t* inner = ints_of(m, 1, HLO_ATTR_permutation, &inner_count);
  return compose(m, HLO_ATTR_permutation, outer, outer_count, inner, inner_count);
}

static bool guard_compose_broadcasts(hlo_rule_match_t* m) {
  uint32_t outer_count, inner_count;
  const int64_t* outer = ints_of(m, 0, HLO_ATTR_broadcast_dimensions, &outer_count);
  const int64_t* inner = ints_of(m, 1, HLO_ATTR_broadcast_dimensions, &inner_count);
  return compose(m, HLO_ATTR_broadcast_dimensions, inner, inner_count, outer, outer_count);
}

// Element i of the outer slice is element start1 + (start0 + i * stride0) * stride1.
static bool guard_compose_slices(hlo_rule_match_t* m) {
  static const hlo_attr_id_t ids[] = {HLO_ATTR_start_indices, HLO_ATTR_limit_indices,
                                      HLO_ATTR_strides};
  const int64_t *outer[3], *inner[3];
  uint32_t rank = m->nodes[0]->results[0].type->rank;
  const int64_t* dims = m->nodes[0]->results[0].type->dims;
  for (uint32_t k = 0; k < 3; ++k) {
    uint32_t outer_count, inner_count;
    outer[k] = ints_of(m, 0, ids[k], &outer_count);
    inner[k] = ints_of(m, 1, ids[k], &inner_count);
    if (outer_count != rank || inner_count != rank) return false;
  }
  int64_t composed[3][HLO_RANK_MAX];
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t start, stride, span;
    if (dims[i] < 0 || __builtin_mul_overflow(outer[0][i], inner[2][i], &start) ||
        __builtin_add_overflow(start, inner[0][i], &start) ||
        __builtin_mul_overflow(outer[2][i], inner[2][i], &stride) ||
        __builtin_mul_overflow(dims[i] > 0 ? dims[i] - 1 : 0, stride, &span)) {
      return false;
    }
    composed[0][i] = dims[i] > 0 ? start : 0;
    composed[1][i] = dims[i] > 0 ? start + span + 1 : 0;
    composed[2][i] = stride;
  }
  for (uint32_t k = 0; k < 3; ++k) set_ints(m, ids[k], rank, composed[k]);
  return true;
}

static bool guard_no_padding(hlo_rule_match_t* m) {
  static const hlo_attr_id_t ids[] = {HLO_ATTR_edge_padding_low, HLO_ATTR_edge_padding_high,
                                      HLO_ATTR_interior_padding};
  for (uint32_t k = 0; k < 3; ++k) {
    uint32_t count;
    const int64_t* values = ints_of(m, 0, ids[k], &count);
    for (uint32_t i = 0; i < count; ++i) {
      if (values[i] != 0) return false;
    }
  }
  return true;
}

static bool guard_unit_dimensions(hlo_rule_match_t* m) {
  uint32_t count;
  const int64_t* reversed = ints_of(m, 0, HLO_ATTR_dimensions, &count);
  const int64_t* dims = m->nodes[0]->results[0].type->dims;
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[reversed[i]] < 0 || dims[reversed[i]] > 1) return false;
  }
  return true;
}

static bool guard_same_dimensions(hlo_rule_match_t* m) {
  return hlo_node_attr(m->nodes[0], HLO_ATTR_dimensions) ==
         hlo_node_attr(m->nodes[1], HLO_ATTR_dimensions);
}

// ---- the table

#define B HLO_RULE_TYPES_B
#define S HLO_RULE_TYPES_S
#define I HLO_RULE_TYPES_I
#define F HLO_RULE_TYPES_F
#define C HLO_RULE_TYPES_C
#define ALL HLO_RULE_TYPES_ALL
static const hlo_rule_t rule_table[] = {
#define HLO_RULE(name, exactness, types, pattern, result, guard) \
  {#name, HLO_RULE_##exactness, types, pattern, result, guard_##guard},
#include "passes/rules.def"
#undef HLO_RULE
};
#undef B
#undef S
#undef I
#undef F
#undef C
#undef ALL

uint32_t hlo_rule_count(void) {
  return sizeof rule_table / sizeof *rule_table;
}

const hlo_rule_t* hlo_rule(uint32_t i) {
  return &rule_table[i];
}

bool hlo_rule_admits(const hlo_rule_t* rule, hlo_dtype_t dtype) {
  if (rule->types & HLO_RULE_TYPES_ALL) return true;
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  switch (info->klass) {
    case HLO_DTYPE_CLASS_BOOL: return rule->types & HLO_RULE_TYPES_B;
    case HLO_DTYPE_CLASS_SIGNED: return rule->types & HLO_RULE_TYPES_S;
    case HLO_DTYPE_CLASS_UNSIGNED: return rule->types & HLO_RULE_TYPES_U;
    case HLO_DTYPE_CLASS_FLOAT:
      if (info->specials == HLO_FLOAT_E8M0) return false;
      if (rule->exactness == HLO_RULE_FAST && info->bits < 16) return false;
      return rule->types & HLO_RULE_TYPES_F;
    case HLO_DTYPE_CLASS_COMPLEX: return rule->types & HLO_RULE_TYPES_C;
    default: return false;
  }
}

// ---- pattern parser

typedef struct reader {
  const char* p;
  hlo_arena_t* arena;
  uint32_t weight;  // two per op, one per number
  uint32_t op_count;
  bool is_bad;
} reader_t;

static void skip_blanks(reader_t* r) {
  while (*r->p == ' ') ++r->p;
}

static hlo_op_t read_op(reader_t* r) {
  char name[64] = "stablehlo.";
  size_t length = strlen(name);
  while ((isalnum((unsigned char)*r->p) || *r->p == '_') && length < sizeof name - 1) {
    name[length++] = *r->p++;
  }
  return hlo_op_from_name(name, length);
}

static bool read_word(reader_t* r, const char* word) {
  size_t length = strlen(word);
  if (strncmp(r->p, word, length) != 0) return false;
  r->p += length;
  return true;
}

static const hlo_term_t* read_term(reader_t* r, int depth) {
  hlo_term_t* term = hlo_arena_alloc_zeroed(r->arena, sizeof *term);
  if (!term || depth > HLO_RULE_NODES) return NULL;
  skip_blanks(r);
  if (*r->p == '(') {
    ++r->p;
    r->weight += 2;
    r->is_bad |= ++r->op_count > HLO_RULE_NODES;
    term->kind = HLO_TERM_OP;
    term->op = read_op(r);
    r->is_bad |= term->op == HLO_OP_COUNT;
    for (skip_blanks(r); *r->p && *r->p != ')'; skip_blanks(r)) {
      if (term->operand_count == 3) return NULL;
      const hlo_term_t* operand = read_term(r, depth + 1);
      if (!operand) return NULL;
      term->operands[term->operand_count++] = operand;
    }
    r->is_bad |= *r->p != ')';
    if (*r->p) ++r->p;
  } else if (read_word(r, "ones")) {
    ++r->weight;
    term->kind = HLO_TERM_ONES;
  } else if (*r->p >= 'a' && *r->p <= 'z') {
    term->kind = HLO_TERM_VARIABLE;
    term->variable = (uint32_t)(*r->p++ - 'a');
  } else {
    char* end;
    ++r->weight;
    term->kind = HLO_TERM_NUMBER;
    term->number = strtod(r->p, &end);
    r->is_bad |= end == r->p;
    if (end == r->p) return NULL;
    r->p = end;
  }
  return term;
}

static hlo_status_t compile(const hlo_rule_t* rule, hlo_arena_t* arena, hlo_compiled_rule_t* out) {
  reader_t pattern = {.p = rule->pattern, .arena = arena};
  reader_t result = {.p = rule->result, .arena = arena};
  out->rule = rule;
  out->pattern = read_term(&pattern, 0);
  out->result = read_term(&result, 0);
  HLO_TRY(hlo_arena_status(arena));
  bool is_good = out->pattern && out->result && !pattern.is_bad && !result.is_bad &&
                 out->pattern->kind == HLO_TERM_OP && !*pattern.p && !*result.p &&
                 result.weight < pattern.weight;
  for (uint32_t i = 0; is_good && i < out->result->operand_count; ++i) {
    is_good = out->result->operands[i]->kind == HLO_TERM_VARIABLE;
  }
  if (is_good) return hlo_ok();
  return hlo_internal_error("rule %s is not well formed: %s -> %s", rule->name, rule->pattern,
                            rule->result);
}

hlo_status_t hlo_rules_compile(const hlo_rule_t* rule, hlo_rule_class_t exactness,
                               hlo_arena_t* arena, hlo_rule_set_t* out_set) {
  memset(out_set, 0, sizeof *out_set);
  // Iterates backwards: each rule is prepended to its list.
  for (uint32_t i = hlo_rule_count(); i-- > 0;) {
    const hlo_rule_t* row = &rule_table[i];
    if (rule ? row != rule : row->exactness > exactness) continue;
    hlo_compiled_rule_t* compiled = hlo_arena_alloc_zeroed(arena, sizeof *compiled);
    if (!compiled) return hlo_arena_status(arena);
    HLO_TRY(compile(row, arena, compiled));
    compiled->next = out_set->by_op[compiled->pattern->op];
    out_set->by_op[compiled->pattern->op] = compiled;
  }
  return hlo_ok();
}

typedef struct shared_set {
  hlo_arena_t arena;
  hlo_rule_set_t rules;
} shared_set_t;

static void destroy_shared(shared_set_t* set) {
  hlo_arena_deinit(&set->arena);
  hlo_mem_free(set);
}

// Created once; freed when the library is unloaded.
static _Atomic(shared_set_t*) shared_sets[HLO_RULE_FAST + 1];
static atomic_uint shared_users;

// An unloaded library must not leave its rules allocated. At the end of a process, threads may
// still compile: they count themselves before they look for a set, so that it is not freed
// (sequentially consistent: either they find no set, or their count is seen here).
__attribute__((destructor)) static void release_shared_sets(void) {
  for (int i = 0; i <= HLO_RULE_FAST; ++i) {
    shared_set_t* set = atomic_exchange(&shared_sets[i], NULL);
    if (set && atomic_load(&shared_users) == 0) destroy_shared(set);
  }
}

static hlo_status_t share_set(hlo_rule_class_t exactness, shared_set_t** out_set) {
  shared_set_t* set = atomic_load(&shared_sets[exactness]);
  if (!set) {
    shared_set_t* made = hlo_mem_alloc_zeroed(sizeof *made);
    if (!made) return hlo_status_out_of_memory(sizeof *made);
    hlo_arena_init(&made->arena, 0);
    hlo_status_t status = hlo_rules_compile(NULL, exactness, &made->arena, &made->rules);
    if (!hlo_status_is_ok(status)) {
      destroy_shared(made);
      return status;
    }
    // publishes our set, or acquires the set of a thread that was first
    if (atomic_compare_exchange_strong(&shared_sets[exactness], &set, made)) {
      set = made;
    } else {
      destroy_shared(made);
    }
  }
  *out_set = set;
  return hlo_ok();
}

hlo_status_t hlo_rules_acquire(hlo_rule_class_t exactness, const hlo_rule_set_t** out_set) {
  atomic_fetch_add(&shared_users, 1);
  shared_set_t* set = NULL;
  hlo_status_t status = share_set(exactness, &set);
  if (!hlo_status_is_ok(status)) {
    hlo_rules_release();
    return status;
  }
  *out_set = &set->rules;
  return hlo_ok();
}

void hlo_rules_release(void) {
  atomic_fetch_sub(&shared_users, 1);
}

// ---- numbers

bool hlo_term_element(const hlo_term_t* term, hlo_dtype_t dtype, void* element) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  memset(element, 0, 16);
  if (term->kind == HLO_TERM_ONES) {
    if (!hlo_dtype_is_integer(dtype) && dtype != HLO_DTYPE_PRED) return false;
    hlo_dtype_store_int64(dtype, element, dtype == HLO_DTYPE_PRED ? 1 : -1);
    return true;
  }
  if (info->klass == HLO_DTYPE_CLASS_NONE) return false;
  hlo_dtype_store_double(info->part, element, term->number);
  double stored = hlo_dtype_load_double(info->part, element);
  return stored == term->number && signbit(stored) == signbit(term->number);
}

static bool matches_number(const hlo_term_t* term, const hlo_value_t* value) {
  const void* splat = hlo_constant_splat(value);
  uint8_t element[16];
  return splat && !value->type->quant && hlo_term_element(term, value->type->dtype, element) &&
         memcmp(splat, element, hlo_dtype_size_bytes(value->type->dtype)) == 0;
}

// ---- matching and building

static bool matches(const hlo_term_t* term, hlo_value_t* value, hlo_rule_match_t* m);

static bool matches_operands(const hlo_term_t* term, const hlo_node_t* node, bool swap,
                             hlo_rule_match_t* m) {
  for (uint32_t i = 0; i < term->operand_count; ++i) {
    if (!matches(term->operands[i], hlo_node_operand(node, swap ? 1 - i : i), m)) return false;
  }
  return true;
}

static bool matches(const hlo_term_t* term, hlo_value_t* value, hlo_rule_match_t* m) {
  if (term->kind == HLO_TERM_VARIABLE) {
    hlo_value_t** bound = &m->values[term->variable];
    if (!*bound) *bound = value;
    return *bound == value;
  }
  if (term->kind != HLO_TERM_OP) return matches_number(term, value);
  const hlo_node_t* node = value->def;
  if (!node || node->op != term->op || node->operand_count != term->operand_count || node->extra ||
      m->node_count == HLO_RULE_NODES) {
    return false;
  }
  m->nodes[m->node_count++] = node;
  hlo_rule_match_t before = *m;
  if (matches_operands(term, node, false, m)) return true;
  *m = before;
  return term->operand_count == 2 && (hlo_op_info(node->op)->traits & HLO_TRAIT_COMMUTATIVE) &&
         matches_operands(term, node, true, m);
}

// Returns the value that replaces `node`; NULL if the rule does not apply after all.
static hlo_value_t* build_term(const hlo_term_t* term, hlo_node_t* node, hlo_rule_match_t* m,
                               hlo_node_t** out_node) {
  const hlo_type_t* type = node->results[0].type;
  if (term->kind == HLO_TERM_VARIABLE) {
    hlo_value_t* value = m->values[term->variable];
    return value->type == type ? value : NULL;
  }
  hlo_value_t* made;
  if (term->kind == HLO_TERM_OP) {
    hlo_value_t* operands[3];
    for (uint32_t i = 0; i < term->operand_count; ++i) {
      operands[i] = m->values[term->operands[i]->variable];
    }
    made = hlo_build_node(node, term->op, type, term->operand_count, operands, m->attr_count,
                          m->attrs);
  } else {
    uint8_t element[16];
    if (!hlo_type_is_plain(type) || hlo_type_element_count(type) == 0 ||
        !hlo_term_element(term, type->dtype, element)) {
      return NULL;
    }
    hlo_literal_t* literal = hlo_build_literal(m->module, type, true);
    if (literal) {
      memcpy(hlo_literal_mutable_data(literal), element, hlo_dtype_size_bytes(type->dtype));
    }
    made = hlo_build_constant(node, type, literal);
  }
  if (made) *out_node = made->def;
  return made;
}

bool hlo_rules_apply(const hlo_rule_set_t* set, hlo_node_t* node, hlo_node_t** out_node) {
  *out_node = NULL;
  if (node->result_count != 1 || !hlo_type_is_tensor(node->results[0].type) ||
      node->results[0].type->quant) {
    return false;
  }
  hlo_dtype_t dtype = node->results[0].type->dtype;
  for (const hlo_compiled_rule_t* c = set->by_op[node->op]; c; c = c->next) {
    hlo_rule_match_t m = {.module = node->parent->module};
    if (!hlo_rule_admits(c->rule, dtype) || !matches(c->pattern, &node->results[0], &m) ||
        !c->rule->guard(&m)) {
      continue;
    }
    hlo_value_t* value = build_term(c->result, node, &m, out_node);
    if (!value) continue;
    hlo_value_replace_uses(&node->results[0], value);
    hlo_node_erase(node);
    return true;
  }
  return false;
}
