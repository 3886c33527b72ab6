// SPDX-License-Identifier: Apache-2.0
// Sharding rules: their builder, text, and those that custom calls bring (see rule.h). The rules of
// the ops are in rule_*.c.
#include "spmd/rule.h"

#include <string.h>

#include "base/strbuf.h"
#include "ir/sharding.h"
#include "spmd/rule_impl.h"

// ---- table

typedef void (*rule_fn_t)(hlo_rule_builder_t* b);

static const rule_fn_t rule_functions[HLO_OP_COUNT] = {
#define HLO_SHARDING_RULE(op, function) [HLO_OP_##op] = hlo_rule_##function,
#define HLO_NO_SHARDING_RULE(op) [HLO_OP_##op] = NULL,
#include "spmd/rules.def"
#undef HLO_SHARDING_RULE
#undef HLO_NO_SHARDING_RULE
};

// Every op has a row; the compiler warns of ops with two.
enum rule_row {
#define HLO_SHARDING_RULE(op, function) RULE_ROW_##op,
#define HLO_NO_SHARDING_RULE(op) RULE_ROW_##op,
#include "spmd/rules.def"
#undef HLO_SHARDING_RULE
#undef HLO_NO_SHARDING_RULE
  RULE_ROW_COUNT
};
_Static_assert((int)RULE_ROW_COUNT == (int)HLO_OP_COUNT, "each op needs a row in rules.def");

// ---- builder

enum { FACTORS_MAX = 64 };  // of a dimension: sizes are below 2^63

uint32_t hlo_rule_add_factor(hlo_rule_builder_t* b, int64_t size, hlo_factor_kind_t kind) {
  if (!HLO_ARENA_GROW(b->arena, b->factors, b->factor_count, b->factor_capacity)) return 0;
  b->factors[b->factor_count] = (hlo_factor_t){.size = size, .kind = kind};
  return b->factor_count++;
}

void hlo_rule_link(hlo_rule_builder_t* b, uint32_t tensor, int64_t dim, uint32_t factor) {
  if (dim < 0 || dim >= hlo_rule_rank(b, tensor) || factor >= b->factor_count) return;
  const uint32_t number = b->first_dims[tensor] + (uint32_t)dim;
  if (b->factors[factor].size == 1 && b->factor_counts[number]) return;
  if (b->factor_counts[number] == FACTORS_MAX) {
    b->is_refused = true;
    return;
  }
  if (!HLO_ARENA_GROW(b->arena, b->links, b->link_count, b->link_capacity)) return;
  b->links[b->link_count++] = (hlo_rule_link_t){number, factor};
  ++b->factor_counts[number];
}

uint32_t hlo_rule_link_all(hlo_rule_builder_t* b, int64_t dim, int64_t size,
                           hlo_factor_kind_t kind) {
  const uint32_t factor = hlo_rule_add_factor(b, size, kind);
  for (uint32_t t = 0; t < b->tensor_count; ++t) hlo_rule_link(b, t, dim, factor);
  return factor;
}

void hlo_rule_add_own(hlo_rule_builder_t* b, uint32_t tensor, int64_t dim, hlo_factor_kind_t kind) {
  hlo_rule_link(b, tensor, dim, hlo_rule_add_factor(b, hlo_rule_size(b, tensor, dim), kind));
}

void hlo_rule_add_same(hlo_rule_builder_t* b, uint32_t count) {
  uint32_t largest = 0;
  for (uint32_t t = 1; t < b->tensor_count; ++t) {
    if (hlo_rule_rank(b, t) > hlo_rule_rank(b, largest)) largest = t;
  }
  for (uint32_t d = 0; d < count; ++d) {
    hlo_rule_link_all(b, d, hlo_rule_size(b, largest, d), HLO_FACTOR_PASS_THROUGH);
  }
}

// Rules that neither divide by sizes nor ask for elements of other devices.
static bool allows_empty(rule_fn_t function) {
  return function == hlo_rule_elementwise || function == hlo_rule_transpose ||
         function == hlo_rule_broadcast_in_dim || function == hlo_rule_pairs ||
         function == hlo_rule_dot_general || function == hlo_rule_reduce;
}

// Numbers the dimensions; returns false for a node with tensors of unknown shape, or without
// elements if the rule does not allow that, or without any dimension, which have no rule.
static bool begin_rule(hlo_rule_builder_t* b, rule_fn_t function) {
  const hlo_node_t* node = b->node;
  const int64_t least = allows_empty(function) ? 0 : 1;
  b->operand_count = node->operand_count;
  b->tensor_count = node->operand_count + node->result_count;
  uint32_t* firsts = hlo_arena_array(b->arena, b->tensor_count + 1, sizeof *firsts);
  if (!firsts) return false;
  uint32_t count = 0;
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    const hlo_type_t* type = hlo_node_type(node, t);
    firsts[t] = count;
    const bool is_tensor = hlo_type_is_tensor(type);
    if (is_tensor && hlo_type_element_count(type) < least) return false;
    count += is_tensor ? type->rank : 0;
  }
  firsts[b->tensor_count] = count;
  b->first_dims = firsts;
  b->factor_counts = hlo_arena_array(b->arena, count, sizeof *b->factor_counts);
  return count && b->factor_counts;
}

// Gives dimensions without a factor one of their own: of size 1 if they are so, else the whole
// dimension, which a device needs.
static void add_missing_factors(hlo_rule_builder_t* b) {
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    for (uint32_t d = 0; d < hlo_rule_rank(b, t); ++d) {
      if (b->factor_counts[b->first_dims[t] + d]) continue;
      const bool is_unit = hlo_rule_size(b, t, d) == 1;
      hlo_rule_add_own(b, t, d, is_unit ? HLO_FACTOR_PASS_THROUGH : HLO_FACTOR_REPLICATED);
    }
  }
}

static hlo_status_t end_rule(hlo_rule_builder_t* b, const hlo_sharding_rule_t** out_rule) {
  const uint32_t dim_count = b->first_dims[b->tensor_count];
  hlo_sharding_rule_t* rule = hlo_arena_alloc(b->arena, sizeof *rule);
  hlo_dim_factors_t* dims = hlo_arena_array(b->arena, dim_count, sizeof *dims);
  uint32_t* numbers = hlo_arena_array(b->arena, b->link_count, sizeof *numbers);
  const hlo_dim_factors_t** tensors = hlo_arena_array(b->arena, b->tensor_count, sizeof *tensors);
  if (!rule || !dims || !numbers || !tensors) return hlo_arena_status(b->arena);
  uint32_t next = 0;
  for (uint32_t d = 0; d < dim_count; ++d) {
    dims[d].factors = &numbers[next];
    next += b->factor_counts[d];
  }
  for (uint32_t i = 0; i < b->link_count; ++i) {
    hlo_dim_factors_t* dim = &dims[b->links[i].dim];
    ((uint32_t*)dim->factors)[dim->count++] = b->links[i].factor;
  }
  for (uint32_t t = 0; t < b->tensor_count; ++t) {
    tensors[t] = hlo_rule_rank(b, t) ? &dims[b->first_dims[t]] : NULL;
  }
  *rule = (hlo_sharding_rule_t){b->factor_count, b->factors, b->tensor_count, tensors, b->reducer};
  *out_rule = rule;
  return hlo_ok();
}

// ---- rules in the text of a custom call

// [i, jk] or {j} of #sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=4} reduction={j}, custom>
typedef struct rule_reader {
  const char *at, *end;
} rule_reader_t;

static bool take_text(rule_reader_t* r, const char* text) {
  while (r->at < r->end && *r->at == ' ') ++r->at;
  const size_t length = strlen(text);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static bool take_number(rule_reader_t* r, int64_t* out) {
  const char* start = r->at;
  *out = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at) {
    if (*out > (INT64_MAX - 9) / 10) return false;
    *out = 10 * *out + (*r->at - '0');
  }
  return r->at > start;
}

// Factors 0 to 17 are i to z, the others z_1, z_2 ...
static bool take_factor(rule_reader_t* r, uint32_t* out) {
  while (r->at < r->end && *r->at == ' ') ++r->at;
  if (r->at == r->end || *r->at < 'i' || *r->at > 'z') return false;
  *out = (uint32_t)(*r->at++ - 'i');
  if (*out == 'z' - 'i' && r->end - r->at >= 2 && r->at[0] == '_') {
    int64_t number;
    ++r->at;
    if (!take_number(r, &number) || number > 1 << 20) return false;
    *out += (uint32_t)number;
  }
  return true;
}

// ([i, jk], [j]): links of tensors `first` ... `first + count`.
static bool read_tensors(hlo_rule_builder_t* b, rule_reader_t* r, uint32_t first, uint32_t count) {
  if (!take_text(r, "(")) return false;
  for (uint32_t t = first; t < first + count; ++t) {
    if ((t > first && !take_text(r, ",")) || !take_text(r, "[")) return false;
    const uint32_t rank = hlo_rule_rank(b, t);
    for (uint32_t d = 0; d < rank; ++d) {
      uint32_t factor;
      if (d && !take_text(r, ",")) return false;
      if (!take_factor(r, &factor)) return false;
      do {
        if (factor >= b->factor_count) return false;
        hlo_rule_link(b, t, d, factor);
      } while (r->at < r->end && *r->at != ',' && *r->at != ']' && take_factor(r, &factor));
    }
    if (!take_text(r, "]")) return false;
  }
  return take_text(r, ")");
}

// {i=2, j=4}
static bool read_sizes(hlo_rule_builder_t* b, rule_reader_t* r) {
  if (!take_text(r, "{")) return true;
  while (!take_text(r, "}")) {
    uint32_t factor;
    int64_t size;
    if (b->factor_count && !take_text(r, ",")) return false;
    if (!take_factor(r, &factor) || factor != b->factor_count) return false;
    if (!take_text(r, "=") || !take_number(r, &size) || size < 1) return false;
    hlo_rule_add_factor(b, size, HLO_FACTOR_PASS_THROUGH);
    if (b->arena->failed) return false;
  }
  return true;
}

// reduction={j} need_replication={i}, custom>
static bool read_kinds(hlo_rule_builder_t* b, rule_reader_t* r) {
  static const char* const names[] = {"reduction={", "need_replication={", "permutation={",
                                      "blocked_propagation={"};
  static const hlo_factor_kind_t kinds[] = {HLO_FACTOR_REDUCTION, HLO_FACTOR_REPLICATED,
                                            HLO_FACTOR_PERMUTATION, HLO_FACTOR_PASS_THROUGH};
  for (uint32_t k = 0; k < 4; ++k) {
    if (!take_text(r, names[k])) continue;
    for (bool is_first = true; !take_text(r, "}"); is_first = false) {
      uint32_t factor;
      if (!is_first && !take_text(r, ",")) return false;
      if (!take_factor(r, &factor) || factor >= b->factor_count) return false;
      if (k < 3)
        b->factors[factor].kind = kinds[k];
      else
        b->factors[factor].is_blocked = true;
    }
  }
  if (take_text(r, ",") && !take_text(r, "custom")) return false;
  return take_text(r, ">") && r->at == r->end;
}

// The sizes are written after the tensors but are needed first.
static bool read_rule(hlo_rule_builder_t* b, const hlo_attr_t* attr) {
  rule_reader_t tensors = {attr->text, attr->text + attr->text_length};
  if (!take_text(&tensors, "#sdy.op_sharding_rule<")) return false;
  rule_reader_t rest = tensors;
  const char* arrow = strstr(rest.at, ")->(");
  rest.at = arrow ? strchr(arrow + 4, ')') : NULL;
  if (!rest.at++ || !read_sizes(b, &rest) || !read_kinds(b, &rest)) return false;
  const uint32_t results = b->tensor_count - b->operand_count;
  return read_tensors(b, &tensors, 0, b->operand_count) && take_text(&tensors, "->") &&
         read_tensors(b, &tensors, b->operand_count, results);
}

static const hlo_attr_t* stated_rule(const hlo_node_t* node) {
  const hlo_attr_t* attr = hlo_attr_dict_get(node->extra, "sdy.sharding_rule");
  if (!attr) attr = hlo_attr_dict_get(node->extra, "mhlo.sharding_rule");
  return attr && (attr->kind == HLO_ATTR_KIND_OPAQUE || attr->kind == HLO_ATTR_KIND_STRING) ? attr
                                                                                            : NULL;
}

// ---- interface

bool hlo_sharding_rule_is_stated(const hlo_node_t* node) {
  return node->op == HLO_OP_custom_call && stated_rule(node);
}

hlo_status_t hlo_sharding_rule_make(const hlo_node_t* node, hlo_arena_t* arena,
                                    const hlo_sharding_rule_t** out_rule) {
  *out_rule = NULL;
  const hlo_attr_t* stated = node->op == HLO_OP_custom_call ? stated_rule(node) : NULL;
  const rule_fn_t function = node->op < HLO_OP_COUNT ? rule_functions[node->op] : NULL;
  if (!function) return hlo_ok();
  hlo_rule_builder_t b = {.node = node, .arena = arena, .reducer = HLO_OP_COUNT};
  if (!begin_rule(&b, function)) return hlo_arena_status(arena);
  if (stated) {
    b.reducer = HLO_OP_add;
    if (!read_rule(&b, stated) || b.is_refused) {
      HLO_TRY(hlo_arena_status(arena));
      return hlo_node_invalid(node, "sharding rule %.*s does not fit the call",
                              (int)stated->text_length, stated->text);
    }
  } else {
    function(&b);
    if (b.is_refused) return hlo_arena_status(arena);
  }
  add_missing_factors(&b);
  HLO_TRY(hlo_arena_status(arena));
  return end_rule(&b, out_rule);
}

static void print_kind(const hlo_sharding_rule_t* rule, const char* name, hlo_factor_kind_t kind,
                       hlo_strbuf_t* out) {
  bool is_any = false;
  for (uint32_t f = 0; f < rule->factor_count; ++f) {
    const hlo_factor_t* factor = &rule->factors[f];
    if (kind == HLO_FACTOR_PASS_THROUGH ? !factor->is_blocked : factor->kind != kind) continue;
    hlo_strbuf_printf(out, is_any ? ", " : " %s={", name);
    hlo_factor_print(f, out);
    is_any = true;
  }
  if (is_any) hlo_strbuf_putc(out, '}');
}

void hlo_sharding_rule_print(const hlo_sharding_rule_t* rule, const hlo_node_t* node,
                             hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '(');
  for (uint32_t t = 0; t < rule->tensor_count; ++t) {
    if (t == node->operand_count) hlo_strbuf_puts(out, ")->(");
    hlo_strbuf_puts(out, t && t != node->operand_count ? ", [" : "[");
    const uint32_t rank = rule->dims[t] ? hlo_node_type(node, t)->rank : 0;
    for (uint32_t d = 0; d < rank; ++d) {
      const hlo_dim_factors_t* dim = &rule->dims[t][d];
      if (d) hlo_strbuf_puts(out, ", ");
      for (uint32_t i = 0; i < dim->count; ++i) hlo_factor_print(dim->factors[i], out);
    }
    hlo_strbuf_putc(out, ']');
  }
  if (node->operand_count == rule->tensor_count) hlo_strbuf_puts(out, ")->(");
  hlo_strbuf_puts(out, ") {");
  for (uint32_t f = 0; f < rule->factor_count; ++f) {
    if (f) hlo_strbuf_puts(out, ", ");
    hlo_factor_print(f, out);
    hlo_strbuf_printf(out, "=%lld", (long long)rule->factors[f].size);
  }
  hlo_strbuf_putc(out, '}');
  print_kind(rule, "reduction", HLO_FACTOR_REDUCTION, out);
  print_kind(rule, "need_replication", HLO_FACTOR_REPLICATED, out);
  print_kind(rule, "permutation", HLO_FACTOR_PERMUTATION, out);
  print_kind(rule, "blocked_propagation", HLO_FACTOR_PASS_THROUGH, out);
}
