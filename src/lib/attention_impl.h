// SPDX-License-Identifier: Apache-2.0
// Attention without the matrix of scores (op_attention.c): variants by instruction set.
//
// A chunk is a block of queries of one head. For each block of keys, scores are computed with lanes
// along queries, in panels of HLO_ATTENTION_PANEL_VECTORS vectors: keys and values are read as
// single elements, queries are packed once. The maximum and the sum of each query are lanes, too;
// when a maximum grows, the sum and the accumulators are multiplied by exp(old - new) [Milakov and
// Gimelshein 2018, Dao et al. 2022]. Blocks of keys whose scores are one constant, far below the
// maximum of each query, are skipped: their probabilities are zero.
#pragma once

#include "ir/attention.h"

enum {
  HLO_ATTENTION_PANEL_VECTORS = 3,
  HLO_ATTENTION_PANELS = 8,       // of a block of queries
  HLO_ATTENTION_BLOCK_KEYS = 64,  // of a block of keys
};

/// exp(x) is zero in f32 below this x.
#define HLO_ATTENTION_EXP_ZERO (-87.3f)

/// One run: the addresses of the arrays of `plan`.
typedef struct hlo_attention_job {
  const hlo_attention_t* plan;
  const char *query, *key, *value;
  const char* arrays[HLO_ATTENTION_MAX_ARRAYS];
  char* result;
  char *most, *sum;  // of each row; NULL: not asked for
  bool has_pairs;    // the machine multiplies pairs of bf16
} hlo_attention_job_t;

/// One run of gradients.
typedef struct hlo_attention_gradient_job {
  hlo_attention_job_t scores;  // without a result
  const hlo_attention_gradient_t* plan;
  const char* cotangent;
  char *query, *key, *value;  // results
  // The chunks of each matrix of keys, and their sums if there are several: of chunk i
  // [keys][pitch of depth], then [keys][pitch of features], from i * partial_floats.
  int64_t splits;
  float* partial;
} hlo_attention_gradient_job_t;

/// The matrices of keys, and blocks of queries for each.
typedef struct hlo_attention_gradient_size {
  int64_t matrices, blocks, partial_floats;
} hlo_attention_gradient_size_t;

/// The functions of an instruction set. Chunks have scratch memory, aligned to 64 bytes.
/// threads: safe
typedef struct hlo_attention_kernel {
  int64_t block_queries;  // of a chunk
  /// Returns the scratch memory of a chunk.
  size_t (*scratch_bytes)(const hlo_attention_t* plan);
  /// Computes chunk `index` of batches * divide_up(rows, block_queries), rows fastest.
  void (*run)(const hlo_attention_job_t* job, uint64_t index, float* scratch);
  hlo_attention_gradient_size_t (*gradient_size)(const hlo_attention_gradient_t* plan);
  /// Returns the scratch memory of a chunk of gradients.
  size_t (*gradient_scratch_bytes)(const hlo_attention_gradient_t* plan);
  /// Computes chunk `index` of matrices * splits: each `splits`-th block of queries.
  void (*run_gradient)(const hlo_attention_gradient_job_t* job, uint64_t index, float* scratch);
  /// Adds the sums of a matrix of keys and stores them, if there are several.
  void (*reduce_gradient)(const hlo_attention_gradient_job_t* job, uint64_t matrix);
} hlo_attention_kernel_t;

extern const hlo_attention_kernel_t hlo_attention_kernel_generic;
#if defined(__x86_64__)
extern const hlo_attention_kernel_t hlo_attention_kernel_avx2, hlo_attention_kernel_avx512;
#endif

// ---- the values of f over a block (attention_range.c)

/// A block of queries and keys of a head; the addresses of the arrays are those of the head.
typedef struct hlo_attention_block {
  int64_t row, row_count, key, key_count;
  const char* arrays[HLO_ATTENTION_MAX_ARRAYS];
} hlo_attention_block_t;

/// The interval of a step in a block.
typedef struct hlo_attention_range {
  bool is_known;  // no element is NaN, and all are in [low, high]
  double low, high;
} hlo_attention_range_t;

/// Returns true if all elements are known to be zero.
static inline bool hlo_attention_range_is_zero(const hlo_attention_range_t* range) {
  return range->is_known && range->low == 0 && range->high == 0;
}

/// Finds what is known of all steps in a block.
void hlo_attention_find_ranges(const hlo_attention_t* plan, const hlo_attention_block_t* block,
                               hlo_attention_range_t* ranges);
