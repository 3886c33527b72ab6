// SPDX-License-Identifier: Apache-2.0
// The state of grouping a function's ops into fusions, and the phases in the order in which each
// region passes them (fusion.c). Confined to one thread.
#pragma once

#include "base/tuning.h"
#include "codegen/dot/dot.h"
#include "codegen/fuse/fusion.h"
#include "codegen/fuse/fusion_key.h"
#include "codegen/index/tiled.h"
#include "codegen/loops/kernel.h"

enum { HLO_NO_GROUP = -1 };

// Limits keep compile time linear in the size of the program; none affects results.
enum {
  HLO_FUSER_MAX_NODES = 4 * HLO_TUNING_FUSE_MAX_WORK,  // members, with duplicated nodes
  HLO_FUSER_MAX_PROLOGUE = 16,                         // ops that compute an operand of a product
  HLO_FUSER_MAX_RECOMPUTING = 3,                       // fusions that recompute the same plain op
};

/// A fusion while it grows.
typedef struct hlo_fuser_group {
  uint32_t member_count, member_capacity, output_count;
  double work;       // of all members, hlo_elementwise_cost()
  bool has_product;  // a matrix product
  bool has_reduction, has_extra_outputs, has_update;
  bool accumulates;      // a member's element needs many elements of an operand
  bool is_optimistic;    // some members joined without a trial
  int32_t merged;        // the group that all members moved to, or HLO_NO_GROUP
  hlo_node_t** members;  // last first
  int64_t element_count;
  uint32_t last_position;
  hlo_fusion_t* fusion;  // made at the end
} hlo_fuser_group_t;

/// The state of a node.
typedef struct hlo_fuser_node {
  uint32_t position;  // in its region
  uint32_t step;      // 1 + number of the step that computes it, while steps are ordered; 0: none
  int32_t group;      // HLO_NO_GROUP
  bool is_fusible, is_cheap;
  bool is_product;       // of matrices, or a convolution
  bool is_prologue;      // a member of a product's prologue
  uint8_t broadcast;     // n > 0: a broadcast of much less data, followed by n or n - 1 plain ops
  bool is_duplicated;    // cheap and used by several fusions: computed in each
  bool requires_trials;  // a group that ends with it joins only members that were tried
  uint8_t
      recomputed_in_count;  // of a duplicated node: the groups that compute it, if they are known
  int32_t recomputed_in[HLO_FUSER_MAX_RECOMPUTING];
} hlo_fuser_node_t;

/// Ops that compute an operand of a product and nothing else; the op that yields the operand comes
/// first.
typedef struct hlo_fuser_prologue {
  uint32_t count;
  hlo_node_t* nodes[HLO_FUSER_MAX_PROLOGUE];
} hlo_fuser_prologue_t;

typedef struct hlo_fuser {
  const hlo_target_t* target;
  hlo_arena_t* arena;  // of the schedule
  hlo_arena_t scratch;
  hlo_arena_t trial;          // of one trial
  int32_t started_group;      // the group whose last trial left `start`
  hlo_kernel_start_t* start;  // loops with which the next trial starts; NULL: none succeeded yet
  hlo_tile_memo_t* memo;
  hlo_fuser_node_t* nodes;  // by node->index
  uint32_t* numbers;        // by node->index, zeros
  uint32_t* listed;         // by node->index: the last list with the node
  uint32_t list_number, list_count;
  hlo_node_t* list[HLO_FUSER_MAX_NODES];  // members of the fusion that is being built
  hlo_fusion_table_t known;               // fusions tried and made
  uint32_t group_count, group_capacity;
  hlo_fuser_group_t* groups;             // of the current region
  const hlo_fuser_prologue_t* prologue;  // candidate for a product; NULL: none is tried
  bool may_be_optimistic;                // members whose fit needs a trial may join without one
  bool is_rejected;                      // an optimistic group failed: the region is grouped again
  hlo_verdict_t verdict;                 // of the last node tried for a group
  bool is_explained;                     // rejections are recorded in the schedule
  uint32_t rejection_capacity;
  hlo_schedule_t* schedule;
  uint32_t sequence_capacity;
} hlo_fuser_t;

static inline hlo_fuser_node_t* hlo_fuser_state(const hlo_fuser_t* f, const hlo_node_t* node) {
  return &f->nodes[node->index];
}

static inline int64_t hlo_fuser_written_count(const hlo_value_t* value) {
  return hlo_type_element_count(hlo_tiled_written(value)->type);
}

// ---- fusion.c

/// Returns true if the op costs nothing but index arithmetic.
bool hlo_fuser_only_indexes(const hlo_node_t* node);

// ---- fusion_group.c: groups and their fusions. errors: RESOURCE_EXHAUSTED

/// Creates a group, the last one; it runs where the node stands.
hlo_status_t hlo_fuser_start_group(hlo_fuser_t* f, hlo_node_t* node) HLO_MUST_USE;
hlo_status_t hlo_fuser_join(hlo_fuser_t* f, int32_t group, hlo_node_t* node) HLO_MUST_USE;
/// Builds the fusion of the group's members, of `extra` if not NULL, and of f->prologue if not
/// NULL. *out_fusion is NULL if it has too many arrays or members. owner: the arena
hlo_status_t hlo_fuser_build(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* extra,
                             hlo_arena_t* arena, hlo_fusion_t** out_fusion) HLO_MUST_USE;
/// Finds out if loops can compute a fusion. is_made: it becomes part of the schedule: it gets a
/// kernel, that of an equal fusion if there is one
hlo_status_t hlo_fuser_has_loops(hlo_fuser_t* f, hlo_fusion_t* fusion, bool is_made,
                                 bool* out_has) HLO_MUST_USE;
/// Finds out if the group's loops can also compute the node (NULL: f->prologue alone). If an
/// optimistic group does not fit even without it, f->is_rejected is set.
hlo_status_t hlo_fuser_try_member(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* node,
                                  bool* out_fits) HLO_MUST_USE;
/// Records f->verdict, a "no", for a node that does not join `group`, if the schedule is to be
/// explained. is_merge: two groups are not merged
hlo_status_t hlo_fuser_record_rejection(hlo_fuser_t* f, const hlo_node_t* node, int32_t group,
                                        bool is_merge) HLO_MUST_USE;
/// Returns true for ops of which an element needs many elements of an operand.
bool hlo_fuser_accumulates(const hlo_node_t* node);
/// Groups the region again with trials, because an optimistic group does not fit.
void hlo_fuser_restart_region(hlo_fuser_t* f, const hlo_fuser_group_t* group);
/// Returns true if the user must load the value from memory, even if a member of its fusion
/// computes it.
bool hlo_fuser_needs_memory(const hlo_fuser_t* f, const hlo_node_t* user, const hlo_use_t* use);
bool hlo_fuser_prologue_has(const hlo_fuser_prologue_t* prologue, const hlo_node_t* node);

// ---- phases. errors: RESOURCE_EXHAUSTED

/// fusion_grow.c: assigns a node to a group; all its users are assigned.
hlo_status_t hlo_fuser_assign_node(hlo_fuser_t* f, hlo_node_t* node) HLO_MUST_USE;
/// fusion_operand.c: a product computes the ops of an operand while it packs or reads it.
hlo_status_t hlo_fuser_fuse_prologue(hlo_fuser_t* f, hlo_node_t* node,
                                     bool* out_fused) HLO_MUST_USE;
/// Each of a few products reads an operand in memory through its own copy of ops that only move
/// elements.
hlo_status_t hlo_fuser_duplicate_operand(hlo_fuser_t* f, hlo_node_t* node,
                                         bool* out_fused) HLO_MUST_USE;
/// fusion_merge.c: merges groups that read the same large array.
hlo_status_t hlo_fuser_merge_groups(hlo_fuser_t* f) HLO_MUST_USE;
/// fusion_steps.c: makes the fusions of all groups. A group that loops cannot compute is split; a
/// single op that they cannot compute becomes a call: *is_whole is false then. An optimistic group
/// is rejected instead.
hlo_status_t hlo_fuser_make_fusions(hlo_fuser_t* f, bool* is_whole) HLO_MUST_USE;
/// Makes the sequence's steps, in the program order of their last nodes.
hlo_status_t hlo_fuser_make_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) HLO_MUST_USE;
/// Reorders the steps so that every value is computed before it is read, after groups were split.
hlo_status_t hlo_fuser_order_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) HLO_MUST_USE;
