// SPDX-License-Identifier: Apache-2.0
// From descriptions of HLO to IR, and what the files of that work share.
#ifndef HLO_FRONTEND_HLO_BUILD_H_
#define HLO_FRONTEND_HLO_BUILD_H_

#include <string.h>

#include "base/hashmap.h"
#include "frontend/hlo/desc.h"
#include "ir/module.h"

enum {
  HLO_DESC_ATTRS_MAX = 32,     // attributes of one node
  HLO_DESC_REGION_DEPTH = 64,  // computations within computations
};

/// Keys of the frontend attributes that say what a composite is: name, attributes, version.
#define HLO_DESC_COMPOSITE "composite."

/// The values that one instruction stands for: a leaf, or the elements of its tuple.
typedef struct hlo_desc_tree {
  hlo_value_t* leaf;
  uint32_t count, leaf_count;
  const struct hlo_desc_tree* const* items;
} hlo_desc_tree_t;

typedef struct hlo_desc_builder {
  const hlo_desc_module_t* desc;
  hlo_module_t* module;
  hlo_arena_t* arena;      // scratch
  const char* file;        // for places in text; NULL: a proto
  hlo_map_t computations;  // id to hlo_desc_computation_t
  hlo_map_t funcs;         // computation (pointer) to hlo_func_t
  hlo_map_t names;         // of functions
  uint32_t depth;
  size_t source_left;  // bytes of computations that may still be built, each use of one counted
  const hlo_desc_instruction_t* current;  // for the place of an error
} hlo_desc_builder_t;

/// What is known of a node before it is made.
typedef struct hlo_desc_node {
  hlo_desc_builder_t* builder;
  const hlo_desc_instruction_t* instruction;
  hlo_op_t op;
  uint32_t attr_count;
  hlo_named_attr_t attrs[HLO_DESC_ATTRS_MAX];
} hlo_desc_node_t;

/// Fills `module`. On failure *out_line and *out_col say where (0: unknown or a proto).
/// errors: INVALID_ARGUMENT, UNIMPLEMENTED (an op, by name), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_build(const hlo_desc_module_t* desc, const char* file, hlo_arena_t* arena,
                            hlo_module_t* module, uint32_t* out_line,
                            uint32_t* out_col) HLO_MUST_USE;

/// The attributes of an op from the fields of its instruction, appended to node->attrs.
hlo_status_t hlo_desc_attrs(hlo_desc_node_t* node) HLO_MUST_USE;
void hlo_desc_add_attr(hlo_desc_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value);

/// Layouts of the entry's arguments and results as attributes of its function (ir/entry_layout.h):
/// those of desc->shape, else those that its parameters and its root are written with.
/// errors: INVALID_ARGUMENT (shapes that do not fit the entry), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_mark_layouts(hlo_desc_builder_t* b, hlo_func_t* entry,
                                   const hlo_desc_instruction_t* const* parameters,
                                   uint32_t parameter_count,
                                   const hlo_desc_instruction_t* root) HLO_MUST_USE;

/// The groups of devices of a collective, one a row, from whichever form the instruction has; rows
/// of different sizes are filled up with -1.
/// errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_groups(hlo_desc_node_t* node, const hlo_attr_t** out_groups) HLO_MUST_USE;
/// Groups along axes of a mesh: ids of all, a row of `cols` each; memory of the arena.
/// errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_mesh_groups(hlo_arena_t* arena, const hlo_desc_mesh_list_t* list,
                                  uint32_t* out_rows, uint32_t* out_cols,
                                  int64_t** out_ids) HLO_MUST_USE;

/// A literal of the IR (row-major) from a description. The caller releases it.
/// errors: INVALID_ARGUMENT (data does not fit the shape), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_make_literal(const hlo_desc_literal_t* desc, const hlo_desc_shape_t* shape,
                                   hlo_literal_t** out_literal) HLO_MUST_USE;

/// Fills the field of the element type from desc->elements.
/// errors: UNIMPLEMENTED (an element type), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_fill_literal(hlo_arena_t* arena, const hlo_desc_shape_t* shape,
                                   hlo_desc_literal_t* desc) HLO_MUST_USE;

/// The operation of an asynchronous opcode: dot of dot-start, dot-update and dot-done; empty if the
/// opcode ends in none of these.
hlo_wire_bytes_t hlo_desc_async_opcode(hlo_wire_bytes_t opcode);

static inline bool hlo_bytes_equal(hlo_wire_bytes_t bytes, const char* text) {
  return bytes.size == strlen(text) &&
         (bytes.size == 0 || memcmp(bytes.data, text, bytes.size) == 0);
}

#endif  // HLO_FRONTEND_HLO_BUILD_H_
