// SPDX-License-Identifier: Apache-2.0
// Element types: one table (dtype.def), its queries, and exact conversions of single elements.
#ifndef HLO_BASE_DTYPE_H_
#define HLO_BASE_DTYPE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/float_bits.h"

typedef enum hlo_dtype {
#define HLO_DTYPE(id, hlo_name, mlir_name, ml_dtypes_name, pjrt, klass, bits, ...) HLO_DTYPE_##id,
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

/// What a float format spends its top codes on.
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
  int32_t pjrt_type;           // PJRT_Buffer_Type, -1 if none
  hlo_dtype_class_t klass;
  uint8_t bits;           // width of a value (complex: both parts)
  uint8_t exponent_bits;  // floats (complex: of a part)
  uint8_t mantissa_bits;  // without the hidden bit
  int16_t bias;
  hlo_float_specials_t specials;
  hlo_dtype_t part;  // complex: type of a part; else itself
} hlo_dtype_info_t;

extern const hlo_dtype_info_t hlo_dtype_table[HLO_DTYPE_COUNT];

/// The row of a type, for ever; that of INVALID for a number outside the table.
static inline const hlo_dtype_info_t* hlo_dtype_info(hlo_dtype_t dtype) {
  return &hlo_dtype_table[(unsigned)dtype < HLO_DTYPE_COUNT ? dtype : HLO_DTYPE_INVALID];
}

/// Bytes of one element in host memory and in literals: sub-byte types take a whole byte (value in
/// the low bits, signed ones sign-extended, unsigned zero-extended); PRED is 0 or 1 in a byte.
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

/// Look-ups by name; HLO_DTYPE_INVALID when unknown. MLIR: "f32", "i32", "ui8", "i1" (no
/// complex<>).
hlo_dtype_t hlo_dtype_from_hlo_name(const char* name, size_t length);
hlo_dtype_t hlo_dtype_from_mlir_name(const char* name, size_t length);
hlo_dtype_t hlo_dtype_from_pjrt(int32_t pjrt_type);
hlo_dtype_t hlo_dtype_complex_of(hlo_dtype_t part);

/// True when every value of `from` (specials and -0 included) survives a conversion to `to`.
bool hlo_dtype_convert_is_lossless(hlo_dtype_t from, hlo_dtype_t to);

/// Reads or writes one real element at its in-memory width. Floats of every kind go through double
/// exactly; stores round to nearest even from the double (one rounding), overflow as ml_dtypes does
/// (Inf, NaN or saturation by format); stores of a double to an integer truncate and saturate.
/// Integers go through (u)int64; stores wrap. Of a complex element only the real part is touched.
double hlo_dtype_load_double(hlo_dtype_t dtype, const void* element);
void hlo_dtype_store_double(hlo_dtype_t dtype, void* element, double value);
int64_t hlo_dtype_load_int64(hlo_dtype_t dtype, const void* element);  // integers and PRED
void hlo_dtype_store_int64(hlo_dtype_t dtype, void* element, int64_t value);

/// Bit-level float conversions, round to nearest even; those of bf16 are in base/float_bits.h.
float hlo_f16_to_f32(uint16_t bits);
uint16_t hlo_f32_to_f16(float value);

/// Converts `count` elements as stablehlo.convert does (int->float rounds to nearest even,
/// float->int truncates and saturates, NaN to 0, real->complex with zero imaginary part,
/// complex->other takes the real part, anything->PRED is != 0). A float rounds once, also from f64
/// and from 64-bit integers (NumPy's ml_dtypes casts go through float there and round twice).
/// Arrays may be the same only where the types are; they need the alignment of their elements.
/// errors: none; every pair of types but INVALID and TOKEN (ignored) is defined.
/// threads: safe
void hlo_dtype_convert(hlo_dtype_t from, const void* in, hlo_dtype_t to, void* out, size_t count);

/// Packs/unpacks sub-byte elements (2 or 4 bits; 6-bit types stay one to a byte) for device
/// layouts: low bits first. Packed size is ceil(count * bits / 8).
size_t hlo_dtype_packed_size_bytes(hlo_dtype_t dtype, size_t count);
void hlo_dtype_pack(hlo_dtype_t dtype, const void* in, void* out, size_t count);
void hlo_dtype_unpack(hlo_dtype_t dtype, const void* in, void* out, size_t count);
/// Elements narrower than a byte, one to a byte with anything in the upper bits, as they are kept
/// in memory: signed ones sign-extended, booleans 0 or 1. Leaves all others as they are.
void hlo_dtype_normalise(hlo_dtype_t dtype, void* elements, size_t count);
/// Random elements: floats in [-1, 1), integers 0 ... 9 (narrow ones 0 ... 7 or 0 and 1). `state` is
/// the seed and moves on.
void hlo_dtype_fill_random(hlo_dtype_t dtype, void* elements, size_t count, uint64_t* state);

#endif  // HLO_BASE_DTYPE_H_
