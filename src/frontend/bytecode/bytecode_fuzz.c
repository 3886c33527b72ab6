// SPDX-License-Identifier: Apache-2.0
// Fuzzes the bytecode reader, and the verifier and printer on what it read. The mutator knows the
// container: it changes one section at a time and writes the sections' lengths anew, so that most
// inputs get past the header.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/cursor.h"
#include "ir/infer.h"
#include "ir/print.h"

enum { SECTIONS_MAX = 16, USED_INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_bytecode_read(data, size, NULL, &module);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return 0;
  }
  if (size <= USED_INPUT_MAX) {
    hlo_diag_t diag;
    hlo_diag_init(&diag, NULL, NULL, 0);
    hlo_status_release(hlo_module_verify(module, &diag));
    hlo_diag_deinit(&diag);
    hlo_strbuf_t text = {0};
    hlo_print_module(module, &(hlo_print_options_t){.elide_literals_above = 64}, &text);
    hlo_strbuf_deinit(&text);
  }
  hlo_module_release(module);
  return 0;
}

typedef struct section {
  uint8_t id;
  hlo_bc_cursor_t data;
} section_t;

static bool next_section(hlo_bc_cursor_t* c, section_t* out) {
  uint64_t size, alignment;
  hlo_status_t status = hlo_bc_byte(c, &out->id);
  if (hlo_status_is_ok(status)) status = hlo_bc_varint(c, &size);
  if (hlo_status_is_ok(status) && (out->id & 0x80)) {
    status = hlo_bc_varint(c, &alignment);
    if (hlo_status_is_ok(status)) status = hlo_bc_align(c, alignment);
  }
  if (hlo_status_is_ok(status)) status = hlo_bc_slice(c, size, &out->data);
  bool ok = hlo_status_is_ok(status);
  hlo_status_release(status);
  return ok;
}

// Bytes before the first section; 0 if this is no bytecode.
static size_t header_size(const uint8_t* data, size_t size) {
  if (!hlo_bytecode_sniff(data, size) || size < 6) return 0;
  const uint8_t* zero = memchr(data + 5, 0, size - 5);
  return zero ? (size_t)(zero - data) + 1 : 0;
}

static size_t put_section(uint8_t* out, uint8_t id, const uint8_t* data, size_t size) {
  out[0] = id & 0x7f;
  out[1] = 0;  // the longest form of a number: eight bytes follow
  uint64_t length = size;
  memcpy(out + 2, &length, 8);
  memmove(out + 10, data, size);
  return size + 10;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  section_t sections[SECTIONS_MAX];
  size_t count = 0, header = header_size(data, size);
  hlo_bc_cursor_t c = {data, data + header, data + size, "file"};
  if (header == 0 || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  while (count < SECTIONS_MAX && !hlo_bc_at_end(&c) && next_section(&c, &sections[count])) ++count;
  if (count == 0) return LLVMFuzzerMutate(data, size, max_size);
  size_t chosen = (seed / 16) % count;
  uint8_t* mutated = hlo_mem_alloc(max_size);
  uint8_t* out = hlo_mem_alloc(max_size + size + 16 * SECTIONS_MAX);
  if (!mutated || !out) {
    hlo_mem_free(mutated);
    hlo_mem_free(out);
    return LLVMFuzzerMutate(data, size, max_size);
  }
  size_t section_size = hlo_bc_left(&sections[chosen].data);
  memcpy(mutated, sections[chosen].data.pos, section_size);
  size_t mutated_size = LLVMFuzzerMutate(mutated, section_size, max_size);
  memcpy(out, data, header);
  size_t out_size = header;
  for (size_t i = 0; i < count; ++i) {
    const hlo_bc_cursor_t* section = &sections[i].data;
    out_size += i == chosen ? put_section(out + out_size, sections[i].id, mutated, mutated_size)
                            : put_section(out + out_size, sections[i].id, section->pos,
                                          hlo_bc_left(section));
  }
  if (out_size > max_size) out_size = max_size;
  memcpy(data, out, out_size);
  hlo_mem_free(mutated);
  hlo_mem_free(out);
  return out_size;
}
