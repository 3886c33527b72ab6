// SPDX-License-Identifier: Apache-2.0
// The functions of lapack.h by element type and instruction set, and their shared helpers.
#pragma once

#include "base/check.h"
#include "lib/gemm.h"
#include "lib/lapack/lapack.h"

/// The types of a table.
enum { HLO_LAPACK_F32, HLO_LAPACK_F64, HLO_LAPACK_C64, HLO_LAPACK_C128, HLO_LAPACK_TYPES };

extern const hlo_lapack_t hlo_lapack_generic[HLO_LAPACK_TYPES];
#if defined(__x86_64__)
extern const hlo_lapack_t hlo_lapack_avx2[HLO_LAPACK_TYPES];
extern const hlo_lapack_t hlo_lapack_avx512[HLO_LAPACK_TYPES];
#endif

enum {
  HLO_LAPACK_BLOCK = 32,          // columns of a panel
  HLO_LAPACK_DEPTH = 256,         // of a product of complex matrices, per step
  HLO_LAPACK_STRIPES_MAX = 8,     // maximum number of stripes for threads
  HLO_LAPACK_STRIPE_MIN = 64,     // columns of a stripe, rounded to a multiple of this
  HLO_LAPACK_STRIPE_MAX = 512,    // columns processed at a time
  HLO_LAPACK_WORK_MIN = 1 << 20,  // multiplications that justify another thread
};

/// Returns the columns per stripe when `columns` of a matrix cost `each` multiplications each.
int64_t hlo_lapack_stripe(int64_t columns, int64_t each);

/// Returns the scratch memory of one stripe of `columns` for products with at most `rows` rows and
/// depth.
size_t hlo_lapack_stripe_bytes(hlo_dtype_t dtype, int64_t rows, int64_t columns);

/// Returns a row length for n elements of `each` bytes, a multiple of the vector size, that maps
/// equal columns of adjacent rows to different cache sets.
static inline int64_t hlo_lapack_padded(int64_t n, size_t each) {
  const int64_t per_line = 64 / (int64_t)each;
  return ((n + per_line - 1) / per_line | 1) * per_line;
}

/// A factor of a product: element (i, j) is data[i * row + j * col], or its conjugate.
typedef struct hlo_lapack_operand {
  const void* data;
  int64_t row, col;
  bool is_conjugate;
} hlo_lapack_operand_t;

/// Scratch memory that is allocated in consecutive parts.
typedef struct hlo_lapack_pieces {
  char *next, *end;
} hlo_lapack_pieces_t;

static inline hlo_lapack_pieces_t hlo_lapack_pieces(const hlo_lapack_work_t* work) {
  char* start = work->scratch;
  return (hlo_lapack_pieces_t){start, start + work->scratch_bytes};
}

static inline void* hlo_lapack_take(hlo_lapack_pieces_t* pieces, size_t bytes) {
  void* piece = pieces->next;
  pieces->next += (bytes + 63) & ~(size_t)63;
  HLO_ASSERT(pieces->next <= pieces->end, "hlo_lapack_scratch_bytes() has room for all pieces");
  return piece;
}
