// SPDX-License-Identifier: Apache-2.0
// Index vectors as start offsets of runs (see index_rows.h).
#include "lib/index_rows.h"

#include "base/copy.h"

// A window is a run if it has size 1 in the outer dims, any size in the next dim, and the full size
// in the rest.
static bool is_run(uint32_t rank, const int64_t* dims, const int64_t* sizes) {
  uint32_t d = 0;
  while (d < rank && sizes[d] == 1) d++;
  for (d++; d < rank; d++) {
    if (sizes[d] != dims[d]) return false;
  }
  return true;
}

bool hlo_index_rows_init(hlo_index_rows_t* out, const hlo_index_vectors_t* vectors,
                         uint32_t operand_rank, const int64_t* operand_dims, const int64_t* sizes,
                         const int64_t* position_strides) {
  *out = (hlo_index_rows_t){.dtype = vectors->dtype, .count = 1, .row = 1};
  out->component_count = vectors->map.count;
  if (vectors->map.count == 0 || vectors->map.count > HLO_RANK_MAX ||
      (vectors->map.count > 1 && vectors->component_stride != 1) ||
      hlo_dtype_info(vectors->dtype)->bits < 8 || !is_run(operand_rank, operand_dims, sizes)) {
    return false;
  }
  int64_t strides[HLO_RANK_MAX];
  hlo_strided_dense(1, operand_rank, operand_dims, strides);
  out->batch_rank = vectors->batch_rank;
  for (uint32_t b = 0; b < vectors->batch_rank; b++) out->dims[b] = vectors->dims[b];
  for (uint32_t d = 0; d < operand_rank; d++) {
    if (sizes[d] > operand_dims[d]) return false;
    out->row *= sizes[d];
    const int shared = vectors->batch_of[d];
    if (shared < 0) continue;
    if (sizes[d] != 1) return false;
    out->offsets[shared] = strides[d];
    out->is_batched = true;
  }
  for (uint32_t c = 0; c < vectors->map.count; c++) {
    const int64_t d = vectors->map.values[c];
    out->strides[c] = strides[d];
    out->limits[c] = operand_dims[d] - sizes[d];
  }
  for (uint32_t b = vectors->batch_rank; b > 0; b--) {
    const int64_t size = vectors->dims[b - 1];
    if (size != 1 && (vectors->strides[b - 1] != out->count * (int64_t)vectors->map.count ||
                      position_strides[b - 1] != out->count * out->row)) {
      return false;
    }
    out->count *= size;
  }
  return true;
}

// A single component, without branches; an unsigned comparison checks both bounds.
static void read_single(int64_t count, int64_t stride, int64_t limit, bool is_unsigned, bool drops,
                        const int64_t* values, int64_t* out) {
  for (int64_t i = 0; i < count; i++) {
    const bool fits = (uint64_t)values[i] <= (uint64_t)limit;
    const int64_t moved = values[i] < 0 && !is_unsigned ? 0 : limit * stride;
    out[i] = fits ? values[i] * stride : drops ? -1 : moved;
  }
}

// Adds the offsets of the batching dimensions to the starts of positions from `first` on.
static void add_offsets(const hlo_index_rows_t* rows, int64_t first, int64_t count,
                        int64_t* starts) {
  int64_t position[HLO_RANK_MAX], offset = 0;
  for (uint32_t b = rows->batch_rank; b > 0; b--) {
    position[b - 1] = first % rows->dims[b - 1];
    first /= rows->dims[b - 1];
    offset += position[b - 1] * rows->offsets[b - 1];
  }
  for (int64_t i = 0; i < count; i++) {
    if (starts[i] >= 0) starts[i] += offset;
    for (uint32_t b = rows->batch_rank; b > 0; b--) {
      offset += rows->offsets[b - 1];
      if (++position[b - 1] < rows->dims[b - 1]) break;
      offset -= rows->dims[b - 1] * rows->offsets[b - 1];
      position[b - 1] = 0;
    }
  }
}

static void read_components(const hlo_index_rows_t* rows, int64_t first, int64_t count, bool drops,
                            int64_t* out_starts) {
  int64_t values[HLO_INDEX_ROWS_BLOCK];
  const hlo_dtype_t dtype = rows->dtype;
  const uint32_t components = rows->component_count;
  const size_t width = hlo_dtype_size_bytes(dtype);
  hlo_dtype_convert(dtype, (const char*)rows->indices + (size_t)(first * components) * width,
                    HLO_DTYPE_S64, values, (size_t)(count * components));
  const bool is_unsigned = hlo_dtype_is_unsigned(dtype);
  if (components == 1) {
    read_single(count, rows->strides[0], rows->limits[0], is_unsigned, drops, values, out_starts);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t start = 0;
    for (uint32_t c = 0; c < components; c++) {
      int64_t at = values[i * components + c];
      const int64_t limit = rows->limits[c];
      if (at < 0 || at > limit) {
        if (drops) {
          start = -1;
          break;
        }
        at = at < 0 && !is_unsigned ? 0 : limit;
      }
      start += at * rows->strides[c];
    }
    out_starts[i] = start;
  }
}

void hlo_index_rows_read(const hlo_index_rows_t* rows, int64_t first, int64_t count, bool drops,
                         int64_t* out_starts) {
  read_components(rows, first, count, drops, out_starts);
  if (rows->is_batched) add_offsets(rows, first, count, out_starts);
}

bool hlo_index_rows_are_apart(const hlo_index_rows_t* rows) {
  int64_t last = 0;
  for (uint32_t b = 0; b < rows->batch_rank; b++) {
    if (rows->offsets[b] % rows->row != 0) return false;
    last += (rows->dims[b] - 1) * (rows->offsets[b] / rows->row);
  }
  for (uint32_t c = 0; c < rows->component_count; c++) {
    if (rows->strides[c] % rows->row != 0) return false;
    last += rows->limits[c] * (rows->strides[c] / rows->row);
  }
  return last < INT32_MAX;
}

// Computes the rows of positions from the components of their index vectors (64 or 32 bits);
// UINT32_MAX: out of bounds.
static inline void read_places(uint32_t components, bool is_wide, const uint32_t* steps,
                               const int64_t* limits, int64_t count, const void* values,
                               uint32_t* out) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t place = 0;
    bool is_outside = false;
    for (uint32_t c = 0; c < components; c++) {
      const int64_t n = i * components + c;
      const int64_t at = is_wide ? ((const int64_t*)values)[n] : ((const int32_t*)values)[n];
      is_outside |= (uint64_t)at > (uint64_t)limits[c];
      place += (uint32_t)at * steps[c];
    }
    out[i] = is_outside ? UINT32_MAX : place;
  }
}

// Like read_places(), with loops of constant trip count.
static void read_few_places(uint32_t components, const uint32_t* steps, const int64_t* limits,
                            int64_t count, const int32_t* values, uint32_t* out) {
  switch (components) {
    case 1: read_places(1, false, steps, limits, count, values, out); return;
    case 2: read_places(2, false, steps, limits, count, values, out); return;
    case 3: read_places(3, false, steps, limits, count, values, out); return;
    default: read_places(components, false, steps, limits, count, values, out);
  }
}

// Adds the offsets of the batching dimensions to the rows of positions from `first` on, one run
// along the last dimension at a time.
static void add_places(const hlo_index_rows_t* rows, int64_t first, int64_t count,
                       uint32_t* places) {
  int64_t position[HLO_RANK_MAX];
  for (uint32_t b = rows->batch_rank; b > 0; b--) {
    position[b - 1] = first % rows->dims[b - 1];
    first /= rows->dims[b - 1];
  }
  const uint32_t last = rows->batch_rank - 1;
  const uint32_t step = (uint32_t)(rows->offsets[last] / rows->row);
  for (int64_t i = 0; i < count;) {
    const int64_t left = rows->dims[last] - position[last];
    const int64_t end = left < count - i ? i + left : count;
    uint32_t offset = 0;
    for (uint32_t b = 0; b <= last; b++) {
      offset += (uint32_t)(position[b] * (rows->offsets[b] / rows->row));
    }
    for (; i < end; i++, offset += step) {
      if (places[i] != UINT32_MAX) places[i] += offset;
    }
    position[last] = 0;
    for (uint32_t b = last; b > 0 && ++position[b - 1] == rows->dims[b - 1]; b--)
      position[b - 1] = 0;
  }
}

void hlo_index_rows_places(const hlo_index_rows_t* rows, int64_t first, int64_t count,
                           hlo_index_places_t* out) {
  const hlo_dtype_t dtype = rows->dtype;
  const uint32_t components = rows->component_count;
  const bool is_narrow = dtype == HLO_DTYPE_S32 || dtype == HLO_DTYPE_U32;
  const char* from =
      (const char*)rows->indices + (size_t)(first * components) * hlo_dtype_size_bytes(dtype);
  if (is_narrow && components == 1 && !rows->is_batched && rows->strides[0] == rows->row) {
    out->places = (const uint32_t*)from;
    out->end = rows->limits[0] + 1;
    return;
  }
  uint32_t steps[HLO_RANK_MAX];
  for (uint32_t c = 0; c < components; c++) steps[c] = (uint32_t)(rows->strides[c] / rows->row);
  if (dtype == HLO_DTYPE_S32) {
    read_few_places(components, steps, rows->limits, count, (const int32_t*)from, out->read);
  } else {
    int64_t values[HLO_INDEX_ROWS_BLOCK];
    hlo_dtype_convert(dtype, from, HLO_DTYPE_S64, values, (size_t)(count * components));
    read_places(components, true, steps, rows->limits, count, values, out->read);
  }
  if (rows->is_batched) add_places(rows, first, count, out->read);
  out->places = out->read;
  out->end = UINT32_MAX;
}
