// SPDX-License-Identifier: Apache-2.0
// The time and memory of an order of tasks by the cost model. Computation is one sequence; each
// collective in flight takes its time beside it. Waiting at an end, and all of a synchronous
// collective, is exposed. No order is shorter than its longest path, than all computation, or than
// the collectives of a kind in as many sequences as its limit admits.
#include "spmd/schedule_impl.h"

typedef struct simulation {
  const hlo_schedule_options_t* options;
  double now_ns, live_bytes;
  double* finish_ns;  // by place: of a start
  uint32_t* users;    // by place: dependences on it that did not run
  uint32_t in_flight[HLO_SCHEDULE_RESOURCE_COUNT];
  const hlo_node_t** flying;  // collectives in flight
  uint32_t flying_count;
  double busy_ns[HLO_SCHEDULE_RESOURCE_COUNT];
  double path_ns;
  hlo_schedule_stats_t stats;
  uint8_t uses[HLO_SCHEDULE_RESOURCE_COUNT];
  hlo_schedule_score_t score;
} simulation_t;

// Counts the limits that a task exceeds, beside the collectives that are in flight.
static void occupy(simulation_t* m, const hlo_task_t* task) {
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    const uint32_t uses = m->in_flight[r] + task->uses[r];
    m->score.broken += task->uses[r] && m->in_flight[r] && uses > m->options->limits[r];
    if (task->uses[r] && uses > m->uses[r])
      m->uses[r] = uses < UINT8_MAX ? (uint8_t)uses : UINT8_MAX;
  }
}

static void take_off(simulation_t* m, const hlo_task_t* start) {
  for (uint32_t i = 0; i < m->flying_count && m->options->same_groups; ++i) {
    m->score.broken += !hlo_have_same_groups(m->flying[i], start->collective);
  }
  m->flying[m->flying_count++] = start->collective;
}

static void land(simulation_t* m, const hlo_task_t* done) {
  uint32_t i = 0;
  while (m->flying[i] != done->collective) ++i;
  m->flying[i] = m->flying[--m->flying_count];
}

static void run_start(simulation_t* m, const hlo_task_t* task) {
  occupy(m, task);
  if (task->partner) take_off(m, task);
  m->finish_ns[task->place] = m->now_ns + task->latency_ns;
  m->stats.communication_ns += task->latency_ns;
  ++m->stats.collectives;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    if (task->partner) m->in_flight[r] += task->uses[r];
    if (task->uses[r]) m->busy_ns[r] += task->latency_ns;
  }
}

static void run_done(simulation_t* m, const hlo_task_t* task) {
  const double wait = m->finish_ns[task->partner->place] - m->now_ns;
  land(m, task);
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) m->in_flight[r] -= task->uses[r];
  if (wait <= 0) return;
  m->stats.exposed_ns += wait;
  m->now_ns += wait;
}

static void count_memory(simulation_t* m, const hlo_task_t* task) {
  // The end of a collective takes over the memory of its results from the start.
  double freed = 0;
  for (uint32_t k = 0; k < task->dependence_count; ++k) {
    const hlo_task_t* d = task->dependences[k];
    if (--m->users[d->place] == 0) freed += d->bytes;
  }
  const double taken = m->users[task->place] ? task->bytes : 0;
  const double most =
      m->live_bytes + task->bytes - (task->kind == HLO_TASK_DONE ? task->partner->bytes : 0);
  if (most > m->stats.peak_bytes) m->stats.peak_bytes = most;
  m->live_bytes += taken - freed;
}

static void run_task(simulation_t* m, const hlo_task_t* task) {
  if (task->kind == HLO_TASK_SYNC) occupy(m, task);
  if (task->kind == HLO_TASK_START) run_start(m, task);
  if (task->kind == HLO_TASK_DONE) run_done(m, task);
  m->now_ns += task->cost_ns;
  m->stats.compute_ns += task->cost_ns - task->wait_ns;
  m->stats.exposed_ns += task->wait_ns;
  m->stats.bound_ns += task->bound_ns;
  m->stats.communication_ns += task->communication_ns;
  m->stats.collectives += task->collectives;
  m->stats.flops += task->flops;
  const double least = task->least_ns + task->cost_ns - task->wait_ns + task->bound_ns;
  if (least > m->path_ns) m->path_ns = least;
  count_memory(m, task);
}

// Counts how often other work interrupts a group. Linear in the tasks for each group.
static uint32_t count_breaks(const hlo_tasks_t* tasks, hlo_task_t* const* order, bool* seen) {
  uint32_t breaks = 0;
  for (uint32_t i = 0; i < tasks->count; ++i) {
    const int64_t group = order[i]->group;
    bool is_interrupted = false;
    for (uint32_t k = i; k < tasks->count && group >= 0 && !seen[i]; ++k) {
      if (order[k]->group == group) {
        breaks += is_interrupted;
        is_interrupted = false;
        seen[k] = k > i;
      } else if (hlo_op_info(order[k]->node->op)->cost != HLO_COST_INDEX) {
        is_interrupted = true;
      }
    }
  }
  return breaks;
}

static double bound_of(const simulation_t* m, double synchronous_ns) {
  double length = m->path_ns;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    const double busy = m->busy_ns[r] / m->options->limits[r];
    if (busy > length) length = busy;
  }
  // Synchronous collectives are waits of any schedule; of their bounds inside loops, the sum.
  const double least = length - m->stats.compute_ns;
  return least > synchronous_ns ? least : synchronous_ns;
}

hlo_status_t hlo_tasks_simulate(hlo_scheduler_t* s, const hlo_tasks_t* tasks,
                                hlo_task_t* const* order, hlo_region_cost_t* out_cost,
                                hlo_schedule_score_t* out_score) {
  simulation_t m = {.options = s->options};
  m.finish_ns = hlo_arena_array(&s->arena, tasks->count, sizeof *m.finish_ns);
  m.flying = hlo_arena_array(&s->arena, tasks->count, sizeof(hlo_node_t*));
  m.users = hlo_arena_array(&s->arena, tasks->count, sizeof *m.users);
  bool* seen = hlo_arena_array(&s->arena, tasks->count, sizeof *seen);
  HLO_TRY(hlo_arena_status(&s->arena));
  for (uint32_t i = 0; i < tasks->count; ++i) {
    for (uint32_t k = 0; k < tasks->tasks[i].dependence_count; ++k) {
      ++m.users[tasks->tasks[i].dependences[k]->place];
    }
  }
  for (uint32_t i = 0; i < tasks->count; ++i) run_task(&m, order[i]);
  m.score.broken += count_breaks(tasks, order, seen);
  m.stats.length_ns = m.score.length_ns = m.now_ns;
  m.stats.bound_ns = bound_of(&m, m.stats.bound_ns);
  const double over = m.stats.peak_bytes - (double)s->options->memory_bytes;
  m.score.over_bytes = s->options->memory_bytes && over > 0 ? over : 0;
  *out_cost = (hlo_region_cost_t){.is_known = true, .stats = m.stats};
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) out_cost->uses[r] = m.uses[r];
  *out_score = m.score;
  return hlo_ok();
}
