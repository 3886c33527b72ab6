// SPDX-License-Identifier: Apache-2.0
// Texts of the stages of code generation, for people and for other compilers.
#pragma once

#include "base/strbuf.h"
#include "codegen/object/code.h"
#include "codegen/target/target.h"
#include "codegen/vir/vir.h"
#include "ir/module.h"

typedef enum hlo_listing_form {
  HLO_LISTING_FUSION,    // fusions, and the ops that were not fused and why
  HLO_LISTING_TILE,      // kernels as Tile IR
  HLO_LISTING_PLAN,      // steps, and the allocations of values
  HLO_LISTING_VIR,       // vector IR
  HLO_LISTING_C,         // self-contained C source (codegen/c/emit.h)
  HLO_LISTING_ASM,       // machine code, disassembled if objdump is installed
  HLO_LISTING_TILINGS,   // possible tilings of each fusion; all tiles of products
  HLO_LISTING_PTX,       // kernels in the assembly language of NVIDIA's GPUs
  HLO_LISTING_SPMD,      // what one device computes, keeps and sends (compiler/spmd_listing.h)
  HLO_LISTING_OBJECT,    // an object file, not text (object.h)
  HLO_LISTING_LOCATION,  // the operation of the code at `location`
} hlo_listing_form_t;

/// A request for one text. The same program, target and form give the same text.
typedef struct hlo_listing {
  hlo_listing_form_t form;
  hlo_strbuf_t* out;     // appended to; lent
  hlo_strbuf_t* header;  // of object files and self-contained C source; NULL: not requested
  const char* name;      // of the function in them
  const char* gpu;       // of PTX: its target, such as "sm_90a"
  const char* location;  // "0x1f3" in the whole code, or "main::chunk5+0x42" as perf prints it
} hlo_listing_t;

/// Finds the form called fusion, tile, plan, vir, c, asm, ptx, tilings or spmd; returns false for
/// other names.
bool hlo_listing_find(const char* name, hlo_listing_form_t* out_form);

/// Prints C source, machine code or a location in it, for a verified module made from `func`; does
/// nothing for the other forms.
/// errors: UNIMPLEMENTED (machine code for a target without encoder), INVALID_ARGUMENT or NOT_FOUND
/// (location), RESOURCE_EXHAUSTED
hlo_status_t hlo_listing_print_code(const hlo_listing_t* listing, const hlo_vir_module_t* vir,
                                    const hlo_func_t* func,
                                    const hlo_target_t* target) HLO_MUST_USE;
