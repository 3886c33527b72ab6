// SPDX-License-Identifier: Apache-2.0
// Operations between lanes: splats, halves, joins, slides, interleaves, permutations.
#include "codegen/x86/x86_impl.h"

static hlo_x86_rm_t reg(unsigned number) {
  return hlo_x86_reg(number);
}

static const hlo_x86_insn_t broadcasts[] = {HLO_X86_vpbroadcastb, HLO_X86_vpbroadcastw,
                                            HLO_X86_vbroadcastss, HLO_X86_vpbroadcastq};

static unsigned log2_bytes_of(hlo_vir_type_t type) {
  return (unsigned)__builtin_ctz(hlo_x86_elem_bits(type) / 8);
}

static void emit_splat(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  bool needs_register = f->is_sse && value->type.elem == HLO_VIR_I8;
  hlo_x86_rm_t from = needs_register ? reg(hlo_x86_in(f, value->operands[0]))
                                     : hlo_x86_in_vec(f, value->operands[0], 16, 0);
  from.is_splat = false;
  hlo_x86_vv(f->as, broadcasts[log2_bytes_of(value->type)], hlo_x86_width(value->type), to, from,
             0);
}

static void emit_splat_index(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t from_gpr[] = {HLO_X86_vpbroadcastb_gpr, HLO_X86_vpbroadcastw_gpr,
                                            HLO_X86_vpbroadcastd_gpr, HLO_X86_vpbroadcastq_gpr};
  unsigned from = hlo_x86_in(f, value->operands[0]), width = hlo_x86_width(value->type);
  if (f->is_avx512 && value->type.lanes > 1) {
    hlo_x86_vv(f->as, from_gpr[log2_bytes_of(value->type)], width, to, reg(from), 0);
    return;
  }
  hlo_x86_vv(f->as, HLO_X86_vmovq, 16, to, reg(from), 0);
  if (value->type.lanes > 1) {
    hlo_x86_vv(f->as, broadcasts[log2_bytes_of(value->type)], width, to, reg(to), 0);
  }
}

static void emit_to_index(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned from = hlo_x86_in(f, value->operands[0]);
  unsigned bits = hlo_x86_elem_bits(value->operands[0]->type);
  bool is_unsigned = value->flags & HLO_VIR_UNSIGNED;
  hlo_x86_vv(f->as, bits == 64 ? HLO_X86_vmovq_store : HLO_X86_vmovd_store, 16, from, reg(to), 0);
  switch (bits) {
    case 8:
      hlo_x86_rm(f->as, is_unsigned ? HLO_X86_movzx_8 : HLO_X86_movsx_8, 8, to, reg(to));
      break;
    case 16:
      hlo_x86_rm(f->as, is_unsigned ? HLO_X86_movzx_16 : HLO_X86_movsx_16, 8, to, reg(to));
      break;
    case 32:
      if (!is_unsigned) hlo_x86_rm(f->as, HLO_X86_movsxd, 8, to, reg(to));
      break;
    default: break;
  }
}

// ---- halves

void hlo_x86_upper_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned to, unsigned from) {
  if (bytes == 64) {
    hlo_x86_vvi(f->as, HLO_X86_vextracti64x4, 64, from, reg(to), 1, 0);
  } else if (bytes == 32) {
    hlo_x86_vvi(f->as, f->is_avx512 ? HLO_X86_vextracti32x4 : HLO_X86_vextracti128, 32, from,
                reg(to), 1, 0);
  } else {
    hlo_x86_vvi(f->as, HLO_X86_vpsrldq, 16, to, reg(from), bytes / 2, 0);
  }
}

void hlo_x86_join_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned to, unsigned a, hlo_x86_rm_t b) {
  hlo_x86_asm_t* as = f->as;
  switch (bytes) {
    case 64: hlo_x86_vvvi(as, HLO_X86_vinserti64x4, 64, to, a, b, 1, 0); break;
    case 32:
      hlo_x86_vvvi(as, f->is_avx512 ? HLO_X86_vinserti32x4 : HLO_X86_vinserti128, 32, to, a, b, 1,
                   0);
      break;
    case 16: hlo_x86_vvv(as, HLO_X86_vpunpcklqdq, 16, to, a, b, 0); break;
    case 8: hlo_x86_vvv(as, HLO_X86_vpunpckldq, 16, to, a, b, 0); break;
    case 4: hlo_x86_vvv(as, HLO_X86_vpunpcklwd, 16, to, a, b, 0); break;
    default: hlo_x86_vvv(as, HLO_X86_vpunpcklbw, 16, to, a, b, 0); break;
  }
}

// ---- slides

// Shifts `from` up by whole 16-byte parts with zeros below. `to` may be `from` only if parts is 0.
static unsigned slide_parts(hlo_x86_fn_t* f, unsigned width, unsigned parts, unsigned from) {
  if (parts == 0) return from;
  unsigned to = hlo_x86_temp_vec(f);
  if (16 * parts >= width) {
    hlo_x86_zero_vec(f, to);
  } else if (f->is_avx512) {
    hlo_x86_zero_vec(f, to);
    hlo_x86_vvvi(f->as, HLO_X86_valignq, width, to, from, reg(to), width / 8 - 2 * parts, 0);
  } else {
    hlo_x86_vvvi(f->as, HLO_X86_vperm2i128, width, to, from, reg(from), 0x08, 0);
  }
  return to;
}

static void emit_slide(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type), from = hlo_x86_in(f, value->operands[0]);
  uint64_t bytes = (uint64_t)value->imm * (hlo_x86_elem_bits(value->type) / 8);
  if (bytes >= hlo_x86_type_bytes(value->type)) {
    hlo_x86_zero_vec(f, to);
    return;
  }
  if (width == 16) {
    hlo_x86_vvi(f->as, HLO_X86_vpslldq, 16, to, reg(from), (unsigned)bytes, 0);
    return;
  }
  unsigned parts = (unsigned)bytes / 16, rest = (unsigned)bytes % 16;
  unsigned upper = slide_parts(f, width, parts, from);
  if (rest == 0) {
    hlo_x86_move(f, HLO_X86_VECTORS, width, to, upper);
    return;
  }
  unsigned lower = slide_parts(f, width, parts + 1, from);
  hlo_x86_vvvi(f->as, HLO_X86_vpalignr, width, to, upper, reg(lower), 16 - rest, 0);
}

// ---- permutations

// Permutes bytes of a 32-byte register without AVX-512: both halves are looked up in both halves.
static void permute_bytes_avx2(hlo_x86_fn_t* f, unsigned to, unsigned from, unsigned index) {
  unsigned low = hlo_x86_temp_vec(f), choice = hlo_x86_temp_vec(f);
  hlo_x86_asm_t* as = f->as;
  hlo_x86_vvi(as, HLO_X86_vpermq_imm, 32, low, reg(from), 0x44, 0);
  hlo_x86_vvi(as, HLO_X86_vpermq_imm, 32, to, reg(from), 0xee, 0);
  hlo_x86_vvv(as, HLO_X86_vpshufb, 32, low, low, reg(index), 0);
  hlo_x86_vvv(as, HLO_X86_vpshufb, 32, to, to, reg(index), 0);
  hlo_x86_vvi(as, HLO_X86_vpsllw_imm, 32, choice, reg(index), 3, 0);  // bit 4 to bit 7
  hlo_x86_vvvv(as, HLO_X86_vpblendvb, 32, to, low, reg(to), choice);
}

// Permutes bytes with AVX-512BW but no VBMI: selects the word that holds each byte, then its half.
static void permute_bytes_by_words(hlo_x86_fn_t* f, unsigned width, unsigned to, unsigned from,
                                   unsigned index) {
  hlo_x86_asm_t* as = f->as;
  unsigned shift = hlo_x86_temp_vec(f), odd = hlo_x86_temp_vec(f), low = hlo_x86_temp_vec(f);
  hlo_x86_rm_t one = hlo_x86_pool_splat(f, 16, 1, width);
  for (unsigned half = 0; half < 2; ++half) {
    unsigned out = half ? odd : to;
    hlo_x86_vvi(as, half ? HLO_X86_vpsrlw_imm : HLO_X86_vpsllw_imm, width, low, reg(index), 8, 0);
    if (!half) hlo_x86_vvi(as, HLO_X86_vpsrlw_imm, width, low, reg(low), 8, 0);
    hlo_x86_bits(f, HLO_X86_AND, width, shift, low, one);
    hlo_x86_vvi(as, HLO_X86_vpsllw_imm, width, shift, reg(shift), 3, 0);
    hlo_x86_vvi(as, HLO_X86_vpsrlw_imm, width, low, reg(low), 1, 0);
    hlo_x86_vvv(as, HLO_X86_vpermw, width, out, low, reg(from), 0);
    hlo_x86_vvv(as, HLO_X86_vpsrlvw, width, out, out, reg(shift), 0);
    hlo_x86_vvi(as, HLO_X86_vpsllw_imm, width, out, reg(out), 8, 0);
    if (!half) hlo_x86_vvi(as, HLO_X86_vpsrlw_imm, width, out, reg(out), 8, 0);
  }
  hlo_x86_bits(f, HLO_X86_OR, width, to, to, reg(odd));
}

static void permute_bytes(hlo_x86_fn_t* f, unsigned width, unsigned to, unsigned from,
                          unsigned index) {
  if (width == 16) {
    hlo_x86_vvv(f->as, HLO_X86_vpshufb, 16, to, from, reg(index), 0);
  } else if (hlo_cpu_has(&f->target->cpu, HLO_CPU_AVX512VBMI) && f->is_avx512) {
    hlo_x86_vvv(f->as, HLO_X86_vpermb, width, to, index, reg(from), 0);
  } else if (f->is_avx512) {
    permute_bytes_by_words(f, width, to, from, index);
  } else {
    permute_bytes_avx2(f, to, from, index);
  }
}

// Returns the positions of the bytes of words at the positions `index`.
static unsigned bytes_of_words(hlo_x86_fn_t* f, unsigned width, unsigned index) {
  unsigned bytes = hlo_x86_temp_vec(f);  // of word i: 2 i, 2 i + 1
  hlo_x86_vvv(f->as, HLO_X86_vpmullw, width, bytes, index, hlo_x86_pool_splat(f, 16, 0x0202, width),
              0);
  hlo_x86_vvv(f->as, HLO_X86_vpaddw, width, bytes, bytes, hlo_x86_pool_splat(f, 16, 0x0100, width),
              0);
  return bytes;
}

static void permute_words(hlo_x86_fn_t* f, unsigned width, unsigned to, unsigned from,
                          unsigned index) {
  if (f->is_avx512) {
    hlo_x86_vvv(f->as, HLO_X86_vpermw, width, to, index, reg(from), 0);
    return;
  }
  permute_bytes(f, width, to, from, bytes_of_words(f, width, index));
}

static void permute_quads(hlo_x86_fn_t* f, unsigned width, unsigned to, unsigned from,
                          unsigned index) {
  if (width > 16 && f->is_avx512) {
    hlo_x86_vvv(f->as, HLO_X86_vpermq, width, to, index, reg(from), 0);
    return;
  }
  unsigned twice = hlo_x86_temp_vec(f);
  hlo_x86_vvv(f->as, HLO_X86_vpaddq, width, twice, index, reg(index), 0);
  if (width == 16) {
    hlo_x86_vvv(f->as, HLO_X86_vpermilpd, width, to, from, reg(twice), 0);
    return;
  }
  hlo_x86_vvi(f->as, HLO_X86_vpshufd, width, twice, reg(twice), 0xa0, 0);
  hlo_x86_vvv(f->as, HLO_X86_vpaddd, width, twice, twice,
              hlo_x86_pool_splat(f, 64, UINT64_C(1) << 32, width), 0);
  hlo_x86_vvv(f->as, HLO_X86_vpermd, width, to, twice, reg(from), 0);
}

// Without AVX: lane by lane; each index is replaced by its element.
static void permute_through_memory(hlo_x86_fn_t* f, hlo_vir_type_t type, unsigned to, unsigned from,
                                   unsigned index) {
  static const hlo_x86_scalar_t loads[] = {HLO_X86_movzx_8, HLO_X86_movzx_16, HLO_X86_mov,
                                           HLO_X86_mov};
  unsigned log2 = log2_bytes_of(type), bytes = 1u << log2, lane = hlo_x86_temp_gpr(f);
  hlo_x86_vv(f->as, HLO_X86_vmovups_store, 16, from, hlo_x86_scratch(0), 0);
  hlo_x86_vv(f->as, HLO_X86_vmovups_store, 16, index, hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
  for (unsigned i = 0; i < type.lanes; ++i) {
    hlo_x86_rm_t place = hlo_x86_scratch((int32_t)(HLO_X86_SCRATCH_OUT + i * bytes));
    unsigned size = bytes == 8 ? 8 : 4;
    hlo_x86_rm(f->as, loads[log2], size, lane, place);
    hlo_x86_rm(f->as, loads[log2], size, lane, hlo_x86_mem_index(HLO_X86_RSP, lane, log2, 0));
    hlo_x86_mr(f->as, HLO_X86_mov, bytes, place, lane);
  }
  hlo_x86_vv(f->as, HLO_X86_vmovups, 16, to, hlo_x86_scratch(HLO_X86_SCRATCH_OUT), 0);
}

// Permutes the lanes of each 16-byte part.
static void permute_parts(hlo_x86_fn_t* f, unsigned bits, unsigned width, unsigned to,
                          unsigned from, unsigned index) {
  switch (bits) {
    case 16: index = bytes_of_words(f, width, index); __attribute__((fallthrough));
    case 8: hlo_x86_vvv(f->as, HLO_X86_vpshufb, width, to, from, reg(index), 0); break;
    case 32: hlo_x86_vvv(f->as, HLO_X86_vpermilps, width, to, from, reg(index), 0); break;
    default: {
      unsigned twice = hlo_x86_temp_vec(f);
      hlo_x86_vvv(f->as, HLO_X86_vpaddq, width, twice, index, reg(index), 0);
      hlo_x86_vvv(f->as, HLO_X86_vpermilpd, width, to, from, reg(twice), 0);
    }
  }
}

static void emit_permute(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  unsigned width = hlo_x86_width(value->type);
  unsigned from = hlo_x86_in(f, value->operands[0]), index = hlo_x86_in(f, value->operands[1]);
  if (f->is_sse) {
    permute_through_memory(f, value->type, to, from, index);
    return;
  }
  if (value->imm) {
    permute_parts(f, hlo_x86_elem_bits(value->type), width, to, from, index);
    return;
  }
  switch (hlo_x86_elem_bits(value->type)) {
    case 8: permute_bytes(f, width, to, from, index); break;
    case 16: permute_words(f, width, to, from, index); break;
    case 32:
      if (width == 16) {
        hlo_x86_vvv(f->as, HLO_X86_vpermilps, width, to, from, reg(index), 0);
      } else {
        hlo_x86_vvv(f->as, HLO_X86_vpermd, width, to, index, reg(from), 0);
      }
      break;
    default: permute_quads(f, width, to, from, index); break;
  }
}

// Looks bytes up in a table of two registers.
static void emit_permute_pair(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  const unsigned width = hlo_x86_width(value->type);
  const unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  hlo_x86_move(f, HLO_X86_VECTORS, width, to, hlo_x86_in(f, value->operands[2]));
  hlo_x86_vvv(f->as, HLO_X86_vpermi2b, width, to, a, reg(b), 0);
}

// ---- zips

// Element i of the indices into two registers that interleave a and b.
static hlo_x86_rm_t zip_indices(hlo_x86_fn_t* f, unsigned elem_bytes, unsigned width,
                                bool is_high) {
  uint8_t bytes[64] = {0};
  unsigned lanes = width / elem_bytes;
  for (unsigned i = 0; i < lanes; ++i) {
    bytes[i * elem_bytes] = (uint8_t)(i / 2 + i % 2 * lanes + (is_high ? lanes / 2 : 0));
  }
  return hlo_x86_pool_bytes(f, bytes, width);
}

// Interleaves the lanes of 16-byte parts; `to` receives the result of all parts.
static void zip_parts(hlo_x86_fn_t* f, unsigned log2_bytes, unsigned width, bool is_high,
                      unsigned to, unsigned a, unsigned b) {
  static const hlo_x86_insn_t unpack[2][4] = {
      {HLO_X86_vpunpcklbw, HLO_X86_vpunpcklwd, HLO_X86_vpunpckldq, HLO_X86_vpunpcklqdq},
      {HLO_X86_vpunpckhbw, HLO_X86_vpunpckhwd, HLO_X86_vpunpckhdq, HLO_X86_vpunpckhqdq}};
  hlo_x86_vvv(f->as, unpack[is_high][log2_bytes], width, to, a, reg(b), 0);
}

static void emit_zip(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned to) {
  static const hlo_x86_insn_t lookup[] = {HLO_X86_vpermi2b, HLO_X86_vpermi2w, HLO_X86_vpermi2d,
                                          HLO_X86_vpermi2q};
  bool is_high = value->op == HLO_VIR_zip_high;
  unsigned log2 = log2_bytes_of(value->type), width = hlo_x86_width(value->type);
  unsigned bytes = hlo_x86_type_bytes(value->type);
  unsigned a = hlo_x86_in(f, value->operands[0]), b = hlo_x86_in(f, value->operands[1]);
  if (value->imm) {
    zip_parts(f, log2, width, is_high, to, a, b);
    return;
  }
  if (width == 16) {
    zip_parts(f, log2, 16, is_high && bytes == 16, to, a, b);
    if (is_high && bytes < 16) hlo_x86_vvi(f->as, HLO_X86_vpsrldq, 16, to, reg(to), bytes, 0);
    return;
  }
  if (f->is_avx512 && log2 > 0) {
    hlo_x86_vv(f->as, HLO_X86_vmovups, width, to, zip_indices(f, 1u << log2, width, is_high), 0);
    hlo_x86_vvv(f->as, lookup[log2], width, to, a, reg(b), 0);
    return;
  }
  // Interleaves within parts of 16 bytes, then interleaves the parts.
  unsigned low = hlo_x86_temp_vec(f), high = hlo_x86_temp_vec(f);
  zip_parts(f, log2, width, false, low, a, b);
  zip_parts(f, log2, width, true, high, a, b);
  if (!f->is_avx512) {
    hlo_x86_vvvi(f->as, HLO_X86_vperm2i128, 32, to, low, reg(high), is_high ? 0x31 : 0x20, 0);
    return;
  }
  uint64_t parts[8];
  for (unsigned i = 0; i < width / 8; ++i) {
    unsigned part = i / 2 + (is_high ? width / 16 : 0);  // of low and high, alternating
    parts[i] = (part % 2 ? width / 8 : 0) + part / 2 * 2 + i % 2;
  }
  hlo_x86_vv(f->as, HLO_X86_vmovups, width, to, hlo_x86_pool_bytes(f, parts, width), 0);
  hlo_x86_vvv(f->as, HLO_X86_vpermi2q, width, to, low, reg(high), 0);
}

void hlo_x86_emit_cross(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  bool of_masks = value->type.elem == HLO_VIR_MASK ||
                  (value->operand_count && value->operands[0]->type.elem == HLO_VIR_MASK);
  if (of_masks && value->op != HLO_VIR_mask_const) {
    hlo_x86_emit_mask(f, value);
    return;
  }
  unsigned to = hlo_x86_out(f, value);
  switch (value->op) {
    case HLO_VIR_splat: emit_splat(f, value, to); break;
    case HLO_VIR_splat_index: emit_splat_index(f, value, to); break;
    case HLO_VIR_to_index: emit_to_index(f, value, to); break;
    case HLO_VIR_lower_half:
      hlo_x86_move(f, HLO_X86_VECTORS, hlo_x86_width(value->type), to,
                   hlo_x86_in(f, value->operands[0]));
      break;
    case HLO_VIR_upper_half:
      hlo_x86_upper_bytes(f, hlo_x86_type_bytes(value->operands[0]->type), to,
                          hlo_x86_in(f, value->operands[0]));
      break;
    case HLO_VIR_join: {
      unsigned a = hlo_x86_in(f, value->operands[0]);
      hlo_x86_rm_t b = hlo_x86_in_rm(f, value->operands[1]);
      hlo_x86_join_bytes(f, hlo_x86_type_bytes(value->type), to, a, b);
      break;
    }
    case HLO_VIR_slide_up: emit_slide(f, value, to); break;
    case HLO_VIR_zip_low:
    case HLO_VIR_zip_high: emit_zip(f, value, to); break;
    case HLO_VIR_permute: emit_permute(f, value, to); break;
    case HLO_VIR_recast:
      hlo_x86_move(f, HLO_X86_VECTORS, hlo_x86_width(value->type), to,
                   hlo_x86_in(f, value->operands[0]));
      break;
    case HLO_VIR_permute_pair: emit_permute_pair(f, value, to); break;
    default: hlo_x86_rematerialize(f, value, to); break;
  }
  hlo_x86_out_done(f, value, to);
}
