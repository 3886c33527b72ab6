// SPDX-License-Identifier: Apache-2.0
// Indices of a range, sixteen at a time (see select.h).
#include <immintrin.h>

#include "kernels/select_impl.h"

enum { LANES = 16 };

uint32_t hlo_select_range_avx512(uint32_t count, const uint32_t* indices, uint32_t first,
                                 uint32_t size, uint32_t stride, uint32_t* numbers,
                                 uint32_t* places) {
  const __m512i step = _mm512_set1_epi32(LANES), low = _mm512_set1_epi32((int)first);
  const __m512i limit = _mm512_set1_epi32((int)size), scale = _mm512_set1_epi32((int)stride);
  __m512i number = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i += LANES) {
    const __mmask16 active =
        count - i < LANES ? (__mmask16)((1u << (count - i)) - 1) : (__mmask16)0xffff;
    const __m512i place = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(active, indices + i), low);
    const __mmask16 inside = _mm512_mask_cmplt_epu32_mask(active, place, limit);
    // Compressing to memory is slow on some processors; to a register and storing it all is not.
    _mm512_storeu_si512(numbers + found, _mm512_maskz_compress_epi32(inside, number));
    _mm512_storeu_si512(places + found,
                        _mm512_maskz_compress_epi32(inside, _mm512_mullo_epi32(place, scale)));
    found += (uint32_t)__builtin_popcount(inside);
    number = _mm512_add_epi32(number, step);
  }
  return found;
}
