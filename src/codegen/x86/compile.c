// SPDX-License-Identifier: Apache-2.0
// x86-64 as a row of the table of instruction sets (object/isa.h): functions of vector IR are
// compiled one by one, in units that are joined, followed by their constants; frames; relocations.
// source: System V ABI for AMD64, sections 3.6.2 (register numbers, .eh_frame) and 4.4
// (relocations)
#include <elf.h>

#include "base/check.h"
#include "base/tuning.h"
#include "codegen/object/unwind.h"
#include "codegen/x86/x86_impl.h"

enum { FUNC_ALIGN = 64 };

// Emits repeatedly: each attempt finds how many registers instructions need besides those of
// values.
static hlo_status_t make_code(hlo_x86_fn_t* f) {
  hlo_x86_asm_t* as = f->as;
  size_t size_bytes = as->size_bytes, fixup_count = as->fixups.count;
  size_t debug_id_count = f->unit->debug_ids.count;
  HLO_TRY(hlo_x86_analyse(f));
  if (!hlo_status_is_ok(f->status)) return hlo_ok();
  for (uint32_t attempt = 0; attempt < HLO_TUNING_REGISTERS_MAX_ATTEMPTS; ++attempt) {
    as->size_bytes = size_bytes;
    as->fixups.count = fixup_count;
    f->unit->debug_ids.count = debug_id_count;
    HLO_TRY(hlo_x86_allocate(f));
    bool is_done = hlo_x86_emit_function(f);
    HLO_TRY(hlo_arena_status(f->arena));
    if (is_done || !hlo_status_is_ok(f->status)) return hlo_ok();
  }
  return hlo_internal_error("%s: an instruction needs more registers", f->vir->name);
}

// ---- units

static hlo_x86_unit_t* own(hlo_code_unit_t* unit) {
  return (hlo_x86_unit_t*)unit;
}

static hlo_status_t unit_create(const hlo_target_t* target, uint32_t func_count,
                                hlo_code_unit_t** out_unit) {
  HLO_ASSERT(target->has_encoder, "code is made for processors that the encoder knows");
  hlo_x86_unit_t* unit = hlo_mem_alloc(sizeof *unit);
  if (!unit) return hlo_status_out_of_memory(sizeof *unit);
  *unit = (hlo_x86_unit_t){.base = {&hlo_x86_isa},
                           .target = target,
                           .func_count = func_count,
                           .fma_labels = {HLO_X86_NO_LABEL, HLO_X86_NO_LABEL}};
  hlo_x86_asm_init(&unit->as, target->cpu.features);
  hlo_arena_init(&unit->arena, 0);
  for (uint32_t i = 0; i < func_count; ++i) hlo_x86_label_create(&unit->as);
  *out_unit = &unit->base;
  return hlo_ok();  // an error stays in the assembler
}

static void unit_release(hlo_code_unit_t* released) {
  hlo_x86_unit_t* unit = own(released);
  hlo_vec_deinit(&unit->funcs);
  hlo_vec_deinit(&unit->debug_ids);
  hlo_x86_pool_deinit(&unit->pool);
  hlo_arena_deinit(&unit->arena);
  hlo_x86_asm_deinit(&unit->as);
  hlo_mem_free(unit);
}

static hlo_status_t compile_func(hlo_x86_unit_t* unit, const hlo_vir_func_t* vir) {
  hlo_x86_fn_t f = {
      .unit = unit,
      .as = &unit->as,
      .vir = vir,
      .target = unit->target,
      .arena = &unit->arena,
      .is_avx512 = unit->target->has_masks,
      .is_sse = hlo_x86_is_sse(unit->target->cpu.features),
  };
  hlo_x86_align(f.as, FUNC_ALIGN, true);
  hlo_x86_label_bind(f.as, vir->index);
  size_t start = f.as->size_bytes;
  hlo_status_t status = make_code(&f);
  if (!hlo_status_is_ok(f.status)) {
    hlo_status_release(status);
    return f.status;
  }
  HLO_TRY(status);
  uint32_t pushed_bytes = 8 * (uint32_t)__builtin_popcount(f.pushed);
  hlo_code_func_t func = {
      .name = vir->name,
      .offset_bytes = (uint32_t)start,
      .size_bytes = (uint32_t)(f.as->size_bytes - start),
      .frame_bytes = pushed_bytes + f.frame_bytes + 64,
      .saved_mask = f.pushed,
      .saved_bytes = f.saved_bytes,
      .spilled_words = f.spilled_words,
      .spilled_vectors = f.spilled_vectors,
  };
  return hlo_vec_push(&unit->funcs, func) ? hlo_ok() : hlo_status_out_of_memory(sizeof func);
}

static hlo_status_t unit_add(hlo_code_unit_t* extended, const hlo_vir_func_t* func) {
  hlo_x86_unit_t* unit = own(extended);
  hlo_arena_mark_t mark = hlo_arena_mark(&unit->arena);
  size_t first_fixup = unit->as.fixups.count;
  hlo_status_t status = compile_func(unit, func);
  hlo_arena_reset(&unit->arena, mark);
  HLO_TRY(status);
  hlo_x86_asm_settle(&unit->as, first_fixup);
  return hlo_x86_asm_status(&unit->as);
}

// Maps the labels of `next` to labels of `unit`; the function of a sealed unit is that of
// `role`.
static void map_labels(hlo_x86_unit_t* unit, const hlo_x86_unit_t* next,
                       const hlo_code_role_t* role, hlo_x86_label_t* map) {
  for (uint32_t i = 0; i < next->func_count; ++i) map[i] = role ? role->index : i;
  for (uint32_t wide = 0; wide < 2; ++wide) {
    if (next->fma_labels[wide] == HLO_X86_NO_LABEL) continue;
    hlo_x86_label_t* label = &unit->fma_labels[wide];
    if (*label == HLO_X86_NO_LABEL) *label = hlo_x86_label_create(&unit->as);
    map[next->fma_labels[wide]] = *label;
  }
  hlo_x86_pool_join(unit, &next->pool, map);
}

static bool append_tables(hlo_x86_unit_t* unit, const hlo_x86_unit_t* next,
                          const hlo_code_role_t* role, uint32_t start) {
  for (size_t i = 0; i < next->funcs.count; ++i) {
    hlo_code_func_t func = next->funcs.items[i];
    func.offset_bytes += start;
    if (role) func.name = role->name;
    if (!hlo_vec_push(&unit->funcs, func)) return false;
  }
  for (size_t i = 0; i < next->debug_ids.count; ++i) {
    hlo_code_debug_id_t debug_id = next->debug_ids.items[i];
    debug_id.offset_bytes += start;
    if (role) debug_id.debug_id = role->debug_ids[debug_id.debug_id];
    if (!hlo_vec_push(&unit->debug_ids, debug_id)) return false;
  }
  return true;
}

static hlo_status_t append_unit(hlo_x86_unit_t* unit, const hlo_x86_unit_t* next,
                                const hlo_code_role_t* role) {
  hlo_x86_asm_t* as = &unit->as;
  hlo_x86_align(as, FUNC_ALIGN, true);
  size_t start = as->size_bytes;
  hlo_arena_mark_t mark = hlo_arena_mark(&unit->arena);
  hlo_x86_label_t* map = hlo_arena_array(&unit->arena, next->as.labels.count, sizeof *map);
  HLO_TRY(hlo_arena_status(&unit->arena));
  map_labels(unit, next, role, map);
  for (uint32_t i = 0; i < next->func_count && hlo_status_is_ok(as->status); ++i) {
    int64_t at = next->as.labels.items[i];
    if (at >= 0) as->labels.items[map[i]] = at + (int64_t)start;
  }
  hlo_x86_asm_append(as, &next->as, map);
  hlo_arena_reset(&unit->arena, mark);
  if (!append_tables(unit, next, role, (uint32_t)start)) return hlo_status_out_of_memory(start);
  return hlo_x86_asm_status(as);
}

static hlo_status_t unit_join(hlo_code_unit_t* unit, const hlo_code_unit_t* next) {
  return append_unit(own(unit), (const hlo_x86_unit_t*)next, NULL);
}

static size_t unit_seal(hlo_code_unit_t* sealed, uint32_t debug_id_count,
                        const uint32_t* debug_ids) {
  hlo_x86_unit_t* unit = own(sealed);
  for (size_t i = 0; i < unit->debug_ids.count; ++i) {
    uint32_t at = 0;
    while (at < debug_id_count && debug_ids[at] != unit->debug_ids.items[i].debug_id) ++at;
    unit->debug_ids.items[i].debug_id = at < debug_id_count ? at : 0;
  }
  hlo_arena_deinit(&unit->arena);
  const hlo_x86_asm_t* as = &unit->as;
  size_t size_bytes = sizeof *unit + as->capacity_bytes +
                      as->labels.capacity * sizeof *as->labels.items +
                      as->fixups.capacity * sizeof *as->fixups.items +
                      unit->funcs.capacity * sizeof *unit->funcs.items +
                      unit->debug_ids.capacity * sizeof *unit->debug_ids.items;
  return size_bytes + hlo_x86_pool_size_bytes(&unit->pool);
}

static hlo_status_t unit_include(hlo_code_unit_t* unit, const hlo_code_unit_t* sealed,
                                 const hlo_code_role_t* role) {
  return append_unit(own(unit), (const hlo_x86_unit_t*)sealed, role);
}

static hlo_status_t unit_finish(hlo_code_unit_t* finished, hlo_code_t* out_code) {
  hlo_x86_unit_t* unit = own(finished);
  hlo_x86_emit_fma_functions(unit);
  hlo_x86_pool_emit(unit);
  HLO_TRY(hlo_x86_asm_finish(&unit->as));
  *out_code = (hlo_code_t){.isa = &hlo_x86_isa,
                           .bytes = unit->as.bytes,
                           .size_bytes = unit->as.size_bytes,
                           .func_count = (uint32_t)unit->funcs.count,
                           .debug_id_count = (uint32_t)unit->debug_ids.count,
                           .funcs = unit->funcs.items,
                           .debug_ids = unit->debug_ids.items};
  unit->as.bytes = NULL;
  unit->funcs.items = NULL;
  unit->debug_ids.items = NULL;
  return hlo_ok();
}

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

static const uint8_t kTrampoline[] = {0xf3, 0x0f, 0x1e, 0xfa,           // endbr64
                                      0x48, 0x8d, 0x15, 0,    0, 0, 0,  // lea rdx, [rip + data]
                                      0xe9, 0,    0,    0,    0};       // jmp target
enum { TRAMPOLINE_DATA_AT = 7, TRAMPOLINE_TARGET_AT = 12, FROM_NEXT = -4 };

static bool encodes(const hlo_target_t* target) {
  return target->has_encoder;
}

const hlo_code_isa_t hlo_x86_isa = {
    .name = "x86-64",
    .encodes = encodes,
    .create = unit_create,
    .release = unit_release,
    .add = unit_add,
    .join = unit_join,
    .seal = unit_seal,
    .include = unit_include,
    .finish = unit_finish,
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
               .trampoline = kTrampoline,
               .trampoline_bytes = sizeof kTrampoline,
               .trampoline_data = {TRAMPOLINE_DATA_AT, R_X86_64_PC32, FROM_NEXT},
               .trampoline_target = {TRAMPOLINE_TARGET_AT, R_X86_64_PLT32, FROM_NEXT}},
    .objdump_machine = "i386:x86-64",
    .objdump_syntax = "intel"};
