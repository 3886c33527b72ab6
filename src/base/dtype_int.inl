// SPDX-License-Identifier: Apache-2.0
// Loops of one integer element type between memory and the carriers of dtype.c. Requires INT_ID (a
// row of dtype.def) and INT_T (its type in memory).
#define INT_JOIN_(a, b) a##b
#define INT_JOIN(a, b) INT_JOIN_(a, b)
#define INT_FN(name) INT_JOIN(name, INT_ID)
#define INT_BITS INT_JOIN(BITS_, INT_ID)
#define INT_PAD (8 * (int)sizeof(INT_T) - INT_BITS)  // unused high bits of the memory type
#define INT_IS_SIGNED ((INT_T)-1 < (INT_T)1)

// Drops or sign-extends the bits above the value.
static inline INT_T INT_FN(normal_)(INT_T x) {
  return INT_PAD ? (INT_T)((INT_T)((uint64_t)x << INT_PAD) >> INT_PAD) : x;
}

// Truncates toward zero and saturates; NaN is 0.
static inline INT_T INT_FN(saturate_)(double x) {
  const double limit = (double)(1ull << (INT_BITS - 1)) * (INT_IS_SIGNED ? 1.0 : 2.0);
  const double low = INT_IS_SIGNED ? -limit : 0.0;
  x = x == x ? x : 0.0;
  if (INT_BITS == 64) {  // the highest value is not a double
    const INT_T high = INT_IS_SIGNED ? (INT_T)(UINT64_MAX >> 1) : (INT_T)UINT64_MAX;
    return x >= limit ? high : x <= low ? (INT_T)low : (INT_T)x;
  }
  x = x < low ? low : x;
  x = x > limit - 1.0 ? limit - 1.0 : x;
  return INT_BITS < 32 ? (INT_T)(int32_t)x : (INT_T)x;
}

static void INT_FN(load_i64_)(const void* in, void* out, size_t count) {
  const INT_T* restrict from = in;
  int64_t* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (int64_t)INT_FN(normal_)(from[i]);
}

static void INT_FN(load_f32_)(const void* in, void* out, size_t count) {
  const INT_T* restrict from = in;
  float* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (float)INT_FN(normal_)(from[i]);
}

static void INT_FN(load_f64_)(const void* in, void* out, size_t count) {
  const INT_T* restrict from = in;
  double* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = (double)INT_FN(normal_)(from[i]);
}

// Converts to double without affecting a later rounding to fewer bits: the low 11 bits of a large
// value become one sticky bit, so that the conversion is exact.
static void INT_FN(load_f64_sticky_)(const void* in, void* out, size_t count) {
  const INT_T* restrict from = in;
  double* restrict to = out;
  for (size_t i = 0; i < count; ++i) {
    INT_T x = INT_FN(normal_)(from[i]);
    if (INT_BITS == 64) {
      bool large = (uint64_t)x + (1ull << 53) > 1ull << 54;
      uint64_t sticky = ((uint64_t)x & ~0x7ffull) | (((uint64_t)x & 0x7ffull) ? 0x800ull : 0);
      x = large ? (INT_T)sticky : x;
    }
    to[i] = (double)x;
  }
}

static void INT_FN(store_i64_)(const void* in, void* out, size_t count) {
  const int64_t* restrict from = in;
  INT_T* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = INT_FN(normal_)((INT_T)from[i]);
}

static void INT_FN(store_f32_)(const void* in, void* out, size_t count) {
  const float* restrict from = in;
  INT_T* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = INT_FN(saturate_)((double)from[i]);
}

static void INT_FN(store_f64_)(const void* in, void* out, size_t count) {
  const double* restrict from = in;
  INT_T* restrict to = out;
  for (size_t i = 0; i < count; ++i) to[i] = INT_FN(saturate_)(from[i]);
}

static const codec_t INT_FN(codec_) = {
    .load_i64 = INT_FN(load_i64_),
    .load_f32 = INT_FN(load_f32_),
    .load_f64 = INT_FN(load_f64_),
    .load_f64_sticky = INT_FN(load_f64_sticky_),
    .store_i64 = INT_FN(store_i64_),
    .store_f32 = INT_FN(store_f32_),
    .store_f64 = INT_FN(store_f64_),
};

#undef INT_JOIN_
#undef INT_JOIN
#undef INT_FN
#undef INT_BITS
#undef INT_PAD
#undef INT_IS_SIGNED
#undef INT_ID
#undef INT_T
