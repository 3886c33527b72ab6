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
  const hlo_type_t* type = hlo_part_type(node->parent->module, node->results[0].type);
  if (is_zero(x) || is_zero(y)) return NULL;
  return hlo_build_like(node, type, (hlo_value_t*[]){x, y});
}

static hlo_parts_t four_products(hlo_node_t* node, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t *ac = product_of(node, x.re, y.re), *bd = product_of(node, x.im, y.im);
  hlo_value_t *ad = product_of(node, x.re, y.im), *bc = product_of(node, x.im, y.re);
  hlo_value_t* re = combine(node, HLO_OP_subtract, ac, bd);
  return (hlo_parts_t){re, combine(node, HLO_OP_add, ad, bc)};
}

// ---- contractions of a few elements, as gates and small rotations have: sums of what loops over
// the result compute, which take a pass over the operands however small the matrices are

// How many elements are contracted: what always is such a sum; what is, if no product of tall
// matrices (below); what is such a product if an operand has to be put together.
enum { FEW_TERMS = 4, MAX_TERMS = 8, MAX_STACKED = 64 };

typedef struct side {
  uint32_t count, batch_count;
  const int64_t *dims, *batch_dims;  // contracted; shared with the result
  uint32_t first_free;               // dimension of the result
} side_t;

// How many elements are contracted.
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
  for (uint32_t i = 0; i < sides[0].count; ++i) terms *= type->dims[sides[0].dims[i]];
  return terms;
}

// The elements of term number `term`, everywhere in the result; NULL: zeros.
static hlo_value_t* spread_term(hlo_node_t* node, const side_t* side, hlo_value_t* value,
                                int64_t term) {
  if (is_zero(value)) return NULL;
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = value->type;
  int64_t first[HLO_RANK_MAX] = {0}, sizes[HLO_RANK_MAX], kept[HLO_RANK_MAX], to[HLO_RANK_MAX];
  for (uint32_t i = side->count; i-- > 0;) {
    const int64_t size = type->dims[side->dims[i]];
    first[side->dims[i]] = term % size;
    term /= size;
  }
  uint32_t rank = 0, free = side->first_free, at;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const bool is_contracted = hlo_dims_contain(side->dims, side->count, d, NULL);
    sizes[d] = is_contracted ? 1 : type->dims[d];
    if (is_contracted) continue;
    kept[rank] = sizes[d];
    to[rank++] = hlo_dims_contain(side->batch_dims, side->batch_count, d, &at) ? at : free++;
  }
  const hlo_type_t* slice = hlo_type_tensor(module, type->dtype, type->rank, sizes);
  const hlo_type_t* line = hlo_type_tensor(module, type->dtype, rank, kept);
  const hlo_type_t* whole = hlo_type_with_dtype(module, node->results[0].type, type->dtype);
  hlo_value_t* part = hlo_build_slice(node, slice, value, first, NULL);
  return hlo_build_broadcast(node, whole, hlo_build_reshape(node, line, part), to);
}

static hlo_parts_t sum_of_terms(hlo_node_t* node, const side_t sides[2], int64_t terms,
                                hlo_parts_t x, hlo_parts_t y) {
  hlo_parts_t sum = {NULL, NULL};
  for (int64_t i = 0; i < terms; ++i) {
    hlo_value_t *a = spread_term(node, &sides[0], x.re, i),
                *b = spread_term(node, &sides[0], x.im, i);
    hlo_value_t *c = spread_term(node, &sides[1], y.re, i),
                *d = spread_term(node, &sides[1], y.im, i);
    hlo_value_t *ac = hlo_build_multiply(node, a, c), *bd = hlo_build_multiply(node, b, d);
    hlo_value_t *ad = hlo_build_multiply(node, a, d), *bc = hlo_build_multiply(node, b, c);
    hlo_value_t* re = combine(node, HLO_OP_subtract, ac, bd);
    hlo_value_t* im = combine(node, HLO_OP_add, ad, bc);
    sum.re = combine(node, HLO_OP_add, sum.re, re);
    sum.im = combine(node, HLO_OP_add, sum.im, im);
  }
  return sum;
}

// ---- one real product of both parts: (a, b) ((c, d), (-d, c)) = (ac - bd, ad + bc), so that
// buffers are read and written as they lie

enum { TALL = 4 };  // times the second operand: then making four of that costs little

static bool is_of_one_type(const hlo_node_t* node) {
  const hlo_dtype_t dtype = node->results[0].type->dtype;
  return hlo_dtype_is_complex(dtype) && hlo_node_operand_type(node, 0)->dtype == dtype &&
         hlo_node_operand_type(node, 1)->dtype == dtype;
}

bool hlo_complex_product_is_stacked(const hlo_node_t* node, const hlo_parts_t* lhs,
                                    hlo_parts_t rhs) {
  if (node->op != HLO_OP_dot_general || !is_of_one_type(node)) return false;
  side_t sides[2] = {0};
  const int64_t terms = read_sides(node, sides);
  const hlo_type_t *x = hlo_node_operand_type(node, 0), *y = hlo_node_operand_type(node, 1);
  for (uint32_t i = 0; i < sides[0].count; ++i) {
    if (sides[0].dims[i] != x->rank - sides[0].count + i) return false;
  }
  const bool is_sparse =
      is_zero(rhs.re) || is_zero(rhs.im) || (lhs && (is_zero(lhs->re) || is_zero(lhs->im)));
  const int64_t least = hlo_type_element_count(y) * (terms <= MAX_TERMS ? 1 : TALL);
  return terms > FEW_TERMS && !is_sparse && y->rank + 2 <= HLO_RANK_MAX &&
         hlo_type_element_count(x) >= least && (!lhs || terms <= MAX_STACKED);
}

// `part` with its contracted dimensions behind those of the batch, and two of one element: behind
// the contracted ones, and innermost.
static hlo_value_t* arrange(hlo_node_t* node, const side_t* side, hlo_value_t* part) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = part->type;
  int64_t order[HLO_RANK_MAX], dims[HLO_RANK_MAX], wide[HLO_RANK_MAX];
  const uint32_t inner = side->batch_count + side->count;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < side->batch_count; ++i) order[rank++] = side->batch_dims[i];
  for (uint32_t i = 0; i < side->count; ++i) order[rank++] = side->dims[i];
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (!hlo_dims_contain(side->batch_dims, side->batch_count, d, NULL) &&
        !hlo_dims_contain(side->dims, side->count, d, NULL)) {
      order[rank++] = d;
    }
  }
  for (uint32_t i = 0; i < rank; ++i) {
    dims[i] = type->dims[order[i]];
    wide[i + (i >= inner)] = dims[i];
  }
  wide[inner] = wide[rank + 1] = 1;
  const hlo_named_attr_t permutation = {HLO_ATTR_permutation, hlo_attr_ints(module, rank, order)};
  const hlo_type_t* turned = hlo_type_tensor(module, type->dtype, rank, dims);
  const hlo_type_t* widened = hlo_type_tensor(module, type->dtype, rank + 2, wide);
  part = hlo_build_node(node, HLO_OP_transpose, turned, 1, &part, 1, &permutation);
  return hlo_build_reshape(node, widened, part);
}

hlo_value_t* hlo_complex_stacked_product(hlo_node_t* node, hlo_value_t* lhs, hlo_parts_t rhs) {
  if (!lhs) return NULL;
  hlo_module_t* module = node->parent->module;
  side_t sides[2] = {0};
  read_sides(node, sides);
  const side_t *x = &sides[0], *y = &sides[1];
  const uint32_t rank = rhs.re->type->rank, inner = y->batch_count + y->count;
  hlo_value_t *c = arrange(node, y, rhs.re), *d = arrange(node, y, rhs.im);
  hlo_value_t* minus_d = hlo_build_unary(node, HLO_OP_negate, d);
  hlo_value_t* upper = hlo_build_pair(node, c, d, rank + 1);
  hlo_value_t* lower = hlo_build_pair(node, minus_d, c, rank + 1);
  hlo_value_t* matrix = hlo_build_pair(node, upper, lower, inner);
  int64_t counted[HLO_RANK_MAX], contracted[HLO_RANK_MAX];
  for (uint32_t i = 0; i < HLO_RANK_MAX; ++i) counted[i] = i;
  for (uint32_t i = 0; i < x->count; ++i) contracted[i] = x->dims[i];
  contracted[x->count] = lhs->type->rank - 1;
  const hlo_type_t* part = hlo_part_type(module, node->results[0].type);
  const hlo_type_t* type = part ? hlo_stacked_type(module, part, 2) : NULL;
  hlo_value_t* product = hlo_build_like(node, type, (hlo_value_t*[]){lhs, matrix});
  if (!product) return NULL;
  hlo_node_set_attr(product->def, HLO_ATTR_lhs_contracting_dimensions,
                    hlo_attr_ints(module, x->count + 1, contracted));
  hlo_node_set_attr(product->def, HLO_ATTR_rhs_contracting_dimensions,
                    hlo_attr_ints(module, y->count + 1, counted + y->batch_count));
  hlo_node_set_attr(product->def, HLO_ATTR_rhs_batching_dimensions,
                    hlo_attr_ints(module, y->batch_count, counted));
  return product;
}

hlo_parts_t hlo_complex_product(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_parts_t x = operands[0], y = operands[1];
  const hlo_type_t* type = node->results[0].type;
  if (!x.im || !y.im || !hlo_dtype_is_complex(type->dtype)) return (hlo_parts_t){NULL, NULL};
  side_t sides[2] = {0};
  const bool is_plain = node->op == HLO_OP_dot_general && is_of_one_type(node);
  const int64_t terms = is_plain ? read_sides(node, sides) : 0;
  const bool is_small = terms > 0 && terms <= MAX_TERMS;
  return or_zero(node,
                 is_small ? sum_of_terms(node, sides, terms, x, y) : four_products(node, x, y));
}
