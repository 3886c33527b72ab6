// SPDX-License-Identifier: Apache-2.0
// Loops of the sorts that the compiler vectorises (see isa_variant.h).
#include "lib/isa_variant.h"
#include "lib/sort_impl.h"

#define BITS_T uint16_t
#define KEY_T uint32_t
#define WIDTH 16
#define INFINITY_BITS ((uint16_t)0x7f80)
#define NAN_BITS ((uint16_t)0x7fc0)
#define NAME(x) bf16_##x
#include "lib/sort_keys.inl"
#define BITS_T uint16_t
#define KEY_T uint32_t
#define WIDTH 16
#define INFINITY_BITS ((uint16_t)0x7c00)
#define NAN_BITS ((uint16_t)0x7e00)
#define NAME(x) f16_##x
#include "lib/sort_keys.inl"
#define BITS_T uint32_t
#define KEY_T uint32_t
#define WIDTH 32
#define INFINITY_BITS 0x7f800000u
#define NAN_BITS 0x7fc00000u
#define NAME(x) f32_##x
#include "lib/sort_keys.inl"
#define BITS_T uint64_t
#define KEY_T uint64_t
#define WIDTH 64
#define INFINITY_BITS 0x7ff0000000000000u
#define NAN_BITS 0x7ff8000000000000u
#define NAME(x) f64_##x
#include "lib/sort_keys.inl"

// work[i] = minimum of keys[i], keys[columns + i] ...
static void least_of_columns(int64_t count, const uint32_t* keys, int64_t columns, uint32_t* work) {
  for (int64_t i = 0; i < columns; i++) work[i] = keys[i];
  for (int64_t row = columns; row + columns <= count; row += columns) {
    for (int64_t i = 0; i < columns; i++) {
      const uint32_t key = keys[row + i];
      work[i] = key < work[i] ? key : work[i];
    }
  }
}

// Collects the entries of all keys below the bound, and of the first `kept` that equal it.
static int64_t collect(int64_t count, const uint32_t* keys, uint32_t bound, int64_t kept,
                       uint64_t* entries) {
  enum { BLOCK = 16 };  // keys tested together
  int64_t found = 0, equal = 0;
  for (int64_t first = 0; first < count; first += BLOCK) {
    const int64_t end = count - first < BLOCK ? count : first + BLOCK;
    if (end - first == BLOCK) {
      uint32_t any = 0;
      for (int i = 0; i < BLOCK; i++) any |= keys[first + i] <= bound;
      if (!any) continue;
    }
    for (int64_t i = first; i < end; i++) {
      if (keys[i] > bound || (keys[i] == bound && equal++ >= kept)) continue;
      entries[found++] = (uint64_t)keys[i] << 32 | (uint64_t)i;
    }
  }
  return found;
}

const hlo_sort_loops_t HLO_ISA_NAME(hlo_sort_loops) = {
    .keys_bf16 = bf16_keys,
    .keys_f16 = f16_keys,
    .keys_f32 = f32_keys,
    .keys_f64 = f64_keys,
    .elements_bf16 = bf16_elements,
    .elements_f16 = f16_elements,
    .elements_f32 = f32_elements,
    .elements_f64 = f64_elements,
    .least_of_columns = least_of_columns,
    .collect = collect,
};
