// SPDX-License-Identifier: Apache-2.0
// The mapping of ops of the serialized dialects to the op table, and the attributes in their
// properties.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "ir/ops.h"

/// The newest StableHLO version whose ops are known.
#define HLO_STABLEHLO_MAJOR 1
#define HLO_STABLEHLO_MINOR 20

typedef enum hlo_bc_op_kind {
  HLO_BC_OP_NODE,    // `op`
  HLO_BC_OP_MODULE,  // builtin.module
  HLO_BC_OP_FUNC,    // a function
  HLO_BC_OP_CAST,    // a cast between a type of VHLO and the same type of another dialect
} hlo_bc_op_kind_t;

typedef struct hlo_bc_op_schema {
  const char* name;       // with the dialect, "vhlo.add_v1"
  uint16_t since, until;  // VHLO: versions as 1000 * major + minor; else 0
  hlo_bc_op_kind_t kind;
  hlo_op_t op;
  /// Attributes in the order of their encoding, separated by blanks, with marks: '?' optional,
  /// '+' optional and unknown to older producers, '*' segment sizes.
  const char* properties;
} hlo_bc_op_schema_t;

/// Returns the version in a producer string "StableHLO_v1.17.0" as 1000 * major + minor; 0 for any
/// other string.
uint32_t hlo_stablehlo_version(const char* producer);
/// Returns true for a version newer than the newest known one.
static inline bool hlo_stablehlo_is_newer(uint32_t version) {
  return version > HLO_STABLEHLO_MAJOR * 1000 + HLO_STABLEHLO_MINOR;
}

/// Finds an op by its name with the dialect: a row of vhlo.def, or an op of the op table, whose
/// schema is made in `arena`. Sets *out_schema to NULL if the op is unknown.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_bc_find_op(hlo_arena_t* arena, const char* name,
                            const hlo_bc_op_schema_t** out_schema) HLO_MUST_USE;
