// SPDX-License-Identifier: Apache-2.0
// Tensors of the interpreter: creation, sharing, small-block pools (see eval.h, tensor_pool.h).
#include <string.h>

#include "base/mem.h"
#include "interp/eval.h"
#include "interp/tensor_pool.h"

// A small tensor is one block: the header, its dims, and the elements at the next multiple of 64.
enum {
  DATA_ALIGN = 64,
  CLASS_HEAP = HLO_TENSOR_POOL_CLASSES,
  BIG_MIN_BYTES = 4096,  // smaller data blocks are cheap to allocate from the heap
  BIG_MAX_BYTES = 64 * 1024 * 1024,
};
static const uint16_t class_bytes[HLO_TENSOR_POOL_CLASSES] = {192, 448};

static _Thread_local hlo_tensor_pool_t* t_pool;

hlo_tensor_pool_t* hlo_tensor_pool_enter(hlo_tensor_pool_t* pool) {
  hlo_tensor_pool_t* previous = t_pool;
  t_pool = pool;
  return previous;
}

void hlo_tensor_pool_leave(hlo_tensor_pool_t* previous) {
  t_pool = previous;
}

void hlo_tensor_pool_deinit(hlo_tensor_pool_t* pool) {
  for (uint32_t c = 0; c < HLO_TENSOR_POOL_CLASSES; ++c) {
    while (pool->counts[c]) hlo_mem_free(pool->blocks[c][--pool->counts[c]]);
  }
  for (uint32_t i = 0; i < HLO_TENSOR_POOL_BIG; ++i) hlo_mem_free(pool->big[i].data);
  *pool = (hlo_tensor_pool_t){0};
}

static void* block_acquire(size_t size_bytes, uint8_t* out_class) {
  uint8_t c = 0;
  while (c < HLO_TENSOR_POOL_CLASSES && size_bytes > class_bytes[c]) ++c;
  if (HLO_ADDRESS_SANITIZER) c = CLASS_HEAP;
  *out_class = c;
  if (c == CLASS_HEAP) return hlo_mem_alloc_aligned(size_bytes, DATA_ALIGN);
  hlo_tensor_pool_t* pool = t_pool;
  if (pool && pool->counts[c]) return pool->blocks[c][--pool->counts[c]];
  return hlo_mem_alloc_aligned(class_bytes[c], DATA_ALIGN);
}

static void block_release(void* block, uint8_t c) {
  hlo_tensor_pool_t* pool = t_pool;
  if (c < CLASS_HEAP && pool && pool->counts[c] < HLO_TENSOR_POOL_DEPTH) {
    pool->blocks[c][pool->counts[c]++] = block;
  } else {
    hlo_mem_free(block);
  }
}

static void* data_acquire(size_t size_bytes) {
  hlo_tensor_pool_t* pool = t_pool;
  if (pool && size_bytes >= BIG_MIN_BYTES && size_bytes <= BIG_MAX_BYTES) {
    for (uint32_t i = 0; i < HLO_TENSOR_POOL_BIG; ++i) {
      if (pool->big[i].size_bytes != size_bytes) continue;
      void* data = pool->big[i].data;
      pool->big[i] = (hlo_tensor_pool_block_t){0};
      return data;
    }
  }
  return hlo_mem_alloc_aligned(size_bytes, DATA_ALIGN);
}

static void data_release(void* data, size_t size_bytes) {
  hlo_tensor_pool_t* pool = t_pool;
  if (!pool || size_bytes < BIG_MIN_BYTES || size_bytes > BIG_MAX_BYTES) {
    hlo_mem_free(data);
    return;
  }
  hlo_tensor_pool_block_t* place = &pool->big[pool->next_big];
  pool->next_big = (pool->next_big + 1) % HLO_TENSOR_POOL_BIG;
  hlo_mem_free(place->data);
  *place = (hlo_tensor_pool_block_t){.data = data, .size_bytes = size_bytes};
}

static size_t header_bytes(uint32_t rank) {
  size_t bytes = sizeof(hlo_tensor_t) + rank * sizeof(int64_t);
  return (bytes + DATA_ALIGN - 1) & ~(size_t)(DATA_ALIGN - 1);
}

static hlo_status_t check_dims(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                               int64_t* out_count, size_t* out_bytes) {
  int64_t count = 0;
  if (!hlo_dims_element_count(rank, dims, &count)) {
    return hlo_invalid_argument("dimensions of a tensor of rank %u are negative or overflow", rank);
  }
  if (!hlo_size_mul((size_t)count, hlo_dtype_size_bytes(dtype), out_bytes)) {
    return hlo_invalid_argument("size of a tensor overflows");
  }
  *out_count = count;
  return hlo_ok();
}

// Creates a header with room for `inline_bytes` of data in the same block; kind TENSOR, count 1.
static hlo_tensor_t* header_create(uint32_t rank, const int64_t* dims, size_t inline_bytes) {
  uint8_t c;
  size_t head = header_bytes(rank);
  hlo_tensor_t* tensor = block_acquire(head + inline_bytes, &c);
  if (!tensor) return NULL;
  memset(tensor, 0, sizeof(*tensor));
  atomic_init(&tensor->count, 1);
  tensor->kind = HLO_TYPE_TENSOR;
  tensor->block_class = c;
  tensor->rank = rank;
  for (uint32_t i = 0; i < rank; ++i) tensor->dims[i] = dims[i];
  tensor->data = (uint8_t*)tensor + head;
  return tensor;
}

hlo_status_t hlo_tensor_create(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                               hlo_tensor_t** out_tensor) {
  int64_t count = 1;
  size_t bytes = hlo_dtype_size_bytes(dtype);
  if (rank) HLO_TRY(check_dims(dtype, rank, dims, &count, &bytes));
  size_t head = header_bytes(rank);
  bool is_inline = bytes <= class_bytes[HLO_TENSOR_POOL_CLASSES - 1] &&
                   head + bytes <= class_bytes[HLO_TENSOR_POOL_CLASSES - 1];
  hlo_tensor_t* tensor = header_create(rank, dims, is_inline ? bytes : 0);
  if (!tensor) return hlo_status_out_of_memory(head + bytes);
  tensor->dtype = dtype;
  tensor->element_count = count;
  tensor->size_bytes = bytes;
  if (!is_inline) {
    tensor->data = data_acquire(bytes);
    if (!tensor->data) {
      block_release(tensor, tensor->block_class);
      return hlo_status_out_of_memory(bytes);
    }
    tensor->owns_data = true;
  }
  *out_tensor = tensor;
  return hlo_ok();
}

hlo_status_t hlo_tensor_create_lent(hlo_dtype_t dtype, uint32_t rank, const int64_t* dims,
                                    void* data, bool is_read_only, void (*release)(void* context),
                                    void* context, hlo_tensor_t** out_tensor) {
  int64_t count = 0;
  size_t bytes = 0;
  HLO_TRY(check_dims(dtype, rank, dims, &count, &bytes));
  hlo_tensor_t* tensor = header_create(rank, dims, 0);
  if (!tensor) return hlo_status_out_of_memory(header_bytes(rank));
  tensor->dtype = dtype;
  tensor->element_count = count;
  tensor->size_bytes = bytes;
  tensor->data = data;
  tensor->is_read_only = is_read_only;
  tensor->release = release;
  tensor->release_context = context;
  *out_tensor = tensor;
  return hlo_ok();
}

static void release_literal(void* literal) {
  hlo_literal_release(literal);
}

static void fill_splat(hlo_tensor_t* tensor, const void* element) {
  size_t width = hlo_dtype_size_bytes(tensor->dtype);
  if (tensor->size_bytes == 0) return;
  memcpy(tensor->data, element, width);
  for (size_t done = width; done < tensor->size_bytes;) {
    size_t more = done <= tensor->size_bytes - done ? done : tensor->size_bytes - done;
    memcpy((uint8_t*)tensor->data + done, tensor->data, more);
    done += more;
  }
}

hlo_status_t hlo_tensor_from_literal(hlo_literal_t* literal, hlo_tensor_t** out_tensor) {
  if (literal->is_splat || literal->element_count == 0) {
    HLO_TRY(hlo_tensor_create(literal->dtype, literal->rank, literal->dims, out_tensor));
    fill_splat(*out_tensor, literal->data);
    return hlo_ok();
  }
  HLO_TRY(hlo_tensor_create_lent(literal->dtype, literal->rank, literal->dims,
                                 (void*)(uintptr_t)literal->data, true, release_literal, literal,
                                 out_tensor));
  hlo_literal_retain(literal);
  return hlo_ok();
}

hlo_status_t hlo_tensor_create_token(hlo_tensor_t** out_tensor) {
  hlo_tensor_t* tensor = header_create(0, NULL, 0);
  if (!tensor) return hlo_status_out_of_memory(sizeof(*tensor));
  tensor->kind = HLO_TYPE_TOKEN;
  tensor->dtype = HLO_DTYPE_TOKEN;
  *out_tensor = tensor;
  return hlo_ok();
}

hlo_status_t hlo_tensor_create_tuple(uint32_t count, hlo_tensor_t* const* items,
                                     hlo_tensor_t** out_tensor) {
  size_t bytes = (size_t)count * sizeof(*items);
  hlo_tensor_t* tensor = header_create(0, NULL, bytes);
  if (!tensor) {
    for (uint32_t i = 0; i < count; ++i) hlo_tensor_release(items[i]);
    return hlo_status_out_of_memory(bytes);
  }
  tensor->kind = HLO_TYPE_TUPLE;
  tensor->dtype = HLO_DTYPE_INVALID;
  tensor->item_count = count;
  tensor->items = tensor->data;
  for (uint32_t i = 0; i < count; ++i) tensor->items[i] = items[i];
  *out_tensor = tensor;
  return hlo_ok();
}

hlo_tensor_t* hlo_tensor_retain(hlo_tensor_t* tensor) {
  // relaxed: the caller already holds a reference, and the count publishes nothing
  if (tensor) atomic_fetch_add_explicit(&tensor->count, 1, memory_order_relaxed);
  return tensor;
}

// Called when the last reference is released. The module's types bound the depth of nested tuples.
static void tensor_destroy(hlo_tensor_t* tensor) {
  for (uint32_t i = 0; i < tensor->item_count; ++i) hlo_tensor_release(tensor->items[i]);
  if (tensor->release) tensor->release(tensor->release_context);
  if (tensor->owns_data) data_release(tensor->data, tensor->size_bytes);
  block_release(tensor, tensor->block_class);
}

void hlo_tensor_release(hlo_tensor_t* tensor) {
  if (!tensor) return;
  // A count of one belongs to the caller alone: no other thread can change it.
  // acquire (both): pairs with the release of other owners' decrements, before the memory is reused
  if (atomic_load_explicit(&tensor->count, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&tensor->count, 1, memory_order_acq_rel) == 1) {
    tensor_destroy(tensor);
  }
}

bool hlo_tensor_fits(const hlo_tensor_t* tensor, const hlo_type_t* type) {
  if (type->kind != HLO_TYPE_TENSOR && type->kind != HLO_TYPE_BUFFER) {
    return type->kind == tensor->kind;
  }
  if (tensor->kind != HLO_TYPE_TENSOR || tensor->dtype != type->dtype ||
      tensor->rank != type->rank) {
    return false;
  }
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] >= 0 && type->dims[d] != tensor->dims[d]) return false;
  }
  return true;
}

int64_t hlo_tensor_int(const hlo_tensor_t* tensor, int64_t i) {
  const uint8_t* data = tensor->data;
  return hlo_dtype_load_int64(tensor->dtype,
                              data + (size_t)i * hlo_dtype_size_bytes(tensor->dtype));
}

// ---- results of nodes ---------------------------------------------------------------------------

hlo_status_t hlo_eval_result(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                             hlo_tensor_t** out_tensor) {
  const hlo_type_t* type = node->results[i].type;
  if (type->kind == HLO_TYPE_TOKEN) return hlo_tensor_create_token(out_tensor);
  if (type->kind != HLO_TYPE_TENSOR && type->kind != HLO_TYPE_BUFFER) {
    return hlo_node_error(node, HLO_STATUS_INTERNAL, "result %u is not a tensor", i);
  }
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] < 0) {
      return hlo_node_error(node, HLO_STATUS_INTERNAL, "result %u has an unknown dimension", i);
    }
  }
  return hlo_eval_result_dims(eval, node, i, type->rank, type->dims, out_tensor);
}

hlo_status_t hlo_eval_result_dims(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                  uint32_t rank, const int64_t* dims, hlo_tensor_t** out_tensor) {
  const hlo_type_t* type = node->results[i].type;
  (void)eval;
  hlo_status_t status = hlo_tensor_create(type->dtype, rank, dims, out_tensor);
  if (HLO_UNLIKELY(!hlo_status_is_ok(status))) return hlo_node_annotate(node, status);
  (*out_tensor)->quant = type->quant;
  return hlo_ok();
}

hlo_status_t hlo_eval_result_reuse(hlo_eval_t* eval, const hlo_node_t* node, uint32_t i,
                                   hlo_tensor_t* const* operands, uint32_t k,
                                   hlo_tensor_t** out_tensor) {
  hlo_tensor_t* operand = operands[k];
  const hlo_type_t* type = node->results[i].type;
  if (!hlo_tensor_is_unique(operand) || operand->kind != HLO_TYPE_TENSOR ||
      operand->rank != type->rank ||
      hlo_dtype_size_bytes(operand->dtype) != hlo_dtype_size_bytes(type->dtype)) {
    // A dynamic result of an elementwise op has the operand's dims.
    if (type->kind == HLO_TYPE_TENSOR && !hlo_type_is_static(type)) {
      return hlo_eval_result_dims(eval, node, i, operand->rank, operand->dims, out_tensor);
    }
    return hlo_eval_result(eval, node, i, out_tensor);
  }
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] != operand->dims[d] && type->dims[d] >= 0) {
      return hlo_eval_result(eval, node, i, out_tensor);
    }
  }
  operand->dtype = type->dtype;
  operand->quant = type->quant;
  *out_tensor = hlo_tensor_retain(operand);
  return hlo_ok();
}
