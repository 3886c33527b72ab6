// SPDX-License-Identifier: Apache-2.0
// IR to descriptions of HLO, the reverse of build.h, and the helpers that its files share: several
// values become tuples, captured values operands, regions computations.
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "frontend/hlo/build.h"

/// Describes a verified module. All memory belongs to the arena or is borrowed from the module.
/// errors : UNIMPLEMENTED (an op or type that HLO lacks, by name and location), INVALID_ARGUMENT
/// (no entry function, recursion), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_export(const hlo_module_t* module, hlo_arena_t* arena,
                             hlo_desc_module_t* out_desc) HLO_MUST_USE;

typedef struct hlo_exporter {
  const hlo_module_t* module;
  hlo_arena_t* arena;
  bool partitioned;  // Shardy's shardings have an effect
  hlo_map_t funcs;   // function to id of its computation, or IN_PROGRESS
  hlo_map_t names;   // of computations
  HLO_VEC(hlo_desc_computation_t) computations;
  int64_t instruction_count;
  uint32_t region_count;
  uint32_t depth;
  const hlo_node_t* current;  // the location of instructions and errors
} hlo_exporter_t;

/// A computation while it is built.
typedef struct hlo_export_scope {
  hlo_exporter_t* exporter;
  HLO_VEC(hlo_desc_instruction_t) instructions;
  hlo_map_t values;  // value to id of its instruction
  bool sinks;        // pure ops of outer regions may be duplicated here
} hlo_export_scope_t;

/// Ids of instructions; memory of the arena.
typedef struct hlo_export_ids {
  int64_t* items;
  uint32_t count;
} hlo_export_ids_t;

/// Returns an error at the current node.
hlo_status_t hlo_export_fault(const hlo_exporter_t* ex, hlo_status_code_t code, const char* format,
                              ...) HLO_PRINTF(3, 4) HLO_MUST_USE;
/// Returns UNIMPLEMENTED: the current op, and why.
hlo_status_t hlo_export_refuse(const hlo_exporter_t* ex, const char* why) HLO_MUST_USE;

// ---- shapes

/// Makes the shape of a type.
/// errors : UNIMPLEMENTED (quantized elements and the like)
hlo_status_t hlo_export_shape(const hlo_exporter_t* ex, const hlo_type_t* type,
                              hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// Returns a tuple of `count` shapes.
hlo_desc_shape_t hlo_export_tuple_shape(uint32_t count, hlo_desc_shape_t* items);
/// Makes the shape of an array with other dimensions.
hlo_status_t hlo_export_array_shape(const hlo_exporter_t* ex, int32_t element_type, uint32_t rank,
                                    const int64_t* dims, hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// Copies a list of int64 into the arena.
hlo_status_t hlo_export_ints(const hlo_exporter_t* ex, uint32_t count, const int64_t* values,
                             hlo_wire_array_t* out_array) HLO_MUST_USE;
hlo_wire_bytes_t hlo_export_text(const char* text);

// ---- instructions

/// Appends an instruction with the given fields; sets name, id, shape and operands.
hlo_status_t hlo_export_add(hlo_export_scope_t* s, const char* opcode,
                            const hlo_desc_shape_t* shape, uint32_t operand_count,
                            const int64_t* operands, const hlo_desc_instruction_t* fields,
                            int64_t* out_id) HLO_MUST_USE;
/// Returns the instruction of a value; a captured constant is duplicated.
hlo_status_t hlo_export_value(hlo_export_scope_t* s, const hlo_value_t* value,
                              int64_t* out_id) HLO_MUST_USE;
/// Returns the instructions of operands first ... last - 1.
hlo_status_t hlo_export_operands(hlo_export_scope_t* s, const hlo_node_t* node, uint32_t first,
                                 uint32_t last, hlo_export_ids_t* out_ids) HLO_MUST_USE;
hlo_status_t hlo_export_bind(hlo_export_scope_t* s, const hlo_value_t* value,
                             int64_t id) HLO_MUST_USE;
/// Makes the shapes of a node's results.
hlo_status_t hlo_export_result_shapes(hlo_exporter_t* ex, const hlo_node_t* node,
                                      hlo_desc_shape_t** out_shapes) HLO_MUST_USE;
/// Returns the only id, or a tuple instruction of several.
hlo_status_t hlo_export_pack(hlo_export_scope_t* s, const hlo_export_ids_t* ids,
                             int64_t* out_id) HLO_MUST_USE;
/// Maps the elements first ... first + count - 1 of tuple `id` to the values that are used.
hlo_status_t hlo_export_unpack(hlo_export_scope_t* s, int64_t id, uint32_t first, uint32_t count,
                               hlo_value_t* values, const hlo_desc_shape_t* shapes) HLO_MUST_USE;
/// Adds a get-tuple-element.
hlo_status_t hlo_export_element(hlo_export_scope_t* s, int64_t tuple, uint32_t index,
                                const hlo_desc_shape_t* shape, int64_t* out_id) HLO_MUST_USE;
/// Adds an instruction with the results of a node: one, or a tuple that is unpacked.
hlo_status_t hlo_export_results(hlo_export_scope_t* s, const hlo_node_t* node, const char* opcode,
                                const hlo_export_ids_t* operands,
                                const hlo_desc_instruction_t* fields) HLO_MUST_USE;
/// Exports one op, by its row in the op table or by its function in export_ops.c.
hlo_status_t hlo_export_node(hlo_export_scope_t* s, const hlo_node_t* node) HLO_MUST_USE;
hlo_status_t hlo_export_special(hlo_export_scope_t* s, const hlo_node_t* node,
                                bool* out_found) HLO_MUST_USE;
hlo_status_t hlo_export_row(hlo_export_scope_t* s, const hlo_node_t* node,
                            const char* opcode) HLO_MUST_USE;

// ---- computations

/// The mapping of a region's arguments to parameters.
typedef enum hlo_export_args {
  HLO_EXPORT_SEPARATE,  // one parameter per argument
  HLO_EXPORT_PACKED,    // one parameter, a tuple unless it has one element
} hlo_export_args_t;

/// Exports a region as a computation. `captured` are values of outer regions that follow its
/// arguments; with `passes_on`, they also follow its results.
hlo_status_t hlo_export_region(hlo_exporter_t* ex, const hlo_region_t* region,
                               hlo_export_args_t args, uint32_t captured_count,
                               const hlo_value_t* const* captured, bool passes_on,
                               int64_t* out_id) HLO_MUST_USE;
/// Exports a region without captured values as a computation of this name, with one parameter per
/// argument.
hlo_status_t hlo_export_named_region(hlo_exporter_t* ex, const hlo_region_t* region,
                                     const char* name, int64_t* out_id) HLO_MUST_USE;
/// Makes a computation of one parameter that only calls another one.
hlo_status_t hlo_export_wrapper(hlo_exporter_t* ex, int64_t callee,
                                const hlo_desc_shape_t* parameter, const hlo_desc_shape_t* result,
                                int64_t* out_id) HLO_MUST_USE;
/// Exports a function as a computation, on first use.
hlo_status_t hlo_export_func(hlo_exporter_t* ex, const hlo_func_t* func,
                             int64_t* out_id) HLO_MUST_USE;
/// Finds the values of outer regions that the regions use, except for constants that are cheaper to
/// duplicate.
hlo_status_t hlo_export_captures(hlo_exporter_t* ex, uint32_t region_count,
                                 hlo_region_t* const* regions, uint32_t* out_count,
                                 const hlo_value_t*** out_values) HLO_MUST_USE;
/// Sets the called computations of an instruction.
hlo_status_t hlo_export_calls(const hlo_exporter_t* ex, uint32_t count, const int64_t* ids,
                              hlo_desc_instruction_t* in) HLO_MUST_USE;

// ---- attributes

/// Sets the fields of an instruction from the attributes of a node; the reverse of
/// hlo_desc_attrs().
hlo_status_t hlo_desc_fields(const hlo_exporter_t* ex, const hlo_node_t* node,
                             hlo_desc_instruction_t* in) HLO_MUST_USE;
/// Sets the fields for the discardable attributes of an op or an argument.
hlo_status_t hlo_export_extra(const hlo_exporter_t* ex, const hlo_attr_t* extra,
                              hlo_desc_instruction_t* in) HLO_MUST_USE;
/// Adds a frontend attribute; the list is sorted by key.
hlo_status_t hlo_export_frontend(const hlo_exporter_t* ex, const char* key, const char* text,
                                 size_t length, hlo_desc_string_map_t** map) HLO_MUST_USE;
/// Adds Shardy's meshes, as XLA stores them, to the module's frontend attributes.
hlo_status_t hlo_export_meshes(const hlo_exporter_t* ex, hlo_desc_module_t* desc) HLO_MUST_USE;
/// Makes groups of devices from axes of a mesh, "#stablehlo.replica_group_mesh_axes<...>".
hlo_status_t hlo_export_mesh_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                    hlo_wire_array_t* out_groups) HLO_MUST_USE;
/// Makes "#sdy.sharding_per_value<[...]>" of one sharding or of a list, and similar text.
hlo_status_t hlo_export_sharding_text(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                      const char* wrapper, const char** out_text) HLO_MUST_USE;
