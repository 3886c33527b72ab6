// SPDX-License-Identifier: Apache-2.0
// Copies between layouts (see shape.h). A plan drops dimensions of size 1, orders the rest by where
// they are written, merges neighbours that both sides keep together, and names the inner loop.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"

enum {
  HLO_CACHELINE_BYTES = 64,
  BLOCK_LIMIT = 16,          // rows and columns of a transposed block
};

typedef struct wide {
  uint64_t words[2];
} wide_t;

#define COPY_T uint8_t
#define COPY_FN(name) name##_1
#include "base/copy_loops.inl"
#define COPY_T uint16_t
#define COPY_FN(name) name##_2
#include "base/copy_loops.inl"
#define COPY_T uint32_t
#define COPY_FN(name) name##_4
#include "base/copy_loops.inl"
#define COPY_T uint64_t
#define COPY_FN(name) name##_8
#include "base/copy_loops.inl"
#define COPY_T wide_t
#define COPY_FN(name) name##_16
#include "base/copy_loops.inl"

// ---- planning ----------------------------------------------------------------------------------

static uint64_t magnitude(int64_t x) {
  return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

// Orders dimensions from the largest step of the output to the smallest.
static void sort_dims(hlo_copy_dim_t* dims, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    hlo_copy_dim_t dim = dims[i];
    uint32_t k = i;
    for (; k > 0 && magnitude(dims[k - 1].out_stride) < magnitude(dim.out_stride); --k) {
      dims[k] = dims[k - 1];
    }
    dims[k] = dim;
  }
}

// Every step of the output must pass over what the dimensions inside it write.
static hlo_status_t check_no_overlap(const hlo_copy_dim_t* dims, uint32_t count,
                                     size_t item_bytes) {
  uint64_t inner = item_bytes;
  for (uint32_t i = count; i-- > 0;) {
    uint64_t step = magnitude(dims[i].out_stride);
    if (step < inner) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "the elements written overlap: a stride of %lld bytes over %llu",
                               (long long)dims[i].out_stride, (unsigned long long)inner);
    }
    if (__builtin_mul_overflow(step, (uint64_t)(dims[i].extent - 1), &step) ||
        __builtin_add_overflow(inner, step, &inner)) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "strides that do not fit 2^64 bytes");
    }
  }
  return hlo_ok();
}

static uint32_t merge_dims(hlo_copy_dim_t* dims, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_copy_dim_t* outer = kept ? &dims[kept - 1] : NULL;
    const hlo_copy_dim_t* inner = &dims[i];
    int64_t in_span, out_span;
    if (outer && !__builtin_mul_overflow(inner->in_stride, inner->extent, &in_span) &&
        !__builtin_mul_overflow(inner->out_stride, inner->extent, &out_span) &&
        outer->in_stride == in_span && outer->out_stride == out_span) {
      *outer = (hlo_copy_dim_t){outer->extent * inner->extent, inner->in_stride, inner->out_stride};
    } else {
      dims[kept++] = dims[i];
    }
  }
  return kept;
}

// Moves the dimension that the input keeps together next to the innermost one.
static bool find_transpose(hlo_copy_plan_t* plan) {
  size_t size = plan->item_bytes;
  bool has_kernel = size <= sizeof(wide_t) && (size & (size - 1)) == 0;
  uint32_t last = plan->dim_count - 1;
  if (!has_kernel || plan->dim_count < 2 || plan->dims[last].out_stride != (int64_t)size) {
    return false;
  }
  for (uint32_t i = last; i-- > 0;) {
    if (plan->dims[i].in_stride != (int64_t)size) continue;
    hlo_copy_dim_t dim = plan->dims[i];
    memmove(&plan->dims[i], &plan->dims[i + 1], (last - 1 - i) * sizeof dim);
    plan->dims[last - 1] = dim;
    return true;
  }
  return false;
}

// Takes over the dimensions, without those of size 1, in the order they are written.
static void take_dims(hlo_copy_plan_t* plan, size_t rank, const int64_t* dims,
                      const int64_t* in_strides, const int64_t* out_strides) {
  uint32_t count = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 1) continue;
    plan->dims[count++] = (hlo_copy_dim_t){dims[i], in_strides[i], out_strides[i]};
  }
  sort_dims(plan->dims, count);
  plan->dim_count = count;
}

// Merges, and names the inner loop.
static void choose_loop(hlo_copy_plan_t* plan) {
  uint32_t count = merge_dims(plan->dims, plan->dim_count);
  const hlo_copy_dim_t* inner = &plan->dims[count ? count - 1 : 0];
  int64_t item = (int64_t)plan->item_bytes;
  if (count && inner->in_stride == item && inner->out_stride == item) {
    plan->item_bytes *= (size_t)inner->extent;
    --count;
  }
  plan->dim_count = count;
  if (count == 0) {
    plan->kind = HLO_COPY_KIND_BYTES;
  } else {
    plan->kind = find_transpose(plan) ? HLO_COPY_KIND_TRANSPOSE : HLO_COPY_KIND_RUNS;
  }
}

static hlo_status_t plan_strides(hlo_copy_plan_t* plan, const hlo_shape_t* shape,
                                 const int64_t* in_strides, const int64_t* out_strides) {
  plan->item_bytes = hlo_dtype_size_bytes(shape->dtype);
  plan->total_bytes = shape->size_bytes;
  take_dims(plan, shape->rank, shape->dims, in_strides, out_strides);
  HLO_TRY(check_no_overlap(plan->dims, plan->dim_count, plan->item_bytes));
  choose_loop(plan);
  return hlo_ok();
}

void hlo_copy_plan_init_strided(hlo_copy_plan_t* plan, size_t element_bytes, size_t rank,
                                const int64_t* dims, const int64_t* in_strides,
                                const int64_t* out_strides) {
  assert(rank <= HLO_SHAPE_RANK_LIMIT);
  plan->kind = HLO_COPY_KIND_EMPTY;
  plan->item_bytes = plan->total_bytes = element_bytes;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] <= 0) return;
    plan->total_bytes *= (size_t)dims[i];
  }
  take_dims(plan, rank, dims, in_strides, out_strides);
  choose_loop(plan);
}

typedef struct side {
  bool has_strides;
  int64_t strides[HLO_SHAPE_RANK_LIMIT];
  hlo_layout_t layout;  // where has_strides is false
} side_t;

static hlo_status_t resolve_side(const hlo_shape_t* shape, hlo_copy_side_t given, side_t* out) {
  out->has_strides = true;
  if (given.byte_strides) {
    if (shape->rank) memcpy(out->strides, given.byte_strides, shape->rank * sizeof(int64_t));
    return hlo_ok();
  }
  if (given.layout) {
    HLO_TRY(hlo_layout_verify(given.layout, shape));
    out->layout = *given.layout;
  } else {
    hlo_layout_init_row_major(&out->layout, shape->rank);
  }
  out->has_strides = hlo_layout_byte_strides(&out->layout, shape, out->strides);
  return hlo_ok();
}

// The same order of elements, dimensions of size 1 apart.
static bool is_same_order(const hlo_layout_t* a, const hlo_layout_t* b, const hlo_shape_t* shape) {
  uint32_t i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < shape->rank && shape->dims[a->minor_to_major[i]] == 1) ++i;
    while (j < shape->rank && shape->dims[b->minor_to_major[j]] == 1) ++j;
    if (i >= shape->rank || j >= shape->rank) return i >= shape->rank && j >= shape->rank;
    if (a->minor_to_major[i] != b->minor_to_major[j]) return false;
  }
}

// At least one side is tiled or packed.
static hlo_status_t plan_elements(hlo_copy_plan_t* plan, const hlo_shape_t* shape, side_t* in,
                                  side_t* out) {
  side_t* sides[] = {in, out};
  for (int i = 0; i < 2; ++i) {
    side_t* side = sides[i];
    if (side->has_strides && !hlo_layout_from_byte_strides(shape, side->strides, &side->layout)) {
      return hlo_status_create(HLO_STATUS_UNIMPLEMENTED,
                               "a copy between strides with gaps and a tiled or packed layout");
    }
  }
  HLO_TRY(hlo_layout_size_bytes(&out->layout, shape, &plan->total_bytes));
  plan->shape = *shape;
  plan->in_layout = in->layout;
  plan->out_layout = out->layout;
  bool tiled = in->layout.tile_count || out->layout.tile_count;
  bool packs_one = in->has_strides != out->has_strides;
  plan->kind = HLO_COPY_KIND_ELEMENTS;
  if (!tiled && packs_one && is_same_order(&in->layout, &out->layout, shape)) {
    plan->kind = in->has_strides ? HLO_COPY_KIND_PACK : HLO_COPY_KIND_UNPACK;
  }
  return hlo_ok();
}

hlo_status_t hlo_copy_plan_init(hlo_copy_plan_t* plan, const hlo_shape_t* shape, hlo_copy_side_t in,
                                hlo_copy_side_t out) {
  memset(plan, 0, offsetof(hlo_copy_plan_t, dims));
  side_t in_side, out_side;
  HLO_TRY_MSG(resolve_side(shape, in, &in_side), "source");
  HLO_TRY_MSG(resolve_side(shape, out, &out_side), "destination");
  if (shape->size_bytes == 0) {
    plan->kind = HLO_COPY_KIND_EMPTY;
    return hlo_ok();
  }
  if (in_side.has_strides && out_side.has_strides) {
    return plan_strides(plan, shape, in_side.strides, out_side.strides);
  }
  return plan_elements(plan, shape, &in_side, &out_side);
}

// ---- running -----------------------------------------------------------------------------------

static void run_items(const hlo_copy_dim_t* dim, size_t item_bytes, const uint8_t* in,
                      uint8_t* out) {
  int64_t extent = dim->extent, in_stride = dim->in_stride, out_stride = dim->out_stride;
  switch (item_bytes) {
    case 1: line_1(in, out, extent, in_stride, out_stride); return;
    case 2: line_2(in, out, extent, in_stride, out_stride); return;
    case 4: line_4(in, out, extent, in_stride, out_stride); return;
    case 8: line_8(in, out, extent, in_stride, out_stride); return;
    case 16: line_16(in, out, extent, in_stride, out_stride); return;
    default:
      for (int64_t i = 0; i < extent; ++i) {
        memcpy(out + i * out_stride, in + i * in_stride, item_bytes);
      }
  }
}

static void run_transpose(const hlo_copy_dim_t* p, const hlo_copy_dim_t* q, size_t item_bytes,
                          const uint8_t* in, uint8_t* out) {
  switch (item_bytes) {
    case 1: transpose_1(in, out, p->extent, q->extent, q->in_stride, p->out_stride); return;
    case 2: transpose_2(in, out, p->extent, q->extent, q->in_stride, p->out_stride); return;
    case 4: transpose_4(in, out, p->extent, q->extent, q->in_stride, p->out_stride); return;
    case 8: transpose_8(in, out, p->extent, q->extent, q->in_stride, p->out_stride); return;
    default: transpose_16(in, out, p->extent, q->extent, q->in_stride, p->out_stride); return;
  }
}

// Walks the outer dimensions like an odometer; the inner one or two are a loop of their own.
static void run_strides(const hlo_copy_plan_t* plan, const uint8_t* in, uint8_t* out) {
  const hlo_copy_dim_t* dims = plan->dims;
  bool transposes = plan->kind == HLO_COPY_KIND_TRANSPOSE;
  uint32_t outer_count = plan->dim_count - (transposes ? 2 : 1);
  int64_t at[HLO_SHAPE_RANK_LIMIT] = {0};
  for (;;) {
    if (transposes) {
      run_transpose(&dims[outer_count], &dims[outer_count + 1], plan->item_bytes, in, out);
    } else {
      run_items(&dims[outer_count], plan->item_bytes, in, out);
    }
    uint32_t d = outer_count;
    for (; d > 0; --d) {
      const hlo_copy_dim_t* dim = &dims[d - 1];
      in += dim->in_stride;
      out += dim->out_stride;
      if (++at[d - 1] < dim->extent) break;
      at[d - 1] = 0;
      in -= dim->in_stride * dim->extent;
      out -= dim->out_stride * dim->extent;
    }
    if (d == 0) return;
  }
}

// One element at an offset counted in elements, to and from its host form.
static void load_element(const hlo_copy_plan_t* plan, const hlo_layout_t* layout, const uint8_t* in,
                         const int64_t* index, uint8_t* element) {
  uint64_t offset = hlo_layout_element_offset(layout, &plan->shape, index);
  hlo_dtype_t dtype = plan->shape.dtype;
  unsigned bits = layout->element_bits;
  if (bits == 0 || bits >= 8) {
    size_t size = hlo_dtype_size_bytes(dtype);
    memcpy(element, in + offset * size, size);
    return;
  }
  unsigned per_byte = 8 / bits;
  uint8_t value = (uint8_t)(in[offset / per_byte] >> (offset % per_byte * bits));
  hlo_dtype_unpack(dtype, &value, element, 1);
}

static void store_element(const hlo_copy_plan_t* plan, const hlo_layout_t* layout, uint8_t* out,
                          const int64_t* index, const uint8_t* element) {
  uint64_t offset = hlo_layout_element_offset(layout, &plan->shape, index);
  hlo_dtype_t dtype = plan->shape.dtype;
  unsigned bits = layout->element_bits;
  if (bits == 0 || bits >= 8) {
    size_t size = hlo_dtype_size_bytes(dtype);
    memcpy(out + offset * size, element, size);
    return;
  }
  unsigned per_byte = 8 / bits, shift = (unsigned)(offset % per_byte) * bits;
  uint8_t value;
  hlo_dtype_pack(dtype, element, &value, 1);
  out[offset / per_byte] |= (uint8_t)(value << shift);  // the output was zeroed
}

static void run_elements(const hlo_copy_plan_t* plan, const uint8_t* in, uint8_t* out) {
  int64_t index[HLO_SHAPE_RANK_LIMIT] = {0};
  uint8_t element[16];
  memset(out, 0, plan->total_bytes);  // padding of tiles and of the last byte
  for (size_t i = 0; i < plan->shape.element_count; ++i) {
    load_element(plan, &plan->in_layout, in, index, element);
    store_element(plan, &plan->out_layout, out, index, element);
    for (uint32_t d = plan->shape.rank; d-- > 0;) {
      if (++index[d] < plan->shape.dims[d]) break;
      index[d] = 0;
    }
  }
}

void hlo_copy_run(const hlo_copy_plan_t* plan, const void* in, void* out) {
  switch (plan->kind) {
    case HLO_COPY_KIND_EMPTY: return;
    case HLO_COPY_KIND_BYTES: memcpy(out, in, plan->item_bytes); return;
    case HLO_COPY_KIND_RUNS:
    case HLO_COPY_KIND_TRANSPOSE: run_strides(plan, in, out); return;
    case HLO_COPY_KIND_PACK:
      hlo_dtype_pack(plan->shape.dtype, in, out, plan->shape.element_count);
      return;
    case HLO_COPY_KIND_UNPACK:
      hlo_dtype_unpack(plan->shape.dtype, in, out, plan->shape.element_count);
      return;
    case HLO_COPY_KIND_ELEMENTS: run_elements(plan, in, out); return;
  }
}
