// SPDX-License-Identifier: Apache-2.0
// Every row of insn.def, and of sse.def, against an independent decoder: registers low, high and
// mixed, all shapes of memory operands, vector lengths, masks and splats; mnemonic, operands,
// prefix and length must agree.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "codegen/x86/asm_impl.h"
#include "codegen/x86/sse.h"

#define BIT(feature) (1ull << HLO_CPU_##feature)

static const char* const kGprNames[4][16] = {
    {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b",
     "r13b", "r14b", "r15b"},
    {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w",
     "r14w", "r15w"},
    {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d",
     "r13d", "r14d", "r15d"},
    {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
     "r14", "r15"},
};

static unsigned log2_of(unsigned size) {
  return (unsigned)__builtin_ctz(size);
}

// One instruction, its text for failures, and what the decoder says.
typedef struct checked {
  const char* name;
  char what[160];
  const uint8_t* bytes;
  size_t size_bytes;
  ZydisDecodedInstruction insn;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  const ZydisDecodedOperand* visible[5];  // explicit ones without the mask
  unsigned visible_count;
} checked_t;

static ZydisDecoder decoder;

static void fail_checked(const checked_t* c, const char* format, ...) {
  char text[256], bytes[64] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (size_t i = 0; i < c->size_bytes && i < 16; i++) {
    snprintf(bytes + 3 * i, sizeof bytes - 3 * i, "%02x ", c->bytes[i]);
  }
  fail_msg("%s (%s) [%s]: %s", c->name, c->what, bytes, text);
}

static void decode(checked_t* c) {
  ZyanStatus status =
      ZydisDecoderDecodeFull(&decoder, c->bytes, c->size_bytes, &c->insn, c->operands);
  if (!ZYAN_SUCCESS(status)) fail_checked(c, "does not decode (%#x)", (unsigned)status);
  if (c->insn.length != c->size_bytes) {
    fail_checked(c, "decodes to %u of %zu bytes", c->insn.length, c->size_bytes);
  }
  char expected[32];
  snprintf(expected, sizeof expected, "%.*s", (int)strcspn(c->name, "_"), c->name);
  const char* actual = ZydisMnemonicGetString(c->insn.mnemonic);
  if (strcmp(expected, actual) != 0) fail_checked(c, "is %s", actual);
  c->visible_count = 0;
  for (unsigned i = 0; i < c->insn.operand_count; i++) {
    const ZydisDecodedOperand* operand = &c->operands[i];
    if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) continue;
    if (operand->encoding == ZYDIS_OPERAND_ENCODING_MASK) continue;
    if (c->visible_count < 5) c->visible[c->visible_count++] = operand;
  }
}

static void check_register(const checked_t* c, unsigned at, const char* expected) {
  if (at >= c->visible_count) fail_checked(c, "has no operand %u, expected %s", at, expected);
  const ZydisDecodedOperand* operand = c->visible[at];
  if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
    fail_checked(c, "operand %u is no register", at);
  const char* actual = ZydisRegisterGetString(operand->reg.value);
  if (strcmp(actual, expected) != 0) {
    fail_checked(c, "operand %u is %s, expected %s", at, actual, expected);
  }
}

static void check_immediate(const checked_t* c, unsigned at, uint64_t expected, unsigned bits) {
  if (at >= c->visible_count) fail_checked(c, "has no operand %u", at);
  const ZydisDecodedOperand* operand = c->visible[at];
  uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
  if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
      ((operand->imm.value.u ^ expected) & mask) != 0) {
    fail_checked(c, "operand %u is no immediate %llx", at, (unsigned long long)expected);
  }
}

static void register_name(hlo_x86_kind_t kind, unsigned length, unsigned size, unsigned reg,
                          char* text, size_t capacity) {
  switch (kind) {
    case HLO_X86_KIND_K: snprintf(text, capacity, "k%u", reg); return;
    case HLO_X86_KIND_T: snprintf(text, capacity, "tmm%u", reg); return;
    case HLO_X86_KIND_G4: snprintf(text, capacity, "%s", kGprNames[2][reg]); return;
    case HLO_X86_KIND_G8: snprintf(text, capacity, "%s", kGprNames[3][reg]); return;
    case HLO_X86_KIND_G: snprintf(text, capacity, "%s", kGprNames[log2_of(size)][reg]); return;
    case HLO_X86_KIND_H:
    case HLO_X86_KIND_IH: length /= 2; break;
    case HLO_X86_KIND_Q: length /= 4; break;
    case HLO_X86_KIND_O: length /= 8; break;
    case HLO_X86_KIND_X: length = 16; break;
    case HLO_X86_KIND_Y: length = 32; break;
    default: break;
  }
  const char* letter = length == 64 ? "z" : length == 32 ? "y" : "x";
  snprintf(text, capacity, "%smm%u", letter, reg);
}

// `index_name`: NULL without index.
static void check_memory(const checked_t* c, unsigned at, const hlo_x86_rm_t* rm,
                         const char* index_name, unsigned bytes) {
  if (at >= c->visible_count) fail_checked(c, "has no operand %u", at);
  const ZydisDecodedOperand* operand = c->visible[at];
  if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY) fail_checked(c, "operand %u is no memory", at);
  const ZydisDecodedOperandMem* mem = &operand->mem;
  const char* base = rm->kind == HLO_X86_RIP     ? "rip"
                     : rm->reg == HLO_X86_NO_REG ? "none"
                                                 : kGprNames[3][rm->reg];
  const char* actual = ZydisRegisterGetString(mem->base);
  if (strcmp(actual ? actual : "none", base) != 0) fail_checked(c, "base %s, not %s", actual, base);
  actual = ZydisRegisterGetString(mem->index);
  if (strcmp(actual ? actual : "none", index_name ? index_name : "none") != 0) {
    fail_checked(c, "index %s, expected %s", actual, index_name);
  }
  if (index_name && mem->scale != 1u << rm->log2_scale) fail_checked(c, "scale %u", mem->scale);
  if (rm->kind == HLO_X86_MEMORY && mem->disp.value != rm->disp) {
    fail_checked(c, "displacement %lld, expected %d", (long long)mem->disp.value, rm->disp);
  }
  if (bytes && operand->size != 8 * bytes) {
    fail_checked(c, "memory of %u bits, expected %u bytes", operand->size, bytes);
  }
}

// ---- shapes of memory operands

enum { NO = HLO_X86_NO_REG, UNIT = 1 << 20 };  // UNIT: times the unit of the 8-bit displacement

typedef struct memory_shape {
  uint8_t base, index, log2_scale;
  int32_t disp, units;  // disp + units * unit
} memory_shape_t;

static const memory_shape_t kShapes[] = {
    {HLO_X86_RAX, NO, 0, 0, 0},          {HLO_X86_RBX, NO, 0, 8, 0},
    {HLO_X86_RSP, NO, 0, 0, 0},          {HLO_X86_RBP, NO, 0, 0, 0},
    {HLO_X86_R12, NO, 0, 0, 0},          {HLO_X86_R13, NO, 0, 0, 0},
    {HLO_X86_RSP, NO, 0, 127, 0},        {HLO_X86_RBP, NO, 0, -128, 0},
    {HLO_X86_R13, NO, 0, 4096, 0},       {HLO_X86_R12, NO, 0, -129, 0},
    {HLO_X86_RAX, HLO_X86_RCX, 0, 0, 0}, {HLO_X86_R12, HLO_X86_R13, 3, 16, 0},
    {HLO_X86_RBP, HLO_X86_R15, 1, 0, 0}, {HLO_X86_RSP, HLO_X86_RBP, 2, -64, 0},
    {HLO_X86_R13, HLO_X86_R12, 0, 0, 0}, {HLO_X86_R9, HLO_X86_RDI, 3, 100000, 0},
    {NO, HLO_X86_RDX, 3, 100, 0},        {NO, NO, 0, 0x1000, 0},
    {HLO_X86_RDI, NO, 0, 0, 1},          {HLO_X86_RSI, NO, 0, 0, 127},
    {HLO_X86_R8, NO, 0, 0, 128},         {HLO_X86_R10, NO, 0, 0, -128},
    {HLO_X86_R11, NO, 0, 0, -129},       {HLO_X86_RDX, HLO_X86_R14, 2, 1, 64},
    {HLO_X86_R14, NO, 0, INT32_MIN, 0},  {HLO_X86_R15, NO, 0, INT32_MAX, 0},
};
enum { SHAPE_COUNT = sizeof kShapes / sizeof *kShapes };

static hlo_x86_rm_t shaped(const memory_shape_t* shape, unsigned unit) {
  return hlo_x86_mem_index(shape->base, shape->index, shape->log2_scale,
                           shape->disp + shape->units * (int32_t)unit);
}

// Bytes that the displacement should take.
static unsigned expected_disp_bits(const hlo_x86_rm_t* rm, unsigned unit) {
  if (rm->kind == HLO_X86_RIP || rm->reg == NO) return 32;
  bool is_rbp = (rm->reg & 7) == HLO_X86_RBP;
  if (rm->disp == 0 && !is_rbp) return 0;
  int32_t scaled = rm->disp / (int32_t)unit;
  return rm->disp % (int32_t)unit == 0 && scaled >= -128 && scaled <= 127 ? 8 : 32;
}

static void describe(checked_t* c, unsigned width, unsigned a, unsigned b, const hlo_x86_rm_t* rm,
                     unsigned modifiers) {
  snprintf(
      c->what, sizeof c->what,
      "width %u, a %u, b %u, rm kind %u reg %u index %u scale %u disp %d splat %d, modifiers %#x",
      width, a, b, rm->kind, rm->reg, rm->index, rm->log2_scale, rm->disp, rm->is_splat, modifiers);
}

// ---- vector rows

typedef struct vector_case {
  hlo_x86_insn_t insn;
  const hlo_x86_row_t* row;
  uint64_t features;
  unsigned width, length, a, b, imm, modifiers;
  hlo_x86_rm_t rm;
} vector_case_t;

static bool is_gather(const hlo_x86_row_t* row) {
  return row->rm == HLO_X86_KIND_IV || row->rm == HLO_X86_KIND_IH;
}

static bool is_memory_only(const hlo_x86_row_t* row) {
  return row->rm == HLO_X86_KIND_M || row->rm == HLO_X86_KIND_S || is_gather(row);
}

// A tile's rows in memory need the register with the step between them.
static bool lacks_step(const vector_case_t* v) {
  return v->row->rm == HLO_X86_KIND_S && (v->rm.kind != HLO_X86_MEMORY || v->rm.index == NO);
}

static bool has_equal_tiles(const vector_case_t* v) {
  return v->row->vvvv == HLO_X86_KIND_T && (v->a == v->b || v->a == v->rm.reg || v->b == v->rm.reg);
}

static bool has_feature(hlo_x86_prefix_t prefix, uint64_t features) {
  return prefix.w != HLO_X86_W_NONE && (features >> prefix.feature & 1);
}

static bool needs_evex(const vector_case_t* v) {
  bool is_memory = v->rm.kind != HLO_X86_REGISTER;
  unsigned high = v->a > 15 || v->b > 15 || (!is_memory && v->rm.reg > 15) ||
                  (is_gather(v->row) && v->rm.index > 15);
  return high || v->modifiers || v->rm.is_splat || v->length == 64 ||
         (is_memory && v->row->form == HLO_X86_FORM_VMI);
}

// The operand that Intel writes at each place: r, v, m, i, or 4 for the register in the immediate.
static const char* const kForms[] = {
    [HLO_X86_FORM_RM] = "rm",     [HLO_X86_FORM_RMI] = "rmi", [HLO_X86_FORM_MR] = "mr",
    [HLO_X86_FORM_MRI] = "mri",   [HLO_X86_FORM_RVM] = "rvm", [HLO_X86_FORM_RVMI] = "rvmi",
    [HLO_X86_FORM_RVMR] = "rvm4", [HLO_X86_FORM_RMV] = "rmv", [HLO_X86_FORM_MVR] = "mvr",
    [HLO_X86_FORM_VMI] = "vmi",   [HLO_X86_FORM_R] = "r",     [HLO_X86_FORM_M] = "m",
};

static void check_rm(const checked_t* c, const vector_case_t* v, unsigned at) {
  const hlo_x86_row_t* row = v->row;
  char name[16];
  if (v->rm.kind == HLO_X86_REGISTER) {
    register_name(row->rm, v->length, v->width, v->rm.reg, name, sizeof name);
    check_register(c, at, name);
    return;
  }
  const char* index = NULL;
  if (v->rm.kind == HLO_X86_MEMORY && v->rm.index != NO) {
    index = name;
    hlo_x86_kind_t kind = is_gather(row) ? (hlo_x86_kind_t)row->rm : HLO_X86_KIND_G8;
    register_name(kind, v->length, 0, v->rm.index, name, sizeof name);
  }
  unsigned bytes = hlo_x86_row_memory_bytes(row, v->length, v->rm.is_splat);
  if (row->lengths == HLO_X86_SIZE) bytes = v->width;
  check_memory(c, at, &v->rm, index, bytes);
}

static void check_vector_operands(const checked_t* c, const vector_case_t* v) {
  const hlo_x86_row_t* row = v->row;
  bool swapped = row->form == HLO_X86_FORM_MVR, digit = row->form == HLO_X86_FORM_VMI;
  unsigned reg = swapped ? v->b : v->a, vvvv = swapped || digit ? v->a : v->b;
  unsigned at = 0;
  char name[16];
  for (const char* place = kForms[row->form]; *place; place++, at++) {
    switch (*place) {
      case 'r':
        register_name(row->reg, v->length, v->width, reg, name, sizeof name);
        check_register(c, at, name);
        break;
      case 'v':
        register_name(row->vvvv, v->length, v->width, vvvv, name, sizeof name);
        check_register(c, at, name);
        break;
      case 'm': check_rm(c, v, at); break;
      case 'i': check_immediate(c, at, v->imm, 8); break;
      default:
        register_name(HLO_X86_KIND_V, v->length, 0, v->imm >> 4, name, sizeof name);
        check_register(c, at, name);
    }
  }
  if (at != c->visible_count) fail_checked(c, "has %u operands, expected %u", c->visible_count, at);
}

static void check_modifiers(const checked_t* c, const vector_case_t* v) {
  const ZydisDecodedInstructionAvx* avx = &c->insn.avx;
  unsigned mask = v->modifiers & 7;
  unsigned actual =
      avx->mask.reg == ZYDIS_REGISTER_NONE ? 0 : (unsigned)(avx->mask.reg - ZYDIS_REGISTER_K0);
  if (mask != actual) fail_checked(c, "mask %u, expected %u", actual, mask);
  bool zeroes = c->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && c->insn.raw.evex.z;
  if (zeroes != ((v->modifiers & HLO_X86_ZERO) != 0)) fail_checked(c, "zeroing is %d", zeroes);
  bool splats = avx->broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !avx->broadcast.is_static;
  if (splats != v->rm.is_splat) fail_checked(c, "splat is %d", splats);
  if (avx->rounding.mode != ZYDIS_ROUNDING_MODE_INVALID) {
    fail_checked(c, "rounding %d", (int)avx->rounding.mode);
  }
}

// "AVX512F_256" and "AVX512_BITALG_512" belong to AVX512F and AVX512BITALG.
static bool is_of_set(const char* set, const char* feature) {
  size_t length = 0;
  char plain[64];
  for (; *set && length + 1 < sizeof plain; set++) {
    if (*set != '_') plain[length++] = *set;
  }
  plain[length] = 0;
  length = strlen(feature);
  if (strncmp(plain, feature, length) != 0) return false;
  const char* rest = plain + length;
  const char* const kRests[] = {"", "128", "256", "512", "128N", "SCALAR", "KOP", "GATHER"};
  for (size_t i = 0; i < sizeof kRests / sizeof *kRests; i++) {
    if (strcmp(rest, kRests[i]) == 0) return true;
  }
  return false;
}

// The feature of the row is the one that the decoder knows for the instruction.
static void check_feature(const checked_t* c, const hlo_x86_row_t* row, bool is_vex) {
  static const char* const kFeatures[HLO_CPU_FEATURE_COUNT] = {
#define HLO_CPU_FEATURE(id, ...) [HLO_CPU_##id] = #id,
#include "base/cpu.def"
#undef HLO_CPU_FEATURE
  };
  hlo_x86_prefix_t prefix = is_vex ? row->vex : row->evex;
  const char* set = ZydisISASetGetString(c->insn.meta.isa_set);
  const char* feature = kFeatures[prefix.feature];
  if (strcmp(set, feature) == 0 || is_of_set(set, feature)) return;
  // Of AVX2 only the 128-bit form came with AVX; GFNI is a bit of its own beside AVX and AVX-512.
  if (prefix.feature == HLO_CPU_AVX2 && strcmp(set, "AVX") == 0) return;
  if (prefix.feature == HLO_CPU_GFNI && strstr(set, "GFNI")) return;
  fail_checked(c, "needs %s, the row says %s", set, feature);
}

// Not every version of the decoder knows tdpfp16ps, which is tdpbf16ps but for the prefix.
static void turn_into_bf16(checked_t* c, uint8_t* bytes) {
  enum { PREFIX_BITS = 3 };
  assert_int_equal(bytes[2] & PREFIX_BITS, HLO_X86_PF2);
  bytes[2] = (uint8_t)((bytes[2] & ~PREFIX_BITS) | HLO_X86_PF3);
  c->name = "tdpbf16ps";
}

// Assembles one case; it must fail exactly when no prefix can say it, else decode to itself.
static void check_vector(hlo_x86_asm_t* as, const vector_case_t* v) {
  const hlo_x86_row_t* row = v->row;
  as->size_bytes = 0;
  as->features = v->features;
  hlo_x86_vector(as, v->insn, v->width, v->a, v->b, v->rm, v->imm, v->modifiers);
  hlo_status_t status = hlo_x86_asm_finish(as);
  checked_t c = {
      .name = hlo_x86_insn_name(v->insn), .bytes = as->bytes, .size_bytes = as->size_bytes};
  describe(&c, v->width, v->a, v->b, &v->rm, v->modifiers);
  bool vex = has_feature(row->vex, v->features) && !needs_evex(v);
  bool evex = has_feature(row->evex, v->features) && (row->evex.may_mask || !(v->modifiers & 15)) &&
              !(is_gather(row) && !(v->modifiers & 7));
  bool is_ok = hlo_status_is_ok(status), is_sound = !lacks_step(v) && !has_equal_tiles(v);
  hlo_status_release(status);
  if (is_ok != ((vex || evex) && is_sound)) fail_checked(&c, "assembles: %d", is_ok);
  if (!is_ok) return;
  bool is_unknown = row->vex.feature == HLO_CPU_AMX_FP16;
  if (is_unknown) turn_into_bf16(&c, as->bytes);
  decode(&c);
  bool is_vex = c.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
  if (is_vex != vex) fail_checked(&c, "prefix VEX: %d", is_vex);
  if (!is_unknown) check_feature(&c, row, vex);
  check_vector_operands(&c, v);
  check_modifiers(&c, v);
  if (v->rm.kind == HLO_X86_REGISTER || is_gather(row)) return;
  unsigned unit = vex ? 1 : hlo_x86_row_memory_bytes(row, v->length, v->rm.is_splat);
  unsigned bits = expected_disp_bits(&v->rm, unit);
  if (c.insn.raw.disp.size != bits)
    fail_checked(&c, "displacement of %u bits", c.insn.raw.disp.size);
}

// Register numbers for reg, vvvv, rm.
static const uint8_t kRegisters[][3] = {{1, 2, 3},   {9, 10, 11}, {0, 15, 8}, {17, 18, 19},
                                        {31, 1, 24}, {2, 30, 7},  {8, 5, 16}, {26, 27, 28}};
enum { REGISTER_CHOICES = sizeof kRegisters / sizeof *kRegisters };

static unsigned register_limit(hlo_x86_kind_t kind) {
  switch (kind) {
    case HLO_X86_KIND_K:
    case HLO_X86_KIND_T: return 8;
    case HLO_X86_KIND_G:
    case HLO_X86_KIND_G4:
    case HLO_X86_KIND_G8: return 16;
    case HLO_X86_KIND__: return 1;
    default: return 32;
  }
}

// Sets the register operands of a case; false where a kind has fewer registers.
static bool choose_registers(vector_case_t* v, const uint8_t* choice) {
  const hlo_x86_row_t* row = v->row;
  uint8_t reg = choice[0] % register_limit(row->reg), vvvv = choice[1] % register_limit(row->vvvv);
  bool swapped = row->form == HLO_X86_FORM_MVR, digit = row->form == HLO_X86_FORM_VMI;
  v->a = digit || swapped ? vvvv : reg;
  v->b = swapped ? reg : digit ? 0 : vvvv;
  v->imm = row->form == HLO_X86_FORM_RVMR ? (choice[0] & 15u) << 4 : 0x5a;
  if (is_memory_only(row)) return false;
  v->rm = hlo_x86_reg(choice[2] % register_limit(row->rm));
  return true;
}

static bool can_zero(const hlo_x86_row_t* row, bool is_memory) {
  bool is_store = row->form == HLO_X86_FORM_MR || row->form == HLO_X86_FORM_MRI;
  return row->reg != HLO_X86_KIND_K && !(is_store && is_memory) && !is_gather(row);
}

static void check_masks(hlo_x86_asm_t* as, vector_case_t* v) {
  v->modifiers = 0;
  check_vector(as, v);
  if (v->row->evex.w == HLO_X86_W_NONE) return;
  v->modifiers = hlo_x86_k(1);
  check_vector(as, v);
  v->modifiers = hlo_x86_k(7);
  if (can_zero(v->row, v->rm.kind != HLO_X86_REGISTER)) v->modifiers |= HLO_X86_ZERO;
  check_vector(as, v);
  v->modifiers = 0;
}

static void check_vector_memory(hlo_x86_asm_t* as, vector_case_t* v, const uint8_t* choice) {
  const hlo_x86_row_t* row = v->row;
  if (row->tuple == HLO_X86_TUPLE_REG) return;
  bool may_splat = row->tuple <= HLO_X86_TUPLE_HV && row->evex.w != HLO_X86_W_NONE;
  for (unsigned splat = 0; splat <= may_splat; splat++) {
    unsigned unit = hlo_x86_row_memory_bytes(row, v->length, splat);
    for (unsigned i = 0; i < SHAPE_COUNT; i++) {
      v->rm = shaped(&kShapes[i], unit);
      v->rm.is_splat = splat;
      if (is_gather(row)) v->rm.index = choice[2];
      check_masks(as, v);
    }
    if (is_gather(row)) continue;
    hlo_x86_label_t label = hlo_x86_label_create(as);
    hlo_x86_label_bind(as, label);
    v->rm = hlo_x86_rip(label, 100);
    v->rm.is_splat = splat;
    check_masks(as, v);
  }
}

static void check_row(hlo_x86_asm_t* as, hlo_x86_insn_t insn, uint64_t features) {
  vector_case_t v = {.insn = insn, .row = &hlo_x86_rows[insn], .features = features};
  bool is_sized = v.row->lengths == HLO_X86_SIZE;
  for (v.width = is_sized ? 4 : 16; v.width <= (is_sized ? 8 : 64); v.width *= 2) {
    v.length = hlo_x86_row_length(v.row, v.width);
    if (!v.length) continue;
    for (unsigned i = 0; i < REGISTER_CHOICES; i++) {
      if (choose_registers(&v, kRegisters[i])) check_masks(as, &v);
      check_vector_memory(as, &v, kRegisters[i]);
    }
  }
}

static const uint64_t kVexFeatures = BIT(AVX) | BIT(AVX2) | BIT(FMA) | BIT(F16C) | BIT(AVX_VNNI);

static void every_vector_row_decodes_to_itself(void** state) {
  (void)state;
  const uint64_t sets[] = {UINT64_MAX, kVexFeatures, ~kVexFeatures};
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  for (unsigned i = 0; i < HLO_X86_INSN_COUNT; i++) {
    for (unsigned set = 0; set < 3; set++) {
      as.labels.count = 0;
      check_row(&as, (hlo_x86_insn_t)i, sets[set]);
    }
  }
  hlo_x86_asm_deinit(&as);
}

// ---- without AVX

typedef struct sse_case {
  hlo_x86_insn_t insn;
  const char* feature;
  unsigned a;
  hlo_x86_rm_t rm;
} sse_case_t;

static void check_sse(hlo_x86_asm_t* as, const sse_case_t* s) {
  static const char* const kOrder[] = {
      [HLO_X86_FORM_RM] = "rm",  [HLO_X86_FORM_RMI] = "rmi",  [HLO_X86_FORM_MR] = "mr",
      [HLO_X86_FORM_RVM] = "rm", [HLO_X86_FORM_RVMI] = "rmi", [HLO_X86_FORM_VMI] = "mi",
  };
  const hlo_x86_row_t* row = &hlo_x86_rows[s->insn];
  vector_case_t v = {.insn = s->insn, .row = row, .length = 16, .width = 16, .rm = s->rm};
  as->size_bytes = 0;
  hlo_x86_sse_put(as, s->insn, s->a, s->rm, 0x5a);
  assert_true(hlo_status_is_ok(hlo_x86_asm_finish(as)));
  checked_t c = {
      .name = hlo_x86_insn_name(s->insn) + 1, .bytes = as->bytes, .size_bytes = as->size_bytes};
  describe(&c, 16, s->a, 0, &s->rm, 0);
  decode(&c);
  if (c.insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) fail_checked(&c, "has a prefix of AVX");
  const char* set = ZydisISASetGetString(c.insn.meta.isa_set);
  if (strncmp(set, s->feature, strlen(set) < 4 ? 3 : 4) != 0) {
    fail_checked(&c, "needs %s, the row says %s", set, s->feature);
  }
  unsigned at = 0;
  char name[16];
  for (const char* place = kOrder[row->form]; *place; place++, at++) {
    if (*place == 'm') {
      check_rm(&c, &v, at);
    } else if (*place == 'i') {
      check_immediate(&c, at, 0x5a, 8);
    } else {
      register_name(row->reg, 16, 0, s->a, name, sizeof name);
      check_register(&c, at, name);
    }
  }
  if (at != c.visible_count) fail_checked(&c, "has %u operands", c.visible_count);
}

static void check_sse_row(hlo_x86_asm_t* as, hlo_x86_insn_t insn, const char* feature) {
  const hlo_x86_row_t* row = &hlo_x86_rows[insn];
  for (unsigned i = 0; i < 16; i++) {
    sse_case_t s = {insn, feature, row->form == HLO_X86_FORM_VMI ? 0 : i, hlo_x86_reg(15 - i)};
    if (row->rm != HLO_X86_KIND_M) check_sse(as, &s);
    if (row->tuple == HLO_X86_TUPLE_REG || row->form == HLO_X86_FORM_VMI) continue;
    for (unsigned shape = 0; shape < SHAPE_COUNT; shape++) {
      s.rm = shaped(&kShapes[shape], 1);
      check_sse(as, &s);
    }
    s.rm = hlo_x86_rip(0, 100);
    check_sse(as, &s);
  }
}

static void every_row_without_avx_decodes_to_itself(void** state) {
  (void)state;
  static const struct {
    hlo_x86_insn_t insn;
    const char* feature;
  } kRows[] = {
#define HLO_X86_SSE(id, feature, order, sequence) {HLO_X86_##id, #feature},
#include "codegen/x86/sse.def"
  };
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  hlo_x86_label_bind(&as, hlo_x86_label_create(&as));
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; i++) {
    if (strcmp(kRows[i].feature, "NEVER") != 0) check_sse_row(&as, kRows[i].insn, kRows[i].feature);
  }
  hlo_x86_asm_deinit(&as);
}

// ---- general registers

typedef struct scalar_row {
  const char* name;
  bool has_rm, has_mr, has_m, has_mi;
  unsigned sizes, rm_size;  // rm_size: bytes of rm where it is narrower than reg
} scalar_row_t;

enum { S4 = 4, S8 = 8, S48 = 4 | 8, S1248 = 1 | 2 | 4 | 8 };

static const scalar_row_t kScalarRows[HLO_X86_SCALAR_COUNT] = {
#define HLO_X86_GPR(id, pp, map, rm, mr, m, mi, digit, imm, sizes) \
  {#id, (rm) != 0, (mr) != 0, (m) != 0, (mi) != 0, sizes, 0},
#include "codegen/x86/insn.def"
};

typedef enum scalar_form { FORM_RM, FORM_MR, FORM_M, FORM_MI, FORM_IMUL, FORM_COUNT } scalar_form_t;

static bool has_form(const scalar_row_t* row, hlo_x86_scalar_t insn, scalar_form_t form) {
  const bool forms[] = {row->has_rm, row->has_mr, row->has_m, row->has_mi, insn == HLO_X86_imul};
  return forms[form];
}

static unsigned rm_size_of(hlo_x86_scalar_t insn, unsigned size) {
  switch (insn) {
    case HLO_X86_movzx_8:
    case HLO_X86_movsx_8: return 1;
    case HLO_X86_movzx_16:
    case HLO_X86_movsx_16: return 2;
    case HLO_X86_movsxd: return 4;
    case HLO_X86_call:
    case HLO_X86_jmp:
    case HLO_X86_fld_64:
    case HLO_X86_fstp_64:
    case HLO_X86_fadd_64:
    case HLO_X86_fmul_64:
    case HLO_X86_fsub_64: return 8;
    case HLO_X86_fld_80:
    case HLO_X86_fstp_80: return 10;
    case HLO_X86_fldcw:
    case HLO_X86_fnstcw: return 2;
    default: return size;
  }
}

static void emit_scalar(hlo_x86_asm_t* as, scalar_form_t form, hlo_x86_scalar_t insn, unsigned size,
                        unsigned reg, hlo_x86_rm_t rm, int32_t imm) {
  switch (form) {
    case FORM_RM: hlo_x86_rm(as, insn, size, reg, rm); break;
    case FORM_MR: hlo_x86_mr(as, insn, size, rm, reg); break;
    case FORM_M: hlo_x86_m(as, insn, size, rm); break;
    case FORM_MI: hlo_x86_mi(as, insn, size, rm, imm); break;
    default: hlo_x86_imul_imm(as, size, reg, rm, imm);
  }
}

static void check_scalar(hlo_x86_asm_t* as, scalar_form_t form, hlo_x86_scalar_t insn,
                         unsigned size, unsigned reg, hlo_x86_rm_t rm, int32_t imm) {
  static const char* const kOrder[] = {"rm", "mr", "m", "mi", "rmi"};
  as->size_bytes = 0;
  emit_scalar(as, form, insn, size, reg, rm, imm);
  hlo_status_t status = hlo_x86_asm_finish(as);
  checked_t c = {.name = kScalarRows[insn].name, .bytes = as->bytes, .size_bytes = as->size_bytes};
  describe(&c, size, reg, form, &rm, (unsigned)imm);
  if (!hlo_status_is_ok(status)) fail_checked(&c, "%s", hlo_status_message(status));
  decode(&c);
  bool is_test = form == FORM_RM && insn == HLO_X86_test;  // commutes: one opcode for both forms
  unsigned at = 0, rm_size = rm_size_of(insn, size);
  for (const char* place = kOrder[is_test ? FORM_MR : form]; *place; place++, at++) {
    if (*place == 'r') {
      check_register(&c, at, kGprNames[log2_of(size)][reg]);
    } else if (*place == 'i') {
      check_immediate(&c, at, (uint64_t)(int64_t)imm, insn >= HLO_X86_shl ? 8 : 8 * size);
    } else if (rm.kind == HLO_X86_REGISTER) {
      check_register(&c, at, kGprNames[log2_of(rm_size)][rm.reg]);
    } else {
      const char* index = rm.kind == HLO_X86_RIP || rm.index == NO ? NULL : kGprNames[3][rm.index];
      bool is_prefetch = insn == HLO_X86_prefetcht0;
      check_memory(&c, at, &rm, index, is_prefetch || insn == HLO_X86_lea ? 0 : rm_size);
      unsigned bits = expected_disp_bits(&rm, 1);
      if (c.insn.raw.disp.size != bits)
        fail_checked(&c, "displacement of %u bits", c.insn.raw.disp.size);
    }
  }
}

static bool needs_memory(hlo_x86_scalar_t insn) {
  return insn == HLO_X86_lea || insn == HLO_X86_cmpxchg || insn >= HLO_X86_prefetcht0;
}

static void check_scalar_row(hlo_x86_asm_t* as, hlo_x86_scalar_t insn, scalar_form_t form,
                             unsigned size) {
  bool is_shift = insn >= HLO_X86_shl && insn <= HLO_X86_sar;
  static const int32_t kImmediates[] = {1, -1, 127, -128, 128, -129, INT32_MAX, INT32_MIN};
  unsigned imm_count = form < FORM_MI ? 1 : is_shift ? 3 : 8;
  for (unsigned i = 0; i < imm_count; i++) {
    int32_t imm = kImmediates[i];
    for (unsigned reg = 0; reg < 16; reg++) {
      hlo_x86_rm_t rm = hlo_x86_reg((reg * 5 + 3) % 16);
      if (!needs_memory(insn)) check_scalar(as, form, insn, size, reg, rm, imm);
      for (unsigned shape = 0; shape < SHAPE_COUNT; shape++) {
        check_scalar(as, form, insn, size, reg, shaped(&kShapes[shape], 1), imm);
      }
      check_scalar(as, form, insn, size, reg, hlo_x86_rip(0, -4), imm);
    }
  }
}

static void every_scalar_row_decodes_to_itself(void** state) {
  (void)state;
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  hlo_x86_label_bind(&as, hlo_x86_label_create(&as));
  for (unsigned insn = 0; insn < HLO_X86_SCALAR_COUNT; insn++) {
    for (unsigned form = 0; form < FORM_COUNT; form++) {
      const scalar_row_t* row = &kScalarRows[insn];
      if (!has_form(row, (hlo_x86_scalar_t)insn, (scalar_form_t)form)) continue;
      for (unsigned size = 1; size <= 8; size *= 2) {
        if (row->sizes & size) {
          check_scalar_row(&as, (hlo_x86_scalar_t)insn, (scalar_form_t)form, size);
        }
      }
    }
  }
  hlo_x86_asm_deinit(&as);
}

static void conditions_moves_and_stack(void** state) {
  (void)state;
  static const char* const kConditions[] = {"o", "no", "b", "nb", "z", "nz", "be", "nbe",
                                            "s", "ns", "p", "np", "l", "nl", "le", "nle"};
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  hlo_x86_label_t label = hlo_x86_label_create(&as);
  hlo_x86_label_bind(&as, label);
  for (unsigned cc = 0; cc < 16; cc++) {
    for (unsigned reg = 0; reg < 16; reg++) {
      char name[16];
      checked_t c = {.name = name};
      as.size_bytes = 0;
      snprintf(name, sizeof name, "set%s", kConditions[cc]);
      hlo_x86_setcc(&as, (hlo_x86_cc_t)cc, reg);
      c.bytes = as.bytes, c.size_bytes = as.size_bytes;
      decode(&c);
      check_register(&c, 0, kGprNames[0][reg]);
      as.size_bytes = 0;
      snprintf(name, sizeof name, "cmov%s", kConditions[cc]);
      hlo_x86_cmov(&as, (hlo_x86_cc_t)cc, reg & 1 ? 4 : 8, reg, hlo_x86_reg(15 - reg));
      c.bytes = as.bytes, c.size_bytes = as.size_bytes;
      decode(&c);
      check_register(&c, 0, kGprNames[reg & 1 ? 2 : 3][reg]);
      check_register(&c, 1, kGprNames[reg & 1 ? 2 : 3][15 - reg]);
      as.size_bytes = 0;
      snprintf(name, sizeof name, "j%s", kConditions[cc]);
      hlo_x86_jcc(&as, (hlo_x86_cc_t)cc, label);
      c.bytes = as.bytes, c.size_bytes = as.size_bytes;
      decode(&c);
      check_immediate(&c, 0, (uint64_t)-2, 64);
    }
  }
  hlo_x86_asm_deinit(&as);
}

static void registers_take_every_immediate(void** state) {
  (void)state;
  static const int64_t kValues[] = {
      0,          1,         -1,        INT32_MAX, INT32_MIN,
      UINT32_MAX, 1ll << 32, INT64_MAX, INT64_MIN, (int64_t)INT32_MIN - 1};
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  for (unsigned reg = 0; reg < 16; reg++) {
    for (size_t i = 0; i < sizeof kValues / sizeof *kValues; i++) {
      as.size_bytes = 0;
      hlo_x86_mov_imm(&as, reg, kValues[i]);
      checked_t c = {.name = "mov", .bytes = as.bytes, .size_bytes = as.size_bytes};
      decode(&c);
      bool is_short = (uint64_t)kValues[i] <= UINT32_MAX;
      check_register(&c, 0, kGprNames[is_short ? 2 : 3][reg]);
      check_immediate(&c, 1, (uint64_t)kValues[i], is_short ? 32 : 64);
    }
    for (unsigned pop = 0; pop < 2; pop++) {
      as.size_bytes = 0;
      (pop ? hlo_x86_pop : hlo_x86_push)(&as, reg);
      checked_t c = {.name = pop ? "pop" : "push", .bytes = as.bytes, .size_bytes = as.size_bytes};
      decode(&c);
      check_register(&c, 0, kGprNames[3][reg]);
    }
  }
  hlo_x86_asm_deinit(&as);
}

static void every_bare_row_decodes_to_itself(void** state) {
  (void)state;
  static const char* const kNames[HLO_X86_BARE_COUNT] = {
#define HLO_X86_BARE(id, ...) #id,
#include "codegen/x86/insn.def"
  };
  hlo_x86_asm_t as;
  hlo_x86_asm_init(&as, 0);
  for (unsigned i = 0; i < HLO_X86_BARE_COUNT; i++) {
    as.size_bytes = 0;
    hlo_x86_bare(&as, (hlo_x86_bare_t)i);
    checked_t c = {.name = kNames[i], .bytes = as.bytes, .size_bytes = as.size_bytes};
    decode(&c);
  }
  for (size_t padding = 1; padding < 64; padding++) {  // nops fill exactly
    as.size_bytes = 64 - padding;
    hlo_x86_align(&as, 64, true);
    assert_int_equal(as.size_bytes, 64);
    for (size_t at = 64 - padding; at < 64;) {
      checked_t c = {.name = "nop", .bytes = as.bytes + at};
      ZydisDecodedInstruction insn;
      assert_true(
          ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, c.bytes, 64 - at, &insn)));
      assert_int_equal(insn.mnemonic, ZYDIS_MNEMONIC_NOP);
      at += insn.length;
    }
  }
  hlo_x86_asm_deinit(&as);
}

int main(void) {
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_vector_row_decodes_to_itself),
      cmocka_unit_test(every_row_without_avx_decodes_to_itself),
      cmocka_unit_test(every_scalar_row_decodes_to_itself),
      cmocka_unit_test(conditions_moves_and_stack),
      cmocka_unit_test(registers_take_every_immediate),
      cmocka_unit_test(every_bare_row_decodes_to_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
