// SPDX-License-Identifier: Apache-2.0
// Machines of many devices: how fast one computes, and the links between them as nested levels.
//
// A level joins its children: devices, or whole instances of the level inside of it. Device numbers
// count children of the innermost level first. Two devices exchange data over the links of the
// lowest level that has both. A torus is a ring of rings: the link of a child of an outer ring is
// all links of its devices in that direction together.
#pragma once

#include "base/mem.h"
#include "ir/module.h"
#include "spmd/traffic.h"

enum { HLO_TOPOLOGY_LEVELS_MAX = 6 };

typedef enum hlo_link_kind { HLO_LINK_SWITCH, HLO_LINK_RING } hlo_link_kind_t;

typedef struct hlo_topology_level {
  const char* name;
  hlo_link_kind_t kind;
  uint32_t children;         // 0: any number, of the outermost level
  double link_bytes_per_ns;  // of one child; of a ring, in both directions together
  double latency_ns;         // of a message between two children; of a ring, neighbours
} hlo_topology_level_t;

/// A machine of schedule.def or of a text.
typedef struct hlo_schedule_machine {
  const char* name;
  double flops_per_ns, functions_per_ns, memory_bytes_per_ns;
  double launch_ns;         // to begin an op
  double memory_gibibytes;  // of a device; 0: not known
  bool is_overlapped;       // links and memories move data while processors compute
  const char* doc;
  uint32_t level_count;
  hlo_topology_level_t levels[HLO_TOPOLOGY_LEVELS_MAX];
} hlo_schedule_machine_t;

/// Returns the machine of schedule.def of a name; *out_machine stays as it is if the
/// table has no such machine.
bool hlo_schedule_machine(const char* name, hlo_schedule_machine_t* out_machine);
/// Reads a machine: lines of a word and values, and comments after #.
///   machine NAME
///   compute FLOPS FUNCTIONS MEMORY_BYTES   (each per ns)
///   launch NS
///   memory GIBIBYTES
///   overlap yes|no   (links and memories move data while processors compute; yes if missing)
///   level NAME switch|ring CHILDREN LINK_BYTES_PER_NS LATENCY_NS   (innermost first)
/// owner  : names are in the arena. errors : INVALID_ARGUMENT (names the line), RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_machine_parse(const char* text, hlo_arena_t* arena,
                                        hlo_schedule_machine_t* out_machine) HLO_MUST_USE;
/// Writes what hlo_schedule_machine_parse() reads.
void hlo_schedule_machine_print(const hlo_schedule_machine_t* machine, hlo_strbuf_t* out);
/// Returns the time of an op: to begin it (or 0), then the longer of its arithmetic and its memory
/// accesses, or both where the same instructions do both.
double hlo_schedule_machine_op_ns(const hlo_schedule_machine_t* machine, double launch_ns,
                                  double work_ns, double memory_ns);
/// Returns the number of devices that the levels have room for; 0: any number.
uint64_t hlo_topology_capacity(const hlo_schedule_machine_t* machine);

/// The time of one execution of a collective, in which all of its groups take part at one time.
typedef struct hlo_exchange_time {
  double latency_ns;  // of its messages, one after the other
  double link_ns;     // of the link with the most to do; levels work at the same time
  int32_t busiest;    // the level of that link; -1: none
  /// The bytes that the busiest link of each level carries.
  double link_bytes[HLO_TOPOLOGY_LEVELS_MAX];
} hlo_exchange_time_t;

/// The groups that were followed so far. owner: the arena. threads: confined
typedef struct hlo_followed hlo_followed_t;
typedef struct hlo_topology_cache {
  hlo_arena_t* arena;
  hlo_followed_t* first;
} hlo_topology_cache_t;

/// Follows a collective over the links: rings run inside of each instance of a level first, then
/// between instances, so that each part leaves an instance once. Linear in the processes, for
/// groups that the cache has not.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_topology_time(const hlo_schedule_machine_t* machine, const hlo_node_t* node,
                               hlo_process_counts_t counts, hlo_topology_cache_t* cache,
                               hlo_exchange_time_t* out_time) HLO_MUST_USE;
/// Returns the time of a message to the farthest of `process_count` devices. units  : ns
double hlo_topology_message_ns(const hlo_schedule_machine_t* machine, uint32_t process_count,
                               double bytes);
static inline double hlo_exchange_time_ns(const hlo_exchange_time_t* time) {
  return time->latency_ns + time->link_ns;
}
