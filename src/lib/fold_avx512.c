// SPDX-License-Identifier: Apache-2.0
// Folding loops for AVX-512.
#define FIND hlo_fold_find_avx512
#include "lib/fold.inl"
