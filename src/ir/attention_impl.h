// SPDX-License-Identifier: Apache-2.0
// Shared by the recognition of attention and that of its gradients (attention.c,
// attention_gradient.c). Dimensions are followed backwards from one product: each dimension of a
// value has the label of the axis of the scores that it runs along, which is the dimension of the
// probabilities, or of the scores' gradient, in that product; dimensions of one element have none.
#pragma once

#include "ir/attention.h"

enum {
  HLO_ATTENTION_NO_LABEL = -1,
  HLO_ATTENTION_DEPTH_LABEL = HLO_ATTENTION_MAX_RANK,  // a dimension that is no axis of the scores
  HLO_ATTENTION_MAX_MEMO = 128,
  HLO_ATTENTION_SEVERAL = -2,
};

/// A dimension number list of a product.
typedef struct hlo_attention_product {
  const hlo_node_t* node;
  hlo_ints_t batch[2], depth[2];
} hlo_attention_product_t;

typedef struct hlo_attention_match {
  hlo_attention_t* out;
  bool is_shared;  // other nodes may use what is matched
  hlo_attention_nodes_t visited;
  int64_t extents[HLO_ATTENTION_MAX_RANK];  // by label
  int8_t key_label;
  uint32_t product_count, product_limit;  // products that are scores
  hlo_attention_view_t products[2];
  hlo_attention_view_t most, sum;  // of a softmax
  uint32_t memo_count;
  hlo_attention_view_t memo[HLO_ATTENTION_MAX_MEMO];
  uint8_t memo_steps[HLO_ATTENTION_MAX_MEMO];
  hlo_attention_view_t arrays[HLO_ATTENTION_MAX_ARRAYS];
} hlo_attention_match_t;

/// Strides by label, and along the dimension that is no axis.
typedef struct hlo_attention_strides {
  int64_t axes[HLO_ATTENTION_MAX_RANK];
  int64_t depth;
} hlo_attention_strides_t;

/// Adds a node to those visited; false if there are too many.
bool hlo_attention_visit(hlo_attention_match_t* m, const hlo_node_t* node);
bool hlo_attention_is_plain(const hlo_type_t* type);
bool hlo_attention_is_float(hlo_dtype_t dtype);
bool hlo_attention_view_is_equal(const hlo_attention_view_t* a, const hlo_attention_view_t* b);
bool hlo_attention_view_has_label(const hlo_attention_view_t* view, int label);

/// Reads a float that is the same for all elements.
bool hlo_attention_read_number(const hlo_value_t* value, double* out);

/// Moves a view to the operand of an op that only moves elements, or broadcasts them if allowed.
bool hlo_attention_move(const hlo_attention_view_t* view, bool can_broadcast,
                        hlo_attention_view_t* out);
/// Follows movement, and conversions between floats, back to what computes the value.
bool hlo_attention_peel(hlo_attention_match_t* m, bool can_broadcast, hlo_attention_view_t* view);
/// Follows an operand of a product to the array in memory.
bool hlo_attention_peel_operand(hlo_attention_match_t* m, hlo_attention_view_t* view);

bool hlo_attention_read_product(const hlo_value_t* value, hlo_attention_product_t* out);
/// Returns the only contracted dimension of more than one element; -1 if all have one element,
/// HLO_ATTENTION_SEVERAL if there are more.
int32_t hlo_attention_contracted_dim(const hlo_attention_product_t* p, uint32_t side);
/// Gives the view of a product's operand from the labels of its result; false if it is contracted
/// along more than one dimension.
bool hlo_attention_view_operand(const hlo_attention_product_t* p, uint32_t side,
                                const int8_t* labels, hlo_attention_view_t* out);
/// Labels the other operand of a product of `weights` (operand `side`) and the product's result;
/// *extent becomes that of the other operand's free dimension, false if there are several.
bool hlo_attention_label_product(const hlo_attention_product_t* p, uint32_t side,
                                 const hlo_attention_view_t* weights, hlo_attention_view_t* other,
                                 int8_t* result_labels, int64_t* extent);
/// Labels `root` as a transpose of a product's result.
bool hlo_attention_label_root(hlo_attention_match_t* m, const hlo_attention_product_t* p,
                              const int8_t* result_labels, hlo_attention_view_t* root);
/// Returns the product whose transpose a root is.
const hlo_value_t* hlo_attention_product_of(const hlo_value_t* root);

/// Returns the number of the step that computes a view; -1 if none does.
int hlo_attention_build(hlo_attention_match_t* m, hlo_attention_view_t view, uint32_t depth);

/// Selects the rows: the longest axis that is free in the query and in the probabilities.
int hlo_attention_choose_rows(const hlo_attention_match_t* m, const hlo_attention_view_t* query,
                              const hlo_attention_view_t* key, const hlo_attention_view_t* value);
/// Resolves the index along each axis that the steps use.
bool hlo_attention_resolve_rows(hlo_attention_t* out, int row);
hlo_attention_strides_t hlo_attention_strides_of(const hlo_attention_view_t* view);
void hlo_attention_store_array(const hlo_attention_match_t* m, int row,
                               const hlo_attention_strides_t* strides, const hlo_value_t* value,
                               hlo_attention_array_t* out);
/// Stores the arrays that the steps read.
void hlo_attention_store_arrays(hlo_attention_match_t* m, int row);
