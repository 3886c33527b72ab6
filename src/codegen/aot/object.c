// SPDX-License-Identifier: Apache-2.0
// Object files of programs (see object.h): the position-independent machine code, a description of
// the program for the library that runs it (rt/rt.h), and NAME_run(), which calls that library.
#include "codegen/aot/object.h"

#include <string.h>

#include "codegen/aot/standalone_impl.h"
#include "codegen/isa/isa.h"
#include "codegen/object/elf.h"
#include "codegen/object/unwind.h"
#include "ir/clone.h"
#include "ir/print.h"
#include "rt/rt.h"

// ---- library calls: the called nodes as a separate module, a copy of the program's module in
// which they are cloned into a function of their own; src/rt parses its text at the first call

// The called nodes of a program, in the order of a walk over its module.
typedef struct calls {
  uint32_t count;
  const hlo_call_site_t** call_sites;
  uint32_t* positions;  // in walk order
} calls_t;

typedef struct listing {
  const hlo_call_site_table_t* table;
  calls_t* calls;
  uint32_t position;
} listing_t;

static hlo_status_t list_call_site(void* context, hlo_node_t* node) {
  listing_t* listing = context;
  calls_t* calls = listing->calls;
  const hlo_call_site_t* call_site = &listing->table->call_sites[node->index];
  if (call_site->node == node) {
    calls->call_sites[calls->count] = call_site;
    calls->positions[calls->count++] = listing->position;
  }
  ++listing->position;
  return hlo_ok();
}

// Lists the calls. `table` owns the call sites, `arena` the lists.
// errors : RESOURCE_EXHAUSTED
static hlo_status_t list_calls(const hlo_call_site_table_t* table, hlo_arena_t* arena,
                               calls_t* out_calls) {
  *out_calls = (calls_t){
      .call_sites = hlo_arena_array(arena, table->node_count, sizeof *out_calls->call_sites),
      .positions = hlo_arena_array(arena, table->node_count, sizeof *out_calls->positions)};
  HLO_TRY(hlo_arena_status(arena));
  listing_t listing = {.table = table, .calls = out_calls};
  return hlo_module_walk((hlo_module_t*)(uintptr_t)table->module, false, list_call_site, &listing);
}

// ---- the module --------------------------------------------------------------------------------

typedef struct maker {
  const calls_t* calls;
  hlo_module_t* module;
  hlo_region_t* body;
  hlo_value_map_t map;
  hlo_arena_t* arena;
  const hlo_node_t** nodes;  // nodes of the copy, by call
  uint32_t node_count, position;
} maker_t;

// Visits the copy in the order of the original.
static hlo_status_t find_node(void* context, hlo_node_t* node) {
  maker_t* maker = context;
  bool is_called = maker->node_count < maker->calls->count &&
                   maker->calls->positions[maker->node_count] == maker->position;
  if (is_called) maker->nodes[maker->node_count++] = node;
  ++maker->position;
  return hlo_ok();
}

// Returns true for a scalar constant. Library functions are chosen by its value.
static bool is_constant(const hlo_value_t* value) {
  return value->def && value->def->op == HLO_OP_constant && value->type->rank == 0;
}

// Adds the arguments of one call, its constants, and the node on them; a repeated operand has two
// arguments.
static hlo_status_t add_call(maker_t* maker, const hlo_node_t* node) {
  uint32_t captured = 0, first = maker->body->arg_count;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, maker->arena, &captured, &captures));
  for (uint32_t i = 0; i < node->operand_count + captured; ++i) {
    const hlo_value_t* value =
        i < node->operand_count ? hlo_node_operand(node, i) : captures[i - node->operand_count];
    hlo_value_t* argument = hlo_region_add_arg(maker->body, value->type);
    if (!argument) return hlo_module_status(maker->module);
    maker->map.values[value->index] = argument;
  }
  for (uint32_t i = 0; i < node->operand_count + captured; ++i) {
    const hlo_value_t* value =
        i < node->operand_count ? hlo_node_operand(node, i) : captures[i - node->operand_count];
    if (is_constant(value)) hlo_node_clone(maker->body, value->def, &maker->map);
  }
  hlo_node_t* copy = hlo_node_clone(maker->body, node, &maker->map);
  HLO_TRY(hlo_module_status(maker->module));
  for (uint32_t i = 0; i < copy->operand_count; ++i) {
    if (is_constant(hlo_node_operand(node, i))) continue;
    hlo_node_set_operand(copy, i, maker->body->args[first + i]);
  }
  return hlo_module_status(maker->module);
}

static hlo_status_t make_module(maker_t* maker, const char* program_name) {
  hlo_module_t* module = maker->module;
  hlo_func_t* program = hlo_module_find_func(module, program_name);
  maker->map.count = module->value_count;
  maker->map.values = hlo_arena_array(maker->arena, maker->map.count, sizeof(hlo_value_t*));
  maker->nodes = hlo_arena_array(maker->arena, maker->calls->count, sizeof(hlo_node_t*));
  HLO_TRY(hlo_arena_status(maker->arena));
  HLO_TRY(hlo_module_walk(module, false, find_node, maker));
  const hlo_type_t* type = hlo_type_function(module, 0, NULL, 0, NULL);
  hlo_func_t* func = type ? hlo_func_create(module, "calls", type, HLO_PUBLIC, true, 0) : NULL;
  if (!func) return hlo_module_status(module);
  maker->body = func->body;
  for (uint32_t i = 0; i < maker->node_count; ++i) HLO_TRY(add_call(maker, maker->nodes[i]));
  hlo_region_append(func->body,
                    hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_func_return}));
  hlo_func_update_type(func);
  if (program) hlo_func_remove(program);
  return hlo_module_status(module);
}

// Appends the module's text: one function with the nodes of the calls; its arguments are the
// operands and captures of the first call, then those of the second.
// errors : RESOURCE_EXHAUSTED
static hlo_status_t print_calls(const hlo_call_site_table_t* table, const calls_t* calls,
                                hlo_arena_t* arena, hlo_strbuf_t* out_text) {
  maker_t maker = {.calls = calls, .arena = arena};
  HLO_TRY(hlo_module_clone(table->module, &maker.module));
  hlo_status_t status = make_module(&maker, table->func->name);
  const hlo_print_options_t options = {0};
  if (hlo_status_is_ok(status)) hlo_print_module(maker.module, &options, out_text);
  hlo_module_release(maker.module);
  return hlo_status_is_ok(status) ? hlo_strbuf_status(out_text) : status;
}

enum { CODE_ALIGNMENT = 64, TRAMPOLINE_ALIGNMENT = 16, WORD = 8 };

static const char kUsage[] =
    "Its object file is linked with libhlocc_rt.a, -lpthread, -ldl and -lm;\n"
    "// HLOCC_NUM_THREADS says how many threads there are.\n";

typedef struct writer {
  const hlo_plan_t* plan;
  const hlo_call_site_table_t* table;
  const hlo_code_t* code;
  const char* name;  // a C identifier
  hlo_elf_t elf;
  uint32_t text, constants, frames, data;               // section numbers
  uint32_t text_symbol, constants_symbol, data_symbol;  // symbols of the sections
  uint64_t call_at;  // offset in the data of the address of hlo_rt_call(); 0: the program makes no
                     // calls
} writer_t;

static void append_bytes(writer_t* w, uint32_t section, const void* bytes, size_t size_bytes) {
  hlo_strbuf_append(&w->elf.sections[section].data, bytes, size_bytes);
}

static uint64_t end_of(const writer_t* w, uint32_t section) {
  return w->elf.sections[section].data.length;
}

static void add_sections(writer_t* w) {
  const uint8_t info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
  hlo_elf_t* elf = &w->elf;
  w->text =
      hlo_elf_add_section(elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE_ALIGNMENT);
  w->constants = hlo_elf_add_section(elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, CODE_ALIGNMENT);
  w->data = hlo_elf_add_section(elf, ".data.rel.ro", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, WORD);
  w->frames = hlo_elf_add_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, WORD);
  hlo_elf_add_section(elf, ".note.GNU-stack", SHT_PROGBITS, 0, 1);
  w->text_symbol = hlo_elf_add_symbol(elf, "", info, w->text, 0, 0);
  w->constants_symbol = hlo_elf_add_symbol(elf, "", info, w->constants, 0, 0);
  w->data_symbol = hlo_elf_add_symbol(elf, "", info, w->data, 0, 0);
}

// Adds local names for profilers and debuggers.
static void add_functions(writer_t* w, hlo_arena_t* arena) {
  append_bytes(w, w->text, w->code->bytes, w->code->size_bytes);
  for (uint32_t i = 0; i < w->code->func_count; ++i) {
    const hlo_code_func_t* func = &w->code->funcs[i];
    const char* name = hlo_arena_printf(arena, "%s.%s", w->name, func->name);
    if (!name) return;
    hlo_elf_add_symbol(&w->elf, name, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), w->text,
                       func->offset_bytes, func->size_bytes);
  }
}

static hlo_status_t add_frames(writer_t* w, hlo_arena_t* arena) {
  hlo_eh_frame_t frames;
  uint32_t* fields = hlo_arena_array(arena, w->code->func_count, sizeof *fields);
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(hlo_eh_frame_create(w->code, NULL, fields, &frames));
  append_bytes(w, w->frames, frames.bytes, frames.size_bytes);
  for (uint32_t i = 0; i < w->code->func_count; ++i) {
    hlo_elf_add_relocation(&w->elf, w->frames, fields[i], w->code->isa->object.distance_relocation,
                           w->text_symbol, w->code->funcs[i].offset_bytes);
  }
  hlo_mem_free(frames.bytes);
  return hlo_ok();
}

// Adds an address in the data, which the linker fills in.
static void add_address(writer_t* w, uint64_t at, uint32_t symbol, uint64_t offset) {
  hlo_elf_add_relocation(&w->elf, w->data, at, w->code->isa->object.address_relocation, symbol,
                         (int64_t)offset);
}

// Adds the constants and the table of their addresses and returns its offset. Constants that only
// fill memory have no bytes.
static uint64_t add_constants(writer_t* w) {
  const hlo_plan_t* plan = w->plan;
  uint64_t start = end_of(w, w->data);
  const uint64_t zero = 0;
  for (uint32_t i = 0; i < plan->constant_count; ++i) append_bytes(w, w->data, &zero, WORD);
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    const void* bytes = w->table->constants[i];
    if (!bytes) continue;
    uint64_t offset = hlo_elf_align(&w->elf, w->constants, CODE_ALIGNMENT);
    append_bytes(w, w->constants, bytes, hlo_type_size_bytes(plan->constants[i].value->type));
    add_address(w, start + (uint64_t)i * WORD, w->constants_symbol, offset);
  }
  return start;
}

static hlo_rt_allocation_t allocation_of(const writer_t* w, const hlo_allocation_t* allocation) {
  switch (allocation->kind) {
    case HLO_ALLOCATION_NONE:
    case HLO_ALLOCATION_REGISTER: break;
    case HLO_ALLOCATION_ARGUMENT: return (hlo_rt_allocation_t){HLO_RT_BUFFER, allocation->index, 0};
    case HLO_ALLOCATION_RESULT:
      return (hlo_rt_allocation_t){HLO_RT_BUFFER, w->plan->argument_count + allocation->index,
                                   allocation->offset_bytes};
    case HLO_ALLOCATION_CONSTANT:
      return (hlo_rt_allocation_t){HLO_RT_CONSTANT, allocation->index, 0};
    case HLO_ALLOCATION_TEMPORARY:
      return (hlo_rt_allocation_t){HLO_RT_TEMPORARY, 0, allocation->offset_bytes};
  }
  return (hlo_rt_allocation_t){HLO_RT_NOWHERE, 0, 0};
}

static uint64_t add_copies(writer_t* w) {
  uint64_t start = end_of(w, w->data);
  for (uint32_t i = 0; i < w->table->copy_count; ++i) {
    const hlo_copy_call_site_t* call_site = &w->table->copies[i];
    hlo_rt_copy_t copy = {.to = allocation_of(w, &call_site->copy.to),
                          .size_bytes = call_site->copy.size_bytes};
    if (call_site->splat) {
      copy.element_bytes = hlo_dtype_size_bytes(call_site->splat->dtype);
      memcpy(copy.element, call_site->splat->data, copy.element_bytes);
    } else {
      copy.from = allocation_of(w, &call_site->copy.from);
    }
    append_bytes(w, w->data, &copy, sizeof copy);
  }
  return start;
}

// Adds the allocations of all calls, then their records, and returns the offset of those.
static uint64_t add_call_records(writer_t* w, const calls_t* calls) {
  uint64_t allocation = end_of(w, w->data);
  for (uint32_t i = 0; i < calls->count; ++i) {
    const hlo_call_site_t* call_site = calls->call_sites[i];
    for (uint32_t k = 0; k < hlo_call_site_value_count(call_site->node); ++k) {
      const hlo_rt_allocation_t record = allocation_of(w, &call_site->allocations[k]);
      append_bytes(w, w->data, &record, sizeof record);
    }
  }
  uint64_t start = end_of(w, w->data);
  for (uint32_t i = 0; i < calls->count; ++i) {
    const hlo_call_site_t* call_site = calls->call_sites[i];
    const hlo_rt_call_t call = {.call_site = hlo_call_site_number(call_site->node),
                                .allocation_count = hlo_call_site_value_count(call_site->node)};
    add_address(w, end_of(w, w->data) + offsetof(hlo_rt_call_t, allocations), w->data_symbol,
                allocation);
    append_bytes(w, w->data, &call, sizeof call);
    allocation += call.allocation_count * sizeof(hlo_rt_allocation_t);
  }
  return start;
}

// Adds the records of the calls and returns their offset.
static hlo_status_t add_calls(writer_t* w, const calls_t* list, hlo_arena_t* arena,
                              uint64_t* out_start) {
  uint64_t text = hlo_elf_align(&w->elf, w->constants, 1), records = add_call_records(w, list);
  hlo_strbuf_t* constants = &w->elf.sections[w->constants].data;
  HLO_TRY(print_calls(w->table, list, arena, constants));
  const hlo_rt_calls_t calls = {.text_bytes = end_of(w, w->constants) - text,
                                .count = list->count,
                                .call_site_limit = w->table->node_count + 1};
  uint32_t state = hlo_elf_add_section(&w->elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, WORD);
  w->elf.sections[state].empty_bytes = WORD;
  uint32_t state_symbol =
      hlo_elf_add_symbol(&w->elf, "", ELF64_ST_INFO(STB_LOCAL, STT_SECTION), state, 0, 0);
  uint64_t start = end_of(w, w->data);
  append_bytes(w, w->data, &calls, sizeof calls);
  add_address(w, start + offsetof(hlo_rt_calls_t, calls), w->data_symbol, records);
  add_address(w, start + offsetof(hlo_rt_calls_t, text), w->constants_symbol, text);
  add_address(w, start + offsetof(hlo_rt_calls_t, state), state_symbol, 0);
  w->call_at = start + offsetof(hlo_rt_calls_t, run);
  *out_start = start;
  return hlo_ok();
}

static hlo_status_t add_program(writer_t* w, const hlo_target_t* target, hlo_arena_t* arena,
                                uint64_t* out_start) {
  const hlo_plan_t* plan = w->plan;
  uint64_t constants = add_constants(w), copies = add_copies(w), calls = 0;
  calls_t list;
  HLO_TRY(list_calls(w->table, arena, &list));
  if (list.count) HLO_TRY(add_calls(w, &list, arena, &calls));
  uint64_t saved_bytes = w->code->funcs[0].saved_bytes;
  const hlo_rt_program_t program = {
      .features = target->cpu.features,
      .temporary_bytes = plan->temporary_bytes,
      .saved_bytes = saved_bytes > sizeof(uint64_t) ? saved_bytes : sizeof(uint64_t),
      .abi_version = HLO_RT_ABI_VERSION,
      .argument_count = plan->argument_count,
      .result_count = plan->result_count,
      .copy_count = w->table->copy_count,
      .first_copy = w->table->node_count + 1,
      .subnormals = target->subnormals,
      .level = target->cpu.level};
  uint64_t start = end_of(w, w->data);
  append_bytes(w, w->data, &program, sizeof program);
  add_address(w, start + offsetof(hlo_rt_program_t, constants), w->data_symbol, constants);
  add_address(w, start + offsetof(hlo_rt_program_t, entry), w->text_symbol,
              w->code->funcs[0].offset_bytes);
  add_address(w, start + offsetof(hlo_rt_program_t, copies), w->data_symbol, copies);
  if (list.count) add_address(w, start + offsetof(hlo_rt_program_t, calls), w->data_symbol, calls);
  *out_start = start;
  return hlo_ok();
}

// Adds an undefined symbol for a function of the library.
static uint32_t import_symbol(writer_t* w, const char* name) {
  const uint8_t info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
  return hlo_elf_add_symbol(&w->elf, name, info, SHN_UNDEF, 0, 0);
}

static void add_field(writer_t* w, uint64_t at, const hlo_code_isa_field_t* field, uint32_t symbol,
                      uint64_t offset) {
  hlo_elf_add_relocation(&w->elf, w->text, at + field->offset_bytes, field->relocation, symbol,
                         (int64_t)offset + field->addend);
}

// NAME_run(arguments, results): goes on in hlo_rt_run(arguments, results, program).
static void add_run(writer_t* w, uint64_t program, hlo_arena_t* arena) {
  const hlo_code_isa_object_t* object = &w->code->isa->object;
  uint64_t at = hlo_elf_align(&w->elf, w->text, TRAMPOLINE_ALIGNMENT);
  append_bytes(w, w->text, object->trampoline, object->trampoline_bytes);
  const char* name = hlo_arena_printf(arena, "%s_run", w->name);
  if (!name) return;
  const uint8_t func = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  hlo_elf_add_symbol(&w->elf, name, func, w->text, at, object->trampoline_bytes);
  uint32_t target = import_symbol(w, "hlo_rt_run");
  add_field(w, at, &object->trampoline_data, w->data_symbol, program);
  add_field(w, at, &object->trampoline_target, target, 0);
}

static hlo_status_t write_object(writer_t* w, const hlo_target_t* target, hlo_arena_t* arena,
                                 hlo_strbuf_t* out) {
  add_sections(w);
  add_functions(w, arena);
  HLO_TRY(add_frames(w, arena));
  uint64_t program = 0;
  HLO_TRY(add_program(w, target, arena, &program));
  add_run(w, program, arena);
  if (w->call_at) add_address(w, w->call_at, import_symbol(w, "hlo_rt_call"), 0);
  HLO_TRY(hlo_arena_status(arena));
  return hlo_elf_write(&w->elf, out);
}

hlo_status_t hlo_object_print(const hlo_plan_t* plan, const hlo_call_site_table_t* table,
                              const hlo_vir_module_t* vir, const hlo_target_t* target,
                              const char* name, hlo_strbuf_t* out_object,
                              hlo_strbuf_t* out_header) {
  HLO_TRY(hlo_standalone_check(plan, "object file", true));
  hlo_code_t code = {0};
  HLO_TRY(hlo_code_compile(vir, target, &code));
  HLO_SCOPED_ARENA arena = {0};
  writer_t w = {
      .plan = plan, .table = table, .code = &code, .name = hlo_standalone_identifier(name, &arena)};
  w.elf.machine = code.isa->object.machine;
  hlo_status_t status = hlo_arena_status(&arena);
  if (hlo_status_is_ok(status)) status = write_object(&w, target, &arena, out_object);
  if (hlo_status_is_ok(status) && out_header) {
    status = hlo_standalone_print_header(plan, w.name, kUsage, out_header);
  }
  hlo_elf_deinit(&w.elf);
  hlo_code_deinit(&code);
  return status;
}
