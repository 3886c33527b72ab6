// SPDX-License-Identifier: Apache-2.0
// fft of f32 data (see ref_fft32.h): the last axis as dense lines, other axes brought to the end
// and back. Real data are transformed as complex.
#include "interp/ref_fft32.h"

#include <string.h>

#include "interp/ref_util.h"
#include "kernels/fft32.h"

typedef struct {
  const hlo_parallel_t* parallel;
  const hlo_fft32_node_t* node;
  int64_t length;       // of the last axis
  int64_t kept;         // elements of it on the complex side
  int64_t lines;        // along the last axis
  float *work, *other;  // lines * length complex each
} run_t;

static const size_t kElementBytes = 2 * sizeof(float);

bool hlo_fft32_node_supports(const hlo_fft32_node_t* node, hlo_dtype_t in, hlo_dtype_t out) {
  const bool is_narrow = (in == HLO_DTYPE_C64 || in == HLO_DTYPE_F32) &&
                         (out == HLO_DTYPE_C64 || out == HLO_DTYPE_F32);
  for (uint32_t a = 0; a < node->axes; a++) {
    if (!hlo_fft32_supports(node->lengths[a])) return false;
  }
  return is_narrow;
}

// All axes but the last, over [batches, lengths..., kept] complex elements.
static hlo_status_t run_outer_axes(run_t* run, bool inverse, float* data) {
  int64_t inner = run->kept, outer = run->lines;
  for (uint32_t a = run->node->axes - 1; a > 0; a--) {
    const int64_t n = run->node->lengths[a - 1];
    outer /= n;
    const int64_t dims[3] = {outer, inner, n}, bytes = (int64_t)kElementBytes;
    const int64_t turned[3] = {n * inner * bytes, bytes, inner * bytes};
    int64_t dense[3];
    hlo_strided_dense(kElementBytes, 3, dims, dense);
    hlo_strided_copy(kElementBytes, 3, dims, (char*)run->other, dense, (char*)data, turned);
    HLO_TRY(hlo_fft32_run(run->parallel, n, outer * inner, inverse, run->other, run->other));
    hlo_strided_copy(kElementBytes, 3, dims, (char*)data, turned, (char*)run->other, dense);
    inner *= n;
  }
  return hlo_ok();
}

static hlo_status_t forward(run_t* run, const float* in, float* out) {
  const int64_t n = run->length;
  if (run->node->type == HLO_FFT_TYPE_FFT) {
    HLO_TRY(hlo_fft32_run(run->parallel, n, run->lines, false, in, out));
    return run_outer_axes(run, false, out);
  }
  for (int64_t i = 0; i < run->lines * n; i++) {
    run->work[2 * i] = in[i];
    run->work[2 * i + 1] = 0;
  }
  HLO_TRY(hlo_fft32_run(run->parallel, n, run->lines, false, run->work, run->work));
  for (int64_t l = 0; l < run->lines; l++) {
    memcpy(out + 2 * l * run->kept, run->work + 2 * l * n, (size_t)run->kept * kElementBytes);
  }
  return run_outer_axes(run, false, out);
}

// A line of real data from the half that its symmetry leaves.
static void complete(const run_t* run, const float* kept, float* line) {
  const int64_t n = run->length;
  memcpy(line, kept, (size_t)run->kept * kElementBytes);
  for (int64_t k = run->kept; k < n; k++) {
    line[2 * k] = kept[2 * (n - k)];
    line[2 * k + 1] = -kept[2 * (n - k) + 1];
  }
}

static hlo_status_t backward(run_t* run, const float* in, float* out) {
  const int64_t n = run->length, count = run->lines * n;
  float scale = 1;
  for (uint32_t a = 0; a < run->node->axes; a++) scale /= (float)run->node->lengths[a];
  memcpy(run->work, in, (size_t)(run->lines * run->kept) * kElementBytes);
  HLO_TRY(run_outer_axes(run, true, run->work));
  if (run->node->type == HLO_FFT_TYPE_IFFT) {
    HLO_TRY(hlo_fft32_run(run->parallel, n, run->lines, true, run->work, out));
    for (int64_t i = 0; i < 2 * count; i++) out[i] *= scale;
    return hlo_ok();
  }
  for (int64_t l = 0; l < run->lines; l++) {
    complete(run, run->work + 2 * l * run->kept, run->other + 2 * l * n);
  }
  HLO_TRY(hlo_fft32_run(run->parallel, n, run->lines, true, run->other, run->other));
  for (int64_t i = 0; i < count; i++) out[i] = run->other[2 * i] * scale;
  return hlo_ok();
}

hlo_status_t hlo_fft32_node_run(const hlo_parallel_t* parallel, const hlo_fft32_node_t* node,
                                const float* in, float* out) {
  const bool is_half = node->type == HLO_FFT_TYPE_RFFT || node->type == HLO_FFT_TYPE_IRFFT;
  run_t run = {.parallel = parallel, .node = node, .lines = node->batch_count};
  run.length = node->lengths[node->axes - 1];
  run.kept = is_half ? run.length / 2 + 1 : run.length;
  for (uint32_t a = 0; a + 1 < node->axes; a++) run.lines *= node->lengths[a];
  size_t count = 0, bytes = 0;  // a line of one element keeps one
  if (!hlo_size_mul((size_t)run.lines, (size_t)run.length + 1, &count) ||
      !hlo_size_mul(count, 2 * kElementBytes, &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  run.work = hlo_mem_alloc_aligned(bytes, 64);
  if (!run.work) return hlo_status_out_of_memory(bytes);
  run.other = run.work + 2 * count;
  const bool is_forward = node->type == HLO_FFT_TYPE_FFT || node->type == HLO_FFT_TYPE_RFFT;
  hlo_status_t status = (is_forward ? forward : backward)(&run, in, out);
  hlo_mem_free(run.work);
  return status;
}
