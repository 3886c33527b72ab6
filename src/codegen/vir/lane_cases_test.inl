// SPDX-License-Identifier: Apache-2.0
// One function for every lane-wise op, type and immediate, run over arrays of hard and random
// numbers, for tests that compare two ways of running vector IR. For tests only.
//
// The functions are chunks (frame, block, index): the block has LANE_CASES_COUNT elements of each
// operand a, b, c at multiples of LANE_CASES_ROOM_BYTES, followed by room for the results. All NaN
// results of arithmetic are replaced by one.
#include <string.h>

#include "base/program_abi.h"
#include "codegen/vir/builder.h"

enum {
  LANE_CASES_COUNT = 1024,
  LANE_CASES_ROOM_BYTES = LANE_CASES_COUNT * 8,
  LANE_CASES_MEMORY_BYTES = LANE_CASES_ROOM_BYTES * 4,
};

/// The op, types and immediate of a case.
typedef struct lane_case {
  hlo_vir_opcode_t op;
  hlo_vir_elem_t result, operand;  // of a comparison: MASK
  int64_t imm;
} lane_case_t;

// ---- numbers -----------------------------------------------------------------------------------

static uint64_t lane_cases_random(uint64_t* state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 32 | *state << 32;
}

// Numbers between two f16 values, near halves of integers, near the limits of integer types.
static uint32_t lane_cases_f32(uint64_t word) {
  static const uint32_t hard[] = {
      0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
      0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
      0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000, 0x4f7fffff, 0x5f000000, 0xdf000000,
      0x5f800000, 0x3f000000, 0xbf000000, 0x477fe000, 0x477fefff, 0x477ff000, 0x33000000,
      0x33000001, 0x387fe000, 0x387fffff, 0xbf7fffff};
  uint32_t bits = (uint32_t)word, sign = bits & 0x80000000;
  float number;
  switch (word >> 60 & 3) {
    case 0: return hard[bits % 32];
    case 1: return sign | (0x32800000 + (bits % 0x15800000 & ~0x1fffu) + 0xfff + (bits >> 5) % 3);
    case 2:
      number = (float)((int32_t)(bits % 4001) - 2000) * 0.25f;
      memcpy(&bits, &number, sizeof bits);
      return bits;
    default: return bits;
  }
}

static uint64_t lane_cases_f64(uint64_t word) {
  double number;
  uint64_t bits;
  if ((word >> 59 & 7) == 0) return word;
  uint32_t narrow_bits = lane_cases_f32(word);
  float narrow;
  memcpy(&narrow, &narrow_bits, sizeof narrow);
  number = narrow;
  memcpy(&bits, &number, sizeof bits);
  // Half a unit in the last place of f32 more or less: ftrunc has to round.
  switch (word >> 50 & 3) {
    case 0: return bits + 0x10000000;
    case 1: return bits + 0x0fffffff;
    default: return bits;
  }
}

static uint64_t lane_cases_number(hlo_vir_elem_t elem, uint64_t* state) {
  uint64_t word = lane_cases_random(state);
  if (elem == HLO_VIR_F32) return lane_cases_f32(word);
  if (elem == HLO_VIR_F64) return lane_cases_f64(word);
  uint64_t top = UINT64_C(1) << (hlo_vir_elem_bits(elem) - 1);
  switch (word >> 61) {
    case 0: return word % 3;
    case 1: return UINT64_MAX - word % 3;
    case 2: return top + word % 3 - 1;
    case 3: return word % (2 * hlo_vir_elem_bits(elem));
    case 4: return word >> 8 & 0xffff;
    default: return word;
  }
}

// From far below the smallest subnormal to far above the largest number, fractions included.
static uint64_t lane_cases_exponent(hlo_vir_elem_t elem, uint32_t i) {
  double wide = ((double)i - LANE_CASES_COUNT / 2) * (elem == HLO_VIR_F32 ? 0.625 : 4.5);
  float narrow = (float)wide;
  uint64_t bits = 0;
  if (elem == HLO_VIR_F32) memcpy(&bits, &narrow, sizeof narrow);
  if (elem == HLO_VIR_F64) memcpy(&bits, &wide, sizeof wide);
  return bits;
}

/// Fills the block for a case: operands with numbers of its type, results with zeros.
static inline void lane_cases_fill(const lane_case_t* c, uint8_t* memory) {
  uint64_t state = (uint64_t)c->op * 1000 + (uint64_t)c->operand * 100 + (uint64_t)c->imm;
  uint32_t bytes = hlo_vir_elem_bits(c->operand) / 8;
  memset(memory, 0, LANE_CASES_MEMORY_BYTES);
  for (uint32_t row = 0; row < 3; ++row) {
    for (uint32_t i = 0; i < LANE_CASES_COUNT; ++i) {
      uint64_t number = lane_cases_number(c->operand, &state);
      if (c->op == HLO_VIR_scale && row == 1 && i % 4) number = lane_cases_exponent(c->operand, i);
      memcpy(memory + row * LANE_CASES_ROOM_BYTES + i * bytes, &number, bytes);
    }
  }
}

// ---- functions ---------------------------------------------------------------------------------

static bool lane_cases_is_float(hlo_vir_elem_t elem) {
  return elem == HLO_VIR_F32 || elem == HLO_VIR_F64;
}

static hlo_vir_value_t* lane_cases_load(hlo_vir_builder_t* b, const lane_case_t* c, uint32_t lanes,
                                        hlo_vir_value_t* i, uint32_t row) {
  hlo_vir_value_t* operands[] = {hlo_vir_param(b, 1), i};
  uint32_t scale = (uint32_t)__builtin_ctz(hlo_vir_elem_bits(c->operand) / 8);
  return hlo_vir_emit(b, HLO_VIR_load, hlo_vir_type(c->operand, lanes), scale,
                      (int64_t)row * LANE_CASES_ROOM_BYTES, 2, operands);
}

// Replaces every NaN by the same one.
static hlo_vir_value_t* lane_cases_clean(hlo_vir_builder_t* b, hlo_vir_value_t* value) {
  if (!lane_cases_is_float((hlo_vir_elem_t)value->type.elem)) return value;
  uint64_t nan = value->type.elem == HLO_VIR_F32 ? 0x7fc00000 : UINT64_C(0x7ff8000000000000);
  hlo_vir_value_t* is_nan = hlo_vir_compare(b, HLO_VIR_fcmp, HLO_VIR_UNORDERED, value, value);
  return hlo_vir_ternary(b, HLO_VIR_select, is_nan, hlo_vir_const_bits(b, value->type, nan), value);
}

// The same for f16.
static hlo_vir_value_t* lane_cases_clean_halves(hlo_vir_builder_t* b, hlo_vir_value_t* value) {
  hlo_vir_value_t* size =
      hlo_vir_binary(b, HLO_VIR_and, value, hlo_vir_const_bits(b, value->type, 0x7fff));
  hlo_vir_value_t* is_nan = hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_GT, size,
                                            hlo_vir_const_bits(b, value->type, 0x7c00));
  return hlo_vir_ternary(b, HLO_VIR_select, is_nan, hlo_vir_const_bits(b, value->type, 0x7e00),
                         value);
}

// Clamps to [-5000, 5000]; NaN is kept.
static hlo_vir_value_t* lane_cases_finite(hlo_vir_builder_t* b, hlo_vir_value_t* value) {
  value = hlo_vir_binary(b, HLO_VIR_fmax, hlo_vir_const_float(b, value->type, -5000), value);
  return hlo_vir_binary(b, HLO_VIR_fmin, hlo_vir_const_float(b, value->type, 5000), value);
}

static bool lane_cases_divides(hlo_vir_opcode_t op) {
  return op == HLO_VIR_sdiv || op == HLO_VIR_srem || op == HLO_VIR_udiv || op == HLO_VIR_urem;
}

// Emits the op on its loaded operands; a mask operand is a comparison of a with b.
static hlo_vir_value_t* lane_cases_op(hlo_vir_builder_t* b, const lane_case_t* c, uint32_t lanes,
                                      hlo_vir_value_t* i) {
  hlo_vir_value_t* operands[3];
  uint32_t count = hlo_vir_opcode_operand_count(c->op);
  for (uint32_t k = 0; k < 3; ++k) operands[k] = lane_cases_load(b, c, lanes, i, k);
  hlo_vir_type_t type = hlo_vir_type(c->result, lanes);
  hlo_vir_opcode_t compare = lane_cases_is_float(c->operand) ? HLO_VIR_fcmp : HLO_VIR_scmp;
  if (c->op == HLO_VIR_select) {
    operands[0] = hlo_vir_compare(b, compare, HLO_VIR_LE, operands[1], operands[0]);
  } else if (hlo_vir_opcode_class(c->op) == HLO_VIR_MASK_OP) {
    operands[1] = hlo_vir_compare(b, compare, HLO_VIR_GT, operands[1], operands[2]);
    operands[0] = hlo_vir_compare(b, compare, HLO_VIR_LT, operands[0], operands[2]);
  } else if (lane_cases_divides(c->op)) {
    operands[1] =
        hlo_vir_binary(b, HLO_VIR_and, operands[1], hlo_vir_const_bits(b, operands[1]->type, 0x7d));
    operands[1] =
        hlo_vir_binary(b, HLO_VIR_or, operands[1], hlo_vir_const_bits(b, operands[1]->type, 1));
  } else if (c->op == HLO_VIR_scale) {
    operands[1] = lane_cases_finite(b, operands[1]);
  } else if (c->op == HLO_VIR_f32_to_half) {
    operands[0] = lane_cases_clean(b, operands[0]);
  }
  hlo_vir_value_t* result = hlo_vir_emit(b, c->op, type, 0, c->imm, count, operands);
  bool is_half = hlo_vir_opcode_class(c->op) == HLO_VIR_HALF;
  return is_half ? lane_cases_clean_halves(b, result) : result;
}

/// Creates the function of a case, with as many lanes as fit the vector (division: one).
static inline hlo_vir_func_t* lane_cases_func(hlo_vir_module_t* module, const lane_case_t* c,
                                              uint32_t vector_bytes) {
  hlo_vir_builder_t b;
  uint32_t bits = hlo_vir_elem_bits(c->operand), result_bits = hlo_vir_elem_bits(c->result);
  uint32_t lanes = vector_bytes * 8 / (bits > result_bits ? bits : result_bits);
  if (lane_cases_divides(c->op)) lanes = 1;
  hlo_vir_func_t* func = hlo_vir_func_create(module, hlo_vir_opcode_name(c->op), 3, false);
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* i =
      hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), hlo_vir_iconst(&b, LANE_CASES_COUNT), lanes, 0);
  hlo_vir_value_t* result = lane_cases_op(&b, c, lanes, i);
  if (result->type.elem == HLO_VIR_MASK) {
    hlo_vir_type_t type = hlo_vir_type(HLO_VIR_I8 + __builtin_ctz(bits / 8), lanes);
    result = hlo_vir_ternary(&b, HLO_VIR_select, result, hlo_vir_const_bits(&b, type, 1),
                             hlo_vir_const_bits(&b, type, 0));
  } else if (hlo_vir_opcode_class(c->op) != HLO_VIR_BITS && c->op != HLO_VIR_bitcast) {
    result = lane_cases_clean(&b, result);
  }
  uint32_t scale =
      (uint32_t)__builtin_ctz(hlo_vir_elem_bits((hlo_vir_elem_t)result->type.elem) / 8);
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), scale, 3 * LANE_CASES_ROOM_BYTES,
               3, (hlo_vir_value_t*[]){result, hlo_vir_param(&b, 1), i});
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
  return func;
}

// ---- enumeration -------------------------------------------------------------------------------

static bool lane_cases_converts(hlo_vir_opcode_t op, hlo_vir_elem_t to, hlo_vir_elem_t from) {
  uint32_t to_bits = hlo_vir_elem_bits(to), from_bits = hlo_vir_elem_bits(from);
  bool to_float = lane_cases_is_float(to), from_float = lane_cases_is_float(from);
  bool ints = !to_float && !from_float;
  switch (op) {
    case HLO_VIR_bitcast: return to_bits == from_bits && to != from;
    case HLO_VIR_sext:
    case HLO_VIR_zext: return ints && to_bits > from_bits;
    case HLO_VIR_trunc: return ints && to_bits < from_bits;
    case HLO_VIR_fext: return to == HLO_VIR_F64 && from == HLO_VIR_F32;
    case HLO_VIR_ftrunc: return to == HLO_VIR_F32 && from == HLO_VIR_F64;
    case HLO_VIR_stof:
    case HLO_VIR_utof: return to_float && !from_float && from_bits >= 32;
    case HLO_VIR_ftos:
    case HLO_VIR_ftou: return from_float && !to_float && to_bits >= 32;
    case HLO_VIR_half_to_f32: return to == HLO_VIR_F32 && from == HLO_VIR_I16;
    default: return to == HLO_VIR_I16 && from == HLO_VIR_F32;
  }
}

// Returns true if the op has operands of the element.
static bool lane_cases_takes(hlo_vir_opcode_t op, hlo_vir_elem_t elem) {
  switch (hlo_vir_opcode_class(op)) {
    case HLO_VIR_FLOAT: return lane_cases_is_float(elem);
    case HLO_VIR_DOT: return elem == hlo_vir_dot_elem(op);
    case HLO_VIR_HALF: return elem == HLO_VIR_I16;
    case HLO_VIR_INT: return !lane_cases_is_float(elem);
    case HLO_VIR_COMPARE: return (op == HLO_VIR_fcmp) == lane_cases_is_float(elem);
    default: return true;
  }
}

// Returns the number of immediates of an op on an element, and the first one.
static uint32_t lane_cases_imms(hlo_vir_opcode_t op, hlo_vir_elem_t elem, int64_t* out_first) {
  *out_first = op == HLO_VIR_rotli;
  switch (op) {
    case HLO_VIR_fround: return HLO_VIR_TOWARD_ZERO + 1;
    case HLO_VIR_fcmp: return HLO_VIR_ORDERED + 1;
    case HLO_VIR_scmp:
    case HLO_VIR_ucmp: return HLO_VIR_GE + 1;
    case HLO_VIR_shli:
    case HLO_VIR_lshri:
    case HLO_VIR_ashri: return hlo_vir_elem_bits(elem);
    case HLO_VIR_rotli: return hlo_vir_elem_bits(elem) - 1;
    default: return 1;
  }
}

/// Calls `visit` for every case; for shifts by a constant with a few counts.
static inline void lane_cases_each(void (*visit)(const lane_case_t* c, void* context),
                                   void* context) {
  for (hlo_vir_opcode_t op = HLO_VIR_fadd; op < HLO_VIR_OPCODE_COUNT; ++op) {
    bool is_mask =
        hlo_vir_opcode_class(op) == HLO_VIR_MASK_OP || hlo_vir_opcode_class(op) == HLO_VIR_COMPARE;
    bool is_convert = hlo_vir_opcode_class(op) == HLO_VIR_CONVERT;
    for (hlo_vir_elem_t from = HLO_VIR_I8; from <= HLO_VIR_F64; ++from) {
      if (!lane_cases_takes(op, from)) continue;
      int64_t first;
      uint32_t count = lane_cases_imms(op, from, &first);
      for (uint32_t i = 0; i<count; i += count> 8 ? count / 4 : 1) {
        lane_case_t c = {op, is_mask ? HLO_VIR_MASK : from, from, first + i};
        if (!is_convert) visit(&c, context);
      }
      for (hlo_vir_elem_t to = HLO_VIR_I8; is_convert && to <= HLO_VIR_F64; ++to) {
        lane_case_t c = {op, to, from, 0};
        if (lane_cases_converts(op, to, from)) visit(&c, context);
      }
    }
  }
}
