// SPDX-License-Identifier: Apache-2.0
// fft: transforms one axis after the other, in the type of the data (lib/fft_lines.h).
#include <string.h>

#include "interp/ref_util.h"
#include "lib/fft_lines.h"

enum { AXES_MAX = 3 };

// A transform of the last dimensions.
typedef struct {
  int64_t type;  // HLO_FFT_TYPE_*
  uint32_t axes;
  int64_t length[AXES_MAX];  // of the transforms
  int64_t kept;              // elements of the last axis on the complex side
  hlo_dtype_t real;          // F32 or F64
} fft_t;

static hlo_status_t fft_init(fft_t* fft, const hlo_node_t* node, const hlo_tensor_t* operand) {
  const hlo_ints_t lengths = hlo_node_ints(node, HLO_ATTR_fft_length);
  *fft = (fft_t){.type = hlo_node_attr(node, HLO_ATTR_fft_type)->i};
  if (lengths.count < 1 || lengths.count > AXES_MAX || lengths.count > operand->rank) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "fft of %u dimensions", lengths.count);
  }
  const bool is_half = fft->type == HLO_FFT_TYPE_RFFT || fft->type == HLO_FFT_TYPE_IRFFT;
  for (uint32_t a = 0; a < lengths.count; a++) {
    const int64_t n = lengths.values[a];
    fft->kept = a + 1 == lengths.count && is_half ? n / 2 + 1 : n;
    const int64_t expected = fft->type == HLO_FFT_TYPE_IRFFT ? fft->kept : n;
    const int64_t size = operand->dims[operand->rank - lengths.count + a];
    if (n < 1 || size != expected) {
      return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                            "a transform of length %lld does not match a dimension of size %lld",
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
             : hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "fft of %s",
                              hlo_dtype_info(operand->dtype)->name);
}

static bool is_inverse(const fft_t* fft) {
  return fft->type == HLO_FFT_TYPE_IFFT || fft->type == HLO_FFT_TYPE_IRFFT;
}

static hlo_status_t run_lines(const fft_t* fft, hlo_eval_t* eval, hlo_fft_kind_t kind,
                              int64_t length, int64_t count, int64_t inner, const void* in,
                              void* out) {
  const hlo_fft_lines_t lines = {.real = fft->real,
                                 .kind = kind,
                                 .inverse = is_inverse(fft),
                                 .scale = is_inverse(fft) ? 1 / (double)length : 1,
                                 .length = length,
                                 .count = count,
                                 .inner = inner,
                                 .in = in,
                                 .out = out};
  return hlo_fft_lines_run(hlo_eval_parallel(eval), hlo_eval_fft_cache(eval), &lines);
}

// Returns the number of complex elements of an axis and all axes inside it.
static int64_t elements_below(const fft_t* fft, uint32_t axis) {
  int64_t elements = fft->kept;
  for (uint32_t a = axis; a + 1 < fft->axes; a++) elements *= fft->length[a];
  return elements;
}

// Transforms an axis other than the last, of `count` blocks made of this axis and those inside it;
// `in` may be `out`.
static hlo_status_t run_outer_axis(const fft_t* fft, hlo_eval_t* eval, uint32_t axis, int64_t count,
                                   const void* in, void* out) {
  const int64_t inner = elements_below(fft, axis + 1);
  return run_lines(fft, eval, HLO_FFT_COMPLEX, fft->length[axis], count * inner, inner, in, out);
}

static hlo_status_t run_last_axis(const fft_t* fft, hlo_eval_t* eval, int64_t count, const void* in,
                                  void* out) {
  const hlo_fft_kind_t kind = fft->type == HLO_FFT_TYPE_RFFT    ? HLO_FFT_FROM_REAL
                              : fft->type == HLO_FFT_TYPE_IRFFT ? HLO_FFT_TO_REAL
                                                                : HLO_FFT_COMPLEX;
  return run_lines(fft, eval, kind, fft->length[fft->axes - 1], count, 1, in, out);
}

// Transforms the last two axes in groups of planes, so that the second axis finds the output of the
// first in a cache. `middle`: room for a group before its last axis, or `in` itself if it may be
// overwritten.
static hlo_status_t run_planes(const fft_t* fft, hlo_eval_t* eval, int64_t planes, int64_t group,
                               const char* in, char* middle, char* out) {
  const uint32_t axis = fft->axes - 2;
  const size_t each = hlo_dtype_size_bytes(fft->real);
  const int64_t rows = fft->length[axis];
  const size_t numbers = (size_t)(rows * fft->length[fft->axes - 1]) * each;
  const size_t entries = 2 * (size_t)elements_below(fft, axis) * each;
  const bool is_to_real = fft->type == HLO_FFT_TYPE_IRFFT, is_in_place = middle == in;
  const size_t in_step = fft->type == HLO_FFT_TYPE_RFFT ? numbers : entries;
  const size_t out_step = is_to_real ? numbers : entries;
  for (int64_t p = 0; p < planes; p += group) {
    const int64_t some = planes - p < group ? planes - p : group;
    const char* from = in + (size_t)p * in_step;
    char* to = out + (size_t)p * out_step;
    if (is_to_real) {
      char* between = is_in_place ? middle + (size_t)p * in_step : middle;
      HLO_TRY(run_outer_axis(fft, eval, axis, some, from, between));
      HLO_TRY(run_last_axis(fft, eval, some * rows, between, to));
    } else {
      HLO_TRY(run_last_axis(fft, eval, some * rows, from, to));
      HLO_TRY(run_outer_axis(fft, eval, axis, some, to, to));
    }
  }
  return hlo_ok();
}

// Returns how many planes of the last two axes are transformed together.
static int64_t planes_at_once(const fft_t* fft, int64_t planes) {
  enum { GROUP_BYTES = 1 << 21 };
  const int64_t bytes =
      2 * (int64_t)hlo_dtype_size_bytes(fft->real) * elements_below(fft, fft->axes - 2);
  const int64_t group = GROUP_BYTES / bytes;
  return group < 1 || group > planes ? planes : group;
}

// Transforms the last axis first, or last if its output is real.
static hlo_status_t run_axes(const fft_t* fft, hlo_eval_t* eval, int64_t batches,
                             const hlo_tensor_t* operand, hlo_tensor_t* result) {
  const char* in = operand->data;
  if (fft->axes == 1) return run_last_axis(fft, eval, batches, in, result->data);
  const int64_t planes = fft->axes == AXES_MAX ? batches * fft->length[0] : batches;
  const int64_t group = planes_at_once(fft, planes);
  if (fft->type != HLO_FFT_TYPE_IRFFT) {
    HLO_TRY(run_planes(fft, eval, planes, group, in, NULL, result->data));
    if (fft->axes < AXES_MAX) return hlo_ok();
    return run_outer_axis(fft, eval, 0, batches, result->data, result->data);
  }
  const bool is_whole = fft->axes == AXES_MAX;
  const size_t bytes = operand->size_bytes / (size_t)planes * (size_t)(is_whole ? planes : group);
  char* middle = hlo_mem_alloc_aligned(bytes, 64);
  if (!middle) return hlo_status_out_of_memory(bytes);
  hlo_status_t status = hlo_ok();
  if (is_whole) status = run_outer_axis(fft, eval, 0, batches, in, middle);
  if (hlo_status_is_ok(status)) {
    status = run_planes(fft, eval, planes, group, is_whole ? middle : in, middle, result->data);
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
  hlo_status_t status = run_axes(&fft, eval, batches, operand, result);
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}
