// SPDX-License-Identifier: Apache-2.0
// The passes over programs for several devices, as a set that lists of passes may name.
#pragma once

#include "passes/passes.h"

/// The rows of src/spmd/passes.def.
typedef enum hlo_spmd_pass_id {
#define HLO_PASS(id, ...) HLO_SPMD_PASS_ID_##id,
#include "spmd/passes.def"
#undef HLO_PASS
  HLO_SPMD_PASS_ID_COUNT,
} hlo_spmd_pass_id_t;

extern const hlo_pass_info_t hlo_spmd_pass_table[HLO_SPMD_PASS_ID_COUNT];
extern const hlo_pass_set_t hlo_spmd_pass_set;
/// Makes a program for several partitions, all calls inlined, that of one of them.
extern const hlo_pass_list_t hlo_spmd_partition_list;

#define HLO_PASS(id, ...) \
  hlo_status_t hlo_pass_##id(hlo_pass_ctx_t* ctx, hlo_module_t* module) HLO_MUST_USE;
#include "spmd/passes.def"
#undef HLO_PASS

/// Reads the argument of a pass as a number of bytes; `fallback` without one.
/// Reads the argument of a pass that is a number of devices; without one, the partitions that the
/// module states.
hlo_status_t hlo_devices_argument(const hlo_pass_ctx_t* ctx, const hlo_module_t* module,
                                  uint32_t* out_count) HLO_MUST_USE;
/// errors : INVALID_ARGUMENT
hlo_status_t hlo_bytes_argument(const hlo_pass_ctx_t* ctx, uint64_t fallback,
                                uint64_t* out_bytes) HLO_MUST_USE;
