// SPDX-License-Identifier: Apache-2.0
// fft: one axis after the other in complex double, one batch at a time.
#include <string.h>

#include "interp/ref_fft32.h"
#include "interp/ref_util.h"
#include "kernels/fft.h"

enum { AXES_MAX = 3 };

// The transform of one batch.
typedef struct {
  int64_t type;  // HLO_FFT_TYPE_*
  uint32_t axes;
  int64_t length[AXES_MAX];  // of the transforms
  int64_t half;              // kept elements of the last axis for RFFT and IRFFT, else its length
  int64_t count, longest;    // elements of a batch, of the longest line
  hlo_fft_t* plans[AXES_MAX];
  double complex* data;  // the axes, the last of size `half`
  double complex *line, *image;
} fft_t;

static void fft_deinit(fft_t* fft) {
  for (uint32_t a = 0; a < fft->axes; a++) hlo_fft_release(fft->plans[a]);
  hlo_mem_free(fft->data);
}

// Lengths, checked.
static hlo_status_t fft_init(fft_t* fft, const hlo_node_t* node, const hlo_tensor_t* operand) {
  const hlo_ints_t lengths = hlo_node_ints(node, HLO_ATTR_fft_length);
  fft->type = hlo_node_attr(node, HLO_ATTR_fft_type)->i;
  if (lengths.count < 1 || lengths.count > AXES_MAX || lengths.count > operand->rank) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "fft of %u dimensions", lengths.count);
  }
  const bool is_half = fft->type == HLO_FFT_TYPE_RFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  fft->count = 1;
  for (uint32_t a = 0; a < lengths.count; a++) {
    const bool is_last = a + 1 == lengths.count;
    const int64_t n = lengths.values[a];
    const int64_t kept = is_last && is_half ? n / 2 + 1 : n;
    const int64_t expected = fft->type == HLO_FFT_TYPE_IRFFT ? kept : n;
    const int64_t size = operand->dims[operand->rank - lengths.count + a];
    if (n < 1 || size != expected || __builtin_mul_overflow(fft->count, kept, &fft->count)) {
      return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT,
                            "transform of length %lld does not fit a dimension of size %lld",
                            (long long)n, (long long)size);
    }
    if (is_last) fft->half = kept;
    fft->length[a] = n;
    if (n > fft->longest) fft->longest = n;
    fft->axes++;
  }
  return hlo_ok();
}

// Plans and memory of the transforms in double.
static hlo_status_t fft_prepare(fft_t* fft) {
  for (uint32_t a = 0; a < fft->axes; a++) {
    HLO_TRY(hlo_fft_create(fft->length[a], &fft->plans[a]));
  }
  size_t elements = 0, bytes = 0;
  if (!hlo_size_add((size_t)fft->count, 2 * (size_t)fft->longest, &elements) ||
      !hlo_size_mul(elements, sizeof(double complex), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  fft->data = hlo_mem_alloc(bytes);
  if (!fft->data) return hlo_status_out_of_memory(bytes);
  fft->line = fft->data + fft->count;
  fft->image = fft->line + fft->longest;
  return hlo_ok();
}

// Elements of the axes of one batch, with the last axis of size `last`.
static int64_t batch_count(const fft_t* fft, int64_t last) {
  for (uint32_t a = 0; a + 1 < fft->axes; a++) last *= fft->length[a];
  return last;
}

// All axes but the last, over fft->data.
static void run_outer_axes(fft_t* fft, bool inverse) {
  int64_t stride = fft->half;
  const int64_t total = batch_count(fft, fft->half);
  for (uint32_t a = fft->axes - 1; a > 0; a--) {
    const int64_t n = fft->length[a - 1];
    for (int64_t start = 0; start < total; start += n * stride) {
      for (int64_t i = 0; i < stride; i++) {
        double complex* at = fft->data + start + i;
        for (int64_t k = 0; k < n; k++) fft->line[k] = at[k * stride];
        hlo_fft_run(fft->plans[a - 1], inverse, fft->line, fft->image);
        for (int64_t k = 0; k < n; k++) at[k * stride] = fft->image[k];
      }
    }
    stride *= n;
  }
}

static void forward(fft_t* fft, hlo_dtype_t from, const char* in, hlo_dtype_t to, char* out) {
  const int64_t n = fft->length[fft->axes - 1];
  const int64_t lines = batch_count(fft, 1);
  const size_t in_bytes = hlo_dtype_size_bytes(from);
  for (int64_t l = 0; l < lines; l++) {
    hlo_dtype_convert(from, in + (size_t)(l * n) * in_bytes, HLO_DTYPE_C128, fft->line, (size_t)n);
    hlo_fft_run(fft->plans[fft->axes - 1], false, fft->line, fft->image);
    memcpy(fft->data + l * fft->half, fft->image, (size_t)fft->half * sizeof(fft->image[0]));
  }
  run_outer_axes(fft, false);
  hlo_dtype_convert(HLO_DTYPE_C128, fft->data, to, out, (size_t)(lines * fft->half));
}

static void backward(fft_t* fft, hlo_dtype_t from, const char* in, hlo_dtype_t to, char* out) {
  const int64_t n = fft->length[fft->axes - 1];
  const int64_t lines = batch_count(fft, 1);
  const size_t out_bytes = hlo_dtype_size_bytes(to);
  const double scale = 1.0 / (double)batch_count(fft, n);
  hlo_dtype_convert(from, in, HLO_DTYPE_C128, fft->data, (size_t)(lines * fft->half));
  run_outer_axes(fft, true);
  for (int64_t l = 0; l < lines; l++) {
    const double complex* kept = fft->data + l * fft->half;
    for (int64_t k = 0; k < n; k++) fft->line[k] = k < fft->half ? kept[k] : conj(kept[n - k]);
    hlo_fft_run(fft->plans[fft->axes - 1], true, fft->line, fft->image);
    for (int64_t k = 0; k < n; k++) fft->image[k] *= scale;
    if (!hlo_dtype_is_complex(to)) {  // real parts, densely
      double* real = (double*)fft->line;
      for (int64_t k = 0; k < n; k++) real[k] = creal(fft->image[k]);
      hlo_dtype_convert(HLO_DTYPE_F64, real, to, out + (size_t)(l * n) * out_bytes, (size_t)n);
    } else {
      hlo_dtype_convert(HLO_DTYPE_C128, fft->image, to, out + (size_t)(l * n) * out_bytes,
                        (size_t)n);
    }
  }
}

// Batch after batch in double.
static hlo_status_t run_batches(fft_t* fft, const hlo_tensor_t* operand, hlo_tensor_t* result,
                                int64_t batch_count) {
  const bool inverse = fft->type == HLO_FFT_TYPE_IFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  const size_t in_bytes = operand->size_bytes / (size_t)batch_count;
  const size_t out_bytes = result->size_bytes / (size_t)batch_count;
  HLO_TRY(fft_prepare(fft));
  for (size_t b = 0; b < (size_t)batch_count; b++) {
    (inverse ? backward : forward)(fft, operand->dtype, (const char*)operand->data + b * in_bytes,
                                   result->dtype, (char*)result->data + b * out_bytes);
  }
  return hlo_ok();
}

static hlo_status_t run(hlo_eval_t* eval, fft_t* fft, const hlo_tensor_t* operand,
                        hlo_tensor_t* result) {
  int64_t batch_elements = 1;
  for (uint32_t d = operand->rank - fft->axes; d < operand->rank; d++) {
    batch_elements *= operand->dims[d];
  }
  const hlo_fft32_node_t narrow = {.type = fft->type,
                                   .axes = fft->axes,
                                   .lengths = fft->length,
                                   .batch_count = operand->element_count / batch_elements};
  if (hlo_fft32_node_supports(&narrow, operand->dtype, result->dtype)) {
    return hlo_fft32_node_run(hlo_eval_parallel(eval), &narrow, operand->data, result->data);
  }
  return run_batches(fft, operand, result, narrow.batch_count);
}

hlo_status_t hlo_ref_fft(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                         hlo_tensor_t** results) {
  const hlo_tensor_t* operand = operands[0];
  fft_t fft = {0};
  hlo_tensor_t* result = NULL;
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  if (operand->element_count == 0) return hlo_eval_result(eval, node, 0, &results[0]);
  HLO_TRY(fft_init(&fft, node, operand));
  if (fft.type == HLO_FFT_TYPE_RFFT) dims[operand->rank - 1] = fft.half;
  if (fft.type == HLO_FFT_TYPE_IRFFT) dims[operand->rank - 1] = fft.length[fft.axes - 1];
  hlo_status_t status = hlo_eval_result_dims(eval, node, 0, operand->rank, dims, &result);
  if (hlo_status_is_ok(status)) status = run(eval, &fft, operand, result);
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  fft_deinit(&fft);
  return status;
}
