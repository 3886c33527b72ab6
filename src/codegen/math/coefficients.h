// SPDX-License-Identifier: Apache-2.0
// Coefficients of polynomials, lowest power first, with the largest error of each relative to the
// function it stands for.
// source: minimax fits by tools/math_coefficients.py
#pragma once

// clang-format off

// 2 exp(r), |r| <= log(2) / 2: 2^-28.2
static const double exp_f32[] = {
    0x1p+1, 0x1p+1, 0x1.fffffcp-1, 0x1.55548cp-2, 0x1.55585ap-4, 0x1.123d5cp-6, 0x1.6ab6cap-9};

// 2 exp(r), |r| <= log(2) / 2: 2^-57.2
static const double exp_f64[] = {
    0x1p+1, 0x1p+1, 0x1.000000000000ap+0, 0x1.555555555551cp-2, 0x1.5555555550b36p-4,
    0x1.111111112c1eep-6, 0x1.6c16c18354eddp-9, 0x1.a01a00e203f1dp-12, 0x1.a0199c40b0724p-15,
    0x1.71e016b7b8eaep-18, 0x1.28abaa32d7267p-21, 0x1.aba06364033b6p-25};

// (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-27.3
static const double log_f32[] = {
    0x1.555554p-2, -0x1.000228p-2, 0x1.99a036p-3, -0x1.547226p-3, 0x1.22d5dcp-3, -0x1.0d81ep-3,
    0x1.05765cp-3, -0x1.390746p-4};

// (2 artanh(s) - 2 s) / s^3 in s^2; log(1 + f) = 2 artanh(f / (2 + f)): 2^-59.5
static const double log_f64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff4fp-2, 0x1.24924941dd10bp-2, 0x1.c71c521840714p-3,
    0x1.74663c15478ccp-3, 0x1.39a1feb22bb8dp-3, 0x1.2f02e1007101ap-3};

// 2 2^r, |r| <= 1/2: 2^-32.5
static const double exp2_f32[] = {
    0x1p+1, 0x1.62e43p+0, 0x1.ebfbep-2, 0x1.c6b07p-4, 0x1.3b2a56p-6, 0x1.5da25ep-9,
    0x1.4416ecp-12, 0x1.e535fcp-16};

// 2 2^r, |r| <= 1/2: 2^-57.1
static const double exp2_f64[] = {
    0x1p+1, 0x1.62e42fefa39efp+0, 0x1.ebfbdff82c5b4p-2, 0x1.c6b08d704a26ep-4,
    0x1.3b2ab6fb9d868p-6, 0x1.5d87fe7846796p-9, 0x1.43091316e3dfdp-12, 0x1.ffcbfe5c0caacp-16,
    0x1.62bfb3d04e016p-19, 0x1.b520a70ba66bep-23, 0x1.e63c9de98351p-27, 0x1.f09835200ab5ep-31};

// (artanh(s) / s - 1 - s^2 / 3) / s^4 in s^2; the error is that of artanh(s): 2^-36.8
static const double log2_f32[] = {
    0x1.999ap-3, 0x1.24527cp-3, 0x1.dfa264p-4};

// the same: 2^-66.3
static const double log2_f64[] = {
    0x1.9999999999b3p-3, 0x1.2492492457d5dp-3, 0x1.c71c722d6712ep-4, 0x1.745ce9e2e3fdp-4,
    0x1.3b1eec2a1a13ep-4, 0x1.0f7fe5fa27128p-4, 0x1.0e42d4c324e3ap-4};

// (sin(r) - r) / r^3 in r^2, |r| <= pi / 2: 2^-27.2
static const double sin_f32[] = {
    -0x1.55554cp-3, 0x1.110ed8p-7, -0x1.9f7054p-13, 0x1.5dbddp-19};

// (sin(r) - r) / r^3 in r^2, |r| <= pi / 2: 2^-61.5
static const double sin_f64[] = {
    -0x1.5555555555555p-3, 0x1.11111111110c8p-7, -0x1.a01a01a014d54p-13, 0x1.71de3a529f34cp-19,
    -0x1.ae6454d375458p-26, 0x1.6123ccb543055p-33, -0x1.ae436b000451cp-41, 0x1.882f97bfc958fp-49};

// (tan(r) - r) / r^3 in r^2, |r| <= pi / 4: 2^-29.5
static const double tan_f32[] = {
    0x1.55556p-2, 0x1.110d96p-3, 0x1.badbfcp-5, 0x1.5ca438p-6, 0x1.637524p-7, 0x1.256a0cp-14,
    0x1.1f8dd6p-8};

// (tan(r) - r) / r^3 in r^2, |r| <= pi / 4: 2^-58.7
static const double tan_f64[] = {
    0x1.555555555555ep-2, 0x1.111111111029fp-3, 0x1.ba1ba1bb01029p-5, 0x1.664f484c41116p-6,
    0x1.226e3cde29bc7p-7, 0x1.d6d27ea93f2f1p-9, 0x1.7db7a160bf4e2p-10, 0x1.347dcf50eef03p-11,
    0x1.015bf0bea8432p-12, 0x1.4c22dc5a30039p-14, 0x1.3ba81687d9a49p-14, -0x1.2cd9de6b90488p-15,
    0x1.dfeb978124e52p-15, -0x1.dea92d03487f9p-16, 0x1.689ac27aac45dp-17};

// (atan(t) - t) / t^3 in t^2, |t| <= tan(pi / 8): 2^-59.4
static const double atan_f64[] = {
    -0x1.555555555553dp-2, 0x1.9999999995864p-3, -0x1.24924922ad1f6p-3, 0x1.c71c70e5efe44p-4,
    -0x1.745cf8d86eeb4p-4, 0x1.3b1118d10f1dfp-4, -0x1.10ebb4d8c185bp-4, 0x1.df0f18e67eabap-5,
    -0x1.9cd1dac1244a3p-5, 0x1.37d36a7622be3p-5, -0x1.2565862e7ee85p-6};

// (atan(t) - t) / t^3 in t^2, |t| <= 1: 2^-28.5
static const double atan_f32[] = {
    -0x1.55553ep-2, 0x1.9991e4p-3, -0x1.2420aap-3, 0x1.c08f7cp-4, -0x1.581742p-4, 0x1.da6a08p-5,
    -0x1.fe1a3ap-6, 0x1.64e8fcp-7, -0x1.d4e85ap-10};

// erfinv(x) / x - 1 in w - 25/8, w = -log(1 - x^2) <= 25/4: 2^-30.8
static const double erf_inv_central[] = {
    0x1.4eabcf914fb68p-1, 0x1.ebd80d1daf6f2p-3, -0x1.8b6c2cdf3c4fep-8, -0x1.8455f496e4248p-11,
    0x1.879b64cec793cp-13, -0x1.d221729bf8ffdp-17, -0x1.6e6a9c6b44156p-20, 0x1.ca61eee8d8688p-22,
    -0x1.f43d21166e9d5p-26, -0x1.46099b7445962p-28, 0x1.20ce0d0a1d3eep-30, 0x1.7b32e40bf1d3bp-38,
    -0x1.cb3e192b5ccb3p-37};

// erfinv(x) / x - 1 in sqrt(w) - 4, 5/2 <= sqrt(w) <= 6.2: 2^-28.2
static const double erf_inv_tail[] = {
    0x1.6b7e09247f86ap+1, 0x1.026e250490fcep+0, 0x1.4a327289ffc0ep-10, -0x1.c72aef11f02f9p-11,
    0x1.51d48c28f305dp-12, -0x1.f95b497099933p-14, 0x1.c1cd710d47258p-15, -0x1.e214a3f6fc76ep-16,
    0x1.4ee5e4a4534dfp-16, -0x1.8a8376b870e69p-17, 0x1.8d6d75edff2cep-19, 0x1.6e6ef9470fcfap-21,
    -0x1.2086496644345p-21, 0x1.635fdc363d603p-24};

// erfinv(x) / x - 1 in w - 5/2, w = -log(1 - x^2) <= 5: 2^-26.1
static const double erf_inv_central_f32[] = {
    0x1.00b8bap-1, 0x1.f91e8cp-3, -0x1.11c3d4p-8, -0x1.486766p-10, 0x1.c9ba4ep-13,
    -0x1.4c550cp-18, -0x1.cc1c34p-19, 0x1.f1ed78p-22, 0x1.29d644p-26, -0x1.27e818p-27,
    0x1.88042ap-32};

// erfinv(x) / x - 1 in sqrt(w) - 3, sqrt(5) <= sqrt(w) <= 4.1: 2^-24.6
static const double erf_inv_tail_f32[] = {
    0x1.d53df8p+0, 0x1.006ddcp+0, 0x1.357b5ep-7, -0x1.f641fcp-8, 0x1.754752p-8, -0x1.c4e7b6p-9,
    0x1.75be22p-10, -0x1.682a9ep-12, -0x1.409516p-13, 0x1.47ff94p-12, -0x1.16269p-13};

// erf(x) / x - 1 in x^2, |x| <= 1.1; the error is that of erf(x) / x: 2^-27.6
static const double erf_f32[] = {
    0x1.06eba8p-3, -0x1.812734p-2, 0x1.ce2aa6p-4, -0x1.b7cdep-6, 0x1.52ac24p-8, -0x1.9a3dep-11,
    0x1.2f80b2p-14};

// erfc(x)^(1/8), 1.1 <= x <= 4; the error is that of erf(x): 2^-26.7
static const double erfc_root_f32[] = {
    0x1.0044c8p+0, -0x1.2ab95cp-3, -0x1.ed3688p-5, -0x1.947f96p-7, 0x1.b57f3cp-7, -0x1.5077acp-9,
    0x1.4d46p-13};

// erf(x) / x in x^2, |x| <= 1: 2^-55.9
static const double erf_f64[] = {
    0x1.20dd750429b6dp+0, -0x1.812746b03799dp-2, 0x1.ce2f21a03f8b9p-4, -0x1.b82ce311a97d5p-6,
    0x1.565bcceeda329p-8, -0x1.c02daeb70276dp-11, 0x1.f9a296b446f2ap-14, -0x1.f4c82efe759efp-17,
    0x1.b96b573f26638p-20, -0x1.5b8c6b555a8e7p-23, 0x1.d3dd9ff400112p-27, -0x1.a23deaa09b231p-31};

// (1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3), 0.48 <= x <= 10.1: 2^-24.4
static const double erfcx_f32[] = {
    0x1.40c522p+0, -0x1.15c094p-3, -0x1.8596aep-5, 0x1.0985cap-3, -0x1.e8e012p-4, 0x1.178978p-4,
    -0x1.7ea5a8p-6, 0x1.75f528p-9, 0x1.36536ap-10, -0x1.5616bp-10};

// (1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3), 0.48 <= x <= 28: 2^-54.5
static const double erfcx_f64[] = {
    0x1.40c522d7e4987p+0, -0x1.15c084bb9e8eep-3, -0x1.85a15c58a9c65p-5, 0x1.098366a5b440bp-3,
    -0x1.e88b803a5b8ap-4, 0x1.17ca2877ffb9cp-4, -0x1.8574c404db6d5p-6, 0x1.4b884e1ed19b8p-9,
    0x1.ef1bd7e83f49bp-10, -0x1.98db4a7d6221ap-11, -0x1.b9100d382878ep-14, 0x1.0659836949d8cp-13,
    0x1.4b7b4300814aap-18, -0x1.5123472463173p-16, -0x1.799677a54d706p-21, 0x1.d000d2951bf01p-19,
    0x1.49889dd7d064bp-22, -0x1.3d3112dee3461p-21, -0x1.7a8639c1cb5c2p-24, 0x1.4aee595a325dp-24,
    0x1.617f6200b0db4p-27, -0x1.3176a11660497p-29};

// lgamma(2 + v) / (v (1 + v)), |v| <= 1: 2^-25.1
static const double lgamma_f32[] = {
    0x1.b0ee6p-2, -0x1.9ae648p-4, 0x1.0e0c8p-5, -0x1.95d4b8p-7, 0x1.47a56ep-8, -0x1.138518p-9,
    0x1.dd5ba8p-11, -0x1.be458ep-12, 0x1.9ab2b4p-13, -0x1.b780b2p-15, 0x1.53296cp-16,
    -0x1.4501f8p-15, 0x1.442436p-16};

// (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) x in 1 / x^2, x >= 3: 2^-22.0
static const double stirling_f32[] = {
    0x1.55555p-4, -0x1.6ba6a4p-9, 0x1.73ad2ap-11};

// 2^(16 g - 1075) / pi modulo 2 in four parts, g from 64 to 127 (trig.c)
static const double inverse_pi[] = {
    0x1.45f306dc9c883p-53, -0x1.6b01ec5417056p-107, -0x1.6447e493ad4cep-161, 0x1.e21c820ff28b2p-215,
    0x1.45f306dc9c883p-37, -0x1.6b01ec5417056p-91, -0x1.6447e493ad4cep-145, 0x1.e21c820ff28b2p-199,
    0x1.45f306dc9c883p-21, -0x1.6b01ec5417056p-75, -0x1.6447e493ad4cep-129, 0x1.e21c820ff28b2p-183,
    0x1.45f306dc9c883p-5, -0x1.6b01ec5417056p-59, -0x1.6447e493ad4cep-113, 0x1.e21c820ff28b2p-167,
    -0x1.9f246c6efab58p-2, -0x1.ec54170565912p-59, 0x1.b6c52b3278872p-117, 0x1.07f9458eaf7afp-174,
    0x1.c9c882a53f84fp-1, -0x1.4170565911f92p-55, -0x1.3ad4cd8778df8p-109, 0x1.fe5163abdebbcp-164,
    0x1.054a7f09d5f48p-2, -0x1.596447e493ad5p-57, 0x1.93c439041fe51p-112, 0x1.8eaf7aef1586ep-166,
    0x1.3f84eafa3ea6ap-1, -0x1.11f924eb53362p-55, 0x1.0e4107f9458ebp-110, -0x1.0a21d4f246dc9p-167,
    0x1.d5f47d4d37703p-2, 0x1.b6295993c4390p-56, 0x1.07f9458eaf7afp-110, -0x1.d4f246dc8e2dfp-167,
    -0x1.c1596447e493bp-1, 0x1.5993c439041fep-56, 0x1.458eaf7aef158p-110, 0x1.b7246e3a424ddp-164,
    -0x1.6447e493ad4cep-1, 0x1.e21c820ff28b2p-55, -0x1.508510ea79237p-110, 0x1.b8e909374b802p-166,
    0x1.b6c52b3278872p-5, 0x1.07f9458eaf7afp-62, -0x1.d4f246dc8e2dfp-119, 0x1.374b801924bbbp-174,
    0x1.4acc9e21c8210p-3, -0x1.ae9c5421443aap-60, 0x1.b7246e3a424ddp-116, 0x1.700324977504fp-171,
    -0x1.b0ef1bef806bap-2, -0x1.c5421443a9e49p-56, 0x1.2371d2126e970p-111, 0x1.924bba8274648p-170,
    0x1.c820ff28b1d5fp-3, -0x1.443a9e48db91cp-60, -0x1.6f6c8b47fe6dbp-114, -0x1.115f62e6de302p-168,
    0x1.fe5163abdebbcp-4, 0x1.586dc91b8e909p-58, 0x1.ba5c00c925dd4p-113, 0x1.3a32439fc3bd6p-169,
    -0x1.d38a84288753dp-1, 0x1.b92371d2126e9p-55, 0x1.c00c925dd413ap-109, 0x1.921cfe1deb1cbp-164,
    0x1.7bd778ac36e49p-1, -0x1.1c5bdb22d1ffap-56, 0x1.24bba82746487p-110, 0x1.fc3bd63962535p-165,
    -0x1.0ea79236e4717p-2, 0x1.26e9700324977p-59, 0x1.413a32439fc3cp-113, -0x1.4e34ed658c117p-168,
    0x1.b7246e3a424ddp-4, 0x1.700324977504fp-59, -0x1.cdbc603c429c7p-113, 0x1.894d39f74411bp-167,
    0x1.1b8e909374b80p-2, 0x1.924bba8274648p-58, 0x1.cfe1deb1cb12ap-112, -0x1.63045df7282b4p-166,
    -0x1.6f6c8b47fe6dbp-2, -0x1.115f62e6de302p-56, 0x1.deb1cb129a73fp-112, -0x1.77dca0ad144bbp-168,
    0x1.ba5c00c925dd4p-1, 0x1.3a32439fc3bd6p-57, 0x1.cb129a73ee882p-112, 0x1.afa975da24275p-167,
    0x1.924bba8274648p-10, 0x1.cfe1deb1cb12ap-64, -0x1.63045df7282b4p-118, -0x1.44bb7b16638fep-172,
    0x1.25dd413a3243ap-1, -0x1.e214e34ed658cp-60, -0x1.177dca0ad144cp-116, 0x1.213a671c09ad1p-170,
    0x1.413a32439fc3cp-1, -0x1.4e34ed658c117p-56, -0x1.f7282b4512edfp-110, 0x1.d338e04d68bf0p-165,
    -0x1.cdbc603c429c7p-1, 0x1.894d39f74411bp-55, -0x1.5a28976f62cc7p-113, -0x1.fb29741037d8dp-169,
    -0x1.80f10a71a76b3p-3, 0x1.cfba208d7d4bbp-58, -0x1.2edec598e3f65p-114, -0x1.741037d8cdc54p-169,
    -0x1.0a71a76b2c609p-3, 0x1.1046bea5d7689p-57, 0x1.3a671c09ad17ep-114, -0x1.bec66e29c67cbp-172,
    -0x1.a76b2c608bbeep-3, -0x1.415a28976f62dp-57, 0x1.c7026b45f7e41p-112, 0x1.cc8eb1cc1a99dp-167,
    0x1.34e7dd1046beap-1, 0x1.75da24274ce38p-55, 0x1.35a2fbf209cc9p-111, -0x1.4e33e566305b2p-167,
    -0x1.177dca0ad144cp-4, 0x1.213a671c09ad1p-58, 0x1.f7e413991d63ap-112, -0x1.f2b3182d8dee8p-166,
    0x1.1afa975da2427p-3, 0x1.338e04d68befdp-57, -0x1.f633714e33e56p-111, -0x1.8c16c6f740e88p-165,
    -0x1.5a28976f62cc7p-1, -0x1.fb29741037d8dp-57, 0x1.1d639835339f5p-112, -0x1.8dee81d1081b6p-166,
    -0x1.2edec598e3f65p-2, -0x1.741037d8cdc54p-57, 0x1.cc1a99cfa4e42p-111, 0x1.7e2ef7e4a0ec8p-166,
    0x1.3a671c09ad17ep-2, -0x1.bec66e29c67cbp-60, 0x1.9cfa4e422fc5ep-115, -0x1.036be27003b40p-171,
    -0x1.c7eca5d040df6p-3, -0x1.9b8a719f2b318p-58, -0x1.6c6f740e8840ep-113, 0x1.41d8ffc4bffefp-167,
    0x1.ad17df904e647p-2, 0x1.639835339f49dp-56, -0x1.ee81d1081b5f1p-110, -0x1.c00ed00043f4dp-165,
    -0x1.037d8cdc538d0p-5, 0x1.a99cfa4e422fcp-59, 0x1.77bf250763ff1p-113, 0x1.7ffde05980fefp-168,
    0x1.3991d63983534p-4, -0x1.82d8dee81d108p-58, -0x1.b5f13801da001p-114, 0x1.e05980fef2f12p-168,
    -0x1.c538cf9598c17p-1, 0x1.c845f8bbdf928p-56, 0x1.d8ffc4bffef03p-111, -0x1.9fc04343b9d29p-166,
    -0x1.9f2b3182d8defp-2, 0x1.f8bbdf9283b20p-56, -0x1.da00087e99fc0p-114, -0x1.0d0ee74a5f593p-168,
    -0x1.98c16c6f740e9p-1, 0x1.efc941d8ffc4cp-55, -0x1.0fd33f8086877p-119, -0x1.d297d64b824b2p-174,
    -0x1.6c6f740e8840ep-1, 0x1.41d8ffc4bffefp-55, 0x1.6603fbcbc462dp-114, 0x1.a0a6d1f6d367fp-168,
    0x1.17e2ef7e4a0ecp-2, 0x1.ff897ffde0598p-56, 0x1.fde5e2316b415p-113, -0x1.2e092c98130d8p-168,
    0x1.77bf250763ff1p-1, 0x1.7ffde05980fefp-56, 0x1.788c5ad053690p-111, -0x1.25930261b069fp-165,
    -0x1.b5f13801da001p-2, 0x1.e05980fef2f12p-56, -0x1.d297d64b824b2p-110, -0x1.8130d834f648bp-164,
    -0x1.3801da00087eap-2, 0x1.80fef2f118b5ap-56, 0x1.4da3eda6cfd9ep-113, 0x1.3e584dba7a320p-167,
    -0x1.da00087e99fc0p-2, -0x1.0d0ee74a5f593p-56, 0x1.f6d367ecf27cbp-112, 0x1.36e9e8c7ecd3dp-169,
    -0x1.0fd33f8086877p-7, -0x1.d297d64b824b2p-62, -0x1.8130d834f648bp-116, -0x1.738132c3402bap-173,
    0x1.6603fbcbc462dp-2, 0x1.a0a6d1f6d367fp-56, -0x1.86c1a7b24585dp-111, 0x1.fb34f2ff516bbp-167,
    0x1.fde5e2316b415p-1, -0x1.2e092c98130d8p-56, -0x1.a7b24585ce04dp-111, 0x1.3cbfd45aea4f7p-165,
    0x1.e2316b414da3fp-1, -0x1.2c98130d834f6p-56, -0x1.22c2e70265868p-110, -0x1.5d28ad8453814p-168,
    0x1.6b414da3eda6dp-1, -0x1.30d834f648b0cp-60, 0x1.8fd9a797fa8b6p-114, -0x1.5b08a7028341dp-169,
    0x1.4da3eda6cfd9ep-1, 0x1.3e584dba7a320p-55, -0x1.32c3402ba515bp-109, -0x1.14e050683a131p-166,
    -0x1.25930261b069fp-5, 0x1.b74f463f669e6p-60, -0x1.5d28ad8453814p-120, -0x1.a0e84c2f8c608p-176,
    -0x1.30261b069ec91p-1, -0x1.85ce04cb0d00bp-55, 0x1.6ba93dd63f5f3p-111, -0x1.d0985f18c10ebp-169,
    0x1.e4f96136e9e8cp-1, 0x1.fb34f2ff516bbp-55, -0x1.b08a7028341d1p-109, 0x1.9e839cfbc5295p-163,
    0x1.6136e9e8c7ecdp-1, 0x1.e5fea2d7527bbp-56, -0x1.c0a0d0742617cp-111, -0x1.8c10eb5ada2b3p-165,
    -0x1.161738132c340p-1, -0x1.5d28ad8453814p-56, -0x1.a0e84c2f8c608p-112, -0x1.d6b5b45650128p-166,
    0x1.8fd9a797fa8b6p-2, -0x1.5b08a7028341dp-57, -0x1.30be31821d6b6p-114, 0x1.2ea6bfb5fb120p-168,
    0x1.a797fa8b5d49fp-2, -0x1.4e050683a130cp-58, 0x1.ce7de294a4baap-114, -0x1.404a04ee072a3p-168,
    -0x1.5d28ad8453814p-8, -0x1.a0e84c2f8c608p-64, -0x1.d6b5b45650128p-118, -0x1.3b81ca8bdea7fp-174,
    0x1.aea4f758fd7ccp-1, -0x1.d0985f18c10ebp-57, -0x1.6b68aca025027p-111, -0x1.c0e545ef53f9ap-165};

// clang-format on
