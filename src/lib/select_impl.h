// SPDX-License-Identifier: Apache-2.0
// Variants of select.h by instruction set.
#ifndef HLO_LIB_SELECT_IMPL_H_
#define HLO_LIB_SELECT_IMPL_H_

#include "lib/select.h"

typedef uint32_t (*hlo_select_range_t)(uint32_t count, const uint32_t* indices, uint32_t first,
                                       uint32_t size, uint32_t* numbers);

uint32_t hlo_select_range_generic(uint32_t count, const uint32_t* indices, uint32_t first,
                                  uint32_t size, uint32_t* numbers);
uint32_t hlo_select_range_avx512(uint32_t count, const uint32_t* indices, uint32_t first,
                                 uint32_t size, uint32_t* numbers);

#endif  // HLO_LIB_SELECT_IMPL_H_
