// SPDX-License-Identifier: Apache-2.0
// The default order of passes between reading a program and handing it to a back end.
#ifndef HLO_PASSES_PIPELINE_H_
#define HLO_PASSES_PIPELINE_H_

#include "ir/dump.h"
#include "ir/module.h"

typedef struct hlo_pipeline_options {
  int32_t partition_count;  // 1: Shardy ops are dropped as meaningless
  bool verify_each;         // verify after every pass
  hlo_dumper_t* dumper;     // as in hlo_pass_options_t
  hlo_trace_t* trace;
} hlo_pipeline_options_t;

/// Runs the passes over a verified module, which stays verified.
/// errors: UNIMPLEMENTED (what no back end can run, named with its place), RESOURCE_EXHAUSTED
hlo_status_t hlo_pipeline_default(hlo_module_t* module,
                                  const hlo_pipeline_options_t* options) HLO_MUST_USE;

#endif  // HLO_PASSES_PIPELINE_H_
