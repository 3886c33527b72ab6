// SPDX-License-Identifier: Apache-2.0
// Unwind tables (see unwind.h), so that backtraces from callbacks pass through generated functions.
// Every function begins endbr64; push rbp; mov rbp, rsp; pushes of its saved registers, lowest
// number first. The tables hold from there to the end: an asynchronous sample in an epilogue sees
// one frame less. source: DWARF 5, section 6.4; System V ABI for AMD64, section 3.6.2 (register
// numbers, .eh_frame)
#include "codegen/object/unwind.h"

#include <string.h>

#include "base/mem.h"

enum {
  CFA_ADVANCE = 0x40,  // plus a distance
  CFA_OFFSET = 0x80,   // plus a register
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_NOP = 0,
};
enum { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RETURN_ADDRESS = 16 };
enum {  // bytes of the prologue's instructions
  ENDBR64_BYTES = 4,
  PUSH_RBP_BYTES = 1,
  MOV_RBP_RSP_BYTES = 3,
};
enum { CIE_BYTES = 32, FDE_LIMIT_BYTES = 96, WORD = 8 };

// DWARF numbers of the general registers, by x86's.
static const uint8_t kDwarfRegisters[16] = {0, 2, 1,  DWARF_RBX, DWARF_RSP, DWARF_RBP, 4,  5,
                                            8, 9, 10, 11,        12,        13,        14, 15};

typedef struct writer {
  uint8_t* bytes;
  size_t size_bytes;
} writer_t;

static void put(writer_t* w, uint64_t value, size_t count) {
  memcpy(w->bytes + w->size_bytes, &value, count);
  w->size_bytes += count;
}

// Pads an entry that began at `start` to whole words and fills its length in.
static void finish_entry(writer_t* w, size_t start) {
  while ((w->size_bytes - start) % WORD) put(w, CFA_NOP, 1);
  uint32_t length = (uint32_t)(w->size_bytes - start - sizeof length);
  memcpy(w->bytes + start, &length, sizeof length);
}

// What all functions share: at entry the return address lies at rsp.
static void put_cie(writer_t* w, bool is_movable) {
  enum { VERSION = 1, CODE_ALIGNMENT = 1, DATA_ALIGNMENT_SLEB = 0x78 /* -8 */ };
  enum { RELATIVE_INT32 = 0x1b };  // DW_EH_PE_pcrel | DW_EH_PE_sdata4
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, 0, 4);  // a CIE
  put(w, VERSION, 1);
  put(w, is_movable ? 'z' | 'R' << 8 : 0, is_movable ? 3 : 1);  // else absolute addresses
  put(w, CODE_ALIGNMENT, 1);
  put(w, DATA_ALIGNMENT_SLEB, 1);
  put(w, DWARF_RETURN_ADDRESS, 1);
  if (is_movable) {
    put(w, 1, 1);
    put(w, RELATIVE_INT32, 1);
  }
  put(w, CFA_DEF_CFA, 1);
  put(w, DWARF_RSP, 1);
  put(w, WORD, 1);
  put(w, CFA_OFFSET | DWARF_RETURN_ADDRESS, 1);
  put(w, 1, 1);
  finish_entry(w, start);
}

// base NULL: the place of the address goes to *out_field.
static void put_extent(writer_t* w, const hlo_code_func_t* func, const uint8_t* base,
                       uint32_t* out_field) {
  if (base) {
    put(w, (uint64_t)(uintptr_t)(base + func->offset_bytes), 8);
    put(w, func->size_bytes, 8);
    return;
  }
  *out_field = (uint32_t)w->size_bytes;
  put(w, 0, 4);
  put(w, func->size_bytes, 4);
  put(w, 0, 1);  // no augmentation data
}

static void put_fde(writer_t* w, const hlo_code_func_t* func, const uint8_t* base,
                    uint32_t* out_field) {
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, w->size_bytes, 4);  // distance back to the CIE, which is first
  put_extent(w, func, base, out_field);
  put(w, CFA_ADVANCE + ENDBR64_BYTES + PUSH_RBP_BYTES, 1);
  put(w, CFA_DEF_CFA_OFFSET, 1);
  put(w, 2 * WORD, 1);
  unsigned words = 2;  // below the canonical frame address: return address, rbp
  put(w, CFA_OFFSET | DWARF_RBP, 1);
  put(w, words, 1);
  put(w, CFA_ADVANCE + MOV_RBP_RSP_BYTES, 1);
  put(w, CFA_DEF_CFA_REGISTER, 1);
  put(w, DWARF_RBP, 1);
  for (unsigned reg = 0; reg < 16; reg++) {
    if (!(func->saved_mask >> reg & 1)) continue;
    put(w, CFA_ADVANCE + (reg < 8 ? 1u : 2u), 1);  // push, with a prefix for r8 to r15
    put(w, CFA_OFFSET | kDwarfRegisters[reg], 1);
    put(w, ++words, 1);
  }
  finish_entry(w, start);
}

hlo_status_t hlo_eh_frame_create(const hlo_code_t* code, const uint8_t* base, uint32_t* out_fields,
                                 hlo_eh_frame_t* out_eh_frame) {
  size_t capacity;
  if (!hlo_size_mul(code->func_count, FDE_LIMIT_BYTES, &capacity) ||
      !hlo_size_add(capacity, CIE_BYTES + sizeof(uint32_t), &capacity)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  writer_t w = {.bytes = hlo_mem_alloc(capacity)};
  if (!w.bytes) return hlo_status_out_of_memory(capacity);
  put_cie(&w, !base);
  for (uint32_t i = 0; i < code->func_count; i++) {
    put_fde(&w, &code->funcs[i], base, base ? NULL : &out_fields[i]);
  }
  if (base) put(&w, 0, 4);  // the end
  *out_eh_frame = (hlo_eh_frame_t){w.bytes, w.size_bytes};
  return hlo_ok();
}
