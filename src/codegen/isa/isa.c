// SPDX-License-Identifier: Apache-2.0
// The list of encoders (see isa.h).
#include "codegen/isa/isa.h"

#include "codegen/x86/x86.h"

static const hlo_code_isa_t* const kSets[] = {&hlo_x86_isa};

const hlo_code_isa_t* hlo_code_isa_of(const hlo_target_t* target) {
  for (uint32_t i = 0; i < sizeof kSets / sizeof *kSets; ++i) {
    if (kSets[i]->encodes(target)) return kSets[i];
  }
  return NULL;
}

hlo_status_t hlo_code_unit_create(const hlo_target_t* target, uint32_t func_count,
                                  hlo_code_unit_t** out_unit) {
  const hlo_code_isa_t* isa = hlo_code_isa_of(target);
  if (!isa) return hlo_unimplemented("machine code for this processor");
  return isa->create(target, func_count, out_unit);
}

hlo_status_t hlo_code_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                              hlo_code_t* out_code) {
  hlo_code_unit_t* unit = NULL;
  HLO_TRY(hlo_code_unit_create(target, module->func_count, &unit));
  hlo_status_t status = hlo_ok();
  for (const hlo_vir_func_t* f = module->first_func; f && hlo_status_is_ok(status); f = f->next) {
    status = unit->isa->add(unit, f);
  }
  if (hlo_status_is_ok(status)) status = unit->isa->finish(unit, out_code);
  hlo_code_unit_release(unit);
  return status;
}
