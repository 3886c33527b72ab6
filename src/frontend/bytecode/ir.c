// SPDX-License-Identifier: Apache-2.0
// The IR section of bytecode: builds ops, regions and values in the module while it reads them.
// source : MLIR "Bytecode Format", IR Section
#include <stdio.h>
#include <string.h>

#include "frontend/bytecode/reader.h"
#include "frontend/stablehlo/import.h"
#include "frontend/stablehlo/schema.h"

enum op_mask {
  HAS_ATTRS = 1,
  HAS_RESULTS = 2,
  HAS_OPERANDS = 4,
  HAS_SUCCESSORS = 8,
  HAS_REGIONS = 16,
  HAS_USE_LIST_ORDERS = 32,
  HAS_PROPERTIES = 64,
};

enum { RAW_ATTRS_MAX = 256 };

// The values with a common numbering: those of an isolated region and its nested regions. The
// values of a region follow those of the enclosing regions and are dropped at its end.
typedef struct scope {
  hlo_value_t** values;  // in scratch
  uint32_t count, capacity;
} scope_t;

// The position at which ops are inserted.
typedef struct place {
  hlo_region_t* region;  // NULL for the module itself
  bool is_func_body;
  uint32_t next_value;  // number of the next value defined directly in this region
  uint32_t end_value;
} place_t;

typedef struct ir {
  hlo_bc_reader_t* reader;
  hlo_module_t* module;
  uint64_t values_left;  // bound on the live values: each occupies a byte of the section
  uint32_t region_depth;
  hlo_importer_t importer;
  uint32_t raw_count;  // attributes of the current op; not used after its regions start
  hlo_raw_attr_t raw[RAW_ATTRS_MAX];
} ir_t;

// The fields of an op before its regions.
typedef struct op {
  const hlo_bc_op_schema_t* schema;
  const hlo_bc_op_name_t* name;
  hlo_loc_t loc;
  uint32_t result_count, operand_count, region_count;
  const hlo_type_t** result_types;
  hlo_value_t** operands;
  bool is_isolated;
} op_t;

static hlo_status_t read_region(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, hlo_region_t* region,
                                bool is_func_body);

// ---- Op names

static hlo_status_t unknown_op(ir_t* ir, const hlo_bc_op_name_t* name, hlo_loc_t loc) {
  hlo_bc_reader_t* reader = ir->reader;
  HLO_SCOPED_STRBUF where = {0};
  hlo_loc_format(ir->module, loc, &where);
  char newer[128] = "";
  if (hlo_stablehlo_is_newer(reader->stablehlo_version)) {
    snprintf(newer, sizeof newer, ": the file was made by %.32s, which is newer than v%d.%d.0",
             reader->producer, HLO_STABLEHLO_MAJOR, HLO_STABLEHLO_MINOR);
  }
  return hlo_unimplemented("op '%.64s.%.96s' at %.300s is not supported%s",
                           reader->dialects[name->dialect].name.text, name->name.text,
                           where.length ? hlo_strbuf_text(&where) : "an unknown location", newer);
}

static hlo_status_t bind_op_name(ir_t* ir, hlo_bc_op_name_t* name) {
  hlo_arena_t* arena = &ir->reader->scratch;
  const hlo_bc_string_t* dialect = &ir->reader->dialects[name->dialect].name;
  const size_t length = dialect->length + 1 + name->name.length;
  char* full = hlo_arena_alloc(arena, length + 1);
  if (!full) return hlo_arena_status(arena);
  memcpy(full, dialect->text, dialect->length);
  full[dialect->length] = '.';
  memcpy(full + dialect->length + 1, name->name.text, name->name.length);
  full[length] = '\0';
  name->is_bound = true;
  if (strlen(full) != length) return hlo_ok();  // contains zeros
  return hlo_bc_find_op(arena, full, &name->schema);
}

// ---- Attributes of ops

static hlo_status_t add_raw(ir_t* ir, const hlo_bc_cursor_t* c, const hlo_raw_attr_t* raw) {
  if (ir->raw_count == RAW_ATTRS_MAX) {
    return hlo_bc_error(c, "an op with more than %d attributes", RAW_ATTRS_MAX);
  }
  ir->raw[ir->raw_count++] = *raw;
  return hlo_ok();
}

static bool is_property(const hlo_bc_op_schema_t* schema, const char* name, size_t length) {
  for (const char* p = schema->properties; *p; p += strcspn(p, " "), p += *p == ' ') {
    if (strcspn(p, " ?+*") == length && memcmp(p, name, length) == 0) return true;
  }
  return false;
}

static hlo_status_t read_attr_dict(ir_t* ir, hlo_bc_cursor_t* c, const op_t* op) {
  const hlo_attr_t* dict;
  HLO_TRY(hlo_bc_read_attr_of(ir->reader, c, HLO_ATTR_KIND_DICT, "op's attributes", &dict));
  for (uint32_t i = 0; i < dict->count; ++i) {
    hlo_raw_attr_t raw = {.name = dict->keys[i],
                          .name_length = (uint32_t)strlen(dict->keys[i]),
                          .value = dict->items[i]};
    raw.is_inherent = is_property(op->schema, raw.name, raw.name_length);
    HLO_TRY(add_raw(ir, c, &raw));
  }
  return hlo_ok();
}

// The properties of an op unknown to the producer are one dictionary.
static hlo_status_t read_dict_properties(ir_t* ir, hlo_bc_cursor_t* c, const op_t* op) {
  HLO_TRY(read_attr_dict(ir, c, op));
  if (!hlo_bc_at_end(c)) return hlo_bc_error(c, "bytes after the properties of an op");
  return hlo_ok();
}

// Counts the remaining numbers, to tell whether a producer knew the attributes added later.
static hlo_status_t count_numbers(hlo_bc_cursor_t c, uint32_t* out) {
  uint64_t ignored;
  for (*out = 0; !hlo_bc_at_end(&c); ++*out) HLO_TRY(hlo_bc_varint(&c, &ignored));
  return hlo_ok();
}

// Reads segment sizes: a list of numbers, or pairs of index and number if most are zero.
static hlo_status_t read_segment_sizes(ir_t* ir, hlo_bc_cursor_t* c, uint32_t segment_count,
                                       const hlo_attr_t** out) {
  enum { SEGMENTS_MAX = 16 };
  int64_t sizes[SEGMENTS_MAX] = {0};
  uint64_t count, number;
  bool is_sparse;
  HLO_TRY(hlo_bc_varint_flag(c, &count, &is_sparse));
  if (count > segment_count || segment_count > SEGMENTS_MAX) {
    return hlo_bc_error(c, "%llu segments", (unsigned long long)count);
  }
  uint64_t index_bits = 0;
  if (is_sparse && count) HLO_TRY(hlo_bc_varint(c, &index_bits));
  if (index_bits > 8) return hlo_bc_error(c, "segment indices of more than 8 bits");
  for (uint64_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_bc_varint(c, &number));
    uint64_t index = is_sparse ? number & ((1u << index_bits) - 1) : i;
    if (is_sparse) number >>= index_bits;
    if (index >= segment_count || number > INT32_MAX)
      return hlo_bc_error(c, "an invalid segment size");
    sizes[index] = (int64_t)number;
  }
  *out = hlo_attr_ints(ir->module, segment_count, sizes);
  return hlo_module_status(ir->module);
}

static hlo_status_t read_property(ir_t* ir, hlo_bc_cursor_t* c, const char* name, size_t length,
                                  char mark, const op_t* op) {
  hlo_raw_attr_t raw = {.name = name, .name_length = (uint32_t)length, .is_inherent = true};
  if (mark == '*') {
    const hlo_op_info_t* info = hlo_op_info(op->schema->op);
    bool of_operands = strncmp(name, "operand", 7) == 0;
    HLO_TRY(read_segment_sizes(ir, c, of_operands ? info->operand_count : info->result_count,
                               &raw.value));
  } else if (mark == '?' || mark == '+') {
    HLO_TRY(hlo_bc_read_optional_attr(ir->reader, c, &raw.value));
  } else {
    HLO_TRY(hlo_bc_read_attr(ir->reader, c, &raw.value));
  }
  return raw.value ? add_raw(ir, c, &raw) : hlo_ok();
}

static hlo_status_t read_properties(ir_t* ir, hlo_bc_cursor_t* c, const op_t* op) {
  hlo_bc_reader_t* reader = ir->reader;
  uint32_t index, number_count, names = 0;
  HLO_TRY(hlo_bc_index(c, reader->properties_count, "properties", &index));
  hlo_bc_cursor_t data = reader->properties[index];
  if (!op->name->is_registered) return read_dict_properties(ir, &data, op);
  HLO_TRY(count_numbers(data, &number_count));
  for (const char* p = op->schema->properties; *p; p += strcspn(p, " "), p += *p == ' ') ++names;
  for (const char* p = op->schema->properties; *p;) {
    size_t word = strcspn(p, " ");
    size_t length = strcspn(p, " ?+*");
    char mark = length < word ? p[length] : 0;
    if (mark != '+' || number_count >= names) {
      HLO_TRY(read_property(ir, &data, p, length, mark, op));
    }
    p += word;
    p += *p == ' ';
  }
  if (!hlo_bc_at_end(&data)) {
    return hlo_bc_error(&data, "bytes after the properties of %s", op->schema->name);
  }
  return hlo_ok();
}

// ---- Values

static hlo_status_t define_value(place_t* place, scope_t* scope, const hlo_bc_cursor_t* c,
                                 hlo_value_t* value) {
  if (place->next_value >= place->end_value) {
    return hlo_bc_error(c, "a region defines more values than it declares");
  }
  scope->values[place->next_value++] = value;
  return hlo_ok();
}

// Makes room for `count` more values of a region; *place then includes them.
static hlo_status_t push_values(ir_t* ir, const hlo_bc_cursor_t* c, scope_t* scope, uint64_t count,
                                place_t* place) {
  if (count > ir->values_left) {
    return hlo_bc_error(c, "a region of %llu values in a file of %zu bytes",
                        (unsigned long long)count, hlo_bc_left(c));
  }
  ir->values_left -= count;
  if (count > scope->capacity - scope->count) {
    uint64_t capacity = 2 * (uint64_t)scope->count + count + 64;
    hlo_value_t** values;
    if (capacity > UINT32_MAX) return hlo_bc_error(c, "too many values");
    HLO_TRY(hlo_bc_scratch(ir->reader, capacity, sizeof *values, &values));
    if (scope->count) memcpy(values, scope->values, scope->count * sizeof *values);
    scope->values = values;
    scope->capacity = (uint32_t)capacity;
  }
  if (count) memset(scope->values + scope->count, 0, count * sizeof *scope->values);
  place->next_value = scope->count;
  scope->count += (uint32_t)count;
  place->end_value = scope->count;
  return hlo_ok();
}

static void pop_values(ir_t* ir, scope_t* scope, uint64_t count) {
  scope->count -= (uint32_t)count;
  ir->values_left += count;
}

static hlo_status_t read_operands(ir_t* ir, hlo_bc_cursor_t* c, const scope_t* scope, op_t* op) {
  HLO_TRY(hlo_bc_count(c, 1, &op->operand_count));
  HLO_TRY(hlo_bc_scratch(ir->reader, op->operand_count, sizeof *op->operands, &op->operands));
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    uint32_t index;
    HLO_TRY(hlo_bc_index(c, scope->count, "value", &index));
    op->operands[i] = scope->values[index];
    if (!op->operands[i]) return hlo_bc_error(c, "value %u is used before it is defined", index);
  }
  return hlo_ok();
}

// The order of a value's uses has no meaning in the IR.
static hlo_status_t skip_use_list_orders(hlo_bc_cursor_t* c, uint32_t value_count) {
  uint64_t listed = 1, number;
  if (value_count > 1) HLO_TRY(hlo_bc_varint(c, &listed));
  for (uint64_t i = 0; i < listed; ++i) {
    bool pairs;
    if (value_count > 1) HLO_TRY(hlo_bc_varint(c, &number));
    HLO_TRY(hlo_bc_varint_flag(c, &number, &pairs));
    for (uint64_t k = number; k > 0; --k) HLO_TRY(hlo_bc_varint(c, &number));
  }
  return hlo_ok();
}

// ---- Ops

static hlo_status_t read_op_head(ir_t* ir, hlo_bc_cursor_t* c, const scope_t* scope, op_t* op) {
  hlo_bc_reader_t* reader = ir->reader;
  uint32_t name;
  uint8_t mask;
  HLO_TRY(hlo_bc_index(c, reader->op_name_count, "op name", &name));
  HLO_TRY(hlo_bc_byte(c, &mask));
  HLO_TRY(hlo_bc_read_loc(reader, c, &op->loc));
  op->name = &reader->op_names[name];
  if (!op->name->is_bound) HLO_TRY(bind_op_name(ir, &reader->op_names[name]));
  op->schema = op->name->schema;
  if (!op->schema) return unknown_op(ir, op->name, op->loc);
  if (mask & HAS_ATTRS) HLO_TRY(read_attr_dict(ir, c, op));
  if (mask & HAS_PROPERTIES) HLO_TRY(read_properties(ir, c, op));
  if (mask & HAS_RESULTS) {
    HLO_TRY(hlo_bc_read_ir_types(reader, c, &op->result_count, &op->result_types));
  }
  if (mask & HAS_OPERANDS) HLO_TRY(read_operands(ir, c, scope, op));
  if (mask & HAS_SUCCESSORS) {
    return hlo_bc_error(c, "op '%s' has successors: control flow between blocks is not supported",
                        op->schema->name);
  }
  if (mask & HAS_USE_LIST_ORDERS) HLO_TRY(skip_use_list_orders(c, op->result_count));
  if (mask & HAS_REGIONS) {
    uint64_t count;
    HLO_TRY(hlo_bc_varint_flag(c, &count, &op->is_isolated));
    if (count > hlo_bc_left(c)) return hlo_bc_error(c, "an op with too many regions");
    op->region_count = (uint32_t)count;
  }
  return hlo_ok();
}

static hlo_status_t in_op(ir_t* ir, const op_t* op, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return status;
  HLO_SCOPED_STRBUF where = {0};
  hlo_loc_format(ir->module, op->loc, &where);
  status = hlo_status_annotate(status, "in op '%s' at %.300s", op->schema->name,
                               where.length ? hlo_strbuf_text(&where) : "an unknown location");
  return status;
}

// Finds the range of an op's regions: if the op is isolated they are a separate section, so that
// readers may defer them.
static hlo_status_t open_regions(ir_t* ir, hlo_bc_cursor_t* c, bool is_isolated,
                                 hlo_bc_cursor_t* section, hlo_bc_cursor_t** out) {
  *out = c;
  if (!is_isolated || ir->reader->version < HLO_BC_VERSION_LAZY_REGIONS) return hlo_ok();
  hlo_bc_cursor_t start = *c;
  uint8_t head;
  uint64_t size, alignment;
  HLO_TRY(hlo_bc_byte(c, &head));
  HLO_TRY(hlo_bc_varint(c, &size));
  if ((head & 0x7f) != HLO_BC_SECTION_IR) return hlo_bc_error(&start, "an IR section is expected");
  if (head & 0x80) {
    HLO_TRY(hlo_bc_varint(c, &alignment));
    HLO_TRY(hlo_bc_align(c, alignment));
  }
  HLO_TRY(hlo_bc_slice(c, size, section));
  *out = section;
  return hlo_ok();
}

// Reads the regions of an op into `regions`, or into the module itself if it is NULL.
static hlo_status_t read_op_regions(ir_t* ir, hlo_bc_cursor_t* c, const op_t* op, scope_t* outer,
                                    hlo_region_t* const* regions, bool is_func_body) {
  hlo_bc_cursor_t section, *range;
  scope_t own = {0};
  if (op->region_count == 0) return hlo_ok();
  HLO_TRY(open_regions(ir, c, op->is_isolated, &section, &range));
  for (uint32_t i = 0; i < op->region_count; ++i) {
    HLO_TRY(read_region(ir, range, op->is_isolated ? &own : outer, regions ? regions[i] : NULL,
                        is_func_body));
  }
  if (range == &section && !hlo_bc_at_end(&section)) {
    return hlo_bc_error(&section, "bytes after the last region of an op");
  }
  return hlo_ok();
}

static hlo_status_t make_node(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, place_t* place,
                              const op_t* op) {
  hlo_module_t* module = ir->module;
  hlo_op_t kind = op->schema->op;
  if (kind == HLO_OP_return && place->is_func_body) kind = HLO_OP_func_return;
  hlo_imported_attrs_t attrs;
  HLO_TRY(hlo_import_attrs(&ir->importer, kind, ir->raw_count, ir->raw, &attrs));
  hlo_node_spec_t spec = {.op = kind,
                          .loc = op->loc,
                          .operand_count = op->operand_count,
                          .operands = op->operands,
                          .attr_count = attrs.count,
                          .attrs = attrs.attrs,
                          .extra = attrs.extra,
                          .region_count = op->region_count,
                          .result_count = op->result_count,
                          .result_types = op->result_types};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return hlo_status_out_of_memory(sizeof *node);
  hlo_region_append(place->region ? place->region : module->top, node);
  for (uint32_t i = 0; i < op->result_count; ++i) {
    HLO_TRY(define_value(place, scope, c, &node->results[i]));
  }
  return read_op_regions(ir, c, op, scope, node->regions, false);
}

// A cast between a VHLO type and the same type of another dialect: the IR has one type for both.
static hlo_status_t make_cast(hlo_bc_cursor_t* c, scope_t* scope, place_t* place, const op_t* op) {
  if (op->operand_count != op->result_count || op->region_count) {
    return hlo_bc_error(c, "a cast of %u values to %u", op->operand_count, op->result_count);
  }
  for (uint32_t i = 0; i < op->result_count; ++i) {
    if (op->operands[i]->type != op->result_types[i]) {
      return hlo_bc_error(c, "a cast that changes the type of a value");
    }
    HLO_TRY(define_value(place, scope, c, op->operands[i]));
  }
  return hlo_ok();
}

// ---- Functions

static bool raw_is(const hlo_raw_attr_t* raw, const char* name) {
  return raw->name_length == strlen(name) && memcmp(raw->name, name, raw->name_length) == 0;
}

static const hlo_attr_t* find_raw(const ir_t* ir, const char* name) {
  for (uint32_t i = 0; i < ir->raw_count; ++i) {
    if (raw_is(&ir->raw[i], name)) return ir->raw[i].value;
  }
  return NULL;
}

static hlo_status_t func_visibility(const hlo_bc_cursor_t* c, const hlo_attr_t* attr,
                                    hlo_visibility_t* out) {
  *out = HLO_PUBLIC;
  if (!attr) return hlo_ok();
  if (attr->kind != HLO_ATTR_KIND_STRING)
    return hlo_bc_error(c, "a visibility that is not a string");
  if (strcmp(attr->text, "private") == 0) *out = HLO_PRIVATE;
  if (strcmp(attr->text, "nested") == 0) *out = HLO_NESTED;
  return hlo_ok();
}

// Reads the dictionaries of arguments or results; NULL if all are empty.
static hlo_status_t func_dicts(ir_t* ir, const hlo_bc_cursor_t* c, const hlo_attr_t* list,
                               uint32_t count, const hlo_attr_t*** out) {
  *out = NULL;
  if (!list || (list->kind == HLO_ATTR_KIND_ARRAY && list->count == 0)) return hlo_ok();
  if (list->kind != HLO_ATTR_KIND_ARRAY || list->count != count) {
    return hlo_bc_error(c, "%u lists of attributes for %u arguments or results", list->count,
                        count);
  }
  const hlo_attr_t** dicts = hlo_arena_array(&ir->module->arena, count, sizeof *dicts);
  if (!dicts) return hlo_module_status(ir->module);
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (list->items[i]->kind != HLO_ATTR_KIND_DICT) {
      return hlo_bc_error(c, "attributes of an argument or result are not a dictionary");
    }
    dicts[i] = list->items[i]->count ? list->items[i] : NULL;
    any |= dicts[i] != NULL;
  }
  if (any) *out = dicts;
  return hlo_ok();
}

static hlo_status_t func_extra(ir_t* ir, const hlo_attr_t** out) {
  static const char* const own[] = {"sym_name", "function_type", "sym_visibility", "arg_attrs",
                                    "res_attrs"};
  *out = NULL;
  for (uint32_t i = 0; i < ir->raw_count; ++i) {
    const hlo_raw_attr_t* raw = &ir->raw[i];
    bool is_own = raw->is_inherent;
    for (size_t k = 0; k < sizeof own / sizeof own[0]; ++k) is_own |= raw_is(raw, own[k]);
    if (!is_own) *out = hlo_attr_dict_with(ir->module, *out, raw->name, raw->value);
  }
  return hlo_module_status(ir->module);
}

static hlo_status_t func_create(ir_t* ir, const hlo_bc_cursor_t* c, const op_t* op, bool has_body,
                                hlo_func_t** out) {
  const hlo_attr_t* name = find_raw(ir, "sym_name");
  const hlo_attr_t* type = find_raw(ir, "function_type");
  hlo_visibility_t visibility;
  const hlo_attr_t **arg_attrs, **result_attrs, *extra;
  if (!name || name->kind != HLO_ATTR_KIND_STRING) return hlo_bc_error(c, "a function has no name");
  if (!type || type->kind != HLO_ATTR_KIND_TYPE || type->type->kind != HLO_TYPE_FUNCTION) {
    return hlo_bc_error(c, "function '%.64s' has no function type", name->text);
  }
  uint32_t inputs = type->type->input_count, all = type->type->element_count;
  HLO_TRY(func_visibility(c, find_raw(ir, "sym_visibility"), &visibility));
  HLO_TRY(func_dicts(ir, c, find_raw(ir, "arg_attrs"), inputs, &arg_attrs));
  HLO_TRY(func_dicts(ir, c, find_raw(ir, "res_attrs"), all - inputs, &result_attrs));
  HLO_TRY(func_extra(ir, &extra));
  hlo_func_t* func =
      hlo_func_create(ir->module, name->text, type->type, visibility, has_body, op->loc);
  if (!func) return hlo_status_out_of_memory(sizeof *func);
  func->arg_attrs = arg_attrs;
  func->result_attrs = result_attrs;
  func->extra = extra;
  *out = func;
  return hlo_ok();
}

static hlo_status_t make_func(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, const place_t* place,
                              const op_t* op) {
  if (place->region || op->region_count != 1 || op->result_count || op->operand_count) {
    return hlo_bc_error(c, "a function with %u regions inside %s", op->region_count,
                        place->region ? "a region" : "the module");
  }
  // A region without blocks is a declaration; this is checked before the function is created.
  hlo_bc_cursor_t ahead = *c, section, *range;
  uint64_t block_count;
  HLO_TRY(open_regions(ir, &ahead, op->is_isolated, &section, &range));
  HLO_TRY(hlo_bc_varint(range, &block_count));
  hlo_func_t* func = NULL;
  HLO_TRY(func_create(ir, c, op, block_count != 0, &func));
  return read_op_regions(ir, c, op, scope, &func->body, true);
}

// ---- The module

static hlo_status_t make_module(ir_t* ir, hlo_bc_cursor_t* c, const place_t* place,
                                const op_t* op) {
  hlo_module_t* module = ir->module;
  if (place->end_value != UINT32_MAX || op->region_count != 1) {  // set for the top level only
    return hlo_bc_error(c, "a module inside a module");
  }
  for (uint32_t i = 0; i < ir->raw_count; ++i) {
    const hlo_raw_attr_t* raw = &ir->raw[i];
    if (raw_is(raw, "sym_name") && raw->value->kind == HLO_ATTR_KIND_STRING) {
      module->name = hlo_module_string(module, raw->value->text, raw->value->text_length);
    } else if (!raw->is_inherent) {
      module->extra = hlo_attr_dict_with(module, module->extra, raw->name, raw->value);
    }
  }
  scope_t scope = {0};
  HLO_TRY(hlo_module_status(module));
  return read_op_regions(ir, c, op, &scope, NULL, false);
}

static hlo_status_t check_vhlo_version(const ir_t* ir, const hlo_bc_op_schema_t* schema) {
  uint32_t version = ir->reader->stablehlo_version;
  if (version == 0 || version >= schema->since) return hlo_ok();
  return hlo_invalid_argument("%s exists since StableHLO v%u.%u.0, but v%u.%u.0 made the file",
                              schema->name, schema->since / 1000, schema->since % 1000,
                              version / 1000, version % 1000);
}

static hlo_status_t read_op(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, place_t* place) {
  op_t op = {0};
  ir->raw_count = 0;
  HLO_TRY(read_op_head(ir, c, scope, &op));
  hlo_status_t status = check_vhlo_version(ir, op.schema);
  if (!hlo_status_is_ok(status)) return in_op(ir, &op, status);
  switch (op.schema->kind) {
    case HLO_BC_OP_MODULE: return make_module(ir, c, place, &op);
    case HLO_BC_OP_FUNC: return in_op(ir, &op, make_func(ir, c, scope, place, &op));
    case HLO_BC_OP_CAST: return make_cast(c, scope, place, &op);
    default: return in_op(ir, &op, make_node(ir, c, scope, place, &op));
  }
}

static hlo_status_t read_ops(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, place_t* place,
                             uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) HLO_TRY(read_op(ir, c, scope, place));
  return hlo_ok();
}

// ---- Regions

static hlo_status_t read_block_args(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, place_t* place,
                                    hlo_region_t* region) {
  hlo_bc_reader_t* reader = ir->reader;
  uint32_t count;
  HLO_TRY(hlo_bc_count(c, 1, &count));
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t index;
    bool has_loc = true;
    const hlo_bc_type_t* type;
    hlo_loc_t loc;
    if (reader->version >= HLO_BC_VERSION_ELIDED_ARG_LOCS) {
      HLO_TRY(hlo_bc_varint_flag(c, &index, &has_loc));
    } else {
      HLO_TRY(hlo_bc_varint(c, &index));
    }
    HLO_TRY(hlo_bc_get_type(reader, c, index, &type));
    if (has_loc) HLO_TRY(hlo_bc_read_loc(reader, c, &loc));
    if (type->kind != HLO_BC_TYPE_IR) return hlo_bc_error(c, "an argument of unsupported type");
    hlo_value_t* arg;
    if (place->is_func_body) {  // created with the function, from its type
      arg = i < region->arg_count ? region->args[i] : NULL;
      if (!arg || arg->type != type->type) {
        return hlo_bc_error(c, "argument %u of a function does not have the declared type", i);
      }
    } else {
      arg = hlo_region_add_arg(region, type->type);
      if (!arg) return hlo_module_status(ir->module);
    }
    HLO_TRY(define_value(place, scope, c, arg));
  }
  if (place->is_func_body && count != region->arg_count) {
    return hlo_bc_error(c, "a function with %u arguments has a body with %u", region->arg_count,
                        count);
  }
  if (reader->version < HLO_BC_VERSION_USE_LIST_ORDER) return hlo_ok();
  uint8_t has_orders;
  HLO_TRY(hlo_bc_byte(c, &has_orders));
  return has_orders ? skip_use_list_orders(c, count) : hlo_ok();
}

static hlo_status_t read_block(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, place_t* place) {
  uint64_t op_count;
  bool has_args;
  HLO_TRY(hlo_bc_varint_flag(c, &op_count, &has_args));
  if (has_args && !place->region) return hlo_bc_error(c, "a module with arguments");
  if (has_args) {
    HLO_TRY(read_block_args(ir, c, scope, place, place->region));
  } else if (place->is_func_body && place->region->arg_count) {
    return hlo_bc_error(c, "the body of a function lacks its %u arguments",
                        place->region->arg_count);
  }
  return read_ops(ir, c, scope, place, op_count);
}

static hlo_status_t read_region(ir_t* ir, hlo_bc_cursor_t* c, scope_t* scope, hlo_region_t* region,
                                bool is_func_body) {
  uint64_t block_count, value_count;
  HLO_TRY(hlo_bc_varint(c, &block_count));
  if (block_count == 0) return hlo_ok();
  if (block_count != 1) {
    return hlo_bc_error(c, "a region of %llu blocks: only one is supported",
                        (unsigned long long)block_count);
  }
  HLO_TRY(hlo_bc_varint(c, &value_count));
  if (ir->region_depth == HLO_BC_REGION_DEPTH_MAX) {
    return hlo_bc_error(c, "regions are nested deeper than %d", HLO_BC_REGION_DEPTH_MAX);
  }
  place_t place = {.region = region, .is_func_body = is_func_body};
  HLO_TRY(push_values(ir, c, scope, value_count, &place));
  ++ir->region_depth;
  hlo_status_t status = read_block(ir, c, scope, &place);
  --ir->region_depth;
  pop_values(ir, scope, value_count);
  return status;
}

hlo_status_t hlo_bc_read_ir(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t c = reader->sections[HLO_BC_SECTION_IR];
  ir_t ir = {.reader = reader,
             .module = reader->module,
             .values_left = hlo_bc_left(&c),
             .importer = {.module = reader->module, .scratch = &reader->scratch}};
  scope_t scope = {0};
  place_t top = {.end_value = UINT32_MAX, .next_value = UINT32_MAX};  // defines no values
  HLO_TRY(read_block(&ir, &c, &scope, &top));
  if (!hlo_bc_at_end(&c)) return hlo_bc_error(&c, "bytes after the last op");
  return hlo_module_status(reader->module);
}
