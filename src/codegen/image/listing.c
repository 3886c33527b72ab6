// SPDX-License-Identifier: Apache-2.0
// Prints generated code (see listing.h).
//
// objdump is run for one block of code at a time, because the output of a child process is limited;
// the next block begins after the last complete instruction.
#include "codegen/image/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "codegen/c/emit.h"
#include "codegen/isa/isa.h"

enum {
  PATH_BYTES = 1024,
  BLOCK_BYTES = 2048,
  INSTRUCTION_BYTES = 15,  // longest instruction
  LINE_BYTES = 16,         // of code without disassembler
};
#define TIMEOUT_NS UINT64_C(60000000000)

typedef struct printer {
  const hlo_code_t* code;
  const hlo_module_t* module;
  const hlo_node_t** nodes;  // by index; NULL: not in this function
  uint32_t node_count;
  uint32_t next_debug_id;  // first debug id entry that is not printed yet
  hlo_strbuf_t* out;
  char path[PATH_BYTES];  // of the file with the code
} printer_t;

// ---- origin of code -----------------------------------------------------------------------------

static void collect_nodes(printer_t* printer, const hlo_region_t* region) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (node->index < printer->node_count) printer->nodes[node->index] = node;
    for (uint32_t i = 0; i < node->region_count; ++i) collect_nodes(printer, node->regions[i]);
  }
}

// Debug ids are node->index + 1 (body/call_site.h).
static void print_debug_id(const printer_t* printer, uint32_t debug_id) {
  const hlo_node_t* node =
      debug_id && debug_id <= printer->node_count ? printer->nodes[debug_id - 1] : NULL;
  if (!node) {
    hlo_strbuf_puts(printer->out, "no operation\n");
    return;
  }
  hlo_strbuf_printf(printer->out, "%s ", hlo_op_info(node->op)->name);
  hlo_loc_format(printer->module, node->loc, printer->out);
  hlo_strbuf_putc(printer->out, '\n');
}

// Prints the debug id of the code at `offset` if it begins there.
static void print_debug_id_at(printer_t* printer, uint32_t offset) {
  const hlo_code_t* code = printer->code;
  uint32_t begin = printer->next_debug_id;
  while (printer->next_debug_id < code->debug_id_count &&
         code->debug_ids[printer->next_debug_id].offset_bytes <= offset) {
    ++printer->next_debug_id;
  }
  if (printer->next_debug_id == begin) return;
  hlo_strbuf_puts(printer->out, "  // ");
  print_debug_id(printer, code->debug_ids[printer->next_debug_id - 1].debug_id);
}

// ---- bytes -------------------------------------------------------------------------------------

static void print_bytes(printer_t* printer, size_t at, size_t end) {
  while (at < end) {
    size_t stop = end - at > LINE_BYTES ? at + LINE_BYTES : end;
    hlo_strbuf_printf(printer->out, "%6zx:", at);
    for (; at < stop; ++at) hlo_strbuf_printf(printer->out, " %02x", printer->code->bytes[at]);
    hlo_strbuf_putc(printer->out, '\n');
  }
}

static void print_func_bytes(printer_t* printer, uint32_t at, uint32_t end) {
  const hlo_code_t* code = printer->code;
  while (at < end) {
    print_debug_id_at(printer, at);
    uint32_t stop = end;
    if (printer->next_debug_id < code->debug_id_count &&
        code->debug_ids[printer->next_debug_id].offset_bytes < end) {
      stop = code->debug_ids[printer->next_debug_id].offset_bytes;
    }
    print_bytes(printer, at, stop);
    at = stop;
  }
}

// ---- objdump -----------------------------------------------------------------------------------

// Parses "  1f:\tc5 f8 77 \tvzeroupper" and returns the size of the instruction; 0 for any other
// line.
static uint32_t parse_instruction(const char* line, const char* end, uint32_t* out_offset,
                                  const char** out_text) {
  char* colon = NULL;
  unsigned long offset = strtoul(line, &colon, 16);
  if (colon == line || colon + 1 >= end || colon[0] != ':' || colon[1] != '\t') return 0;
  const char* bytes = colon + 2;
  const char* tab = memchr(bytes, '\t', (size_t)(end - bytes));
  uint32_t size = 0;
  const char* stop = tab ? tab : end;
  while (stop - bytes >= 2 && *bytes != ' ') {
    ++size;
    bytes += 2;
    if (bytes < stop) ++bytes;
  }
  *out_offset = (uint32_t)offset;
  *out_text = tab ? tab + 1 : end;
  return size;
}

static void print_instruction(printer_t* printer, uint32_t offset, uint32_t size, const char* text,
                              const char* end) {
  print_debug_id_at(printer, offset);
  hlo_strbuf_printf(printer->out, "%6" PRIx32 ":", offset);
  for (uint32_t i = 0; i < size; ++i) {
    hlo_strbuf_printf(printer->out, " %02x", printer->code->bytes[offset + i]);
  }
  enum { BYTES_WIDTH = 11 };  // sufficient for most instructions
  if (size < BYTES_WIDTH) hlo_strbuf_printf(printer->out, "%*s", (int)(BYTES_WIDTH - size) * 3, "");
  while (end > text && end[-1] == ' ') --end;
  hlo_strbuf_puts(printer->out, "  ");
  hlo_strbuf_append(printer->out, text, (size_t)(end - text));
  hlo_strbuf_putc(printer->out, '\n');
}

// Prints objdump's output for [at, stop); returns the end of the printed code: `stop`, or an
// instruction that `stop` may cut.
static uint32_t print_block(printer_t* printer, uint32_t at, uint32_t stop, bool is_last,
                            const char* output) {
  const char* end;
  for (const char* line = output; (end = strchr(line, '\n')); line = end + 1) {
    uint32_t offset;
    const char* text;
    uint32_t size = parse_instruction(line, end, &offset, &text);
    if (size == 0 || offset != at || size > stop - at) continue;
    if (!is_last && stop - at < INSTRUCTION_BYTES) break;
    print_instruction(printer, offset, size, text, end);
    at += size;
  }
  return at;
}

static bool print_func_instructions(printer_t* printer, uint32_t at, uint32_t end) {
  char from[48], to[48];
  const hlo_code_isa_t* isa = printer->code->isa;
  const char* const arguments[] = {"objdump",     "-D",
                                   "-w",          "-z",
                                   "-M",          isa->objdump_syntax,
                                   "-b",          "binary",
                                   "-m",          isa->objdump_machine,
                                   from,          to,
                                   printer->path, NULL};
  while (at < end) {
    bool is_last = end - at <= BLOCK_BYTES;
    uint32_t stop = is_last ? end : at + BLOCK_BYTES;
    snprintf(from, sizeof from, "--start-address=%" PRIu32, at);
    snprintf(to, sizeof to, "--stop-address=%" PRIu32, stop);
    HLO_SCOPED_STRBUF output = {0};
    int exit_code = 1;
    hlo_status_t status = hlo_os_process_run(arguments, TIMEOUT_NS, &output, &exit_code);
    uint32_t begin = at;
    if (hlo_status_is_ok(status) && exit_code == 0) {
      at = print_block(printer, at, stop, is_last, hlo_strbuf_text(&output));
    }
    hlo_status_release(status);
    if (at == begin) return false;
  }
  return true;
}

// ---- machine code ------------------------------------------------------------------------------

static bool print_funcs(printer_t* printer, bool has_objdump) {
  const hlo_code_t* code = printer->code;
  size_t end = 0;
  printer->next_debug_id = 0;
  for (uint32_t i = 0; i < code->func_count; ++i) {
    const hlo_code_func_t* func = &code->funcs[i];
    hlo_strbuf_printf(printer->out, "\n%s: // %" PRIu32 " bytes, %" PRIu32 " of stack\n",
                      func->name, func->size_bytes, func->frame_bytes);
    end = (size_t)func->offset_bytes + func->size_bytes;
    if (!has_objdump) {
      print_func_bytes(printer, func->offset_bytes, (uint32_t)end);
    } else if (!print_func_instructions(printer, func->offset_bytes, (uint32_t)end)) {
      return false;
    }
  }
  if (end < code->size_bytes) hlo_strbuf_puts(printer->out, "\nconstants:\n");
  print_bytes(printer, end, code->size_bytes);
  return true;
}

// Disassembles the functions with objdump, which reads a temporary file; returns false on failure.
static bool disassemble(printer_t* printer) {
  char folder[PATH_BYTES - sizeof "/code"];
  if (!hlo_status_take_ok(hlo_os_directory_create_temporary(NULL, folder, sizeof folder)))
    return false;
  snprintf(printer->path, sizeof printer->path, "%s/code", folder);
  const bool is_done = hlo_status_take_ok(hlo_os_file_write(printer->path, printer->code->bytes,
                                                            printer->code->size_bytes)) &&
                       print_funcs(printer, true);
  hlo_os_file_remove(printer->path);
  hlo_os_file_remove(folder);
  return is_done;
}

// Prints each function with offsets, bytes and instructions; separate lines name the operations.
// Without objdump there are only bytes, and the first line says so.
static hlo_status_t print_machine_code(printer_t* printer, const hlo_func_t* func,
                                       hlo_strbuf_t* out) {
  const hlo_code_t* code = printer->code;
  HLO_SCOPED_STRBUF body = {0};
  printer->out = &body;
  bool has_objdump = disassemble(printer);
  if (!has_objdump) {
    print_funcs(printer, false);
  }
  hlo_strbuf_printf(out, "// machine code of @%s: %" PRIu32 " function%s, %zu bytes%s\n",
                    func->name, code->func_count, code->func_count == 1 ? "" : "s",
                    code->size_bytes, has_objdump ? "" : "; bytes only, objdump was not found");
  hlo_strbuf_append(out, hlo_strbuf_text(&body), body.length);
  return hlo_strbuf_status(&body);
}

// ---- a single location --------------------------------------------------------------------------

static const hlo_code_func_t* find_func_at(const hlo_code_t* code, uint64_t offset) {
  for (uint32_t i = 0; i < code->func_count; ++i) {
    const hlo_code_func_t* func = &code->funcs[i];
    if (offset >= func->offset_bytes && offset - func->offset_bytes < func->size_bytes) return func;
  }
  return NULL;
}

static const hlo_code_func_t* find_func_named(const hlo_code_t* code, const char* name,
                                              size_t length) {
  for (uint32_t i = 0; i < code->func_count; ++i) {
    const char* known = code->funcs[i].name;
    if (strlen(known) == length && memcmp(known, name, length) == 0) return &code->funcs[i];
  }
  return NULL;
}

// Parses a location: a function, NULL for an offset in all of the code, and an offset in the
// function.
static hlo_status_t parse_location(const hlo_code_t* code, const char* location,
                                   const hlo_code_func_t** out_func, uint64_t* out_offset) {
  const char* colons = strstr(location, "::");
  const char* name = colons ? colons + 2 : location;
  const char* plus = strchr(name, '+');
  const char* digits = plus ? plus + 1 : name;
  char* end = NULL;
  *out_func = NULL;
  *out_offset = strtoull(digits, &end, 0);
  if (end == digits || *end) {
    return hlo_invalid_argument(
        "location '%s' is invalid: expected an offset such as 0x1f3 or main::chunk5+0x42",
        location);
  }
  if (!plus) return hlo_ok();
  *out_func = find_func_named(code, name, (size_t)(plus - name));
  if (*out_func) return hlo_ok();
  return hlo_not_found("the code has no function '%.*s'", (int)(plus - name), name);
}

// Prints "chunk5+0x42: stablehlo.add model.py:3:7", or only the location if it has no operation.
static hlo_status_t print_location(printer_t* printer, const char* location) {
  const hlo_code_t* code = printer->code;
  const hlo_code_func_t* func;
  uint64_t offset;
  uint32_t debug_id = 0;
  HLO_TRY(parse_location(code, location, &func, &offset));
  if (func) offset = offset < func->size_bytes ? offset + func->offset_bytes : UINT64_MAX;
  func = find_func_at(code, offset);
  if (!func) {
    return hlo_not_found("location %s is outside the code, which has %zu bytes", location,
                         code->size_bytes);
  }
  for (uint32_t i = 0; i < code->debug_id_count && code->debug_ids[i].offset_bytes <= offset; ++i) {
    if (code->debug_ids[i].offset_bytes >= func->offset_bytes)
      debug_id = code->debug_ids[i].debug_id;
  }
  hlo_strbuf_printf(printer->out, "%s+0x%" PRIx64 ": ", func->name, offset - func->offset_bytes);
  print_debug_id(printer, debug_id);
  return hlo_strbuf_status(printer->out);
}

// ---- forms -------------------------------------------------------------------------------------

bool hlo_listing_find(const char* name, hlo_listing_form_t* out_form) {
  static const char* const names[] = {
      [HLO_LISTING_FUSION] = "fusion",   [HLO_LISTING_TILE] = "tile", [HLO_LISTING_PLAN] = "plan",
      [HLO_LISTING_VIR] = "vir",         [HLO_LISTING_C] = "c",       [HLO_LISTING_ASM] = "asm",
      [HLO_LISTING_TILINGS] = "tilings", [HLO_LISTING_PTX] = "ptx",   [HLO_LISTING_SPMD] = "spmd"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(names[i], name) != 0) continue;
    *out_form = (hlo_listing_form_t)i;
    return true;
  }
  return false;
}

hlo_status_t hlo_listing_print_code(const hlo_listing_t* listing, const hlo_vir_module_t* vir,
                                    const hlo_func_t* func, const hlo_target_t* target) {
  if (listing->form == HLO_LISTING_C) return hlo_c_emit(vir, HLO_C_BLOBS_EMBEDDED, listing->out);
  if (listing->form != HLO_LISTING_ASM && listing->form != HLO_LISTING_LOCATION) return hlo_ok();
  hlo_code_t code = {0};
  HLO_TRY(hlo_code_compile(vir, target, &code));
  HLO_SCOPED_ARENA arena = {0};
  printer_t printer = {.code = &code,
                       .module = func->module,
                       .node_count = func->module->node_count,
                       .out = listing->out};
  printer.nodes = hlo_arena_array(&arena, printer.node_count, sizeof(*printer.nodes));
  hlo_status_t status = hlo_arena_status(&arena);
  if (hlo_status_is_ok(status)) {
    collect_nodes(&printer, func->body);
    status = listing->form == HLO_LISTING_LOCATION
                 ? print_location(&printer, listing->location)
                 : print_machine_code(&printer, func, listing->out);
  }
  hlo_code_deinit(&code);
  return status;
}
