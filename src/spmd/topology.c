// SPDX-License-Identifier: Apache-2.0
// Machines and the time of collectives over their links (see topology.h).
#include "spmd/topology.h"

#include <stdlib.h>
#include <string.h>

// ---- the table

static const hlo_schedule_machine_t kMachines[] = {
#define HLO_SCHEDULE_MACHINE(name, flops, functions, memory, launch, capacity, overlap, doc) \
  {#name, flops, functions, memory, launch, capacity, overlap, doc, 0, {{0}}},
#include "spmd/schedule.def"
};

static const struct {
  const char* machine;
  hlo_topology_level_t level;
} kLevels[] = {
#define HLO_SCHEDULE_LEVEL(machine, name, kind, children, link, latency) \
  {#machine, {#name, HLO_LINK_##kind, children, link, latency}},
#include "spmd/schedule.def"
};

bool hlo_schedule_machine(const char* name, hlo_schedule_machine_t* out_machine) {
  for (size_t i = 0; i < sizeof kMachines / sizeof kMachines[0]; ++i) {
    if (strcmp(kMachines[i].name, name) != 0) continue;
    *out_machine = kMachines[i];
    for (size_t k = 0; k < sizeof kLevels / sizeof kLevels[0]; ++k) {
      const bool is_own = strcmp(kLevels[k].machine, name) == 0;
      if (is_own) out_machine->levels[out_machine->level_count++] = kLevels[k].level;
    }
    return true;
  }
  return false;
}

double hlo_schedule_machine_op_ns(const hlo_schedule_machine_t* machine, double launch_ns,
                                  double work_ns, double memory_ns) {
  if (!machine->is_overlapped) return launch_ns + work_ns + memory_ns;
  return launch_ns + (work_ns > memory_ns ? work_ns : memory_ns);
}

uint64_t hlo_topology_capacity(const hlo_schedule_machine_t* machine) {
  uint64_t capacity = 1;
  for (uint32_t i = 0; i < machine->level_count; ++i) capacity *= machine->levels[i].children;
  return capacity;
}

// ---- text

typedef struct reader {
  hlo_arena_t* arena;
  hlo_schedule_machine_t machine;
  uint32_t line;
  char* words[8];
  uint32_t word_count;
} reader_t;

static hlo_status_t refuse(const reader_t* r, const char* what) {
  return hlo_invalid_argument("line %u of the topology: %s", r->line, what);
}

static hlo_status_t read_number(const reader_t* r, uint32_t word, double least, double* out) {
  char* end = NULL;
  const double value = strtod(r->words[word], &end);
  const double most = 1e18;
  if (!*end && end != r->words[word] && value >= least && value <= most) {
    *out = value;
    return hlo_ok();
  }
  return hlo_invalid_argument("line %u of the topology: '%s' is no number of at least %g", r->line,
                              r->words[word], least);
}

static void split(reader_t* r, char* line) {
  char* comment = strchr(line, '#');
  if (comment) *comment = 0;
  r->word_count = 0;
  char* rest = NULL;
  for (char* word = strtok_r(line, " \t\r", &rest); word && r->word_count < 8;
       word = strtok_r(NULL, " \t\r", &rest)) {
    r->words[r->word_count++] = word;
  }
}

static hlo_status_t read_level(reader_t* r) {
  hlo_schedule_machine_t* machine = &r->machine;
  double children;
  if (machine->level_count == HLO_TOPOLOGY_LEVELS_MAX)
    return refuse(r, "there are too many levels");
  if (machine->level_count && !machine->levels[machine->level_count - 1].children) {
    return refuse(r, "only the last level may have any number of children");
  }
  const double smallest = 1e-9;
  hlo_topology_level_t level = {.name = r->words[1]};
  if (strcmp(r->words[2], "ring") == 0) {
    level.kind = HLO_LINK_RING;
  } else if (strcmp(r->words[2], "switch") != 0) {
    return refuse(r, "expected switch or ring");
  }
  HLO_TRY(read_number(r, 3, 0, &children));
  HLO_TRY(read_number(r, 4, smallest, &level.link_bytes_per_ns));
  HLO_TRY(read_number(r, 5, 0, &level.latency_ns));
  if (children > UINT32_MAX || children != (double)(uint32_t)children) {
    return refuse(r, "the number of children is no integer of 32 bits");
  }
  level.children = (uint32_t)children;
  machine->levels[machine->level_count++] = level;
  return hlo_ok();
}

static hlo_status_t read_line(reader_t* r) {
  const char* key = r->words[0];
  const double smallest = 1e-9;
  hlo_schedule_machine_t* machine = &r->machine;
  if (strcmp(key, "machine") == 0 && r->word_count == 2) {
    machine->name = r->words[1];
    return hlo_ok();
  }
  if (strcmp(key, "compute") == 0 && r->word_count == 4) {
    HLO_TRY(read_number(r, 1, smallest, &machine->flops_per_ns));
    HLO_TRY(read_number(r, 2, smallest, &machine->functions_per_ns));
    return read_number(r, 3, smallest, &machine->memory_bytes_per_ns);
  }
  if (strcmp(key, "launch") == 0 && r->word_count == 2) {
    return read_number(r, 1, 0, &machine->launch_ns);
  }
  if (strcmp(key, "memory") == 0 && r->word_count == 2) {
    return read_number(r, 1, 0, &machine->memory_gibibytes);
  }
  if (strcmp(key, "overlap") == 0 && r->word_count == 2) {
    machine->is_overlapped = strcmp(r->words[1], "yes") == 0;
    if (machine->is_overlapped || strcmp(r->words[1], "no") == 0) return hlo_ok();
    return refuse(r, "expected yes or no");
  }
  if (strcmp(key, "level") == 0 && r->word_count == 6) return read_level(r);
  return refuse(
      r,
      "expected 'machine NAME', 'compute FLOPS FUNCTIONS MEMORY', 'launch NS', "
      "'memory GIBIBYTES', 'overlap yes|no' or 'level NAME switch|ring CHILDREN LINK LATENCY'");
}

hlo_status_t hlo_schedule_machine_parse(const char* text, hlo_arena_t* arena,
                                        hlo_schedule_machine_t* out_machine) {
  reader_t r = {.arena = arena,
                .machine = {.name = "topology", .is_overlapped = true, .doc = "a text"}};
  char* copy = hlo_arena_strndup(arena, text, strlen(text));
  if (!copy) return hlo_arena_status(arena);
  for (char* line = copy; line;) {
    char* next = strchr(line, '\n');
    if (next) *next++ = 0;
    ++r.line;
    split(&r, line);
    if (r.word_count) HLO_TRY(read_line(&r));
    line = next;
  }
  if (!r.machine.flops_per_ns) return hlo_invalid_argument("the topology has no line 'compute'");
  if (!r.machine.level_count) return hlo_invalid_argument("the topology has no line 'level'");
  *out_machine = r.machine;
  return hlo_ok();
}

void hlo_schedule_machine_print(const hlo_schedule_machine_t* machine, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "machine %s\ncompute %g %g %g\nlaunch %g\n", machine->name,
                    machine->flops_per_ns, machine->functions_per_ns, machine->memory_bytes_per_ns,
                    machine->launch_ns);
  if (machine->memory_gibibytes) hlo_strbuf_printf(out, "memory %g\n", machine->memory_gibibytes);
  hlo_strbuf_printf(out, "overlap %s\n", machine->is_overlapped ? "yes" : "no");
  for (uint32_t i = 0; i < machine->level_count; ++i) {
    const hlo_topology_level_t* level = &machine->levels[i];
    hlo_strbuf_printf(out, "level %s %s %u %g %g\n", level->name,
                      level->kind == HLO_LINK_RING ? "ring" : "switch", level->children,
                      level->link_bytes_per_ns, level->latency_ns);
  }
}

// ---- the time of a collective

// A child of a level: its numbers are valid for the group `stamp`.
typedef struct child {
  uint32_t stamp;
  uint32_t members;   // of the group, in it
  uint32_t children;  // of it, that have members
  bool is_added;
  double load;  // bytes through its link, as a part of those of the collective: of all groups
} child_t;

typedef struct follower {
  const hlo_schedule_machine_t* machine;
  hlo_exchange_pattern_t pattern;
  uint64_t sizes[HLO_TOPOLOGY_LEVELS_MAX + 1];  // devices of a child of each level
  child_t* children[HLO_TOPOLOGY_LEVELS_MAX + 1];
  double steps[HLO_TOPOLOGY_LEVELS_MAX];  // messages one after the other, of the longest group
  uint32_t stamp;
} follower_t;

static child_t* child_of(follower_t* f, uint32_t level, uint32_t device) {
  child_t* child = &f->children[level][device / f->sizes[level]];
  if (child->stamp == f->stamp) return child;
  child->stamp = f->stamp;
  child->members = child->children = 0;
  child->is_added = false;
  return child;
}

// Counts the members of a group in each child of each level.
static void place_group(follower_t* f, uint32_t count, const uint32_t* members) {
  for (uint32_t i = 0; i < count; ++i) {
    bool is_new = true;
    for (uint32_t level = 0; level <= f->machine->level_count; ++level) {
      child_t* child = child_of(f, level, members[i]);
      child->children += level > 0 && is_new;
      is_new = child->members++ == 0;
    }
  }
}

// Returns the messages of a phase among `count` children: a tree's depth, or half of a ring's.
static double steps_of(const hlo_topology_level_t* level, uint32_t count) {
  double steps = 0;
  if (level->kind == HLO_LINK_RING) return count / 2;
  for (uint32_t reached = 1; reached < count; reached *= 2) ++steps;
  return steps;
}

// Returns how many links a part passes on average.
static double hops_of(const hlo_topology_level_t* level, uint32_t count) {
  const double hops = count / 4.0;  // to one half of a ring in each direction
  return level->kind == HLO_LINK_RING && hops > 1 ? hops : 1;
}

static void load_child(follower_t* f, uint32_t at, uint32_t group_size, child_t* child,
                       const child_t* parent) {
  const hlo_topology_level_t* level = &f->machine->levels[at];
  const double count = parent->children;
  switch (f->pattern) {
    case HLO_EXCHANGE_RING: child->load += (count - 1) / count; break;
    case HLO_EXCHANGE_BROADCAST: child->load += 1; break;
    case HLO_EXCHANGE_EXCHANGE:
      child->load += (double)child->members * (parent->members - child->members) / group_size *
                     hops_of(level, parent->children);
      break;
    case HLO_EXCHANGE_PAIRS: break;  // follow_pair()
  }
}

static bool follow_group(void* context, uint32_t count, const uint32_t* members) {
  follower_t* f = context;
  ++f->stamp;
  place_group(f, count, members);
  for (uint32_t at = 0; at < f->machine->level_count; ++at) {
    for (uint32_t i = 0; i < count; ++i) {
      child_t* child = child_of(f, at, members[i]);
      const child_t* parent = child_of(f, at + 1, members[i]);
      if (child->is_added || parent->children < 2) continue;
      child->is_added = true;
      load_child(f, at, count, child, parent);
      const double steps = steps_of(&f->machine->levels[at], parent->children);
      if (steps > f->steps[at]) f->steps[at] = steps;
    }
  }
  return true;
}

static double ring_distance(const follower_t* f, uint32_t level, uint32_t source, uint32_t target) {
  const uint64_t count = f->sizes[level + 1] / f->sizes[level];
  const uint64_t a = source / f->sizes[level] % count, b = target / f->sizes[level] % count;
  const uint64_t distance = a > b ? a - b : b - a;
  return (double)(distance * 2 > count ? count - distance : distance);
}

static bool follow_pair(void* context, uint32_t count, const uint32_t* members) {
  follower_t* f = context;
  if (count != 2 || members[0] == members[1]) return true;
  uint32_t level = 0;
  while (members[0] / f->sizes[level + 1] != members[1] / f->sizes[level + 1]) ++level;
  const bool is_ring = f->machine->levels[level].kind == HLO_LINK_RING;
  const double hops = is_ring ? ring_distance(f, level, members[0], members[1]) : 1;
  // In one of the two directions of a ring.
  f->children[level][members[0] / f->sizes[level]].load += is_ring ? 2 * hops : 1;
  if (hops > f->steps[level]) f->steps[level] = hops;
  return true;
}

static hlo_status_t make_children(follower_t* f, uint32_t process_count, hlo_arena_t* arena) {
  const hlo_schedule_machine_t* machine = f->machine;
  f->sizes[0] = 1;
  for (uint32_t i = 0; i <= machine->level_count; ++i) {
    const uint64_t count = (process_count + f->sizes[i] - 1) / f->sizes[i];
    f->children[i] = hlo_arena_array(arena, count, sizeof *f->children[i]);
    if (!f->children[i]) return hlo_arena_status(arena);
    if (i == machine->level_count) break;
    // The outermost level has all devices, even if there are more than it has room for.
    const bool is_last = i + 1 == machine->level_count;
    f->sizes[i + 1] = f->sizes[i] * (is_last ? count : machine->levels[i].children);
  }
  return hlo_ok();
}

// The links of groups, whatever their collective sends.
struct hlo_followed {
  const hlo_schedule_machine_t* machine;
  const hlo_attr_t* ids;  // groups or pairs
  hlo_group_strategy_t strategy;
  hlo_exchange_pattern_t pattern;
  double loads[HLO_TOPOLOGY_LEVELS_MAX];  // of the busiest link of each level, as a part
  double steps[HLO_TOPOLOGY_LEVELS_MAX];
  hlo_followed_t* next;
};

static hlo_status_t follow(const hlo_schedule_machine_t* machine, const hlo_node_t* node,
                           hlo_process_counts_t counts, hlo_followed_t* followed) {
  HLO_SCOPED_ARENA arena = {0};
  const uint32_t process_count = counts.replicas * counts.partitions;
  follower_t f = {.machine = machine, .pattern = followed->pattern};
  uint32_t* members = hlo_arena_array(&arena, (size_t)process_count + 1, sizeof *members);
  if (!members) return hlo_arena_status(&arena);
  HLO_TRY(make_children(&f, process_count, &arena));
  const bool has_pairs = f.pattern == HLO_EXCHANGE_PAIRS;
  hlo_exchange_visit_groups(node, counts, members, has_pairs ? follow_pair : follow_group, &f);
  for (uint32_t i = 0; i < machine->level_count; ++i) {
    const uint64_t count = (process_count + f.sizes[i] - 1) / f.sizes[i];
    for (uint64_t k = 0; k < count; ++k) {
      if (f.children[i][k].load > followed->loads[i]) followed->loads[i] = f.children[i][k].load;
    }
    followed->steps[i] = f.steps[i];
  }
  return hlo_ok();
}

static hlo_status_t find_followed(const hlo_schedule_machine_t* machine, const hlo_node_t* node,
                                  hlo_process_counts_t counts, hlo_exchange_pattern_t pattern,
                                  hlo_topology_cache_t* cache, const hlo_followed_t** out) {
  const bool has_pairs = pattern == HLO_EXCHANGE_PAIRS;
  const hlo_attr_t* ids =
      hlo_node_attr(node, has_pairs ? HLO_ATTR_source_target_pairs : HLO_ATTR_replica_groups);
  const hlo_group_strategy_t strategy = hlo_group_strategy(node);
  for (hlo_followed_t* f = cache->first; f; f = f->next) {
    if (f->machine != machine || f->ids != ids || f->strategy != strategy || f->pattern != pattern)
      continue;
    *out = f;
    return hlo_ok();
  }
  hlo_followed_t* followed = hlo_arena_alloc_zeroed(cache->arena, sizeof *followed);
  if (!followed) return hlo_arena_status(cache->arena);
  *followed = (hlo_followed_t){.machine = machine,
                               .ids = ids,
                               .strategy = strategy,
                               .pattern = pattern,
                               .next = cache->first};
  HLO_TRY(follow(machine, node, counts, followed));
  *out = cache->first = followed;
  return hlo_ok();
}

hlo_status_t hlo_topology_time(const hlo_schedule_machine_t* machine, const hlo_node_t* node,
                               hlo_process_counts_t counts, hlo_topology_cache_t* cache,
                               hlo_exchange_time_t* out_time) {
  const hlo_exchange_bytes_t bytes = hlo_exchange_bytes_of(node, counts);
  hlo_exchange_time_t time = {.busiest = -1};
  const hlo_followed_t* followed = NULL;
  HLO_TRY(find_followed(machine, node, counts, bytes.pattern, cache, &followed));
  for (uint32_t i = 0; i < machine->level_count; ++i) {
    time.link_bytes[i] = followed->loads[i] * bytes.phases * bytes.phase_bytes;
    time.latency_ns += bytes.phases * followed->steps[i] * machine->levels[i].latency_ns;
    const double link_ns = time.link_bytes[i] / machine->levels[i].link_bytes_per_ns;
    if (link_ns <= time.link_ns) continue;
    time.link_ns = link_ns;
    time.busiest = (int32_t)i;
  }
  *out_time = time;
  return hlo_ok();
}

double hlo_topology_message_ns(const hlo_schedule_machine_t* machine, uint32_t process_count,
                               double bytes) {
  uint64_t inside = 1;  // devices that the levels so far join
  const hlo_topology_level_t* level = &machine->levels[0];
  for (uint32_t i = 0; i < machine->level_count && inside < process_count; ++i) {
    level = &machine->levels[i];
    inside *= level->children ? level->children : process_count;
  }
  return level->latency_ns + bytes / level->link_bytes_per_ns;
}
