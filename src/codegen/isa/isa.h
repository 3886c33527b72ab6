// SPDX-License-Identifier: Apache-2.0
// Selects the encoder of a target; object/isa.h describes the objects that encoders make.
#pragma once

#include "codegen/object/isa.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

/// The instruction set of a target's code; NULL: none of those that there are encoders for.
const hlo_code_isa_t* hlo_code_isa_of(const hlo_target_t* target);

/// See hlo_code_isa_t.create(). errors: UNIMPLEMENTED where there is no encoder, RESOURCE_EXHAUSTED
hlo_status_t hlo_code_unit_create(const hlo_target_t* target, uint32_t func_count,
                                  hlo_code_unit_t** out_unit) HLO_MUST_USE;

/// Compiles all functions of a verified module; equal modules and targets give equal bytes.
/// errors: of hlo_code_unit_create() and hlo_code_isa_t.add()
hlo_status_t hlo_code_compile(const hlo_vir_module_t* module, const hlo_target_t* target,
                              hlo_code_t* out_code) HLO_MUST_USE;
