// SPDX-License-Identifier: Apache-2.0
// Writes relocatable objects (see elf.h). The file consists of header, section contents,
// relocations, symbols, names and section table.
#include "codegen/object/elf.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64, WORD = 8 };

void hlo_elf_deinit(hlo_elf_t* elf) {
  for (uint32_t i = 1; i <= elf->section_count; ++i) {
    hlo_strbuf_deinit(&elf->sections[i].data);
    hlo_vec_deinit(&elf->sections[i].relocations);
  }
  hlo_vec_deinit(&elf->symbols);
  hlo_strbuf_deinit(&elf->names);
  *elf = (hlo_elf_t){0};
}

uint32_t hlo_elf_add_section(hlo_elf_t* elf, const char* name, uint32_t type, uint64_t flags,
                             uint32_t alignment) {
  uint32_t number = ++elf->section_count;
  elf->sections[number] =
      (hlo_elf_section_t){.name = name, .type = type, .flags = flags, .alignment = alignment};
  return number;
}

static void align(hlo_strbuf_t* data, uint32_t alignment) {
  while (data->length % alignment && !data->failed) hlo_strbuf_putc(data, 0);
}

uint64_t hlo_elf_align(hlo_elf_t* elf, uint32_t section, uint32_t alignment) {
  align(&elf->sections[section].data, alignment);
  return elf->sections[section].data.length;
}

// Adds a string with its terminator and returns its offset. The first string is empty.
static uint32_t add_name(hlo_elf_t* elf, const char* name) {
  if (!elf->names.length) hlo_strbuf_putc(&elf->names, 0);
  uint32_t offset = (uint32_t)elf->names.length;
  hlo_strbuf_append(&elf->names, name, strlen(name) + 1);
  return offset;
}

uint32_t hlo_elf_add_symbol(hlo_elf_t* elf, const char* name, uint8_t info, uint32_t section,
                            uint64_t value, uint64_t size_bytes) {
  const Elf64_Sym symbol = {.st_name = *name ? add_name(elf, name) : 0,
                            .st_info = info,
                            .st_shndx = (Elf64_Section)section,
                            .st_value = value,
                            .st_size = size_bytes};
  if (!hlo_vec_push(&elf->symbols, symbol)) elf->failed = true;
  if (ELF64_ST_BIND(info) == STB_LOCAL) elf->local_count = (uint32_t)elf->symbols.count;
  return (uint32_t)elf->symbols.count;
}

void hlo_elf_add_relocation(hlo_elf_t* elf, uint32_t section, uint64_t offset, uint32_t type,
                            uint32_t symbol, int64_t addend) {
  const Elf64_Rela relocation = {
      .r_offset = offset, .r_info = ELF64_R_INFO(symbol, type), .r_addend = addend};
  if (!hlo_vec_push(&elf->sections[section].relocations, relocation)) elf->failed = true;
}

// ---- the file ----------------------------------------------------------------------------------

typedef struct table {
  Elf64_Shdr headers[2 * HLO_ELF_MAX_SECTIONS + 3];
  uint32_t count;
} table_t;

static void put(hlo_strbuf_t* out, const void* data, size_t size_bytes) {
  if (size_bytes) hlo_strbuf_append(out, data, size_bytes);
}

static Elf64_Shdr* add_header(table_t* table, hlo_elf_t* elf, const char* name, uint32_t type,
                              uint32_t alignment, uint64_t offset, uint64_t size_bytes) {
  Elf64_Shdr* header = &table->headers[table->count++];
  *header = (Elf64_Shdr){.sh_name = add_name(elf, name),
                         .sh_type = type,
                         .sh_addralign = alignment,
                         .sh_offset = offset,
                         .sh_size = size_bytes};
  return header;
}

static void put_contents(hlo_elf_t* elf, size_t start, table_t* table, hlo_strbuf_t* out) {
  for (uint32_t i = 1; i <= elf->section_count; ++i) {
    const hlo_elf_section_t* section = &elf->sections[i];
    bool is_empty = section->type == SHT_NOBITS;
    if (!is_empty) align(out, section->alignment);
    Elf64_Shdr* header =
        add_header(table, elf, section->name, section->type, section->alignment,
                   out->length - start, is_empty ? section->empty_bytes : section->data.length);
    header->sh_flags = section->flags;
    header->sh_addr = section->address;
    if (!is_empty) put(out, section->data.data, section->data.length);
  }
}

static void put_relocations(hlo_elf_t* elf, size_t start, uint32_t symbols, table_t* table,
                            hlo_strbuf_t* out) {
  for (uint32_t i = 1; i <= elf->section_count; ++i) {
    const hlo_elf_section_t* section = &elf->sections[i];
    size_t size_bytes = section->relocations.count * sizeof(Elf64_Rela);
    if (!size_bytes) continue;
    char name[NAME_BYTES];
    snprintf(name, sizeof name, ".rela%s", section->name);
    align(out, WORD);
    Elf64_Shdr* header =
        add_header(table, elf, name, SHT_RELA, WORD, out->length - start, size_bytes);
    header->sh_flags = SHF_INFO_LINK;
    header->sh_link = symbols;
    header->sh_info = i;
    header->sh_entsize = sizeof(Elf64_Rela);
    put(out, section->relocations.items, size_bytes);
  }
}

static uint32_t count_relocated(const hlo_elf_t* elf) {
  uint32_t count = 0;
  for (uint32_t i = 1; i <= elf->section_count; ++i) {
    count += elf->sections[i].relocations.count != 0;
  }
  return count;
}

static Elf64_Ehdr file_header(const table_t* table, uint64_t offset, uint16_t machine) {
  Elf64_Ehdr header = {.e_type = ET_REL,
                       .e_machine = machine,
                       .e_version = EV_CURRENT,
                       .e_shoff = offset,
                       .e_ehsize = sizeof header,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = (Elf64_Half)table->count,
                       .e_shstrndx = (Elf64_Half)(table->count - 1)};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  return header;
}

hlo_status_t hlo_elf_write(hlo_elf_t* elf, hlo_strbuf_t* out) {
  const Elf64_Sym no_symbol = {0};
  size_t start = out->length;
  table_t table = {.count = 1};
  table.headers[0] = (Elf64_Shdr){0};
  for (size_t i = 0; i < sizeof(Elf64_Ehdr); ++i) hlo_strbuf_putc(out, 0);
  put_contents(elf, start, &table, out);
  uint32_t symbols = elf->section_count + count_relocated(elf) + 1;
  put_relocations(elf, start, symbols, &table, out);
  align(out, WORD);
  Elf64_Shdr* header = add_header(&table, elf, ".symtab", SHT_SYMTAB, WORD, out->length - start,
                                  (elf->symbols.count + 1) * sizeof(Elf64_Sym));
  header->sh_link = symbols + 1;
  header->sh_info = elf->local_count + 1;  // index of the first non-local symbol
  header->sh_entsize = sizeof(Elf64_Sym);
  put(out, &no_symbol, sizeof no_symbol);
  put(out, elf->symbols.items, elf->symbols.count * sizeof(Elf64_Sym));
  header = add_header(&table, elf, ".strtab", SHT_STRTAB, 1, out->length - start, 0);
  header->sh_size = elf->names.length;
  put(out, elf->names.data, elf->names.length);
  align(out, WORD);
  const Elf64_Ehdr head = file_header(&table, out->length - start, elf->machine);
  put(out, table.headers, table.count * sizeof(Elf64_Shdr));
  if (elf->failed || elf->names.failed) return hlo_status_out_of_memory(out->length);
  for (uint32_t i = 1; i <= elf->section_count; ++i) {
    HLO_TRY(hlo_strbuf_status(&elf->sections[i].data));
  }
  HLO_TRY(hlo_strbuf_status(out));
  memcpy(out->data + start, &head, sizeof head);
  return hlo_ok();
}
