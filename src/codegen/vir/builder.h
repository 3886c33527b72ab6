// SPDX-License-Identifier: Apache-2.0
// Builds functions of the vector IR: one call per instruction; blocks are opened and closed.
#pragma once

#include "codegen/vir/vir.h"

/// The insertion point and its state. Exhausted memory is sticky in the module; calls then return a
/// poison value. owner: deinit frees only the builder's own tables. threads: confined.
typedef struct hlo_vir_builder {
  hlo_vir_module_t* module;
  hlo_vir_func_t* func;
  hlo_vir_block_t* block;         // innermost open block
  uint32_t debug_id;              // given to every instruction created from now on
  bool is_plain;                  // for tests: nothing is moved, merged or folded; set after init
  uint32_t fence_depth;           // INVARIANT loads stay inside this depth,
  uint32_t fence_number;          // and values before this number may no longer be what memory
                                  // holds
  struct hlo_vir_guards* guards;  // NULL: accesses are not checked (guard.h)
  struct hlo_vir_equal_table* equal;  // pure instructions by content; NULL: none yet
} hlo_vir_builder_t;

void hlo_vir_builder_init(hlo_vir_builder_t* b, hlo_vir_func_t* func);
void hlo_vir_builder_deinit(hlo_vir_builder_t* b);

/// Emits any instruction without a body. Pure instructions (and INVARIANT loads, which do not leave
/// an `if`) are placed in the outermost open block where their operands are available; an equal
/// earlier instruction is returned instead. Operations on constants are folded; constant terms of
/// sums move outwards and end as the displacement of memory operations. Divisions by non-constants
/// are not moved. A var operand pins an instruction to its block and prevents folding: `iadd(var,
/// 0)` reads the value that the var has there.
hlo_vir_value_t* hlo_vir_emit(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                              uint32_t flags, int64_t imm, uint32_t operand_count,
                              hlo_vir_value_t* const* operands);

/// Declares that memory was written: INVARIANT loads created from now on stay inside the block that
/// is open now, and earlier ones are not reused for them. For consecutive code that regards
/// different memory as unchanging.
void hlo_vir_fence(hlo_vir_builder_t* b);

/// Opens a loop; the result is its counter. Ends with hlo_vir_end(). A loop known to run once is
/// not created: the counter is `lo`, and the body is emitted in its place.
hlo_vir_value_t* hlo_vir_begin_for(hlo_vir_builder_t* b, hlo_vir_value_t* lo, hlo_vir_value_t* hi,
                                   int64_t step, uint32_t flags);
void hlo_vir_begin_loop(hlo_vir_builder_t* b);
void hlo_vir_begin_if(hlo_vir_builder_t* b, hlo_vir_value_t* condition);
void hlo_vir_begin_else(hlo_vir_builder_t* b);
void hlo_vir_end(hlo_vir_builder_t* b);

hlo_vir_value_t* hlo_vir_var(hlo_vir_builder_t* b, hlo_vir_value_t* first);
void hlo_vir_set(hlo_vir_builder_t* b, hlo_vir_value_t* var, hlo_vir_value_t* value);
void hlo_vir_break_if(hlo_vir_builder_t* b, hlo_vir_value_t* condition);
void hlo_vir_return(hlo_vir_builder_t* b, hlo_vir_value_t* code);
/// Calls the function at `offset_bytes` of hlo_runtime_table_t with the frame and at most 4
/// arguments.
hlo_vir_value_t* hlo_vir_call(hlo_vir_builder_t* b, size_t offset_bytes, uint32_t argument_count,
                              hlo_vir_value_t* const* arguments);
/// Calls a chunk function of this module on the same frame.
hlo_vir_value_t* hlo_vir_call_chunk(hlo_vir_builder_t* b, uint32_t func, hlo_vir_value_t* context,
                                    hlo_vir_value_t* chunk);
void hlo_vir_suspend(hlo_vir_builder_t* b, int64_t resume_point);

hlo_vir_value_t* hlo_vir_iconst(hlo_vir_builder_t* b, int64_t value);
hlo_vir_value_t* hlo_vir_param(hlo_vir_builder_t* b, uint32_t number);
/// Emits a binary INDEX operation.
hlo_vir_value_t* hlo_vir_index(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                               hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_icmp(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                              hlo_vir_value_t* x, hlo_vir_value_t* y);
/// Emits a 64-bit load of a pointer or counter at base + imm.
hlo_vir_value_t* hlo_vir_iload(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset_bytes,
                               uint32_t flags);
void hlo_vir_istore(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                    int64_t offset_bytes, uint32_t flags);

/// Emits a lane-wise operation whose result has the type of the first operand (select: of the
/// second).
hlo_vir_value_t* hlo_vir_unary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x);
hlo_vir_value_t* hlo_vir_binary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_ternary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y, hlo_vir_value_t* z);
/// Emits an operation with an immediate: shifts by a constant, fround, slide_up.
hlo_vir_value_t* hlo_vir_unary_imm(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                   int64_t imm);
hlo_vir_value_t* hlo_vir_compare(hlo_vir_builder_t* b, hlo_vir_opcode_t op,
                                 hlo_vir_condition_t condition, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_convert(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_elem_t elem,
                                 hlo_vir_value_t* x);
/// Emits a constant with these bits in every lane; f32 and f64 by value below.
hlo_vir_value_t* hlo_vir_const_bits(hlo_vir_builder_t* b, hlo_vir_type_t type, uint64_t bits);
hlo_vir_value_t* hlo_vir_const_float(hlo_vir_builder_t* b, hlo_vir_type_t type, double value);
/// Emits a constant mask of the first `count` lanes.
hlo_vir_value_t* hlo_vir_const_mask(hlo_vir_builder_t* b, uint32_t lanes, uint32_t count);
