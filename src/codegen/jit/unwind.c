// SPDX-License-Identifier: Apache-2.0
// Unwind tables, so that backtraces from callbacks pass through generated functions. Every function
// begins endbr64; push rbp; mov rbp, rsp; pushes of its saved registers, lowest number first. The
// tables hold from there to the end: an asynchronous sample in an epilogue sees one frame less.
// source: DWARF 5, section 6.4; System V ABI for AMD64, section 3.6.2 (register numbers, .eh_frame)
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/jit/jit_impl.h"

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
enum { CIE_BYTES = 24, FDE_LIMIT_BYTES = 96, WORD = 8 };

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
static void put_cie(writer_t* w) {
  enum { VERSION = 1, CODE_ALIGNMENT = 1, DATA_ALIGNMENT_SLEB = 0x78 /* -8 */ };
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, 0, 4);  // a CIE
  put(w, VERSION, 1);
  put(w, 0, 1);  // no augmentation: absolute addresses
  put(w, CODE_ALIGNMENT, 1);
  put(w, DATA_ALIGNMENT_SLEB, 1);
  put(w, DWARF_RETURN_ADDRESS, 1);
  put(w, CFA_DEF_CFA, 1);
  put(w, DWARF_RSP, 1);
  put(w, WORD, 1);
  put(w, CFA_OFFSET | DWARF_RETURN_ADDRESS, 1);
  put(w, 1, 1);
  finish_entry(w, start);
}

static void put_fde(writer_t* w, const hlo_code_func_t* func, const uint8_t* base) {
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, w->size_bytes, 4);  // distance back to the CIE, which is first
  put(w, (uint64_t)(uintptr_t)(base + func->offset_bytes), 8);
  put(w, func->size_bytes, 8);
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

hlo_status_t hlo_jit_eh_frame_create(const hlo_code_t* code, const uint8_t* base,
                                     hlo_jit_eh_frame_t* out_eh_frame) {
  size_t capacity;
  if (!hlo_size_mul(code->func_count, FDE_LIMIT_BYTES, &capacity) ||
      !hlo_size_add(capacity, CIE_BYTES + sizeof(uint32_t), &capacity)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  writer_t w = {.bytes = hlo_mem_alloc(capacity)};
  if (!w.bytes) return hlo_status_out_of_memory(capacity);
  put_cie(&w);
  for (uint32_t i = 0; i < code->func_count; i++) put_fde(&w, &code->funcs[i], base);
  put(&w, 0, 4);  // the end
  *out_eh_frame = (hlo_jit_eh_frame_t){w.bytes, w.size_bytes};
  return hlo_ok();
}

static hlo_jit_unwinder_t unwinder;

static void find_unwinder(void) {
  void* library;
  hlo_status_t status = hlo_os_library_open("libgcc_s.so.1", &library);
  if (!hlo_status_is_ok(status)) {  // backtraces end at generated code then
    hlo_status_release(status);
    return;
  }
  void* enter = hlo_os_library_symbol(library, "__register_frame");
  void* leave = hlo_os_library_symbol(library, "__deregister_frame");
  if (!enter || !leave) return;
  memcpy(&unwinder.register_frame, &enter, sizeof enter);
  memcpy(&unwinder.deregister_frame, &leave, sizeof leave);
}

// The library stays open: to load it again takes longer than many a program takes to compile.
const hlo_jit_unwinder_t* hlo_jit_unwinder(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_unwinder);
  return &unwinder;
}
