// SPDX-License-Identifier: Apache-2.0
// 64-bit relocatable ELF objects: builders for sections, symbols and relocations, and a writer.
// source : System V ABI (gABI 4.1), chapters 4 and 5; ELF-64 object file format
#pragma once

#include <elf.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum { HLO_ELF_MAX_SECTIONS = 12 };

/// Section numbers start at 1, as in the file.
typedef struct hlo_elf_section {
  const char* name;  // borrowed
  uint32_t type, alignment;
  uint64_t flags, address;
  uint64_t empty_bytes;  // of SHT_NOBITS sections
  hlo_strbuf_t data;     // of all other sections
  HLO_VEC(Elf64_Rela) relocations;
} hlo_elf_section_t;

/// owner  : the declaring code; zero-initialised is empty; hlo_elf_deinit()
/// threads: confined
typedef struct hlo_elf {
  uint16_t machine;  // e_machine, as the owner says
  hlo_elf_section_t sections[HLO_ELF_MAX_SECTIONS + 1];
  uint32_t section_count;
  HLO_VEC(Elf64_Sym) symbols;
  uint32_t local_count;  // number of local symbols
  hlo_strbuf_t names;
  bool failed;  // memory is exhausted
} hlo_elf_t;

void hlo_elf_deinit(hlo_elf_t* elf);
/// Adds a section, at most HLO_ELF_MAX_SECTIONS in total, and returns its number.
uint32_t hlo_elf_add_section(hlo_elf_t* elf, const char* name, uint32_t type, uint64_t flags,
                             uint32_t alignment);
/// Appends zeros up to a multiple of `alignment` and returns the offset reached.
uint64_t hlo_elf_align(hlo_elf_t* elf, uint32_t section, uint32_t alignment);
/// Adds a symbol and returns its number; local symbols come first. `info`: ELF64_ST_INFO(); section
/// SHN_UNDEF: defined in another object. The name is copied.
uint32_t hlo_elf_add_symbol(hlo_elf_t* elf, const char* name, uint8_t info, uint32_t section,
                            uint64_t value, uint64_t size_bytes);
/// Adds a relocation: the linker fills in the bytes at `offset` of the section.
void hlo_elf_add_relocation(hlo_elf_t* elf, uint32_t section, uint64_t offset, uint32_t type,
                            uint32_t symbol, int64_t addend);
/// Appends the object. The output is deterministic.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_elf_write(hlo_elf_t* elf, hlo_strbuf_t* out) HLO_MUST_USE;
