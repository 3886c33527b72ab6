// SPDX-License-Identifier: Apache-2.0
// Checks that a kernel's choices are a legal combination: by the row of its kind in kernel_kind.c,
// and by rules for segments, loops and chunks.
#include "codegen/loops/kernel_impl.h"

static hlo_status_t check_kernel_rule(const hlo_kernel_t* kernel, bool holds, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_status_create(HLO_STATUS_INTERNAL, "kernel of fusion %u, of kind %s: broken rule: %s",
                           kernel->fusion->index, hlo_kernel_kinds[kernel->kind].name, rule);
}

/// A condition that must hold, and its description.
typedef struct rule {
  bool holds;
  const char* text;
} rule_t;

static hlo_status_t check_rules(const hlo_kernel_t* kernel, size_t count, const rule_t* rules) {
  for (size_t i = 0; i < count; ++i) {
    HLO_TRY(check_kernel_rule(kernel, rules[i].holds, rules[i].text));
  }
  return hlo_ok();
}

// ---- segments -----------------------------------------------------------------------------------

static bool is_segment_inside(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment) {
  for (uint32_t i = 0; i < kernel->spaces[0].loop_count; ++i) {
    const int64_t* range = (*segment)[i];
    if (range[0] < 0 || range[0] >= range[1] || range[1] > kernel->spaces[0].extents[i]) {
      return false;
    }
  }
  return true;
}

static bool are_segments_disjoint(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* a,
                                  const hlo_kernel_segment_t* b) {
  for (uint32_t i = 0; i < kernel->spaces[0].loop_count; ++i) {
    if ((*a)[i][1] <= (*b)[i][0] || (*b)[i][1] <= (*a)[i][0]) return true;
  }
  return false;
}

static hlo_status_t verify_segments(const hlo_kernel_t* kernel) {
  double points = 0;
  HLO_TRY(check_kernel_rule(
      kernel, 0 < kernel->segment_count && kernel->segment_count <= HLO_KERNEL_MAX_SEGMENTS,
      "a kernel has at least one segment, and at most HLO_KERNEL_MAX_SEGMENTS"));
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    HLO_TRY(check_kernel_rule(kernel, is_segment_inside(kernel, &kernel->segments[i]),
                              "a segment is a nonempty part of the output"));
    for (uint32_t k = 0; k < i; ++k) {
      HLO_TRY(check_kernel_rule(
          kernel, are_segments_disjoint(kernel, &kernel->segments[i], &kernel->segments[k]),
          "segments have no element in common"));
    }
    points += hlo_segment_points(kernel, &kernel->segments[i]);
  }
  return check_kernel_rule(kernel, points == (double)kernel->spaces[0].element_count,
                           "every element of the output is in a segment");
}

// ---- loops --------------------------------------------------------------------------------------

static hlo_status_t verify_kernel_loops(const hlo_kernel_t* kernel) {
  const hlo_tiled_space_t* space = &kernel->spaces[0];
  uint64_t seen = 0;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    const uint32_t loop = kernel->loops[i];
    HLO_TRY(check_kernel_rule(kernel, loop < space->loop_count, "loops are loops of the output"));
    HLO_TRY(check_kernel_rule(kernel, !(seen >> loop & 1), "a loop runs once"));
    seen |= (uint64_t)1 << loop;
  }
  for (uint32_t i = 0; i < space->loop_count && !hlo_kernel_has(kernel, HLO_KERNEL_WHOLE); ++i) {
    const bool is_interleaved =
        kernel->kind == HLO_KERNEL_INTERLEAVED && i == kernel->interleaved_loop;
    HLO_TRY(check_kernel_rule(kernel, space->extents[i] <= 1 || seen >> i & 1 || is_interleaved,
                              "every loop with more than one value runs"));
    HLO_TRY(check_kernel_rule(kernel, !is_interleaved || !(seen >> i & 1),
                              "the interleaved values have no loop"));
  }
  return hlo_ok();
}

static hlo_status_t verify_kind(const hlo_kernel_t* kernel) {
  const hlo_kernel_kind_info_t* info = &hlo_kernel_kinds[kernel->kind];
  const bool is_whole = kernel->chunk_count <= 1 && kernel->cut == HLO_KERNEL_CUT_LOOP;
  const bool has_levels =
      info->properties & HLO_KERNEL_SEGMENTS && !(info->properties & HLO_KERNEL_JOINS_SEGMENTS);
  const rule_t rules[] = {
      {info->inner_loops <= kernel->loop_count && kernel->loop_count <= info->most_loops,
       "a kernel has the loops of its kind"},
      {!kernel->is_streamed || info->properties & HLO_KERNEL_STREAMS,
       "stores past the caches are of kinds that stream"},
      {kernel->segment_count == 1 || info->properties & HLO_KERNEL_SEGMENTS,
       "several segments are of kinds that have them"},
      {kernel->common_levels == 0 || has_levels, "levels are shared by segments with own loops"},
      {kernel->fusion->extra_output_count == 0 || info->properties & HLO_KERNEL_EXTRA_OUTPUTS,
       "extra outputs are of kinds that have them"},
      {is_whole || info->cuts >> kernel->cut & 1, "chunks split what the kind allows"},
      {kernel->common_levels <= kernel->loop_count, "the levels shared by segments are loops"},
      {kernel->lanes > 0 && kernel->lanes <= HLO_VIR_MAX_LANES, "lanes fit a vector"},
      {!info->fits || info->fits(kernel), "vectors that belong together fit registers"},
  };
  return check_rules(kernel, sizeof rules / sizeof *rules, rules);
}

// ---- chunks -------------------------------------------------------------------------------------

static hlo_status_t verify_chunks(const hlo_kernel_t* kernel) {
  const bool is_reduction = kernel->cut == HLO_KERNEL_CUT_REDUCTION;
  const bool is_two_loops = kernel->cut == HLO_KERNEL_CUT_TWO_LOOPS;
  const bool is_loop = !is_reduction && !is_two_loops && kernel->chunk_count > 1;
  const uint32_t space = kernel->split.space, partial_count = kernel->split.partial_count;
  const int64_t size = kernel->chunk_size, outer = kernel->spaces[0].extents[kernel->loops[0]];
  const rule_t rules[] = {
      {!is_reduction || kernel->chunk_count >= 2, "a split reduction has at least two chunks"},
      {!is_reduction || (0 < space && space < kernel->space_count &&
                         kernel->split.loop < kernel->spaces[space].loop_count),
       "a split reduction is a reduction of the kernel, split in one of its loops"},
      {!is_reduction || (0 < partial_count && partial_count <= HLO_KERNEL_MAX_PARTIALS),
       "a chunk has 1 to HLO_KERNEL_MAX_PARTIALS accumulators"},
      {!is_reduction || kernel->loop_count == (uint32_t)hlo_kernel_has_lanes(kernel),
       "a split reduction gives one element, or a row of columns"},
      {!is_two_loops || kernel->loop_count >= 2, "chunks of two loops have two loops"},
      {!is_two_loops || kernel->chunk_count == (uint64_t)outer * kernel->parts_per_outer,
       "each value of the first loop has parts_per_outer chunks"},
      {!is_loop || (kernel->loop_count >= 1 && size > 0 &&
                    kernel->chunk_count == (uint64_t)hlo_divide_up(outer, size)),
       "chunks are parts of a loop, and cover it"},
  };
  return check_rules(kernel, sizeof rules / sizeof *rules, rules);
}

hlo_status_t hlo_kernel_verify(const hlo_kernel_t* kernel) {
  HLO_TRY(verify_segments(kernel));
  const hlo_kernel_form_t* form = hlo_kernel_form_of(kernel);
  if (!form) HLO_TRY(verify_kernel_loops(kernel));
  HLO_TRY(verify_kind(kernel));
  if (form) return form->verify(kernel);
  HLO_TRY(verify_chunks(kernel));
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < kernel->segment_count && hlo_status_is_ok(status); ++i) {
    hlo_tiling_t* tiling;
    status = hlo_kernel_walk(kernel, &scratch, &kernel->segments[i], &tiling);
    if (hlo_status_is_ok(status)) status = hlo_tiling_verify(tiling);
  }
  hlo_arena_deinit(&scratch);
  return status;
}
