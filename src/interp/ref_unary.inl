// SPDX-License-Identifier: Apache-2.0
// A unary kernel from CALC(KERNEL). Parameters: KERNEL_TYPE, KERNEL, IN_T and OUT_T (default T).
#ifndef IN_T
#define IN_T T
#endif
#ifndef OUT_T
#define OUT_T T
#endif
static void KERNEL_LOOP(KERNEL)(const void* const* in, void* out, size_t count) {
  const IN_T* x = in[0];
  OUT_T* r = out;
  HLO_INDEPENDENT_LOOP
  for (size_t i = 0; i < count; ++i) r[i] = CALC(KERNEL)(x[i]);
}

static void KERNEL_SCALAR(KERNEL)(const void* const* args, void* result) {
  *(OUT_T*)result = CALC(KERNEL)(*(const IN_T*)args[0]);
}
#undef KERNEL
#undef IN_T
#undef OUT_T
