// SPDX-License-Identifier: Apache-2.0
// x86-64 as a row of the table of instruction sets (object/isa.h): functions of the encoder,
// frames, relocations. source: System V ABI for AMD64, sections 3.6.2 (register numbers, .eh_frame)
// and 4.4 (relocations)
#include <elf.h>

#include "codegen/object/unwind.h"
#include "codegen/x86/x86_impl.h"

// ---- frames: every function begins endbr64; push rbp; mov rbp, rsp; pushes of its saved
// registers, lowest number first

enum { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RETURN_ADDRESS = 16 };
enum {  // bytes of the prologue's instructions
  ENDBR64_BYTES = 4,
  PUSH_RBP_BYTES = 1,
  MOV_RBP_RSP_BYTES = 3,
};
enum { WORD = 8, MINUS_WORD_SLEB = 0x78, REGISTER_COUNT = 16 };

// DWARF numbers of the general registers, by x86's.
static const uint8_t kDwarfRegisters[REGISTER_COUNT] = {
    0, 2, 1, DWARF_RBX, DWARF_RSP, DWARF_RBP, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

static size_t write_prologue(const hlo_code_func_t* func, uint8_t* out) {
  uint8_t* to = out;
  *to++ = HLO_CFA_ADVANCE + ENDBR64_BYTES + PUSH_RBP_BYTES;
  *to++ = HLO_CFA_DEF_CFA_OFFSET;
  *to++ = 2 * WORD;
  uint8_t words = 2;  // below the canonical frame address: return address, rbp
  *to++ = HLO_CFA_OFFSET | DWARF_RBP;
  *to++ = words;
  *to++ = HLO_CFA_ADVANCE + MOV_RBP_RSP_BYTES;
  *to++ = HLO_CFA_DEF_CFA_REGISTER;
  *to++ = DWARF_RBP;
  for (uint32_t reg = 0; reg < REGISTER_COUNT; ++reg) {
    if (!(func->saved_mask >> reg & 1)) continue;
    *to++ = HLO_CFA_ADVANCE + (reg < 8 ? 1u : 2u);  // push, with a prefix for r8 to r15
    *to++ = HLO_CFA_OFFSET | kDwarfRegisters[reg];
    *to++ = ++words;
  }
  return (size_t)(to - out);
}

// ---- object files

static const uint8_t kStub[] = {0xf3, 0x0f, 0x1e, 0xfa,           // endbr64
                                0x48, 0x8d, 0x15, 0,    0, 0, 0,  // lea rdx, [rip + data]
                                0xe9, 0,    0,    0,    0};       // jmp target
enum { STUB_DATA_AT = 7, STUB_TARGET_AT = 12, FROM_NEXT = -4 };

static bool encodes(const hlo_target_t* target) {
  return target->has_encoder;
}

const hlo_code_isa_t hlo_x86_isa = {
    .name = "x86-64",
    .encodes = encodes,
    .create = hlo_x86_unit_create,
    .release = hlo_x86_unit_release,
    .add = hlo_x86_unit_add,
    .join = hlo_x86_unit_join,
    .seal = hlo_x86_unit_seal,
    .include = hlo_x86_unit_include,
    .finish = hlo_x86_unit_finish,
    // At a function's entry the return address lies at rsp.
    .frames = {.code_alignment = 1,
               .data_alignment_sleb = MINUS_WORD_SLEB,
               .return_register = DWARF_RETURN_ADDRESS,
               .entry_bytes = 5,
               .entry = {HLO_CFA_DEF_CFA, DWARF_RSP, WORD, HLO_CFA_OFFSET | DWARF_RETURN_ADDRESS,
                         1},
               .write_prologue = write_prologue},
    .object = {.machine = EM_X86_64,
               .address_relocation = R_X86_64_64,
               .distance_relocation = R_X86_64_PC32,
               .stub = kStub,
               .stub_bytes = sizeof kStub,
               .stub_data = {STUB_DATA_AT, R_X86_64_PC32, FROM_NEXT},
               .stub_target = {STUB_TARGET_AT, R_X86_64_PLT32, FROM_NEXT}},
    .objdump_machine = "i386:x86-64",
    .objdump_syntax = "intel"};
