// SPDX-License-Identifier: Apache-2.0
// Indices in a range (see select.h): the plain loop, and the selection of the variant.
#include "lib/isa.h"
#include "lib/select_impl.h"

uint32_t hlo_select_range_generic(uint32_t count, const uint32_t* indices, uint32_t first,
                                  uint32_t size, uint32_t* numbers) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; ++i) {  // branchless: an index out of range is overwritten
    numbers[found] = i;
    found += indices[i] - first < size;
  }
  return found;
}

uint32_t hlo_select_range(uint32_t count, const uint32_t* indices, uint32_t first, uint32_t size,
                          uint32_t* numbers) {
#if defined(__x86_64__)
  if (hlo_isa() == HLO_ISA_AVX512) {
    return hlo_select_range_avx512(count, indices, first, size, numbers);
  }
#endif
  return hlo_select_range_generic(count, indices, first, size, numbers);
}
