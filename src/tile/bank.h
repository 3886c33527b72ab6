// SPDX-License-Identifier: Apache-2.0
// Conflicts of a warp's lanes in memory of 32 banks of 4 bytes, of which each serves one word at a
// time.
#pragma once

#include "tile/layout.h"

enum { HLO_TILE_BANKS = 32, HLO_TILE_BANK_BYTES = 4, HLO_TILE_LANE_BITS = 5 };

/// Where lanes access memory: bit i of a lane's number moves it by strides[i] elements.
typedef struct hlo_tile_lane_bits {
  uint32_t count;
  int64_t strides[HLO_TILE_LANE_BITS];
} hlo_tile_lane_bits_t;

/// Returns the lane bits of registers whose elements are in memory; false: the layouts do
/// not divide alike, or a lane's step is no power of two.
bool hlo_tile_lane_bits_of(const hlo_tile_layout_t* memory, const hlo_tile_layout_t* registers,
                           hlo_tile_lane_bits_t* out_bits);

/// Returns how often as long the access takes as one without conflicts: 1 without any. Lanes
/// with 8 or 16 bytes each are served by halves or quarters of a warp. swizzle: of byte addresses.
/// Where every bit moves one bit of the address, addresses are linear maps of the lane's number
/// over the field of two elements, swizzled ones too, and the answer is 2^(rank of the words - rank
/// of the banks): a proof. Otherwise the lanes are counted.
uint32_t hlo_tile_bank_conflicts(const hlo_tile_lane_bits_t* lanes, uint32_t element_bytes,
                                 hlo_swizzle_t swizzle);

/// Returns a byte address as the swizzle exchanges its bits.
static inline uint64_t hlo_tile_swizzled_address(uint64_t address, hlo_swizzle_t swizzle) {
  const uint64_t mask = ((UINT64_C(1) << swizzle.bits) - 1) << swizzle.base;
  return address ^ ((address >> swizzle.shift) & mask);
}
