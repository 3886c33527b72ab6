// SPDX-License-Identifier: Apache-2.0
// Emits one function from prologue to epilogue, instruction by instruction.
//
// Frame, from rbp down: callee-saved registers, then, 64-byte aligned if any content needs it,
// slots, objects of `stack`, and the scratch area at rsp. rsp never moves in between.
#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/x86/x86_impl.h"

enum { STACK_ALIGN = 64 };

void hlo_x86_unimplemented(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (!hlo_status_is_ok(f->status)) return;
  hlo_vir_type_t type = value->type;
  if (value->operand_count && value->operands[0]) type = value->operands[0]->type;
  static const char* const elems[] = {"void", "index", "mask", "i8", "i16",
                                      "i32",  "i64",   "f32",  "f64"};
  f->status = hlo_unimplemented("%s: %s of %s x %u is not there for this processor", f->vir->name,
                                hlo_vir_opcode_name((hlo_vir_opcode_t)value->op), elems[type.elem],
                                type.lanes);
}

// ---- frame

static unsigned pushed_count(const hlo_x86_fn_t* f) {
  return (unsigned)__builtin_popcount(f->pushed);
}

// Bytes to subtract from rsp so that calls find it aligned.
static int32_t frame_step(const hlo_x86_fn_t* f) {
  bool is_odd = !f->needs_alignment && f->has_call && pushed_count(f) % 2;
  return (int32_t)f->frame_bytes + (is_odd ? 8 : 0);
}

static void emit_params(hlo_x86_fn_t* f) {
  static const uint8_t incoming[] = {HLO_X86_RDI, HLO_X86_RSI, HLO_X86_RDX, HLO_X86_RCX};
  if (f->has_call || f->has_suspend) {
    hlo_x86_rm(f->as, HLO_X86_mov, 8, HLO_X86_RBX, hlo_x86_reg(HLO_X86_RDI));
  }
  if (f->has_suspend) {
    hlo_x86_rm(f->as, HLO_X86_mov, 8, HLO_X86_R12,
               hlo_x86_mem(HLO_X86_RBX, offsetof(hlo_frame_t, saved)));
  }
  for (uint32_t i = 0; i < HLO_VIR_MAX_PARAMS; ++i) {
    if (f->params[i]) hlo_x86_store_live_range(f, hlo_x86_live_range(f, f->params[i]), incoming[i]);
  }
}

static void emit_prologue(hlo_x86_fn_t* f) {
  hlo_x86_asm_t* as = f->as;
  hlo_x86_bare(as, HLO_X86_endbr64);
  hlo_x86_push(as, HLO_X86_RBP);
  hlo_x86_rm(as, HLO_X86_mov, 8, HLO_X86_RBP, hlo_x86_reg(HLO_X86_RSP));
  for (uint32_t rest = f->pushed; rest; rest &= rest - 1) {
    hlo_x86_push(as, (unsigned)__builtin_ctz(rest));
  }
  if (f->needs_alignment) {
    hlo_x86_mi(as, HLO_X86_and, 8, hlo_x86_reg(HLO_X86_RSP), -STACK_ALIGN);
  }
  int32_t step = frame_step(f);
  if (step) hlo_x86_mi(as, HLO_X86_sub, 8, hlo_x86_reg(HLO_X86_RSP), step);
  emit_params(f);
  if (f->has_suspend) hlo_x86_emit_resume(f);
}

static void emit_epilogue(hlo_x86_fn_t* f) {
  hlo_x86_asm_t* as = f->as;
  hlo_x86_label_bind(as, f->epilogue);
  if (f->uses_stream) hlo_x86_bare(as, HLO_X86_sfence);
  if (f->uses_wide) hlo_x86_bare(as, HLO_X86_vzeroupper);
  if (f->needs_alignment || frame_step(f)) {
    hlo_x86_rm(as, HLO_X86_lea, 8, HLO_X86_RSP,
               hlo_x86_mem(HLO_X86_RBP, -8 * (int32_t)pushed_count(f)));
  }
  for (uint32_t rest = f->pushed; rest;) {
    unsigned reg = 31u - (unsigned)__builtin_clz(rest);
    rest &= ~(1u << reg);
    hlo_x86_pop(as, reg);
  }
  hlo_x86_pop(as, HLO_X86_RBP);
  hlo_x86_bare(as, HLO_X86_ret);
}

// ---- instructions

static void note_debug_id(hlo_x86_fn_t* f, uint32_t debug_id) {
  if (debug_id == f->debug_id) return;
  f->debug_id = debug_id;
  hlo_code_debug_id_t entry = {(uint32_t)f->as->size_bytes, debug_id};
  if (!hlo_vec_push(&f->unit->debug_ids, entry)) f->arena->failed = true;
}

// Returns true if nothing is emitted: the value is rematerialized at each use, or computed inside
// its user.
static bool is_silent(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  const hlo_x86_live_range_t* range = hlo_x86_live_range(f, value);
  if (value->op == HLO_VIR_param || range->is_folded || hlo_x86_is_dead(f, value)) return true;
  return range->place == HLO_X86_REMATERIALIZED;
}

static void emit_insn(hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  if (is_silent(f, value)) return;
  note_debug_id(f, value->debug_id);
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_CONTROL: hlo_x86_emit_control(f, value); break;
    case HLO_VIR_INDEX_OP: hlo_x86_emit_index(f, value); break;
    case HLO_VIR_MEMORY: hlo_x86_emit_memory(f, value); break;
    case HLO_VIR_CROSS: hlo_x86_emit_cross(f, value); break;
    case HLO_VIR_TILE: hlo_x86_emit_tile(f, value); break;
    case HLO_VIR_GROUP: break;  // only in modules with groups, which are PTX
    case HLO_VIR_CONVERT: hlo_x86_emit_convert(f, value); break;
    case HLO_VIR_COMPARE: hlo_x86_emit_compare(f, value); break;
    case HLO_VIR_MASK_OP: hlo_x86_emit_mask(f, value); break;
    case HLO_VIR_FLOAT:
    case HLO_VIR_INT:
    case HLO_VIR_DOT:
    case HLO_VIR_HALF:
    case HLO_VIR_BITS: hlo_x86_emit_lanes(f, value); break;
  }
}

// ---- register occupancy

static void begin_range(hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  if (range->place == HLO_X86_IN_REGISTER) f->busy[range->klass] |= 1u << range->reg;
}

static void end_ranges(hlo_x86_fn_t* f, uint32_t half_position) {
  for (uint32_t n = f->ending[half_position]; n != HLO_X86_NONE; n = f->ranges[n].next) {
    const hlo_x86_live_range_t* range = &f->ranges[n];
    if (range->place == HLO_X86_IN_REGISTER) f->busy[range->klass] &= ~(1u << range->reg);
  }
}

static void begin_ranges(hlo_x86_fn_t* f, const hlo_x86_item_t* item) {
  if (item->kind != HLO_X86_ITEM_INSN || item->value->op == HLO_VIR_param) return;
  begin_range(f, hlo_x86_live_range(f, item->value));
  if (!item->value->body) return;
  const hlo_x86_control_t* control = &f->controls[hlo_x86_live_range(f, item->value)->aux];
  for (uint32_t n = 0; n < control->copy_count; ++n) {
    begin_range(f, &f->ranges[control->first_copy + n]);
  }
}

static void emit_items(hlo_x86_fn_t* f) {
  for (uint32_t i = 0; i < HLO_VIR_MAX_PARAMS; ++i) {
    if (f->params[i]) begin_range(f, hlo_x86_live_range(f, f->params[i]));
  }
  for (f->position = 0; f->position < f->item_count; ++f->position) {
    const hlo_x86_item_t* item = &f->items[f->position];
    begin_ranges(f, item);
    if (item->kind == HLO_X86_ITEM_INSN) {
      emit_insn(f, item->value);
    } else if (item->kind == HLO_X86_ITEM_ELSE) {
      hlo_x86_emit_else(f, item->value);
    } else if (item->value) {
      hlo_x86_emit_end(f, item->value);
    }
    end_ranges(f, 2 * f->position);
    // A result may take the register of an operand that has just ended.
    begin_ranges(f, item);
    end_ranges(f, 2 * f->position + 1);
    for (uint32_t c = 0; c < HLO_X86_CLASS_COUNT; ++c) f->taken[c] = 0;
  }
}

bool hlo_x86_emit_function(hlo_x86_fn_t* f) {
  for (uint32_t c = 0; c < HLO_X86_CLASS_COUNT; ++c) {
    f->busy[c] = f->taken[c] = 0;
    f->short_of[c] = false;
  }
  if (f->has_call || f->has_suspend) f->busy[HLO_X86_GENERAL] |= 1u << HLO_X86_RBX;
  if (f->has_suspend) f->busy[HLO_X86_GENERAL] |= 1u << HLO_X86_R12;
  f->debug_id = UINT32_MAX;
  f->epilogue = hlo_x86_label_create(f->as);
  emit_prologue(f);
  emit_items(f);
  emit_epilogue(f);
  bool is_short = false;
  for (uint32_t c = 0; c < HLO_X86_CLASS_COUNT; ++c) {
    if (f->short_of[c]) f->reserve[c] += HLO_TUNING_REGISTERS_MORE_RESERVE;
    is_short |= f->short_of[c];
  }
  return !is_short;
}
