// SPDX-License-Identifier: Apache-2.0
// hlocc-dev support: the matrix of operations, element types and back ends.
#include <string.h>

#include "compiler/compiler.h"
#include "dev/dev.h"
#include "dev/support.h"
#include "ir/custom_call.h"

// Back ends with a column in the page, which is empty if this build lacks the back end.
static const char* const kBackends[] = {"interp", "native", "c"};
enum { BACKEND_COUNT = sizeof kBackends / sizeof kBackends[0] };

// Names of element types in the page: a class if all its types run, else its members.
static const struct {
  const char* name;
  int first, last;
} kClasses[] = {
    {"pred", HLO_DTYPE_PRED, HLO_DTYPE_PRED},
    {"int", HLO_DTYPE_S2, HLO_DTYPE_U64},
    {"small", HLO_DTYPE_F4E2M1FN, HLO_DTYPE_F8E8M0FNU},
    {"half", HLO_DTYPE_F16, HLO_DTYPE_BF16},
    {"float", HLO_DTYPE_F32, HLO_DTYPE_F64},
    {"complex", HLO_DTYPE_C64, HLO_DTYPE_C128},
    {"quantized", HLO_SUPPORT_QUANTIZED, HLO_SUPPORT_QUANTIZED},
};
enum { CLASS_COUNT = sizeof kClasses / sizeof kClasses[0] };

typedef struct answers {
  bool runs[HLO_SUPPORT_TYPE_COUNT];
} answers_t;

static uint32_t count_in(const answers_t* answers, int first, int last) {
  uint32_t count = 0;
  for (int type = first; type <= last; ++type) count += answers->runs[type];
  return count;
}

static void print_class(const answers_t* answers, size_t index, const char* joint,
                        hlo_strbuf_t* out) {
  int first = kClasses[index].first, last = kClasses[index].last;
  uint32_t count = count_in(answers, first, last);
  if (count == 0) return;
  hlo_strbuf_puts(out, joint);
  if (count == (uint32_t)(last - first + 1)) {
    hlo_strbuf_puts(out, kClasses[index].name);
    return;
  }
  const char* space = "";
  for (int type = first; type <= last; ++type) {
    if (!answers->runs[type]) continue;
    hlo_strbuf_printf(out, "%s%s", space, hlo_dtype_info((hlo_dtype_t)type)->hlo_name);
    space = " ";
  }
}

static void print_answers(const answers_t* answers, bool is_typeless, hlo_strbuf_t* out) {
  uint32_t total = count_in(answers, HLO_DTYPE_PRED, HLO_SUPPORT_QUANTIZED);
  if (total == 0 || is_typeless) {
    hlo_strbuf_puts(out, total ? "yes" : "no");
    return;
  }
  size_t start = out->length;
  uint32_t all = 0;
  for (size_t i = 0; i < CLASS_COUNT; ++i) {
    all += (uint32_t)(kClasses[i].last - kClasses[i].first + 1);
  }
  if (total == all) {
    hlo_strbuf_puts(out, "all");
    return;
  }
  for (size_t i = 0; i < CLASS_COUNT; ++i) {
    print_class(answers, i, out->length > start ? ", " : "", out);
  }
}

static hlo_status_t probe_op(hlo_client_t* client, const char* backend, hlo_op_t op,
                             answers_t* out_answers) {
  *out_answers = (answers_t){0};
  bool is_typeless = hlo_support_is_typeless(op), is_ever_valid = false;
  for (size_t i = 0; i < CLASS_COUNT; ++i) {
    for (int type = kClasses[i].first; type <= kClasses[i].last; ++type) {
      if (is_typeless && type != HLO_DTYPE_F32) continue;
      hlo_support_answer_t answer;
      HLO_TRY(hlo_support_probe(client, backend, op, type, &answer));
      out_answers->runs[type] = answer == HLO_SUPPORT_RUNS;
      is_ever_valid |= answer != HLO_SUPPORT_INVALID;
    }
  }
  if (is_ever_valid) return hlo_ok();
  return hlo_internal_error("the program of %s is invalid for all element types",
                            hlo_op_info(op)->name);
}

static hlo_status_t print_op(hlo_client_t* client, hlo_op_t op, bool markdown, hlo_strbuf_t* out) {
  const char* note = hlo_support_note(op);
  hlo_strbuf_printf(out, markdown ? "| `%s` |" : "%s:", hlo_op_info(op)->name);
  for (size_t b = 0; b < BACKEND_COUNT; ++b) {
    const hlo_backend_t* backend = hlo_backend_find(kBackends[b]);
    if (!backend) {
      if (markdown) hlo_strbuf_puts(out, " |");
      continue;
    }
    answers_t answers;
    if (!note) HLO_TRY(probe_op(client, backend->name, op, &answers));
    if (!markdown) hlo_strbuf_printf(out, " %s(", backend->name);
    if (markdown) hlo_strbuf_putc(out, ' ');
    if (note) {
      hlo_strbuf_puts(out, note);
    } else {
      print_answers(&answers, hlo_support_is_typeless(op), out);
    }
    hlo_strbuf_puts(out, markdown ? " |" : ")");
  }
  hlo_strbuf_putc(out, '\n');
  return hlo_strbuf_status(out);
}

static void print_head(hlo_strbuf_t* out) {
  hlo_strbuf_puts(
      out,
      "# Supported operations and element types\n\n"
      "Written by `hlocc-dev support --markdown`, which compiles and runs the smallest program of "
      "every operation (`src/dev/support.def`) on every element type in every back end. The "
      "verifier or the back end refuses the types that are not listed, naming the operation and "
      "its location. For back end c the source is written but not compiled; instead the vector IR "
      "from which it was written runs. A program that native refuses runs in the interpreter as a "
      "whole.\n\n"
      "The types are those of the operation's data; operands such as indices may have any integer "
      "type that StableHLO allows. Reduction functions add, comparators order by LT. "
      "**yes** and **no**: the operation has no such type, or none runs.\n\n");
  for (size_t i = 0; i < CLASS_COUNT; ++i) {
    hlo_strbuf_printf(out, "- %s:", kClasses[i].name);
    for (int type = kClasses[i].first; type <= kClasses[i].last; ++type) {
      hlo_strbuf_printf(out, " %s",
                        type == HLO_SUPPORT_QUANTIZED
                            ? "i8 of f32, one scale for the tensor"
                            : hlo_dtype_info((hlo_dtype_t)type)->hlo_name);
    }
    hlo_strbuf_putc(out, '\n');
  }
  hlo_strbuf_puts(out, "\n| operation |");
  for (size_t b = 0; b < BACKEND_COUNT; ++b) hlo_strbuf_printf(out, " %s |", kBackends[b]);
  hlo_strbuf_puts(out, "\n|---|");
  for (size_t b = 0; b < BACKEND_COUNT; ++b) hlo_strbuf_puts(out, "---|");
  hlo_strbuf_putc(out, '\n');
}

static void print_targets(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, "\nTargets of custom_call:");
  for (uint32_t i = 0; i < hlo_custom_call_count(); ++i) {
    hlo_strbuf_printf(out, "%s `%s`", i ? "," : "", hlo_custom_call_name(i));
  }
  hlo_strbuf_puts(out, ".\n");
}

hlo_status_t hlo_dev_cmd_support(hlo_cli_t* cli, hlo_strbuf_t* out) {
  hlo_client_options_t options = {.device_count = 1, .thread_count = 1};
  hlo_client_t* client = NULL;
  HLO_TRY(hlo_client_create(&options, &client));
  if (cli->markdown) print_head(out);
  hlo_status_t status = hlo_ok();
  for (int op = 0; op < HLO_OP_COUNT && hlo_status_is_ok(status); ++op) {
    status = print_op(client, (hlo_op_t)op, cli->markdown, out);
  }
  if (cli->markdown) print_targets(out);
  hlo_client_release(client);
  return status;
}
