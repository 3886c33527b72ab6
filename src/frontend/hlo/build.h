// SPDX-License-Identifier: Apache-2.0
// Descriptions of HLO to IR: the interface, and the helpers that its files share; shapes
// as types, and trees of values for tuples.
#pragma once

#include <string.h>

#include "base/hashmap.h"
#include "frontend/hlo/desc.h"
#include "ir/module.h"

enum {
  HLO_DESC_ATTRS_MAX = 32,     // attributes of one node
  HLO_DESC_REGION_DEPTH = 64,  // nested computations
};

/// Prefix of the frontend attributes that describe a composite: name, attributes, version.
#define HLO_DESC_COMPOSITE "composite."

/// The values of one instruction: a leaf, or the elements of its tuple.
typedef struct hlo_desc_tree {
  hlo_value_t* leaf;
  uint32_t count, leaf_count;
  const struct hlo_desc_tree* const* items;
} hlo_desc_tree_t;

typedef struct hlo_desc_builder {
  const hlo_desc_module_t* desc;
  hlo_module_t* module;
  hlo_arena_t* arena;      // scratch
  const char* file;        // of text locations; NULL for a proto
  hlo_map_t computations;  // id to hlo_desc_computation_t
  hlo_map_t funcs;         // computation (pointer) to hlo_func_t
  hlo_map_t names;         // of functions
  uint32_t depth;
  size_t source_left;  // bytes of computations that may still be built; each use counts
  const hlo_desc_instruction_t* current;  // the location of errors
} hlo_desc_builder_t;

/// The parts of a node before it is created.
typedef struct hlo_desc_node {
  hlo_desc_builder_t* builder;
  const hlo_desc_instruction_t* instruction;
  hlo_op_t op;
  uint32_t attr_count;
  hlo_named_attr_t attrs[HLO_DESC_ATTRS_MAX];
} hlo_desc_node_t;

/// Fills `module`. On failure *out_line and *out_col are the location (0: unknown or a proto).
/// errors : INVALID_ARGUMENT, UNIMPLEMENTED (an op, by name), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_build(const hlo_desc_module_t* desc, const char* file, hlo_arena_t* arena,
                            hlo_module_t* module, uint32_t* out_line,
                            uint32_t* out_col) HLO_MUST_USE;

/// Appends the attributes of an op, from the fields of its instruction, to node->attrs.
hlo_status_t hlo_desc_attrs(hlo_desc_node_t* node) HLO_MUST_USE;
void hlo_desc_add_attr(hlo_desc_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value);

/// Records the layouts of the entry's arguments and results as attributes of its function
/// (ir/entry_layout.h): those of desc->shape, else those of its parameters and its root.
/// errors : INVALID_ARGUMENT (shapes that do not match the entry), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_mark_layouts(hlo_desc_builder_t* b, hlo_func_t* entry,
                                   const hlo_desc_instruction_t* const* parameters,
                                   uint32_t parameter_count,
                                   const hlo_desc_instruction_t* root) HLO_MUST_USE;

/// Returns the device groups of a collective, one per row, from whichever form the instruction has;
/// short rows end in -1.
/// errors : INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_groups(hlo_desc_node_t* node, const hlo_attr_t** out_groups) HLO_MUST_USE;

/// Makes a literal of the IR (row-major) from a description.
/// errors : INVALID_ARGUMENT (the data does not match the shape), RESOURCE_EXHAUSTED
/// owner  : the caller
hlo_status_t hlo_desc_make_literal(const hlo_desc_literal_t* desc, const hlo_desc_shape_t* shape,
                                   hlo_literal_t** out_literal) HLO_MUST_USE;

/// Fills the proto field of the element type from desc->elements.
/// errors : UNIMPLEMENTED (an element type), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_fill_literal(hlo_arena_t* arena, const hlo_desc_shape_t* shape,
                                   hlo_desc_literal_t* desc) HLO_MUST_USE;

/// Returns the operation of an asynchronous opcode: dot for dot-start, dot-update and dot-done;
/// empty for any other opcode.
hlo_wire_bytes_t hlo_desc_async_opcode(hlo_wire_bytes_t opcode);

static inline bool hlo_bytes_equal(hlo_wire_bytes_t bytes, const char* text) {
  return bytes.size == strlen(text) &&
         (bytes.size == 0 || memcmp(bytes.data, text, bytes.size) == 0);
}

// ---- shapes as types of the IR, and trees of values for tuples

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
