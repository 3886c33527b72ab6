// SPDX-License-Identifier: Apache-2.0
// All functions of one type, in dependency order.
#include "lib/lapack/lapack_base.inl"
#include "lib/lapack/lapack_solve.inl"
#include "lib/lapack/lapack_qr.inl"
#if !IS_COMPLEX
#include "lib/lapack/lapack_small.inl"
#endif
#include "lib/lapack/lapack_eigh.inl"
#include "lib/lapack/lapack_svd.inl"

#undef T
#undef IS_COMPLEX
#undef DTYPE
#undef NAME
