// SPDX-License-Identifier: Apache-2.0
// Ops whose form in HLO needs more than their row of the op table: control flow, calls, constants,
// broadcasts, transfers, shardings.

#include "base/strbuf.h"
#include "frontend/hlo/export.h"
#include "ir/print.h"
#include "ir/sharding.h"

typedef hlo_exporter_t exporter_t;
typedef hlo_export_scope_t scope_t;
typedef hlo_desc_instruction_t instruction_t;

// Collects the operands, fields and discardable attributes of a node.
static hlo_status_t prepare(scope_t* s, const hlo_node_t* node, hlo_export_ids_t* out_operands,
                            instruction_t* out_fields) {
  *out_fields = (instruction_t){0};
  HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, out_operands));
  HLO_TRY(hlo_desc_fields(s->exporter, node, out_fields));
  return hlo_export_extra(s->exporter, node->extra, out_fields);
}

// Adds an instruction with one operand and the given type.
static hlo_status_t add_unary(scope_t* s, const char* opcode, const hlo_type_t* type,
                              int64_t operand, const instruction_t* fields, int64_t* out_id) {
  hlo_desc_shape_t shape;
  HLO_TRY(hlo_export_shape(s->exporter, type, &shape));
  return hlo_export_add(s, opcode, &shape, 1, &operand, fields, out_id);
}

// ---- constants and broadcasts -------------------------------------------------------------------

static bool all_equal(const hlo_literal_t* literal) {
  size_t unit = hlo_dtype_size_bytes(literal->dtype);
  if (literal->is_splat || literal->element_count == 1) return true;
  return literal->element_count > 1 && memcmp(literal->data, (const uint8_t*)literal->data + unit,
                                              ((size_t)literal->element_count - 1) * unit) == 0;
}

static hlo_status_t add_constant(scope_t* s, const hlo_literal_t* literal, uint32_t rank,
                                 int64_t* out_id) {
  exporter_t* ex = s->exporter;
  instruction_t fields = {.literal = hlo_arena_alloc_zeroed(ex->arena, sizeof *fields.literal)};
  hlo_desc_shape_t shape;
  if (!fields.literal) return hlo_arena_status(ex->arena);
  HLO_TRY(hlo_export_array_shape(ex, hlo_dtype_info(literal->dtype)->primitive_type, rank,
                                 literal->dims, &shape));
  fields.literal->elements = literal->data;
  return hlo_export_add(s, "constant", &shape, 0, NULL, &fields, out_id);
}

// HLO's rng lacks the third operand, the shape of the result.
static bool is_shape_of_rng(const hlo_value_t* value) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    const hlo_node_t* user = use->user;
    if (user->op != HLO_OP_rng || hlo_node_operand(user, 0) == value ||
        hlo_node_operand(user, 1) == value) {
      return false;
    }
  }
  return !hlo_value_is_unused(value);
}

// A constant of equal elements becomes a broadcast scalar.
static hlo_status_t export_constant(scope_t* s, const hlo_node_t* node) {
  if (is_shape_of_rng(&node->results[0])) return hlo_ok();
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  const hlo_type_t* type = node->results[0].type;
  int64_t id;
  if (value->kind != HLO_ATTR_KIND_LITERAL) return hlo_export_refuse(s->exporter, "its value");
  if (type->quant) return hlo_export_refuse(s->exporter, "its element type");
  bool is_splat = type->rank > 0 && all_equal(value->literal) && value->literal->element_count > 0;
  HLO_TRY(add_constant(s, value->literal, is_splat ? 0 : type->rank, &id));
  if (is_splat) HLO_TRY(add_unary(s, "broadcast", type, id, NULL, &id));
  return hlo_export_bind(s, &node->results[0], id);
}

// HLO's broadcast neither expands dimensions of size one nor permutes dimensions, so a transpose
// and a reshape precede it.
static hlo_status_t export_broadcast_in_dim(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  const hlo_type_t* to = node->results[0].type;
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  instruction_t fields = {0};
  int64_t id, order[HLO_RANK_MAX], kept[HLO_RANK_MAX], sizes[HLO_RANK_MAX], moved[HLO_RANK_MAX];
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &id));
  bool in_order = true;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t place = 0;
    for (uint32_t k = 0; k < count; ++k) place += dims[k] < dims[i];
    order[place] = i;
    in_order &= place == i;
  }
  for (uint32_t i = 0; i < count; ++i) moved[i] = from->dims[order[i]];
  hlo_desc_shape_t shape;
  int32_t element_type = hlo_dtype_info(from->dtype)->primitive_type;
  if (!in_order) {
    HLO_TRY(hlo_export_ints(ex, count, order, &fields.dimensions));
    HLO_TRY(hlo_export_array_shape(ex, element_type, count, moved, &shape));
    HLO_TRY(hlo_export_add(s, "transpose", &shape, 1, &id, &fields, &id));
  }
  uint32_t kept_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t dim = dims[order[i]];
    if (moved[i] != to->dims[dim]) continue;
    kept[kept_count] = dim;
    sizes[kept_count++] = moved[i];
  }
  if (kept_count != count) {
    HLO_TRY(hlo_export_array_shape(ex, element_type, kept_count, sizes, &shape));
    HLO_TRY(hlo_export_add(s, "reshape", &shape, 1, &id, NULL, &id));
  }
  HLO_TRY(hlo_export_ints(ex, kept_count, kept, &fields.dimensions));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  HLO_TRY(add_unary(s, "broadcast", to, id, &fields, &id));
  return hlo_export_bind(s, &node->results[0], id);
}

// broadcast adds leading dimensions.
static hlo_status_t export_broadcast(scope_t* s, const hlo_node_t* node) {
  uint32_t rank = hlo_node_operand_type(node, 0)->rank;
  int64_t id, dims[HLO_RANK_MAX];
  instruction_t fields = {0};
  for (uint32_t i = 0; i < rank; ++i) dims[i] = node->results[0].type->rank - rank + i;
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &id));
  HLO_TRY(hlo_export_ints(s->exporter, rank, dims, &fields.dimensions));
  HLO_TRY(add_unary(s, "broadcast", node->results[0].type, id, &fields, &id));
  return hlo_export_bind(s, &node->results[0], id);
}

// select and clamp: scalars are broadcast to the whole shape.
static hlo_status_t export_with_scalars(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  const hlo_type_t* result = node->results[0].type;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (type->rank == result->rank) continue;
    hlo_desc_shape_t shape;
    HLO_TRY(hlo_export_shape(s->exporter, result, &shape));
    shape.element_type = hlo_dtype_info(type->dtype)->primitive_type;
    HLO_TRY(
        hlo_export_add(s, "broadcast", &shape, 1, &operands.items[i], NULL, &operands.items[i]));
  }
  return hlo_export_results(s, node, hlo_op_info(node->op)->hlo_name, &operands, &fields);
}

// ---- ops with attributes ------------------------------------------------------------------------

// A scalar has no dimension to pad.
static hlo_status_t export_pad(scope_t* s, const hlo_node_t* node) {
  int64_t id;
  if (hlo_node_operand_type(node, 0)->rank > 0) return hlo_export_row(s, node, "pad");
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &id));
  return hlo_export_bind(s, &node->results[0], id);
}

// dot contracts the last dimension of one vector or matrix with the first of the other.
static hlo_status_t export_dot(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  hlo_desc_dot_t* dot = hlo_arena_alloc_zeroed(s->exporter->arena, sizeof *dot);
  if (!dot) return hlo_arena_status(s->exporter->arena);
  int64_t last = (int64_t)hlo_node_operand_type(node, 0)->rank - 1, first = 0;
  HLO_TRY(hlo_export_ints(s->exporter, 1, &last, &dot->lhs_contracting_dimensions));
  HLO_TRY(hlo_export_ints(s->exporter, 1, &first, &dot->rhs_contracting_dimensions));
  fields.dot = dot;
  return hlo_export_results(s, node, "dot", &operands, &fields);
}

static hlo_status_t export_ragged_dot(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  fields.ragged->dot = fields.dot;  // the position in protos
  return hlo_export_results(s, node, "ragged-dot", &operands, &fields);
}

// The dimension may be absent, or negative to count from the end.
static hlo_status_t export_sort(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dimension, -1), call;
  HLO_TRY(prepare(s, node, &operands, &fields));
  if (dim < 0) dim += hlo_node_operand_type(node, 0)->rank;
  HLO_TRY(hlo_export_ints(ex, 1, &dim, &fields.dimensions));
  HLO_TRY(hlo_export_region(ex, node->regions[0], HLO_EXPORT_SEPARATE, 0, NULL, false, &call));
  ex->current = node;
  HLO_TRY(hlo_export_calls(ex, 1, &call, &fields));
  return hlo_export_results(s, node, "sort", &operands, &fields);
}

// The third operand is the shape, which the result has.
static hlo_status_t export_rng(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields = {0};
  HLO_TRY(hlo_export_operands(s, node, 0, 2, &operands));
  HLO_TRY(hlo_desc_fields(s->exporter, node, &fields));
  return hlo_export_results(s, node, "rng", &operands, &fields);
}

static hlo_status_t export_top_k(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  fields.largest = true;
  return hlo_export_results(s, node, "topk", &operands, &fields);
}

static hlo_status_t export_get_tuple_element(scope_t* s, const hlo_node_t* node) {
  int64_t id;
  hlo_desc_shape_t shape;
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &id));
  HLO_TRY(hlo_export_shape(s->exporter, node->results[0].type, &shape));
  HLO_TRY(
      hlo_export_element(s, id, (uint32_t)hlo_node_attr_int(node, HLO_ATTR_index, 0), &shape, &id));
  return hlo_export_bind(s, &node->results[0], id);
}

static hlo_status_t export_create_token(scope_t* s, const hlo_node_t* node) {
  return hlo_export_row(s, node, "after-all");
}

// Several values become one tuple.
static hlo_status_t export_optimization_barrier(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(hlo_export_pack(s, &operands, &operands.items[0]));
  operands.count = 1;
  return hlo_export_results(s, node, "opt-barrier", &operands, &fields);
}

// ---- control flow -------------------------------------------------------------------------------

static hlo_status_t export_while(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  uint32_t captured_count;
  const hlo_value_t** captured;
  hlo_export_ids_t operands;
  instruction_t fields = {0};
  HLO_TRY(hlo_export_captures(ex, 2, node->regions, &captured_count, &captured));
  HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, &operands));
  uint32_t count = node->operand_count + captured_count;
  hlo_export_ids_t all = {hlo_arena_array(ex->arena, count, sizeof(int64_t)), count};
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, count, sizeof *shapes);
  if (!all.items || !shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value =
        i < node->operand_count ? &node->results[i] : captured[i - node->operand_count];
    HLO_TRY(hlo_export_shape(ex, value->type, &shapes[i]));
    if (i < node->operand_count) {
      all.items[i] = operands.items[i];
    } else {
      HLO_TRY(hlo_export_value(s, value, &all.items[i]));
    }
  }
  int64_t init, id, calls[2];
  HLO_TRY(hlo_export_pack(s, &all, &init));
  // The body comes first in HLO, the condition in StableHLO.
  for (int r = 0; r < 2; ++r) {
    HLO_TRY(hlo_export_region(ex, node->regions[r], HLO_EXPORT_PACKED, captured_count, captured,
                              r == 1, &calls[1 - r]));
    ex->current = node;
  }
  HLO_TRY(hlo_export_calls(ex, 2, calls, &fields));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(count, shapes);
  HLO_TRY(hlo_export_add(s, "while", count == 1 ? shapes : &tuple, 1, &init, &fields, &id));
  if (count == 1) return node->result_count ? hlo_export_bind(s, node->results, id) : hlo_ok();
  return hlo_export_unpack(s, id, 0, node->result_count, node->results, shapes);
}

// if and case: each branch has one operand, the values that it uses.
static hlo_status_t export_conditional(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  uint32_t branches = node->region_count;
  hlo_export_ids_t operands = {hlo_arena_array(ex->arena, branches + 1, sizeof(int64_t)),
                               branches + 1};
  int64_t* calls = hlo_arena_array(ex->arena, branches, sizeof *calls);
  if (!operands.items || !calls) return hlo_arena_status(ex->arena);
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &operands.items[0]));
  for (uint32_t r = 0; r < branches; ++r) {
    uint32_t count;
    const hlo_value_t** captured;
    HLO_TRY(hlo_export_captures(ex, 1, &node->regions[r], &count, &captured));
    hlo_export_ids_t values = {hlo_arena_array(ex->arena, count, sizeof(int64_t)), count};
    if (!values.items) return hlo_arena_status(ex->arena);
    for (uint32_t i = 0; i < count; ++i) {
      HLO_TRY(hlo_export_value(s, captured[i], &values.items[i]));
    }
    HLO_TRY(hlo_export_pack(s, &values, &operands.items[r + 1]));
    HLO_TRY(hlo_export_region(ex, node->regions[r], HLO_EXPORT_PACKED, count, captured, false,
                              &calls[r]));
    ex->current = node;
  }
  instruction_t fields = {.is_predicated = node->op == HLO_OP_if};
  HLO_TRY(hlo_export_calls(ex, branches, calls, &fields));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  return hlo_export_results(s, node, "conditional", &operands, &fields);
}

// Makes the shape of an asynchronous operation: its operands, its results and a context.
static hlo_status_t async_shape(exporter_t* ex, const hlo_desc_shape_t* operand,
                                const hlo_desc_shape_t* results, hlo_desc_shape_t* out_shape) {
  hlo_desc_shape_t* parts = hlo_arena_array(ex->arena, 4, sizeof *parts);
  if (!parts) return hlo_arena_status(ex->arena);
  parts[3] = *operand;
  parts[0] = hlo_export_tuple_shape(1, &parts[3]);
  parts[1] = *results;
  HLO_TRY(hlo_export_array_shape(ex, hlo_dtype_info(HLO_DTYPE_U32)->primitive_type, 0, NULL,
                                 &parts[2]));
  *out_shape = hlo_export_tuple_shape(3, parts);
  return hlo_ok();
}

// Makes the shape of one value, or of a tuple of several.
static hlo_status_t packed_shape(exporter_t* ex, uint32_t count, const hlo_value_t* const* values,
                                 hlo_desc_shape_t* out_shape) {
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, count, sizeof *shapes);
  if (!shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(hlo_export_shape(ex, values[i]->type, &shapes[i]));
  *out_shape = count == 1 ? shapes[0] : hlo_export_tuple_shape(count, shapes);
  return hlo_ok();
}

// The body is called from the asynchronous computation: XLA prints one of a single all_gather like
// the opcode all-gather-start, which has another shape.
static hlo_status_t export_async_start(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  const hlo_node_t* end = hlo_region_terminator(node->regions[0]);
  uint32_t captured_count;
  const hlo_value_t** captured;
  HLO_TRY(hlo_export_captures(ex, 1, node->regions, &captured_count, &captured));
  const uint32_t given = node->regions[0]->arg_count;
  const uint32_t count = given + captured_count;
  hlo_export_ids_t all = {hlo_arena_array(ex->arena, count, sizeof(int64_t)), count};
  const hlo_value_t** values = hlo_arena_array(ex->arena, count, sizeof *values);
  const hlo_value_t** results = hlo_arena_array(ex->arena, end->operand_count, sizeof *results);
  if (!all.items || !values || !results) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) {
    values[i] = i < given ? hlo_node_operand(node, i) : captured[i - given];
    HLO_TRY(hlo_export_value(s, values[i], &all.items[i]));
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) results[i] = hlo_node_operand(end, i);
  hlo_desc_shape_t operand_shape, result_shape, shape;
  int64_t operand, body, called, id;
  instruction_t fields = {0};
  HLO_TRY(packed_shape(ex, count, values, &operand_shape));
  HLO_TRY(packed_shape(ex, end->operand_count, results, &result_shape));
  HLO_TRY(async_shape(ex, &operand_shape, &result_shape, &shape));
  HLO_TRY(hlo_export_pack(s, &all, &operand));
  HLO_TRY(hlo_export_region(ex, node->regions[0], HLO_EXPORT_PACKED, captured_count, captured,
                            false, &body));
  ex->current = node;
  HLO_TRY(hlo_export_wrapper(ex, body, &operand_shape, &result_shape, &called));
  HLO_TRY(hlo_export_calls(ex, 1, &called, &fields));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  HLO_TRY(hlo_export_add(s, "async-start", &shape, 1, &operand, &fields, &id));
  return hlo_export_bind(s, node->results, id);
}

// ---- calls --------------------------------------------------------------------------------------

static hlo_status_t find_callee(exporter_t* ex, const hlo_attr_t* symbol, int64_t* out_id) {
  const hlo_func_t* func = hlo_module_find_func(ex->module, symbol->text);
  if (!func) {
    return hlo_export_fault(ex, HLO_STATUS_INVALID_ARGUMENT, "no function @%s in the module",
                            symbol->text);
  }
  return hlo_export_func(ex, func, out_id);
}

static hlo_status_t export_call(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  int64_t call;
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(find_callee(ex, hlo_node_attr(node, HLO_ATTR_callee), &call));
  HLO_TRY(hlo_export_calls(ex, 1, &call, &fields));
  return hlo_export_results(s, node, "call", &operands, &fields);
}

// Prints an attribute as MLIR text into the arena.
static hlo_status_t attr_text(const exporter_t* ex, const hlo_attr_t* attr,
                              hlo_wire_bytes_t* out_text) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_attr(attr, &text);
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) {
    const char* copy = hlo_arena_strndup(ex->arena, hlo_strbuf_text(&text), text.length);
    *out_text = (hlo_wire_bytes_t){(const uint8_t*)copy, text.length};
    if (!copy) status = hlo_arena_status(ex->arena);
  }
  return status;
}

static hlo_status_t export_composite(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  int64_t call;
  if (node->region_count) return hlo_export_refuse(ex, "its regions");
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(find_callee(ex, hlo_node_attr(node, HLO_ATTR_decomposition), &call));
  HLO_TRY(hlo_export_calls(ex, 1, &call, &fields));
  const hlo_attr_t* name = hlo_node_attr(node, HLO_ATTR_name);
  const hlo_attr_t* attributes = hlo_node_attr(node, HLO_ATTR_composite_attributes);
  hlo_wire_bytes_t text = hlo_export_text("{}");
  if (attributes) HLO_TRY(attr_text(ex, attributes, &text));
  const char* version =
      hlo_arena_printf(ex->arena, "%d", (int)hlo_node_attr_int(node, HLO_ATTR_version, 0));
  if (!version) return hlo_arena_status(ex->arena);
  hlo_desc_string_map_t** map = &fields.frontend_attributes;
  HLO_TRY(hlo_export_frontend(ex, HLO_DESC_COMPOSITE "attributes", (const char*)text.data,
                              text.size, map));
  HLO_TRY(hlo_export_frontend(ex, HLO_DESC_COMPOSITE "name", name->text, name->text_length, map));
  HLO_TRY(hlo_export_frontend(ex, HLO_DESC_COMPOSITE "version", version, strlen(version), map));
  fields.is_composite = true;
  return hlo_export_results(s, node, "call", &operands, &fields);
}

// backend_config is a dictionary in MLIR's notation for the typed FFI, otherwise a string. As a
// discardable attribute, it marks a call of the typed FFI.
static hlo_status_t set_backend_config(exporter_t* ex, const hlo_node_t* node,
                                       instruction_t* fields) {
  const hlo_attr_t* beside = hlo_attr_dict_get(node->extra, "mhlo.backend_config");
  const hlo_attr_t* config = beside ? beside : hlo_node_attr(node, HLO_ATTR_backend_config);
  fields->custom_call_api_version = (int32_t)hlo_node_attr_int(
      node, HLO_ATTR_api_version, beside ? HLO_CUSTOM_CALL_API_VERSION_API_VERSION_TYPED_FFI : 0);
  if (config && config->kind == HLO_ATTR_KIND_STRING) {
    fields->backend_config = (hlo_wire_bytes_t){(const uint8_t*)config->text, config->text_length};
    return hlo_ok();
  }
  return config ? attr_text(ex, config, &fields->backend_config) : hlo_ok();
}

static hlo_status_t set_layouts(exporter_t* ex, const hlo_attr_t* layouts, uint32_t count,
                                hlo_desc_shape_t* shapes) {
  for (uint32_t i = 0; i < count && i < layouts->count; ++i) {
    const hlo_attr_t* layout = layouts->items[i];
    if (!shapes[i].layout || layout->count != shapes[i].dimensions.count) continue;
    HLO_TRY(hlo_export_ints(ex, layout->count, layout->values, &shapes[i].layout->minor_to_major));
  }
  return hlo_ok();
}

static hlo_status_t set_operand_shapes(exporter_t* ex, const hlo_node_t* node,
                                       instruction_t* fields) {
  const hlo_attr_t* layouts = hlo_node_attr(node, HLO_ATTR_operand_layouts);
  if (!layouts) return hlo_ok();
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, node->operand_count, sizeof *shapes);
  if (!shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, hlo_node_operand_type(node, i), &shapes[i]));
  }
  HLO_TRY(set_layouts(ex, layouts, node->operand_count, shapes));
  fields->constrain_layout = true;
  fields->operand_shapes = (hlo_wire_array_t){shapes, node->operand_count};
  return hlo_ok();
}

static hlo_status_t set_output_aliases(exporter_t* ex, const hlo_node_t* node,
                                       instruction_t* fields) {
  const hlo_attr_t* list = hlo_node_attr(node, HLO_ATTR_output_operand_aliases);
  if (!list || list->count == 0) return hlo_ok();
  hlo_desc_output_alias_t* aliases = hlo_arena_array(ex->arena, list->count, sizeof *aliases);
  if (!aliases) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_attr_t* number = hlo_attr_dict_get(list->items[i], "operand_index");
    const hlo_attr_t* operand = hlo_attr_dict_get(list->items[i], "operand_tuple_indices");
    const hlo_attr_t* output = hlo_attr_dict_get(list->items[i], "output_tuple_indices");
    if (!number || !operand || !output) return hlo_export_refuse(ex, "its aliases");
    aliases[i].operand_index = number->i;
    HLO_TRY(hlo_export_ints(ex, operand->count, operand->values, &aliases[i].operand_shape_index));
    HLO_TRY(hlo_export_ints(ex, output->count, output->values, &aliases[i].output_shape_index));
  }
  fields->output_aliases = (hlo_wire_array_t){aliases, list->count};
  return hlo_ok();
}

static hlo_status_t set_called(exporter_t* ex, const hlo_node_t* node, instruction_t* fields) {
  const hlo_attr_t* symbols = hlo_node_attr(node, HLO_ATTR_called_computations);
  uint32_t count = symbols ? symbols->count : 0;
  int64_t* calls = hlo_arena_array(ex->arena, count, sizeof *calls);
  if (!calls) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(find_callee(ex, symbols->items[i], &calls[i]));
  return hlo_export_calls(ex, count, calls, fields);
}

static hlo_status_t export_custom_call(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  hlo_desc_shape_t* shapes;
  int64_t id;
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(set_backend_config(ex, node, &fields));
  HLO_TRY(set_operand_shapes(ex, node, &fields));
  HLO_TRY(set_output_aliases(ex, node, &fields));
  HLO_TRY(set_called(ex, node, &fields));
  HLO_TRY(hlo_export_result_shapes(ex, node, &shapes));
  const hlo_attr_t* layouts = hlo_node_attr(node, HLO_ATTR_result_layouts);
  if (layouts) HLO_TRY(set_layouts(ex, layouts, node->result_count, shapes));
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(node->result_count, shapes);
  HLO_TRY(hlo_export_add(s, "custom-call", node->result_count == 1 ? shapes : &tuple,
                         operands.count, operands.items, &fields, &id));
  if (node->result_count == 1) return hlo_export_bind(s, node->results, id);
  return hlo_export_unpack(s, id, 0, node->result_count, node->results, shapes);
}

// ---- transfers ----------------------------------------------------------------------------------

// The data of infeed is a tuple nested in the tuple of data and token.
static hlo_status_t export_infeed(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  hlo_desc_shape_t *shapes, pair[2];
  int64_t id, data;
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(hlo_export_result_shapes(ex, node, &shapes));
  uint32_t count = node->result_count - 1;
  hlo_desc_shape_t* copies = hlo_arena_array(ex->arena, 2, sizeof *copies);
  if (!copies) return hlo_arena_status(ex->arena);
  pair[0] = hlo_export_tuple_shape(count, shapes);
  pair[1] = shapes[count];
  memcpy(copies, pair, sizeof pair);
  hlo_desc_shape_t whole = hlo_export_tuple_shape(2, copies);
  HLO_TRY(hlo_export_add(s, "infeed", &whole, operands.count, operands.items, &fields, &id));
  HLO_TRY(hlo_export_unpack(s, id, 1, 1, &node->results[count], &pair[1]));
  HLO_TRY(hlo_export_element(s, id, 0, &pair[0], &data));
  return hlo_export_unpack(s, data, 0, count, node->results, shapes);
}

// outfeed and send: the data as one operand, then the token.
static hlo_status_t pack_data(scope_t* s, const hlo_node_t* node, int64_t out_operands[2],
                              hlo_desc_shape_t* out_data) {
  exporter_t* ex = s->exporter;
  uint32_t count = node->operand_count - 1;
  hlo_export_ids_t data;
  HLO_TRY(hlo_export_operands(s, node, 0, count, &data));
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, count, sizeof *shapes);
  if (!shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_export_shape(ex, hlo_node_operand_type(node, i), &shapes[i]));
  }
  *out_data = count == 1 ? shapes[0] : hlo_export_tuple_shape(count, shapes);
  HLO_TRY(hlo_export_pack(s, &data, &out_operands[0]));
  return hlo_export_value(s, hlo_node_operand(node, count), &out_operands[1]);
}

static hlo_status_t export_outfeed(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  instruction_t fields = {0};
  int64_t operands[2];
  fields.outfeed_shape = hlo_arena_alloc_zeroed(ex->arena, sizeof *fields.outfeed_shape);
  if (!fields.outfeed_shape) return hlo_arena_status(ex->arena);
  HLO_TRY(pack_data(s, node, operands, fields.outfeed_shape));
  HLO_TRY(hlo_desc_fields(ex, node, &fields));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  return hlo_export_results(s, node, "outfeed", &(hlo_export_ids_t){operands, 2}, &fields);
}

// Makes the tuple (data, context, token) of send and recv.
static hlo_status_t transfer_shape(exporter_t* ex, const hlo_desc_shape_t* data,
                                   hlo_desc_shape_t* out_shape) {
  hlo_desc_shape_t* parts = hlo_arena_array(ex->arena, 3, sizeof *parts);
  if (!parts) return hlo_arena_status(ex->arena);
  parts[0] = *data;
  HLO_TRY(hlo_export_array_shape(ex, hlo_dtype_info(HLO_DTYPE_U32)->primitive_type, 0, NULL,
                                 &parts[1]));
  parts[2] = (hlo_desc_shape_t){.element_type = HLO_DESC_TOKEN};
  *out_shape = hlo_export_tuple_shape(3, parts);
  return hlo_ok();
}

static hlo_status_t transfer_fields(exporter_t* ex, const hlo_node_t* node, instruction_t* start,
                                    instruction_t* done) {
  if (hlo_node_attr(node, HLO_ATTR_source_target_pairs)) {
    return hlo_export_refuse(ex, "source_target_pairs");
  }
  HLO_TRY(hlo_desc_fields(ex, node, start));
  HLO_TRY(hlo_export_extra(ex, node->extra, start));
  done->channel_id = start->channel_id;
  done->is_host_transfer = start->is_host_transfer;
  return hlo_ok();
}

static hlo_status_t export_send(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  instruction_t start = {0}, done = {0};
  hlo_desc_shape_t data, shape;
  int64_t operands[2], id;
  HLO_TRY(pack_data(s, node, operands, &data));
  HLO_TRY(transfer_fields(ex, node, &start, &done));
  HLO_TRY(transfer_shape(ex, &data, &shape));
  HLO_TRY(hlo_export_add(s, "send", &shape, 2, operands, &start, &id));
  return hlo_export_results(s, node, "send-done", &(hlo_export_ids_t){&id, 1}, &done);
}

static hlo_status_t export_recv(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  instruction_t start = {0}, done = {0};
  hlo_desc_shape_t *shapes, shape, whole;
  int64_t id, data;
  uint32_t count = node->result_count - 1;
  HLO_TRY(hlo_export_value(s, hlo_node_operand(node, 0), &id));
  HLO_TRY(transfer_fields(ex, node, &start, &done));
  HLO_TRY(hlo_export_result_shapes(ex, node, &shapes));
  hlo_desc_shape_t* pair = hlo_arena_array(ex->arena, 2, sizeof *pair);
  if (!pair) return hlo_arena_status(ex->arena);
  pair[0] = count == 1 ? shapes[0] : hlo_export_tuple_shape(count, shapes);
  pair[1] = shapes[count];
  HLO_TRY(transfer_shape(ex, &pair[0], &shape));
  HLO_TRY(hlo_export_add(s, "recv", &shape, 1, &id, &start, &id));
  whole = hlo_export_tuple_shape(2, pair);
  HLO_TRY(hlo_export_add(s, "recv-done", &whole, 1, &id, &done, &id));
  HLO_TRY(hlo_export_unpack(s, id, 1, 1, &node->results[count], &pair[1]));
  if (count == 1) return hlo_export_unpack(s, id, 0, 1, node->results, shapes);
  HLO_TRY(hlo_export_element(s, id, 0, &pair[0], &data));
  return hlo_export_unpack(s, data, 0, count, node->results, shapes);
}

// ---- collectives --------------------------------------------------------------------------------

static hlo_status_t export_cross_replica_sum(scope_t* s, HLO_UNUSED const hlo_node_t* node) {
  return hlo_export_refuse(s->exporter, "its addition has no computation");
}

// HLO's all-to-all splits and concatenates the same dimension. For different ones, the dimension is
// split in two, the part that counts devices is moved, and the dimensions are merged.
static hlo_status_t all_to_all_one(scope_t* s, const hlo_node_t* node, int64_t* id,
                                   const instruction_t* fields, const hlo_type_t* type,
                                   const hlo_type_t* result) {
  exporter_t* ex = s->exporter;
  uint32_t split = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_split_dimension, 0);
  uint32_t concat = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_concat_dimension, 0);
  int64_t devices = hlo_node_attr_int(node, HLO_ATTR_split_count, 1);
  uint32_t rank = type->rank;
  int64_t dims[HLO_RANK_MAX + 1], moved[HLO_RANK_MAX], order[HLO_RANK_MAX];
  if (!hlo_type_is_static(type) || rank == HLO_RANK_MAX || devices < 1) {
    return hlo_export_refuse(ex, "split_dimension and concat_dimension differ");
  }
  for (uint32_t i = 0; i < rank; ++i) dims[i + (i >= split)] = type->dims[i];
  dims[split] = devices;
  dims[split + 1] = type->dims[split] / devices;
  hlo_desc_shape_t shape;
  int32_t element_type = hlo_dtype_info(type->dtype)->primitive_type;
  HLO_TRY(hlo_export_array_shape(ex, element_type, rank + 1, dims, &shape));
  HLO_TRY(hlo_export_add(s, "reshape", &shape, 1, id, NULL, id));
  HLO_TRY(hlo_export_add(s, "all-to-all", &shape, 1, id, fields, id));
  uint32_t next = 0;
  for (uint32_t i = 0; i <= rank; ++i) {
    if (i == split) continue;
    if (i == concat + (concat >= split)) order[next++] = split;
    order[next++] = i;
  }
  for (uint32_t i = 0; i <= rank; ++i) moved[i] = dims[order[i]];
  instruction_t transpose = {0};
  HLO_TRY(hlo_export_ints(ex, rank + 1, order, &transpose.dimensions));
  HLO_TRY(hlo_export_array_shape(ex, element_type, rank + 1, moved, &shape));
  HLO_TRY(hlo_export_add(s, "transpose", &shape, 1, id, &transpose, id));
  return add_unary(s, "reshape", result, *id, NULL, id);
}

static hlo_status_t export_all_to_all(scope_t* s, const hlo_node_t* node) {
  hlo_export_ids_t operands;
  instruction_t fields;
  int64_t split = hlo_node_attr_int(node, HLO_ATTR_split_dimension, 0);
  if (split == hlo_node_attr_int(node, HLO_ATTR_concat_dimension, 0)) {
    return hlo_export_row(s, node, "all-to-all");
  }
  HLO_TRY(prepare(s, node, &operands, &fields));
  HLO_TRY(hlo_export_ints(s->exporter, 1, &split, &fields.dimensions));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(all_to_all_one(s, node, &operands.items[i], &fields, hlo_node_operand_type(node, i),
                           node->results[i].type));
    HLO_TRY(hlo_export_bind(s, &node->results[i], operands.items[i]));
  }
  return hlo_ok();
}

// ---- Shardy, in XLA's form ----------------------------------------------------------------------

// A constraint, a reshard, or a collective, which is a reshard to the sharding of its result. An
// edge may have no sharding.
static hlo_status_t export_sharding(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  const char* text;
  const hlo_attr_t* sharding = hlo_node_attr(node, HLO_ATTR_out_sharding);
  if (!sharding) sharding = hlo_node_attr(node, HLO_ATTR_sharding);
  HLO_TRY(prepare(s, node, &operands, &fields));
  if (!ex->partitioned || !sharding) {
    return hlo_export_bind(s, &node->results[0], operands.items[0]);
  }
  HLO_TRY(hlo_export_sharding_text(ex, sharding, "#sdy.sharding_per_value", &text));
  HLO_TRY(
      hlo_export_frontend(ex, "xla.sdy.sharding", text, strlen(text), &fields.frontend_attributes));
  fields.custom_call_target = hlo_export_text("Sharding");
  return hlo_export_results(s, node, "custom-call", &operands, &fields);
}

static hlo_status_t export_propagation_barrier(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  HLO_TRY(prepare(s, node, &operands, &fields));
  if (!ex->partitioned) return hlo_export_bind(s, &node->results[0], operands.items[0]);
  const char* direction = hlo_arena_printf(
      ex->arena, "%lld : i32", (long long)hlo_node_attr_int(node, HLO_ATTR_allowed_direction, 0));
  if (!direction) return hlo_arena_status(ex->arena);
  HLO_TRY(hlo_export_frontend(ex, "xla.sdy.allowed_direction", direction, strlen(direction),
                              &fields.frontend_attributes));
  fields.custom_call_target = hlo_export_text("xla.sdy.PropagationBarrier");
  fields.custom_call_has_side_effect = true;
  return hlo_export_results(s, node, "custom-call", &operands, &fields);
}

// XLA's call has an empty tuple as result.
static hlo_status_t export_sharding_group(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t operands;
  instruction_t fields;
  int64_t id;
  HLO_TRY(prepare(s, node, &operands, &fields));
  if (!ex->partitioned) return hlo_ok();
  const char* group =
      hlo_arena_printf(ex->arena, "%lld", (long long)hlo_node_attr_int(node, HLO_ATTR_group_id, 0));
  if (!group) return hlo_arena_status(ex->arena);
  HLO_TRY(hlo_export_frontend(ex, "xla.sdy.sharding_group_id", group, strlen(group),
                              &fields.frontend_attributes));
  fields.custom_call_target = hlo_export_text("xla.sdy.ShardingGroup");
  fields.custom_call_has_side_effect = true;
  const hlo_desc_shape_t none = hlo_export_tuple_shape(0, NULL);
  return hlo_export_add(s, "custom-call", &none, operands.count, operands.items, &fields, &id);
}

// Adds one of the two calls around a manual computation: from whole arrays to shards, or back.
static hlo_status_t add_shape_call(scope_t* s, const hlo_node_t* node, const char* target,
                                   hlo_attr_id_t shardings, const char* key, uint32_t count,
                                   const hlo_export_ids_t* operands, hlo_desc_shape_t* shapes,
                                   int64_t* out_id) {
  exporter_t* ex = s->exporter;
  instruction_t fields = {.custom_call_has_side_effect = true};
  const char *sharding, *axes;
  HLO_TRY(hlo_export_sharding_text(ex, hlo_node_attr(node, shardings), "#sdy.sharding_per_value",
                                   &sharding));
  HLO_TRY(hlo_export_sharding_text(ex, hlo_node_attr(node, HLO_ATTR_manual_axes), "", &axes));
  HLO_TRY(hlo_export_frontend(ex, key, sharding, strlen(sharding), &fields.frontend_attributes));
  HLO_TRY(hlo_export_frontend(ex, "xla.sdy.manual_axes", axes, strlen(axes),
                              &fields.frontend_attributes));
  fields.custom_call_target = hlo_export_text(target);
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(count, shapes);
  return hlo_export_add(s, "custom-call", count == 1 ? shapes : &tuple, operands->count,
                        operands->items, &fields, out_id);
}

// Returns the elements of tuple `id`, or `id` itself.
static hlo_status_t elements(scope_t* s, int64_t id, uint32_t count, const hlo_desc_shape_t* shapes,
                             hlo_export_ids_t* out_ids) {
  *out_ids = (hlo_export_ids_t){hlo_arena_array(s->exporter->arena, count, sizeof id), count};
  if (!out_ids->items) return hlo_arena_status(s->exporter->arena);
  if (count == 1) out_ids->items[0] = id;
  for (uint32_t i = 0; count != 1 && i < count; ++i) {
    HLO_TRY(hlo_export_element(s, id, i, &shapes[i], &out_ids->items[i]));
  }
  return hlo_ok();
}

static hlo_status_t export_manual_computation(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t values;
  hlo_desc_shape_t* outer;
  int64_t call, id;
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* last = hlo_region_terminator(body);
  uint32_t in_count = body->arg_count, out_count = node->result_count;
  HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, &values));
  HLO_TRY(hlo_export_result_shapes(ex, node, &outer));
  hlo_desc_shape_t* in_shapes = hlo_arena_array(ex->arena, in_count, sizeof *in_shapes);
  hlo_desc_shape_t* out_shapes = hlo_arena_array(ex->arena, out_count, sizeof *out_shapes);
  if (!in_shapes || !out_shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < in_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, body->args[i]->type, &in_shapes[i]));
  }
  for (uint32_t i = 0; i < out_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, hlo_node_operand_type(last, i), &out_shapes[i]));
  }
  if (ex->partitioned && in_count) {
    HLO_TRY(add_shape_call(s, node, "xla.sdy.GlobalToLocalShape", HLO_ATTR_in_shardings,
                           "xla.sdy.in_shardings", in_count, &values, in_shapes, &id));
    HLO_TRY(elements(s, id, in_count, in_shapes, &values));
  }
  HLO_TRY(hlo_export_region(ex, body, HLO_EXPORT_SEPARATE, 0, NULL, false, &call));
  ex->current = node;
  instruction_t fields = {0};
  HLO_TRY(hlo_export_calls(ex, 1, &call, &fields));
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(out_count, out_shapes);
  HLO_TRY(hlo_export_add(s, "call", out_count == 1 ? out_shapes : &tuple, values.count,
                         values.items, &fields, &id));
  HLO_TRY(elements(s, id, out_count, out_shapes, &values));
  if (ex->partitioned && out_count) {
    HLO_TRY(add_shape_call(s, node, "xla.sdy.LocalToGlobalShape", HLO_ATTR_out_shardings,
                           "xla.sdy.out_shardings", out_count, &values, outer, &id));
    HLO_TRY(elements(s, id, out_count, outer, &values));
  }
  for (uint32_t i = 0; i < out_count; ++i) {
    HLO_TRY(hlo_export_bind(s, &node->results[i], values.items[i]));
  }
  return hlo_ok();
}

// Adds a call that states the sharding of a value.
static hlo_status_t add_sharding_call(scope_t* s, const hlo_sharding_t* sharding,
                                      const hlo_desc_shape_t* shape, int64_t* id) {
  exporter_t* ex = s->exporter;
  instruction_t fields = {.custom_call_target = hlo_export_text("Sharding")};
  const char* text;
  HLO_TRY(hlo_export_sharding_text(ex, sharding->attr, "#sdy.sharding_per_value", &text));
  HLO_TRY(
      hlo_export_frontend(ex, "xla.sdy.sharding", text, strlen(text), &fields.frontend_attributes));
  return hlo_export_add(s, "custom-call", shape, 1, id, &fields, id);
}

// States a list of shardings, which may be absent.
static hlo_status_t add_sharding_calls(scope_t* s, const hlo_node_t* node, hlo_attr_id_t attr,
                                       const hlo_desc_shape_t* shapes, hlo_export_ids_t* values) {
  const hlo_attr_t* list = hlo_node_attr(node, attr);
  const hlo_sharding_t* const* shardings;
  uint32_t count;
  if (!list || !s->exporter->partitioned) return hlo_ok();
  HLO_TRY(hlo_sharding_parse_list(node->parent->module, list, &count, &shardings));
  for (uint32_t i = 0; i < count && i < values->count; ++i) {
    HLO_TRY(add_sharding_call(s, shardings[i], &shapes[i], &values->items[i]));
  }
  return hlo_ok();
}

// A call of its body, between calls that state the shardings.
static hlo_status_t export_named_computation(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  hlo_export_ids_t values;
  hlo_desc_shape_t* out_shapes;
  instruction_t fields = {0};
  int64_t call, id;
  const uint32_t out_count = node->result_count;
  HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, &values));
  HLO_TRY(hlo_export_result_shapes(ex, node, &out_shapes));
  hlo_desc_shape_t* in_shapes = hlo_arena_array(ex->arena, node->operand_count, sizeof *in_shapes);
  if (!in_shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, hlo_node_operand_type(node, i), &in_shapes[i]));
  }
  HLO_TRY(add_sharding_calls(s, node, HLO_ATTR_in_shardings, in_shapes, &values));
  const char* name = hlo_node_attr_text(node, HLO_ATTR_name);
  HLO_TRY(hlo_export_named_region(ex, node->regions[0], name, &call));
  ex->current = node;
  HLO_TRY(hlo_export_calls(ex, 1, &call, &fields));
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(out_count, out_shapes);
  HLO_TRY(hlo_export_add(s, "call", out_count == 1 ? out_shapes : &tuple, values.count,
                         values.items, &fields, &id));
  HLO_TRY(elements(s, id, out_count, out_shapes, &values));
  HLO_TRY(add_sharding_calls(s, node, HLO_ATTR_out_shardings, out_shapes, &values));
  for (uint32_t i = 0; i < out_count; ++i) {
    HLO_TRY(hlo_export_bind(s, &node->results[i], values.items[i]));
  }
  return hlo_ok();
}

// ---- table of ops -------------------------------------------------------------------------------

static const struct {
  hlo_op_t op;
  hlo_status_t (*export)(scope_t* s, const hlo_node_t* node);
} special_ops[] = {
    {HLO_OP_constant, export_constant},
    {HLO_OP_chlo_constant, export_constant},
    {HLO_OP_sdy_constant, export_constant},
    {HLO_OP_broadcast_in_dim, export_broadcast_in_dim},
    {HLO_OP_broadcast, export_broadcast},
    {HLO_OP_select, export_with_scalars},
    {HLO_OP_clamp, export_with_scalars},
    {HLO_OP_pad, export_pad},
    {HLO_OP_dot, export_dot},
    {HLO_OP_chlo_ragged_dot, export_ragged_dot},
    {HLO_OP_sort, export_sort},
    {HLO_OP_rng, export_rng},
    {HLO_OP_chlo_top_k, export_top_k},
    {HLO_OP_get_tuple_element, export_get_tuple_element},
    {HLO_OP_create_token, export_create_token},
    {HLO_OP_optimization_barrier, export_optimization_barrier},
    {HLO_OP_while, export_while},
    {HLO_OP_if, export_conditional},
    {HLO_OP_case, export_conditional},
    {HLO_OP_async_start, export_async_start},
    {HLO_OP_call, export_call},
    {HLO_OP_composite, export_composite},
    {HLO_OP_custom_call, export_custom_call},
    {HLO_OP_infeed, export_infeed},
    {HLO_OP_outfeed, export_outfeed},
    {HLO_OP_send, export_send},
    {HLO_OP_recv, export_recv},
    {HLO_OP_all_to_all, export_all_to_all},
    {HLO_OP_cross_replica_sum, export_cross_replica_sum},
    {HLO_OP_sdy_sharding_constraint, export_sharding},
    {HLO_OP_sdy_reshard, export_sharding},
    {HLO_OP_sdy_data_flow_edge, export_sharding},
    {HLO_OP_sdy_func_data_flow_edge, export_sharding},
    {HLO_OP_sdy_all_gather, export_sharding},
    {HLO_OP_sdy_all_slice, export_sharding},
    {HLO_OP_sdy_all_to_all, export_sharding},
    {HLO_OP_sdy_collective_permute, export_sharding},
    {HLO_OP_sdy_all_reduce, export_sharding},
    {HLO_OP_sdy_reduce_scatter, export_sharding},
    {HLO_OP_sdy_sharded_to_unreduced, export_sharding},
    {HLO_OP_sdy_replicated_to_unreduced, export_sharding},
    {HLO_OP_sdy_propagation_barrier, export_propagation_barrier},
    {HLO_OP_sdy_named_computation, export_named_computation},
    {HLO_OP_sdy_sharding_group, export_sharding_group},
    {HLO_OP_sdy_manual_computation, export_manual_computation},
};

hlo_status_t hlo_export_special(scope_t* s, const hlo_node_t* node, bool* out_found) {
  for (size_t i = 0; i < sizeof special_ops / sizeof *special_ops; ++i) {
    if (special_ops[i].op != node->op) continue;
    *out_found = true;
    return special_ops[i].export(s, node);
  }
  return hlo_ok();
}
