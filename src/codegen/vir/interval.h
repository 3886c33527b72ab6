// SPDX-License-Identifier: Apache-2.0
// Ranges of loops whose ends are INDEX values, and the loops over vectors that cover them.
#pragma once

#include "codegen/vir/builder.h"

enum { HLO_VIR_UNROLL_CHOICES = 3 };  // 1, 2, 4 vectors in an iteration

typedef struct hlo_vir_interval {
  hlo_vir_value_t *low, *end;
} hlo_vir_interval_t;

/// Registers that a loop may use.
typedef struct hlo_vir_registers {
  uint32_t vectors, masks;
  uint32_t
      unroll;  // vectors in an iteration, whatever their number of registers; 0: as many as fit
} hlo_vir_registers_t;

/// Returns true if the range is known to be empty.
bool hlo_vir_interval_is_empty(hlo_vir_interval_t range);
/// Returns the end of the largest part of a range whose length is a multiple of `step`, a power of
/// two.
hlo_vir_value_t* hlo_vir_interval_whole_end(hlo_vir_builder_t* b, hlo_vir_interval_t range,
                                            int64_t step);
/// Returns the part of a range that chunk number `chunk` of this size covers.
hlo_vir_interval_t hlo_vir_interval_of_chunk(hlo_vir_builder_t* b, hlo_vir_value_t* chunk,
                                             int64_t size, hlo_vir_interval_t all);

/// Gives the ends of the parts of a range that iterations of 1, 2 and 4 vectors cover: they are
/// needed before the loop over the range.
void hlo_vir_interval_unroll_ends(hlo_vir_builder_t* b, hlo_vir_interval_t range, uint32_t lanes,
                                  hlo_vir_value_t* out_ends[HLO_VIR_UNROLL_CHOICES]);
/// Unrolls a closed loop over the vectors of a range as far as registers allow. The loop serves
/// what remains.
void hlo_vir_interval_unroll(hlo_vir_builder_t* b, hlo_vir_value_t* loop, hlo_vir_interval_t range,
                             hlo_vir_value_t* const ends[HLO_VIR_UNROLL_CHOICES],
                             const hlo_vir_registers_t* registers);
