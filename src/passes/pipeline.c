// SPDX-License-Identifier: Apache-2.0
// The default pipeline (see pipeline.h).
//
//   module --drop_shardy (one partition)--> module without sdy ops
//          --lower_composite, refine_shapes (if there are dynamic shapes)--> static shapes
//          --fold--> constants computed  --canonicalize (same bits)--> simpler ops
//          --cse--> equal ops merged     --dce--> nothing unused     --> back end
//
// Each is linear in the module; calls stay calls, so that a program does not grow.
#include "passes/pipeline.h"

#include "passes/runner.h"
#include "passes/static_form.h"

hlo_status_t hlo_pipeline_default(hlo_module_t* module, const hlo_pipeline_options_t* options) {
  if (options->partition_count > 1) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED,
                             "partitioning a program over %d devices is not supported yet",
                             options->partition_count);
  }
  const char* passes = hlo_module_has_dynamic_shapes(module)
                           ? "drop_shardy,lower_composite,refine_shapes,fold,canonicalize,cse,dce"
                           : "drop_shardy,fold,canonicalize,cse,dce";
  return hlo_passes_run(
      module, passes,
      &(hlo_pass_options_t){
          .verify_each = options->verify_each, .dumper = options->dumper, .trace = options->trace});
}
