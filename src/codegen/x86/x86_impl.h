// SPDX-License-Identifier: Apache-2.0
// A function between vector IR and machine code: its instructions in linear order, the live ranges
// of its values, their locations, and helpers that all emitting files share.
//
// Half positions: instruction p reads at 2p, and its result begins at 2p + 1. A live range is one
// interval of half positions with one location throughout: a register, a slot, or rematerialized at
// each use.
#pragma once

#include "codegen/target/target.h"
#include "codegen/vir/vir.h"
#include "codegen/x86/asm.h"
#include "codegen/x86/sse.h"
#include "codegen/x86/x86.h"

typedef enum hlo_x86_class {
  HLO_X86_GENERAL,
  HLO_X86_VECTORS,
  HLO_X86_MASKS,
  HLO_X86_CLASS_COUNT,
} hlo_x86_class_t;

typedef enum hlo_x86_location {
  HLO_X86_NOWHERE,  // no value, dead, or computed inside the instruction that uses it
  HLO_X86_IN_REGISTER,
  HLO_X86_ON_STACK,
  HLO_X86_IN_SAVED,        // in frame->saved: live across a suspension
  HLO_X86_REMATERIALIZED,  // recomputed at each use: constants, addresses, invariants of the frame
} hlo_x86_location_t;

enum { HLO_X86_NONE = UINT32_MAX };

/// The live range of one value. Numbers from value_count on are copies that replace another value
/// inside one loop.
typedef struct hlo_x86_live_range {
  const hlo_vir_value_t* value;
  uint32_t start, end;   // half positions
  uint32_t uses;         // instructions that read it
  uint32_t weight;       // reads and writes; those in loops count more
  uint32_t home;         // the live range whose location it shares: a var that it becomes; else its
                         // own number
  uint32_t next;         // the next live range that ends at the same half position
  uint32_t copy;         // the live range that currently replaces it; HLO_X86_NONE: itself
  uint32_t aux;          // controls: index in `controls`; loads and compares: epoch of memory
  uint32_t set_epoch;    // loads and compares: number of preceding `set`
  uint32_t last_touch;   // vars: position of the last read or set so far
  uint32_t next_free;    // of live ranges whose slot of this size is free: the next one
  uint32_t readings;     // vars: the last value read since it was set; values: the previous one
  uint32_t overwritten;  // such values: half position from which the var has another value
  int32_t slot;          // byte offset from rsp or from frame->saved
  uint8_t place, reg;    // hlo_x86_location_t
  uint8_t klass;         // hlo_x86_class_t
  uint8_t lane_bits;     // masks kept in vector registers
  bool is_folded;        // part of the one instruction that uses it
  bool is_of_stack;  // an address derived from one of the stack (computed only where it matters)
} hlo_x86_live_range_t;

typedef enum hlo_x86_item_kind {
  HLO_X86_ITEM_INSN,  // includes the beginning of for, loop, if
  HLO_X86_ITEM_ELSE,
  HLO_X86_ITEM_END,
} hlo_x86_item_kind_t;

typedef struct hlo_x86_item {
  const hlo_vir_value_t* value;
  uint8_t kind;  // hlo_x86_item_kind_t
  uint32_t calls_before, suspends_before, divisions_before;
} hlo_x86_item_t;

/// A for, loop or if.
typedef struct hlo_x86_control {
  uint32_t begin, end;              // positions
  uint32_t loop;                    // the enclosing loop, an index of controls; HLO_X86_NONE: none
  uint32_t depth;                   // number of loops around its body, itself included
  uint32_t first_copy, copy_count;  // live ranges that exist in this loop only
  bool is_loop, has_inner_loop;
  hlo_x86_label_t top, other, done;
} hlo_x86_control_t;

/// Constants after the code, each once.
typedef struct hlo_x86_pool_entry {
  uint8_t bytes[64];
  uint32_t size_bytes;
  hlo_x86_label_t label;
} hlo_x86_pool_entry_t;

/// A blob of vector IR used by the code.
typedef struct hlo_x86_blob {
  uint8_t* bytes;  // a copy
  size_t size_bytes;
  uint64_t hash;
  hlo_x86_label_t label;
} hlo_x86_blob_t;

typedef struct hlo_x86_pool {
  HLO_VEC(hlo_x86_pool_entry_t) entries;
  uint32_t* slots;  // indices + 1 by hash
  uint32_t slot_count;
  HLO_VEC(hlo_x86_blob_t) blobs;
} hlo_x86_pool_t;

/// Limits for tests: registers of each class available to values; 0: all.
typedef struct hlo_x86_limits {
  uint8_t registers[HLO_X86_CLASS_COUNT];
} hlo_x86_limits_t;

/// Shared by the functions of a unit.
typedef struct hlo_x86_unit {
  hlo_code_unit_t base;
  const hlo_target_t* target;
  hlo_x86_limits_t limits;
  hlo_x86_asm_t as;   // the first labels are those of the program's functions, by number
  hlo_arena_t arena;  // of the current function
  hlo_x86_pool_t pool;
  hlo_x86_label_t fma_labels[2];  // of F32 and F64, without FMA; HLO_X86_NO_LABEL: not used yet
  uint32_t func_count;            // of the program
  HLO_VEC(hlo_code_func_t) funcs;
  HLO_VEC(hlo_code_debug_id_t) debug_ids;
} hlo_x86_unit_t;

enum { HLO_X86_SCRATCH_BYTES = 128, HLO_X86_SCRATCH_OUT = 64, HLO_X86_MAX_STACK_BYTES = 64 << 10 };

typedef struct hlo_x86_fn {
  hlo_x86_unit_t* unit;
  hlo_x86_asm_t* as;
  const hlo_vir_func_t* vir;
  const hlo_target_t* target;
  hlo_arena_t* arena;
  bool is_avx512, is_sse;  // is_sse: without AVX
  hlo_status_t status;     // the first error while emitting

  // analyse.c
  hlo_x86_item_t* items;
  uint32_t item_count;
  hlo_x86_live_range_t* ranges;
  uint32_t range_count, range_capacity;
  hlo_x86_control_t* controls;
  uint32_t control_count;
  const hlo_vir_value_t* params[HLO_VIR_MAX_PARAMS];
  bool has_call, has_suspend, uses_wide, uses_scratch, uses_stream;
  bool calls_fma;          // fma.c
  uint32_t objects_bytes;  // of `stack`, followed by the scratch area

  // registers.c
  uint32_t* ending;                       // by half position: first live range that ends there
  uint32_t reserve[HLO_X86_CLASS_COUNT];  // registers kept free for values in memory
  uint32_t available[HLO_X86_CLASS_COUNT];
  uint32_t frame_bytes, saved_bytes;        // slots and objects; room in frame->saved
  uint32_t pushed;                          // callee-saved registers in use
  uint32_t spilled_words, spilled_vectors;  // values that are kept on the stack
  bool needs_alignment;                     // frame of 64-byte alignment

  // emitting
  uint32_t position;
  uint32_t busy[HLO_X86_CLASS_COUNT];   // registers of the values that are live here
  uint32_t taken[HLO_X86_CLASS_COUNT];  // by the current instruction
  bool short_of[HLO_X86_CLASS_COUNT];   // no register was left
  hlo_x86_label_t epilogue;
  uint32_t debug_id;
} hlo_x86_fn_t;

// ---- types

static inline unsigned hlo_x86_elem_bits(hlo_vir_type_t type) {
  return hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
}
/// Returns the bytes of the vector itself.
static inline unsigned hlo_x86_type_bytes(hlo_vir_type_t type) {
  return type.lanes * hlo_x86_elem_bits(type) / 8;
}
/// Returns the bytes of the register that holds it: 16, 32 or 64.
static inline unsigned hlo_x86_width(hlo_vir_type_t type) {
  unsigned bytes = hlo_x86_type_bytes(type);
  return bytes <= 16 ? 16 : bytes;
}

// ---- analyse.c

/// Orders the instructions, counts uses, folds, and computes every live range.
hlo_status_t hlo_x86_analyse(hlo_x86_fn_t* f) HLO_MUST_USE;
/// Returns the value before instructions that change only its type.
const hlo_vir_value_t* hlo_x86_resolve(const hlo_vir_value_t* value);
/// The address of a MEMORY op: base + (index << log2_scale) + disp. NULL: absent.
typedef struct hlo_x86_address {
  const hlo_vir_value_t *base, *index;
  uint32_t log2_scale;
  int64_t disp;
} hlo_x86_address_t;
hlo_x86_address_t hlo_x86_address_of(const hlo_vir_value_t* value);
/// Returns true if an instruction has an effect besides its value.
bool hlo_x86_has_effect(const hlo_vir_value_t* value);
static inline hlo_x86_live_range_t* hlo_x86_live_range(const hlo_x86_fn_t* f,
                                                       const hlo_vir_value_t* value) {
  return &f->ranges[value->number];
}

/// Returns true if the value is unused and has no effect.
static inline bool hlo_x86_is_dead(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  return hlo_x86_live_range(f, value)->uses == 0 && !hlo_x86_has_effect(value);
}

// ---- registers.c

/// Chooses the location of every live range.
hlo_status_t hlo_x86_allocate(hlo_x86_fn_t* f) HLO_MUST_USE;
/// Registers that calls preserve.
extern const uint32_t hlo_x86_callee_saved;

// ---- emit.c

/// Emits one function from prologue to epilogue; false if an instruction found too few free
/// registers, in which case f->reserve was raised.
bool hlo_x86_emit_function(hlo_x86_fn_t* f);
void hlo_x86_emit_control(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_emit_else(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_emit_end(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Emits the jumps to the resume points, by frame->resume_point.
void hlo_x86_emit_resume(hlo_x86_fn_t* f);
void hlo_x86_unimplemented(hlo_x86_fn_t* f, const hlo_vir_value_t* value);

// ---- operands.c: values as operands of instructions

/// Returns a register that is unused until the instruction is complete.
unsigned hlo_x86_temp(hlo_x86_fn_t* f, hlo_x86_class_t klass);
static inline unsigned hlo_x86_temp_gpr(hlo_x86_fn_t* f) {
  return hlo_x86_temp(f, HLO_X86_GENERAL);
}
static inline unsigned hlo_x86_temp_vec(hlo_x86_fn_t* f) {
  return hlo_x86_temp(f, HLO_X86_VECTORS);
}
/// Excludes a general register from the temporaries of this instruction.
void hlo_x86_claim(hlo_x86_fn_t* f, unsigned reg);
/// Returns the register of a value: its own, or a temporary that it was loaded into.
unsigned hlo_x86_in(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns a general register or 64 bits of memory.
hlo_x86_rm_t hlo_x86_in_rm(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns a vector register, or memory of `width` bytes; elem_bits: 32 or 64 if one element may be
/// broadcast, else 0.
hlo_x86_rm_t hlo_x86_in_vec(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned width,
                            unsigned elem_bits);
/// Returns true if a value would be read from memory at each use.
bool hlo_x86_prefers_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns true if an INDEX is a constant that fits a 32-bit immediate.
bool hlo_x86_in_imm(const hlo_vir_value_t* value, int32_t* out_imm);
/// Returns the register for the result; hlo_x86_out_done() stores it if the value is in memory.
unsigned hlo_x86_out(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_out_done(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg);
/// Loads and stores whole live ranges, for copies, vars and parameters.
void hlo_x86_load_live_range(hlo_x86_fn_t* f, const hlo_x86_live_range_t* range, unsigned reg);
void hlo_x86_store_live_range(hlo_x86_fn_t* f, const hlo_x86_live_range_t* range, unsigned reg);
/// Rematerializes a constant or address into this register of its class.
void hlo_x86_rematerialize(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg);
void hlo_x86_move(hlo_x86_fn_t* f, hlo_x86_class_t klass, unsigned width, unsigned to,
                  unsigned from);
/// Returns the memory operand of a MEMORY op.
hlo_x86_rm_t hlo_x86_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns all vector registers that may hold values.
static inline uint32_t hlo_x86_vector_registers(const hlo_x86_fn_t* f) {
  return (uint32_t)((UINT64_C(1) << f->target->vector_registers) - 1);
}
/// Returns the bytes of a mask in a vector register.
static inline unsigned hlo_x86_mask_bytes(const hlo_x86_fn_t* f) {
  return f->is_sse ? 16 : 32;
}
static inline hlo_x86_rm_t hlo_x86_scratch(int32_t offset_bytes) {
  return hlo_x86_mem(HLO_X86_RSP, offset_bytes);
}
// ---- pool.c: constants after the code

hlo_x86_rm_t hlo_x86_pool_bytes(hlo_x86_fn_t* f, const void* bytes, uint32_t size_bytes);
hlo_x86_rm_t hlo_x86_pool_blob(hlo_x86_fn_t* f, const hlo_vir_blob_t* blob);
/// An element of elem_bits broadcast over width bytes.
hlo_x86_rm_t hlo_x86_pool_splat(hlo_x86_fn_t* f, unsigned elem_bits, uint64_t bits, unsigned width);
/// 0, 1, 2, ... in elements of elem_bits.
hlo_x86_rm_t hlo_x86_pool_iota(hlo_x86_fn_t* f, unsigned elem_bits, unsigned width);
/// Adds the constants of another unit; map: by label of that unit, its label in this one. errors:
/// sticky in the assembler
void hlo_x86_pool_join(hlo_x86_unit_t* unit, const hlo_x86_pool_t* other, hlo_x86_label_t* map);
void hlo_x86_pool_emit(hlo_x86_unit_t* unit);
size_t hlo_x86_pool_size_bytes(const hlo_x86_pool_t* pool);
void hlo_x86_pool_deinit(hlo_x86_pool_t* pool);

// ---- lanes.c: lane-wise operations

/// How an operand may be folded: as memory with all lanes, or with one element for all lanes.
typedef struct hlo_x86_fold {
  bool whole, splat;
} hlo_x86_fold_t;
hlo_x86_fold_t hlo_x86_may_fold(const hlo_x86_fn_t* f, const hlo_vir_value_t* user,
                                uint32_t operand);
/// Returns true if the instruction writes its result before it has read all operands.
bool hlo_x86_is_early(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_emit_lanes(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns true if emitting needs the scratch area of the stack.
bool hlo_x86_needs_scratch(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
typedef enum hlo_x86_logic { HLO_X86_AND, HLO_X86_OR, HLO_X86_XOR, HLO_X86_ANDN } hlo_x86_logic_t;
void hlo_x86_bits(hlo_x86_fn_t* f, hlo_x86_logic_t op, unsigned width, unsigned to, unsigned a,
                  hlo_x86_rm_t b);
void hlo_x86_zero_vec(hlo_x86_fn_t* f, unsigned reg);
void hlo_x86_ones_vec(hlo_x86_fn_t* f, unsigned width, unsigned reg);

// ---- composed.c: lane-wise operations of several instructions

void hlo_x86_emit_composed(hlo_x86_fn_t* f, const hlo_vir_value_t* value);

// ---- fma.c: without FMA

/// Emits a * b + c, rounded once, as a call of a function of the module.
void hlo_x86_emit_fma_call(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Emits the functions that those calls use.
void hlo_x86_emit_fma_functions(hlo_x86_unit_t* unit);

// ---- convert.c

void hlo_x86_emit_convert(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns the instruction of a conversion; HLO_X86_INSN_COUNT if one does not suffice.
hlo_x86_insn_t hlo_x86_convert_insn(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
hlo_x86_fold_t hlo_x86_may_fold_convert(const hlo_x86_fn_t* f, const hlo_vir_value_t* user);
bool hlo_x86_converts_through_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Narrows integers without AVX-512.
void hlo_x86_narrow(hlo_x86_fn_t* f, unsigned to, unsigned from, unsigned from_bits,
                    unsigned to_bits, unsigned lanes);

// ---- masks.c

void hlo_x86_emit_compare(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_emit_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns a vector mask whose lanes have `lane_bits` bits.
unsigned hlo_x86_in_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, unsigned lane_bits);
/// Returns a mask register without bits above the lanes, for memory.
unsigned hlo_x86_in_exact_mask(hlo_x86_fn_t* f, const hlo_vir_value_t* mask);
/// Moves the mask as bits into a general register, zero above.
void hlo_x86_mask_to_bits(hlo_x86_fn_t* f, const hlo_vir_value_t* mask, unsigned to);
/// Chooses the lane widths of masks kept in vectors, during analysis.
void hlo_x86_choose_lane_bits(hlo_x86_fn_t* f, const hlo_vir_value_t* value);

// ---- index.c, memory.c, cross.c

void hlo_x86_emit_index(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Compares; returns the condition that means "not 0".
hlo_x86_cc_t hlo_x86_emit_condition(hlo_x86_fn_t* f, const hlo_vir_value_t* condition);
void hlo_x86_emit_memory(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
void hlo_x86_emit_tile(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Returns true for a gather or scatter without an instruction.
bool hlo_x86_lanes_through_memory(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Emits a load or iload into this register.
void hlo_x86_emit_load(hlo_x86_fn_t* f, const hlo_vir_value_t* value, unsigned reg);
void hlo_x86_emit_cross(hlo_x86_fn_t* f, const hlo_vir_value_t* value);
/// Moves the upper half of the first `bytes` of a register (or of two consecutive registers).
void hlo_x86_upper_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned to, unsigned from);
void hlo_x86_join_bytes(hlo_x86_fn_t* f, unsigned bytes, unsigned to, unsigned a, hlo_x86_rm_t b);
