// SPDX-License-Identifier: Apache-2.0
// What a fusion is, whichever values it is about: programs repeat themselves (layers, unrolled
// loops), and equal fusions have one kernel and one piece of code. For codegen only.
#ifndef HLO_CODEGEN_FUSION_KEY_H_
#define HLO_CODEGEN_FUSION_KEY_H_

#include "base/hash.h"
#include "codegen/body/schedule.h"
#include "codegen/body/verdict.h"

/// The fusion as words: operations, attributes, types, which operand is what, what is written.
typedef struct hlo_fusion_key {
  uint64_t hash;
  uint32_t word_count;
  const uint64_t* words;
} hlo_fusion_key_t;

/// numbers: zeros for every node of the module (node->index), zeros again afterwards. Keys of one
/// module may be compared. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_key(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                            hlo_fusion_key_t* out_key) HLO_MUST_USE;

/// The same for equal fusions of any modules. False: it uses something from outside that has no
/// name there. numbers: as above. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_digest(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                               bool* out_has_one, hlo_digest_t* out_digest) HLO_MUST_USE;
/// All nodes of a fusion, those of regions too; equal fusions have the same ones in the same order.
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
  hlo_verdict_t verdict;          // whether loops can compute it
  hlo_fusion_t* fusion;           // the first one of the schedule; NULL: it was only tried
  bool is_merged, is_not_merged;  // as two fusions that might be one, if that has been asked
  struct hlo_fusion_known* next;
} hlo_fusion_known_t;

/// The entry of a key, NULL where there is none.
hlo_fusion_known_t* hlo_fusion_table_find(const hlo_fusion_table_t* table,
                                          const hlo_fusion_key_t* key);
/// A new entry with a copy of the key; NULL when memory is out, which the arena reports.
hlo_fusion_known_t* hlo_fusion_table_add(hlo_fusion_table_t* table, const hlo_fusion_key_t* key,
                                         hlo_arena_t* arena);
/// Fusions of those numbers and above count as tried only.
void hlo_fusion_table_forget(hlo_fusion_table_t* table, uint32_t first_index);

#endif  // HLO_CODEGEN_FUSION_KEY_H_
