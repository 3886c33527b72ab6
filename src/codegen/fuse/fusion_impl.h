// SPDX-License-Identifier: Apache-2.0
// The state of cutting a function into steps, and the phases in the order in which a region goes
// through them (fusion.c). Confined to one thread.
#ifndef HLO_CODEGEN_FUSION_IMPL_H_
#define HLO_CODEGEN_FUSION_IMPL_H_

#include "base/tuning.h"
#include "codegen/dot/dot.h"
#include "codegen/fuse/fusion.h"
#include "codegen/fuse/fusion_key.h"
#include "codegen/index/tiled.h"
#include "codegen/loops/kernel.h"

enum { HLO_NO_GROUP = -1 };

// Limits keep compiling linear in the program; none decides what a result is.
enum {
  HLO_FUSER_MAX_NODES = 4 * HLO_TUNING_FUSE_MAX_WORK,  // members, with duplicated nodes
  HLO_FUSER_MAX_PROLOGUE = 16,                         // ops that compute an operand of a product
  HLO_FUSER_MAX_RECOMPUTING = 3,  // fusions that each compute a plain op for themselves
};

/// A fusion being grown.
typedef struct hlo_fuser_group {
  uint32_t member_count, member_capacity, output_count;
  double work;       // of all members, hlo_elementwise_cost()
  bool has_product;  // a matrix product
  bool has_reduction, has_extra_outputs, has_update;
  bool sums;             // has members whose elements need many of an operand's
  bool is_optimistic;    // members have joined that were not tried
  int32_t merged;        // the group that took all members over; HLO_NO_GROUP
  hlo_node_t** members;  // last first
  int64_t element_count;
  uint32_t last_position;
  hlo_fusion_t* fusion;  // made at the end
} hlo_fuser_group_t;

/// What a node became.
typedef struct hlo_fuser_node {
  uint32_t position;  // in its region
  uint32_t step;      // while steps are ordered: the one that makes its results + 1; 0: none does
  int32_t group;      // HLO_NO_GROUP
  bool is_fusible, is_cheap;
  bool is_product;      // of matrices, or a convolution
  bool is_prologue;        // part of what a product computes its operand by
  uint8_t broadcast;       // n > 0: made of much less by broadcasts and n or n - 1 ops in a row
  bool is_duplicated;   // cheap and used by several fusions: computed in each
  bool is_careful;      // its group, where it is the last of one, joins nothing that is not tried
  uint8_t recomputed_in_count;  // if it is everywhere: the groups that compute it, when it is known which
  int32_t recomputed_in[HLO_FUSER_MAX_RECOMPUTING];
} hlo_fuser_node_t;

/// Ops that make an operand of a product, and of nothing else: its maker first.
typedef struct hlo_fuser_prologue {
  uint32_t count;
  hlo_node_t* nodes[HLO_FUSER_MAX_PROLOGUE];
} hlo_fuser_prologue_t;

typedef struct hlo_fuser {
  const hlo_target_t* target;
  hlo_arena_t* arena;  // of the schedule
  hlo_arena_t scratch;
  hlo_arena_t trial;  // of one trial
  int32_t started_group;      // whose last trial left `start`
  hlo_kernel_start_t* start;  // where the next one begins; NULL: none has succeeded
  hlo_tile_memo_t* memo;
  hlo_fuser_node_t* nodes;  // by node->index
  uint32_t* numbers;        // by node->index, zeros
  uint32_t* listed;         // by node->index: the last list that it was in
  uint32_t list_number, list_count;
  hlo_node_t* list[HLO_FUSER_MAX_NODES];  // members of the fusion that is being built
  hlo_fusion_table_t known;               // what was tried, and what was made
  uint32_t group_count, group_capacity;
  hlo_fuser_group_t* groups;       // of the region at work
  const hlo_fuser_prologue_t* prologue;  // that a product may take; NULL: none is tried
  bool may_be_optimistic;   // members that only a trial tells to fit may join before one
  bool is_rejected;  // an optimistic group does not fit: the region is grouped anew
  hlo_verdict_t verdict;        // of the last node that was to join a group
  bool is_explained;            // rejections are kept in the schedule
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

/// Ops that cost nothing but index arithmetic.
bool hlo_fuser_only_indexes(const hlo_node_t* node);

// ---- fusion_group.c: groups, and the fusions that they would be. errors: RESOURCE_EXHAUSTED

/// A new group; it is the last one then. Its place in the order of steps is the node's.
hlo_status_t hlo_fuser_start_group(hlo_fuser_t* f, hlo_node_t* node) HLO_MUST_USE;
hlo_status_t hlo_fuser_join(hlo_fuser_t* f, int32_t group, hlo_node_t* node) HLO_MUST_USE;
/// The fusion of the group's members, of `extra` if not NULL, and of f->chain if there is one; NULL
/// when it has too much memory. owner: the arena
hlo_status_t hlo_fuser_build(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* extra,
                             hlo_arena_t* arena, hlo_fusion_t** out_fusion) HLO_MUST_USE;
/// Whether loops can compute a fusion; is_made: it is one of the schedule, whose kernel stays, and
/// which shares that of an earlier one.
hlo_status_t hlo_fuser_has_loops(hlo_fuser_t* f, hlo_fusion_t* fusion, bool is_made,
                                 bool* out_has) HLO_MUST_USE;
/// Whether the loops of the group could compute the node (NULL: f->chain alone), too. Of a hasty
/// group they may not even compute what it has: f->is_refuted then.
hlo_status_t hlo_fuser_try_member(hlo_fuser_t* f, const hlo_fuser_group_t* group, hlo_node_t* node,
                                  bool* out_fits) HLO_MUST_USE;
/// Keeps f->verdict, a "no", for a producer that does not join `group`, if the schedule is to be
/// explained.
hlo_status_t hlo_fuser_reject(hlo_fuser_t* f, const hlo_node_t* producer, int32_t group,
                              bool is_sibling) HLO_MUST_USE;
/// Ops whose elements each need many of an operand's.
bool hlo_fuser_accumulates(const hlo_node_t* node);
/// A hasty group does not fit.
void hlo_fuser_restart_region(hlo_fuser_t* f, const hlo_fuser_group_t* group);
/// Whether a user finds what it uses in memory, even if a member of its own fusion makes it.
bool hlo_fuser_needs_memory(const hlo_fuser_t* f, const hlo_node_t* user, const hlo_use_t* use);
bool hlo_fuser_prologue_has(const hlo_fuser_prologue_t* prologue, const hlo_node_t* node);

// ---- phases. errors: RESOURCE_EXHAUSTED

/// fusion_grow.c: which group a node belongs to, all that use it having been placed.
hlo_status_t hlo_fuser_assign_node(hlo_fuser_t* f, hlo_node_t* node) HLO_MUST_USE;
/// fusion_operand.c, a part of it: what makes an operand of a product may be computed where the
/// product packs or reads it;
hlo_status_t hlo_fuser_take_prologue(hlo_fuser_t* f, hlo_node_t* node,
                                    bool* out_taken) HLO_MUST_USE;
/// and what only moves elements of something in memory is read there by each of a few products.
hlo_status_t hlo_fuser_duplicate_operand(hlo_fuser_t* f, hlo_node_t* node,
                                       bool* out_taken) HLO_MUST_USE;
/// fusion_merge.c: groups that read the same large array become one where they may.
hlo_status_t hlo_fuser_merge_groups(hlo_fuser_t* f) HLO_MUST_USE;
/// fusion_steps.c: the fusions of all groups. A group that loops cannot compute falls apart into
/// its members; a member that they cannot compute by itself is called: *is_whole is false then.
/// A hasty one is refuted instead.
hlo_status_t hlo_fuser_make_fusions(hlo_fuser_t* f, bool* is_whole) HLO_MUST_USE;
/// The sequence's steps, as their last nodes are in the program;
hlo_status_t hlo_fuser_make_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) HLO_MUST_USE;
/// and in an order in which everything is made before it is read, where groups fell apart.
hlo_status_t hlo_fuser_order_steps(hlo_fuser_t* f, hlo_sequence_t* sequence) HLO_MUST_USE;

#endif  // HLO_CODEGEN_FUSION_IMPL_H_
