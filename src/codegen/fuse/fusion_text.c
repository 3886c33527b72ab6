// SPDX-License-Identifier: Apache-2.0
// Prints a schedule: the ops and loops of each fusion, and the ops that were not fused and why.
#include <stdlib.h>

#include "base/mem.h"
#include "codegen/fuse/fusion.h"
#include "codegen/loops/kernel.h"
#include "ir/print.h"

enum { MAX_SHOWN = 4 };  // rejected ops of a fusion

typedef struct printer {
  const hlo_schedule_t* schedule;
  hlo_strbuf_t* out;
  const hlo_fusion_t** writers;  // by node->index: the fusion that stores its results
  uint32_t* numbers;             // by value->index, arguments and results each in program order
  uint32_t argument_count, result_count;
  const hlo_rejection_t** largest;  // rejections of the current fusion; room for all
} printer_t;

// ---- names --------------------------------------------------------------------------------------

static void number_region(printer_t* p, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    p->numbers[region->args[i]->index] = p->argument_count++;
  }
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (node->result_count) p->numbers[node->results[0].index] = p->result_count++;
    for (uint32_t i = 0; i < node->region_count; ++i) number_region(p, node->regions[i]);
  }
}

static void print_value(const printer_t* p, const hlo_value_t* value) {
  if (!value->def) {
    hlo_strbuf_printf(p->out, "%%arg%u: ", p->numbers[value->index]);
  } else {
    hlo_strbuf_printf(p->out, "%%%u", p->numbers[value->def->results[0].index]);
    if (value->def->result_count > 1) hlo_strbuf_printf(p->out, "#%u", value->number);
    hlo_strbuf_puts(p->out, ": ");
  }
  hlo_print_type(value->type, p->out);
}

static void print_values(const printer_t* p, const char* head, uint32_t count,
                         hlo_value_t* const* values) {
  hlo_strbuf_printf(p->out, "  %s", head);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_puts(p->out, i ? ", " : " ");
    print_value(p, values[i]);
  }
  hlo_strbuf_puts(p->out, "\n");
}

// ---- rejections ---------------------------------------------------------------------------------

static bool is_member(const hlo_fusion_t* fusion, const hlo_node_t* node) {
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    if (fusion->nodes[i] == node) return true;
  }
  return false;
}

static uint64_t result_bytes(const hlo_node_t* node) {
  uint64_t bytes = 0;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    bytes += hlo_type_size_bytes(node->results[r].type);
  }
  return bytes;
}

// Sorts larger results first: they cost more to store and to load.
static int compare_rejections(const void* a, const void* b) {
  const hlo_rejection_t *x = *(const hlo_rejection_t*const*)a,
                        *y = *(const hlo_rejection_t*const*)b;
  const uint64_t left = result_bytes(x->rejected), right = result_bytes(y->rejected);
  return left != right ? (left < right ? 1 : -1) : (x < y ? -1 : x > y);
}

// Returns true if a later decision about the same two ops replaces this one.
static bool is_superseded(const hlo_schedule_t* schedule, const hlo_fusion_t* fusion, uint32_t i) {
  const hlo_rejection_t* rejection = &schedule->rejections[i];
  for (uint32_t k = i + 1; k < schedule->rejection_count; ++k) {
    const hlo_rejection_t* later = &schedule->rejections[k];
    if (later->rejected == rejection->rejected && is_member(fusion, later->user)) return true;
  }
  return false;
}

static void print_rejection(const printer_t* p, const hlo_rejection_t* rejection) {
  const hlo_node_t* node = rejection->rejected;
  hlo_strbuf_printf(p->out, "  %s ", rejection->is_merge ? "not merged with" : "not fused");
  print_value(p, &node->results[0]);
  hlo_strbuf_printf(p->out, " %s", hlo_op_info(node->op)->name);
  const hlo_fusion_t* writer = p->writers[node->index];
  if (writer) hlo_strbuf_printf(p->out, " of fusion %u", writer->index);
  hlo_strbuf_puts(p->out, ": ");
  hlo_verdict_print(&rejection->verdict, p->out);
  hlo_strbuf_puts(p->out, "\n");
}

static void print_rejections(const printer_t* p, const hlo_fusion_t* fusion) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->schedule->rejection_count; ++i) {
    const hlo_rejection_t* rejection = &p->schedule->rejections[i];
    if (!is_member(fusion, rejection->user) || is_member(fusion, rejection->rejected) ||
        is_superseded(p->schedule, fusion, i)) {
      continue;
    }
    p->largest[count++] = rejection;
  }
  qsort(p->largest, count, sizeof *p->largest, compare_rejections);
  for (uint32_t i = 0; i < count && i < MAX_SHOWN; ++i) print_rejection(p, p->largest[i]);
  if (count > MAX_SHOWN) hlo_strbuf_printf(p->out, "  and %u more\n", count - MAX_SHOWN);
}

// ---- steps --------------------------------------------------------------------------------------

static void print_fusion(const printer_t* p, const hlo_fusion_t* fusion) {
  hlo_strbuf_printf(p->out, "fusion %u: ", fusion->index);
  if (fusion->kernel) hlo_kernel_describe(fusion->kernel, p->out);
  if (fusion->model && fusion->model != fusion)
    hlo_strbuf_printf(p->out, ", as fusion %u", fusion->model->index);
  hlo_strbuf_puts(p->out, "\n");
  print_values(p, "reads", fusion->input_count, fusion->inputs);
  for (uint32_t i = fusion->node_count; i-- > 0;) {  // in program order; cheap ones first
    hlo_strbuf_puts(p->out, "    ");
    print_value(p, &fusion->nodes[i]->results[0]);
    hlo_strbuf_printf(p->out, " %s\n", hlo_op_info(fusion->nodes[i]->op)->name);
  }
  print_values(p, "writes", fusion->output_count, fusion->outputs);
  print_rejections(p, fusion);
}

static void print_other_step(const printer_t* p, const hlo_step_t* step) {
  static const char* const kinds[] = {[HLO_STEP_FUSION] = "fusion",
                                      [HLO_STEP_VIEW] = "view",
                                      [HLO_STEP_CALL] = "library call",
                                      [HLO_STEP_CONTROL] = "control"};
  hlo_strbuf_printf(p->out, "%s: %s", kinds[step->kind], hlo_op_info(step->node->op)->name);
  for (uint32_t r = 0; r < step->node->result_count; ++r) {
    hlo_strbuf_puts(p->out, r ? ", " : " -> ");
    print_value(p, &step->node->results[r]);
  }
  hlo_strbuf_puts(p->out, "\n");
}

static void print_region(const printer_t* p, const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(p->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    if (step->kind == HLO_STEP_FUSION) {
      print_fusion(p, step->fusion);
      continue;
    }
    print_other_step(p, step);
    for (uint32_t k = 0; step->kind == HLO_STEP_CONTROL && k < step->node->region_count; ++k) {
      hlo_strbuf_printf(p->out, "region %u of %s\n", k, hlo_op_info(step->node->op)->name);
      print_region(p, step->node->regions[k]);
      hlo_strbuf_printf(p->out, "end of region %u\n", k);
    }
  }
}

static void find_writers(printer_t* p) {
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(p->schedule, &cursor));) {
    const hlo_fusion_t* fusion = step->fusion;
    for (uint32_t k = 0; fusion && k < fusion->output_count; ++k) {
      p->writers[fusion->outputs[k]->def->index] = fusion;
    }
  }
}

hlo_status_t hlo_schedule_print(const hlo_schedule_t* schedule, const hlo_func_t* func,
                                hlo_strbuf_t* out) {
  HLO_SCOPED_ARENA scratch = {0};
  printer_t p = {.schedule = schedule, .out = out};
  p.writers = hlo_arena_array(&scratch, func->module->node_count + 1, sizeof(*p.writers));
  p.numbers = hlo_arena_array(&scratch, func->module->value_count + 1, sizeof *p.numbers);
  p.largest = hlo_arena_array(&scratch, schedule->rejection_count + 1, sizeof(*p.largest));
  HLO_TRY(hlo_arena_status(&scratch));
  number_region(&p, func->body);
  find_writers(&p);
  hlo_strbuf_printf(out, "fusions of @%s: %u\n", func->name, schedule->fusion_count);
  print_region(&p, func->body);
  return hlo_ok();
}
