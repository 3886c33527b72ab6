// SPDX-License-Identifier: Apache-2.0
// The stages of compilation as lists of passes (see pipeline.h).
//
//   module of a frontend
//     │ import    drop_shardy                       (one partition) no sdy ops
//     │           lower_composite, refine_shapes    (dynamic shapes) static shapes
//     │           lower_layouts                     (buffers of any layout) all row-major
//     ▼
//     │ optimise  lower_dot_algorithms  products of the types that algorithms name
//     │           fold                  constants computed
//     │           canonicalize          simpler ops, the same bits
//     │           cse, dce              equal ops merged, unused ones removed
//     ▼
//   module of an executable ──> interpreter
//     │           one function
//     │ native    lower_composite .. unroll         no calls, no short loops, no algorithms of products
//     │           loop_scatter .. slice_reduces     scatters and reductions become ops with fused loops
//     │           split_complex                     complex values become pairs of reals
//     │           split_groups .. transpose_windows convolutions and windows in shapes with fast loops
//     │           fold .. dce                       optimised again, invariants moved out of loops
//     ▼
//   prepared module ──> fusions (src/codegen)
//
// Import and optimise are linear in the size of the module; calls are kept, so a program does not
// grow.
#include "passes/pipeline.h"

#include <string.h>

#include "passes/static_form.h"

static const hlo_stage_info_t kStages[] = {
    [HLO_STAGE_IMPORT] = {"import", "drop_shardy", "lower_composite,refine_shapes", "lower_layouts",
                          "Removes shardings over one partition and gives static shapes where they are "
                          "known."},
    [HLO_STAGE_OPTIMISE] = {"optimise", "lower_dot_algorithms,fold,canonicalize,cse,dce", "", "",
                            "Makes fewer and simpler ops, for every back end."},
    // The size limit of inlining stops chains of doubling calls.
    [HLO_STAGE_NATIVE] = {"native",
                          "lower_composite,lower_dot_algorithms,widen_products,inline=400000,unroll,lift_maps,lift_windows,drop_empty,"
                          "loop_scatter,single_scatter,short_reduce,slice_reduces,"
                          "split_complex,"
                          "split_groups,select_windows,spread_windows,slice_windows,transpose_windows,lower_codes,"
                          "fold,dce,canonicalize,hoist_invariants,cse,dce",
                          "", "",
                          "Makes one function, of ops that fusions compute where possible."},
};

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

static void print_list(const char* passes, hlo_strbuf_t* out) {
  for (const char* p = passes; *p; ++p) {
    if (*p == ',') {
      hlo_strbuf_puts(out, ", ");
    } else {
      hlo_strbuf_putc(out, *p);
    }
  }
}

void hlo_stages_markdown(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out,
                  "\n## Pipelines\n\nA compilation runs these lists in this order; `hlocc opt "
                  "--pipeline=NAME` runs one.\n\n| pipeline | passes | for dynamic shapes also | "
                  "for layouts also | purpose |\n|---|---|---|---|---|\n");
  for (int i = 0; i < HLO_STAGE_COUNT; ++i) {
    hlo_strbuf_printf(out, "| `%s` | ", kStages[i].name);
    print_list(kStages[i].passes, out);
    hlo_strbuf_puts(out, " | ");
    print_list(kStages[i].dynamic_passes, out);
    hlo_strbuf_puts(out, " | ");
    print_list(kStages[i].layout_passes, out);
    hlo_strbuf_printf(out, " | %s |\n", kStages[i].purpose);
  }
}

static void add_list(hlo_strbuf_t* list, const char* passes) {
  if (*passes && list->length) hlo_strbuf_putc(list, ',');
  hlo_strbuf_puts(list, passes);
}

hlo_status_t hlo_stages_run(hlo_module_t* module, hlo_stage_t first, hlo_stage_t last,
                            const hlo_stage_options_t* options) {
  if (first == HLO_STAGE_IMPORT && options->partition_count > 1) {
    return hlo_unimplemented("partitioning a program over %d devices is not supported yet",
                             options->partition_count);
  }
  HLO_SCOPED_STRBUF list = {0};
  for (hlo_stage_t stage = first; stage <= last; ++stage) {
    add_list(&list, kStages[stage].passes);
    const bool has_more = *kStages[stage].dynamic_passes && !options->keeps_dynamic_shapes;
    if (has_more && hlo_module_has_dynamic_shapes(module)) {
      add_list(&list, kStages[stage].dynamic_passes);
    }
    if (options->has_layouts) add_list(&list, kStages[stage].layout_passes);
  }
  HLO_TRY(hlo_strbuf_status(&list));
  return hlo_passes_run(module, hlo_strbuf_text(&list), &options->passes);
}
