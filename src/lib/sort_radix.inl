// SPDX-License-Identifier: Apache-2.0
// Stable sorting of one kind of entry. Requires T (entry), KEY(entry) (the unsigned key), KEY_BITS
// (number of low bits that may differ), NAME(x). Defines NAME(sort)().

// Runs sorted by insertion, then merged.
static T* NAME(merge)(int64_t count, T* data, T* other) {
  enum { RUN = 16 };
  for (int64_t start = 0; start < count; start += RUN) {
    const int64_t end = count - start < RUN ? count : start + RUN;
    for (int64_t i = start + 1; i < end; i++) {
      const T moving = data[i];
      int64_t j = i;
      for (; j > start && KEY(data[j - 1]) > KEY(moving); j--) data[j] = data[j - 1];
      data[j] = moving;
    }
  }
  for (int64_t width = RUN; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      const int64_t middle = start + width < count ? start + width : count;
      const int64_t end = middle + width < count ? middle + width : count;
      int64_t a = start, b = middle, o = start;
      while (a < middle && b < end) {
        const bool take_b = KEY(data[b]) < KEY(data[a]);
        other[o++] = data[take_b ? b : a];
        b += take_b;
        a += !take_b;
      }
      memcpy(other + o, data + a, (size_t)(middle - a) * sizeof(T));
      memcpy(other + o + (middle - a), data + b, (size_t)(end - b) * sizeof(T));
    }
    T* swap = data;
    data = other;
    other = swap;
  }
  return data;
}

// One stable pass by a digit of the key, split into chunks of entries.
typedef struct {
  int64_t count;
  uint64_t chunk_count;
  const T* from;
  T* to;
  int shift;
  uint32_t (*counts)[RADIX];  // by chunk: the count of each digit; then the offsets
} NAME(pass_t);

static void NAME(count_chunk)(void* arg, uint64_t index) {
  enum { LANES = 4 };  // independent counters, so that equal neighbours do not wait for each other
  const NAME(pass_t)* pass = arg;
  uint32_t lanes[LANES][RADIX] = {{0}};
  size_t i, end;
  hlo_chunk_range((size_t)pass->count, pass->chunk_count, index, &i, &end);
  for (; i + LANES <= end; i += LANES) {
    for (int l = 0; l < LANES; l++) {
      lanes[l][(KEY(pass->from[i + (size_t)l]) >> pass->shift) & (RADIX - 1)]++;
    }
  }
  for (; i < end; i++) lanes[0][(KEY(pass->from[i]) >> pass->shift) & (RADIX - 1)]++;
  for (int b = 0; b < RADIX; b++) {
    pass->counts[index][b] = lanes[0][b] + lanes[1][b] + lanes[2][b] + lanes[3][b];
  }
}

static void NAME(move_chunk)(void* arg, uint64_t index) {
  const NAME(pass_t)* pass = arg;
  uint32_t* offsets = pass->counts[index];
  const T* from = pass->from;
  T* to = pass->to;
  const int shift = pass->shift;
  size_t i, end;
  hlo_chunk_range((size_t)pass->count, pass->chunk_count, index, &i, &end);
  for (; i < end; i++) {
    const T entry = from[i];
    to[offsets[(KEY(entry) >> shift) & (RADIX - 1)]++] = entry;
  }
}

static T* NAME(radix_in_chunks)(const hlo_parallel_t* parallel, uint64_t chunk_count, int64_t count,
                                T* data, T* other, uint32_t (*counts)[RADIX]) {
  NAME(pass_t) pass = {.count = count, .chunk_count = chunk_count, .counts = counts};
  for (int shift = 0; shift < KEY_BITS; shift += RADIX_BITS) {
    pass.shift = shift;
    pass.from = data;
    pass.to = other;
    hlo_parallel_for(parallel, chunk_count, NAME(count_chunk), &pass);
    if (!counts_to_offsets(chunk_count, (uint64_t)count, counts)) continue;
    hlo_parallel_for(parallel, chunk_count, NAME(move_chunk), &pass);
    T* swap = data;
    data = other;
    other = swap;
  }
  return data;
}

// One pass counts all digits: the counts do not depend on the order.
static T* NAME(radix_alone)(int64_t count, T* data, T* other) {
  enum { DIGITS = (KEY_BITS + RADIX_BITS - 1) / RADIX_BITS };
  uint32_t counts[DIGITS][RADIX] = {{0}};
  for (int64_t i = 0; i < count; i++) {
    for (int d = 0; d < DIGITS; d++) {
      counts[d][(KEY(data[i]) >> (d * RADIX_BITS)) & (RADIX - 1)]++;
    }
  }
  for (int d = 0; d < DIGITS; d++) {
    if (!counts_to_offsets(1, (uint64_t)count, &counts[d])) continue;
    NAME(pass_t) pass = {.count = count,
                         .chunk_count = 1,
                         .from = data,
                         .to = other,
                         .shift = d * RADIX_BITS,
                         .counts = &counts[d]};
    NAME(move_chunk)(&pass, 0);
    T* swap = data;
    data = other;
    other = swap;
  }
  return data;
}

// Sorts `data`; returns the location of the result, `data` or `other`.
static T* NAME(sort)(const hlo_parallel_t* parallel, int64_t count, T* data, T* other,
                     uint32_t (*counts)[RADIX]) {
  const uint64_t chunk_count = sort_chunk_count(count);
  if (count < MERGE_LIMIT) return NAME(merge)(count, data, other);
  if (chunk_count == 1) return NAME(radix_alone)(count, data, other);
  return NAME(radix_in_chunks)(parallel, chunk_count, count, data, other, counts);
}

#undef T
#undef KEY
#undef KEY_BITS
#undef NAME
