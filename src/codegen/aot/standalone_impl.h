// SPDX-License-Identifier: Apache-2.0
// Shared by C source and object files of standalone programs (standalone.c).
#pragma once

#include "codegen/memory/plan.h"

/// Returns UNIMPLEMENTED with name and location of the first step that exchanges data with other
/// processes or, unless `may_call`, calls the library; `form` names the output: "C source".
hlo_status_t hlo_standalone_check(const hlo_plan_t* plan, const char* form,
                                  bool may_call) HLO_MUST_USE;
/// Returns `name` with characters replaced that C does not allow; NULL when memory is exhausted.
const char* hlo_standalone_identifier(const char* name, hlo_arena_t* arena);
/// Appends the header that declares NAME_run(); `usage`: comment lines about building with it.
hlo_status_t hlo_standalone_print_header(const hlo_plan_t* plan, const char* name,
                                         const char* usage, hlo_strbuf_t* out) HLO_MUST_USE;
