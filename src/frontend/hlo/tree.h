// SPDX-License-Identifier: Apache-2.0
// HLO shapes as types of the IR, and trees of values for tuples (private to hlo/).
#ifndef HLO_FRONTEND_HLO_TREE_H_
#define HLO_FRONTEND_HLO_TREE_H_

#include "frontend/hlo/build.h"

/// Types or values gathered from trees; memory of the builder's scratch arena.
typedef struct hlo_desc_types {
  const hlo_type_t** items;
  uint32_t count;
} hlo_desc_types_t;
typedef struct hlo_desc_values {
  hlo_value_t** items;
  uint32_t count;
} hlo_desc_values_t;

/// Returns the types of a shape's leaves, in order.
/// errors : UNIMPLEMENTED (an element type), INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_leaf_types(hlo_desc_builder_t* builder, const hlo_desc_shape_t* shape,
                                 hlo_desc_types_t* out_types) HLO_MUST_USE;
/// Returns the leaves of several trees, in order.
hlo_status_t hlo_desc_leaf_values(hlo_desc_builder_t* builder, uint32_t count,
                                  const hlo_desc_tree_t* const* trees,
                                  hlo_desc_values_t* out_values) HLO_MUST_USE;
/// Makes a tree in the form of the shape over `values`, which must be as many as the shape has
/// leaves.
hlo_status_t hlo_desc_make_tree(hlo_desc_builder_t* builder, const hlo_desc_shape_t* shape,
                                const hlo_desc_values_t* values,
                                const hlo_desc_tree_t** out_tree) HLO_MUST_USE;
uint32_t hlo_desc_leaf_count(const hlo_desc_shape_t* shape);
/// Numbers the leaves of a shape from `first` on (first_leaf); returns their count.
uint32_t hlo_desc_number_leaves(hlo_desc_shape_t* shape, uint32_t first);
/// Returns the number of the leaf at an index path in a numbered shape, from 0, or -1.
int64_t hlo_desc_leaf_number(const hlo_desc_shape_t* shape, const hlo_wire_array_t* path);

#endif  // HLO_FRONTEND_HLO_TREE_H_
