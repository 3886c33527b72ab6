// SPDX-License-Identifier: Apache-2.0
// Building functions of the vector IR: one call an instruction, blocks opened and closed.
#ifndef HLO_CODEGEN_VIR_BUILDER_H_
#define HLO_CODEGEN_VIR_BUILDER_H_

#include "codegen/vir/vir.h"

/// Where instructions go. Failure of memory is sticky in the module; calls then answer a poison
/// value. owner: deinit frees only the builder's own tables. threads: confined.
typedef struct hlo_vir_builder {
  hlo_vir_module_t* module;
  hlo_vir_func_t* func;
  hlo_vir_block_t* block;         // innermost open block
  uint32_t site;                  // given to every instruction made from now on
  bool is_plain;                  // for tests: nothing is moved, merged or folded; set after init
  uint32_t fence_depth;           // INVARIANT loads stay inside this depth,
  uint32_t fence_number;          // and values before this number are no longer what memory holds
  struct hlo_vir_guards* guards;  // NULL: accesses are not checked (guard.h)
  struct hlo_vir_equal_table* equal;  // pure instructions by content; NULL: none yet
} hlo_vir_builder_t;

void hlo_vir_builder_init(hlo_vir_builder_t* b, hlo_vir_func_t* func);
void hlo_vir_builder_deinit(hlo_vir_builder_t* b);

/// Any instruction without a body. Pure ones (and INVARIANT loads, which leave no `if`) go to the
/// outermost open block where the operands are known, and an equal earlier one is returned instead;
/// ops on constants are folded, constant terms of a sum move outwards and end in the displacement
/// of memory ops. Divisions whose divisor is no constant stay where they are. A var as operand ties
/// an instruction to where it is and keeps it from being folded: `iadd(var, 0)` and the like take
/// the value a var has at that place.
hlo_vir_value_t* hlo_vir_emit(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_type_t type,
                              uint32_t flags, int64_t imm, uint32_t operand_count,
                              hlo_vir_value_t* const* operands);

/// Memory was written: INVARIANT loads made from now on stay in the block that is open now or
/// inside it, and are not taken for earlier ones. For code in a row with different views of what
/// never changes.
void hlo_vir_fence(hlo_vir_builder_t* b);

/// Opens a loop; the value is its counter. Ends with hlo_vir_end(). A loop that is known to run
/// once is none: the counter is `lo`, and the body goes where the loop would be.
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
/// `offset_bytes` of a function in hlo_runtime_table_t; arguments behind the frame, at most 4.
hlo_vir_value_t* hlo_vir_call(hlo_vir_builder_t* b, size_t offset_bytes, uint32_t argument_count,
                              hlo_vir_value_t* const* arguments);
/// A chunk function of this module, on the same frame.
hlo_vir_value_t* hlo_vir_call_chunk(hlo_vir_builder_t* b, uint32_t func, hlo_vir_value_t* context,
                                    hlo_vir_value_t* chunk);
void hlo_vir_suspend(hlo_vir_builder_t* b, int64_t resume_point);

hlo_vir_value_t* hlo_vir_iconst(hlo_vir_builder_t* b, int64_t value);
hlo_vir_value_t* hlo_vir_param(hlo_vir_builder_t* b, uint32_t number);
/// INDEX op INDEX.
hlo_vir_value_t* hlo_vir_index(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                               hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_icmp(hlo_vir_builder_t* b, hlo_vir_condition_t condition,
                              hlo_vir_value_t* x, hlo_vir_value_t* y);
/// 64-bit load of a pointer or counter at base + imm.
hlo_vir_value_t* hlo_vir_iload(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset_bytes,
                               uint32_t flags);
void hlo_vir_istore(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                    int64_t offset_bytes, uint32_t flags);

/// Lane-wise ops whose result has the first operand's type (for select: the second's).
hlo_vir_value_t* hlo_vir_unary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x);
hlo_vir_value_t* hlo_vir_binary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_ternary(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y, hlo_vir_value_t* z);
/// Ops with an immediate: shifts by a constant, fround, slide_up.
hlo_vir_value_t* hlo_vir_unary_imm(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                   int64_t imm);
hlo_vir_value_t* hlo_vir_compare(hlo_vir_builder_t* b, hlo_vir_opcode_t op,
                                 hlo_vir_condition_t condition, hlo_vir_value_t* x,
                                 hlo_vir_value_t* y);
hlo_vir_value_t* hlo_vir_convert(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_elem_t elem,
                                 hlo_vir_value_t* x);
/// The bits of one element in every lane; f32 and f64 by value.
hlo_vir_value_t* hlo_vir_const_bits(hlo_vir_builder_t* b, hlo_vir_type_t type, uint64_t bits);
hlo_vir_value_t* hlo_vir_const_float(hlo_vir_builder_t* b, hlo_vir_type_t type, double value);

#endif  // HLO_CODEGEN_VIR_BUILDER_H_
