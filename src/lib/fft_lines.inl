// SPDX-License-Identifier: Apache-2.0
// Transforms of lines of type T: the job, and blocks of short lines, complex or real ones as
// complex ones of half the length. Requires the definitions of fft_block.inl.

enum {
  NAME(short_max) = 32768 / sizeof(T),   // longest line that is not split
  NAME(cut_min) = 64,                    // shortest line that is split, if there are few
  NAME(chunk_elements) = 1 << 14,
  // Strided lines: adjacent bytes per group, and per row if a row is larger.
  NAME(groups_across) = 512 / sizeof(NAME(row_t)),
  NAME(rows_across) = (1 << 18) / sizeof(NAME(row_t)),
  NAME(work_elements) = 1 << 18,  // of lines in progress in memory together
};

// A convolution with exp(pi i k^2 / n), of length `padded`, for lengths n with large prime factors.
typedef struct NAME(chirp) {
  int64_t padded;
  T *factors, *kernel;  // exp(-pi i k^2 / n); the transform of its conjugate, divided by the length
} NAME(chirp_t);

// A transform of complex lines, and the relation of real lines to them.
typedef struct NAME(job) {
  const hlo_parallel_t* parallel;
  hlo_fft_cache_t* cache;  // owns the tables below
  hlo_fft_kind_t kind;
  bool inverse, is_halved;  // is_halved: two real numbers form one complex one
  T scale;
  int64_t length, count, inner;  // of the complex lines
  int64_t real_length, kept;     // of real lines
  const T* in;
  T* out;
  const NAME(table_t) * table;  // of the length, or that of the convolution
  const NAME(chirp_t) * chirp;  // NULL: factors are small
  const T* halves;              // exp(-2 pi i k / real_length), k <= length / 2, if halved
  // of a long line, a matrix of height x width
  const NAME(table_t) * wide;
  int64_t height, width, line;
  const hlo_fft_roots_t* roots;  // of its length
  const NAME(row_t) * steps;     // exp(-2 pi i r j / length) in the lanes j of row r
  NAME(row_t) * middle;          // [height / lines][width]
  atomic_bool* is_exhausted;
} NAME(job_t);

static const hlo_dtype_t NAME(type) = sizeof(T) == 4 ? HLO_DTYPE_F32 : HLO_DTYPE_F64;

// Returns the beginning of a line.
static const T* NAME(line_in)(const NAME(job_t) * job, int64_t line) {
  switch (job->kind) {
    case HLO_FFT_FROM_REAL: return job->in + line * job->real_length;
    case HLO_FFT_TO_REAL: return job->in + line * 2 * job->kept;
    default: return job->in + line * 2 * job->length;
  }
}
static T* NAME(line_out)(const NAME(job_t) * job, int64_t line) {
  switch (job->kind) {
    case HLO_FFT_FROM_REAL: return job->out + line * 2 * job->kept;
    case HLO_FFT_TO_REAL: return job->out + line * job->real_length;
    default: return job->out + line * 2 * job->length;
  }
}

// Memory for the rows of a call: on the stack up to `few_rows`, else allocated.
enum { NAME(few_rows) = 128 };
typedef struct NAME(few) {
  NAME(row_t) rows[NAME(few_rows)];
} NAME(few_t);

static NAME(row_t) * NAME(rows)(const NAME(job_t) * job, int64_t count, NAME(few_t) * few) {
  if (count <= NAME(few_rows)) return few->rows;
  NAME(row_t)* rows = hlo_mem_alloc_aligned((size_t)count * sizeof(NAME(row_t)), 64);
  if (!rows) atomic_store(job->is_exhausted, true);
  return rows;
}

static void NAME(rows_free)(NAME(row_t) * rows, const NAME(few_t) * few) {
  if (rows != few->rows) hlo_mem_free(rows);
}

static int64_t NAME(padded_length)(const NAME(job_t) * job) {
  return job->chirp ? job->chirp->padded : job->length;
}

// Transforms the rows in x as the job requires; the result is in x or y, both of the padded length.
static NAME(row_t) *
    NAME(block_transform)(const NAME(job_t) * job, NAME(row_t) * x, NAME(row_t) * y) {
  const NAME(chirp_t)* c = job->chirp;
  const int64_t n = job->length;
  if (!c) return NAME(transform)(job->table, x, y);
  for (int64_t k = 0; k < n; k++) x[k] = NAME(times)(x[k], c->factors + 2 * k);
  memset(x + n, 0, (size_t)(c->padded - n) * sizeof(*x));
  NAME(row_t)* found = NAME(transform)(job->table, x, y);
  for (int64_t k = 0; k < c->padded; k++) {  // swaps the parts back
    const NAME(row_t) a = NAME(times)(found[k], c->kernel + 2 * k);
    found[k] = (NAME(row_t)){a.im, a.re};
  }
  found = NAME(transform)(job->table, found, found == x ? y : x);
  for (int64_t k = 0; k < n; k++) {
    found[k] = NAME(times)((NAME(row_t)){found[k].im, found[k].re}, c->factors + 2 * k);
  }
  return found;
}

static inline NAME(layout_t) NAME(complex_layout)(NAME(row_t) * rows, bool swap) {
  return (NAME(layout_t)){(T*)rows, true, {swap ? NAME(lines) : 0, swap ? 0 : NAME(lines)}};
}

static void NAME(scale_rows)(T scale, int64_t count, NAME(row_t) * rows) {
  for (int64_t k = 0; scale != 1 && k < count; k++) {
    rows[k].re *= scale;
    rows[k].im *= scale;
  }
}

// ---- real lines in blocks -----------------------------------------------------------------------

// Computes the stored elements of real lines in place of the transform z of their halves: (z + z*)
// / 2 and the rest, which is rotated; elements k and h - k share both terms.
static void NAME(join_halves)(const NAME(job_t) * job, NAME(row_t) * z) {
  const int64_t h = job->length;
  const T half = (T)0.5;
  z[h] = z[0];
  for (int64_t k = 0; k <= h / 2; k++) {
    const NAME(row_t) a = z[k], b = z[h - k];
    const NAME(row_t) even = {(a.re + b.re) * half, (a.im - b.im) * half};
    const NAME(row_t) odd = {(a.im + b.im) * half, (b.re - a.re) * half};
    const NAME(row_t) rotated = NAME(times)(odd, job->halves + 2 * k);
    const NAME(row_t) last = NAME(subtract)(even, rotated);
    z[k] = NAME(add)(even, rotated);
    z[h - k] = (NAME(row_t)){last.re, -last.im};
  }
}

// The inverse of join_halves(), with swapped parts: prepares the transform to pairs of real
// numbers.
static void NAME(split_halves)(const NAME(job_t) * job, NAME(row_t) * x) {
  const int64_t h = job->length;
  for (int64_t k = 0; k <= h / 2; k++) {
    const NAME(row_t) a = x[k], b = x[h - k];
    const NAME(row_t) even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
    const T w[2] = {job->halves[2 * k], -job->halves[2 * k + 1]};
    const NAME(row_t) rotated = NAME(times)(odd, w);
    x[h - k] = (NAME(row_t)){rotated.re - even.im, even.re + rotated.im};
    x[k] = (NAME(row_t)){even.im + rotated.re, even.re - rotated.im};
  }
}

// Clears the imaginary parts that symmetry makes zero.
static void NAME(clear_imaginary)(const NAME(job_t) * job, NAME(row_t) * x) {
  x[0].im = (NAME(vec)){0};
  if (job->real_length % 2 == 0) x[job->kept - 1].im = (NAME(vec)){0};
}

// Loads stored elements into rows to be transformed, with swapped parts.
static void NAME(load_kept)(const NAME(job_t) * job, int64_t count, const T* in, NAME(row_t) * x) {
  const int64_t n = job->length;
  const NAME(layout_t) layout = NAME(complex_layout)(x, !job->is_halved);
  NAME(load_lines)(&layout, count, 2 * job->kept, 2 * job->kept, in);
  if (job->is_halved) {
    NAME(clear_imaginary)(job, x);
    NAME(split_halves)(job, x);
    return;
  }
  x[0].re = (NAME(vec)){0};
  for (int64_t k = job->kept; k < n; k++) x[k] = (NAME(row_t)){-x[n - k].re, x[n - k].im};
}

// Loads complex numbers, or real ones as real parts.
static void NAME(load_numbers)(const NAME(job_t) * job, int64_t count, bool is_single,
                               int64_t numbers, const T* in, NAME(row_t) * x) {
  NAME(layout_t) layout = NAME(complex_layout)(x, job->inverse);
  layout.is_complex = !is_single;
  NAME(load_lines)(&layout, count, numbers, numbers, in);
  for (int64_t k = 0; is_single && k < numbers; k++) x[k].im = (NAME(vec)){0};
}

// ---- blocks -------------------------------------------------------------------------------------

// Memory for adjacent blocks: input and output of a pass.
typedef struct NAME(room) {
  int64_t rows;  // of a block
  NAME(row_t) *x, *y;
} NAME(room_t);

static void NAME(dense_block)(const NAME(job_t) * job, int64_t first, const NAME(room_t) * room) {
  const int64_t n = job->length, left = job->count - first;
  const int64_t count = left < NAME(lines) ? left : NAME(lines);
  const int64_t in_step = NAME(line_in)(job, 1) - job->in,
                out_step = NAME(line_out)(job, 1) - job->out;
  const bool is_from_real = job->kind == HLO_FFT_FROM_REAL,
             is_to_real = job->kind == HLO_FFT_TO_REAL;
  const bool is_single = !job->is_halved && job->kind != HLO_FFT_COMPLEX;  // the numbers are real
  const T* in = NAME(line_in)(job, first);
  if (is_to_real) {
    NAME(load_kept)(job, count, in, room->x);
  } else {
    NAME(load_numbers)(job, count, is_from_real && is_single, in_step, in, room->x);
  }
  NAME(row_t)* found = NAME(block_transform)(job, room->x, room->y);
  const bool is_joined = is_from_real && job->is_halved;
  if (is_joined) NAME(join_halves)(job, found);
  NAME(scale_rows)(job->scale, is_joined ? n + 1 : n, found);
  NAME(layout_t) layout = NAME(complex_layout)(found, job->inverse || is_to_real);
  layout.is_complex = !(is_to_real && is_single);
  NAME(store_lines)(&layout, count, out_step, out_step, NAME(line_out)(job, first));
}

// Transforms strided lines, which are adjacent in memory; `group` counts those of all outer
// positions, `groups` of them are adjacent.
static void NAME(blocks_across)(const NAME(job_t) * job, int64_t group, int64_t groups,
                                const NAME(room_t) * room) {
  const int64_t n = job->length, inner = job->inner;
  const int64_t across = (inner + NAME(lines) - 1) / NAME(lines);
  const int64_t column = group % across * NAME(lines), left = inner - column;
  const int64_t start = 2 * (group / across * n * inner + column);
  const NAME(row_t) * found[NAME(groups_across)];
  for (int64_t k = 0; k < n; k++) {
    for (int64_t g = 0; g < groups; g++) {
      const int64_t done = g * NAME(lines), some = left - done;
      NAME(load_row)(job->inverse, some < NAME(lines) ? some : NAME(lines),
                     job->in + start + 2 * (k * inner + done), &room->x[g * room->rows + k]);
    }
  }
  for (int64_t g = 0; g < groups; g++) {
    found[g] = NAME(block_transform)(job, room->x + g * room->rows, room->y + g * room->rows);
  }
  for (int64_t k = 0; k < n; k++) {
    for (int64_t g = 0; g < groups; g++) {
      const int64_t done = g * NAME(lines), some = left - done;
      NAME(store_row)(job->inverse, job->scale, some < NAME(lines) ? some : NAME(lines),
                      &found[g][k], job->out + start + 2 * (k * inner + done));
    }
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
  const int64_t across = (job->inner + NAME(lines) - 1) / NAME(lines);
  int64_t at_once = NAME(rows_across) / rows;
  if (at_once > NAME(groups_across)) at_once = NAME(groups_across);
  if (at_once > step) at_once = step;
  if (at_once < 1 || job->inner == 1) at_once = 1;
  NAME(few_t) few;
  NAME(row_t)* x = NAME(rows)(job, 2 * at_once * rows, &few);
  const NAME(room_t) room = {.rows = rows, .x = x, .y = x + at_once * rows};
  for (int64_t g = first; x && g < end;) {
    if (job->inner == 1) {
      NAME(dense_block)(job, g++ * NAME(lines), &room);
      continue;
    }
    const int64_t left = end - g, right = across - g % across, most = left < right ? left : right;
    const int64_t some = most < at_once ? most : at_once;
    NAME(blocks_across)(job, g, some, &room);
    g += some;
  }
  NAME(rows_free)(x, &few);
}
