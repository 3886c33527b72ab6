// SPDX-License-Identifier: Apache-2.0
// A program as C source that needs no library: one function to call, and its header.
#pragma once

#include "codegen/lower/call_sites.h"
#include "codegen/vir/vir.h"

/// Appends the source and the header of a planned program with verified vector IR. The function is
/// NAME_run(); NAME is `name` with characters replaced that C does not allow. Constants are added
/// to `vir`.
/// errors : UNIMPLEMENTED naming the first operation that the library would have to compute
hlo_status_t hlo_standalone_print(const hlo_plan_t* plan, const hlo_call_site_table_t* table,
                                  hlo_vir_module_t* vir, const char* name, hlo_strbuf_t* out_source,
                                  hlo_strbuf_t* out_header) HLO_MUST_USE;
