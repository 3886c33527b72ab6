// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the PTX emitter: registers, and lines of text.
#pragma once

#include "codegen/ptx/emit.h"

/// The kinds of registers: predicates, f16 bits, 32 bits, 64 bits, f32, f64. Integers below 32 bits
/// are in 32 bits, zero-extended.
typedef enum hlo_ptx_kind {
  HLO_PTX_PREDICATE,
  HLO_PTX_B16,
  HLO_PTX_B32,
  HLO_PTX_B64,
  HLO_PTX_F32,
  HLO_PTX_F64,
  HLO_PTX_FRAGMENT,  // 32 bits of a matrix, numbered by themselves
  HLO_PTX_KIND_COUNT,
  HLO_PTX_IMMEDIATE = HLO_PTX_KIND_COUNT,  // the number itself
} hlo_ptx_kind_t;

typedef struct hlo_ptx_reg {
  hlo_ptx_kind_t kind;
  int64_t number;
} hlo_ptx_reg_t;

typedef struct hlo_ptx_emitter {
  const hlo_ptx_target_t* target;
  const hlo_vir_func_t* func;
  bool flushes;                    // subnormal f32
  bool has_stack;                  // in this function: addresses may be of local memory
  bool has_table;                  // its first parameter is a table
  uint32_t param_count;            // of the kernel
  uint32_t register_count;         // of each kind; numbers of values, then of temporaries
  uint32_t fragment_count;         // registers of matrices
  bool is_group;                   // parameters: table, block, thread, near memory
  const hlo_ptx_launch_t* launch;  // of a group
  hlo_strbuf_t body;               // of this function
  hlo_status_t failure;            // the first one
} hlo_ptx_emitter_t;

/// Appends one instruction. In the format $ is the next argument, a hlo_ptx_reg_t; # an int64_t;
/// % a const char*; ~ is ".ftz" where subnormals are flushed.
void hlo_ptx_line(hlo_ptx_emitter_t* e, const char* format, ...);

/// Returns a new register.
hlo_ptx_reg_t hlo_ptx_temp(hlo_ptx_emitter_t* e, hlo_ptx_kind_t kind);

/// Returns the kind of registers that hold an element.
hlo_ptx_kind_t hlo_ptx_kind_of(hlo_vir_elem_t elem);

/// Returns the register of a value; constants of INDEX are immediates.
hlo_ptx_reg_t hlo_ptx_reg(const hlo_vir_value_t* value);

static inline hlo_ptx_reg_t hlo_ptx_immediate(int64_t number) {
  return (hlo_ptx_reg_t){HLO_PTX_IMMEDIATE, number};
}

/// Fails for an operation that has no form here; the first failure is kept.
void hlo_ptx_refuse(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value, const char* why);

/// Emits a lane-wise operation.
void hlo_ptx_emit_lane(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value);

/// Emits what the threads of a block do together.
void hlo_ptx_emit_group(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value);

/// Sign-extends an integer of 8 or 16 bits to 32; others are returned as they are.
hlo_ptx_reg_t hlo_ptx_sign_extended(hlo_ptx_emitter_t* e, hlo_ptx_reg_t x, uint32_t bits);
/// Clears the bits of a register above an integer's width of 8 or 16 bits.
void hlo_ptx_clear_above(hlo_ptx_emitter_t* e, hlo_ptx_reg_t x, uint32_t bits);
