// SPDX-License-Identifier: Apache-2.0
// Operands of bf16 that are converted from narrow codes along the contraction, and perhaps
// multiplied by a scale for each block, where they are packed for many rows: the tables of codes.c
// widen a register of codes, and scales multiply both elements of a pair in F32. All columns of a
// block share a position along the contraction, so that columns are scaled once they lie in lanes.
// Results have the same bits as elements that are computed one by one.
#include "codegen/dot/matmul_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"

enum {
  CHUNK = HLO_MATMUL_CODES_CHUNK,
  ROWS = HLO_MATMUL_CODES_ROWS,
  LANES = ROWS / 2,  // pairs in a register
  BF16_BITS = 16,
  BF16_SIGNIFICAND_BITS = 8,
  CHUNK_SCALE_WORDS = 4,  // of 32 bits: four blocks of 16 codes, with scales of 32 bits
};

void hlo_matmul_locate_codes(const hlo_matmul_t* m, uint32_t side,
                             hlo_vir_value_t* const* addresses, hlo_matmul_source_t* source) {
  const hlo_matmul_codes_t* codes = &m->operands[side].codes;
  if (codes->dtype == HLO_DTYPE_INVALID) return;
  source->codes = addresses[codes->input];
  if (codes->block) source->scales = addresses[codes->scales];
}

// Returns the elements by which a step of each place moves the operand, which the places cover.
static void place_steps(const hlo_matmul_prologue_t* prologue, int64_t* steps) {
  int64_t step = 1;
  for (uint32_t i = prologue->place_count; i-- > 0;) {
    const uint32_t loop = hlo_matmul_inner_loop(prologue, i);
    steps[i] = step;
    step *= prologue->space.extents[loop];
    if (prologue->blocks[i]) step *= prologue->space.extents[loop - 1];
  }
}

hlo_vir_value_t* hlo_matmul_number_of(const hlo_matmul_t* m, hlo_vir_builder_t* b, uint32_t side,
                                      const hlo_matmul_source_t* source) {
  const hlo_matmul_prologue_t* prologue = &m->operands[side].prologue;
  int64_t steps[HLO_MATMUL_MAX_LOOPS];
  place_steps(prologue, steps);
  hlo_vir_value_t* number = hlo_index(b, 0);
  for (uint32_t i = 0; i < prologue->place_count; ++i) {
    hlo_vir_value_t* place = source->places[i];
    if (place) number = hlo_plus(b, number, hlo_times(b, place, steps[i]));
  }
  return number;
}

// Loads a chunk of codes and widens it to two registers of pairs, in order.
static void load_chunk(hlo_vir_builder_t* b, hlo_dtype_t dtype, hlo_vir_value_t* base,
                       hlo_vir_value_t* index, int64_t offset, hlo_vir_value_t* out_pairs[2]) {
  // Eight codes of each half of the chunk in a part, of which the first half of pairs is made.
  static const uint8_t order[] = {0, 4, 1, 5, 2, 6, 3, 7};
  const hlo_vir_type_t bytes = hlo_vir_type(HLO_VIR_I8, CHUNK);
  hlo_vir_value_t* operands[] = {base, index};
  hlo_vir_value_t* codes = hlo_vir_emit(b, HLO_VIR_load, bytes, 0, offset, 2, operands);
  codes = hlo_vir_emit(b, HLO_VIR_recast, hlo_vir_type(HLO_VIR_I64, sizeof order), 0, 0, 1, &codes);
  codes = hlo_matmul_permute(b, codes, order);
  hlo_matmul_decode(b, dtype, hlo_vir_emit(b, HLO_VIR_recast, bytes, 0, 0, 1, &codes), out_pairs);
}

// ---- scales

// Returns the bits that the significand of any value of the type has at most.
static uint32_t significand_bits(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  return hlo_dtype_is_float(dtype) ? info->mantissa_bits + 1u : info->bits;
}

// Multiplies both elements of each pair by the scale of their lane, and rounds to bf16.
static hlo_vir_value_t* scale_pairs(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                                    hlo_vir_value_t* pairs, hlo_vir_value_t* scales) {
  const bool is_exact =
      significand_bits(codes->dtype) + significand_bits(codes->scale) <= BF16_SIGNIFICAND_BITS;
  const hlo_vir_type_t integers = hlo_vir_type(HLO_VIR_I32, LANES);
  hlo_vir_value_t* upper_bits = hlo_vir_const_bits(b, integers, UINT64_C(0xffff) << BF16_BITS);
  hlo_vir_value_t* bits = hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_I32, pairs);
  hlo_vir_value_t* parts[] = {
      hlo_vir_emit(b, HLO_VIR_shli, integers, 0, BF16_BITS, 1, &bits),
      hlo_vir_binary(b, HLO_VIR_and, bits, upper_bits),
  };
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_vir_value_t* element = hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_F32, parts[i]);
    element = hlo_vir_binary(b, HLO_VIR_fmul, element, scales);
    if (!is_exact) element = hlo_vmath_round_to(b, HLO_DTYPE_BF16, element);
    parts[i] = hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_I32, element);
  }
  parts[0] = hlo_vir_emit(b, HLO_VIR_lshri, integers, 0, BF16_BITS, 1, &parts[0]);
  parts[1] = hlo_vir_binary(b, HLO_VIR_and, parts[1], upper_bits);
  return hlo_vir_convert(b, HLO_VIR_bitcast, HLO_VIR_F32,
                         hlo_vir_binary(b, HLO_VIR_or, parts[0], parts[1]));
}

// Returns the number of blocks that a chunk has parts of.
static uint32_t blocks_of_chunk(const hlo_matmul_codes_t* codes) {
  return codes->block < CHUNK ? (uint32_t)(CHUNK / codes->block) : 1;
}

static int64_t scale_bytes(const hlo_matmul_codes_t* codes) {
  return (int64_t)hlo_dtype_size_bytes(codes->scale);
}

void hlo_matmul_widen_chunk(const hlo_matmul_t* m, hlo_vir_builder_t* b, uint32_t side,
                            const hlo_matmul_source_t* source, hlo_vir_value_t* out_pairs[2]) {
  const hlo_matmul_codes_t* codes = &m->operands[side].codes;
  hlo_vir_value_t* number = hlo_matmul_number_of(m, b, side, source);
  load_chunk(b, codes->dtype, source->codes, number, 0, out_pairs);
  if (!codes->block) return;
  hlo_vir_value_t* block = hlo_divide(b, number, codes->block);
  const hlo_element_address_t address = {
      .base = hlo_plus(b, source->scales, hlo_times(b, block, scale_bytes(codes))),
      .mask = hlo_matmul_first_lanes(b, LANES, blocks_of_chunk(codes))};
  hlo_vir_value_t* scales = hlo_elementwise_load(b, codes->scale, LANES, &address);
  scales = hlo_matmul_widen_scales(b, codes, scales);
  for (uint32_t i = 0; i < 2; ++i) {
    uint8_t order[LANES];
    for (uint32_t k = 0; k < LANES; ++k)
      order[k] = (uint8_t)((CHUNK / 2 * i + 2 * k) / codes->block);
    out_pairs[i] = scale_pairs(b, codes, out_pairs[i], hlo_matmul_permute(b, scales, order));
  }
}

/// Columns of a register, of which those from `count` on repeat the first one.
typedef struct columns {
  const hlo_matmul_source_t* source;
  hlo_vir_value_t* number;  // of the first element
  int64_t step;             // from a column to the next
  uint32_t count;
} columns_t;

/// The scales of all blocks of a chunk, a lane for each column: several in a lane, of 32 bits at
/// most, so that a register holds all columns.
typedef struct chunk_scales {
  hlo_vir_value_t* words[CHUNK_SCALE_WORDS];
  uint32_t word_bytes;
} chunk_scales_t;

// Returns the scales of block `number` of a chunk, by column.
static hlo_vir_value_t* pick_scales(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                                    const chunk_scales_t* all, uint32_t number) {
  const hlo_vir_type_t type = hlo_vmath_memory_type(codes->scale, LANES);
  const uint32_t at = number * (uint32_t)scale_bytes(codes), shift = at % all->word_bytes * 8;
  hlo_vir_value_t* raw = all->words[at / all->word_bytes];
  if (shift) raw = hlo_vir_emit(b, HLO_VIR_lshri, raw->type, 0, shift, 1, &raw);
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  if (bits < hlo_vir_elem_bits((hlo_vir_elem_t)raw->type.elem)) {
    raw = hlo_vir_convert(b, HLO_VIR_trunc, (hlo_vir_elem_t)type.elem, raw);
  } else if (raw->type.elem != type.elem) {
    raw = hlo_vir_convert(b, HLO_VIR_bitcast, (hlo_vir_elem_t)type.elem, raw);
  }
  raw = hlo_vmath_from_memory(b, codes->scale, raw);
  return hlo_matmul_widen_scales(b, codes, raw);
}

static void load_scales(hlo_vir_builder_t* b, const hlo_matmul_codes_t* codes,
                        const columns_t* columns, chunk_scales_t* out_scales) {
  static const hlo_vir_elem_t integers[] = {HLO_VIR_I8, HLO_VIR_I16, HLO_VIR_I32};
  const int64_t bytes = scale_bytes(codes);
  const uint32_t together = blocks_of_chunk(codes) * (uint32_t)bytes;
  const uint32_t word = together < sizeof(int32_t) ? together : sizeof(int32_t);
  out_scales->word_bytes = word;
  hlo_vir_value_t* block = hlo_divide(b, columns->number, codes->block);
  hlo_vir_value_t* base = hlo_plus(b, columns->source->scales, hlo_times(b, block, bytes));
  for (uint32_t w = 0; w < together / word; ++w) {
    hlo_vir_value_t* lanes[LANES];
    for (uint32_t i = 0; i < LANES; ++i) {
      const int64_t column = i < columns->count ? i : 0;
      const int64_t offset = column * columns->step / codes->block * bytes + w * word;
      lanes[i] = hlo_vir_emit(b, HLO_VIR_load, hlo_vir_type(integers[__builtin_ctz(word)], 1), 0,
                              offset, 1, &base);
    }
    out_scales->words[w] = hlo_matmul_join(b, lanes, LANES);
  }
}

void hlo_matmul_widen_columns(const hlo_matmul_t* m, hlo_vir_builder_t* b,
                              const hlo_matmul_source_t* source, uint32_t first, uint32_t end,
                              hlo_vir_value_t* out_rows[HLO_MATMUL_CODES_ROWS]) {
  const hlo_matmul_operand_t* operand = &m->operands[HLO_MATMUL_B];
  const hlo_matmul_codes_t* codes = &operand->codes;
  hlo_matmul_source_t here = *source;
  int64_t steps[HLO_MATMUL_MAX_LOOPS];
  place_steps(&operand->prologue, steps);
  hlo_matmul_move(m, HLO_MATMUL_B, b, &m->columns, hlo_index(b, first), &here);
  const columns_t columns = {.source = source,
                             .number = hlo_matmul_number_of(m, b, HLO_MATMUL_B, &here),
                             .step = steps[m->columns.place[HLO_MATMUL_B] - 1],
                             .count = end - first};
  for (uint32_t i = 0; i < LANES; ++i) {
    const int64_t column = i < columns.count ? i : 0;
    hlo_vir_value_t* pairs[2];
    load_chunk(b, codes->dtype, source->codes, columns.number, column * columns.step, pairs);
    out_rows[i] = pairs[0], out_rows[LANES + i] = pairs[1];
  }
  hlo_elementwise_transpose(b, out_rows, ROWS, LANES, 0);
  if (!codes->block) return;
  chunk_scales_t all;
  load_scales(b, codes, &columns, &all);
  hlo_vir_value_t* scales = NULL;
  for (uint32_t i = 0; i < ROWS; ++i) {
    if (2 * i % codes->block == 0)
      scales = pick_scales(b, codes, &all, 2 * i / (uint32_t)codes->block);
    out_rows[i] = scale_pairs(b, codes, out_rows[i], scales);
  }
}
