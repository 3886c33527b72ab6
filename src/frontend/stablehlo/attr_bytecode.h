// SPDX-License-Identifier: Apache-2.0
// What the bytecode of StableHLO, CHLO and VHLO share: attributes that are alike but for their
// codes and, in meshes, for how a name, a list and an optional part are written.
#ifndef HLO_FRONTEND_STABLEHLO_ATTR_BYTECODE_H_
#define HLO_FRONTEND_STABLEHLO_ATTR_BYTECODE_H_

#include "frontend/bytecode/reader.h"

typedef hlo_status_t (*hlo_bc_attr_fn_t)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                         const hlo_attr_t** out);

/// The pieces of meshes as one dialect writes them. Optional ones give NULL where they are absent.
typedef struct hlo_bc_mesh_form {
  hlo_bc_attr_fn_t name;        // of an axis
  hlo_bc_attr_fn_t info;        // optional sub-axis of an axis reference
  hlo_bc_attr_fn_t device_ids;  // optional
  hlo_bc_attr_fn_t axes;        // list of axis references
} hlo_bc_mesh_form_t;

/// The codes of a dialect's attributes; 0: it has none of the sort.
typedef struct hlo_bc_attr_codes {
  const hlo_bc_enum_code_t* enums;
  size_t enum_count;
  uint8_t bounds;
  uint8_t output_operand_alias, result_accuracy;
  uint8_t sub_axis_info, axis_ref, mesh_axis, mesh, replica_group_mesh_axes;
  const hlo_bc_mesh_form_t* mesh_form;
  /// All others, or an error.
  hlo_status_t (*read_other)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                             const hlo_attr_t** out);
} hlo_bc_attr_codes_t;

/// Reads an attribute: its code, then what the code stands for.
hlo_status_t hlo_bc_read_coded_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_bc_attr_codes_t* codes,
                                    hlo_bc_attr_t* out) HLO_MUST_USE;

/// A string of the string section as an attribute.
hlo_status_t hlo_bc_read_string_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     const hlo_attr_t** out) HLO_MUST_USE;

#endif  // HLO_FRONTEND_STABLEHLO_ATTR_BYTECODE_H_
