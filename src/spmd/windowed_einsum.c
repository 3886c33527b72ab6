// SPDX-License-Identifier: Apache-2.0
// Pass windowed_einsum: products of gathered operands, and sums of products that are scattered, as
// loops over the parts, in which the next part arrives (a collective_permute to the neighbour in
// the group) while the product of this one is computed:
//
//   dot(all_gather(x), y) ...     n times: result part = dot(part of x, y), or for a contracted
//                                 dimension result += dot(part of x, part of y); several products
//                                 of x share the loop
//   reduce_scatter(dot(x, y))     n times: sum of the neighbour + dot(part of x, y)
//
// The machine (schedule.def) decides: where nothing moves data beside the processor, or where the
// parts are small, one collective is cheaper. The argument `all` rewrites every product. Sums of
// contracted dimensions and of scattered results are regrouped.
// source : Wang et al., "Overlap Communication with Dependent Computation via Decomposition in
// Large Deep Learning Models", ASPLOS 2023
#include <string.h>

#include "ir/clone.h"
#include "ir/work.h"
#include "passes/build.h"
#include "passes/loop.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"
#include "spmd/schedule.h"
#include "spmd/traffic.h"

enum { NO_DIM = -1, PRODUCTS_MAX = 8 };

typedef struct windower {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
  bool rewrites_all;  // whatever the machine
  hlo_schedule_machine_t machine;
  hlo_topology_cache_t topology;
} windower_t;

/// A product of an operand that is divided into parts.
typedef struct product {
  hlo_node_t* dot;
  uint32_t side;               // operand that is divided
  int64_t side_dim;            // along this dimension,
  int64_t other_dim;           // which is this one of the other operand (NO_DIM: none)
  int64_t result_dim;          // and this one of the result
  const hlo_type_t* sum_type;  // in which the result is added up
} product_t;

/// Products of one gathered operand, or one whose result is scattered.
typedef struct einsum {
  windower_t* w;
  hlo_node_t* collective;
  const hlo_groups_t* groups;
  int64_t parts;
  uint32_t count;  // of products
  product_t products[PRODUCTS_MAX];
  hlo_value_t* position;  // of the process in its group
} einsum_t;

// ---- dimensions

static uint32_t free_dims_before(hlo_ints_t batch, hlo_ints_t sum, int64_t end) {
  uint32_t count = 0;
  for (int64_t d = 0; d < end; ++d) count += !hlo_ints_has(batch, d) && !hlo_ints_has(sum, d);
  return count;
}

// Finds what dimension `dim` of an operand is in the other operand and in the result.
static void follow_dim(product_t* m, uint32_t side, int64_t dim) {
  const hlo_node_t* dot = m->dot;
  const hlo_ints_t batch[] = {hlo_node_ints(dot, HLO_ATTR_lhs_batching_dimensions),
                              hlo_node_ints(dot, HLO_ATTR_rhs_batching_dimensions)};
  const hlo_ints_t sum[] = {hlo_node_ints(dot, HLO_ATTR_lhs_contracting_dimensions),
                            hlo_node_ints(dot, HLO_ATTR_rhs_contracting_dimensions)};
  uint32_t at;
  m->side = side;
  m->side_dim = dim;
  m->other_dim = m->result_dim = NO_DIM;
  if (hlo_dims_contain(batch[side].values, batch[side].count, dim, &at)) {
    m->other_dim = batch[1 - side].values[at];
    m->result_dim = at;
  } else if (hlo_dims_contain(sum[side].values, sum[side].count, dim, &at)) {
    m->other_dim = sum[1 - side].values[at];
  } else {
    const uint32_t left = hlo_node_operand_type(dot, 0)->rank;
    m->result_dim = batch[0].count + free_dims_before(batch[side], sum[side], dim) +
                    (side ? free_dims_before(batch[0], sum[0], left) : 0);
  }
}

// Finds the operand's dimension that is dimension `dim` of the result.
static void find_result_dim(product_t* m, int64_t dim) {
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t d = 0; d < hlo_node_operand_type(m->dot, side)->rank; ++d) {
      follow_dim(m, side, d);
      if (m->result_dim == dim) return;
    }
  }
}

static const hlo_type_t* part_type(const einsum_t* e, const hlo_type_t* type, int64_t dim) {
  if (dim == NO_DIM) return type;
  return hlo_type_with_dim(e->collective->parent->module, type, (uint32_t)dim,
                           type->dims[dim] / e->parts);
}

// ---- matches

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

static bool is_plain(const hlo_node_t* collective) {
  return collective->operand_count == 1 && !collective->extra &&
         hlo_type_is_static(hlo_node_operand_type(collective, 0)) &&
         hlo_type_is_static(collective->results[0].type) && !collective->results[0].type->quant;
}

static bool is_product(const hlo_node_t* node) {
  return node->op == HLO_OP_dot_general && !node->extra &&
         hlo_type_is_static(node->results[0].type) &&
         hlo_type_is_static(hlo_node_operand_type(node, 0)) &&
         hlo_type_is_static(hlo_node_operand_type(node, 1)) && !node->results[0].type->quant &&
         !hlo_node_operand_type(node, 0)->quant && !hlo_node_operand_type(node, 1)->quant;
}

// Fills in the groups, whose ids are those of partitions, or of replicas.
static bool find_groups(einsum_t* e) {
  const hlo_processes_t* p = &e->w->processes;
  if (p->replicas > 1 && p->partitions > 1) return false;
  e->groups = hlo_processes_groups(&e->w->processes, e->collective);
  e->parts = e->groups ? e->groups->size : 0;
  return e->parts > 1;
}

// Sets the type of a result: sums are rounded once, at the end.
static bool set_sum_type(const einsum_t* e, product_t* m) {
  const hlo_type_t* type = m->dot->results[0].type;
  const bool is_scatter = e->collective->op != HLO_OP_all_gather;
  if (is_scatter) type = e->collective->results[0].type;
  const bool is_sum = is_scatter || m->result_dim == NO_DIM;
  const hlo_dtype_t dtype = hlo_group_accumulator(HLO_OP_add, type->dtype);
  m->sum_type = is_sum ? hlo_type_with_dtype(m->dot->parent->module, type, dtype) : type;
  return m->sum_type != NULL;
}

// Returns true if all users of a gathered value are products that can be computed before the first
// of them: nothing else depends on their order.
static bool match_gather(windower_t* w, hlo_node_t* gather, einsum_t* e) {
  hlo_value_t* value = &gather->results[0];
  *e = (einsum_t){.w = w, .collective = gather};
  if (!is_plain(gather) || !find_groups(e)) return false;
  const int64_t dim = hlo_node_attr_int(gather, HLO_ATTR_all_gather_dim, 0);
  if (value->type->dims[dim] != hlo_node_operand_type(gather, 0)->dims[dim] * e->parts)
    return false;
  // In the order of the region.
  uint32_t uses = 0;
  for (const hlo_use_t* use = value->uses; use; use = use->next) ++uses;
  for (hlo_node_t* node = gather->next; node && e->count < uses; node = node->next) {
    const bool is_left = node->operand_count == 2 && hlo_node_operand(node, 0) == value;
    const bool is_right = node->operand_count == 2 && hlo_node_operand(node, 1) == value;
    if (!is_left && !is_right) continue;
    if (e->count == PRODUCTS_MAX || is_left == is_right || !is_product(node)) return false;
    product_t* m = &e->products[e->count++];
    m->dot = node;
    follow_dim(m, is_right, dim);
    if (!set_sum_type(e, m)) return false;
  }
  if (!e->count || e->count != uses) return false;
  // The other operands are there before the first product.
  for (const hlo_node_t* node = e->products[0].dot; node; node = node->next) {
    for (uint32_t i = 1; i < e->count; ++i) {
      if (hlo_node_operand(e->products[i].dot, 1 - e->products[i].side)->def == node) return false;
    }
  }
  return true;
}

static bool match_scatter(windower_t* w, hlo_node_t* scatter, einsum_t* e) {
  hlo_value_t* value = hlo_node_operand(scatter, 0);
  hlo_node_t* dot = value->def;
  *e = (einsum_t){.w = w, .collective = scatter, .count = 1};
  product_t* m = &e->products[0];
  m->dot = dot;
  if (!dot || !is_product(dot) || dot->parent != scatter->parent || !has_one_use(value) ||
      !is_plain(scatter) || hlo_collective_reducer(scatter) != HLO_OP_add || !find_groups(e)) {
    return false;
  }
  const int64_t dim = hlo_node_attr_int(scatter, HLO_ATTR_scatter_dimension, 0);
  find_result_dim(m, dim);
  return m->result_dim == dim && set_sum_type(e, m) &&
         value->type->dims[dim] == scatter->results[0].type->dims[dim] * e->parts;
}

// ---- costs

static double larger(double a, double b) {
  return a > b ? a : b;
}

// Adds the time of a product, and of one of its parts in the loop.
static void add_product_ns(const einsum_t* e, const product_t* m, double* whole, double* part) {
  const hlo_schedule_machine_t* machine = &e->w->machine;
  const double parts = (double)e->parts;
  hlo_cost_t cost = {0};
  hlo_node_cost_add(m->dot, &cost);
  *whole +=
      hlo_schedule_machine_op_ns(machine, machine->launch_ns, cost.flops / machine->flops_per_ns,
                                 cost.bytes_accessed / machine->memory_bytes_per_ns);
  // Each part reads its operands, and writes its result, or adds it to the sum.
  const double result = hlo_type_work_bytes(m->sum_type);
  const bool is_part = e->collective->op == HLO_OP_all_gather && m->result_dim != NO_DIM;
  const double added = is_part ? 2 * result / parts : 3 * result;
  const double other = hlo_type_work_bytes(hlo_node_operand_type(m->dot, 1 - m->side));
  const double touched = cost.bytes_accessed / parts + added + (m->other_dim == NO_DIM ? other : 0);
  *part += hlo_schedule_machine_op_ns(machine, 2 * machine->launch_ns,
                                      cost.flops / parts / machine->flops_per_ns,
                                      touched / machine->memory_bytes_per_ns);
}

// Finds whether the loop takes less time than the collective and the products.
static hlo_status_t find_faster(const einsum_t* e, bool* out_is_faster) {
  const hlo_schedule_machine_t* machine = &e->w->machine;
  *out_is_faster = true;
  if (e->w->rewrites_all) return hlo_ok();
  const hlo_process_counts_t counts = {e->w->processes.replicas, e->w->processes.partitions};
  hlo_exchange_time_t time;
  HLO_TRY(hlo_topology_time(machine, e->collective, counts, &e->w->topology, &time));
  // Permutes go over the link that has the most to do for the collective, too.
  const double latency_ns = machine->levels[time.busiest < 0 ? 0 : time.busiest].latency_ns;
  const hlo_exchange_bytes_t bytes = hlo_exchange_bytes_of(e->collective, counts);
  double whole = bytes.phases * latency_ns + time.link_ns, part = 0;
  for (uint32_t i = 0; i < e->count; ++i) add_product_ns(e, &e->products[i], &whole, &part);
  const double sent = e->collective->op == HLO_OP_all_gather
                          ? hlo_type_work_bytes(hlo_node_operand_type(e->collective, 0))
                          : hlo_type_work_bytes(e->products[0].sum_type);
  const double per_byte = bytes.sent_bytes > 0 ? time.link_ns / bytes.sent_bytes : 0;
  const double permute = machine->launch_ns + latency_ns + sent * per_byte;
  const double both = machine->is_overlapped ? larger(part, permute) : part + permute;
  *out_is_faster = part + (double)(e->parts - 1) * both < whole;
  return hlo_ok();
}

// ---- pieces of the loop

static hlo_value_t* build_s32(hlo_node_t* at, int64_t value) {
  const hlo_type_t* type = hlo_type_tensor(at->parent->module, HLO_DTYPE_S32, 0, NULL);
  return type ? hlo_build_integers(at, type, &value) : NULL;
}

// Returns the position of this process in its group, from a table.
static hlo_value_t* build_position(const einsum_t* e, hlo_node_t* at) {
  const hlo_processes_t* p = &e->w->processes;
  hlo_module_t* module = at->parent->module;
  const int64_t count = p->count, one = 1;
  int64_t* table = hlo_arena_array(p->arena, p->count, sizeof *table);
  const hlo_type_t* number = hlo_type_tensor(module, HLO_DTYPE_U32, 0, NULL);
  const hlo_type_t* row = hlo_type_tensor(module, HLO_DTYPE_S32, 1, &count);
  const hlo_type_t* item = hlo_type_tensor(module, HLO_DTYPE_S32, 1, &one);
  const hlo_type_t* scalar = hlo_type_tensor(module, HLO_DTYPE_S32, 0, NULL);
  if (!table || !number || !row || !item || !scalar) return NULL;
  for (uint32_t i = 0; i < p->count; ++i) table[i] = e->groups->positions[i];
  const hlo_op_t op = p->partitions > 1 ? HLO_OP_partition_id : HLO_OP_replica_id;
  hlo_value_t* positions = hlo_build_integers(at, row, table);
  hlo_value_t* process = hlo_build_node(at, op, number, 0, NULL, 0, NULL);
  return hlo_build_reshape(at, scalar, hlo_build_dynamic_slice(at, item, positions, &process));
}

// Returns the number of the part that the process computes `step` steps after its own.
static hlo_value_t* build_owner(const einsum_t* e, hlo_node_t* at, hlo_value_t* step,
                                int64_t more) {
  if (more && step) step = hlo_build_binary(at, HLO_OP_add, step, build_s32(at, more));
  hlo_value_t* sum = step ? hlo_build_binary(at, HLO_OP_add, step, e->position) : NULL;
  return sum ? hlo_build_binary(at, HLO_OP_remainder, sum, build_s32(at, e->parts)) : NULL;
}

// Fills in where part `owner` of dimension `dim` starts.
static bool build_starts(hlo_node_t* at, const hlo_type_t* part, int64_t dim, hlo_value_t* owner,
                         hlo_value_t** starts) {
  hlo_value_t* zero = build_s32(at, 0);
  hlo_value_t* size = build_s32(at, part->dims[dim]);
  hlo_value_t* start = owner && size ? hlo_build_binary(at, HLO_OP_multiply, owner, size) : NULL;
  for (uint32_t d = 0; d < part->rank; ++d) starts[d] = d == dim ? start : zero;
  return start && zero;
}

static hlo_value_t* take_part(const einsum_t* e, hlo_node_t* at, hlo_value_t* value, int64_t dim,
                              hlo_value_t* owner) {
  if (dim == NO_DIM) return value;
  hlo_value_t* starts[HLO_RANK_MAX];
  const hlo_type_t* type = part_type(e, value->type, dim);
  if (!type || !build_starts(at, type, dim, owner, starts)) return NULL;
  return hlo_build_dynamic_slice(at, type, value, starts);
}

static hlo_value_t* put_part(hlo_node_t* at, int64_t dim, hlo_value_t* all, hlo_value_t* part,
                             hlo_value_t* owner) {
  hlo_value_t* starts[HLO_RANK_MAX];
  if (!all || !part || !build_starts(at, part->type, dim, owner, starts)) return NULL;
  return hlo_build_dynamic_update_slice(at, all, part, starts);
}

// Builds the product of a part of the divided operand.
static hlo_value_t* build_product(const einsum_t* e, const product_t* m, hlo_node_t* at,
                                  hlo_value_t* part, hlo_value_t* owner) {
  hlo_value_t* other = hlo_node_operand(m->dot, 1 - m->side);
  hlo_value_t* operands[2];
  operands[m->side] = part;
  operands[1 - m->side] = take_part(e, at, other, m->other_dim, owner);
  const bool is_part = m->result_dim != NO_DIM && e->collective->op == HLO_OP_all_gather;
  const hlo_type_t* type = is_part ? part_type(e, m->sum_type, m->result_dim) : m->sum_type;
  return part && operands[1 - m->side] ? hlo_build_copy(at, m->dot, type, operands) : NULL;
}

// Sends a value to the process at the position before.
static hlo_value_t* pass_on(const einsum_t* e, hlo_node_t* at, hlo_value_t* value) {
  const hlo_processes_t* p = &e->w->processes;
  hlo_module_t* module = at->parent->module;
  int64_t* pairs = hlo_arena_array(p->arena, 2 * (size_t)p->count, sizeof *pairs);
  if (!pairs) return NULL;
  for (uint32_t from = 0; from < p->count; ++from) {
    const int64_t to = (e->groups->positions[from] + e->parts - 1) % e->parts;
    pairs[2 * from] = from;
    for (uint32_t i = 0; i < p->count; ++i) {
      if (e->groups->firsts[i] == e->groups->firsts[from] && e->groups->positions[i] == to) {
        pairs[2 * from + 1] = i;
      }
    }
  }
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_source_target_pairs, hlo_attr_matrix(module, p->count, 2, pairs)},
      {HLO_ATTR_channel_id, hlo_attr_int(module, HLO_DTYPE_S64,
                                         hlo_node_attr_int(e->collective, HLO_ATTR_channel_id, 1))},
      {HLO_ATTR_channel_type, hlo_attr_int(module, HLO_DTYPE_S64, 1)}};
  return value ? hlo_build_node(at, HLO_OP_collective_permute, value->type, 1, &value,
                                p->partitions > 1 ? 3 : 1, attrs)
               : NULL;
}

// ---- loops

// Adds a product to the result so far.
static hlo_value_t* add_product(const einsum_t* e, const product_t* m, hlo_node_t* at,
                                hlo_value_t* result, hlo_value_t* part, hlo_value_t* owner) {
  hlo_value_t* product = build_product(e, m, at, part, owner);
  if (m->result_dim != NO_DIM) return put_part(at, m->result_dim, result, product, owner);
  return product ? hlo_build_binary(at, HLO_OP_add, result, product) : NULL;
}

// The parts of the gathered operand come by; the last one is not passed on.
static bool build_gathered(einsum_t* e, hlo_value_t** results) {
  hlo_node_t* at = e->products[0].dot;
  const hlo_type_t* number = hlo_type_tensor(at->parent->module, HLO_DTYPE_S32, 0, NULL);
  hlo_value_t* initial[1 + PRODUCTS_MAX] = {hlo_node_operand(e->collective, 0)};
  hlo_value_t *next[1 + PRODUCTS_MAX], *last[1 + PRODUCTS_MAX];
  for (uint32_t i = 0; i < e->count; ++i) {
    initial[1 + i] = hlo_build_splat(at, e->products[i].sum_type, 0);
  }
  hlo_loop_t loop;
  e->position = build_position(e, at);
  if (!e->position || !hlo_loop_begin(at, number, e->parts - 1, 1 + e->count, initial, &loop)) {
    return false;
  }
  next[0] = pass_on(e, loop.end, loop.values[0]);
  hlo_value_t* owner = build_owner(e, loop.end, loop.number, 0);
  for (uint32_t i = 0; i < e->count; ++i) {
    next[1 + i] =
        add_product(e, &e->products[i], loop.end, loop.values[1 + i], loop.values[0], owner);
  }
  if (!hlo_loop_finish(&loop, next, last)) return false;
  owner = build_owner(e, at, build_s32(at, e->parts - 1), 0);
  for (uint32_t i = 0; i < e->count; ++i) {
    results[i] = add_product(e, &e->products[i], at, last[1 + i], last[0], owner);
    if (!results[i]) return false;
  }
  return true;
}

// Each sum goes around the group and ends where it is needed.
static hlo_value_t* build_scattered(einsum_t* e) {
  const product_t* m = &e->products[0];
  hlo_node_t* at = e->collective;
  const hlo_type_t* number = hlo_type_tensor(at->parent->module, HLO_DTYPE_S32, 0, NULL);
  hlo_value_t* operand = hlo_node_operand(m->dot, m->side);
  e->position = build_position(e, at);
  if (!e->position) return NULL;
  hlo_value_t* owner = build_owner(e, at, build_s32(at, 1), 0);
  hlo_value_t* part = owner ? take_part(e, at, operand, m->side_dim, owner) : NULL;
  hlo_value_t* sum = build_product(e, m, at, part, owner);
  hlo_loop_t loop;
  if (!sum || !hlo_loop_begin(at, number, e->parts - 1, 1, &sum, &loop)) return NULL;
  owner = build_owner(e, loop.end, loop.number, 2);
  hlo_value_t* received = pass_on(e, loop.end, loop.values[0]);
  part = owner ? take_part(e, loop.end, operand, m->side_dim, owner) : NULL;
  hlo_value_t* product = build_product(e, m, loop.end, part, owner);
  hlo_value_t* next =
      received && product ? hlo_build_binary(loop.end, HLO_OP_add, received, product) : NULL;
  return hlo_loop_finish(&loop, &next, &sum) ? sum : NULL;
}

static bool replace(hlo_node_t* node, hlo_node_t* at, hlo_value_t* value) {
  value = value ? hlo_build_convert(at, node->results[0].type->dtype, value) : NULL;
  if (!value) return false;
  hlo_value_replace_uses(&node->results[0], value);
  return true;
}

static hlo_status_t rewrite_gather(void* context, hlo_node_t* node) {
  windower_t* w = context;
  einsum_t e;
  hlo_value_t* results[PRODUCTS_MAX];
  bool is_faster;
  if (node->op != HLO_OP_all_gather || !match_gather(w, node, &e)) return hlo_ok();
  HLO_TRY(find_faster(&e, &is_faster));
  if (!is_faster) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  hlo_node_t* first = e.products[0].dot;
  if (!build_gathered(&e, results)) return hlo_module_status(module);
  for (uint32_t i = 0; i < e.count; ++i) {
    if (!replace(e.products[i].dot, first, results[i])) return hlo_module_status(module);
  }
  for (uint32_t i = 0; i < e.count; ++i) hlo_node_erase(e.products[i].dot);
  hlo_node_erase(node);
  ++w->ctx->step_count;
  return hlo_module_status(module);
}

static hlo_status_t rewrite_scatter(void* context, hlo_node_t* node) {
  windower_t* w = context;
  einsum_t e;
  bool is_faster;
  if (node->op != HLO_OP_reduce_scatter || node->operand_count != 1 ||
      !match_scatter(w, node, &e)) {
    return hlo_ok();
  }
  HLO_TRY(find_faster(&e, &is_faster));
  if (!is_faster) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  if (!replace(node, node, build_scattered(&e))) return hlo_module_status(module);
  hlo_node_erase(node);
  hlo_node_erase(e.products[0].dot);
  ++w->ctx->step_count;
  return hlo_module_status(module);
}

// Collects the gathers of a region first: products after them are erased.
typedef struct gathers {
  hlo_arena_t* arena;
  uint32_t count, capacity;
  hlo_node_t** nodes;
} gathers_t;

static hlo_status_t collect(void* context, hlo_node_t* node) {
  gathers_t* g = context;
  if (node->op != HLO_OP_all_gather) return hlo_ok();
  if (g->count == g->capacity) {
    const uint32_t capacity = g->capacity ? 2 * g->capacity : 16;
    hlo_node_t** nodes = hlo_arena_array(g->arena, capacity, sizeof *nodes);
    if (!nodes) return hlo_arena_status(g->arena);
    if (g->count) memcpy(nodes, g->nodes, g->count * sizeof *nodes);
    g->nodes = nodes;
    g->capacity = capacity;
  }
  g->nodes[g->count++] = node;
  return hlo_ok();
}

hlo_status_t hlo_pass_windowed_einsum(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  windower_t w = {.ctx = ctx, .topology = {.arena = &ctx->scratch}};
  const char* name = ctx->argument ? ctx->argument : "host";
  w.rewrites_all = strcmp(name, "all") == 0;
  if (!w.rewrites_all && !hlo_schedule_machine(name, &w.machine)) {
    return hlo_invalid_argument(
        "windowed_einsum takes a machine of the scheduler, or 'all', not '%s'", name);
  }
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &w.processes));
  gathers_t gathers = {.arena = &ctx->scratch};
  HLO_TRY(hlo_module_walk(module, true, collect, &gathers));
  for (uint32_t i = 0; i < gathers.count; ++i) HLO_TRY(rewrite_gather(&w, gathers.nodes[i]));
  HLO_TRY(hlo_module_walk(module, true, rewrite_scatter, &w));
  return hlo_arena_status(&ctx->scratch);
}
