// SPDX-License-Identifier: Apache-2.0
// Pass split_complex: complex values inside of a program become pairs of real ones, so that
// everything that is known of reals (fusion, loops over lanes, products) holds for them. Where a
// complex buffer comes from or goes to (arguments, results, ops that stay as they are) it is seen
// as one of reals with another innermost dimension of two, without a copy.
#include <string.h>

#include "passes/complex_parts.h"
#include "passes/constants.h"

static const int64_t MAX_ELEMENTS = (int64_t)1 << 44;

// A value that is a pair now; who still wants it whole gets that where it was defined.
typedef struct split {
  hlo_value_t* whole;
  hlo_parts_t parts;
  hlo_region_t* region;  // which it is an argument of now; NULL: a result of its old node
} split_t;

typedef struct splitter {
  hlo_pass_ctx_t* ctx;
  hlo_parts_t* parts;  // by index of the whole value
  uint32_t part_capacity;
  split_t* splits;  // in order of definition
  uint32_t split_count, split_capacity;
  bool has_changed;
} splitter_t;

static hlo_status_t grow(splitter_t* s, void** array, uint32_t* capacity, uint32_t used,
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

static hlo_status_t remember(splitter_t* s, const hlo_value_t* whole, hlo_parts_t parts) {
  HLO_TRY(grow(s, (void**)&s->parts, &s->part_capacity, s->part_capacity, whole->index + 1,
               sizeof *s->parts));
  s->parts[whole->index] = parts;
  return hlo_ok();
}

static hlo_status_t replace(splitter_t* s, hlo_value_t* whole, hlo_parts_t parts,
                            hlo_region_t* region) {
  HLO_TRY(grow(s, (void**)&s->splits, &s->split_capacity, s->split_count, s->split_count + 1,
               sizeof *s->splits));
  s->splits[s->split_count++] = (split_t){whole, parts, region};
  return remember(s, whole, parts);
}

static bool is_complex(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && hlo_dtype_is_complex(type->dtype);
}

static bool is_splittable(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && type->rank < HLO_RANK_MAX &&
         hlo_type_element_count(type) <= MAX_ELEMENTS;
}

// ---- from whole to parts and back

// `part` with an innermost dimension of `count` more.
static const hlo_type_t* with_inner(hlo_module_t* module, const hlo_type_t* part, int64_t count) {
  int64_t dims[HLO_RANK_MAX];
  if (part->rank) memcpy(dims, part->dims, part->rank * sizeof *dims);
  dims[part->rank] = count;
  return hlo_type_tensor(module, part->dtype, part->rank + 1, dims);
}

static hlo_value_t* take_part(hlo_node_t* place, hlo_value_t* both, const hlo_type_t* type,
                              int64_t number) {
  int64_t first[HLO_RANK_MAX] = {0}, steps[HLO_RANK_MAX];
  for (uint32_t d = 0; d <= type->rank; ++d) steps[d] = 1;
  first[type->rank] = number;
  const hlo_type_t* one = with_inner(place->parent->module, type, 1);
  hlo_value_t* part = one ? hlo_build_slice(place, both, one, first, steps) : NULL;
  return part ? hlo_build_node(place, HLO_OP_reshape, type, 1, &part, 0, NULL) : NULL;
}

static hlo_value_t* join(hlo_node_t* place, const hlo_type_t* type, hlo_parts_t parts) {
  hlo_module_t* module = place->parent->module;
  const hlo_type_t* one = with_inner(module, parts.re->type, 1);
  const hlo_type_t* two = with_inner(module, parts.re->type, 2);
  if (!one || !two) return NULL;
  hlo_value_t* halves[] = {hlo_build_node(place, HLO_OP_reshape, one, 1, &parts.re, 0, NULL),
                           hlo_build_node(place, HLO_OP_reshape, one, 1, &parts.im, 0, NULL)};
  const hlo_named_attr_t dim = {HLO_ATTR_dimension,
                                hlo_attr_int(module, HLO_DTYPE_S64, type->rank)};
  if (!halves[0] || !halves[1]) return NULL;
  hlo_value_t* both = hlo_build_node(place, HLO_OP_concatenate, two, 2, halves, 1, &dim);
  return both ? hlo_build_node(place, HLO_OP_hlo_bitcast, type, 1, &both, 0, NULL) : NULL;
}

// What is whole is taken apart once, where it is defined.
static hlo_status_t parts_of(splitter_t* s, hlo_value_t* value, hlo_parts_t* out_parts) {
  *out_parts = (hlo_parts_t){value, NULL};
  if (!is_complex(value->type)) return hlo_ok();
  if (value->index < s->part_capacity && s->parts[value->index].re) {
    *out_parts = s->parts[value->index];
    return hlo_ok();
  }
  hlo_node_t* place = value->def ? value->def->next : value->region->first;
  hlo_module_t* module = place->parent->module;
  const hlo_type_t* type = hlo_part_type(module, value->type);
  const hlo_type_t* pairs = type ? with_inner(module, type, 2) : NULL;
  hlo_value_t* both =
      pairs ? hlo_build_node(place, HLO_OP_hlo_bitcast, pairs, 1, &value, 0, NULL) : NULL;
  if (both) {
    *out_parts = (hlo_parts_t){take_part(place, both, type, 0), take_part(place, both, type, 1)};
  }
  HLO_TRY(hlo_module_status(module));
  s->has_changed = true;
  return remember(s, value, *out_parts);
}

// ---- nodes

static hlo_status_t split_region(splitter_t* s, hlo_region_t* region);

static bool touches_complex(const hlo_node_t* node, bool* out_is_splittable) {
  bool touches = false;
  *out_is_splittable = !node->extra;
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = i < node->operand_count ? hlo_node_operand_type(node, i)
                                                     : node->results[i - node->operand_count].type;
    if (!is_complex(type)) continue;
    touches = true;
    *out_is_splittable &= is_splittable(type);
  }
  return touches;
}

static hlo_status_t split_op(splitter_t* s, hlo_node_t* node) {
  hlo_parts_t* operands =
      hlo_arena_array(&s->ctx->scratch, node->operand_count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(parts_of(s, hlo_node_operand(node, i), &operands[i]));
  }
  hlo_parts_t result = hlo_parts_of_op(node, operands);
  HLO_TRY(hlo_module_status(node->parent->module));
  if (!result.re) return hlo_ok();
  s->has_changed = true;
  ++s->ctx->step_count;
  return replace(s, &node->results[0], result, NULL);
}

// ---- control: a pair is carried wherever a complex value is

typedef struct value_list {
  hlo_value_t** values;
  const hlo_type_t** types;
  uint32_t count;
} value_list_t;

static hlo_status_t expand_operands(splitter_t* s, const hlo_node_t* node, value_list_t* out) {
  *out = (value_list_t){.values =
                            hlo_arena_array(&s->ctx->scratch, 2 * (size_t)node->operand_count + 1,
                                            sizeof *out->values)};
  if (!out->values) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_parts_t parts;
    HLO_TRY(parts_of(s, hlo_node_operand(node, i), &parts));
    out->values[out->count++] = parts.re;
    if (parts.im) out->values[out->count++] = parts.im;
  }
  return hlo_ok();
}

static hlo_status_t expand_results(splitter_t* s, const hlo_node_t* node, value_list_t* out) {
  *out =
      (value_list_t){.types = hlo_arena_array(&s->ctx->scratch, 2 * (size_t)node->result_count + 1,
                                              sizeof *out->types)};
  if (!out->types) return hlo_arena_status(&s->ctx->scratch);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    const hlo_type_t* part = type;
    if (is_complex(type)) {
      part = hlo_part_type(node->parent->module, type);
      out->types[out->count++] = part;
    }
    out->types[out->count++] = part;
  }
  return hlo_module_status(node->parent->module);
}

static hlo_status_t expand_args(splitter_t* s, hlo_region_t* from, hlo_region_t* to) {
  hlo_module_t* module = from->module;
  for (uint32_t i = 0; i < from->arg_count; ++i) {
    hlo_value_t* arg = from->args[i];
    const hlo_type_t* type = hlo_part_type(module, arg->type);
    hlo_parts_t parts = {type ? hlo_region_add_arg(to, type) : NULL, NULL};
    if (type != arg->type && parts.re) parts.im = hlo_region_add_arg(to, type);
    HLO_TRY(hlo_module_status(module));
    if (parts.im) {
      HLO_TRY(replace(s, arg, parts, to));
    } else {
      hlo_value_replace_uses(arg, parts.re);
    }
  }
  return hlo_ok();
}

static hlo_status_t split_body(splitter_t* s, hlo_region_t* from, hlo_region_t* to) {
  for (hlo_node_t* node = from->first; node; node = from->first) {
    hlo_node_unlink(node);
    hlo_region_append(to, node);
  }
  HLO_TRY(expand_args(s, from, to));
  HLO_TRY(split_region(s, to));
  hlo_node_t* end = hlo_region_terminator(to);
  value_list_t returned;
  HLO_TRY(expand_operands(s, end, &returned));
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

static hlo_status_t split_control(splitter_t* s, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  value_list_t operands, results;
  HLO_TRY(expand_operands(s, node, &operands));
  HLO_TRY(expand_results(s, node, &results));
  hlo_node_t* pairs = hlo_node_create(module, &(hlo_node_spec_t){.op = node->op,
                                                                 .loc = node->loc,
                                                                 .operand_count = operands.count,
                                                                 .operands = operands.values,
                                                                 .region_count = node->region_count,
                                                                 .result_count = results.count,
                                                                 .result_types = results.types});
  HLO_TRY(hlo_module_status(module));
  const uint32_t attr_count = hlo_op_info(node->op)->attr_count;
  if (attr_count) memcpy(pairs->attrs, node->attrs, attr_count * sizeof *pairs->attrs);
  hlo_node_insert_before(node, pairs);
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(split_body(s, node->regions[i], pairs->regions[i]));
  }
  for (uint32_t i = 0, k = 0; i < node->result_count; ++i) {
    hlo_parts_t parts = {&pairs->results[k++], NULL};
    if (is_complex(node->results[i].type)) parts.im = &pairs->results[k++];
    HLO_TRY(replace(s, &node->results[i], parts, NULL));
  }
  s->has_changed = true;
  ++s->ctx->step_count;
  return hlo_ok();
}

static bool has_splittable_args(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->region_count; ++i) {
    const hlo_region_t* body = node->regions[i];
    if (!hlo_region_terminator(body)) return false;
    for (uint32_t k = 0; k < body->arg_count; ++k) {
      if (is_complex(body->args[k]->type) && !is_splittable(body->args[k]->type)) return false;
    }
  }
  return true;
}

static hlo_status_t split_node(splitter_t* s, hlo_node_t* node) {
  const bool is_control = node->op == HLO_OP_while || node->op == HLO_OP_if ||
                          node->op == HLO_OP_case || node->op == HLO_OP_optimization_barrier;
  bool is_splittable;
  if (touches_complex(node, &is_splittable) && is_splittable) {
    if (is_control && has_splittable_args(node)) return split_control(s, node);
    if (node->result_count == 1 && hlo_parts_has_rule(node)) return split_op(s, node);
  }
  for (uint32_t i = 0; is_control && i < node->region_count; ++i) {
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

// The last ones first: what nobody wants whole any more is never made whole.
static hlo_status_t join_and_erase(splitter_t* s) {
  for (uint32_t i = s->split_count; i-- > 0;) {
    const split_t* split = &s->splits[i];
    hlo_value_t* whole = split->whole;
    if (!hlo_value_is_unused(whole)) {
      if (hlo_constant_literal(whole)) continue;
      hlo_node_t* place = split->region ? split->region->first : whole->def;
      hlo_value_t* joined =
          split->parts.im ? join(place, whole->type, split->parts) : split->parts.re;
      HLO_TRY(hlo_module_status(place->parent->module));
      hlo_value_replace_uses(whole, joined);
    }
    if (whole->def && whole->number == 0) hlo_node_erase(whole->def);
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_split_complex(hlo_pass_ctx_t* ctx, hlo_module_t* module, bool* out_changed) {
  splitter_t s = {.ctx = ctx};
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(split_region(&s, func->body));
  }
  HLO_TRY(join_and_erase(&s));
  *out_changed = s.has_changed;
  return hlo_module_status(module);
}
