// SPDX-License-Identifier: Apache-2.0
// The default pipeline (see pipeline.h).
//
//   module --drop_shardy (one partition)--> module without sdy ops --> back end
#include "passes/pipeline.h"

#include "ir/infer.h"
#include "passes/passes.h"

static hlo_status_t verify_after(hlo_module_t* module, const char* pass) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, NULL, NULL, 0);
  hlo_status_t status = hlo_module_verify(module, &diag);
  hlo_diag_deinit(&diag);
  return hlo_status_annotate(status, "after pass %s", pass);
}

hlo_status_t hlo_pipeline_default(hlo_module_t* module, const hlo_pipeline_options_t* options) {
  if (options->partition_count > 1) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED,
                             "partitioning a program over %d devices is not supported yet",
                             options->partition_count);
  }
  bool changed = false;
  HLO_TRY(hlo_pass_drop_shardy(module, &changed));
  if (changed && options->verify_each) HLO_TRY(verify_after(module, "drop-shardy"));
  return hlo_module_status(module);
}
