// SPDX-License-Identifier: Apache-2.0
// Copies of bodies (see splice.h).
#include "passes/splice.h"

#include <string.h>

#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"

static hlo_status_t map_arg(hlo_splicer_t* splicer, const hlo_value_t* arg, hlo_value_t* value) {
  hlo_value_map_t* map = &splicer->map;
  if (arg->index >= map->count) {
    uint32_t count = 2 * arg->index + 64;
    hlo_value_t** values = hlo_arena_array(splicer->arena, count, sizeof *values);
    if (!values) return hlo_arena_status(splicer->arena);
    if (map->count) memcpy(values, map->values, map->count * sizeof *values);
    *map = (hlo_value_map_t){values, count};
  }
  map->values[arg->index] = value;
  return hlo_ok();
}

hlo_status_t hlo_splice(hlo_splicer_t* splicer, const hlo_region_t* body,
                        hlo_value_t* const* values, hlo_node_t* insertion_point, hlo_visit_t visit,
                        void* context) {
  hlo_module_t* module = insertion_point->parent->module;
  hlo_region_t* staging = hlo_region_create(module, insertion_point->parent->func, NULL);
  if (!staging) return hlo_module_status(module);
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    HLO_TRY(map_arg(splicer, body->args[i], values[i]));
  }
  for (const hlo_node_t* n = body->first; n != body->last; n = n->next) {
    if (hlo_node_is_poison(hlo_node_clone(staging, n, &splicer->map))) {
      return hlo_status_out_of_memory(sizeof *n);
    }
  }
  if (visit) HLO_TRY(hlo_region_walk(staging, false, visit, context));
  for (hlo_node_t* n = staging->first; n; n = staging->first) {
    hlo_node_unlink(n);
    hlo_node_insert_before(insertion_point, n);
  }
  return hlo_ok();
}

hlo_value_t* hlo_splice_result(const hlo_splicer_t* splicer, const hlo_region_t* body, uint32_t i) {
  hlo_value_t* value = hlo_node_operand(body->last, i);
  bool is_mapped = value->index < splicer->map.count && splicer->map.values[value->index];
  return is_mapped ? splicer->map.values[value->index] : value;
}

static hlo_status_t count_op(void* context, HLO_UNUSED hlo_node_t* node) {
  ++*(uint32_t*)context;
  return hlo_ok();
}

uint32_t hlo_splice_size(const hlo_region_t* body) {
  uint32_t size = 0;
  hlo_status_release(hlo_region_walk((hlo_region_t*)body, false, count_op, &size));
  return size;
}

bool hlo_splice_own_body(hlo_node_t* node) {
  hlo_region_t* body = node->region_count == 1 ? node->regions[0] : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || body->arg_count != node->operand_count) return false;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    hlo_value_replace_uses(body->args[i], hlo_node_operand(node, i));
  }
  for (hlo_node_t* inner = body->first; inner != end; inner = body->first) {
    hlo_node_unlink(inner);
    hlo_node_insert_before(node, inner);
  }
  return true;
}

// ---- scalar bodies as ops of tensors

enum { MAX_ARGS = 64 };

static bool is_scalar(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && type->rank == 0;
}

static bool can_lift_op(const hlo_node_t* node) {
  if (node->extra || node->region_count || node->result_count != 1 ||
      !is_scalar(node->results[0].type)) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!is_scalar(hlo_node_operand_type(node, i))) return false;
  }
  return node->op == HLO_OP_constant || (hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE);
}

bool hlo_lift_can(const hlo_region_t* body) {
  const hlo_node_t* end = hlo_region_terminator(body);
  uint32_t count = 0;
  if (!end || body->arg_count > MAX_ARGS) return false;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    if (!is_scalar(body->args[i]->type)) return false;
  }
  for (const hlo_node_t* node = body->first; node != end; node = node->next) {
    if (++count > HLO_TUNING_LIFT_MAX_OPS || !can_lift_op(node)) return false;
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    if (!is_scalar(hlo_node_operand_type(end, i))) return false;
  }
  return true;
}

bool hlo_lift_can_reduce(const hlo_node_t* node) {
  const uint32_t count = node->result_count;
  const hlo_region_t* body = node->regions[0];
  if (node->extra || count > HLO_LIFT_MAX_VALUES || node->operand_count != 2 * count ||
      !hlo_lift_can(body)) {
    return false;
  }
  const hlo_node_t* end = hlo_region_terminator(body);
  if (body->arg_count != 2 * count || end->operand_count != count) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    const hlo_dtype_t dtype = type->dtype;
    if (!hlo_type_is_plain(type) || hlo_type_element_count(type) == 0 ||
        node->results[i].type->dtype != dtype || body->args[i]->type->dtype != dtype ||
        body->args[count + i]->type->dtype != dtype ||
        hlo_node_operand_type(node, count + i)->dtype != dtype ||
        hlo_node_operand_type(end, i)->dtype != dtype) {
      return false;
    }
  }
  return true;
}

/// Maps each scalar of the body to its tensor.
typedef struct lifted {
  hlo_node_t* insertion_point;
  const hlo_region_t* body;
  hlo_value_t* const* args;
  const hlo_value_t* scalars[HLO_TUNING_LIFT_MAX_OPS];
  hlo_value_t* tensors[HLO_TUNING_LIFT_MAX_OPS];
  uint32_t count;
} lifted_t;

// Returns the scalar's element type with the shape of the arguments.
static const hlo_type_t* lifted_type(const lifted_t* lifted, const hlo_type_t* scalar) {
  const hlo_type_t* shape = lifted->args[0]->type;
  return hlo_type_tensor(lifted->body->module, scalar->dtype, shape->rank, shape->dims);
}

// A captured value is a scalar for all elements.
static hlo_value_t* find_lifted(const lifted_t* lifted, hlo_value_t* scalar) {
  for (uint32_t i = 0; i < lifted->body->arg_count; ++i) {
    if (lifted->body->args[i] == scalar) return lifted->args[i];
  }
  for (uint32_t i = 0; i < lifted->count; ++i) {
    if (lifted->scalars[i] == scalar) return lifted->tensors[i];
  }
  return hlo_build_broadcast(lifted->insertion_point, lifted_type(lifted, scalar->type), scalar,
                             NULL);
}

static hlo_value_t* lift_op(const lifted_t* lifted, const hlo_node_t* node) {
  const hlo_type_t* scalar = node->results[0].type;
  hlo_value_t* operands[MAX_ARGS];
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = find_lifted(lifted, hlo_node_operand(node, i));
  }
  const bool is_constant = node->op == HLO_OP_constant;
  const hlo_type_t* type = is_constant ? scalar : lifted_type(lifted, scalar);
  hlo_value_t* made = hlo_build_copy(lifted->insertion_point, node, type, operands);
  return is_constant && made ? find_lifted(lifted, made) : made;
}

bool hlo_lift(hlo_node_t* insertion_point, const hlo_region_t* body, hlo_value_t* const* args,
              hlo_value_t** results) {
  const hlo_node_t* end = hlo_region_terminator(body);
  lifted_t lifted = {.insertion_point = insertion_point, .body = body, .args = args};
  for (const hlo_node_t* node = body->first; node != end; node = node->next) {
    hlo_value_t* tensor = lift_op(&lifted, node);
    if (!tensor) return false;
    lifted.scalars[lifted.count] = &node->results[0];
    lifted.tensors[lifted.count++] = tensor;
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    results[i] = find_lifted(&lifted, hlo_node_operand(end, i));
    if (!results[i]) return false;
  }
  return true;
}

void hlo_lift_pair(hlo_node_t* insertion_point, const hlo_region_t* body, uint32_t count,
                   hlo_value_t* const* x, hlo_value_t* const* y, hlo_value_t** results) {
  hlo_value_t* args[MAX_ARGS] = {NULL};
  bool is_whole = true;
  for (uint32_t i = 0; i < count; ++i) {
    args[i] = x[i];
    args[count + i] = y[i];
    is_whole &= x[i] && y[i];
  }
  if (is_whole && hlo_lift(insertion_point, body, args, results)) return;
  for (uint32_t i = 0; i < count; ++i) results[i] = NULL;
}
