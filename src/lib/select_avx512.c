// SPDX-License-Identifier: Apache-2.0
// Indices of a range, sixteen at a time (see select.h).
#include <immintrin.h>

#include "lib/select_impl.h"

enum { LANES = 16 };

uint32_t hlo_select_range_avx512(uint32_t count, const uint32_t* indices, uint32_t first,
                                 uint32_t size, uint32_t* numbers) {
  const __m512i step = _mm512_set1_epi32(LANES), low = _mm512_set1_epi32((int)first);
  const __m512i limit = _mm512_set1_epi32((int)size);
  __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  uint32_t found = 0, i = 0;
  for (; i + LANES <= count; i += LANES) {
    const __m512i offset = _mm512_sub_epi32(_mm512_loadu_si512(indices + i), low);
    const __mmask16 inside = _mm512_cmplt_epu32_mask(offset, limit);
    // Compressing to memory is slow on some processors; compressing to a register and storing all
    // of it is fast.
    _mm512_storeu_si512(numbers + found, _mm512_maskz_compress_epi32(inside, number));
    found += (uint32_t)__builtin_popcount(inside);
    number = _mm512_add_epi32(number, step);
  }
  for (; i < count; ++i) {
    numbers[found] = i;
    found += indices[i] - first < size;
  }
  return found;
}
