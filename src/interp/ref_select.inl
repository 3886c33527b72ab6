// SPDX-License-Identifier: Apache-2.0
// select of elements as wide as T (KERNEL_TYPE names the width).
static void KERNEL_LOOP(select)(const void* const* in, void* out, size_t count) {
  const uint8_t* pred = in[0];
  const T* x = in[1];
  const T* y = in[2];
  T* r = out;
  HLO_INDEPENDENT_LOOP
  for (size_t i = 0; i < count; ++i) {
    T on_true = x[i], on_false = y[i];
    r[i] = pred[i] ? on_true : on_false;
  }
}

static void KERNEL_SCALAR(select)(const void* const* args, void* result) {
  *(T*)result = *(const T*)args[*(const uint8_t*)args[0] ? 1 : 2];
}

static const hlo_scalar_kernels_t HLO_NAME_2(kernel, KERNEL_TYPE, select) = {KERNEL_LOOP(select),
                                                                     KERNEL_SCALAR(select)};
#undef KERNEL_TYPE
#undef T
