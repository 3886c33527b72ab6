// SPDX-License-Identifier: Apache-2.0
// Pass combine_collectives: combines independent collectives of one region into one, which costs
// one latency instead of several. All of a kind that exchange in the same way form a class. The
// depth of a member is the largest number of members on a path that leads to it, so members of one
// depth do not depend on each other, and combining them makes no cycle. Members of a depth are
// taken in order until a combined collective would get too large.
//
// all_reduce, all_gather and collective_permute take several operands. A reduce_scatter takes one:
// small ones are concatenated, so that each process gets its part of all of them, and sliced.
//
// Linear in the size of a region for each class that has two members.
#include <stdlib.h>

#include "base/tuning.h"
#include "passes/build.h"
#include "passes/order.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

/// Collectives that may be combined with each other if none depends on another.
typedef struct class {
  hlo_node_t* first;
  uint32_t member_count;
  struct class* next;
} class_t;

typedef struct combiner {
  hlo_pass_ctx_t* ctx;
  uint64_t limit_bytes;
  uint32_t* depths;  // by node->index
  uint32_t depth_capacity;
  uint32_t deepest;  // dependence of the visited node
  const hlo_node_t* fixed;
} combiner_t;

// ---- classes

static bool is_packed(const hlo_node_t* node) {
  return node->op == HLO_OP_reduce_scatter;
}

// Returns true if the rows of a reduce_scatter's operand, one for each process, are contiguous.
static bool has_rows(const hlo_node_t* node) {
  const hlo_type_t *type = hlo_node_operand_type(node, 0), *result = node->results[0].type;
  const int64_t dim = hlo_node_attr_int(node, HLO_ATTR_scatter_dimension, -1);
  for (int64_t d = 0; d < dim; ++d) {
    if (type->dims[d] != 1) return false;
  }
  return type->dtype == result->dtype && result->dims[dim] > 0;
}

static bool is_member(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_all_reduce:
    case HLO_OP_reduce_scatter:
      if (hlo_collective_reducer(node) == HLO_OP_COUNT) return false;
      break;
    case HLO_OP_all_gather:
    case HLO_OP_collective_permute: break;
    default: return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_type_size_bytes(hlo_node_operand_type(node, i)) == SIZE_MAX) return false;
  }
  return node->operand_count == node->result_count && (!is_packed(node) || has_rows(node));
}

// Returns the number of processes that a reduce_scatter divides its operand among.
static int64_t part_count(const hlo_node_t* node) {
  const int64_t dim = hlo_node_attr_int(node, HLO_ATTR_scatter_dimension, 0);
  return hlo_node_operand_type(node, 0)->dims[dim] / node->results[0].type->dims[dim];
}

static bool is_alike(const hlo_node_t* a, const hlo_node_t* b) {
  if (!hlo_collective_exchanges_alike(a, b)) return false;
  if (!a->region_count) return true;
  return hlo_collective_reducer(a) == hlo_collective_reducer(b) &&
         hlo_node_operand_type(a, 0)->dtype == hlo_node_operand_type(b, 0)->dtype &&
         (!is_packed(a) || part_count(a) == part_count(b));
}

static class_t* find_classes(combiner_t* c, const hlo_region_t* region) {
  class_t *first = NULL, **last = &first;
  for (hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_member(node)) continue;
    class_t* class = first;
    while (class && !is_alike(class->first, node)) class = class->next;
    if (!class) {
      class = hlo_arena_alloc(&c->ctx->scratch, sizeof *class);
      if (!class) return NULL;
      *class = (class_t){.first = node};
      *last = class;
      last = &class->next;
    }
    ++class->member_count;
  }
  return first;
}

// ---- depths

static void deepen(void* context, hlo_node_t* dependence) {
  combiner_t* c = context;
  const uint32_t depth = c->depths[dependence->index];
  if (depth > c->deepest) c->deepest = depth;
}

static void find_depth(combiner_t* c, const hlo_node_t* node, const hlo_region_t* region,
                       bool counts) {
  c->deepest = 0;
  hlo_node_dependences(node, region, deepen, c);
  if (hlo_node_has_fixed_place(node)) {
    if (c->fixed && c->depths[c->fixed->index] > c->deepest) {
      c->deepest = c->depths[c->fixed->index];
    }
    c->fixed = node;
  }
  c->depths[node->index] = c->deepest + counts;
}

static hlo_status_t find_depths(combiner_t* c, const hlo_region_t* region, const class_t* class) {
  const uint32_t count = region->module->node_count + 1;
  if (count > c->depth_capacity) {
    c->depth_capacity = 2 * count;
    c->depths = hlo_arena_array(&c->ctx->scratch, c->depth_capacity, sizeof *c->depths);
    HLO_TRY(hlo_arena_status(&c->ctx->scratch));
  }
  c->fixed = NULL;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    find_depth(c, node, region, is_member(node) && is_alike(class->first, node));
  }
  return hlo_ok();
}

// ---- combinations

// Replaces members by one collective before `insertion_point`.
static void join(hlo_node_t* insertion_point, hlo_node_t** members, uint32_t count,
                 hlo_value_t** operands, const hlo_type_t** types) {
  uint32_t total = 0, k = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t j = 0; j < members[i]->operand_count; ++j, ++total) {
      operands[total] = hlo_node_operand(members[i], j);
      types[total] = members[i]->results[j].type;
    }
  }
  hlo_node_t* node =
      hlo_collective_create_like(members[0]->op, members[0], total, operands, total, types);
  if (hlo_node_is_poison(node)) return;
  hlo_node_insert_before(insertion_point, node);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t j = 0; j < members[i]->result_count; ++j) {
      hlo_value_replace_uses(&members[i]->results[j], &node->results[k++]);
    }
  }
}

static const hlo_type_t* matrix(hlo_module_t* module, const hlo_type_t* like, int64_t rows,
                                int64_t cols) {
  return hlo_type_with_dims(module, like, 2, (int64_t[]){rows, cols});
}

// Returns the operands of reduce_scatters side by side: row i is what process i gets.
static hlo_value_t* pack(hlo_node_t* insertion_point, hlo_node_t** members, uint32_t count,
                         hlo_value_t** rows) {
  hlo_module_t* module = insertion_point->parent->module;
  const int64_t parts = part_count(members[0]);
  int64_t width = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(members[i], 0);
    const int64_t cols = hlo_type_element_count(type) / parts;
    rows[i] = hlo_build_reshape(insertion_point, matrix(module, type, parts, cols),
                                hlo_node_operand(members[i], 0));
    if (!rows[i]) return NULL;
    width += cols;
  }
  const hlo_named_attr_t along = {HLO_ATTR_dimension, hlo_attr_int(module, HLO_DTYPE_S64, 1)};
  return hlo_build_node(insertion_point, HLO_OP_concatenate,
                        matrix(module, rows[0]->type, parts, width), count, rows, 1, &along);
}

static void join_packed(hlo_node_t* insertion_point, hlo_node_t** members, uint32_t count,
                        hlo_value_t** rows) {
  hlo_module_t* module = insertion_point->parent->module;
  hlo_value_t* packed = pack(insertion_point, members, count, rows);
  if (!packed) return;
  const hlo_type_t* type = matrix(module, packed->type, 1, packed->type->dims[1]);
  const hlo_attr_t* dim = hlo_attr_int(module, HLO_DTYPE_S64, 0);
  if (!type || !dim) return;
  hlo_node_t* node =
      hlo_collective_create_like(HLO_OP_reduce_scatter, members[0], 1, &packed, 1, &type);
  if (hlo_node_is_poison(node)) return;
  hlo_node_set_attr(node, HLO_ATTR_scatter_dimension, dim);
  hlo_node_insert_before(insertion_point, node);
  int64_t first[2] = {0, 0};
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* result = members[i]->results[0].type;
    const int64_t cols = hlo_type_element_count(result);
    hlo_value_t* part = hlo_build_slice(insertion_point, matrix(module, result, 1, cols),
                                        &node->results[0], first, NULL);
    part = hlo_build_reshape(insertion_point, result, part);
    if (part) hlo_value_replace_uses(&members[i]->results[0], part);
    first[1] += cols;
  }
}

static hlo_status_t combine_members(combiner_t* c, hlo_node_t** members, uint32_t count) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; ++i) total += members[i]->operand_count;
  hlo_value_t** operands = hlo_arena_array(&c->ctx->scratch, total, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&c->ctx->scratch, total, sizeof *types);
  HLO_TRY(hlo_arena_status(&c->ctx->scratch));
  hlo_node_t* insertion_point = members[count - 1];
  hlo_module_t* module = insertion_point->parent->module;
  if (is_packed(insertion_point)) {
    join_packed(insertion_point, members, count, operands);
  } else {
    join(insertion_point, members, count, operands, types);
  }
  HLO_TRY(hlo_module_status(module));
  for (uint32_t i = 0; i < count; ++i) hlo_node_erase(members[i]);
  c->ctx->step_count += count - 1;
  return hlo_ok();
}

// ---- selection

typedef struct member {
  hlo_node_t* node;
  uint32_t depth, position;
  uint64_t bytes;
} member_t;

static int compare_members(const void* x, const void* y) {
  const member_t *a = x, *b = y;
  if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
  return a->position < b->position ? -1 : 1;
}

static uint64_t bytes_of(const hlo_node_t* node) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const uint64_t in = hlo_type_size_bytes(hlo_node_operand_type(node, i));
    const uint64_t out = hlo_type_size_bytes(node->results[i].type);
    bytes += in > out ? in : out;
  }
  return bytes;
}

static uint64_t limit_of(const combiner_t* c, const hlo_node_t* node) {
  const bool is_small = c->limit_bytes <= HLO_TUNING_COMBINE_MAX_COPIED_BYTES;
  return is_packed(node) && !is_small ? HLO_TUNING_COMBINE_MAX_COPIED_BYTES : c->limit_bytes;
}

// Members above the limit remain alone, and do not keep those around them apart.
static hlo_status_t list_members(combiner_t* c, const hlo_region_t* region, const class_t* class,
                                 member_t** out_members, uint32_t* out_count) {
  uint32_t count = 0;
  *out_members = hlo_arena_array(&c->ctx->scratch, class->member_count, sizeof **out_members);
  HLO_TRY(hlo_arena_status(&c->ctx->scratch));
  for (hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_member(node) || !is_alike(class->first, node)) continue;
    const uint64_t bytes = bytes_of(node);
    if (bytes > limit_of(c, node)) continue;
    (*out_members)[count] = (member_t){node, c->depths[node->index], count, bytes};
    ++count;
  }
  qsort(*out_members, count, sizeof **out_members, compare_members);
  *out_count = count;
  return hlo_ok();
}

// Combines the members from `first` on that have the same depth and fit; *out_next is the first
// that is not decided.
static hlo_status_t combine_some(combiner_t* c, const member_t* members, uint32_t count,
                                 uint32_t first, uint32_t* out_next) {
  uint64_t left = limit_of(c, members[first].node);
  uint32_t taken = 0, operand_count = 0, i = first;
  hlo_node_t** nodes = hlo_arena_array(&c->ctx->scratch, count - first, sizeof *nodes);
  HLO_TRY(hlo_arena_status(&c->ctx->scratch));
  for (; i < count && members[i].depth == members[first].depth; ++i) {
    operand_count += members[i].node->operand_count;
    if (members[i].bytes > left || operand_count > HLO_TUNING_COMBINE_MAX_OPERANDS) break;
    left -= members[i].bytes;
    nodes[taken++] = members[i].node;
  }
  *out_next = i > first ? i : first + 1;  // one of too many operands remains alone
  return taken > 1 ? combine_members(c, nodes, taken) : hlo_ok();
}

static hlo_status_t combine_class(combiner_t* c, hlo_region_t* region, const class_t* class) {
  const uint32_t step_count = c->ctx->step_count;
  member_t* members = NULL;
  uint32_t count = 0;
  if (class->member_count < 2) return hlo_ok();
  HLO_TRY(find_depths(c, region, class));
  HLO_TRY(list_members(c, region, class, &members, &count));
  for (uint32_t i = 0; i < count;) HLO_TRY(combine_some(c, members, count, i, &i));
  return c->ctx->step_count == step_count ? hlo_ok() : hlo_region_order(region, &c->ctx->scratch);
}

static hlo_status_t combine_in_region(combiner_t* c, hlo_region_t* region) {
  for (hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(combine_in_region(c, node->regions[i]));
    }
  }
  // Combining one class can bring members of another to one depth.
  for (bool has_changed = true; has_changed;) {
    const uint32_t step_count = c->ctx->step_count;
    for (const class_t* class = find_classes(c, region); class; class = class->next) {
      HLO_TRY(combine_class(c, region, class));
    }
    HLO_TRY(hlo_arena_status(&c->ctx->scratch));
    has_changed = c->ctx->step_count != step_count;
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_combine_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  combiner_t combiner = {.ctx = ctx};
  HLO_TRY(hlo_bytes_argument(ctx, HLO_TUNING_COMBINE_MAX_BYTES, &combiner.limit_bytes));
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(combine_in_region(&combiner, func->body));
  }
  return hlo_ok();
}
