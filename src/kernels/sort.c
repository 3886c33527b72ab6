// SPDX-License-Identifier: Apache-2.0
// Radix sort of (key, index) pairs, least significant byte first, skipping bytes that all keys
// share; bottom-up merge sort for order functions.
#include "kernels/sort.h"

#include <string.h>

// Bits of a float as an unsigned number in totalOrder: negative ones flipped, others above them.
static uint64_t ordered_bits(uint64_t bits, int width) {
  const uint64_t sign = (uint64_t)1 << (width - 1);
  const uint64_t mask = sign | (sign - 1);
  return (bits & sign ? ~bits : bits | sign) & mask;
}

static uint64_t key_of_f32(float value, bool canonical) {
  uint32_t bits = 0;
  if (canonical && value != value) return UINT32_MAX;
  if (canonical && value == 0) value = 0;
  memcpy(&bits, &value, sizeof(bits));
  return ordered_bits(bits, 32);
}

static uint64_t key_of_f64(double value, bool canonical) {
  uint64_t bits = 0;
  if (canonical && value != value) return UINT64_MAX;
  if (canonical && value == 0) value = 0;
  memcpy(&bits, &value, sizeof(bits));
  return ordered_bits(bits, 64);
}

static void float_keys(hlo_dtype_t dtype, bool canonical, int64_t count, const char* in,
                       hlo_sort_pair_t* pairs) {
  enum { CHUNK = 512 };
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  for (int64_t i = 0; i < count; i += CHUNK) {
    const int64_t n = count - i < CHUNK ? count - i : CHUNK;
    if (dtype == HLO_DTYPE_F64) {
      const double* values = (const double*)in + i;
      for (int64_t j = 0; j < n; j++) pairs[i + j].key = key_of_f64(values[j], canonical);
    } else {
      float values[CHUNK];
      hlo_dtype_convert(dtype, in + (size_t)i * bytes, HLO_DTYPE_F32, values, (size_t)n);
      for (int64_t j = 0; j < n; j++) pairs[i + j].key = key_of_f32(values[j], canonical);
    }
  }
}

void hlo_sort_make_keys(hlo_dtype_t dtype, bool canonical, bool descending, int64_t count,
                        const void* in, hlo_sort_pair_t* pairs) {
  const uint64_t flip = descending ? UINT64_MAX : 0;
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  if (hlo_dtype_is_float(dtype)) {
    float_keys(dtype, canonical, count, in, pairs);
  } else {
    const uint64_t sign = hlo_dtype_is_signed(dtype) ? (uint64_t)1 << 63 : 0;
    for (int64_t i = 0; i < count; i++) {
      pairs[i].key =
          (uint64_t)hlo_dtype_load_int64(dtype, (const char*)in + (size_t)i * bytes) ^ sign;
    }
  }
  for (int64_t i = 0; i < count; i++) {
    pairs[i].key ^= flip;
    pairs[i].index = i;
  }
}

static void insertion_sort(int64_t count, hlo_sort_pair_t* pairs) {
  for (int64_t i = 1; i < count; i++) {
    const hlo_sort_pair_t moving = pairs[i];
    int64_t j = i;
    for (; j > 0 && pairs[j - 1].key > moving.key; j--) pairs[j] = pairs[j - 1];
    pairs[j] = moving;
  }
}

static void merge_sort_pairs(int64_t count, hlo_sort_pair_t* pairs, hlo_sort_pair_t* scratch) {
  enum { RUN = 24 };
  for (int64_t i = 0; i < count; i += RUN) {
    insertion_sort(count - i < RUN ? count - i : RUN, pairs + i);
  }
  hlo_sort_pair_t *from = pairs, *to = scratch;
  for (int64_t width = RUN; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = start + width < count ? start + width : count;
      const int64_t end = middle + width < count ? middle + width : count;
      int64_t a = start, b = middle;
      for (int64_t o = start; o < end; o++) {
        const bool take_a = a < middle && (b >= end || from[a].key <= from[b].key);
        to[o] = take_a ? from[a++] : from[b++];
      }
    }
    hlo_sort_pair_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != pairs) memcpy(pairs, from, (size_t)count * sizeof(*pairs));
}

void hlo_sort_pairs(int64_t count, hlo_sort_pair_t* pairs, hlo_sort_pair_t* scratch) {
  enum { MERGE_LIMIT = 1024, DIGITS = 8 };
  if (count < MERGE_LIMIT) {
    merge_sort_pairs(count, pairs, scratch);
    return;
  }
  int64_t starts[DIGITS][256];
  memset(starts, 0, sizeof(starts));
  for (int64_t i = 0; i < count; i++) {
    for (int d = 0; d < DIGITS; d++) starts[d][(pairs[i].key >> (8 * d)) & 255]++;
  }
  hlo_sort_pair_t *from = pairs, *to = scratch;
  for (int d = 0; d < DIGITS; d++) {
    if (starts[d][(pairs[0].key >> (8 * d)) & 255] == count) continue;
    int64_t at = 0;
    for (int b = 0; b < 256; b++) {
      const int64_t here = starts[d][b];
      starts[d][b] = at;
      at += here;
    }
    for (int64_t i = 0; i < count; i++) to[starts[d][(from[i].key >> (8 * d)) & 255]++] = from[i];
    hlo_sort_pair_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != pairs) memcpy(pairs, from, (size_t)count * sizeof(*pairs));
}

void hlo_sort_indices(int64_t count, int64_t* indices, int64_t* scratch,
                      bool (*less)(void* context, int64_t a, int64_t b), void* context) {
  enum { RUN = 8 };
  for (int64_t start = 0; start < count; start += RUN) {
    const int64_t end = count - start < RUN ? count : start + RUN;
    for (int64_t i = start + 1; i < end; i++) {
      const int64_t moving = indices[i];
      int64_t j = i;
      for (; j > start && less(context, moving, indices[j - 1]); j--) indices[j] = indices[j - 1];
      indices[j] = moving;
    }
  }
  int64_t *from = indices, *to = scratch;
  for (int64_t width = RUN; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = start + width < count ? start + width : count;
      const int64_t end = middle + width < count ? middle + width : count;
      int64_t a = start, b = middle, o = start;
      while (a < middle && b < end) {
        to[o++] = less(context, from[b], from[a]) ? from[b++] : from[a++];
      }
      while (a < middle) to[o++] = from[a++];
      while (b < end) to[o++] = from[b++];
    }
    int64_t* swap = from;
    from = to;
    to = swap;
  }
  if (from != indices) memcpy(indices, from, (size_t)count * sizeof(*indices));
}
