// SPDX-License-Identifier: Apache-2.0
// The functions of the PhaseCompile extension that return no error.
#pragma once

#include "hlocc/pjrt_extensions.h"

void hlo_pjrt_PhaseCompile_Destroy_Compiler(PJRT_PhaseCompile_Destroy_Compiler_Args* args);
void hlo_pjrt_PhaseCompile_C_Buffers_Destroy(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args);
