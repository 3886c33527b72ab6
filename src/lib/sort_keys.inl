// SPDX-License-Identifier: Apache-2.0
// Keys of IEEE floats of one width. Requires BITS_T (their bits), KEY_T (the key, not narrower),
// WIDTH, INFINITY_BITS, NAN_BITS, NAME(x).

enum { NAME(shift) = WIDTH - 1 };

// totalOrder as unsigned numbers: negative floats flipped, the others above them.
static bool NAME(keys)(bool canonical, KEY_T flip, int64_t count, const BITS_T* in, KEY_T* keys) {
  const BITS_T sign = (BITS_T)1 << NAME(shift);
  BITS_T special = 0;
  for (int64_t i = 0; i < count; i++) {
    const BITS_T bits = in[i];
    const BITS_T magnitude = bits & (BITS_T)~sign;
    const BITS_T is_nan = magnitude > INFINITY_BITS, is_minus_zero = bits == sign;
    special |= is_nan | is_minus_zero;
    const BITS_T same = is_nan ? NAN_BITS : is_minus_zero ? (BITS_T)0 : bits;
    const BITS_T used = canonical ? same : bits;
    const BITS_T key = used & sign ? (BITS_T)~used : used | sign;
    keys[i] = (KEY_T)key ^ flip;
  }
  return canonical && special;
}

static void NAME(elements)(KEY_T flip, int64_t count, const KEY_T* keys, BITS_T* out) {
  const BITS_T sign = (BITS_T)1 << NAME(shift);
  for (int64_t i = 0; i < count; i++) {
    const BITS_T key = (BITS_T)(keys[i] ^ flip);
    out[i] = key & sign ? key ^ sign : (BITS_T)~key;
  }
}

#undef BITS_T
#undef KEY_T
#undef WIDTH
#undef INFINITY_BITS
#undef NAN_BITS
#undef NAME
