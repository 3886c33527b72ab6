// SPDX-License-Identifier: Apache-2.0
// The assembler's buffer, labels, memory operands and instructions of general registers (see
// asm.h). source: Intel SDM volume 2, section 2.1 (ModRM, SIB), 2.2.1 (REX)
#include <string.h>

#include "codegen/x86/asm_impl.h"

enum {
  INSN_BYTES = 16,  // the longest instruction has 15
  FIRST_BYTES = 1024,
  LIMIT_BYTES = 1 << 30,  // so that every distance fits 32 bits
};

// ---- buffer

void hlo_x86_asm_init(hlo_x86_asm_t* as, uint64_t features) {
  *as = (hlo_x86_asm_t){.features = features};
}

void hlo_x86_asm_deinit(hlo_x86_asm_t* as) {
  hlo_mem_free(as->bytes);
  hlo_vec_deinit(&as->labels);
  hlo_vec_deinit(&as->fixups);
  hlo_status_release(as->status);
  *as = (hlo_x86_asm_t){0};
}

void hlo_x86_fail(hlo_x86_asm_t* as, hlo_status_t status) {
  if (hlo_status_is_ok(as->status)) {
    as->status = status;
  } else {
    hlo_status_release(status);
  }
}

hlo_status_t hlo_x86_asm_status(const hlo_x86_asm_t* as) {
  return hlo_status_is_ok(as->status) ? hlo_ok() : hlo_status_clone(as->status);
}

static bool reserve(hlo_x86_asm_t* as, size_t size_bytes) {
  if (HLO_UNLIKELY(!hlo_status_is_ok(as->status))) return false;
  if (HLO_LIKELY(as->capacity_bytes - as->size_bytes >= size_bytes)) return true;
  size_t wanted;
  if (!hlo_size_add(as->size_bytes, size_bytes, &wanted) || wanted > LIMIT_BYTES) {
    hlo_x86_fail(as, hlo_resource_exhausted("machine code of more than %d bytes", LIMIT_BYTES));
    return false;
  }
  size_t capacity = as->capacity_bytes ? 2 * as->capacity_bytes : FIRST_BYTES;
  if (capacity < wanted) capacity = wanted;
  uint8_t* bytes = hlo_mem_realloc(as->bytes, capacity);
  if (!bytes) {
    hlo_x86_fail(as, hlo_status_out_of_memory(capacity));
    return false;
  }
  as->bytes = bytes;
  as->capacity_bytes = capacity;
  return true;
}

bool hlo_x86_begin(hlo_x86_asm_t* as) {
  return reserve(as, INSN_BYTES);
}

void hlo_x86_data(hlo_x86_asm_t* as, const void* bytes, size_t size_bytes) {
  if (size_bytes == 0 || !reserve(as, size_bytes)) return;
  memcpy(as->bytes + as->size_bytes, bytes, size_bytes);
  as->size_bytes += size_bytes;
}

// The recommended nops of each length.
static const uint8_t kNops[9][9] = {
    {0x90},
    {0x66, 0x90},
    {0x0f, 0x1f, 0x00},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
    {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};

void hlo_x86_align(hlo_x86_asm_t* as, size_t alignment, bool is_code) {
  size_t padding = -as->size_bytes & (alignment - 1);
  if (padding == 0 || !reserve(as, padding)) return;
  if (!is_code) {
    memset(as->bytes + as->size_bytes, 0, padding);
    as->size_bytes += padding;
    return;
  }
  while (padding) {
    size_t length = padding < 9 ? padding : 9;
    hlo_x86_data(as, kNops[length - 1], length);
    padding -= length;
  }
}

// ---- labels

hlo_x86_label_t hlo_x86_label_create(hlo_x86_asm_t* as) {
  if (!hlo_vec_push(&as->labels, -1)) {
    hlo_x86_fail(as, hlo_status_out_of_memory(sizeof(int64_t)));
    return 0;
  }
  return (hlo_x86_label_t)(as->labels.count - 1);
}

void hlo_x86_label_bind(hlo_x86_asm_t* as, hlo_x86_label_t label) {
  if (hlo_status_is_ok(as->status)) as->labels.items[label] = (int64_t)as->size_bytes;
}

// Appends a 32-bit field for hlo_x86_asm_finish() to fill in.
static void put_fixup(hlo_x86_asm_t* as, hlo_x86_label_t label, int32_t addend) {
  hlo_x86_fixup_t fixup = {(uint32_t)as->size_bytes, label, addend};
  if (!hlo_vec_push(&as->fixups, fixup)) {
    hlo_x86_fail(as, hlo_status_out_of_memory(sizeof fixup));
  }
  hlo_x86_put(as, 0, 4);
}

static bool resolve(hlo_x86_asm_t* as, const hlo_x86_fixup_t* fixup) {
  int64_t target = as->labels.items[fixup->label];
  if (target < 0) return false;
  int64_t distance = target + fixup->addend - ((int64_t)fixup->offset_bytes + 4);
  if (distance != (int32_t)distance) return false;
  int32_t value = (int32_t)distance;
  memcpy(as->bytes + fixup->offset_bytes, &value, sizeof value);
  return true;
}

void hlo_x86_asm_settle(hlo_x86_asm_t* as, size_t first_fixup) {
  if (!hlo_status_is_ok(as->status)) return;
  size_t left = first_fixup;
  for (size_t i = first_fixup; i < as->fixups.count; i++) {
    const hlo_x86_fixup_t fixup = as->fixups.items[i];
    if (!resolve(as, &fixup)) as->fixups.items[left++] = fixup;
  }
  as->fixups.count = left;
}

void hlo_x86_asm_append(hlo_x86_asm_t* as, const hlo_x86_asm_t* other, const hlo_x86_label_t* map) {
  size_t start = as->size_bytes;
  hlo_x86_data(as, other->bytes, other->size_bytes);
  for (size_t i = 0; i < other->fixups.count && hlo_status_is_ok(as->status); i++) {
    hlo_x86_fixup_t fixup = other->fixups.items[i];
    fixup.offset_bytes += (uint32_t)start;
    fixup.label = map[fixup.label];
    if (!hlo_vec_push(&as->fixups, fixup)) {
      hlo_x86_fail(as, hlo_status_out_of_memory(sizeof fixup));
    }
  }
}

hlo_status_t hlo_x86_asm_finish(hlo_x86_asm_t* as) {
  for (size_t i = 0; i < as->fixups.count && hlo_status_is_ok(as->status); i++) {
    if (resolve(as, &as->fixups.items[i])) continue;
    hlo_x86_fail(as, hlo_internal_error(
                         "x86 assembler: label %u, used at offset %u, is not bound or too far",
                         as->fixups.items[i].label, as->fixups.items[i].offset_bytes));
  }
  as->fixups.count = 0;
  hlo_status_t status = as->status;
  as->status = hlo_ok();
  return status;
}

// ---- memory operands

enum { NEEDS_SIB = 4, NO_BASE = 5, NO_INDEX = 4, MOD_REGISTER = 3 };

static void put_modrm(hlo_x86_asm_t* as, unsigned mod, unsigned reg, unsigned rm) {
  hlo_x86_put8(as, mod << 6 | (reg & 7) << 3 | (rm & 7));
}

void hlo_x86_put_rm(hlo_x86_asm_t* as, unsigned reg, const hlo_x86_rm_t* rm, unsigned disp8_unit,
                    unsigned trailing_bytes) {
  if (rm->kind == HLO_X86_REGISTER) {
    put_modrm(as, MOD_REGISTER, reg, rm->reg);
    return;
  }
  if (rm->kind == HLO_X86_RIP) {
    put_modrm(as, 0, reg, NO_BASE);
    put_fixup(as, rm->label, rm->disp - (int32_t)trailing_bytes);
    return;
  }
  bool has_base = rm->reg != HLO_X86_NO_REG, has_index = rm->index != HLO_X86_NO_REG;
  unsigned base = has_base ? rm->reg & 7 : NO_BASE;
  int32_t short_disp = rm->disp / (int32_t)disp8_unit;
  bool is_short = short_disp == (int8_t)short_disp && short_disp * (int32_t)disp8_unit == rm->disp;
  unsigned mod = 0, disp_bytes = 4;
  if (has_base) {
    if (rm->disp == 0 && base != NO_BASE) {
      disp_bytes = 0;
    } else {
      mod = is_short ? 1 : 2;
      disp_bytes = is_short ? 1 : 4;
    }
  }
  if (has_index || !has_base || base == NEEDS_SIB) {
    put_modrm(as, mod, reg, NEEDS_SIB);
    unsigned index = has_index ? rm->index & 7 : NO_INDEX;
    hlo_x86_put8(as, (unsigned)(rm->log2_scale & 3) << 6 | index << 3 | base);
  } else {
    put_modrm(as, mod, reg, base);
  }
  hlo_x86_put(as, (uint64_t)(int64_t)(disp_bytes == 1 ? short_disp : rm->disp), disp_bytes);
}

// ---- general registers

typedef enum immediate { NO_IMM, I8, I32, I8_32 } immediate_t;
enum { S4 = 4, S8 = 8, S48 = 4 | 8, S1248 = 1 | 2 | 4 | 8 };

typedef struct scalar_row {
  uint8_t pp, map;
  uint8_t rm, mr, m, mi;  // opcodes, 0: no such form
  uint8_t digit, immediate, sizes;
} scalar_row_t;

#define HLO_X86_PP_NP HLO_X86_NO_PREFIX
#define HLO_X86_PP_PF3 HLO_X86_PF3
#define HLO_X86_PP_LOCK HLO_X86_LOCK
static const scalar_row_t kScalarRows[HLO_X86_SCALAR_COUNT] = {
#define HLO_X86_GPR(id, pp, map, rm, mr, m, mi, digit, immediate, sizes) \
  {HLO_X86_PP_##pp, HLO_X86_##map, rm, mr, m, mi, digit, immediate, sizes},
#include "codegen/x86/insn.def"
};

static const char* const kScalarNames[HLO_X86_SCALAR_COUNT] = {
#define HLO_X86_GPR(id, ...) #id,
#include "codegen/x86/insn.def"
};

// spl to dil need a REX prefix; without it their encodings mean ah to bh.
static bool needs_byte_rex(unsigned reg) {
  return reg >= 4 && reg < 8;
}

// Emits an instruction from prefixes to displacement; `is_byte_reg` and `is_byte_rm` mark byte
// register operands.
static void put_scalar(hlo_x86_asm_t* as, hlo_x86_pp_t pp, hlo_x86_map_t map, unsigned opcode,
                       unsigned size, unsigned reg, const hlo_x86_rm_t* rm, bool is_byte_reg,
                       bool is_byte_rm, unsigned imm_bytes) {
  static const uint8_t kPrefixes[] = {0, 0x66, 0xf3, 0xf2, 0xf0};
  if (size == 2) hlo_x86_put8(as, 0x66);
  if (pp) hlo_x86_put8(as, kPrefixes[pp]);
  unsigned b = rm->reg == HLO_X86_NO_REG ? 0 : rm->reg >> 3 & 1;
  unsigned x = rm->index == HLO_X86_NO_REG ? 0 : rm->index >> 3 & 1;
  unsigned rex = (size == 8) << 3 | (reg >> 3 & 1) << 2 | x << 1 | b;
  bool is_forced = (is_byte_reg && needs_byte_rex(reg)) ||
                   (is_byte_rm && rm->kind == HLO_X86_REGISTER && needs_byte_rex(rm->reg));
  if (rex || is_forced) hlo_x86_put8(as, 0x40 | rex);
  if (map != HLO_X86_M00) hlo_x86_put8(as, 0x0f);
  hlo_x86_put8(as, opcode);
  hlo_x86_put_rm(as, reg, rm, 1, imm_bytes);
}

static bool is_scalar_valid(unsigned opcode, const scalar_row_t* row, unsigned size, unsigned reg,
                            const hlo_x86_rm_t* rm) {
  bool is_size = size && (size & (size - 1)) == 0 && (row->sizes & size);
  if (!opcode || !is_size || reg >= 16 || rm->is_splat) return false;
  if (rm->kind == HLO_X86_REGISTER) return rm->reg < 16 && row->pp != HLO_X86_LOCK;
  return (rm->reg < 16 || rm->reg == HLO_X86_NO_REG) &&
         (rm->index < 16 || rm->index == HLO_X86_NO_REG) && rm->index != HLO_X86_RSP;
}

// Returns false and sets the error if there is no such form.
static bool begin_scalar(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned opcode, unsigned size,
                         unsigned reg, const hlo_x86_rm_t* rm) {
  if (!hlo_x86_begin(as)) return false;
  if (is_scalar_valid(opcode, &kScalarRows[insn], size, reg, rm)) return true;
  hlo_x86_fail(as, hlo_internal_error(
                       "x86 assembler: no form of %s with size %u, register %u and rm of kind %u",
                       kScalarNames[insn], size, reg, rm->kind));
  return false;
}

// Opcodes of byte operands are one less.
static unsigned sized_opcode(unsigned opcode, unsigned size) {
  return size == 1 ? opcode - 1 : opcode;
}

void hlo_x86_rm(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, unsigned reg,
                hlo_x86_rm_t rm) {
  const scalar_row_t* row = &kScalarRows[insn];
  if (!begin_scalar(as, insn, row->rm, size, reg, &rm)) return;
  bool is_from_byte = size == 1 || insn == HLO_X86_movzx_8 || insn == HLO_X86_movsx_8;
  put_scalar(as, row->pp, row->map, sized_opcode(row->rm, size), size, reg, &rm, size == 1,
             is_from_byte, 0);
}

void hlo_x86_mr(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm,
                unsigned reg) {
  const scalar_row_t* row = &kScalarRows[insn];
  if (!begin_scalar(as, insn, row->mr, size, reg, &rm)) return;
  put_scalar(as, row->pp, row->map, sized_opcode(row->mr, size), size, reg, &rm, size == 1,
             size == 1, 0);
}

void hlo_x86_mi(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm,
                int32_t imm) {
  const scalar_row_t* row = &kScalarRows[insn];
  if (!begin_scalar(as, insn, row->mi, size, row->digit, &rm)) return;
  unsigned opcode = sized_opcode(row->mi, size), imm_bytes = size < 4 ? size : 4;
  if (row->immediate == I8) imm_bytes = 1;
  if (row->immediate == I8_32 && size > 1 && imm == (int8_t)imm) {
    opcode |= 2;
    imm_bytes = 1;
  }
  put_scalar(as, row->pp, row->map, opcode, size, row->digit, &rm, false, size == 1, imm_bytes);
  hlo_x86_put(as, (uint64_t)(int64_t)imm, imm_bytes);
}

void hlo_x86_m(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, unsigned size, hlo_x86_rm_t rm) {
  const scalar_row_t* row = &kScalarRows[insn];
  if (!begin_scalar(as, insn, row->m, size, row->digit, &rm)) return;
  put_scalar(as, row->pp, row->map, sized_opcode(row->m, size), size, row->digit, &rm, false,
             size == 1, 0);
}

void hlo_x86_imul_imm(hlo_x86_asm_t* as, unsigned size, unsigned reg, hlo_x86_rm_t rm,
                      int32_t imm) {
  enum { IMUL_IMM32 = 0x69, IMUL_IMM8 = 0x6b };
  if (!begin_scalar(as, HLO_X86_imul, IMUL_IMM32, size, reg, &rm)) return;
  bool is_short = imm == (int8_t)imm;
  unsigned imm_bytes = is_short ? 1 : 4;
  put_scalar(as, HLO_X86_NO_PREFIX, HLO_X86_M00, is_short ? IMUL_IMM8 : IMUL_IMM32, size, reg, &rm,
             false, false, imm_bytes);
  hlo_x86_put(as, (uint64_t)(int64_t)imm, imm_bytes);
}

void hlo_x86_mov_imm(hlo_x86_asm_t* as, unsigned reg, int64_t imm) {
  enum { MOV_REG_IMM = 0xb8 };
  if (imm < 0 && imm == (int32_t)imm) {
    hlo_x86_mi(as, HLO_X86_mov, 8, hlo_x86_reg(reg), (int32_t)imm);
    return;
  }
  if (!hlo_x86_begin(as)) return;
  bool is_wide = (uint64_t)imm > UINT32_MAX;
  unsigned rex = is_wide << 3 | (reg >> 3 & 1);
  if (rex) hlo_x86_put8(as, 0x40 | rex);
  hlo_x86_put8(as, MOV_REG_IMM | (reg & 7));
  hlo_x86_put(as, (uint64_t)imm, is_wide ? 8 : 4);
}

void hlo_x86_setcc(hlo_x86_asm_t* as, hlo_x86_cc_t cc, unsigned reg) {
  enum { SETCC = 0x90 };
  hlo_x86_rm_t rm = hlo_x86_reg(reg);
  if (!hlo_x86_begin(as)) return;
  put_scalar(as, HLO_X86_NO_PREFIX, HLO_X86_M0F, SETCC | cc, 1, 0, &rm, false, true, 0);
}

void hlo_x86_cmov(hlo_x86_asm_t* as, hlo_x86_cc_t cc, unsigned size, unsigned reg,
                  hlo_x86_rm_t rm) {
  enum { CMOVCC = 0x40 };
  if (!hlo_x86_begin(as)) return;
  put_scalar(as, HLO_X86_NO_PREFIX, HLO_X86_M0F, CMOVCC | cc, size, reg, &rm, false, false, 0);
}

static void put_stack_op(hlo_x86_asm_t* as, unsigned opcode, unsigned reg) {
  if (!hlo_x86_begin(as)) return;
  if (reg >= 8) hlo_x86_put8(as, 0x41);
  hlo_x86_put8(as, opcode | (reg & 7));
}

void hlo_x86_push(hlo_x86_asm_t* as, unsigned reg) {
  put_stack_op(as, 0x50, reg);
}

void hlo_x86_pop(hlo_x86_asm_t* as, unsigned reg) {
  put_stack_op(as, 0x58, reg);
}

// ---- control

// Emits a short jump if the label is bound nearby; returns true if it did.
static bool put_short_jump(hlo_x86_asm_t* as, unsigned opcode, hlo_x86_label_t label) {
  int64_t target = as->labels.items[label];
  int64_t distance = target - ((int64_t)as->size_bytes + 2);
  if (target < 0 || distance < INT8_MIN) return false;
  hlo_x86_put8(as, opcode);
  hlo_x86_put8(as, (uint8_t)distance);
  return true;
}

void hlo_x86_jmp(hlo_x86_asm_t* as, hlo_x86_label_t label) {
  if (!hlo_x86_begin(as) || put_short_jump(as, 0xeb, label)) return;
  hlo_x86_put8(as, 0xe9);
  put_fixup(as, label, 0);
}

void hlo_x86_jcc(hlo_x86_asm_t* as, hlo_x86_cc_t cc, hlo_x86_label_t label) {
  if (!hlo_x86_begin(as) || put_short_jump(as, 0x70 | cc, label)) return;
  hlo_x86_put8(as, 0x0f);
  hlo_x86_put8(as, 0x80 | cc);
  put_fixup(as, label, 0);
}

void hlo_x86_call(hlo_x86_asm_t* as, hlo_x86_label_t label) {
  if (!hlo_x86_begin(as)) return;
  hlo_x86_put8(as, 0xe8);
  put_fixup(as, label, 0);
}

typedef struct bare_row {
  uint8_t size_bytes, bytes[5];
} bare_row_t;

static const bare_row_t kBareRows[HLO_X86_BARE_COUNT] = {
#define HLO_X86_BARE(id, ...) {sizeof((const uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}},
#include "codegen/x86/insn.def"
};

void hlo_x86_bare(hlo_x86_asm_t* as, hlo_x86_bare_t insn) {
  hlo_x86_data(as, kBareRows[insn].bytes, kBareRows[insn].size_bytes);
}
