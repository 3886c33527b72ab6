// SPDX-License-Identifier: Apache-2.0
// From IR to descriptions of HLO, and what the files of that work share: the way back of build.h.
// Tuples are made again, captured values become operands, regions become computations.
#ifndef HLO_FRONTEND_HLO_EXPORT_H_
#define HLO_FRONTEND_HLO_EXPORT_H_

#include "base/hashmap.h"
#include "base/vec.h"
#include "frontend/hlo/build.h"

/// Describes a verified module. All memory is the arena's, or lent from the module.
/// errors: UNIMPLEMENTED (an op or type that HLO does not have, by name and place),
///         INVALID_ARGUMENT (no entry function, recursion), RESOURCE_EXHAUSTED
hlo_status_t hlo_desc_export(const hlo_module_t* module, hlo_arena_t* arena,
                             hlo_desc_module_t* out_desc) HLO_MUST_USE;

typedef struct hlo_exporter {
  const hlo_module_t* module;
  hlo_arena_t* arena;
  bool partitioned;  // shardings of Shardy mean something
  hlo_map_t funcs;   // function to id of its computation, or the mark of one being made
  hlo_map_t names;   // of computations
  HLO_VEC(hlo_desc_computation_t) computations;
  int64_t instruction_count;
  uint32_t region_count;
  uint32_t depth;
  const hlo_node_t* current;  // where instructions come from, and errors
} hlo_exporter_t;

/// One computation being made.
typedef struct hlo_export_scope {
  hlo_exporter_t* exporter;
  HLO_VEC(hlo_desc_instruction_t) instructions;
  hlo_map_t values;  // value to id of its instruction
  bool sinks;        // pure ops of outer regions may be repeated here
} hlo_export_scope_t;

/// Ids of instructions; memory of the arena.
typedef struct hlo_export_ids {
  int64_t* items;
  uint32_t count;
} hlo_export_ids_t;

/// An error at the current node.
hlo_status_t hlo_export_fault(const hlo_exporter_t* ex, hlo_status_code_t code, const char* format,
                              ...) HLO_PRINTF(3, 4) HLO_MUST_USE;
/// UNIMPLEMENTED: the current op, and why.
hlo_status_t hlo_export_refuse(const hlo_exporter_t* ex, const char* why) HLO_MUST_USE;

// ---- shapes

/// errors: UNIMPLEMENTED (quantized elements and the like)
hlo_status_t hlo_export_shape(const hlo_exporter_t* ex, const hlo_type_t* type,
                              hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// A tuple of `count` shapes.
hlo_desc_shape_t hlo_export_tuple_shape(uint32_t count, hlo_desc_shape_t* items);
/// The shape of an array of other dimensions.
hlo_status_t hlo_export_array_shape(const hlo_exporter_t* ex, int32_t element_type, uint32_t rank,
                                    const int64_t* dims, hlo_desc_shape_t* out_shape) HLO_MUST_USE;
/// A list of int64 in the arena.
hlo_status_t hlo_export_ints(const hlo_exporter_t* ex, uint32_t count, const int64_t* values,
                             hlo_wire_array_t* out_array) HLO_MUST_USE;
hlo_wire_bytes_t hlo_export_text(const char* text);

// ---- instructions

/// Appends an instruction of the given fields; name, id, shape and operands are set here.
hlo_status_t hlo_export_add(hlo_export_scope_t* s, const char* opcode,
                            const hlo_desc_shape_t* shape, uint32_t operand_count,
                            const int64_t* operands, const hlo_desc_instruction_t* fields,
                            int64_t* out_id) HLO_MUST_USE;
/// The instruction that a value is; a captured constant is repeated.
hlo_status_t hlo_export_value(hlo_export_scope_t* s, const hlo_value_t* value,
                              int64_t* out_id) HLO_MUST_USE;
/// Those of operands first ... last - 1.
hlo_status_t hlo_export_operands(hlo_export_scope_t* s, const hlo_node_t* node, uint32_t first,
                                 uint32_t last, hlo_export_ids_t* out_ids) HLO_MUST_USE;
hlo_status_t hlo_export_bind(hlo_export_scope_t* s, const hlo_value_t* value,
                             int64_t id) HLO_MUST_USE;
/// Shapes of the results of a node.
hlo_status_t hlo_export_result_shapes(hlo_exporter_t* ex, const hlo_node_t* node,
                                      hlo_desc_shape_t** out_shapes) HLO_MUST_USE;
/// The array, or the tuple, of these ids: the only one itself, else a tuple instruction.
hlo_status_t hlo_export_pack(hlo_export_scope_t* s, const hlo_export_ids_t* ids,
                             int64_t* out_id) HLO_MUST_USE;
/// Elements first ... first + count - 1 of tuple `id` as the values that are used.
hlo_status_t hlo_export_unpack(hlo_export_scope_t* s, int64_t id, uint32_t first, uint32_t count,
                               hlo_value_t* values, const hlo_desc_shape_t* shapes) HLO_MUST_USE;
/// get-tuple-element.
hlo_status_t hlo_export_element(hlo_export_scope_t* s, int64_t tuple, uint32_t index,
                                const hlo_desc_shape_t* shape, int64_t* out_id) HLO_MUST_USE;
/// An instruction with the results of a node: one, or a tuple that is taken apart.
hlo_status_t hlo_export_results(hlo_export_scope_t* s, const hlo_node_t* node, const char* opcode,
                                const hlo_export_ids_t* operands,
                                const hlo_desc_instruction_t* fields) HLO_MUST_USE;
/// One op, by its row in the op table or what export_ops.c says of it.
hlo_status_t hlo_export_node(hlo_export_scope_t* s, const hlo_node_t* node) HLO_MUST_USE;
hlo_status_t hlo_export_special(hlo_export_scope_t* s, const hlo_node_t* node,
                                bool* out_found) HLO_MUST_USE;
hlo_status_t hlo_export_row(hlo_export_scope_t* s, const hlo_node_t* node,
                            const char* opcode) HLO_MUST_USE;

// ---- computations

/// How arguments of a region become parameters.
typedef enum hlo_export_args {
  HLO_EXPORT_SEPARATE,  // a parameter each
  HLO_EXPORT_PACKED,    // one parameter, a tuple unless it is one value
} hlo_export_args_t;

/// A region as a computation. `captured` are values of outer regions that follow its arguments;
/// `passes_on`: they are returned behind the results as well.
hlo_status_t hlo_export_region(hlo_exporter_t* ex, const hlo_region_t* region,
                               hlo_export_args_t args, uint32_t captured_count,
                               const hlo_value_t* const* captured, bool passes_on,
                               int64_t* out_id) HLO_MUST_USE;
/// A function as a computation, made on its first use.
hlo_status_t hlo_export_func(hlo_exporter_t* ex, const hlo_func_t* func,
                             int64_t* out_id) HLO_MUST_USE;
/// Values of outer regions that the regions use, but for constants that are cheaper repeated.
hlo_status_t hlo_export_captures(hlo_exporter_t* ex, uint32_t region_count,
                                 hlo_region_t* const* regions, uint32_t* out_count,
                                 const hlo_value_t*** out_values) HLO_MUST_USE;
/// The called computations of an instruction.
hlo_status_t hlo_export_calls(const hlo_exporter_t* ex, uint32_t count, const int64_t* ids,
                              hlo_desc_instruction_t* in) HLO_MUST_USE;

// ---- attributes

/// The fields of an instruction from the attributes of a node; the way back of hlo_desc_attrs().
hlo_status_t hlo_desc_fields(const hlo_exporter_t* ex, const hlo_node_t* node,
                             hlo_desc_instruction_t* in) HLO_MUST_USE;
/// What StableHLO keeps beside an op's own attributes, or of an argument.
hlo_status_t hlo_export_extra(const hlo_exporter_t* ex, const hlo_attr_t* extra,
                              hlo_desc_instruction_t* in) HLO_MUST_USE;
/// Adds a frontend attribute; they are sorted by key.
hlo_status_t hlo_export_frontend(const hlo_exporter_t* ex, const char* key, const char* text,
                                 size_t length, hlo_desc_string_map_t** map) HLO_MUST_USE;
/// Meshes of Shardy as XLA keeps them, among the module's frontend attributes.
hlo_status_t hlo_export_meshes(const hlo_exporter_t* ex, hlo_desc_module_t* desc) HLO_MUST_USE;
/// Groups of devices from axes of a mesh, "#stablehlo.replica_group_mesh_axes<...>".
hlo_status_t hlo_export_mesh_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                    hlo_wire_array_t* out_groups) HLO_MUST_USE;
/// "#sdy.sharding_per_value<[...]>" of one sharding, or of a list, and their like.
hlo_status_t hlo_export_sharding_text(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                      const char* wrapper, const char** out_text) HLO_MUST_USE;

#endif  // HLO_FRONTEND_HLO_EXPORT_H_
