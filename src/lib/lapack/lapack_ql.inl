// SPDX-License-Identifier: Apache-2.0
// Implicit QL on a tridiagonal matrix, implicit QR on a bidiagonal one (see lapack_ql.h), once per
// instruction set.

static const double square_least = 1e-280;  // below, squares lose bits

// Returns the length of (f, g) and its inverse, whose latency is only that of the square root.
static inline double length(double f, double g, double* inverse) {
  const double square = f * f + g * g;
  if (square > square_least) {
    const double root = sqrt(square);
    *inverse = root * (1 / square);
    return root;
  }
  const double root = hypot(f, g);
  *inverse = 1 / root;
  return root;
}

// Runs one sweep on the unreduced block l..m; c and s receive its rotations, from row m down.
static int64_t sweep(hlo_ql_t* ql, int64_t l, int64_t m, double* cosines, double* sines) {
  double *d = ql->d, *e = ql->e, inverse;
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  g = d[m] - d[l] + e[l] / (g + copysign(hypot(g, 1), g));
  double s = 1, c = 1, p = 0;
  int64_t count = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    const double f = s * e[i], b = c * e[i];
    const double r = length(f, g, &inverse);
    e[i + 1] = r;
    if (r == 0) {  // the block splits here
      d[i + 1] -= p;
      e[m] = 0;
      return count;
    }
    s = f * inverse;
    c = g * inverse;
    g = d[i + 1] - p;
    const double rotated = (d[i] - g) * s + 2 * c * b;
    p = s * rotated;
    d[i + 1] = g + p;
    g = c * rotated - b;
    cosines[count] = c;
    sines[count] = s;
    count++;
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
  return count;
}

// Solves the last block of two rows, l and l + 1, directly: [a b; b d] has eigenvalues (sum +-
// root) / 2. The one that would cancel is computed as the determinant divided by the other, so that
// it is zero if the rows are equal. The rotation's half angle comes from the part that does not
// cancel either.
static void solve_pair(hlo_ql_t* ql, int64_t l, double* cosine, double* sine) {
  const double a = ql->d[l], b = ql->e[l], d = ql->d[l + 1];
  const double sum = a + d, apart = a - d, root = hypot(apart, 2 * b);
  const double far = fabs(a) > fabs(d) ? a : d, near = fabs(a) > fabs(d) ? d : a;
  const double large = (sum + copysign(root, sum)) / 2;
  const double small = sum == 0 ? -large : far / large * near - b / large * b;
  const double half = sqrt((1 + fabs(apart) / root) / 2), other = b / root / half;
  ql->d[l] = signbit(sum) ? small : large;  // the larger value and its vector
  ql->d[l + 1] = signbit(sum) ? large : small;
  ql->e[l] = 0;
  *cosine = apart < 0 ? other : half;
  *sine = apart < 0 ? -half : -other;
}

// Runs sweeps until a batch is full. Returns true if there is more to do; otherwise at < n means
// that n - at eigenvalues do not converge.
// source : Bowdler, Martin, Reinsch, Wilkinson 1968, "The QR and QL algorithms for symmetric
// matrices", implicit shifts
static bool ql_run(hlo_ql_t* ql, hlo_rotations_t* rotations) {
  enum { SWEEPS_MAX = 60 };
  const double* d = ql->d;
  int64_t used = 0;
  rotations->sweep_count = 0;
  for (; ql->at < ql->n; ql->at++, ql->sweeps = 0) {
    const int64_t l = ql->at;
    for (;;) {
      int64_t m = l;
      while (m + 1 < ql->n && !(fabs(ql->e[m]) <= ql->epsilon * (fabs(d[m]) + fabs(d[m + 1])))) m++;
      if (m == l) break;
      if (ql->sweeps == SWEEPS_MAX) return false;
      if (rotations->sweep_count == HLO_ROTATIONS_SWEEPS) return true;
      const int64_t index = rotations->sweep_count++;
      rotations->start[index] = m;
      rotations->step[index] = -1;
      rotations->offset[index] = used;
      double *c = rotations->c + used, *s = rotations->s + used;
      if (m == l + 1) {
        solve_pair(ql, l, c, s);
        rotations->count[index] = 1;
      } else {
        rotations->count[index] = sweep(ql, l, m, c, s);
      }
      used += rotations->count[index];
      ql->sweeps++;
    }
  }
  return false;
}

// ---- singular values ----------------------------------------------------------------------------

typedef struct {
  double c, s, r;
} rotation_t;

// c f + s g = r, c g = s f.
static rotation_t rotation(double f, double g) {
  if (g == 0) return (rotation_t){1, 0, f};
  double inverse;
  const double r = length(f, g, &inverse);
  return (rotation_t){f * inverse, g * inverse, r};
}

static void record(hlo_rotations_t* rotations, int64_t index, rotation_t r) {
  rotations->c[index] = r.c;
  rotations->s[index] = r.s;
}

// Runs one sweep down the unreduced block first..last without a shift. index: index of the first
// rotation.
static void sweep_plain(hlo_bidiagonal_t* b, int64_t first, int64_t last, int64_t index,
                        hlo_rotations_t* left, hlo_rotations_t* right) {
  double *d = b->d, *e = b->e;
  rotation_t in = {1, 0, 0}, out = {1, 0, 0};
  for (int64_t i = first; i < last; i++, index++) {
    in = rotation(d[i] * in.c, e[i]);
    if (i > first) e[i - 1] = out.s * in.r;
    out = rotation(out.c * in.r, d[i + 1] * in.s);
    d[i] = out.r;
    record(right, index, in);
    record(left, index, out);
  }
  const double rest = d[last] * in.c;
  d[last] = rest * out.c;
  e[last - 1] = rest * out.s;
}

static void sweep_shifted(hlo_bidiagonal_t* b, int64_t first, int64_t last, double shift,
                          int64_t index, hlo_rotations_t* left, hlo_rotations_t* right) {
  double *d = b->d, *e = b->e;
  double f = (fabs(d[first]) - shift) * (copysign(1, d[first]) + shift / d[first]), g = e[first];
  for (int64_t i = first; i < last; i++, index++) {
    const rotation_t in = rotation(f, g);
    if (i > first) e[i - 1] = in.r;
    f = in.c * d[i] + in.s * e[i];
    e[i] = in.c * e[i] - in.s * d[i];
    g = in.s * d[i + 1];
    d[i + 1] = in.c * d[i + 1];
    const rotation_t out = rotation(f, g);
    d[i] = out.r;
    f = out.c * e[i] + out.s * d[i + 1];
    d[i + 1] = out.c * d[i + 1] - out.s * e[i];
    if (i + 1 < last) {
      g = out.s * e[i + 1];
      e[i + 1] = out.c * e[i + 1];
    }
    record(right, index, in);
    record(left, index, out);
  }
  e[last - 1] = f;
}

// Returns the smaller singular value of [f g; 0 h].
static double smaller_value(double f, double g, double h) {
  const double low = fmin(fabs(f), fabs(h)), high = fmax(fabs(f), fabs(h));
  if (low == 0) return 0;
  const double beside = fabs(g), ratio = low / high;
  if (beside < high) {
    const double au = (beside / high) * (beside / high);
    return low *
           (2 / (sqrt((1 + ratio) * (1 + ratio) + au) + sqrt((1 - ratio) * (1 - ratio) + au)));
  }
  const double au = high / beside;
  const double above = (1 + ratio) * au, below = (1 - ratio) * au;
  return 2 * (low / (sqrt(1 + above * above) + sqrt(1 + below * below))) * au;
}

// Returns the larger of two numbers, neither of which may be NaN; inlined, unlike fmax().
static inline double larger(double a, double b) { return a > b ? a : b; }

// Returns the shift for the block first..last: its corner's smaller value, or zero if a shift would
// lose the digits of the smallest value.
static double choose_shift(const hlo_bidiagonal_t* b, int64_t first, int64_t last) {
  double largest = fabs(b->d[last]), least = fabs(b->d[first]), mu = least;
  for (int64_t i = first; i < last; i++) {
    largest = larger(largest, larger(fabs(b->d[i]), fabs(b->e[i])));
    mu = mu == 0 ? 0 : fabs(b->d[i + 1]) * (mu / (mu + fabs(b->e[i])));
    least = mu < least ? mu : least;
  }
  if ((double)b->n * least <= largest * b->epsilon) return 0;
  const double shift = smaller_value(b->d[last - 1], b->e[last - 1], b->d[last]);
  const double beside = shift / fabs(b->d[first]);
  return beside * beside < b->epsilon ? 0 : shift;
}

// Clears negligible entries and returns the start of the last unreduced block (the last row if it
// has converged).
static int64_t block_start(hlo_bidiagonal_t* b, int64_t last, double least) {
  for (int64_t i = last - 1; i >= 0; i--) {
    const double beside = b->epsilon * (fabs(b->d[i]) + fabs(b->d[i + 1]));
    if (fabs(b->e[i]) <= beside || fabs(b->e[i]) <= least) {
      b->e[i] = 0;
      return i + 1;
    }
  }
  return 0;
}

// Like ql_run() with rotations of the left and right vectors; on return without more to do, left >
// 0 is the number of values that do not converge. Values may be negative.
// source : Demmel and Kahan 1990, "Accurate singular values of bidiagonal matrices": implicit QR,
// without a shift where one would spoil small values
static bool bidiagonal_run(hlo_bidiagonal_t* b, hlo_rotations_t* left, hlo_rotations_t* right) {
  enum { SWEEPS_EACH = 60 };
  const double vanishing = 1e-30;  // relative to the largest entry
  double largest = 0;
  for (int64_t i = 0; i < b->n; i++) largest = fmax(largest, fmax(fabs(b->d[i]), fabs(b->e[i])));
  int64_t used = 0;
  left->sweep_count = right->sweep_count = 0;
  while (b->left > 0) {
    const int64_t last = b->left - 1, first = block_start(b, last, largest * vanishing);
    if (first == last) {
      b->left--;
      continue;
    }
    if (b->sweeps == SWEEPS_EACH * b->n) return false;
    if (left->sweep_count == HLO_ROTATIONS_SWEEPS) return true;
    const int64_t index = left->sweep_count++;
    left->start[index] = first;
    left->step[index] = 1;
    left->offset[index] = used;
    left->count[index] = last - first;
    const double shift = choose_shift(b, first, last);
    if (shift == 0) {
      sweep_plain(b, first, last, used, left, right);
    } else {
      sweep_shifted(b, first, last, shift, used, left, right);
    }
    right->sweep_count = left->sweep_count;
    right->start[index] = first;
    right->step[index] = 1;
    right->offset[index] = used;
    right->count[index] = last - first;
    used += last - first;
    b->sweeps++;
  }
  return false;
}
