// SPDX-License-Identifier: Apache-2.0
// One float format of at most 8 bits: a constant decode table, an encoder with the format's
// constants folded in, and the loops. Requires FLOAT_ID.
#define SMALL_JOIN_(a, b) a##b
#define SMALL_JOIN(a, b) SMALL_JOIN_(a, b)
#define SMALL_FN(name) SMALL_JOIN(name, FLOAT_ID)
#define SMALL_ROW(c)                                                                    \
  DECODE_BITS((c), SMALL_FN(BITS_), SMALL_FN(EXPONENT_BITS_), SMALL_FN(MANTISSA_BITS_), \
              SMALL_FN(BIAS_), (int)SMALL_FN(SPECIALS_))

static const uint32_t SMALL_FN(decode_table_)[256] = {TABLE_256(SMALL_ROW)};

static inline float SMALL_FN(decode_)(uint8_t code) {
  return hlo_f32_from_bits(SMALL_FN(decode_table_)[code]);
}

static inline uint32_t SMALL_FN(encode_)(float value) {
  return encode_f32(value, SMALL_FN(BITS_), SMALL_FN(EXPONENT_BITS_), SMALL_FN(MANTISSA_BITS_),
                    SMALL_FN(BIAS_), (hlo_float_specials_t)SMALL_FN(SPECIALS_));
}

#define FLOAT_T uint8_t
#define FLOAT_DECODE SMALL_FN(decode_)
#define FLOAT_ENCODE SMALL_FN(encode_)
#include "base/dtype_float.inl"

#undef SMALL_JOIN_
#undef SMALL_JOIN
#undef SMALL_FN
#undef SMALL_ROW
