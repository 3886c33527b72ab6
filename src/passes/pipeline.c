// SPDX-License-Identifier: Apache-2.0
// The stages of compilation as lists of passes (see pipeline.h).
//
//   module of a frontend
//     │ import    lower_ragged_all_to_all           collectives are ops
//     │           lower_block_scaling               products with scales are ops
//     │           lower_mesh_groups                 groups of devices as lists
//     │           lower_shardy, drop_shardy         no sdy ops
//     │           lower_placement                   memory kinds only at the boundary
//     │           lower_composite, refine_shapes    (dynamic shapes) static shapes
//     │           lower_layouts                     (buffers of any layout) all row-major
//     ▼
//     │ optimise  apply_control_deps    ops in the order that was asked for
//     │           lower_dot_algorithms  products of the types that algorithms name
//     │           fold                  constants computed
//     │           canonicalize          simpler ops, the same bits
//     │           cse, dce              equal ops merged, unused ones removed
//     ▼
//   module of an executable ──> interpreter
//     │           one function
//     │ native    lower_composite .. unroll         no calls, no short loops, no algorithms of
//     products │           loop_scatter .. slice_reduces     scatters and reductions become ops
//     with fused loops │           split_complex                     complex values become pairs of
//     reals │           split_groups .. transpose_windows convolutions and windows in shapes with
//     fast loops │           fold .. dce                       optimised again, invariants moved
//     out of loops; outline_attention: products with a softmax between them become fusions ▼
//   prepared module ──> fusions (src/codegen)
//
// Import and optimise are linear in the size of the module; calls are kept, so a program does not
// grow.
#include "passes/pipeline.h"

#include <assert.h>
#include <string.h>

#include "passes/passes.h"
#include "passes/static_form.h"

#define PASS(id) &hlo_pass_table[HLO_PASS_ID_##id]

static const hlo_pass_step_t kImport[] = {
    {PASS(lower_ragged_all_to_all), NULL},
    {PASS(lower_block_scaling), NULL},
    {PASS(lower_mesh_groups), NULL},
    {PASS(lower_shardy), NULL},
    {PASS(drop_shardy), NULL},
    {PASS(lower_placement), NULL},
};
// The partitioner sees one function, without ops whose meaning is another function.
static const hlo_pass_step_t kImportPartitioned[] = {
    {PASS(import_gspmd), NULL},
    {PASS(lower_ragged_all_to_all), NULL},
    {PASS(lower_block_scaling), NULL},
    {PASS(lower_mesh_groups), NULL},
    {PASS(lower_shardy), NULL},
    {PASS(lower_placement), NULL},
    {PASS(lower_composite), NULL},
    {PASS(inline), "400000"},
    {PASS(dce), NULL},
};
static const hlo_pass_step_t kImportDynamic[] = {
    {PASS(lower_composite), NULL},
    {PASS(refine_shapes), NULL},
};
static const hlo_pass_step_t kImportLayouts[] = {
    {PASS(lower_layouts), NULL},
};
static const hlo_pass_step_t kOptimise[] = {
    {PASS(apply_control_deps), NULL},
    {PASS(lower_dot_algorithms), NULL},
    {PASS(fold), NULL},
    {PASS(canonicalize), NULL},
    {PASS(cse), NULL},
    {PASS(dce), NULL},
};
// The size limit of inlining stops chains of doubling calls.
static const hlo_pass_step_t kNative[] = {
    {PASS(lower_composite), NULL},
    {PASS(lower_scaled_dots), NULL},
    {PASS(lower_dot_algorithms), NULL},
    {PASS(factor_zero_points), NULL},
    {PASS(widen_products), NULL},
    {PASS(inline), "400000"},
    {PASS(unroll), NULL},
    {PASS(lift_maps), NULL},
    {PASS(lift_windows), NULL},
    {PASS(drop_empty), NULL},
    {PASS(slice_gathers), NULL},
    {PASS(loop_scatter), NULL},
    {PASS(single_scatter), NULL},
    {PASS(short_reduce), NULL},
    {PASS(slice_reduces), NULL},
    {PASS(split_complex), NULL},
    {PASS(split_groups), NULL},
    {PASS(select_windows), NULL},
    {PASS(spread_windows), NULL},
    {PASS(slice_windows), NULL},
    {PASS(transpose_windows), NULL},
    {PASS(transpose_products), NULL},
    {PASS(lower_codes), NULL},
    {PASS(fold), NULL},
    {PASS(dce), NULL},
    {PASS(canonicalize), NULL},
    {PASS(nest_loops), NULL},
    {PASS(batch_loops), NULL},
    {PASS(hoist_invariants), NULL},
    {PASS(cse), NULL},
    {PASS(dce), NULL},
    {PASS(outline_attention), NULL},
    {PASS(dce), NULL},
};

// The longest list of all stages.
enum { MAX_STEPS = 72 };

#define LIST(steps) \
  { steps, sizeof steps / sizeof steps[0] }

static const hlo_stage_info_t kStages[] = {
    [HLO_STAGE_IMPORT] =
        {"import", LIST(kImport), LIST(kImportDynamic), LIST(kImportLayouts),
         "Lists groups of devices, removes shardings over one partition and placements "
         "inside of programs, and gives static shapes where they are known."},
    [HLO_STAGE_OPTIMISE] =
        {"optimise", LIST(kOptimise), {0}, {0}, "Makes fewer and simpler ops, for every back end."},
    [HLO_STAGE_NATIVE] = {"native",
                          LIST(kNative),
                          {0},
                          {0},
                          "Makes one function, of ops that fusions compute where possible."},
};

static_assert(sizeof kImportPartitioned + 16 * sizeof(hlo_pass_step_t) + sizeof kImportDynamic +
                      sizeof kImportLayouts + sizeof kOptimise + sizeof kNative <=
                  MAX_STEPS * sizeof(hlo_pass_step_t),
              "room for all stages");

const hlo_stage_info_t* hlo_stage_info(hlo_stage_t stage) {
  return &kStages[stage];
}

hlo_status_t hlo_stage_from_name(const char* name, hlo_stage_t* out_stage) {
  for (int i = 0; i < HLO_STAGE_COUNT; ++i) {
    if (strcmp(kStages[i].name, name) != 0) continue;
    *out_stage = (hlo_stage_t)i;
    return hlo_ok();
  }
  return hlo_invalid_argument("no pipeline is called '%s'; there are import, optimise and native",
                              name);
}

void hlo_stages_markdown(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out,
                  "\n## Pipelines\n\nA compilation runs these lists in this order; `hlocc opt "
                  "--pipeline=NAME` runs one.\n\n| pipeline | passes | for dynamic shapes also | "
                  "for layouts also | purpose |\n|---|---|---|---|---|\n");
  for (int i = 0; i < HLO_STAGE_COUNT; ++i) {
    hlo_strbuf_printf(out, "| `%s` | ", kStages[i].name);
    hlo_pass_list_print(kStages[i].passes, ", ", out);
    hlo_strbuf_puts(out, " | ");
    hlo_pass_list_print(kStages[i].dynamic_passes, ", ", out);
    hlo_strbuf_puts(out, " | ");
    hlo_pass_list_print(kStages[i].layout_passes, ", ", out);
    hlo_strbuf_printf(out, " | %s |\n", kStages[i].purpose);
  }
}

static void add_list(hlo_pass_step_t* steps, uint32_t* count, hlo_pass_list_t list) {
  for (uint32_t i = 0; i < list.count; ++i) steps[(*count)++] = list.steps[i];
}

hlo_status_t hlo_stages_run(hlo_module_t* module, hlo_stage_t first, hlo_stage_t last,
                            const hlo_stage_options_t* options) {
  hlo_pass_step_t steps[MAX_STEPS];
  uint32_t count = 0;
  const bool is_whole =
      options->partition_count > 1 && !hlo_attr_dict_get(module->extra, HLO_PARTITIONED_ATTR);
  for (hlo_stage_t stage = first; stage <= last; ++stage) {
    const hlo_stage_info_t* info = &kStages[stage];
    const bool is_partitioned = stage == HLO_STAGE_IMPORT && is_whole;
    add_list(steps, &count,
             is_partitioned ? (hlo_pass_list_t)LIST(kImportPartitioned) : info->passes);
    const bool has_more = info->dynamic_passes.count && !options->keeps_dynamic_shapes;
    if (has_more && hlo_module_has_dynamic_shapes(module)) {
      add_list(steps, &count, info->dynamic_passes);
    }
    if (is_partitioned) add_list(steps, &count, options->partition);
    if (options->has_layouts) add_list(steps, &count, info->layout_passes);
  }
  return hlo_pass_list_run(module, (hlo_pass_list_t){steps, count}, &options->passes);
}
