// SPDX-License-Identifier: Apache-2.0
// Site numbers: which call of a program code makes, and which node it comes from. node->index + 1
// for a node, above all of those the copies; 0 is none. Numbers from HLO_CALL_SITE_TILE and
// HLO_CALL_SITE_MEMORY_CHECK on are for what they say. src/codegen/lower/sites.h has what is called.
#ifndef HLO_CODEGEN_BODY_SITE_H_
#define HLO_CODEGEN_BODY_SITE_H_

#include "ir/module.h"

/// Given to check_failed() by a loop that found the run cancelled.
#define HLO_CALL_SITE_CANCELLED UINT32_MAX
/// Of a kernel that is interpreted: HLO_CALL_SITE_TILE + the fusion's index.
#define HLO_CALL_SITE_TILE (UINT32_MAX / 4 + 1)
/// Of a look at the temporaries of a checked program: HLO_CALL_SITE_MEMORY_CHECK + its index.
#define HLO_CALL_SITE_MEMORY_CHECK (UINT32_MAX / 2 + 1)

static inline uint32_t hlo_call_site_number(const hlo_node_t* node) {
  return node->index + 1;
}

#endif  // HLO_CODEGEN_BODY_SITE_H_
