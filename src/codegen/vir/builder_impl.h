// SPDX-License-Identifier: Apache-2.0
// Shared by the builder's files: drafts of instructions and their folding.
#pragma once

#include "codegen/vir/builder.h"

static inline bool hlo_vir_is_const_index(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_iconst;
}

/// Returns an existing or simpler value equal to the pure instruction `draft` (no operand is a
/// var), or NULL. May emit other instructions.
hlo_vir_value_t* hlo_vir_fold(hlo_vir_builder_t* b, const hlo_vir_value_t* draft);

/// Moves constant terms of the base and index of a MEMORY op into its displacement.
void hlo_vir_fold_address(hlo_vir_value_t* draft);
