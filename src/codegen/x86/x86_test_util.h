// SPDX-License-Identifier: Apache-2.0
// Machine code of whole modules by the encoder itself, as hlo_code_compile() makes it; optionally
// with fewer registers.
#pragma once

#include "codegen/x86/x86_impl.h"

static inline hlo_status_t hlo_x86_compile_limited(const hlo_vir_module_t* module,
                                                   const hlo_target_t* target,
                                                   const hlo_x86_limits_t* limits,
                                                   hlo_code_t* out_code) {
  hlo_code_unit_t* unit = NULL;
  HLO_TRY(hlo_x86_isa.create(target, module->func_count, &unit));
  ((hlo_x86_unit_t*)unit)->limits = *limits;
  hlo_status_t status = hlo_ok();
  for (const hlo_vir_func_t* f = module->first_func; f && hlo_status_is_ok(status); f = f->next) {
    status = hlo_x86_isa.add(unit, f);
  }
  if (hlo_status_is_ok(status)) status = hlo_x86_isa.finish(unit, out_code);
  hlo_code_unit_release(unit);
  return status;
}

static inline hlo_status_t hlo_x86_compile(const hlo_vir_module_t* module,
                                           const hlo_target_t* target, hlo_code_t* out_code) {
  return hlo_x86_compile_limited(module, target, &(hlo_x86_limits_t){{0}}, out_code);
}
