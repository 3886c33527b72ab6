// SPDX-License-Identifier: Apache-2.0
// Inputs for the stored programs that keep their results finite and their loops ending.
#ifndef HLO_BENCH_PJRT_BENCH_INPUT_H_
#define HLO_BENCH_PJRT_BENCH_INPUT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/type.h"

/// A dense array in host memory. owner: caller, hlo_bench_input_free().
typedef struct hlo_bench_input {
  uint32_t pjrt_type, rank;
  const int64_t* dims;  // of the type
  void* data;
} hlo_bench_input_t;

/// The same values for the same program and type every time; false for types that no program has.
bool hlo_bench_input_make(const hlo_type_t* type, const char* program, hlo_bench_input_t* out);
void hlo_bench_input_free(hlo_bench_input_t* input);

#endif  // HLO_BENCH_PJRT_BENCH_INPUT_H_
