// SPDX-License-Identifier: Apache-2.0
// Values as operands of instructions: their locations, temporary loads into registers, and stores.
#include "codegen/x86/x86_impl.h"

// ---- temporaries

static uint32_t temporaries(const hlo_x86_fn_t* f, hlo_x86_class_t klass) {
  static const uint32_t general = 0xffff & ~(1u << HLO_X86_RSP | 1u << HLO_X86_RBP);
  switch (klass) {
    case HLO_X86_GENERAL: return general & (~hlo_x86_callee_saved | f->pushed);
    case HLO_X86_VECTORS: return hlo_x86_vector_registers(f);
    default: return 0xfe;  // k0 cannot be a mask operand
  }
}

unsigned hlo_x86_temp(hlo_x86_fn_t* f, hlo_x86_class_t klass) {
  uint32_t free = temporaries(f, klass) & ~f->busy[klass] & ~f->taken[klass];
  if (!free) {
    f->short_of[klass] = true;
    return klass == HLO_X86_MASKS;
  }
  unsigned reg = (unsigned)__builtin_ctz(free);
  f->taken[klass] |= 1u << reg;
  return reg;
}

void hlo_x86_claim(hlo_x86_fn_t* f, unsigned reg) {
  f->taken[HLO_X86_GENERAL] |= 1u << reg;
}

// ---- locations

static const hlo_x86_live_range_t* place_of(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* home = &f->ranges[hlo_x86_live_range(f, value)->home];
  return home->copy == HLO_X86_NONE ? home : &f->ranges[home->copy];
}

static hlo_x86_rm_t slot_of(const hlo_x86_live_range_t* range) {
  return hlo_x86_mem(range->place == HLO_X86_IN_SAVED ? HLO_X86_R12 : HLO_X86_RSP, range->slot);
}

static bool is_in_memory(const hlo_x86_live_range_t* range) {
  return range->place == HLO_X86_ON_STACK || range->place == HLO_X86_IN_SAVED;
}

// Bytes to move for a live range in a vector register; masks are as wide as a register there.
static unsigned vector_bytes(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  return range->value->type.elem == HLO_VIR_MASK ? hlo_x86_mask_bytes(f)
                                                 : hlo_x86_width(range->value->type);
}

static int32_t object_offset(const hlo_x86_fn_t* f, const hlo_vir_value_t* stack) {
  return hlo_x86_live_range(f, stack)->slot + (f->uses_scratch ? HLO_X86_SCRATCH_BYTES : 0);
}

void hlo_x86_move(hlo_x86_fn_t* f, hlo_x86_class_t klass, unsigned width, unsigned to,
                  unsigned from) {
  if (to == from) return;
  switch (klass) {
    case HLO_X86_GENERAL: hlo_x86_rm(f->as, HLO_X86_mov, 8, to, hlo_x86_reg(from)); break;
    case HLO_X86_VECTORS:
      hlo_x86_vv(f->as, HLO_X86_vmovaps, width, to, hlo_x86_reg(from), 0);
      break;
    default: hlo_x86_vv(f->as, HLO_X86_kmovq, 0, to, hlo_x86_reg(from), 0); break;
  }
}

// ---- rematerialization

static void remake_const(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg) {
  unsigned bits = hlo_x86_elem_bits(value->type), width = hlo_x86_width(value->type);
  uint64_t ones = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  uint64_t element = (uint64_t)value->imm & ones;
  if (element == 0) {
    hlo_x86_zero_vec(f, reg);
  } else if (element == ones) {
    hlo_x86_ones_vec(f, width, reg);
  } else if (f->is_sse) {
    hlo_x86_vv(f->as, HLO_X86_vmovaps, width, reg, hlo_x86_pool_splat(f, bits, element, width), 0);
  } else {
    static const hlo_x86_insn_t broadcasts[] = {HLO_X86_vpbroadcastb, HLO_X86_vpbroadcastw,
                                                HLO_X86_vbroadcastss, HLO_X86_vpbroadcastq};
    unsigned log2_bytes = (unsigned)__builtin_ctz(bits / 8);
    hlo_x86_vv(f->as, broadcasts[log2_bytes], width, reg, hlo_x86_pool_bytes(f, &element, bits / 8),
               0);
  }
}

static void remake_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg) {
  if (f->is_avx512) {
    unsigned temp = hlo_x86_temp_gpr(f);
    hlo_x86_mov_imm(f->as, temp, value->imm);
    hlo_x86_vv(f->as, HLO_X86_kmovq_from_gpr, 0, reg, hlo_x86_reg(temp), 0);
    return;
  }
  uint8_t bytes[32] = {0};
  unsigned lane_bytes = hlo_x86_live_range(f, value)->lane_bits / 8, width = hlo_x86_mask_bytes(f);
  for (unsigned i = 0; i < width; ++i) {
    unsigned lane = i / lane_bytes;
    bytes[i] = lane < value->type.lanes && (uint64_t)value->imm >> lane & 1 ? 0xff : 0;
  }
  hlo_x86_vv(f->as, HLO_X86_vmovups, width, reg, hlo_x86_pool_bytes(f, bytes, width), 0);
}

void hlo_x86_rematerialize(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg) {
  hlo_x86_asm_t* as = f->as;
  switch (value->op) {
    case HLO_VIR_iconst: hlo_x86_mov_imm(as, reg, value->imm); break;
    case HLO_VIR_param: hlo_x86_move(f, HLO_X86_GENERAL, 8, reg, HLO_X86_RBX); break;
    case HLO_VIR_const: remake_const(f, value, reg); break;
    case HLO_VIR_mask_const: remake_mask(f, value, reg); break;
    case HLO_VIR_lane_iota: {
      unsigned width = hlo_x86_width(value->type);
      hlo_x86_rm_t iota = hlo_x86_pool_iota(f, hlo_x86_elem_bits(value->type), width);
      hlo_x86_vv(as, HLO_X86_vmovups, width, reg, iota, 0);
      break;
    }
    case HLO_VIR_rodata: {
      const hlo_vir_blob_t* blob = &f->vir->module->blobs[value->imm];
      hlo_x86_rm(as, HLO_X86_lea, 8, reg, hlo_x86_pool_blob(f, blob));
      break;
    }
    case HLO_VIR_func_address:
      hlo_x86_rm(as, HLO_X86_lea, 8, reg, hlo_x86_rip((hlo_x86_label_t)value->imm, 0));
      break;
    case HLO_VIR_stack:
      hlo_x86_rm(as, HLO_X86_lea, 8, reg, hlo_x86_mem(HLO_X86_RSP, object_offset(f, value)));
      break;
    case HLO_VIR_iadd:  // stack + constant
      hlo_x86_rm(as, HLO_X86_lea, 8, reg,
                 hlo_x86_mem(HLO_X86_RSP, object_offset(f, value->operands[0]) +
                                              (int32_t)value->operands[1]->imm));
      break;
    default: {  // an invariant of the frame
      hlo_x86_address_t address = hlo_x86_address_of(value);
      bool is_frame = address.base->op == HLO_VIR_param;
      if (!is_frame) hlo_x86_rematerialize(f, address.base, reg);
      static const hlo_x86_scalar_t loads[2][4] = {
          {HLO_X86_movsx_8, HLO_X86_movsx_16, HLO_X86_movsxd, HLO_X86_mov},
          {HLO_X86_movzx_8, HLO_X86_movzx_16, HLO_X86_mov, HLO_X86_mov}};
      unsigned log2_bytes = value->flags >> HLO_VIR_WIDTH_SHIFT & 3;
      bool is_unsigned = value->flags & HLO_VIR_UNSIGNED;
      hlo_x86_rm(as, loads[is_unsigned][log2_bytes], is_unsigned && log2_bytes < 3 ? 4 : 8, reg,
                 hlo_x86_mem(is_frame ? HLO_X86_RBX : reg, (int32_t)address.disp));
    }
  }
}

// ---- whole live ranges

void hlo_x86_load_live_range(hlo_x86_fn_t* f, const hlo_x86_live_range_t* range, unsigned reg) {
  if (range->place == HLO_X86_IN_REGISTER) {
    hlo_x86_move(f, (hlo_x86_class_t)range->klass,
                 range->klass == HLO_X86_VECTORS ? vector_bytes(f, range) : 8, reg, range->reg);
  } else if (!is_in_memory(range)) {
    hlo_x86_rematerialize(f, range->value, reg);
  } else if (range->klass == HLO_X86_GENERAL) {
    hlo_x86_rm(f->as, HLO_X86_mov, 8, reg, slot_of(range));
  } else if (range->klass == HLO_X86_MASKS) {
    hlo_x86_vv(f->as, HLO_X86_kmovq, 0, reg, slot_of(range), 0);
  } else {
    hlo_x86_vv(f->as, HLO_X86_vmovups, vector_bytes(f, range), reg, slot_of(range), 0);
  }
}

void hlo_x86_store_live_range(hlo_x86_fn_t* f, const hlo_x86_live_range_t* range, unsigned reg) {
  if (range->place == HLO_X86_IN_REGISTER) {
    hlo_x86_move(f, (hlo_x86_class_t)range->klass,
                 range->klass == HLO_X86_VECTORS ? vector_bytes(f, range) : 8, range->reg, reg);
  } else if (!is_in_memory(range)) {
    return;
  } else if (range->klass == HLO_X86_GENERAL) {
    hlo_x86_mr(f->as, HLO_X86_mov, 8, slot_of(range), reg);
  } else if (range->klass == HLO_X86_MASKS) {
    hlo_x86_vv(f->as, HLO_X86_kmovq_store, 0, reg, slot_of(range), 0);
  } else {
    hlo_x86_vv(f->as, HLO_X86_vmovups_store, vector_bytes(f, range), reg, slot_of(range), 0);
  }
}

// ---- operands

unsigned hlo_x86_in(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  value = hlo_x86_resolve(value);
  if (hlo_x86_live_range(f, value)->is_folded) {
    unsigned reg = hlo_x86_temp(f, (hlo_x86_class_t)hlo_x86_live_range(f, value)->klass);
    hlo_x86_emit_load(f, value, reg);
    return reg;
  }
  const hlo_x86_live_range_t* range = place_of(f, value);
  if (range->place == HLO_X86_IN_REGISTER) return range->reg;
  if (range->place == HLO_X86_REMATERIALIZED && value->op == HLO_VIR_param) return HLO_X86_RBX;
  unsigned reg = hlo_x86_temp(f, (hlo_x86_class_t)range->klass);
  hlo_x86_load_live_range(f, range, reg);
  return reg;
}

hlo_x86_rm_t hlo_x86_in_rm(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (hlo_x86_live_range(f, value)->is_folded) return hlo_x86_memory(f, value);
  const hlo_x86_live_range_t* range = place_of(f, value);
  if (is_in_memory(range)) return slot_of(range);
  return hlo_x86_reg(hlo_x86_in(f, value));
}

hlo_x86_rm_t hlo_x86_in_vec(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned width,
                            unsigned elem_bits) {
  hlo_vir_type_t type = value->type;
  value = hlo_x86_resolve(value);
  if (hlo_x86_live_range(f, value)->is_folded) {
    hlo_x86_rm_t memory = hlo_x86_memory(f, value);
    bool is_splat = value->op == HLO_VIR_load_splat || type.lanes == 1;
    return is_splat ? hlo_x86_splat(memory) : memory;
  }
  const hlo_x86_live_range_t* range = place_of(f, value);
  if (is_in_memory(range)) return slot_of(range);
  if (range->place == HLO_X86_REMATERIALIZED && value->op == HLO_VIR_const) {
    unsigned bits = hlo_x86_elem_bits(value->type);
    uint64_t element = (uint64_t)value->imm;
    if (f->is_avx512 && elem_bits == bits) {
      return hlo_x86_splat(hlo_x86_pool_bytes(f, &element, bits / 8));
    }
    return hlo_x86_pool_splat(f, bits, element, width);
  }
  if (range->place == HLO_X86_REMATERIALIZED && value->op == HLO_VIR_lane_iota) {
    return hlo_x86_pool_iota(f, hlo_x86_elem_bits(value->type), width);
  }
  return hlo_x86_reg(hlo_x86_in(f, value));
}

bool hlo_x86_prefers_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  value = hlo_x86_resolve(value);
  return hlo_x86_live_range(f, value)->is_folded ||
         place_of(f, value)->place != HLO_X86_IN_REGISTER;
}

bool hlo_x86_in_imm(const hlo_vir_value_t* value, int32_t* out_imm) {
  *out_imm = (int32_t)value->imm;
  return value->op == HLO_VIR_iconst && value->imm == *out_imm;
}

unsigned hlo_x86_out(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* range = &f->ranges[hlo_x86_live_range(f, value)->home];
  if (range->place == HLO_X86_IN_REGISTER) return range->reg;
  return hlo_x86_temp(f, (hlo_x86_class_t)range->klass);
}

void hlo_x86_out_done(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg) {
  hlo_x86_store_live_range(f, &f->ranges[hlo_x86_live_range(f, value)->home], reg);
}

hlo_x86_rm_t hlo_x86_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  hlo_x86_address_t address = hlo_x86_address_of(value);
  int64_t disp = address.disp;
  unsigned base;
  if (address.base->op == HLO_VIR_stack) {
    base = HLO_X86_RSP;
    disp += object_offset(f, address.base);
  } else {
    base = hlo_x86_in(f, address.base);
  }
  if (disp != (int32_t)disp) {
    unsigned far = hlo_x86_temp_gpr(f);
    hlo_x86_mov_imm(f->as, far, disp);
    hlo_x86_rm(f->as, HLO_X86_add, 8, far, hlo_x86_reg(base));
    base = far;
    disp = 0;
  }
  if (!address.index) return hlo_x86_mem(base, (int32_t)disp);
  return hlo_x86_mem_index(base, hlo_x86_in(f, address.index), address.log2_scale, (int32_t)disp);
}
