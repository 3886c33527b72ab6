// SPDX-License-Identifier: Apache-2.0
// Variants of select.h by instruction set.
#pragma once

#include "lib/select.h"

typedef uint32_t (*hlo_select_range_t)(uint32_t count, const uint32_t* indices, uint32_t first,
                                       uint32_t size, uint32_t* numbers);

uint32_t hlo_select_range_generic(uint32_t count, const uint32_t* indices, uint32_t first,
                                  uint32_t size, uint32_t* numbers);
uint32_t hlo_select_range_avx512(uint32_t count, const uint32_t* indices, uint32_t first,
                                 uint32_t size, uint32_t* numbers);
