// SPDX-License-Identifier: Apache-2.0
// NVIDIA's assembler as a process: what it accepts, what it says, and the resources of kernels.
#pragma once

#include <stdatomic.h>

#include "base/strbuf.h"
#include "codegen/ptx/sm.h"

enum { HLO_PTX_ASSEMBLER_PATH_BYTES = 1024, HLO_PTX_REPORT_KERNELS = 64 };

/// An assembler. threads: safe
typedef struct hlo_ptx_assembler {
  char path[HLO_PTX_ASSEMBLER_PATH_BYTES];
  atomic_uint version;        // the newest PTX version that it accepts; 0: not asked yet
  atomic_uint process_count;  // that were started
} hlo_ptx_assembler_t;

/// The resources of one kernel.
typedef struct hlo_ptx_resources {
  char name[96];
  uint32_t registers, barriers;
  uint32_t spill_store_bytes, spill_load_bytes, stack_bytes, shared_bytes;
} hlo_ptx_resources_t;

typedef struct hlo_ptx_report {
  uint32_t kernel_count;
  hlo_ptx_resources_t kernels[HLO_PTX_REPORT_KERNELS];
} hlo_ptx_report_t;

/// Finds the assembler: `wanted` if it is not NULL or "", else ptxas in PATH, else where CUDA
/// toolkits are installed. errors: NOT_FOUND listing the places
hlo_status_t hlo_ptx_assembler_find(const char* wanted,
                                    hlo_ptx_assembler_t* out_assembler) HLO_MUST_USE;

/// Returns the newest PTX version that it accepts, as 10 * major + minor. The first call asks it by
/// a version that no assembler knows; others return what it said. errors: INTERNAL with the answer
hlo_status_t hlo_ptx_assembler_version(hlo_ptx_assembler_t* assembler,
                                       uint32_t* out_version) HLO_MUST_USE;

/// Assembles text for a target. out_report, log: what the kernels take and all that was said;
/// either may be NULL. On failure the text is kept in a file that the message names. errors : those
/// of hlo_ptx_read_log(), RESOURCE_EXHAUSTED, NOT_FOUND
hlo_status_t hlo_ptx_assemble(hlo_ptx_assembler_t* assembler, const hlo_ptx_target_t* target,
                              const hlo_strbuf_t* text, hlo_ptx_report_t* out_report,
                              hlo_strbuf_t* log) HLO_MUST_USE;

/// Reads what the assembler said when it ended with `exit_code`.
/// errors : RESOURCE_EXHAUSTED: registers or a memory do not suffice; UNIMPLEMENTED: it knows
/// neither the target nor the version, or is too old for an instruction; FAILED_PRECONDITION: an
/// undefined symbol; INTERNAL: anything else. Each has its message.
hlo_status_t hlo_ptx_read_log(const char* log, int exit_code,
                              hlo_ptx_report_t* out_report) HLO_MUST_USE;
