// SPDX-License-Identifier: Apache-2.0
// Element types: one table (dtype.def), its queries, and exact conversions of single elements.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/float_bits.h"

typedef enum hlo_dtype {
#define HLO_DTYPE(id, ...) HLO_DTYPE_##id,
#include "base/dtype.def"
#undef HLO_DTYPE
  HLO_DTYPE_COUNT
} hlo_dtype_t;

typedef enum hlo_dtype_class {
  HLO_DTYPE_CLASS_NONE,  // invalid, token
  HLO_DTYPE_CLASS_BOOL,
  HLO_DTYPE_CLASS_SIGNED,
  HLO_DTYPE_CLASS_UNSIGNED,
  HLO_DTYPE_CLASS_FLOAT,
  HLO_DTYPE_CLASS_COMPLEX,
} hlo_dtype_class_t;

/// The meaning of the top codes of a float format.
typedef enum hlo_float_specials {
  HLO_FLOAT_NOT,     // not a float
  HLO_FLOAT_IEEE,    // Inf and NaN as in IEEE 754
  HLO_FLOAT_FN,      // finite: no Inf; NaN is all ones below the sign (S.1..1.1..1)
  HLO_FLOAT_FNUZ,    // no Inf, no -0; NaN is the pattern of -0
  HLO_FLOAT_FINITE,  // neither Inf nor NaN (f4e2m1fn, f6*)
  HLO_FLOAT_E8M0,    // unsigned exponent only; NaN is 0xFF, no zero
} hlo_float_specials_t;

/// One row of the table.
typedef struct hlo_dtype_info {
  const char* name;            // enum spelling, e.g. "F8E4M3FN"
  const char* hlo_name;        // "f8e4m3fn", "pred", "s32"
  const char* mlir_name;       // "f8E4M3FN", "i1", "i32", "complex<f32>"
  const char* ml_dtypes_name;  // NumPy / ml_dtypes name
  int32_t pjrt_type;           // PJRT_Buffer_Type, -1 if PJRT lacks the type
  int32_t primitive_type;      // XLA's PrimitiveType, the number of the type in its protos
  hlo_dtype_class_t klass;
  uint8_t bits;           // width of a value (complex: both parts)
  uint8_t exponent_bits;  // floats (complex: of a part)
  uint8_t mantissa_bits;  // without the hidden bit
  int16_t bias;
  hlo_float_specials_t specials;
  hlo_dtype_t part;  // complex: type of a part; else itself
} hlo_dtype_info_t;

extern const hlo_dtype_info_t hlo_dtype_table[HLO_DTYPE_COUNT];

/// Returns the static row of a type; the row of INVALID for a number outside the table.
static inline const hlo_dtype_info_t* hlo_dtype_info(hlo_dtype_t dtype) {
  return &hlo_dtype_table[(unsigned)dtype < HLO_DTYPE_COUNT ? dtype : HLO_DTYPE_INVALID];
}

/// Returns the bytes of one element in host memory and in literals: a sub-byte type takes a whole
/// byte (value in the low bits, sign-extended or zero-extended); PRED is 0 or 1 in a byte.
size_t hlo_dtype_size_bytes(hlo_dtype_t dtype);

static inline bool hlo_dtype_is_float(hlo_dtype_t d) {
  return hlo_dtype_info(d)->klass == HLO_DTYPE_CLASS_FLOAT;
}
static inline bool hlo_dtype_is_complex(hlo_dtype_t d) {
  return hlo_dtype_info(d)->klass == HLO_DTYPE_CLASS_COMPLEX;
}
static inline bool hlo_dtype_is_signed(hlo_dtype_t d) {
  return hlo_dtype_info(d)->klass == HLO_DTYPE_CLASS_SIGNED;
}
static inline bool hlo_dtype_is_unsigned(hlo_dtype_t d) {
  return hlo_dtype_info(d)->klass == HLO_DTYPE_CLASS_UNSIGNED;
}
static inline bool hlo_dtype_is_integer(hlo_dtype_t d) {
  return hlo_dtype_is_signed(d) || hlo_dtype_is_unsigned(d);
}

/// Finds a type by name; HLO_DTYPE_INVALID if unknown. MLIR: "f32", "i32", "ui8", "i1" (no
/// complex<>).
hlo_dtype_t hlo_dtype_from_hlo_name(const char* name, size_t length);
hlo_dtype_t hlo_dtype_from_mlir_name(const char* name, size_t length);
hlo_dtype_t hlo_dtype_from_pjrt(int32_t pjrt_type);
hlo_dtype_t hlo_dtype_from_primitive(int32_t primitive_type);
hlo_dtype_t hlo_dtype_complex_of(hlo_dtype_t part);

/// Returns true if every value of `from` (including specials and -0) survives a conversion to `to`.
bool hlo_dtype_convert_is_lossless(hlo_dtype_t from, hlo_dtype_t to);

/// Reads or writes one real element at its in-memory width. Floats of every format convert exactly
/// to double; stores round once, to nearest even, and overflow as in ml_dtypes (Inf, NaN or
/// saturation by format); stores of a double to an integer truncate and saturate. Integers convert
/// through (u)int64; stores wrap. Only the real part of a complex element is accessed.
double hlo_dtype_load_double(hlo_dtype_t dtype, const void* element);
void hlo_dtype_store_double(hlo_dtype_t dtype, void* element, double value);
int64_t hlo_dtype_load_int64(hlo_dtype_t dtype, const void* element);  // integers and PRED
void hlo_dtype_store_int64(hlo_dtype_t dtype, void* element, int64_t value);

/// Converts the bits of floats, rounding to nearest even; base/float_bits.h has bf16.
float hlo_f16_to_f32(uint16_t bits);
uint16_t hlo_f32_to_f16(float value);

/// Converts `count` elements as stablehlo.convert does: int->float rounds to nearest even,
/// float->int truncates and saturates, NaN becomes 0, real->complex has a zero imaginary part,
/// complex->other takes the real part, anything->PRED is != 0. A float rounds once, also from f64
/// and from 64-bit integers (NumPy's ml_dtypes casts go through float there and round twice). The
/// arrays may be the same only if the types are; they need the alignment of their elements. INVALID
/// and TOKEN are ignored.
/// threads: safe
void hlo_dtype_convert(hlo_dtype_t from, const void* in, hlo_dtype_t to, void* out, size_t count);

/// Packs or unpacks sub-byte elements (2 or 4 bits; 6-bit types stay one per byte) for device
/// layouts: low bits first. The packed size is ceil(count * bits / 8).
size_t hlo_dtype_packed_size_bytes(hlo_dtype_t dtype, size_t count);
void hlo_dtype_pack(hlo_dtype_t dtype, const void* in, void* out, size_t count);
void hlo_dtype_unpack(hlo_dtype_t dtype, const void* in, void* out, size_t count);
/// Makes elements narrower than a byte, stored one per byte with arbitrary upper bits, regular:
/// sign-extended if signed, booleans 0 or 1. Wider elements are unchanged.
void hlo_dtype_normalise(hlo_dtype_t dtype, void* elements, size_t count);
/// Fills in random elements: floats in [-1, 1), magnitudes of these for types without sign,
/// integers 0 ... 9 (narrow ones 0 ... 7 or 0 and 1). `state` is the seed and is advanced.
void hlo_dtype_fill_random(hlo_dtype_t dtype, void* elements, size_t count, uint64_t* state);
