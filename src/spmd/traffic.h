// SPDX-License-Identifier: Apache-2.0
// The collectives of a program written for one device: the bytes that they send, their groups, and
// how often they run.
#pragma once

#include "base/mem.h"
#include "ir/module.h"
#include "ir/process_groups.h"
#include "spmd/collective.h"

/// Who sends to whom (schedule.def).
typedef enum hlo_exchange_pattern {
  HLO_EXCHANGE_RING,
  HLO_EXCHANGE_EXCHANGE,
  HLO_EXCHANGE_BROADCAST,
  HLO_EXCHANGE_PAIRS,
} hlo_exchange_pattern_t;

/// The bytes that a collective sends each time, by an algorithm that sends as little as any: rings
/// for sums and gathers, each byte once for exchanges and permutes. units  : bytes
typedef struct hlo_exchange_bytes {
  double phases;  // messages one after the other
  hlo_exchange_pattern_t pattern;
  uint32_t group_size;   // members of the largest group
  uint32_t group_count;  // of all processes
  double operand_bytes;  // of one process
  double phase_bytes;    // of its operands or results, whichever are larger
  double sent_bytes;     // by a process of the largest group
  double total_bytes;    // by all processes
} hlo_exchange_bytes_t;

/// Returns the row of HLO_SCHEDULE_EXCHANGE (schedule.def) of an op; -1: it has none.
int hlo_exchange_find(hlo_op_t op);
/// Describes an op with such a row. Groups that are not listed as ids count as all processes; a
/// ragged all-to-all, whose sizes are values, counts as if all of its operand were sent.
hlo_exchange_bytes_t hlo_exchange_bytes_of(const hlo_node_t* node, hlo_process_counts_t counts);

/// Calls `visit` for each group of a collective over groups, with the numbers of its processes
/// (replica * partitions + partition), and for each pair of a permute. Stops when it returns false.
/// `members` has room for all processes.
typedef bool (*hlo_group_visit_t)(void* context, uint32_t count, const uint32_t* members);
void hlo_exchange_visit_groups(const hlo_node_t* node, hlo_process_counts_t counts,
                               uint32_t* members, hlo_group_visit_t visit, void* context);

/// The mesh of a program, by whose axes groups are named. Partitioning removes it.
typedef struct hlo_traffic_mesh {
  uint32_t axis_count;
  const char** names;
  int64_t* sizes;
  int64_t device_count;
  int64_t* positions;  // by device: in the mesh
} hlo_traffic_mesh_t;

/// Copies the first mesh of `partitions` devices; without one, no axes.
/// owner  : everything is in the arena. errors : INVALID_ARGUMENT, RESOURCE_EXHAUSTED
hlo_status_t hlo_traffic_mesh_read(hlo_module_t* module, int64_t partitions, hlo_arena_t* arena,
                                   hlo_traffic_mesh_t* out_mesh) HLO_MUST_USE;

/// Collectives of a program that are alike: the same op, groups and sizes.
typedef struct hlo_traffic_item {
  const hlo_node_t* node;  // the first of them
  const char* axes;        // of the mesh, along which the members of a group differ: "x", "x:(2)4",
                           // "x,y"; "replicas"; "" if it is unknown
  hlo_exchange_bytes_t bytes;
  uint32_t site_count;  // in the program
  double count;         // executions in a run of the program
  bool is_at_least;  // inside of a loop with an unknown trip count, which counts as one iteration
  bool is_at_most;   // inside of a branch that a run may not take, or with sizes that are values
} hlo_traffic_item_t;

/// The collectives of the entry function and of what it calls. Of the branches of an `if` or
/// `case`, those count that send the most.
typedef struct hlo_traffic {
  uint32_t count;
  hlo_traffic_item_t* items;  // those that send the most first
  double sent_bytes;          // the sum over items of count * bytes.sent_bytes
  double total_bytes;         // and of bytes.total_bytes
} hlo_traffic_t;

/// owner  : everything is in the arena; nodes are lent. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_traffic_count(const hlo_module_t* module, const hlo_traffic_mesh_t* mesh,
                               hlo_arena_t* arena, hlo_traffic_t* out_traffic) HLO_MUST_USE;
/// Returns the name of an item's op without its dialect.
const char* hlo_traffic_op_text(const hlo_traffic_item_t* item);
/// Writes a table of the items, then the bytes by op and by axes.
void hlo_traffic_print(const hlo_traffic_t* traffic, const char* line_prefix, hlo_strbuf_t* out);
