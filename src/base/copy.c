// SPDX-License-Identifier: Apache-2.0
// Copies between strides (see copy.h). A plan drops dimensions of size 1, orders the rest by output
// stride, merges dimensions that are contiguous in both input and output, and selects the inner
// loop.
#include "base/copy.h"

#include <string.h>

#include "base/check.h"

enum {
  HLO_CACHELINE_BYTES = 64,
  BLOCK_LIMIT = 16,  // rows and columns of a transposed block
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

// Orders dimensions from the largest stride of the output to the smallest.
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

// Moves the dimension that is contiguous in the input next to the innermost one.
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

// Copies the dimensions, without those of size 1, in output order.
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

void hlo_copy_plan_init(hlo_copy_plan_t* plan, size_t element_bytes, size_t rank,
                        const int64_t* dims, const int64_t* in_strides,
                        const int64_t* out_strides) {
  HLO_ASSERT(rank <= HLO_SHAPE_RANK_LIMIT, "the rank of a copy is bounded");
  plan->kind = HLO_COPY_KIND_EMPTY;
  plan->item_bytes = element_bytes;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] <= 0) return;
  }
  take_dims(plan, rank, dims, in_strides, out_strides);
  uint32_t count = merge_dims(plan->dims, plan->dim_count);
  const hlo_copy_dim_t* inner = &plan->dims[count ? count - 1 : 0];
  int64_t item = (int64_t)element_bytes;
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

// Iterates over the outer dimensions like an odometer; the inner one or two have their own loop.
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

void hlo_copy_run(const hlo_copy_plan_t* plan, const void* in, void* out) {
  switch (plan->kind) {
    case HLO_COPY_KIND_EMPTY: return;
    case HLO_COPY_KIND_BYTES: memcpy(out, in, plan->item_bytes); return;
    case HLO_COPY_KIND_RUNS:
    case HLO_COPY_KIND_TRANSPOSE: run_strides(plan, in, out); return;
  }
}

// ---- strided views

void hlo_strided_copy(size_t element_bytes, uint32_t rank, const int64_t* dims, void* out,
                      const int64_t* out_strides, const void* in, const int64_t* in_strides) {
  hlo_copy_plan_t plan;
  hlo_copy_plan_init(&plan, element_bytes, rank, dims, in_strides, out_strides);
  hlo_copy_run(&plan, in, out);
}

void hlo_strided_fill(size_t element_bytes, size_t count, void* out, const void* value) {
  if (count == 0) return;
  unsigned char probe = 0;
  for (size_t i = 0; i < element_bytes; i++) probe |= ((const unsigned char*)value)[i];
  if (probe == 0) {
    memset(out, 0, count * element_bytes);
    return;
  }
  memmove(out, value, element_bytes);
  const size_t total = count * element_bytes;
  for (size_t done = element_bytes; done < total;) {  // double the filled part, within the cache
    size_t step = done < 16384 ? done : 16384 - 16384 % element_bytes;
    if (step > total - done) step = total - done;
    memcpy((char*)out + done, out, step);
    done += step;
  }
}

void hlo_strided_dense(size_t element_bytes, uint32_t rank, const int64_t* dims,
                       int64_t* out_strides) {
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) empty |= dims[i] == 0;
  int64_t stride = empty ? 0 : (int64_t)element_bytes;
  for (uint32_t i = rank; i > 0; i--) {
    out_strides[i - 1] = stride;
    stride *= dims[i - 1];
  }
}
