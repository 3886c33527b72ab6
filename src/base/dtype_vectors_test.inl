// SPDX-License-Identifier: Apache-2.0
// Written by tools/gen_dtype_vectors.py (ml_dtypes 0.6.0): name, CRC-32 of the results of
// decoding all codes, of encoding all f16 and bf16 codes, random floats, and midpoints.
// Doubles are left out: ml_dtypes rounds them twice, through float; hlocc rounds once.
{"float4_e2m1fn", {0x866770b6u, 0xe3f537eau, 0xc8826d6au, 0xde439d51u, 0x813a52fdu}},
{"float6_e2m3fn", {0x50f19834u, 0xd308ffb0u, 0x045f87cdu, 0xbd43b63fu, 0x5ddb897au}},
{"float6_e3m2fn", {0xce26bb00u, 0xed445955u, 0x69e0fcbfu, 0x86f52c4bu, 0x5ddb897au}},
{"float8_e3m4", {0x6dfe6ce3u, 0x95b5402bu, 0x69c8a02au, 0x2ef55b21u, 0x7e82c842u}},
{"float8_e4m3", {0x20fd5a99u, 0x8358ca8au, 0x72a8b4dcu, 0x6c906998u, 0x15ab0191u}},
{"float8_e4m3fn", {0xc2666a8cu, 0x14606500u, 0xcbf713feu, 0x2453be16u, 0x5ef7ad12u}},
{"float8_e4m3b11fnuz", {0x3bf4d58eu, 0xd9f11cc3u, 0xf707f410u, 0x79e18cdcu, 0xa46f1c2bu}},
{"float8_e4m3fnuz", {0x7ca10122u, 0x529ee546u, 0x1307319fu, 0xb9be1d07u, 0xa46f1c2bu}},
{"float8_e5m2", {0x0788ceecu, 0x2edb1882u, 0xee0de81cu, 0x1ecb79c2u, 0xc40c5d9au}},
{"float8_e5m2fnuz", {0x87b9aaf4u, 0x353d3364u, 0xf55fb73cu, 0x82d5fd49u, 0xa46f1c2bu}},
{"float8_e8m0fnu", {0x719979bau, 0x01322863u, 0x9bd7a8a5u, 0x7f692a1au, 0x2c66be94u}},
{"float16", {0x53084938u, 0x3c133dfdu, 0xbe77f3a7u, 0x2e2575dau, 0xc1ec7655u}},
{"bfloat16", {0xb9b24bb2u, 0x3b01b24au, 0x11b8cf09u, 0xa3fd98b8u, 0xc37c11cbu}},
