// SPDX-License-Identifier: Apache-2.0
// Refuses fusions that loops could compute but should not: separate fusions through memory are
// cheaper than values that are recomputed too often or computed element by element.
#include <math.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"
#include "codegen/math/elementwise.h"

uint64_t hlo_kernel_enclosing_loops(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  uint64_t loops = hlo_tiling_computed_loops(tiling, tiled);
  if (tiling->space_count == 1) return loops;                              // no reductions
  for (uint32_t i = tiled->number + 1; i < tiling->instance_count; ++i) {  // inner ones come first
    const hlo_tiled_t* outer = tiling->instances[i];
    if (outer->kind != HLO_TILED_REDUCE || !(outer->loops & ~loops)) continue;
    if (!(loops & hlo_tiled_space_mask(&tiling->spaces[outer->reduction]))) continue;
    bool is_needed[HLO_TILED_MAX_INSTANCES] = {false};
    hlo_tiling_mark_needed(tiling, outer, is_needed);
    if (is_needed[tiled->number]) loops |= outer->loops;
  }
  return loops;
}

// Returns how often an instance is computed: once for every value of the loops down to the
// innermost one around it. Interleaved segments compute shared instances once.
static double evaluation_count(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                               const hlo_tiled_t* tiled) {
  uint64_t output_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  uint64_t loops = hlo_kernel_enclosing_loops(tiling, tiled);
  double outer = 1;
  double count = hlo_tiling_points(tiling, loops & ~output_loops);
  double needed = 1;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    uint32_t loop = kernel->loops[i];
    outer *= (double)(tiling->loops[loop].end - tiling->loops[loop].low);
    if (loops >> loop & 1) needed = outer;
  }
  return count * needed / (double)hlo_kernel_interleaved_users(kernel, loops);
}

// Returns how often an op may be computed per needed element.
static double most_repeats(const hlo_tiled_t* tiled) {
  if (tiled->kind == HLO_TILED_REDUCE) return HLO_TUNING_REPEATS_MAX_REDUCTION;
  if (tiled->kind != HLO_TILED_COMPUTE) return HUGE_VAL;
  double cost = hlo_elementwise_cost(tiled->value->def);
  return cost >= HLO_TUNING_OP_COSTLY      ? HLO_TUNING_REPEATS_MAX_COSTLY
         : cost >= HLO_TUNING_OP_NOT_CHEAP ? HLO_TUNING_REPEATS_MAX_OTHER
                                           : HUGE_VAL;
}

// Returns the evaluations of an op that its result, and the users of the result, need.
static double wanted_count(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  const hlo_node_t* node = tiled->value->def;
  if (node->op == HLO_OP_reduce) {
    return (double)hlo_type_element_count(hlo_node_operand_type(node, 0));
  }
  double count = (double)hlo_type_element_count(node->results[0].type);
  // Windows and products inherently visit their operands many times.
  bool has_space = tiled->kind == HLO_TILED_REDUCE;
  return has_space ? count * (double)tiling->spaces[tiled->reduction].element_count : count;
}

static uint32_t number_in(const hlo_fusion_t* fusion, const hlo_node_t* node) {
  uint32_t at = 0;
  while (at < fusion->node_count && fusion->nodes[at] != node) ++at;
  return at;
}

// Refuses work that is repeated so often that memory would be cheaper. repeats: by node, added to;
// plain_work: the cost of plain ops, added to.
static hlo_verdict_t check_redundancy(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                      double* repeats, double* plain_work) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE && tiled->kind != HLO_TILED_COMPUTE) continue;
    double count = evaluation_count(kernel, tiling, tiled), most = most_repeats(tiled);
    if (tiled->kind == HLO_TILED_COMPUTE) {
      *plain_work += hlo_elementwise_cost(tiled->value->def) * count;
    }
    if (most == HUGE_VAL) continue;
    double* repeated = &repeats[number_in(kernel->fusion, tiled->value->def)];
    *repeated += count / wanted_count(tiling, tiled);
    if (*repeated > most) {
      return hlo_verdict_beyond(HLO_REASON_REPEATED_OP, tiled->value->def, *repeated, most);
    }
  }
  return hlo_verdict_yes();
}

// Returns true if outputs of equal element counts have different dimensions.
static bool has_several_shapes(const hlo_kernel_t* kernel) {
  const hlo_type_t* first = hlo_tiled_written(kernel->fusion->outputs[0])->type;
  for (uint32_t i = 1; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_type_t* type = hlo_tiled_written(kernel->fusion->outputs[i])->type;
    if (!hlo_type_same_dims(type, first)) return true;
  }
  return false;
}

// Returns true if loads are contiguous along several loops, none of them the last one of the
// output, one of them long enough for lanes.
static bool has_several_orders(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  const hlo_tiled_space_t* output = &tiling->spaces[0];
  uint32_t first = HLO_TILED_MAX_LOOPS;
  bool is_long = false, is_several = false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_LOAD || !tiled->offset) continue;
    for (uint32_t k = 0; k + 1 < output->loop_count; ++k) {
      if (hlo_tiled_lane_access(tiled->offset, k) != HLO_LANE_PLAIN) continue;
      is_long |= output->extents[k] >= kernel->lanes;
      is_several |= first < HLO_TILED_MAX_LOOPS && first != k;
      first = k;
    }
  }
  return is_long && is_several;
}

// Returns a transpose of the last dimension, at most half as large as the output that it leaves
// without lanes; NULL: none.
static const hlo_node_t* find_small_transpose(const hlo_kernel_t* kernel,
                                              const hlo_tiling_t* tiling) {
  for (uint32_t i = 0; i < kernel->fusion->node_count; ++i) {
    const hlo_node_t* node = kernel->fusion->nodes[i];
    if (node->op != HLO_OP_transpose) continue;
    uint32_t count;
    const int64_t* order = hlo_node_attr_ints(node, HLO_ATTR_permutation, &count);
    const int64_t elements = hlo_type_element_count(node->results[0].type);
    if (count && order[count - 1] + 1 != (int64_t)count &&
        2 * elements <= tiling->spaces[0].element_count) {
      return node;
    }
  }
  return NULL;
}

// Returns true if each element of the output is reduced, with lanes of the reduction's own.
static bool reduces_each_element(const hlo_tiling_t* tiling) {
  const uint64_t output_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE && !(output_loops & ~tiled->loops)) return true;
  }
  return false;
}

// Refuses loops over elements that have no lanes only because of the orders of arrays.
static hlo_verdict_t check_orders(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (reduces_each_element(tiling)) return hlo_verdict_yes();
  if (has_several_shapes(kernel)) return hlo_verdict_no(HLO_REASON_SHAPES_WITHOUT_LANES, NULL);
  if (has_several_orders(kernel, tiling)) {
    return hlo_verdict_no(HLO_REASON_ORDERS_WITHOUT_LANES, NULL);
  }
  const hlo_node_t* transpose = find_small_transpose(kernel, tiling);
  return transpose ? hlo_verdict_no(HLO_REASON_TRANSPOSE_WITHOUT_LANES, transpose)
                   : hlo_verdict_yes();
}

// Lanes along short reductions leave their users to be computed element by element, which costs
// more than memory in between. Outputs whose orders leave no loop with lanes do not belong in one
// fusion.
static hlo_verdict_t check_lanes(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (hlo_kernel_has_lanes(kernel) || tiling->spaces[0].element_count < kernel->lanes ||
      hlo_kernel_row_level(kernel, tiling) < kernel->loop_count) {
    return hlo_verdict_yes();
  }
  const hlo_verdict_t verdict = check_orders(kernel, tiling);
  if (hlo_verdict_is_no(&verdict)) return verdict;
  uint64_t output_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  bool is_short = false, is_costly = false;
  const hlo_node_t* costly = NULL;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE) {
      is_short |= tiling->spaces[tiled->reduction].element_count <= HLO_TUNING_SHORT_REDUCTION;
    } else if (tiled->kind == HLO_TILED_COMPUTE && !(tiled->loops & ~output_loops)) {
      const bool costs = hlo_elementwise_cost(tiled->value->def) >= HLO_TUNING_OP_COSTLY;
      if (costs && !is_costly) costly = tiled->value->def;
      is_costly |= costs;
    }
  }
  return is_short && is_costly ? hlo_verdict_no(HLO_REASON_COSTLY_WITHOUT_LANES, costly)
                               : hlo_verdict_yes();
}

// Returns true if lanes could read a load contiguously along some loop of the output.
static bool is_contiguous_along_output(const hlo_kernel_t* kernel, const hlo_tiled_t* load) {
  const hlo_tiled_space_t* output = &kernel->spaces[0];
  for (uint32_t i = 0; i < output->loop_count; ++i) {
    if (output->extents[i] >= kernel->lanes &&
        hlo_tiled_lane_access(load->offset, i) == HLO_LANE_PLAIN) {
      return true;
    }
  }
  return false;
}

// Returns true if a reduction reads a load with a stride: along the lanes or, without lanes or with
// the same element in a few of them, along each of its own loops.
static bool is_strided(const hlo_kernel_t* kernel, const hlo_tiled_t* load, uint64_t reduced) {
  if (hlo_kernel_has_lanes(kernel)) {
    const uint32_t lane = kernel->loops[kernel->loop_count - 1];
    const int64_t bytes = (int64_t)hlo_dtype_size_bytes(load->value->type->dtype);
    const bool is_short = kernel->spaces[0].extents[lane] * bytes < kernel->target->vector_bytes;
    const hlo_lane_access_t access = hlo_tiled_lane_access(load->offset, lane);
    if (access != HLO_LANE_SAME || !is_short) {
      return access == HLO_LANE_GATHERED && !hlo_kernel_lane_step(kernel->target, load, lane);
    }
  }
  for (; reduced; reduced &= reduced - 1) {
    const uint32_t loop = (uint32_t)__builtin_ctzll(reduced);
    if (hlo_tiled_lane_access(load->offset, loop) == HLO_LANE_PLAIN) return false;
  }
  return true;
}

// A reduction that reads an array with a stride brings each line of the array to the first cache
// many times: computing the transpose apart costs less, unless that cache holds the array.
static hlo_verdict_t check_strides(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  const uint64_t output_loops = hlo_tiled_space_mask(&tiling->spaces[0]);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    const uint64_t reduced = tiled->loops & ~output_loops;
    if (tiled->kind != HLO_TILED_LOAD || !tiled->offset || !reduced) continue;
    if ((int64_t)hlo_type_size_bytes(tiled->value->type) >
            kernel->target->tile.memories[1].capacity_bytes &&
        is_strided(kernel, tiled, reduced) && is_contiguous_along_output(kernel, tiled)) {
      return hlo_verdict_no(HLO_REASON_STRIDED_REDUCTION, NULL);
    }
  }
  return hlo_verdict_yes();
}

// Returns the loops that masks depend on, among the values that a reduction needs.
static uint64_t masked_loops(const hlo_tiling_t* tiling, const hlo_tiled_t* reduction) {
  uint32_t first = 0;
  while (first < reduction->number && tiling->instances[first]->kind != HLO_TILED_MASK) ++first;
  if (first == reduction->number) return 0;
  bool is_needed[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_needed(tiling, reduction, is_needed);
  uint64_t loops = 0;
  for (uint32_t i = first; i < reduction->number; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (is_needed[i] && tiled->kind == HLO_TILED_MASK) loops |= tiled->offset->loops;
  }
  return loops;
}

// A mask that a loop of a reduction decides, such as the parts of a concatenation, keeps lanes from
// that loop. If no other loop has lanes, what the mask selects from costs less in memory.
static hlo_verdict_t check_masked_reductions(const hlo_kernel_t* kernel,
                                             const hlo_tiling_t* tiling) {
  const uint32_t lane =
      hlo_kernel_has_lanes(kernel) ? kernel->loops[kernel->loop_count - 1] : HLO_TILED_MAX_LOOPS;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE || tiled->value->def->op != HLO_OP_reduce ||
        (lane < HLO_TILED_MAX_LOOPS && tiled->loops >> lane & 1)) {
      continue;
    }
    const uint64_t masked = masked_loops(tiling, tiled);
    const hlo_tiled_space_t* space = &tiling->spaces[tiled->reduction];
    bool is_masked = false, has_other = false;
    for (uint32_t k = 0; k < space->loop_count; ++k) {
      if (space->extents[k] < kernel->lanes) continue;
      const bool is_here = masked >> (space->first_loop + k) & 1;
      is_masked |= is_here;
      has_other |= !is_here;
    }
    if (is_masked && !has_other) return hlo_verdict_no(HLO_REASON_MASKED_REDUCTION, NULL);
  }
  return hlo_verdict_yes();
}

// Returns true if a reduction over the same space needs `inner`.
static bool is_needed_by_other_reduction(const hlo_tiling_t* tiling, const hlo_tiled_t* inner) {
  for (uint32_t i = inner->number + 1; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE || tiled->reduction != inner->reduction) continue;
    bool is_needed[HLO_TILED_MAX_INSTANCES] = {false};
    hlo_tiling_mark_needed(tiling, tiled, is_needed);
    if (is_needed[inner->number]) return true;
  }
  return false;
}

// Reductions precede the loops of their users, except those under a mask: inside the loops of
// another reduction over the same space they would change its loop values.
static hlo_verdict_t check_guarded_sums(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  (void)kernel;
  bool is_certain[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_certain(tiling, is_certain);
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE || is_certain[i]) continue;
    if (is_needed_by_other_reduction(tiling, tiled)) {
      return hlo_verdict_no(HLO_REASON_GUARDED_REDUCTION, tiled->value->def);
    }
  }
  return hlo_verdict_yes();
}

hlo_status_t hlo_kernel_check_work(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                   hlo_arena_t* scratch, hlo_verdict_t* out_verdict) {
  double* totals = hlo_arena_array(scratch, kernel->fusion->node_count + 1, sizeof *totals);
  if (!totals) return hlo_arena_status(scratch);
  hlo_kernel_check_t* const checks[] = {check_lanes, check_strides, check_masked_reductions,
                                        hlo_kernel_kinds[kernel->kind].check, check_guarded_sums};
  const uint32_t check_count = kernel->fusion->node_count == 1 ? 0 : sizeof checks / sizeof *checks;
  double work = 0, most = (double)kernel->spaces[0].element_count;
  for (uint32_t i = 0; i < kernel->fusion->node_count; ++i) {
    const hlo_node_t* node = kernel->fusion->nodes[i];
    double count = (double)hlo_type_element_count(node->results[0].type);
    if (hlo_elementwise_supports(node)) work -= hlo_elementwise_cost(node) * count;
    if (count > most) most = count;
  }
  for (uint32_t i = 0; i < pieces->count; ++i) {
    const hlo_tiling_t* tiling = pieces->tilings[i];
    *out_verdict = check_redundancy(kernel, tiling, totals, &work);
    for (uint32_t k = 0; k < check_count && !hlo_verdict_is_no(out_verdict); ++k) {
      if (checks[k]) *out_verdict = checks[k](kernel, tiling);
    }
    if (hlo_verdict_is_no(out_verdict)) return hlo_ok();
  }
  *out_verdict = work > most * HLO_TUNING_REPEATS_MAX_PLAIN_WORK
                     ? hlo_verdict_beyond(HLO_REASON_REPEATED_WORK, NULL, work / most,
                                          HLO_TUNING_REPEATS_MAX_PLAIN_WORK)
                     : hlo_verdict_yes();
  return hlo_ok();
}

static hlo_verdict_t check_extra_outputs(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (!kernel->fusion->extra_output_count) return hlo_verdict_yes();
  const hlo_verdict_t verdict = hlo_kernel_check_extra_outputs(kernel, tiling);
  if (hlo_verdict_is_no(&verdict)) return verdict;
  // Work that could run on many threads must not wait for work that cannot.
  const bool is_serial = hlo_kernel_is_worth_cutting(kernel) && kernel->chunk_count < 2;
  return is_serial ? hlo_verdict_no(HLO_REASON_OUTPUT_SERIAL, NULL) : hlo_verdict_yes();
}

static int64_t range_of(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling, uint32_t level) {
  const hlo_tiled_loop_t* loop = &tiling->loops[kernel->loops[level]];
  return loop->end - loop->low;
}

// Returns how many chunks each compute an instance, beyond the repetitions of the loops.
static double chunk_repeats(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                            const hlo_tiled_t* tiled) {
  bool needs_outer = tiled->loops >> kernel->loops[0] & 1;
  if (kernel->cut != HLO_KERNEL_CUT_TWO_LOOPS) {
    return needs_outer ? 1 : (double)hlo_divide_up(range_of(kernel, tiling, 0), kernel->chunk_size);
  }
  if (tiled->loops >> kernel->loops[1] & 1) return 1;
  int64_t parts = hlo_divide_up(range_of(kernel, tiling, 1), kernel->chunk_size);
  return (double)(needs_outer ? parts : parts * range_of(kernel, tiling, 0));
}

// A value that all chunks need, such as the sum of all elements, is computed once before them
// unless it is little work.
static hlo_verdict_t check_repeats(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  if (kernel->chunk_count < 2 || kernel->cut == HLO_KERNEL_CUT_REDUCTION) return hlo_verdict_yes();
  double once = (double)kernel->spaces[0].element_count, again = 0;  // stored elements
  for (uint32_t i = 0; i < pieces->count; ++i) {
    const hlo_tiling_t* tiling = pieces->tilings[i];
    for (uint32_t k = 0; k < tiling->instance_count; ++k) {
      const hlo_tiled_t* tiled = tiling->instances[k];
      const double cost = hlo_kernel_instance_ops(tiling, tiled);
      once += cost;
      again += cost * (chunk_repeats(kernel, tiling, tiled) - 1);
    }
  }
  return again > HLO_TUNING_REPEATS_MAX_BY_CHUNKS * once
             ? hlo_verdict_beyond(HLO_REASON_REPEATED_BY_CHUNKS, NULL, again / once,
                                  HLO_TUNING_REPEATS_MAX_BY_CHUNKS)
             : hlo_verdict_yes();
}

hlo_verdict_t hlo_kernel_check_chunks(const hlo_kernel_t* kernel,
                                      const hlo_kernel_pieces_t* pieces) {
  const hlo_verdict_t verdict = check_repeats(kernel, pieces);
  return hlo_verdict_is_no(&verdict) ? verdict : check_extra_outputs(kernel, pieces->tilings[0]);
}
