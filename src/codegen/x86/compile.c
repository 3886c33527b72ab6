// SPDX-License-Identifier: Apache-2.0
// Compiles functions of vector IR: one by one, in units that are joined, followed by their
// constants.
#include "base/check.h"
#include "base/tuning.h"
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
  return hlo_status_create(HLO_STATUS_INTERNAL, "%s: an instruction needs more registers",
                           f->vir->name);
}

// ---- units

static hlo_x86_unit_t* own(hlo_code_unit_t* unit) {
  return (hlo_x86_unit_t*)unit;
}

static void init_unit(hlo_x86_unit_t* unit, const hlo_target_t* target, uint32_t func_count) {
  HLO_ASSERT(target->has_encoder, "code is made for processors that the encoder knows");
  *unit = (hlo_x86_unit_t){.base = {&hlo_x86_isa},
                           .target = target,
                           .func_count = func_count,
                           .fma_labels = {HLO_X86_NO_LABEL, HLO_X86_NO_LABEL}};
  hlo_x86_asm_init(&unit->as, target->cpu.features);
  hlo_arena_init(&unit->arena, 0);
  for (uint32_t i = 0; i < func_count; ++i) hlo_x86_label_create(&unit->as);
}  // an error stays in the assembler

static void deinit_unit(hlo_x86_unit_t* unit) {
  hlo_vec_deinit(&unit->funcs);
  hlo_vec_deinit(&unit->debug_ids);
  hlo_x86_pool_deinit(&unit->pool);
  hlo_arena_deinit(&unit->arena);
  hlo_x86_asm_deinit(&unit->as);
}

hlo_status_t hlo_x86_unit_create(const hlo_target_t* target, uint32_t func_count,
                                 hlo_code_unit_t** out_unit) {
  hlo_x86_unit_t* unit = hlo_mem_alloc(sizeof *unit);
  if (!unit) return hlo_status_out_of_memory(sizeof *unit);
  init_unit(unit, target, func_count);
  *out_unit = &unit->base;
  return hlo_ok();
}

void hlo_x86_unit_release(hlo_code_unit_t* unit) {
  deinit_unit(own(unit));
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
  };
  return hlo_vec_push(&unit->funcs, func) ? hlo_ok() : hlo_status_out_of_memory(sizeof func);
}

static hlo_status_t add_func(hlo_x86_unit_t* unit, const hlo_vir_func_t* func) {
  hlo_arena_mark_t mark = hlo_arena_mark(&unit->arena);
  size_t first_fixup = unit->as.fixups.count;
  hlo_status_t status = compile_func(unit, func);
  hlo_arena_reset(&unit->arena, mark);
  HLO_TRY(status);
  hlo_x86_asm_settle(&unit->as, first_fixup);
  return hlo_x86_asm_status(&unit->as);
}

hlo_status_t hlo_x86_unit_add(hlo_code_unit_t* unit, const hlo_vir_func_t* func) {
  return add_func(own(unit), func);
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

hlo_status_t hlo_x86_unit_join(hlo_code_unit_t* unit, const hlo_code_unit_t* next) {
  return append_unit(own(unit), (const hlo_x86_unit_t*)next, NULL);
}

size_t hlo_x86_unit_seal(hlo_code_unit_t* sealed, uint32_t debug_id_count,
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

hlo_status_t hlo_x86_unit_include(hlo_code_unit_t* unit, const hlo_code_unit_t* sealed,
                                const hlo_code_role_t* role) {
  return append_unit(own(unit), (const hlo_x86_unit_t*)sealed, role);
}

static hlo_status_t finish_unit(hlo_x86_unit_t* unit, hlo_code_t* out_code) {
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

hlo_status_t hlo_x86_unit_finish(hlo_code_unit_t* unit, hlo_code_t* out_code) {
  return finish_unit(own(unit), out_code);
}

// ---- modules

static hlo_status_t compile_module(hlo_x86_unit_t* unit, const hlo_vir_module_t* module,
                                   hlo_code_t* out_code) {
  for (const hlo_vir_func_t* func = module->first_func; func; func = func->next) {
    HLO_TRY(add_func(unit, func));
  }
  return finish_unit(unit, out_code);
}

hlo_status_t hlo_x86_compile_limited(const hlo_vir_module_t* module, const hlo_target_t* target,
                                     const hlo_x86_limits_t* limits, hlo_code_t* out_code) {
  hlo_x86_unit_t unit;
  init_unit(&unit, target, module->func_count);
  unit.limits = *limits;
  hlo_status_t status = compile_module(&unit, module, out_code);
  deinit_unit(&unit);
  return status;
}

hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                             hlo_code_t* out_code) {
  return hlo_x86_compile_limited(module, target, &(hlo_x86_limits_t){{0}}, out_code);
}
