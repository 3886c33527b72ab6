// SPDX-License-Identifier: Apache-2.0
// The pass runner (see runner.h). Passes only rewrite; the runner does all checks, timing and
// printing.
#include "passes/runner.h"

#include <string.h>

#include "base/suggest.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "passes/passes.h"

const hlo_pass_info_t hlo_pass_table[HLO_PASS_ID_COUNT] = {
#define ANY NULL
#define OPS(...)              \
  (const hlo_op_t[]) {        \
    __VA_ARGS__, HLO_OP_COUNT \
  }
#define HLO_PASS(id, kind, argument, ops, purpose) \
  {#id, hlo_pass_##id, HLO_PASS_KIND_##kind, argument, ops, purpose},
#include "passes/passes.def"
#undef HLO_PASS
#undef OPS
#undef ANY
};

const hlo_pass_set_t hlo_pass_set = {hlo_pass_table, HLO_PASS_ID_COUNT, NULL};

const char* hlo_pass_kind_name(hlo_pass_kind_t kind) {
  static const char* const names[] = {"opt", "lower"};
  return names[kind];
}

void hlo_passes_markdown(hlo_strbuf_t* out) {
  hlo_strbuf_puts(
      out,
      "# Passes\n\n"
      "Run them with `hlocc opt --passes=name,name=argument,...`. An `opt` pass improves "
      "the program and\nfinds nothing to do when run again; after a `lower` pass some ops "
      "no longer exist.\n");
}

void hlo_pass_set_markdown(const hlo_pass_set_t* set, hlo_strbuf_t* out) {
  if (set->subject) hlo_strbuf_printf(out, "\n## %s\n", set->subject);
  hlo_strbuf_puts(out, "\n| pass | kind | argument | what it does |\n|---|---|---|---|\n");
  for (uint32_t i = 0; i < set->count; ++i) {
    const hlo_pass_info_t* pass = &set->passes[i];
    hlo_strbuf_printf(out, "| `%s` | %s | ", pass->name, hlo_pass_kind_name(pass->kind));
    for (const char* p = pass->argument; *p; ++p) {
      if (*p == '|')
        hlo_strbuf_puts(out, ", ");
      else
        hlo_strbuf_putc(out, *p);
    }
    hlo_strbuf_printf(out, " | %s |\n", pass->purpose);
  }
}

hlo_status_t hlo_pass_error(const hlo_node_t* node, hlo_status_code_t code, const char* message) {
  HLO_SCOPED_STRBUF insertion_point = {0};
  if (node->parent) hlo_loc_format(node->parent->module, node->loc, &insertion_point);
  return hlo_status_create(code, "%s%s%s: %s", hlo_strbuf_text(&insertion_point),
                           insertion_point.length ? ": " : "", hlo_op_info(node->op)->name,
                           message);
}

// ---- lists of passes

void hlo_pass_list_print(hlo_pass_list_t list, const char* separator, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < list.count; ++i) {
    const hlo_pass_step_t* step = &list.steps[i];
    hlo_strbuf_printf(out, "%s%s%s%s", i ? separator : "", step->pass->name,
                      step->argument ? "=" : "", step->argument ? step->argument : "");
  }
}

static const hlo_pass_info_t* find_in_set(const hlo_pass_set_t* set, const char* name) {
  for (uint32_t low = 0, high = set->count; low < high;) {  // the table is sorted by name
    const uint32_t middle = (low + high) / 2;
    const int order = strcmp(name, set->passes[middle].name);
    if (order == 0) return &set->passes[middle];
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return NULL;
}

static hlo_status_t find_pass(const char* name, const hlo_pass_set_t* more,
                              const hlo_pass_info_t** out_pass) {
  const hlo_pass_set_t* sets[] = {&hlo_pass_set, more};
  hlo_suggestion_t near;
  hlo_suggestion_init(&near, name);
  for (uint32_t k = 0; k < 2 && sets[k]; ++k) {
    *out_pass = find_in_set(sets[k], name);
    if (*out_pass) return hlo_ok();
    for (uint32_t i = 0; i < sets[k]->count; ++i) {
      hlo_suggestion_offer(&near, sets[k]->passes[i].name);
    }
  }
  return hlo_invalid_argument("no pass is called '%s'%s%s%s", name,
                              near.best ? "; did you mean '" : "", near.best ? near.best : "",
                              near.best ? "'?" : "");
}

// Makes a list of text, in which zeros replace the separators: arguments point into it.
static hlo_status_t read_list(char* text, const hlo_pass_set_t* more, hlo_arena_t* arena,
                              hlo_pass_list_t* out_list) {
  uint32_t capacity = 0, count = 0;
  hlo_pass_step_t* steps = NULL;
  for (char* name = text; *text && name;) {
    char* next = strchr(name, ',');
    if (next) *next++ = 0;
    char* argument = strchr(name, '=');
    if (argument) *argument++ = 0;
    if (!HLO_ARENA_GROW(arena, steps, count, capacity)) return hlo_arena_status(arena);
    hlo_pass_step_t* step = &steps[count++];
    HLO_TRY(find_pass(name, more, &step->pass));
    if (argument && !*step->pass->argument) {
      return hlo_invalid_argument("pass %s takes no argument, but got '%s'", name, argument);
    }
    step->argument = argument;
    name = next;
  }
  *out_list = (hlo_pass_list_t){steps, count};
  return hlo_ok();
}

// ---- checks

static hlo_status_t verify_after(hlo_module_t* module, hlo_diag_t* diag, const char* pass) {
  hlo_status_t status = hlo_module_verify(module, diag);
  const hlo_status_code_t code = hlo_status_code(status);
  if (code != HLO_STATUS_OK && code != HLO_STATUS_RESOURCE_EXHAUSTED) {
    hlo_status_t found = status;
    status = hlo_internal_error("after pass %s the module is not valid: %s", pass,
                                hlo_status_message(found));
    hlo_status_release(found);
  }
  return status;
}

static hlo_status_t check_unchanged(const hlo_module_t* module, const uint64_t before[2],
                                    const char* pass) {
  uint64_t after[2];
  HLO_TRY(hlo_module_digest(module, after));
  if (memcmp(after, before, sizeof after) == 0) return hlo_ok();
  return hlo_internal_error("pass %s changed the module but reported no change", pass);
}

// Runs one pass and fills in its statistics. Passes that need ops which the module has never had
// run only to check that they change nothing.
static hlo_status_t run_pass(const hlo_pass_step_t* step, hlo_pass_ctx_t* ctx, hlo_module_t* module,
                             hlo_pass_stats_t* stats) {
  const hlo_pass_info_t* pass = stats->pass;
  const bool is_idle = pass->ops && !hlo_module_had_any(module, pass->ops);
  if (is_idle && !ctx->options->check_changed) return hlo_ok();
  uint64_t before[2] = {0};
  if (ctx->options->check_changed) HLO_TRY(hlo_module_digest(module, before));
  hlo_arena_mark_t mark = hlo_arena_mark(&ctx->scratch);
  ctx->argument = step->argument;
  ctx->step_count = 0;
  uint64_t start_ns = hlo_trace_begin();
  hlo_status_t status = pass->function(ctx, module);
  const bool changed = ctx->step_count > 0;
  hlo_trace_end(ctx->options->trace, start_ns, "pass", pass->name, changed ? "changed" : NULL);
  stats->step_count = ctx->step_count;
  if (hlo_status_is_ok(status)) status = hlo_arena_status(&ctx->scratch);
  if (hlo_status_is_ok(status)) status = hlo_module_status(module);
  hlo_arena_reset(&ctx->scratch, mark);
  HLO_TRY_MSG(status, "in pass %s", pass->name);
  if (is_idle && changed) {
    return hlo_internal_error("pass %s changed a module without the ops of its row", pass->name);
  }
  if (ctx->options->check_changed && !changed) {
    HLO_TRY(check_unchanged(module, before, pass->name));
  }
  if (changed && ctx->options->verify_each) {
    HLO_TRY(verify_after(module, ctx->diag, pass->name));
  }
  return hlo_ok();
}

static hlo_status_t run_step(const hlo_pass_step_t* step, uint32_t position, hlo_pass_ctx_t* ctx,
                             hlo_module_t* module) {
  const hlo_pass_info_t* pass = step->pass;
  hlo_pass_stats_t stats = {.pass = pass, .position = position};
  HLO_TRY(run_pass(step, ctx, module, &stats));
  if (ctx->options->run_twice && pass->kind == HLO_PASS_KIND_OPT) {
    hlo_pass_stats_t again = {.pass = pass};
    HLO_TRY(run_pass(step, ctx, module, &again));
    if (again.step_count) {
      return hlo_internal_error("pass %s found something to do in its own output", pass->name);
    }
  }
  hlo_dump_pass(ctx->options->dumper, pass->name, module);
  if (ctx->options->after) ctx->options->after(ctx->options->after_context, &stats, module);
  return hlo_ok();
}

hlo_status_t hlo_pass_list_run(hlo_module_t* module, hlo_pass_list_t list,
                               const hlo_pass_options_t* options) {
  static const hlo_pass_options_t defaults;
  hlo_pass_ctx_t ctx = {.options = options ? options : &defaults};
  ctx.diag = ctx.options->diag;
  hlo_arena_init(&ctx.scratch, 0);
  hlo_status_t status = hlo_module_status(module);
  const uint32_t limit = ctx.options->stop_after;
  const uint32_t count = limit && limit < list.count ? limit : list.count;
  for (uint32_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    status = run_step(&list.steps[i], i, &ctx, module);
  }
  hlo_arena_deinit(&ctx.scratch);
  return status;
}

hlo_status_t hlo_passes_run(hlo_module_t* module, const char* comma_list,
                            const hlo_pass_options_t* options) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_pass_list_t list = {0};
  char* text = hlo_arena_strndup(&arena, comma_list, strlen(comma_list));
  HLO_TRY(hlo_arena_status(&arena));
  HLO_TRY(read_list(text, options ? options->more : NULL, &arena, &list));
  return hlo_pass_list_run(module, list, options);
}
