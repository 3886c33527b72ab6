// SPDX-License-Identifier: Apache-2.0
// Selects the variant of the folding loops, and folds any element type (see fold.h).
#include "lib/fold_impl.h"
#include "lib/isa.h"

const hlo_fold_t* hlo_fold_find(hlo_fold_op_t op, hlo_dtype_t dtype) {
  switch (hlo_isa()) {
#if defined(__x86_64__)
    case HLO_ISA_AVX512: return hlo_fold_find_avx512(op, dtype);
    case HLO_ISA_AVX2: return hlo_fold_find_avx2(op, dtype);
#endif
    default: return hlo_fold_find_generic(op, dtype);
  }
}

hlo_fold_op_t hlo_fold_op_of(hlo_op_t op) {
  switch (op) {
    case HLO_OP_add: return HLO_FOLD_ADD;
    case HLO_OP_multiply: return HLO_FOLD_MULTIPLY;
    case HLO_OP_maximum: return HLO_FOLD_MAXIMUM;
    case HLO_OP_minimum: return HLO_FOLD_MINIMUM;
    case HLO_OP_and: return HLO_FOLD_AND;
    case HLO_OP_or: return HLO_FOLD_OR;
    case HLO_OP_xor: return HLO_FOLD_XOR;
    default: return HLO_FOLD_OP_COUNT;
  }
}

void hlo_fold_combine(const hlo_fold_t* fold, hlo_dtype_t dtype, int64_t count, void* result,
                      const void* update) {
  enum { CHUNK = 256 };
  if (fold->in == dtype) {
    fold->into(count, update, result);
    return;
  }
  _Alignas(16) char acc[CHUNK * 8], in[CHUNK * 8];
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  for (int64_t i = 0; i < count; i += CHUNK) {
    const size_t n = count - i < CHUNK ? (size_t)(count - i) : CHUNK;
    char* out = (char*)result + (size_t)i * bytes;
    hlo_dtype_convert(dtype, out, fold->acc, acc, n);
    hlo_dtype_convert(dtype, (const char*)update + (size_t)i * bytes, fold->in, in, n);
    fold->rows((int64_t)n, in, acc);
    hlo_dtype_convert(fold->acc, acc, dtype, out, n);
  }
}
