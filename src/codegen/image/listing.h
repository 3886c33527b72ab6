// SPDX-License-Identifier: Apache-2.0
// What code generation makes of a program, as text for people and for other compilers.
#ifndef HLO_CODEGEN_LISTING_H_
#define HLO_CODEGEN_LISTING_H_

#include "base/strbuf.h"
#include "codegen/object/code.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"
#include "ir/module.h"

typedef enum hlo_listing_form {
  HLO_LISTING_FUSION,  // fusions, and why they are no larger
  HLO_LISTING_TILE,    // kernels as Tile IR
  HLO_LISTING_PLAN,    // steps and where values lie
  HLO_LISTING_VIR,     // vector IR
  HLO_LISTING_C,       // C source that stands on its own (codegen/c/emit.h)
  HLO_LISTING_ASM,     // machine code, disassembled if objdump is there
  HLO_LISTING_TILINGS,  // how each fusion could be cut; of products all tiles
  HLO_LISTING_OBJECT,  // no text but an object file (object.h)
  HLO_LISTING_LOCATION,   // the operation that the code at `place` came from
} hlo_listing_form_t;

/// A wish for one text. The same program, target and form give the same text.
typedef struct hlo_listing {
  hlo_listing_form_t form;
  hlo_strbuf_t* out;     // appended to; lent
  hlo_strbuf_t* header;  // of objects and of C source that needs nothing else (standalone.h); NULL:
                         // such source is not wanted
  const char* name;      // what the function of those is called by
  const char* location;     // "0x1f3" in all of the code, or "main::chunk5+0x42" as perf and GDB name it
} hlo_listing_t;

/// The text called fusion, tile, plan, vir, c, asm or tilings; false: there is none of that name.
bool hlo_listing_find(const char* name, hlo_listing_form_t* out_form);

/// C source, machine code or a place in it, of a verified module made from `func`; nothing for the
/// other forms.
/// errors: UNIMPLEMENTED (machine code for a target without encoder), INVALID_ARGUMENT or NOT_FOUND
/// (a place that is none), RESOURCE_EXHAUSTED
hlo_status_t hlo_listing_print_code(const hlo_listing_t* listing, const hlo_vir_module_t* vir,
                                    const hlo_func_t* func,
                                    const hlo_target_t* target) HLO_MUST_USE;

#endif  // HLO_CODEGEN_LISTING_H_
