// SPDX-License-Identifier: Apache-2.0
// Picking those of many indices that lie in a range: how scatters share their places among threads.
#ifndef HLO_LIB_SELECT_H_
#define HLO_LIB_SELECT_H_

#include <stdint.h>

enum { HLO_SELECT_SLACK = 16 };  // elements behind the last one that `numbers` must have room for

/// The numbers, from 0 on and in order, of the indices i with first <= i < first + size. Returns
/// how many. Indices are compared as unsigned: negative ones lie in no range below 2^31.
/// threads: safe
uint32_t hlo_select_range(uint32_t count, const uint32_t* indices, uint32_t first, uint32_t size,
                          uint32_t* numbers);

#endif  // HLO_LIB_SELECT_H_
