// SPDX-License-Identifier: Apache-2.0
// The identity of a fusion, independent of its values: programs repeat themselves (layers, unrolled
// loops), and equal fusions share a kernel and its code. For codegen only.
#pragma once

#include "base/hash.h"
#include "codegen/body/schedule.h"
#include "codegen/body/verdict.h"

/// A fusion in words: ops, attributes, types, the origin of each operand, and the outputs.
typedef struct hlo_fusion_key {
  uint64_t hash;
  uint32_t word_count;
  const uint64_t* words;
} hlo_fusion_key_t;

/// Computes the key. Keys of one module can be compared. numbers: zeros for every node of the
/// module (node->index), zeros again afterwards. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_key(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                            hlo_fusion_key_t* out_key) HLO_MUST_USE;

/// Computes a digest that is equal for equal fusions of any modules. *out_has_one is false if the
/// fusion uses a value of an enclosing region, which has no name in other modules. numbers: as
/// above. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_digest(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                               bool* out_has_one, hlo_digest_t* out_digest) HLO_MUST_USE;
/// Computes a digest as above under which the choices of a kernel are stored: which outputs are
/// results of the program does not count, so that the kernel alone has the same.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_choice_digest(const hlo_fusion_t* fusion, uint32_t* numbers,
                                      hlo_arena_t* arena, bool* out_has_one,
                                      hlo_digest_t* out_digest) HLO_MUST_USE;
/// Lists all nodes of a fusion, including those of regions; equal fusions have them in the same
/// order.
/// errors: RESOURCE_EXHAUSTED
typedef struct hlo_fusion_nodes {
  uint32_t count;
  const hlo_node_t* const* items;
} hlo_fusion_nodes_t;
hlo_status_t hlo_fusion_list_nodes(const hlo_fusion_t* fusion, hlo_arena_t* arena,
                                   hlo_fusion_nodes_t* out_nodes) HLO_MUST_USE;

/// Fusions by key. Zero is an empty table. owner: the arena. threads: confined
typedef struct hlo_fusion_table {
  struct hlo_fusion_known* buckets[256];
} hlo_fusion_table_t;

typedef struct hlo_fusion_known {
  hlo_fusion_key_t key;
  hlo_verdict_t verdict;          // "no" if loops cannot compute it
  hlo_fusion_t* fusion;           // the first in the schedule; NULL: only tried
  bool is_merged, is_not_merged;  // the result of merging two groups, if it was tried
  struct hlo_fusion_known* next;
} hlo_fusion_known_t;

/// Returns the entry of a key, or NULL.
hlo_fusion_known_t* hlo_fusion_table_find(const hlo_fusion_table_t* table,
                                          const hlo_fusion_key_t* key);
/// Adds an entry with a copy of the key; NULL if memory is exhausted, which the arena records.
hlo_fusion_known_t* hlo_fusion_table_add(hlo_fusion_table_t* table, const hlo_fusion_key_t* key,
                                         hlo_arena_t* arena);
/// Marks fusions with this and higher indices as only tried.
void hlo_fusion_table_forget(hlo_fusion_table_t* table, uint32_t first_index);
