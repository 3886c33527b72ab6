// SPDX-License-Identifier: Apache-2.0
// Loops of fold.c. Needs IN, ACC (types), OP(a, b) on ACC values, NAME(x).

static void NAME(row)(int64_t count, const void* in, void* acc) {
  enum { LANES = 16 };
  const IN* v = in;
  ACC total = *(const ACC*)acc;
  int64_t i = 0;
  if (count >= 2 * LANES) {
    ACC lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = (ACC)v[l];
    for (i = LANES; i + LANES <= count; i += LANES) {
      for (int l = 0; l < LANES; l++) lane[l] = OP(lane[l], (ACC)v[i + l]);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; l++) lane[l] = OP(lane[l], lane[l + half]);
    }
    total = OP(total, lane[0]);
  }
  for (; i < count; i++) total = OP(total, (ACC)v[i]);
  *(ACC*)acc = total;
}

static void NAME(rows)(int64_t count, const void* in, void* acc) {
  const IN* restrict v = in;
  ACC* restrict a = acc;
  for (int64_t i = 0; i < count; i++) a[i] = OP(a[i], (ACC)v[i]);
}

static void NAME(into)(int64_t count, const void* in, void* out) {
  const IN* restrict v = in;
  IN* restrict o = out;
  for (int64_t i = 0; i < count; i++) o[i] = (IN)(OP((ACC)o[i], (ACC)v[i]));
}

#undef OP
#undef NAME
