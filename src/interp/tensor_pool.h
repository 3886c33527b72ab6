// SPDX-License-Identifier: Apache-2.0
// Free lists for the small blocks of tensors, one pool per evaluation, so that loops over scalars
// avoid the heap.
#pragma once

#include <stdint.h>

enum {
  HLO_TENSOR_POOL_CLASSES = 2,  // blocks of 192 and of 448 bytes
  HLO_TENSOR_POOL_DEPTH = 64,   // blocks cached per class
  HLO_TENSOR_POOL_BIG = 8,      // large data blocks cached
};

/// A freed data block, cached for the next tensor of its size.
typedef struct hlo_tensor_pool_block {
  void* data;
  uint64_t size_bytes;
} hlo_tensor_pool_block_t;

/// Zero-initialised is empty. threads: used by one thread at a time, between enter and leave.
typedef struct hlo_tensor_pool {
  uint32_t counts[HLO_TENSOR_POOL_CLASSES];
  void* blocks[HLO_TENSOR_POOL_CLASSES][HLO_TENSOR_POOL_DEPTH];
  uint32_t next_big;
  hlo_tensor_pool_block_t big[HLO_TENSOR_POOL_BIG];
} hlo_tensor_pool_t;

/// Makes `pool` the pool of the calling thread for tensors created and released until it leaves;
/// returns the previous pool, which is passed to leave.
hlo_tensor_pool_t* hlo_tensor_pool_enter(hlo_tensor_pool_t* pool);
void hlo_tensor_pool_leave(hlo_tensor_pool_t* previous);
/// Frees the cached blocks.
void hlo_tensor_pool_deinit(hlo_tensor_pool_t* pool);
