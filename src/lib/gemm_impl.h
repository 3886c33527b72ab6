// SPDX-License-Identifier: Apache-2.0
// The variants of hlo_gemm().
#pragma once

#include "lib/gemm.h"

enum {
  HLO_GEMM_KC = 256,        // depth of a packed block
  HLO_GEMM_NC = 1024,       // columns of a packed block of b
  HLO_GEMM_MC = 192,        // rows of a packed block of a; a multiple of every variant's tile rows
  HLO_GEMM_PANEL_MAX = 64,  // rows or columns of a variant's tile, at most
};

void hlo_gemm_f32_generic(const hlo_gemm_t* gemm, void* scratch);
void hlo_gemm_f64_generic(const hlo_gemm_t* gemm, void* scratch);
void hlo_gemm_f32_avx2(const hlo_gemm_t* gemm, void* scratch);
void hlo_gemm_f64_avx2(const hlo_gemm_t* gemm, void* scratch);
void hlo_gemm_f32_avx512(const hlo_gemm_t* gemm, void* scratch);
void hlo_gemm_f64_avx512(const hlo_gemm_t* gemm, void* scratch);
