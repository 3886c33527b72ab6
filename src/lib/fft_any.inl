// SPDX-License-Identifier: Apache-2.0
// Chooses the transform for lines of type T of any length: in blocks or as matrices; as
// convolutions for lengths with large prime factors; as complex lines for odd real ones that are
// too long. Requires the definitions of fft_long.inl.

// ---- complex lines ------------------------------------------------------------------------------

static hlo_status_t NAME(run_job)(NAME(job_t) * job);

static hlo_status_t NAME(run_dense)(const NAME(job_t) * parent, bool inverse, int64_t length,
                                    int64_t count, T* lines) {
  NAME(job_t) job = {.parallel = parent->parallel,
                     .cache = parent->cache,
                     .inverse = inverse,
                     .scale = 1,
                     .length = length,
                     .count = count,
                     .inner = 1,
                     .in = lines,
                     .out = lines,
                     .is_exhausted = parent->is_exhausted};
  return NAME(run_job)(&job);
}

static hlo_status_t NAME(chirp_fill)(const NAME(job_t) * job, NAME(chirp_t) * c) {
  const int64_t n = job->length;
  const hlo_fft_roots_t* roots = NULL;
  HLO_TRY(hlo_fft_roots_get(job->cache, 2 * n, &roots));
  memset(c->kernel, 0, 2 * (size_t)c->padded * sizeof(T));
  for (int64_t k = 0, square = 0; k < n; k++) {  // square: k^2 modulo 2 n
    T* w = c->factors + 2 * k;
    NAME(root)(roots, square, w);
    square = (square + 2 * k + 1) % (2 * n);
    for (int side = 0; side < (k ? 2 : 1); side++) {
      T* entry = c->kernel + 2 * (side ? c->padded - k : k);
      entry[0] = w[0];
      entry[1] = -w[1];
    }
  }
  HLO_TRY(NAME(run_dense)(job, false, c->padded, 1, c->kernel));
  for (int64_t k = 0; k < 2 * c->padded; k++) c->kernel[k] /= (T)c->padded;
  return hlo_ok();
}

static hlo_status_t NAME(chirp_get)(NAME(job_t) * job) {
  job->chirp = hlo_fft_cache_find(job->cache, HLO_FFT_CHIRP, NAME(type), job->length);
  if (job->chirp) return hlo_ok();
  const int64_t padded = hlo_fft_smooth_length(2 * job->length - 1);
  hlo_fft_item_t* item = NULL;
  HLO_TRY(hlo_fft_item_create(HLO_FFT_CHIRP, NAME(type), job->length, sizeof(NAME(chirp_t)),
                              2 * (padded + job->length), &item));
  NAME(chirp_t)* chirp = (NAME(chirp_t)*)item->data;
  *chirp = (NAME(chirp_t)){.padded = padded, .kernel = (T*)(item->data + sizeof(*chirp))};
  chirp->factors = chirp->kernel + 2 * padded;
  hlo_status_t status = NAME(chirp_fill)(job, chirp);
  if (hlo_status_is_ok(status) && atomic_load(job->is_exhausted)) {  // the table is incomplete
    status = hlo_status_out_of_memory(item->bytes);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(item);
    return status;
  }
  job->chirp = hlo_fft_cache_keep(job->cache, item);
  return hlo_ok();
}

// Lines being convolved in memory: those that are too long for blocks.
typedef struct NAME(detour) {
  const NAME(job_t) * job;
  int64_t first;  // line
  T* work;        // padded lines
} NAME(detour_t);

static void NAME(chirp_in)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  const NAME(chirp_t)* chirp = c->job->chirp;
  NAME(job_t) own = *c->job, lines;
  own.line = c->first + (int64_t)line;
  NAME(begin_line)(&own, NULL, &lines);
  T* out = c->work + 2 * (int64_t)line * chirp->padded;
  const int re = lines.inverse, im = !re;
  for (int64_t k = 0; k < own.length; k++) {
    const T entry[2] = {lines.in[2 * k + re], lines.in[2 * k + im]};
    NAME(multiply)(entry, chirp->factors + 2 * k, out + 2 * k);
  }
  memset(out + 2 * own.length, 0, 2 * (size_t)(chirp->padded - own.length) * sizeof(T));
}

static void NAME(chirp_middle)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  const NAME(chirp_t)* chirp = c->job->chirp;
  T* out = c->work + 2 * (int64_t)line * chirp->padded;
  for (int64_t k = 0; k < chirp->padded; k++) {
    NAME(multiply)(out + 2 * k, chirp->kernel + 2 * k, out + 2 * k);
  }
}

static void NAME(chirp_out)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  const NAME(chirp_t)* chirp = c->job->chirp;
  NAME(job_t) own = *c->job;
  own.line = c->first + (int64_t)line;
  const T* in = c->work + 2 * (int64_t)line * chirp->padded;
  T* out = NAME(line_out)(&own, own.line);
  const int re = own.inverse || own.kind == HLO_FFT_TO_REAL, im = !re;
  for (int64_t k = 0; k < own.length; k++) {
    T entry[2];
    NAME(multiply)(in + 2 * k, chirp->factors + 2 * k, entry);
    out[2 * k + re] = entry[0] * own.scale;
    out[2 * k + im] = entry[1] * own.scale;
  }
  NAME(end_line)(&own, NULL);
}

static hlo_status_t NAME(run_detour)(NAME(job_t) * job) {
  HLO_TRY(NAME(chirp_get)(job));
  const int64_t padded = job->chirp->padded;
  int64_t at_once = NAME(work_elements) / padded;
  if (at_once < 1) at_once = 1;
  if (at_once > job->count) at_once = job->count;
  const size_t bytes = (size_t)(padded * at_once) * 2 * sizeof(T);
  void* work = NULL;
  HLO_TRY(hlo_fft_cache_room(job->cache, HLO_FFT_WORK, bytes, &work));
  NAME(detour_t) c = {.job = job, .work = work};
  for (; c.first < job->count; c.first += at_once) {
    const int64_t left = job->count - c.first, some = left < at_once ? left : at_once;
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_in), &c);
    HLO_TRY(NAME(run_dense)(job, false, padded, some, c.work));
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_middle), &c);
    HLO_TRY(NAME(run_dense)(job, true, padded, some, c.work));
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_out), &c);
  }
  return hlo_ok();
}

// Transforms lines in blocks, directly or padded.
static hlo_status_t NAME(run_short)(NAME(job_t) * job, bool has_chirp) {
  if (has_chirp) HLO_TRY(NAME(chirp_get)(job));
  HLO_TRY(NAME(table_get)(job->cache, NAME(padded_length)(job), &job->table));
  const size_t chunk = (size_t)NAME(groups_per_chunk)(job);
  hlo_parallel_for(job->parallel, hlo_chunk_count((size_t)NAME(group_count)(job), chunk),
                   NAME(run_blocks), job);
  return hlo_ok();
}

// Returns true if lines of this length are transformed in blocks.
static bool NAME(is_short)(int64_t length, int64_t count, int64_t inner) {
  hlo_fft_plan_t plan;
  const bool is_plain = hlo_fft_plan_init(&plan, length);
  if (!is_plain) length = hlo_fft_smooth_length(2 * length - 1);
  const int64_t lanes_for_one = length < 512 ? 4 : 2;  // lanes of a block above which it is faster
  const bool is_few = lanes_for_one * count <= NAME(lines) && length >= NAME(cut_min);
  if (inner > 1) return is_plain || length <= NAME(short_max);
  return length <= NAME(short_max) && !(is_few && (!is_plain || hlo_fft_split(&plan) >= 8));
}

// Transforms complex lines, which may be halved real ones; dense unless they are short.
static hlo_status_t NAME(run_job)(NAME(job_t) * job) {
  hlo_fft_plan_t plan;
  const bool is_plain = hlo_fft_plan_init(&plan, job->length);
  if (NAME(is_short)(job->length, job->count, job->inner)) return NAME(run_short)(job, !is_plain);
  if (!is_plain) return NAME(run_detour)(job);
  job->height = hlo_fft_split(&plan);
  job->width = job->length / job->height;
  return NAME(run_long)(job);
}

// Strided lines whose length is unsuited to blocks are transposed to dense ones first.
static hlo_status_t NAME(run_transposed)(NAME(job_t) * job) {
  const int64_t bytes = 2 * sizeof(T), n = job->length, inner = job->inner;
  const int64_t dims[] = {job->count / inner, inner, n};
  const int64_t across[] = {n * inner * bytes, bytes, inner * bytes};
  int64_t dense[3];
  size_t work_bytes;
  if (!hlo_size_mul((size_t)(job->count * n), (size_t)bytes, &work_bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  T* work = hlo_mem_alloc_aligned(work_bytes, 64);
  if (!work) return hlo_status_out_of_memory(work_bytes);
  T* out = job->out;
  hlo_strided_dense((size_t)bytes, 3, dims, dense);
  hlo_strided_copy((size_t)bytes, 3, dims, work, dense, job->in, across);
  job->in = job->out = work;
  job->inner = 1;
  hlo_status_t status = NAME(run_job)(job);
  hlo_strided_copy((size_t)bytes, 3, dims, out, across, work, dense);
  hlo_mem_free(work);
  return status;
}

// ---- real lines ---------------------------------------------------------------------------------

static hlo_status_t NAME(halves_get)(NAME(job_t) * job) {
  const int64_t n = job->real_length;
  job->halves = hlo_fft_cache_find(job->cache, HLO_FFT_HALVES, NAME(type), n);
  if (job->halves) return hlo_ok();
  const hlo_fft_roots_t* roots = NULL;
  HLO_TRY(hlo_fft_roots_get(job->cache, n, &roots));
  hlo_fft_item_t* item = NULL;
  HLO_TRY(hlo_fft_item_create(HLO_FFT_HALVES, NAME(type), n, 0, 2 * (n / 4 + 1), &item));
  for (int64_t k = 0; k <= n / 4; k++) NAME(root)(roots, k, (T*)item->data + 2 * k);
  job->halves = hlo_fft_cache_keep(job->cache, item);
  return hlo_ok();
}

// Lines of odd length that are too long for blocks, or whose length is unsuited to them:
// transformed as complex ones in `work`, a few at a time.
typedef struct NAME(odd) {
  const NAME(job_t) * job;
  int64_t first, parts;  // line; parts per line, of pairs_per_chunk elements
  T* work;
} NAME(odd_t);

static void NAME(odd_in)(void* arg, uint64_t index) {
  const NAME(odd_t)* odd = arg;
  const NAME(job_t)* job = odd->job;
  const int64_t n = job->length, line = (int64_t)index / odd->parts;
  const int64_t begin = (int64_t)index % odd->parts * NAME(pairs_per_chunk);
  const int64_t limit = begin + NAME(pairs_per_chunk), end = limit < n ? limit : n;
  const T* in = NAME(line_in)(job, odd->first + line);
  T* out = odd->work + 2 * line * n;
  if (job->kind == HLO_FFT_FROM_REAL) {
    for (int64_t k = begin; k < end; k++) {
      out[2 * k] = in[k];
      out[2 * k + 1] = 0;
    }
    return;
  }
  for (int64_t k = begin; k < end; k++) {
    const bool is_mirrored = k >= job->kept;
    const T* entry = in + 2 * (is_mirrored ? n - k : k);
    out[2 * k] = entry[0];
    out[2 * k + 1] = k == 0 ? 0 : is_mirrored ? -entry[1] : entry[1];
  }
}

static void NAME(odd_out)(void* arg, uint64_t index) {
  const NAME(odd_t)* odd = arg;
  const NAME(job_t)* job = odd->job;
  const bool is_from_real = job->kind == HLO_FFT_FROM_REAL;
  const int64_t line = (int64_t)index / odd->parts, count = is_from_real ? job->kept : job->length;
  const int64_t begin = (int64_t)index % odd->parts * NAME(pairs_per_chunk);
  const int64_t limit = begin + NAME(pairs_per_chunk), end = limit < count ? limit : count;
  const T* in = odd->work + 2 * line * job->length;
  T* out = NAME(line_out)(job, odd->first + line);
  for (int64_t k = 2 * begin; is_from_real && k < 2 * end; k++) out[k] = in[k] * job->scale;
  for (int64_t k = begin; !is_from_real && k < end; k++) out[k] = in[2 * k] * job->scale;
}

static hlo_status_t NAME(run_odd)(const NAME(job_t) * job) {
  const int64_t n = job->length;
  int64_t at_once = NAME(work_elements) / n;
  if (at_once < 1) at_once = 1;
  if (at_once > job->count) at_once = job->count;
  NAME(odd_t) odd = {.job = job, .parts = (n + NAME(pairs_per_chunk) - 1) / NAME(pairs_per_chunk)};
  size_t bytes;
  void* work = NULL;
  if (!hlo_size_mul((size_t)(at_once * n), 2 * sizeof(T), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  HLO_TRY(hlo_fft_cache_room(job->cache, HLO_FFT_WHOLE, bytes, &work));
  odd.work = work;
  for (; odd.first < job->count; odd.first += at_once) {
    const int64_t left = job->count - odd.first, some = left < at_once ? left : at_once;
    const uint64_t chunks = (uint64_t)(some * odd.parts);
    hlo_parallel_for(job->parallel, chunks, NAME(odd_in), &odd);
    HLO_TRY(NAME(run_dense)(job, job->kind == HLO_FFT_TO_REAL, n, some, odd.work));
    hlo_parallel_for(job->parallel, chunks, NAME(odd_out), &odd);
  }
  return hlo_ok();
}

static hlo_status_t NAME(run)(const hlo_parallel_t* parallel, hlo_fft_cache_t* cache,
                              const hlo_fft_lines_t* lines) {
  const bool is_real = lines->kind != HLO_FFT_COMPLEX;
  atomic_bool is_exhausted = false;
  NAME(job_t) job = {.parallel = parallel,
                     .cache = cache,
                     .kind = lines->kind,
                     .inverse = lines->inverse,
                     .is_halved = is_real && lines->length % 2 == 0,
                     .scale = (T)lines->scale,
                     .length = lines->length,
                     .count = lines->count,
                     .inner = lines->inner,
                     .real_length = lines->length,
                     .kept = lines->length / 2 + 1,
                     .in = lines->in,
                     .out = lines->out,
                     .is_exhausted = &is_exhausted};
  if (job.is_halved) {
    job.length /= 2;
    HLO_TRY(NAME(halves_get)(&job));
  }
  const bool is_short = NAME(is_short)(job.length, job.count, job.inner);
  if (!is_real && job.inner > 1 && !is_short) {
    HLO_TRY(NAME(run_transposed)(&job));
  } else if (is_real && !job.is_halved && !is_short) {
    HLO_TRY(NAME(run_odd)(&job));
  } else {
    HLO_TRY(NAME(run_job)(&job));
  }
  return atomic_load(&is_exhausted)
             ? hlo_status_out_of_memory((size_t)job.length * sizeof(NAME(row_t)))
             : hlo_ok();
}
