// SPDX-License-Identifier: Apache-2.0
// What the processor says of itself, behind cpu.h. Of its own, so that tests can put a processor
// that they emulate in its place.
#ifndef HLO_BASE_CPU_IMPL_H_
#define HLO_BASE_CPU_IMPL_H_

#include "base/cpu.h"

/// A bit for each hlo_cpu_feature_t that the system supports too. Asks it for the use of tiles.
uint64_t hlo_cpu_read_features(void);
/// "" if the processor does not say; room as in hlo_cpu_t.
void hlo_cpu_read_brand(char* brand);

#endif  // HLO_BASE_CPU_IMPL_H_
