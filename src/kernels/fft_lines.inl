// SPDX-License-Identifier: Apache-2.0
// Transforms of lines of type T: blocks of short ones, long ones as matrices, lengths with large
// prime factors as convolutions, real ones as complex ones of half the length. Needs what
// fft_block.inl defines.

enum {
  NAME(short_max) = 32768 / sizeof(T),   // longest line that is not cut
  NAME(cut_min) = 64,                    // shortest that is, if there are few
  NAME(chunk_elements) = 1 << 14,
  // Of lines across the memory: bytes side by side, and of rows at once, if that is more than one.
  NAME(groups_across) = 512 / sizeof(NAME(row_t)),
  NAME(rows_across) = (1 << 18) / sizeof(NAME(row_t)),
  NAME(work_elements) = 1 << 18,  // of lines that are on their way in memory together
};

// A convolution with exp(pi i k^2 / n), for lengths n with large prime factors, of length `padded`.
typedef struct NAME(chirp) {
  int64_t padded;
  T *factors, *kernel;  // exp(-pi i k^2 / n); the transform of its conjugate, over the length
} NAME(chirp_t);

// A transform of complex lines, and how real ones are made of them.
typedef struct NAME(job) {
  const hlo_parallel_t* parallel;
  hlo_fft_cache_t* cache;  // of tables; these are its
  hlo_fft_kind_t kind;
  bool inverse, is_halved;  // is_halved: two real numbers are one complex one
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

// Where a line begins.
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

// Room for rows of a call: `few` if they are, else memory.
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

// Transforms the rows in x as the job wants it; the result is in x or y, which have room for the
// padded length.
static NAME(row_t) * NAME(block_transform)(const NAME(job_t) * job, NAME(row_t) * x, NAME(row_t) * y) {
  const NAME(chirp_t)* c = job->chirp;
  const int64_t n = job->length;
  if (!c) return NAME(transform)(job->table, x, y);
  for (int64_t k = 0; k < n; k++) x[k] = NAME(times)(x[k], c->factors + 2 * k);
  memset(x + n, 0, (size_t)(c->padded - n) * sizeof(*x));
  NAME(row_t)* found = NAME(transform)(job->table, x, y);
  for (int64_t k = 0; k < c->padded; k++) {  // parts exchanged: back again
    const NAME(row_t) a = NAME(times)(found[k], c->kernel + 2 * k);
    found[k] = (NAME(row_t)){a.im, a.re};
  }
  found = NAME(transform)(job->table, found, found == x ? y : x);
  for (int64_t k = 0; k < n; k++) {
    found[k] = NAME(times)((NAME(row_t)){found[k].im, found[k].re}, c->factors + 2 * k);
  }
  return found;
}

static inline NAME(places_t) NAME(complex_places)(NAME(row_t) * rows, bool swap) {
  return (NAME(places_t)){(T*)rows, true, {swap ? NAME(lines) : 0, swap ? 0 : NAME(lines)}};
}

static void NAME(scale_rows)(T scale, int64_t count, NAME(row_t) * rows) {
  for (int64_t k = 0; scale != 1 && k < count; k++) {
    rows[k].re *= scale;
    rows[k].im *= scale;
  }
}

// ---- real lines in blocks -----------------------------------------------------------------------

// The kept elements of real lines, in place of the transform z of their halves: (z + z*) / 2 and the
// rest, which is turned; elements k and h - k have the same two.
static void NAME(join_halves)(const NAME(job_t) * job, NAME(row_t) * z) {
  const int64_t h = job->length;
  const T half = (T)0.5;
  z[h] = z[0];
  for (int64_t k = 0; k <= h / 2; k++) {
    const NAME(row_t) a = z[k], b = z[h - k];
    const NAME(row_t) even = {(a.re + b.re) * half, (a.im - b.im) * half};
    const NAME(row_t) odd = {(a.im + b.im) * half, (b.re - a.re) * half};
    const NAME(row_t) turned = NAME(times)(odd, job->halves + 2 * k);
    const NAME(row_t) last = NAME(subtract)(even, turned);
    z[k] = NAME(add)(even, turned);
    z[h - k] = (NAME(row_t)){last.re, -last.im};
  }
}

// And back, parts exchanged: what is transformed to pairs of real numbers.
static void NAME(split_halves)(const NAME(job_t) * job, NAME(row_t) * x) {
  const int64_t h = job->length;
  for (int64_t k = 0; k <= h / 2; k++) {
    const NAME(row_t) a = x[k], b = x[h - k];
    const NAME(row_t) even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
    const T w[2] = {job->halves[2 * k], -job->halves[2 * k + 1]};
    const NAME(row_t) turned = NAME(times)(odd, w);
    x[h - k] = (NAME(row_t)){turned.re - even.im, even.re + turned.im};
    x[k] = (NAME(row_t)){even.im + turned.re, even.re - turned.im};
  }
}

// Imaginary parts that symmetry rules out.
static void NAME(clear_imaginary)(const NAME(job_t) * job, NAME(row_t) * x) {
  x[0].im = (NAME(vec)){0};
  if (job->real_length % 2 == 0) x[job->kept - 1].im = (NAME(vec)){0};
}

// Kept elements into rows that are to be transformed, parts exchanged.
static void NAME(load_kept)(const NAME(job_t) * job, int64_t count, const T* in, NAME(row_t) * x) {
  const int64_t n = job->length;
  const NAME(places_t) places = NAME(complex_places)(x, !job->is_halved);
  NAME(load_lines)(&places, count, 2 * job->kept, 2 * job->kept, in);
  if (job->is_halved) {
    NAME(clear_imaginary)(job, x);
    NAME(split_halves)(job, x);
    return;
  }
  x[0].re = (NAME(vec)){0};
  for (int64_t k = job->kept; k < n; k++) x[k] = (NAME(row_t)){-x[n - k].re, x[n - k].im};
}

// Complex numbers, or single ones as their real parts.
static void NAME(load_numbers)(const NAME(job_t) * job, int64_t count, bool is_single, int64_t numbers,
                               const T* in, NAME(row_t) * x) {
  NAME(places_t) places = NAME(complex_places)(x, job->inverse);
  places.is_complex = !is_single;
  NAME(load_lines)(&places, count, numbers, numbers, in);
  for (int64_t k = 0; is_single && k < numbers; k++) x[k].im = (NAME(vec)){0};
}

// ---- blocks -------------------------------------------------------------------------------------

// Room for blocks side by side: both sides of a pass.
typedef struct NAME(room) {
  int64_t rows;  // of a block
  NAME(row_t) *x, *y;
} NAME(room_t);

static void NAME(dense_block)(const NAME(job_t) * job, int64_t first, const NAME(room_t) * room) {
  const int64_t n = job->length, left = job->count - first;
  const int64_t count = left < NAME(lines) ? left : NAME(lines);
  const int64_t in_step = NAME(line_in)(job, 1) - job->in, out_step = NAME(line_out)(job, 1) - job->out;
  const bool is_from_real = job->kind == HLO_FFT_FROM_REAL, is_to_real = job->kind == HLO_FFT_TO_REAL;
  const bool is_single = !job->is_halved && job->kind != HLO_FFT_COMPLEX;  // numbers
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
  NAME(places_t) places = NAME(complex_places)(found, job->inverse || is_to_real);
  places.is_complex = !(is_to_real && is_single);
  NAME(store_lines)(&places, count, out_step, out_step, NAME(line_out)(job, first));
}

// Lines across the memory, side by side there too; `group` counts those of all outer places,
// `groups` of them are neighbours.
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

// ---- long lines ---------------------------------------------------------------------------------

// Lanes of rows from `found` on, turned over: lane j becomes lanes of row j of `to`, for
// `count` of them.
static void NAME(turn_block)(const NAME(row_t) * found, int64_t count, NAME(row_t) * to) {
  for (int half = 0; half < 2; half++) {
    const T* from_lanes = (const T*)found + half * NAME(lines);
    T* to_lanes = (T*)to + half * NAME(lines);
    int64_t j = 0;
    for (; NAME(lines) >= 4 && j + 4 <= count; j += 4) {
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
  hlo_fft_root(job->roots, r * first % job->length, start);
  const T w[2] = {(T)start[0], (T)start[1]};
  const NAME(row_t) a = *row, by = NAME(times)(job->steps[r], w);
  *row = (NAME(row_t)){a.re * by.re - a.im * by.im, a.re * by.im + a.im * by.re};
}

// Columns of the matrix from `first` on, into one element of every row of the blocks in the middle.
static void NAME(column_block)(const NAME(job_t) * job, int64_t first, NAME(row_t) * x,
                               NAME(row_t) * y) {
  const int64_t height = job->height, width = job->width;
  const int64_t count = width - first < NAME(lines) ? width - first : NAME(lines);
  const T* in = NAME(line_in)(job, job->line) + 2 * first;
  for (int64_t r = 0; r < height; r++) {
    NAME(load_row)(job->inverse, count, in + 2 * r * width, &x[r]);
  }
  NAME(row_t)* found = NAME(transform)(job->table, x, y);
  for (int64_t r = 0; r < height; r++) NAME(turn_row)(job, r, first, &found[r]);
  for (int64_t b = 0; b < height; b += NAME(lines)) {
    NAME(turn_block)(found + b, count, job->middle + b / NAME(lines) * width + first);
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
  for (int64_t first = begin; x && first < begin + step && first < job->width; first += NAME(lines)) {
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

// Uses the job's room in the middle.
static void NAME(run_matrix)(NAME(job_t) * job, const hlo_parallel_t* parallel) {
  const int64_t blocks = (job->height + NAME(lines) - 1) / NAME(lines);
  hlo_parallel_for(parallel,
                   hlo_chunk_count((size_t)job->width, NAME(blocks_per_chunk) * NAME(lines)),
                   NAME(run_columns), job);
  hlo_parallel_for(parallel, hlo_chunk_count((size_t)blocks, NAME(blocks_per_chunk)), NAME(run_rows),
                   job);
}

static int64_t NAME(middle_rows)(const NAME(job_t) * job) {
  return (job->height + NAME(lines) - 1) / NAME(lines) * job->width;
}

// ---- halves of real lines in memory --------------------------------------------------------------

enum { NAME(pairs_per_chunk) = 1 << 13 };

static inline void NAME(multiply)(const T* a, const T* b, T* out) {
  const T re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  out[0] = re;
  out[1] = im;
}

// Four complex numbers from a place on, or back from it. count 1: only the one there.
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

// As join_halves(), of elements k.. and h - k.. of z.
static inline void NAME(join_four)(int64_t count, const T* halves, int64_t k, int64_t h, T* z) {
  const T half = (T)0.5;
  const NAME(four_t) a = NAME(load_four)(count, false, z + 2 * k);
  const NAME(four_t) b = NAME(load_four)(count, true, z + 2 * (h - k));
  const NAME(four_t) w = NAME(load_four)(count, false, halves + 2 * k);
  const NAME(four_t) even = {(a.re + b.re) * half, (a.im - b.im) * half};
  const NAME(four_t) odd = {(a.im + b.im) * half, (b.re - a.re) * half};
  const NAME(four_t) turned = NAME(multiply_four)(odd, w);
  const NAME(four_t) first = {even.re + turned.re, even.im + turned.im};
  const NAME(four_t) last = {even.re - turned.re, turned.im - even.im};
  NAME(store_four)(count, true, last, z + 2 * (h - k));
  NAME(store_four)(count, false, first, z + 2 * k);
}

// As split_halves(), parts as they are.
static inline void NAME(split_four)(int64_t count, const T* halves, int64_t k, int64_t h, const T* in,
                                    T* z) {
  const NAME(four_t) a = NAME(load_four)(count, false, in + 2 * k);
  const NAME(four_t) b = NAME(load_four)(count, true, in + 2 * (h - k));
  const NAME(four_t) w = NAME(load_four)(count, false, halves + 2 * k);
  const NAME(four_t) even = {a.re + b.re, a.im - b.im}, odd = {a.re - b.re, a.im + b.im};
  const NAME(four_t) turned = NAME(multiply_four)(odd, (NAME(four_t)){w.re, -w.im});
  const NAME(four_t) first = {even.re - turned.im, even.im + turned.re};
  const NAME(four_t) last = {even.re + turned.im, turned.re - even.im};
  NAME(store_four)(count, true, last, z + 2 * (h - k));
  NAME(store_four)(count, false, first, z + 2 * k);
}

// Some pairs of a line, in `out` or on the way there. Fours that meet their partners go one by one.
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

// What is to be transformed of a job's line: `lines` becomes the job of doing so, from and to memory.
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

// One line of several: on one thread.
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

// ---- any length ---------------------------------------------------------------------------------

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
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(item);
    return status;
  }
  job->chirp = hlo_fft_cache_keep(job->cache, item);
  return hlo_ok();
}

// Lines on their way through a convolution in memory: those that are too long for blocks.
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

// In blocks as they are, or padded.
static hlo_status_t NAME(run_short)(NAME(job_t) * job, bool has_chirp) {
  if (has_chirp) HLO_TRY(NAME(chirp_get)(job));
  HLO_TRY(NAME(table_get)(job->cache, NAME(padded_length)(job), &job->table));
  const size_t chunk = (size_t)NAME(groups_per_chunk)(job);
  hlo_parallel_for(job->parallel, hlo_chunk_count((size_t)NAME(group_count)(job), chunk),
                   NAME(run_blocks), job);
  return hlo_ok();
}

// Whether lines go in blocks.
static bool NAME(is_short)(int64_t length, int64_t count, int64_t inner) {
  hlo_fft_plan_t plan;
  const bool is_plain = hlo_fft_plan_init(&plan, length);
  if (!is_plain) length = hlo_fft_smooth_length(2 * length - 1);
  const int64_t lanes_for_one = length < 512 ? 4 : 2;  // of a block, before it is the quicker way
  const bool is_few = lanes_for_one * count <= NAME(lines) && length >= NAME(cut_min);
  if (inner > 1) return is_plain || length <= NAME(short_max);
  return length <= NAME(short_max) && !(is_few && (!is_plain || hlo_fft_split(&plan) >= 8));
}

// Lines of complex numbers or of halves; dense ones unless they are short.
static hlo_status_t NAME(run_job)(NAME(job_t) * job) {
  hlo_fft_plan_t plan;
  const bool is_plain = hlo_fft_plan_init(&plan, job->length);
  if (NAME(is_short)(job->length, job->count, job->inner)) return NAME(run_short)(job, !is_plain);
  if (!is_plain) return NAME(run_detour)(job);
  job->height = hlo_fft_split(&plan);
  job->width = job->length / job->height;
  return NAME(run_long)(job);
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

// Lines of odd length that are too long, or whose length is too awkward, for blocks: as complex ones
// in `work`, a few at a time.
typedef struct NAME(odd) {
  const NAME(job_t) * job;
  int64_t first, parts;  // line; parts of each, of pairs_per_chunk elements
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
    HLO_TRY(NAME(run_turned)(&job));
  } else if (is_real && !job.is_halved && !is_short) {
    HLO_TRY(NAME(run_odd)(&job));
  } else {
    HLO_TRY(NAME(run_job)(&job));
  }
  return atomic_load(&is_exhausted) ? hlo_status_out_of_memory((size_t)job.length * sizeof(NAME(row_t)))
                                    : hlo_ok();
}
