// SPDX-License-Identifier: Apache-2.0
// Counts what collectives send (see traffic.h).
#include "spmd/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/sharding.h"
#include "ir/work.h"
#include "passes/trip_count.h"

typedef struct exchange {
  hlo_op_t op;
  double phases;
  hlo_exchange_pattern_t pattern;
} exchange_t;

static const exchange_t kExchanges[] = {
#define HLO_SCHEDULE_EXCHANGE(op, phases, pattern, limit) \
  {HLO_OP_##op, phases, HLO_EXCHANGE_##pattern},
#include "spmd/schedule.def"
};
enum { EXCHANGE_COUNT = sizeof kExchanges / sizeof *kExchanges };

int hlo_exchange_find(hlo_op_t op) {
  for (int i = 0; i < EXCHANGE_COUNT; ++i) {
    if (kExchanges[i].op == op) return i;
  }
  return -1;
}

// ---- bytes of one collective

// The groups that an attribute lists, and how many processes each of its ids stands for.
typedef struct id_groups {
  hlo_group_strategy_t strategy;
  const hlo_attr_t* rows;  // NULL: one group of all ids
  uint32_t id_count;
  uint32_t copies;  // of each group: one for each replica or partition
  uint32_t members_per_id;
} id_groups_t;

static id_groups_t read_groups(const hlo_node_t* node, hlo_process_counts_t counts) {
  const hlo_attr_t* rows = hlo_node_attr(node, HLO_ATTR_replica_groups);
  const bool is_listed = rows && rows->kind == HLO_ATTR_KIND_INTS && rows->count;
  id_groups_t groups = {.strategy = hlo_group_strategy(node),
                        .rows = is_listed ? rows : NULL,
                        .copies = 1,
                        .members_per_id = 1};
  switch (groups.strategy) {
    case HLO_GROUP_CROSS_REPLICA:
      groups.id_count = counts.replicas;
      groups.copies = counts.partitions;
      break;
    case HLO_GROUP_CROSS_PARTITION:
      groups.id_count = counts.partitions;
      groups.copies = counts.replicas;
      break;
    case HLO_GROUP_CROSS_REPLICA_AND_PARTITION:
      groups.id_count = counts.replicas;
      groups.members_per_id = counts.partitions;
      break;
    case HLO_GROUP_FLATTENED_IDS: groups.id_count = counts.replicas * counts.partitions; break;
  }
  return groups;
}

// Returns true if a process keeps its own part.
static bool is_divided(const exchange_t* exchange) {
  return exchange->pattern == HLO_EXCHANGE_RING || exchange->pattern == HLO_EXCHANGE_EXCHANGE;
}

// Returns what a member of a group of `size` sends in all phases, as a part of its bytes.
static double sent_part(const exchange_t* exchange, double size) {
  if (size <= 1) return 0;
  return exchange->phases * (is_divided(exchange) ? (size - 1) / size : 1);
}

static void add_group(const exchange_t* exchange, double bytes, uint32_t size, uint32_t copies,
                      hlo_exchange_bytes_t* sum) {
  // All members but one send what is divided or broadcast.
  const double senders = is_divided(exchange) ? size : (double)size - 1;
  sum->group_count += copies;
  sum->total_bytes += copies * senders * bytes * sent_part(exchange, size);
  if (size > sum->group_size) sum->group_size = size;
}

static void add_groups(const exchange_t* exchange, const id_groups_t* groups, double bytes,
                       hlo_exchange_bytes_t* sum) {
  if (!groups->rows) {
    add_group(exchange, bytes, groups->id_count * groups->members_per_id, groups->copies, sum);
    return;
  }
  const uint32_t cols = groups->rows->cols ? groups->rows->cols : groups->rows->count;
  for (uint32_t row = 0; row < groups->rows->count / cols; ++row) {
    uint32_t size = 0;
    while (size < cols && groups->rows->values[(size_t)row * cols + size] != -1) ++size;
    add_group(exchange, bytes, size * groups->members_per_id, groups->copies, sum);
  }
}

static void add_pairs(const hlo_attr_t* pairs, const id_groups_t* groups, double bytes,
                      hlo_exchange_bytes_t* sum) {
  uint32_t moved = 0;
  for (uint32_t i = 0; pairs && pairs->kind == HLO_ATTR_KIND_INTS && i + 1 < pairs->count; i += 2) {
    moved += pairs->values[i] != pairs->values[i + 1];
  }
  sum->group_size = groups->id_count;
  sum->group_count = groups->copies;
  sum->sent_bytes = moved ? bytes : 0;
  sum->total_bytes = bytes * moved * groups->copies;
}

hlo_exchange_bytes_t hlo_exchange_bytes_of(const hlo_node_t* node, hlo_process_counts_t counts) {
  const exchange_t* exchange = &kExchanges[hlo_exchange_find(node->op)];
  const id_groups_t groups = read_groups(node, counts);
  // Of a ragged all-to-all, the other operands say which rows go where.
  const uint32_t operand_count = node->op == HLO_OP_hlo_ragged_all_to_all ? 1 : node->operand_count;
  hlo_exchange_bytes_t sum = {.phases = exchange->phases, .pattern = exchange->pattern};
  double out = 0;
  for (uint32_t i = 0; i < operand_count; ++i) {
    sum.operand_bytes += hlo_type_work_bytes(hlo_node_operand_type(node, i));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    out += hlo_type_work_bytes(node->results[i].type);
  }
  const double bytes = sum.operand_bytes > out ? sum.operand_bytes : out;
  sum.phase_bytes = bytes;
  if (node->op == HLO_OP_collective_permute) {
    add_pairs(hlo_node_attr(node, HLO_ATTR_source_target_pairs), &groups, bytes, &sum);
  } else {
    add_groups(exchange, &groups, bytes, &sum);
    sum.sent_bytes = bytes * sent_part(exchange, sum.group_size);
  }
  return sum;
}

// ---- groups

// Lists the processes that ids stand for, in copy `copy` of their group.
static uint32_t list_members(const id_groups_t* groups, hlo_process_counts_t counts, uint32_t copy,
                             uint32_t count, const int64_t* ids, uint32_t* members) {
  uint32_t filled = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t id = ids ? (uint32_t)ids[i] : i;
    if (id >= groups->id_count) continue;
    switch (groups->strategy) {
      case HLO_GROUP_CROSS_REPLICA: members[filled++] = id * counts.partitions + copy; break;
      case HLO_GROUP_CROSS_PARTITION: members[filled++] = copy * counts.partitions + id; break;
      case HLO_GROUP_FLATTENED_IDS: members[filled++] = id; break;
      case HLO_GROUP_CROSS_REPLICA_AND_PARTITION:
        for (uint32_t p = 0; p < counts.partitions; ++p) {
          members[filled++] = id * counts.partitions + p;
        }
        break;
    }
  }
  return filled;
}

void hlo_exchange_visit_groups(const hlo_node_t* node, hlo_process_counts_t counts,
                               uint32_t* members, hlo_group_visit_t visit, void* context) {
  const id_groups_t groups = read_groups(node, counts);
  const hlo_attr_t* rows = groups.rows;
  uint32_t cols = groups.id_count;
  if (node->op == HLO_OP_collective_permute) {
    rows = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
    if (!rows || rows->kind != HLO_ATTR_KIND_INTS) return;
    cols = 2;
  } else if (rows) {
    cols = rows->cols ? rows->cols : rows->count;
  }
  for (uint32_t row = 0; row < (rows ? rows->count / cols : 1); ++row) {
    const int64_t* ids = rows ? &rows->values[(size_t)row * cols] : NULL;
    uint32_t count = 0;
    while (count < cols && (!ids || ids[count] >= 0) && count < groups.id_count) ++count;
    for (uint32_t copy = 0; copy < groups.copies; ++copy) {
      const uint32_t filled = list_members(&groups, counts, copy, count, ids, members);
      if (!visit(context, filled, members)) return;
    }
  }
}

// ---- names of groups

hlo_status_t hlo_traffic_mesh_read(hlo_module_t* module, int64_t partitions, hlo_arena_t* arena,
                                   hlo_traffic_mesh_t* out_mesh) {
  *out_mesh = (hlo_traffic_mesh_t){0};
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    if (node->op != HLO_OP_sdy_mesh) continue;
    const hlo_mesh_t* mesh;
    const char* name = hlo_node_attr_text(node, HLO_ATTR_sym_name);
    HLO_TRY(hlo_mesh_find(module, name, strlen(name), &mesh));
    if (!mesh || mesh->axis_count == 0 || mesh->device_count != partitions) continue;
    hlo_traffic_mesh_t copy = {.axis_count = mesh->axis_count, .device_count = partitions};
    copy.names = hlo_arena_array(arena, mesh->axis_count, sizeof *copy.names);
    copy.sizes = hlo_arena_array(arena, mesh->axis_count, sizeof *copy.sizes);
    copy.positions = hlo_arena_array(arena, (size_t)partitions, sizeof *copy.positions);
    HLO_TRY(hlo_arena_status(arena));
    for (uint32_t i = 0; i < mesh->axis_count; ++i) {
      const char* axis = mesh->axes[i].name;
      copy.names[i] = hlo_arena_strndup(arena, axis, strlen(axis));
      copy.sizes[i] = mesh->axes[i].size;
    }
    for (int64_t i = 0; i < partitions; ++i) {
      copy.positions[mesh->device_ids ? mesh->device_ids[i] : i] = i;
    }
    *out_mesh = copy;
    return hlo_arena_status(arena);
  }
  return hlo_ok();
}

enum { AXES_MAX = 64 };

// The coordinates along one axis of the members of a group: `first`, `first + step`, and so on.
typedef struct span {
  int64_t first, last, step;
} span_t;

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Adds a device's coordinates to the spans of a group.
static void add_device(const hlo_traffic_mesh_t* mesh, int64_t device, bool is_first,
                       span_t* spans) {
  int64_t rest = mesh->positions[device];
  for (uint32_t i = mesh->axis_count; i-- > 0; rest /= mesh->sizes[i]) {
    const int64_t at = rest % mesh->sizes[i];
    span_t* span = &spans[i];
    if (is_first) *span = (span_t){at, at, 0};
    span->step = common_divisor(span->step, at < span->first ? span->first - at : at - span->first);
    if (at < span->first) span->first = at;
    if (at > span->last) span->last = at;
  }
}

static int64_t span_size(const span_t* span) {
  return span->step ? (span->last - span->first) / span->step + 1 : 1;
}

// Finds the spans of devices that are all points of a box; false if they are not.
static bool find_spans(const hlo_traffic_mesh_t* mesh, uint32_t count, const int64_t* devices,
                       span_t* spans) {
  int64_t size = 1;
  for (uint32_t i = 0; i < count; ++i) {
    if (devices[i] < 0 || devices[i] >= mesh->device_count) return false;
    add_device(mesh, devices[i], i == 0, spans);
  }
  for (uint32_t i = 0; i < mesh->axis_count; ++i) size *= span_size(&spans[i]);
  return size == count;
}

static void print_spans(const hlo_traffic_mesh_t* mesh, const span_t* spans, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < mesh->axis_count; ++i) {
    const int64_t size = span_size(&spans[i]);
    if (size == 1) continue;
    hlo_strbuf_printf(out, "%s%s", out->length ? "," : "", mesh->names[i]);
    if (size == mesh->sizes[i]) continue;
    hlo_strbuf_printf(out, ":(%lld)%lld", (long long)(mesh->sizes[i] / (size * spans[i].step)),
                      (long long)size);
  }
}

// Returns true if every group differs along the same axes. Linear in the processes.
static bool print_group_axes(const hlo_traffic_mesh_t* mesh, const hlo_attr_t* rows,
                             hlo_strbuf_t* out) {
  const uint32_t cols = rows->cols ? rows->cols : rows->count;
  span_t first[AXES_MAX], spans[AXES_MAX];
  if (!find_spans(mesh, cols, rows->values, first)) return false;
  for (uint32_t at = cols; at < rows->count; at += cols) {
    if (!find_spans(mesh, cols, &rows->values[at], spans)) return false;
    for (uint32_t i = 0; i < mesh->axis_count; ++i) {
      if (span_size(&spans[i]) != span_size(&first[i])) return false;
      if (spans[i].step != first[i].step) return false;
    }
  }
  print_spans(mesh, first, out);
  return true;
}

// Permutes are named by the axes along which senders and receivers differ.
static bool print_pair_axes(const hlo_traffic_mesh_t* mesh, const hlo_attr_t* pairs,
                            hlo_strbuf_t* out) {
  bool differs[AXES_MAX] = {false};
  for (uint32_t at = 0; at + 1 < pairs->count; at += 2) {
    span_t spans[AXES_MAX];
    for (uint32_t i = 0; i < 2; ++i) {
      const int64_t device = pairs->values[at + i];
      if (device < 0 || device >= mesh->device_count) return false;
      add_device(mesh, device, i == 0, spans);
    }
    for (uint32_t i = 0; i < mesh->axis_count; ++i) differs[i] |= spans[i].step != 0;
  }
  for (uint32_t i = 0; i < mesh->axis_count; ++i) {
    if (differs[i]) hlo_strbuf_printf(out, "%s%s", out->length ? "," : "", mesh->names[i]);
  }
  return true;
}

static void print_axes(const hlo_traffic_mesh_t* mesh, const hlo_node_t* node,
                       hlo_process_counts_t counts, hlo_strbuf_t* out) {
  const hlo_group_strategy_t strategy = hlo_group_strategy(node);
  const bool is_permute = node->op == HLO_OP_collective_permute;
  const hlo_attr_t* ids =
      hlo_node_attr(node, is_permute ? HLO_ATTR_source_target_pairs : HLO_ATTR_replica_groups);
  if (strategy == HLO_GROUP_CROSS_REPLICA) {
    if (counts.replicas > 1) hlo_strbuf_puts(out, "replicas");
    return;
  }
  const bool are_partitions = strategy == HLO_GROUP_CROSS_PARTITION ||
                              (strategy == HLO_GROUP_FLATTENED_IDS && counts.replicas == 1);
  if (!mesh->axis_count || mesh->axis_count > AXES_MAX || !are_partitions) return;
  if (!ids || ids->kind != HLO_ATTR_KIND_INTS || !ids->count) return;
  if (is_permute) {
    print_pair_axes(mesh, ids, out);
  } else {
    print_group_axes(mesh, ids, out);
  }
}

// ---- all collectives of a program

typedef struct counter {
  const hlo_module_t* module;
  hlo_process_counts_t counts;
  const hlo_traffic_mesh_t* mesh;
  hlo_arena_t* arena;
  hlo_traffic_item_t* items;  // one for each op
  uint32_t count, capacity;
  uint32_t depth;  // of calls
  bool is_at_least, is_at_most;
} counter_t;

static hlo_status_t count_region(counter_t* c, const hlo_region_t* region, double times);

static hlo_status_t add_item(counter_t* c, const hlo_node_t* node, double times) {
  HLO_SCOPED_STRBUF axes = {0};
  if (!HLO_ARENA_GROW(c->arena, c->items, c->count, c->capacity)) return hlo_arena_status(c->arena);
  print_axes(c->mesh, node, c->counts, &axes);
  HLO_TRY(hlo_strbuf_status(&axes));
  hlo_traffic_item_t item = {
      .node = node,
      .axes = hlo_arena_strndup(c->arena, hlo_strbuf_text(&axes), axes.length),
      .bytes = hlo_exchange_bytes_of(node, c->counts),
      .site_count = 1,
      .count = times,
      .is_at_least = c->is_at_least,
      .is_at_most = c->is_at_most || node->op == HLO_OP_hlo_ragged_all_to_all};
  if (!item.axes) return hlo_arena_status(c->arena);
  c->items[c->count++] = item;
  return hlo_ok();
}

static double sent_since(const counter_t* c, uint32_t first) {
  double bytes = 0;
  for (uint32_t i = first; i < c->count; ++i) {
    bytes += c->items[i].count * c->items[i].bytes.total_bytes;
  }
  return bytes;
}

// Keeps the items of the branch that sends the most.
static hlo_status_t count_branches(counter_t* c, const hlo_node_t* node, double times) {
  const bool was_at_most = c->is_at_most;
  uint32_t first = c->count;
  double most = -1;
  c->is_at_most = true;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    const uint32_t begin = c->count;
    HLO_TRY(count_region(c, node->regions[i], times));
    const double sent = sent_since(c, begin);
    if (sent > most) {
      const uint32_t kept = c->count - begin;
      memmove(&c->items[first], &c->items[begin], kept * sizeof *c->items);
      c->count = first + kept;
      most = sent;
    } else {
      c->count = begin;
    }
  }
  c->is_at_most = was_at_most;
  return hlo_ok();
}

static hlo_status_t count_loop(counter_t* c, const hlo_node_t* node, double times) {
  enum { TRIP_COUNT_MAX = 1 << 30 };
  const bool was_at_least = c->is_at_least;
  const int32_t trips = hlo_loop_trip_count(node, TRIP_COUNT_MAX);
  c->is_at_least |= trips < 0;
  const double iterations = trips < 0 ? 1 : trips;
  HLO_TRY(count_region(c, node->regions[0], times * (iterations + 1)));
  HLO_TRY(count_region(c, node->regions[1], times * iterations));
  c->is_at_least = was_at_least;
  return hlo_ok();
}

// Calls of a function by itself are refused where programs are run; here, they end.
static hlo_status_t count_call(counter_t* c, const hlo_node_t* node, double times) {
  enum { DEPTH_MAX = 1000 };
  const char* callee = hlo_node_attr_text(node, HLO_ATTR_callee);
  const hlo_func_t* func = callee ? hlo_module_find_func(c->module, callee) : NULL;
  if (!func || !func->body || c->depth == DEPTH_MAX) return hlo_ok();
  ++c->depth;
  HLO_TRY(count_region(c, func->body, times));
  --c->depth;
  return hlo_ok();
}

static hlo_status_t count_region(counter_t* c, const hlo_region_t* region, double times) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (hlo_exchange_find(node->op) >= 0) HLO_TRY(add_item(c, node, times));
    if (node->op == HLO_OP_call) {
      HLO_TRY(count_call(c, node, times));
    } else if (node->op == HLO_OP_while) {
      HLO_TRY(count_loop(c, node, times));
    } else if (node->op == HLO_OP_if || node->op == HLO_OP_case) {
      HLO_TRY(count_branches(c, node, times));
    } else {
      for (uint32_t i = 0; i < node->region_count; ++i) {
        HLO_TRY(count_region(c, node->regions[i], times));
      }
    }
  }
  return hlo_ok();
}

static bool are_alike(const hlo_traffic_item_t* a, const hlo_traffic_item_t* b) {
  const hlo_exchange_bytes_t *x = &a->bytes, *y = &b->bytes;
  return a->node->op == b->node->op && strcmp(a->axes, b->axes) == 0 &&
         x->group_size == y->group_size && x->group_count == y->group_count &&
         x->operand_bytes == y->operand_bytes && x->sent_bytes == y->sent_bytes &&
         x->total_bytes == y->total_bytes && a->is_at_least == b->is_at_least &&
         a->is_at_most == b->is_at_most;
}

static void merge_items(hlo_traffic_t* traffic) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < traffic->count; ++i) {
    const hlo_traffic_item_t* item = &traffic->items[i];
    uint32_t k = 0;
    while (k < kept && !are_alike(&traffic->items[k], item)) ++k;
    traffic->sent_bytes += item->count * item->bytes.sent_bytes;
    traffic->total_bytes += item->count * item->bytes.total_bytes;
    if (k == kept) {
      traffic->items[kept++] = *item;
    } else {
      traffic->items[k].site_count += item->site_count;
      traffic->items[k].count += item->count;
    }
  }
  traffic->count = kept;
}

// The order of the program decides between items that send as much.
static int compare_items(const void* a, const void* b) {
  const hlo_traffic_item_t *x = a, *y = b;
  const double sent_x = x->count * x->bytes.sent_bytes, sent_y = y->count * y->bytes.sent_bytes;
  if (sent_x != sent_y) return sent_x > sent_y ? -1 : 1;
  return x->node->index < y->node->index ? -1 : x->node->index > y->node->index;
}

hlo_status_t hlo_traffic_count(const hlo_module_t* module, const hlo_traffic_mesh_t* mesh,
                               hlo_arena_t* arena, hlo_traffic_t* out_traffic) {
  counter_t c = {
      .module = module, .counts = hlo_module_process_counts(module), .mesh = mesh, .arena = arena};
  const hlo_func_t* entry = hlo_module_entry(module);
  if (entry) HLO_TRY(count_region(&c, entry->body, 1));
  hlo_traffic_t traffic = {.count = c.count, .items = c.items};
  merge_items(&traffic);
  if (traffic.count) qsort(traffic.items, traffic.count, sizeof *traffic.items, compare_items);
  *out_traffic = traffic;
  return hlo_ok();
}

// ---- printing

static const char* axes_text(const hlo_traffic_item_t* item) {
  return *item->axes ? item->axes : "-";
}

const char* hlo_traffic_op_text(const hlo_traffic_item_t* item) {
  const char* name = hlo_op_info(item->node->op)->name;
  const char* dot = strchr(name, '.');
  return dot ? dot + 1 : name;
}

static void print_item(const hlo_traffic_item_t* item, const char* prefix, hlo_strbuf_t* out) {
  char groups[32];
  snprintf(groups, sizeof groups, "%u of %u", item->bytes.group_count, item->bytes.group_size);
  hlo_strbuf_printf(out, "%s%-20s %-12s %-12s %4u %6.0f %14.0f %14.0f %16.0f%s\n", prefix,
                    hlo_traffic_op_text(item), axes_text(item), groups, item->site_count,
                    item->count, item->bytes.operand_bytes, item->bytes.sent_bytes,
                    item->count * item->bytes.sent_bytes,
                    item->is_at_least  ? " or more"
                    : item->is_at_most ? " at most"
                                       : "");
}

// Prints sums over the items of each text that `text_of` returns, in the order of the items.
static void print_sums(const hlo_traffic_t* traffic, const char* title,
                       const char* (*text_of)(const hlo_traffic_item_t*), const char* prefix,
                       hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s%-20s %23s %16s\n", prefix, title, "sent by a device",
                    "by all devices");
  for (uint32_t i = 0; i < traffic->count; ++i) {
    const char* text = text_of(&traffic->items[i]);
    double sent = 0, total = 0;
    bool is_first = true;
    for (uint32_t k = 0; k < traffic->count; ++k) {
      const hlo_traffic_item_t* item = &traffic->items[k];
      if (strcmp(text_of(item), text) != 0) continue;
      is_first = is_first && k >= i;
      sent += item->count * item->bytes.sent_bytes;
      total += item->count * item->bytes.total_bytes;
    }
    if (is_first) {
      hlo_strbuf_printf(out, "%s%-20s %23.0f %16.0f\n", prefix, text, sent, total);
    }
  }
}

void hlo_traffic_print(const hlo_traffic_t* traffic, const char* prefix, hlo_strbuf_t* out) {
  if (!traffic->count) {
    hlo_strbuf_printf(out, "%sno collectives\n", prefix);
    return;
  }
  hlo_strbuf_printf(out, "%s%-20s %-12s %-12s %4s %6s %14s %14s %16s\n", prefix, "collective",
                    "axes", "groups", "ops", "runs", "operand bytes", "sent each time",
                    "sent by a device");
  for (uint32_t i = 0; i < traffic->count; ++i) print_item(&traffic->items[i], prefix, out);
  print_sums(traffic, "by collective", hlo_traffic_op_text, prefix, out);
  print_sums(traffic, "by axes", axes_text, prefix, out);
  hlo_strbuf_printf(out, "%s%-20s %23.0f %16.0f\n", prefix, "all", traffic->sent_bytes,
                    traffic->total_bytes);
}
