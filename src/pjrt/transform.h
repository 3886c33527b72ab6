// SPDX-License-Identifier: Apache-2.0
// The XlaTransform extension: functions of the application that rewrite optimised programs. All of
// them belong to the process.
#pragma once

#include "compiler/transforms.h"
#include "hlocc/pjrt_extensions.h"

/// The registered transformations, for compilations.
/// threads: safe
const hlo_transforms_t* hlo_pjrt_transforms(void);

/// There are no such traces, so nothing is destroyed.
void hlo_pjrt_destroy_pass_trace(PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Args* args);
