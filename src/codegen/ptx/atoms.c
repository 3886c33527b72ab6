// SPDX-License-Identifier: Apache-2.0
// The table of mma.def (see atoms.h).
#include "codegen/ptx/atoms.h"

typedef struct atom_row {
  hlo_tile_atom_t atom;
  uint32_t capability, version;
} atom_row_t;

static const atom_row_t kAtoms[] = {
#define HLO_PTX_ATOM(instruction, type, sums, steps, first, ptx, left, right, sum_layout) \
  {{.name = instruction,                                                                  \
    .op = HLO_TILE_ATOM_PRODUCT,                                                          \
    .operand = HLO_DTYPE_##type,                                                          \
    .result = HLO_DTYPE_##sums,                                                           \
    .rows = 16,                                                                           \
    .columns = 8,                                                                         \
    .depth = steps,                                                                       \
    .a = left,                                                                            \
    .b = right,                                                                           \
    .sum = sum_layout},                                                                   \
   first,                                                                                 \
   ptx},
#define HLO_PTX_GROUP_ATOM(instruction, type, sums, steps, rows_layout, sum_layout) \
  {{.name = instruction,                                                            \
    .op = HLO_TILE_ATOM_PRODUCT,                                                    \
    .operand = HLO_DTYPE_##type,                                                    \
    .result = HLO_DTYPE_##sums,                                                     \
    .rows = 64,                                                                     \
    .columns = 8,                                                                   \
    .depth = steps,                                                                 \
    .a = rows_layout,                                                               \
    .b = rows_layout,                                                               \
    .sum = sum_layout},                                                             \
   90,                                                                              \
   80},
#define HLO_PTX_TENSOR_ATOM(instruction, type, sums, steps, rows_layout, sum_layout) \
  {{.name = instruction,                                                             \
    .op = HLO_TILE_ATOM_PRODUCT,                                                     \
    .operand = HLO_DTYPE_##type,                                                     \
    .result = HLO_DTYPE_##sums,                                                      \
    .rows = 128,                                                                     \
    .columns = 16,                                                                   \
    .depth = steps,                                                                  \
    .a = rows_layout,                                                                \
    .b = rows_layout,                                                                \
    .sum = sum_layout},                                                              \
   100,                                                                              \
   86},
#define HLO_PTX_SCALED_ATOM(form, types, left_type, right_type, scales, elements, steps, \
                            left_layout, right_layout)                                   \
  {{.name = "mma.sync.aligned.m16n8k" form ".f32." types,                                \
    .op = HLO_TILE_ATOM_PRODUCT,                                                         \
    .operand = HLO_DTYPE_##left_type,                                                    \
    .result = HLO_DTYPE_F32,                                                             \
    .right = HLO_DTYPE_##right_type,                                                     \
    .scale = HLO_DTYPE_##scales,                                                         \
    .block = elements,                                                                   \
    .rows = 16,                                                                          \
    .columns = 8,                                                                        \
    .depth = steps,                                                                      \
    .a = left_layout,                                                                    \
    .b = right_layout,                                                                   \
    .sum = HLO_PTX_SUM},                                                                 \
   120,                                                                                  \
   87},
#include "codegen/ptx/mma.def"
};
enum { ATOM_COUNT = sizeof kAtoms / sizeof *kAtoms };
_Static_assert((int)ATOM_COUNT <= (int)HLO_TILE_MAX_ATOMS, "all atoms fit a target");

static bool is_there(const atom_row_t* row, const hlo_ptx_target_t* target) {
  if (row->atom.rows == 64 && target->mma != HLO_PTX_MMA_WARPGROUP) return false;
  if (row->atom.rows == 128 && target->mma != HLO_PTX_MMA_TENSOR_MEMORY) return false;
  const bool is_scaled = row->atom.scale != HLO_DTYPE_INVALID;
  const bool is_family = target->suffix && target->capability / 10 == row->capability / 10;
  if (is_scaled && !is_family) return false;
  return target->mma != HLO_PTX_MMA_NONE && row->capability <= target->capability;
}

uint32_t hlo_ptx_atoms(const hlo_ptx_target_t* target, bool allows_tf32,
                       hlo_tile_atom_t* out_atoms) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < ATOM_COUNT; ++i) {
    const bool is_tf32 = kAtoms[i].atom.operand == HLO_DTYPE_F32;
    if (!is_there(&kAtoms[i], target) || (is_tf32 && !allows_tf32)) continue;
    out_atoms[count++] = kAtoms[i].atom;
  }
  return count;
}

uint32_t hlo_ptx_atom_version(const hlo_ptx_target_t* target, uint32_t number) {
  for (uint32_t i = 0; i < ATOM_COUNT; ++i) {
    if (is_there(&kAtoms[i], target) && number-- == 0) return kAtoms[i].version;
  }
  return 0;
}
