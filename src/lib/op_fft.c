// SPDX-License-Identifier: Apache-2.0
// fft: transforms one axis after the other, in the type of the data (fft_lines.h).
#include "ir/fft.h"
#include "lib/call_impl.h"
#include "lib/fft_lines.h"

// A transform of the last dimensions.
typedef struct {
  hlo_fft_shape_t shape;
  int64_t batches;
  // Tables of roots that no run uses: each run takes them or makes its own.
  _Atomic(hlo_fft_cache_t*) spare;
} fft_t;

// One run.
typedef struct {
  const fft_t* fft;
  const hlo_parallel_t* parallel;
  hlo_fft_cache_t* cache;
} fft_run_t;

// Returns false for sizes and types that do not fit.
static bool fft_init(fft_t* fft, const hlo_node_t* node, const hlo_lib_array_t* operand) {
  const bool fits = hlo_status_take_ok(
      hlo_fft_shape_read(node, operand->dtype, operand->rank, operand->dims, &fft->shape));
  fft->batches = 1;
  for (uint32_t d = 0; d + fft->shape.axes < operand->rank; d++) fft->batches *= operand->dims[d];
  return fits;
}

static hlo_status_t run_lines(const fft_run_t* run, hlo_fft_kind_t kind, int64_t length,
                              int64_t count, int64_t inner, const void* in, void* out) {
  const fft_t* fft = run->fft;
  const hlo_fft_lines_t lines = {.real = fft->shape.real,
                                 .kind = kind,
                                 .inverse = hlo_fft_is_inverse(&fft->shape),
                                 .scale = hlo_fft_is_inverse(&fft->shape) ? 1 / (double)length : 1,
                                 .length = length,
                                 .count = count,
                                 .inner = inner,
                                 .in = in,
                                 .out = out};
  return hlo_fft_lines_run(run->parallel, run->cache, &lines);
}

// Returns the number of complex elements of an axis and all axes inside it.
static int64_t elements_below(const fft_t* fft, uint32_t axis) {
  int64_t elements = fft->shape.kept;
  for (uint32_t a = axis; a + 1 < fft->shape.axes; a++) elements *= fft->shape.length[a];
  return elements;
}

// Transforms an axis other than the last, of `count` blocks made of this axis and those inside it;
// `in` may be `out`.
static hlo_status_t run_outer_axis(const fft_run_t* run, uint32_t axis, int64_t count,
                                   const void* in, void* out) {
  const fft_t* fft = run->fft;
  const int64_t inner = elements_below(fft, axis + 1);
  return run_lines(run, HLO_FFT_COMPLEX, fft->shape.length[axis], count * inner, inner, in, out);
}

static hlo_status_t run_last_axis(const fft_run_t* run, int64_t count, const void* in, void* out) {
  const fft_t* fft = run->fft;
  const hlo_fft_kind_t kind = fft->shape.type == HLO_FFT_TYPE_RFFT    ? HLO_FFT_FROM_REAL
                              : fft->shape.type == HLO_FFT_TYPE_IRFFT ? HLO_FFT_TO_REAL
                                                                      : HLO_FFT_COMPLEX;
  return run_lines(run, kind, fft->shape.length[fft->shape.axes - 1], count, 1, in, out);
}

// Transforms the last two axes in groups of planes, so that the second axis finds the output of the
// first in a cache. `middle`: room for a group before its last axis, or `in` itself if it may be
// overwritten.
static hlo_status_t run_planes(const fft_run_t* run, int64_t planes, int64_t group, const char* in,
                               char* middle, char* out) {
  const fft_t* fft = run->fft;
  const uint32_t axis = fft->shape.axes - 2;
  const size_t each = hlo_dtype_size_bytes(fft->shape.real);
  const int64_t rows = fft->shape.length[axis];
  const size_t numbers = (size_t)(rows * fft->shape.length[fft->shape.axes - 1]) * each;
  const size_t entries = 2 * (size_t)elements_below(fft, axis) * each;
  const bool is_to_real = fft->shape.type == HLO_FFT_TYPE_IRFFT, is_in_place = middle == in;
  const size_t in_step = fft->shape.type == HLO_FFT_TYPE_RFFT ? numbers : entries;
  const size_t out_step = is_to_real ? numbers : entries;
  for (int64_t p = 0; p < planes; p += group) {
    const int64_t some = planes - p < group ? planes - p : group;
    const char* from = in + (size_t)p * in_step;
    char* to = out + (size_t)p * out_step;
    if (is_to_real) {
      char* between = is_in_place ? middle + (size_t)p * in_step : middle;
      HLO_TRY(run_outer_axis(run, axis, some, from, between));
      HLO_TRY(run_last_axis(run, some * rows, between, to));
    } else {
      HLO_TRY(run_last_axis(run, some * rows, from, to));
      HLO_TRY(run_outer_axis(run, axis, some, to, to));
    }
  }
  return hlo_ok();
}

// Returns how many planes of the last two axes are transformed together.
static int64_t planes_at_once(const fft_t* fft, int64_t planes) {
  enum { GROUP_BYTES = 1 << 21 };
  const int64_t bytes =
      2 * (int64_t)hlo_dtype_size_bytes(fft->shape.real) * elements_below(fft, fft->shape.axes - 2);
  const int64_t group = GROUP_BYTES / bytes;
  return group < 1 || group > planes ? planes : group;
}

// Transforms the last axis first, or last if its output is real.
static hlo_status_t run_axes(const fft_run_t* run, const hlo_lib_array_t* operand, char* out) {
  const fft_t* fft = run->fft;
  const char* in = operand->data;
  const int64_t batches = fft->batches;
  if (fft->shape.axes == 1) return run_last_axis(run, batches, in, out);
  const int64_t planes =
      fft->shape.axes == HLO_FFT_AXES_MAX ? batches * fft->shape.length[0] : batches;
  const int64_t group = planes_at_once(fft, planes);
  if (fft->shape.type != HLO_FFT_TYPE_IRFFT) {
    HLO_TRY(run_planes(run, planes, group, in, NULL, out));
    return fft->shape.axes < HLO_FFT_AXES_MAX ? hlo_ok()
                                              : run_outer_axis(run, 0, batches, out, out);
  }
  const bool is_whole = fft->shape.axes == HLO_FFT_AXES_MAX;
  const size_t bytes = operand->size_bytes / (size_t)planes * (size_t)(is_whole ? planes : group);
  char* middle = hlo_mem_alloc_aligned(bytes, 64);
  if (!middle) return hlo_status_out_of_memory(bytes);
  hlo_status_t status = hlo_ok();
  if (is_whole) status = run_outer_axis(run, 0, batches, in, middle);
  if (hlo_status_is_ok(status)) {
    status = run_planes(run, planes, group, is_whole ? middle : in, middle, out);
  }
  hlo_mem_free(middle);
  return status;
}

static void free_cache(hlo_fft_cache_t* cache) {
  if (cache) hlo_fft_cache_deinit(cache);
  hlo_mem_free(cache);
}

static void fft_release(void* plan) {
  fft_t* fft = plan;
  free_cache(atomic_exchange(&fft->spare, NULL));
}

static hlo_status_t fft_run(const hlo_lib_run_t* run) {
  fft_t* fft = run->plan;
  hlo_fft_cache_t* cache = atomic_exchange(&fft->spare, NULL);
  if (!cache) cache = hlo_mem_alloc_zeroed(sizeof *cache);
  if (!cache) return hlo_status_out_of_memory(sizeof *cache);
  const fft_run_t own = {fft, run->parallel, cache};
  hlo_status_t status = run_axes(&own, &run->operands[0], run->results[0].data);
  free_cache(atomic_exchange(&fft->spare, cache));
  return status;
}

hlo_status_t hlo_lib_prepare_fft(hlo_lib_call_t* call, hlo_arena_t* arena) {
  fft_t* fft = hlo_arena_array(arena, 1, sizeof *fft);
  HLO_TRY(hlo_arena_status(arena));
  if (call->operands[0].element_count == 0 || !fft_init(fft, call->node, call->operands)) {
    return hlo_ok();
  }
  call->plan = fft;
  call->run = fft_run;
  call->release = fft_release;
  return hlo_ok();
}
