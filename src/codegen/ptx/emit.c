// SPDX-License-Identifier: Apache-2.0
// Functions of vector IR as PTX kernels (see emit.h): a register for each value, named by its kind
// and number, blocks as labels and branches. lanes.c emits the lane-wise operations.
#include "codegen/ptx/emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "codegen/ptx/atoms.h"
#include "codegen/ptx/emit_impl.h"

static const struct {
  const char *type, *prefix;
} kKinds[HLO_PTX_KIND_COUNT] = {
    [HLO_PTX_PREDICATE] = {"pred", "p"}, [HLO_PTX_B16] = {"b16", "h"},
    [HLO_PTX_B32] = {"b32", "r"},        [HLO_PTX_B64] = {"b64", "rd"},
    [HLO_PTX_F32] = {"f32", "f"},        [HLO_PTX_F64] = {"f64", "fd"},
    [HLO_PTX_FRAGMENT] = {"b32", "g"},
};

// ---- registers and lines -----------------------------------------------------------------------

hlo_ptx_kind_t hlo_ptx_kind_of(hlo_vir_elem_t elem) {
  switch (elem) {
    case HLO_VIR_MASK: return HLO_PTX_PREDICATE;
    case HLO_VIR_INDEX:
    case HLO_VIR_I64: return HLO_PTX_B64;
    case HLO_VIR_F32: return HLO_PTX_F32;
    case HLO_VIR_F64: return HLO_PTX_F64;
    default: return HLO_PTX_B32;
  }
}

hlo_ptx_reg_t hlo_ptx_reg(const hlo_vir_value_t* value) {
  if (value->op == HLO_VIR_iconst) return hlo_ptx_immediate(value->imm);
  return (hlo_ptx_reg_t){hlo_ptx_kind_of((hlo_vir_elem_t)value->type.elem), value->number};
}

hlo_ptx_reg_t hlo_ptx_temp(hlo_ptx_emitter_t* e, hlo_ptx_kind_t kind) {
  return (hlo_ptx_reg_t){kind, e->register_count++};
}

static void print_number(hlo_strbuf_t* out, int64_t number) {
  if (number == INT64_MIN) {
    hlo_strbuf_puts(out, "0x8000000000000000");
  } else {
    hlo_strbuf_printf(out, "%" PRId64, number);
  }
}

static void print_reg(hlo_strbuf_t* out, hlo_ptx_reg_t reg) {
  if (reg.kind == HLO_PTX_IMMEDIATE) {
    print_number(out, reg.number);
  } else {
    hlo_strbuf_printf(out, "%%%s%" PRId64, kKinds[reg.kind].prefix, reg.number);
  }
}

void hlo_ptx_line(hlo_ptx_emitter_t* e, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hlo_strbuf_puts(&e->body, "  ");
  for (const char* c = format; *c; ++c) {
    switch (*c) {
      case '$': print_reg(&e->body, va_arg(args, hlo_ptx_reg_t)); break;
      case '#': print_number(&e->body, va_arg(args, int64_t)); break;
      case '%': hlo_strbuf_puts(&e->body, va_arg(args, const char*)); break;
      case '~':
        if (e->flushes) hlo_strbuf_puts(&e->body, ".ftz");
        break;
      default: hlo_strbuf_putc(&e->body, *c); break;
    }
  }
  hlo_strbuf_puts(&e->body, ";\n");
  va_end(args);
}

static void print_label(hlo_ptx_emitter_t* e, const char* name, const hlo_vir_value_t* value) {
  hlo_strbuf_printf(&e->body, "$%s_%" PRIu32 ":\n", name, value->number);
}

void hlo_ptx_refuse(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, const char* why) {
  if (!hlo_status_is_ok(e->failure)) return;
  e->failure = hlo_unimplemented(
      "%s of %s as PTX: %s", hlo_vir_opcode_name((hlo_vir_opcode_t)value->op), e->func->name, why);
}

// ---- INDEX operations --------------------------------------------------------------------------

static const char* index_name(uint32_t op) {
  switch (op) {
    case HLO_VIR_iadd: return "add.s64";
    case HLO_VIR_isub: return "sub.s64";
    case HLO_VIR_imul: return "mul.lo.s64";
    case HLO_VIR_idiv: return "div.u64";
    case HLO_VIR_irem: return "rem.u64";
    case HLO_VIR_imin: return "min.s64";
    case HLO_VIR_imax: return "max.s64";
    case HLO_VIR_iand: return "and.b64";
    case HLO_VIR_ior: return "or.b64";
    case HLO_VIR_ixor: return "xor.b64";
    case HLO_VIR_ishl: return "shl.b64";
    case HLO_VIR_ishr: return "shr.s64";
    default: return NULL;
  }
}

// Block and thread of a group, and its near memory.
static void emit_group_param(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  enum { BLOCK = 1, THREAD = 2 };
  const hlo_ptx_reg_t number = hlo_ptx_temp(e, HLO_PTX_B32);
  if (value->imm != BLOCK && value->imm != THREAD) {
    const int64_t bytes = e->launch->shared_bytes;
    hlo_ptx_line(e, "mov.u64 $, %", to,
                 bytes > HLO_PTX_STATIC_SHARED_BYTES ? "near_memory"
                 : bytes                             ? "near"
                                                     : "0");
    return;
  }
  hlo_ptx_line(e, "mov.u32 $, %", number, value->imm == BLOCK ? "%ctaid.x" : "%tid.x");
  hlo_ptx_line(e, "cvt.u64.u32 $, $", to, number);
}

// The last parameter is the number of the thread.
static void emit_param(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  if (e->has_table && value->imm == 0) return;  // only its words are read
  if (e->is_group) {
    emit_group_param(e, value, to);
    return;
  }
  if (value->imm + 1 < (int64_t)e->func->param_count) {
    hlo_ptx_line(e, "ld.param.u64 $, [param_#]", to, value->imm);
    return;
  }
  const hlo_ptx_reg_t block = hlo_ptx_temp(e, HLO_PTX_B32), size = hlo_ptx_temp(e, HLO_PTX_B32);
  const hlo_ptx_reg_t lane = hlo_ptx_temp(e, HLO_PTX_B32), wide = hlo_ptx_temp(e, HLO_PTX_B64);
  hlo_ptx_line(e, "mov.u32 $, %", block, "%ctaid.x");
  hlo_ptx_line(e, "mov.u32 $, %", size, "%ntid.x");
  hlo_ptx_line(e, "mov.u32 $, %", lane, "%tid.x");
  hlo_ptx_line(e, "cvt.u64.u32 $, $", wide, lane);
  hlo_ptx_line(e, "mad.wide.u32 $, $, $, $", to, block, size, wide);
}

static void emit_condition(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  static const char* const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const hlo_ptx_reg_t is_true = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  if (value->op == HLO_VIR_icmp) {
    hlo_ptx_line(e, "setp.%.s64 $, $, $", names[value->flags], is_true,
                 hlo_ptx_reg(value->operands[0]), hlo_ptx_reg(value->operands[1]));
    hlo_ptx_line(e, "selp.b64 $, 1, 0, $", to, is_true);
    return;
  }
  hlo_ptx_line(e, "setp.ne.s64 $, $, 0", is_true, hlo_ptx_reg(value->operands[0]));
  hlo_ptx_line(e, "selp.b64 $, $, $, $", to, hlo_ptx_reg(value->operands[1]),
               hlo_ptx_reg(value->operands[2]), is_true);
}

// Memory of the module or of the thread, as a generic address.
static void emit_own_address(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  if (value->op == HLO_VIR_stack) {
    hlo_ptx_line(e, ".local .align 64 .b8 stack_#[#]", (int64_t)value->number, value->imm);
    hlo_ptx_line(e, "mov.u64 $, stack_#", to, (int64_t)value->number);
    hlo_ptx_line(e, "cvta.local.u64 $, $", to, to);
  } else {
    hlo_ptx_line(e, "mov.u64 $, blob_#", to, value->imm);
    hlo_ptx_line(e, "cvta.global.u64 $, $", to, to);
  }
}

static void emit_index(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t to = hlo_ptx_reg(value);
  switch (value->op) {
    case HLO_VIR_iconst: return;  // an immediate where it is used
    case HLO_VIR_param: emit_param(e, value, to); return;
    case HLO_VIR_icmp:
    case HLO_VIR_iselect: emit_condition(e, value, to); return;
    case HLO_VIR_stack:
    case HLO_VIR_rodata: emit_own_address(e, value, to); return;
    case HLO_VIR_isext:
      hlo_ptx_line(e, "shl.b64 $, $, #", to, hlo_ptx_reg(value->operands[0]), 64 - value->imm);
      hlo_ptx_line(e, "shr.s64 $, $, #", to, to, 64 - value->imm);
      return;
    default: break;
  }
  const char* name = index_name(value->op);
  if (!name) {
    hlo_ptx_refuse(e, value, "there is no instruction for it");
    return;
  }
  const hlo_ptx_reg_t second =
      value->operand_count > 1 ? hlo_ptx_reg(value->operands[1]) : hlo_ptx_immediate(value->imm);
  hlo_ptx_line(e, "% $, $, $", name, to, hlo_ptx_reg(value->operands[0]), second);
}

// ---- memory ------------------------------------------------------------------------------------

/// A register and what the access adds to it.
typedef struct address {
  hlo_ptx_reg_t base;
  int64_t displacement;  // fits 32 bits
} address_t;

static address_t emit_address(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const uint32_t base_at = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  const hlo_vir_value_t* index = hlo_vir_operand(value, base_at + 1);
  const int64_t scale = INT64_C(1) << (value->flags & HLO_VIR_SCALE_MASK);
  hlo_ptx_reg_t base = hlo_ptx_reg(value->operands[base_at]);
  if (index) {
    const hlo_ptx_reg_t sum = hlo_ptx_temp(e, HLO_PTX_B64);
    hlo_ptx_reg_t offset = hlo_ptx_reg(index);
    if (index->type.elem == HLO_VIR_I32) {
      offset = hlo_ptx_temp(e, HLO_PTX_B64);
      hlo_ptx_line(e, "cvt.s64.s32 $, $", offset, hlo_ptx_reg(index));
    }
    hlo_ptx_line(e, "mad.lo.s64 $, $, #, $", sum, offset, scale, base);
    base = sum;
  }
  if (value->imm == (int32_t)value->imm && base.kind != HLO_PTX_IMMEDIATE) {
    return (address_t){base, value->imm};
  }
  const hlo_ptx_reg_t sum = hlo_ptx_temp(e, HLO_PTX_B64);
  hlo_ptx_line(e, "mov.b64 $, $", sum, base);
  hlo_ptx_line(e, "add.s64 $, $, #", sum, sum, value->imm);
  return (address_t){sum, 0};
}

// Returns the type in memory of an element of 8 to 64 bits.
static const char* memory_type(uint32_t bits, bool is_signed) {
  static const char* const types[2][4] = {{"u8", "u16", "u32", "u64"}, {"s8", "s16", "s32", "s64"}};
  return types[is_signed][__builtin_ctz(bits / 8)];
}

static const char* element_type(hlo_vir_elem_t elem) {
  if (elem == HLO_VIR_F32) return "f32";
  if (elem == HLO_VIR_F64) return "f64";
  return memory_type(hlo_vir_elem_bits(elem), false);
}

// Returns the mask of an access; NULL: it has no mask.
static const hlo_vir_value_t* mask_of(const hlo_vir_value_t* value) {
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    const bool is_stored = i == 0 && hlo_vir_base_operand((hlo_vir_opcode_t)value->op) == 1;
    if (value->operands[i] && value->operands[i]->type.elem == HLO_VIR_MASK && !is_stored) {
      return value->operands[i];
    }
  }
  return NULL;
}

static void print_predicate(hlo_ptx_emitter_t* e, const hlo_vir_value_t* mask) {
  if (!mask) return;
  hlo_strbuf_puts(&e->body, "  @");
  print_reg(&e->body, hlo_ptx_reg(mask));
}

static void emit_load(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, const char* space) {
  const hlo_ptx_reg_t to = hlo_ptx_reg(value);
  const address_t address = emit_address(e, value);
  const hlo_vir_value_t* mask = mask_of(value);
  const char* type = element_type((hlo_vir_elem_t)value->type.elem);
  if (mask) {
    const bool is_wide = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem) == 64;
    hlo_ptx_line(e, "mov.% $, %", is_wide ? "b64" : "b32", to, "0");
  }
  print_predicate(e, mask);
  hlo_ptx_line(e, "ld%.% $, [$+#]", space, type, to, address.base, address.displacement);
}

static void emit_store(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, const char* space) {
  const address_t address = emit_address(e, value);
  const char* type = element_type((hlo_vir_elem_t)value->operands[0]->type.elem);
  print_predicate(e, mask_of(value));
  hlo_ptx_line(e, "st%.% [$+#], $", space, type, address.base, address.displacement,
               hlo_ptx_reg(value->operands[0]));
}

static bool is_table(const hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  return e->has_table && value && value->op == HLO_VIR_param && value->imm == 0;
}

// Reads a word of the table.
static void emit_word(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { WORD_BYTES = 8, WORD_WIDTH = 3 };
  const bool is_word = (value->flags >> HLO_VIR_WIDTH_SHIFT & 3) == WORD_WIDTH &&
                       !hlo_vir_operand(value, 1) && value->imm >= 0 &&
                       value->imm % WORD_BYTES == 0;
  if (!is_word) {
    hlo_ptx_refuse(e, value, "the table of parameters is read word by word");
    return;
  }
  const int64_t word = value->imm / WORD_BYTES;
  if (word >= e->param_count) e->param_count = (uint32_t)word + 1;
  hlo_ptx_line(e, "ld.param.u64 $, [param_#]", hlo_ptx_reg(value), word);
}

static void emit_index_memory(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value,
                              const char* space) {
  const address_t address = emit_address(e, value);
  const char* type = memory_type(8u << (value->flags >> HLO_VIR_WIDTH_SHIFT & 3),
                                 !(value->flags & HLO_VIR_UNSIGNED));
  if (value->op == HLO_VIR_iload) {
    hlo_ptx_line(e, "ld%.% $, [$+#]", space, type, hlo_ptx_reg(value), address.base,
                 address.displacement);
    return;
  }
  const hlo_ptx_reg_t stored = hlo_ptx_temp(e, HLO_PTX_B64);
  hlo_ptx_line(e, "mov.b64 $, $", stored, hlo_ptx_reg(value->operands[0]));
  hlo_ptx_line(e, "st%.% [$+#], $", space, type, address.base, address.displacement, stored);
}

// Returns true if an address is in near memory: the sum of its address and a distance.
static bool is_near(const hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { NEAR = 3 };
  if (!value || !e->is_group) return false;
  if (value->op == HLO_VIR_param) return value->imm == NEAR;
  return value->op == HLO_VIR_iadd &&
         (is_near(e, value->operands[0]) || is_near(e, value->operands[1]));
}

static void emit_memory(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const uint32_t base_at = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  const bool is_shared =
      is_near(e, value->operands[base_at]) || is_near(e, hlo_vir_operand(value, base_at + 1));
  const char* space = is_shared ? ".shared" : e->has_stack ? "" : ".global";
  if (value->op == HLO_VIR_iload && is_table(e, value->operands[0])) {
    emit_word(e, value);
    return;
  }
  switch (value->op) {
    case HLO_VIR_iload:
    case HLO_VIR_istore: emit_index_memory(e, value, space); return;
    case HLO_VIR_store:
    case HLO_VIR_scatter: emit_store(e, value, space); return;
    case HLO_VIR_prefetch: return;  // other threads hide the latency
    default: emit_load(e, value, space); return;
  }
}

// ---- between lanes -----------------------------------------------------------------------------

static void emit_const(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  char text[32];
  snprintf(text, sizeof text,
           value->type.elem == HLO_VIR_F32   ? "0f%08" PRIX64
           : value->type.elem == HLO_VIR_F64 ? "0d%016" PRIX64
                                             : "0x%" PRIx64,
           (uint64_t)value->imm & mask);
  const char* type = value->type.elem == HLO_VIR_F32   ? "f32"
                     : value->type.elem == HLO_VIR_F64 ? "f64"
                     : bits == 64                      ? "b64"
                                                       : "b32";
  hlo_ptx_line(e, "mov.% $, %", type, to, text);
}

static void emit_copy(hlo_ptx_emitter_t* e, hlo_ptx_reg_t to, hlo_ptx_reg_t from) {
  hlo_ptx_line(e, "mov.% $, $", kKinds[to.kind].type, to, from);
}

// An INDEX and an integer of one lane.
static void emit_to_index(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->operands[0]->type.elem);
  const bool is_signed = !(value->flags & HLO_VIR_UNSIGNED);
  hlo_ptx_reg_t x = hlo_ptx_reg(value->operands[0]);
  if (bits == 64) {
    emit_copy(e, to, x);
    return;
  }
  if (is_signed) x = hlo_ptx_sign_extended(e, x, bits);
  hlo_ptx_line(e, is_signed ? "cvt.s64.s32 $, $" : "cvt.u64.u32 $, $", to, x);
}

static void emit_splat_index(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, hlo_ptx_reg_t to) {
  const hlo_ptx_reg_t x = hlo_ptx_temp(e, HLO_PTX_B64);
  emit_copy(e, x, hlo_ptx_reg(value->operands[0]));
  if (to.kind == HLO_PTX_B64) {
    emit_copy(e, to, x);
    return;
  }
  hlo_ptx_line(e, "cvt.u32.u64 $, $", to, x);
  hlo_ptx_clear_above(e, to, hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem));
}

static void emit_cross(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t to = hlo_ptx_reg(value);
  const hlo_ptx_reg_t x = value->operand_count && value->operands[0]
                              ? hlo_ptx_reg(value->operands[0])
                              : hlo_ptx_immediate(0);
  switch (value->op) {
    case HLO_VIR_const: emit_const(e, value, to); return;
    case HLO_VIR_mask_const: hlo_ptx_line(e, "mov.pred $, #", to, value->imm & 1); return;
    case HLO_VIR_mask_first: hlo_ptx_line(e, "setp.gt.s64 $, $, 0", to, x); return;
    case HLO_VIR_mask_bits: hlo_ptx_line(e, "selp.b64 $, 1, 0, $", to, x); return;
    case HLO_VIR_lane_iota: hlo_ptx_line(e, "mov.% $, 0", kKinds[to.kind].type, to); return;
    case HLO_VIR_splat:
    case HLO_VIR_permute: emit_copy(e, to, x); return;
    case HLO_VIR_slide_up:
      if (value->imm == 0) {
        emit_copy(e, to, x);
      } else {
        hlo_vir_value_t zero = *value;
        zero.imm = 0;
        emit_const(e, &zero, to);
      }
      return;
    case HLO_VIR_splat_index: emit_splat_index(e, value, to); return;
    case HLO_VIR_to_index: emit_to_index(e, value, to); return;
    default: hlo_ptx_refuse(e, value, "it needs several lanes"); return;
  }
}

// ---- control -----------------------------------------------------------------------------------

static void emit_block(hlo_ptx_emitter_t* e, const hlo_vir_block_t* block);

static void emit_for(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t counter = hlo_ptx_reg(value), is_done = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  emit_copy(e, counter, hlo_ptx_reg(value->operands[0]));
  print_label(e, "head", value);
  hlo_ptx_line(e, "setp.ge.s64 $, $, $", is_done, counter, hlo_ptx_reg(value->operands[1]));
  hlo_ptx_line(e, "@$ bra %end_#", is_done, "$", (int64_t)value->number);
  emit_block(e, value->body);
  hlo_ptx_line(e, "add.s64 $, $, #", counter, counter, value->imm);
  hlo_ptx_line(e, "bra %head_#", "$", (int64_t)value->number);
  print_label(e, "end", value);
}

static void emit_if(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t is_false = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  hlo_ptx_line(e, "setp.eq.s64 $, $, 0", is_false, hlo_ptx_reg(value->operands[0]));
  hlo_ptx_line(e, "@$ bra %else_#", is_false, "$", (int64_t)value->number);
  emit_block(e, value->body);
  hlo_ptx_line(e, "bra %end_#", "$", (int64_t)value->number);
  print_label(e, "else", value);
  if (value->other_body) emit_block(e, value->other_body);
  print_label(e, "end", value);
}

static const hlo_vir_value_t* loop_around(const hlo_vir_value_t* value) {
  const hlo_vir_value_t* at = value->parent->owner;
  while (at->op != HLO_VIR_loop) at = at->parent->owner;
  return at;
}

static void emit_control(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_for: emit_for(e, value); return;
    case HLO_VIR_if: emit_if(e, value); return;
    case HLO_VIR_loop:
      print_label(e, "head", value);
      emit_block(e, value->body);
      hlo_ptx_line(e, "bra %head_#", "$", (int64_t)value->number);
      print_label(e, "end", value);
      return;
    case HLO_VIR_break_if: {
      const hlo_ptx_reg_t is_done = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
      hlo_ptx_line(e, "setp.ne.s64 $, $, 0", is_done, hlo_ptx_reg(value->operands[0]));
      hlo_ptx_line(e, "@$ bra %end_#", is_done, "$", (int64_t)loop_around(value)->number);
      return;
    }
    case HLO_VIR_var: emit_copy(e, hlo_ptx_reg(value), hlo_ptx_reg(value->operands[0])); return;
    case HLO_VIR_set:
      emit_copy(e, hlo_ptx_reg(value->operands[0]), hlo_ptx_reg(value->operands[1]));
      return;
    case HLO_VIR_return: hlo_ptx_line(e, "ret"); return;
    default: hlo_ptx_refuse(e, value, "kernels cannot call the host"); return;
  }
}

static void emit_value(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value);

// ---- vectors -----------------------------------------------------------------------------------
//
// Every lane has a register of its own: numbers of a vector's registers differ by the number of
// values.

// Returns one lane of a value.
static hlo_vir_value_t lane_of(const hlo_ptx_emitter_t* e, const hlo_vir_value_t* value,
                               uint32_t lane) {
  hlo_vir_value_t own = *value;
  if (own.type.lanes <= 1) return own;
  own.type.lanes = 1;
  own.number += lane * e->func->value_count;
  return own;
}

// Returns the most lanes of an operation and of its operands.
static uint32_t lanes_of(const hlo_vir_value_t* value) {
  uint32_t lanes = value->type.lanes;
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (value->operands[i] && value->operands[i]->type.lanes > lanes) {
      lanes = value->operands[i]->type.lanes;
    }
  }
  return lanes;
}

// Emits a lane of an operation that is the same for every lane.
static void emit_lane_of(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, uint32_t lane) {
  hlo_vir_value_t own = lane_of(e, value, lane), operands[HLO_VIR_MAX_OPERANDS];
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (!value->operands[i]) continue;
    operands[i] = lane_of(e, value->operands[i], lane);
    own.operands[i] = &operands[i];
  }
  switch (value->op) {
    case HLO_VIR_lane_iota:
      own.op = HLO_VIR_const;
      own.imm = lane;
      break;
    case HLO_VIR_mask_const: own.imm = value->imm >> lane & 1; break;
    case HLO_VIR_mask_first:
      hlo_ptx_line(e, "setp.gt.s64 $, $, #", hlo_ptx_reg(&own), hlo_ptx_reg(own.operands[0]),
                   (int64_t)lane);
      return;
    case HLO_VIR_load:
      own.imm += lane * (hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem) / 8);
      break;
    case HLO_VIR_store:
      own.imm += lane * (hlo_vir_elem_bits((hlo_vir_elem_t)operands[0].type.elem) / 8);
      break;
    default: break;
  }
  emit_value(e, &own);
}

// Returns true if an operation has the same meaning for a lane as for a vector.
static bool is_by_lane(const hlo_vir_value_t* value) {
  switch (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op)) {
    case HLO_VIR_CONTROL: return value->op == HLO_VIR_var || value->op == HLO_VIR_set;
    case HLO_VIR_CROSS: break;
    case HLO_VIR_MEMORY:
    case HLO_VIR_FLOAT:
    case HLO_VIR_INT:
    case HLO_VIR_DOT:
    case HLO_VIR_HALF:
    case HLO_VIR_BITS:
    case HLO_VIR_CONVERT:
    case HLO_VIR_COMPARE:
    case HLO_VIR_MASK_OP: return true;
    default: return false;
  }
  switch (value->op) {
    case HLO_VIR_const:
    case HLO_VIR_mask_const:
    case HLO_VIR_mask_first:
    case HLO_VIR_lane_iota:
    case HLO_VIR_splat:
    case HLO_VIR_splat_index: return true;
    default: return false;
  }
}

enum { UNIT_BYTES = 16, WORD_BITS = 32 };

// Prints the registers of some lanes, or words, as a list.
static void print_list(hlo_ptx_emitter_t* e, const hlo_ptx_reg_t* regs, uint32_t count) {
  if (count > 1) hlo_strbuf_putc(&e->body, '{');
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_strbuf_puts(&e->body, ", ");
    print_reg(&e->body, regs[i]);
  }
  if (count > 1) hlo_strbuf_putc(&e->body, '}');
}

// Accesses up to 16 bytes by words or wider elements.
static void emit_unit(hlo_ptx_emitter_t* e, const char* space, const char* type, bool is_load,
                      const hlo_ptx_reg_t* regs, uint32_t count, const address_t* address) {
  char vector[16] = "";
  if (count > 1) snprintf(vector, sizeof vector, ".v%u", count);
  hlo_strbuf_printf(&e->body, "  %s%s%s.%s ", is_load ? "ld" : "st", space, vector, type);
  if (is_load) {
    print_list(e, regs, count);
    hlo_ptx_line(e, ", [$+#]", address->base, address->displacement);
    return;
  }
  hlo_strbuf_putc(&e->body, '[');
  print_reg(&e->body, address->base);
  hlo_strbuf_printf(&e->body, "+%" PRId64 "], ", address->displacement);
  print_list(e, regs, count);
  hlo_strbuf_puts(&e->body, ";\n");
}

// Splits words into lanes, or joins lanes, which are zero-extended, to words.
static void convert_words(hlo_ptx_emitter_t* e, bool is_load, const hlo_ptx_reg_t* lanes,
                          uint32_t count, uint32_t bits, const hlo_ptx_reg_t* words) {
  const uint32_t per = WORD_BITS / bits;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t shift = i % per * bits;
    const hlo_ptx_reg_t word = words[i / per];
    if (is_load) {
      hlo_ptx_line(e, "shr.u32 $, $, #", lanes[i], word, shift);
      if (i % per + 1 < per) hlo_ptx_clear_above(e, lanes[i], bits);
    } else if (!shift) {
      hlo_ptx_line(e, "mov.b32 $, $", word, lanes[i]);
    } else {
      const hlo_ptx_reg_t part = hlo_ptx_temp(e, HLO_PTX_B32);
      hlo_ptx_line(e, "shl.b32 $, $, #", part, lanes[i], shift);
      hlo_ptx_line(e, "or.b32 $, $, $", word, word, part);
    }
  }
}

// Accesses a vector by units of 16 bytes; false: it has a mask, or less than a word.
static bool emit_vector_access(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const bool is_load = value->op == HLO_VIR_load;
  if (!is_load && value->op != HLO_VIR_store) return false;
  const hlo_vir_value_t* data = is_load ? value : value->operands[0];
  const uint32_t base_at = hlo_vir_base_operand((hlo_vir_opcode_t)value->op);
  const uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)data->type.elem);
  const uint32_t lanes = data->type.lanes;
  if (mask_of(value) || data->type.elem == HLO_VIR_MASK || lanes * bits < WORD_BITS) return false;
  const bool is_shared =
      is_near(e, value->operands[base_at]) || is_near(e, hlo_vir_operand(value, base_at + 1));
  const char* space = is_shared ? ".shared" : e->has_stack ? "" : ".global";
  const uint32_t most = 8 * UNIT_BYTES / bits, unit = lanes < most ? lanes : most;
  address_t address = emit_address(e, value);
  for (uint32_t first = 0; first < lanes; first += unit) {
    hlo_ptx_reg_t regs[UNIT_BYTES], words[UNIT_BYTES * 8 / WORD_BITS];
    const uint32_t word_count = unit * bits / WORD_BITS;
    for (uint32_t i = 0; i < unit; ++i) {
      const hlo_vir_value_t own = lane_of(e, data, first + i);
      regs[i] = hlo_ptx_reg(&own);
    }
    if (bits >= WORD_BITS) {
      emit_unit(e, space, element_type((hlo_vir_elem_t)data->type.elem), is_load, regs, unit,
                &address);
    } else {
      for (uint32_t i = 0; i < word_count; ++i) words[i] = hlo_ptx_temp(e, HLO_PTX_B32);
      if (!is_load) convert_words(e, false, regs, unit, bits, words);
      emit_unit(e, space, "u32", is_load, words, word_count, &address);
      if (is_load) convert_words(e, true, regs, unit, bits, words);
    }
    address.displacement += UNIT_BYTES;
  }
  return true;
}

static void emit_vector(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  if (!is_by_lane(value)) {
    hlo_ptx_refuse(e, value, "it moves elements between lanes");
    return;
  }
  if (emit_vector_access(e, value)) return;
  const uint32_t lanes = lanes_of(value);
  for (uint32_t lane = 0; lane < lanes; ++lane) emit_lane_of(e, value, lane);
}

static void emit_value(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_vir_class_t klass = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op);
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (is_table(e, value->operands[i]) && value->op != HLO_VIR_iload) {
      hlo_ptx_refuse(e, value, "the table of parameters has no address");
      return;
    }
  }
  if (lanes_of(value) > 1) {
    emit_vector(e, value);
    return;
  }
  if (e->flushes && klass == HLO_VIR_FLOAT && value->type.elem == HLO_VIR_F64) {
    hlo_ptx_refuse(e, value, "subnormal f64 are never flushed");
    return;
  }
  switch (klass) {
    case HLO_VIR_CONTROL: emit_control(e, value); return;
    case HLO_VIR_INDEX_OP: emit_index(e, value); return;
    case HLO_VIR_MEMORY: emit_memory(e, value); return;
    case HLO_VIR_CROSS: emit_cross(e, value); return;
    case HLO_VIR_GROUP: hlo_ptx_emit_group(e, value); return;
    case HLO_VIR_TILE: hlo_ptx_refuse(e, value, "there are no tile registers"); return;
    default: hlo_ptx_emit_lane(e, value); return;
  }
}

static void emit_block(hlo_ptx_emitter_t* e, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    emit_value(e, value);
  }
}

// ---- functions and modules ---------------------------------------------------------------------

static bool has_stack(const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (value->op == HLO_VIR_stack || (value->body && has_stack(value->body)) ||
        (value->other_body && has_stack(value->other_body))) {
      return true;
    }
  }
  return false;
}

// Returns the most lanes of a value.
static uint32_t most_lanes(const hlo_vir_block_t* block) {
  uint32_t most = 1;
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    const hlo_vir_block_t* const inside[] = {value->body, value->other_body};
    if (value->type.lanes > most) most = value->type.lanes;
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t lanes = inside[i] ? most_lanes(inside[i]) : 1;
      if (lanes > most) most = lanes;
    }
  }
  return most;
}

void hlo_ptx_kernel_name(const hlo_vir_func_t* func, char name[HLO_PTX_KERNEL_NAME_BYTES]) {
  uint32_t length = 0;
  for (const char* c = func->name; *c && length < HLO_PTX_KERNEL_NAME_BYTES - 16; ++c) {
    name[length++] = isalnum((unsigned char)*c) ? *c : '_';
  }
  // Names begin with a letter.
  if (length && isdigit((unsigned char)name[0])) name[0] = 'k';
  snprintf(name + length, HLO_PTX_KERNEL_NAME_BYTES - length, "%s_%" PRIu32, length ? "" : "k",
           func->index);
}

static void print_params(const hlo_ptx_emitter_t* e, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < e->param_count; ++i) {
    hlo_strbuf_printf(out, "%s.param .u64 param_%" PRIu32, i ? ", " : "", i);
  }
  for (uint32_t i = 0; e->launch && i < e->launch->map_count; ++i) {
    hlo_strbuf_printf(out, ", .param .align 64 .b8 map_%" PRIu32 "[128]", i);
  }
}

static void print_kernel(const hlo_ptx_emitter_t* e, hlo_strbuf_t* out) {
  const hlo_vir_func_t* func = e->func;
  char name[HLO_PTX_KERNEL_NAME_BYTES];
  hlo_ptx_kernel_name(func, name);
  hlo_strbuf_printf(out, "\n.visible .entry %s(", name);
  print_params(e, out);
  hlo_strbuf_puts(out, ") ");
  if (e->launch) hlo_strbuf_printf(out, ".maxntid %u, 1, 1 ", e->launch->thread_count);
  hlo_strbuf_puts(out, "{\n");
  for (uint32_t kind = 0; kind < HLO_PTX_KIND_COUNT; ++kind) {
    const uint32_t count = kind == HLO_PTX_FRAGMENT ? e->fragment_count : e->register_count;
    if (!count) continue;
    hlo_strbuf_printf(out, "  .reg .%s %%%s<%" PRIu32 ">;\n", kKinds[kind].type,
                      kKinds[kind].prefix, count);
  }
  if (e->launch && e->launch->shared_bytes &&
      e->launch->shared_bytes <= HLO_PTX_STATIC_SHARED_BYTES) {
    hlo_strbuf_printf(out, "  .shared .align 1024 .b8 near[%" PRId64 "];\n",
                      e->launch->shared_bytes);
  }
  hlo_strbuf_puts(out, hlo_strbuf_text(&e->body));
  hlo_strbuf_puts(out, "  ret;\n}\n");
}

static hlo_status_t emit_func(const hlo_vir_func_t* func, const hlo_ptx_target_t* target,
                              const hlo_ptx_launch_t* launch, hlo_strbuf_t* out) {
  const bool has_table = func->param_count == 2 || launch;
  hlo_ptx_emitter_t e = {.target = target,
                         .func = func,
                         .flushes = func->module->subnormals == HLO_SUBNORMALS_FLUSH,
                         .has_stack = has_stack(func->body),
                         .has_table = has_table,
                         .is_group = launch != NULL,
                         .launch = launch,
                         .param_count = launch      ? launch->buffer_count
                                        : has_table ? 0
                                                    : func->param_count - 1,
                         .register_count = func->value_count * most_lanes(func->body)};
  emit_block(&e, func->body);
  hlo_status_t status = e.failure;
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&e.body);
  if (hlo_status_is_ok(status)) print_kernel(&e, out);
  hlo_strbuf_deinit(&e.body);
  return status;
}

static void print_blobs(const hlo_vir_module_t* module, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    const hlo_vir_blob_t* blob = &module->blobs[i];
    const size_t size = blob->size_bytes ? blob->size_bytes : 1;
    hlo_strbuf_printf(out, "\n.global .align 64 .b8 blob_%" PRIu32 "[%zu] = {", i, size);
    for (size_t at = 0; at < size; ++at) {
      hlo_strbuf_printf(out, "%s%s%u", at ? "," : "", at % 32 ? "" : "\n  ",
                        blob->size_bytes ? blob->bytes[at] : 0u);
    }
    hlo_strbuf_puts(out, "};\n");
  }
}

// Returns the version that all matrix instructions of a block exist in.
static uint32_t version_of(const hlo_vir_block_t* block, const hlo_ptx_target_t* target) {
  uint32_t version = target->version;
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    const hlo_vir_block_t* const inside[] = {value->body, value->other_body};
    uint32_t needed = 0;
    if (value->op == HLO_VIR_frag_mma) needed = hlo_ptx_atom_version(target, value->flags);
    if (value->op == HLO_VIR_frag_scaled_mma) {
      needed = hlo_ptx_atom_version(target, value->flags & 63);
    }
    if (needed > version) version = needed;
    for (uint32_t i = 0; i < 2; ++i) {
      needed = inside[i] ? version_of(inside[i], target) : 0;
      if (needed > version) version = needed;
    }
  }
  return version;
}

hlo_status_t hlo_ptx_emit(const hlo_vir_module_t* module, const hlo_ptx_target_t* target,
                          const hlo_ptx_launch_t* launches, hlo_strbuf_t* out) {
  char name[HLO_PTX_NAME_BYTES];
  uint32_t version = target->version;
  bool is_large = false;
  for (const hlo_vir_func_t* func = module->first_func; func; func = func->next) {
    const uint32_t needed = version_of(func->body, target);
    if (needed > version) version = needed;
    is_large |= launches && launches[func->index].shared_bytes > HLO_PTX_STATIC_SHARED_BYTES;
  }
  hlo_ptx_target_name(target, name);
  hlo_strbuf_printf(out, ".version %u.%u\n.target %s\n.address_size 64\n", version / 10,
                    version % 10, name);
  if (is_large) hlo_strbuf_puts(out, "\n.extern .shared .align 1024 .b8 near_memory[];\n");
  print_blobs(module, out);
  for (const hlo_vir_func_t* func = module->first_func; func; func = func->next) {
    const bool is_group = launches && launches[func->index].thread_count;
    HLO_TRY(emit_func(func, target, is_group ? &launches[func->index] : NULL, out));
  }
  return hlo_strbuf_status(out);
}
