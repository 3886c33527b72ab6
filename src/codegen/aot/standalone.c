// SPDX-License-Identifier: Apache-2.0
// Self-contained C source (see standalone.h): the functions of the C back end, then a frame and a
// runtime table (program_abi.h), as words at the offsets that the functions read.
#include "codegen/aot/standalone.h"

#include <ctype.h>
#include <inttypes.h>

#include "codegen/aot/standalone_impl.h"
#include "codegen/c/emit.h"
#include "ir/call.h"

enum { WORD_BYTES = 8 };
#define FRAME_WORD(member) (offsetof(hlo_frame_t, member) / WORD_BYTES)
#define TABLE_WORD(member) (offsetof(hlo_runtime_table_t, member) / WORD_BYTES)

typedef struct printer {
  const hlo_plan_t* plan;
  const hlo_call_site_table_t* table;
  hlo_vir_module_t* vir;
  const char* name;  // a C identifier
  uint32_t* blobs;   // number of each constant; UINT32_MAX: only fills memory
  hlo_strbuf_t* out;
} printer_t;

// ---- unsupported operations ---------------------------------------------------------------------

static bool needs_library(const hlo_step_t* step) {
  if (step->kind != HLO_STEP_CALL) return false;
  const hlo_op_t op = step->node->op;
  return !hlo_op_has(op, HLO_TRAIT_ORDERS) && op != HLO_OP_replica_id && op != HLO_OP_partition_id;
}

static hlo_status_t refuse_node(const hlo_plan_t* plan, const hlo_node_t* node, const char* form) {
  HLO_SCOPED_STRBUF location = {0};
  hlo_loc_format(plan->func->module, node->loc, &location);
  return hlo_unimplemented("%s: %s: not supported in a standalone program (%s)",
                           hlo_strbuf_text(&location), hlo_op_info(node->op)->name, form);
}

// Returns true if the operation needs other processes, which a standalone program does not have.
static bool is_exchange(const hlo_node_t* node) {
  return hlo_call_may_wait(node) || hlo_op_has(node->op, HLO_TRAIT_CONTROL | HLO_TRAIT_TERMINATOR);
}

hlo_status_t hlo_standalone_check(const hlo_plan_t* plan, const char* form, bool may_call) {
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    if (needs_library(step) && (!may_call || is_exchange(step->node))) {
      return refuse_node(plan, step->node, form);
    }
  }
  return hlo_ok();
}

// ---- constants and copies ----------------------------------------------------------------------

static hlo_status_t add_constants(printer_t* printer, hlo_arena_t* arena) {
  const hlo_plan_t* plan = printer->plan;
  printer->blobs = hlo_arena_array(arena, plan->constant_count, sizeof(uint32_t));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    const void* bytes = printer->table->constants[i];
    size_t size_bytes = hlo_type_size_bytes(plan->constants[i].value->type);
    printer->blobs[i] =
        bytes ? hlo_vir_module_add_blob(printer->vir, bytes, size_bytes) : UINT32_MAX;
  }
  return hlo_vir_module_status(printer->vir);
}

static void print_allocation(printer_t* printer, const hlo_allocation_t* allocation) {
  hlo_strbuf_t* out = printer->out;
  switch (allocation->kind) {
    case HLO_ALLOCATION_NONE:
    case HLO_ALLOCATION_REGISTER: hlo_strbuf_puts(out, "0"); return;
    case HLO_ALLOCATION_ARGUMENT:
      hlo_strbuf_printf(out, "buffers[%" PRIu32 "]", allocation->index);
      return;
    case HLO_ALLOCATION_RESULT:
      hlo_strbuf_printf(out, "buffers[%" PRIu32 "] + %" PRIu64,
                        printer->plan->argument_count + allocation->index,
                        allocation->offset_bytes);
      return;
    case HLO_ALLOCATION_CONSTANT:
      hlo_strbuf_printf(out, "(void*)hlo_blobs[%" PRIu32 "]", printer->blobs[allocation->index]);
      return;
    case HLO_ALLOCATION_TEMPORARY:
      hlo_strbuf_printf(out, "(char*)frame[%zu] + %" PRIu64, FRAME_WORD(temporaries),
                        allocation->offset_bytes);
      return;
  }
}

static void print_copy(printer_t* printer, const hlo_copy_call_site_t* call_site, uint32_t number) {
  hlo_strbuf_t* out = printer->out;
  hlo_strbuf_printf(out, "    case %" PRIu32 ": ", number);
  hlo_strbuf_puts(out, call_site->splat ? "fill(" : "memmove(");
  print_allocation(printer, &call_site->copy.to);
  if (call_site->splat) {
    size_t width = hlo_dtype_size_bytes(call_site->splat->dtype);
    hlo_strbuf_puts(out, ", \"");
    for (size_t i = 0; i < width; ++i) {
      hlo_strbuf_printf(out, "\\%03o", ((const uint8_t*)call_site->splat->data)[i]);
    }
    hlo_strbuf_printf(out, "\", %zu", width);
  } else {
    hlo_strbuf_puts(out, ", ");
    print_allocation(printer, &call_site->copy.from);
  }
  hlo_strbuf_printf(out, ", %" PRIu64 "); return 0;\n", call_site->copy.size_bytes);
}

static void print_copies(printer_t* printer) {
  hlo_strbuf_puts(
      printer->out,
      "\nstatic inline void fill(char* to, const char* element, size_t width, size_t "
      "bytes) {\n"
      "  for (size_t i = 0; i < bytes; i += width) memcpy(to + i, element, width);\n"
      "}\n"
      "\n"
      "// Copies that are too large to be inlined.\n"
      "static int32_t call_library(uint64_t* frame, uint32_t call_site, void* const* none) {\n"
      "  (void)none;\n");
  hlo_strbuf_printf(printer->out,
                    "  char* const* buffers = (char* const*)frame[%zu];\n"
                    "  (void)buffers;\n"
                    "  switch (call_site) {\n",
                    FRAME_WORD(buffers));
  for (uint32_t i = 0; i < printer->table->copy_count; ++i) {
    print_copy(printer, &printer->table->copies[i], printer->table->node_count + 1 + i);
  }
  hlo_strbuf_puts(printer->out, "  }\n  return 2;\n}\n");
}

// ---- the function ------------------------------------------------------------------------------

static void print_head(printer_t* printer) {
  static const char* const names[] = {"functions", "saved_bytes", "blobs"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    hlo_strbuf_printf(printer->out, "#define hlo_%s %s_%s\n", names[i], printer->name, names[i]);
  }
}

// The state of base/fpenv.h, for a source without the library.
static void print_floats(printer_t* printer) {
  hlo_strbuf_puts(
      printer->out,
      "\n// The floating-point state of the program: to nearest, nothing traps, subnormal numbers\n"
      "// flushed or kept.\n"
      "#if defined(__x86_64__)\n"
      "static inline uint64_t enter_floats(void) {\n"
      "  uint64_t before = __builtin_ia32_stmxcsr();\n"
      "  __builtin_ia32_ldmxcsr(HLOCC_FLUSHES ? 0x9fc0 : 0x1f80);\n"
      "  return before;\n"
      "}\n"
      "static inline void leave_floats(uint64_t before) {\n"
      "  __builtin_ia32_ldmxcsr((uint32_t)before);\n"
      "}\n"
      "#elif defined(__aarch64__)\n"
      "static inline uint64_t enter_floats(void) {\n"
      "  uint64_t before, wanted = HLOCC_FLUSHES ? 1 << 24 : 0;\n"
      "  __asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(before));\n"
      "  __asm__ volatile(\"msr fpcr, %0\" : : \"r\"(wanted));\n"
      "  return before;\n"
      "}\n"
      "static inline void leave_floats(uint64_t before) {\n"
      "  __asm__ volatile(\"msr fpcr, %0\" : : \"r\"(before));\n"
      "}\n"
      "#else\n"
      "static inline uint64_t enter_floats(void) { return 0; }\n"
      "static inline void leave_floats(uint64_t before) { (void)before; }\n"
      "#endif\n");
}

static void print_runtime(printer_t* printer) {
  hlo_strbuf_puts(
      printer->out,
      "\ntypedef int32_t (*chunk_t)(void* frame, void* context, uint64_t index);\n"
      "\n"
      "// On the calling thread, or on the threads of OpenMP.\n"
      "static int32_t parallel_for(void* frame, int64_t count, chunk_t chunk, void* context) {\n"
      "  int32_t failed = 0;\n"
      "#ifdef _OPENMP\n"
      "#pragma omp parallel for reduction(| : failed)\n"
      "#endif\n"
      "  for (int64_t i = 0; i < count; ++i) {\n"
      "    uint64_t before = enter_floats();\n"
      "    failed |= chunk(frame, context, (uint64_t)i);\n"
      "    leave_floats(before);\n"
      "  }\n"
      "  return failed ? 2 : 0;\n"
      "}\n"
      "\n"
      "static int32_t check_failed(void* frame, uint32_t call_site, int64_t found, int64_t limit) "
      "{\n"
      "  (void)frame, (void)call_site, (void)found, (void)limit;\n"
      "  return 2;\n"
      "}\n");
}

static void print_run(printer_t* printer) {
  const hlo_plan_t* plan = printer->plan;
  hlo_strbuf_t* out = printer->out;
  uint32_t buffer_count = plan->argument_count + plan->result_count;
  hlo_strbuf_printf(out,
                    "\nint %s_run(const void* const* arguments, void* const* results) {\n"
                    "  const void* buffers[%" PRIu32
                    "] = {0};\n"
                    "  for (int i = 0; i < %" PRIu32
                    "; ++i) buffers[i] = arguments[i];\n"
                    "  for (int i = 0; i < %" PRIu32 "; ++i) buffers[%" PRIu32
                    " + i] = results[i];\n",
                    printer->name, buffer_count + 1, plan->argument_count, plan->result_count,
                    plan->argument_count);
  hlo_strbuf_printf(out, "  const void* constants[%" PRIu32 "] = {", plan->constant_count + 1);
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    if (printer->blobs[i] == UINT32_MAX) {
      hlo_strbuf_puts(out, "0, ");
    } else {
      hlo_strbuf_printf(out, "hlo_blobs[%" PRIu32 "], ", printer->blobs[i]);
    }
  }
  uint64_t bytes = (plan->temporary_bytes + 64) / 64 * 64;
  hlo_strbuf_printf(out,
                    "0};\n"
                    "  const void* program[] = {constants};\n"
                    "  uint64_t saved[1] = {0}, table[%zu] = {0}, frame[%zu] = {0};\n"
                    "  char* temporaries = aligned_alloc(64, %" PRIu64
                    ");\n"
                    "  if (!temporaries) return -1;\n",
                    sizeof(hlo_runtime_table_t) / WORD_BYTES, sizeof(hlo_frame_t) / WORD_BYTES,
                    bytes);
  const struct {
    const char *array, *value;
    size_t word;
  } words[] = {{"table", "parallel_for", TABLE_WORD(parallel_for)},
               {"table", "call_library", TABLE_WORD(call_library)},
               {"table", "check_failed", TABLE_WORD(check_failed)},
               {"frame", "buffers", FRAME_WORD(buffers)},
               {"frame", "temporaries", FRAME_WORD(temporaries)},
               {"frame", "saved", FRAME_WORD(saved)},
               {"frame", "table", FRAME_WORD(runtime)},
               {"frame", "program", FRAME_WORD(program)}};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    hlo_strbuf_printf(out, "  %s[%zu] = (uint64_t)%s;\n", words[i].array, words[i].word,
                      words[i].value);
  }
  hlo_strbuf_puts(out,
                  "  uint64_t before = enter_floats();\n"
                  "  int32_t answer = func_0((int64_t)frame);\n"
                  "  leave_floats(before);\n"
                  "  free(temporaries);\n"
                  "  return answer;\n"
                  "}\n");
}

// ---- the header --------------------------------------------------------------------------------

static void print_type(const char* what, uint32_t number, const hlo_type_t* type,
                       hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "//   %s[%" PRIu32 "]: ", what, number);
  if (type->kind == HLO_TYPE_TOKEN) {
    hlo_strbuf_puts(out, "token, ignored\n");
    return;
  }
  hlo_strbuf_printf(out, "%s[", hlo_dtype_info(type->dtype)->hlo_name);
  for (uint32_t d = 0; d < type->rank; ++d) {
    hlo_strbuf_printf(out, "%s%" PRId64, d ? "," : "", type->dims[d]);
  }
  hlo_strbuf_printf(out, "], %zu bytes\n", hlo_type_size_bytes(type));
}

hlo_status_t hlo_standalone_print_header(const hlo_plan_t* plan, const char* name,
                                         const char* usage, hlo_strbuf_t* out) {
  const hlo_func_t* func = plan->func;
  hlo_strbuf_printf(out, "// The program @%s. %s#pragma once\n\n", func->name, usage);
  hlo_strbuf_puts(out,
                  "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                  "// Runs it on dense tensors, the last dimension fastest:\n");
  for (uint32_t i = 0; i < plan->argument_count; ++i) {
    print_type("arguments", i, func->body->args[i]->type, out);
  }
  const hlo_node_t* end = hlo_region_terminator(func->body);
  for (uint32_t i = 0; i < plan->result_count; ++i) {
    print_type("results", i, hlo_node_operand(end, i)->type, out);
  }
  hlo_strbuf_printf(
      out,
      "// Results are memory of their own. Answers 0; less when memory is out, more when "
      "a check fails.\n"
      "// Calls may run at once.\n"
      "int %s_run(const void* const* arguments, void* const* results);\n\n"
      "#ifdef __cplusplus\n}\n#endif\n",
      name);
  return hlo_strbuf_status(out);
}

const char* hlo_standalone_identifier(const char* name, hlo_arena_t* arena) {
  bool is_start = isalpha((unsigned char)*name) || *name == '_';
  char* copy = hlo_arena_printf(arena, "%s%s", is_start ? "" : "_", name);
  for (char* c = copy; c && *c; ++c) {
    if (!isalnum((unsigned char)*c)) *c = '_';
  }
  return copy;
}

static hlo_status_t print_source_header(const printer_t* printer, hlo_strbuf_t* out) {
  HLO_SCOPED_STRBUF usage = {0};
  hlo_strbuf_puts(&usage, "Its source is compiled with\n//  ");
  for (const char* const* flag = hlo_c_flags; *flag; ++flag) {
    hlo_strbuf_printf(&usage, " %s", *flag);
  }
  hlo_strbuf_puts(&usage,
                  "\n// (the bits of floats depend on them), -fopenmp for many threads, and linked "
                  "with -lm.\n");
  HLO_TRY(hlo_strbuf_status(&usage));
  return hlo_standalone_print_header(printer->plan, printer->name, hlo_strbuf_text(&usage), out);
}

static hlo_status_t print_all(printer_t* printer, hlo_arena_t* arena, hlo_strbuf_t* out_header) {
  HLO_TRY(add_constants(printer, arena));
  print_head(printer);
  HLO_TRY(hlo_c_emit(printer->vir, HLO_C_BLOBS_EMBEDDED, printer->out));
  hlo_strbuf_puts(printer->out, "\n#include <stdlib.h>\n#include <string.h>\n");
  print_copies(printer);
  print_floats(printer);
  print_runtime(printer);
  print_run(printer);
  HLO_TRY(hlo_strbuf_status(printer->out));
  return print_source_header(printer, out_header);
}

hlo_status_t hlo_standalone_print(const hlo_plan_t* plan, const hlo_call_site_table_t* table,
                                  hlo_vir_module_t* vir, const char* name, hlo_strbuf_t* out_source,
                                  hlo_strbuf_t* out_header) {
  HLO_TRY(hlo_standalone_check(plan, "C source", false));
  HLO_SCOPED_ARENA arena = {0};
  printer_t printer = {.plan = plan,
                       .table = table,
                       .vir = vir,
                       .name = hlo_standalone_identifier(name, &arena),
                       .out = out_source};
  HLO_TRY(hlo_arena_status(&arena));
  return print_all(&printer, &arena, out_header);
}
