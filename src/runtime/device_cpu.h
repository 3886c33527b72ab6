// SPDX-License-Identifier: Apache-2.0
// The back end of processors, and its operations for back ends whose memory is host memory as well.
#pragma once

#include "base/trace.h"
#include "runtime/device_ops.h"

/// Device memory is memory of the client's heaps; large copies run on `pool`; launches are recorded
/// in `trace` (may be NULL). Both outlive the back end.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_device_cpu_create(hlo_pool_t* pool, hlo_trace_t* trace,
                                   hlo_device_backend_t** out_backend) HLO_MUST_USE;

/// The operations, on the calling thread.
hlo_status_t hlo_device_cpu_allocate(const struct hlo_memory* memory, size_t size_bytes,
                                     hlo_device_block_t* out_block) HLO_MUST_USE;
void hlo_device_cpu_free(const struct hlo_memory* memory, hlo_device_block_t block);
void hlo_device_cpu_copy(const hlo_device_copy_t* copy);
void hlo_device_cpu_launch(hlo_device_launch_t* launch, hlo_trace_t* trace);
