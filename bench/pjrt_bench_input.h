// SPDX-License-Identifier: Apache-2.0
// Inputs of the stored programs with finite results and loops that end.
#pragma once

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

/// Creates the same values in every call for a program and type; returns false for types without
/// literals.
bool hlo_bench_input_make(const hlo_type_t* type, const char* program, hlo_bench_input_t* out);
void hlo_bench_input_free(hlo_bench_input_t* input);
