// SPDX-License-Identifier: Apache-2.0
// The places of random words (see random.h).
#include "ir/random.h"

uint32_t hlo_threefry_dimension(uint32_t rank, const int64_t* dims) {
  uint32_t best = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] % 2 == 0) return d;
    if (dims[d] > dims[best]) best = d;
  }
  return best;
}
