// SPDX-License-Identifier: Apache-2.0
// Folding loops for AVX2.
#define FIND hlo_fold_find_avx2
#include "lib/fold.inl"
