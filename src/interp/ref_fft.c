// SPDX-License-Identifier: Apache-2.0
// fft: complex numbers in double; even lengths by halves, odd ones by the definition.
#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "interp/ref_util.h"
#include "ir/fft.h"

// out[k] = sum over j of in[j * step] * roots[j * k * step]; `roots` are those of n * step.
static void transform(int64_t n, int64_t step, const double complex* roots,
                      const double complex* in, double complex* out) {
  if (n % 2 == 0) {
    const int64_t half = n / 2;
    transform(half, 2 * step, roots, in, out);
    transform(half, 2 * step, roots, in + step, out + half);
    for (int64_t k = 0; k < half; k++) {
      const double complex even = out[k], odd = out[k + half] * roots[k * step];
      out[k] = even + odd;
      out[k + half] = even - odd;
    }
    return;
  }
  for (int64_t k = 0; k < n; k++) {
    out[k] = 0;
    for (int64_t j = 0; j < n; j++) out[k] += in[j * step] * roots[j * k % n * step];
  }
}

// The buffers of one line, each of the longest length.
typedef struct {
  double complex *in, *out, *roots;
} line_t;

static void find_roots(const hlo_fft_shape_t* fft, int64_t n, double complex* roots) {
  const double pi = 3.14159265358979323846, sign = hlo_fft_is_inverse(fft) ? 1 : -1;
  for (int64_t k = 0; k < n; k++) {
    const double angle = sign * 2 * pi * (double)k / (double)n;
    roots[k] = cos(angle) + sin(angle) * I;
  }
}

// Transforms an axis of n elements, `inner` apart, in place of `values`.
static void transform_axis(const hlo_fft_shape_t* fft, int64_t n, int64_t inner, int64_t count,
                           const line_t* line, double complex* values) {
  const double scale = hlo_fft_is_inverse(fft) ? 1 / (double)n : 1;
  find_roots(fft, n, line->roots);
  for (int64_t i = 0; i < count; i++) {
    double complex* at = values + i / inner * n * inner + i % inner;
    for (int64_t k = 0; k < n; k++) line->in[k] = at[k * inner];
    transform(n, 1, line->roots, line->in, line->out);
    for (int64_t k = 0; k < n; k++) at[k * inner] = line->out[k] * scale;
  }
}

// Transforms the last axis into the results. Symmetry completes the stored half of a real line's
// transform; imaginary parts that symmetry makes zero are ignored.
static void transform_last(const hlo_fft_shape_t* fft, const double complex* values,
                           const line_t* line, int64_t count, hlo_tensor_t* result) {
  const int64_t n = fft->length[fft->axes - 1];
  const bool is_to_real = fft->type == HLO_FFT_TYPE_IRFFT;
  const int64_t read = is_to_real ? fft->kept : n, written = is_to_real ? n : fft->kept;
  const double scale = hlo_fft_is_inverse(fft) ? 1 / (double)n : 1;
  const size_t bytes = (size_t)written * hlo_tensor_element_bytes(result);
  find_roots(fft, n, line->roots);
  for (int64_t i = 0; i < count; i++) {
    memcpy(line->in, values + i * read, (size_t)read * sizeof *values);
    for (int64_t k = 0; k < read && is_to_real; k++) {
      if (k == (n - k) % n) line->in[k] = creal(line->in[k]);
      line->in[(n - k) % n] = conj(line->in[k]);
    }
    transform(n, 1, line->roots, line->in, line->out);
    for (int64_t k = 0; k < written; k++) line->out[k] *= scale;
    hlo_dtype_convert(HLO_DTYPE_C128, line->out, result->dtype,
                      (char*)result->data + (size_t)i * bytes, (size_t)written);
  }
}

static hlo_status_t run(const hlo_fft_shape_t* fft, const hlo_tensor_t* operand,
                        hlo_tensor_t* result) {
  const int64_t last = operand->dims[operand->rank - 1];
  int64_t longest = last, inner = last;
  for (uint32_t a = 0; a < fft->axes; a++) {
    if (fft->length[a] > longest) longest = fft->length[a];
  }
  hlo_tensor_t* values = NULL;
  const int64_t count = operand->element_count + 3 * longest;
  HLO_TRY(hlo_tensor_create(HLO_DTYPE_C128, 1, &count, &values));
  double complex *wide = values->data, *buffers = wide + operand->element_count;
  const line_t line = {buffers, buffers + longest, buffers + 2 * longest};
  hlo_dtype_convert(operand->dtype, operand->data, HLO_DTYPE_C128, wide,
                    (size_t)operand->element_count);
  for (uint32_t a = fft->axes - 1; a > 0; a--) {
    const int64_t n = fft->length[a - 1];
    transform_axis(fft, n, inner, operand->element_count / n, &line, wide);
    inner *= n;
  }
  transform_last(fft, wide, &line, operand->element_count / last, result);
  hlo_tensor_release(values);
  return hlo_ok();
}

hlo_status_t hlo_ref_fft(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* operand = operands[0];
  hlo_fft_shape_t fft;
  hlo_tensor_t* result = NULL;
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  if (operand->element_count == 0) return hlo_eval_result(eval, node, 0, &results[0]);
  HLO_TRY(hlo_fft_shape_read(node, operand->dtype, operand->rank, operand->dims, &fft));
  if (fft.type == HLO_FFT_TYPE_RFFT) dims[operand->rank - 1] = fft.kept;
  if (fft.type == HLO_FFT_TYPE_IRFFT) dims[operand->rank - 1] = fft.length[fft.axes - 1];
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, operand->rank, dims, &result));
  hlo_status_t status = run(&fft, operand, result);
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}
