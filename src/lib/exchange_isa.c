// SPDX-License-Identifier: Apache-2.0
// Loops of exchanges (see exchange_impl.h). A sum reads all operands at once, a few vectors of
// each, so that every byte crosses the memory bus once, and stores large results past the caches.
#include "lib/exchange_impl.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
  end_stores();
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

static hlo_exchange_sum_fn_t find_sum(hlo_dtype_t dtype) {
  switch (dtype) {
    case HLO_DTYPE_F32: return sum_f32;
    case HLO_DTYPE_F64: return sum_f64;
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

#if defined(__AVX2__)
#define ADD_F16 add_f16
static void add_f16(size_t count, const void* in, float* acc) {
  const uint16_t* from = in;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(from + i)));
    _mm256_storeu_ps(acc + i, _mm256_add_ps(_mm256_loadu_ps(acc + i), value));
  }
  for (; i < count; ++i) acc[i] += _cvtsh_ss(from[i]);
}
#else
#define ADD_F16 NULL
#endif

// The upper half of an f32.
static void add_bf16(size_t count, const void* in, float* acc) {
  const uint16_t* from = in;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = (uint32_t)from[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    acc[i] += value;
  }
}

const hlo_exchange_loops_t HLO_ISA_NAME(hlo_exchange_loops) = {
    .find_sum = find_sum, .add_f16 = ADD_F16, .add_bf16 = add_bf16, .stream = stream};
