// SPDX-License-Identifier: Apache-2.0
// Numbers of call sites. The number identifies a call in generated code, and as debug id the node
// that an instruction comes from. It is node->index + 1 for a node; larger numbers are copies; 0
// means none. Numbers from HLO_CALL_SITE_TILE, HLO_CALL_SITE_MEMORY_CHECK and
// HLO_CALL_SITE_STEP_SPAN on are reserved for these. src/codegen/lower/call_sites.h lists the
// callees.
#pragma once

#include "ir/module.h"

/// The argument of check_failed() from a loop whose run was cancelled.
#define HLO_CALL_SITE_CANCELLED UINT32_MAX
/// An interpreted kernel: HLO_CALL_SITE_TILE + the fusion's index.
#define HLO_CALL_SITE_TILE (UINT32_MAX / 4 + 1)
/// A memory check of a checked program's temporaries: HLO_CALL_SITE_MEMORY_CHECK + its index.
#define HLO_CALL_SITE_MEMORY_CHECK (UINT32_MAX / 2 + 1)
/// The begin of a step's span in a profiled program: HLO_CALL_SITE_STEP_SPAN + 2 * its index; the
/// next number is its end.
#define HLO_CALL_SITE_STEP_SPAN (UINT32_MAX / 4 * 3 + 1)

static inline uint32_t hlo_call_site_number(const hlo_node_t* node) {
  return node->index + 1;
}
