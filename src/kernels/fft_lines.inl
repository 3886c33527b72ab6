// SPDX-License-Identifier: Apache-2.0
// Transforms of lines of type T: blocks of short ones, long ones as matrices, lengths with large
// prime factors as convolutions, real ones as complex ones of half the length. Needs what
// fft_block.inl defines.

enum {
  NAME(short_max) = 32768 / sizeof(T),   // longest line that is not cut
  NAME(cut_min) = 256,                   // shortest that is, if there are few
  NAME(chunk_elements) = 1 << 14,
};

// A convolution with exp(pi i k^2 / n), for lengths n with large prime factors, of length `padded`.
typedef struct NAME(chirp) {
  int64_t padded;
  T *factors, *kernel;  // exp(-pi i k^2 / n); the transform of its conjugate
} NAME(chirp_t);

// A transform of complex lines, and how real ones are made of them.
typedef struct NAME(job) {
  const hlo_parallel_t* parallel;
  hlo_fft_kind_t kind;
  bool inverse, is_halved;  // is_halved: two real numbers are one complex one
  T scale;
  int64_t length, count, inner;  // of the complex lines
  int64_t real_length, kept;     // of real lines
  const T* in;
  T* out;
  NAME(table_t) table;           // of the length, or that of the convolution
  const NAME(chirp_t) * chirp;   // NULL: factors are small
  T* halves;  // exp(-2 pi i k / real_length), k <= length, if halved
  // of a long line, a matrix of height x width
  NAME(table_t) wide;
  int64_t height, width, line;
  hlo_fft_roots_t roots;  // of its length
  NAME(row_t) * steps;    // exp(-2 pi i r j / length) in the lanes j of row r
  NAME(row_t) * middle;   // [height / lines][width]
  atomic_bool is_exhausted;
} NAME(job_t);

static NAME(row_t) * NAME(rows)(NAME(job_t) * job, int64_t count) {
  NAME(row_t)* rows = hlo_mem_alloc_aligned((size_t)count * sizeof(NAME(row_t)), 64);
  if (!rows) atomic_store(&job->is_exhausted, true);
  return rows;
}

static int64_t NAME(padded_length)(const NAME(job_t) * job) {
  return job->chirp ? job->chirp->padded : job->length;
}

// Transforms the rows in x as the job wants it; the result is in x or y, which have room for the
// padded length.
static NAME(row_t) * NAME(block_transform)(const NAME(job_t) * job, NAME(row_t) * x, NAME(row_t) * y) {
  const NAME(chirp_t)* c = job->chirp;
  const int64_t n = job->length;
  if (!c) return NAME(transform)(&job->table, x, y);
  const T scale = 1 / (T)c->padded;
  for (int64_t k = 0; k < n; k++) x[k] = NAME(times)(x[k], c->factors + 2 * k);
  memset(x + n, 0, (size_t)(c->padded - n) * sizeof(*x));
  NAME(row_t)* found = NAME(transform)(&job->table, x, y);
  for (int64_t k = 0; k < c->padded; k++) {  // parts exchanged: back again
    const NAME(row_t) a = NAME(times)(found[k], c->kernel + 2 * k);
    found[k] = (NAME(row_t)){a.im * scale, a.re * scale};
  }
  found = NAME(transform)(&job->table, found, found == x ? y : x);
  for (int64_t k = 0; k < n; k++) {
    found[k] = NAME(times)((NAME(row_t)){found[k].im, found[k].re}, c->factors + 2 * k);
  }
  return found;
}

// ---- real lines in blocks -----------------------------------------------------------------------

// The kept elements of real lines from the transform z of their halves: (z + z*) / 2 and the rest,
// which is turned.
static void NAME(join_halves)(const NAME(job_t) * job, const NAME(row_t) * z, NAME(row_t) * out) {
  const int64_t h = job->length;
  for (int64_t k = 0; k <= h; k++) {
    const NAME(row_t) a = z[k == h ? 0 : k], b = z[k == 0 ? 0 : h - k];
    const NAME(row_t) even = {(a.re + b.re) * (T)0.5, (a.im - b.im) * (T)0.5};
    const NAME(row_t) odd = {(a.im + b.im) * (T)0.5, (b.re - a.re) * (T)0.5};
    out[k] = NAME(add)(even, NAME(times)(odd, job->halves + 2 * k));
  }
}

// And back, parts exchanged: what is transformed to pairs of real numbers.
static void NAME(split_halves)(const NAME(job_t) * job, const NAME(row_t) * x, NAME(row_t) * z) {
  const int64_t h = job->length;
  for (int64_t k = 0; k < h; k++) {
    const NAME(row_t) a = x[k], b = x[h - k];
    const NAME(row_t) even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
    const T w[2] = {job->halves[2 * k], -job->halves[2 * k + 1]};
    const NAME(row_t) sum = NAME(above)(even, NAME(times)(odd, w));
    z[k] = (NAME(row_t)){sum.im, sum.re};
  }
}

// Imaginary parts that symmetry rules out.
static void NAME(clear_imaginary)(const NAME(job_t) * job, NAME(row_t) * x) {
  x[0].im = (NAME(vec)){0};
  if (job->real_length % 2 == 0) x[job->kept - 1].im = (NAME(vec)){0};
}

static const int64_t NAME(complex_part)[2][2] = {{0, NAME(lines)}, {NAME(lines), 0}};

static NAME(places_t) NAME(complex_places)(NAME(row_t) * rows, bool swap) {
  return (NAME(places_t)){
      (T*)rows, true, {NAME(complex_part)[swap][0], NAME(complex_part)[swap][1]}};
}

static void NAME(scale_rows)(T scale, int64_t count, NAME(row_t) * rows) {
  for (int64_t k = 0; scale != 1 && k < count; k++) {
    rows[k].re *= scale;
    rows[k].im *= scale;
  }
}

static void NAME(from_real)(const NAME(job_t) * job, int64_t first, int64_t count, NAME(row_t) * x,
                            NAME(row_t) * y) {
  const int64_t n = job->length, numbers = job->real_length;
  const T* in = job->in + first * numbers;
  NAME(places_t) places = NAME(complex_places)(x, false);
  if (!job->is_halved) {
    places.is_complex = false;
    for (int64_t k = 0; k < n; k++) x[k].im = (NAME(vec)){0};
  }
  NAME(load_lines)(&places, count, numbers, numbers, in);
  NAME(row_t)* found = NAME(block_transform)(job, x, y);
  if (job->is_halved) {
    NAME(row_t)* joined = found == x ? y : x;
    NAME(join_halves)(job, found, joined);
    found = joined;
  }
  NAME(scale_rows)(job->scale, job->kept, found);
  places = NAME(complex_places)(found, false);
  NAME(store_lines)(&places, count, 2 * job->kept, 2 * job->kept, job->out + 2 * first * job->kept);
}

static void NAME(to_real)(const NAME(job_t) * job, int64_t first, int64_t count, NAME(row_t) * x,
                          NAME(row_t) * y) {
  const int64_t n = job->length, numbers = job->real_length;
  NAME(places_t) places = NAME(complex_places)(y, false);
  NAME(load_lines)(&places, count, 2 * job->kept, 2 * job->kept, job->in + 2 * first * job->kept);
  NAME(clear_imaginary)(job, y);
  if (job->is_halved) {
    NAME(split_halves)(job, y, x);
  } else {
    for (int64_t k = 0; k < n; k++) {
      const NAME(row_t) a = y[k < job->kept ? k : n - k];
      x[k] = (NAME(row_t)){k < job->kept ? a.im : -a.im, a.re};
    }
  }
  NAME(row_t)* found = NAME(block_transform)(job, x, y);
  NAME(scale_rows)(job->scale, n, found);
  places = NAME(complex_places)(found, true);
  if (!job->is_halved) places.is_complex = false;
  NAME(store_lines)(&places, count, numbers, numbers, job->out + first * numbers);
}

// ---- blocks -------------------------------------------------------------------------------------

static void NAME(dense_block)(const NAME(job_t) * job, int64_t first, NAME(row_t) * x,
                              NAME(row_t) * y) {
  const int64_t n = job->length, left = job->count - first;
  const int64_t count = left < NAME(lines) ? left : NAME(lines);
  if (job->kind == HLO_FFT_FROM_REAL) {
    NAME(from_real)(job, first, count, x, y);
  } else if (job->kind == HLO_FFT_TO_REAL) {
    NAME(to_real)(job, first, count, x, y);
  } else {
    NAME(places_t) places = NAME(complex_places)(x, job->inverse);
    NAME(load_lines)(&places, count, 2 * n, 2 * n, job->in + 2 * first * n);
    NAME(row_t)* found = NAME(block_transform)(job, x, y);
    NAME(scale_rows)(job->scale, n, found);
    places = NAME(complex_places)(found, job->inverse);
    NAME(store_lines)(&places, count, 2 * n, 2 * n, job->out + 2 * first * n);
  }
}

// Lines across the memory, side by side there too; `group` counts those of all outer places.
static void NAME(block_across)(const NAME(job_t) * job, int64_t group, NAME(row_t) * x,
                               NAME(row_t) * y) {
  const int64_t n = job->length, inner = job->inner;
  const int64_t groups = (inner + NAME(lines) - 1) / NAME(lines);
  const int64_t column = group % groups * NAME(lines);
  const int64_t count = inner - column < NAME(lines) ? inner - column : NAME(lines);
  const int64_t start = 2 * (group / groups * n * inner + column);
  for (int64_t k = 0; k < n; k++) {
    NAME(load_row)(job->inverse, count, job->in + start + 2 * k * inner, &x[k]);
  }
  const NAME(row_t)* found = NAME(block_transform)(job, x, y);
  for (int64_t k = 0; k < n; k++) {
    NAME(store_row)(job->inverse, job->scale, count, &found[k], job->out + start + 2 * k * inner);
  }
}

static int64_t NAME(group_count)(const NAME(job_t) * job) {
  const int64_t across = (job->inner + NAME(lines) - 1) / NAME(lines);
  if (job->inner > 1) return job->count / job->inner * across;
  return (job->count + NAME(lines) - 1) / NAME(lines);
}

static int64_t NAME(groups_per_chunk)(const NAME(job_t) * job) {
  const int64_t groups = NAME(chunk_elements) / NAME(padded_length)(job) / NAME(lines);
  return groups < 1 ? 1 : groups;
}

static void NAME(run_blocks)(void* arg, uint64_t index) {
  NAME(job_t)* job = arg;
  const int64_t step = NAME(groups_per_chunk)(job), all = NAME(group_count)(job);
  const int64_t first = (int64_t)index * step, end = first + step < all ? first + step : all;
  const int64_t rows = NAME(padded_length)(job) + 2;  // one more than the halves of a real line
  NAME(row_t)* x = NAME(rows)(job, 2 * rows);
  for (int64_t g = first; x && g < end; g++) {
    if (job->inner > 1) {
      NAME(block_across)(job, g, x, x + rows);
    } else {
      NAME(dense_block)(job, g * NAME(lines), x, x + rows);
    }
  }
  hlo_mem_free(x);
}

// ---- long lines ---------------------------------------------------------------------------------

// Lanes of rows from `found` on, turned over: lane j becomes lanes of row j of `to`, for
// `count` of them.
static void NAME(turn_block)(const NAME(row_t) * found, int64_t count, NAME(row_t) * to) {
  for (int half = 0; half < 2; half++) {
    const T* from_lanes = (const T*)found + half * NAME(lines);
    T* to_lanes = (T*)to + half * NAME(lines);
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
      for (int64_t r = 0; r < NAME(lines); r += 4) {
        const T* from[4];
        T* turned[4];
        for (int q = 0; q < 4; q++) {
          from[q] = from_lanes + (r + q) * 2 * NAME(lines) + j;
          turned[q] = to_lanes + (j + q) * 2 * NAME(lines) + r;
        }
        NAME(turn)(from, turned);
      }
    }
    for (; j < count; j++) {
      for (int64_t r = 0; r < NAME(lines); r++) {
        to_lanes[j * 2 * NAME(lines) + r] = from_lanes[r * 2 * NAME(lines) + j];
      }
    }
  }
}

// Row r times exp(-2 pi i r (first + j) / n) in its lanes j.
static inline void NAME(turn_row)(const NAME(job_t) * job, int64_t r, int64_t first,
                                  NAME(row_t) * row) {
  double start[2];
  hlo_fft_root(&job->roots, r * first % job->length, start);
  const T w[2] = {(T)start[0], (T)start[1]};
  const NAME(row_t) a = *row, by = NAME(times)(job->steps[r], w);
  *row = (NAME(row_t)){a.re * by.re - a.im * by.im, a.re * by.im + a.im * by.re};
}

// Columns of the matrix from `first` on, into one element of every row of the blocks in the middle.
static void NAME(column_block)(const NAME(job_t) * job, int64_t first, NAME(row_t) * x,
                               NAME(row_t) * y) {
  const int64_t height = job->height, width = job->width;
  const int64_t count = width - first < NAME(lines) ? width - first : NAME(lines);
  const T* in = job->in + 2 * (job->line * job->length + first);
  for (int64_t r = 0; r < height; r++) {
    NAME(load_row)(job->inverse, count, in + 2 * r * width, &x[r]);
  }
  NAME(row_t)* found = NAME(transform)(&job->table, x, y);
  for (int64_t r = 0; r < height; r++) NAME(turn_row)(job, r, first, &found[r]);
  for (int64_t b = 0; b < height; b += NAME(lines)) {
    NAME(turn_block)(found + b, count, job->middle + b / NAME(lines) * width + first);
  }
}

static void NAME(row_block)(const NAME(job_t) * job, int64_t index, NAME(row_t) * y) {
  const int64_t width = job->width, first = index * NAME(lines);
  const int64_t count = job->height - first < NAME(lines) ? job->height - first : NAME(lines);
  const NAME(row_t)* found = NAME(transform)(&job->wide, job->middle + index * width, y);
  T* out = job->out + 2 * (job->line * job->length + first);
  for (int64_t k = 0; k < width; k++) {
    NAME(store_row)(job->inverse, job->scale, count, &found[k], out + 2 * k * job->height);
  }
}

enum { NAME(blocks_per_chunk) = 4 };

static void NAME(run_columns)(void* arg, uint64_t index) {
  NAME(job_t)* job = arg;
  const int64_t padded = (job->height + NAME(lines) - 1) / NAME(lines) * NAME(lines);
  const int64_t step = NAME(blocks_per_chunk) * NAME(lines), begin = (int64_t)index * step;
  NAME(row_t)* x = NAME(rows)(job, 2 * padded);
  for (int64_t first = begin; x && first < begin + step && first < job->width; first += NAME(lines)) {
    NAME(column_block)(job, first, x, x + padded);
  }
  hlo_mem_free(x);
}

static void NAME(run_rows)(void* arg, uint64_t index) {
  NAME(job_t)* job = arg;
  const int64_t blocks = (job->height + NAME(lines) - 1) / NAME(lines);
  const int64_t begin = (int64_t)index * NAME(blocks_per_chunk);
  NAME(row_t)* y = NAME(rows)(job, job->width);
  for (int64_t b = begin; y && b < begin + NAME(blocks_per_chunk) && b < blocks; b++) {
    NAME(row_block)(job, b, y);
  }
  hlo_mem_free(y);
}

static void NAME(run_line)(NAME(job_t) * job, const hlo_parallel_t* parallel) {
  const int64_t blocks = (job->height + NAME(lines) - 1) / NAME(lines);
  job->middle = NAME(rows)(job, blocks * job->width);
  if (!job->middle) return;
  hlo_parallel_for(parallel,
                   hlo_chunk_count((size_t)job->width, NAME(blocks_per_chunk) * NAME(lines)),
                   NAME(run_columns), job);
  hlo_parallel_for(parallel, hlo_chunk_count((size_t)blocks, NAME(blocks_per_chunk)), NAME(run_rows),
                   job);
  hlo_mem_free(job->middle);
}

// One line of several: on one thread.
static void NAME(run_one_line)(void* arg, uint64_t line) {
  NAME(job_t)* job = arg;
  NAME(job_t) own = {.inverse = job->inverse,
                     .scale = job->scale,
                     .length = job->length,
                     .in = job->in,
                     .out = job->out,
                     .table = job->table,
                     .wide = job->wide,
                     .height = job->height,
                     .width = job->width,
                     .line = (int64_t)line,
                     .roots = job->roots,
                     .steps = job->steps};
  NAME(run_line)(&own, NULL);
  if (atomic_load(&own.is_exhausted)) atomic_store(&job->is_exhausted, true);
}

static hlo_status_t NAME(run_long)(NAME(job_t) * job) {
  hlo_status_t status = NAME(table_init)(&job->table, job->height);
  if (hlo_status_is_ok(status)) status = NAME(table_init)(&job->wide, job->width);
  if (hlo_status_is_ok(status)) status = hlo_fft_roots_init(&job->roots, job->length);
  if (hlo_status_is_ok(status)) job->steps = NAME(rows)(job, job->height);
  for (int64_t r = 0; job->steps && r < job->height; r++) {
    for (int64_t j = 0; j < NAME(lines); j++) {
      double w[2];
      hlo_fft_root(&job->roots, r * j % job->length, w);
      ((T*)&job->steps[r])[j] = (T)w[0];
      ((T*)&job->steps[r])[NAME(lines) + j] = (T)w[1];
    }
  }
  if (!job->steps) {
    // said by is_exhausted
  } else if (job->count > 1) {
    hlo_parallel_for(job->parallel, (uint64_t)job->count, NAME(run_one_line), job);
  } else {
    NAME(run_line)(job, job->parallel);
  }
  hlo_mem_free(job->steps);
  hlo_mem_free(job->wide.roots);
  hlo_fft_roots_deinit(&job->roots);
  return status;
}

// ---- any length ---------------------------------------------------------------------------------

static hlo_status_t NAME(run_job)(NAME(job_t) * job);

static hlo_status_t NAME(chirp_create)(int64_t n, NAME(chirp_t) * c) {
  size_t bytes;
  *c = (NAME(chirp_t)){.padded = hlo_fft_smooth_length(2 * n - 1)};
  if (!hlo_size_mul((size_t)(c->padded + n), 2 * sizeof(T), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  c->kernel = hlo_mem_alloc_aligned(bytes, 64);
  if (!c->kernel) return hlo_status_out_of_memory(bytes);
  c->factors = c->kernel + 2 * c->padded;
  hlo_fft_roots_t roots;
  HLO_TRY(hlo_fft_roots_init(&roots, 2 * n));
  memset(c->kernel, 0, 2 * (size_t)c->padded * sizeof(T));
  for (int64_t k = 0, square = 0; k < n; k++) {  // square: k^2 modulo 2 n
    double w[2];
    hlo_fft_root(&roots, square, w);
    square = (square + 2 * k + 1) % (2 * n);
    c->factors[2 * k] = (T)w[0];
    c->factors[2 * k + 1] = (T)w[1];
    for (int side = 0; side < (k ? 2 : 1); side++) {
      T* entry = c->kernel + 2 * (side ? c->padded - k : k);
      entry[0] = (T)w[0];
      entry[1] = (T)-w[1];
    }
  }
  hlo_fft_roots_deinit(&roots);
  NAME(job_t) job = {
      .scale = 1, .length = c->padded, .count = 1, .inner = 1, .in = c->kernel, .out = c->kernel};
  return NAME(run_job)(&job);
}

// Lines on their way through a convolution in memory: those that are too long for blocks.
typedef struct NAME(detour) {
  NAME(job_t) * job;
  NAME(chirp_t) chirp;
  T* work;  // padded lines
} NAME(detour_t);

static inline void NAME(multiply)(const T* a, const T* b, T* out) {
  const T re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  out[0] = re;
  out[1] = im;
}

static void NAME(chirp_in)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  const int64_t n = c->job->length;
  const T* in = c->job->in + 2 * (int64_t)line * n;
  T* out = c->work + 2 * (int64_t)line * c->chirp.padded;
  const int re = c->job->inverse, im = !re;
  for (int64_t k = 0; k < n; k++) {
    const T entry[2] = {in[2 * k + re], in[2 * k + im]};
    NAME(multiply)(entry, c->chirp.factors + 2 * k, out + 2 * k);
  }
  memset(out + 2 * n, 0, 2 * (size_t)(c->chirp.padded - n) * sizeof(T));
}

static void NAME(chirp_middle)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  T* out = c->work + 2 * (int64_t)line * c->chirp.padded;
  for (int64_t k = 0; k < c->chirp.padded; k++) {
    NAME(multiply)(out + 2 * k, c->chirp.kernel + 2 * k, out + 2 * k);
  }
}

static void NAME(chirp_out)(void* arg, uint64_t line) {
  const NAME(detour_t)* c = arg;
  const int64_t n = c->job->length;
  const T scale = c->job->scale / (T)c->chirp.padded;
  const T* in = c->work + 2 * (int64_t)line * c->chirp.padded;
  T* out = c->job->out + 2 * (int64_t)line * n;
  const int re = c->job->inverse, im = !re;
  for (int64_t k = 0; k < n; k++) {
    T entry[2];
    NAME(multiply)(in + 2 * k, c->chirp.factors + 2 * k, entry);
    out[2 * k + re] = entry[0] * scale;
    out[2 * k + im] = entry[1] * scale;
  }
}

// Transforms of padded lines in place.
static hlo_status_t NAME(detour_run)(const NAME(detour_t) * c, bool inverse, int64_t count) {
  NAME(job_t) job = {.parallel = c->job->parallel,
                     .inverse = inverse,
                     .scale = 1,
                     .length = c->chirp.padded,
                     .count = count,
                     .inner = 1,
                     .in = c->work,
                     .out = c->work};
  return NAME(run_job)(&job);
}

static hlo_status_t NAME(run_detour)(NAME(job_t) * job) {
  enum { WORK_ELEMENTS = 1 << 18 };
  NAME(detour_t) c = {.job = job};
  hlo_status_t status = NAME(chirp_create)(job->length, &c.chirp);
  int64_t at_once = WORK_ELEMENTS / c.chirp.padded;
  if (at_once < 1) at_once = 1;
  if (at_once > job->count) at_once = job->count;
  const size_t bytes = (size_t)(c.chirp.padded * at_once) * 2 * sizeof(T);
  if (hlo_status_is_ok(status)) {
    c.work = hlo_mem_alloc_aligned(bytes, 64);
    if (!c.work) status = hlo_status_out_of_memory(bytes);
  }
  for (int64_t l = 0; l < job->count && hlo_status_is_ok(status); l += at_once) {
    const int64_t some = job->count - l < at_once ? job->count - l : at_once;
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_in), &c);
    status = NAME(detour_run)(&c, false, some);
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_middle), &c);
    if (hlo_status_is_ok(status)) status = NAME(detour_run)(&c, true, some);
    hlo_parallel_for(job->parallel, (uint64_t)some, NAME(chirp_out), &c);
    job->in += 2 * some * job->length;
    job->out += 2 * some * job->length;
  }
  hlo_mem_free(c.work);
  hlo_mem_free(c.chirp.kernel);
  return status;
}

// In blocks as they are, or padded.
static hlo_status_t NAME(run_short)(NAME(job_t) * job, bool has_chirp) {
  NAME(chirp_t) chirp = {0};
  hlo_status_t status = hlo_ok();
  if (has_chirp) {
    status = NAME(chirp_create)(job->length, &chirp);
    job->chirp = &chirp;
  }
  const int64_t chunk = NAME(groups_per_chunk)(job);
  if (hlo_status_is_ok(status)) status = NAME(table_init)(&job->table, NAME(padded_length)(job));
  if (hlo_status_is_ok(status)) {
    hlo_parallel_for(job->parallel, hlo_chunk_count((size_t)NAME(group_count)(job), (size_t)chunk),
                     NAME(run_blocks), job);
  }
  hlo_mem_free(chirp.kernel);
  return status;
}

// Whether lines go in blocks.
static bool NAME(is_short)(int64_t length, int64_t count, int64_t inner) {
  hlo_fft_plan_t plan;
  const bool is_plain = hlo_fft_plan_init(&plan, length);
  if (!is_plain) length = hlo_fft_smooth_length(2 * length - 1);
  const bool is_few = 4 * count <= NAME(lines) && length >= NAME(cut_min);
  if (inner > 1) return is_plain || length <= NAME(short_max);
  return length <= NAME(short_max) && !(is_few && (!is_plain || hlo_fft_split(&plan) >= 8));
}

// Complex lines; dense ones unless they are short.
static hlo_status_t NAME(run_job)(NAME(job_t) * job) {
  hlo_fft_plan_t plan;
  hlo_status_t status;
  const bool is_plain = hlo_fft_plan_init(&plan, job->length);
  if (NAME(is_short)(job->length, job->count, job->inner)) {
    status = NAME(run_short)(job, !is_plain);
  } else if (!is_plain) {
    status = NAME(run_detour)(job);
  } else {
    job->height = hlo_fft_split(&plan);
    job->width = job->length / job->height;
    status = NAME(run_long)(job);
  }
  hlo_mem_free(job->table.roots);
  if (hlo_status_is_ok(status) && atomic_load(&job->is_exhausted)) {
    status = hlo_status_out_of_memory((size_t)job->length * sizeof(NAME(row_t)));
  }
  return status;
}

// Lines across the memory whose length is too awkward for blocks: as dense ones.
static hlo_status_t NAME(run_turned)(NAME(job_t) * job) {
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

// Lines that go through complex ones in memory: `work` has job->length of them for each.
typedef struct NAME(whole) {
  const NAME(job_t) * job;
  T* work;
} NAME(whole_t);

static void NAME(join_line)(void* arg, uint64_t line) {
  const NAME(whole_t)* whole = arg;
  const NAME(job_t)* job = whole->job;
  const int64_t h = job->length;
  const T* z = whole->work + 2 * (int64_t)line * h;
  T* out = job->out + 2 * (int64_t)line * job->kept;
  if (!job->is_halved) {
    memcpy(out, z, 2 * (size_t)job->kept * sizeof(T));
    return;
  }
  for (int64_t k = 0; k <= h; k++) {
    const T *a = z + 2 * (k == h ? 0 : k), *b = z + 2 * (k == 0 ? 0 : h - k);
    const T odd[2] = {(a[1] + b[1]) * (T)0.5, (b[0] - a[0]) * (T)0.5};
    T turned[2];
    NAME(multiply)(odd, job->halves + 2 * k, turned);
    out[2 * k] = (a[0] + b[0]) * (T)0.5 + turned[0];
    out[2 * k + 1] = (a[1] - b[1]) * (T)0.5 + turned[1];
  }
}

static void NAME(split_line)(void* arg, uint64_t line) {
  const NAME(whole_t)* whole = arg;
  const NAME(job_t)* job = whole->job;
  const int64_t n = job->length;
  const T* in = job->in + 2 * (int64_t)line * job->kept;
  T* z = whole->work + 2 * (int64_t)line * n;
  for (int64_t k = 0; k < n; k++) {
    const int64_t other = n - k;
    const bool is_real = k == 0;  // with the last one, if it is halved
    if (!job->is_halved) {
      const bool is_mirrored = k >= job->kept;
      z[2 * k] = in[2 * (is_mirrored ? other : k)];
      z[2 * k + 1] = is_real ? 0 : is_mirrored ? -in[2 * other + 1] : in[2 * k + 1];
      continue;
    }
    const T a[2] = {in[2 * k], is_real ? 0 : in[2 * k + 1]};
    const T b[2] = {in[2 * other], is_real ? 0 : in[2 * other + 1]};
    const T odd[2] = {a[0] - b[0], a[1] + b[1]};
    const T w[2] = {job->halves[2 * k], -job->halves[2 * k + 1]};
    T turned[2];
    NAME(multiply)(odd, w, turned);
    z[2 * k] = a[0] + b[0] - turned[1];
    z[2 * k + 1] = a[1] - b[1] + turned[0];
  }
}

static hlo_status_t NAME(halves_init)(NAME(job_t) * job) {
  if (!job->is_halved) return hlo_ok();
  const size_t bytes = 2 * (size_t)job->kept * sizeof(T);
  hlo_fft_roots_t roots;
  HLO_TRY(hlo_fft_roots_init(&roots, job->real_length));
  job->halves = hlo_mem_alloc_aligned(bytes, 64);
  for (int64_t k = 0; job->halves && k < job->kept; k++) {
    double w[2];
    hlo_fft_root(&roots, k, w);
    job->halves[2 * k] = (T)w[0];
    job->halves[2 * k + 1] = (T)w[1];
  }
  hlo_fft_roots_deinit(&roots);
  return job->halves ? hlo_ok() : hlo_status_out_of_memory(bytes);
}

// Lines that are too long, or whose length is too awkward, for blocks.
static hlo_status_t NAME(run_whole)(NAME(job_t) * job) {
  size_t elements, bytes;
  if (!hlo_size_mul((size_t)job->length, (size_t)job->count, &elements) ||
      !hlo_size_mul(elements, 2 * sizeof(T), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  T* work = hlo_mem_alloc_aligned(bytes, 64);
  if (!work) return hlo_status_out_of_memory(bytes);
  NAME(whole_t) whole = {job, work};
  NAME(job_t) lines = {.parallel = job->parallel,
                       .scale = job->scale,
                       .length = job->length,
                       .count = job->count,
                       .inner = 1,
                       .in = work,
                       .out = work};
  hlo_status_t status;
  if (job->kind == HLO_FFT_FROM_REAL) {
    if (job->is_halved) {
      lines.in = job->in;  // pairs of real numbers are complex ones
    } else {
      for (size_t i = 0; i < elements; i++) {
        work[2 * i] = job->in[i];
        work[2 * i + 1] = 0;
      }
    }
    status = NAME(run_job)(&lines);
    hlo_parallel_for(job->parallel, (uint64_t)job->count, NAME(join_line), &whole);
  } else {
    hlo_parallel_for(job->parallel, (uint64_t)job->count, NAME(split_line), &whole);
    lines.inverse = true;
    if (job->is_halved) lines.out = job->out;
    status = NAME(run_job)(&lines);
    for (size_t i = 0; !job->is_halved && i < elements; i++) job->out[i] = work[2 * i];
  }
  hlo_mem_free(work);
  return status;
}

static hlo_status_t NAME(run)(const hlo_parallel_t* parallel, const hlo_fft_lines_t* lines) {
  const bool is_real = lines->kind != HLO_FFT_COMPLEX;
  NAME(job_t) job = {.parallel = parallel,
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
                     .out = lines->out};
  if (!is_real) {
    const bool is_turned = job.inner > 1 && !NAME(is_short)(job.length, job.count, job.inner);
    return (is_turned ? NAME(run_turned) : NAME(run_job))(&job);
  }
  if (job.is_halved) job.length /= 2;
  hlo_status_t status = NAME(halves_init)(&job);
  if (hlo_status_is_ok(status)) {
    status = (NAME(is_short)(job.length, job.count, 1) ? NAME(run_job) : NAME(run_whole))(&job);
  }
  hlo_mem_free(job.halves);
  return status;
}
