// SPDX-License-Identifier: Apache-2.0
// Attributes that the bytecode of StableHLO, CHLO and VHLO encode alike except for their codes and,
// in meshes, for the encoding of names, lists and optional parts.
#pragma once

#include "frontend/bytecode/reader.h"

typedef hlo_status_t (*hlo_bc_attr_fn_t)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                         const hlo_attr_t** out);

/// The encoding of a mesh's parts in one dialect. Absent optional parts give NULL.
typedef struct hlo_bc_mesh_form {
  hlo_bc_attr_fn_t name;        // of an axis
  hlo_bc_attr_fn_t info;        // optional sub-axis of an axis reference
  hlo_bc_attr_fn_t device_ids;  // optional
  hlo_bc_attr_fn_t axes;        // list of axis references
} hlo_bc_mesh_form_t;

/// The codes of a dialect's attributes; 0 if the dialect lacks the attribute.
typedef struct hlo_bc_attr_codes {
  const hlo_bc_enum_code_t* enums;
  size_t enum_count;
  uint8_t bounds;
  uint8_t output_operand_alias, result_accuracy;
  uint8_t sub_axis_info, axis_ref, mesh_axis, mesh, replica_group_mesh_axes;
  const hlo_bc_mesh_form_t* mesh_form;
  /// Reads any other attribute, or returns an error.
  hlo_status_t (*read_other)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                             const hlo_attr_t** out);
} hlo_bc_attr_codes_t;

/// Reads an attribute: its code, then its fields.
hlo_status_t hlo_bc_read_coded_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_bc_attr_codes_t* codes,
                                    hlo_bc_attr_t* out) HLO_MUST_USE;

/// Reads a string of the string section as an attribute.
hlo_status_t hlo_bc_read_string_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     const hlo_attr_t** out) HLO_MUST_USE;
