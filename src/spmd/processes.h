// SPDX-License-Identifier: Apache-2.0
// Facts about the processes of a program, at compile time: the groups of its collectives,
// the values of integers in each process, and which processes have equal values.
#pragma once

#include "base/mem.h"
#include "ir/module.h"
#include "ir/process_groups.h"

/// The groups of a collective. Every process is in one.
typedef struct hlo_groups {
  uint32_t size;              // of each group; 0: they differ
  const uint32_t* firsts;     // by process: the smallest process of its group
  const uint32_t* positions;  // by process: its position in its group
} hlo_groups_t;

typedef struct hlo_known_groups hlo_known_groups_t;

/// owner  : everything is in the arena
/// threads: confined
typedef struct hlo_processes {
  hlo_arena_t* arena;
  uint32_t replicas, partitions, count;
  hlo_known_groups_t* known_groups;
  const uint32_t* all;         // all processes have equal values
  const uint32_t** relations;  // by value->index; see hlo_processes_relate()
  uint32_t relation_count;
} hlo_processes_t;

/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_processes_init(const hlo_module_t* module, hlo_arena_t* arena,
                                hlo_processes_t* out_processes) HLO_MUST_USE;

/// Returns the groups of a collective with replica_groups; NULL if they are not listed as ids, if a
/// process is in none, or when memory is exhausted, which the arena records. Known groups are kept:
/// the first search among some takes time in proportion to processes times groups.
const hlo_groups_t* hlo_processes_groups(hlo_processes_t* processes, const hlo_node_t* node);

/// Returns true if a dynamic_slice takes the part of dimension `dim` that has the number of the
/// process in its group, and all of the other dimensions. *out_rest is how many elements of the
/// dimension are after the last part.
bool hlo_processes_own_slice(const hlo_processes_t* processes, const hlo_node_t* slice,
                             const hlo_groups_t* groups, uint32_t dim, int64_t* out_rest);

/// Finds which processes have equal values of each value in the module, for hlo_processes_agree().
/// Values inside of loops and branches count as different.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_processes_relate(hlo_processes_t* processes,
                                  const hlo_module_t* module) HLO_MUST_USE;
/// Returns true if an argument has mhlo.parameter_replication = [true]: all replicas are given
/// equal values for it. A sharding says no such thing: programs may hold different values under one
/// that claims to be replicated.
bool hlo_argument_is_replicated(const hlo_func_t* func, uint32_t arg);
/// Returns true if all processes of each group have equal values.
bool hlo_processes_agree(const hlo_processes_t* processes, const hlo_value_t* value,
                         const hlo_groups_t* groups);
/// Returns true if all processes of each group have equal values in every iteration of the loops
/// around a value, as far as it follows from constants, counters and the numbers of the processes.
/// (processes_loops.c)
bool hlo_processes_agree_in_loop(const hlo_processes_t* processes, const hlo_value_t* value,
                                 const hlo_groups_t* groups);
