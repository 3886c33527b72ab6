// SPDX-License-Identifier: Apache-2.0
// Ops that change the representation of elements: convert, bitcast_convert, reduce_precision,
// stochastic_convert.
#include <math.h>
#include <string.h>

#include "interp/kernels_impl.h"
#include "interp/quant.h"

hlo_status_t hlo_ref_convert(HLO_REF_ARGUMENTS) {
  hlo_tensor_t* x = operands[0];
  const hlo_type_t* type = node->results[0].type;
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_convert, operands, results);
  }
  if (x->dtype == type->dtype) {
    results[0] = hlo_tensor_retain(x);
    return hlo_ok();
  }
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, x->rank, x->dims, &results[0]));
  hlo_dtype_convert(x->dtype, x->data, type->dtype, results[0]->data, (size_t)x->element_count);
  return hlo_ok();
}

// ---- bitcast_convert --------------------------------------------------------------------------

static bool is_sub_byte(hlo_dtype_t dtype) {
  return hlo_dtype_info(dtype)->bits % 8 != 0;
}

// Sub-byte elements occupy a byte each; signed ones are sign-extended.
static uint8_t canonical_byte(hlo_dtype_t dtype, uint8_t bits) {
  unsigned unused = 8u - hlo_dtype_info(dtype)->bits % 8u;
  if (unused == 8 || !hlo_dtype_is_signed(dtype)) return bits;
  return (uint8_t)((int8_t)(bits << unused) >> unused);
}

// Narrow element j of a wide one holds its bits from j * narrow bits on. The width of a sub-byte
// element divides that of the type it is cast to, so that no element crosses a byte.
static void cast_bits(hlo_dtype_t from_type, const uint8_t* from, hlo_dtype_t to_type, uint8_t* to,
                      int64_t narrow_count) {
  const unsigned from_bits = hlo_dtype_info(from_type)->bits;
  const unsigned to_bits = hlo_dtype_info(to_type)->bits;
  const bool widens = from_bits < to_bits;
  const unsigned narrow = widens ? from_bits : to_bits, wide = widens ? to_bits : from_bits;
  const unsigned ratio = wide / narrow, mask = (1u << narrow) - 1u;
  const size_t wide_bytes = (wide + 7) / 8;
  for (int64_t i = 0; i < narrow_count; ++i) {
    size_t at = (size_t)(i / ratio) * wide_bytes + (size_t)(i % ratio) * narrow / 8;
    unsigned shift = (unsigned)(i % ratio) * narrow % 8;
    if (!widens) {
      to[i] = canonical_byte(to_type, (uint8_t)(from[at] >> shift & mask));
    } else {
      uint8_t before = shift ? to[at] : 0;
      to[at] = (uint8_t)(before | (from[i] & mask) << shift);
      if (shift + narrow >= wide) to[at] = canonical_byte(to_type, to[at]);
    }
  }
}

// Computes the dims of the result: where the widths differ, the last dimension is their ratio.
static hlo_status_t bitcast_dims(const hlo_node_t* node, const hlo_tensor_t* x, int64_t* dims,
                                 uint32_t* out_rank) {
  const unsigned from = hlo_dtype_info(x->dtype)->bits;
  const unsigned to = hlo_dtype_info(node->results[0].type->dtype)->bits;
  uint32_t rank = x->rank;
  memcpy(dims, x->dims, rank * sizeof(int64_t));
  bool fits = from > 0 && to > 0;
  if (fits && from > to) {
    fits = from % to == 0 && rank < HLO_RANK_MAX;
    if (fits) dims[rank++] = from / to;
  } else if (fits && from < to) {
    fits = to % from == 0 && rank > 0 && dims[rank - 1] == (int64_t)(to / from);
    if (fits) --rank;
  }
  if (!fits || rank != node->results[0].type->rank) {
    return hlo_node_invalid(node, "cannot cast elements of %u bits to elements of %u bits", from,
                            to);
  }
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t declared = node->results[0].type->dims[d];
    if (declared >= 0 && declared != dims[d]) {
      return hlo_node_invalid(node, "dimension %u has size %lld, the result's type says %lld", d,
                              (long long)dims[d], (long long)declared);
    }
  }
  *out_rank = rank;
  return hlo_ok();
}

hlo_status_t hlo_ref_bitcast_convert(HLO_REF_ARGUMENTS) {
  hlo_tensor_t* x = operands[0];
  int64_t dims[HLO_RANK_MAX];
  uint32_t rank = 0;
  HLO_TRY(bitcast_dims(node, x, dims, &rank));
  const hlo_dtype_t from = x->dtype, to = node->results[0].type->dtype;
  const bool same_bytes = !is_sub_byte(from) && !is_sub_byte(to);
  const void* data = x->data;
  if (same_bytes && hlo_dtype_size_bytes(from) == hlo_dtype_size_bytes(to)) {
    HLO_TRY(hlo_eval_result_reuse(eval, node, 0, operands, 0, &results[0]));
  } else {
    HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &results[0]));
  }
  if (!same_bytes) {
    int64_t counts[2] = {x->element_count, results[0]->element_count};
    cast_bits(from, data, to, results[0]->data, counts[0] > counts[1] ? counts[0] : counts[1]);
  } else if (results[0]->data != data && x->size_bytes > 0) {
    memcpy(results[0]->data, data, x->size_bytes);
  }
  return hlo_ok();
}

// ---- reduce_precision -------------------------------------------------------------------------

// A float format as bit fields, and the parameters of its reduction.
typedef struct reduction {
  uint64_t sign, exponent_mask, mantissa_mask;
  unsigned dropped_bits;         // of the mantissa
  uint64_t overflow, underflow;  // largest exponent field kept; largest one flushed
} reduction_t;

static reduction_t make_reduction(const hlo_dtype_info_t* info, unsigned exponent_bits,
                                  unsigned mantissa_bits) {
  const unsigned source = info->mantissa_bits;
  reduction_t r = {
      .sign = 1ull << (info->bits - 1),
      .exponent_mask = ((1ull << info->exponent_bits) - 1) << source,
      .mantissa_mask = (1ull << source) - 1,
      .dropped_bits = mantissa_bits < source ? source - mantissa_bits : 0,
      .overflow = UINT64_MAX,
  };
  if (exponent_bits < info->exponent_bits) {
    const uint64_t bias = (1ull << (info->exponent_bits - 1)) - 1;
    const uint64_t reduced = (1ull << (exponent_bits - 1)) - 1;
    r.overflow = (bias + reduced) << source;
    r.underflow = (bias - reduced) << source;
  }
  return r;
}

// Rounds the mantissa to nearest even, then replaces exponents out of range by infinity or zero
// (subnormals of the reduced format become zero).
static uint64_t reduce_bits(const reduction_t* r, uint64_t bits) {
  if ((bits & (r->exponent_mask | r->mantissa_mask)) > r->exponent_mask) {  // NaN
    return r->dropped_bits && r->mantissa_mask >> r->dropped_bits == 0 ? r->exponent_mask : bits;
  }
  if (r->dropped_bits) {
    const uint64_t last = 1ull << r->dropped_bits;
    bits += (last >> 1) - 1 + (bits >> r->dropped_bits & 1);
    bits &= ~(last - 1);
  }
  const uint64_t exponent = bits & r->exponent_mask;
  if (exponent > r->overflow) return (bits & r->sign) | r->exponent_mask;
  if (r->overflow != UINT64_MAX && exponent <= r->underflow) return bits & r->sign;
  return bits;
}

hlo_status_t hlo_ref_reduce_precision(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_reduce_precision, operands, results);
  }
  const hlo_dtype_t dtype = operands[0]->dtype;
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  int64_t exponent_bits = hlo_node_attr_int(node, HLO_ATTR_exponent_bits, 0);
  int64_t mantissa_bits = hlo_node_attr_int(node, HLO_ATTR_mantissa_bits, -1);
  if (exponent_bits < 1 || mantissa_bits < 0) {
    return hlo_node_invalid(node, "exponent_bits must be at least 1 and mantissa_bits at least 0");
  }
  if (info->specials != HLO_FLOAT_IEEE || node->results[0].type->dtype != dtype ||
      hlo_dtype_is_complex(dtype)) {
    return hlo_node_unimplemented(node, "not defined on elements of type %s", info->hlo_name);
  }
  const reduction_t r = make_reduction(info, exponent_bits < 64 ? (unsigned)exponent_bits : 64u,
                                       mantissa_bits < 64 ? (unsigned)mantissa_bits : 64u);
  const size_t width = hlo_dtype_size_bytes(dtype);
  const uint8_t* from = operands[0]->data;
  HLO_TRY(hlo_eval_result_reuse(eval, node, 0, operands, 0, &results[0]));
  uint8_t* to = results[0]->data;
  for (int64_t i = 0; i < results[0]->element_count; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, from + (size_t)i * width, width);
    bits = reduce_bits(&r, bits);
    memcpy(to + (size_t)i * width, &bits, width);
  }
  return hlo_ok();
}

// ---- stochastic_convert -----------------------------------------------------------------------

// Rounds |x| up with the probability of its fraction, compared with a random number of `bits` bits.
static double round_stochastically(double x, uint64_t random, unsigned bits) {
  double magnitude = fabs(x), whole = trunc(magnitude);
  double threshold = ldexp(magnitude - whole, (int)bits);
  if (threshold > 0 && (double)random < floor(threshold)) whole += 1;
  return copysign(whole, x);
}

hlo_status_t hlo_ref_hlo_stochastic_convert(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t *x = operands[0], *random = operands[1];
  const hlo_dtype_t to = node->results[0].type->dtype;
  if (!hlo_dtype_is_float(x->dtype) || !hlo_dtype_is_unsigned(random->dtype) ||
      !hlo_dtype_is_integer(to) || x->element_count != random->element_count) {
    return hlo_node_error(
        node, HLO_STATUS_INVALID_ARGUMENT,
        "needs floats, unsigned random numbers of the same width and an integer result");
  }
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, x->rank, x->dims, &results[0]));
  const size_t from_width = hlo_dtype_size_bytes(x->dtype), to_width = hlo_dtype_size_bytes(to);
  const unsigned bits = hlo_dtype_info(random->dtype)->bits;
  for (int64_t i = 0; i < x->element_count; ++i) {
    double value = hlo_dtype_load_double(x->dtype, (uint8_t*)x->data + (size_t)i * from_width);
    uint64_t r = (uint64_t)hlo_tensor_int(random, i);
    if (isfinite(value)) value = round_stochastically(value, r, bits);
    hlo_dtype_store_double(to, (uint8_t*)results[0]->data + (size_t)i * to_width, value);
  }
  return hlo_ok();
}
