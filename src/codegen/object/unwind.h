// SPDX-License-Identifier: Apache-2.0
// The .eh_frame section of generated code: for loaded code, or for an object file.
#pragma once

#include "base/status.h"
#include "codegen/object/code.h"

/// Instructions of call frame information. source: DWARF 5, section 7.24
enum {
  HLO_CFA_NOP = 0,
  HLO_CFA_DEF_CFA = 0x0c,
  HLO_CFA_DEF_CFA_REGISTER = 0x0d,
  HLO_CFA_DEF_CFA_OFFSET = 0x0e,
  HLO_CFA_ADVANCE = 0x40,  // plus a distance
  HLO_CFA_OFFSET = 0x80,   // plus a register
};

typedef struct hlo_eh_frame {
  uint8_t* bytes;  // hlo_mem
  size_t size_bytes;
} hlo_eh_frame_t;

/// Builds the section for code loaded at `base`, with a terminator. base NULL: for code that a
/// linker will place: without a terminator, with 4-byte pc-relative addresses that relocations fill
/// in at the offsets in `out_fields`, one per function.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_eh_frame_create(const hlo_code_t* code, const uint8_t* base, uint32_t* out_fields,
                                 hlo_eh_frame_t* out_eh_frame) HLO_MUST_USE;
