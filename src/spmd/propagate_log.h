// SPDX-License-Identifier: Apache-2.0
// Why values are divided as they are: what propagation did, if somebody asks.
#pragma once

#include "spmd/propagate_impl.h"

static inline hlo_status_t hlo_prop_log_change(hlo_prop_t* prop, const hlo_prop_step_t* step,
                                               uint32_t tensor, const hlo_spec_t* spec) {
  (void)prop, (void)step, (void)tensor, (void)spec;
  return hlo_ok();
}
static inline void hlo_prop_log_conflict(hlo_prop_t* prop, const hlo_prop_step_t* step,
                                         uint32_t tensor, uint32_t factor, uint8_t axis) {
  (void)prop, (void)step, (void)tensor, (void)factor, (void)axis;
}
