// SPDX-License-Identifier: Apache-2.0
// Reads the processor's own description for cpu.h. A file of its own, so that tests can substitute
// an emulated processor.
#pragma once

#include "base/cpu.h"

/// Returns a bit for each hlo_cpu_feature_t that processor and system support. Requests tile
/// registers from the system.
uint64_t hlo_cpu_read_features(void);
/// Reads the brand, "" if unknown; room as in hlo_cpu_t.
void hlo_cpu_read_brand(char* brand);
