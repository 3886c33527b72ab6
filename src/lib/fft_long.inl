// SPDX-License-Identifier: Apache-2.0
// Long lines of type T as matrices, and long real lines as complex ones of half the length.
// Requires the definitions of fft_lines.inl.

// ---- long lines ---------------------------------------------------------------------------------

// Transposes lanes of rows from `found` on: lane j becomes lanes of row j of `to`, for `count`
// lanes.
static void NAME(transpose_block)(const NAME(row_t) * found, int64_t count, NAME(row_t) * to) {
  for (int half = 0; half < 2; half++) {
    const T* from_lanes = (const T*)found + half * NAME(lines);
    T* to_lanes = (T*)to + half * NAME(lines);
    int64_t j = 0;
    for (; NAME(lines) >= 4 && j + 4 <= count; j += 4) {
      for (int64_t r = 0; r < NAME(lines); r += 4) {
        const T* from[4];
        T* transposed[4];
        for (int q = 0; q < 4; q++) {
          from[q] = from_lanes + (r + q) * 2 * NAME(lines) + j;
          transposed[q] = to_lanes + (j + q) * 2 * NAME(lines) + r;
        }
        NAME(transpose_quads)(from, transposed);
      }
    }
    for (; j < count; j++) {
      for (int64_t r = 0; r < NAME(lines); r++) {
        to_lanes[j * 2 * NAME(lines) + r] = from_lanes[r * 2 * NAME(lines) + j];
      }
    }
  }
}

// Multiplies row r by exp(-2 pi i r (first + j) / n) in lanes j.
static inline void NAME(twiddle_row)(const NAME(job_t) * job, int64_t r, int64_t first,
                                  NAME(row_t) * row) {
  double start[2];
  hlo_fft_root(job->roots, r * first % job->length, start);
  const T w[2] = {(T)start[0], (T)start[1]};
  const NAME(row_t) a = *row, by = NAME(times)(job->steps[r], w);
  *row = (NAME(row_t)){a.re * by.re - a.im * by.im, a.re * by.im + a.im * by.re};
}

// Transforms columns of the matrix from `first` on into one element of every row of the middle
// blocks.
static void NAME(column_block)(const NAME(job_t) * job, int64_t first, NAME(row_t) * x,
                               NAME(row_t) * y) {
  const int64_t height = job->height, width = job->width;
  const int64_t count = width - first < NAME(lines) ? width - first : NAME(lines);
  const T* in = NAME(line_in)(job, job->line) + 2 * first;
  for (int64_t r = 0; r < height; r++) {
    NAME(load_row)(job->inverse, count, in + 2 * r * width, &x[r]);
  }
  NAME(row_t)* found = NAME(transform)(job->table, x, y);
  for (int64_t r = 0; r < height; r++) NAME(twiddle_row)(job, r, first, &found[r]);
  for (int64_t b = 0; b < height; b += NAME(lines)) {
    NAME(transpose_block)(found + b, count, job->middle + b / NAME(lines) * width + first);
  }
}

static void NAME(row_block)(const NAME(job_t) * job, int64_t index, NAME(row_t) * y) {
  const int64_t width = job->width, first = index * NAME(lines);
  const int64_t count = job->height - first < NAME(lines) ? job->height - first : NAME(lines);
  const NAME(row_t)* found = NAME(transform)(job->wide, job->middle + index * width, y);
  T* out = NAME(line_out)(job, job->line) + 2 * first;
  for (int64_t k = 0; k < width; k++) {
    NAME(store_row)(job->inverse, job->scale, count, &found[k], out + 2 * k * job->height);
  }
}

enum { NAME(blocks_per_chunk) = 4 };

static void NAME(run_columns)(void* arg, uint64_t index) {
  NAME(job_t)* job = arg;
  const int64_t padded = (job->height + NAME(lines) - 1) / NAME(lines) * NAME(lines);
  const int64_t step = NAME(blocks_per_chunk) * NAME(lines), begin = (int64_t)index * step;
  NAME(few_t) few;
  NAME(row_t)* x = NAME(rows)(job, 2 * padded, &few);
  for (int64_t first = begin; x && first < begin + step && first < job->width;
       first += NAME(lines)) {
    NAME(column_block)(job, first, x, x + padded);
  }
  NAME(rows_free)(x, &few);
}

static void NAME(run_rows)(void* arg, uint64_t index) {
  NAME(job_t)* job = arg;
  const int64_t blocks = (job->height + NAME(lines) - 1) / NAME(lines);
  const int64_t begin = (int64_t)index * NAME(blocks_per_chunk);
  NAME(few_t) few;
  NAME(row_t)* y = NAME(rows)(job, job->width, &few);
  for (int64_t b = begin; y && b < begin + NAME(blocks_per_chunk) && b < blocks; b++) {
    NAME(row_block)(job, b, y);
  }
  NAME(rows_free)(y, &few);
}

// Uses the middle buffer of the job.
static void NAME(run_matrix)(NAME(job_t) * job, const hlo_parallel_t* parallel) {
  const int64_t blocks = (job->height + NAME(lines) - 1) / NAME(lines);
  hlo_parallel_for(parallel,
                   hlo_chunk_count((size_t)job->width, NAME(blocks_per_chunk) * NAME(lines)),
                   NAME(run_columns), job);
  hlo_parallel_for(parallel, hlo_chunk_count((size_t)blocks, NAME(blocks_per_chunk)),
                   NAME(run_rows), job);
}

static int64_t NAME(middle_rows)(const NAME(job_t) * job) {
  return (job->height + NAME(lines) - 1) / NAME(lines) * job->width;
}

// ---- halves of real lines in memory
// --------------------------------------------------------------

enum { NAME(pairs_per_chunk) = 1 << 13 };

static inline void NAME(multiply)(const T* a, const T* b, T* out) {
  const T re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  out[0] = re;
  out[1] = im;
}

// Four complex numbers forwards or backwards from an address; count 1: only the first.
typedef struct NAME(four) {
  NAME(quad) re, im;
} NAME(four_t);

static inline NAME(four_t) NAME(load_four)(int64_t count, bool is_falling, const T* at) {
  if (count == 1) return (NAME(four_t)){{at[0]}, {at[1]}};
  const T* first = is_falling ? at - 6 : at;
  const NAME(quad) low = *(const NAME(quad)*)first, high = *(const NAME(quad)*)(first + 4);
  return is_falling ? (NAME(four_t)){__builtin_shufflevector(low, high, 6, 4, 2, 0),
                                     __builtin_shufflevector(low, high, 7, 5, 3, 1)}
                    : (NAME(four_t)){__builtin_shufflevector(low, high, 0, 2, 4, 6),
                                     __builtin_shufflevector(low, high, 1, 3, 5, 7)};
}

static inline void NAME(store_four)(int64_t count, bool is_falling, NAME(four_t) x, T* at) {
  if (count == 1) {
    at[0] = x.re[0];
    at[1] = x.im[0];
    return;
  }
  T* first = is_falling ? at - 6 : at;
  *(NAME(quad)*)first = is_falling ? __builtin_shufflevector(x.re, x.im, 3, 7, 2, 6)
                                   : __builtin_shufflevector(x.re, x.im, 0, 4, 1, 5);
  *(NAME(quad)*)(first + 4) = is_falling ? __builtin_shufflevector(x.re, x.im, 1, 5, 0, 4)
                                         : __builtin_shufflevector(x.re, x.im, 2, 6, 3, 7);
}

static inline NAME(four_t) NAME(multiply_four)(NAME(four_t) a, NAME(four_t) b) {
  return (NAME(four_t)){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Like join_halves() for elements k.. and h - k.. of z.
static inline void NAME(join_four)(int64_t count, const T* halves, int64_t k, int64_t h, T* z) {
  const T half = (T)0.5;
  const NAME(four_t) a = NAME(load_four)(count, false, z + 2 * k);
  const NAME(four_t) b = NAME(load_four)(count, true, z + 2 * (h - k));
  const NAME(four_t) w = NAME(load_four)(count, false, halves + 2 * k);
  const NAME(four_t) even = {(a.re + b.re) * half, (a.im - b.im) * half};
  const NAME(four_t) odd = {(a.im + b.im) * half, (b.re - a.re) * half};
  const NAME(four_t) rotated = NAME(multiply_four)(odd, w);
  const NAME(four_t) first = {even.re + rotated.re, even.im + rotated.im};
  const NAME(four_t) last = {even.re - rotated.re, rotated.im - even.im};
  NAME(store_four)(count, true, last, z + 2 * (h - k));
  NAME(store_four)(count, false, first, z + 2 * k);
}

// Like split_halves(), without swapping the parts.
static inline void NAME(split_four)(int64_t count, const T* halves, int64_t k, int64_t h,
                                    const T* in, T* z) {
  const NAME(four_t) a = NAME(load_four)(count, false, in + 2 * k);
  const NAME(four_t) b = NAME(load_four)(count, true, in + 2 * (h - k));
  const NAME(four_t) w = NAME(load_four)(count, false, halves + 2 * k);
  const NAME(four_t) even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
  const NAME(four_t) rotated = NAME(multiply_four)(odd, (NAME(four_t)){w.re, -w.im});
  const NAME(four_t) first = {even.re - rotated.im, even.im + rotated.re};
  const NAME(four_t) last = {even.re + rotated.im, rotated.re - even.im};
  NAME(store_four)(count, true, last, z + 2 * (h - k));
  NAME(store_four)(count, false, first, z + 2 * k);
}

// Joins some pairs of a line, in `out` or on the way to it. Fours that meet their partners are done
// one by one.
static void NAME(join_pairs)(void* arg, uint64_t index) {
  const NAME(job_t)* job = arg;
  const int64_t h = job->length, begin = (int64_t)index * NAME(pairs_per_chunk);
  const int64_t limit = begin + NAME(pairs_per_chunk), end = limit < h / 2 + 1 ? limit : h / 2 + 1;
  T* z = NAME(line_out)(job, job->line);
  if (begin == 0) memcpy(z + 2 * h, z, 2 * sizeof(T));
  int64_t k = begin;
  for (; k + 4 <= end && k + 3 < h - k - 3; k += 4) NAME(join_four)(4, job->halves, k, h, z);
  for (; k < end; k++) NAME(join_four)(1, job->halves, k, h, z);
}

static void NAME(split_pairs)(void* arg, uint64_t index) {
  const NAME(job_t)* job = arg;
  const int64_t h = job->length, begin = (int64_t)index * NAME(pairs_per_chunk);
  const int64_t limit = begin + NAME(pairs_per_chunk), end = limit < h / 2 + 1 ? limit : h / 2 + 1;
  const T* in = NAME(line_in)(job, job->line);
  T* z = NAME(line_out)(job, job->line);
  int64_t k = begin;
  if (begin == 0) {
    z[0] = in[0] + in[2 * h];
    z[1] = in[0] - in[2 * h];
    k = 1;
  }
  for (; k + 4 <= end && k + 3 < h - k - 3; k += 4) NAME(split_four)(4, job->halves, k, h, in, z);
  for (; k < end; k++) NAME(split_four)(1, job->halves, k, h, in, z);
}

static void NAME(over_pairs)(NAME(job_t) * job, const hlo_parallel_t* parallel,
                             hlo_parallel_chunk_t chunk) {
  const size_t pairs = (size_t)job->length / 2 + 1;
  hlo_parallel_for(parallel, hlo_chunk_count(pairs, NAME(pairs_per_chunk)), chunk, job);
}

// Prepares one line of a job: `lines` becomes the complex transform to run, with its input and
// output.
static void NAME(begin_line)(NAME(job_t) * job, const hlo_parallel_t* parallel,
                             NAME(job_t) * lines) {
  const bool is_kept = job->kind == HLO_FFT_TO_REAL;
  if (is_kept) NAME(over_pairs)(job, parallel, NAME(split_pairs));
  *lines = *job;
  lines->kind = HLO_FFT_COMPLEX;
  lines->inverse = job->inverse || is_kept;
  lines->out = NAME(line_out)(job, job->line);
  lines->in = is_kept ? lines->out : NAME(line_in)(job, job->line);
  lines->line = 0;
  lines->count = 1;
}

static void NAME(end_line)(NAME(job_t) * job, const hlo_parallel_t* parallel) {
  if (job->kind == HLO_FFT_FROM_REAL) NAME(over_pairs)(job, parallel, NAME(join_pairs));
}

static void NAME(run_line)(NAME(job_t) * job, const hlo_parallel_t* parallel) {
  NAME(job_t) complex_line;
  NAME(begin_line)(job, parallel, &complex_line);
  NAME(run_matrix)(&complex_line, parallel);
  NAME(end_line)(job, parallel);
}

// Transforms one of several lines on one thread.
static void NAME(run_one_line)(void* arg, uint64_t line) {
  NAME(job_t) own = *(const NAME(job_t)*)arg;
  NAME(few_t) few;
  own.line = (int64_t)line;
  own.middle = NAME(rows)(&own, NAME(middle_rows)(&own), &few);
  if (own.middle) NAME(run_line)(&own, NULL);
  NAME(rows_free)(own.middle, &few);
}

static hlo_status_t NAME(steps_get)(NAME(job_t) * job) {
  job->steps = hlo_fft_cache_find(job->cache, HLO_FFT_STEPS, NAME(type), job->length);
  if (job->steps) return hlo_ok();
  hlo_fft_item_t* item = NULL;
  HLO_TRY(hlo_fft_item_create(HLO_FFT_STEPS, NAME(type), job->length, 0,
                              job->height * NAME(row_numbers), &item));
  T* steps = (T*)item->data;
  for (int64_t r = 0; r < job->height; r++, steps += NAME(row_numbers)) {
    for (int64_t j = 0; j < NAME(lines); j++) {
      T w[2];
      NAME(root)(job->roots, r * j % job->length, w);
      steps[j] = w[0];
      steps[NAME(lines) + j] = w[1];
    }
  }
  job->steps = hlo_fft_cache_keep(job->cache, item);
  return hlo_ok();
}

static hlo_status_t NAME(run_long)(NAME(job_t) * job) {
  HLO_TRY(NAME(table_get)(job->cache, job->height, &job->table));
  HLO_TRY(NAME(table_get)(job->cache, job->width, &job->wide));
  HLO_TRY(hlo_fft_roots_get(job->cache, job->length, &job->roots));
  HLO_TRY(NAME(steps_get)(job));
  if (job->count > 1) {
    hlo_parallel_for(job->parallel, (uint64_t)job->count, NAME(run_one_line), job);
    return hlo_ok();
  }
  void* middle = NULL;
  HLO_TRY(hlo_fft_cache_room(job->cache, HLO_FFT_MIDDLE,
                             (size_t)NAME(middle_rows)(job) * sizeof(NAME(row_t)), &middle));
  job->middle = middle;
  NAME(run_line)(job, job->parallel);
  return hlo_ok();
}
