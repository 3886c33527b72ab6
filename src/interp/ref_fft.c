// SPDX-License-Identifier: Apache-2.0
// fft: one axis after the other, in the type of the data (kernels/fft_lines.h).
#include <string.h>

#include "interp/ref_util.h"
#include "kernels/fft_lines.h"

enum { AXES_MAX = 3 };

// The transform of the last dimensions.
typedef struct {
  int64_t type;  // HLO_FFT_TYPE_*
  uint32_t axes;
  int64_t length[AXES_MAX];  // of the transforms
  int64_t kept;              // elements of the last axis on the complex side
  int64_t count;             // complex elements of a batch
  hlo_dtype_t real;          // F32 or F64
} fft_t;

static hlo_status_t fft_init(fft_t* fft, const hlo_node_t* node, const hlo_tensor_t* operand) {
  const hlo_ints_t lengths = hlo_node_ints(node, HLO_ATTR_fft_length);
  *fft = (fft_t){.type = hlo_node_attr(node, HLO_ATTR_fft_type)->i, .count = 1};
  if (lengths.count < 1 || lengths.count > AXES_MAX || lengths.count > operand->rank) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "fft of %u dimensions", lengths.count);
  }
  const bool is_half = fft->type == HLO_FFT_TYPE_RFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  for (uint32_t a = 0; a < lengths.count; a++) {
    const int64_t n = lengths.values[a];
    fft->kept = a + 1 == lengths.count && is_half ? n / 2 + 1 : n;
    const int64_t expected = fft->type == HLO_FFT_TYPE_IRFFT ? fft->kept : n;
    const int64_t size = operand->dims[operand->rank - lengths.count + a];
    if (n < 1 || size != expected || __builtin_mul_overflow(fft->count, fft->kept, &fft->count)) {
      return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT,
                            "transform of length %lld does not fit a dimension of size %lld",
                            (long long)n, (long long)size);
    }
    fft->length[fft->axes++] = n;
  }
  const hlo_dtype_t part = hlo_dtype_info(operand->dtype)->part;
  const bool is_complex = hlo_dtype_is_complex(operand->dtype);
  fft->real = part;
  return (part == HLO_DTYPE_F32 || part == HLO_DTYPE_F64) &&
                 is_complex == (fft->type != HLO_FFT_TYPE_RFFT)
             ? hlo_ok()
             : hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "fft of %s",
                              hlo_dtype_info(operand->dtype)->name);
}

// All axes but the last, over [batches, lengths..., kept] complex elements; `in` may be `out`.
static hlo_status_t run_outer_axes(const fft_t* fft, hlo_eval_t* eval, int64_t batches,
                                   const void* in, void* out) {
  int64_t inner = fft->kept;
  const bool inverse = fft->type == HLO_FFT_TYPE_IFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  for (uint32_t a = fft->axes - 1; a > 0; a--) {
    const int64_t n = fft->length[a - 1];
    const hlo_fft_lines_t lines = {.real = fft->real,
                                   .kind = HLO_FFT_COMPLEX,
                                   .inverse = inverse,
                                   .scale = inverse ? 1 / (double)n : 1,
                                   .length = n,
                                   .count = batches * (fft->count / n),
                                   .inner = inner,
                                   .in = in,
                                   .out = out};
    HLO_TRY(hlo_fft_lines_run(hlo_eval_parallel(eval), hlo_eval_fft_cache(eval), &lines));
    in = out;
    inner *= n;
  }
  return hlo_ok();
}

static hlo_status_t run_last_axis(const fft_t* fft, hlo_eval_t* eval, int64_t batches,
                                  const void* in, void* out) {
  const bool inverse = fft->type == HLO_FFT_TYPE_IFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  const int64_t n = fft->length[fft->axes - 1];
  const hlo_fft_lines_t lines = {.real = fft->real,
                                 .kind = fft->type == HLO_FFT_TYPE_RFFT    ? HLO_FFT_FROM_REAL
                                         : fft->type == HLO_FFT_TYPE_IRFFT ? HLO_FFT_TO_REAL
                                                                           : HLO_FFT_COMPLEX,
                                 .inverse = inverse,
                                 .scale = inverse ? 1 / (double)n : 1,
                                 .length = n,
                                 .count = batches * (fft->count / fft->kept),
                                 .inner = 1,
                                 .in = in,
                                 .out = out};
  return hlo_fft_lines_run(hlo_eval_parallel(eval), hlo_eval_fft_cache(eval), &lines);
}

// The last axis first, or last where it makes real numbers.
static hlo_status_t run(const fft_t* fft, hlo_eval_t* eval, int64_t batches,
                        const hlo_tensor_t* operand, hlo_tensor_t* result) {
  if (fft->type != HLO_FFT_TYPE_IRFFT) {
    HLO_TRY(run_last_axis(fft, eval, batches, operand->data, result->data));
    return run_outer_axes(fft, eval, batches, result->data, result->data);
  }
  if (fft->axes == 1) return run_last_axis(fft, eval, batches, operand->data, result->data);
  void* middle = hlo_mem_alloc_aligned(operand->size_bytes, 64);
  if (!middle) return hlo_status_out_of_memory(operand->size_bytes);
  hlo_status_t status = run_outer_axes(fft, eval, batches, operand->data, middle);
  if (hlo_status_is_ok(status)) {
    status = run_last_axis(fft, eval, batches, middle, result->data);
  }
  hlo_mem_free(middle);
  return status;
}

hlo_status_t hlo_ref_fft(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                         hlo_tensor_t** results) {
  const hlo_tensor_t* operand = operands[0];
  fft_t fft;
  hlo_tensor_t* result = NULL;
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  if (operand->element_count == 0) return hlo_eval_result(eval, node, 0, &results[0]);
  HLO_TRY(fft_init(&fft, node, operand));
  if (fft.type == HLO_FFT_TYPE_RFFT) dims[operand->rank - 1] = fft.kept;
  if (fft.type == HLO_FFT_TYPE_IRFFT) dims[operand->rank - 1] = fft.length[fft.axes - 1];
  int64_t batches = 1;
  for (uint32_t d = 0; d + fft.axes < operand->rank; d++) batches *= operand->dims[d];
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, operand->rank, dims, &result));
  hlo_status_t status = run(&fft, eval, batches, operand, result);
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}
