// SPDX-License-Identifier: Apache-2.0
// Spans of steps in profiled programs: what a step is called, what it costs by its shapes, and the
// calls that mark its begin and end.
#include <string.h>

#include "base/os.h"
#include "codegen/emit/entry_impl.h"
#include "ir/custom_call.h"
#include "ir/work.h"

enum { MAX_NAMED_OPS = 5 };

// ---- names

// Returns the name of the op without that of its dialect.
static const char* short_name(const hlo_node_t* node) {
  const char* name = hlo_op_info(node->op)->name;
  const char* dot = strchr(name, '.');
  return dot ? dot + 1 : name;
}

// Returns true for ops that say little about what a fusion computes.
static bool is_minor(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_broadcast_in_dim:
    case HLO_OP_reshape:
    case HLO_OP_iota:
    case HLO_OP_convert: return true;
    default: return hlo_op_has(node->op, HLO_TRAIT_CONSTANT);
  }
}

static bool is_named(const hlo_fusion_t* fusion, uint32_t end, hlo_op_t op) {
  for (uint32_t i = 0; i < end; ++i) {
    if (fusion->nodes[i]->op == op && !is_minor(fusion->nodes[i])) return true;
  }
  return false;
}

static void name_fusion(const hlo_fusion_t* fusion, hlo_strbuf_t* out) {
  uint32_t named = 0, left = 0;
  hlo_strbuf_printf(out, "fusion %u", fusion->index);
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    if (is_minor(node) || is_named(fusion, i, node->op)) continue;
    if (named == MAX_NAMED_OPS) {
      ++left;
      continue;
    }
    hlo_strbuf_printf(out, "%s%s", named++ ? ", " : ": ", short_name(node));
  }
  if (!named) hlo_strbuf_printf(out, ": %s", short_name(fusion->nodes[fusion->node_count - 1]));
  if (left) hlo_strbuf_printf(out, " and %u more", left);
}

static void name_step(const hlo_step_t* step, hlo_strbuf_t* out) {
  if (step->kind == HLO_STEP_FUSION) {
    name_fusion(step->fusion, out);
  } else {
    const char* kind = step->kind == HLO_STEP_CONTROL ? "control" : "call";
    hlo_strbuf_printf(out, "%s %u: %s", kind, step->node->index, short_name(step->node));
    if (step->node->op == HLO_OP_custom_call) {
      hlo_strbuf_printf(out, " %s", hlo_custom_call_target(step->node));
    }
  }
}

// ---- costs

typedef struct step_cost {
  hlo_cost_t cost;  // bytes_accessed only of what is read from and written to memory
  bool is_split;    // several cores work on it
} step_cost_t;

static void add_values(uint32_t count, hlo_value_t* const* values, hlo_cost_t* cost) {
  for (uint32_t i = 0; i < count; ++i) cost->bytes_accessed += hlo_type_work_bytes(values[i]->type);
}

static void add_fusion(const hlo_entry_context_t* entry, const hlo_fusion_t* fusion,
                       step_cost_t* sum) {
  const hlo_kernel_t* kernel = entry->plan->kernels[fusion->index];
  hlo_cost_t inside = {0};
  for (uint32_t i = 0; i < fusion->node_count; ++i) hlo_node_cost_add(fusion->nodes[i], &inside);
  sum->cost.flops += inside.flops;
  sum->cost.transcendentals += inside.transcendentals;
  add_values(fusion->input_count, fusion->inputs, &sum->cost);
  add_values(fusion->output_count, fusion->outputs, &sum->cost);
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    if (hlo_kernel_chunk_count(kernel, phase) > 1) sum->is_split = true;
  }
}

static void add_step(const hlo_entry_context_t* entry, const hlo_step_t* step, step_cost_t* sum) {
  if (step->kind == HLO_STEP_FUSION) {
    add_fusion(entry, step->fusion, sum);
  } else if (step->kind == HLO_STEP_CALL) {
    hlo_node_cost_add(step->node, &sum->cost);
    sum->is_split = true;  // library functions decide themselves
  }
}

// The time that fused multiplications and additions on full registers, and the memory that the
// bytes fit into, allow at best. The last memory is shared by all cores.
static double roofline_ns(const hlo_target_t* target, const step_cost_t* sum, hlo_dtype_t dtype) {
  const hlo_tile_target_t* tile = &target->tile;
  const double cores = sum->is_split ? hlo_os_usable_cpu_count() : 1;
  const hlo_dtype_t counted = dtype == HLO_DTYPE_F64 ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  const double lanes = (double)tile->vector_bytes / (double)hlo_dtype_size_bytes(counted);
  const double peak = 2 * lanes * hlo_tile_product_rate(tile, counted);
  const hlo_tile_memory_t* home = hlo_tile_home(tile, sum->cost.bytes_accessed);
  const bool is_shared = home == &tile->memories[tile->memory_count - 1];
  const double computing = (sum->cost.flops + sum->cost.transcendentals) / (peak * cores);
  const double moving = sum->cost.bytes_accessed / (home->bytes_per_ns * (is_shared ? 1 : cores));
  return computing > moving ? computing : moving;
}

// ---- spans

static const char* keep_text(const hlo_strbuf_t* text, hlo_arena_t* arena) {
  return text->length ? hlo_arena_printf(arena, "%s", hlo_strbuf_text(text)) : NULL;
}

static hlo_step_span_t describe(const hlo_entry_context_t* entry, const hlo_step_t* steps,
                                uint32_t count) {
  step_cost_t sum = {.is_split = count > 1};
  HLO_SCOPED_STRBUF name = {0};
  HLO_SCOPED_STRBUF place = {0};
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_strbuf_puts(&name, " | ");
    name_step(&steps[i], &name);
    add_step(entry, &steps[i], &sum);
  }
  const hlo_node_t* node = steps[count - 1].node;
  if (node->loc) hlo_loc_format(entry->plan->func->module, node->loc, &place);
  const hlo_dtype_t dtype = node->result_count && node->results[0].type->kind == HLO_TYPE_TENSOR
                                ? node->results[0].type->dtype
                                : HLO_DTYPE_F32;
  return (hlo_step_span_t){.name = keep_text(&name, entry->arena),
                           .place = keep_text(&place, entry->arena),
                           .flops = (int64_t)(sum.cost.flops + sum.cost.transcendentals),
                           .bytes = (int64_t)sum.cost.bytes_accessed,
                           .roofline_ps = (int64_t)(roofline_ns(entry->target, &sum, dtype) * 1e3)};
}

uint32_t hlo_entry_begin_span(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                              const hlo_step_t* steps, uint32_t count) {
  if (!entry->table->is_profiled || steps->kind == HLO_STEP_VIEW) return 0;
  const hlo_step_span_t span = describe(entry, steps, count);
  const uint32_t begin = hlo_call_site_table_add_step_span(entry->table, &span, entry->arena);
  if (begin) hlo_entry_emit_call(b, begin);
  return begin;
}

void hlo_entry_end_span(hlo_vir_builder_t* b, uint32_t begin) {
  if (begin) hlo_entry_emit_call(b, begin + 1);
}
