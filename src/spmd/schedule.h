// SPDX-License-Identifier: Apache-2.0
// The latency-hiding scheduler: orders the nodes of each region so that other work runs while
// collectives are in flight, for a machine described by a cost model (schedule.def).
#pragma once

#include "base/mem.h"
#include "ir/module.h"
#include "spmd/topology.h"

/// Kinds of collectives, the rows of schedule.def; each has a limit of its own.
typedef enum hlo_schedule_resource {
#define HLO_SCHEDULE_EXCHANGE(op, ...) HLO_SCHEDULE_##op,
#include "spmd/schedule.def"
  HLO_SCHEDULE_RESOURCE_COUNT,
} hlo_schedule_resource_t;

typedef enum hlo_schedule_rule {
#define HLO_SCHEDULE_RULE(name, doc) HLO_SCHEDULE_RULE_##name,
#include "spmd/schedule.def"
  HLO_SCHEDULE_RULE_COUNT,
} hlo_schedule_rule_t;

typedef struct hlo_schedule_options {
  hlo_schedule_machine_t machine;
  uint32_t limits[HLO_SCHEDULE_RESOURCE_COUNT];
  uint64_t memory_bytes;  // limit of values that are alive; 0: none
  bool starts_early;      // prefers early starts of collectives where a limit is above 1
  bool same_groups;       // collectives in flight together have the same groups
  bool is_fused;          // ops that loops can compute together begin once, and keep in registers
                          // what they pass to each other
} hlo_schedule_options_t;

/// The figures of a schedule, by the model.
typedef struct hlo_schedule_stats {
  double length_ns;         // the whole entry function
  double compute_ns;        // of which processes compute
  double communication_ns;  // of all collectives
  double exposed_ns;        // waiting for collectives
  double bound_ns;          // no schedule waits less, by paths and limits
  double peak_bytes;        // values alive, without arguments and constants
  double flops;             // of one device, transcendentals not counted
  uint32_t collectives;
} hlo_schedule_stats_t;

/// Reads words separated by colons: a machine, limit=N (of all kinds), KIND=N, memory=BYTES, early,
/// groups. NULL: the defaults, machine `host`.
/// errors : INVALID_ARGUMENT
hlo_status_t hlo_schedule_options_parse(const char* text,
                                        hlo_schedule_options_t* out_options) HLO_MUST_USE;

/// Schedules all regions of a module; a region is only changed if that makes it better: fewer
/// broken limits and groups, then fewer bytes above the memory limit, then less time. *out_changed
/// counts the changed regions; *out_before and *out_after may be NULL. Takes n log n for n nodes of
/// a region; with a memory limit or `groups`, n times the number of nodes that could run at one
/// time. errors : INVALID_ARGUMENT (scheduling groups: see schedule_groups.h), RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_module(hlo_module_t* module, const hlo_schedule_options_t* options,
                                 uint32_t* out_changed, hlo_schedule_stats_t* out_before,
                                 hlo_schedule_stats_t* out_after) HLO_MUST_USE;
/// Writes both as a table.
void hlo_schedule_stats_print(const hlo_schedule_stats_t* before, const hlo_schedule_stats_t* after,
                              const char* line_prefix, hlo_strbuf_t* out);
