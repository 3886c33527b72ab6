// SPDX-License-Identifier: Apache-2.0
// Creates the smallest program of an operation and runs it (see support.h).
#include "dev/support.h"

#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "codegen/image/listing.h"
#include "frontend/frontend.h"
#include "ir/clone.h"
#include "runtime/executable.h"

// ---- the table

typedef struct row {
  const char* parameters;
  const char* result;
  const char* body;  // NULL: the default form
  const char* note;
} row_t;

#define REGION(op)                  \
  "{\n^bb0(%l: $s, %u: $s):\n%9 = " \
  "stablehlo." #op                  \
  " %l, %u : $s\n"                  \
  "stablehlo.return %9 : $s\n}"
#define ORDER(direction)                \
  "{\n^bb0(%l: $s, %u: $s):\n%9 = "     \
  "stablehlo.compare " #direction       \
  ", %l, %u : ($s, $s) -> tensor<i1>\n" \
  "stablehlo.return %9 : tensor<i1>\n}"

static const row_t kRows[HLO_OP_COUNT] = {
#define HLO_SUPPORT(op, parameters, result, ...) \
  [HLO_OP_##op] = {parameters, result, __VA_ARGS__, NULL},
#define HLO_SUPPORT_AS(op, other)
#define HLO_SUPPORT_NOTE(op, words) [HLO_OP_##op] = {.note = words},
#include "dev/support.def"
#undef HLO_SUPPORT
#undef HLO_SUPPORT_AS
#undef HLO_SUPPORT_NOTE
};

// One plus the operation whose program this one shares; 0: it has its own.
static const uint16_t kShared[HLO_OP_COUNT] = {
#define HLO_SUPPORT(op, ...)
#define HLO_SUPPORT_AS(op, other) [HLO_OP_##op] = HLO_OP_##other + 1,
#define HLO_SUPPORT_NOTE(op, words)
#include "dev/support.def"
#undef HLO_SUPPORT
#undef HLO_SUPPORT_AS
#undef HLO_SUPPORT_NOTE
};

static const row_t* row_of(hlo_op_t op) {
  return &kRows[kShared[op] ? kShared[op] - 1u : (unsigned)op];
}

const char* hlo_support_note(hlo_op_t op) {
  return row_of(op)->note;
}

bool hlo_support_is_typeless(hlo_op_t op) {
  const row_t* row = row_of(op);
  return row->body && !strchr(row->parameters, '$') && !strchr(row->body, '$');
}

// ---- the text of a program

static const char kQuantized[] = "!quant.uniform<i8:f32, 0.5:3>";

static int part_type(int type) {
  return type == HLO_SUPPORT_QUANTIZED ? type : (int)hlo_dtype_info((hlo_dtype_t)type)->part;
}

static const char* element_name(int type) {
  return type == HLO_SUPPORT_QUANTIZED ? kQuantized : hlo_dtype_info((hlo_dtype_t)type)->mlir_name;
}

static const char* element_value(int type, bool as_attribute) {
  switch (hlo_dtype_info((hlo_dtype_t)type)->klass) {
    case HLO_DTYPE_CLASS_BOOL: return "true";
    case HLO_DTYPE_CLASS_SIGNED:
    case HLO_DTYPE_CLASS_UNSIGNED: return "1";
    case HLO_DTYPE_CLASS_COMPLEX: return as_attribute ? "[1.0, 1.0]" : "(1.0, 1.0)";
    default: return "1.0";
  }
}

// Appends text with its "$" words replaced.
static void expand(const char* text, int type, hlo_strbuf_t* out) {
  for (const char* p = text; *p; ++p) {
    if (*p != '$') {
      hlo_strbuf_putc(out, *p);
      continue;
    }
    switch (*++p) {
      case 'T': hlo_strbuf_puts(out, element_name(type)); break;
      case 'R': hlo_strbuf_puts(out, element_name(part_type(type))); break;
      case 's': hlo_strbuf_printf(out, "tensor<%s>", element_name(type)); break;
      case 't': hlo_strbuf_printf(out, "tensor<2x%s>", element_name(type)); break;
      case 'Z': hlo_strbuf_puts(out, element_value(type, false)); break;
      default: hlo_strbuf_puts(out, element_value(type, true)); break;
    }
  }
}

// Arguments and results are types of clients: floats, if the operation's types are quantized.
typedef struct form {
  int type;
  bool is_quantized;
  hlo_strbuf_t parameters, prelude;
} form_t;

static void append_tensor(const char* dims, int type, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "tensor<");
  expand(dims, type, out);
  hlo_strbuf_putc(out, '>');
}

static void add_parameter(form_t* form, char* declaration) {
  char* dims = strchr(declaration, ':');
  *dims++ = 0;
  bool is_wrapped = form->is_quantized && strchr(dims, '$');
  hlo_strbuf_printf(&form->parameters, "%s%%%s%s: ", form->parameters.length ? ", " : "",
                    declaration, is_wrapped ? "_" : "");
  append_tensor(dims, is_wrapped ? HLO_DTYPE_F32 : form->type, &form->parameters);
  if (!is_wrapped) return;
  hlo_strbuf_printf(&form->prelude, "%%%s = stablehlo.uniform_quantize %%%s_ : (", declaration,
                    declaration);
  append_tensor(dims, HLO_DTYPE_F32, &form->prelude);
  hlo_strbuf_puts(&form->prelude, ") -> ");
  append_tensor(dims, form->type, &form->prelude);
  hlo_strbuf_putc(&form->prelude, '\n');
}

static void add_parameters(form_t* form, const char* parameters) {
  char copy[64];
  strncpy(copy, parameters, sizeof copy - 1);
  copy[sizeof copy - 1] = 0;
  char* rest = NULL;
  for (char* word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    add_parameter(form, word);
  }
}

// "%r = op(%a, %b, ...)" on $t, for operations without a row in the table.
static void append_plain_body(hlo_op_t op, int type, hlo_strbuf_t* out) {
  const hlo_op_info_t* info = hlo_op_info(op);
  hlo_strbuf_printf(out, "%%r = \"%s\"(", info->name);
  for (int i = 0; i < info->operand_count; ++i)
    hlo_strbuf_printf(out, i ? ", %%%c" : "%%%c", 'a' + i);
  hlo_strbuf_puts(out, ") : (");
  for (int i = 0; i < info->operand_count; ++i) expand(i ? ", $t" : "$t", type, out);
  expand(") -> $t", type, out);
}

static void append_program(hlo_op_t op, int type, hlo_strbuf_t* out) {
  static const char* const kPlainParameters[] = {"", "a:2x$T", "a:2x$T b:2x$T"};
  const row_t* row = row_of(op);
  const char* parameters = row->parameters;
  const char* result = row->body ? row->result : "2x$T";
  uint32_t operand_count = hlo_op_info(op)->operand_count;
  if (!row->body) parameters = operand_count <= 2 ? kPlainParameters[operand_count] : "";
  form_t form = {.type = type, .is_quantized = type == HLO_SUPPORT_QUANTIZED};
  add_parameters(&form, parameters);
  bool is_wrapped = form.is_quantized && strchr(result, '$');
  const char* value = row->body && strncmp(row->body, "%r:", 3) == 0 ? "r#0" : "r";
  expand(
      "sdy.mesh @mesh = <[\"x\"=1]>\n"
      "func.func private @f(%a: $t) -> $t {\nreturn %a : $t\n}\n"
      "func.func @main(",
      type, out);
  hlo_strbuf_printf(out, "%s) -> ", hlo_strbuf_text(&form.parameters));
  append_tensor(result, is_wrapped ? HLO_DTYPE_F32 : type, out);
  hlo_strbuf_printf(out, " {\n%s", hlo_strbuf_text(&form.prelude));
  if (row->body) {
    expand(row->body, type, out);
  } else {
    append_plain_body(op, type, out);
  }
  if (is_wrapped) {
    hlo_strbuf_printf(out, "\n%%out = stablehlo.uniform_dequantize %%%s : (", value);
    append_tensor(result, type, out);
    hlo_strbuf_puts(out, ") -> ");
    append_tensor(result, HLO_DTYPE_F32, out);
  }
  hlo_strbuf_printf(out, "\nreturn %%%s : ", is_wrapped ? "out" : value);
  append_tensor(result, is_wrapped ? HLO_DTYPE_F32 : type, out);
  hlo_strbuf_puts(out, "\n}\n");
  if (form.parameters.failed || form.prelude.failed) out->failed = true;
  hlo_strbuf_deinit(&form.parameters);
  hlo_strbuf_deinit(&form.prelude);
}

// ---- running

// Creates one buffer per argument, of zeros or, if the type has no zero, of another value.
static hlo_status_t make_arguments(hlo_loaded_t* loaded, hlo_arena_t* arena,
                                   hlo_buffer_t** arguments) {
  const hlo_executable_t* executable = hlo_loaded_executable(loaded);
  hlo_memory_t* memory = &hlo_loaded_device(loaded, 0)->memories[HLO_MEMORY_DEVICE];
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    const hlo_signature_entry_t* entry = &executable->arguments[i];
    size_t bytes = (size_t)entry->element_count * hlo_dtype_size_bytes(entry->dtype);
    const void* zeros = hlo_arena_alloc_zeroed(arena, bytes);
    if (!zeros) return hlo_arena_status(arena);
    hlo_buffer_shape_t shape = {.dtype = entry->dtype, .rank = entry->rank, .dims = entry->dims};
    HLO_TRY(hlo_buffer_from_host(memory, &shape, zeros, NULL, HLO_HOST_IMMUTABLE_ONLY_DURING_CALL,
                                 NULL, &arguments[i]));
  }
  return hlo_ok();
}

static hlo_status_t run(hlo_loaded_t* loaded) {
  enum { MAX_ARGUMENTS = 8 };
  uint32_t count = hlo_loaded_executable(loaded)->argument_count;
  hlo_buffer_t *arguments[MAX_ARGUMENTS] = {0}, *result = NULL;
  hlo_event_t* end = NULL;
  HLO_SCOPED_ARENA arena = {0};
  hlo_status_t status = make_arguments(loaded, &arena, arguments);
  hlo_buffer_t* const* argument_rows[1] = {arguments};
  hlo_buffer_t** result_rows[1] = {&result};
  hlo_launch_t launch = {.device_count = 1,
                         .arguments = argument_rows,
                         .argument_count = count,
                         .out_results = result_rows,
                         .out_events = &end};
  if (hlo_status_is_ok(status)) status = hlo_loaded_execute(loaded, &launch);
  if (hlo_status_is_ok(status)) status = hlo_event_await(end, UINT64_MAX);
  hlo_event_release(end);
  for (uint32_t i = 0; i < count; ++i) hlo_buffer_release(arguments[i]);
  hlo_buffer_release(result);
  return status;
}

static hlo_status_t compile_and_run(hlo_client_t* client, const char* backend,
                                    const hlo_strbuf_t* text) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.backend = backend;
  HLO_SCOPED_STRBUF source = {0};
  const hlo_listing_t listing = {.form = HLO_LISTING_C, .out = &source};
  if (strcmp(backend, "c") == 0)
    config.listing = &listing;  // running a C compiler for each program takes minutes
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_status_t status =
      hlo_compile(text->data, text->length, "probe.mlir", &config, NULL, 0, NULL, &executable);
  HLO_TRY(status);
  status = executable->program->backend == hlo_backend_find(backend)
               ? hlo_loaded_create(client, executable, 0, NULL, &loaded)
               : hlo_unimplemented("executed by another back end");
  hlo_executable_release(executable);
  if (hlo_status_is_ok(status)) status = run(loaded);
  hlo_loaded_release(loaded);
  return status;
}

static hlo_status_t find_op(void* context, hlo_node_t* node) {
  hlo_op_t* wanted = context;
  if (node->op == *wanted) *wanted = HLO_OP_COUNT;
  return hlo_ok();
}

// Verifies that the program contains the operation, since readers may replace it.
static hlo_status_t check_program(hlo_op_t op, const hlo_strbuf_t* text) {
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_frontend_load(text->data, text->length, "probe.mlir", NULL, NULL, &module));
  hlo_op_t wanted = op;
  hlo_status_t status = hlo_module_walk(module, false, find_op, &wanted);
  hlo_module_release(module);
  HLO_TRY(status);
  if (wanted == HLO_OP_COUNT) return hlo_ok();
  return hlo_internal_error("the operation is missing in its own program");
}

static hlo_status_t describe(hlo_op_t op, int type, const hlo_strbuf_t* text, hlo_status_t found) {
  hlo_status_t status =
      hlo_internal_error("%s on %s: %s\n%s", hlo_op_info(op)->name, element_name(type),
                         hlo_status_message(found), hlo_strbuf_text(text));
  hlo_status_release(found);
  return status;
}

hlo_status_t hlo_support_probe(hlo_client_t* client, const char* backend, hlo_op_t op, int type,
                               hlo_support_answer_t* out_answer) {
  HLO_SCOPED_STRBUF text = {0};
  append_program(op, type, &text);
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status)) status = compile_and_run(client, backend, &text);
  hlo_status_code_t code = hlo_status_code(status);
  bool is_invalid = code == HLO_STATUS_INVALID_ARGUMENT;
  if (is_invalid || code == HLO_STATUS_UNIMPLEMENTED) {
    hlo_status_release(status);
    status = hlo_ok();
    *out_answer = is_invalid ? HLO_SUPPORT_INVALID : HLO_SUPPORT_UNIMPLEMENTED;
  } else {
    if (hlo_status_is_ok(status)) status = check_program(op, &text);
    *out_answer = HLO_SUPPORT_RUNS;
  }
  if (!hlo_status_is_ok(status)) status = describe(op, type, &text, status);
  return status;
}
