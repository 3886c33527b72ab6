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
    hlo_vir_value_t* moved = hlo_vir_emit(e->b, HLO_VIR_permute, type, 0, 0, 2,
                                          (hlo_vir_value_t*[]){vectors[i], permutation});
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
      address.mask = hlo_vir_emit(e->b, HLO_VIR_mask_first, hlo_vir_type(HLO_VIR_MASK, lanes), 0,
                                  0, 1, &rest);
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

void hlo_emit_interleaved(hlo_emitter_t* e, uint32_t copy, void* context) {
  (void)copy;
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

hlo_status_t hlo_emit_walk_interleaved(hlo_emitter_t* e) {
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
