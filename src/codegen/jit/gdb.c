// SPDX-License-Identifier: Apache-2.0
// Generated code for debuggers: each program is a small ELF object in memory, with a symbol for
// each function and the unwind tables, in a list that debuggers watch. source: GDB manual, "JIT
// Compilation Interface"; System V ABI, ELF-64
#include <elf.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "codegen/jit/jit_impl.h"

// The names and layouts are GDB's.
struct hlo_jit_gdb_entry {
  struct hlo_jit_gdb_entry *next, *prev;
  const void* object;
  uint64_t object_bytes;
};

typedef enum gdb_action { GDB_NONE, GDB_REGISTER, GDB_UNREGISTER } gdb_action_t;

typedef struct gdb_descriptor {
  uint32_t version, action;
  hlo_jit_gdb_entry_t *relevant, *first;
} gdb_descriptor_t;

void __jit_debug_register_code(void);
extern gdb_descriptor_t __jit_debug_descriptor;

// Debuggers stop here; it must exist and do nothing.
__attribute__((noinline, used)) void __jit_debug_register_code(void) {
  __asm__ volatile("" ::: "memory");
}
__attribute__((used)) gdb_descriptor_t __jit_debug_descriptor = {.version = 1};

// The list belongs to the process, so its lock does; it is held for a few stores only.
static atomic_flag g_list_lock = ATOMIC_FLAG_INIT;

static void lock_list(void) {
  // acquire pairs with the release of unlock_list(): the list as its last owner left it
  while (atomic_flag_test_and_set_explicit(&g_list_lock, memory_order_acquire)) {
  }
}

static void unlock_list(void) {
  atomic_flag_clear_explicit(&g_list_lock, memory_order_release);
}

static void tell_locked(hlo_jit_gdb_entry_t* entry, gdb_action_t action) {
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_descriptor.action = action;
  __jit_debug_register_code();
}

// ---- the object
// ----------------------------------------------------------------------------------

enum {
  SECTION_NULL,
  SECTION_TEXT,
  SECTION_EH_FRAME,
  SECTION_SYMTAB,
  SECTION_STRTAB,
  SECTION_COUNT
};

typedef struct object_head {
  Elf64_Ehdr header;
  Elf64_Shdr sections[SECTION_COUNT];
} object_head_t;

static const char* const kSectionNames[SECTION_COUNT] = {"", ".text", ".eh_frame", ".symtab",
                                                         ".strtab"};

// Adds a string, its end included; its offset.
static uint32_t add_name(hlo_strbuf_t* names, const char* name) {
  uint32_t offset = (uint32_t)names->length;
  hlo_strbuf_append(names, name, strlen(name) + 1);
  return offset;
}

static void fill_header(Elf64_Ehdr* header) {
  memcpy(header->e_ident, ELFMAG, SELFMAG);
  header->e_ident[EI_CLASS] = ELFCLASS64;
  header->e_ident[EI_DATA] = ELFDATA2LSB;
  header->e_ident[EI_VERSION] = EV_CURRENT;
  header->e_type = ET_REL;
#if defined(__aarch64__)
  header->e_machine = EM_AARCH64;
#else
  header->e_machine = EM_X86_64;
#endif
  header->e_version = EV_CURRENT;
  header->e_shoff = offsetof(object_head_t, sections);
  header->e_ehsize = sizeof *header;
  header->e_shentsize = sizeof(Elf64_Shdr);
  header->e_shnum = SECTION_COUNT;
  header->e_shstrndx = SECTION_STRTAB;
}

// The fixed part; the tables follow in the order of their sections.
static void fill_head(object_head_t* head, const hlo_code_t* code, const uint8_t* base,
                      size_t eh_frame_bytes, size_t names_bytes) {
  *head = (object_head_t){0};
  fill_header(&head->header);
  Elf64_Shdr* text = &head->sections[SECTION_TEXT];
  text->sh_type = SHT_NOBITS;  // the code is where it is
  text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text->sh_addr = (uintptr_t)base;
  text->sh_size = code->size_bytes;
  text->sh_addralign = 1;
  Elf64_Shdr* frames = &head->sections[SECTION_EH_FRAME];
  frames->sh_type = SHT_PROGBITS;
  frames->sh_flags = SHF_ALLOC;
  frames->sh_offset = sizeof *head;
  frames->sh_size = eh_frame_bytes;
  frames->sh_addralign = 8;
  Elf64_Shdr* symbols = &head->sections[SECTION_SYMTAB];
  symbols->sh_type = SHT_SYMTAB;
  symbols->sh_offset = frames->sh_offset + frames->sh_size;
  symbols->sh_size = (code->func_count + 1ull) * sizeof(Elf64_Sym);
  symbols->sh_link = SECTION_STRTAB;
  symbols->sh_info = 1;  // the first that is not local
  symbols->sh_addralign = 8;
  symbols->sh_entsize = sizeof(Elf64_Sym);
  Elf64_Shdr* strings = &head->sections[SECTION_STRTAB];
  strings->sh_type = SHT_STRTAB;
  strings->sh_offset = symbols->sh_offset + symbols->sh_size;
  strings->sh_size = names_bytes;
  strings->sh_addralign = 1;
}

// Writes the object; `names` holds the sections' names, then those of the functions, in order.
static void fill_object(uint8_t* object, object_head_t* head, const hlo_code_t* code,
                        const hlo_jit_eh_frame_t* eh_frame, const hlo_strbuf_t* names) {
  uint32_t name = 0;
  for (int i = 0; i < SECTION_COUNT; i++) {
    head->sections[i].sh_name = name;
    name += (uint32_t)strlen(names->data + name) + 1;
  }
  memcpy(object, head, sizeof *head);
  memcpy(object + head->sections[SECTION_EH_FRAME].sh_offset, eh_frame->bytes,
         eh_frame->size_bytes);
  uint8_t* at = object + head->sections[SECTION_SYMTAB].sh_offset;
  memset(at, 0, sizeof(Elf64_Sym));
  for (uint32_t i = 0; i < code->func_count; i++) {
    Elf64_Sym symbol = {.st_name = name,
                        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        .st_shndx = SECTION_TEXT,
                        .st_value = code->funcs[i].offset_bytes,
                        .st_size = code->funcs[i].size_bytes};
    memcpy(at += sizeof symbol, &symbol, sizeof symbol);
    name += (uint32_t)strlen(names->data + name) + 1;
  }
  memcpy(object + head->sections[SECTION_STRTAB].sh_offset, names->data, names->length);
}

hlo_status_t hlo_jit_gdb_register(const hlo_code_t* code, const uint8_t* base, const char* name,
                                  const hlo_jit_eh_frame_t* eh_frame,
                                  hlo_jit_gdb_entry_t** out_entry) {
  hlo_strbuf_t names = {0};
  for (int i = 0; i < SECTION_COUNT; i++) add_name(&names, kSectionNames[i]);
  for (uint32_t i = 0; i < code->func_count; i++) {
    hlo_strbuf_printf(&names, "%s::", name);
    add_name(&names, code->funcs[i].name);
  }
  hlo_status_t status = hlo_strbuf_status(&names);
  object_head_t head;
  fill_head(&head, code, base, eh_frame->size_bytes, names.length);
  size_t object_bytes = head.sections[SECTION_STRTAB].sh_offset + names.length;
  hlo_jit_gdb_entry_t* entry = NULL;
  if (hlo_status_is_ok(status)) {
    entry = hlo_mem_alloc_zeroed(sizeof *entry + object_bytes);
    if (!entry) status = hlo_status_out_of_memory(object_bytes);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_deinit(&names);
    return status;
  }
  fill_object((uint8_t*)(entry + 1), &head, code, eh_frame, &names);
  hlo_strbuf_deinit(&names);
  entry->object = entry + 1;
  entry->object_bytes = object_bytes;
  lock_list();
  entry->next = __jit_debug_descriptor.first;
  if (entry->next) entry->next->prev = entry;
  __jit_debug_descriptor.first = entry;
  tell_locked(entry, GDB_REGISTER);
  unlock_list();
  *out_entry = entry;
  return hlo_ok();
}

void hlo_jit_gdb_unregister(hlo_jit_gdb_entry_t* entry) {
  if (!entry) return;
  lock_list();
  *(entry->prev ? &entry->prev->next : &__jit_debug_descriptor.first) = entry->next;
  if (entry->next) entry->next->prev = entry->prev;
  tell_locked(entry, GDB_UNREGISTER);
  __jit_debug_descriptor.relevant = NULL;
  unlock_list();
  hlo_mem_free(entry);
}
