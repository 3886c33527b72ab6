// SPDX-License-Identifier: Apache-2.0
// HLO computations to functions and regions. Tuples never become values: an instruction has a tree
// of values, and an instruction that passes on a tuple passes on its leaves.
#include "frontend/hlo/build.h"

#include "ir/op_sharding.h"
#include "ir/parse.h"

typedef hlo_desc_builder_t builder_t;
typedef hlo_desc_instruction_t instruction_t;
typedef hlo_desc_computation_t computation_t;
typedef hlo_desc_tree_t tree_t;

// A computation while its region is built.
typedef struct scope {
  builder_t* builder;
  const computation_t* computation;
  hlo_region_t* region;
  hlo_map_t numbers;     // instruction id to position in the computation, from 1
  const tree_t** trees;  // by that position
  const tree_t* const* parameters;
  uint32_t parameter_count;
} scope_t;

static hlo_status_t fault(const char* message) {
  return hlo_invalid_argument("%s", message);
}

hlo_wire_bytes_t hlo_desc_async_opcode(hlo_wire_bytes_t opcode) {
  static const char* const ends[] = {"-start", "-update", "-done"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    size_t length = strlen(ends[i]);
    if (opcode.size > length && memcmp(opcode.data + opcode.size - length, ends[i], length) == 0) {
      return (hlo_wire_bytes_t){opcode.data, opcode.size - length};
    }
  }
  return (hlo_wire_bytes_t){0};
}

// ---- locations ----------------------------------------------------------------------------------

// Finds the file and line of a stack frame; false if the tables lack it.
static bool find_frame(const hlo_desc_frames_t* frames, int32_t id, hlo_wire_bytes_t* out_file,
                       uint32_t* out_line, uint32_t* out_col) {
  if (!frames || id < 1 || (size_t)id > frames->stack_frames.count) return false;
  int32_t at = ((const hlo_desc_frame_t*)frames->stack_frames.items)[id - 1].file_location_id;
  if (at < 1 || (size_t)at > frames->file_locations.count) return false;
  const hlo_desc_file_location_t* location =
      (const hlo_desc_file_location_t*)frames->file_locations.items + (at - 1);
  int32_t name = location->file_name_id;
  if (name < 1 || (size_t)name > frames->file_names.count) return false;
  *out_file = ((const hlo_wire_bytes_t*)frames->file_names.items)[name - 1];
  *out_line = location->line > 0 ? (uint32_t)location->line : 0;
  *out_col = location->column > 0 ? (uint32_t)location->column : 0;
  return true;
}

static hlo_loc_t name_loc(builder_t* b, hlo_wire_bytes_t name, hlo_loc_t child) {
  hlo_loc_info_t info = {.kind = HLO_LOC_NAME,
                         .text = hlo_module_string(b->module, (const char*)name.data, name.size),
                         .child_count = child ? 1 : 0,
                         .children = &child};
  return hlo_module_loc(b->module, &info);
}

// Returns the location of an instruction: its metadata, else its position in the text, else its
// name.
static hlo_loc_t instruction_loc(builder_t* b, const instruction_t* in) {
  const hlo_desc_metadata_t* metadata = in->metadata;
  hlo_loc_t file = 0;
  if (metadata) {
    hlo_wire_bytes_t name = metadata->source_file;
    uint32_t line = metadata->source_line > 0 ? (uint32_t)metadata->source_line : 0;
    uint32_t col = metadata->source_column > 0 ? (uint32_t)metadata->source_column : 0;
    if (name.size || find_frame(b->desc->frames, metadata->stack_frame_id, &name, &line, &col)) {
      file = hlo_module_loc_file(b->module, (const char*)name.data, name.size, line, col);
    }
    if (metadata->op_name.size) return name_loc(b, metadata->op_name, file);
    if (file) return file;
  }
  if (b->file && in->line) {
    return hlo_module_loc_file(b->module, b->file, strlen(b->file), in->line, in->col);
  }
  return in->name.size ? name_loc(b, in->name, 0) : 0;
}

// ---- nodes

// Returns the position of an instruction among those built so far, from 1; 0 if it is not built
// yet.
static size_t number_of(const scope_t* s, int64_t id) {
  return (size_t)(uintptr_t)hlo_map_get_number(&s->numbers, (uint64_t)id);
}

static hlo_status_t operand_tree(const scope_t* s, const instruction_t* in, size_t i,
                                 const tree_t** out_tree) {
  if (i >= in->operand_ids.count) return hlo_invalid_argument("operand %zu is missing", i);
  size_t number = number_of(s, ((const int64_t*)in->operand_ids.items)[i]);
  if (number == 0) return hlo_invalid_argument("operand %zu is not an earlier instruction", i);
  *out_tree = s->trees[number - 1];
  return hlo_ok();
}

// Collects the leaves of operands first ... last - 1.
static hlo_status_t operand_values(const scope_t* s, const instruction_t* in, size_t first,
                                   hlo_desc_values_t* out_values) {
  size_t count = in->operand_ids.count > first ? in->operand_ids.count - first : 0;
  const tree_t** trees = hlo_arena_array(s->builder->arena, count, sizeof *trees);
  if (!trees) return hlo_arena_status(s->builder->arena);
  for (size_t i = 0; i < count; ++i) HLO_TRY(operand_tree(s, in, first + i, &trees[i]));
  return hlo_desc_leaf_values(s->builder, (uint32_t)count, trees, out_values);
}

static const hlo_attr_t* text_attr(builder_t* b, hlo_wire_bytes_t text) {
  return hlo_attr_string(b->module, text.size ? (const char*)text.data : "", text.size);
}

static bool starts_with(hlo_wire_bytes_t bytes, const char* prefix) {
  size_t length = strlen(prefix);
  return bytes.size >= length && memcmp(bytes.data, prefix, length) == 0;
}

// Makes a dictionary of strings of the frontend attributes, without those that describe a
// composite.
static hlo_status_t frontend_attrs(builder_t* b, const hlo_desc_string_map_t* map,
                                   const hlo_attr_t** out_dict) {
  *out_dict = NULL;
  if (!map || map->map.count == 0) return hlo_ok();
  const hlo_desc_string_pair_t* pairs = map->map.items;
  const char** keys = hlo_arena_array(b->arena, map->map.count, sizeof *keys);
  const hlo_attr_t** items = hlo_arena_array(b->arena, map->map.count, sizeof *items);
  if (!keys || !items) return hlo_arena_status(b->arena);
  uint32_t count = 0;
  for (size_t i = 0; i < map->map.count; ++i) {
    if (starts_with(pairs[i].key, HLO_DESC_COMPOSITE)) continue;
    const char* key = pairs[i].key.size ? (const char*)pairs[i].key.data : "";
    keys[count] = hlo_module_string(b->module, key, pairs[i].key.size);
    items[count++] = text_attr(b, pairs[i].value);
  }
  HLO_TRY(hlo_module_status(b->module));
  if (count) *out_dict = hlo_attr_dict(b->module, count, keys, items);
  return hlo_module_status(b->module);
}

// Makes the discardable attributes of an op.
static hlo_status_t extra_attrs(builder_t* b, const instruction_t* in,
                                const hlo_attr_t** out_extra) {
  const hlo_attr_t *extra = NULL, *dict;
  if (in->sharding.size) {
    extra = hlo_attr_dict_with(b->module, extra, HLO_OP_SHARDING_ATTR, text_attr(b, in->sharding));
  }
  HLO_TRY(frontend_attrs(b, in->frontend_attributes, &dict));
  if (dict) extra = hlo_attr_dict_with(b->module, extra, "mhlo.frontend_attributes", dict);
  *out_extra = extra;
  return hlo_ok();
}

// Appends a node with the given results and empty regions.
static hlo_status_t add_node(scope_t* s, const hlo_desc_node_t* node,
                             const hlo_desc_values_t* operands, const hlo_desc_types_t* types,
                             uint32_t region_count, hlo_node_t** out_node) {
  builder_t* b = s->builder;
  const hlo_attr_t* extra;
  HLO_TRY(extra_attrs(b, node->instruction, &extra));
  hlo_node_spec_t spec = {.op = node->op,
                          .loc = instruction_loc(b, node->instruction),
                          .operand_count = operands->count,
                          .operands = operands->items,
                          .attr_count = node->attr_count,
                          .attrs = node->attrs,
                          .extra = extra,
                          .region_count = region_count,
                          .result_count = types->count,
                          .result_types = types->items};
  *out_node = hlo_node_create(b->module, &spec);
  if (hlo_node_is_poison(*out_node)) return hlo_module_status(b->module);
  hlo_region_append(s->region, *out_node);
  return hlo_ok();
}

// Adds a helper node with one result.
static hlo_status_t add_step(scope_t* s, hlo_op_t op, const hlo_named_attr_t* attr,
                             hlo_value_t* operand, const hlo_type_t* type,
                             hlo_value_t** out_value) {
  hlo_desc_node_t node = {.builder = s->builder, .instruction = s->builder->current, .op = op};
  if (attr) hlo_desc_add_attr(&node, attr->id, attr->value);
  hlo_node_t* made = NULL;
  if (!type) return hlo_module_status(s->builder->module);
  HLO_TRY(add_node(s, &node, &(hlo_desc_values_t){&operand, operand ? 1 : 0},
                   &(hlo_desc_types_t){&type, 1}, 0, &made));
  *out_value = &made->results[0];
  return hlo_ok();
}

static hlo_status_t results_tree(scope_t* s, const instruction_t* in, hlo_node_t* node,
                                 const tree_t** out_tree) {
  hlo_desc_values_t values = {
      hlo_arena_array(s->builder->arena, node->result_count, sizeof(hlo_value_t*)),
      node->result_count};
  if (!values.items) return hlo_arena_status(s->builder->arena);
  for (uint32_t i = 0; i < node->result_count; ++i) values.items[i] = &node->results[i];
  return hlo_desc_make_tree(s->builder, in->shape, &values, out_tree);
}

// ---- computations

static hlo_status_t fill_region(builder_t* b, const computation_t* computation,
                                hlo_region_t* region, const tree_t* const* parameters,
                                uint32_t parameter_count, hlo_op_t terminator);

// Finds called computation `i`, which must precede its caller.
static hlo_status_t called_computation(const scope_t* s, const instruction_t* in, size_t i,
                                       const computation_t** out_computation) {
  if (i >= in->called_computation_ids.count) return fault("a called computation is missing");
  int64_t id = ((const int64_t*)in->called_computation_ids.items)[i];
  *out_computation = hlo_map_get_number(&s->builder->computations, (uint64_t)id);
  if (*out_computation && *out_computation < s->computation) return hlo_ok();
  return fault("a called computation does not precede its caller");
}

static bool is_parameter(const instruction_t* in) {
  return hlo_bytes_equal(in->opcode, "parameter");
}

// Sorts the shapes of the parameters by number.
static hlo_status_t parameter_shapes(builder_t* b, const computation_t* computation,
                                     const instruction_t*** out_parameters, uint32_t* out_count) {
  const instruction_t* items = computation->instructions.items;
  uint32_t count = 0;
  for (size_t i = 0; i < computation->instructions.count; ++i) count += is_parameter(&items[i]);
  const instruction_t** parameters = hlo_arena_array(b->arena, count, sizeof *parameters);
  if (!parameters) return hlo_arena_status(b->arena);
  for (size_t i = 0; i < computation->instructions.count; ++i) {
    if (!is_parameter(&items[i])) continue;
    b->current = &items[i];
    int64_t number = items[i].parameter_number;
    if (number < 0 || number >= count || parameters[number]) {
      return fault("the numbers of the parameters are not 0, 1, 2 ...");
    }
    if (!items[i].shape) return fault("the shape is missing");
    parameters[number] = &items[i];
  }
  *out_parameters = parameters;
  *out_count = count;
  return hlo_ok();
}

// Collects the leaf types of all parameters.
static hlo_status_t parameter_types(builder_t* b, const instruction_t* const* parameters,
                                    uint32_t count, hlo_desc_types_t* out_types) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; ++i) total += hlo_desc_leaf_count(parameters[i]->shape);
  *out_types = (hlo_desc_types_t){hlo_arena_array(b->arena, total, sizeof(hlo_type_t*)), 0};
  if (!out_types->items) return hlo_arena_status(b->arena);
  for (uint32_t i = 0; i < count; ++i) {
    b->current = parameters[i];
    hlo_desc_types_t part;
    HLO_TRY(hlo_desc_leaf_types(b, parameters[i]->shape, &part));
    for (uint32_t k = 0; k < part.count; ++k) out_types->items[out_types->count++] = part.items[k];
  }
  return hlo_ok();
}

// Fills a region whose arguments are the leaves of the computation's parameters.
static hlo_status_t fill_with_args(builder_t* b, const computation_t* computation,
                                   hlo_region_t* region, hlo_op_t terminator) {
  const instruction_t** parameters;
  uint32_t count;
  hlo_desc_types_t types;
  HLO_TRY(parameter_shapes(b, computation, &parameters, &count));
  HLO_TRY(parameter_types(b, parameters, count, &types));
  while (region->arg_count < types.count) {
    if (!hlo_region_add_arg(region, types.items[region->arg_count])) {
      return hlo_module_status(b->module);
    }
  }
  const tree_t** trees = hlo_arena_array(b->arena, count, sizeof *trees);
  if (!trees) return hlo_arena_status(b->arena);
  uint32_t first = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_desc_values_t leaves = {NULL, hlo_desc_leaf_count(parameters[i]->shape)};
    if (leaves.count) leaves.items = region->args + first;
    HLO_TRY(hlo_desc_make_tree(b, parameters[i]->shape, &leaves, &trees[i]));
    first += leaves.count;
  }
  return fill_region(b, computation, region, trees, count, terminator);
}

static hlo_status_t unique_name(builder_t* b, hlo_wire_bytes_t wanted, const char** out_name) {
  const char* base = hlo_module_string(b->module, wanted.size ? (const char*)wanted.data : "f",
                                       wanted.size ? wanted.size : 1);
  const char* name = base;
  for (unsigned n = 1; hlo_map_get(&b->names, name, strlen(name)); ++n) {
    const char* other = hlo_arena_printf(b->arena, "%s_%u", base, n + b->names.entry_count);
    if (!other) return hlo_arena_status(b->arena);
    name = hlo_module_string(b->module, other, strlen(other));
  }
  if (!hlo_map_put(&b->names, name, strlen(name), b)) return hlo_status_out_of_memory(0);
  *out_name = name;
  return hlo_ok();
}

// Finds the function of a computation; creates it on first use.
static hlo_status_t find_func(builder_t* b, const computation_t* computation, bool is_entry,
                              hlo_func_t** out_func) {
  *out_func = hlo_map_get_pointer(&b->funcs, computation);
  if (*out_func) return hlo_ok();
  const instruction_t** parameters;
  uint32_t count;
  hlo_desc_types_t types;
  const char* name = NULL;
  HLO_TRY(parameter_shapes(b, computation, &parameters, &count));
  HLO_TRY(parameter_types(b, parameters, count, &types));
  hlo_wire_bytes_t entry_name = {(const uint8_t*)"main", 4};
  HLO_TRY(unique_name(b, is_entry ? entry_name : computation->name, &name));
  const hlo_type_t* type = hlo_type_function(b->module, types.count, types.items, 0, types.items);
  if (!type) return hlo_module_status(b->module);
  hlo_func_t* func =
      hlo_func_create(b->module, name, type, is_entry ? HLO_PUBLIC : HLO_PRIVATE, true, 0);
  if (!func) return hlo_module_status(b->module);
  if (!hlo_map_put_pointer(&b->funcs, computation, func)) return hlo_status_out_of_memory(0);
  const instruction_t* caller = b->current;
  HLO_TRY(fill_with_args(b, computation, func->body, HLO_OP_func_return));
  b->current = caller;
  hlo_func_update_type(func);
  *out_func = func;
  return hlo_ok();
}

static hlo_status_t fill_regions(scope_t* s, const instruction_t* in, hlo_node_t* node) {
  if (in->called_computation_ids.count != node->region_count) {
    return hlo_invalid_argument("%zu called computations, expected %u",
                                in->called_computation_ids.count, node->region_count);
  }
  for (uint32_t r = 0; r < node->region_count; ++r) {
    const computation_t* computation;
    HLO_TRY(called_computation(s, in, r, &computation));
    HLO_TRY(fill_with_args(s->builder, computation, node->regions[r], HLO_OP_return));
    s->builder->current = in;
  }
  return hlo_ok();
}

// ---- instructions that need more than the op table

static hlo_status_t build_parameter(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  *out_tree = s->parameters[in->parameter_number];
  return hlo_ok();
}

static hlo_status_t build_tuple(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  hlo_desc_values_t values;
  if (in->shape->element_type != HLO_DESC_TUPLE ||
      in->shape->tuple_shapes.count != in->operand_ids.count) {
    return fault("the shape does not match the operands");
  }
  HLO_TRY(operand_values(s, in, 0, &values));
  return hlo_desc_make_tree(s->builder, in->shape, &values, out_tree);
}

static hlo_status_t build_element(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  const tree_t* tuple = NULL;
  HLO_TRY(operand_tree(s, in, 0, &tuple));
  if (tuple->leaf || in->tuple_index < 0 || in->tuple_index >= tuple->count) {
    return hlo_invalid_argument("the operand has no element %lld", (long long)in->tuple_index);
  }
  *out_tree = tuple->items[in->tuple_index];
  return hlo_ok();
}

static hlo_status_t build_pass(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  return operand_tree(s, in, 0, out_tree);
}

// Returns a literal as an attribute, created once even if its computation is built several times.
static hlo_status_t literal_value(scope_t* s, hlo_desc_literal_t* literal,
                                  const hlo_desc_shape_t* shape, const hlo_type_t* type) {
  if (literal->value) return hlo_ok();
  hlo_literal_t* made = NULL;
  HLO_TRY(hlo_desc_make_literal(literal, shape, &made));
  literal->value = hlo_attr_literal(s->builder->module, type, made);
  hlo_literal_release(made);
  return literal->value ? hlo_ok() : hlo_module_status(s->builder->module);
}

static hlo_status_t constant_leaves(scope_t* s, hlo_desc_literal_t* literal,
                                    const hlo_desc_shape_t* shape, hlo_desc_values_t* values) {
  if (shape->element_type == HLO_DESC_TUPLE) {
    if (literal->tuple_literals.count != shape->tuple_shapes.count) {
      return fault("the literal does not match the shape");
    }
    for (size_t i = 0; i < shape->tuple_shapes.count; ++i) {
      HLO_TRY(constant_leaves(s, (hlo_desc_literal_t*)literal->tuple_literals.items + i,
                              (const hlo_desc_shape_t*)shape->tuple_shapes.items + i, values));
    }
    return hlo_ok();
  }
  hlo_desc_types_t types;
  HLO_TRY(hlo_desc_leaf_types(s->builder, shape, &types));
  if (!hlo_type_is_tensor(types.items[0]) || !hlo_type_is_static(types.items[0])) {
    return fault("literals cannot have this shape");
  }
  HLO_TRY(literal_value(s, literal, shape, types.items[0]));
  hlo_named_attr_t attr = {HLO_ATTR_value, literal->value};
  return add_step(s, HLO_OP_constant, &attr, NULL, types.items[0], &values->items[values->count++]);
}

static hlo_status_t build_constant(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  uint32_t count = hlo_desc_leaf_count(in->shape);
  hlo_desc_values_t values = {hlo_arena_array(s->builder->arena, count, sizeof(hlo_value_t*)), 0};
  if (!values.items) return hlo_arena_status(s->builder->arena);
  if (!in->literal) return fault("the literal is missing");
  HLO_TRY(constant_leaves(s, in->literal, in->shape, &values));
  return hlo_desc_make_tree(s->builder, in->shape, &values, out_tree);
}

// Returns the value of a frontend attribute; empty if it is absent.
static hlo_wire_bytes_t frontend_value(const instruction_t* in, const char* key) {
  size_t count = in->frontend_attributes ? in->frontend_attributes->map.count : 0;
  for (size_t i = 0; i < count; ++i) {
    const hlo_desc_string_pair_t* pair =
        (const hlo_desc_string_pair_t*)in->frontend_attributes->map.items + i;
    if (hlo_bytes_equal(pair->key, key)) return pair->value;
  }
  return (hlo_wire_bytes_t){0};
}

// A composite is a call with name, attributes and version as frontend attributes.
static hlo_status_t composite_attrs(hlo_desc_node_t* node, const hlo_attr_t* callee) {
  hlo_module_t* m = node->builder->module;
  hlo_wire_bytes_t attributes = frontend_value(node->instruction, HLO_DESC_COMPOSITE "attributes");
  hlo_wire_bytes_t version = frontend_value(node->instruction, HLO_DESC_COMPOSITE "version");
  node->op = HLO_OP_composite;
  hlo_desc_add_attr(
      node, HLO_ATTR_name,
      text_attr(node->builder, frontend_value(node->instruction, HLO_DESC_COMPOSITE "name")));
  hlo_desc_add_attr(node, HLO_ATTR_decomposition, callee);
  const hlo_attr_t* dict = NULL;
  if (attributes.size) {
    HLO_TRY_MSG(hlo_parse_attr(m, (const char*)attributes.data, attributes.size, &dict),
                "the attributes of the composite");
  }
  if (dict && dict->kind != HLO_ATTR_KIND_DICT) return fault("the attributes are not a dictionary");
  if (dict && dict->count) hlo_desc_add_attr(node, HLO_ATTR_composite_attributes, dict);
  int64_t number = 0;
  for (size_t i = 0; i < version.size; ++i) {
    if (version.data[i] < '0' || version.data[i] > '9' || number > INT32_MAX / 10 - 1) {
      return fault("the version of the composite is not a number");
    }
    number = number * 10 + (version.data[i] - '0');
  }
  if (number) hlo_desc_add_attr(node, HLO_ATTR_version, hlo_attr_int(m, HLO_DTYPE_S32, number));
  return hlo_ok();
}

static hlo_status_t build_call(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  builder_t* b = s->builder;
  const computation_t* computation;
  hlo_func_t* func;
  hlo_desc_values_t operands;
  hlo_desc_types_t types;
  HLO_TRY(called_computation(s, in, 0, &computation));
  HLO_TRY(find_func(b, computation, false, &func));
  HLO_TRY(operand_values(s, in, 0, &operands));
  uint32_t inputs = func->type->input_count;
  types = (hlo_desc_types_t){(const hlo_type_t**)(uintptr_t)(func->type->elements + inputs),
                             func->type->element_count - inputs};
  hlo_desc_node_t node = {.builder = b, .instruction = in, .op = HLO_OP_call};
  const hlo_attr_t* callee = hlo_attr_symbol(b->module, func->name, strlen(func->name));
  if (in->is_composite) {
    HLO_TRY(composite_attrs(&node, callee));
  } else {
    hlo_desc_add_attr(&node, HLO_ATTR_callee, callee);
  }
  hlo_node_t* made;
  HLO_TRY(add_node(s, &node, &operands, &types, 0, &made));
  return results_tree(s, in, made, out_tree);
}

// Rewrites an asynchronous start as the operation that it starts, whose tree is the result of the
// done op. The shape is a tuple of operands, results and more.
static hlo_status_t find_started(const builder_t* b, const instruction_t* in,
                                 instruction_t** out_started) {
  const hlo_desc_shape_t* shape = in->shape;
  if (shape->element_type != HLO_DESC_TUPLE || shape->tuple_shapes.count < 2) {
    return fault("the shape is not a tuple of operands and results");
  }
  instruction_t* operation = hlo_arena_alloc(b->arena, sizeof *operation);
  if (!operation) return hlo_arena_status(b->arena);
  *operation = *in;
  operation->shape = (hlo_desc_shape_t*)shape->tuple_shapes.items + 1;
  *out_started = operation;
  return hlo_ok();
}

static hlo_status_t build_async_start(scope_t* s, const instruction_t* in,
                                      const tree_t** out_tree) {
  instruction_t* call;
  HLO_TRY(find_started(s->builder, in, &call));
  return build_call(s, call, out_tree);
}

static hlo_status_t build_conditional(scope_t* s, const instruction_t* in,
                                      const tree_t** out_tree) {
  const tree_t* index;
  hlo_desc_types_t types;
  HLO_TRY(operand_tree(s, in, 0, &index));
  HLO_TRY(hlo_desc_leaf_types(s->builder, in->shape, &types));
  if (!index->leaf) return fault("the first operand is a tuple");
  size_t branches = in->called_computation_ids.count;
  if (in->operand_ids.count != branches + 1) return fault("expected one operand per branch");
  bool is_if = index->leaf->type->dtype == HLO_DTYPE_PRED && branches == 2;
  hlo_desc_node_t node = {
      .builder = s->builder, .instruction = in, .op = is_if ? HLO_OP_if : HLO_OP_case};
  hlo_node_t* made;
  hlo_value_t* selector = index->leaf;
  HLO_TRY(
      add_node(s, &node, &(hlo_desc_values_t){&selector, 1}, &types, (uint32_t)branches, &made));
  for (uint32_t r = 0; r < branches; ++r) {
    const computation_t* computation;
    const tree_t* argument;
    HLO_TRY(called_computation(s, in, r, &computation));
    HLO_TRY(operand_tree(s, in, r + 1, &argument));
    HLO_TRY(fill_region(s->builder, computation, made->regions[r], &argument, 1, HLO_OP_return));
    s->builder->current = in;
  }
  return results_tree(s, in, made, out_tree);
}

static hlo_status_t build_while(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  hlo_desc_values_t operands;
  hlo_desc_types_t types;
  HLO_TRY(operand_values(s, in, 0, &operands));
  HLO_TRY(hlo_desc_leaf_types(s->builder, in->shape, &types));
  hlo_desc_node_t node = {.builder = s->builder, .instruction = in, .op = HLO_OP_while};
  hlo_node_t* made;
  HLO_TRY(add_node(s, &node, &operands, &types, 2, &made));
  // The body comes first in HLO, the condition in StableHLO.
  if (in->called_computation_ids.count != 2) return fault("expected a condition and a body");
  for (uint32_t r = 0; r < 2; ++r) {
    const computation_t* computation;
    HLO_TRY(called_computation(s, in, 1 - r, &computation));
    HLO_TRY(fill_with_args(s->builder, computation, made->regions[r], HLO_OP_return));
    s->builder->current = in;
  }
  return results_tree(s, in, made, out_tree);
}

static hlo_status_t build_rng(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  builder_t* b = s->builder;
  hlo_desc_values_t operands;
  hlo_desc_types_t types;
  HLO_TRY(operand_values(s, in, 0, &operands));
  HLO_TRY(hlo_desc_leaf_types(b, in->shape, &types));
  if (operands.count != 2 || types.count != 1) return fault("expected two operands and one result");
  int64_t rank = types.items[0]->rank;
  hlo_literal_t* literal = NULL;
  HLO_TRY(hlo_literal_create(HLO_DTYPE_S64, 1, &rank, false, &literal));
  if (rank) {
    memcpy(hlo_literal_mutable_data(literal), types.items[0]->dims, (size_t)rank * sizeof rank);
  }
  const hlo_type_t* type = hlo_type_tensor(b->module, HLO_DTYPE_S64, 1, &rank);
  hlo_named_attr_t value = {HLO_ATTR_value,
                            type ? hlo_attr_literal(b->module, type, literal) : NULL};
  hlo_literal_release(literal);
  hlo_value_t* values[3] = {operands.items[0], operands.items[1], NULL};
  HLO_TRY(add_step(s, HLO_OP_constant, &value, NULL, type, &values[2]));
  hlo_desc_node_t node = {.builder = b, .instruction = in, .op = HLO_OP_rng};
  HLO_TRY(hlo_desc_attrs(&node));
  hlo_node_t* made;
  HLO_TRY(add_node(s, &node, &(hlo_desc_values_t){values, 3}, &types, 0, &made));
  return results_tree(s, in, made, out_tree);
}

// backend_config is a dictionary in MLIR's notation for the typed FFI, otherwise a string.
static hlo_status_t backend_config(hlo_desc_node_t* node) {
  const instruction_t* in = node->instruction;
  hlo_module_t* m = node->builder->module;
  const hlo_attr_t* config = NULL;
  if (in->custom_call_api_version == HLO_CUSTOM_CALL_API_VERSION_API_VERSION_TYPED_FFI) {
    const char* text = in->backend_config.size ? (const char*)in->backend_config.data : "{}";
    size_t size = in->backend_config.size ? in->backend_config.size : 2;
    HLO_TRY_MSG(hlo_parse_attr(m, text, size, &config), "backend_config");
  } else if (in->backend_config.size) {
    config = text_attr(node->builder, in->backend_config);
  }
  hlo_desc_add_attr(node, HLO_ATTR_backend_config, config);
  // Protos always give the version; without it, the original one applies.
  if (in->custom_call_api_version > HLO_CUSTOM_CALL_API_VERSION_API_VERSION_ORIGINAL) {
    hlo_desc_add_attr(node, HLO_ATTR_api_version,
                      hlo_attr_int(m, HLO_DTYPE_S32, in->custom_call_api_version));
  }
  return hlo_ok();
}

// Returns the layout of a shape as a list, minor dimension first; row-major if it is absent.
static const hlo_attr_t* layout_attr(builder_t* b, const hlo_desc_shape_t* shape) {
  int64_t order[HLO_RANK_MAX];
  uint32_t rank = shape->dimensions.count <= HLO_RANK_MAX ? (uint32_t)shape->dimensions.count : 0;
  const int64_t* given = shape->layout && shape->layout->minor_to_major.count == rank
                             ? shape->layout->minor_to_major.items
                             : NULL;
  for (uint32_t i = 0; i < rank; ++i) order[i] = given ? given[i] : rank - 1 - i;
  hlo_attr_t fields = {.kind = HLO_ATTR_KIND_INTS,
                       .dtype = HLO_DTYPE_S64,
                       .is_index = true,
                       .count = rank,
                       .values = order};
  return hlo_attr_intern(b->module, &fields);
}

static hlo_status_t layouts_attr(hlo_desc_node_t* node, hlo_attr_id_t id,
                                 const hlo_desc_shape_t* shapes, size_t count) {
  builder_t* b = node->builder;
  const hlo_attr_t** items = hlo_arena_array(b->arena, count, sizeof *items);
  if (!items) return hlo_arena_status(b->arena);
  for (size_t i = 0; i < count; ++i) {
    if (!(items[i] = layout_attr(b, &shapes[i]))) return hlo_module_status(b->module);
  }
  hlo_desc_add_attr(node, id, hlo_attr_array(b->module, (uint32_t)count, items));
  return hlo_ok();
}

// Sets the layouts of a custom call that constrains them, and the results that share memory with
// operands.
static hlo_status_t memory_attrs(hlo_desc_node_t* node) {
  const instruction_t* in = node->instruction;
  hlo_module_t* m = node->builder->module;
  if (in->constrain_layout || in->operand_shapes.count) {
    bool is_tuple = in->shape->element_type == HLO_DESC_TUPLE;
    HLO_TRY(layouts_attr(node, HLO_ATTR_operand_layouts, in->operand_shapes.items,
                         in->operand_shapes.count));
    HLO_TRY(layouts_attr(node, HLO_ATTR_result_layouts,
                         is_tuple ? in->shape->tuple_shapes.items : in->shape,
                         is_tuple ? in->shape->tuple_shapes.count : 1));
  }
  size_t count = in->output_aliases.count;
  const hlo_desc_output_alias_t* aliases = in->output_aliases.items;
  const hlo_attr_t** items = hlo_arena_array(node->builder->arena, count, sizeof *items);
  if (!items) return hlo_arena_status(node->builder->arena);
  static const char* const keys[] = {"operand_index", "operand_tuple_indices",
                                     "output_tuple_indices"};
  for (size_t i = 0; i < count; ++i) {
    const hlo_wire_array_t* output = &aliases[i].output_shape_index;
    const hlo_wire_array_t* operand = &aliases[i].operand_shape_index;
    const hlo_attr_t* values[] = {hlo_attr_int(m, HLO_DTYPE_S64, aliases[i].operand_index),
                                  hlo_attr_ints(m, (uint32_t)operand->count, operand->items),
                                  hlo_attr_ints(m, (uint32_t)output->count, output->items)};
    if (!values[0] || !values[1] || !values[2]) return hlo_module_status(m);
    if (!(items[i] = hlo_attr_dict(m, 3, keys, values))) return hlo_module_status(m);
  }
  if (count) {
    hlo_desc_add_attr(node, HLO_ATTR_output_operand_aliases,
                      hlo_attr_array(m, (uint32_t)count, items));
  }
  return hlo_ok();
}

static hlo_status_t build_custom_call(scope_t* s, const instruction_t* in,
                                      const tree_t** out_tree) {
  builder_t* b = s->builder;
  hlo_desc_values_t operands;
  hlo_desc_types_t types;
  HLO_TRY(operand_values(s, in, 0, &operands));
  HLO_TRY(hlo_desc_leaf_types(b, in->shape, &types));
  hlo_desc_node_t node = {.builder = b, .instruction = in, .op = HLO_OP_custom_call};
  HLO_TRY(hlo_desc_attrs(&node));
  HLO_TRY(backend_config(&node));
  HLO_TRY(memory_attrs(&node));
  uint32_t count = (uint32_t)in->called_computation_ids.count;
  const hlo_attr_t** symbols = hlo_arena_array(b->arena, count, sizeof *symbols);
  if (!symbols) return hlo_arena_status(b->arena);
  for (uint32_t i = 0; i < count; ++i) {
    const computation_t* computation;
    hlo_func_t* func;
    HLO_TRY(called_computation(s, in, i, &computation));
    HLO_TRY(find_func(b, computation, false, &func));
    symbols[i] = hlo_attr_symbol(b->module, func->name, strlen(func->name));
    if (!symbols[i]) return hlo_module_status(b->module);
  }
  if (count) {
    hlo_desc_add_attr(&node, HLO_ATTR_called_computations,
                      hlo_attr_array(b->module, count, symbols));
  }
  hlo_node_t* made;
  HLO_TRY(add_node(s, &node, &operands, &types, 0, &made));
  return results_tree(s, in, made, out_tree);
}

// A bitcast reads bytes in the order of layouts, which the IR's types lack. Transposes to and from
// that order make it a bitcast between row-major shapes.
static hlo_status_t to_physical(scope_t* s, const hlo_desc_shape_t* shape, bool back,
                                const hlo_type_t* type, hlo_value_t** value) {
  uint32_t rank = type->rank;
  if (!shape->layout || shape->layout->minor_to_major.count != rank) return hlo_ok();
  const int64_t* order = shape->layout->minor_to_major.items;
  int64_t major[HLO_RANK_MAX], inverse[HLO_RANK_MAX], dims[HLO_RANK_MAX];
  bool row_major = true;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t dim = order[rank - 1 - i];
    if (dim < 0 || dim >= rank || (seen >> dim & 1)) return fault("the layout is malformed");
    seen |= 1ull << dim;
    major[i] = dim;
    inverse[dim] = i;
    dims[i] = type->dims[dim];
    row_major &= dim == i;
  }
  if (row_major) return hlo_ok();
  hlo_module_t* m = s->builder->module;
  hlo_named_attr_t attr = {HLO_ATTR_permutation, hlo_attr_ints(m, rank, back ? inverse : major)};
  const hlo_type_t* to = back ? type : hlo_type_with_dims(m, type, rank, dims);
  return add_step(s, HLO_OP_transpose, &attr, *value, to, value);
}

static const hlo_type_t* physical_type(hlo_module_t* m, const hlo_desc_shape_t* shape,
                                       const hlo_type_t* type) {
  int64_t dims[HLO_RANK_MAX];
  if (!shape->layout || shape->layout->minor_to_major.count != type->rank) return type;
  const int64_t* order = shape->layout->minor_to_major.items;
  for (uint32_t i = 0; i < type->rank; ++i) {
    int64_t dim = order[type->rank - 1 - i];
    if (dim < 0 || dim >= type->rank) return type;  // to_physical() reports the error
    dims[i] = type->dims[dim];
  }
  return hlo_type_with_dims(m, type, type->rank, dims);
}

static hlo_status_t build_bitcast(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  hlo_desc_values_t values;
  hlo_desc_types_t types;
  HLO_TRY(operand_values(s, in, 0, &values));
  HLO_TRY(hlo_desc_leaf_types(s->builder, in->shape, &types));
  bool arrays = values.count == 1 && types.count == 1 && hlo_type_is_tensor(types.items[0]) &&
                hlo_type_is_tensor(values.items[0]->type);
  if (!arrays) return fault("operand and result must be arrays");
  const instruction_t* from = s->computation->instructions.items;
  from += number_of(s, *(const int64_t*)in->operand_ids.items) - 1;
  if (hlo_type_size_bytes(types.items[0]) != hlo_type_size_bytes(values.items[0]->type)) {
    return fault("operand and result differ in size");
  }
  hlo_value_t* value = values.items[0];
  HLO_TRY(to_physical(s, from->shape, false, value->type, &value));
  const hlo_type_t* physical = physical_type(s->builder->module, in->shape, types.items[0]);
  HLO_TRY(add_step(s, HLO_OP_hlo_bitcast, NULL, value, physical, &value));
  HLO_TRY(to_physical(s, in->shape, true, types.items[0], &value));
  return hlo_desc_make_tree(s->builder, in->shape, &(hlo_desc_values_t){&value, 1}, out_tree);
}

static hlo_status_t build_copy(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  hlo_desc_values_t values;
  HLO_TRY(operand_values(s, in, 0, &values));
  for (uint32_t i = 0; i < values.count; ++i) {
    HLO_TRY(add_step(s, HLO_OP_hlo_copy, NULL, values.items[i], values.items[i]->type,
                     &values.items[i]));
  }
  return hlo_desc_make_tree(s->builder, in->shape, &values, out_tree);
}

// ---- all other instructions

// Broadcasts scalars among the operands of an elementwise op to the shape of its result.
static hlo_status_t repeat_scalars(scope_t* s, hlo_op_t op, hlo_desc_values_t* operands,
                                   const hlo_type_t* result) {
  builder_t* b = s->builder;
  if (!(hlo_op_info(op)->traits & HLO_TRAIT_ELEMENTWISE) || op == HLO_OP_clamp ||
      operands->count < 2 || !hlo_type_is_tensor(result) || !hlo_type_is_static(result)) {
    return hlo_ok();
  }
  for (uint32_t i = op == HLO_OP_select ? 1 : 0; i < operands->count; ++i) {
    const hlo_type_t* type = operands->items[i]->type;
    if (!hlo_type_is_tensor(type) || type->rank != 0 || result->rank == 0) continue;
    hlo_named_attr_t dims = {HLO_ATTR_broadcast_dimensions, hlo_attr_ints(b->module, 0, NULL)};
    HLO_TRY(add_step(s, HLO_OP_broadcast_in_dim, &dims, operands->items[i],
                     hlo_type_with_dtype(b->module, result, type->dtype), &operands->items[i]));
  }
  return hlo_ok();
}

static hlo_status_t build_row(scope_t* s, const instruction_t* in, hlo_op_t op,
                              const hlo_desc_shape_t* shape, const tree_t** out_tree) {
  builder_t* b = s->builder;
  hlo_desc_values_t operands;
  hlo_desc_types_t types;
  HLO_TRY(operand_values(s, in, 0, &operands));
  HLO_TRY(hlo_desc_leaf_types(b, shape, &types));
  if (types.count == 1) HLO_TRY(repeat_scalars(s, op, &operands, types.items[0]));
  hlo_desc_node_t node = {.builder = b, .instruction = in, .op = op};
  HLO_TRY(hlo_desc_attrs(&node));
  const hlo_op_info_t* info = hlo_op_info(op);
  hlo_node_t* made;
  HLO_TRY(add_node(s, &node, &operands, &types,
                   info->region_count > 0 ? (uint32_t)info->region_count : 0, &made));
  if (made->region_count) HLO_TRY(fill_regions(s, in, made));
  instruction_t whole = *in;
  whole.shape = (hlo_desc_shape_t*)(uintptr_t)shape;
  return results_tree(s, &whole, made, out_tree);
}

// Builds send and recv: StableHLO's op returns immediately what HLO's done op returns.
static hlo_status_t build_send(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  static const hlo_desc_shape_t token = {.element_type = HLO_DESC_TOKEN};
  return build_row(s, in, HLO_OP_send, &token, out_tree);
}

static hlo_status_t build_recv(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  if (in->shape->element_type != HLO_DESC_TUPLE || in->shape->tuple_shapes.count != 3) {
    return fault("the shape is not a tuple of value, context and token");
  }
  const hlo_desc_shape_t* parts = in->shape->tuple_shapes.items;
  hlo_desc_shape_t* pair = hlo_arena_array(s->builder->arena, 3, sizeof *pair);
  if (!pair) return hlo_arena_status(s->builder->arena);
  pair[1] = parts[0];
  pair[2] = parts[2];
  pair[0] = (hlo_desc_shape_t){.element_type = HLO_DESC_TUPLE, .tuple_shapes = {pair + 1, 2}};
  return build_row(s, in, HLO_OP_recv, pair, out_tree);
}

// all-gather-start and collective-permute-start return (operand, result, context ...),
// all-reduce-start only the result.
static hlo_status_t build_collective_start(scope_t* s, const instruction_t* in,
                                           const tree_t** out_tree) {
  hlo_op_t op = hlo_op_from_hlo_name((const char*)in->opcode.data, in->opcode.size - 6);
  const hlo_desc_shape_t* shape = in->shape;
  if (op != HLO_OP_all_reduce) {
    if (shape->element_type != HLO_DESC_TUPLE || shape->tuple_shapes.count < 2) {
      return fault("the shape is not a tuple of operands and results");
    }
    shape = (const hlo_desc_shape_t*)shape->tuple_shapes.items + 1;
  }
  return build_row(s, in, op, shape, out_tree);
}

// A proto stores the dimensions of the dot within those of the ragged dot.
static hlo_status_t build_ragged_dot(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  instruction_t with_dot = *in;
  if (in->ragged && !in->dot) with_dot.dot = in->ragged->dot;
  return build_row(s, &with_dot, HLO_OP_chlo_ragged_dot, in->shape, out_tree);
}

static hlo_status_t build_top_k(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  if (!in->largest) return hlo_unimplemented("topk of the smallest elements is not supported");
  return build_row(s, in, HLO_OP_chlo_top_k, in->shape, out_tree);
}

typedef hlo_status_t (*build_t)(scope_t* s, const instruction_t* in, const tree_t** out_tree);

static const struct {
  const char* opcode;
  build_t build;
} special_opcodes[] = {
    {"parameter", build_parameter},
    {"constant", build_constant},
    {"tuple", build_tuple},
    {"get-tuple-element", build_element},
    {"call", build_call},
    {"conditional", build_conditional},
    {"while", build_while},
    {"rng", build_rng},
    {"custom-call", build_custom_call},
    {"bitcast", build_bitcast},
    {"copy", build_copy},
    {"copy-start", build_pass},
    {"copy-done", build_copy},
    {"async-start", build_async_start},
    {"async-update", build_pass},
    {"async-done", build_pass},
    {"all-reduce-start", build_collective_start},
    {"all-reduce-done", build_pass},
    {"all-gather-start", build_collective_start},
    {"all-gather-done", build_pass},
    {"collective-permute-start", build_collective_start},
    {"collective-permute-done", build_pass},
    {"domain", build_pass},
    {"send", build_send},
    {"send-done", build_pass},
    {"recv", build_recv},
    {"recv-done", build_pass},
    {"topk", build_top_k},
    {"ragged-dot", build_ragged_dot},
};

// Leaves *out_tree NULL if the opcode is unknown.
static hlo_status_t build_operation(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  for (size_t i = 0; i < sizeof special_opcodes / sizeof *special_opcodes; ++i) {
    if (hlo_bytes_equal(in->opcode, special_opcodes[i].opcode)) {
      return special_opcodes[i].build(s, in, out_tree);
    }
  }
  hlo_op_t op = in->opcode.size
                    ? hlo_op_from_hlo_name((const char*)in->opcode.data, in->opcode.size)
                    : HLO_OP_COUNT;
  return op == HLO_OP_COUNT ? hlo_ok() : build_row(s, in, op, in->shape, out_tree);
}

// XLA writes an asynchronous call of a single operation as dot-start, dot-update and dot-done.
static hlo_status_t build_async(scope_t* s, const instruction_t* in, const tree_t** out_tree) {
  hlo_wire_bytes_t opcode = hlo_desc_async_opcode(in->opcode);
  if (opcode.size == 0) return hlo_ok();
  if (in->opcode.size - opcode.size != strlen("-start")) return build_pass(s, in, out_tree);
  instruction_t* operation;
  HLO_TRY(find_started(s->builder, in, &operation));
  operation->opcode = opcode;
  return build_operation(s, operation, out_tree);
}

static hlo_status_t build_instruction(scope_t* s, const instruction_t* in,
                                      const tree_t** out_tree) {
  if (!in->shape) return fault("the shape is missing");
  *out_tree = NULL;
  HLO_TRY(build_operation(s, in, out_tree));
  if (!*out_tree) HLO_TRY(build_async(s, in, out_tree));
  if (*out_tree) return hlo_ok();
  return hlo_unimplemented("the op %.*s is not supported", (int)in->opcode.size,
                           (const char*)in->opcode.data);
}

static hlo_status_t build_return(scope_t* s, hlo_op_t terminator) {
  size_t root = number_of(s, s->computation->root_id);
  if (root == 0) return fault("the computation has no root");
  hlo_desc_values_t values;
  HLO_TRY(hlo_desc_leaf_values(s->builder, 1, &s->trees[root - 1], &values));
  hlo_desc_node_t node = {
      .builder = s->builder, .instruction = s->builder->current, .op = terminator};
  static const instruction_t none = {0};
  node.instruction = &none;
  hlo_node_t* made;
  return add_node(s, &node, &values, &(hlo_desc_types_t){NULL, 0}, 0, &made);
}

static hlo_status_t fill_scope(scope_t* s, hlo_op_t terminator) {
  const instruction_t* items = s->computation->instructions.items;
  size_t count = s->computation->instructions.count;
  const instruction_t** parameters;
  uint32_t parameter_count;
  HLO_TRY(parameter_shapes(s->builder, s->computation, &parameters, &parameter_count));
  if (parameter_count != s->parameter_count) {
    return hlo_invalid_argument("a computation with %u parameters is called with %u",
                                parameter_count, s->parameter_count);
  }
  s->trees = hlo_mem_alloc(count * sizeof *s->trees);
  if (!s->trees) return hlo_status_out_of_memory(count * sizeof *s->trees);
  for (size_t i = 0; i < count; ++i) {
    s->builder->current = &items[i];
    HLO_TRY(build_instruction(s, &items[i], &s->trees[i]));
    if (number_of(s, items[i].id)) return fault("the id is used twice");
    if (!hlo_map_put_number(&s->numbers, (uint64_t)items[i].id, (void*)(uintptr_t)(i + 1))) {
      return hlo_status_out_of_memory(sizeof *s->trees);
    }
  }
  return build_return(s, terminator);
}

static hlo_status_t fill_region(builder_t* b, const computation_t* computation,
                                hlo_region_t* region, const tree_t* const* parameters,
                                uint32_t parameter_count, hlo_op_t terminator) {
  if (b->depth >= HLO_DESC_REGION_DEPTH) return fault("computations are nested too deep");
  if (computation->source_bytes > b->source_left) {
    return hlo_resource_exhausted("the computations have too many call sites");
  }
  b->source_left -= computation->source_bytes;
  ++b->depth;
  scope_t s = {.builder = b,
               .computation = computation,
               .region = region,
               .parameters = parameters,
               .parameter_count = parameter_count};
  hlo_status_t status = fill_scope(&s, terminator);
  hlo_map_deinit(&s.numbers);
  hlo_mem_free(s.trees);
  --b->depth;
  return status;
}

// ---- the module

// The entry's function, and its parameters by number.
typedef struct entry_args {
  hlo_func_t* func;
  const instruction_t** parameters;
  uint32_t count;
} entry_args_t;

// Sets an attribute of the argument for leaf `path` of parameter `number`.
static hlo_status_t mark_argument(builder_t* b, const entry_args_t* args, int64_t number,
                                  const hlo_wire_array_t* path, const char* key,
                                  const hlo_attr_t* value) {
  bool known = number >= 0 && number < args->count;
  const hlo_desc_shape_t* shape = known ? args->parameters[number]->shape : NULL;
  int64_t leaf = known ? hlo_desc_leaf_number(shape, path) : -1;
  if (leaf < 0) return fault("an alias or donor does not name a parameter");
  const hlo_attr_t** attrs = &args->func->arg_attrs[shape->first_leaf + leaf];
  *attrs = hlo_attr_dict_with(b->module, *attrs, key, value);
  return hlo_module_status(b->module);
}

// Gives each leaf of a tuple its part of the sharding.
static hlo_status_t mark_leaf_shardings(builder_t* b, const instruction_t* in, uint32_t count,
                                        const hlo_attr_t** attrs) {
  hlo_op_sharding_t sharding;
  if (!in->sharding.size) return hlo_ok();
  HLO_TRY(hlo_op_sharding_parse((const char*)in->sharding.data, in->sharding.size, b->arena,
                                &sharding));
  const bool is_tuple = sharding.kind == HLO_OP_SHARDING_TUPLE;
  if (is_tuple && sharding.elements.count != count)
    return fault("the sharding is of another tuple");
  for (uint32_t i = 0; i < count; ++i) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_op_sharding_print(
        is_tuple ? (const hlo_op_sharding_t*)sharding.elements.items + i : &sharding, &text);
    HLO_TRY(hlo_strbuf_status(&text));
    attrs[i] = hlo_attr_dict_with(b->module, attrs[i], HLO_OP_SHARDING_ATTR,
                                  hlo_attr_string(b->module, hlo_strbuf_text(&text), text.length));
  }
  return hlo_module_status(b->module);
}

// States for each leaf of a parameter whether all replicas are given equal values.
static hlo_status_t mark_replication(builder_t* b, const instruction_t* in, uint32_t count,
                                     const hlo_attr_t** attrs) {
  if (!in->parameter_replication) return hlo_ok();
  const hlo_wire_array_t* leaves = &in->parameter_replication->leaves;
  for (uint32_t i = 0; i < count && i < leaves->count; ++i) {
    const hlo_attr_t* value = hlo_attr_bool(b->module, ((const bool*)leaves->items)[i]);
    const hlo_attr_t* list = value ? hlo_attr_array(b->module, 1, &value) : NULL;
    if (!list) return hlo_module_status(b->module);
    attrs[i] = hlo_attr_dict_with(b->module, attrs[i], "mhlo.parameter_replication", list);
  }
  return hlo_module_status(b->module);
}

// Copies the attributes of the entry's parameters to the arguments; of tuples, the sharding and
// what is said of each leaf.
static hlo_status_t mark_parameters(builder_t* b, const entry_args_t* args) {
  for (uint32_t i = 0; i < args->count; ++i) {
    hlo_desc_shape_t* shape = args->parameters[i]->shape;
    const hlo_attr_t** attrs = &args->func->arg_attrs[shape->first_leaf];
    const bool is_tuple = shape->element_type == HLO_DESC_TUPLE;
    const uint32_t count = is_tuple ? hlo_desc_number_leaves(shape, shape->first_leaf) : 1;
    HLO_TRY(is_tuple ? mark_leaf_shardings(b, args->parameters[i], count, attrs)
                     : extra_attrs(b, args->parameters[i], attrs));
    HLO_TRY(mark_replication(b, args->parameters[i], count, attrs));
  }
  return hlo_ok();
}

// The sharding of the root is that of the results.
static hlo_status_t mark_results(builder_t* b, hlo_func_t* func, const instruction_t* root,
                                 uint32_t count) {
  if (!root->sharding.size || count == 0) return hlo_ok();
  func->result_attrs = hlo_arena_array(&b->module->arena, count, sizeof *func->result_attrs);
  if (!func->result_attrs) return hlo_module_status(b->module);
  if (root->shape->element_type == HLO_DESC_TUPLE) {
    return mark_leaf_shardings(b, root, count, func->result_attrs);
  }
  func->result_attrs[0] =
      hlo_attr_dict_with(b->module, NULL, HLO_OP_SHARDING_ATTR, text_attr(b, root->sharding));
  return hlo_module_status(b->module);
}

static const instruction_t* find_root(const computation_t* computation) {
  const instruction_t* items = computation->instructions.items;
  for (size_t i = 0; i < computation->instructions.count; ++i) {
    if (items[i].id == computation->root_id) return &items[i];
  }
  return NULL;
}

// Records attributes of parameters, aliases of results and arguments, donated arguments, and
// layouts as attributes of the function.
static hlo_status_t mark_arguments(builder_t* b, hlo_func_t* func, const computation_t* entry) {
  static const hlo_wire_array_t none = {0};
  const hlo_wire_array_t* aliases =
      b->desc->input_output_alias ? &b->desc->input_output_alias->entries : &none;
  const hlo_wire_array_t* donors = b->desc->buffer_donor ? &b->desc->buffer_donor->entries : &none;
  const instruction_t* root = find_root(entry);
  if (!root) return hlo_ok();
  entry_args_t args = {.func = func};
  HLO_TRY(parameter_shapes(b, entry, &args.parameters, &args.count));
  HLO_TRY(mark_results(b, func, root, hlo_desc_number_leaves(root->shape, 0)));
  uint32_t first = 0;  // the root may be a parameter, whose leaves then get these numbers
  for (uint32_t i = 0; i < args.count; ++i) {
    first += hlo_desc_number_leaves(args.parameters[i]->shape, first);
  }
  func->arg_attrs = hlo_arena_array(&b->module->arena, first, sizeof *func->arg_attrs);
  if (!func->arg_attrs) return hlo_module_status(b->module);
  HLO_TRY(mark_parameters(b, &args));
  for (size_t i = 0; i < aliases->count; ++i) {
    const hlo_desc_alias_t* alias = (const hlo_desc_alias_t*)aliases->items + i;
    int64_t leaf = hlo_desc_leaf_number(root->shape, &alias->output_shape_index);
    if (leaf < 0) return fault("an alias does not name a result");
    HLO_TRY(mark_argument(b, &args, alias->parameter_number, &alias->parameter_shape_index,
                          "tf.aliasing_output", hlo_attr_int(b->module, HLO_DTYPE_S32, leaf)));
  }
  for (size_t i = 0; i < donors->count; ++i) {
    const hlo_desc_donor_t* donor = (const hlo_desc_donor_t*)donors->items + i;
    HLO_TRY(mark_argument(b, &args, donor->parameter_number, &donor->parameter_shape_index,
                          "jax.buffer_donor", hlo_attr_bool(b->module, true)));
  }
  return hlo_desc_mark_layouts(b, func, args.parameters, args.count, root);
}

// PJRT has one buffer per result and no nested tuples.
static hlo_status_t check_results(builder_t* b, const computation_t* entry) {
  const instruction_t* root = find_root(entry);
  bool is_tuple = b->desc->flat_results && root && root->shape->element_type == HLO_DESC_TUPLE;
  const hlo_desc_shape_t* items = is_tuple ? root->shape->tuple_shapes.items : NULL;
  for (size_t i = 0; is_tuple && i < root->shape->tuple_shapes.count; ++i) {
    if (items[i].element_type != HLO_DESC_TUPLE) continue;
    b->current = root;
    return hlo_unimplemented(
        "element %zu of the program's result is a tuple; results must be arrays, or one tuple of "
        "arrays",
        i);
  }
  return hlo_ok();
}

static hlo_status_t module_attrs(builder_t* b) {
  const struct {
    const char* key;
    int64_t value;
  } numbers[] = {{"mhlo.num_partitions", b->desc->num_partitions},
                 {"mhlo.num_replicas", b->desc->replica_count}};
  for (int i = 0; i < 2; ++i) {
    if (numbers[i].value <= 0) continue;
    b->module->extra = hlo_attr_dict_with(b->module, b->module->extra, numbers[i].key,
                                          hlo_attr_int(b->module, HLO_DTYPE_S32, numbers[i].value));
  }
  const hlo_attr_t* dict;
  HLO_TRY(frontend_attrs(b, b->desc->frontend_attributes, &dict));
  if (dict) {
    b->module->extra =
        hlo_attr_dict_with(b->module, b->module->extra, "mhlo.frontend_attributes", dict);
  }
  return hlo_module_status(b->module);
}

static hlo_status_t build_module(builder_t* b) {
  const hlo_desc_module_t* desc = b->desc;
  const computation_t* computations = desc->computations.items;
  if (desc->name.size) {
    b->module->name = hlo_module_string(b->module, (const char*)desc->name.data, desc->name.size);
  }
  HLO_TRY(module_attrs(b));
  for (size_t i = 0; i < desc->computations.count; ++i) {
    if (!hlo_map_put_number(&b->computations, (uint64_t)computations[i].id,
                            (void*)(uintptr_t)&computations[i])) {
      return hlo_status_out_of_memory(0);
    }
  }
  const computation_t* entry =
      hlo_map_get_number(&b->computations, (uint64_t)desc->entry_computation_id);
  if (!entry) return fault("the module has no entry computation");
  hlo_func_t* func;
  HLO_TRY(find_func(b, entry, true, &func));
  HLO_TRY(check_results(b, entry));
  HLO_TRY(mark_arguments(b, func, entry));
  return hlo_module_status(b->module);
}

hlo_status_t hlo_desc_build(const hlo_desc_module_t* desc, const char* file, hlo_arena_t* arena,
                            hlo_module_t* module, uint32_t* out_line, uint32_t* out_col) {
  // A quarter of the allowed memory is about eight times the input: far more than programs need,
  // and little enough to be built in a second or two.
  builder_t b = {.desc = desc,
                 .module = module,
                 .arena = arena,
                 .file = file,
                 .source_left = arena->limit_bytes / 4};
  hlo_status_t status = build_module(&b);
  const computation_t* entry =
      hlo_map_get_number(&b.computations, (uint64_t)desc->entry_computation_id);
  if (!hlo_status_is_ok(status) && !b.current && entry) {
    *out_line = entry->line;
    *out_col = entry->col;
  } else if (!hlo_status_is_ok(status) && b.current) {
    *out_line = b.current->line;
    *out_col = b.current->col;
    if (b.current->name.size) {
      status = hlo_status_annotate(status, "instruction %.*s",
                                   b.current->name.size < 200 ? (int)b.current->name.size : 200,
                                   (const char*)b.current->name.data);
    }
  }
  hlo_map_deinit(&b.computations);
  hlo_map_deinit(&b.funcs);
  hlo_map_deinit(&b.names);
  return status;
}
