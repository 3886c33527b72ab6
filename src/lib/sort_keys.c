// SPDX-License-Identifier: Apache-2.0
// Elements as unsigned keys in the same order, and back (see sort_keys.h).
#include "lib/sort_keys.h"

#include "lib/isa.h"
#include "lib/sort_impl.h"

const hlo_sort_loops_t* hlo_sort_loops(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: return &hlo_sort_loops_avx2;
    case HLO_ISA_AVX512: return &hlo_sort_loops_avx512;
  }
#endif
  return &hlo_sort_loops_generic;
}

enum { BLOCK = 512 };

static const uint8_t* element(const hlo_sort_form_t* form, const void* in, int64_t i) {
  return (const uint8_t*)in + (size_t)i * hlo_dtype_size_bytes(form->dtype);
}

// The sign bits to flip for signed keys and for descending order.
static uint32_t flip_32(const hlo_sort_form_t* form) {
  const uint32_t sign =
      hlo_dtype_is_float(form->dtype) || !hlo_dtype_is_signed(form->dtype) ? 0 : (uint32_t)1 << 31;
  return form->descending ? ~sign : sign;
}

static uint64_t flip_64(const hlo_sort_form_t* form) {
  const uint64_t sign =
      hlo_dtype_is_float(form->dtype) || !hlo_dtype_is_signed(form->dtype) ? 0 : (uint64_t)1 << 63;
  return form->descending ? ~sign : sign;
}

// The keys of 16-bit floats have a constant high half, which the sort skips.
static uint32_t flip_16(const hlo_sort_form_t* form) {
  return form->descending ? 0xffff : 0;
}

static hlo_dtype_t int_carrier(hlo_dtype_t dtype) {
  return hlo_dtype_is_signed(dtype) ? HLO_DTYPE_S32 : HLO_DTYPE_U32;
}

bool hlo_sort_keys_32(const hlo_sort_form_t* form, const void* in, int64_t first, int64_t count,
                      uint32_t* keys) {
  const uint8_t* from = element(form, in, first);
  const hlo_dtype_t dtype = form->dtype;
  switch (dtype) {
    case HLO_DTYPE_F32:
      return hlo_sort_loops()->keys_f32(form->canonical, flip_32(form), count,
                                        (const uint32_t*)from, keys);
    case HLO_DTYPE_BF16:
      return hlo_sort_loops()->keys_bf16(form->canonical, flip_16(form), count,
                                         (const uint16_t*)from, keys);
    case HLO_DTYPE_F16:
      return hlo_sort_loops()->keys_f16(form->canonical, flip_16(form), count,
                                        (const uint16_t*)from, keys);
    default: break;
  }
  if (!hlo_dtype_is_float(dtype)) {
    const uint32_t flip = flip_32(form);
    const uint32_t* words = (const uint32_t*)from;
    if (hlo_dtype_info(dtype)->bits != 32) {
      hlo_dtype_convert(dtype, from, int_carrier(dtype), keys, (size_t)count);
      words = keys;
    }
    for (int64_t i = 0; i < count; i++) keys[i] = words[i] ^ flip;
    return false;
  }
  bool has_special = false;
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t n = count - i < BLOCK ? count - i : BLOCK;
    uint32_t bits[BLOCK];
    hlo_dtype_convert(dtype, element(form, from, i), HLO_DTYPE_F32, bits, (size_t)n);
    has_special |= hlo_sort_loops()->keys_f32(form->canonical, flip_32(form), n, bits, keys + i);
  }
  return has_special;
}

bool hlo_sort_keys_64(const hlo_sort_form_t* form, const void* in, int64_t first, int64_t count,
                      uint64_t* keys) {
  const uint64_t* from = (const uint64_t*)element(form, in, first);
  const uint64_t flip = flip_64(form);
  if (hlo_dtype_is_float(form->dtype)) {
    return hlo_sort_loops()->keys_f64(form->canonical, flip, count, from, keys);
  }
  for (int64_t i = 0; i < count; i++) keys[i] = from[i] ^ flip;
  return false;
}

void hlo_sort_elements_32(const hlo_sort_form_t* form, int64_t first, int64_t count,
                          const uint32_t* keys, void* out) {
  const hlo_dtype_t dtype = form->dtype;
  uint8_t* to = (uint8_t*)out + (size_t)first * hlo_dtype_size_bytes(dtype);
  switch (dtype) {
    case HLO_DTYPE_F32:
      hlo_sort_loops()->elements_f32(flip_32(form), count, keys, (uint32_t*)to);
      return;
    case HLO_DTYPE_BF16:
      hlo_sort_loops()->elements_bf16(flip_16(form), count, keys, (uint16_t*)to);
      return;
    case HLO_DTYPE_F16:
      hlo_sort_loops()->elements_f16(flip_16(form), count, keys, (uint16_t*)to);
      return;
    default: break;
  }
  const uint32_t flip = flip_32(form);
  if (hlo_dtype_info(dtype)->bits == 32) {
    for (int64_t i = 0; i < count; i++) ((uint32_t*)to)[i] = keys[i] ^ flip;
    return;
  }
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t n = count - i < BLOCK ? count - i : BLOCK;
    uint32_t values[BLOCK];
    for (int64_t j = 0; j < n; j++) values[j] = keys[i + j] ^ flip;
    hlo_dtype_convert(int_carrier(dtype), values, dtype,
                      to + (size_t)i * hlo_dtype_size_bytes(dtype), (size_t)n);
  }
}

void hlo_sort_elements_64(const hlo_sort_form_t* form, int64_t first, int64_t count,
                          const uint64_t* keys, void* out) {
  uint64_t* to = (uint64_t*)out + first;
  const uint64_t flip = flip_64(form);
  if (hlo_dtype_is_float(form->dtype)) {
    hlo_sort_loops()->elements_f64(flip, count, keys, to);
    return;
  }
  for (int64_t i = 0; i < count; i++) to[i] = keys[i] ^ flip;
}
