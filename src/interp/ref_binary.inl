// SPDX-License-Identifier: Apache-2.0
// A binary kernel from CALC(KERNEL). Parameters: KERNEL_TYPE, KERNEL, T and OUT_T (default T).
#ifndef OUT_T
#define OUT_T T
#endif
static void KERNEL_LOOP(KERNEL)(const void* const* in, void* out, size_t count) {
  const T* x = in[0];
  const T* y = in[1];
  OUT_T* r = out;
  HLO_INDEPENDENT_LOOP
  for (size_t i = 0; i < count; ++i) r[i] = CALC(KERNEL)(x[i], y[i]);
}

static void KERNEL_SCALAR(KERNEL)(const void* const* args, void* result) {
  *(OUT_T*)result = CALC(KERNEL)(*(const T*)args[0], *(const T*)args[1]);
}
#undef KERNEL
#undef OUT_T
