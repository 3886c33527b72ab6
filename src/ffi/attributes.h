// SPDX-License-Identifier: Apache-2.0
// Attributes of calls: a plain description and the form that handlers read.
#pragma once

#include "base/dtype.h"
#include "base/mem.h"
#include "ffi/abi.h"

/// Description of an attribute; all pointers are lent.
typedef struct hlo_ffi_attribute {
  XLA_FFI_ByteSpan name;
  XLA_FFI_AttrType type;
  hlo_dtype_t dtype;  // of scalars and arrays
  // A scalar: an element. An array: `count` elements; of `count` bytes: a string. A dictionary:
  // `count` descriptions. Elements have the size hlo_dtype_size_bytes().
  const void* data;
  size_t count;
} hlo_ffi_attribute_t;

enum { HLO_FFI_MAX_ATTRIBUTE_DEPTH = 64 };

/// Builds a dictionary with copies of all that the descriptions refer to, in any order.
/// errors: INVALID_ARGUMENT for a name that occurs twice, dictionaries nested too deep, and scalars
/// without a size; RESOURCE_EXHAUSTED
/// owner : the arena
hlo_status_t hlo_ffi_attributes_build(hlo_arena_t* arena, const hlo_ffi_attribute_t* attributes,
                                      size_t count, XLA_FFI_Attrs* out_attrs) HLO_MUST_USE;
