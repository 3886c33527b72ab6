// SPDX-License-Identifier: Apache-2.0
// Names of NVIDIA GPUs' capabilities, and versions of the PTX language. Versions and capabilities
// are numbers 10 * major + minor.
#pragma once

#include <stdint.h>

#include "base/status.h"

enum { HLO_PTX_NAME_BYTES = 16 };

/// The instructions that multiply matrices, of which a target has one kind beside mma.sync.
typedef enum hlo_ptx_mma {
  HLO_PTX_MMA_NONE,
  HLO_PTX_MMA_WARP,           // mma.sync
  HLO_PTX_MMA_WARPGROUP,      // wgmma
  HLO_PTX_MMA_TENSOR_MEMORY,  // tcgen05
} hlo_ptx_mma_t;

/// The `.version` and `.target` of a module.
typedef struct hlo_ptx_target {
  uint32_t capability;  // 90 of sm_90a
  char suffix;          // 'a': this architecture only; 'f': its family; 0: this and later ones
  uint32_t version;     // of the language
  hlo_ptx_mma_t mma;
  int64_t shared_bytes;  // the most that a block may have
} hlo_ptx_target_t;

/// Returns the newest PTX version of a CUDA toolkit: of the newest known toolkit that is not newer;
/// 0: the toolkit is older than all that are known.
uint32_t hlo_ptx_version_of_cuda(uint32_t cuda);

/// Finds the target of a name: "sm_80", "sm_90a", "sm_120f". Its version is the first one that
/// knows it. errors: INVALID_ARGUMENT listing the known names
hlo_status_t hlo_ptx_target_parse(const char* name, hlo_ptx_target_t* out_target) HLO_MUST_USE;

/// Finds the most specific target that runs on a GPU of a capability: its own architecture; of an
/// unknown minor number the newest family of the same major one, or the newest capability where
/// there are no families; of an unknown major number the newest known one.
/// errors: UNIMPLEMENTED for GPUs that are older than all known ones
hlo_status_t hlo_ptx_target_find(uint32_t capability, hlo_ptx_target_t* out_target) HLO_MUST_USE;

/// Writes "sm_90a".
void hlo_ptx_target_name(const hlo_ptx_target_t* target, char name[HLO_PTX_NAME_BYTES]);
