// SPDX-License-Identifier: Apache-2.0
// The option tune_force: configurations that kernels are given whatever the models and the store
// say, for measurements and to reproduce one choice.
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "codegen/fuse/fusion.h"
#include "codegen/loops/kernel_config.h"

/// A configuration, and the kernels that are given it.
typedef struct hlo_tune_force {
  const char* kernels;  // the name of an op, the first digits of a key, or "*" for all
  hlo_kernel_config_t config;
} hlo_tune_force_t;

/// owner: an arena. threads: immutable
typedef struct hlo_tune_forces {
  uint32_t count;
  hlo_tune_force_t* items;
} hlo_tune_forces_t;

/// Reads KERNELS:CONFIG;KERNELS:CONFIG or, from a file named as @PATH, a line for each.
/// errors : INVALID_ARGUMENT naming the part, those of reading files, RESOURCE_EXHAUSTED
hlo_status_t hlo_tune_forces_read(const char* option, hlo_arena_t* arena,
                                  hlo_tune_forces_t* out_forces) HLO_MUST_USE;
/// Returns the first of them that is for the kernel; NULL: none. A fusion has the names of all its
/// ops, with and without their dialect.
const hlo_tune_force_t* hlo_tune_forces_find(const hlo_tune_forces_t* forces,
                                             const hlo_digest_t* key, const hlo_fusion_t* fusion);
