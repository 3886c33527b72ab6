// SPDX-License-Identifier: Apache-2.0
// Tiles (AMX): each operation is one instruction on the tiles that it names.
// source: Intel SDM volume 1, section 18.3, the memory of LDTILECFG
#include "codegen/vir/tile.h"
#include "codegen/x86/x86_impl.h"

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
