// SPDX-License-Identifier: Apache-2.0
// Pass split_complex: turns complex values inside a program into pairs of real ones, so that
// everything implemented for reals (fusion, vectorised loops, products) applies to them. Where a
// complex buffer enters or leaves (arguments, results, ops that are kept) it is viewed as a real
// one with an additional innermost dimension of two, without a copy.
#include <string.h>

#include "passes/complex_parts.h"
#include "passes/constants.h"

static const int64_t MAX_ELEMENTS = (int64_t)1 << 44;

// A value that has become a pair: its remaining complex users get a complex value built at its
// definition. Or a node to be erased.
typedef struct split {
  hlo_value_t* whole;  // NULL: `node` is erased
  hlo_parts_t parts;
  hlo_region_t* region;  // region of which it has become an argument; NULL: a result of its old
                         // node
  hlo_node_t* node;
} split_t;

// The parts of a value: built in its stead, or extracted from the complex value.
typedef struct known {
  hlo_parts_t parts;  // NULL: not requested yet
  bool is_pair;
} known_t;

typedef struct splitter {
  hlo_pass_ctx_t* ctx;
  known_t* known;  // by index of the complex value
  uint32_t known_capacity;
  split_t* splits;  // in order of definition
  uint32_t split_count, split_capacity;
} splitter_t;

static hlo_status_t grow_array(splitter_t* s, void** array, uint32_t* capacity, uint32_t used,
                               uint32_t wanted, size_t width) {
  if (wanted <= *capacity) return hlo_ok();
  const uint32_t count = 2 * wanted + 64;
  void* larger = hlo_arena_array(&s->ctx->scratch, count, width);
  if (!larger) return hlo_arena_status(&s->ctx->scratch);
  memset(larger, 0, count * width);
  if (used) memcpy(larger, *array, used * width);
  *array = larger;
  *capacity = count;
  return hlo_ok();
}

static hlo_status_t remember(splitter_t* s, const hlo_value_t* whole, known_t known) {
  HLO_TRY(grow_array(s, (void**)&s->known, &s->known_capacity, s->known_capacity, whole->index + 1,
                     sizeof *s->known));
  s->known[whole->index] = known;
  return hlo_ok();
}

static hlo_status_t record(splitter_t* s, split_t split) {
  HLO_TRY(grow_array(s, (void**)&s->splits, &s->split_capacity, s->split_count, s->split_count + 1,
                     sizeof *s->splits));
  s->splits[s->split_count++] = split;
  return split.whole ? remember(s, split.whole, (known_t){split.parts, true}) : hlo_ok();
}

static bool is_complex(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && hlo_dtype_is_complex(type->dtype);
}

static bool is_splittable(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && type->rank < HLO_RANK_MAX &&
         hlo_type_element_count(type) <= MAX_ELEMENTS;
}

// ---- conversion between complex values and parts

static hlo_value_t* take_part(hlo_node_t* insertion_point, hlo_value_t* both,
                              const hlo_type_t* type, int64_t number) {
  int64_t first[HLO_RANK_MAX] = {0};
  first[type->rank] = number;
  const hlo_type_t* one = hlo_stacked_type(insertion_point->parent->module, type, 1);
  return hlo_build_reshape(insertion_point, type,
                           hlo_build_slice(insertion_point, one, both, first, NULL));
}

static hlo_value_t* bitcast(hlo_node_t* insertion_point, const hlo_type_t* type,
                            hlo_value_t* value) {
  return hlo_build_node(insertion_point, HLO_OP_hlo_bitcast, type, 1, &value, 0, NULL);
}

// Stacks both parts along a new innermost dimension.
static hlo_value_t* stack_parts(hlo_node_t* insertion_point, hlo_parts_t parts) {
  const hlo_type_t* one = hlo_stacked_type(insertion_point->parent->module, parts.re->type, 1);
  hlo_value_t* re = hlo_build_reshape(insertion_point, one, parts.re);
  hlo_value_t* im = hlo_build_reshape(insertion_point, one, parts.im);
  return hlo_build_pair(insertion_point, re, im, parts.re->type->rank);
}

static hlo_value_t* see_stacked(hlo_node_t* insertion_point, hlo_value_t* whole) {
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_type_t* part = hlo_part_type(module, whole->type);
  const hlo_type_t* type = part ? hlo_stacked_type(module, part, 2) : NULL;
  const bool is_made_so = whole->def && whole->def->op == HLO_OP_hlo_bitcast &&
                          hlo_node_operand_type(whole->def, 0) == type;
  return is_made_so ? hlo_node_operand(whole->def, 0) : bitcast(insertion_point, type, whole);
}

static const known_t* known_of(const splitter_t* s, const hlo_value_t* value) {
  static const known_t NOTHING = {{NULL, NULL}, false};
  return value->index < s->known_capacity ? &s->known[value->index] : &NOTHING;
}

static bool is_whole(const splitter_t* s, const hlo_value_t* value) {
  return !known_of(s, value)->is_pair;
}

// Extracts the parts of a complex value once, at its definition.
static hlo_status_t parts_of(splitter_t* s, hlo_value_t* value, hlo_parts_t* out_parts) {
  *out_parts = (hlo_parts_t){value, NULL};
  if (!is_complex(value->type)) return hlo_ok();
  if (known_of(s, value)->parts.re) {
    *out_parts = known_of(s, value)->parts;
    return hlo_ok();
  }
  hlo_node_t* insertion_point = value->def ? value->def->next : value->region->first;
  hlo_value_t* both = see_stacked(insertion_point, value);
  if (both) {
    const hlo_type_t* type = hlo_part_type(insertion_point->parent->module, value->type);
    *out_parts = (hlo_parts_t){take_part(insertion_point, both, type, 0),
                               take_part(insertion_point, both, type, 1)};
  }
  HLO_TRY(hlo_module_status(insertion_point->parent->module));
  ++s->ctx->step_count;
  return remember(s, value, (known_t){*out_parts, false});
}

// ---- nodes

static hlo_status_t split_region(splitter_t* s, hlo_region_t* region);

static bool touches_complex(const hlo_node_t* node, bool* out_is_splittable) {
  bool touches = false;
  *out_is_splittable = !node->extra;
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = hlo_node_type(node, i);
    if (!is_complex(type)) continue;
    touches = true;
    *out_is_splittable &= is_splittable(type);
  }
  return touches;
}

// Replaces the result of `node` with a pair; does nothing if `result` has none.
static hlo_status_t become_parts(splitter_t* s, hlo_node_t* node, hlo_parts_t result) {
  HLO_TRY(hlo_module_status(node->parent->module));
  if (!result.re) return hlo_ok();
  ++s->ctx->step_count;
  HLO_TRY(record(s, (split_t){.node = node}));
  if (result.im) return record(s, (split_t){.whole = &node->results[0], .parts = result});
  hlo_value_replace_uses(&node->results[0], result.re);
  return hlo_ok();
}

static hlo_status_t split_op(splitter_t* s, hlo_node_t* node) {
  hlo_parts_t* operands =
      hlo_arena_array(&s->ctx->scratch, node->operand_count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(parts_of(s, hlo_node_operand(node, i), &operands[i]));
  }
  return become_parts(s, node, hlo_parts_of_op(node, operands));
}

// Replaces the result of `node` with a stacked buffer.
static hlo_status_t become_whole(splitter_t* s, hlo_node_t* node, hlo_value_t* stacked) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t* result = bitcast(node, node->results[0].type, stacked);
  HLO_TRY(hlo_module_status(module));
  if (!result) return hlo_status_out_of_memory(sizeof *node);
  hlo_value_replace_uses(&node->results[0], result);
  hlo_node_erase(node);
  ++s->ctx->step_count;
  return hlo_ok();
}

static hlo_status_t split_product(splitter_t* s, hlo_node_t* node) {
  hlo_value_t* lhs = hlo_node_operand(node, 0);
  for (uint32_t large = 0; large < 2; ++large) {
    hlo_value_t* whole = hlo_node_operand(node, large);
    hlo_parts_t small;
    if (!is_complex(whole->type) || !is_whole(s, whole)) continue;
    HLO_TRY(parts_of(s, hlo_node_operand(node, 1 - large), &small));
    if (!small.im || !hlo_complex_product_reads_whole(node, large, small)) continue;
    whole = see_stacked(node, whole);
    return become_parts(s, node, hlo_complex_whole_product(node, large, whole, small));
  }
  const bool is_lhs_whole = is_whole(s, lhs);
  hlo_parts_t x, y;
  HLO_TRY(parts_of(s, hlo_node_operand(node, 1), &y));
  if (!is_lhs_whole) HLO_TRY(parts_of(s, lhs, &x));
  if (!is_complex(lhs->type) || !y.im ||
      !hlo_complex_product_is_stacked(node, is_lhs_whole ? NULL : &x, y)) {
    return split_op(s, node);
  }
  lhs = is_lhs_whole ? see_stacked(node, lhs) : stack_parts(node, x);
  return become_whole(s, node, hlo_complex_stacked_product(node, lhs, y));
}

// Builds the operands of a dynamic slice or update, of which `offset` is the first start index,
// with a start index of zero for the new innermost dimension.
static hlo_status_t stacked_operands(splitter_t* s, hlo_node_t* node, uint32_t offset,
                                     hlo_value_t*** out_operands) {
  hlo_module_t* module = node->parent->module;
  const uint32_t count = node->operand_count;
  hlo_value_t** operands = hlo_arena_array(&s->ctx->scratch, count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < count; ++i) operands[i] = hlo_node_operand(node, i);
  const hlo_type_t* start =
      count > offset ? operands[offset]->type : hlo_type_tensor(module, HLO_DTYPE_S32, 0, NULL);
  operands[0] = see_stacked(node, operands[0]);
  operands[count] = hlo_build_integers(node, start, (int64_t[]){0});
  *out_operands = operands;
  return hlo_module_status(module);
}

// Updates rows of a complex buffer in place, as loops do that collect results.
static hlo_status_t update_whole(splitter_t* s, hlo_node_t* node) {
  hlo_value_t** operands;
  hlo_parts_t rows;
  HLO_TRY(parts_of(s, hlo_node_operand(node, 1), &rows));
  HLO_TRY(stacked_operands(s, node, 2, &operands));
  operands[1] = stack_parts(node, rows);
  HLO_TRY(hlo_module_status(node->parent->module));
  return become_whole(s, node,
                      hlo_build_node(node, node->op, operands[0]->type, node->operand_count + 1,
                                     operands, 0, NULL));
}

// Slices rows of a complex buffer and extracts their parts: the parts of the whole buffer, which
// may be overwritten next, are never built.
static hlo_status_t slice_whole(splitter_t* s, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* part = hlo_part_type(module, node->results[0].type);
  const hlo_type_t* type = part ? hlo_stacked_type(module, part, 2) : NULL;
  hlo_value_t** operands;
  HLO_TRY(stacked_operands(s, node, 1, &operands));
  const hlo_named_attr_t sizes = {HLO_ATTR_slice_sizes,
                                  hlo_attr_ints(module, type->rank, type->dims)};
  hlo_value_t* both =
      hlo_build_node(node, node->op, type, node->operand_count + 1, operands, 1, &sizes);
  hlo_value_t* re = take_part(node, both, part, 0);
  const hlo_parts_t parts = {re, take_part(node, both, part, 1)};
  HLO_TRY(hlo_module_status(module));
  ++s->ctx->step_count;
  HLO_TRY(record(s, (split_t){.node = node}));
  return record(s, (split_t){.whole = &node->results[0], .parts = parts});
}

// ---- control flow: a complex value is carried as a pair, unless it comes from complex buffers and
// is used by them only

static bool is_control(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_STRUCTURED) || node->op == HLO_OP_optimization_barrier;
}

static bool makes_whole(const hlo_node_t* node) {
  return !is_control(node) && !hlo_parts_has_rule(node);
}

// Returns true if an iteration only slices some elements of the argument.
static bool is_only_looked_up(const hlo_value_t* arg) {
  for (const hlo_use_t* use = arg->uses; use; use = use->next) {
    const hlo_node_t* user = use->user;
    if (user->op != HLO_OP_dynamic_slice && user->op != HLO_OP_gather && !makes_whole(user)) {
      return false;
    }
  }
  return true;
}

// Returns true if the body returns a complex buffer; `arg` (NULL: none) is its value before the
// iteration, `first` before the loop.
static bool is_returned_whole(const splitter_t* s, const hlo_region_t* body,
                              const hlo_value_t* value, const hlo_value_t* arg,
                              const hlo_value_t* first) {
  if (value->region != body) return is_whole(s, value);
  if (value == arg) return is_whole(s, first) && is_only_looked_up(arg);
  while (value->def && value->def->op == HLO_OP_dynamic_update_slice) {
    value = hlo_node_operand(value->def, 0);
    if (value == arg && arg) return true;
  }
  return value->def && value->region == body && makes_whole(value->def);
}

// Returns true if slot `i` of the values that `node` carries, or returns, remains complex.
static bool stays_whole(const splitter_t* s, const hlo_node_t* node, uint32_t i) {
  if (!is_complex(node->results[i].type)) return true;
  if (node->op == HLO_OP_optimization_barrier) return is_whole(s, hlo_node_operand(node, i));
  const bool is_loop = node->op == HLO_OP_while;
  bool is_all_whole = true;
  for (uint32_t r = is_loop; r < node->region_count; ++r) {
    const hlo_region_t* body = node->regions[r];
    const hlo_value_t* value = hlo_node_operand(body->last, i);
    is_all_whole &= is_returned_whole(s, body, value, is_loop ? body->args[i] : NULL,
                                      is_loop ? hlo_node_operand(node, i) : NULL);
  }
  return is_all_whole;
}

typedef struct value_list {
  hlo_value_t** values;
  const hlo_type_t** types;
  uint32_t count;
} value_list_t;

// `stays` may be NULL: every slot is split.
static hlo_status_t expand_operands(splitter_t* s, const hlo_node_t* node, const bool* stays,
                                    value_list_t* out) {
  *out = (value_list_t){.values =
                            hlo_arena_array(&s->ctx->scratch, 2 * (size_t)node->operand_count + 1,
                                            sizeof *out->values)};
  if (!out->values) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_parts_t parts = {hlo_node_operand(node, i), NULL};
    if (!stays || !stays[i]) HLO_TRY(parts_of(s, parts.re, &parts));
    out->values[out->count++] = parts.re;
    if (parts.im) out->values[out->count++] = parts.im;
  }
  return hlo_ok();
}

static hlo_status_t expand_results(splitter_t* s, const hlo_node_t* node, const bool* stays,
                                   value_list_t* out) {
  *out =
      (value_list_t){.types = hlo_arena_array(&s->ctx->scratch, 2 * (size_t)node->result_count + 1,
                                              sizeof *out->types)};
  if (!out->types) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (!stays[i]) out->types[out->count++] = type = hlo_part_type(node->parent->module, type);
    out->types[out->count++] = type;
  }
  return hlo_module_status(node->parent->module);
}

static hlo_status_t expand_args(splitter_t* s, const bool* stays, hlo_region_t* from,
                                hlo_region_t* to) {
  hlo_module_t* module = from->module;
  for (uint32_t i = 0; i < from->arg_count; ++i) {
    hlo_value_t* arg = from->args[i];
    const hlo_type_t* type = stays[i] ? arg->type : hlo_part_type(module, arg->type);
    hlo_parts_t parts = {type ? hlo_region_add_arg(to, type) : NULL, NULL};
    if (type && !stays[i]) parts.im = hlo_region_add_arg(to, type);
    HLO_TRY(hlo_module_status(module));
    if (parts.im) {
      HLO_TRY(record(s, (split_t){.whole = arg, .parts = parts, .region = to}));
    } else {
      hlo_value_replace_uses(arg, parts.re);
    }
  }
  return hlo_ok();
}

static hlo_status_t split_body(splitter_t* s, const bool* stays, hlo_region_t* from,
                               hlo_region_t* to) {
  for (hlo_node_t* node = from->first; node; node = from->first) {
    hlo_node_unlink(node);
    hlo_region_append(to, node);
  }
  HLO_TRY(expand_args(s, stays, from, to));
  HLO_TRY(split_region(s, to));
  hlo_node_t* end = hlo_region_terminator(to);
  const bool is_condition = to->parent->op == HLO_OP_while && to == to->parent->regions[0];
  value_list_t returned;
  HLO_TRY(expand_operands(s, end, is_condition ? NULL : stays, &returned));
  hlo_node_t* wider =
      hlo_node_create(to->module, &(hlo_node_spec_t){.op = end->op,
                                                     .loc = end->loc,
                                                     .operand_count = returned.count,
                                                     .operands = returned.values});
  HLO_TRY(hlo_module_status(to->module));
  hlo_node_insert_before(end, wider);
  hlo_node_erase(end);
  return hlo_ok();
}

static hlo_status_t take_results(splitter_t* s, hlo_node_t* node, hlo_node_t* pairs,
                                 const bool* stays) {
  HLO_TRY(record(s, (split_t){.node = node}));
  for (uint32_t i = 0, k = 0; i < node->result_count; ++i) {
    hlo_value_t* first = &pairs->results[k++];
    if (stays[i]) {
      hlo_value_replace_uses(&node->results[i], first);
    } else {
      const hlo_parts_t parts = {first, &pairs->results[k++]};
      HLO_TRY(record(s, (split_t){.whole = &node->results[i], .parts = parts}));
    }
  }
  return hlo_ok();
}

static hlo_status_t split_control(splitter_t* s, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  value_list_t operands, results;
  bool* stays = hlo_arena_array(&s->ctx->scratch, node->result_count + 1, sizeof *stays);
  if (!stays) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->result_count; ++i) stays[i] = stays_whole(s, node, i);
  const bool has_slots = node->op == HLO_OP_while || node->op == HLO_OP_optimization_barrier;
  HLO_TRY(expand_operands(s, node, has_slots ? stays : NULL, &operands));
  HLO_TRY(expand_results(s, node, stays, &results));
  hlo_node_t* pairs = hlo_node_create(module, &(hlo_node_spec_t){.op = node->op,
                                                                 .loc = node->loc,
                                                                 .operand_count = operands.count,
                                                                 .operands = operands.values,
                                                                 .region_count = node->region_count,
                                                                 .result_count = results.count,
                                                                 .result_types = results.types});
  HLO_TRY(hlo_module_status(module));
  hlo_node_copy_attrs(pairs, node);
  hlo_node_insert_before(node, pairs);
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(split_body(s, stays, node->regions[i], pairs->regions[i]));
  }
  ++s->ctx->step_count;
  return take_results(s, node, pairs, stays);
}

// Returns true if every body has a terminator, and arguments and results that match those of the
// op.
static bool has_plain_bodies(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->region_count; ++i) {
    const hlo_region_t* body = node->regions[i];
    const hlo_node_t* end = hlo_region_terminator(body);
    const bool is_condition = node->op == HLO_OP_while && i == 0;
    if (!end || end->operand_count != (is_condition ? 1 : node->result_count)) return false;
    if (node->op == HLO_OP_while && body->arg_count != node->result_count) return false;
    for (uint32_t k = 0; k < body->arg_count; ++k) {
      if (body->args[k]->type != node->results[k].type) return false;
    }
    for (uint32_t k = 0; !is_condition && k < end->operand_count; ++k) {
      if (hlo_node_operand_type(end, k) != node->results[k].type) return false;
    }
  }
  return true;
}

static hlo_status_t split_node(splitter_t* s, hlo_node_t* node) {
  bool is_splittable;
  if (touches_complex(node, &is_splittable) && is_splittable) {
    if (is_control(node)) {
      if (has_plain_bodies(node)) return split_control(s, node);
    } else if (node->op == HLO_OP_dynamic_update_slice && is_whole(s, hlo_node_operand(node, 0))) {
      return update_whole(s, node);
    } else if (node->op == HLO_OP_dynamic_slice && is_whole(s, hlo_node_operand(node, 0))) {
      return slice_whole(s, node);
    } else if (node->op == HLO_OP_dot_general) {
      return split_product(s, node);
    } else if (node->result_count == 1 && hlo_parts_has_rule(node)) {
      return split_op(s, node);
    }
  }
  for (uint32_t i = 0; is_control(node) && i < node->region_count; ++i) {
    HLO_TRY(split_region(s, node->regions[i]));
  }
  return hlo_ok();
}

static hlo_status_t split_region(splitter_t* s, hlo_region_t* region) {
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    next = node->next;
    HLO_TRY(split_node(s, node));
  }
  return hlo_ok();
}

// Visits the last values first: a complex value without remaining users is never built.
static hlo_status_t join_and_erase(splitter_t* s) {
  for (uint32_t i = s->split_count; i-- > 0;) {
    const split_t* split = &s->splits[i];
    hlo_value_t* whole = split->whole;
    if (!whole) {
      const bool is_kept =
          split->node->op == HLO_OP_constant && !hlo_value_is_unused(&split->node->results[0]);
      if (!is_kept) hlo_node_erase(split->node);
      continue;
    }
    if (hlo_value_is_unused(whole) || (whole->def && whole->def->op == HLO_OP_constant)) continue;
    hlo_node_t* insertion_point = split->region ? split->region->first : whole->def;
    hlo_value_t* joined =
        bitcast(insertion_point, whole->type, stack_parts(insertion_point, split->parts));
    HLO_TRY(hlo_module_status(insertion_point->parent->module));
    if (!joined) return hlo_status_out_of_memory(sizeof *insertion_point);
    hlo_value_replace_uses(whole, joined);
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_split_complex(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  splitter_t s = {.ctx = ctx};
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(split_region(&s, func->body));
  }
  HLO_TRY(join_and_erase(&s));
  return hlo_module_status(module);
}
