// SPDX-License-Identifier: Apache-2.0
// A back end for tests: the memory of processors, which the host cannot access, with copies and
// launches that end late, in random order, or with an error.
#pragma once

#include "base/trace.h"
#include "runtime/device_ops.h"

typedef struct hlo_device_slow_options {
  uint64_t seed;
  uint32_t delay;               // the longest, in turns of the pool's queue
  uint32_t faults_per_million;  // allocations, copies and first entries that fail
} hlo_device_slow_options_t;

/// `pool` runs the operations; `trace` may be NULL. Both outlive the back end.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_device_slow_create(const hlo_device_slow_options_t* options, hlo_pool_t* pool,
                                    hlo_trace_t* trace,
                                    hlo_device_backend_t** out_backend) HLO_MUST_USE;

/// The n-th (1-based) operation from now on fails, and only that one; 0: none. For this back end
/// only. threads: safe
void hlo_device_slow_fail_nth(hlo_device_backend_t* backend, uint64_t n);
/// Returns true if that failure has occurred.
bool hlo_device_slow_failed(hlo_device_backend_t* backend);
