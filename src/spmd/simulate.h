// SPDX-License-Identifier: Apache-2.0
// The step of a partitioned program on a machine of many devices, by the cost model. The devices
// run one program on parts of equal size, so one of them is simulated; the links are followed for
// all.
#pragma once

#include "spmd/memory_estimate.h"
#include "spmd/schedule.h"

/// A step by the cost model.
typedef struct hlo_simulation {
  const hlo_schedule_machine_t* machine;  // lent
  hlo_process_counts_t counts;
  uint32_t op_count;                         // of the program of one device
  hlo_schedule_stats_t in_order, scheduled;  // each collective awaited at once; overlapped
  hlo_memory_estimate_t memory;              // as scheduled
  hlo_traffic_t traffic;
  hlo_exchange_time_t* times;  // of each item of the traffic, each time
} hlo_simulation_t;

/// Schedules the program of one device for a machine, in place, and simulates it before and after.
/// `mesh` names groups; without axes, they have no names.
/// owner  : lists are in the arena. errors : INVALID_ARGUMENT (more devices than the machine has;
/// scheduling groups), RESOURCE_EXHAUSTED
hlo_status_t hlo_simulate(hlo_module_t* module, const hlo_schedule_options_t* options,
                          const hlo_traffic_mesh_t* mesh, hlo_arena_t* arena,
                          hlo_simulation_t* out_simulation) HLO_MUST_USE;
/// Writes the figures as tables.
void hlo_simulation_print(const hlo_simulation_t* simulation, hlo_strbuf_t* out);
