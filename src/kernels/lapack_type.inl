// SPDX-License-Identifier: Apache-2.0
// Everything of one type, in the order of its needs.
#include "kernels/lapack_base.inl"
#include "kernels/lapack_solve.inl"
#include "kernels/lapack_qr.inl"
#if !IS_COMPLEX
#include "kernels/lapack_small.inl"
#endif
#include "kernels/lapack_eigh.inl"
#include "kernels/lapack_svd.inl"

#undef T
#undef IS_COMPLEX
#undef DTYPE
#undef NAME
