// SPDX-License-Identifier: Apache-2.0
// Products of tiles as processors compute them (see tile.h).
// source: Intel SDM volume 2, TDPBSSD, TDPBF16PS, TDPFP16PS
#include "codegen/vir/tile.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "codegen/vir/lane.h"

enum { GROUP_BYTES = 4, COLUMNS = HLO_VIR_TILE_ROW_BYTES / GROUP_BYTES, BYTES = 4, HALVES = 2 };

int64_t hlo_vir_tile_config(const uint8_t rows[HLO_VIR_TILE_COUNT]) {
  uint64_t imm = 0;
  for (uint32_t i = 0; i < HLO_VIR_TILE_COUNT; ++i) imm |= (uint64_t)rows[i] << 8 * i;
  return (int64_t)imm;
}

const char* hlo_vir_tile_kind_name(hlo_vir_tile_kind_t kind) {
  static const char* const names[] = {"s8s8", "s8u8", "u8s8", "u8u8", "bf16", "f16"};
  return kind < HLO_VIR_TILE_KIND_COUNT ? names[kind] : "?";
}

void hlo_vir_tiles_configure(hlo_vir_tiles_t* tiles, int64_t imm) {
  memset(tiles, 0, sizeof *tiles);
  for (uint32_t i = 0; i < HLO_VIR_TILE_COUNT; ++i)
    tiles->rows[i] = hlo_vir_tile_config_rows(imm, i);
}

// ---- products of four bytes and of two halves

static int32_t byte_of(uint32_t group, uint32_t at, bool is_signed) {
  uint8_t byte = (uint8_t)(group >> 8 * at);
  return is_signed ? (int8_t)byte : byte;
}

static uint32_t dot_bytes(uint32_t kind, const uint32_t* a, const uint32_t* b, uint32_t sum) {
  bool is_a_signed = kind == HLO_VIR_TILE_S8S8 || kind == HLO_VIR_TILE_S8U8;
  bool is_b_signed = kind == HLO_VIR_TILE_S8S8 || kind == HLO_VIR_TILE_U8S8;
  for (uint32_t k = 0; k < COLUMNS; ++k) {
    for (uint32_t i = 0; i < BYTES; ++i) {
      sum += (uint32_t)(byte_of(a[k], i, is_a_signed) * byte_of(b[k * COLUMNS], i, is_b_signed));
    }
  }
  return sum;
}

static float half_of(uint32_t group, uint32_t at, uint32_t kind) {
  uint32_t bits = group >> 16 * at & 0xffff;
  return kind == HLO_VIR_TILE_F16 ? hlo_f16_to_f32((uint16_t)bits)
                                  : hlo_bf16_to_f32((uint16_t)bits);
}

static float add(float x, float y) {
  return hlo_vir_flush(hlo_vir_flush(x) + hlo_vir_flush(y));
}

static float dot_halves(uint32_t kind, const uint32_t* a, const uint32_t* b, float sum) {
  float parts[HALVES] = {0};
  for (uint32_t k = 0; k < COLUMNS; ++k) {
    for (uint32_t i = 0; i < HALVES; ++i) {
      float x = hlo_vir_flush(half_of(a[k], i, kind));
      float y = hlo_vir_flush(half_of(b[k * COLUMNS], i, kind));
      parts[i] = hlo_vir_flush(fmaf(x, y, parts[i]));
    }
  }
  return add(sum, add(parts[0], parts[1]));
}

// ---- tiles

bool hlo_vir_tiles_dot(hlo_vir_tiles_t* tiles, uint32_t kind, int64_t imm) {
  uint32_t sum = hlo_vir_tile_operand(imm, 0), a = hlo_vir_tile_operand(imm, 1);
  uint32_t b = hlo_vir_tile_operand(imm, 2), rows = tiles->rows[sum];
  if (!rows || tiles->rows[a] != rows || tiles->rows[b] != HLO_VIR_TILE_ROWS) return false;
  uint32_t factors[2][HLO_VIR_TILE_ROWS][COLUMNS];
  memcpy(factors[0], tiles->data[a], sizeof factors[0]);
  memcpy(factors[1], tiles->data[b], sizeof factors[1]);
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < COLUMNS; ++c) {
      uint8_t* at = &tiles->data[sum][r][GROUP_BYTES * c];
      if (kind >= HLO_VIR_TILE_BF16) {
        float value;
        memcpy(&value, at, sizeof value);
        value = dot_halves(kind, factors[0][r], &factors[1][0][c], value);
        memcpy(at, &value, sizeof value);
      } else {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        value = dot_bytes(kind, factors[0][r], &factors[1][0][c], value);
        memcpy(at, &value, sizeof value);
      }
    }
  }
  return true;
}
