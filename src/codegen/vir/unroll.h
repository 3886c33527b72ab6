// SPDX-License-Identifier: Apache-2.0
// Unrolls a loop with the instructions of several iterations interleaved, to hide their latency,
// and computes how many iterations the registers can hold.
#pragma once

#include "codegen/vir/builder.h"

/// The register needs of one iteration of a loop without control flow inside.
typedef struct hlo_vir_pressure {
  bool is_straight;                // only instructions that may be copied
  uint32_t vectors, masks;         // the most values of its own that are live at the same time
  uint32_t constants, invariants;  // vectors defined outside
  uint32_t chain;                  // longest dependency chain of vector instructions
} hlo_vir_pressure_t;

/// Measures a closed loop.
void hlo_vir_measure_loop(const hlo_vir_builder_t* b, const hlo_vir_value_t* loop,
                          hlo_vir_pressure_t* out_pressure);

/// Appends, after a closed straight loop with independent iterations, another one that does the
/// same in steps of `copies` iterations from lo to hi, whose distance is a multiple of that.
void hlo_vir_unroll_loop(hlo_vir_builder_t* b, const hlo_vir_value_t* loop, hlo_vir_value_t* lo,
                         hlo_vir_value_t* hi, uint32_t copies);

/// Removes a closed loop that would never run.
void hlo_vir_drop_loop(hlo_vir_value_t* loop);
