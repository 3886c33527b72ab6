// SPDX-License-Identifier: Apache-2.0
// Folding loops for the compiler's baseline.
#define FIND hlo_fold_find_generic
#include "lib/fold.inl"
