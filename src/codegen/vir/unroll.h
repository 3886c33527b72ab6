// SPDX-License-Identifier: Apache-2.0
// Several iterations of a loop at once, their instructions in turn, so that one's latency is
// another's work; how many the registers hold.
#ifndef HLO_CODEGEN_VIR_UNROLL_H_
#define HLO_CODEGEN_VIR_UNROLL_H_

#include "codegen/vir/builder.h"

/// What one iteration of a loop without control inside needs.
typedef struct hlo_vir_pressure {
  bool is_straight;              // nothing but instructions that may be copied
  uint32_t vectors, masks;       // most values of its own that live at once
  uint32_t constants, invariants;  // vectors from outside
  uint32_t chain;                // longest chain of vector instructions
} hlo_vir_pressure_t;

/// Of a loop that is closed.
void hlo_vir_measure_loop(const hlo_vir_builder_t* b, const hlo_vir_value_t* loop,
                          hlo_vir_pressure_t* out_pressure);

/// Behind a closed loop that is straight and whose iterations are independent: another one that
/// does the same in steps of `copies` iterations from lo to hi, a multiple of that apart.
void hlo_vir_unroll_loop(hlo_vir_builder_t* b, const hlo_vir_value_t* loop, hlo_vir_value_t* lo,
                         hlo_vir_value_t* hi, uint32_t copies);

/// Takes a closed loop that would never run out of its block.
void hlo_vir_drop_loop(hlo_vir_value_t* loop);

#endif  // HLO_CODEGEN_VIR_UNROLL_H_
