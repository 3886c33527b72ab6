// SPDX-License-Identifier: Apache-2.0
// The legal combinations of a kernel's choices (see kernel_form.h).
//
//   kind         loops      lanes run along   chunks split              excludes
//   POINTS       any        -                 loop, two loops,          streamed stores, sweep
//                                             reduction (no loops)
//   LANES        1 or more  the last loop     loop, two loops,          -
//                                             reduction (a sweep of one loop)
//   TRANSPOSE    2 or more  the last two      loop, two loops           sweep, extra outputs
//   INTERLEAVED  1 or more  the last loop     loop, two loops           streamed stores, sweep,
//                                                                       levels shared by segments
//   VECTOR       1          the whole output  -                         streamed stores, sweep,
//                                                                       extra outputs, several
//                                                                       segments
//   form         its own    its own           by itself                 all of the above
#include "codegen/loops/kernel_impl.h"

static hlo_status_t check_kernel_rule(const hlo_kernel_t* kernel, bool holds, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_status_create(HLO_STATUS_INTERNAL, "kernel of fusion %u: broken rule: %s",
                           kernel->fusion->index, rule);
}

// ---- segments -----------------------------------------------------------------------------------

static double segment_volume(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment) {
  double product = 1;
  for (uint32_t i = 0; i < kernel->spaces[0].loop_count; ++i) {
    product *= (double)((*segment)[i][1] - (*segment)[i][0]);
  }
  return product;
}

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
    points += segment_volume(kernel, &kernel->segments[i]);
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
  for (uint32_t i = 0; i < space->loop_count && kernel->kind != HLO_KERNEL_VECTOR; ++i) {
    const bool is_interleaved =
        kernel->kind == HLO_KERNEL_INTERLEAVED && i == kernel->interleaved_loop;
    HLO_TRY(check_kernel_rule(kernel, space->extents[i] <= 1 || seen >> i & 1 || is_interleaved,
                              "every loop with more than one value runs"));
    HLO_TRY(check_kernel_rule(kernel, !is_interleaved || !(seen >> i & 1),
                              "the interleaved values have no loop"));
  }
  HLO_TRY(check_kernel_rule(kernel, kernel->common_levels <= kernel->loop_count,
                            "the levels shared by segments are loops"));
  return check_kernel_rule(kernel, kernel->lanes > 0 && kernel->lanes <= HLO_VIR_MAX_LANES,
                           "lanes fit a vector");
}

static hlo_status_t verify_kind(const hlo_kernel_t* kernel) {
  const bool is_plain = !kernel->is_streamed && !kernel->is_sweep;
  switch (kernel->kind) {
    case HLO_KERNEL_POINTS:
      return check_kernel_rule(kernel, is_plain, "POINTS has neither streamed stores nor a sweep");
    case HLO_KERNEL_LANES:
      HLO_TRY(check_kernel_rule(kernel, kernel->loop_count >= 1, "LANES has a loop for its lanes"));
      return check_kernel_rule(kernel, !(kernel->is_streamed && kernel->is_sweep),
                               "a sweep has no streamed stores: accumulators stay in the caches");
    case HLO_KERNEL_TRANSPOSE:
      HLO_TRY(check_kernel_rule(kernel, kernel->loop_count >= 2,
                                "TRANSPOSE has two loops for its tiles"));
      HLO_TRY(
          check_kernel_rule(kernel, kernel->lanes <= HLO_KERNEL_MAX_EDGE, "a tile fits registers"));
      return check_kernel_rule(kernel, !kernel->is_sweep && kernel->fusion->extra_output_count == 0,
                               "TRANSPOSE has neither a sweep nor extra outputs");
    case HLO_KERNEL_INTERLEAVED:
      HLO_TRY(check_kernel_rule(kernel, kernel->loop_count >= 1,
                                "INTERLEAVED has a loop for its lanes"));
      HLO_TRY(check_kernel_rule(
          kernel,
          kernel->fusion->output_count <= HLO_KERNEL_MAX_INTERLEAVED_OUTPUTS &&
              kernel->spaces[0].extents[kernel->interleaved_loop] <= HLO_KERNEL_MAX_INTERLEAVED,
          "interleaved vectors fit registers"));
      return check_kernel_rule(
          kernel, is_plain && kernel->common_levels == 0,
          "INTERLEAVED has neither streamed stores nor a sweep nor shared levels");
    case HLO_KERNEL_VECTOR:
      HLO_TRY(check_kernel_rule(kernel, kernel->loop_count == 1 && kernel->segment_count == 1,
                                "VECTOR has one loop and one segment"));
      HLO_TRY(check_kernel_rule(kernel, kernel->spaces[0].element_count <= (int64_t)kernel->lanes,
                                "VECTOR's output fits one vector"));
      return check_kernel_rule(
          kernel, is_plain && kernel->fusion->extra_output_count == 0 && kernel->chunk_count <= 1,
          "VECTOR has no streamed stores, sweep, extra outputs or chunks");
  }
  return check_kernel_rule(kernel, false, "a kernel is of a known kind");
}

// ---- chunks -------------------------------------------------------------------------------------

static hlo_status_t verify_cut_reduction(const hlo_kernel_t* kernel) {
  HLO_TRY(check_kernel_rule(kernel, kernel->chunk_count >= 2,
                            "a split reduction has at least two chunks"));
  HLO_TRY(check_kernel_rule(kernel,
                            0 < kernel->split_space && kernel->split_space < kernel->space_count,
                            "a split reduction is a reduction of the kernel"));
  HLO_TRY(check_kernel_rule(kernel,
                            kernel->split_loop < kernel->spaces[kernel->split_space].loop_count,
                            "a split reduction is split in one of its loops"));
  HLO_TRY(check_kernel_rule(
      kernel, 0 < kernel->partial_count && kernel->partial_count <= HLO_KERNEL_MAX_PARTIALS,
      "a chunk has 1 to HLO_KERNEL_MAX_PARTIALS accumulators"));
  if (!kernel->is_sweep) {
    return check_kernel_rule(kernel, kernel->loop_count == 0,
                             "a split reduction gives one element");
  }
  return check_kernel_rule(
      kernel,
      kernel->kind == HLO_KERNEL_LANES && kernel->loop_count == 1 && kernel->segment_count == 1,
      "a split sweep has one loop of lanes and one segment");
}

static hlo_status_t verify_chunks(const hlo_kernel_t* kernel) {
  const int64_t* extents = kernel->spaces[0].extents;
  if (kernel->cut == HLO_KERNEL_CUT_REDUCTION) return verify_cut_reduction(kernel);
  if (kernel->cut == HLO_KERNEL_CUT_TWO_LOOPS) {
    HLO_TRY(
        check_kernel_rule(kernel, kernel->loop_count >= 2, "chunks of two loops have two loops"));
    return check_kernel_rule(
        kernel,
        kernel->chunk_count == (uint64_t)extents[kernel->loops[0]] * kernel->parts_per_outer,
        "each value of the first loop has parts_per_outer chunks");
  }
  if (kernel->chunk_count <= 1) return hlo_ok();
  HLO_TRY(check_kernel_rule(kernel, kernel->loop_count >= 1 && kernel->chunk_size > 0,
                            "chunks are parts of a loop"));
  const int64_t extent = extents[kernel->loops[0]], size = kernel->chunk_size;
  return check_kernel_rule(kernel, kernel->chunk_count == (uint64_t)((extent + size - 1) / size),
                           "chunks cover the loop");
}

hlo_status_t hlo_kernel_verify(const hlo_kernel_t* kernel) {
  if (kernel->form) {
    HLO_TRY(check_kernel_rule(kernel,
                              kernel->kind == HLO_KERNEL_POINTS && kernel->loop_count == 0 &&
                                  kernel->cut == HLO_KERNEL_CUT_LOOP && !kernel->is_sweep,
                              "a kernel with a form has no loops of its own"));
    HLO_TRY(check_kernel_rule(kernel, kernel->fusion->extra_output_count == 0,
                              "a kernel with a form has no extra outputs"));
    HLO_TRY(kernel->form->verify(kernel));
    return verify_segments(kernel);
  }
  HLO_TRY(verify_segments(kernel));
  HLO_TRY(verify_kernel_loops(kernel));
  HLO_TRY(verify_kind(kernel));
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
