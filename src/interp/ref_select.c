// SPDX-License-Identifier: Apache-2.0
// select: one kernel per element width, since values are only moved.
#include <stdint.h>

#include "interp/kernels_impl.h"

typedef struct wide16 {
  uint64_t words[2];
} wide16_t;

#define KERNEL_TYPE W1
#define T uint8_t
#include "interp/ref_select.inl"
#define KERNEL_TYPE W2
#define T uint16_t
#include "interp/ref_select.inl"
#define KERNEL_TYPE W4
#define T uint32_t
#include "interp/ref_select.inl"
#define KERNEL_TYPE W8
#define T uint64_t
#include "interp/ref_select.inl"
#define KERNEL_TYPE W16
#define T wide16_t
#include "interp/ref_select.inl"

const hlo_scalar_kernels_t* hlo_kernel_select(size_t width_bytes) {
  switch (width_bytes) {
    case 1: return &kernel_W1_select;
    case 2: return &kernel_W2_select;
    case 4: return &kernel_W4_select;
    case 8: return &kernel_W8_select;
    case 16: return &kernel_W16_select;
    default: return NULL;
  }
}
