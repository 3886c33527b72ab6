// SPDX-License-Identifier: Apache-2.0
// A program as an object file, made ahead of time without a compiler: machine code, constants,
// unwind tables. It is linked with libhlocc_rt.a (src/rt).
#pragma once

#include "codegen/lower/call_sites.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"

/// Appends the object and its header (NULL: none) of a planned program with verified vector IR. The
/// function is NAME_run(), as for C source (standalone.h). The output is deterministic for a
/// program, target and name.
/// errors : UNIMPLEMENTED (the first operation that exchanges data with other processes, by name
/// and location; a target without encoder), RESOURCE_EXHAUSTED
hlo_status_t hlo_object_print(const hlo_plan_t* plan, const hlo_call_site_table_t* table,
                              const hlo_vir_module_t* vir, const hlo_target_t* target,
                              const char* name, hlo_strbuf_t* out_object,
                              hlo_strbuf_t* out_header) HLO_MUST_USE;
