// SPDX-License-Identifier: Apache-2.0
// Library calls of programs made ahead of time: the nodes as a separate module, which src/rt parses
// from its text at the first call.
#ifndef HLO_CODEGEN_OBJECT_CALLS_H_
#define HLO_CODEGEN_OBJECT_CALLS_H_

#include "codegen/lower/call_sites.h"

/// The called nodes of a program, in the order of a walk over its module.
typedef struct hlo_object_calls {
  uint32_t count;
  const hlo_call_site_t** call_sites;
  uint32_t* positions;  // in walk order
} hlo_object_calls_t;

/// Lists the calls. `table` owns the call sites, `arena` the lists.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_object_calls_list(const hlo_call_site_table_t* table, hlo_arena_t* arena,
                                   hlo_object_calls_t* out_calls) HLO_MUST_USE;
/// Appends the module's text: one function with the nodes of the calls; its arguments are the
/// operands and captures of the first call, then those of the second.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_object_calls_print(const hlo_call_site_table_t* table,
                                    const hlo_object_calls_t* calls, hlo_arena_t* arena,
                                    hlo_strbuf_t* out_text) HLO_MUST_USE;

#endif  // HLO_CODEGEN_OBJECT_CALLS_H_
