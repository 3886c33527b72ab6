// SPDX-License-Identifier: Apache-2.0
// Coefficients of polynomials, lowest power first, with the largest error of each relative to the
// function it stands for.
// source: minimax fits by tools/math_coefficients.py
#ifndef HLO_CODEGEN_MATH_COEFFICIENTS_H_
#define HLO_CODEGEN_MATH_COEFFICIENTS_H_

// clang-format off

// 2 exp(r), |r| <= log(2) / 2: 2^-28.2
static const double exp_f32[] = {
    0x1p+1, 0x1p+1, 0x1.fffffcp-1, 0x1.55548cp-2, 0x1.55585ap-4, 0x1.123d5cp-6, 0x1.6ab6ccp-9};

// 2 exp(r), |r| <= log(2) / 2: 2^-57.2
static const double exp_f64[] = {
    0x1p+1, 0x1p+1, 0x1.000000000000ap+0, 0x1.555555555551cp-2, 0x1.5555555550b36p-4,
    0x1.111111112c1eep-6, 0x1.6c16c18354eddp-9, 0x1.a01a00e203f1dp-12, 0x1.a0199c40b0724p-15,
    0x1.71e016b7b8eaep-18, 0x1.28abaa32d7267p-21, 0x1.aba06364033b6p-25};

// (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-27.3
static const double log_f32[] = {
    0x1.555554p-2, -0x1.000228p-2, 0x1.99a036p-3, -0x1.547226p-3, 0x1.22d5dep-3, -0x1.0d81aap-3,
    0x1.05778ep-3, -0x1.39105p-4};

// (2 artanh(s) - 2 s) / s^3 in s^2; log(1 + f) = 2 artanh(f / (2 + f)): 2^-59.5
static const double log_f64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff4fp-2, 0x1.24924941dd10bp-2, 0x1.c71c521840714p-3,
    0x1.74663c15478ccp-3, 0x1.39a1feb22bb8dp-3, 0x1.2f02e1007101ap-3};

// (sin(r) - r) / r^3 in r^2, |r| <= pi / 2: 2^-27.3
static const double sin_f32[] = {
    -0x1.55554cp-3, 0x1.110edap-7, -0x1.9f70eep-13, 0x1.5dc8c4p-19};

// (sin(r) - r) / r^3 in r^2, |r| <= pi / 2: 2^-61.5
static const double sin_f64[] = {
    -0x1.5555555555555p-3, 0x1.11111111110c8p-7, -0x1.a01a01a014d6fp-13, 0x1.71de3a52a0af5p-19,
    -0x1.ae6454d47184p-26, 0x1.6123cd05d2f0dp-33, -0x1.ae4383d46a4cdp-41, 0x1.88328fdf23cefp-49};

// erf(x) / x - 1 in x^2, |x| <= 1.1; the error is that of erf(x) / x: 2^-27.4
static const double erf_f32[] = {
    0x1.06eba8p-3, -0x1.812734p-2, 0x1.ce2aa6p-4, -0x1.b7cdep-6, 0x1.52ac2cp-8, -0x1.9a3e3p-11,
    0x1.2f81a6p-14};

// (1 / erfc(x))^(1/8), 1.1 <= x <= 4; the error is that of erf(x): 2^-26.5
static const double erfc_root_f32[] = {
    0x1.fcfcfep-1, 0x1.5b8718p-3, 0x1.e92a7ap-6, 0x1.7fc1b8p-4, -0x1.70f816p-5, 0x1.68a664p-6,
    -0x1.3c5e5ep-8, 0x1.404b24p-11};

// erf(x) / x in x^2, |x| <= 1: 2^-55.9
static const double erf_f64[] = {
    0x1.20dd750429b6dp+0, -0x1.812746b03799dp-2, 0x1.ce2f21a03f8b9p-4, -0x1.b82ce311a97d5p-6,
    0x1.565bcceeda329p-8, -0x1.c02daeb70276dp-11, 0x1.f9a296b446f2ap-14, -0x1.f4c82efe759efp-17,
    0x1.b96b573f26638p-20, -0x1.5b8c6b555a8e7p-23, 0x1.d3dd9ff400112p-27, -0x1.a23deaa09b231p-31};

// (1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3), 0.48 <= x <= 28: 2^-54.5
static const double erfcx_f64[] = {
    0x1.40c522d7e4987p+0, -0x1.15c084bb9e8eep-3, -0x1.85a15c58a9c65p-5, 0x1.098366a5b440bp-3,
    -0x1.e88b803a5b8ap-4, 0x1.17ca2877ffb9cp-4, -0x1.8574c404db6d5p-6, 0x1.4b884e1ed19b8p-9,
    0x1.ef1bd7e83f49bp-10, -0x1.98db4a7d6221ap-11, -0x1.b9100d382878ep-14, 0x1.0659836949d8cp-13,
    0x1.4b7b4300814aap-18, -0x1.5123472463173p-16, -0x1.799677a54d706p-21, 0x1.d000d2951bf01p-19,
    0x1.49889dd7d064bp-22, -0x1.3d3112dee3461p-21, -0x1.7a8639c1cb5c2p-24, 0x1.4aee595a325dp-24,
    0x1.617f6200b0db4p-27, -0x1.3176a11660497p-29};

// clang-format on

#endif  // HLO_CODEGEN_MATH_COEFFICIENTS_H_
