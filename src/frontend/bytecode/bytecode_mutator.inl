// SPDX-License-Identifier: Apache-2.0
// Mutations of MLIR bytecode for fuzzers that know the container: a mutation changes one section,
// or replaces it by that of another file, and rewrites the sections' lengths, so that most results
// get past the header.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fuzz.h"
#include "base/mem.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/cursor.h"

enum { SECTIONS_MAX = 16, SECTION_HEAD_BYTES = 10 };

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

// Returns the number of bytes before the first section; 0 if the data is not bytecode.
static size_t header_size(const uint8_t* data, size_t size) {
  if (!hlo_bytecode_sniff(data, size) || size < 6) return 0;
  const uint8_t* zero = memchr(data + 5, 0, size - 5);
  return zero ? (size_t)(zero - data) + 1 : 0;
}

// Finds the sections of a file as far as they can be told apart; returns their number.
static size_t split(const uint8_t* data, size_t size, section_t sections[SECTIONS_MAX]) {
  size_t count = 0, header = header_size(data, size);
  hlo_bc_cursor_t c = {data, data + header, data + size, "file"};
  if (header == 0) return 0;
  while (count < SECTIONS_MAX && !hlo_bc_at_end(&c) && next_section(&c, &sections[count])) ++count;
  return count;
}

static size_t put_section(uint8_t* out, uint8_t id, const uint8_t* data, size_t size) {
  out[0] = id & 0x7f;
  out[1] = 0;  // the longest form of a number: eight bytes follow
  uint64_t length = size;
  memcpy(out + 2, &length, 8);
  memcpy(out + SECTION_HEAD_BYTES, data, size);
  return size + SECTION_HEAD_BYTES;
}

// Writes header and sections, with `size` bytes of `replacement` for section `chosen`, in at most
// `max_size` bytes.
static size_t assemble(const uint8_t* data, size_t size, const section_t* sections, size_t count,
                       size_t chosen, const uint8_t* replacement, size_t replacement_size,
                       uint8_t* out, size_t max_size) {
  size_t header = header_size(data, size), needed = header;
  for (size_t i = 0; i < count; ++i) {
    needed +=
        SECTION_HEAD_BYTES + (i == chosen ? replacement_size : hlo_bc_left(&sections[i].data));
  }
  if (needed > max_size) return 0;
  memcpy(out, data, header);
  size_t out_size = header;
  for (size_t i = 0; i < count; ++i) {
    const hlo_bc_cursor_t* section = &sections[i].data;
    out_size +=
        i == chosen
            ? put_section(out + out_size, sections[i].id, replacement, replacement_size)
            : put_section(out + out_size, sections[i].id, section->pos, hlo_bc_left(section));
  }
  return out_size;
}

static size_t mutate_bytecode(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  section_t sections[SECTIONS_MAX];
  size_t count = split(data, size, sections), out_size = 0;
  if (count == 0 || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  size_t chosen = (seed / 16) % count;
  size_t section_size = hlo_bc_left(&sections[chosen].data);
  uint8_t* mutated = hlo_mem_alloc(max_size);
  uint8_t* out = hlo_mem_alloc(max_size);
  if (mutated && out) {
    if (section_size) memcpy(mutated, sections[chosen].data.pos, section_size);
    size_t mutated_size = LLVMFuzzerMutate(mutated, section_size, max_size);
    out_size = assemble(data, size, sections, count, chosen, mutated, mutated_size, out, max_size);
    memcpy(data, out, out_size);
  }
  hlo_mem_free(mutated);
  hlo_mem_free(out);
  return out_size ? out_size : LLVMFuzzerMutate(data, size, max_size);
}

// Copies the first file with one section of the second; returns 0 if the second file lacks the
// section.
static size_t splice_bytecode(const uint8_t* first, size_t first_size, const uint8_t* second,
                              size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  section_t sections[SECTIONS_MAX], others[SECTIONS_MAX];
  size_t count = split(first, first_size, sections),
         other_count = split(second, second_size, others);
  if (count == 0 || other_count == 0) return 0;
  size_t chosen = seed % count;
  for (size_t i = 0; i < other_count; ++i) {
    if ((others[i].id & 0x7f) != (sections[chosen].id & 0x7f)) continue;
    return assemble(first, first_size, sections, count, chosen, others[i].data.pos,
                    hlo_bc_left(&others[i].data), out, max_size);
  }
  return 0;
}
