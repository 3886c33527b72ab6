// SPDX-License-Identifier: Apache-2.0
// Loops of exchanges (see exchange_impl.h). A sum reads all operands at once, a few vectors of
// each, so that every byte crosses the memory bus once, and stores large results past the caches.
#include "lib/exchange_impl.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/float_bits.h"
#include "lib/isa_variant.h"

enum { BYTES = HLO_ISA_VECTOR_BYTES, UNROLL = 4, TILE_BYTES = BYTES * UNROLL };

typedef uint8_t bytes_vector_t __attribute__((vector_size(BYTES)));

static inline void store_past(void* to, bytes_vector_t value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(to, (__m512i)value);
#elif defined(__AVX2__)
  _mm256_stream_si256(to, (__m256i)value);
#elif defined(__SSE2__)
  _mm_stream_si128(to, (__m128i)value);
#else
  memcpy(to, &value, sizeof value);
#endif
}

// Orders stores past the caches before what the thread writes next.
static inline void end_stores(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

static void stream(void* to, const void* from, size_t size_bytes) {
  const size_t head = -(uintptr_t)to % BYTES;
  if (size_bytes < head + BYTES) {
    memcpy(to, from, size_bytes);
    return;
  }
  memcpy(to, from, head);
  size_t at = head;
  for (; at + BYTES <= size_bytes; at += BYTES) {
    bytes_vector_t value;
    memcpy(&value, (const char*)from + at, BYTES);
    store_past((char*)to + at, value);
  }
  memcpy((char*)to + at, (const char*)from + at, size_bytes - at);
}

static bool are_outputs_aligned(const hlo_exchange_sum_t* sum, size_t width) {
  bool is_aligned = true;
  for (uint32_t r = 0; r < sum->out_count; ++r) {
    is_aligned &= ((uintptr_t)sum->out[r * sum->stride] + sum->out_begin * width) % BYTES == 0;
  }
  return is_aligned;
}

#define T float
#define NAME(x) x##_f32
#include "lib/exchange_loop.inl"
#define T double
#define NAME(x) x##_f64
#include "lib/exchange_loop.inl"
#define T uint8_t
#define NAME(x) x##_8
#include "lib/exchange_loop.inl"
#define T uint16_t
#define NAME(x) x##_16
#include "lib/exchange_loop.inl"
#define T uint32_t
#define NAME(x) x##_32
#include "lib/exchange_loop.inl"
#define T uint64_t
#define NAME(x) x##_64
#include "lib/exchange_loop.inl"

// ---- half types

enum { HALF_TILE = 64 };  // elements; loops over a tile are vectorised

static void widen_bf16(const uint16_t* from, float* to) {
  for (int i = 0; i < HALF_TILE; ++i) to[i] = hlo_bf16_to_f32(from[i]);
}

static void narrow_bf16(const float* from, uint16_t* to) {
  for (int i = 0; i < HALF_TILE; ++i) to[i] = hlo_f32_to_bf16(from[i]);
}

#define NAME(x) x##_bf16
#include "lib/exchange_half.inl"

#if defined(__AVX2__)
static void widen_f16(const uint16_t* from, float* to) {
  for (int i = 0; i < HALF_TILE; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + i))));
  }
}

// As in base/dtype.h, results have one NaN of each sign.
static void narrow_f16(const float* from, uint16_t* to) {
  enum { INFINITY_BITS = 0x7c00, NAN_BITS = 0x7e00, SIGN_BIT = 0x8000 };
  for (int i = 0; i < HALF_TILE; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i*)(to + i), half);
  }
  for (int i = 0; i < HALF_TILE; ++i) {
    const bool is_nan = (to[i] & ~SIGN_BIT) > INFINITY_BITS;
    to[i] = is_nan ? (uint16_t)((to[i] & SIGN_BIT) | NAN_BITS) : to[i];
  }
}

#define NAME(x) x##_f16
#include "lib/exchange_half.inl"
#define SUM_F16 sum_f16
#else
#define SUM_F16 NULL
#endif

// ---- the table

static hlo_exchange_sum_fn_t find_sum(hlo_dtype_t dtype) {
  switch (dtype) {
    case HLO_DTYPE_F32: return sum_f32;
    case HLO_DTYPE_F64: return sum_f64;
    case HLO_DTYPE_F16: return SUM_F16;
    case HLO_DTYPE_BF16: return sum_bf16;
    case HLO_DTYPE_S8:
    case HLO_DTYPE_U8: return sum_8;
    case HLO_DTYPE_S16:
    case HLO_DTYPE_U16: return sum_16;
    case HLO_DTYPE_S32:
    case HLO_DTYPE_U32: return sum_32;
    case HLO_DTYPE_S64:
    case HLO_DTYPE_U64: return sum_64;
    default: return NULL;
  }
}

const hlo_exchange_loops_t HLO_ISA_NAME(hlo_exchange_loops) = {
    .find_sum = find_sum, .stream = stream, .fence = end_stores};
