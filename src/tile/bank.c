// SPDX-License-Identifier: Apache-2.0
// Bank conflicts as ranks of matrices over the field of two elements (see bank.h).
#include "tile/bank.h"

#include "tile/layout_impl.h"

// Returns the rank of vectors of bits, which are changed.
static uint32_t rank_of(uint64_t* vectors, uint32_t count) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!vectors[i]) continue;
    const uint64_t pivot = vectors[i] & (0 - vectors[i]);
    for (uint32_t j = i + 1; j < count; ++j) {
      if (vectors[j] & pivot) vectors[j] ^= vectors[i];
    }
    ++rank;
  }
  return rank;
}

// Returns how many different words the fullest bank has to serve.
static uint32_t count_lanes(const hlo_tile_lane_bits_t* lanes, uint32_t bits,
                            uint32_t element_bytes, hlo_swizzle_t swizzle) {
  uint64_t words[1 << HLO_TILE_LANE_BITS];
  const uint32_t lane_count = 1u << bits;
  uint32_t most = 1;
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    int64_t element = 0;
    for (uint32_t i = 0; i < bits; ++i) element += (lane >> i & 1) ? lanes->strides[i] : 0;
    words[lane] =
        hlo_tile_swizzled_address((uint64_t)element * element_bytes, swizzle) / HLO_TILE_BANK_BYTES;
  }
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    uint32_t served = 1;
    for (uint32_t other = 0; other < lane_count; ++other) {
      bool is_new = words[other] != words[lane] &&
                    words[other] % HLO_TILE_BANKS == words[lane] % HLO_TILE_BANKS;
      for (uint32_t before = 0; before < other; ++before) is_new &= words[before] != words[other];
      served += is_new;
    }
    if (served > most) most = served;
  }
  return most;
}

uint32_t hlo_tile_bank_conflicts(const hlo_tile_lane_bits_t* lanes, uint32_t element_bytes,
                                 hlo_swizzle_t swizzle) {
  uint64_t words[HLO_TILE_LANE_BITS], banks[HLO_TILE_LANE_BITS], seen = 0;
  bool is_linear = (element_bytes & (element_bytes - 1)) == 0;
  const uint32_t served_bits = element_bytes >= 16  ? HLO_TILE_LANE_BITS - 2
                               : element_bytes == 8 ? HLO_TILE_LANE_BITS - 1
                                                    : HLO_TILE_LANE_BITS;
  const uint32_t bits = lanes->count < served_bits ? lanes->count : served_bits;
  for (uint32_t i = 0; i < bits; ++i) {
    const uint64_t address = (uint64_t)lanes->strides[i] * element_bytes;
    is_linear &= (address & (address - 1)) == 0 && !(address & seen);
    seen |= address;
    words[i] = hlo_tile_swizzled_address(address, swizzle) / HLO_TILE_BANK_BYTES;
    // Wide elements take the banks that follow, too: elements are what a bank is chosen for.
    banks[i] = words[i] % HLO_TILE_BANKS;
  }
  if (!is_linear) return count_lanes(lanes, bits, element_bytes, swizzle);
  return 1u << (rank_of(words, bits) - rank_of(banks, bits));
}

bool hlo_tile_lane_bits_of(const hlo_tile_layout_t* memory, const hlo_tile_layout_t* registers,
                           hlo_tile_lane_bits_t* out_bits) {
  hlo_layout_mode_list_t places, modes;
  hlo_layout_modes_of(memory, &places);
  hlo_layout_modes_of(registers, &modes);
  if (!hlo_layout_modes_refine(&places, &modes)) return false;
  *out_bits = (hlo_tile_lane_bits_t){.count = HLO_TILE_LANE_BITS};
  for (uint32_t i = 0; i < modes.count; ++i) {
    const hlo_layout_mode_t* mode = &modes.modes[i];
    if (mode->axis != HLO_AXIS_LANE || mode->dim == HLO_LAYOUT_MODE_REPLICATED) continue;
    const hlo_layout_mode_t* place = &places.modes[i];
    for (int64_t step = 1; step < mode->extent; step *= 2) {
      const int64_t lane = mode->position * step;
      const uint32_t bit = (uint32_t)__builtin_ctzll((uint64_t)lane);
      if ((lane & (lane - 1)) || bit >= HLO_TILE_LANE_BITS) return false;
      out_bits->strides[bit] = place->position * step;
    }
    if (mode->extent & (mode->extent - 1)) return false;
  }
  return true;
}
