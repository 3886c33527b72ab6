// SPDX-License-Identifier: Apache-2.0
// Loops of the sorts, one table per instruction set. Private to the sorts of this folder and their
// tests.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct hlo_sort_loops {
  /// Converts floats to keys, xor `flip`; returns true if `canonical` made different bits equal.
  bool (*keys_bf16)(bool canonical, uint32_t flip, int64_t count, const uint16_t* in,
                    uint32_t* keys);
  bool (*keys_f16)(bool canonical, uint32_t flip, int64_t count, const uint16_t* in,
                   uint32_t* keys);
  bool (*keys_f32)(bool canonical, uint32_t flip, int64_t count, const uint32_t* in,
                   uint32_t* keys);
  bool (*keys_f64)(bool canonical, uint64_t flip, int64_t count, const uint64_t* in,
                   uint64_t* keys);
  /// Converts keys back to floats.
  void (*elements_bf16)(uint32_t flip, int64_t count, const uint32_t* keys, uint16_t* out);
  void (*elements_f16)(uint32_t flip, int64_t count, const uint32_t* keys, uint16_t* out);
  void (*elements_f32)(uint32_t flip, int64_t count, const uint32_t* keys, uint32_t* out);
  void (*elements_f64)(uint64_t flip, int64_t count, const uint64_t* keys, uint64_t* out);
  /// work[i] = minimum of keys[i], keys[columns + i] ... over whole rows
  void (*least_of_columns)(int64_t count, const uint32_t* keys, int64_t columns, uint32_t* work);
  /// Collects entries (key << 32 | position) of all keys below the bound and of the first `kept`
  /// that equal it; returns their number.
  int64_t (*collect)(int64_t count, const uint32_t* keys, uint32_t bound, int64_t kept,
                     uint64_t* entries);
} hlo_sort_loops_t;

extern const hlo_sort_loops_t hlo_sort_loops_generic;
#if defined(__x86_64__)
extern const hlo_sort_loops_t hlo_sort_loops_avx2;
extern const hlo_sort_loops_t hlo_sort_loops_avx512;
#endif

/// Returns the loops of hlo_isa().
const hlo_sort_loops_t* hlo_sort_loops(void);

/// Lines in vector lanes: key e of the line in lane l is x[e * lanes + l]; x has room for a power
/// of two of vectors, at least 16.
typedef struct hlo_sort_lanes {
  int64_t lanes;
  /// Stores four contiguous lines of `count` keys into lanes from `lane` on.
  void (*put)(int64_t count, int64_t lane, const void* keys, void* x);
  void (*sort)(int64_t count, void* x);
  void (*get)(int64_t count, int64_t lane, const void* x, void* keys);
} hlo_sort_lanes_t;

#if defined(__x86_64__)
extern const hlo_sort_lanes_t hlo_sort_lanes_avx2_32;
extern const hlo_sort_lanes_t hlo_sort_lanes_avx512_32, hlo_sort_lanes_avx512_64;
#endif

/// Returns the loops of hlo_isa() for keys of 32 bits, or 64 with is_wide; NULL if the instruction
/// set has no such loops.
const hlo_sort_lanes_t* hlo_sort_lanes(bool is_wide);
