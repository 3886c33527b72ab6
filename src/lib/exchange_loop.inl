// SPDX-License-Identifier: Apache-2.0
// The fold by one operation of one element type T, for exchange_isa.c: NAME(x) names what it
// defines, STEP(V, M, a, b) combines vectors of type V (M: integers), GIVE(x) is stored.

typedef T NAME(vector) __attribute__((vector_size(BYTES)));
typedef __typeof__((NAME(vector)){0} == (NAME(vector)){0}) NAME(mask);

static inline NAME(vector) NAME(load)(const char* from) {
  NAME(vector) value;
  memcpy(&value, from, BYTES);
  return value;
}

static inline NAME(vector) NAME(step)(NAME(vector) a, NAME(vector) b) {
  return STEP(NAME(vector), NAME(mask), a, b);
}

static inline void NAME(store)(char* to, NAME(vector) value, bool is_past) {
  if (is_past) {
    store_past(to, (bytes_vector_t)value);
  } else {
    memcpy(to, &value, BYTES);
  }
}

static void NAME(fold_tile)(const hlo_exchange_reduce_t* s, size_t in, size_t out,
                                   bool is_past) {
  const char* from = (const char*)s->in[0] + in;
  NAME(vector) a = NAME(load)(from), b = NAME(load)(from + BYTES);
  NAME(vector) c = NAME(load)(from + 2 * BYTES), d = NAME(load)(from + 3 * BYTES);
  for (uint32_t m = 1; m < s->in_count; ++m) {
    from = (const char*)s->in[m * s->stride] + in;
    a = NAME(step)(a, NAME(load)(from));
    b = NAME(step)(b, NAME(load)(from + BYTES));
    c = NAME(step)(c, NAME(load)(from + 2 * BYTES));
    d = NAME(step)(d, NAME(load)(from + 3 * BYTES));
  }
  a = GIVE(a), b = GIVE(b), c = GIVE(c), d = GIVE(d);
  for (uint32_t r = 0; r < s->out_count; ++r) {
    char* to = (char*)s->out[r * s->stride] + out;
    NAME(store)(to, a, is_past);
    NAME(store)(to + BYTES, b, is_past);
    NAME(store)(to + 2 * BYTES, c, is_past);
    NAME(store)(to + 3 * BYTES, d, is_past);
  }
}

static void NAME(reduce)(const hlo_exchange_reduce_t* s) {
  fold_all(s, sizeof(T), NAME(fold_tile));
}

#undef STEP
#undef NAME
