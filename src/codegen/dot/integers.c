// SPDX-License-Identifier: Apache-2.0
// Products of a few rows whose operands are both narrow codes with scales, for blocks of the same
// size. Codes of few bits are integers times a power of two (those of F4E2M1FN are halves), so that
// the products within a block add up exactly in 32 bits, four in a lane by one instruction. This
// takes unsigned bytes of B: a bias makes them so, and the sums begin with what it adds. A lane of
// a span holds LANE_CODES codes of one block; the scales of both operands multiply its sum.
//
// A line of A holds, for each span, its bytes in the order in which B's are met, the first values
// of the sums and the scales: at most as much as the pairs of bf16 whose place it takes.
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

enum {
  LANES = 16,
  REGISTER = HLO_MATMUL_CODES_CHUNK,  // bytes
  QUADS = 4,                          // registers of a span
  LANE_CODES = QUADS * 4,
  SPAN = HLO_MATMUL_INTEGERS_SPAN,
  STARTS = QUADS * REGISTER,   // the offset of the sums' first values in a span of a line
  SCALES = STARTS + REGISTER,  // and of the scales
  SPAN_BYTES = SCALES + REGISTER,
  PART = 16,  // bytes in which zips work, and a table of short codes
  MAX_BYTE = 127,
  SIGN_BIT = 0x80,
};
_Static_assert(SPAN == LANES * LANE_CODES, "a register is a span's lanes");
_Static_assert(SPAN_BYTES <= SPAN * sizeof(uint16_t), "a line of A has room for bytes and scales");

// ---- codes as integers

static float value_of(hlo_dtype_t dtype, uint32_t low) {
  const uint8_t code = hlo_matmul_code(dtype, low);
  float value;
  hlo_dtype_convert(dtype, &code, HLO_DTYPE_F32, &value, 1);
  return value;
}

int32_t hlo_matmul_integer_factor(hlo_dtype_t dtype) {
  const uint32_t count = 1u << hlo_dtype_info(dtype)->bits;
  for (int32_t factor = 1; factor <= MAX_BYTE; factor *= 2) {
    bool is_integer = true;
    for (uint32_t i = 0; i < count && is_integer; ++i) {
      const float value = value_of(dtype, i) * (float)factor;
      const bool is_byte = value >= -(float)SIGN_BIT && value <= MAX_BYTE;  // false for NaN
      is_integer = is_byte && value == (float)(int32_t)value;
    }
    if (is_integer) return factor;
  }
  return 0;
}

// Returns what makes all of the type's integers non-negative.
static int32_t bias_of(hlo_dtype_t dtype) {
  if (dtype == HLO_DTYPE_S8) return SIGN_BIT;
  const int32_t factor = hlo_matmul_integer_factor(dtype);
  int32_t least = 0;
  for (uint32_t i = 0; i < 1u << hlo_dtype_info(dtype)->bits; ++i) {
    const int32_t value = (int32_t)(value_of(dtype, i) * (float)factor);
    if (value < least) least = value;
  }
  return -least;
}

static hlo_vir_type_t byte_type(void) {
  return hlo_vir_type(HLO_VIR_I8, REGISTER);
}

static hlo_vir_type_t sum_type(void) {
  return hlo_vir_type(HLO_VIR_I32, LANES);
}

static hlo_vir_value_t* as_quads(hlo_vir_builder_t* b, hlo_vir_value_t* value) {
  return hlo_vir_emit(b, HLO_VIR_recast, sum_type(), 0, 0, 1, &value);
}

// Returns the codes' integers plus the bias, as lanes of four bytes.
static hlo_vir_value_t* look_up(hlo_vir_builder_t* b, hlo_dtype_t dtype, int32_t bias,
                                hlo_vir_value_t* codes) {
  if (dtype == HLO_DTYPE_S8) {
    hlo_vir_value_t* signs = hlo_vir_const_bits(b, byte_type(), SIGN_BIT);
    return as_quads(b, bias ? hlo_vir_binary(b, HLO_VIR_xor, codes, signs) : codes);
  }
  const float factor = (float)hlo_matmul_integer_factor(dtype);
  const uint32_t count = hlo_dtype_info(dtype)->bits <= 4 ? PART : REGISTER;
  uint8_t table[REGISTER];
  for (uint32_t i = 0; i < REGISTER; ++i) {
    table[i] = (uint8_t)((int32_t)(value_of(dtype, i % count) * factor) + bias);
  }
  hlo_vir_value_t* low = hlo_vir_const_bits(b, byte_type(), count - 1);
  hlo_vir_value_t* operands[] = {hlo_matmul_constant(b, byte_type(), table),
                                 hlo_vir_binary(b, HLO_VIR_and, codes, low)};
  const uint32_t part = count == PART ? PART : 0;
  return as_quads(b, hlo_vir_emit(b, HLO_VIR_permute, byte_type(), 0, part, 2, operands));
}

// Interleaves the lanes of each 16-byte part of x and y, their lower or their upper halves.
static hlo_vir_value_t* zip(hlo_vir_builder_t* b, hlo_vir_elem_t elem, bool is_upper,
                            hlo_vir_value_t* x, hlo_vir_value_t* y) {
  const uint32_t bytes = hlo_vir_elem_bits(elem) / 8;
  const hlo_vir_type_t type = hlo_vir_type(elem, REGISTER / bytes);
  hlo_vir_value_t* operands[] = {hlo_vir_emit(b, HLO_VIR_recast, type, 0, 0, 1, &x),
                                 hlo_vir_emit(b, HLO_VIR_recast, type, 0, 0, 1, &y)};
  return hlo_vir_emit(b, is_upper ? HLO_VIR_zip_high : HLO_VIR_zip_low, type, 0, PART / bytes, 2,
                      operands);
}

// Returns the first of the LANE_CODES codes of a span that a lane holds.
static uint32_t first_code(uint32_t lane) {
  return lane % QUADS * REGISTER + lane / QUADS * PART;
}

// Loads a span of codes. Each 16-byte part of four registers is transposed: quad q has, in each
// lane, codes 4 q to 4 q + 3 of those of the lane.
static void load_span(hlo_vir_builder_t* b, hlo_dtype_t dtype, int32_t bias, hlo_vir_value_t* base,
                      hlo_vir_value_t* index, hlo_vir_value_t* out_quads[QUADS]) {
  hlo_vir_value_t *codes[QUADS], *pairs[QUADS];
  for (uint32_t i = 0; i < QUADS; ++i) {
    hlo_vir_value_t* operands[] = {base, index};
    codes[i] = hlo_vir_emit(b, HLO_VIR_load, byte_type(), 0, i * REGISTER, 2, operands);
  }
  for (uint32_t i = 0; i < QUADS; ++i) {
    pairs[i] = zip(b, HLO_VIR_I32, i / 2, codes[i % 2 * 2], codes[i % 2 * 2 + 1]);
  }
  for (uint32_t i = 0; i < QUADS; ++i) {
    hlo_vir_value_t* quad = zip(b, HLO_VIR_I64, i % 2, pairs[i / 2 * 2], pairs[i / 2 * 2 + 1]);
    quad = hlo_vir_emit(b, HLO_VIR_recast, byte_type(), 0, 0, 1, &quad);
    out_quads[i] = look_up(b, dtype, bias, quad);
  }
}

// ---- scales

static hlo_vir_value_t* load_scales(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                                    hlo_vir_value_t* base, hlo_vir_value_t* number) {
  const int64_t block = codes->block, count = hlo_matmul_max(SPAN / block, 1);
  const hlo_element_address_t address = {.base = base,
                                         .index = hlo_divide(b, number, block),
                                         .mask = hlo_matmul_first_lanes(b, LANES, (uint32_t)count)};
  hlo_vir_value_t* scales = hlo_elementwise_load(b, codes->scale, LANES, &address);
  scales = hlo_matmul_widen_scales(b, codes, scales);
  uint8_t order[LANES];
  for (uint32_t i = 0; i < LANES; ++i) order[i] = (uint8_t)(first_code(i) / block);
  return hlo_matmul_permute(b, scales, order);
}

// ---- A

static void store_register(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* to,
                           int64_t offset) {
  hlo_vir_value_t* operands[] = {value, to};
  hlo_vir_emit(b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, offset, 2, operands);
}

void hlo_matmul_pack_integers(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                              const hlo_matmul_source_t* source, hlo_vir_value_t* to) {
  const hlo_matmul_codes_t* codes = &m->operands[HLO_MATMUL_A].codes;
  const int32_t bias = bias_of(m->operands[HLO_MATMUL_B].codes.dtype);
  const int64_t depth = m->depth[0].extent * m->group;
  hlo_vir_value_t* first = hlo_matmul_number_of(m, b, HLO_MATMUL_A, source);
  hlo_vir_value_t* span = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, depth / SPAN), 1, 0);
  hlo_vir_value_t* number = hlo_plus(b, first, hlo_times(b, span, SPAN));
  hlo_vir_value_t *quads[QUADS], *sum = hlo_vir_const_bits(b, sum_type(), 0);
  load_span(b, codes->dtype, 0, source->codes, number, quads);
  to = hlo_plus(b, to, hlo_times(b, span, SPAN_BYTES));
  hlo_vir_value_t* ones = as_quads(b, hlo_vir_const_bits(b, byte_type(), 1));
  for (uint32_t i = 0; i < QUADS; ++i) {
    sum = hlo_vir_ternary(b, HLO_VIR_dot_u8s8, ones, quads[i], sum);
    store_register(b, quads[i], to, i * REGISTER);
  }
  hlo_vir_value_t* by = hlo_vir_const_bits(b, sum_type(), (uint64_t)-bias & UINT32_MAX);
  store_register(b, hlo_vir_binary(b, HLO_VIR_mul, sum, by), to, STARTS);
  store_register(b, load_scales(b, codes, source->scales, number), to, SCALES);
  hlo_vir_end(b);
}

// ---- products

static hlo_vir_value_t* load_register(const hlo_product_t* p, hlo_vir_value_t* line,
                                      hlo_vir_elem_t elem, int64_t row, int64_t offset) {
  const int64_t row_bytes = p->m->rows.strides[HLO_MATMUL_A] * p->m->element_bytes;
  return hlo_vir_emit(p->b, HLO_VIR_load, hlo_vir_type(elem, LANES), 0, row * row_bytes + offset, 1,
                      &line);
}

void hlo_product_add_integers(hlo_product_t* p, hlo_product_tile_t* tile) {
  hlo_vir_builder_t* b = p->b;
  const hlo_matmul_t* m = p->m;
  const hlo_matmul_codes_t* codes = &m->operands[HLO_MATMUL_B].codes;
  const int32_t bias = bias_of(codes->dtype);
  const uint32_t columns = tile->panel->piece_count;
  const int64_t depth = m->depth[0].extent * m->group;
  hlo_vir_value_t* number = hlo_minus(b, tile->b, p->bases[HLO_MATMUL_B]);
  hlo_vir_value_t* span = hlo_vir_begin_for(b, hlo_index(b, 0), hlo_index(b, depth / SPAN), 1, 0);
  hlo_vir_value_t* line = hlo_plus(b, tile->a, hlo_times(b, span, SPAN_BYTES));
  number = hlo_plus(b, number, hlo_times(b, span, SPAN));
  for (uint32_t c = 0; c < columns; ++c) {
    hlo_vir_value_t* quads[QUADS];
    hlo_vir_value_t* at = hlo_add(b, number, c * m->columns.strides[HLO_MATMUL_B]);
    load_span(b, codes->dtype, bias, p->bases[HLO_MATMUL_B], at, quads);
    for (uint32_t i = 0; i < QUADS; ++i) {
      hlo_product_fetch(p, p->bases[HLO_MATMUL_B], at, 1, m->panel_stride + i * REGISTER);
    }
    hlo_vir_value_t* scales = load_scales(b, codes, p->scales, at);
    for (int64_t r = 0; r < tile->height; ++r) {
      hlo_vir_value_t* sum = load_register(p, line, HLO_VIR_I32, r, STARTS);
      for (uint32_t i = 0; i < QUADS; ++i) {
        hlo_vir_value_t* bytes = load_register(p, line, HLO_VIR_I32, r, i * REGISTER);
        sum = hlo_vir_ternary(b, HLO_VIR_dot_u8s8, quads[i], bytes, sum);
      }
      sum = hlo_vir_convert(b, HLO_VIR_stof, HLO_VIR_F32, sum);
      sum = hlo_vir_binary(b, HLO_VIR_fmul, sum, load_register(p, line, HLO_VIR_F32, r, SCALES));
      hlo_vir_value_t* accumulator = tile->accumulators[r * columns + c];
      hlo_vir_set(b, accumulator, hlo_vir_ternary(b, HLO_VIR_fma, sum, scales, accumulator));
    }
  }
  hlo_vir_end(b);
  const int32_t factor = hlo_matmul_integer_factor(codes->dtype) *
                         hlo_matmul_integer_factor(m->operands[HLO_MATMUL_A].codes.dtype);
  if (factor == 1) return;
  hlo_vir_value_t* back = hlo_vir_const_float(b, hlo_vir_type(HLO_VIR_F32, LANES), 1.0 / factor);
  for (uint32_t i = 0; i < columns * tile->height; ++i) {
    hlo_vir_set(b, tile->accumulators[i],
                hlo_vir_binary(b, HLO_VIR_fmul, tile->accumulators[i], back));
  }
}
