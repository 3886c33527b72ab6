// SPDX-License-Identifier: Apache-2.0
// Functions and regions to HLO computations (see export.h). Ids of instructions, names of
// computations and their order depend on the structure only, so that a module read back has the
// same description.
#include "frontend/hlo/export.h"

#include <ctype.h>
#include <stdio.h>

#include "base/memory_kind.h"
#include "base/shape.h"
#include "ir/entry.h"
#include "ir/op_sharding.h"

typedef hlo_exporter_t exporter_t;
typedef hlo_export_scope_t scope_t;
typedef hlo_desc_instruction_t instruction_t;

enum {
  SUNK_ELEMENTS_MAX = 64,  // smaller constants are duplicated instead of passed as operands
  SUNK_DEPTH_MAX = 16,     // depth of the op chains that a region without operands duplicates
  IN_PROGRESS = -1,        // a function that is being described
};

// ---- errors -------------------------------------------------------------------------------------

hlo_status_t hlo_export_fault(const exporter_t* ex, hlo_status_code_t code, const char* format,
                              ...) {
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(code, format, args);
  va_end(args);
  if (!ex->current) return status;
  HLO_SCOPED_STRBUF place = {0};
  hlo_loc_format(ex->module, ex->current->loc, &place);
  if (place.length) status = hlo_status_annotate(status, "%s", hlo_strbuf_text(&place));
  return status;
}

hlo_status_t hlo_export_refuse(const exporter_t* ex, const char* why) {
  return hlo_export_fault(ex, HLO_STATUS_UNIMPLEMENTED, "%s has no form in HLO: %s",
                          ex->current ? hlo_op_info(ex->current->op)->name : "the program", why);
}

// ---- shapes -------------------------------------------------------------------------------------

hlo_wire_bytes_t hlo_export_text(const char* text) {
  return (hlo_wire_bytes_t){(const uint8_t*)text, strlen(text)};
}

hlo_status_t hlo_export_ints(const exporter_t* ex, uint32_t count, const int64_t* values,
                             hlo_wire_array_t* out_array) {
  int64_t* items = hlo_arena_array(ex->arena, count, sizeof *items);
  if (!items) return hlo_arena_status(ex->arena);
  if (count) memcpy(items, values, count * sizeof *items);
  *out_array = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

hlo_desc_shape_t hlo_export_tuple_shape(uint32_t count, hlo_desc_shape_t* items) {
  return (hlo_desc_shape_t){.element_type = HLO_DESC_TUPLE, .tuple_shapes = {items, count}};
}

hlo_status_t hlo_export_array_shape(const exporter_t* ex, int32_t element_type, uint32_t rank,
                                    const int64_t* dims, hlo_desc_shape_t* out_shape) {
  *out_shape = (hlo_desc_shape_t){.element_type = element_type};
  HLO_TRY(hlo_export_ints(ex, rank, dims, &out_shape->dimensions));
  int64_t order[HLO_RANK_MAX];
  for (uint32_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  out_shape->layout = hlo_arena_alloc_zeroed(ex->arena, sizeof *out_shape->layout);
  if (!out_shape->layout) return hlo_arena_status(ex->arena);
  return hlo_export_ints(ex, rank, order, &out_shape->layout->minor_to_major);
}

static hlo_status_t tensor_shape(const exporter_t* ex, const hlo_type_t* type,
                                 hlo_desc_shape_t* out_shape) {
  int32_t element_type = hlo_dtype_info(type->dtype)->primitive_type;
  if (type->quant || element_type == 0) return hlo_export_refuse(ex, "its element type");
  int64_t dims[HLO_RANK_MAX];
  bool* dynamic = NULL;
  for (uint32_t i = 0; i < type->rank; ++i) {
    dims[i] = type->dims[i];
    if (dims[i] >= 0) continue;
    dims[i] = type->bounds && type->bounds[i] >= 0 ? type->bounds[i] : -1;
    if (!dynamic) dynamic = hlo_arena_array(ex->arena, type->rank, sizeof *dynamic);
    if (!dynamic) return hlo_arena_status(ex->arena);
    dynamic[i] = true;
  }
  HLO_TRY(hlo_export_array_shape(ex, element_type, type->rank, dims, out_shape));
  if (dynamic) out_shape->is_dynamic_dimension = (hlo_wire_array_t){dynamic, type->rank};
  return hlo_ok();
}

hlo_status_t hlo_export_shape(const exporter_t* ex, const hlo_type_t* type,
                              hlo_desc_shape_t* out_shape) {
  if (type->kind == HLO_TYPE_TENSOR) return tensor_shape(ex, type, out_shape);
  if (type->kind == HLO_TYPE_TOKEN) {
    *out_shape = (hlo_desc_shape_t){.element_type = HLO_DESC_TOKEN};
    return hlo_ok();
  }
  if (type->kind == HLO_TYPE_BUFFER) {
    hlo_desc_shape_t* array = hlo_arena_alloc(ex->arena, sizeof *array);
    if (!array) return hlo_arena_status(ex->arena);
    *out_shape = (hlo_desc_shape_t){.element_type = HLO_DESC_BUFFER, .tuple_shapes = {array, 1}};
    return tensor_shape(ex, type, array);
  }
  if (type->kind != HLO_TYPE_TUPLE) return hlo_export_refuse(ex, "a value of its type");
  hlo_desc_shape_t* items = hlo_arena_array(ex->arena, type->element_count, sizeof *items);
  if (!items) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < type->element_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, type->elements[i], &items[i]));
  }
  *out_shape = hlo_export_tuple_shape(type->element_count, items);
  return hlo_ok();
}

hlo_status_t hlo_export_result_shapes(exporter_t* ex, const hlo_node_t* node,
                                      hlo_desc_shape_t** out_shapes) {
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, node->result_count, sizeof *shapes);
  if (!shapes) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_export_shape(ex, node->results[i].type, &shapes[i]));
  }
  *out_shapes = shapes;
  return hlo_ok();
}

// ---- instructions -------------------------------------------------------------------------------

// Records the location of the current node.
static hlo_status_t set_metadata(const exporter_t* ex, instruction_t* in) {
  const char* name;
  const hlo_loc_info_t* file =
      ex->current ? hlo_loc_find(ex->module, ex->current->loc, &name) : NULL;
  if (!ex->current || (!file && !name)) return hlo_ok();
  in->metadata = hlo_arena_alloc_zeroed(ex->arena, sizeof *in->metadata);
  if (!in->metadata) return hlo_arena_status(ex->arena);
  if (name) in->metadata->op_name = hlo_export_text(name);
  if (file) {
    in->metadata->source_file = hlo_export_text(file->text);
    in->metadata->source_line = file->line < INT32_MAX ? (int32_t)file->line : 0;
    in->metadata->source_column = file->col < INT32_MAX ? (int32_t)file->col : 0;
  }
  return hlo_ok();
}

static instruction_t* find_instruction(scope_t* s, int64_t id) {
  // The ids of a computation ascend.
  size_t low = 0, high = s->instructions.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (s->instructions.items[middle].id < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return &s->instructions.items[low];
}

hlo_status_t hlo_export_add(scope_t* s, const char* opcode, const hlo_desc_shape_t* shape,
                            uint32_t operand_count, const int64_t* operands,
                            const instruction_t* fields, int64_t* out_id) {
  exporter_t* ex = s->exporter;
  instruction_t in = fields ? *fields : (instruction_t){0};
  in.id = ++ex->instruction_count;
  const char* name = hlo_arena_printf(
      ex->arena, "%s.%lld", strcmp(opcode, "parameter") == 0 ? "Arg" : opcode, (long long)in.id);
  in.shape = hlo_arena_alloc(ex->arena, sizeof *in.shape);
  if (!name || !in.shape) return hlo_arena_status(ex->arena);
  in.name = hlo_export_text(name);
  in.opcode = hlo_export_text(opcode);
  *in.shape = *shape;
  HLO_TRY(hlo_export_ints(ex, operand_count, operands, &in.operand_ids));
  HLO_TRY(set_metadata(ex, &in));
  if (!hlo_vec_push(&s->instructions, in)) return hlo_status_out_of_memory(sizeof in);
  *out_id = in.id;
  return hlo_ok();
}

hlo_status_t hlo_export_bind(scope_t* s, const hlo_value_t* value, int64_t id) {
  return hlo_map_put_pointer(&s->values, value, (void*)(intptr_t)id) ? hlo_ok()
                                                                     : hlo_status_out_of_memory(0);
}

hlo_status_t hlo_export_element(scope_t* s, int64_t tuple, uint32_t index,
                                const hlo_desc_shape_t* shape, int64_t* out_id) {
  instruction_t fields = {.tuple_index = index};
  return hlo_export_add(s, "get-tuple-element", shape, 1, &tuple, &fields, out_id);
}

hlo_status_t hlo_export_unpack(scope_t* s, int64_t id, uint32_t first, uint32_t count,
                               hlo_value_t* values, const hlo_desc_shape_t* shapes) {
  for (uint32_t i = 0; i < count; ++i) {
    int64_t element;
    if (hlo_value_is_unused(&values[i])) continue;
    HLO_TRY(hlo_export_element(s, id, first + i, &shapes[i], &element));
    HLO_TRY(hlo_export_bind(s, &values[i], element));
  }
  return hlo_ok();
}

hlo_status_t hlo_export_pack(scope_t* s, const hlo_export_ids_t* ids, int64_t* out_id) {
  if (ids->count == 1) {
    *out_id = ids->items[0];
    return hlo_ok();
  }
  hlo_desc_shape_t* shapes = hlo_arena_array(s->exporter->arena, ids->count, sizeof *shapes);
  if (!shapes) return hlo_arena_status(s->exporter->arena);
  for (uint32_t i = 0; i < ids->count; ++i) shapes[i] = *find_instruction(s, ids->items[i])->shape;
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(ids->count, shapes);
  return hlo_export_add(s, "tuple", &tuple, ids->count, ids->items, NULL, out_id);
}

hlo_status_t hlo_export_operands(scope_t* s, const hlo_node_t* node, uint32_t first, uint32_t last,
                                 hlo_export_ids_t* out_ids) {
  uint32_t count = last - first;
  *out_ids = (hlo_export_ids_t){hlo_arena_array(s->exporter->arena, count, sizeof(int64_t)), count};
  if (!out_ids->items) return hlo_arena_status(s->exporter->arena);
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_export_value(s, hlo_node_operand(node, first + i), &out_ids->items[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_export_results(scope_t* s, const hlo_node_t* node, const char* opcode,
                                const hlo_export_ids_t* operands, const instruction_t* fields) {
  hlo_desc_shape_t* shapes;
  int64_t id;
  HLO_TRY(hlo_export_result_shapes(s->exporter, node, &shapes));
  if (node->result_count == 1) {
    HLO_TRY(hlo_export_add(s, opcode, shapes, operands->count, operands->items, fields, &id));
    return hlo_export_bind(s, &node->results[0], id);
  }
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(node->result_count, shapes);
  HLO_TRY(hlo_export_add(s, opcode, &tuple, operands->count, operands->items, fields, &id));
  return hlo_export_unpack(s, id, 0, node->result_count, node->results, shapes);
}

hlo_status_t hlo_export_row(scope_t* s, const hlo_node_t* node, const char* opcode) {
  exporter_t* ex = s->exporter;
  instruction_t fields = {0};
  hlo_export_ids_t operands;
  HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, &operands));
  HLO_TRY(hlo_desc_fields(ex, node, &fields));
  HLO_TRY(hlo_export_extra(ex, node->extra, &fields));
  int64_t* calls = hlo_arena_array(ex->arena, node->region_count, sizeof *calls);
  if (!calls) return hlo_arena_status(ex->arena);
  for (uint32_t r = 0; r < node->region_count; ++r) {
    HLO_TRY(
        hlo_export_region(ex, node->regions[r], HLO_EXPORT_SEPARATE, 0, NULL, false, &calls[r]));
    ex->current = node;
  }
  HLO_TRY(hlo_export_calls(ex, node->region_count, calls, &fields));
  return hlo_export_results(s, node, opcode, &operands, &fields);
}

hlo_status_t hlo_export_node(scope_t* s, const hlo_node_t* node) {
  exporter_t* ex = s->exporter;
  const hlo_node_t* outer = ex->current;
  ex->current = node;
  bool found = false;
  HLO_TRY(hlo_export_special(s, node, &found));
  if (!found) {
    const char* opcode = hlo_op_info(node->op)->hlo_name;
    if (!opcode[0]) return hlo_export_refuse(ex, "HLO lacks the op");
    HLO_TRY(hlo_export_row(s, node, opcode));
  }
  ex->current = outer;
  return hlo_ok();
}

// ---- values of outer regions --------------------------------------------------------------------

static bool is_small_constant(const hlo_value_t* value) {
  if (!value->def || value->def->op != HLO_OP_constant) return false;
  const hlo_literal_t* literal = hlo_node_attr(value->def, HLO_ATTR_value)->literal;
  return literal->is_splat || literal->element_count <= SUNK_ELEMENTS_MAX;
}

// Returns true for a pure op that depends only on such ops.
static bool can_sink(const hlo_value_t* value, int depth) {
  const hlo_node_t* node = value->def;
  if (!node || depth == 0 || node->region_count ||
      !(hlo_op_info(node->op)->traits & HLO_TRAIT_PURE)) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!can_sink(hlo_node_operand(node, i), depth - 1)) return false;
  }
  return true;
}

hlo_status_t hlo_export_value(scope_t* s, const hlo_value_t* value, int64_t* out_id) {
  *out_id = (int64_t)(intptr_t)hlo_map_get_pointer(&s->values, value);
  if (*out_id) return hlo_ok();
  if (!is_small_constant(value) && !(s->sinks && can_sink(value, SUNK_DEPTH_MAX))) {
    return hlo_export_refuse(s->exporter,
                             "its region uses a value of an outer one that is not a constant");
  }
  HLO_TRY(hlo_export_node(s, value->def));
  *out_id = (int64_t)(intptr_t)hlo_map_get_pointer(&s->values, value);
  return hlo_ok();
}

typedef struct captures {
  exporter_t* exporter;
  hlo_map_t seen;
  HLO_VEC(const hlo_value_t*) values;
  uint32_t region_count;
  hlo_region_t* const* regions;
} captures_t;

static bool is_inside(const captures_t* c, const hlo_region_t* region) {
  while (region) {
    for (uint32_t r = 0; r < c->region_count; ++r) {
      if (region == c->regions[r]) return true;
    }
    region = region->parent ? region->parent->parent : NULL;
  }
  return false;
}

static hlo_status_t collect(captures_t* c, const hlo_region_t* region, int depth) {
  if (depth > HLO_DESC_REGION_DEPTH) return hlo_export_refuse(c->exporter, "regions too deep");
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const hlo_value_t* value = hlo_node_operand(node, i);
      if (is_small_constant(value) || hlo_map_get_pointer(&c->seen, value) ||
          is_inside(c, value->region)) {
        continue;
      }
      if (!hlo_map_put_pointer(&c->seen, value, c) || !hlo_vec_push(&c->values, value)) {
        return hlo_status_out_of_memory(0);
      }
    }
    for (uint32_t r = 0; r < node->region_count; ++r) {
      HLO_TRY(collect(c, node->regions[r], depth + 1));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_export_captures(exporter_t* ex, uint32_t region_count,
                                 hlo_region_t* const* regions, uint32_t* out_count,
                                 const hlo_value_t*** out_values) {
  captures_t c = {.exporter = ex, .region_count = region_count, .regions = regions};
  hlo_status_t status = hlo_ok();
  for (uint32_t r = 0; r < region_count && hlo_status_is_ok(status); ++r) {
    status = collect(&c, regions[r], 0);
  }
  if (hlo_status_is_ok(status)) {
    *out_count = (uint32_t)c.values.count;
    *out_values = hlo_arena_array(ex->arena, c.values.count, sizeof **out_values);
    if (!*out_values) status = hlo_arena_status(ex->arena);
    if (*out_values && c.values.count) {
      memcpy(*out_values, c.values.items, c.values.count * sizeof *c.values.items);
    }
  }
  hlo_map_deinit(&c.seen);
  hlo_vec_deinit(&c.values);
  return status;
}

// ---- computations -------------------------------------------------------------------------------

// Returns an unused name like `wanted`, of the characters that HLO allows.
static hlo_status_t unique_name(exporter_t* ex, const char* wanted, const char** out_name) {
  char* base = hlo_arena_strndup(ex->arena, wanted, strlen(wanted));
  if (!base) return hlo_arena_status(ex->arena);
  for (char* c = base; *c; ++c) {
    bool first_fits = isalpha((unsigned char)*c) || *c == '_';
    bool fits = first_fits || (c > base && (isdigit((unsigned char)*c) || strchr(".-", *c)));
    if (!fits) *c = '_';
  }
  const char* name = *base ? base : "_";
  for (unsigned n = 1; hlo_map_get(&ex->names, name, strlen(name)); ++n) {
    name = hlo_arena_printf(ex->arena, "%s.%u", base, n);
    if (!name) return hlo_arena_status(ex->arena);
  }
  if (!hlo_map_put(&ex->names, name, strlen(name), ex)) return hlo_status_out_of_memory(0);
  *out_name = name;
  return hlo_ok();
}

static hlo_status_t export_replication(const exporter_t* ex, const hlo_attr_t* attrs,
                                       hlo_desc_replication_t** out) {
  const hlo_attr_t* list = hlo_attr_dict_get(attrs, "mhlo.parameter_replication");
  if (!list || list->kind != HLO_ATTR_KIND_ARRAY || list->count != 1 ||
      list->items[0]->kind != HLO_ATTR_KIND_BOOL) {
    return hlo_ok();
  }
  hlo_desc_replication_t* replication = hlo_arena_alloc_zeroed(ex->arena, sizeof *replication);
  bool* leaf = hlo_arena_alloc(ex->arena, sizeof *leaf);
  if (!replication || !leaf) return hlo_arena_status(ex->arena);
  *leaf = list->items[0]->i != 0;
  replication->leaves = (hlo_wire_array_t){leaf, 1};
  *out = replication;
  return hlo_ok();
}

static hlo_status_t add_parameter(scope_t* s, uint32_t number, const hlo_desc_shape_t* shape,
                                  const hlo_attr_t* attrs, int64_t* out_id) {
  instruction_t fields = {.parameter_number = number};
  HLO_TRY(hlo_export_extra(s->exporter, attrs, &fields));
  HLO_TRY(export_replication(s->exporter, attrs, &fields.parameter_replication));
  return hlo_export_add(s, "parameter", shape, 0, NULL, &fields, out_id);
}

// Returns the entry function if `region` is its body; only the entry has layouts at its boundary.
static const hlo_func_t* entry_of(const scope_t* s, const hlo_region_t* region) {
  const hlo_func_t* func = region->parent ? NULL : region->func;
  return func && func == hlo_module_entry(s->exporter->module) ? func : NULL;
}

// Returns the shape in the program of a value whose type has the dimensions in memory order.
static hlo_status_t program_side_shape(const exporter_t* ex, const hlo_attr_t* layout,
                                       const hlo_desc_shape_t* in_memory,
                                       hlo_desc_shape_t* out_shape) {
  const uint32_t rank = (uint32_t)in_memory->dimensions.count;
  const int64_t* from = in_memory->dimensions.items;
  int64_t dims[HLO_RANK_MAX];
  if (layout->kind != HLO_ATTR_KIND_INTS || layout->count != rank ||
      !hlo_dim_order_is_valid(rank, layout->values)) {
    return hlo_export_fault(ex, HLO_STATUS_INVALID_ARGUMENT,
                            HLO_LAYOUT_ATTR " is not a permutation of %u dimensions", rank);
  }
  for (uint32_t i = 0; i < rank; ++i) dims[layout->values[rank - 1 - i]] = from[i];
  HLO_TRY(hlo_export_array_shape(ex, in_memory->element_type, rank, dims, out_shape));
  return hlo_export_ints(ex, rank, layout->values, &out_shape->layout->minor_to_major);
}

// A bitcast turns a parameter of another layout into a row-major array.
static hlo_status_t add_bitcast(scope_t* s, const hlo_desc_shape_t* shape, int64_t from,
                                int64_t* out_id) {
  return hlo_export_add(s, "bitcast", shape, 1, &from, NULL, out_id);
}

static hlo_status_t separate_parameters(scope_t* s, const hlo_region_t* region) {
  const hlo_func_t* func = region->parent ? NULL : region->func;
  const hlo_func_t* entry = entry_of(s, region);
  hlo_desc_shape_t* shapes = hlo_arena_array(s->exporter->arena, region->arg_count, sizeof *shapes);
  int64_t* ids = hlo_arena_array(s->exporter->arena, region->arg_count, sizeof *ids);
  if (!shapes || !ids) return hlo_arena_status(s->exporter->arena);
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    const hlo_attr_t* attrs = func && func->arg_attrs ? func->arg_attrs[i] : NULL;
    const hlo_attr_t* layout = entry ? hlo_attr_dict_get(attrs, HLO_LAYOUT_ATTR) : NULL;
    hlo_desc_shape_t outer;
    HLO_TRY(hlo_export_shape(s->exporter, region->args[i]->type, &shapes[i]));
    if (layout) HLO_TRY(program_side_shape(s->exporter, layout, &shapes[i], &outer));
    HLO_TRY(add_parameter(s, i, layout ? &outer : &shapes[i], attrs, &ids[i]));
  }
  for (uint32_t i = 0; i < region->arg_count; ++i) {  // after all parameters
    if (entry && hlo_func_argument_attr(entry, i, HLO_LAYOUT_ATTR)) {
      HLO_TRY(add_bitcast(s, &shapes[i], ids[i], &ids[i]));
    }
    HLO_TRY(hlo_export_bind(s, region->args[i], ids[i]));
  }
  return hlo_ok();
}

// A bitcast reads the bytes of its operand, so an instruction of another layout is copied first.
static hlo_status_t row_major_result(scope_t* s, int64_t* id, hlo_desc_shape_t* out_shape) {
  const hlo_desc_shape_t made = *find_instruction(s, *id)->shape;
  const uint32_t rank = (uint32_t)made.dimensions.count;
  HLO_TRY(hlo_export_array_shape(s->exporter, made.element_type, rank, made.dimensions.items,
                                 out_shape));
  if (!made.layout || hlo_dim_order_is_row_major(rank, made.layout->minor_to_major.items)) {
    return hlo_ok();
  }
  return hlo_export_add(s, "copy", out_shape, 1, id, NULL, id);
}

// Converts results from row-major arrays to their layouts.
static hlo_status_t restore_layouts(scope_t* s, const hlo_region_t* region,
                                    const hlo_export_ids_t* results) {
  const hlo_func_t* entry = entry_of(s, region);
  for (uint32_t i = 0; entry && i < results->count; ++i) {
    const hlo_attr_t* layout = hlo_func_result_attr(entry, i, HLO_LAYOUT_ATTR);
    if (!layout) continue;
    hlo_desc_shape_t in_memory, outer;
    HLO_TRY(row_major_result(s, &results->items[i], &in_memory));
    HLO_TRY(program_side_shape(s->exporter, layout, &in_memory, &outer));
    HLO_TRY(add_bitcast(s, &outer, results->items[i], &results->items[i]));
  }
  return hlo_ok();
}

// XLA stores the shardings of Shardy of a function's results as calls.
static hlo_status_t state_shardy_results(scope_t* s, const hlo_region_t* region,
                                         const hlo_export_ids_t* results) {
  exporter_t* ex = s->exporter;
  const hlo_func_t* func = region->parent || !ex->partitioned ? NULL : region->func;
  for (uint32_t i = 0; func && i < results->count; ++i) {
    const hlo_attr_t* sharding = hlo_func_result_attr(func, i, "sdy.sharding");
    const char* text;
    if (!sharding) continue;
    instruction_t fields = {.custom_call_target = hlo_export_text("xla.sdy.FuncResultSharding")};
    const hlo_desc_shape_t shape = *find_instruction(s, results->items[i])->shape;
    HLO_TRY(hlo_export_sharding_text(ex, sharding, "#sdy.sharding_per_value", &text));
    HLO_TRY(hlo_export_frontend(ex, "xla.sdy.sharding", text, strlen(text),
                                &fields.frontend_attributes));
    HLO_TRY(hlo_export_add(s, "custom-call", &shape, 1, &results->items[i], &fields,
                           &results->items[i]));
  }
  return hlo_ok();
}

static bool is_used_in(const hlo_value_t* value, const hlo_region_t* region) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (hlo_region_ancestor(region, use->user)) return true;
  }
  return false;
}

// Packs all arguments and captured values into one parameter and extracts the used ones; *out_ids
// has the captured ones.
static hlo_status_t packed_parameter(scope_t* s, const hlo_region_t* region,
                                     uint32_t captured_count, const hlo_value_t* const* captured,
                                     bool passes_on, hlo_export_ids_t* out_ids) {
  exporter_t* ex = s->exporter;
  uint32_t count = region->arg_count + captured_count;
  hlo_desc_shape_t* shapes = hlo_arena_array(ex->arena, count, sizeof *shapes);
  *out_ids = (hlo_export_ids_t){hlo_arena_array(ex->arena, captured_count, sizeof(int64_t)),
                                captured_count};
  if (!shapes || !out_ids->items) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value =
        i < region->arg_count ? region->args[i] : captured[i - region->arg_count];
    HLO_TRY(hlo_export_shape(ex, value->type, &shapes[i]));
  }
  hlo_desc_shape_t tuple = hlo_export_tuple_shape(count, shapes);
  int64_t parameter;
  HLO_TRY(add_parameter(s, 0, count == 1 ? shapes : &tuple, NULL, &parameter));
  for (uint32_t i = 0; i < count; ++i) {
    bool is_arg = i < region->arg_count;
    const hlo_value_t* value = is_arg ? region->args[i] : captured[i - region->arg_count];
    int64_t id = parameter;
    if (is_arg ? hlo_value_is_unused(value) : !passes_on && !is_used_in(value, region)) continue;
    if (count != 1) HLO_TRY(hlo_export_element(s, parameter, i, &shapes[i], &id));
    if (!is_arg) out_ids->items[i - region->arg_count] = id;
    HLO_TRY(hlo_export_bind(s, value, id));
  }
  return hlo_ok();
}

// Returns true for a constant that is only the shape of random numbers: HLO uses the result's
// shape.
static bool is_rng_shape(const hlo_node_t* node) {
  if (node->op != HLO_OP_constant || !node->results[0].uses) return false;
  for (const hlo_use_t* use = node->results[0].uses; use; use = use->next) {
    if (use->user->op != HLO_OP_rng || use != &use->user->operands[2]) return false;
  }
  return true;
}

// Returns the text of the sharding of a result of the entry, or NULL.
static const hlo_attr_t* result_sharding(const hlo_func_t* entry, uint32_t number) {
  const hlo_attr_t* text = hlo_func_result_attr(entry, number, HLO_OP_SHARDING_ATTR);
  const bool is_text =
      text && text->kind == HLO_ATTR_KIND_STRING && text->text_length && text->text[0] == '{';
  return is_text ? text : NULL;
}

// Gives the root of the entry the shardings of the results; an instruction that has another one, or
// is a parameter, is copied first.
static hlo_status_t mark_root(scope_t* s, const hlo_func_t* entry, uint32_t count, int64_t* root) {
  HLO_SCOPED_STRBUF text = {0};
  bool found = false;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_attr_t* sharding = result_sharding(entry, i);
    found |= sharding != NULL;
    hlo_strbuf_puts(&text, i ? ", " : count == 1 ? "" : "{");
    hlo_strbuf_puts(&text, sharding ? sharding->text : "{replicated}");
  }
  if (!found) return hlo_ok();
  if (count != 1) hlo_strbuf_putc(&text, '}');
  HLO_TRY(hlo_strbuf_status(&text));
  const char* copy = hlo_arena_strndup(s->exporter->arena, hlo_strbuf_text(&text), text.length);
  if (!copy) return hlo_arena_status(s->exporter->arena);
  const hlo_wire_bytes_t sharding = hlo_export_text(copy);
  instruction_t* made = find_instruction(s, *root);
  if (hlo_bytes_equal(made->sharding, copy)) return hlo_ok();
  if (made->sharding.size || hlo_bytes_equal(made->opcode, "parameter")) {
    const instruction_t fields = {.sharding = sharding};
    const hlo_desc_shape_t shape = *made->shape;
    return hlo_export_add(s, "copy", &shape, 1, root, &fields, root);
  }
  made->sharding = sharding;
  return hlo_ok();
}

static hlo_status_t fill_scope(scope_t* s, const hlo_region_t* region,
                               const hlo_export_ids_t* passed_on, int64_t* out_root) {
  exporter_t* ex = s->exporter;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (!(hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR)) {
      if (!is_rng_shape(node)) HLO_TRY(hlo_export_node(s, node));
      continue;
    }
    hlo_export_ids_t results, all;
    ex->current = node;
    HLO_TRY(hlo_export_operands(s, node, 0, node->operand_count, &results));
    HLO_TRY(restore_layouts(s, region, &results));
    HLO_TRY(state_shardy_results(s, region, &results));
    all.count = results.count + passed_on->count;
    all.items = hlo_arena_array(ex->arena, all.count, sizeof *all.items);
    if (!all.items) return hlo_arena_status(ex->arena);
    for (uint32_t i = 0; i < all.count; ++i) {
      all.items[i] = i < results.count ? results.items[i] : passed_on->items[i - results.count];
    }
    HLO_TRY(hlo_export_pack(s, &all, out_root));
    const hlo_func_t* entry = entry_of(s, region);
    return entry ? mark_root(s, entry, all.count, out_root) : hlo_ok();
  }
  return hlo_export_fault(ex, HLO_STATUS_INVALID_ARGUMENT, "a region has no terminator");
}

static hlo_status_t program_shape(scope_t* s, int64_t root, hlo_desc_program_shape_t** out_shape) {
  exporter_t* ex = s->exporter;
  hlo_desc_program_shape_t* shape = hlo_arena_alloc_zeroed(ex->arena, sizeof *shape);
  if (!shape) return hlo_arena_status(ex->arena);
  size_t count = 0;
  const instruction_t* items = s->instructions.items;
  while (count < s->instructions.count && hlo_bytes_equal(items[count].opcode, "parameter")) {
    ++count;
  }
  hlo_desc_shape_t* parameters = hlo_arena_array(ex->arena, count, sizeof *parameters);
  hlo_wire_bytes_t* names = hlo_arena_array(ex->arena, count, sizeof *names);
  if (!parameters || !names) return hlo_arena_status(ex->arena);
  for (size_t i = 0; i < count; ++i) {
    parameters[i] = *items[i].shape;
    names[i] = items[i].name;
  }
  shape->parameters = (hlo_wire_array_t){parameters, count};
  shape->parameter_names = (hlo_wire_array_t){names, count};
  shape->result = find_instruction(s, root)->shape;
  *out_shape = shape;
  return hlo_ok();
}

static hlo_status_t keep_computation(scope_t* s, const char* name, int64_t root, int64_t* out_id) {
  exporter_t* ex = s->exporter;
  hlo_desc_computation_t computation = {.name = hlo_export_text(name), .root_id = root};
  size_t count = s->instructions.count;
  instruction_t* items = hlo_arena_array(ex->arena, count, sizeof *items);
  if (!items) return hlo_arena_status(ex->arena);
  HLO_TRY(program_shape(s, root, &computation.shape));
  memcpy(items, s->instructions.items, count * sizeof *items);
  computation.instructions = (hlo_wire_array_t){items, count};
  computation.id = (int64_t)ex->computations.count + 1;
  if (!hlo_vec_push(&ex->computations, computation)) {
    return hlo_status_out_of_memory(sizeof computation);
  }
  *out_id = computation.id;
  return hlo_ok();
}

static void end_scope(scope_t* s) {
  hlo_map_deinit(&s->values);
  hlo_vec_deinit(&s->instructions);
  --s->exporter->depth;
}

static hlo_status_t begin_scope(exporter_t* ex, scope_t* s) {
  if (ex->depth >= HLO_DESC_REGION_DEPTH) return hlo_export_refuse(ex, "calls too deep");
  ++ex->depth;
  s->exporter = ex;
  return hlo_ok();
}

static hlo_status_t fill_region(scope_t* s, const hlo_region_t* region, hlo_export_args_t args,
                                uint32_t captured_count, const hlo_value_t* const* captured,
                                bool passes_on, int64_t* out_root) {
  hlo_export_ids_t ids = {0};
  if (args == HLO_EXPORT_SEPARATE) {
    HLO_TRY(separate_parameters(s, region));
  } else {
    HLO_TRY(packed_parameter(s, region, captured_count, captured, passes_on, &ids));
  }
  if (!passes_on) ids.count = 0;
  return fill_scope(s, region, &ids, out_root);
}

// Keeps what a region or a wrapper became, under its name (NULL: the next unused one).
static hlo_status_t keep_region(scope_t* s, const char* wanted, int64_t root, int64_t* out_id) {
  exporter_t* ex = s->exporter;
  const char* name;
  char number[32];
  if (!wanted) {
    do {
      snprintf(number, sizeof number, "region_%u", ex->region_count++);
    } while (hlo_map_get(&ex->names, number, strlen(number)));
    wanted = number;
  }
  HLO_TRY(unique_name(ex, wanted, &name));
  return keep_computation(s, name, root, out_id);
}

hlo_status_t hlo_export_region(exporter_t* ex, const hlo_region_t* region, hlo_export_args_t args,
                               uint32_t captured_count, const hlo_value_t* const* captured,
                               bool passes_on, int64_t* out_id) {
  scope_t s = {.sinks = args == HLO_EXPORT_SEPARATE};
  int64_t root = 0;
  HLO_TRY(begin_scope(ex, &s));
  hlo_status_t status = fill_region(&s, region, args, captured_count, captured, passes_on, &root);
  if (hlo_status_is_ok(status)) status = keep_region(&s, NULL, root, out_id);
  end_scope(&s);
  return status;
}

hlo_status_t hlo_export_named_region(exporter_t* ex, const hlo_region_t* region, const char* name,
                                     int64_t* out_id) {
  scope_t s = {.sinks = true};
  int64_t root = 0;
  HLO_TRY(begin_scope(ex, &s));
  hlo_status_t status = fill_region(&s, region, HLO_EXPORT_SEPARATE, 0, NULL, false, &root);
  if (hlo_status_is_ok(status)) status = keep_region(&s, name, root, out_id);
  end_scope(&s);
  return status;
}

static hlo_status_t wrapper_body(scope_t* s, int64_t callee, const hlo_desc_shape_t* parameter,
                                 const hlo_desc_shape_t* result, int64_t* out_id) {
  instruction_t fields = {0};
  int64_t argument, root;
  HLO_TRY(add_parameter(s, 0, parameter, NULL, &argument));
  HLO_TRY(hlo_export_calls(s->exporter, 1, &callee, &fields));
  HLO_TRY(hlo_export_add(s, "call", result, 1, &argument, &fields, &root));
  return keep_region(s, NULL, root, out_id);
}

hlo_status_t hlo_export_wrapper(exporter_t* ex, int64_t callee, const hlo_desc_shape_t* parameter,
                                const hlo_desc_shape_t* result, int64_t* out_id) {
  scope_t s = {0};
  HLO_TRY(begin_scope(ex, &s));
  hlo_status_t status = wrapper_body(&s, callee, parameter, result, out_id);
  end_scope(&s);
  return status;
}

static hlo_status_t func_body(scope_t* s, const hlo_func_t* func, const char* name,
                              int64_t* out_id) {
  int64_t root = 0;
  HLO_TRY(fill_region(s, func->body, HLO_EXPORT_SEPARATE, 0, NULL, false, &root));
  return keep_computation(s, name, root, out_id);
}

static hlo_status_t make_func(exporter_t* ex, const hlo_func_t* func, const char* name,
                              int64_t* out_id) {
  scope_t s = {0};
  const hlo_node_t* caller = ex->current;
  HLO_TRY(begin_scope(ex, &s));
  ex->current = NULL;
  hlo_status_t status = func_body(&s, func, name, out_id);
  end_scope(&s);
  if (hlo_status_is_ok(status)) ex->current = caller;
  return status;
}

hlo_status_t hlo_export_func(exporter_t* ex, const hlo_func_t* func, int64_t* out_id) {
  intptr_t known = (intptr_t)hlo_map_get_pointer(&ex->funcs, func);
  if (known == IN_PROGRESS) {
    return hlo_export_fault(ex, HLO_STATUS_INVALID_ARGUMENT, "@%s calls itself", func->name);
  }
  if (known) {
    *out_id = known;
    return hlo_ok();
  }
  if (!func->body) return hlo_export_refuse(ex, "the function has no body");
  const char* name;
  HLO_TRY(unique_name(ex, func->name, &name));
  if (!hlo_map_put_pointer(&ex->funcs, func, (void*)(intptr_t)IN_PROGRESS)) {
    return hlo_status_out_of_memory(0);
  }
  HLO_TRY(make_func(ex, func, name, out_id));
  return hlo_map_put_pointer(&ex->funcs, func, (void*)(intptr_t)*out_id)
             ? hlo_ok()
             : hlo_status_out_of_memory(0);
}

hlo_status_t hlo_export_calls(const exporter_t* ex, uint32_t count, const int64_t* ids,
                              instruction_t* in) {
  return hlo_export_ints(ex, count, ids, &in->called_computation_ids);
}

// ---- the module ---------------------------------------------------------------------------------

static int64_t device_count(const hlo_module_t* module, const char* key) {
  const hlo_attr_t* attr = hlo_attr_dict_get(module->extra, key);
  return attr && attr->kind == HLO_ATTR_KIND_INT && attr->i > 1 ? attr->i : 0;
}

static hlo_status_t add_alias(exporter_t* ex, const hlo_func_t* entry, uint32_t arg,
                              hlo_desc_aliases_t* aliases, hlo_desc_donors_t* donors) {
  const hlo_attr_t* alias = hlo_attr_dict_get(entry->arg_attrs[arg], "tf.aliasing_output");
  const hlo_attr_t* donor = hlo_attr_dict_get(entry->arg_attrs[arg], "jax.buffer_donor");
  if (alias && alias->kind == HLO_ATTR_KIND_INT) {
    enum { MAY_ALIAS = 1 };
    uint32_t results = entry->type->element_count - entry->type->input_count;
    hlo_desc_alias_t* to = (hlo_desc_alias_t*)aliases->entries.items + aliases->entries.count++;
    *to = (hlo_desc_alias_t){.parameter_number = arg, .kind = MAY_ALIAS};
    return hlo_export_ints(ex, results == 1 ? 0 : 1, &alias->i, &to->output_shape_index);
  }
  if (donor && donor->kind == HLO_ATTR_KIND_BOOL && donor->i) {
    hlo_desc_donor_t* to = (hlo_desc_donor_t*)donors->entries.items + donors->entries.count++;
    *to = (hlo_desc_donor_t){.parameter_number = arg};
  }
  return hlo_ok();
}

static hlo_status_t add_aliases(exporter_t* ex, const hlo_func_t* entry, hlo_desc_module_t* desc) {
  uint32_t count = entry->body->arg_count;
  if (!entry->arg_attrs || count == 0) return hlo_ok();
  hlo_desc_aliases_t* aliases = hlo_arena_alloc_zeroed(ex->arena, sizeof *aliases);
  hlo_desc_donors_t* donors = hlo_arena_alloc_zeroed(ex->arena, sizeof *donors);
  if (!aliases || !donors) return hlo_arena_status(ex->arena);
  aliases->entries.items = hlo_arena_array(ex->arena, count, sizeof(hlo_desc_alias_t));
  donors->entries.items = hlo_arena_array(ex->arena, count, sizeof(hlo_desc_donor_t));
  if (!aliases->entries.items || !donors->entries.items) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(add_alias(ex, entry, i, aliases, donors));
  if (aliases->entries.count) desc->input_output_alias = aliases;
  if (donors->entries.count) desc->buffer_donor = donors;
  return hlo_ok();
}

static hlo_status_t module_fields(exporter_t* ex, hlo_desc_module_t* desc) {
  const hlo_module_t* module = ex->module;
  const char* name;
  instruction_t extra = {0};
  // Module names and computation names are separate.
  HLO_TRY(unique_name(ex, module->name && module->name[0] ? module->name : "module", &name));
  (void)hlo_map_remove(&ex->names, name, strlen(name));
  desc->name = hlo_export_text(name);
  desc->replica_count = device_count(module, "mhlo.num_replicas");
  desc->num_partitions = device_count(module, "mhlo.num_partitions");
  ex->partitioned = desc->num_partitions > 1;
  HLO_TRY(hlo_export_extra(ex, module->extra, &extra));
  desc->frontend_attributes = extra.frontend_attributes;
  return ex->partitioned ? hlo_export_meshes(ex, desc) : hlo_ok();
}

static int64_t memory_space(const hlo_attr_t* kind) {
  const bool is_host = kind && kind->kind == HLO_ATTR_KIND_STRING &&
                       strcmp(kind->text, hlo_memory_kind_name(HLO_MEMORY_PINNED_HOST)) == 0;
  return is_host ? HLO_DESC_HOST_MEMORY_SPACE : 0;
}

// Sets the requested layout and memory space of an argument or a result; row-major without a
// request, whatever the layout of the instruction.
static hlo_status_t ask_layout(const exporter_t* ex, const hlo_attr_t* mode, const hlo_attr_t* kind,
                               const char* what, uint32_t number, hlo_desc_shape_t* shape) {
  const size_t rank = shape->dimensions.count;
  int64_t order[HLO_RANK_MAX];
  if (!shape->layout) return hlo_ok();
  hlo_dim_order_row_major(rank, order);
  if (mode && mode->kind == HLO_ATTR_KIND_STRING && strcmp(mode->text, "default") != 0 &&
      strcmp(mode->text, "auto") != 0) {
    HLO_TRY_MSG(hlo_dim_order_parse(mode->text, rank, order), "%s %u of the program", what, number);
  }
  shape->layout = hlo_arena_alloc_zeroed(ex->arena, sizeof *shape->layout);
  if (!shape->layout) return hlo_arena_status(ex->arena);
  shape->layout->memory_space = memory_space(kind);
  return hlo_export_ints(ex, (uint32_t)rank, order, &shape->layout->minor_to_major);
}

// Makes the entry's shape with the layouts and memory spaces that the program requests at its
// boundary.
static hlo_status_t entry_shape(const exporter_t* ex, const hlo_func_t* entry,
                                const hlo_desc_program_shape_t* computed,
                                hlo_desc_program_shape_t** out_shape) {
  const uint32_t inputs = (uint32_t)computed->parameters.count;
  const uint32_t outputs = entry->type->element_count - entry->type->input_count;
  hlo_desc_program_shape_t* shape = hlo_arena_alloc_zeroed(ex->arena, sizeof *shape);
  hlo_desc_shape_t* parameters = hlo_arena_array(ex->arena, inputs, sizeof *parameters);
  hlo_desc_shape_t* result = hlo_arena_alloc_zeroed(ex->arena, sizeof *result);
  hlo_desc_shape_t* results = hlo_arena_array(ex->arena, outputs, sizeof *results);
  if (!shape || !parameters || !result || !results) return hlo_arena_status(ex->arena);
  *shape = *computed;
  *result = *computed->result;
  if (inputs) memcpy(parameters, computed->parameters.items, inputs * sizeof *parameters);
  for (uint32_t i = 0; i < inputs; ++i) {
    if (hlo_func_argument_attr(entry, i, HLO_LAYOUT_ATTR)) continue;
    HLO_TRY(ask_layout(ex, hlo_func_argument_attr(entry, i, HLO_LAYOUT_MODE_ATTR),
                       hlo_func_argument_attr(entry, i, HLO_MEMORY_KIND_ATTR), "argument", i,
                       &parameters[i]));
  }
  if (outputs != 1) {
    if (outputs) memcpy(results, result->tuple_shapes.items, outputs * sizeof *results);
    result->tuple_shapes.items = results;
  }
  for (uint32_t i = 0; i < outputs; ++i) {
    if (hlo_func_result_attr(entry, i, HLO_LAYOUT_ATTR)) continue;
    HLO_TRY(ask_layout(ex, hlo_func_result_attr(entry, i, HLO_LAYOUT_MODE_ATTR),
                       hlo_func_result_attr(entry, i, HLO_MEMORY_KIND_ATTR), "result", i,
                       outputs == 1 ? result : &results[i]));
  }
  shape->parameters.items = parameters;
  shape->result = result;
  *out_shape = shape;
  return hlo_ok();
}

static hlo_status_t export_module(exporter_t* ex, hlo_desc_module_t* desc) {
  const hlo_func_t* entry = hlo_module_entry(ex->module);
  if (!entry || !entry->body) {
    return hlo_export_fault(
        ex, HLO_STATUS_INVALID_ARGUMENT,
        "the program has neither a function @main nor a single public function");
  }
  HLO_TRY(module_fields(ex, desc));
  const char* name;
  HLO_TRY(unique_name(ex, "main", &name));
  if (!hlo_map_put_pointer(&ex->funcs, entry, (void*)(intptr_t)IN_PROGRESS)) {
    return hlo_status_out_of_memory(0);
  }
  HLO_TRY(make_func(ex, entry, name, &desc->entry_computation_id));
  desc->entry_computation_name = hlo_export_text(name);
  size_t count = ex->computations.count;
  hlo_desc_computation_t* computations = hlo_arena_array(ex->arena, count, sizeof *computations);
  if (!computations) return hlo_arena_status(ex->arena);
  memcpy(computations, ex->computations.items, count * sizeof *computations);
  desc->computations = (hlo_wire_array_t){computations, count};
  HLO_TRY(entry_shape(ex, entry, computations[count - 1].shape, &desc->shape));
  return add_aliases(ex, entry, desc);
}

hlo_status_t hlo_desc_export(const hlo_module_t* module, hlo_arena_t* arena,
                             hlo_desc_module_t* out_desc) {
  exporter_t ex = {.module = module, .arena = arena};
  *out_desc = (hlo_desc_module_t){0};
  hlo_status_t status = export_module(&ex, out_desc);
  hlo_map_deinit(&ex.funcs);
  hlo_map_deinit(&ex.names);
  hlo_vec_deinit(&ex.computations);
  return status;
}
