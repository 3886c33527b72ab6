// SPDX-License-Identifier: Apache-2.0
// Selects the indices that are in a range: scatters distribute their targets over threads this way.
#pragma once

#include <stdint.h>

enum { HLO_SELECT_SLACK = 16 };  // elements past the last one that `numbers` must have room for

/// Writes the positions, in order, of the indices i with first <= i < first + size. Returns their
/// number. Indices are compared as unsigned: negative ones are outside every range below 2^31.
/// threads: safe
uint32_t hlo_select_range(uint32_t count, const uint32_t* indices, uint32_t first, uint32_t size,
                          uint32_t* numbers);
