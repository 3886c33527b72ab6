// SPDX-License-Identifier: Apache-2.0
// The "!" words of asm.def: notations of ops with their own code.
#include <string.h>

#include "ir/parse_impl.h"

static bool set_ints(hlo_parser_t* p, hlo_op_state_t* op, hlo_attr_id_t id, uint32_t count,
                     const int64_t* values) {
  return hlo_op_set_attr(op, id, hlo_attr_ints(p->module, count, values));
}

// [0:2, 1:3:2]
static bool parse_slice_ranges(hlo_parser_t* p, hlo_op_state_t* op) {
  int64_t start[HLO_RANK_MAX], limit[HLO_RANK_MAX], stride[HLO_RANK_MAX];
  uint32_t rank = 0;
  if (!hlo_expect(p, '[')) return false;
  for (; !hlo_at(p, ']'); ++rank) {
    if (rank && !hlo_expect(p, ',')) return false;
    if (rank == HLO_RANK_MAX) return hlo_parse_fault(p, p->token.start, "rank too high");
    stride[rank] = 1;
    if (!hlo_parse_int(p, &start[rank]) || !hlo_expect(p, ':') || !hlo_parse_int(p, &limit[rank])) {
      return false;
    }
    if (hlo_accept(p, ':') && !hlo_parse_int(p, &stride[rank])) return false;
  }
  hlo_lex_advance(p);
  return set_ints(p, op, HLO_ATTR_start_indices, rank, start) &&
         set_ints(p, op, HLO_ATTR_limit_indices, rank, limit) &&
         set_ints(p, op, HLO_ATTR_strides, rank, stride);
}

// word = [0] x [1]
static bool parse_dim_pair(hlo_parser_t* p, hlo_op_state_t* op, const char* word, hlo_attr_id_t lhs,
                           hlo_attr_id_t rhs) {
  int64_t *left, *right;
  uint32_t left_count, right_count;
  return hlo_expect_word(p, word) && hlo_expect(p, '=') &&
         hlo_parse_int_list(p, &left, &left_count) && hlo_expect_word(p, "x") &&
         hlo_parse_int_list(p, &right, &right_count) && set_ints(p, op, lhs, left_count, left) &&
         set_ints(p, op, rhs, right_count, right);
}

static bool parse_dot_dims(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_at_word(p, "batching_dims")) {
    if (!parse_dim_pair(p, op, "batching_dims", HLO_ATTR_lhs_batching_dimensions,
                        HLO_ATTR_rhs_batching_dimensions) ||
        !hlo_expect(p, ',')) {
      return false;
    }
  } else if (!set_ints(p, op, HLO_ATTR_lhs_batching_dimensions, 0, NULL) ||
             !set_ints(p, op, HLO_ATTR_rhs_batching_dimensions, 0, NULL)) {
    return false;
  }
  return parse_dim_pair(p, op, "contracting_dims", HLO_ATTR_lhs_contracting_dimensions,
                        HLO_ATTR_rhs_contracting_dimensions);
}

// Consumes ", word =" if it follows.
static bool accept_clause(hlo_parser_t* p, const char* word) {
  const char* back = p->token.start;
  if (hlo_accept(p, ',')) {
    if (hlo_accept_word(p, word)) return true;
    hlo_lex_seek(p, back);
  }
  return false;
}

// , precision = [DEFAULT, HIGHEST]
static bool parse_precision(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!accept_clause(p, "precision")) return true;
  const hlo_attr_t** items = NULL;
  uint32_t count = 0, capacity = 0;
  if (!hlo_expect(p, '=') || !hlo_expect(p, '[')) return false;
  while (!hlo_at(p, ']')) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!HLO_GROW(p, items, count, capacity)) return false;
    items[count] = hlo_parse_enum_case(p, HLO_ENUM_PRECISION);
    if (!items[count++]) return false;
  }
  hlo_lex_advance(p);
  return hlo_op_set_attr(op, HLO_ATTR_precision_config, hlo_attr_array(p->module, count, items));
}

// , algorithm = <lhs_precision_type = f32, ...>
static bool parse_algorithm(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!accept_clause(p, "algorithm")) return true;
  if (!hlo_expect(p, '=')) return false;
  const hlo_struct_attr_t* info = hlo_op_struct_named(op->op, "algorithm", 9);
  const char* at = p->token.start;
  const hlo_attr_t* fields = hlo_parse_struct(p, info);
  return fields && hlo_op_set_struct(p, op, at, info, fields);
}

static bool parse_conv_dims(hlo_parser_t* p, hlo_op_state_t* op) {
  const char* at = p->token.start;
  const hlo_attr_t* fields = hlo_parse_conv_dims(p);
  return fields &&
         hlo_op_set_struct(p, op, at, hlo_op_struct_named(op->op, "dimension_numbers", 17), fields);
}

// [[1, 1], [0, 0]]
static const hlo_attr_t* parse_pads(hlo_parser_t* p) {
  int64_t pads[2 * HLO_RANK_MAX];
  uint32_t rows = 0;
  if (!hlo_expect(p, '[')) return NULL;
  for (; !hlo_at(p, ']'); ++rows) {
    if (rows && !hlo_expect(p, ',')) return NULL;
    if (rows == HLO_RANK_MAX) {
      hlo_parse_fault(p, p->token.start, "rank too high");
      return NULL;
    }
    if (!hlo_expect(p, '[') || !hlo_parse_int(p, &pads[2 * rows]) || !hlo_expect(p, ',') ||
        !hlo_parse_int(p, &pads[2 * rows + 1]) || !hlo_expect(p, ']')) {
      return NULL;
    }
  }
  hlo_lex_advance(p);
  return hlo_attr_matrix(p->module, rows, 2, pads);
}

// stride = [1, 1], pad = [[0, 0]], reverse = [false, false]
static bool parse_window(hlo_parser_t* p, hlo_op_state_t* op) {
  while (!hlo_at(p, '}')) {
    int part = 0;
    while (part < HLO_WINDOW_PART_COUNT && !hlo_at_word(p, hlo_window_parts[part].name)) ++part;
    if (part == HLO_WINDOW_PART_COUNT) {
      return hlo_parse_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
    }
    hlo_attr_id_t id = hlo_window_parts[part].id;
    if (op->attrs[hlo_op_attr_slot(op->op, id)]) {
      return hlo_parse_fault(p, p->token.start, "'%s' given twice", hlo_window_parts[part].name);
    }
    hlo_lex_advance(p);
    int64_t* values;
    uint32_t count;
    const hlo_attr_t* attr;
    if (!hlo_expect(p, '=')) return false;
    if (id == HLO_ATTR_padding) {
      attr = parse_pads(p);
    } else {
      if (!hlo_parse_int_list(p, &values, &count)) return false;
      for (uint32_t i = 0; id == HLO_ATTR_window_reversal && i < count; ++i) {
        values[i] = values[i] != 0;
      }
      attr = id == HLO_ATTR_window_reversal ? hlo_attr_bools(p->module, count, values)
                                            : hlo_attr_ints(p->module, count, values);
    }
    if (!hlo_op_set_attr(op, id, attr)) return false;
    if (!hlo_accept(p, ',')) break;
  }
  return true;
}

// e5m10
static bool parse_format(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_token_t word = p->token;
  const char* end = word.start + word.length;
  const char* m = word.kind == HLO_TOKEN_WORD && word.start[0] == 'e'
                      ? memchr(word.start, 'm', word.length)
                      : NULL;
  uint64_t exponent, mantissa;
  if (!m || !hlo_text_to_u64(word.start + 1, m, &exponent) ||
      !hlo_text_to_u64(m + 1, end, &mantissa) || exponent > INT32_MAX || mantissa > INT32_MAX) {
    return hlo_parse_expected(p, "a format like e5m10");
  }
  hlo_lex_advance(p);
  return hlo_op_set_attr(op, HLO_ATTR_exponent_bits,
                         hlo_attr_int(p->module, HLO_DTYPE_S32, (int64_t)exponent)) &&
         hlo_op_set_attr(op, HLO_ATTR_mantissa_bits,
                         hlo_attr_int(p->module, HLO_DTYPE_S32, (int64_t)mantissa));
}

// @name or @"any name"
static bool parse_target(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_at(p, HLO_TOKEN_AT)) return hlo_expect(p, HLO_TOKEN_AT);
  size_t length;
  char* text = hlo_take_text(p, &length);
  return text &&
         hlo_op_set_attr(op, HLO_ATTR_call_target_name, hlo_attr_string(p->module, text, length));
}

// %0, %1 : T, U with results of the same types; or ()
static bool parse_barrier(hlo_parser_t* p, hlo_op_state_t* op) {
  if (hlo_accept(p, '(')) return hlo_expect(p, ')') && hlo_op_set_results(p, op, 0, NULL);
  const hlo_type_t** types;
  uint32_t count;
  return hlo_parse_operands(p, op) && hlo_expect(p, ':') &&
         hlo_parse_type_list(p, &types, &count) && hlo_check_operand_types(p, op, count, types) &&
         hlo_op_set_results(p, op, count, types);
}

// ( {...}, {...} ) of a composite
static bool parse_regions(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_accept(p, '(')) return true;
  do {
    hlo_region_t* region = hlo_op_add_region(p, op);
    if (!region || !hlo_parse_region(p, region, 0, NULL)) return false;
  } while (hlo_accept(p, ','));
  return hlo_expect(p, ')');
}

// ---- Control flow

static bool parse_attributes_clause(hlo_parser_t* p, hlo_op_state_t* op) {
  return !hlo_accept_word(p, "attributes") || hlo_parse_op_dict(p, op);
}

// (%arg = %init, ...) : types attributes {...} cond {...} do {...}
static bool parse_while(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_token_t* names = NULL;
  uint32_t count = 0, capacity = 0, type_count = 0;
  const hlo_type_t** types = NULL;
  if (!hlo_expect(p, '(')) return false;
  for (; !hlo_at(p, ')'); ++count) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!HLO_GROW(p, names, count, capacity)) return false;
    names[count] = p->token;
    if (!hlo_expect(p, HLO_TOKEN_PERCENT) || !hlo_expect(p, '=') || !hlo_parse_operand(p, op)) {
      return false;
    }
  }
  hlo_lex_advance(p);
  if (count && (!hlo_expect(p, ':') || !hlo_parse_type_list(p, &types, &type_count))) return false;
  if (!hlo_check_operand_types(p, op, type_count, types) ||
      !hlo_op_set_results(p, op, type_count, types) || !parse_attributes_clause(p, op)) {
    return false;
  }
  for (int r = 0; r < 2; ++r) {
    hlo_region_t* region = hlo_op_add_region(p, op);
    if (!region || !hlo_expect_word(p, r == 0 ? "cond" : "do")) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (!hlo_region_add_arg(region, types[i])) return false;
    }
    if (!hlo_parse_region(p, region, count, names)) return false;
  }
  return true;
}

// (%0 init: %1), (%2 init: %3): inputs first, then initial values
static bool parse_reduce_pairs(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_op_state_t inits = {.at = op->at};
  do {
    if (!hlo_expect(p, '(') || !hlo_parse_operand(p, op) || !hlo_expect_word(p, "init") ||
        !hlo_expect(p, ':') || !hlo_parse_operand(p, &inits) || !hlo_expect(p, ')')) {
      return false;
    }
  } while (hlo_accept(p, ','));
  for (uint32_t i = 0; i < inits.operand_count; ++i) {
    if (!HLO_GROW(p, op->operands, op->operand_count, op->operand_capacity) ||
        !HLO_GROW(p, op->operand_at, op->operand_count, op->operand_at_capacity)) {
      return false;
    }
    op->operands[op->operand_count] = inits.operands[i];
    op->operand_at[op->operand_count++] = inits.operand_at[i];
  }
  return true;
}

static bool parse_across(hlo_parser_t* p, hlo_op_state_t* op) {
  int64_t* dims;
  uint32_t count;
  return hlo_expect_word(p, "across") && hlo_expect_word(p, "dimensions") && hlo_expect(p, '=') &&
         hlo_parse_int_list(p, &dims, &count) &&
         set_ints(p, op, HLO_ATTR_dimensions, count, dims) && hlo_parse_op_dict(p, op) &&
         hlo_expect(p, ':') && hlo_parse_signature(p, op);
}

// Creates the body of "applies stablehlo.add": one op on the two arguments.
static bool make_applied(hlo_parser_t* p, hlo_op_state_t* op, hlo_op_t inner) {
  hlo_type_t scalar = {.kind = HLO_TYPE_TENSOR,
                       .dtype = op->operands[0]->type->dtype,
                       .is_index = op->operands[0]->type->is_index,
                       .quant = op->operands[0]->type->quant};
  const hlo_type_t* type = hlo_type_intern(p->module, &scalar);
  hlo_region_t* body = hlo_op_add_region(p, op);
  if (!type || !body || !hlo_region_add_arg(body, type) || !hlo_region_add_arg(body, type)) {
    return false;
  }
  op->applied = true;
  hlo_node_spec_t spec = {.op = inner,
                          .operand_count = 2,
                          .operands = body->args,
                          .result_count = 1,
                          .result_types = &type};
  hlo_node_t* node = hlo_node_create(p->module, &spec);
  if (hlo_node_is_poison(node)) return false;
  hlo_region_append(body, node);
  hlo_value_t* result = &node->results[0];
  hlo_node_spec_t end = {.op = HLO_OP_return, .operand_count = 1, .operands = &result};
  node = hlo_node_create(p->module, &end);
  hlo_region_append(body, node);
  return !hlo_node_is_poison(node);
}

static bool parse_applies(hlo_parser_t* p, hlo_op_state_t* op) {
  const char* at = p->token.start;
  hlo_op_t inner;
  if (!hlo_parse_op_name(p, &inner)) return false;
  const hlo_op_info_t* info = hlo_op_info(inner);
  if (!(info->traits & HLO_TRAIT_COMMUTATIVE) || strncmp(info->name, "stablehlo.", 10) != 0) {
    return hlo_parse_fault(p, at, "'%s' is not a commutative op of two operands", info->name);
  }
  if (!parse_across(p, op)) return false;
  if (op->operand_count != 2 || op->operands[0]->type->kind != HLO_TYPE_TENSOR) {
    return hlo_parse_fault(p, at, "a reduce that applies an op has one input tensor");
  }
  return make_applied(p, op, inner);
}

// reducer(%a: T, %a_acc: T) (%b: U, %b_acc: U) {...}: all first arguments, then all second ones
static bool parse_reducer(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_token_t *firsts = NULL, *seconds = NULL;
  uint32_t count = 0, first_capacity = 0, second_capacity = 0;
  hlo_region_t* body = hlo_op_add_region(p, op);
  hlo_region_t* second_args = hlo_region_create(p->module, NULL, NULL);
  if (!body || !second_args || !hlo_expect_word(p, "reducer")) return false;
  for (; hlo_accept(p, '('); ++count) {
    if (!HLO_GROW(p, firsts, count, first_capacity) ||
        !HLO_GROW(p, seconds, count, second_capacity) ||
        !hlo_parse_region_arg(p, body, &firsts[count]) || !hlo_expect(p, ',') ||
        !hlo_parse_region_arg(p, second_args, &seconds[count]) || !hlo_expect(p, ')')) {
      return false;
    }
  }
  hlo_token_t* names = hlo_arena_array(&p->scratch, 2 * (size_t)count, sizeof *names);
  if (!names) return false;
  for (uint32_t i = 0; i < count; ++i) {
    names[i] = firsts[i];
    names[count + i] = seconds[i];
    if (!hlo_region_add_arg(body, second_args->args[i]->type)) return false;
  }
  return hlo_parse_region(p, body, 2 * count, names);
}

static bool parse_reduce(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!parse_reduce_pairs(p, op)) return false;
  if (hlo_accept_word(p, "applies")) return parse_applies(p, op);
  return parse_across(p, op) && parse_reducer(p, op);
}

// (%xs) inits (%carries) dimension = 0 attributes {...} {body} : signature
static bool parse_scan(hlo_parser_t* p, hlo_op_state_t* op) {
  int64_t dim;
  if (!hlo_expect(p, '(') || !hlo_parse_operands(p, op) || !hlo_expect(p, ')')) return false;
  uint32_t inputs = op->operand_count;
  if (!hlo_expect_word(p, "inits") || !hlo_expect(p, '(') || !hlo_parse_operands(p, op) ||
      !hlo_expect(p, ')') || !hlo_expect_word(p, "dimension") || !hlo_expect(p, '=') ||
      !hlo_parse_int(p, &dim) || !parse_attributes_clause(p, op)) {
    return false;
  }
  int64_t segments[2] = {inputs, op->operand_count - inputs};
  hlo_region_t* body = hlo_op_add_region(p, op);
  return hlo_op_set_attr(op, HLO_ATTR_dimension, hlo_attr_int(p->module, HLO_DTYPE_S64, dim)) &&
         set_ints(p, op, HLO_ATTR_operand_segment_sizes, 2, segments) && body &&
         hlo_parse_region(p, body, 0, NULL) && hlo_expect(p, ':') && hlo_parse_signature(p, op);
}

// ---- Shardy: attributes are stored as text with their prefix

static bool set_opaque(hlo_parser_t* p, hlo_op_state_t* op, hlo_attr_id_t id, const char* before,
                       int open, const char* after) {
  if (!hlo_at(p, open)) return hlo_expect(p, open);
  size_t length;
  char* body = hlo_take_balanced(p, &length);
  char* text = body ? hlo_arena_printf(&p->scratch, "%s%s%s", before, body, after) : NULL;
  return text && hlo_op_set_attr(op, id, hlo_attr_opaque(p->module, text, strlen(text)));
}

static bool parse_sharding(hlo_parser_t* p, hlo_op_state_t* op) {
  return set_opaque(p, op, HLO_ATTR_sharding, "#sdy.sharding", '<', "");
}

static bool parse_out_sharding(hlo_parser_t* p, hlo_op_state_t* op) {
  return set_opaque(p, op, HLO_ATTR_out_sharding, "#sdy.sharding", '<', "");
}

// sharding=<@mesh, [...]>, or nothing
static bool parse_edge_sharding(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_accept_word(p, "sharding")) return true;
  return hlo_expect(p, '=') && parse_sharding(p, op);
}

// [{"x"}, {}], [{"x"}: 0->1] or {"x"}
static bool parse_axes(hlo_parser_t* p, hlo_op_state_t* op) {
  const hlo_axes_notation_t* axes = hlo_axes_notation(op->op);
  return set_opaque(p, op, axes->id, axes->prefix, axes->open, ">");
}

// Consumes one of `count` names, and sets the attribute to its number.
static bool accept_name(hlo_parser_t* p, hlo_op_state_t* op, hlo_attr_id_t id, uint32_t count,
                        const char* const* names) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!hlo_accept_word(p, names[i])) continue;
    return hlo_op_set_attr(op, id, hlo_attr_int(p->module, HLO_DTYPE_S32, i));
  }
  return false;
}

// max, or nothing
static bool parse_reduction(hlo_parser_t* p, hlo_op_state_t* op) {
  return p->token.kind != HLO_TOKEN_WORD ||
         accept_name(p, op, HLO_ATTR_reduction_op, HLO_REDUCTION_COUNT, hlo_reduction_names) ||
         hlo_parse_expected(p, "sum, max or min");
}

static bool parse_direction(hlo_parser_t* p, hlo_op_state_t* op) {
  return accept_name(p, op, HLO_ATTR_allowed_direction, HLO_DIRECTION_COUNT, hlo_direction_names) ||
         hlo_parse_expected(p, "NONE, FORWARD, BACKWARD or BOTH");
}

// @name = <["x"=2]>
static bool parse_mesh(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_at(p, HLO_TOKEN_AT)) return hlo_expect(p, HLO_TOKEN_AT);
  size_t length;
  char* name = hlo_take_text(p, &length);
  return name && hlo_op_set_attr(op, HLO_ATTR_sym_name, hlo_attr_string(p->module, name, length)) &&
         hlo_expect(p, '=') && set_opaque(p, op, HLO_ATTR_mesh, "#sdy.mesh", '<', "") &&
         hlo_parse_op_dict(p, op);
}

static bool parse_shardings(hlo_parser_t* p, hlo_op_state_t* op, hlo_attr_id_t id) {
  return hlo_expect(p, '=') && set_opaque(p, op, id, "#sdy.sharding_per_value<", '[', ">");
}

// (%arg: T) {...} {...} : signature
static bool parse_body_and_signature(hlo_parser_t* p, hlo_op_state_t* op) {
  hlo_token_t* names = NULL;
  uint32_t count = 0, capacity = 0;
  hlo_region_t* body = hlo_expect(p, '(') ? hlo_op_add_region(p, op) : NULL;
  if (!body) return false;
  for (; !hlo_at(p, ')'); ++count) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!HLO_GROW(p, names, count, capacity) || !hlo_parse_region_arg(p, body, &names[count])) {
      return false;
    }
  }
  hlo_lex_advance(p);
  return hlo_parse_region(p, body, count, names) && hlo_parse_op_dict(p, op) &&
         hlo_expect(p, ':') && hlo_parse_signature(p, op);
}

// (%0) in_shardings=[...] out_shardings=[...] manual_axes={...} (%arg: T) {...} {...} : signature
static bool parse_manual_computation(hlo_parser_t* p, hlo_op_state_t* op) {
  return hlo_expect(p, '(') && hlo_parse_operands(p, op) && hlo_expect(p, ')') &&
         hlo_expect_word(p, "in_shardings") && parse_shardings(p, op, HLO_ATTR_in_shardings) &&
         hlo_expect_word(p, "out_shardings") && parse_shardings(p, op, HLO_ATTR_out_shardings) &&
         hlo_expect_word(p, "manual_axes") && hlo_expect(p, '=') &&
         set_opaque(p, op, HLO_ATTR_manual_axes, "#sdy<manual_axes", '{', ">") &&
         parse_body_and_signature(p, op);
}

// <"name">(%0) in_shardings=[...] out_shardings=[...] (%arg: T) {...} {...} : signature
static bool parse_named_computation(hlo_parser_t* p, hlo_op_state_t* op) {
  if (!hlo_expect(p, '<')) return false;
  if (!hlo_at(p, HLO_TOKEN_STRING)) return hlo_expect(p, HLO_TOKEN_STRING);
  if (!hlo_op_set_attr(op, HLO_ATTR_name, hlo_parse_any_attr(p)) || !hlo_expect(p, '>') ||
      !hlo_expect(p, '(') || !hlo_parse_operands(p, op) || !hlo_expect(p, ')') ||
      (hlo_accept_word(p, "in_shardings") && !parse_shardings(p, op, HLO_ATTR_in_shardings)) ||
      (hlo_accept_word(p, "out_shardings") && !parse_shardings(p, op, HLO_ATTR_out_shardings))) {
    return false;
  }
  return parse_body_and_signature(p, op);
}

static const struct {
  const char* name;
  bool (*parse)(hlo_parser_t* p, hlo_op_state_t* op);
} kNotations[] = {
    {"slice_ranges", parse_slice_ranges},
    {"dot_dims", parse_dot_dims},
    {"precision", parse_precision},
    {"algorithm", parse_algorithm},
    {"conv_dims", parse_conv_dims},
    {"window", parse_window},
    {"format", parse_format},
    {"target", parse_target},
    {"barrier", parse_barrier},
    {"regions", parse_regions},
    {"while", parse_while},
    {"reduce", parse_reduce},
    {"scan", parse_scan},
    {"sharding", parse_sharding},
    {"direction", parse_direction},
    {"mesh", parse_mesh},
    {"manual_computation", parse_manual_computation},
    {"named_computation", parse_named_computation},
    {"edge_sharding", parse_edge_sharding},
    {"out_sharding", parse_out_sharding},
    {"axes", parse_axes},
    {"reduction", parse_reduction},
};

bool hlo_parse_notation(hlo_parser_t* p, hlo_op_state_t* op, const char* name, size_t length) {
  for (size_t i = 0; i < sizeof kNotations / sizeof *kNotations; ++i) {
    if (hlo_text_same(kNotations[i].name, name, length)) return kNotations[i].parse(p, op);
  }
  return false;
}
