// SPDX-License-Identifier: Apache-2.0
// The semantics of the TILE ops of vir.def, for the interpreter and for tests of machine code:
// eight tiles of up to 16 rows of 64 bytes; products of two are accumulated in a third.
#pragma once

#include "codegen/vir/vir.h"

enum { HLO_VIR_TILE_COUNT = 8, HLO_VIR_TILE_ROWS = 16, HLO_VIR_TILE_ROW_BYTES = 64 };

/// Rows past a tile's own are zero.
typedef struct hlo_vir_tiles {
  uint8_t rows[HLO_VIR_TILE_COUNT];  // 0: the tile is not configured
  uint8_t data[HLO_VIR_TILE_COUNT][HLO_VIR_TILE_ROWS][HLO_VIR_TILE_ROW_BYTES];
} hlo_vir_tiles_t;

/// Converts the tiles' rows to the immediate of tile_config, and back.
int64_t hlo_vir_tile_config(const uint8_t rows[HLO_VIR_TILE_COUNT]);
static inline uint8_t hlo_vir_tile_config_rows(int64_t imm, uint32_t tile) {
  return (uint8_t)((uint64_t)imm >> 8 * tile);
}
/// Returns the flags of tile_load and tile_store.
static inline uint32_t hlo_vir_tile_flags(uint32_t tile, uint32_t rows) {
  return tile | (rows - 1) << 3;
}
static inline uint32_t hlo_vir_tile_of(uint32_t flags) {
  return flags & (HLO_VIR_TILE_COUNT - 1);
}
static inline uint32_t hlo_vir_tile_rows(uint32_t flags) {
  return (flags >> 3) + 1;
}
/// Returns the immediate of tile_dot: the tiles of the accumulator and of the factors.
static inline int64_t hlo_vir_tile_operands(uint32_t sum, uint32_t a, uint32_t b) {
  return (int64_t)(sum | a << 4 | b << 8);
}
static inline uint32_t hlo_vir_tile_operand(int64_t imm, uint32_t at) {
  return (uint32_t)(imm >> 4 * at) & 15;
}
const char* hlo_vir_tile_kind_name(hlo_vir_tile_kind_t kind);

void hlo_vir_tiles_configure(hlo_vir_tiles_t* tiles, int64_t imm);
/// Computes sum += a b for the flags (hlo_vir_tile_kind_t) and immediate of a tile_dot. False if a
/// tile is not configured or the shapes do not match. Call it in the state of hlo_fp_enter().
bool hlo_vir_tiles_dot(hlo_vir_tiles_t* tiles, uint32_t kind, int64_t imm);
