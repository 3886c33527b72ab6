// SPDX-License-Identifier: Apache-2.0
// Products of complex matrices and convolutions as products of their parts (see complex_parts.h).
// Terms with a part that is known to be zero are left out.
#include "base/tuning.h"
#include "passes/complex_parts.h"
#include "passes/constants.h"

// Returns x + y or x - y; NULL is zero.
static hlo_value_t* add_parts(hlo_node_t* node, hlo_op_t op, hlo_value_t* x, hlo_value_t* y) {
  if (x && y) return hlo_build_binary(node, op, x, y);
  return y && op == HLO_OP_subtract ? hlo_build_unary(node, HLO_OP_negate, y) : y ? y : x;
}

static hlo_parts_t or_zero(hlo_node_t* node, hlo_parts_t sum) {
  const hlo_type_t* type = hlo_part_type(node->parent->module, node->results[0].type);
  if (!sum.re) sum.re = hlo_build_splat(node, type, 0);
  if (!sum.im) sum.im = hlo_build_splat(node, type, 0);
  return sum;
}

// ---- one op per pair of parts

static hlo_value_t* product_of(hlo_node_t* node, hlo_value_t* x, hlo_value_t* y) {
  const hlo_type_t* type = hlo_part_type(node->parent->module, node->results[0].type);
  if (hlo_constant_is_zero(x) || hlo_constant_is_zero(y)) return NULL;
  return hlo_build_like(node, type, (hlo_value_t*[]){x, y});
}

static hlo_parts_t four_products(hlo_node_t* node, hlo_parts_t x, hlo_parts_t y) {
  hlo_value_t *ac = product_of(node, x.re, y.re), *bd = product_of(node, x.im, y.im);
  hlo_value_t *ad = product_of(node, x.re, y.im), *bc = product_of(node, x.im, y.re);
  hlo_value_t* re = add_parts(node, HLO_OP_subtract, ac, bd);
  return (hlo_parts_t){re, add_parts(node, HLO_OP_add, ad, bc)};
}

// ---- contractions of a few elements, as in quantum gates and small rotations: sums of elementwise
// products, computed in loops over the result, which make one pass over the operands however small
// the matrices are

typedef struct side {
  uint32_t count, batch_count;
  const int64_t *dims, *batch_dims;  // contracted; shared with the result
  uint32_t first_free;               // first dimension of the result that only this operand has
} side_t;

// Fills in both sides and returns the number of contracted elements.
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

// Broadcasts the elements of term number `term` to the shape of the result; NULL: zeros.
static hlo_value_t* broadcast_term(hlo_node_t* node, const side_t* side, hlo_value_t* value,
                                   int64_t term) {
  if (hlo_constant_is_zero(value)) return NULL;
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
    hlo_value_t *a = broadcast_term(node, &sides[0], x.re, i),
                *b = broadcast_term(node, &sides[0], x.im, i);
    hlo_value_t *c = broadcast_term(node, &sides[1], y.re, i),
                *d = broadcast_term(node, &sides[1], y.im, i);
    hlo_value_t *ac = hlo_build_multiply(node, a, c), *bd = hlo_build_multiply(node, b, d);
    hlo_value_t *ad = hlo_build_multiply(node, a, d), *bc = hlo_build_multiply(node, b, c);
    hlo_value_t* re = add_parts(node, HLO_OP_subtract, ac, bd);
    hlo_value_t* im = add_parts(node, HLO_OP_add, ad, bc);
    sum.re = add_parts(node, HLO_OP_add, sum.re, re);
    sum.im = add_parts(node, HLO_OP_add, sum.im, im);
  }
  return sum;
}

// ---- stacked products: one real product for both parts, (a, b) ((c, d), (-d, c)) = (ac - bd, ad +
// bc), that reads and writes complex buffers in place

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
  const bool is_sparse = hlo_constant_is_zero(rhs.re) || hlo_constant_is_zero(rhs.im) ||
                         (lhs && (hlo_constant_is_zero(lhs->re) || hlo_constant_is_zero(lhs->im)));
  const int64_t least = hlo_type_element_count(y) *
                        (terms <= HLO_TUNING_COMPLEX_SUM_MAX_TERMS ? 1 : HLO_TUNING_COMPLEX_TALL);
  return terms > HLO_TUNING_COMPLEX_SUM_FEW_TERMS && !is_sparse && y->rank + 2 <= HLO_RANK_MAX &&
         hlo_type_element_count(x) >= least &&
         (!lhs || terms <= HLO_TUNING_COMPLEX_STACK_MAX_TERMS);
}

// Transposes `part` so that its contracted dimensions follow the batch dimensions, and adds two
// dimensions of one element: one after the contracted dimensions and one innermost.
static hlo_value_t* arrange_part(hlo_node_t* node, const side_t* side, hlo_value_t* part) {
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
  const hlo_type_t* transposed = hlo_type_tensor(module, type->dtype, rank, dims);
  const hlo_type_t* widened = hlo_type_tensor(module, type->dtype, rank + 2, wide);
  part = hlo_build_node(node, HLO_OP_transpose, transposed, 1, &part, 1, &permutation);
  return hlo_build_reshape(node, widened, part);
}

hlo_value_t* hlo_complex_stacked_product(hlo_node_t* node, hlo_value_t* lhs, hlo_parts_t rhs) {
  if (!lhs) return NULL;
  hlo_module_t* module = node->parent->module;
  side_t sides[2] = {0};
  read_sides(node, sides);
  const side_t *x = &sides[0], *y = &sides[1];
  const uint32_t rank = rhs.re->type->rank, inner = y->batch_count + y->count;
  hlo_value_t *c = arrange_part(node, y, rhs.re), *d = arrange_part(node, y, rhs.im);
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

// ---- products that read a large operand once, as a complex buffer, instead of splitting it into
// parts and multiplying each of them. The small operand gets its parts next to each other, as two
// rows for one (columns if it is the second operand):
//   - if the large operand's innermost dimension is contracted, its parts are contracted, too:
//     (a, -b; b, a) (c, d) = (ac - bd; bc + ad);
//   - otherwise its parts are columns: (a; b) (c, d) = (ac, ad; bc, bd), and the sums of matching
//     terms are computed from the results.

static int64_t free_count(const side_t* side, const hlo_type_t* type) {
  return type->rank - side->count - side->batch_count;
}

// Returns true if the contracted dimensions are the innermost ones, in order.
static bool contracts_innermost(const side_t* side, const hlo_type_t* type) {
  for (uint32_t i = 0; i < side->count; ++i) {
    if (side->dims[i] != type->rank - side->count + i) return false;
  }
  return side->count > 0;
}

static bool innermost_is_free(const side_t* side, const hlo_type_t* type) {
  const int64_t last = (int64_t)type->rank - 1;
  return last >= 0 && !hlo_dims_contain(side->dims, side->count, last, NULL) &&
         !hlo_dims_contain(side->batch_dims, side->batch_count, last, NULL);
}

bool hlo_complex_product_reads_whole(const hlo_node_t* node, uint32_t large, hlo_parts_t small) {
  if (node->op != HLO_OP_dot_general || !is_of_one_type(node)) return false;
  side_t sides[2] = {0};
  const int64_t terms = read_sides(node, sides);
  const hlo_type_t* type = hlo_node_operand_type(node, large);
  const hlo_type_t* other = hlo_node_operand_type(node, 1 - large);
  const uint32_t rank = type->rank > other->rank ? type->rank : other->rank;
  return terms > HLO_TUNING_COMPLEX_SUM_MAX_TERMS && rank + 2 <= HLO_RANK_MAX &&
         node->results[0].type->rank + 2 <= HLO_RANK_MAX && !hlo_constant_is_zero(small.re) &&
         !hlo_constant_is_zero(small.im) &&
         hlo_type_element_count(type) >= HLO_TUNING_COMPLEX_TALL * hlo_type_element_count(other) &&
         (innermost_is_free(&sides[large], type) ||
          (large == 1 && contracts_innermost(&sides[1], type)));
}

// Returns the dimension of the small operand before which its doubled rows or columns are inserted.
static uint32_t doubled_dim(const side_t* side, const hlo_type_t* type) {
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (!hlo_dims_contain(side->dims, side->count, d, NULL) &&
        !hlo_dims_contain(side->batch_dims, side->batch_count, d, NULL)) {
      return d;
    }
  }
  return 0;
}

// Adds dimensions of one element to `part`: before `dim`, and innermost where `is_summed`.
static hlo_value_t* widen_part(hlo_node_t* node, hlo_value_t* part, uint32_t dim, bool is_summed) {
  const hlo_type_t* type = part->type;
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) dims[d + (d >= dim)] = type->dims[d];
  dims[dim] = dims[type->rank + 1] = 1;
  return hlo_build_reshape(
      node, hlo_type_tensor(node->parent->module, type->dtype, type->rank + 1 + is_summed, dims),
      part);
}

static hlo_value_t* double_small(hlo_node_t* node, hlo_parts_t small, uint32_t dim,
                                 bool is_summed) {
  hlo_value_t *a = widen_part(node, small.re, dim, is_summed),
              *b = widen_part(node, small.im, dim, is_summed);
  if (!is_summed) return hlo_build_pair(node, a, b, dim);
  const uint32_t last = small.re->type->rank + 1;
  hlo_value_t* minus_b = hlo_build_unary(node, HLO_OP_negate, b);
  hlo_value_t* re = hlo_build_pair(node, a, minus_b, last);
  hlo_value_t* im = hlo_build_pair(node, b, a, last);
  return hlo_build_pair(node, re, im, dim);
}

// Sets the dimension numbers of one operand of `product`: those of `side`, with another dimension
// before `dim` that is contracted, too, if `summed` is not negative.
static void set_dims(hlo_node_t* product, uint32_t operand, const side_t* side, uint32_t dim,
                     int64_t summed) {
  static const hlo_attr_id_t CONTRACTED[] = {HLO_ATTR_lhs_contracting_dimensions,
                                             HLO_ATTR_rhs_contracting_dimensions};
  static const hlo_attr_id_t BATCH[] = {HLO_ATTR_lhs_batching_dimensions,
                                        HLO_ATTR_rhs_batching_dimensions};
  hlo_module_t* module = product->parent->module;
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t i = 0; i < side->count; ++i) dims[i] = side->dims[i] + (side->dims[i] >= dim);
  dims[side->count] = summed;
  hlo_node_set_attr(product, CONTRACTED[operand],
                    hlo_attr_ints(module, side->count + (summed >= 0), dims));
  for (uint32_t i = 0; i < side->batch_count; ++i) {
    dims[i] = side->batch_dims[i] + (side->batch_dims[i] >= dim);
  }
  hlo_node_set_attr(product, BATCH[operand], hlo_attr_ints(module, side->batch_count, dims));
}

// The layout of the product of both parts. Its dimensions are those of the result in `order` and
// two more: at[0] for the small operand and at[1] for the large one (last of all if the large
// operand's parts are contracted).
typedef struct layout {
  uint32_t operand;  // number of the small one
  int64_t order[HLO_RANK_MAX];
  uint32_t at[2];
} layout_t;

static layout_t layout_of(const hlo_node_t* node, const side_t sides[2], uint32_t large,
                          bool is_summed) {
  const hlo_type_t *x = hlo_node_operand_type(node, 0), *result = node->results[0].type;
  const uint32_t batch = sides[0].batch_count, rank = result->rank;
  const uint32_t middle = batch + (uint32_t)free_count(&sides[0], x);
  int64_t columns = 1;
  for (uint32_t d = middle; d < rank; ++d) columns *= result->dims[d];
  // A few columns are faster as rows, which are transposed afterwards.
  const bool is_transposed = large == 0 && columns <= HLO_TUNING_COMPLEX_FEW_COLUMNS;
  layout_t layout = {.operand = large == 0 && !is_transposed};
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t transposed =
        d < rank - middle + batch ? d + middle - batch : d - (rank - middle);
    layout.order[d] = is_transposed && d >= batch ? transposed : d;
  }
  const bool is_second = layout.operand == 1;
  layout.at[0] = is_second ? middle + 1 : batch;
  layout.at[1] = is_second ? middle : rank + 1 + (is_summed ? 1 : 0);
  return layout;
}

// Takes the sums from `product` for part `p` of the small operand and `q` of the large one.
static hlo_value_t* take_sums(hlo_node_t* node, hlo_value_t* product, const hlo_type_t* part,
                              const layout_t* layout, int64_t p, int64_t q) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = product->type;
  int64_t first[HLO_RANK_MAX] = {0}, sizes[HLO_RANK_MAX], dims[HLO_RANK_MAX], back[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) {
    const bool is_part = d == layout->at[0] || d == layout->at[1];
    sizes[d] = is_part ? 1 : type->dims[d];
    if (is_part) first[d] = d == layout->at[0] ? p : q;
  }
  for (uint32_t d = 0; d < part->rank; ++d) {
    dims[d] = part->dims[layout->order[d]];
    back[layout->order[d]] = d;
  }
  const hlo_type_t* slice = hlo_type_with_dims(module, type, type->rank, sizes);
  const hlo_type_t* ordered = hlo_type_with_dims(module, part, part->rank, dims);
  hlo_value_t* sums =
      hlo_build_reshape(node, ordered, hlo_build_slice(node, slice, product, first, NULL));
  const hlo_named_attr_t permutation = {HLO_ATTR_permutation,
                                        hlo_attr_ints(module, part->rank, back)};
  return hlo_build_node(node, HLO_OP_transpose, part, 1, &sums, 1, &permutation);
}

hlo_parts_t hlo_complex_whole_product(hlo_node_t* node, uint32_t large, hlo_value_t* whole,
                                      hlo_parts_t small) {
  hlo_module_t* module = node->parent->module;
  side_t sides[2] = {0};
  read_sides(node, sides);
  const side_t* other = &sides[1 - large];
  const hlo_type_t* type = hlo_node_operand_type(node, large);
  const hlo_type_t* part = hlo_part_type(module, node->results[0].type);
  if (!part || !whole) return (hlo_parts_t){NULL, NULL};
  const bool is_summed = !innermost_is_free(&sides[large], type);
  const layout_t layout = layout_of(node, sides, large, is_summed);
  const uint32_t rank = part->rank + (is_summed ? 1 : 2), operand = layout.operand;
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0, from = 0; d < rank; ++d) {
    dims[d] = d == layout.at[0] || d == layout.at[1] ? 2 : part->dims[layout.order[from++]];
  }
  const uint32_t dim = doubled_dim(other, small.re->type);
  hlo_value_t* doubled = double_small(node, small, dim, is_summed);
  hlo_value_t* product = hlo_build_like(
      node, hlo_type_tensor(module, part->dtype, rank, dims),
      (hlo_value_t*[]){operand == 0 ? doubled : whole, operand == 0 ? whole : doubled});
  if (!product) return (hlo_parts_t){NULL, NULL};
  const int64_t summed = is_summed ? small.re->type->rank + INT64_C(1) : -1;
  set_dims(product->def, operand, other, dim, summed);
  set_dims(product->def, 1 - operand, &sides[large], HLO_RANK_MAX,
           is_summed ? (int64_t)type->rank : -1);
  hlo_value_t* sums[2][2] = {{NULL}};
  for (uint32_t i = 0; i < (is_summed ? 2 : 4); ++i) {
    sums[i & 1][i >> 1] = take_sums(node, product, part, &layout, i & 1, i >> 1);
  }
  if (is_summed) return (hlo_parts_t){sums[0][0], sums[1][0]};
  hlo_value_t* re = add_parts(node, HLO_OP_subtract, sums[0][0], sums[1][1]);
  return (hlo_parts_t){re, add_parts(node, HLO_OP_add, sums[0][1], sums[1][0])};
}

hlo_parts_t hlo_complex_product(hlo_node_t* node, const hlo_parts_t* operands) {
  const hlo_parts_t x = operands[0], y = operands[1];
  const hlo_type_t* type = node->results[0].type;
  if (!x.im || !y.im || !hlo_dtype_is_complex(type->dtype)) return (hlo_parts_t){NULL, NULL};
  side_t sides[2] = {0};
  const bool is_plain = node->op == HLO_OP_dot_general && is_of_one_type(node);
  const int64_t terms = is_plain ? read_sides(node, sides) : 0;
  const bool is_small = terms > 0 && terms <= HLO_TUNING_COMPLEX_SUM_MAX_TERMS;
  return or_zero(node,
                 is_small ? sum_of_terms(node, sides, terms, x, y) : four_products(node, x, y));
}
