// SPDX-License-Identifier: Apache-2.0
// Four elements at once, and the transpose of a block of 4 x 4. Requires T (element), NAME(x).

typedef T NAME(quad) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));

// out[c][r] = in[r][c]
static inline void NAME(transpose_quads)(const T* const* in, T* const* out) {
  const NAME(quad) r0 = *(const NAME(quad)*)in[0], r1 = *(const NAME(quad)*)in[1];
  const NAME(quad) r2 = *(const NAME(quad)*)in[2], r3 = *(const NAME(quad)*)in[3];
  const NAME(quad) low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const NAME(quad) high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const NAME(quad) low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const NAME(quad) high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  *(NAME(quad)*)out[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  *(NAME(quad)*)out[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  *(NAME(quad)*)out[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  *(NAME(quad)*)out[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}
