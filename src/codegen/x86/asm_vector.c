// SPDX-License-Identifier: Apache-2.0
// Vector instructions: VEX and EVEX prefixes (see asm.h).
// source: Intel SDM volume 2, sections 2.3 (VEX) and 2.7 (EVEX)
#include "codegen/x86/asm_impl.h"
#include "codegen/x86/sse.h"

#define PREFIX_NONE \
  { HLO_X86_W_NONE, 0, false }
#define PREFIX_VEX0(f) \
  { HLO_X86_W0, HLO_CPU_##f, false }
#define PREFIX_VEX1(f) \
  { HLO_X86_W1, HLO_CPU_##f, false }
#define PREFIX_VEXW(f) \
  { HLO_X86_W_SIZE, HLO_CPU_##f, false }
#define PREFIX_EVEX0(f) \
  { HLO_X86_W0, HLO_CPU_##f, true }
#define PREFIX_EVEX1(f) \
  { HLO_X86_W1, HLO_CPU_##f, true }
#define PREFIX_EVEX0_NO_MASK(f) \
  { HLO_X86_W0, HLO_CPU_##f, false }
#define PREFIX_EVEX1_NO_MASK(f) \
  { HLO_X86_W1, HLO_CPU_##f, false }
#define HLO_X86_PP_NP HLO_X86_NO_PREFIX
#define HLO_X86_PP_P66 HLO_X86_P66
#define HLO_X86_PP_PF3 HLO_X86_PF3
#define HLO_X86_PP_PF2 HLO_X86_PF2

const hlo_x86_row_t hlo_x86_rows[HLO_X86_INSN_COUNT] = {
#define HLO_X86_VECTOR(id, form, reg, vvvv, rm, pp, map, opcode, digit, vex, evex, tuple, element, \
                       lengths)                                                                    \
  {HLO_X86_FORM_##form,                                                                            \
   HLO_X86_KIND_##reg,                                                                             \
   HLO_X86_KIND_##vvvv,                                                                            \
   HLO_X86_KIND_##rm,                                                                              \
   HLO_X86_PP_##pp,                                                                                \
   HLO_X86_##map,                                                                                  \
   opcode,                                                                                         \
   digit,                                                                                          \
   PREFIX_##vex,                                                                                   \
   PREFIX_##evex,                                                                                  \
   HLO_X86_TUPLE_##tuple,                                                                          \
   element,                                                                                        \
   HLO_X86_##lengths},
#include "codegen/x86/insn.def"
};

static const char* const kNames[HLO_X86_INSN_COUNT] = {
#define HLO_X86_VECTOR(id, ...) #id,
#include "codegen/x86/insn.def"
};

enum { MASK_BITS = 7 };

const char* hlo_x86_insn_name(hlo_x86_insn_t insn) {
  return kNames[insn];
}

static bool has_prefix(hlo_x86_prefix_t prefix, uint64_t features) {
  return prefix.w != HLO_X86_W_NONE && (features >> prefix.feature & 1);
}

bool hlo_x86_insn_is_available(hlo_x86_insn_t insn, uint64_t features) {
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  if (hlo_x86_is_sse(features)) return hlo_x86_sse_is_available(insn, features);
  return has_prefix(row->vex, features) || has_prefix(row->evex, features);
}

unsigned hlo_x86_row_length(const hlo_x86_row_t* row, unsigned width) {
  unsigned lengths = row->lengths;
  if (lengths == HLO_X86_SIZE) return width == 4 || width == 8 ? 16 : 0;
  if ((lengths & (lengths - 1)) == 0) return lengths;  // the only one
  bool is_one = width && (width & (width - 1)) == 0;
  return is_one ? lengths & width : 0;
}

unsigned hlo_x86_row_memory_bytes(const hlo_x86_row_t* row, unsigned length, bool is_splat) {
  if (is_splat) return row->element_bytes;
  switch ((hlo_x86_tuple_t)row->tuple) {
    case HLO_X86_TUPLE_FV:
    case HLO_X86_TUPLE_FVM: return length;
    case HLO_X86_TUPLE_HV:
    case HLO_X86_TUPLE_HVM: return length / 2;
    case HLO_X86_TUPLE_QVM: return length / 4;
    case HLO_X86_TUPLE_OVM: return length / 8;
    case HLO_X86_TUPLE_T1: return row->element_bytes;
    case HLO_X86_TUPLE_T4: return 4u * row->element_bytes;
    case HLO_X86_TUPLE_M128: return 16;
    case HLO_X86_TUPLE_REG: break;
  }
  return 0;
}

// The parts of one instruction.
typedef struct encoding {
  const hlo_x86_row_t* row;
  const hlo_x86_rm_t* rm;
  unsigned reg, vvvv;  // numbers, 0 if absent
  unsigned length;     // bytes
  unsigned width;      // as asked for
  unsigned modifiers;
  bool has_vector_index;
} encoding_t;

static bool is_memory(const encoding_t* e) {
  return e->rm->kind != HLO_X86_REGISTER;
}

static bool is_below(unsigned reg, unsigned limit) {
  return reg < limit || reg == HLO_X86_NO_REG;
}

// Returns the number of registers of a kind; 0 if it cannot be a register.
static unsigned kind_registers(hlo_x86_kind_t kind) {
  switch (kind) {
    case HLO_X86_KIND_V:
    case HLO_X86_KIND_H:
    case HLO_X86_KIND_Q:
    case HLO_X86_KIND_O:
    case HLO_X86_KIND_X:
    case HLO_X86_KIND_Y: return 32;
    case HLO_X86_KIND_K:
    case HLO_X86_KIND_T: return 8;
    case HLO_X86_KIND_G:
    case HLO_X86_KIND_G4:
    case HLO_X86_KIND_G8: return 16;
    case HLO_X86_KIND__: return 1;
    case HLO_X86_KIND_M:
    case HLO_X86_KIND_S:
    case HLO_X86_KIND_IV:
    case HLO_X86_KIND_IH: break;
  }
  return 0;
}

// Assigns the register operands to the fields of the form.
static void place_operands(encoding_t* e, unsigned a, unsigned b) {
  switch ((hlo_x86_form_t)e->row->form) {
    case HLO_X86_FORM_RM:
    case HLO_X86_FORM_RMI:
    case HLO_X86_FORM_MR:
    case HLO_X86_FORM_MRI:
    case HLO_X86_FORM_R: e->reg = a; break;
    case HLO_X86_FORM_RVM:
    case HLO_X86_FORM_RVMI:
    case HLO_X86_FORM_RVMR:
    case HLO_X86_FORM_RMV: e->reg = a, e->vvvv = b; break;
    case HLO_X86_FORM_MVR: e->reg = b, e->vvvv = a; break;
    case HLO_X86_FORM_VMI: e->reg = e->row->digit, e->vvvv = a; break;
    case HLO_X86_FORM_M: e->reg = e->row->digit; break;
  }
}

static bool has_immediate(hlo_x86_form_t form) {
  return form == HLO_X86_FORM_RMI || form == HLO_X86_FORM_MRI || form == HLO_X86_FORM_RVMI ||
         form == HLO_X86_FORM_RVMR || form == HLO_X86_FORM_VMI;
}

// Returns true if the operands are of valid kinds, in either encoding.
static bool are_operands_valid(const encoding_t* e) {
  const hlo_x86_row_t* row = e->row;
  const hlo_x86_rm_t* rm = e->rm;
  if (!e->length) return false;
  bool has_digit = row->form == HLO_X86_FORM_VMI || row->form == HLO_X86_FORM_M;
  if (!has_digit && e->reg >= kind_registers(row->reg)) return false;
  if (e->vvvv >= kind_registers(row->vvvv)) return false;
  // The three tiles of a product must differ.
  bool are_tiles = row->vvvv == HLO_X86_KIND_T;
  if (are_tiles && (e->reg == e->vvvv || e->reg == rm->reg || e->vvvv == rm->reg)) return false;
  if (!is_memory(e)) return rm->reg < kind_registers(row->rm) && !rm->is_splat;
  if (row->tuple == HLO_X86_TUPLE_REG) return false;
  if (rm->is_splat && row->tuple > HLO_X86_TUPLE_HV) return false;
  bool has_rows = row->rm == HLO_X86_KIND_S;
  if (rm->kind == HLO_X86_RIP) return !e->has_vector_index && !has_rows;
  if (has_rows && rm->index == HLO_X86_NO_REG) return false;
  if (!is_below(rm->reg, 16)) return false;
  if (e->has_vector_index) return rm->index < 32;
  return is_below(rm->index, 16) && rm->index != HLO_X86_RSP;
}

static bool fits_vex(const encoding_t* e, uint64_t features) {
  const hlo_x86_row_t* row = e->row;
  if (!has_prefix(row->vex, features)) return false;
  if (e->modifiers || e->rm->is_splat || e->length > 32) return false;
  if (e->reg >= 16 || e->vvvv >= 16) return false;
  if (!is_memory(e)) return e->rm->reg < 16;
  if (e->has_vector_index && e->rm->index >= 16) return false;
  return row->form != HLO_X86_FORM_VMI;  // shifts of memory by an immediate need EVEX
}

static bool fits_evex(const encoding_t* e, uint64_t features) {
  const hlo_x86_row_t* row = e->row;
  if (!has_prefix(row->evex, features)) return false;
  unsigned mask = e->modifiers & MASK_BITS;
  if (mask && !row->evex.may_mask) return false;
  if ((e->modifiers & HLO_X86_ZERO) && !mask) return false;
  return !e->has_vector_index || mask;
}

static unsigned w_bit(hlo_x86_prefix_t prefix, unsigned width) {
  return prefix.w == HLO_X86_W1 || (prefix.w == HLO_X86_W_SIZE && width == 8);
}

// Bit 3 of base (or register) and index.
static unsigned b_bit(const encoding_t* e) {
  return e->rm->reg == HLO_X86_NO_REG ? 0 : e->rm->reg >> 3 & 1;
}
static unsigned x_bit(const encoding_t* e) {
  return e->rm->index == HLO_X86_NO_REG ? 0 : e->rm->index >> 3 & 1;
}

static void put_vex(hlo_x86_asm_t* as, const encoding_t* e) {
  const hlo_x86_row_t* row = e->row;
  unsigned w = w_bit(row->vex, e->width);
  unsigned not_r = ~e->reg >> 3 & 1;
  unsigned low = (~e->vvvv & 15) << 3 | (e->length == 32) << 2 | row->pp;
  unsigned x = x_bit(e), b = b_bit(e);
  if (!x && !b && !w && row->map == HLO_X86_M0F) {
    hlo_x86_put8(as, 0xc5);
    hlo_x86_put8(as, not_r << 7 | low);
    return;
  }
  hlo_x86_put8(as, 0xc4);
  hlo_x86_put8(as, not_r << 7 | (!x) << 6 | (!b) << 5 | row->map);
  hlo_x86_put8(as, w << 7 | low);
}

static void put_evex(hlo_x86_asm_t* as, const encoding_t* e) {
  const hlo_x86_row_t* row = e->row;
  // For a register in rm, bit 4 is encoded where an index has bit 3.
  unsigned x = is_memory(e) ? x_bit(e) : e->rm->reg >> 4 & 1;
  unsigned high = e->has_vector_index ? e->rm->index >> 4 & 1 : e->vvvv >> 4 & 1;
  hlo_x86_put8(as, 0x62);
  hlo_x86_put8(as, (~e->reg >> 3 & 1) << 7 | (!x) << 6 | (!b_bit(e)) << 5 |
                       (~e->reg >> 4 & 1) << 4 | row->map);
  hlo_x86_put8(as, w_bit(row->evex, e->width) << 7 | (~e->vvvv & 15) << 3 | 1 << 2 | row->pp);
  hlo_x86_put8(as, ((e->modifiers & HLO_X86_ZERO) != 0) << 7 | (e->length >> 5) << 5 |
                       e->rm->is_splat << 4 | (!high) << 3 | (e->modifiers & MASK_BITS));
}

void hlo_x86_vector(hlo_x86_asm_t* as, hlo_x86_insn_t insn, unsigned width, unsigned a, unsigned b,
                    hlo_x86_rm_t rm, unsigned imm, unsigned modifiers) {
  if (hlo_x86_is_sse(as->features)) {
    hlo_x86_sse_vector(as, insn, width, a, b, rm, imm, modifiers);
    return;
  }
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  encoding_t e = {.row = row,
                  .rm = &rm,
                  .length = hlo_x86_row_length(row, width),
                  .width = width,
                  .modifiers = modifiers,
                  .has_vector_index = row->rm == HLO_X86_KIND_IV || row->rm == HLO_X86_KIND_IH};
  if (!hlo_x86_begin(as)) return;
  place_operands(&e, a, b);
  unsigned disp8_unit = 1, imm_bytes = has_immediate(row->form);
  if (!are_operands_valid(&e)) goto no_such_form;
  if (fits_vex(&e, as->features)) {
    put_vex(as, &e);
  } else if (fits_evex(&e, as->features)) {
    put_evex(as, &e);
    if (is_memory(&e)) disp8_unit = hlo_x86_row_memory_bytes(row, e.length, rm.is_splat);
  } else {
    goto no_such_form;
  }
  hlo_x86_put8(as, row->opcode);
  hlo_x86_put_rm(as, e.reg, &rm, disp8_unit, imm_bytes);
  if (imm_bytes) hlo_x86_put8(as, imm);
  return;
no_such_form:
  hlo_x86_fail(as, hlo_internal_error("x86 assembler: no form of %s with width %u, registers %u "
                                      "and %u, rm of kind %u, modifiers %#x",
                                      kNames[insn], width, a, b, rm.kind, modifiers));
}
