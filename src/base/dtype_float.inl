// SPDX-License-Identifier: Apache-2.0
// Loops of one float element type of at most 32 bits between memory and the carriers of dtype.c.
// Requires FLOAT_ID (a row of dtype.def), FLOAT_T (its type in memory), FLOAT_DECODE (code ->
// float) and FLOAT_ENCODE (float -> code, one rounding).
#define FLOAT_JOIN_(a, b) a##b
#define FLOAT_JOIN(a, b) FLOAT_JOIN_(a, b)
#define FLOAT_FN(name) FLOAT_JOIN(name, FLOAT_ID)

static void FLOAT_FN(load_f32_)(const void* in, void* out, size_t count) {
  const FLOAT_T* restrict from = in;
  float* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = FLOAT_DECODE(from[i]);
}

static void FLOAT_FN(load_f64_)(const void* in, void* out, size_t count) {
  const FLOAT_T* restrict from = in;
  double* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (double)FLOAT_DECODE(from[i]);
}

static void FLOAT_FN(store_f32_)(const void* in, void* out, size_t count) {
  const float* restrict from = in;
  FLOAT_T* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (FLOAT_T)FLOAT_ENCODE(from[i]);
}

static void FLOAT_FN(store_f64_)(const void* in, void* out, size_t count) {
  const double* restrict from = in;
  FLOAT_T* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (FLOAT_T)FLOAT_ENCODE(round_to_odd(from[i]));
}

static const codec_t FLOAT_FN(codec_) = {
    .load_f32 = FLOAT_FN(load_f32_),
    .load_f64 = FLOAT_FN(load_f64_),
    .store_f32 = FLOAT_FN(store_f32_),
    .store_f64 = FLOAT_FN(store_f64_),
};

#undef FLOAT_JOIN_
#undef FLOAT_JOIN
#undef FLOAT_FN
#undef FLOAT_ID
#undef FLOAT_T
#undef FLOAT_DECODE
#undef FLOAT_ENCODE
