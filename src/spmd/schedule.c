// SPDX-License-Identifier: Apache-2.0
// Schedules all regions of a module (see schedule.h), inner ones first: a loop takes what its body
// takes times its trip count, a call what its callee takes, a branch the most that one of them
// takes.
#include "spmd/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "passes/trip_count.h"
#include "spmd/memory_estimate.h"
#include "spmd/passes.h"
#include "spmd/schedule_impl.h"

// ---- options

static const struct {
  const char* name;
  uint32_t limit;
} kLimits[] = {
#define HLO_SCHEDULE_EXCHANGE(op, phases, pattern, limit) {#op, limit},
#include "spmd/schedule.def"
};

static hlo_status_t read_number(const char* word, const char* text, uint64_t* out) {
  char* end = NULL;
  *out = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && *out > 0) return hlo_ok();
  return hlo_invalid_argument("schedule: '%s' is not followed by a number above 0", word);
}

static hlo_status_t read_limit(const char* name, uint64_t value, hlo_schedule_options_t* options) {
  const uint32_t limit = value < UINT8_MAX ? (uint32_t)value : UINT8_MAX;
  bool found = false;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    if (strcmp(name, "limit") != 0 && strcmp(name, kLimits[r].name) != 0) continue;
    options->limits[r] = limit;
    found = true;
  }
  if (found) return hlo_ok();
  return hlo_invalid_argument(
      "schedule: '%s' is no limit; there are limit, memory and collectives "
      "such as all_reduce",
      name);
}

static hlo_status_t read_word(char* word, hlo_schedule_options_t* options) {
  char* text = strchr(word, '=');
  uint64_t value = 0;
  if (text) {
    *text++ = 0;
    HLO_TRY(read_number(word, text, &value));
    if (strcmp(word, "memory") != 0) return read_limit(word, value, options);
    options->memory_bytes = value;
  } else if (hlo_schedule_machine(word, &options->machine)) {
    return hlo_ok();
  } else if (strcmp(word, "early") == 0) {
    options->starts_early = true;
  } else if (strcmp(word, "groups") == 0) {
    options->same_groups = true;
  } else {
    return hlo_invalid_argument(
        "schedule: '%s' is neither a machine (host, node, cluster, tree, torus) nor "
        "early, groups, memory=BYTES or limit=N",
        word);
  }
  return hlo_ok();
}

hlo_status_t hlo_schedule_options_parse(const char* text, hlo_schedule_options_t* out_options) {
  hlo_schedule_options_t options = {0};
  if (!hlo_schedule_machine("host", &options.machine)) return hlo_internal_error("no machine host");
  HLO_SCOPED_ARENA arena = {0};
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) options.limits[r] = kLimits[r].limit;
  char* word = text ? hlo_arena_strndup(&arena, text, strlen(text)) : NULL;
  HLO_TRY(hlo_arena_status(&arena));
  while (word) {
    char* next = strchr(word, ':');
    if (next) *next++ = 0;
    HLO_TRY(read_word(word, &options));
    word = next;
  }
  *out_options = options;
  return hlo_ok();
}

// ---- regions

enum { TRIP_COUNT_MAX = 1 << 20 };

typedef struct run {
  hlo_scheduler_t scheduler;
  bool applies;  // false: only finds what the module takes as it is
  uint32_t changed;
} run_t;

static hlo_status_t run_region(run_t* run, hlo_region_t* region, hlo_region_cost_t* out_cost);

// The body of a function is run once; a function that calls itself costs nothing inside.
static hlo_status_t run_func(run_t* run, const hlo_func_t* func) {
  hlo_region_cost_t* cost = &run->scheduler.funcs[func->index];
  if (!func->body || cost->is_known) return hlo_ok();
  cost->is_known = true;
  hlo_region_cost_t found;
  HLO_TRY(run_region(run, func->body, &found));
  *cost = found;
  return hlo_ok();
}

static void add_cost(hlo_region_cost_t* to, const hlo_region_cost_t* from, double count) {
  to->is_known = true;
  to->stats.length_ns += count * from->stats.length_ns;
  to->stats.exposed_ns += count * from->stats.exposed_ns;
  to->stats.bound_ns += count * from->stats.bound_ns;
  to->stats.communication_ns += count * from->stats.communication_ns;
  to->stats.flops += count * from->stats.flops;
  to->stats.collectives += from->stats.collectives;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    if (from->uses[r] > to->uses[r]) to->uses[r] = from->uses[r];
  }
}

// A loop with an unknown trip count is taken to run once.
static hlo_status_t run_inside(run_t* run, hlo_node_t* node) {
  hlo_region_cost_t total = {0}, longest = {0}, cost;
  double count = 1;
  const hlo_func_t* callee = hlo_scheduled_callee(run->scheduler.module, node);
  if (callee) return run_func(run, callee);
  if (!hlo_has_scheduled_regions(node)) return hlo_ok();
  if (node->op == HLO_OP_while) {
    const int32_t trip_count = hlo_loop_trip_count(node, TRIP_COUNT_MAX);
    if (trip_count >= 0) count = trip_count;
  }
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(run_region(run, node->regions[i], &cost));
    add_cost(&total, &cost, count);
    if (cost.stats.length_ns >= longest.stats.length_ns) longest = cost;
  }
  run->scheduler.nodes[node->index] = node->op == HLO_OP_while ? total : longest;
  return hlo_ok();
}

static bool has_choice(const hlo_tasks_t* tasks) {
  for (uint32_t i = 0; i < tasks->count; ++i) {
    if (tasks->tasks[i].kind == HLO_TASK_START || tasks->tasks[i].group >= 0) return true;
  }
  return false;
}

static bool is_better(const hlo_schedule_score_t* a, const hlo_schedule_score_t* b) {
  if (a->broken != b->broken) return a->broken < b->broken;
  if (a->over_bytes != b->over_bytes) return a->over_bytes < b->over_bytes;
  return a->length_ns < b->length_ns;
}

// Orders a region if that is better. *out_cost is that of the region as it then is.
static hlo_status_t improve(run_t* run, hlo_region_t* region, hlo_region_cost_t* out_cost) {
  hlo_scheduler_t* s = &run->scheduler;
  hlo_tasks_t tasks;
  hlo_schedule_score_t before, after;
  hlo_region_cost_t cost;
  HLO_TRY(hlo_tasks_create(s, region, &tasks));
  hlo_task_t** order = hlo_arena_array(&s->arena, tasks.count + 1, sizeof *order);
  HLO_TRY(hlo_arena_status(&s->arena));
  for (uint32_t i = 0; i < tasks.count; ++i) order[i] = &tasks.tasks[i];
  HLO_TRY(hlo_tasks_simulate(s, &tasks, order, out_cost, &before));
  if (!run->applies || !has_choice(&tasks)) return hlo_ok();
  HLO_TRY(hlo_tasks_order(s, &tasks, order));
  HLO_TRY(hlo_tasks_simulate(s, &tasks, order, &cost, &after));
  if (!is_better(&after, &before)) return hlo_ok();
  for (uint32_t i = 0; i < tasks.count; ++i) {
    hlo_node_unlink(order[i]->node);
    hlo_region_append(region, order[i]->node);
  }
  *out_cost = cost;
  ++run->changed;
  return hlo_ok();
}

static hlo_status_t run_region(run_t* run, hlo_region_t* region, hlo_region_cost_t* out_cost) {
  for (hlo_node_t* node = region->first; node; node = node->next) HLO_TRY(run_inside(run, node));
  const hlo_arena_mark_t mark = hlo_arena_mark(&run->scheduler.arena);
  HLO_TRY(improve(run, region, out_cost));
  hlo_arena_reset(&run->scheduler.arena, mark);
  return hlo_ok();
}

static hlo_status_t run_module(run_t* run, hlo_module_t* module, hlo_schedule_stats_t* out_stats) {
  hlo_scheduler_t* s = &run->scheduler;
  s->nodes = hlo_arena_array(&s->arena, module->node_count + 1, sizeof *s->nodes);
  s->funcs = hlo_arena_array(&s->arena, module->func_count + 1, sizeof *s->funcs);
  HLO_TRY(hlo_arena_status(&s->arena));
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    HLO_TRY(run_func(run, func));
  }
  const hlo_func_t* entry = hlo_module_entry(module);
  if (out_stats && entry) *out_stats = s->funcs[entry->index].stats;
  return hlo_ok();
}

hlo_status_t hlo_schedule_module(hlo_module_t* module, const hlo_schedule_options_t* options,
                                 uint32_t* out_changed, hlo_schedule_stats_t* out_before,
                                 hlo_schedule_stats_t* out_after) {
  HLO_SCOPED_ARENA kept = {0};  // for all regions
  run_t run = {.scheduler = {.options = options, .module = module, .topology = {.arena = &kept}}};
  if (options->is_fused) {
    HLO_TRY(hlo_memory_find_inside(module, &kept, &run.scheduler.is_inside));
  }
  hlo_arena_init(&run.scheduler.arena, 0);
  hlo_status_t status = out_before ? run_module(&run, module, out_before) : hlo_ok();
  run.applies = true;
  if (hlo_status_is_ok(status)) status = run_module(&run, module, out_after);
  *out_changed = run.changed;
  hlo_arena_deinit(&run.scheduler.arena);
  return status;
}

hlo_status_t hlo_pass_schedule_latency(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  hlo_schedule_options_t options;
  uint32_t changed = 0;
  HLO_TRY(hlo_schedule_options_parse(ctx->argument, &options));
  hlo_status_t status = hlo_schedule_module(module, &options, &changed, NULL, NULL);
  ctx->step_count += changed;
  return status;
}

// ---- statistics

static void print_row(const char* prefix, const char* name, double before, double after,
                      double scale, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s%-28s %12.3f %12.3f\n", prefix, name, before / scale, after / scale);
}

void hlo_schedule_stats_print(const hlo_schedule_stats_t* before, const hlo_schedule_stats_t* after,
                              const char* prefix, hlo_strbuf_t* out) {
  const double us = 1000, kib = 1024;
  hlo_strbuf_printf(out, "%s%-28s %12s %12s\n", prefix, "schedule by the cost model", "before",
                    "after");
  print_row(prefix, "length, us", before->length_ns, after->length_ns, us, out);
  print_row(prefix, "computation, us", before->compute_ns, after->compute_ns, us, out);
  print_row(prefix, "communication, us", before->communication_ns, after->communication_ns, us,
            out);
  print_row(prefix, "exposed communication, us", before->exposed_ns, after->exposed_ns, us, out);
  print_row(prefix, "lower bound of it, us", before->bound_ns, after->bound_ns, us, out);
  print_row(prefix, "values alive, KiB", before->peak_bytes, after->peak_bytes, kib, out);
}
