// SPDX-License-Identifier: Apache-2.0
// Unwind tables (see unwind.h), so that backtraces from callbacks pass through generated functions.
// They hold from a function's prologue to its end: an asynchronous sample in an epilogue sees one
// frame less. source: DWARF 5, section 6.4; Linux Standard Base 5, section 10.6.1 (.eh_frame)
#include "codegen/object/unwind.h"

#include <string.h>

#include "base/mem.h"
#include "codegen/object/isa.h"

enum { CIE_BYTES = 32, FDE_HEAD_BYTES = 32, WORD = 8 };

typedef struct writer {
  uint8_t* bytes;
  size_t size_bytes;
} writer_t;

static void put(writer_t* w, uint64_t value, size_t count) {
  memcpy(w->bytes + w->size_bytes, &value, count);
  w->size_bytes += count;
}

// Pads an entry that began at `start` to whole words and fills in its length.
static void finish_entry(writer_t* w, size_t start) {
  while ((w->size_bytes - start) % WORD) put(w, HLO_CFA_NOP, 1);
  uint32_t length = (uint32_t)(w->size_bytes - start - sizeof length);
  memcpy(w->bytes + start, &length, sizeof length);
}

// Writes the part shared by all functions.
static void put_cie(writer_t* w, const hlo_code_isa_frames_t* frames, bool is_movable) {
  enum { VERSION = 1 };
  enum { RELATIVE_INT32 = 0x1b };  // DW_EH_PE_pcrel | DW_EH_PE_sdata4
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, 0, 4);  // a CIE
  put(w, VERSION, 1);
  put(w, is_movable ? 'z' | 'R' << 8 : 0, is_movable ? 3 : 1);  // else absolute addresses
  put(w, frames->code_alignment, 1);
  put(w, frames->data_alignment_sleb, 1);
  put(w, frames->return_register, 1);
  if (is_movable) {
    put(w, 1, 1);
    put(w, RELATIVE_INT32, 1);
  }
  for (uint32_t i = 0; i < frames->entry_bytes; ++i) put(w, frames->entry[i], 1);
  finish_entry(w, start);
}

// base NULL: *out_field gets the offset of the address field.
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

static void put_fde(writer_t* w, const hlo_code_isa_frames_t* frames, const hlo_code_func_t* func,
                    const uint8_t* base, uint32_t* out_field) {
  size_t start = w->size_bytes;
  put(w, 0, 4);
  put(w, w->size_bytes, 4);  // distance back to the CIE, which is first
  put_extent(w, func, base, out_field);
  w->size_bytes += frames->write_prologue(func, w->bytes + w->size_bytes);
  finish_entry(w, start);
}

hlo_status_t hlo_eh_frame_create(const hlo_code_t* code, const uint8_t* base, uint32_t* out_fields,
                                 hlo_eh_frame_t* out_eh_frame) {
  const hlo_code_isa_frames_t* frames = &code->isa->frames;
  size_t capacity;
  if (!hlo_size_mul(code->func_count, FDE_HEAD_BYTES + HLO_CODE_ISA_MAX_FRAME_BYTES, &capacity) ||
      !hlo_size_add(capacity, CIE_BYTES + sizeof(uint32_t), &capacity)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  writer_t w = {.bytes = hlo_mem_alloc(capacity)};
  if (!w.bytes) return hlo_status_out_of_memory(capacity);
  put_cie(&w, frames, !base);
  for (uint32_t i = 0; i < code->func_count; i++) {
    put_fde(&w, frames, &code->funcs[i], base, base ? NULL : &out_fields[i]);
  }
  if (base) put(&w, 0, 4);  // terminator
  *out_eh_frame = (hlo_eh_frame_t){w.bytes, w.size_bytes};
  return hlo_ok();
}
