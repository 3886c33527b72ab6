// SPDX-License-Identifier: Apache-2.0
// Literals: immutable, reference-counted dense tensors (see literal.h).
#include "ir/literal.h"

#include <string.h>

#include "base/mem.h"

bool hlo_dims_element_count(uint32_t rank, const int64_t* dims, int64_t* out_count) {
  if (rank > HLO_RANK_MAX) return false;
  int64_t count = 1;
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0) {
      empty = true;  // a zero makes the product zero, whatever the other dims are
    } else if (__builtin_mul_overflow(count, dims[i], &count)) {
      return false;
    }
  }
  *out_count = empty ? 0 : count;
  return true;
}

static hlo_status_t literal_alloc(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                  bool is_splat, size_t extra_bytes, hlo_literal_t** out_literal) {
  size_t header = sizeof(hlo_literal_t) + rank * sizeof(int64_t);
  header = (header + 63) & ~(size_t)63;
  size_t total;
  if (!hlo_size_add(header, extra_bytes, &total)) return hlo_status_out_of_memory(SIZE_MAX);
  hlo_literal_t* literal = hlo_mem_alloc_aligned(total, 64);
  if (!literal) return hlo_status_out_of_memory(total);
  memset(literal, 0, total);
  atomic_init(&literal->count, 1);
  literal->dtype = dtype;
  literal->is_splat = is_splat;
  literal->rank = rank;
  literal->dims = (int64_t*)(literal + 1);
  for (uint32_t i = 0; i < rank; ++i) literal->dims[i] = dims[i];
  literal->data = (uint8_t*)literal + header;
  *out_literal = literal;
  return hlo_ok();
}

static hlo_status_t check_shape(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                bool is_splat, int64_t* out_count, size_t* out_bytes) {
  int64_t count;
  size_t width = hlo_dtype_size_bytes(dtype);
  if (width == 0) {
    return hlo_invalid_argument("a literal cannot have element type %s",
                                hlo_dtype_info(dtype)->hlo_name);
  }
  if (!hlo_dims_element_count(rank, dims, &count) ||
      !hlo_size_mul(is_splat ? 1 : (size_t)count, width, out_bytes)) {
    return hlo_invalid_argument(
        "a literal of rank %u has a negative dimension or too many elements", rank);
  }
  *out_count = count;
  return hlo_ok();
}

hlo_status_t hlo_literal_create(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                bool is_splat, hlo_literal_t** out_literal) {
  int64_t count;
  size_t bytes;
  HLO_TRY(check_shape(dtype, rank, dims, is_splat, &count, &bytes));
  HLO_TRY(literal_alloc(dtype, rank, dims, is_splat, bytes, out_literal));
  (*out_literal)->element_count = count;
  (*out_literal)->data_bytes = bytes;
  return hlo_ok();
}

hlo_status_t hlo_literal_create_lent(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                     bool is_splat, const void* data, hlo_literal_keeper_t* keeper,
                                     hlo_literal_t** out_literal) {
  int64_t count;
  size_t bytes;
  HLO_TRY(check_shape(dtype, rank, dims, is_splat, &count, &bytes));
  HLO_TRY(literal_alloc(dtype, rank, dims, is_splat, 0, out_literal));
  (*out_literal)->element_count = count;
  (*out_literal)->data_bytes = bytes;
  (*out_literal)->data = data;
  (*out_literal)->keeper = hlo_literal_keeper_retain(keeper);
  return hlo_ok();
}

hlo_literal_t* hlo_literal_retain(hlo_literal_t* literal) {
  if (literal) atomic_fetch_add_explicit(&literal->count, 1, memory_order_relaxed);
  return literal;
}

void hlo_literal_release(hlo_literal_t* literal) {
  if (!literal || atomic_fetch_sub_explicit(&literal->count, 1, memory_order_acq_rel) != 1) return;
  hlo_literal_keeper_release(literal->keeper);
  hlo_mem_free(literal);
}

hlo_literal_keeper_t* hlo_literal_keeper_retain(hlo_literal_keeper_t* keeper) {
  if (keeper) atomic_fetch_add_explicit(&keeper->count, 1, memory_order_relaxed);
  return keeper;
}

void hlo_literal_keeper_release(hlo_literal_keeper_t* keeper) {
  if (keeper && atomic_fetch_sub_explicit(&keeper->count, 1, memory_order_acq_rel) == 1) {
    keeper->destroy(keeper);
  }
}

hlo_status_t hlo_literal_create_elided(hlo_elided_t elided, uint64_t seed, hlo_dtype_t dtype,
                                       uint32_t rank, const int64_t* dims,
                                       hlo_literal_t** out_literal) {
  if (elided == HLO_ELIDED_REFUSED) {
    return hlo_unimplemented(
        "the text leaves out the elements of the constant; hlocc reads it with "
        "--elided-constants=zero or --elided-constants=random");
  }
  hlo_literal_t* literal = NULL;
  HLO_TRY(hlo_literal_create(dtype, rank, dims, elided == HLO_ELIDED_ZERO, &literal));
  if (elided == HLO_ELIDED_RANDOM) {
    hlo_dtype_fill_random(dtype, hlo_literal_mutable_data(literal), (size_t)literal->element_count,
                          &seed);
  }
  *out_literal = literal;
  return hlo_ok();
}

void* hlo_literal_mutable_data(hlo_literal_t* literal) {
  return (void*)literal->data;
}

const void* hlo_literal_element(const hlo_literal_t* literal, int64_t i) {
  size_t width = hlo_dtype_size_bytes(literal->dtype);
  return (const uint8_t*)literal->data + (literal->is_splat ? 0 : (size_t)i * width);
}

bool hlo_literal_equal(const hlo_literal_t* a, const hlo_literal_t* b) {
  if (a == b) return true;
  if (a->dtype != b->dtype || a->rank != b->rank || a->element_count != b->element_count) {
    return false;
  }
  if (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof(int64_t)) != 0) return false;
  if (a->is_splat == b->is_splat) {
    return a->element_count == 0 || memcmp(a->data, b->data, a->data_bytes) == 0;
  }
  size_t width = hlo_dtype_size_bytes(a->dtype);
  for (int64_t i = 0; i < a->element_count; ++i) {
    if (memcmp(hlo_literal_element(a, i), hlo_literal_element(b, i), width) != 0) return false;
  }
  return true;
}

uint64_t hlo_literal_hash(const hlo_literal_t* literal) {
  // Large literals are sampled: unlike equality, a hash need not read every byte.
  enum { SAMPLES = 64 };
  uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)literal->dtype;
  for (uint32_t i = 0; i < literal->rank; ++i) {
    hash = (hash ^ (uint64_t)literal->dims[i]) * 0x100000001b3u;
  }
  size_t width = hlo_dtype_size_bytes(literal->dtype);
  int64_t step = literal->element_count / SAMPLES + 1;
  for (int64_t i = 0; i < literal->element_count; i += step) {
    const uint8_t* element = hlo_literal_element(literal, i);
    for (size_t k = 0; k < width; ++k) hash = (hash ^ element[k]) * 0x100000001b3u;
  }
  return hash;
}
