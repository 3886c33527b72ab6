// SPDX-License-Identifier: Apache-2.0
// The pass pipelines of the product: three stages between a frontend and machine code.
#pragma once

#include "passes/runner.h"

typedef enum hlo_stage {
  HLO_STAGE_IMPORT,    // to static shapes, in one dialect
  HLO_STAGE_OPTIMISE,  // for any back end
  HLO_STAGE_NATIVE,    // to the ops that loops support
  HLO_STAGE_COUNT,
} hlo_stage_t;

/// A stage, its passes, and its purpose in one sentence.
typedef struct hlo_stage_info {
  const char* name;
  hlo_pass_list_t passes;
  hlo_pass_list_t dynamic_passes;  // follow if a module has dynamic shapes
  hlo_pass_list_t layout_passes;   // follow if arguments and results may have any layout
  const char* purpose;
} hlo_stage_info_t;

const hlo_stage_info_t* hlo_stage_info(hlo_stage_t stage);
/// errors : INVALID_ARGUMENT (unknown; the message lists the stages)
hlo_status_t hlo_stage_from_name(const char* name, hlo_stage_t* out_stage) HLO_MUST_USE;
/// Writes the stages as a section of a Markdown page.
void hlo_stages_markdown(hlo_strbuf_t* out);

/// The attribute of a module that is written per device already: import does not partition it.
#define HLO_PARTITIONED_ATTR "hlocc.partitioned"

/// Zero-initialised except for partition_count: the passes of any program.
typedef struct hlo_stage_options {
  int32_t partition_count;    // import: 1: drops Shardy ops, which then mean nothing
  hlo_pass_list_t partition;  // import: makes a program for several partitions that of one of them
  bool keeps_dynamic_shapes;  // import: for a back end that runs programs of dynamic shapes
  bool has_layouts;           // import: arguments and results have the layouts of mhlo.layout_mode
  hlo_pass_options_t passes;
} hlo_stage_options_t;

/// Runs the stages `first` to `last` over a verified module, which remains verified.
/// errors : UNIMPLEMENTED (no back end can run the module; the message says why), those of
/// hlo_passes_run()
hlo_status_t hlo_stages_run(hlo_module_t* module, hlo_stage_t first, hlo_stage_t last,
                            const hlo_stage_options_t* options) HLO_MUST_USE;
