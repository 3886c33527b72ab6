// SPDX-License-Identifier: Apache-2.0
// The parts of hlocc-dev tune.
#ifndef HLO_DEV_TUNE_H_
#define HLO_DEV_TUNE_H_

#include "compiler/compiler.h"
#include "dev/dev.h"

/// Measures the shortest time of a run of a program on arguments of zeros, in CPU time of its only
/// thread. Runs it at least once, and until all runs together take least_ns.
hlo_status_t hlo_tune_time(const hlo_executable_t* executable, uint64_t least_ns,
                           double* out_ns) HLO_MUST_USE;

/// Runs hlocc-dev tune --tiles.
hlo_status_t hlo_tune_tiles(hlo_dev_t* dev, const hlo_target_t* target,
                            hlo_strbuf_t* out) HLO_MUST_USE;

#endif  // HLO_DEV_TUNE_H_
