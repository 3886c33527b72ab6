// SPDX-License-Identifier: Apache-2.0
// Computes ranges and unrolls loops over them (see interval.h).
#include "codegen/vir/interval.h"

#include "base/tuning.h"
#include "codegen/vir/unroll.h"

static bool is_known(hlo_vir_interval_t range) {
  return range.low->op == HLO_VIR_iconst && range.end->op == HLO_VIR_iconst;
}

bool hlo_vir_interval_is_empty(hlo_vir_interval_t range) {
  return range.low == range.end || (is_known(range) && range.low->imm >= range.end->imm);
}

hlo_vir_value_t* hlo_vir_interval_whole_end(hlo_vir_builder_t* b, hlo_vir_interval_t range,
                                            int64_t step) {
  if (is_known(range)) {
    return hlo_vir_iconst(b, range.end->imm - (range.end->imm - range.low->imm) % step);
  }
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, range.end, range.low);
  count = hlo_vir_index(b, HLO_VIR_iand, count, hlo_vir_iconst(b, -step));
  return hlo_vir_index(b, HLO_VIR_iadd, range.low, count);
}

hlo_vir_interval_t hlo_vir_interval_of_chunk(hlo_vir_builder_t* b, hlo_vir_value_t* chunk,
                                             int64_t size, hlo_vir_interval_t all) {
  hlo_vir_value_t* first = hlo_vir_index(b, HLO_VIR_imul, chunk, hlo_vir_iconst(b, size));
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, first, hlo_vir_iconst(b, size));
  hlo_vir_value_t* low = hlo_vir_index(b, HLO_VIR_imax, first, all.low);
  end = hlo_vir_index(b, HLO_VIR_imin, end, all.end);
  // A range outside the chunk is empty, not of negative length.
  return (hlo_vir_interval_t){low, hlo_vir_index(b, HLO_VIR_imax, low, end)};
}

void hlo_vir_interval_unroll_ends(hlo_vir_builder_t* b, hlo_vir_interval_t range, uint32_t lanes,
                                  hlo_vir_value_t* out_ends[HLO_VIR_UNROLL_CHOICES]) {
  for (uint32_t i = 0; i < HLO_VIR_UNROLL_CHOICES; ++i) {
    out_ends[i] = hlo_vir_interval_whole_end(b, range, (int64_t)lanes << i);
  }
}

// Returns the iterations to unroll: four if registers hold their values and a quarter of the
// constants; the other constants may be read at their use. Long dependency chains prefer spills to
// waiting.
static uint32_t fitting_copies(const hlo_vir_registers_t* registers,
                               const hlo_vir_pressure_t* pressure) {
  if (!pressure->is_straight) return 1;
  if (registers->unroll) return registers->unroll;
  uint32_t copies = HLO_TUNING_UNROLL_VECTORS;
  if (pressure->chain >= HLO_TUNING_UNROLL_LONG_CHAIN) return copies;
  const uint32_t fixed = pressure->invariants + pressure->constants / HLO_TUNING_CONSTANT_SHARE +
                         HLO_TUNING_SPARE_REGISTERS;
  while (copies > 1 && (fixed + copies * pressure->vectors > registers->vectors ||
                        copies * pressure->masks > registers->masks)) {
    copies /= 2;
  }
  return copies;
}

void hlo_vir_interval_unroll(hlo_vir_builder_t* b, hlo_vir_value_t* loop, hlo_vir_interval_t range,
                             hlo_vir_value_t* const ends[HLO_VIR_UNROLL_CHOICES],
                             const hlo_vir_registers_t* registers) {
  hlo_vir_pressure_t pressure;
  hlo_vir_measure_loop(b, loop, &pressure);
  const uint32_t copies = fitting_copies(registers, &pressure);
  hlo_vir_value_t* end = ends[__builtin_ctz(copies)];
  if (copies == 1 || hlo_vir_interval_is_empty((hlo_vir_interval_t){range.low, end})) return;
  hlo_vir_unroll_loop(b, loop, range.low, end, copies);
  loop->operands[0] = end;
  if (hlo_vir_interval_is_empty((hlo_vir_interval_t){end, range.end})) hlo_vir_drop_loop(loop);
}
