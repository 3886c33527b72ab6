// SPDX-License-Identifier: Apache-2.0
// Sorts many short lines together in vector lanes (see sort.h).
#include "lib/isa.h"
#include "lib/sort.h"
#include "lib/sort_impl.h"
#include "lib/sort_keys.h"

const hlo_sort_lanes_t* hlo_sort_lanes(bool is_wide) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: return is_wide ? NULL : &hlo_sort_lanes_avx2_32;
    case HLO_ISA_AVX512: return is_wide ? &hlo_sort_lanes_avx512_64 : &hlo_sort_lanes_avx512_32;
  }
#endif
  (void)is_wide;
  return NULL;
}

enum { QUAD = 4, VECTOR_BYTES_MAX = 64 };

// The steps of the network per element grow with the square of the logarithm, those of a radix sort
// do not.
static int64_t longest_line(bool is_packed) {
  return is_packed ? 1 << 11 : 1 << 12;
}

int64_t hlo_sort_group(const hlo_sort_form_t* form, bool wants_positions, int64_t count) {
  const bool is_wide = hlo_sort_is_wide(form->dtype);
  if (wants_positions ? is_wide : !hlo_sort_values_supports(form->dtype)) return 0;
  const hlo_sort_lanes_t* lanes = hlo_sort_lanes(is_wide || wants_positions);
  return lanes && count <= longest_line(wants_positions) ? lanes->lanes : 0;
}

// The vectors of a line, padded, and the keys of a few lines.
size_t hlo_sort_group_scratch_bytes(int64_t count) {
  size_t padded = 16;
  while ((int64_t)padded < count) padded *= 2;
  return padded * VECTOR_BYTES_MAX + (size_t)count * QUAD * (sizeof(uint64_t) + sizeof(uint32_t));
}

// Returns the location of the keys.
static void* keys_of(int64_t count, void* scratch) {
  size_t padded = 16;
  while ((int64_t)padded < count) padded *= 2;
  return (char*)scratch + padded * VECTOR_BYTES_MAX;
}

static int64_t quad_lines(int64_t lines, int64_t first) {
  return lines - first < QUAD ? lines - first : QUAD;
}

static bool read_keys(const hlo_sort_form_t* form, const void* in, int64_t first, int64_t count,
                      void* keys) {
  return hlo_sort_is_wide(form->dtype) ? hlo_sort_keys_64(form, in, first, count, keys)
                                       : hlo_sort_keys_32(form, in, first, count, keys);
}

static void write_keys(const hlo_sort_form_t* form, int64_t first, int64_t count, const void* keys,
                       void* out) {
  if (hlo_sort_is_wide(form->dtype)) {
    hlo_sort_elements_64(form, first, count, keys, out);
  } else {
    hlo_sort_elements_32(form, first, count, keys, out);
  }
}

static uint32_t all_of(int64_t lines) {
  return ((uint32_t)1 << lines) - 1;
}

// Strided lines are in lanes already.
static uint32_t values_across(const hlo_sort_form_t* form, const hlo_sort_lanes_t* lanes,
                              int64_t lines, int64_t count, int64_t stride, const void* in,
                              void* out, void* x) {
  const int64_t bytes = lanes->lanes * (hlo_sort_is_wide(form->dtype) ? 8 : 4);
  for (int64_t e = 0; e < count; e++) {
    if (read_keys(form, in, e * stride, lines, (char*)x + e * bytes)) return all_of(lines);
  }
  lanes->sort(count, x);
  for (int64_t e = 0; e < count; e++)
    write_keys(form, e * stride, lines, (char*)x + e * bytes, out);
  return 0;
}

uint32_t hlo_sort_group_values(const hlo_sort_form_t* form, int64_t lines, int64_t count,
                               int64_t stride, const void* in, void* out, void* scratch) {
  const hlo_sort_lanes_t* lanes = hlo_sort_lanes(hlo_sort_is_wide(form->dtype));
  if (stride != 1) return values_across(form, lanes, lines, count, stride, in, out, scratch);
  void* keys = keys_of(count, scratch);
  uint32_t left = 0;
  for (int64_t l = 0; l < lines; l += QUAD) {
    if (read_keys(form, in, l * count, quad_lines(lines, l) * count, keys))
      left |= all_of(QUAD) << l;
    lanes->put(count, l, keys, scratch);
  }
  lanes->sort(count, scratch);
  for (int64_t l = 0; l < lines; l += QUAD) {
    if (left >> l & 1) continue;
    lanes->get(count, l, scratch, keys);
    write_keys(form, l * count, quad_lines(lines, l) * count, keys, out);
  }
  return left & all_of(lines);
}

// Entries are keys above positions, so no two are equal.
static void put_entries(const hlo_sort_form_t* form, int64_t lines, int64_t count, const void* in,
                        const hlo_sort_lanes_t* lanes, void* scratch) {
  uint64_t* entries = keys_of(count, scratch);
  uint32_t* keys = (uint32_t*)(entries + QUAD * count);
  for (int64_t l = 0; l < lines; l += QUAD) {
    const int64_t some = quad_lines(lines, l);
    hlo_sort_keys_32(form, in, l * count, some * count, keys);
    for (int64_t r = 0; r < some; r++) {
      for (int64_t i = 0; i < count; i++) {
        entries[r * count + i] = (uint64_t)keys[r * count + i] << 32 | (uint64_t)i;
      }
    }
    lanes->put(count, l, entries, scratch);
  }
}

void hlo_sort_group_positions(const hlo_sort_form_t* form, int64_t lines, int64_t count,
                              int64_t stride, const void* in, uint32_t* positions, void* scratch) {
  enum { LANES_MAX = 16 };
  const hlo_sort_lanes_t* lanes = hlo_sort_lanes(true);
  uint64_t *x = scratch, *entries = keys_of(count, scratch);
  if (stride == 1) put_entries(form, lines, count, in, lanes, scratch);
  for (int64_t e = 0; stride != 1 && e < count; e++) {
    uint32_t keys[LANES_MAX];
    hlo_sort_keys_32(form, in, e * stride, lines, keys);
    for (int64_t l = 0; l < lines; l++)
      x[e * lanes->lanes + l] = (uint64_t)keys[l] << 32 | (uint64_t)e;
  }
  lanes->sort(count, scratch);
  for (int64_t l = 0; l < lines; l += QUAD) {
    const int64_t some = quad_lines(lines, l) * count;
    lanes->get(count, l, scratch, entries);
    for (int64_t i = 0; i < some; i++) positions[l * count + i] = (uint32_t)entries[i];
  }
}
