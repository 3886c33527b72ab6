// SPDX-License-Identifier: Apache-2.0
// Configurations of the kernels of a program (codegen/loops/kernel_config.h): which kernels can
// have one, under which keys, and the kernels made anew with given ones. Fusions do not depend on
// configurations.
#pragma once

#include "base/hash.h"
#include "codegen/body/schedule.h"
#include "codegen/loops/kernel.h"

/// A kernel's key (hlo_fusion_choice_digest()) and its choices.
typedef struct hlo_config_entry {
  hlo_digest_t key;
  hlo_kernel_config_t config;
} hlo_config_entry_t;

/// owner: the entries are lent. threads: immutable
typedef struct hlo_config_table {
  uint32_t count;
  const hlo_config_entry_t* entries;
} hlo_config_table_t;

/// Adds all entries to a hash, whatever their order; a table without choices leaves it as it is.
uint64_t hlo_config_table_hash(const hlo_config_table_t* table, uint64_t hash);

/// A kernel that can have a configuration: the first of all fusions that are equal.
typedef struct hlo_tunable {
  hlo_digest_t key;
  const hlo_fusion_t* fusion;
  uint32_t use_count;
} hlo_tunable_t;

/// Lists the different kernels of a schedule that have a key, in the order of their steps.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_list_tunable(const hlo_schedule_t* schedule, const hlo_module_t* module,
                                       hlo_arena_t* arena, uint32_t* out_count,
                                       hlo_tunable_t** out_tunables) HLO_MUST_USE;
/// Makes the kernel of a fusion with a configuration, or gives the reason for a refusal in
/// *out_verdict; the fusion keeps its own.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fusion_try_config(const hlo_fusion_t* fusion, const hlo_target_t* target,
                                   const hlo_kernel_config_t* config, hlo_arena_t* arena,
                                   hlo_verdict_t* out_verdict,
                                   hlo_kernel_t** out_kernel) HLO_MUST_USE;
/// Replaces the kernels that have a configuration in the table.
/// errors: INVALID_ARGUMENT if one is impossible, with the reason; RESOURCE_EXHAUSTED
hlo_status_t hlo_schedule_configure(hlo_schedule_t* schedule, const hlo_module_t* module,
                                    const hlo_target_t* target, const hlo_config_table_t* table,
                                    hlo_arena_t* arena) HLO_MUST_USE;
