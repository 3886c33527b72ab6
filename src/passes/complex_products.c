// SPDX-License-Identifier: Apache-2.0
// Products of complex matrices and convolutions as those of their parts (see complex_parts.h). What
// is known to be zero is left out.
#include "passes/complex_parts.h"
#include "passes/constants.h"

static bool is_zero(const hlo_value_t* value) {
  const void* splat = hlo_constant_splat(value);
  return splat && hlo_dtype_load_double(value->type->dtype, splat) == 0;
}

// x + y or x - y, where NULL is zero.
static hlo_value_t* combine(hlo_node_t* node, hlo_op_t op, hlo_value_t* x, hlo_value_t* y) {
  if (x && y) return hlo_build_binary(node, op, x, y);
  return y && op == HLO_OP_subtract ? hlo_build_unary(node, HLO_OP_negate, y) : y ? y : x;
}

static hlo_parts_t or_zero(hlo_node_t* node, hlo_parts_t sum) {
  const hlo_type_t* type = hlo_part_type(node->parent->module, node->results[0].type);
  if (!sum.re) sum.re = hlo_build_splat(node, type, 0);
  if (!sum.im) sum.im = hlo_build_splat(node, type, 0);
  return sum;
}

// ---- the op itself for each pair of parts

static hlo_value_t* product_of(hlo_node_t* node, hlo_value_t* x, hlo_value_t* y) {
  return is_zero(x) || is_zero(y) ? NULL : hlo_build_part(node, (hlo_value_t*[]){x, y});
}

static hlo_parts_t four_products(hlo_node_t* node, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t *ac = product_of(node, x.re, y.re), *bd = product_of(node, x.im, y.im);
  hlo_value_t *ad = product_of(node, x.re, y.im), *bc = product_of(node, x.im, y.re);
  return (hlo_parts_t){combine(node, HLO_OP_subtract, ac, bd), combine(node, HLO_OP_add, ad, bc)};
}

// ---- contractions of a few elements, as gates and small rotations have: sums of what loops over
// the result compute, which take a pass over the operands however small the matrices are

enum { MAX_TERMS = 4 };

typedef struct side {
  uint32_t count, batch_count;
  const int64_t *dims, *batch_dims;  // contracted; shared with the result
  uint32_t first_free;               // dimension of the result
} side_t;

static bool contains(const int64_t* list, uint32_t count, int64_t value, uint32_t* out_at) {
  for (*out_at = 0; *out_at < count; ++*out_at) {
    if (list[*out_at] == value) return true;
  }
  return false;
}

// How many elements are contracted; 0: none, or too many.
static int64_t read_sides(const hlo_node_t* node, side_t sides[2]) {
  static const hlo_attr_id_t DIMS[][2] = {
      {HLO_ATTR_lhs_contracting_dimensions, HLO_ATTR_lhs_batching_dimensions},
      {HLO_ATTR_rhs_contracting_dimensions, HLO_ATTR_rhs_batching_dimensions}};
  for (uint32_t i = 0; i < 2; ++i) {
    side_t* side = &sides[i];
    side->dims = hlo_node_attr_ints(node, DIMS[i][0], &side->count);
    side->batch_dims = hlo_node_attr_ints(node, DIMS[i][1], &side->batch_count);
  }
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  sides[0].first_free = sides[0].batch_count;
  sides[1].first_free = type->rank - sides[0].count;
  int64_t terms = 1;
  for (uint32_t i = 0; i < sides[0].count && terms <= MAX_TERMS; ++i) {
    terms *= type->dims[sides[0].dims[i]];
  }
  return terms <= MAX_TERMS ? terms : 0;
}

// The elements of term number `term`, everywhere in the result; NULL: zeros.
static hlo_value_t* spread_term(hlo_node_t* node, const side_t* side, hlo_value_t* value,
                                int64_t term) {
  if (is_zero(value)) return NULL;
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = value->type;
  int64_t first[HLO_RANK_MAX] = {0}, steps[HLO_RANK_MAX], sizes[HLO_RANK_MAX];
  int64_t kept[HLO_RANK_MAX], to[HLO_RANK_MAX];
  for (uint32_t i = side->count; i-- > 0;) {
    const int64_t size = type->dims[side->dims[i]];
    first[side->dims[i]] = term % size;
    term /= size;
  }
  uint32_t rank = 0, free = side->first_free, at;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const bool is_contracted = contains(side->dims, side->count, d, &at);
    steps[d] = 1;
    sizes[d] = is_contracted ? 1 : type->dims[d];
    if (is_contracted) continue;
    kept[rank] = sizes[d];
    to[rank++] = contains(side->batch_dims, side->batch_count, d, &at) ? at : free++;
  }
  const hlo_type_t* slice = hlo_type_tensor(module, type->dtype, type->rank, sizes);
  const hlo_type_t* line = hlo_type_tensor(module, type->dtype, rank, kept);
  hlo_type_t full = *node->results[0].type;
  full.dtype = type->dtype;
  const hlo_type_t* whole = hlo_type_intern(module, &full);
  const hlo_named_attr_t dims = {HLO_ATTR_broadcast_dimensions, hlo_attr_ints(module, rank, to)};
  if (!slice || !line || !whole) return NULL;
  hlo_value_t* part = hlo_build_slice(node, value, slice, first, steps);
  part = part ? hlo_build_node(node, HLO_OP_reshape, line, 1, &part, 0, NULL) : NULL;
  return part ? hlo_build_node(node, HLO_OP_broadcast_in_dim, whole, 1, &part, 1, &dims) : NULL;
}

static hlo_value_t* times(hlo_node_t* node, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(node, HLO_OP_multiply, x, y);
}

static hlo_parts_t sum_of_terms(hlo_node_t* node, const side_t sides[2], int64_t terms,
                                hlo_parts_t x, hlo_parts_t y) {
  hlo_parts_t sum = {NULL, NULL};
  for (int64_t i = 0; i < terms; ++i) {
    hlo_value_t *a = spread_term(node, &sides[0], x.re, i),
                *b = spread_term(node, &sides[0], x.im, i);
    hlo_value_t *c = spread_term(node, &sides[1], y.re, i),
                *d = spread_term(node, &sides[1], y.im, i);
    hlo_value_t* re = combine(node, HLO_OP_subtract, times(node, a, c), times(node, b, d));
    hlo_value_t* im = combine(node, HLO_OP_add, times(node, a, d), times(node, b, c));
    sum.re = combine(node, HLO_OP_add, sum.re, re);
    sum.im = combine(node, HLO_OP_add, sum.im, im);
  }
  return sum;
}

hlo_parts_t hlo_complex_product(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_parts_t x = operands[0], y = operands[1];
  const hlo_type_t* type = node->results[0].type;
  if (!x.im || !y.im || !hlo_dtype_is_complex(type->dtype)) return (hlo_parts_t){NULL, NULL};
  side_t sides[2] = {0};
  const bool is_plain =
      node->op == HLO_OP_dot_general && type->dtype == hlo_node_operand_type(node, 0)->dtype;
  const int64_t terms = is_plain ? read_sides(node, sides) : 0;
  return or_zero(node, terms ? sum_of_terms(node, sides, terms, x, y) : four_products(node, x, y));
}
