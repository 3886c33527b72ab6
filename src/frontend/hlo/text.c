// SPDX-License-Identifier: Apache-2.0
// Reads HLO text into descriptions: the module's header, its location tables, computations.
#include <ctype.h>

#include "frontend/hlo/hlo.h"
#include "frontend/hlo/text_impl.h"

// ---- instructions

static hlo_status_t read_operands(hlo_text_t* t, hlo_desc_instruction_t* in) {
  HLO_TRY(hlo_text_expect(t, "("));
  if (hlo_bytes_equal(in->opcode, "parameter")) {
    HLO_TRY(hlo_text_int(t, &in->parameter_number));
    return hlo_text_expect(t, ")");
  }
  if (hlo_bytes_equal(in->opcode, "constant")) {
    in->literal = hlo_arena_alloc_zeroed(t->arena, sizeof *in->literal);
    if (!in->literal) return hlo_arena_status(t->arena);
    HLO_TRY(hlo_text_literal(t, in->shape, in->literal));
    return hlo_text_expect(t, ")");
  }
  while (!hlo_text_take(t, ")")) {
    if (in->operand_ids.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_shape_t ignored;
    hlo_wire_bytes_t name;
    if (hlo_text_at_shape(t)) HLO_TRY(hlo_text_shape(t, &ignored));
    HLO_TRY(hlo_text_name(t, &name));
    uintptr_t id = (uintptr_t)hlo_map_get(&t->names, (const char*)name.data, name.size);
    if (!id) {
      t->next = (const char*)name.data;  // the location is that of the name
      return hlo_text_error(t, "no earlier instruction %.*s",
                            name.size < 100 ? (int)name.size : 100, (const char*)name.data);
    }
    const int64_t operand = (int64_t)id;
    HLO_TRY(hlo_text_append(t, &in->operand_ids, &operand, sizeof operand));
  }
  return hlo_ok();
}

// Computes the location of the cursor, which never moves backwards.
static void note_place(hlo_text_t* t, uint32_t* line, uint32_t* col) {
  for (; t->counted < t->next; ++t->counted) {
    if (*t->counted != '\n') continue;
    ++t->line;
    t->line_start = t->counted + 1;
  }
  *line = t->line;
  *col = (uint32_t)(t->next - t->line_start) + 1;
}

static hlo_status_t read_instruction(hlo_text_t* t, hlo_desc_instruction_t** out_instruction) {
  hlo_text_instruction_t* item = hlo_arena_alloc_zeroed(&t->scratch, sizeof *item);
  if (!item) return hlo_arena_status(&t->scratch);
  hlo_desc_instruction_t* in = &item->desc;
  hlo_text_skip(t);
  note_place(t, &in->line, &in->col);
  HLO_TRY(hlo_text_name(t, &in->name));
  HLO_TRY(hlo_text_expect(t, "="));
  in->shape = hlo_arena_alloc_zeroed(t->arena, sizeof *in->shape);
  if (!in->shape) return hlo_arena_status(t->arena);
  HLO_TRY(hlo_text_shape(t, in->shape));
  HLO_TRY(hlo_text_name(t, &in->opcode));
  HLO_TRY(read_operands(t, in));
  HLO_TRY(hlo_text_attributes(t, in));
  in->id = (int64_t)++t->instruction_count;
  if (hlo_map_get(&t->names, (const char*)in->name.data, in->name.size)) {
    return hlo_text_error(t, "the name is used twice");
  }
  if (!hlo_map_put(&t->names, (const char*)in->name.data, in->name.size,
                   (void*)(uintptr_t)in->id)) {
    return hlo_status_out_of_memory(sizeof *in);
  }
  *t->last = item;
  t->last = &item->next;
  *out_instruction = in;
  return hlo_ok();
}

// ---- computations

// "(a: f32[2], b: s32[]) -> f32[2]" repeats what the instructions say.
static hlo_status_t skip_signature(hlo_text_t* t) {
  if (hlo_text_peek(t) == '(') HLO_TRY(hlo_text_skip_value(t));
  if (!hlo_text_take(t, "->")) return hlo_ok();
  hlo_desc_shape_t ignored;
  return hlo_text_shape(t, &ignored);
}

static hlo_status_t keep_computation(hlo_text_t* t, hlo_desc_computation_t* computation,
                                     bool is_entry) {
  size_t count = 0;
  hlo_desc_instruction_t* items = hlo_arena_array(t->arena, t->instruction_count, sizeof *items);
  if (!items) return hlo_arena_status(t->arena);
  for (const hlo_text_instruction_t* in = t->first; in; in = in->next) items[count++] = in->desc;
  computation->instructions = (hlo_wire_array_t){items, count};
  computation->id = (int64_t)t->list.count + 1;
  if (computation->root_id == 0) computation->root_id = (int64_t)count;
  if (is_entry) t->module->entry_computation_id = computation->id;
  const char* name = (const char*)computation->name.data;
  if (hlo_map_get(&t->computations, name, computation->name.size)) {
    return hlo_text_error(t, "the name of the computation is used twice");
  }
  if (!hlo_map_put(&t->computations, name, computation->name.size,
                   (void*)(uintptr_t)computation->id) ||
      !hlo_vec_push(&t->list, *computation)) {
    return hlo_status_out_of_memory(sizeof *computation);
  }
  return hlo_ok();
}

static void begin_computation(hlo_text_t* t) {
  hlo_arena_reset(&t->scratch, (hlo_arena_mark_t){0});
  t->first = NULL;
  t->last = &t->first;
  t->instruction_count = 0;
  hlo_map_deinit(&t->names);
  t->names = (hlo_map_t){0};
}

static hlo_status_t read_computation(hlo_text_t* t) {
  hlo_desc_computation_t computation = {0};
  const char* start = t->next;
  note_place(t, &computation.line, &computation.col);
  bool is_entry = hlo_text_take(t, "ENTRY");
  HLO_TRY(hlo_text_name(t, &computation.name));
  HLO_TRY(skip_signature(t));
  HLO_TRY(hlo_text_expect(t, "{"));
  begin_computation(t);
  while (!hlo_text_take(t, "}")) {
    hlo_desc_instruction_t* in = NULL;
    bool is_root = hlo_text_take(t, "ROOT");
    HLO_TRY(read_instruction(t, &in));
    if (is_root) computation.root_id = in->id;
  }
  while (hlo_text_take(t, ",")) {  // execution_thread="..."
    hlo_wire_bytes_t name;
    HLO_TRY(hlo_text_name(t, &name));
    HLO_TRY(hlo_text_expect(t, "="));
    HLO_TRY(hlo_text_skip_value(t));
  }
  computation.source_bytes = (size_t)(t->next - start);
  return keep_computation(t, &computation, is_entry);
}

// ---- the header

// { {0}: (1, {}, may-alias), ... }
static hlo_status_t read_aliases(hlo_text_t* t) {
  hlo_desc_aliases_t* aliases = hlo_arena_alloc_zeroed(t->arena, sizeof *aliases);
  if (!aliases) return hlo_arena_status(t->arena);
  t->module->input_output_alias = aliases;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (aliases->entries.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_alias_t alias = {0};
    HLO_TRY(hlo_text_ints(t, &alias.output_shape_index));
    HLO_TRY(hlo_text_expect(t, ":"));
    HLO_TRY(hlo_text_position(t, &alias.parameter_number, &alias.parameter_shape_index));
    if (hlo_text_take(t, ",")) HLO_TRY(hlo_text_skip_value(t));
    HLO_TRY(hlo_text_expect(t, ")"));
    HLO_TRY(hlo_text_append(t, &aliases->entries, &alias, sizeof alias));
  }
  return hlo_ok();
}

// { (0, {}), ... }
static hlo_status_t read_donors(hlo_text_t* t) {
  hlo_desc_donors_t* donors = hlo_arena_alloc_zeroed(t->arena, sizeof *donors);
  if (!donors) return hlo_arena_status(t->arena);
  t->module->buffer_donor = donors;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (donors->entries.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_donor_t donor = {0};
    HLO_TRY(hlo_text_position(t, &donor.parameter_number, &donor.parameter_shape_index));
    HLO_TRY(hlo_text_expect(t, ")"));
    HLO_TRY(hlo_text_append(t, &donors->entries, &donor, sizeof donor));
  }
  return hlo_ok();
}

// {(f32[2]{0}, s32[])->f32[2]{0}}
static hlo_status_t read_entry_layout(hlo_text_t* t) {
  hlo_desc_program_shape_t* shape = hlo_arena_alloc_zeroed(t->arena, sizeof *shape);
  if (!shape) return hlo_arena_status(t->arena);
  shape->result = hlo_arena_alloc_zeroed(t->arena, sizeof *shape->result);
  if (!shape->result) return hlo_arena_status(t->arena);
  hlo_desc_shape_t parameters;
  HLO_TRY(hlo_text_expect(t, "{"));
  if (hlo_text_peek(t) != '(') return hlo_text_error(t, "expected parameters");
  HLO_TRY(hlo_text_shape(t, &parameters));
  HLO_TRY(hlo_text_expect(t, "->"));
  HLO_TRY(hlo_text_shape(t, shape->result));
  shape->parameters = parameters.tuple_shapes;
  t->module->shape = shape;
  return hlo_text_expect(t, "}");
}

static hlo_status_t read_header(hlo_text_t* t) {
  HLO_TRY(hlo_text_expect(t, "HloModule"));
  HLO_TRY(hlo_text_name(t, &t->module->name));
  while (hlo_text_take(t, ",")) {
    hlo_wire_bytes_t name;
    HLO_TRY(hlo_text_name(t, &name));
    HLO_TRY(hlo_text_expect(t, "="));
    if (hlo_bytes_equal(name, "input_output_alias")) {
      HLO_TRY(read_aliases(t));
    } else if (hlo_bytes_equal(name, "buffer_donor")) {
      HLO_TRY(read_donors(t));
    } else if (hlo_bytes_equal(name, "entry_computation_layout")) {
      HLO_TRY(read_entry_layout(t));
    } else if (hlo_bytes_equal(name, "frontend_attributes")) {
      HLO_TRY(hlo_text_string_map(t, &t->module->frontend_attributes));
    } else if (hlo_bytes_equal(name, "replica_count")) {
      HLO_TRY(hlo_text_int(t, &t->module->replica_count));
    } else if (hlo_bytes_equal(name, "num_partitions")) {
      HLO_TRY(hlo_text_int(t, &t->module->num_partitions));
    } else {
      HLO_TRY(hlo_text_skip_value(t));
    }
  }
  return hlo_ok();
}

// ---- location tables

// Reads {name=1 other=2 ...} into int32 fields in the order of `names`.
static hlo_status_t read_record(hlo_text_t* t, const char* const* names, int32_t* fields) {
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    hlo_wire_bytes_t name;
    int64_t value;
    HLO_TRY(hlo_text_name(t, &name));
    HLO_TRY(hlo_text_expect(t, "="));
    HLO_TRY(hlo_text_int(t, &value));
    for (int i = 0; names[i]; ++i) {
      if (hlo_bytes_equal(name, names[i])) {
        fields[i] = value > 0 && value < INT32_MAX ? (int32_t)value : 0;
      }
    }
  }
  return hlo_ok();
}

// Reads rows "1 value" of one table, numbered in their order.
static hlo_status_t read_table(hlo_text_t* t, hlo_wire_array_t* array, size_t item_bytes,
                               const char* const* names) {
  while (isdigit((unsigned char)hlo_text_peek(t))) {
    int64_t number;
    HLO_TRY(hlo_text_int(t, &number));
    void* item = hlo_text_push(t, array, item_bytes);
    if (!item) return hlo_arena_status(t->arena);
    if (names) {
      HLO_TRY(read_record(t, names, item));
    } else {
      HLO_TRY(hlo_text_string(t, item));
    }
  }
  return hlo_ok();
}

static hlo_status_t read_tables(hlo_text_t* t) {
  static const char* const location_names[] = {"file_name_id", "function_name_id", "line", "column",
                                               NULL};
  static const char* const frame_names[] = {"file_location_id", "parent_frame_id", NULL};
  hlo_desc_frames_t* frames = hlo_arena_alloc_zeroed(t->arena, sizeof *frames);
  if (!frames) return hlo_arena_status(t->arena);
  t->module->frames = frames;
  for (;;) {
    if (hlo_text_take(t, "FileNames")) {
      HLO_TRY(read_table(t, &frames->file_names, sizeof(hlo_wire_bytes_t), NULL));
    } else if (hlo_text_take(t, "FunctionNames")) {
      HLO_TRY(read_table(t, &frames->function_names, sizeof(hlo_wire_bytes_t), NULL));
    } else if (hlo_text_take(t, "FileLocations")) {
      HLO_TRY(
          read_table(t, &frames->file_locations, sizeof(hlo_desc_file_location_t), location_names));
    } else if (hlo_text_take(t, "StackFrames")) {
      HLO_TRY(read_table(t, &frames->stack_frames, sizeof(hlo_desc_frame_t), frame_names));
    } else {
      return hlo_ok();
    }
  }
}

// ---- the module

static hlo_status_t read_module(hlo_text_t* t) {
  HLO_TRY(read_header(t));
  HLO_TRY(read_tables(t));
  while (hlo_text_peek(t)) HLO_TRY(read_computation(t));
  t->module->computations = (hlo_wire_array_t){t->list.items, t->list.count};
  if (t->list.count == 0) return hlo_text_error(t, "the module has no computation");
  if (t->module->entry_computation_id == 0) {
    t->module->entry_computation_id = (int64_t)t->list.count;
  }
  return hlo_ok();
}

static hlo_status_t report(hlo_status_t status, const char* file, uint32_t line, uint32_t col,
                           hlo_diag_t* diag) {
  if (diag) hlo_diag_error(diag, line, col, "%s", hlo_status_message(status));
  return hlo_status_annotate(status, "%s:%u:%u", file ? file : "<input>", line, col);
}

static hlo_status_t read_all(hlo_text_t* t, const char* file, size_t limit, hlo_diag_t* diag,
                             hlo_module_t** out_module) {
  uint32_t line = 0, col = 0;
  hlo_status_t status = read_module(t);
  if (!hlo_status_is_ok(status)) {
    note_place(t, &line, &col);
    return report(status, file, line, col, diag);
  }
  begin_computation(t);  // frees the memory of the last one
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_module_create(limit, &module));
  status = hlo_desc_build(t->module, file ? file : "<input>", t->arena, module, &line, &col);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(module);
    return report(status, file, line, col, diag);
  }
  *out_module = module;
  return hlo_ok();
}

hlo_status_t hlo_hlo_text_read(const char* text, size_t length, const char* file,
                               const hlo_hlo_read_options_t* options, hlo_diag_t* diag,
                               hlo_module_t** out_module) {
  size_t limit;
  if (!hlo_size_mul(length, 32, &limit) || !hlo_size_add(limit, 8 << 20, &limit)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  hlo_arena_t arena;
  hlo_arena_init(&arena, limit);
  hlo_desc_module_t desc = {.flat_results = options && options->flat_results};
  hlo_text_t t = {.next = text,
                  .end = text + length,
                  .arena = &arena,
                  .elided = options ? options->elided : HLO_ELIDED_REFUSED,
                  .module = &desc,
                  .counted = text,
                  .line_start = text,
                  .line = 1};
  hlo_arena_init(&t.scratch, limit);
  hlo_status_t status = read_all(&t, file, limit, diag, out_module);
  hlo_map_deinit(&t.computations);
  hlo_map_deinit(&t.names);
  hlo_vec_deinit(&t.list);
  hlo_arena_deinit(&t.scratch);
  hlo_arena_deinit(&arena);
  return status;
}
