// SPDX-License-Identifier: Apache-2.0
// Loops of exchanges (see exchange_impl.h). A fold reads all operands at once, a few vectors of
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

static bool are_outputs_aligned(const hlo_exchange_reduce_t* reduce, size_t width) {
  bool is_aligned = true;
  for (uint32_t r = 0; r < reduce->out_count; ++r) {
    const uintptr_t out = (uintptr_t)reduce->out[r * reduce->stride] + reduce->out_begin * width;
    is_aligned &= out % BYTES == 0;
  }
  return is_aligned;
}

// ---- tiles

// Folds the tile that begins at byte `in` of the operands and byte `out` of the results.
typedef void (*fold_tile_t)(const hlo_exchange_reduce_t* s, size_t in, size_t out, bool is_past);

// Folds fewer bytes than a tile, in copies of the operands; some at a time, with their fold first.
static void fold_rest(const hlo_exchange_reduce_t* s, size_t in, size_t out, size_t bytes,
                      fold_tile_t fold_tile) {
  enum { FAN_IN = 8 };
  uint8_t tiles[FAN_IN][TILE_BYTES] = {{0}};
  void* list[FAN_IN];
  for (uint32_t i = 0; i < FAN_IN; ++i) list[i] = tiles[i];
  hlo_exchange_reduce_t part = {.out_count = 1, .stride = 1, .in = list, .out = list};
  for (uint32_t m = 0; m < s->in_count; part.in_count = 1) {
    while (m < s->in_count && part.in_count < FAN_IN) {
      memcpy(tiles[part.in_count++], (const char*)s->in[m++ * s->stride] + in, bytes);
    }
    fold_tile(&part, 0, 0, false);
  }
  for (uint32_t r = 0; r < s->out_count; ++r) {
    memcpy((char*)s->out[r * s->stride] + out, tiles[0], bytes);
  }
}

// Not inlined into the loop of each type.
static __attribute__((noinline)) void fold_all(const hlo_exchange_reduce_t* s, size_t width,
                                               fold_tile_t fold_tile) {
  const bool is_past = s->is_streamed && are_outputs_aligned(s, width);
  const size_t in = s->in_begin * width, out = s->out_begin * width, size_bytes = s->count * width;
  size_t at = 0;
  for (; at + TILE_BYTES <= size_bytes; at += TILE_BYTES) fold_tile(s, in + at, out + at, is_past);
  if (is_past) end_stores();
  if (at < size_bytes) fold_rest(s, in + at, out + at, size_bytes - at, fold_tile);
}

// ---- operations on vectors

// Lanes of `a` where those of `mask` are set, else of `b`; M: vectors of integers of the same
// width.
#define PICK(V, M, mask, a, b) ((V)(((M)(a) & (M)(mask)) | ((M)(b) & ~(M)(mask))))
#define ADD(V, M, a, b) ((a) + (b))
#define AND(V, M, a, b) ((a) & (b))
#define OR(V, M, a, b) ((a) | (b))
#define XOR(V, M, a, b) ((a) ^ (b))
#define MAX(V, M, a, b) PICK(V, M, (a) > (b), a, b)
#define MIN(V, M, a, b) PICK(V, M, (a) < (b), a, b)
// NaN wins, and +0 is above -0, as in fold_isa.c.
#define MAX_FLOAT(V, M, a, b) \
  PICK(V, M, (M)((a) != (a)) | (M)((a) > (b)) | ((M)((a) == (b)) & (M)((M)(b) < 0)), a, b)
#define MIN_FLOAT(V, M, a, b) \
  PICK(V, M, (M)((a) != (a)) | (M)((a) < (b)) | ((M)((a) == (b)) & (M)((M)(b) >= 0)), a, b)

// The conversion of a stored result. Sums are arithmetic, which flushes subnormal numbers anyway.
#define SAME(x) (x)
#define AS_F32_OPERAND(x) ((x)*hlo_f32_one)
#define AS_F64_OPERAND(x) ((x)*hlo_f64_one)

// ---- elements that are computed in their own type

#define GIVE SAME
#define T uint8_t
#define STEP ADD
#define NAME(x) add_8_##x
#include "lib/exchange_loop.inl"
#define STEP AND
#define NAME(x) and_8_##x
#include "lib/exchange_loop.inl"
#define STEP OR
#define NAME(x) or_8_##x
#include "lib/exchange_loop.inl"
#define STEP XOR
#define NAME(x) xor_8_##x
#include "lib/exchange_loop.inl"
#define STEP MAX
#define NAME(x) max_u8_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_u8_##x
#include "lib/exchange_loop.inl"
#undef T
#define T int8_t
#define STEP MAX
#define NAME(x) max_s8_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_s8_##x
#include "lib/exchange_loop.inl"
#undef T
#define T uint16_t
#define STEP ADD
#define NAME(x) add_16_##x
#include "lib/exchange_loop.inl"
#define STEP MAX
#define NAME(x) max_u16_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_u16_##x
#include "lib/exchange_loop.inl"
#undef T
#define T int16_t
#define STEP MAX
#define NAME(x) max_s16_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_s16_##x
#include "lib/exchange_loop.inl"
#undef T
#define T uint32_t
#define STEP ADD
#define NAME(x) add_32_##x
#include "lib/exchange_loop.inl"
#define STEP MAX
#define NAME(x) max_u32_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_u32_##x
#include "lib/exchange_loop.inl"
#undef T
#define T int32_t
#define STEP MAX
#define NAME(x) max_s32_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_s32_##x
#include "lib/exchange_loop.inl"
#undef T
#define T uint64_t
#define STEP ADD
#define NAME(x) add_64_##x
#include "lib/exchange_loop.inl"
#define STEP MAX
#define NAME(x) max_u64_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_u64_##x
#include "lib/exchange_loop.inl"
#undef T
#define T int64_t
#define STEP MAX
#define NAME(x) max_s64_##x
#include "lib/exchange_loop.inl"
#define STEP MIN
#define NAME(x) min_s64_##x
#include "lib/exchange_loop.inl"
#undef T
#define T float
#define STEP ADD
#define NAME(x) add_f32_##x
#include "lib/exchange_loop.inl"
#undef GIVE
#define GIVE AS_F32_OPERAND
#define STEP MAX_FLOAT
#define NAME(x) max_f32_##x
#include "lib/exchange_loop.inl"
#define STEP MIN_FLOAT
#define NAME(x) min_f32_##x
#include "lib/exchange_loop.inl"
#undef GIVE
#define GIVE SAME
#undef T
#define T double
#define STEP ADD
#define NAME(x) add_f64_##x
#include "lib/exchange_loop.inl"
#undef GIVE
#define GIVE AS_F64_OPERAND
#define STEP MAX_FLOAT
#define NAME(x) max_f64_##x
#include "lib/exchange_loop.inl"
#define STEP MIN_FLOAT
#define NAME(x) min_f64_##x
#include "lib/exchange_loop.inl"
#undef GIVE
#undef T

// ---- half types

enum { LANES = BYTES / sizeof(float), HALF_TILE = UNROLL * LANES };  // elements

typedef uint16_t half_vector_t __attribute__((vector_size(BYTES / 2)));
typedef uint32_t u32_vector_t __attribute__((vector_size(BYTES)));
typedef int32_t s32_vector_t __attribute__((vector_size(BYTES)));
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

#define WIDEN widen_bf16
#define NARROW narrow_bf16
#define GIVE SAME
#define STEP ADD
#define NAME(x) add_bf16_##x
#include "lib/exchange_half.inl"
#undef GIVE
#define GIVE AS_F32_OPERAND
#define STEP MAX_FLOAT
#define NAME(x) max_bf16_##x
#include "lib/exchange_half.inl"
#define STEP MIN_FLOAT
#define NAME(x) min_bf16_##x
#include "lib/exchange_half.inl"
#undef GIVE
#undef WIDEN
#undef NARROW

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

#define WIDEN widen_f16
#define NARROW narrow_f16
#define GIVE SAME
#define STEP ADD
#define NAME(x) add_f16_##x
#include "lib/exchange_half.inl"
#undef GIVE
#define GIVE AS_F32_OPERAND
#define STEP MAX_FLOAT
#define NAME(x) max_f16_##x
#include "lib/exchange_half.inl"
#define STEP MIN_FLOAT
#define NAME(x) min_f16_##x
#include "lib/exchange_half.inl"
#undef GIVE
#undef WIDEN
#undef NARROW
#endif

// ---- the table

#define ROW(name)                                                                   \
  {                                                                                 \
    [HLO_FOLD_ADD] = add_##name##_reduce, [HLO_FOLD_MAXIMUM] = max_##name##_reduce, \
    [HLO_FOLD_MINIMUM] = min_##name##_reduce                                        \
  }
#define INTEGER_ROW(sign, width)                                                            \
  {                                                                                         \
    [HLO_FOLD_ADD] = add_##width##_reduce, [HLO_FOLD_MAXIMUM] = max_##sign##width##_reduce, \
    [HLO_FOLD_MINIMUM] = min_##sign##width##_reduce                                         \
  }

// Products, and bitwise operations on numbers, are rare.
static const hlo_exchange_reduce_fn_t kLoops[HLO_DTYPE_COUNT][HLO_FOLD_OP_COUNT] = {
    [HLO_DTYPE_F32] = ROW(f32),
    [HLO_DTYPE_F64] = ROW(f64),
    [HLO_DTYPE_BF16] = ROW(bf16),
#if defined(__AVX2__)
    [HLO_DTYPE_F16] = ROW(f16),
#endif
    [HLO_DTYPE_S8] = INTEGER_ROW(s, 8),
    [HLO_DTYPE_S16] = INTEGER_ROW(s, 16),
    [HLO_DTYPE_S32] = INTEGER_ROW(s, 32),
    [HLO_DTYPE_S64] = INTEGER_ROW(s, 64),
    [HLO_DTYPE_U8] = INTEGER_ROW(u, 8),
    [HLO_DTYPE_U16] = INTEGER_ROW(u, 16),
    [HLO_DTYPE_U32] = INTEGER_ROW(u, 32),
    [HLO_DTYPE_U64] = INTEGER_ROW(u, 64),
    [HLO_DTYPE_PRED] = {[HLO_FOLD_ADD] = or_8_reduce,
                        [HLO_FOLD_MULTIPLY] = and_8_reduce,
                        [HLO_FOLD_MAXIMUM] = or_8_reduce,
                        [HLO_FOLD_MINIMUM] = and_8_reduce,
                        [HLO_FOLD_AND] = and_8_reduce,
                        [HLO_FOLD_OR] = or_8_reduce,
                        [HLO_FOLD_XOR] = xor_8_reduce},
};

static hlo_exchange_reduce_fn_t find_reduce(hlo_fold_op_t op, hlo_dtype_t dtype) {
  return kLoops[dtype][op];
}

const hlo_exchange_loops_t HLO_ISA_NAME(hlo_exchange_loops) = {
    .find_reduce = find_reduce, .stream = stream, .fence = end_stores};
