// SPDX-License-Identifier: Apache-2.0
// Shapes and trees of values (see tree.h). Readers bound the nesting of shapes, and a tree has no
// more leaves than the shape that the input spells out.
#include "frontend/hlo/build.h"

uint32_t hlo_desc_leaf_count(const hlo_desc_shape_t* shape) {
  if (shape->element_type != HLO_DESC_TUPLE) return 1;
  uint32_t count = 0;
  const hlo_desc_shape_t* items = shape->tuple_shapes.items;
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) count += hlo_desc_leaf_count(&items[i]);
  return count;
}

uint32_t hlo_desc_number_leaves(hlo_desc_shape_t* shape, uint32_t first) {
  shape->first_leaf = first;
  if (shape->element_type != HLO_DESC_TUPLE) return 1;
  uint32_t count = 0;
  hlo_desc_shape_t* items = shape->tuple_shapes.items;
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) {
    count += hlo_desc_number_leaves(&items[i], first + count);
  }
  return count;
}

int64_t hlo_desc_leaf_number(const hlo_desc_shape_t* shape, const hlo_wire_array_t* path) {
  uint32_t first = shape->first_leaf;
  for (size_t i = 0; i < path->count; ++i) {
    int64_t index = ((const int64_t*)path->items)[i];
    if (shape->element_type != HLO_DESC_TUPLE || index < 0 ||
        index >= (int64_t)shape->tuple_shapes.count) {
      return -1;
    }
    shape = (const hlo_desc_shape_t*)shape->tuple_shapes.items + index;
  }
  return shape->element_type == HLO_DESC_TUPLE ? -1 : (int64_t)(shape->first_leaf - first);
}

static hlo_status_t leaf_type(hlo_desc_builder_t* b, const hlo_desc_shape_t* shape,
                              const hlo_type_t** out_type) {
  hlo_type_kind_t kind = HLO_TYPE_TENSOR;
  if (shape->element_type == HLO_DESC_BUFFER) {
    kind = HLO_TYPE_BUFFER;
    if (shape->tuple_shapes.count == 1) shape = shape->tuple_shapes.items;
    if (hlo_dtype_from_primitive(shape->element_type) == HLO_DTYPE_TOKEN ||
        shape->tuple_shapes.count) {
      return hlo_invalid_argument("the shape of the buffer is not an array");
    }
  }
  hlo_dtype_t dtype = hlo_dtype_from_primitive(shape->element_type);
  if (dtype == HLO_DTYPE_INVALID) {
    return hlo_unimplemented("XLA's element type number %d is not supported",
                             (int)shape->element_type);
  }
  if (dtype == HLO_DTYPE_TOKEN) {
    *out_type = hlo_type_token(b->module);
    return *out_type ? hlo_ok() : hlo_module_status(b->module);
  }
  size_t rank = shape->dimensions.count;
  const int64_t* sizes = shape->dimensions.items;
  const bool* dynamic = shape->is_dynamic_dimension.items;
  int64_t dims[HLO_RANK_MAX], bounds[HLO_RANK_MAX], known[HLO_RANK_MAX], count, bytes;
  if (rank > HLO_RANK_MAX) {
    return hlo_invalid_argument("rank %zu exceeds the limit of %d", rank, HLO_RANK_MAX);
  }
  bool bounded = false;
  for (size_t i = 0; i < rank; ++i) {
    bool unbounded = sizes[i] == HLO_DESC_UNBOUNDED;
    bool is_dynamic = unbounded || (i < shape->is_dynamic_dimension.count && dynamic[i]);
    dims[i] = is_dynamic ? HLO_DIM_DYNAMIC : sizes[i];
    bounds[i] = is_dynamic && sizes[i] >= 0 ? sizes[i] : HLO_DIM_DYNAMIC;
    bounded |= bounds[i] != HLO_DIM_DYNAMIC;
    known[i] = unbounded ? 1 : sizes[i];
  }
  if (!hlo_dims_element_count((uint32_t)rank, known, &count) ||
      __builtin_mul_overflow(count, (int64_t)hlo_dtype_size_bytes(dtype), &bytes)) {
    return hlo_invalid_argument("the shape has a negative dimension or too many elements");
  }
  *out_type = hlo_type_intern(b->module, &(hlo_type_t){.kind = kind,
                                                       .dtype = dtype,
                                                       .rank = (uint32_t)rank,
                                                       .dims = dims,
                                                       .bounds = bounded ? bounds : NULL});
  return *out_type ? hlo_ok() : hlo_module_status(b->module);
}

static hlo_status_t collect_types(hlo_desc_builder_t* b, const hlo_desc_shape_t* shape,
                                  hlo_desc_types_t* types) {
  if (shape->element_type != HLO_DESC_TUPLE) {
    HLO_TRY(leaf_type(b, shape, &types->items[types->count]));
    ++types->count;
    return hlo_ok();
  }
  const hlo_desc_shape_t* items = shape->tuple_shapes.items;
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) {
    HLO_TRY(collect_types(b, &items[i], types));
  }
  return hlo_ok();
}

hlo_status_t hlo_desc_leaf_types(hlo_desc_builder_t* b, const hlo_desc_shape_t* shape,
                                 hlo_desc_types_t* out_types) {
  uint32_t capacity = hlo_desc_leaf_count(shape);
  *out_types = (hlo_desc_types_t){hlo_arena_array(b->arena, capacity, sizeof(hlo_type_t*)), 0};
  if (!out_types->items) return hlo_arena_status(b->arena);
  return collect_types(b, shape, out_types);
}

static void collect_values(const hlo_desc_tree_t* tree, hlo_desc_values_t* values) {
  if (tree->leaf) values->items[values->count++] = tree->leaf;
  for (uint32_t i = 0; i < tree->count; ++i) collect_values(tree->items[i], values);
}

hlo_status_t hlo_desc_leaf_values(hlo_desc_builder_t* b, uint32_t count,
                                  const hlo_desc_tree_t* const* trees,
                                  hlo_desc_values_t* out_values) {
  size_t capacity = 0;  // the input may repeat the same trees
  for (uint32_t i = 0; i < count; ++i) capacity += trees[i]->leaf_count;
  if (capacity > UINT32_MAX) return hlo_status_out_of_memory(capacity);
  *out_values = (hlo_desc_values_t){hlo_arena_array(b->arena, capacity, sizeof(hlo_value_t*)), 0};
  if (!out_values->items) return hlo_arena_status(b->arena);
  for (uint32_t i = 0; i < count; ++i) collect_values(trees[i], out_values);
  return hlo_ok();
}

static hlo_status_t make_tree(hlo_desc_builder_t* b, const hlo_desc_shape_t* shape,
                              hlo_value_t* const** next, const hlo_desc_tree_t** out_tree) {
  hlo_desc_tree_t* tree = hlo_arena_alloc_zeroed(b->arena, sizeof *tree);
  if (!tree) return hlo_arena_status(b->arena);
  *out_tree = tree;
  if (shape->element_type != HLO_DESC_TUPLE) {
    tree->leaf = *(*next)++;
    tree->leaf_count = 1;
    return hlo_ok();
  }
  tree->count = (uint32_t)shape->tuple_shapes.count;
  const hlo_desc_tree_t** items = hlo_arena_array(b->arena, tree->count, sizeof *items);
  if (!items) return hlo_arena_status(b->arena);
  tree->items = items;
  const hlo_desc_shape_t* shapes = shape->tuple_shapes.items;
  for (uint32_t i = 0; i < tree->count; ++i) {
    HLO_TRY(make_tree(b, &shapes[i], next, &items[i]));
    tree->leaf_count += items[i]->leaf_count;
  }
  return hlo_ok();
}

hlo_status_t hlo_desc_make_tree(hlo_desc_builder_t* b, const hlo_desc_shape_t* shape,
                                const hlo_desc_values_t* values, const hlo_desc_tree_t** out_tree) {
  uint32_t wanted = hlo_desc_leaf_count(shape);
  if (wanted != values->count) {
    return hlo_invalid_argument("the shape has %u leaves, the value has %u", wanted, values->count);
  }
  hlo_value_t* const* next = values->items;
  return make_tree(b, shape, &next, out_tree);
}
