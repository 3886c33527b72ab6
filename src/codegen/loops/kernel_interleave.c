// SPDX-License-Identifier: Apache-2.0
// Outputs whose innermost dimension is a few elements long, such as pixels of three channels: lanes
// run over the dimension around it, with one vector per innermost element, and the vectors are
// interleaved before they are stored.
#include <string.h>

#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"

bool hlo_kernel_can_interleave(const hlo_tiling_t* tiling, uint32_t lane, uint32_t interleaved) {
  int64_t count = tiling->spaces[0].extents[interleaved];
  if (count < 2 || count > HLO_KERNEL_MAX_INTERLEAVED) return false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE || tiled->kind == HLO_TILED_MASK) return false;
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    // Positions are row-major: lanes that far apart leave room for adjacent elements only.
    const hlo_expr_t* offset = tiling->output_offsets[i];
    if (hlo_tiled_lane_access(offset, lane) != HLO_LANE_GATHERED ||
        hlo_expr_coefficient(offset, lane) != count) {
      return false;
    }
  }
  return true;
}

bool hlo_kernel_reads_interleaved(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                  const hlo_expr_t* load, const hlo_expr_t* output) {
  const uint32_t interleaved = kernel->interleaved_loop;
  const hlo_tiled_loop_t* range = &tiling->loops[interleaved];
  for (uint32_t i = 0; i < load->term_count; ++i) {
    if (load->terms[i].atom->kind != HLO_EXPR_LOOP) return false;
  }
  for (uint64_t rest = (load->loops | output->loops) & ~((uint64_t)1 << interleaved); rest;
       rest &= rest - 1) {
    const uint32_t loop = (uint32_t)__builtin_ctzll(rest);
    if (hlo_expr_coefficient(load, loop) != hlo_expr_coefficient(output, loop)) return false;
  }
  const int64_t step = hlo_expr_coefficient(load, interleaved);
  const int64_t begin = output->constant - (output->loops >> interleaved & 1 ? 0 : range->low);
  const int64_t first = load->constant + step * range->low - begin;
  const int64_t last = first + step * (range->end - 1 - range->low);
  const int64_t count = kernel->spaces[0].extents[interleaved];
  return first >= 0 && first < count && last >= 0 && last < count;
}

int64_t hlo_kernel_interleaved_users(const hlo_kernel_t* kernel, uint64_t loops) {
  if (kernel->kind != HLO_KERNEL_INTERLEAVED || loops >> kernel->interleaved_loop & 1) return 1;
  return kernel->spaces[0].extents[kernel->interleaved_loop];
}

// Returns true if interleaved lanes gather what other lanes would read contiguously.
static bool gathers_interleaved(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                uint32_t lane) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_LOAD &&
        hlo_tiled_lane_access(tiled->offset, lane) == HLO_LANE_GATHERED &&
        hlo_tiled_lane_access(tiled->offset, kernel->interleaved_loop) == HLO_LANE_PLAIN &&
        !hlo_kernel_lane_step(kernel->target, tiled, lane)) {
      return true;
    }
  }
  return false;
}

hlo_verdict_t hlo_kernel_check_interleaved(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  const uint32_t lane = kernel->loops[kernel->loop_count - 1];
  if (!gathers_interleaved(kernel, tiling, lane)) return hlo_verdict_yes();
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_COMPUTE && !(tiled->loops >> lane & 1) &&
        tiled->loops >> kernel->interleaved_loop & 1 &&
        hlo_elementwise_cost(tiled->value->def) >= HLO_TUNING_OP_NOT_CHEAP) {
      return hlo_verdict_no(HLO_REASON_INTERLEAVED_GATHER, tiled->value->def);
    }
  }
  return hlo_verdict_yes();
}

// Returns the part-th result vector: for all i, element i / count of vector i % count.
static hlo_vir_value_t* interleaved_part(hlo_emitter_t* e, hlo_vir_value_t* const* vectors,
                                         uint32_t count, uint32_t part) {
  hlo_vir_type_t type = vectors[0]->type;
  uint8_t offsets[HLO_VIR_MAX_LANES];
  uint64_t source_lanes[HLO_KERNEL_MAX_INTERLEAVED] = {0};
  for (uint32_t lane = 0; lane < type.lanes; ++lane) {
    uint32_t at = part * type.lanes + lane;
    offsets[lane] = (uint8_t)(at / count);
    source_lanes[at % count] |= (uint64_t)1 << lane;
  }
  hlo_vir_value_t *permutation = hlo_emit_lane_offsets(e, type, offsets), *sum = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_vir_value_t* moved = hlo_vir_binary(e->b, HLO_VIR_permute, vectors[i], permutation);
    hlo_vir_value_t* mask =
        hlo_vir_emit(e->b, HLO_VIR_mask_const, hlo_vir_type(HLO_VIR_MASK, type.lanes), 0,
                     (int64_t)source_lanes[i], 0, NULL);
    sum = sum ? hlo_vir_ternary(e->b, HLO_VIR_select, mask, moved, sum) : moved;
  }
  return sum;
}

static void interleave(hlo_emitter_t* e, hlo_vir_value_t** vectors, uint32_t count) {
  if ((count & (count - 1)) == 0) {
    hlo_elementwise_transpose(e->b, vectors, count, count, 0);
    return;
  }
  hlo_vir_value_t* parts[HLO_KERNEL_MAX_INTERLEAVED];
  for (uint32_t i = 0; i < count; ++i) parts[i] = interleaved_part(e, vectors, count, i);
  memcpy(vectors, parts, count * sizeof *vectors);
}

// Stores the elements of an output at all values of the interleaved loop, in memory permutation.
static void store_interleaved(hlo_emitter_t* e, uint32_t output, hlo_vir_value_t** vectors,
                              uint32_t count) {
  const hlo_fusion_t* fusion = e->kernel->fusion;
  hlo_dtype_t dtype = hlo_emitter_dtype(e, fusion->outputs[output]);
  int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  hlo_element_address_t address = hlo_emit_address(e, e->addresses[fusion->input_count + output],
                                                   e->tiling->output_offsets[output], dtype);
  for (uint32_t i = 0; i < count; ++i) vectors[i] = hlo_vmath_to_memory(e->b, dtype, vectors[i]);
  if (e->lane_loop != HLO_NO_LOOP) interleave(e, vectors, count);
  const uint32_t lanes = hlo_emitter_point_lanes(e);
  hlo_vir_value_t* active = e->mask ? hlo_emit_active_lanes(e) : NULL;
  if (active) active = hlo_vir_index(e->b, HLO_VIR_imul, active, hlo_vir_iconst(e->b, count));
  for (uint32_t i = 0; i < count; ++i) {
    if (active) {
      hlo_vir_value_t* rest =
          hlo_vir_index(e->b, HLO_VIR_isub, active, hlo_vir_iconst(e->b, (int64_t)i * lanes));
      address.mask =
          hlo_vir_emit(e->b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0, 0, 1, &rest);
    }
    hlo_elementwise_store_raw(e->b, dtype, vectors[i], &address);
    address.offset_bytes += lanes * bytes;
  }
}

// Computes all outputs of a segment at one value of the interleaved loop.
static void emit_values(hlo_emitter_t* e, int64_t at,
                        hlo_vir_value_t* (*out_values)[HLO_KERNEL_MAX_INTERLEAVED]) {
  uint32_t loop = e->kernel->interleaved_loop;
  hlo_emitter_forget_loop(e, loop);
  e->loops[loop] = hlo_vir_iconst(e->b, at);
  e->bound |= (uint64_t)1 << loop;
  for (uint32_t i = 0; i < e->kernel->fusion->output_count; ++i) {
    out_values[i][at] = hlo_emit_wide(e, e->tiling->outputs[i], hlo_emitter_point_lanes(e));
  }
}

// The body of a loop over lanes; context: the tilings of all segments. Reads everything before it
// writes, so that inputs may share memory with outputs.
static void emit_interleaved_vectors(hlo_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const hlo_tiling_t* const* tilings = context;
  const hlo_kernel_t* kernel = e->kernel;
  uint32_t loop = kernel->interleaved_loop, count = (uint32_t)kernel->spaces[0].extents[loop];
  hlo_vir_value_t* values[HLO_KERNEL_MAX_INTERLEAVED_OUTPUTS][HLO_KERNEL_MAX_INTERLEAVED];
  hlo_emitter_t here = *e, first = *e;
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    here.tiling = tilings[i];
    here.done = hlo_arena_array(e->scratch, here.tiling->instance_count + 1, sizeof *here.done);
    here.scalars =
        hlo_arena_array(e->scratch, here.tiling->instance_count + 1, sizeof *here.scalars);
    if (!here.done || !here.scalars) {
      e->b->module->arena.failed = true;
      return;
    }
    const hlo_tiled_loop_t* interleaved = &here.tiling->loops[loop];
    for (int64_t at = interleaved->low; at < interleaved->end; ++at) emit_values(&here, at, values);
    if (interleaved->low == 0) first = here;
  }
  first.loops[loop] = hlo_vir_iconst(e->b, 0);
  for (uint32_t i = 0; i < kernel->fusion->output_count; ++i) {
    store_interleaved(&first, i, values[i], count);
  }
}

// Walks the tilings of all segments, which differ in the interleaved loop only.
static hlo_status_t walk_segments(hlo_emitter_t* e) {
  const hlo_kernel_t* kernel = e->kernel;
  const hlo_tiling_t** tilings =
      hlo_arena_array(e->scratch, kernel->segment_count, sizeof *tilings);
  if (!tilings) return hlo_arena_status(e->scratch);
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    hlo_tiling_t* tiling;
    HLO_TRY(hlo_kernel_walk(kernel, e->scratch, &kernel->segments[i], &tiling));
    tilings[i] = tiling;
  }
  e->interleaved = tilings;
  return hlo_ok();
}

void hlo_emit_interleaved(hlo_emitter_t* e, const hlo_vir_interval_t* ranges) {
  hlo_status_t status = e->interleaved ? hlo_ok() : walk_segments(e);
  if (!hlo_status_is_ok(status)) {
    hlo_vir_module_fail(e->b->module, status);
    return;
  }
  const uint32_t lane = e->kernel->loops[e->kernel->loop_count - 1];
  hlo_emit_lane_loop(e, lane, ranges[0], HLO_UNROLL_FREELY, emit_interleaved_vectors,
                     e->interleaved);
}
