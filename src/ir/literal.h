// SPDX-License-Identifier: Apache-2.0
// Literals: immutable, reference-counted dense tensors that modules, clones and executables share.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

/// The highest rank that a tensor may have (NumPy's limit).
#define HLO_RANK_MAX 64

/// Elements are dense, row-major and hlo_dtype_size_bytes() wide each; a splat stores one element.
/// threads: immutable except for the count
typedef struct hlo_literal {
  atomic_int count;
  hlo_dtype_t dtype;
  bool is_splat;  // `data` holds one element that all others equal
  uint32_t rank;
  int64_t* dims;
  int64_t element_count;
  const void* data;                   // borrowed bytes if `keeper` is set, else owned
  size_t data_bytes;                  // number of bytes at `data`
  struct hlo_literal_keeper* keeper;  // keeps borrowed bytes alive
} hlo_literal_t;

/// An owner of bytes that literals borrow (for example the caller's module bytes).
typedef struct hlo_literal_keeper {
  atomic_int count;
  void (*destroy)(struct hlo_literal_keeper* keeper);
} hlo_literal_keeper_t;

/// Creates a literal with zeroed storage; fill it through hlo_literal_mutable_data() before sharing
/// it.
/// errors : INVALID_ARGUMENT (rank, negative or overflowing dims), RESOURCE_EXHAUSTED
hlo_status_t hlo_literal_create(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                bool is_splat, hlo_literal_t** out_literal) HLO_MUST_USE;
/// Creates a literal over `data` owned elsewhere; retains `keeper`.
hlo_status_t hlo_literal_create_lent(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                     bool is_splat, const void* data, hlo_literal_keeper_t* keeper,
                                     hlo_literal_t** out_literal) HLO_MUST_USE;

/// The handling of constants whose text omits their elements: "{...}" in HLO,
/// dense_resource<__elided__> in MLIR.
typedef enum hlo_elided { HLO_ELIDED_REFUSED, HLO_ELIDED_ZERO, HLO_ELIDED_RANDOM } hlo_elided_t;
/// Creates such a constant; different seeds give different random elements.
/// errors : UNIMPLEMENTED (refused), INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_literal_create_elided(hlo_elided_t elided, uint64_t seed, hlo_dtype_t dtype,
                                       uint32_t rank, const int64_t* dims,
                                       hlo_literal_t** out_literal) HLO_MUST_USE;
hlo_literal_t* hlo_literal_retain(hlo_literal_t* literal);
void hlo_literal_release(hlo_literal_t* literal);
hlo_literal_keeper_t* hlo_literal_keeper_retain(hlo_literal_keeper_t* keeper);
void hlo_literal_keeper_release(hlo_literal_keeper_t* keeper);

/// Call it only before the literal is shared.
void* hlo_literal_mutable_data(hlo_literal_t* literal);
/// Returns the address of element `i` (row-major), splat or not.
const void* hlo_literal_element(const hlo_literal_t* literal, int64_t i);
/// Returns true if types and elements are bitwise equal (a splat equals its expansion).
bool hlo_literal_equal(const hlo_literal_t* a, const hlo_literal_t* b);
uint64_t hlo_literal_hash(const hlo_literal_t* literal);

/// Computes the product of dims; false on a negative dim, a rank > HLO_RANK_MAX or overflow of
/// int64.
bool hlo_dims_element_count(uint32_t rank, const int64_t* dims, int64_t* out_count);
