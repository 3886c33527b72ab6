// SPDX-License-Identifier: Apache-2.0
// Random functions of the vector IR, for tests that compare two ways of running them. For tests
// only. Every function works on one block of RANDOM_VIR_MEMORY_BYTES: the lower half is read-only,
// all accesses are inside, no operation is undefined, and the bits of a NaN never reach memory,
// integers or control flow, so equal programs leave equal bytes.
//
// A chunk function takes (frame, block, index). An entry function finds the block in
// frame->buffers[0] and suspends at random positions, inside loops as well.
#include <string.h>

#include "base/program_abi.h"
#include "codegen/vir/builder.h"

enum {
  RANDOM_VIR_MEMORY_BYTES = 16384,
  RANDOM_VIR_HALF_BYTES = RANDOM_VIR_MEMORY_BYTES / 2,
  RANDOM_VIR_MAX_VALUES = 512,
  RANDOM_VIR_MAX_DEPTH = 3,
  RANDOM_VIR_STACK_BYTES = 256,
};

typedef struct random_vir_options {
  uint32_t vector_bytes;     // of the widest vector
  uint32_t max_lanes;        // 0: as many as fit
  uint32_t statement_count;  // approximate number of instructions
  bool is_entry;
  bool has_calls;  // to the runtime's call_library, with any four words
  bool is_plain;   // hlo_vir_builder_t::is_plain
  bool has_permute_pair;
  bool has_dots;    // includes DOT ops
  bool has_halves;  // includes HALF ops
  bool has_scale;   // includes `scale`
  /// Returns true if an op of this result and operand element may be used; NULL: all. For back ends
  /// that lack some.
  bool (*accepts)(hlo_vir_opcode_t op, hlo_vir_type_t result, hlo_vir_elem_t operand);
} random_vir_options_t;

typedef struct random_vir {
  hlo_vir_builder_t b;
  random_vir_options_t options;
  uint64_t state;
  uint32_t lanes;  // of most vectors
  uint32_t depth, value_count, statements_left;
  uint32_t loops;  // open ones that break_if may leave
  int64_t resume_point;
  hlo_vir_value_t *frame, *memory, *stack;
  hlo_vir_value_t* values[RANDOM_VIR_MAX_VALUES];  // usable values, vars included
} random_vir_t;

static uint32_t random_vir_below(random_vir_t* r, uint32_t limit) {
  r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(((r->state >> 32) * limit) >> 32);
}

static uint64_t random_vir_word(random_vir_t* r) {
  uint64_t high = random_vir_below(r, UINT32_MAX);
  return high << 32 | random_vir_below(r, UINT32_MAX);
}

static const hlo_vir_type_t random_vir_index = {HLO_VIR_INDEX, 1};
static const hlo_vir_type_t random_vir_void = {HLO_VIR_VOID, 0};

static bool random_vir_is_float(uint32_t elem) {
  return elem == HLO_VIR_F32 || elem == HLO_VIR_F64;
}

static void random_vir_keep(random_vir_t* r, hlo_vir_value_t* value) {
  bool is_full = r->value_count == RANDOM_VIR_MAX_VALUES;
  r->values[is_full ? random_vir_below(r, RANDOM_VIR_MAX_VALUES) : r->value_count++] = value;
}

static bool random_vir_accepts(const random_vir_t* r, hlo_vir_opcode_t op, hlo_vir_type_t type,
                               hlo_vir_elem_t operand) {
  return !r->options.accepts || r->options.accepts(op, type, operand);
}

// Returns a usable value of the type, or NULL.
static hlo_vir_value_t* random_vir_known(random_vir_t* r, hlo_vir_type_t type) {
  uint32_t start = r->value_count ? random_vir_below(r, r->value_count) : 0;
  for (uint32_t i = 0; i < r->value_count; ++i) {
    hlo_vir_value_t* value = r->values[(start + i) % r->value_count];
    if (hlo_vir_type_equal(value->type, type)) return value;
  }
  return NULL;
}

// ---- operands ----------------------------------------------------------------------------------

static hlo_vir_value_t* random_vir_iconst(random_vir_t* r, int64_t value) {
  return hlo_vir_iconst(&r->b, value);
}

// Returns bits: mostly set or clear, small numbers, numbers near the limits, anything.
static uint64_t random_vir_bits(random_vir_t* r, hlo_vir_elem_t elem) {
  static const float floats[] = {0.0f,  -0.0f, 1.0f,   -1.5f,   3e38f,   1e-45f,
                                 1e10f, 0.5f,  -2e-3f, 255.75f, 65504.f, -7.0f};
  if (random_vir_is_float(elem) && random_vir_below(r, 4)) {
    float narrow = floats[random_vir_below(r, 12)];
    double wide = narrow;
    uint64_t bits = 0;
    memcpy(&bits, elem == HLO_VIR_F32 ? (void*)&narrow : (void*)&wide, elem == HLO_VIR_F32 ? 4 : 8);
    return bits;
  }
  switch (random_vir_below(r, 3)) {
    case 0: return random_vir_below(r, 16);
    case 1: return UINT64_MAX - random_vir_below(r, 4);
    default: return random_vir_word(r);
  }
}

// Returns a usable INDEX, sometimes a constant.
static hlo_vir_value_t* random_vir_want_index(random_vir_t* r) {
  hlo_vir_value_t* value = random_vir_below(r, 8) ? random_vir_known(r, random_vir_index) : NULL;
  return value ? value : random_vir_iconst(r, (int64_t)random_vir_below(r, 100) - 20);
}

// Returns an INDEX from 0 to mask, which is all ones.
static hlo_vir_value_t* random_vir_bounded(random_vir_t* r, int64_t mask) {
  return hlo_vir_index(&r->b, HLO_VIR_iand, random_vir_want_index(r), random_vir_iconst(r, mask));
}

static hlo_vir_value_t* random_vir_want(random_vir_t* r, hlo_vir_type_t type);

static hlo_vir_value_t* random_vir_want_mask(random_vir_t* r, uint32_t lanes) {
  hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, lanes);
  hlo_vir_value_t* value = random_vir_known(r, type);
  if (value) return value;
  if (random_vir_below(r, 4) == 0) {
    uint64_t bits = random_vir_word(r) & (UINT64_MAX >> (64 - lanes));
    return hlo_vir_emit(&r->b, HLO_VIR_mask_const, type, 0, (int64_t)bits, 0, NULL);
  }
  hlo_vir_value_t* count = random_vir_want_index(r);
  return hlo_vir_emit(&r->b, HLO_VIR_mask_first, type, 0, 0, 1, &count);
}

// The operands of a memory op: base and optional index, flags and displacement, such that `bytes`
// from there are inside the block (writes: in the upper half).
typedef struct random_vir_address {
  hlo_vir_value_t *base, *index;
  uint32_t flags;
  int64_t imm;
} random_vir_address_t;

static random_vir_address_t random_vir_address(random_vir_t* r, bool is_write) {
  random_vir_address_t address = {.base = r->memory, .flags = random_vir_below(r, 4)};
  address.imm = random_vir_below(r, 1024) + (is_write ? RANDOM_VIR_HALF_BYTES : 0);
  if (random_vir_below(r, 3)) address.index = random_vir_bounded(r, 511);
  if (!is_write && random_vir_below(r, 3) == 0) address.imm += RANDOM_VIR_HALF_BYTES;
  if (!is_write && address.imm < 1024 && random_vir_below(r, 2)) address.flags |= HLO_VIR_INVARIANT;
  if (r->stack && !address.index && random_vir_below(r, 8) == 0) {
    address.base = r->stack;
    address.imm = random_vir_below(r, RANDOM_VIR_STACK_BYTES - 64);
    address.flags &= ~(uint32_t)HLO_VIR_INVARIANT;
  }
  return address;
}

static hlo_vir_value_t* random_vir_load(random_vir_t* r, hlo_vir_type_t type) {
  random_vir_address_t at = random_vir_address(r, false);
  hlo_vir_value_t* mask = random_vir_below(r, 3) ? NULL : random_vir_want_mask(r, type.lanes);
  hlo_vir_type_t offsets =
      hlo_vir_type(random_vir_below(r, 3) ? HLO_VIR_I32 : HLO_VIR_I64, type.lanes);
  hlo_vir_value_t* operands[] = {at.base, at.index, mask};
  uint32_t kind = random_vir_below(r, 5);
  if (kind == 0)
    return hlo_vir_emit(&r->b, HLO_VIR_load_splat, type, at.flags, at.imm, 2, operands);
  if (kind == 1 && at.base == r->memory &&
      hlo_vir_elem_bits((hlo_vir_elem_t)offsets.elem) / 8 * type.lanes <= r->options.vector_bytes &&
      random_vir_accepts(r, HLO_VIR_gather, type, (hlo_vir_elem_t)offsets.elem)) {
    operands[1] = hlo_vir_binary(&r->b, HLO_VIR_and, random_vir_want(r, offsets),
                                 hlo_vir_const_bits(&r->b, offsets, 511));
    return hlo_vir_emit(&r->b, HLO_VIR_gather, type, at.flags, at.imm, 3, operands);
  }
  return hlo_vir_emit(&r->b, HLO_VIR_load, type, at.flags, at.imm, 3, operands);
}

// Returns a value of the type: a usable one, a load, sometimes a constant.
static hlo_vir_value_t* random_vir_want(random_vir_t* r, hlo_vir_type_t type) {
  if (type.elem == HLO_VIR_INDEX) return random_vir_want_index(r);
  if (type.elem == HLO_VIR_MASK) return random_vir_want_mask(r, type.lanes);
  hlo_vir_value_t* value = random_vir_below(r, 4) ? random_vir_known(r, type) : NULL;
  if (value) return value;
  if (random_vir_below(r, 5)) {
    value = random_vir_load(r, type);
    random_vir_keep(r, value);
    return value;
  }
  return hlo_vir_const_bits(&r->b, type, random_vir_bits(r, (hlo_vir_elem_t)type.elem));
}

// Replaces every NaN of the value by the same one.
static hlo_vir_value_t* random_vir_clean(random_vir_t* r, hlo_vir_value_t* value) {
  if (!random_vir_is_float(value->type.elem)) return value;
  uint64_t nan = value->type.elem == HLO_VIR_F32 ? 0x7fc00000 : UINT64_C(0x7ff8000000000000);
  hlo_vir_value_t* is_nan = hlo_vir_compare(&r->b, HLO_VIR_fcmp, HLO_VIR_UNORDERED, value, value);
  return hlo_vir_ternary(&r->b, HLO_VIR_select, is_nan, hlo_vir_const_bits(&r->b, value->type, nan),
                         value);
}

static hlo_vir_type_t random_vir_vector_type(random_vir_t* r, hlo_vir_elem_t first,
                                             hlo_vir_elem_t last) {
  hlo_vir_elem_t elem = first + random_vir_below(r, (uint32_t)(last - first) + 1);
  uint32_t most = r->options.vector_bytes * 8 / hlo_vir_elem_bits(elem);
  if (r->options.max_lanes && most > r->options.max_lanes) most = r->options.max_lanes;
  uint32_t lanes = r->lanes < most ? r->lanes : most;
  switch (random_vir_below(r, 12)) {
    case 0: lanes = 1; break;
    case 1: lanes = most >> random_vir_below(r, 4); break;
    case 2: lanes = most; break;
    default: break;
  }
  return hlo_vir_type(elem, lanes ? lanes : 1);
}

// ---- statements --------------------------------------------------------------------------------

static void random_vir_store(random_vir_t* r, hlo_vir_value_t* value) {
  hlo_vir_type_t type = value->type;
  value = random_vir_clean(r, value);
  random_vir_address_t at = random_vir_address(r, true);
  hlo_vir_value_t* mask = random_vir_below(r, 3) ? NULL : random_vir_want_mask(r, type.lanes);
  hlo_vir_value_t* operands[] = {value, at.base, at.index, mask};
  hlo_vir_type_t offsets =
      hlo_vir_type(random_vir_below(r, 2) ? HLO_VIR_I32 : HLO_VIR_I64, type.lanes);
  if (random_vir_below(r, 4) == 0 && at.base == r->memory &&
      hlo_vir_elem_bits((hlo_vir_elem_t)offsets.elem) / 8 * type.lanes <= r->options.vector_bytes &&
      random_vir_accepts(r, HLO_VIR_scatter, type, (hlo_vir_elem_t)offsets.elem)) {
    operands[2] = hlo_vir_binary(&r->b, HLO_VIR_and, random_vir_want(r, offsets),
                                 hlo_vir_const_bits(&r->b, offsets, 511));
    hlo_vir_emit(&r->b, HLO_VIR_scatter, random_vir_void, at.flags, at.imm, 4, operands);
    return;
  }
  hlo_vir_emit(&r->b, HLO_VIR_store, random_vir_void, at.flags, at.imm, 4, operands);
}

// Swaps an aligned integer, which often is the expected one.
static void random_vir_swap(random_vir_t* r) {
  random_vir_address_t at = random_vir_address(r, true);
  const uint32_t width = random_vir_below(r, 4);
  const uint32_t flags =
      (random_vir_below(r, 2) ? HLO_VIR_UNSIGNED : 0) | width << HLO_VIR_WIDTH_SHIFT | width;
  at.imm &= ~INT64_C(7);
  hlo_vir_value_t* place[] = {at.base, at.index};
  hlo_vir_value_t* expected = random_vir_below(r, 2)
                                  ? random_vir_want_index(r)
                                  : hlo_vir_emit(&r->b, HLO_VIR_iload, random_vir_index,
                                                 flags ^ HLO_VIR_UNSIGNED, at.imm, 2, place);
  hlo_vir_value_t* operands[] = {expected, random_vir_want_index(r), at.base, at.index};
  random_vir_keep(r,
                  hlo_vir_emit(&r->b, HLO_VIR_icas, random_vir_index, flags, at.imm, 4, operands));
}

static void random_vir_index_memory(random_vir_t* r) {
  bool is_write = random_vir_below(r, 2) == 0;
  if (is_write && r->options.max_lanes != 1 && random_vir_below(r, 4) == 0) {
    random_vir_swap(r);
    return;
  }
  random_vir_address_t at = random_vir_address(r, is_write);
  at.flags |= random_vir_below(r, 4) << HLO_VIR_WIDTH_SHIFT;
  if (is_write) {
    hlo_vir_value_t* operands[] = {random_vir_want_index(r), at.base, at.index};
    hlo_vir_emit(&r->b, HLO_VIR_istore, random_vir_void, at.flags, at.imm, 3, operands);
    return;
  }
  if (random_vir_below(r, 2)) at.flags |= HLO_VIR_UNSIGNED;
  hlo_vir_value_t* operands[] = {at.base, at.index};
  random_vir_keep(
      r, hlo_vir_emit(&r->b, HLO_VIR_iload, random_vir_index, at.flags, at.imm, 2, operands));
  hlo_vir_emit(&r->b, HLO_VIR_prefetch, random_vir_void, 0, at.imm, 2, operands);
}

static hlo_vir_value_t* random_vir_index_op(random_vir_t* r) {
  hlo_vir_builder_t* b = &r->b;
  hlo_vir_opcode_t op = HLO_VIR_iadd + random_vir_below(r, HLO_VIR_iselect - HLO_VIR_iadd + 1);
  hlo_vir_value_t *x = random_vir_want_index(r), *y = random_vir_want_index(r);
  switch (op) {
    case HLO_VIR_idiv:
    case HLO_VIR_irem:
      x = hlo_vir_index(b, HLO_VIR_iand, x, random_vir_iconst(r, INT64_MAX));
      y = random_vir_below(r, 2)
              ? random_vir_iconst(r, 1 + random_vir_below(r, 40))
              : hlo_vir_index(b, HLO_VIR_ior, random_vir_bounded(r, 255), random_vir_iconst(r, 1));
      return hlo_vir_index(b, op, x, y);
    case HLO_VIR_ishl:
    case HLO_VIR_ishr:
      return hlo_vir_emit(b, op, random_vir_index, 0, random_vir_below(r, 64), 1, &x);
    case HLO_VIR_isext:
      return hlo_vir_emit(b, op, random_vir_index, 0, 8 << random_vir_below(r, 3), 1, &x);
    case HLO_VIR_icmp: return hlo_vir_icmp(b, random_vir_below(r, HLO_VIR_GE + 1), x, y);
    case HLO_VIR_iselect:
      return hlo_vir_emit(b, op, random_vir_index, 0, 0, 3,
                          (hlo_vir_value_t*[]){random_vir_bounded(r, 1), x, y});
    default: return hlo_vir_index(b, op, x, y);
  }
}

static hlo_vir_value_t* random_vir_halves(random_vir_t* r, hlo_vir_opcode_t op,
                                          hlo_vir_type_t type) {
  hlo_vir_type_t half = hlo_vir_type((hlo_vir_elem_t)type.elem, type.lanes / 2);
  if (type.lanes < 2) return NULL;
  if (op == HLO_VIR_zip_low || op == HLO_VIR_zip_high) {
    uint32_t part =
        type.elem == HLO_VIR_MASK ? 0 : 128 / hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
    if (part >= type.lanes || random_vir_below(r, 2)) part = 0;
    hlo_vir_value_t* pair[] = {random_vir_want(r, type), random_vir_want(r, type)};
    return hlo_vir_emit(&r->b, op, type, 0, part, 2, pair);
  }
  if (op != HLO_VIR_join) {
    hlo_vir_value_t* x = random_vir_want(r, type);
    return hlo_vir_emit(&r->b, op, half, 0, 0, 1, &x);
  }
  hlo_vir_value_t* operands[] = {random_vir_want(r, half), random_vir_want(r, half)};
  return hlo_vir_emit(&r->b, op, type, 0, 0, 2, operands);
}

static hlo_vir_value_t* random_vir_permute(random_vir_t* r, hlo_vir_type_t type) {
  static const hlo_vir_elem_t ints[] = {
      [1] = HLO_VIR_I8, [2] = HLO_VIR_I16, [4] = HLO_VIR_I32, [8] = HLO_VIR_I64};
  hlo_vir_type_t table =
      hlo_vir_type(ints[hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8], type.lanes);
  hlo_vir_value_t* lanes = random_vir_below(r, 2)
                               ? hlo_vir_emit(&r->b, HLO_VIR_lane_iota, table, 0, 0, 0, NULL)
                               : random_vir_want(r, table);
  uint32_t part = 128 / hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  if (part >= type.lanes || random_vir_below(r, 2)) part = 0;
  const uint32_t count = part ? part : type.lanes;
  lanes = hlo_vir_binary(&r->b, HLO_VIR_xor, lanes,
                         hlo_vir_const_bits(&r->b, table, random_vir_below(r, count)));
  lanes = hlo_vir_binary(&r->b, HLO_VIR_and, lanes, hlo_vir_const_bits(&r->b, table, count - 1u));
  return hlo_vir_emit(&r->b, HLO_VIR_permute, type, 0, part, 2,
                      (hlo_vir_value_t*[]){random_vir_want(r, type), lanes});
}

static hlo_vir_value_t* random_vir_recast(random_vir_t* r, hlo_vir_type_t type) {
  const hlo_vir_elem_t elem =
      (hlo_vir_elem_t)(HLO_VIR_I8 + random_vir_below(r, HLO_VIR_F64 - HLO_VIR_I8 + 1));
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) * type.lanes;
  if (r->options.max_lanes == 1) return NULL;
  if (bits < hlo_vir_elem_bits(elem) || bits / hlo_vir_elem_bits(elem) > HLO_VIR_MAX_LANES)
    return NULL;
  hlo_vir_value_t* x = random_vir_want(r, type);
  return hlo_vir_emit(&r->b, HLO_VIR_recast, hlo_vir_type(elem, bits / hlo_vir_elem_bits(elem)), 0,
                      0, 1, &x);
}

static hlo_vir_value_t* random_vir_cross_op(random_vir_t* r) {
  hlo_vir_builder_t* b = &r->b;
  hlo_vir_opcode_t op =
      HLO_VIR_lane_iota + random_vir_below(r, HLO_VIR_permute_pair - HLO_VIR_lane_iota + 1);
  hlo_vir_type_t type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64);
  hlo_vir_type_t one = hlo_vir_type((hlo_vir_elem_t)type.elem, 1);
  if (random_vir_is_float(type.elem) &&
      (op == HLO_VIR_lane_iota || op == HLO_VIR_splat_index || op == HLO_VIR_to_index)) {
    type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_I64);
    one.elem = type.elem;
  }
  hlo_vir_value_t* x;
  if (!random_vir_accepts(r, op, type, (hlo_vir_elem_t)type.elem)) return NULL;
  switch (op) {
    case HLO_VIR_lane_iota: return hlo_vir_emit(b, op, type, 0, 0, 0, NULL);
    case HLO_VIR_splat: x = random_vir_want(r, one); return hlo_vir_emit(b, op, type, 0, 0, 1, &x);
    case HLO_VIR_splat_index:
      x = random_vir_want_index(r);
      return hlo_vir_emit(b, op, type, 0, 0, 1, &x);
    case HLO_VIR_to_index:
      x = random_vir_want(r, one);
      return hlo_vir_emit(b, op, random_vir_index, random_vir_below(r, 2) ? HLO_VIR_UNSIGNED : 0, 0,
                          1, &x);
    case HLO_VIR_mask_first:
      x = random_vir_want_index(r);
      return hlo_vir_emit(b, op, hlo_vir_type(HLO_VIR_MASK, type.lanes), 0, 0, 1, &x);
    case HLO_VIR_mask_bits:
      x = random_vir_want_mask(r, type.lanes);
      return hlo_vir_emit(b, op, random_vir_index, 0, 0, 1, &x);
    case HLO_VIR_slide_up:
      return hlo_vir_unary_imm(b, op, random_vir_want(r, type),
                               random_vir_below(r, type.lanes + 2u));
    case HLO_VIR_permute: return random_vir_permute(r, type);
    case HLO_VIR_recast: return random_vir_recast(r, type);
    case HLO_VIR_permute_pair: {
      if (!r->options.has_permute_pair) return NULL;
      type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_I8);
      if (type.lanes < 16) return NULL;
      hlo_vir_value_t* three[] = {random_vir_want(r, type), random_vir_want(r, type),
                                  random_vir_want(r, type)};
      return hlo_vir_emit(b, op, type, 0, 0, 3, three);
    }
    default: return random_vir_halves(r, op, type);
  }
}

// Returns the result type of a conversion from `from`; VOID if there is no conversion.
static hlo_vir_type_t random_vir_convert_type(random_vir_t* r, hlo_vir_opcode_t op,
                                              hlo_vir_type_t from) {
  hlo_vir_type_t to = {random_vir_below(r, HLO_VIR_F64 - HLO_VIR_I8 + 1) + HLO_VIR_I8, from.lanes};
  uint32_t to_bits = hlo_vir_elem_bits((hlo_vir_elem_t)to.elem);
  uint32_t from_bits = hlo_vir_elem_bits((hlo_vir_elem_t)from.elem);
  bool to_float = random_vir_is_float(to.elem), from_float = random_vir_is_float(from.elem), fits;
  switch (op) {
    case HLO_VIR_bitcast: fits = to_bits == from_bits; break;
    case HLO_VIR_sext:
    case HLO_VIR_zext: fits = !to_float && !from_float && to_bits > from_bits; break;
    case HLO_VIR_trunc: fits = !to_float && !from_float && to_bits < from_bits; break;
    case HLO_VIR_fext: fits = to.elem == HLO_VIR_F64 && from.elem == HLO_VIR_F32; break;
    case HLO_VIR_ftrunc: fits = to.elem == HLO_VIR_F32 && from.elem == HLO_VIR_F64; break;
    case HLO_VIR_stof:
    case HLO_VIR_utof: fits = to_float && !from_float && from_bits >= 32; break;
    case HLO_VIR_ftos:
    case HLO_VIR_ftou: fits = from_float && !to_float && to_bits >= 32; break;
    case HLO_VIR_half_to_f32: fits = to.elem == HLO_VIR_F32 && from.elem == HLO_VIR_I16; break;
    default: fits = to.elem == HLO_VIR_I16 && from.elem == HLO_VIR_F32; break;
  }
  return fits && to_bits / 8 * to.lanes <= r->options.vector_bytes ? to : random_vir_void;
}

static hlo_vir_value_t* random_vir_convert(random_vir_t* r, hlo_vir_opcode_t op) {
  for (int tries = 0; tries < 30; ++tries) {
    hlo_vir_type_t from = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64);
    hlo_vir_type_t to = random_vir_convert_type(r, op, from);
    if (to.elem == HLO_VIR_VOID || !random_vir_accepts(r, op, to, (hlo_vir_elem_t)from.elem))
      continue;
    hlo_vir_value_t* x = random_vir_want(r, from);
    if (op == HLO_VIR_bitcast || op == HLO_VIR_f32_to_half) x = random_vir_clean(r, x);
    return hlo_vir_convert(&r->b, op, (hlo_vir_elem_t)to.elem, x);
  }
  return NULL;
}

static hlo_vir_value_t* random_vir_int_op(random_vir_t* r, hlo_vir_opcode_t op,
                                          hlo_vir_type_t type) {
  hlo_vir_builder_t* b = &r->b;
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  switch (op) {
    case HLO_VIR_sdiv:
    case HLO_VIR_srem:
    case HLO_VIR_udiv:
    case HLO_VIR_urem: {
      type.lanes = 1;
      hlo_vir_value_t* y =
          hlo_vir_binary(b, HLO_VIR_and, random_vir_want(r, type), hlo_vir_const_bits(b, type, 63));
      y = hlo_vir_binary(b, HLO_VIR_or, y, hlo_vir_const_bits(b, type, 1));
      return hlo_vir_binary(b, op, random_vir_want(r, type), y);
    }
    case HLO_VIR_shli:
    case HLO_VIR_lshri:
    case HLO_VIR_ashri:
      return hlo_vir_unary_imm(b, op, random_vir_want(r, type), random_vir_below(r, bits));
    case HLO_VIR_rotli:
      return hlo_vir_unary_imm(b, op, random_vir_want(r, type), 1 + random_vir_below(r, bits - 1));
    case HLO_VIR_shl:
    case HLO_VIR_lshr:
    case HLO_VIR_ashr:
      if (random_vir_below(r, 2)) break;
      return hlo_vir_binary(b, op, random_vir_want(r, type),
                            hlo_vir_binary(b, HLO_VIR_and, random_vir_want(r, type),
                                           hlo_vir_const_bits(b, type, bits - 1)));
    case HLO_VIR_popcount:
    case HLO_VIR_clz: return hlo_vir_unary(b, op, random_vir_want(r, type));
    default: break;
  }
  return hlo_vir_binary(b, op, random_vir_want(r, type), random_vir_want(r, type));
}

static hlo_vir_value_t* random_vir_float_op(random_vir_t* r, hlo_vir_opcode_t op,
                                            hlo_vir_type_t type) {
  hlo_vir_value_t* x = random_vir_want(r, type);
  if (op == HLO_VIR_fround) return hlo_vir_unary_imm(&r->b, op, x, random_vir_below(r, 4));
  if (op == HLO_VIR_scale) {
    hlo_vir_value_t* most = hlo_vir_const_float(&r->b, type, 1000);
    hlo_vir_value_t* by = hlo_vir_binary(&r->b, HLO_VIR_fmin, random_vir_want(r, type), most);
    by = hlo_vir_binary(&r->b, HLO_VIR_fmax, by, hlo_vir_const_float(&r->b, type, -1000));
    return hlo_vir_binary(&r->b, op, x, by);
  }
  switch (hlo_vir_opcode_operand_count(op)) {
    case 1: return hlo_vir_unary(&r->b, op, x);
    case 2: return hlo_vir_binary(&r->b, op, x, random_vir_want(r, type));
    default:
      return hlo_vir_ternary(&r->b, op, x, random_vir_want(r, type), random_vir_want(r, type));
  }
}

// Without NaN results, whose bits may differ.
static hlo_vir_value_t* random_vir_half_op(random_vir_t* r, hlo_vir_opcode_t op,
                                           hlo_vir_type_t type) {
  hlo_vir_value_t* value = random_vir_float_op(r, op, type);
  hlo_vir_value_t* size =
      hlo_vir_binary(&r->b, HLO_VIR_and, value, hlo_vir_const_bits(&r->b, type, 0x7fff));
  hlo_vir_value_t* is_nan = hlo_vir_compare(&r->b, HLO_VIR_scmp, HLO_VIR_GT, size,
                                            hlo_vir_const_bits(&r->b, type, 0x7c00));
  return hlo_vir_ternary(&r->b, HLO_VIR_select, is_nan, hlo_vir_const_bits(&r->b, type, 0x7e00),
                         value);
}

static hlo_vir_value_t* random_vir_bits_op(random_vir_t* r, hlo_vir_opcode_t op,
                                           hlo_vir_type_t type) {
  hlo_vir_value_t *x = random_vir_want(r, type), *y = random_vir_want(r, type);
  if (op == HLO_VIR_select)
    return hlo_vir_ternary(&r->b, op, random_vir_want_mask(r, type.lanes), x, y);
  return hlo_vir_binary(&r->b, op, random_vir_clean(r, x), random_vir_clean(r, y));
}

static hlo_vir_value_t* random_vir_compare(random_vir_t* r, hlo_vir_opcode_t op) {
  bool is_float = op == HLO_VIR_fcmp;
  hlo_vir_type_t type = is_float ? random_vir_vector_type(r, HLO_VIR_F32, HLO_VIR_F64)
                                 : random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_I64);
  hlo_vir_type_t mask = hlo_vir_type(HLO_VIR_MASK, type.lanes);
  if (!random_vir_accepts(r, op, mask, (hlo_vir_elem_t)type.elem)) return NULL;
  return hlo_vir_compare(&r->b, op,
                         random_vir_below(r, is_float ? HLO_VIR_ORDERED + 1 : HLO_VIR_GE + 1),
                         random_vir_want(r, type), random_vir_want(r, type));
}

static hlo_vir_value_t* random_vir_lane_op(random_vir_t* r) {
  hlo_vir_opcode_t op = HLO_VIR_fadd + random_vir_below(r, HLO_VIR_OPCODE_COUNT - HLO_VIR_fadd);
  hlo_vir_type_t type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64);
  switch (hlo_vir_opcode_class(op)) {
    case HLO_VIR_FLOAT:
      if (op == HLO_VIR_scale && !r->options.has_scale) return NULL;
      type = random_vir_vector_type(r, HLO_VIR_F32, HLO_VIR_F64);
      break;
    case HLO_VIR_INT: type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_I64); break;
    case HLO_VIR_DOT:
      if (!r->options.has_dots) return NULL;
      type = random_vir_vector_type(r, hlo_vir_dot_elem(op), hlo_vir_dot_elem(op));
      break;
    case HLO_VIR_HALF:
      if (!r->options.has_halves) return NULL;
      type = random_vir_vector_type(r, HLO_VIR_I16, HLO_VIR_I16);
      break;
    case HLO_VIR_CONVERT: return random_vir_convert(r, op);
    case HLO_VIR_COMPARE: return random_vir_compare(r, op);
    case HLO_VIR_MASK_OP:
      type.elem = HLO_VIR_MASK;
      if (op == HLO_VIR_mask_not) return hlo_vir_unary(&r->b, op, random_vir_want(r, type));
      return hlo_vir_binary(&r->b, op, random_vir_want(r, type), random_vir_want(r, type));
    default: break;
  }
  if (!random_vir_accepts(r, op, type, (hlo_vir_elem_t)type.elem)) return NULL;
  switch (hlo_vir_opcode_class(op)) {
    case HLO_VIR_HALF: return random_vir_half_op(r, op, type);
    case HLO_VIR_DOT:
    case HLO_VIR_FLOAT: return random_vir_float_op(r, op, type);
    case HLO_VIR_INT: return random_vir_int_op(r, op, type);
    default: return random_vir_bits_op(r, op, type);
  }
}

// ---- control -----------------------------------------------------------------------------------

static void random_vir_statements(random_vir_t* r, uint32_t count);

static void random_vir_body(random_vir_t* r) {
  uint32_t before = r->value_count;
  hlo_vir_value_t* kept[RANDOM_VIR_MAX_VALUES];
  memcpy(kept, r->values, before * sizeof *kept);
  ++r->depth;
  random_vir_statements(r, 2 + random_vir_below(r, 10));
  --r->depth;
  for (uint32_t i = before; i < r->value_count; ++i) {
    if (r->values[i]->type.elem > HLO_VIR_MASK && random_vir_below(r, 2)) {
      random_vir_store(r, r->values[i]);
    }
  }
  memcpy(r->values, kept, before * sizeof *kept);
  r->value_count = before;
}

static void random_vir_for(random_vir_t* r) {
  uint32_t before = r->value_count;
  hlo_vir_value_t* lo = random_vir_below(r, 2) ? random_vir_iconst(r, 0) : random_vir_bounded(r, 3);
  hlo_vir_value_t* hi = random_vir_below(r, 2) ? random_vir_iconst(r, random_vir_below(r, 6))
                                               : random_vir_bounded(r, 7);
  random_vir_keep(r, hlo_vir_begin_for(&r->b, lo, hi, 1 + random_vir_below(r, 3), 0));
  random_vir_body(r);
  hlo_vir_end(&r->b);
  r->value_count = before;
}

static void random_vir_loop(random_vir_t* r) {
  hlo_vir_value_t* var = hlo_vir_var(&r->b, random_vir_iconst(r, 1 + random_vir_below(r, 4)));
  hlo_vir_begin_loop(&r->b);
  uint32_t before = r->value_count;
  ++r->loops;
  if (random_vir_below(r, 2)) random_vir_body(r);
  hlo_vir_set(&r->b, var, hlo_vir_index(&r->b, HLO_VIR_isub, var, random_vir_iconst(r, 1)));
  hlo_vir_break_if(&r->b, hlo_vir_icmp(&r->b, HLO_VIR_LE, var, random_vir_iconst(r, 0)));
  random_vir_body(r);
  --r->loops;
  hlo_vir_end(&r->b);
  r->value_count = before;
}

static void random_vir_if(random_vir_t* r) {
  hlo_vir_begin_if(&r->b, random_vir_bounded(r, 1));
  random_vir_body(r);
  if (random_vir_below(r, 2)) {
    hlo_vir_begin_else(&r->b);
    random_vir_body(r);
  }
  hlo_vir_end(&r->b);
}

static void random_vir_control(random_vir_t* r) {
  if (r->depth >= RANDOM_VIR_MAX_DEPTH || r->value_count > RANDOM_VIR_MAX_VALUES - 4) return;
  switch (random_vir_below(r, 5)) {
    case 0: random_vir_loop(r); break;
    case 1: random_vir_if(r); break;
    case 2:
      if (r->loops) hlo_vir_break_if(&r->b, random_vir_bounded(r, 1));
      break;
    default: random_vir_for(r); break;
  }
}

// Sets an existing var or creates a new one.
static void random_vir_variable(random_vir_t* r) {
  uint32_t start = random_vir_below(r, RANDOM_VIR_MAX_VALUES);
  for (uint32_t i = 0; i < r->value_count && random_vir_below(r, 16); ++i) {
    hlo_vir_value_t* var = r->values[(start + i) % r->value_count];
    if (var->op != HLO_VIR_var) continue;
    hlo_vir_set(&r->b, var, random_vir_want(r, var->type));
    return;
  }
  hlo_vir_type_t type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64);
  uint32_t kind = random_vir_below(r, 6);
  if (kind == 0) type = random_vir_index;
  if (kind == 1) type.elem = HLO_VIR_MASK;
  random_vir_keep(r, hlo_vir_var(&r->b, random_vir_want(r, type)));
}

static hlo_vir_value_t* random_vir_call(random_vir_t* r) {
  hlo_vir_value_t* arguments[4];
  for (uint32_t i = 0; i < 4; ++i) arguments[i] = random_vir_want_index(r);
  return hlo_vir_call(&r->b, offsetof(hlo_runtime_table_t, call_library), 4, arguments);
}

static void random_vir_statement(random_vir_t* r) {
  hlo_vir_value_t* value = NULL;
  r->b.debug_id = r->statements_left;
  switch (random_vir_below(r, 16)) {
    case 0:
      random_vir_store(r, random_vir_want(r, random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64)));
      break;
    case 1: random_vir_index_memory(r); break;
    case 2: random_vir_control(r); break;
    case 3: random_vir_variable(r); break;
    case 4:
      if (r->options.is_entry && random_vir_below(r, 2)) {
        hlo_vir_suspend(&r->b, ++r->resume_point);
      } else if (r->options.has_calls) {
        value = random_vir_call(r);
      }
      break;
    case 5:
    case 6: value = random_vir_index_op(r); break;
    case 7:
    case 8: value = random_vir_cross_op(r); break;
    case 9: {
      hlo_vir_type_t type = random_vir_vector_type(r, HLO_VIR_I8, HLO_VIR_F64);
      if (random_vir_accepts(r, HLO_VIR_load, type, (hlo_vir_elem_t)type.elem))
        value = random_vir_load(r, type);
      break;
    }
    default: value = random_vir_lane_op(r); break;
  }
  if (value) random_vir_keep(r, value);
}

static void random_vir_statements(random_vir_t* r, uint32_t count) {
  for (uint32_t i = 0; i < count && r->statements_left; ++i) {
    --r->statements_left;
    random_vir_statement(r);
  }
}

// Stores or returns everything that is still usable.
static void random_vir_finish(random_vir_t* r) {
  hlo_vir_value_t* answer = random_vir_iconst(r, 0);
  int64_t offset = RANDOM_VIR_MEMORY_BYTES - 4096;
  for (uint32_t i = 0; i < r->value_count; ++i) {
    hlo_vir_value_t* value = r->values[i];
    if (value->type.elem == HLO_VIR_MASK)
      value = hlo_vir_emit(&r->b, HLO_VIR_mask_bits, random_vir_index, 0, 0, 1, &value);
    if (value->type.elem == HLO_VIR_INDEX) {
      answer = hlo_vir_index(&r->b, HLO_VIR_ixor, answer, value);
      answer = hlo_vir_index(&r->b, HLO_VIR_imul, answer, random_vir_iconst(r, 0x10001));
      continue;
    }
    hlo_vir_value_t* operands[] = {random_vir_clean(r, value), r->memory};
    if (offset + 64 > RANDOM_VIR_MEMORY_BYTES) continue;
    hlo_vir_emit(&r->b, HLO_VIR_store, random_vir_void, 0, offset, 2, operands);
    offset += 64;
  }
  hlo_vir_istore(&r->b, answer, r->memory, RANDOM_VIR_MEMORY_BYTES - 8, 0);
  hlo_vir_return(&r->b, random_vir_iconst(r, HLO_PROGRAM_DONE));
}

static void random_vir_start(random_vir_t* r, hlo_vir_func_t* func) {
  hlo_vir_builder_t* b = &r->b;
  hlo_vir_builder_init(b, func);
  b->is_plain = r->options.is_plain;
  r->frame = hlo_vir_param(b, 0);
  if (r->options.is_entry) {
    r->memory = hlo_vir_iload(b, r->frame, offsetof(hlo_frame_t, buffers), HLO_VIR_INVARIANT);
    r->memory = hlo_vir_iload(b, r->memory, 0, HLO_VIR_INVARIANT);
    return;
  }
  r->memory = hlo_vir_param(b, 1);
  random_vir_keep(r, hlo_vir_param(b, 2));
  r->stack = hlo_vir_emit(b, HLO_VIR_stack, random_vir_index, 0, RANDOM_VIR_STACK_BYTES, 0, NULL);
  for (int64_t offset = 0; offset < RANDOM_VIR_STACK_BYTES; offset += 8) {
    hlo_vir_istore(b, random_vir_iconst(r, offset), r->stack, offset, 0);
  }
}

/// Creates a function; equal for equal seed, options and version of this file.
static inline hlo_vir_func_t* random_vir_func(hlo_vir_module_t* module, const char* name,
                                              uint64_t seed, const random_vir_options_t* options) {
  random_vir_t r = {.options = *options, .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
  hlo_vir_func_t* func =
      hlo_vir_func_create(module, name, options->is_entry ? 1 : 3, options->is_entry);
  r.statements_left = options->statement_count;
  r.lanes = options->vector_bytes >> random_vir_below(&r, 5);
  if (!r.lanes) r.lanes = 1;
  random_vir_start(&r, func);
  while (r.statements_left) random_vir_statements(&r, r.statements_left);
  random_vir_finish(&r);
  hlo_vir_builder_deinit(&r.b);
  return func;
}
