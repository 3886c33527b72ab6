// SPDX-License-Identifier: Apache-2.0
// Tasks: nodes with their costs, dependences and resources (see schedule_impl.h).
#include "ir/work.h"
#include "passes/order.h"
#include "spmd/schedule_groups.h"
#include "spmd/schedule_impl.h"
#include "spmd/traffic.h"

// ---- costs

// Returns the bytes that an op moves if loops compute it: those of operands that are not computed
// with it, where it reads only a part no more than that, and those of results that outlive it.
static double fused_bytes(const hlo_scheduler_t* s, const hlo_node_t* node) {
  const bool is_update = hlo_op_has(node->op, HLO_TRAIT_UPDATES);
  const bool is_part = hlo_op_has(node->op, HLO_TRAIT_MOVES | HLO_TRAIT_JOINS) ||
                       hlo_op_info(node->op)->cost == HLO_COST_LOOKUP;
  double out = 0, in = 0;
  for (uint32_t i = 0; i < node->result_count; ++i)
    out += hlo_type_work_bytes(node->results[i].type);
  for (uint32_t i = is_update; i < node->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(node, i)->def;
    if (def && s->is_inside[def->index]) continue;
    const double bytes = hlo_type_work_bytes(hlo_node_operand_type(node, i));
    in += is_part && bytes > out ? out : bytes;
  }
  // An update is stored in place, and reads what it replaces.
  if (is_update) return 2 * in;
  return s->is_inside[node->index] ? in : in + out;
}

static double compute_ns(const hlo_scheduler_t* s, const hlo_node_t* node, double* out_flops) {
  const hlo_schedule_machine_t* machine = &s->options->machine;
  const bool is_view = hlo_op_has(node->op, HLO_TRAIT_VIEW | HLO_TRAIT_CONSTANT);
  hlo_cost_t cost = {0};
  if (hlo_op_info(node->op)->cost == HLO_COST_INDEX && (!s->is_inside || is_view)) return 0;
  if (hlo_op_has(node->op, HLO_TRAIT_TERMINATOR | HLO_TRAIT_CONTROL)) return 0;
  hlo_node_cost_add(node, &cost);
  *out_flops = cost.flops;
  if (s->is_inside) cost.bytes_accessed = fused_bytes(s, node);
  const double work =
      cost.flops / machine->flops_per_ns + cost.transcendentals / machine->functions_per_ns;
  const double memory = cost.bytes_accessed / machine->memory_bytes_per_ns;
  const double launch = s->is_inside && s->is_inside[node->index] ? 0 : machine->launch_ns;
  return hlo_schedule_machine_op_ns(machine, launch, work, memory);
}

static double type_bytes(const hlo_type_t* type) {
  double bytes = hlo_type_work_bytes(type);
  const bool is_packed = type->kind == HLO_TYPE_TUPLE || type->kind == HLO_TYPE_FUTURE;
  for (uint32_t i = 0; is_packed && i < type->element_count; ++i) {
    bytes += type_bytes(type->elements[i]);
  }
  return bytes;
}

static double result_bytes(const hlo_node_t* node) {
  double bytes = 0;
  // Views and constants take no memory of their own.
  if (hlo_op_info(node->op)->cost == HLO_COST_INDEX) return 0;
  for (uint32_t i = 0; i < node->result_count; ++i) bytes += type_bytes(node->results[i].type);
  return bytes;
}

// ---- kinds

static bool communicates(const hlo_node_t* node) {
  return hlo_exchange_find(node->op) >= 0 || hlo_call_communicates(node);
}

hlo_func_t* hlo_scheduled_callee(const hlo_module_t* module, const hlo_node_t* node) {
  if (node->op != HLO_OP_call && node->op != HLO_OP_hlo_async_start) return NULL;
  const char* callee = hlo_node_attr_text(node, HLO_ATTR_callee);
  return callee ? hlo_module_find_func(module, callee) : NULL;
}

bool hlo_has_scheduled_regions(const hlo_node_t* node) {
  // The body of async_start is one collective.
  return node->region_count > 0 && node->op != HLO_OP_async_start &&
         (node->op == HLO_OP_hlo_async_start || hlo_op_has(node->op, HLO_TRAIT_CONTROL));
}

// Returns the collective in an async_start.
static const hlo_node_t* started_collective(const hlo_node_t* start) {
  for (const hlo_node_t* n = start->regions[0]->first; n; n = n->next) {
    if (communicates(n)) return n;
  }
  return NULL;
}

static void take_inner(const hlo_region_cost_t* inner, hlo_task_t* task) {
  if (!inner->is_known) return;
  task->cost_ns = inner->stats.length_ns;
  task->wait_ns = inner->stats.exposed_ns;
  task->bound_ns = inner->stats.bound_ns;
  task->communication_ns = inner->stats.communication_ns;
  task->collectives = inner->stats.collectives;
  task->flops = inner->stats.flops;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) {
    task->uses[r] = inner->uses[r];
    if (inner->uses[r]) task->kind = HLO_TASK_SYNC;
  }
}

// A call can be a collective of any kind, whose groups and algorithm are not known.
static void describe_call(const hlo_scheduler_t* s, hlo_task_t* task, const hlo_node_t* call) {
  const hlo_process_counts_t counts = hlo_module_process_counts(s->module);
  double in = 0, out = 0;
  for (uint32_t i = 0; i < call->operand_count; ++i)
    in += type_bytes(hlo_node_operand_type(call, i));
  for (uint32_t i = 0; i < call->result_count; ++i) out += type_bytes(call->results[i].type);
  task->latency_ns = hlo_topology_message_ns(
      &s->options->machine, counts.replicas * counts.partitions, in > out ? in : out);
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) task->uses[r] = 1;
}

static hlo_status_t describe_collective(hlo_scheduler_t* s, hlo_task_t* task,
                                        const hlo_node_t* collective) {
  hlo_exchange_time_t time;
  task->collective = collective;
  if (hlo_exchange_find(collective->op) < 0) {
    describe_call(s, task, collective);
    return hlo_ok();
  }
  HLO_TRY(hlo_topology_time(&s->options->machine, collective, hlo_module_process_counts(s->module),
                            &s->topology, &time));
  task->latency_ns = hlo_exchange_time_ns(&time);
  task->uses[hlo_exchange_find(collective->op)] = 1;
  return hlo_ok();
}

static hlo_status_t describe(hlo_scheduler_t* s, hlo_task_t* task) {
  const hlo_node_t* node = task->node;
  const hlo_node_t* started = node->op == HLO_OP_async_start ? started_collective(node) : NULL;
  const hlo_func_t* callee = hlo_scheduled_callee(s->module, node);
  task->bytes = result_bytes(node);
  if (started) {
    task->kind = HLO_TASK_START;
    task->cost_ns = s->options->machine.launch_ns;
    HLO_TRY(describe_collective(s, task, started));
  } else if (communicates(node)) {
    task->kind = HLO_TASK_SYNC;
    HLO_TRY(describe_collective(s, task, node));
    task->cost_ns = task->wait_ns = task->bound_ns = task->communication_ns = task->latency_ns;
    task->collectives = 1;
  } else if (callee) {
    take_inner(&s->funcs[callee->index], task);
  } else {
    task->cost_ns = compute_ns(s, node, &task->flops);
    if (hlo_has_scheduled_regions(node)) take_inner(&s->nodes[node->index], task);
  }
  return hlo_ok();
}

bool hlo_have_same_groups(const hlo_node_t* a, const hlo_node_t* b) {
  const hlo_attr_id_t id =
      a->op == HLO_OP_collective_permute ? HLO_ATTR_source_target_pairs : HLO_ATTR_replica_groups;
  return hlo_node_attr(a, id) == hlo_node_attr(b, id) &&
         (a->op == HLO_OP_collective_permute) == (b->op == HLO_OP_collective_permute);
}

// ---- dependences

typedef struct linker {
  hlo_task_t** by_index;  // by node->index less `lowest`
  uint32_t lowest;
  hlo_task_t* task;
  hlo_task_t** next;  // NULL: they are only counted
  uint32_t stamp;     // of the tasks that this list has
} linker_t;

static void link_task(linker_t* l, hlo_task_t* dependence) {
  if (dependence->stamp == l->stamp) return;
  dependence->stamp = l->stamp;
  if (l->next) *l->next++ = dependence;
  ++l->task->dependence_count;
}

static void link_node(void* context, hlo_node_t* dependence) {
  linker_t* l = context;
  link_task(l, l->by_index[dependence->index - l->lowest]);
}

// Counts or lists what a task depends on: the values that it uses, the fixed task before it, and
// for an end what its start uses, which stays in memory until then.
static void link_all(linker_t* l, const hlo_region_t* region, hlo_task_t* task, hlo_task_t* fixed) {
  l->task = task;
  ++l->stamp;
  task->dependence_count = 0;
  hlo_node_dependences(task->node, region, link_node, l);
  if (fixed) link_task(l, fixed);
  if (task->kind == HLO_TASK_DONE) {
    hlo_node_dependences(task->partner->node, region, link_node, l);
  }
}

static hlo_status_t link_tasks(hlo_scheduler_t* s, const hlo_region_t* region, linker_t* l,
                               const hlo_tasks_t* tasks) {
  hlo_task_t* fixed = NULL;
  for (uint32_t i = 0; i < tasks->count; ++i) {
    hlo_task_t* task = &tasks->tasks[i];
    const bool is_fixed = hlo_node_has_fixed_place(task->node);
    l->next = NULL;
    link_all(l, region, task, is_fixed ? fixed : NULL);
    task->dependences =
        hlo_arena_array(&s->arena, task->dependence_count + 1, sizeof *task->dependences);
    if (!task->dependences) return hlo_arena_status(&s->arena);
    l->next = task->dependences;
    link_all(l, region, task, is_fixed ? fixed : NULL);
    for (uint32_t k = 0; k < task->dependence_count; ++k) {
      const hlo_task_t* d = task->dependences[k];
      // A start begins its collective, whose latency goes on from there.
      const double gap =
          d == task->partner && d->latency_ns > d->cost_ns ? d->latency_ns - d->cost_ns : 0;
      const double depth = d->depth_ns + d->cost_ns + gap;
      const double least = d->least_ns + d->cost_ns - d->wait_ns + d->bound_ns + gap;
      if (depth > task->depth_ns) task->depth_ns = depth;
      if (least > task->least_ns) task->least_ns = least;
    }
    if (is_fixed) fixed = task;
  }
  return hlo_ok();
}

static void pair_up(linker_t* l, hlo_task_t* done) {
  const hlo_node_t* start = hlo_node_operand(done->node, 0)->def;
  if (!start || start->parent != done->node->parent || start->op != HLO_OP_async_start) return;
  hlo_task_t* partner = l->by_index[start->index - l->lowest];
  if (partner->kind != HLO_TASK_START || start->results[0].uses->next) return;
  done->kind = HLO_TASK_DONE;
  done->partner = partner;
  done->latency_ns = partner->latency_ns;
  done->collective = partner->collective;
  done->cost_ns = 0;
  for (int r = 0; r < HLO_SCHEDULE_RESOURCE_COUNT; ++r) done->uses[r] = partner->uses[r];
  partner->partner = done;
}

hlo_status_t hlo_tasks_create(hlo_scheduler_t* s, const hlo_region_t* region,
                              hlo_tasks_t* out_tasks) {
  uint32_t count = 0, highest = 0;
  linker_t linker = {.lowest = UINT32_MAX};
  for (const hlo_node_t* n = region->first; n; n = n->next, ++count) {
    if (n->index < linker.lowest) linker.lowest = n->index;
    if (n->index > highest) highest = n->index;
  }
  *out_tasks = (hlo_tasks_t){.count = count};
  if (!count) return hlo_ok();
  out_tasks->tasks = hlo_arena_array(&s->arena, count, sizeof *out_tasks->tasks);
  linker.by_index =
      hlo_arena_array(&s->arena, highest - linker.lowest + 1, sizeof *linker.by_index);
  HLO_TRY(hlo_arena_status(&s->arena));
  hlo_task_t* task = out_tasks->tasks;
  for (hlo_node_t* n = region->first; n; n = n->next, ++task) {
    *task = (hlo_task_t){.node = n, .place = (uint32_t)(task - out_tasks->tasks)};
    HLO_TRY(hlo_schedule_group(n, &task->group));
    HLO_TRY(describe(s, task));
    linker.by_index[n->index - linker.lowest] = task;
    if (n->op == HLO_OP_async_done) pair_up(&linker, task);
  }
  return link_tasks(s, region, &linker, out_tasks);
}
