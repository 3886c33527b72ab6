// SPDX-License-Identifier: Apache-2.0
// Shared by the assembler's files: the rows of insn.def, and the bytes common to all encodings.
#pragma once

#include "codegen/x86/asm.h"

// The names are those of insn.def, which explains them.
typedef enum hlo_x86_form {
  HLO_X86_FORM_RM,
  HLO_X86_FORM_RMI,
  HLO_X86_FORM_MR,
  HLO_X86_FORM_MRI,
  HLO_X86_FORM_RVM,
  HLO_X86_FORM_RVMI,
  HLO_X86_FORM_RVMR,
  HLO_X86_FORM_RMV,
  HLO_X86_FORM_MVR,
  HLO_X86_FORM_VMI,
  HLO_X86_FORM_R,
  HLO_X86_FORM_M,
} hlo_x86_form_t;

// clang-format off
typedef enum hlo_x86_kind {
  HLO_X86_KIND__,
  HLO_X86_KIND_V, HLO_X86_KIND_H, HLO_X86_KIND_Q, HLO_X86_KIND_O, HLO_X86_KIND_X, HLO_X86_KIND_Y,
  HLO_X86_KIND_K, HLO_X86_KIND_T,
  HLO_X86_KIND_G, HLO_X86_KIND_G4, HLO_X86_KIND_G8,
  HLO_X86_KIND_M, HLO_X86_KIND_S, HLO_X86_KIND_IV, HLO_X86_KIND_IH,
} hlo_x86_kind_t;

typedef enum hlo_x86_tuple {
  HLO_X86_TUPLE_FV, HLO_X86_TUPLE_HV,  // with the choice of one element for all lanes
  HLO_X86_TUPLE_FVM, HLO_X86_TUPLE_HVM, HLO_X86_TUPLE_QVM, HLO_X86_TUPLE_OVM,
  HLO_X86_TUPLE_T1, HLO_X86_TUPLE_T4, HLO_X86_TUPLE_M128, HLO_X86_TUPLE_REG,
} hlo_x86_tuple_t;

// As encoded in VEX and EVEX, which have no LOCK.
typedef enum hlo_x86_pp {
  HLO_X86_NO_PREFIX, HLO_X86_P66, HLO_X86_PF3, HLO_X86_PF2, HLO_X86_LOCK,
} hlo_x86_pp_t;
typedef enum hlo_x86_map {
  HLO_X86_M00, HLO_X86_M0F, HLO_X86_M38, HLO_X86_M3A, HLO_X86_M5 = 5,
} hlo_x86_map_t;

/// Vector lengths as bit sets of bytes; the single ones are implied by the instruction.
typedef enum hlo_x86_lengths {
  HLO_X86_SIZE = 0, HLO_X86_L128 = 16, HLO_X86_L256 = 32, HLO_X86_L512 = 64,
  HLO_X86_NO128 = 32 | 64, HLO_X86_ALL = 16 | 32 | 64,
} hlo_x86_lengths_t;
// clang-format on

typedef enum hlo_x86_w { HLO_X86_W_NONE, HLO_X86_W0, HLO_X86_W1, HLO_X86_W_SIZE } hlo_x86_w_t;

/// An encoding of an instruction; w: HLO_X86_W_NONE if it does not exist.
typedef struct hlo_x86_prefix {
  uint8_t w;        // hlo_x86_w_t
  uint8_t feature;  // hlo_cpu_feature_t
  bool may_mask;
} hlo_x86_prefix_t;

/// A row of insn.def's vector table.
typedef struct hlo_x86_row {
  uint8_t form, reg, vvvv, rm;  // hlo_x86_form_t, hlo_x86_kind_t
  uint8_t pp, map, opcode, digit;
  hlo_x86_prefix_t vex, evex;
  uint8_t tuple, element_bytes, lengths;
} hlo_x86_row_t;

extern const hlo_x86_row_t hlo_x86_rows[HLO_X86_INSN_COUNT];

/// Returns the vector length in bytes of a row for `width`; 0 if the row lacks it. General
/// registers: 16.
unsigned hlo_x86_row_length(const hlo_x86_row_t* row, unsigned width);
/// Returns the bytes of the memory operand.
unsigned hlo_x86_row_memory_bytes(const hlo_x86_row_t* row, unsigned length, bool is_splat);

/// Makes room for one instruction; false after an error.
bool hlo_x86_begin(hlo_x86_asm_t* as);
/// Records an error; the first one is kept.
void hlo_x86_fail(hlo_x86_asm_t* as, hlo_status_t status) HLO_COLD;

static inline void hlo_x86_put8(hlo_x86_asm_t* as, unsigned byte) {
  as->bytes[as->size_bytes++] = (uint8_t)byte;
}
/// Appends the low `count` bytes of a value.
static inline void hlo_x86_put(hlo_x86_asm_t* as, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; i++) hlo_x86_put8(as, (unsigned)(value >> 8 * i) & 0xff);
}
/// Appends ModRM, SIB and displacement. disp8_unit: the unit of an 8-bit displacement;
/// trailing_bytes: bytes of the instruction after the displacement.
void hlo_x86_put_rm(hlo_x86_asm_t* as, unsigned reg, const hlo_x86_rm_t* rm, unsigned disp8_unit,
                    unsigned trailing_bytes);
