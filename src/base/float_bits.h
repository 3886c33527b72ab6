// SPDX-License-Identifier: Apache-2.0
// The bits of floats, and floats of bits.
#ifndef HLO_BASE_FLOAT_BITS_H_
#define HLO_BASE_FLOAT_BITS_H_

#include <stdint.h>
#include <string.h>

static inline uint32_t hlo_f32_to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float hlo_f32_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t hlo_f64_to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double hlo_f64_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif  // HLO_BASE_FLOAT_BITS_H_
