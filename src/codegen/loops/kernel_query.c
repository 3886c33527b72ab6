// SPDX-License-Identifier: Apache-2.0
// Queries about a finished kernel: phases, chunks, the memory and form of its values, and its loops
// in one line.
#include <inttypes.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_impl.h"

hlo_status_t hlo_kernel_visits_once(const hlo_kernel_t* kernel, uint32_t input, bool* out_does) {
  *out_does = false;
  if (kernel->segment_count != 1 || hlo_kernel_form_of(kernel)) return hlo_ok();
  hlo_arena_t scratch;
  hlo_tiling_t* tiling;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = hlo_kernel_walk(kernel, &scratch, &kernel->segments[0], &tiling);
  uint32_t loads = 0;
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    loads += tiled->kind == HLO_TILED_LOAD && tiled->input == input;
  }
  hlo_arena_deinit(&scratch);
  *out_does = loads == 1;
  return status;
}

uint32_t hlo_kernel_phase_count(const hlo_kernel_t* kernel) {
  return kernel->summary.phase_count;
}

uint64_t hlo_kernel_chunk_count(const hlo_kernel_t* kernel, uint32_t phase) {
  return kernel->summary.chunk_counts[phase];
}

double hlo_kernel_cost_ns(const hlo_kernel_t* kernel) {
  return kernel->summary.cost_ns;
}

uint64_t hlo_kernel_code_size(const hlo_kernel_t* kernel) {
  uint64_t size =
      (uint64_t)HLO_TUNING_NODE_SIZE * kernel->fusion->node_count * kernel->segment_count;
  return kernel->summary.code_size + size;
}

bool hlo_kernel_is_called(const hlo_kernel_t* kernel) {
  uint32_t phases = hlo_kernel_phase_count(kernel);
  for (uint32_t phase = 0; phase < phases; ++phase) {
    if (hlo_kernel_chunk_count(kernel, phase) > 1) return true;
  }
  if (kernel->tile) return false;
  if (!kernel->fusion->model) {
    return hlo_kernel_code_size(kernel) >= HLO_TUNING_KEPT_MIN_SIZE &&
           hlo_kernel_cost_ns(kernel) >= HLO_TUNING_KEPT_MIN_NS;
  }
  return hlo_kernel_form_of(kernel) ||
         kernel->cost_ns >=
             (kernel->loop_count ? HLO_TUNING_CALL_MIN_NS : HLO_TUNING_CALL_MIN_SCALAR_NS);
}

bool hlo_kernel_prepares(const hlo_kernel_t* kernel, uint32_t input) {
  return !kernel->tile && input < 64 && kernel->summary.prepared_inputs >> input & 1;
}

size_t hlo_kernel_scratch_bytes(const hlo_kernel_t* kernel) {
  return kernel->summary.scratch_bytes;
}

bool hlo_kernel_reads_values(const hlo_kernel_t* kernel) {
  return !hlo_kernel_is_called(kernel) && !kernel->tile && !kernel->lowered &&
         hlo_kernel_has(kernel, HLO_KERNEL_VALUES) && kernel->chunk_count <= 1;
}

uint32_t hlo_kernel_value_lanes(const hlo_kernel_t* kernel) {
  bool can_be = kernel->target->has_masks && hlo_kernel_reads_values(kernel) &&
                !hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES) && !kernel->is_streamed;
  return can_be && kernel->lanes * sizeof(float) == kernel->target->vector_bytes ? kernel->lanes
                                                                                 : 0;
}

bool hlo_kernel_gives_value(const hlo_kernel_t* kernel, uint32_t output) {
  if (!hlo_kernel_reads_values(kernel) || kernel->segment_count != 1 ||
      hlo_kernel_updates(kernel, output) >= 0 || output >= hlo_kernel_main_count(kernel)) {
    return false;
  }
  if (kernel->loop_count == 0) return true;
  return hlo_kernel_has_lanes(kernel) && kernel->loop_count == 1 &&
         hlo_kernel_value_lanes(kernel) &&
         kernel->spaces[0].element_count <= (int64_t)kernel->lanes;
}

int32_t hlo_kernel_updates(const hlo_kernel_t* kernel, uint32_t output) {
  const hlo_fusion_t* fusion = kernel->fusion;
  const hlo_value_t* value = fusion->outputs[output];
  if (hlo_tiled_written(value) == value) return -1;
  int32_t input = 0;
  while (fusion->inputs[input] != hlo_node_operand(value->def, 0)) ++input;
  return input;
}

bool hlo_kernel_may_share(const hlo_kernel_t* kernel, uint32_t output, uint32_t input) {
  const hlo_fusion_t* fusion = kernel->fusion;
  if (hlo_dtype_size_bytes(fusion->outputs[output]->type->dtype) !=
      hlo_dtype_size_bytes(fusion->inputs[input]->type->dtype)) {
    return false;
  }
  // Accumulators are in the output while operands are still being read.
  if (kernel->kind == HLO_KERNEL_SWEEP) return false;
  int32_t updated = hlo_kernel_updates(kernel, output);
  if (updated >= 0 && input != (uint32_t)updated)
    return false;  // the output shares the updated value's memory
  return input < HLO_KERNEL_SHARED_INPUTS && kernel->shareable[output] >> input & 1;
}

static void describe_loops(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  hlo_strbuf_printf(out, info->text, kernel->lanes, kernel->lanes);
  const bool is_reduced = !hlo_kernel_has_lanes(kernel) && kernel->space_count > 1;
  if (is_reduced) hlo_strbuf_puts(out, " from reductions");
  hlo_strbuf_printf(out, ", %u loop%s", kernel->loop_count, kernel->loop_count == 1 ? "" : "s");
  if (kernel->segment_count > 1) hlo_strbuf_printf(out, ", %u segments", kernel->segment_count);
  hlo_strbuf_puts(out, info->suffix);
  if (kernel->is_streamed) hlo_strbuf_puts(out, ", stored past the caches");
  if (kernel->cut == HLO_KERNEL_CUT_REDUCTION) hlo_strbuf_puts(out, ", reduction cut");
}

void hlo_kernel_describe(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (form) {
    form->print(kernel, out);
  } else {
    describe_loops(kernel, out);
  }
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    const uint64_t chunks = hlo_kernel_chunk_count(kernel, phase);
    if (chunks > 1) hlo_strbuf_printf(out, "%s%" PRIu64 " chunks", phase ? " then " : ", ", chunks);
  }
}
