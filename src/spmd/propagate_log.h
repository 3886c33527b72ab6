// SPDX-License-Identifier: Apache-2.0
// Why values are divided as they are: what propagation did and did not do, if somebody asks.
#pragma once

#include "spmd/propagate_impl.h"

/// The fate of axes that a step offered to a dimension.
typedef enum hlo_prop_reason {
  HLO_PROP_TAKEN,
  HLO_PROP_DIFFERENT,   // refused: other axes divide the dimension
  HLO_PROP_USED,        // refused: they divide another dimension
  HLO_PROP_CLOSED,      // refused: the dimension is closed
  HLO_PROP_REPLICATED,  // refused: the program says that they hold copies
  HLO_PROP_UNEVEN,      // refused: they do not divide the factor
} hlo_prop_reason_t;

typedef struct hlo_prop_event {
  struct hlo_prop_event* next;
  const hlo_prop_step_t* step;
  uint32_t tensor, dim;
  uint32_t count;
  const uint8_t* axes;
  hlo_prop_reason_t reason;
  uint32_t source;  // tensor with the axes; tensor_count: unknown
  uint8_t phase;
  bool is_aggressive;
} hlo_prop_event_t;

/// Remembers an event of a slot, unless it is known. Only with prop->is_logged.
hlo_status_t hlo_prop_log(hlo_prop_t* prop, const hlo_prop_step_t* step, uint32_t tensor,
                          uint32_t dim, uint32_t count, const uint8_t* axes,
                          hlo_prop_reason_t reason) HLO_MUST_USE;
