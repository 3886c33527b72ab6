// SPDX-License-Identifier: Apache-2.0
// dot and dot_general. Every contraction becomes a batch of matrix products: the operands'
// dimensions are grouped into batch, free and contracting ones. If each group has a single stride,
// the product reads the operand in place; otherwise it is packed first. The parts of a complex
// tensor are read in place with stride 2.
#include "interp/ref_dot.h"

#include <string.h>

#include "interp/quant.h"
#include "interp/ref_fold.h"
#include "ir/dot_algorithm.h"
#include "ir/node_error.h"
#include "lib/gemm.h"

// An operand as matrices [free x contracting], one per batch index.
typedef struct {
  const char* data;
  hlo_tensor_t* owned;  // converted or packed copy, or NULL
  size_t element_bytes;
  int64_t free_count, depth;
  int64_t free_stride, depth_stride;  // in elements
  uint32_t batch_rank;
  int64_t batch_strides[HLO_RANK_MAX];  // in bytes
} matrices_t;

// Computes the common stride of a group of dims seen as one, in elements; returns false if the dims
// have no common stride.
static bool group_stride(uint32_t count, const int64_t* dims, const int64_t* strides,
                         int64_t* out_stride) {
  int64_t stride = 0, extent = 0;  // of the dims merged so far, from the innermost
  bool found = false;
  for (uint32_t i = count; i > 0; i--) {
    if (dims[i - 1] == 1) continue;
    if (found && strides[i - 1] != extent) return false;
    if (!found) stride = strides[i - 1];
    found = true;
    extent = strides[i - 1] * dims[i - 1];
  }
  *out_stride = found ? stride : 1;
  return true;
}

static int64_t product(uint32_t count, const int64_t* values) {
  int64_t result = 1;
  for (uint32_t i = 0; i < count; i++) result *= values[i];
  return result;
}

// Packs one part of `tensor`, given by sizes and strides (in elements), densely in type `dtype`.
static hlo_status_t pack_part(const hlo_tensor_t* tensor, int part, uint32_t rank,
                              const int64_t* sizes, const int64_t* strides, hlo_dtype_t dtype,
                              hlo_tensor_t** out_packed) {
  const hlo_dtype_t from = hlo_dtype_info(tensor->dtype)->part;
  const size_t from_bytes = hlo_dtype_size_bytes(from);
  int64_t in[HLO_RANK_MAX], out[HLO_RANK_MAX];
  for (uint32_t i = 0; i < rank; i++) {
    in[i] = strides[i] * (int64_t)hlo_tensor_element_bytes(tensor);
  }
  hlo_tensor_t *rows = NULL, *packed = NULL;
  HLO_TRY(hlo_tensor_create(from, rank, sizes, &rows));
  hlo_strided_dense(from_bytes, rank, sizes, out);
  hlo_strided_copy(from_bytes, rank, sizes, rows->data, out,
                   (const char*)tensor->data + (size_t)part * from_bytes, in);
  hlo_status_t status = hlo_tensor_as(rows, dtype, &packed);
  hlo_tensor_release(rows);
  if (hlo_status_is_ok(status)) *out_packed = packed;
  return status;
}

// Describes `tensor` (part `part` of complex numbers) in type `dtype` as matrices. out->owned is
// set on success only.
static hlo_status_t matrices_init(matrices_t* out, const hlo_tensor_t* tensor, hlo_dot_dims_t dims,
                                  hlo_dtype_t dtype, int part) {
  uint32_t order[HLO_RANK_MAX], rank = 0;
  const uint32_t free_first = dims.batch.count;
  for (uint32_t i = 0; i < dims.batch.count; i++) order[rank++] = (uint32_t)dims.batch.values[i];
  for (uint32_t d = 0; d < tensor->rank; d++) {
    if (!hlo_ints_has(dims.batch, d) && !hlo_ints_has(dims.contracting, d)) order[rank++] = d;
  }
  const uint32_t depth_first = rank;
  for (uint32_t i = 0; i < dims.contracting.count; i++) {
    order[rank++] = (uint32_t)dims.contracting.values[i];
  }
  int64_t natural[HLO_RANK_MAX], sizes[HLO_RANK_MAX], strides[HLO_RANK_MAX];
  hlo_strided_dense(1, tensor->rank, tensor->dims, natural);
  for (uint32_t i = 0; i < rank; i++) {
    sizes[i] = tensor->dims[order[i]];
    strides[i] = natural[order[i]];
  }
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  *out = (matrices_t){.data = tensor->data, .element_bytes = bytes, .batch_rank = free_first};
  out->free_count = product(depth_first - free_first, sizes + free_first);
  out->depth = product(rank - depth_first, sizes + depth_first);
  const int64_t parts = hlo_dtype_is_complex(tensor->dtype) ? 2 : 1;
  const bool same_bits = hlo_dtype_info(tensor->dtype)->part == dtype ||
                         (hlo_dtype_is_integer(tensor->dtype) && hlo_dtype_is_integer(dtype) &&
                          hlo_tensor_element_bytes(tensor) == bytes);
  const bool in_place = same_bits &&
                        group_stride(depth_first - free_first, sizes + free_first,
                                     strides + free_first, &out->free_stride) &&
                        group_stride(rank - depth_first, sizes + depth_first, strides + depth_first,
                                     &out->depth_stride);
  int64_t scale = parts;
  if (in_place) {
    out->data += (size_t)part * bytes;
    out->free_stride *= parts;
    out->depth_stride *= parts;
  } else {
    const hlo_dtype_t own = hlo_dtype_info(tensor->dtype)->part;
    HLO_TRY(pack_part(tensor, part, rank, sizes, strides, same_bits ? own : dtype, &out->owned));
    out->data = out->owned->data;
    out->free_stride = out->depth;
    out->depth_stride = 1;
    hlo_strided_dense(1, rank, sizes, strides);
    scale = 1;
  }
  for (uint32_t i = 0; i < out->batch_rank; i++) {
    out->batch_strides[i] = strides[i] * scale * (int64_t)bytes;
  }
  return hlo_ok();
}

// Computes all products of the batch into dense c [batch, lhs free, rhs free].
static void multiply_batches(const matrices_t* lhs, const matrices_t* rhs,
                             const int64_t* batch_dims, hlo_dtype_t dtype, char* c, void* scratch) {
  int64_t index[HLO_RANK_MAX] = {0};
  const size_t c_bytes = (size_t)(lhs->free_count * rhs->free_count) * lhs->element_bytes;
  do {
    int64_t lhs_offset = 0, rhs_offset = 0;
    for (uint32_t i = 0; i < lhs->batch_rank; i++) {
      lhs_offset += index[i] * lhs->batch_strides[i];
      rhs_offset += index[i] * rhs->batch_strides[i];
    }
    const hlo_gemm_t gemm = {.m = lhs->free_count,
                             .n = rhs->free_count,
                             .k = lhs->depth,
                             .a = lhs->data + lhs_offset,
                             .a_row = lhs->free_stride,
                             .a_col = lhs->depth_stride,
                             .b = rhs->data + rhs_offset,
                             .b_row = rhs->depth_stride,
                             .b_col = rhs->free_stride,
                             .c = c,
                             .c_row = rhs->free_count};
    hlo_gemm(dtype, &gemm, scratch);
    c += c_bytes;
  } while (hlo_index_next(lhs->batch_rank, batch_dims, index));
}

// Multiplies one part of lhs by one part of rhs into c.
static hlo_status_t multiply_parts(const hlo_tensor_t* lhs, hlo_dot_dims_t lhs_dims, int lhs_part,
                                   const hlo_tensor_t* rhs, hlo_dot_dims_t rhs_dims, int rhs_part,
                                   hlo_dtype_t dtype, void* c) {
  int64_t batch_dims[HLO_RANK_MAX];
  for (uint32_t i = 0; i < lhs_dims.batch.count; i++) {
    batch_dims[i] = lhs->dims[lhs_dims.batch.values[i]];
  }
  matrices_t l = {0}, r = {0};
  hlo_tensor_t* scratch = NULL;
  hlo_status_t status = matrices_init(&l, lhs, lhs_dims, dtype, lhs_part);
  if (hlo_status_is_ok(status)) status = matrices_init(&r, rhs, rhs_dims, dtype, rhs_part);
  if (hlo_status_is_ok(status)) {
    status = hlo_scratch_create(hlo_gemm_scratch_bytes(dtype, l.free_count, r.free_count, l.depth),
                                &scratch);
  }
  if (hlo_status_is_ok(status)) multiply_batches(&l, &r, batch_dims, dtype, c, scratch->data);
  hlo_tensor_release(scratch);
  hlo_tensor_release(l.owned);
  hlo_tensor_release(r.owned);
  return status;
}

void hlo_dot_add_plane(hlo_dtype_t dtype, size_t count, int sign, const void* in, void* sum) {
  if (dtype == HLO_DTYPE_F32) {
    for (size_t e = 0; e < count; e++) ((float*)sum)[e] += (float)sign * ((const float*)in)[e];
  } else {
    for (size_t e = 0; e < count; e++) ((double*)sum)[e] += sign * ((const double*)in)[e];
  }
}

// Writes the elements of a plane to every second element from `first` on.
static void interleave_plane(hlo_dtype_t from, const char* in, hlo_dtype_t to, size_t count,
                             size_t first, void* out) {
  if (from == to && from == HLO_DTYPE_F32) {
    for (size_t e = 0; e < count; e++) ((float*)out)[2 * e + first] = ((const float*)in)[e];
    return;
  }
  const size_t from_bytes = hlo_dtype_size_bytes(from), to_bytes = hlo_dtype_size_bytes(to);
  for (size_t e = 0; e < count; e++) {
    hlo_dtype_convert(from, in + e * from_bytes, to, (char*)out + (2 * e + first) * to_bytes, 1);
  }
}

// Products of the parts of complex numbers: part i of lhs times part j of rhs in plane 2 i + j.
typedef struct {
  const hlo_tensor_t *lhs, *rhs;
  hlo_dot_dims_t lhs_dims, rhs_dims;
  hlo_dtype_t dtype;
  int rhs_parts;
  char* planes;
  size_t plane_bytes;
  hlo_status_t statuses[4];
} planes_t;

static char* plane(const planes_t* p, int i, int j) {
  return p->planes + (size_t)(2 * i + j) * p->plane_bytes;
}

static void multiply_plane(void* argument, uint64_t index) {
  planes_t* p = argument;
  const int i = (int)index / p->rhs_parts, j = (int)index % p->rhs_parts;
  p->statuses[index] =
      multiply_parts(p->lhs, p->lhs_dims, i, p->rhs, p->rhs_dims, j, p->dtype, plane(p, i, j));
}

// Complex product by parts: re = lr*rr - li*ri, im = lr*ri + li*rr; a real operand has no li (ri).
static hlo_status_t multiply_complex(const hlo_parallel_t* parallel, const hlo_tensor_t* lhs,
                                     hlo_dot_dims_t lhs_dims, const hlo_tensor_t* rhs,
                                     hlo_dot_dims_t rhs_dims, hlo_dtype_t dtype,
                                     hlo_tensor_t* result) {
  const size_t bytes = hlo_dtype_size_bytes(dtype), count = (size_t)result->element_count;
  const int lhs_parts = hlo_dtype_is_complex(lhs->dtype) ? 2 : 1;
  planes_t p = {.lhs = lhs,
                .rhs = rhs,
                .lhs_dims = lhs_dims,
                .rhs_dims = rhs_dims,
                .dtype = dtype,
                .rhs_parts = hlo_dtype_is_complex(rhs->dtype) ? 2 : 1,
                .plane_bytes = count * bytes};
  hlo_tensor_t* scratch = NULL;
  HLO_TRY(hlo_scratch_create(p.plane_bytes * 4, &scratch));
  p.planes = scratch->data;
  const int products = lhs_parts * p.rhs_parts;
  if (products == 1) memset(plane(&p, 1, 0), 0, p.plane_bytes);
  hlo_parallel_for(parallel, (uint64_t)products, multiply_plane, &p);
  hlo_status_t status = hlo_ok();
  for (int i = 0; i < products; i++) {
    if (hlo_status_is_ok(status)) {
      status = p.statuses[i];
    } else {
      hlo_status_release(p.statuses[i]);
    }
  }
  if (products == 4) {
    hlo_dot_add_plane(dtype, count, -1, plane(&p, 1, 1), plane(&p, 0, 0));
    hlo_dot_add_plane(dtype, count, 1, plane(&p, 1, 0), plane(&p, 0, 1));
  }
  const char* imaginary = p.rhs_parts == 2 ? plane(&p, 0, 1) : plane(&p, 1, 0);
  if (hlo_status_is_ok(status)) {
    const hlo_dtype_t part = hlo_dtype_info(result->dtype)->part;
    interleave_plane(dtype, plane(&p, 0, 0), part, count, 0, result->data);
    interleave_plane(dtype, imaginary, part, count, 1, result->data);
  }
  hlo_tensor_release(scratch);
  return status;
}

// Computes the result's dims and checks that paired dims have equal sizes.
static hlo_status_t contract_dims(const hlo_tensor_t* lhs, hlo_dot_dims_t lhs_dims,
                                  const hlo_tensor_t* rhs, hlo_dot_dims_t rhs_dims,
                                  uint32_t* out_rank, int64_t* out_dims) {
  uint32_t rank = 0;
  bool fits = lhs_dims.batch.count == rhs_dims.batch.count &&
              lhs_dims.contracting.count == rhs_dims.contracting.count;
  for (uint32_t i = 0; fits && i < lhs_dims.batch.count; i++) {
    out_dims[rank] = lhs->dims[lhs_dims.batch.values[i]];
    fits = out_dims[rank++] == rhs->dims[rhs_dims.batch.values[i]];
  }
  for (uint32_t i = 0; fits && i < lhs_dims.contracting.count; i++) {
    fits = lhs->dims[lhs_dims.contracting.values[i]] == rhs->dims[rhs_dims.contracting.values[i]];
  }
  const hlo_tensor_t* tensors[2] = {lhs, rhs};
  const hlo_dot_dims_t dims[2] = {lhs_dims, rhs_dims};
  for (int t = 0; fits && t < 2; t++) {
    for (uint32_t d = 0; fits && d < tensors[t]->rank; d++) {
      if (hlo_ints_has(dims[t].batch, d) || hlo_ints_has(dims[t].contracting, d)) continue;
      if (rank == HLO_RANK_MAX)
        fits = false;
      else
        out_dims[rank++] = tensors[t]->dims[d];
    }
  }
  *out_rank = rank;
  return fits ? hlo_ok()
              : hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                                  "paired dimensions of the operands differ in size");
}

hlo_status_t hlo_dot_contract(const hlo_parallel_t* parallel, const hlo_tensor_t* lhs,
                              hlo_dot_dims_t lhs_dims, const hlo_tensor_t* rhs,
                              hlo_dot_dims_t rhs_dims, hlo_dtype_t dtype,
                              hlo_tensor_t** out_tensor) {
  uint32_t rank = 0;
  int64_t dims[2 * HLO_RANK_MAX];
  HLO_TRY(contract_dims(lhs, lhs_dims, rhs, rhs_dims, &rank, dims));
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_tensor_create(dtype, rank, dims, &result));
  if (result->element_count == 0) {
    *out_tensor = result;
    return hlo_ok();
  }
  const hlo_dtype_t compute = hlo_dot_compute_dtype(lhs->dtype, rhs->dtype, dtype);
  const size_t compute_bytes = hlo_dtype_size_bytes(compute);
  hlo_status_t status = hlo_ok();
  if (hlo_dtype_is_complex(dtype)) {
    status = multiply_complex(parallel, lhs, lhs_dims, rhs, rhs_dims, compute, result);
  } else if (compute == dtype ||
             (hlo_dtype_is_integer(dtype) && hlo_dtype_info(dtype)->bits == compute_bytes * 8)) {
    status = multiply_parts(lhs, lhs_dims, 0, rhs, rhs_dims, 0, compute, result->data);
  } else {
    hlo_tensor_t* wide = NULL;
    status = hlo_tensor_create(compute, rank, dims, &wide);
    if (hlo_status_is_ok(status)) {
      status = multiply_parts(lhs, lhs_dims, 0, rhs, rhs_dims, 0, compute, wide->data);
    }
    if (hlo_status_is_ok(status)) {
      hlo_dtype_convert(compute, wide->data, dtype, result->data, (size_t)result->element_count);
    }
    hlo_tensor_release(wide);
  }
  if (hlo_status_is_ok(status)) {
    *out_tensor = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}

// Multiplies rounded operands, rounds to the accumulation type, then converts to the result's type.
static hlo_status_t run_algorithm(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                  hlo_dot_dims_t lhs, hlo_dot_dims_t rhs, hlo_tensor_t** results) {
  hlo_dot_types_t types;
  hlo_status_t status = hlo_dot_algorithm_types(node, &types);
  if (!hlo_status_is_ok(status)) return hlo_node_annotate(node, status);
  hlo_tensor_t *factors[2] = {NULL, NULL}, *product = NULL;
  for (int i = 0; i < 2 && hlo_status_is_ok(status); i++) {
    status = hlo_tensor_as(operands[i], types.operands[i], &factors[i]);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_dot_contract(hlo_eval_parallel(eval), factors[0], lhs, factors[1], rhs,
                              types.result, &product);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_tensor_as(product, node->results[0].type->dtype, &results[0]);
  }
  hlo_tensor_release(factors[0]);
  hlo_tensor_release(factors[1]);
  hlo_tensor_release(product);
  return status;
}

hlo_status_t hlo_ref_dot_general(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                 hlo_tensor_t** results) {
  const bool has_algorithm = hlo_dot_has_algorithm(node);
  if (!has_algorithm && hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dot_general, operands, results);
  }
  const hlo_dot_dims_t lhs = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions)};
  const hlo_dot_dims_t rhs = {hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)};
  if (has_algorithm) return run_algorithm(eval, node, operands, lhs, rhs, results);
  return hlo_dot_contract(hlo_eval_parallel(eval), operands[0], lhs, operands[1], rhs,
                          node->results[0].type->dtype, &results[0]);
}

hlo_status_t hlo_ref_dot(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                         hlo_tensor_t** results) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dot, operands, results);
  }
  const int64_t lhs_last = (int64_t)operands[0]->rank - 1, rhs_first = 0;
  const hlo_dot_dims_t lhs = {.contracting = {&lhs_last, operands[0]->rank > 0}};
  const hlo_dot_dims_t rhs = {.contracting = {&rhs_first, operands[1]->rank > 0}};
  return hlo_dot_contract(hlo_eval_parallel(eval), operands[0], lhs, operands[1], rhs,
                          node->results[0].type->dtype, &results[0]);
}
