// SPDX-License-Identifier: Apache-2.0
// Internals of the interpreter: prepared code (program.c) and the state of an evaluation (eval.c).
#pragma once

#include "interp/program.h"
#include "interp/scalar.h"
#include "interp/tensor_pool.h"

// ---- prepared code ------------------------------------------------------------------------------

/// Source of an operand: a slot of the frame or a constant of the program. MOVE marks the last use.
typedef uint32_t hlo_code_ref_t;
#define HLO_CODE_MOVE 0x80000000u
#define HLO_CODE_CONSTANT 0x40000000u
#define HLO_CODE_INDEX 0x3fffffffu

typedef enum hlo_interp_step_kind {
  HLO_STEP_REF,       // a reference function
  HLO_STEP_SCALAR,    // a scalar function on scalars
  HLO_STEP_CONSTANT,  // a large splat, expanded at each use
  HLO_STEP_CALL,      // call, composite
  HLO_STEP_BRANCH,    // if, case
  HLO_STEP_INLINE,    // a body that runs once on the operands: fusion, async_start,
                      // manual_computation
  HLO_STEP_WHILE,
  HLO_STEP_RETURN,
} hlo_interp_step_kind_t;

typedef struct hlo_code_block hlo_code_block_t;
typedef struct hlo_interp_func hlo_interp_func_t;

/// Slots to clear.
typedef struct hlo_code_drops {
  uint32_t count;
  uint32_t* slots;
} hlo_code_drops_t;

/// One node.
typedef struct hlo_interp_step {
  const hlo_node_t* node;
  hlo_interp_step_kind_t kind;
  uint32_t operand_count, result_count, block_count;
  uint32_t result_slot;  // results are consecutive
  hlo_code_ref_t* operands;
  hlo_code_drops_t drops;     // after the step
  hlo_code_block_t** blocks;  // regions
  const hlo_interp_func_t* callee;
  hlo_ref_fn_t ref;
  hlo_scalar_step_t scalar;
} hlo_interp_step_t;

struct hlo_code_block {
  const hlo_region_t* region;
  uint32_t arg_slot, arg_count;  // consecutive
  uint32_t step_count;
  hlo_interp_step_t* steps;  // the last one is a RETURN
  hlo_code_drops_t drops;    // arguments without a use
};

/// A function. Its regions share one frame of slots, so that they see the values of enclosing
/// regions.
struct hlo_interp_func {
  const hlo_func_t* func;
  uint32_t slot_count;
  hlo_code_block_t* body;  // NULL: declaration only
};

struct hlo_interp_program {
  hlo_arena_t arena;
  const hlo_module_t* module;
  uint32_t func_limit;
  hlo_interp_func_t* funcs;  // by func->index
  uint32_t constant_count;
  size_t constant_capacity;
  hlo_tensor_t** constants;
  uint32_t node_limit, value_limit;
  hlo_interp_step_t** steps;  // by node->index; NULL: not a step
  hlo_code_ref_t* refs;       // by value->index, without MOVE
  uint32_t max_operands, max_results;
};

/// Returns the prepared code of a region, or NULL if it has no code.
hlo_code_block_t* hlo_interp_block(const hlo_interp_program_t* program, const hlo_region_t* region);
const hlo_interp_func_t* hlo_interp_func(const hlo_interp_program_t* program,
                                         const hlo_func_t* func);

// ---- evaluations --------------------------------------------------------------------------------

typedef enum hlo_activation_role {
  HLO_ACTIVATION_ROOT,  // the entry function, or a region run on its own
  HLO_ACTIVATION_CALL,
  HLO_ACTIVATION_BRANCH,  // also INLINE
  HLO_ACTIVATION_COND,
  HLO_ACTIVATION_BODY,
} hlo_activation_role_t;

typedef struct hlo_activation {
  const hlo_code_block_t* block;
  const hlo_interp_step_t* next;
  const hlo_interp_step_t* origin;  // the step that started it; NULL for ROOT
  hlo_tensor_t** slots;             // the function's frame
  const hlo_interp_func_t* func;    // set if the frame belongs to this activation
  hlo_activation_role_t role;
} hlo_activation_t;

/// A value recorded by interpreter.probe.
typedef struct hlo_probe {
  struct hlo_probe* next;
  const char* id;
  hlo_tensor_t* tensor;
} hlo_probe_t;

enum { HLO_REGION_FN_BUCKETS = 32 };

struct hlo_eval {
  const hlo_interp_program_t* program;  // NULL: single nodes only
  hlo_interp_options_t options;
  hlo_tensor_pool_t pool;
  hlo_activation_t* stack;
  uint32_t depth, capacity;
  uint32_t base;            // nested runs end when the depth falls back to this value
  hlo_tensor_t** operands;  // of the current step
  hlo_tensor_t** results;
  hlo_tensor_t*** spare_frames;  // by function: a frame with all slots empty, or NULL
  uint32_t output_count;
  hlo_tensor_t** outputs;  // of the root
  uint64_t rng_state;
  bool is_pending;                                     // the current op has to wait
  bool is_retry;                                       // operands are those of the suspended step
  void* op_state;                                      // of the current op; NULL at its first call
  hlo_region_fn_t* region_fns[HLO_REGION_FN_BUCKETS];  // prepared functions, cached for later calls
  hlo_probe_t *first_probe, *last_probe;
  uint32_t probe_count;
};

/// Suspends the current op: it returns OK without results and is called again with the same
/// operands.
static inline void hlo_eval_suspend(hlo_eval_t* eval) {
  eval->is_pending = true;
}

/// Frees the region functions cached by an evaluation.
void hlo_region_fn_free_all(hlo_eval_t* eval);

/// Returns the value (lent) that an enclosing region computed for `value`, or NULL.
hlo_tensor_t* hlo_eval_captured(const hlo_eval_t* eval, const hlo_value_t* value);
