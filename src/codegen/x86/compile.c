// SPDX-License-Identifier: Apache-2.0
// A module of vector IR to machine code: its functions one by one, then the constants they use.
#include "codegen/x86/x86_impl.h"

enum { FUNC_ALIGN = 64, MAX_ATTEMPTS = 12 };

// Emitting finds out how many registers instructions need besides those of their values.
static hlo_status_t make_code(hlo_x86_fn_t* f) {
  hlo_x86_asm_t* as = f->as;
  size_t size_bytes = as->size_bytes, fixup_count = as->fixups.count;
  size_t site_count = f->unit->sites.count;
  HLO_TRY(hlo_x86_analyse(f));
  if (!hlo_status_is_ok(f->status)) return hlo_ok();
  for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS; ++attempt) {
    as->size_bytes = size_bytes;
    as->fixups.count = fixup_count;
    f->unit->sites.count = site_count;
    HLO_TRY(hlo_x86_allocate(f));
    bool is_done = hlo_x86_emit_function(f);
    HLO_TRY(hlo_arena_status(f->arena));
    if (is_done || !hlo_status_is_ok(f->status)) return hlo_ok();
  }
  return hlo_status_create(HLO_STATUS_INTERNAL, "%s: an instruction needs more registers",
                           f->vir->name);
}

static hlo_status_t compile_func(hlo_x86_unit_t* unit, const hlo_vir_func_t* vir,
                                 hlo_code_func_t* out) {
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
  hlo_x86_label_bind(f.as, unit->func_labels[vir->index]);
  size_t start = f.as->size_bytes;
  hlo_status_t status = make_code(&f);
  if (!hlo_status_is_ok(f.status)) {
    hlo_status_release(status);
    return f.status;
  }
  HLO_TRY(status);
  uint32_t pushed_bytes = 8 * (uint32_t)__builtin_popcount(f.pushed);
  *out = (hlo_code_func_t){
      .name = vir->name,
      .offset_bytes = (uint32_t)start,
      .size_bytes = (uint32_t)(f.as->size_bytes - start),
      .frame_bytes = pushed_bytes + f.frame_bytes + 64,
      .saved_mask = f.pushed,
      .saved_bytes = f.saved_bytes,
  };
  return hlo_ok();
}

static hlo_status_t compile_funcs(hlo_x86_unit_t* unit, hlo_code_t* code) {
  hlo_arena_mark_t mark = hlo_arena_mark(&unit->arena);
  for (const hlo_vir_func_t* func = unit->module->first_func; func; func = func->next) {
    HLO_TRY(compile_func(unit, func, &code->funcs[func->index]));
    hlo_arena_reset(&unit->arena, mark);
  }
  hlo_x86_emit_fma_functions(unit);
  HLO_TRY(hlo_x86_pool_emit(unit));
  HLO_TRY(hlo_x86_asm_finish(&unit->as));
  code->bytes = unit->as.bytes;
  code->size_bytes = unit->as.size_bytes;
  unit->as.bytes = NULL;
  code->sites = unit->sites.items;
  code->site_count = (uint32_t)unit->sites.count;
  unit->sites.items = NULL;
  return hlo_ok();
}

static hlo_status_t make_labels(hlo_x86_unit_t* unit) {
  const hlo_vir_module_t* module = unit->module;
  unit->func_labels =
      hlo_arena_array(&unit->arena, module->func_count + 1, sizeof *unit->func_labels);
  unit->blob_labels =
      hlo_arena_array(&unit->arena, module->blob_count + 1, sizeof *unit->blob_labels);
  HLO_TRY(hlo_arena_status(&unit->arena));
  for (uint32_t i = 0; i < module->func_count; ++i) {
    unit->func_labels[i] = hlo_x86_label_create(&unit->as);
  }
  for (uint32_t i = 0; i < module->blob_count; ++i) unit->blob_labels[i] = HLO_X86_NO_LABEL;
  return hlo_ok();
}

hlo_status_t hlo_x86_compile_limited(const hlo_vir_module_t* module, const hlo_target_t* target,
                                     const hlo_x86_limits_t* limits, hlo_code_t* out_code) {
  if (!target->has_encoder) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "machine code for this processor");
  }
  hlo_code_t code = {.func_count = module->func_count};
  code.funcs = hlo_mem_alloc_zeroed((module->func_count + 1) * sizeof *code.funcs);
  if (!code.funcs) return hlo_status_out_of_memory(module->func_count * sizeof *code.funcs);
  hlo_x86_unit_t unit = {.module = module,
                         .target = target,
                         .limits = *limits,
                         .fma_labels = {HLO_X86_NO_LABEL, HLO_X86_NO_LABEL}};
  hlo_x86_asm_init(&unit.as, target->cpu.features);
  hlo_arena_init(&unit.arena, 0);
  hlo_status_t status = make_labels(&unit);
  if (hlo_status_is_ok(status)) status = compile_funcs(&unit, &code);
  hlo_vec_deinit(&unit.sites);
  hlo_x86_pool_deinit(&unit.pool);
  hlo_arena_deinit(&unit.arena);
  hlo_x86_asm_deinit(&unit.as);
  if (!hlo_status_is_ok(status)) {
    hlo_code_deinit(&code);
    return status;
  }
  *out_code = code;
  return hlo_ok();
}

hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                             hlo_code_t* out_code) {
  return hlo_x86_compile_limited(module, target, &(hlo_x86_limits_t){{0}}, out_code);
}
