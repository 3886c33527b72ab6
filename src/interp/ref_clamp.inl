// SPDX-License-Identifier: Apache-2.0
// The kernels of clamp from CALC(clamp)(min, operand, max).
static void KERNEL_LOOP(clamp)(const void* const* in, void* out, size_t count) {
  const T* low = in[0];
  const T* x = in[1];
  const T* high = in[2];
  T* r = out;
  HLO_INDEPENDENT_LOOP
  for (size_t i = 0; i < count; ++i) r[i] = CALC(clamp)(low[i], x[i], high[i]);
}

static void KERNEL_LOOP(clamp_bounds)(const void* const* in, void* out, size_t count) {
  const T low = *(const T*)in[0];
  const T* x = in[1];
  const T high = *(const T*)in[2];
  T* r = out;
  HLO_INDEPENDENT_LOOP
  for (size_t i = 0; i < count; ++i) r[i] = CALC(clamp)(low, x[i], high);
}

static void KERNEL_SCALAR(clamp)(const void* const* args, void* result) {
  *(T*)result = CALC(clamp)(*(const T*)args[0], *(const T*)args[1], *(const T*)args[2]);
}
#define CLAMP_ROWS \
  KERNEL_ROW(clamp), [HLO_KERNEL_clamp_bounds] = {KERNEL_LOOP(clamp_bounds), KERNEL_SCALAR(clamp)}
