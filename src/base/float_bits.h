// SPDX-License-Identifier: Apache-2.0
// Conversions between floats and their bits; bf16 is the upper half of an f32.
#pragma once

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

/// The number one, hidden from the optimiser.
extern const float hlo_f32_one;
extern const double hlo_f64_one;

/// Returns x as arithmetic on this thread reads it: if the thread flushes subnormal numbers
/// (fpenv.h), they become zeros of the same sign. For computations on bits and by C functions.
static inline float hlo_f32_as_operand(float x) {
  return x * hlo_f32_one;
}
static inline double hlo_f64_as_operand(double x) {
  return x * hlo_f64_one;
}

static inline float hlo_bf16_to_f32(uint16_t bits) {
  return hlo_f32_from_bits((uint32_t)bits << 16);
}

/// Rounds to nearest even.
static inline uint16_t hlo_f32_to_bf16(float value) {
  const uint32_t bits = hlo_f32_to_bits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 31) << 15 | 0x7fc0u;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
