// SPDX-License-Identifier: Apache-2.0
// Selects the variant of the elementary functions by the CPU.
#include "lib/math.h"

#include "lib/isa.h"
#include "lib/math_impl.h"

#if defined(__x86_64__)
static const hlo_math_f32_fn_t* const variants[] = {
    [HLO_ISA_GENERIC] = hlo_math_f32_generic,
    [HLO_ISA_AVX2] = hlo_math_f32_avx2,
    [HLO_ISA_AVX512] = hlo_math_f32_avx512,
};
#else
static const hlo_math_f32_fn_t* const variants[] = {hlo_math_f32_generic, hlo_math_f32_generic,
                                                    hlo_math_f32_generic};
#endif

void hlo_math_f32(hlo_math_t f, const float* x, float* out, size_t count) {
  variants[hlo_isa()][f](x, out, count);
}
