// SPDX-License-Identifier: Apache-2.0
// The sum of one element type T, for exchange_isa.c: NAME(x) names what it defines.

typedef T NAME(vector) __attribute__((vector_size(BYTES)));

static inline NAME(vector) NAME(load)(const char* from) {
  NAME(vector) value;
  memcpy(&value, from, BYTES);
  return value;
}

static inline void NAME(store)(char* to, NAME(vector) value, bool is_past) {
  if (is_past) {
    store_past(to, (bytes_vector_t)value);
  } else {
    memcpy(to, &value, BYTES);
  }
}

// Sums the tile that begins at byte `in` of the operands and byte `out` of the results.
static inline void NAME(sum_tile)(const hlo_exchange_sum_t* s, size_t in, size_t out,
                                  bool is_past) {
  const char* from = (const char*)s->in[0] + in;
  NAME(vector) a = NAME(load)(from), b = NAME(load)(from + BYTES);
  NAME(vector) c = NAME(load)(from + 2 * BYTES), d = NAME(load)(from + 3 * BYTES);
  for (uint32_t m = 1; m < s->in_count; ++m) {
    from = (const char*)s->in[m * s->stride] + in;
    a += NAME(load)(from);
    b += NAME(load)(from + BYTES);
    c += NAME(load)(from + 2 * BYTES);
    d += NAME(load)(from + 3 * BYTES);
  }
  for (uint32_t r = 0; r < s->out_count; ++r) {
    char* to = (char*)s->out[r * s->stride] + out;
    NAME(store)(to, a, is_past);
    NAME(store)(to + BYTES, b, is_past);
    NAME(store)(to + 2 * BYTES, c, is_past);
    NAME(store)(to + 3 * BYTES, d, is_past);
  }
}

static void NAME(sum)(const hlo_exchange_sum_t* s) {
  const size_t lanes = TILE_BYTES / sizeof(T);
  const bool is_past = s->is_streamed && are_outputs_aligned(s, sizeof(T));
  size_t i = 0;
  for (; i + lanes <= s->count; i += lanes) {
    const size_t in = (s->in_begin + i) * sizeof(T), out = (s->out_begin + i) * sizeof(T);
    if (is_past) {
      NAME(sum_tile)(s, in, out, true);
    } else {
      NAME(sum_tile)(s, in, out, false);
    }
  }
  if (is_past) end_stores();
  for (; i < s->count; ++i) {
    T value = ((const T*)s->in[0])[s->in_begin + i];
    for (uint32_t m = 1; m < s->in_count; ++m) {
      value = (T)(value + ((const T*)s->in[m * s->stride])[s->in_begin + i]);
    }
    for (uint32_t r = 0; r < s->out_count; ++r) {
      ((T*)s->out[r * s->stride])[s->out_begin + i] = value;
    }
  }
}

#undef T
#undef NAME
