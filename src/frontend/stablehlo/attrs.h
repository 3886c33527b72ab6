// SPDX-License-Identifier: Apache-2.0
// Attributes of StableHLO made from their fields: dictionaries if the IR reads them, else the text
// that MLIR prints.
#pragma once

#include "ir/module.h"

/// Appends a quoted string with MLIR's escapes.
void hlo_text_put_quoted(hlo_strbuf_t* text, const char* string, size_t length);
/// Appends "[1, 2]".
void hlo_text_put_ints(hlo_strbuf_t* text, uint32_t count, const int64_t* values);

/// Makes a DICT {output_tuple_indices, operand_index, operand_tuple_indices}.
hlo_status_t hlo_make_output_operand_alias(hlo_module_t* module, uint32_t output_count,
                                           const int64_t* output_indices, int64_t operand,
                                           uint32_t operand_count, const int64_t* operand_indices,
                                           const hlo_attr_t** out) HLO_MUST_USE;
/// Makes a DICT {atol, rtol, ulps, mode}.
hlo_status_t hlo_make_result_accuracy(hlo_module_t* module, double atol, double rtol, int64_t ulps,
                                      const hlo_attr_t* mode, const hlo_attr_t** out) HLO_MUST_USE;
/// Returns true for the accuracy of an op without the attribute.
bool hlo_is_default_accuracy(const hlo_attr_t* accuracy);

/// The following make OPAQUE attributes.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_make_sub_axis_info(hlo_module_t* module, int64_t pre_size, int64_t size,
                                    const hlo_attr_t** out) HLO_MUST_USE;
/// `info` comes from hlo_make_sub_axis_info() or is NULL.
hlo_status_t hlo_make_axis_ref(hlo_module_t* module, const hlo_attr_t* name, const hlo_attr_t* info,
                               const hlo_attr_t** out) HLO_MUST_USE;
hlo_status_t hlo_make_mesh_axis(hlo_module_t* module, const hlo_attr_t* name, int64_t size,
                                const hlo_attr_t** out) HLO_MUST_USE;
/// `axes`: ARRAY of hlo_make_mesh_axis(); `device_ids`: LITERAL or NULL.
hlo_status_t hlo_make_mesh(hlo_module_t* module, const hlo_attr_t* axes,
                           const hlo_attr_t* device_ids, const hlo_attr_t** out) HLO_MUST_USE;
/// `mesh`: STRING or SYMBOL that names a mesh, or from hlo_make_mesh(); `axes`: ARRAY of axis
/// references.
hlo_status_t hlo_make_replica_group_mesh_axes(hlo_module_t* module, const hlo_attr_t* mesh,
                                              const hlo_attr_t* axes,
                                              const hlo_attr_t** out) HLO_MUST_USE;
