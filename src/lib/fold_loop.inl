// SPDX-License-Identifier: Apache-2.0
// Loops of fold.c. Requires IN, ACC (types), OP(a, b) on ACC values, NAME(x). Optional:
// BUT_ZEROS(a, b), a faster OP that ignores the signs of zeros, and GIVE(x), the conversion of a
// stored result.

#ifdef BUT_ZEROS
#define IS_DOUBTFUL(x) __builtin_expect((x) == 0, 0)
#else
#define BUT_ZEROS(a, b) OP(a, b)
#define IS_DOUBTFUL(x) 0
#endif

#ifndef GIVE
#define GIVE(x) (x)
#endif

static inline ACC NAME(step)(ACC total, ACC next) {
  const ACC sum = BUT_ZEROS(total, next);
  return IS_DOUBTFUL(sum) ? OP(total, next) : sum;
}

static void NAME(row)(int64_t count, const void* in, void* acc) {
  enum { LANES = 16 };
  const IN* v = in;
  const ACC start = *(const ACC*)acc;
  ACC total = start;
  int64_t i = 0;
  if (count >= 2 * LANES) {
    ACC lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = (ACC)v[l];
    for (i = LANES; i + LANES <= count; i += LANES) {
      for (int l = 0; l < LANES; l++) lane[l] = BUT_ZEROS(lane[l], (ACC)v[i + l]);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; l++) lane[l] = BUT_ZEROS(lane[l], lane[l + half]);
    }
    total = BUT_ZEROS(total, lane[0]);
    if (IS_DOUBTFUL(total)) {  // recompute exactly
      total = start;
      i = 0;
    }
  }
  for (; i < count; i++) total = OP(total, (ACC)v[i]);
  *(ACC*)acc = GIVE(total);
}

static void NAME(rows)(int64_t count, const void* in, void* acc) {
  const IN* restrict v = in;
  ACC* restrict a = acc;
  for (int64_t i = 0; i < count; i++) a[i] = GIVE(OP(a[i], (ACC)v[i]));
}

static void NAME(into)(int64_t count, const void* in, void* out) {
  const IN* restrict v = in;
  IN* restrict o = out;
  for (int64_t i = 0; i < count; i++) o[i] = (IN)GIVE(OP(o[i], v[i]));
}

static void NAME(scan)(int64_t count, int64_t step, const void* const* in, void* const* out,
                       void* acc) {
  const IN *a = in[0], *b = in[1], *c = in[2], *d = in[3];
  IN *p = out[0], *q = out[1], *r = out[2], *s = out[3];
  ACC* totals = acc;
  ACC w = totals[0], x = totals[1], y = totals[2], z = totals[3];
  for (int64_t i = 0; i != count * step; i += step) {
    w = NAME(step)(w, (ACC)a[i]);
    x = NAME(step)(x, (ACC)b[i]);
    y = NAME(step)(y, (ACC)c[i]);
    z = NAME(step)(z, (ACC)d[i]);
    p[i] = (IN)GIVE(w);
    q[i] = (IN)GIVE(x);
    r[i] = (IN)GIVE(y);
    s[i] = (IN)GIVE(z);
  }
  totals[0] = w;
  totals[1] = x;
  totals[2] = y;
  totals[3] = z;
}

static void NAME(scan_rows)(int64_t count, const void* in, void* acc, void* out) {
  const IN* restrict v = in;
  ACC* restrict a = acc;
  IN* restrict o = out;
  for (int64_t i = 0; i < count; i++) {
    a[i] = GIVE(OP(a[i], (ACC)v[i]));
    o[i] = (IN)a[i];
  }
}

#undef GIVE
#undef BUT_ZEROS
#undef IS_DOUBTFUL
#undef OP
#undef NAME
