// SPDX-License-Identifier: Apache-2.0
// The table of lapack_impl.h for one instruction set (see isa_variant.h).
#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/isa_variant.h"
#include "lib/lapack/lapack_impl.h"
#include "lib/lapack/lapack_ql.h"
#include "lib/lapack/lapack_ql.inl"

#define VECTOR_BYTES HLO_ISA_VECTOR_BYTES
#define NORM_LEAST (REAL_LEAST / REAL_EPSILON)
#define NORM_MOST (REAL_MAX * REAL_EPSILON)

#define R float
#define I int32_t
#define REAL_DTYPE HLO_DTYPE_F32
#define REAL_LEAST FLT_MIN
#define REAL_MAX FLT_MAX
#define REAL_EPSILON FLT_EPSILON
#define FABS fabsf
#define SQRT sqrtf
#define HYPOT hypotf
#define COPYSIGN copysignf
#define T float
#define IS_COMPLEX 0
#define DTYPE HLO_DTYPE_F32
#define NAME(x) f32_##x
#include "lib/lapack/lapack_type.inl"
#define T _Complex float
#define IS_COMPLEX 1
#define DTYPE HLO_DTYPE_C64
#define NAME(x) c64_##x
#include "lib/lapack/lapack_type.inl"
#undef R
#undef I
#undef REAL_DTYPE
#undef REAL_LEAST
#undef REAL_MAX
#undef REAL_EPSILON
#undef FABS
#undef SQRT
#undef HYPOT
#undef COPYSIGN

#define R double
#define I int64_t
#define REAL_DTYPE HLO_DTYPE_F64
#define REAL_LEAST DBL_MIN
#define REAL_MAX DBL_MAX
#define REAL_EPSILON DBL_EPSILON
#define FABS fabs
#define SQRT sqrt
#define HYPOT hypot
#define COPYSIGN copysign
#define T double
#define IS_COMPLEX 0
#define DTYPE HLO_DTYPE_F64
#define NAME(x) f64_##x
#include "lib/lapack/lapack_type.inl"
#define T _Complex double
#define IS_COMPLEX 1
#define DTYPE HLO_DTYPE_C128
#define NAME(x) c128_##x
#include "lib/lapack/lapack_type.inl"

#define ENTRIES(type)                                                                         \
  .potrf = type##_potrf, .trsm = type##_trsm, .getrf = type##_getrf, .geqrf = type##_geqrf,   \
  .orgqr = type##_orgqr, .ormqr = type##_ormqr, .geqp3 = type##_geqp3, .gehrd = type##_gehrd, \
  .sytrd = type##_sytrd, .gtsv = type##_gtsv, .gesdd = type##_gesdd, .syevd = type##_syevd
#define SMALL_ENTRIES(type)                                             \
  .potrf_small = type##_potrf_small, .getrf_small = type##_getrf_small, \
  .trsm_small = type##_trsm_small, .geqrf_small = type##_geqrf_small,   \
  .orgqr_small = type##_orgqr_small

const hlo_lapack_t HLO_ISA_NAME(hlo_lapack)[HLO_LAPACK_TYPES] = {
    [HLO_LAPACK_F32] = {ENTRIES(f32), SMALL_ENTRIES(f32)},
    [HLO_LAPACK_F64] = {ENTRIES(f64), SMALL_ENTRIES(f64)},
    [HLO_LAPACK_C64] = {ENTRIES(c64)},
    [HLO_LAPACK_C128] = {ENTRIES(c128)},
};
