// SPDX-License-Identifier: Apache-2.0
// Sorting by keys: keys alone (values), keys packed with positions in one word, or pairs if the key
// fills a word. Sorting by a function: bottom-up merges.
#include "lib/sort.h"

#include <string.h>

#include "base/mem.h"
#include "lib/sort_impl.h"
#include "lib/sort_keys.h"

enum {
  RADIX_BITS = 8,
  RADIX = 1 << RADIX_BITS,
  MERGE_LIMIT = 192,        // shorter lines use merges, since clearing the counts takes longer
  CHUNK_ENTRIES = 1 << 15,  // of a parallel pass
  CHUNK_COUNT_MAX = 64,
  BLOCK = 512,  // elements converted to keys at a time
};

// A 64-bit key and its position.
typedef struct {
  uint64_t key, position;
} wide_t;

static uint64_t sort_chunk_count(int64_t count) {
  const uint64_t chunks = (uint64_t)count / CHUNK_ENTRIES;
  return chunks < 2 ? 1 : chunks < CHUNK_COUNT_MAX ? chunks : CHUNK_COUNT_MAX;
}

// Converts counts by chunk and digit to the offsets at which each chunk stores its entries. Returns
// false if all entries have the same digit.
static bool counts_to_offsets(uint64_t chunk_count, uint64_t count, uint32_t (*counts)[RADIX]) {
  uint32_t at = 0;
  for (int b = 0; b < RADIX; b++) {
    const uint32_t first = at;
    for (uint64_t c = 0; c < chunk_count; c++) {
      const uint32_t here = counts[c][b];
      counts[c][b] = at;
      at += here;
    }
    if (at - first == count) return false;
  }
  return true;
}

#define T uint32_t
#define KEY(x) (x)
#define KEY_BITS 32
#define NAME(x) narrow_##x
#include "lib/sort_radix.inl"
#define T uint64_t
#define KEY(x) ((uint32_t)((x) >> 32))
#define KEY_BITS 32
#define NAME(x) packed_##x
#include "lib/sort_radix.inl"
#define T uint64_t
#define KEY(x) (x)
#define KEY_BITS 64
#define NAME(x) plain_##x
#include "lib/sort_radix.inl"
#define T wide_t
#define KEY(x) ((x).key)
#define KEY_BITS 64
#define NAME(x) wide_##x
#include "lib/sort_radix.inl"

bool hlo_sort_scratch_bytes(hlo_dtype_t dtype, int64_t count, size_t* out_bytes) {
  const size_t entry = hlo_sort_is_wide(dtype) ? sizeof(wide_t) : sizeof(uint64_t);
  size_t bytes = 0;
  return hlo_size_mul((size_t)count, 2 * entry, &bytes) &&
         hlo_size_add(bytes, sort_chunk_count(count) * RADIX * sizeof(uint32_t), out_bytes);
}

bool hlo_sort_values_supports(hlo_dtype_t dtype) {
  const int bits = (int)hlo_dtype_info(dtype)->bits;
  return !hlo_dtype_is_complex(dtype) && (!hlo_dtype_is_float(dtype) || bits >= 16);
}

// ---- a line to sort

typedef struct {
  const hlo_parallel_t* parallel;
  const hlo_sort_form_t* form;
  int64_t count;
  uint64_t chunk_count;
  const void* in;
  void* out;
  bool is_identity;
  uint32_t* positions;
  void *data, *other;  // entries
  uint32_t (*counts)[RADIX];
  atomic_bool has_special;  // set by chunks of make_keys; read after them
} line_t;

static line_t line_of(const hlo_parallel_t* parallel, const hlo_sort_form_t* form, int64_t count,
                      const void* in, void* scratch) {
  const size_t entry = hlo_sort_is_wide(form->dtype) ? sizeof(wide_t) : sizeof(uint64_t);
  line_t line = {.parallel = parallel, .form = form, .count = count, .in = in};
  line.chunk_count = sort_chunk_count(count);
  line.counts = scratch;
  line.data = line.counts + line.chunk_count;
  line.other = (char*)line.data + (size_t)count * entry;
  return line;
}

static void chunk_of(const line_t* line, uint64_t index, int64_t* out_first, int64_t* out_count) {
  size_t begin, end;
  hlo_chunk_range((size_t)line->count, line->chunk_count, index, &begin, &end);
  *out_first = (int64_t)begin;
  *out_count = (int64_t)(end - begin);
}

// ---- values

// relaxed: the end of the loop orders it before the only reader
static void note_special(line_t* line, bool has_special) {
  if (has_special) atomic_store_explicit(&line->has_special, true, memory_order_relaxed);
}

static void make_value_keys(void* arg, uint64_t index) {
  line_t* line = arg;
  int64_t first, count;
  chunk_of(line, index, &first, &count);
  if (hlo_sort_is_wide(line->form->dtype)) {
    note_special(
        line, hlo_sort_keys_64(line->form, line->in, first, count, (uint64_t*)line->data + first));
  } else {
    note_special(
        line, hlo_sort_keys_32(line->form, line->in, first, count, (uint32_t*)line->data + first));
  }
}

static void write_values(void* arg, uint64_t index) {
  line_t* line = arg;
  int64_t first, count;
  chunk_of(line, index, &first, &count);
  if (hlo_sort_is_wide(line->form->dtype)) {
    hlo_sort_elements_64(line->form, first, count, (uint64_t*)line->data + first, line->out);
  } else {
    hlo_sort_elements_32(line->form, first, count, (uint32_t*)line->data + first, line->out);
  }
}

bool hlo_sort_values(const hlo_parallel_t* parallel, const hlo_sort_form_t* form, int64_t count,
                     const void* in, void* out, void* scratch) {
  line_t line = line_of(parallel, form, count, in, scratch);
  hlo_parallel_for(parallel, line.chunk_count, make_value_keys, &line);
  if (atomic_load_explicit(&line.has_special, memory_order_relaxed)) return false;
  line.out = out;
  if (hlo_sort_is_wide(form->dtype)) {
    line.data = plain_sort(parallel, count, line.data, line.other, line.counts);
  } else {
    line.data = narrow_sort(parallel, count, line.data, line.other, line.counts);
  }
  hlo_parallel_for(parallel, line.chunk_count, write_values, &line);
  return true;
}

// ---- positions

// Packs the entries of a block in the order of `positions`.
static void make_packed(const line_t* line, int64_t first, int64_t count) {
  uint32_t keys[BLOCK];
  uint64_t* out = (uint64_t*)line->data + first;
  hlo_sort_keys_32(line->form, line->in, first, count, keys);
  for (int64_t i = 0; i < count; i++) out[i] = (uint64_t)keys[i] << 32 | (uint64_t)(first + i);
}

static void make_wide(const line_t* line, int64_t first, int64_t count) {
  uint64_t keys[BLOCK];
  wide_t* out = (wide_t*)line->data + first;
  hlo_sort_keys_64(line->form, line->in, first, count, keys);
  for (int64_t i = 0; i < count; i++) out[i] = (wide_t){keys[i], (uint64_t)(first + i)};
}

static void make_entries(void* arg, uint64_t index) {
  const line_t* line = arg;
  int64_t first, count;
  chunk_of(line, index, &first, &count);
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t n = count - i < BLOCK ? count - i : BLOCK;
    (hlo_sort_is_wide(line->form->dtype) ? make_wide : make_packed)(line, first + i, n);
  }
}

// Arranges the entries in the order of the positions.
static void order_entries(void* arg, uint64_t index) {
  const line_t* line = arg;
  int64_t first, count;
  chunk_of(line, index, &first, &count);
  const uint32_t* positions = line->positions;
  const bool is_wide = hlo_sort_is_wide(line->form->dtype);
  for (int64_t i = first; i < first + count; i++) {
    if (is_wide) {
      ((wide_t*)line->other)[i] = ((const wide_t*)line->data)[positions[i]];
    } else {
      ((uint64_t*)line->other)[i] = ((const uint64_t*)line->data)[positions[i]];
    }
  }
}

static void write_positions(void* arg, uint64_t index) {
  const line_t* line = arg;
  int64_t first, count;
  chunk_of(line, index, &first, &count);
  const bool is_wide = hlo_sort_is_wide(line->form->dtype);
  for (int64_t i = first; i < first + count; i++) {
    line->positions[i] = is_wide ? (uint32_t)((const wide_t*)line->data)[i].position
                                 : (uint32_t)((const uint64_t*)line->data)[i];
  }
}

void hlo_sort_positions(const hlo_parallel_t* parallel, const hlo_sort_form_t* form, int64_t count,
                        const void* in, bool is_identity, uint32_t* positions, void* scratch) {
  line_t line = line_of(parallel, form, count, in, scratch);
  line.positions = positions;
  hlo_parallel_for(parallel, line.chunk_count, make_entries, &line);
  if (!is_identity) {
    hlo_parallel_for(parallel, line.chunk_count, order_entries, &line);
    void* swap = line.data;
    line.data = line.other;
    line.other = swap;
  }
  if (hlo_sort_is_wide(form->dtype)) {
    line.data = wide_sort(parallel, count, line.data, line.other, line.counts);
  } else {
    line.data = packed_sort(parallel, count, line.data, line.other, line.counts);
  }
  hlo_parallel_for(parallel, line.chunk_count, write_positions, &line);
}

// ---- selection of the first elements ------------------------------------------------------------

// Returns a key that at least `kept` keys do not exceed: the kept-th smallest of the minima of 4 *
// kept columns.
static uint32_t upper_bound(int64_t count, const uint32_t* keys, int64_t kept, uint32_t* work) {
  const int64_t columns = 4 * kept;
  hlo_sort_loops()->least_of_columns(count, keys, columns, work);
  return narrow_sort(NULL, columns, work, work + columns, NULL)[kept - 1];
}

// Returns true if sorting the whole line is faster.
static bool selects_by_sorting(const hlo_sort_form_t* form, int64_t count, int64_t kept) {
  enum { COLUMNS_MAX = CHUNK_ENTRIES };  // one chunk, which sorts without shared counts
  return hlo_sort_is_wide(form->dtype) || kept > COLUMNS_MAX / 4 || 8 * kept > count;
}

int64_t hlo_sort_select_group(const hlo_sort_form_t* form, int64_t count, int64_t kept) {
  enum { SHORT = 64 };
  const bool sorts = count <= SHORT || selects_by_sorting(form, count, kept);
  return sorts ? hlo_sort_group(form, true, count) : 0;
}

void hlo_sort_select(const hlo_sort_form_t* form, int64_t count, const void* in, int64_t kept,
                     uint32_t* positions, void* scratch) {
  if (kept == 0) return;
  if (selects_by_sorting(form, count, kept)) {
    hlo_sort_positions(NULL, form, count, in, true, positions, scratch);
    return;
  }
  const line_t line = line_of(NULL, form, count, in, scratch);
  uint32_t* keys = line.other;
  hlo_sort_keys_32(form, in, 0, count, keys);
  const uint32_t bound = upper_bound(count, keys, kept, line.data);
  const int64_t found = hlo_sort_loops()->collect(count, keys, bound, kept, line.data);
  const uint64_t* sorted = packed_sort(NULL, found, line.data, line.other, line.counts);
  for (int64_t i = 0; i < kept; i++) positions[i] = (uint32_t)sorted[i];
}

// ---- sorting by positions

void hlo_sort_permute(size_t bytes, int64_t count, int64_t stride, const uint32_t* positions,
                      const void* in, void* out) {
  switch (bytes) {
    case 4:
      for (int64_t i = 0; i < count; i++) {
        ((uint32_t*)out)[i * stride] = ((const uint32_t*)in)[positions[i] * stride];
      }
      return;
    case 8:
      for (int64_t i = 0; i < count; i++) {
        ((uint64_t*)out)[i * stride] = ((const uint64_t*)in)[positions[i] * stride];
      }
      return;
    default:
      for (int64_t i = 0; i < count; i++) {
        memcpy((char*)out + (size_t)(i * stride) * bytes,
               (const char*)in + (size_t)(positions[i] * stride) * bytes, bytes);
      }
  }
}
