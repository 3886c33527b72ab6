// SPDX-License-Identifier: Apache-2.0
// Writes HLO text from descriptions, in the style of XLA's HloModule::ToString().
#include <inttypes.h>

#include "frontend/hlo/export.h"
#include "frontend/hlo/print_impl.h"
#include "ir/print.h"

typedef hlo_hlo_printer_t printer_t;

// ---- shapes and computations --------------------------------------------------------------------

// Prints a comma between items, and a comment that counts them.
static void print_separator(printer_t* p, size_t index) {
  if (index) hlo_strbuf_puts(p->out, ", ");
  if (index && index % 5 == 0) hlo_strbuf_printf(p->out, "/*index=%zu*/", index);
}

// Adds the memory space, unless it is the default one, to a layout: "{1,0:S(5)}".
static void print_memory_space(printer_t* p, int64_t memory_space) {
  if (memory_space == 0 || p->out->length == 0) return;
  --p->out->length;  // continue before the brace
  hlo_strbuf_printf(p->out, ":S(%" PRId64 ")}", memory_space);
}

static void print_array_shape(printer_t* p, const hlo_desc_shape_t* shape, bool layout) {
  hlo_strbuf_puts(p->out, hlo_dtype_info(hlo_dtype_from_primitive(shape->element_type))->hlo_name);
  hlo_strbuf_putc(p->out, '[');
  const int64_t* dims = shape->dimensions.items;
  const bool* dynamic = shape->is_dynamic_dimension.items;
  for (size_t i = 0; i < shape->dimensions.count; ++i) {
    if (i) hlo_strbuf_putc(p->out, ',');
    if (dims[i] < 0) {
      hlo_strbuf_putc(p->out, '?');
    } else {
      bool bounded = i < shape->is_dynamic_dimension.count && dynamic[i];
      hlo_strbuf_printf(p->out, "%s%" PRId64, bounded ? "<=" : "", dims[i]);
    }
  }
  hlo_strbuf_putc(p->out, ']');
  if (layout && shape->layout && shape->dimensions.count) {
    hlo_hlo_print_ints(p, &shape->layout->minor_to_major);
    print_memory_space(p, shape->layout->memory_space);
  }
}

void hlo_hlo_print_shape(printer_t* p, const hlo_desc_shape_t* shape, bool layout) {
  if (shape->element_type == HLO_DESC_BUFFER) hlo_strbuf_putc(p->out, 'b');
  if (shape->element_type != HLO_DESC_TUPLE && shape->element_type != HLO_DESC_BUFFER) {
    print_array_shape(p, shape, layout);
    return;
  }
  const hlo_desc_shape_t* items = shape->tuple_shapes.items;
  hlo_strbuf_putc(p->out, '(');
  for (size_t i = 0; i < shape->tuple_shapes.count; ++i) {
    print_separator(p, i);
    hlo_hlo_print_shape(p, &items[i], layout);
  }
  hlo_strbuf_putc(p->out, ')');
}

static void print_operands(printer_t* p, const hlo_desc_instruction_t* in) {
  if (hlo_bytes_equal(in->opcode, "parameter")) {
    hlo_strbuf_printf(p->out, "%" PRId64, in->parameter_number);
    return;
  }
  if (in->literal) {
    hlo_hlo_print_literal(p, in->shape, in->literal);
    return;
  }
  const int64_t* ids = in->operand_ids.items;
  for (size_t i = 0; i < in->operand_ids.count; ++i) {
    print_separator(p, i);
    hlo_strbuf_putc(p->out, '%');
    hlo_hlo_print_bytes(p, p->names[ids[i]]);
  }
}

static void print_instruction(printer_t* p, const hlo_desc_instruction_t* in, bool is_root) {
  hlo_strbuf_puts(p->out, is_root ? "  ROOT %" : "  %");
  hlo_hlo_print_bytes(p, in->name);
  hlo_strbuf_puts(p->out, " = ");
  hlo_hlo_print_shape(p, in->shape, true);
  hlo_strbuf_putc(p->out, ' ');
  hlo_hlo_print_bytes(p, in->opcode);
  hlo_strbuf_putc(p->out, '(');
  print_operands(p, in);
  hlo_strbuf_putc(p->out, ')');
  hlo_hlo_print_attributes(p, in);
  hlo_strbuf_putc(p->out, '\n');
}

static void print_computation(printer_t* p, const hlo_desc_computation_t* computation) {
  const hlo_desc_instruction_t* items = computation->instructions.items;
  const hlo_desc_program_shape_t* shape = computation->shape;
  const hlo_wire_bytes_t* names = shape->parameter_names.items;
  if (computation->id == p->module->entry_computation_id) hlo_strbuf_puts(p->out, "ENTRY ");
  hlo_strbuf_putc(p->out, '%');
  hlo_hlo_print_bytes(p, computation->name);
  hlo_strbuf_puts(p->out, " (");
  for (size_t i = 0; i < shape->parameters.count; ++i) {
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_hlo_print_bytes(p, names[i]);
    hlo_strbuf_puts(p->out, ": ");
    hlo_hlo_print_shape(p, (const hlo_desc_shape_t*)shape->parameters.items + i, false);
  }
  hlo_strbuf_puts(p->out, ") -> ");
  hlo_hlo_print_shape(p, shape->result, false);
  hlo_strbuf_puts(p->out, " {\n");
  for (size_t i = 0; i < computation->instructions.count; ++i) {
    print_instruction(p, &items[i], items[i].id == computation->root_id);
  }
  hlo_strbuf_puts(p->out, "}\n");
}

// ---- the header ---------------------------------------------------------------------------------

static void print_aliases(printer_t* p) {
  const hlo_desc_aliases_t* aliases = p->module->input_output_alias;
  const hlo_desc_donors_t* donors = p->module->buffer_donor;
  if (aliases) hlo_strbuf_puts(p->out, ", input_output_alias={ ");
  for (size_t i = 0; aliases && i < aliases->entries.count; ++i) {
    const hlo_desc_alias_t* alias = (const hlo_desc_alias_t*)aliases->entries.items + i;
    if (i) hlo_strbuf_puts(p->out, ", ");
    hlo_hlo_print_alias(p, &alias->output_shape_index, alias->parameter_number,
                        &alias->parameter_shape_index, ", may-alias");
  }
  if (aliases) hlo_strbuf_puts(p->out, " }");
  if (donors) hlo_strbuf_puts(p->out, ", buffer_donor={ ");
  for (size_t i = 0; donors && i < donors->entries.count; ++i) {
    const hlo_desc_donor_t* donor = (const hlo_desc_donor_t*)donors->entries.items + i;
    hlo_strbuf_printf(p->out, "%s(%" PRId64 ", ", i ? ", " : "", donor->parameter_number);
    hlo_hlo_print_ints(p, &donor->parameter_shape_index);
    hlo_strbuf_putc(p->out, ')');
  }
  if (donors) hlo_strbuf_puts(p->out, " }");
}

static void print_entry_layout(printer_t* p) {
  const hlo_desc_program_shape_t* shape = p->module->shape;
  hlo_strbuf_puts(p->out, ", entry_computation_layout={(");
  for (size_t i = 0; i < shape->parameters.count; ++i) {
    print_separator(p, i);
    hlo_hlo_print_shape(p, (const hlo_desc_shape_t*)shape->parameters.items + i, true);
  }
  hlo_strbuf_puts(p->out, ")->");
  hlo_hlo_print_shape(p, shape->result, true);
  hlo_strbuf_putc(p->out, '}');
}

static void print_header(printer_t* p) {
  const hlo_desc_module_t* module = p->module;
  hlo_strbuf_puts(p->out, "HloModule ");
  hlo_hlo_print_bytes(p, module->name);
  print_aliases(p);
  print_entry_layout(p);
  if (module->replica_count) {
    hlo_strbuf_printf(p->out, ", replica_count=%" PRId64, module->replica_count);
  }
  if (module->num_partitions) {
    hlo_strbuf_printf(p->out, ", num_partitions=%" PRId64, module->num_partitions);
  }
  if (module->frontend_attributes) {
    hlo_strbuf_puts(p->out, ", frontend_attributes=");
    hlo_hlo_print_string_map(p, module->frontend_attributes);
  }
  hlo_strbuf_putc(p->out, '\n');
}

// ---- the module ---------------------------------------------------------------------------------

// Collects the names by id: ids are unique in the module.
static hlo_status_t collect_names(const hlo_desc_module_t* module, hlo_arena_t* arena,
                                  const hlo_wire_bytes_t** out_names) {
  const hlo_desc_computation_t* computations = module->computations.items;
  size_t count = 1;
  for (size_t c = 0; c < module->computations.count; ++c) {
    count += computations[c].instructions.count;
  }
  hlo_wire_bytes_t* names = hlo_arena_array(arena, count, sizeof *names);
  if (!names) return hlo_arena_status(arena);
  for (size_t c = 0; c < module->computations.count; ++c) {
    const hlo_desc_instruction_t* items = computations[c].instructions.items;
    for (size_t i = 0; i < computations[c].instructions.count; ++i) {
      names[items[i].id] = items[i].name;
    }
  }
  *out_names = names;
  return hlo_ok();
}

hlo_status_t hlo_hlo_text_print(const hlo_module_t* module, const hlo_hlo_print_options_t* options,
                                hlo_strbuf_t* out) {
  static const hlo_hlo_print_options_t defaults = {0};
  printer_t p = {.out = out, .options = options ? *options : defaults};
  HLO_SCOPED_ARENA arena = {0};
  hlo_desc_module_t desc;
  HLO_TRY(hlo_desc_export(module, &arena, &desc));
  HLO_TRY(collect_names(&desc, &arena, &p.names));
  p.module = &desc;
  void* locale = hlo_text_locale_begin();
  print_header(&p);
  for (size_t i = 0; i < desc.computations.count; ++i) {
    hlo_strbuf_putc(out, '\n');
    print_computation(&p, (const hlo_desc_computation_t*)desc.computations.items + i);
  }
  hlo_text_locale_end(locale);
  return hlo_strbuf_status(out);
}
