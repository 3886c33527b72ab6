// SPDX-License-Identifier: Apache-2.0
// The sum of one type of 16 bits with NAME(widen) and NAME(narrow), for exchange_isa.c.

// Sums `count` elements, at most HALF_TILE, from element `in` of the operands.
static void NAME(sum_tile)(const hlo_exchange_sum_t* s, size_t in, size_t count, uint16_t* out) {
  float acc[HALF_TILE], value[HALF_TILE];
  uint16_t part[HALF_TILE] = {0};
  for (uint32_t m = 0; m < s->in_count; ++m) {
    const uint16_t* from = (const uint16_t*)s->in[m * s->stride] + in;
    if (count < HALF_TILE) from = memcpy(part, from, count * sizeof *part);
    NAME(widen)(from, m ? value : acc);
    if (m == 0) continue;
    for (int i = 0; i < HALF_TILE; ++i) acc[i] += value[i];
  }
  NAME(narrow)(acc, out);
}

static void NAME(sum)(const hlo_exchange_sum_t* s) {
  const bool is_past = s->is_streamed && are_outputs_aligned(s, sizeof(uint16_t));
  for (size_t i = 0; i < s->count; i += HALF_TILE) {
    const size_t left = s->count - i, count = left < HALF_TILE ? left : HALF_TILE;
    uint16_t sum[HALF_TILE];
    NAME(sum_tile)(s, s->in_begin + i, count, sum);
    for (uint32_t r = 0; r < s->out_count; ++r) {
      uint16_t* to = (uint16_t*)s->out[r * s->stride] + s->out_begin + i;
      if (is_past && count == HALF_TILE) {
        stream(to, sum, sizeof sum);
      } else {
        memcpy(to, sum, count * sizeof *sum);
      }
    }
  }
  if (is_past) end_stores();
}

#undef NAME
