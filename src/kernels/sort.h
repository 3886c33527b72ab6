// SPDX-License-Identifier: Apache-2.0
// Stable sorting: of 64-bit keys that keep the order of any element type, or of indices by a
// function.
#ifndef HLO_KERNELS_SORT_H_
#define HLO_KERNELS_SORT_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

typedef struct hlo_sort_pair {
  uint64_t key;
  int64_t index;
} hlo_sort_pair_t;

/// pairs[i] = {key of element i, i}. Unsigned order of the keys is the order of the elements,
/// reversed if `descending`. Floats: totalOrder of IEEE 754, or if `canonical` all NaN equal and
/// above everything and -0 equal to 0. shapes : in: `count` dense elements, real threads: safe
/// (pure)
void hlo_sort_make_keys(hlo_dtype_t dtype, bool canonical, bool descending, int64_t count,
                        const void* in, hlo_sort_pair_t* pairs);

/// Sorts by key, equal keys in their present order. scratch: `count` pairs. Radix sort; n * 8
/// steps.
void hlo_sort_pairs(int64_t count, hlo_sort_pair_t* pairs, hlo_sort_pair_t* scratch);

/// Sorts indices so that less(context, b, a) holds for no a before b; stable. scratch: `count`
/// indices. Any answers of `less`, even inconsistent ones, end in a permutation.
void hlo_sort_indices(int64_t count, int64_t* indices, int64_t* scratch,
                      bool (*less)(void* context, int64_t a, int64_t b), void* context);

#endif  // HLO_KERNELS_SORT_H_
