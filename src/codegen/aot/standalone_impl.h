// SPDX-License-Identifier: Apache-2.0
// What C source and object files of programs that stand alone have in common (standalone.c).
#ifndef HLO_CODEGEN_STANDALONE_IMPL_H_
#define HLO_CODEGEN_STANDALONE_IMPL_H_

#include "codegen/memory/plan.h"

/// UNIMPLEMENTED with name and place of the first step that exchanges data with others or, unless
/// `may_call`, calls the library; `form` is what there is not: "C source".
hlo_status_t hlo_standalone_check(const hlo_plan_t* plan, const char* form,
                                  bool may_call) HLO_MUST_USE;
/// `name` with what C does not allow replaced; NULL when memory is out.
const char* hlo_standalone_identifier(const char* name, hlo_arena_t* arena);
/// The header that declares NAME_run(); `usage`: lines of comment on how to build with it.
hlo_status_t hlo_standalone_print_header(const hlo_plan_t* plan, const char* name,
                                         const char* usage, hlo_strbuf_t* out) HLO_MUST_USE;

#endif  // HLO_CODEGEN_STANDALONE_IMPL_H_
