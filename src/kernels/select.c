// SPDX-License-Identifier: Apache-2.0
// Indices of a range (see select.h): the plain loop, and the choice between the variants.
#include "kernels/isa.h"
#include "kernels/select_impl.h"

uint32_t hlo_select_range_generic(uint32_t count, const uint32_t* indices, uint32_t first,
                                  uint32_t size, uint32_t* numbers) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; ++i) {  // without branches: what is not found is written over
    numbers[found] = i;
    found += indices[i] - first < size;
  }
  return found;
}

uint32_t hlo_select_range(uint32_t count, const uint32_t* indices, uint32_t first, uint32_t size,
                          uint32_t* numbers) {
  hlo_select_range_t select =
      hlo_isa() == HLO_ISA_AVX512 ? hlo_select_range_avx512 : hlo_select_range_generic;
  return select(count, indices, first, size, numbers);
}
