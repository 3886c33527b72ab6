// SPDX-License-Identifier: Apache-2.0
// The list scheduler (see schedule.h). It works from the end of a region to its beginning, so that
// the end of a collective comes as late, and its start as early, as other work covers. A task is
// ready when all that depend on it have their places. Of the ready tasks that limits and groups
// admit, the rules of schedule.def choose one: the first rule that sees a difference decides, each
// compares one number of a task, and the last one the numbers of nodes: they are a strict order,
// and what they choose does not depend on the order before.
#include "spmd/schedule_impl.h"

// Returns what a rule compares; less is better.
static double rule_key(const hlo_schedule_state_t* state, const hlo_candidate_t* c,
                       hlo_schedule_rule_t rule) {
  const hlo_schedule_options_t* options = state->options;
  const hlo_task_t* task = c->task;
  switch (rule) {
    case HLO_SCHEDULE_RULE_memory: {
      const double over = state->live_bytes + c->delta_bytes - (double)options->memory_bytes;
      return options->memory_bytes && over > 0 ? over : 0;
    }
    case HLO_SCHEDULE_RULE_view: return hlo_op_info(task->node->op)->cost != HLO_COST_INDEX;
    case HLO_SCHEDULE_RULE_stall:
      return c->ready_ns > state->now_ns ? c->ready_ns - state->now_ns : 0;
    case HLO_SCHEDULE_RULE_early:
      for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
        if (options->starts_early && task->kind == HLO_TASK_START && task->uses[r] &&
            options->limits[r] > 1) {
          return 1;
        }
      }
      return 0;
    case HLO_SCHEDULE_RULE_release: return task->kind != HLO_TASK_START;
    case HLO_SCHEDULE_RULE_done: return task->kind != HLO_TASK_DONE;
    case HLO_SCHEDULE_RULE_depth: return -task->depth_ns;
    case HLO_SCHEDULE_RULE_pressure: return options->memory_bytes ? c->delta_bytes : 0;
    default: return -(double)task->node->index;
  }
}

bool hlo_candidate_is_better(const hlo_schedule_state_t* state, const hlo_candidate_t* a,
                             const hlo_candidate_t* b, hlo_schedule_rule_t* out_rule) {
  for (int rule = 0; rule < HLO_SCHEDULE_RULE_COUNT; ++rule) {
    const double x = rule_key(state, a, rule), y = rule_key(state, b, rule);
    if (x == y) continue;
    *out_rule = rule;
    return x < y;
  }
  *out_rule = HLO_SCHEDULE_RULE_number;
  return false;
}

/// Facts about a task that change until its place comes.
typedef struct progress {
  uint32_t users;  // dependences on it that have no place
  double ready_ns;
  bool is_live;  // its results are used by a task that has a place
} progress_t;

/// Ready tasks among which time changes nothing: the one that comes first is on top.
typedef struct heap {
  hlo_task_t** tasks;
  uint32_t count;
} heap_t;

typedef struct lister {
  const hlo_tasks_t* tasks;
  hlo_schedule_state_t state;
  progress_t* progress;  // by place
  hlo_task_t** ready;
  uint32_t ready_count;
  heap_t heaps[HLO_SCHEDULE_RESOURCE_COUNT + 1];  // of the other ready tasks
  uint32_t in_flight[HLO_SCHEDULE_RESOURCE_COUNT];
  const hlo_node_t** flying;  // collectives in flight
  uint32_t flying_count;
  uint32_t* group_users;  // by place of a group's first task: what outside waits for the group
  uint32_t* group_left;   // tasks without a place
  uint32_t* group_first;  // by place: of its group
  int64_t active;         // group that has begun; -1: none
} lister_t;

// ---- groups

static bool is_in_group(const hlo_task_t* task) {
  return task->group >= 0;
}

// Finds the first task of each group. Linear for each group.
static void find_groups(lister_t* l) {
  for (uint32_t i = 0; i < l->tasks->count; ++i) l->group_first[i] = UINT32_MAX;
  for (uint32_t i = 0; i < l->tasks->count; ++i) {
    const hlo_task_t* first = &l->tasks->tasks[i];
    if (!is_in_group(first) || l->group_first[i] != UINT32_MAX) continue;
    for (uint32_t k = i; k < l->tasks->count; ++k) {
      if (l->tasks->tasks[k].group != first->group) continue;
      l->group_first[k] = i;
      ++l->group_left[i];
    }
  }
}

// A dependence of a group on itself does not keep it from beginning, nor do views in between.
static bool keeps_waiting(const hlo_task_t* user, const hlo_task_t* dependence) {
  return is_in_group(dependence) && user->group != dependence->group &&
         hlo_op_info(user->node->op)->cost != HLO_COST_INDEX;
}

static void count_users(lister_t* l) {
  for (uint32_t i = 0; i < l->tasks->count; ++i) {
    const hlo_task_t* task = &l->tasks->tasks[i];
    for (uint32_t k = 0; k < task->dependence_count; ++k) {
      const hlo_task_t* d = task->dependences[k];
      ++l->progress[d->place].users;
      if (keeps_waiting(task, d)) ++l->group_users[l->group_first[d->place]];
    }
  }
}

static bool group_admits(const lister_t* l, const hlo_task_t* task) {
  if (l->active >= 0) {
    return task->group == l->active || hlo_op_info(task->node->op)->cost == HLO_COST_INDEX;
  }
  return !is_in_group(task) || l->group_users[l->group_first[task->place]] == 0;
}

// ---- limits

static bool limits_admit(const lister_t* l, const hlo_task_t* task) {
  const hlo_schedule_options_t* options = l->state.options;
  if (task->kind != HLO_TASK_DONE && task->kind != HLO_TASK_SYNC) return true;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    if (task->uses[r] && l->in_flight[r] && l->in_flight[r] + task->uses[r] > options->limits[r]) {
      return false;
    }
  }
  for (uint32_t i = 0; i < l->flying_count && options->same_groups && task->collective; ++i) {
    if (!hlo_have_same_groups(l->flying[i], task->collective)) return false;
  }
  return true;
}

static void take_off(lister_t* l, const hlo_task_t* done) {
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) l->in_flight[r] += done->uses[r];
  l->flying[l->flying_count++] = done->collective;
}

static void land(lister_t* l, const hlo_task_t* start) {
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) l->in_flight[r] -= start->uses[r];
  uint32_t i = 0;
  while (l->flying[i] != start->collective) ++i;
  l->flying[i] = l->flying[--l->flying_count];
}

// ---- ready tasks

// Computation never stalls, nor do ends of collectives; memory counts only with a limit. So the
// rules always choose the same one of the computations, and of the ends of one kind: they are in
// heaps. Returns NULL for tasks that have to be compared each time.
static heap_t* find_heap(lister_t* l, const hlo_task_t* task) {
  const hlo_schedule_options_t* options = l->state.options;
  if (is_in_group(task) || options->memory_bytes || options->same_groups) return NULL;
  if (task->kind == HLO_TASK_COMPUTE) return &l->heaps[HLO_SCHEDULE_RESOURCE_COUNT];
  const int kind = task->kind == HLO_TASK_DONE ? hlo_exchange_find(task->collective->op) : -1;
  return kind < 0 ? NULL : &l->heaps[kind];
}

static bool comes_before(const lister_t* l, const hlo_task_t* x, const hlo_task_t* y) {
  hlo_schedule_rule_t rule;
  const hlo_candidate_t a = {.task = x}, b = {.task = y};
  return hlo_candidate_is_better(&l->state, &a, &b, &rule);
}

static void push(const lister_t* l, heap_t* heap, hlo_task_t* task) {
  uint32_t at = heap->count++;
  for (; at && comes_before(l, task, heap->tasks[(at - 1) / 2]); at = (at - 1) / 2) {
    heap->tasks[at] = heap->tasks[(at - 1) / 2];
  }
  heap->tasks[at] = task;
}

static hlo_task_t* pop(const lister_t* l, heap_t* heap) {
  hlo_task_t **tasks = heap->tasks, *top = tasks[0], *moved = tasks[--heap->count];
  uint32_t at = 0;
  for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
    if (child + 1 < heap->count && comes_before(l, tasks[child + 1], tasks[child])) ++child;
    if (!comes_before(l, tasks[child], moved)) break;
    tasks[at] = tasks[child];
    at = child;
  }
  tasks[at] = moved;
  return top;
}

static void add_ready(lister_t* l, hlo_task_t* task) {
  heap_t* heap = find_heap(l, task);
  if (heap) {
    push(l, heap, task);
  } else {
    l->ready[l->ready_count++] = task;
  }
}

// ---- choice

static hlo_candidate_t candidate(const lister_t* l, const hlo_task_t* task) {
  hlo_candidate_t c = {.task = task, .ready_ns = l->progress[task->place].ready_ns};
  if (l->progress[task->place].is_live) c.delta_bytes -= task->bytes;
  for (uint32_t k = 0; k < task->dependence_count; ++k) {
    const hlo_task_t* d = task->dependences[k];
    if (!l->progress[d->place].is_live) c.delta_bytes += d->bytes;
  }
  return c;
}

/// The best of the ready tasks so far, and where it is.
typedef struct choice {
  hlo_candidate_t candidate;
  heap_t* heap;       // NULL: in the list
  uint32_t position;  // in the list
} choice_t;

static void offer(const lister_t* l, choice_t choices[2], const hlo_task_t* task, heap_t* heap,
                  uint32_t position) {
  hlo_schedule_rule_t rule;
  if (!group_admits(l, task)) return;
  const choice_t offered = {candidate(l, task), heap, position};
  choice_t* best = &choices[!limits_admit(l, task)];
  if (best->candidate.task &&
      !hlo_candidate_is_better(&l->state, &offered.candidate, &best->candidate, &rule)) {
    return;
  }
  *best = offered;
}

// Takes the next task from the ready ones; NULL if groups admit none. A task that a limit blocks
// only comes if there is no other.
static hlo_task_t* take_next(lister_t* l) {
  choice_t choices[2] = {0};  // free, blocked
  for (uint32_t i = 0; i < l->ready_count; ++i) offer(l, choices, l->ready[i], NULL, i);
  for (int h = 0; h <= HLO_SCHEDULE_RESOURCE_COUNT; ++h) {
    heap_t* heap = &l->heaps[h];
    if (heap->count) offer(l, choices, heap->tasks[0], heap, 0);
  }
  const choice_t* best = &choices[!choices[0].candidate.task];
  if (!best->candidate.task) return NULL;
  if (best->heap) return pop(l, best->heap);
  hlo_task_t* task = l->ready[best->position];
  l->ready[best->position] = l->ready[--l->ready_count];
  return task;
}

static void give_place(lister_t* l, hlo_task_t* task) {
  progress_t* own = &l->progress[task->place];
  l->state.live_bytes += candidate(l, task).delta_bytes;
  if (own->ready_ns > l->state.now_ns) l->state.now_ns = own->ready_ns;
  l->state.now_ns += task->cost_ns;
  if (task->kind == HLO_TASK_DONE) take_off(l, task);
  if (task->kind == HLO_TASK_START && task->partner) land(l, task);
  for (uint32_t k = 0; k < task->dependence_count; ++k) {
    hlo_task_t* d = task->dependences[k];
    progress_t* p = &l->progress[d->place];
    const double ready = l->state.now_ns + (d == task->partner ? d->latency_ns : 0);
    if (ready > p->ready_ns) p->ready_ns = ready;
    p->is_live = true;
    if (--p->users == 0) add_ready(l, d);
    if (keeps_waiting(task, d)) --l->group_users[l->group_first[d->place]];
  }
  if (!is_in_group(task)) return;
  l->active = --l->group_left[l->group_first[task->place]] ? task->group : -1;
}

static hlo_status_t prepare(hlo_scheduler_t* s, lister_t* l, const hlo_tasks_t* tasks) {
  *l = (lister_t){.tasks = tasks, .state = {.options = s->options}, .active = -1};
  l->progress = hlo_arena_array(&s->arena, tasks->count, sizeof *l->progress);
  l->ready = hlo_arena_array(&s->arena, tasks->count, sizeof(hlo_task_t*));
  for (int h = 0; h <= HLO_SCHEDULE_RESOURCE_COUNT; ++h) {
    l->heaps[h].tasks = hlo_arena_array(&s->arena, tasks->count, sizeof(hlo_task_t*));
  }
  l->flying = hlo_arena_array(&s->arena, tasks->count, sizeof(hlo_node_t*));
  l->group_users = hlo_arena_array(&s->arena, tasks->count, sizeof *l->group_users);
  l->group_left = hlo_arena_array(&s->arena, tasks->count, sizeof *l->group_left);
  l->group_first = hlo_arena_array(&s->arena, tasks->count, sizeof *l->group_first);
  HLO_TRY(hlo_arena_status(&s->arena));
  find_groups(l);
  count_users(l);
  return hlo_ok();
}

hlo_status_t hlo_tasks_order(hlo_scheduler_t* s, const hlo_tasks_t* tasks, hlo_task_t** out_order) {
  lister_t l;
  uint32_t left = tasks->count;
  HLO_TRY(prepare(s, &l, tasks));
  hlo_task_t* end = &tasks->tasks[--left];  // the terminator
  out_order[left] = end;
  for (uint32_t i = 0; i < left; ++i) {
    if (!l.progress[i].users) add_ready(&l, &tasks->tasks[i]);
  }
  give_place(&l, end);
  while (left) {
    hlo_task_t* task = take_next(&l);
    if (!task) {
      return hlo_node_invalid(end->node, "scheduling groups of this region depend on each other");
    }
    out_order[--left] = task;
    give_place(&l, task);
  }
  return hlo_ok();
}
