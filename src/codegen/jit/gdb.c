// SPDX-License-Identifier: Apache-2.0
// Registers generated code with debuggers: each program is a small in-memory ELF object with a
// symbol per function and the unwind tables, in a list that debuggers watch.
// source : GDB manual, "JIT Compilation Interface"; System V ABI, ELF-64
#include <string.h>

#include "base/mem.h"
#include "codegen/jit/jit_impl.h"
#include "codegen/object/elf.h"
#include "codegen/object/isa.h"

// GDB defines the names and layouts.
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

// Debuggers set a breakpoint here; the function must exist and do nothing.
__attribute__((noinline, used)) void __jit_debug_register_code(void) {
  __asm__ volatile("" ::: "memory");
}
__attribute__((used)) gdb_descriptor_t __jit_debug_descriptor = {.version = 1};

// The list is global to the process, and so is its lock, which is held for a few stores only.
static atomic_flag g_list_lock = ATOMIC_FLAG_INIT;

static void lock_list(void) {
  // acquire pairs with the release of unlock_list(): makes the last owner's changes visible
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

// ---- the object --------------------------------------------------------------------------------

// The code stays where it is: its section has an address and no contents.
static hlo_status_t write_object(const hlo_code_t* code, const uint8_t* base, const char* name,
                                 const hlo_eh_frame_t* eh_frame, hlo_strbuf_t* out) {
  hlo_elf_t elf = {.machine = code->isa->object.machine};
  uint32_t text = hlo_elf_add_section(&elf, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 1);
  elf.sections[text].address = (uintptr_t)base;
  elf.sections[text].empty_bytes = code->size_bytes;
  uint32_t frames = hlo_elf_add_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8);
  hlo_strbuf_append(&elf.sections[frames].data, (const char*)eh_frame->bytes, eh_frame->size_bytes);
  HLO_SCOPED_STRBUF full_name = {0};
  for (uint32_t i = 0; i < code->func_count; i++) {
    const hlo_code_func_t* func = &code->funcs[i];
    full_name.length = 0;
    hlo_strbuf_printf(&full_name, "%s::%s", name, func->name);
    hlo_elf_add_symbol(&elf, hlo_strbuf_text(&full_name), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), text,
                       func->offset_bytes, func->size_bytes);
  }
  hlo_status_t status = hlo_strbuf_status(&full_name);
  if (hlo_status_is_ok(status)) status = hlo_elf_write(&elf, out);
  hlo_elf_deinit(&elf);
  return status;
}

hlo_status_t hlo_jit_gdb_register(const hlo_code_t* code, const uint8_t* base, const char* name,
                                  const hlo_eh_frame_t* eh_frame, hlo_jit_gdb_entry_t** out_entry) {
  hlo_strbuf_t object = {0};
  hlo_status_t status = write_object(code, base, name, eh_frame, &object);
  hlo_jit_gdb_entry_t* entry = NULL;
  if (hlo_status_is_ok(status)) {
    entry = hlo_mem_alloc_zeroed(sizeof *entry);
    if (!entry) status = hlo_status_out_of_memory(sizeof *entry);
  }
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_deinit(&object);
    return status;
  }
  entry->object_bytes = object.length;
  entry->object = hlo_strbuf_take(&object);
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
  hlo_mem_free((void*)(uintptr_t)entry->object);
  hlo_mem_free(entry);
}
