// SPDX-License-Identifier: Apache-2.0
// The nodes of a region as tasks: what the list scheduler and the simulation share.
#pragma once

#include "spmd/schedule.h"

typedef enum hlo_task_kind {
  HLO_TASK_COMPUTE,
  HLO_TASK_START,
  HLO_TASK_DONE,
  HLO_TASK_SYNC,  // a collective that runs at once, or a node with collectives in its regions
} hlo_task_kind_t;

typedef struct hlo_task {
  hlo_node_t* node;
  hlo_task_kind_t kind;
  uint32_t place;           // in the program
  double cost_ns;           // of the node itself
  double latency_ns;        // START, DONE: of the collective
  double wait_ns;           // of cost_ns, for collectives inside
  double communication_ns;  // of collectives inside
  double bound_ns;          // of wait_ns, in any schedule
  uint32_t collectives;     // inside
  double flops;             // of the node and inside
  double bytes;             // of its results
  const hlo_node_t* collective;
  uint8_t uses[HLO_SCHEDULE_RESOURCE_COUNT];  // while it runs, or is in flight
  struct hlo_task* partner;                   // START: its end; DONE: its start
  uint32_t dependence_count;
  struct hlo_task** dependences;  // each once
  uint32_t stamp;                 // scratch of its maker
  int64_t group;                  // -1: none
  double depth_ns;                // longest path that ends here
  double least_ns;                // the same in any schedule of the regions inside
} hlo_task_t;

typedef struct hlo_tasks {
  uint32_t count;
  hlo_task_t* tasks;  // in the order of the region
} hlo_tasks_t;

/// The cost of a node with regions, of a call, or of a region.
typedef struct hlo_region_cost {
  bool is_known;
  hlo_schedule_stats_t stats;
  uint8_t uses[HLO_SCHEDULE_RESOURCE_COUNT];
} hlo_region_cost_t;

typedef struct hlo_scheduler {
  hlo_arena_t arena;  // of one region; reset after each
  const hlo_schedule_options_t* options;
  const hlo_module_t* module;
  hlo_region_cost_t* nodes;  // by node->index: of its regions or callee
  hlo_region_cost_t* funcs;  // by func->index
  hlo_topology_cache_t topology;
  const bool* is_inside;  // by node->index: computed inside of a later op; NULL: all stand alone
} hlo_scheduler_t;

/// How good an order is, the most important first.
typedef struct hlo_schedule_score {
  uint32_t broken;    // limits exceeded, groups interrupted
  double over_bytes;  // above the memory limit
  double length_ns;
} hlo_schedule_score_t;

/// Returns the function that a node runs, NULL if none: that of a call, or of an asynchronous
/// computation, whatever its thread of execution.
hlo_func_t* hlo_scheduled_callee(const hlo_module_t* module, const hlo_node_t* node);
/// Returns true if the regions of a node are scheduled, and its cost is theirs.
bool hlo_has_scheduled_regions(const hlo_node_t* node);

/// Makes the tasks of a region, in the scheduler's arena.
/// errors : INVALID_ARGUMENT (scheduling groups), RESOURCE_EXHAUSTED
hlo_status_t hlo_tasks_create(hlo_scheduler_t* s, const hlo_region_t* region,
                              hlo_tasks_t* out_tasks) HLO_MUST_USE;
/// Finds a new order of the tasks; the caller compares it.
/// errors : INVALID_ARGUMENT (groups that depend on each other), RESOURCE_EXHAUSTED
hlo_status_t hlo_tasks_order(hlo_scheduler_t* s, const hlo_tasks_t* tasks,
                             hlo_task_t** out_order) HLO_MUST_USE;
/// Runs an order by the model.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_tasks_simulate(hlo_scheduler_t* s, const hlo_tasks_t* tasks,
                                hlo_task_t* const* order, hlo_region_cost_t* out_cost,
                                hlo_schedule_score_t* out_score) HLO_MUST_USE;

/// Returns true if two collectives connect the same processes.
bool hlo_have_same_groups(const hlo_node_t* a, const hlo_node_t* b);

/// The state that the rules look at.
typedef struct hlo_schedule_state {
  const hlo_schedule_options_t* options;
  double now_ns;      // from the end of the region backwards
  double live_bytes;  // of values defined before and used after this point
} hlo_schedule_state_t;

/// A task that could come next, from the end.
typedef struct hlo_candidate {
  const hlo_task_t* task;
  double ready_ns;     // nothing stalls from this time on
  double delta_bytes;  // by which it changes live_bytes
} hlo_candidate_t;

/// Returns true if `a` comes next rather than `b`; *out_rule is the rule that says so. A strict
/// order of all tasks.
bool hlo_candidate_is_better(const hlo_schedule_state_t* state, const hlo_candidate_t* a,
                             const hlo_candidate_t* b, hlo_schedule_rule_t* out_rule);
