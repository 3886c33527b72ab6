// SPDX-License-Identifier: Apache-2.0
// Index expressions in vector IR: as one INDEX value, as vectors of lanes, as addresses of
// elements. Whoever emits loops says where they stand and how values of the program are found.
#pragma once

#include "codegen/math/elementwise.h"
#include "tile/expr.h"

enum { HLO_POSITION_NO_LANES = HLO_EXPR_MAX_LOOPS };

/// Where loops stand. Lent for each call.
typedef struct hlo_positions {
  hlo_vir_builder_t* b;
  hlo_vir_value_t* const* ivs;  // by number of the loop; with lanes that of the first one
  uint32_t lane_iv, lanes;      // the loop that has lanes, or HLO_POSITION_NO_LANES
  void* context;
  /// Returns an integer of the program as INDEX; of a u64 at most the atom's upper bound.
  hlo_vir_value_t* (*emit_scalar)(void* context, const hlo_expr_atom_t* atom);
  /// Returns the lanes of an integer of the program, and its type.
  hlo_vir_value_t* (*emit_lanes)(void* context, const hlo_expr_atom_t* atom,
                                 hlo_dtype_t* out_dtype);
} hlo_positions_t;

/// Returns an expression that is equal for all lanes as INDEX.
hlo_vir_value_t* hlo_position_emit(const hlo_positions_t* p, const hlo_expr_t* expr);
/// Returns the part of an expression that is equal for all lanes.
hlo_vir_value_t* hlo_position_emit_common(const hlo_positions_t* p, const hlo_expr_t* expr);
/// Returns the lanes' values of an expression.
hlo_vir_value_t* hlo_position_emit_lanes(const hlo_positions_t* p, hlo_vir_elem_t elem,
                                         const hlo_expr_t* expr);
/// Returns the narrowest element that can hold the expression and its parts: I32 or I64.
hlo_vir_elem_t hlo_position_elem(const hlo_expr_t* expr);
/// Returns the address of an element, or of the first of adjacent ones.
hlo_element_address_t hlo_position_emit_address(const hlo_positions_t* p, hlo_vir_value_t* base,
                                                hlo_dtype_t dtype, const hlo_expr_t* offset);
