// SPDX-License-Identifier: Apache-2.0
// Simulates a step (see simulate.h).
#include "spmd/simulate.h"

#include <stdio.h>
#include <string.h>

#include "ir/clone.h"
#include "spmd/passes.h"

static hlo_status_t count_node(void* context, hlo_node_t* node) {
  *(uint32_t*)context += !hlo_op_has(node->op, HLO_TRAIT_TERMINATOR);
  return hlo_ok();
}

static hlo_status_t check_capacity(const hlo_schedule_machine_t* machine,
                                   hlo_process_counts_t counts) {
  const uint64_t devices = (uint64_t)counts.replicas * counts.partitions;
  const uint64_t capacity = hlo_topology_capacity(machine);
  const uint64_t devices_max = 1 << 20;
  if (devices > devices_max) {
    return hlo_invalid_argument("%llu devices are too many to follow", (unsigned long long)devices);
  }
  if (!capacity || devices <= capacity) return hlo_ok();
  return hlo_invalid_argument("the program is for %llu devices, but machine %s has %llu",
                              (unsigned long long)devices, machine->name,
                              (unsigned long long)capacity);
}

// Times belong to the program, whose nodes change when it is scheduled.
static hlo_status_t time_items(hlo_simulation_t* s, hlo_arena_t* arena) {
  hlo_topology_cache_t cache = {.arena = arena};
  s->times = hlo_arena_array(arena, (size_t)s->traffic.count + 1, sizeof *s->times);
  if (!s->times) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < s->traffic.count; ++i) {
    HLO_TRY(
        hlo_topology_time(s->machine, s->traffic.items[i].node, s->counts, &cache, &s->times[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_simulate(hlo_module_t* module, const hlo_schedule_options_t* options,
                          const hlo_traffic_mesh_t* mesh, hlo_arena_t* arena,
                          hlo_simulation_t* out_simulation) {
  const hlo_pass_options_t passes = {.more = &hlo_spmd_pass_set};
  hlo_simulation_t s = {.machine = &options->machine, .counts = hlo_module_process_counts(module)};
  uint32_t changed = 0;
  HLO_TRY(check_capacity(s.machine, s.counts));
  HLO_TRY(hlo_module_walk(module, false, count_node, &s.op_count));
  HLO_TRY(hlo_passes_run(module, "legalize_scheduling_groups,create_async_collectives", &passes));
  HLO_TRY(hlo_schedule_module(module, options, &changed, &s.in_order, &s.scheduled));
  HLO_TRY(hlo_memory_estimate(module, &s.memory));
  HLO_TRY(hlo_traffic_count(module, mesh, arena, &s.traffic));
  HLO_TRY(time_items(&s, arena));
  *out_simulation = s;
  return hlo_ok();
}

// ---- printing

static void print_machine(const hlo_simulation_t* s, hlo_strbuf_t* out) {
  const hlo_schedule_machine_t* machine = s->machine;
  hlo_strbuf_printf(out, "machine %s: %g flops, %g functions, %g bytes of memory in a ns\n",
                    machine->name, machine->flops_per_ns, machine->functions_per_ns,
                    machine->memory_bytes_per_ns);
  for (uint32_t i = 0; i < machine->level_count; ++i) {
    const hlo_topology_level_t* level = &machine->levels[i];
    hlo_strbuf_printf(out, "  %-10s %s of ", level->name,
                      level->kind == HLO_LINK_RING ? "ring" : "switch");
    if (level->children) {
      hlo_strbuf_printf(out, "%u", level->children);
    } else {
      hlo_strbuf_puts(out, "any number");
    }
    hlo_strbuf_printf(out, ", links of %g bytes in a ns, messages of %g ns\n",
                      level->link_bytes_per_ns, level->latency_ns);
  }
  hlo_strbuf_printf(out, "devices: %u replicas of %u partitions; ops of one device: %u\n",
                    s->counts.replicas, s->counts.partitions, s->op_count);
}

static void print_memory(const hlo_simulation_t* s, hlo_strbuf_t* out) {
  const double mib = 1 << 20, mib_per_gib = 1024;
  const struct {
    const char* name;
    double bytes;
  } rows[] = {{"arguments", s->memory.argument_bytes},
              {"results", s->memory.result_bytes},
              {"results in arguments", s->memory.alias_bytes},
              {"temporaries", s->memory.temporary_bytes},
              {"all", hlo_memory_estimate_all(&s->memory)}};
  hlo_strbuf_puts(out, "\nmemory of a device, MiB\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hlo_strbuf_printf(out, "  %-26s %14.3f\n", rows[i].name, rows[i].bytes / mib);
  }
  if (!s->machine->memory_gibibytes) return;
  hlo_strbuf_printf(out, "  %-26s %14.3f\n", "of the machine",
                    s->machine->memory_gibibytes * mib_per_gib);
}

static double ratio(double a, double b) {
  const double percent = 100;
  return b > 0 ? percent * a / b : 0;
}

static void print_row(hlo_strbuf_t* out, const char* name, double in_order, double scheduled) {
  hlo_strbuf_printf(out, "  %-26s %14.3f %14.3f\n", name, in_order, scheduled);
}

static void print_step(const hlo_simulation_t* s, hlo_strbuf_t* out) {
  const double us = 1000, flops_per_ns = s->machine->flops_per_ns;
  const hlo_schedule_stats_t *a = &s->in_order, *b = &s->scheduled;
  hlo_strbuf_printf(out, "\n%-28s %14s %14s\n", "a step, us", "in order", "scheduled");
  print_row(out, "length", a->length_ns / us, b->length_ns / us);
  print_row(out, "computation", a->compute_ns / us, b->compute_ns / us);
  print_row(out, "communication", a->communication_ns / us, b->communication_ns / us);
  print_row(out, "exposed communication", a->exposed_ns / us, b->exposed_ns / us);
  print_row(out, "lower bound of the length", (a->compute_ns + a->bound_ns) / us,
            (b->compute_ns + b->bound_ns) / us);
  print_row(out, "arithmetic, % of the peak", ratio(a->flops / flops_per_ns, a->length_ns),
            ratio(b->flops / flops_per_ns, b->length_ns));
}

static const char* level_text(const hlo_simulation_t* s, uint32_t item) {
  const int32_t level = s->times[item].busiest;
  return level < 0 ? "-" : s->machine->levels[level].name;
}

static void print_collectives(const hlo_simulation_t* s, hlo_strbuf_t* out) {
  const double us = 1000, mib = 1 << 20;
  hlo_strbuf_printf(out, "\n%-20s %-12s %-12s %6s %12s %-10s %12s %12s %12s\n", "collective",
                    "axes", "groups", "runs", "MiB sent", "busiest", "us each", "latency",
                    "us in a step");
  for (uint32_t i = 0; i < s->traffic.count; ++i) {
    const hlo_traffic_item_t* item = &s->traffic.items[i];
    const double ns = hlo_exchange_time_ns(&s->times[i]);
    char groups[32];
    snprintf(groups, sizeof groups, "%u of %u", item->bytes.group_count, item->bytes.group_size);
    hlo_strbuf_printf(out, "%-20s %-12s %-12s %6.0f %12.3f %-10s %12.3f %12.3f %12.3f\n",
                      hlo_traffic_op_text(item), *item->axes ? item->axes : "-", groups,
                      item->count, item->bytes.sent_bytes / mib, level_text(s, i), ns / us,
                      s->times[i].latency_ns / us, item->count * ns / us);
  }
}

// Prints the time and bytes of items whose texts are equal, in the order of the items.
static void print_sums(const hlo_simulation_t* s, const char* title,
                       const char* (*text_of)(const hlo_simulation_t*, uint32_t),
                       hlo_strbuf_t* out) {
  const double us = 1000, mib = 1 << 20;
  hlo_strbuf_printf(out, "\n%-20s %16s %16s\n", title, "MiB of a device", "us in a step");
  for (uint32_t i = 0; i < s->traffic.count; ++i) {
    bool is_first = true;
    double bytes = 0, ns = 0;
    for (uint32_t k = 0; k < s->traffic.count; ++k) {
      const hlo_traffic_item_t* item = &s->traffic.items[k];
      if (strcmp(text_of(s, i), text_of(s, k)) != 0) continue;
      is_first = is_first && k >= i;
      bytes += item->count * item->bytes.sent_bytes;
      ns += item->count * hlo_exchange_time_ns(&s->times[k]);
    }
    if (is_first) {
      hlo_strbuf_printf(out, "%-20s %16.3f %16.3f\n", text_of(s, i), bytes / mib, ns / us);
    }
  }
}

static const char* op_of(const hlo_simulation_t* s, uint32_t item) {
  return hlo_traffic_op_text(&s->traffic.items[item]);
}

static const char* axes_of(const hlo_simulation_t* s, uint32_t item) {
  const char* axes = s->traffic.items[item].axes;
  return *axes ? axes : "-";
}

void hlo_simulation_print(const hlo_simulation_t* s, hlo_strbuf_t* out) {
  print_machine(s, out);
  print_memory(s, out);
  print_step(s, out);
  if (!s->traffic.count) return;
  print_collectives(s, out);
  print_sums(s, "by collective", op_of, out);
  print_sums(s, "by axes", axes_of, out);
  print_sums(s, "by busiest level", level_text, out);
}
