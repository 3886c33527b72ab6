// SPDX-License-Identifier: Apache-2.0
// Scattering loops of the baseline.
#define LOOPS hlo_scatter_loops_generic
#include "lib/scatter.inl"
