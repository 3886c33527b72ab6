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

enum { LANES = BYTES / sizeof(float), HALF_TILE = UNROLL * LANES };  // elements

typedef uint16_t half_vector_t __attribute__((vector_size(BYTES / 2)));
typedef uint32_t u32_vector_t __attribute__((vector_size(BYTES)));
typedef float f32_vector_t __attribute__((vector_size(BYTES)));

static inline half_vector_t load_half(const uint16_t* from) {
  half_vector_t value;
  memcpy(&value, from, sizeof value);
  return value;
}

// bf16 is the upper half of an f32; rounded as in base/float_bits.h.
static inline f32_vector_t widen_bf16(half_vector_t value) {
#if defined(__AVX512F__)
  return (f32_vector_t)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)value), 16);
#elif defined(__AVX2__)
  return (f32_vector_t)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)value), 16);
#else
  return (f32_vector_t)(__builtin_convertvector(value, u32_vector_t) << 16);
#endif
}

static inline half_vector_t narrow_bf16(f32_vector_t value) {
  const u32_vector_t bits = (u32_vector_t)value;
  const u32_vector_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const u32_vector_t quiet = bits >> 31 << 15 | 0x7fc0u;
  const u32_vector_t is_nan = (u32_vector_t)((bits & 0x7fffffffu) > 0x7f800000u);
  return __builtin_convertvector((quiet & is_nan) | (rounded & ~is_nan), half_vector_t);
}

#define NAME(x) x##_bf16
#include "lib/exchange_half.inl"

#if defined(__AVX2__)
static inline f32_vector_t widen_f16(half_vector_t value) {
#if defined(__AVX512F__)
  return (f32_vector_t)_mm512_cvtph_ps((__m256i)value);
#else
  return (f32_vector_t)_mm256_cvtph_ps((__m128i)value);
#endif
}

// As in base/dtype.h, results have one NaN of each sign.
static inline half_vector_t narrow_f16(f32_vector_t value) {
#if defined(__AVX512F__)
  const half_vector_t bits =
      (half_vector_t)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT);
#else
  const half_vector_t bits =
      (half_vector_t)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
#endif
  const half_vector_t is_nan = (half_vector_t)((bits & 0x7fff) > 0x7c00);
  return (((bits & 0x8000) | 0x7e00) & is_nan) | (bits & ~is_nan);
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
