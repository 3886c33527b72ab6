// SPDX-License-Identifier: Apache-2.0
// Verdicts: the answer to "can loops compute this?". A "no" is a decision, not an error: it names
// its reason without allocating anything. verdict.def lists the reasons.
#pragma once

#include "base/strbuf.h"
#include "ir/module.h"

typedef enum hlo_reason {
  HLO_REASON_NONE,  // yes
#define HLO_REASON(id, text) HLO_REASON_##id,
#include "codegen/body/verdict.def"
#undef HLO_REASON
  HLO_REASON_COUNT
} hlo_reason_t;

/// owner: the node is lent
typedef struct hlo_verdict {
  hlo_reason_t reason;
  const hlo_node_t* node;  // the subject of the reason; NULL: the whole fusion
  double found, limit;     // for texts that contain them
} hlo_verdict_t;

static inline hlo_verdict_t hlo_verdict_yes(void) {
  return (hlo_verdict_t){.reason = HLO_REASON_NONE};
}

static inline hlo_verdict_t hlo_verdict_no(hlo_reason_t reason, const hlo_node_t* node) {
  return (hlo_verdict_t){.reason = reason, .node = node};
}

static inline hlo_verdict_t hlo_verdict_beyond(hlo_reason_t reason, const hlo_node_t* node,
                                               double found, double limit) {
  return (hlo_verdict_t){reason, node, found, limit};
}

static inline bool hlo_verdict_is_no(const hlo_verdict_t* verdict) {
  return verdict->reason != HLO_REASON_NONE;
}

/// Returns an error for a caller that needs a "yes": "fusion 3: recomputed 17 times ...".
hlo_status_t hlo_verdict_error(const hlo_verdict_t* verdict, hlo_status_code_t code,
                               uint32_t fusion_index) HLO_MUST_USE;
/// Appends the reason as a sentence with its numbers, after the name of its node if it has one.
void hlo_verdict_print(const hlo_verdict_t* verdict, hlo_strbuf_t* out);
