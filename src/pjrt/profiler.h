// SPDX-License-Identifier: Apache-2.0
// The functions of the profiler extension.
#pragma once

#include "hlocc/pjrt_extensions.h"

extern const PLUGIN_Profiler_Api hlo_pjrt_profiler_api;
