// SPDX-License-Identifier: Apache-2.0
// The fold by one operation of one type of 16 bits, for exchange_isa.c: as exchange_loop.inl, in
// f32 between WIDEN and NARROW.

static inline f32_vector_t NAME(step)(f32_vector_t a, f32_vector_t b) {
  return STEP(f32_vector_t, s32_vector_t, a, b);
}

// Folds HALF_TILE elements, from element `in` of the operands.
static inline void NAME(fold_tile)(const hlo_exchange_reduce_t* s, size_t in, void* out) {
  const uint16_t* from = (const uint16_t*)s->in[0] + in;
  f32_vector_t a = WIDEN(load_half(from)), b = WIDEN(load_half(from + LANES));
  f32_vector_t c = WIDEN(load_half(from + 2 * LANES));
  f32_vector_t d = WIDEN(load_half(from + 3 * LANES));
  for (uint32_t m = 1; m < s->in_count; ++m) {
    from = (const uint16_t*)s->in[m * s->stride] + in;
    a = NAME(step)(a, WIDEN(load_half(from)));
    b = NAME(step)(b, WIDEN(load_half(from + LANES)));
    c = NAME(step)(c, WIDEN(load_half(from + 2 * LANES)));
    d = NAME(step)(d, WIDEN(load_half(from + 3 * LANES)));
  }
  const half_vector_t sums[UNROLL] = {NARROW(GIVE(a)), NARROW(GIVE(b)), NARROW(GIVE(c)),
                                      NARROW(GIVE(d))};
  memcpy(out, sums, sizeof sums);
}

// Folds the last elements, through copies of the operands of one tile.
static void NAME(fold_rest)(const hlo_exchange_reduce_t* s, size_t in, size_t count, uint16_t* out) {
  uint16_t part[HALF_TILE] = {0};
  float sums[HALF_TILE] = {0};
  for (uint32_t m = 0; m < s->in_count; ++m) {
    memcpy(part, (const uint16_t*)s->in[m * s->stride] + in, count * sizeof *part);
    for (size_t i = 0; i < HALF_TILE; i += LANES) {
      f32_vector_t sum, value = WIDEN(load_half(part + i));
      memcpy(&sum, sums + i, sizeof sum);
      sum = m ? NAME(step)(sum, value) : value;
      memcpy(sums + i, &sum, sizeof sum);
    }
  }
  for (size_t i = 0; i < HALF_TILE; i += LANES) {
    f32_vector_t sum;
    memcpy(&sum, sums + i, sizeof sum);
    const half_vector_t narrow = NARROW(GIVE(sum));
    memcpy(part + i, &narrow, sizeof narrow);
  }
  memcpy(out, part, count * sizeof *out);
}

static void NAME(reduce)(const hlo_exchange_reduce_t* s) {
  const bool is_past = s->is_streamed && are_outputs_aligned(s, sizeof(uint16_t));
  size_t i = 0;
  for (; i + HALF_TILE <= s->count; i += HALF_TILE) {
    bytes_vector_t sums[HALF_TILE * sizeof(uint16_t) / BYTES];
    NAME(fold_tile)(s, s->in_begin + i, sums);
    for (uint32_t r = 0; r < s->out_count; ++r) {
      uint16_t* to = (uint16_t*)s->out[r * s->stride] + s->out_begin + i;
      if (is_past) {
        store_past(to, sums[0]);
        store_past(to + 2 * LANES, sums[1]);
      } else {
        memcpy(to, sums, sizeof sums);
      }
    }
  }
  if (is_past) end_stores();
  if (i == s->count) return;
  uint16_t rest[HALF_TILE];
  NAME(fold_rest)(s, s->in_begin + i, s->count - i, rest);
  for (uint32_t r = 0; r < s->out_count; ++r) {
    memcpy((uint16_t*)s->out[r * s->stride] + s->out_begin + i, rest,
           (s->count - i) * sizeof *rest);
  }
}

#undef STEP
#undef NAME
