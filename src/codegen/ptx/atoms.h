// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of GPUs (mma.def) as atoms of src/tile.
#pragma once

#include "codegen/ptx/sm.h"
#include "tile/target.h"

/// Writes the atoms of a target, at most HLO_TILE_MAX_ATOMS; their names are the instructions.
/// Returns their number. allows_tf32: products of f32 may round their operands to 11 bits; the
/// numbers of the other atoms do not depend on it.
uint32_t hlo_ptx_atoms(const hlo_ptx_target_t* target, bool allows_tf32,
                       hlo_tile_atom_t* out_atoms);

/// Returns the first PTX version that has the atom of a number.
uint32_t hlo_ptx_atom_version(const hlo_ptx_target_t* target, uint32_t number);
