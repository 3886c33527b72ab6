// SPDX-License-Identifier: Apache-2.0
// Loads, stores, gathers, scatters. Accesses without an instruction go lane by lane through the
// scratch area of the stack.
#include "codegen/vir/tile.h"
#include "codegen/x86/x86_impl.h"

static unsigned log2_bytes_of(unsigned bits) {
  return (unsigned)__builtin_ctz(bits / 8);
}

static uint64_t lanes_below(unsigned lanes) {
  return lanes >= 64 ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
}

static const hlo_vir_value_t* mask_of(const hlo_vir_value_t* value) {
  uint32_t operand = hlo_vir_base_operand((hlo_vir_opcode_t)value->op) + 2;
  return operand < value->operand_count ? value->operands[operand] : NULL;
}

// Returns true if a mask that is a constant leaves a lane off.
static bool is_off(const hlo_vir_value_t* mask, unsigned lane) {
  return mask && mask->op == HLO_VIR_mask_const && !((uint64_t)mask->imm >> lane & 1);
}

// Returns the bytes that a masked load or store moves with AVX2 if a constant mask selects the
// first lanes; 0: other masks.
static unsigned first_bytes(const hlo_x86_fn_t* f, const hlo_vir_value_t* value,
                            hlo_vir_type_t type) {
  const hlo_vir_value_t* mask = mask_of(value);
  if (f->is_avx512 || f->is_sse || !mask || mask->op != HLO_VIR_mask_const) return 0;
  const uint64_t bits = (uint64_t)mask->imm & lanes_below(type.lanes);
  return bits & (bits + 1) ? 0 : (unsigned)__builtin_popcountll(bits) * hlo_x86_elem_bits(type) / 8;
}

// ---- general registers

static void emit_iload(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_scalar_t signed_loads[] = {HLO_X86_movsx_8, HLO_X86_movsx_16, HLO_X86_movsxd,
                                                  HLO_X86_mov};
  static const hlo_x86_scalar_t unsigned_loads[] = {HLO_X86_movzx_8, HLO_X86_movzx_16, HLO_X86_mov,
                                                    HLO_X86_mov};
  unsigned log2_bytes = value->flags >> HLO_VIR_WIDTH_SHIFT & 3;
  bool is_unsigned = value->flags & HLO_VIR_UNSIGNED && log2_bytes < 3;
  hlo_x86_rm(f->as, (is_unsigned ? unsigned_loads : signed_loads)[log2_bytes], is_unsigned ? 4 : 8,
             to, hlo_x86_memory(f, value));
}

static void emit_istore(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  unsigned bytes = 1u << (value->flags >> HLO_VIR_WIDTH_SHIFT & 3);
  const hlo_vir_value_t* stored = value->operands[0];
  hlo_x86_rm_t memory = hlo_x86_memory(f, value);
  int32_t imm;
  if (bytes < 8 && stored->op == HLO_VIR_iconst) {
    int64_t low = bytes == 1   ? (int8_t)stored->imm
                  : bytes == 2 ? (int16_t)stored->imm
                               : (int32_t)stored->imm;
    hlo_x86_mi(f->as, HLO_X86_mov, bytes, memory, (int32_t)low);
  } else if (hlo_x86_in_imm(stored, &imm)) {
    hlo_x86_mi(f->as, HLO_X86_mov, bytes, memory, imm);
  } else {
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, memory, hlo_x86_in(f, stored));
  }
}

// cmpxchg compares with rax and leaves there what memory held.
static void emit_swap(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  static const hlo_x86_scalar_t extensions[][2] = {{HLO_X86_movsx_8, HLO_X86_movzx_8},
                                                   {HLO_X86_movsx_16, HLO_X86_movzx_16},
                                                   {HLO_X86_movsxd, HLO_X86_mov}};
  const unsigned log2_bytes = value->flags >> HLO_VIR_WIDTH_SHIFT & 3;
  const bool is_unsigned = value->flags & HLO_VIR_UNSIGNED;
  hlo_x86_claim(f, HLO_X86_RAX);
  const hlo_x86_rm_t memory = hlo_x86_memory(f, value);
  const unsigned desired = hlo_x86_in(f, value->operands[1]);
  hlo_x86_move(f, HLO_X86_GENERAL, 8, HLO_X86_RAX, hlo_x86_in(f, value->operands[0]));
  hlo_x86_mr(f->as, HLO_X86_cmpxchg, 1u << log2_bytes, memory, desired);
  if (log2_bytes < 3) {
    hlo_x86_rm(f->as, extensions[log2_bytes][is_unsigned], is_unsigned ? 4 : 8, HLO_X86_RAX,
               hlo_x86_reg(HLO_X86_RAX));
  }
  hlo_x86_out_done(f, value, HLO_X86_RAX);
}

// ---- vectors

static void emit_short_load(hlo_x86_fn_t* f, unsigned bytes, unsigned to, hlo_x86_rm_t memory) {
  if (bytes >= 4) {
    hlo_x86_vv(f->as, bytes == 4 ? HLO_X86_vmovss : HLO_X86_vmovsd, 16, to, memory, 0);
    return;
  }
  unsigned temp = hlo_x86_temp_gpr(f);
  hlo_x86_rm(f->as, bytes == 1 ? HLO_X86_movzx_8 : HLO_X86_movzx_16, 4, temp, memory);
  hlo_x86_vv(f->as, HLO_X86_vmovd, 16, to, hlo_x86_reg(temp), 0);
}

static hlo_x86_rm_t beyond(hlo_x86_rm_t memory, unsigned bytes) {
  memory.disp += (int32_t)bytes;
  return memory;
}

// Loads the first bytes of a vector, with zeros above.
static void load_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned to, hlo_x86_rm_t memory) {
  if (bytes > 16 && bytes < 32) {
    const unsigned high = hlo_x86_temp_vec(f);
    load_bytes(f, bytes - 16, high, beyond(memory, 16));
    hlo_x86_vv(f->as, HLO_X86_vmovups, 16, to, memory, 0);
    hlo_x86_join_bytes(f, 32, to, to, hlo_x86_reg(high));
    return;
  }
  if (bytes >= 16) {
    hlo_x86_vv(f->as, HLO_X86_vmovups, bytes, to, memory, 0);
    return;
  }
  static const hlo_x86_insn_t inserts[] = {HLO_X86_vpinsrb, HLO_X86_vpinsrw, HLO_X86_vpinsrd};
  unsigned at = 1u << (31 - __builtin_clz(bytes));
  emit_short_load(f, at, to, memory);
  for (unsigned size = at / 2; size; size /= 2) {
    if (!(bytes & size)) continue;
    hlo_x86_vvvi(f->as, inserts[log2_bytes_of(8 * size)], 16, to, to, beyond(memory, at), at / size,
                 0);
    at += size;
  }
}

// Stores the first bytes of a vector.
static void store_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned from, hlo_x86_rm_t memory) {
  if (bytes >= 16) hlo_x86_vv(f->as, HLO_X86_vmovups_store, bytes < 32 ? 16 : 32, from, memory, 0);
  if (bytes > 16 && bytes < 32) {
    const unsigned high = hlo_x86_temp_vec(f);
    hlo_x86_upper_bytes(f, 32, high, from);
    store_bytes(f, bytes - 16, high, beyond(memory, 16));
  }
  if (bytes >= 16) return;
  static const hlo_x86_insn_t extracts[] = {HLO_X86_vpextrb, HLO_X86_vpextrw, HLO_X86_vpextrd};
  for (unsigned size = 8, at = 0; size; size /= 2) {
    if (!(bytes & size)) continue;
    if (size == 8 || (size == 4 && !at)) {
      hlo_x86_vv(f->as, size == 8 ? HLO_X86_vmovsd_store : HLO_X86_vmovss_store, 16, from, memory,
                 0);
    } else {
      hlo_x86_vvi(f->as, extracts[log2_bytes_of(8 * size)], 16, from, beyond(memory, at), at / size,
                  0);
    }
    at += size;
  }
}

// A mask for AVX2's masked moves: lanes as wide as the elements, none beyond the type.
static unsigned vector_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, hlo_vir_type_t type) {
  unsigned bits = hlo_x86_elem_bits(type), bytes = hlo_x86_type_bytes(type);
  unsigned lanes = hlo_x86_in_mask(f, mask, bits);
  if (bytes >= 16) return lanes;
  uint8_t valid[16] = {0};
  for (unsigned i = 0; i < bytes; ++i) valid[i] = 0xff;
  unsigned exact = hlo_x86_temp_vec(f);
  hlo_x86_bits(f, HLO_X86_AND, 16, exact, lanes, hlo_x86_pool_bytes(f, valid, sizeof valid));
  return exact;
}

static unsigned mask_register(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, hlo_vir_type_t type) {
  return hlo_x86_type_bytes(type) < 16 ? hlo_x86_in_exact_mask(f, mask) : hlo_x86_in(f, mask);
}

// Masked loads and stores without an instruction: lane by lane, between memory and the scratch
// area.
static void copy_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value, hlo_vir_type_t type,
                       bool is_store) {
  static const hlo_x86_scalar_t loads[] = {HLO_X86_movzx_8, HLO_X86_movzx_16, HLO_X86_mov,
                                           HLO_X86_mov};
  unsigned bytes = hlo_x86_elem_bits(type) / 8;
  unsigned address = hlo_x86_temp_gpr(f), bits = hlo_x86_temp_gpr(f), lane = hlo_x86_temp_gpr(f);
  hlo_x86_rm(f->as, HLO_X86_lea, 8, address, hlo_x86_memory(f, value));
  hlo_x86_mask_to_bits(f, mask_of(value), bits);
  for (unsigned i = 0; i < type.lanes; ++i) {
    if (is_off(mask_of(value), i)) continue;
    hlo_x86_rm_t outside = hlo_x86_mem(address, (int32_t)(i * bytes));
    hlo_x86_rm_t inside = hlo_x86_scratch((int32_t)(HLO_X86_SCRATCH_OUT + i * bytes));
    hlo_x86_label_t skip = hlo_x86_label_create(f->as);
    hlo_x86_mi(f->as, HLO_X86_test, 4, hlo_x86_reg(bits), (int32_t)(UINT32_C(1) << i));
    hlo_x86_jcc(f->as, HLO_X86_E, skip);
    hlo_x86_rm(f->as, loads[log2_bytes_of(8 * bytes)], bytes == 8 ? 8 : 4, lane,
               is_store ? inside : outside);
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, is_store ? outside : inside, lane);
    hlo_x86_label_bind(f->as, skip);
  }
}

static void emit_masked_load(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t by_register[] = {HLO_X86_vmovdqu8, HLO_X86_vmovdqu16,
                                               HLO_X86_vmovdqu32, HLO_X86_vmovdqu64};
  hlo_vir_type_t type = value->type;
  unsigned bits = hlo_x86_elem_bits(type), width = hlo_x86_width(type);
  const unsigned first = first_bytes(f, value, type);
  if (first && (bits < 32 || !(first & (first - 1)))) {
    load_bytes(f, first, to, hlo_x86_memory(f, value));
  } else if (f->is_avx512) {
    unsigned mask = mask_register(f, mask_of(value), type);
    hlo_x86_vv(f->as, by_register[log2_bytes_of(bits)], width, to, hlo_x86_memory(f, value),
               hlo_x86_k(mask) | HLO_X86_ZERO);
  } else if (bits >= 32 && !f->is_sse) {
    unsigned mask = vector_mask(f, mask_of(value), type);
    hlo_x86_vvv(f->as, bits == 32 ? HLO_X86_vmaskmovps : HLO_X86_vmaskmovpd, width, to, mask,
                hlo_x86_memory(f, value), 0);
  } else {
    hlo_x86_rm_t inside = hlo_x86_scratch(HLO_X86_SCRATCH_OUT);
    hlo_x86_zero_vec(f, to);
    hlo_x86_vv(f->as, HLO_X86_vmovups_store, width, to, inside, 0);
    copy_lanes(f, value, type, false);
    hlo_x86_vv(f->as, HLO_X86_vmovups, width, to, inside, 0);
  }
}

static void emit_splat(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t broadcasts[] = {HLO_X86_vpbroadcastb, HLO_X86_vpbroadcastw,
                                              HLO_X86_vbroadcastss, HLO_X86_vpbroadcastq};
  if (f->is_sse && value->type.elem == HLO_VIR_I8) {
    emit_short_load(f, 1, to, hlo_x86_memory(f, value));
    hlo_x86_vv(f->as, HLO_X86_vpbroadcastb, 16, to, hlo_x86_reg(to), 0);
    return;
  }
  hlo_x86_vv(f->as, broadcasts[log2_bytes_of(hlo_x86_elem_bits(value->type))],
             hlo_x86_width(value->type), to, hlo_x86_memory(f, value), 0);
}

void hlo_x86_emit_load(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg) {
  if (value->op == HLO_VIR_iload) {
    emit_iload(f, value, reg);
  } else if (value->op == HLO_VIR_load_splat) {
    emit_splat(f, value, reg);
  } else if (mask_of(value)) {
    emit_masked_load(f, value, reg);
  } else if (hlo_x86_type_bytes(value->type) < 16) {
    emit_short_load(f, hlo_x86_type_bytes(value->type), reg, hlo_x86_memory(f, value));
  } else {
    hlo_x86_vv(f->as, HLO_X86_vmovups, hlo_x86_width(value->type), reg, hlo_x86_memory(f, value),
               0);
  }
}

static void emit_masked_store(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  static const hlo_x86_insn_t by_register[] = {HLO_X86_vmovdqu8_store, HLO_X86_vmovdqu16_store,
                                               HLO_X86_vmovdqu32_store, HLO_X86_vmovdqu64_store};
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned bits = hlo_x86_elem_bits(type), width = hlo_x86_width(type);
  unsigned from = hlo_x86_in(f, value->operands[0]);
  const unsigned first = first_bytes(f, value, type);
  if (first) {
    store_bytes(f, first, from, hlo_x86_memory(f, value));
  } else if (f->is_avx512) {
    unsigned mask = mask_register(f, mask_of(value), type);
    hlo_x86_vv(f->as, by_register[log2_bytes_of(bits)], width, from, hlo_x86_memory(f, value),
               hlo_x86_k(mask));
  } else if (bits >= 32 && !f->is_sse) {
    unsigned mask = vector_mask(f, mask_of(value), type);
    hlo_x86_vvv(f->as, bits == 32 ? HLO_X86_vmaskmovps_store : HLO_X86_vmaskmovpd_store, width,
                mask, from, hlo_x86_memory(f, value), 0);
  } else {
    hlo_x86_vv(f->as, HLO_X86_vmovups_store, width, from, hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
    copy_lanes(f, value, type, true);
  }
}

static void emit_store(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (mask_of(value)) {
    emit_masked_store(f, value);
    return;
  }
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned bytes = hlo_x86_type_bytes(type);
  unsigned from = hlo_x86_in(f, value->operands[0]);
  hlo_x86_rm_t memory = hlo_x86_memory(f, value);
  if (bytes < 4 && f->is_sse) {
    unsigned temp = hlo_x86_temp_gpr(f);
    hlo_x86_vv(f->as, HLO_X86_vmovd_store, 16, from, hlo_x86_reg(temp), 0);
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, memory, temp);
    return;
  }
  switch (bytes) {
    case 1: hlo_x86_vvi(f->as, HLO_X86_vpextrb, 16, from, memory, 0, 0); break;
    case 2: hlo_x86_vvi(f->as, HLO_X86_vpextrw, 16, from, memory, 0, 0); break;
    case 4: hlo_x86_vv(f->as, HLO_X86_vmovss_store, 16, from, memory, 0); break;
    case 8: hlo_x86_vv(f->as, HLO_X86_vmovsd_store, 16, from, memory, 0); break;
    default:
      hlo_x86_vv(f->as, value->flags & HLO_VIR_STREAM ? HLO_X86_vmovntps : HLO_X86_vmovups_store,
                 bytes, from, memory, 0);
  }
}

// ---- gathers and scatters

static hlo_vir_type_t index_type_of(const hlo_vir_value_t* value) {
  return value->operands[hlo_vir_base_operand((hlo_vir_opcode_t)value->op) + 1]->type;
}

static hlo_x86_rm_t vector_address(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_rm_t memory = hlo_x86_memory(f, value);
  uint32_t operand = hlo_vir_base_operand((hlo_vir_opcode_t)value->op) + 1;
  memory.index = (uint8_t)hlo_x86_in(f, value->operands[operand]);
  memory.log2_scale = value->flags & HLO_VIR_SCALE_MASK;
  return memory;
}

// A mask register that the instruction may clobber.
static unsigned lane_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned lanes) {
  unsigned mask = hlo_x86_temp(f, HLO_X86_MASKS);
  if (mask_of(value)) {
    hlo_x86_move(f, HLO_X86_MASKS, 8, mask, hlo_x86_in_exact_mask(f, mask_of(value)));
  } else {
    unsigned temp = hlo_x86_temp_gpr(f);
    hlo_x86_mov_imm(f->as, temp, (int64_t)lanes_below(lanes));
    hlo_x86_vv(f->as, HLO_X86_kmovq_from_gpr, 0, mask, hlo_x86_reg(temp), 0);
  }
  return mask;
}

// The same as a vector with lanes as wide as the elements.
static unsigned lane_mask_vector(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_vir_type_t type = value->type;
  unsigned mask = hlo_x86_temp_vec(f), width = hlo_x86_width(type);
  if (mask_of(value)) {
    hlo_x86_move(f, HLO_X86_VECTORS, width, mask, vector_mask(f, mask_of(value), type));
  } else {
    uint8_t valid[32] = {0};
    for (unsigned i = 0; i < hlo_x86_type_bytes(type); ++i) valid[i] = 0xff;
    hlo_x86_vv(f->as, HLO_X86_vmovups, width, mask, hlo_x86_pool_bytes(f, valid, width), 0);
  }
  return mask;
}

static unsigned wider(unsigned a, unsigned b) {
  return a > b ? a : b;
}

static void emit_vector_gather(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t with_masks[2][2] = {{HLO_X86_vpgatherdd_k, HLO_X86_vpgatherdq_k},
                                                  {HLO_X86_vpgatherqd_k, HLO_X86_vpgatherqq_k}};
  static const hlo_x86_insn_t with_vectors[2][2] = {{HLO_X86_vpgatherdd, HLO_X86_vpgatherdq},
                                                    {HLO_X86_vpgatherqd, HLO_X86_vpgatherqq}};
  hlo_vir_type_t index = index_type_of(value);
  bool wide_index = hlo_x86_elem_bits(index) == 64, wide = hlo_x86_elem_bits(value->type) == 64;
  unsigned width = wider(hlo_x86_width(value->type), hlo_x86_width(index));
  hlo_x86_rm_t memory = vector_address(f, value);
  unsigned mask =
      f->is_avx512 ? lane_mask(f, value, value->type.lanes) : lane_mask_vector(f, value);
  hlo_x86_zero_vec(f, to);
  if (f->is_avx512) {
    hlo_x86_vv(f->as, with_masks[wide_index][wide], width, to, memory, hlo_x86_k(mask));
  } else {
    hlo_x86_vvv(f->as, with_vectors[wide_index][wide], width, to, mask, memory, 0);
  }
}

// Iterates over the lanes of a gather or scatter; the indices are in the scratch area.
typedef struct lane_walk {
  hlo_x86_rm_t memory;
  unsigned index;  // general register
  unsigned bits;   // the mask in a general register; HLO_X86_NO_REG: no mask
  unsigned index_bytes;
  hlo_x86_label_t skip;
} lane_walk_t;

static lane_walk_t begin_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_vir_type_t index = index_type_of(value);
  uint32_t operand = hlo_vir_base_operand((hlo_vir_opcode_t)value->op) + 1;
  hlo_x86_vv(f->as, HLO_X86_vmovups_store, hlo_x86_width(index),
             hlo_x86_in(f, value->operands[operand]), hlo_x86_scratch(0), 0);
  lane_walk_t walk = {
      .memory = hlo_x86_memory(f, value),
      .index = hlo_x86_temp_gpr(f),
      .bits = HLO_X86_NO_REG,
      .index_bytes = hlo_x86_elem_bits(index) / 8,
  };
  walk.memory.index = (uint8_t)walk.index;
  walk.memory.log2_scale = value->flags & HLO_VIR_SCALE_MASK;
  if (mask_of(value) && mask_of(value)->op != HLO_VIR_mask_const) {
    walk.bits = hlo_x86_temp_gpr(f);
    hlo_x86_mask_to_bits(f, mask_of(value), walk.bits);
  }
  return walk;
}

static void begin_lane(hlo_x86_fn_t* f, lane_walk_t* walk, unsigned lane) {
  if (walk->bits != HLO_X86_NO_REG) {
    walk->skip = hlo_x86_label_create(f->as);
    hlo_x86_mi(f->as, HLO_X86_test, 4, hlo_x86_reg(walk->bits), (int32_t)(UINT32_C(1) << lane));
    hlo_x86_jcc(f->as, HLO_X86_E, walk->skip);
  }
  hlo_x86_rm(f->as, walk->index_bytes == 8 ? HLO_X86_mov : HLO_X86_movsxd, 8, walk->index,
             hlo_x86_scratch((int32_t)(lane * walk->index_bytes)));
}

static void end_lane(hlo_x86_fn_t* f, const lane_walk_t* walk) {
  if (walk->bits != HLO_X86_NO_REG) hlo_x86_label_bind(f->as, walk->skip);
}

static void emit_lane_gather(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned bytes = hlo_x86_elem_bits(value->type) / 8, width = hlo_x86_width(value->type);
  lane_walk_t walk = begin_lanes(f, value);
  if (mask_of(value)) {
    hlo_x86_zero_vec(f, to);
    hlo_x86_vv(f->as, HLO_X86_vmovups_store, width, to, hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
  }
  static const hlo_x86_scalar_t loads[] = {HLO_X86_movzx_8, HLO_X86_movzx_16, HLO_X86_mov,
                                           HLO_X86_mov};
  for (unsigned lane = 0; lane < value->type.lanes; ++lane) {
    if (is_off(mask_of(value), lane)) continue;
    begin_lane(f, &walk, lane);
    hlo_x86_rm(f->as, loads[log2_bytes_of(8 * bytes)], bytes == 8 ? 8 : 4, walk.index, walk.memory);
    hlo_x86_mr(f->as, HLO_X86_mov, bytes,
               hlo_x86_scratch((int32_t)(HLO_X86_SCRATCH_OUT + lane * bytes)), walk.index);
    end_lane(f, &walk);
  }
  hlo_x86_vv(f->as, HLO_X86_vmovups, width, to, hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
}

static void emit_lane_scatter(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_vir_type_t type = value->operands[0]->type;
  unsigned bytes = hlo_x86_elem_bits(type) / 8;
  lane_walk_t walk = begin_lanes(f, value);
  hlo_x86_vv(f->as, HLO_X86_vmovups_store, hlo_x86_width(type), hlo_x86_in(f, value->operands[0]),
             hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
  unsigned stored = hlo_x86_temp_gpr(f);
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    if (is_off(mask_of(value), lane)) continue;
    begin_lane(f, &walk, lane);
    hlo_x86_rm(f->as, HLO_X86_mov, 8, stored,
               hlo_x86_scratch((int32_t)(HLO_X86_SCRATCH_OUT + lane * bytes)));
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, walk.memory, stored);
    end_lane(f, &walk);
  }
}

static void emit_scatter(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  static const hlo_x86_insn_t scatters[2][2] = {{HLO_X86_vpscatterdd, HLO_X86_vpscatterdq},
                                                {HLO_X86_vpscatterqd, HLO_X86_vpscatterqq}};
  hlo_vir_type_t type = value->operands[0]->type, index = index_type_of(value);
  if (hlo_x86_elem_bits(type) < 32 || !f->is_avx512) {
    emit_lane_scatter(f, value);
    return;
  }
  unsigned width = wider(hlo_x86_width(type), hlo_x86_width(index));
  unsigned from = hlo_x86_in(f, value->operands[0]);
  hlo_x86_rm_t memory = vector_address(f, value);
  unsigned mask = lane_mask(f, value, type.lanes);
  bool wide_index = hlo_x86_elem_bits(index) == 64, wide = hlo_x86_elem_bits(type) == 64;
  hlo_x86_vv(f->as, scatters[wide_index][wide], width, from, memory, hlo_x86_k(mask));
}

bool hlo_x86_lanes_through_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  bool in_a_row = value->op == HLO_VIR_load || value->op == HLO_VIR_store;
  bool is_write = value->op == HLO_VIR_store || value->op == HLO_VIR_scatter;
  if (!in_a_row && value->op != HLO_VIR_gather && value->op != HLO_VIR_scatter) return false;
  hlo_vir_type_t type = is_write ? value->operands[0]->type : value->type;
  bool is_short = hlo_x86_elem_bits(type) < 32;
  if (in_a_row && first_bytes(f, value, type)) return false;
  if (in_a_row) return (is_short || f->is_sse) && mask_of(value) && !f->is_avx512;
  return is_short || f->is_sse || (value->op == HLO_VIR_scatter && !f->is_avx512);
}

void hlo_x86_emit_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_store: emit_store(f, value); return;
    case HLO_VIR_istore: emit_istore(f, value); return;
    case HLO_VIR_icas: emit_swap(f, value); return;
    case HLO_VIR_scatter: emit_scatter(f, value); return;
    case HLO_VIR_prefetch:
      hlo_x86_m(f->as, HLO_X86_prefetcht0, 4, hlo_x86_memory(f, value));
      return;
    default: break;
  }
  unsigned to = hlo_x86_out(f, value);
  if (value->op != HLO_VIR_gather) {
    hlo_x86_emit_load(f, value, to);
  } else if (hlo_x86_lanes_through_memory(f, value)) {
    emit_lane_gather(f, value, to);
  } else {
    emit_vector_gather(f, value, to);
  }
  hlo_x86_out_done(f, value, to);
}

// ---- tile registers (AMX): each operation is one instruction on the tiles that it names. source:
// Intel SDM volume 1, section 18.3, the memory of LDTILECFG

enum { CONFIG_BYTES = 64, PALETTE = 1, FIRST_ROW_BYTES = 16, FIRST_ROWS = 48 };

static void emit_config(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  uint8_t config[CONFIG_BYTES] = {PALETTE};
  for (uint32_t i = 0; i < HLO_VIR_TILE_COUNT; ++i) {
    uint8_t rows = hlo_vir_tile_config_rows(value->imm, i);
    if (!rows) continue;
    config[FIRST_ROW_BYTES + 2 * i] = HLO_VIR_TILE_ROW_BYTES;
    config[FIRST_ROWS + i] = rows;
  }
  hlo_x86_vv(f->as, HLO_X86_ldtilecfg, 16, 0, hlo_x86_pool_bytes(f, config, sizeof config), 0);
}

static void emit_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  bool is_store = value->op == HLO_VIR_tile_store;
  unsigned base = hlo_x86_in(f, value->operands[0]), step = hlo_x86_in(f, value->operands[1]);
  hlo_x86_vv(f->as, is_store ? HLO_X86_tilestored : HLO_X86_tileloadd, 16,
             hlo_vir_tile_of(value->flags), hlo_x86_mem_index(base, step, 0, (int32_t)value->imm),
             0);
}

static hlo_x86_insn_t dot_insn(const hlo_vir_value_t* value) {
  static const hlo_x86_insn_t insns[] = {
      [HLO_VIR_TILE_S8S8] = HLO_X86_tdpbssd,   [HLO_VIR_TILE_S8U8] = HLO_X86_tdpbsud,
      [HLO_VIR_TILE_U8S8] = HLO_X86_tdpbusd,   [HLO_VIR_TILE_U8U8] = HLO_X86_tdpbuud,
      [HLO_VIR_TILE_BF16] = HLO_X86_tdpbf16ps, [HLO_VIR_TILE_F16] = HLO_X86_tdpfp16ps,
  };
  return insns[value->flags];
}

void hlo_x86_emit_tile(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_insn_t needed = value->op == HLO_VIR_tile_dot ? dot_insn(value) : HLO_X86_tilezero;
  if (!hlo_x86_insn_is_available(needed, f->as->features)) {
    hlo_x86_unimplemented(f, value);
    return;
  }
  switch (value->op) {
    case HLO_VIR_tile_config: emit_config(f, value); break;
    case HLO_VIR_tile_release: hlo_x86_bare(f->as, HLO_X86_tilerelease); break;
    case HLO_VIR_tile_zero:
      hlo_x86_vv(f->as, needed, 16, (unsigned)value->imm, hlo_x86_reg(0), 0);
      break;
    case HLO_VIR_tile_dot:
      hlo_x86_vvv(f->as, needed, 16, hlo_vir_tile_operand(value->imm, 0),
                  hlo_vir_tile_operand(value->imm, 2),
                  hlo_x86_reg(hlo_vir_tile_operand(value->imm, 1)), 0);
      break;
    default: emit_memory(f, value);
  }
}
