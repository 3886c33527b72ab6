// SPDX-License-Identifier: Apache-2.0
// Chooses how loops compute a fusion (see kernel.h): the loops of its output, split so that every
// access is affine and every mask decided, the loop that runs over lanes, and the chunks for
// parallel_for.
#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

enum { UNROLL_VALUES = 3 };  // of a configuration

static bool is_narrow_float(hlo_dtype_t dtype) {
  return hlo_dtype_is_float(dtype) && hlo_dtype_info(dtype)->bits < 32;
}

static bool has_narrow_floats(const hlo_node_t* node) {
  bool found = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    found |= is_narrow_float(hlo_node_operand_type(node, i)->dtype);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    found |= is_narrow_float(node->results[i].type->dtype);
  }
  return found;
}

static bool converts_raw(const hlo_node_t* node) {
  return node->op == HLO_OP_convert && hlo_vmath_converts_raw(hlo_node_operand_type(node, 0)->dtype,
                                                              node->results[0].type->dtype);
}

// Returns true if there are floats that registers otherwise hold as f32, and no member computes
// with them but by changing bits.
static bool only_moves_narrow_floats(const hlo_fusion_t* fusion, const hlo_target_t* target) {
  bool found = false;
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    if (!has_narrow_floats(node)) continue;
    found = true;
    bool is_move = hlo_op_has(node->op, HLO_TRAIT_MOVES | HLO_TRAIT_JOINS | HLO_TRAIT_CONSTANT) ||
                   node->op == HLO_OP_dynamic_update_slice || node->op == HLO_OP_select ||
                   (target->has_permute && converts_raw(node));
    if (!is_move) return false;
  }
  return found;
}

hlo_dtype_t hlo_kernel_register_dtype(const hlo_kernel_t* kernel, hlo_dtype_t dtype) {
  if (!kernel->moves_bits || !is_narrow_float(dtype)) return dtype;
  return hlo_dtype_size_bytes(dtype) == 2 ? HLO_DTYPE_U16 : HLO_DTYPE_U8;
}

// Returns the bytes per lane of an instance: of its element, and of its offset if that is a vector.
static uint32_t lane_bytes(const hlo_kernel_t* kernel, const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->kind == HLO_TILED_PRODUCT ? hlo_tiled_sum_dtype(tiled->value->def)
                                                       : tiled->value->type->dtype;
  uint32_t bytes = hlo_elementwise_register_bytes(hlo_kernel_register_dtype(kernel, dtype));
  if (!tiled->offset || tiled->kind == HLO_TILED_MASK) return bytes;
  bool is_small = tiled->offset->low >= INT32_MIN && tiled->offset->high <= INT32_MAX;
  if (tiled->kind == HLO_TILED_INDEX) return is_small && bytes <= 4 ? 4 : 8;
  bool may_gather = hlo_dtype_size_bytes(tiled->value->type->dtype) >= HLO_TILE_GATHER_BYTES;
  return may_gather && hlo_type_size_bytes(tiled->value->type) >= (size_t)1 << 31 ? 8 : bytes;
}

uint32_t hlo_kernel_widest_bytes(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  bool is_scalar[HLO_TILED_MAX_INSTANCES] = {false};
  hlo_tiling_mark_scalars(tiling, is_scalar);
  uint32_t widest = 1;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (is_scalar[i]) continue;
    uint32_t bytes = lane_bytes(kernel, tiling->instances[i]);
    if (bytes > widest) widest = bytes;
  }
  return widest;
}

uint32_t hlo_kernel_piece_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  uint32_t most = 64;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    uint32_t widest = hlo_kernel_widest_bytes(kernel, pieces->tilings[i]);
    uint32_t lanes = kernel->target->vector_bytes / widest;
    if (lanes < most) most = lanes;
  }
  return most;
}

static hlo_status_t choose_loops(hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                 hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &kernel->spaces[0];
  kernel->lanes = hlo_kernel_piece_lanes(kernel, pieces);
  if (kernel->kind == HLO_KERNEL_VECTOR) {
    kernel->loops[kernel->loop_count++] = 0;
    if (hlo_kernel_config_has_lanes(kernel->config)) {
      kernel->verdict = hlo_verdict_no(HLO_REASON_CONFIG_LANES, NULL);
    }
    return hlo_ok();
  }
  hlo_kernel_lanes_t best;
  if (hlo_kernel_config_has_lanes(kernel->config)) {
    if (!hlo_kernel_take_lanes(kernel, pieces, &best)) {
      kernel->verdict = hlo_verdict_no(HLO_REASON_CONFIG_LANES, NULL);
      return hlo_ok();
    }
  } else {
    double cost_ns = hlo_kernel_choose_lanes(kernel, pieces, &best);
    HLO_TRY(hlo_kernel_join_loops(kernel, cost_ns, scratch, pieces, &best));
  }
  kernel->kind = best.kind;
  kernel->lanes = best.count;
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    bool is_apart = i == best.lane || i == best.other;
    if (!is_apart && space->extents[i] > 1) kernel->loops[kernel->loop_count++] = i;
  }
  if (best.kind == HLO_KERNEL_INTERLEAVED) kernel->interleaved_loop = best.other;
  if (best.kind == HLO_KERNEL_TRANSPOSE) kernel->loops[kernel->loop_count++] = best.other;
  if (best.kind != HLO_KERNEL_POINTS) kernel->loops[kernel->loop_count++] = best.lane;
  return hlo_ok();
}

double hlo_kernel_instance_ops(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  double cost = tiled->kind == HLO_TILED_COMPUTE ? hlo_elementwise_cost(tiled->value->def) : 1;
  return cost * hlo_tiling_points(tiling, hlo_tiling_computed_loops(tiling, tiled));
}

// Adds the work of a segment's loops. loaded: bytes by input, once per load
static void add_work(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling, double* loaded,
                     hlo_tile_work_t* work) {
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    double points = hlo_tiling_points(tiling, hlo_tiling_computed_loops(tiling, tiled));
    const bool is_one_by_one = info->is_one_by_one && info->is_one_by_one(kernel, tiling, tiled);
    work->vector_ops +=
        hlo_kernel_instance_ops(tiling, tiled) / (is_one_by_one ? 1 : kernel->lanes);
    if (tiled->kind == HLO_TILED_LOAD) {
      loaded[tiled->input] += points * (double)hlo_dtype_size_bytes(tiled->value->type->dtype);
    }
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_type_t* type = tiling->fusion->outputs[i]->type;
    bool is_extra_output = i >= tiling->fusion->output_count - tiling->fusion->extra_output_count;
    uint64_t loops = is_extra_output ? tiling->output_offsets[i]->loops
                                     : hlo_tiled_space_mask(&tiling->spaces[0]);
    double bytes = hlo_tiling_points(tiling, loops) * (double)hlo_dtype_size_bytes(type->dtype);
    work->accessed_bytes += bytes;
    work->distinct_bytes += bytes;
  }
}

// Computes the roofline of all segments together.
static hlo_status_t estimate(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                             hlo_arena_t* scratch) {
  const hlo_fusion_t* fusion = kernel->fusion;
  double* loaded = hlo_arena_array(scratch, fusion->input_count + 1, sizeof *loaded);
  HLO_TRY(hlo_arena_status(scratch));
  hlo_tile_work_t work = {0};
  for (uint32_t i = 0; i < pieces->count; ++i) {
    add_work(kernel, pieces->tilings[i], loaded, &work);
  }
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    double whole = (double)hlo_type_size_bytes(fusion->inputs[i]->type);
    work.accessed_bytes += loaded[i];
    work.distinct_bytes += loaded[i] < whole ? loaded[i] : whole;
  }
  kernel->cost_ns = hlo_tile_work_ns(&kernel->target->tile, &work);
  kernel->moved_bytes = work.distinct_bytes;
  return hlo_ok();
}

static bool is_read_in_place(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                             const hlo_expr_t* load, const hlo_expr_t* output) {
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  return load == output || (info->reads_first && info->reads_first(kernel, tiling, load, output));
}

void hlo_kernel_find_shareable(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  // Extra outputs are stored while the rest is still being read.
  for (uint32_t o = hlo_kernel_main_count(kernel); o < kernel->fusion->output_count; ++o) {
    kernel->shareable[o] = 0;
  }
  bool is_one_iteration = hlo_kernel_has(kernel, HLO_KERNEL_WHOLE) || kernel->loop_count == 0;
  if (is_one_iteration && !hlo_kernel_form_of(kernel) && kernel->segment_count == 1) {
    return;  // everything is read before anything is written
  }
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_LOAD || tiled->input >= HLO_KERNEL_SHARED_INPUTS) continue;
    for (uint32_t o = 0; o < kernel->fusion->output_count; ++o) {
      if (is_read_in_place(kernel, tiling, tiled->offset, tiling->output_offsets[o])) continue;
      kernel->shareable[o] &= ~((uint64_t)1 << tiled->input);
    }
  }
}

// Returns true if some output is evicted from the caches before a later kernel can read it. Results
// of the program share the caches with those of the other processes.
static bool has_large_output(const hlo_kernel_t* kernel) {
  for (uint32_t i = 0; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_value_t* output = hlo_tiled_written(kernel->fusion->outputs[i]);
    const size_t bytes = hlo_type_size_bytes(output->type);
    const bool is_shared = bytes >= HLO_TUNING_STREAM_MIN_RESULT_BYTES &&
                           hlo_value_is_program_result(kernel->fusion->outputs[i]);
    const uint32_t count = is_shared ? hlo_target_process_count(kernel->target) : 1;
    if (hlo_target_passes_caches(kernel->target, count * bytes, count * kernel->moved_bytes)) {
      return true;
    }
  }
  return false;
}

// Tiles are stored line by line only if a vector is a line.
static bool is_streamed(const hlo_kernel_t* kernel) {
  bool has_whole_lines = kernel->target->vector_bytes >= hlo_target_line_bytes(kernel->target);
  return hlo_kernel_has(kernel, HLO_KERNEL_STREAMS) && has_large_output(kernel) &&
         (!hlo_kernel_has(kernel, HLO_KERNEL_IN_TILES) || has_whole_lines);
}

// Returns the number of outermost loops that all segments share. A segment with reductions outside
// some loops has its own loops.
static uint32_t common_levels(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  if (pieces->count < 2 || hlo_kernel_has(kernel, HLO_KERNEL_JOINS_SEGMENTS)) return 0;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    if (hlo_tiling_has_reduction(pieces->tilings[i])) return 0;
  }
  for (uint32_t level = 0; level < kernel->loop_count; ++level) {
    const int64_t* first = kernel->segments[0][kernel->loops[level]];
    for (uint32_t i = 1; i < pieces->count; ++i) {
      const int64_t* range = kernel->segments[i][kernel->loops[level]];
      if (range[0] != first[0] || range[1] != first[1]) return level;
    }
  }
  return 0;
}

// Refuses choices that would change nothing.
static hlo_verdict_t check_choices(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  const hlo_kernel_config_t* config = kernel->config;
  if (hlo_kernel_config_value(config, HLO_CHOICE_row_block) == HLO_CHOICE_YES &&
      hlo_kernel_row_level(kernel, tiling) == kernel->loop_count) {
    return hlo_verdict_no(HLO_REASON_CONFIG_ROW_BLOCK, NULL);
  }
  if (hlo_kernel_config_value(config, HLO_CHOICE_row_cache) == HLO_CHOICE_YES &&
      (!hlo_kernel_may_cache_rows(kernel) || !hlo_tiling_has_reduction(tiling))) {
    return hlo_verdict_no(HLO_REASON_CONFIG_ROW_CACHE, NULL);
  }
  if (hlo_kernel_config_value(config, HLO_CHOICE_sweep) == HLO_CHOICE_YES &&
      kernel->kind != HLO_KERNEL_SWEEP) {
    return hlo_verdict_no(HLO_REASON_CONFIG_SWEEP, NULL);
  }
  return hlo_verdict_yes();
}

static hlo_status_t create(hlo_kernel_t* kernel, hlo_arena_t* scratch) {
  hlo_kernel_pieces_t* pieces;
  HLO_TRY(hlo_kernel_find_pieces(kernel, scratch, &pieces));
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  HLO_TRY(choose_loops(kernel, scratch, pieces));
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  const hlo_tiling_t* first = pieces->tilings[0];
  HLO_TRY(estimate(kernel, pieces, scratch));
  for (uint32_t i = 0; i < pieces->count; ++i) {
    hlo_kernel_find_shareable(kernel, pieces->tilings[i]);
  }
  if (hlo_kernel_reduces_columns(kernel, first)) kernel->kind = HLO_KERNEL_SWEEP;
  kernel->is_streamed = is_streamed(kernel);
  HLO_TRY(hlo_kernel_check_work(kernel, pieces, scratch, &kernel->verdict));
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  hlo_kernel_order_loops(kernel, pieces);
  kernel->common_levels = common_levels(kernel, pieces);
  kernel->verdict = hlo_kernel_choose_chunks(kernel, first);
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  if (kernel->kind == HLO_KERNEL_SWEEP) {
    kernel->sweep_levels = hlo_sweep_level_count(kernel, first);
  }
  kernel->verdict = hlo_kernel_check_chunks(kernel, pieces);
  if (!hlo_verdict_is_no(&kernel->verdict)) kernel->verdict = check_choices(kernel, first);
  return hlo_ok();
}

uint64_t hlo_kernel_sum_order(const hlo_kernel_t* kernel) {
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (form) return form->sum_order(kernel);
  if (hlo_kernel_sum_terms(kernel) <= 1) return 0;
  int64_t words[HLO_TILED_MAX_LOOPS + 5] = {kernel->kind, kernel->lanes, kernel->cut,
                                            kernel->cut ? kernel->chunk_size : 0,
                                            kernel->loop_count};
  for (uint32_t i = 0; i < kernel->loop_count; ++i) words[i + 5] = kernel->loops[i];
  return hlo_hash_bytes(words, (kernel->loop_count + 5) * sizeof *words, 0);
}

// Finds the members that a form computes: the last one and their number.
static const hlo_node_t* find_product(const hlo_fusion_t* fusion, const hlo_kernel_form_t* form,
                                      uint32_t* out_count) {
  const hlo_node_t* found = NULL;
  *out_count = 0;
  for (uint32_t i = 0; form && i < fusion->node_count; ++i) {
    if (!form->computes(fusion->nodes[i])) continue;
    found = fusion->nodes[i];
    ++*out_count;
  }
  return found;
}

static void summarize(hlo_kernel_t* kernel) {
  hlo_kernel_summary_t* s = &kernel->summary;
  *s = (hlo_kernel_summary_t){.phase_count = 1, .cost_ns = kernel->cost_ns};
  for (uint32_t i = 0; i < HLO_KERNEL_MAX_PHASES; ++i) s->chunk_counts[i] = 1;
  s->chunk_counts[0] = kernel->chunk_count;
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  if (info->plan) info->plan(kernel, s);
}

hlo_status_t hlo_kernel_try(hlo_fusion_t* fusion, const hlo_target_t* target,
                            const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                            hlo_arena_t* arena, hlo_verdict_t* out_verdict,
                            hlo_kernel_t** out_kernel) {
  *out_verdict = hlo_verdict_yes();
  if (fusion->kernel) {
    *out_kernel = fusion->kernel;
    return hlo_ok();
  }
  hlo_kernel_t* kernel = hlo_arena_alloc_zeroed(arena, sizeof *kernel);
  if (!kernel) return hlo_arena_status(arena);
  uint64_t* shareable = hlo_arena_array(arena, fusion->output_count, sizeof *shareable);
  if (!shareable) return hlo_arena_status(arena);
  memset(shareable, 0xff, fusion->output_count * sizeof *shareable);
  *kernel = (hlo_kernel_t){.fusion = fusion,
                           .target = target,
                           .config = fusion->config,
                           .arena = arena,
                           .shareable = shareable};
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  uint32_t count;
  const hlo_node_t* product = find_product(fusion, products, &count);
  hlo_status_t status = hlo_ok();
  const hlo_kernel_config_kind_t kind =
      product ? HLO_KERNEL_CONFIG_PRODUCT : HLO_KERNEL_CONFIG_LOOPS;
  if (!hlo_kernel_config_is_of(kernel->config, kind)) {
    kernel->verdict = hlo_verdict_no(HLO_REASON_CONFIG_KIND, product);
  } else if (count > 1) {
    kernel->verdict = hlo_verdict_beyond(HLO_REASON_PRODUCT_COUNT, product, count, 1);
  } else if (product) {
    kernel->kind = HLO_KERNEL_FORM;
    kernel->form.functions = products;
    kernel->form.node = product;
    status = products->choose(kernel, product, memo, &scratch);
  } else {
    kernel->moves_bits = only_moves_narrow_floats(fusion, target);
    status = create(kernel, &scratch);
  }
  hlo_arena_deinit(&scratch);
  if (!hlo_status_is_ok(status)) return status;
  *out_verdict = kernel->verdict;
  if (hlo_verdict_is_no(out_verdict)) return hlo_ok();
  summarize(kernel);
  *out_kernel = fusion->kernel = kernel;
  return hlo_ok();
}

hlo_status_t hlo_kernel_create(hlo_fusion_t* fusion, const hlo_target_t* target,
                               const hlo_kernel_form_t* products, hlo_tile_memo_t* memo,
                               hlo_arena_t* arena, hlo_kernel_t** out_kernel) {
  hlo_verdict_t verdict;
  HLO_TRY(hlo_kernel_try(fusion, target, products, memo, arena, &verdict, out_kernel));
  return hlo_verdict_is_no(&verdict)
             ? hlo_verdict_error(&verdict, HLO_STATUS_INTERNAL, fusion->index)
             : hlo_ok();
}

// Walks the segments again. before: the kernel when its lanes were chosen
static hlo_status_t walk_segments(const hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                  hlo_kernel_t* before, hlo_kernel_pieces_t** out_pieces) {
  hlo_kernel_pieces_t* pieces = hlo_arena_alloc_zeroed(scratch, sizeof *pieces);
  HLO_TRY(hlo_arena_status(scratch));
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    hlo_tiling_t* tiling;
    HLO_TRY(hlo_kernel_walk(kernel, scratch, &kernel->segments[i], &tiling));
    pieces->tilings[pieces->count++] = tiling;
  }
  *before = *kernel;
  before->lanes = hlo_kernel_piece_lanes(kernel, pieces);
  *out_pieces = pieces;
  return hlo_ok();
}

// Chooses the lanes again to explain the choice.
static hlo_status_t explain_lanes(const hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                  hlo_strbuf_t* out) {
  hlo_kernel_t before;
  hlo_kernel_pieces_t* pieces;
  HLO_TRY(walk_segments(kernel, scratch, &before, &pieces));
  return hlo_kernel_explain_lanes(&before, pieces, scratch, out);
}

// Adds the other ways of reducing rows and columns.
static void list_reductions(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                            hlo_kernel_configs_t* list) {
  const bool has_blocks = hlo_kernel_row_level(kernel, tiling) < kernel->loop_count;
  if (hlo_kernel_has(kernel, HLO_KERNEL_ROW_BLOCKS)) {
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_row_block,
                                  has_blocks ? HLO_CHOICE_NO : HLO_CHOICE_YES, 0);
  }
  if (hlo_kernel_may_cache_rows(kernel)) {
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_row_cache, HLO_CHOICE_NO, 0);
    hlo_kernel_configs_add_choice(list, HLO_CHOICE_row_cache, HLO_CHOICE_YES, 0);
  }
  const bool is_sweep = kernel->kind == HLO_KERNEL_SWEEP;
  hlo_kernel_configs_add_choice(list, HLO_CHOICE_sweep, is_sweep ? HLO_CHOICE_NO : HLO_CHOICE_YES,
                                0);
}

static hlo_status_t list_loop_configs(const hlo_kernel_t* kernel, hlo_kernel_configs_t* list) {
  HLO_SCOPED_ARENA scratch = {0};
  hlo_kernel_t before;
  hlo_kernel_pieces_t* pieces;
  HLO_TRY(walk_segments(kernel, &scratch, &before, &pieces));
  if (hlo_tiling_has_reduction(pieces->tilings[0])) {
    list_reductions(kernel, pieces->tilings[0], list);
  } else {
    for (int64_t unroll = 1; unroll <= UNROLL_VALUES; ++unroll) {
      hlo_kernel_configs_add_choice(list, HLO_CHOICE_unroll, unroll, kernel->cost_ns);
    }
  }
  return hlo_kernel_list_lanes(&before, pieces, &scratch, list);
}

hlo_kernel_config_kind_t hlo_kernel_config_kind(const hlo_kernel_t* kernel) {
  return hlo_kernel_form_of(kernel) ? HLO_KERNEL_CONFIG_PRODUCT : HLO_KERNEL_CONFIG_LOOPS;
}

hlo_status_t hlo_kernel_list_configs(const hlo_kernel_t* kernel, bool is_exhaustive,
                                     hlo_kernel_configs_t* list) {
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (form) return form->list_configs(kernel, is_exhaustive, list);
  return hlo_kernel_has(kernel, HLO_KERNEL_WHOLE) ? hlo_ok() : list_loop_configs(kernel, list);
}

double hlo_kernel_sum_terms(const hlo_kernel_t* kernel) {
  hlo_kernel_shape_t shape = {0};
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  double terms = 1;
  if (form) form->describe(kernel, &shape);
  for (uint32_t i = 0; i < shape.depth_count; ++i) terms *= (double)shape.depths[i];
  for (uint32_t i = 1; i < kernel->space_count; ++i) {
    terms *= (double)kernel->spaces[i].element_count;
  }
  return terms;
}

hlo_status_t hlo_kernel_explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (form) return form->explain(kernel, out);
  if (hlo_kernel_has(kernel, HLO_KERNEL_WHOLE)) return hlo_ok();
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = explain_lanes(kernel, &scratch, out);
  hlo_arena_deinit(&scratch);
  return status;
}
