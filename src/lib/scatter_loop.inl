// SPDX-License-Identifier: Apache-2.0
// One loop of scatter_isa.c. Requires T (type of an element), OP(a, b), NAME. Optional: ONE(a, b),
// an OP with branches that is faster for one element at a time.

#ifndef ONE
#define ONE(a, b) OP(a, b)
#endif

static inline void ROW(NAME)(int64_t row, const T* restrict from, T* restrict to) {
  enum { BLOCK = 64 / sizeof(T) };  // a block of constant size
  int64_t k = 0;
  for (; k + BLOCK <= row; k += BLOCK) {
    for (int64_t j = k; j < k + BLOCK; j++) to[j] = OP(to[j], from[j]);
  }
  for (; k < row; k++) to[k] = OP(to[k], from[k]);
}

static void NAME(const hlo_scatter_t* s) {
  const uint32_t *numbers = s->numbers, *targets = s->targets;
  const int64_t row = s->row;
  const T* in = s->in;
  T* out = s->out;
  if (row == 1 && !numbers) {
    for (uint32_t i = 0; i < s->count; i++) {
      const uint32_t at = targets[i] - s->first;
      if (at < s->size) out[at] = ONE(out[at], in[i]);
    }
    return;
  }
  if (row == 1) {
    for (uint32_t i = 0; i < s->count; i++) {
      T* to = out + (targets[numbers[i]] - s->first);
      *to = ONE(*to, in[numbers[i]]);
    }
    return;
  }
  for (uint32_t i = 0; i < s->count; i++) {
    const uint32_t n = numbers ? numbers[i] : i, at = targets[n] - s->first;
    if (at >= s->size) continue;
    prefetch_ahead(s, i, row * (int64_t)sizeof(T));
    ROW(NAME)(row, in + n * row, out + at * row);
  }
}

#undef ONE
#undef OP
#undef NAME
